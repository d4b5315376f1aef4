"""Counts of types, modules and exported names in languages without a grammar: the forms of their lines tell them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.facts.declared.exports import custom_of, exports_of
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

ENGINE = '''defmodule Mill.Engine do
  @moduledoc """
  An engine, such as

      defmodule Example do
  """
  @callback turn(x) :: x
  @callback stop(x) :: x

  defmodule State do
    defstruct [:speed]
  end
end
'''
WHEEL = """module Wheel
export turn, @lift,
    stop!
struct Hub end
Base.@kwdef mutable struct Spoke{T}
    length::T
end
# struct Rim end
turn(x) = x
function stop!(x)
    x
end
text = "struct Fake end"
end
"""
GPROC = """-module(mill).
-export([turn/1, stop/0]).
-export([turn/1,
         lift/2 % lift/3 was here
        ]).
-record(state, {speed}).
turn(X) -> X.
"""
ROPE = """module Rope exposing
    ( Rope(..)
    , empty
    , (|+|)
    )


empty : Rope a
empty =
    Nothing


one :
    a
    -> Rope a
one x =
    x
"""
NAMESPACE = """export("%mill%")
export(turn,
  "stop<-")
S3method(print,mill)
importFrom(stats,sd)
"""


def engine_of(root: Path, files: dict[str, str]) -> LocalEngine:
    repo = RepositoryBuilder(root / "mill")
    repo.commit({str(path): text for path, text in files.items()}, "Build a mill")
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("path", "text", "question", "sentence"),
    [
        ("lib/mill/engine.ex", ENGINE, "How many callbacks does the Mill.Engine behaviour define?", "**2** callbacks"),
        ("lib/mill/engine.ex", ENGINE, "How many modules are there?", "At least **2** modules"),
        ("lib/mill/engine.ex", ENGINE, "How many structs are there?", "**1** struct"),
        ("src/Wheel.jl", WHEEL, "How many structs are defined in src/Wheel.jl?", "**2** structs"),
        ("src/Wheel.jl", WHEEL, "How many functions are there?", "**2** functions"),
        ("src/Wheel.jl", WHEEL, "How many names does Wheel.jl export?", "**3** names are exported in `src/Wheel.jl`"),
        ("src/mill.erl", GPROC, "How many functions does mill.erl export?", "**3** names are exported"),
        ("src/mill.erl", GPROC, "How many records are defined?", "**1** record is defined"),
        ("src/Rope.elm", ROPE, "How many names does src/Rope.elm export?", "**3** names are exported"),
        ("src/Rope.elm", ROPE, "How many functions does Rope.elm have?", "**2** functions"),
        ("NAMESPACE", NAMESPACE, "How many functions are exported?", "**3** names are exported in `NAMESPACE`"),
        ("src/gear.cr", "class Gear\nend\nprivate abstract class Cog < Gear\nend\nclass_getter x\n",
         "How many classes are there?", "**2** classes"),
        ("src/Gear.groovy", "@Immutable class Gear {}\nabstract class Cog {\n  def klass = Gear.class\n}\n",
         "How many classes are there?", "**2** classes"),
        ("mill.el", '(defcustom mill-speed 3 "")\n(defmacro mill (x) x)\n; (defmacro no ())\n',
         "How many macros does mill.el define?", "**1** macro"),
        ("test/mill_test.clj", "(ns mill-test)\n(deftest turns (is 1))\n(deftest ^:slow stops (is 2))\n",
         "How many deftests are there?", "**2** tests"),
    ],
)  # fmt: skip
def test_forms_of_lines_are_counted(tmp_path: Path, path: str, text: str, question: str, sentence: str) -> None:
    files = {path: text, "R/mill.R": "turn <- function(x) x\n"} if path == "NAMESPACE" else {path: text}
    assert lead_of(engine_of(tmp_path, files), question).startswith(sentence)


@pytest.mark.parametrize(
    ("files", "question"),
    [
        ({"a.js": "export const a = 1\n", "b.js": "1\n", "c.py": "__all__ = ['a']\n"}, "How many names are exported?"),
        ({"src/a.erl": "-module(a).\n-compile(export_all).\nf() -> 1.\n"}, "How many functions does a.erl export?"),
        ({"a.py": "import b\n", "b.py": "x = 1\n", "c.cr": "module C\nend\n"}, "How many modules are there?"),
        ({"mill.ex": "defmodule Mill do\nend\n"}, "How many modules does Mill depend on?"),
        ({"R/a.R": "f <- function() export()\n", "NAMESPACE": "export(f)\n"}, "How many functions call export?"),
        ({"src/A.elm": "module A exposing (..)\n"}, "How many names does A.elm export?"),
    ],
)
def test_nothing_is_said_of_another_language_or_without_a_list(
    tmp_path: Path, files: dict[str, str], question: str
) -> None:
    assert "**" not in lead_of(engine_of(tmp_path, files), question)


@pytest.mark.parametrize("part", ["(", "export(", "-export([", ")", "a,", "'", "module A exposing(", "[", "\n("])
def test_hostile_lists_take_linear_time(part: str) -> None:
    text = part * (30_000 // len(part))
    began_at = time.perf_counter()
    for path in ("NAMESPACE", "a.erl", "a.jl", "a.elm", "a.pm", "a.py"):
        custom = custom_of(path)
        assert custom is not None
        exports_of([text, *text.split(part), *[part] * 3_000], custom)

    assert time.perf_counter() - began_at < 3
