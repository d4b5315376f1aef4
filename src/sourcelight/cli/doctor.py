"""`doctor`: installed packages, files and their sizes, and causes of slow searches on this machine.

Names no repository, query or credential, so that its output can go into an issue.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sourcelight.cli.output import DONE, FAILED, print_line, print_table
from sourcelight.core.extras import has_library
from sourcelight.core.markup import count_of, visible
from sourcelight.core.markup.counts import size_text

# Name to import, name to install, purpose, and the requirement to pass to pip.
_LIBRARIES = (
    ("pandas", "pandas", "DataFrames", "sourcelight"),
    ("matplotlib", "matplotlib", "figures", "sourcelight"),
    ("ipywidgets", "ipywidgets", "live progress", "sourcelight"),
    ("anywidget", "anywidget", "explorer and facets", "sourcelight"),
    ("IPython", "ipython", "magics", "sourcelight"),
    ("jupyterlab", "jupyterlab", "JupyterLab", "sourcelight[lab]"),
    ("pydantic_ai", "pydantic-ai-slim", "deep search with a model", "sourcelight[llm]"),
    ("distributed", "distributed", "clusters", "sourcelight[cluster]"),
    ("ast_grep_py", "ast-grep-py", "patternType:ast-grep", "sourcelight[structural]"),
    ("graphql", "graphql-core", "GraphQL of the service", "sourcelight[graphql]"),
    ("polars", "polars", "to_polars()", "polars"),
    ("duckdb", "duckdb", "sql()", "duckdb"),
    ("networkx", "networkx", "to_networkx()", "networkx"),
)
_CORE = ("pyarrow", "numpy", "pygit2", "stringzilla", "google-re2", "tree-sitter", "mcp")
_SLOW_START_MS = 50  # a git process on a quiet machine takes 1 to 5
_SLOW_WRITE_MS = 200  # 8 MiB on a local disk take 5 to 30
_SMALL_FREE_BYTES = 2 << 30
"""Free bytes of a disk below which indexes may soon fill it."""

_PROBE_BYTES = 8 << 20
"""Bytes that are written to measure the disk."""

_MANY_FILES = 200_000
"""Files of a directory of indexes above which pruning is proposed."""


@dataclass(frozen=True, slots=True)
class HostProblem:
    """A problem of this machine; `broken` if searches fail because of it, else it makes them slow."""

    text: str
    broken: bool = False


def doctor_command() -> int:
    """Check the installation, and the speed of disk and git.

    Also shows the directories of caches and state, and their sizes. Changes nothing, and shows no names of
    repositories. Exits with status 2 if something is broken.
    """
    return examine()


def examine() -> int:
    """Print the report; return status 2 if something that searches need is missing or doesn't work."""
    from sourcelight import __version__
    from sourcelight.backends.embedded import cache_home, data_home

    problems: list[HostProblem] = []
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    print_table(
        ("what", "version", "where"),
        [
            ("sourcelight", __version__, ", ".join(_distributions()) or "no distribution: a directory on PYTHONPATH"),
            ("Python", platform.python_version(), visible(sys.executable)),
            ("system", system, f"{_cores()} cores"),
            ("git", *_git(problems)),
            ("new commits", *_follow_commits()),
            *((name, _version(name) or "missing", "") for name in _CORE),
        ],
    )
    print_line("")
    print_table(
        ("for", "library", "version"),
        [
            (purpose, name, _version(name) if has_library(module) else f"not installed: pip install '{package}'")
            # Looked up and not imported: importing all of them would take seconds.
            for module, name, purpose, package in _LIBRARIES
        ],
    )
    print_line("")
    homes = {"indexes": cache_home(), "state": data_home()}
    print_table(("files", "size", "free", "directory"), list(_directories(homes, problems)))
    problems += _write_speed(cache_home())
    print_line("")
    for problem in problems:
        print_line(f"{'broken' if problem.broken else 'slow'}: {problem.text}")

    if not problems:
        print_line("No problems found.")

    return FAILED if any(problem.broken for problem in problems) else DONE


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _distributions() -> list[str]:
    return [f"{name} {_version(name)}" for name in ("sourcelight", "sourcelight-core") if _version(name)]


def _cores() -> int:
    # A process may be limited to some of the cores, as in a container.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _git(problems: list[HostProblem]) -> tuple[str, str]:
    """Return version and path of git, and add its problems to `problems`."""
    from sourcelight.core.errors import GitFailed
    from sourcelight.repos.git.command import git_version

    began = time.monotonic()
    try:
        version = ".".join(map(str, git_version()))
    except GitFailed as error:
        problems.append(HostProblem(f"{error}; history and clones need it", broken=True))
        return "missing", ""

    took_ms = 1000 * (time.monotonic() - began)
    if took_ms > _SLOW_START_MS:
        problems.append(
            HostProblem(
                f"git takes {took_ms:.0f} ms to start; history searches and indexing start it often. "
                "A virus scanner or a busy machine can cause that"
            )
        )

    return version, visible(shutil.which("git") or "")


def _follow_commits() -> tuple[str, str]:
    """Return how a search finds out whether a repository has changed, and why not in a better way."""
    from sourcelight.repos.catalog.watches import why_unwatched

    reason = why_unwatched()
    return ("a look at each repository", visible(reason)) if reason else ("reported by the kernel", "")


def _directories(homes: dict[str, Path], problems: list[HostProblem]) -> Iterator[tuple[str, str, str, str]]:
    for name, folder in homes.items():
        size, files = _size(folder)
        existing = next((ancestor for ancestor in (folder, *folder.parents) if ancestor.is_dir()), Path("/"))
        free = shutil.disk_usage(existing).free
        if free < _SMALL_FREE_BYTES:
            problems.append(
                HostProblem(
                    f"only {size_text(free)} free for {name}; indexing may fail. Free some, or set SOURCELIGHT_HOME",
                    broken=True,
                )
            )

        if files > _MANY_FILES:
            problems.append(
                HostProblem(f"{name}: {count_of(files, 'file')}; `sourcelight index --prune` deletes unneeded ones")
            )

        yield name, size_text(size), size_text(free), visible(str(folder))


def _size(folder: Path) -> tuple[int, int]:
    """Return bytes and number of files below a directory, without files that disappear meanwhile."""
    size = files = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(directory, name)).st_size  # noqa: PTH118 - names may be any bytes
            except OSError:
                continue
            files += 1

    return size, files


def _write_speed(folder: Path) -> list[HostProblem]:
    """Write and sync a file where indexes are: a directory on the network is the usual cause of slow searches."""
    existing = next((ancestor for ancestor in (folder, *folder.parents) if ancestor.is_dir()), Path("/"))
    began = time.monotonic()
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            # Indexes are synced to disk before they are published, so only a synced write shows the speed that matters.
            file.write(bytes(_PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return [
            HostProblem(
                f"{visible(str(existing))} can't be written: {error.strerror or error}; "
                "set SOURCELIGHT_HOME to another directory",
                broken=True,
            )
        ]

    took_ms = 1000 * (time.monotonic() - began)
    if took_ms <= _SLOW_WRITE_MS:
        return []

    text = f"writing {size_text(_PROBE_BYTES)} below {visible(str(existing))} takes {took_ms:.0f} ms"
    return [HostProblem(f"{text}; set SOURCELIGHT_HOME to a directory on a faster, local disk")]
