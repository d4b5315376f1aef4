"""Suggest filters and values for a query, and find the query around a cursor.

A line magic may end with a question mark: ``%ask Why?`` is a question and ``%search colou?r?`` a query. ``%ask?`` and
``%search?`` still show their help.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sourcelight.core.query.fields import ALIASES, FIELDS, Field
from sourcelight.core.query.regexps import escape_name
from sourcelight.core.query.syntax.quoting import quote_value

_MAX_COMPLETIONS = 100
"""Completions that are offered: more are no help."""

_REGEXP = re.compile(r"([\\.+*?()|\[\]{}^$])")
"""Characters that mean something in regular expressions."""

_FIELD = re.compile(r"(?P<dash>-?)(?P<name>[A-Za-z]+):(?P<value>.*)", re.DOTALL)
"""A filter: ``-file:vendor``."""

_PREFIX = re.compile(r"(?P<dash>-?)(?P<name>[A-Za-z]*)")
"""The start of the name of a filter."""

Names = Callable[[str], tuple[str, ...]]

_OPENING = re.compile(r"(?P<prefix>[rbfuRBFU]{0,2})(?P<quote>\"\"\"|'''|\"|')")
"""The start of a string of Python."""

_NAME = re.compile(r"[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*$")
"""A dotted name before a bracket: ``sl.q.field``."""

_CLOSING = {")": "(", "]": "[", "}": "{"}
_LINE = re.compile(r"^(?P<before>\s*(?:[A-Za-z_]\w*\s*=\s*)?)%(?P<magic>search|commits|ask)\s+(?P<rest>\S.*\?)\s*$")
"""A line magic that ends with ``?``, which asks for help."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A text that may replace the fragment, and its kind: ``filter`` or ``value``."""

    text: str
    kind: str


def term_of(query: str) -> str:
    """Return the unfinished term at the end of a query; empty after a blank.

    Examples
    --------
    >>> term_of('repo:x author:"Ann B')
    'author:"Ann B'
    >>> term_of("/a b/ (la")
    'la'
    """
    position = start = 0
    closing = ""
    while position < len(query):
        char = query[position]
        if closing:
            if char == "\\":
                position += 1
            elif char == closing:
                closing = ""
        # Behind a colon, parentheses belong to the value: `repo:has.path(…)`, or a group of a regular expression.
        elif char.isspace() or (char in "()" and ":" not in query[start:position]):
            start = position + 1
        elif char in "\"'/":
            # A quote starts a term or a value, a slash only a term.
            is_value = query[position - 1] == ":" and char != "/"
            if position == start or is_value:
                closing = char

        position += 1

    return query[start:]


def suggest(query: str, names: Names) -> tuple[str, list[Completion]]:
    """Return the fragment at the end of `query`, and its possible replacements, likeliest first.

    Parameters
    ----------
    query
        Text of the query up to the cursor.
    names
        Returns the known names of a kind: ``repository``, ``language``, ``author`` or ``path``.
    """
    term = term_of(query)
    match = _FIELD.fullmatch(term)
    if match and match["name"].lower() in ALIASES:
        field = FIELDS[ALIASES[match["name"].lower()]]
        return match["value"], list(_values(field, match["value"], names))

    bare = _PREFIX.fullmatch(term)
    if bare is None:
        return term, []

    prefix = bare["name"].lower()
    completions = []
    for name, field in FIELDS.items():
        has_prefix = any(spelling.startswith(prefix) for spelling in (name, *field.aliases))
        is_possible = field.is_offered and (field.negatable or not bare["dash"])
        if has_prefix and is_possible:
            completions.append(Completion(f"{bare['dash']}{name}:", "filter"))

    return term, completions


def _values(field: Field, typed: str, names: Names) -> Iterator[Completion]:
    typed_text = _unquote(typed)
    values: dict[str, None] = {}
    for text in _of(field, names):
        name, quoted = text
        if typed_text in name.lower() and quoted not in values:
            values[quoted] = None
            if len(values) >= _MAX_COMPLETIONS:
                break

    for name in sorted(field.predicates):
        if typed and name.startswith(typed.lower()):
            values[f"{name}("] = None

    for quoted in values:
        if quoted != typed:
            yield Completion(quoted, "value")


def _of(field: Field, names: Names) -> Iterator[tuple[str, str]]:
    """Yield the values of a field: the name to match, and the text to insert after the colon."""
    if field.name == "lang":
        from sourcelight.core.query.languages import LANGUAGES

        for name in (*names(field.names), *LANGUAGES):
            yield name, quote_value(name.lower())
    elif field.names:
        for name in names(field.names):
            escaped = escape_name(name) if field.name == "repo" else _REGEXP.sub(r"\\\1", name)
            yield name, quote_value(f"^{escaped}$" if field.name in {"repo", "file"} else escaped)
    else:
        for value in (*field.values, *field.examples):
            yield value, quote_value(value)


