"""Forms of questions for scripts, targets, programs, images and commands, and the parts that all build forms share.

A form is a pattern of a whole question. Its groups have the same meaning everywhere: ``name`` is the thing that is
asked for (``other`` is its name at another position), ``owner`` the package whose manifest is meant, and ``group`` a
list of the manifest, such as ``default`` features. Above each form are questions that it matches.
"""

from __future__ import annotations

import re

_TICKED = r"`[^`\n]+`|\"[^\"\n]+\"|“[^”\n]+”|(?<!\w)'[^'\n]+'(?!\w)"
NAME = r"@?[A-Za-z][\w.+-]*(?:[/:@]+[\w.+-]+)*"
"""A package as its manager writes it: `numpy`, `@types/node`, `github.com/spf13/cobra`, `org.slf4j:slf4j-api`."""

PACKAGE = rf"(?:{_TICKED}|{NAME})"
"""A package, in quotation marks or without."""

NOUN = (
    r"(?:packages?|librar(?:y|ies)|crates?|gems?|modules?|dependenc(?:y|ies)|charts?|sub-?charts?|plugins?|providers?"
    r"|projects?|workspaces?|extensions?|pods?|frameworks?"
    r"|(?:npm|nuget|pip|pypi|hex|cargo|maven|go|composer)\s+packages?)"
)
"""A word of managers for a package; charts are Helm's, providers Terraform's, pods CocoaPods'."""

# "Depend" and "rely" share their endings, so that slips such as "relys on" match, too.
RUNTIME = (
    r"(?:(?:python|golang|go|rust|node\.?js|node|ruby|java|jdk|php|swift|elixir|dart|zig|dotnet|\.net|ghc|lua|perl|r|cmake"
    r"|terraform|flutter|ocaml|julia|crystal|nim|erlang|otp|scala|kotlin|c\+\+|powershell|emacs|elm|ansible|autoconf|automake|meson|gradle|maven|sbt|bazel|mill|cabal|dune|solidity|gleam|kubernetes|k8s)"
    r"(?=s?(?: |$)))"
)
RUNTIME_NOUN = r"(?: (?:sdk|tools?|toolchain|language|framework|runtime|core|standard))?"
"""A language, and the words that may follow it, in a question for the version that something requires."""

MODULE_NOUN = (
    r"(?:(?:other|external|third[\s-]party|internal) )?(?:packages?|modules?|headers?(?: files?)?|librar(?:y|ies)"
    r"|files?|namespaces?|crates?|gems?|dependencies|things|imports?|includes?)"
)
"""A word for what a file imports."""

VERB = (
    r"(?:(?:depend|relie|rel[iy])(?:s|ed|ing)?\s+(?:up)?on|need(?:s|ed)?|require[sd]?|us(?:e|es|ed|ing)"
    r"|allow(?:s|ed)?|support(?:s|ed)?|pin(?:s|ned)?(?:\s+to)?|lock(?:s|ed)?(?:\s+to)?"
    r"|list(?:s|ed)?|want(?:s|ed)?|declare[sd]?|specif(?:y|ies|ied)|accept(?:s|ed)?|expect(?:s|ed)?|install(?:s|ed)?"
    r"|build(?:s)?\s+(?:with|against|on)|test(?:s|ed)?\s+with"
    r"|imports?|imported|suggests?|suggested|referenc(?:es?|ed)"
    r"|work(?:s)?\s+with|run(?:s)?\s+(?:on|with)|pull(?:s|ed)?\s+in"
    r"|set(?:s)?|have|has|permit(?:s|ted)?|target(?:s|ed)?)"
)
"""A manifest's relation to a package: "requires", "is pinned to", "works with"."""

WHICH = r"(?:which|what)(?:\s+is\s+the)?\s+"
"""The beginning of "which edition" and "what is the edition"."""

LIST_OF = r"(?:which|what|list)(?:\s+are)?(?:\s+all)?(?:\s+the)?\s+"
"""The beginning of "which features", "what are the features" and "list all features"."""

