"""What an index costs as repositories are added: time to build, size, memory, and the time of searches.

Run: ``python benchmarks/curve.py --corpus FOLDER [--sizes 1,10,20] [--rounds N] [--symbols]``, or with
``--grow 0.1:1,0.1:10,1:10 --scratch FOLDER`` instead of ``--sizes``.

FOLDER holds git repositories. The smallest ones are taken first, then more, then all; each size is built anew in a
process of its own. With ``--grow``, corpora of so many gigabytes of text in so many repositories are made from them
below the scratch folder, as `curve_corpus` says, and their histories are built and asked, too.

Times are CPU time of all processes; those of queries are of their first run, after a search for an absent word, and
medians of later runs.
Without ``--grow``, ten tips within the last 500 commits of one repository are indexed, beside the index of its HEAD
alone, which must cost less than 1.3 times as much. With --symbols definitions are found too, and searched. It exits
with 1 if that goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpus import Corpus, machine, markdown, timed
from curve_corpus import make_corpus

from sourcelight.engines.search import IndexStore, Target
from sourcelight.repos import Catalog, Repository, resolve

QUERIES = ("ThreadPoolExecutor case:yes", "fmt.Errorf case:yes", r"/func \w+Handler\(/ case:yes")
SYMBOL = "type:symbol select:symbol NewServer"
COMMIT = "type:diff logger"
TIPS = 10
WITHIN_COMMITS = 500
MAX_TIPS_COST = 1.3


def ordered(repositories: tuple[Repository, ...]) -> list[Repository]:
    """The repositories, the one with the smallest object store first."""

    def size(repository: Repository) -> int:
        return sum(file.stat().st_size for file in Path(repository.git_dir, "objects").rglob("*.pack"))

    return sorted(repositories, key=lambda item: (size(item), item.name))


def measure(folder: str, home: str, rounds: int, *, symbols: bool, history: bool) -> dict[str, Any]:
    """Build and search one corpus, in this process."""
    corpus = Corpus(folder, home)
    built = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    statuses = corpus.engine.store.status()
    results: dict[str, Any] = {
        "repositories": len(statuses),
        "files": sum(repository.files for repository in statuses),
        "text": sum(repository.text_bytes for repository in statuses),
        "disk": corpus.engine.store.disk_bytes(),
        "build": corpus.build_cpu_s,
        "wall": corpus.build_wall_s,
        "built": max(built, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024),
        "opened": _anonymous_bytes(),
    }
    # What a process loads for its first search, such as pandas, is no cost of the corpus.
    _query_s(corpus, "zzqqxxyy_absent", 1)
    for query in QUERIES:
        results[query] = _query_s(corpus, query, rounds)
    if symbols:
        targets = [corpus.engine.target_of(repository) for repository in corpus.repositories]
        results["symbols"] = timed(lambda: corpus.engine.store.update_symbols(targets))[0]
        results[SYMBOL] = _query_s(corpus, SYMBOL, rounds)
    if history:
        histories = corpus.engine.history
        results["history"], _, report = timed(lambda: histories.update(corpus.repositories))
        if report.failures:
            sys.exit(f"histories not built: {dict(report.failures)}")
        results["history disk"] = sum(
            file.stat().st_size for file in Path(home, "index-history").rglob("*") if file.is_file()
        )
        results[COMMIT] = _query_s(corpus, COMMIT, rounds)
    results["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return results


def _query_s(corpus: Corpus, query: str, rounds: int) -> tuple[float, float]:
    """CPU seconds of the first run of a query, and of later ones."""

    def search() -> int:
        return len(corpus.client.search(f"{query} count:all", progress=False).matches)

    first = timed(search)[0]
    return first, statistics.median(timed(search)[0] for _ in range(rounds))


def _anonymous_bytes() -> int:
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def measure_process(folder: str, rounds: int, *, symbols: bool, history: bool) -> dict[str, Any]:
    """The same in a process of its own, with an index of its own."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, __file__, "--corpus", folder, "--one", home, "--rounds", str(rounds)]
        command += ["--symbols"] * symbols + ["--history"] * history
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=3600)
    return dict(json.loads(done.stdout))


def tips(repository: Repository) -> tuple[float, float, int, int]:
    """CPU seconds and bytes on disk for HEAD alone, and for ten tips with it."""
    step = WITHIN_COMMITS // TIPS
    commits = [resolve(repository, f"HEAD~{step * number}") for number in range(TIPS)]
    costs = []
    for item in (commits[:1], commits):
        with tempfile.TemporaryDirectory() as folder:
            store = IndexStore(folder)
            seconds = sum(
                timed(lambda commit=commit, store=store: store.update([Target(repository, commit, commit)]))[0]  # type: ignore[misc]
                for commit in item
            )
            costs.append((seconds, store.disk_bytes()))
    return costs[0][0], costs[1][0], costs[0][1], costs[1][1]


