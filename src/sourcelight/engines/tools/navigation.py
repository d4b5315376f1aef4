"""Handlers of `go_to_definition` and `find_references`, and what all handlers about navigation share."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from sourcelight.core.batches.results import ToolProgress, ToolResult, file_url
from sourcelight.core.cells import is_jupyter
from sourcelight.core.cells.json_lines import cell_text, context_lines
from sourcelight.core.errors import PathNotFound, ToolError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.core.tools.files import ReadFileArguments
from sourcelight.core.tools.navigation import (
    FIND_REFERENCES,
    GO_TO_DEFINITION,
    CallGraphArguments,
    FindReferencesArguments,
    GoToDefinitionArguments,
    OutlineArguments,
)
from sourcelight.engines.navigation import Document, TimeBudget, Workspace
from sourcelight.engines.tools import files
from sourcelight.engines.tools.context import ToolContext, clean_path
from sourcelight.engines.tools.handler import (
    NOTHING,
    Handler,
    Rendered,
    drop_empty,
    file_heading,
    number_lines,
    tail,
    with_notices,
)
from sourcelight.engines.tools.pages.items import TableItems

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import SymbolQuery
    from sourcelight.engines.navigation.workspace import CachedReferences

SERVED_REFERENCES = 100
"""Number of references that a served call returns without a limit."""

SERVED_SECONDS = 30.0
"""Seconds that a served call may take."""

_REPORT_EVERY_S = 0.1
_ABOVE, _BELOW = 4, 2
# Columns that payloads have besides locations and code, so that a remote client can make the same rows.
_DEFINITION = ("kind", "how", "score", "start", "end", "container", "signature", "documentation", "reason")
_REFERENCE = ("how", "role", "container", "score", "reason")

FileArguments: TypeAlias = GoToDefinitionArguments | FindReferencesArguments | OutlineArguments | CallGraphArguments
SymbolArguments: TypeAlias = GoToDefinitionArguments | FindReferencesArguments | CallGraphArguments


def workspace_of(context: ToolContext) -> Workspace:
    """Return the workspace of a navigation call; missing definitions start to build."""
    seconds = SERVED_SECONDS if context.served else None
    return context.local.navigation.workspace(context.viewer, TimeBudget(context.cancellation, seconds))


def document_of(tool: str, arguments: FileArguments, workspace: Workspace) -> Document:
    """Find the file that a call names.

    Raises
    ------
    RepositoryNotFound, RevisionNotFound, PathNotFound
        The repository, the revision or the file doesn't exist.
    """
    revision = arguments.revision or ""
    path = clean_path(arguments.path)
    project = workspace.project(arguments.repo.strip("/"), revision)
    document = project.document(path.encode())
    if document is None:
        if path.encode() in project.directories():
            raise ToolError(f"{tool}: {path} is a directory; pass a file", tool=tool, argument="path")
        raise PathNotFound(project.name, revision, path)

    return document


def start_definitions(context: ToolContext, document: Document) -> None:
    """Start building missing definition tables in the background."""
    context.local.definitions.start([document.project.target])


def symbol_query_of(
    tool: str, arguments: SymbolArguments, document: Document, column: int | None = None
) -> SymbolQuery:
    """Return the symbol of a call; raises `ToolError` if the argument isn't the name of a symbol."""
    from sourcelight.engines.navigation.model import SymbolQuery

    line = arguments.line
    if column is not None and line is None:
        raise ToolError(f"{tool}: column needs a line", tool=tool, argument="column")

    symbol = arguments.symbol.strip().removesuffix("()")
    # Models and people write `Class.method` or `Class::method`; the index has the last name.
    for separator in (".", "::", "->", "#"):
        symbol = symbol.rpartition(separator)[2] or symbol

    if not symbol or "\n" in symbol:
        raise ToolError(f"{tool}: {arguments.symbol!r} is not the name of a symbol", tool=tool, argument="symbol")

    return SymbolQuery(document=document, name=symbol, line_number=line, column=column)


