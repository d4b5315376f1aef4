"""The dtype of columns of lists: Arrow's, under a name that files can be read with. Loads pandas.

pandas writes the name of a dtype into Parquet and Feather files, and refuses its own ``list<item: int32>[pyarrow]``
when it reads one. Python lists in a column of objects can be read, but a row of matches takes 410 bytes with them and
162 without. So lists stay in Arrow, and their dtype has a name that every pandas can parse:
``(0,)int32`` is NumPy's for a subarray. Where this module is loaded the file has the same dtype again; elsewhere pandas
ignores the name and gives objects.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

INTEGERS = "(0,)int32"
STRINGS = "(0,)object"
_TYPES = {INTEGERS: pa.list_(pa.int32()), STRINGS: pa.list_(pa.string())}


@pd.api.extensions.register_extension_dtype
class ListDtype(pd.ArrowDtype):
    """Lists of integers or of text, kept by Arrow."""

    @property
    def name(self) -> str:  # type: ignore[override]  # a property in pandas
        """``(0,)int32`` or ``(0,)object``."""
        return INTEGERS if pa.types.is_integer(self.pyarrow_dtype.value_type) else STRINGS

    @classmethod
    def construct_from_string(cls, string: str) -> ListDtype:
        """Return the dtype of a name; TypeError for names of others, as pandas asks every dtype in turn."""
        if string not in _TYPES:
            raise TypeError(f"{string!r} is not a dtype of lists")
        return cls(_TYPES[string])

    def construct_array_type(self) -> type[ListArray]:
        """Return the class of arrays of this dtype."""
        return ListArray

    def __from_arrow__(self, array: Any) -> ListArray:
        """Return an Arrow array or chunked array as a column."""
        return ListArray(array.cast(self.pyarrow_dtype))

    def __reduce__(self) -> Any:
        return ListDtype, (self.pyarrow_dtype,)


class ListArray(pd.arrays.ArrowExtensionArray):
    """A column of lists; an item is a Python list, or `pandas.NA` for null."""

    def __init__(self, values: Any) -> None:
        super().__init__(values)
        # What pandas' own subclasses build on; the stubs leave it out.
        self._dtype = ListDtype(self._pa_array.type)  # type: ignore[attr-defined]
