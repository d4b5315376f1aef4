"""The newest tag and the newest commits of a project."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sourcelight.core.batches import CommitId
from sourcelight.core.errors import QueryError, RepositoryError, ToolError, UnsupportedTool
from sourcelight.core.markup import code
from sourcelight.engines.deepsearch.evidence.model import CommitEvidence, Finding, Statement
from sourcelight.engines.deepsearch.facts.commits import evidence_of
from sourcelight.engines.deepsearch.facts.events import byline
from sourcelight.engines.deepsearch.facts.model import Work, format_call
from sourcelight.engines.deepsearch.lookups.builds.fields import find_field
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.requests import Emit, ResearchRequest
from sourcelight.repos import is_ancestor

_MAX_TAGS, _MAX_COMMITS = 5, 10
_CANDIDATE = re.compile(r"\d[-_.]?(?:rc|alpha|beta|a|b|pre|preview|dev|snapshot|m|nightly)[-_.]?\d*$", re.IGNORECASE)
_MAX_READ_TAGS = 5_000
"""Tags of a repository that are read to find the first one with a commit."""
_MAX_COMPARED = 300
"""Tags whose history is searched for the commit, the earliest first: each takes a walk from the tag to the commit."""
_MAX_ANCESTORS = 20
"""Maximum tags among which the one before the newest is looked for."""


def find_version(work: Work) -> Finding | None:
    """Return the newest tag, with the version in a manifest below; None without both."""
    field = find_field(work, "version", "", "", "")
    finding = find_newest_tag(work)
    if finding is None and field is not None and re.search(r"`0\.0\.0\b", field.headline.text) is not None:
        # What is never published has a version that says nothing.
        return None
    if finding is None or field is None:
        return finding or field
    finding.heading = "Earlier tags, and the version in manifests"
    finding.details += [field.headline, *field.details]
    return finding


def find_newest_tag(work: Work) -> Finding | None:
    """Return the tag of the newest commit that has one; None for several repositories, or without any."""
    targets = [target for target in work.targets if target.repository.kind == "git"]
    if len(targets) != 1:
        return None

    repository = targets[0].repository.name
    arguments: dict[str, Any] = {"repo": repository, "kind": "tag", "limit": _MAX_TAGS}
    tags = [row for row in work.call("list_refs", arguments).table.to_pylist() if row["commit_date"] is not None]
    if not tags:
        return None

    lookup = {"repos": [repository], "revisions": [tags[0]["commit"]], "count": 1}
    commits = work.call("commit_search", lookup, changes=False).table.to_pylist()
    if not commits:
        return None

    # Several tags may name one commit: none of them is newer than another.
    names = [row["name"] for row in tags if row["commit_date"] == tags[0]["commit_date"]]
    if not any(re.search(r"\d", name) for name in names) and re.search(r"\btags?\b", work.inquiry.words) is None:
        # A tag without a number is none of a release: it keeps a branch or a state.
        return None
    tag = " and ".join(code(name) for name in names)
    subject = "The newest tags are" if len(names) > 1 else "The newest tag is"
    text = f"{subject} {tag}, of the commit by {byline(commits[0])}"
    finding = Finding(
        Statement(text, (evidence_of(commits[0]),)),
        "tag",
        queries=[format_call("list_refs", arguments)],
        notes=work.notes,
        heading="Earlier tags",
    )
    finding.details = [
        Statement(f"{code(row['name'])}, of a commit on {row['commit_date']:%Y-%m-%d}") for row in tags[len(names) :]
    ]
    finding.method.append("Tags are ordered by the date of their commit. A release without a tag isn't known here.")
    return finding


def find_previous_tag(work: Work) -> Finding | None:
    """Return the tag before the newest one: the newest whose commit that one contains; None without any."""
    pair = newest_release(work)
    if pair is None or not pair.previous:
        return None

    lookup = {"repos": [pair.repository], "revisions": [pair.previous], "count": 1}
    commits = work.call("commit_search", lookup, changes=False).table.to_pylist()
    if not commits:
        return None

    text = f"The tag before {code(pair.newest)} is {code(pair.previous)}, of the commit by {byline(commits[0])}"
    finding = Finding(
        Statement(text, (evidence_of(commits[0]),)),
        "tag",
        queries=[format_call("commit_search", lookup)],
        notes=work.notes,
    )
    finding.method.append(
        "It is the newest tag, by the date of its commit, that the history of the newest one contains: a tag of "
        "another branch isn't before it. Candidates such as rc1 don't count before a release."
    )
    return finding


@dataclass(frozen=True, slots=True)
class ReleaseTags:
    """The newest tag of a repository, and the newest tag that its history contains; `previous` is empty without one."""

    repository: str
    newest: str
    previous: str


def newest_release(work: Work) -> ReleaseTags | None:
    """Return the two newest tags of a repository; None for several repositories, or without any."""
    targets = [target for target in work.targets if target.repository.kind == "git"]
    if len(targets) != 1:
        return None

    repository = targets[0].repository.name
    arguments: dict[str, Any] = {"repo": repository, "kind": "tag", "limit": _MAX_ANCESTORS}
    tags = [row for row in work.call("list_refs", arguments).table.to_pylist() if row["commit_date"] is not None]
    if not tags:
        return None

    newest, *earlier = tags
    for tag in earlier:
        # A candidate isn't the release before, unless the newest tag is one itself.
        is_candidate = _CANDIDATE.search(tag["name"]) and not _CANDIDATE.search(newest["name"])
        if tag["commit"] == newest["commit"] or is_candidate:
            continue
        # A commit that the newest tag doesn't reach would be left.
        outside = {"repos": [repository], "revisions": [tag["commit"], f"^{newest['commit']}"], "count": 1}
        if not work.call("commit_search", outside, changes=False).table.num_rows:
            return ReleaseTags(repository, newest["name"], tag["name"])

    return ReleaseTags(repository, newest["name"], "")


def find_newest_commits(work: Work) -> Finding | None:
    """Return the newest commits of the searched revision; None for several repositories."""
    targets = work.targets
    if len(targets) != 1 or targets[0].repository.kind != "git":
        return None

    arguments: dict[str, Any] = {"repos": [targets[0].repository.name], "count": _MAX_COMMITS}
    if targets[0].revision:
        arguments["revisions"] = [targets[0].commit]

    answer = work.call("commit_search", arguments, changes=False)
    commits = answer.table.to_pylist()
    if not commits:
        return None

    newest, *earlier = commits
    text = f"The last commit is “{inline(newest['subject'])}” by {byline(newest)}"
    finding = Finding(
        Statement(text, (evidence_of(newest),)),
        "commits",
        queries=[format_call("commit_search", arguments)],
        notes=work.notes,
        heading="Commits before it",
    )
    finding.details = [
        Statement(f"“{inline(row['subject'])}” by {byline(row)}", (evidence_of(row),)) for row in earlier
    ]
    finding.method.append("Commits are ordered by committer date.")
    return finding


_MIN_RECENT = 5
"""Commits of a year from which on those who made them maintain a repository; one alone is a passer-by's."""


