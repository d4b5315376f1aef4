"""DataFrames of the answers of tools that this version doesn't know.

Such an answer has structured content, texts, or both, and nothing says what they mean. The rows of the DataFrame are
what looks like rows in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.core.extras import require_notebook

if TYPE_CHECKING:
    from pandas import DataFrame

_LINK = re.compile(r"\[(?P<label>[^\]\n]*)\]\((?P<link>[^()\s]+)\)")
"""A link of Markdown."""

_BLOB = re.compile(r"(?:https?://[^/]+)?/(?P<repository>.+?)(?:@(?P<revision>[^/]+))?/-/blob/(?P<path>[^?#]+)")
"""The address of a file: ``/owner/name@main/-/blob/src/retry.py``."""

_LINES = re.compile(r"L(\d+)(?:-L?(\d+))?")
"""Lines in the address of a file: ``L12``, ``L12-20``, ``L12-L20``."""

_CUT = ("limitHit", "truncated", "hasMoreResults", "hasMore")
"""Keys by which services say that an answer has only a part of the rows."""


def payload_frame(structured: Mapping[str, Any] | None, texts: Sequence[str]) -> tuple[DataFrame, bool | None]:
    """Return the answer of a tool as a DataFrame, and whether it is complete; None if the answer doesn't say.

    Rows are the only list of objects in its structured content; otherwise the object itself is a row. If there is only
    text, rows are its links to code; without links, the text is the row.
    """
    require_notebook("pandas", "a DataFrame")
    import pandas as pd

    value: Any = structured
    if structured is None or set(structured) == {"text"}:
        text = "\n".join(texts) if structured is None else str(structured["text"])
        try:
            value = json.loads(text)
        except ValueError:
            return pd.DataFrame(_links(text) or {"text": [text]}), None

    if isinstance(value, Mapping):
        lists = [item for item in value.values() if _is_rows(item)]
        rows = lists[0] if len(lists) == 1 else [dict(value)]
        return pd.DataFrame(rows), _is_complete(value)
    if _is_rows(value):
        return pd.DataFrame(value), None

    return pd.DataFrame({"value": value if isinstance(value, list) else [value]}), None


def _is_rows(value: object) -> bool:
    """Return whether a value is a list of objects."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _is_complete(answer: Mapping[str, Any]) -> bool | None:
    """Return whether an answer says that it has all results; None if it doesn't say."""
    flags = [answer[name] for name in _CUT if name in answer]
    page = answer.get("pageInfo")
    if isinstance(page, Mapping) and "hasNextPage" in page:
        flags.append(page["hasNextPage"])

    if any(flags):
        return False
    # Only `false` says it: a null is an answer without the flag.
    return True if False in flags else None


def _links(text: str) -> list[dict[str, Any]]:
    """Return a row for each link of a text to a file."""
    rows = []
    for match in _LINK.finditer(text):
        link = match["link"]
        blob = _BLOB.match(link)
        if blob is None:
            continue

        first_line = last_line = None
        lines = _LINES.search(link.partition("/-/blob/")[2])
        if lines is not None:
            first_line, last_line = int(lines[1]), int(lines[2] or lines[1])

        rows.append(
            {
                "label": match["label"],
                "repository": blob["repository"],
                "revision": blob["revision"] or "",
                "path": blob["path"],
                "start_line": first_line,
                "end_line": last_line,
                "link": link,
            }
        )

    return rows
