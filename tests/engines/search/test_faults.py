from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.search.naive import naive_rows, rows_of
from fork_server import Process, start_python
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search import FileTerm, IndexReport, IndexStore, SearchOptions, Target, TextQuery
from sourcelight.repos import Catalog
from sourcelight.testing import RepositoryBuilder

QUERY = TextQuery(FileTerm(compile_pattern("foo 17", kind="literal", case_sensitive=True)))
FILES = {f"src/{number}.txt": f"foo {number}\n{'bar ' * 1500}\n" * 3 for number in range(100)}
LATER = {f"late/{number}.txt": f"foo 17 {number}\n{'qux bar ' * 3000}\n" for number in range(300)}
BUILDER = """
import resource, sys
from sourcelight.engines.search import IndexStore, Target
from sourcelight.repos import Catalog
limit = int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
store = IndexStore(sys.argv[2], workers=1)
targets = [Target(found) for found in Catalog.open([sys.argv[1]]).repositories]
print("ready", flush=True)
report = store.update(targets)
print(report.built, report.current, dict(report.failures))
"""
SEARCHER = """
import sys
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search import *
from sourcelight.repos import Catalog
targets = [Target(found) for found in Catalog.open([sys.argv[1]]).repositories]
query = TextQuery(FileTerm(compile_pattern("foo", kind="literal", case_sensitive=True)))
while True:
    for part in IndexStore(sys.argv[2]).search(targets, query, SearchOptions(), Cancellation()):
        print(part.matches, flush=True)
"""


@pytest.fixture
def repo(tmp_path: Path) -> RepositoryBuilder:
    builder = RepositoryBuilder(tmp_path / "code" / "one")
    builder.commit(FILES)
    return builder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


def targets_of(repo: RepositoryBuilder) -> list[Target]:
    return [Target(repository) for repository in Catalog.open([str(repo.path)]).repositories]


def answer(folder: Path, targets: list[Target]) -> list[object]:
    return list(rows_of(IndexStore(str(folder)).search(targets, QUERY, SearchOptions(), Cancellation())))


def naive(files: dict[str, str]) -> list[object]:
    raw = {name.encode(): data.encode() for name, data in files.items()}
    return list(naive_rows(raw, QUERY, max_file_size=1 << 20))


@contextlib.contextmanager
def started(code: str, repo: RepositoryBuilder, folder: Path, limit: int = 0) -> Iterator[Process]:
    arguments = [str(repo.path), str(folder), str(limit)]
    modules = ("sourcelight.engines.search.store", "sourcelight.core.patterns", "sourcelight.repos")
    process = start_python(code, arguments, *modules)
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)
        for pipe_end in filter(None, (process.stdin, process.stdout)):
            pipe_end.close()


def read_line(process: Process) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def read_to_end(process: Process) -> str:
    assert process.stdout is not None
    return process.stdout.read()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.05, 0.1])
def test_killing_a_builder_leaves_the_former_index(repo: RepositoryBuilder, folder: Path, delay_s: float) -> None:
    IndexStore(str(folder)).update(targets_of(repo))
    old = targets_of(repo)
    repo.commit(LATER)
    with started(BUILDER, repo, folder) as builder:
        assert read_line(builder) == "ready\n"
        time.sleep(delay_s)  # the moment of death is what varies here; there is no event to wait for
        builder.send_signal(signal.SIGKILL)
        builder.wait(10)
    new = targets_of(repo)
    store = IndexStore(str(folder))
    if not store.is_current(new[0]):
        assert answer(folder, [Target(old[0].repository, commit=old[0].repository.info.commit)]) == naive(FILES)
        assert store.update(new).built == ("one",)
    assert answer(folder, new) == naive(FILES | LATER)
    assert store.status(verify=True)[0].damaged == ""
    assert not list(folder.glob("*/tmp-*"))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killing_a_searcher_harms_nothing(repo: RepositoryBuilder, folder: Path) -> None:
    store = IndexStore(str(folder))
    store.update(targets_of(repo))
    with started(SEARCHER, repo, folder) as other:
        assert int(read_line(other)) > 0
        other.kill()
        other.wait(10)
    assert store.status(verify=True)[0].damaged == ""
    assert answer(folder, targets_of(repo)) == naive(FILES)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits for files")
def test_a_full_disk_keeps_the_former_index_and_leaves_no_rubbish(repo: RepositoryBuilder, folder: Path) -> None:
    IndexStore(str(folder)).update(targets_of(repo))
    old = targets_of(repo)
    before = {file.name for file in folder.glob("*/*")}
    repo.commit(LATER)
    with started(BUILDER, repo, folder, limit=20_000) as builder:
        text = read_to_end(builder)
    assert "no room left" in text, text
    assert {file.name for file in folder.glob("*/*")} == before
    assert answer(folder, [Target(old[0].repository, commit=old[0].repository.info.commit)]) == naive(FILES)


def test_of_two_builders_at_once_one_builds_and_both_can_search(repo: RepositoryBuilder, folder: Path) -> None:
    targets = targets_of(repo)
    reports: list[IndexReport] = []
    gate = threading.Barrier(2, timeout=20)

    def update() -> None:
        store = IndexStore(str(folder))
        gate.wait()
        reports.append(store.update(targets))

    threads = [threading.Thread(target=update) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(len(report.built) for report in reports) == [0, 1]
    assert sorted(len(report.current) for report in reports) == [0, 1]
    assert answer(folder, targets) == naive(FILES)


def test_two_processes_that_build_at_once_agree(repo: RepositoryBuilder, folder: Path) -> None:
    with started(BUILDER, repo, folder) as first, started(BUILDER, repo, folder) as second:
        messages = [read_to_end(first), read_to_end(second)]
    assert all("{}" in text for text in messages), messages
    assert answer(folder, targets_of(repo)) == naive(FILES)


def test_a_rewritten_repository_is_searched_as_it_is_now(repo: RepositoryBuilder, folder: Path) -> None:
    store = IndexStore(str(folder))
    store.update(targets_of(repo))
    repo.git("checkout", "-q", "--orphan", "fresh")
    repo.commit({**dict.fromkeys(FILES), "only.txt": "foo 17\n"})
    repo.git("branch", "-D", "-q", "main")
    targets = targets_of(repo)
    assert store.update(targets).built == ("one",)
    assert answer(folder, targets) == naive({"only.txt": "foo 17\n"})


def test_a_searcher_survives_any_number_of_rebuilds(repo: RepositoryBuilder, folder: Path) -> None:
    store = IndexStore(str(folder))
    store.update(targets_of(repo))
    old = targets_of(repo)[0]
    parts = store.search([old], QUERY, SearchOptions(), Cancellation())
    first = next(parts)
    for number in range(3):
        repo.commit({**dict.fromkeys(FILES if not number else {}), f"new{number}.txt": "foo 17\n" * number})
        store.update(targets_of(repo))
    assert rows_of([first, *parts]) == naive(FILES)
