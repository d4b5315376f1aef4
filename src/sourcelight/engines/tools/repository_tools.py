"""The tool that lists repositories: `list_repos`."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import Any

from sourcelight.core.batches.results import Answer, repository_url
from sourcelight.core.errors import CallError
from sourcelight.core.tools.catalog import table_of
from sourcelight.engines.tools.model import Arguments, CallContext, Tool
from sourcelight.engines.tools.rendering import NOTHING, tail

DEFAULT_PAGE = 50
_MOST_PAGE = 10_000


def _list_repos(arguments: Arguments, context: CallContext) -> Answer:
    wanted = arguments["query"].strip().casefold()
    found = sorted(
        (r for r in context.engine.catalog.visible(context.viewer) if wanted in r.facts.name.casefold()),
        key=lambda r: r.facts.name,
    )
    names = [repository.facts.name for repository in found]
    after, before = (_cursor_name(arguments, name) for name in ("after", "before"))
    low = 0 if after is None else bisect_right(names, after)
    high = len(names) if before is None else max(bisect_left(names, before), low)
    limit = arguments.get("limit", DEFAULT_PAGE if context.served else None)
    if limit is not None and high - low > limit:
        # Without `after`, `before` asks for the page that ends there.
        low, high = (high - limit, high) if before is not None and after is None else (low, low + limit)
    page = [repository.facts for repository in found[low:high]]
    table = table_of(
        "repository_list",
        len(page),
        repository=[facts.name for facts in page],
        description=[facts.description for facts in page],
        stars=[facts.stars for facts in page],
        private=[facts.private for facts in page],
        fork=[facts.fork for facts in page],
        archived=[facts.archived for facts in page],
        url=[repository_url(context.base_url, facts.name) for facts in page],
    )
    more = high < len(names)
    notices: tuple[str, ...] = ()
    if more and limit is not None:
        notices = (f"{len(names):,} repositories have this in their name; pass endCursor as after for more.",)
    facts = {
        "query": arguments["query"],
        "total": len(names),
        "start_cursor": _cursor(page[0].name) if page else None,
        "end_cursor": _cursor(page[-1].name) if page else None,
        "has_previous_page": low > 0,
        "has_next_page": more,
    }
    return Answer("repository_list", table, facts, not more and not low, notices)


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(f"1:{name}".encode()).decode().rstrip("=")


def _cursor_name(arguments: Arguments, argument: str) -> str | None:
    """The name that a cursor stands for; None without one."""
    given: str = arguments.get(argument, "")
    if not given:
        return None
    try:
        text = base64.b64decode(given + "=" * (-len(given) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        text = ""
    version, _, name = text.partition(":")
    if version != "1" or not name:
        raise CallError(
            f"list_repos: {argument} is no cursor; pass startCursor or endCursor of an earlier answer as it is",
            call="list_repos",
            argument=argument,
        )
    return name


def _render_repos(answer: Answer, context: CallContext) -> tuple[dict[str, Any], str]:
    del context
    facts = answer.attributes
    rows = answer.table.to_pylist()
    page = {
        "startCursor": facts["start_cursor"],
        "endCursor": facts["end_cursor"],
        "hasPreviousPage": facts["has_previous_page"],
        "hasNextPage": facts["has_next_page"],
    }
    payload = {
        "repos": [
            {
                "name": row["repository"],
                **({"description": row["description"]} if row["description"] else {}),
                "stars": row["stars"],
                "url": row["url"],
                "private": row["private"],
                "fork": row["fork"],
                "archived": row["archived"],
            }
            for row in rows
        ],
        "pageInfo": page,
        "total": facts["total"],
        "hasMoreResults": facts["has_next_page"],
        **tail(answer),
    }
    lines = "".join(f"{_repository_line(row)}\n" for row in rows) or NOTHING
    if facts["has_next_page"]:
        lines += f"\n(more results available - pass after={facts['end_cursor']} for the next page)\n"
    return payload, lines


def _repository_line(row: Mapping[str, Any]) -> str:
    stars = f" [★{row['stars']}]" if row["stars"] else ""
    description = " ".join(row["description"].split())
    return f"{row['repository']}{stars}{' - ' if description else ''}{description}"


TOOLS: tuple[Tool, ...] = (
    Tool(
        "list_repos",
        "List repositories",
        "List the repositories whose name contains a text, by name. Use it first when the exact name of a repository "
        "is not known: the other tools need it. An empty text lists all of them.",
        {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "Text that the name has to contain; upper and lower case are the same. "
                    "No regular expression.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": _MOST_PAGE,
                    "description": f"Most repositories in one answer; {DEFAULT_PAGE} without it.",
                },
                "after": {"type": "string", "description": "endCursor of an earlier answer: what comes after it."},
                "before": {"type": "string", "description": "startCursor of an earlier answer: what comes before it."},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
        _list_repos,
        _render_repos,
    ),
)
