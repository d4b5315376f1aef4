"""The summary of the change report: its numbers, and what they come to in a few sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sourcelight.core.markup import count_of, join_words, plural
from sourcelight.lab.reports.history import line_metrics
from sourcelight.lab.reports.kinds import KINDS
from sourcelight.lab.reports.model import Frame, Metric
from sourcelight.lab.reports.people import JOINED, PEOPLE, one_name_each
from sourcelight.lab.reports.wording import against, day, length, shares

_NOUNS = {
    "breaking": "breaking change", "features": "feature", "fixes": "fix", "docs": "change of documentation",
    "tests": "change of tests", "dependencies": "change of dependencies", "other": "other change",
}  # fmt: skip
_PLURALS = {"fixes": "fixes", "docs": "changes of documentation", "tests": "changes of tests",
            "dependencies": "changes of dependencies"}  # fmt: skip


def metrics(diffs: Frame, commits: Frame, people: Frame, log: Frame, before: Frame | None) -> list[Metric]:
    """The numbers of the report."""
    unknown = int(diffs["additions"].isna().sum())
    left_out = f"{count_of(unknown, 'file')} whose content is missing or not told." if unknown else ""
    binary = int(diffs["binary"].fillna(value=False).sum())
    bots = "bots, and co-authors without a commit of their own."
    new = people.loc[people["new"], "person"].tolist()
    found = [
        Metric("files", len(diffs), "Files that differ, renames counted once.", "", "changes"),
        Metric("lines more", _sum(diffs, "additions"), "Lines that head has and base has not.", left_out, "changes"),
        Metric("lines less", _sum(diffs, "deletions"), "Lines that base has and head has not.", left_out, "changes"),
        Metric("binary files", binary, "Files that git takes for binary.", "", "changes", {"binary": True}),
        Metric("commits", len(commits), "Commits behind head and not behind base, merges included.", "", "commits"),
        Metric("merges", int(commits["merge"].sum()), "Commits with two or more parents.", "", "commits",
               {"merge": True}),
        Metric("commits by bots", int(commits["bot"].sum()), "Commits whose author is a bot.", "", "commits",
               {"bot": True}),
        Metric("people", len(people), f"{PEOPLE} {JOINED}", bots, "commits",
               {"bot": False}),
        Metric("new people", len(new), "People of these commits without a commit behind base under the same address.",
               bots, "commits", {"person": new}),
        Metric("pull requests", int(log["request"].notna().sum()),
               "Pull and merge requests that merges and squashed commits name."),
        *line_metrics(commits, "Lines of all these commits, what they undo of each other included."),
    ]  # fmt: skip
    if before is not None:
        about = "Commits behind base of as long a time before base as the newest of these commits is behind it."
        found.append(Metric("commits before", len(before), about, "", "before"))
    return found


def _sum(frame: Frame, column: str) -> int | None:
    return int(frame[column].sum()) if not len(frame) or frame[column].notna().any() else None


@dataclass(frozen=True, slots=True)
class Ends:
    """The two revisions as they were asked for, the date of base, and how many commits only base has."""

    base: str
    head: str
    started: Any
    undone: int


def lead(ends: Ends, diffs: Frame, commits: Frame, people: Frame, log: Frame, before: Frame | None) -> list[str]:
    """What changed, who did it, where, and how that compares with the time before."""
    sentences = (_who(ends, commits, people), _where(diffs), _kinds(log), _compared(ends, commits, before))
    return [sentence for sentence in sentences if sentence]


def nothing(ends: Ends) -> str:
    """That head has no commit of its own, and why."""
    text = f"{ends.head} has no commit that {ends.base} has not"
    return f"{text}: it is {count_of(ends.undone, 'commit')} behind. Exchange the two." if ends.undone else f"{text}."


def _who(ends: Ends, commits: Frame, people: Frame) -> str:
    base, head, started = ends.base, ends.head, ends.started
    if not len(commits):
        return nothing(ends)
    ended = commits["commit_date"].max()
    since = f"{base} of {day(started)}" if started is not None else base
    new = int(people["new"].sum())
    bots = int(commits["bot"].sum())
    by = count_of(len(people), "person") + (f" ({bots:,} by {'a bot' if bots == 1 else 'bots'})" if bots else "")
    text = f"{head}, of {day(ended)}, has {count_of(len(commits), 'commit')} by {by} since {since}"
    if not new:
        return f"{text}."
    names = people.loc[people["new"], "author"].astype("str").tolist()
    return f"{text}; {new:,} of the people {'is' if new == 1 else 'are'} new" + (
        f": {join_words(names)}." if new <= 4 else "."
    )


def _where(diffs: Frame) -> str:
    if not len(diffs):
        return "No file differs."
    more, less = _sum(diffs, "additions"), _sum(diffs, "deletions")
    text = f"{count_of(len(diffs), 'file')} {'differs' if len(diffs) == 1 else 'differ'}"
    if more is None or less is None:
        return f"{text}."
    size = (diffs["additions"].fillna(0) + diffs["deletions"].fillna(0)).astype("int64")
    folder = diffs["path"].map(lambda path: f"{path.partition('/')[0]}/" if "/" in path else "the top")
    totals = size.groupby(folder).sum()
    most = shares(totals.index.astype("str").tolist(), totals.tolist(), float(totals.sum()))
    text += f": {count_of(more, 'line')} more and {less:,} less"
    return f"{text}, most of them in {most}." if most else f"{text}."


def _kinds(log: Frame) -> str:
    if not len(log):
        return ""
    counts = log["kind"].value_counts()
    parts = [_counted(kind, int(counts.get(kind, 0))) for kind in KINDS if counts.get(kind, 0)]
    are = "the change is" if len(log) == 1 else f"the {len(log):,} changes are"
    return f"By their titles, {are} {join_words(parts)}."


def _counted(kind: str, count: int) -> str:
    return f"{count:,} {_NOUNS[kind] if count == 1 else _PLURALS.get(kind, plural(_NOUNS[kind]))}"


def _compared(ends: Ends, commits: Frame, before: Frame | None) -> str:
    base, started = ends.base, ends.started
    if before is None or started is None:
        return ""
    time = length((commits["commit_date"].max() - started).total_seconds() / 86_400)
    human = one_name_each(before[~before["bot"].fillna(value=False).astype("bool")], None, join_addresses=True)
    people = len(human[["author", "author_email"]].drop_duplicates())
    now, then = len(commits), len(before)
    if not then:
        return f"There was no commit in the {time} before {base}."
    had = f"which had {then:,} by {count_of(people, 'person')}"
    are = "is" if now == 1 else "are"
    return f"{count_of(now, 'commit')} {are} {against(now, then)} in the {time} before {base}, {had}."
