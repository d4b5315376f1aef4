"""All text that cells of a notebook could have, without its places: enough to see that a line is in none of them."""

from __future__ import annotations

import json
from typing import Any


def all_strings(data: bytes) -> bytes | None:
    """Return every line of every cell of a notebook, and more, each as a line of its own; None for what is no notebook.

    A text of a cell is a string, or a list of strings that are joined; all of both are here, wherever they stand.
    `json.loads` reads a megabyte in a tenth of the time that a reader with places takes.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not any(isinstance(value.get(key), list) for key in ("cells", "worksheets")):
        return None
    texts: list[str] = []
    pending: list[Any] = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            texts.append(node)
        elif isinstance(node, list):
            texts.append("".join([item for item in node if isinstance(item, str)]))
            pending += [item for item in node if not isinstance(item, int | float)]
        elif isinstance(node, dict):
            pending += [item for key, item in node.items() if not key.startswith("image/")]
    try:
        return "\n".join(texts).encode()
    except UnicodeEncodeError:
        return None  # a lone surrogate, which has no bytes
