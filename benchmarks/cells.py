"""Search of notebooks by cell against scans that read every notebook, in CPU time.

Run: ``python benchmarks/cells.py --corpus FOLDER [--rounds N]``.

FOLDER holds git repositories with notebooks. Three ways take turns in one process: `nbformat.read` of every notebook
and a look at each source, as tools that search notebooks do; the same with `json.loads`, which checks nothing; and
ours, once with a new client over a finished index, so that each notebook is read, and once more. The lines that match
are compared: it exits with 1 where they differ. Ratios are medians of the rounds' ratios: a busy machine harms all
alike.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat

import sourcelight as sl

QUERIES = {
    "read_csv": "read_csv cell:code",
    "import": "import cell:code",
    "licen[cs]e": "/licen[cs]e/ cell:markdown",
    r"os\.environ\[": r"/os\.environ\[/ cell:code",
    "zzqqxxyy_absent": "zzqqxxyy_absent cell:code",
}
Lines = set[tuple[str, int, int]]
Sources = Iterator[tuple[int, str, str]]


def notebooks(corpus: Path) -> list[tuple[str, Path]]:
    """The notebooks that the index reads: name in the corpus, and file."""
    results = []
    for repository in sorted(path.parent for path in corpus.glob("*/.git")):
        listing = subprocess.run(
            ["git", "-C", str(repository), "ls-files", "-z", "*.ipynb"], check=True, capture_output=True, text=True
        )
        names = filter(None, listing.stdout.split("\0"))
        results += [(f"{repository.name}/{name}", repository / name) for name in names]
    return [(name, path) for name, path in results if path.is_file() and not path.is_symlink()]


def by_json(path: Path) -> Sources:
    """Number, kind and source of each cell, by the standard library."""
    value = json.loads(path.read_bytes())
    for number, cell in enumerate(value.get("cells", ()), 1):
        source = cell.get("source", "")
        yield number, cell.get("cell_type", ""), source if isinstance(source, str) else "".join(source)


def by_nbformat(path: Path) -> Sources:
    """The same by nbformat, as written: without a conversion."""
    for number, cell in enumerate(nbformat.read(str(path), as_version=nbformat.NO_CONVERT).get("cells", ()), 1):
        yield number, cell.cell_type, cell.source


def scan(files: list[tuple[str, Path]], sources: Callable[[Path], Sources], pattern: str, kind: str) -> Lines:
    """The matching lines of all notebooks; those that can't be read are left out."""
    expression, matches = re.compile(pattern, re.IGNORECASE), set()
    for name, path in files:
        try:
            for number, cell_kind, text in sources(path):
                if cell_kind == kind and expression.search(text):
                    lines = enumerate(text.split("\n"), 1)
                    matches |= {(name, number, position) for position, line in lines if expression.search(line)}
        except (ValueError, AttributeError, KeyError):
            continue
    return matches


def ours(client: sl.Client, query: str) -> Lines:
    """The same by this package."""
    rows = client.search(f"{query} count:all file:\\.ipynb$").matches
    locations = zip(rows["repository"], rows["path"], rows["cell"], rows["cell_line"], strict=True)
    return {(f"{Path(repository).name}/{path}", int(cell), int(line)) for repository, path, cell, line in locations}


def timed(work: Callable[[], Lines]) -> tuple[Lines, float]:
    """What work gives, and its CPU milliseconds, all threads."""
    started = time.process_time()
    result = work()
    return result, (time.process_time() - started) * 1000


def main() -> int:
    """Measure, compare and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    files = notebooks(options.corpus)
    size = sum(path.stat().st_size for _, path in files)
    print(f"{len(files):,} notebooks, {size / 1e6:,.1f} MB\n")
    with sl.open(options.corpus) as client:
        client.search("zzqqxxyy_absent")
    failed = False
    columns = ("query", "lines", "nbformat ms", "json ms", "first ms", "again ms", "nbformat ÷ first", "json ÷ first")
    print(f"| {' | '.join(columns)} | json ÷ again |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for pattern, query in QUERIES.items():
        rounds = []
        for _ in range(options.rounds):
            kind = query.rpartition("cell:")[2]
            _, slow = timed(lambda: scan(files, by_nbformat, pattern, kind))  # noqa: B023 - called at once
            expected, naive = timed(lambda: scan(files, by_json, pattern, kind))  # noqa: B023
            with sl.open(options.corpus) as client:
                client.search("zzqqxxyy_absent")  # opens the index
                matches, first = timed(lambda: ours(client, query))  # noqa: B023
                _, repeat_s = timed(lambda: ours(client, query))  # noqa: B023
            failed |= matches != expected
            rounds.append((slow, naive, first, repeat_s))
        medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
        ratios = [
            statistics.median(item[above] / item[below] for item in rounds) for above, below in ((0, 2), (1, 2), (1, 3))
        ]
        numbers = [f"{value:,.0f}" for value in medians] + [f"{value:,.1f}" for value in ratios]
        equal = "" if matches == expected else f" ({len(matches ^ expected)} differ)"
        print(f"| `{query}` | {len(matches):,}{equal} | {' | '.join(numbers)} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
