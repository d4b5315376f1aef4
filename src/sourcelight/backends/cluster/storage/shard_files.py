"""List the files of a shard, upload them, and fetch them into a directory."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sourcelight.backends.cluster.storage.objects import ShardId, ShardStorage, hash_of
from sourcelight.core.errors import RepositoryError, ShardDamaged
from sourcelight.repos import Repository
from sourcelight.repos.repository import common_dir

GIT, INDEX, HISTORY = "git", "index", "history"
"""Folders of a shard."""

_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
_PACKED = frozenset({".pack", ".idx"})
_MAX_ALTERNATES = 16
"""Directories of alternates of a repository that are searched: they may refer to each other."""

_READ_AGAIN = 3
"""Attempts to read objects that git may pack again meanwhile."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a shard: its path below the shard's folder, the SHA-256 of its content, and its bytes."""

    path: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class ShardFiles:
    """All files of a shard, by path."""

    files: tuple[StoredFile, ...]

    @property
    def id(self) -> ShardId:
        """The id of the shard: a hash of its list of files, and so of all their contents."""
        seen = hashlib.sha256()
        # The list is sorted by `publish`, so the same content gives the same id. NUL and newline can't be in a digest
        # or a size, and a NUL can't be in a path, so no two lists look alike.
        for file in self.files:
            seen.update(f"{file.path}\0{file.digest}\0{file.size}\n".encode("utf-8", "surrogateescape"))
        return ShardId(seen.hexdigest())

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def keep(self, storage: ShardStorage) -> ShardId:
        """Write the list to storage once its files are there; return the shard's id."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table(
            {
                # Binary, because names of git objects are ASCII but names of refs need not be UTF-8.
                "path": pa.array([os.fsencode(file.path) for file in self.files], pa.binary()),
                "digest": pa.array([file.digest for file in self.files], pa.string()),
                "size": pa.array([file.size for file in self.files], pa.int64()),
            }
        )
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        storage.write(f"shards/{self.id}.parquet", sink.getvalue().to_pybytes())
        return self.id

    @classmethod
    def read(cls, storage: ShardStorage, shard: ShardId) -> ShardFiles:
        """Read the list of a shard.

        Raises
        ------
        ShardDamaged
            When storage does not have it, or it is not the one of this id.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        name = f"shards/{shard}.parquet"
        content = storage.read(name)
        if content is None:
            raise ShardDamaged(name, "it is not in storage")

        try:
            rows = pq.read_table(pa.BufferReader(content)).to_pylist()
            files = cls(tuple(StoredFile(os.fsdecode(row["path"]), row["digest"], row["size"]) for row in rows))
        except (pa.ArrowException, KeyError, TypeError) as error:
            raise ShardDamaged(name, f"it can't be read ({error})") from error

        if files.id != shard:
            raise ShardDamaged(name, "it is the list of another shard")

        # Storage is shared with other writers: a path from it is checked before anything is written below it.
        for file in files.files:
            parts = PurePosixPath(file.path).parts
            if not parts or parts[0] not in {GIT, INDEX, HISTORY} or ".." in parts or "\\" in file.path:
                raise ShardDamaged(name, f"it names a file outside of the shard: {file.path!r}")

        return files


def publish(repository: Repository, index: Path, history: Path, storage: ShardStorage) -> ShardFiles:
    """Copy a repository's git objects, index and history into storage; existing objects are skipped.

    Parameters
    ----------
    repository
        A git repository; refs are read before objects, so that what they name is there.
    index, history
        Folders of its index and of its history, which no process writes meanwhile.
    storage
        Where to.

    Raises
    ------
    RepositoryError
        When its files vanish each time they are read.
    StorageError
        When storage can't be written.
    """
    for _ in range(_READ_AGAIN):
        try:
            # git may repack meanwhile: a listed packed ref or loose object may then be missing. The whole listing is
            # repeated, because parts of two listings may lack an object that moved from a loose file into a pack.
            files = [StoredFile(f"{GIT}/{name}", *put()) for name, put in _git_files(repository, storage)]
            break
        except FileNotFoundError:
            continue  # packed again meanwhile
    else:
        raise RepositoryError(
            f"the files of {repository.name} change faster than they can be read; retry when no fetch is running"
        )

    for folder, name in ((index, INDEX), (history, HISTORY)):
        files += [
            StoredFile(f"{name}/{path.relative_to(folder).as_posix()}", *storage.put(path))
            for path in _index_files(folder)
        ]

    return ShardFiles(tuple(sorted(files, key=lambda file: file.path)))


