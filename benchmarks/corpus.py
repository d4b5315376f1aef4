"""A folder of real repositories, opened for a benchmark: its index, its files on disk for ripgrep, its machine."""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from sourcelight.backends.embedded import EmbeddedBackend, open_engine
from sourcelight.client import Client
from sourcelight.core.batches import CommitId
from sourcelight.engines.search.model import DEFAULT_MAX_FILE_SIZE
from sourcelight.repos import ObjectReader, Repository

Got = TypeVar("Got")
_SCHEDULED = 2
"""Kind of clock (CPUCLOCK_SCHED) in the number of a process's clock, as `clock_getcpuclockid` makes it."""
_QUIET_CORES, _QUIET_S, _MAX_WAIT_S = 0.05, 3.0, 900.0
_ENGINES = ("numpy", "pyarrow", "google-re2", "stringzilla")


def cpu_s() -> float:
    """CPU seconds of this process and of its children that ended."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in usage)


def timed(work: Callable[[], Got]) -> tuple[float, float, Got]:
    """CPU seconds and wall seconds of `work`, and what it gave."""
    cpu, wall = cpu_s(), time.perf_counter()
    result = work()
    return cpu_s() - cpu, time.perf_counter() - wall, result


def used_cpu_s(pid: int) -> float:
    """CPU seconds of another process, with the threads of it that ended and without its children (Linux only).

    Its clock counts nanoseconds; what stands below ``/proc`` counts ticks of 10 ms, longer than most requests.
    """
    return time.clock_gettime((~pid << 3) | _SCHEDULED)


def until_quiet(pid: int) -> float:
    """Wait until a process and its children are at rest for some seconds; give the seconds that took."""
    began = time.monotonic()
    while time.monotonic() - began < _MAX_WAIT_S:
        before = _used_by_family(pid)
        time.sleep(_QUIET_S)
        after = _used_by_family(pid)
        if sum(usage - before.get(item, 0.0) for item, usage in after.items()) < _QUIET_CORES * _QUIET_S:
            break
    return time.monotonic() - began


def _used_by_family(pid: int) -> dict[int, float]:
    """CPU seconds of a process and of its children of all generations."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            parents[int(entry.parent.name)] = int(entry.read_text("utf-8").rpartition(")")[2].split()[1])
    results = [pid]
    for item in results:
        results += [child for child, parent in parents.items() if parent == item]
    usage = {}
    for item in results:
        with contextlib.suppress(OSError):
            usage[item] = used_cpu_s(item)
    return usage


class Corpus:
    """The repositories below some folders, indexed.

    Parameters
    ----------
    folders
        A folder or several: repositories, bare or not, or what holds them.
    home
        Folder of the index; the served index is the same one.

    Attributes
    ----------
    build_cpu_s
        CPU seconds that bringing the index up to date took.
    """

    def __init__(self, folders: str | Sequence[str], home: str) -> None:
        paths = [folders] if isinstance(folders, str) else folders
        self.folders = [os.path.abspath(path) for path in paths]  # noqa: PTH100 - a link stays one: names come from it
        self.home = home
        self.build_cpu_s, self.build_wall_s, self.engine = timed(
            lambda: open_engine(self.folders, index=Path(home, "index"))
        )
        report = self.engine.report
        if report is not None and report.failures:
            sys.exit(f"not indexed: {dict(report.failures)}")
        self.client = Client(EmbeddedBackend(self.engine))

    @property
    def repositories(self) -> tuple[Repository, ...]:
        """All of them, by name."""
        return self.engine.catalog.repositories

    def describe(self) -> str:
        """How much there is, in one line."""
        statuses = self.engine.store.status()
        text, disk = sum(s.text_bytes for s in statuses), self.engine.store.disk_bytes()
        return (
            f"{len(statuses)} repositories, {sum(s.files for s in statuses):,} files, {text / 1e6:.0f} MB of text, "
            f"index {disk / 1e6:.0f} MB ({disk / text:.2f} of the text)"
        )

    def export(self, folder: Path) -> None:
        """Write every file whose text is searched to `folder`, below its repository's name, byte for byte."""
        for repository in self.repositories:
            export(repository, repository.info.commit, folder / repository.name)


def export(repository: Repository, commit: CommitId, folder: Path) -> None:
    """Write the files of one commit whose text is searched: no NUL byte, at most 2 MiB."""
    with ObjectReader(repository) as reader:
        tree = reader.tree(commit)
        result: set[Path] = set()
        for index, path in enumerate(tree.paths):
            data = reader.read(tree.blob_id(index))
            if data is None or len(data) > DEFAULT_MAX_FILE_SIZE or b"\0" in data:
                continue
            file = folder / os.fsdecode(path)
            if file.parent not in result:
                file.parent.mkdir(parents=True, exist_ok=True)
                result.add(file.parent)
            file.write_bytes(data)


def machine() -> str:
    """Cores, memory, system and versions, in one line."""
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return (
        f"{os.cpu_count()} cores, {pages / 2**30:.0f} GiB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, {', '.join(f'{name} {version(name)}' for name in _ENGINES)}, "
        f"load at the end {os.getloadavg()[0]:.1f}"
    )


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """A Markdown table whose first `left` columns are aligned left, the others right."""
    lines = [_row(head), "|" + "|".join(["---"] * left + ["---:"] * (len(head) - left)) + "|"]
    return "\n".join([*lines, *map(_row, rows)])


def _row(cells: Sequence[Any]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
