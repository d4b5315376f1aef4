"""Counts of changed files and lines, and the commits that removed or renamed files."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sourcelight.core.errors import RepositoryError
from sourcelight.core.markup import code
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.facts.commits import author_expression, conditions, dates_of, revisions_of
from sourcelight.engines.deepsearch.facts.model import Fact, Rows, Work, format_call, limiting_notices
from sourcelight.engines.deepsearch.facts.paths import PathNames, is_of_files
from sourcelight.engines.deepsearch.facts.searches import noun_for
from sourcelight.engines.history.model import RENAMED
from sourcelight.engines.tools.history import histories


def count_changed_files(work: Work) -> Fact:
    """Count files that commits changed."""
    request = work.request
    if request.base and not request.authors and not request.period.text:
        return _compare(work)

    fact, rows = _churn(work, "files", "path")

    # Rows are per author: a file that two people changed counts once.
    per: Counter[tuple[str, str]] = Counter()
    for row in rows:
        per[row["repository"], row["path"]] += row["commits"]

    fact.number = len(per)
    fact.subject = (
        f"{noun_for('file', len(per))} {'were' if len(per) != 1 else 'was'} changed by commits{conditions(work)}"
    )
    fact.rule = (
        "A file counts under each name that a commit gave it, and removed files count, too. Merges have no changes "
        "of their own."
    )
    table = Rows("Files", ("repository", "path", "commits"))
    for (repository, path), number in sorted(per.items(), key=lambda item: (-item[1], item[0])):
        table.add((repository, path, number))

    fact.tables = [table]
    fact.repositories = Counter(name for name, _ in per)
    if request.kind == "repositories":
        fact.number, fact.unit = len(fact.repositories), "repositories"
        fact.subject = (
            f"{noun_for('repository', fact.number)} {'have' if fact.number != 1 else 'has'} commits{conditions(work)}"
        )

    return fact


def count_changed_folders(work: Work) -> Fact:
    """Count directories in which commits changed files: those at the top, or in the directory that is named."""
    request = work.request
    fact, rows = _churn(work, "folders", "commit", "path")

    # Below one directory, its subdirectories; several directories have no common depth.
    path_parts = [path.glob.strip("/*").split("/") for path in request.paths if not path.is_file]
    depth = len(path_parts[0]) + 1 if len(path_parts) == 1 else 1

    # Sets, because a commit has a row for each file that it changed in a directory.
    commits: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        folders = row["path"].split("/")[:-1]
        name = "/".join(folders[:depth]) + "/" if len(folders) >= depth else "/".join([*folders, "*"])
        commits[row["repository"], name].add(row["commit"])

    fact.number = len(commits)
    fact.subject = (
        f"{noun_for('folder', len(commits))} {'were' if len(commits) != 1 else 'was'} changed by "
        f"commits{conditions(work)}"
    )
    level = f"in `{'/'.join(path_parts[0])}`" if depth > 1 else "at the top"
    fact.rule = (
        f"Counts folders {level}, each with everything below it; `*` stands for the files beside them. A commit "
        "counts once in each folder that it changed. A renamed file counts in the folder of its new name. Merges have "
        "no changes of their own."
    )
    table = Rows("Folders", ("repository", "folder", "commits"))
    for (repository, name), oids in sorted(commits.items(), key=lambda item: (-len(item[1]), item[0])):
        table.add((repository, name, len(oids)))

    fact.tables = [table]
    fact.repositories = Counter(name for name, _ in commits)
    return fact


def _churn(work: Work, unit: str, *columns: str) -> tuple[Fact, list[dict[str, Any]]]:
    """Return a fact in a unit, still without a number, and the requested rows of ``churn`` by columns and author."""
    arguments: dict[str, Any] = {
        "repos": work.names,
        "by": ["repository", *columns, "author"],
        **dates_of(work),
        **revisions_of(work),
        # A name is searched for as each commit has it, not as the address's most frequent one.
        **({"joinAddresses": False} if work.request.authors else {}),
    }
    fact = Fact(0, "", format_call("churn", arguments), unit=unit)
    answer = work.call("churn", arguments)
    fact.notes += limiting_notices(answer)
    return fact, _keep_requested(work, answer.table.to_pylist(), fact)


def _keep_requested(work: Work, rows: list[dict[str, Any]], fact: Fact) -> list[dict[str, Any]]:
    """Filter the rows of ``churn`` by authors, paths, languages and tests, which the call has no arguments for."""
    request = work.request
    people = [re.compile(author_expression(name)) for name in request.authors]
    passing = []
    for row in rows:
        # Name and address, which `git log --author` matches, too.
        who = f"{row['author']} <{row['author_email']}>"
        passes = not people or any(name.search(who) for name in people)
        if passes and is_of_files(request, row["path"] or ""):
            passing.append(row)

    if people or request.narrows_files:
        fact.sentences.append("Only rows of the requested files and authors count.")

    return passing


def _compare(work: Work) -> Fact:
    """Count the files that differ between two revisions."""
    request = work.request
    fact = Fact(0, "", "", unit="files")
    table = Rows("Files", ("repository", "path", "status"))
    queries = []
    for name in work.names:
        arguments = {"repo": name, "base": request.base, "head": request.head or work.revision or "HEAD"}
        try:
            answer = work.call("compare_revisions", arguments)
        except RepositoryError as exc:
            fact.notes.append(f"{name}: {exc}")
            continue

        queries.append(format_call("compare_revisions", arguments))
        fact.notes += limiting_notices(answer)
        for row in answer.table.to_pylist():
            if is_of_files(request, row["path"]):
                table.add((name, row["path"], row["status"]))
                fact.repositories[name] += 1

    if request.narrows_files:
        fact.sentences.append("Only rows of the requested files count.")

    fact.query = "  +  ".join(queries)
    fact.number = table.total
    fact.subject = (
        f"{noun_for('file', table.total)} {'differ' if table.total != 1 else 'differs'} "
        f"between {code(request.base)} and {code(request.head or work.revision or 'HEAD')}"
    )
    fact.rule = "A renamed file counts once, as in `git diff -M --name-only`."
    fact.tables = [table]
    return fact


def count_changed_lines(work: Work) -> Fact:
    """Count lines that commits added and removed."""
    request = work.request
    fact, rows = _churn(work, "lines", "path")
    added, removed = (sum(row[name] for row in rows) for name in ("additions", "deletions"))
    sides = {"added": ("additions",), "removed": ("deletions",)}.get(request.side, ("additions", "deletions"))
    fact.number = sum(row[name] for row in rows for name in sides)
    verb = {"added": "added", "removed": "removed"}.get(request.side, "added or removed")
    fact.subject = (
        f"{noun_for('line', fact.number)} {'were' if fact.number != 1 else 'was'} {verb} by commits{conditions(work)}"
    )
    fact.rule = "Counted as in `git log --numstat -M`. Merges have no changes of their own."
    fact.sentences.append(f"They added {added:,} and removed {removed:,}.")
    for row in rows:
        fact.repositories[row["repository"]] += sum(row[name] for name in sides)

    return fact


def removals_of(work: Work, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Filter `rows` (of ``commits``, newest first) to commits that removed a file of the request's paths.

    Parameters
    ----------
    work
        Its request names paths.
    rows
        Commits that changed these paths and pass every other condition of the request.
    """
    patterns = [re.compile(path.pattern) for path in work.request.paths]
    revision_names = revisions_of(work).get("revisions", [])
    revisions = (
        [name for name in revision_names if name[:1] != "^"],
        [name[1:] for name in revision_names if name[:1] == "^"],
    )
    removed: set[tuple[str, str]] = set()
    for opened_history in histories.open_histories("commit_search", work.context, work.names, *revisions).selections:
        work.inquiry.context.cancellation.check()
        changes, layout = opened_history.history.changes, opened_history.layout(work.context)

        # A rename removes the old path, unless both names belong to the path that was asked about.
        removals = np.flatnonzero(np.isin(changes.status, [ord("D"), RENAMED]) & opened_history.mask[changes.commit])
        # A path has many changes, but its text needs to be matched once.
        passes: dict[int, bool] = {}

        def matches(number: int, layout: Any = layout, passes: dict[int, bool] = passes) -> bool:
            if number not in passes:
                text = layout.text(number)
                passes[number] = any(pattern.search(text) for pattern in patterns)
            return passes[number]

        for index in removals.tolist():
            old, new = int(layout.old_path[index]), int(layout.path[index])
            is_rename = changes.status[index] == RENAMED
            if matches(old) and not (is_rename and matches(new)):
                removed.add((opened_history.name, opened_history.history.oid(int(changes.commit[index]))))

    return [row for row in rows if (row["repository"], row["commit"]) in removed]


