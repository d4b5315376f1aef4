"""A value on a line under a condition is stated as one, whichever route finds it, and in each kind of language."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import engine_with, research
from sourcelight.engines.deepsearch.lookups.definitions.branches import condition_text
from sourcelight.engines.execution import LocalEngine

UNDER = "the line is under a condition"
FILES: dict[str | bytes, str | bytes | None] = {
    "site.py": (
        "def site(regex):\n    if regex:\n"
        "        site_rx = regex\n    else:\n        site_rx = 'a.b'\n    return site_rx\n"
    ),
    "tree.ps1": (
        "function Get-Tree($regex) {\n    if ($regex) {\n        $tree_rx = $regex\n    } else {\n"
        '        $tree_rx = "a.b"\n    }\n    return $tree_rx\n}\n'
    ),
    "again.py": (
        "def run(shed):\n    shed_kind = 7\n    if shed:\n        shed_kind = shed\n    return shed_kind\n\n"
        "def walk():\n    barn_kind = 8\n    return run(\n        barn_kind=barn_kind,\n    )\n"
    ),
    "again.lua": "function f(a)\n  local byre_kind = 3\n  if a then\n    byre_kind = a\n  end\nend\n",
    "brook.lua": "local brook\nif a then\n  brook = a\nelse\n  brook = 3\nend\n",
    "ling.sh": 'if [ -n "$2" ]\nthen\n  ling_mode=quick\nfi\n',
    "guard.h": (
        "#ifndef GUARD_H\n#define GUARD_H\n#define COOMBE_SIZE 12\n#if !defined(DELL_SIZE)\n#define DELL_SIZE 13\n"
        "#endif\n#endif\n"
    ),
    "kinds.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    MARSH_KIND = 'm'\ntry:\n    import x\n"
        "    FEN_SIZE = x.size\nexcept ImportError:\n    BOG_SIZE = 8\nPLAIN_SIZE = 4\nwith open('f') as handle:\n"
        "    MERE_SIZE = 9\n"
    ),
    "Makefile": "ifeq ($(A),1)\nSPINNEY = one\nendif\nCOPSE = two\n",
    "flat.cmake": "if(A)\nset(MAPLE_SIZE 5)\nendif()\nset(ACER_SIZE 6)\n",
    "app.csproj": (
        "<Project>\n  <PropertyGroup Condition=\"'$(A)' == '1'\">\n    <HeathKind>red</HeathKind>\n  </PropertyGroup>\n"
        "  <PropertyGroup>\n    <DownKind>green</DownKind>\n  </PropertyGroup>\n</Project>\n"
    ),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    yield from engine_with(tmp_path_factory, "moors", FILES)


def lead_of(engine: LocalEngine, name: str) -> str:
    """The first sentence of the answer to a question for a value."""
    return research(engine, f"What is {name} set to?").text.split("\n\n")[0].replace("\\", "")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("site_rx", "'a.b'"), ("tree_rx", '"a.b"'), ("brook", "3"), ("ling_mode", "quick"), ("DELL_SIZE", "13"),
        ("MARSH_KIND", "'m'"), ("BOG_SIZE", "8"), ("SPINNEY", "one"), ("MAPLE_SIZE", "5"), ("HeathKind", "red"),
    ],
)  # fmt: skip
def test_a_value_of_a_branch_is_stated_with_its_condition(engine: LocalEngine, name: str, value: str) -> None:
    lead = lead_of(engine, name)
    assert f"is set to `{value}`" in lead
    assert UNDER in lead


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("COOMBE_SIZE", "12"), ("PLAIN_SIZE", "4"), ("MERE_SIZE", "9"), ("COPSE", "two"), ("ACER_SIZE", "6"),
        ("DownKind", "green"),
    ],
)  # fmt: skip
def test_a_value_that_always_holds_has_no_condition(engine: LocalEngine, name: str, value: str) -> None:
    lead = lead_of(engine, name)
    assert f"is set to `{value}`" in lead
    assert "the line is" not in lead


@pytest.mark.parametrize(
    "question",
    [
        "What is the initial value of PLAIN_SIZE?",
        "What was the starting value of the variable `PLAIN_SIZE`?",
        "What's the initial value of PLAIN_SIZE in kinds.py?",
    ],
)
def test_an_initial_value_is_what_a_name_is_set_to(engine: LocalEngine, question: str) -> None:
    assert research(engine, question).text.startswith("`PLAIN_SIZE` is set to `4`, in `kinds.py`, line 9")


@pytest.mark.parametrize(("name", "value"), [("shed_kind", "7"), ("byre_kind", "3")])
def test_a_branch_that_sets_a_variable_again_is_said(engine: LocalEngine, name: str, value: str) -> None:
    lead = lead_of(engine, name)
    assert f"is set to `{value}`" in lead
    assert "; other lines of the file set it, too" in lead


def test_a_keyword_of_a_call_sets_nothing_again(engine: LocalEngine) -> None:
    assert "other lines" not in lead_of(engine, "barn_kind")


def test_a_value_of_an_attempt_is_stated_as_one(engine: LocalEngine) -> None:
    assert "the line is in a block that may fail" in lead_of(engine, "FEN_SIZE")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("if (a) size = 5;", "a.c"),
        ("} else { size = 5; }", "a.js"),
        ("size = 5 unless b", "a.rb"),
        ("#if A\n#else\nint size = 5;", "a.c"),
        ("switch (a) {\n  case 1:\n    size = 5;", "a.java"),
        ("switch (a) {\n  default:\n    size = 5;", "a.java"),
        ("match a {\n    1 => size = 5,", "a.rs"),
        ("(when a\n  (setq size 5))", "a.el"),
        ("try {\n  a();\n} catch (e) {\n  size = 5;", "a.js"),
    ],
)
def test_the_last_line_is_under_a_condition(text: str, path: str) -> None:
    lines = text.split("\n")
    assert condition_text(lines, len(lines), path) == UNDER


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("size = 5 # if b", "a.rb"),
        ("size = 'a if b'", "a.rb"),
        ("iffy = 5", "a.py"),
        ("when = 5", "a.py"),
        ("default: 5", "a.yml"),
        ("# if this is so\nsize = 5", "a.py"),
        ("if a:\n    def f():\n        size = 5", "a.py"),
        ("#if A\n#endif\nint size = 5;", "a.c"),
    ],
)
def test_the_last_line_is_under_no_condition(text: str, path: str) -> None:
    lines = text.split("\n")
    assert not condition_text(lines, len(lines), path)


def test_long_and_deep_texts_take_no_time() -> None:
    deep = [f"{' ' * depth}if a{depth}:" for depth in range(500)]
    start = time.perf_counter()
    for lines in (["#if " + "(" * 100_000, "size = 5"], ["} " * 50_000 + "size = 5"], ["#if A"] * 50_000, deep):
        condition_text(lines, len(lines), "a.c")
        condition_text(lines, len(lines), "a.rb")
    assert time.perf_counter() - start < 5
