"""Handler of `list_repos`, and the cursors of its pages."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sourcelight.core.batches import RepositoryInfo
from sourcelight.core.batches.results import ToolResult, repository_url, time_text, utc_time
from sourcelight.core.errors import ToolError
from sourcelight.core.markup import one_line
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.core.tools.files import DEFAULT_PAGE, LIST_REPOS, ListReposArguments
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import NOTHING, Handler, Rendered, tail, total_beside
from sourcelight.engines.tools.pages.items import ItemMark, TableItems

_MAY_LACK = frozenset({"description", "stars", "topics", "lastFetched", "commit", "codeHostUrl"})
"""Fields that a repository lacks if they are empty; of the others, null or false says something."""


def _list_repos(arguments: ListReposArguments, context: ToolContext) -> ToolResult:
    fragment = arguments.query.strip().casefold()
    infos = [repository.info for repository in context.engine.catalog.visible(context.viewer)]
    matches = [info for info in infos if fragment in info.name.casefold()]
    matches.sort(key=lambda info: info.name)

    names = [info.name for info in matches]
    limit = arguments.limit
    if limit is None and context.served:
        limit = DEFAULT_PAGE

    start, end = _page_of(names, arguments, limit)
    page = matches[start:end]
    has_next_page = end < len(names)
    notices: tuple[str, ...] = ()
    if has_next_page and limit is not None:
        notices = (f"{len(names):,} repositories have this in their name; pass endCursor as after for more.",)

    attributes = {
        "query": arguments.query,
        "total": len(names),
        "start_cursor": encode_cursor(page[0].name) if page else None,
        "end_cursor": encode_cursor(page[-1].name) if page else None,
        "has_previous_page": start > 0,
        "has_next_page": has_next_page,
    }
    return ToolResult(
        columns="repository_list",
        table=table_of_rows("repository_list", [_table_row(info) for info in page]),
        attributes=attributes,
        complete=not has_next_page and not start,
        notices=notices,
    )


def _table_row(info: RepositoryInfo) -> dict[str, Any]:
    """Return a repository as a row of the table ``repository_list``."""
    return {
        "repository": info.name,
        "repository_id": info.id,
        "stars": info.stars,
        "description": info.description,
        "fork": info.fork,
        "archived": info.archived,
        "private": info.private,
        "topics": list(info.topics),
        "last_fetched": utc_time(info.last_fetched),
        "commit": info.commit or None,
        "url": info.url or None,
    }


def _page_of(names: Sequence[str], arguments: ListReposArguments, limit: int | None) -> tuple[int, int]:
    """Return the start and the end of a page of `names`, which are sorted."""
    # The cursor is a name: a page stays right when repositories are added or removed between two calls.
    after = decode_cursor(arguments.after, "after")
    before = decode_cursor(arguments.before, "before")
    start, end = 0, len(names)
    if after is not None:
        start = bisect_right(names, after)
    if before is not None:
        end = max(bisect_left(names, before), start)

    if limit is None or end - start <= limit:
        return start, end

    # Without `after`, `before` asks for the page that ends there.
    if before is not None and after is None:
        return end - limit, end
    return start, start + limit


def encode_cursor(name: str) -> str:
    """Return the cursor behind an item with this name: ``1:`` and the name, as base64 for URLs."""
    return base64.urlsafe_b64encode(f"1:{name}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None, argument: str, tool: str = "list_repos") -> str | None:
    """Return the name that a cursor encodes, or None without a cursor."""
    if not cursor:
        return None

    # `encode_cursor` drops the padding, up to a multiple of four characters.
    padding = "=" * (-len(cursor) % 4)
    try:
        text = base64.b64decode(cursor + padding, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        text = ""

    version, _, name = text.partition(":")
    # The version is part of the cursor, so that its form can change while old cursors are refused.
    if version != "1" or not name:
        raise ToolError(
            f"{tool}: {argument} is not a cursor of this tool; pass the one of an earlier answer unchanged",
            tool=tool,
            argument=argument,
        )

    return name


def _render_repos(answer: ToolResult, context: ToolContext) -> Rendered:
    attributes = answer.attributes
    rows = answer.table.to_pylist()
    page = {
        "startCursor": attributes["start_cursor"],
        "endCursor": attributes["end_cursor"],
        "hasPreviousPage": attributes["has_previous_page"],
        "hasNextPage": attributes["has_next_page"],
    }
    payload: dict[str, Any] = {"repos": [_repository_payload(row, context) for row in rows], "pageInfo": page}
    payload |= total_beside(answer, "total", attributes["total"], len(rows))
    payload |= tail(answer)
    lines = "".join(f"{_repository_line(row)}\n" for row in rows) or NOTHING
    if attributes["has_next_page"]:
        lines += f"\n(more results available - pass after={attributes['end_cursor']} for the next page)\n"

    return payload, lines


def _repository_payload(row: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
    """Return a repository as an object, without fields that are empty."""
    payload = {
        "name": row["repository"],
        "description": row["description"],
        "stars": row["stars"],
        "url": context.link(repository_url("", row["repository"])),
        "private": row["private"],
        "fork": row["fork"],
        "archived": row["archived"],
        "id": row["repository_id"],
        "topics": row["topics"],
        "lastFetched": time_text(row["last_fetched"]) if row["last_fetched"] else "",
        "commit": row["commit"],
        "codeHostUrl": row["url"],
    }
    return {key: value for key, value in payload.items() if value or key not in _MAY_LACK}


def _repository_line(row: Mapping[str, Any]) -> str:
    line: str = row["repository"]
    if row["stars"]:
        line += f" [★{row['stars']}]"
    description = " ".join(row["description"].split())
    if description:
        line += f" - {description}"
    return one_line(line)


def _correct_cursors(part: ToolResult, full_result: ToolResult, start: ItemMark, end: ItemMark) -> ToolResult:
    """Correct the cursors of a part of a page, so that `after` and `before` continue where the part ends."""
    names = part.table.column("repository").to_pylist()
    attributes: dict[str, Any] = {}
    if names:
        attributes = {"start_cursor": encode_cursor(names[0]), "end_cursor": encode_cursor(names[-1])}

    if start.item:
        attributes["has_previous_page"] = True

    if end.item < full_result.table.num_rows:
        attributes["has_next_page"] = True

    return replace(part, attributes={**part.attributes, **attributes})


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(LIST_REPOS, _list_repos, _render_repos, TableItems("repositories", adjust=_correct_cursors)),
)
