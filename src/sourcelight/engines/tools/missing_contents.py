"""Notices of tools that read files: contents that a clone does not have, by path and blob."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import SourcelightError
from sourcelight.core.markup.counts import count_of, list_names
from sourcelight.core.tools.tool import Scope, Tool, WireArguments
from sourcelight.engines.execution.notices import unreadable
from sourcelight.engines.search import Target
from sourcelight.engines.tools.context import ToolContext
from sourcelight.repos import Repository, resolve

_MAX_NAMED = 3


def missing_contents(
    tool: Tool[Any], result: ToolResult, arguments: WireArguments, context: ToolContext
) -> Iterator[str]:
    """Describe contents that could not be read for an answer, one sentence per repository.

    Looks at the index of this machine; the workers of a cluster say it of theirs.
    """
    over_all = tool.scope in {Scope.CATALOG, Scope.RANKING} and "repo:" not in str(arguments.get("query", ""))
    if over_all and context.viewer.sees_private:
        for item in unreadable(context.engine.catalog.skipped):
            if item.severity == "warn":
                yield " ".join(item.message.split())
    if not tool.reads or not context.engine.holds_files:
        return
    concerned = None if over_all else _repositories_of(result, arguments)
    path = str(arguments.get("path") or "") if tool.reads == "path" else ""
    for repository in context.engine.catalog.visible(context.viewer):
        if concerned is None or repository.name in concerned:
            paths = [text for text in _missing(repository, arguments, context) if _within(text, path)]
            if paths:
                files = count_of(len(paths), "file")
                yield (
                    f"{repository.name}: the content of {files} is not in this clone and was not read: "
                    f"{list_names(paths, _MAX_NAMED)}."
                )


def _repositories_of(result: ToolResult, arguments: WireArguments) -> set[str]:
    """The repositories that a call names, and those of its rows."""
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
        return ()  # not indexed: the call itself says what it could not read


def _within(text: str, path: str) -> bool:
    return not path or text.startswith((f"{path} (", f"{path.rstrip('/')}/"))