# Without it, `PACKAGE` would read the verb of "which license is used" as the name of the owner.
_NOT_OWNER = (
    rf"(?!(?:{VERB}|depend|rely|is|are|does|do|has"
    r"|in|by|for|as|on|of|to|it|under"
    r"|licen[cs]ed|released|published|distributed|available|used|use|define|declare|offer|enabled?|defined|there"
    r"|exposed?|written|import|run|pull"
    r"|still|actually|really|also|currently|directly)\b)"
)

# "The tokio crate" names the owner; "the crate" means the package of the question's repository.
_OWNER = rf"{_NOT_OWNER}(?:(?:the|this|our)\s+)?(?:(?P<owner>{PACKAGE})(?:\s+(?P<owner_noun>{NOUN}))?|{NOUN})"
SUBJECT = rf"(?:it|this|that|we|you|they|(?:the|this)\s+(?:code|app|build|tool|program)|{_OWNER})"
"""The thing that needs a package: a word without a name, or the package that has the manifest."""


def make_pattern(text: str) -> re.Pattern[str]:
    """Return an expression for a whole question, in any case.

    A long one is easier to read as a text of `make_form`.
    """
    return re.compile(rf"^{text}$", re.IGNORECASE)


def make_form(text: str) -> re.Pattern[str]:
    r"""Return an expression for a whole question, in any case, from a text over several lines.

    White space of the text means nothing: a space of the question is ``\s+``.
    """
    return re.compile(rf"^{text}$", re.IGNORECASE | re.VERBOSE)


def allow_words(alternatives: str) -> str:
    """Return an expression for any number of some words in any order; spaces separate the `alternatives`.

    Small words of questions have too many orders to list: "does it have", "are there in it", "it has". An unknown
    word still makes a form fail.
    """
    return rf"(?:\s+(?:{'|'.join(alternatives.split())}))*"


_DOES = r"(?:does|do|happens\s+(?:on|when\s+i\s+run|with))\s+(?:running\s+)?(?:the\s+)?"
"""The middle of "what does make do" and "what happens when I run make"."""
_RUN = r"(?:\s+(?:do|run|execute|call))?"
_IN = r"(?:\s+in)?"
"""The rest of "in REPOSITORY": the name of the repository is taken out of a question first."""
_SCRIPT = r"(?P<name>[\w:.-]+)"
"""A script of a package.json or composer.json: `test`, `build:docs`."""
_TARGET = r"(?P<name>[\w./-]+)"
"""A target of a Makefile, which may be a path."""
_MANAGERS = r"(?:npm|yarn|pnpm|bun|composer)"

SCRIPT_FORMS = (
    # "What does npm run build do?", "What happens when I run yarn lint?"
    make_form(
        rf"""
        what\s+{_DOES}`?{_MANAGERS}\s+(?:run(?:-script)?\s+)?{_SCRIPT}`?
        (?:\s+(?:script|command))?{_RUN}{_IN}
        """
    ),
    # "Which command is run by npm test?", "what test command is executed with `yarn run check`"
    make_form(
        rf"""
        (?:what|which)\s+(?:test\s+|build\s+|lint\s+)?commands?\s+(?:does|do|is|are)\s+(?:it\s+)?
        (?:run|executed|used|called)\s+(?:with|by|on|for)\s+
        `?{_MANAGERS}\s+(?:run\s+)?{_SCRIPT}`?{_IN}
        """
    ),
    # "What does the lint script do?", "What does the `build` npm script run in the package.json?"
    make_form(
        rf"""
        what\s+(?:does|do)\s+(?:the\s+)?`?{_SCRIPT}`?\s+(?:npm\s+|package\.json\s+|yarn\s+|composer\s+)?script
        {_RUN}(?:\s+in(?:\s+(?:the\s+)?package\.json)?)?
        """
    ),
    # "Which command does the test script run?"
    make_form(
        rf"""
        (?:which|what)\s+commands?\s+(?:does|do|is|are)\s+(?:the\s+)?(?:npm\s+)?(?:script\s+)?
        `?(?:npm\s+run\s+)?{_SCRIPT}`?\s+(?:npm\s+)?script(?:\s+(?:run|execute|call))?{_IN}
        """
    ),
)

