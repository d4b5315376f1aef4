"""What a question must find, by RE2 on every document by itself: the plainest reading of the query language."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import re2

from oracles.expressions import compiles
from oracles.git_reader import Document
from oracles.questions import Atom, Both, Either, Filter, Question, Tree, Without, atoms, positive

Span = tuple[int, int]
Row = tuple[Any, ...]
LANGUAGES = {"python": (b".py",), "go": (b".go",), "java": (b".java",), "rust": (b".rs",), "markdown": (b".md",)}
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 256 << 20


@dataclass(slots=True)
class Commit:
    """The documents of a repository at a revision as it was typed."""

    repository: str
    revision: str
    documents: list[Document]


class Matcher:
    """RE2 alone: an expression over bytes, `^` and `$` at lines, bad bytes in no class."""

    def __init__(self, atom: Atom, *, case_sensitive: bool, whole_text: bool = False) -> None:
        source = atom.text if atom.regexp else re.sub(r"[^\w]|[^\x00-\x7f]", _escaped, atom.text, flags=re.ASCII)
        flags = ("" if whole_text else "m") + ("" if case_sensitive else "i")
        self._compiled = re2.compile((f"(?{flags})" if flags else "").encode() + source.encode(), _OPTIONS)

    def spans(self, data: bytes) -> list[Span]:
        """All matches that are not empty."""
        return [span for match in self._compiled.finditer(data) if (span := match.span())[0] < span[1]]

    def any(self, data: bytes) -> bool:
        """Whether it matches at all, and be it an empty text."""
        return self._compiled.search(data) is not None


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    return f"\\{character}" if character.isascii() and character.isprintable() else f"\\x{{{ord(character):x}}}"


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order without overlaps; of those that begin together the longest."""
    retained: list[Span] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not retained or start >= retained[-1][1]:
            retained.append((start, end))
    return retained


def points(raw: bytes, locations: Iterable[int]) -> tuple[int, ...]:
    """Code points of what is shown before each of some bytes in order; behind the end, the newline counts as one."""
    if raw.isascii():
        return tuple(locations)
    results = []
    position = char_offset = 0
    for location in locations:
        if location < position:  # ends and starts of spans come in order; others begin anew
            position = char_offset = 0
        char_offset += len(raw[position:location].decode(errors="replace"))
        position = min(location, len(raw))
        results.append(char_offset + max(location - len(raw), 0))
    return tuple(results)


def line_rows(document: Document, spans: list[Span]) -> list[Row]:
    """One row for each line that a span touches: number, text, starts, ends, count of those that start there."""
    by_line: dict[int, list[Span]] = {}
    for start, end in spans:
        first = bisect_right(document.starts, start) - 1
        last = bisect_right(document.starts, end - 1) - 1
        for number in range(first, last + 1):
            by_line.setdefault(number, []).append((start, end))
    rows = []
    for number, touching in sorted(by_line.items()):
        position = document.starts[number]
        after = document.starts[number + 1] if number + 1 < len(document.starts) else len(document.data) + 1
        raw = document.data[position:after].removesuffix(b"\n")
        starts = points(raw, (max(start - position, 0) for start, _ in touching))
        ends = points(raw, (min(end, after) - position for _, end in touching))
        rows.append(
            (number + 1, raw.decode(errors="replace"), starts, ends, sum(start >= position for start, _ in touching))
        )
    return rows


