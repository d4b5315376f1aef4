"""Names with signs: what a sign of a question belongs to is decided by the code."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.facts.unparsed_definitions import reader_of
from sourcelight.engines.deepsearch.places.name_marks import ENDS_WITH_VERB, SIGNED_NAME
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

MILL = """(ns mill.core)

(defn dry-grain? [x]
  #{"dry"}
  (pos? x))

; (dry-grain? 0)
(defn sack->flour [x]
  "Calls \\"dry-grain?\\" of
* course"
  (dry-grain?
    x))
"""
LADDER = """module Ladder where

data Rung
  = Rung { height :: Int
         , width :: Int }
  | Gap Int

class Gap a where
  gap :: a -> Int

(<||>) :: Int -> Int -> Int
a <||> b = a + b
"""
TOOLS = """local tools = {}
function tools.sharpen(x)
  return x
end
return tools
"""
FILES = {
    "src/mill/core.clj": MILL,
    "src/Ladder.hs": LADDER,
    "tools.lua": TOOLS,
    "other.lua": "local other = {}\nfunction other.blunt(x)\n  return x\nend\n",
    "R/defaults.R": "`%else%` <- function(x, y) if (is.null(x)) y else x\nis.coarse <- function(x) x > 2\n",
    "R/sieve.R": "sieve <- function(x) {\n  if (is.coarse(x)) 1\n}\n",
    "src/put.jl": "stack!(d, k) = (d[k] = 1; d)\nmacro lever(x)\n  x\nend\n",
    "lib/hopper.ex": "defmodule Mill.Hopper do\n  def open!(x) do\n    x\n  end\n\n  def open(x), do: open!(x)\nend\n",
    "lib/fill.rb": "def fill\n  1\nend\n\ndef fill?\n  fill\nend\n\ndef full\n  fill?\nend\n",
    "weights.ml": "exception Too_light of int\n\nlet weigh x = raise (Too_light x)\n",
    "lib/fan.rb": "class Fan\n  def spin\n    1 if defined?(Blade)\n  end\n\n  def still?\n    true\n  end\nend\n",
    "vane.vim": "function! s:turn(x)\n  return s:turn(a:x)\nendfunction\n",
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("signs")
    repo = RepositoryBuilder(root / "wheel")
    repo.commit(FILES, "Build a wheel")
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Where is dry-grain? defined?", "`dry-grain?` is defined in `src/mill/core.clj`, line 3"),
        ("What calls dry-grain?", "`dry-grain?` is called by name in `sack->flour` (line 11 of `src/mill/core.clj`)"),
        ("Where's sack->flour defined?", "`sack->flour` is defined in `src/mill/core.clj`, line 8"),
        ("Where is %else% defined?", "`%else%` is defined in `R/defaults.R`, line 1"),
        ("Where is is.coarse defined?", "`is.coarse` is defined in `R/defaults.R`, line 2"),
        ("Which functions call is.coarse?", "`is.coarse` is called by name in `sieve` (line 2 of `R/sieve.R`)"),
        ("Where is stack! defined?", "`stack!` is defined in `src/put.jl`, line 1"),
        ("Where is the operator <||> defined?", "`<||>` is defined in `src/Ladder.hs`, line 11"),
        ("Where is tools.sharpen defined?", "`tools.sharpen` is defined in `tools.lua`, line 2"),
        ("Where is Mill.Hopper.open! defined?", "`Mill.Hopper.open!` is defined in `lib/hopper.ex`, line 2"),
        ("Where is the exception Too_light defined?", "`Too_light` is defined in `weights.ml`, line 1"),
        ("Where is s:turn defined?", "`s:turn` is defined in `vane.vim`, line 1"),
        # A constructor and a class have one name.
        ("Where is Gap defined?", "; in `src/Ladder.hs`, line 8, as a class"),
        ("Where is the constructor Gap defined?", "`Gap` is defined in `src/Ladder.hs`, line 6"),
        ("Where is Rung defined?", "in `src/Ladder.hs`, line 3, as a type; in `src/Ladder.hs`, line 4"),
    ],
)
def test_a_sign_belongs_to_a_name_that_the_code_has(mill: LocalEngine, question: str, sentence: str) -> None:
    assert sentence in lead_of(mill, question)


def test_the_last_word_of_a_question_is_a_name_only_if_code_defines_it(mill: LocalEngine) -> None:
    """`defined?` is a keyword of Ruby."""
    assert lead_of(mill, "Where is spin defined?").startswith("`spin` is defined in `lib/fan.rb`, line 2")
    assert lead_of(mill, "Where is still? defined?").startswith("`still?` is defined in `lib/fan.rb`, line 6")


def test_the_mark_of_a_question_belongs_to_no_name_if_the_code_has_it_without(mill: LocalEngine) -> None:
    assert "`fill?`" not in lead_of(mill, "What calls fill?")


def test_a_member_of_another_owner_is_not_meant(mill: LocalEngine) -> None:
    assert "is defined in" not in lead_of(mill, "Where is other.sharpen defined?")


@pytest.mark.parametrize(
    ("language", "line", "kind"),
    [
        ("Haskell", "  | Gap x", "constant"),
        ("Haskell", "data T = Rung Int | Gap", "constant"),
        # A guard and an alternative of a case.
        ("Haskell", "  | Gap x <- f y = x", None),
        ("Haskell", "  Gap { x = 1 }", None),
        ("Julia", "@test Gap(1) == 2", None),
        ("Julia", "Gap(1) == 2", None),
        ("OCaml", "  | Gap -> 1", None),
        ("OCaml", "  | Gap of int", "constant"),
    ],
)
def test_a_constructor_is_told_from_a_pattern(language: str, line: str, kind: str | None) -> None:
    read = reader_of(language, "Gap")
    assert read is not None
    assert read(line) == kind


@pytest.mark.parametrize("text", ["a." * 20_000, "-" * 40_000, "%" * 40_000, "a?" * 20_000, "a->" * 20_000])
def test_signs_are_found_in_linear_time(text: str) -> None:
    start = time.process_time()
    list(SIGNED_NAME.finditer(text))
    assert time.process_time() - start < 1


LUA = """local Mill = {}
local Wheel = setmetatable({}, Mill)

