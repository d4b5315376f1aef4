"""Patterns: RE2's syntax, the texts that a match requires, and scans of byte ranges.

No index, no files and no queries: engines pass buffers and ranges. Start with `compiled`, the object that engines use,
then `syntax`, which reads a pattern into a `tree`, and `required`, the texts for an index. Heavy libraries load with
`sourcelight.core.patterns.compiled`; import `compile_pattern` from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.core.patterns.formula import FOLD_HAZARDS, RequiredText, RequiredTree, lower_ascii, satisfies

if TYPE_CHECKING:
    from sourcelight.core.patterns.compiled import CompiledPattern, compile_pattern

__all__ = [
    "FOLD_HAZARDS",
    "CompiledPattern",
    "RequiredText",
    "RequiredTree",
    "compile_pattern",
    "lower_ascii",
    "satisfies",
]


def __getattr__(name: str) -> object:
    if name in {"CompiledPattern", "compile_pattern"}:
        from sourcelight.core.patterns import compiled

        return getattr(compiled, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
