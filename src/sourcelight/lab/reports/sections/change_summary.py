"""The summary of the change report: its numbers, and the sentences that introduce it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcelight.core.markup import count_of, join_words, plural
from sourcelight.lab.reports.history import line_metrics
from sourcelight.lab.reports.model import Frame, Metric
from sourcelight.lab.reports.people import JOINED, PEOPLE, unify_names
from sourcelight.lab.reports.sections.changelog import KINDS
from sourcelight.lab.reports.text import compare_counts, date_text, duration_text, shares_text

if TYPE_CHECKING:
    pass


_NOUNS = {
    "breaking": "breaking change", "features": "feature", "fixes": "fix", "docs": "change of documentation",
    "tests": "change of tests", "dependencies": "change of dependencies", "other": "other change",
}  # fmt: skip

_PLURALS = {"fixes": "fixes", "docs": "changes of documentation", "tests": "changes of tests",
            "dependencies": "changes of dependencies"}  # fmt: skip

API_ORDER = ("removed", "changed", "moved", "added")
"""States of public symbols; what breaks callers comes first."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The two revisions as requested, the date of base, and the number of commits that only base has."""

    base: str
    head: str
    started: Any
    undone: int


def metrics(diffs: Frame, commits: Frame, people: Frame, log: Frame, before: Frame | None) -> list[Metric]:
    """Return the numbers of the report."""
    # Null is unknown, zero is counted: a sum over nulls alone would show a false 0.
    unknown_count = int(diffs["additions"].isna().sum())
    excludes = f"{count_of(unknown_count, 'file')} whose content is missing or unknown." if unknown_count else ""
    binary = int(diffs["binary"].fillna(value=False).sum())
    bots = "bots, and co-authors without a commit of their own."
    new = people.loc[people["new"], "person"].tolist()
    metrics_list = [
        Metric("files", len(diffs), "Files that differ, renames counted once.", "", "changes"),
        Metric("diff additions", _sum(diffs, "additions"), "Lines that head has and base lacks.", excludes, "changes"),
        Metric("diff deletions", _sum(diffs, "deletions"), "Lines that base has and head lacks.", excludes, "changes"),
        Metric("binary files", binary, "Files that git treats as binary.", "", "changes", {"binary": True}),
        Metric("commits", len(commits), "Commits from base to head, merges included.", "", "commits"),
        Metric("merges", int(commits["merge"].sum()), "Commits with two or more parents.", "", "commits",
               {"merge": True}),
        Metric("commits by bots", int(commits["bot"].sum()), "Commits whose author is a bot.", "", "commits",
               {"bot": True}),
        Metric("people", len(people), f"{PEOPLE} {JOINED}", bots, "commits",
               {"bot": False}),
        Metric("new people", len(new), "Authors without a commit reachable from base under the same address.",
               bots, "commits", {"person": new}),
        Metric("pull requests", int(log["request"].notna().sum()),
               "Pull and merge requests that merges and squashed commits name."),
        *line_metrics(commits, "Lines of all these commits, including those that one of them undoes."),
    ]  # fmt: skip
    if before is not None:
        counts = "Commits of a period before base, as long as the one from base to the newest of these commits."
        metrics_list.append(Metric("commits before", len(before), counts, "", "before"))

    return metrics_list


def _sum(frame: Frame, column: str) -> int | None:
    if not len(frame) or frame[column].notna().any():
        return int(frame[column].sum())
    return None


def write_introduction(
    ends: Ends, diffs: Frame, commits: Frame, people: Frame, log: Frame, api: Frame | None, before: Frame | None
) -> list[str]:
    """Return the introduction: authors, files, changes, public symbols, and a comparison with the period before."""
    sentences = (
        _who(ends, commits, people),
        _size_text(diffs),
        _kinds(log),
        _api_text(api),
        _comparison_text(ends, commits, before),
    )
    return [sentence for sentence in sentences if sentence]