def notices_of(workspace: Workspace) -> tuple[str, ...]:
    """Return the notices about how the answer was found."""
    reasons = {
        "too-large": "too large to be parsed",
        "timed-out": "not parsed in the time allowed",
        "unreadable": "no notebook that can be read",
    }
    unparsed = [
        f"{document.shown_path} is {reasons.get(reason, reason)}; it was searched as text."
        for document, reason in list(workspace.unparsed.items())[:3]
    ]
    return (*workspace.notices.values(), *unparsed)


def _go_to_definition(arguments: GoToDefinitionArguments, context: ToolContext) -> ToolResult:
    from sourcelight.engines.navigation.definitions import definitions_of
    from sourcelight.engines.navigation.rows import definition_rows

    workspace = workspace_of(context)
    document = document_of("go_to_definition", arguments, workspace)
    start_definitions(context, document)
    query = symbol_query_of("go_to_definition", arguments, document, arguments.column)
    definitions = definitions_of(query, workspace)
    revisions = {document.project.key: arguments.revision or ""}
    rows = definition_rows(query.name, definitions, workspace, revisions)
    if not rows or any(row["how"] == "name" for row in rows):
        workspace.note_missing_anywhere()  # a missing file may define the name

    notices = notices_of(workspace)
    complete = not {"time", "voters", "ranked", "candidates", "symbols-pending", "missing"} & set(workspace.notices)
    return ToolResult(
        columns="definitions",
        table=table_of_rows("definitions", rows),
        attributes=_answer_attributes(query, arguments),
        complete=complete,
        notices=notices,
    )


def _answer_attributes(query: SymbolQuery, arguments: SymbolArguments) -> dict[str, Any]:
    project = query.document.project
    return {
        "repository": project.name,
        "revision": arguments.revision or "",
        "commit": project.commit,
        "path": query.document.shown_path,
        "symbol": query.name,
    }


def _render_definitions(answer: ToolResult, context: ToolContext) -> Rendered:
    definitions, texts = [], []
    for row in answer.table.to_pylist():
        lines = row["code"].split("\n")
        first, last = row["start_line"], row["start_line"] + len(lines) - 1
        content = number_lines(first, lines)
        definitions.append(
            {
                "repo": row["repository"],
                "path": row["path"],
                "rev": row["commit"],
                "url": context.link(file_url("", row["repository"], row["commit"], row["path"], (first, last))),
                "line": row["line_number"],
                **({} if _is_among(row["line"], row["line_number"], first, lines) else {"text": row["line"]}),
                **drop_empty({name: row[name] for name in _DEFINITION}),
                **_cell_of(row),
                **({} if row["start_line"] == first else {"beginLine": row["start_line"]}),
                **({} if row["end_line"] == last else {"endLine": row["end_line"]}),
                "chunks": [{"startLine": first, "endLine": last, "content": content}],
            }
        )
        texts.append(f"{file_heading(row['repository'], row['path'])}\n{content}")

    text = "\n".join(texts) if texts else NOTHING
    return {"definitions": definitions, **tail(answer)}, with_notices(text, answer)


def _cell_of(row: Mapping[str, Any]) -> dict[str, int]:
    """Return the keys of a payload that locate a name in a notebook; none for other files."""
    if row["cell"] is None:
        return {}
    return {"cell": row["cell"], "cellLine": row["cell_line"]}


def _is_among(line: str, number: int, first: int, lines: Sequence[str]) -> bool:
    """Return whether a line is at its place among lines numbered from `first`."""
    return 0 <= number - first < len(lines) and lines[number - first] == line


