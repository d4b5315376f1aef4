"""Saved answers: the rows, status and commits of a search that the reader may see now."""

from __future__ import annotations

import html
import io
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.results import repository_url
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ClusterError, PatternError, QueryError, RepositoryError, ToolError
from sourcelight.core.markup import escape, one_line
from sourcelight.core.markup.counts import count_of
from sourcelight.engines.tools import ToolContext
from sourcelight.repos.state import LIFETIME_S, SavedAnswer, State, TooManyAnswers
from sourcelight.server.http.middleware.access_log import notes_of
from sourcelight.server.http.pages import search
from sourcelight.server.http.pages.access import PageAccess
from sourcelight.server.http.pages.frame import page
from sourcelight.server.http.pages.search_view import COLUMNS, MAX_FILES, MAX_ROWS, SearchView, search_url
from sourcelight.server.identity import QueueFull

if TYPE_CHECKING:
    import pyarrow as pa

PATH = "/search/saved"
_KEY = "repository_key"
_MAX_COMMITS = 50
_ABSENT = "This saved answer doesn't exist, was deleted, or has expired."
_NO_ACCOUNT = "Saved answers belong to an account. Sign in first."


class SavedPages:
    """The pages of saved answers.

    Parameters
    ----------
    state
        Where they are stored.
    access
        Access checks.
    """

    def __init__(self, state: State, access: PageAccess) -> None:
        self._answers = state.saved_answers
        self._access = access

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route(PATH, self._list, methods=["GET"]),
            Route(PATH, self._save, methods=["POST"]),
            Route(f"{PATH}/{{token}}", self._show, methods=["GET"]),
            Route(f"{PATH}/{{token}}", self._delete, methods=["POST"]),
        ]

    async def _list(self, request: Request) -> Response:
        context = self._access.enter(request)
        if isinstance(context, Response):
            return context
        if not context.viewer.name:
            return self._access.sign_in_first(request, _NO_ACCOUNT)

        answers = await anyio.to_thread.run_sync(self._answers.list_for_owner, context.viewer.name)
        prefix = escape(self._access.prefix)
        items = "".join(
            f'<li><a href="{prefix}{PATH}/{escape(answer.token)}">'
            f"<code>{escape(one_line(answer.query, 200))}</code></a> "
            f'<span class="quiet">saved {_day(answer.saved_at)}, expires {_day(answer.expires_at)}</span> '
            f"{_delete_form(prefix, answer)}</li>"
            for answer in answers
        )
        body = (
            '<h1>Saved answers</h1><p class="quiet">Save an answer on the page of its search. Its link shows each '
            f"reader the part that they may see.</p><ul>{items}</ul>{'' if items else '<p>No saved answers yet.</p>'}"
        )
        return page("Saved answers", body, prefix=self._access.prefix, posts=True)

    async def _save(self, request: Request) -> Response:
        entered = await self._access.enter_form(request)
        if isinstance(entered, Response):
            return entered

        context, form = entered
        if not context.viewer.name:
            return self._access.sign_in_first(request, _NO_ACCOUNT)

        query = search.PageQuery.of(form)
        notes_of(request.scope).query = query.query
        try:
            async with self._access.turn(request, context):
                token = await anyio.to_thread.run_sync(self._search_and_save, query, context)
        except (QueryError, PatternError, RepositoryError, ToolError, TooManyAnswers) as exc:
            return self._access.refusal_page(str(exc), title="This answer can't be saved")
        except ClusterError as exc:
            return self._access.unavailable(exc)
        except QueueFull:
            return self._access.busy()

        return self._access.to(f"{PATH}/{token}") if token else self._access.sign_in_first(request, _NO_ACCOUNT)

    def _search_and_save(self, query: search.PageQuery, context: ToolContext) -> str | None:
        """Run a search and save its page."""
        view = SearchView(query.query, query.pattern_type, "")
        batches: list[Any] = []
        names: set[str] = set()
        for event in search.events_of(query, context.engine, context.viewer, Cancellation(search.TIMEOUT_S)):
            view.add(event)
            if isinstance(event, MatchBatch):
                names.update(event.batch.column("repository").unique().to_pylist())
                # Keeps as many rows as a page shows; the view only counts the others.
                if sum(batch.num_rows for batch in batches) < MAX_FILES * MAX_ROWS:
                    batches.append(event.batch)

        if view.status == "failed":
            raise ToolError("the search failed, so there is no answer to save")

        keys = {repository.name: repository.key for repository in context.engine.catalog.visible(context.viewer)}
        rows = _to_bytes(batches, keys)

        # All repositories with matches, including repositories whose rows aren't stored: readers need access to all.
        keys_by_name = [[name, keys.get(name, "")] for name in sorted(names)]
        attributes = {"status": view.status, "matches": view.match_count, "notes": view.notes, "places": keys_by_name}
        return self._answers.save(context.viewer.name, query.query, query.pattern_type, attributes, rows)

    async def _show(self, request: Request) -> Response:
        context = self._access.enter(request)
        if isinstance(context, Response):
            return context

        saved = await anyio.to_thread.run_sync(self._answers.find, request.path_params["token"][:100])
        if saved is None:
            return self._access.absent(request, context, _ABSENT)

        answer, rows = saved
        try:
            body = await anyio.to_thread.run_sync(self._to_html, answer, rows, context)
        except ClusterError as exc:
            return self._access.unavailable(exc)

        prefix, is_own = self._access.prefix, answer.owner == context.viewer.name
        if is_own:
            body += _delete_form(escape(prefix), answer)
        title = f"{answer.query} \u00b7 saved answer"
        return page(title, body, prefix=prefix, wide=True, query=answer.query, kind=answer.pattern_type, posts=is_own)

    async def _delete(self, request: Request) -> Response:
        entered = await self._access.enter_form(request)
        if isinstance(entered, Response):
            return entered

        context, _ = entered
        token: str = request.path_params["token"][:100]
        owner = context.viewer.name
        is_deleted = bool(owner) and await anyio.to_thread.run_sync(self._answers.delete, token, owner)
        if is_deleted:
            return self._access.to(PATH)
        return self._access.absent(request, context, _ABSENT)

    def _to_html(self, answer: SavedAnswer, data: bytes, context: ToolContext) -> str:
        import pyarrow as pa

        table = _from_bytes(data)
        # By name and key: by now, another repository with other permissions may have the name.
        visible = {(repository.name, repository.key) for repository in context.engine.catalog.visible(context.viewer)}
        pairs = zip(table["repository"].to_pylist(), table[_KEY].to_pylist(), strict=True)
        mask = [pair in visible for pair in pairs]
        visible_rows = table.filter(pa.array(mask, pa.bool_()))
        view = SearchView(answer.query, answer.pattern_type, self._access.prefix, context.base_url)
        for batch in visible_rows.to_batches():
            view.add(MatchBatch(batch))

        view.done = True
        prefix = self._access.prefix
        retry_link = escape(search_url(prefix, answer.query, answer.pattern_type))
        statements = [
            f"Saved by {escape(answer.owner)} on {_day(answer.saved_at)}, expires on {_day(answer.expires_at)}"
        ]
        notes = ""
        keys_by_name = answer.attributes.get("places")

        # Answers of earlier versions don't name their repositories, so only their owner may see the count.
        if keys_by_name is None:
            is_whole = answer.owner == context.viewer.name
        else:
            is_whole = visible >= set(map(tuple, keys_by_name))
        if is_whole and all(mask):
            statements.append(f"{count_of(answer.attributes['matches'], 'match')} then")
            # A note may contain words about repositories without rows, which this check doesn't cover.
            if answer.owner == context.viewer.name:
                notes = "".join(f"<li>{escape(note)}</li>" for note in answer.attributes["notes"])
        else:
            notes = "<li>Results from repositories that you may not see, or that no longer exist, are left out.</li>"

        if notes:
            notes = f"<ul>{notes}</ul>"

        statements.append(f"status then: {escape(answer.attributes['status'])}")
        return (
            f'<h1 class="hidden">Saved answer: {escape(one_line(answer.query, 200))}</h1>'
            f'<p class="summary" role="status" data-status="{escape(answer.attributes["status"])}">'
            f"{'; '.join(statements)}. "
            f'<a href="{retry_link}">Search again</a></p>'
            f"{notes}{_commits(visible_rows, prefix)}{view.results_html()}"
        )


