"""Analyses of history, beside what `git diff-tree --numstat` and `git blame` add up to."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime
from itertools import combinations
from random import Random
from typing import Any

from oracles import answers
from oracles.calls import compared
from oracles.epoch import Epoch, Outcome
from oracles.git_history import OPTIONS, LoggedCommit
from oracles.git_reader import Document, bare_git
from oracles.history_meaning import History
from oracles.repositories import Made

Person = tuple[str, str]
_COMMIT = re.compile(rb"[0-9a-f]{40}")
_MAX_BLAMED_BYTES = 20_000  # bytes; blame of longer files takes long


def numstat(repository: Made, history: History) -> dict[str, list[tuple[bytes, int, int]]]:
    """Path, added and removed lines of each change, by commit; merges have none."""
    names = "".join(f"{commit.name}\n" for commit in history.commits if not commit.is_merge)
    options = ("--stdin", "--root", "-r", "-M", "--numstat", "-z", "--diff-algorithm=myers")
    cells = bare_git(repository.folder, *OPTIONS, "diff-tree", *options, stdin=names.encode()).split(b"\0")[:-1]
    rows: dict[str, list[tuple[bytes, int, int]]] = {}
    changes: list[tuple[bytes, int, int]] = []
    position = 0
    while position < len(cells):
        if _COMMIT.fullmatch(cells[position]):
            changes = rows.setdefault(cells[position].decode(), [])
            position += 1
            continue
        added, removed, path = cells[position].split(b"\t", 2)
        position += 1
        if not path:  # a rename: the old and the new name follow
            path = cells[position + 1]
            position += 2
        changes.append((path, int(added.replace(b"-", b"0")), int(removed.replace(b"-", b"0"))))
    return rows


def author(commit: LoggedCommit) -> Person:
    """Author after the mailmap, as shown."""
    name, address = commit.mapped_author
    return name.decode(errors="replace"), address.decode(errors="replace")


def period_start(seconds: int, period: str) -> datetime:
    """Start of a period in UTC."""
    day = datetime.fromtimestamp(seconds, UTC).replace(hour=0, minute=0, second=0)
    month = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1}.get(period, day.month)
    return day if period == "day" else day.replace(month=month, day=1)


def directory(path: str, depth: int) -> str:
    """The first names of a path's folders; with a star for the files of a folder that is less deep."""
    folders = path.split("/")[:-1]
    return "/".join(folders[:depth]) + ("/" if len(folders) >= depth else "/*")


def churn(epoch: Epoch, rng: Random) -> Outcome:
    """Changed lines by place, author and period."""
    repository, history = choose(epoch, rng)
    location, depth = rng.choice(("", "path", "directory", "directory")), rng.choice((1, 1, 2))
    period = rng.choice(("", "", "day", "month", "quarter", "year"))
    by = [name for name in (location, period) if name]
    if not by or rng.random() < 0.4:
        by.append("author")
    if rng.random() < 0.3:
        by.append("repository")
    stats = numstat(repository, history)
    sums: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0])
    commits, people = defaultdict(set), defaultdict(set)
    for commit in history.commits:
        for path, added, removed in stats.get(commit.name, ()):
            displayed = path.decode(errors="replace")
            key: list[Any] = []
            if location:
                key.append(displayed if location == "path" else directory(displayed, depth))
            if period:
                key.append(period_start(commit.commit_time, period))
            if "author" in by:
                key += author(commit)
            if "repository" in by:
                key.append(repository.name)
            count = sums[tuple(key)]
            count[0] += added
            count[1] += removed
            commits[tuple(key)].add(commit.name)
            people[tuple(key)].add(author(commit))
    want = Counter((*key, *both, len(commits[key]), len(people[key])) for key, both in sums.items())
    # Names are told apart as git does it; `benchmarks/figures.py` looks at addresses that are joined.
    requests: dict[str, Any] = {"by": by, "join_addresses": False} | (
        {"depth": depth} if location == "directory" else {}
    )
    frame = epoch.client.churn(repository.name, **requests)
    names = [name for name in (location, "period" if period else "") if name]
    names += ["author", "author_email"] if "author" in by else []
    names += ["repository"] if "repository" in by else []
    names += ["additions", "deletions", "commits", "authors"]
    got = Counter(zip(*(values_of(frame[name]) for name in names), strict=True))
    return compared(f"churn({repository.name!r}, {requests})", want, got)