def _find_references(arguments: FindReferencesArguments, context: ToolContext) -> ToolResult:
    from sourcelight.engines.navigation.workspace import CachedReferences, is_lasting, question_key

    workspace = workspace_of(context)
    document = document_of("find_references", arguments, workspace)
    start_definitions(context, document)
    query = symbol_query_of("find_references", arguments, document, arguments.column)
    limit = arguments.limit or (SERVED_REFERENCES if context.served else None)
    key = question_key(query, arguments.revision or "", workspace)
    cached = workspace.navigator.answers.get(key)
    complete = True
    if cached is not None:
        workspace.notices.update(cached.notices)
        if context.observer is not None:
            _ReferenceReporter(context, limit).end(cached.first(limit))
    else:
        cached, complete = _references(query, arguments, context, workspace, limit)
        workspace.note_missing_anywhere()
        # An answer that ran out of time or waits for definitions would stay incomplete in the cache.
        if complete and is_lasting(workspace):
            cached = CachedReferences(
                cached.table, cached.order, cached.definitions, cached.left_out, dict(workspace.notices)
            )
            workspace.navigator.answers.put(key, cached)

    table = cached.first(limit)
    if limit is not None and table.num_rows >= limit:
        complete = complete and table.num_rows == cached.table.num_rows
        if not complete:
            workspace.notice("limit", f"The first {limit:,} references are listed; there may be more.")

    attributes = {
        **_answer_attributes(query, arguments),
        "definitions": cached.definitions,
        "left_out": cached.left_out,
    }
    complete = complete and not {"symbols-pending", "missing"} & set(workspace.notices)
    return ToolResult(
        columns="references", table=table, attributes=attributes, complete=complete, notices=notices_of(workspace)
    )


def _references(
    query: SymbolQuery,
    arguments: FindReferencesArguments,
    context: ToolContext,
    workspace: Workspace,
    limit: int | None,
) -> tuple[CachedReferences, bool]:
    """Find references, up to a limit; also return whether these are all."""
    import numpy as np

    from sourcelight.engines.navigation.references import References
    from sourcelight.engines.navigation.rows import reference_rows
    from sourcelight.engines.navigation.workspace import CachedReferences

    project = query.document.project
    search = References(query, workspace)
    revisions = {project.key: arguments.revision or ""}
    rows: list[dict[str, Any]] = []
    complete, reporter = True, _ReferenceReporter(context, limit)
    for file_count, batch in enumerate(search.batches(), 1):
        rows += reference_rows(query.name, batch if limit is None else batch[: limit - len(rows)], workspace, revisions)
        reporter.report(file_count, rows)
        if limit is not None and len(rows) >= limit:
            complete = False
            break

    if context.observer is not None:
        reporter.end(table_of_rows("references", rows[reporter.reported : limit]))

    if search.left_out:
        workspace.notice(
            "left-out",
            f"{count_of(search.left_out, 'further place')} with the name {query.name} left out: "
            "their receivers before the dot are unknown.",
        )

    if not search.definitions:
        workspace.notice("not-found", f"Symbol not found: {query.name} is not defined in {query.document.shown_path}.")

    order_keys = [(row["repository"] != project.name, row["repository"], row["path"]) for row in rows]
    # Rows are kept as found, likeliest first, because a limit takes that prefix; `order` is for display: own repository
    # first. `sorted` is stable, so rows of a file keep their order.
    order = np.array(sorted(range(len(rows)), key=order_keys.__getitem__), dtype=np.int64)
    references = CachedReferences(
        table=table_of_rows("references", rows),
        order=order,
        definitions=len(search.definitions),
        left_out=search.left_out,
        notices={},
    )
    return references, complete and search.complete


