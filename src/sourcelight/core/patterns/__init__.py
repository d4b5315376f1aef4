"""Patterns: RE2's syntax, required texts, and scanning of byte ranges; pure, no I/O.

Heavy libraries load with `sourcelight.core.patterns.compiled`; import `compile_pattern` from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.core.patterns.formula import (
    ANYTHING,
    FOLD_HAZARDS,
    NOTHING,
    And,
    Formula,
    Or,
    RequiredText,
    fold,
    satisfies,
)

if TYPE_CHECKING:
    from sourcelight.core.patterns.compiled import CompiledPattern, compile_pattern

__all__ = [
    "ANYTHING",
    "FOLD_HAZARDS",
    "NOTHING",
    "And",
    "CompiledPattern",
    "Formula",
    "Or",
    "RequiredText",
    "compile_pattern",
    "fold",
    "satisfies",
]


def __getattr__(name: str) -> object:
    if name in {"CompiledPattern", "compile_pattern"}:
        from sourcelight.core.patterns import compiled

        return getattr(compiled, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
