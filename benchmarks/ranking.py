"""How well ranking answers questions of several kinds, by kind and language, with ablations and plain peers.

Run: ``python benchmarks/ranking.py --corpus FOLDER --sets FILE [--index FOLDER] [--half tune|report] [--languages]
[--methods NAME,NAME] [--kinds NAME,NAME] [--answers NAME=FILE]``.

FILE is what ``benchmarks/ranking_sets.py`` wrote; each question is asked of its own repository, at its newest commit.
Measures: of short questions (*symbol*, *term*, *topic*, *words*, *name*) NDCG@10 of the files as ranked, and of the
chunks, where the place of a file is that of its first chunk; of written ones (*sentence*, *readme*, *subject*) hit@1,
recall@10 and MRR by file; of *issue* the share with all files in the first 1, 5 and 10 (acc@k), and with all changed
functions, and any one of them, in the first ten functions of the chunks.

Methods: *ours*; *less X* is ours without X; *bm25* is BM25 over the same chunks and stems. The last table has the
difference of each from ours, with the 95 % interval of a paired bootstrap over the questions. ``--answers`` adds what
another program answered: lines of JSON with the ``repository``, ``kind`` and ``text`` of a question, its ``files``, and
its ``chunks`` (path, first and last line), best first.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from corpus import Corpus, machine, markdown
from ranking_sets import BUGS, SECTIONS, SHORT, WRITTEN, without_number

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.search.ranking.bm25 import Weights, score
from sourcelight.engines.search.ranking.collection import ChunkCollection, make_collection
from sourcelight.engines.search.ranking.list_weights import ListWeights
from sourcelight.engines.search.ranking.model import RankLimits
from sourcelight.engines.search.ranking.question import RankQuery, analyze
from sourcelight.engines.search.ranking.ranker import Ranker
from sourcelight.engines.search.ranking.terms.term_files import OpenedTerms
from sourcelight.repos.processes.commit_subjects import read_subjects

_DEPTH = 10
_FUNCTION_CHUNKS = 20


@dataclass(frozen=True, slots=True)
class Answer:
    """Files, and chunks (path, first and last line), best first."""

    files: Sequence[str]
    chunks: Sequence[tuple[str, int, int]]


Method = Callable[[str], Answer]


@dataclass(slots=True)
class Space:
    """One repository, opened."""

    terms_index: OpenedTerms
    subjects: list[str] = field(init=False)
    collection: ChunkCollection = field(init=False)
    functions: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.collection = make_collection([self.terms_index], [None])
        entries = read_subjects(self.terms_index.target.repository, self.terms_index.commit, Cancellation())
        self.subjects = [without_number(entry.subject.decode("utf-8", "replace")) for entry in entries]

    def leave_out(self, text: str) -> None:
        """Let no commit vote whose subject is the first line of a question: it would measure itself."""
        if self.terms_index.subjects is not None:
            first = text.partition("\n")[0]
            is_voter = np.array([subject != first for subject in self.subjects], dtype=np.bool_)
            # The same array for the same commits: the table makes its sums for each new one.
            if not np.array_equal(is_voter, self.terms_index.subjects.is_voter):
                self.terms_index.subjects.is_voter = is_voter

    def functions_of(self, path: str) -> list[tuple[int, int]]:
        """Return first and last line of each function of a file."""
        if not self.functions:
            view = self.terms_index.snapshot.view
            for shard, symbols in enumerate(self.terms_index.symbols):
                if symbols is None:
                    continue
                placement = self.terms_index.snapshot.placement(shard)
                for file, document in zip(placement.files.tolist(), placement.documents.tolist(), strict=True):
                    rows = symbols.definitions(document).rows.tolist()
                    self.functions[view.path(file)] = [(row[2], row[3]) for row in rows if row[5] in _FUNCTIONS]
        return self.functions.get(path, [])


_FUNCTIONS = frozenset({5, 8, 11})
"""Places of method, constructor and function in `symbols.KINDS`."""


def ours(chunk_space: Space, ranker: Ranker, read: Callable[[str], RankQuery] = analyze) -> Method:
    """Rank as the product does."""

    def answer(text: str) -> Answer:
        question = read(text)
        if not question.terms:
            return Answer([], [])
        ranking = ranker.rank(question, [chunk_space.terms_index], [None], RankLimits(_FUNCTION_CHUNKS), Cancellation())
        files = ranker.rank_files(question, [chunk_space.terms_index], [None], _DEPTH, Cancellation())
        return Answer([f.path for f in files], [(c.path, c.begin_line, c.end_line) for c in ranking.chunks])

    return answer


def by_scores(chunk_space: Space, scores: Any) -> Answer:
    """Answer by one score for each chunk; a file is as good as its best chunk."""
    collection = chunk_space.collection
    chunks = []
    for index in np.argsort(-scores, kind="stable")[: _FUNCTION_CHUNKS * 5].tolist():
        if scores[index] > 0:
            number, row = collection.table_chunk(index)
            _, file = collection.view_file(int(collection.file_of[index]))
            path = chunk_space.terms_index.snapshot.view.path(file)
            chunks.append((path, *collection.blocks[number].lines_of(row)))
    return Answer(list(dict.fromkeys(path for path, _, _ in chunks))[:_DEPTH], chunks[:_FUNCTION_CHUNKS])


def bm25(chunk_space: Space) -> Method:
    """BM25 over the same chunks and stems."""

    def answer(text: str) -> Answer:
        terms = {term: weight for term, weight in analyze(text).terms.items() if not term.startswith("=")}
        return by_scores(
            chunk_space, score(chunk_space.collection, terms, Weights(definition=0, path=0), Cancellation()).chunks
        )

    return answer


def methods_of(chunk_space: Space) -> Mapping[str, Callable[[], Method]]:
    """Give every method by its name."""
    lists = ListWeights()

    def less(**changed: float) -> Callable[[], Method]:
        return lambda: ours(chunk_space, Ranker(lists=replace(lists, **changed)))

    return {
        "bm25": lambda: bm25(chunk_space),
        "ours": lambda: ours(chunk_space, Ranker()),
        "less names of files": less(names=0),
        "less names of definitions": less(definition_names=0),
        "less imports": less(imported_short=0, imported_long=0),
        "less tests": less(tested=0),
        "less subjects": less(subjects=0),
        "less changes": less(changes=0),
        "less comments": less(comments=0),
        "less best chunk": less(best_alone=0),
        "less weight of files": less(file_short=lists.file_long),
        "less damped repeats": less(repeat_short=1.0),
        "less code aside": less(aside=1.0),
        "less words as names": lambda: ours(chunk_space, Ranker(), _without_possible_names),
    }


def _without_possible_names(text: str) -> RankQuery:
    return replace(analyze(text), possible_names=())


def read_answers(file: Path) -> Mapping[tuple[str, str, str], Answer]:
    """Read what another program answered, by repository, kind and question."""
    answers = {}
    for line in file.read_text("utf-8").splitlines():
        entry = json.loads(line)
        chunks = [(path, first, last) for path, first, last in entry["chunks"]]
        answers[entry["repository"], entry["kind"], entry["text"]] = Answer(entry["files"], chunks)
    return answers


def ndcg(positions: Sequence[int], gold: int) -> float:
    """NDCG@10 with binary relevance; `places` are those of the gold files, from 0."""
    gain = sum(1.0 / math.log2(location + 2) for location in positions if location < _DEPTH)
    return gain / sum(1.0 / math.log2(location + 2) for location in range(min(gold, _DEPTH)))


def first_places(paths: Sequence[str], gold: Sequence[str]) -> list[int]:
    """Return the place of the first of each gold path."""
    return [paths.index(path) for path in gold if path in paths]


def measure(case: Mapping[str, Any], answer: Answer, chunk_space: Space) -> dict[str, float]:
    """Give the measures of one answer."""
    gold, kind = case["files"], case["kind"]
    locations = first_places([path for path in answer.files if path != case.get("source")], gold)
    if kind in SHORT:
        of_chunks = first_places([path for path, _, _ in answer.chunks[:_DEPTH]], gold)
        return {"files NDCG": ndcg(locations, len(gold)), "chunks NDCG": ndcg(of_chunks, len(gold))}
    if kind in {*WRITTEN, *SECTIONS}:
        return {
            "hit@1": float(0 in locations),
            "r@10": sum(location < _DEPTH for location in locations) / len(gold),
            "MRR": 1.0 / (min(locations) + 1) if locations else 0.0,
        }
    result = {f"files acc@{k}": float(sum(location < k for location in locations) == len(gold)) for k in (1, 5, 10)}
    functions: list[tuple[str, int]] = []
    for path, first, last in answer.chunks:
        functions += [(path, start) for start, end in chunk_space.functions_of(path) if start <= last and first <= end]
    best = list(dict.fromkeys(functions))[:_DEPTH]
    is_found = [(path, first) in best for path, first, _ in case["positions"]]
    return {**result, "functions acc@10": float(all(is_found)), "any@10": float(any(is_found))}


Table = dict[tuple[str, str, str], dict[str, list[float]]]


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--sets", required=True, type=Path)
    parser.add_argument("--index")
    parser.add_argument("--half", default="report", choices=("tune", "report"))
    parser.add_argument("--methods", default="")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--answers", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--languages", action="store_true", help="ours by language, too")
    options = parser.parse_args()
    method_names, kinds = set(filter(None, options.methods.split(","))), set(filter(None, options.kinds.split(",")))
    cases: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in options.sets.read_text("utf-8").splitlines():
        case = json.loads(line)
        if case["half"] == options.half and (not kinds or case["kind"] in kinds):
            cases[case["repository"]].append(case)
    peer_answers = {
        name: read_answers(Path(file)) for name, _, file in (argument.partition("=") for argument in options.answers)
    }
    results: Table = defaultdict(lambda: defaultdict(list))
    cost: dict[str, float] = defaultdict(float)
    with tempfile.TemporaryDirectory() as temporary:
        corpus = Corpus(options.corpus, options.index or temporary)
        for repository in corpus.repositories:
            local_cases = cases.get(repository.name, [])
            if not local_cases:
                continue
            target = corpus.engine.target_of(repository)
            corpus.engine.update_terms([target], Cancellation())
            chunk_space = Space(corpus.engine.terms.open(target))
            for name, make in methods_of(chunk_space).items():
                if method_names and name not in method_names:
                    continue
                method = make()
                for case in local_cases:
                    chunk_space.leave_out(case["text"])
                    began = time.thread_time()
                    answer = method(case["text"])
                    cost[name] += time.thread_time() - began
                    for measured, value in measure(case, answer, chunk_space).items():
                        results[name, case["kind"], case["language"]][measured].append(value)
            for name, answers in peer_answers.items():
                for case in local_cases:
                    answer = answers.get((repository.name, case["kind"], case["text"]), Answer([], []))
                    for measured, value in measure(case, answer, chunk_space).items():
                        results[name, case["kind"], case["language"]][measured].append(value)
            print(repository.name, file=sys.stderr, flush=True)
    report(results, cost, languages=options.languages)


def report(results: Table, cost: Mapping[str, float], *, languages: bool) -> None:
    """Print the tables."""
    methods = list(dict.fromkeys(name for name, _, _ in results))
    print(f"{machine()}\n")
    for kinds in (SHORT, WRITTEN, SECTIONS, BUGS):
        rows, names = [], []
        for name in methods:
            for of in (*kinds, "all") if len(kinds) > 1 else kinds:
                merged: dict[str, list[float]] = defaultdict(list)
                for (method, kind, _), values in results.items():
                    if method == name and kind in kinds and of in (kind, "all"):
                        for measured, numbers in values.items():
                            merged[measured] += numbers
                if merged:
                    names = list(merged)
                    rows.append([name, of, str(len(merged[names[0]])), *(f"{np.mean(merged[n]):.3f}" for n in names)])
        if rows:
            print(markdown(["method", "kind", "questions", *names], rows, left=2) + "\n")
    differences(results, methods)
    requests: dict[str, int] = defaultdict(int)
    for (name, _, _), values in results.items():
        requests[name] += len(next(iter(values.values())))
    costs = [[name, f"{cost[name] / requests[name] * 1000:.1f}"] for name in methods if name in cost]
    print(markdown(["method", "CPU ms a question"], costs))
    if languages:
        by: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for (method, kind, language), values in results.items():
            if method == "ours":
                measured = "files NDCG" if kind in SHORT else "functions acc@10" if kind in BUGS else "hit@1"
                by[language][kind] += values[measured]
        columns = (*SHORT, *WRITTEN, *BUGS)
        rows = [[language, *(f"{np.mean(v[k]):.3f} ({len(v[k])})" if v.get(k) else "" for k in columns)]
                for language, v in sorted(by.items())]  # fmt: skip
        print("\nours by language: files NDCG@10 of short kinds, hit@1 of written ones, functions acc@10 of issues\n")
        print(markdown(["language", *columns], rows))


_COMPARED = ((SHORT, "files NDCG"), (WRITTEN, "hit@1"), (WRITTEN, "r@10"), (BUGS, "files acc@1"),
             (BUGS, "functions acc@10"))  # fmt: skip
_RESAMPLES = 2000


def differences(results: Table, methods: Sequence[str]) -> None:
    """Print the mean difference of each method from ours, question by question, with its interval."""
    rows = []
    for name in methods if "ours" in methods else ():
        row = []
        for kinds, measured in _COMPARED if name != "ours" else ():
            # Every method answered the same questions of a kind and a language, in the same order.
            pairs = [
                (values[measured], results[name, kind, language][measured])
                for (method, kind, language), values in results.items()
                if method == "ours" and kind in kinds
            ]
            values = np.concatenate([np.subtract(theirs, of_ours) for of_ours, theirs in pairs] or [np.zeros(0)])
            row.append(_interval(values) if len(values) else "")
        if row:
            rows.append([name, *row])
    if rows:
        heads = [f"{kinds[0] if len(kinds) == 1 else 'written' if kinds is WRITTEN else 'short'}: {measured}"
                 for kinds, measured in _COMPARED]  # fmt: skip
        print("difference from ours, and the 95 % interval of a paired bootstrap\n")
        print(markdown(["method", *heads], rows) + "\n")


def _interval(values: Any) -> str:
    generator = np.random.default_rng(22)
    means = values[generator.integers(0, len(values), (_RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return f"{values.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


if __name__ == "__main__":
    main()
