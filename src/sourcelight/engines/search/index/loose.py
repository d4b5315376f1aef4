"""Documents that no file of the index holds, since git keeps them well enough: the changed files of a nearby revision.

A revision differs from the default one by a few files, each of which would be kept whole. They are read from the
repository when the revision is opened, and scanned without posting lists: some megabytes, some milliseconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from sourcelight.engines.search.index.grams import Keys
from sourcelight.engines.search.index.postings import Postings
from sourcelight.engines.search.index.shard import Shard, ShardBuilder
from sourcelight.engines.storage.sections import TAIL

LOOSE_BYTES = 16 * 1024 * 1024
"""Bytes of text up to which the documents of a revision stay loose; more are indexed like any others."""

_PREFIX = "loose-"


def loose_name(blob_ids: Iterable[bytes]) -> str:
    """Name the loose documents of a view, by what they are."""
    return _PREFIX + hashlib.sha256(b"".join(blob_ids)).hexdigest()[:32]


def is_loose(name: str) -> bool:
    """Tell whether a shard of this name has no file."""
    return name.startswith(_PREFIX)


class _NoPostings(Postings):
    def __init__(self) -> None:
        pass

    def units_with(self, trigrams: Keys) -> None:  # noqa: ARG002 - the signature of the base
        return None


class LooseShard(Shard):
    """A shard in memory, every unit of which is a candidate.

    Parameters
    ----------
    name
        As `loose_name` gives it.
    documents
        Blob ids and texts, in the order of their numbers.
    """

    def __init__(self, name: str, documents: Sequence[tuple[bytes, bytes]]) -> None:
        builder = ShardBuilder(None)
        for blob_id, text in documents:
            builder.add(blob_id, text)
        sections: dict[str, Any] = builder.layout()
        self.name = name
        self.documents = len(documents)
        self.units = len(sections["unit_start"]) - 1
        self.text_bytes = sum(len(text) for _, text in documents)
        padded = sections["content"].tobytes() + b"\0" * TAIL
        self.content = memoryview(padded)[:-TAIL]
        self.content_bytes = len(self.content)
        self.newlines = sections["newlines"]
        self.line_ends = len(self.newlines)
        self.doc_start = sections["doc_start"]
        self.doc_size = sections["doc_size"]
        self.doc_line = sections["doc_line"]
        self.doc_unit = sections["doc_unit"]
        self.unit_start = sections["unit_start"]
        self.postings = _NoPostings()
        self._blob_ids = [blob_id for blob_id, _ in documents]

    @property
    def unchecked_bytes(self) -> int:
        """None: no file can be damaged."""
        return 0

    def is_unchanged(self) -> bool:
        """Say yes: there is no file."""
        return True

    def check_size(self) -> None:
        """Do nothing: there is no file."""

    def blob_ids(self) -> list[bytes]:
        """Give the blob id of each document."""
        return list(self._blob_ids)
