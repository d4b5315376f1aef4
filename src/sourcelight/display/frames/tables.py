"""Arrow tables as pandas and polars DataFrames, and tables with one row per match.

Text and categorical columns come from Arrow without a Python object per row. Their categorical dtype outlives
`pandas.concat`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches.schema import MATCHES, SERVICE, Column, arrow_type, conform
from sourcelight.core.errors import MissingExtra
from sourcelight.core.extras import has_library, require_notebook, run_frame_actions
from sourcelight.display.frames.schema import SPANS, table_schema

if TYPE_CHECKING:
    from pandas import DataFrame


Table = Any
Frame = Any
VISIBLE: tuple[Column, ...] = tuple(column for column in MATCHES if column.is_visible)

_CARRIED = ("repository", "revision", "path", "language", "line_number")
"""Columns of a row that each of its spans repeats."""

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


def shown_table(batches: Sequence[Any], first: Sequence[Column] = ()) -> Table:
    """Return one Arrow table of all visible match columns, preceded by further columns of the batches, `first`."""
    import pyarrow as pa

    table = conform(list(batches), visible_only=True)
    for column in reversed(first):
        kind = arrow_type(column.type)
        name = column.name
        chunks = []
        for batch in batches:
            has_column = name in batch.schema.names
            chunks.append(batch.column(name) if has_column else pa.nulls(batch.num_rows, kind))
        table = table.add_column(0, name, pa.chunked_array(chunks, kind))

    return table


def matches_table(batches: Sequence[Any], *, served: bool = False) -> Table:
    """Return `shown_table` with unified dictionaries, so equal values have equal codes; `served` adds `SERVICE`."""
    import pyarrow as pa

    table = shown_table(batches, (SERVICE,) if served else ())

    try:
        return table.unify_dictionaries()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # A dictionary has a null or a value twice: encode again, which is slower but always right.
        return _unify_dictionaries(table)


def _unify_dictionaries(table: Table) -> Table:
    import pyarrow as pa

    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        if pa.types.is_dictionary(field.type):
            decoded = column.cast(field.type.value_type)
            columns.append(decoded.dictionary_encode().unify_dictionaries().cast(field.type))
        else:
            columns.append(column)

    return pa.Table.from_arrays(columns, schema=table.schema)


def rows_table(columns: Iterable[Column], rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return Arrow table of small frames from dicts."""
    import pyarrow as pa

    return pa.Table.from_pylist(list(rows), schema=table_schema(columns))


def to_pandas(table: Table, columns: Sequence[Column] = VISIBLE, attrs: Mapping[str, Any] | None = None) -> DataFrame:
    """Return DataFrame of an Arrow table, one Arrow-backed column at a time and without copying text.

    Parameters
    ----------
    table
        Table with the schema of `columns`, in that order.
    columns
        The columns; dtypes follow `sourcelight.display.frames.schema.pandas_dtype`.
    attrs
        A small flat dict; pandas copies it with every operation.

    Raises
    ------
    MissingExtra
        pandas is not installed.
    """
    require_notebook("pandas", "a DataFrame")
    import pandas as pd

    run_frame_actions()

    # Code is full of dollar signs, and a front end would typeset the text between two of them. That is wrong, and lets
    # a repository smuggle in links. pandas has a single switch for the whole process.
    pd.set_option("display.html.use_mathjax", False)
    # Arrays, not series: pandas would align the indexes of all columns.
    frame = pd.DataFrame({column.name: _array(table.column(column.name), column) for column in columns}, copy=False)
    if attrs:
        frame.attrs.update(attrs)

    return frame


def _array(values: Any, column: Column) -> Any:
    import numpy as np
    import pandas as pd

    kind = column.type
    make = _MAKERS.get(kind)
    if make is not None:
        return make(values)
    if kind == "timestamp":
        return pd.array(values.to_numpy(), dtype="datetime64[us, UTC]")

    if column.null and kind in {"int32", "int64", "bool"}:
        mask = values.is_null().to_numpy() if values.null_count else np.zeros(len(values), np.bool_)
        array_type = pd.arrays.BooleanArray if kind == "bool" else pd.arrays.IntegerArray
        return array_type(_copy(values), mask)

    if kind == "float64":
        return np.array(values.to_numpy(), dtype=np.float64)  # NaN for null

    return _copy(values)


def pandas_metadata(columns: Sequence[Column]) -> dict[bytes, bytes]:
    """Return schema metadata from which pandas restores the dtypes of `columns`; empty without pandas."""
    import pyarrow as pa

    if not has_library("pandas"):
        return {}

    frame = to_pandas(table_schema(columns).empty_table(), columns)
    metadata: dict[bytes, bytes] = pa.Table.from_pandas(frame, preserve_index=False).schema.metadata
    return metadata


