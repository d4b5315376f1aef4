"""The introduction of the contributor report: sentences about people, files and the time before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sourcelight.core.markup import count_of, join_words
from sourcelight.lab.reports.files import largest_directories
from sourcelight.lab.reports.model import Frame
from sourcelight.lab.reports.people import Turnover, future_text
from sourcelight.lab.reports.text import (
    compare_commits,
    date_text,
    duration_text,
    namesake_texts,
    person_labels,
    share_text,
    shares_text,
)

_DAY_S = 86_400
"""Seconds of a day."""

TOP_PEOPLE = 5
"""People whose share of the commits a sentence gives; the text says "five"."""

_MAX_LABELS = 3
"""Maximum people whose shares a sentence names."""

OLD_DAYS = 30
"""Days after which the newest commit is old, as in a clone that is not fetched."""


_SHALLOW = (
    "is a shallow clone, without its older commits: its oldest ones seem to add all their lines, and nothing says who "
    "joined, who left, or who wrote older lines. git fetch --unshallow gets the others."
)
"""Sentence about a shallow clone, after its name."""


def write_introduction(
    names: Sequence[str],
    commits: Frame,
    people: Frame | None,
    files: Frame | None,
    compared: Turnover | None,
    newest: Any,
    *,
    is_full_history: bool,
    is_shallow: bool,
) -> list[str]:
    """Return the introduction: people, commits, files, a comparison with the period before, the newest commit's age.

    `compared` covers the time of the report, or its last year if the report has no start (`is_full_history`).
    """
    sentences = [
        _people_text(names, commits, people),
        _shared_text(commits),
        _top_authors_text(commits),
        _places_text(files),
        _comparison_text(compared, is_full_history=is_full_history),
        f"{names[0] if len(names) == 1 else 'A repository'} {_SHALLOW}" if is_shallow else "",
        future_text(commits),
        stale_text(newest),
    ]
    return [sentence for sentence in sentences if sentence]


def _people_text(names: Sequence[str], commits: Frame, people: Frame | None) -> str:
    scope = names[0] if len(names) == 1 else count_of(len(names), "repository")
    human_commits = commits[~commits["bot"]]
    bots = len(commits) - len(human_commits)
    dates = commits["commit_date"]
    persons = count_of(human_commits["person"].nunique(), "person")
    wrote = f"{persons} wrote {count_of(len(human_commits), 'commit')} in {scope}"
    text = f"{wrote}, the first on {date_text(dates.min())} and the last on {date_text(dates.max())}"
    details = []
    if bots:
        details.append(f"bots wrote {count_of(bots, 'more commit')}")

    if people is not None:
        is_human = ~people["bot"].fillna(value=False).astype("bool")
        helpers = int(((people["commits"] == 0) & is_human).sum())
        if helpers == 1:
            details.append("1 person is named only as a co-author")
        elif helpers:
            details.append(f"{helpers:,} people are named only as co-authors")

    if details:
        text += f"; {join_words(details)}"
    return f"{text}."


def _shared_text(commits: Frame) -> str:
    """Return a sentence about the commits that several repositories share, such as a fork and its origin."""
    repeats = commits[commits["commit"].duplicated(keep=False)]
    if not len(repeats):
        return ""

    names = sorted(repeats["repository"].astype("str").unique())
    if len(names) > _MAX_LABELS:
        names = [*names[:_MAX_LABELS], f"{len(names) - _MAX_LABELS:,} more"]
    return (
        f"Commits that are in several repositories ({join_words(names)}) count in each of them: only "
        f"{commits['commit'].nunique():,} of all {len(commits):,} commits are distinct. "
        "repos= chooses the repositories of a report."
    )


def _top_authors_text(commits: Frame) -> str:
    human_commits = commits[~commits["bot"]]
    counts = (
        human_commits.groupby(["person", "author"], observed=True).size().sort_values(ascending=False, kind="stable")
    )
    if len(counts) < 2:
        return ""

    labels = person_labels([person for person, _ in counts.index], _MAX_LABELS)
    shares = shares_text(labels, counts.tolist(), float(len(human_commits)), _MAX_LABELS)
    if not shares:
        return ""

    text = f"Of the commits by people, most are by {shares}"
    if len(counts) > TOP_PEOPLE:
        share = counts.head(TOP_PEOPLE).sum() / len(human_commits)
        text += f"; the top five people wrote {share_text(share)}"

    return " ".join([f"{text}.", *namesake_texts(list(counts.items()), len(human_commits), _MAX_LABELS)])


def _places_text(files: Frame | None) -> str:
    """Return a sentence about the directories with the most changed lines, and the share of vendored files."""
    if files is None or not len(files):
        return ""

    shares, other_files = largest_directories(files)
    if not shares:
        return ""
    return (
        f"{other_files}, most changed lines are in {shares}." if other_files else f"Most changed lines are in {shares}."
    )


def _comparison_text(comparison: Turnover | None, *, is_full_history: bool) -> str:
    if comparison is None:
        return ""

    time = duration_text(comparison.days)
    span = f"The {time} of this report"
    if is_full_history:
        span = f"The {time} to {date_text(comparison.end)}"

    compared, bots = compare_commits(comparison.commits, comparison.before, f"the {time} before")
    text = f"{span} had {compared}"
    if bots:
        text += f"; {bots}"
    if not len(comparison.before):
        return f"{text}."

    text += f"; {count_of(len(comparison.joiners), 'person')} joined and {len(comparison.leavers):,} left"
    if comparison.namesakes:
        text += f", {comparison.namesakes:,} of them perhaps only with another address"
    return f"{text}."


def stale_text(newest: Any, now: datetime | None = None) -> str:
    """Return a sentence if the newest commit is old, as in a clone that was not fetched; else an empty text."""
    import pandas as pd

    if newest is None or pd.isna(newest):
        return ""

    days = ((now or datetime.now(UTC)) - newest).total_seconds() / _DAY_S
    if days < OLD_DAYS:
        return ""

    age = f"{date_text(newest)}, {duration_text(days)} ago"
    return f"The newest commit is from {age}; later commits are not in this report."


def no_commits_text(after: Any, before: Any, oldest: Any, newest: Any) -> str:
    """Return the reason for a period without commits: the nearest ones; dates are None if they are unknown."""
    if after is not None and newest <= after:
        return f"No commit is after {date_text(after)}: the newest is from {date_text(newest)}."
    if before is not None and oldest is not None and oldest >= before:
        return f"No commit is before {date_text(before)}: the oldest is from {date_text(oldest)}."

    period_text = f"the first is from {date_text(oldest)}, the newest from {date_text(newest)}"
    return f"No commit is between {date_text(after)} and {date_text(before)}; {period_text}."
