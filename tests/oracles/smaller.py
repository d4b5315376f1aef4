"""Finding the smallest question and the smallest file that still show a difference."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from oracles import answers, checks, fleets, repositories
from oracles.epoch import Epoch, Outcome
from oracles.expressions import compiles
from oracles.git_history import LoggedCommit
from oracles.git_reader import Document, git
from oracles.meaning import Commit
from oracles.questions import Atom, Both, Either, Question, Tree, Without
from oracles.repositories import Made

BOUND_S = 40.0


def smallest(epoch: Epoch, area: str, outcome: Outcome) -> dict[str, str]:
    """A smaller form of a failing case, in words; empty where there is nothing to make smaller."""
    question = outcome.question
    if not isinstance(question, Question):
        return {}
    deadline = time.monotonic() + BOUND_S
    client = epoch.remote if area == "http" else epoch.client
    check = checks.check_history if {"commit", "diff"} & set(question.types) else checks.check_text

    def fails(candidate: Question) -> bool:
        return time.monotonic() < deadline and bool(check(epoch, client, candidate).difference)

    question = shrunk(question, fails)
    result = f"{checks.subject_of(question)}\n{check(epoch, client, question).difference}"
    if area != "http" and not question.revision:
        reducer = one_file if check is checks.check_text else one_change
        result += reducer(epoch, question, deadline)
    return {"smaller": result}


def shrunk(question: Question, fails: Callable[[Question], bool]) -> Question:
    """The smallest question of those tried that still fails."""
    progress = True
    while progress:
        progress = False
        for candidate in candidates(question):
            if fails(candidate):
                question, progress = candidate, True
                break
    return question


def candidates(question: Question) -> Iterator[Question]:
    """Questions with a little less."""
    for index in range(len(question.filters)):
        if not (question.revision and question.filters[index].field == "repo"):
            yield replace(question, filters=(*question.filters[:index], *question.filters[index + 1 :]))
    if question.select:
        yield replace(question, select="")
    if question.tree is not None:
        for tree in smaller_trees(question.tree):
            yield replace(question, tree=tree)
    if question.case_sensitive:
        yield replace(question, case_sensitive=False)
    if question.style:
        yield replace(question, style=0)


def smaller_trees(tree: Tree) -> Iterator[Tree]:
    """Trees with a part less, or with a shorter pattern."""
    match tree:
        case Atom():
            for text in smaller_texts(tree.text):
                if text.strip() and (not tree.regexp or compiles(text)):
                    yield replace(tree, text=text)
        case Without(part):
            yield part
            yield from (Without(smaller) for smaller in smaller_trees(part) if isinstance(smaller, Atom))
        case Both(parts) | Either(parts):
            yield from parts
            for index in range(len(parts)):
                if len(parts) > 2:
                    yield type(tree)((*parts[:index], *parts[index + 1 :]))
            for index, item in enumerate(parts):
                for less in smaller_trees(item):
                    yield type(tree)((*parts[:index], less, *parts[index + 1 :]))


def smaller_texts(text: str) -> Iterator[str]:
    """A text with a piece less, large pieces first."""
    size = len(text) // 2
    while size:
        for index in range(0, len(text) - size + 1, size):
            yield text[:index] + text[index + size :]
        size //= 2


def one_file(epoch: Epoch, question: Question, ends: float) -> str:
    """The smallest single file, in a repository of its own, about which the question is still answered wrongly."""
    for commit in epoch.reader.select(question):
        for document in commit.documents:
            if time.monotonic() > ends:
                return ""
            if not is_suspect(epoch, question, commit, document):
                continue
            rows, position = document.data, 0
            if not fails_alone(epoch, question, document.path, rows):
                continue
            while position < len(rows) and time.monotonic() < ends and len(rows) < 20_000:
                size = max(1, len(rows) // 8)
                shorter = rows[:position] + rows[position + size :]
                if fails_alone(epoch, question, document.path, shorter):
                    rows = shorter
                else:
                    position += size
            return f"\nalone: path {document.path!r} content {answers.shorter(rows)}"
    return ""


def is_suspect(epoch: Epoch, question: Question, commit: Commit, document: Document) -> bool:
    """Whether the rows of one file are wrong."""
    want = set(epoch.reader.file_rows(commit, document, question))
    result = epoch.client.search(question.text(), pattern_type=question.requested)
    got = {row for row in answers.text_rows(result) if row[1] == commit.repository and row[3] == document.display_path}
    return want != got


_COUNT = iter(range(1_000_000))


def fails_alone(epoch: Epoch, question: Question, path: bytes, data: bytes) -> bool:
    """Whether the question fails in a repository that holds one file."""
    small_epoch = Epoch(epoch.seed, epoch.folder / f"alone-{next(_COUNT)}", shapes=())
    folder = small_epoch.folder / "fleet" / "alone"
    try:
        created = repositories.make_simple(folder, {path: data})
        small_epoch.__dict__["fleet"] = fleets.Fleet(small_epoch.folder / "fleet", [created])
        bare = replace(question, filters=tuple(f for f in question.filters if f.field != "repo"))
        return bool(checks.check_text(small_epoch, small_epoch.client, bare).difference)
    finally:
        small_epoch.close()


@dataclass(frozen=True)
class Change:
    """One commit, and what it did to one file; None where there is no file."""

    message: bytes
    person: bytes
    date: bytes
    old_path: bytes = b""
    old: bytes | None = None
    path: bytes = b""
    new: bytes | None = None

    def to_text(self) -> str:
        """In words."""
        files = f"{self.old_path!r} {answers.shorter(self.old)} -> {self.path!r} {answers.shorter(self.new)}"
        return f"\nalone: message {self.message!r} by {self.person!r} at {self.date!r}, {files}"


def one_change(epoch: Epoch, question: Question, ends: float) -> str:
    """The smallest commit of one file, in a repository of its own, about which the question is answered wrongly."""
    want = epoch.histories.rows(question)
    got = answers.history_rows(epoch.client.search(question.text(), pattern_type=question.requested))
    wrong = {(row[1], row[2]) for row in (want - got) | (got - want) if len(row) > 2}
    result = {item.name: item for item in epoch.fleet.repositories}
    for history in epoch.histories.select(question):
        for commit in history.commits:
            if (history.repository, commit.name) not in wrong:
                continue
            for change in changes_of(result[history.repository], commit):
                if time.monotonic() < ends and change_fails(epoch, question, change):
                    return shrunk_change(epoch, question, change, ends).to_text()
    return ""


def changes_of(repository: Made, commit: LoggedCommit) -> Iterator[Change]:
    """A commit without any file, then with each that it changed alone."""
    person = b"%s <%s>" % commit.author
    bare = Change(commit.message, person, b"%d +0000" % commit.commit_time)
    yield bare
    for change in commit.changes:
        if any(mode not in ("000000", "100644", "100755") for mode in change.modes):
            continue
        old, new = (None if set(name) == {"0"} else blob_of(repository, name) for name in change.objects)
        yield replace(bare, old_path=change.old_path, old=old, path=change.path, new=new)


def blob_of(repository: Made, name: str) -> bytes:
    """A content by the name of its object."""
    return git(repository.folder, "cat-file", "blob", name)


def shrunk_change(epoch: Epoch, question: Question, change: Change, ends: float) -> Change:
    """The change with as little text as still fails."""
    for name in ("message", "old", "new"):
        text, position = getattr(change, name), 0
        while text and position < len(text) and time.monotonic() < ends and len(text) < 20_000:
            size = max(1, len(text) // 8)
            shorter = replace(change, **{name: text[:position] + text[position + size :]})
            if change_fails(epoch, question, shorter):
                change, text = shorter, getattr(shorter, name)
            else:
                position += size
    return change


def change_fails(epoch: Epoch, question: Question, change: Change) -> bool:
    """Whether the question fails in a repository of two commits."""
    small_epoch = Epoch(epoch.seed, epoch.folder / f"alone-{next(_COUNT)}", shapes=())
    folder = small_epoch.folder / "fleet" / "alone"
    before = {} if change.old is None else {change.old_path: change.old}
    after = {} if change.new is None else {change.path: change.new}
    try:
        repositories.make_simple(folder, before, b"before\n")
        created = repositories.make_simple(folder, after, change.message, change.date, change.person)
        small_epoch.__dict__["fleet"] = fleets.Fleet(small_epoch.folder / "fleet", [created])
        bare = replace(question, filters=tuple(f for f in question.filters if f.field != "repo"))
        return bool(checks.check_history(small_epoch, small_epoch.client, bare).difference)
    finally:
        small_epoch.close()
