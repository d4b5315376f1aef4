"""Handler of `verify`: find the citations of a text, and check each against git.

A citation is an address of a file (of this service, of GitHub or of GitLab), `repository@commit:path#L3-9`, or a path
with lines: `path:12`, `path:3-9`, `path#L3-L9`. A block of code is a quote if a citation is on the line before or after
it, or on the line of its fence. Nothing of the text is executed or fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote, urlsplit

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import SourcelightError, ToolError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.catalog import table_of
from sourcelight.core.tools.files import ReadFileArguments
from sourcelight.core.tools.inspection import COLUMNS, VERIFY, VerifyArguments
from sourcelight.engines.tools import files
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.line_ranges import find_lines, normalize_lines
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import Row, join_parts, render_rows
from sourcelight.repos import ObjectReader, Repository, resolve

MAX_CHARACTERS = 1_000_000
"""Characters of a text that is verified."""

MAX_CITATIONS = 2_000
"""Citations of a text that are checked."""

_MAX_CANDIDATES = 200
"""Repositories in which a citation without a repository is looked for."""

# Words are cut and then read from their ends: patterns that look for a path within a line go back over it, which takes
# minutes where a line has 100,000 slashes.
_WORD = re.compile(r"[^\s<>()\[\]`\"'|]+")
_MAX_WORD = 1_000
"""Characters of a word that may be a citation."""

_AROUND = ".,;:!?*_"
_END = re.compile(r"(?:#L(?P<a>\d{1,7})(?:-L?(?P<b>\d{1,7}))?|:(?P<c>\d{1,7})(?:-(?P<d>\d{1,7}))?)\Z")
"""The lines at the end of a citation: ``#L3-L9`` or ``:12``."""

_PLACE = re.compile(r"(?P<repo>[\w./-]+)@(?P<commit>[0-9a-fA-F]{7,40}):(?P<path>[^:#]+)")
"""``owner/name@1f4c9e2:src/retry.py``."""

_PATH = re.compile(r"[\w./@+-]+")
"""A path: ``src/retry.py``."""

_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,9}\Z")
"""The extension of a file."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
"""The first or last line of a block of code."""

_ANCHOR = re.compile(r"^L(\d{1,7})(?:C\d+)?(?:-L?(\d{1,7})(?:C\d+)?)?$")
"""The lines in the fragment of an address: ``L3-L9`` or ``L3C1-L9C2``."""

_FORGE = re.compile(r"^/(?P<name>[^/]+/[^/]+(?:/[^/]+){0,8}?)(?:/-)?/blob/(?P<revision>[^/]+)/(?P<path>.+)$")
"""The path of an address of GitHub or GitLab: ``/owner/name/blob/main/src/retry.py``."""

_OURS = re.compile(r"^/(?P<name>.+?)(?:@(?P<revision>[^/]+))?/-/blob/(?P<path>.+)$")
"""The path of an address of this service: ``/github.com/owner/name@main/-/blob/src/retry.py``."""

_NAMES = tuple(column.name for column in COLUMNS["citations"])


@dataclass(frozen=True, slots=True)
class CodeReference:
    """A citation as a text has it: lines are 0 for a whole file; `repository` and `revision` may be empty."""

    text_line: int
    text: str
    path: str
    first: int = 0
    last: int = 0
    repository: str = ""
    revision: str = ""
    quote: tuple[str, ...] = ()


def code_references(text: str) -> list[CodeReference]:
    """Return the citations of a text in order, citations of a line before the quote that belongs to them."""
    references: list[CodeReference] = []
    lines = text.split("\n")
    position = 0
    last_of_line: dict[int, int] = {}
    while position < len(lines):
        fence = _FENCE.match(lines[position])
        if fence is None:
            for reference in _in_line(lines[position], position + 1):
                last_of_line[position] = len(references)
                references.append(reference)
            position += 1
            continue

        end = position + 1
        while end < len(lines) and not _ends_fence(lines[end], fence[1]):
            end += 1

        quote = tuple(lines[position + 1 : end])
        own_references = list(_in_line(fence[2], position + 1))
        before = next((n for n in range(position - 1, max(-1, position - 3), -1) if lines[n].strip()), -1)
        if own_references:
            references.append(replace(own_references[0], quote=quote))
        elif before in last_of_line and not references[last_of_line[before]].quote:
            index = last_of_line[before]
            references[index] = replace(references[index], quote=quote)
        elif end + 1 < len(lines) and (after := list(_in_line(lines[end + 1], end + 2))):
            references.append(replace(after[0], quote=quote))
            references += after[1:]
            end += 1

        position = end + 1

    return references


def _ends_fence(line: str, fence: str) -> bool:
    text = line.strip()
    return text.startswith(fence) and not text.strip(fence[0])


def _in_line(line: str, number: int) -> Iterator[CodeReference]:
    """Yield the citations of a line, from left to right."""
    for word in _WORD.findall(line):
        if len(word) > _MAX_WORD:
            continue
        text = word.rstrip(_AROUND).lstrip("*_")
        reference = _parse_url(text, number) if "://" in text else _parse_word(text, number)
        if reference is not None:
            yield reference


def _parse_word(text: str, number: int) -> CodeReference | None:
    """Return the citation that a word is, or None for other words."""
    end = _END.search(text, max(0, len(text) - 24))
    first, last = _range(end["a"] or end["c"], end["b"] or end["d"]) if end else (0, 0)
    remaining = text[: end.start()] if end else text
    match = _PLACE.fullmatch(remaining)
    if match is not None:
        return CodeReference(
            text_line=number,
            text=text,
            path=match["path"],
            first=first,
            last=last,
            repository=match["repo"],
            revision=match["commit"],
        )

    # The path needs an extension or a slash: `12:30` and `host:80` aren't files.
    is_path = _PATH.fullmatch(remaining) is not None and (
        "/" in remaining or _EXTENSION.search(remaining[-12:]) is not None
    )
    if end and is_path and remaining.strip("/."):
        return CodeReference(text_line=number, text=text, path=remaining, first=first, last=last)
    return None


def _range(first: str | None, last: str | None) -> tuple[int, int]:
    start = int(first or 0)
    return start, int(last) if last else start


def _parse_url(url: str, number: int) -> CodeReference | None:
    """Parse the address of a file; return None for other addresses."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None

    path = unquote(parts.path)
    anchor = _ANCHOR.match(parts.fragment) or _ANCHOR.match(parts.query.partition("&")[0])
    if anchor is None and "?L" in path:  # an address with its question mark escaped
        path, _, remaining = path.rpartition("?")
        anchor = _ANCHOR.match(remaining)

    first, last = _range(anchor[1], anchor[2]) if anchor else (0, 0)
    ours, forge = _OURS.match(path), _FORGE.match(path)

    # GitLab's addresses look alike, but have lines behind a `#`, and always a revision.
    if ours is not None and (ours["revision"] or not parts.fragment or forge is None):
        return CodeReference(
            text_line=number,
            text=url,
            path=ours["path"],
            first=first,
            last=last,
            repository=ours["name"],
            revision=ours["revision"] or "",
        )
    if forge is None:
        return None

    name = f"{parts.hostname}/{forge['name']}"
    return CodeReference(
        text_line=number,
        text=url,
        path=forge["path"],
        first=first,
        last=last,
        repository=name,
        revision=forge["revision"],
    )


