"""Queries asked for the first time, and asked again, against zoekt: classes of queries drawn at random.

Run: ``python benchmarks/first.py FOLDER [FOLDER ...] [--index FOLDER] [--draws N] [--seed S] [--check]
[--classes NAME,NAME]``.

The folders are git repositories, or hold them; twenty with 250 MB of text in several languages tell something. Each of
twelve classes has N queries, which a seed draws from the repositories, so that nothing can be tuned to one of them.
Both services answer over HTTP on one connection each, with every match asked for, the whole body read and not parsed.
The queries of a class are asked once, in turns, and then once more: *first* and *again*. CPU time is that of the
services' processes, the sum over the queries of a class; wall time is the sum of the answers. Above 1 we are faster.
Before anything is measured, each service answers other queries of every class.

Zoekt takes part when the environment names its binaries, see `peers.zoekt`. With ``--check`` the number of matches of
each query is first compared with zoekt's, by another process than the one that is measured. It exits with 1 if a number
differs or a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from corpus import Corpus, machine, markdown, until_quiet, used_cpu_s
from peers import Answer, Service, Zoekt, keep_connection, serving, zoekt

from sourcelight.engines.search.model import DEFAULT_MAX_FILE_SIZE
from sourcelight.repos import ObjectReader

SAMPLE_FILES, MIN_FILES = 4000, 30
"""Files that words are drawn from, and of each repository at least."""

RARE, MID, COMMON = (1, 10), (50, 500), (3_000, 20_000)
"""Matches of a rare, a mid and a common word."""

WARM_UP = 5
"""Queries of each class that are asked before anything is measured."""

TRIES = 20_000
SETTLE_S = 0.003
"""Seconds after an answer in which a service ends its work on it."""

CPU_GOAL, WALL_GOAL = 1.0, 0.9
FLOOR = {"absent word": (0.5, 0.3), "word in one repository": (0.5, 0.3)}
"""Goals where HTTP alone costs us about what zoekt's whole search does."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,23}")
_PHRASE = re.compile(r"(?<![A-Za-z0-9_ ])[A-Za-z]{2,12} [a-z]{2,12} [a-z]{2,12}(?![A-Za-z0-9_])")
_OPERATORS = frozenset({"and", "or", "not"})

Query: TypeAlias = tuple[str, str]
"""A query in our language and in zoekt's."""

Draw: TypeAlias = Callable[[], Query | None]
"""Draws one query of a class; None: try again."""


