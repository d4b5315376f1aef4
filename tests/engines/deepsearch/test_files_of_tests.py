"""Counts of test files: by names, or by directories where names say nothing; fixtures and helpers are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.testing import RepositoryBuilder

PYTHON = [
    "tests/test_grain.py", "tests/test_stone.py", "tests/unit/test_sack.py", "tests/__init__.py", "tests/conftest.py",
    "tests/requirements.txt", "tests/data/stone.xml", "tests/fixtures/test_old.py", "tests/millers.py", "mill/grain.py",
    "mill/testing/backend.txt", "test_data.json",
]  # fmt: skip
MOCHA = ["test/grain.js", "test/stone.js", "test/sack/index.js", "test/deno-test.js", "test/README.md", "lib/grain.js"]
SHARP = ["test/Mill.Tests/GrainTests.cs", "test/Mill.Tests/Some.cs", "test/Mill.Tests/Sink.cs",
         "test/Mill.Tests/Hook.cs", "test/Mill.Tests/StoneTests.cs", "test/Mill.Tests/SackTests.cs",
         "test/Mill.Tests/Belt.cs"]  # fmt: skip
JAVA = ["src/test/java/TestGrain.java", "src/test/java/StoneTest.java", "src/main/java/TestContext.java"]
GO = ["grain.go", "grain_test.go", "testdata/stone_test.go", "tests/helper.go"]
VENDORED = ["test/grain_test.cpp", "test/googletest-1.16/test/gtest_test.cpp", "test/main.cpp"]


@pytest.mark.parametrize(
    ("paths", "question", "beginning"),
    [
        (
            PYTHON,
            "How many test files are there?",
            "**3** files are named like tests, and 1 more is a file of code in directories of tests.",
        ),
        (
            PYTHON,
            "How many Python test files are in tests/unit?",
            "**1** Python file in `tests/unit/` is named like tests.",
        ),
        (PYTHON, "How many files are in the tests directory?", "**9** files in `tests/`."),
        (
            MOCHA,
            "How many test files does it have?",
            "**4** files of code in directories of tests, 1 of them named like tests.",
        ),
        (
            SHARP,
            "How many test files are there?",
            "**3** files are named like tests, and 4 more are files of code in directories of tests.",
        ),
        (JAVA, "How many Java test files are there?", "**2** Java files are named like tests."),
        (GO, "How many test files are there?", "**1** file is named like tests."),
        (
            VENDORED,
            "How many test files are there?",
            "**1** file is named like tests, and 1 more is a file of code in directories of tests.",
        ),
    ],
)
def test_test_files_are_counted_by_a_stated_rule(
    tmp_path: Path, paths: list[str], question: str, beginning: str
) -> None:
    """What helps tests, and data that looks like code, are counted beside them or not at all."""
    RepositoryBuilder(tmp_path / "mill").commit(dict.fromkeys(paths, "\n"), "Add the mill")
    engine = open_engine([tmp_path / "mill"], index=tmp_path / "index", workers=1)
    assert lead_of(engine, question).startswith(beginning), lead_of(engine, question)
