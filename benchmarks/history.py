"""The history engine against git and PyDriller, and against its own goals, on real histories.

Run: ``python benchmarks/history.py REPOSITORY… [--rounds N] [--store FOLDER] [--common TEXT --rare TEXT]
[--compare BASE..HEAD …]``, where each REPOSITORY is a git directory with its whole history (10,000 commits or more tell
something), and each BASE..HEAD two revisions of the repository at the same place. Each question goes to git
and to us in turns, ours up to a DataFrame; ratios are medians over the rounds of CPU time of all processes, building is
wall time, since it uses all cores. It exits with 1 if a goal is missed or a set of commits is not git's.
"""

from __future__ import annotations

import argparse
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches import CommitId
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.display.frames.tables import to_pandas
from sourcelight.engines.history import History, LocalHistoryStore
from sourcelight.engines.history.blame import blame_file, line_ownership
from sourcelight.engines.history.blame import ownership as replays
from sourcelight.engines.history.compare import comparison as comparisons
from sourcelight.engines.history.compare.comparison import compare
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.find import find_commits, find_diffs
from sourcelight.engines.history.search.query import (
    AnyPattern,
    ChangedFileFilter,
    CommitFilter,
    CommitQuery,
    DiffQuery,
    PatternTerm,
)
from sourcelight.engines.tools.history.diffs.file_diffs import diff_table
from sourcelight.repos import Catalog, Repository, resolve

COMMIT_COLUMNS = [column for column in COLUMNS["commits"] if column.name not in {"co_authors", "bot", "url"}]
ALL_ROWS = 1 << 40
NEW_COMMITS = 10
PAGE = 50
OURS_AT_ONCE = 15
"""Ours is asked so often in a row and the median is taken: it takes milliseconds, and others use the machine."""

_UPDATE = """
import sys
from sourcelight.engines.history import LocalHistoryStore
from sourcelight.repos import Catalog
LocalHistoryStore(sys.argv[1]).update(Catalog.open([sys.argv[2]]).repositories, refs=sys.argv[3:])
"""

_PYDRILLER = """
import sys
from pydriller import Repository
for at, commit in enumerate(Repository(sys.argv[1], order="reverse").traverse_commits()):
    if at == int(sys.argv[2]):
        break
    for file in commit.modified_files:
        file.diff_parsed
"""


def cpu_s() -> float:
    """CPU seconds of this process and of its children that ended."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in usage)


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """CPU and wall seconds of `work`, and what it gave."""
    cpu, wall = cpu_s(), time.perf_counter()
    result = work()
    return cpu_s() - cpu, time.perf_counter() - wall, result


def literal(text: str) -> CompiledPattern:
    """A plain text."""
    return compile_pattern(text, kind="literal", case_sensitive=True)


def regexp(text: str, *, whole_text: bool = False) -> CompiledPattern:
    """A regular expression."""
    return compile_pattern(text, kind="regexp", case_sensitive=True, whole_text=whole_text)


@dataclass(frozen=True, slots=True)
class Question:
    """One question: ours gives commits (or a count) and a frame, git's lines are read by `read`."""

    name: str
    kind: str
    ours: Callable[[History], tuple[Any, Any]]
    git: Sequence[str]
    read: Callable[[bytes], Any] = lambda raw: set(raw.decode().split())


@dataclass(slots=True)
class Results:
    """Rows of the table, ratios by kind of goal, and what went wrong."""

    rows: list[str] = field(default_factory=list)
    ratios: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


def commit_frame(history: History, commits: Any) -> Any:
    """Commits as a DataFrame."""
    table = pa.Table.from_batches(list(tables.commit_batches(history, commits, rows=ALL_ROWS)))
    return to_pandas(table.unify_dictionaries(), COMMIT_COLUMNS)


def of_commits(query: CommitQuery) -> Callable[[History], tuple[Any, Any]]:
    """Ask for commits, as a frame."""

    def ask(history: History) -> tuple[Any, Any]:
        result = find_commits(history, query)
        return result, commit_frame(history, result)

    return ask


