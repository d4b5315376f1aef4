"""Callers where no grammar reads the calls: the function around a call is named only if the lines before it say so."""

from __future__ import annotations

import re

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.facts.unparsed_definitions import has_call
from sourcelight.engines.deepsearch.source.functions import enclosing_function
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

INSTALL = """millstone_dir() {
  printf %s "stone"
}

mill_install() {
  local dir
  dir="$(millstone_dir)"
  # millstone_dir
  echo "millstone_dir"
}

unset -f millstone_dir mill_install
"""
GRIND = """final class Mill {
    func grind(
        _ corn: Int
    ) -> Int {
        let later = {
            measureGrain(corn)
        }
        return later()
    }

    func measureGrain(_ corn: Int) -> Int {
        return corn
    }
}
"""
SIFT = "sift <- function(\n  flour\n) {\n  shake_sieve(flour)\n}\n\nshake_sieve <- function(flour) {\n  flour\n}\n"
HANDLER = """return function(options)
  local handler = {}

  local function gearState(element)
    return element
  end

  handler.turned = function(element)
    return gearState(element)
  end

  return handler
end
"""
RESOLVER = """-module(resolver).
%% '''
-spec keep_grain(atom()) -> ok.
pour(Sack) ->
  maybe_keep(Sack, dry),
  ok.

maybe_keep(true, Sack) -> keep_grain(Sack);
maybe_keep(false, _Sack) -> ok.

keep_grain(_Sack) ->
  ok.
"""


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("callers")
    repo = RepositoryBuilder(root / "wheel")
    repo.commit(
        {
            "install.sh": INSTALL,
            "Mill.swift": GRIND,
            "sift.R": SIFT,
            "handlers/gears.lua": HANDLER,
            "src/resolver.erl": RESOLVER,
        },
        "Build a wheel",
    )
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What calls millstone_dir?", "called by name in `mill_install` (line 7 of `install.sh`)"),
        ("Which functions call measureGrain?", "called by name in `grind` (line 6 of `Mill.swift`)"),
        # Neither the specification nor the heads of clauses call it.
        ("What calls keep_grain?", "called by name in `maybe_keep` (line 8 of `src/resolver.erl`)"),
        ("Which function calls maybe_keep?", "called by name in `pour` (line 5 of `src/resolver.erl`)"),
        ("From where is shake_sieve called?", "called by name in `sift` (line 4 of `sift.R`)"),
        (
            "Which function calls gearState in the gears handler?",
            "called by name in `turned` (line 9 of `handlers/gears.lua`)",
        ),
    ],
)
def test_the_function_around_a_call_is_named(mill: LocalEngine, question: str, sentence: str) -> None:
    lead = re.sub(r"\\([_*])", r"\1", research(mill, question).text.split("\n\n")[0])
    assert sentence in lead


def test_calls_outside_of_the_scope_of_a_question_are_not_its_answer(mill: LocalEngine) -> None:
    lead = research(mill, "Which function calls gearState in the bolting handler?").text.split("\n\n")[0]
    assert "called by name" not in lead


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("Swift", "func a() {\n    b()\n}\nb()", ""),
        ("Swift", "class C {\n    var x = b()\n}", ""),
        ("Lua", "describe('a', function()\n  b()\nend)", ""),
        ("R", "a <- function(x) {\n  b(x)", "a"),
        ("Perl", "sub a {\n    my $x = b();", "a"),
        ("Shell", "a() {\n  :\n}\nb", ""),
        ("Dart", "Future<void> a(\n  int x,\n) async {\n  each((y) async {\n    b(y);", "a"),
        ("Dart", "class C {\n  final x = b();", ""),
        ("Erlang", "a(X) ->\n\tcase X of\n\t\t1 -> b(X)", "a"),
        ("Erlang", "-spec b(X) -> ok.", ""),
        ("Julia", "function a(x)\n    b(x)", "a"),
    ],
)
def test_a_function_is_around_a_line_only_if_it_is_indented_less(language: str, text: str, name: str) -> None:
    lines = list(enumerate(text.split("\n"), 1))
    number = next(number for number, line in reversed(lines) if "b" in line)
    assert enclosing_function(lines, number, language) == name


@pytest.mark.parametrize(
    ("line", "calls"),
    [("  x=$(stone)", True), ("if stone; then", True), ("unset -f stone", False), ('echo "stone"', False),
     ("stone_mill", False), ("a && stone b", True), ("stone() {", False), ("alias m=stone", False)],
)  # fmt: skip
def test_a_command_of_a_shell_begins_with_its_name(line: str, calls: bool) -> None:  # noqa: FBT001
    assert has_call(line, "stone", "Shell") == calls
