"""The cells of Markdown notebooks: MyST, and the Markdown of jupytext.

The rules follow jupytext (`jupytext/myst.py` and `MarkdownCellReader` of `jupytext/cell_reader.py`), so that
the cells of a pair have the same numbers in both of its files. A text without a notebook's header or fences has no
cells.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sourcelight.core.cells.model import CellDocument
from sourcelight.core.cells.scripts import CellBuilder, has_own_keys
from sourcelight.core.query.fields import CODE, MARKDOWN, RAW
from sourcelight.core.query.languages import find_language

MARKER = r"^(?:[ \t]*jupytext:|(?:`{3,}|~{3,})[ \t]*\{(?:code|raw)-cell\})"
"""A line that each Markdown notebook has, as RE2 and Python read it."""

_HEADER = re.compile(rb"\A(<!--[ \t]*\r?\n\s*)?---[ \t]*\r?\n((?:.*\n)*?)---[ \t]*\r?(?:\n|\Z)")
"""The header in YAML, between two lines of dashes, which may be in a comment."""

_HEADER_END = re.compile(rb"(?:.*\n)*?.*-->.*(?:\n|\Z)")
"""The end of that comment."""

_JUPYTEXT = re.compile(rb"^[ \t]*jupytext:", re.MULTILINE)
"""The key below which jupytext writes."""

_FORMAT = re.compile(rb"^[ \t]*format_name:[ \t]*['\"]?(\w+)", re.MULTILINE)
"""The format and its version: ``format_name: myst``."""

_VERSION = re.compile(rb"^[ \t]*format_version:[ \t]*['\"]?([\d.]+)", re.MULTILINE)
_LANGUAGE = re.compile(rb"^[ \t]+(?:language|main_language|default_lexer|name):[ \t]*['\"]?([\w+#-]+)", re.MULTILINE)
"""The language of the kernel: ``language: python``."""

_SPLIT_AT_HEADING = re.compile(rb"^[ \t]*split_at_heading:[ \t]*true\b", re.MULTILINE)
"""An option: each heading begins a cell."""

_FENCE = re.compile(rb"(`{3,}|~{3,})[ \t]*([^\n]*)")
"""The line before code, with what is behind the fence."""

_CELL_INFO = re.compile(rb"\{(code|raw)-cell\}[ \t]*([^\s]*)")
"""The info of a cell in MyST: ``{code-cell} ipython3``."""

_ANY_FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})([^\n]*)")
"""A fence of Markdown, which may be indented."""

_BREAK = re.compile(rb" {0,3}\+{3}(?:[ \t+].*)?\r?$")
"""A line that separates cells of Markdown: ``+++``."""

_RULE = re.compile(rb"-{3,}")
"""The line before and after options in YAML."""

_KERNEL_LANGUAGES = (
    "bash", "c#", "c++", "clojure", "coconut", "cs", "csharp", "cython", "f#", "fs", "fsharp", "gnuplot", "go",
    "groovy", "haskell", "html", "idl", "java", "javascript", "jenner", "js", "julia", "latex", "logtalk", "lua",
    "markdown", "matlab", "maxima", "ocaml", "octave", "perl", "powershell", "pypy", "python", "python2", "python3",
    "q", "r", "robotframework", "ruby", "rust", "sage", "sas", "scala", "scheme", "script", "sh", "sos", "spark",
    "sql", "stata", "svg", "tcl", "typescript", "xonsh",
)  # fmt: skip
"""Languages whose fences are cells, as written here or in capitals."""

_FENCE_NAMES = [*_KERNEL_LANGUAGES, *(name.upper() for name in _KERNEL_LANGUAGES)]
_REGION = re.compile(rb"<!--\s*#(region|markdown|md|raw)(.*)-->\s*$")
"""The comment around a cell: ``<!-- #region -->``."""

_BLANK = re.compile(rb"\s*$")
"""A line of blanks."""

_ACTIVE = re.compile(rb"\bactive=\"([^\"]*)\"")
"""The formats in which a cell is code: ``active="ipynb,py"``."""

