"""IPython syntax that Python's parser can't read: commands of the kernel, the shell and help, and indented cells.

Each command becomes a statement, with spaces up to its length, so that all offsets stay:

==================  ==============
command             statement
==================  ==============
%matplotlib inline  pass
files = !ls         files = None
Path??              pass
==================  ==============
"""

from __future__ import annotations

import re

from sourcelight.core.cells.scripts import MARKER

_MARKER = re.compile(MARKER.encode(), re.MULTILINE)
"""``# %%``, before each cell of a percent script."""

_PYTHON_CELLS = frozenset(
    {
        b"capture", b"debug", b"heat", b"lprun", b"memit", b"mprun", b"prun", b"px", b"pypy", b"python", b"python3",
        b"scalene", b"skip", b"snakeviz", b"time", b"timeit", b"wandb",
    }
)  # fmt: skip
"""Cell magics in front of Python. Other magics precede a file or another language."""

# The rules of IPython: https://github.com/ipython/ipython/blob/main/IPython/core/inputtransformer2.py
_CELL_MAGIC = re.compile(rb"\s*+%%(\w[\w.]*)")
"""``%%timeit -n 3``, in the first line of a cell."""

# Possessive quantifiers: a line of a megabyte must not be read once for each of its bytes.
_REST = rb"(?:[^\n\\]|\\[\s\S])*+\\?"
"""The rest of a line, and the next one if it ends with a backslash."""

_LINE_MAGIC = re.compile(
    rb"^[ \t]*+(?P<command>(?:%{1,2}[A-Za-z]|!)"
    + _REST  # %matplotlib inline, !pip install x
    + rb"|\?{1,2}[\w.*% ]++|%{0,2}[\w.*]++\?{1,2}[ \t]*+)$"  # ?name, name??
    + rb"|^[ \t]*+[\w.,][\w., \t]*+=[ \t]*+(?P<value>(?:%[A-Za-z]|!)"
    + _REST
    + b")$",  # files = !ls
    re.MULTILINE,
)
"""``%matplotlib inline``, ``!pip install x``, ``?name``, ``name??``, or ``files = !ls``."""

_SCRIPT_MAGIC = re.compile(rb"^(?:%{1,2}[A-Za-z]|![\w./])[^\n]{2,}$", re.MULTILINE)
"""``%matplotlib inline`` or ``!./run`` in a script, where ``%`` and ``!`` may begin other lines of a text."""

_OTHER_MAGIC = re.compile(rb"^(?:%{1,2}[A-Za-z]|:dep\b|#!|\?)[^\n]*$", re.MULTILINE)
"""Commands of other kernels: ``%%R``, ``:dep serde`` (Rust), ``#!csharp`` (.NET), ``?sum`` (Julia, R)."""

_INDENT = re.compile(rb"(?:[ \t]*+\n)*+([ \t]++)\S")
"""Blank lines, then the indentation of the first line with text."""

_BODY = re.compile(rb"[^\n]")
"""Every byte but newlines."""


def mask_magics(source: bytes, language: str) -> bytes:
    """Return the source of a cell, in which commands that its language's parser can't read are replaced byte for byte.

    A command becomes a statement that does nothing, so that the body of an ``if`` is not left empty.
    """
    if not any(mark in source for mark in (b"%", b"!", b"?", b":dep")):
        return source
    # In a shell, `%` and `?` are no commands of the kernel.
    if language == "Shell":
        return source
    if language != "Python":
        return _OTHER_MAGIC.sub(_blank, source)

    cell_magic = _CELL_MAGIC.match(source)
    if cell_magic is not None and cell_magic[1] not in _PYTHON_CELLS:
        # Blank, with the same lines: positions in later cells must not move.
        return _BODY.sub(b" ", source)

    return _LINE_MAGIC.sub(_mask_command, source)


def mask_script(data: bytes, language: str) -> bytes:
    """Return a percent script, in which commands of the kernel are replaced; return any other script unchanged."""
    if language != "Python" or b"%%" not in data or _MARKER.search(data) is None:
        return data
    return _SCRIPT_MAGIC.sub(lambda match: b"pass".ljust(len(match[0])), data)


def dedent(source: bytes, language: str) -> tuple[bytes, int]:
    """Return Python without the indentation of its first line, as IPython runs it, and the bytes removed per line."""
    # Most cells begin without a space.
    if language != "Python" or source[:1] not in b" \t\n":
        return source, 0
    indent = _INDENT.match(source)
    if indent is None:
        return source, 0

    lines = source.split(b"\n")
    # A line with less indentation would lose code.
    if any(line.strip() and not line.startswith(indent[1]) for line in lines):
        return source, 0

    size = len(indent[1])
    # A blank line keeps all of its bytes, or none.
    return b"\n".join(line[size:] for line in lines), size


def _blank(match: re.Match[bytes]) -> bytes:
    return b" " * len(match[0])


def _mask_command(match: re.Match[bytes]) -> bytes:
    if match["command"] is not None:
        group = "command"
        statement = b"pass"
    else:
        group = "value"
        statement = b"None"

    command = match[group]
    # Offsets must stay the same, so a statement can't be longer than its command; `0` fits everywhere.
    if len(command) < len(statement) or b"\n" in command[: len(statement)]:
        statement = b"0"

    # The newlines of a command over several lines stay, so that the lines of the cell do.
    rest = _BODY.sub(b" ", command[len(statement) :])
    start = match.start(group) - match.start()
    return match[0][:start] + statement + rest
