"""Contents from the files of a work tree: those that git has, and none that isn't proven to be one of them."""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from pathlib import Path

import pytest

from sourcelight.repos import Catalog, ObjectReader, Repository
from sourcelight.repos.worktree_files import MAX_FOLDERS, MAX_WAITS, WorktreeFiles
from sourcelight.testing import RepositoryBuilder

TEXT = b"a secret of sixteen\n"
FILES: dict[str | bytes, bytes] = {
    "a.py": TEXT,
    "a/b.py": b"print(1)\n",
    "a/c/d.py": b"print(2)\n",
    "a/e.py": b"",
    "b/c/d.py": b"\0binary\xff",
    "b/\xe9.py": b"x\r\ny\n",
    b"z\xff.txt": b"last" * 5000,
}


def tells_what_is_in_memory(folder: Path) -> bool:
    """Return whether the file system is one of which files are read: ext4, xfs and btrfs are, tmpfs isn't."""
    (folder / "probe").write_bytes(TEXT)
    descriptor = os.open(folder / "probe", os.O_RDONLY)
    try:
        return os.preadv(descriptor, [bytearray(len(TEXT))], 0, os.RWF_NOWAIT) == len(TEXT)
    except (AttributeError, OSError):
        return False
    finally:
        os.close(descriptor)