_NO_CELL = re.compile(rb"(?:^|\s)\.noeval(?:\s|$)")
"""The class of code that is no cell: ``.noeval``."""

_IPYTHON = {"ipython": "Python", "ipython2": "Python", "ipython3": "Python", "ir": "R"}
"""Languages by the names of kernels."""


class _MarkdownCell(NamedTuple):
    """A cell by its kind, language and lines: `first` to before `end`, from 0."""

    kind: str
    language: str
    first: int
    end: int


class _JupytextBlock(NamedTuple):
    """A cell of jupytext, the line where the next one may begin, and whether a mark or blank lines end the cell."""

    cell: _MarkdownCell
    after: int
    is_explicit: bool


class _CodeFence(NamedTuple):
    """A fence that opens a cell: its marks beyond three, the language, and the options."""

    marks: bytes
    language: bytes
    options: bytes


@functools.cache
def _code_fence() -> re.Pattern[bytes]:
    """Return the pattern of a fence that is a cell: the marks beyond three, the language, and the options behind it."""
    # Compiled on first use, which takes 5 ms that a search of text would spend for nothing.
    names = "|".join(map(re.escape, _FENCE_NAMES)).encode()
    return re.compile(rb"```(`*)\s*(" + names + rb")(?:$|\s(.*)$)")


def read_markdown(data: bytes) -> CellDocument:
    """Return the cells of a Markdown notebook; none for any other Markdown.

    The lines of fences, options and regions belong to no cell. The header isn't a cell, unless it has keys of others
    than jupytext, which then writes it as a raw cell.
    """
    match = _HEADER.match(data)
    header = b"" if match is None else match[2]
    start = 0 if match is None else match.end()
    if match is not None and match[1]:
        comment_end = _HEADER_END.match(data, start)
        start = len(data) if comment_end is None else comment_end.end()

    format_match = _FORMAT.search(header)
    format_name = b"" if format_match is None else format_match[1]
    lines = data[start:].split(b"\n")
    if not lines[-1]:
        lines.pop()

    main = _first_text(map(_language_of, _LANGUAGE.findall(header)))

    # Without a format in the header, a text with MyST's directives is MyST.
    if format_name not in {b"markdown", b"pandoc"}:
        myst_cells = list(_myst_cells(lines, main))
        if format_name == b"myst" or any(cell.kind != MARKDOWN for cell in myst_cells):
            return _document(data, start, lines=lines, cells=myst_cells, main=main)

    if format_name == b"pandoc" or _JUPYTEXT.search(header) is None:
        return CellDocument()
    cells = list(_JupytextReader(lines, header, main).cells())
    return _document(data, start, lines=lines, cells=cells, main=main, has_header=has_own_keys(header))


def _first_text(texts: Iterable[str]) -> str:
    """Return the first text that isn't empty, or an empty one."""
    return next(filter(None, texts), "")


def opens_markdown_cell(line: bytes) -> bool:
    """Return whether a line opens a cell: a fence or a region."""
    fence = _FENCE.match(line)
    is_fence = fence is not None and _CELL_INFO.match(fence[2]) is not None
    return is_fence or _code_fence().match(line.rstrip(b"\r")) is not None or _REGION.match(line) is not None


def _document(
    data: bytes, start: int, *, lines: list[bytes], cells: list[_MarkdownCell], main: str, has_header: bool = False
) -> CellDocument:
    """Return the cells with their places in the file; `main` is the language of the header, or else a cell's."""
    main = main or _first_text(cell.language for cell in cells)
    builder = CellBuilder(data)
    if has_header:
        builder.add(RAW, main, 0, start)

    offsets = [start]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)

    for cell in cells:
        language = cell.language or main
        builder.add(cell.kind, language, offsets[cell.first], min(offsets[cell.end], len(data)))

    return CellDocument(tuple(builder.texts), main, builder.count)


def _language_of(name: bytes) -> str:
    text = name.decode("utf-8", "replace").lower()
    return _IPYTHON.get(text) or find_language(text) or ""


