"""`index` and `repos`: build, show and prune the index; list repositories.

`clone`: bare mirrors of remote repositories.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sourcelight.cli.output import DONE, FAILED, StatusLine, print_table, say, tell
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryError
from sourcelight.core.markup import visible
from sourcelight.core.markup.sizes import size_text

if TYPE_CHECKING:
    from sourcelight.engines.execution import LocalEngine
    from sourcelight.engines.search import IndexProgress


def shown_on(line: StatusLine) -> Callable[[IndexProgress], None]:
    """A receiver of indexing progress that paints `line`."""

    def paint(progress: IndexProgress) -> None:
        line.show(
            f"indexing {progress.repositories_done}/{progress.repositories_total} repositories, "
            f"{progress.files:,} files, {size_text(progress.text_bytes)}  {progress.repository}"
        )

    return paint


def start_background(engine: LocalEngine) -> None:
    """Begin with what searches and questions would else wait for: definitions, words, histories."""
    targets = [engine.target_of(repository) for repository in engine.catalog.repositories]
    engine.definitions.start(targets)
    engine.words.start(targets)
    engine.histories.start(engine.default_histories)


def index(
    paths: Sequence[str], *, workers: int | None, max_bytes: int | None, worktree: bool, scip: Sequence[str] = ()
) -> int:
    """Index what is missing below `paths`; fails when a repository or an index file of a compiler could not be read."""
    from sourcelight.backends.embedded import open_engine

    line = StatusLine()
    try:
        engine = open_engine(paths, workers=workers, max_bytes=max_bytes, worktree=worktree, progress=shown_on(line))
        targets = [engine.target_of(repository) for repository in engine.catalog.repositories]
        for missing in engine.definitions.wait(targets, Cancellation(), None):
            line.show(f"finding definitions, {missing} of {len(targets)} repositories left")
        histories = engine.default_histories
        for item in engine.histories.wait(histories, Cancellation()):
            line.show(item.message.replace("\n- ", " ").replace("`", ""))
        unread = engine.histories.failures(histories)
    finally:
        line.clear()
    for warning in engine.catalog.warnings:
        say(warning)
    for skipped in engine.catalog.skipped:
        say(f"{skipped.path}: {skipped.message}")
    report = engine.report
    if report is None:
        return FAILED
    for name, why in sorted(report.failures.items()):
        say(f"{name}: {why}")
    for name, why in sorted(unread.items()):
        say(f"{name}: its history could not be read: {why}")
    tell(
        f"{len(report.built)} repositories indexed ({report.files:,} files, {size_text(report.text_bytes)} of text), "
        f"{len(report.current)} already current, {len(report.failures)} failed"
    )
    kept = [_keep(engine, file) for file in scip]
    return FAILED if report.failures or unread or not all(kept) else DONE


def _keep(engine: LocalEngine, file: str) -> bool:
    """Keep an index file of a compiler for the commit that it fits: that of the repository of which it names files."""
    reasons = []
    for repository in engine.catalog.repositories:
        try:
            count, left_out = engine.navigation.keep_scip(repository, file)
        except (ValueError, OSError) as error:
            reasons.append(f"{repository.name}: {error}")
            continue
        said = "".join(f", {number:,} {what} left out" for what, number in sorted(left_out.items()))
        tell(f"{file}: kept for {repository.name}, {count:,} files{said}")
        return True
    say(f"{file} can't be used: {'; '.join(reasons)}")
    return False


def show_status(paths: Sequence[str]) -> int:
    """Show the indexes on disk and the bytes of each kind, those of `paths` alone when there are any."""
    from sourcelight.backends.embedded import index_folder
    from sourcelight.engines.execution.disk import KINDS, disk_usage
    from sourcelight.engines.search import IndexStore
    from sourcelight.repos import Catalog

    keys = {repository.key for repository in Catalog.open(paths).repositories} if paths else None
    usages = disk_usage(IndexStore(str(index_folder())), keys)
    kinds = [kind for kind in KINDS if kind != "scip" or any(usage.kind_bytes[kind] for usage in usages)]
    rows = []
    for usage in usages:
        status = usage.status
        rows.append(
            (
                usage.repository or usage.key,
                " ".join(commit[:12] for commit in status.commits) if status else "",
                status.files if status else 0,
                size_text(status.text_bytes if status else 0),
                *(size_text(usage.kind_bytes[kind]) for kind in kinds),
                size_text(usage.total_bytes),
                (status.damaged or "good") if status else "no text index",
            )
        )
    heads = ("repository", "commit", "files", "of text", *kinds, "disk", "state")
    print_table(heads, rows)
    text_bytes = sum(usage.status.text_bytes for usage in usages if usage.status)
    total = sum(usage.total_bytes for usage in usages)
    sums = ", ".join(f"{kind} {size_text(sum(usage.kind_bytes[kind] for usage in usages))}" for kind in kinds)
    times = f", {total / text_bytes:.1f} times the text" if text_bytes else ""
    tell(f"{size_text(total)} in {index_folder()} and beside it{times}: {sums}")
    return DONE


def prune(paths: Sequence[str], kinds: Sequence[str] = ()) -> int:
    """Delete the indexes of all repositories that are not below `paths`; `kinds` alone when there are any."""
    import typer

    from sourcelight.backends.embedded import index_folder
    from sourcelight.engines.execution.disk import KINDS
    from sourcelight.engines.execution.disk import prune as delete
    from sourcelight.engines.search import IndexStore
    from sourcelight.repos import Catalog

    if not paths and not kinds:
        raise typer.BadParameter("--prune needs the PATHs whose indexes are kept, or --kind")
    keep = {repository.key for repository in Catalog.open(paths).repositories} if paths else set()
    freed = delete(IndexStore(str(index_folder())), keep, [kind for kind in KINDS if not kinds or kind in kinds])
    sums = ", ".join(f"{kind} {size_text(size)}" for kind, size in freed.items() if size)
    tell(
        f"{size_text(sum(freed.values()))} freed{f': {sums}' if sums else ''}; "
        f"the indexes of {len(keep)} repositories are kept"
    )
    return DONE


def list_repositories(paths: Sequence[str]) -> int:
    """List repositories, then what is skipped."""
    from sourcelight.repos import Catalog

    catalog = Catalog.open(paths)
    rows = []
    for repository in catalog.repositories:
        facts = repository.facts
        marks = [word for word in ("fork", "archived", "private") if getattr(facts, word)]
        marks += [repository.incomplete] if repository.incomplete else []
        marks += [f"{facts.replaced_objects:,} replaced objects"] if facts.replaced_objects else []
        rows.append(
            (
                facts.name,
                facts.commit[:12],
                facts.last_fetched[:10],
                repository.kind,
                ", ".join(marks),
                facts.description,
            )
        )
    print_table(("repository", "commit", "fetched", "kind", "marks", "description"), rows)
    sys.stdout.flush()
    for warning in catalog.warnings:
        say(warning)
    for skipped in catalog.skipped:
        say(f"{skipped.path}: {skipped.message}")
    return DONE


def clone(urls: Sequence[str], into: str) -> int:
    """Clone or update each; one that fails does not stop the others."""
    from sourcelight.backends.embedded import mirrors_folder
    from sourcelight.repos import CloneProgress
    from sourcelight.repos import clone as clone_mirror

    status = DONE
    for url in urls:
        line = StatusLine()

        def paint(progress: CloneProgress, line: StatusLine = line) -> None:
            line.show(f"{progress.url}: {progress.step} {progress.done:,}/{progress.total:,}")

        try:
            folder = clone_mirror(url, into or str(mirrors_folder()), progress=paint)
        except RepositoryError as fault:
            line.clear()
            say(str(fault))
            status = FAILED
        else:
            line.clear()
            tell(visible(folder))
    return status
