"""Columns are defined once: units, sums and wire keys are read from the definition."""

from __future__ import annotations

from sourcelight import columns_of
from sourcelight.core.batches.records import WireRecord, WireSymbol, attributes_of
from sourcelight.core.batches.schema import COMMIT_KEYS, FILE_KEYS, LINE_KEYS, MATCHES, SYMBOL_KEYS, Column
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.display.frames.schema import FRAMES

TABLES = {**FRAMES, **COLUMNS}
NUMBERS = {
    column.name: column for columns in (*FRAMES.values(), *COLUMNS.values()) for column in columns if column.is_number
}
"""The numeric columns of all tables by name."""


def is_number(column: Column) -> bool:
    return column.type.startswith(("int", "float"))


def test_a_name_adds_up_in_all_tables_or_in_none() -> None:
    for table, columns in TABLES.items():
        for column in columns:
            if is_number(column):
                assert column.adds_up == NUMBERS[column.name].adds_up, f"{table}: {column.name}"


def test_only_numbers_have_units_and_sums() -> None:
    for table, columns in TABLES.items():
        for column in columns:
            assert is_number(column) or not column.unit, f"{table}: {column.name}"
            assert column.summable or column.unit, f"{table}: {column.name} counts nothing, so it needs no summable"


def test_what_to_add_up_instead_is_a_column_of_the_same_table() -> None:
    for columns in TABLES.values():
        names = {column.name: column for column in columns}
        for column in columns:
            assert not column.instead or (not column.adds_up and names[column.instead].adds_up)


def test_places_ranks_and_shares_do_not_add_up() -> None:
    for name in ("line_number", "start", "end_line", "score", "share", "rank", "repository_id", "year", "total", "row"):
        assert not NUMBERS[name].adds_up, name
    for name in ("match_count", "additions", "commits", "lines", "net", "chunks_left_out"):
        assert NUMBERS[name].adds_up, name


def test_every_key_of_the_wire_is_read_into_a_record() -> None:
    assert {key for _, key in (*COMMIT_KEYS, *FILE_KEYS)} <= set(attributes_of(WireRecord))
    assert {key for key, _ in LINE_KEYS} <= set(attributes_of(WireRecord))
    assert {key for _, key in SYMBOL_KEYS} <= set(attributes_of(WireSymbol))
    assert {column.name for column, _ in (*COMMIT_KEYS, *SYMBOL_KEYS)} <= {column.name for column in MATCHES}


def test_a_column_of_files_is_null_where_a_service_sends_none() -> None:
    # An empty text is no key on the wire, so what comes back for it is null.
    assert all(column.optional for column, _ in FILE_KEYS)


def test_a_frame_has_the_columns_of_its_table() -> None:
    assert [column.name for column in columns_of("matches")] == [column.name for column in MATCHES if column.is_visible]
