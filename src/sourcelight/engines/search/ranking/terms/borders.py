"""Find a line at which long code may be cut: not within a comment, a long text, or open brackets.

`line_states` reads code by a scanner of comments, texts and brackets, and says for each line what is open at its
beginning. `best_border` chooses a line where nothing is open, if possible the start of a statement with little
indentation. The scanner is no parser: it reads only definitions that are too long for one chunk. Where it is wrong
about a line (a quote in a regular expression), it is right again on the next one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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
