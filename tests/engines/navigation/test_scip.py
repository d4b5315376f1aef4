"""Index files of compilers: read by hand, checked against the text, first to answer."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.navigation.sample import call, open_engine, rows
from sourcelight.engines.navigation.scip.decode import ScipError, last_descriptor, read_documents
from sourcelight.testing import make_repo

SYMBOL = "x python m 1 `m`/Tool#run()."


def varint(value: int) -> bytes:
    """Encode a number."""
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*result, value])


def block(number: int, data: bytes) -> bytes:
    """Encode a field of bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def occurrence(location: Sequence[int], symbol: str, *, definition: bool = False) -> bytes:
    """Encode an occurrence."""
    numbers = b"".join(map(varint, location))
    return block(2, block(1, numbers) + block(2, symbol.encode()) + (b"\x18\x01" if definition else b""))


def document(path: str, *occurrences: bytes) -> bytes:
    """Encode a document."""
    return block(2, block(1, path.encode()) + b"".join(occurrences))


INDEX = document(
    "m.py",
    occurrence((1, 8, 11), SYMBOL, definition=True),
    occurrence((5, 12, 15), SYMBOL),
    occurrence((7, 0, 8, 3), "local 1"),
) + document("gone.py", occurrence((0, 0, 1), "local 2"))
TEXT = "class Tool:\n    def run(self): ...\n\n\ndef use(x):\n    '𝛼é';x.run()\n"


def test_documents_are_read() -> None:
    """Ranges of three and four numbers, symbols and roles."""
    first, second = read_documents(INDEX)
    assert (first.path, second.path) == ("m.py", "gone.py")
    assert [(occurrence.start_line, occurrence.end_line, occurrence.end_column) for occurrence in first.occurrences][
        ::2
    ] == [(1, 1, 11), (7, 8, 3)]
    assert [occurrence.is_definition for occurrence in first.occurrences] == [True, False, False]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"#!/bin/sh\necho this is no index\n", id="foreign"),
        pytest.param(INDEX[:-5], id="truncated"),
        pytest.param(b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", id="endless-number"),
    ],
)
def test_what_is_no_index_is_refused(data: bytes) -> None:
    """The error says what is wrong with it."""
    with pytest.raises(ScipError, match=r"truncated|truncated|no index|does not have|no document|not in use"):
        list(read_documents(data))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Nothing else happens, whatever is in there."""
    with suppress(ScipError):
        list(read_documents(INDEX + data))


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("s p n 1 `a.b`/request().", "request"),
        ("s p n 1 `a.b`/request().(method)", "method"),
        ("s p n 1 `a`/C#field.", "field"),
        ("s p n 1 C#`odd name`().", "odd name"),
        ("s p n 1 C#[T]", "T"),
        ("local 3", ""),
    ],
)
def test_the_name_of_a_symbol_is_its_last_part(symbol: str, name: str) -> None:
    """As the grammar of symbols has it."""
    assert last_descriptor(symbol) == name


def test_an_index_in_the_repository_answers_first(tmp_path: Path) -> None:
    """It knows what no rule can tell; its columns are UTF-16 units, and what does not fit is counted."""
    make_repo(tmp_path / "code" / "one", {"m.py": TEXT, "index.scip": INDEX})
    engine = open_engine(tmp_path)
    answer = call(engine, "go_to_definition", repo="one", path="m.py", symbol="run", line=6)
    best = rows(answer)[0]
    assert (best["line_number"], best["how"], best["precise"], best["score"]) == (2, "scip", True, 1.0)
    assert any("1 files and 1 places" in notice for notice in answer.notices)
    result = rows(call(engine, "find_references", repo="one", path="m.py", symbol="run"))
    assert [(row["line_number"], row["precise"]) for row in result] == [(2, True), (6, True)]


@pytest.mark.parametrize("path", ["m.py", "./m.py"])
def test_local_symbols_have_definitions_however_the_path_is_spelled(path: str, tmp_path: Path) -> None:
    raw = document(path, occurrence((4, 8, 9), "local 1", definition=True), occurrence((5, 10, 11), "local 1"))
    make_repo(tmp_path / "code" / "one", {"m.py": TEXT, "index.scip": raw})
    best = rows(call(open_engine(tmp_path), "go_to_definition", repo="one", path="m.py", symbol="x", line=6))[0]
    assert (best["line_number"], best["how"], best["precise"]) == (5, "scip", True)


def test_an_index_can_be_handed_over(tmp_path: Path) -> None:
    """It is kept for the commit that it was made of; another repository's is refused."""
    make_repo(tmp_path / "code" / "one", {"m.py": TEXT})
    engine = open_engine(tmp_path)
    (repository,) = engine.catalog.repositories
    arguments: dict[str, Any] = {"repo": "one", "path": "m.py", "symbol": "run", "line": 6}
    assert rows(call(engine, "go_to_definition", **arguments))[0]["how"] == "name"
    file = tmp_path / "given.scip"
    file.write_bytes(document("other.py", occurrence((0, 0, 1), "local 1")))
    with pytest.raises(ScipError, match="none of its files"):
        engine.navigation.keep_scip(repository, str(file))
    file.write_bytes(INDEX)
    assert engine.navigation.keep_scip(repository, str(file)) == (1, {"files": 1, "places": 1})
    assert rows(call(engine, "go_to_definition", **arguments))[0]["precise"]


def test_several_processes_may_hand_over_an_index_at_once(tmp_path: Path) -> None:
    """Each writes a file of its own, so none replaces what another one has half written."""
    make_repo(tmp_path / "code" / "one", {"m.py": TEXT})
    engine = open_engine(tmp_path)
    (repository,) = engine.catalog.repositories
    file = tmp_path / "given.scip"
    file.write_bytes(INDEX)
    with ThreadPoolExecutor(8) as threads:
        counts = list(threads.map(lambda _: engine.navigation.keep_scip(repository, str(file))[0], range(80)))
    assert counts == [1] * 80
    (folder,) = (tmp_path / "index").rglob("scip")
    assert [path.name for path in folder.iterdir()] == [f"{repository.info.commit}.scip"]


def test_a_broken_index_in_the_repository_is_told(tmp_path: Path) -> None:
    """The rules answer in its place."""
    make_repo(tmp_path / "code" / "one", {"m.py": TEXT, "index.scip": INDEX[:-5]})
    answer = call(open_engine(tmp_path), "go_to_definition", repo="one", path="m.py", symbol="use")
    assert any("index.scip of one can't be used: it is truncated" in notice for notice in answer.notices)
    assert rows(answer)[0]["how"] == "scope"


def test_a_committed_index_of_too_many_occurrences_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sourcelight.engines.navigation.scip.index.MAX_COMMITTED_OCCURRENCES", 2)
    raw = document("m.py", *[occurrence((1, 8, 11), SYMBOL)] * 3)
    make_repo(tmp_path / "code" / "one", {"m.py": TEXT, "index.scip": raw})
    answer = call(open_engine(tmp_path), "go_to_definition", repo="one", path="m.py", symbol="use")
    assert any("more than 2 occurrences" in notice for notice in answer.notices)
