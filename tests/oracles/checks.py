"""Asking the product a question, and holding its rows against the oracle's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import sourcelight as sl
from oracles import answers
from oracles.epoch import Epoch, Outcome
from oracles.meaning import Row
from oracles.questions import Atom, Question, atoms


def check_text(
    epoch: Epoch, client: sl.Client, question: Question, transform: Callable[[Row], Row] | None = None
) -> Outcome:
    """Ask a question about text, and hold the rows, as `shown` makes them, against the oracle's."""
    typed = question.text()
    want = answers.unmarked(epoch.reader.rows(question), question.select)
    try:
        result = client.search(typed, pattern_type=question.requested)
        got = answers.text_rows(result, question.select)
        if transform:
            got = Counter({transform(row): count for row, count in got.items()})
        status = status_problem(result, epoch, {commit.repository for commit in epoch.reader.select(question)})
    except sl.SourcelightError as error:
        return Outcome(subject_of(question), f"{type(error).__name__}: {error}", question=question)
    pairs = documents(epoch, question)
    return Outcome(subject_of(question), status + answers.difference(want, got), pairs, question=question)


def has_vain_pattern(epoch: Epoch, question: Question) -> bool:
    """Whether some pattern matches no changed line of the fleet."""
    changes = [
        change for history in epoch.histories.histories for commit in history.commits for change in commit.changes
    ]
    matchers = [epoch.histories.matcher(atom, case_sensitive=question.case_sensitive) for atom in atoms(question.tree)]
    return any(not any(matcher.any(line.text) for change in changes for line in change.lines) for matcher in matchers)


def status_problem(result: Any, epoch: Epoch, names: set[str], *, history: bool = False, unread: bool = False) -> str:
    """What is wrong with the status of an answer about these repositories."""
    shapes = [repository.shape for repository in epoch.fleet.repositories if repository.name in names]
    want = {"objects-replaced"} if any(shape.replace for shape in shapes) else set()
    if history and any(shape.clone == "shallow" for shape in shapes):
        want.add("history-incomplete")
    got = {reason.partition(":")[0] for reason in result.reasons}
    if unread:
        want.discard("history-incomplete")
        got.discard("history-incomplete")
    status = "limited" if want or (unread and result.status == "limited") else "complete"
    if (got, result.status) == (want, status):
        return ""
    return f"status {result.status} for {status}: {', '.join(result.reasons)} for {', '.join(sorted(want))}\n"


def documents(epoch: Epoch, question: Question) -> int:
    """How many pairs of a pattern and a text a question is about."""
    patterns = 1 if isinstance(question.tree, Atom) else 2
    return patterns * sum(len(commit.documents) for commit in epoch.reader.select(question))


def check_history(epoch: Epoch, client: sl.Client, question: Question) -> Outcome:
    """Ask a question about history, and hold the rows against the oracle's."""
    typed = question.text()
    before = epoch.histories.pairs
    want = epoch.histories.rows(question)
    try:
        result = client.search(typed, pattern_type=question.requested)
        got = answers.history_rows(result)
    except sl.SourcelightError as error:
        if "newline" in str(error) and "diff" in question.types and has_vain_pattern(epoch, question):
            return Outcome(subject_of(question))  # refused by name: no line has a newline
        return Outcome(subject_of(question), f"{type(error).__name__}: {error}", question=question)
    names = {history.repository for history in epoch.histories.select(question)}
    # What is selected may be of another kind than commits, so that none has to be read.
    unread = question.select not in ("", "repo", "commit") and not want
    status = status_problem(result, epoch, names, history=True, unread=unread)
    return Outcome(
        subject_of(question), status + answers.difference(want, got), epoch.histories.pairs - before, question=question
    )


def subject_of(question: Question) -> str:
    """The call as one would type it."""
    return f"search({question.text()!r}, pattern_type={question.requested!r})"