def renames_of(work: Work, pattern: str) -> list[tuple[str, str, str, str]]:
    """Return the renames of a path, in which it is the former or the new one.

    Parameters
    ----------
    work
        Its request names the repositories.
    pattern
        A regular expression of the path.

    Returns
    -------
    list of tuple of str
        Repository, commit, former path and new path.
    """
    matches = re.compile(pattern).search
    renames: list[tuple[str, str, str, str]] = []
    for opened_history in histories.open_histories("commit_search", work.context, work.names).selections:
        work.inquiry.context.cancellation.check()
        changes, layout = opened_history.history.changes, opened_history.layout(work.context)
        is_match: dict[int, bool] = {}
        for index in np.flatnonzero((changes.status == RENAMED) & opened_history.mask[changes.commit]).tolist():
            numbers = int(layout.old_path[index]), int(layout.path[index])
            for number in numbers:
                if number not in is_match:
                    is_match[number] = matches(layout.text(number)) is not None
            if any(is_match[number] for number in numbers):
                commit = opened_history.history.oid(int(changes.commit[index]))
                renames.append((opened_history.name, commit, layout.text(numbers[0]), layout.text(numbers[1])))

    return renames


def former_patterns(work: Work) -> list[str]:
    """Return patterns of the former paths of the only file of a question, each with those before it."""
    patterns: list[str] = []
    path = work.request.paths[0] if len(work.request.paths) == 1 else None
    remaining = [path.pattern] if path is not None and path.is_file else []
    while remaining and len(patterns) < _MAX_FORMER_PATHS:
        pattern = remaining.pop()
        for *_, old, new in renames_of(work, pattern):
            former = f"^{escape_regexp(old)}$"
            if re.search(pattern, new) is not None and former not in patterns:
                patterns.append(former)
                remaining.append(former)
    return patterns