def no_commits_text(revisions: Ends) -> str:
    """Return the sentence for a head that has no commits beyond base, with the reason."""
    text = f"{revisions.head} has no commit that {revisions.base} lacks"
    if revisions.undone:
        return f"{text}: it is {count_of(revisions.undone, 'commit')} behind. Swap the two."
    return f"{text}."


def _who(revisions: Ends, commits: Frame, people: Frame) -> str:
    base, head, started = revisions.base, revisions.head, revisions.started
    if not len(commits):
        return no_commits_text(revisions)

    end_date = commits["commit_date"].max()
    since = f"{base} ({date_text(started)})" if started is not None else base
    new = int(people["new"].sum())
    bots = int(commits["bot"].sum())
    by = count_of(len(people), "person")
    text = f"{head} ({date_text(end_date)}) has {count_of(len(commits), 'commit')} since {since}"
    text += f": {len(commits) - bots:,} by {by} and {bots:,} by bots" if bots else f" by {by}"
    if not new:
        return f"{text}."

    names = people.loc[people["new"], "author"].astype("str").tolist()
    return f"{text}; {new:,} of the people {'is' if new == 1 else 'are'} new" + (
        f": {join_words(names)}." if new <= 4 else "."
    )


def _size_text(diffs: Frame) -> str:
    if not len(diffs):
        return "No file differs."

    additions, deletions = _sum(diffs, "additions"), _sum(diffs, "deletions")
    text = f"{count_of(len(diffs), 'file')} {'differs' if len(diffs) == 1 else 'differ'}"
    if additions is None or deletions is None:
        return f"{text}."

    # By the first directory only: deeper ones have too small shares for a sentence.
    size = (diffs["additions"].fillna(0) + diffs["deletions"].fillna(0)).astype("int64")
    folder = diffs["path"].map(lambda path: f"{path.partition('/')[0]}/" if "/" in path else "the top directory")
    totals = size.groupby(folder).sum()
    largest_shares = shares_text(totals.index.astype("str").tolist(), totals.tolist(), float(totals.sum()))
    text += f": {count_of(additions, 'line')} added and {deletions:,} removed"
    return f"{text}, most of them in {largest_shares}." if largest_shares else f"{text}."


def _kinds(log: Frame) -> str:
    if not len(log):
        return ""
    counts = log["kind"].value_counts()
    parts = [_count_text(kind, int(counts.get(kind, 0))) for kind in KINDS if counts.get(kind, 0)]
    are = "the change is" if len(log) == 1 else f"the {len(log):,} changes are"
    return f"By their titles, {are} {join_words(parts)}."


def _api_text(api: Frame | None) -> str:
    if api is None or not len(api):
        return ""
    counts = api["status"].astype("str").value_counts()
    parts = [f"{int(counts[name]):,} {name}" for name in API_ORDER if name in counts]
    # What the titles call breaking is seldom all that breaks callers.
    return f"Public symbols, by their declarations: {join_words(parts)}."


def _count_text(kind: str, count: int) -> str:
    return f"{count:,} {_NOUNS[kind] if count == 1 else _PLURALS.get(kind, plural(_NOUNS[kind]))}"


def _comparison_text(ends: Ends, commits: Frame, before: Frame | None) -> str:
    base, started = ends.base, ends.started
    if before is None or started is None:
        return ""

    time = duration_text((commits["commit_date"].max() - started).total_seconds() / 86_400)
    human = unify_names(before[~before["bot"].fillna(value=False).astype("bool")], None, join_addresses=True)
    people = len(human[["author", "author_email"]].drop_duplicates())
    count, earlier_count = len(commits), len(before)
    compared = compare_counts(count, earlier_count, f"the {time} before {base}")
    text = f"The {time} since {base} had {count_of(count, 'commit')}, {compared}"
    return f"{text}, by {count_of(people, 'person')}." if people else f"{text}."
