"""`DataFrame.code`, which leads from rows to links, files and blame, and comparisons of two results.

The accessor calls the client that the rows came from and draws with `display.notebook`; figures are in `lab.plots`.
pandas loads on first use, and `register` loads nothing. Start reading in `accessor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sourcelight.lab.accessor.registration import register

if TYPE_CHECKING:
    from sourcelight.lab.accessor.accessor import CodeAccessor
    from sourcelight.lab.accessor.rows import compare_results

__all__ = ["CodeAccessor", "compare_results", "register"]


def __getattr__(name: str) -> Any:
    if name == "CodeAccessor":
        from sourcelight.lab.accessor import accessor

        return getattr(accessor, name)
    if name == "compare_results":
        from sourcelight.lab.accessor import rows

        return getattr(rows, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
