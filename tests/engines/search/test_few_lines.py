"""A few matches that are collected one by one are those that arrays give, byte for byte."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from engines.search.naive import MemorySource, build_memory, open_memory
from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches import Event
from sourcelight.core.batches.codecs.encode import encode_matches
from sourcelight.core.batches.codecs.few_matches import FewMatchBatch
from sourcelight.core.batches.codecs.raw_matches import RawMatchBatch
from sourcelight.core.cancellation import Cancellation, never
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.wire.events import Filters
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.execution.results.tally import Tally
from sourcelight.engines.search.few_lines import MAX_SPANS, MAX_UNITS, few_spans
from sourcelight.engines.search.model import UnitNumbers
from sourcelight.engines.search.scan.corpus import LISTS_UNMADE, Corpus
from sourcelight.engines.search.scan.spans import find_spans
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

WORDS = ("lamp", "Lamp", "kiosk", "<b>", '"q"', "a&b", "\t", "lamplamp", "\\", "\x7f", "\x01", "")
BEYOND_ASCII = ("caf\u00e9 lamp", "\u2028", *WORDS)
NAMES = ("src/a{}.py", "test/a{}.py", "vendor/x{}.go", "b{}_test.go", "d/{}.min.js", "third_party/{}.c", "README{}")

HAZARDS = "\u212aiosk, \u017ftairs, cafés lost\n".encode()
"""Letters that are ASCII letters in another case: a Kelvin sign and a long s."""


def text(chance: random.Random) -> str:
    words = BEYOND_ASCII if chance.random() < 0.3 else WORDS
    lines = [" ".join(chance.choices(words, k=chance.randrange(5))) for _ in range(chance.randrange(6))]
    return "\n".join(lines) + chance.choice(("\n", "", "\r\n"))


def answer(engine: LocalEngine, query: str) -> list[Event]:
    request = SearchRequest(query, display=-1)
    engine.refresh()
    events = engine.fast_path.answer(request, Viewer.owner())
    return list(engine.stream(request, Viewer.owner(), Cancellation())) if events is None else events


def objects_of(payloads: Iterable[bytes]) -> bytes:
    """Return the objects of some JSON arrays: arrays have one for each run of files of a kind."""
    return b",".join([payload[1:-1] for payload in payloads])


def few_of(events: list[Event]) -> list[FewMatchBatch]:
    return [event for event in events if isinstance(event, FewMatchBatch)]


def test_they_are_written_and_counted_as_arrays_are(tmp_path: Path) -> None:
    chance = random.Random(5)  # noqa: S311 - to draw the same again
    for name in ("tower", "harbour", "quay"):
        files = {chance.choice(NAMES).format(number): text(chance) for number in range(12)}
        # Some files have the same content.
        files |= {f"copies/{number}.txt": "lamp\nkiosk lamp lamp\n" for number in range(3)}
        RepositoryBuilder(tmp_path / "src" / name).commit(files)

    # Some paths match, too, with the content of their file and without.
    files = {"lamp/lamp.py": "lamp\n", "kiosk_test.go": "kiosk\n", "caf\u00e9/kiosk.py": "Lamp kiosk\n", "lamp.c": ""}
    RepositoryBuilder(tmp_path / "src" / "pier").commit(files)

    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    compared = with_names = 0
    for word in ("lamp", "kiosk", "Lamp", "amp", "b>"):
        for form in (
            *("{}", "{} case:yes", "{} file:test", "{} lang:python", "{} repo:tower", "type:file {} AND NOT q"),
            *("{} file:lamp", "{} lang:go", "{} -file:[.]c$ -file:caf"),
        ):
            query = f"{form.format(word)} count:all"
            for _ in range(LISTS_UNMADE + 2):
                events = answer(engine, query)
            for batch in few_of(events):
                infos = {info.name: info for info in batch.repositories}
                raw = RawMatchBatch(batch.few.raw, batch.repositories)
                assert objects_of(encode_matches(batch, infos)) == objects_of(encode_matches(raw, infos))
                assert (batch.rows, batch.few.total) == (raw.rows, raw.raw.total)
                assert batch.few.repositories == raw.raw.repositories
                assert batch.batch.equals(raw.batch)

                few_tally, raw_tally = Tally(), Tally()
                few_tally.add_few(batch.few, None)
                raw_tally.add_raw(raw.raw)
                expected = raw_tally.filters(exhaustive=True, forks=0, archived=0)
                assert few_tally.filters(exhaustive=True, forks=0, archived=0) == expected
                assert [event.filters for event in events if isinstance(event, Filters)] == [expected]
                compared += 1
                with_names += bool(batch.few.names)
    assert compared > 10
    assert with_names > 2


@pytest.mark.parametrize(
    ("line", "is_few"),
    [
        (b"lamp", True),
        (b"lamp \x7f lamp", True),
        ("\u00e9 lamp \U0001f600 lamp".encode(), True),
        (b"\xe9 lamp", False),
        (b"lamp \xe9", False),
        (b"x" * (1 << 16) + b" lamp", True),
        (b"x" * (1 << 18) + b" lamp", False),
    ],
)
def test_an_unusual_line_is_left_to_arrays(tmp_path: Path, line: bytes, *, is_few: bool) -> None:
    RepositoryBuilder(tmp_path / "src" / "tower").commit({"a.txt": line + b"\n", "b.txt": b"lamp\n"})
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    for _ in range(LISTS_UNMADE + 2):
        events = answer(engine, "lamp count:all")
    assert bool(few_of(events)) == is_few


@pytest.mark.parametrize(("matches", "is_few"), [(MAX_SPANS, True), (MAX_SPANS + 1, False)])
def test_many_matches_are_left_to_arrays(tmp_path: Path, matches: int, *, is_few: bool) -> None:
    RepositoryBuilder(tmp_path / "src" / "tower").commit({"a.txt": "lamp\n" * matches})
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    for _ in range(LISTS_UNMADE + 2):
        events = answer(engine, "lamp count:all")
    assert bool(few_of(events)) == is_few


def test_copies_of_a_long_line_are_left_to_arrays(tmp_path: Path) -> None:
    line = "x" * (1 << 16) + " lamp\n"
    for name, copies in (("few", 2), ("many", 9)):
        RepositoryBuilder(tmp_path / name / "tower").commit({f"{number}.txt": line for number in range(copies)})
        engine = open_engine([tmp_path / name], index=tmp_path / f"index-{name}")
        for _ in range(LISTS_UNMADE + 2):
            events = answer(engine, "lamp count:all")
        assert bool(few_of(events)) == (name == "few")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Return three shards with long documents, whose units follow one another, and short ones."""
    chance = random.Random(7)  # noqa: S311 - to draw the same again
    members = []
    for _ in range(3):
        folder, source = tmp_path_factory.mktemp("index"), MemorySource()
        lines = [f"{chance.choice(('lamplamp', 'aaAa', 'Kiosk', 'Ström'))} {number}" for number in range(4000)]
        commit = source.commit({b"a.txt": "\n".join(lines).encode(), b"b.txt": b"Lamp aaa", b"c.txt": HAZARDS})
        build_memory(folder, source, commit, max_file_size=1 << 20)
        members.append(open_memory(folder, commit))
    return Corpus(members)


