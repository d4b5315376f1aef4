"""Commits put together as they were merged: a pull request, a squashed one, a merged branch, or a commit alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# What hosts write into the commits of merges and squashes. Sources: their documentation on merge commit messages.
_MERGED = re.compile(r"^Merge pull request (?:'(?P<title>.*)' \(#(?P<gitea>\d{1,9})\)|#(?P<number>\d{1,9})) from ")
_BITBUCKET = re.compile(r"^Merged in .{1,300} \(pull request #(?P<number>\d{1,9})\)$")
_SQUASHED = re.compile(r"^(?P<title>.*\S)\s+\(#(?P<number>\d{1,9})\)$")
_GITLAB = re.compile(r"^See merge request (?:[\w./+-]{1,300})?!(?P<number>\d{1,9})$", re.MULTILINE)
_MAX_SUBJECT = 1000  # beyond that, what looks for the end of a title would take long
_BRANCH = re.compile(r"^Merge (?:remote-tracking )?branch ")


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """A commit as far as it counts here; `parents` in git's order."""

    commit: str
    subject: str
    message: str
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What was merged at once.

    Attributes
    ----------
    title
        Its title: that of the pull request where one is known, else the subject of the commit.
    message
        Message of the commit that brought it.
    commit
        The commit that brought it: the merge, or the commit itself.
    members
        Its commits that are no merges; the commit itself where it is one.
    request
        Metric of the pull or merge request; None where the commit names none.
    """

    title: str
    message: str
    commit: str
    members: tuple[str, ...]
    request: int | None = None


def request_of(commit: CommitInfo) -> tuple[int | None, str]:
    """The number and the title of the pull request that a commit names; None and the subject where it names none."""
    subject = commit.subject
    lines = commit.message.split("\n")
    body = [line.strip() for line in lines[1:] if line.strip()]
    if len(commit.parents) > 1:
        merged = _MERGED.match(subject)
        if merged is not None:
            return int(merged["gitea"] or merged["number"]), merged["title"] or (body[0] if body else subject)
        bitbucket = _BITBUCKET.match(subject)
        if bitbucket is not None:
            return int(bitbucket["number"]), body[0] if body else subject
    gitlab = _GITLAB.search(commit.message)
    if gitlab is not None:
        title = body[0] if _BRANCH.match(subject) and body and not _GITLAB.match(body[0]) else subject
        return int(gitlab["number"]), title
    squashed = _SQUASHED.match(subject) if len(subject) <= _MAX_SUBJECT else None
    if squashed is not None:
        return int(squashed["number"]), squashed["title"]
    return None, subject


def merged_changes(commits: Sequence[CommitInfo], heads: Sequence[str]) -> list[Change]:
    """Put commits together as they were merged, in the order of the history, the oldest first.

    A merge that names a pull request is one change with all commits that it brought. Commits of any other merged branch
    are looked at in the same way, as if they had been made on the branch that took them in.

    Parameters
    ----------
    commits
        All commits between two revisions.
    heads
        The commits where to begin: those that no other one of `commits` has as a parent are added.
    """
    known = {commit.commit: commit for commit in commits}
    parents = {parent for commit in commits for parent in commit.parents}
    tips = [*(head for head in heads if head in known), *(c.commit for c in commits if c.commit not in parents)]
    taken: set[str] = set()
    found: list[Change] = []
    for tip in dict.fromkeys(tips):
        # Branches within branches: each is finished before the one that took it in goes on.
        open_lines: list[Iterator[CommitInfo]] = [_line(tip, known, taken)]
        while open_lines:
            commit = next(open_lines[-1], None)
            if commit is None:
                open_lines.pop()
                continue
            number, title = request_of(commit)
            if len(commit.parents) < 2:
                found.append(Change(title, commit.message, commit.commit, (commit.commit,), number))
            elif number is None:
                open_lines += [_line(parent, known, taken) for parent in reversed(commit.parents[1:])]
            else:
                members = _behind(commit.parents[1:], known, taken)
                found.append(Change(title, commit.message, commit.commit, members, number))
    return found


def _line(tip: str, known: Mapping[str, CommitInfo], taken: set[str]) -> Iterator[CommitInfo]:
    """The commits from one back along first parents, as far as nobody has them yet; the oldest first."""
    line: list[CommitInfo] = []
    while tip in known and tip not in taken:
        taken.add(tip)
        line.append(known[tip])
        tip = known[tip].parents[0] if known[tip].parents else ""
    return iter(line[::-1])


def _behind(tips: Sequence[str], known: Mapping[str, CommitInfo], taken: set[str]) -> tuple[str, ...]:
    """The commits behind some that nobody has yet, merges left out."""
    found: list[str] = []
    waiting = list(tips)
    while waiting:
        commit = waiting.pop()
        if commit in taken or commit not in known:
            continue
        taken.add(commit)
        waiting += known[commit].parents
        if len(known[commit].parents) < 2:
            found.append(commit)
    return tuple(found)
