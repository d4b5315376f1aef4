"""Counts that a grammar or a custom alone gets wrong: macros in heads, tests of no known form, dependencies."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.source.class_heads import read_class_heads, read_derivation
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

HEADER = """#define TREE_API __attribute__((visibility("default")))
class Leaf;
class Root;

/** class Ghost : public Node { } is an example. */
class TREE_API Node
{
    friend class Leaf;
    struct Inner { int x; };
};

class TREE_API Leaf : public Node
{
    enum class Color { RED, GREEN };
};

class TREE_API Root final : public virtual Node {
};

template <class T, int N>
class Pool
{
    class Guard {
    };
};

class TREE_API Printer : public Visitor
{
};
"""
CHECKS = """#include "tree.h"
#define CHECK_TEST(x) if (!(x)) fail();

class Probe : public Visitor {
};

int main() {
    CHECK_TEST(1 == 1);
    return 0;
}
"""
PAGE = '<a href="tree.html">class Node</a>, see #{Node} <b>class {{Leaf}} : Node</b>\n'
SHAPE = "<?php\n\nabstract class Square implements Shape\n{\n}\n"
FACTORY = """<?php
class Factory
{
    /** @param class-string<Shape> $shape */
    /**
     * @param class-string<Shape> $shape
     */
    public function make(string $shape)
    {
        return new $shape();
    }
}
"""
SIGN = "macro_rules! sign {\n    ($name:ident) => {\n        impl Signer for $name {}\n    };\n}\npub trait Signer {}\n"


def engine_of(folder: Path, files: dict[str | bytes, str | bytes | None], name: str = "tree") -> LocalEngine:
    repo = RepositoryBuilder(folder / name)
    repo.commit(files, "Add it")
    return open_engine([repo.path], index=folder / "index", workers=1)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    files: dict[str | bytes, str | bytes | None] = {
        "tree.h": HEADER,
        "check.cpp": CHECKS,
        "docs/tree.html": PAGE,
        "src/Square.php": SHAPE,
        "src/Factory.php": FACTORY,
    }
    return engine_of(tmp_path_factory.mktemp("tree"), files)


def lead_of(engine: LocalEngine, question: str) -> str:
    return research(engine, question).text.split("\n\n")[0]


def test_a_macro_is_no_name_of_a_class(tree: LocalEngine) -> None:
    assert (
        lead_of(tree, "how many classes derive from Node")
        == "**2** classes name `Node` as a base in their declarations."
    )
    lead = lead_of(tree, "which class derives from Visitor")
    assert "`Printer`" in lead
    assert "`Probe`" in lead
    assert "TREE_API" not in lead


def test_comments_and_documents_are_no_macros(tree: LocalEngine) -> None:
    lead = lead_of(tree, "how many classes implement Shape")
    assert lead == "**1** class names `Shape` as a base in its declaration."


def test_a_macro_of_rust_is_said(tmp_path: Path) -> None:
    engine = engine_of(
        tmp_path, {"src/sign.rs": f"{SIGN}struct Pen;\nimpl Signer for Pen {{}}\n// class $x : Signer\n"}
    )
    lead = lead_of(engine, "how many types implement Signer")
    assert "1 more line does so in a macro or a template" in lead
    assert "`src/sign.rs`, line 3" in lead


def test_classes_with_a_macro_count_as_a_least_number(tree: LocalEngine) -> None:
    answer = research(tree, "how many classes are declared in tree.h")
    assert answer.text.startswith("At least **6** classes are defined in `tree.h`."), answer.text[:300]
    assert "The count covers everything" not in answer.text
    assert answer.finished.stats["complete"] is False


def test_classes_of_which_both_counts_know_are_complete(tmp_path: Path) -> None:
    header = (
        "class Ahead;\nclass First {\n  friend class Ahead;\n};\nenum class Color { RED };\nclass Last : First {\n};\n"
    )
    engine = engine_of(tmp_path, {"first.hpp": header})
    text = research(engine, "how many classes are defined in first.hpp").text
    assert text.startswith("**2** classes are defined in `first.hpp`."), text[:300]
    assert "The count covers everything" in text


def test_heads_are_read_by_their_words() -> None:
    heads = read_class_heads([*HEADER.split("\n"), "struct Point origin{1, 2};", 'char text[] = "class Quoted {";'])
    assert [(head.name, head.has_macro) for head in heads] == [
        ("Node", True),
        ("Inner", False),
        ("Leaf", True),
        ("Root", True),
        ("Pool", False),
        ("Guard", False),
        ("Printer", True),
    ]


def test_no_test_of_a_known_form_is_no_zero(tree: LocalEngine, tmp_path: Path) -> None:
    text = research(tree, "how many unit tests are there").text
    assert text.startswith("No test of a known form was found in 5 files, but `check.cpp` has a test name"), text
    assert "The count covers everything" not in text
    engine = engine_of(tmp_path, {"latest.c": "int latest(void) { return 1; }\n"})
    assert lead_of(engine, "how many tests are there").startswith("**0** tests are defined")


def test_tests_of_another_form_beside_known_ones_make_a_least_number(tmp_path: Path) -> None:
    files: dict[str | bytes, str | bytes | None] = {
        "tests/test_a.py": "def test_one():\n    pass\n",
        "tests/run.cpp": "int main() { return 0; }\n",
    }
    assert lead_of(engine_of(tmp_path, files), "how many tests are there").startswith("At least **1** test is defined")


def test_a_function_within_a_test_is_no_test(tmp_path: Path) -> None:
    text = (
        "def test_one():\n    def test(value):\n        return value\n    assert test(1)\n\n\n"
        "class TestMore:\n    def test_two(self):\n        def test_inner():\n            pass\n"
    )
    answer = research(engine_of(tmp_path, {"tests/test_queries.py": text}), "how many tests are there").text
    assert answer.startswith("**2** tests are defined"), answer


@pytest.mark.parametrize("question", ["how many dependencies does brook have", "how many dependencies are there"])
def test_dependencies_are_those_of_the_manifest(tmp_path: Path, question: str) -> None:
    cargo = (
        '[package]\nname = "brook"\n\n[dependencies]\nserde = "1"\nrand = "0.8"\n\n[dev-dependencies]\ninsta = "1"\n'
    )
    source = "use std::io;\nuse serde::Serialize;\nuse std::fs;\nuse rand::random;\n"
    engine = engine_of(tmp_path, {"Cargo.toml": cargo, "src/lib.rs": source}, "brook")
    lead = lead_of(engine, question)
    assert lead.startswith("`Cargo.toml` lists 2 dependencies: `serde` and `rand`; 1 more is listed for dev"), lead


def test_imports_are_no_dependencies(tmp_path: Path) -> None:
    engine = engine_of(tmp_path, {"a.py": "import os\nimport requests\n"})
    for question in ("how many dependencies does it have", "how many dependencies does the project have"):
        text = research(engine, question).text
        assert "imported" not in text
        assert text.startswith("Dependencies can't be counted here"), text


@pytest.mark.parametrize(
    "text",
    ["class A: " * 100_000, "class A<" * 4_900, "class " * 100_000, 'R"x(' * 4_900, "class A(" + "(a)" * 100_000],
)
def test_hostile_heads_are_read_in_bounded_time(text: str) -> None:
    started = time.process_time()
    assert read_class_heads([text]) == []
    read_derivation(text)
    assert time.process_time() - started < 3.0


def test_tests_of_lua_are_the_examples_of_its_specs(tmp_path: Path) -> None:
    examples = "  it('grinds', function() end)\n  it('sifts', function() end)\n  -- it('rests')\n"
    RepositoryBuilder(tmp_path / "mill").commit(
        {"spec/mill_spec.lua": f"describe('a', function()\n{examples}end)\n", "mill.lua": "it('is no test')\n"},
        "Add a mill",
    )
    engine = open_engine([tmp_path], index=tmp_path / "index", workers=1)
    try:
        assert research(engine, "How many tests are in mill_spec.lua?").text.startswith("**2** tests are defined")
    finally:
        engine.close()


def test_tests_of_phpunit_are_marked_or_named_and_count_once(tmp_path: Path) -> None:
    text = """<?php
