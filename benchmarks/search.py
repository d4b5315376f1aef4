"""The text engine against ripgrep, and against its own goals, on real repositories.

Run: ``python benchmarks/search.py --corpus FOLDER [--index FOLDER] [--rounds N]``, where FOLDER holds git repositories
(bare or not; ten or more with 300 MB of text tell something). It builds an index, exports the same files for ripgrep
where that is installed, runs the same searches with both, in turns, and prints a Markdown table. Times are CPU time of
all processes; ratios are medians of the rounds. It exits with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.patterns import compile_pattern
from sourcelight.display.frames.tables import matches_table, to_pandas
from sourcelight.engines.search import FileTerm, IndexStore, SearchOptions, SearchPart, Target, TextQuery
from sourcelight.engines.search.model import DEFAULT_MAX_FILE_SIZE
from sourcelight.repos import Catalog, ObjectReader, resolve

RARE = [("rare literal", "ThreadPoolExecutor", True), ("absent literal", "zzqqxxyy_absent", True)]
OTHER = [
    ("rare literal, no case", "segmentation fault", False),
    ("mid literal", "errors.New(", True),
    ("common literal", "fmt.Errorf", True),
]
MANY = ("a million lines", "the", True)
REGEXPS = [
    ("regex", r"func \w+Handler\(", True),
    ("alternation, no case", "deadlock|race condition", False),
    ("anchored regex", "^package main$", True),
]
PULLED_COMMITS = 10
LARGE_FRAME = 1_000_000


def cpu_s() -> float:
    """CPU seconds of this process and of its children that ended."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in usage)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of `work`, and what it gave."""
    began = cpu_s()
    result = work()
    return cpu_s() - began, result


def query_of(text: str, kind: Any, *, case_sensitive: bool) -> TextQuery:
    """A search of contents alone, as ripgrep does it."""
    return TextQuery(FileTerm(compile_pattern(text, kind=kind, case_sensitive=case_sensitive), path=False))


