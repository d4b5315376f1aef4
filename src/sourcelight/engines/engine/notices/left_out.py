"""What a search did not read, as items of ``skipped`` that the reader sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sourcelight.core.wire.events import Skipped
from sourcelight.engines.engine.limits import amount, names
from sourcelight.engines.search import IndexProgress, Target
from sourcelight.repos import SkippedRepository

_MOST_LISTED = 10
_MOST_IN_TITLE = 2
_LONGEST_IN_TITLE = 160


def not_indexed(failures: Mapping[str, str]) -> Iterator[Skipped]:
    """Repositories that could not be indexed, with the reason."""
    said = "These repositories could not be indexed and were not searched, or only as they were before"
    return _told("repository-missing", "not indexed", said, failures)


def unsearchable(places: Mapping[str, str]) -> Iterator[Skipped]:
    """Repositories or revisions that the query asked for and that are not there, or can't be indexed."""
    shown = [f"{name}: {why}" for name, why in sorted(places.items())[:_MOST_IN_TITLE]]
    more = ["…"] if len(places) > len(shown) else []
    for item in _told("repository-missing", "missing", "These were asked for and not searched", places):
        title = f"{item.title} ({'; '.join([*shown, *more])})"
        yield replace(item, title=title if len(title) <= _LONGEST_IN_TITLE else f"{title[:_LONGEST_IN_TITLE]}…")


def _told(reason: str, what: str, said: str, of_names: Mapping[str, str]) -> Iterator[Skipped]:
    """How many are `what`, and some of them, each with the reason; nothing for none."""
    if of_names:
        listed = [f"- `{name}`: {why}" for name, why in sorted(of_names.items())[:_MOST_LISTED]]
        yield Skipped(reason, f"{amount(len(of_names))} {what}", "\n".join([f"{said}:", *listed]), "warn")


@dataclass(slots=True)
class Indexing:
    """Revisions that are being made searchable, and how far that is."""

    targets: Sequence[Target]
    latest: IndexProgress | None = None

    def note(self, progress: IndexProgress) -> None:
        """Remember what the builder said last; called from its thread."""
        self.latest = progress

    def item(self) -> Skipped:
        """An item that stands in ``skipped`` while the work goes on."""
        far = "" if self.latest is None else f" ({self.latest.files:,} files read)"
        return Skipped(
            reason="revision-indexing",
            title=f"{amount(len(self.targets))} indexing",
            message=f"These revisions are searched for the first time{far}:\n"
            + names([f"{target.repository.name}@{target.revision}" for target in self.targets]),
        )


def without_history(failures: Mapping[str, str]) -> Iterator[Skipped]:
    """Repositories of which no commits could be searched, with the reason."""
    said = "The commits of these repositories were not searched"
    return _told("history-missing", "without history", said, failures)


def unread_commits(commits: Mapping[str, tuple[int, Sequence[str]]]) -> Iterator[Skipped]:
    """Commits whose changes are missing (a partial clone) or too large; their messages were searched.

    For each repository how many there are, and the names of some.
    """
    if commits:
        total = sum(count for count, _ in commits.values())
        listed = [
            f"- `{name}`: {', '.join(oid[:12] for oid in oids)}{', ...' if count > len(oids) else ''}"
            for name, (count, oids) in sorted(commits.items())[:_MOST_LISTED]
        ]
        yield Skipped(
            reason="history-incomplete",
            title=f"{amount(total)} unread {'commit' if total == 1 else 'commits'}",
            message="\n".join(
                [
                    f"The changes of {total:,} commits are missing from these clones, or too large, and not searched:",
                    *listed,
                    *(["- ..."] if len(commits) > _MOST_LISTED else []),
                ]
            ),
            severity="warn",
        )


def cut_histories(repositories: Mapping[str, str]) -> Iterator[Skipped]:
    """Clones whose history ends early or lacks objects; `repositories` maps names to the kind of clone."""
    said = (
        "These clones are incomplete. In a shallow clone, the oldest commits may seem to add every file; "
        "a partial clone may lack files and directories"
    )
    return _told("history-incomplete", "incomplete", said, repositories)


