"""Cut the value of a name out of the code around it, in languages whose values end in ways of their own.

A value of OCaml ends before ``in``, one of Haskell before a comment of dashes, one of SQL before the next word of its
column, one of a style sheet before a semicolon. `join_types` undoes a cut at commas within a type.

Text of repositories is hostile: patterns here are linear where they say nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# OCaml and F#.

_ML = re.compile(r"\.(?:mli?|fsx?|fsi)$")
_ML_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.{1,3})'|\(\*(?!\))(?:[^*]|\*(?!\)))*+\*\)")
"""Texts, characters and comments of OCaml and F#: `"gate"`, `'g'`, `(* gate *)`."""

_IN = re.compile(r"\bin\b(?!')")
"""The end of a binding: `let gate = 1 in`; `in'` is a name."""


def value_before_in(value: str, path: str) -> str | None:
    """Return the value of a binding of ML without ``in`` and what follows; None where another binding is within it."""
    if _ML.search(path) is None:
        return value

    bare = _ML_TEXT.sub(lambda match: " " * len(match[0]), value)
    depth, position = 0, 0
    for match in _IN.finditer(bare):
        between = bare[position : match.start()]
        depth += sum(letter in "([{" for letter in between) - sum(letter in ")]}" for letter in between)
        position = match.end()
        if depth == 0:
            is_nested = re.search(r"\b(?:let|for)\b", bare[: match.start()]) is not None
            return None if is_nested else value[: match.start()].rstrip()

    return value


_DOUBLE_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*+\"")
_DASHES = re.compile(r"--\s")


def value_before_dashes(value: str) -> str:
    """Return the value of an equation of Haskell or Elm without the comment behind it.

    Texts that don't end take time by the square of the length, which the caller bounds.
    """
    bare = _DOUBLE_QUOTED.sub(lambda match: "_" * len(match[0]), value)
    comment = _DASHES.search(bare)
    return (value if comment is None else value[: comment.start()]).strip()


_GIVEN_IN_SQL = re.compile(
    r"\bDEFAULT\s+(?P<value>.+?)(?=\s+(?:NOT\s+NULL|PRIMARY|UNIQUE|CHECK|REFERENCES|COMMENT|CONSTRAINT)\b|$)",
    re.IGNORECASE,
)
"""The default of a column: `DEFAULT 5 NOT NULL`."""

_MODES = frozenset({"IN", "OUT", "INOUT", "VARIADIC"})
"""Words before the name of a parameter of SQL."""


def split_column(text: str) -> tuple[str, str]:
    """Split a column or a parameter of SQL into its name and its default, which is empty for none."""
    words = [word for word in text.split() if word.upper() not in _MODES]
    default = _GIVEN_IN_SQL.search(text)
    name = words[0].strip('"`[]') if words else ""
    return name, "" if default is None else default["value"].strip()


def value_of_style(line: str, name: str) -> str:
    """Return the value that a line of a style sheet gives a custom property or a variable; empty for none."""
    declaration = re.search(rf"(?<![\w-]){re.escape(name)}\s*:\s*(?P<value>[^;{{}}]{{1,500}});", line)
    return "" if declaration is None else declaration["value"]


def join_types(texts: Sequence[str]) -> list[str]:
    """Join what was cut at commas within a type, such as ``Map<String, List<int>> map``."""
    parameter_texts: list[str] = []
    depth = 0
    for text in texts:
        if depth > 0:
            parameter_texts[-1] += f", {text}"
        else:
            parameter_texts.append(text)
        # Arrows, comparisons and shifts aren't brackets.
        bare = re.sub(r"[-=]>|<=|>=|<<=?", "", text)
        depth = max(0, depth + bare.count("<") - bare.count(">"))

    return parameter_texts
