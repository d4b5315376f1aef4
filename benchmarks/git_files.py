"""The changes of each file from plain git, followed back through renames: nothing of sourcelight is imported here.

The definition stands in docs/reports.md, "What counts as the same thing". It is worked out here with the set of all
commits behind each commit, one bit each, while the product keeps a bit for each rename.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from git_history import Change, Commit


@dataclass(slots=True)
class _Name:
    """One name of a file: `later` are the commits that gave it another, `earlier` those that gave it this one."""

    path: str
    later: frozenset[str]
    earlier: set[str] = field(default_factory=set)


class FileChanges:
    """Changes by file.

    Parameters
    ----------
    commits
        All commits by name, children before their parents.
    changes
        All changes of these commits.
    """

    def __init__(self, commits: dict[str, Commit], changes: Sequence[Change]) -> None:
        self._number = {oid: number for number, oid in enumerate(commits)}
        self._behind: dict[str, int] = {}
        for oid in reversed(commits):
            behind = 1 << self._number[oid]
            for parent in commits[oid].parents:
                behind |= self._behind.get(parent, 0)
            self._behind[oid] = behind
        self._changes: dict[str, list[Change]] = defaultdict(list)
        self._renames: dict[str, list[Change]] = defaultdict(list)
        for change in changes:
            for path in {change.path, change.old_path}:
                self._changes[path].append(change)
            if change.status == "R":
                self._renames[change.path].append(change)
        # The newest first: one of them may hide others that are behind it.
        for renames in self._renames.values():
            renames.sort(key=lambda change: self._number[change.commit])

    def of(self, path: str) -> set[Change]:
        """The changes of the file that the newest commits call by a path."""
        results: set[Change] = set()
        pending, names = [_Name(path, frozenset())], {(path, frozenset[str]())}
        while pending:
            name = pending.pop()
            for rename in self._renames[name.path]:
                if self._has(name, rename.commit):
                    name.earlier.add(rename.commit)
                    before = rename.old_path, name.later | {rename.commit}
                    if before not in names:
                        names.add(before)
                        pending.append(_Name(*before))
            results.update(change for change in self._changes[name.path] if self._has(name, change.commit))
        return results

    def _has(self, name: _Name, commit: str) -> bool:
        """Whether a file has a name in a commit: no later name by then, and not before it got the name."""
        got_later_name = any(self._is_behind(rename, commit) for rename in name.later)
        return not got_later_name and not any(self._is_behind(commit, rename) for rename in name.earlier - {commit})

    def _is_behind(self, commit: str, other: str) -> bool:
        return bool(self._behind[other] >> self._number[commit] & 1)