@pytest.mark.parametrize("word", ["lamp", "lamplamp", "pla", "aa", "absent", "1234", "kiosk 3", "strö", "lost", "k"])
@pytest.mark.parametrize("case_sensitive", [True, False])
def test_a_text_in_few_units_is_found_as_in_many(corpus: Corpus, word: str, *, case_sensitive: bool) -> None:
    pattern = compile_pattern(word, kind="literal", case_sensitive=case_sensitive)
    every = np.arange(corpus.units)
    corpus.check_content(UnitNumbers(every))
    chance = random.Random(word)  # noqa: S311
    compared = 0
    for size in (0, 1, 1, 2, 2, len(every)):
        units = UnitNumbers(np.array(sorted(chance.sample(every.tolist(), size)), dtype=np.int64))
        few, expected = few_spans(corpus, pattern, units), find_spans(corpus, pattern, units, never)
        if few is not None:
            assert (few.start.tolist(), few.end.tolist()) == (expected.start.tolist(), expected.end.tolist())
            compared += 1
    # RE2 decides what beyond ASCII is a match in any case.
    assert compared >= (3 if case_sensitive or word.isascii() else 0)


def test_letters_that_fold_to_ascii_are_left_to_re2(corpus: Corpus) -> None:
    every = np.arange(corpus.units)
    corpus.check_content(UnitNumbers(every))
    for word, decides in (("kiosk", True), ("stairs", True), ("lost", False)):
        pattern = compile_pattern(word, kind="literal", case_sensitive=False)
        assert (few_spans(corpus, pattern, UnitNumbers(every)) is None) == decides
        assert len(find_spans(corpus, pattern, UnitNumbers(every), never)) > 0


def test_other_patterns_are_not_looked_for_unit_by_unit(corpus: Corpus) -> None:
    corpus.check_content(UnitNumbers(np.arange(corpus.units)))
    units = UnitNumbers(np.arange(corpus.units))
    pattern = compile_pattern("la.p", kind="regexp", case_sensitive=True)
    assert few_spans(corpus, pattern, units) is None
    common = compile_pattern("a", kind="literal", case_sensitive=True)
    assert few_spans(corpus, common, units) is None
    assert few_spans(corpus, common, UnitNumbers(np.arange(MAX_UNITS + 1))) is None
