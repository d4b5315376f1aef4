"""Definitions of functions, classes and the like in source text: finding them, and tables of them by document.

`definitions` parses one file; `TableBuilder` gathers the definitions of many files as arrays and `SymbolTable` reads
them back. No query, no repository and no file on disk is known here: whoever keeps the arrays decides where they are.
"""

from typing import TYPE_CHECKING

from sourcelight.engines.symbols.kinds import KINDS, kind_code

if TYPE_CHECKING:
    from sourcelight.engines.symbols.definitions import Definition, Definitions, definitions
    from sourcelight.engines.symbols.grammars import LANGUAGES, version
    from sourcelight.engines.symbols.table import SymbolTable, TableBuilder

__all__ = [
    "KINDS",
    "LANGUAGES",
    "Definition",
    "Definitions",
    "SymbolTable",
    "TableBuilder",
    "definitions",
    "kind_code",
    "version",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    homes = {"LANGUAGES": "grammars", "version": "grammars", "SymbolTable": "table", "TableBuilder": "table"}
    if name in __all__:
        room = import_module(f"{__name__}.{homes.get(name, 'definitions')}")
        found = getattr(room, name)
        globals()[name] = found  # else the submodule `definitions` would stand in for its function
        return found
    raise AttributeError(name)
