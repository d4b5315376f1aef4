"""Shared parts of engines: handlers of tools, the limits of a search, and the notices about limits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.tool import Arguments, Tool
from sourcelight.core.wire.events import QuerySuggestion, Skipped

DEFAULT_MATCH_LIMIT = 10_000
"""Matches after which the streaming endpoint stops a search without ``count:`` (wire reference 5.2)."""


A_contra = TypeVar("A_contra", bound=Arguments, contravariant=True)


class ToolHandler(Protocol[A_contra]):
    """The handler of a tool: `sourcelight.engines.tools.Handler`."""

    @property
    def tool(self) -> Tool[Any]:
        """Definition of the tool."""

    @property
    def run(self) -> Callable[[A_contra, Any], ToolResult]:
        """Makes the answer."""


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
        """Return seconds that a search may take; None for no limit.

        A search with ``count:`` and without ``timeout:`` has the maximum (query-language reference, limits and time).
        """
        if asked_s is None:
            asked_s = self.max_timeout_s if has_count or self.default_timeout_s is None else self.default_timeout_s
        if asked_s is None or self.max_timeout_s is None:
            return asked_s
        return min(asked_s, self.max_timeout_s)


def amount(n: int) -> str:
    """Return a count as the wire's titles print it: plain below 1,000, with a comma below 10,000, else in thousands."""
    return f"{n:,}" if n < 10_000 else f"{n // 1000}k"


def names(items: Collection[str], limit: int = 10) -> str:
    """Return up to `limit` items as a Markdown list, then dots."""
    lines = [f"- `{item}`" for item in sorted(items)[:limit]]
    return "\n".join(lines + (["- ..."] if len(items) > limit else []))


def timed_out(repositories: list[str], limit_s: float | None, unsent: Collection[str] = ()) -> Skipped:
    """Report repositories that were not searched wholly in time; of `unsent`, some matches were not written."""
    after = f" within {limit_s:g} s" if limit_s is not None else ""
    unwritten = f"\nThese have matches that the time limit left out:\n{names(sorted(unsent))}"
    return Skipped(
        reason="shard-timeout",
        title=f"{amount(len(repositories))} timed out",
        message=f"These repositories were not searched completely{after}:\n{names(repositories)}"
        + (unwritten if unsent else ""),
        severity="warn",
        suggested=QuerySuggestion(title="increase timeout", query_expression=f"timeout:{longer_timeout(limit_s)}"),
    )


def longer_timeout(limit_s: float | None) -> str:
    """Return about twice `limit_s`, at least two seconds, as a ``timeout:`` value."""
    return f"{max(2, round(2 * (limit_s or 10)))}s"


def left_out(forks: list[str], archived: list[str]) -> Iterator[Skipped]:
    """Yield the repositories that a search leaves out by default: forks and archived repositories."""
    if forks:
        yield _forks_left_out(forks)
    if archived:
        yield _archived_left_out(archived)


def _forks_left_out(repositories: list[str]) -> Skipped:
    """Report forks that the query did not ask for."""
    return Skipped(
        reason="repository-fork",
        title=f"{amount(len(repositories))} forked",
        message=f"Forks are left out unless requested:\n{names(repositories)}",
        suggested=QuerySuggestion(title="include forked", query_expression="fork:yes"),
    )


def _archived_left_out(repositories: list[str]) -> Skipped:
    """Report archived repositories that the query did not ask for."""
    return Skipped(
        reason="excluded-archive",
        title=f"{amount(len(repositories))} archived",
        message=f"Archived repositories are left out unless requested:\n{names(repositories)}",
        suggested=QuerySuggestion(title="include archived", query_expression="archived:yes"),
    )
