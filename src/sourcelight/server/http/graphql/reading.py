"""Read commits, directories and files for the objects of the schema, from git or by tools.

In a cluster, the engine runs tools on the machines with the repositories, so its answers equal one machine's.
`list_files` resolves revisions and lists directories, `read_file` reads files, `commit_search` and `list_refs` give
the rest.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from graphql import GraphQLError

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.results import FILE_BYTES, LAST_LINE_IS_OPEN, ToolResult
from sourcelight.core.errors import BinaryFile, PathNotFound, ToolError
from sourcelight.engines import tools
from sourcelight.engines.execution import Engine
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import ObjectReader, Repository, TreeEntry, Viewer, find_entry, list_folder, resolve
from sourcelight.repos.objects import MAX_CONTENT_BYTES
from sourcelight.repos.objects.commits import CommitHeader, at_offset, read_commit
from sourcelight.repos.revisions import head_target
from sourcelight.server.http.graphql.limits import Budget

_SNIFFED_BYTES = 8_000
"""Git treats a file as binary if its first 8,000 bytes contain a NUL."""

_BEHIND = 1_000
"""Number of commits to search for a commit in its own history: by wrong clocks, some of them seem newer."""


@dataclass(frozen=True, slots=True)
class BlobContent:
    """Content of a file; `data` is empty for a binary file, because tools only read text."""

    data: bytes
    size: int
    is_binary: bool


class CodeReader(Protocol):
    """Reads commits, directories and files for one request."""

    def resolve(self, source: Repository, revision: str) -> CommitId:
        """Return the commit of a revision; raises `RevisionNotFound`."""

    def default_branch(self, source: Repository) -> str:
        """Return the full name of the branch that HEAD names; empty without one."""

    def read_commit(self, source: Repository, commit: CommitId) -> CommitHeader | None:
        """Return the header of a commit, or None if it can't be read."""

    def find(self, source: Repository, commit: CommitId, path: str) -> TreeEntry:
        """Return the entry at a path; raises `PathNotFound`."""

    def find_file(self, source: Repository, commit: CommitId, path: str) -> TreeEntry:
        """Return the file at a path from a search; raises `PathNotFound` if it is known to be missing."""

    def list_folder(self, source: Repository, commit: CommitId, folder: TreeEntry) -> list[TreeEntry]:
        """List a directory."""

    def size(self, source: Repository, commit: CommitId, entry: TreeEntry) -> int:
        """Return the size of a file in bytes; raises `GraphQLError` if it can't be read."""

    def read(self, source: Repository, commit: CommitId, entry: TreeEntry) -> BlobContent:
        """Return the content of a file, within the budget; raises `GraphQLError` if it can't be read."""


def reader_of(engine: Engine, viewer: Viewer, budget: Budget) -> CodeReader:
    """Return the reader for an engine's repositories."""
    return GitReader(budget) if engine.holds_files else ToolReader(engine, viewer, budget)


