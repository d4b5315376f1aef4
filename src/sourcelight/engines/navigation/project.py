"""A repository at one commit, as resolvers see it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from sourcelight.core.query.languages import language_of
from sourcelight.engines.navigation.model import Document
from sourcelight.repos import ObjectReader

if TYPE_CHECKING:
    from sourcelight.engines.search import Target
    from sourcelight.engines.search.scan.corpus import Snapshot

LARGEST_FILE = 1024 * 1024
"""Bytes above which a file is not parsed, only searched as text."""

_MAX_TEXT_BYTES = 16 << 20

NO_SHARD = (1 << 16) - 1

_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class Project:
    """Files of a repository at one commit, by path; everything is read-only and may be shared between threads.

    Parameters
    ----------
    target
        Repository, the revision asked for, and its commit.
    paths
        Path of every regular file, sorted bytewise.
    snapshot
        The text index of the commit; None when it can't be had, and files are then read one by one from git.
    """

    target: Target
    paths: Sequence[bytes]
    snapshot: Snapshot | None
    _blob_ids: bytes
    _numbers: dict[bytes, int] = field(init=False)
    _facts: dict[Hashable, Any] = field(default_factory=dict, init=False)
    _documents: dict[int, Document] = field(default_factory=dict, init=False)
    _folders: dict[bytes, list[int]] | None = field(default=None, init=False)
    _guard: threading.RLock = field(default_factory=threading.RLock, init=False)

    def __post_init__(self) -> None:
        self._numbers = {path: number for number, path in enumerate(self.paths)}

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
        """Give the file at a path, None when there is none."""
        number = self._numbers.get(path)
        return None if number is None else self.document_at(number)

    def document_at(self, number: int) -> Document:
        """Give a file by its place among the paths."""
        found = self._documents.get(number)
        if found is None:
            path = self.paths[number]
            found = self._documents[number] = Document(self, number, path, shown_language(path))
        return found

    def first(self, paths: Sequence[bytes]) -> Document | None:
        """Give the first of these files that exists."""
        return next((self.document_at(self._numbers[path]) for path in paths if path in self._numbers), None)

    def documents(self, endings: tuple[bytes, ...]) -> Iterator[Document]:
        """Give the files whose paths end so, in order of paths."""
        return (self.document_at(number) for number, path in enumerate(self.paths) if path.endswith(endings))

    def folder(self, path: bytes) -> list[Document]:
        """Give the files directly in a folder (no slash at its end; empty: the top), in order of paths."""
        return [self.document_at(number) for number in self.folders().get(path, ())]

    def folders(self) -> dict[bytes, list[int]]:
        """Give every folder that holds files directly, with their numbers."""
        if self._folders is None:
            found: dict[bytes, list[int]] = {}
            for number, path in enumerate(self.paths):
                found.setdefault(path.rpartition(b"/")[0], []).append(number)
            self._folders = found
        return self._folders

    def blob_id(self, number: int) -> bytes:
        """Give the 20 bytes that name a file's content."""
        return self._blob_ids[20 * number : 20 * number + 20]

    @property
    def all_blob_ids(self) -> bytes:
        """20 bytes for each file, in order of paths."""
        return self._blob_ids

    def readable(self, number: int) -> str:
        """Say why a file has no text here (``binary``, ``too-large``, ``missing``); empty when it has."""
        if self.snapshot is None:
            return ""
        from sourcelight.engines.search.index.view import REASONS

        return REASONS[int(self.snapshot.view.reason[number])]

    def text(self, number: int) -> bytes:
        """Give a file's content; empty for what can't be read as text."""
        if self.snapshot is not None:
            shard = int(self.snapshot.view.shard[number])
            if shard == NO_SHARD:
                return b""
            return self.snapshot.shards[shard].text(int(self.snapshot.view.document[number]))
        with ObjectReader(self.target.repository) as reader:
            text = reader.read(self.blob_id(number), _MAX_TEXT_BYTES) or b""
        return b"" if b"\0" in text else text

    def remember(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Give what was made for `key` before, or make it now: maps of modules and the like, small beside the files."""
        try:
            found: _T = self._facts[key]
        except KeyError:
            with self._guard:
                if key not in self._facts:
                    self._facts[key] = make()
                found = self._facts[key]
        return found


def shown_language(path: bytes) -> str:
    """Give the language to read a file in: TSX has a grammar of its own, headers are C."""
    return language_of(path.decode(errors="replace"))
