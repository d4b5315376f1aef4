"""Texts of figures: columns as labels, names that fit beside an axis, numbers with their units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.core.markup import one_line
from sourcelight.lab.plots.data import check_column

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MAX_LABEL_CHARS = 44
"""Characters of a label beside an axis; a longer name loses its middle."""

_AUTHORS = frozenset({"author", "blame_author", "last_author"})
"""Columns of people, whose addresses are in a column with ``_email`` behind the name."""

_SINGULARS = {"matches": "match", "commits": "commit", "lines": "line", "rows": "row"}
"""Last words of units that charts count, with their singulars."""


def text_column(frame: DataFrame, name: str) -> Series[Any]:
    """Return a column as texts, ``unknown`` for null.

    Authors are distinguished by address, as in tables: of several with one name, all but the first show the address.

    Raises
    ------
    ValueError
        The frame has no such column.
    """
    check_column(frame, name)
    texts = frame[name].astype("object").where(frame[name].notna(), "unknown").astype("str")
    addresses = f"{name}_email"
    if name not in _AUTHORS or addresses not in frame.columns or not frame[addresses].notna().any():
        return texts

    keys = frame[addresses].astype("object").where(frame[addresses].notna(), texts).astype("str").str.casefold()
    # A person may have several names: the most frequent one, which comes first, becomes the label.
    pairs = texts.groupby([keys, texts], sort=False).size().sort_values(ascending=False, kind="stable")
    labels: dict[str, str] = {}
    existing_names: set[str] = set()
    for key, text in pairs.index:
        if key not in labels:
            labels[key] = f"{text} <{key}>" if text in existing_names else text
            existing_names.add(labels[key])

    return keys.map(labels)


def largest_first(totals: Series[Any], limit: int) -> tuple[list[str], Sequence[str]]:
    """Return the names with the largest totals, at most `limit`, and the remaining ones."""
    names = [str(name) for name in totals.sort_values(ascending=False, kind="stable").index]
    return names[:limit], names[limit:]


def short_label(text: Any, width: int = MAX_LABEL_CHARS) -> str:
    """Return a name as a label: one line, without its middle where it is long, since names differ at their ends."""
    line = one_line(str(text), 10 * width)
    if len(line) <= width:
        return line
    tail = (width - 1) * 2 // 3
    return f"{line[: width - 1 - tail]}…{line[-tail:]}"


def format_number(value: float) -> str:
    """Return a number with separators, and one decimal if it has any."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def format_amount(value: float, unit: str) -> str:
    """Return a number with its unit, a plural: ``1 match``, ``2 matches``, ``1 added line``."""
    head, _, last = unit.rpartition(" ")
    unit_text = f"{head} {_SINGULARS.get(last, last)}".strip() if value == 1 else unit
    return f"{format_number(value)} {unit_text}"


def others_label(count: int) -> str:
    """Return the name of a series of everything else: ``1 other``, ``2 others``."""
    return f"{count:,} other{'' if count == 1 else 's'}"
