"""Handlers of `read_file` and `list_files`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sourcelight.core.batches.results import FILE_BYTES, LAST_LINE_IS_OPEN, ToolResult, file_url
from sourcelight.core.errors import BinaryFile, PathNotFound, ToolError
from sourcelight.core.markup import one_line
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.catalog import table_of
from sourcelight.core.tools.files import LIST_FILES, READ_FILE, ListFilesArguments, ReadFileArguments
from sourcelight.engines.tools.context import RequestedCommit, ToolContext, clean_path, requested_commit
from sourcelight.engines.tools.handler import Handler, Rendered, number_lines, tail, total_beside, with_notices
from sourcelight.engines.tools.line_ranges import MAX_RANGE_BYTES, LineRange, read_lines
from sourcelight.engines.tools.pages.items import ItemMark, TableItems
from sourcelight.engines.tools.repositories import decode_cursor, encode_cursor
from sourcelight.repos import ObjectReader, TreeEntry, find_entry, list_folder
from sourcelight.repos.objects import MAX_CONTENT_BYTES

MAX_SERVED_BYTES = 131_072
"""Maximum bytes of text in one served answer of `read_file`."""

_MAX_ENTRIES = 1_000
"""Maximum entries of a served page of `list_files`."""


def _read_file(arguments: ReadFileArguments, context: ToolContext) -> ToolResult:
    target = requested_commit(context, arguments.repo, arguments.revision or "")
    path = clean_path(arguments.path)
    last = arguments.end_line
    _check_order(arguments.start_line, last)
    is_whole_file = arguments.start_line is None and last is None
    start = arguments.start_line or 1
    with ObjectReader(target.repository) as reader:
        entry = _file_entry(reader, target, path)
        size = reader.size(entry.object_id)
        if context.served and is_whole_file and size is not None and size > MAX_SERVED_BYTES:
            raise ToolError(_too_large(path, f"the file has {size:,} bytes"), tool="read_file", argument="startLine")
        # Streamed: a file of gigabytes is read up to the requested lines, and never held in memory.
        selected = read_lines(reader, entry.object_id, start, last, context.cancellation)

    if selected is None:
        raise _unreadable(target, path, size)

    max_bytes = MAX_SERVED_BYTES if context.served else MAX_RANGE_BYTES
    _check_lines(selected, path, size=size, start=start, last=last, max_bytes=max_bytes)
    texts = [line.decode("utf-8", "replace") for line in selected.lines]
    table = table_of(
        "file_lines",
        len(texts),
        repository=target.name,
        revision=target.revision,
        commit=target.commit,
        path=entry.path,
        line_number=list(range(start, start + len(texts))),
        line=texts,
    )
    metadata = {FILE_BYTES: b"%d" % (size or selected.total_bytes), LAST_LINE_IS_OPEN: b"%d" % selected.is_open}
    attributes = {
        "repository": target.name,
        "revision": target.revision,
        "commit": target.commit,
        "path": entry.path,
        "start_line": start,
        "end_line": start + len(texts) - 1,
        "total_lines": selected.total_lines,
        "whole": is_whole_file,
    }
    notices: tuple[str, ...] = ()
    if entry.kind == "symlink":
        notices = ("This is a symbolic link; the text is where it leads.",)
    return ToolResult(
        columns="file_lines",
        table=table.replace_schema_metadata(metadata),
        attributes=attributes,
        notices=notices,
    )


def _check_order(first: int | None, last: int | None) -> None:
    if first is not None and last is not None and last < first:
        raise ToolError(
            f"read_file: endLine {last} is before startLine {first}; both are included and count from 1",
            tool="read_file",
            argument="endLine",
        )


def _file_entry(reader: ObjectReader, target: RequestedCommit, path: str) -> TreeEntry:
    """Return the entry of a file or link; a directory or a submodule is refused."""
    entry = find_entry(reader, target.commit, path, target.revision)
    if entry.kind == "directory":
        raise ToolError(f"read_file: {path or '/'} is a directory; use list_files", tool="read_file", argument="path")
    if entry.kind == "submodule":
        raise _submodule("read_file", entry)
    return entry


def _unreadable(target: RequestedCommit, path: str, size: int | None) -> PathNotFound:
    reason = "this clone lacks the content of the file, or can't read it"
    if size is not None and size > MAX_CONTENT_BYTES:
        reason = f"the file has {size:,} bytes, and git can't read it in the memory that it may take"
    return PathNotFound(target.name, target.revision, path, reason)


def _check_lines(
    selected: LineRange, path: str, *, size: int | None, start: int, last: int | None, max_bytes: int
) -> None:
    """Refuse lines without text, outside the file, or of more than `max_bytes`."""
    if selected.is_binary:
        size_text = f" of {count_of(size, 'byte')}" if size is not None else ""
        raise BinaryFile(
            f"read_file: {path} has no text: it is a binary file{size_text}",
            tool="read_file",
            size_bytes=size or 0,
        )

    total = selected.total_lines
    # Line 1 of an empty file exists as an empty answer, so that reading a whole file never fails.
    if start > max(total, 1):
        raise ToolError(
            f"read_file: startLine is {start}, but {path} has {count_of(total, 'line')}",
            tool="read_file",
            argument="startLine",
        )

    if selected.range_bytes > max_bytes:
        problem = f"lines {start} to {min(last or total, total)} have {selected.range_bytes:,} bytes"
        message = _too_large(path, problem, selected.lines, start, limit=max_bytes)
        raise ToolError(message, tool="read_file", argument="endLine")


def _too_large(
    path: str, problem: str, lines: list[bytes] | None = None, start: int = 1, *, limit: int = MAX_SERVED_BYTES
) -> str:
    """Explain why a text is too large, and what to request instead."""
    fits = ""
    if lines is not None:
        fitting = _count_fitting(lines, limit)
        fits = f" (lines {start} to {start + fitting - 1} fit)"
        if not fitting:
            fits = f" (line {start} alone is longer: find a part of it with keyword_search)"

    return (
        f"read_file: {path} is too large to be read at once: {problem}, and the limit is {limit:,}; "
        f"ask for a smaller part with startLine and endLine{fits}"
    )


def _count_fitting(lines: list[bytes], limit: int) -> int:
    """Return how many of the first lines have at most `limit` bytes together."""
    size_bytes = 0
    for number, line in enumerate(lines):
        size_bytes += len(line) + 1
        if size_bytes > limit:
            return number
    return len(lines)


def _submodule(tool: str, entry: TreeEntry) -> ToolError:
    commit = entry.object_id.hex()
    message = f"{tool}: {entry.path} is a submodule at commit {commit}; its files are in a repository of their own"
    return ToolError(message, tool=tool, argument="path")


def _render_file(answer: ToolResult, context: ToolContext) -> Rendered:
    attributes = answer.attributes
    content = number_lines(attributes["start_line"], answer.table.column("line").to_pylist())
    lines: tuple[int, int] | None = None
    if not attributes["whole"]:
        lines = (attributes["start_line"], attributes["end_line"])
    url = context.link(file_url("", attributes["repository"], attributes["commit"], attributes["path"], lines))
    payload = {
        "content": content,
        "url": url,
        "totalLines": attributes["total_lines"],
        **tail(answer),
    }
    return payload, with_notices(f"URL: {url}\n{content}", answer)


def _list_files(arguments: ListFilesArguments, context: ToolContext) -> ToolResult:
    target = requested_commit(context, arguments.repo, arguments.revision or "")
    path = clean_path(arguments.path or "")
    with ObjectReader(target.repository) as reader:
        entry = find_entry(reader, target.commit, path, target.revision)
        if entry.kind == "submodule":
            raise _submodule("list_files", entry)
        if entry.kind != "directory":
            raise ToolError(
                f"list_files: {path} is a {entry.kind}; read_file reads it", tool="list_files", argument="path"
            )
        entries = list_folder(reader, target.commit, entry, target.revision)

    total = len(entries)
    start = _position(arguments.after, target.commit, total)
    end = total
    if context.served:
        end = min(total, start + _MAX_ENTRIES)
    entries = entries[start:end]
    notices: tuple[str, ...] = ()
    if end < total:
        notices = (f"Entries {start + 1:,} to {end:,} of {total:,} are shown; pass endCursor as after for the next.",)

    table = table_of(
        "files",
        len(entries),
        repository=target.name,
        revision=target.revision,
        commit=target.commit,
        path=[f"{item.path}/" if _is_folder(item) else item.path for item in entries],
        is_directory=[_is_folder(item) for item in entries],
        kind=[item.kind for item in entries],
    )
    attributes = {
        "repository": target.name,
        "revision": target.revision,
        "commit": target.commit,
        "path": entry.path,
        "total": total,
        "end_cursor": encode_cursor(f"{target.commit}:{end}") if end < total else None,
    }

    # A reader of pages stops at the page without a next one, so that page is complete even if others came before it.
    return ToolResult(
        columns="files",
        table=table,
        attributes=attributes,
        complete=not notices and (context.served or not start),
        notices=notices,
    )


def _is_folder(entry: TreeEntry) -> bool:
    return entry.kind in {"directory", "submodule"}


def _position(cursor: str | None, commit: str, total: int) -> int:
    """Return the number of the first entry of a page."""
    name = decode_cursor(cursor, "after", "list_files")
    if name is None:
        return 0

    cursor_commit, _, number = name.partition(":")
    # Entries are numbered within one commit: in another, the number would skip or repeat some.
    is_number = number.isdecimal() and len(number) <= len(str(total))
    if cursor_commit != commit or not is_number or int(number) > total:
        raise ToolError(
            "list_files: the cursor belongs to another directory or commit; start without after, or pass the commit of "
            "the earlier answer as revision",
            tool="list_files",
            argument="after",
        )

    return int(number)


def _render_files(answer: ToolResult, context: ToolContext) -> Rendered:
    del context
    rows = answer.table.select(["path", "is_directory", "kind"]).to_pylist()
    text = "".join([f"{one_line(row['path'])}\n" for row in rows])
    if not rows:
        text = "No files: the repository is empty at this revision.\n"

    payload: dict[str, Any] = {
        "files": [_file_payload(row) for row in rows],
        **total_beside(answer, "total", answer.attributes["total"], len(rows)),
        "repo": answer.attributes["repository"],
        "commit": answer.attributes["commit"],
    }
    cursor = answer.attributes["end_cursor"]
    if cursor:
        payload["pageInfo"] = {"endCursor": cursor, "hasNextPage": True}
        text += f"\nendCursor: {cursor}\n"

    return payload | tail(answer), with_notices(text, answer)


def _file_payload(row: Mapping[str, Any]) -> dict[str, Any]:
    payload = {"path": row["path"], "isDirectory": row["is_directory"]}
    # Files and directories are told apart by `isDirectory`.
    if row["kind"] in {"symlink", "submodule"}:
        payload["kind"] = row["kind"]
    return payload


def _correct_range(part: ToolResult, full_result: ToolResult, start: ItemMark, end: ItemMark) -> ToolResult:
    """Correct the range of a part of a file."""
    del end
    first = full_result.attributes["start_line"] + start.item
    attributes = {"start_line": first, "end_line": first + part.table.num_rows - 1, "whole": False}
    return replace(part, attributes={**part.attributes, **attributes})


READ_FILE_HANDLER = Handler(READ_FILE, _read_file, _render_file, TableItems("lines", "line", adjust=_correct_range))
HANDLERS: tuple[Handler[Any], ...] = (
    READ_FILE_HANDLER,
    Handler(LIST_FILES, _list_files, _render_files, TableItems("entries")),
)
