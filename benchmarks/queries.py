"""The queries of the design's table against ripgrep and zoekt: the same matches, and how much faster.

Run: ``python benchmarks/queries.py --corpus FOLDER [--index FOLDER] [--rounds N] [--row-seconds S] [--check]
[--kept] [--new] [--queries NAME,NAME]``.

FOLDER holds git repositories; twenty with a gigabyte of text tell something. Zoekt is asked over HTTP, and so is our
own service: one connection a query, or with ``--kept`` one for all of them; the whole body read and not parsed, every
match asked for. Each query is asked again and again, so that our service knows it and where it was found; with
``--new`` it takes each for one that was never asked. Zoekt takes part when the environment names its binaries, see
`peers.zoekt`. Ripgrep searches a checkout whose files are the repositories' blobs (as CPU time, of all its threads,
against the CPU time of a DataFrame in this process). Measuring begins once our service is at rest: it looks for
definitions when it starts.

All of them run one after the other in every round; the two services as often in a round as fits into a tenth of a
second. Wall times are medians of the rounds, and a ratio the median of the rounds' ratios; CPU times are those of the
services' processes over all rounds, by the number of requests. A row ends with the round in which its time was over.
Above 1 we are faster. With ``--check`` the lines we find are first compared with ripgrep's and the number of matches
with zoekt's. It exits with 1 if lines differ or a goal is missed (by wall time).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, Unpack

from corpus import Corpus, machine, markdown, timed, until_quiet, used_cpu_s
from peers import Answer, Row, Service, Zoekt, keep_connection, ripgrep_bytes, ripgrep_rows, serving, zoekt

FILTER_OR_PHRASE = 1.1
MANY_HITS = 100_000
FRAME_OF_MANY = 2.0
COUNT_OF_MANY = 4.0
ASKED_S, MAX_ASKED = 0.1, 20


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table.

    Attributes
    ----------
    ours
        The query.
    ripgrep
        Its arguments for the same lines; empty where only several runs together answer.
    zoekt
        The same in its language; empty for no comparison.
    goal
        Least ratio of zoekt's time to ours, both over HTTP.
    below
        A regular expression of the one repository that is searched.
    sets
        For a query over files: a pattern that a file must hold too, and one that it must not.
    new
        Whether the engine was not tuned with it.
    """

    name: str
    ours: str
    ripgrep: tuple[str, ...]
    zoekt: str
    goal: float = 1.0
    below: str = ""
    sets: tuple[str, ...] = ()
    new: bool = False

    @property
    def query(self) -> str:
        """What is asked."""
        return f"{self.ours} count:all"


class Options(TypedDict, total=False):
    """Fields of a `Case` that have defaults."""

    goal: float
    below: str
    sets: tuple[str, ...]
    new: bool


def literal(text: str, zoekt_text: str, **options: Unpack[Options]) -> Case:
    """A case-sensitive literal."""
    return Case(f"`{text}`", f"{text} case:yes", ("-F", "-e", text), f"{zoekt_text} case:yes", **options)


def casefolded(text: str, **options: Unpack[Options]) -> Case:
    """A literal in any case."""
    return Case(
        f"`{text}`, any case", text, ("-F", "-i", "-e", text), text.replace(" ", r"\x20") + " case:no", **options
    )


def regexp(text: str, **options: Unpack[Options]) -> Case:
    """A case-sensitive regular expression."""
    escaped = text.replace(" ", r"\x20")
    return Case(f"`/{text}/`", f"/{text}/ case:yes", ("-e", f"(?-u){text}"), f"{escaped} case:yes", **options)


