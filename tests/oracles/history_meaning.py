"""What a search of commits or changed lines must find, from git's log alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from oracles.git_history import FileChange, Line, LoggedCommit
from oracles.meaning import LANGUAGES, Matcher, Row, Span, merged, points
from oracles.questions import Atom, Both, Either, Filter, Question, Tree, Without, positive


@dataclass(slots=True)
class History:
    """The commits of a repository behind its default branch, or behind revisions as they were typed."""

    repository: str
    revision: str
    commits: list[LoggedCommit]


@dataclass
class HistoryReader:
    """Answers questions about commits, line by line."""

    histories: list[History]
    pairs: int = 0
    _matchers: dict[tuple[Atom, bool, bool], Matcher] = field(default_factory=dict)

    def matcher(self, atom: Atom, *, case_sensitive: bool, whole_text: bool = False) -> Matcher:
        """The compiled form of a pattern."""
        key = (atom, case_sensitive, whole_text)
        if key not in self._matchers:
            self._matchers[key] = Matcher(atom, case_sensitive=case_sensitive, whole_text=whole_text)
        return self._matchers[key]

    def rows(self, question: Question) -> Counter[Row]:
        """Rows: type, repository, commit, path, line number, side, line, starts, ends."""
        result: Counter[Row] = Counter()
        for history in self.select(question):
            for commit in history.commits:
                if not self._commit_passes(commit, question):
                    continue
                if "diff" in question.types:
                    result.update(self._diff_rows(history, commit, question))
                else:
                    result.update(self._message_rows(history, commit, question))
        if question.select == "repo":
            return Counter({("repo", row[1]): 1 for row in result})
        if question.select == "commit.diff" and "diff" not in question.types:
            return Counter()
        return result if question.select.startswith("commit") or not question.select else Counter()

    def select(self, question: Question) -> list[History]:
        """Histories that the filters by repository and revision leave."""
        return [
            history
            for history in self.histories
            if history.revision == question.revision and self._is_named(history, question)
        ]

    def _is_named(self, history: History, question: Question) -> bool:
        name = history.repository.encode()
        return all(self._matches(f, [name], case=False) != f.negated for f in question.filters if f.field == "repo")

    def _matches(self, condition: Filter, texts: list[bytes], *, case: bool) -> bool:
        matcher = self.matcher(
            Atom(condition.value, regexp=True), case_sensitive=case, whole_text=condition.field != "message"
        )
        return any(matcher.any(text) for text in texts)

    def _commit_passes(self, commit: LoggedCommit, question: Question) -> bool:
        sensitive = question.case_sensitive
        for item in question.filters:
            match item.field:
                case "author":
                    fits = self._matches(item, people(commit.author, commit.mapped_author), case=sensitive)
                case "committer":
                    fits = self._matches(item, people(commit.committer, commit.mapped_committer), case=sensitive)
                case "message":
                    fits = self._matches(item, [commit.message.strip()], case=sensitive)
                case "before":
                    fits = commit.commit_time < int(item.value)
                case "after":
                    fits = commit.commit_time > int(item.value)
                case _:
                    continue
            if fits == item.negated:
                return False
        return True

    def _changes(self, commit: LoggedCommit, question: Question) -> Iterator[FileChange]:
        for change in commit.changes:
            for item in question.filters:
                if item.field == "file":
                    fits = self._matches(item, [change.path, change.old_path], case=question.case_sensitive)
                elif item.field == "lang":
                    ends = LANGUAGES[item.value.lower()]
                    fits = change.path.lower().endswith(ends) or change.old_path.lower().endswith(ends)
                else:
                    continue
                if fits == item.negated:
                    break
            else:
                yield change

    def _message_rows(self, history: History, commit: LoggedCommit, question: Question) -> list[Row]:
        by_file = any(item.field in {"file", "lang"} for item in question.filters)
        if by_file and not any(True for _ in self._changes(commit, question)):
            return []
        head = ("commit", history.repository, commit.name, None)
        message = commit.message.strip()
        tree, sensitive = question.tree, question.case_sensitive

        def spans(atom: Atom) -> list[Span]:
            self.pairs += 1
            return self.matcher(atom, case_sensitive=sensitive).spans(message)

        def occurs(atom: Atom) -> bool:
            return self.matcher(atom, case_sensitive=sensitive).any(message)

        if tree is not None and not holds(tree, occurs):
            return []
        rows = spans_by_line(message, merged(span for atom in positive(tree) for span in spans(atom)))
        if not rows:
            first = message.split(b"\n", 1)[0].decode(errors="replace")
            return [(*head, 1, None, first, (), ())]
        return [(*head, number, None, text, starts, ends) for number, text, starts, ends in rows]

    def _fits(self, tree: Tree | None, line: Line, *, sensitive: bool) -> bool:
        """Whether a line matches a pattern that is looked for, if there is one."""
        required = positive(tree)
        return not required or any(self.matcher(atom, case_sensitive=sensitive).any(line.text) for atom in required)

    def _diff_rows(self, history: History, commit: LoggedCommit, question: Question) -> list[Row]:
        tree, sensitive = question.tree, question.case_sensitive
        side = question.select.removeprefix("commit.diff.") if question.select.startswith("commit.diff.") else ""
        rows: list[Row] = []
        has_match = False
        for change in self._changes(commit, question):

            def spans(atom: Atom, lines: list[Line] = change.lines) -> dict[int, list[Span]]:
                self.pairs += len(lines)
                matcher = self.matcher(atom, case_sensitive=sensitive)
                return {
                    index: line_spans for index, line in enumerate(lines) if (line_spans := matcher.spans(line.text))
                }

            def occurs(atom: Atom, lines: list[Line] = change.lines) -> bool:
                matcher = self.matcher(atom, case_sensitive=sensitive)
                return any(matcher.any(line.text) for line in lines)

            if tree is not None and not holds(tree, occurs):
                continue
            if side and not any(
                self._fits(tree, line, sensitive=sensitive) for line in change.lines if line.side == side
            ):
                continue
            has_match = True
            by_line: dict[int, list[Span]] = {}
            for atom in positive(tree):
                for position, line_spans in spans(atom).items():
                    by_line.setdefault(position, []).extend(line_spans)
            for position, line_spans in by_line.items():
                line = change.lines[position]
                if side and line.side != side:
                    continue
                parts = merged(line_spans)
                rows.append((
                    "diff", history.repository, commit.name, change.path.decode(errors="replace"), line.number,
                    line.side, line.text.decode(errors="replace"), points(line.text, (start for start, _ in parts)),
                    points(line.text, (end for _, end in parts)),
                ))  # fmt: skip
        if has_match and not rows:
            return [("diff", history.repository, commit.name, None, None, None, None, (), ())]
        return rows


def people(*pairs: tuple[bytes, bytes]) -> list[bytes]:
    """What an expression about a person is tried on."""
    return [text for name, address in pairs for text in (name, address, name + b" <" + address + b">")]


def holds(tree: Tree, has: object) -> bool:
    """Whether a tree holds where `has` says so of its patterns."""
    assert callable(has)
    match tree:
        case Atom():
            return bool(has(tree))
        case Without(part):
            return not holds(part, has)
        case Both(parts):
            return all(holds(part, has) for part in parts)
        case Either(parts):
            return any(holds(part, has) for part in parts)


def spans_by_line(text: bytes, spans: list[Span]) -> list[tuple[int, str, tuple[int, ...], tuple[int, ...]]]:
    """Rows of the lines of a text in which spans mark something; newlines are not marked."""
    rows = []
    position = 0
    for number, line in enumerate(text.split(b"\n"), 1):
        bounds = [(max(start - position, 0), min(end - position, len(line))) for start, end in spans]
        marked_text = [(start, end) for start, end in bounds if start < end]
        if marked_text:
            starts = points(line, (start for start, _ in marked_text))
            ends = points(line, (end for _, end in marked_text))
            rows.append((number, line.decode(errors="replace"), starts, ends))
        position += len(line) + 1
    return rows
