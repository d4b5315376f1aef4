"""Generations: the repositories of a cluster and the shard of each, in one immutable file per generation.

A generation is named by the hash of its file, so that readers notice a changed or half written one. ``current.json``
names the newest. Builders read it again before they replace it, because object storage has no locks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sourcelight.backends.cluster.storage.objects import ShardId, ShardStorage
from sourcelight.core.batches import RepositoryInfo
from sourcelight.core.errors import ClusterError, StorageError
from sourcelight.repos.repository import UNKNOWN_LENDER, SkippedRepository

CURRENT = "current.json"
NO_SHARD = ShardId("")

FORMAT = 2
"""Raised whenever older code can't read what this code writes."""

_WITHOUT_LENDERS = 1
"""Format without borrowers: only administrators see its private repositories."""


@dataclass(frozen=True, slots=True)
class StoredShard:
    """A repository of a generation.

    Parameters
    ----------
    info
        Name, commit, description, flags.
    shard
        Id of the shard that holds it; empty when none could be built so far.
    size, text_bytes, files
        Bytes of the shard; bytes of text and number of files at the commit.
    formats
        Formats of the files in it; a worker of other formats can't read it.
    incomplete
        Why the repository does not hold everything; empty when it does.
    problem
        Why it could not be brought up to date; the shard, if any, is then a former one.
    source
        The input of the shard: refs, settings and formats; if it is unchanged, nothing is built.
    lenders
        Names of the private repositories whose objects it reads: only who may see them all may see it.
    """

    info: RepositoryInfo
    shard: ShardId = NO_SHARD
    size: int = 0
    text_bytes: int = 0
    files: int = 0
    formats: str = ""
    incomplete: str = ""
    problem: str = ""
    source: str = ""
    lenders: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the repository."""
        return self.info.name


@dataclass(frozen=True, slots=True)
class Generation:
    """One state of all repositories.

    Attributes
    ----------
    number
        Counts up from 1.
    entries, contexts
        The repositories, and the search contexts over them.
    skipped
        Directories that looked like a repository when it was built and could not be read.
    id
        Hash of the file that holds it.
    """

    number: int = 0
    entries: tuple[StoredShard, ...] = ()
    contexts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    skipped: tuple[SkippedRepository, ...] = ()
    id: str = ""

    def equals(self, other: Generation) -> bool:
        """Return whether another generation has the same contents, ignoring its number."""
        return (self.entries, dict(self.contexts), self.skipped) == (other.entries, dict(other.contexts), other.skipped)

    @property
    def searchable(self) -> tuple[StoredShard, ...]:
        """The repositories that have a shard."""
        return tuple(entry for entry in self.entries if entry.shard)

    @property
    def unbuilt(self) -> tuple[StoredShard, ...]:
        """Repositories without any shard so far, because building failed."""
        return tuple(entry for entry in self.entries if not entry.shard)


def read_current(storage: ShardStorage) -> Generation | None:
    """Return the newest generation, or None when there is none yet. Raises `StorageError`."""
    generation_id = current_id(storage)
    if not generation_id:
        return None
    return read_generation(storage, generation_id)


def current_id(storage: ShardStorage) -> str:
    """Return the id of the newest generation; empty when there is none yet. Raises `StorageError`."""
    content = storage.read(CURRENT)
    if content is None:
        return ""
    try:
        return str(json.loads(content)["generation"])
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(storage.url, f"{CURRENT} can't be read ({error})") from error


def read_generation(storage: ShardStorage, generation: str) -> Generation:
    """Read a generation by its id.

    Raises
    ------
    StorageError
        When storage does not have it, or it was changed, or a newer version of this program wrote it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = storage.read(_name(generation))
    if content is None:
        raise StorageError(storage.url, f"generation {generation[:12]} is missing")
    # The id is the hash, so a file that was changed, or half written by a store without atomic writes, is noticed here.
    if hashlib.sha256(content).hexdigest() != generation:
        raise StorageError(storage.url, f"generation {generation[:12]} was changed")

    try:
        table = pq.read_table(pa.BufferReader(content))
        metadata = json.loads(table.schema.metadata[b"sourcelight"])
        if metadata["format"] not in {FORMAT, _WITHOUT_LENDERS}:
            raise StorageError(
                storage.url, f"the generation has format {metadata['format']}; this version reads {FORMAT}"
            )

        # Inside the `try`: a missing column is a KeyError of the row, and means the same to a caller as a damaged file.
        entries = tuple(_entry(row) for row in table.to_pylist())
        # Generations of earlier versions have no skipped repositories.
        skipped = tuple(SkippedRepository(**item) for item in metadata.get("skipped", ()))
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise StorageError(storage.url, f"generation {generation[:12]} can't be read ({error})") from error

    return Generation(
        number=metadata["number"], entries=entries, contexts=metadata["contexts"], skipped=skipped, id=generation
    )


