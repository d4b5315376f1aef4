"""Everything that a tool with a limit and dates finds: page after page, each older than the one before it.

Tools that search commits give the newest first, some dozens at a time, and take ``before``. A page that was cut is
followed by one that ends a second after its oldest commit, so that commits of the same second are seen twice rather
than never; they are told apart by their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from sourcelight.backends.remote.mcp.files import all_names
from sourcelight.backends.remote.mcp.payloads import bounds, is_cut, notices, taken
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.errors import ProtocolError

_MOST_PAGES = 100_000
_DOCUMENTED = {"commit_search": 100, "diff_search": 50}  # most that services give at once
_USUAL_PAGES = frozenset({10, 20, 50, 100})  # sizes of pages of services that don't say whether they cut one
Entry = Mapping[str, Any]


@dataclass(slots=True)
class DatedPages:
    """Entries in the order of the service, each once, and whether they are all."""

    entries: list[Entry] = field(default_factory=list)
    complete: bool = True
    notices: dict[str, None] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


def instant(text: Any) -> datetime | None:
    """A moment of RFC 3339; None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


async def everything(asked: ToolRequest, key: str, dated_by: Callable[[Entry], datetime | None]) -> DatedPages:
    """All entries of a tool that gives commits, or as many as the caller wants.

    Parameters
    ----------
    asked
        The call; its ``limit`` or ``count``, if any, is how many entries are wanted.
    key
        Where the entries are in a payload.
    dated_by
        Moment by which ``before`` compares an entry.
    """
    schema = await asked.schema()
    size = taken(schema, "limit")
    arguments = {name: value for name, value in asked.arguments.items() if name not in {"limit", "count"}}
    wanted = asked.arguments.get("limit", asked.arguments.get("count"))
    repos = arguments.get("repos")
    if isinstance(repos, list | tuple) and not repos:  # all of them
        repos = await all_names(asked)
    found = DatedPages()
    # Repositories one by one: pages are longer in time, and progress has a total.
    series = [[repo] for repo in repos] if isinstance(repos, list | tuple) and wanted is None else [repos]
    for done, repo in enumerate(series):
        asked.tell("reading history", done, len(series) if len(series) > 1 else 0, f"{len(found.entries):,} found")
        given = {**arguments, **({} if repo is None else {"repos": repo})}
        most = (bounds(schema, size)[1] or _DOCUMENTED.get(asked.name)) if size else None
        await _one_series(asked, key, dated_by, given, found, wanted, size, most)
    return found


async def _one_series(
    asked: ToolRequest,
    key: str,
    dated_by: Callable[[Entry], datetime | None],
    given: dict[str, Any],
    found: DatedPages,
    wanted: int | None,
    size: str | None,
    most: int | None,
) -> None:
    seen: set[tuple[str, str]] = set()
    begun = len(found.entries)
    for _ in range(_MOST_PAGES):
        room = most if wanted is None else wanted - len(found.entries)
        page = {} if size is None or room is None else {size: min(room, most or room)}
        value = (await asked.ask({**given, **page})).read((key,))
        if isinstance(value, str):
            if value.strip() and not value.startswith("No results"):
                raise ProtocolError(
                    f"the service answered {asked.name} with text that is not known to this version",
                    excerpt=value[:120],
                )
            return
        entries: list[Entry] = list(value.get(key) or ())
        found.facts = found.facts or value
        new = [entry for entry in entries if _name(entry) not in seen]
        seen.update(map(_name, new))
        found.entries += new
        asked.tell("reading history", 0, 0, f"{len(found.entries):,} found")
        cut = is_cut(value) if "limitHit" in value else len(entries) in {*page.values(), *_USUAL_PAGES}
        if not cut:
            found.notices.update(dict.fromkeys(notices(value)))
            return
        if wanted is not None and len(found.entries) - begun >= wanted:
            found.complete = False
            found.notices.update(dict.fromkeys(notices(value)))
            return
        before = _before(entries, dated_by, stuck=not new) if "before" in (await asked.schema())["properties"] else None
        if before is None:
            found.complete = False
            found.notices.update(dict.fromkeys(notices(value) or ("The service gives no more than these.",)))
            return
        if not new:
            found.complete = False
            found.notices["More commits of one second than the service gives at once: some of them are missing."] = None
        given["before"] = before


def _name(entry: Entry) -> tuple[str, str]:
    return str(entry.get("repo")), str(entry.get("oid"))


def _before(entries: list[Entry], dated_by: Callable[[Entry], datetime | None], *, stuck: bool) -> str | None:
    """Where the next page ends; None when that can't be told."""
    moments = [moment for moment in map(dated_by, entries) if moment is not None]
    if not moments or len(moments) < len(entries) or any(a < b for a, b in pairwise(moments)):
        return None
    oldest = moments[-1].astimezone(UTC)
    return (oldest if stuck else oldest + timedelta(seconds=1)).isoformat().replace("+00:00", "Z")
