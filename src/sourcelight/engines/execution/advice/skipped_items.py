"""Items of ``skipped`` in the progress of a search: the parts that an answer leaves out, with their reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sourcelight.core.batches.events import IndexProgress
from sourcelight.core.markup import count_of
from sourcelight.core.wire.events import Skipped
from sourcelight.engines.execution.protocol import format_count, markdown_list
from sourcelight.engines.execution.structures import UNREAD_STRUCTURES
from sourcelight.engines.search import Target
from sourcelight.engines.search.cells.reader import CELL_NOTICES, UNREAD
from sourcelight.engines.search.definition_lookup import UNRANKED
from sourcelight.engines.search.scan.opened_commit import LFS_POINTER
from sourcelight.repos import SkippedRepository

_MAX_LISTED = 10
"""Names that an item lists."""

_MAX_IN_TITLE = 2
"""Names in the title of an item."""

_MAX_TITLE_CHARS = 160
"""Characters of a title: a name or a reason in it may have any length."""

_NOT_READABLE = "are not in this clone, or can't be read, so their content was not searched"

MISSING_CONTENT = "document-missing"
"""Reason of files whose content a clone lacks."""

_FILE_MEANINGS: Mapping[str, tuple[str, str, str, str]] = {
    "binary": ("document-binary", "binary files", "have a NUL byte", "info"),
    "too-large": ("document-too-large", "large files", "are above the size limit `search.maxFileSize`", "info"),
    LFS_POINTER: (
        "document-lfs",
        "files in Git LFS",
        "have their content in Git LFS; the pointer was searched",
        "info",
    ),
    "missing": (MISSING_CONTENT, "files missing", _NOT_READABLE, "warn"),
    "symbols-pending": ("symbols-pending", "files without definitions yet", "have not been parsed yet", "warn"),
    UNRANKED: (
        "symbols-pending",
        "files ranked without definitions",
        "have not been parsed yet, so the same limit may select other matches later",
        "warn",
    ),
    **UNREAD_STRUCTURES,
    **CELL_NOTICES,
    "symbols-incomplete": (
        "symbols-incomplete",
        "files parsed in part",
        "were too large, too slow or too broken to be parsed in full",
        "info",
    ),
}
"""Reason, noun, description and severity of each kind of files that were not read, in the order of display."""


def not_indexed(failures: Mapping[str, str]) -> Iterator[Skipped]:
    """Return repositories that could not be indexed, with the reason."""
    message = "These repositories could not be indexed and were not searched, or only as they were before"
    yield from _add_names(_skipped_item("repository-missing", "not indexed", message, failures), failures)


def unsearchable(reasons: Mapping[str, str]) -> Iterator[Skipped]:
    """Report requested repositories or revisions that don't exist, or can't be indexed."""
    yield from _add_names(
        _skipped_item("repository-missing", "missing", "Requested, but not searched", reasons), reasons
    )


def _add_names(items: Iterable[Skipped], reasons: Mapping[str, str]) -> Iterator[Skipped]:
    """Add the first names and their reasons to the titles: a terminal and the reasons of a status show only these."""
    visible = [f"{name}: {reason}" for name, reason in sorted(reasons.items())[:_MAX_IN_TITLE]]
    extra = ["…"] if len(reasons) > len(visible) else []
    for item in items:
        title = f"{item.title} ({'; '.join([*visible, *extra])})"
        # A key has the typed revision, and a reason may quote it: both can have any length.
        yield replace(item, title=title if len(title) <= _MAX_TITLE_CHARS else f"{title[:_MAX_TITLE_CHARS]}…")


def _skipped_item(reason: str, subject: str, message: str, reasons: Mapping[str, str]) -> Iterator[Skipped]:
    """Yield one item that counts the names and lists some of them with their reasons; nothing without names."""
    if reasons:
        items = [f"- `{name}`: {text}" for name, text in sorted(reasons.items())[:_MAX_LISTED]]
        yield Skipped(
            reason=reason,
            title=f"{format_count(len(reasons))} {subject}",
            message="\n".join([f"{message}:", *items]),
            severity="warn",
        )


@dataclass(slots=True)
class IndexingNotice:
    """Revisions that are being made searchable, and how far that is."""

    targets: Sequence[Target]
    latest: IndexProgress | None = None

    def note(self, progress: IndexProgress) -> None:
        """Record the builder's newest report; called from its thread."""
        # A single assignment: the thread of the search reads it without a lock.
        self.latest = progress

    def item(self) -> Skipped:
        """Return the item that ``skipped`` has while the work continues."""
        files = "" if self.latest is None else f" ({count_of(self.latest.files, 'file')} read)"
        return Skipped(
            reason="revision-indexing",
            title=f"{format_count(len(self.targets))} indexing",
            message=f"These revisions are searched for the first time{files}:\n"
            + markdown_list([f"{target.repository.name}@{target.revision}" for target in self.targets]),
        )


