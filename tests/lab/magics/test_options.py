"""Options never swallow a term of a query, and a query reaches the client as it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcelight.core.errors import ToolError
from sourcelight.lab.magics.arguments import cursor_context, replace_variables, split, table
from sourcelight.lab.magics.magics import OPTIONS, SEARCH


def test_options_come_first_and_the_rest_stays_as_it_is() -> None:
    reply = split(
        r'-o found --rows 3 --pattern-type=regexp  -file:vendor  a{2}  $x "a  b" -o --rows ', SEARCH, "search"
    )
    assert reply.values == {"out": ["found"], "rows": ["3"], "pattern-type": ["regexp"]}
    assert reply.rest == r'-file:vendor  a{2}  $x "a  b" -o --rows'


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("-file:vendor TODO", "-file:vendor TODO"),
        ("-other", "-other"),
        ("-ofound x", "-ofound x"),
        ("-- -o x", "-o x"),
        ("-- --rows", "--rows"),
        ("", ""),
        ("a -o b", "a -o b"),
        ("-", "-"),
    ],
)
def test_what_is_no_option_is_looked_for(line: str, rest: str) -> None:
    reply = split(line, SEARCH, "search")
    assert (reply.values, reply.rest) == ({}, rest)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--row 5 x", "has no option --row: did you mean --rows"),
        ("--zzzzzz x", "there are "),
        ("-o a -o b x", "-o occurs twice"),
        ("-o", "--out needs name"),
        ("--rows= 5", "--rows needs number"),
        ("--pattern-type perl x", "--pattern-type is one of keyword"),
        ("--quiet=yes x", "--quiet takes no value"),
        ('-o "a"b x', "--out needs name"),
    ],
)
def test_a_slip_of_the_pen_is_told_and_not_looked_for(line: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        split(line, SEARCH, "search")


def test_values_may_be_quoted() -> None:
    reply = split("""--timeout "1 0" -o 'a b' x""", SEARCH, "search")
    assert reply.values == {"timeout": ["1 0"], "out": ["a b"]}


@given(st.text(alphabet="ab -:=\"'\\{}$/", max_size=30))
def test_behind_two_dashes_everything_is_looked_for(query: str) -> None:
    assert split(f"-q -- {query}", SEARCH, "search").rest == query.strip()


@given(st.text(alphabet="orqnc -=\"'x", max_size=20))
def test_an_unfinished_line_is_read_as_the_finished_one(line: str) -> None:
    context = cursor_context(line, SEARCH)
    assert context.position in {"option", "value", "rest"}
    assert line.endswith(context.text)
    if context.position == "rest" and context.text.strip():
        try:
            reply = split(line, SEARCH, "search")
        except ToolError:
            return
        assert reply.rest == context.text.strip()


def test_variables_are_put_in_only_where_they_are_asked_for() -> None:
    variables = {"name": "redis", "names": 3}
    assert replace_variables("{name} {names} {2} $name", ["name"], variables, "search") == "redis {names} {2} $name"
    assert replace_variables("{name}{names}", ["name", "names"], variables, "search") == "redis3"
    assert replace_variables("{name}", [], variables, "search") == "{name}"
    with pytest.raises(ToolError, match="no variable absent"):
        replace_variables("{absent}", ["absent"], variables, "search")
    with pytest.raises(ToolError, match="doesn't occur"):
        replace_variables("x", ["name"], variables, "search")


def test_every_option_is_told() -> None:
    for options in OPTIONS.values():
        text = table(options)
        assert all(f"--{option.name}" in text for option in options)
        letters = [option.letter for option in options if option.letter]
        assert len(letters) == len(set(letters))
