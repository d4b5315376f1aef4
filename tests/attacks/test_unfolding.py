"""Objects that packs store as differences to far larger ones."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pygit2
import pytest

from attacks.bombs import append_commit, deflate
from attacks.memory import peak_bytes
from sourcelight.repos import Catalog, ObjectReader
from sourcelight.repos.handles import open_handle
from sourcelight.repos.objects.packs import MAX_UNFOLDED_BYTES, PackGuard
from sourcelight.testing import RepositoryBuilder, git_environment, make_repo

LARGE = 400 << 20
MAX_BYTES = 300 << 20


def _size(kind: int, size: int) -> bytes:
    """The head of an entry of a pack."""
    out = bytearray([kind << 4 | size & 15])
    size >>= 4
    while size:
        out[-1] |= 0x80
        out.append(size & 0x7F)
        size >>= 7
    return bytes(out)


def _varint(size: int) -> bytes:
    out = bytearray()
    while size >= 0x80:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out)


def _copy(size: int) -> bytes:
    """Instructions that copy the start of the base until there are `size` bytes."""
    out = b""
    while size:
        part = min(size, 0xFFFFFF)
        out += b"\xf0" + struct.pack("<I", part)[:3]  # offset 0, three bytes of size
        size -= part
    return out


@cache
def _large(kind: int) -> tuple[bytes, bytes]:
    """An entry of 400 MB, and a name that it claims: nobody works it out before the content is whole."""
    packed = deflate(itertools.repeat(b"\0" * (1 << 20), LARGE >> 20))
    return hashlib.sha1(b"large %d" % kind, usedforsecurity=False).digest(), _size(kind, LARGE) + packed


def write_pack(repo: RepositoryBuilder, entries: Sequence[tuple[bytes, bytes]]) -> None:
    """Put a pack of entries, each with the name that it claims, into a repository; its index is written by hand."""
    data = b"PACK" + struct.pack(">II", 2, len(entries))
    locations = []
    for name, entry in entries:
        locations.append((name, len(data), zlib.crc32(entry)))
        data += entry
    data += hashlib.sha1(data, usedforsecurity=False).digest()
    locations.sort()
    index = b"\xfftOc" + struct.pack(">I", 2)
    index += b"".join(struct.pack(">I", sum(name[0] <= byte for name, _, _ in locations)) for byte in range(256))
    index += b"".join(name for name, _, _ in locations)
    index += b"".join(struct.pack(">I", crc) for _, _, crc in locations)
    index += b"".join(struct.pack(">I", position) for _, position, _ in locations)
    index += data[-20:]
    index += hashlib.sha1(index, usedforsecurity=False).digest()
    folder = repo.path / ".git" / "objects" / "pack"
    folder.mkdir(exist_ok=True)
    (folder / f"pack-{data[-20:].hex()}.pack").write_bytes(data)
    (folder / f"pack-{data[-20:].hex()}.idx").write_bytes(index)


def _name(kind: bytes, parts: Sequence[bytes]) -> bytes:
    name = hashlib.sha1(b"%s %d\0" % (kind, sum(map(len, parts))), usedforsecurity=False)
    for part in parts:
        name.update(part)
    return name.digest()


def difference_to_large(repo: RepositoryBuilder, content: bytes, kind: int = 3, *, steps: bool = False) -> bytes:
    """Store a content as the difference to one of 400 MB, by name or by way of another; gives its name."""
    label = {1: b"commit", 2: b"tree", 3: b"blob"}[kind]
    if steps:
        # A small base, which a difference of some bytes unfolds.
        seed = b"\0" * 0xFFFFFF
        entries = [(_name(label, [seed]), _size(kind, len(seed)) + zlib.compress(seed, 9))]
        delta = _varint(len(seed)) + _varint(LARGE) + _copy(LARGE)
        base = hashlib.sha1(b"unfolded", usedforsecurity=False).digest()
        entries.append((base, _size(7, len(delta)) + entries[0][0] + zlib.compress(delta)))
    else:
        entries = [_large(kind)]
        base = entries[0][0]
    delta = _varint(LARGE) + _varint(len(content)) + bytes([len(content)]) + content
    name = _name(label, [content])
    entries.append((name, _size(7, len(delta)) + base + zlib.compress(delta)))
    write_pack(repo, entries)
    return name


def _commit_of(repo: RepositoryBuilder, blob: bytes) -> None:
    tree = repo.git("mktree", "--missing", stdin=f"100644 blob {blob.hex()}\tsmall.txt\n".encode())
    append_commit(repo, tree, 0)


@pytest.mark.parametrize("steps", [False, True], ids=["base", "chain"])
@pytest.mark.skipif(sys.platform == "win32", reason="there is no measure of a child's memory")
def test_a_small_file_that_differs_from_a_huge_one_is_refused_by_name(tmp_path: Path, *, steps: bool) -> None:
    good = make_repo(tmp_path / "good", {"a.txt": "needle\n"})
    bomb = RepositoryBuilder(tmp_path / "bomb")
    _commit_of(bomb, difference_to_large(bomb, b"needle small\n", steps=steps))
    action = """
    import warnings; warnings.simplefilter("ignore")
    with sourcelight.open(*places, index_dir=index, background_index=False, progress=False) as client:
        result = client.search("needle")
        answer = f"{len(result)} {list(result.skipped['message'])} "
        try:
            client.read_file("bomb", "small.txt")
        except sourcelight.SourcelightError as error:
            answer += str(error)
        client.search("needle type:diff")
    """
    peak, answer = peak_bytes(action, tmp_path, places=[str(good.path), str(bomb.path)], index=str(tmp_path / "index"))
    assert answer.startswith("1 ")
    assert "not in this clone, or can't be read, so their content was not searched: 1, in\\n- `bomb`" in answer
    assert "path not found in bomb: small.txt" in answer
    assert peak < MAX_BYTES, f"{peak:,}"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no measure of a child's memory")
def test_a_commit_that_differs_from_a_huge_one_is_refused(tmp_path: Path) -> None:
    bomb = make_repo(tmp_path / "bomb", {"a.txt": "a\n"})
    text = subprocess.run(["git", "cat-file", "commit", "HEAD"], cwd=bomb.path, capture_output=True, check=True,
                          env=git_environment()).stdout.replace(b"\n\n", b"\n\nx")[:120]  # fmt: skip
    name = difference_to_large(bomb, text[:120], kind=1)
    (bomb.path / ".git" / "refs" / "heads" / "main").write_text(name.hex() + "\n")
    action = """
    from sourcelight.repos import Catalog
    try:
        Catalog.open([bomb])
    except sourcelight.SourcelightError as error:
        answer = str(error).replace(chr(10), " ")
    """
    peak, answer = peak_bytes(action, tmp_path, bomb=str(bomb.path))
    assert "bomb" in answer
    assert peak < MAX_BYTES, f"{peak:,}"


def test_every_object_of_ordinary_packs_is_read(tmp_path: Path) -> None:
    """Names that are found, differences of many steps, offsets and names of bases, and packs of both formats."""
    rng = random.Random(17)  # noqa: S311 - the same on every run
    repo = RepositoryBuilder(tmp_path / "repo")
    lines = [f"line {rng.random()}" for _ in range(2_000)]
    for number in range(30):
        lines[rng.randrange(2_000)] = f"changed {number}"
        repo.commit({"file.txt": "\n".join(lines), f"{number}.txt": f"{number}\n"})
    sizes = {}
    for option in (["-c", "pack.indexVersion=1"], ["-c", "repack.useDeltaBaseOffset=false"], []):
        repo.git(*option, "repack", "-adfq", "--depth=50", "--window=60")
        listing = repo.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objectsize) %(deltabase)")
        rows = [line.split() for line in listing.splitlines()]
        sizes = {name: int(size) for name, size, _ in rows}
        bases = {name: base for name, _, base in rows}
        assert sum(int(base, 16) > 0 for base in bases.values()) > 30
        handle = open_handle(str(repo.path / ".git"))
        for name in sizes:
            chain = [name]
            while int(bases[chain[-1]], 16):
                chain.append(bases[chain[-1]])
            result = PackGuard(str(repo.path / ".git")).largest(bytes.fromhex(name))
            assert result == max(sizes[item] for item in chain)
            assert handle.odb.read(pygit2.Oid(hex=name))
    assert PackGuard(str(repo.path / ".git")).largest(os.urandom(20)) == 0


def test_packs_that_come_later_are_looked_at(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.txt": "a\n"})
    (repository,) = Catalog.open([repo.path]).repositories
    with ObjectReader(repository) as reader:
        assert reader.tree(repository.info.commit).paths == [b"a.txt"]
        name = difference_to_large(repo, b"late\n")
        assert reader.size(name) == 5
        assert reader.read(name) is None
    assert PackGuard(repository.git_dir).largest(name) > MAX_UNFOLDED_BYTES
    handle = open_handle(repository.git_dir)
    for read in (
        lambda: handle[pygit2.Oid(raw=name)],
        lambda: handle.odb.read(pygit2.Oid(raw=name)),
        lambda: handle.revparse_single(name.hex()),
        lambda: handle.revparse_single(name.hex()[:9]),
    ):
        with pytest.raises(pygit2.GitError, match="much larger object"):
            read()


@pytest.mark.parametrize("seed", range(40))
def test_damaged_packs_end_no_process_and_take_no_memory(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - the same on every run
    repo = make_repo(tmp_path / "repo", {f"{index}.txt": f"{index}\n" * 50 for index in range(40)})
    repo.git("repack", "-adq")
    (path,) = (repo.path / ".git" / "objects" / "pack").glob(rng.choice(["*.idx", "*.pack"]))
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 20)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    path.write_bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])
    for name in repo_objects(40):
        assert PackGuard(str(repo.path / ".git")).largest(name) >= 0


def repo_objects(count: int) -> list[bytes]:
    """Names of the contents of `test_damaged_packs_end_no_process_and_take_no_memory`."""
    return [_name(b"blob", [f"{index}\n".encode() * 50]) for index in range(count)]


def test_many_packs_take_few_descriptors(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.txt": "a\n"})
    names = []
    for number in range(150):
        text = b"%d\n" % number
        names.append(_name(b"blob", [text]))
        write_pack(repo, [(names[-1], _size(3, len(text)) + zlib.compress(text))])
    handle = open_handle(str(repo.path / ".git"))
    assert [handle.odb.read(pygit2.Oid(raw=name))[1] for name in names] == [b"%d\n" % index for index in range(150)]
    if sys.platform == "linux":
        targets = [item.resolve() for item in Path("/proc/self/fd").iterdir()]
        indexes = [target for target in targets if target.is_relative_to(repo.path) and target.suffix == ".idx"]
        assert len(indexes) < 100