_MAX_FORMER_PATHS = 4
"""Names that a file had before, in which its lines are looked for."""


@dataclass(frozen=True, slots=True)
class Rename:
    """A commit that renamed a file: its row, the path that a sentence is about, and what was done to it."""

    row: dict[str, Any]
    path: str
    verb: str


def find_rename(
    rows: Sequence[dict[str, Any]],
    renames: Sequence[tuple[str, str, str, str]],
    name: str,
    *,
    exists: bool,
    target: str = "",
) -> Rename | None:
    """Return the newest rename of a file: to its new path if it is gone, else from its former one; None for none.

    Parameters
    ----------
    rows
        Commits that changed the file, newest first.
    renames
        From `renames_of`.
    name
        The end of the path.
    exists
        Whether the searched commit has the file.
    target
        A part of the new path that the question names, such as a file or a directory; empty for any.
    """
    by_commit: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for repository, commit, old, new in renames:
        by_commit[repository, commit].append((old, new))

    part = f"/{target.strip('/')}/"
    candidates = [(row, pair) for row in rows for pair in by_commit[row["repository"], row["commit"]]]
    for row, (old, new) in candidates:
        path = new if exists and not target else old
        is_target = not target or (part in f"/{new}/" and part not in f"/{old}/")
        if f"/{path}".endswith(f"/{name}") and is_target:
            return Rename(row, path, f"was renamed from {code(old)}" if path == new else f"was renamed to {code(new)}")
    return None


