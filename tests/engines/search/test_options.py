from __future__ import annotations

import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from engines.search.naive import (
    TARGET,
    MemorySource,
    build_memory,
    literal,
    naive_rows,
    open_memory,
    rows_of,
    search_memory,
)
from sourcelight.core.batches import conform
from sourcelight.core.boolean import And, Not
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search import FileTerm, SearchOptions, TextQuery
from sourcelight.engines.search.model import GroupBy
from sourcelight.engines.search.scan.chunks import truncate_line
from sourcelight.engines.search.searcher import count, search


def regexp(text: str) -> CompiledPattern:
    return compile_pattern(text, kind="regexp", case_sensitive=True)


FOO = TextQuery(FileTerm(literal("foo")))
CORPUS = {
    b"a.py": b"one\nfoo 1\nthree\nfoo 2\nfive\nsix\nseven\neight\nfoo 3\n",
    b"copy.py": b"one\nfoo 1\nthree\nfoo 2\nfive\nsix\nseven\neight\nfoo 3\n",
    b"foo/b.go": "é foo foo\nlong ".encode() + b"x" * 50 + b" foo",
    b"none.c": b"nothing\n",
}


@pytest.fixture
def index(tmp_path: Path) -> tuple[Path, str]:
    source = MemorySource()
    commit = source.commit(CORPUS)
    build_memory(tmp_path, source, commit)
    return tmp_path, commit


def chunks(index: tuple[Path, str], **options: Any) -> list[dict[str, Any]]:
    parts = search_memory(*index, FOO, SearchOptions(chunk_matches=True, **options))
    return [row for part in parts for batch in part.batches for row in batch.to_pylist()]


def test_chunks_hold_the_lines_around_a_match_and_neighbours_are_one(index: tuple[Path, str]) -> None:
    rows = [row for row in chunks(index, context_lines=1) if row["path"] == "a.py"]
    assert [row["chunk"] for row in rows] == ["one\nfoo 1\nthree\nfoo 2\nfive"] * 2 + ["eight\nfoo 3"]
    assert [row["chunk_start_line"] for row in rows] == [1, 1, 8]
    assert [row["chunk_offset"] for row in rows] == [0, 0, CORPUS[b"a.py"].index(b"eight")]
    assert [row["truncated"] for row in rows] == [False] * 3


def test_chunks_of_files_with_one_content_stay_apart(index: tuple[Path, str]) -> None:
    rows = chunks(index, context_lines=10)
    assert {row["path"] for row in rows} == {"a.py", "copy.py", "foo/b.go"}
    text = CORPUS[b"a.py"].decode().removesuffix("\n")
    assert [row["chunk"] for row in rows if row["path"] != "foo/b.go"] == [text] * 6


def test_without_context_each_matched_line_is_a_chunk_unless_they_touch(index: tuple[Path, str]) -> None:
    rows = chunks(index, context_lines=0)
    assert [row["chunk"] for row in rows if row["path"] == "a.py"] == ["foo 1", "foo 2", "foo 3"]


def test_long_lines_of_chunks_are_cut_only_when_asked(index: tuple[Path, str]) -> None:
    rows = [row for row in chunks(index, max_line_len=20) if row["path"] == "foo/b.go"]
    assert rows[0]["chunk"] == "é foo foo\nlong xxx...truncated"
    assert all(row["truncated"] for row in rows)
    assert rows[1]["line"] == "long " + "x" * 50 + " foo"
    assert not any(row["truncated"] for row in chunks(index, max_line_len=-1))


def test_a_cut_line_has_the_asked_length() -> None:
    assert truncate_line(b"x" * 30, 30) == b"x" * 30
    assert truncate_line(b"x" * 31, 30) == b"x" * 18 + b"...truncated"
    assert truncate_line(b"x" * 31, 11) == b"x" * 11


def test_ascii_batches_share_their_offsets_and_others_have_code_points(index: tuple[Path, str]) -> None:
    rows = chunks(index)
    wide = next(row for row in rows if row["line"].startswith("é"))
    assert (wide["start"], wide["byte_start"]) == ([2, 6], [3, 7])
    assert wide["name_start"] == [0]
    (part,) = search_memory(*index, TextQuery(FileTerm(literal("seven"))))[:1]
    assert part.batches[0].column("start").equals(part.batches[0].column("byte_start"))


def test_batches_fit_the_schema_of_matches(index: tuple[Path, str]) -> None:
    for options in (SearchOptions(), SearchOptions(chunk_matches=True)):
        parts = search_memory(*index, FOO, options)
        assert conform([batch for part in parts for batch in part.batches]).num_rows == 8


def test_a_limit_stops_early(tmp_path: Path) -> None:
    source = MemorySource()
    commit = source.commit({f"{n:05}.txt".encode(): b"foo %d\n" % n for n in range(3000)})
    build_memory(tmp_path, source, commit)
    parts = search_memory(tmp_path, commit, FOO, SearchOptions(max_matches=10))
    assert 10 <= sum(part.matches for part in parts) <= 64
    assert parts[-1].repositories_done == ()


