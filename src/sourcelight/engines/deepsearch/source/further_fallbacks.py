"""Read what replaces an absent value where no operator behind a name gives it.

    const file = args[0]?.trim() ?? 'a.txt'          the value of an expression is absent
    match input { Some(it) => it, None => "." }      an arm for nothing, in Rust
    impl Default for Style { … Self::Plain … }       the member of an enum that its default is, in Rust
    [self initWithSession:session maxActive:4]       labels of an initializer that another one calls, in Objective-C
    (:default-initargs :port 443)                    arguments and slots of classes of Lisp
    void pack(File f) { pack(f, LEVEL); }            what an overload passes to a longer one, in Java and the like

The text of a repository is hostile: each pattern reads a bounded part of a line, and each search a bounded number of
lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from sourcelight.engines.deepsearch.source.fallbacks import LITERAL
from sourcelight.engines.deepsearch.source.line_kinds import ANY_COMMENT
from sourcelight.engines.deepsearch.source.literals import without_texts
from sourcelight.engines.deepsearch.source.options.chains import OptionDefault
from sourcelight.engines.deepsearch.source.options.scanner import MAX_LINE
from sourcelight.engines.deepsearch.source.values import split_items

_NAME = r"[@$]?[A-Za-z_][\w$]*"
_NAMED = (
    r"(?:(?:[A-Z]\w{0,60}(?:\.|::)){1,4}\w{1,60}|[A-Z][A-Z\d_]{2,60}|[dD]efault(?:[A-Z_]\w{0,60})|\.[a-z]\w{0,60}"
    r"|k[A-Z]\w{0,60})"
)
"""A constant: ``Culture.Invariant``, ``DEFAULT_SIZE``, ``.plain`` of Swift."""
_VALUE = rf"(?:{LITERAL.pattern}|{_NAMED})(?![\w(.\[])"

# Operators behind expressions, and calls.
_REPLACED = re.compile(
    rf"(?<![\w$])(?P<name>{_NAME})(?:\([^()\n]{{0,40}}\)|\[[^\[\]\n]{{0,20}}\])?\s*"
    rf"(?:\?\?|\?:|%\|\|%)\s*(?P<value>{_NAMED})(?![\w(.\[])"
)
"""A constant behind an operator: ``culture ?? Culture.Invariant``."""
_SET_TO = re.compile(
    rf"\s*(?:[\w<>,?]{{1,40}}\s+){{0,3}}(?P<name>{_NAME})(?:\s*:\s*[\w.<>?|\[\] ]{{1,40}})?\s*(?:=|:=|<-|:)\s*"
    rf"(?P<made_from>[^=?|\n]{{0,20}}(?:\?(?=[.\[])|[^=?|\n]){{1,140}}?)\s*(?:\?\?|\?:|%\|\|%|\|\|)\s*(?P<value>{_VALUE})\s*[,;)]{{0,3}}\s*(?://.*)?$"
)
"""A name that gets the value of an expression, or another one: ``file = args[0]?.trim() ?? 'a.txt'``."""
_TAKEN = re.compile(
    r"\.(?:pop|setdefault|getOrDefault|fetch|get|dig|value_or|valueOr|getOrElse)\(\s*(?:[\w.$@]{1,40}\s*,\s*)?[\"':](?P<name>[A-Za-z_][\w.-]{0,60})[\"']?\s*,\s*"
    rf"(?P<value>{_VALUE})\s*\)"
)
"""The second argument of a look-up: ``options.pop("size", 5)``."""
_GIVEN = re.compile(
    rf"\bdefaultArg\s+(?P<argument>{_NAME})\s+(?P<of_argument>{_VALUE})"
    rf"|\bOption\.(?:value\s+~default:|defaultValue\s+)\(?(?P<first>{_VALUE})\)?\s+(?P<option>{_NAME})"
    rf"|(?<![\w.])(?P<piped>{_NAME})\s*\|>\s*Option\.(?:value\s+~default:|defaultValue\s+)(?P<of_pipe>{_VALUE})"
    rf"|\?\(\s*(?P<parameter>[a-z_]\w*)\s*(?::[^=()\n]{{1,60}})?=\s*(?P<of_parameter>{_VALUE})\s*\)"
)
"""An optional value of F# or OCaml, and an optional parameter of OCaml."""
_OF_LUA = re.compile(
    rf"(?P<name>[A-Za-z_]\w*)\s*=\s*(?:\([\w *]{{1,30}}\)\s*)?luaL?_opt\w{{1,20}}\(\s*\w+\s*,\s*[^,()\n]{{1,20}},\s*"
    rf"(?P<value>{_VALUE})\s*[,)]"
)
"""An argument of a function of Lua, as C reads it: ``size = luaL_optinteger(L, 1, 5)``."""
_UNWRAPPED = re.compile(
    rf"(?<![\w.])(?:\w+(?:\(\))?\.){{0,3}}(?P<name>[a-z_]\w*)(?:\(\))?\s*(?:\.\w+\(\)\s*){{0,2}}"
    rf"\.(?:unwrap_or(?:_else)?|map_or)\(\s*(?:\|\|\s*)?(?P<value>{_VALUE})"
)
"""A value of Rust that may be absent: ``size.unwrap_or(MAX_SIZE)``."""

