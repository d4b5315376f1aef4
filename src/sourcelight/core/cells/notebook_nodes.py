"""Read the cells of a notebook from the nodes of its JSON, which know their places in the file.

This reader takes any notebook: repeated keys, invalid bytes, escapes in every string. `notebook` reads usual ones in a
third of the time.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from sourcelight.core.cells.json_places import JsonNode, JsonScalar, JsonString, read_json, unescape
from sourcelight.core.cells.model import CellDocument, CellText, Fragment
from sourcelight.core.query.fields import CODE, MARKDOWN, OUTPUT, RAW
from sourcelight.core.query.languages import find_language

FIRST_WITHOUT_WORKSHEETS = 4
"""The first version of nbformat whose cells are not in worksheets."""

KINDS = {"code": CODE, "markdown": MARKDOWN, "heading": MARKDOWN, "html": MARKDOWN, "raw": RAW}
"""Kind of a cell by its ``cell_type``; headings and HTML are of nbformat 3."""

READABLE_DATA = ("text/plain", "text/markdown", "text/latex")
"""Mime types of outputs that people read as text. HTML, JSON and images are for programs."""

KERNEL_NAMES = (("language_info", "name"), ("kernelspec", "language"), ("kernelspec", "name"))
"""Keys of ``metadata`` that may name the language, the most exact first."""

_MAX_VERSION_DIGITS = 3
"""Digits of a version number that are read: those of a hostile one may be megabytes."""

_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|.)")
r"""``\n`` or ``\u000a`` inside a JSON string."""

_NEWLINE_ESCAPES = frozenset({rb"\n", rb"\u000a", rb"\u000A"})
"""Escapes of a newline in JSON."""


class NoNotebook(ValueError):
    """Raised for JSON without the lists of a notebook."""


def read_slowly(data: bytes) -> CellDocument:
    """Return the cells of any notebook, also with repeated keys, invalid bytes or errors that other readers accept."""
    root = read_json(data)
    if not isinstance(root, dict):
        raise NoNotebook("it has no cells")

    version = _number(data, root.get(b"nbformat"))
    is_old = version is not None and version < FIRST_WITHOUT_WORKSHEETS
    if not isinstance(root.get(b"worksheets" if is_old else b"cells"), list):
        raise NoNotebook("it has no cells")

    file = NotebookFile(data, is_old=is_old)
    cells = _CellList(file, file.kernel_language(root.get(b"metadata")))
    for cell in _cells_of(root, is_old=is_old):
        cells.add(cell)
    return CellDocument(tuple(cells.texts), cells.language, cells.count, cells.malformed)


def _cells_of(root: dict[bytes, JsonNode], *, is_old: bool) -> Iterator[JsonNode]:
    if not is_old:
        yield from _items(root.get(b"cells"))
        return
    for sheet in _items(root.get(b"worksheets")):
        yield from _items(_get(sheet, b"cells"))


@dataclass(slots=True)
class _CellList:
    """The cells of a notebook that have been read.

    `language` is the kernel's, or that of the first cell that names one; it is empty while it is unknown.
    """

    file: NotebookFile
    language: str
    texts: list[CellText] = field(default_factory=list)
    count: int = 0
    malformed: int = 0

    def add(self, cell: JsonNode) -> None:
        """Read the next cell: its source, and the outputs of code."""
        self.count += 1
        if not isinstance(cell, dict):
            self.malformed += 1
            return

        file = self.file
        kind = KINDS.get(file.text(cell.get(b"cell_type")).decode("utf-8", "replace"), RAW)
        # nbformat 3 has other keys for the source of code and its language.
        source = cell.get(b"source", cell.get(b"input"))
        if not _is_source(file.data, source):
            self.malformed += 1
        language = find_language(file.text(cell.get(b"language")).decode("utf-8", "replace")) or self.language
        self.language = self.language or language

        texts = [self._text(kind, language, file.join([_strings(source)]))]
        if kind == CODE:
            outputs = file.join(_output_texts(_items(cell.get(b"outputs"))))
            texts.append(self._text(OUTPUT, language, outputs))
        # Keys are sorted in most notebooks, so outputs come before their source.
        self.texts += sorted((text for text in texts if text.text), key=lambda text: text.file_start)

    def _text(self, kind: str, language: str, joined_text: JoinedText) -> CellText:
        return CellText(self.count, kind, language, joined_text.text, joined_text.fragments)


class JoinedText(NamedTuple):
    """The text of some strings of a file, and the place of each string."""

    text: bytes
    fragments: tuple[Fragment, ...]


@dataclass(slots=True)
class NotebookFile:
    """The bytes of a notebook, and where its lines end; `is_old` for nbformat 2 and 3."""

    data: bytes
    is_old: bool = False
    _newlines: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._newlines = [match.start() for match in re.finditer(b"\n", self.data)]

    def text(self, node: JsonNode | None) -> bytes:
        """Return the text of a string; empty for anything else."""
        if isinstance(node, JsonString):
            return unescape(self.data[node.start : node.end])
        return b""

    def kernel_language(self, metadata: JsonNode | None) -> str:
        """Return the display name of the kernel's language; empty for none, or an unknown one."""
        if not isinstance(metadata, dict):
            return ""

        for group, key in KERNEL_NAMES:
            name = self.text(_get(metadata.get(group.encode(), {}), key.encode()))
            language = find_language(name.decode("utf-8", "replace"))
            if language:
                return language
        return ""

    def join(self, runs: Iterable[list[JsonString]]) -> JoinedText:
        """Join strings; each run of them starts on a line of its own."""
        parts: list[bytes] = []
        fragments: list[Fragment] = []
        size = 0
        for run in runs:
            has_text = any(string.end > string.start for string in run)
            if has_text and parts and not parts[-1].endswith(b"\n"):
                parts.append(b"\n")
                size += 1

            needs_newlines = self._needs_newlines(run)
            for position, string in enumerate(run):
                if needs_newlines and position:
                    parts.append(b"\n")
                    size += 1

                text = self.text(string)
                # If newlines were left out, an empty string is an empty line.
                if text or needs_newlines:
                    fragments.append(self._fragment(string, text, size))
                    parts.append(text)
                    size += len(text)

        return JoinedText(b"".join(parts), tuple(fragments))

    def _needs_newlines(self, run: list[JsonString]) -> bool:
        """Return whether a writer left out the newlines between strings, as those of nbformat 2 and some of 3 did.

        The first string tells: writers either ended all strings of a source with a newline, or none.
        """
        if not self.is_old or len(run) < 2:
            return False
        return not self.text(run[0]).endswith((b"\n", b"\r"))

    def _fragment(self, string: JsonString, text: bytes, offset: int) -> Fragment:
        line_number = bisect.bisect_right(self._newlines, string.start) + 1
        breaks: tuple[int, ...] = ()
        if b"\n" in text[:-1]:
            breaks = self._breaks(string)
        return Fragment(string.start, string.end, line_number, offset, is_json=True, breaks=breaks)

    def _breaks(self, string: JsonString) -> tuple[int, ...]:
        """Return where lines of the cell begin inside a string: behind each escaped newline, but not at its end."""
        breaks = []
        for escape in _ESCAPE.finditer(self.data, string.start, string.end):
            if escape[0] in _NEWLINE_ESCAPES and escape.end() < string.end:
                breaks.append(escape.end())
        return tuple(breaks)


