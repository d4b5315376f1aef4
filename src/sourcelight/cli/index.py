"""`index` and `repos`: build, show and prune indexes; list repositories.

The commands check their options; the functions below them do the work, print, and return the exit status. They import
engines late, so that `--help` doesn't wait for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from sourcelight.cli.options import ClusterAddress, Paths, ShardStorage, Tls, Worktree, parse_size, path_texts
from sourcelight.cli.output import DONE, FAILED, StatusLine, print_line, print_table, say, say_warnings
from sourcelight.core.markup.counts import count_of, size_text

if TYPE_CHECKING:
    from sourcelight.core.batches.events import IndexProgress
    from sourcelight.engines.execution import LocalEngine
    from sourcelight.engines.execution.indexes.disk import DiskUsage
    from sourcelight.repos import Repository


class IndexKind(StrEnum):
    """Kinds of index files; as in `sourcelight.engines.execution.indexes.disk.KINDS`."""

    TEXT = "text"
    DEFINITIONS = "definitions"
    RANKING = "ranking"
    HISTORY = "history"
    SCIP = "scip"


def index_command(  # noqa: PLR0913 - the options of a command
    paths: Paths = None,
    *,
    status: Annotated[
        bool, typer.Option("--status", help="Show the indexes and their sizes by kind; index nothing.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete the indexes of all repositories that are not below PATH.")
    ] = False,
    kind: Annotated[
        Optional[list[IndexKind]],  # noqa: UP045 - see options
        typer.Option(
            metavar="KIND",
            help="With --prune: delete this kind only, of all repositories without PATH. May be repeated.",
        ),
    ] = None,
    workers: Annotated[
        Optional[int],  # noqa: UP045 - see options
        typer.Option(min=1, max=256, metavar="NUMBER", help="Processes that build the index.  [default: one per core]"),
    ] = None,
    max_index_size: Annotated[
        Optional[str],  # noqa: UP045 - see options
        typer.Option(metavar="SIZE", help="Maximum size of all indexes on disk, such as 200GB.  [default: no limit]"),
    ] = None,
    scip: Annotated[
        Optional[list[Path]],  # noqa: UP045 - see options
        typer.Option(
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="SCIP index file of a compiler for the one repository below PATH. May be repeated.",
        ),
    ] = None,
    worktree: Worktree = False,
    cluster: ClusterAddress = None,
    storage: ShardStorage = None,
    build_dir: Annotated[
        Optional[Path],  # noqa: UP045 - see options
        typer.Option(metavar="DIRECTORY", help="With --storage: directory that keeps local indexes between builds."),
    ] = None,
    tls: Tls = None,
) -> int:
    """Index repositories so that the first search is fast. Reads only what has changed.

    `search` and `serve` index on demand. Without PATH, indexes the current directory; with --status, shows all
    indexes. With --storage, builds the shards of a cluster, on its workers if --cluster names its scheduler.

    --status and --prune distinguish kinds: text, definitions, ranking (terms of ranked search), history, and scip
    (index files of compilers). sourcelight rebuilds pruned indexes when it needs them, except scip. A process that
    reads an index keeps it until it closes.
    """
    names = path_texts(paths)
    if storage or cluster:
        # Imported late: the cluster's libraries load slowly and are an extra.
        from sourcelight.cli.cluster import build

        return build(names or (".",), cluster or [], storage, build_dir, workers, tls)

    if kind and not prune:
        raise typer.BadParameter("--kind needs --prune")
    if status:
        return show_status(names)
    if prune:
        return prune_indexes(names, [item.value for item in kind or []])

    max_bytes = None
    if max_index_size is not None:
        max_bytes = parse_size("--max-index-size", max_index_size)

    return build_index(
        names or (".",), workers=workers, max_bytes=max_bytes, worktree=worktree, scip_files=path_texts(scip)
    )


def repos_command(paths: Paths = None) -> int:
    """List the repositories below PATH.

    Also lists directories that can't be searched, with the reason.
    """
    return list_repositories(path_texts(paths, "."))


def progress_printer(line: StatusLine) -> Callable[[IndexProgress], None]:
    """Return a receiver of indexing progress that paints `line`."""

    def paint(progress: IndexProgress) -> None:
        line.show(
            f"indexing {progress.repositories_done}/{progress.repositories_total} repositories, "
            f"{count_of(progress.files, 'file')}, {size_text(progress.text_bytes)}  {progress.repository}"
        )

    return paint


def build_index(
    paths: Sequence[str], *, workers: int | None, max_bytes: int | None, worktree: bool, scip_files: Sequence[str] = ()
) -> int:
    """Index missing files below `paths`; fail if a repository or a SCIP file can't be read."""
    from sourcelight.backends.embedded import open_engine

    # The line is cleared before anything else is printed, also by an error.
    line = StatusLine()
    try:
        engine = open_engine(
            paths, workers=workers, max_bytes=max_bytes, worktree=worktree, progress=progress_printer(line)
        )
        history_failures = _wait_for_tables(engine, line)
    finally:
        line.clear()

    say_warnings(engine.catalog)
    report = engine.report
    if report is None:
        return FAILED

    for name, reason in sorted(report.failures.items()):
        say(f"{name}: {reason}")

    for name, reason in sorted(history_failures.items()):
        say(f"can't read the history of {name}: {reason}")

    print_line(
        f"indexed {count_of(len(report.built), 'repository')} ({count_of(report.files, 'distinct file')}, "
        f"{size_text(report.text_bytes)} of text), {len(report.current)} already current, "
        f"{len(report.failures)} failed"
    )
    # Each file is tried, also after one that fits no repository.
    unused_files = [file for file in scip_files if not _store_scip(engine, file)]
    if report.failures or history_failures or unused_files:
        return FAILED
    return DONE


