"""A commit without an index is read from its repository, and gives what its index would give."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.search.test_against_naive import WORDS, filters, languages, trees
from engines.search.test_against_naive import leaves as leaves_only
from sourcelight.core.batches import CommitId
from sourcelight.core.boolean import leaves
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search import FileFilter, FileTerm, IndexStore, SearchOptions, SearchPart, Target, TextQuery
from sourcelight.engines.search.direct import DirectSearch, commit, search
from sourcelight.engines.search.direct.commit import ReadLimits
from sourcelight.engines.search.model import MatchTree
from sourcelight.repos import Catalog, ObjectReader
from sourcelight.repos.processes.blob_process import BlobProcess
from sourcelight.testing.repositories import RepositoryBuilder

SEED = 23
MAX_FILE_SIZE = 2000
REPOSITORIES = 3
LIMITS = ReadLimits(first_bytes=300, max_bytes=2000, max_files=5, min_git_objects=0, min_git_bytes=200)
"""So small that a few files have several ranges, which git reads."""


@dataclass
class Both:
    targets: tuple[Target, ...]
    indexed: IndexStore
    direct: DirectSearch
    unindexed: IndexStore


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Three repositories with an index and without, the latter read in pieces of some files.

    The first is read from its work tree, the second from git, because its files are gone, and the third from both.
    """
    folder, rng = tmp_path_factory.mktemp("direct"), random.Random(SEED)  # noqa: S311 - the same texts each time
    for number in range(REPOSITORIES):
        builder = RepositoryBuilder(folder / "src" / f"r{number}")
        names = [
            b"a.py",
            b"foo/bar.go",
            b"src/k.c",
            "é/foo.md".encode(),
            b"x.h",
            b"foo.txt",
            b"new\nline",
            b"z\xff.txt",
        ]
        files: dict[str | bytes, bytes] = {name: _text(rng) for name in names}
        files |= {b"d%d/%s" % (n, rng.choice(names[:5])): _text(rng) for n in range(12)}
        files |= {b"copy.py": files[b"a.py"], b"z/copy.go": files[b"a.py"], b"empty.c": b"", b"bin.c": b"foo\0bar"}
        files |= {b"late/nul.py": b"foo\n" * 400 + b"\0", b"large.py": b"foo bar\n" * 300}
        lost_text = _text(rng) + b"lost foo"
        builder.commit(files | {b"lost.py": lost_text}, "start")
        blob = builder.git("rev-parse", "HEAD:lost.py").strip()
        (builder.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
        if number:
            for name in list(files)[::number]:
                # Other content of the same size, or none.
                text = files[name] if number > 1 else b""
                builder.write({name: text.swapcase() or None})
    catalog = Catalog.open([folder / "src"])
    targets = tuple(Target(repository, "", repository.info.commit) for repository in catalog.repositories)
    indexed = IndexStore(str(folder / "index"), max_file_size=MAX_FILE_SIZE)
    assert not indexed.update(targets).failures
    unindexed = IndexStore(str(folder / "none"), max_file_size=MAX_FILE_SIZE)
    return Both(targets, indexed, DirectSearch(unindexed, limits=LIMITS), unindexed)


def _text(rng: random.Random) -> bytes:
    return b"".join(rng.choices(WORDS, k=rng.randrange(120)))


def summary(parts: Sequence[SearchPart], *, counts: bool = True) -> tuple[Any, ...]:
    """All that a search says: rows in order, and of each repository what is left out."""
    # A batch without a line has no columns of lines, which readers take for null.
    rows = [
        {name: value for name, value in row.items() if value is not None}
        for part in parts
        for batch in part.batches
        for row in batch.to_pylist()
    ]
    skipped = {name: dict(reasons) for part in parts for name, reasons in part.skipped.items() if reasons and counts}
    missing = {name: names for part in parts for name, names in part.missing.items() if names and counts}
    done = Counter(name for part in parts for name in part.repositories_done)
    return rows, sum(part.matches for part in parts), sum(part.files for part in parts), skipped, missing, done


options = st.builds(
    SearchOptions,
    chunk_matches=st.booleans(),
    lines=st.booleans(),
    in_path_order=st.just(True),
    max_matches=st.sampled_from([None, None, 1, 3, 40]),
)


@settings(max_examples=60, deadline=None)
@given(leaves_only | trees | st.none(), filters, languages)
def test_whether_anything_matches_is_what_a_search_says(
    both: Both, tree: MatchTree | None, file_filters: Any, language_filters: Any
) -> None:
    query = TextQuery(tree, file_filters, language_filters)
    parts = both.indexed.search(both.targets, query, SearchOptions(lines=False), Cancellation())
    expected = any(part.files for part in parts)
    # None: only a search can tell. A text without a match in paths is always decided.
    assert both.indexed.has_match(both.targets, query, Cancellation()) in {expected, None}


@pytest.mark.parametrize(("text", "expected"), [("foobar", True), ("zzqqxxyy", False)])
def test_a_text_is_decided_without_a_search(both: Both, text: str, *, expected: bool) -> None:
    term = FileTerm(compile_pattern(text, kind="literal", case_sensitive=False), content=True, path=False)
    assert both.indexed.has_match(both.targets, TextQuery(term), Cancellation()) is expected


@settings(max_examples=25, deadline=None)
@given(trees | st.none(), filters, languages, options)
def test_it_answers_as_the_index_would(
    both: Both, tree: MatchTree | None, file_filters: Any, langs: Any, option: SearchOptions
) -> None:
    query = TextQuery(tree, file_filters, langs)
    expected = list(both.indexed.search(both.targets, query, option, Cancellation()))
    parts = list(both.direct.search(both.targets, query, option, Cancellation()))
    second_parts = list(both.direct.search(both.targets, query, option, Cancellation()))
    if option.max_matches is None:
        # Without a term for contents none is read, so that nothing is said of those that can't be.
        reads = tree is not None and any(term.content for term in leaves(tree))
        assert summary(parts, counts=reads) == summary(expected, counts=reads)
        assert summary(second_parts, counts=reads) == summary(expected, counts=reads)
        return
    # What is found beyond a limit depends on how the work was cut; the first matches don't.
    first, limit = summary(expected)[0], option.max_matches
    rows, rows_again = summary(parts)[0], summary(second_parts)[0]
    match_counts = [_matches_in(row) for row in first]
    required = next((n + 1 for n in range(len(first)) if sum(match_counts[: n + 1]) >= limit), len(first))
    assert rows[:required] == rows_again[:required] == first[:required]


def _matches_in(row: dict[str, Any]) -> int:
    spans = row.get("spans") or row.get("start") or ()
    return max(1, len(spans) if isinstance(spans, list) else 1)


def word(text: str = "foo") -> TextQuery:
    return TextQuery(FileTerm(compile_pattern(text, kind="literal", case_sensitive=True), path=False))


def test_texts_that_were_read_are_not_read_again(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    both.direct.clear()
    first = summary(list(both.direct.search(both.targets, word(), SearchOptions(), Cancellation())))

    def read(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(search.FileRangeReader, "submit", read)
    assert summary(list(both.direct.search(both.targets, word(), SearchOptions(), Cancellation()))) == first
    assert list(both.direct.search(both.targets, word("bar"), SearchOptions(), Cancellation()))


def test_without_room_every_search_reads_again(both: Both) -> None:
    poor = DirectSearch(both.unindexed, 0, LIMITS)
    expected = summary(list(both.direct.search(both.targets, word(), SearchOptions(), Cancellation())))
    for _ in range(2):
        assert summary(list(poor.search(both.targets, word(), SearchOptions(), Cancellation()))) == expected


def test_what_a_filter_leaves_out_is_not_read(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    both.direct.clear()
    read_ids: list[bytes] = []
    sizes = commit.UnindexedCommit.sizes

    def note(self: Any, block: Any, blobs: Any) -> dict[bytes, int]:
        read = sizes(self, block, blobs)
        read_ids.extend(read)
        return read

    monkeypatch.setattr(commit.UnindexedCommit, "sizes", note)
    only = compile_pattern(r"^foo/bar\.go$", kind="regexp", case_sensitive=True, whole_text=True)
    query = TextQuery(word().tree, (FileFilter(only),))
    list(both.direct.search(both.targets, query, SearchOptions(), Cancellation()))
    assert len(read_ids) == len(both.targets)


def test_what_is_indexed_meanwhile_is_searched_there(both: Both, tmp_path: Path) -> None:
    store = IndexStore(str(tmp_path / "index"), max_file_size=MAX_FILE_SIZE)
    direct = DirectSearch(store, limits=LIMITS)
    expected = summary(list(both.indexed.search(both.targets, word(), SearchOptions(), Cancellation())))
    for target in both.targets:
        assert summary(list(direct.search(both.targets, word(), SearchOptions(), Cancellation()))) == expected
        store.update([target])
    assert summary(list(direct.search(both.targets, word(), SearchOptions(), Cancellation()))) == expected


def test_a_repository_that_is_gone_is_named_and_the_others_are_searched(both: Both, tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "gone")
    builder.commit({"a": "foo\n"}, "start")
    missing_target = Target(Catalog.open([tmp_path]).repositories[0], "", CommitId("1" * 40))
    parts = list(both.direct.search((missing_target, *both.targets), word(), SearchOptions(), Cancellation()))
    assert [set(part.failed) for part in parts if part.failed] == [{missing_target.repository.name}]
    expected = summary(list(both.direct.search(both.targets, word(), SearchOptions(), Cancellation())))
    assert summary(parts) == expected


def test_a_process_that_ends_early_costs_no_match(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    both.direct.clear()
    read = BlobProcess.views

    def end(self: BlobProcess, sizes: Any) -> Iterator[tuple[bytes, memoryview | None]]:
        for number, item in enumerate(read(self, sizes)):
            if number:
                self.kill()
                raise GitFailed(["git"], -9, "it ended")
            yield item

    monkeypatch.setattr(BlobProcess, "views", end)
    answer = summary(list(both.direct.search(both.targets, word(), SearchOptions(), Cancellation())))
    assert answer == summary(list(both.indexed.search(both.targets, word(), SearchOptions(), Cancellation())))


def test_a_search_that_is_left_ends_its_processes_and_threads(both: Both) -> None:
    both.direct.clear()
    before = threading.active_count()
    search = both.direct.search(both.targets, word(), SearchOptions(), Cancellation())
    next(search)
    search.close()
    assert threading.active_count() <= before
    stopped = Cancellation()
    stopped.cancel()
    assert not any(
        part.repositories_done for part in both.direct.search(both.targets, word(), SearchOptions(), stopped)
    )


def test_a_content_of_another_size_than_its_header_says_is_refused(both: Both) -> None:
    target = both.targets[0]
    with ObjectReader(target.repository) as objects:
        name = objects.tree(target.commit).blob_ids[:20]
        size = objects.size(name)
    assert size is not None
    process = BlobProcess(target.repository)
    try:
        assert [len(content or b"") for _, content in process.read({name: size})] == [size]
        with pytest.raises(GitFailed):
            list(process.read({name: size + 1}))
    finally:
        process.close()


def test_a_search_that_outlives_its_threads_was_stopped(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ends takes no work for any thread. A search that still runs names what it can't read."""
    both.direct.clear()
    submit = search.FileRangeReader.submit

    def submit_late(self: search.FileRangeReader, *arguments: Any) -> Any:
        self.close()
        return submit(self, *arguments)

    monkeypatch.setattr(search.FileRangeReader, "submit", submit_late)
    parts = list(both.direct.search(both.targets, word(), SearchOptions(), Cancellation()))
    failed = {name: reason for part in parts for name, reason in part.failed.items()}
    assert failed == {target.repository.name: "the process is ending" for target in both.targets}
