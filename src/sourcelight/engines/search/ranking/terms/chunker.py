"""Cut files into chunks that start at definitions, headings or cells.

A chunk is what a ranking finds and an answer quotes, so it should be one thing: a function with the comment above it, a
section, a cell of a notebook. The starts of these are boundaries, as far as no chunk gets too small.

Between two boundaries that are far apart, code is cut once more, between two statements. `line_states` reads code by a
scanner of comments, texts and brackets, and says for each line what is open at its beginning. `best_border` chooses a
line where nothing is open, if possible the start of a statement with little indentation. The scanner is no parser:
where it is wrong about a line (a quote in a regular expression), it is right again on the next one.

A change of these rules raises `tokenizer.RULES`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

MIN_CHUNK_LINES = 8
"""Lines of a chunk before which the next one doesn't start."""

MAX_CHUNK_LINES = 64
"""Lines of a chunk beyond which it is cut between two statements."""

_MIN_CUT_LINES = 24
"""Lines of the first part of such a chunk, so that the parts are of similar size."""

_MAX_TEXT_CHUNKS = 4
"""Factor of `MAX_CHUNK_LINES` beyond which a comment or a string is cut, too."""

_MAX_LEAD_LINES = 60
"""Lines above a definition that may belong to it."""

_LEADS = (b"//", b"/*", b"*", b"#", b"--", b";;", b"@", b"%%")
"""Starts of lines above a definition that belong to it: comments, decorators, attributes."""

_NOT_LEADS = (
    b"#include", b"#endif", b"#if", b"#else", b"#define", b"#undef", b"#pragma", b"#!",
    b"# %%", b"#%%", b"// %%", b"-- %%",  # the line that starts a cell of a percent script
)  # fmt: skip
"""Starts of lines that look like comments and belong to no definition."""

_HEADING_MARKS = (b"#", b"= ", b"== ", b"=== ")
_HEADING = re.compile(rb"#{1,6} |={1,6} |[^\s`|>*-].{0,100}$")
"""A heading of Markdown or AsciiDoc: `## Usage`, `== Usage`."""

_UNDERLINE_MARKS = b"=~^*\"'#+`-"
_UNDERLINE = re.compile(rb"([=~^*\"'#+`-])\1{3,}\s*$")
"""The line below a heading of reStructuredText: `=====`."""

_FENCE = re.compile(rb" {0,3}(```+|~~~+)")
"""The first or the last line of a block of code: ```` ```python ````."""

_CELL = re.compile(rb'\s*"(?:cell_type|attachments)":')
"""The first key of a cell of a notebook: `"cell_type": "code"`."""

TOP_LEVEL = 0
"""State of a line at whose beginning nothing is open."""

IN_BRACKETS = 1
"""State of a line that begins within open parentheses or brackets."""

IN_TEXT = 2
"""State of a line that begins within a comment or a text."""

# Comments and texts of families of languages. A text without an end ends with its line, so that an apostrophe in a
# comment or a quote in a regular expression leads no further.
_C_TEXT = rb'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.){1,12}\''
"""`"text"` and `'c'`; what is longer than a character isn't one, but begins with an apostrophe or a lifetime."""

_C = rb"//[^\n]*|/\*.*?\*/|" + _C_TEXT
"""`// comment` and `/* comment */`."""

_C_AND_TICKS = _C + rb"|`(?:[^`\\]|\\.)*`"
"""Texts between backticks, too."""

_LINE_TEXT = rb'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
"""`"text"` and `'text'`."""

_PYTHON = rb'"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'|#[^\n]*|' + _LINE_TEXT
_SHELL = rb"(?<![$\w])#[^\n]*|" + _LINE_TEXT
"""`# comment`, but neither `$#` nor `${#list}`."""

_RUBY = rb"^=begin\b.*?^=end\b|#(?!\{)[^\n]*|" + _LINE_TEXT
"""`=begin` to `=end`, and `# comment`, but not `#{value}`."""

_PHP = rb"#(?!\[)[^\n]*|" + _C
"""`# comment`, but not `#[Attribute]`."""


class LineSpan(NamedTuple):
    """A first line and the line after the last, from 0."""

    start: int
    end: int


def cut_chunks(
    lines: Sequence[bytes], definition_lines: Sequence[int], *, prose: bool = False, language: str = ""
) -> list[LineSpan]:
    """Cut a file into chunks.

    Parameters
    ----------
    lines
        The lines of the file.
    definition_lines
        Lines, from 0, at which definitions begin.
    prose
        Whether to cut at headings or cells instead of definitions.
    language
        Display name of the language; empty: unknown.

    Returns
    -------
    list of LineSpan
        The chunks, which cover the file together. At most `MAX_CHUNK_LINES` each, unless that would cut a longer
        comment or string.
    """
    count = len(lines)
    if count and not lines[-1]:
        count -= 1

    if not count:
        return []

    starts = _heading_lines(lines, count) if prose else sorted({lead_start(lines, line) for line in definition_lines})
    chunks: list[LineSpan] = []
    for start, end in pairwise(_boundaries(starts, count)):
        chunks += _split_long(lines, start, end, language)

    return chunks


