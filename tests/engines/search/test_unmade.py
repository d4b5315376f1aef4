"""What is given before it is columns is written, counted and made into columns as record batches are."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.search.naive import TARGET, MemorySource, build_memory, open_memory
from sourcelight.core.batches import MatchBatch, RepositoryInfo
from sourcelight.core.batches.codecs.encode import encode_matches
from sourcelight.core.batches.codecs.raw_matches import RawMatchBatch, RawMatches
from sourcelight.core.boolean import Not
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.execution.results.excludes import exclude_masks
from sourcelight.engines.execution.results.tally import Tally
from sourcelight.engines.search import FileTerm, SearchOptions, TextQuery
from sourcelight.engines.search.model import MatchTree
from sourcelight.engines.search.scan import corpus as corpus_module
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.search.scan.raw_batches import join_matches, record_batch
from sourcelight.engines.search.searcher import search

FACTS = {"memory": RepositoryInfo("memory", 7, stars=3, last_fetched="2026-01-02T03:04:05Z")}
LINES = [
    b"foo bar foo",
    b"none here",
    "é foo ñ foo".encode(),
    b"\xff foo \xe2\x82 foo",
    b'<foo> & "foo"\\n\r',
    b"foo \x7f",
    "日本 foo\u2028".encode(),
    b"",
]
PATHS = [
    b"a.py",
    b"foo/x_test.go",
    b"src/vendor/foo.c",
    "é/foo.md".encode(),
    b"third_party/z",
    b"a\nfoo.txt",
    b"a\x7f.py",
]
corpora = st.dictionaries(
    st.sampled_from(PATHS),
    st.one_of(st.lists(st.sampled_from(LINES), max_size=9).map(b"\n".join), st.just(b"foo\0"), st.just(b"foo " * 900)),
    min_size=1,
)


def atom(text: str, kind: Any = "regexp", *, path: bool = True) -> FileTerm:
    return FileTerm(compile_pattern(text, kind=kind, case_sensitive=False), path=path)


trees: list[MatchTree | None] = [
    atom("foo", "literal"),
    atom("foo", "literal", path=False),
    atom(r"fo+|é"),
    atom(r"foo\s+foo|\nnone"),
    atom(r"o.*$"),
    Not(atom("none")),
    None,
]


def found_in(snapshot: OpenedCommit, commit: str, tree: MatchTree | None, *, ordered: bool) -> list[RawMatches]:
    options = SearchOptions(raw_rows=sys.maxsize, in_path_order=ordered)
    parts = search(lambda _: (snapshot, commit), [TARGET], TextQuery(tree), options, Cancellation())
    return [batch for part in parts for batch in part.batches]


def matches_of(batch: MatchBatch, **options: Any) -> list[Any]:
    return [match for payload in encode_matches(batch, FACTS, **options) for match in json.loads(payload)]


@settings(max_examples=30, deadline=None)
@given(corpora, st.sampled_from(trees), st.booleans(), st.booleans())
def test_it_is_written_and_counted_like_its_columns(
    files: dict[bytes, bytes],
    tree: MatchTree | None,
    ordered: bool,  # noqa: FBT001 - drawn by hypothesis
    has_lists: bool,  # noqa: FBT001 - as above
) -> None:
    memory = MemorySource()
    commit = memory.commit(files)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # The paths of a corpus are lists from its fourth answer on.
        patch.setattr(corpus_module, "LISTS_UNMADE", 0 if has_lists else 1_000)
        build_memory(Path(folder), memory, commit)
        for result in found_in(open_memory(Path(folder), commit), commit, tree, ordered=ordered):
            raw, columns = RawMatchBatch(result), MatchBatch(result.batch)
            assert (raw.rows, bool(raw.nbytes)) == (columns.rows, True)
            assert matches_of(raw) == matches_of(columns)
            assert matches_of(raw, chunk_matches=True) == matches_of(columns, chunk_matches=True)
            as_found, as_columns = Tally(), Tally()
            as_found.add_raw(result)
            as_columns.add(result.batch)
            assert as_found.matches == as_columns.matches
            assert as_found.repositories == as_columns.repositories
            of_both = [item.filters(exhaustive=True, forks=0, archived=0) for item in (as_found, as_columns)]
            assert of_both[0] == of_both[1]
            assert result.file_numbers is not None
            assert [sorted(files)[number] for number in result.file_numbers.tolist()] == list(result.paths)
            assert (result.path_json is not None) == has_lists
            by_mask = Tally()
            by_mask.add_raw(result, exclude_masks(sorted(files)))
            assert by_mask.filters(exhaustive=True, forks=0, archived=0) == of_both[1]
            of_arrays = record_batch(result)
            assert of_arrays.schema == result.batch.schema
            assert of_arrays.to_pylist() == result.batch.to_pylist()
            assert join_matches([result, result]).batch.to_pylist() == 2 * result.batch.to_pylist()


@pytest.fixture
def many(tmp_path: Path) -> list[RawMatches]:
    memory = MemorySource()
    files = {b"d%d/f.py" % n: b"one foo\n" * (n % 7 + 3) + b"x" * 1_500 + b" foo\n" for n in range(1_200)}
    commit = memory.commit(files)
    build_memory(tmp_path, memory, commit)
    return found_in(open_memory(tmp_path, commit), commit, atom("foo", "literal"), ordered=True)


def test_much_text_is_written_in_several_portions_of_whole_files(many: list[RawMatches]) -> None:
    everything = [match for result in many for match in matches_of(RawMatchBatch(result))]
    payloads = [json.loads(payload) for result in many for payload in encode_matches(RawMatchBatch(result), FACTS)]
    assert len(payloads) > len(many) + 2, "a portion has about 512 KiB"
    assert [match for payload in payloads for match in payload] == everything
    assert everything == [match for result in many for match in matches_of(MatchBatch(result.batch))]


@pytest.mark.parametrize("files", [1, 3_000])
def test_megabytes_of_long_lines_go_by_way_of_columns(tmp_path: Path, files: int) -> None:
    memory = MemorySource()
    commit = memory.commit({b"a%d.js" % number: b"%d" % number + b"x" * 1_500 + b"foo\n" for number in range(files)})
    build_memory(tmp_path, memory, commit)
    tree = atom("foo", "literal", path=False)
    result = join_matches(found_in(open_memory(tmp_path, commit), commit, tree, ordered=True))
    (match,) = matches_of(RawMatchBatch(result))[:1]
    assert match["lineMatches"][0]["offsetAndLengths"] == [[1_501, 3]]
    # Up to 4 MiB, a copy of the lines takes less than columns.
    assert ("batch" in vars(result)) == (len(result.data) > 4 << 20) == (files == 3_000)