def drop_from_memory(path: Path) -> None:
    """Have the system forget a file's content, which it puts off while another processor still has the page at hand."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            if not is_in_memory(descriptor):
                return
            time.sleep(0.01)
        pytest.fail(f"{path} stays in memory")
    finally:
        os.close(descriptor)


def is_in_memory(descriptor: int) -> bool:
    """Return whether the first page of a file is in memory. To read it, even without waiting, would bring it there."""
    libc = ctypes.CDLL(None, use_errno=True)
    state = ctypes.c_ubyte()
    with mmap.mmap(descriptor, 1, mmap.MAP_PRIVATE) as memory:
        page = ctypes.c_char.from_buffer(memory)
        error = libc.mincore(ctypes.byref(page), ctypes.c_size_t(1), ctypes.byref(state))
        del page
    assert error == 0, os.strerror(ctypes.get_errno())
    return bool(state.value & 1)


@pytest.fixture
def repo(tmp_path: Path) -> RepositoryBuilder:
    if not tells_what_is_in_memory(tmp_path):
        pytest.skip("this system doesn't tell what is in memory")
    repo = RepositoryBuilder(tmp_path / "books")
    repo.commit(FILES, "Begin")
    return repo


def contents(builder: RepositoryBuilder) -> dict[bytes, bytes | None]:
    """Return what the work tree has of the files of HEAD, in their order."""
    repository = repository_at(builder.path)
    with ObjectReader(repository) as reader, WorktreeFiles(repository) as files:
        tree = reader.tree(repository.info.commit)
        answer: dict[bytes, bytes | None] = {}
        for number, path in enumerate(tree.paths):
            blob_id = tree.blob_id(number)
            content = files.read(path, blob_id, reader.size(blob_id) or 0)
            answer[path] = None if content is None else bytes(content)
    return answer


def repository_at(path: Path) -> Repository:
    return Catalog.open(path).repositories[0]


def names(*, without: tuple[bytes, ...] = ()) -> dict[bytes, bytes]:
    raw = {name.encode() if isinstance(name, str) else name: text for name, text in FILES.items()}
    return {name: text for name, text in raw.items() if name not in without}


def right_contents(builder: RepositoryBuilder) -> dict[bytes, bytes]:
    return {name: text for name, text in contents(builder).items() if text is not None}


def test_a_checkout_has_what_git_has(repo: RepositoryBuilder) -> None:
    assert right_contents(repo) == names()


@pytest.mark.parametrize("text", [TEXT.upper(), TEXT + b"more", TEXT[:-1], b"", None])
def test_a_file_that_differs_is_none(repo: RepositoryBuilder, text: bytes | None) -> None:
    repo.write({"a.py": text})
    assert right_contents(repo) == names(without=(b"a.py",))


def test_the_index_and_its_times_prove_nothing(repo: RepositoryBuilder) -> None:
    path = repo.file("a.py")
    before = path.stat()
    path.write_bytes(TEXT.upper())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    repo.git("update-index", "--assume-unchanged", "a.py")
    assert right_contents(repo) == names(without=(b"a.py",))


@pytest.mark.parametrize("rule", ["*.py text eol=crlf", "*.py ident"])
def test_files_that_a_filter_changed_are_left_to_git(repo: RepositoryBuilder, rule: str) -> None:
    repo.commit({"a.py": b"$Id$ 1\n", ".gitattributes": rule + "\n"}, "filter")
    repo.file("a.py").unlink()
    repo.git("checkout", "--", "a.py")
    changed = repo.file("a.py").read_bytes()
    assert changed != b"$Id$ 1\n"
    assert b"a.py" not in right_contents(repo)


def test_a_link_is_not_followed_to_the_right_content(repo: RepositoryBuilder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    repo.file("b").rename(outside)
    repo.symlink("b", str(outside))
    repo.file("a.py").rename(outside / "a.py")
    repo.symlink("a.py", str(outside / "a.py"))
    expected = names(without=(b"a.py", b"b/c/d.py", "b/\xe9.py".encode()))
    assert right_contents(repo) == expected


def test_pipes_and_directories_hold_nobody_up(repo: RepositoryBuilder) -> None:
    repo.write({"a.py": None, "a/e.py": None, "a/b.py": None})
    os.mkfifo(repo.file("a.py"))
    # An empty file is as large as a pipe.
    os.mkfifo(repo.file("a/e.py"))
    repo.file("a/b.py").mkdir()
    assert right_contents(repo) == names(without=(b"a.py", b"a/b.py", b"a/e.py"))


def test_a_directory_that_is_gone_hides_no_other(repo: RepositoryBuilder) -> None:
    repo.file("a/c").rename(repo.file("a/c2"))
    assert right_contents(repo) == names(without=(b"a/c/d.py",))


@pytest.mark.parametrize("path", [b"../outside", b"a/../../outside", b"/etc/hosts", b"a/..", b"", b"a//b.py", b"a\0b"])
def test_no_path_leads_out(repo: RepositoryBuilder, tmp_path: Path, path: bytes) -> None:
    (tmp_path / "outside").write_bytes(TEXT)
    blob_id = bytes.fromhex(repo.git("rev-parse", "HEAD:a.py"))
    with WorktreeFiles(repository_at(repo.path)) as files:
        assert files.read(path, blob_id, len(TEXT)) is None
        assert bytes(files.read(b"a.py", blob_id, len(TEXT)) or b"") == TEXT


def test_descriptors_are_few_and_closed(repo: RepositoryBuilder) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("counts open files in /proc")
    deep = "/".join("d" * (MAX_FOLDERS + 1)) + "/x"
    deepest = "/".join("d" * MAX_FOLDERS) + "/y"
    repo.commit({deep: "deep\n", deepest: "deep\n"}, "deep")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
    assert set(contents(repo)) - set(right_contents(repo)) == {deep.encode()}
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above


def test_a_bare_repository_has_none(repo: RepositoryBuilder, tmp_path: Path) -> None:
    bare = repo.clone(tmp_path / "bare", "--bare")
    with WorktreeFiles(repository_at(bare.path)) as files:
        assert not files
        assert files.read(b"a.py", b"\0" * 20, 0) is None


def test_files_on_a_cold_disk_are_left_to_git(repo: RepositoryBuilder) -> None:
    # A read that may not wait still has the system fetch some of the file. A fast disk brings that in time, but not a
    # megabyte.
    cold: dict[str | bytes, bytes] = {f"c/{number:02}": b"%07d\n" % number * (1 << 17) for number in range(MAX_WAITS)}
    repo.commit(cold, "cold")
    for name in cold:
        drop_from_memory(repo.file(name))
    # In the order of paths, those before are read, and those behind as many cold ones aren't.
    assert right_contents(repo) == {name: text for name, text in names().items() if name < b"c"}