def of_counts(pattern: CompiledPattern, commits: CommitFilter) -> Callable[[History], tuple[Any, Any]]:
    """Ask where a text came or went (``-S``), as a frame of commits."""

    def ask(history: History) -> tuple[Any, Any]:
        result = find_diffs(history, DiffQuery(commits=commits, tree=PatternTerm(pattern), changes="count")).commits
        return result, commit_frame(history, result)

    return ask


def of_lines(pattern: CompiledPattern, commits: CommitFilter) -> Callable[[History], tuple[Any, Any]]:
    """Ask for added lines, as a frame."""

    def ask(history: History) -> tuple[Any, Any]:
        matches = find_diffs(history, DiffQuery(commits=commits, tree=PatternTerm(pattern), sides=("added",)))
        table = pa.Table.from_batches(list(tables.line_batches(history, matches, rows=ALL_ROWS)))
        return len(matches.rows), to_pandas(table.unify_dictionaries(), COLUMNS["diff_lines"])

    return ask


def contributors(history: History) -> tuple[Any, Any]:
    """Commits by person."""
    import pandas as pd

    people = history.identities
    counts = np.bincount(people.person[history.commits.author], minlength=len(people.person_names))
    frame = pd.DataFrame({"author": people.person_names, "author_email": people.person_emails, "commits": counts})
    frame = frame[frame["commits"] > 0].sort_values("commits", ascending=False)
    return sorted(frame["commits"].tolist()), frame


def churn(history: History) -> tuple[Any, Any]:
    """Lines by top directory."""
    import pandas as pd

    tops = history.remember("tops", lambda: [path.split(b"/")[0] if b"/" in path else b"" for path in history.paths])
    codes, names = pd.factorize(np.array(tops, object))
    of_change = codes[history.changes.path]
    sums = [np.bincount(of_change, np.maximum(c, 0)) for c in (history.changes.additions, history.changes.deletions)]
    frame = pd.DataFrame({"directory": names, "additions": sums[0], "deletions": sums[1]})
    return (int(sums[0].sum()), int(sums[1].sum())), frame


def numstat_sums(raw: bytes) -> tuple[int, int]:
    """Sum git's counts of lines."""
    pairs = re.findall(rb"(?m)^(\d+)\t(\d+)\t", raw)
    return sum(int(a) for a, _ in pairs), sum(int(d) for _, d in pairs)


def shortlog_counts(raw: bytes) -> list[int]:
    """Commits of each person."""
    return sorted(int(line.split(b"\t")[0]) for line in raw.splitlines())


def added_lines(pattern: str) -> Callable[[bytes], int]:
    """Make a reader that counts the added lines that match."""
    matcher = re.compile(pattern.encode())

    def count(raw: bytes) -> int:
        count, inside = 0, False
        for line in raw.split(b"\n"):
            if line.startswith(b"diff --git"):
                inside = False
            elif line.startswith(b"@@"):
                inside = True
            elif inside and line.startswith(b"+") and matcher.search(line, 1):
                count += 1
        return count

    return count


