"""Counts of the entries of files of data, of lines with a form, and of files that a question describes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FILES = {
    "grains.json": '{"grains": {"Rye": {"size": 1}, "Oat": {"sieves": [1, 2]}, "Spelt": {}}, "x": {"sieves": [1]}}\n',
    "broken.json": '{"grains": {"Rye": 1,\n',
    "mill.toml": "[gates]\nnorth = 1\nsouth = 2\n\n[[wheels]]\nsize = 1\n\n[[wheels]]\nsize = 2\n",
    ".github/workflows/ci.yml": (
        "on: push\njobs:\n  # first\n  grind:\n    steps:\n      - run: |\n          jobs: none\n      - uses: x\n"
        "\n  sift:\n    steps:\n      - run: y\nenv:\n  A: 1\n"
    ),
    "src/codes.lisp": (
        "(defmacro def-code (name) `(list ,name))\n(def-code +a+ 1)\n(def-code +b+ 2)\n; (def-code +c+ 3)\n"
        "(def-code-more +d+ 4)\n(defgeneric grind (x))\n(defgeneric sift (x))\n(defmethod grind ((x rye)) 1)\n"
    ),
    "lib/org/mill/gate/A.java": "class A {}\n",
    "lib/org/mill/gate/deep/B.java": "class B {}\n",
    "roles/gate/tasks/main.yml": "- debug:\n",
    "roles/gate/tasks/open.yml": "- debug:\n",
    "roles/sluice/tasks/main.yml": "- debug:\n",
    "spec/grain_parser_spec.rb": 'describe "x" do\n  it "a" do\n  end\n  it "b" do\n  end\nend\n',
    "Tests/GateTests.m": "- (void)testGate {}\n",
    "Tests/WheelTests.m": "- (void)testWheel {}\n",
    "Tests/Helper.m": "int x;\n",
    "src/gate.nim": "template halt*(x: int) =\n  x\n\ntemplate halt*() =\n  halt(1)\n\ntemplate go*() =\n  run()\n",
    "options.txt": "--add=a\n--add=b\n --add=c\n--set=d\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("entries")
    RepositoryBuilder(root / "mill").commit(FILES, "Start")
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("How many grains are in grains.json?", "**3** keys are directly in `grains` of `grains.json`."),
        ("how many gates does mill.toml have?", "**2** keys are directly in `gates` of `mill.toml`."),
        ("How many wheels are listed in mill.toml?", "**2** entries are directly in `wheels` of `mill.toml`."),
        ("How many jobs are in ci.yml?", "**2** keys are directly in `jobs` of `.github/workflows/ci.yml`."),
        ("how many codes are defined with def-code?", "**2** lines in `src/codes.lisp` begin with `def-code`, after"),
        ("How many generic functions are declared in codes.lisp?", "**2** generic functions are defined in"),
        ("How many lines in options.txt start with --add?", "**2** lines in `options.txt` begin with `--add`."),
        ("How many Java files are directly in lib/org/mill/gate?", "**1** Java file in `lib/org/mill/gate/*`."),
        ("How many Java files are in the org.mill.gate package?", "**1** Java file in `lib/org/mill/gate/*`."),
        (
            "How many methods are defined with defmethod in codes.lisp?",
            "**1** line in `src/codes.lisp` begins with `def",
        ),
        ("How many test files are directly in Tests?", "**2** files in `Tests/*`"),
        ("How many tests does the grain parser spec have?", "**2** tests are defined in `spec/grain_parser_spec.rb`"),
        ("How many lines in options.txt start with --a?", "**2** lines in `options.txt` begin with `--a`."),
        ("How many halt templates does gate.nim define?", "**2** templates called `halt` are defined in `**/gate.nim`"),
        ("How many roles ship with mill?", "**2** directories"),
        ("How many task files does the gate role have?", "**2** files in `roles/gate/tasks/`."),
        ("How many examples are in the grain parser spec?", "**2** tests are defined in `spec/grain_parser_spec.rb`"),
        ("How many XCTest files with names ending in Tests.m are there?", "**2** files in `**/*Tests.m`."),
    ],
)
def test_a_count_names_what_it_counts(engine: LocalEngine, question: str, sentence: str) -> None:
    assert research(engine, question).text.startswith(sentence)


@pytest.mark.parametrize(
    "question",
    [
        "How many sieves are in grains.json?",
        "How many steps are in ci.yml?",
        "How many grains are in broken.json?",
        "How many mills are in mill.toml and grains.json?",
        "How many task files does the wheel role have?",
    ],
)
def test_what_may_be_another_thing_is_not_counted(engine: LocalEngine, question: str) -> None:
    assert not research(engine, question).text.startswith("**")