def _myst_cells(lines: list[bytes], main: str) -> Iterator[_MarkdownCell]:
    """Yield the cells of MyST: fences with a directive, and the text between them and breaks (``+++``)."""
    start = number = 0
    while number < len(lines):
        line = lines[number]
        if line.lstrip().startswith(b"<!--") and b"-->" not in line:
            while number < len(lines) and b"-->" not in lines[number]:
                number += 1
            number += 1
            continue

        if _BREAK.match(line):
            yield from _markdown(lines, start, number, main)
            start = number = number + 1
            continue

        fence = _ANY_FENCE.match(line)
        if fence is None or (fence[1].startswith(b"`") and b"`" in fence[2]):
            number += 1
            continue

        end = _fence_end(lines, number + 1, fence[1])
        info = _CELL_INFO.match(fence[2].strip())
        if info is not None and not line.startswith(b" "):
            yield from _markdown(lines, start, number, main)
            body = _body_start(lines, number + 1, end)
            if info[1] == b"code":
                yield _MarkdownCell(CODE, _language_of(info[2]) or main, body, end)
            else:
                yield _MarkdownCell(RAW, main, body, end)
            start = end + 1

        number = end + 1

    yield from _markdown(lines, start, len(lines), main)


def _fence_end(lines: list[bytes], first: int, fence: bytes) -> int:
    """Return the line that closes a fence, or the end of the file."""
    for number in range(first, len(lines)):
        match = _ANY_FENCE.match(lines[number])
        if match is not None and match[1].startswith(fence) and not match[2].strip():
            return number
    return len(lines)


def _body_start(lines: list[bytes], first: int, end: int) -> int:
    """Return the first line of a directive after its options, and after a blank one."""
    number = first
    if number < end and lines[number].startswith(b"---"):
        # Options in YAML, between two lines of dashes.
        number += 1
        while number < end and not _RULE.match(lines[number]):
            number += 1
        number = min(number + 1, end)
    else:
        while number < end and lines[number].lstrip().startswith(b":"):
            number += 1

    if number < end and not lines[number].strip():
        number += 1
    return number


def _markdown(lines: list[bytes], first: int, end: int, language: str) -> Iterator[_MarkdownCell]:
    """Yield the text between two cells without the blank lines around; nothing for blank lines alone."""
    while first < end and not lines[end - 1].strip():
        end -= 1
    while first < end and lines[first] in {b"", b"\r"}:
        first += 1
    if first < end:
        yield _MarkdownCell(MARKDOWN, language, first, end)


