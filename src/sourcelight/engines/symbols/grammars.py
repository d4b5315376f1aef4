"""The grammar of each language, loaded on first use, and the kinds of definitions, named as on the wire."""

from __future__ import annotations

import functools
import hashlib
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.engines.symbols import definition_queries
from sourcelight.engines.symbols.import_parser import QUERIES

if TYPE_CHECKING:
    from tree_sitter import Language, Query

_RULES = 3
"""Version of the code that reads definitions. Raise it by one when the same text and queries give other definitions."""

CELL_FORMATS: tuple[str, ...] = ("Jupyter Notebook", "RMarkdown")
"""Display names of the formats with cells; their definitions are in the language of the kernel or chunk."""

KINDS: tuple[str, ...] = (
    "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum",
    "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null",
    "enummember", "struct", "event", "operator", "typeparameter",
)  # fmt: skip
"""Kinds of definitions. Tables on disk store the index of a kind, so only append to it."""

_CODES = {kind: code for code, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class Grammar:
    """A tree-sitter grammar.

    Attributes
    ----------
    package
        The package on PyPI that contains it.
    query
        The query whose captures are definitions.
    function
        The function of the package that returns it: a package may have grammars of several languages.
    constructor
        Name of the method that is a constructor, such as ``__construct``; empty if the query itself tells constructors
        from methods, or the language has none.
    """

    package: str
    query: str
    function: str = "language"
    constructor: bytes = b""


GRAMMARS: dict[str, Grammar] = {
    "C": Grammar("tree-sitter-c", definition_queries.C),
    "C#": Grammar("tree-sitter-c-sharp", definition_queries.C_SHARP),
    "C++": Grammar("tree-sitter-cpp", definition_queries.CPP),
    "Go": Grammar("tree-sitter-go", definition_queries.GO),
    "Java": Grammar("tree-sitter-java", definition_queries.JAVA),
    "JavaScript": Grammar("tree-sitter-javascript", definition_queries.JAVASCRIPT, constructor=b"constructor"),
    "Kotlin": Grammar("tree-sitter-kotlin", definition_queries.KOTLIN),
    "PHP": Grammar("tree-sitter-php", definition_queries.PHP, "language_php", b"__construct"),
    "Python": Grammar("tree-sitter-python", definition_queries.PYTHON),
    "Ruby": Grammar("tree-sitter-ruby", definition_queries.RUBY),
    "Rust": Grammar("tree-sitter-rust", definition_queries.RUST),
    "Scala": Grammar("tree-sitter-scala", definition_queries.SCALA),
    "Shell": Grammar("tree-sitter-bash", definition_queries.BASH),
    "TSX": Grammar("tree-sitter-typescript", definition_queries.TYPESCRIPT, "language_tsx", b"constructor"),
    "TypeScript": Grammar(
        "tree-sitter-typescript", definition_queries.TYPESCRIPT, "language_typescript", b"constructor"
    ),
}
"""By the display name of the language."""

LANGUAGES: tuple[str, ...] = tuple(GRAMMARS)
"""Display names of the languages whose definitions can be found."""

PARSED_LANGUAGES: tuple[str, ...] = LANGUAGES + CELL_FORMATS
"""Display names of all languages and formats that are parsed. Tables store the index in it plus one."""


@functools.cache
def load_grammar(language: str) -> tuple[Language, Query]:
    """Load a grammar and compile its query."""
    from tree_sitter import Language, Query

    grammar = GRAMMARS[language]
    module = importlib.import_module(grammar.package.replace("-", "_"))
    tree_sitter_language = Language(getattr(module, grammar.function)())
    return tree_sitter_language, Query(tree_sitter_language, grammar.query + QUERIES.get(language, ""))


@functools.cache
def version() -> str:
    """Return an id of the rules for definitions: other grammars or queries have another id."""
    # Loads the readers of messages and archives of the standard library, for an index of definitions alone.
    import importlib.metadata

    parts = [str(_RULES), importlib.metadata.version("tree-sitter")]
    for language, grammar in GRAMMARS.items():
        parts += [language, importlib.metadata.version(grammar.package), grammar.query, QUERIES.get(language, "")]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def kind_code(kind: str) -> int | None:
    """Return a kind's number, also for the spellings of ``select:`` (``enum-member``), or None for an unknown kind."""
    return _CODES.get(kind.lower().replace("-", ""))