def row(times_of: dict[str, Any]) -> list[str]:
    """One size as a row of the table."""
    times = [_first_and_again(times_of[query]) for query in QUERIES]
    if SYMBOL in times_of:
        times += [f"{times_of['symbols']:.1f}", _first_and_again(times_of[SYMBOL])]
    if COMMIT in times_of:
        times += [f"{times_of['history']:.1f}", f"{times_of['history disk'] / 1e6:.0f}"]
        times.append(_first_and_again(times_of[COMMIT]))
    sizes = [
        f"{times_of['text'] / 1e6:.0f}",
        f"{times_of['disk'] / 1e6:.0f}",
        f"{times_of['disk'] / times_of['text']:.2f}",
    ]
    memory = [f"{times_of[name] / 1e6:.0f}" for name in ("built", "opened", "peak")]
    return [
        str(times_of["repositories"]),
        f"{times_of['files']:,}",
        *sizes,
        f"{times_of['build']:.1f} ({times_of['wall']:.1f})",
        *memory,
        *times,
    ]


def _first_and_again(seconds: tuple[float, float]) -> str:
    return " / ".join(f"{value * 1e3:.1f}" for value in seconds)


def head(*, symbols: bool, history: bool) -> list[str]:
    """The head of the table."""
    names = ["repositories", "files", "text MB", "index MB", "index ÷ text", "build CPU s (wall)", "build MB"]
    names += ["open MB", "peak MB", *(f"`{query}` ms, first / again" for query in QUERIES)]
    names += ["definitions CPU s", f"`{SYMBOL}` ms, first / again"] if symbols else []
    return names + (["history CPU s", "history MB", f"`{COMMIT}` ms, first / again"] if history else [])


def grown(repositories: Sequence[Repository], options: argparse.Namespace) -> str:
    """The table over corpora that are made of `repositories`."""
    rows = []
    for size in options.grow.split(","):
        gigabytes, _, count = size.partition(":")
        folder = Path(options.scratch, f"{gigabytes}-{count}")
        folder.mkdir(parents=True, exist_ok=True)
        make_corpus(repositories, folder, round(float(gigabytes) * 1e9), int(count))
        measured = measure_process(str(folder), options.rounds, symbols=options.symbols, history=True)
        rows.append(row(measured))
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    return markdown(head(symbols=options.symbols, history=True), rows, left=0)


def main() -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", required=True, help="folder with git repositories")
    parser.add_argument("--sizes", default="1,10,0", help="how many repositories, with commas between; 0: all")
    parser.add_argument("--grow", default="", help="GB of text, a colon and how many repositories; commas between")
    parser.add_argument("--scratch", default="", help="folder where --grow makes its corpora, and keeps them")
    parser.add_argument("--history", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--tips", default="", help="part of the name of the repository for tips; default: the median")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--symbols", action="store_true", help="find and search definitions too")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        kinds = {"symbols": options.symbols, "history": options.history}
        json.dump(measure(options.corpus, options.one, options.rounds, **kinds), sys.stdout)
        return 0
    if options.grow and not options.scratch:
        parser.error("--grow needs --scratch")
    repositories = ordered(Catalog.open([options.corpus]).repositories)
    if options.grow:
        print(grown(repositories, options))
        print(f"\n{machine()}")
        return 0
    rows = []
    for size in sorted({int(size) or len(repositories) for size in options.sizes.split(",")}):
        with tempfile.TemporaryDirectory() as folder:
            for repository in repositories[:size]:
                location = Path(folder, repository.name)
                location.parent.mkdir(parents=True, exist_ok=True)
                location.symlink_to(os.path.realpath(repository.git_dir))
            rows.append(row(measure_process(folder, options.rounds, symbols=options.symbols, history=False)))
        print(" ".join(rows[-1]), file=sys.stderr)
    print(markdown(head(symbols=options.symbols, history=False), rows, left=0))
    matching = [repository for repository in repositories if options.tips and options.tips in repository.name]
    selected = matching[0] if matching else repositories[len(repositories) // 2]
    one_s, all_s, one_bytes, all_bytes = tips(selected)
    ratio = all_bytes / one_bytes
    print(
        f"\n{TIPS} tips within {WITHIN_COMMITS} commits of {selected.name} ÷ HEAD alone: "
        f"{ratio:.3f} of the bytes (wanted < {MAX_TIPS_COST}), {all_s / one_s:.2f} of the CPU time"
    )
    print(f"\n{machine()}")
    return int(ratio >= MAX_TIPS_COST)


if __name__ == "__main__":
    sys.exit(main())
