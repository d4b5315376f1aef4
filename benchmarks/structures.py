"""Structural search against the `ast-grep` command: the same matches, and the processor time of each, in one run.

    python benchmarks/structures.py /path/to/clone --lang python '$X.format($$$)' 'except $E: $$$'

The clone is read at HEAD by us and as its work tree by ``ast-grep`` (package `ast-grep-cli`), which parses every file
of the language that holds the longest word of the pattern. Times are of the processor, of all processes: the median
of `--runs`. Our index and our processes are there before; no result is remembered between runs.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

import sourcelight as sl
from sourcelight.engines.structure.pool import shared_pool

Match = tuple[str, int, int]
"""Path, and the bytes at which it starts and ends."""


def cpu_s() -> float:
    """Processor seconds of this process, of those that run, and of those that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return children.ru_utime + children.ru_stime + sum(sum(item.cpu_times()[:2]) for item in processes)


def of_command(folder: Path, language: str, pattern: str, ending: str) -> tuple[set[Match], float]:
    """The matches of the command, and its time."""
    command = shutil.which("ast-grep", path=f"{Path(sys.executable).parent}:/usr/bin:/usr/local/bin")
    if command is None:
        sys.exit("install ast-grep-cli")
    before = cpu_s()
    arguments = [
        "run",
        "-p",
        pattern,
        "-l",
        language,
        "--json=stream",
        "--no-ignore",
        "hidden",
        "--no-ignore",
        "vcs",
        ".",
    ]
    done = subprocess.run([command, *arguments], cwd=folder, capture_output=True, check=False)
    taken_s = cpu_s() - before
    results = set()
    for line in done.stdout.splitlines():
        item = json.loads(line)
        location = item["range"]["byteOffset"]
        path = item["file"].removeprefix("./")
        if path.endswith(ending) and location["start"] < location["end"]:
            results.add((path, location["start"], location["end"]))
    return results, taken_s


def of_client(client: sl.Client, language: str, pattern: str, ending: str) -> tuple[Any, float]:
    """Our rows, and the time until all of them are there."""
    quoted = pattern.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    before = cpu_s()
    filters = f"lang:{language} file:{ending.replace('.', '[.]')}$ count:all timeout:1h"
    result = client.search(f'patternType:ast-grep {filters} content:"{quoted}"', progress=False)
    rows = result.arrow
    taken_s = cpu_s() - before
    if result.status != "complete":
        sys.exit(f"{pattern}: {result.status}: {result.reasons}")
    return rows, taken_s


def locations(rows: Any, folder: Path) -> set[Match]:
    """Matches put together from rows: a match of several lines goes on in the next row, outer ones first."""
    results: set[Match] = set()
    going_on: list[list[int]] = []
    starts: dict[str, list[int]] = {}
    for row in rows.select(["path", "line_number", "line", "start", "end", "match_count"]).to_pylist():
        path, number, line = row["path"], row["line_number"] - 1, row["line"]
        if path not in starts:
            starts[path] = [0]
            for text in (folder / path).read_bytes().split(b"\n"):
                starts[path].append(starts[path][-1] + len(text) + 1)
        base, next_going_on = starts[path][number], []
        continued = len(row["start"]) - row["match_count"]
        for index, (start, end) in enumerate(zip(row["start"], row["end"], strict=True)):
            end_byte = base + len(line[:end].encode()) + (end > len(line))
            span = going_on[index] if index < continued else [base + len(line[:start].encode()), 0]
            results.discard((path, *span))
            span[1] = end_byte
            results.add((path, *span))
            if end > len(line):
                next_going_on.append(span)
        going_on = next_going_on
    return results


def main() -> None:
    """Print a row for each pattern."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path)
    parser.add_argument("patterns", nargs="+")
    parser.add_argument("--lang", default="python")
    parser.add_argument("--ending", default=".py")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    folder = options.clone.resolve()
    print("| pattern | matches | the same | ast-grep, CPU s | sourcelight, CPU s | ratio |\n|---|---|---|---|---|---|")
    with sl.open(folder) as client:
        client.search(f"type:symbol lang:{options.lang} count:1 x", progress=False)
        shared_pool().read("$A", ["Python"])
        for pattern in options.patterns:
            theirs, ours = [], []
            for _ in range(options.runs):
                expected, taken_s = of_command(folder, options.lang, pattern, options.ending)
                theirs.append(taken_s)
                rows, taken_s = of_client(client, options.lang, pattern, options.ending)
                ours.append(taken_s)
            same = locations(rows, folder) == expected
            their_s, our_s = statistics.median(theirs), statistics.median(ours)
            print(f"| `{pattern}` | {len(expected):,} | {same} | {their_s:.2f} | {our_s:.2f} | {their_s / our_s:.1f} |")


if __name__ == "__main__":
    main()
