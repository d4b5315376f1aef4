"""Read what a line of code binds to names: assigned values, entries of literals, defaults of heads, fallbacks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.source.fallbacks import is_made_of_literals, read_choice, read_fallbacks
from sourcelight.engines.deepsearch.source.further_fallbacks import read_further_fallbacks
from sourcelight.engines.deepsearch.source.lisp_options import LISP_FILE, read_lisp_options
from sourcelight.engines.deepsearch.source.literals import TEXT, without_texts
from sourcelight.engines.deepsearch.source.option_defaults import read_described_default, read_option_defaults
from sourcelight.engines.deepsearch.source.test_customs import is_in_test_module
from sourcelight.engines.deepsearch.source.values import in_one_line, is_of_itself, read_expression

MAX_LINE = 600
"""Characters of a line that is read: longer ones are minified or generated."""
_MAX_BINDINGS, _MAX_LIST = 24, 80
_NAME = r"[@$]{0,2}[A-Za-z_][\w$]*"
_ASSIGNED = re.compile(
    rf"(?P<before>(?:(?:[A-Za-z_]\w*|@)(?:\??\.|->|::)){{0,4}})"
    rf"(?:[\"'](?P<quoted>[A-Za-z_][\w.-]{{0,60}})[\"']|(?P<name>(?<![\w$]){_NAME}))[\]}}]?"
    r"(?:(?P<type>\s*:\s*[\w.<>\[\]?*&|@\\ ]{1,60}?)|\[\w{0,20}\])?"
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
_PERL_SUB = r"sub\s*\{\s*(?P<made>(?:[^{}]|\{\w{1,60}\}){1,120}?)\s*\}"
"""A function of Perl that makes a value."""
_PERL_ATTRIBUTE = re.compile(
    r"\s*has\s+[\"']?\+?(?P<name>[a-z_]\w*)[\"']?\s*=>\s*"
    rf"(?:{_PERL_SUB}|\((?P<options>[^()]{{1,300}})|(?P<value>[^\s(][^;]{{0,120}}?))\s*(?:;|\)|$)"
)
"""An attribute of Mojolicious, Moo or Moose: with its default, or with options that have it."""
_OR_LITERAL = re.compile(r"\$(?:ENV\{\w{1,60}\}|\w{1,60})\s*(?:\|\||//)\s*(?P<value>-?\d[\w.]*|\"[^\"]*\"|'[^']*')")
_PERL_OPTION = re.compile(rf"\bdefault\s*=>\s*(?:{_PERL_SUB}|(?P<value>[^,{{}}]{{1,120}}?))\s*(?:,|$)")
_NIM_SETTING = re.compile(
    r"\s*(?:const\s+)?(?P<name>[A-Za-z]\w*)\*?\s*\{\.\s*(?:str|int|bool)define\b[^{}\n]{0,60}\.\}\s*"
    r"(?::\s*\w{1,40}\s*)?=\s*(?=\S)"
)
"""A constant of Nim that the command line of the compiler may set."""
_SHELL = re.compile(r"\$\{(?P<name>[A-Za-z_]\w*):?[-=]")
_INITIALIZED = re.compile(
    r"(?:^\s*[:,]\s*|\b(?:int|long|short|char|bool|float|double|auto|size_t|std::\w+|u?int\d+_t)\s+)"
    r"(?P<name>[A-Za-z_]\w*)\s*[({]\s*(?P<value>-?\d[\w.']*|\"[^\"\\]{0,80}\"|true|false)\s*[)}]"
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
_TAKEN_APART = re.compile(r"\.(?:[cm]?[jt]s|[jt]sx|vue|svelte)$")
"""Languages that take objects apart: ``const { size = 5 } = options``."""
_PROPERTY = re.compile(r"(?<![\w.])(?P<name>[A-Za-z_]\w*)\s*\{\s*get;[\w ;]{0,40}\}\s*=\s*(?=\S)")
"""A property of C# with its first value."""
_PATTERN_LINES, _STRUCT_LINES = 20, 60
_STRUCT = re.compile(r"\s*defstruct\b")
_MADE_BY_CALL = re.compile(r":?[A-Za-z_][\w.]{0,80}\([^()]{0,60}\)")
"""A call without calls in it: ``:timer.seconds(1)``."""
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
    begin_line
        The first line of an annotation that has the value; 0 if that is the line of the name.
    declared_line
        The line that has the name, if the value stands elsewhere; 0 otherwise.
    """

    name: str
    value: str
    form: str
    column: int
    end_line: int
    begin_line: int = 0
    declared_line: int = 0


def read_bindings(lines: Sequence[str], number: int, path: str) -> Iterator[Binding]:
    """Yield the bindings of a line (from 1) of a file."""
    text = lines[number - 1]
    if len(text) > MAX_LINE or is_in_test_module(lines, number, path):
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

    if LISP_FILE.search(path) is not None:
        for option in read_lisp_options(lines, number):
            yield Binding(option.name, option.value, "fallback", option.column, number)
        return

    attribute = _read_perl_attribute(text, number) if path.endswith((".pm", ".pl", ".t")) else None
    if attribute is not None:
        yield attribute
        return

    setting = _NIM_SETTING.match(text) if path.endswith(".nim") else None
    if setting is not None:
        yield from _read(lines, number, path, setting["name"], "fallback", setting.start("name"), setting.end(), "")
        return

    yield from _read_fallbacks(lines, number, path)
    if (match := _INITIALIZED.search(text)) is not None and path.endswith((".h", ".hh", ".hpp", ".hxx", ".cpp", ".cc")):
        yield Binding(match["name"], match["value"], "assigned", match.start("name"), number)

    yield from _read_assigned(lines, number, path)
    if path.endswith(".cs") and (member := _PROPERTY.search(text)) is not None:
        yield from _read(lines, number, path, member["name"], "assigned", member.start("name"), member.end(), ";")


def _read_perl_attribute(text: str, number: int) -> Binding | None:
    """Return an attribute of a class of Perl with its default; None without a value that can be read."""
    match = _PERL_ATTRIBUTE.match(text)
    if match is None:
        return None

    option = _PERL_OPTION.search(match["options"]) if match["options"] else None
    source = option if option is not None else match
    value = source["made"] or source["value"] or ""
    replaced = _OR_LITERAL.fullmatch(value)
    value = replaced["value"] if replaced is not None else value
    if not is_made_of_literals(value):
        return None
    return Binding(match["name"], value, "fallback", match.start("name"), number)


def _read_fallbacks(lines: Sequence[str], number: int, path: str) -> Iterator[Binding]:
    """Yield what a line gives to names and options that have no value."""
    text = lines[number - 1]
    for match in _SHELL.finditer(text):
        value = _shell_value(text, match.end())
        if value:
            yield Binding(match["name"], value, "fallback", match.start("name"), number)

    quoted = [match.span() for match in TEXT.finditer(text)]
    for fallback in read_fallbacks(text):
        is_text = any(first < fallback.column < last for first, last in quoted)
        if fallback.name not in _KEYWORDS and not is_text:
            yield Binding(fallback.name, fallback.value, "fallback", fallback.column, number)

    for option in (*read_option_defaults(lines, number, path), *read_further_fallbacks(lines, number, path)):
        if option.name not in _KEYWORDS and is_value(option.value, is_entry=False):
            yield Binding(
                option.name, option.value, "fallback", option.column, option.end_line, option.begin_line,
                option.declared_line,
            )  # fmt: skip


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

    quoted = [match.span() for match in TEXT.finditer(text)]
    for count, match in enumerate(_ASSIGNED.finditer(text)):
        name = match["quoted"] or match["name"]
        if count >= _MAX_BINDINGS:
            return

        position = match.start("name") if match["name"] else match.start("quoted") - 1
        if any(first < position < last for first, last in quoted):
            continue  # text

        is_entry = match["sign"] in {":", "=>"}
        # The second half of a choice, or its first half, which looks like a type.
        is_choice = match["sign"] == ":" and re.search(r"\?[^?:{}]*$", text[: match.start()]) is not None
        # Without types, a second colon is that of a symbol or of a key in a list: `method: :post`, `size: [type: ...]`.
        has_value = match["sign"] == ":" and match["type"] and path.endswith((".ex", ".exs", ".rb"))
        if is_choice or (is_entry and match["type"] and not has_value):
            continue
        if match["sign"] == "=>" and path.endswith((".rs", ".scala", ".cs")):
            continue  # an arm of a match
        is_element = bool(match["quoted"]) and _is_element(path, text, match.start("quoted"))
        if is_element or name in _KEYWORDS or (match["sign"] == "<-" and not path.endswith((".R", ".r"))):
            continue

        start = match.start("name") if match["name"] else match.start("quoted")
        form = _form_of(lines, number, path, match["sign"], position)
        end = match.end()
        if has_value:
            end = match.start("type") + len(match["type"]) - len(match["type"].lstrip(" :"))

        described = read_described_default(lines, number, end, path)
        if described is not None and is_value(described[0], is_entry=False):
            yield Binding(name, described[0], "fallback", start, described[1])
        else:
            yield from _read(lines, number, path, name, form, start, end, ",;")


def _is_element(path: str, text: str, column: int) -> bool:
    """Return whether a key in a column is one of a hash that Perl refers to, unless that is called a default.

    ``$options->{'size'} = 5`` sets it for this one, often under a condition.
    """
    before = text[:column].rstrip("\"' ")
    return path.endswith((".pm", ".pl")) and before.endswith("->{") and "default" not in before.lower()


def _form_of(lines: Sequence[str], number: int, path: str, sign: str, position: int) -> str:
    """Return the form of a binding by its sign, and by what the place of its name is in."""
    if sign in {":", "=>"}:
        is_field = path.endswith((".ex", ".exs")) and _is_in_struct(lines, number)
        return "fallback" if is_field else "entry"
    if sign in {"?=", "||=", "//=", "??="}:
        return "fallback"

    is_taken_apart = _TAKEN_APART.search(path) is not None and _is_taken_apart(lines, number, position)
    return "fallback" if is_taken_apart else "assigned"


_OPERATOR = re.compile(r"\s+(?:\|\|?|&&?|\?\?|<<|[-+*/.]\s)")
"""The beginning of a line that goes on with an expression above."""


def _read(
    lines: Sequence[str], number: int, path: str, name: str, form: str, column: int, end: int, stops: str
) -> Iterator[Binding]:
    """Yield the binding whose value begins in a column, if it is a value that can be read."""
    expression = read_expression(lines, number - 1, end, path, stops, ends_with_line=True)
    # Half of a value is none: `FLAGS = ONE`, with `| TWO;` below.
    below = "" if expression is None else "".join(lines[expression.line + 1 : expression.line + 2])
    if expression is None or (not expression.end and _OPERATOR.match(below) is not None):
        return

    value = in_one_line(expression.text.rstrip(",;"))
    if path.endswith((".pm", ".pl", ".rb")) and (absent := _IF_ABSENT.search(value)) is not None:
        value, form = value[: absent.start()], "fallback"

    if (choice := read_choice(value)) is not None:
        yield Binding(choice[0], choice[1], "fallback", column, min(expression.line + 1, len(lines)))
    elif _is_made_by_struct(value, form, path) or (
        is_value(value, is_entry=form == "entry") and not is_of_itself(name, value)
    ):
        yield Binding(name, value, form, column, min(expression.line + 1, len(lines)))


def _is_made_by_struct(value: str, form: str, path: str) -> bool:
    """Return whether a value is a call in a struct of Elixir, which makes it for each struct."""
    return form == "fallback" and path.endswith((".ex", ".exs")) and _MADE_BY_CALL.fullmatch(value) is not None


def is_value(text: str, *, is_entry: bool) -> bool:
    """Return whether a text is a value that a reader understands: a literal, a short list of them, or a constant."""
    if not text or len(text) > 160:
        return False
    if is_made_of_literals(text):
        return True

    is_constant = re.fullmatch(r"(?:[\w.:]*[.:])?[A-Z][A-Z\d]*_[A-Z\d_]+", text) is not None
    if is_entry and not is_constant and _TYPE.fullmatch(text) is not None:
        return False  # the type of a name

    if text[0] in "[({" and text[-1] in "])}":
        is_expression = text[0] == "(" and re.search(r"[A-Za-z_$@]", TEXT.sub("", text)) is not None
        has_code = re.search(r"[;]|=>|\b(?:function|return|lambda)\b", text) is not None
        return 2 < len(text) <= _MAX_LIST and not (is_expression or has_code)

    if _NAMED_VALUE.fullmatch(text) is not None or _OF_PACKAGE.fullmatch(text) is not None:
        return True

    may_be_product = not is_entry or re.search(r"\d\s*\*|\*\s*\d", text) is not None
    return may_be_product and re.fullmatch(r"[\w.:]+(?:\s*(?:\*\*?|<<|\+|-|/)\s*[\w.:]+){1,4}", text) is not None


def is_measure(text: str) -> bool:
    """Return whether a value may say how many, how long or how large something is."""
    if text.casefold() in {"true", "false"}:
        return False
    return re.search(r"\d|[A-Z]{3}|(?i:inf(?:inity)?\b|unlimited|none|nil|null|count|max|min)", text) is not None


def _shell_value(text: str, start: int) -> str:
    """Return the default in ``${NAME:-default}`` up to its closing brace; empty without one."""
    depth = 1
    for position in range(start, len(text)):
        depth += (text[position] == "{") - (text[position] == "}")
        if not depth:
            return text[start:position].strip("\"'")
    return ""


def _is_in_struct(lines: Sequence[str], number: int) -> bool:
    """Return whether a line belongs to the list of ``defstruct``, whose values are what a struct has at first."""
    for index in range(number, max(0, number - _STRUCT_LINES), -1):
        text = lines[index - 1]
        if _STRUCT.match(text) is not None:
            return True
        if index < number and not text.rstrip().endswith((",", "[")):
            return False

    return False


def _is_taken_apart(lines: Sequence[str], number: int, column: int) -> bool:
    """Return whether a place is in a pattern that takes an object apart, rather than in a block."""
    depth = 0
    for index in range(number, max(0, number - _PATTERN_LINES), -1):
        text = without_texts(lines[index - 1][: column if index == number else MAX_LINE])
        for position in range(len(text) - 1, -1, -1):
            letter = text[position]
            depth += (letter in ")]}") - (letter in "([{")
            if depth < 0:
                before = text[:position].rstrip()
                return letter == "{" and (
                    before.endswith(("(", ",", "{", "[")) or re.search(r"\b(?:const|let|var)$|\w:$", before) is not None
                )

    return False
