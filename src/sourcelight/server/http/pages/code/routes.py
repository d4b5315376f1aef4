"""Routes of the pages of code: parse the address, check the reader's access, and set the time limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from threading import Timer
from typing import Any
from urllib.parse import parse_qsl, quote

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from sourcelight.core.batches.results import ToolResult, file_url
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.cells.compare import NotebookDiff, changed_notebooks, compare_versions
from sourcelight.core.errors import (
    BinaryFile,
    Cancelled,
    ClusterError,
    PathNotFound,
    RepositoryError,
    RevisionNotFound,
    ToolError,
)
from sourcelight.engines import tools
from sourcelight.engines.tools import ToolContext
from sourcelight.server.http.pages.access import PageAccess
from sourcelight.server.http.pages.browser import requested_lines
from sourcelight.server.http.pages.code import changes, elements
from sourcelight.server.http.pages.code.cells import LINES_VIEW
from sourcelight.server.http.pages.code.directory import Directory, DirectoryParts, directory_page
from sourcelight.server.http.pages.code.file import OUTLINE, FilePageView, file_page
from sourcelight.server.http.pages.python import compared_revisions, notebook, number_of, python_block, python_call
from sourcelight.server.identity import QueueFull

_BESIDE_S, _ASKED_S = 0.4, 15.0
"""Seconds for additions to the contents of a page, and for parts that its reader requested."""

_NOTEBOOKS_S = 2.0
"""Seconds in which notebooks of a change are read: others have their patches."""

_MAX_ENTRIES, _MAX_NAME_CHARS = 500, 200
_KINDS = frozenset({"blob", "tree", "commit", "compare", "symbol"})

_LONG = frozenset({"part", "blame", "history"})
"""Parameters of addresses of slow requests."""


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of the address of a page of code."""

    kind: str
    repository: str
    revision: str
    path: str

    @classmethod
    def parse(cls, request_path: str) -> Address | None:
        """Read ``/repository@revision/-/kind/path``, or ``/repository@revision``; return None for any other address."""
        name_part, separator, right = request_path.partition("/-/")
        kind, slash, path = right.partition("/") if separator else ("tree", "/", "")
        if request_path.startswith(("/.", "//")) or kind not in _KINDS or not slash or len(name_part) < 2:
            return None
        if not separator and name_part.endswith("/"):
            return None

        name, separator, revision = name_part[1:].rpartition("@")
        if not separator or kind in {"commit", "compare"}:
            name, revision = name_part[1:], ""

        return cls(kind, name, revision, path)


class _CodeRoute(Route):
    """Matches addresses of repositories, files, directories and commits; leaves others to earlier routes."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether this route answers a request."""
        if scope["type"] != "http" or Address.parse(scope["path"]) is None:
            return Match.NONE, {}
        if "/-/" not in scope["path"] and scope["method"] not in {"GET", "HEAD"}:
            return Match.NONE, {}
        return super().matches(scope)