def hotspots(epoch: Epoch, rng: Random) -> Outcome:
    """Commits, people and lines of files that no commit renamed."""
    repository, history = choose(epoch, rng)
    steady = steady_files(epoch, repository, history)
    stats = numstat(repository, history)
    sums: dict[bytes, list[int]] = defaultdict(lambda: [0, 0])
    commits, people, times = defaultdict(set), defaultdict(set), defaultdict(set)
    for commit in history.commits:
        left = {change.path: change.old_path for change in commit.changes if change.status == "R"}
        for name, added, removed in stats.get(commit.name, ()):
            # A rename is also the last change of the file that had the former name.
            for path in {name, left.get(name, name)}:
                sums[path][0] += added
                sums[path][1] += removed
                commits[path].add(commit.name)
                people[path].add(author(commit))
                times[path].add(commit.commit_time)
    want: Counter[Any] = Counter()
    for path, document in steady.items():
        if commits[path]:
            lines = None if is_binary(document) else line_count(document)
            dates = (datetime.fromtimestamp(pick(times[path]), UTC) for pick in (min, max))
            want[document.display_path, len(commits[path]), len(people[path]), *sums[path], lines, *dates] += 1
    frame = epoch.client.hotspots(repository.name, join_addresses=False)
    names = ("path", "commits", "authors", "additions", "deletions", "lines", "first_date", "last_date")
    displayed = {document.display_path for document in steady.values()}
    rows = list(zip(*(values_of(frame[name]) for name in names), strict=True))
    outcome = compared(f"hotspots({repository.name!r})", want, Counter(row for row in rows if row[0] in displayed))
    if outcome.difference:
        return outcome
    # Of all files, since the score is relative to the highest; it says how a file's own numbers are weighed.
    weights = [row[1] * math.log1p(row[5] or 0) for row in rows]
    maximum = max(weights, default=0.0) or 1.0
    wrong = [row for row, weight, score in zip(rows, weights, frame["score"], strict=True)
             if abs(score - weight / maximum) > 1e-9]  # fmt: skip
    return Outcome(outcome.subject, f"scores of {answers.shorter(wrong)}" if wrong else "", outcome.pairs)


def coupling(epoch: Epoch, rng: Random) -> Outcome:
    """Pairs of files that no commit renamed."""
    repository, history = choose(epoch, rng)
    least, degree, max_files = rng.choice((1, 1, 2)), rng.choice((0.0, 0.3, 0.7)), rng.choice((2, 5, 30))
    steady = steady_files(epoch, repository, history)
    commit_counts: Counter[bytes] = Counter()
    together: Counter[tuple[bytes, bytes]] = Counter()
    for commit in history.commits:
        touched_paths = {change.path for change in commit.changes}
        touched_paths |= {change.old_path for change in commit.changes if change.status == "R"}
        paths = sorted(path for path in touched_paths if path in steady)
        commit_counts.update(paths)
        if len(commit.changes) <= max_files:
            together.update(combinations(paths, 2))
    want: Counter[Any] = Counter()
    for (item, other), count in together.items():
        share = 2 * count / (commit_counts[item] + commit_counts[other])
        if count >= least and share >= degree:
            want[
                steady[item].display_path,
                steady[other].display_path,
                count,
                commit_counts[item],
                commit_counts[other],
                round(share, 9),
            ] += 1
    requests: dict[str, Any] = {"min_commits": least, "min_degree": degree, "max_files": max_files}
    frame = epoch.client.coupling(repository.name, **requests)
    names = ("path", "other_path", "shared_commits", "commits", "other_commits")
    displayed = {document.display_path for document in steady.values()}
    rows = zip(*(values_of(frame[name]) for name in names), frame["degree"].round(9), strict=True)
    got = Counter(row for row in rows if row[0] in displayed and row[1] in displayed)
    return compared(f"coupling({repository.name!r}, {requests})", want, got)


def survival(epoch: Epoch, rng: Random) -> Outcome:
    """Lines of today by the year of their commit, and lines ever added."""
    repository, history = choose(epoch, rng, small=True)
    owned, times = blamed(epoch, repository, history), {commit.name: commit.commit_time for commit in history.commits}
    if owned is None:
        return Outcome("survival of large files")
    alive: Counter[int] = Counter()
    for lines in owned.values():
        for name, count in lines.items():
            alive[datetime.fromtimestamp(times[name], UTC).year] += count
    added: Counter[int] = Counter()
    for name, changes in numstat(repository, history).items():
        added[datetime.fromtimestamp(times[name], UTC).year] += sum(change[1] for change in changes)
    frame = epoch.client.survival(repository.name, exact=True)
    subject = f"survival({repository.name!r}, exact=True)"
    everything = sum(alive.values()) or 1
    got = Counter(zip(frame["year"], frame["added"], frame["surviving_lines"], frame["share"].round(9), strict=True))
    want = Counter((year, added[year], alive[year], round(alive[year] / everything, 9))
                   for year in set(frame["year"]) | {y for y in alive | added if alive[y] or added[y]})  # fmt: skip
    if not frame["exact"].all():  # what it does not call exact is still complete
        return compared(subject, Counter({sum(alive.values()): 1}), Counter({int(frame["surviving_lines"].sum()): 1}))
    return compared(subject, want, got)


