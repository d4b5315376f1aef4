"""The commits of files and definitions, beside ``git log --follow`` and ``git log -L``, in one run.

Run: ``python benchmarks/story.py REPOSITORY… [--files N] [--functions N]``. A seed draws source files and functions of
the newest commit. For each it prints how many have exactly git's commits, each that differs with the number of commits
that only one side has, and the seconds of CPU, without the first question, which reads the history.

``git log --follow`` also follows copies, and matches empty files with each other: it prints where. By date, it changes
to the earlier name for all branches at once: commits only here must be on a line of history beside the rename. Files
that neither explains are printed. ``git log -L`` follows lines, stops where they came from another file, and counts a
change of the lines around that it takes for the function's.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import sourcelight as sl

_SEED = 20261128
_EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def by_git(repository: Path, *arguments: str) -> tuple[list[str], float]:
    """The lines that git prints, and its seconds of CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout.decode("utf-8", "replace").split(), seconds


def print_result(kind: str, rows: Iterable[tuple[str, set[str], set[str]]], ours_s: float, git_s: float) -> None:
    """Print what is equal, and each row that differs."""
    pairs = list(rows)
    if not pairs:
        return
    differing = [(name, ours, theirs) for name, ours, theirs in pairs if ours != theirs]
    print(f"{kind}: {len(pairs) - len(differing)} of {len(pairs)} equal; CPU s {ours_s:.2f}, git {git_s:.2f}")
    for name, ours, theirs in differing:
        print(f"  {name}: {len(ours - theirs)} only here, {len(theirs - ours)} only by git, {len(ours & theirs)} both")


def is_copied(repository: Path, path: str) -> bool:
    """Whether git follows the file to one that it takes for its original, or to another empty one."""
    words, _ = by_git(repository, "log", "--follow", "--format=", "--raw", "--abbrev=40", "--", path)
    return any(
        re.fullmatch(r"C\d+", status) or (re.fullmatch(r"R\d+", status) and blob == _EMPTY)
        for blob, status in pairwise(words)
    )


def is_beside(repository: Path, commit: str, renames: Iterable[str]) -> bool:
    """Whether a commit is neither behind one of the renames nor after it."""
    return any(
        not any(
            subprocess.run(["git", "-C", str(repository), "merge-base", "--is-ancestor", *pair], check=False).returncode
            == 0
            for pair in ((commit, rename), (rename, commit))
        )
        for rename in renames
    )


def compare(code: sl.Client, repository: Path, request: argparse.Namespace) -> None:
    """Print the files and functions of one repository."""
    generator = random.Random(request.seed)  # noqa: S311 - no secret
    name = str(code.list_repos()["repository"].iloc[0])
    names, _ = by_git(repository, "ls-tree", "-r", "--name-only", "HEAD")
    paths = [path for path in names if path.endswith((".py", ".go", ".ts", ".java", ".c", ".h", ".js"))]
    sample = generator.sample(paths, min(request.files, len(paths)))
    functions = code.complexity(name, progress=False)
    code.path_history(name, sample[0], progress=False)  # reads the history
    hotspots = code.hotspots(name, limit=None, progress=False)
    counts = dict(zip(hotspots["path"], hotspots["commits"], strict=True))
    explained: Counter[str] = Counter()
    rows, ours_s, git_s, different_counts = [], 0.0, 0.0, 0
    for path in sample:
        began = time.process_time()
        story = code.path_history(name, path, progress=False)
        commits = set(story["commit"].astype("str"))
        ours_s += time.process_time() - began
        different_counts += len(commits) != counts.get(path, 0)
        log, seconds = by_git(repository, "log", "--follow", "--format=%H", "--", path)
        git_s += seconds
        if commits == set(log):
            explained["equal"] += 1
        elif is_copied(repository, path):
            explained["a copy"] += 1
        elif not set(log) - commits and all(
            is_beside(repository, commit, story.loc[story["status"] == "renamed", "commit"].astype("str"))
            for commit in commits - set(log)
        ):
            explained["branches beside a rename"] += 1
        else:
            rows.append((path, commits, set(log)))
    print(f"\n{repository}")
    print("files:", *(f"{count} {reason}" for reason, count in explained.items()), sep="  ")
    print(f"files with another number of commits in hotspots: {different_counts}")
    print_result("other files, git log --follow", rows, ours_s, git_s)
    rows, ours_s, git_s = [], 0.0, 0.0
    function_sample = functions.sample(min(request.functions, len(functions)), random_state=request.seed)
    for row in function_sample.to_dict("records"):
        path, symbol = str(row["path"]), str(row["symbol"])
        began = time.process_time()
        try:
            commits = set(code.symbol_history(name, symbol, path, progress=False)["commit"].astype("str"))
        except sl.SourcelightError as error:
            print(f"  {path} {symbol}: {error}")
            continue
        ours_s += time.process_time() - began
        span = f"{row['line_number']},{row['end_line']}:{path}"
        log, seconds = by_git(repository, "log", "-s", "--format=%H", "-L", span)
        git_s += seconds
        rows.append((f"{path} {symbol}", commits, set(log)))
    print_result("functions, git log -L", rows, ours_s, git_s)


def main() -> int:
    """Entry point."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("repositories", type=Path, nargs="+", metavar="REPOSITORY")
    arguments.add_argument("--files", type=int, default=20)
    arguments.add_argument("--functions", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=_SEED)
    request = arguments.parse_args()
    for repository in request.repositories:
        with (
            tempfile.TemporaryDirectory() as index,
            sl.open(repository, index_dir=index, background_index=False) as code,
        ):
            compare(code, repository, request)
    return 0


if __name__ == "__main__":
    sys.exit(main())
