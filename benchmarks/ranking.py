"""How often ranking finds the files that a commit changed, asked with the commit's subject; and how fast.

Run: ``python benchmarks/ranking.py --corpus FOLDER [--index FOLDER] [--repositories NAME,NAME] [--rows N]
[--methods NAME,NAME]``.

FOLDER holds git repositories. From each one with enough commits, the newest ``--rows`` suitable ones are taken: no
merges, one to five files of code changed, one of them code that is not a test, a subject of four words or more that is
no release or update of versions. All are asked at one commit, the parent of the oldest of them; what is to be found
are the changed files of code that exist there. Commits later than that one are never looked at.

Methods: *terms* counts the question's words in a file; *bm25* is BM25 over the same chunks and stems, a file being as
good as its best chunk; *ours* is everything; *less X* is ours without X. hit@k: one of the files is in the first k;
r@k: share of them in the first k; MRR: one over the place of the first. It exits with 1 if, over all repositories,
*ours* is less than 15 points of hit@1 better than *bm25*.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from corpus import Corpus, machine, markdown
from numpy.typing import NDArray

from sourcelight.core.batches import Cancellation
from sourcelight.engines.deepsearch.evidence.commits import CommitRanker
from sourcelight.engines.deepsearch.evidence.scorers import GraphScorer, HistoryScorer
from sourcelight.engines.engine import Engine
from sourcelight.engines.engine.natural import prepare
from sourcelight.engines.history import LocalHistoryStore
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking import Scorer
from sourcelight.engines.search.ranking.bm25 import Weights, score
from sourcelight.engines.search.ranking.file_scores import ListWeights
from sourcelight.engines.search.ranking.paths import kind_of
from sourcelight.engines.search.ranking.question import Question, analyse
from sourcelight.engines.search.ranking.rank import Ranker
from sourcelight.engines.search.ranking.space import Space, make_space
from sourcelight.engines.search.ranking.terms_files import Opened
from sourcelight.repos import Repository

GOAL = 15.0
_MOST_FILES = 5
_LEAST_WORDS = 4
_LEAST_COMMITS = 400
_DROPPED = re.compile(
    r"^(?:merge|bump|release|revert|typo|fix(?:ed)? typo|lint|version|prepare|update (?:to )?v?\d|"
    r"(?:chore|build|ci|fix|docs|deps)\((?:deps|release)|backport|cherry.?pick|\[?(?:pre-commit|automated|bot|deps))|"
    r"\bdependenc|\bdependabot|\bchangelog\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\s*\(?(?:#|GH-|gh-|PR |pr )\d+\)?|\b[A-Z]{3,}-\d+[:\s]*")


@dataclass(frozen=True, slots=True)
class Row:
    """A question and the files that answer it."""

    text: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sample:
    """The questions to one repository, all at one commit."""

    target: Target
    rows: Sequence[Row]


def sample(repository: Repository, most: int) -> Sample | None:
    """Make questions of a repository's newest commits; None when it has too few."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", repository.git_dir, *arguments]
        return subprocess.run(command, capture_output=True, check=True, text=True, errors="replace").stdout

    text = git("log", "--no-merges", "--first-parent", "-n", str(most * 12), "--name-status", "--no-renames",
               "--format=%x00%H%x01%P%x01%s", repository.facts.commit)  # fmt: skip
    chosen: list[tuple[str, str, list[tuple[str, str]]]] = []
    for entry in text.split("\0")[1:]:
        head, _, names = entry.partition("\n")
        _, parents, subject = head.split("\x01", 2)
        changed = [tuple(line.split("\t", 1)) for line in names.strip().split("\n") if "\t" in line]
        code = [(status, path) for status, path in changed if kind_of(path) in {"code", "test"}]
        subject = " ".join(_NUMBER.sub(" ", subject).split())
        fits = len(parents.split()) == 1 and 1 <= len(code) <= _MOST_FILES
        fits = fits and len(changed) <= 3 * _MOST_FILES and len(subject.split()) >= _LEAST_WORDS
        fits = fits and any(status in "MD" and kind_of(path) == "code" for status, path in code)
        if fits and not _DROPPED.search(subject):
            chosen.append((parents, subject, code))
        if len(chosen) == most:
            break
    if len(chosen) < most // 2:
        return None
    base = chosen[-1][0]
    there = set(git("ls-tree", "-r", "-z", "--name-only", base).split("\0"))
    rows = []
    for _, subject, code in chosen:
        gold = frozenset(path for _, path in code if kind_of(path) == "code" and path in there)
        if gold:
            rows.append(Row(subject, gold))
    return Sample(Target(repository, base, base), rows)


