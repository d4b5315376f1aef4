"""`DataFrame.code`, which leads from rows to links, files and blame, and comparisons of two results.

The accessor calls the client that the rows came from and draws with `display.notebook`; figures are in `lab.plots`.
pandas loads on first use, and `register` loads nothing. Start reading in `accessor`.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sourcelight.lab.accessor.accessor import CodeAccessor
    from sourcelight.lab.accessor.rows import compare_results

__all__ = ["CodeAccessor", "compare_results", "register"]

NAME: Final = "code"


def __getattr__(name: str) -> Any:
    if name == "CodeAccessor":
        from sourcelight.lab.accessor import accessor

        return getattr(accessor, name)
    if name == "compare_results":
        from sourcelight.lab.accessor import rows

        return getattr(rows, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Descriptor:
    """`frame.code`; on the class, the accessor's own class, for its documentation.

    pandas' own registration would hide a column named ``code`` of frames that have nothing to do with code: its
    accessors come before columns. This one is absent there, and pandas continues to the column.
    """

    def __get__(self, frame: Any, owner: type) -> Any:
        from sourcelight.lab.accessor.accessor import CodeAccessor

        return CodeAccessor if frame is None else CodeAccessor(frame)


def register() -> None:
    """Register `code` on pandas' DataFrame; repeating it is harmless.

    Warns
    -----
    UserWarning
        When another library has put something there; it is left alone.
    """
    import pandas as pd

    existing = pd.DataFrame.__dict__.get(NAME)
    if existing is None:
        setattr(pd.DataFrame, NAME, _Descriptor())
    elif not isinstance(existing, _Descriptor):
        warnings.warn(f"another library already uses DataFrame.{NAME}; sourcelight doesn't replace it", stacklevel=2)
