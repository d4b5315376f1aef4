"""`read_file` of a service: part after part, until the end of the file is proven.

Services cut large files in different ways: with an error, a flag, or a sentence whose words change from release to
release. None of these counts as the end. After each part, the last line is requested again together with those after
it: the file ends where that line comes back alone. This also repairs a last line that was cut in the middle.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from sourcelight.backends.remote.mcp.payloads import is_cut, is_too_large, keep_text, notices
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.backends.remote.mcp.text_forms import parse_chunks, parse_notes, unnumbered_lines
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import ToolError
from sourcelight.core.tools.catalog import table_of

_FIRST_PART_LINES, _MAX_PART_LINES = 1_000, 16_000
"""Lines of a part: the first of a file that is too large to be read at once, and those of any other."""


class _FilePart:
    """Lines of a file from one response, by their numbers."""

    def __init__(self, request: ToolRequest, value: Mapping[str, Any] | str, end: int | None) -> None:
        # Some services return JSON, others the numbered lines as text below a line with the address.
        if isinstance(value, str):
            info: Mapping[str, Any] = {}
            url, text = _split_url(value)
            self.notices = parse_notes(text)
        else:
            info = value
            content = value.get("content")
            url, text = str(value.get("url") or ""), content if isinstance(content, str) else ""
            self.notices = notices(value)

        blob = request.blob(url)
        self.text = text
        self.commit = str(info.get("commit") or blob.commit)
        self.path = str(info.get("path") or blob.path or request.arguments["path"])
        total = info.get("totalLines")
        self.total = total if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else None
        self.unnumbered = unnumbered_lines(text)
        # An empty file has an empty content; without any, or with a null, nothing is known.
        has_content = isinstance(value, str) or isinstance(value.get("content"), str)
        self.is_truncated = is_cut(info) or bool(self.unnumbered) or not has_content
        self.lines = _numbered_lines(text, end)
        last_line = self.lines.get(self.last)
        if self.total is None and last_line == "" and (self.unnumbered or not text.endswith("\n")):
            # Other services count the text after the last newline as a line.
            del self.lines[self.last]

    @property
    def first(self) -> int:
        """Number of its first line; 0 without lines."""
        return min(self.lines, default=0)

    @property
    def last(self) -> int:
        """Number of its last line; 0 without lines."""
        return max(self.lines, default=0)


def _split_url(text: str) -> tuple[str, str]:
    """Return the address in the first line of a text, if there is one, and the text below."""
    if not text.startswith("URL: "):
        return "", text
    first_line, _, content = text.partition("\n")
    return first_line.removeprefix("URL: "), content


def _numbered_lines(text: str, end: int | None) -> dict[int, str]:
    lines: dict[int, str] = {}
    for chunk in parse_chunks(text):
        lines |= enumerate(chunk.lines, chunk.first)

    # Other services number one line more than was requested.
    return lines if end is None else {number: line for number, line in lines.items() if number <= end}


class _FileReader:
    """Reads a file, or the requested lines of it, in as many parts as it takes."""

    def __init__(self, request: ToolRequest) -> None:
        self._request = request
        self._arguments: dict[str, Any] = dict(request.arguments)
        self.first: int = request.arguments.get("startLine") or 1
        self._end: int | None = request.arguments.get("endLine")
        self._part_lines = _MAX_PART_LINES
        self._bounded = True
        self.lines: list[str] = []
        self.parts: list[_FilePart] = []
        self.total: int | None = None

    @property
    def last(self) -> int:
        """Number of the last line that was read."""
        return self.first + len(self.lines) - 1

    async def read(self) -> str:
        """Read to the end; returns why the end is not proven, or nothing."""
        part = await self._first_part()
        self.first = part.first or self.first
        self._add(part)
        name = (await self._request.accepted_arguments()).name_of("revision")
        if part.commit and name is not None:
            self._arguments[name] = part.commit  # a branch may move between two parts

        if not self.lines:
            is_behind_end = self.total is None or self.first > self.total
            if is_behind_end and not part.is_truncated:
                return ""
            return "The service returns no lines of this file."

        while not self._is_at_end():
            reason = await self._read_on()
            if reason is not None:
                return reason

        return ""

    def _is_at_end(self) -> bool:
        """Return whether the last requested line, or the last line of the file, was read."""
        ends = [end for end in (self._end, self.total) if end is not None]
        return any(self.last >= end for end in ends)

    def _add(self, part: _FilePart) -> bool:
        """Append the lines that follow; return whether there were any. Lines after a gap are requested again."""
        self.parts.append(part)
        self.total = part.total if part.total is not None else self.total
        before = self.last

        # The last line may have been cut in the middle of a part, so its repetition replaces it.
        if self.lines and before in part.lines:
            self.lines[-1] = part.lines[before]

        while self.last + 1 in part.lines:
            self.lines.append(part.lines[self.last + 1])

        return self.last > before

    async def _first_part(self) -> _FilePart:
        request = self._request
        try:
            return _FilePart(request, (await request.ask(self._arguments)).read(("content",)), self._end)
        except ToolError as exc:
            if not is_too_large(exc):
                raise

        self._part_lines = _FIRST_PART_LINES
        while True:
            try:
                return await self._ask(self.first, self.first + self._part_lines - 1)
            except ToolError as exc:
                if not is_too_large(exc) or self._part_lines == 1:
                    raise
                self._part_lines = max(self._part_lines // 4, 1)

    async def _read_on(self) -> str | None:
        """Read the next part; None to continue, the reason why the end is not proven, empty when it is."""
        last = self.last
        try:
            part = await self._ask(last, last + self._part_lines)
        except ToolError as exc:
            return await self._read_less(exc)

        if self._add(part):
            self._part_lines = min(self._part_lines * 2, _MAX_PART_LINES)
            return None
        if part.is_truncated and part.first == last and not self._is_at_end():
            return await self._read_one(last + 1)

        return self._end_of_part(part)

    async def _read_less(self, refusal: ToolError) -> str | None:
        """Continue in another way after the service refused to return the next lines."""
        if not is_too_large(refusal):
            if not self._bounded or "startLine" not in await self._request.accepted_arguments():
                return f"The service returns lines up to {self.last:,} and can't read on: {refusal}"
            self._bounded = False  # some services refuse an end behind the last line
            return None

        if self._part_lines == 1:
            return await self._read_one(self.last + 1)

        self._part_lines = max(self._part_lines // 4, 1)
        return None

    def _end_of_part(self, part: _FilePart) -> str:
        """Return why a part without new lines does not prove the end; empty when it does."""
        last = self.last
        if self._is_at_end() or part.first == last:
            return ""
        if not part.lines:
            return f"The service returns lines up to {last:,}, but no line when {last:,} and later ones are requested."
        return f"The service returns line {part.first:,} when line {last:,} is requested; lines after it may exist."

    async def _read_one(self, number: int) -> str | None:
        """Read a line that the service left out of a larger part."""
        try:
            part = await self._ask(number, number)
        except ToolError as exc:
            return f"The service returns lines up to {number - 1:,} and can't read the next one: {exc}"
        if self._add(part):
            return None
        return f"The service returns lines up to {number - 1:,}, and reports that it truncated the text."

    async def _ask(self, first: int, end: int) -> _FilePart:
        self._request.report("reading lines", first - 1, self.total or self._end or 0)
        arguments = {**self._arguments, "startLine": first}
        requested_end = None
        if self._bounded or self._end is not None:
            requested_end = end if self._end is None else min(end, self._end)
            arguments["endLine"] = requested_end

        answer = await self._request.ask(arguments)
        return _FilePart(self._request, answer.read(("content",)), requested_end)


async def _read_file(request: ToolRequest) -> ToolResult:
    reader = _FileReader(request)
    reason = await reader.read()
    lines, first_part = reader.lines, reader.parts[0]
    if not lines and first_part.text.strip():
        return keep_text(request.name, first_part.text, repository=request.arguments["repo"], path=first_part.path)

    total = reader.total
    is_whole = request.arguments.get("startLine") is None and request.arguments.get("endLine") is None
    if is_whole and total is None and not reason:
        total = reader.last if lines else 0

    repo, revision = request.arguments["repo"], request.arguments.get("revision") or ""
    table = table_of(
        "file_lines",
        len(lines),
        repository=repo,
        revision=revision,
        commit=first_part.commit or None,
        path=first_part.path,
        line_number=list(range(reader.first, reader.last + 1)),
        line=lines,
    )
    info = {
        "repository": repo,
        "revision": revision,
        "commit": first_part.commit,
        "path": first_part.path,
        "start_line": reader.first,
        "end_line": reader.last,
        "total_lines": total,
        "whole": is_whole,
    }
    messages = [reason] if reason else []
    # Messages are about a part. They say nothing where several parts have made the whole.
    if reason or len(reader.parts) == 1:
        for part in reader.parts:
            messages += [*part.notices, *part.unnumbered]

    return ToolResult(
        columns="file_lines",
        table=table,
        attributes=info,
        complete=not reason,
        notices=tuple(dict.fromkeys(messages)),
    )


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {"read_file": _read_file}