@dataclass(slots=True)
class _Checker:
    """Checks the citations of one text for one viewer."""

    arguments: VerifyArguments
    context: ToolContext
    repositories: Sequence[Repository]
    _paths: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    _lines: dict[tuple[str, str, str], list[str] | None] = field(default_factory=dict)

    def check(self, reference: CodeReference) -> dict[str, Any]:
        """Return the row of a citation."""
        self.context.cancellation.check()
        row: dict[str, Any] = {
            "text_line": reference.text_line,
            "citation": reference.text,
            "quoted": bool(reference.quote),
            "path": reference.path,
            "start_line": reference.first or None,
            "end_line": reference.last or None,
        }
        locations, reason = self._locations(reference)
        if len(locations) != 1:
            return {**row, "status": "rejected", "reason": reason}

        repository, commit, path = locations[0]
        row |= {"repository": repository.name, "commit": commit, "path": path}
        lines = self._text(repository, commit, path)
        if lines is None:
            return {**row, "status": "rejected", "reason": "the file can't be read as text at this commit"}

        return {**row, **self._compare(reference, lines, path)}

    def _compare(self, reference: CodeReference, lines: list[str], path: str) -> dict[str, Any]:
        first, last = reference.first, reference.last
        if first and last < first:
            return {"status": "rejected", "reason": f"its last line {last} is before its first"}

        quoted = normalize_lines(reference.quote)
        while quoted and not quoted[-1]:
            quoted.pop()

        while quoted and not quoted[0]:
            quoted.pop(0)

        if not quoted:
            if last > len(lines):
                return {"status": "rejected", "reason": f"the file has {count_of(len(lines), 'line')}"}
            return {"status": "verified", "reason": ""}

        if first and last <= len(lines) and normalize_lines(lines[first - 1 : last]) == quoted:
            return {"status": "verified", "reason": ""}

        positions = find_lines(lines, quoted)
        if any(not first or (first - 1 <= position and position + len(quoted) <= last) for position in positions):
            return {"status": "verified", "reason": ""}  # a part of the cited lines, or somewhere in the cited file

        return _elsewhere(positions, len(quoted), path)

    def _locations(self, reference: CodeReference) -> tuple[list[tuple[Repository, str, str]], str]:
        """Return the location of a citation, or why it isn't unique."""
        candidates = self._candidates(reference)
        if not candidates:
            return [], "no such repository"

        exact: list[tuple[Repository, str, str]] = []
        alike: list[tuple[Repository, str, str]] = []
        path = reference.path.strip("/")
        reasons = set()
        for repository in candidates:
            revision = reference.revision or self.arguments.revision or ""
            try:
                commit = resolve(repository, revision)
            except SourcelightError:
                reasons.add(f"{repository.name} has no revision {revision}")
                continue

            for name in self._names(repository, commit):
                if name == path:
                    exact.append((repository, commit, name))
                elif name.endswith(f"/{path}"):
                    alike.append((repository, commit, name))

        locations = exact or alike
        if len(locations) == 1:
            return locations, ""
        if locations:
            return locations, f"{len(locations):,} files have this path: name the repository and the full path"

        return [], next(iter(sorted(reasons)), "no such file at the commit that was checked")

    def _candidates(self, reference: CodeReference) -> list[Repository]:
        name = reference.repository or (self.arguments.repo or "").strip("/")
        if not name:
            return list(self.repositories[:_MAX_CANDIDATES])
        same_name = [repository for repository in self.repositories if repository.name == name]
        # A path that starts with the name of a repository names it: `name/src/a.py:3`.
        return same_name or [repository for repository in self.repositories if repository.name.endswith(f"/{name}")]

    def _names(self, repository: Repository, commit: CommitId) -> tuple[str, ...]:
        key = repository.key, commit
        if key not in self._paths:
            try:
                with ObjectReader(repository) as reader:
                    paths = tuple(path.decode("utf-8", "replace") for path in reader.tree(commit).paths)
            except SourcelightError:
                paths = ()
            self._paths[key] = paths

        return self._paths[key]

    def _text(self, repository: Repository, commit: str, path: str) -> list[str] | None:
        key = repository.key, commit, path
        if key not in self._lines:
            arguments = ReadFileArguments(repo=repository.name, path=path, revision=commit)
            reading = replace(self.context, served=False, observer=None)
            try:
                answer = self.context.engine.run_tool(files.READ_FILE_HANDLER, arguments, reading)
                self._lines[key] = [line.removesuffix("\r") for line in answer.table.column("line").to_pylist()]
            except SourcelightError:
                self._lines[key] = None

        return self._lines[key]