class CodePages:
    """The pages of files, directories, commits, comparisons and names.

    Parameters
    ----------
    access
        Access checks.
    """

    def __init__(self, access: PageAccess) -> None:
        self._access = access
        self._parts = DirectoryParts(access.prefix)

    def routes(self) -> list[BaseRoute]:
        """Return the routes. Add them last: they match every address."""
        return [_CodeRoute("/{rest:path}", self._code)]

    async def _code(self, request: Request) -> Response:
        entered = self._access.enter(request)
        if isinstance(entered, Response):
            return entered

        cancellation = Cancellation()
        context = replace(entered, cancellation=cancellation)
        try:
            async with self._turn(request, context), anyio.create_task_group() as watch:
                watch.start_soon(_cancel_when_gone, request, cancellation)
                answer = await anyio.to_thread.run_sync(self._page, request, context)
                watch.cancel_scope.cancel()
        except QueueFull:
            return self._access.busy()

        return answer

    def _turn(self, request: Request, context: ToolContext) -> AbstractAsyncContextManager[None]:
        """Return a turn for slow requests, so that fast pages don't wait for them."""
        is_long = "/-/symbol/" in request.scope["path"] or not _LONG.isdisjoint(request.query_params)
        return self._access.turn(request, context) if is_long else nullcontext()

    def _page(self, request: Request, context: ToolContext) -> Response:
        address = Address.parse(request.scope["path"])
        assert address is not None  # noqa: S101 - the route has parsed it
        query = request.scope["query_string"].decode("latin-1")
        try:
            with _time_limit(context.cancellation, _ASKED_S):
                return self._page_of(address, request.scope["path"], query, context)
        except (PathNotFound, RevisionNotFound) as exc:
            # These errors occur only in a repository that the caller may see, so the page can name it.
            return self._access.absent_in(address.repository, str(exc))
        except RepositoryError:
            return self._access.absent(request, context)
        except Cancelled:
            return self._access.refusal_page(
                f"This page takes longer than {_ASKED_S:g} s. Open a smaller part, or use Python.", 503, "Timed out"
            )
        except ToolError as exc:
            return self._access.absent(request, context, _without_tool(exc))
        except ClusterError as exc:
            return self._access.unavailable(exc)

    def _page_of(self, address: Address, request_path: str, query: str, context: ToolContext) -> Response:
        repository, revision, path = address.repository, address.revision, address.path
        arguments: dict[str, Any] = {"repo": repository} | ({"revision": revision} if revision else {})
        parameters = dict(parse_qsl(query, errors="replace"))
        lines = requested_lines(query)
        call, prefix = python_call(address.kind, arguments, path, parameters, lines), self._access.prefix
        if "notebook" in parameters:
            # The notebook contains only what the address contains. Running it needs access to the repository.
            return notebook(call, context.base_url, "code")

        notebook_url = f"{prefix}{quote(request_path)}?{query}{'&' * bool(query)}notebook=1"
        use = python_block(call, context.base_url, notebook_url)
        match address.kind:
            case "commit":
                answer = tools.call("commit_details", {"repo": repository, "revision": path.strip("/")}, context)
                base = next(iter(answer.attributes["parents"]), "")
                notebooks = _notebooks(answer, base, answer.attributes["commit"], parameters, context)
                return changes.commit_page(answer, notebooks, prefix=prefix, use=use)
            case "compare":
                return self._compare_page(repository, compared_revisions(path, parameters), parameters, context, use)
            case "symbol":
                name = parameters.get("name", "")[:_MAX_NAME_CHARS]
                line = {} if number_of(parameters) is None else {"line": number_of(parameters)}
                return self._symbol_page(arguments | {"path": path} | line, name, context, use)
            case "tree":
                return self._directory_page(arguments, path.strip("/"), parameters, context, use)

        return self._file_page(arguments, path, parameters, query, context, notebook_url)

    def _compare_page(
        self, repository: str, ends: Mapping[str, str], parameters: Mapping[str, str], context: ToolContext, use: str
    ) -> Response:
        answer = tools.call("compare_revisions", {"repo": repository, **ends}, context)
        commits: ToolResult | str | None = None
        if parameters.get("part") == changes.COMMITS:
            revisions = [answer.attributes["head"], f"^{answer.attributes['base']}"]
            arguments = {"repos": [repository], "revisions": revisions}
            commit_table, reason = _attempt("commit_search", arguments, context)
            commits = commit_table or reason

        notebooks = _notebooks(answer, answer.attributes["base"], answer.attributes["head"], parameters, context)
        return changes.compare_page(answer, commits, notebooks, prefix=self._access.prefix, use=use)

    def _file_page(
        self,
        arguments: Mapping[str, Any],
        path: str,
        parameters: Mapping[str, str],
        query: str,
        context: ToolContext,
        notebook_url: str,
    ) -> Response:
        prefix, lines = self._access.prefix, requested_lines(query)
        try:
            answer = tools.call("read_file", {**arguments, "path": path}, context)
        except BinaryFile as exc:
            location = tools.call("list_files", _parent(arguments, path), context).attributes
            return elements.binary_page({**location, "path": path}, exc.size_bytes, prefix=prefix)
        except ToolError as exc:
            if exc.argument != "path":
                raise
            # The path is a directory, although the address has the form for files.
            location = tools.call("list_files", {**arguments, "path": path}, context).attributes
            target = elements.tree_url(prefix, location["repository"], location["commit"], location["path"])
            return RedirectResponse(target, 302, {"Cache-Control": "no-store"})

        arguments = {"repo": arguments["repo"], "path": path, "revision": answer.attributes["commit"]}
        beside = replace(context, cancellation=Cancellation())
        with _time_limit(beside.cancellation, _ASKED_S if parameters.get("part") == OUTLINE else _BESIDE_S):
            outline, _ = _attempt("outline", arguments, beside)

        blame, note = _attempt("blame", arguments, context) if "blame" in parameters else (None, "")
        history = None
        if "history" in parameters:
            history, history_note = self._history(arguments, lines, context)
            note = note or history_note

        # The resolved commit, so that the copied program reads the version that the page shows.
        call = python_call("blob", arguments, path, parameters, lines)
        use = python_block(call, context.base_url, notebook_url)
        cell, as_lines = number_of(parameters, "cell") or 0, parameters.get("view") == LINES_VIEW
        view = FilePageView(lines, outline, blame, note, history, use, cell=cell, as_lines=as_lines)
        if outline is None and beside.cancellation.cancelled and parameters.get("part") != OUTLINE:
            view = replace(view, outline_url=f"{notebook_url.removesuffix('notebook=1')}part={OUTLINE}")

        return file_page(answer, view, prefix=prefix)

    def _history(
        self, arguments: Mapping[str, Any], lines: tuple[int, int] | None, context: ToolContext
    ) -> tuple[ToolResult | None, str]:
        """Return the commits that changed some lines, or the whole file."""
        limits = {"limit": _MAX_ENTRIES}
        if lines is None:
            return _attempt("path_history", {**arguments, **limits}, context)
        return _attempt("history_of", {**arguments, **limits, "startLine": lines[0], "endLine": lines[1]}, context)

    def _symbol_page(self, arguments: Mapping[str, Any], name: str, context: ToolContext, use: str) -> Response:
        symbol_arguments = {**arguments, "symbol": name}
        answers = [
            answer or note
            for answer, note in (
                _attempt("go_to_definition", symbol_arguments, context),
                _attempt("find_references", symbol_arguments | {"limit": 100}, context),
            )
        ]
        return elements.symbol_page(name, arguments, *answers, prefix=self._access.prefix, use=use)

    def _directory_page(
        self, arguments: Mapping[str, Any], path: str, parameters: Mapping[str, str], context: ToolContext, use: str
    ) -> Response:
        try:
            answer = tools.call("list_files", {**arguments, **({"path": path} if path else {})}, context)
        except ToolError as exc:
            if exc.argument != "path":
                raise
            # The path is a file, although the address has the form for directories.
            location = tools.call("list_files", _parent(arguments, path), context).attributes
            target = file_url(self._access.prefix, location["repository"], location["commit"], path)
            return RedirectResponse(target, 302, {"Cache-Control": "no-store"})

        first = parameters.get("from", "")
        start = int(first) - 1 if first.isascii() and first.isdigit() and len(first) < 10 and int(first) else 0
        directory = Directory(answer, path, arguments.get("revision", ""), start=start)
        parts = self._parts.of(directory, parameters.get("part", ""), context, _ASKED_S)
        return directory_page(replace(directory, parts=parts), prefix=self._access.prefix, use=use)