class MillTest extends TestCase
{
    public function testTurns(): void {}
    #[Test]
    public function stops(): void {}
    #[PHPUnit\\Test]
    #[DataProvider('wheels')]
    public function lifts(string $name): void {}
    /** @test */
    public function drops(): void {}
    /**
     * A description.
     *
     * @test
     */
    public function testRaises(): void {}
    public static function wheels(): array { return array_map(function ($x) { return $x; }, []); }
    #[TestDox('no mark')]
    private function helper(): void {}
}
"""
    builder = RepositoryBuilder(tmp_path / "mill")
    builder.commit(
        {"tests/MillTest.php": text, "src/Mill.php": "<?php\n/** @test */\nfunction testing() {}\n"}, "begin"
    )
    engine = open_engine([builder.path], index=tmp_path / "index", workers=1)
    answer = research(engine, "How many tests are there?")
    assert answer.text.startswith("**5** tests are defined: methods named test… or below #[Test] or @test, ")
    engine.close()


GRAIN = """#define GRAIN_FN
GRAIN_FN basket<husk> Grain::husks() const
{
    return 1;
}
int Grain::weigh() {
    return measure(1);
}
int Sack::weigh() {
    return measure(2);
}
int measure(int x) {
    return x;
}
"""


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    files: dict[str | bytes, str | bytes | None] = {
        "tests/test_grain.cpp": "TEST(husk) {\n}\nTEST_XML(straw, 1) {\n}\n",
        "tests/test_sack.cpp": 'TEST(seam) {\n}\nTEST_SUITE("sacks");\n  CHECK_TRUE(1);\n',
        "tests/test_stone.cpp": "TEST_XML(groove, 1) {\n}\n",
        "test/oven.js": "test('warm', () => {});\ntestAsync('hot', async () => {});\nitsWarm('x');\n",
        "test/tray.js": "test('flat', () => {});\n  // testAsync('no', 1)\n",
        "src/Steam.java": "class Steam {\n  Steam(int heat) {}\n  static void vent(int pressure) {}\n}\n",
        "src/Kettle.java": "class Kettle {\n  void boil() {\n    Steam.vent(1);\n  }\n}\n",
        "test/SteamTest.scala": "class SteamTest {\n  Steam.vent(2)\n}\n",
        "src/grain.cpp": GRAIN,
        "src/Colors.php": (
            "<?php\nclass Colors {\n  const RED = 1;\n  const BLUE = 2;\n}\nclass Gone { const X = 1; }\n"
        ),
    }
    return engine_of(tmp_path_factory.mktemp("mill"), files, "mill")


def test_macros_that_may_define_tests_make_a_number_a_least_one(mill: LocalEngine) -> None:
    assert lead_of(mill, "How many tests are in test_grain.cpp?").startswith("At least **1** test is defined")
    assert lead_of(mill, "How many tests are in test_sack.cpp?").startswith("**1** test is defined")
    assert "**0**" not in lead_of(mill, "How many tests are in test_stone.cpp?")


def test_wrappers_of_tests_make_a_number_a_least_one(mill: LocalEngine) -> None:
    assert lead_of(mill, "How many tests are in test/oven.js?").startswith("At least **1** test is defined")
    assert lead_of(mill, "How many tests are in test/tray.js?").startswith("**1** test is defined")


@pytest.mark.parametrize("name", ["heat in Steam", "pressure in vent"])
def test_a_head_without_values_proves_no_absent_default(mill: LocalEngine, name: str) -> None:
    """Java has no values in heads, so a factory or a builder may give one."""
    assert "has no default" not in lead_of(mill, f"What's the default of {name}?")


def test_calls_in_tests_of_another_language_are_said_to_be_left_out(mill: LocalEngine) -> None:
    lead = lead_of(mill, "What calls Steam.vent?")
    assert "`boil` (1 call in 1 file outside of tests and examples)" in lead


def test_constants_of_a_class_are_counted(mill: LocalEngine) -> None:
    # Files of C++ with macros may hide constants from a grammar.
    assert lead_of(mill, "How many constants does `Colors` define?") == (
        "At least **2** constants of `Colors` are defined."
    )


def test_a_type_of_a_result_is_no_owner(mill: LocalEngine) -> None:
    lead = lead_of(mill, "Where is `husks` defined?")
    assert lead.startswith("`husks` is defined in `src/grain.cpp`, line 2")
    assert "basket" not in lead


def test_callers_of_one_name_are_told_apart(mill: LocalEngine) -> None:
    lead = lead_of(mill, "Which functions call `measure`?")
    assert "`Grain::weigh` and `Sack::weigh`" in lead
