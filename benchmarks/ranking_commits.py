"""How often ranking finds the files that a commit changed, asked with the commit's subject.

Run: ``python benchmarks/ranking_commits.py --corpus FOLDER [--index FOLDER] [--repositories NAME,NAME]
[--exact NAME,NAME] [--rows N] [--methods NAME,NAME] [--resume FILE]``.

FOLDER holds git repositories. From each one with enough commits, the newest ``--rows`` suitable ones are taken: no
merges, one to five files of code changed, one of them code that is not a test, a subject of four words or more that is
no release or update of versions. All are asked at one commit, the parent of the oldest of them; what is to be found
are the changed files of code that exist there. Commits later than that one are never looked at. The repositories of
``--exact`` are asked anew for each commit at its own parent. All run in one process; with ``--resume`` what is
finished is kept in a file (a line of JSON for each repository) and not asked again.

Methods: *terms* counts the question's words in a file; *bm25* is BM25 over the same chunks and stems, a file being as
good as its best chunk; *ours* is everything; *less X* is ours without X. hit@k: one of the files is in the first k;
r@k: share of them in the first k; MRR: one over the place of the first. It exits with 1 if, over all repositories or
over those of ``--exact``, *ours* is less than 15 points of hit@1 better than *bm25*.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from corpus import Corpus, machine, markdown
from numpy.typing import NDArray

from sourcelight.core.batches import CommitId
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SourcelightError
from sourcelight.engines.deepsearch.evidence.commit_ranker import CommitRanker
from sourcelight.engines.deepsearch.evidence.scorers import GraphScorer, HistoryScorer
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.history import History, LocalHistoryStore
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking import Scorer
from sourcelight.engines.search.ranking.bm25 import Weights, score
from sourcelight.engines.search.ranking.collection import ChunkCollection, make_collection
from sourcelight.engines.search.ranking.list_weights import ListWeights
from sourcelight.engines.search.ranking.paths import kind_of
from sourcelight.engines.search.ranking.question import RankQuery, analyze
from sourcelight.engines.search.ranking.ranker import Ranker
from sourcelight.engines.search.ranking.terms.term_files import OpenedTerms
from sourcelight.repos import Repository

GOAL = 15.0
_MAX_FILES = 5
_MIN_WORDS = 4
_DROPPED = re.compile(
    r"^(?:merge|bump|release|revert|typo|fix(?:ed)? typo|lint|version|prepare|update (?:to )?v?\d|"
    r"(?:chore|build|ci|fix|docs|deps)\((?:deps|release)|backport|cherry.?pick|\[?(?:pre-commit|automated|bot|deps))|"
    r"\bdependenc|\bdependabot|\bchangelog\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\s*\(?(?:#|GH-|gh-|PR |pr )\d+\)?|\b[A-Z]{3,}-\d+[:\s]*")


@dataclass(frozen=True, slots=True)
class Row:
    """A question, the files that answer it, and the commit before the one that was asked with."""

    text: str
    gold: frozenset[str]
    parent: str


@dataclass(frozen=True, slots=True)
class Sample:
    """The questions to one repository, and the commit at which all are asked; None: each at its own parent."""

    repository: Repository
    base: str | None
    rows: Sequence[Row]

    def groups(self) -> Iterator[tuple[Target, Sequence[Row]]]:
        """Give the questions with what they are asked of."""
        if self.base is not None:
            yield Target(self.repository, self.base, CommitId(self.base)), self.rows
            return
        for row in self.rows:
            yield Target(self.repository, row.parent, CommitId(row.parent)), [row]


def sample(repository: Repository, max_rows: int, *, exact: bool) -> Sample | None:
    """Make questions of a repository's newest commits; None when it has too few."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", repository.git_dir, *arguments]
        return subprocess.run(command, capture_output=True, check=True, text=True, errors="replace").stdout

    text = git("log", "--no-merges", "--first-parent", "-n", str(max_rows * 12), "--name-status", "--no-renames",
               "--format=%x00%H%x01%P%x01%s", repository.info.commit)  # fmt: skip
    selected: list[tuple[str, str, list[tuple[str, str]]]] = []
    for entry in text.split("\0")[1:]:
        head, _, names = entry.partition("\n")
        _, parents, subject = head.split("\x01", 2)
        changed = [tuple(line.split("\t", 1)) for line in names.strip().split("\n") if "\t" in line]
        code = [(status, path) for status, path in changed if kind_of(path) in {"code", "test"}]
        subject = " ".join(_NUMBER.sub(" ", subject).split())
        fits = len(parents.split()) == 1 and 1 <= len(code) <= _MAX_FILES
        fits = fits and len(changed) <= 3 * _MAX_FILES and len(subject.split()) >= _MIN_WORDS
        fits = fits and any(status in "MD" and kind_of(path) == "code" for status, path in code)
        if fits and not _DROPPED.search(subject):
            selected.append((parents, subject, code))
        if len(selected) == max_rows:
            break
    if len(selected) < max_rows // 2:
        return None
    base = None if exact else selected[-1][0]
    rows = []
    there: set[str] = set()
    for index, (parent, subject, code) in enumerate(selected):
        if exact or index == 0:
            there = set(git("ls-tree", "-r", "-z", "--name-only", base or parent).split("\0"))
        gold = frozenset(path for _, path in code if kind_of(path) == "code" and path in there)
        if gold:
            rows.append(Row(subject, gold, parent))
    return Sample(repository, base, rows)


