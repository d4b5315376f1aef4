"""Repositories of a few kilobytes that name, or unfold to, gigabytes."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from sourcelight.testing import RepositoryBuilder

Entry = tuple[bytes, bytes, bytes]  # mode, name, 40 hex digits


def deflate_repeated(parts: Iterable[bytes], level: int = 1) -> bytes:
    """Deflate parts each by itself, and what is repeated only once: to pack gigabytes takes seconds of a core."""
    deflated, former, packed = bytearray(), None, b""
    for part in parts:
        if part is not former:
            packer = zlib.compressobj(level, wbits=-15)
            former, packed = part, packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH)
        deflated += packed
    return bytes(deflated) + b"\x03\0"


def deflate(parts: Iterable[bytes]) -> bytes:
    """Deflate parts, with the head and the checksum of zlib."""
    check = 1

    def checked() -> Iterator[bytes]:
        nonlocal check
        for part in parts:
            check = zlib.adler32(part, check)
            yield part

    return b"\x78\x01" + deflate_repeated(checked()) + check.to_bytes(4, "big")


def write_object(repo: RepositoryBuilder, kind: bytes, parts: Iterable[bytes], size: int) -> str:
    """Write a loose object piece by piece; gives its name."""
    everything = [b"%s %d\0" % (kind, size), *parts]
    name = hashlib.sha1(usedforsecurity=False)
    for part in everything:
        name.update(part)
    packed = deflate(everything)
    oid = name.hexdigest()
    location = repo.path / ".git" / "objects" / oid[:2] / oid[2:]
    location.parent.mkdir(exist_ok=True)
    if not location.exists():
        location.write_bytes(packed)
    return oid


def write_tree(repo: RepositoryBuilder, entries: Iterable[Entry]) -> str:
    """Write a folder."""
    raw = b"".join(b"%s %s\0%s" % (mode, name, bytes.fromhex(oid.decode())) for mode, name, oid in entries)
    return write_object(repo, b"tree", [raw], len(raw))


def commit_tree(repo: RepositoryBuilder, tree: str, message: bytes = b"bomb\n") -> str:
    """Commit a folder to main."""
    raw = b"tree %s\nauthor A <a@x> 1700000000 +0000\ncommitter A <a@x> 1700000000 +0000\n\n" % tree.encode() + message
    commit = write_object(repo, b"commit", [raw], len(raw))
    repo.git("update-ref", "refs/heads/main", commit)
    return commit


def nested_folders(path: Path, depth: int = 2000) -> RepositoryBuilder:
    """A folder in a folder and so on, with a file in each: the paths together have hundreds of megabytes."""
    repo = RepositoryBuilder(path)
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"x\n").encode()
    tree = write_tree(repo, [(b"100644", b"f", blob)])
    for _ in range(depth):
        tree = write_tree(repo, [(b"40000", b"d" * 250, tree.encode()), (b"100644", b"f", blob)])
    commit_tree(repo, tree)
    return repo


def wide_tree(path: Path, wide: int = 160, deep: int = 3) -> RepositoryBuilder:
    """Folders that hold one folder many times: 160 entries a folder name 4 million files below the limit of files."""
    repo = RepositoryBuilder(path)
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"x\n").encode()
    tree = write_tree(repo, [(b"100644", b"f%03d" % index, blob) for index in range(wide)])
    for _ in range(deep - 1):
        tree = write_tree(repo, [(b"40000", b"d%03d" % index, tree.encode()) for index in range(wide)])
    commit_tree(repo, tree)
    return repo


def large_file(path: Path, megabytes: int = 400) -> RepositoryBuilder:
    """A text of many megabytes, of short lines."""
    repo = RepositoryBuilder(path)
    block = b"".join(b"line %d\n" % index for index in range(74_898))
    block = block[: 1 << 20].rpartition(b"\n")[0] + b"\n"
    blob = write_object(repo, b"blob", (block for _ in range(megabytes)), len(block) * megabytes)
    small = repo.git("hash-object", "-w", "--stdin", stdin=b"needle\n")
    tree = write_tree(repo, [(b"100644", b"large.txt", blob.encode()), (b"100644", b"small.txt", small.encode())])
    commit_tree(repo, tree)
    return repo


def flip_folders(path: Path, commits: int, files: int = 80_000, wide: int = 283, lines: int = 1) -> RepositoryBuilder:
    """Commits that each give every file of two shared folders the other content: two hundred bytes a commit."""
    repo = RepositoryBuilder(path)
    trees = [_shared_folders(repo, text * lines, files, wide) for text in (b"a\n", b"b\n")]
    for number in range(commits):
        append_commit(repo, trees[number % 2], number)
    return repo


def flip_file(path: Path, commits: int, megabytes: int = 20) -> RepositoryBuilder:
    """Commits that each give one file the other of two contents of as many megabytes, in lines of a thousand bytes."""
    repo = RepositoryBuilder(path)
    trees = []
    for letter in (b"a", b"b"):
        part = (letter * 999 + b"\n") * 1000
        blob = write_object(repo, b"blob", [part] * megabytes, len(part) * megabytes)
        trees.append(write_tree(repo, [(b"100644", b"large.txt", blob.encode())]))
    for number in range(commits):
        append_commit(repo, trees[number % 2], number)
    return repo


def branches_of_a_folder(path: Path, branches: int, files: int = 80_000, wide: int = 283) -> RepositoryBuilder:
    """Branches off one commit of many files, joined by a merge: each holds all files."""
    repo = RepositoryBuilder(path)
    tree = _shared_folders(repo, b"a\n", files, wide)
    first = append_commit(repo, tree, 0)
    tips = [append_commit(repo, tree, number, [first]) for number in range(1, branches + 1)]
    append_commit(repo, tree, branches + 1, tips)
    return repo


def _shared_folders(repo: RepositoryBuilder, text: bytes, files: int, wide: int) -> str:
    blob = repo.git("hash-object", "-w", "--stdin", stdin=text).encode()
    inner = write_tree(repo, [(b"100644", b"f%04d" % index, blob) for index in range(wide)]).encode()
    return write_tree(repo, [(b"40000", b"d%04d" % index, inner) for index in range(files // wide)])


def append_commit(
    repo: RepositoryBuilder, tree: str, number: int, parents: Iterable[str] | None = None, message: bytes = b""
) -> str:
    """Put a commit of a folder on main, or one with given parents."""
    main = repo.path / ".git" / "refs" / "heads" / "main"
    if parents is None:
        parents = [main.read_text().strip()] if main.exists() else []
    raw = b"tree %s\n" % tree.encode() + b"".join(b"parent %s\n" % parent.encode() for parent in parents)
    raw += b"author A <a@x> %d +0000\ncommitter A <a@x> %d +0000\n\nflip %d\n" % (*[1_700_000_000 + number] * 2, number)
    raw += message
    commit = write_object(repo, b"commit", [raw], len(raw))
    main.write_text(commit + "\n")
    return commit


def append_file(repo: RepositoryBuilder, name: str, text: bytes, number: int) -> str:
    """Commit one more file to main, beside all others."""
    blob = repo.git("hash-object", "-w", "--stdin", stdin=text)
    tree = repo.git("mktree", stdin=f"{repo.git('ls-tree', 'HEAD')}\n100644 blob {blob}\t{name}\n".encode())
    return append_commit(repo, tree, number)