def _boundaries(starts: Sequence[int], count: int) -> list[int]:
    """Return the first line of each chunk, at some `starts` that are far enough apart, and the end of the file."""
    boundaries = [0]
    for start in starts:
        if start - boundaries[-1] >= MIN_CHUNK_LINES and start < count:
            boundaries.append(start)

    # A tiny last chunk joins the one before: it would rank by its few words alone.
    if len(boundaries) > 1 and count - boundaries[-1] < MIN_CHUNK_LINES // 2:
        boundaries.pop()

    return [*boundaries, count]


def _split_long(lines: Sequence[bytes], start: int, end: int, language: str) -> Iterator[LineSpan]:
    """Yield the parts of a chunk that is too long, cut between two statements; another chunk as it is."""
    if end - start > MAX_CHUNK_LINES:
        offset, states = start, line_states(lines, start, end, language)
        while end - start > MAX_CHUNK_LINES:
            window = range(start + _MIN_CUT_LINES, start + MAX_CHUNK_LINES + 1)
            border = best_border(lines, states, offset, window)
            if border is None:
                border = _end_of_text(
                    states, offset, range(window.stop, min(start + _MAX_TEXT_CHUNKS * MAX_CHUNK_LINES, end))
                )
            if border >= end:
                break
            yield LineSpan(start, border)
            start = border

    yield LineSpan(start, end)


def _end_of_text(states: Sequence[int], offset: int, window: range) -> int:
    """Return the first line of `window` that begins outside of comments and strings, or the end of the window."""
    return next((index for index in window if states[index - offset] < IN_TEXT), window.stop)


def lead_start(lines: Sequence[bytes] | Sequence[str], first_line: int) -> int:
    """Return the line at which the comments above a definition begin; both count from 0."""
    line_index = first_line
    while line_index > 0:
        text = _bytes_of(lines[line_index - 1])
        if text.endswith(b"*/") and not text.startswith(b"/*"):
            above = _block_start(lines, line_index - 1, first_line)
            if above is None:
                break
            line_index = above
        elif text.startswith(_LEADS) and not text.startswith(_NOT_LEADS):
            line_index -= 1
        else:
            break

        if first_line - line_index > _MAX_LEAD_LINES:
            # A chunk must not begin inside a comment: a part of a comment is worse than none.
            return first_line

    return line_index


def _block_start(lines: Sequence[bytes] | Sequence[str], last: int, first_line: int) -> int | None:
    """Return the line that opens the comment which line `last` closes, or None when it is too far above."""
    for index in range(last - 1, max(first_line - _MAX_LEAD_LINES, 0) - 1, -1):
        text = _bytes_of(lines[index])
        if b"*/" in text:
            return None
        if b"/*" in text:
            return index if text.startswith(b"/*") else None
    return None


def _bytes_of(line: bytes | str) -> bytes:
    text = line.strip()
    return text.encode("utf-8", "replace") if isinstance(text, str) else text


def _heading_lines(lines: Sequence[bytes], count: int) -> list[int]:
    """Return the lines, from 0, at which sections of a document or cells of a notebook begin."""
    is_notebook = lines[0].strip() == b"{"
    return list(_cell_lines(lines, count) if is_notebook else _section_lines(lines, count))


def _section_lines(lines: Sequence[bytes], count: int) -> Iterator[int]:
    fence = b""
    for index in range(1, count):
        line = lines[index]
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = b"" if fence else mark[1]
        elif fence:
            # In a block of code, a line like a heading is a comment.
            continue
        elif line.startswith(_HEADING_MARKS) and _HEADING.match(line):
            yield index
        elif line and line[0] in _UNDERLINE_MARKS and _UNDERLINE.match(line) and lines[index - 1].strip():
            yield index - 1


def _cell_lines(lines: Sequence[bytes], count: int) -> Iterator[int]:
    for index in range(2, count):
        if _CELL.match(lines[index]) and lines[index - 1].strip() == b"{":
            yield index - 1


def _scanner(comments_and_texts: bytes) -> re.Pattern[bytes]:
    """Compile a pattern for comments and texts, brackets, and ends of lines."""
    return re.compile(comments_and_texts + rb"|[()\[\]\n]", re.DOTALL | re.MULTILINE)