Files = Callable[[Row], Sequence[str]]


@dataclass(slots=True)
class Methods:
    """The ways to rank the files of one commit."""

    engine: LocalEngine
    target: Target
    histories: LocalHistoryStore | None
    terms_index: OpenedTerms = field(init=False)
    collection: ChunkCollection = field(init=False)
    commits: CommitRanker | None = None

    def __post_init__(self) -> None:
        failed = self.engine.update_terms([self.target], Cancellation())
        if failed:
            sys.exit(f"not indexed: {failed}")
        self.terms_index = self.engine.terms.open(self.target)
        self.collection = make_collection([self.terms_index], [None])
        if self.histories is not None:
            self.commits = CommitRanker(self._history(self.histories), self.target.commit)

    def _history(self, histories: LocalHistoryStore) -> History:
        repository = self.target.repository
        with contextlib.suppress(SourcelightError, OSError, ValueError):
            history = histories.open(repository)
            if history.position(self.target.commit) is not None:
                return history
        # The newest commit behind which all questions are: what is later is left out for each of them.
        report = histories.update([repository], refs=[repository.info.commit])
        if report.failures:
            sys.exit(f"no history: {dict(report.failures)}")
        return histories.open(repository)

    def all(self) -> Mapping[str, Files]:
        """Give every method by its name."""
        history: list[Scorer] = [HistoryScorer(lambda _: self.commits)]
        graph: list[Scorer] = [GraphScorer(self.engine)]
        both = [*history, *graph]
        lists = ListWeights()
        plain_lists = replace(
            lists, test=1, docs=1, config=1, vendored=1, changelog=1, test_requested=1, docs_requested=1
        )
        return {
            "terms": self._terms,
            "bm25": self._bm25,
            "words only": self._ours(Ranker()),
            "ours": self._ours(Ranker(scorers=both)),
            "less kinds": self._ours(Ranker(lists=plain_lists, scorers=both)),
            "less fields": self._ours(Ranker(Weights(definition=0, path=0), scorers=both)),
            "less whole file": self._ours(Ranker(lists=replace(lists, full_name=0), scorers=both)),
            "less 2nd, 3rd chunk": self._ours(Ranker(lists=replace(lists, second=0, third=0), scorers=both)),
            "less exact names": self._ours(Ranker(lists=replace(lists, exact=0, mentioned=0), scorers=both)),
            "less joined words": self._ours(Ranker(scorers=both), join=False),
            "less history": self._ours(Ranker(scorers=graph)),
            "less graph": self._ours(Ranker(scorers=history)),
        }

    def _ours(self, ranker: Ranker, *, join: bool = True) -> Files:
        def rank(row: Row) -> Sequence[str]:
            question = analyze(row.text)
            if not join:
                question = _without_joined(question)
            result = ranker.rank_files(question, [self.terms_index], [None], 10, Cancellation())
            return [file.path for file in result]

        return rank

    def _terms(self, row: Row) -> Sequence[str]:
        scores = np.zeros(self.collection.files)
        for term in _without_joined(analyze(row.text)).terms:
            entries = self.collection.read_entries(term)
            if entries is not None:
                np.add.at(scores, self.collection.file_of[entries[0]], entries[1])
        return self._first(scores)

    def _bm25(self, row: Row) -> Sequence[str]:
        terms = _without_joined(analyze(row.text)).terms
        words = score(self.collection, terms, Weights(definition=0, path=0), Cancellation())
        return self._first(np.maximum.reduceat(words.chunks, self.collection.first_chunks))

    def _first(self, scores: NDArray[np.float64]) -> Sequence[str]:
        paths = [self.terms_index.snapshot.view.path(int(f)) for block in self.collection.blocks for f in block.files]
        order = sorted(
            np.argsort(-scores, kind="stable")[:200].tolist(), key=lambda position: (-scores[position], paths[position])
        )
        return [paths[position] for position in order[:10] if scores[position] > 0]


