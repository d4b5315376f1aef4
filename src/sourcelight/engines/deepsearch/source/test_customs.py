"""The customs by which tests are told from other code within a file: the forms of their lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.core.markup import join_words

_MAX_FORM = 300
"""Characters of a line in which its form is looked for."""


@dataclass(frozen=True, slots=True)
class Custom:
    """A custom by which the tests of a language are found.

    Attributes
    ----------
    language
        The name of the language.
    search
        A query for the lines or definitions that are tests.
    rule
        The rule in words; with `form`, only its beginning.
    form
        The part of such a line that the rule names, as its first group. None if the rule says all.
    """

    language: str
    search: str
    rule: str
    form: re.Pattern[str] | None = None

    def describe(self, lines: Iterable[str]) -> str:
        """Write the rule for the tests that were found: a form that no line has would be a false reason."""
        if self.form is None:
            return self.rule

        matches = (self.form.search(line[:_MAX_FORM]) for line in lines)
        forms = {match[match.lastindex or 0] for match in matches if match is not None}
        return f"{self.rule} {join_words(sorted(forms), 'or')}"


_ARGUMENTS = r"(?:\((?:[^()\"\n]|\"[^\"\n]*\")*\))?"
_JUNIT_TEST = r"(?:[\w.]*\.)?(?:Test(?:Factory|Template)?|ParameterizedTest|RepeatedTest)\b"
_JUNIT = (
    # Behind others on its line, or, in Kotlin, within a list of annotations: `@[Test JsName("x")]`.
    rf"^[ \t]*(?:@[\w.]+{_ARGUMENTS}[ \t]+)*"
    rf"@(?:\[[ \t]*(?:[\w.]+{_ARGUMENTS}[ \t,]+)*)?{_JUNIT_TEST}"
)
_RUST_TEST = (
    r"^[ \t]*(?:#\[[^\[\]\n]*\][ \t]*)*#\["
    r"(?:(?:\w+::)*(?:test|rstest|proptest|quickcheck|test_case|test_matrix|\w+_test)\b"
    # The attribute that a condition adds is the last word: `#[cfg_attr(all(unix, test), derive(Debug))]` is no test.
    r"|cfg_attr\([^\]\n]*,[ \t]*(?:\w+::)*test\)\])"
)
_NET_NAME = r"\w*(?:Fact|Theory|Test|TestMethod|TestCase|TestCaseSource)"
_NET_TEST = rf"(?:[\w.]*\.)?{_NET_NAME}(?:Attribute)?[ \t]*"
_CSHARP_TEST = (
    r"^[ \t]*(?:\[(?:[^\[\]\"\n]|\"[^\"\n]*\")*\][ \t]*)*"
    rf"\[(?:[ \t]*[\w.:]+{_ARGUMENTS}[ \t]*,)*[ \t]*{_NET_TEST}[\](,]"
)
_FSHARP_TEST = (
    rf"^[ \t]*(?:\[<(?:[ \t]*[\w.:]+{_ARGUMENTS}[ \t]*;)*[ \t]*(?:{_NET_TEST}(?:[(;]|>\])"
    # With a text it is NUnit's, which says something about a test that another attribute marks.
    r"|Property(?:[ \t]*\([A-Za-z]|>\]))"
    r"|(?:\[[ \t]*|yield[ \t]+)?[pf]?test(?:(?:Case)?(?:Async|Task)?|Property|Theory)[ \t]+\")"
)
_CPP_TEST = (
    r"^[ \t]*(?:TEST(?:_[FP])?|TYPED_TEST(?:_P)?|(?:TEMPLATE_)?TEST_CASE(?:_METHOD|_FIXTURE)?|SCENARIO"
    r"|BOOST_(?:AUTO|FIXTURE|DATA)_TEST_CASE)[ \t]*\("
)
_SPOCK_TEST = r"^[ \t]*(?:@\w+[ \t]+)*(?:def|void)[ \t]+[\"'][^\"'\n]"
_HASKELL_TEST = r"^[ \t]*(?:[\[,][ \t]*)?(?:[fx]?(?:it|specify|prop)|test(?:Case(?:Steps)?|Property|Prop))[ \t]+\""
_ELM_TEST = r"^[ \t]*(?:[\[,][ \t]*)?(?:Test\.)?(?:test[ \t]+\"|fuzz(?:With|2|3)?(?:[ \t]+[^ \t:=]|$))"
_OBJECTIVE_C_TEST = r"^[ \t]*(?:-[ \t]*\(void\)[ \t]*test\w*[ \t]*(?:\{|$)|[fx]?it\(@\")"
_SCALA_TEST = (
    r"^[ \t]*(?:@(?:\w+\.)*Test\b|(?:test|property)\(|it\(\""
    # The sentence of a specification ends with `in` and its body; `should {` is a group of them.
    r"|(?:(?:it|they|\"[^\"\n]*\")[ \t]+(?:should|must|can)[ \t]+)?\"[^\"\n]*\"[ \t]+in(?:[ \t]*\{|[ \t]*$))"
)
_KOTEST = r"^[ \t]*[fx]?(?:test|it|should|expect|scenario)\(\""
_NIM_TEST = r"^[ \t]*(?:test|[a-z]+Test)[ \t]+\""
_D_TEST = r"^[ \t]*(?:(?:@\w+|pure|nothrow)[ \t]+)*unittest[ \t]*(?:\{|$|\/[\/*])"
_RUBY_TEST = r"^[ \t]*(?:it|specify|test)[ \t]+[\"']|^[ \t]*def[ \t]+test_"
# Another member, as in `test.write(…)`, is one of a variable that is called so.
_ECMASCRIPT_MEMBER = (
    r"\.(?:only|skip|todo|each|for|fails|failing|concurrent|sequential|serial|parallel"
    r"|shuffle|if|skipIf|runIf|todoIf|prop|cb)\b"
)
_ECMASCRIPT_TEST = rf"^[ \t]*(?:it|test)(?:{_ECMASCRIPT_MEMBER})*(?:\([^()\n]*\))?\("

_ON_LINE = "type:file case:yes"
_PYTHON_FILES = r"file:(^|/)(test_[^/]*|[^/]*_tests?|tests?)\.py$"
# pytest collects functions from files with such names only; unittest runs methods of any module that a project names,
# such as `tests/postgres.py`.
_PYTHON_CASES = r"file:(^|/)(tests?/([^/]+/)*[^/]+|test_[^/]*|[^/]*_tests?|tests?)\.py$"
_ECMASCRIPT = (f"{_ON_LINE} /{_ECMASCRIPT_TEST}/", "lines that begin with", re.compile(r"^[ \t]*(\w+)"))
_ANNOTATION = re.compile(r"\b((?:Parameterized|Repeated)?Test(?:Factory|Template)?)\b")

TEST_CUSTOMS: tuple[Custom, ...] = (
    Custom(
        "Python",
        f"type:symbol case:yes {_PYTHON_FILES} /^test/ select:symbol.function",
        "functions named test… in test files",
    ),
    Custom(
        "Python",
        f"type:symbol case:yes {_PYTHON_CASES} /^test/ select:symbol.method",
        "methods named test… in test files",
    ),
    Custom(
        "Go",
        # The rule of `go help testfunc`: no lower-case letter follows `Test`.
        r"type:symbol case:yes file:_test\.go$ /^Test([^a-z]|$)/ select:symbol.function",
        "functions named Test… in files that end in _test.go",
    ),
    Custom("JavaScript", *_ECMASCRIPT),
    Custom("TypeScript", *_ECMASCRIPT),
    Custom("TSX", *_ECMASCRIPT),
    Custom(
        "CoffeeScript",
        f"{_ON_LINE} /^[ \\t]*(?:it|test)(?:[ \\t]+|\\()[\\\"']/",
        "lines that begin with",
        re.compile(r"^[ \t]*(\w+)"),
    ),
    Custom("Java", f"{_ON_LINE} /{_JUNIT}/", "lines with the annotation", _ANNOTATION),
    Custom("Kotlin", f"{_ON_LINE} /{_JUNIT}/", "lines with the annotation", _ANNOTATION),
    Custom(
        "Kotlin",
        f"{_ON_LINE} file:(Test|Tests|Spec)\\.kt$ /{_KOTEST}/",
        "lines that begin with",
        re.compile(r"^[ \t]*(\w+\()"),
    ),
    Custom("Groovy", f"{_ON_LINE} /{_JUNIT}/", "lines with the annotation", _ANNOTATION),
    Custom("Groovy", f"{_ON_LINE} /{_SPOCK_TEST}/", "methods whose name is a text"),
    Custom(
        "Scala",
        f"{_ON_LINE} /{_SCALA_TEST}/",
        "lines with",
        re.compile(r"^[ \t]*(?:@(?:\w+\.)*(Test)\b|(\w+\()|.*\"[ \t]+(in)\b)"),
    ),
    Custom(
        "Rust",
        f"{_ON_LINE} /{_RUST_TEST}/",
        "lines with the attribute",
        re.compile(r"\b((?:\w+::)*(?:test|rstest|proptest|quickcheck|test_case|test_matrix|\w+_test))\b"),
    ),
    Custom(
        "Ruby",
        f"{_ON_LINE} /{_RUBY_TEST}/",
        "lines that begin with",
        re.compile(r"^[ \t]*(it|specify|test|def test_)"),
    ),
    Custom("Crystal", r"type:file case:yes /^[ \t]*it[ \t]+\"/", "lines that begin with it"),
    Custom("Tcl", r"type:file case:yes /^[ \t]*test[ \t]+[{\"]/", "lines that begin with test"),
    Custom("Shell", r"type:file case:yes /^[ \t]*@test[ \t]/", "lines that begin with @test"),
    Custom(
        "Swift",
        r"type:file case:yes /^[ \t]*(?:@Test\b|(?:@\w+[ \t]+|\w+[ \t]+)*func[ \t]+test\w*[ \t]*\()/",
        "lines with @Test or func test…",
    ),
    Custom("Swift", f'{_ON_LINE} /^[ \\t]*[fx]?it\\(\\"/', "lines that begin with it("),
    Custom(
        "Objective-C",
        f"{_ON_LINE} /{_OBJECTIVE_C_TEST}/",
        "lines with",
        re.compile(r"^[ \t]*(?:-[ \t]*\(void\)[ \t]*(test)|([fx]?it\())"),
    ),
    Custom("Haskell", f"{_ON_LINE} /{_HASKELL_TEST}/", "lines with", re.compile(r"^[ \t]*(?:[\[,][ \t]*)?(\w+)")),
    Custom(
        "Elm",
        f"{_ON_LINE} file:(^|/)tests?/ /{_ELM_TEST}/",
        "lines with",
        re.compile(r"^[ \t]*(?:[\[,][ \t]*)?(?:Test\.)?(\w+)"),
    ),
    Custom(
        "OCaml",
        f"{_ON_LINE} /^[ \\t]*let%(?:expect_)?test(?:_unit)?\\b/",
        "lines that begin with",
        re.compile(r"^[ \t]*(let%\w+)"),
    ),
    Custom(
        "OCaml",
        f'{_ON_LINE} /^[ \\t]*(?:[\\[;][ \\t]*)?test(?:_\\w+)?[ \\t]+\\"/',
        "lines that begin with test and a text",
    ),
    Custom("OCaml", f'{_ON_LINE} /\\"[ \\t]*,[ \\t]*`(?:Quick|Slow)\\b/', "lines with a text and `Quick or `Slow"),
    Custom("OCaml", f'{_ON_LINE} /\\btest_case[ \\t]+\\"/', "lines with test_case and a text"),
    Custom(
        "C#",
        f"{_ON_LINE} /{_CSHARP_TEST}/",
        "lines with the attribute",
        re.compile(rf"[\[,. \t]({_NET_NAME})(?:Attribute)?[ \t]*[\](,]"),
    ),
    Custom(
        "F#",
        f"{_ON_LINE} /{_FSHARP_TEST}/",
        "lines with",
        re.compile(rf"[<;. \t]({_NET_NAME}|Property)(?:Attribute)?[ \t]*(?:[(;]|>\])|([pf]?test\w*)[ \t]+\""),
    ),
    Custom(
        "PHP",
        (
            r"type:file case:yes file:Test\.php$ /^[ \t]*(?:[\w \t]*function[ \t]+\w+[ \t]*\(|#\[(?:\w+\x5c)*Test\b"
            r"|(?:\/\*)?\*+[ \t]*@test\b)/"
        ),
        "methods named test… or below #[Test] or @test, in files that end in Test.php",
    ),
    Custom(
        "Lua",
        r"type:file case:yes file:(_spec|_test|(^|\/)test_[^\/]*|(^|\/)tests?)\.lua$ /^[ \t]*(?:it|test)[ \t]*\(/",
        "lines that begin with it( or test( in files of specs and tests",
    ),
    Custom(
        "Elixir",
        r"type:file case:yes file:_test\.exs$ /^[ \t]*(?:test|property)[ \t]+\"/",
        "lines that begin with test",
    ),
    Custom(
        "Clojure",
        r"type:file case:yes /^[ \t]*\((?:[\w.-]+\/)?deftest-?[ \t]/",
        "lines that begin with (deftest",
    ),
    Custom(
        "PowerShell",
        r"type:file case:no file:\.Tests\.ps1$ /^[ \t]*It[ \t]+(?:-Name[ \t]+)?[\"'$(]/",
        "lines that begin with It in files that end in .Tests.ps1",
    ),
    Custom("Emacs Lisp", r"type:file case:yes /^[ \t]*\(ert-deftest[ \t]/", "lines that begin with (ert-deftest"),
    Custom("R", r"type:file case:yes /^[ \t]*(?:testthat::)?test_that\(/", "lines that begin with test_that("),
    Custom("Julia", r"type:file case:yes /^[ \t]*@testset\b/", "lines that begin with @testset"),
    Custom("Nim", f"{_ON_LINE} /{_NIM_TEST}/", "lines that begin with", re.compile(r"^[ \t]*(\w+)")),
    Custom("Erlang", r"type:file case:yes /^\w+_test_?\(\)[ \t]*->/", "functions named …_test or …_test_"),
    Custom(
        "Dart", r"type:file case:yes file:_test\.dart$ /^[ \t]*(?:test|testWidgets)\(/", "lines that begin with test("
    ),
    Custom("Zig", r"type:file case:yes /^[ \t]*test[ \t]+(?:\"|\w+[ \t]*\{|\{)/", "test blocks"),
    Custom("D", f"{_ON_LINE} /{_D_TEST}/", "unittest blocks"),
    Custom("C", r"type:symbol case:yes /^test_|_test$/ select:symbol.function", "functions named test_… or …_test"),
    Custom("C++", f"{_ON_LINE} /{_CPP_TEST}/", "lines that begin with", re.compile(r"^[ \t]*(\w+)")),
)
"""Each custom by which tests are told from other code."""


_ATTRIBUTES = re.compile(
    r"[ \t]*(?:(?:[#@]?\[(?:[^\[\]]|\[[^\[\]]*\])*\][ \t]*)+"
    r"|(?:@[\w.]+(?:\((?:[^()\"]|\"[^\"]*\"|\([^()]*\))*\))?[ \t]*)+)"
)
"""A line that has only attributes, so that the test is on a line below, where it may have further ones."""
_WITH_ATTRIBUTES = frozenset({"C#", "F#", "Groovy", "Java", "Kotlin", "Rust"})
"""Languages in which an attribute or an annotation marks the function below it as a test."""


def keep_tests(language: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines that are a test each, of those that the search for a custom of a language has found."""
    if language in _WITH_ATTRIBUTES:
        return _without_further_attributes(rows)
    return _tests_of_php(rows) if language == "PHP" else list(rows)