def write_generation(storage: ShardStorage, generation: Generation, previous_id: str) -> Generation:
    """Write a generation and make it the current one, in one step; give it with its id.

    Parameters
    ----------
    storage
        Whose shards it names; they are there by now.
    generation
        What to write; `number` and `id` are set here.
    previous_id
        Id of the generation that it was made from.

    Raises
    ------
    ClusterError
        When another generation was written meanwhile.
    StorageError
        When storage can't be written.
    """
    number = 1
    if previous_id:
        # From the file and not from the caller's object, which may be a copy with another number.
        number = read_generation(storage, previous_id).number + 1

    # The id is the hash of the content, so a generation can't be changed, and a reader can check what it got.
    content = _encode(replace(generation, number=number))
    generation_id = hashlib.sha256(content).hexdigest()
    storage.write(_name(generation_id), content)

    # No lock is possible on object storage. This check finds another builder that finished earlier; a race of
    # milliseconds remains.
    if current_id(storage) != previous_id:
        raise ClusterError("another generation was written meanwhile; build again, with one builder at a time")

    storage.write(CURRENT, json.dumps({"generation": generation_id, "number": number, "former": previous_id}).encode())
    return replace(generation, number=number, id=generation_id)


def _encode(generation: Generation) -> bytes:
    """Return the Parquet file of a generation: a row for each repository, and metadata for the rest."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [_row(entry) for entry in generation.entries]
    # Columns without a type here hold texts.
    types = {"size": pa.int64(), "text_bytes": pa.int64(), "files": pa.int64(), "lenders": pa.list_(pa.string())}
    columns = {}
    # One column per field, even without rows: an empty generation has to be readable too.
    for field_name in StoredShard.__dataclass_fields__:
        name = "facts" if field_name == "info" else field_name
        columns[name] = pa.array([row[name] for row in rows], types.get(name, pa.string()))

    metadata = {
        "format": FORMAT,
        "number": generation.number,
        "contexts": {name: dict(context) for name, context in generation.contexts.items()},
        "skipped": [asdict(item) for item in generation.skipped],
    }
    table = pa.table(columns).replace_schema_metadata({"sourcelight": json.dumps(metadata)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def record_build(storage: ShardStorage, entry: StoredShard) -> None:
    """Remember a shard that is whole in storage, for builds that come before a generation names it."""
    storage.write(_note_name(entry.name, entry.source), json.dumps(_row(entry)).encode())


def find_build(storage: ShardStorage, name: str, source: str) -> StoredShard | None:
    """Return the shard built from a repository in this state, or None. Raises `StorageError`."""
    content = storage.read(_note_name(name, source))
    if content is None:
        return None
    try:
        entry = _entry(json.loads(content))
    # A note is a hint for builders. An unreadable one only costs a build, so it is not an error.
    except (ValueError, KeyError, TypeError):
        return None
    if (entry.name, entry.source) != (name, source):
        return None
    return entry


def _note_name(name: str, source: str) -> str:
    # Hashed, because names have slashes and may not be UTF-8; NUL can be in neither part.
    digest = hashlib.sha256(f"{name}\0{source}".encode("utf-8", "surrogateescape")).hexdigest()
    return f"built/{digest}.json"


def _name(generation: str) -> str:
    return f"generations/{generation}.parquet"


def _row(entry: StoredShard) -> dict[str, Any]:
    """Return the fields of a shard as files have them; `info` is JSON there, under its older name ``facts``."""
    fields = asdict(entry)
    info = fields.pop("info")
    return {**fields, "facts": json.dumps(info)}


def _entry(row: Mapping[str, Any]) -> StoredShard:
    fields = dict(row)
    attributes = json.loads(fields.pop("facts"))
    attributes["topics"] = tuple(attributes["topics"])
    info = RepositoryInfo(**attributes)
    if "lenders" in fields:
        lenders = tuple(fields.pop("lenders"))
    elif info.private:
        # Fails closed: a private repository of the old format may borrow objects from an unknown place.
        lenders = (UNKNOWN_LENDER,)
    else:
        lenders = ()
    return StoredShard(info=info, lenders=lenders, **fields)