def fetch(
    files: Sequence[StoredFile],
    storage: ShardStorage,
    objects: Path,
    target: Path,
    check_stopped: Callable[[], None] = lambda: None,
    *,
    check: bool = False,
) -> None:
    """Fetch files to the directory `target`, and new contents to `objects`, which holds each content once.

    `check_stopped` is called before each file and may raise; with `check` what `objects` has is not trusted, but read.
    Raises `ShardDamaged`, `StorageError`, `OSError`.
    """
    for file in files:
        check_stopped()
        # A hard link: shards of successive generations share most of their packs, and share their bytes on this disk
        # too.
        object_path = objects / file.digest[:2] / file.digest
        to = target / file.path
        to.parent.mkdir(parents=True, exist_ok=True)

        # What nothing links to may be swept away at any moment.
        with contextlib.suppress(FileNotFoundError):
            os.link(object_path, to)
            if to.stat().st_size == file.size and not (check and hash_of(to) != (file.digest, file.size)):
                continue
            to.unlink()

        storage.fetch(file.digest, file.size, to)
        object_path.parent.mkdir(parents=True, exist_ok=True)
        object_path.unlink(missing_ok=True)

        # Another thread stored the same content first, which is as good.
        with contextlib.suppress(FileExistsError):
            os.link(to, object_path)

    for name in (GIT, INDEX, HISTORY):
        (target / name).mkdir(parents=True, exist_ok=True)

    for name in ("refs", "objects"):
        (target / GIT / name).mkdir(exist_ok=True)


def _index_files(folder: Path) -> Iterator[Path]:
    """Yield the files of an index that count for others: no locks, nothing half written."""
    if not folder.is_dir():
        return
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "lock" and not path.name.startswith(("tmp-", ".")):
            yield path


def _git_files(repository: Repository, storage: ShardStorage) -> Iterator[tuple[str, Callable[[], tuple[str, int]]]]:
    """Yield names below a bare git directory, each with a function that stores the file."""
    git_common_dir = Path(common_dir(repository.git_dir))
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config"
        # Written here and not copied: the repository's own configuration may name programs, credentials and other
        # directories.
        config.write_bytes(_CONFIG)
        yield "config", lambda: storage.put(config)
        yield "HEAD", lambda: storage.put(Path(repository.git_dir) / "HEAD")
        for name in ("packed-refs", "shallow"):
            if (git_common_dir / name).is_file():
                yield name, lambda name=name: storage.put(git_common_dir / name)  # type: ignore[misc]

        for path in sorted((git_common_dir / "refs").rglob("*")):
            if path.is_file() and path.suffix != ".lock":
                yield path.relative_to(git_common_dir).as_posix(), lambda path=path: storage.put(path)  # type: ignore[misc]

        seen: set[str] = set()
        for path in _object_files(git_common_dir / "objects", _MAX_ALTERNATES):
            name = "/".join(path.parts[-2:])
            # An alternate may have the same pack as the repository that borrows from it.
            if name not in seen:
                seen.add(name)
                yield f"objects/{name}", lambda path=path: storage.put(path)  # type: ignore[misc]


def _object_files(objects: Path, limit: int) -> Iterator[Path]:
    """Return packs and loose objects, including alternates."""
    for folder in sorted(objects.iterdir()):
        if folder.name == "pack":
            yield from (path for path in sorted(folder.iterdir()) if path.suffix in _PACKED)
        elif len(folder.name) == 2 and folder.is_dir():
            yield from sorted(path for path in folder.iterdir() if len(path.name) == 38)

    alternates = objects / "info" / "alternates"
    if not alternates.is_file():
        return
    if not limit:
        raise RepositoryError("the repository borrows objects through too many other directories")

    for line in os.fsdecode(alternates.read_bytes()).splitlines():
        if line and not line.startswith("#"):
            yield from _object_files((objects / line).resolve(), limit - 1)
