"""Repositories, commits, directories and files as objects of the GraphQL schema.

Repositories that the caller may not see don't exist here: each one comes from the catalog's list for its viewer. A
missing object is null, as in the public API. If the clone lacks an object, the answer has an error that names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

from graphql import GraphQLError

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.results import file_url, repository_url
from sourcelight.core.errors import PathNotFound, RepositoryNotFound, RevisionNotFound
from sourcelight.core.markup import escape
from sourcelight.core.query.languages import languages_of_path
from sourcelight.engines.tools.context import clean_path
from sourcelight.repos import Repository, TreeEntry
from sourcelight.repos.objects.commits import CommitHeader
from sourcelight.server.http.graphql.reading import BlobContent, Fields, GraphRequest, Markdown, graph_id


def find_repository(request: GraphRequest, name: str) -> GitRepository | None:
    """Find a repository by name; return None if there is none that the caller may see."""
    try:
        return GitRepository(request, request.engine.catalog.get(name.strip("/"), request.viewer))
    except RepositoryNotFound:
        return None


@dataclass(frozen=True)
class GitRepository:
    """``Repository``."""

    request: GraphRequest
    source: Repository
    language = ""
    viewer_can_administer = False

    @property
    def id(self) -> str:
        """Opaque id."""
        return graph_id("Repository", str(self.source.info.id))

    @property
    def name(self) -> str:
        """Name."""
        return self.source.info.name

    @property
    def url(self) -> str:
        """Address below the service."""
        return repository_url("", self.name)

    @property
    def description(self) -> str:
        """Description."""
        return self.source.info.description

    @property
    def is_fork(self) -> bool:
        """Whether it is a fork."""
        return self.source.info.fork

    @property
    def is_archived(self) -> bool:
        """Whether it is archived."""
        return self.source.info.archived

    @property
    def is_private(self) -> bool:
        """Whether only some accounts may see it."""
        return self.source.info.private

    @property
    def stars(self) -> int:
        """Stars at its code host."""
        return self.source.info.stars

    @property
    def created_at(self) -> str:
        """Time of the last fetch, or 1970: the time when the service added it isn't recorded."""
        return self.source.info.last_fetched or "1970-01-01T00:00:00Z"

    @property
    def updated_at(self) -> str | None:
        """Time of the last fetch."""
        return self.source.info.last_fetched or None

    @property
    def label(self) -> Markdown:
        """Name as a link to the repository."""
        return Markdown(f"[{self.name}]({self.url})", f'<p><a href="{escape(self.url)}">{escape(self.name)}</a></p>')

    @property
    def detail(self) -> Markdown:
        """Empty text, as the schema requires the field."""
        return Markdown("", "")

    @property
    def external_urls(self) -> list[Fields]:
        """Its address at the code host."""
        url = self.source.info.url
        return [Fields(url=url, service_type="other", service_kind="OTHER")] if url else []

    @property
    def external_repository(self) -> Fields:
        """Its name at the code host."""
        return Fields(id=self.name, service_type="other", service_id=self.source.info.url)

    @property
    def key_value_pairs(self) -> list[Fields]:
        """Metadata."""
        return [Fields(key=key, value=value) for key, value in self.source.info.metadata.items()]

    @property
    def mirror_info(self) -> Fields:
        """Always cloned: the service has all of its repositories."""
        return Fields(cloned=True, clone_in_progress=False, updated_at=self.updated_at)

    @property
    def default_branch(self) -> GitRef | None:
        """The branch that HEAD names; None for a detached HEAD, or without git."""
        name = self.request.reader.default_branch(self.source)
        return GitRef(self, name) if name else None

    def commit(self, rev: str, input_revspec: str | None = None) -> GitCommit | None:
        """Find a commit by revision."""
        del input_revspec
        # Charged before reading: a query may ask for thousands of commits by aliases.
        self.request.budget.take_objects()
        try:
            return GitCommit(self, self.request.reader.resolve(self.source, rev))
        except (RevisionNotFound, RepositoryNotFound):
            return None


@dataclass(frozen=True)
class GitRef:
    """``GitRef``: the full name of a ref, such as ``refs/heads/main``."""

    repository: GitRepository
    name: str

    @property
    def display_name(self) -> str:
        """Name without its kind."""
        return self.name.removeprefix("refs/heads/").removeprefix("refs/tags/")

    abbrev_name = display_name

    @property
    def target(self) -> Fields:
        """The commit of the ref."""
        commit = self.repository.commit(self.name)
        return Fields(oid=commit.oid if commit else "", commit=commit)


@dataclass(frozen=True)
class GitCommit:
    """``GitCommit``; the commit is read when a field needs it."""

    repository: GitRepository
    oid: CommitId

    @property
    def id(self) -> str:
        """Opaque id."""
        return graph_id("GitCommit", f"{self.repository.id}:{self.oid}")

    @property
    def abbreviated_oid(self) -> str:
        """The first seven digits."""
        return self.oid[:7]

    @property
    def url(self) -> str:
        """Address below the service."""
        return f"{self.repository.url}/-/commit/{self.oid}"

    canonical_url = url

    @cached_property
    def _header(self) -> CommitHeader:
        header = self.repository.request.reader.read_commit(self.repository.source, self.oid)
        if header is None:
            raise GraphQLError(f"Commit {self.oid} of {self.repository.name} can't be read from this clone.")
        return header

    @property
    def message(self) -> str:
        """The whole message."""
        return self._header.message

    @property
    def subject(self) -> str:
        """The first paragraph of the message as one line, as git's ``%s``."""
        return self._header.subject

    @property
    def body(self) -> str:
        """The message after its first paragraph."""
        return self._header.body

    @property
    def author(self) -> Fields:
        """The author, and the author date."""
        return _signature(*self._header.author)

    @property
    def committer(self) -> Fields:
        """The committer, and the committer date."""
        return _signature(*self._header.committer)

    @property
    def parents(self) -> list[GitCommit]:
        """Its parents, in order."""
        self.repository.request.budget.take_objects(len(self._header.parents))
        return [GitCommit(self.repository, CommitId(parent)) for parent in self._header.parents]

    def blob(self, path: str) -> GitBlob | None:
        """Find a file by path; return None if there is none."""
        entry = self._entry(path)
        if entry is not None and entry.kind in {"file", "symlink"}:
            return GitBlob(self, entry)
        return None

    file = blob

    def tree(self, path: str = "", recursive: bool = False) -> GitTree | None:  # noqa: FBT001, FBT002 - the schema's
        """Find a directory by path; return None if there is none."""
        entry = self._entry(path)
        if entry is not None and entry.kind == "directory":
            return GitTree(self, entry, recursive)
        return None

    def _entry(self, path: str) -> TreeEntry | None:
        self.repository.request.budget.take_objects()
        try:
            return self.repository.request.reader.find(self.repository.source, self.oid, clean_path(path))
        except PathNotFound:
            return None


