"""DataFrames of tools that only a service knows: rows of their structured content, or of their text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.extras import require_notebook

Frame = Any

_LINK = re.compile(r"\[(?P<label>[^\]\n]*)\]\((?P<link>[^()\s]+)\)")
_BLOB = re.compile(r"(?:https?://[^/]+)?/(?P<repository>.+?)(?:@(?P<revision>[^/]+))?/-/blob/(?P<path>[^?#]+)")
_LINES = re.compile(r"L(\d+)(?:-L?(\d+))?")
_CUT = ("limitHit", "truncated", "hasMoreResults", "hasMore")


def payload_frame(structured: Mapping[str, Any] | None, texts: Sequence[str]) -> tuple[Frame, bool]:
    """Return what a tool answered as a DataFrame, and whether it says nothing of more.

    Rows are the one list of objects in its structured content; else the object itself is a row. Of a text, the links to
    code are the rows; without any, the text is.
    """
    require_notebook("pandas", "a DataFrame")
    import pandas as pd

    value: Any = structured
    if structured is None or set(structured) == {"text"}:
        text = "\n".join(texts) if structured is None else str(structured["text"])
        try:
            value = json.loads(text)
        except ValueError:
            return pd.DataFrame(_links(text) or {"text": [text]}), True
    if isinstance(value, Mapping):
        page = value.get("pageInfo")
        is_cut = any(value.get(name) for name in _CUT) or (isinstance(page, Mapping) and bool(page.get("hasNextPage")))
        lists = [item for item in value.values() if _is_rows(item)]
        return pd.DataFrame(lists[0] if len(lists) == 1 else [dict(value)]), not is_cut
    return pd.DataFrame(value if _is_rows(value) else {"value": value if isinstance(value, list) else [value]}), True


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _links(text: str) -> list[dict[str, Any]]:
    rows = []
    for match in _LINK.finditer(text):
        if (blob := _BLOB.match(match["link"])) is not None:
            lines = _LINES.search(match["link"].partition("/-/blob/")[2])
            first = int(lines[1]) if lines else None
            rows.append(
                {
                    "label": match["label"],
                    "repository": blob["repository"],
                    "revision": blob["revision"] or "",
                    "path": blob["path"],
                    "start_line": first,
                    "end_line": int(lines[2] or lines[1]) if lines else None,
                    "link": match["link"],
                }
            )
    return rows