def _notebooks(
    answer: ToolResult, base: str, head: str, parameters: Mapping[str, str], context: ToolContext
) -> dict[str, NotebookDiff]:
    """Return the cells that differ in the first changed notebooks, by path, within a time limit."""
    if parameters.get("view") == LINES_VIEW:
        return {}

    beside = replace(context, cancellation=Cancellation())

    def version(path: str, commit: str) -> tuple[str, list[str]] | None:
        if not path:
            return None
        arguments = {"repo": answer.attributes["repository"], "path": path, "revision": commit}
        return path, tools.call("read_file", arguments, beside).table.column("line").to_pylist()

    diffs: dict[str, NotebookDiff] = {}
    with _time_limit(beside.cancellation, _NOTEBOOKS_S):
        for path, old_path, new_path in changed_notebooks(answer.table.to_pylist(), base):
            try:
                old, new = version(old_path, base), version(new_path, head)
            except (Cancelled, ToolError, RepositoryError):
                continue  # its patch is shown
            diff = None if beside.cancellation.cancelled else compare_versions(old, new)
            if diff is not None:
                diffs[path] = diff

    return diffs


def _parent(arguments: Mapping[str, Any], path: str) -> dict[str, Any]:
    folder = path.strip("/").rpartition("/")[0]
    return {**arguments, **({"path": folder} if folder else {})}


def _attempt(name: str, arguments: Mapping[str, Any], context: ToolContext) -> tuple[ToolResult | None, str]:
    """Return the answer of a tool if it is there in time; else the reason."""
    try:
        return tools.call(name, arguments, context), ""
    except Cancelled:
        return None, f"{name} takes longer than {_ASKED_S:g} s and isn't shown; reload the page later."
    except (ToolError, RepositoryError) as exc:
        return None, _without_tool(exc)


@contextmanager
def _time_limit(cancellation: Cancellation, seconds: float) -> Iterator[None]:
    """Cancel work after some seconds: most of it looks for a request to stop, and not at the clock."""
    timer = Timer(seconds, cancellation.cancel)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _without_tool(exc: Exception) -> str:
    """Return the text of an error without the name of the tool, which means nothing to who reads a page."""
    if isinstance(exc, ToolError):
        return str(exc).removeprefix(f"{exc.tool}: ")
    return str(exc)


async def _cancel_when_gone(request: Request, cancellation: Cancellation) -> None:
    """Stop the work when its reader closes the connection."""
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            cancellation.cancel()
            return