CASES = (
    literal("ThreadPoolExecutorFactoryBean", "ThreadPoolExecutorFactoryBean", goal=1.18),
    literal("zzqqxxyy_absent", "zzqqxxyy_absent"),
    casefolded("zzqqxxyy_absent", goal=4.8),
    literal("errors.New(", r"errors\.New\(", goal=1.1),
    literal("fmt.Errorf", r"fmt\.Errorf", goal=1.08),
    literal("qz", "qz"),
    literal("~", "~", goal=1.36),
    literal("ThreadPoolExecutor", "ThreadPoolExecutor", goal=1.17),
    casefolded("this function returns", goal=FILTER_OR_PHRASE),
    regexp(r"func \w+Handler\(", goal=2.2),
    regexp(r"(TODO|FIXME|XXX)\(\w+\)"),
    Case(
        "`/(deadlock|race condition)/`, any case",
        "/(deadlock|race condition)/",
        ("-i", "-e", "(deadlock|race condition)"),
        r"(deadlock|race\x20condition) case:no",
        FILTER_OR_PHRASE,
    ),
    regexp("[A-Z]{3}_[0-9]{4}"),
    Case(
        r"`/\w{40,}/` in Go",
        r"/\w{40,}/ file:\.go$ case:yes",
        ("-g", "*.go", "-e", r"(?-u)\w{40,}"),
        r"\w{40,} file:\.go$ case:yes",
    ),
    regexp("^package main$", goal=7.9),
    Case(
        "`timeout` in `_test.go`",
        r"timeout file:_test\.go$ case:yes",
        ("-F", "-g", "*_test.go", "-e", "timeout"),
        r"timeout file:_test\.go$ case:yes",
        FILTER_OR_PHRASE,
    ),
    Case(
        "`yield` in Python",
        r"yield lang:python case:yes",
        ("-F", "-g", "*.{py,pyi,pyw}", "-e", "yield"),
        r"yield file:\.(py|pyi|pyw)$ case:yes",
        FILTER_OR_PHRASE,
    ),
    Case(
        "`replication` in redis",
        "replication repo:(^|/)redis$ case:yes",
        ("-F", "-e", "replication"),
        "replication repo:redis$ case:yes",
        FILTER_OR_PHRASE,
        below="(^|/)redis$",
    ),
    Case(
        "`goroutine` AND `context` NOT `mutex`",
        "type:file goroutine AND context NOT mutex case:yes",
        (),
        "content:goroutine content:context -content:mutex case:yes",
        1.04,
        sets=("goroutine", "context", "mutex"),
    ),
    regexp(r"\bself\.assert[A-Z]\w+\(", goal=3.6),
    literal("return", "return"),
    literal(":=", ":="),
    literal("the", "the"),
    casefolded("connection refused", goal=FILTER_OR_PHRASE, new=True),
    casefolded("unexpected end of file", goal=FILTER_OR_PHRASE, new=True),
    Case(
        "`/(segmentation fault|out of memory|stack overflow)/`, any case",
        "/(segmentation fault|out of memory|stack overflow)/",
        ("-i", "-e", "(segmentation fault|out of memory|stack overflow)"),
        r"(segmentation\x20fault|out\x20of\x20memory|stack\x20overflow) case:no",
        FILTER_OR_PHRASE,
        new=True,
    ),
    literal("in order to", r"in\x20order\x20to", goal=FILTER_OR_PHRASE, new=True),
    Case(
        "`retry` in `.yml`, `.yaml`, any case",
        r"retry file:\.ya?ml$",
        ("-F", "-i", "-g", "*.{yml,yaml}", "-e", "retry"),
        r"retry file:\.ya?ml$ case:no",
        FILTER_OR_PHRASE,
        new=True,
    ),
    Case(
        "`@Deprecated` in kafka",
        "@Deprecated repo:(^|/)kafka$ case:yes",
        ("-F", "-e", "@Deprecated"),
        "@Deprecated repo:kafka$ case:yes",
        FILTER_OR_PHRASE,
        below="(^|/)kafka$",
        new=True,
    ),
    casefolded("configuration", new=True),
    casefolded("replication", new=True),
)


@dataclass
class Times:
    """Seconds of each round, by what was timed; CPU seconds and requests of the services over all rounds."""

    of: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)

    def add(self, source: str, seconds: float) -> None:
        """Note one time."""
        self.of.setdefault(source, []).append(seconds)

    def ms(self, source: str) -> str:
        """The median, in milliseconds; a dash where there is none."""
        return f"{statistics.median(self.of[source]) * 1e3:,.1f}" if source in self.of else "-"

    def ratio(self, theirs: str, ours: str) -> float | None:
        """The median of the rounds' ratios; None where one of the two is missing."""
        if theirs not in self.of or ours not in self.of:
            return None
        if len(self.of[theirs]) != len(self.of[ours]):
            return statistics.median(self.of[theirs]) / statistics.median(self.of[ours])
        return statistics.median(a / b for a, b in zip(self.of[theirs], self.of[ours], strict=True))

    def note_cpu(self, source: str, used_s: float, requests: int) -> None:
        """Note what some requests cost a service."""
        total = self.cpu.setdefault(source, [0.0, 0.0])
        total[0] += used_s
        total[1] += requests

    def cpu_s(self, source: str) -> float | None:
        """CPU seconds of one request."""
        usage, requests = self.cpu.get(source, (0.0, 0.0))
        return usage / requests if requests else None

    def cpu_ratio(self, theirs: str, ours: str) -> float | None:
        """The ratio of CPU times of one request; None where it is too little to be measured."""
        a, b = self.cpu_s(theirs), self.cpu_s(ours)
        return a / b if a and b else None


