"""Repositories that lack objects or can't be read: what is there is found, the rest is named, and none is fetched."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import sourcelight as sl
from oracles import answers, checks, fleets, git_history, git_reader, repositories
from oracles.epoch import Epoch, Outcome
from oracles.fleets import Fleet
from oracles.git_reader import Document
from oracles.history_meaning import History, HistoryReader
from oracles.meaning import Commit, Reader
from oracles.questions import Atom, Drawer, Question
from oracles.repositories import Made, Shape

SHAPES = (
    Shape("whole", commits=4, files=6),
    Shape("blobless", commits=5, files=8, clone="blobless"),
    Shape("latest", commits=4, files=6, clone="latest"),
    Shape("detached", commits=4, files=6, head="detached"),
    Shape("unborn", commits=3, files=6, head="unborn"),
    Shape("treeless", commits=3, files=4, clone="treeless"),
    Shape("sha256", commits=3, files=4, object_format="sha256"),
)
UNREADABLE = ("treeless", "sha256")
EMPTY = "empty"
_PARTIAL = {"blobless", "latest", "treeless"}


@dataclass
class Incomplete:
    """Such a fleet, what git says of it, and what it lacks."""

    epoch: Epoch
    objects: dict[str, frozenset[str]] = field(default_factory=dict)
    lacking: dict[str, set[str]] = field(default_factory=dict)

    def repository_of(self, name: str) -> Made:
        """The repository of a name."""
        return next(item for item in self.epoch.fleet.repositories if item.name == name)


def build(epoch: Epoch) -> Incomplete:
    """Write such a fleet below the folder of an epoch."""
    inner_epoch = Epoch(f"{epoch.seed}/incomplete", epoch.folder / "incomplete", SHAPES)
    created = fleets.build(inner_epoch.rng("fleet"), inner_epoch.folder / "fleet", SHAPES).repositories
    empty = inner_epoch.folder / "fleet" / EMPTY
    empty.mkdir()
    git_reader.git(empty, "init", "-q", "-b", "main", ".")
    readable = [item for item in created if item.shape.name not in UNREADABLE]
    built = Incomplete(inner_epoch)
    fleet = Fleet(inner_epoch.folder / "fleet", [*created])
    inner_epoch.__dict__["fleet"] = fleet
    for item in created:
        if item.shape.name in _PARTIAL:
            built.objects[item.name] = repositories.objects_of(item.folder)
    commits, histories = [], []
    for item in readable:
        commit, history = read(built, item)
        commits.append(commit)
        histories.append(history)
    fleet.commits = commits
    inner_epoch.__dict__["reader"] = Reader(commits)
    inner_epoch.__dict__["histories"] = HistoryReader(histories)
    epoch.stack.callback(inner_epoch.close)
    return built


def read(built: Incomplete, repository: Made) -> tuple[Commit, History]:
    """What a whole repository holds, and of that what this one has."""
    there = built.objects.get(repository.name)
    source = repository.folder if there is None else repositories.source_of(repository)
    head = {"unborn": "main"}.get(repository.shape.head, "HEAD")
    documents = git_reader.documents(source, head)
    history = History(repository.name, "", git_history.log(source, head))
    lacking = built.lacking.setdefault(repository.name, set())
    if there is not None:
        rows = git_reader.git(source, "ls-tree", "-r", "-z", "--full-tree", head).split(b"\0")[:-1]
        names = {row.partition(b"\t")[2]: row.split()[2].decode() for row in rows}
        documents = [document if names[document.path] in there else Document(document.path, b"", searchable=False)
                     for document in documents]  # fmt: skip
        built.lacking[f"{repository.name}/files"] = {name for name in names.values() if name not in there}
        for commit in history.commits:
            if b".mailmap" in names and names[b".mailmap"] not in there:  # people are as written then
                commit.mapped_author, commit.mapped_committer = commit.author, commit.committer
            if not commit.is_merge and not is_whole(source, commit, there):
                lacking.add(commit.name)
    return Commit(repository.name, "", documents), history


def is_whole(source: Path, commit: git_history.LoggedCommit, there: frozenset[str]) -> bool:
    """Whether a clone has all that it takes to tell what a commit changed."""
    trees = [git_reader.git(source, "rev-parse", f"{name}^{{tree}}").decode().strip()
             for name in (commit.name, *commit.parents[:1])]  # fmt: skip
    if len(set(trees)) > 1 or not commit.parents:
        listing = (git_reader.git(source, "ls-tree", "-r", "-t", tree).decode(errors="replace") for tree in trees)
        rows = [row for rows in listing for row in rows.splitlines()]
        folders = {*trees, *(row.split()[2] for row in rows if row.split()[1] == "tree")}
        if not folders <= there:
            return False
    names = {name for change in commit.changes for name, mode in zip(change.objects, change.modes, strict=True)
             if set(name) != {"0"} and mode != "160000"}  # fmt: skip
    return names <= there


def incomplete(epoch: Epoch, rng: Random) -> Outcome:
    """One question about such a fleet, and whether anything was fetched for it."""
    built: Incomplete = epoch.incomplete
    inner_epoch = built.epoch
    drawer = replace(inner_epoch.drawer, rng=rng)
    client = inner_epoch.remote if rng.random() < 0.15 else inner_epoch.client
    outcome = (text if rng.random() < 0.6 else history)(built, client, drawer)
    if outcome.difference:
        return outcome
    for name, objects in built.objects.items():
        extra = repositories.objects_of(built.repository_of(name).folder) - objects
        if extra:
            built.objects[name] |= extra
            return Outcome(outcome.subject, f"{len(extra)} objects of {name} were fetched")
    return outcome


def text(built: Incomplete, client: sl.Client, drawer: Drawer) -> Outcome:
    """Text, paths and names."""
    inner_epoch, question = built.epoch, replace(drawer.question(), revision="")
    want = answers.unmarked(inner_epoch.reader.rows(question), question.select)
    subject = checks.subject_of(question)
    try:
        result = client.search(question.text(), pattern_type=question.requested)
    except sl.SourcelightError as error:
        return Outcome(subject, f"{type(error).__name__}: {error}")
    difference = answers.difference(want, answers.text_rows(result, question.select)) or unsaid(built, result, question)
    if not difference and question.count is None:
        counts = client.count_by(question.text(), by="repository", pattern_type=question.requested)
        if counts.attrs["reasons"] != "; ".join(result.reasons):
            difference = f"a count says {counts.attrs['reasons']!r}, and a search {result.reasons}\n"
    return Outcome(subject, difference)


def history(built: Incomplete, client: sl.Client, drawer: Drawer) -> Outcome:
    """Commits and changed lines: those of commits that can't be read may be missing, and that is said."""
    inner_epoch = built.epoch
    drawing = drawer.history_question(*inner_epoch.history_words)
    filters = tuple(item for item in drawing.filters if item.field not in {"file", "lang"})
    tree = drawing.tree if isinstance(drawing.tree, Atom) else Atom("foo")
    question = replace(drawing, filters=filters, tree=tree, select="", revision="")
    want = inner_epoch.histories.rows(question)
    subject = checks.subject_of(question)
    try:
        result = client.search(question.text(), pattern_type=question.requested)
    except sl.SourcelightError as error:
        refused = (
            "newline" in str(error) and "diff" in question.types and checks.has_vain_pattern(inner_epoch, question)
        )
        return Outcome(subject, "" if refused else f"{type(error).__name__}: {error}")
    got = answers.history_rows(result)
    if "diff" in question.types:
        lacking = {name for names in built.lacking.values() for name in names}
        made_up = Counter({row: count for row, count in (got - want).items() if row[2] in lacking})
        if made_up:
            return Outcome(subject, answers.difference(Counter(), made_up))
        want, got = (Counter({row: count for row, count in rows.items() if row[2] not in lacking})
                     for rows in (want, got))  # fmt: skip
    return Outcome(subject, answers.difference(want, got) or unsaid(built, result, question, history=True))


