"""Changelogs: kinds of changes by their titles, and the changes that merges bring."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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
_MAX_TITLE = 300  # the first words tell, and nobody's title makes the patterns slow
_FOOTER = re.compile(r"^BREAKING[ -]CHANGE:", re.MULTILINE)
_TYPES = {
    "feat": "features", "feature": "features", "fix": "fixes", "bugfix": "fixes", "hotfix": "fixes",
    "doc": "docs", "docs": "docs", "test": "tests", "tests": "tests",
    "deps": "dependencies", "dep": "dependencies",
}  # fmt: skip
_OTHER_TYPES = frozenset({"build", "chore", "ci", "perf", "refactor", "revert", "style", "release", "misc"})
_DEPENDENCIES = re.compile(r"deps|dependenc", re.IGNORECASE)
_LABEL = re.compile(r"^(?:\[(?P<label>[^\]]{1,40})\]\s*|[\w./-]{1,40}:\s+)")
# In this order: the first that fits counts.
_WORDS = {
    kind: re.compile("|".join(patterns), re.IGNORECASE)
    for kind, patterns in {
        "breaking": (r"(?:drop|remove|end)(?:s|d|ed|ped)? (?:\S+ ){0,3}?support\b", r"breaking\b"),
        "dependencies": (
            r"(?:bump|upgrade)(?:s|d|ed)? (?!version)(?:\S+ ){0,6}?(?:from|to) ",
            r"bump(?:s|ed)? (?!version)\S+",
            r"(?:update|upgrade|pin|unpin)(?:s|d|ed|ned)? (?:\S+ ){0,3}?(?:dependenc|requirements|deps\b)",
            r"(?:update|upgrade|pin|unpin)(?:s|d|ed|ned)? (?:\S+ ){0,3}?(?:lock ?file|pre-commit|submodule)",
            r"pre-commit autoupdate",
            r"build\(deps",
        ),
        "docs": (
            r"docs?\b|document(?:s|ed|ation|ing)?\b|readme|changelog|typos?\b",
            r"(?:\S+ ){1,4}?(?:typos?|docs?|documentation|docstrings?|readme|changelog)(?:[.,/]\S*)?(?:\s|$)",
        ),
        "tests": (
            r"tests?\b",
            r"(?:add|fix|improve|update|remove)(?:s|d|ed|ing)? (?:\S+ ){0,4}?(?:\w{1,20}-)?tests?\b",
        ),
        # A version that the project is tested with.
        "other": (r"(?:add|use|test)(?:s|ed|ing)? \S+ v?\d[\w.]* (?:to|in|on) (?:the )?(?:ci|workflows?)\b",),
        "fixes": (
            r"(?:hot)?fix(?:es|ed|ing)?\b|bug ?fix|correct(?:s|ed)?\b|repair(?:s|ed)?\b|resolve[sd]?\b",
            r"prevent(?:s|ed)?\b|avoid(?:s|ed)?\b|handle[sd]?\b|don'?t\b|do not\b|close[sd]? #",
        ),
        "features": (
            r"add(?:s|ed|ing)?\b|introduc(?:e|es|ed|ing)\b|implement(?:s|ed)?\b|support(?:s|ed)?\b",
            r"allow(?:s|ed)?\b|enable[sd]?\b|expose[sd]?\b|new\b|feature\b|provide[sd]?\b",
        ),
    }.items()
}
"""In this order: the first that fits counts."""

# What hosts write into the commits of merges and squashes. Sources: their documentation on merge commit messages.
_MERGED = re.compile(r"^Merge pull request (?:'(?P<title>.*)' \(#(?P<gitea>\d{1,9})\)|#(?P<number>\d{1,9})) from ")

_BITBUCKET = re.compile(r"^Merged in .{1,300} \(pull request #(?P<number>\d{1,9})\)$")
_SQUASHED = re.compile(r"^(?P<title>.*\S)\s+\(#(?P<number>\d{1,9})\)$")
_GITLAB = re.compile(r"^See merge request (?:[\w./+-]{1,300})?!(?P<number>\d{1,9})$", re.MULTILINE)
_MAX_SUBJECT = 1000  # beyond that, what looks for the end of a title would take long
_BRANCH = re.compile(r"^Merge (?:remote-tracking )?branch ")


def kind_of(title: str, message: str = "") -> str:
    """Return the kind of a change, a key of `KINDS`."""
    title = title[:_MAX_TITLE].strip()
    if _FOOTER.search(message):
        return "breaking"

    typed = _by_type(title)
    if typed:
        return typed

    label = _LABEL.match(title)
    texts = (title, title[label.end() :]) if label is not None else (title,)
    return next((kind for text in texts for kind, words in _WORDS.items() if words.match(text)), "other")


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


def request_of(commit: CommitInfo) -> tuple[int | None, str]:
    """Return number and title of the pull request that a commit names; None and the subject if it names none."""
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
    parents = {parent for commit in commits for parent in commit.parents}

    # Heads first, then every commit without a child in the list: a filtered list may have lost the connection.
    tips = [
        *(head for head in heads if head in by_id),
        *(commit.commit for commit in commits if commit.commit not in parents),
    ]
    seen: set[str] = set()
    changes: list[Change] = []
    for tip in dict.fromkeys(tips):
        # Branches within branches: each is finished before the branch that merged it continues.
        open_lines: list[Iterator[CommitInfo]] = [_line(tip, by_id, seen)]
        while open_lines:
            commit = next(open_lines[-1], None)
            if commit is None:
                open_lines.pop()
                continue

            number, title = request_of(commit)
            if len(commit.parents) < 2:
                changes.append(
                    Change(
                        title=title,
                        message=commit.message,
                        commit=commit.commit,
                        members=(commit.commit,),
                        request=number,
                    )
                )
            elif number is None:
                open_lines += [_line(parent, by_id, seen) for parent in reversed(commit.parents[1:])]
            else:
                members = _behind(commit.parents[1:], by_id, seen)
                changes.append(Change(title, commit.message, commit.commit, members, number))

    return changes


def _line(tip: str, by_id: Mapping[str, CommitInfo], visited: set[str]) -> Iterator[CommitInfo]:
    """Return the commits from one back along first parents, as far as no release has them yet; the oldest first."""
    line: list[CommitInfo] = []
    while tip in by_id and tip not in visited:
        visited.add(tip)
        line.append(by_id[tip])
        tip = by_id[tip].parents[0] if by_id[tip].parents else ""
    return iter(line[::-1])


def _behind(tips: Sequence[str], commits_by_id: Mapping[str, CommitInfo], visited: set[str]) -> tuple[str, ...]:
    """Return the commits behind some that no release has yet, merges left out."""
    commits: list[str] = []
    queue = list(tips)
    while queue:
        commit = queue.pop()
        if commit in visited or commit not in commits_by_id:
            continue
        visited.add(commit)
        queue += commits_by_id[commit].parents
        if len(commits_by_id[commit].parents) < 2:
            commits.append(commit)

    return tuple(commits)
