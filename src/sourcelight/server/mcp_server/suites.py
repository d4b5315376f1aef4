"""Which tools each endpoint has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.tools import Tool

PREFIX = "/.api/mcp"
#: Endpoint to the name of its suite.
ENDPOINTS: Mapping[str, str] = {
    PREFIX: "default",
    f"{PREFIX}/v1": "v1",
    f"{PREFIX}/all": "all",
    f"{PREFIX}/deepsearch": "deepsearch",
}
_DEEPSEARCH = ("deepsearch", "deepsearch_read")
_QUICK = frozenset({"read_file", "list_files", "list_repos"})
_OLD_PREFIX = "sg_"


@dataclass(frozen=True, slots=True)
class McpOptions:
    """What an operator can choose of the endpoints.

    Parameters
    ----------
    enabled
        Whether there are any.
    disabled_tools
        Canonical names of tools that no endpoint has.
    without_deepsearch
        Whether `deepsearch` is absent from the default and the v1 endpoint; the others keep it.
    external_url
        Address at which readers reach the service, without a final ``/``; empty: that of each request.
    timeout_s
        Longest time that a call may take.
    calls
        Calls that work at the same time; others wait for their turn.
    """

    enabled: bool = True
    disabled_tools: frozenset[str] = frozenset()
    without_deepsearch: bool = False
    external_url: str = ""
    timeout_s: float = 60.0
    calls: int = 16


def suite_tools(suite: str, options: McpOptions) -> dict[str, Tool]:
    """The tools of a suite by canonical name."""
    from sourcelight.engines.tools import TOOLS

    return {
        name: tool
        for name, tool in TOOLS.items()
        if name not in options.disabled_tools
        and (suite != "deepsearch" or name in _DEEPSEARCH)
        and not (name == "deepsearch" and options.without_deepsearch and suite in {"default", "v1"})
    }


def find_tool(tools: Mapping[str, Tool], name: str) -> Tool | None:
    """The tool of a name; the names of early 2026, with ``sg_`` in front, mean the same."""
    return tools.get(name) or tools.get(name.removeprefix(_OLD_PREFIX))


def is_quick_tool(name: str) -> bool:
    """Whether a tool answers so soon that its caller needs no signs of life meanwhile."""
    return name.removeprefix(_OLD_PREFIX) in _QUICK
