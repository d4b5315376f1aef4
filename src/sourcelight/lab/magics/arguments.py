"""Split the line of a magic into options and text.

Options come first. A single dash that begins no option begins the text: ``-file:vendor`` is a term of a query. Two
dashes must begin an option, so that a typing error is not searched for; ``--`` ends the options.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sourcelight.core.errors import ToolError
from sourcelight.core.former_names import FORMER_NAMES

_WORD = re.compile(r"""(?P<name>--?[^\s=]*)(?P<equals>=)?""")
_VALUE = re.compile(r""""(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"']\S*)""")


@dataclass(frozen=True, slots=True)
class MagicOption:
    """An option: its long `name`, an optional `letter`, the value that it `takes` (empty: none), and its purpose.

    `repeats`: whether it may occur more than once; `choices` are all its values, empty for any.
    """

    name: str
    letter: str
    takes: str
    meaning: str
    repeats: bool = False
    choices: tuple[str, ...] = ()


@dataclass(slots=True)
class MagicLine:
    """A line that was split: values by the options' names, in order of appearance, and the rest."""

    values: dict[str, list[str]] = field(default_factory=dict)
    rest: str = ""

    def last(self, name: str) -> str | None:
        """Return the value of an option, or None if it is absent."""
        values = self.values.get(name)
        return values[-1] if values else None

    def __contains__(self, name: str) -> bool:
        return name in self.values


@dataclass(frozen=True, slots=True)
class CursorContext:
    """Context of a cursor, with its text: the name of an option, the value of `option`, or the rest."""

    position: str
    text: str
    option: MagicOption | None = None


def split(line: str, options: Sequence[MagicOption], magic: str) -> MagicLine:
    """Split a line.

    Raises
    ------
    ToolError
        For an unknown or duplicate option, and for a missing or invalid value; the message lists valid ones.
    """
    by_word = {f"--{option.name}": option for option in options}
    by_word |= {f"-{option.letter}": option for option in options if option.letter}
    result = MagicLine()
    position = _blank(line, 0)
    while position < len(line):
        match = _WORD.match(line, position)
        word = match["name"] if match else ""
        if match is None or (word not in by_word and not word.startswith("--")):
            break
        if word == "--":
            position = _blank(line, match.end())
            break

        option = by_word.get(word)
        if option is None:
            close_names = difflib.get_close_matches(word, by_word, 1)
            hint = f"did you mean {close_names[0]}?" if close_names else f"there are {', '.join(sorted(by_word))}"
            replacement = FORMER_NAMES.get(f"%{magic}", {}).get(word)
            hint = f"it has been renamed; use {replacement}." if replacement else hint
            raise ToolError(f"%{magic} has no option {word}: {hint} To search for it, write -- in front", tool=magic)

        if option.name in result.values and not option.repeats:
            raise ToolError(f"%{magic}: {word} occurs twice", tool=magic, argument=option.name)

        position = match.end()
        value = ""
        if option.takes:
            value, position = _value(line, position if match["equals"] else _blank(line, position), option, magic)
        elif match["equals"]:
            raise ToolError(f"%{magic}: {word} takes no value", tool=magic, argument=option.name)

        result.values.setdefault(option.name, []).append(value)
        position = _blank(line, position)

    result.rest = line[position:].rstrip()
    return result


def cursor_context(line: str, options: Sequence[MagicOption]) -> CursorContext:
    """Return the context of a cursor at the end of `line`."""
    by_word = {f"--{option.name}": option for option in options}
    by_word |= {f"-{option.letter}": option for option in options if option.letter}
    position = _blank(line, 0)
    while position < len(line):
        match = _WORD.match(line, position)
        word = match["name"] if match else ""
        is_at_end = match is not None and match.end() == len(line) and not match["equals"]
        if match is not None and is_at_end and word.startswith("-") and any(name.startswith(word) for name in by_word):
            return CursorContext("option", word)

        option = by_word.get(word)
        if match is None or word == "--" or option is None:
            return CursorContext(
                "rest", line[_blank(line, match.end()) :] if match and word == "--" else line[position:]
            )

        position = match.end() if match["equals"] else _blank(line, match.end())
        if option.takes:
            value = _VALUE.match(line, position)
            if value is None or value.end() == len(line):
                return CursorContext("value", line[position:], option)
            position = value.end()

        position = _blank(line, position)

    return CursorContext("rest", "")


def _blank(line: str, position: int) -> int:
    while position < len(line) and line[position].isspace():
        position += 1
    return position


def _value(line: str, position: int, option: MagicOption, magic: str) -> tuple[str, int]:
    match = _VALUE.match(line, position)
    if match is None or (match.end() < len(line) and not line[match.end()].isspace()):
        raise ToolError(f"%{magic}: --{option.name} needs {option.takes}", tool=magic, argument=option.name)

    if match["double"] is not None:
        text = re.sub(r"\\(.)", r"\1", match["double"])
    else:
        text = match["single"] if match["single"] is not None else match["bare"]

    if option.choices and text not in option.choices:
        choices = ", ".join(option.choices)
        raise ToolError(
            f"%{magic}: --{option.name} is one of {choices}, not {text!r}", tool=magic, accepted=option.choices
        )

    return text, match.end()


def table(options: Sequence[MagicOption]) -> str:
    """Return the options as lines of a help text."""
    rows = [
        (
            f"{'-' + o.letter + ', ' if o.letter else '    '}--{o.name}{' ' + o.takes.upper() if o.takes else ''}",
            o.meaning,
        )
        for o in options
    ]
    width = max(len(left) for left, _ in rows)
    return "\n".join(f"    {left:<{width}}  {right}" for left, right in rows)


def replace_variables(text: str, names: Sequence[str], variables: Mapping[str, object], magic: str) -> str:
    """Replace ``{name}`` in `text` by the variable's value as text, for the `names` alone; all else stays.

    Raises
    ------
    ToolError
        For a name that isn't a variable, or isn't in the text.
    """
    for name in names:
        if name not in variables:
            raise ToolError(f"%{magic}: no variable {name}", tool=magic, argument="var")
        if f"{{{name}}}" not in text:
            raise ToolError(f"%{magic}: --var {name} is set, but {{{name}}} doesn't occur", tool=magic, argument="var")
    alternatives = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    if names:
        return re.sub(rf"\{{({alternatives})\}}", lambda match: str(variables[match[1]]), text)
    return text