class Bench:
    """A corpus with its index, and the rows of the table."""

    def __init__(self, corpus: str, index: str, rounds: int) -> None:
        catalog = Catalog.open([corpus])
        self.targets = [Target(repository, "", repository.info.commit) for repository in catalog.repositories]
        self.store = IndexStore(index)
        self.rounds = rounds
        self.rows: list[tuple[str, str, str]] = []
        self.missed = False

    def note(self, name: str, value: str, goal: str = "", *, is_met: bool = True) -> None:
        """Add a row."""
        self.missed = self.missed or not is_met
        self.rows.append((name, value, goal + ("" if is_met else " **missed**")))

    def parts(self, query: TextQuery, options: SearchOptions | None = None) -> Iterator[SearchPart]:
        """Search everything."""
        return self.store.search(self.targets, query, options or SearchOptions(), Cancellation())

    def frame(self, query: TextQuery, options: SearchOptions | None = None) -> Any:
        """Search everything into a DataFrame."""
        return to_pandas(matches_table([batch for part in self.parts(query, options) for batch in part.batches]))

    def build(self) -> float:
        """Build the index; give the CPU seconds for it."""
        seconds, report = timed(lambda: self.store.update(self.targets))
        if report.failures:
            sys.exit(f"not indexed: {dict(report.failures)}")
        statuses = self.store.status()
        text, disk = sum(status.text_bytes for status in statuses), self.store.disk_bytes()
        self.note(
            "repositories, files, text", f"{len(statuses)}, {sum(s.files for s in statuses)}, {text / 1e6:.0f} MB"
        )
        if report.built:
            speed = text / 1e6 / seconds
            self.note("index build, MB of text per CPU-second", f"{speed:.1f}", ">= 30", is_met=speed >= 30)
        self.note("index ÷ text, content included", f"{disk / text:.2f}", "<= 1.8", is_met=disk / text <= 1.8)
        return seconds

    def pull(self, full_s: float) -> None:
        """Index every repository ten commits back, then at its head."""
        with tempfile.TemporaryDirectory() as folder:
            store = IndexStore(folder)
            old = []
            for target in self.targets:
                commit = resolve(target.repository, f"HEAD~{PULLED_COMMITS}")
                old.append(Target(target.repository, "", commit))
            store.update(old)
            seconds, report = timed(lambda: store.update(self.targets))
        share = seconds / full_s
        self.note(
            f"re-index after {PULLED_COMMITS} commits ÷ full build ({report.files} files read)",
            f"{share:.3f}",
            "<= 0.1",
            is_met=share <= 0.1,
        )

    def first_batch(self) -> None:
        """Time until the first batch against that of the whole search, for a common literal."""
        query = query_of(MANY[1], "literal", case_sensitive=True)
        shares = []
        for _ in range(self.rounds):
            began = time.process_time()
            parts = self.parts(query)
            next(part for part in parts if part.batches)
            first = time.process_time() - began
            for _ in parts:
                pass
            shares.append(first / (time.process_time() - began))
        share = statistics.median(shares)
        self.note("first batch ÷ whole search", f"{share:.4f}", "<= 0.1", is_met=share <= 0.1)

    def large_frame(self) -> None:
        """A million matched lines to a DataFrame: time, size, memory."""
        query = query_of(MANY[1], "literal", case_sensitive=True)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        batches_s, batches = timed(lambda: _first_rows([b for part in self.parts(query) for b in part.batches]))
        frame_s, frame = timed(lambda: to_pandas(matches_table(batches)))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        size = int(frame.memory_usage(deep=False).sum()) / 1e6
        self.note(
            f"{len(frame):,} lines to batches, then to a frame",
            f"{batches_s:.2f} s + {frame_s:.2f} s",
            "< 1.5 s",
            is_met=batches_s + frame_s < 1.5,
        )
        self.note("size of that frame", f"{size:.0f} MB", "< 300 MB", is_met=size < 300)
        self.note("growth of peak memory, mapped index included", f"{grown:.0f} MB", "< 1500 MB", is_met=grown < 1500)

    def against_ripgrep(self, tree: str) -> None:
        """Run all searches with both, in turns."""
        cases = [(*case, "literal") for case in (*RARE, *OTHER, MANY)] + [(*case, "regexp") for case in REGEXPS]
        for name, text, case_sensitive, kind in cases:
            query = query_of(text, kind, case_sensitive=case_sensitive)
            command = ["rg", "-uu", "--no-config", "-E", "none", "-n", "--column", "-H", "--no-heading"]
            command += ["--max-filesize", str(DEFAULT_MAX_FILE_SIZE)]
            command += ["-F"] if kind == "literal" else []
            command += [] if case_sensitive else ["-i"]
            ratios, lines, ours_s, theirs_s = [], 0, 0.0, 0.0
            for _ in range(self.rounds):
                ours_s, frame = timed(lambda query=query: self.frame(query))  # type: ignore[misc]
                theirs_s, lines = timed(lambda command=command, text=text: _lines_of([*command, "-e", text], tree))  # type: ignore[misc]
                ratios.append(theirs_s / ours_s)
                if len(frame) != lines:
                    name = f"{name} ({len(frame):,} lines, ripgrep {lines:,})"  # noqa: PLW2901 - the difference is shown
            ratio = statistics.median(ratios)
            required = 20.0 if name in {case[0] for case in RARE} else 1.0
            self.note(
                f"ripgrep ÷ ours, {name}: `{text}`, {lines:,} lines",
                f"{ratio:.1f} ({theirs_s * 1e3:.0f} ÷ {ours_s * 1e3:.1f} ms)",
                f">= {required:.0f}",
                is_met=ratio >= required,
            )

    def export(self, folder: str) -> None:
        """Write the files of all targets below `folder`, byte for byte."""
        for number, target in enumerate(self.targets):
            with ObjectReader(target.repository) as reader:
                tree = reader.tree(target.commit)
                for index, path in enumerate(tree.paths):
                    data = reader.read(tree.blob_id(index))
                    if data is None or b"\0" in data:
                        continue
                    file = Path(folder, str(number), os.fsdecode(path))
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(data)


def _first_rows(batches: list[Any]) -> list[Any]:
    slices, rows = [], 0
    for batch in batches:
        if rows >= LARGE_FRAME:
            break
        slices.append(batch.slice(0, LARGE_FRAME - rows))
        rows += slices[-1].num_rows
    return slices


def _lines_of(command: list[str], tree: str) -> int:
    with subprocess.Popen([*command, "."], cwd=tree, stdout=subprocess.PIPE) as peer:
        count = 0
        while peer.stdout is not None and (block := peer.stdout.read(1 << 20)):
            count += block.count(b"\n")
    return count


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--index", default="")
    parser.add_argument("--rounds", type=int, default=5)
    selected = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(selected.corpus, selected.index or f"{scratch}/index", selected.rounds)
        full_s = bench.build()
        bench.large_frame()
        bench.first_batch()
        if shutil.which("rg"):
            bench.export(f"{scratch}/tree")
            bench.against_ripgrep(f"{scratch}/tree")
        else:
            bench.note("ripgrep", "not installed")
        if not selected.index:
            bench.pull(full_s)
    print("| what | measured | goal |\n|---|---|---|")
    for row in bench.rows:
        print("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    sys.exit(bench.missed)


if __name__ == "__main__":
    main()
