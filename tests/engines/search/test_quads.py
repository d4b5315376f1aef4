"""Bitmaps of quads have exactly the quads of each unit, and rule out no unit with a match."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from engines.search.naive import MemorySource, build_memory, open_memory
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.patterns.alternative_texts import alternative_texts
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search.index import posting_builder
from sourcelight.engines.search.index.posting_builder import quad_bits
from sourcelight.engines.search.index.quads import QUAD_BITS, literal_quads
from sourcelight.engines.search.index.shard import Shard, ShardBuilder
from sourcelight.engines.search.scan import candidates
from sourcelight.engines.search.scan.candidates import candidate_units
from sourcelight.engines.search.scan.corpus import Corpus

KELVIN, LONG_S = "\u212a", "\u017f"
WORDS = (
    *("contribute", "distributed", "CONTRIBUTOR", "license", "Licensor", "mint", "minimum", "printing", "a1b2c3"),
    *(f"brea{KELVIN}s", f"di{LONG_S}tribute", "naïve_word", "foo.bar()", "x", "(", " ", "\n", "\n\n", "\t"),
)
QUAD_BYTES = 4


def texts(seed: int, count: int, size: int) -> list[bytes]:
    draw = random.Random(seed)  # noqa: S311 - of a test
    return [" ".join(draw.choices(WORDS, k=draw.randrange(1, size))).encode() for _ in range(count)]


def quads_of(text: bytes) -> set[int]:
    """Return the quads of a text by their definition."""
    kelvin, long_s = KELVIN.encode(), LONG_S.encode()
    readings = [text, text.replace(kelvin, b"k")]
    readings += [reading.replace(long_s, b"s") for reading in readings]
    return {
        quad
        for reading in readings
        for part in {reading[start : start + QUAD_BYTES] for start in range(len(reading))}
        for quad in literal_quads(part)
    }


@pytest.mark.parametrize("block_bytes", [1000, 1 << 18])
@pytest.mark.parametrize(("count", "size", "bits"), [(20, 9000, 11), (70, 1200, 9), (150, 600, 9), (5, 9, 0)])
def test_bitmaps_have_exactly_the_quads_of_each_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int, count: int, size: int, bits: int
) -> None:
    monkeypatch.setattr(posting_builder, "BLOCK_BYTES", block_bytes)
    builder = ShardBuilder()
    for number, text in enumerate(texts(count, count, size)):
        builder.add(number.to_bytes(20), text)
    shard = Shard(tmp_path / builder.write(tmp_path))
    content = bytes(shard.file.bytes_of("content"))
    assert quad_bits(len(content), shard.units) == bits
    if not bits:
        assert shard.quads is None
        return

    rows = shard.file.array("quad_bits").reshape(1 << bits, -1)
    assert rows.nbytes <= len(content) // 20
    has_quad = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")
    assert not has_quad[:, shard.units :].any()
    for unit, (start, end) in enumerate(pairwise(shard.unit_start.tolist())):
        expected = {quad >> QUAD_BITS - bits for quad in quads_of(content[start:end])}
        assert set(np.flatnonzero(has_quad[:, unit]).tolist()) == expected


PATTERNS = [
    *(
        compile_pattern(word, kind="literal", case_sensitive=case_sensitive)
        for word in ("contributed", "mint", "licens", "breaks", "distribute", "ïve_wor", "bar", "TOR\n", "a1b2c3 x")
        for case_sensitive in (True, False)
    ),
    *(
        compile_pattern(pattern, kind="regexp", case_sensitive=False)
        for pattern in (r"lic\w+sor", "mint|printing", r"minimum\s+\(", r"[cd]ontrib")
    ),
    alternative_texts(("contribute", "Licensor")),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Return a shard of long units among short ones, one without bitmaps, and one of another width."""
    members = []
    for number, (count, size) in enumerate([(70, 1500), (5, 9), (20, 4000)]):
        folder = tmp_path_factory.mktemp("index")
        source = MemorySource()
        files = texts(number, count, size) + texts(number, count, 4)
        commit = source.commit({b"%d.txt" % name: text for name, text in enumerate(files)})
        build_memory(folder, source, commit, max_file_size=1 << 20)
        members.append(open_memory(folder, commit))
    corpus = Corpus(members)
    assert [shard.quads is None for shard in corpus.shards] == [False, True, False]
    return corpus


@pytest.mark.parametrize("pattern", PATTERNS, ids=repr)
def test_no_unit_with_a_match_is_ruled_out(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch, pattern: CompiledPattern
) -> None:
    monkeypatch.setattr(candidates, "MAX_UNNARROWED_UNITS", 0)
    monkeypatch.setattr(candidates, "MIN_UNITS_OF_SHARD", 0)
    units = candidate_units(corpus, pattern, corpus.selection((), ()))
    assert units is not None
    ranges = np.stack((corpus.unit_start, corpus.unit_end), axis=1)
    parts = [bytes(text) for text in corpus.buffers.slices(ranges)]
    assert {unit for unit, text in enumerate(parts) if pattern.find(text)} <= set(units.tolist())
    assert units.tolist() == sorted(set(units.tolist()))


def test_quads_rule_out_other_words_with_the_same_trigrams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MAX_UNNARROWED_UNITS", 0)
    source = MemorySource()
    # All trigrams of the word, and none of its windows.
    filler = b" word" * 200
    files = {b"%d.txt" % name: b"min into %d%b" % (name, filler) for name in range(100)}
    commit = source.commit({**files, b"match.txt": b"mint" + filler})
    build_memory(tmp_path, source, commit, max_file_size=1 << 20)
    corpus = Corpus([open_memory(tmp_path, commit)])
    pattern = compile_pattern("mint", kind="literal", case_sensitive=True)
    units = candidate_units(corpus, pattern, corpus.selection((), ()))
    assert units is not None
    assert len(units) < 20


def test_quads_of_a_literal_are_of_words_and_far_apart() -> None:
    assert literal_quads(b"abc") == literal_quads(b"ab(cd") == literal_quads(b"ab\ncd") == literal_quads(b"") == ()
    assert literal_quads(b"MINT") == literal_quads(b"(mint)") == literal_quads(b"mint")
    assert len(literal_quads(b"contribute")) == 4
    assert set(literal_quads(b"contribute")) >= {*literal_quads(b"cont"), *literal_quads(b"bute")}
    assert all(quad < 1 << QUAD_BITS for quad in literal_quads("naïve_word".encode()))
