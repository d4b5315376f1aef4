"""Definitions of functions, classes and the like in source text: finding them, and tables of them by document.

`definitions` parses one file; `TableBuilder` gathers the definitions of many files as arrays and `SymbolTable` reads
them back. No query, no repository and no file on disk is known here: whoever keeps the arrays decides where they are.
"""

from typing import TYPE_CHECKING

from sourcelight.engines.symbols.grammars import KINDS, kind_code

if TYPE_CHECKING:
    from sourcelight.engines.symbols.definition_parser import (
        Definition,
        FileDefinitions,
        definitions,
        imports,
        parse_tree,
    )
    from sourcelight.engines.symbols.grammars import LANGUAGES, version
    from sourcelight.engines.symbols.import_parser import Import
    from sourcelight.engines.symbols.table import SymbolTable, TableBuilder

__all__ = [
    "KINDS",
    "LANGUAGES",
    "Definition",
    "FileDefinitions",
    "Import",
    "SymbolTable",
    "TableBuilder",
    "definitions",
    "imports",
    "kind_code",
    "parse_tree",
    "version",
]


def __getattr__(name: str) -> object:
    if name in {"Definition", "FileDefinitions", "definitions", "imports", "parse_tree"}:
        from sourcelight.engines.symbols import definition_parser

        return getattr(definition_parser, name)
    if name in {"LANGUAGES", "version"}:
        from sourcelight.engines.symbols import grammars

        return getattr(grammars, name)
    if name == "Import":
        from sourcelight.engines.symbols import import_parser

        return getattr(import_parser, name)
    if name in {"SymbolTable", "TableBuilder"}:
        from sourcelight.engines.symbols import table

        return getattr(table, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
