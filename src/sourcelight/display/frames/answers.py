"""Frames of answers to tool calls and analyses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.batches.results import Answer
from sourcelight.core.batches.schema import SERVICE
from sourcelight.core.completeness import Status, call_status
from sourcelight.core.tools.catalog import TABLES
from sourcelight.display.frames.tables import to_pandas


def answer_frame(answer: Answer, source: Mapping[str, Any] | None = None, *, status: Status | None = None) -> Any:
    """DataFrame of an answer; its `attrs` have `source`, the attributes, ``status`` and ``notices``."""
    attrs = {
        **(source or {}),
        **answer.attributes,
        "status": status or call_status(complete=answer.complete, rows=answer.table.num_rows, asked=None),
        "notices": list(answer.notices),
    }
    # Of several services, each row says which one it is of.
    served = (SERVICE,) if SERVICE.name in answer.table.column_names else ()
    return to_pandas(answer.table, (*served, *TABLES[answer.columns]), attrs)


def partial_frame(rows: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """DataFrame of the rows that a call told before it was stopped; None when it told none."""
    import pyarrow as pa

    if not rows:
        return None
    served = (SERVICE,) if SERVICE.name in rows[0].column_names else ()
    names = [name for name in rows[0].column_names if name != SERVICE.name]
    columns = next((each for each in TABLES.values() if [one.name for one in each] == names), None)
    told = {**attrs, "status": "interrupted", "notices": ["the call was stopped: there may be more"]}
    if columns is None:
        return None
    return to_pandas(pa.concat_tables(rows).unify_dictionaries(), (*served, *columns), told)


def counted_frame(table: Mapping[str, Any], source: Mapping[str, Any] | None = None) -> Any:
    """DataFrame of a table that belongs to an answer of deep search; `attrs` have its title, query and total."""
    import pandas as pd

    frame = pd.DataFrame([list(row) for row in table.get("rows") or ()], columns=list(table.get("columns") or ()))
    frame.attrs.update(source or {})
    frame.attrs.update({name: table.get(name) for name in ("title", "query", "total")})
    return frame