_LISTED = allow_words(
    r"does do are is it there define[sd]? declared? have offer available listed in the its of package\.json"
)
SCRIPT_LIST_FORMS = (
    # "Which npm scripts are there?", "List all the scripts in the package.json"
    make_form(
        rf"""
        {LIST_OF}(?:npm\s+|package\.json\s+|composer\s+)?(?P<name>scripts)
        {_LISTED}
        """
    ),
)
TARGET_FORMS = (
    # "What does make check do?", "What happens on `make install`?"
    make_form(
        rf"""
        what\s+{_DOES}`?make\s+{_TARGET}`?
        (?:\s+(?:target|command))?(?:\s+(?:do|run|execute|call|build))?{_IN}
        """
    ),
    # "What does the lint make target do?", "what does the `all` Makefile rule run"
    make_form(
        rf"""
        what\s+(?:does|do)\s+(?:the\s+)?`?{_TARGET}`?\s+(?:make|makefile)\s+(?:target|rule)
        {_RUN}{_IN}
        """
    ),
    # "What does the target `check` of the Makefile do?"
    make_form(
        rf"""
        what\s+(?:does|do)\s+(?:the\s+)?(?:make\s+|makefile\s+)?(?:target|rule)\s+`?{_TARGET}`?
        (?:\s+(?:of|in)\s+(?:the\s+)?makefile)?{_RUN}{_IN}
        """
    ),
)

_SHIPPED = allow_words(
    "define declare install installed build built have provide provided called named offer ship shipped defined"
    " declared produce register"
)
BINARY_FORMS = (
    # "Which binaries does it install?", "What is the name of the executable?", "list all console scripts"
    make_form(
        rf"""
        (?:(?:which|what|list)(?:\s+is|\s+are)?(?:\s+all)?(?:\s+the)?\s+)(?:name\s+of\s+the\s+)?
        (?P<name>
            binar(?:y|ies)|executables?|console\s+scripts?|entry\s+points?
            |command[\s-]line\s+(?:programs?|tools?|commands?)
        )
        (?:\s+name)?{allow_words("does do are is it there of for in by")}
        {_SHIPPED}
        """
    ),
)
IMAGE_FORMS = (
    # "Which base image does the Dockerfile use?", "What is the Docker base image?"
    make_form(
        rf"""
        (?:which|what)(?:\s+is)?(?:\s+the)?\s+(?:docker\s+|container\s+)?base\s+image
        {allow_words("does do is are used by of for in it the docker dockerfile image container use have build from")}
        """
    ),
    # "Which base image does build/Dockerfile use?"
    make_form(
        r"""
        (?:which|what)(?:\s+is)?(?:\s+the)?\s+(?:docker\s+|container\s+)?base\s+image\s+(?:does|do|is|of|in)\s+
        (?:the\s+)?(?P<owner>`?(?:[\w.-]+/)+[\w.-]*(?:Docker|Container)file[\w.-]*`?)
        (?:\s+(?:use|uses|have|has|build\s+from|start\s+from|based\s+on))?
        """
    ),
    # "Which Alpine version is the Docker image based on?", "Which version of alpine does the Dockerfile use?"
    make_form(
        rf"""
        (?:which|what)\s+(?:version\s+of\s+(?P<name>[a-z][\w.+/-]*)|(?P<other>[a-z][\w.+/-]*)\s+version)\s+
        (?:is|does|do)\s+(?:the\s+|its\s+|our\s+)?
        (?:docker\s*file|containerfile|(?:docker|container)\s+(?:base\s+)?image|base\s+image)
        {allow_words("based built build start derived? use on from upon of in")}
        """
    ),
    # "Which image is the Docker container built on?", "What base image do we use?"
    make_form(
        rf"""
        (?:which|what)\s+(?:docker\s+|container\s+)?(?:base\s+|parent\s+)?image\s+(?:does|do|is|are)\s+(?:the\s+|its\s+|our\s+)?
        (?:docker\s*file|containerfile|(?:docker|container)(?:\s+(?:image|container|build))?|image|container|we|it)
        {allow_words("start starts build built builds derived? based? use used uses on from upon of in top")}
        """
    ),
    # "Which image does the Dockerfile start from?"
    make_form(
        rf"""
        (?:which|what)\s+image\s+(?:does|is)\s+(?:the\s+)?dockerfile
        {allow_words("start build built derive based use from on")}
        """
    ),
)
WORKFLOW_IMAGE_FORMS = (
    # "Which docker image do the CI tests run in?"
    make_form(
        r"""
        (?:(?:in|on)\s+)?(?:which|what)\s+(?:docker\s+|container\s+)?(?:images?|containers?)\s+(?:does|do|is|are)\s+
        (?:the\s+|our\s+|its\s+)?(?:(?:unit\s+|ci\s+|github\s+)?(?:ci|tests?|jobs?|builds?|workflows?|pipelines?|actions)\s+){1,3}
        (?:(?:run|runs|use|uses|executed|in|inside|on|with|by|ci)\s*)+
        """
    ),
)

