"""Everything that a tool with a limit and dates finds: page after page, each older than the one before it.

Tools that search commits give the newest first, some dozens at a time, and take ``before``. A page that was cut is
followed by one that ends a second after its oldest commit, so that commits of the same second are seen twice rather
than never; they are distinguished by their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from sourcelight.backends.remote.mcp.arguments import accepted_name, limits_of
from sourcelight.backends.remote.mcp.files import all_names
from sourcelight.backends.remote.mcp.history.texts import parse_commits
from sourcelight.backends.remote.mcp.payloads import is_cut, means_empty, notices
from sourcelight.backends.remote.mcp.request import ToolRequest

_MAX_PAGES = 100_000
_DOCUMENTED = {"commit_search": 100, "diff_search": 50}  # most that services give at once
_USUAL_PAGES = frozenset({10, 20, 50, 100})  # sizes of pages of services that don't say whether they cut one
_ID_DIGITS = 40
Entry = Mapping[str, Any]


class UnparsedText(Exception):
    """Raised for a text in an unknown form; `text` is all of it."""

    def __init__(self, text: str) -> None:
        super().__init__("a text in an unknown form")
        self.text = text


@dataclass(slots=True)
class DatedPages:
    """Distinct entries in the order of the service, and whether they are complete."""

    entries: list[Entry] = field(default_factory=list)
    complete: bool = True
    notices: dict[str, None] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)


def instant(text: Any) -> datetime | None:
    """Parse a moment of RFC 3339; return None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


async def read_pages(request: ToolRequest, key: str, dated_by: Callable[[Entry], datetime | None]) -> DatedPages:
    """Read all entries of a tool that returns commits, or as many as the caller wants.

    Parameters
    ----------
    request
        The request; its ``limit`` or ``count``, if any, is the number of entries.
    key
        Key of the entries in a payload.
    dated_by
        Returns the moment that ``before`` compares.
    """
    schema = await request.schema()
    size = accepted_name(schema, "limit")
    base_arguments = {name: value for name, value in request.arguments.items() if name not in {"limit", "count"}}
    limit = request.arguments.get("limit", request.arguments.get("count"))
    repos = base_arguments.get("repos")
    if isinstance(repos, list | tuple) and not repos:  # all of them
        repos = await all_names(request)

    pages = DatedPages()
    # One repository at a time: each page covers a longer period, and progress has a total.
    series = [[repo] for repo in repos] if isinstance(repos, list | tuple) and limit is None else [repos]
    for done, repo in enumerate(series):
        request.report("reading history", done, len(series) if len(series) > 1 else 0, f"{len(pages.entries):,} found")
        arguments = {**base_arguments, **({} if repo is None else {"repos": repo})}
        page_limit = (limits_of(schema, size)[1] or _DOCUMENTED.get(request.name)) if size else None
        await _read_series(request, key, dated_by, arguments, pages, limit, size, page_limit)

    return pages


async def _read_series(
    request: ToolRequest,
    key: str,
    dated_by: Callable[[Entry], datetime | None],
    arguments: dict[str, Any],
    pages: DatedPages,
    limit: int | None,
    size: str | None,
    page_limit: int | None,
) -> None:
    seen: set[tuple[str, str]] = set()
    start_count = len(pages.entries)
    for _ in range(_MAX_PAGES):
        remaining = page_limit if limit is None else limit - len(pages.entries)
        page = {} if size is None or remaining is None else {size: min(remaining, page_limit or remaining)}
        value = (await request.ask({**arguments, **page})).read((key,))
        if isinstance(value, str):
            if means_empty(value):
                return
            value = _to_payload(value, key, arguments, pages)

        entries: list[Entry] = list(value.get(key) or ())
        pages.info = pages.info or value

        # Pages are cut by time, so they overlap in the commits of one second.
        new = [entry for entry in entries if _name(entry) not in seen]
        seen.update(map(_name, new))
        pages.entries += new
        request.report("reading history", 0, 0, f"{len(pages.entries):,} found")
        is_truncated = is_cut(value) if "limitHit" in value else len(entries) in {*page.values(), *_USUAL_PAGES}
        if not is_truncated:
            pages.notices.update(dict.fromkeys(notices(value)))
            return

        if limit is not None and len(pages.entries) - start_count >= limit:
            pages.complete = False
            pages.notices.update(dict.fromkeys(notices(value)))
            return

        if "before" in (await request.schema())["properties"]:
            before = _before(entries, dated_by, stuck=not new)
        else:
            before = None
        if before is None:
            pages.complete = False
            pages.notices.update(dict.fromkeys(notices(value) or ("The service returns no more than these.",)))
            return

        if not new:
            pages.complete = False
            pages.notices["One second has more commits than a page of the service: some are missing."] = None

        arguments["before"] = before


def _to_payload(text: str, key: str, arguments: Mapping[str, Any], pages: DatedPages) -> Entry:
    """Return a text as a typed payload.

    Raises
    ------
    UnparsedText
        When it has a form that isn't known.
    """
    repos = arguments.get("repos") or ()
    names = [repos] if isinstance(repos, str) else [str(name) for name in repos]
    repository = names[0] if len(names) == 1 else ""
    commits = parse_commits(text, repository)
    if commits is None or any(not entry["repo"] for entry in commits.entries):
        raise UnparsedText(text)

    if any(len(str(entry["oid"])) < _ID_DIGITS for entry in commits.entries):
        pages.notices["The service abbreviates the ids of commits."] = None

    for entry in commits.entries:
        entry["isFromText"] = True

    truncation: Entry = {"limitHit": True, "notice": " ".join(commits.notes)} if commits.notes else {}
    return {key: commits.entries, **truncation}


def _name(entry: Entry) -> tuple[str, str]:
    return str(entry.get("repo")), str(entry.get("oid"))


def _before(entries: list[Entry], dated_by: Callable[[Entry], datetime | None], *, stuck: bool) -> str | None:
    """Return the end of the next page, or None if the entries don't have it."""
    moments = [moment for moment in map(dated_by, entries) if moment is not None]
    if not moments or len(moments) < len(entries) or any(earlier < later for earlier, later in pairwise(moments)):
        return None
    oldest = moments[-1].astimezone(UTC)
    return (oldest if stuck else oldest + timedelta(seconds=1)).isoformat().replace("+00:00", "Z")