def bus_factor(epoch: Epoch, rng: Random) -> Outcome:
    """Fewest authors of more than half of the lines of each folder."""
    repository, history = choose(epoch, rng, small=True)
    depth = rng.choice((1, 1, 2))
    owned, people = blamed(epoch, repository, history), {commit.name: author(commit) for commit in history.commits}
    if owned is None:
        return Outcome("bus_factor of large files")
    folders: dict[str, Counter[Person]] = {"/": Counter()}
    for path, lines in owned.items():
        for name, count in lines.items():
            if "[bot]" not in people[name][0]:
                folders["/"][people[name]] += count
                folders.setdefault(directory(path, depth), Counter())[people[name]] += count
    want: Counter[Any] = Counter()
    for folder, counts in folders.items():
        total, running, factor = sum(counts.values()), 0, 0
        for _, count in counts.most_common():
            running += count
            factor += 1
            if running * 2 > total:
                break
        want[folder, factor, total, len(counts), round(running / total, 9) if total else 0.0] += 1
    frame = epoch.client.bus_factor(repository.name, depth=depth, exact=True, join_addresses=False)
    subject = f"bus_factor({repository.name!r}, depth={depth}, exact=True)"
    exact = set(values_of(frame["path"][frame["exact"]]))
    names = ("path", "bus_factor", "lines", "authors")
    got = Counter(zip(*(values_of(frame[name]) for name in names), frame["share"].round(9), strict=True))
    paths = Counter(row[0] for row in want), Counter(row[0] for row in got)
    outcome = compared(subject, *paths)
    if outcome.difference:
        return outcome
    return compared(subject, *(Counter(row for row in rows if row[0] in exact) for rows in (want, got)))


def choose(epoch: Epoch, rng: Random, *, small: bool = False) -> tuple[Made, History]:
    """A repository, and the history of its default branch."""
    result = {item.name: item for item in epoch.fleet.repositories}
    histories = [item for item in epoch.histories.histories if not item.revision]
    # The oldest commits of a shallow clone have lines that are exact for nobody.
    retained = [item for item in histories if not (small and result[item.repository].shape.clone == "shallow")]
    history = rng.choice(retained)
    return result[history.repository], history


def steady_files(epoch: Epoch, repository: Made, history: History) -> dict[bytes, Document]:
    """Files of HEAD by path that no commit gave another name, and that are told apart when shown."""
    documents = next(c.documents for c in epoch.reader.commits if c.repository == repository.name and not c.revision)
    renamed = {change.path for commit in history.commits for change in commit.changes if change.status == "R"}
    displayed = Counter(document.display_path for document in documents)
    displayed.update({path.decode(errors="replace") for path in renamed})
    return {item.path: item for item in documents if item.path not in renamed and displayed[item.display_path] == 1}


def blamed(epoch: Epoch, repository: Made, history: History) -> dict[str, Counter[str]] | None:
    """Lines of each file of HEAD by commit, as `git blame` gives them; None where a file is large."""
    documents = next(c.documents for c in epoch.reader.commits if c.repository == repository.name and not c.revision)
    texts = [item for item in documents if not is_binary(item)]
    if any(len(item.data) > _MAX_BLAMED_BYTES for item in texts):
        return None
    blame_counts = epoch.blames.setdefault(f"{repository.name}@{history.commits[0].name}", {})
    if not blame_counts:
        for document in texts:
            count = blame_counts.setdefault(document.display_path, Counter())
            if document.data:
                out = bare_git(repository.folder, "blame", "--porcelain", "HEAD", "--", document.path)
                # Of each line, the header begins with its commit; only where a group begins has it a fourth field.
                count.update(line_commits(out))
    return blame_counts


def line_commits(porcelain: bytes) -> list[str]:
    """The commit of each line of a blame."""
    header = re.compile(rb"^([0-9a-f]{40}) \d+ \d+(?: \d+)?\n(?:[^\t\n][^\n]*\n)*\t", re.MULTILINE)
    return [item[1].decode() for item in header.finditer(porcelain)]


def is_binary(document: Document) -> bool:
    """Whether git takes a file for binary."""
    return b"\0" in document.data[:8000]


def line_count(document: Document) -> int:
    """Lines, the last one with or without its newline."""
    return document.data.count(b"\n") + (bool(document.data) and not document.data.endswith(b"\n"))


def values_of(column: Any) -> list[Any]:
    """Cells without the types of pandas; None for what is missing."""
    cells = column.astype(object).where(column.notna(), None)
    return [cell.to_pydatetime() if hasattr(cell, "to_pydatetime") else cell for cell in cells]


KINDS = (churn, hotspots, coupling, survival, bus_factor)


def analyses(epoch: Epoch, rng: Random) -> Outcome:
    """One analysis that chance chooses."""
    return rng.choice(KINDS)(epoch, rng)
