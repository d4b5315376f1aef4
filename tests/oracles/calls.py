"""Calls about files and history, each beside what git says: contents, folders, comparisons, blame, people, pickaxe."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import sourcelight as sl
from oracles import answers, expressions, git_history
from oracles.epoch import Epoch, Outcome
from oracles.git_history import FileChange, LoggedCommit
from oracles.git_reader import bare_git, git
from oracles.history_meaning import History
from oracles.meaning import Matcher
from oracles.questions import Atom
from oracles.repositories import Made

STATUS = {"A": "added", "D": "deleted", "M": "modified", "R": "renamed", "C": "copied", "T": "type changed"}


def call(epoch: Epoch, rng: Random) -> Outcome:
    """One call of a kind that chance chooses."""
    kind = rng.choice(
        (read_file, list_files, compare, details, blame, commits, lines, people, pickaxe, owners, changed_last)
    )
    try:
        return kind(epoch, rng)
    except sl.ToolError as error:
        if kind in {lines, pickaxe, commits} and "can't match without a newline" in str(error):
            return Outcome(f"{kind.__name__}: refused by name")
        raise


def read_file(epoch: Epoch, rng: Random) -> Outcome:
    """Lines of a file, as `git cat-file` gives them."""
    commit = rng.choice([item for item in epoch.reader.commits if item.documents])
    document = rng.choice(commit.documents)
    subject = f"read_file({commit.repository!r}, {document.display_path!r}, revision={commit.revision!r})"
    if not document.searchable or not utf8(document.path):
        return Outcome(subject)
    frame = epoch.client.read_file(commit.repository, document.display_path, revision=commit.revision or None)
    rows = document.data.split(b"\n")
    if not rows[-1]:
        rows.pop()
    want = [(number, row.decode(errors="replace")) for number, row in enumerate(rows, 1)]
    return compared(subject, Counter(want), Counter(zip(frame["line_number"], frame["line"], strict=True)))


def list_files(epoch: Epoch, rng: Random) -> Outcome:
    """Entries of a folder, as `git ls-tree` gives them."""
    commit = rng.choice([item for item in epoch.reader.commits if item.documents])
    folder = rng.choice(commit.documents).path.rpartition(b"/")[0]
    created = next(item for item in epoch.fleet.repositories if item.name == commit.repository)
    subject = f"list_files({commit.repository!r}, {folder!r}, revision={commit.revision!r})"
    if not utf8(folder):
        return Outcome(subject)
    location = commit.revision or "HEAD"
    out = git(created.folder, "ls-tree", "-z", "--full-tree", f"{location}:".encode() + folder)
    want: Counter[Any] = Counter()
    for row in out.split(b"\0")[:-1]:
        attributes, _, name = row.partition(b"\t")
        kind = {b"120000": "symlink", b"160000": "submodule", b"040000": "directory"}.get(attributes.split()[0], "file")
        path = (folder + b"/" + name if folder else name).decode(errors="replace")
        want[path + ("/" if kind == "directory" else ""), kind] += 1
    frame = epoch.client.list_files(commit.repository, folder.decode() or None, revision=commit.revision or None)
    got = Counter((path.removesuffix("/") + ("/" if kind == "directory" else ""), kind)
                  for path, kind in zip(frame["path"], frame["kind"], strict=True))  # fmt: skip
    return compared(subject, want, got)


def compare(epoch: Epoch, rng: Random) -> Outcome:
    """Files between two commits, as `git diff -M` gives them."""
    repository, history = chosen_history(epoch, rng)
    if not history.commits:
        return Outcome("compare_revisions of nothing")
    base, head = rng.choice(history.commits).name, rng.choice(history.commits).name
    want = change_rows(git_history.changes_of(repository.folder, base, head))
    return compared(
        f"compare_revisions({repository.name!r}, {base!r}, {head!r})",
        want,
        frame_rows(epoch.client.compare_revisions(repository.name, base, head)),
    )


def details(epoch: Epoch, rng: Random) -> Outcome:
    """What one commit changed."""
    repository, history = chosen_history(epoch, rng)
    candidates = [commit for commit in history.commits if not commit.is_merge]
    if not candidates:
        return Outcome("commit_details of nothing")
    commit = rng.choice(candidates)
    frame = epoch.client.commit_details(repository.name, commit.name)
    return compared(
        f"commit_details({repository.name!r}, {commit.name!r})", change_rows(commit.changes), frame_rows(frame)
    )


def blame(epoch: Epoch, rng: Random) -> Outcome:
    """Commits of the lines of a file, as `git blame` gives them."""
    commit = rng.choice([item for item in epoch.reader.commits if item.documents])
    document = rng.choice(commit.documents)
    created = next(item for item in epoch.fleet.repositories if item.name == commit.repository)
    subject = f"blame({commit.repository!r}, {document.display_path!r}, revision={commit.revision!r})"
    if not document.searchable or not utf8(document.path) or len(document.data) > 20_000:
        return Outcome(subject)
    out = bare_git(created.folder, "blame", "--porcelain", commit.revision or "HEAD", "--", document.path)
    want: Counter[Any] = Counter()
    header: list[str] = []
    for row in out.split(b"\n")[:-1]:
        if row.startswith(b"\t"):
            want[int(header[2]), header[0], int(header[1]), row[1:].decode(errors="replace")] += 1
            header = []
        elif not header:
            header = row.decode(errors="replace").split()
    frame = epoch.client.blame(commit.repository, document.display_path, revision=commit.revision or None)
    columns = ("line_number", "commit", "original_line_number", "line")
    return compared(subject, want, Counter(zip(*(frame[name] for name in columns), strict=True)))


def commits(epoch: Epoch, rng: Random) -> Outcome:
    """Commits by their messages, people, changed lines and dates."""
    repository, history = chosen_history(epoch, rng)
    words, times = epoch.history_words
    use_regex = rng.random() < 0.5
    requests: dict[str, Any] = {"repos": repository.name, "use_regex": use_regex}
    tests: list[Callable[[LoggedCommit], bool]] = []

    def terms(samples: list[str]) -> list[str]:
        draw = expressions.expression if use_regex else expressions.literal
        return [draw(rng, samples) for _ in range(rng.randint(1, 2))]

    if rng.random() < 0.6:
        requests["message_terms"] = terms(words)
        reply = matchers(requests["message_terms"], use_regex=use_regex)
        tests.append(lambda commit: any(matcher.any(commit.message.strip()) for matcher in reply))
    if rng.random() < 0.4:
        requests["content_terms"] = terms(words)
        changed = matchers(requests["content_terms"], use_regex=use_regex)
        tests.append(
            lambda commit: any(m.any(line.text) for change in commit.changes for line in change.lines for m in changed)
        )
    if rng.random() < 0.3:
        requests["authors"] = [rng.choice(("ada", "Ada", "bob@", "K", "example"))]
        wrote = matchers(requests["authors"], use_regex=use_regex)
        tests.append(lambda commit: any(m.any(person) for person in written_by(commit) for m in wrote))
    first = max(rng.choice(times), 100_000)
    if rng.random() < 0.2:
        requests["after"] = str(first)
        tests.append(lambda commit: commit.commit_time > first)
    if rng.random() < 0.2:
        requests["before"] = str(first + 86_400)
        tests.append(lambda commit: commit.commit_time < first + 86_400)
    want = Counter(commit.name for commit in history.commits if all(test(commit) for test in tests))
    subject = f"commit_search({format_arguments(requests)})"
    frame = epoch.client.commit_search(**requests)
    outcome = compared(subject, want, Counter(frame["commit"].astype(str)))
    return outcome if outcome.difference else check_metadata(subject, history, frame)


def check_metadata(subject: str, history: History, frame: Any) -> Outcome:
    """What is said of each commit."""
    existing = {commit.name: commit for commit in history.commits}
    want: Counter[Any] = Counter()
    got: Counter[Any] = Counter()
    for row in frame.itertuples():
        commit = existing[row.commit]
        want[
            commit.name, commit.subject.decode(errors="replace"), *decoded(commit.mapped_author),
            *decoded(commit.mapped_committer), commit.commit_time, commit.author_time, tuple(commit.parents),
            commit.message.strip().decode(errors="replace"),
        ] += 1  # fmt: skip
        got[
            row.commit, row.subject, row.author, row.author_email, row.committer, row.committer_email,
            int(row.commit_date.timestamp()), int(row.author_date.timestamp()), tuple(row.parents), row.message,
        ] += 1  # fmt: skip
    return compared(subject, want, got)


def lines(epoch: Epoch, rng: Random) -> Outcome:
    """Changed lines that match."""
    repository, history = chosen_history(epoch, rng)
    use_regex = rng.random() < 0.5
    draw = expressions.expression if use_regex else expressions.literal
    pattern = draw(rng, epoch.history_words[0])
    side = rng.choice(("", "added", "removed"))
    requests: dict[str, Any] = {"repos": repository.name, "use_regex": use_regex} | ({side: True} if side else {})
    matcher = matchers([pattern], use_regex=use_regex)[0]
    want: Counter[Any] = Counter()
    for commit in history.commits:
        for change in commit.changes:
            for line in change.lines:
                if side in ("", line.side) and matcher.any(line.text):
                    path = change.path.decode(errors="replace")
                    want[commit.name, path, line.side, line.number, line.text.decode(errors="replace")] += 1
    subject = f"diff_search({pattern!r}, {format_arguments(requests)})"
    frame = epoch.client.diff_search(pattern, **requests)
    columns = ("commit", "path", "side", "line_number", "line")
    return compared(subject, want, Counter(zip(*(frame[name] for name in columns), strict=True)))


def people(epoch: Epoch, rng: Random) -> Outcome:
    """Commits by author, as `git shortlog` counts them, and changed lines."""
    repository, history = chosen_history(epoch, rng)
    want: Counter[Any] = Counter()
    sums: dict[tuple[str, ...], list[int]] = {}
    for commit in history.commits:
        count = sums.setdefault(decoded(commit.mapped_author), [0, 0, 0, 0])
        # A binary file that becomes a link has no numbers in git, though the patch shows the link's line.
        changed = [line.side for change in commit.changes if not change.binary for line in change.lines]
        for index, amount in enumerate((1, int(commit.is_merge), changed.count("added"), changed.count("removed"))):
            count[index] += amount
    want.update((*person, *count) for person, count in sums.items())
    frame = epoch.client.contributors(repository.name, join_addresses=False)
    columns = ("author", "author_email", "commits", "merges", "additions", "deletions")
    return compared(
        f"contributors({repository.name!r})", want, Counter(zip(*(frame[name] for name in columns), strict=True))
    )


def pickaxe(epoch: Epoch, rng: Random) -> Outcome:
    """Sums of added and removed lines that match."""
    repository, history = chosen_history(epoch, rng)
    use_regex = rng.random() < 0.5
    draw = expressions.expression if use_regex else expressions.literal
    pattern = draw(rng, epoch.history_words[0])
    matcher = matchers([pattern], use_regex=use_regex)[0]
    want: Counter[str] = Counter()
    for commit in history.commits:
        for change in commit.changes:
            want.update(line.side for line in change.lines if matcher.any(line.text))
    frame = epoch.client.pickaxe(pattern, repository.name, by=["repository"], use_regex=use_regex)
    got = Counter({"added": int(frame["added"].sum()), "removed": int(frame["removed"].sum())})
    return compared(f"pickaxe({pattern!r}, {repository.name!r}, use_regex={use_regex})", +want, +got)


def owners(epoch: Epoch, rng: Random) -> Outcome:
    """Lines of files by author: where they are called exact, those of `git blame`."""
    repository, history = chosen_history(epoch, rng)
    people_of = {commit.name: decoded(commit.mapped_author) for commit in history.commits}
    documents = next(c.documents for c in epoch.reader.commits if c.repository == repository.name and not c.revision)
    shown_as = Counter(document.display_path for document in documents)
    requests = [d for d in documents if d.searchable and len(d.data) < 20_000 and shown_as[d.display_path] == 1]
    frame = epoch.client.ownership(repository.name, by="file", exact=True, join_addresses=False)
    exact = set(frame.loc[frame["exact"], "path"].astype(str))
    names = ("path", "author", "author_email", "lines")
    got: Counter[Any] = Counter()
    want: Counter[Any] = Counter()
    for document in rng.sample(requests, min(3, len(requests))):
        if document.data and document.display_path not in exact:
            continue
        file_rows = frame[frame["path"].astype(str) == document.display_path]
        got.update(tuple(row) for row in zip(*(file_rows[name].astype(object) for name in names), strict=True))
        out = bare_git(repository.folder, "blame", "--porcelain", "HEAD", "--", document.path)
        counts: Counter[tuple[str, str]] = Counter()
        # The header of each line begins with its commit and has the number of lines only where a group begins.
        for match in re.finditer(rb"^([0-9a-f]{40}) \d+ \d+(?: \d+)?\n(?:[^\t\n][^\n]*\n)*\t", out, re.MULTILINE):
            counts[people_of[match[1].decode()]] += 1
        want.update((document.display_path, *person, count) for person, count in counts.items())
    return compared(f"ownership({repository.name!r}, by='file', exact=True)", want, got)


def changed_last(epoch: Epoch, rng: Random) -> Outcome:
    """How many commits changed a file or a directory under its name, or took a file from it, merges left out."""
    repository, history = chosen_history(epoch, rng)
    documents = next(c.documents for c in epoch.reader.commits if c.repository == repository.name and not c.revision)
    candidates = [document for document in documents if utf8(document.path)]
    selected = rng.sample(candidates, min(3, len(candidates)))
    want: Counter[Any] = Counter()
    for document in selected:
        changes = [
            c for c in history.commits for change in c.changes if document.path in (change.path, change.old_path)
        ]
        want[document.display_path, len({commit.name for commit in changes})] += 1
    paths = [document.display_path for document in selected]
    if not paths:
        return Outcome("last_changes of nothing")
    for folder in sorted({document.path.rpartition(b"/")[0] for document in selected} - {b""}):
        start = folder + b"/"
        changed = {
            c.name
            for c in history.commits
            if any(change.path.startswith(start) or change.old_path.startswith(start) for change in c.changes)
        }
        want[folder.decode(), len(changed)] += 1
        paths.append(folder.decode())
    frame = epoch.client.last_changes(repository.name, paths)
    got = Counter(zip(frame["path"], frame["changed_commits"], strict=True))
    return compared(f"last_changes({repository.name!r}, {paths!r})", want, got)


def chosen_history(epoch: Epoch, rng: Random) -> tuple[Made, History]:
    """A repository, and the history of its default branch."""
    history = rng.choice([item for item in epoch.histories.histories if not item.revision])
    return next(repository for repository in epoch.fleet.repositories if repository.name == history.repository), history


def matchers(terms: list[str], *, use_regex: bool) -> list[Matcher]:
    """Terms as the history tools read them: literal in any case, or RE2 with regard to case."""
    return [Matcher(Atom(term, regexp=use_regex), case_sensitive=use_regex) for term in terms]


def written_by(commit: LoggedCommit) -> list[bytes]:
    """What a term about an author is tried on."""
    pairs = (commit.author, commit.mapped_author)
    return [text for name, address in pairs for text in (name, address, name + b" <" + address + b">")]


def decoded(person: tuple[bytes, bytes]) -> tuple[str, str]:
    """A person as shown."""
    return person[0].decode(errors="replace"), person[1].decode(errors="replace")


def utf8(raw: bytes) -> bool:
    """Whether bytes are UTF-8, so that one can type them."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def change_rows(changes: list[FileChange]) -> Counter[Any]:
    """Changes as rows."""
    rows: Counter[Any] = Counter()
    for change in changes:
        # A file that becomes a link is two patches; where one is of a binary file, git has no numbers.
        sides = [] if change.binary else [line.side for line in change.lines]
        rows[
            change.path.decode(errors="replace"), change.old_path.decode(errors="replace"), STATUS[change.status],
            change.score, sides.count("added"), sides.count("removed"), change.binary,
            *change.modes[::-1], *change.objects[::-1],
        ] += 1  # fmt: skip
    return rows


def frame_rows(frame: Any) -> Counter[Any]:
    """Rows of a comparison."""
    names = ("path", "old_path", "status", "score", "additions", "deletions", "binary", "mode", "old_mode", "object_id",
             "old_object_id")  # fmt: skip
    columns = [frame[name].astype(object).where(frame[name].notna(), None) for name in names]
    return Counter(zip(*columns, strict=True))


def compared(subject: str, want: Counter[Any], got: Counter[Any]) -> Outcome:
    """Both as an outcome."""
    return Outcome(subject, answers.difference(want, got), sum(want.values()))


def format_arguments(arguments: dict[str, Any]) -> str:
    """Arguments as one would type them."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())
