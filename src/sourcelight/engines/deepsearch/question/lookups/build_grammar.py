"""The parts that forms of questions for build files share: names of packages, nouns, verbs and subjects.

A form is a pattern of a whole question. Its groups have the same meaning everywhere: ``name`` is the thing that is
asked for (``other`` is its name at another position), ``owner`` the package whose manifest is meant, and ``group`` a
list of the manifest, such as ``default`` features.
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