def questions(head: str, common: str, rare: str, folder: str) -> list[Question]:
    """Everything that is asked of one history."""
    everything = CommitFilter(revisions=(head,))
    year = 1_577_836_800
    window = CommitFilter(revisions=(head,), after=year - 1, before=year + 366 * 86400 + 1)
    stem = common[: max(3, len(common) - 3)]
    word = rf"{stem}[a-z_]+\("
    filters = [
        ("message", CommitFilter(revisions=(head,), messages=(AnyPattern((literal("fix"),)),)), ["-F", "--grep=fix"]),
        ("author", CommitFilter(revisions=(head,), authors=(AnyPattern((regexp("^[A-D].*@g"),)),), whole_person=True),
         ["-E", "--author=^[A-D].*@g"]),
        ("dates", window, [f"--since-as-filter={year}", f"--until={year + 366 * 86400}"]),
    ]  # fmt: skip
    path = ChangedFileFilter((AnyPattern((regexp(f"^{re.escape(folder)}/", whole_text=True),)),))
    log_arguments = ["log", "--format=%H"]
    results = [
        Question(name, "filter", of_commits(CommitQuery(commits=c)), [*log_arguments, *a]) for name, c, a in filters
    ]
    results.append(
        Question("path prefix", "filter", of_commits(CommitQuery(everything, files=path)),
                 [*log_arguments, "--full-history", "--no-merges", "HEAD", "--", f"{folder}/"])
    )  # fmt: skip
    for name, text in (("common", common), ("rare", rare)):
        changed = CommitQuery(everything, changed=(AnyPattern((literal(text),)),))
        results.append(Question(f"-G {name}", "search", of_commits(changed), [*log_arguments, f"-G{re.escape(text)}"]))
        results.append(
            Question(f"-S {name}", "search", of_counts(literal(text), everything), [*log_arguments, f"-S{text}"])
        )
    pattern = CommitQuery(everything, changed=(AnyPattern((regexp(word),)),))
    results.append(Question("-G regexp", "search", of_commits(pattern), [*log_arguments, "-E", f"-G{word}"]))
    patches = ["log", "-p", "-U1", "-M", "--format=%x01%H"]
    results.append(Question("added lines", "search", of_lines(regexp(word), everything), patches, added_lines(word)))
    results.append(Question("contributors", "shortlog", contributors, ["shortlog", "-sne", "HEAD"], shortlog_counts))
    numstat = ["log", "--numstat", "-M", "--format="]
    results.append(Question("churn by directory", "churn", churn, numstat, numstat_sums))
    return results


def git(repository: Repository, arguments: Sequence[str], *, add_head: bool = True) -> bytes:
    """What git says; `whole`: of HEAD where nothing else is named."""
    argv = ["git", "--git-dir", repository.git_dir, "-c", "mailmap.blob=HEAD:.mailmap", "-c", "diff.renameLimit=1000"]
    argv += [*arguments] if "HEAD" in arguments or not add_head else [*arguments, "HEAD"]
    return subprocess.run(argv, capture_output=True, check=True).stdout


def ask(history: History, repository: Repository, question: Question, rounds: int, results: Results) -> None:
    """Ask both, compare, and note the ratio."""
    question.ours(history)
    ratios, ours_s, git_s = [], [], []
    for _ in range(rounds):
        raw_cpu, _, raw = timed(partial(git, repository, question.git))
        # git's own work alone for what git answers; reading its patches is part of the peer where nothing else does it.
        read_cpu, _, theirs = timed(partial(question.read, raw))
        requests = [timed(partial(question.ours, history)) for _ in range(OURS_AT_ONCE)]
        cpu = statistics.median(spent for spent, _, _ in requests)
        peer = raw_cpu + (read_cpu if "churn" in question.kind or question.name == "added lines" else 0)
        ours_s.append(cpu)
        git_s.append(peer)
        ratios.append(peer / max(cpu, 1e-5))
        mine, frame = requests[0][2]
    answer = {history.oid(int(c)) for c in mine} if isinstance(theirs, set) else mine
    equal = answer == theirs
    if question.name.startswith("-S") and not equal and isinstance(theirs, set):
        binary = {history.oid(int(c)) for c in np.unique(history.changes.commit[history.changes.binary])}
        equal = answer - binary == theirs - binary
    ratio = statistics.median(ratios)
    results.ratios.setdefault(question.kind, []).append(ratio)
    if not equal:
        results.errors.append(f"{repository.name}: {question.name}: not git's answer")
    results.rows.append(
        f"| {repository.name} | {question.name} | {statistics.median(ours_s) * 1000:.1f} | "
        f"{statistics.median(git_s) * 1000:,.0f} | {ratio:,.0f} | {len(frame):,} | "
        f"{'equal' if equal else 'NOT EQUAL'} |"
    )
    print(results.rows[-1], flush=True)


