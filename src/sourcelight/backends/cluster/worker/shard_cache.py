"""Shards on the disk of one worker: fetched on first use, checked, and evicted for others.

A fetch fills a directory below `incoming`, is renamed, and counts once its marker in `ready` is written; the next start
deletes what a crash left. Contents that several shards have are stored once: their hard links count the uses. Shards of
running requests are pinned, and never evicted.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sourcelight.backends.cluster.storage.generation import StoredShard
from sourcelight.backends.cluster.storage.objects import ShardId, ShardStorage
from sourcelight.backends.cluster.storage.shard_files import GIT, HISTORY, INDEX, ShardFiles, fetch
from sourcelight.core.errors import ClusterError, ConfigurationError
from sourcelight.repos import Repository, RepositoryKey
from sourcelight.repos.file_locks import lock_file
from sourcelight.repos.private_files import make_private_folder
from sourcelight.repos.repository import readable_key

_KINDS = {GIT: "git", INDEX: "index", HISTORY: "index-history"}
"""Directory of each kind of files of a shard."""


@dataclass(slots=True)
class _CachedShard:
    """A shard in the cache; one that can't be read isn't trusted, and is there until it is fetched again."""

    name: str
    shard: ShardId
    size: int
    last_used_s: float
    trusted: bool = True


class ShardCache:
    """Shards below a folder of this worker alone. Safe to share between threads.

    A shard counts once a small marker file exists, which is written last: files that a killed worker left are removed
    when the next one starts.

    Parameters
    ----------
    storage
        Where shards come from.
    folder
        Of this worker alone; may be deleted while no worker runs.
    max_bytes
        Bytes that shards may take, those that are being fetched included; those used longest ago go first. None: no
        bound.

    Raises
    ------
    ConfigurationError
        When another worker uses the folder.
    """

    def __init__(self, storage: ShardStorage, folder: str | os.PathLike[str], max_bytes: int | None = None) -> None:
        self.storage = storage
        self.folder = Path(folder)
        self.max_bytes = max_bytes
        self._git = f"{self.folder / _KINDS[GIT]}{os.sep}"

        # Guards the tables and is never held during I/O. Lock order: the lock of a shard (`_lock_of`), then this one.
        self._guard = threading.Lock()
        # One lock for each shard, so that two requests fetch it once, and different shards in parallel.
        self._fetch_locks: dict[RepositoryKey, threading.Lock] = {}
        self._pinned: Counter[RepositoryKey] = Counter()
        self._shards: dict[RepositoryKey, _CachedShard] = {}

        # Of the fetches that run.
        self._reserved_bytes: dict[str, int] = {}
        self.on_removed: Callable[[Collection[RepositoryKey]], None] = lambda _: None
        self._closing = contextlib.ExitStack()
        for name in ("objects", "ready", "incoming", *_KINDS.values()):
            make_private_folder(self.folder / name)

        # Two workers in one directory would delete each other's shards.
        self._closing.enter_context(self._lock())
        self._recover()

    @property
    def index_folder(self) -> Path:
        """Directory of the indexes, one below for each key; histories are beside it as in the user's data directory."""
        return self.folder / _KINDS[INDEX]

    def shard_sizes(self) -> dict[ShardId, int]:
        """Return the ids of cached shards, and the bytes of each."""
        with self._guard:
            return {shard.shard: shard.size for shard in self._shards.values() if shard.trusted}

    @contextlib.contextmanager
    def pin(
        self, entries: Collection[StoredShard], check_stopped: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[list[Repository], dict[str, str]]]:
        """Pin shards while a request runs; yield the repositories, and the reason for each failure by name.

        `check_stopped` is called between files and may raise.
        """
        keys = [key_of_shard(entry) for entry in entries]
        with self._guard:
            # Pinned before the first is fetched: fetching one shard must not evict another one of the same request.
            self._pinned.update(keys)

        try:
            repositories, failed = [], {}
            for entry, key in zip(entries, keys, strict=True):
                try:
                    repositories.append(self._repository(key, entry, check_stopped))
                except (ClusterError, OSError) as error:
                    failed[entry.name] = str(error)
            yield repositories, failed
        finally:
            with self._guard:
                self._pinned.subtract(keys)

    def keep(self, entry: StoredShard, check_stopped: Callable[[], None]) -> None:
        """Fetch a shard if it fits without evicting others; `check_stopped` is called between files and may raise.

        Raises `ClusterError` and `OSError` when it can't be fetched.
        """
        key = key_of_shard(entry)
        with self._guard:
            used_bytes = sum(shard.size for shard in self._shards.values()) + sum(self._reserved_bytes.values())
            is_cached = key in self._shards

        if is_cached or (self.max_bytes is not None and used_bytes + entry.size > self.max_bytes):
            return

        with self.pin([entry], check_stopped):
            pass

    def distrust(self, name: str) -> None:
        """Mark the shards of a repository as unreadable, so that the next request fetches them again."""
        with self._guard:
            for key, shard in self._shards.items():
                if shard.name == name:
                    # Kept in the table, so its bytes still count until they are replaced.
                    shard.trusted = False
                    (self.folder / "ready" / key).unlink(missing_ok=True)

    def close(self) -> None:
        """Release the folder for another worker."""
        self._closing.close()

    def _repository(self, key: RepositoryKey, entry: StoredShard, check_stopped: Callable[[], None]) -> Repository:
        with self._guard:
            trusted = self._trusted_shard(key)
            if trusted is not None:
                trusted.last_used_s = time.monotonic()

        if trusted is None:
            with self._lock_of(key):
                # Another request may have fetched it while this one waited for the lock.
                if self._trusted_shard(key) is None:
                    self._fetch(key, entry, check_stopped)

        return Repository(
            info=entry.info, key=key, kind="git", git_dir=f"{self._git}{key}", worktree="", incomplete=entry.incomplete
        )

    def _lock_of(self, key: RepositoryKey) -> threading.Lock:
        with self._guard:
            return self._fetch_locks.setdefault(key, threading.Lock())

    def _trusted_shard(self, key: RepositoryKey) -> _CachedShard | None:
        shard = self._shards.get(key)
        return shard if shard is not None and shard.trusted else None

    def _fetch(self, key: RepositoryKey, entry: StoredShard, check_stopped: Callable[[], None]) -> None:
        # Read without the guard, since it waits for shared storage.
        files = ShardFiles.read(self.storage, entry.shard)
        # An untrusted copy is there: contents in `objects` may be the damaged ones, so they are hashed again.
        is_replaced = key in self._shards
        self._reserve(key, files.size)
        incoming = self.folder / "incoming" / f"{key}-{os.urandom(4).hex()}"
        try:
            fetch(files.files, self.storage, self.folder / "objects", incoming, check_stopped, check=is_replaced)
            # Engines must close an older copy before its files are replaced.
            self.on_removed([key])
            for name, directory in _KINDS.items():
                shutil.rmtree(self.folder / directory / key, ignore_errors=True)
                (incoming / name).rename(self.folder / directory / key)

            # Written below `incoming` and renamed: a marker that is half written would make a shard count.
            marker = incoming / "ready"
            marker.write_text(json.dumps({"name": entry.name, "shard": entry.shard, "size": files.size}))

            # Last of all: after a crash, `_recover` deletes whatever has no marker.
            marker.replace(self.folder / "ready" / key)
            with self._guard:
                self._shards[key] = _CachedShard(entry.name, entry.shard, files.size, time.monotonic())
        finally:
            with self._guard:
                self._reserved_bytes.pop(key, None)
            shutil.rmtree(incoming, ignore_errors=True)

    def _reserve(self, key: RepositoryKey, size: int) -> None:
        """Reserve `size` bytes for a shard; evict others if needed."""
        if self.max_bytes is None:
            return

        if size > self.max_bytes:
            raise ClusterError(
                f"a shard of {size:,} bytes doesn't fit into the worker's cache of {self.max_bytes:,} bytes; "
                "raise its --cache-size"
            )

        with self._guard:
            other_shards = {other_key: shard for other_key, shard in self._shards.items() if other_key != key}
            used_bytes = sum(shard.size for shard in other_shards.values()) + sum(self._reserved_bytes.values())
            evicted = self._choose_evicted(other_shards, size + used_bytes - self.max_bytes)
            for other_key in evicted:
                del self._shards[other_key]

            # Reserved under the same lock, so that two fetches can't count on the same free bytes.
            self._reserved_bytes[key] = size

        if evicted:
            # Files that are mapped take disk space until they are closed.
            self.on_removed(evicted)
            for other_key in evicted:
                with self._lock_of(other_key):
                    if other_key not in self._shards:  # another request may have fetched it meanwhile
                        self._delete(other_key)
            self._sweep()

    def _choose_evicted(self, shards: Mapping[RepositoryKey, _CachedShard], excess_bytes: int) -> list[RepositoryKey]:
        """Return shards that have at least some bytes together; raises `ClusterError` if those in use leave too few."""
        # Pinned shards are mapped by a running request; deleting them would free no disk, and fail on Windows.
        unused = [key for key in shards if not self._pinned[key]]
        # Untrusted ones first (False sorts before True), then those used longest ago.
        unused.sort(key=lambda key: (shards[key].trusted, shards[key].last_used_s))
        evicted: list[RepositoryKey] = []
        for key in unused:
            if excess_bytes <= 0:
                break
            excess_bytes -= shards[key].size
            evicted.append(key)

        if excess_bytes > 0:
            raise ClusterError(
                f"the worker's cache of {self.max_bytes:,} bytes is full of shards in use; "
                "retry, or raise its --cache-size"
            )
        return evicted

    def _delete(self, key: RepositoryKey) -> None:
        (self.folder / "ready" / key).unlink(missing_ok=True)
        for directory in _KINDS.values():
            shutil.rmtree(self.folder / directory / key, ignore_errors=True)

    def _sweep(self) -> None:
        """Delete contents that no shard links to any more."""
        for path in (self.folder / "objects").rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                # The link count is the reference count: each shard that uses a content has a hard link to it.
                if path.is_file() and path.stat().st_nlink == 1:
                    path.unlink()

    def _recover(self) -> None:
        """Read which shards are whole, and delete what a crash left."""
        # A shard counts only once its marker in `ready` is written, which is the last step of its fetch.
        shutil.rmtree(self.folder / "incoming", ignore_errors=True)
        (self.folder / "incoming").mkdir()
        for marker in (self.folder / "ready").iterdir():
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                record = json.loads(marker.read_text())
                self._shards[RepositoryKey(marker.name)] = _CachedShard(
                    name=str(record["name"]),
                    shard=ShardId(str(record["shard"])),
                    size=int(record["size"]),
                    last_used_s=time.monotonic(),
                )

        for directory in ("ready", *_KINDS.values()):
            for path in (self.folder / directory).iterdir():
                if (key := RepositoryKey(path.name)) not in self._shards:
                    self._delete(key)

        self._sweep()

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        def refuse() -> None:
            raise ConfigurationError(f"another worker uses the cache {self.folder}; give each worker its own directory")

        with (self.folder / "lock").open("a+b") as file, lock_file(file, refuse):
            yield


def key_of_shard(entry: StoredShard) -> RepositoryKey:
    """Return the name of a shard's folders: a readable stem and the start of the shard's id."""
    return _key_of(entry.name, entry.shard)


@functools.lru_cache(maxsize=1 << 16)
def _key_of(name: str, shard: ShardId) -> RepositoryKey:
    return readable_key(name.rpartition("/")[2], shard)
