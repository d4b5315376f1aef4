"""A pattern of code, the texts that every match of it holds, and the languages in which structures are found."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sourcelight.core.boolean import all_of, any_of
from sourcelight.core.errors import UnsupportedQuery, install_command
from sourcelight.core.patterns.formula import RequiredText, RequiredTree, lower_ascii

LANGUAGES: Mapping[str, str] = {
    "C": "c",
    "C#": "csharp",
    "C++": "cpp",
    "Go": "go",
    "Java": "java",
    "JavaScript": "javascript",
    "Kotlin": "kotlin",
    "PHP": "php",
    "Python": "python",
    "Ruby": "ruby",
    "Rust": "rust",
    "Scala": "scala",
    "Shell": "bash",
    "TSX": "tsx",
    "TypeScript": "typescript",
}
"""By the display name: those whose definitions are known. ast-grep reads more, such as CSS, HTML, JSON, Lua, Swift and
YAML; no file of those is searched."""

_PLAIN = frozenset({"Java", "JavaScript", "Scala", "Shell", "TSX", "TypeScript"})
"""Languages in which a name may begin with ``$``, so that ast-grep replaces nothing."""

_LINEAR_B = frozenset({"C", "C++"})
"""Languages in which ast-grep replaces the ``$`` of a pattern by a letter of Linear B."""


@dataclass(frozen=True, slots=True)
class PatternReading:
    """A pattern as its language parses it.

    Attributes
    ----------
    problem
        Why the text isn't a pattern there; empty if it is.
    has_errors
        Whether the grammar could read parts of it only, so that it may match other things than its writer means.
    texts
        What the text of every match holds, as it is written: the named leaves of the pattern's syntax tree, and its
        keywords. ast-grep skips none of them; it compares the first by their text, and keywords by their kind, which is
        their text where case matters. Without punctuation, which is too common.
    """

    problem: str = ""
    has_errors: bool = False
    texts: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class StructurePattern:
    """A pattern of code in the languages that are searched.

    It has the attributes by which the scan asks a `CompiledPattern` where it may match.

    Parameters
    ----------
    text
        The pattern.
    texts
        For each language in which it is searched for, what every match holds.
    problems
        Languages in which it can't be searched for, or not surely as meant, and why.
    language
        The language in which all files are read; empty: each in its own.
    """

    text: str
    texts: tuple[tuple[str, tuple[bytes, ...]], ...]
    problems: tuple[tuple[str, str], ...] = ()
    language: str = ""
    kind: Literal["structure"] = field(default="structure", init=False)
    case_sensitive: bool = field(default=True, init=False)
    multi_line: bool = field(default=True, init=False)
    exact: bool = field(default=False, init=False)
    required: RequiredTree = field(init=False, repr=False, compare=False)
    required_as_written: RequiredTree = field(init=False, repr=False, compare=False)
    _by_language: Mapping[str, tuple[bytes, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        required = any_of(all_of(RequiredText(lower_ascii(text)) for text in texts) for _, texts in self.texts)
        as_written = any_of(all_of(map(RequiredText, texts)) for _, texts in self.texts)
        object.__setattr__(self, "required", required)
        object.__setattr__(self, "required_as_written", as_written)
        object.__setattr__(self, "_by_language", dict(self.texts))

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages in which it is searched for."""
        return tuple(self._by_language)

    def may_match(self, language: str, text: bytes) -> bool:
        """Return whether a file may hold a match."""
        texts = self._by_language.get(language)
        return texts is not None and all(required in text for required in texts)


def expando_of(language: str) -> str:
    """Return ast-grep's replacement for the ``$`` of a metavariable before it parses a pattern.

    In most grammars no name begins with ``$``. Source: ``impl_lang_expando!`` in `crates/language/src/lib.rs` of
    ast-grep/ast-grep.
    """
    if language in _PLAIN:
        return "$"
    if language in _LINEAR_B:
        return "\N{LINEAR B SYLLABLE B008 A}"

    return "\N{MICRO SIGN}"


def check_installed() -> None:
    """Raise `UnsupportedQuery` where the package that finds structures is not installed."""
    if importlib.util.find_spec("ast_grep_py") is None:
        raise UnsupportedQuery(
            "patternType:ast-grep needs a package that is not installed here: "
            "install sourcelight with the extra `structural`",
            hint=install_command("sourcelight[structural]"),
        )
