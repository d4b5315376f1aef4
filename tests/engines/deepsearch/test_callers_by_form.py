"""Callers where no grammar reads the calls: the function around a call is named only if the lines before it say so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engines.deepsearch.asking import lead_of, research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.calls.callees import is_call
from sourcelight.engines.deepsearch.source.call_forms import has_call
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


SCREEN = """module Screen
  ( grindAll, sieveOnce
  , millAll
  ) where

import Sieve (sieveOnce)

-- | Also calls 'sieveOnce' twice.
grindAll :: [Int] -> [Int]
grindAll xs' = map (\\x' -> sieveOnce x') xs'

{- sieveOnce
grindNone xs = sieveOnce xs
-}
millAll :: Int -> Int
millAll x = x
  where
    again = sieveOnce x -- sieveOnce
"""
SIEVE = """module Sieve (sieveOnce) where

sieveOnce :: Int -> Int
sieveOnce x = x
"""
WEIGH = """exception Too_heavy of int

let weigh_sack x = x

(* let unused = weigh_sack 1 *)
let carry x =
  let half = weigh_sack (x / 2) in
  half + 1
"""
VANE = """function! s:turn_vane(x)
  " call s:wind_speed(1)
  return s:wind_speed(a:x)
endfunction

function! s:wind_speed(x)
  return a:x
endfunction
"""
HOIST = """#!/usr/bin/env bash
lift_chain() {
  :
}
hoist() {
  lift_chain "$1"
}
lift_chain
"""
SAILS = """var Sails = {
  furl: function(area) {
    this._reefSail(area);
  },
  _reefSail: function(area) {
    return area;
  }
};
"""
SHAFTS = """class Oak {
  turn(x) {
    return wedgeShaft(x);
  }
}
class Iron {
  turn(x) {
    return wedgeShaft(x);
  }
}
function wedgeShaft(x) {
  return x;
}
"""
BRAKE = "from wedge import wedge_brake, wedge_cog\n\ndef brake(x):\n    return wedge_brake(x)\n\n"
"""A function of one name in two files."""
SIDE = """from wedge import wedge_cog

def cog(x):
    return wedge_cog(x)

