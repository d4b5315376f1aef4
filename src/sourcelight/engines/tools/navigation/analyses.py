"""Handlers of the analyses of navigation: symbols, imports, dependencies and calls."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.errors import ToolError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools import navigation
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.engines.symbols import KINDS, kind_code
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.navigation import calls
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import TEXTS

if TYPE_CHECKING:
    from sourcelight.engines.navigation import Document, Project, Workspace
    from sourcelight.engines.navigation.graphs.calls import CallSite

_REPORT_EVERY_S = 0.1
"""Seconds between two reports of progress: a listener redraws a line, which costs more than a small file."""

_DEFINITIONS_S = 10.0
"""Seconds that a served call waits for tables of definitions. Its client has a timeout; in a notebook, the user can
interrupt."""

_MAP_LINES = 200
"""Default for the lines of a map."""

_INCOMPLETE = frozenset({"time", "limit", "symbols-pending", "candidates", "not-indexed", "missing"})
"""Kinds of notices that say that rows may be missing; others, such as about unlikely places, describe the method."""


class _StageReporter:
    """Report progress to the observer now and then."""

    def __init__(self, context: ToolContext, stage: str, total: int = 0) -> None:
        self._context = context
        self._stage = stage
        self._total = total
        self._last = 0.0

    def report(self, done: int, detail: str = "") -> None:
        observer = self._context.observer
        if observer is not None and time.monotonic() - self._last > _REPORT_EVERY_S:
            self._last = time.monotonic()
            observer(ToolProgress(stage=self._stage, done=done, total=self._total, detail=detail))


def project_of(repo: str, revision: str | None, context: ToolContext, workspace: Workspace) -> Project:
    """Open a repository at a revision for an analysis, with its definition tables."""
    project = workspace.project(repo.strip("/"), revision or "")
    _wait(context, [project], workspace)
    return project


def _wait(context: ToolContext, projects: Iterable[Project], workspace: Workspace) -> None:
    """Wait for the tables of definitions: an analysis covers the whole repository, or reports missing parts."""
    targets = [project.target for project in projects if project.snapshot is not None]
    seconds = _DEFINITIONS_S if context.served else None
    for missing in context.local.definitions.wait(targets, context.cancellation, seconds):
        if context.observer is not None:
            context.observer(ToolProgress("finding definitions", len(targets) - missing, len(targets)))
    workspace.budget.check()


def _symbols(arguments: navigation.SymbolsArguments, context: ToolContext) -> ToolResult:
    from sourcelight.engines.navigation.named import outline_of
    from sourcelight.engines.navigation.rows import symbol_rows

    kinds = _canonical_kinds(arguments.kind or ())
    workspace = calls.workspace_of(context)
    project = project_of(arguments.repo, arguments.revision, context, workspace)
    documents = _documents(project, arguments.path or "")
    reporter = _StageReporter(context, "reading definitions", len(documents))
    rows: list[dict[str, Any]] = []
    for number, document in enumerate(documents):
        workspace.budget.check()
        file_rows = symbol_rows(document, outline_of(document, workspace), arguments.revision or "")
        rows += [row for row in file_rows if not kinds or row["kind"] in kinds]
        reporter.report(number, f"{count_of(len(rows), 'definition')}")

    workspace.note_missing([project], (arguments.path or "").strip("/").encode())
    attributes = {**_commit_columns(project, arguments.revision), "kind": sorted(kinds), "path": arguments.path or ""}
    return _answer("symbols", rows, attributes, workspace)


def _canonical_kinds(names: Sequence[str]) -> set[str]:
    """Return kinds of symbols as rows spell them: a kind has several spellings, and one code."""
    kinds: set[str] = set()
    unknown: list[str] = []
    for name in sorted(set(names)):
        code = kind_code(name)
        if code is None:
            unknown.append(name)
        else:
            kinds.add(KINDS[code])

    if unknown:
        message = f"symbols: {', '.join(unknown)} is not a kind of symbol"
        raise ToolError(message, tool="symbols", argument="kind", accepted=KINDS)
    return kinds


def _documents(project: Project, prefix: str) -> list[Document]:
    from sourcelight.engines.symbols import LANGUAGES

    directory = prefix.strip("/").encode()
    documents: list[Document] = []
    for number, path in enumerate(project.paths):
        if _is_below(path, directory):
            document = project.document_at(number)
            if document.language in LANGUAGES:
                documents.append(document)
    return documents


def _is_below(path: bytes, folder: bytes) -> bool:
    return not folder or path == folder or path.startswith(folder + b"/")


def _commit_columns(project: Project, revision: str | None) -> dict[str, Any]:
    return {"repository": project.name, "revision": revision or "", "commit": project.commit}


def _answer(
    columns: str, rows: Sequence[dict[str, Any]], attributes: dict[str, Any], workspace: Workspace
) -> ToolResult:
    complete = _INCOMPLETE.isdisjoint(workspace.notices) and not workspace.unparsed
    return ToolResult(
        columns=columns,
        table=table_of_rows(columns, rows),
        attributes=attributes,
        complete=complete,
        notices=calls.notices_of(workspace),
    )


def _outline(arguments: navigation.OutlineArguments, context: ToolContext) -> ToolResult:
    from sourcelight.engines.navigation.named import outline_of
    from sourcelight.engines.navigation.rows import symbol_rows

    workspace = calls.workspace_of(context)
    document = calls.document_of("outline", arguments, workspace)
    calls.start_definitions(context, document)
    rows = symbol_rows(document, outline_of(document, workspace), arguments.revision or "")
    workspace.note_missing([document.project], document.path)
    attributes = {
        **_commit_columns(document.project, arguments.revision),
        "path": document.shown_path,
        "language": document.language,
    }
    return _answer("symbols", rows, attributes, workspace)


def _imports(arguments: navigation.ImportsArguments, context: ToolContext) -> ToolResult:
    from sourcelight.engines.navigation.graphs.imports import imports_in
    from sourcelight.engines.navigation.locations import file_line
    from sourcelight.engines.navigation.rows import file_columns

    workspace = calls.workspace_of(context)
    project = project_of(arguments.repo, arguments.revision, context, workspace)
    directory = (arguments.path or "").strip("/").encode()
    reporter = _StageReporter(context, "reading imports")
    rows: list[dict[str, Any]] = []
    for number, file_imports in enumerate(imports_in(project, workspace)):
        document = file_imports[0].document
        if not _is_below(document.path, directory):
            continue

        location_columns = file_columns(document, arguments.revision or "")
        for file_import in file_imports:
            statement = file_import.statement
            row = {
                **location_columns,
                "line_number": file_line(document, statement.line),
                "module": statement.module,
                "member": statement.member,
                "alias": statement.alias,
            }
            if file_import.target is not None:
                row["target_repository"] = file_import.target.project.name
                row["target_path"] = file_import.target.shown_path
            rows.append(row)
        reporter.report(number, f"{len(rows):,} imports")

    workspace.note_missing([project], directory)
    attributes = {**_commit_columns(project, arguments.revision), "path": arguments.path or ""}
    return _answer("imports", rows, attributes, workspace)


def _dependency_graph(arguments: navigation.DependencyGraphArguments, context: ToolContext) -> ToolResult:
    from sourcelight.engines.navigation.graphs.imports import edges_of

    workspace = calls.workspace_of(context)
    # Names that lead to one repository would give its edges twice.
    names = arguments.repos or [repository.name for repository in workspace.repositories]
    projects = [workspace.project(name.strip("/")) for name in dict.fromkeys(names)]
    _wait(context, projects, workspace)
    reporter = _StageReporter(context, "reading imports", len(projects))
    rows: list[dict[str, Any]] = []

    # One item per project, so that progress counts repositories even if one has no dependency.
    for number, edges in enumerate(edges_of(projects, workspace), 1):
        for edge in edges:
            if edge.external and arguments.external is False:
                continue
            row = {
                "source": edge.source,
                "target": edge.target,
                "module": edge.module,
                "external": edge.external,
                "files": edge.files,
                "imports": edge.imports,
            }
            rows.append(row)
        reporter.report(number, edges[0].source if edges else "")

    workspace.note_missing(projects)
    return _answer("dependencies", rows, {"repositories": [project.name for project in projects]}, workspace)


def _repo_map(arguments: navigation.RepoMapArguments, context: ToolContext) -> ToolResult:
    from sourcelight.engines.navigation.graphs.repo_map import map_lines
    from sourcelight.engines.navigation.locations import file_line
    from sourcelight.engines.navigation.rows import file_columns

    workspace = calls.workspace_of(context)
    project = project_of(arguments.repo, arguments.revision, context, workspace)
    budget = arguments.limit or _MAP_LINES
    rows: list[dict[str, Any]] = []
    for line in map_lines(project, budget, workspace):
        row = {**file_columns(line.document, arguments.revision or ""), "text": line.text, "score": line.score}
        # The line of a file has no definition.
        if line.definition is not None:
            row["line_number"] = file_line(line.document, line.definition.line)
            row["kind"] = line.definition.kind
        rows.append(row)

    workspace.note_missing([project])
    attributes = {**_commit_columns(project, arguments.revision), "budget_lines": budget}
    return _answer("repository_map", rows, attributes, workspace)


def _callers(arguments: navigation.CallGraphArguments, context: ToolContext) -> ToolResult:
    return _calls("callers", arguments, context)


def _calls(name: str, arguments: navigation.CallGraphArguments, context: ToolContext) -> ToolResult:
    from sourcelight.engines.navigation.graphs.calls import callees, callers

    workspace = calls.workspace_of(context)
    document = calls.document_of(name, arguments, workspace)
    calls.start_definitions(context, document)
    query = calls.symbol_query_of(name, arguments, document)
    find = callers if name == "callers" else callees
    depth = arguments.depth or 1
    reporter = _StageReporter(context, f"finding {name}")
    rows: list[dict[str, Any]] = []
    for call_site in find(query, depth, workspace):
        rows.append(_call_row(call_site))
        reporter.report(len(rows))

    workspace.note_missing_anywhere()
    if not rows:
        workspace.notice("none", f"No {name} of {query.name} were found.")

    attributes = {
        **_commit_columns(document.project, arguments.revision),
        "path": document.shown_path,
        "symbol": query.name,
        "depth": depth,
    }
    return _answer("calls", rows, attributes, workspace)


def _call_row(call_site: CallSite) -> dict[str, Any]:
    from sourcelight.engines.navigation.locations import file_line, line_of, location_of
    from sourcelight.engines.navigation.rows import cell_columns, name_of

    location = location_of(call_site.document, call_site.occurrence.start, call_site.occurrence.end)
    callee = call_site.callee
    row = {
        "depth": call_site.depth,
        "caller": "",
        "caller_repository": call_site.document.project.name,
        "caller_path": call_site.document.shown_path,
        "callee": name_of(callee.document, callee.start, callee.end),
        "callee_kind": callee.kind,
        "callee_repository": callee.document.project.name,
        "callee_path": callee.document.shown_path,
        "callee_line": file_line(callee.document, line_of(callee.document.text, callee.start)),
        "line_number": location.line_number,
        **cell_columns(call_site.document, call_site.occurrence.start),
        "line": location.line,
        "how": call_site.rule,
        "score": call_site.score,
    }
    caller = call_site.caller
    if caller is not None:
        row["caller"] = name_of(caller.document, caller.start, caller.end)
        row["caller_kind"] = caller.kind
        row["caller_line"] = file_line(caller.document, caller.line)
    return row


def _callees(arguments: navigation.CallGraphArguments, context: ToolContext) -> ToolResult:
    return _calls("callees", arguments, context)


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(navigation.SYMBOLS, _symbols),
    Handler(navigation.OUTLINE, _outline, TEXTS["outline"], TableItems("definitions")),
    Handler(navigation.IMPORTS, _imports),
    Handler(navigation.DEPENDENCY_GRAPH, _dependency_graph, TEXTS["dependency_graph"], TableItems("dependencies")),
    Handler(navigation.REPO_MAP, _repo_map, TEXTS["repo_map"], TableItems("lines")),
    Handler(navigation.CALLERS, _callers, TEXTS["callers"], TableItems("calls")),
    Handler(navigation.CALLEES, _callees, TEXTS["callees"], TableItems("calls")),
)
