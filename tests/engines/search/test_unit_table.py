"""The table of units of a fleet has the bits of its shards, and rules out no unit with a match."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from engines.search.naive import MemorySource, build_memory, open_memory
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.patterns.alternative_texts import alternative_texts
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search import FileFilter
from sourcelight.engines.search.index import fleet_tables, unit_table
from sourcelight.engines.search.index.fleet_tables import TEXTS_WITHOUT_UNITS, TEXTS_WORTH_UNITS, TablePace
from sourcelight.engines.search.index.postings import literal_trigrams
from sourcelight.engines.search.index.quads import literal_quads
from sourcelight.engines.search.index.shard import LooseShard, Shard
from sourcelight.engines.search.index.unit_table import UnitTable, has_table
from sourcelight.engines.search.scan import candidates
from sourcelight.engines.search.scan.candidates import candidate_units
from sourcelight.engines.search.scan.corpus import Corpus

WORDS = (
    *("contribute", "distributed", "CONTRIBUTOR", "license", "Licensor", "mint", "minimum", "printing", "a1b2c3"),
    *("foo", "foobar", "oof", "naïve_word", "foo.bar()", "x", "(", " ", "\n", "\n\n", "\t", "brea\u212as", "raft"),
)


@pytest.fixture(autouse=True)
def own_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no table of another test make one wait."""
    monkeypatch.setattr(fleet_tables, "pace", TablePace())


PATTERNS = [
    *(
        compile_pattern(word, kind="literal", case_sensitive=case_sensitive)
        for word in (
            "contributed",
            "mint",
            "foo",
            "oof",
            "raft",
            "licens",
            "breaks",
            "minimum foo",
            "ïve_wor",
            "foo.bar",
        )
        for case_sensitive in (True, False)
    ),
    *(
        compile_pattern(pattern, kind="regexp", case_sensitive=False)
        for pattern in (r"lic\w+sor", "mint|printing", r"minimum\s+\(", r"[cd]ontrib", "quux|raft")
    ),
    alternative_texts(("contribute", "Licensor")),
]


