"""Texts of figures: columns as labels, names that fit beside an axis, numbers with their units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sourcelight.core.batches.persons import is_placeholder
from sourcelight.core.markup import one_line
from sourcelight.lab.plots.data import check_column

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MAX_LABEL_CHARS = 44
"""Characters of a label beside an axis; a longer name loses its middle."""

MAX_READ_CHARS_PER_LABEL_CHAR = 10
"""Characters that are read for each that is shown: a name from a repository may have megabytes."""

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
    column = frame[name]
    texts = column.astype("object").where(column.notna(), "unknown").astype("str")
    address_column = f"{name}_email"
    if name in _AUTHORS and address_column in frame.columns:
        addresses = frame[address_column]
        if addresses.notna().any():
            return _person_labels(texts, addresses)

    return texts


def _person_labels(names: Series[Any], addresses: Series[Any]) -> Series[Any]:
    """Return the label of the person in each row. An address is a person, who may have several names.

    =========  ============  =======================
    name       address       label
    =========  ============  =======================
    Ada        ada@work      Ada
    Ada Byron  ada@work      Ada
    Ada        ada@work      Ada
    Ada        lace@home     Ada <lace@home>
    =========  ============  =======================
    """
    # Rows without an address, or with a placeholder such as none@none, are distinguished by the name.
    texts = addresses.astype("object").where(addresses.notna(), "").astype("str")
    has_address = texts.map(lambda text: bool(text) and not is_placeholder(text)).astype("bool")
    keys = texts.where(has_address, names.astype("str")).str.casefold()
    counts = names.groupby([keys, names], sort=False).size()
    labels: dict[str, str] = {}
    seen_labels: set[str] = set()
    # The most frequent name of a person comes first, and becomes the label.
    for key, name in counts.sort_values(ascending=False, kind="stable").index:
        if key in labels:
            continue
        label = name
        if label in seen_labels:
            label = f"{name} <{key}>"
        labels[key] = label
        seen_labels.add(label)

    return keys.map(labels)


def largest_first(totals: Series[Any], limit: int) -> tuple[list[str], list[str]]:
    """Return the names with the largest totals, at most `limit`, and the remaining ones."""
    names = [str(name) for name in totals.sort_values(ascending=False, kind="stable").index]
    return names[:limit], names[limit:]


def short_label(text: Any, width: int = MAX_LABEL_CHARS) -> str:
    """Return a name as a label: one line, without its middle where it is long, since names differ at their ends."""
    line = one_line(str(text), MAX_READ_CHARS_PER_LABEL_CHAR * width)
    if len(line) <= width:
        return line

    # Two thirds for the end: paths and qualified names differ there.
    name_chars = width - len("…")
    tail_chars = name_chars * 2 // 3
    head_chars = name_chars - tail_chars
    return f"{line[:head_chars]}…{line[-tail_chars:]}"


def format_number(value: float) -> str:
    """Return a number with separators, and one decimal if it has any."""
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.1f}"


def format_amount(value: float, unit: str) -> str:
    """Return a number with its unit, a plural: ``1 match``, ``2 matches``, ``1 added line``."""
    if value == 1:
        *first_words, last_word = unit.split(" ")
        unit = " ".join([*first_words, _SINGULARS.get(last_word, last_word)])
    return f"{format_number(value)} {unit}"


def others_label(count: int) -> str:
    """Return the name of a series of everything else: ``1 other``, ``2 others``."""
    if count == 1:
        return "1 other"
    return f"{count:,} others"
