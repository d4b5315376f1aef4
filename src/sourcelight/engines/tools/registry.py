"""The handlers of all tools, and the functions that call them.

Modules with handlers load with the first call of a tool of their domain. `answer` checks the arguments, waits for the
first indexing where the tool needs it, refreshes the repositories, and adds notices about contents that the answer
lacks. `gather` gives the part of one worker, which a coordinator combines with others.
"""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.errors import ToolError, UnsupportedTool
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.catalog import find_tool
from sourcelight.core.tools.tool import Scope, Tool, WireArguments
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Rendered, Split
from sourcelight.engines.tools.pages.page import PageRequest, render_page
from sourcelight.engines.tools.sources import missing_contents

_HANDLERS: dict[str, Handler[Any]] = {}

_INDEXED = frozenset({Scope.SYMBOL, Scope.ACROSS})
"""Scopes whose tools follow names through files, and so need the index. Searches report missing indexes themselves."""

_INDEXING = "the repositories are being indexed for the first time; retry in a moment"

_ALL_PAGES = PageRequest()


def call(name: str, arguments: WireArguments, context: ToolContext) -> ToolResult:
    """Check the arguments of a call, and return its result.

    Raises
    ------
    UnsupportedTool
        No tool has this name.
    ToolError
        An argument is invalid, or the requested answer is not possible.
    RepositoryError, QueryError
        A repository, revision, file or query in the arguments is invalid.
    Cancelled
        ``context.cancellation.cancel()`` was called.
    """
    return answer(find_tool(name), arguments, context)


def answer(tool: Tool[Any], arguments: WireArguments, context: ToolContext) -> ToolResult:
    """Check the arguments of a call, and return its result; raises like `call`."""
    arguments = tool.normalize(arguments)
    parsed = tool.parse(arguments)

    # Maxima protect a service from its callers. On their own machine, callers may ask for more.
    if context.served:
        tool.check_maximum(arguments)

    if tool.scope in _INDEXED:
        _await_indexing(tool, context)

    # After waiting, so that the call sees the current commits, not the commits at its arrival.
    context.engine.refresh(context.cancellation)
    result = context.engine.run_tool(handler_of(tool), parsed, context)
    missing = (*missing_contents(tool, result, arguments, context), *_replaced_objects(result, arguments, context))
    if missing:
        return replace(result, notices=(*result.notices, *missing), complete=False)
    return result


def render(tool: Tool[Any], result: ToolResult, context: ToolContext, page: PageRequest = _ALL_PAGES) -> Rendered:
    """Render an answer for MCP, or the part of it that `page` asks for.

    Raises
    ------
    UnsupportedTool
        The tool is for clients only.
    ToolError
        The cursor doesn't belong to this answer.
    """
    handler = handler_of(tool)
    if handler.render is None:
        raise UnsupportedTool(f"{tool.name} is not offered over MCP", tool=tool.name)
    make = handler.render
    return render_page(tool.name, result, handler.items, page, lambda part: make(part, context))


def gather(name: str, arguments: WireArguments, context: ToolContext) -> PartialResult:
    """Return the partial result of the local repositories; raises like `call`."""
    tool = find_tool(name)
    split = split_of(tool)
    if split is None:
        raise UnsupportedTool(f"{name} is answered in one piece", tool=name)

    arguments = tool.normalize(arguments)
    if context.served:
        tool.check_maximum(arguments)

    return split.gather(tool.parse(arguments), replace(context, parted=True))


def split_of(tool: Tool[Any]) -> Split[Any] | None:
    """Return the two steps of a tool that can run on parts of the repositories, or None for other tools."""
    run = handler_of(tool).run
    return run if isinstance(run, Split) else None


def handler_of(tool: Tool[Any]) -> Handler[Any]:
    """Return the handler of a tool; its module loads with the first call of a tool of its domain."""
    if tool.name not in _HANDLERS:
        for module in _modules(tool.domain):
            for handler in module.HANDLERS:
                register(handler)
    return _HANDLERS[tool.name]


def register(handler: Handler[Any]) -> None:
    """Register `handler` for the calls of its tool."""
    _HANDLERS[handler.tool.name] = handler


def _modules(domain: str) -> tuple[ModuleType, ...]:  # noqa: PLR0911 - one of each domain
    """Import the modules that handle the tools of ``sourcelight.core.tools.<domain>``."""
    # Each domain loads only when needed: a process that only searches never imports the engines of histories and
    # navigation.
    match domain:
        case "files":
            from sourcelight.engines.tools import files, repositories, search

            return files, repositories, search
        case "navigation":
            from sourcelight.engines.tools.navigation import analyses, references

            return references, analyses
        case "commits":
            from sourcelight.engines.tools.history import commits, last_changes
            from sourcelight.engines.tools.history.diffs import commit_details, comparison, diff_search
            from sourcelight.engines.tools.history.people import contributor_repos

            return commits, contributor_repos, diff_search, comparison, commit_details, last_changes
        case "blame":
            from sourcelight.engines.tools.history import blame
            from sourcelight.engines.tools.history.people import ownership

            return blame, ownership
        case "analyses":
            from sourcelight.engines.tools.evolution import commits_behind
            from sourcelight.engines.tools.history import changed_files, text_history
            from sourcelight.engines.tools.history.people import contributors, identities

            return contributors, text_history, changed_files, commits_behind, identities
        case "evolution":
            from sourcelight.engines.tools.evolution import api_changes, symbol_history
            from sourcelight.engines.tools.history import path_history

            return path_history, symbol_history, api_changes
        case "quality":
            from sourcelight.engines.tools.quality import complexity, complexity_trend, related_tests

            return complexity, complexity_trend, related_tests
        case "inspection":
            from sourcelight.engines.tools import inspection, verification
            from sourcelight.engines.tools.history import text_history

            return inspection, text_history, verification
        case "conversations":
            from sourcelight.engines.tools import conversations

            return (conversations,)

    raise UnsupportedTool(f"no module has handlers for the tools of {domain!r}")


def _await_indexing(tool: Tool[Any], context: ToolContext) -> None:
    """Wait for the first indexing, which tools that follow names through files need."""
    engine = context.engine
    for item in engine.indexing.wait(context.cancellation):
        if context.observer is not None:
            context.observer(ToolProgress(item.title, 0, 0))
    if engine.indexing.is_running:
        raise ToolError(f"{tool.name}: {_INDEXING}", tool=tool.name)


def _replaced_objects(result: ToolResult, arguments: WireArguments, context: ToolContext) -> list[str]:
    """Return notices for the repositories of a call with replaced objects: tools read the originals."""
    objects = {repository.name: repository.info.replaced_objects for repository in context.engine.catalog.repositories}
    objects = {name: count for name, count in objects.items() if count}
    if not objects:
        return []

    # A call that names no repository may still have rows of one.
    concerned = {name.strip("/") for name in (arguments.get("repo") or "", *(arguments.get("repos") or ()))}
    if "repository" in result.table.schema.names:
        concerned.update(result.table.column("repository").unique().to_pylist())

    return [
        f"{name}: refs/replace replaces {count_of(count, 'object')}; the originals are read."
        for name, count in sorted(objects.items())
        if name in concerned
    ]
