"""Few rows of a worker, from the engine to the answer of a service, without a record batch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engines.search.naive import TARGET, MemorySource, build_memory, open_memory
from sourcelight.backends.cluster.batch_merge import JoinedRows
from sourcelight.backends.cluster.messages import ResultBatch
from sourcelight.backends.cluster.transport.packing import result_from_plain, unpack, wrap_message
from sourcelight.backends.cluster.worker.phases import FILES, Phases
from sourcelight.core.batches.codecs.raw_matches import RawMatches, RepositoryRevision
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search import FileTerm, SearchOptions, TextQuery
from sourcelight.engines.search.scan.raw_batches import join_matches
from sourcelight.engines.search.searcher import search

FILES_OF = {b"a.py": b"x = tide\n\ntide tide\n", b"\xc3\xa9.md": b"\xc3\xa9 tide \xff\n"}


def raw_matches(folder: Path, repository: str) -> RawMatches:
    """The matches of a word in two files, as those of a repository."""
    memory = MemorySource()
    commit = memory.commit({**FILES_OF, b"tide.txt": b"nothing\n", repository.encode() + b".go": b"// tide\n"})
    build_memory(folder, memory, commit)
    snapshot = open_memory(folder, commit)
    word = TextQuery(FileTerm(compile_pattern("tide", kind="literal", case_sensitive=True)))
    options = SearchOptions(raw_rows=100, in_path_order=True)
    (part,) = [p for p in search(lambda _: (snapshot, commit), [TARGET], word, options, Cancellation()) if p.batches]
    (matches,) = part.batches
    assert isinstance(matches, RawMatches)
    name_of = RepositoryRevision(repository, 1, "", commit)
    # As in a corpus of many repositories, of which one has a match.
    locations = [RepositoryRevision("other", 2, "", "0" * 40), name_of]
    return join_matches([replace(matches, locations=locations, location_index=matches.location_index + 1)])


def sent(matches: RawMatches) -> ResultBatch:
    """The result with these matches, as the service reads it."""
    result = Phases(frozenset(), with_commits=False, symbols_first=False).raw_result(matches)
    message = wrap_message({"kind": "results", "results": [result]})
    (payload,) = unpack(message["said"])["results"]
    received = result_from_plain(payload, message["large"])
    assert isinstance(received, ResultBatch)
    return received


@pytest.fixture
def three(tmp_path: Path) -> list[RawMatches]:
    """Matches of three repositories."""
    return [raw_matches(tmp_path / name, name) for name in ("a", "b", "c")]


def records(batches: list[Any]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in (getattr(batch, "batch", batch)).to_pylist()]


def test_they_arrive_as_they_were_sent(three: list[RawMatches]) -> None:
    first = three[0]
    received = sent(first)
    assert (received.phase, received.repositories, received.ends) == (FILES, ("a",), (first.num_rows,))
    assert isinstance(received.batch, RawMatches)
    assert [location.repository for location in received.batch.locations] == ["a"]
    assert records([received.batch]) == records([first])
    assert received.batch.batch.schema == first.batch.schema


def test_those_of_several_workers_are_one_batch_in_order(three: list[RawMatches]) -> None:
    a, b, c = three
    of_one, of_other = sent(join_matches([a, c])).batch, sent(b).batch
    rows = JoinedRows()
    rows.add(FILES, of_one, 0, a.num_rows)
    rows.add(FILES, of_other, 0, b.num_rows)
    rows.add(FILES, of_one, a.num_rows, of_one.num_rows)
    (union,) = rows.batches()
    assert isinstance(union, RawMatches)
    assert records([union]) == records([a, b, c])
    assert union.batch.column("repository").dictionary.to_pylist() == ["a", "b", "c"]


def test_between_record_batches_they_are_record_batches(three: list[RawMatches]) -> None:
    a, b, c = three
    rows = JoinedRows()
    rows.add(FILES, a.batch, 0, a.num_rows)
    rows.add(FILES, sent(b).batch, 0, b.num_rows)
    rows.add(FILES, c.batch, 0, c.num_rows)
    batches = list(rows.batches())
    assert len(batches) == 1
    assert records(batches) == records([a, b, c])
