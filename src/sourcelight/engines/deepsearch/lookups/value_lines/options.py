"""Read options that calls, attributes and blocks register with their defaults, in many libraries and languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from sourcelight.engines.deepsearch.lookups.prose_values.bindings import MAX_LINE, Binding, is_value
from sourcelight.engines.deepsearch.lookups.value_lines.texts import MAX_BELOW, group_around

_LITERAL = r"(?:-?\d[\w.]*|\"[^\"\n]{0,80}\"|'[^'\n]{0,80}'|(?i:true|false))"
_CONSTANT = r"(?:[a-zA-Z_]\w*(?:\.|::))?[A-Z]\w{1,60}|\d+\s*\*\s*[\w.]+"
_REGISTERED = re.compile(
    r"\b(?P<callee>(?:\w+(?:\.|->|::))*\w*(?:Var|VarP|String|Int|Int32|Int64|Uint|Uint64|Bool|Duration|Float64"
    r"|Float|StringP"
    r"|IntP|BoolP|DurationP|[Ff]lag|[Oo]ption|append|DEFINE_\w+|add_\w*option|[Ss]etting|[Pp]arameter|[Pp]roperty"
    r"|define))"
    r"\(\s*(?:&?[\w.\[\]]{1,60}\s*,\s*)?[\"']?(?P<name>(?<=[\"'])-{0,2}[\w.-]{1,60}(?=[\"'])"
    r"|(?<=\()[a-z]\w{1,60})[\"']?\s*,\s*"
    rf"(?:\"\w?\"\s*,\s*)?(?P<value>{_LITERAL}|{_CONSTANT}|[\w.]+\([^()\"]{{0,40}}\))\s*,\s*(?=[\"'`\[]|\w+\.\w+\(|$)"
)
"""A call that registers an option with its default and its help: of ``flag``, ``pflag``, gflags, absl, a table "
"of Lua."""
_KINGPIN = re.compile(
    r"\.(?:Flag"
    r"|Arg)\(\s*\"(?P<name>[\w-]{1,60})\"\s*,\s*\"[^\"\n]{0,300}\"\s*\)[^\n]{0,160}?\.Default\(\s*(?P<value>[^()\n]{1,80})\s*\)"
)
_FIRST_ARGUMENT = re.compile(
    rf"\b(?P<name>[a-z_]\w{{0,60}})\s*(?::[^=\n]{{1,80}})?=\s*(?:\w+\.)?(?:Option|Argument|Field|Query|Body"
    rf"|Header|Form)\(\s*"
    rf"(?:default\s*=\s*)?(?P<value>{_LITERAL})\s*[,)]"
)
_PROPERTY = re.compile(
    rf"\b\w*(?:[pP]roperty|[eE]nv\.\w+|[sS]etting"
    rf"|[pP]reference)\w*\(\s*[\"'](?P<name>[\w.-]{{1,60}})[\"']\s*,\s*(?:default\s*=\s*)?(?P<value>{_LITERAL})\s*\)"
)
_HASKELL_OPTION = re.compile(r"\blong\s+\"(?P<name>[\w-]{1,60})\"")
_HASKELL_VALUE = re.compile(r"<>\s*(?:O\.|Opt\.)?value\s+(?P<value>\S+)")
_CMDARGS = re.compile(rf"(?:^|[,{{])\s*(?P<name>[a-z]\w*)\s*=\s*(?P<value>{_LITERAL})\s*&=")
"""A field of a record of options of Haskell, with its help behind its default: ``port = 80 &= help "Port"``."""
_OCAML_OPTION = re.compile(
    rf"\bopt\s+(?:~vopt:\S+\s+)?\(?[\w.]+(?:\s+[\w.]+)?\)?\s+(?P<value>{_LITERAL})\s*(?:&"
    rf"|@@)\s*info\s*\[(?P<names>[^\]\n]{{1,100}})\]"
)
_URFAVE_NAME = re.compile(r"\bName:\s*\"(?P<name>[\w-]{1,60})")
_URFAVE_VALUE = re.compile(rf"\bValue:\s*(?P<value>{_LITERAL}|{_CONSTANT})\s*[,}}]")
_LISP_OPTION = re.compile(
    r"\s*\((?:defcustom|defvar(?:-local)?|defconst|defparameter|defvar-keymap|def"
    r"|define)\s+(?P<name>[^\s()]{1,80})\s+(?P<value>[^\s()'\"][^\s()]{0,80}|\"[^\"\n]{0,80}\""
    r"|'[^\s()]{1,60})\s*\)*\s*(?:;.*)?$"
)
_DOCUMENTED = re.compile(
    r"[\"']\s{0,12}(?:-\w[, /|]{1,3})?--?(?P<name>[a-zA-Z][\w-]{0,60})[^\"'\n]{0,40}[\"'][^\n]{0,200}?"
    r"[(\[.,;:\s]defaults?(?: value)?(?: to| is|:|=)\s*(?P<value>`[^`\n]{1,60}`|\"[^\"\n]{1,60}\"|'[^'\n]{1,60}'"
    r"|[\w./:-]{0,60}\w)",
    re.IGNORECASE,
)
"""An option whose help states its default: ``opts.on("--jobs N", "Jobs (default: 8)")``."""
_VIM_PAIR = re.compile(
    r"\s*\\\s*\[\s*'(?P<name>[a-z]\w{1,60})',\s*(?P<value>-?\d[\w.]*|'[^'\n]{0,80}'|\"[^\"\n]{0,80}\")\s*\],?\s*$"
)
"""A pair of a list of options of Vim, on a line of its own: ``\\ ['width', 40],``."""
_CMAKE_OPTION = re.compile(
    r"\s*(?:cmake_dependent_)?option\(\s*(?P<name>\w{1,80})\s+\"[^\"\n]{0,200}\"\s+(?P<value>ON|OFF|TRUE|FALSE)\s*\)",
    re.IGNORECASE,
)
_HCL_VARIABLE = re.compile(r"variable\s+\"(?P<name>[\w-]{1,80})\"\s*\{")
_HCL_DEFAULT = re.compile(r"\s*default\s*=\s*(?P<value>\S.*?)\s*$")
_ATTRIBUTE_LIST = re.compile(r"\s*(?P<owner>@[a-z]\w*)\s+\[?(?=[a-z]\w*:\s)")
_KEYWORD = re.compile(
    r"(?<![\w:])(?P<name>[a-z]\w*):\s+(?P<value>-?\d[\w.]*|:[a-z]\w*|\"[^\"\n]{0,80}\"|true|false)(?=\s*[,\]]|\s*$)"
)
_NAMED_DEFAULT = re.compile(
    r"[(,;]?\s*(?P<name>[a-z]\w{0,60})(?:\s*:\s*[\w\[\]]{1,40})?\s*=\s*(?P<value>[A-Z]\w{0,40})\s*[,)]"
)
_ENUM_DEFAULT = re.compile(r"\s*#\[default\]\s*(?P<rest>.*)$")
_ENUM_MEMBER = re.compile(r"\s*(?P<name>[A-Z]\w*)\s*(?:,|=|$|\})")
_ENUM_LINES = 80
_ENUM_HEAD = re.compile(r"\s*(?:pub(?:\([^)]*\))?\s+)?enum\s+(?P<name>\w+)")