def _without_further_attributes(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one line for each function: the first of its attributes, such as of several `[TestCase]`."""
    above = {
        (row["repository"], row["path"], row["line_number"] + 1)
        for row in rows
        if _ATTRIBUTES.fullmatch(row["line"] or "") is not None
    }
    return [row for row in rows if (row["repository"], row["path"], row["line_number"]) not in above]


_FUNCTION_OF_PHP = re.compile(r"[\w \t]*function[ \t]+(?P<name>\w+)")


def _tests_of_php(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the functions that are tests: by their names, or by a mark above them; one with both counts once."""
    tests = []
    marked_file: tuple[str, str] | None = None
    for row in sorted(rows, key=lambda row: (row["repository"], row["path"], row["line_number"])):
        file = (row["repository"], row["path"])
        function = _FUNCTION_OF_PHP.match((row["line"] or "").strip())
        if function is None:
            marked_file = file
            continue
        if function["name"].startswith("test") or marked_file == file:
            tests.append(row)
        marked_file = None

    return tests


_RUST_MODULE = re.compile(r"(?:pub(?:\([\w ]{1,20}\))?\s+)?mod\s+\w+")


def is_in_test_module(lines: Sequence[str], number: int, path: str) -> bool:
    """Return whether a line (from 1) of a file is in a module of Rust that has tests alone."""
    if not path.endswith(".rs"):
        return False
    for index in range(min(number, len(lines)) - 1, -1, -1):
        line = lines[index][:_MAX_HEAD]
        if line.rstrip() == "}":
            return False
        if line.rstrip().endswith(";") and _RUST_MODULE.match(line) is not None:
            continue  # its lines are in another file
        if (module := _RUST_MODULE.match(line)) is not None:
            is_named = module[0].endswith(("mod tests", "mod test"))
            return is_named or any("cfg(test" in above[:_MAX_HEAD] for above in lines[max(0, index - 3) : index])
    return False


_MAX_HEAD = 200