# Forms of several lines.
_NONE_ARM = re.compile(rf"\s*None\s*=>\s*(?:return\s+)?(?P<value>{_VALUE}|vec!\[\s*{LITERAL.pattern}\s*\])\s*,?\s*$")
_MATCHED = re.compile(
    r"(?:let\s+(?:mut\s+)?(?P<variable>\w+)\s*(?::[^=\n]{1,60})?=\s*)?match\s+(?P<subject>[^{}\n]{1,160})\{\s*$"
)
_SUBJECT = re.compile(r"\(\s*\"(?P<key>[\w-]{1,60})\"\s*\)\s*$|(?P<name>[a-z_]\w*)(?:\(\))?(?:\.\w+\(\)){0,2}\s*$")
_PUSHED = re.compile(rf"\s*(?:\w+\.)*(?P<name>[a-z_]\w*)\.push\((?P<value>{_VALUE})\);\s*$")
"""An element for a list that is empty: the line above asks whether it is."""
_DEFAULT_IMPL = re.compile(r"\s*impl\s+Default\s+for\s+(?P<name>[A-Z]\w*)\s*\{")
_DEFAULT_MEMBER = re.compile(r"\s*(?:return\s+)?(?P<value>(?:Self|[A-Z]\w*)::[A-Z]\w*)\s*;?\s*\}?\s*$")
_LABEL = re.compile(
    rf"(?<![\w?:])(?P<name>[a-z]\w{{2,60}}):\s*(?P<value>(?:@?{LITERAL.pattern}|YES|NO|[A-Z]\w{{3,60}}))(?=\s*(?:[\]\s]|$))"
)
_INITIALIZER = re.compile(r"\[\s*(?:self|super|\[\s*(?:self|[A-Z]\w*)\s+alloc\])\s+init\w*:")
_OF_INITIALIZER = re.compile(r"\s*[-+]\s*\([^()]{1,60}\)\s*(?:init|shared|default|new|standard)\w*")
_LISP_ARGUMENT = re.compile(
    r"(?<!\S)[(]?:(?P<name>[a-z][\w*-]{0,60})\s+(?P<value>-?\d[\w./]*|\"[^\"\n]{0,80}\"|[:'][a-z][\w-]{0,60}|t|nil)(?=[\s)]|$)",
    re.IGNORECASE,
)
_LISP_SLOT = re.compile(
    r"\s*\(*(?P<name>[a-z*][\w*-]{0,60})(?=\s*$|\s+:(?:init(?:arg|form)|reader|accessor|type|documentation|allocation))",
    re.IGNORECASE,
)
_INITFORM = re.compile(
    r":initform\s+(?P<value>-?\d[\w./]*|\"[^\"\n]{0,80}\"|[:'+*][a-z][\w*+-]{0,60}|t|nil)(?=[\s)]|$)", re.IGNORECASE
)
_OVERLOAD_CALL = re.compile(
    r"\s*(?:return\s+)?(?:this\.)?(?P<name>[a-z]\w*)\((?P<arguments>[^;\n]{1,300})\);\s*\}?\s*$"
)
_HEAD = r"\b{name}\s*\((?P<parameters>[^;{{}}\n]{{0,400}})\)\s*(?:throws\s[\w., ]{{1,100}})?\{{?\s*$"
_MAX_SLOT_LINES = 120
"""Lines below a slot of Lisp in which its class goes on."""
_MATCH_LINES, _CLASS_LINES, _OVERLOAD_LINES, _HEAD_LINES, _MAX_HEADS = 6, 12, 3, 30, 30