def unsaid(built: Incomplete, result: sl.SearchResult, question: Question, *, history: bool = False) -> str:
    """What an answer should say of what it lacks, and does not."""
    inner_epoch = built.epoch
    request = inner_epoch.histories.select(question) if history else inner_epoch.reader.select(question)
    names = {item.repository for item in request}
    want = {"repository-unreadable"}
    # A partial clone is named as one, whether or not a commit of it can't be read.
    if history and any(f"/{name}" in item for name in _PARTIAL for item in names):
        want.add("history-incomplete")
    got = {reason.partition(":")[0] for reason in result.reasons}
    if not history and may_miss(inner_epoch, question):
        want.add("document-missing")
    messages = "\n".join(result.skipped["message"])
    locations = [str(inner_epoch.folder / "fleet" / name) for name in (*UNREADABLE, EMPTY)]
    unnamed = [location for location in locations if location not in messages]
    if got == want and not unnamed and result.status == "limited":
        return ""
    return f"status {result.status}: {', '.join(result.reasons)} for {', '.join(sorted(want))}; unnamed {unnamed}\n"


def may_miss(inner_epoch: Epoch, question: Question) -> bool:
    """Whether contents are looked at of which some are missing."""
    if any(may_pass(inner_epoch, commit, question) for commit in inner_epoch.reader.commits):
        return True
    required = any(item.field == "file:has.content" for item in question.filters)
    if question.types and not {"file", "path"} & set(question.types):
        return False
    if not required and (question.tree is None or (question.types and "file" not in question.types)):
        return False
    bare = replace(question, filters=tuple(item for item in question.filters if item.field != "file:has.content"))
    return any(
        is_missing(document) and inner_epoch.reader.passes(document, bare)
        for commit in inner_epoch.reader.select(question)
        for document in commit.documents
    )


def may_pass(inner_epoch: Epoch, commit: Commit, question: Question) -> bool:
    """Whether what is missing decides if a repository is searched."""
    fits = [(item, inner_epoch.reader.fits(commit, item, question)) for item in question.filters]
    unknown = [
        item.field == "repo:has.content" and passes is item.negated and any(map(is_missing, commit.documents))
        for item, passes in fits
    ]
    return any(unknown) and all(passes or open_ for (_, passes), open_ in zip(fits, unknown, strict=True))


def is_missing(document: Document) -> bool:
    """Whether a document's content is not there."""
    return not document.searchable and not document.data
