"""A search without an index: every file is read, every pattern run on every line; and a source of files in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sourcelight.core.batches import CommitId, RepositoryInfo
from sourcelight.core.boolean import And, Not, Or
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.patterns.compiled import CompiledPattern, compile_pattern
from sourcelight.core.query.languages import languages_of_path
from sourcelight.engines.search import FileTerm, SearchOptions, SearchPart, Target, TextQuery
from sourcelight.engines.search.index.build import BuildOptions, BuildResult, build
from sourcelight.engines.search.index.folder import TextIndexFolder
from sourcelight.engines.search.index.shard import Shard
from sourcelight.engines.search.index.view import CommitView
from sourcelight.engines.search.model import LanguageFilter, MatchTree
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.search.searcher import search
from sourcelight.repos import Repository, RepositoryKey

Spans = list[tuple[int, int]]
Row = tuple[Any, ...]


@dataclass
class MemoryTree:
    paths: list[bytes]
    blob_ids: bytes


@dataclass
class MemorySource:
    """Commits and blobs in memory; counts what is read."""

    commits: dict[str, dict[bytes, bytes]] = field(default_factory=dict)
    contents: dict[bytes, bytes] = field(default_factory=dict)
    read_ids: list[bytes] = field(default_factory=list)

    def commit(self, files: dict[bytes, bytes]) -> str:
        name = hashlib.sha1(repr(sorted(files.items())).encode(), usedforsecurity=False).hexdigest()
        self.commits[name] = dict(sorted(files.items()))
        self.contents |= {blob_id(data): data for data in files.values()}
        return name

    def tree(self, commit: str) -> MemoryTree:
        files = self.commits[commit]
        return MemoryTree(list(files), b"".join(blob_id(data) for data in files.values()))

    def blobs(self, ids: Iterable[bytes], limit: int = 1 << 30, /) -> Iterator[tuple[bytes, bytes | None]]:
        for name in ids:
            data = self.contents.get(name)
            if data is not None and len(data) > limit:
                data = None
            else:
                self.read_ids.append(name)
            yield name, data

    def size(self, name: bytes) -> int | None:
        data = self.contents.get(name)
        return None if data is None else len(data)


def blob_id(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()


def build_memory(folder: Path, source: MemorySource, commit: str, revision: str = "", **changes: Any) -> BuildResult:
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "max_file_size": 2000,
        "check_cancelled": lambda: None,
        "on_progress": lambda _files, _size: None,
        **changes,
    }
    options = BuildOptions(repository="memory", commit=CommitId(commit), revision=revision, **settings)
    return build(TextIndexFolder(folder), source, options)


def open_memory(folder: Path, commit: str) -> OpenedCommit:
    entry = TextIndexFolder(folder).manifest().view_of(commit)
    assert entry is not None
    view = CommitView(folder / entry.name)
    return OpenedCommit(view, [Shard(folder / name) for name in view.shards])


TARGET = Target(Repository(RepositoryInfo("memory", 7), RepositoryKey("memory"), "git", ""))


def search_memory(
    folder: Path, commit: str, query: TextQuery, options: SearchOptions | None = None
) -> list[SearchPart]:
    snapshot = open_memory(folder, commit)
    parts = search(lambda _: (snapshot, commit), [TARGET], query, options or SearchOptions(), Cancellation())
    return list(parts)


COLUMNS = ("line_number", "line", "start", "end", "byte_start", "byte_end", "match_count", "line_offset")


def rows_of(parts: Iterable[SearchPart]) -> list[Row]:
    """Flatten batches to rows like those of `naive_rows`, sorted by path and line."""
    rows: list[Row] = []
    for part in parts:
        for batch in part.batches:
            batch.validate(full=True)
            for row in batch.to_pylist():
                cells = tuple(row[name] for name in COLUMNS) if row["type"] == "content" else ()
                rows.append((row["path"], row["type"], row["name_start"], row["name_end"], *cells))
    return sorted(rows, key=repr)


def naive_rows(files: dict[bytes, bytes], query: TextQuery, max_file_size: int = 2000) -> list[Row]:
    """Answer the query by reading everything."""
    rows: list[Row] = []
    for path, data in files.items():
        if _passes(path, query):
            rows.extend(_rows_of_file(path, data, query, nameless=b"\0" in data or len(data) > max_file_size))
    return sorted(rows, key=repr)


def _passes(path: bytes, query: TextQuery) -> bool:
    names = [name.casefold() for name in languages_of_path(path.decode(errors="replace"))]
    return all(
        bool(item.pattern.match_many(path + b"\n", [0], [len(path)])[0]) != item.negated for item in query.files
    ) and all(
        (item.name.casefold() in names) != item.negated for item in query.languages if isinstance(item, LanguageFilter)
    )


def _rows_of_file(path: bytes, data: bytes, query: TextQuery, *, nameless: bool) -> list[Row]:
    displayed = path.decode(errors="replace")
    if query.tree is None:
        return [(displayed, "path", [], [])]
    if not _holds(query.tree, path, data, nameless=nameless):
        return []
    content: Spans = []
    name: Spans = []
    for atom in _positive(query.tree):
        if atom.content and not nameless:
            content += _content_spans(_text(atom), data)
        if atom.path:
            name += _whole_text(_text(atom)).find(path)
    name = _resolved(name)
    names = ([_points(path, position) for position, _ in name], [_points(path, position) for _, position in name])
    if not content:
        return [(displayed, "path", *names)]
    return [(displayed, "content", *names, *row) for row in _line_rows(data, _resolved(content))]


def _text(term: FileTerm) -> CompiledPattern:
    assert isinstance(term.pattern, CompiledPattern)  # structures have an oracle of their own
    return term.pattern


def _whole_text(pattern: CompiledPattern) -> CompiledPattern:
    return compile_pattern(pattern.text, kind=pattern.kind, case_sensitive=pattern.case_sensitive, whole_text=True)


def _holds(tree: MatchTree, path: bytes, data: bytes, *, nameless: bool) -> bool:
    if isinstance(tree, Not):
        return not _holds(tree.arg, path, data, nameless=nameless)
    if isinstance(tree, FileTerm):
        in_path = tree.path and bool(_whole_text(_text(tree)).find(path))
        return in_path or (tree.content and not nameless and bool(_content_spans(_text(tree), data)))
    parts = [_holds(arg, path, data, nameless=nameless) for arg in tree.args]
    return all(parts) if isinstance(tree, And) else any(parts)


def _positive(tree: MatchTree, *, positive: bool = True) -> list[FileTerm]:
    if isinstance(tree, Not):
        return _positive(tree.arg, positive=not positive)
    if isinstance(tree, FileTerm):
        return [tree] if positive else []
    assert isinstance(tree, And | Or)
    return [atom for arg in tree.args for atom in _positive(arg, positive=positive)]


def _lines(data: bytes) -> list[tuple[int, bytes]]:
    lines, position = [], 0
    for line in data.split(b"\n"):
        lines.append((position, line))
        position += len(line) + 1
    return lines[:-1] if not lines[-1][1] else lines


def _content_spans(pattern: CompiledPattern, data: bytes) -> Spans:
    if pattern.multi_line:
        return pattern.find_document(data)
    return [(position + start, position + end) for position, line in _lines(data) for start, end in pattern.find(line)]


def _resolved(spans: Spans) -> Spans:
    retained: Spans = []
    for start, end in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        if not retained or start >= retained[-1][1]:
            retained.append((start, end))
    return retained


def _points(raw: bytes, offset: int) -> int:
    return len(raw[:offset].decode(errors="replace")) + max(offset - len(raw), 0)


def _line_rows(data: bytes, spans: Spans) -> list[Row]:
    rows: list[Row] = []
    for number, (index, line) in enumerate(_lines(data), 1):
        end_of_line = index + len(line) + 1
        line_spans = [(start, end) for start, end in spans if start < end_of_line and end > index]
        if line_spans:
            lower = [max(start - index, 0) for start, _ in line_spans]
            upper = [min(end, end_of_line) - index for _, end in line_spans]
            count = sum(start >= index for start, _ in line_spans)
            points = ([_points(line, x) for x in lower], [_points(line, x) for x in upper])
            rows.append((number, line.decode(errors="replace"), *points, lower, upper, count, index))
    return rows


def atoms(patterns: Sequence[CompiledPattern]) -> list[FileTerm]:
    return [FileTerm(pattern) for pattern in patterns]


def literal(text: str, *, case_sensitive: bool = True) -> CompiledPattern:
    """A pattern that matches a text."""
    return compile_pattern(text, kind="literal", case_sensitive=case_sensitive)
