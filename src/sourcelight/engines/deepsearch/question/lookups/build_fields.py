"""The forms of questions for fields of manifests, for workflows and for commands; and their common parts."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TICKED = r"`[^`\n]+`|\"[^\"\n]+\"|“[^”\n]+”|(?<!\w)'[^'\n]+'(?!\w)"
NAME = r"@?[A-Za-z][\w.+-]*(?:[/:@]+[\w.+-]+)*"
PACKAGE = rf"(?:{_TICKED}|{NAME})"
NOUN = (
    r"(?:packages?|librar(?:y|ies)|crates?|gems?|modules?|dependenc(?:y|ies)|charts?|sub-?charts?|plugins?|providers?"
    r"|projects?|workspaces?|extensions?|pods?|frameworks?|(?:npm|nuget|pip|pypi|hex|cargo|maven|go|composer)\s+packages?)"
)
VERB = (
    r"(?:(?:depend|relie|rel[iy])(?:s|ed|ing)?\s+(?:up)?on|need(?:s|ed)?|require[sd]?|us(?:e|es|ed|ing)|allow(?:s|ed)?"
    r"|support(?:s|ed)?|pin(?:s|ned)?(?:\s+to)?|list(?:s|ed)?|want(?:s|ed)?|declare[sd]?|specif(?:y|ies|ied)"
    r"|accept(?:s|ed)?|expect(?:s|ed)?|install(?:s|ed)?|build(?:s)?\s+(?:with|against|on)|test(?:s|ed)?\s+with"
    r"|imports?|imported|suggests?|suggested|work(?:s)?\s+with|run(?:s)?\s+(?:on|with)|pull(?:s|ed)?\s+in|set(?:s)?|have|has|permit(?:s|ted)?|target(?:s|ed)?)"
)
_NOT_OWNER = (
    rf"(?!(?:{VERB}|depend|rely|is|are|does|do|has|in|by|for|as|on|of|to|it|under|licen[cs]ed|released|published"
    r"|distributed|available|used|use|define|declare|offer|enabled?|defined|there|exposed?|written|import|run|pull|still"
    r"|actually|really|also|currently|directly)\b)"
)
_OWNER = rf"{_NOT_OWNER}(?:(?:the|this|our)\s+)?(?:(?P<owner>{PACKAGE})(?:\s+(?P<owner_noun>{NOUN}))?|{NOUN})"
SUBJECT = rf"(?:it|this|that|we|you|they|(?:the|this)\s+(?:code|app|build|tool|program)|{_OWNER})"
"""The thing that needs a package: a word without a name, or the package that has the manifest."""


def make_pattern(text: str) -> re.Pattern[str]:
    """Return an expression for a whole question, in any case."""
    return re.compile(rf"^{text}$", re.IGNORECASE)


_HOW_TO = r"how\s+(?:(?:do|can|should|would|could|must)\s+(?:i|you|we|one)\s+|to\s+)"
_LICENSE = (
    make_pattern(
        r"(?:(?:under\s+)?(?:which|what)(?:\s+is|\s+are)?(?:\s+in)?(?:\s+the)?\s+|(?:the\s+)?)(?:software\s+|open[\s-]source\s+)?(?P<name>licen[cs]e)s?"
        rf"(?:\s+(?:does|do|is|are|has|of|for|in))*(?:\s+{SUBJECT})?(?:\s+(?:use|have|under|licensed|released|published|distributed|available|used|it|by|declare))*"
        r"(?:\s+(?:under|by|for))?"
    ),
    make_pattern(
        rf"(?:how|under\s+(?:which|what)\s+terms)\s+(?:is|are)\s+{SUBJECT}\s+(?P<name>licen[cs]ed|distributed|released)"
    ),
    make_pattern(r"how\s+(?:is|are)\s+(?:it\s+)?(?P<name>licen[cs]ed)"),
)
FIELDS: Sequence[tuple[str, Sequence[re.Pattern[str]]]] = (
    ("license", _LICENSE),
    (
        "features",
        (
            make_pattern(
                rf"(?:(?:which|what|list)(?:\s+are)?(?:\s+all)?(?:\s+the)?\s+)?(?P<group>default\s+)?(?:cargo\s+)?features"
                rf"(?:\s+(?:does|do|are|is|of|in|for))*(?:\s+{SUBJECT})?(?:\s+(?:define|declare|have|offer|enabled|enable|defined|there|by\s+default|available|exposed?))*"
            ),
        ),
    ),
    (
        "edition",
        (
            make_pattern(
                rf"(?:which|what)(?:\s+is\s+the)?\s+(?:(?:rust\s+|cargo\s+)?edition)(?:\s+of\s+rust)?(?:\s+(?:does|do|is|are|of|for))*"
                rf"(?:\s+{SUBJECT})?(?:\s+(?:use|used|set|target|written|in|have|to|on))*"
            ),
        ),
    ),
    (
        "backend",
        (
            make_pattern(
                rf"(?:which|what)(?:\s+is\s+the)?\s+(?:python\s+)?(?:build|packaging)[\s-](?:backend|system)(?:\s+(?:does|do|is|are|of|for|used|by))*"
                rf"(?:\s+{SUBJECT})?(?:\s+(?:use|used|set|have|by|build))*"
            ),
        ),
    ),
    (
        "script",
        (
            make_pattern(
                r"what\s+(?:does|do|happens\s+(?:on|when\s+i\s+run|with))\s+(?:running\s+)?(?:the\s+)?`?(?:npm|yarn|pnpm|bun|composer)\s+(?:run(?:-script)?\s+)?(?P<name>[\w:.-]+)`?"
                r"(?:\s+(?:script|command))?(?:\s+(?:do|run|execute|call))?(?:\s+in)?"
            ),
            make_pattern(
                r"(?:what|which)\s+(?:test\s+|build\s+|lint\s+)?commands?\s+(?:does|do|is|are)\s+(?:it\s+)?(?:run|executed|used|called)\s+(?:with|by|on|for)\s+"
                r"`?(?:npm|yarn|pnpm|bun|composer)\s+(?:run\s+)?(?P<name>[\w:.-]+)`?(?:\s+in)?"
            ),
            make_pattern(
                r"what\s+(?:does|do)\s+(?:the\s+)?`?(?P<name>[\w:.-]+)`?\s+(?:npm\s+|package\.json\s+|yarn\s+|composer\s+)?script"
                r"(?:\s+(?:do|run|execute|call))?(?:\s+in(?:\s+(?:the\s+)?package\.json)?)?"
            ),
            make_pattern(
                r"(?:which|what)\s+commands?\s+(?:does|do|is|are)\s+(?:the\s+)?(?:npm\s+)?(?:script\s+)?`?(?:npm\s+run\s+)?(?P<name>[\w:.-]+)`?\s+"
                r"(?:npm\s+)?script(?:\s+(?:run|execute|call))?(?:\s+in)?"
            ),
        ),
    ),
    (
        "scripts",
        (
            make_pattern(
                r"(?:which|what|list)(?:\s+are)?(?:\s+all)?(?:\s+the)?\s+(?:npm\s+|package\.json\s+|composer\s+)?(?P<name>scripts)"
                r"(?:\s+(?:does|do|are|is|it|there|define[sd]?|declared?|have|offer|available|listed|in|the|its|of|package\.json))*"
            ),
        ),
    ),
    (
        "target",
        (
            make_pattern(
                r"what\s+(?:does|do|happens\s+(?:on|when\s+i\s+run|with))\s+(?:running\s+)?(?:the\s+)?`?make\s+(?P<name>[\w./-]+)`?"
                r"(?:\s+(?:target|command))?(?:\s+(?:do|run|execute|call|build))?(?:\s+in)?"
            ),
            make_pattern(
                r"what\s+(?:does|do)\s+(?:the\s+)?`?(?P<name>[\w./-]+)`?\s+(?:make|makefile)\s+(?:target|rule)(?:\s+(?:do|run|execute|call))?(?:\s+in)?"
            ),
            make_pattern(
                r"what\s+(?:does|do)\s+(?:the\s+)?(?:make\s+|makefile\s+)?(?:target|rule)\s+`?(?P<name>[\w./-]+)`?(?:\s+(?:of|in)\s+(?:the\s+)?makefile)?"
                r"(?:\s+(?:do|run|execute|call))?(?:\s+in)?"
            ),
        ),
    ),
    (
        "binaries",
        (
            make_pattern(
                r"(?:(?:which|what|list)(?:\s+is|\s+are)?(?:\s+all)?(?:\s+the)?\s+)(?:name\s+of\s+the\s+)?(?P<name>binar(?:y|ies)|executables?|console\s+scripts?|entry\s+points?|command[\s-]line\s+(?:programs?|tools?|commands?))"
                r"(?:\s+name)?(?:\s+(?:does|do|are|is|it|there|of|for|in|by))*(?:\s+(?:define|declare|install|installed|build|built|have|provide|provided|called|named|offer|ship|shipped|defined|declared|produce|register))*"
            ),
        ),
    ),
    (
        "image",
        (
            make_pattern(
                r"(?:which|what)(?:\s+is)?(?:\s+the)?\s+(?:docker\s+|container\s+)?(?P<name>base\s+image)(?:\s+(?:does|do|is|are|used|by|of|for|in|it|the|docker|dockerfile|image|container|use|have|build|from))*"
            ),
            make_pattern(r"(?:which|what)\s+image\s+(?:does|is)\s+(?:the\s+)?(?P<name>dockerfile)(?:\s+(?:start|build|built|derive|based|use|from|on))*"),
        ),
    ),
    (
        "tested",
        (
            make_pattern(
                r"(?:which|what)\s+(?:versions\s+of\s+(?P<name>[a-z.+#]+)|(?P<other>[a-z.+#]+)\s+versions)\s+(?:does|do|is|are)\s+(?:it\s+|the\s+)?(?:ci|tested|github\s+actions|the\s+ci|workflows?)"
                r"(?:\s+(?:test|tests|tested|run|runs|use|uses|in|by|on|with|against|the|ci|matrix|github|actions|workflows?))*"
            ),
            make_pattern(
                r"(?:which|what)\s+(?P<name>operating\s+systems?|os(?:es)?|platforms?)\s+(?:does|do|is|are)\s+(?:it\s+|the\s+)?(?:ci|tested|github\s+actions|workflows?)"
                r"(?:\s+(?:test|tests|tested|run|runs|use|uses|in|by|on|with|against|the|ci|matrix|github|actions|workflows?))*"
            ),
        ),
    ),
    (
        "command",
        (
            make_pattern(
                rf"{_HOW_TO}(?:(?:run|execute|start|launch)\s+)?(?:(?:the|its|all|these)\s+)*(?:(?:unit|whole|full|automated)\s+)?"
                r"(?P<name>test)s?(?:\s+suite)?(?:\s+(?:it|this(?:\s+project)?|the\s+project))?(?:\s+locally)?"
            ),
            make_pattern(
                rf"{_HOW_TO}(?P<name>build|compile|install)(?:\s+(?:it|this|everything|(?:the|this)\s+(?:project|package|library|code|app|program|crate|gem|tool)|(?P<owner>{PACKAGE})))?"
                r"(?:\s+(?:from\s+(?:the\s+)?sources?|locally))?"
            ),
            make_pattern(r"how\s+(?:are|is)\s+(?:(?:the|its)\s+)?(?:unit\s+)?(?P<name>test)s?(?:\s+suite)?\s+(?:run|executed|started)"),
            make_pattern(
                r"(?:which|what)(?:\s+is\s+the)?\s+commands?\s+(?:runs?|executes?|starts?|(?:to|for)\s+(?:run(?:ning)?|execut(?:e|ing)))\s+(?:the\s+)?(?:unit\s+)?(?P<name>test)s?(?:\s+suite)?"
            ),
            make_pattern(r"(?:which|what)(?:\s+is\s+the)?\s+commands?\s+(?:builds?|(?:to|for)\s+build(?:ing)?)\s+(?:it|this|(?:the\s+)?(?:project|code))"),
        ),
    ),
    (
        "frameworks",
        (
            make_pattern(r"what\s+(?:framework\s+)?(?:does|do)(?:\s+it)?\s+(?P<name>target)"),
            make_pattern(
                rf"(?:which|what)(?:\s+are)?(?:\s+the)?\s+(?:\.net\s+)?(?:target\s+)?frameworks?(?:\s+(?:does|do|are|is|of|for))*(?:\s+{SUBJECT})?(?:\s+(?:support|supported|target|targeted|have|use|build|built|for))*"
            ),
        ),
    ),
    (
        "manager",
        (
            make_pattern(
                r"(?:which|what)(?:\s+is\s+the)?\s+(?:version\s+of\s+the\s+)?(?P<name>package\s+manager)(?:\s+(?:does|do|is|are|it|of|for|in|used|use|by|need|required|the|project))*"
            ),
        ),
    ),
    (
        "flags",
        (
            make_pattern(
                rf"(?:which|what|list)(?:\s+are)?(?:\s+all)?(?:\s+the)?\s+(?:cabal\s+)(?:package\s+)?flags(?:\s+(?:does|do|are|is|of|in))*(?:\s+{SUBJECT})?(?:\s+(?:have|define|declare|there|defined))*"
            ),
            make_pattern(r"(?:which|what)\s+flags\s+(?:does|do)\s+(?P<owner>[\w.-]+\.cabal)\s+(?:have|define|declare)"),
        ),
    ),
    (
        "platform",
        (
            make_pattern(
                rf"(?:(?:what|which)(?:\s+is)?(?:\s+the)?\s+)?(?:minimum|oldest|lowest|min|minimal)(?:\s+supported)?\s+(?P<name>ios|macos|tvos|watchos|visionos)(?:\s+(?:version|deployment\s+target))?(?:\s+(?:of|for|does|is|supported|required|by))*(?:\s+{SUBJECT})?(?:\s+(?:support|require|need))*"
            ),
            make_pattern(
                rf"(?:what|which)\s+(?:version\s+of\s+)?(?P<name>ios|macos|tvos|watchos|visionos)(?:\s+version)?\s+(?:does|is)(?:\s+{SUBJECT})?(?:\s+(?:support|require|need|required|supported|run|on|target))+"
            ),
        ),
    ),
    (
        "extra",
        (
            make_pattern(
                r"(?:which|what)(?:\s+packages)?\s+(?:does|do|is|are)\s+(?:in\s+)?(?:the\s+)?`?(?P<name>[\w-]+)`?\s+(?:extra|optional\s+group)(?:\s+(?:of|in|for|install|require|add|pull|need|contain|include|list|bring|have))*"
            ),
            make_pattern(
                rf"(?:which|what|list)(?:\s+are)?(?:\s+all)?(?:\s+the)?\s+(?:optional\s+)?extras(?:\s+(?:does|do|are|is|of|in|for|there))*(?:\s+{SUBJECT})?(?:\s+(?:have|define|declare|offer|there|defined|available))*"
            ),
        ),
    ),
    (
        "version",
        (
            make_pattern(
                r"(?:what|which)(?:\s+is)?(?:\s+the)?\s+(?:current\s+|latest\s+|package\s+|crate\s+|own\s+)?version(?:\s+number)?\s+(?:of\s+)?(?:is\s+)?(?:it|this|the\s+(?:package|library|crate|gem|project|module))(?:\s+(?:at|on|now))?"
            ),
            make_pattern(r"(?:what|which)(?:\s+is)?(?:\s+the)?\s+(?:current|latest|package|crate|own|gem)\s+version(?:\s+(?:number|of|in))*"),
            make_pattern(r"(?:what|which)\s+version(?:\s+of|\s+in)*\s+is\s+(?:this|it|that)"),
            make_pattern(r"(?:what|which)(?:\s+is)?\s+the\s+version(?:\s+number)?(?:\s+of)?"),
        ),
    ),
)  # fmt: skip