@dataclass
class Reader:
    """Answers questions about commits; keeps what an expression matched in a document for the next question."""

    commits: list[Commit]
    pairs: int = 0
    _matchers: dict[tuple[Atom, bool, bool], Matcher] = field(default_factory=dict)
    _span_cache: dict[tuple[Atom, bool], dict[int, list[Span]]] = field(default_factory=dict)
    _path_cache: dict[tuple[Atom, bool], dict[bytes, list[Span]]] = field(default_factory=dict)

    def matcher(self, atom: Atom, *, case_sensitive: bool, whole_text: bool = False) -> Matcher:
        """The compiled form of a pattern."""
        key = (atom, case_sensitive, whole_text)
        if key not in self._matchers:
            if len(self._matchers) > 500:
                self._matchers.clear()
                self._span_cache.clear()
                self._path_cache.clear()
            self._matchers[key] = Matcher(atom, case_sensitive=case_sensitive, whole_text=whole_text)
        return self._matchers[key]

    def content_spans(self, atom: Atom, document: Document, *, case_sensitive: bool) -> list[Span]:
        """Matches of a pattern in a content."""
        if not document.searchable:
            return []
        cache = self._span_cache.setdefault((atom, case_sensitive), {})
        spans = cache.get(id(document))
        if spans is None:
            self.pairs += 1
            spans = cache[id(document)] = self.matcher(atom, case_sensitive=case_sensitive).spans(document.data)
        return spans

    def path_spans(self, atom: Atom, path: bytes, *, case_sensitive: bool) -> list[Span]:
        """Matches of a pattern in a path."""
        cache = self._path_cache.setdefault((atom, case_sensitive), {})
        spans = cache.get(path)
        if spans is None:
            spans = cache[path] = self.matcher(atom, case_sensitive=case_sensitive, whole_text=True).spans(path)
        return spans

    def holds(self, tree: Tree, document: Document, question: Question) -> bool:
        """Whether a file is a hit."""
        match tree:
            case Atom():
                in_content, in_path = looked_at(tree, question)
                sensitive = question.case_sensitive
                return bool(
                    (in_path and self.path_spans(tree, document.path, case_sensitive=sensitive))
                    or (in_content and self.content_spans(tree, document, case_sensitive=sensitive))
                )
            case Without(part):
                return not self.holds(part, document, question)
            case Both(parts):
                return all(self.holds(part, document, question) for part in parts)
            case Either(parts):
                return any(self.holds(part, document, question) for part in parts)

    def passes(self, document: Document, question: Question) -> bool:
        """Whether a file passes the filters by path and language."""
        for item in question.filters:
            if item.field == "file":
                matcher = self.matcher(
                    Atom(item.value, regexp=True), case_sensitive=question.case_sensitive, whole_text=True
                )
                fits = matcher.any(document.path)
            elif item.field == "lang":
                fits = document.path.lower().endswith(LANGUAGES[item.value.lower()])
            elif item.field == "file:has.content":
                atom = Atom(item.value, regexp=True)
                fits = bool(self.content_spans(atom, document, case_sensitive=question.case_sensitive))
            else:
                continue
            if fits == item.negated:
                return False
        return True

    def select(self, question: Question) -> list[Commit]:
        """The commits that the filters by repository leave."""
        revisions = question.revision.split(":")
        required = [commit for commit in self.commits if commit.revision in revisions]
        return [commit for commit in required if all(self.fits(commit, item, question) for item in question.filters)]

    def fits(self, commit: Commit, condition: Filter, question: Question) -> bool:
        """Whether a filter by repository leaves a commit."""
        sensitive = question.case_sensitive
        atom = Atom(condition.value, regexp=True)
        match condition.field:
            case "repo":
                result = self.is_named(commit, condition)
            case "repo:has.path":
                matcher = self.matcher(atom, case_sensitive=sensitive, whole_text=True)
                result = any(matcher.any(document.path) for document in commit.documents)
            case "repo:has.content":
                result = any(
                    self.content_spans(atom, document, case_sensitive=sensitive) for document in commit.documents
                )
            case _:
                return True
        return result != condition.negated

    def is_named(self, commit: Commit, condition: Filter) -> bool:
        """Whether the name of a repository matches, whatever its case."""
        return self.matcher(Atom(condition.value, regexp=True), case_sensitive=False, whole_text=True).any(
            commit.repository.encode()
        )

    def rows(self, question: Question) -> Counter[Row]:
        """Rows that must be found: type, repository, revision, path, then of lines what `line_rows` gives."""
        result: Counter[Row] = Counter()
        commits = self.select(question)
        files = not question.types or bool({"file", "path"} & set(question.types))
        if files and (question.tree is not None or question.types or self.by_file(question)):
            for commit in commits:
                for document in commit.documents:
                    result.update(self.file_rows(commit, document, question))
        if self.of_repositories(question):
            for commit in commits:
                if question.tree is None or self.name_holds(question.tree, commit.repository, question):
                    result["repo", commit.repository, commit.revision, None] += 1
        return selected(result, question.select)

    def by_file(self, question: Question) -> bool:
        """Whether a filter by path or language is there."""
        return any(item.field in {"file", "lang", "file:has.content"} for item in question.filters)

    def file_rows(self, commit: Commit, document: Document, question: Question) -> list[Row]:
        """Rows of one file."""
        if not self.passes(document, question):
            return []
        head = (commit.repository, commit.revision, document.display_path)
        if question.tree is None:
            return [("path", *head, (), ())]
        if not self.holds(question.tree, document, question):
            return []
        content: list[Span] = []
        name: list[Span] = []
        for atom in positive(question.tree):
            in_content, in_path = looked_at(atom, question)
            if in_content:
                content += self.content_spans(atom, document, case_sensitive=question.case_sensitive)
            if in_path:
                name += self.path_spans(atom, document.path, case_sensitive=question.case_sensitive)
        marked_text = merged(name)
        names = (
            points(document.path, (position for position, _ in marked_text)),
            points(document.path, (position for _, position in marked_text)),
        )
        if not content:
            return [("path", *head, *names)]
        return [("content", *head, *names, *row) for row in line_rows(document, merged(content))]

    def of_repositories(self, question: Question) -> bool:
        """Whether repositories are hits by their names."""
        if question.types and "repo" not in question.types:
            return False
        patterns = atoms(question.tree)
        if not question.types and patterns and all(atom.content for atom in patterns):
            return False
        return not self.by_file(question)

    def name_holds(self, tree: Tree, name: str, question: Question) -> bool:
        """Whether the name of a repository is a hit."""
        match tree:
            case Atom():
                name_atom = Atom(tree.text.partition("@")[0], tree.regexp)
                if not name_atom.text or tree.content or (name_atom.regexp and not compiles(name_atom.text)):
                    return False
                return bool(
                    self.matcher(name_atom, case_sensitive=question.case_sensitive, whole_text=True).spans(
                        name.encode()
                    )
                )
            case Without(part):
                # A pattern that starts with @ is asked of no repository's name, also where it is negated.
                if part.text.startswith("@"):
                    return False
                return not part.content and not self.name_holds(part, name, question)
            case Both(parts):
                return all(self.name_holds(part, name, question) for part in parts)
            case Either(parts):
                return any(self.name_holds(part, name, question) for part in parts)


def looked_at(atom: Atom, question: Question) -> tuple[bool, bool]:
    """Whether a pattern is looked for in contents, and in paths."""
    types = question.types
    in_content = not types or "file" in types
    in_path = (not types or "path" in types) and not atom.content
    if not types and all(item.content for item in atoms(question.tree)):
        in_path = False
    return in_content, in_path


def selected(rows: Counter[Row], select: str) -> Counter[Row]:
    """What `select:` makes of rows."""
    if not select:
        return rows
    if select.startswith(("symbol", "commit")):
        return Counter()
    if select == "repo":
        return Counter({("repo", row[1], row[2], None): 1 for row in rows})
    if select == "content":
        return Counter({(*row[:4], (), (), *row[6:]): count for row, count in rows.items() if row[0] == "content"})
    paths = {row[:4] for row in rows if row[0] != "repo"}
    if select in {"file", "file.path"}:
        return Counter({("path", *row[1:4]): 1 for row in paths})
    folders = {("path", *row[1:3], (row[3].rpartition("/")[0] + "/") if "/" in row[3] else "./") for row in paths}
    return Counter(dict.fromkeys(folders, 1))