@dataclass(frozen=True, slots=True)
class GitReader:
    """Reads the clones of this machine; see `CodeReader`."""

    budget: Budget

    def resolve(self, source: Repository, revision: str) -> CommitId:
        """See `CodeReader.resolve`."""
        return resolve(source, revision)

    def default_branch(self, source: Repository) -> str:
        """See `CodeReader.default_branch`."""
        return head_target(source.git_dir) if source.git_dir else ""

    def read_commit(self, source: Repository, commit: CommitId) -> CommitHeader | None:
        """See `CodeReader.read_commit`."""
        with ObjectReader(source) as reader:
            return read_commit(reader, commit)

    def find(self, source: Repository, commit: CommitId, path: str) -> TreeEntry:
        """See `CodeReader.find`."""
        with ObjectReader(source) as reader:
            return find_entry(reader, commit, path)

    find_file = find

    def list_folder(self, source: Repository, commit: CommitId, folder: TreeEntry) -> list[TreeEntry]:
        """See `CodeReader.list_folder`."""
        with ObjectReader(source) as reader:
            return list_folder(reader, commit, folder)

    def size(self, source: Repository, commit: CommitId, entry: TreeEntry) -> int:
        """See `CodeReader.size`."""
        del commit
        with ObjectReader(source) as reader:
            size = reader.size(entry.object_id)
        if size is None:
            raise _unreadable(source, entry.path, "this clone lacks its content")
        return size

    def read(self, source: Repository, commit: CommitId, entry: TreeEntry) -> BlobContent:
        """See `CodeReader.read`."""
        size = self.size(source, commit, entry)
        if size > MAX_CONTENT_BYTES:
            raise _unreadable(source, entry.path, f"it has {size:,} bytes; read_file reads lines of it")

        self.budget.take_bytes(size)
        with ObjectReader(source) as reader:
            data = reader.read(entry.object_id)

        if data is None:
            raise _unreadable(source, entry.path, "this clone lacks its content")

        return BlobContent(data, size, b"\0" in data[:_SNIFFED_BYTES])


def _unreadable(source: Repository, path: str, reason: str) -> GraphQLError:
    return GraphQLError(f"{path} of {source.name} can't be read: {reason}.")


@dataclass(frozen=True, slots=True)
class ToolReader:
    """Reads by tools, which the engine runs where the repositories are; see `CodeReader`.

    Tools read text, so a binary file has a size but no content. Names of people come from the mailmap, and messages are
    stripped. Directories are cached for the rest of the request.
    """

    engine: Engine
    viewer: Viewer
    budget: Budget
    _folders: dict[tuple[str, str, str], list[TreeEntry]] = field(default_factory=dict)

    def resolve(self, source: Repository, revision: str) -> CommitId:
        """See `CodeReader.resolve`."""
        return CommitId(self._call("list_files", repo=source.name, revision=revision).attributes["commit"])

    def default_branch(self, source: Repository) -> str:
        """See `CodeReader.default_branch`."""
        branches = self._call("list_refs", repo=source.name, kind="branch").table.select(["name", "default"])
        names = [row["name"] for row in branches.to_pylist() if row["default"]]
        return f"refs/heads/{names[0]}" if names else ""

    def read_commit(self, source: Repository, commit: CommitId) -> CommitHeader | None:
        """See `CodeReader.read_commit`."""
        # `commit_search` sorts by committer date. Usually the commit itself is the newest; one with a wrong clock is
        # found in the second round.
        for count in (1, _BEHIND):
            answer = self._call("commit_search", repos=[source.name], revisions=[commit], count=count)
            for row in answer.table.to_pylist():
                if row["commit"] == commit:
                    return _header(row)
        return None

    def find(self, source: Repository, commit: CommitId, path: str) -> TreeEntry:
        """See `CodeReader.find`."""
        folder = TreeEntry("", "directory")
        if not path:
            return folder

        parent = TreeEntry(path.rpartition("/")[0], "directory")
        for entry in self.list_folder(source, commit, parent):
            if entry.path == path:
                return entry

        raise PathNotFound(source.name, commit, path, "the commit has no such file or directory")

    def find_file(self, source: Repository, commit: CommitId, path: str) -> TreeEntry:
        """See `CodeReader.find_file`; the search has just read the file at this commit, so no worker is asked again."""
        del source, commit
        return TreeEntry(path, "file")

    def list_folder(self, source: Repository, commit: CommitId, folder: TreeEntry) -> list[TreeEntry]:
        """See `CodeReader.list_folder`."""
        key = source.name, commit, folder.path
        if key not in self._folders:
            try:
                # A directory is one call to a worker, and queries often ask for many of its entries, so it is kept.
                answer = self._call("list_files", repo=source.name, revision=commit, path=folder.path)
            except ToolError as exc:
                # Other errors aren't about the directory, such as a removed repository.
                if exc.argument != "path":
                    raise
                raise PathNotFound(source.name, commit, folder.path, "it is not a directory") from exc

            rows = answer.table.select(["path", "kind"]).to_pylist()
            self.budget.take_objects(len(rows))
            self._folders[key] = [TreeEntry(_path(row), row["kind"]) for row in rows]

        return self._folders[key]

    def size(self, source: Repository, commit: CommitId, entry: TreeEntry) -> int:
        """See `CodeReader.size`."""
        try:
            with _as_unreadable(source, entry):
                metadata = self._lines(source, commit, entry, startLine=1, endLine=1).table.schema.metadata
        except BinaryFile as exc:
            return exc.size_bytes
        return int(metadata[FILE_BYTES])

    def read(self, source: Repository, commit: CommitId, entry: TreeEntry) -> BlobContent:
        """See `CodeReader.read`."""
        try:
            with _as_unreadable(source, entry):
                table = self._lines(source, commit, entry).table
        except BinaryFile as exc:
            return BlobContent(b"", exc.size_bytes, is_binary=True)

        size = int(table.schema.metadata[FILE_BYTES])
        self.budget.take_bytes(size)
        text = "\n".join(table.column("line").to_pylist())

        # Lines don't show whether the last one has a newline; clients compare sizes and hashes.
        end = "\n" if table.num_rows and table.schema.metadata[LAST_LINE_IS_OPEN] == b"0" else ""
        return BlobContent((text + end).encode(), size, is_binary=False)

    def _lines(self, source: Repository, commit: CommitId, entry: TreeEntry, **lines: int) -> ToolResult:
        return self._call("read_file", repo=source.name, revision=commit, path=entry.path, **lines)

    def _call(self, name: str, **arguments: Any) -> ToolResult:
        self.budget.take_call()
        context = ToolContext(self.engine, self.viewer, self.budget.cancellation)
        return tools.call(name, {key: value for key, value in arguments.items() if value != ""}, context)


