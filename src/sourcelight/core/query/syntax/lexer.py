"""Split the text of a query into terms, and read their quotes and escapes (query-language rules 4).

Everything works on offsets into one text and reads each stretch a bounded number of times, so that a hostile query of
any shape takes about linear time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sourcelight.core.errors import QueryError
from sourcelight.core.query.fields import ALIASES, PREDICATE_NAMES, STRUCTURE

WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
ASCII_WHITE = frozenset(" \t\n\v\f\r")

_SPACES = re.compile(f"[{WHITE}]*")
_WORD = re.compile(f"[^{WHITE}]*")
# A backslash takes the next character along, so that an escaped blank or parenthesis ends nothing.
_WORD_WITH_PAIRS = re.compile(rf"(?:[^\\{WHITE}]++|\\.)*+\\?", re.DOTALL)
_TEXT_BEFORE_PAREN = re.compile(rf"(?:[^\\(){WHITE}]++|\\.)*+", re.DOTALL)
_RAW_BEFORE_PAREN = re.compile(rf"(?:[^\\(){WHITE}]++|\\.)*+\\?", re.DOTALL)
_FIELD = re.compile(rf"(-?)([A-Za-z]{{1,{max(map(len, ALIASES))}}}):")
_OPERATOR_TEXT = re.compile(r"(?:and|or|not) ", re.IGNORECASE | re.ASCII)
_OPERATOR = re.compile(r"and|or", re.IGNORECASE | re.ASCII)
_NOT = re.compile(r"not(?=[ \t\n\v\f\r])", re.IGNORECASE | re.ASCII)
# Of structural patterns, whose languages have `and`, `or` and `not` in lower case.
_UPPER_CASE_OPERATOR = re.compile(r"(?:AND|OR|NOT)(?=[ \t\n\v\f\r(])")
_CODE = re.compile(rf"(?:[^\\()\[\]{{}}\"'`{WHITE}]++|\\.)*+", re.DOTALL)
_CODE_STRING = re.compile(r"""(["'`])(?:(?!\1)[^\\\n]|\\.)*\1(?!\w)""", re.DOTALL)
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_BEFORE_TERM = ASCII_WHITE | {"("}
_MAX_UNCLOSED_CODE = 200
"""Brackets without an end, after which brackets are read as text."""

_PREDICATE = re.compile(r"([a-z]+(?:\.[a-z]+)*)\(")
_PAREN = re.compile(r"\\.|[()]", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_DELIMITED = {
    delimiter: re.compile(rf"{delimiter}((?:[^\\{delimiter}]++|\\.)*+)({delimiter}?)", re.DOTALL)
    for delimiter in "\"'/"
}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(slots=True)
class RawPattern:
    """A pattern term as written; `slashed` if it is between slashes, `value_start` after its quote or slash."""

    start: int
    value: str
    kind: str
    quoted: bool = False
    slashed: bool = False
    negated: bool = False
    value_start: int = 0


@dataclass(slots=True)
class RawFilter:
    """A filter term as written; `field` in the writer's spelling, `predicate` is (name, arguments) or None.

    `value_start` is where the value begins, behind its quote or behind the parenthesis of a predicate.
    """

    start: int
    field: str
    value: str
    negated: bool
    quoted: bool = False
    predicate: tuple[str, str] | None = None
    value_start: int = 0


class Lexer:
    """Reads single terms of `text` under the rules of `pattern_type`.

    Parameters
    ----------
    text
        The whole query.
    pattern_type
        ``keyword``, ``standard``, ``regexp``, ``literal`` or ``ast-grep``.
    plain_parens
        The second attempt at an unbalanced query: parentheses are ordinary text.
    """

    def __init__(self, text: str, pattern_type: str, *, plain_parens: bool) -> None:
        self.text = text
        self.pattern_type = pattern_type
        self.plain_parens = plain_parens
        self._first = self.skip_white(0)
        self._unbalanced: set[int] = set()
        self._unclosed_code = 0
        self._closing: dict[int, int] | None = None

    def error(self, message: str, position: int, hint: str = "") -> QueryError:
        """Return a parse error at a character offset; the error carries the byte offset."""
        offset = len(self.text[:position].encode("utf-8", "surrogatepass"))
        return QueryError(message, query=self.text, position=offset, hint=hint, stage="parse")

    def skip_white(self, position: int) -> int:
        """Return the offset of the next character that is not white space."""
        match = _SPACES.match(self.text, position)
        return match.end() if match else position

    def operator(self, position: int) -> tuple[str, int] | None:
        """Return (``and`` or ``or``, its end) when the word at `position` is an operator."""
        match = _OPERATOR.match(self.text, position)
        # An operator needs an operand before it; at the start of a query, "and" is a word.
        if match is None or position <= self._first:
            return None
        if self.pattern_type == STRUCTURE and not match.group().isupper():
            return None  # `and` and `or` are words of many languages

        before, end = self.text[position - 1], match.end()
        if (before in ASCII_WHITE or before == ")") and end < len(self.text):
            after = self.text[end]
            if after in ASCII_WHITE or after == "(":
                return match.group().lower(), end

        return None

    def negation(self, position: int) -> int | None:
        """Return the offset of the term that a NOT at `position` negates, None when it negates nothing."""
        pattern = _UPPER_CASE_OPERATOR if self.pattern_type == STRUCTURE else _NOT
        match = pattern.match(self.text, position)
        if match is None or match.group().lower() != "not":
            return None
        if position and self.text[position - 1] not in ASCII_WHITE and self.text[position - 1] not in "()":
            return None

        term = self.skip_white(position + 3)
        if term >= len(self.text) or (self.text[term] == ")" and not self.plain_parens):
            return None

        return term

    def filter(self, position: int) -> tuple[RawFilter, int] | None:
        """Return the filter at `position` and its end, None when no known field begins here."""
        match = self._field(position)
        if match is None:
            return None

        name, value_start = match.group(2), match.end()
        raw_filter = RawFilter(position, name, "", negated=bool(match.group(1)), value_start=value_start)
        if value_start < len(self.text) and self.text[value_start] in "\"'":
            raw_filter.value, end = self._strict(value_start)
            raw_filter.quoted, raw_filter.value_start = True, value_start + 1
            return raw_filter, end

        predicate = self._predicate(ALIASES[name.lower()], value_start)
        if predicate is not None:
            raw_filter.predicate, end = predicate
            raw_filter.value, raw_filter.value_start = (
                self.text[value_start:end],
                value_start + len(raw_filter.predicate[0]) + 1,
            )
            return raw_filter, end

        # A value may contain balanced parentheses (`file:(a|b)`); a stray closing one ends it, as it closes a group of
        # the query.
        parenthesis_end = self.balanced_end(value_start)
        end = _end(_RAW_BEFORE_PAREN, self.text, value_start) if parenthesis_end is None else parenthesis_end
        raw_filter.value = self.text[value_start:end]
        return raw_filter, end

    def pattern(self, position: int) -> tuple[RawPattern, int]:
        """Return the pattern at `position`, which is not white space, and its end."""
        if self.pattern_type == STRUCTURE:
            code_end = None if self.plain_parens else self.code_end(position)
            end = code_end or max(_end(_WORD, self.text, position), position + 1)
            return RawPattern(position, self.text[position:end], self.plain_kind, value_start=position), end

        char = self.text[position]
        plain_kind = self.plain_kind
        if (char == "/" and self.pattern_type != "literal") or (
            char in "\"'" and self.pattern_type in {"keyword", "regexp"}
        ):
            delimited = self._lenient(position)
            if delimited is not None:
                value, end = delimited
                if char != "/":
                    return RawPattern(position, value, "literal", quoted=True, value_start=position + 1), end
                if value:
                    return RawPattern(position, value, "regexp", slashed=True, value_start=position + 1), end
                return RawPattern(position, "//", "literal"), end

        balanced_end = None if self.plain_parens else self.balanced_end(position)
        if balanced_end is not None and balanced_end > position:
            end = balanced_end
        elif self.pattern_type != "regexp":
            end = _end(_WORD, self.text, position)
        else:
            end = _end(_WORD_WITH_PAIRS if self.plain_parens else _RAW_BEFORE_PAREN, self.text, position)

        end = max(end, position + 1)
        return RawPattern(position, self.text[position:end], plain_kind, value_start=position), end

    @property
    def plain_kind(self) -> str:
        """The kind of a pattern without quotes and slashes."""
        return {"regexp": "regexp", STRUCTURE: "structure"}.get(self.pattern_type, "literal")

    def opens_group(self, position: int) -> bool:
        """Return whether the parenthesis at `position` opens a group; else it is text."""
        if self.pattern_type == STRUCTURE:
            return self.code_end(position) is None
        return self.pattern_type == "keyword" or self.balanced_end(position) is None

    def code_end(self, start: int) -> int | None:
        """Return the end of the code at `start`, which white space outside of brackets ends, or None if it isn't code.

        A text in quotes counts as one character, unless brackets close only where quotes are no more than signs, as
        the apostrophes of Rust's lifetimes. A parenthesis that a term begins with is a group of the query if a filter
        or an operator is in it.
        """
        # A query of brackets that never close would be read to its end from each of them.
        if self._unclosed_code > _MAX_UNCLOSED_CODE:
            return None

        for with_strings in (True, False):
            end = self._code_end(start, with_strings=with_strings)
            if end is not None:
                return end or None

        self._unclosed_code += 1
        return None

    def _code_end(self, start: int, *, with_strings: bool) -> int | None:
        """Return as `code_end` does; 0 for a group of the query, None where brackets don't close."""
        text, position = self.text, start
        brackets: list[tuple[str, bool]] = []  # with each, whether terms of the query may be in it
        while (position := _end(_CODE, text, position)) < len(text):
            char = text[position]
            if char in "([{":
                is_term = text[position - 1] in _BEFORE_TERM if brackets and brackets[-1][1] else position == start
                brackets.append((char, char == "(" and is_term))
            elif char in ")]}":
                if char == ")" and not brackets:
                    return position if position > start else None
                if brackets and brackets.pop()[0] != _BRACKETS[char]:
                    return None
            elif char in "\"'`":
                string = _CODE_STRING.match(text, position) if with_strings else None
                position = string.end() - 1 if string else position
            elif char != "\\" and not brackets:
                return position

            position += 1
            if brackets and brackets[-1][1] and char != ")":
                inner = self.skip_white(position)
                if self._field(inner) is not None or _UPPER_CASE_OPERATOR.match(text, inner) is not None:
                    return 0

        return None if brackets else position

    def balanced_end(self, start: int) -> int | None:
        """Return the end of the text with balanced parentheses at `start`, None when it is not plain text.

        A start that failed is remembered together with all starts whose way leads to the same failure: nested
        parentheses would cost a scan to the end of the query each.
        """
        text = self.text
        if start in self._unbalanced or self._is_syntax(start):
            return None

        levels = [[start]]
        position = start
        while (position := _end(_TEXT_BEFORE_PAREN, text, position)) < len(text):
            char = text[position]
            position += 1
            if char == "(":
                levels[-1].append(position - 1)
                levels.append([position])
            elif char == ")":
                if len(levels) == 1:
                    return position - 1
                levels.pop()
                levels[-1].append(position)
                continue
            elif char == "\\":
                continue
            elif len(levels) == 1:
                return position - 1
            else:
                levels[-1] = [position]

            if self._is_syntax(position):
                break
        else:
            if len(levels) == 1:
                return position

        for starts in levels:
            self._unbalanced.update(starts)

        return None

    def _field(self, position: int) -> re.Match[str] | None:
        match = _FIELD.match(self.text, position)
        return match if match is not None and match.group(2).lower() in ALIASES else None

    def _is_syntax(self, position: int) -> bool:
        return self._field(position) is not None or _OPERATOR_TEXT.match(self.text, position) is not None

    def _predicate(self, field: str, start: int) -> tuple[tuple[str, str], int] | None:
        names = PREDICATE_NAMES.get(field)
        match = _PREDICATE.match(self.text, start) if names else None
        if match is None or names is None or match.group(1) not in names:
            return None

        if self._closing is None:
            self._closing = _closing_parens(self.text)

        close = self._closing.get(match.end() - 1)
        if close is None:
            return None

        return (match.group(1), self.text[match.end() : close]), close + 1

    def _lenient(self, position: int) -> tuple[str, int] | None:
        match = _DELIMITED[self.text[position]].match(self.text, position)
        if match is None or not match.group(2):
            return None

        end = match.end()
        if end < len(self.text) and self.text[end] not in ASCII_WHITE and self.text[end] != ")":
            return None

        quote = self.text[position]
        return _ESCAPE.sub(lambda escape: _unescape(escape, quote) or escape.group(), match.group(1)), end

    def _strict(self, position: int) -> tuple[str, int]:
        quote = self.text[position]
        match = _DELIMITED[quote].match(self.text, position)
        body = match.group(1) if match else ""

        def replace(escape: re.Match[str]) -> str:
            char = _unescape(escape, quote)
            if char is None:
                hint = f"inside quotes a backslash is written twice: \\\\{escape.group(1)}"
                raise self.error("unrecognized escape sequence", position + 1 + escape.start(), hint)
            return char

        value = _ESCAPE.sub(replace, body)
        if match is None or not match.group(2):
            raise self.error(f"unterminated literal: expected {quote}", position, f"close the value with {quote}")

        return value, match.end()


def _unescape(escape: re.Match[str], quote: str) -> str | None:
    char = escape.group(1)
    if char in {quote, "\\"}:
        return char
    if char in _CONTROLS:
        return _CONTROLS[char]
    return escape.group() if char in "abfv" else None


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _closing_parens(text: str) -> dict[int, int]:
    closing: dict[int, int] = {}
    open_positions: list[int] = []
    for token in _PAREN.finditer(text):
        if token.group() == "(":
            open_positions.append(token.start())
        elif token.group() == ")" and open_positions:
            closing[open_positions.pop()] = token.start()

    return closing
