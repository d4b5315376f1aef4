"""Surviving lines by year and files that change together, beside git-of-theseus and code-maat, on one repository.

Method. git-of-theseus blames every file of HEAD, code-maat reads a log of git without merges; both run as commands.
CPU is that of all processes, for this package from a clone without an index to the answer, and once more with it.
Binary files have no lines here: what git-of-theseus counts of them alone is subtracted. code-maat knows a file by one
path only and also lists files that are gone: compared are pairs of files that HEAD has and that were never renamed. The
log of git alone then gives both numbers again: code-maat doesn't count commits of more than 30 files at all. hercules
follows lines through all commits instead of blaming HEAD: its lines at the end are counted.

    pip install git-of-theseus code-maat-python      # for this script alone, in an environment of their own
    python benchmarks/evolution.py REPOSITORY --theseus PATH/git-of-theseus-analyze --maat PATH/code-maat
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import resource
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import sourcelight as sl

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
T = TypeVar("T")
_LARGE = 30
"""Files of a commit beyond which both leave it out as a whole-tree change."""
_ROUNDING = 2
"""Percentage points."""


def git(repository: Path, *arguments: str) -> str:
    """What a command of git prints."""
    command = ["git", "-C", str(repository), "-c", "core.quotePath=false", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What work gives, and the CPU seconds of all processes."""

    def cpu() -> float:
        usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(part.ru_utime + part.ru_stime for part in usage)

    started = cpu()
    result = work()
    return result, cpu() - started


def theseus(command: str, repository: Path, branch: str, folder: Path, only: Sequence[str] = ()) -> Counter[int]:
    """Lines of HEAD by the year in which they were committed, by git-of-theseus; `only` names files that count."""
    options = ["--branch", branch, "--all-filetypes", "--interval", "9999999999", "--outdir", str(folder), "--quiet"]
    files = [part for path in only for part in ("--only", path)]
    subprocess.run([command, str(repository), *options, "--procs", "1", *files], check=True, capture_output=True)
    cohorts = json.loads((folder / "cohorts.json").read_text("utf-8"))
    return Counter({int(label[-4:]): counts[-1] for label, counts in zip(cohorts["labels"], cohorts["y"], strict=True)})


def hercules(command: str, repository: Path) -> int:
    """Lines of HEAD whose last change hercules knows: the last line of its burndown, in bands of days."""
    printed = subprocess.run(
        [command, "--burndown", "--quiet", str(repository)], check=True, capture_output=True, text=True
    )
    rows = [line.split() for line in printed.stdout.splitlines() if line[:4] == "    " and line.strip()[:1].isdigit()]
    return sum(map(int, rows[-1]))


def binary_files(repository: Path) -> list[str]:
    """Files of HEAD that git calls binary."""
    numbers = (line.split("\t") for line in git(repository, "diff", "--numstat", EMPTY_TREE, "HEAD").splitlines())
    return [path for added, _, path in numbers if added == "-"]


def maat(command: str, repository: Path, folder: Path) -> dict[tuple[str, str], int]:
    """Pairs of files with the percentage of their commits that they share, by code-maat."""
    log = folder / "git.log"
    log.write_text(git(repository, "log", "--no-merges", "--numstat", "--date=short", "--pretty=format:--%h--%cd--%cn"))
    printed = subprocess.run([command, "coupling", str(log)], check=True, capture_output=True, text=True).stdout
    rows = csv.DictReader(io.StringIO(printed))
    return {
        (min(row["entity"], row["coupled"]), max(row["entity"], row["coupled"])): int(row["degree"]) for row in rows
    }


def by_git(repository: Path, pairs: Sequence[tuple[str, str]], largest: float) -> dict[tuple[str, str], float]:
    """Percentage of commits that files share, from git's log; of each file, those of at most `largest` files."""
    log = git(repository, "log", "--no-merges", "--no-renames", "--name-only", "--format=%x01")
    commits = [set(part.split("\n")[1:]) - {""} for part in log.split("\x01")]
    of: dict[str, set[int]] = {path: set() for pair in pairs for path in pair}
    for number, paths in enumerate(commits):
        for path in paths & of.keys() if len(paths) <= largest else ():
            of[path].add(number)
    small = {number for number, paths in enumerate(commits) if len(paths) <= _LARGE}
    return {
        (left, right): 200 * len(of[left] & of[right] & small) / max(1, len(of[left]) + len(of[right]))
        for left, right in pairs
    }