def without_history(failures: Mapping[str, str]) -> Iterator[Skipped]:
    """Return repositories whose commits could not be searched, with the reason."""
    message = "The commits of these repositories were not searched"
    return _skipped_item("history-missing", "without history", message, failures)


def unread_commits(commits: Mapping[str, tuple[int, Sequence[str]]]) -> Iterator[Skipped]:
    """Return the item for commits whose changes are missing (a partial clone), too large or unreadable.

    `commits` has the number of such commits by repository, and the hashes of some.
    """
    if commits:
        total = sum(count for count, _ in commits.values())
        read_in_part = count_of(total, "commit")
        meaning = f"Some changes of {read_in_part} were not read. They are missing, too large, or in broken cells:"
        items = []
        for name, (count, oids) in sorted(commits.items())[:_MAX_LISTED]:
            short_oids = [oid[:12] for oid in oids]
            if count > len(oids):
                short_oids.append("...")
            items.append(f"- `{name}`: {', '.join(short_oids)}")

        yield Skipped(
            reason="history-incomplete",
            title=f"{format_count(total)} {'commit' if total == 1 else 'commits'} read in part",
            message="\n".join([meaning, *items, *(["- ..."] if len(commits) > _MAX_LISTED else [])]),
            severity="warn",
        )


def cut_histories(repositories: Mapping[str, str]) -> Iterator[Skipped]:
    """Report clones whose history ends early or lacks objects; `repositories` maps names to the kind of clone."""
    message = (
        "These clones are incomplete. In a shallow clone, the oldest commits may seem to add every file; "
        "a partial clone may lack files and directories"
    )
    return _skipped_item("history-incomplete", "incomplete", message, repositories)


def replaced_item(objects: Mapping[str, int]) -> Iterator[Skipped]:
    """Yield the item for objects that ``refs/replace`` replaces: searches and other calls read the originals."""
    if objects:
        total = sum(objects.values())
        yield Skipped(
            reason="objects-replaced",
            title=count_of(total, "replaced object"),
            message=f"`refs/replace` replaces {count_of(total, 'object')}. The search read the originals:\n"
            f"{markdown_list(list(objects))}",
        )


def unreadable(items: Sequence[SkippedRepository]) -> Iterator[Skipped]:
    """Yield directories with a repository that isn't searched. Only for the owner, because paths are local.

    A repository without commits gets a separate item, because an answer lacks nothing of it. So does a linked work
    tree, because its repository is searched.
    """
    empty = [item for item in items if item.reason == "empty"]
    linked = [item for item in items if item.reason == "linked"]
    faulty = [item for item in items if item.reason not in {"empty", "linked"}]
    if faulty:
        reasons = {item.path: item.message for item in faulty}
        message = "These directories could not be searched"
        yield from _add_names(_skipped_item("repository-unreadable", "unreadable", message, reasons), reasons)

    if empty:
        yield Skipped(
            reason="repository-empty",
            title=f"{format_count(len(empty))} empty",
            message=f"These repositories have no commit yet:\n{markdown_list([item.path for item in empty])}",
        )

    if linked:
        yield Skipped(
            reason="worktree-linked",
            title=f"{format_count(len(linked))} linked work {'tree' if len(linked) == 1 else 'trees'}",
            message="The HEAD of their main work tree was searched. Open these directories alone to search theirs:\n"
            + markdown_list([item.path for item in linked]),
        )