_CI = allow_words("test tests tested run runs use uses in by on with against the ci matrix github actions workflows?")
TESTED_FORMS = (
    # "Which versions of Python does CI test?", "What Node versions are tested in GitHub Actions?"
    make_form(
        rf"""
        (?:which|what)\s+(?:versions\s+of\s+(?P<name>[a-z.+#]+)|(?P<other>[a-z.+#]+)\s+versions)\s+
        (?:does|do|is|are)\s+(?:it\s+|the\s+)?(?:ci|tested|github\s+actions|the\s+ci|workflows?)
        {_CI}
        """
    ),
    # "Which operating systems does CI run on?", "What platforms are tested?"
    make_form(
        rf"""
        (?:which|what)\s+(?P<name>operating\s+systems?|os(?:es)?|platforms?)\s+
        (?:does|do|is|are)\s+(?:it\s+|the\s+)?(?:ci|tested|github\s+actions|workflows?)
        {_CI}
        """
    ),
)

_HOW_TO = r"how\s+(?:(?:do|can|should|would|could|must)\s+(?:i|you|we|one)\s+|to\s+)"
_TESTS = r"(?:unit\s+)?(?P<name>test)s?(?:\s+suite)?"
COMMAND_FORMS = (
    # "How do I run the tests?", "How to run the full test suite locally?", "how can I test it"
    make_form(
        rf"""
        {_HOW_TO}(?:(?:run|execute|start|launch)\s+)?(?:(?:the|its|all|these)\s+)*
        (?:(?:unit|whole|full|automated)\s+)?(?P<name>test)s?(?:\s+suite)?
        (?:\s+(?:it|this(?:\s+project)?|the\s+project))?(?:\s+locally)?
        """
    ),
    # "How do I build it?", "How can I install ripgrep from source?", "how to compile the project locally"
    make_form(
        rf"""
        {_HOW_TO}(?P<name>build|compile|install)
        (?:\s+(?:
            it|this|everything|(?:the|this)\s+(?:project|package|library|code|app|program|crate|gem|tool)
            |(?P<owner>{PACKAGE})
        ))?
        (?:\s+(?:from\s+(?:the\s+)?sources?|locally))?
        """
    ),
    # "How are the unit tests run?"
    make_form(rf"how\s+(?:are|is)\s+(?:(?:the|its)\s+)?{_TESTS}\s+(?:run|executed|started)"),
    # "Which command runs the tests?", "What is the command to run the test suite?"
    make_form(
        rf"""
        {WHICH}commands?\s+
        (?:runs?|executes?|starts?|(?:to|for)\s+(?:run(?:ning)?|execut(?:e|ing)))\s+(?:the\s+)?{_TESTS}
        """
    ),
    # "Which command builds the project?", "what is the command for building it"
    make_form(
        rf"""
        {WHICH}commands?\s+
        (?:builds?|(?:to|for)\s+build(?:ing)?)\s+(?:it|this|(?:the\s+)?(?:project|code))
        """
    ),
)
