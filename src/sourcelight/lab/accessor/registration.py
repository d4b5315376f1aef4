"""Add `code` to DataFrames of code, without hiding a column of that name in any other."""

from __future__ import annotations

import warnings
from typing import Any, Final

NAME: Final = "code"


class _Descriptor:
    """`frame.code`; on the class, the accessor's own class, for its documentation.

    pandas' own registration would hide a column named ``code`` of frames that have nothing to do with code: its
    accessors come before columns. This one is absent there, and pandas goes on to the column.
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
        warnings.warn(f"DataFrame.{NAME} is another library's: sourcelight leaves it alone", stacklevel=2)