def _wait_for_tables(engine: LocalEngine, line: StatusLine) -> Mapping[str, str]:
    """Wait for definitions and histories, which the engine makes in the background; return why histories failed."""
    from sourcelight.core.cancellation import Cancellation

    targets = [engine.target_of(repository) for repository in engine.catalog.repositories]
    for missing in engine.definitions.wait(targets, Cancellation(), None):
        line.show(f"finding definitions, {missing} of {len(targets)} repositories left")

    histories = engine.default_histories
    for item in engine.histories.wait(histories, Cancellation()):
        # The message is Markdown with a list.
        line.show(item.message.replace("\n- ", " ").replace("`", ""))

    return engine.histories.failures(histories)


def _store_scip(engine: LocalEngine, file: str) -> bool:
    """Store a SCIP file for the repository and the commit that it fits; return whether there is one."""
    reasons = []
    for repository in engine.catalog.repositories:
        try:
            count, skipped = engine.navigation.keep_scip(repository, file)
        # A SCIP file doesn't name its repository, so it is offered to each, and an error only says that another one may
        # fit.
        except (ValueError, OSError) as exc:
            reasons.append(f"{repository.name}: {exc}")
            continue

        parts = [f"{file}: stored for {repository.name}", count_of(count, "file")]
        parts += [f"{label} skipped: {number:,}" for label, number in sorted(skipped.items())]
        print_line(", ".join(parts))
        return True

    say(f"can't use {file}: {'; '.join(reasons)}")
    return False