def build(repository: Repository, common: str, folder: Path, results: Results, sample: int) -> None:
    """Time the build, beside one ``log -G`` and PyDriller over some commits."""
    store = LocalHistoryStore(folder)
    cpu, wall, report = timed(lambda: store.update([repository]))
    if report.failures:
        sys.exit(str(report.failures))
    log_cpu, log_wall, _ = timed(lambda: git(repository, ["log", "--format=%H", f"-G{re.escape(common)}"]))
    commits = len(store.open(repository).commits)
    driller, _, _ = timed(
        lambda: subprocess.run([sys.executable, "-c", _PYDRILLER, repository.git_dir, str(sample)], check=True)
    )
    faster = driller / sample / (cpu / commits)
    pack = sum(path.stat().st_size for path in Path(repository.git_dir).glob("objects/pack/*.pack"))
    disk = store.disk_bytes(repository)
    new_s = updated(repository, store)
    # The builder's workers are children of this process, so its peak is that of the largest of them.
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    print(
        f"{repository.name}: {commits:,} commits; build {wall:.1f} s ({cpu:.1f} CPU-s), one log -G {log_wall:.1f} s "
        f"({log_cpu:.1f}): {wall / log_wall:.2f}; PyDriller {driller / sample * 1000:.1f} ms CPU a commit, ours "
        f"{cpu / commits * 1000:.2f}: {faster:.1f}; index {disk / 1e6:.0f} MB of {pack / 1e6:.0f} MB of packs: "
        f"{disk / pack:.2f}; {NEW_COMMITS} new commits {new_s:.2f} CPU-s; most memory of a process {peak:.0f} MB",
        flush=True,
    )
    results.ratios.setdefault("build", []).append(wall / log_wall)
    results.ratios.setdefault("pydriller", []).append(faster)
    results.ratios.setdefault("disk", []).append(disk / pack)
    results.ratios.setdefault("update", []).append(new_s)


def updated(repository: Repository, store: LocalHistoryStore) -> float:
    """CPU seconds of a process that brings in about ten new commits, start of Python and imports included."""
    listing = git(repository, ["rev-list", "--topo-order", f"--max-count={NEW_COMMITS + 1}", "HEAD"]).decode().split()
    with tempfile.TemporaryDirectory() as folder:
        previous_store = LocalHistoryStore(folder)
        base = listing[-1]
        previous_store.update([repository], refs=[base])
        cpu, _, _ = timed(
            lambda: subprocess.run([sys.executable, "-c", _UPDATE, folder, repository.git_dir, "HEAD"], check=True)
        )
        added = len(previous_store.open(repository).commits) - len(store.open(repository).commits)
        if added:
            sys.exit(f"{repository.name}: an update gave another history than a build")
    return cpu


def compared(history: History, repository: Repository, revisions: str, rounds: int, results: Results) -> None:
    """Time the first 50 files of a comparison beside ``git diff``."""
    base, head = (resolve(repository, name) for name in revisions.split(".."))

    def ours() -> Any:
        comparisons._comparison_cache = type(comparisons._comparison_cache)(comparisons._MAX_CACHED_BYTES)  # noqa: SLF001 - ask as for the first time
        result = compare(repository, base, head, history=history)
        diffs = result.page(0, PAGE)
        return len(result.changes), to_pandas(diff_table(result, diffs, [False] * len(diffs)), COLUMNS["file_diffs"])

    ours()
    ratios, ours_s, git_s = [], [], []
    for _ in range(rounds + 2):
        peer, _, _ = timed(partial(git, repository, ["diff", "-M", base, head, "--"], add_head=False))
        cpu, _, (files, frame) = timed(ours)
        ratios.append(peer / cpu)
        ours_s.append(cpu)
        git_s.append(peer)
    results.ratios.setdefault("compare", []).append(statistics.median(ratios))
    print(
        f"| {repository.name} | first {len(frame)} of {files:,} files, {revisions} | "
        f"{statistics.median(ours_s) * 1000:.0f} | {statistics.median(git_s) * 1000:.0f} | "
        f"{statistics.median(ratios):.1f} |",
        flush=True,
    )