def _elsewhere(positions: Sequence[int], size: int, path: str) -> dict[str, Any]:
    """Report where in its file quoted code is, if it is not on the cited lines."""
    if len(positions) == 1:
        start, end = positions[0] + 1, positions[0] + size
        location = {"new_path": path, "new_start_line": start, "new_end_line": end}
        return {"status": "moved", "reason": f"the quoted code is on lines {start} to {end}", **location}

    if positions:
        # It is unknown which of them was meant.
        starts = ", ".join(str(position + 1) for position in positions[:5])
        return {"status": "rejected", "reason": f"the quoted code is elsewhere, in several places: lines {starts}"}

    return {"status": "rejected", "reason": "the file has no such code"}


def _verify(arguments: VerifyArguments, context: ToolContext) -> ToolResult:
    if len(arguments.markdown) > MAX_CHARACTERS:
        message = f"verify: the text has {len(arguments.markdown):,} characters; the limit is {MAX_CHARACTERS:,}"
        raise ToolError(message, tool="verify", argument="markdown")

    if arguments.repo:
        context.engine.catalog.get(arguments.repo.strip("/"), context.viewer)

    references = code_references(arguments.markdown)
    notices: tuple[str, ...] = ()
    if not references:
        notices = ("The text has no citation of code.",)

    if len(references) > MAX_CITATIONS:
        notices = (f"The first {MAX_CITATIONS:,} of {len(references):,} citations were checked.",)

    checker = _Checker(arguments, context, context.engine.catalog.visible(context.viewer))
    rows = [checker.check(reference) for reference in references[:MAX_CITATIONS]]
    columns: dict[str, Any] = {name: [row.get(name) for row in rows] for name in _NAMES}
    statuses = [row["status"] for row in rows]
    attributes = {status: statuses.count(status) for status in ("verified", "moved", "rejected")}
    complete = len(references) <= MAX_CITATIONS
    return ToolResult(
        columns="citations",
        table=table_of("citations", len(rows), **columns),
        attributes=attributes,
        complete=complete,
        notices=notices,
    )


def _line(row: Row) -> str:
    reason = f"({row['reason']})" if row["reason"] else ""
    return join_parts([f"{row['text_line']}: {row['status']}", row["citation"], reason])


HANDLERS: tuple[Handler[Any], ...] = (Handler(VERIFY, _verify, render_rows(_line), TableItems("citations")),)
