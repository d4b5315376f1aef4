"""Asking the product a question, and holding its rows against the oracle's."""

from __future__ import annotations

import sourcelight as sl
from oracles import answers
from oracles.epoch import Epoch, Outcome
from oracles.questions import Atom, Question


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
