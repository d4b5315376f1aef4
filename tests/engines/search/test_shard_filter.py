"""The table of trigrams of a fleet names the shards that hold a text, and never leaves one out."""

from __future__ import annotations

import numpy as np
import pytest

from engines.search.naive import MemorySource, build_memory, open_memory
from sourcelight.engines.search.index import fleet_tables
from sourcelight.engines.search.index.fleet_tables import ShardFilter
from sourcelight.engines.search.index.postings import literal_trigrams
from sourcelight.engines.search.scan.corpus import Corpus

WORDS = ("alpha", "beta", "gamma", "delta", "Epsilon", "zeta", "naïve")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("fleet")
    members = []
    for number in range(20):
        source = MemorySource()
        # Repository n holds the words of the bits of n.
        words = [word for bit, word in enumerate(WORDS) if number >> bit & 1]
        commit = source.commit({b"a.txt": " ".join(words).encode() + b"\n"})
        build_memory(folder / str(number), source, commit)
        members.append(open_memory(folder / str(number), commit))
    return Corpus(members)


@pytest.mark.parametrize("text", ["alpha", "BETA", "gam", "epsilon", "naïve", "alpha beta", "omega", "alphabeta"])
@pytest.mark.parametrize("bits", [64, 3], ids=["all", "three"])
def test_shards_are_those_whose_posting_lists_hold_all_trigrams(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch, text: str, bits: int
) -> None:
    monkeypatch.setattr(fleet_tables, "MAX_SHARDS", bits)
    trigrams = literal_trigrams(text.encode())
    holding = []
    for number, shard in enumerate(corpus.shards):
        keys = np.concatenate(shard.postings.trigrams)
        # Shards beyond the bits of the table are always looked into.
        if number >= bits or set(trigrams) <= set(keys.tolist()):
            holding.append(number)
    assert ShardFilter(corpus.shards).shards_with(trigrams) == holding


def test_a_text_that_no_shard_holds_leaves_none(corpus: Corpus) -> None:
    trigrams = literal_trigrams(b"quux")
    assert ShardFilter(corpus.shards).shards_with(trigrams) == []


def test_the_first_texts_of_a_new_corpus_do_not_wait_for_the_table(corpus: Corpus) -> None:
    trigrams = literal_trigrams(b"alpha")
    fresh = Corpus(corpus.members)
    assert fresh.tables is not None
    unfiltered = [len(fresh.tables.shards_with(trigrams)) for _ in range(2)]
    assert unfiltered == [len(fresh.shards)] * 2
    assert len(fresh.tables.shards_with(trigrams)) < len(fresh.shards)
