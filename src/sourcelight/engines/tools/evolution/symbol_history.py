"""`symbol_history`: the changes of one definition, followed by its name through files and renames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import ToolError
from sourcelight.core.markup.counts import join_names
from sourcelight.core.notices import Rule
from sourcelight.core.query.languages import language_of
from sourcelight.core.tools.evolution import SYMBOL_HISTORY, SymbolHistoryArguments
from sourcelight.engines.history import History
from sourcelight.engines.symbols import LANGUAGES
from sourcelight.engines.tools.context import ToolContext, clean_path
from sourcelight.engines.tools.evolution import definition_walk
from sourcelight.engines.tools.evolution.definition_texts import (
    DefinitionText,
    definition_texts,
    is_named,
    plain_name,
    split_line,
)
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.histories import OpenedHistory, open_history
from sourcelight.engines.tools.history.path_history import commit_columns
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import TEXTS
from sourcelight.repos import ObjectReader, find_entry

MAX_FILES_READ = 20_000
"""Files of a commit in which a definition without a path is searched for."""

_MAX_NAMED = 5
"""Definitions that an error names, if there are several."""


def _symbol_history(arguments: SymbolHistoryArguments, context: ToolContext) -> ToolResult:
    symbol, line = split_line(arguments.symbol)
    name = plain_name(symbol)
    revision = arguments.revision or ""
    if not name or "\n" in name:
        raise ToolError(
            f"{SYMBOL_HISTORY.name}: {arguments.symbol!r} is not the name of a definition",
            tool=SYMBOL_HISTORY.name,
            argument="symbol",
        )

    histories = open_history(SYMBOL_HISTORY.name, context, arguments.repo, revision)
    attributes: dict[str, Any] = {"repository": arguments.repo.strip("/"), "symbol": name, "total": 0}
    if not histories.selections:
        return histories.without_rows("symbol_history", attributes)

    (snapshot,) = histories.selections
    history = snapshot.history
    notices = histories.notices
    is_complete = histories.complete
    with ObjectReader(snapshot.repository) as reader:
        path, definition = _definition_of(
            name, line, arguments=arguments, snapshot=snapshot, reader=reader, context=context
        )
        walk = definition_walk.DefinitionWalk(history, reader, context.cancellation)
        tip = history.position(snapshot.commits[0])
        if tip is not None:
            walk.run(tip, definition_walk.DefinitionVersion(path, definition.name, definition.kind, definition.text))

    rows = _newest_first(walk.rows, history)
    total = len(rows)
    if walk.parsed > definition_walk.MAX_PARSED:
        parsed = f"{definition_walk.MAX_PARSED:,} contents were parsed"
        notices.append(f"The definition changed too often to follow it further: {parsed}.")
        is_complete = False

    if walk.is_cut:
        notices.append(
            "Changes behind merges may be missing: the merges differ from their parents in more than "
            f"{definition_walk.MAX_COMPARED:,} files."
        )
        is_complete = False

    if arguments.limit is not None and total > arguments.limit:
        rows = rows[: arguments.limit]
        notices.append(f"The newest {arguments.limit:,} of {total:,} changes are shown.")
        is_complete = False

    notices.append(Rule("Merges change no definition, and copies are not followed.", "merges"))
    attributes |= {
        "commit": snapshot.commits[0],
        "symbol": definition.name,
        "kind": definition.kind,
        "path": _text(path),
        "line_number": definition.begin_line,
        "total": total,
    }
    return ToolResult(
        columns="symbol_history",
        table=_table(snapshot, rows),
        attributes=attributes,
        complete=is_complete,
        notices=tuple(notices),
    )


def _newest_first(
    rows: Iterable[definition_walk.DefinitionChange], history: History
) -> list[definition_walk.DefinitionChange]:
    """Return the changes without repetitions, newest first."""
    # Two lines of history can lead to one commit with texts of the definition that differ: merges changed one of them.
    distinct = {(row.commit, row.version.path, row.version.name): row for row in rows}
    times = history.commits.commit_time
    return sorted(distinct.values(), key=lambda row: (-int(times[row.commit]), -row.commit))


def _definition_of(
    name: str,
    line: int | None,
    *,
    arguments: SymbolHistoryArguments,
    snapshot: OpenedHistory,
    reader: ObjectReader,
    context: ToolContext,
) -> tuple[bytes, DefinitionText]:
    """Find the one definition that a call names, and its file; raises `ToolError` for none and for several."""
    candidates: list[tuple[bytes, DefinitionText]] = []
    for path, data in _contents(name, arguments, snapshot=snapshot, reader=reader, context=context):
        for definition in definition_texts(language_of(_text(path)), data):
            is_at_line = line is None or definition.begin_line <= line <= definition.end_line
            if is_at_line and is_named(definition, name):
                candidates.append((path, definition))

    # An exact name comes before names that only end with it.
    exact = [(path, definition) for path, definition in candidates if definition.name == name]
    candidates = exact or candidates
    scope = arguments.path or snapshot.name
    if not candidates:
        at_line = "" if line is None else f" at line {line:,}"
        raise ToolError(
            f"{SYMBOL_HISTORY.name}: {scope} has no definition of {name!r}{at_line}",
            tool=SYMBOL_HISTORY.name,
            argument="symbol",
        )

    if len(candidates) > 1:
        texts = [f"{_text(path)}:{definition.begin_line} {definition.name}" for path, definition in candidates]
        _, first = candidates[0]
        example = f"{name}:{first.begin_line}"
        message = (
            f"{SYMBOL_HISTORY.name}: {scope} has {len(candidates):,} definitions of {name!r}: "
            f"{join_names(texts, _MAX_NAMED)}; "
            f"give the path, more of the name, or a line after it, as in {example!r}"
        )
        raise ToolError(message, tool=SYMBOL_HISTORY.name, argument="symbol")

    return candidates[0]


def _contents(
    name: str, arguments: SymbolHistoryArguments, *, snapshot: OpenedHistory, reader: ObjectReader, context: ToolContext
) -> list[tuple[bytes, bytes]]:
    """Return paths and contents of the files that may have the definition."""
    word = name.rpartition(".")[2].encode("utf-8", "surrogateescape")
    commit = snapshot.commits[0]
    if arguments.path is not None:
        path = clean_path(arguments.path)
        entry = find_entry(reader, commit, path, arguments.revision or "")
        if entry.kind != "file":
            raise ToolError(
                f"{SYMBOL_HISTORY.name}: {path} is a {entry.kind}; pass a file",
                tool=SYMBOL_HISTORY.name,
                argument="path",
            )
        return [
            (path.encode("utf-8", "surrogateescape"), reader.read(entry.object_id, definition_walk.MAX_BYTES) or b"")
        ]

    tree = reader.tree(commit)
    files = [number for number, path in enumerate(tree.paths) if language_of(_text(path)) in LANGUAGES]
    if len(files) > MAX_FILES_READ:
        raise ToolError(
            f"{SYMBOL_HISTORY.name}: {snapshot.name} has {len(files):,} files that may have {name!r}; give the path",
            tool=SYMBOL_HISTORY.name,
            argument="path",
        )

    candidates = []
    for number in files:
        context.cancellation.check()
        data = reader.read(tree.blob_id(number), definition_walk.MAX_BYTES)
        if data is not None and word in data:
            candidates.append((tree.paths[number], data))

    return candidates


def _table(snapshot: OpenedHistory, rows: list[definition_walk.DefinitionChange]) -> Any:
    lines = [row.lines for row in rows]
    # Of the first version, no other was there before.
    befores = [row.before or row.version for row in rows]
    values: dict[str, Any] = {
        **commit_columns(snapshot, np.array([row.commit for row in rows], np.int64)),
        "status": [row.status for row in rows],
        "symbol": [row.version.name for row in rows],
        "old_symbol": [before.name for before in befores],
        "path": [_text(row.version.path) for row in rows],
        "old_path": [_text(before.path) for before in befores],
        "line_number": [row.line for row in rows],
        "end_line": [row.line + row.version.text.rstrip(b"\n").count(b"\n") for row in rows],
        "score": pa.array([row.score for row in rows], pa.int32()),
        "additions": [added for added, _ in lines],
        "deletions": [removed for _, removed in lines],
    }
    return tables.table("symbol_history", values, len(rows))


def _text(path: bytes) -> str:
    return path.decode("utf-8", "replace")


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(SYMBOL_HISTORY, _symbol_history, TEXTS["symbol_history"], TableItems("changes")),
)