_SCANNERS: Mapping[str, re.Pattern[bytes]] = {
    **dict.fromkeys(("C", "C++", "C#", "Java", "Rust", "Scala", "Swift", "Dart"), _scanner(_C)),
    **dict.fromkeys(("Go", "JavaScript", "TypeScript", "TSX", "JSX"), _scanner(_C_AND_TICKS)),
    "Kotlin": _scanner(rb'""".*?"""|' + _C),
    "Python": _scanner(_PYTHON),
    "Ruby": _scanner(_RUBY),
    "PHP": _scanner(_PHP),
    **dict.fromkeys(("Shell", "Bash"), _scanner(_SHELL)),
}
_OTHER_SCANNER = _scanner(rb"/\*.*?\*/")
"""For other languages, in which a single quote may be anything."""

_HASH_COMMENTS = frozenset({"Python", "Ruby", "Shell", "Bash"})
"""Languages whose comments of one line begin with a hash; in all others, two slashes are assumed."""

_COMMENT_STARTS = (b"//", b"/*", b"*", b"#", b"--", b";;", b"%%", b"@", b"'''", b'"""')
"""Starts of lines that belong to the line below: comments, documentation, decorators."""

_CONTINUATIONS = (
    *(b"{", b"}", b")", b"]", b".", b",", b"&&", b"||", b"?", b":", b"+", b"->", b"=>", b"*/", b"and ", b"or "),
    *(b"else", b"elif", b"catch", b"except", b"finally", b"rescue", b"ensure", b"end", b"then", b"do"),
)
"""Starts of lines that go on with a statement above: `.filter(…)`, `} else {`."""

_UNFINISHED_ENDS = (b",", b"\\", b"(", b"[", b"=", b"+", b"-", b"&", b"|", b"?", b".", b"<")
"""Ends of lines whose statement goes on below: `total = first +`."""


def line_states(lines: Sequence[bytes], start: int, end: int, language: str) -> bytearray:
    """Return the state in which each line begins; the first one begins at the top level."""
    states = _scan_states(b"\n".join(lines[start:end]), end - start, _SCANNERS.get(language, _OTHER_SCANNER))

    # Comments of one line each are one comment.
    mark = b"#" if language in _HASH_COMMENTS else b"//"
    is_comment_above = False
    for index, line in enumerate(lines[start:end]):
        is_comment = line.lstrip().startswith(mark)
        if is_comment and is_comment_above:
            states[index] = IN_TEXT
        is_comment_above = is_comment

    return states


def _scan_states(text: bytes, line_count: int, scanner: re.Pattern[bytes]) -> bytearray:
    """Return the state in which each line of a text begins, by its comments, texts and brackets."""
    states = bytearray(line_count)
    line = last_token_line = depth = 0
    # Lists of bytes, newlines among them: matches with positions take twice the time.
    for token in scanner.findall(text):
        if token == b"\n":
            line += 1
            states[line] = IN_BRACKETS if depth else TOP_LEVEL
            continue

        if token in b"([":
            depth += 1
        elif token in b")]":
            depth = max(depth - 1, 0)
        elif newlines := token.count(b"\n"):
            states[line + 1 : line + newlines + 1] = bytes([IN_TEXT]) * newlines
            line += newlines

        last_token_line = line

    # Brackets that are still open were misread.
    states[last_token_line + 1 :] = bytes(line_count - last_token_line - 1)
    return states


def best_border(lines: Sequence[bytes], states: Sequence[int], offset: int, window: range) -> int | None:
    """Return the line at which to cut.

    Parameters
    ----------
    lines
        The lines of the file.
    states
        The states of the lines from `offset` on, as `line_states` returns them.
    offset
        The line of the first state.
    window
        The lines to choose from, none of which is the first of the file.

    Returns
    -------
    int | None
        The least indented statement, behind an empty line, the last such; else the last line that is neither empty nor
        in a text. None if every line is in a text.
    """
    for max_state in (TOP_LEVEL, IN_BRACKETS):
        statements = [
            index for index in window if states[index - offset] <= max_state and _starts_statement(lines, index)
        ]
        if statements:
            return min(statements, key=lambda index: (_indent(lines[index]), bool(lines[index - 1].strip()), -index))

    outside_texts = (index for index in reversed(window) if states[index - offset] < IN_TEXT and lines[index].strip())
    return next(outside_texts, None)


def _starts_statement(lines: Sequence[bytes], index: int) -> bool:
    """Return whether a line looks like the first of a statement, without a comment above it."""
    line, above = lines[index].strip(), lines[index - 1].strip()
    return bool(line) and not (
        line.startswith(_CONTINUATIONS) or above.startswith(_COMMENT_STARTS) or above.endswith(_UNFINISHED_ENDS)
    )


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())
