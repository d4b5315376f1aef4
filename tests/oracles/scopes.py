"""Scopes: forks, archives, visibility, topics, contexts, revisions by glob, people of files, and alternatives."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import sourcelight as sl
from oracles import answers, fleets, git_reader
from oracles.epoch import Epoch, Outcome
from oracles.git_reader import Document
from oracles.history_meaning import History, people
from oracles.meaning import Commit, Matcher, Reader, Row, selected
from oracles.questions import Atom, Filter, Question, atoms
from oracles.repositories import OWNERS, RULES

FORKS, ARCHIVES, PRIVATE = {"Beta.x", "linked"}, {"gamma-2", "linked"}, {"shallow", "gamma-2"}
TOPICS = {"alpha": ["search", "go"], "Beta.x": ["search"], "void": ["go lang"]}
METADATA: dict[str, dict[str, str | bool]] = {
    "alpha": {"team": "red", "reviewed": True},
    "gamma-2": {"team": "blue"},
    "void": {"team": True},
}
CONTEXTS = {"pair": ["alpha", "shared", "gamma-2"], "one": ["void"]}
_GLOBS = ("*refs/heads/*", "*refs/heads/*:*!refs/heads/topic", "*refs/tags/*", "*heads/main", "*refs/heads",
          "*refs/heads/*:*refs/tags/light", "*refs/*:*!refs/tags/*:*!refs/replace/*:*!refs/remotes/*")  # fmt: skip


def toml() -> str:
    """Annotations of the repositories of a fleet."""
    out = []
    for name in sorted(FORKS | ARCHIVES | PRIVATE | set(TOPICS) | set(METADATA)):
        pairs = ", ".join(f"{key} = {str(value).lower() if value is True else repr(value)}"
                          for key, value in METADATA.get(name, {}).items())  # fmt: skip
        out.append(f'[repositories."example.org/zoo/{name}"]\nfork = {str(name in FORKS).lower()}\n'
                   f"archived = {str(name in ARCHIVES).lower()}\nprivate = {str(name in PRIVATE).lower()}\n"
                   f"topics = {TOPICS.get(name, [])!r}\nmetadata = {{ {pairs} }}\n")  # fmt: skip
    for name, members in CONTEXTS.items():
        out.append(f"[contexts.{name}]\nrepositories = {[f'example.org/zoo/{member}' for member in members]!r}\n")
    out.append('[contexts.asked]\nquery = "repo:zoo/[ab]"\n')
    return "\n".join(out)


def client(epoch: Epoch) -> sl.Client:
    """Client over the fleet of an epoch with these annotations."""
    path = Path(epoch.folder) / "annotated.toml"
    path.write_text(toml())
    return epoch.stack.enter_context(fleets.open_client(epoch.fleet, epoch.folder / "annotated", config=path))


def base(rng: Random, epoch: Epoch) -> Question:
    """A question without what this area draws itself."""
    drawing = replace(epoch.drawer, rng=rng).question()
    return replace(drawing, revision="", tree=drawing.tree or Atom("foo"))


def rows_of(epoch: Epoch, question: Question, extra: tuple[Filter, ...]) -> Counter[Row]:
    """Rows of a question, of the repositories and files that further filters leave."""
    rows = epoch.reader.rows(replace(question, select=""))
    by_file = any(item.field in {"file:has.owner", "file:has.contributor"} for item in extra)
    selection: Counter[Row] = Counter()
    for row, count in rows.items():
        if row[0] == "repo" and by_file:
            continue
        if scoped(row[1], question, extra) and all(
            fits(epoch, row, item, case=question.case_sensitive) != item.negated for item in extra
        ):
            selection[row] = count
    return selected(selection, question.select)


def scoped(repository: str, question: Question, extra: tuple[Filter, ...]) -> bool:
    """Whether forks and archives let a repository pass: they are left out unless one is named alone and exactly."""
    arguments = {item.field: item.value for item in extra}
    name = repository.rpartition("/")[2]
    values = [item.value for item in question.filters if item.field == "repo" and not item.negated]
    exactly = len(values) == 1 and re.fullmatch(r"\^(?:[\w/-]|\\.)*\$", values[0]) is not None
    for field, members in (("fork", FORKS), ("archived", ARCHIVES)):
        choice = arguments.get(field, "yes" if exactly else "no")
        if (choice == "no" and name in members) or (choice == "only" and name not in members):
            return False
    return True


def fits(epoch: Epoch, row: Row, condition: Filter, *, case: bool) -> bool:  # noqa: PLR0911 - one for each filter
    """Whether the repository or file of a row passes a filter."""
    name = row[1].rpartition("/")[2]
    match condition.field:
        case "visibility":
            return condition.value == "any" or (name in PRIVATE) == (condition.value == "private")
        case "context":
            members = CONTEXTS.get(condition.value)
            if condition.value == "global":
                return True
            return name in members if members is not None else name.lower()[0] in "ab"
        case "repo:has.topic":
            return condition.value in TOPICS.get(name, ())
        case "repo:has.meta":
            key, colon, value = condition.value.partition(":")
            stored = METADATA.get(name, {}).get(key)
            return stored is not None and (not colon or (stored is True if not value else stored == value))
        case "repo:has.commit.after":
            history = next(h for h in epoch.histories.histories if h.repository == row[1] and not h.revision)
            return any(commit.commit_time > int(condition.value) for commit in history.commits)
        case "file:has.contributor":
            history = next(h for h in epoch.histories.histories if h.repository == row[1] and not h.revision)
            return row[3] in contributed(history, condition.value, case=case)
        case "file:has.owner":
            names = owners(row[3]) if any(d.path == OWNERS for d in documents_of(epoch, row[1])) else []
            owner = condition.value.lower().removeprefix("@")
            return owner in names if owner else bool(names)
    return True


def documents_of(epoch: Epoch, repository: str) -> list[Document]:
    """Files of HEAD."""
    return next(c.documents for c in epoch.reader.commits if c.repository == repository and not c.revision)


def owners(path: str) -> list[str]:
    """Who owns a file by the rules that are drawn."""
    rule = rule_of(path)
    return [] if rule is None else [word.lstrip("@").lower() for word in words_of(rule)]


def rule_of(path: str) -> int | None:
    """Number of the rule that decides on a file: the last one that fits."""
    folder, _, name = path.rpartition("/")
    if folder == "docs":
        return 4
    if name.endswith(".md"):
        return 3
    if "lib" in folder.split("/"):
        return 2
    if path.startswith("src/"):
        return 1
    return 0 if name.endswith(".py") else None


def words_of(rule: int) -> list[str]:
    """The owners in a rule, as they are written."""
    words = RULES.decode().split("\n")[rule].partition(" #")[0].split()
    return words[1:]


def owning(epoch: Epoch, rng: Random) -> Outcome:
    """`select:file.owners`: the lines that give the files of an answer their owners."""
    question = replace(base(rng, epoch), select="")
    if question.types not in ((), ("file",), ("path",), ("file", "path")):
        question = replace(question, types=())
    rules: dict[str, set[int]] = {}
    for row in epoch.reader.rows(question):
        rule = rule_of(row[3]) if row[0] != "repo" else None
        if rule is not None and any(d.path == OWNERS for d in documents_of(epoch, row[1])):
            rules.setdefault(row[1], set()).add(rule)
    want: Counter[Row] = Counter()
    for repository, numbers in rules.items():
        for rule in numbers:
            words, line = words_of(rule), RULES.decode().split("\n")[rule]
            if words:
                starts = tuple(line.index(word) for word in words)
                ends = tuple(start + len(word) for start, word in zip(starts, words, strict=True))
                head = ("content", repository, "", OWNERS.decode(), (), ())
                want[(*head, rule + 1, line, starts, ends, len(words))] += 1
    request = replace(question, select="file.owners")
    return compared(epoch.client, request.text(), request.requested, "", want)


def contributed(history: History, expression: str, *, case: bool) -> frozenset[str]:
    """Files with a change by someone, under the name that they have or under one that they had when it was made."""
    matcher = Matcher(Atom(expression, regexp=True), case_sensitive=case, whole_text=True)
    theirs = {commit.name for commit in history.commits
              if any(matcher.any(text) for text in people(commit.author, commit.mapped_author))}  # fmt: skip
    lines = Lines(history)
    paths = {change.path for commit in history.commits for change in commit.changes}
    return frozenset(path.decode(errors="replace") for path in paths if lines.commits_of(path) & theirs)


class Lines:
    """The commits of a file, as `engines.history.file_history` defines them, by plain sets of ancestors."""

    def __init__(self, history: History) -> None:
        parents = {commit.name: commit.parents for commit in history.commits}
        self._behind: dict[str, set[str]] = {}
        while len(self._behind) < len(parents):  # parents first
            for name, above in parents.items():
                if name not in self._behind and all(p in self._behind or p not in parents for p in above):
                    self._behind[name] = {name}.union(*(self._behind.get(p, set()) for p in above))
        order = {name: number for number, name in enumerate(self._behind)}
        self._changes = [(commit.name, change) for commit in history.commits for change in commit.changes]
        self._changes.sort(key=lambda pair: -order[pair[0]])

    def commits_of(self, path: bytes) -> set[str]:
        """Commits that changed the file that is called `path` today."""
        commits: set[str] = set()
        pending, visited = [(path, frozenset[str]())], set[tuple[bytes, frozenset[str]]]()
        while pending:
            name, without = pending.pop()
            if (name, without) in visited:
                continue
            visited.add((name, without))
            ended_by: list[str] = []
            for commit, change in self._changes:  # the newest first
                behind = self._behind[commit]
                if name != change.path and not (change.status == "R" and name == change.old_path):
                    continue
                if behind & without or any(commit != r and commit in self._behind[r] for r in ended_by):
                    continue
                commits.add(commit)
                if change.status == "R" and change.path == name:
                    ended_by.append(commit)
                    pending.append((change.old_path, without | {commit}))
        return commits


def draw_filters(epoch: Epoch, rng: Random) -> tuple[Filter, ...]:
    """Filters of this area."""
    times = [time for time in epoch.history_words[1] if time >= 100_000] or [100_000]
    choices = (
        Filter("fork", rng.choice(("yes", "no", "only"))),
        Filter("archived", rng.choice(("yes", "no", "only"))),
        Filter("visibility", rng.choice(("public", "private", "any"))),
        Filter("context", rng.choice((*CONTEXTS, "asked", "global"))),
        Filter("repo:has.topic", rng.choice(("search", "go", "go lang", "Search", "none")), rng.random() < 0.4),
        Filter("repo:has.meta", rng.choice(("team", "team:red", "team:", "reviewed:", "owner")), rng.random() < 0.4),
        Filter("repo:has.commit.after", str(rng.choice(times) + rng.choice((-1, 0, 1))), rng.random() < 0.3),
        Filter(
            "file:has.owner",
            rng.choice(("py-team", "@Src", "ADA@example.org", "lib", "@docs", "x", "")),
            rng.random() < 0.4,
        ),
        Filter("file:has.contributor", rng.choice(("ada", "Bob", "^<", "bot", "example.org", "K")), rng.random() < 0.3),
    )
    return tuple(rng.sample(choices, rng.choice((1, 1, 2, 3))))


def annotated(epoch: Epoch, rng: Random) -> Outcome:
    """A question with filters by what is known of repositories and of people."""
    question, extra = base(rng, epoch), draw_filters(epoch, rng)
    if any(item.field.startswith("file:") for item in extra) and question.types not in ((), ("file",)):
        question = replace(question, types=())
    request = replace(question, filters=(*question.filters, *extra))
    if rng.random() < 0.2:
        request = replace(request, options=("timeout:60s",))
    return compare_question(epoch.annotated, request, rows_of(epoch, question, extra))


def globs(epoch: Epoch, rng: Random) -> Outcome:
    """Revisions by globs of refs, behind `@` or in `rev:`."""
    question, glob = base(rng, epoch), rng.choice(_GLOBS)
    filters = tuple(item for item in question.filters if item.field != "repo")
    question = replace(question, filters=filters)
    reader, refs = epoch.refs
    want: Counter[Row] = Counter()
    for repository, names in refs.items():
        displayed = [shown_as(name, names) for name in names if matches_glob(name, glob)]
        if displayed:
            commits = [commit for commit in reader.commits if commit.repository == repository]
            want.update(
                replace(reader, commits=commits).rows(replace(question, revision=":".join(displayed), select=""))
            )
    repo_filter = Filter("repo", "zoo" if rng.random() < 0.5 else f"zoo@{glob}")
    request = replace(question, filters=(*filters, repo_filter))
    if "@" not in repo_filter.value:
        request = replace(request, options=(f"rev:{glob}",))
    return compare_question(epoch.client, request, selected(want, question.select))


def matches_glob(name: str, glob: str) -> bool:
    """Whether globs of refs, of which later ones decide, take a ref."""
    required = False
    for part in glob.split(":"):
        body = part.removeprefix("*").removeprefix("!")
        body = body if body.startswith("refs/") else f"refs/{body}"
        is_literal = not set(body) & set("?*[")
        expression = re.escape(body.rstrip("/")).replace(r"\*", ".*") + ("(?:/.*)?" if is_literal else "")
        if re.fullmatch(expression, name):
            required = not part.startswith("*!")
    return required


def shown_as(name: str, names: list[str]) -> str:
    """A branch is shown by its short name where no tag has the same."""
    short = name.removeprefix("refs/heads/")
    return name if short == name or f"refs/tags/{short}" in names else short


def read_refs(epoch: Epoch) -> tuple[Reader, dict[str, list[str]]]:
    """Every branch and tag of every repository as git has them."""
    commits, refs = [], {}
    for repository in epoch.fleet.repositories:
        out = git_reader.git(repository.folder, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags")
        refs[repository.name] = out.decode().split()
        documents = cache(lambda commit, folder=repository.folder: git_reader.documents(folder, commit))
        for name in refs[repository.name]:
            commit = git_reader.resolve(repository.folder, name)
            commits.append(Commit(repository.name, shown_as(name, refs[repository.name]), documents(commit)))
    return Reader(commits), refs


def alternatives(epoch: Epoch, rng: Random) -> Outcome:
    """Two questions, each with filters of its own, united; of disjoint files, so that no row has two sources."""
    first = base(rng, epoch)
    second = replace(base(rng, epoch), case_sensitive=first.case_sensitive, select=first.select, types=first.types,
                     pattern_type="keyword", style=first.style // 2 * 2)  # fmt: skip
    first = replace(first, pattern_type="keyword", style=first.style // 2 * 2)
    if any(not fine(item) for item in (first, second)):
        return Outcome("no alternatives")
    positive, negative = Filter("file", r"\.(txt|py)$"), Filter("file", r"\.(txt|py)$", negated=True)
    first = replace(first, filters=(*first.filters, positive))
    second = replace(second, filters=(*second.filters, negative))
    want = epoch.reader.rows(first) | epoch.reader.rows(second)
    bodies = [part.text().replace("count:all ", "", 1) for part in (first, second)]
    typed = f"count:all ({bodies[0]}) or ({bodies[1]})"
    return compared(epoch.client, typed, "keyword", first.select, want)


def fine(question: Question) -> bool:
    """Whether a question can stand in parentheses beside another one."""
    text = " ".join(atom.text for atom in atoms(question.tree)) + " ".join(item.value for item in question.filters)
    return not re.search(r"[()\\/\"']", text) and question.tree is not None


def compare_question(client: sl.Client, question: Question, want: Counter[Row]) -> Outcome:
    """Ask a question, and hold its rows against others."""
    return compared(client, question.text(), question.requested, question.select, want)


def compared(client: sl.Client, typed: str, kind: str, select: str, want: Counter[Row]) -> Outcome:
    """Ask a query, and hold its rows against others; only what is told of replaced objects may be told."""
    subject = f"search({typed!r}, pattern_type={kind!r})"
    try:
        result: Any = client.search(typed, pattern_type=kind)
    except sl.SourcelightError as error:
        return Outcome(subject, f"{type(error).__name__}: {error}")
    difference = answers.difference(answers.unmarked(want, select), answers.text_rows(result, select))
    reasons = [reason for reason in result.reasons if not reason.startswith(("objects-replaced", "history-incomplete",
                                                                           "repository-missing"))]  # fmt: skip
    return Outcome(subject, difference or "".join(f"told: {reason}\n" for reason in reasons), sum(want.values()))


def scopes(epoch: Epoch, rng: Random) -> Outcome:
    """One question of a kind that chance chooses."""
    return rng.choice((annotated, annotated, globs, alternatives, owning))(epoch, rng)