class Iron:
    def turn(self, x):
        return wedge_cog(x)
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
            "src/Screen.hs": SCREEN,
            "src/Sieve.hs": SIEVE,
            "lib/weigh.ml": WEIGH,
            "lib/weigh.mli": "val weigh_sack : int -> int\n",
            "vane.vim": VANE,
            "bin/hoist": HOIST,
            "sails.js": SAILS,
            "shafts.js": SHAFTS,
            "many.R": "".join(f"f{n} <- function() {{\n  stir_meal()\n}}\n" for n in range(8)),
            "stir.R": "stir_meal <- function() 1\n",
            "wedge.py": "def wedge_brake(x):\n    return x\n\ndef wedge_cog(x):\n    return x\n",
            "front.py": BRAKE,
            "rear.py": BRAKE + "class Oak:\n    def turn(self, x):\n        return wedge_cog(x)\n",
            "side.py": SIDE,
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
        # Neither lists of exports and imports nor comments call it.
        (
            "Which functions call sieveOnce?",
            (
                "called or referenced by name in `grindAll` (line 10 of `src/Screen.hs`) and `millAll` "
                "(line 18 of `src/Screen.hs`); other lines have the name"
            ),
        ),
        ("Who calls weigh_sack?", "by name in `carry` (line 7 of `lib/weigh.ml`); other lines have the name"),
        ("What calls wind_speed?", "called by name in `s:turn_vane` (line 3 of `vane.vim`)"),
        (
            "Where is lift_chain called?",
            "called by name in `hoist` (line 6 of `bin/hoist`) and line 8 of `bin/hoist`",
        ),
        ("Which functions call _reefSail?", "called by name in `furl` (line 3 of `sails.js`)"),
        ("Which methods call wedgeShaft?", "is called by `Oak.turn` and `Iron.turn` (2 calls in 1 file)"),
        # A class tells callers of one name apart, or else the file does.
        (
            "Which functions call wedge_cog?",
            "is called by `Oak.turn`, `cog` and `Iron.turn` (3 calls in 2 files)",
        ),
        ("What calls wedge_brake?", "is called by `brake` in `front.py` and `brake` in `rear.py` (2 calls in 2 files)"),
        # A list that is cut says so.
        ("What calls stir_meal?", "`f5` (line 17 of `many.R`), and on more lines"),
    ],
)
def test_the_function_around_a_call_is_named(mill: LocalEngine, question: str, sentence: str) -> None:
    assert sentence in lead_of(mill, question)


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
        ("Julia", "a!(x, y = f(1)) where T =\n    b(x)", "a!"),
        ("Julia", "@test a(x) == b(x)", ""),
        ("R", "a <- function(x) {\n  lapply(x, FUN = function(y) {\n    b(y)", "a"),
        ("R", "run(\n  done = function(y) {\n    b(y)", ""),
        ("Perl", "sub a\n{\n    b();", "a"),
        ("Perl", "sub a { 1 }\n\n{\n    my %c = (\n        d => sub { $_[0]->b },", ""),
        ("Perl", "sub a { $_[0]->b }", "a"),
        ("Perl", "print <<END;\nsub a {\nEND\n    b();", ""),
        ("Shell", "cat <<END\na() {\nEND\n  b", ""),
        ("Swift", "func a(_ x: Int)\n  -> Int\n{\n  return b(x)", "a"),
        ("Nim", "proc a*(\n  x: int\n): int =\n  b(x)", "a"),
        ("Nim", "template `+`(x: int) =\n  b(x)", "+"),
        ("Nim", "when isMainModule:\n  b(1)", ""),
        ("Zig", "pub fn a(x: u8) u8 {\n    return b(x);", "a"),
        ("Zig", 'test "a" {\n    _ = b(1);', ""),
        ("Haskell", "a :: Int\na = x\n  where\n    x = b 1", "a"),
        ("Haskell", "a, c :: Int -> Int\na 1 = 2\na x\n  | x > 1 = b x", "a"),
        ("Haskell", "a\n  :: Int\na = b 1", "a"),
        # Without a signature or a sign of equality, or before an operator, what the equation defines isn't certain.
        ("Haskell", "a x = b x", "a"),
        ("Haskell", "a x |> b x", ""),
        ("Haskell", "a :: Int\na <+> x = b x", ""),
        ("Haskell", "a :: Int\na = 1\ninstance C Int where\n  c x = b x", ""),
        ("Haskell", "a :: Int\na = 1\n$(b 1)", ""),
        ("OCaml", "let rec a x =\n  let y =\n    b x in\n  y", "a"),
        ("OCaml", "module M = struct\n  let a x =\n    b x", "a"),
        ("OCaml", "let () =\n  let a = 1 in\n  b a", ""),
        ("OCaml", "let a, c =\n  b 1", ""),
        ("OCaml", "let a =\n  b 1\nin\n", ""),
        ("F#", "type T() =\n    member this.A x =\n        b x", "A"),
        ("Vim Script", "function! s:a(x) abort\ncall b(a:x)\nendfunction", "s:a"),
        ("Vim Script", "function! s:a(x)\nendfunction\ncall b(1)", ""),
        ("Vim Script", "lua << EOF\nfunction a(x)\nEOF\ncall b(1)", ""),
    ],
)
def test_a_function_is_around_a_line_only_if_it_is_indented_less(language: str, text: str, name: str) -> None:
    lines = list(enumerate(text.split("\n"), 1))
    number = next(number for number, line in reversed(lines) if re.search(r"\bb\b", line))
    assert enclosing_function(lines, number, language) == name


@pytest.mark.parametrize(
    ("line", "calls"),
    [("  x=$(stone)", True), ("if stone; then", True), ("unset -f stone", False), ('echo "stone"', False),
     ("stone_mill", False), ("a && stone b", True), ("stone() {", False), ("alias m=stone", False)],
)  # fmt: skip
def test_a_command_of_a_shell_begins_with_its_name(line: str, calls: bool) -> None:  # noqa: FBT001
    assert has_call(line, "stone", "Shell") == calls


@pytest.mark.parametrize(
    ("line", "calls"),
    [("  wheel.grind corn", True), ("wheel&.grind", True), ("  .grind(corn)", True), ('puts "#{wheel.grind}"', True),
     ("puts '#{wheel.grind}'", False), ("wheel.grind = 1", False), ("wheel.grind ||= 1", False),
     ("def self.grind!", False),
     ("wheel.grinder", False), (":grind", False), ("x = grind", False), ("wheel.grind == 1", True)],
)  # fmt: skip
def test_a_receiver_before_a_name_calls_it_in_ruby(line: str, calls: bool) -> None:  # noqa: FBT001
    assert has_call(line, "grind", "Ruby") == calls