def owned(store: LocalHistoryStore, repository: Repository, sample: int, results: Results) -> None:
    """Time the replay of all files, whole and after ten commits, beside ``git blame`` of some, and compare lines."""
    history = store.open(repository)
    head = CommitId(history.tips["HEAD"])
    previous = git(repository, ["rev-list", "--first-parent", "--max-count=1", f"--skip={NEW_COMMITS}", "HEAD"])
    folder = store.folder / repository.key
    for cache_file in folder.glob("own-*"):
        cache_file.unlink()
    replays._cache.clear()  # noqa: SLF001 - replay as for the first time
    whole_s, _, _ = timed(lambda: line_ownership(history, repository, CommitId(previous.decode().strip())))
    later_s, _, ownership = timed(lambda: line_ownership(history, repository, head))
    names = sorted(path for path in ownership.files if len(ownership.files[path].lines))
    selected = names[len(names) // sample // 2 :: max(1, len(names) // sample)]
    lines = sum(len(ownership.files[path].lines) for path in selected)
    peer_s, _, blames = timed(
        lambda: {path: blame_file(repository, head, path, len(ownership.files[path].lines)) for path in selected}
    )
    equal = sum(
        blame.commits[position].oid == history.oid(int(line))
        for path, blame in blames.items()
        for position, line in zip(blame.commit, ownership.files[path].lines, strict=True)
    )
    every = sum(len(file.lines) for file in ownership.files.values())
    ratio = peer_s / lines * every / whole_s
    results.ratios.setdefault("ownership", []).append(ratio)
    print(
        f"{repository.name}: ownership of {len(ownership.files):,} files and {every:,} lines {whole_s:.2f} CPU-s, "
        f"{later_s:.2f} after {NEW_COMMITS} more first-parent commits; git blame of {len(selected)} files and "
        f"{lines:,} lines {peer_s:.2f}, so {peer_s / lines * every:.0f} for all: {ratio:.1f}; "
        f"{equal / lines:.2%} of these lines equal, {len(ownership.inexact)} files not proven",
        flush=True,
    )


def verdict(results: Results) -> int:
    """Print what goals say of the ratios; 1 if one is missed."""
    goals = [
        ("search", 150.0, 400.0), ("filter", 5.0, 10.0), ("shortlog", 30.0, 30.0), ("churn", 200.0, 200.0),
        ("pydriller", 8.0, 8.0), ("compare", 2.0, 2.0), ("ownership", 15.0, 15.0),
    ]  # fmt: skip
    missed = list(results.errors)
    for kind, item, median in goals:
        result = results.ratios.get(kind, [])
        if not result:
            continue
        print(f"{kind}: least {min(result):,.1f} (goal {item:g}), median {statistics.median(result):,.1f} ({median:g})")
        if min(result) < item or statistics.median(result) < median:
            missed.append(kind)
    for kind, maximum in (("build", 2.0), ("disk", 1.0), ("update", 0.6)):
        result = results.ratios.get(kind, [])
        if result:
            print(f"{kind}: most {max(result):.2f} (goal {maximum:g})")
            missed += [kind] if max(result) > maximum else []
    print(f"missed: {', '.join(missed) or 'nothing'}")
    return 1 if missed else 0


def main() -> int:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--store", help="keep histories here, and don't measure building")
    parser.add_argument("--common", default="return", help="a text that many changed lines hold")
    parser.add_argument("--rare", default="backoff", help="a text that few hold")
    parser.add_argument("--compare", nargs="*", default=[], help="BASE..HEAD for each repository")
    parser.add_argument("--blamed", type=int, default=30, help="files that git blame is asked about")
    parser.add_argument("--sample", type=int, default=150, help="commits that PyDriller reads")
    options = parser.parse_args()
    results = Results()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.store or temporary)
        for index, path in enumerate(options.repositories):
            repository = Catalog.open([path]).repositories[0]
            if options.store is None:
                build(repository, options.common, folder, results, options.sample)
            store = LocalHistoryStore(folder)
            store.update([repository])
            history = store.open(repository)
            tops = [path.split(b"/")[0] for path in history.paths if b"/" in path]
            top = max(sorted(set(tops)), key=tops.count).decode("utf-8", "replace")
            for question in questions(history.tips["HEAD"], options.common, options.rare, top):
                ask(history, repository, question, options.rounds, results)
            if index < len(options.compare):
                compared(history, repository, options.compare[index], options.rounds, results)
            owned(store, repository, options.blamed, results)
    return verdict(results)


if __name__ == "__main__":
    sys.exit(main())