class _ReferenceReporter:
    """Reports rows as they arrive: rows of the first file immediately, then ten times a second."""

    def __init__(self, context: ToolContext, limit: int | None) -> None:
        self._observer = context.observer
        self._limit = limit
        self._last = 0.0
        self._files = 0
        self.reported = 0

    def report(self, files: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Report new rows if it is time to."""
        self._files = files
        if self._observer is not None and time.monotonic() - self._last > _REPORT_EVERY_S:
            self._report(table_of_rows("references", rows[self.reported : self._limit]), len(rows))
            self._last = time.monotonic()

    def end(self, rest: Any) -> None:
        """Report the rows that were not reported yet."""
        if self._observer is not None and rest.num_rows:
            self._report(rest, self.reported + rest.num_rows)

    def _report(self, rows: Any, count: int) -> None:
        assert self._observer is not None  # noqa: S101 - narrows for the type checker
        self.reported += rows.num_rows
        self._observer(
            ToolProgress(stage="finding references", done=self._files, total=0, detail=f"{count:,} found", rows=rows)
        )


def _render_references(answer: ToolResult, context: ToolContext) -> Rendered:
    rows = answer.table.to_pylist()
    workspace = workspace_of(context) if context.engine.holds_files else None
    references, texts = [], []
    for (name, commit, path), grouped in groupby(rows, key=itemgetter("repository", "commit", "path")):
        group = list(grouped)
        text = _text_of(context, workspace, name, commit, path)
        chunks = []
        for row in group:
            number = row["line_number"]
            first = max(1, number - _ABOVE) if text else number
            around = text[first - 1 : number + _BELOW]
            lines = _shorten(around, number - first, row["line"]) if text else [row["line"]]
            is_json = is_jupyter(path) and row["cell"] is not None
            if is_json:
                first, lines = _cell_lines(row, first, lines)

            span = {"line": number, "start": row["start"], "end": row["end"]}
            chunks.append(
                {
                    "startLine": first,
                    "endLine": first + len(lines) - 1,
                    "content": number_lines(first, lines),
                    "ranges": [span],
                    **({"text": row["line"]} if is_json else {}),
                    **_cell_of(row),
                    **drop_empty({name: row[name] for name in _REFERENCE}),
                }
            )

        url = context.link(file_url("", name, commit, path))
        references.append({"repo": name, "path": path, "rev": commit, "url": url, "chunks": chunks})
        texts.append(f"{file_heading(name, path)}\n{''.join(chunk['content'] for chunk in chunks)}")

    payload = {"references": references, **tail(answer)}
    return payload, with_notices("\n".join(texts) if texts else NOTHING, answer)


def _cell_lines(row: Mapping[str, Any], first: int, lines: Sequence[str]) -> tuple[int, list[str]]:
    """Return lines of a notebook's JSON around a name as lines of its cell, and the number of the first one."""
    number = row["line_number"]
    shown_line = cell_text(row["line"], [row["start"]], [row["end"]])
    by_number = dict(context_lines(enumerate(lines, first)))
    by_number[number] = row["line"] if shown_line is None else shown_line.text

    # Only lines that join the place without a gap: lines of another cell, or of JSON alone, are left out.
    while first not in by_number or any(between not in by_number for between in range(first, number)):
        first += 1

    last = number
    while last + 1 in by_number:
        last += 1

    return first, [by_number[line_number] for line_number in range(first, last + 1)]


def _shorten(lines: list[str], own_index: int, line: str) -> list[str]:
    """Shorten the lines of generated files; the line of the place is shortened around the place, as its row is."""
    from sourcelight.engines.navigation.locations import MAX_LINE_BYTES

    shortened = [text[:MAX_LINE_BYTES] for text in lines]
    return [
        line if index == own_index and len(text) > len(line) else shortened[index] for index, text in enumerate(lines)
    ]


def _text_of(context: ToolContext, workspace: Workspace | None, name: str, commit: str, path: str) -> list[str]:
    if workspace is None:
        reading = replace(context, served=False, observer=None)
        arguments = ReadFileArguments(repo=name, path=path, revision=commit)
        answer = context.engine.run_tool(files.READ_FILE_HANDLER, arguments, reading)
        lines: list[str] = answer.table.column("line").to_pylist()
        return lines

    # An open project has parsed the file already, while one by its commit would parse it again.
    project = next((candidate for candidate in workspace.open_projects(name) if candidate.commit == commit), None)
    project = project or workspace.project(name, commit)
    document = project.document(path.encode())
    return [] if document is None else document.text.decode(errors="replace").split("\n")


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(GO_TO_DEFINITION, _go_to_definition, _render_definitions, TableItems("definitions", "code", "start_line")),
    Handler(FIND_REFERENCES, _find_references, _render_references, TableItems("references")),
)