class _JupytextReader:
    """Reads the Markdown of jupytext: a cell ends after two blank lines, or where a fence or a region begins."""

    def __init__(self, lines: list[bytes], header: bytes, main: str) -> None:
        self._lines = [line.removesuffix(b"\r") for line in lines]
        self._main = main
        version = _VERSION.search(header)
        # Before 1.2 each fence was a cell.
        self._all_fences = version is not None and version[1] in {b"1.0", b"1.1"}
        self._splits_at_headings = _SPLIT_AT_HEADING.search(header) is not None

    def cells(self) -> Iterator[_MarkdownCell]:
        """Yield the cells in their order, empty ones included."""
        lines = self._lines
        # One blank line follows the header.
        position = 1 if len(lines) > 1 and _BLANK.match(lines[0]) else 0
        while position < len(lines):
            block = self._block(position)
            yield block.cell

            # The blank line, or two after a fence, before the next cell.
            after = block.after
            blanks = 0
            while after + blanks < len(lines) and _BLANK.match(lines[after + blanks]):
                blanks += 1
            is_separator = blanks == 1 or (blanks == 2 and block.is_explicit)
            if is_separator and after + blanks < len(lines):
                after += blanks

            position = max(after, position + 1)

    def _block(self, first: int) -> _JupytextBlock:
        """Return the cell that begins at a line."""
        line = self._lines[first]
        region = _REGION.match(line)
        if region is not None:
            end_mark = re.compile(rb"<!--\s*#end" + region[1] + rb"\s*-->\s*$")
            kind = RAW if region[1] == b"raw" else MARKDOWN
            return self._marked_block(kind, self._main, first, end_mark)

        fence = self._code_fence(line)
        if fence is not None:
            active = _ACTIVE.search(fence.options)
            is_inactive = active is not None and b"ipynb" not in active[1]
            kind = RAW if is_inactive or not fence.language else CODE
            language = _language_of(fence.language) or self._main
            return self._marked_block(kind, language, first, re.compile(b"```" + fence.marks))

        displayed = _code_fence().match(line)
        if displayed is not None and not self._all_fences:
            # Displayed code is a separate cell if a cell begins with it.
            end = self._first_match(re.compile(b"```" + displayed[1]), first + 1)
            end = min(end + 1, len(self._lines))
            return self._text(first, end, end, is_explicit=False)

        return self._text_block(first)

    def _text(self, first: int, end: int, after: int, *, is_explicit: bool) -> _JupytextBlock:
        return _JupytextBlock(_MarkdownCell(MARKDOWN, self._main, first, end), after, is_explicit)

    def _marked_block(self, kind: str, language: str, first: int, end_mark: re.Pattern[bytes]) -> _JupytextBlock:
        """Return the cell between the mark at a line and the mark that ends it, or the end of the file."""
        end = self._first_match(end_mark, first + 1)
        cell = _MarkdownCell(kind, language, first + 1, end)
        return _JupytextBlock(cell, min(end + 1, len(self._lines)), is_explicit=end < len(self._lines))

    def _code_fence(self, line: bytes) -> _CodeFence | None:
        """Return the fence of a line that opens a cell."""
        if self._all_fences:
            if not line.startswith(b"```") or line.startswith(b"```{"):
                return None
            name, _, options = line[3:].strip().partition(b" ")
            return _CodeFence(b"", name if _language_of(name) else b"", options)

        match = _code_fence().match(line)
        if match is None or _NO_CELL.search(match[3] or b""):
            return None

        return _CodeFence(match[1], match[2], match[3] or b"")

    def _first_match(self, pattern: re.Pattern[bytes], first: int) -> int:
        """Return the first line that matches, or the number of lines."""
        for number in range(first, len(self._lines)):
            if pattern.match(self._lines[number]):
                return number
        return len(self._lines)

    def _text_block(self, first: int) -> _JupytextBlock:
        """Return the text that begins at a line, up to the next cell or blank lines."""
        blanks = 0
        closing = re.compile(rb"```\s*$")
        is_fenced = is_indented = False
        for number in range(first, len(self._lines)):
            line = self._lines[number]
            is_blank = _BLANK.match(line) is not None
            if is_fenced and closing.match(line):
                is_fenced = False
                continue
            if blanks and line.startswith(b"    ") and not is_blank:
                is_indented, blanks = True, 0
                continue

            is_indented = is_indented and (is_blank or line.startswith(b"    "))
            if is_indented or is_fenced:
                continue
            if _REGION.match(line) or self._code_fence(line) is not None:
                has_blank = number - first > 1 and blanks > 0
                return self._text(first, number - 1 if has_blank else number, number, is_explicit=False)

            if line.startswith(b"```"):
                if blanks >= 2 and not line.startswith(b"```{") and not _code_fence().match(line):
                    return self._text(first, number - 2, number, is_explicit=True)
                marks = _code_fence().match(line)
                # As in jupytext, a fence after displayed code ends where the displayed code would end.
                closing = closing if marks is None else re.compile(b"```" + marks[1])
                is_fenced = True
                blanks = 0
                continue

            if self._splits_at_headings and line.startswith(b"#") and blanks >= 1:
                return self._text(first, number - 1, number, is_explicit=False)

            if is_blank:
                blanks += 1
            elif blanks >= 2:
                return self._text(first, number - 2, number, is_explicit=True)
            else:
                blanks = 0

        return self._text(first, len(self._lines), len(self._lines), is_explicit=False)