def _former_directory(path: str, ending: str, depth: int) -> str:
    """Return the directory in which a file was as in its new one, or at the same depth; empty for none."""
    if path.endswith(f"/{ending}"):
        return path[: len(path) - len(ending)]
    parts = path.split("/")
    is_named_so = parts[-1] == ending.rpartition("/")[2] and len(parts) > depth
    return "/".join(parts[:depth]) + "/" if is_named_so else ""


def find_origin_of_directory(work: Work, row: dict[str, Any], directory: str) -> tuple[str, dict[str, Any]] | None:
    """Return the former directory of most files that a commit brought to a directory, and the commit that began it.

    Parameters
    ----------
    work
        Its request names the repositories.
    row
        The first commit that changed the directory.
    directory
        With a slash at its end.
    """
    former: Counter[str] = Counter()
    for opened_history in histories.open_histories("commit_search", work.context, work.names).selections:
        if opened_history.name != row["repository"]:
            continue
        changes, layout = opened_history.history.changes, opened_history.layout(work.context)
        position = opened_history.history.position(row["commit"])
        if position is None:
            continue
        starts = opened_history.history.commits.change_starts
        for index in range(int(starts[position]), int(starts[position + 1])):
            path = layout.text(int(layout.path[index]))
            if not path.startswith(directory):
                continue
            old, ending = layout.text(int(layout.old_path[index])), path[len(directory) :]
            is_renamed = changes.status[index] == RENAMED and not old.startswith(directory)
            former[_former_directory(old, ending, directory.count("/")) if is_renamed else ""] += 1

    name, count = max(former.items(), key=lambda item: (item[1], item[0]), default=("", 0))
    # Files that were moved down from a directory above have left it, and gave it no other name.
    if not name or directory.startswith(name) or count * 2 <= former.total():
        return None

    arguments = {"repos": [row["repository"]], "files": [f"^{escape_regexp(name)}"], "useRegex": True}
    rows = work.call("commit_search", {**arguments, **revisions_of(work)}).table.to_pylist()
    position = next((index for index, item in enumerate(rows) if item["commit"] == row["commit"]), None)
    return None if position is None or position + 1 >= len(rows) else (name.rstrip("/"), rows[-1])


_MAX_RENAMES = 20


def find_origin(
    work: Work, row: dict[str, Any], renames: Sequence[tuple[str, str, str, str]]
) -> tuple[str, dict[str, Any]] | None:
    """Return under which path, and by which commit, a file came that a rename brought to its path; None without one."""
    origin: tuple[str, dict[str, Any]] | None = None
    for _ in range(_MAX_RENAMES):
        key = row["repository"], row["commit"]
        path_then = origin[0] if origin is not None else ""
        former = next(
            (old for *commit, old, new in renames if tuple(commit) == key and (not path_then or new == path_then)), ""
        )
        if not former:
            return origin

        arguments = {"repos": [row["repository"]], "files": [f"^{escape_regexp(former)}$"], "useRegex": True}
        rows = work.call("commit_search", {**arguments, **revisions_of(work)}).table.to_pylist()

        # What another branch did later to the former path is no part of this history.
        position = next((index for index, item in enumerate(rows) if item["commit"] == row["commit"]), None)
        if position is None or position + 1 >= len(rows):
            return origin

        row = rows[-1]
        origin = former, row
        renames = renames_of(work, f"^{escape_regexp(former)}$")

    return origin


def find_former_path(
    work: Work,
    row: dict[str, Any],
    renames: Sequence[tuple[str, str, str, str]],
    concrete: Sequence[tuple[str, str]],
    paths: PathNames,
) -> tuple[str, dict[str, Any]] | None:
    """Return under which path, and by which commit, a file or directory came that was renamed; None for another one."""
    if renames:
        return find_origin(work, row, renames)
    if not concrete or not work.request.paths or work.request.paths[0].is_file:
        return None
    origin = find_origin_of_directory(work, row, f"{concrete[0][1]}/")
    # A directory that is still there was not renamed.
    return origin if origin is not None and not paths.is_folder(origin[0]) else None
