"""The languages in which structures are found, and what ast-grep calls them."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

from sourcelight.core.errors import UnsupportedQuery

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
_LINEAR_B = frozenset({"C", "C++"})


def expando_of(language: str) -> str:
    """Return what ast-grep writes for the ``$`` of a metavariable before it parses a pattern.

    In most grammars no name begins with ``$``. Source: ``impl_lang_expando!`` in `crates/language/src/lib.rs` of
    ast-grep/ast-grep.
    """
    return "$" if language in _PLAIN else "\N{LINEAR B SYLLABLE B008 A}" if language in _LINEAR_B else "\N{MICRO SIGN}"


def check_installed() -> None:
    """Raise `UnsupportedQuery` where the package that finds structures is not installed."""
    if importlib.util.find_spec("ast_grep_py") is None:
        raise UnsupportedQuery(
            "patternType:ast-grep needs a package that is not installed here: "
            "install sourcelight with the extra `structural`",
            hint="pip install 'sourcelight[structural]'",
        )
