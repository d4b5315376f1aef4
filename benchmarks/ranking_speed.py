"""How long ranking takes, and how long an answer without a model, beside plain BM25 over the same chunks.

Run: ``python benchmarks/ranking_speed.py --corpus FOLDER [--index FOLDER] [--repeat N]``.

FOLDER holds git repositories, all of which are ranked at once. The peer is BM25 over chunks, written as well as ours:
the words of the question alone, one field, the same tables and the same fast steps, and the ten best chunks. CPU
milliseconds of the thread, the best of ``--repeat`` runs for each question, mean of all questions; what is asked is
general, and made up. It exits with 1 if ten chunks, or
15 files with 3 chunks each, cost more than twice what the peer costs.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from corpus import Corpus, machine, markdown

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SourcelightError
from sourcelight.engines.deepsearch.evidence.pins import pin
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.requests import ResearchRequest
from sourcelight.engines.deepsearch.research import ExtractiveResearcher
from sourcelight.engines.deepsearch.research.answer import finish
from sourcelight.engines.search.ranking.collection import make_collection
from sourcelight.engines.search.ranking.model import RankLimits
from sourcelight.engines.search.ranking.question import analyze
from sourcelight.engines.search.ranking.ranker import Ranker
from sourcelight.engines.search.ranking.terms.term_files import OpenedTerms
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import Viewer

GOAL = 2.0
QUESTIONS = (
    "how are retries of failed requests handled",
    "where is the configuration file parsed and validated",
    "how does the scheduler assign partitions to consumers",
    "when does the cache evict old entries",
    "how is authentication of users implemented",
    "container image layers download progress",
    "plugin loading and registration of providers",
    "write ahead log replay",
    "how are `Connection` objects returned to the pool after an error?",
)
_LIMIT = 10


def rank_plain(question: str, terms_indexes: list[OpenedTerms]) -> Any:
    """Give the ten best chunks by BM25 over the words of a question."""
    collection = make_collection(terms_indexes, [None] * len(terms_indexes))
    scores = np.zeros(collection.chunks)
    norm, _ = collection.norms(0.5)
    for term, weight in analyze(question).terms.items():
        entries = None if term.startswith("=") else collection.read_entries(term)
        if entries is None:
            continue
        numbers, times, _ = entries
        idf = math.log(1.0 + (collection.chunks - len(numbers) + 0.5) / (len(numbers) + 0.5))
        times /= norm.take(numbers)
        np.add.at(scores, numbers, weight * idf * 2.2 * times / (1.2 + times))
    positive = (scores > 0.0).nonzero()[0]
    values = scores.take(positive)
    if len(positive) > _LIMIT:
        best = np.argpartition(values, len(positive) - _LIMIT)[-_LIMIT:]
        positive, values = positive.take(best), values.take(best)
    return positive.take(np.argsort(-values))


def cpu_ms(work: Callable[[str], Any], repeat: int) -> float:
    """Mean over the questions of the best of some runs."""
    best = []
    for question in QUESTIONS:
        times = []
        for _ in range(repeat):
            began = time.thread_time()
            work(question)
            times.append(time.thread_time() - began)
        best.append(min(times))
    return sum(best) / len(best) * 1000


def main() -> None:
    """Measure, print the table, and say whether the goal is met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--index")
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        corpus = Corpus(options.corpus, options.index or temporary)
        engine, cancellation = corpus.engine, Cancellation()
        targets = [engine.target_of(repository) for repository in corpus.repositories]
        failed = engine.update_terms(targets, cancellation)
        terms_indexes: list[OpenedTerms] = []
        for target in targets:
            try:
                terms_indexes.append(engine.terms.open(target))
            except (SourcelightError, OSError) as exc:
                print(f"left out: {target.repository.name}: {exc}", file=sys.stderr)
        before = _resident_mb()
        collection, none = make_collection(terms_indexes, [None] * len(terms_indexes)), [None] * len(terms_indexes)
        collection.norms(0.5)
        grown = _resident_mb() - before
        peer = cpu_ms(lambda question: rank_plain(question, terms_indexes), options.repeat)

        def ranked(limits: RankLimits) -> float:
            return cpu_ms(
                lambda q: Ranker().rank(analyze(q), terms_indexes, none, limits, cancellation), options.repeat
            )

        ours = {"ten chunks": ranked(RankLimits(_LIMIT)), "15 files, 3 chunks each": ranked(RankLimits(None, 15, 3))}
        context = ToolContext(engine, Viewer.owner())

        def answered(question: str) -> None:
            inquiry = ResearchRequest(question, "", pin(engine, "", context.viewer, cancellation), FileTexts(context))
            finish(ExtractiveResearcher().research(inquiry, None, lambda _: None), inquiry, lambda _: None)

        ours["a whole answer"] = cpu_ms(answered, 2)
        print(f"{machine()}\n\n{corpus.describe()}, {collection.chunks:,} chunks in {len(collection.blocks)} shards")
        print(f"failed: {failed}; a space takes {grown:.0f} MB of {collection.files:,} files\n")
        rows = [["BM25 over the same chunks", f"{peer:.1f}", "1.0"]]
        rows += [[name, f"{took:.1f}", f"{took / peer:.1f}"] for name, took in ours.items()]
        print(markdown(["what", "CPU ms", "times BM25"], rows))
        ratio = max(ours["ten chunks"], ours["15 files, 3 chunks each"]) / peer
        print(f"\nthe slower form of ranking: {ratio:.2f} times BM25 (goal: {GOAL:.0f})")
        sys.exit(0 if ratio <= GOAL else 1)


def _resident_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