def _path(row: Mapping[str, Any]) -> str:
    """Return the path of a row of `list_files`, where directories and submodules end with a slash."""
    path = str(row["path"])
    return path[:-1] if row["kind"] in {"directory", "submodule"} else path


@contextmanager
def _as_unreadable(source: Repository, entry: TreeEntry) -> Iterator[None]:
    try:
        yield
    except BinaryFile:
        raise
    except (PathNotFound, ToolError) as exc:
        raise _unreadable(source, entry.path, str(exc).rstrip(".")) from exc


def _header(row: Mapping[str, Any]) -> CommitHeader:
    """Return the header of a commit from its row of `commit_search`."""
    author_time = at_offset(row["author_date"], row["author_utc_offset_min"])
    commit_time = at_offset(row["commit_date"], row["commit_utc_offset_min"])
    author = row["author"], row["author_email"], author_time.isoformat()
    committer = row["committer"], row["committer_email"], commit_time.isoformat()
    return CommitHeader(parents=tuple(row["parents"] or ()), author=author, committer=committer, message=row["message"])


@dataclass(frozen=True, slots=True)
class GraphRequest:
    """Shared state of the objects of one request.

    Parameters
    ----------
    engine
        The engine, with its catalog.
    viewer
        The account whose permissions apply.
    budget
        The remaining budget of the request.
    reader
        Reads commits, directories and files.
    """

    engine: Engine
    viewer: Viewer
    budget: Budget
    reader: CodeReader

    def repositories(self) -> Sequence[Repository]:
        """Return the repositories that the caller may see."""
        return self.engine.catalog.visible(self.viewer)


def graph_id(kind: str, name: str) -> str:
    """Return an opaque id, as the public API forms them: the base64 text of kind and name."""
    return base64.b64encode(f"{kind}:{name}".encode()).decode()


class Fields:
    """An object of the schema without behavior: the fields it is given, by Python's names."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


@dataclass(frozen=True, slots=True)
class Markdown:
    """A text as Markdown and as HTML."""

    text: str
    html: str
