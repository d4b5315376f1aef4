"""Corpora of any size: real repositories, repeated with changed contents, in a scratch folder.

In each file some identifiers are replaced by those of files before it, so texts differ from copy to copy, and keep the
words and the letters of real code. All choices come from a seed: the same sources give the same commits.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import IO, NamedTuple

from sourcelight.repos import ObjectReader, Repository

COMMITS, CHANGED_SHARE = 20, 0.01
"""Commits of each repository, and the share of its files that each one after the first changes."""

_MAX_FILE_BYTES = 1 << 20
_REPLACED = 6
_BEGIN_S = 1_700_000_000
_DAY_S = 86_400
_IDENTIFIER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{5,40}")
_VOCABULARY = 4096


class _Source(NamedTuple):
    """A file of a source, and its path in the repository that is made."""

    path: bytes
    reader: ObjectReader
    blob_id: bytes


class _Substitution:
    """Replaces identifiers of files by identifiers of earlier files."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)  # noqa: S311 - repeatable
        self._words: list[bytes] = []

    def __call__(self, data: bytes) -> bytes:
        """Return a text with some identifiers replaced, each at all of its places."""
        for _ in range(_REPLACED):
            match = _IDENTIFIER.search(data, self.random.randrange(max(len(data), 1)))
            if match is None:
                continue
            word = match[0]
            replacement = self.random.choice(self._words) if self._words else word[::-1]
            if len(self._words) < _VOCABULARY:
                self._words.append(word)
            else:
                self._words[self.random.randrange(_VOCABULARY)] = word
            data = data.replace(word, replacement)
        return data


def make_corpus(sources: Sequence[Repository], folder: Path, text_bytes: int, count: int) -> None:
    """Make `count` bare repositories with about `text_bytes` of text in all, unless they are there."""
    for number in range(count):
        location = folder / f"copy-{number:03d}.git"
        if location.exists():
            continue
        unfinished = location.with_suffix(".new")
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", unfinished], check=True)
        # Little effort for compression, and no deltas: the packs are only read here.
        command = ["git", "-C", str(unfinished), "-c", "core.compression=1", "fast-import", "--quiet", "--depth=0"]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            if process.stdin is not None:
                _write(process.stdin, sources, text_bytes // count, number)
        if process.returncode:
            raise OSError(f"git fast-import ended with {process.returncode}")
        unfinished.rename(location)


def _write(stream: IO[bytes], sources: Sequence[Repository], text_bytes: int, number: int) -> None:
    """Write the history of one repository as `git fast-import` reads it."""
    substitute = _Substitution(f"copy {number}")
    files: list[_Source] = []
    size = 0
    _begin_commit(stream, 0)
    for file in _files(sources, number):
        data = file.reader.read(file.blob_id)
        if data is None or len(data) > _MAX_FILE_BYTES or b"\0" in data:
            continue
        _write_file(stream, file.path, substitute(data))
        files.append(file)
        size += len(data)
        if size >= text_bytes:
            break
    for commit in range(1, COMMITS):
        _begin_commit(stream, commit)
        for file in substitute.random.sample(files, max(round(len(files) * CHANGED_SHARE), 1)):
            _write_file(stream, file.path, substitute(file.reader.read(file.blob_id) or b""))
    for reader in {id(file.reader): file.reader for file in files}.values():
        reader.close()


def _files(sources: Sequence[Repository], number: int) -> Iterator[_Source]:
    """Yield files of the sources without end: of one after another, the first of them by the number of the copy."""
    part = 0
    while True:
        source = sources[(number + part) % len(sources)]
        reader = ObjectReader(source)
        tree = reader.tree(source.info.commit)
        folder = f"{source.name.rpartition('/')[2]}-{part}".encode()
        # Not by path: a small copy would have the first directory alone.
        order = list(range(len(tree.paths)))
        Random(f"order {number} {part}").shuffle(order)  # noqa: S311 - repeatable
        for index in order:
            path = bytes(tree.paths[index])
            if b"\n" not in path and not path.startswith(b'"'):
                yield _Source(folder + b"/" + path, reader, tree.blob_id(index))
        part += 1


def _begin_commit(stream: IO[bytes], number: int) -> None:
    person = f"Author {number % 5} <author{number % 5}@example.org> {_BEGIN_S + number * _DAY_S} +0000"
    message = b"Change files\n" if number else b"Add files\n"
    stream.write(f"commit refs/heads/main\nauthor {person}\ncommitter {person}\ndata {len(message)}\n".encode())
    stream.write(message)


def _write_file(stream: IO[bytes], path: bytes, data: bytes) -> None:
    stream.write(b"M 100644 inline %b\ndata %d\n%b\n" % (path, len(data), data))
