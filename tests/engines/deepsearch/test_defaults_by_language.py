"""Defaults in languages without a grammar: Clojure, Elixir, Julia, Nim, F#; delegates of Kotlin; what isn't one."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import lead_of, research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.redaction import redact
from sourcelight.engines.deepsearch.source.functions import types_around
from sourcelight.engines.deepsearch.source.lisp_options import read_lisp_options
from sourcelight.engines.deepsearch.source.values import haskell_value
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.timeout(90)

CLOJURE = """(ns pool.core)

(def default-options
  "Options of a pool, such as :idle-limit 99."
  {:idle-limit 12
   ;; :grace 77
   :label "pool"})

(defn make-pool
  "Makes a pool. (or (:lanes opts) 88)
   Seats are (or (:lanes opts) 77)."
  [opts]
  (let [lanes (or (:lanes opts) 4)
        depth (get opts :depth 9)]
    {:lanes lanes :seats 31}))

(defn make-entity
  [parts {:keys [subtype charset]
          :or {subtype "form-data"
               charset Charset/UTF}}]
  (build parts subtype charset))
"""
ELIXIR = """defmodule Wire.Client do
  defstruct endpoint: "/wire/open",
            method: :post,
            retries: 3

  def request(client) do
    %{client | method: :put, retries: 8}
  end
end
"""
JULIA = """struct Other
    width::Int
end

@kwdef struct WriteSettings
    width::Int = 2^22
    style::Symbol = :shortest
end

function peek(buf::AbstractString; isroot::Bool=true, depth::Int=7)
    depth
end

peek(io::IO; kw...) = peek(read(io, String); kw...)
"""
NIM = """const
  wire_colors* {.strdefine.} = "AutoColors"
  wire_indent {.intdefine.} = 2
  wire_filtering {.strdefine.} = "off"

proc indent(wire_indent: int) =
  let wire_indent = 5
"""
FSHARP = """namespace Wire

type Base internal (name : string) =
    member _.Name = name

and [<Sealed>]
    Parser(name : string) =

    member _.ParseLine (line : string, ?strict : bool) =
        let strict = defaultArg strict false
        line

    member _.ParseFile (path : string, ?strict : bool) =
        let strict = defaultArg strict true
        path
"""

KOTLIN = """package yard

fun <T : Any> config(defaultValue: T): Property<T> = config(defaultValue) { it }

fun <T : Any, U : Any> config(defaultValue: T, transform: (T) -> U): Property<U> = Property(defaultValue, transform)

fun named(label: String): Property<String> = Property(label)

class ThrowsLimit {
    // private val max: Int by config(99)
    private val max: Int by config(2)

    val names: List<String> by config(defaultValue = listOf("a", "b"))

    val title: String by named("title of the page")

    val port by parser.option(ArgType.Int, "port", description = "by default (80)").default(8021)

    val lazyOne: Int by lazy { 3 }
}

class OtherLimit {
    private val max: Int by config(4)
}
"""
SWIFT = """extension Tag.Name {
    public static let stamp: Tag.Name = "tag:stamp"
}