def read_further_fallbacks(lines: Sequence[str], number: int, path: str) -> Iterator[OptionDefault]:
    """Yield what a line (from 1) gives to names that have no value, in the forms above."""
    text = lines[number - 1]
    if len(text) > MAX_LINE or ANY_COMMENT.match(text) is not None:
        return

    if "?" in text or "|" in text:
        yield from _of_matches(_REPLACED, text, number)
        replaced = _SET_TO.match(text)
        if replaced is not None and replaced["made_from"].count("(") == replaced["made_from"].count(")"):
            yield OptionDefault(replaced["name"], replaced["value"], replaced.start("name"), number, number)
    if "(" in text:
        yield from _of_matches(_TAKEN, text, number)
    for endings, read in _READERS:
        if path.endswith(endings):
            yield from read(lines, number)


def _of_matches(pattern: re.Pattern[str], text: str, number: int) -> Iterator[OptionDefault]:
    for match in pattern.finditer(text):
        yield OptionDefault(match["name"], match["value"], match.start("name"), number, number)


def _read_given(lines: Sequence[str], number: int) -> Iterator[OptionDefault]:
    """Yield the values of optional arguments of F# and OCaml."""
    for match in _GIVEN.finditer(lines[number - 1]):
        name = match["argument"] or match["option"] or match["piped"] or match["parameter"]
        value = match["of_argument"] or match["first"] or match["of_pipe"] or match["of_parameter"]
        yield OptionDefault(name, value, match.start(), number, number)


def _read_lua(lines: Sequence[str], number: int) -> Iterator[OptionDefault]:
    if "_opt" in lines[number - 1]:
        yield from _of_matches(_OF_LUA, lines[number - 1], number)


def _read_rust(lines: Sequence[str], number: int) -> Iterator[OptionDefault]:
    """Yield what Rust gives to optional values on a line (from 1), or below it."""
    text = lines[number - 1]
    yield from _of_matches(_UNWRAPPED, text, number)
    if "match " in text and (matched := _MATCHED.search(text)) is not None:
        subject = _SUBJECT.search(matched["subject"].strip())
        for index in range(number, min(number + _MATCH_LINES, len(lines))):
            arm = _NONE_ARM.match(lines[index][:MAX_LINE])
            if arm is not None and subject is not None:
                name = subject["key"] or subject["name"]
                yield OptionDefault(name, _bare(arm["value"]), matched.start(), number, index + 1)
            if arm is not None or lines[index].lstrip().startswith("}"):
                return

    pushed = _PUSHED.match(text)
    if (
        pushed is not None
        and number > 1
        and f"if {pushed['name']}.is_empty()" in lines[number - 2].replace("self.", "")
    ):
        yield OptionDefault(pushed["name"], pushed["value"], pushed.start("name"), number, number)

    default = _DEFAULT_IMPL.match(text)
    for index in range(number, min(number + _MATCH_LINES, len(lines)) if default is not None else number):
        member = _DEFAULT_MEMBER.match(lines[index][:MAX_LINE])
        if default is not None and member is not None:
            yield OptionDefault(default["name"], member["value"], default.start("name"), number, index + 1)
            return


def _bare(value: str) -> str:
    """Return the only element of a list of Rust, or the value itself."""
    return value.removeprefix("vec![").rstrip("]").strip() if value.startswith("vec![") else value


def _read_labels(lines: Sequence[str], number: int) -> Iterator[OptionDefault]:
    """Yield the values that an initializer of Objective-C passes to another one."""
    labels = list(_LABEL.finditer(lines[number - 1]))
    if not labels:
        return
    above = range(number, max(0, number - _CLASS_LINES), -1)
    start = next((index for index in above if _INITIALIZER.search(lines[index - 1][:MAX_LINE]) is not None), 0)
    between = without_texts(" ".join(line[:MAX_LINE] for line in lines[start - 1 : number - 1]))
    if not start or (between.count("[") <= between.count("]") and start != number):
        return
    before = lines[max(0, start - _HEAD_LINES) : start]
    head = next((line for line in reversed(before) if line.startswith(("-", "+"))), "")
    if _OF_INITIALIZER.match(head[:MAX_LINE]) is not None:
        for match in labels:
            yield OptionDefault(match["name"], match["value"], match.start("name"), number, number)


