"""What a line defines, counts or sets, in languages whose forms no grammar or no other test covers."""

from __future__ import annotations

import time

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES, reader_of
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

ELM = """module Sluice exposing (Gate(..), gateLimit, openGate)


type Gate
    = Raised Int
    | Lowered


gateLimit : Int
gateLimit =
    255


openGate : Int -> Gate
openGate height =
    Raised (clampGate height)


clampGate : Int -> Int
clampGate height =
    min gateLimit height
"""
ELM_TESTS = """module SluiceTests exposing (all)

all =
    describe "gates"
        [ test "opens" <|
            \\_ -> Expect.pass
        , fuzz int "closes" <|
            \\_ -> Expect.pass
        , describe "test of nothing" []
        ]
"""
HEADER = """#import <Foundation/Foundation.h>
@protocol WeirDelegate;
@class WeirPool;

@interface Weir : NSObject
typedef void (^WeirBlock)(NSInteger level);
@end
"""
DELEGATE = """#import <Foundation/Foundation.h>

@protocol WeirDelegate <NSObject>
@end
"""
WEIR = """#import "Weir.h"
static NSString * const WeirNameKey = @"weir.name";

@implementation Weir
@end

@implementation Weir (Level)
@end
"""
WEIR_TESTS = """- (void)testLevel;
- (void)testLevel {
}
- (void)testFlow
{
}
- (void)tested:(id)x {
}
it(@"flows", ^{
});
"""
NIM = """const
  LeatLimit* = 65536'u32
  leatDepth = 3

type
  LeatState* {.pure.} = enum
    dry, wet

proc flow*(x: int) =
  x.depth* = 2
"""
GROOVY = """class Penstock {
    Penstock(int level) {
    }
    String penstockName = "main"
    def penstockLevel = levelOf(1)
    private def fillPenstock(int level) {
        return level
    }
}
"""
SPOCK = """class PenstockSpec extends Specification {
    def "fills"() {
        expect: 1
    }
    @Test
    void drains() {}
    def helper() {}
}
"""
HASKELL = """main = hspec $ do
  describe "it flows" $ do
    it "flows" $ 1
    prop "flows always" $ \\x -> x
-- it "is a comment"
"""
SCALA = """class LockSpec extends AnyFlatSpec {
  it should "fill" in { 1 }
  "A lock" should "drain" in {
    2
  }
  "A lock" should {
    "open" in {
      3
    }
  }
}
"""
CRYSTAL = """class Quay
  private def moor(ship)
  end

  def depart
  end
  # def comment
end
"""
ZIG = """pub fn flow() void {}
export fn stop() void {}
const flows = 1;
"""
MILL = """def mvnDeps = Seq(
  mvn"com.lihaoyi::geny::1.1.0", // mvn"com.lihaoyi::dropped:1.0"
  ivy"org.lock:gate:2.3",
)
"""
ELM_JSON = """{
    "type": "package",
    "dependencies": {"elm/core": "1.0.0 <= v < 2.0.0",
        "elm/random": "1.0.0 <= v < 2.0.0"
    },
    "test-dependencies": {}
}
"""
GO = """package weir

// NameMapper maps names.
var NameMapper = strings.ToLower
"""
DART = """class Basin {
  Basin fill(
    int level, {
    bool isOpen = true,
    int depth = 4,
  }) {
    drain(depth = 5);
    return this;
  }
}

class _Spout {
  _Spout(this.width);
  final int width;
}

_Spout newSpout() {
  return use(
      _Spout(1),
  );
}
"""
NIM_HEAD = """proc open*(
    gate: Gate,
    maxHeight: int = 8192): int =
  1
"""
# The grammar of Kotlin loses its way in the first lines.
KOTLIN = """class Head(
  private val width: String = HEAD_WIDTH,
) {
"""
KOTLIN_CONSTANT = """fun broken( { ]] (
internal const val HEAD_WIDTH = "  "
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder = tmp_path_factory.mktemp("forms")
    files = {
        "src/Sluice.elm": ELM,
        "tests/SluiceTests.elm": ELM_TESTS,
        "Weir/Weir.h": HEADER,
        "Weir/WeirDelegate.h": DELEGATE,
        "Weir/Weir.m": WEIR,
        "WeirTests/WeirTests.m": WEIR_TESTS,
        "leat.nim": NIM,
        "src/main/groovy/Penstock.groovy": GROOVY,
        "src/test/groovy/PenstockSpec.groovy": SPOCK,
        "test/FlowSpec.hs": HASKELL,
        "src/test/scala/LockSpec.scala": SCALA,
        "src/Head.kt": KOTLIN,
        "src/Widths.kt": KOTLIN_CONSTANT,
        "src/quay.cr": CRYSTAL,
        "src/flow.zig": ZIG,
        "build.mill": MILL,
        "elm.json": ELM_JSON,
        "Cartfile.private": 'github "Quick/Nimble" ~> 9.2.1\n',
        "mapper.go": GO,
        "src/Codes.fs": "module Codes\nlet MovedLock = 301\nlet lockOf code = code\n",
        "lib/basin.dart": DART,
        "src/gates.nim": NIM_HEAD,
    }
    repository = RepositoryBuilder(folder / "canal")
    repository.commit(files, "Add a canal")
    return open_engine([repository.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Where is openGate defined?", "`openGate` is defined in `src/Sluice.elm`, line 14"),
        ("Where is Gate defined?", "`Gate` is defined in `src/Sluice.elm`, line 4"),
        ("What is gateLimit?", "`gateLimit` is set to `255`, in `src/Sluice.elm`"),
        # The head of a constructor calls nothing.
        ("What calls _Spout?", "`_Spout` is called by name in `newSpout` (line 19 of `lib/basin.dart`)"),
        ("What calls clampGate?", "in `openGate` (line 16 of `src/Sluice.elm`)"),
        # A forward declaration defines nothing, and a category adds to what is defined elsewhere.
        ("Where is WeirDelegate declared?", "`WeirDelegate` is defined in `Weir/WeirDelegate.h`, line 3"),
        ("Where is WeirBlock defined?", "`WeirBlock` is defined in `Weir/Weir.h`, line 6"),
        ("What is WeirNameKey?", '`WeirNameKey` is set to `@"weir.name"`, in `Weir/Weir.m`, line 2'),
        ("What is LeatLimit?", "`LeatLimit` is set to `65536'u32`, in `leat.nim`, line 2"),
        ("Where is LeatState defined?", "`LeatState` is defined in `leat.nim`, line 6"),
        ("What is penstockName set to?", '`penstockName` is set to `"main"`'),
        ("Where is fillPenstock defined?", "`fillPenstock` is defined in `src/main/groovy/Penstock.groovy`, line 6"),
        # The default of a parameter is another name, which the constructor doesn't define.
        ("What is HEAD_WIDTH?", '`HEAD_WIDTH` is set to `"␣␣"`, in `src/Widths.kt`, line 2'),
        ("How many tests are in SluiceTests.elm?", "**2** tests"),
        ("How many tests are in WeirTests.m?", "**3** tests"),
        # A class is in the file that is called as it.
        ("How many tests does PenstockSpec have?", "**2** tests are defined in `src/test/groovy/PenstockSpec.groovy`"),
        ("How many tests are in the class LockSpec?", "**3** tests are defined in `src/test/scala/LockSpec.scala`"),
        ("How many tests are in FlowSpec.hs?", "**2** tests"),
        (
            "How many methods are defined in src/quay.cr?",
            "**2** methods are defined in `src/quay.cr`: lines that begin",
        ),
        ("How many functions are in src/flow.zig?", "**2** functions are defined in `src/flow.zig`: lines that begin"),
        ("Which version of geny does canal use?", "`build.mill` lists `com.lihaoyi:geny` `1.1.0`"),
        ("Which version of elm/random does canal need?", "`elm.json` lists `elm/random` `1.0.0 <= v < 2.0.0`"),
        ("Which version of Nimble does canal use?", "`Cartfile.private` lists `Quick/Nimble` `~> 9.2.1`"),
        ("What is NameMapper set to by default?", "`NameMapper` is set to `strings.ToLower`, in `mapper.go`, line 4"),
        (
            "What's the default of isOpen?",
            "The default of the parameter `isOpen` is `true`, in `lib/basin.dart`, line 4",
        ),
        ("What's the default depth in basin.dart?", "`depth` is `4`, in `lib/basin.dart`, line 5"),
        ("What's the default maxHeight?", "The default of the parameter `maxHeight` is `8192`, in `src/gates.nim`"),
        # The class is in the file that is called as it.
        ("Who added penstockName to Penstock?", "A line with `penstockName` was first added by"),
    ],
)
def test_a_form_of_the_language_answers(engine: LocalEngine, question: str, sentence: str) -> None:
    assert sentence in lead_of(engine, question)


def test_a_value_is_no_function(engine: LocalEngine) -> None:
    assert "as a function" not in lead_of(engine, "Where is MovedLock defined?")
    assert "as a function" in lead_of(engine, "Where is lockOf defined?")
    assert "as a function" not in lead_of(engine, "Where is gateLimit defined?")
    assert "as a function" in lead_of(engine, "Where is openGate defined?")
    for question in ("What is MovedLock set to?", "What is penstockLevel?", "What is gateLimit?"):
        assert "(in `" not in lead_of(engine, question)


def test_a_category_is_no_definition(engine: LocalEngine) -> None:
    lead = lead_of(engine, "Where is Weir defined?")
    assert "`Weir/Weir.m`, line 4" in lead
    assert "line 7" not in lead


@pytest.mark.parametrize(
    ("language", "line", "kind"),
    [
        ("Clojure", "(define-condition name (error) ())", "class"),
        ("Clojure", "(defpackage :name", "module"),
        ("Dockerfile", "FROM water:1 AS name", "module"),
        ("Elixir", "  @type name :: integer", "type"),
        ("Erlang", "-record(name, {level}).", "class"),
        ("Erlang", "-opaque name() :: integer().", "type"),
        ("GraphQL", "input name @key {", "type"),
        ("GraphQL", "directive @name on FIELD", "type"),
        ("Just", "name level='1' *gates: open", "type"),
        ("Lua", "M.name = {", "variable"),
        ("Makefile", "define name", "constant"),
        ("Nim", "type name* = enum", "enum"),
        ("Nix", "  name = { pkgs, ... }@args:", "function"),
        ("Nix", "  options.name = lib.mkOption {", "constant"),
        ("Perl", 'has name => (is => "rw");', "property"),
        ("Prisma", "model name {", "type"),
        ("R", "name <- list()", "variable"),
        ("R", 'setGeneric("name", function(x) x)', "function"),
        ("Shell", "alias name='ls -l'", "type"),
        ("Thrift", "service name extends Base {", "class"),
        ("Verilog", "module name #(", "module"),
        ("Vim Script", "command! -nargs=0 name call s:Open()", "function"),
        ("Vim Script", "augroup name", "type"),
    ],
)
def test_a_line_defines_a_name_by_its_form(language: str, line: str, kind: str) -> None:
    define = reader_of(language, "name")
    assert define is not None
    assert define(line) == kind


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("Dockerfile", "COPY --from=name /a /b"),
        ("GraphQL", "  name: Int"),
        ("Lua", "  M.name = {"),
        ("Nix", "  name = pkgs.hello;"),
        ("R", "  name <- 3"),
        ("Vim Script", "augroup name | autocmd!"),
        ("Elm", "    name : Int"),
        ("Elm", "name ::rest"),
        ("Objective-C", "@protocol name, Other;"),
        ("Groovy", "    return name(a) {"),
        # A modifier is no type, so that this is a constructor.
        ("Groovy", "    private name(String level) {"),
        ("Dart", "  const name(this.level) {"),
        ("Groovy", "    other.name(a) {"),
        ("Groovy", "    assert name == 3"),
        ("Java", "    name = 3;"),
        ("Java", "    return name == 3;"),
        ("C#", "    call(int name = 3);"),
        ("Nim", "  name = 3"),
    ],
)
def test_a_line_that_only_uses_a_name_defines_nothing(language: str, line: str) -> None:
    define = reader_of(language, "name")
    assert define is not None
    assert define(line) is None


def test_forms_read_hostile_lines_in_time() -> None:
    starts = ["public ", "@a ", " ", "a<", "@a(", "val ", "a.", "static const ", "[ ", "name : ", "name* {."]
    lines = [(start * 500)[:500] for start in starts]
    readers = [define for language in PROGRAMMING_LANGUAGES if (define := reader_of(language, "name")) is not None]

    began = time.process_time()
    for define in readers:
        for line in lines:
            define(line)

    assert time.process_time() - began < 2