extension Resolver.Rule {
    public static let stamp = "rule:stamp"
}
"""


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder = tmp_path_factory.mktemp("wire")
    repo = RepositoryBuilder(folder / "yard")
    files = {
        "src/pool/core.clj": CLOJURE, "lib/wire/client.ex": ELIXIR, "src/write.jl": JULIA, "wire/options.nim": NIM,
        "src/Parser.fs": FSHARP, "src/Limits.kt": KOTLIN, "Sources/Tag.swift": SWIFT,
        "test/pool/core_test.clj": "(deftest a (is (= 5 (or (:lanes nil) 55))))\n",
    }  # fmt: skip
    repo.commit(files, "Start")
    return open_engine([repo.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What's the default of lanes in make-pool?", "The default of `lanes` is `4`"),
        ("What is the default depth of make-pool?", "The default of `depth` is `9`"),
        ("What does subtype default to?", 'The default of `subtype` is `"form-data"`'),
        ("What's the default charset of make-entity?", "The default of `charset` is `Charset/UTF`"),
        ("What's the default idle limit?", "The default of `idle-limit` is `12`"),
        ("What's the default method of Wire.Client?", "The default of `method` is `:post`"),
        ("What's the default of retries in Wire.Client?", "The default of `retries` is `3`"),
        ("What's the default of width in WriteSettings?", "`width` is set to `2^22`"),
        ("What's the default of isroot in peek?", "The default of `isroot` of `peek` is `true`"),
        ("What's the default depth of peek?", "The default of `depth` of `peek` is `7`"),
        ("What is isroot by default in peek?", "The default of `isroot` of `peek` is `true`"),
        ("What's the default wire_indent?", "The default of `wire_indent` is `2`"),
        ("What's the default of wire_colors?", 'The default of `wire_colors` is `"AutoColors"`'),
        ("Is wire_filtering on by default?", 'The default of `wire_filtering` is `"off"`'),
        ("What's the default of strict in ParseLine?", "The default of `strict` is `false`"),
        ("What's the default of strict in ParseFile?", "The default of `strict` is `true`"),
        ("What's the default max of ThrowsLimit?", "The default of `max` of `ThrowsLimit` is `2`"),
        ("What is max by default in OtherLimit?", "The default of `max` of `OtherLimit` is `4`"),
        ("What's the default of names in ThrowsLimit?", "The default of `names` of `ThrowsLimit` is `listOf("),
        ("What's the default of port in ThrowsLimit?", "The default of `port` of `ThrowsLimit` is `8021`"),
        ("What is Tag.Name.stamp?", '`Tag.Name.stamp` is set to `"tag:stamp"`'),
        ("What is Resolver.Rule.stamp?", '`Resolver.Rule.stamp` is set to `"rule:stamp"`'),
    ],
)
def test_defaults_of_languages_without_a_grammar_are_stated(wire: LocalEngine, question: str, expected: str) -> None:
    assert research(wire, question).text.startswith(expected)


@pytest.mark.parametrize(
    "question",
    ["What's the default seats of make-pool?", "What's the default grace?", "What's the default of width in Other?",
     "What's the default of title in ThrowsLimit?"],
)  # fmt: skip
def test_comments_and_values_that_no_one_may_set_are_not_stated(wire: LocalEngine, question: str) -> None:
    head = research(wire, question).text.partition("\n\n")[0]
    assert re.search(r"\b(?:31|77|88|2\^22)\b|title of", head) is None


def test_only_the_open_map_behind_or_has_defaults() -> None:
    text = '(defn f [{:keys [a b] :or {a 5 ; c 6 in a comment\n b "x;y"}} d 7]\n  {e 8})'
    lines = text.split("\n")
    names = [[option.name for option in read_lisp_options(lines, number)] for number in range(1, 4)]
    assert names[0][0] == "a"
    assert "b" in names[1]
    assert names[2] == []


def test_types_are_those_that_a_line_is_indented_below() -> None:
    text = "defmodule A.B do\n  defmodule C do\n    x\n  end\n\n  y\nend"
    lines = list(enumerate(text.split("\n"), 1))
    assert types_around(lines, 3, "Elixir") == ["C", "A.B"]
    assert types_around(lines, 6, "Elixir") == ["A.B"]
    assert types_around(lines, 6, "Go") == []


@pytest.mark.parametrize(
    ("equation", "value"),
    [("a = 5 -- five", "5"), ('a = "b -- c" -- d', '"b -- c"'), ("a = -- below\n  7", "7"), ("a = x\n  + 1", "")],
)
def test_a_comment_ends_the_value_of_an_equation(equation: str, value: str) -> None:
    """Two dashes in a text begin no comment, and a value may be alone on the line below."""
    read = haskell_value(["a :: Int", *equation.split("\n")], "a", 1)
    assert ("" if read is None else read.text) == value


def test_long_equations_take_linear_time() -> None:
    """Text of repositories is hostile."""
    for line in ("a = b" + " " * 100_000 + "c", 'a = "' + '\\"' * 100_000, "a" + " " * 100_000, "a =" + "--" * 100_000):
        started_s = time.process_time()
        haskell_value([line], "a", 1)
        assert time.process_time() - started_s < 0.5


def test_long_lines_of_lisp_take_linear_time() -> None:
    lines = ["(or " * 140, ":or {" * 110, '"' * 600, "(get a :b " * 55, "a 1 " * 140] * 3
    started_s = time.process_time()
    for number in range(1, len(lines) + 1):
        assert len(list(read_lisp_options(lines, number))) < 200
    assert time.process_time() - started_s < 1


def test_a_path_of_words_is_no_secret() -> None:
    assert redact('token_url: "/oauth/token"') == 'token_url: "/oauth/token"'
    assert "[redacted]" in redact('token: "/Ab9xK2/qqZ81hhT"')
    assert "[redacted]" in redact('secret: "/abcdefghijklmnopqrstuvwxyzabcdefghijklmnop"')


def test_a_branch_sets_no_default(tmp_path: Path) -> None:
    """What a condition puts into options is the value of its case; a struct has the default."""
    config = """defmodule Wire.Config do
  defstruct dial: "public",
            pause: :timer.seconds(1),
            peers: []

  def new(opts) do
    opts =
      if opts[:testing] do
        opts
        |> Keyword.put(:dial, false)
        |> Keyword.put(:pause, :infinity)
      else
        opts
      end

    struct!(__MODULE__, opts)
  end
end
"""
    settings = """def prepare(config)
  if config.dry?
    config.set(:mast_height, 3)
  end
  config.set(:rope_length, 9) if config.dry?
  if [
    config.dry?,
  ].all?
    config.set(:keel_depth, 6)
  end
  config.set(:sail_area, 40)
end
"""
    repository = RepositoryBuilder(tmp_path / "wire")
    repository.commit({"lib/wire/config.ex": config, "lib/settings.rb": settings}, "Add a wire")
    engine = open_engine([repository.path], index=tmp_path / "index", workers=1)
    assert lead_of(engine, "What's the default of dial?").startswith('The default of `dial` is `"public"`')
    assert lead_of(engine, "What's the default of pause?").startswith("The default of `pause` is `:timer.seconds(1)`")
    assert lead_of(engine, "What's the default of sail_area?").startswith("`sail_area` is set to `40`")
    for name in ("mast_height", "rope_length", "keel_depth"):
        assert not lead_of(engine, f"What's the default of {name}?").startswith(f"`{name}` is set to")
    engine.close()


def test_a_parameter_is_no_default_of_properties_with_other_values(tmp_path: Path) -> None:
    """The sentence named the parameters of helpers, while two rules set a property of the name otherwise."""
    files = {
        "src/trim.cr": "def trim(text, max_width = 120)\nend\n\ndef cut(text, max_width = 120)\nend\n",
        "src/rule.cr": "class Rule\n  properties do\n    max_width 140\n  end\nend\n",
        "src/fold.cr": "def fold(text, max_depth = 7)\nend\n",
    }
    repository = RepositoryBuilder(tmp_path / "rules")
    repository.commit(files, "Add rules")
    engine = open_engine([repository.path], index=tmp_path / "index", workers=1)
    for question in ("What is max_width set to?", "What's the default of max_width?"):
        assert not lead_of(engine, question).startswith("The default of"), question
    assert "`7`" in lead_of(engine, "What's the default of max_depth?")
    engine.close()
