"""The areas of the run: each draws a case, asks the product, and holds the answer against an oracle."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import sourcelight as sl
from oracles import answers, calls
from oracles.epoch import Check, Epoch, Outcome
from oracles.questions import Atom, Question

Rows = Any


def text(epoch: Epoch, rng: Random) -> Outcome:
    """Queries over text, paths and names: rows equal those of RE2 alone."""
    question = replace_rng(epoch, rng).question()
    return check_text(epoch, epoch.client, question)


def patterns(epoch: Epoch, rng: Random) -> Outcome:
    """Single patterns over every text of the fleet: many pairs of pattern and text in one query."""
    drawer = replace_rng(epoch, rng)
    atom = drawer.atom("rrrrrl")
    question = Question(atom, (), ("file",), rng.random() < 0.4, style=rng.randrange(420))
    return check_text(epoch, epoch.client, question)


def history(epoch: Epoch, rng: Random) -> Outcome:
    """Queries over commits and changed lines: rows equal those of git's log read line by line."""
    words, times = epoch.history_words
    question = replace_rng(epoch, rng).history_question(words, times)
    return check_history(epoch, epoch.client, question)


def http(epoch: Epoch, rng: Random) -> Outcome:
    """The same queries by loopback HTTP."""
    drawer = replace_rng(epoch, rng)
    if rng.random() < 0.6:
        return check_text(epoch, epoch.remote, drawer.question())
    return check_history(epoch, epoch.remote, drawer.history_question(*epoch.history_words))


def again(epoch: Epoch, rng: Random) -> Outcome:
    """A query asked three times, the last time with another limit: what was kept changes no answer."""
    question = replace_rng(epoch, rng).question()
    first = check_text(epoch, epoch.client, question)
    if first.difference:
        return first
    return check_text(epoch, epoch.client, question)


def replace_rng(epoch: Epoch, rng: Random) -> Any:
    """The drawer of an epoch, with its own chance."""
    return replace(epoch.drawer, rng=rng)


def check_text(epoch: Epoch, client: sl.Client, question: Question) -> Outcome:
    """Ask a question about text, and hold the rows against the oracle's."""
    typed = question.text()
    want = answers.unmarked(epoch.reader.rows(question), question.select)
    try:
        result = client.search(typed, pattern_type=question.pattern_type)
        got = answers.text_rows(result, question.select)
        status = "" if result.status == "complete" else f"status {result.status}: {', '.join(result.reasons)}\n"
    except sl.SourcelightError as error:
        return Outcome(asked(question), f"{type(error).__name__}: {error}", question=question)
    pairs = documents(epoch, question)
    return Outcome(asked(question), status + answers.difference(want, got), pairs, question=question)


def documents(epoch: Epoch, question: Question) -> int:
    """How many pairs of a pattern and a text a question is about."""
    patterns = 1 if isinstance(question.tree, Atom) else 2
    return patterns * sum(len(commit.documents) for commit in epoch.reader.chosen(question))


def check_history(epoch: Epoch, client: sl.Client, question: Question) -> Outcome:
    """Ask a question about history, and hold the rows against the oracle's."""
    typed = question.text()
    before = epoch.histories.pairs
    want = epoch.histories.rows(question)
    try:
        result = client.search(typed, pattern_type=question.pattern_type)
        got = answers.history_rows(result)
    except sl.SourcelightError as error:
        return Outcome(asked(question), f"{type(error).__name__}: {error}", question=question)
    # A shallow clone has no more history; the product says so where one is asked.
    told = {reason.partition(":")[0] for reason in result.reasons} - {"history-incomplete"}
    status = f"status {result.status}: {', '.join(result.reasons)}\n" if told else ""
    return Outcome(
        asked(question), status + answers.difference(want, got), epoch.histories.pairs - before, question=question
    )


def asked(question: Question) -> str:
    """The call as one would type it."""
    return f"search({question.text()!r}, pattern_type={question.pattern_type!r})"


AREAS: dict[str, Check] = {
    "text": text,
    "patterns": patterns,
    "history": history,
    "calls": calls.call,
    "http": http,
    "again": again,
}
WEIGHTS = {"text": 6, "patterns": 8, "history": 5, "calls": 2, "http": 2, "again": 1}
