"""Everything that a tool with a limit and dates finds: page after page, each older than the one before it.

Tools that search commits give the newest first, some dozens at a time, and take ``before``. A page that was cut is
followed by one that ends a second after its oldest commit, so that commits of the same second are seen twice rather
than never; they are distinguished by their ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from itertools import pairwise
from typing import Any

from sourcelight.backends.remote.mcp.arguments import AcceptedArguments, texts_of
from sourcelight.backends.remote.mcp.files import all_names
from sourcelight.backends.remote.mcp.history.entries import Entry, UnparsedText, commit_date
from sourcelight.backends.remote.mcp.history.texts import parse_commits
from sourcelight.backends.remote.mcp.payloads import NO_MORE, is_cut, notices
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.backends.remote.mcp.text_forms import means_empty

_MAX_PAGES = 100_000
_DOCUMENTED = {"commit_search": 100, "diff_search": 50}  # most that services give at once
_USUAL_PAGES = frozenset({10, 20, 50, 100})  # sizes of pages of services that don't say whether they cut one
_ID_DIGITS = 40
_OVERLAP = timedelta(seconds=1)
"""The time that a page shares with the one before it: services compare dates in seconds."""


@dataclass(slots=True)
class DatedPages:
    """Distinct entries in the order of the service, and whether they are complete."""

    entries: list[Entry] = field(default_factory=list)
    complete: bool = True
    notices: list[str] = field(default_factory=list)
    info: Mapping[str, Any] = field(default_factory=dict)

    def add_notices(self, *notices: str) -> None:
        """Add notices, each once."""
        self.notices += [notice for notice in dict.fromkeys(notices) if notice not in self.notices]

    def add_gap(self, *notices: str) -> None:
        """Mark the pages as incomplete, for the reasons of the notices."""
        self.complete = False
        self.add_notices(*notices)


async def read_pages(request: ToolRequest, key: str) -> DatedPages:
    """Read all entries of a tool that returns commits, or as many as the caller wants.

    Parameters
    ----------
    request
        The request; its ``limit`` or ``count``, if any, is the number of entries.
    key
        Key of the entries in a payload.
    """
    arguments = {name: value for name, value in request.arguments.items() if name not in {"limit", "count"}}
    repos = arguments.get("repos")
    if isinstance(repos, list | tuple) and not repos:  # all of them
        repos = await all_names(request)

    reader = _PageReader(request, await request.accepted_arguments(), key)
    if not isinstance(repos, list | tuple) or reader.limit is not None:
        request.report("reading history", 0, 0, "0 found")
        if repos is not None:
            arguments["repos"] = repos
        await reader.read(arguments)
        return reader.pages

    # One repository at a time: each page covers a longer period, and progress has a total.
    total = len(repos) if len(repos) > 1 else 0
    for done, repo in enumerate(repos):
        request.report("reading history", done, total, f"{len(reader.pages.entries):,} found")
        await reader.read({**arguments, "repos": [repo]})

    return reader.pages


def scope_info(request: ToolRequest, pages: DatedPages) -> dict[str, Any]:
    """Return the scope of a request as the service read it, and the number of commits."""
    info = {
        "repositories": texts_of(request.arguments, "repos"),
        "total": len(pages.entries) if pages.complete else pages.info.get("totalCount"),
    }
    for name in ("after", "before"):
        if request.arguments.get(name) and name in pages.info:
            info[name] = pages.info[name]
    return info


class _PageReader:
    """Reads the entries of one series of pages after another into `pages`."""

    def __init__(self, request: ToolRequest, accepted: AcceptedArguments, key: str) -> None:
        self.limit: int | None = request.arguments.get("limit", request.arguments.get("count"))
        self.pages = DatedPages()
        self._request = request
        self._key = key
        self._size_name = accepted.name_of("limit")
        self._has_before = "before" in accepted
        self._max_page: int | None = None
        if self._size_name is not None:
            self._max_page = accepted.maximums.get(self._size_name) or _DOCUMENTED.get(request.name)

    async def read(self, arguments: Mapping[str, Any]) -> None:
        """Read a series of pages, from the newest to the oldest, or to the limit."""
        pages = self.pages
        arguments = dict(arguments)
        seen: set[tuple[str, str]] = set()
        for _ in range(_MAX_PAGES):
            page_size = self._page_size()
            size = {} if self._size_name is None or page_size is None else {self._size_name: page_size}
            value = (await self._request.ask({**arguments, **size})).read((self._key,))
            if isinstance(value, str):
                if means_empty(value):
                    return
                value = self._to_payload(value, arguments)

            entries: list[Entry] = list(value.get(self._key) or ())
            pages.info = pages.info or value

            # Pages are cut by time, so they overlap in the commits of one second.
            new = [entry for entry in entries if _name(entry) not in seen]
            seen.update(map(_name, new))
            pages.entries += new
            self._request.report("reading history", 0, 0, f"{len(pages.entries):,} found")

            is_truncated = is_cut(value) if "limitHit" in value else len(entries) in {page_size, *_USUAL_PAGES}
            if not is_truncated:
                pages.add_notices(*notices(value))
                return
            if self.limit is not None and len(pages.entries) >= self.limit:
                pages.add_gap(*notices(value))
                return

            before = self._next_before(entries, is_stuck=not new)
            if before is None:
                pages.add_gap(*(notices(value) or (NO_MORE,)))
                return
            if not new:
                pages.add_gap("One second has more commits than a page of the service: some are missing.")

            arguments["before"] = before

    def _page_size(self) -> int | None:
        """Return how many entries to ask for; None if the service takes no number, or may decide."""
        if self._size_name is None:
            return None
        if self.limit is None:
            return self._max_page
        remaining = self.limit - len(self.pages.entries)
        return min(remaining, self._max_page or remaining)

    def _next_before(self, entries: list[Entry], *, is_stuck: bool) -> str | None:
        """Return the end of the next page, or None if the service or the entries have no dates for it.

        Without new entries the reader `is_stuck` in one second, and skips the rest of it.
        """
        if not self._has_before or not entries:
            return None

        moments = []
        for entry in entries:
            moment = commit_date(entry)
            if moment is None:
                return None
            moments.append(moment)

        if any(earlier < later for earlier, later in pairwise(moments)):
            return None
        oldest = moments[-1].astimezone(UTC)
        end = oldest if is_stuck else oldest + _OVERLAP
        return end.isoformat().replace("+00:00", "Z")

    def _to_payload(self, text: str, arguments: Mapping[str, Any]) -> Entry:
        """Return a text as a typed payload.

        Raises
        ------
        UnparsedText
            When it has a form that isn't known.
        """
        names = texts_of(arguments, "repos")
        commits = parse_commits(text, names[0] if len(names) == 1 else "")
        if commits is None or any(not entry["repo"] for entry in commits.entries):
            raise UnparsedText(text)

        if any(len(str(entry["oid"])) < _ID_DIGITS for entry in commits.entries):
            self.pages.add_notices("The service abbreviates the ids of commits.")

        for entry in commits.entries:
            entry["isFromText"] = True

        payload: dict[str, Any] = {self._key: commits.entries}
        if commits.notes:
            payload |= {"limitHit": True, "notice": " ".join(commits.notes)}
        return payload


def _name(entry: Entry) -> tuple[str, str]:
    return str(entry.get("repo")), str(entry.get("oid"))
