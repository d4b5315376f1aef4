"""The sources of an answer: the commit of each repository, changes of its work tree, and contents it lacked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import SourcelightError
from sourcelight.core.markup.counts import count_of, join_names
from sourcelight.core.tools.tool import Scope, Tool, WireArguments
from sourcelight.engines.execution.advice.skipped_items import unreadable
from sourcelight.engines.search import Target
from sourcelight.engines.tools.context import ToolContext
from sourcelight.repos import WORKTREE, Repository, resolve, worktree_status

MAX_NAMED = 3
"""Repositories that a line of sources names."""

_SHORT_OID = 12
"""Digits of a commit in a text."""

_PLACES = ("repository", "commit")
"""Columns that name a source."""

# Tables whose commits are origins of lines, not sources of the answer.
_OF_HISTORY = frozenset({"commits", "diff_lines", "text_history", "blame_lines", "refs", "last_changes"})

_READERS = frozenset({"read_file", "list_files"})
"""Tools that read files of a work tree and report missing contents themselves."""

_MAX_NAMED = 3
"""Files that a notice names."""

_MAX_SOURCES = 20
"""Sources in a payload."""


@dataclass(frozen=True, slots=True)
class ReadSource:
    """A repository that an answer was read from.

    Attributes
    ----------
    repository
        Its name.
    commit
        The commit, 40 hex digits; of a work tree, the checked-out commit.
    changed_files
        Files of the work tree that differ from that commit and were read as they are on disk; None: the commit alone
        was read.
    """

    repository: str
    commit: str
    changed_files: int | None = None

    def to_payload(self) -> dict[str, Any]:
        """Return it as structured content has it."""
        changed = {} if self.changed_files is None else {"changedFiles": self.changed_files}
        return {"repo": self.repository, "commit": self.commit, **changed}

    def __str__(self) -> str:
        name = f"{self.repository}@{self.commit[:_SHORT_OID] or 'no commit'}"
        if not self.changed_files:
            return name
        return f"{name} and {count_of(self.changed_files, 'file')} of its work tree that differ"


def sources_of(result: ToolResult, context: ToolContext) -> list[ReadSource]:
    """Return the commits that an answer was read from, in the order of its rows; empty without a repository."""
    visible = {repository.name: repository for repository in context.engine.catalog.visible(context.viewer)}
    sources: dict[tuple[str, str], ReadSource] = {}
    for name, commit in _repositories_read(result):
        repository = visible.get(name)
        if repository is not None:
            with suppress(SourcelightError, OSError):
                source = _source(repository, commit, context)
                sources.setdefault((source.repository, source.commit), source)

    return list(sources.values())


def _repositories_read(result: ToolResult) -> Iterable[tuple[str, str]]:
    """Yield names of repositories with the commit that was read; empty: the default commit of searches."""
    attributes: Mapping[str, Any] = result.attributes
    columns = set(result.table.schema.names)
    if attributes.get("repository"):
        for commit in (
            (attributes.get("base"), attributes.get("head")) if "base" in attributes else (attributes.get("commit"),)
        ):
            yield str(attributes["repository"]), str(commit or "")
        return

    commits = attributes.get("commits")
    if isinstance(commits, Mapping):
        for name, oids in commits.items():
            yield from ((str(name), str(oid)) for oid in oids)
        return

    if "repository" in columns:
        names = _PLACES if "commit" in columns and result.columns not in _OF_HISTORY else _PLACES[:1]
        table = result.table.select(list(names)).group_by(list(names), use_threads=False).aggregate([])
        rows = [row for row in table.to_pylist() if row["repository"]]
        for row in rows:
            yield row["repository"], row.get("commit") or ""
        if rows:
            return

    yield from ((str(name), "") for name in attributes.get("repositories") or ())


def _source(repository: Repository, commit: str, context: ToolContext) -> ReadSource:
    if not context.engine.holds_files:
        return ReadSource(repository.name, commit or repository.info.commit)

    target = context.local.target_of(repository)
    if target.revision != WORKTREE or commit not in {"", target.commit}:
        return ReadSource(repository.name, commit or target.commit)

    status = worktree_status(repository, refresh=True)
    changed = status.modified + status.untracked + status.deleted
    return ReadSource(repository.name, repository.info.commit, changed)


def with_sources(rendered: tuple[dict[str, Any], str], sources: Sequence[ReadSource]) -> tuple[dict[str, Any], str]:
    """Add to an answer the commits that it was read from."""
    if not sources:
        return rendered

    payload, text = rendered
    payload = {**payload, "sources": [source.to_payload() for source in sources[:_MAX_SOURCES]]}

    # The first line of a file or a definition has the whole commit.
    if len(sources) == 1 and not sources[0].changed_files and sources[0].commit in text.partition("\n")[0]:
        return payload, text

    extra = f" and {count_of(len(sources) - MAX_NAMED, 'more repository')}" if len(sources) > MAX_NAMED else ""
    line = f"(Read from {'; '.join(map(str, sources[:MAX_NAMED]))}{extra}.)"
    return payload, f"{text.rstrip(chr(10))}\n\n{line}\n"


def missing_contents(
    tool: Tool[Any], result: ToolResult, arguments: WireArguments, context: ToolContext
) -> Iterator[str]:
    """Describe contents that could not be read for an answer, one sentence per repository.

    Looks at the index of this machine; workers of a cluster report theirs.
    """
    over_all = tool.scope in {Scope.CATALOG, Scope.RANKING} and "repo:" not in str(arguments.get("query", ""))
    if over_all and context.viewer.sees_private:
        for item in unreadable(context.engine.catalog.skipped):
            if item.severity == "warn":
                yield " ".join(item.message.split())

    if not (tool.reads or tool.name in _READERS) or not context.engine.holds_files:
        return

    concerned = None if over_all else _repositories_of(result, arguments)
    path = str(arguments.get("path") or "") if tool.reads == "path" else ""
    for repository in context.engine.catalog.visible(context.viewer):
        if concerned is None or repository.name in concerned:
            missing = _missing(repository, arguments, context) if tool.reads else ()
            paths = [text for text in missing if _within(text, path)]
            if paths:
                files = count_of(len(paths), "file")
                yield (
                    f"{repository.name}: the content of {files} is not in this clone and was not read: "
                    f"{join_names(paths, _MAX_NAMED)}."
                )
            if not arguments.get("revision") and context.local.unread_worktrees([repository], context.viewer):
                yield f"{repository.name}: its work tree can't be compared with HEAD, so HEAD was read."


def _repositories_of(result: ToolResult, arguments: WireArguments) -> set[str]:
    """Return the repositories that a call names, and the repositories of its rows."""
    names = {str(name).strip("/") for name in (arguments.get("repo") or "", *(arguments.get("repos") or ()))}
    if "repository" in result.table.schema.names:
        names.update(result.table.column("repository").unique().to_pylist())
    return names


def _missing(repository: Repository, arguments: WireArguments, context: ToolContext) -> tuple[str, ...]:
    engine, revision = context.local, arguments.get("revision")
    try:
        target = engine.target_of(repository)
        if revision and arguments.get("repo") == repository.name:
            target = Target(repository, str(revision), resolve(repository, str(revision)))
        return engine.store.open(target)[0].missing_files
    except (SourcelightError, OSError):
        return ()  # not indexed: the call itself reports it


def _within(text: str, path: str) -> bool:
    return not path or text.startswith((f"{path} (", f"{path.rstrip('/')}/"))