def replaced(objects: Mapping[str, int]) -> Iterator[Skipped]:
    """Objects that ``refs/replace`` names others for, which no search and no call follows."""
    if objects:
        total = sum(objects.values())
        yield Skipped(
            reason="objects-replaced",
            title=f"{amount(total)} replaced {'object' if total == 1 else 'objects'}",
            message=f"`refs/replace` gives {total:,} objects in the place of others. They were searched as they were "
            f"made, in place of what replaces them:\n{names(list(objects))}",
        )


def unreadable(items: Sequence[SkippedRepository]) -> Iterator[Skipped]:
    """Folders that hold a repository which can't be searched; for the owner's eyes, since they are local paths.

    One without any commit is told apart: there is nothing in it that an answer could lack.
    """
    empty = [item for item in items if item.reason == "empty"]
    faulty = [item for item in items if item.reason != "empty"]
    if faulty:
        yield Skipped(
            reason="repository-unreadable",
            title=f"{amount(len(faulty))} unreadable",
            message="These folders could not be searched:\n"
            + "\n".join(f"- `{item.path}`: {item.message}" for item in faulty[:_MOST_LISTED]),
            severity="warn",
        )
    if empty:
        yield Skipped(
            reason="repository-empty",
            title=f"{amount(len(empty))} empty",
            message=f"These repositories have no commit yet:\n{names([item.path for item in empty])}",
        )


def gone(repositories: Sequence[str]) -> Iterator[Skipped]:
    """Repositories that were deleted, or renamed, since they were opened."""
    if repositories:
        yield Skipped(
            reason="repository-gone",
            title=f"{amount(len(repositories))} gone",
            message=f"These repositories were there before and are not any more:\n{names(list(repositories))}",
            severity="warn",
        )


def changed(files_by_repository: Mapping[str, int]) -> Iterator[Skipped]:
    """Files of work trees that differ from HEAD, which is what was searched."""
    files = sum(files_by_repository.values())
    if files:
        yield Skipped(
            reason="worktree-changes",
            title=f"{amount(files)} changed {'file' if files == 1 else 'files'}",
            message=f"{files:,} modified, deleted or untracked files of work trees were not searched; HEAD was. "
            f"Open with worktree=True to search them:\n{names(list(files_by_repository))}",
        )


def named_only(
    counts: Mapping[str, Mapping[str, int]], missing: Mapping[str, Sequence[str]] | None = None
) -> Iterator[Skipped]:
    """Files of which only the name was matched, or not all definitions are known; `missing` are some by name."""
    by_name = " and were matched by name only"
    not_there = "are not in this clone, or can't be read, so that no content of theirs was searched"
    meanings = {
        "binary": ("document-binary", "binary files", "hold a NUL byte", "info"),
        "too-large": ("document-too-large", "large files", "are above the size limit `search.maxFileSize`", "info"),
        "missing": ("document-missing", "files missing", not_there, "warn"),
        "symbols-pending": ("symbols-pending", "files without definitions yet", "have not been parsed yet", "warn"),
        "symbols-incomplete": (
            "symbols-incomplete",
            "files parsed in part",
            "were too large, too slow or too broken to be parsed in full",
            "info",
        ),
    }
    for key, (reason, noun, why, severity) in meanings.items():
        files = sum(of_repository.get(key, 0) for of_repository in counts.values())
        if files:
            tail = by_name if key in {"binary", "too-large"} else ""
            where = [name for name, of_repository in counts.items() if of_repository.get(key)]
            title = f"{amount(files)} {noun if files != 1 else noun.replace('files', 'file')}"
            message = f"Files that {why}{tail}: {files:,}, in\n{names(where)}"
            if key == "missing" and missing:
                named = [f"{name}: {text}" for name in sorted(missing) for text in missing[name]][:files]
                title += f": {', '.join(_short(text) for text in named[:_MOST_IN_TITLE])}"
                title += f" and {amount(files - _MOST_IN_TITLE)} more" if files > _MOST_IN_TITLE else ""
                message += "\nAmong them:\n" + "\n".join(f"- `{text}`" for text in named[:_MOST_LISTED])
            yield Skipped(reason=reason, title=title, message=message, severity=severity)


def _short(text: str) -> str:
    """A name in a title: its end tells more than its beginning."""
    return text if len(text) <= _LONGEST_IN_TITLE else f"\u2026{text[1 - _LONGEST_IN_TITLE :]}"
