"""Steps that all handlers about navigation share: from the arguments of a call to a file and a symbol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from sourcelight.core.errors import PathNotFound, ToolError
from sourcelight.core.tools.navigation import (
    CallGraphArguments,
    FindReferencesArguments,
    GoToDefinitionArguments,
    OutlineArguments,
)
from sourcelight.engines.navigation import Document, TimeBudget, Workspace
from sourcelight.engines.tools.context import ToolContext, clean_path

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import SymbolQuery

SERVED_SECONDS = 30.0
"""Seconds that a served call may take."""

_MAX_UNPARSED_NOTICES = 3
"""Files that notices name as not parsed; a search that meets one such file may meet hundreds."""

_UNPARSED_REASONS = {
    "too-large": "too large to be parsed",
    "timed-out": "not parsed in the time allowed",
    "unreadable": "no notebook that can be read",
}
"""Reasons why a file was not parsed, in words."""

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
    notices = list(workspace.notices.values())
    for document, reason in list(workspace.unparsed.items())[:_MAX_UNPARSED_NOTICES]:
        reason_text = _UNPARSED_REASONS.get(reason, reason)
        notices.append(f"{document.shown_path} is {reason_text}; it was searched as text.")
    return tuple(notices)


def attributes_of(query: SymbolQuery, arguments: SymbolArguments) -> dict[str, Any]:
    """Return the attributes of an answer about a symbol: its name, and the file of the call."""
    project = query.document.project
    return {
        "repository": project.name,
        "revision": arguments.revision or "",
        "commit": project.commit,
        "path": query.document.shown_path,
        "symbol": query.name,
    }


def cell_of(row: Mapping[str, Any]) -> dict[str, int]:
    """Return the keys of a payload that locate a name in a notebook; none for other files."""
    if row["cell"] is None:
        return {}
    return {"cell": row["cell"], "cellLine": row["cell_line"]}
