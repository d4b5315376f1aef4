"""Read the defaults in descriptions of options, as libraries for command lines, settings and schemas take them.

There are five forms. An option with the key ``default`` in a call or a literal may be of any library, and is read by a
scanner of brackets, texts and comments. The others are told by the names of their calls, fields or annotations:

    parser.add_argument("--port", default=8080)             a key, also on a line below
    Arg::new("port").default_value("8080")                  a chain of calls
    Port int `default:"8080"`                               a tag of a field
    @DefaultValue("8080") private int port;                 an annotation of a member
    .option("-p, --port", "the port", 8080)                 the last argument of three

The text of a repository is hostile: each pattern reads a bounded part of a line, and the scanner a bounded number of
lines. Chains and keys have modules of their own in `options`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sourcelight.engines.deepsearch.source.options.chains import (
    LITERAL,
    OptionDefault,
    chained_default,
    read_chain,
    read_node,
)
from sourcelight.engines.deepsearch.source.options.scanner import MAX_LINE, DescribedValue, default_within

_MAX_OPTIONS = 8
"""Options of one line that are read."""

_MAX_ANNOTATION_LINES = 8
"""Lines above a member in which its annotations are."""

_MAX_CALL_LINES = 4
"""Lines in which the call begins that an option is an argument of."""

# A key in a call or a literal.
_OPTION = re.compile(
    r"(?:[\"'](?:-\w\W{1,3})?(?:--)?(?P<quoted>[A-Za-z][\w-]{0,60})(?:[ =][^\"'\n]{0,40})?[\"']"
    r"|(?<![\w:]):(?P<symbol>[a-z]\w{0,60}))\s*,"
)
"""The name of an option as an argument: `"--port",`, `"-p, --port PORT",`, `:port,` of Ruby."""

_DESCRIPTION = re.compile(
    r"(?:[\[{]\s*$|(?:new\s+)?[A-Za-z_][\w.:]{0,60}(?:<[\w<>, ?]{0,40}>)?\(|[\[{](?=.*\bdefault))"
)
"""The beginning of a description, behind the name of its option: `{`, `Option(`, `{type: Number, default: 5`."""

_BEHIND_KEY = re.compile(r"(?:[(,]|^\s*[\w.]+!?)\s*$")
"""Text before a symbol that is an argument: `option(`, `flag `. One of Ruby may be the value of another key, too."""

_BARE_CALL = re.compile(r"\s*[a-z][\w.]{0,40}!?\s+(?=[\"':])")
"""The beginning of a call without brackets: `option "--port"`, `flag! :port`."""

_CALL_NAME = re.compile(r"[\w!>]\s*$")
"""The name before the bracket of a call; an opening bracket behind anything else isn't one of a call."""

