"""Store files by the hash of their content, in any storage that fsspec reaches."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NewType

from sourcelight.core.errors import ConfigurationError, MissingExtra, ShardDamaged, StorageError

_BLOCK_BYTES = 4 * 1024 * 1024
"""Bytes that are read and hashed at a time, so that a shard is never in memory as a whole."""

_LOCAL = frozenset({"file", "local"})
"""Protocols of storage on a disk of this machine."""

ShardId = NewType("ShardId", str)
"""Id of a shard: the hash of its list of files. The name of its repository is another text."""


class ShardStorage:
    """A folder that all machines of a cluster reach, by the URL that fsspec reads.

    Parameters
    ----------
    url
        ``s3://bucket/folder``, ``file:///mnt/shared`` or a path; what a scheme needs besides fsspec (``s3fs``,
        ``gcsfs``, ``adlfs``) must be installed.
    options
        For that file system, such as an endpoint. Credentials belong into the environment, not here.

    Raises
    ------
    MissingExtra
        When fsspec, or what the scheme needs, is not installed.
    ConfigurationError
        When no file system has this scheme.
    """

    def __init__(self, url: str, **options: Any) -> None:
        try:
            import fsspec
        except ImportError as error:
            raise MissingExtra("sourcelight[cluster]", "to keep shards in shared storage") from error

        # Resolved once: workers and builders may run in different working directories, and `~` means nothing to fsspec.
        address = url if "://" in url else os.fspath(Path(url).expanduser().resolve())
        try:
            self._fs, self._root = fsspec.core.url_to_fs(address, **options)
        except ImportError as error:
            raise MissingExtra(str(error), f"for storage at {_without_password(url)}") from error
        except (ValueError, TypeError) as error:
            raise ConfigurationError(f"can't open storage {_without_password(url)}: {error}") from error

        self.url = address
        self._root = self._root.rstrip("/")
        protocol = self._fs.protocol
        self._local = bool(_LOCAL & ({protocol} if isinstance(protocol, str) else set(protocol)))

    def __repr__(self) -> str:
        return f"Storage({_without_password(self.url)!r})"

    def put(self, path: Path) -> tuple[str, int]:
        """Store a file, unless storage has this content; return the SHA-256 and the size in bytes."""
        digest, size = hash_of(path)
        name = self._object(digest)
        with self._mapping_errors(name):
            # The name is the hash of the content, so the same size means the same content, except for a write that
            # broke off on a store without atomic writes. That one is written again.
            if self._size(name) != size:
                self._place(name, lambda target: self._fs.put_file(os.fspath(path), target))

        return digest, size

    def fetch(self, digest: str, size: int, target: Path) -> None:
        """Fetch the content of this hash into the file `target`, which exists only once it is complete.

        Raises
        ------
        ShardDamaged
            When storage does not have it, or has something else.
        StorageError
            When storage can't be read; `OSError` when `target` can't be written.
        """
        name = self._object(digest)
        # Hidden, with process and random part: two workers of one machine may fetch the same object at the same time.
        temporary = target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}")
        try:
            # Hashed while it is copied: reading a shard of gigabytes a second time would double the time of a fetch.
            seen = hashlib.sha256()
            read = 0
            with self._mapping_errors(name, digest), self._fs.open(name, "rb") as source, temporary.open("wb") as out:
                while block := source.read(_BLOCK_BYTES):
                    seen.update(block)
                    read += len(block)
                    out.write(block)

            if read != size or seen.hexdigest() != digest:
                raise ShardDamaged(name, f"expected {size:,} bytes, got {read:,} bytes with another hash")

            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)

    def write(self, name: str, content: bytes) -> None:
        """Write a small file at `name`, atomically."""
        target = f"{self._root}/{name}"
        with self._mapping_errors(target):
            self._place(target, lambda path: self._fs.pipe_file(path, content))

    def read(self, name: str) -> bytes | None:
        """Return a small file, or None when there is none."""
        target = f"{self._root}/{name}"
        with self._mapping_errors(target):
            # Listings of object stores are kept by fsspec; a file that another machine wrote must be seen.
            self._fs.invalidate_cache()
            try:
                return bytes(self._fs.cat_file(target))
            except FileNotFoundError:
                return None

    def _object(self, digest: str) -> str:
        return f"{self._root}/objects/{digest[:2]}/{digest}"

    def _size(self, name: str) -> int | None:
        try:
            return int(self._fs.info(name)["size"])
        except FileNotFoundError:
            return None

    def _place(self, name: str, write: Callable[[str], None]) -> None:
        """Write in one step: object stores do so by themselves, a folder needs a rename."""
        if not self._local:
            write(name)
            return

        self._fs.makedirs(name.rpartition("/")[0], exist_ok=True)
        temporary = f"{name}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
        try:
            write(temporary)
            Path(temporary).replace(name)
        finally:
            Path(temporary).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _mapping_errors(self, name: str, digest: str = "") -> Any:
        try:
            yield
        except (ShardDamaged, StorageError):
            raise
        # Two different faults: an object named by a list must be there, so its shard is damaged; other files may be
        # absent.
        except FileNotFoundError as error:
            if digest:
                raise ShardDamaged(name, "it is not in storage") from error
            raise StorageError(_without_password(self.url), f"{name}: {error}") from error
        except Exception as error:  # every library below fsspec raises its own errors
            raise StorageError(_without_password(self.url), f"{name}: {type(error).__name__}: {error}") from error


def hash_of(path: Path) -> tuple[str, int]:
    """Return the SHA-256 of a file's content, and its bytes."""
    seen = hashlib.sha256()
    size = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            seen.update(block)
            size += len(block)
    return seen.hexdigest(), size


def _without_password(url: str) -> str:
    """Return a URL without user and password."""
    scheme, separator, remaining = url.partition("://")
    head, slash, tail = remaining.partition("/")
    if separator:
        return f"{scheme}{separator}{head.rpartition('@')[2]}{slash}{tail}"
    return url
