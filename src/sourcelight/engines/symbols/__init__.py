"""Definitions and imports in source text: parsers per language, and tables of the definitions of many documents.

Nothing here knows a query, a repository or a file on disk: `search/side_tables` stores the arrays. Start with
`file_definitions`, which finds the definitions of one file, then `definition_parser`, `captures`, `table_builder` and
`table`.
"""

from typing import TYPE_CHECKING

from sourcelight.engines.symbols.grammars import KINDS, kind_code

if TYPE_CHECKING:
    from sourcelight.engines.symbols.definition_parser import Definition, FileDefinitions, parse_tree
    from sourcelight.engines.symbols.file_definitions import definitions, imports
    from sourcelight.engines.symbols.grammars import CELL_FORMATS, LANGUAGES, PARSED_LANGUAGES, version
    from sourcelight.engines.symbols.import_parser import Import
    from sourcelight.engines.symbols.table import SymbolTable
    from sourcelight.engines.symbols.table_builder import TableBuilder

__all__ = [
    "CELL_FORMATS",
    "KINDS",
    "LANGUAGES",
    "PARSED_LANGUAGES",
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
    if name in {"definitions", "imports"}:
        from sourcelight.engines.symbols import file_definitions

        return getattr(file_definitions, name)

    if name in {"Definition", "FileDefinitions", "parse_tree"}:
        from sourcelight.engines.symbols import definition_parser

        return getattr(definition_parser, name)

    if name in {"CELL_FORMATS", "LANGUAGES", "PARSED_LANGUAGES", "version"}:
        from sourcelight.engines.symbols import grammars

        return getattr(grammars, name)

    if name == "Import":
        from sourcelight.engines.symbols import import_parser

        return getattr(import_parser, name)

    if name == "SymbolTable":
        from sourcelight.engines.symbols import table

        return getattr(table, name)

    if name == "TableBuilder":
        from sourcelight.engines.symbols import table_builder

        return getattr(table_builder, name)

    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
