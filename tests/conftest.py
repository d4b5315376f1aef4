"""What every test shares: a shut environment and the sample fleet."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

import build

if TYPE_CHECKING:
    import sourcelight as sl
    from backends.cluster.processes import Cell
    from sourcelight.testing import RepositoryBuilder

settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)

settings.register_profile(
    "thorough",
    max_examples=5_000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    print_blob=True,
)


_LONG_FILES = frozenset(
    {
        "tests/cli/test_service_start.py",
        "tests/docs/test_recipes.py",
        "tests/docs/test_snippets.py",
        "tests/oracles/test_share.py",
        "tests/test_structure.py",
    }
)
"""Files that take over half a minute of a core: more than those with the mark `slow`, which asks about each test."""


def pytest_configure(config: pytest.Config) -> None:
    """Let tests interrupt themselves: a run in the background, or one of several, starts with interrupts ignored."""
    ignored = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    if ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # what is collected stays; to look through it again and again took a third of the time
    # Without it, jsonschema leaves out formats that no schema of notebooks has; with it, nbformat compiles 38 grammars
    # in each process of tests: 1.5 s of 1.7.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # None is how an import is refused
    if config.getoption("--hypothesis-profile", default=None) == "repeatable":
        # Hypothesis also draws constants of the sources that a process has imported. Then the examples of a test depend
        # on the tests that run with it, and each process parses 750 files, which takes it 3 s of a core, and 6 s in a
        # fresh clone. Runs with other profiles draw these constants.
        providers._get_local_constants = lambda: providers._local_constants


def pytest_collection_finish() -> None:
    """Keep what was collected, some million objects that stay to the end, out of every later collection of garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)  # tests make millions of objects that die at once
    gc.enable()


def _group_of(node_id: str) -> str:
    """Return the tests that share what they build: those of a file, or all that ask the cluster."""
    file = node_id.partition("::")[0]
    return "cluster" if file.split("/")[-2:-1] in (["cluster"], ["contract"]) else file


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the cluster's tests first, then long files and those with slow tests, where tests run in several processes.

    A file that begins last may keep all other processes waiting. Tests in a folder `attacks` have the mark of that
    name.
    """
    slow: Counter[str] = Counter()
    for item in items:
        if item.path.parent.name == "attacks":
            item.add_marker(pytest.mark.attack)
        slow[_group_of(item.nodeid)] += item.get_closest_marker("slow") is not None
    if "PYTEST_XDIST_WORKER" in os.environ:
        groups = {item: _group_of(item.nodeid) for item in items}
        items.sort(key=lambda item: (groups[item] != "cluster", groups[item] not in _LONG_FILES, -slow[groups[item]]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a group in one process, for ``--dist loadgroup``.

    pytest-xdist 3.8 marks groups in an attribute of the test that pytest 9.2 no longer reads, so that each test goes to
    any process. Its scheduler of scopes asks for the group by name instead.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            return _group_of(nodeid)

    return GroupScheduling(config, log)


@pytest.fixture(scope="session", autouse=True)
def shut_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the host's git configuration, index and settings out; give the home of the session."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("GIT_", "SRC_", "SOURCELIGHT_")):
                patch.delenv(name)
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_TERMINAL_PROMPT", "0")
        patch.setenv("SOURCELIGHT_HOME", str(home))
        patch.setenv("SOURCELIGHT_PROGRESS", "off")
        yield home


@pytest.fixture(scope="module")
def folder(repo: RepositoryBuilder) -> Path:
    """The directory of the repository that a module builds as `repo`; modules with several build it themselves."""
    return repo.path.parent


@pytest.fixture(scope="module")
def code(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sl.Client]:
    """A client over the repositories in the `folder` of a module."""
    # Imported late, as each process of a run reads this file.
    import sourcelight as sl

    with sl.open(folder, index_dir=tmp_path_factory.mktemp("index"), index_workers=1, background_index=False) as client:
        yield client


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the sample fleet, built once; tests must not change it."""
    folder = tmp_path_factory.mktemp("fleet")
    build.build(folder)
    return folder


@pytest.fixture(scope="session")
def embedded(fleet: Path) -> Iterator[sl.Client]:
    """A client over the sample fleet, with engines in this process."""
    import sourcelight as sl

    with sl.open(fleet) as client:
        yield client


@pytest.fixture(scope="session")
def shards(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Storage with a generation of the sample fleet; tests must not change it."""
    from sourcelight.backends.cluster.build.generations import build_generation
    from sourcelight.backends.cluster.storage import ShardStorage
    from sourcelight.repos import Catalog

    storage = tmp_path_factory.mktemp("shards")
    report = build_generation(Catalog.open(fleet), ShardStorage(str(storage)))
    assert not report.failures
    return str(storage)


@pytest.fixture(scope="session")
def cell(shards: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cell]:
    """A scheduler with three workers; tests that harm theirs have one of their own."""
    from backends.cluster.processes import Cell

    cell = Cell(shards, tmp_path_factory.mktemp("caches"))
    try:
        yield cell
    finally:
        cell.close()
