"""Tools about definitions, references, outlines and imports: their arguments and the columns of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, field

from sourcelight.core.batches.schema import Column
from sourcelight.core.tools.merge import SEPARATE_SERVICES, Merge, dependencies
from sourcelight.core.tools.tool import (
    Arguments,
    Limit,
    McpText,
    Number,
    Repo,
    Revision,
    Scope,
    Text,
    Tool,
    client_only,
    describe,
)

_REPOSITORY = Column("repository", "dict32", "name of the repository")
_REVISION = Column("revision", "dict32", "requested revision; empty for the default branch")
_COMMIT = Column("commit", "dict32", "resolved commit, 40 hex digits", "not provided by the service")
_PATH = Column("path", "dict32", "path in the repository, with /; invalid UTF-8 as U+FFFD")
_LINE_NUMBER = Column("line_number", "int32", "1-based line of the name")
_LINE = Column("line", "string", "text of that line without its newline; invalid UTF-8 as U+FFFD")
_START = Column("start", "int32", "start of the name, code points into line", "not provided by the service")
_END = Column("end", "int32", "end of the name (exclusive), code points into line", "not provided by the service")
_KIND = Column("kind", "dict8", "kind of definition, such as function, class, method or module", "unknown")
_CONTAINER = Column(
    "container", "string", "name of the enclosing definition, such as its class; empty for none", "unknown"
)
_SIGNATURE = Column("signature", "string", "head of the definition on one line; empty where it has none", "unknown")
_DOC = Column("documentation", "string", "docstring, or comment above; empty for none; at most 50 lines", "unknown")
_BEGIN = Column("start_line", "int32", "1-based first line of the whole definition, decorators included")
_LAST = Column("end_line", "int32", "1-based last line of the whole definition")
_CELL = Column("cell", "int32", "1-based number of the notebook cell with the name", "in no cell")
_CELL_LINE = Column("cell_line", "int32", "1-based line in the source of that cell", "in no cell")
_METHOD = Column(
    "how",
    "dict8",
    "scip (index file of a compiler), scope, import, type (of the receiver before the dot), name (ranked), text",
    "not provided by the service",
)
_PRECISE = Column("precise", "bool", "whether an index file of a compiler resolved it")
_SCORE = Column("score", "float64", "0 to 1: how likely it is right", "not provided by the service")
_REASON = Column("reason", "string", "why, in a few words", "not provided by the service")

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "definitions": (
        Column("rank", "int32", "1 for the best answer"),
        _REPOSITORY,
        _REVISION,
        _COMMIT,
        _PATH,
        _LINE_NUMBER,
        _LINE,
        _START,
        _END,
        _CELL,
        _CELL_LINE,
        Column("symbol", "string", "the requested name"),
        _KIND,
        _CONTAINER,
        _SIGNATURE,
        _DOC,
        _BEGIN,
        _LAST,
        Column("code", "string", "lines of the definition, at most 50; of a notebook those of the cell"),
        _METHOD,
        _PRECISE,
        _SCORE,
        _REASON,
    ),
    "references": (
        _REPOSITORY,
        _REVISION,
        _COMMIT,
        _PATH,
        _LINE_NUMBER,
        _LINE,
        _START,
        _END,
        _CELL,
        _CELL_LINE,
        Column("symbol", "string", "the requested name"),
        Column("role", "dict8", "definition, call, import, attribute, keyword or name", "not provided by the service"),
        _CONTAINER,
        _METHOD,
        _PRECISE,
        _SCORE,
        _REASON,
    ),
    "symbols": (
        _REPOSITORY,
        _REVISION,
        _COMMIT,
        _PATH,
        _LINE_NUMBER,
        _CELL,
        _CELL_LINE,
        Column("symbol", "string", "name"),
        _KIND,
        _CONTAINER,
        Column("depth", "int32", "how many definitions of the file enclose it"),
        _SIGNATURE,
        _DOC,
        _BEGIN,
        _LAST,
    ),
    "imports": (
        _REPOSITORY,
        _REVISION,
        _COMMIT,
        _PATH,
        _LINE_NUMBER,
        Column("module", "string", "module, package, crate or header as written, including leading dots"),
        Column("member", "string", "imported member; * for all; empty for the module itself"),
        Column("alias", "string", "name in this file, if renamed; else empty"),
        Column("target_repository", "dict32", "repository that has the module", "not in a visible repository"),
        Column("target_path", "string", "file that the import means", "in no visible repository, or not known"),
    ),
    "dependencies": (
        Column("source", "dict32", "repository that imports"),
        Column("target", "dict32", "repository that has the module, or the module's own name where none has it"),
        Column("module", "string", "top-level module, package or crate"),
        Column("external", "bool", "whether no visible repository has it"),
        Column("files", "int32", "files of source that import it", unit="files"),
        Column("imports", "int32", "imports that name it; a statement has one for each name", unit="imports"),
    ),
    "calls": (
        Column("depth", "int32", "1 for direct calls, 2 for those of their callers or callees, and so on"),
        Column("caller", "string", "name of the function that calls; empty at the top of a file"),
        Column("caller_kind", "dict8", "its kind", "at the top of a file"),
        Column("caller_repository", "dict32", "its repository"),
        Column("caller_path", "dict32", "its file"),
        Column("caller_line", "int32", "1-based line of its name", "at the top of a file"),
        Column("callee", "string", "name of the function that is called"),
        Column("callee_kind", "dict8", "its kind", "unknown"),
        Column("callee_repository", "dict32", "its repository", "not in a visible repository"),
        Column("callee_path", "dict32", "its file", "not in a visible repository"),
        Column("callee_line", "int32", "1-based line of its name", "not in a visible repository"),
        _LINE_NUMBER,
        _CELL,
        _CELL_LINE,
        _LINE,
        _METHOD,
        _SCORE,
    ),
    "repository_map": (
        _REPOSITORY,
        _REVISION,
        _COMMIT,
        _PATH,
        Column("line_number", "int32", "1-based line of the definition", "the line names a file"),
        Column("text", "string", "a line of the map: a path, or a signature, indented by depth"),
        _KIND,
        Column("score", "float64", "weight by which it was chosen: how often other files use the name"),
    ),
}

_Symbol: TypeAlias = Annotated[Text, describe("Name of the symbol, without the class or module before it.")]
_Line: TypeAlias = Annotated[Number | None, describe("Line of the symbol, counted from 1.")]
_ColumnOf: TypeAlias = Annotated[
    Annotated[int, Meta(ge=0)] | None,
    client_only("Characters before the symbol on that line; only together with line."),
]
_File: TypeAlias = Annotated[Text, describe("Path of the file.")]
_Below: TypeAlias = Annotated[
    str | None, Meta(description="A file, or a directory with everything below it. Without it: the whole repository.")
]


class GoToDefinitionArguments(Arguments, frozen=True):
    """Arguments of `go_to_definition`."""

    repo: Repo
    path: Annotated[Text, describe("Path of the file in which the symbol is used.")]
    symbol: _Symbol
    revision: Revision = None
    line: _Line = None
    column: _ColumnOf = None


class FindReferencesArguments(Arguments, frozen=True):
    """Arguments of `find_references`."""

    repo: Repo
    path: Annotated[Text, describe("Path of the file in which the symbol is defined.")]
    symbol: _Symbol
    revision: Revision = None
    line: _Line = None
    column: _ColumnOf = None
    limit: Annotated[Annotated[Limit, Meta(le=10_000)] | None, describe("Most references to give.")] = None


class SymbolsArguments(Arguments, frozen=True):
    """Arguments of `symbols`."""

    repo: Repo
    path: _Below = None
    revision: Revision = None
    kind: Annotated[tuple[str, ...] | None, Meta(description="Kinds to list, such as class.")] = None


class OutlineArguments(Arguments, frozen=True):
    """Arguments of `outline`."""

    repo: Repo
    path: _File
    revision: Revision = None


class ImportsArguments(Arguments, frozen=True):
    """Arguments of `imports`."""

    repo: Repo
    path: _Below = None
    revision: Revision = None


class DependencyGraphArguments(Arguments, frozen=True):
    """Arguments of `dependency_graph`."""

    repos: Annotated[tuple[str, ...] | None, describe("Repositories; none: all of them.")] = None
    external: Annotated[bool | None, describe("Whether to include modules that no repository has.")] = None


class RepoMapArguments(Arguments, frozen=True):
    """Arguments of `repo_map`."""

    repo: Repo
    revision: Revision = None
    limit: Annotated[Annotated[int, Meta(ge=2)] | None, describe("Most lines to give; 200 without it.")] = field(
        default=None, name="budget_lines"
    )


class CallGraphArguments(Arguments, frozen=True):
    """Arguments of `callers` and `callees`."""

    repo: Repo
    path: _File
    symbol: Annotated[Text, describe("Name of the function or method.")]
    revision: Revision = None
    line: Annotated[Number | None, describe("Line of its name, counted from 1.")] = None
    depth: Annotated[Annotated[Number, Meta(le=20)] | None, describe("Number of calls to follow; 1 without it.")] = None


GO_TO_DEFINITION = Tool(
    name="go_to_definition",
    arguments=GoToDefinitionArguments,
    columns="definitions",
    scope=Scope.SYMBOL,
    mcp=McpText(
        "Go to a definition",
        "Find where a symbol is defined, in any repository. Give the file that uses it and its plain name; line makes "
        "it exact. At most ten candidates, with code and how each was found: scip, scope, import, type are sure, name "
        "is a guess. Use it on names in code; for a name alone use keyword_search. Example: "
        "path src/app.py, symbol load.",
    ),
    reads="repositories",
)
FIND_REFERENCES = Tool(
    name="find_references",
    arguments=FindReferencesArguments,
    columns="references",
    scope=Scope.SYMBOL,
    mcp=McpText(
        "Find references",
        "Find all uses of a symbol, in its repository and those that import it; not mere namesakes. Give the file "
        "that defines it (go_to_definition finds that) and its plain name. Use it before a change. Example: "
        "path src/app.py, symbol load.",
    ),
    reads="repositories",
)
SYMBOLS = Tool(name="symbols", arguments=SymbolsArguments, columns="symbols", scope=Scope.REPOSITORY, reads="path")
OUTLINE = Tool(
    name="outline",
    arguments=OutlineArguments,
    columns="symbols",
    scope=Scope.REPOSITORY,
    mcp=McpText(
        "Outline a file",
        "List the definitions of a file, nested, with lines and signatures, no code. Use it before read_file on a "
        "long file; repo_map is for a repository. Example: path src/app.py.",
        suite="all",
    ),
    reads="path",
)
IMPORTS = Tool(name="imports", arguments=ImportsArguments, columns="imports", scope=Scope.ACROSS, reads="path")
DEPENDENCY_GRAPH = Tool(
    name="dependency_graph",
    arguments=DependencyGraphArguments,
    columns="dependencies",
    scope=Scope.ACROSS,
    mcp=McpText(
        "Show dependencies between repositories",
        "List which repositories import which others, or external packages, and in how many files. Use it for who "
        "depends on a library; find_references finds the places. Example: repos [github.com/owner/name], external "
        "false.",
        suite="all",
    ),
    merge=Merge(dependencies, exclusive=True, loss=SEPARATE_SERVICES),
    reads="repositories",
)
REPO_MAP = Tool(
    name="repo_map",
    arguments=RepoMapArguments,
    columns="repository_map",
    scope=Scope.REPOSITORY,
    mcp=McpText(
        "Map a repository",
        "Show the most used definitions of a repository: signatures below files, with lines. Use it first in an "
        "unknown repository; outline is for a file. Example: budget_lines 100.",
        suite="all",
    ),
    reads="repositories",
)
CALLERS = Tool(
    name="callers",
    arguments=CallGraphArguments,
    columns="calls",
    scope=Scope.SYMBOL,
    mcp=McpText(
        "Find callers",
        "List the functions that call a function, with each call's line; depth 2 adds who calls these. Give the file "
        "that defines it. Use it for what a change reaches; find_references has imports and other uses too. Example: "
        "path src/app.py, symbol load, depth 2.",
        suite="all",
    ),
    reads="repositories",
)
CALLEES = Tool(
    name="callees",
    arguments=CallGraphArguments,
    columns="calls",
    scope=Scope.SYMBOL,
    mcp=McpText(
        "Find callees",
        "List the functions that a function calls, and where each is defined; depth 2 adds what these call. Give the "
        "file that defines it. Use it to trace code without reading it; callers goes the other way. Example: "
        "path src/app.py, symbol main.",
        suite="all",
    ),
    reads="repositories",
)

TOOLS: tuple[Tool[Any], ...] = (
    GO_TO_DEFINITION,
    FIND_REFERENCES,
    SYMBOLS,
    OUTLINE,
    IMPORTS,
    DEPENDENCY_GRAPH,
    REPO_MAP,
    CALLERS,
    CALLEES,
)
