"""Comments, and lines at which a piece of code may begin: not within a comment, a long text, or open brackets.

A scanner of comments, texts and brackets, not a parser: it reads only definitions that are too long for one chunk.
Where it is wrong about a line (a quote in a regular expression), it is right again on the next one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

FREE, IN_BRACKETS, WITHIN = 0, 1, 2
"""State at the start of a line: top level, open parentheses or brackets, a comment or a string."""

_C_TEXT = rb'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.){1,12}\''
_C = rb"//[^\n]*|/\*.*?\*/|" + _C_TEXT
_TICKS = _C + rb"|`(?:[^`\\]|\\.)*`"
_LINE_TEXT = rb'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
_PYTHON = rb'"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'|#[^\n]*|' + _LINE_TEXT
_SHELL = rb"(?<![$\w])#[^\n]*|" + _LINE_TEXT
_RUBY = rb"^=begin\b.*?^=end\b|#(?!\{)[^\n]*|" + _LINE_TEXT
_PHP = rb"#(?!\[)[^\n]*|" + _C

_HASH = frozenset({"Python", "Ruby", "Shell", "Bash"})
_COMMENT_LINE = (b"//", b"/*", b"*", b"#", b"--", b";;", b"%%", b"@", b"'''", b'"""')

_CONTINUES = (
    *(b"{", b"}", b")", b"]", b".", b",", b"&&", b"||", b"?", b":", b"+", b"->", b"=>", b"*/", b"and ", b"or "),
    *(b"else", b"elif", b"catch", b"except", b"finally", b"rescue", b"ensure", b"end", b"then", b"do"),
)

_CONTINUED = (b",", b"\\", b"(", b"[", b"=", b"+", b"-", b"&", b"|", b"?", b".", b"<")

_ANY_COMMENT = re.compile(
    rb'"""(?:[^\\]|\\.)*?(?:"""|\Z)|\'\'\'(?:[^\\]|\\.)*?(?:\'\'\'|\Z)|/\*.*?(?:\*/|\Z)|<!--.*?(?:-->|\Z)'
    rb"|//[^\n]*|(?m:^[ \t]*(?:#(?!include|define|if|endif|else)|\*|--|;;|%%)[^\n]*)",
    re.DOTALL,
)
"""Comments and doc strings of most languages."""


def _scanner(tokens: bytes) -> re.Pattern[bytes]:
    return re.compile(tokens + rb"|[()\[\]\n]", re.DOTALL | re.MULTILINE)


_SCANNERS: Mapping[str, re.Pattern[bytes]] = {
    **dict.fromkeys(("C", "C++", "C#", "Java", "Rust", "Scala", "Swift", "Dart"), _scanner(_C)),
    **dict.fromkeys(("Go", "JavaScript", "TypeScript", "TSX", "JSX", "Kotlin"), _scanner(_TICKS)),
    "Kotlin": _scanner(rb'""".*?"""|' + _C),
    "Python": _scanner(_PYTHON),
    "Ruby": _scanner(_RUBY),
    "PHP": _scanner(_PHP),
    **dict.fromkeys(("Shell", "Bash"), _scanner(_SHELL)),
}
_GENERIC = _scanner(rb"/\*.*?\*/")


def comments_in(text: bytes) -> bytes:
    """Return the comments and doc strings of code in any language; now and then a string is taken for one."""
    return b"\n".join(_ANY_COMMENT.findall(text))


def line_states(lines: Sequence[bytes], start: int, end: int, language: str) -> bytearray:
    """Return the state in which each line begins; the first one begins outside."""
    states = bytearray(end - start)
    text = b"\n".join(lines[start:end])
    line = last = depth = 0

    # Lists of bytes, newlines among them: matches with positions take twice the time.
    for token in _SCANNERS.get(language, _GENERIC).findall(text):
        if token == b"\n":
            line += 1
            states[line] = IN_BRACKETS if depth else FREE
            continue

        if token in b"([":
            depth += 1
        elif token in b")]":
            depth = max(depth - 1, 0)
        elif inner := token.count(b"\n"):
            states[line + 1 : line + inner + 1] = bytes([WITHIN]) * inner
            line += inner

        last = line

    # Unclosed brackets were misread.
    states[last + 1 :] = bytes(len(states) - last - 1)
    marks = (b"#",) if language in _HASH else (b"//",)
    was_comment = False
    for position in range(end - start):
        is_comment = lines[start + position].lstrip().startswith(marks)
        if is_comment and was_comment:
            states[position] = WITHIN
        was_comment = is_comment

    return states


def best_border(lines: Sequence[bytes], states: Sequence[int], offset: int, window: range) -> int | None:
    """Return the line of `window` at which to cut: the least indented statement, behind an empty line, the last such.

    `states` are those of the lines from `offset` on. None when every line is within a comment or a text.
    """
    for max_state in (FREE, IN_BRACKETS):
        allowed = [index for index in window if states[index - offset] <= max_state and _starts_statement(lines, index)]
        if allowed:
            return min(allowed, key=lambda index: (_indent(lines[index]), bool(lines[index - 1].strip()), -index))
    return next((index for index in reversed(window) if states[index - offset] < WITHIN and lines[index].strip()), None)


def _starts_statement(lines: Sequence[bytes], index: int) -> bool:
    """Return whether a line looks like the first of a statement, without a comment above it."""
    line, above = lines[index].strip(), lines[index - 1].strip()
    return bool(line) and not (
        line.startswith(_CONTINUES) or above.startswith(_COMMENT_LINE) or above.endswith(_CONTINUED)
    )


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())
