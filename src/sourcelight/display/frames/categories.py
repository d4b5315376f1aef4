"""Text and categorical columns of DataFrames from Arrow, with a categorical dtype that outlives `pandas.concat`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

_FEW = 8  # so few categories are likely to come again: the name of a repository, a side, a status


@lru_cache(maxsize=1)
def union_dtype() -> Any:
    """Return the class of the categorical dtypes of frames: `pandas.concat` of two gives the union of their categories.

    pandas makes plain text of categories that differ, so that a frame joined from several results would lose its
    dtypes and most of its compactness. A class, not a function, because pandas asks the dtype; made here, because
    pandas loads on first use.
    """
    import pandas as pd

    class UnionCategoricalDtype(pd.CategoricalDtype):
        """Equal to the `pandas.CategoricalDtype` of the same categories, and pickled as one."""

        def _get_common_dtype(self, dtypes: list[Any]) -> Any:
            is_union = all(isinstance(dtype, pd.CategoricalDtype) and not dtype.ordered for dtype in dtypes)
            if not is_union or any(dtype.categories is None for dtype in dtypes):
                return super()._get_common_dtype(dtypes)  # type: ignore[misc]  # not in the stubs

            category_lists = [dtype.categories for dtype in dtypes if len(dtype.categories)]
            if not category_lists:
                return self

            categories = category_lists[0]
            for further in category_lists[1:]:
                # Appended and not sorted: codes of the first frame stay valid, and values keep their order of first
                # use.
                categories = categories.append(further.difference(categories, sort=False))

            return UnionCategoricalDtype(categories)

        def update_dtype(self, dtype: Any) -> Any:
            base: Any = pd.CategoricalDtype(self.categories, self.ordered)
            updated = base.update_dtype(dtype)
            return UnionCategoricalDtype(updated.categories, updated.ordered)

        def __reduce__(self) -> Any:
            # A plain dtype in the pickle: a reader without this package can load it.
            return pd.CategoricalDtype, (self.categories, self.ordered)

    return UnionCategoricalDtype


def texts(values: Any) -> Any:
    """Return texts as pandas' ``str``, stored in Arrow."""
    import numpy as np
    import pandas as pd

    dtype: Any = pd.StringDtype("pyarrow", na_value=np.nan)
    return dtype.__from_arrow__(values)


def categorical(values: Any) -> Any:
    """Return a dictionary column as pandas' categories: the values that occur, in the order of their first row.

    The dictionaries of an engine also hold values of rows that were left out, in an order of its own. Neither
    survives a CSV file, and `value_counts` would show each of them with a zero.
    """
    import numpy as np
    import pandas as pd

    column = values.combine_chunks()
    try:
        codes, categories = _occurring(column)
        dtype = _categories(categories)
    except ValueError:  # categories must be distinct and not null; a foreign dictionary may break that
        column = column.cast(column.type.value_type).dictionary_encode()
        codes, categories = _occurring(column)
        dtype = _categories(categories)

    # `validate` would read all codes again, although Arrow keeps them within the dictionary.
    return pd.Categorical.from_codes(np.asarray(codes), dtype=dtype, validate=False)


def _occurring(column: Any) -> tuple[Any, Any]:
    """Return the codes of a dictionary array (-1 for null), and the categories that they number."""
    import numpy as np
    import pyarrow as pa

    indices = column.indices
    distinct = np.asarray(indices.drop_null().unique() if indices.null_count else indices.unique())
    codes = np.array(indices.fill_null(-1) if indices.null_count else indices)
    if len(distinct) == len(column.dictionary) and bool((distinct[:-1] < distinct[1:]).all()):
        return codes, column.dictionary

    renumbered = np.full(len(column.dictionary) + 1, -1, codes.dtype)  # the last one is for -1, which is null
    renumbered[distinct] = np.arange(len(distinct), dtype=codes.dtype)
    return renumbered[codes], column.dictionary.take(pa.array(distinct))


def _categories(dictionary: Any) -> Any:
    """Return the dtype of categories; raises ValueError where they are not distinct, or null."""
    import pandas as pd

    if len(dictionary) <= _FEW:
        return _few_categories(tuple(dictionary.to_pylist()))

    index = pd.Index(texts(dictionary))
    # pandas makes a Python object of each category to check whether all differ; Arrow takes a third of the time.
    checked = getattr(union_dtype(), "_from_fastpath", None)
    if checked is None or dictionary.null_count or len(dictionary.unique()) < len(dictionary):
        return union_dtype()(index)

    return checked(index)


@lru_cache(maxsize=1024)
def _few_categories(values: tuple[str, ...]) -> Any:
    import pandas as pd
    import pyarrow as pa

    return union_dtype()(pd.Index(texts(pa.array(values, pa.string()))))
