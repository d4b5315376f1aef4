"""What calls that read files lack, as searches tell it: contents that a clone does not have, by path and blob."""

from __future__ import annotations

from collections.abc import Iterator

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import SourcelightError
from sourcelight.engines.execution.notices import unreadable
from sourcelight.engines.search import Target
from sourcelight.engines.tools.context import Arguments, ToolContext
from sourcelight.repos import Repository, resolve

_READ_ALL = frozenset(
    {
        "nls_search",
        "go_to_definition",
        "find_references",
        "symbols",
        "imports",
        "dependency_graph",
        "repo_map",
        "callers",
        "callees",
    }
)
"""Calls whose answer may depend on any file of the repositories that they are about."""
_READ_ONE = frozenset({"outline"})
"""Calls about the file of their ``path`` alone."""
_OF_ALL = frozenset({"nls_search", "list_repos"})
"""Calls over all repositories, unless their query names some."""
_MOST_NAMED = 3


def missing_contents(name: str, found: ToolResult, arguments: Arguments, context: ToolContext) -> Iterator[str]:
    """Say, one sentence a repository, what the answer of a call lacks because it could not be read.

    Only what is indexed here is looked at; where workers answer, they say it of theirs.
    """
    over_all = name in _OF_ALL and "repo:" not in str(arguments.get("query", ""))
    if over_all and context.viewer.sees_private:
        for item in unreadable(context.engine.catalog.skipped):
            if item.severity == "warn":
                yield " ".join(item.message.split())
    if name not in _READ_ALL | _READ_ONE:
        return
    wanted = None if over_all else _concerned(found, arguments)
    path = str(arguments.get("path") or "") if name in _READ_ONE or name in {"symbols", "imports"} else ""
    for repository in context.engine.catalog.visible(context.viewer):
        if wanted is None or repository.name in wanted:
            named = [text for text in _missing(repository, arguments, context) if _within(text, path)]
            if named:
                files = "1 file" if len(named) == 1 else f"{len(named):,} files"
                more = f" and {len(named) - _MOST_NAMED:,} more" if len(named) > _MOST_NAMED else ""
                yield (
                    f"{repository.name}: the content of {files} is not in this clone and was not read: "
                    f"{', '.join(named[:_MOST_NAMED])}{more}."
                )


def _concerned(found: ToolResult, arguments: Arguments) -> set[str]:
    """The repositories that a call names, and those of its rows."""
    names = {str(name).strip("/") for name in (arguments.get("repo") or "", *(arguments.get("repos") or ()))}
    if "repository" in found.table.schema.names:
        names.update(found.table.column("repository").unique().to_pylist())
    return names


def _missing(repository: Repository, arguments: Arguments, context: ToolContext) -> tuple[str, ...]:
    engine, revision = context.engine, arguments.get("revision")
    try:
        target = engine.target_of(repository)
        if revision and arguments.get("repo") == repository.name:
            target = Target(repository, str(revision), resolve(repository, str(revision)))
        return engine.store.open(target)[0].missing_files
    except (SourcelightError, OSError):
        return ()  # not indexed: the call itself says what it could not read


def _within(text: str, path: str) -> bool:
    return not path or text.startswith((f"{path} (", f"{path.rstrip('/')}/"))
