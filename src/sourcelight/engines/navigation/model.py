"""The values that navigation takes and returns: files of a repository, names in them, definitions and references.

A `Project` is a repository at one commit, and a `Document` is one of its files. A `SymbolQuery` says which name is
meant. Navigation answers with `ResolvedDefinition` and `Reference`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sourcelight.core.caching import LruCache
from sourcelight.core.query.languages import language_of
from sourcelight.engines.symbols.grammars import CELL_FORMATS
from sourcelight.repos import ObjectReader

if TYPE_CHECKING:
    from sourcelight.engines.search import Target
    from sourcelight.engines.search.scan.opened_commit import OpenedCommit
    from sourcelight.engines.symbols.file_definitions import NotebookCode, ProgramDefinitions


ResolutionRule = Literal["scip", "scope", "import", "type", "name", "text"]
"""The rule that found an answer: an index file of a compiler (precise), the scopes of the file, imports, the type of
the receiver, a ranking of equal names, or the text alone."""

DeclarationKey = tuple[tuple[str, str, bytes], int]
"""File and byte offset of a declaration; the offset of a file as a module is -1."""

Role = Literal["name", "attribute", "keyword", "import"]
"""The use of a name: plain, after a dot, as an argument or key name, or inside an import."""

SCORES: dict[ResolutionRule, float] = {
    "scip": 1.0,
    "scope": 0.99,
    "import": 0.97,
    "type": 0.9,
    "name": 0.5,
    "text": 0.2,
}
"""Share of first answers that were right, measured per rule on held-out repositories and rounded."""

_INDEX_FILES = frozenset({b"__init__", b"index", b"mod"})
"""Files that represent their directory."""

_MAX_TEXT_BYTES = 16 * 1024 * 1024
"""Maximum bytes of a file that is read from git; a larger one counts as empty."""

_CODE_CACHE_BYTES = 4 * 1024 * 1024
"""Bytes of code of notebooks that a project keeps. The positions of its lines take about as many again."""

_NO_SHARD = (1 << 16) - 1
"""Shard number of a file whose content is in no shard, as in `index.view`, which loads numpy."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Document:
    """A file of a project; two are equal when they are the same file of the same commit.

    `number` is its index among the paths of the project. `content` is the file itself, and `text` is what is parsed.
    They are equal except for a notebook, whose `text` is the code of its cells in the language of its kernel;
    `locations` maps offsets in `text` to lines of `content`.
    """

    project: Project
    number: int
    path: bytes
    path_language: str
    key: tuple[str, str, bytes] = field(init=False, repr=False)
    """Repository's key, commit and path."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", (self.project.key, self.project.commit, self.path))

    def __eq__(self, other: object) -> bool:
        # The cache may evict a project and open it again, so the same file can belong to two `Project` objects.
        return self is other or (isinstance(other, Document) and self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def shown_path(self) -> str:
        """The path as text, invalid UTF-8 as U+FFFD."""
        return self.path.decode(errors="replace")

    def distance_to(self, other_path: bytes) -> int:
        """Return the number of directories to go up and down to another file of the project."""
        left, right = self.path.split(b"/")[:-1], other_path.split(b"/")[:-1]
        common = 0
        for a, b in zip(left, right, strict=False):
            if a != b:
                break
            common += 1
        return len(left) + len(right) - 2 * common

    @property
    def blob_id(self) -> bytes:
        """The 20 bytes that name the content."""
        return self.project.blob_id(self.number)

    @property
    def has_cells(self) -> bool:
        """Whether its path is a notebook's."""
        return self.path_language in CELL_FORMATS

    @property
    def code(self) -> ProgramDefinitions | None:
        """The code of a notebook and its definitions; None for other files, and for one without code to parse."""
        if not self.has_cells:
            return None
        return self.project.notebook(self.number, self.path_language).code

    @property
    def unread_reason(self) -> str:
        """The reason if a notebook's cells are unknown: ``too-large`` or ``unreadable``; empty for any other file."""
        if not self.has_cells:
            return ""
        if self.project.unread_reason(self.number) == "too-large":
            return "too-large"
        if not self.project.notebook(self.number, self.path_language).is_readable:
            return "unreadable"
        return ""

    @property
    def language(self) -> str:
        """Display name of the language: by the path, for a notebook the language of most of its code."""
        code = self.code
        if code is None:
            return self.path_language
        return code.program.language

    @property
    def text(self) -> bytes:
        """The parsed source; empty for a file that is binary, too large or missing (see `Project.unread_reason`)."""
        code = self.code
        if code is None:
            return self.content
        return code.program.text

    @property
    def content(self) -> bytes:
        """The bytes of the file, or none, as for `text`."""
        return self.project.text(self.number)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A name in a file, as byte offsets.

    `is_binding`: it defines or binds the name. `is_called`: a call calls it.
    """

    start: int
    end: int
    role: Role = "name"
    is_binding: bool = False
    is_called: bool = False


@dataclass(frozen=True, slots=True)
class ResolvedDefinition:
    """A definition.

    Parameters
    ----------
    document
        The file of the definition.
    start, end
        Byte range of its name; both 0 for a module, which is the file itself.
    kind
        One of `sourcelight.engines.symbols.KINDS`, or ``parameter``.
    rule
        The rule that found it.
    score
        0 to 1: the probability that it is right, see `SCORES`.
    reason
        The rule in a few words.
    """

    document: Document
    start: int
    end: int
    kind: str
    rule: ResolutionRule
    score: float
    reason: str

    @property
    def key(self) -> DeclarationKey:
        """Identity of a definition: the file and the offset, -1 for the file as a module."""
        is_module = self.end == 0
        return self.document.key, -1 if is_module else self.start

    @property
    def import_names(self) -> list[bytes]:
        """The names that imports use for the definition: its own; for a module that of its file or directory."""
        if self.end:
            return [self.document.text[self.start : self.end]]
        directory, _, base = self.document.path.rpartition(b"/")
        stem = base.partition(b".")[0]
        if stem in _INDEX_FILES:
            return [directory.rpartition(b"/")[2] or stem]
        return [stem]

    def resolve_by(self, rule: ResolutionRule, reason: str, score: float | None = None) -> ResolvedDefinition:
        """Return the same definition with another rule and reason. Without a score, it has that of the rule."""
        if score is None:
            score = SCORES[rule]
        return replace(self, rule=rule, reason=reason, score=score)


@dataclass(slots=True, eq=False)
class Project:
    """Files of a repository at one commit, by path; everything is read-only and may be shared between threads.

    Parameters
    ----------
    target
        Repository, the requested revision, and its commit.
    paths
        Path of every regular file, sorted bytewise.
    snapshot
        The text index of the commit. Without one, files are read one by one from git.
    blob_ids
        The id of the content of each file, 20 bytes each, in the order of `paths`.
    """

    target: Target
    paths: Sequence[bytes]
    snapshot: OpenedCommit | None
    blob_ids: bytes
    _numbers: dict[bytes, int] = field(init=False)
    _cache: dict[Hashable, Any] = field(default_factory=dict, init=False)
    _documents: dict[int, Document] = field(default_factory=dict, init=False)
    _directories: dict[bytes, list[int]] | None = field(default=None, init=False)
    _guard: threading.RLock = field(default_factory=threading.RLock, init=False)
    _notebooks: LruCache[int, NotebookCode] = field(init=False)

    def __post_init__(self) -> None:
        self._numbers = {path: number for number, path in enumerate(self.paths)}
        self._notebooks = LruCache(_CODE_CACHE_BYTES, weigh=lambda code: code.size)

    @property
    def key(self) -> str:
        """The repository's identity on this machine."""
        return self.target.repository.key

    @property
    def name(self) -> str:
        """The repository's name."""
        return self.target.repository.name

    @property
    def commit(self) -> str:
        """The commit, 40 hex digits."""
        return self.target.commit

    def __contains__(self, path: bytes) -> bool:
        return path in self._numbers

    def document(self, path: bytes) -> Document | None:
        """Return the file at a path, or None for a path without a file."""
        number = self._numbers.get(path)
        if number is None:
            return None
        return self.document_at(number)

    def document_at(self, number: int) -> Document:
        """Return a file by its index among the paths."""
        document = self._documents.get(number)
        if document is None:
            path = self.paths[number]
            document = self._documents[number] = Document(self, number, path, grammar_language(path))
        return document

    def first(self, paths: Sequence[bytes]) -> Document | None:
        """Return the file of the first path that exists."""
        for path in paths:
            if path in self._numbers:
                return self.document_at(self._numbers[path])
        return None

    def documents(self, endings: tuple[bytes, ...]) -> Iterator[Document]:
        """Yield the files whose paths have one of the endings, in order of paths."""
        for number, path in enumerate(self.paths):
            if path.endswith(endings):
                yield self.document_at(number)

    def documents_in(self, path: bytes) -> list[Document]:
        """Return the files directly in a directory (no trailing slash; empty: the root), in order of paths."""
        return [self.document_at(number) for number in self.directories().get(path, ())]

    def directories(self) -> dict[bytes, list[int]]:
        """Return the numbers of the files directly in each directory."""
        if self._directories is None:
            by_directory: dict[bytes, list[int]] = {}
            for number, path in enumerate(self.paths):
                by_directory.setdefault(path.rpartition(b"/")[0], []).append(number)
            self._directories = by_directory
        return self._directories

    def blob_id(self, number: int) -> bytes:
        """Return the 20 bytes that name a file's content."""
        return self.blob_ids[20 * number : 20 * number + 20]

    def unread_reason(self, number: int) -> str:
        """Return the reason if the text index omits a file: ``binary``, ``too-large`` or ``missing``; else empty."""
        if self.snapshot is None:
            return ""
        # Imported late: it loads numpy.
        from sourcelight.engines.search.index.view import REASONS

        return REASONS[int(self.snapshot.view.reason[number])]

    def text(self, number: int) -> bytes:
        """Return a file's content; empty for a binary, oversized or missing file."""
        if self.snapshot is not None:
            shard = int(self.snapshot.view.shard[number])
            if shard == _NO_SHARD:
                return b""
            return self.snapshot.shards[shard].text(int(self.snapshot.view.document[number]))

        with ObjectReader(self.target.repository) as reader:
            text = reader.read(self.blob_id(number), _MAX_TEXT_BYTES) or b""

        return b"" if b"\0" in text else text

    def notebook(self, number: int, cell_format: str) -> NotebookCode:
        """Return the code of a notebook, read once."""
        from sourcelight.engines.symbols.file_definitions import read_code

        return self._notebooks.get_or_make(number, lambda: read_code(cell_format, self.text(number)))

    def remember(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return the cached value of a key, or make it. For values that are small compared with the files."""
        try:
            value: _T = self._cache[key]
        except KeyError:
            # Reentrant, because `make` may call `remember`. Another thread may have made the value meanwhile.
            with self._guard:
                if key not in self._cache:
                    self._cache[key] = make()
                value = self._cache[key]

        return value


def grammar_language(path: bytes) -> str:
    """Return the language whose grammar parses a file."""
    return language_of(path.decode(errors="replace"))


@dataclass(frozen=True, slots=True)
class SymbolQuery:
    """A symbol query: a name in a file, maybe on a 1-based line and at a column in code points."""

    document: Document
    name: str
    line_number: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A use of a definition, or the definition itself."""

    document: Document
    occurrence: Occurrence
    rule: ResolutionRule
    score: float
    reason: str
    is_definition: bool = False