class Bench:
    """All that takes part."""

    def __init__(
        self, corpus: Corpus, tree: Path | None, service: Service, other: Zoekt | None, options: argparse.Namespace
    ) -> None:
        self.corpus = corpus
        self.tree = tree
        self.service = service
        self.other = other
        self.rounds = options.rounds
        self.row_s = options.row_seconds
        self.check = options.check
        self.errors: list[str] = []
        self.short: list[str] = []

    def row(self, case: Case) -> list[str]:
        """Check a case if asked to, time it, and give its row of the table."""
        name = case.name + (" (new)" if case.new else "")
        times = self._times(case)
        note = ""
        if self.check:
            rows, matches = self._ours(case)
            if self.tree is not None:
                missing, extra = self._difference(case, rows)
                if missing or extra:
                    self.errors.append(f"{case.name}: {missing} lines that only ripgrep finds, {extra} that only we do")
            theirs = self.other.matches(case.zoekt) if self.other and case.zoekt else None
            note = "" if theirs in {None, matches} else f" (zoekt {theirs:,})"
        else:
            matches = int(self.corpus.client.count(case.query, progress=False))
        http = times.ratio("zoekt", "stream")
        frame, count = times.ratio("zoekt", "frame"), times.ratio("zoekt", "count")
        self._judge(case, "over HTTP", http, case.goal)
        if matches > MANY_HITS:
            self._judge(case, "DataFrame", frame, FRAME_OF_MANY)
            self._judge(case, "count", count, COUNT_OF_MANY)
        usage = [times.cpu_s(source) for source in ("zoekt", "stream")]
        spent = ["-" if item is None else f"{item * 1e3:,.1f}" for item in usage]
        wall = [times.ms(source) for source in ("zoekt", "stream")]
        inside = [times.ms(source) for source in ("first", "frame", "count")]
        ratios = [format_ratio(item) for item in (frame, count, times.ratio("ripgrep", "frame CPU"))]
        over_http = [
            *spent,
            format_ratio(times.cpu_ratio("zoekt", "stream")),
            *wall,
            format_ratio(http),
            f"{case.goal:g}",
        ]
        return [name, f"{matches:,}{note}", *over_http, *inside, *ratios]

    def _judge(self, case: Case, source: str, ratio: float | None, goal: float) -> None:
        if ratio is not None and ratio < goal:
            self.errors.append(f"{case.name}: zoekt ÷ ours, {source}: {ratio:.2f}, wanted {goal:g}")

    def _ours(self, case: Case) -> tuple[set[Row], int]:
        table = self.corpus.client.search(case.query, progress=False).arrow
        kinds, names = table["type"].to_pylist(), table["repository"].to_pylist()
        locations = zip(kinds, names, table["path"].to_pylist(), table["line_number"].to_pylist(), strict=True)
        rows = {(f"{name}/{path}", number) for kind, name, path, number in locations if kind == "content"}
        counts = zip(kinds, table["match_count"].to_pylist(), strict=True)
        return rows, sum(count for kind, count in counts if kind == "content")

    def _difference(self, case: Case, ours: set[Row]) -> tuple[int, int]:
        assert self.tree is not None  # noqa: S101 - for the type checker
        below, prefix = self._folder(case)
        if case.sets:
            first, second, without = (ripgrep_rows(("-F", "-e", text), below) for text in case.sets)
            files = {path for path, _ in first} & {path for path, _ in second} - {path for path, _ in without}
            theirs = {row for row in first | second if row[0] in files}
        else:
            theirs = {(prefix + path, number) for path, number in ripgrep_rows(case.ripgrep, below)}
        return len(theirs - ours), len(ours - theirs)

    def _folder(self, case: Case) -> tuple[Path, str]:
        assert self.tree is not None  # noqa: S101 - for the type checker
        if not case.below:
            return self.tree, ""
        name = next(
            (repository.name for repository in self.corpus.repositories if re.search(case.below, repository.name)), ""
        )
        return self.tree / name, f"{name}/" if name else ""

    def _times(self, case: Case) -> Times:
        times = Times()
        began = time.perf_counter()
        repeats = {}
        for source, (pid, ask) in self._services(case).items():
            before = used_cpu_s(pid)
            whole_s = ask().whole_s
            repeats[source] = min(MAX_ASKED, int(ASKED_S / whole_s) + 1)
            if whole_s > self.row_s:  # it counts: once more would take too long
                repeats[source] = 0
                times.note_cpu(source, used_cpu_s(pid) - before, 1)
                times.add(source, whole_s)
        for number in range(self.rounds):
            if number and time.perf_counter() - began > self.row_s:
                self.short.append(f"{case.name}: {number}")
                break
            self._round(case, times, repeats)
        return times

    def _services(self, case: Case) -> dict[str, tuple[int, Callable[[], Answer]]]:
        results: dict[str, tuple[int, Callable[[], Answer]]] = {}
        if self.other is not None and case.zoekt:
            other = self.other
            results["zoekt"] = other.pid, lambda: other.search(case.zoekt)
        results["stream"] = self.service.pid, lambda: self.service.search(case.query)
        return results

    def _round(self, case: Case, times: Times, repeats: dict[str, int]) -> None:
        for source, (pid, ask) in self._services(case).items():
            if not repeats[source]:
                continue
            before = used_cpu_s(pid)
            answers = [ask() for _ in range(repeats[source])]
            times.note_cpu(source, used_cpu_s(pid) - before, len(answers))
            times.add(source, statistics.median(answer.whole_s for answer in answers))
            if source == "stream":
                times.add("first", statistics.median(answer.first_s for answer in answers))
        client = self.corpus.client

        def frame() -> int:
            return len(client.search(case.query, progress=False).matches)

        cpu, wall, _ = timed(frame)
        times.add("frame", wall)
        times.add("frame CPU", cpu)
        times.add("count", timed(lambda: client.count(case.query, progress=False))[1])
        if self.tree is not None and case.ripgrep:
            folder, _ = self._folder(case)
            times.add("ripgrep", timed(_run(case, folder))[0])