def read_more_bindings(lines: Sequence[str], number: int, path: str) -> Iterator[Binding]:
    """Yield the defaults of options that a line (from 1) registers in further ways."""
    text = lines[number - 1]
    if len(text) > MAX_LINE:
        return

    registered = _read_call(lines, number) or _read_documented(lines, number)
    if registered is not None:
        yield registered
        return

    for ending, read in _READERS:
        if path.endswith(ending):
            yield from read(lines, number)
            return


def _read_call(lines: Sequence[str], number: int) -> Binding | None:
    """Return the option that a call on a line (from 1) registers with its default."""
    text_below = _join(lines, number)
    for pattern in (_REGISTERED, _KINGPIN, _PROPERTY):
        match = pattern.search(text_below)
        if match is None or match.start() >= len(lines[number - 1]) or match["value"].lower() in {"null", "nil"}:
            continue

        end = number + _lines_to(lines, number, match["value"])
        # Inside of the brackets of the call, whose texts are about the option.
        column = match.start("name") if match.start("name") < len(lines[number - 1]) else match.start()
        return Binding(match["name"].lstrip("-"), match["value"].strip(), "fallback", column, end)

    return None


def _read_documented(lines: Sequence[str], number: int) -> Binding | None:
    """Return the option on a line (from 1) whose help states its default."""
    match = _DOCUMENTED.search(_join(lines, number))
    if match is None or match.start() >= len(lines[number - 1]):
        return None

    value = match["value"].strip("`")
    if value.lower() in {"none", "null", "nil", "undefined"}:
        return None
    is_text = re.match(r"[\"'\d-]", value) is None and value.lower() not in {"true", "false", "on", "off"}
    end = number + _lines_to(lines, number, match["value"])
    return Binding(match["name"], f'"{value}"' if is_text else value, "fallback", match.start("name"), end)


def _join(lines: Sequence[str], number: int) -> str:
    """Return a line (from 1), with the lines below it if it ends within a call."""
    text = lines[number - 1].rstrip()
    if text[-1:] not in {"(", ","}:
        return text
    return " ".join([text, *(line.strip() for line in lines[number : number + 3])])[:MAX_LINE]


def _of_pattern(pattern: re.Pattern[str], form: str) -> Callable[[Sequence[str], int], Iterator[Binding]]:
    """Return a reader that yields the names and values of a pattern's matches in a line."""

    def read(lines: Sequence[str], number: int) -> Iterator[Binding]:
        for match in pattern.finditer(lines[number - 1]):
            yield Binding(match["name"], match["value"].lstrip("'"), form, match.start("name"), number)

    return read


