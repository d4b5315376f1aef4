"""All tools and analyses by name, and the one way to call them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import UnsupportedTool
from sourcelight.core.tools.tool import check_arguments
from sourcelight.engines.tools import (
    conversations,
    files,
    history_analyses,
    history_tools,
    navigation,
    navigation_analyses,
    search,
)
from sourcelight.engines.tools.context import Analysis, Arguments, Tool, ToolContext
from sourcelight.engines.tools.handler import PartialResult, SplitHandler
from sourcelight.engines.tools.missing_contents import missing_contents

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        *files.TOOLS,
        *search.TOOLS,
        *navigation.TOOLS,
        *history_tools.TOOLS,
        *conversations.TOOLS,
    )
}
ANALYSES: Mapping[str, Analysis] = {
    analysis.name: analysis
    for analysis in (*history_analyses.ANALYSES, *navigation_analyses.ANALYSES, *conversations.ANALYSES)
}


def call(name: str, arguments: Arguments, context: ToolContext) -> ToolResult:
    """Check the arguments and answer.

    Raises
    ------
    UnsupportedTool
        When there is no tool or analysis of that name.
    ToolError
        For arguments that can't be taken, or an answer that can't be given as asked.
    RepositoryError, QueryError
        For what the arguments name.
    Cancelled
        After ``context.cancellation.cancel()``.
    """
    return answer(named(name), arguments, context)


def named(name: str) -> Tool | Analysis:
    """The tool or analysis of a name; raises `UnsupportedTool`."""
    found: Tool | Analysis | None = TOOLS.get(name) or ANALYSES.get(name)
    if found is None:
        raise UnsupportedTool(
            f"there is no call {name!r}; there are {', '.join([*TOOLS, *ANALYSES])}",
            tool=name,
            accepted=(*TOOLS, *ANALYSES),
        )
    return found


def part_of(name: str, arguments: Arguments, context: ToolContext) -> PartialResult:
    """What the repositories that are here give for a call over more than these; raises what `call` raises."""
    steps = steps_of(named(name))
    if steps is None:
        raise UnsupportedTool(f"{name} is answered in one piece", tool=name)
    return steps.part(arguments, replace(context, parted=True))


def steps_of(tool: Tool | Analysis) -> SplitHandler | None:
    """The two steps of a call over many repositories; None for one that is answered in one piece."""
    steps: SplitHandler | None = None if tool.steps is None else tool.steps()
    return steps


def answer(tool: Tool | Analysis, arguments: Arguments, context: ToolContext) -> ToolResult:
    """Check the arguments and answer; raises what `call` raises."""
    check_arguments(tool.name, tool.input_schema, arguments)
    context.engine.refresh(context.cancellation)
    elsewhere = context.engine.delegate(tool.name, arguments, context)
    found = tool.run(arguments, context) if elsewhere is None else elsewhere
    lacks = (*missing_contents(tool.name, found, arguments, context), *_replaced(found, arguments, context))
    return replace(found, notices=(*found.notices, *lacks), complete=False) if lacks else found


def _replaced(found: ToolResult, arguments: Arguments, context: ToolContext) -> list[str]:
    """What to tell of repositories with replaced objects, which no call follows: those named, and those of rows."""
    objects = {r.name: r.facts.replaced_objects for r in context.engine.catalog.repositories}
    objects = {name: count for name, count in objects.items() if count}
    if not objects:
        return []
    concerned = {name.strip("/") for name in (arguments.get("repo") or "", *(arguments.get("repos") or ()))}
    if "repository" in found.table.schema.names:
        concerned.update(found.table.column("repository").unique().to_pylist())
    return [
        f"{name}: refs/replace gives {count:,} objects in the place of others, which is not followed."
        for name, count in sorted(objects.items())
        if name in concerned
    ]
