"""The summary of the change report: its numbers, and the sentences that introduce it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sourcelight.core.markup import count_of, join_words, name_in_sentence, plural
from sourcelight.lab.reports.files import largest_directories
from sourcelight.lab.reports.history import line_metrics
from sourcelight.lab.reports.model import Frame, Metric
from sourcelight.lab.reports.people import JOINED, PEOPLE, future_text, people_before_metric, unify_names
from sourcelight.lab.reports.sections.change_data import count_symbols
from sourcelight.lab.reports.sections.changelog import KINDS
from sourcelight.lab.reports.text import (
    compare_commits,
    date_text,
    duration_text,
    people_commits,
)

_NOUNS = {
    "breaking": "breaking change", "features": "feature", "fixes": "fix", "docs": "change of documentation",
    "tests": "change of tests", "dependencies": "change of dependencies", "other": "other change",
}  # fmt: skip

_PLURALS = {"fixes": "fixes", "docs": "changes of documentation", "tests": "changes of tests",
            "dependencies": "changes of dependencies"}  # fmt: skip
"""Plurals that don't end in an s behind the noun."""

_MAX_NEW_NAMES = 4
"""New people up to which a sentence names them all."""

_DAY_S = 86_400
"""Seconds of a day."""

_NO_BOTS = "bots, and co-authors without a commit of their own."


@dataclass(frozen=True, slots=True)
class Ends:
    """The two revisions as requested, the dates of base and head, and the number of commits that only base has."""

    base: str
    head: str
    started: datetime | None
    head_date: datetime | None
    undone: int


def metrics(diffs: Frame, commits: Frame, people: Frame, log: Frame, before: Frame | None) -> list[Metric]:
    """Return the numbers of the report.

    Parameters
    ----------
    diffs, commits, people, log
        Rows of files, commits, authors, and merged changes that the report counts.
    before
        Commits of a period of the same length before base; None if there is none.
    """
    numbers = [
        *_file_metrics(diffs),
        *_commit_metrics(commits, people),
        Metric(
            name="pull requests",
            value=int(log["request"].notna().sum()),
            counts="Pull and merge requests that merges and squashed commits name.",
        ),
        *line_metrics(commits, "Lines of all these commits, including those that one of them undoes."),
    ]
    if before is not None:
        counts = "Commits of a period before base, as long as the one from base to the newest of these commits."
        numbers.append(Metric(name="commits before", value=len(before), counts=counts, source="before"))
        numbers.append(people_before_metric(before))

    return numbers


def _file_metrics(diffs: Frame) -> list[Metric]:
    excludes = ""
    unknown = int(diffs["additions"].isna().sum())
    if unknown:
        excludes = f"{count_of(unknown, 'file')} whose content is missing or unknown."

    return [
        Metric(name="files", value=len(diffs), counts="Files that differ, renames counted once.", source="changes"),
        Metric(
            name="diff additions",
            value=_sum(diffs, "additions"),
            counts="Lines that head has and base lacks.",
            excludes=excludes,
            source="changes",
        ),
        Metric(
            name="diff deletions",
            value=_sum(diffs, "deletions"),
            counts="Lines that base has and head lacks.",
            excludes=excludes,
            source="changes",
        ),
        Metric(
            name="binary files",
            value=int(diffs["binary"].fillna(value=False).sum()),
            counts="Files with a NUL byte in their first 8,000 bytes, whatever .gitattributes says.",
            source="changes",
            filters={"binary": True},
        ),
    ]


def _commit_metrics(commits: Frame, people: Frame) -> list[Metric]:
    return [
        Metric(
            name="commits",
            value=len(commits),
            counts="Commits from base to head, merges included.",
            source="commits",
        ),
        Metric(
            name="merges",
            value=int(commits["merge"].sum()),
            counts="Commits with two or more parents.",
            source="commits",
            filters={"merge": True},
        ),
        Metric(
            name="commits by bots",
            value=int(commits["bot"].sum()),
            counts="Commits whose author is a bot.",
            source="commits",
            filters={"bot": True},
        ),
        Metric(
            name="people",
            value=len(people),
            counts=f"{PEOPLE} {JOINED}",
            excludes=_NO_BOTS,
            source="commits",
            filters={"bot": False},
        ),
        _new_people_metric(people),
    ]


def _new_people_metric(people: Frame) -> Metric:
    name, counts = "new people", "Authors without a commit reachable from base under the same address."
    if "new" not in people:
        return Metric(name, None, counts, "everyone: this is a shallow clone, without its older commits.")
    new = people.loc[people["new"], "person"].tolist()
    return Metric(name, len(new), counts, _NO_BOTS, source="commits", filters={"person": new})