def main() -> None:
    """Measure, compare and print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--theseus", required=True)
    parser.add_argument("--maat", required=True)
    parser.add_argument("--hercules", help="command of hercules, built from its source")
    options = parser.parse_args()
    repository = options.repository.resolve()
    branch = git(repository, "branch", "--show-current").strip()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def ask(question: Callable[[sl.Client, str], T]) -> T:
            with sl.open(repository, index_dir=folder / "index") as code:
                return question(code, str(code.list_repos()["repository"].iloc[0]))

        survival, first = timed(lambda: ask(lambda code, repo: code.survival(repo, exact=True)))
        _, repeat_s = timed(lambda: ask(lambda code, repo: code.survival(repo, exact=True)))
        expected, peer = timed(lambda: theseus(options.theseus, repository, branch, folder))
        binary = binary_files(repository)
        if binary:
            expected.subtract(theseus(options.theseus, repository, branch, folder, binary))
        lines = {int(year): int(count) for year, count in survival[["year", "surviving_lines"]].values.tolist()}
        differ = sum(abs(lines.get(year, 0) - expected.get(year, 0)) for year in {*lines, *expected})
        print(f"surviving lines by year: {sum(lines.values()):,} lines, {differ:,} in another year", end="; ")
        print(f"CPU {first:.1f} s from nothing, {repeat_s:.1f} s again, git-of-theseus {peer:.1f} s")

        if options.hercules:
            total, peer = timed(lambda: hercules(options.hercules, repository))
            print(f"hercules: {total:,} lines; CPU {peer:.1f} s")

        coupling, used_s = timed(lambda: ask(lambda code, repo: code.coupling([repo])))
        degrees, peer = timed(lambda: maat(options.maat, repository, folder))
        rows = coupling[["path", "other_path", "degree"]].astype({"path": str, "other_path": str}).values.tolist()
        pairs = {(min(left, right), max(left, right)): degree for left, right, degree in rows}
        renames = git(
            repository, "log", "--no-merges", "--diff-filter=R", "-M", "--name-status", "--format="
        ).splitlines()
        renamed = {path for line in renames for path in line.split("\t")[1:]}
        present = set(git(repository, "ls-tree", "-r", "--name-only", "HEAD").splitlines()) - renamed
        compared = [pair for pair in degrees.keys() | pairs.keys() if present.issuperset(pair)]
        # code-maat rounds the mean of their commits to a whole number, up or down.
        equal = [pair for pair in compared if abs(100 * pairs.get(pair, -9) - degrees.get(pair, -9)) <= _ROUNDING]
        print(
            f"pairs that change together: {len(pairs):,}, code-maat {len(degrees):,}; of {len(compared):,} files",
            end=" ",
        )
        print(f"that were never renamed {len(equal):,} equal; CPU {used_s:.1f} s, code-maat {peer:.1f} s")
        everything, small = by_git(repository, compared, float("inf")), by_git(repository, compared, _LARGE)
        ours = sum(abs(100 * pairs[pair] - everything[pair]) <= 0.01 for pair in compared if pair in pairs)
        theirs = sum(abs(degrees[pair] - small[pair]) <= _ROUNDING for pair in compared if pair in degrees)
        existing = [sum(pair in side for pair in compared) for side in (pairs, degrees)]
        print(f"by git's log: {ours:,} of {existing[0]:,} here, with all commits of a file;", end=" ")
        print(f"{theirs:,} of {existing[1]:,} of code-maat, without commits of over {_LARGE} files")
        for pair in compared:
            if pair not in equal:
                print(
                    "  differs", *pair, pairs.get(pair), degrees.get(pair), f"{everything[pair]:.1f} {small[pair]:.1f}"
                )


if __name__ == "__main__":
    main()