def _run(case: Case, folder: Path) -> Callable[[], int]:
    return lambda: ripgrep_bytes(case.ripgrep, folder)


HEAD = (
    "query", "matches", "zoekt CPU ms", "ours CPU ms", "zoekt ÷ ours, CPU", "zoekt wall ms", "ours wall ms",
    "zoekt ÷ ours, wall", "wanted", "first byte ms", "DataFrame ms", "count ms", "÷ DataFrame", "÷ count",
    "rg ÷ DataFrame (CPU)",
)  # fmt: skip


def format_ratio(ratio: float | None) -> str:
    """A ratio in as many digits as tell something."""
    return "-" if ratio is None else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def select_cases(names: str) -> list[Case]:
    """The cases whose names hold one of the words in `names`, which commas separate; all for none."""
    words = [word for word in names.split(",") if word]
    return [case for case in CASES if not words or any(word in case.name for word in words)]


def main() -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", required=True, help="folder with git repositories")
    parser.add_argument("--index", default="", help="folder to keep the index and the checkout in")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--row-seconds", type=float, default=6.0, help="time after which a row begins no new round")
    parser.add_argument("--check", action="store_true", help="compare lines with ripgrep's, matches with zoekt's")
    parser.add_argument("--kept", action="store_true", help="ask each service on one connection")
    parser.add_argument("--new", action="store_true", help="let our service forget each query before it is asked")
    parser.add_argument("--queries", default="", help="parts of names of queries, with commas between")
    options = parser.parse_args()
    with ExitStack() as stack:
        home = options.index or stack.enter_context(tempfile.TemporaryDirectory())
        corpus = Corpus(options.corpus, home)
        tree = Path(home, "tree") if shutil.which("rg") else None
        if tree is not None and not tree.exists():
            corpus.export(tree)
        other = stack.enter_context(zoekt([item.git_dir for item in corpus.repositories], Path(home)))
        service = stack.enter_context(serving(corpus.folders, home, forgetful=options.new))
        waited_s = until_quiet(service.pid)
        print(f"{corpus.describe()}; up to {options.rounds} rounds, {options.row_seconds:g} s a row")
        print(f"our service came to rest after {waited_s:.0f} s; load then {os.getloadavg()[0]:.1f}\n")
        for item in (service, other) if options.kept else ():
            if item is not None:
                keep_connection(item)
        bench = Bench(corpus, tree, service, other, options)
        rows = []
        try:
            for case in select_cases(options.queries):
                rows.append(bench.row(case))
                print(" ".join(rows[-1]), file=sys.stderr)
        except KeyboardInterrupt:
            bench.errors.append("interrupted: the table is not whole")
        print(markdown(HEAD, rows))
    print(f"\n{machine()}")
    print(f"rows with fewer rounds, for lack of time: {'; '.join(bench.short) or 'none'}")
    for error in bench.errors:
        print(f"missed: {error}")
    return int(bool(bench.errors))


if __name__ == "__main__":
    sys.exit(main())