function Mill:turn()
  return self:stop()
end

function Wheel:turn()
  return Wheel:stop()
end

function Mill:stop()
end
"""


def test_a_colon_of_lua_joins_an_object_and_its_method(tmp_path: Path) -> None:
    repository = RepositoryBuilder(tmp_path / "mill")
    repository.commit({"mill.lua": LUA}, "Add a mill")
    engine = open_engine([repository.path], index=tmp_path / "index", workers=1)
    assert lead_of(engine, "Where is Mill:stop defined?").startswith("`Mill:stop` is defined in `mill.lua`, line 12")
    assert lead_of(engine, "Who added Mill:stop and when?").startswith("A line with `Mill:stop` was first added by ")

    # The line of another object's method proves nothing of this one's.
    assert "line 12" not in lead_of(engine, "Where is Wheel:stop defined?")
    wheel = lead_of(engine, "Where is Wheel:turn defined?")
    assert "line 8" in wheel
    assert "line 4" not in wheel
    assert "nothing there calls it" not in lead_of(engine, "What calls Mill:stop?")
    engine.close()


def test_the_verb_of_a_question_is_no_method(tmp_path: Path) -> None:
    """A method `defined?` hid every definition of its repository."""
    repository = RepositoryBuilder(tmp_path / "mill")
    code = "module Mill\n  def self.defined?(name)\n    true\n  end\n\n  class WaterWheel\n  end\nend\n"
    repository.commit({"lib/mill.rb": code}, "Add a mill")
    engine = open_engine([repository.path], index=tmp_path / "index", workers=1)
    assert lead_of(engine, "Where is WaterWheel defined?").startswith(
        "`WaterWheel` is defined in `lib/mill.rb`, line 6"
    )
    engine.close()


def test_the_last_verb_is_looked_for_in_linear_time() -> None:
    """Questions come from anyone."""
    for text in ("is " * 10_000, "is a" + " b" * 20_000 + "ed", "was " + "ed" * 20_000 + "?"):
        start = time.process_time()
        ENDS_WITH_VERB.search(text)
        assert time.process_time() - start < 0.5
