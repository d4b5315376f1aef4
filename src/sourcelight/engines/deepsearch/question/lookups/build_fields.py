"""The forms of questions for fields of manifests, such as a license or a version; and all forms, in their order.

Above each form are questions that it matches. `build_commands` explains the groups of the forms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.engines.deepsearch.question.lookups.build_commands import (
    BINARY_FORMS,
    COMMAND_FORMS,
    IMAGE_FORMS,
    LIST_OF,
    SCRIPT_FORMS,
    SCRIPT_LIST_FORMS,
    SUBJECT,
    TARGET_FORMS,
    TESTED_FORMS,
    WHICH,
    WORKFLOW_IMAGE_FORMS,
    allow_words,
    make_form,
)

_APPLE = r"(?P<name>ios|macos|tvos|watchos|visionos)"
"""Systems whose oldest version a Swift package or a pod declares."""

_LICENSE = (
    # "Which license does it use?", "What is the software license of tokio?", "under which license is it released"
    make_form(
        rf"""
        (?:(?:under\s+)?(?:which|what)(?:\s+is|\s+are)?(?:\s+in)?(?:\s+the)?\s+|(?:the\s+)?)
        (?:software\s+|open[\s-]source\s+)?(?P<name>licen[cs]e)s?
        {allow_words("does do is are has of for in")}(?:\s+{SUBJECT})?
        {allow_words("use have under licensed released published distributed available used it by declare")}
        (?:\s+(?:under|by|for))?
        """
    ),
    # "How is it licensed?", "Under which terms is the tokio crate distributed?"
    make_form(
        rf"""
        (?:how|under\s+(?:which|what)\s+terms)\s+(?:is|are)\s+{SUBJECT}\s+
        (?P<name>licen[cs]ed|distributed|released)
        """
    ),
    # "How is licensed": the subject was the name of a repository, which is taken out first.
    make_form(r"how\s+(?:is|are)\s+(?:it\s+)?(?P<name>licen[cs]ed)"),
)
_OFFERED = allow_words(r"define declare have offer enabled enable defined there by\s+default available exposed?")
_FEATURES = (
    # "Which features does the tokio crate have?", "default features", "list all cargo features"
    make_form(
        rf"""
        (?:{LIST_OF})?(?P<group>default\s+)?(?:cargo\s+)?features
        {allow_words("does do are is of in for")}(?:\s+{SUBJECT})?
        {_OFFERED}
        """
    ),
)
_EDITION = (
    # "Which Rust edition does it use?", "What is the edition of Rust set to?"
    make_form(
        rf"""
        {WHICH}(?:(?:rust\s+|cargo\s+)?edition)(?:\s+of\s+rust)?
        {allow_words("does do is are of for")}(?:\s+{SUBJECT})?
        {allow_words("use used set target written in have to on")}
        """
    ),
)
_BACKEND = (
    # "Which build backend does it use?", "What is the Python packaging system?"
    make_form(
        rf"""
        {WHICH}(?:python\s+)?(?:build|packaging)[\s-](?:backend|system)
        {allow_words("does do is are of for used by")}(?:\s+{SUBJECT})?
        {allow_words("use used set have by build")}
        """
    ),
)
_FRAMEWORKS = (
    # "What does it target?", "what framework does it target"
    make_form(r"what\s+(?:framework\s+)?(?:does|do)(?:\s+it)?\s+(?P<name>target)"),
    # "Which .NET frameworks does it support?", "What are the target frameworks of Serilog?"
    make_form(
        rf"""
        (?:which|what)(?:\s+are)?(?:\s+the)?\s+(?:\.net\s+)?(?:target\s+)?frameworks?
        {allow_words("does do are is of for")}(?:\s+{SUBJECT})?
        {allow_words("support supported target targeted have use build built for")}
        """
    ),
)
_MANAGER = (
    # "Which package manager does it use?", "What version of the package manager is required?"
    make_form(
        rf"""
        {WHICH}(?:version\s+of\s+the\s+)?(?P<name>package\s+manager)
        {allow_words("does do is are it of for in used use by need required the project")}
        """
    ),
)
_FLAGS = (
    # "Which Cabal flags does it have?", "list all the cabal package flags"
    make_form(
        rf"""
        {LIST_OF}(?:cabal\s+)(?:package\s+)?flags
        {allow_words("does do are is of in")}(?:\s+{SUBJECT})?
        {allow_words("have define declare there defined")}
        """
    ),
    # "Which flags does aeson.cabal define?"
    make_form(r"(?:which|what)\s+flags\s+(?:does|do)\s+(?P<owner>[\w.-]+\.cabal)\s+(?:have|define|declare)"),
)
_PLATFORM = (
    # "What is the minimum iOS version?", "oldest supported macOS deployment target of Alamofire"
    make_form(
        rf"""
        (?:(?:what|which)(?:\s+is)?(?:\s+the)?\s+)?
        (?:minimum|oldest|lowest|min|minimal)(?:\s+supported)?\s+{_APPLE}(?:\s+(?:version|deployment\s+target))?
        {allow_words("of for does is supported required by")}(?:\s+{SUBJECT})?
        {allow_words("support require need")}
        """
    ),
    # "What is the iOS version in the podspec?", which a deployment target has become
    make_form(
        rf"""
        (?:what|which)\s+is\s+(?:the\s+)?{_APPLE}\s+version
        (?:\s+(?:of|in|for)\s+(?:the\s+)?(?:podspec|package|package\.swift|pod|library))?
        """
    ),
    # "Which iOS version does it support?", "what version of macOS is required"
    make_form(
        rf"""
        (?:what|which)\s+(?:version\s+of\s+)?{_APPLE}(?:\s+version)?\s+(?:does|is)(?:\s+{SUBJECT})?
        (?:\s+(?:support|require|need|required|supported|run|on|target))+
        """
    ),
)
_PACKAGES_OF = r"(?:packages|dependencies|deps|crates|libraries|requirements|modules|things)"
_NEEDING = allow_words(
    r"of in for it by install installs require requires add adds pull pulls need needs contain contains include "
    r"includes list lists bring brings have has enable enables on depend activate turn"
)
_EXTRA_NOUN = r"(?:extra|(?:optional\s+|dependency\s+|dev\s+)?group)"
_EXTRA = (
    # "What does the dev extra install?", "Which packages are in the `docs` extra?"
    make_form(
        rf"""
        (?:which|what)(?:\s+{_PACKAGES_OF})?\s+(?:does|do|is|are|will)\s+(?:in\s+)?(?:installing\s+)?(?:the\s+)?
        `?(?P<name>[\w-]+)`?\s+{_EXTRA_NOUN}{_NEEDING}
        """
    ),
    # "What are the dependencies of the dev extra?", "list the packages in the dev extra"
    make_form(
        rf"""
        (?:{LIST_OF}|what\s+is\s+the\s+|what's\s+)?(?:{_PACKAGES_OF}\s+)?(?:of|in|for)\s+(?:the\s+)?
        `?(?P<name>[\w-]+)`?\s+{_EXTRA_NOUN}
        """
    ),
    # As pip writes it: "what does `mill[docs]` install?"
    make_form(
        rf"""
        (?:which|what)(?:\s+{_PACKAGES_OF})?\s+(?:does|do)\s+(?:installing\s+)?
        `?[\w.-]*\[(?P<name>[\w-]+)\]`?{_NEEDING}
        """
    ),
    # "Which extras does it define?", "list all optional extras"
    make_form(
        rf"""
        {LIST_OF}(?:optional\s+)?extras
        {allow_words("does do are is of in for there")}(?:\s+{SUBJECT})?
        {allow_words("have define declare offer there defined available")}
        """
    ),
)
_FEATURE = (
    # "What does the csv feature enable?", "Which crates does the csv feature pull in?"
    make_form(
        rf"""
        (?:which|what)(?:\s+{_PACKAGES_OF}|\s+(?:other\s+)?features)?\s+(?:does|do|is|are)\s+(?:enabled\s+by\s+)?(?:the\s+)?
        (?:cargo\s+)?`?(?P<name>[\w-]+)`?\s+(?:cargo\s+)?feature(?:\s+flag)?{_NEEDING}
        """
    ),
)
_VERSION = (
    # "What version is it?", "What is the current version of the library?"
    make_form(
        r"""
        (?:what|which)(?:\s+is)?(?:\s+the)?\s+
        (?:current\s+|latest\s+|package\s+|crate\s+|own\s+)?version(?:\s+number)?\s+(?:of\s+)?(?:is\s+)?
        (?:it|this|the\s+(?:package|library|crate|gem|project|module))(?:\s+(?:at|on|now))?
        """
    ),
    # "What is the current version?", "which crate version"
    make_form(
        r"""
        (?:what|which)(?:\s+is)?(?:\s+the)?\s+(?:current|latest|package|crate|own|gem)\s+
        version(?:\s+(?:number|of|in))*
        """
    ),
    # "What package version is it at?", "which version are we on right now in the source"
    make_form(
        r"""
        (?:what|which)(?:\s+(?:package|release|crate|gem|current))?\s+(?:version|release)\s+(?:is|are)\s+
        (?:(?:it|this|we|that|the\s+(?:package|library|project)|(?P<owner>[\w-]+(?:\.\w+)*))(?:\s+(?:itself|currently|now))?\s+)?(?:at|on)
        (?:\s+(?:right\s+now|now|currently|at\s+the\s+moment|today))?(?:\s+in(?:\s+the\s+(?:source|code|repo\w*|manifest))?)?
        """
    ),
    # "Which version is that?", and "Which version of is this?" where the name of a repository was taken out.
    make_form(r"(?:what|which)\s+version(?:\s+of|\s+in)*\s+is\s+(?:this|it|that)"),
    # "What is the version number?"
    make_form(r"(?:what|which)(?:\s+is)?\s+the\s+version(?:\s+number)?(?:\s+of)?"),
)

FIELDS: Sequence[tuple[str, Sequence[re.Pattern[str]]]] = (
    ("license", _LICENSE),
    ("features", _FEATURES),
    ("edition", _EDITION),
    ("backend", _BACKEND),
    ("script", SCRIPT_FORMS),
    ("scripts", SCRIPT_LIST_FORMS),
    ("target", TARGET_FORMS),
    ("binaries", BINARY_FORMS),
    ("workflow-image", WORKFLOW_IMAGE_FORMS),
    ("image", IMAGE_FORMS),
    ("tested", TESTED_FORMS),
    ("command", COMMAND_FORMS),
    ("frameworks", _FRAMEWORKS),
    ("manager", _MANAGER),
    ("flags", _FLAGS),
    ("platform", _PLATFORM),
    ("extra", _EXTRA),
    ("feature", _FEATURE),
    ("version", _VERSION),
)
"""Kinds of `BuildQuestion` and their forms. The first form that matches decides."""