def has_recent_commits(work: Work) -> bool:
    """Return whether the searched repositories have several commits of the last twelve months."""
    arguments = {"repos": work.names, "after": "12 months ago", "count": _MIN_RECENT}
    return bool(work.call("commit_search", arguments, changes=False).table.num_rows == _MIN_RECENT)


def find_first_tag(inquiry: ResearchRequest, evidence: CommitEvidence, emit: Emit) -> Finding | None:
    """Return the first tag, by the date of its commit, that contains a commit; None without any."""
    work = Work(FactRequest("lookup"), inquiry, emit)
    target = next((item for item in work.targets if item.repository.name == evidence.repository), None)
    if target is None or target.repository.kind != "git":
        return None

    lookup: dict[str, Any] = {"repos": [evidence.repository], "revisions": [evidence.commit], "count": 1}
    arguments: dict[str, Any] = {"repo": evidence.repository, "kind": "tag", "limit": _MAX_READ_TAGS}
    try:
        commits = work.call("commit_search", lookup, changes=False).table.to_pylist()
        answer = work.call("list_refs", arguments)
    except (ToolError, QueryError, RepositoryError, UnsupportedTool):
        inquiry.context.cancellation.check()
        return None

    if not commits or not answer.complete:
        return None

    commit = commits[0]
    tags = [row for row in answer.table.to_pylist() if row["commit_date"] is not None]
    # A tag of an earlier date doesn't contain the commit, unless a clock was wrong: then another tag is named.
    later = [row for row in reversed(tags) if row["commit_date"] >= commit["commit_date"]]
    containing = []
    for row in later[:_MAX_COMPARED]:
        inquiry.context.cancellation.check()
        if is_ancestor(target.repository, CommitId(evidence.commit), CommitId(row["commit"])):
            containing.append(row)
            if _CANDIDATE.search(row["name"]) is None:
                break

    if not containing:
        return None

    first, final = containing[0], containing[-1]
    text = f"The first tag that contains the commit “{inline(commit['subject'])}” by {byline(commit)} is "
    text += f"{code(first['name'])}, of {first['commit_date']:%Y-%m-%d}"
    if final is not first and _CANDIDATE.search(final["name"]) is None:
        text += f"; the first without a suffix such as rc1 is {code(final['name'])}, of {final['commit_date']:%Y-%m-%d}"
    finding = Finding(Statement(text, (evidence_of(commit),)), "tag", queries=[format_call("list_refs", arguments)])
    finding.method.append(
        "Tags are ordered by the date of their commit. The history of the tag has the commit, and that of no earlier "
        "tag does. A release without a tag isn't known here."
    )
    return finding
