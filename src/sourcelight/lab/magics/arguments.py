"""Splits the line of a magic into options and the rest, which is taken as it stands.

Options come first. What begins with a single dash and is no option begins the rest: ``-file:vendor`` is a term of a
query. What begins with two dashes must be an option, so that a slip of the pen is not searched for; ``--`` ends them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sourcelight.core.errors import ToolError
from sourcelight.core.former_names import FORMER_NAMES


@dataclass(frozen=True, slots=True)
class MagicOption:
    """An option: its long `name`, one `letter` or none, what it `takes` (empty: nothing), and what it is for.

    `repeats` tells whether it may stand more than once; `choices` are all its values, empty for any.
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
        """The value of an option; None when it does not stand there."""
        found = self.values.get(name)
        return found[-1] if found else None

    def __contains__(self, name: str) -> bool:
        return name in self.values


@dataclass(frozen=True, slots=True)
class CursorContext:
    """Where a cursor stands, with the text there: in the name of an option, the value of `option`, or the rest."""

    where: str
    text: str
    option: MagicOption | None = None


_WORD = re.compile(r"""(?P<name>--?[^\s=]*)(?P<equals>=)?""")
_VALUE = re.compile(r""""(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"']\S*)""")


def split(line: str, options: Sequence[MagicOption], magic: str) -> MagicLine:
    """Split a line.

    Raises
    ------
    ToolError
        For an option that does not exist, stands twice, lacks its value or has one it can't have; says what there is.
    """
    known = {f"--{option.name}": option for option in options}
    known |= {f"-{option.letter}": option for option in options if option.letter}
    made = MagicLine()
    at = _blank(line, 0)
    while at < len(line):
        found = _WORD.match(line, at)
        word = found["name"] if found else ""
        if found is None or (word not in known and not word.startswith("--")):
            break
        if word == "--":
            at = _blank(line, found.end())
            break
        option = known.get(word)
        if option is None:
            near = difflib.get_close_matches(word, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
            former = FORMER_NAMES.get(f"%{magic}", {}).get(word)
            hint = f"it has been renamed; use {former}." if former else hint
            raise ToolError(f"%{magic} has no option {word}: {hint} To search for it, write -- in front", tool=magic)
        if option.name in made.values and not option.repeats:
            raise ToolError(f"%{magic}: {word} stands twice", tool=magic, argument=option.name)
        at = found.end()
        value = ""
        if option.takes:
            value, at = _value(line, at if found["equals"] else _blank(line, at), option, magic)
        elif found["equals"]:
            raise ToolError(f"%{magic}: {word} takes no value", tool=magic, argument=option.name)
        made.values.setdefault(option.name, []).append(value)
        at = _blank(line, at)
    made.rest = line[at:].rstrip()
    return made


def unfinished(line: str, options: Sequence[MagicOption]) -> CursorContext:
    """Where the end of `line` stands."""
    known = {f"--{option.name}": option for option in options}
    known |= {f"-{option.letter}": option for option in options if option.letter}
    at = _blank(line, 0)
    while at < len(line):
        found = _WORD.match(line, at)
        word = found["name"] if found else ""
        ends = found is not None and found.end() == len(line) and not found["equals"]
        if found is not None and ends and word.startswith("-") and any(name.startswith(word) for name in known):
            return CursorContext("option", word)
        option = known.get(word)
        if found is None or word == "--" or option is None:
            return CursorContext("rest", line[_blank(line, found.end()) :] if found and word == "--" else line[at:])
        at = found.end() if found["equals"] else _blank(line, found.end())
        if option.takes:
            value = _VALUE.match(line, at)
            if value is None or value.end() == len(line):
                return CursorContext("value", line[at:], option)
            at = value.end()
        at = _blank(line, at)
    return CursorContext("rest", "")


def _blank(line: str, at: int) -> int:
    while at < len(line) and line[at].isspace():
        at += 1
    return at


def _value(line: str, at: int, option: MagicOption, magic: str) -> tuple[str, int]:
    found = _VALUE.match(line, at)
    if found is None or (found.end() < len(line) and not line[found.end()].isspace()):
        raise ToolError(f"%{magic}: --{option.name} needs {option.takes}", tool=magic, argument=option.name)
    if found["double"] is not None:
        text = re.sub(r"\\(.)", r"\1", found["double"])
    else:
        text = found["single"] if found["single"] is not None else found["bare"]
    if option.choices and text not in option.choices:
        choices = ", ".join(option.choices)
        raise ToolError(
            f"%{magic}: --{option.name} is one of {choices}, not {text!r}", tool=magic, accepted=option.choices
        )
    return text, found.end()


def table(options: Sequence[MagicOption]) -> str:
    """The options as lines of a help text."""
    rows = [
        (
            f"{'-' + o.letter + ', ' if o.letter else '    '}--{o.name}{' ' + o.takes.upper() if o.takes else ''}",
            o.meaning,
        )
        for o in options
    ]
    wide = max(len(left) for left, _ in rows)
    return "\n".join(f"    {left:<{wide}}  {right}" for left, right in rows)


def replaced(text: str, names: Sequence[str], variables: Mapping[str, object], magic: str) -> str:
    """`text` with ``{name}`` replaced by the variable's value as text, for the `names` alone; all else stays.

    Raises
    ------
    ToolError
        For a name that is no variable, or that does not stand in the text.
    """
    for name in names:
        if name not in variables:
            raise ToolError(f"%{magic}: there is no variable {name}", tool=magic, argument="var")
        if f"{{{name}}}" not in text:
            raise ToolError(
                f"%{magic}: --var {name} is given, but {{{name}}} stands nowhere", tool=magic, argument="var"
            )
    wanted = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"\{{({wanted})\}}", lambda found: str(variables[found[1]]), text) if names else text
