"""Changelogs: kinds of changes by their titles, and the changes that merges bring.

A change is what a reader of a changelog wants on one line: a pull request with its commits, or a commit outside of any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

KINDS = {
    "breaking": "Breaking changes",
    "features": "Features",
    "fixes": "Fixes",
    "docs": "Documentation",
    "tests": "Tests",
    "dependencies": "Dependencies",
    "other": "Other changes",
}
"""Kinds in the order in which a changelog has them, with their headings."""

RULE = (
    "Titles decide the kind: the type of a conventional commit (feat, fix, docs, test, deps and others; an "
    "exclamation mark or a BREAKING CHANGE footer is breaking), otherwise the first words of the title"
)

_CONVENTIONAL = re.compile(r"^(?P<type>[A-Za-z]{2,20})(?:\((?P<scope>[^()]{1,60})\))?(?P<mark>!)?:\s+\S")
"""A title as Conventional Commits has it: ``feat(api)!: drop the old route``."""

_FOOTER = re.compile(r"^BREAKING[ -]CHANGE:", re.MULTILINE)
"""The footer of a breaking change (Conventional Commits)."""

_MAX_TITLE = 300
"""Characters of a title that decide: the first words tell, and no title makes the patterns slow."""

_TYPES = {
    "feat": "features", "feature": "features", "fix": "fixes", "bugfix": "fixes", "hotfix": "fixes",
    "doc": "docs", "docs": "docs", "test": "tests", "tests": "tests",
    "deps": "dependencies", "dep": "dependencies",
}  # fmt: skip
"""Kinds by the type of a conventional commit, or by a label."""

_OTHER_TYPES = frozenset({"build", "chore", "ci", "perf", "refactor", "revert", "style", "release", "misc"})
"""Types of conventional commits without a kind of their own."""

_DEPENDENCIES = re.compile(r"deps|dependenc", re.IGNORECASE)
"""A scope that makes one of `_OTHER_TYPES` an update of dependencies: ``build(deps): …``."""

_LABEL = re.compile(r"^(?:\[(?P<label>[^\]]{1,40})\]\s*|[\w./-]{1,40}:\s+)")
"""A label before the first words: ``[docs] …``, or a module as in ``net/http: …``."""

_WORDS = {
    "breaking": (
        r"(?:drop|remove|end)(?:s|d|ed|ped)? (?:\S+ ){0,3}?support\b",  # drop support of Python 3.8
        r"breaking\b",
    ),
    "dependencies": (
        r"(?:bump|upgrade)(?:s|d|ed)? (?!version)(?:\S+ ){0,6}?(?:from|to) ",  # bump idna from 3.6 to 3.7
        r"bump(?:s|ed)? (?!version)\S+",  # but not: bump version
        r"(?:update|upgrade|pin|unpin)(?:s|d|ed|ned)? (?:\S+ ){0,3}?(?:dependenc|requirements|deps\b)",
        r"(?:update|upgrade|pin|unpin)(?:s|d|ed|ned)? (?:\S+ ){0,3}?(?:lock ?file|pre-commit|submodule)",
        r"pre-commit autoupdate",
        r"build\(deps",
    ),
    "docs": (
        r"docs?\b|document(?:s|ed|ation|ing)?\b|readme|changelog|typos?\b",
        r"(?:\S+ ){1,4}?(?:typos?|docs?|documentation|docstrings?|readme|changelog)(?:[.,/]\S*)?(?:\s|$)",  # fix a typo
    ),
    "tests": (
        r"tests?\b",
        r"(?:add|fix|improve|update|remove)(?:s|d|ed|ing)? (?:\S+ ){0,4}?(?:\w{1,20}-)?tests?\b",  # add some unit tests
    ),
    "other": (
        # A version that the project is tested with: add Python 3.13 to the CI.
        r"(?:add|use|test)(?:s|ed|ing)? \S+ v?\d[\w.]* (?:to|in|on) (?:the )?(?:ci|workflows?)\b",
    ),
    "fixes": (
        r"(?:hot)?fix(?:es|ed|ing)?\b|bug ?fix|correct(?:s|ed)?\b|repair(?:s|ed)?\b|resolve[sd]?\b",
        r"prevent(?:s|ed)?\b|avoid(?:s|ed)?\b|handle[sd]?\b|don'?t\b|do not\b|close[sd]? #",
    ),
    "features": (
        r"add(?:s|ed|ing)?\b|introduc(?:e|es|ed|ing)\b|implement(?:s|ed)?\b|support(?:s|ed)?\b",
        r"allow(?:s|ed)?\b|enable[sd]?\b|expose[sd]?\b|new\b|feature\b|provide[sd]?\b",
    ),
}
"""First words of titles by kind, in this order: the first that fits counts."""

_TITLE_PATTERNS = {kind: re.compile("|".join(patterns), re.IGNORECASE) for kind, patterns in _WORDS.items()}

# What hosts write into the commits of merges and squashes. Sources: their documentation on merge commit messages.
_MERGED = re.compile(r"^Merge pull request (?:'(?P<title>.*)' \(#(?P<gitea>\d{1,9})\)|#(?P<number>\d{1,9})) from ")
_BITBUCKET = re.compile(r"^Merged in .{1,300} \(pull request #(?P<number>\d{1,9})\)$")
"""Subject of a merge of Bitbucket."""

_SQUASHED = re.compile(r"^(?P<title>.*\S)\s+\(#(?P<number>\d{1,9})\)$")
"""Subject of a squashed pull request: ``Retry twice (#12)``."""

_GITLAB = re.compile(r"^See merge request (?:[\w./+-]{1,300})?!(?P<number>\d{1,9})$", re.MULTILINE)
"""Line of a merge of GitLab: ``See merge request group/name!12``."""

_MAX_SUBJECT = 1000
"""Characters of a subject in which the end of a title is looked for, which takes long in a longer one."""

_BRANCH = re.compile(r"^Merge (?:remote-tracking )?branch ")
"""Subject that git proposes for a merge."""


def kind_of(title: str, message: str = "") -> str:
    """Return the kind of a change, a key of `KINDS`."""
    title = title[:_MAX_TITLE].strip()
    if _FOOTER.search(message):
        return "breaking"

    typed = _by_type(title)
    if typed:
        return typed

    label = _LABEL.match(title)
    kind = _by_first_words(title)
    if not kind and label is not None:
        kind = _by_first_words(title[label.end() :])
    return kind or "other"


def _by_first_words(text: str) -> str:
    """Return the kind by the first words of a title; empty if they say none."""
    for kind, pattern in _TITLE_PATTERNS.items():
        if pattern.match(text):
            return kind
    return ""


def _by_type(title: str) -> str:
    """Return the kind by the type of a conventional commit or a label such as ``[docs]``; empty without one."""
    conventional = _CONVENTIONAL.match(title)
    if conventional is None:
        label = _LABEL.match(title)
        if label is not None:
            return _TYPES.get((label["label"] or "").strip().lower(), "")
        return ""
    if conventional["mark"]:
        return "breaking"

    name = conventional["type"].lower()
    if name in _OTHER_TYPES:
        if _DEPENDENCIES.search(conventional["scope"] or ""):
            return "dependencies"
        return "other"

    return _TYPES.get(name, "")


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """A commit as far as it counts here; `parents` in git's order."""

    commit: str
    subject: str
    message: str
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """Commits that were merged together.

    Attributes
    ----------
    title
        Its title: the pull request's if it is known, else the subject of the commit.
    message
        Message of the commit that brought it.
    commit
        The commit that brought it: the merge, or the commit itself.
    members
        Its commits other than merges; the commit itself if it is one.
    request
        Number of the pull or merge request; None if the commit names none.
    """

    title: str
    message: str
    commit: str
    members: tuple[str, ...]
    request: int | None = None


class MergeRequest(NamedTuple):
    """A pull or merge request that a commit names: its number, None for no request, and the title of the change."""

    number: int | None
    title: str


def request_of(commit: CommitInfo) -> MergeRequest:
    """Return the request that a commit names, with its title if the message has it; else the subject."""
    subject = commit.subject
    body = [line.strip() for line in commit.message.split("\n")[1:] if line.strip()]
    first_line = body[0] if body else subject
    if len(commit.parents) > 1:
        merged = _MERGED.match(subject)
        if merged is not None:
            return MergeRequest(int(merged["gitea"] or merged["number"]), merged["title"] or first_line)

        bitbucket = _BITBUCKET.match(subject)
        if bitbucket is not None:
            return MergeRequest(int(bitbucket["number"]), first_line)

    gitlab = _GITLAB.search(commit.message)
    if gitlab is not None:
        # GitLab's template: under ``Merge branch 'x' into 'main'`` comes the title, unless the message has only the
        # reference.
        has_title = _BRANCH.match(subject) is not None and _GITLAB.match(first_line) is None
        return MergeRequest(int(gitlab["number"]), first_line if has_title else subject)

    squashed = _SQUASHED.match(subject) if len(subject) <= _MAX_SUBJECT else None
    if squashed is not None:
        return MergeRequest(int(squashed["number"]), squashed["title"])

    return MergeRequest(None, subject)


def merged_changes(commits: Sequence[CommitInfo], heads: Sequence[str]) -> list[Change]:
    """Group commits by the merges that brought them, in the order of the history, oldest first.

    A merge that names a pull request is one change with all commits that it brought. Commits of any other merged branch
    are looked at in the same way, as if they had been made on the branch that took them in.

    Parameters
    ----------
    commits
        All commits between two revisions.
    heads
        The commits where to begin: those that no other one of `commits` has as a parent are added.
    """
    by_id = {commit.commit: commit for commit in commits}
    visited: set[str] = set()
    changes: list[Change] = []
    for tip in _tips(commits, heads, by_id):
        # Branches within branches: each is finished before the branch that merged it continues.
        branches: list[Iterator[CommitInfo]] = [_first_parents(tip, by_id, visited)]
        while branches:
            commit = next(branches[-1], None)
            if commit is None:
                branches.pop()
                continue

            request = request_of(commit)
            is_merge = len(commit.parents) > 1
            if is_merge and request.number is None:
                branches += [_first_parents(parent, by_id, visited) for parent in reversed(commit.parents[1:])]
                continue

            members: tuple[str, ...] = (commit.commit,)
            if is_merge:
                members = _commits_behind(commit.parents[1:], by_id, visited)
            changes.append(
                Change(
                    title=request.title,
                    message=commit.message,
                    commit=commit.commit,
                    members=members,
                    request=request.number,
                )
            )

    return changes


def _tips(commits: Sequence[CommitInfo], heads: Sequence[str], by_id: Mapping[str, CommitInfo]) -> list[str]:
    """Return heads, then every commit without a child in the list."""
    # A filtered list may have lost the commits between a head and the others.
    parents = set(chain.from_iterable(commit.parents for commit in commits))
    tips = [head for head in heads if head in by_id]
    tips += [commit.commit for commit in commits if commit.commit not in parents]
    return list(dict.fromkeys(tips))


def _first_parents(tip: str, by_id: Mapping[str, CommitInfo], visited: set[str]) -> Iterator[CommitInfo]:
    """Return the commits from one back along first parents, the oldest first, and mark them as visited.

    The line ends at a visited commit, and at one that isn't among the commits of the changelog.
    """
    branch: list[CommitInfo] = []
    while tip in by_id and tip not in visited:
        visited.add(tip)
        commit = by_id[tip]
        branch.append(commit)
        tip = commit.parents[0] if commit.parents else ""
    return reversed(branch)


def _commits_behind(tips: Sequence[str], by_id: Mapping[str, CommitInfo], visited: set[str]) -> tuple[str, ...]:
    """Return all commits behind some that aren't visited, without merges, and mark them as visited."""
    commits: list[str] = []
    pending = list(tips)
    while pending:
        commit = pending.pop()
        if commit in visited or commit not in by_id:
            continue

        visited.add(commit)
        pending += by_id[commit].parents
        if len(by_id[commit].parents) < 2:
            commits.append(commit)

    return tuple(commits)