def _unquote(typed: str) -> str:
    """Return the typed part of a value, without quotes and escapes of regular expressions."""
    return re.sub(r"\\(.)", r"\1", typed.lstrip("\"'^").rstrip("$")).lower()


@dataclass(frozen=True, slots=True)
class Literal:
    """An unclosed string in the code: the call that it is an argument of, which argument, and its text so far.

    `callee` is a dotted name. `argument` is the parameter's name if it is given, else its position from 0 as text.
    """

    callee: str
    argument: str
    text: str
    quote: str
    raw: bool


@dataclass(slots=True)
class _Bracket:
    sign: str
    callee: str
    commas: int = 0


def literal_at(code: str) -> Literal | None:
    """Return the string that `code` ends in, if it is an argument of a call; None elsewhere, in comments too."""
    open_: list[_Bracket] = []
    position = 0
    while position < len(code):
        opening = _OPENING.match(code, position)
        # A letter before it means that the prefix is the end of a name, as in `tab"`, which isn't a string.
        if opening and (position == 0 or not (code[position - 1].isalnum() or code[position - 1] == "_")):
            raw = "r" in opening["prefix"].lower()
            end = _end(code, opening.end(), opening["quote"])
            if end < 0:
                if "b" in opening["prefix"].lower():
                    return None
                return _literal(
                    code, position, open_=open_, text=code[opening.end() :], quote=opening["quote"], raw=raw
                )
            position = end
            continue

        char = code[position]
        if char == "#":
            newline = code.find("\n", position)
            if newline < 0:
                return None
            position = newline
        elif char in "([{":
            name = _NAME.search(code, 0, position) if char == "(" else None
            open_.append(_Bracket(char, re.sub(r"\s", "", name[0]) if name else ""))
        elif char in _CLOSING:
            # Code under the cursor is often incomplete: a bracket also closes brackets opened after its partner.
            while open_ and open_.pop().sign != _CLOSING[char]:
                pass
        elif char == "," and open_:
            open_[-1].commas += 1

        position += 1

    return None


def _end(code: str, position: int, quote: str) -> int:
    """Return the end of a string, after its last quote, or of its line for a short one, or -1 if it is open."""
    while position < len(code):
        if code[position] == "\\":
            position += 2
        elif code.startswith(quote, position):
            return position + len(quote)
        elif code[position] == "\n" and len(quote) == 1:
            return position
        else:
            position += 1

    return -1


def _literal(code: str, position: int, *, open_: list[_Bracket], text: str, quote: str, raw: bool) -> Literal | None:
    calls = [bracket for bracket in open_ if bracket.sign == "("]
    if not calls or not calls[-1].callee:
        return None

    call = calls[-1]
    # A key of a mapping is a name of the caller's choice, not a query.
    if open_[-1].sign == "{" and not re.search(r":\s*$", code[:position]):
        return None

    keyword = re.search(r"([A-Za-z_]\w*)\s*=\s*$", code[:position]) if open_[-1] is call else None
    return Literal(call.callee, keyword[1] if keyword else str(call.commas), text, quote, raw)


def decode_literal(text: str, *, raw: bool) -> str:
    """Return the value of a literal, as far as queries need it."""
    return text if raw else re.sub(r"\\([\\\"'])", r"\1", text)


def encode_literal(text: str, quote: str, *, raw: bool) -> str | None:
    """Return `text` escaped for such a literal, or None if the literal can't contain it."""
    if raw:
        return None if quote in text or text.endswith("\\") else text
    escaped = text.replace("\\", "\\\\")
    if len(quote) == 3 and quote not in escaped:
        return escaped
    return escaped.replace(quote[0], f"\\{quote[0]}")


def keep_question_marks(lines: Sequence[str]) -> list[str]:
    """Replace magics that end with a question mark by calls that run them; an input transformer for IPython.

    Lines inside a multi-line string stay unchanged.
    """
    cell_lines: list[str] = []
    in_string = False
    for line in lines:
        match = None if in_string else _LINE.match(line)
        if match:
            cell_lines.append(f"{match['before']}get_ipython().run_line_magic({match['magic']!r}, {match['rest']!r})\n")
        else:
            cell_lines.append(line)
            # An odd number of triple quotes opens or closes a string; exact parsing isn't possible before IPython's
            # own.
            in_string ^= (line.count('"""') + line.count("'''")) % 2 == 1

    return cell_lines
