"""Read what a line of code binds to names: assigned values, entries of literals, defaults of heads, fallbacks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.source.values import read_expression

MAX_LINE = 600
"""Characters of a line that is read: longer ones are minified or generated."""
_MAX_BINDINGS, _MAX_LIST = 24, 80
_NAME = r"[@$]{0,2}[A-Za-z_][\w$]*"
_ASSIGNED = re.compile(
    rf"(?P<before>(?:(?:[A-Za-z_]\w*|@)(?:\??\.|->|::)){{0,4}})"
    rf"(?:[\"'](?P<quoted>[A-Za-z_][\w.-]{{0,60}})[\"']|(?P<name>(?<![\w$]){_NAME}))\]?"
    r"(?:\s*:\s*[\w.<>\[\]?*&|@\\ ]{1,60}?|\[\w{0,20}\])?"
    r"\s*(?P<sign>:=|\\\\|=>|<-|\?=|\|\|=|//=|\?\?=|(?<![=!<>+\-*/%&|^~?:])=(?![=>~])|:(?![:=]))\s*(?=\S)"
)
_DEFINED = re.compile(r"\s*#\s*define\s+(?P<name>\w+)\s+(?=\S)")
_ERLANG_MACRO = re.compile(
    r"\s*-\s*define\(\s*(?P<name>\w+)\s*,\s*(?P<value>[^()\s][^()]{0,120}?)\s*\)\s*\.\s*(?:%.*)?$"
)
_ERLANG_OPTION = re.compile(
    r"\b(?:maps:get|proplists:get_value|application:get_env)\(\s*(?:\w+\s*,\s*)?(?P<key>[a-z]\w*)\s*,\s*(?:\w+\s*,\s*)?"
    r"(?P<value>-?\d[\w.]*|[a-z]\w*|\"[^\"]{0,80}\"|<<\"[^\"]{0,80}\">>)\s*\)"
)
_ATTRIBUTE = re.compile(r"\s*(?P<name>@[a-z]\w*)\s+(?=\S)")
_TYPED = re.compile(r"(?<![\w.])(?P<name>[A-Za-z_]\w*)\s+\*?[\w.\[\]]{1,40}\s*=(?!=)\s*(?=\S)")
"""A name before its type, in Go."""
_TYPED_BEHIND = re.compile(r"(?<![\w.:])(?P<name>[A-Za-z_]\w*)::(?P<type>[\w.{},]{1,60})\s*=(?![=>])\s*(?=\S)")
"""A name before its type, in Julia."""
_SHELL = re.compile(r"\$\{(?P<name>[A-Za-z_]\w*):?[-=]")
_INITIALIZED = re.compile(
    r"(?:^\s*[:,]\s*|\b(?:int|long|short|char|bool|float|double|auto|size_t|std::\w+|u?int\d+_t)\s+)"
    r"(?P<name>[A-Za-z_]\w*)\s*[({]\s*(?P<value>-?\d[\w.']*|\"[^\"\\]{0,80}\"|true|false)\s*[)}]"
)
_LITERAL = (
    r"(?:-?\.?\d[\w.]*(?:\s*(?:\*\*?|<<|\+|-|/)\s*\d[\w.]*){0,4}|\"[^\"\n]{0,120}\"|'[^'\n]{0,120}'|`[^`$\n]{0,120}`"
    r"|(?i:true|false|none|nil|null|undefined)\b|:[a-z_]\w*|Infinity\b)"
)
LITERAL = re.compile(_LITERAL)
_REPLACED = re.compile(
    rf"(?:[\"':](?P<key>[A-Za-z_][\w.-]{{0,60}})[\"']?\s*[\])]?|(?<![\w$]){_NAME}(?:\.|->|\?\.)(?P<member>\w+)"
    rf"|(?<![\w$.])(?P<name>{_NAME}))\s*(?:\|\||\?\?|\?:|\bor\b|//)\s*(?P<value>{_LITERAL})"
)
_FETCHED = re.compile(
    r"\b\w{0,30}(?:[gG]et|[fF]etch|[eE]nv|[dD]efault|[oO]ption|[pP]aram|[sS]etting|[cC]onfig)\w{0,30}\s*\(\s*"
    r"(?:[\w.$@]{1,40}\s*,\s*)?[\"':](?P<key>[A-Za-z_][\w.-]{0,60})[\"']?\s*,\s*"
    rf"(?P<value>{_LITERAL})\s*\)"
)
_NAMED_VALUE = re.compile(
    r"(?!.*[nN]ow$)(?:[A-Z]\w*(?:(?:\.|::)\w+)+|\.[a-z]\w*|[A-Z][A-Z\d_]{2,}"
    r"(?:\s*[*+/-]\s*(?:\d+|[A-Z][A-Z\d_]*))?|k[A-Z]\w*|_?[dD]efault(?:[A-Z]\w*|_\w+))"
)
"""A value that is itself a name: of a constant, of a member of an enum."""
_OF_PACKAGE = re.compile(r"(?:time|math|http|net|os|log|slog|zap|tls|io|color|logrus|syscall|utf8)\.[A-Z]\w*")
"""A constant of a package of Go; before other dots is a variable."""
_TYPE = re.compile(
    r"(?:[A-Z]\w*(?:[.:]+[A-Z]\w*)*|string|number|boolean|bool|int|float|str|any|void|object|unknown|never|u?int\d+"
    r"|[iuf](?:8|16|32|64|128|size)|usize|isize|char|double|long|byte|error|bytes|list|dict|tuple|set)\b"
)
_IF_ABSENT = re.compile(r"\s+(?:unless\s+(?:defined|exists)\b|if\s+(?:!|not\b|\w+\.nil\?)).*$")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`")
_KEYWORDS = frozenset(
    [
        "if",
        "else",
        "elif",
        "while",
        "for",
        "return",
        "case",
        "when",
        "match",
        "switch",
        "import",
        "from",
        "in",
        "is",
        "not",
        "and",
        "or",
        "assert",
        "raise",
        "throw",
        "new",
        "yield",
        "await",
        "print",
        "echo",
        "local",
        "set",
        "export",
        "default",
        "public",
        "private",
        "static",
        "final",
        "type",
        "class",
        "def",
        "defp",
        "fn",
        "func",
        "function",
        "fun",
        "sub",
        "let",
        "const",
        "var",
        "val",
    ]
)


@dataclass(frozen=True, slots=True)
class Binding:
    """A name and the value that a line gives it.

    Attributes
    ----------
    name
        As it is written, with the sign of a variable.
    value
        The value as written, in one line.
    form
        ``assigned``, ``entry`` of a literal, ``fallback`` for what isn't set, or ``macro``.
    column
        Where the name begins, from 0.
    end_line
        The last line of the value, from 1.
    """

    name: str
    value: str
    form: str
    column: int
    end_line: int


def read_bindings(lines: Sequence[str], number: int, path: str) -> Iterator[Binding]:
    """Yield the bindings of a line (from 1) of a file."""
    text = lines[number - 1]
    if len(text) > MAX_LINE:
        return
    for pattern, form in ((_DEFINED, "macro"), (_ATTRIBUTE, "assigned")):
        match = pattern.match(text)
        if match is not None and (form == "macro" or path.endswith((".ex", ".exs"))):
            yield from _read(lines, number, path, match["name"], form, match.start("name"), match.end(), "")
            return
    if path.endswith((".erl", ".hrl")):
        if (macro := _ERLANG_MACRO.match(text)) is not None:
            yield Binding(macro["name"], macro["value"], "macro", macro.start("name"), number)
        for match in _ERLANG_OPTION.finditer(text):
            yield Binding(match["key"], match["value"], "fallback", match.start("key"), number)
        return
    for match in _SHELL.finditer(text):
        value = _shell_value(text, match.end())
        if value:
            yield Binding(match["name"], value, "fallback", match.start("name"), number)
    for pattern in (_REPLACED, _FETCHED):
        for match in pattern.finditer(text):
            name = next(group for key in ("key", "member", "name") if (group := match.groupdict().get(key)))
            if name not in _KEYWORDS:
                yield Binding(name, match["value"], "fallback", match.start(), number)
    if (match := _INITIALIZED.search(text)) is not None and path.endswith((".h", ".hh", ".hpp", ".hxx", ".cpp", ".cc")):
        yield Binding(match["name"], match["value"], "assigned", match.start("name"), number)
    yield from _read_assigned(lines, number, path)


def _read_assigned(lines: Sequence[str], number: int, path: str) -> Iterator[Binding]:
    """Yield the assignments and entries of literals of a line."""
    text = lines[number - 1]
    typed = _TYPED.search(text) if path.endswith(".go") else None
    if typed is not None and typed["name"] not in _KEYWORDS:
        yield from _read(lines, number, path, typed["name"], "assigned", typed.start("name"), typed.end(), ",;")
        return
    if path.endswith(".jl") and (typed_names := list(_TYPED_BEHIND.finditer(text))):
        for match in typed_names[:_MAX_BINDINGS]:
            yield from _read(lines, number, path, match["name"], "assigned", match.start("name"), match.end(), ",;")
        return
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    for count, match in enumerate(_ASSIGNED.finditer(text)):
        name = match["quoted"] or match["name"]
        if count >= _MAX_BINDINGS:
            return
        position = match.start("name") if match["name"] else match.start("quoted") - 1
        if any(first < position < last for first, last in quoted):
            continue  # text
        if match["sign"] == ":" and re.search(r"\?[^?:{}]*$", text[: match.start()]) is not None:
            continue  # the second half of a choice
        if name in _KEYWORDS or (match["sign"] == "<-" and not path.endswith((".R", ".r"))):
            continue
        is_entry = match["sign"] in {":", "=>"}
        form = "entry" if is_entry else "fallback" if match["sign"] in {"?=", "||=", "//=", "??="} else "assigned"
        start = match.start("name") if match["name"] else match.start("quoted")
        yield from _read(lines, number, path, name, form, start, match.end(), ",;")


def _read(
    lines: Sequence[str], number: int, path: str, name: str, form: str, column: int, end: int, stops: str
) -> Iterator[Binding]:
    """Yield the binding whose value begins in a column, if it is a value that can be read."""
    expression = read_expression(lines, number - 1, end, path, stops, ends_with_line=True)
    if expression is None:
        return
    value = " ".join(expression.text.rstrip(",;").split())
    if path.endswith((".pm", ".pl", ".rb")) and (absent := _IF_ABSENT.search(value)) is not None:
        value, form = value[: absent.start()], "fallback"
    if is_value(value, is_entry=form == "entry"):
        yield Binding(name, value, form, column, min(expression.line + 1, len(lines)))


def is_value(text: str, *, is_entry: bool) -> bool:
    """Return whether a text is a value that a reader understands: a literal, a short list of them, or a constant."""
    if not text or len(text) > 160:
        return False
    if LITERAL.fullmatch(text) is not None:
        return True
    is_constant = re.fullmatch(r"(?:[\w.:]*[.:])?[A-Z][A-Z\d]*_[A-Z\d_]+", text) is not None
    if is_entry and not is_constant and _TYPE.fullmatch(text) is not None:
        return False  # the type of a name
    if text[0] in "[({" and text[-1] in "])}":
        is_expression = text[0] == "(" and re.search(r"[A-Za-z_$@]", _QUOTED.sub("", text)) is not None
        has_code = re.search(r"[;]|=>|\b(?:function|return|lambda)\b", text) is not None
        return 2 < len(text) <= _MAX_LIST and not (is_expression or has_code)
    if _NAMED_VALUE.fullmatch(text) is not None or _OF_PACKAGE.fullmatch(text) is not None:
        return True
    return not is_entry and re.fullmatch(r"[\w.:]+(?:\s*(?:\*\*?|<<|\+|-|/)\s*[\w.:]+){1,4}", text) is not None


def is_measure(text: str) -> bool:
    """Return whether a value may say how many, how long or how large something is."""
    return re.search(r"\d|[A-Z]{3}|(?i:infinity|unlimited|none|nil|null|count|max|min)", text) is not None


def without_texts(line: str) -> str:
    """Return a line whose texts in quotation marks are blank, so that columns stay."""
    return _QUOTED.sub(lambda match: " " * len(match[0]), line)


def _shell_value(text: str, start: int) -> str:
    """Return the default in ``${NAME:-default}`` up to its closing brace; empty without one."""
    depth = 1
    for position in range(start, len(text)):
        depth += (text[position] == "{") - (text[position] == "}")
        if not depth:
            return text[start:position].strip("\"'")
    return ""
