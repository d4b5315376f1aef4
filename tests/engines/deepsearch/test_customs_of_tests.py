"""Tests are found by the customs of their language: the forms of lines, the directories and the names of files."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import engine_for, lead_of
from sourcelight.core.query.file_kinds import is_test
from sourcelight.engines.deepsearch.source.test_customs import TEST_CUSTOMS, keep_tests

KOTLIN = """class MillTest {
    @[Test JsName("turns")]
    fun turns() {}
    @Test
    fun stops() {}
    @[JsName("lifts") Test]
    fun lifts() {}
    @[Ignore JsName("a Test of nothing")]
    fun helper() {}
    @kotlin.test.Test fun drops() = list[0]
    @TestOnly
    fun only() {}
}
"""
CSHARP = """class MillTests {
    [TestCase(1)]
    [TestCase(2)]
    public void Turns(int x) {}
    [Category("slow"), Xunit.Fact]
    public void Stops() {}
    [Property("Test", 1)] [Test, Order(1)]
    public void Lifts() {}
    [TestInitialize]
    public void Helper() {}
}
"""
FSHARP = """module MillTests
[<Literal>]
let Test = 1
[<Fact; Trait("a", "b")>]
let turns () = ()
let tests = testList "mill" [
    testCase "stops" <| fun _ -> ()
]
"""
RUST = """#[cfg(test)]
mod tests {
    #[tokio::test(flavor = "current_thread")]
    async fn turns() {}
    #[cfg_attr(not(miri), test)]
    fn stops() {}
    #[cfg_attr(all(unix, test), derive(Debug))]
    struct Helper;
    #[ignore] #[test]
    fn lifts() {}
}
"""


@pytest.mark.parametrize(
    ("path", "text", "lead"),
    [
        ("MillTest.kt", KOTLIN, "**4** tests are defined in `MillTest.kt`: lines with the annotation Test."),
        (
            "MillTests.cs",
            CSHARP,
            "**3** tests are defined in `MillTests.cs`: lines with the attribute Fact, Test or TestCase.",
        ),
        ("MillTests.fs", FSHARP, "**2** tests are defined in `MillTests.fs`: lines with Fact or testCase."),
        ("mill.rs", RUST, "**3** tests are defined in `mill.rs`: lines with the attribute test or tokio::test."),
        (
            "mill.cpp",
            'TEST_CASE("turns") {}\n#define TEST(x)\nTEST_CASE_METHOD(Mill, "stops") {}\n',
            "**2** tests are defined in `mill.cpp`: lines that begin with TEST_CASE or TEST_CASE_METHOD.",
        ),
    ],
)
def test_a_number_of_tests_names_the_forms_that_lines_have(tmp_path: Path, path: str, text: str, lead: str) -> None:
    engine = engine_for(tmp_path, {path: text})
    assert lead_of(engine, f"How many tests are in {path}?").startswith(lead)


def test_only_attributes_above_a_test_are_further_ones() -> None:
    lines = ["@Test fun a() = list[0]", "@Test(x) fun b()", "@Test", "@ParameterizedTest"]
    rows = [
        {"repository": "mill", "path": "A.kt", "line_number": number, "line": line}
        for number, line in enumerate(lines, 1)
    ]
    assert [row["line_number"] for row in keep_tests("Kotlin", rows)] == [1, 2, 3]


def test_a_test_file_is_found_by_its_directory_or_by_its_name(tmp_path: Path) -> None:
    files: dict[str | bytes, str | bytes | None] = {
        "lib/Mill/Wheel.pm": "package Mill::Wheel;\nsub turn { 1 }\n1;\n",
        "t/wheel.t": "use Mill::Wheel;\nmy $wheel = Mill::Wheel->new;\nis $wheel->turn, 1;\n",
        "src/UrlParser.php": "<?php\nclass UrlParser {}\nclass UrlParserFactory {}\nclass Sack {}\n",
        "tests/UrlParserTest.php": "<?php\nclass ParsesUrls {}\n",
        "tests/UrlParserFactoryTest.php": "<?php\nclass Makes {}\n",
    }
    engine = engine_for(tmp_path, files)
    assert "`t/wheel.t`" in lead_of(engine, "Which test file covers Mill::Wheel?")
    assert lead_of(engine, "Which test covers UrlParser?").startswith(
        "`tests/UrlParserTest.php` is named like a test of `UrlParser`"
    )
    assert lead_of(engine, "Which test covers Sack?").startswith("No searched test file has the name `Sack`")


def test_a_test_file_of_a_public_name_is_no_test_of_the_private_one(tmp_path: Path) -> None:
    """In toolz, ``bench/test_get.py`` is about `get`, not about `_get`."""
    files: dict[str | bytes, str | bytes | None] = {
        "mill.py": "def turn():\n    return _turn()\n\n\ndef _turn():\n    return 1\n\n\ndef _stop():\n    return 2\n",
        "tests/test_turn.py": "from mill import turn\n\n\ndef test_turning():\n    assert turn() == 1\n",
        "tests/test_stop.py": "from mill import turn\n\n\ndef test_stopping():\n    assert turn() == 1\n",
    }
    engine = engine_for(tmp_path, files)
    assert lead_of(engine, "Which tests cover _turn?").startswith("No searched test file has the name `_turn`")
    assert lead_of(engine, "Which tests cover _stop?").startswith(
        "`tests/test_stop.py` is named like a test of `_stop`"
    )


def test_methods_in_a_directory_of_tests_are_tests_whatever_their_file_is_named(tmp_path: Path) -> None:
    """In peewee, 70 are in ``tests/postgres.py``; its runner names the modules."""
    case = "class TestMill(Base):\n    def test_turns(self):\n        pass\n\n    def test_stops(self):\n        pass\n"
    helper = "def test_client():\n    return None\n"
    engine = engine_for(
        tmp_path,
        {
            "tests/mill.py": case,
            "tests/unit/wind.py": case.replace("Mill", "Wind"),
            "tests/helpers.py": helper,
            "mill/contests/case.py": case.replace("Mill", "Contest"),
        },
    )

    assert lead_of(engine, "How many tests are in tests/mill.py?").startswith("**2** tests are defined")
    assert lead_of(engine, "How many tests are there?").startswith("**4** tests are defined")


def test_without_any_test_file_no_absence_is_stated(tmp_path: Path) -> None:
    engine = engine_for(tmp_path, {"mill.py": "class Wheel:\n    pass\n"})
    assert "No searched test file" not in lead_of(engine, "Which test covers Wheel?")


def test_a_member_of_a_variable_is_no_test(tmp_path: Path) -> None:
    lines = [
        "it('turns', function (done) {", "  test.write('a')", "  test.expect(200, done)", "test.only('stops', f)",
        "test.each([1, 2])('lifts %d', f)", "test.describe('mill', f)", "it.skip.each(rows)('drops', f)",
    ]  # fmt: skip
    engine = engine_for(tmp_path, {"test/mill.js": "\n".join(lines)})
    assert lead_of(engine, "How many tests are in test/mill.js?").startswith("**4** tests are defined")


@pytest.mark.parametrize(
    "part", ["@a ", "@[a ", "@a(", '@["', "#[", "#[a]", "[a,", "[a.", '["', "[aTest", "[<a(", " ", "a/T"]
)
def test_hostile_lines_and_paths_take_linear_time(part: str) -> None:
    text = part * (30_000 // len(part)) + "x"
    began_at = time.process_time()
    is_test(text)
    keep_tests("C#", [{"repository": "", "path": "", "line_number": 1, "line": text}])
    for custom in TEST_CUSTOMS:
        custom.describe([text])

    assert time.process_time() - began_at < 2
