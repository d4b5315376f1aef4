r"""The customs by which the tests of each language are found and described.

A custom is a query and a rule. Most queries search lines by a form, by language or framework; a few search the index of
definitions by name. A form is a regular expression in the syntax of a query, which selects lines by the index: `[ \t]`
instead of `\s`, and no look-around. An example stands above each form. An answer about a number of tests states the
rule, so that a reader can judge and repeat the count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sourcelight.core.markup import join_words

_MAX_LINE = 300
"""Characters of a line in which the word that its rule names is looked for."""

# A list of arguments in brackets, in which texts may have brackets: `(timeout = 5, name = "a (b)")`.
_ARGUMENTS = r"(?:\((?:[^()\"\n]|\"[^\"\n]*\")*\))?"

# Annotations and attributes.

# `@Test`, `@org.junit.Test`, `@ParameterizedTest`.
_JUNIT_NAME = r"(?:[\w.]*\.)?(?:Test(?:Factory|Template)?|ParameterizedTest|RepeatedTest)\b"
# `@Test`, behind others on its line, or, in Kotlin, within a list of annotations: `@[Test JsName("x")]`.
JUNIT = (
    rf"^[ \t]*(?:@[\w.]+{_ARGUMENTS}[ \t]+)*"
    rf"@(?:\[[ \t]*(?:[\w.]+{_ARGUMENTS}[ \t,]+)*)?{_JUNIT_NAME}"
)
# `#[test]`, `#[tokio::test]`, `#[rstest]`.
RUST = (
    r"^[ \t]*(?:#\[[^\[\]\n]*\][ \t]*)*#\["
    r"(?:(?:\w+::)*(?:test|rstest|proptest|quickcheck|test_case|test_matrix|\w+_test)\b"
    # The attribute that a condition adds is the last word: `#[cfg_attr(all(unix, test), derive(Debug))]` is no test.
    r"|cfg_attr\([^\]\n]*,[ \t]*(?:\w+::)*test\)\])"
)
# `Fact`, `TestCase`, and names of a project's own: `WindowsFact`.
NET_NAME = r"\w*(?:Fact|Theory|Test|TestMethod|TestCase|TestCaseSource)"
_NET_ATTRIBUTE = rf"(?:[\w.]*\.)?{NET_NAME}(?:Attribute)?[ \t]*"
# `[Fact]`, `[Trait("a", "b"), Theory]`.
CSHARP = (
    r"^[ \t]*(?:\[(?:[^\[\]\"\n]|\"[^\"\n]*\")*\][ \t]*)*"
    rf"\[(?:[ \t]*[\w.:]+{_ARGUMENTS}[ \t]*,)*[ \t]*{_NET_ATTRIBUTE}[\](,]"
)
# `[<Fact>]`, `[<Property>]`, and the calls of Expecto: `testCase "the gate opens"`.
FSHARP = (
    rf"^[ \t]*(?:\[<(?:[ \t]*[\w.:]+{_ARGUMENTS}[ \t]*;)*[ \t]*(?:{_NET_ATTRIBUTE}(?:[(;]|>\])"
    # With a text it is NUnit's, which says something about a test that another attribute marks.
    r"|Property(?:[ \t]*\([A-Za-z]|>\]))"
    r"|(?:\[[ \t]*|yield[ \t]+)?[pf]?test(?:(?:Case)?(?:Async|Task)?|Property|Theory)[ \t]+\")"
)
# `@Test`, and functions named test…: `func testGateOpens() {`.
SWIFT = r"^[ \t]*(?:@Test\b|(?:@\w+[ \t]+|\w+[ \t]+)*func[ \t]+test\w*[ \t]*\()"
# A method, which counts by its name or by a mark above it: `public function testGate(`, `#[Test]`, `* @test`.
PHP = r"^[ \t]*(?:[\w \t]*function[ \t]+\w+[ \t]*\(|#\[(?:\w+\x5c)*Test\b|(?:\/\*)?\*+[ \t]*@test\b)"

# Functions and blocks.

# `def "the gate opens"() {`.
SPOCK = r"^[ \t]*(?:@\w+[ \t]+)*(?:def|void)[ \t]+[\"'][^\"'\n]"
# `- (void)testGateOpens {`, `it(@"opens the gate"`.
OBJECTIVE_C = r"^[ \t]*(?:-[ \t]*\(void\)[ \t]*test\w*[ \t]*(?:\{|$)|[fx]?it\(@\")"
# `gate_test() ->`, `gate_test_() ->`.
ERLANG = r"^\w+_test_?\(\)[ \t]*->"
# `unittest {`, `@safe pure unittest // gates`.
D = r"^[ \t]*(?:(?:@\w+|pure|nothrow)[ \t]+)*unittest[ \t]*(?:\{|$|\/[\/*])"
# `test "the gate opens" {`, `test gate {`.
ZIG = r"^[ \t]*test[ \t]+(?:\"|\w+[ \t]*\{|\{)"
# `let%expect_test "gate"`, `let%test_unit _`.
OCAML_PPX = r"^[ \t]*let%(?:expect_)?test(?:_unit)?\b"

# Calls with a sentence.

# `test("the gate opens"`, `it.only.each(gates)("`. Another member, as in `test.write(…)`, is one of a variable.
_ECMASCRIPT_MEMBER = (
    r"\.(?:only|skip|todo|each|for|fails|failing|concurrent|sequential|serial|parallel"
    r"|shuffle|if|skipIf|runIf|todoIf|prop|cb)\b"
)
ECMASCRIPT = rf"^[ \t]*(?:it|test)(?:{_ECMASCRIPT_MEMBER})*(?:\([^()\n]*\))?\("
# `it "opens the gate", ->`.
COFFEESCRIPT = r"^[ \t]*(?:it|test)(?:[ \t]+|\()[\"']"
# `it "opens the gate" do`, `def test_gate`.
RUBY = r"^[ \t]*(?:it|specify|test)[ \t]+[\"']|^[ \t]*def[ \t]+test_"
# `it "opens the gate" do`.
CRYSTAL = r"^[ \t]*it[ \t]+\""
# `test("the gate opens")`, `it("opens")`, `"open" in {`, `"A gate" should "open" in {`.
SCALA = (
    r"^[ \t]*(?:@(?:\w+\.)*Test\b|(?:test|property)\(|it\(\""
    # The sentence of a specification ends with `in` and its body; `should {` is a group of them.
    r"|(?:(?:it|they|\"[^\"\n]*\")[ \t]+(?:should|must|can)[ \t]+)?\"[^\"\n]*\"[ \t]+in(?:[ \t]*\{|[ \t]*$))"
)
# `test("the gate opens") {`, `xshould("open") {`.
KOTEST = r"^[ \t]*[fx]?(?:test|it|should|expect|scenario)\(\""
# `it("opens the gate")` of Quick.
QUICK = r"^[ \t]*[fx]?it\(\""
# `it "opens the gate" $ do`, `, testCase "opens" $`, `prop "opens"`.
HASKELL = r"^[ \t]*(?:[\[,][ \t]*)?(?:[fx]?(?:it|specify|prop)|test(?:Case(?:Steps)?|Property|Prop))[ \t]+\""
# `test "opens the gate" <|`, `, fuzz int "opens"`.
ELM = r"^[ \t]*(?:[\[,][ \t]*)?(?:Test\.)?(?:test[ \t]+\"|fuzz(?:With|2|3)?(?:[ \t]+[^ \t:=]|$))"
# `test "the gate opens" (fun () ->`, `; test_gate "opens"`.
OCAML_TEST = r"^[ \t]*(?:[\[;][ \t]*)?test(?:_\w+)?[ \t]+\""
# "the gate opens", `Quick, test_open
ALCOTEST_PAIR = r"\"[ \t]*,[ \t]*`(?:Quick|Slow)\b"
# `test_case "the gate opens" `Quick`.
ALCOTEST_CASE = r"\btest_case[ \t]+\""
# `test "the gate opens":`, `asyncTest "…":`.
NIM = r"^[ \t]*(?:test|[a-z]+Test)[ \t]+\""
# `it("opens the gate", function()`.
LUA = r"^[ \t]*(?:it|test)[ \t]*\("
# `test "the gate opens" do`.
ELIXIR = r"^[ \t]*(?:test|property)[ \t]+\""
# `It "opens the gate" {`, `It -Name 'opens' {`.
PESTER = r"^[ \t]*It[ \t]+(?:-Name[ \t]+)?[\"'$(]"
# `test('the gate opens', () {`.
DART = r"^[ \t]*(?:test|testWidgets)\("
# `test gate-1.1 {`.
TCL = r"^[ \t]*test[ \t]+[{\"]"
# `@test "the gate opens" {`.
BATS = r"^[ \t]*@test[ \t]"

# Macros.

# `TEST_F(GateTest, Opens) {`, `TEST_CASE("the gate opens") {`, `BOOST_AUTO_TEST_CASE(opens)`.
CPP = (
    r"^[ \t]*(?:TEST(?:_[FP])?|TYPED_TEST(?:_P)?|(?:TEMPLATE_)?TEST_CASE(?:_METHOD|_FIXTURE)?|SCENARIO"
    r"|BOOST_(?:AUTO|FIXTURE|DATA)_TEST_CASE)[ \t]*\("
)
# `(deftest gate-opens`, `(t/deftest gate-opens`.
CLOJURE = r"^[ \t]*\((?:[\w.-]+\/)?deftest-?[ \t]"
# `(ert-deftest gate-opens ()`.
EMACS_LISP = r"^[ \t]*\(ert-deftest[ \t]"
# `test_that("the gate opens", {`.
R = r"^[ \t]*(?:testthat::)?test_that\("
# `@testset "gates" begin`.
JULIA = r"^[ \t]*@testset\b"


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

        matches = (self.form.search(line[:_MAX_LINE]) for line in lines)
        words = {match[match.lastindex or 0] for match in matches if match is not None}
        return f"{self.rule} {join_words(sorted(words), 'or')}"


def _by_line(language: str, line: str, rule: str, word: str = "", *, files: str = "", case: str = "yes") -> Custom:
    """Return the custom of a language whose tests are lines.

    Parameters
    ----------
    language
        The name of the language.
    line
        The form of the lines, a regular expression.
    rule
        The rule in words; with `word`, only its beginning.
    word
        A regular expression for the part of a line that completes the rule.
    files
        A regular expression for the paths of the files. Empty for all of the language.
    case
        Whether letters must have the case as written: ``yes`` or ``no``.
    """
    file_filter = f"file:{files} " if files else ""
    search = f"type:file case:{case} {file_filter}/{line}/"
    return Custom(language, search, rule, re.compile(word) if word else None)


def _by_name(language: str, name: str, kind: str, rule: str, *, files: str = "") -> Custom:
    """Return the custom of a language whose tests are functions or methods with certain names in certain files."""
    file_filter = f"file:{files} " if files else ""
    return Custom(language, f"type:symbol case:yes {file_filter}/{name}/ select:symbol.{kind}", rule)


# Words that complete a rule.

_FIRST_WORD = r"^[ \t]*(\w+)"
_FIRST_WORD_OF_ITEM = r"^[ \t]*(?:[\[,][ \t]*)?(\w+)"
_FIRST_WORD_OF_ELM = r"^[ \t]*(?:[\[,][ \t]*)?(?:Test\.)?(\w+)"
_WORD_AND_BRACKET = r"^[ \t]*(\w+\()"
_WORD_OF_RUBY = r"^[ \t]*(it|specify|test|def test_)"
_WORD_OF_SCALA = r"^[ \t]*(?:@(?:\w+\.)*(Test)\b|(\w+\()|.*\"[ \t]+(in)\b)"
_WORD_OF_OBJECTIVE_C = r"^[ \t]*(?:-[ \t]*\(void\)[ \t]*(test)|([fx]?it\())"
_WORD_OF_OCAML = r"^[ \t]*(let%\w+)"
_ANNOTATION = r"\b((?:Parameterized|Repeated)?Test(?:Factory|Template)?)\b"
_ATTRIBUTE_OF_RUST = r"\b((?:\w+::)*(?:test|rstest|proptest|quickcheck|test_case|test_matrix|\w+_test))\b"
_ATTRIBUTE_OF_CSHARP = rf"[\[,. \t]({NET_NAME})(?:Attribute)?[ \t]*[\](,]"
_WORD_OF_FSHARP = (
    rf"[<;. \t]({NET_NAME}|Property)(?:Attribute)?[ \t]*(?:[(;]|>\])"
    r"|([pf]?test\w*)[ \t]+\""
)

# Files of tests.

_PYTHON_FILES = r"(^|/)(test_[^/]*|[^/]*_tests?|tests?)\.py$"
# pytest collects functions from files with such names only; unittest runs methods of any module that a project names,
# such as `tests/postgres.py`.
_PYTHON_CASES = r"(^|/)(tests?/([^/]+/)*[^/]+|test_[^/]*|[^/]*_tests?|tests?)\.py$"
_LUA_FILES = r"(_spec|_test|(^|\/)test_[^\/]*|(^|\/)tests?)\.lua$"

TEST_CUSTOMS: tuple[Custom, ...] = (
    _by_name("Python", "^test", "function", "functions named test… in test files", files=_PYTHON_FILES),
    _by_name("Python", "^test", "method", "methods named test… in test files", files=_PYTHON_CASES),
    # The rule of `go help testfunc`: no lower-case letter follows `Test`.
    _by_name(
        "Go",
        "^Test([^a-z]|$)",
        "function",
        "functions named Test… in files that end in _test.go",
        files=r"_test\.go$",
    ),
    _by_line("JavaScript", ECMASCRIPT, "lines that begin with", _FIRST_WORD),
    _by_line("TypeScript", ECMASCRIPT, "lines that begin with", _FIRST_WORD),
    _by_line("TSX", ECMASCRIPT, "lines that begin with", _FIRST_WORD),
    _by_line("CoffeeScript", COFFEESCRIPT, "lines that begin with", _FIRST_WORD),
    _by_line("Java", JUNIT, "lines with the annotation", _ANNOTATION),
    _by_line("Kotlin", JUNIT, "lines with the annotation", _ANNOTATION),
    _by_line("Kotlin", KOTEST, "lines that begin with", _WORD_AND_BRACKET, files=r"(Test|Tests|Spec)\.kt$"),
    _by_line("Groovy", JUNIT, "lines with the annotation", _ANNOTATION),
    _by_line("Groovy", SPOCK, "methods whose name is a text"),
    _by_line("Scala", SCALA, "lines with", _WORD_OF_SCALA),
    _by_line("Rust", RUST, "lines with the attribute", _ATTRIBUTE_OF_RUST),
    _by_line("Ruby", RUBY, "lines that begin with", _WORD_OF_RUBY),
    _by_line("Crystal", CRYSTAL, "lines that begin with it"),
    _by_line("Tcl", TCL, "lines that begin with test"),
    _by_line("Shell", BATS, "lines that begin with @test"),
    _by_line("Swift", SWIFT, "lines with @Test or func test…"),
    _by_line("Swift", QUICK, "lines that begin with it("),
    _by_line("Objective-C", OBJECTIVE_C, "lines with", _WORD_OF_OBJECTIVE_C),
    _by_line("Haskell", HASKELL, "lines with", _FIRST_WORD_OF_ITEM),
    _by_line("Elm", ELM, "lines with", _FIRST_WORD_OF_ELM, files="(^|/)tests?/"),
    _by_line("OCaml", OCAML_PPX, "lines that begin with", _WORD_OF_OCAML),
    _by_line("OCaml", OCAML_TEST, "lines that begin with test and a text"),
    _by_line("OCaml", ALCOTEST_PAIR, "lines with a text and `Quick or `Slow"),
    _by_line("OCaml", ALCOTEST_CASE, "lines with test_case and a text"),
    _by_line("C#", CSHARP, "lines with the attribute", _ATTRIBUTE_OF_CSHARP),
    _by_line("F#", FSHARP, "lines with", _WORD_OF_FSHARP),
    _by_line(
        "PHP",
        PHP,
        "methods named test… or below #[Test] or @test, in files that end in Test.php",
        files=r"Test\.php$",
    ),
    _by_line("Lua", LUA, "lines that begin with it( or test( in files of specs and tests", files=_LUA_FILES),
    _by_line("Elixir", ELIXIR, "lines that begin with test", files=r"_test\.exs$"),
    _by_line("Clojure", CLOJURE, "lines that begin with (deftest"),
    _by_line(
        "PowerShell",
        PESTER,
        "lines that begin with It in files that end in .Tests.ps1",
        files=r"\.Tests\.ps1$",
        case="no",
    ),
    _by_line("Emacs Lisp", EMACS_LISP, "lines that begin with (ert-deftest"),
    _by_line("R", R, "lines that begin with test_that("),
    _by_line("Julia", JULIA, "lines that begin with @testset"),
    _by_line("Nim", NIM, "lines that begin with", _FIRST_WORD),
    _by_line("Erlang", ERLANG, "functions named …_test or …_test_"),
    _by_line("Dart", DART, "lines that begin with test(", files=r"_test\.dart$"),
    _by_line("Zig", ZIG, "test blocks"),
    _by_line("D", D, "unittest blocks"),
    _by_name("C", "^test_|_test$", "function", "functions named test_… or …_test"),
    _by_line("C++", CPP, "lines that begin with", _FIRST_WORD),
)
"""Each custom by which tests are told from other code."""