def texts(seed: int, count: int, size: int) -> list[bytes]:
    draw = random.Random(seed)  # noqa: S311 - of a test
    return [" ".join(draw.choices(WORDS[: 3 + seed * 5], k=draw.randrange(1, size))).encode() for _ in range(count)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Return shards with quads of different widths, and one without."""
    members = []
    for number, (count, size) in enumerate([(30, 900), (5, 9), (8, 3000), (30, 900), (20, 1500)]):
        folder = tmp_path_factory.mktemp("index")
        source = MemorySource()
        files = texts(number, count, size) + texts(number, count, 4)
        commit = source.commit(
            {b"%d.%s" % (name, b"py" if name % 3 else b"go"): text for name, text in enumerate(files)}
        )
        build_memory(folder, source, commit, max_file_size=1 << 20)
        members.append(open_memory(folder, commit))
    corpus = Corpus(members)
    assert [shard.quads is None for shard in corpus.shards] == [False, True, False, False, False]
    return corpus


def parts(corpus: Corpus) -> list[bytes]:
    ranges = np.stack((corpus.unit_start, corpus.unit_end), axis=1)
    return [bytes(text) for text in corpus.buffers.slices(ranges)]


@pytest.mark.parametrize("common", [4096, 20, 0])
def test_rows_have_exactly_the_units_of_trigrams(corpus: Corpus, monkeypatch: pytest.MonkeyPatch, common: int) -> None:
    monkeypatch.setattr(unit_table, "MAX_COMMON", common)
    table = UnitTable(corpus.shards, corpus.unit_base)
    trigrams_of_units = [set(literal_trigrams(text)) for text in parts(corpus)]
    rows_seen = 0
    for word in ("contribute", "mint", "foo", "printing", "naïve_word", "quux"):
        for trigram in literal_trigrams(word.encode()):
            rows, rarest = table.rows_of(b"", [trigram])
            expected = [unit for unit, trigrams in enumerate(trigrams_of_units) if trigram in trigrams]
            assert rarest == (None if rows else trigram)
            assert table.units_with(rows, rarest).tolist() == expected
            rows_seen += len(rows)
    assert (rows_seen > 0) == (common > 0)


def test_rows_have_the_quads_of_all_shards(corpus: Corpus) -> None:
    table = UnitTable(corpus.shards, corpus.unit_base)
    for word in (b"contribute", b"mint", b"printing"):
        rows, _ = table.rows_of(word, [])
        assert rows == list(literal_quads(word, unit_table.MAX_QUADS))
        units = table.units_of(table.bits_of(rows))
        for number, shard in enumerate(corpus.shards):
            base, end = corpus.unit_base[number : number + 2].tolist()
            every = np.arange(shard.units)
            in_shard = every if shard.quads is None else every[shard.quads.among(every, rows)]
            assert units[(units >= base) & (units < end)].tolist() == (in_shard + base).tolist()


def test_bits_of_a_mask_are_its_units(corpus: Corpus) -> None:
    table = UnitTable(corpus.shards, corpus.unit_base)
    draw = np.random.default_rng(3)
    mask = draw.random(corpus.units) < 0.3
    units = table.units_of(table.pack(mask))
    assert units.tolist() == np.flatnonzero(mask).tolist()


@pytest.mark.parametrize("item", [1 << 16, 1])
def test_a_list_is_compared_with_rows_as_bits_of_all_units_are(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch, item: int
) -> None:
    # All trigrams that some units lack have lists, and these have items of two or of four bytes.
    monkeypatch.setattr(unit_table, "MAX_COMMON", 20)
    monkeypatch.setattr(unit_table, "MAX_SHORT_ITEM", item)
    table = UnitTable(corpus.shards, corpus.unit_base)
    selected = table.pack(np.random.default_rng(4).random(corpus.units) < 0.5)
    total = 0
    for word in (b"contribute", b"mint", b"foo", b"printing"):
        trigrams = literal_trigrams(word)
        rows, rarest = table.rows_of(word, trigrams)
        if rarest is None:
            continue
        for some_rows in (rows, []):
            for among in (None, selected):
                expected = set(table.units_with([], rarest).tolist())
                if some_rows or among is not None:
                    expected &= set(table.units_of(table.bits_of(some_rows, among)).tolist())
                for probed in (0, 1000):
                    monkeypatch.setattr(unit_table, "MAX_PROBED_UNITS", probed)
                    assert table.units_with(some_rows, rarest, among).tolist() == sorted(expected)
                total += len(expected)
    assert total > 0


def test_lists_of_the_rarest_trigrams_are_made_up_to_a_limit(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_table, "MAX_COMMON", 0)
    counts = Counter(trigram for text in parts(corpus) for trigram in literal_trigrams(text))
    by_limit = []
    for limit in (1 << 20, 400, 0):
        monkeypatch.setattr(unit_table, "MAX_LIST_BYTES", limit)
        table = UnitTable(corpus.shards, corpus.unit_base)
        is_listed = {trigram: table.rows_of(b"", [trigram])[1] is not None for trigram in counts}
        assert 2 * sum(count for trigram, count in counts.items() if is_listed[trigram]) <= limit
        # None is left out that is rarer than one with a list.
        assert max((counts[trigram] for trigram in counts if is_listed[trigram]), default=0) < min(
            (counts[trigram] for trigram in counts if not is_listed[trigram]), default=1 << 20
        )
        by_limit.append(sum(is_listed.values()))
    assert by_limit[0] == len(counts) > by_limit[1] > by_limit[2] == 0


@pytest.mark.parametrize("common", [4096, 20, 0])
@pytest.mark.parametrize(("list_bytes", "probed"), [(1 << 20, 128), (200, 0)])
@pytest.mark.parametrize("pattern", PATTERNS, ids=repr)
def test_no_unit_with_a_match_is_ruled_out(
    corpus: Corpus,
    monkeypatch: pytest.MonkeyPatch,
    pattern: CompiledPattern,
    common: int,
    list_bytes: int,
    probed: int,
) -> None:
    monkeypatch.setattr(fleet_tables, "TEXTS_WITHOUT_UNITS", 0)
    monkeypatch.setattr(unit_table, "MAX_COMMON", common)
    monkeypatch.setattr(unit_table, "MAX_LIST_BYTES", list_bytes)
    monkeypatch.setattr(unit_table, "MAX_PROBED_UNITS", probed)
    monkeypatch.setattr(candidates, "MAX_UNITS_WITHOUT_WINDOWS", probed)
    fresh = Corpus(corpus.members)
    is_go = FileFilter(compile_pattern(r"\.go$", kind="regexp", case_sensitive=True, whole_text=True))
    matching = {unit for unit, text in enumerate(parts(corpus)) if pattern.find(text)}
    for filters in ((), (is_go,)):
        selection = fresh.selection(filters, ())
        units = candidate_units(fresh, pattern, selection)
        assert units is not None
        assert units.tolist() == sorted(set(units.tolist()))
        selected = set(np.flatnonzero(selection.in_documents[fresh.unit_doc]).tolist())
        assert matching & selected <= set(units.tolist())


def test_the_table_keeps_within_its_limit(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    words = sum(-(-shard.units // 64) for shard in corpus.shards)
    every = {trigram for text in parts(corpus) for trigram in literal_trigrams(text)}
    for rows in (2048, 2058, 100_000):
        monkeypatch.setattr(unit_table, "MAX_TABLE_BYTES", 8 * words * rows)
        table = UnitTable(corpus.shards, corpus.unit_base)
        with_row = {trigram for trigram in every if table.rows_of(b"", [trigram])[0]}
        assert len(with_row) <= rows - 2048
        assert (len(with_row) > 0) == (rows > 2048)
    monkeypatch.setattr(unit_table, "MAX_TABLE_BYTES", 8 * words * 2048 - 1)
    assert not has_table(corpus.shards)


def test_few_shards_and_loose_documents_have_no_table(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_tables, "TEXTS_WITHOUT_UNITS", 1)
    fresh = Corpus(corpus.members)
    assert [fresh.tables is None or fresh.tables.units is None for _ in range(3)] == [True, False, False]
    assert Corpus(corpus.members[:3]).tables is None

    loose = object.__new__(LooseShard)
    loose.units = 1
    shards: list[Shard] = [*corpus.shards, loose]
    assert has_table(corpus.shards)
    assert not has_table(shards)


def test_tables_that_serve_few_texts_make_the_next_one_wait() -> None:
    pace = TablePace()
    assert pace.texts() == TEXTS_WITHOUT_UNITS
    waits = []
    for served in (0, 0, 50, TEXTS_WORTH_UNITS, 0, *[1] * 9):
        pace.start([served])
        waits.append(pace.texts())
    assert waits[:6] == [32, 64, 128, 32, 32, 64]
    assert waits[-1] == fleet_tables.MAX_TEXTS_WITHOUT_UNITS


def test_a_table_counts_the_texts_that_it_serves(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_tables, "TEXTS_WORTH_UNITS", 5)

    def made_after() -> int:
        tables = Corpus(corpus.members).tables
        assert tables is not None
        count = 0
        while tables.units is None:
            count += 1
        return count

    # The table that made this number known has served a text.
    assert [made_after() for _ in range(4)] == [32, 32, 64, 128]
    tables = Corpus(corpus.members).tables
    assert tables is not None
    served = [tables.units for _ in range(256 + 5)]
    assert served[-1] is not None
    assert made_after() == 32