Files = Callable[[Row], Sequence[str]]


@dataclass(slots=True)
class Methods:
    """The ways to rank the files of one sample."""

    engine: Engine
    sample: Sample
    histories: LocalHistoryStore | None
    opened: Opened = field(init=False)
    space: Space = field(init=False)
    commits: CommitRanker | None = None

    def __post_init__(self) -> None:
        prepare(self.engine, [self.sample.target], Cancellation())
        self.opened = self.engine.terms.open(self.sample.target)
        self.space = make_space([self.opened], [None])
        if self.histories is not None:
            report = self.histories.update([self.sample.target.repository], refs=[self.sample.target.commit])
            if report.failures:
                sys.exit(f"no history: {dict(report.failures)}")
            history = self.histories.open(self.sample.target.repository)
            self.commits = CommitRanker(history, self.sample.target.commit)

    def all(self) -> Mapping[str, Files]:
        """Give every method by its name."""
        history: list[Scorer] = [HistoryScorer(lambda _: self.commits)]
        graph: list[Scorer] = [GraphScorer(self.engine)]
        both = [*history, *graph]
        lists = ListWeights()
        plain = replace(lists, test=1, docs=1, config=1, vendored=1, changelog=1, test_asked=1, docs_asked=1)
        return {
            "terms": self._terms,
            "bm25": self._bm25,
            "words only": self._ours(Ranker()),
            "ours": self._ours(Ranker(scorers=both)),
            "less kinds": self._ours(Ranker(lists=plain, scorers=both)),
            "less fields": self._ours(Ranker(Weights(definition=0, path=0), scorers=both)),
            "less whole file": self._ours(Ranker(lists=replace(lists, whole=0), scorers=both)),
            "less 2nd, 3rd chunk": self._ours(Ranker(lists=replace(lists, second=0, third=0), scorers=both)),
            "less exact names": self._ours(Ranker(lists=replace(lists, exact=0, mentioned=0), scorers=both)),
            "less joined words": self._ours(Ranker(scorers=both), joined=False),
            "less history": self._ours(Ranker(scorers=graph)),
            "less graph": self._ours(Ranker(scorers=history)),
        }

    def _ours(self, ranker: Ranker, *, joined: bool = True) -> Files:
        def rank(row: Row) -> Sequence[str]:
            question = analyse(row.text)
            if not joined:
                question = _without_joined(question)
            found = ranker.rank_files(question, [self.opened], [None], 10, Cancellation())
            return [file.path for file in found]

        return rank

    def _terms(self, row: Row) -> Sequence[str]:
        scores = np.zeros(self.space.files)
        for number, piece in enumerate(self.space.pieces):
            base = self.space.file_base[number]
            for term in _without_joined(analyse(row.text)).terms:
                entries = piece.table.entries(term)
                if entries is not None:
                    numbers, place = piece.numbers(entries[0])
                    times = entries[1] if place is None else entries[1][place]
                    np.add.at(scores, base + piece.file_of[numbers], times)
        return self._first(scores)

    def _bm25(self, row: Row) -> Sequence[str]:
        terms = _without_joined(analyse(row.text)).terms
        words = score(self.space, terms, Weights(definition=0, path=0), Cancellation())
        parts = []
        for number, piece in enumerate(self.space.pieces):
            chunks = words.chunks[self.space.chunk_base[number] : self.space.chunk_base[number + 1]]
            parts.append(np.maximum.reduceat(chunks, piece.first[:-1]))
        return self._first(np.concatenate(parts))

    def _first(self, scores: NDArray[np.float64]) -> Sequence[str]:
        paths = [self.opened.snapshot.view.path(int(f)) for piece in self.space.pieces for f in piece.files]
        order = sorted(np.argsort(-scores, kind="stable")[:200].tolist(), key=lambda at: (-scores[at], paths[at]))
        return [paths[at] for at in order[:10] if scores[at] > 0]


