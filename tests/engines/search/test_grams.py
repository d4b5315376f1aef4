"""Grams rule out units without a text as it is written, in new shards; shards of earlier versions are read without."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from engines.search.naive import MemorySource, build_memory, open_memory
from sourcelight.core.arrays import AnyArray
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.patterns.alternative_texts import alternative_texts
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search.index import posting_builder, shard
from sourcelight.engines.search.index.posting_builder import PostingBuilder
from sourcelight.engines.search.scan import candidates
from sourcelight.engines.search.scan.candidates import candidate_units, units_as_written
from sourcelight.engines.search.scan.corpus import Corpus

WORDS = (
    "isFro.",
    "FROM",
    "from",
    "isFrom",
    "MAX_SIZE",
    "max_size",
    "Center",
    "CENTER",
    "naïveFROM",
    "x",
    "9",
    "(",
    " ",
)
COPIES = 40


@pytest.fixture(autouse=True)
def _always_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MAX_UNNARROWED_UNITS", 0)


def earlier_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write shards as versions before grams did."""
    sections = PostingBuilder.sections

    def earlier_sections(builder: PostingBuilder, text_bytes: int) -> dict[str, list[AnyArray]]:
        parts = sections(builder, text_bytes)
        return {
            name.replace("key_s", "win_s").replace("key_l", "win_l"): parts[name]
            for name in parts
            if not name.startswith("gram_")
        }

    monkeypatch.setattr(posting_builder, "COMMON_FRACTION", 1)
    monkeypatch.setattr(PostingBuilder, "sections", earlier_sections)
    monkeypatch.setattr(shard, "BY_BLOCK", ("content", "newlines", "tri_lists", "dense_bits"))


def corpus_of(folder: Path, kinds: str, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """Return a corpus with a shard of each kind: e for earlier, n for new."""
    members = []
    draw = random.Random(23)  # noqa: S311 - of a test
    for number, kind in enumerate(kinds):
        source = MemorySource()
        texts = ["".join(draw.choices(WORDS, k=draw.randrange(1, 4))) + "\n" for _ in range(COPIES)]
        commit = source.commit({b"%d.txt" % name: text.encode() for name, text in enumerate(texts)})
        with monkeypatch.context() as patch:
            if kind == "e":
                earlier_builds(patch)
            build_memory(folder / str(number), source, commit)
        members.append(open_memory(folder / str(number), commit))
    return Corpus(members)


PATTERNS = [
    *(
        compile_pattern(word, kind="literal", case_sensitive=True)
        for word in ("FROM", "From", "from", "isFr", "MAX_SIZE")
    ),
    *(
        compile_pattern(word, kind="regexp", case_sensitive=True)
        for word in ("isFro.", "Center|CENTER", r"MAX\w+", "X_S")
    ),
    compile_pattern("isFro.", kind="literal", case_sensitive=False),
    alternative_texts(("FROM", "Center")),
]


@pytest.mark.parametrize("kinds", ["n", "e", "nen"])
@pytest.mark.parametrize("pattern", PATTERNS, ids=repr)
def test_no_unit_with_a_match_is_ruled_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kinds: str, pattern: CompiledPattern
) -> None:
    corpus = corpus_of(tmp_path, kinds, monkeypatch)
    assert [member.postings.grams is not None for member in corpus.shards] == [kind == "n" for kind in kinds]
    units = candidate_units(corpus, pattern, corpus.selection((), ()))
    assert units is not None
    narrowed = units_as_written(corpus, pattern, units)
    ranges = np.stack((corpus.unit_start, corpus.unit_end), axis=1)
    matching = [unit for unit, text in enumerate(corpus.buffers.slices(ranges)) if pattern.find(bytes(text))]
    assert set(matching) <= set(narrowed.tolist()) <= set(units.tolist())
    assert narrowed.tolist() == sorted(set(narrowed.tolist()))


def test_grams_rule_out_other_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = corpus_of(tmp_path, "nn", monkeypatch)
    pattern = compile_pattern("CENTER", kind="literal", case_sensitive=True)
    units = candidate_units(corpus, pattern, corpus.selection((), ()))
    assert units is not None
    assert len(units_as_written(corpus, pattern, units)) < len(units)
