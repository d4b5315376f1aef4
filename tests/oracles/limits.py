"""Answers in other forms: counts, answers cut short, and lines with those around them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import sourcelight as sl
from oracles import answers, checks
from oracles.calls import compared
from oracles.epoch import Epoch, Outcome
from oracles.meaning import Row
from oracles.questions import Question


def limits(epoch: Epoch, rng: Random) -> Outcome:
    """A question about text, asked for a number, for a few rows, or with surroundings."""
    question = replace(replace(epoch.drawer, rng=rng).question(), select="")
    want = epoch.reader.rows(question)
    check = rng.choice((check_counts, check_groups, check_cap, check_limit, check_context))
    outcome = check(epoch, rng, question, want)
    return replace(outcome, pairs=sum(len(commit.documents) for commit in epoch.reader.select(question)))


def number(row: Row) -> int:
    """How many matches a row stands for."""
    return int(row[-1]) if row[0] == "content" else 1


def total(rows: Counter[Row]) -> int:
    """How many matches rows stand for."""
    return sum(number(row) * times for row, times in rows.items())


def check_counts(epoch: Epoch, rng: Random, question: Question, want: Counter[Row]) -> Outcome:
    """One number."""
    client = epoch.remote if rng.random() < 0.3 else epoch.client
    typed = question.text()
    got = client.count(typed, pattern_type=question.requested)
    subject = f"count({typed!r}, pattern_type={question.requested!r})"
    return Outcome(subject, "" if got == total(want) else f"- {total(want)}\n+ {got}")


def check_groups(epoch: Epoch, rng: Random, question: Question, want: Counter[Row]) -> Outcome:
    """Numbers by column."""
    columns = rng.choice((["repository"], ["path"], ["repository", "path"], ["type"], ["type", "repository"]))
    typed = question.text()
    frame = epoch.client.count_by(typed, by=columns, pattern_type=question.requested)
    position = {"type": 0, "repository": 1, "path": 3}
    summed: Counter[Any] = Counter()
    for row, times in want.items():
        summed[tuple(row[position[name]] for name in columns)] += number(row) * times
    got: Counter[Any] = Counter()
    for cells in zip(
        *(frame[name].astype(object).where(frame[name].notna(), None) for name in columns),
        frame["matches"],
        strict=True,
    ):
        got[cells[:-1]] += int(cells[-1])
    subject = f"count({typed!r}, by={columns}, pattern_type={question.requested!r})"
    result = compared(subject, summed, got)
    names = {commit.repository for commit in epoch.reader.select(question)}
    return result if result.difference else replace(result, difference=checks.status_problem(Said(frame), epoch, names))


class Said:
    """The status of a DataFrame, as an answer gives it."""

    def __init__(self, frame: Any) -> None:
        self.status = frame.attrs["status"]
        self.reasons = tuple(filter(None, (frame.attrs.get("reasons") or "").split("; ")))


def check_cap(epoch: Epoch, rng: Random, question: Question, want: Counter[Row]) -> Outcome:
    """A few of the rows, as many matches as were asked for, and said to be a few."""
    limit = rng.choice((1, 2, 3, 5, 10, 50))
    question = replace(question, count=limit)
    typed = question.text()
    client = epoch.remote if rng.random() < 0.3 else epoch.client
    result = client.search(typed, pattern_type=question.requested)
    subject = f"search({typed!r}, pattern_type={question.requested!r})"
    return Outcome(subject, part_of(result, want, limit))


def check_limit(epoch: Epoch, rng: Random, question: Question, want: Counter[Row]) -> Outcome:
    """All are counted, a few given."""
    limit = rng.choice((1, 2, 3, 5, 10, 50))
    typed = question.text()
    result = epoch.client.search(typed, pattern_type=question.requested, limit=limit)
    subject = f"search({typed!r}, pattern_type={question.requested!r}, limit={limit})"
    difference = part_of(result, want, limit)
    count = int(result.progress["match_count"].iloc[-1]) if len(result.progress) else 0
    if not difference and count != total(want):
        difference = f"counted {count}, not {total(want)}"
    return Outcome(subject, difference)


def part_of(result: Any, want: Counter[Row], limit: int) -> str:
    """What is wrong with an answer of at most so many matches; a line that was cut has fewer marks."""
    got = answers.text_rows(result)
    everything = {bare(row): row for row in want}
    for row in got:
        full = everything.get(bare(row))
        if full is None or (row != full and not is_cut(row, full)):
            return f"+ {answers.shorter(row)}\n- {answers.shorter(full)}"
    expected = min(limit, total(want))
    if total(got) != expected:
        return f"{total(got)} matches for {expected} of {total(want)}"
    capped = any(reason.endswith(("limited by count:", "limited by limit=")) for reason in result.reasons)
    status = "partial" if len(result.reasons) == 1 else "limited"  # replaced objects are told beside it
    if total(want) > limit and not (capped and result.status == status):
        return f"status {result.status} {result.reasons} with {limit} of {total(want)} matches"
    return f"status {result.status} {result.reasons} of a whole answer" if total(want) < limit and capped else ""


def bare(row: Row) -> Row:
    """A row without its marks."""
    return row[:4] if row[0] != "content" else (*row[:4], *row[6:8])


def is_cut(row: Row, full: Row) -> bool:
    """Whether the marks of a line are the first of another's."""
    if row[0] != "content":
        return False
    size = len(row[8])
    return bool(row[:8] == full[:8] and row[8] == full[8][:size] and row[9] == full[9][:size])


def check_context(epoch: Epoch, rng: Random, question: Question, want: Counter[Row]) -> Outcome:
    """The same rows, each in a piece of its file."""
    lines = rng.choice((0, 1, 1, 3))
    typed = question.text()
    client: sl.Client = epoch.remote if rng.random() < 0.5 else epoch.client
    result = client.search(typed, pattern_type=question.requested, context_lines=lines)
    subject = f"search({typed!r}, pattern_type={question.requested!r}, context_lines={lines})"
    difference = answers.difference(want, answers.text_rows(result))
    if difference:
        return Outcome(subject, difference)
    texts = {
        (commit.repository, commit.revision, document.display_path): document.data.split(b"\n")
        for commit in epoch.reader.select(question)
        for document in commit.documents
    }
    twice = Counter(
        (c.repository, c.revision, d.display_path) for c in epoch.reader.select(question) for d in c.documents
    )
    names = ("repository", "revision", "path", "line_number", "chunk", "chunk_start_line", "type")
    for *key, position, chunk, first, kind in zip(
        *(result.arrow.column(name).to_pylist() for name in names), strict=True
    ):
        if kind != "content" or twice[tuple(key)] > 1:
            continue
        rows = [row.decode(errors="replace") for row in texts[tuple(key)]]
        got = chunk.split("\n")
        # Whether the newline of its last line belongs to a chunk is left open.
        everything = [got] if got[-1] else [got, got[:-1]]
        fits = [item for item in everything if item == rows[first - 1 : first - 1 + len(item)]]
        if not fits:
            file_lines = rows[first - 1 : first - 1 + len(got)]
            return Outcome(
                subject, f"chunk of {key} from {first}: {answers.shorter(got)}\nnot {answers.shorter(file_lines)}"
            )
        if not (first <= max(position - lines, 1) and position <= first + len(fits[0]) - 1):
            return Outcome(subject, f"chunk of {key} from {first}, {len(got)} lines, is not around line {position}")
    return Outcome(subject)