def removed_repositories(repositories: Sequence[str]) -> Iterator[Skipped]:
    """Yield repositories that were deleted, or renamed, since they were opened."""
    if repositories:
        yield Skipped(
            reason="repository-gone",
            title=f"{format_count(len(repositories))} removed",
            message=f"These repositories have been removed since they were opened:\n{markdown_list(repositories)}",
            severity="warn",
        )


def unread_worktrees(reasons: Mapping[str, str]) -> Iterator[Skipped]:
    """Yield the item for work trees that can't be compared; `reasons` are by the names of their repositories."""
    message = "The work trees of these repositories can't be compared with HEAD, so HEAD was searched"
    subject = f"unreadable work {'tree' if len(reasons) == 1 else 'trees'}"
    yield from _add_names(_skipped_item("unreadable-worktree", subject, message, reasons), reasons)


def changed_worktrees(files_by_repository: Mapping[str, int]) -> Iterator[Skipped]:
    """Yield files of work trees that differ from HEAD, which was searched."""
    files = sum(files_by_repository.values())
    verb = "was" if files == 1 else "were"
    if files:
        yield Skipped(
            reason="worktree-changes",
            title=f"{format_count(files)} changed {'file' if files == 1 else 'files'}",
            message=f"{count_of(files, 'modified, deleted or untracked file')} of work trees {verb} not searched; "
            f"HEAD was. Open with worktree=True to search them:\n{markdown_list(list(files_by_repository))}",
        )


def named_only(
    counts: Mapping[str, Mapping[str, int]],
    missing: Mapping[str, Sequence[str]] | None = None,
    unread_cells: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
) -> Iterator[Skipped]:
    """Yield the items for files that were matched only by name, or without all of their definitions.

    `missing` and `unread_cells` have the names of some of them, by repository.
    """
    affected: dict[str, dict[str, int]] = {}
    for name, counts_by_kind in counts.items():
        for key, files in counts_by_kind.items():
            if files:
                affected.setdefault(key, {})[name] = files

    # In the order of the table. The counts come in the order of repositories, which differs between searches.
    for key, (reason, noun, label, severity) in _FILE_MEANINGS.items() if affected else ():
        if key not in affected:
            continue

        files = sum(affected[key].values())
        tail = " and were matched by name only" if key in {"binary", "too-large"} else ""
        title = f"{format_count(files)} {noun if files != 1 else noun.replace('files', 'file')}"
        message = f"Files that {label}{tail}: {files:,}, in\n{markdown_list(affected[key])}"
        paths_of = missing if key == "missing" else {}
        if key in UNREAD and unread_cells:
            paths_of = {name: paths[key] for name, paths in unread_cells.items() if key in paths}

        if paths_of:
            examples = [f"{name}: {text}" for name in sorted(paths_of) for text in paths_of[name]][:files]
            title += f": {', '.join(_short(text) for text in examples[:_MAX_IN_TITLE])}"
            title += f" and {format_count(files - _MAX_IN_TITLE)} more" if files > _MAX_IN_TITLE else ""
            message += "\nAmong them:\n" + "\n".join(f"- `{text}`" for text in examples[:_MAX_LISTED])

        yield Skipped(reason=reason, title=title, message=message, severity=severity)


def _short(text: str) -> str:
    """Return a name in a title: its end is more specific than its beginning."""
    if len(text) <= _MAX_TITLE_CHARS:
        return text
    return f"\u2026{text[1 - _MAX_TITLE_CHARS :]}"
