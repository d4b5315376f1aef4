"""Shared parts of the engines of one machine and of a cluster: handlers, limits, and the items about limits.

`run` applies the limits to a search and yields the items; `advice` has the other notices.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sourcelight.core.wire.events import QuerySuggestion, Skipped

if TYPE_CHECKING:
    from sourcelight.core.batches.results import ToolResult
    from sourcelight.core.tools.tool import Arguments, Tool

DEFAULT_MATCH_LIMIT = 10_000
"""Matches after which the streaming endpoint stops a search without ``count:`` (wire reference 5.2)."""


A_contra = TypeVar("A_contra", bound="Arguments", contravariant=True)


class ToolHandler(Protocol[A_contra]):
    """The handler of a tool: `sourcelight.engines.tools.Handler`."""

    @property
    def tool(self) -> Tool[Any]:
        """Definition of the tool."""

    @property
    def run(self) -> Callable[[A_contra, Any], ToolResult]:
        """The function that answers a call of the tool."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of every search of an engine.

    Parameters
    ----------
    matches
        Matches after which a search without ``count:`` stops; the streaming endpoint of the service has 10,000.
    default_timeout_s
        Seconds for a search with neither ``timeout:`` nor ``count:``; None: as `max_timeout_s`.
    max_timeout_s
        Seconds no search may exceed, a larger ``timeout:`` included; None: no limit (the embedded backend).
    """

    matches: int = DEFAULT_MATCH_LIMIT
    default_timeout_s: float | None = None
    max_timeout_s: float | None = None

    def timeout_s(self, asked_s: float | None, *, has_count: bool) -> float | None:
        """Return seconds that a search may take, or None for no limit.

        A search with ``count:`` and without ``timeout:`` has the maximum (query-language reference, limits and time).
        """
        if asked_s is None and not has_count:
            asked_s = self.default_timeout_s

        if asked_s is None:
            return self.max_timeout_s
        if self.max_timeout_s is None:
            return asked_s
        return min(asked_s, self.max_timeout_s)


def format_count(n: int) -> str:
    """Return a count as the wire's titles print it: plain below 1,000, with a comma below 10,000, else in thousands."""
    return f"{n:,}" if n < 10_000 else f"{n // 1000}k"


def markdown_list(items: Collection[str], limit: int = 10) -> str:
    """Return up to `limit` items as a Markdown list, then dots."""
    lines = [f"- `{item}`" for item in sorted(items)[:limit]]
    if len(items) > limit:
        lines.append("- ...")
    return "\n".join(lines)


def timeout_item(repositories: list[str], limit_s: float | None, unsent: Collection[str] = ()) -> Skipped:
    """Report repositories that were not searched completely in time; some matches of `unsent` were not written."""
    limit = f" within {limit_s:g} s" if limit_s is not None else ""
    message = f"These repositories were not searched completely{limit}:\n{markdown_list(repositories)}"
    if unsent:
        message += f"\nThese have matches that the time limit left out:\n{markdown_list(unsent)}"

    return Skipped(
        reason="shard-timeout",
        title=f"{format_count(len(repositories))} timed out",
        message=message,
        severity="warn",
        suggested=QuerySuggestion(title="increase timeout", query_expression=f"timeout:{longer_timeout(limit_s)}"),
    )


def longer_timeout(limit_s: float | None) -> str:
    """Return about twice `limit_s`, at least two seconds, as a ``timeout:`` value."""
    return f"{max(2, round(2 * (limit_s or 10)))}s"


def excluded_items(forks: list[str], archived: list[str]) -> Iterator[Skipped]:
    """Yield the repositories that a search leaves out by default: forks and archived repositories."""
    if forks:
        yield _excluded_forks(forks)
    if archived:
        yield _excluded_archives(archived)


def _excluded_forks(repositories: list[str]) -> Skipped:
    """Report forks that the query did not ask for."""
    return Skipped(
        reason="repository-fork",
        title=f"{format_count(len(repositories))} forked",
        message=f"Forks are left out unless requested:\n{markdown_list(repositories)}",
        suggested=QuerySuggestion(title="include forked", query_expression="fork:yes"),
    )


def _excluded_archives(repositories: list[str]) -> Skipped:
    """Report archived repositories that the query did not ask for."""
    return Skipped(
        reason="excluded-archive",
        title=f"{format_count(len(repositories))} archived",
        message=f"Archived repositories are left out unless requested:\n{markdown_list(repositories)}",
        suggested=QuerySuggestion(title="include archived", query_expression="archived:yes"),
    )
