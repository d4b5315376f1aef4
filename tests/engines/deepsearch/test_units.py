"""Quotes are whole units: they begin in no comment or text, and end in no signature or open bracket."""

from __future__ import annotations

import pytest

from sourcelight.engines.deepsearch.evidence.units import fit_to_units
from sourcelight.engines.symbols import definitions

LONG = "\n".join(f"    total += step_{number}(total)" for number in range(40))
PYTHON = f'''import os


# The first line of a comment,
# and the second one.
def short(path):
    """Do it."""
    return path


def long(
    path,
    limit=10,
):
    """Explain it

    at length.
    """
    total = 0
{LONG}
    send(
        total,
        path,
    )
    return total
'''
C = (
    "/* Expire keys\n"
    + " * slowly,\n" * 20
    + " * and safely. */\nint expire(int key,\n           int when) {\n"
    + "    key++;\n" * 40
    + "}\n"
)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (5, 7, (4, 8)),  # a short function is shown whole, with its comment
        (8, 8, (4, 8)),
        (13, 20, (11, 20)),  # a window in a signature begins with it
        (17, 25, (11, 25)),  # as does one in a docstring
        (40, 61, (40, 63)),  # brackets are closed
        (62, 64, (60, 64)),
    ],
)
def test_borders_move_to_whole_units(first: int, last: int, expected: tuple[int, int]) -> None:
    lines = PYTHON.split("\n")
    assert lines[10] == "def long("
    assert lines[59] == "    send("
    listing = list(definitions("Python", PYTHON.encode()).definitions())
    assert fit_to_units(lines, first, last, listing, "python") == expected


def test_a_window_in_a_long_comment_begins_behind_it() -> None:
    lines = C.split("\n")
    listing = list(definitions("C", C.encode()).definitions())
    head = next(number for number, line in enumerate(lines, 1) if line.startswith("int expire"))
    first, last = fit_to_units(lines, head - 6, head, listing, "c")
    assert first == head
    assert last > head + 1  # not within the signature
    assert lines[last - 1] == "    key++;"


def test_text_without_a_grammar_stays_as_it_is() -> None:
    lines = [f"line {number}" for number in range(1, 50)]
    assert fit_to_units(lines, 10, 20, [], "") == (10, 20)