# Fields, members and arguments.
_POSITIONAL = re.compile(
    rf"\.option\(\s*[\"'](?:-\w,\s*)?--(?P<name>[A-Za-z][\w-]{{0,60}})[^\"'\n]{{0,60}}[\"']\s*,\s*"
    rf"(?:\"[^\"\n]{{0,200}}\"|'[^'\n]{{0,200}}')\s*,\s*(?P<value>{LITERAL})\s*\)"
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
"""A member: `private final int port;`, `pub port: u16,`."""

_ANNOTATED = re.compile(
    rf"\b(?:default_value(?:_t)?|defaultValue)\s*=\s*(?P<named>{LITERAL}|[A-Z][\w:.]*)|@?\bDefaultValue\(\s*(?P<only>{LITERAL})\s*\)"
    r"|\$\{[\w.-]{1,80}:(?P<property>[^{}\"'\n]{1,60})\}"
)
"""The default in its annotations: `#[arg(default_value = "8080")]`, `@DefaultValue("80")`, `@Value("${port:80}")`."""

_ANNOTATION_SIGNS = ("#[", "@", "[")
"""Starts of annotations and attributes."""


def read_option_defaults(lines: Sequence[str], number: int, path: str) -> Iterator[OptionDefault]:
    """Yield the defaults of the options that a call or an annotation on a line (from 1) or above it describes."""
    text = lines[number - 1]
    if len(text) > MAX_LINE:
        return

    for match in _POSITIONAL.finditer(text):
        yield OptionDefault(match["name"], match["value"], match.start("name"), number, number)

    yield from _of_keys(lines, number, path)
    for default in (
        read_node(lines, number),
        read_chain(lines, number),
        _of_tag(text, number) if path.endswith(".go") else None,
        _of_annotations(lines, number),
    ):
        if default is not None:
            yield default


def _of_keys(lines: Sequence[str], number: int, path: str) -> Iterator[OptionDefault]:
    """Yield the options of a line that are described by a key in the same call."""
    text = lines[number - 1]
    for count, match in enumerate(_OPTION.finditer(text)):
        if count >= _MAX_OPTIONS:
            break
        group = "quoted" if match["quoted"] else "symbol"
        if group == "symbol" and _BEHIND_KEY.search(text[: match.start()]) is None:
            continue
        if not _is_argument(lines, number, match.start()):
            continue

        default = default_within(lines, number - 1, match.end(), path, max_depth=1)
        if default is not None:
            yield OptionDefault(match[group], default.value, match.start(group), number, default.line)


def _of_tag(text: str, number: int) -> OptionDefault | None:
    """Return the field of Go on a line; None if its tag has no default."""
    tagged = _TAGGED.match(text)
    if tagged is None:
        return None
    value = tagged["value"]
    is_text = re.fullmatch(r"-?\d[\w.]*|true|false|\$.*", value) is None
    return OptionDefault(tagged["name"], f'"{value}"' if is_text else value, tagged.start("name"), number, number)


def _of_annotations(lines: Sequence[str], number: int) -> OptionDefault | None:
    """Return the member on a line; None if no annotation before it has a default."""
    member = _MEMBER.match(lines[number - 1])
    annotations = None if member is None else _annotations_before(lines, number, member.start("name"))
    default = None if annotations is None else _ANNOTATED.search(annotations.text)
    if member is None or annotations is None or default is None:
        return None

    value = default["named"] or default["only"] or default["property"]
    return OptionDefault(member["name"], value, member.start("name"), annotations.begin_line, number)


class _Annotations(NamedTuple):
    """The annotations of a member, and the line of the first one, from 1."""

    text: str
    begin_line: int


def _annotations_before(lines: Sequence[str], number: int, column: int) -> _Annotations | None:
    """Return the annotations before a place: on its line (from 1) and on the lines above; None without any."""
    texts = [lines[number - 1][:column]]
    begin_line, depth = number, 0
    while begin_line > 1 and number - begin_line < _MAX_ANNOTATION_LINES:
        above = lines[begin_line - 2].strip()
        depth += sum(letter in ")]}" for letter in above) - sum(letter in "([{" for letter in above)
        # An annotation of several lines has brackets that open above.
        is_part = above.startswith(_ANNOTATION_SIGNS) or depth > 0
        if not above or len(above) > MAX_LINE or depth < 0 or not is_part:
            break
        texts.append(lines[begin_line - 2])
        begin_line -= 1

    text = "\n".join(reversed(texts))
    return _Annotations(text, begin_line) if text.lstrip().startswith(_ANNOTATION_SIGNS) else None


def read_described_default(lines: Sequence[str], number: int, column: int, path: str) -> DescribedValue | None:
    """Return the default in the description that begins in a column of a line (from 1); None without one.

    A description is a literal with the key ``default``, a call with such an argument, or a chain that ends in a call
    of that name, as in ``z.number().default(5)``.
    """
    text = lines[number - 1]
    opening = _DESCRIPTION.match(text, column)
    if opening is None or len(text) > MAX_LINE:
        return None

    chained = chained_default(lines, number, column, opening)
    if chained is not None:
        return chained

    bracket = column + re.search(r"[\[{(]", opening[0]).start()  # type: ignore[union-attr]  # `opening` has one
    return default_within(lines, number - 1, bracket + 1, path, max_depth=0)


def _is_argument(lines: Sequence[str], number: int, column: int) -> bool:
    """Return whether a place is in the brackets of a call that describes options, or behind its bare name."""
    depth = 0
    for index in range(number, max(0, number - _MAX_CALL_LINES), -1):
        text = lines[index - 1][: column if index == number else MAX_LINE]
        for position in range(len(text) - 1, -1, -1):
            letter = text[position]
            depth += (letter in ")]}") - (letter in "([{")
            if depth < 0:
                return letter == "(" and _CALL_NAME.search(text[:position]) is not None
        if index == number and _BARE_CALL.match(f'{text}"') is not None:
            return True

    return False