@dataclass(slots=True)
class Draws:
    """Draws queries from a corpus; equal seeds draw equal queries."""

    corpus: Corpus
    seed: int
    files: list[tuple[str, str, str]] = field(init=False, default_factory=list)
    vocabulary: list[str] = field(init=False)
    chance: random.Random = field(init=False)
    _counts: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)  # noqa: S311 - to draw the same again
        repositories = self.corpus.repositories
        share = max(MIN_FILES, SAMPLE_FILES // len(repositories))
        for repository in repositories:
            with ObjectReader(repository) as reader:
                tree = reader.tree(repository.info.commit)
                for index in self.chance.sample(range(len(tree.paths)), min(share, len(tree.paths))):
                    data = reader.read(tree.blob_id(index))
                    if data is not None and len(data) <= DEFAULT_MAX_FILE_SIZE and b"\0" not in data:
                        text = data.decode(errors="replace")
                        self.files.append((repository.name, os.fsdecode(tree.paths[index]), text))
        self.vocabulary = sorted({word for _, _, text in self.files for word in _WORD.findall(text)})

    def classes(self) -> dict[str, Draw]:
        """How to draw a query of each class."""
        return {
            "absent word": self._absent,
            "rare word": lambda: _sensitive(self._word(RARE)),
            "rare word, any case": lambda: _insensitive(self._word(RARE)),
            "mid word": lambda: _sensitive(self._word(MID)),
            "common word": lambda: _sensitive(self._word(COMMON)),
            "phrase": self._phrase,
            "regexp": self._regexp,
            "alternation": self._alternation,
            "word in Python": self._python,
            "word in one repository": self._in_one,
            "word in test files": lambda: _with(self._word(MID), " file:test", " file:test"),
            "A and not B": self._without,
        }

    def of_class(self, draw: Draw, count: int) -> list[Query]:
        """Draw distinct queries; fewer where the corpus has no more."""
        queries: dict[Query, None] = {}
        for _ in range(TRIES):
            if len(queries) == count:
                break
            query = draw()
            if query is not None:
                queries[query] = None
        return list(queries)

    def matches(self, query: str) -> int:
        """How many matches a query has."""
        if query not in self._counts:
            self._counts[query] = int(self.corpus.client.count(f"{query} count:all", progress=False))
        return self._counts[query]

    def _any_word(self, text: str = "") -> str | None:
        """A word of a text, drawn by how often it is there; of a drawn file without one."""
        words = _WORD.findall(text or self.chance.choice(self.files)[2])
        word = self.chance.choice(words) if words else ""
        return word if word and word.lower() not in _OPERATORS else None

    def _word(self, bounds: tuple[int, int]) -> str | None:
        """A word with so many matches. Rare ones are drawn from all words, others by how often they are there."""
        word = self.chance.choice(self.vocabulary) if bounds is RARE else self._any_word()
        if word is None or word.lower() in _OPERATORS:
            return None
        return word if bounds[0] <= self.matches(f"{word} case:yes") <= bounds[1] else None

    def _absent(self) -> Query | None:
        first, second = self.chance.choice(self.vocabulary), self.chance.choice(self.vocabulary)
        word = first[: max(3, len(first) // 2)] + second[-max(3, len(second) // 2) :]
        return _sensitive(word) if not self.matches(word) else None

    def _phrase(self) -> Query | None:
        phrases = _PHRASE.findall(self.chance.choice(self.files)[2])
        phrase = self.chance.choice(phrases) if phrases else ""
        if not phrase or _OPERATORS.intersection(phrase.lower().split()):
            return None
        return phrase, phrase.replace(" ", r"\x20") + " case:no"

    def _regexp(self) -> Query | None:
        word = self._any_word()
        if word is None or len(word) < 9:
            return None
        position = self.chance.randrange(3, len(word) - 5)
        pattern = rf"{word[:position]}\w+{word[position + 3 :]}"
        return f"/{pattern}/ case:yes", f"{pattern} case:yes"

    def _alternation(self) -> Query | None:
        first, second = self._word(RARE if self.chance.random() < 0.5 else MID), self._word(MID)
        if first is None or second is None or first == second:
            return None
        return f"/({first}|{second})/ case:yes", f"({first}|{second}) case:yes"

    def _python(self) -> Query | None:
        _, path, text = self.chance.choice(self.files)
        word = self._any_word(text) if path.endswith(".py") else None
        if word is None or not MID[0] <= self.matches(f"{word} case:yes") <= COMMON[0]:
            return None
        return f"{word} lang:python case:yes", rf"{word} file:\.(py|pyi|pyw)$ case:yes"

    def _in_one(self) -> Query | None:
        repository, _, text = self.chance.choice(self.files)
        word, name = self._any_word(text), re.escape(repository.rpartition("/")[2])
        if word is None or not MID[0] <= self.matches(f"{word} case:yes") <= COMMON[0]:
            return None
        return f"{word} repo:(^|/){name}$ case:yes", f"{word} repo:(^|/){name}$ case:yes"

    def _without(self) -> Query | None:
        text = self.chance.choice(self.files)[2]
        first, second = self._any_word(text), self._any_word(text)
        if first is None or second is None or first == second:
            return None
        if not MID[0] <= self.matches(f"{first} case:yes") <= COMMON[0]:
            return None
        return f"type:file {first} AND NOT {second} case:yes", f"content:{first} -content:{second} case:yes"


def _with(word: str | None, ours: str, theirs: str) -> Query | None:
    return None if word is None else (f"{word}{ours} case:yes", f"{word}{theirs} case:yes")


def _sensitive(word: str | None) -> Query | None:
    return _with(word, "", "")


def _insensitive(word: str | None) -> Query | None:
    return None if word is None else (word, f"{word} case:no")


@dataclass(slots=True)
class Spent:
    """What a service spent on the queries of a class, in seconds, and the bytes of its answers."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    size: int = 0


def ask_all(queries: list[Query], service: Service, other: Zoekt | None) -> tuple[Spent, Spent]:
    """Ask both services each query once, in turns."""
    ours, theirs = Spent(), Spent()
    for number, (our_query, their_query) in enumerate(queries):
        requests: list[tuple[Spent, int, Callable[[], Answer]]] = [
            (ours, service.pid, lambda query=our_query: service.search(f"{query} count:all"))  # type: ignore[misc]
        ]
        if other is not None:
            requests.append((theirs, other.pid, lambda query=their_query: other.search(query)))  # type: ignore[misc]
        # Each is asked first half of the time: the second one finds the processor's cache in another state.
        for spent, pid, ask in requests if number % 2 else reversed(requests):
            before = used_cpu_s(pid)
            answer = ask()
            time.sleep(SETTLE_S)
            spent.cpu_s += used_cpu_s(pid) - before
            spent.wall_s += answer.whole_s
            spent.size += len(answer.body)
    return ours, theirs


HEAD = (
    "class", "queries", "zoekt CPU ms", "first CPU ms", "zoekt ÷ first, CPU", "again CPU ms", "zoekt ÷ again, CPU",
    "zoekt ÷ first, wall", "zoekt ÷ again, wall",
)  # fmt: skip


@dataclass(slots=True)
class Row:
    """The measurements of one class."""

    name: str
    queries: int
    first: tuple[Spent, Spent]
    repeat: tuple[Spent, Spent]

    @property
    def cells(self) -> list[str]:
        """The row of the table; a dash where zoekt did not take part."""
        factor = 1e3 / max(self.queries, 1)
        times = [f"{spent.cpu_s * factor:,.1f}" for spent in (self.first[1], self.first[0], self.repeat[0])]
        ratios = [_format_ratio(ratio) for ratio in (*self.cpu, *self.wall)]
        if not self.first[1].cpu_s:
            times[0] = "-"
        return [self.name, str(self.queries), times[0], times[1], ratios[0], times[2], ratios[1], *ratios[2:]]

    @property
    def cpu(self) -> tuple[float, float]:
        """CPU time of zoekt ÷ ours, first and again."""
        return self._ratio(lambda spent: spent.cpu_s)

    @property
    def wall(self) -> tuple[float, float]:
        """Wall time of zoekt ÷ ours, first and again."""
        return self._ratio(lambda spent: spent.wall_s)

    def _ratio(self, of: Callable[[Spent], float]) -> tuple[float, float]:
        first, repeat = (of(theirs) / max(of(ours), 1e-9) for ours, theirs in (self.first, self.repeat))
        return first, repeat

    @property
    def reaches(self) -> bool:
        """Whether the class reaches its goals, asked for the first time."""
        cpu, wall = FLOOR.get(self.name, (CPU_GOAL, WALL_GOAL))
        return self.cpu[0] >= cpu and self.wall[0] >= wall


def _format_ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio else "-"


def memory_mb(pid: int) -> str:
    """Memory of a process without its mapped files, and with them (Linux only)."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    values = {name: value for name, _, value in (line.partition(":") for line in lines)}
    anonymous, resident = (int(values[name].split()[0]) / 1e3 for name in ("RssAnon", "VmRSS"))
    return f"{anonymous:.0f} MB, {resident:.0f} MB with mapped files"


def differences(draws: Draws, queries: list[Query], other: Zoekt) -> Iterator[str]:
    """Compare the number of matches in contents of each query with zoekt's."""
    for ours, theirs in queries:
        in_contents = ours if "type:file" in ours else f"{ours} type:file"
        matches, expected = draws.matches(in_contents), other.matches(theirs)
        if matches != expected:
            yield f"{ours}: {matches:,} matches, zoekt {expected:,}"


def main() -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", nargs="+", help="git repositories, or folders with some")
    parser.add_argument("--index", default="", help="folder to keep the indexes in")
    parser.add_argument("--draws", type=int, default=30, help="queries of each class")
    parser.add_argument("--seed", type=int, default=20261124)
    parser.add_argument("--check", action="store_true", help="compare numbers of matches with zoekt's")
    parser.add_argument("--classes", default="", help="parts of names of classes, with commas between")
    options = parser.parse_args()
    class_names = options.classes.split(",")
    rows: list[Row] = []
    problems: list[str] = []
    with ExitStack() as stack:
        home = options.index or stack.enter_context(tempfile.TemporaryDirectory())
        corpus = Corpus(options.corpus, home)
        draws = Draws(corpus, options.seed)
        queries = {
            name: draws.of_class(draw, options.draws + WARM_UP)
            for name, draw in draws.classes().items()
            if any(part in name for part in class_names)
        }
        other = stack.enter_context(zoekt([repository.git_dir for repository in corpus.repositories], Path(home)))
        service = stack.enter_context(serving(corpus.folders, home))
        until_quiet(service.pid)
        print(f"{corpus.describe()}; seed {options.seed}, load {os.getloadavg()[0]:.1f}\n", flush=True)
        if options.check and other is not None:
            for class_queries in queries.values():
                problems += differences(draws, class_queries, other)
        for target in (service, other):
            if target is not None:
                keep_connection(target)
        for class_queries in queries.values():
            ask_all(class_queries[:WARM_UP], service, other)
        for name, class_queries in queries.items():
            measured = class_queries[WARM_UP:]
            rows.append(Row(name, len(measured), ask_all(measured, service, other), ask_all(measured, service, other)))
            print(" ".join(rows[-1].cells), file=sys.stderr, flush=True)
        print(markdown(HEAD, [row.cells for row in rows]))
        print(f"\nours: {memory_mb(service.pid)}; zoekt: {'-' if other is None else memory_mb(other.pid)}")
    print(machine())
    problems += [f"{row.name}: below its goal" for row in rows if other is not None and not row.reaches]
    for error in problems:
        print(f"missed: {error}")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
