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
"""A word that may be an option: ``-n``, ``--limit`` or ``--limit=``."""

_VALUE = re.compile(r""""(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"']\S*)""")
"""A value in double quotes, where a backslash takes the next sign as it is, in single quotes, or without."""


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
    by_word = _options_by_word(options)
    result = MagicLine()
    position = _skip_blanks(line, 0)
    while position < len(line):
        match = _WORD.match(line, position)
        word = match["name"] if match else ""
        if match is None or (word not in by_word and not word.startswith("--")):
            break
        if word == "--":
            position = _skip_blanks(line, match.end())
            break
        if word not in by_word:
            raise _unknown_option(word, by_word, magic)

        option = by_word[word]
        if option.name in result.values and not option.repeats:
            raise ToolError(f"%{magic}: {word} occurs twice", tool=magic, argument=option.name)
        if match["equals"] and not option.takes:
            raise ToolError(f"%{magic}: {word} takes no value", tool=magic, argument=option.name)

        position = match.end()
        text = ""
        if option.takes:
            value = _find_value(line, match)
            if value is None or not _ends_word(line, value.end()):
                raise ToolError(f"%{magic}: --{option.name} needs {option.takes}", tool=magic, argument=option.name)
            text = _value_text(value)
            _check_choice(text, option, magic)
            position = value.end()

        result.values.setdefault(option.name, []).append(text)
        position = _skip_blanks(line, position)

    result.rest = line[position:].rstrip()
    return result


def cursor_context(line: str, options: Sequence[MagicOption]) -> CursorContext:
    """Return the context of a cursor at the end of `line`."""
    by_word = _options_by_word(options)
    position = _skip_blanks(line, 0)
    while position < len(line):
        match = _WORD.match(line, position)
        if match is None:
            return CursorContext("rest", line[position:])

        word = match["name"]
        is_at_end = match.end() == len(line) and not match["equals"]
        if is_at_end and any(name.startswith(word) for name in by_word):
            return CursorContext("option", word)
        if word == "--":
            return CursorContext("rest", line[_skip_blanks(line, match.end()) :])
        if word not in by_word:
            return CursorContext("rest", line[position:])

        option = by_word[word]
        position = match.end()
        if option.takes:
            value = _find_value(line, match)
            if value is None or value.end() == len(line):
                return CursorContext("value", line[_start_of_value(line, match) :], option)
            position = value.end()

        position = _skip_blanks(line, position)

    return CursorContext("rest", "")


def _options_by_word(options: Sequence[MagicOption]) -> dict[str, MagicOption]:
    """Return the options by the words that begin them: ``--name`` and ``-letter``."""
    by_word = {f"--{option.name}": option for option in options}
    by_word |= {f"-{option.letter}": option for option in options if option.letter}
    return by_word


def _unknown_option(word: str, by_word: Mapping[str, MagicOption], magic: str) -> ToolError:
    """Return the error for a word that is no option, with the option that was probably meant."""
    hint = f"there are {', '.join(sorted(by_word))}"
    close_names = difflib.get_close_matches(word, by_word, 1)
    if close_names:
        hint = f"did you mean {close_names[0]}?"

    replacement = FORMER_NAMES.get(f"%{magic}", {}).get(word)
    if replacement:
        hint = f"it has been renamed; use {replacement}."

    return ToolError(f"%{magic} has no option {word}: {hint} To search for it, write -- in front", tool=magic)


def _skip_blanks(line: str, position: int) -> int:
    while position < len(line) and line[position].isspace():
        position += 1
    return position


def _start_of_value(line: str, word: re.Match[str]) -> int:
    """Return where the value of an option begins: right behind ``=``, or at the next word."""
    return word.end() if word["equals"] else _skip_blanks(line, word.end())


def _find_value(line: str, word: re.Match[str]) -> re.Match[str] | None:
    return _VALUE.match(line, _start_of_value(line, word))


def _ends_word(line: str, position: int) -> bool:
    return position == len(line) or line[position].isspace()


def _value_text(value: re.Match[str]) -> str:
    """Return a value without its quotes."""
    if value["double"] is not None:
        return re.sub(r"\\(.)", r"\1", value["double"])
    return value["bare"] if value["single"] is None else value["single"]


def _check_choice(text: str, option: MagicOption, magic: str) -> None:
    if option.choices and text not in option.choices:
        choices = ", ".join(option.choices)
        raise ToolError(
            f"%{magic}: --{option.name} is one of {choices}, not {text!r}", tool=magic, accepted=option.choices
        )


def table(options: Sequence[MagicOption]) -> str:
    """Return the options as lines of a help text."""
    synopses = [_synopsis(option) for option in options]
    width = max(map(len, synopses))
    lines = []
    for synopsis, option in zip(synopses, options, strict=True):
        lines.append(f"    {synopsis:<{width}}  {option.meaning}")
    return "\n".join(lines)


def _synopsis(option: MagicOption) -> str:
    """Return how an option is written: ``-n, --limit NUMBER``."""
    text = f"-{option.letter}, " if option.letter else "    "
    text += f"--{option.name}"
    if option.takes:
        text += f" {option.takes.upper()}"
    return text


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

    if not names:
        return text

    alternatives = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"\{{({alternatives})\}}", lambda match: str(variables[match[1]]), text)
