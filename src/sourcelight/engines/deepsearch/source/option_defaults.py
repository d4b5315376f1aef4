"""Defaults in the description of an option: ``default=`` of a call or a literal, a chained call, an annotation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from sourcelight.engines.deepsearch.source.line_kinds import comment_end_at, comment_mark_of
from sourcelight.engines.deepsearch.source.literals import quoted_at
from sourcelight.engines.deepsearch.source.values import in_one_line, read_expression

_MAX_LINES, _MAX_CHARACTERS, _MAX_ANNOTATION_LINES, _MAX_LINE, _MAX_OPTIONS = 60, 4_000, 8, 600, 8
_ANNOTATION_SIGNS = ("#[", "@", "[")
_KEY = re.compile(r"[\"':]?default(?:_?[vV]alue)?(?:_t)?[\"']?\s*(?:=>|:(?!:)|=(?![=>~]))\s*(?=\S)")
_ANY_SIGN = re.compile(r"[()\[\]{}\"'`:d/#-]")
"""A bracket, and the beginning of a key, a text or a comment."""
_DESCRIPTION = re.compile(
    r"(?:[\[{]\s*$|(?:new\s+)?[A-Za-z_][\w.:]{0,60}(?:<[\w<>, ?]{0,40}>)?\(|[\[{](?=.*\bdefault))"
)
"""The beginning of the description of an option, behind its name: a literal, or a call."""
_OPTION = re.compile(
    r"(?:[\"'](?:-\w\W{1,3})?(?:--)?(?P<quoted>[A-Za-z][\w-]{0,60})(?:[ =][^\"'\n]{0,40})?[\"']"
    r"|(?<![\w:]):(?P<symbol>[a-z]\w{0,60}))\s*,"
)
_LITERAL = r"(?:-?\d[\w.]*|\"[^\"\n]{0,80}\"|'[^'\n]{0,80}'|(?i:true|false))"
_CHAINED = re.compile(rf"(?:\.|->)default(?:Value|_value|_value_t)?\(\s*(?P<value>{_LITERAL}|[A-Z][A-Z\d_]+)\s*\)")
_CHAIN_HEAD = re.compile(
    r"\b(?:[Aa]rg|[Oo]pt(?:ion)?|[Ff]lag|[Aa]rgument)(?:::\w{1,20})?\(\s*[\"'](?:-\w\W{1,3})?(?:--)?"
    r"(?P<name>[A-Za-z][\w-]{0,60})[^\"'\n]{0,60}[\"'][^()\n]{0,200}\)\s*$"
)
"""The first line of an option that calls below describe: ``Arg::new("port")`` of clap."""
_SCHEMA = re.compile(
    rf"Expect::(?:string|int|float|bool|array|list|mixed|scalar)\(\s*(?P<value>{_LITERAL}|[A-Z][\w\\]{{0,60}}::[A-Z]\w{{0,60}})\s*\)"
)
"""An entry of a schema of Nette, whose types take the default as their argument."""
_NODE = re.compile(
    r"->(?:scalar|boolean|integer|float|enum|variable)Node\(\s*[\"'](?P<name>[A-Za-z][\w-]{0,60})[\"']\s*\)"
)
_OF_NODE = re.compile(
    rf"->default(?:(?P<truth>True|False|Null)\(\s*\)|Value\(\s*(?P<value>{_LITERAL}|[A-Z][\w:]{{0,60}})\s*\))"
)
"""The default of a node of a configuration tree of Symfony, on the line of the node or in the calls below it."""
_MAX_CHAIN = 16
_POSITIONAL = re.compile(
    rf"\.option\(\s*[\"'](?:-\w,\s*)?--(?P<name>[A-Za-z][\w-]{{0,60}})[^\"'\n]{{0,60}}[\"']\s*,\s*"
    rf"(?:\"[^\"\n]{{0,200}}\"|'[^'\n]{{0,200}}')\s*,\s*(?P<value>{_LITERAL})\s*\)"
)
"""An option of commander: its flags, its description, its default."""
_TAGGED = re.compile(
    r"\s*(?P<name>[A-Z]\w{0,60})\s+[\w.*\[\]{}]{1,80}\s+`[^`\n]{0,400}?"
    r"(?<![\w-])(?:default|envDefault):\"(?P<value>[^\"\n]{1,80})\""
)
"""A field of Go whose tag has the default of a flag or a variable: ``Port int `default:"8080"` ``."""
_MEMBER = re.compile(
    r"\s*(?:@[A-Z]\w*(?:\([^()]*\))?\s+)?(?:pub(?:\([\w\s:]*\))?\s+|(?:public|private|protected|internal|static|final"
    r"|readonly|val|var|let|const)\s+){0,4}(?:[\w.]+(?:<[\w<>?, .]{0,60}>)?(?:\[\]|\?)?\s+)?"
    r"(?P<name>[A-Za-z_]\w*)\s*(?=[:;,{(]|$)"
)
_ANNOTATED = re.compile(
    rf"\b(?:default_value(?:_t)?|defaultValue)\s*=\s*(?P<named>{_LITERAL}|[A-Z][\w:.]*)|@?\bDefaultValue\(\s*(?P<only>{_LITERAL})\s*\)"
    r"|\$\{[\w.-]{1,80}:(?P<property>[^{}\"'\n]{1,60})\}"
)


@dataclass(frozen=True, slots=True)
class OptionDefault:
    """The default of an option: its name, the value as written, and where both stand.

    Attributes
    ----------
    name
        The name of the option, without dashes before it.
    value
        As written, in one line.
    column
        Where the name begins, from 0.
    begin_line, end_line
        The lines of name and value, from 1.
    """

    name: str
    value: str
    column: int
    begin_line: int
    end_line: int


def read_option_defaults(lines: Sequence[str], number: int, path: str) -> Iterator[OptionDefault]:
    """Yield the defaults of the options that a call or an annotation on a line (from 1) or above it describes."""
    text = lines[number - 1]
    if len(text) > _MAX_LINE:
        return

    for match in _POSITIONAL.finditer(text):
        yield OptionDefault(match["name"], match["value"], match.start("name"), number, number)

    for count, match in enumerate(_OPTION.finditer(text)):
        if count >= _MAX_OPTIONS:
            break
        if match["symbol"] and re.search(r"(?:[(,]|^\s*[\w.]+!?)\s*$", text[: match.start()]) is None:
            continue  # the value of another key

        name = match["quoted"] or match["symbol"]
        start = match.start("quoted") if match["quoted"] else match.start("symbol")
        if not _is_argument(lines, number, match.start()):
            continue

        default = _default_within(lines, number - 1, match.end(), path, max_depth=1)
        if default is not None:
            yield OptionDefault(name, default[0], start, number, default[1])

    node = _NODE.search(text)
    of_node = _default_of_node(lines, number, node.end()) if node is not None else None
    if node is not None and of_node is not None:
        yield OptionDefault(node["name"], of_node[0], node.start("name"), number, of_node[1])

    head = _CHAIN_HEAD.search(text)
    chained = None if head is None else _default_of_chain(lines, number)
    if head is not None and chained is not None:
        yield replace(chained, name=head["name"], column=head.start("name"))

    tagged = _TAGGED.match(text) if path.endswith(".go") else None
    if tagged is not None:
        yield OptionDefault(tagged["name"], tagged["value"], tagged.start("name"), number, number)

    member = _MEMBER.match(text)
    if member is not None and (annotated := _annotation(lines, number, member.start("name"))):
        yield OptionDefault(member["name"], annotated[0], member.start("name"), annotated[1], number)


def _default_of_chain(lines: Sequence[str], number: int) -> OptionDefault | None:
    """Return the default that the calls below a line (from 1) give an option, each on a line that begins with a dot."""
    for below in range(number + 1, min(number + _MAX_CHAIN, len(lines)) + 1):
        text = lines[below - 1]
        if len(text) > _MAX_LINE or not text.lstrip().startswith("."):
            return None

        match = _CHAINED.match(text.lstrip())
        if match is not None:
            return OptionDefault("", match["value"], 0, number, below)

    return None


def _default_of_node(lines: Sequence[str], number: int, column: int) -> tuple[str, int] | None:
    """Return the default that the calls behind a node give it, and its line; None where the node ends first."""
    for below in range(number, min(number + _MAX_CHAIN, len(lines)) + 1):
        text = lines[below - 1][column:] if below == number else lines[below - 1]
        if len(text) > _MAX_LINE or (below > number and not text.lstrip().startswith("->")):
            return None

        # A call in a text, as in `info("use ->defaultValue(3)")`, ends here too: the text has an odd number of marks.
        match = _OF_NODE.search(text)
        if match is not None and any(text[: match.start()].count(mark) % 2 for mark in "\"'"):
            return None

        last = re.search(r"->(?:end|\w{1,20}Node)\(", text)
        if match is not None and (last is None or match.start() < last.start()):
            return match["value"] or match["truth"].lower(), below
        if last is not None:
            return None

    return None


def _is_chained_on(lines: Sequence[str], number: int, column: int) -> bool:
    """Return whether calls behind an entry of a schema, on its line or below, may change or forbid its default."""
    following = lines[number] if number < len(lines) else ""
    is_changed = re.search(r"->(?:default|required|dynamic|before|castTo|transform)\(", lines[number - 1][column:])
    return is_changed is not None or following.lstrip().startswith("->")


def read_described_default(lines: Sequence[str], number: int, column: int, path: str) -> tuple[str, int] | None:
    """Return the default in the description that begins in a column of a line (from 1), and its line; None without one.

    A description is a literal with the key ``default``, a call with such an argument, or a chain that ends in a call
    of that name, as in ``z.number().default(5)``.
    """
    text = lines[number - 1]
    opening = _DESCRIPTION.match(text, column)
    if opening is None or len(text) > _MAX_LINE:
        return None

    schema = _SCHEMA.match(text, column)
    if schema is not None and not _is_chained_on(lines, number, schema.end()):
        return schema["value"], number

    chained = _CHAINED.search(text, opening.end())
    if chained is not None and opening[0].endswith("("):
        return chained["value"], number

    bracket = column + re.search(r"[\[{(]", opening[0]).start()  # type: ignore[union-attr]  # `opening` has one
    return _default_within(lines, number - 1, bracket + 1, path, max_depth=0)


def _default_within(  # noqa: PLR0911 - a scanner: one for each end of a description
    lines: Sequence[str], line: int, column: int, path: str, *, max_depth: int
) -> tuple[str, int] | None:
    """Return the value behind ``default`` in the brackets around a place (from 0), and its line, from 1."""
    comment_mark = comment_mark_of(path)
    depth, count, mark = 0, 0, ""
    for number in range(line, min(line + _MAX_LINES, len(lines))):
        text = lines[number]
        position = column if number == line else 0
        if len(text) > _MAX_LINE:
            return None

        if mark:
            if mark not in text:
                continue
            position, mark = text.index(mark) + len(mark), ""

        signs, steps = _read_signs(text, position, comment_mark)
        for sign in signs:
            if count + sign.step > _MAX_CHARACTERS:
                return None
            if sign.key_end and depth <= max_depth:
                return _value_at(lines, number, sign.key_end, path)

            mark = sign.mark
            depth += sign.change
            if depth < 0:
                return None

        count += steps
        if count > _MAX_CHARACTERS:
            return None

        # Without brackets around it, a call of Ruby ends with its line, unless a comma is last.
        if not mark and depth == 0 and max_depth and not text.rstrip().endswith((",", "(", "{", "\\")):
            following = lines[number + 1].lstrip() if number + 1 < len(lines) else ""
            if not following.startswith(("default", '"default', "'default", ":default", ")", "]", "}")):
                return None

    return None


class _Sign(NamedTuple):
    """A bracket, a key or a text of several lines, in a line.

    Attributes
    ----------
    step
        Its number among the letters, texts and comments that are read, from 1.
    key_end
        Where the value behind the key ``default`` begins; 0 for no such key.
    change
        1 for an opening bracket, -1 for a closing one, else 0.
    mark
        The mark that ends a text on a line below; empty for none. It is the last sign of its line.
    """

    step: int
    key_end: int
    change: int
    mark: str


# The options of a line, and those of the lines around it, read the same lines.
@lru_cache(maxsize=2 * _MAX_LINES)
def _read_signs(text: str, column: int, comment_mark: str) -> tuple[Sequence[_Sign], int]:
    """Return the signs of a line from a column on (from 0), and how many letters, texts and comments are read."""
    signs: list[_Sign] = []
    steps, position = 0, column
    while (match := _ANY_SIGN.search(text, position)) is not None:
        steps += match.start() - position + 1
        position = match.start()
        is_word = position == 0 or not (text[position - 1].isalnum() or text[position - 1] in "_.$")
        key = _KEY.match(text, position) if is_word else None

        letter, length, change, mark = match[0], 1, 0, ""
        comment_end = comment_end_at(text, position, comment_mark)
        if comment_end > position:
            length = comment_end - position
        elif letter in "\"'`":
            quoted = quoted_at(text, position)
            if quoted is not None:
                length = len(quoted)
            elif text.startswith(letter * 3, position):
                mark = letter * 3
        else:
            change = (letter in "([{") - (letter in ")]}")

        if key is not None or change or mark:
            signs.append(_Sign(steps, 0 if key is None else key.end(), change, mark))
        if mark:
            return signs, steps
        position += length

    return signs, steps + len(text) - position


def _value_at(lines: Sequence[str], line: int, column: int, path: str) -> tuple[str, int] | None:
    """Return the expression at a place (from 0), and its last line, from 1."""
    expression = read_expression(lines, line, column, path, ",;", ends_with_line=True)
    if expression is None:
        return None
    return in_one_line(expression.text.rstrip(",;")), min(expression.line + 1, len(lines))


def _is_argument(lines: Sequence[str], number: int, column: int) -> bool:
    """Return whether a place is in the brackets of a call that describes options, or behind its bare name."""
    depth = 0
    for index in range(number, max(0, number - 4), -1):
        text = lines[index - 1][: column if index == number else _MAX_LINE]
        for position in range(len(text) - 1, -1, -1):
            letter = text[position]
            depth += (letter in ")]}") - (letter in "([{")
            if depth < 0:
                return letter == "(" and re.search(r"[\w!>]\s*$", text[:position]) is not None
        if index == number and re.match(r"\s*[a-z][\w.]{0,40}!?\s+(?=[\"':])", text + '"') is not None:
            return True

    return False


def _annotation(lines: Sequence[str], number: int, column: int) -> tuple[str, int] | None:
    """Return the default in the annotations before a member, and the line of the first one."""
    texts = [lines[number - 1][:column]]
    first, depth = number, 0
    while first > 1 and number - first < _MAX_ANNOTATION_LINES:
        above = lines[first - 2].strip()
        depth += sum(letter in ")]}" for letter in above) - sum(letter in "([{" for letter in above)
        is_begin = above.startswith(_ANNOTATION_SIGNS)
        # An annotation of several lines has brackets that open above.
        if not above or len(above) > _MAX_LINE or depth < 0 or not (is_begin or depth):
            break
        texts.append(lines[first - 2])
        first -= 1

    text = "\n".join(reversed(texts))
    if not text.lstrip().startswith(_ANNOTATION_SIGNS):
        return None

    match = _ANNOTATED.search(text)
    value = match and (match["named"] or match["only"] or match["property"])
    return (value, first) if value else None