def show_status(paths: Sequence[str]) -> int:
    """Show the indexes on disk and the bytes of each kind; with `paths`, only their indexes."""
    from sourcelight.backends.embedded import index_folder
    from sourcelight.engines.execution.indexes.disk import KINDS, disk_usage
    from sourcelight.engines.search import IndexStore
    from sourcelight.repos import Catalog

    keys = None
    if paths:
        keys = {repository.key for repository in Catalog.open(paths).repositories}

    usages = disk_usage(IndexStore(str(index_folder())), keys)
    kind_bytes = {kind: sum(usage.kind_bytes[kind] for usage in usages) for kind in KINDS}

    # Few people have SCIP files; the other kinds are always shown.
    if not kind_bytes["scip"]:
        del kind_bytes["scip"]

    print_table(
        ("repository", "commit", "files", "of text", *kind_bytes, "disk", "state"),
        [_status_row(usage, list(kind_bytes)) for usage in usages],
    )
    text_bytes = sum(usage.status.text_bytes for usage in usages if usage.status)
    total_bytes = sum(usage.total_bytes for usage in usages)
    ratio = ""
    if text_bytes:
        ratio = f", {total_bytes / text_bytes:.1f} times the text"

    sums = [f"{kind} {size_text(size)}" for kind, size in kind_bytes.items()]
    print_line(f"{size_text(total_bytes)} in {index_folder()} and its sibling directories{ratio}: {', '.join(sums)}")
    return DONE


def _status_row(usage: DiskUsage, kinds: Sequence[str]) -> tuple[object, ...]:
    """Return the cells of a repository's row: its text index, the bytes of each kind of index, and the state."""
    name = usage.repository or usage.key
    kind_sizes = [size_text(usage.kind_bytes[kind]) for kind in kinds]
    total_size = size_text(usage.total_bytes)
    status = usage.status
    if status is None:
        return (name, "", 0, size_text(0), *kind_sizes, total_size, "no text index")

    commits = " ".join(commit[:12] for commit in status.commits)
    state = status.damaged or "good"
    return (name, commits, status.files, size_text(status.text_bytes), *kind_sizes, total_size, state)


def prune_indexes(paths: Sequence[str], kinds: Sequence[str] = ()) -> int:
    """Delete the indexes of all repositories that are not below `paths`; only `kinds` if there are any."""
    from sourcelight.backends.embedded import index_folder
    from sourcelight.engines.execution.indexes.disk import KINDS, prune
    from sourcelight.engines.search import IndexStore
    from sourcelight.repos import Catalog

    if not paths and not kinds:
        raise typer.BadParameter("--prune needs --kind, or PATHs whose indexes to keep")

    keep = set()
    if paths:
        keep = {repository.key for repository in Catalog.open(paths).repositories}

    pruned_kinds = [kind for kind in KINDS if not kinds or kind in kinds]
    freed = prune(IndexStore(str(index_folder())), keep, pruned_kinds)
    freed_text = size_text(sum(freed.values()))
    sums = [f"{kind} {size_text(size)}" for kind, size in freed.items() if size]
    if sums:
        freed_text += f": {', '.join(sums)}"

    print_line(f"freed {freed_text}; kept the indexes of {count_of(len(keep), 'repository')}")
    return DONE


def list_repositories(paths: Sequence[str]) -> int:
    """List repositories, then skipped ones."""
    from sourcelight.repos import Catalog

    catalog = Catalog.open(paths)
    rows = []
    for repository in catalog.repositories:
        info = repository.info
        marks = ", ".join(_marks(repository))
        rows.append((info.name, info.commit[:12], info.last_fetched[:10], repository.kind, marks, info.description))

    print_table(("repository", "commit", "fetched", "kind", "marks", "description"), rows)
    # Warnings go to standard error, and must come after the table.
    sys.stdout.flush()
    say_warnings(catalog)
    return DONE


def _marks(repository: Repository) -> list[str]:
    """Return what is unusual about a repository, in words."""
    info = repository.info
    marks: list[str] = []
    if info.fork:
        marks.append("fork")
    if info.archived:
        marks.append("archived")
    if info.private:
        marks.append("private")
    if repository.incomplete:
        marks.append(repository.incomplete)
    if info.replaced_objects:
        marks.append(count_of(info.replaced_objects, "replaced object"))
    return marks