def list_values(values: Any) -> list[list[Any] | None]:
    """Return the Python lists of an Arrow column of lists, without an Arrow scalar per row."""
    import pyarrow as pa

    rows: list[list[Any] | None] = []
    arrays = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    for array in arrays:
        if array.null_count == len(array):
            rows += [None] * len(array)
            continue
        inner, offsets = array.values.to_pylist(), array.offsets.to_pylist()  # noqa: PD011 - Arrow's
        chunk_rows: list[list[Any] | None] = [inner[start:end] for start, end in itertools.pairwise(offsets)]
        if array.null_count:
            valid = array.is_valid().to_pylist()
            chunk_rows = [row if is_valid else None for row, is_valid in zip(chunk_rows, valid, strict=True)]
        rows += chunk_rows

    return rows


def _lists(values: Any) -> Any:
    from sourcelight.display.frames.list_dtype import ListArray

    return ListArray(values)


_MAKERS: Mapping[str, Callable[[Any], Any]] = {
    "dict8": categorical,
    "dict32": categorical,
    "list": _lists,
    "strings": _lists,
    "string": texts,
}


def _copy(values: Any) -> Any:
    """Return numbers that may be written to, as Arrow's own may not; 0 or False for null."""
    import numpy as np
    import pyarrow as pa

    nothing = False if pa.types.is_boolean(values.type) else 0
    return np.array(values.fill_null(nothing))


def to_polars(table: Table) -> Any:
    """Return a polars DataFrame; raises `MissingExtra` if polars is not installed."""
    try:
        import polars as pl
    except ImportError as exc:
        raise MissingExtra("polars", "to_polars()") from exc
    return pl.from_arrow(table)


def explode(table: Any) -> Any:
    """Return Arrow table of `SPANS`: each span of each row of `table`, in order.

    Spans in a path or a repository name are listed only for rows without a line, because rows of lines repeat them. The
    text of the line is left out: it can be megabytes long and have thousands of matches. `row` is its row in `table`.
    """
    import pyarrow as pa

    table = table.combine_chunks()
    parts = [
        _part(table, "line", column="line", start="start", end="end"),
        _part(table, "name", column="path", start="name_start", end="name_end"),
        _part(table, "name", column="repository", start="name_start", end="name_end"),
    ]
    return pa.concat_tables(parts, promote_options="none").sort_by([("row", "ascending"), ("start", "ascending")])


def _part(table: Any, kind: str, *, column: str, start: str, end: str) -> Any:
    """Return the spans in one column of text: in the line, or in the name of a row without a line."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "line":
        has_text = pc.is_valid(table["line"])
    elif column == "path":
        has_text = pc.and_(pc.is_null(table["line"]), pc.is_valid(table["path"]))
    else:
        has_text = pc.and_(pc.is_null(table["line"]), pc.is_null(table["path"]))

    has_spans = pc.and_(has_text, pc.fill_null(pc.greater(pc.list_value_length(table[start]), 0), False))
    # One array: an empty table has no chunk, and before pyarrow 26 the indices of none end the interpreter.
    rows = pc.indices_nonzero(has_spans.combine_chunks())
    selected = table.select([*_CARRIED, start, end]).take(rows)

    # For each span the number of its row in `selected`; `rows` then leads from there to `table`.
    parents = pc.list_parent_indices(selected[start].combine_chunks())
    starts = _flat(selected[start])
    ends = _flat(selected[end])
    carried = selected.select(list(_CARRIED)).take(parents)

    # The text of each match, and whether it continues.
    row_texts: list[str] = table[column].take(rows).to_pylist()
    matches, continues = [], []
    for position, first, last in zip(parents.to_pylist(), starts.to_pylist(), ends.to_pylist(), strict=True):
        text = row_texts[position]
        matches.append(text[first:last])
        # A match over several lines ends behind the newline of its line, which the text doesn't have.
        continues.append(last > len(text))

    columns = {
        "row": pc.cast(rows, pa.int64()).take(parents),
        **{name: carried[name] for name in _CARRIED},
        "field": pa.repeat(pa.scalar(column), len(parents)),
        "start": starts,
        "end": ends,
        "match": pa.array(matches, type=pa.string()),
        "continues": pa.array(continues, type=pa.bool_()),
    }
    schema = table_schema(SPANS)
    return pa.table([columns[field.name] for field in schema], schema=schema)


def _flat(column: Any) -> Any:
    import pyarrow.compute as pc

    return pc.list_flatten(column.combine_chunks())