def _without_joined(question: RankQuery) -> RankQuery:
    terms = {term: weight for term, weight in question.terms.items() if not term.startswith("=")}
    return replace(question, terms=terms)


def measures(rows: Sequence[Row], rankings: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Give hit@1, hit@5, r@5, r@10 and MRR of each row, as a row each."""
    table = []
    for row, paths in zip(rows, rankings, strict=True):
        positions = [index for index, path in enumerate(paths) if path in row.gold]
        first_hits = [float(any(index < k for index in positions)) for k in (1, 5)]
        shares = [sum(index < k for index in positions) / len(row.gold) for k in (5, 10)]
        table.append([*first_hits, *shares, 1.0 / (positions[0] + 1) if positions else 0.0])
    return np.array(table)


Results = Mapping[str, NDArray[np.float64]]


def measured(
    corpus: Corpus, sample_rows: Sample, histories: LocalHistoryStore | None, method_names: set[str]
) -> Results:
    """Ask all questions of a sample with all methods, telling how it goes."""
    results: dict[str, list[NDArray[np.float64]]] = {}
    cost: dict[str, float] = {}
    done = 0
    for target, rows in sample_rows.groups():
        methods = Methods(corpus.engine, target, histories).all()
        for name, method in methods.items():
            if method_names and name not in method_names | {"bm25", "ours"}:
                continue
            began = time.process_time()
            results.setdefault(name, []).append(measures(rows, [method(row) for row in rows]))
            cost[name] = cost.get(name, 0.0) + time.process_time() - began
        done += len(rows)
        if sample_rows.base is None and done % 20 == 0:
            print(f"{sample_rows.repository.name}: {done} of {len(sample_rows.rows)}", file=sys.stderr, flush=True)
    tables = {name: np.concatenate(parts) for name, parts in results.items()}
    for name, table in tables.items():
        took = cost[name] / len(table) * 1000
        print(
            f"{sample_rows.repository.name} {name}: {' '.join(_cells(table))}, {took:.1f} ms",
            file=sys.stderr,
            flush=True,
        )
    return tables


@dataclass(slots=True)
class Kept:
    """What a file says of runs before."""

    file: Path | None
    results: dict[tuple[str, str, int], Results] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file is not None and self.file.exists():
            for line in self.file.read_text("utf-8").splitlines():
                entry = json.loads(line)
                tables = {name: np.array(table) for name, table in entry["methods"].items()}
                self.results[entry["repository"], entry["form"], entry["rows"]] = tables

    def add(self, repository: str, form: str, rows: int, result: Results) -> None:
        """Keep the results of a repository."""
        if self.file is None:
            return
        entry = {"repository": repository, "form": form, "rows": rows,
                 "methods": {name: table.tolist() for name, table in result.items()}}  # fmt: skip
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def main() -> None:
    """Measure, print the tables, and say whether the goal is met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--index")
    parser.add_argument("--repositories", default="", help="parts of names, split by commas; empty: all")
    parser.add_argument("--exact", default="", help="those of them to ask at the parent of each commit, too")
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--no-history", action="store_true")
    parser.add_argument("--methods", default="", help="only these, split by commas; bm25 and ours are always measured")
    parser.add_argument("--resume", type=Path)
    options = parser.parse_args()
    methods_wanted = {name for name in options.methods.split(",") if name}
    required = [name for name in options.repositories.split(",") if name]
    exact = [name for name in options.exact.split(",") if name]
    cache = Kept(options.resume)
    results: dict[str, dict[str, Results]] = {"cheap": {}, "exact": {}}
    with tempfile.TemporaryDirectory() as temporary:
        home = options.index or temporary
        corpus = Corpus(options.corpus, home)
        histories = None if options.no_history else LocalHistoryStore(Path(home, "history"))
        for repository in corpus.repositories:
            if required and not any(name in repository.name for name in required):
                continue
            forms = ["cheap", "exact"] if any(name in repository.name for name in exact) else ["cheap"]
            for form in forms:
                cached = cache.results.get((repository.name, form, options.rows))
                if cached is None:
                    sample_rows = sample(repository, options.rows, exact=form == "exact")
                    if sample_rows is None:
                        print(f"{repository.name}: too few commits", file=sys.stderr)
                        break
                    print(f"{repository.name}: {len(sample_rows.rows)} questions, {form}", file=sys.stderr, flush=True)
                    cached = measured(corpus, sample_rows, histories, methods_wanted)
                    cache.add(repository.name, form, options.rows, cached)
                results[form][repository.name] = cached
    if not results["cheap"]:
        sys.exit("no repository with enough commits")
    print(f"{machine()}\n")
    gains = [_print_form(form, form_results) for form, form_results in results.items() if form_results]
    sys.exit(0 if min(gains) >= GOAL else 1)


_NAMES = ("hit@1", "hit@5", "r@5", "r@10", "MRR")
_FORMS = {"cheap": "all asked at one commit", "exact": "each asked at its own parent"}


def _print_form(form: str, results: Mapping[str, Results]) -> float:
    """Print the tables of one form; give the points of hit@1 over BM25."""
    names = [name for name in next(iter(results.values())) if all(name in tables for tables in results.values())]
    merged = {name: np.concatenate([tables[name] for tables in results.values()]) for name in names}
    print(f"{len(results)} repositories, {len(merged['ours']):,} questions, {_FORMS[form]}, percent\n")
    print(markdown(["method", *_NAMES], [[name, *_cells(table)] for name, table in merged.items()]))
    rows = [
        [name, str(len(tables["ours"])), f"{tables['bm25'][:, 0].mean() * 100:.1f}", *_cells(tables["ours"])]
        for name, tables in results.items()
    ]
    print(f"\n{markdown(['repository', 'questions', 'bm25 hit@1', *(f'ours {name}' for name in _NAMES)], rows)}")
    gain = float(merged["ours"][:, 0].mean() - merged["bm25"][:, 0].mean()) * 100
    print(f"\nours over bm25: {gain:+.1f} points of hit@1 (goal: {GOAL:+.0f})\n")
    return gain


def _cells(table: NDArray[np.float64]) -> list[str]:
    return [f"{value * 100:.1f}" for value in table.mean(axis=0)]


if __name__ == "__main__":
    main()