def _sum(frame: Frame, column: str) -> int | None:
    """Return a sum, or None if no row has a value."""
    # Null is unknown, zero is counted: a sum over nulls alone would show a false 0.
    if not len(frame) or frame[column].notna().any():
        return int(frame[column].sum())
    return None


def write_introduction(
    ends: Ends, diffs: Frame, commits: Frame, people: Frame, log: Frame, api: Frame | None, before: Frame | None
) -> list[str]:
    """Return the introduction: authors, files, changes, public symbols, and a comparison with the period before."""
    sentences = (
        _authors_text(ends, commits, people),
        _size_text(diffs),
        _kinds_text(log),
        _symbols_text(api),
        _comparison_text(ends, commits, before),
        future_text(commits),
    )
    return [sentence for sentence in sentences if sentence]


def no_commits_text(ends: Ends) -> str:
    """Return the sentence for a head that has no commits beyond base, with the reason."""
    text = f"{ends.head} has no commit that {ends.base} lacks"
    if ends.undone:
        return f"{text}: it is {count_of(ends.undone, 'commit')} behind. Swap the two."
    return f"{text}."


def _authors_text(ends: Ends, commits: Frame, people: Frame) -> str:
    """Return how many commits by how many people there are, and who of them is new."""
    if not len(commits):
        return no_commits_text(ends)

    base = ends.base
    if ends.started is not None:
        base += f" ({date_text(ends.started)})"

    # The date of head, which isn't that of the newest commit where rebases or clocks changed the order.
    head_date = date_text(ends.head_date or commits["commit_date"].max())
    # From another branch, as of a maintained version, commits may be older than base.
    since = f"that {base} lacks" if ends.undone else f"since {base}"
    text = f"{ends.head} ({head_date}) has {count_of(len(commits), 'commit')} {since}"
    authors = count_of(len(people), "person")
    bots = int(commits["bot"].sum())
    if bots:
        text += f": {len(commits) - bots:,} by {authors} and {bots:,} by bots"
    else:
        text += f" by {authors}"

    new_names = people.loc[people["new"], "author"].astype("str").tolist() if "new" in people else []
    if new_names:
        text += f"; {len(new_names):,} of the people {'is' if len(new_names) == 1 else 'are'} new"
        if len(new_names) <= _MAX_NEW_NAMES:
            text += f": {join_words([name_in_sentence(name) for name in new_names])}"

    return f"{text}."


def _size_text(diffs: Frame) -> str:
    """Return how many files differ, by how many lines, and in which directories most of them are."""
    if not len(diffs):
        return "No file differs."

    text = f"{count_of(len(diffs), 'file')} {'differs' if len(diffs) == 1 else 'differ'}"
    additions, deletions = _sum(diffs, "additions"), _sum(diffs, "deletions")
    if additions is None or deletions is None:
        return f"{text}."

    text += f": {count_of(additions, 'line')} added and {deletions:,} removed"
    # By the first directory only: deeper ones have too small shares for a sentence. The section of files has the same.
    shares, other_files = largest_directories(diffs)
    if shares and other_files:
        text += f". {other_files}, most changed lines are in {shares}"
    elif shares:
        text += f", most of them in {shares}"
    return f"{text}."


def _kinds_text(log: Frame) -> str:
    """Return how many changes of each kind there are."""
    if not len(log):
        return ""

    counts = log["kind"].value_counts()
    kinds = join_words([_count_text(kind, int(counts[kind])) for kind in KINDS if kind in counts])
    subject = "the change is" if len(log) == 1 else f"the {len(log):,} changes are"
    return f"By their titles, {subject} {kinds}."


def _count_text(kind: str, count: int) -> str:
    noun = _NOUNS[kind]
    if count != 1:
        noun = _PLURALS.get(kind, plural(noun))
    return f"{count:,} {noun}"


def _symbols_text(api: Frame | None) -> str:
    """Return how many public symbols differ."""
    # Beside the kinds by titles: what titles call breaking is seldom all that breaks callers.
    if api is None or not len(api):
        return ""
    return f"Public symbols, by their declarations: {count_symbols(api)}."


def _comparison_text(ends: Ends, commits: Frame, before: Frame | None) -> str:
    """Return a comparison of the number of commits with that of the period before."""
    if before is None or ends.started is None:
        return ""

    days = (commits["commit_date"].max() - ends.started).total_seconds() / _DAY_S
    time = duration_text(days)
    # The first sentence has the commits of bots.
    compared, _ = compare_commits(commits, before, f"the {time} before {ends.base}")
    text = f"The {time} since {ends.base} brought {compared}"

    human = unify_names(people_commits(before), None, join_addresses=True)
    people = len(human[["author", "author_email"]].drop_duplicates())
    if people:
        text += f", by {count_of(people, 'person')}"
    return f"{text}."