def _to_bytes(batches: list[Any], keys: Mapping[str, str]) -> bytes:
    """Return rows as compressed Arrow; `keys` are the places of the repositories on this machine."""
    import pyarrow as pa

    tables = []
    for batch in batches:
        names = [name for name in COLUMNS if name in batch.schema.names]
        tables.append(pa.table({name: batch.column(name) for name in names}))
    if not tables:
        tables.append(pa.table({"repository": pa.array([], pa.string())}))

    table = pa.concat_tables(tables, promote_options="default").slice(0, MAX_FILES * MAX_ROWS).unify_dictionaries()
    keys_of_rows = [keys.get(name, "") for name in table["repository"].to_pylist()]
    table = table.append_column(_KEY, pa.array(keys_of_rows, pa.string()))
    file = io.BytesIO()
    with pa.ipc.new_stream(file, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)

    return file.getvalue()


def _from_bytes(data: bytes) -> pa.Table:
    import pyarrow as pa

    return pa.ipc.open_stream(data).read_all()


def _commits(table: pa.Table, prefix: str) -> str:
    """Return the commits that the rows are of."""
    if "commit" not in table.column_names:
        return ""

    pairs = dict.fromkeys(zip(table["repository"].to_pylist(), table["commit"].to_pylist(), strict=True))
    items = ""
    for name, commit in list(pairs)[:_MAX_COMMITS]:
        if commit:
            link = f'<a href="{escape(repository_url(prefix, name, commit))}/-/tree/">{escape(name)}</a>'
            items += f"<li>{link} <code>{escape(commit)}</code></li>"

    if not items:
        return ""
    count = count_of(len(pairs), "commit")
    return f'<details class="skipped"><summary>Read at {count}</summary><ul>{items}</ul></details>'


def _delete_form(prefix: str, answer: SavedAnswer) -> str:
    action = f"{prefix}{PATH}/{escape(answer.token)}"
    label = f"Delete the saved answer of {one_line(answer.query, 100)}"
    return (
        f'<form class="inline" method="post" action="{action}"><button aria-label="{escape(label)}">Delete</button>'
        "</form>"
    )


def _day(seconds: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


def save_form(query: str, pattern_type: str, prefix: str) -> str:
    """Return the form that saves the answer of a search."""
    fields = ""
    for name, value in (("q", query), ("patternType", pattern_type)):
        if value:
            fields += f'<input type="hidden" name="{name}" value="{html.escape(value)}">'

    days = LIFETIME_S // 86_400
    return (
        f'<form class="inline" method="post" action="{escape(prefix)}{PATH}">{fields}<button '
        f'title="Stored for {days} days; anyone with access to its repositories can open the link">'
        "Save this answer</button></form>"
    )
