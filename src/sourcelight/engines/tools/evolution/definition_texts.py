"""Definitions of a file with their whole texts, by qualified name, and how alike two texts are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sourcelight.engines.symbols import definitions

MAX_DEPTH = 20
"""Names of a qualified name: deeper ones are generated or hostile."""

_SEPARATORS = ("::", "->", "#", "/")
"""Separators of the parts of a name in C++ and Rust, in C and PHP, in Ruby, and in Lisps."""

_AT_LINE = re.compile(r"(.*[^\s:]):([1-9]\d{0,8})", re.DOTALL)
"""A name and a line: `Client.timeout:12`, `Client::timeout:12`."""


@dataclass(frozen=True, slots=True)
class DefinitionText:
    """A definition and its lines.

    Attributes
    ----------
    name
        Names of the definitions around it and its own, with dots between.
    kind
        Kind of the definition.
    begin_line, end_line
        Its first and last line, from 1, decorators included.
    text
        These lines.
    """

    name: str
    kind: str
    begin_line: int
    end_line: int
    text: bytes

    @property
    def own_name(self) -> str:
        """Its name without those around it."""
        return self.name.rpartition(".")[2]


def definition_texts(language: str, data: bytes) -> Iterator[DefinitionText]:
    """Yield the definitions of a file in the order of where they begin; nothing for text that can't be parsed."""
    table = definitions(language, data)
    if not len(table):
        return

    # Lines end at newlines alone, as git and the parser have them; `splitlines` would part them at form feeds, too.
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    names: list[str] = []
    for definition in table.definitions():
        enclosing = definition.container
        if definition.parent >= 0:
            enclosing = names[definition.parent]
        name = definition.name
        if enclosing and enclosing.count(".") < MAX_DEPTH:
            name = f"{enclosing}.{name}"
        names.append(name)
        text = b"".join(lines[definition.begin_line - 1 : definition.end_line])
        yield DefinitionText(name, definition.kind, definition.begin_line, definition.end_line, text)


def is_named(definition: DefinitionText, name: str) -> bool:
    """Return whether a definition has a name: its own, or the last parts of its qualified name."""
    return definition.name == name or definition.name.endswith(f".{name}")


def split_line(symbol: str) -> tuple[str, int | None]:
    """Split a name such as ``Client.timeout:12`` into name and line, which distinguishes overloads; None without."""
    match = _AT_LINE.fullmatch(symbol.strip())
    if match is None:
        return symbol, None
    return match[1], int(match[2])


def plain_name(symbol: str) -> str:
    """Return a name as callers write it (``Client::send()``) with dots between its parts."""
    name = symbol.strip().removesuffix("()")
    for separator in _SEPARATORS:
        name = name.replace(separator, ".")
    return name.strip(".")


def likeness(text: bytes, other: bytes) -> int:
    """Return the percentage of lines that two texts share, of the mean of both.

    White space and empty lines don't count.
    """
    lines = _count_lines(text)
    other_lines = _count_lines(other)
    size = lines.total() + other_lines.total()
    if not size:
        return 0
    return round(200 * (lines & other_lines).total() / size)


def _count_lines(text: bytes) -> Counter[bytes]:
    """Count the lines of a text, without white space and without empty ones."""
    lines = [b"".join(line.split()) for line in text.split(b"\n")]
    return Counter(line for line in lines if line)