def _without_joined(question: Question) -> Question:
    terms = {term: weight for term, weight in question.terms.items() if not term.startswith("=")}
    return replace(question, terms=terms)


def measures(rows: Sequence[Row], found: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Give hit@1, hit@5, r@5, r@10 and MRR of each row, as a row each."""
    table = []
    for row, paths in zip(rows, found, strict=True):
        places = [at for at, path in enumerate(paths) if path in row.gold]
        hits = [float(any(at < k for at in places)) for k in (1, 5)]
        shares = [sum(at < k for at in places) / len(row.gold) for k in (5, 10)]
        table.append([*hits, *shares, 1.0 / (places[0] + 1) if places else 0.0])
    return np.array(table)


def main() -> None:
    """Measure, print the tables, and say whether the goal is met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--index")
    parser.add_argument("--repositories", default="")
    parser.add_argument("--rows", type=int, default=220)
    parser.add_argument("--no-history", action="store_true")
    parser.add_argument("--methods", default="", help="only these, split by commas; bm25 and ours are always measured")
    options = parser.parse_args()
    methods_wanted = {name for name in options.methods.split(",") if name}
    wanted = [name for name in options.repositories.split(",") if name]
    with tempfile.TemporaryDirectory() as temporary:
        home = options.index or temporary
        corpus = Corpus(options.corpus, home)
        histories = None if options.no_history else LocalHistoryStore(Path(home, "history"))
        results: dict[str, dict[str, NDArray[np.float64]]] = {}
        for repository in corpus.repositories:
            if wanted and not any(name in repository.name for name in wanted):
                continue
            print(f"{repository.name}: questions, words, history", file=sys.stderr, flush=True)
            taken = sample(repository, options.rows)
            if taken is None:
                print(f"{repository.name}: too few commits", file=sys.stderr)
                continue
            methods = Methods(corpus.engine, taken, histories)
            own: dict[str, NDArray[np.float64]] = {}
            for name, method in methods.all().items():
                if methods_wanted and name not in methods_wanted | {"bm25", "ours"}:
                    continue
                began = time.process_time()
                own[name] = measures(taken.rows, [method(row) for row in taken.rows])
                took = (time.process_time() - began) / len(taken.rows) * 1000
                print(f"{repository.name} {name}: {_shown(own[name])}, {took:.1f} ms", file=sys.stderr, flush=True)
            results[repository.name] = own
    if not results:
        sys.exit("no repository with enough commits")
    print(f"{machine()}\n")
    names = ["hit@1", "hit@5", "r@5", "r@10", "MRR"]
    joined = {name: np.concatenate([own[name] for own in results.values()]) for name in next(iter(results.values()))}
    count = len(next(iter(joined.values())))
    print(f"{len(results)} repositories, {count:,} questions, percent\n")
    print(markdown(["method", *names], [[name, *_cells(table)] for name, table in joined.items()]))
    rows = [
        [
            name,
            str(len(own["ours"])),
            *(f"{own[method][:, 0].mean() * 100:.1f}" for method in ("bm25", "ours")),
        ]
        for name, own in results.items()
    ]
    print(markdown(["repository", "questions", "bm25 hit@1", "ours hit@1"], rows))
    gain = float(joined["ours"][:, 0].mean() - joined["bm25"][:, 0].mean()) * 100
    print(f"\nours over bm25: {gain:+.1f} points of hit@1 (goal: {GOAL:+.0f})")
    sys.exit(0 if gain >= GOAL else 1)


def _cells(table: NDArray[np.float64]) -> list[str]:
    return [f"{value * 100:.1f}" for value in table.mean(axis=0)]


def _shown(table: NDArray[np.float64]) -> str:
    return " ".join(_cells(table))


if __name__ == "__main__":
    main()