def test_without_a_pattern_every_file_is_a_path_match(index: tuple[Path, str]) -> None:
    assert rows_of(search_memory(*index, TextQuery(None))) == naive_rows(CORPUS, TextQuery(None))
    only_not = TextQuery(Not(FileTerm(literal("foo"))))
    assert rows_of(search_memory(*index, only_not)) == [("none.c", "path", [], [])]


@pytest.mark.parametrize("by", [[], ["repository"], ["language"], ["path"], ["repository", "language", "path"]])
@pytest.mark.parametrize("text", [r"foo", r"o+", r"(?s)three.foo", r"py|foo"])
def test_a_count_is_the_number_of_matches_searched(index: tuple[Path, str], by: list[GroupBy], text: str) -> None:
    query = TextQuery(FileTerm(regexp(text)))
    snapshot = open_memory(*index)
    table = count(lambda _: (snapshot, index[1]), [TARGET], query, by, Cancellation())
    rows = [row for p in search_memory(*index, query) for b in p.batches for row in b.to_pylist()]
    expected: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        entry = expected.setdefault(tuple(row[name] for name in by), [0, set()])
        entry[0] += row["match_count"]
        entry[1].add(row["path"])
    counts = {tuple(row[name] for name in by): (row["matches"], row["files"]) for row in table.to_pylist()}
    assert counts == {key: (matches, len(paths)) for key, (matches, paths) in expected.items()}


def test_a_stopped_search_ends_at_once_and_a_stopped_count_says_so(tmp_path: Path) -> None:
    source = MemorySource()
    commit = source.commit({f"{n}.txt".encode(): b"%d " % n + b"foo bar\n" * 20_000 for n in range(60)})
    build_memory(tmp_path, source, commit, max_file_size=1 << 20)
    snapshot = open_memory(tmp_path, commit)
    query = TextQuery(And((FileTerm(regexp(r"(?s)b.*?z")), FileTerm(literal("foo")))))
    cancellation = Cancellation()
    timer = threading.Timer(0.1, cancellation.cancel)
    timer.start()
    list(search(lambda _: (snapshot, commit), [TARGET], query, SearchOptions(), cancellation))
    began = time.monotonic()
    timer.join()
    parts = list(search(lambda _: (snapshot, commit), [TARGET], query, SearchOptions(), cancellation))
    assert parts == []
    assert time.monotonic() - began < 5
    with pytest.raises(Cancelled):
        count(lambda _: (snapshot, commit), [TARGET], query, [], cancellation)


@pytest.mark.ripgrep
@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
@pytest.mark.parametrize(
    ("text", "flags"),
    [("import", "-F"), ("def", "-F"), (r"self\.\w+\(", ""), (r"^class \w+", ""), (r"[A-Z]{2,}_[A-Z]+", "")],
)
def test_the_package_itself_is_searched_as_ripgrep_does(tmp_path: Path, text: str, flags: str) -> None:
    code = Path(__file__).parents[3] / "src"
    corpus = {str(file.relative_to(code)).encode(): file.read_bytes() for file in code.rglob("*.py")}
    source = MemorySource()
    commit = source.commit(corpus)
    build_memory(tmp_path / "index", source, commit, max_file_size=1 << 20)
    pattern = literal(text) if flags else regexp(text)
    parts = search_memory(tmp_path / "index", commit, TextQuery(FileTerm(pattern, path=False)))
    ours = {
        f"{row['path']}:{row['line_offset'] + start}"
        for part in parts
        for batch in part.batches
        for row in batch.to_pylist()
        for start in row["byte_start"]
    }
    command = [
        "rg",
        "--no-config",
        "-uu",
        "-g",
        "*.py",
        "-o",
        "-b",
        "--no-line-number",
        "-H",
        "--no-heading",
        *flags.split(),
    ]
    done = subprocess.run([*command, "-e", text, "."], cwd=code, capture_output=True, timeout=60, check=True)
    theirs = {":".join(line.split(":")[:2]).removeprefix("./") for line in done.stdout.decode().splitlines()}
    assert ours == theirs


def test_a_path_with_newlines_gives_no_other_file_away(tmp_path: Path) -> None:
    """A repository chooses its paths: one that holds another one between newlines must not stand for it."""
    files = {"a\nb": b"first", "c": b"third", "A\nx\ny": b"upper", "x": b"small"}
    source = MemorySource()
    commit = source.commit({path.encode(): data for path, data in files.items()})
    build_memory(tmp_path, source, commit)
    snapshot = open_memory(tmp_path, commit)
    assert {path: snapshot.text_of(path) for path in files} == files
    assert [snapshot.text_of(path) for path in ("a", "b", "y", "A", "x\ny")] == [None] * 5