def _read_lisp(lines: Sequence[str], number: int) -> Iterator[OptionDefault]:
    """Yield the initial values of slots, and the default arguments, of a class of Lisp."""
    text = lines[number - 1]
    above = " ".join(line.strip() for line in lines[max(0, number - 4) : number - 1])
    if ":default-initargs" in text.lower() or _is_open(above, "(:default-initargs"):
        start = max(0, text.lower().find(":default-initargs") + len(":default-initargs"))
        for match in _LISP_ARGUMENT.finditer(text, start if ":default-initargs" in text.lower() else 0):
            yield OptionDefault(match["name"], match["value"], match.start("name"), number, number)

    slot = _LISP_SLOT.match(text)
    depth = 0
    for index in range(number, min(number + _CLASS_LINES, len(lines) + 1) if slot is not None else number):
        line = without_texts(lines[index - 1][:MAX_LINE])
        form = _INITFORM.search(lines[index - 1][:MAX_LINE])
        if slot is not None and form is not None and _is_argument_below(lines, index, slot["name"]):
            return
        if slot is not None and form is not None:
            yield OptionDefault(slot["name"], form["value"], slot.start("name"), number, index)
            return
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            return


def _is_argument_below(lines: Sequence[str], number: int, name: str) -> bool:
    """Return whether a class of Lisp gives a slot a default argument below a line, which replaces its first value."""
    below = re.split(r"\n\(", "\n".join(line[:MAX_LINE] for line in lines[number : number + _MAX_SLOT_LINES]))[0]
    arguments = below.lower().partition("(:default-initargs")[2]
    return re.search(rf":{re.escape(name.lower())}(?=[\s)])", arguments) is not None


def _is_open(text: str, start: str) -> bool:
    """Return whether the last bracket that begins with a text is open at its end."""
    position = text.lower().rfind(start)
    behind = without_texts(text[position:]) if position >= 0 else ""
    return behind.count("(") > behind.count(")")


def _read_overload(lines: Sequence[str], number: int) -> Iterator[OptionDefault]:
    """Yield what an overload, whose head is above a line (from 1), passes to the one that has more parameters."""
    call = _OVERLOAD_CALL.match(lines[number - 1])
    if call is None:
        return
    arguments = split_items(call["arguments"])
    head = re.compile(_HEAD.format(name=re.escape(call["name"])))
    own_head = next(
        (
            match
            for index in range(number - 2, max(-1, number - 2 - _OVERLOAD_LINES), -1)
            if (match := head.search(lines[index][:MAX_LINE])) is not None
        ),
        None,
    )
    own_names = _parameter_names(own_head["parameters"]) if own_head is not None else []
    if own_head is None or len(own_names) >= len(arguments):
        return

    heads = [
        (line_number, _parameter_names(match["parameters"]))
        for line_number, line in enumerate(lines, 1)
        if call["name"] in line and (match := head.search(line[:MAX_LINE])) is not None
    ]
    longer = [item for item in heads[:_MAX_HEADS] if len(item[1]) == len(arguments) and _agrees(item[1], arguments)]
    for position, argument in enumerate(arguments):
        names = {items[position]: line_number for line_number, items in longer}
        if len(names) == 1 and re.fullmatch(_VALUE, argument) is not None:
            name, line_number = names.popitem()
            yield OptionDefault(name, argument, call.start("name"), number, number, line_number)


def _agrees(names: Sequence[str], arguments: Sequence[str]) -> bool:
    """Return whether each argument that is a name in lower case is passed for the parameter of this name."""
    pairs = [(name, argument) for name, argument in zip(names, arguments, strict=True) if argument[:1].islower()]
    return bool(pairs) and all(name == argument for name, argument in pairs if argument.isidentifier())


def _parameter_names(text: str) -> list[str]:
    """Return the names of parameters behind their types."""
    return [match[0] if (match := re.search(r"\w+$", item)) is not None else "" for item in split_items(text)]


_READERS: Sequence[tuple[tuple[str, ...], Callable[[Sequence[str], int], Iterator[OptionDefault]]]] = (
    ((".fs", ".fsi", ".fsx", ".ml", ".mli"), _read_given),
    ((".c", ".cc", ".cpp"), _read_lua),
    ((".rs",), _read_rust),
    ((".m", ".mm"), _read_labels),
    ((".lisp", ".lsp", ".cl"), _read_lisp),
    ((".java", ".cs", ".kt", ".groovy", ".cpp", ".hpp", ".h"), _read_overload),
)
"""Readers of the forms of single languages, by the endings of paths."""
