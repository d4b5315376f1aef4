"""The items that pages divide: rows of an answer's table, or entries of a list in its attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeAlias

from sourcelight.core.batches.results import ToolResult


class ItemMark(NamedTuple):
    """A position in an answer: an item, and an offset in characters into its text."""

    item: int
    offset: int = 0


Adjust: TypeAlias = Callable[[ToolResult, ToolResult, ItemMark, ItemMark], ToolResult]
"""Corrects the attributes of a part, given the part, the full answer, and the start and end of the part."""


class Items(Protocol):
    """Items of a tool's answer, for pages."""

    @property
    def noun(self) -> str:
        """Noun of the items, in the plural."""

    def count(self, result: ToolResult) -> int:
        """Return how many items there are."""

    def key(self, result: ToolResult, item: int) -> str:
        """Return the identity of an item."""

    def text(self, result: ToolResult, item: int) -> str:
        """Return the text at which a single item can be cut; empty if it can't be."""

    def part(self, result: ToolResult, start: ItemMark, end: ItemMark) -> ToolResult:
        """Return the answer from `start` up to `end`."""


def _keep(part: ToolResult, full_result: ToolResult, start: ItemMark, end: ItemMark) -> ToolResult:
    del full_result, start, end
    return part


@dataclass(frozen=True, slots=True)
class TableItems:
    """Rows of the table as items.

    Parameters
    ----------
    noun
        Noun for a row, in the plural.
    column
        Column of text at which a single row can be cut; empty: none.
    first_line
        Column with the number of the first line of that text; empty: none.
    adjust
        Corrects the attributes of a part.
    """

    noun: str = "rows"
    column: str = ""
    first_line: str = ""
    adjust: Adjust = _keep

    def count(self, result: ToolResult) -> int:
        """Return the number of rows."""
        return int(result.table.num_rows)

    def key(self, result: ToolResult, item: int) -> str:
        """Return all values of a row."""
        return repr(result.table.slice(item, 1).to_pylist())

    def text(self, result: ToolResult, item: int) -> str:
        """Return the text of a row."""
        if not self.column:
            return ""
        return str(result.table.column(self.column)[item].as_py() or "")

    def part(self, result: ToolResult, start: ItemMark, end: ItemMark) -> ToolResult:
        """Return the rows between two positions, with their attributes."""
        row_end = end.item + (1 if end.offset else 0)
        table = result.table.slice(start.item, row_end - start.item)
        if end.offset:
            length = end.offset - (start.offset if start.item == end.item else 0)
            table = self._truncate(table, table.num_rows - 1, start.offset * (start.item == end.item), length)
        elif start.offset:
            table = self._truncate(table, 0, start.offset, None)

        if start.offset and end.offset and start.item != end.item:
            table = self._truncate(table, 0, start.offset, None)

        return self.adjust(replace(result, table=table), result, start, end)

    def _truncate(self, table: Any, row: int, skip: int, length: int | None) -> Any:
        import pyarrow as pa

        values = table.column(self.column).to_pylist()
        text = values[row]
        values[row] = text[skip:] if length is None else text[skip : skip + length]
        columns = {self.column: values}
        if self.first_line:
            numbers = table.column(self.first_line).to_pylist()
            numbers[row] += text[:skip].count("\n")
            columns[self.first_line] = numbers

        for name, changed in columns.items():
            index = table.schema.get_field_index(name)
            table = table.set_column(
                index, table.schema.field(index), pa.array(changed, table.schema.field(index).type)
            )

        return table


@dataclass(frozen=True, slots=True)
class FactItems:
    """Entries of a list in the attributes as items, such as the commits of a search for changes.

    Parameters
    ----------
    fact
        Name of the list.
    noun
        Noun for an entry, in the plural.
    body
        Key of the text at which a single entry can be cut; empty: none.
    """

    fact: str
    noun: str
    body: str = ""

    def count(self, result: ToolResult) -> int:
        """Return the number of entries."""
        return len(result.attributes.get(self.fact) or ())

    def key(self, result: ToolResult, item: int) -> str:
        """Return the entry as text."""
        return repr(result.attributes[self.fact][item])

    def text(self, result: ToolResult, item: int) -> str:
        """Return the text of an entry."""
        if not self.body:
            return ""
        return str(result.attributes[self.fact][item].get(self.body) or "")

    def part(self, result: ToolResult, start: ItemMark, end: ItemMark) -> ToolResult:
        """Return the entries between two positions."""
        entries = self.entries(result, start, end)
        if self.body and entries:
            texts: dict[int, tuple[int, int | None]] = {}
            if end.offset:
                texts[len(entries) - 1] = (0, end.offset)

            if start.offset:
                texts[0] = (start.offset, texts[0][1] if 0 in texts else None)

            for position, (text_start, text_end) in texts.items():
                entries[position] = {
                    **entries[position],
                    self.body: str(entries[position].get(self.body) or "")[text_start:text_end],
                }

        return replace(result, attributes={**result.attributes, self.fact: entries})

    def entries(self, result: ToolResult, start: ItemMark, end: ItemMark) -> list[Any]:
        """Return the entries that lie at least partly between two positions."""
        return list(result.attributes[self.fact])[start.item : end.item + (1 if end.offset else 0)]