@pytest.mark.parametrize(
    ("line", "calls"),
    [("int depth() const {", False), ("int depth() const { return tree.depth(); }", True), ("return depth();", True),
     ("x && depth()", True), ("virtual std::vector<int>& depth(int level)", False), ("tree.depth(1);", True),
     ("else depth();", True), ("Tree depth(other);", False)],
)  # fmt: skip
def test_a_type_before_a_name_declares_it_in_c(line: str, calls: bool) -> None:  # noqa: FBT001
    assert has_call(line, "depth", "C++") == calls
    assert is_call({"line": line, "caller_path": "mill.h"}, "depth") == calls


CRYSTAL = """class Mill
  getter stones = 2

  def self.grind(corn)
    wheel.turn corn
    corn
  end

  private def turn(corn)
    corn
  end
end
"""


def test_callers_in_crystal_are_named(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "mill")
    repo.commit({"src/mill.cr": CRYSTAL, "README.md": "Call `grind`.\n"}, "Build")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)

    assert lead_of(engine, "What calls turn?").startswith(
        "`turn` is called by name in `grind` (line 5 of `src/mill.cr`)"
    )
    assert lead_of(engine, "Where is turn defined?").startswith(
        "`turn` is defined in `src/mill.cr`, line 9, as a function"
    )
    assert lead_of(engine, "What calls grind?").startswith(
        "No searched line has `grind` except its definition in `src/mill.cr`, and comments and documents"
    )


def test_calls_in_tests_are_not_said_to_be_outside_of_tests(tmp_path: Path) -> None:
    files = {
        "mill.py": "def grind():\n    pass\n",
        "tests/test_mill.py": "from mill import grind\n\n\ndef test_grind():\n    grind()\n    print(grind)\n",
    }
    repo = RepositoryBuilder(tmp_path / "mill")
    repo.commit(files, "Build")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    lead = lead_of(engine, "What calls grind?")

    assert "`test_grind` (1 call in 1 file" in lead
    assert "outside" not in lead


def test_methods_answer_a_question_for_functions_where_there_are_no_others(tmp_path: Path) -> None:
    text = "<?php\nclass Mill {\n  function __construct() {}\n  function grind() {}\n  function sift() {}\n}\n"
    repo = RepositoryBuilder(tmp_path / "mill")
    repo.commit({"src/Mill.php": text}, "Build")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)

    lead = lead_of(engine, "How many functions are in Mill.php?")
    assert lead == "**2** methods are defined in `**/Mill.php`, in addition to 1 constructor."


def test_macros_of_a_project_define_names_in_clojure(tmp_path: Path) -> None:
    stone = "(ns mill)\n\n(defstone wide-stone\n  [size]\n  size)\n\n"
    text = f"{stone}(defn grind []\n  (default-stone 1)\n  (wide-stone 2))\n"
    repo = RepositoryBuilder(tmp_path / "mill")
    repo.commit({"src/mill.clj": f"{text}\n(default-stone 3)\n"}, "Build")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)

    # What the macro makes isn't known: no kind is said.
    lead = lead_of(engine, "Where is wide-stone defined?")
    assert lead.startswith("`wide-stone` is defined in `src/mill.clj`, line 3 [")
    assert lead_of(engine, "What calls wide-stone?").startswith("`wide-stone` is called by name in `grind` (line 9")
    assert " is defined" not in lead_of(engine, "Where is default-stone defined?")


def test_overloads_take_no_place_from_other_callers(tmp_path: Path) -> None:
    """A sentence that names few functions said "including" although their names are few."""
    repo = RepositoryBuilder(tmp_path / "mill")
    overloads = "".join(f"  void insert(int a{', int b' * n}) {{ add_key(a); }}\n" for n in range(8))
    code_text = f"class Mill {{\n  void add_key(int a) {{}}\n{overloads}  void emplace(int a) {{ add_key(a); }}\n}};\n"
    repo.commit({"src/mill.hpp": code_text}, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    sentence = research(engine, "Which functions call add_key?").text.split("\n\n")[0]
    assert "insert` and `" in sentence
    assert "emplace`" in sentence
    assert "including" not in sentence


def test_every_file_that_defines_a_name_is_named_where_nothing_calls_it(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "mill")
    repo.commit(
        {
            "lib/Sieve.pm": "package Sieve;\nsub _grind { 1 }\n1;\n",
            "lib/Hopper.pm": "package Hopper;\nsub _grind { 2 }\n1;\n",
        },
        "Build a mill",
    )
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert lead_of(engine, "What calls _grind?").startswith(
        "No searched line has `_grind` except its definitions in `lib/Hopper.pm` and `lib/Sieve.pm`"
    )