def _signature(name: str, email: str, date: str) -> Fields:
    return Fields(person=Fields(name=name, display_name=name, email=email), date=date)


@dataclass(frozen=True)
class _Entry:
    """A file or directory of a commit."""

    commit: GitCommit
    entry: TreeEntry

    @property
    def repository(self) -> GitRepository:
        """Its repository."""
        return self.commit.repository

    @property
    def path(self) -> str:
        """Path in the repository."""
        return self.entry.path

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class GitBlob(_Entry):
    """``GitBlob``: a file, or a symbolic link, whose content is its target."""

    is_directory = False

    @property
    def url(self) -> str:
        """Address below the service, at the commit."""
        return file_url("", self.repository.name, self.commit.oid, self.path)

    canonical_url = url

    @property
    def languages(self) -> list[str]:
        """Languages by the name of the file."""
        return list(languages_of_path(self.path))

    @property
    def byte_size(self) -> int:
        """Size in bytes."""
        # `cached_property` stores its value under this name: if the content was read, its size is known.
        if "_content" in vars(self):
            return self._content.size
        return self.repository.request.reader.size(self.repository.source, self.commit.oid, self.entry)

    @cached_property
    def _content(self) -> BlobContent:
        return self.repository.request.reader.read(self.repository.source, self.commit.oid, self.entry)

    @property
    def binary(self) -> bool:
        """Whether git takes it for binary."""
        return self._content.is_binary

    @property
    def total_lines(self) -> int:
        """Number of lines; the last one may lack its newline."""
        data = self._content.data
        return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))

    def content(self, start_line: int | None = None, end_line: int | None = None) -> str:
        """Return text of the file, or of its lines; empty for a binary file. Invalid UTF-8 is replaced by U+FFFD."""
        if self.binary:
            return ""

        data = self._content.data
        if start_line is not None or end_line is not None:
            # As the public API: a start below 1 is the first line, a missing or negative end the last one.
            first = max((start_line or 1) - 1, 0)
            last = None if end_line is None or end_line < 0 else end_line
            data = _lines(data, first, last)

        return data.decode("utf-8", "replace")


def _lines(data: bytes, first: int, last: int | None) -> bytes:
    """Return lines of a content; only a newline ends one."""
    lines = data.split(b"\n")
    # Joining drops the newline after the last line, which is put back unless the range reaches the end of the file.
    text = b"\n".join(lines[first:last])
    return text + b"\n" if last is not None and last < len(lines) and text else text


@dataclass(frozen=True)
class GitTree(_Entry):
    """``GitTree``: a directory."""

    recursive: bool = False
    is_directory = True

    @property
    def is_root(self) -> bool:
        """Whether it is the top directory."""
        return not self.path

    @property
    def url(self) -> str:
        """Address below the service, at the commit."""
        return f"{repository_url('', self.repository.name, self.commit.oid)}/-/tree/{quote(self.path)}"

    canonical_url = url

    def entries(self, first: int | None = None, recursive: bool = False) -> list[_Entry]:  # noqa: FBT001, FBT002 - the schema's
        """List the entries, directories first, then by name, without submodules: their files are elsewhere."""
        entries = list(self._walk(self.entry, recursive=recursive or self.recursive))
        return entries if first is None else entries[: max(first, 0)]

    def files(self, first: int | None = None, recursive: bool = False) -> list[GitBlob]:  # noqa: FBT001, FBT002 - the schema's
        """List its files."""
        files = [entry for entry in self.entries(None, recursive) if isinstance(entry, GitBlob)]
        return files if first is None else files[: max(first, 0)]

    def directories(self, first: int | None = None, recursive: bool = False) -> list[GitTree]:  # noqa: FBT001, FBT002 - the schema's
        """List its directories."""
        folders = [entry for entry in self.entries(None, recursive) if isinstance(entry, GitTree)]
        return folders if first is None else folders[: max(first, 0)]

    def _walk(self, folder: TreeEntry, *, recursive: bool) -> Iterator[_Entry]:
        request = self.repository.request
        pending = [folder]
        while pending:
            children = request.reader.list_folder(self.repository.source, self.commit.oid, pending.pop())
            # One more for the directory itself, so that a chain of empty directories isn't free.
            request.budget.take_objects(len(children) + 1)
            folders = [entry for entry in children if entry.kind == "directory"]
            yield from (GitTree(self.commit, entry) for entry in folders)
            yield from (GitBlob(self.commit, entry) for entry in children if entry.kind in {"file", "symlink"})
            if recursive:
                # Reversed, as the stack is read from its end: directories come in the order of their names.
                pending.extend(reversed(folders))
