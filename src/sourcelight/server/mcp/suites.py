"""The tools of each endpoint and of the program, and their list as clients get it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from sourcelight.core.answer_size import DEFAULT_MAX_TOKENS
from sourcelight.core.errors import ConfigurationError
from sourcelight.core.tools.catalog import TOOLS, is_conversation, mcp_tools
from sourcelight.core.tools.tool import ROWS_SCHEMA, Tool, with_page_arguments
from sourcelight.server.mcp.addresses import ENDPOINTS, McpOptions

_OLD_PREFIX = "sg_"

SIZE_HINT = "anthropic/maxResultSizeChars"
"""Key of ``_meta`` with the most characters of an answer. The client that knows it puts longer ones into a file."""

_WITHOUT_HINT = 50_000
"""Characters that this client accepts without a hint, so that a hint for less isn't needed."""

_MAX_HINT = 500_000
"""Largest number that this client accepts."""

_CHARACTERS_OF_TOKEN = 6
"""More than code and prose have, which is 3 to 5 by our estimate of tokens."""


def suite_tools(suite: str, options: McpOptions) -> dict[str, Tool[Any]]:
    """Return the tools of a suite by canonical name."""
    excluded = set(options.disabled_tools)
    if options.without_deepsearch and suite in {"default", "v1"}:
        excluded.add("deepsearch")

    tools = mcp_tools("all" if suite == "all" else "default")
    if suite == "deepsearch":
        tools = {name: tool for name, tool in tools.items() if is_conversation(name)}

    return {name: tool for name, tool in tools.items() if name not in excluded}


def offers_pages(suite: str, options: McpOptions) -> bool:
    """Return whether the tools of a suite name the arguments of pages."""
    # A truncated answer helps only a caller that can ask for the next page.
    return suite == "all" or options.max_tokens is not None


def suite_tool_list(suite: str, options: McpOptions) -> bytes:
    """Return the result of ``tools/list`` at the endpoint of a suite as JSON."""
    tools = list_tools(
        suite_tools(suite, options),
        offers_pages=offers_pages(suite, options),
        with_structure=options.with_structure,
        max_tokens=options.max_tokens,
    )
    return orjson.dumps(tools)


@dataclass(frozen=True, slots=True)
class StdioOptions:
    """The tools for a client that starts the program.

    Parameters
    ----------
    tools
        ``default`` for the tools of the specification, ``all``, or names of tools.
    max_tokens
        Tokens of an answer for which a call gives no number; None: as many as it has.
    with_structure
        Whether answers have structured content beside their text. Clients that read both pay for both.
    """

    tools: tuple[str, ...] = ("all",)
    max_tokens: int | None = DEFAULT_MAX_TOKENS
    with_structure: bool = False


def named_tools(names: Sequence[str]) -> dict[str, Tool[Any]]:
    """Return the tools of suites and names, in the order of the catalog.

    Raises
    ------
    ConfigurationError
        For a name that is neither a suite nor a tool.
    """
    available = mcp_tools("all")
    selected: set[str] = set()
    for name in names:
        if name == "all":
            selected.update(available)
        elif name == "default":
            selected.update(mcp_tools("default"))
        elif name in available:
            selected.add(name)
        else:
            raise ConfigurationError(f"unknown tool {name!r}; available: default, all, {', '.join(available)}")

    return {name: tool for name, tool in available.items() if name in selected}


def find_tool(tools: Mapping[str, Tool[Any]], name: str) -> Tool[Any] | None:
    """Return the tool of a name; the prefix ``sg_`` of early 2026 is ignored."""
    return tools.get(name) or tools.get(name.removeprefix(_OLD_PREFIX))


def is_quick_tool(name: str) -> bool:
    """Return whether a tool is so quick that its caller needs no progress."""
    tool = TOOLS.get(name.removeprefix(_OLD_PREFIX))
    return tool is not None and tool.immediate


def advertised_schemas(tools: Mapping[str, Tool[Any]], *, offers_pages: bool) -> dict[str, Mapping[str, Any]]:
    """Return the JSON Schema of each tool's arguments, optionally with the arguments of pages."""
    return {
        name: with_page_arguments(tool.advertised_schema) if offers_pages else tool.advertised_schema
        for name, tool in tools.items()
    }


def list_tools(
    tools: Mapping[str, Tool[Any]], *, offers_pages: bool, with_structure: bool, max_tokens: int | None
) -> dict[str, Any]:
    """Return the result of ``tools/list``.

    Parameters
    ----------
    tools
        Tools by name.
    offers_pages
        Whether schemas name the arguments of pages.
    with_structure
        Whether answers have structured content. If so, tools that return a table advertise its schema.
    max_tokens
        Tokens of an answer for which a call gives no number; None: as many as it has.
    """
    schemas = advertised_schemas(tools, offers_pages=offers_pages)
    size = _MAX_HINT
    if max_tokens is not None:
        size = min(_MAX_HINT, _CHARACTERS_OF_TOKEN * max_tokens)

    entries = []
    for name, tool in tools.items():
        entry = _entry(tool, schemas[name], with_structure=with_structure)
        if size > _WITHOUT_HINT:
            entry["_meta"] = {SIZE_HINT: size}
        entries.append(entry)

    return {"tools": entries}


def stdio_tool_list(options: StdioOptions) -> bytes:
    """Return the result of ``tools/list`` over standard input and output as JSON without line breaks."""
    return orjson.dumps(
        list_tools(
            named_tools(options.tools),
            offers_pages=True,
            with_structure=options.with_structure,
            max_tokens=options.max_tokens,
        )
    )


def default_tool_list() -> str:
    """Return the text of `handshake.LIST_FILE`: the list for the default options, one tool a line."""
    entries = orjson.loads(stdio_tool_list(StdioOptions()))["tools"]
    return '{"tools":[\n' + ",\n".join(orjson.dumps(entry).decode() for entry in entries) + "\n]}\n"


def default_suite_lists() -> str:
    """Return the text of `addresses.LISTS_FILE`: the lists for the default options by suite, one tool a line."""
    texts = []
    for suite in ENDPOINTS.values():
        tools = orjson.loads(suite_tool_list(suite, McpOptions()))["tools"]
        entries = ",\n".join(orjson.dumps(entry).decode() for entry in tools)
        texts.append(f'"{suite}":{{"tools":[\n{entries}\n]}}')
    return "{" + ",\n".join(texts) + "}\n"


def _entry(tool: Tool[Any], schema: Mapping[str, Any], *, with_structure: bool) -> dict[str, Any]:
    """Return a tool as the list has it."""
    text = tool.mcp
    assert text is not None  # noqa: S101 - narrows for the type checker
    entry: dict[str, Any] = {
        "name": tool.name,
        "title": text.title,
        "description": text.description,
        "inputSchema": dict(schema),
    }
    if with_structure and text.suite == "all":
        entry["outputSchema"] = ROWS_SCHEMA

    # The protocol gives this hint a meaning only for a tool that changes something.
    annotations = {"readOnlyHint": text.read_only}
    if not text.read_only:
        annotations["destructiveHint"] = False

    annotations["openWorldHint"] = False
    entry["annotations"] = annotations
    return entry