def _output_texts(outputs: Iterable[JsonNode]) -> Iterator[list[JsonString]]:
    """Yield the text of each output, as runs of strings to join, in the order of the file."""
    for output in outputs:
        if not isinstance(output, dict):
            continue

        # ``text`` is the key of streams; in nbformat 3, of any output.
        runs = [_strings(output.get(b"text")), _strings(output.get(b"evalue"))]
        # Lines of a traceback are separate strings without newlines.
        runs += [[line] for line in _strings(output.get(b"traceback"))]
        data = output.get(b"data")
        if isinstance(data, dict):
            runs += [_strings(data.get(mime.encode())) for mime in READABLE_DATA]
        yield from sorted(filter(None, runs), key=lambda run: run[0].start)


def _is_source(data: bytes, node: JsonNode | None) -> bool:
    """Return whether a node is a valid source: a text, a list of lines, null, or absent."""
    if isinstance(node, list):
        return all(isinstance(item, JsonString) for item in node)
    if isinstance(node, JsonScalar):
        return data[node.start : node.end] == b"null"
    return node is None or isinstance(node, JsonString)


def _strings(node: JsonNode | None) -> list[JsonString]:
    """Return the strings of a source: one, or a list of them."""
    if isinstance(node, JsonString):
        return [node]
    return [item for item in _items(node) if isinstance(item, JsonString)]


def _get(node: JsonNode, key: bytes) -> JsonNode | None:
    if isinstance(node, dict):
        return node.get(key)
    return None


def _items(node: JsonNode | None) -> Iterable[JsonNode]:
    if isinstance(node, list):
        return node
    return ()


def _number(data: bytes, node: JsonNode | None) -> int | None:
    """Return a small number that isn't negative; None for anything else."""
    if not isinstance(node, JsonScalar) or node.end - node.start > _MAX_VERSION_DIGITS:
        return None
    text = data[node.start : node.end]
    return int(text) if text.isdigit() else None
