"""The introduction of a story: the first commit, the authors, former locations and the current state.

wait was added by Ada on 2021-03-04 in src/retry.py: “Retry once”. 9 commits changed it, by 2 people: Ada with 7
of them. The last was made by Bob on 2024-06-28. It moved once: from src/net.py by Ada on 2022-01-05.
"""

from __future__ import annotations

from typing import Any

from sourcelight.core.markup import count_of, join_words, name_in_sentence, single_marks
from sourcelight.lab.reports.answers import is_shallow
from sourcelight.lab.reports.model import Frame
from sourcelight.lab.reports.sections.story_data import MOVED, Thing, location, locations
from sourcelight.lab.reports.text import date_text, person_labels, shares_text

_MAX_NAMED_MOVES = 3
"""Moves that the introduction describes; the section of moves has all."""


def write_introduction(story_subject: Thing, changes: Frame, commits: Frame) -> list[str]:
    """Return the introduction: the first commit, authors, former locations and the current state."""
    sentences = [
        _beginning(story_subject, changes),
        _work(story_subject, commits),
        _move_text(story_subject, changes),
        _end(story_subject, changes),
    ]
    return [sentence for sentence in sentences if sentence]


def _beginning(story_subject: Thing, changes: Frame) -> str:
    first = changes.iloc[-1]
    subject = f": \u201c{single_marks(str(first['subject']))}\u201d"
    if str(first["status"]) != "added":
        return f"The oldest known commit that changed {story_subject.name} was made {_by(first)}{subject}."

    if is_shallow(changes):
        # The oldest commits of a shallow clone seem to add every file.
        oldest = f"The oldest known commit with {story_subject.name} was made {_by(first)}{subject}"
        return f"{oldest}; older ones may be missing, because this is a shallow clone."

    name = location(dict(first))
    if not story_subject.is_one:
        return f"The first file of {story_subject.name} was added {_by(first)} as {name}{subject}."

    newest = changes.iloc[0]
    if name == location(dict(newest)):
        name_text = ""
    elif "symbol" in changes and str(first["symbol"]) == str(newest["symbol"]):
        name_text = f" in {first['path']}"
    else:
        name_text = f" as {name}"

    return f"{story_subject.name} was added {_by(first)}{name_text}{subject}."


def _by(row: Any) -> str:
    return f"by {name_in_sentence(str(row['author']))} on {date_text(row['commit_date'])}"


def _work(subject: Thing, commits: Frame) -> str:
    """Return who changed the subject: ``9 commits changed it, 2 of them by bots: 7 by 1 person: Ada. The last …``."""
    human = commits[~commits["bot"]]
    bot_count = len(commits) - len(human)
    object_text = "it" if subject.is_one else "its files"
    text = f"{count_of(len(commits), 'commit')} changed {object_text}"
    if bot_count:
        text += f", {bot_count:,} of them by bots"
    if not len(human):
        return f"{text}."

    counts = human.groupby("person", observed=True).size().sort_values(ascending=False, kind="stable")
    people = count_of(len(counts), "person")
    if bot_count:
        text += f": {len(human):,} by {people}"
    else:
        text += f", by {people}"

    labels = person_labels(counts.index.tolist())
    if len(counts) > 1:
        names = shares_text(labels, counts.tolist(), float(len(human)))
    else:
        names = labels[0]
    if names:
        text += f": {names}"
    return f"{text}. The last was made {_by(commits.iloc[0])}."


def _move_text(subject: Thing, changes: Frame) -> str:
    rows = changes[changes["status"].astype("str").isin(MOVED)]
    if not len(rows):
        return ""
    if not subject.is_one:
        commits = rows["commit"].astype("str").nunique()
        return f"{count_of(len(rows), 'change')} in {count_of(commits, 'commit')} moved files within it or into it."

    moves = [f"from {locations(row)[0]} {_by(row)}" for row in rows.head(_MAX_NAMED_MOVES).to_dict("records")]
    times = "once" if len(rows) == 1 else f"{len(rows):,} times"
    text = f"It moved {times}: {join_words(moves)}"
    hidden_count = len(rows) - len(moves)
    if hidden_count:
        text += f", and {count_of(hidden_count, 'time')} before"
    return f"{text}."


def _end(subject: Thing, changes: Frame) -> str:
    if subject.exists:
        return ""
    deletions = changes[changes["status"].astype("str") == "deleted"]
    if not subject.is_one or not len(deletions):
        return f"The revision no longer has {subject.name}."
    row = deletions.iloc[0]
    return f"It was deleted {_by(row)}: \u201c{single_marks(str(row['subject']))}\u201d."
