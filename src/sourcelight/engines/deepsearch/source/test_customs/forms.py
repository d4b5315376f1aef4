r"""The forms of lines that are tests, by language or framework.

Each form is a regular expression in the syntax of a query, which selects lines by the index: `[ \t]` instead of `\s`,
and no look-around. An example stands above each form.
"""

from __future__ import annotations

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
