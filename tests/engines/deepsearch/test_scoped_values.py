"""Values in a class or a file, of Lisp and Elixir, of arrays; parameters named in prose; verbs that occur nowhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.source.values import attribute_value, lisp_value, value_of
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FILES: dict[str | bytes, str | bytes | None] = {
    "src/Handler/QueueHandler.php": "<?php\nclass QueueHandler {\n    const MAX_PARCELS = 256;\n}\n",
    "src/Handler/StackHandler.php": "<?php\nclass StackHandler {\n    const MAX_PARCELS = 8;\n}\n",
    "src/Formatter/StackFormatter.php": (
        "<?php\nclass StackFormatter {\n    public function __construct(int $maxStackLevel = 3) {\n"
        "    }\n}\n"
    ),
    "src/marks.clj": (
        '(ns marks)\n\n(def ^:private parcel-mark\n  "The mark."\n  #"[a-f]{4}")\n\n(def weigh-all (fn [x] x))\n'
    ),
    "lib/scale.ex": (
        "defmodule Scale do\n  @heavy_limit 12\n\n  def top do\n    max_weight = 1 <<< 53\n    max_weight\n  end\nend\n"
    ),
    "lib/twice.ex": (
        "defmodule Twice do\n  def a do\n    twice_set = 1\n  end\n\n  def b do\n    twice_set = 2\n  end\nend\n"
    ),
    "src/levels.rs": 'static LEVEL_NAMES: [&str; 2] = ["LOW", "HIGH"];\n\npub fn load_parcels() {}\n',
}  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("parcels")
    RepositoryBuilder(root / "parcels").commit(FILES, "Add parcels")
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


def headline(engine: LocalEngine, question: str) -> str:
    """The text of an answer before its first section."""
    return research(engine, question).text.split("\n## ")[0]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What is MAX_PARCELS in the queue handler?", "`MAX_PARCELS` is set to `256`, in `src/Handler/QueueH"),
        ("What is MAX_PARCELS in StackHandler.php?", "`MAX_PARCELS` is set to `8`, in `src/Handler/StackHandler.php`"),
        ("What's the default max stack level of the stack formatter?", "The default of `maxStackLevel` of `Stack"),
        ("What is parcel-mark set to?", '`parcel-mark` is set to `#"[a-f]{4}"`, in `src/marks.clj`, line 3'),
        ("What is heavy_limit set to?", "`heavy_limit` is set to `12`, in `lib/scale.ex`, line 2"),
        ("What is max_weight set to in the scale?", "`max_weight` is set to `1 <<< 53`, in `lib/scale.ex`, line 5"),
        ("What does LEVEL_NAMES contain?", '`LEVEL_NAMES` is set to `["LOW", "HIGH"]`, in `src/levels.rs`, line 1'),
        ("How does it rotate parcels?", "No direct answer found"),
    ],
)  # fmt: skip
def test_a_value_is_found_in_its_scope(engine: LocalEngine, question: str, sentence: str) -> None:
    assert headline(engine, question).startswith(sentence)


@pytest.mark.parametrize(
    "question",
    [
        # No such class, two assignments, a scope without the name, a function.
        "What is MAX_PARCELS in the heap handler?",
        "What is twice_set set to?",
        "What is max_weight set to in the formatter?",
        "What is weigh-all set to?",
        "What's the default max heap level of the stack formatter?",
    ],
)
def test_a_value_of_something_else_is_not_stated(engine: LocalEngine, question: str) -> None:
    text = headline(engine, question)
    assert " is set to " not in text
    assert "The default of" not in text


def test_a_verb_that_occurs_is_not_called_absent(engine: LocalEngine) -> None:
    assert "No searched file" not in headline(engine, "How does it load parcels?")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(def a 1)", "1"),
        ('(def a "doc" 2)', "2"),
        ("(def a\n  ; half\n  [1 2\n   3])", "[1 2 3]"),
        (r"(def a \))", r"\)"),
        ('(def a "x\\")")', '"x\\")"'),
        ("(def a (fn [x] x))", None),
        ("(def a 1 2)", None),
        ("(def ab 1)", None),
        ("(def a (1", None),
        ('(def a "never ends', None),
        ("(def a" + " (" * 3_000, None),
    ],
)
def test_values_of_lisp(text: str, value: str | None) -> None:
    source_value = lisp_value(text.split("\n"), "a", 1)
    assert (None if source_value is None else source_value.text) == value


def test_an_example_in_a_docstring_has_no_value() -> None:
    lines = ["(defn b", '  "Like this: \\"x\\"', "(def a 1)", '" [x] x)', '; don"t', "(def a 2)"]
    assert lisp_value(lines, "a", 3) is None
    source_value = lisp_value(lines, "a", 6)
    assert source_value is not None
    assert source_value.text == "2"


def test_values_of_attributes_and_arrays() -> None:
    attribute = attribute_value(["  @a %{b: 1}"], "a", 1, "x.ex")
    assert attribute is not None
    assert attribute.text == "%{b: 1}"
    assert attribute_value(["  @ab 1"], "a", 1, "x.ex") is None
    array = value_of(["static A: [u8; 2] = [1, 2];"], "A", 1, "x.rs")
    assert array is not None
    assert array.text == "[1, 2]"
    # The semicolon ends a statement: the value is that of another name.
    assert value_of(["A; B = 2;"], "A", 1, "x.rs") is None


ALIASES = [
    ("a.hpp", "using grain_map = std::map<int, Grain>;", "std::map<int, Grain>"),
    ("a.ts", "export type GrainMap = Map<string, Grain>;", "Map<string, Grain>"),
    ("a.rs", "pub type GrainMap = HashMap<u8, Grain>;", "HashMap<u8, Grain>"),
    ("a.kt", "typealias GrainMap = Map<String, Int>", "Map<String, Int>"),
]
OPEN_ALIASES = [
    ("a.ts", "export type GrainMap =\n  | One\n  | Two;"),
    ("a.ts", "export type GrainMap = One\n  | Two;"),
    ("a.ts", "export type GrainMap = { one: string };"),
    ("a.kt", "typealias GrainMap = Map<String,\n    Int>"),
    ("a.hpp", "#ifdef A\nusing grain_map = std::map<int, Grain>;\n#else\nusing grain_map = int;\n#endif"),
]


def _say(tmp_path: Path, path: str, text: str) -> str:
    repo = RepositoryBuilder(tmp_path / "mill")
    repo.commit({f"src/{path}": f"{text}\n"}, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    name = "grain_map" if path.endswith("hpp") else "GrainMap"
    return research(engine, f"What is {name}?").text.split("\n\n")[0]


@pytest.mark.parametrize(("path", "text", "aliased"), ALIASES)
def test_an_alias_of_one_line_is_said(tmp_path: Path, path: str, text: str, aliased: str) -> None:
    assert f"`{aliased}`" in _say(tmp_path, path, text)


@pytest.mark.parametrize(("path", "text"), OPEN_ALIASES)
def test_half_of_an_alias_is_not_said(tmp_path: Path, path: str, text: str) -> None:
    assert "it stands for" not in _say(tmp_path, path, text)


@pytest.mark.parametrize("question", ["Where is grind defined?", "Where is Mill.grind defined?"])
def test_many_clauses_of_a_function_are_read_once(tmp_path: Path, question: str) -> None:
    """The lines above each clause were read again for each of them: 9 and 33 seconds for 1,500 clauses."""
    repo = RepositoryBuilder(tmp_path / "mill")
    clauses = "".join(f"  def grind({number}) do\n    {number}\n  end\n" for number in range(1_500))
    repo.commit({"lib/mill.ex": f"defmodule Mill do\n{clauses}end\n"}, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    started_s = time.process_time()
    assert "line 2" in research(engine, question).text.split("\n\n")[0]
    assert time.process_time() - started_s < 5


@pytest.mark.parametrize(
    ("path", "line", "value"),
    [
        ("a.rb", "X = /a#b/", "/a#b/"),
        ("a.rb", "X = /#{LINE}(?!#{a / b}) #/i # note", "/#{LINE}(?!#{a / b}) #/i"),
        ("a.rb", "X = 4 / 2 # half / of", "4 / 2"),
        ("a.rb", "X = 7 % 3 # rest", "7 % 3"),
        ("a.rb", "X = %w[a #b].freeze # note", "%w[a #b].freeze"),
        ("a.rb", "X = text.split(/#/).first", "text.split(/#/).first"),
        ("a.rb", "X = Regexp.union /a #b/, /c/", None),
        ("a.rb", "X = 5#five", "5"),
        ("Rakefile", "X = /a#b/", "/a#b/"),
        ("a.cr", "X = 5 # five", "5"),
        ("a.cr", "X = /a#b/", "/a#b/"),
        ("a.nim", "const X = 5 # five", "5"),
        ("a.pl", "our $X = qr/a#b/;", "qr/a#b/"),
        ("a.pl", "our $X = qr{a#b}x; # note", "qr{a#b}x"),
        ("a.pl", "our $X = q(a #b);", "q(a #b)"),
        ("a.pl", "our $X = qr#a#;", None),
        ("a.pl", "our $X = $text =~ s/a#b/c/r;", None),
        ("a.pl", "our $X = $sizes->{s}; # note", "$sizes->{s}"),
        ("a.sh", "X=a#b", "a#b"),
        ("a.sh", "X=a #b", "a"),
        ("a.sh", "X=${Y##*/} # note", "${Y##*/}"),
        ("a.sh", "X=/usr/lib # a/b", "/usr/lib"),
        ("run", "X=a#b", None),
        ("Makefile", "X = a#b", "a"),
        ("a.js", r"const X = /https?:\/\//i; // note", r"/https?:\/\//i"),
        ("a.js", "const X = a / b; // note/", "a / b"),
        ("a.py", "X = a / b # note/", "a / b"),
        ("a.py", "X = 1#one", "1"),
        ("a.ml", "let X = 0.1 in", "0.1"),
        ("a.ml", "let X = 3 in f x", "3"),
        ("a.ml", 'let X = "x in" in', '"x in"'),
        ("a.ml", "let X = y' in z'", "y'"),
        ("a.ml", "let X = (fun a -> let b = a in b) 1 in", None),
        ("a.ml", "let X = let y = 1 in y in", None),
        ("a.ml", "let X = inner", "inner"),
        ("a.fs", "let X = [for i in 1..3 -> i]", "[for i in 1..3 -> i]"),
    ],
)
def test_a_mark_of_comments_within_a_value_ends_nothing(path: str, line: str, value: str | None) -> None:
    """A value cut at a hash is wrong; where a comment isn't certain, no value is read."""
    read = value_of([line], "$X" if "$X" in line else "X", 1, path)
    assert (None if read is None else read.text) == value


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.js", "(/[" * 30_000),
        ("a.rb", "/\\" * 30_000),
        ("a.rb", "/" + "#{" * 50_000),
        ("a.rb", " /a" * 30_000),
        ("a.rb", "%w(" * 30_000),
        ("a.pl", "q(" * 30_000),
        ("a.pl", "q(" * 450),
        ("a.ml", '"' * 3_000 + " in"),
        ("a.ml", "(* " * 1_300 + " in"),
        ("a.ml", "in( " * 900),
    ],
)
def test_an_endless_literal_costs_little(path: str, text: str) -> None:
    start = time.process_time()
    value_of([f"$X = {text}"], "$X", 1, path)
    assert time.process_time() - start < 1


def test_another_name_of_a_function_is_no_default_of_its_parameter(tmp_path: Path) -> None:
    repository = RepositoryBuilder(tmp_path / "kit")
    head = "let check_cell ?(long=false) ?rand x =\n  ignore long; x\n"
    repository.commit({"a.ml": "let check_cell = Other.check_cell\nlet enabled_mode = true\n", "b.ml": head}, "Start")
    engine = open_engine([repository.path], index=tmp_path / "index", workers=1)
    for name in ("long", "rand", "anchor"):
        assert "is set to" not in headline(engine, f"What's the default of {name} in check_cell?")
    assert "`Other.check_cell`" in headline(engine, "What is check_cell set to?")
    engine.close()
