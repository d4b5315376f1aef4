"""The cells of Jupyter notebooks: nbformat 4, and nbformat 3 with its worksheets.

A reader of nbformat joins the strings of a source and shows the result; so does this one, and it remembers where each
string stands. What a notebook may lack or get wrong (no metadata, a source that is a number) leaves that part empty: a
broken cell must not hide the others.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sourcelight.core.cells.json_places import JsonNode, JsonScalar, JsonString, read_json, unescape
from sourcelight.core.cells.model import CellDocument, CellText, Fragment
from sourcelight.core.query.cell_kinds import CODE, MARKDOWN, OUTPUT, RAW
from sourcelight.core.query.languages import find_language

_WORKSHEETS_BEFORE = 4
"""The version of nbformat that gave up worksheets."""

_KINDS = {b"code": CODE, b"markdown": MARKDOWN, b"heading": MARKDOWN, b"html": MARKDOWN, b"raw": RAW}
_READABLE_DATA = (b"text/plain", b"text/markdown", b"text/latex")
"""Mime types of outputs that are text for readers. HTML, JSON and images are for programs."""


_ESCAPES = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|.)")


class NoNotebook(ValueError):
    """Raised for JSON without the lists of a notebook."""


def read_notebook(data: bytes) -> CellDocument:
    """Return the cells of a notebook.

    Raises
    ------
    InvalidJson
        For what is no JSON, or too much of it.
    NoNotebook
        For JSON that has no cells.
    """
    root = read_json(data)
    if not isinstance(root, dict):
        raise NoNotebook("it has no cells")
    file = _NotebookFile(data)
    version = _number(data, root.get(b"nbformat"))
    if version is not None and version < _WORKSHEETS_BEFORE:
        cells = [cell for sheet in _items(root.get(b"worksheets")) for cell in _items(_get(sheet, b"cells"))]
        is_notebook = isinstance(root.get(b"worksheets"), list)
    else:
        cells, is_notebook = list(_items(root.get(b"cells"))), isinstance(root.get(b"cells"), list)
    if not is_notebook:
        raise NoNotebook("it has no cells")
    language = file.kernel_language(root.get(b"metadata"))
    texts: list[CellText] = []
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        kind = _KINDS.get(file.text(cell.get(b"cell_type")), RAW)
        # nbformat 3 names the source of code and its language otherwise.
        source = cell.get(b"source", cell.get(b"input"))
        own_language = find_language(file.text(cell.get(b"language")).decode("utf-8", "replace")) or language
        language = language or own_language
        joined = file.join([_strings(source)])
        of_cell = [CellText(number, kind, own_language, *joined)] if joined[0] else []
        output = file.join(_output_texts(_items(cell.get(b"outputs")))) if kind == CODE else (b"", ())
        if output[0]:
            of_cell.append(CellText(number, OUTPUT, own_language, *output))
        # Keys are sorted in most notebooks, so outputs stand above their source.
        texts += sorted(of_cell, key=lambda text: text.fragments[0].start)
    return CellDocument(tuple(texts), language, len(cells))


def _get(node: JsonNode, key: bytes) -> JsonNode | None:
    return node.get(key) if isinstance(node, dict) else None


def _items(node: JsonNode | None) -> Iterable[JsonNode]:
    return node if isinstance(node, list) else ()


def _strings(node: JsonNode | None) -> list[JsonString]:
    """Return the strings of a source: one, or a list of them."""
    items = [node] if isinstance(node, JsonString) else _items(node)
    return [item for item in items if isinstance(item, JsonString)]


def _output_texts(outputs: Iterable[JsonNode]) -> Iterator[list[JsonString]]:
    """Yield what each output shows as text, as runs of strings that are joined, in the order of the file."""
    for output in outputs:
        if not isinstance(output, dict):
            continue
        # ``text`` is that of a stream, and in nbformat 3 of any output.
        runs = [_strings(output.get(b"text")), _strings(output.get(b"evalue"))]
        runs += [[line] for line in _strings(output.get(b"traceback"))]
        data = output.get(b"data")
        if isinstance(data, dict):
            runs += [_strings(data.get(mime)) for mime in _READABLE_DATA]
        yield from sorted(filter(None, runs), key=lambda run: run[0].start)


def _number(data: bytes, node: JsonNode | None) -> int | None:
    # `isdigit` first: the digits of a hostile number may be megabytes.
    text = data[node.start : node.end] if isinstance(node, JsonScalar) else b""
    return int(text) if text.isdigit() and len(text) < 4 else None


@dataclass(slots=True)
class _NotebookFile:
    """The bytes of a notebook, and where its lines end."""

    data: bytes
    _newlines: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._newlines = [match.start() for match in re.finditer(b"\n", self.data)]

    def line_of(self, position: int) -> int:
        """Return the 1-based line of a byte."""
        return bisect.bisect_right(self._newlines, position) + 1

    def _breaks(self, string: JsonString) -> tuple[int, ...]:
        escapes = _ESCAPES.finditer(self.data, string.start, string.end)
        ends = tuple(escape.end() for escape in escapes if escape[0][1:].lower() in {b"n", b"u000a"})
        return ends[:-1] if ends and ends[-1] == string.end else ends

    def text(self, node: JsonNode | None) -> bytes:
        """Return the text of a string; empty for anything else."""
        return unescape(self.data[node.start : node.end]) if isinstance(node, JsonString) else b""

    def kernel_language(self, metadata: JsonNode | None) -> str:
        """Return the display name of the kernel's language; empty for none, or an unknown one."""
        if not isinstance(metadata, dict):
            return ""
        named = [
            _get(metadata.get(b"language_info", {}), b"name"),
            _get(metadata.get(b"kernelspec", {}), b"language"),
            _get(metadata.get(b"kernelspec", {}), b"name"),
        ]
        names = (self.text(name).decode("utf-8", "replace") for name in named)
        return next((language for name in names if (language := find_language(name))), "")

    def join(self, runs: Iterable[list[JsonString]]) -> tuple[bytes, tuple[Fragment, ...]]:
        """Join strings; each run of them starts on a line of its own."""
        parts: list[bytes] = []
        fragments: list[Fragment] = []
        size = 0
        for run in runs:
            if parts and any(string.end > string.start for string in run) and not parts[-1].endswith(b"\n"):
                parts.append(b"\n")
                size += 1
            for string in run:
                part = unescape(self.data[string.start : string.end])
                if part:
                    line = self.line_of(string.start)
                    breaks = self._breaks(string) if b"\n" in part[:-1] else ()
                    fragments.append(Fragment(string.start, string.end, line, size, is_json=True, breaks=breaks))
                    parts.append(part)
                    size += len(part)
        return b"".join(parts), tuple(fragments)
