"""Columns of tables about definitions, references, outlines and imports."""

from __future__ import annotations

from collections.abc import Mapping

from sourcelight.core.batches.schema import Column

_REPOSITORY = Column("repository", "dict32", "name of the repository")
_REVISION = Column("revision", "dict32", "revision as it was asked for; empty for the default branch")
_COMMIT = Column("commit", "dict32", "resolved commit, 40 hex digits", "the service did not say")
_PATH = Column("path", "dict32", "path in the repository, with /; invalid UTF-8 as U+FFFD")
_LINE_NUMBER = Column("line_number", "int32", "1-based line of the name", summable=False)
_LINE = Column("line", "string", "text of that line without its newline; invalid UTF-8 as U+FFFD")
_START = Column("start", "int32", "start of the name, code points into line", "the service did not say", summable=False)
_END = Column(
    "end", "int32", "end of the name (exclusive), code points into line", "the service did not say", summable=False
)
_KIND = Column("kind", "dict8", "kind of definition, such as function, class, method or module", "unknown")
_CONTAINER = Column("container", "string", "name of what holds it, such as its class; empty for none", "unknown")
_SIGNATURE = Column("signature", "string", "head of the definition on one line; empty where it has none", "unknown")
_DOC = Column("documentation", "string", "docstring, or comment above; empty for none; at most 50 lines", "unknown")
_BEGIN = Column(
    "begin_line", "int32", "1-based first line of the whole definition, decorators included", summable=False
)
_LAST = Column("end_line", "int32", "1-based last line of the whole definition", summable=False)
_HOW = Column(
    "how",
    "dict8",
    "scip (index file of a compiler), scope, import, type (of what stands before the dot), name (ranked), text",
    "the service did not say",
)
_PRECISE = Column("precise", "bool", "whether an index file of a compiler says so, not our rules")
_SCORE = Column("score", "float64", "0 to 1: how likely it is right", "the service did not say", summable=False)
_REASON = Column("reason", "string", "why, in a few words", "the service did not say")

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "definitions": (
        Column("rank", "int32", "1 for the best answer", summable=False),
        _REPOSITORY,
        _REVISION,
        _COMMIT,
        _PATH,
        _LINE_NUMBER,
        _LINE,
        _START,
        _END,
        Column("symbol", "string", "the name that was asked for"),
        _KIND,
        _CONTAINER,
        _SIGNATURE,
        _DOC,
        _BEGIN,
        _LAST,
        Column("code", "string", "lines of the definition, at most 50"),
        _HOW,
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
        Column("symbol", "string", "the name that was asked for"),
        Column("role", "dict8", "definition, call, import, attribute, keyword or name", "the service did not say"),
        _CONTAINER,
        _HOW,
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
        Column("symbol", "string", "name"),
        _KIND,
        _CONTAINER,
        Column("depth", "int32", "how many definitions of the file enclose it", summable=False),
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
        Column("module", "string", "module, package, crate or header as it is written, leading dots included"),
        Column("member", "string", "what is taken from it; * for everything; empty for the module itself"),
        Column("alias", "string", "name under which it is used, where it is renamed; else empty"),
        Column("target_repository", "dict32", "repository that has the module", "in none that is visible"),
        Column("target_path", "string", "file that the import means", "in no visible repository, or not known"),
    ),
    "dependencies": (
        Column("source", "dict32", "repository that imports"),
        Column("target", "dict32", "repository that has the module, or the module's own name where none has it"),
        Column("module", "string", "top-level module, package or crate"),
        Column("external", "bool", "whether no visible repository has it"),
        Column("files", "int32", "files of source that import it"),
        Column("imports", "int32", "import statements that name it"),
    ),
    "calls": (
        Column(
            "depth", "int32", "1 for direct calls, 2 for those of their callers or callees, and so on", summable=False
        ),
        Column("caller", "string", "name of the function that calls; empty at the top of a file"),
        Column("caller_kind", "dict8", "its kind", "at the top of a file"),
        Column("caller_repository", "dict32", "its repository"),
        Column("caller_path", "dict32", "its file"),
        Column("caller_line", "int32", "1-based line of its name", "at the top of a file", summable=False),
        Column("callee", "string", "name of the function that is called"),
        Column("callee_kind", "dict8", "its kind", "unknown"),
        Column("callee_repository", "dict32", "its repository", "in none that is visible"),
        Column("callee_path", "dict32", "its file", "in none that is visible"),
        Column("callee_line", "int32", "1-based line of its name", "in none that is visible", summable=False),
        _LINE_NUMBER,
        _LINE,
        _HOW,
        _SCORE,
    ),
    "repository_map": (
        _REPOSITORY,
        _REVISION,
        _COMMIT,
        _PATH,
        Column("line_number", "int32", "1-based line of the definition", "the line names a file", summable=False),
        Column("text", "string", "a line of the map: a path, or a signature, indented by depth"),
        _KIND,
        Column("score", "float64", "weight by which it was chosen: how often other files use the name", summable=False),
    ),
}