def _read_terraform(lines: Sequence[str], number: int) -> Iterator[Binding]:
    """Yield a variable of Terraform with its default."""
    match = _HCL_VARIABLE.match(lines[number - 1])
    for index in range(number, min(number + MAX_BELOW, len(lines)) if match is not None else number):
        default = _HCL_DEFAULT.match(lines[index][:MAX_LINE])
        if match is not None and default is not None and default["value"][-1] not in "{[(":
            yield Binding(match["name"], default["value"], "fallback", match.start("name"), index + 1)
        if default is not None or lines[index].startswith("}"):
            return


def _read_elixir(lines: Sequence[str], number: int) -> Iterator[Binding]:
    """Yield the pairs of a list that an attribute of a module is: ``@default timeout: 2_000``."""
    text = lines[number - 1]
    match = _ATTRIBUTE_LIST.match(text)
    for pair in _KEYWORD.finditer(text, match.end()) if match is not None else ():
        yield Binding(pair["name"], pair["value"], "entry", pair.start("name"), number)


def _read_haskell(lines: Sequence[str], number: int) -> Iterator[Binding]:
    match = _HASKELL_OPTION.search(lines[number - 1])
    if match is not None:
        yield from _in_group(lines, number, match, _HASKELL_VALUE)
    for field in _CMDARGS.finditer(lines[number - 1]):
        yield Binding(field["name"], field["value"], "fallback", field.start("name"), number)


def _read_go(lines: Sequence[str], number: int) -> Iterator[Binding]:
    match = _URFAVE_NAME.search(lines[number - 1])
    if match is not None:
        yield from _in_group(lines, number, match, _URFAVE_VALUE)


def _read_ocaml(lines: Sequence[str], number: int) -> Iterator[Binding]:
    match = _OCAML_OPTION.search(_join(lines, number))
    name = re.search(r"\"([\w-]{2,60})\"", match["names"]) if match is not None else None
    if match is not None and name is not None:
        yield Binding(name[1], match["value"], "fallback", max(0, lines[number - 1].find(name[1])), number)


def _lines_to(lines: Sequence[str], number: int, value: str) -> int:
    """Return how many lines below a line (from 1) a value is."""
    return next(
        (below for below in range(4) if number - 1 + below < len(lines) and value in lines[number - 1 + below]), 0
    )


def _read_rust(lines: Sequence[str], number: int) -> Iterator[Binding]:
    """Yield the default member of an enum of Rust, whose attribute is on a line (from 1)."""
    attribute = _ENUM_DEFAULT.match(lines[number - 1])
    if attribute is None:
        return

    above = range(number - 1, max(0, number - _ENUM_LINES), -1)
    head = next((index for index in above if _ENUM_HEAD.match(lines[index - 1]) is not None), 0)
    enum = _ENUM_HEAD.match(lines[head - 1]) if head else None
    below = [attribute["rest"], *lines[number : number + 10]]
    members = (
        (line, match) for line, text in enumerate(below, number) if (match := _ENUM_MEMBER.match(text)) is not None
    )
    line, member = next(members, (0, None))
    if enum is not None and member is not None:
        yield Binding(enum["name"], member["name"], "fallback", 0, line, head)


def _in_group(lines: Sequence[str], number: int, name: re.Match[str], value: re.Pattern[str]) -> Iterator[Binding]:
    """Yield the option whose name is on a line (from 1) with the value in the same brackets."""
    first, last = group_around(lines, number, name.start())
    for index in range(first, last + 1):
        match = value.search(lines[index - 1][:MAX_LINE])
        if match is not None and is_value(match["value"].rstrip(",)"), is_entry=False):
            yield Binding(
                name["name"],
                match["value"].rstrip(",)"),
                "fallback",
                name.start("name"),
                max(index, number),
                min(index, number),
            )
            return


_READERS: Sequence[tuple[str | tuple[str, ...], Callable[[Sequence[str], int], Iterator[Binding]]]] = (
    ((".cmake", "CMakeLists.txt"), _of_pattern(_CMAKE_OPTION, "fallback")),
    ((".ex", ".exs"), _read_elixir),
    ((".el", ".lisp", ".scm"), _of_pattern(_LISP_OPTION, "fallback")),
    (".tf", _read_terraform),
    (".vim", _of_pattern(_VIM_PAIR, "fallback")),
    (".nim", _of_pattern(_NAMED_DEFAULT, "assigned")),
    (".py", _of_pattern(_FIRST_ARGUMENT, "fallback")),
    (".rs", _read_rust),
    (".hs", _read_haskell),
    (".go", _read_go),
    (".ml", _read_ocaml),
)
"""Readers of further ways to register options, by the ending of the path."""
