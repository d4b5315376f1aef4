"""A ranking of parts of the files, whose numbers are exchanged, is that of all of them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from sourcelight.backends.embedded import open_engine
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.search.ranking import Ranking
from sourcelight.engines.search.ranking.model import RankLimits, join_rankings
from sourcelight.engines.search.ranking.question import analyze
from sourcelight.engines.search.ranking.ranker import Ranker
from sourcelight.engines.search.ranking.terms.term_files import OpenedTerms
from sourcelight.testing import RepositoryBuilder

WORDS = ("ledger", "period", "account", "balance", "invoice")


@dataclass
class Table:
    """Where parts meet: what each brings is there for all once all have come."""

    parts: int
    barrier: threading.Barrier = field(init=False)
    brought: dict[int, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.barrier = threading.Barrier(self.parts, timeout=60.0)

    def meet(self, part: int, numbers: Sequence[float]) -> list[Sequence[float]]:
        """Bring numbers; give those of all."""
        self.brought[part] = numbers
        self.barrier.wait()
        values = [self.brought[index] for index in range(self.parts)]
        self.barrier.wait()
        return values


@dataclass(frozen=True)
class Seat:
    """One part's place at the table."""

    table: Table
    part: int

    def add(self, numbers: Sequence[int]) -> list[int]:
        """Sum what all bring."""
        return [int(sum(column)) for column in zip(*self.table.meet(self.part, numbers), strict=True)]

    def maxima(self, numbers: Sequence[float]) -> list[float]:
        """Take the greatest of what all bring."""
        return [max(column) for column in zip(*self.table.meet(self.part, numbers), strict=True)]


def summary_of(ranking: Ranking) -> object:
    chunks = [(c.target.repository.name, c.path, c.begin_line, c.score, c.file, c.symbols) for c in ranking.chunks]
    files = [(f.target.repository.name, f.path, f.score, f.kind, f.lists) for f in ranking.files]
    return chunks, files, replace(ranking, chunks=(), files=(), share=None)


def test_parts_rank_as_all_of_them(tmp_path: Path) -> None:
    """Whatever the limits: the same chunks with the same scores, counts and coverage, also where a part has nothing."""
    for name in range(4):
        repo = RepositoryBuilder(tmp_path / "code" / f"books{name}", origin=f"https://example.org/team/books{name}.git")
        repo.commit(
            {
                f"{('src', 'tests', 'docs')[number % 3]}/{WORDS[(number + name) % 5]}/part_{number}.py": "".join(
                    f"def close_{WORDS[(number * part) % 5]}_{part}():\n"
                    + f"    {WORDS[(name + number) % 4]} = {WORDS[part % 3]}\n" * (2 + number * part % 9)
                    + ("    # The account balance of a closed period is opened by an invoice.\n" if number == 5 else "")
                    for part in range(1 + (number + name) % 4)
                )
                for number in range(12)
            }
            if name < 3
            else {"notes.txt": "nothing of interest\n"}
        )
    engine = open_engine([tmp_path / "code"], index=tmp_path / "index", workers=1)
    targets = [engine.target_of(repository) for repository in engine.catalog.repositories]
    assert engine.update_terms(targets, Cancellation()) == {}
    indexes = [engine.terms.open(target) for target in targets]
    sentence = "why is the balance of a closed period opened by an invoice of the ledger"
    related = "How are configured accounts of a ledger shut down?"
    single_words = ("test of the balance", "zebra")
    for text in ("close the ledger period", "`close_account_2` in part_7.py", *single_words, sentence, related):
        question = analyze(text)
        for limits in (RankLimits(), RankLimits(files=3, per_file=2), RankLimits(4)):
            expected = Ranker().rank(question, indexes, [None] * 4, limits, Cancellation())
            for groups in ([indexes[:2], indexes[2:]], [indexes[:3], indexes[3:]]):
                table = Table(len(groups))

                def part(
                    index: int, part_terms: list[OpenedTerms], table: Table = table, limits: RankLimits = limits
                ) -> Ranking:
                    ranker = Ranker(exchange=Seat(table, index))
                    return ranker.rank(question, part_terms, [None] * len(part_terms), limits, Cancellation())  # noqa: B023 - over before the next

                with ThreadPoolExecutor(len(groups)) as pool:
                    parts = list(pool.map(part, range(len(groups)), groups))
                together, _ = join_rankings(question, parts, limits)
                assert summary_of(together) == summary_of(expected), (text, limits)
