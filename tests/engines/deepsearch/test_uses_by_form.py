"""What uses a name where no call graph tells: types, names without a known definition, further languages."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.source.call_forms import has_call, has_construction, has_reference
from sourcelight.engines.deepsearch.source.functions import enclosing_function
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FORTRAN = """module mill
implicit none
public :: grind_corn
contains
subroutine grind_corn(corn)
integer, intent(inout) :: corn
corn = corn + 1
end subroutine grind_corn

pure logical function is_fine(corn) result(fine)
integer, intent(in) :: corn
fine = corn > 1
contains
subroutine within()
end subroutine within
end function is_fine

subroutine run_mill(wheel)
type(wheel_t) :: wheel
! call grind_corn(0)
print *, "call grind_corn(0)"
call grind_corn(2)
if (is_fine(2)) call wheel%turn()
end subroutine run_mill
end module mill
"""
SOLIDITY = """contract Mill is Stone {
    // grindCorn(1)
    function grindCorn(uint256 corn) public returns (uint256) {
        return corn;
    }

    function runMill() public {
        require((corn = grindCorn(2)) != 0, "grindCorn(3)");
    }
}
"""
CMAKE = """function(add_stone name)
  message(STATUS "add_stone(x)")
endfunction()

macro(add_mill name)
  if(name)
    ADD_STONE(${name})
    add_stone(${name})
  endif()
endmacro()

add_stone(top)
"""
COFFEE = """class Mill
  constructor: (@stones = 2) ->
    @turn 1

  turn: (corn) ->
    corn + 1

  # @turn 3
  grind: (corn, times) =>
    for i in [1..times]
      console.log "turn it"
      corn = @turn corn
    turn = 4
"""
OBJECTIVE_C = """#import "Mill.h"
@implementation Mill
- (NSInteger)turn:(NSInteger)corn {
    return corn;
}

static NSInteger twice(Mill *mill) {
    return [mill turn:2];
}

- (void)grind:(NSInteger)corn
        times:(NSInteger)times {
    dispatch_async(queue, ^{
        [self turn:corn];
    });
}
@end
"""
SQL = """create or replace function turn_wheel(corn int) returns int as $$
begin
  return corn;
end;
$$ language plpgsql;

CREATE FUNCTION mill.grind(corn int) RETURNS int
AS $body$
BEGIN
  RETURN turn_wheel(corn);
END;
$body$ LANGUAGE plpgsql;

select turn_wheel(1);
"""
SCRIPT = "# vim:et:ft=sh:sts=2:sw=2\nturn_by_hand() {\n  true\n}\ngrind_alone() {\n  x=`turn_by_hand`\n}\n"
RUBY = """class Wheel
  def self.make
    Stone.new(2)
  end

  def keep(stone = nil)
    stone.is_a?(Stone)
  end
end
"""
TYPESCRIPT = """import {
  Stone,
} from './stone'

export class Mill extends Stone {
  keep(stones: Stone[]): void {
    console.log('Stone')
  }
}
"""


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("mill")
    repo = RepositoryBuilder(root / "mill")
    repo.commit({
        "src/mill.f90": FORTRAN, "src/Mill.sol": SOLIDITY, "cmake/mill.cmake": CMAKE, "src/mill.coffee": COFFEE,
        "src/Mill.m": OBJECTIVE_C, "sql/mill.sql": SQL, "bin/mill": SCRIPT, "lib/wheel.rb": RUBY,
        "lib/stone.rb": "class Stone\nend\n",
        "web/mill.ts": TYPESCRIPT, "web/stone.ts": "export class Stone {}\n",
        "web/list.js": "class List {\n  sort = (items) => 1\n  show() {\n    return this.sortAll(1)\n  }\n}\n",
    })  # fmt: skip
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (
            "What calls grind_corn?",
            "`grind_corn` is called by name in `run_mill` (line 22 of `src/mill.f90`); other lines have the name",
        ),
        ("What calls is_fine?", "`is_fine` is called by name in `run_mill` (line 23 of `src/mill.f90`)"),
        ("What calls grindCorn?", "`grindCorn` is called by name in `runMill` (line 8 of `src/Mill.sol`)"),
        (
            "What calls add_stone?",
            (
                "`add_stone` is called by name in `add_mill` (line 8 of `cmake/mill.cmake`) and line 12 of "
                "`cmake/mill.cmake`; other lines have the name"
            ),
        ),
        (
            "What calls turn_wheel?",
            (
                "`turn_wheel` is called by name in `grind` (line 10 of `sql/mill.sql`) and line 14 of "
                "`sql/mill.sql`"
            ),
        ),
        (
            "Who uses Stone?",
            (
                "`Stone` is called or referenced by name in `make` (line 3 of `lib/wheel.rb`), `keep` (line 7 of "
                "`lib/wheel.rb`), line 1 of `src/Mill.sol`, `Mill` (line 5 of `web/mill.ts`) and "
                "`keep` (line 6 of `web/mill.ts`); other lines "
                "have the name"
            ),
        ),
        ("What calls sortAll?", "`sortAll` is called by name in `show` (line 4 of `web/list.js`)"),
        ("Where is is_fine defined?", "`is_fine` is defined in `src/mill.f90`, line 10, as a function"),
        ("What calls turn_by_hand?", "`turn_by_hand` is called by name in `grind_alone` (line 6 of `bin/mill`)"),
    ],
)  # fmt: skip
def test_lines_that_use_a_name_are_stated_with_what_is_around_them(
    mill: LocalEngine, question: str, sentence: str
) -> None:
    assert lead_of(mill, question).startswith(sentence)


def test_a_method_with_an_empty_body_is_no_call(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "mill")
    repo.commit({
        "src/Mill.groovy": "class Mill {\n    @Override void turnWheel(int corn) {}\n}\n",
        "src/Wheel.groovy": "class Wheel {\n    void grind(Mill mill) {\n        mill.turnWheel(2)\n    }\n}\n",
    })  # fmt: skip
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert lead_of(engine, "What calls turnWheel?").startswith(
        "`turnWheel` is called by name in `grind` (line 3 of `src/Wheel.groovy`)"
    )


def test_calls_of_tests_stand_beside_those_of_the_code(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "mill")
    repo.commit({
        "src/mill.nim": "type\n  WheelKind = enum\n    a\n\nproc turnWheel() =\n  nil\n\nproc run() =\n  turnWheel()\n",
        "tests/tmill.nim": "import mill\n\nproc checkWheel() =\n  turnWheel()\n\ncheckWheel()\n",
    })  # fmt: skip
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    lead = lead_of(engine, "Which procs use turnWheel?")
    assert lead.startswith(
        "`turnWheel` is called by name in `run` (line 9 of `src/mill.nim`); tests call it in `checkWheel` (line 4 of "
        "`tests/tmill.nim`)"
    )
    assert "other lines" not in lead
    lead = lead_of(engine, "Which tests use turnWheel?")
    assert lead.startswith(
        "1 line of 1 test file has the name `turnWheel`, such as in `checkWheel` of `tests/tmill.nim`"
    )
    lead = lead_of(engine, "Which tests call checkWheel?")
    assert lead.startswith("Besides definitions, imports and comments, 1 line of 1 test file has the name `checkWheel`")
    assert lead_of(engine, "Where is WheelKind defined?").startswith("`WheelKind` is defined in `src/mill.nim`, line 2")


def test_an_alias_may_be_what_is_called(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "mill")
    repo.commit({
        "mill.py": "from stone import wide_stone as _stone\n\n\ndef grind():\n    return _stone()\n",
        "stone.py": "def wide_stone():\n    return 1\n",
        "tests/test_stone.py": "import stone\n\n\ndef test_stone():\n    assert callable(stone.wide_stone)\n",
    })  # fmt: skip
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert "test_stone" not in lead_of(engine, "What calls wide_stone?")


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("Dart", "  final syntaxes = [\n    const Padding(\n      child: turn(),", ""),
        ("Dart", "  static Widget build(\n    int a) {\n    turn();", "build"),
        ("Dart", "  Future<void> run<T>({\n    int? a,\n  }) async {\n    turn();", "run"),
        ("Dart", "  void run() {\n    switch (a) {\n      case Wheel():\n        turn();", "run"),
        ("D", "    void run()\n    {\n        final switch (a)\n        {\n            turn();", "run"),
        ("Groovy", "    void run() {\n        nodes << new Node().'a.b' {\n            turn(1)", "run"),
        ("Perl", "sub JSON::PP::skip {\n    turn();", "skip"),
        ("D", "    void run()\n    {\n        enforce(\n            turn());", "run"),
        ("Objective-C", OBJECTIVE_C.partition("[self turn")[0] + "[self turn", "grind"),
        ("Objective-C", OBJECTIVE_C.partition("[mill turn")[0] + "[mill turn", "twice"),
        ("CoffeeScript", COFFEE.partition("corn = @turn")[0] + "corn = @turn", "grind"),
        ("CoffeeScript", COFFEE.partition("@turn 1")[0] + "@turn 1", "constructor"),
        ("Groovy", "class Mill {\n    def 'turns twice'() {\n        expect:\n        turn()", "'turns twice'"),
        ("Fortran", FORTRAN.partition("integer, intent(in)")[0] + "fine = turn()", "is_fine"),
        ("Fortran", FORTRAN.partition("subroutine run_mill")[0] + "x = turn()", ""),
        ("Emacs Lisp", "(cl-defun grind (corn)\n  (turn", "grind"),
        ("Clojure", "(deftest ^:slow grind-test\n  (turn", "grind-test"),
        ("SQL", SQL.partition("select")[0] + "select turn_wheel", ""),
        ("Julia", "function run_mill(m::Mill{T}) where {T<:Integer}\n    turn(m)", "run_mill"),
        ("Racket", "(module mill racket\n  (define (grind corn)\n    (turn corn)", "grind"),
        ("Dart", "  void run() {\n    FutureOr<dynamic> Function(\n      dynamic,\n    ) a = b;\n    turn();", "run"),
        ("PowerShell", 'function grind {\n    $x = @"\n.VERSION\n"@\n    turn', "grind"),
        ("Groovy", "class Mill {\n    Mill() {\n        turn()", "Mill"),
    ],
)
def test_the_head_around_a_line_is_no_call(language: str, text: str, name: str) -> None:
    lines = list(enumerate(text.split("\n"), 1))
    assert enclosing_function(lines, len(lines), language) == name


@pytest.mark.parametrize(
    ("language", "line", "calls"),
    [
        ("Fortran Free Form", "x = 1 ! call turn(x)", False), ("Fortran", "CALL WHEEL%turn", True),
        ("Fortran", "      turned = turn + 1", False), ("SQL", "x; -- turn(1)", False),
        ("SQL", "EXEC dbo.turn @a", True),
        ("D", "wheel.turn;", True), ("D", "wheel.turn = 2;", False), ("D", "turn!int(2)", True),
        ("CoffeeScript", "turn corn", True), ("CoffeeScript", "turn = 2", False),
        ("CoffeeScript", "x = turn or 2", False),
        ("CoffeeScript", "wheel.turn 'a'", True), ("CoffeeScript", "turn - 2", False), ("Racket", "(turn 2)", True),
        ("SQL", "DROP FUNCTION IF EXISTS mill.turn(int);", False), ("SQL", "create function @mill@.turn(a int)", False),
        ("SQL", "create trigger a execute function turn();", True), ("Dart", "  Future<void> turn({bool a});", False),
        ("Dart", "    await turn(2);", True), ("Dart", "  const turn(2),", True),
        ("Objective-C", "void turn(int a);", False),
        ("Elixir", "MapSet.turn(a)", False), ("Elixir", "Mill.MapSet.turn(a)", True), ("OCaml", "List.turn a", False),
        ("OCaml", "Mill.turn a", True), ("Common Lisp", "(turn 2)", True), ("Common Lisp", "(turn-all 2)", False),
        ("HTML+ERB", '<%= link_to t(".a"), turn %>', True), ("HTML+ERB", "<p>turn</p>", False),
        ("HTML", "<code>turn(2)</code>", False), ("HTML", '<a href="{{ turn(2) }}">', True),
        ("HTML+ERB", "<%# turn %>", False), ("Haml", "%p= turn", True), ("Haml", "%p turn", False),
        ("Vue", '<a @click="turn(2)">', True), ("Vue", "{{ turn }}", False), ("Jinja", "{% if turn(a) %}", True),
        ("PowerShell", '$a = "^$(turn git) (.*)"', True), ("PowerShell", "$a = '$(turn git)'", False),
        ("PowerShell", '$a = "(turn git)"', False), ("Swift", 'print("a \\(turn(2)) b")', True),
        ("Kotlin", 'print("a ${turn(2)}")', True), ("Kotlin", 'print("turn(2)")', False),
        ("CoffeeScript", '"#{turn(2)}"', True), ("Julia", '"$(turn(2))"', True), ("Dart", "'${turn(2)}'", False),
    ],
)  # fmt: skip
def test_a_call_has_the_form_of_its_language(language: str, line: str, calls: bool) -> None:  # noqa: FBT001
    assert has_call(line, "turn", language) == calls


@pytest.mark.parametrize(
    ("language", "line", "makes"),
    [
        ("Ruby", "Stone.new(2)", True), ("PHP", "return new \\Mill\\Stone;", True), ("Ruby", "Stone.news", False),
        ("Objective-C", "[[Stone alloc] init]", True), ("Rust", "let a = Stone::from(2);", True),
        ("Rust", "fn keep(a: Stone) {}", False), ("Java", "new StoneMill()", False), ("Perl", "Stone->new", True),
    ],
)  # fmt: skip
def test_a_type_is_called_by_its_constructor(language: str, line: str, makes: bool) -> None:  # noqa: FBT001
    assert has_construction(line, "Stone", language) == makes


def test_a_list_of_names_refers_to_none_of_them() -> None:
    assert not has_reference("export grind, turn", "grind", "Julia")
    assert not has_reference("public :: grind", "grind", "Fortran Free Form")
    assert not has_reference("  @callback grind(term) :: :ok", "grind", "Elixir")
    assert has_reference("    grind", "grind", "Crystal")
    assert not has_reference("    grind", "grind", "Python")
    assert not has_reference("  Stone,", "Stone", "TypeScript")
    assert not has_reference("  Wheel, Stone", "Stone", "Python")
    assert not has_reference("  print('Stone')", "Stone", "Python")
    assert has_reference("  keep(Stone)", "Stone", "Python")
    assert not has_reference("(keep stone-mill)", "stone", "Clojure")
    assert has_reference("{{ grind | upper }}", "grind", "Jinja")
    assert has_reference('<Stone :wide="grind" />', "Stone", "Vue")
    assert has_reference('<Stone :wide="grind" />', "grind", "Vue")
    assert not has_reference('<p id="grind">grind</p>', "grind", "HTML")
    assert not has_reference("{# grind #}{{ mill.grind_all }}", "grind", "Twig")


def test_a_receiver_of_an_unknown_type_hides_no_call(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "mill")
    repo.commit({
        "lib/wheel.js": "class Wheel {\n  turnOnce() {}\n  run() {\n    this.turnOnce()\n  }\n}\nexports.a = Wheel\n",
        "lib/mill.js": "function grind(wheel, x) {\n  return x && wheel.turnOnce()\n}\nmodule.exports = grind\n",
    })  # fmt: skip
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert lead_of(engine, "What calls turnOnce?").startswith(
        "`turnOnce` is called by name in `grind` (line 2 of `lib/mill.js`) and `run` (line 4 of `lib/wheel.js`)"
    )


def test_calls_of_tests_do_not_stand_for_uses_in_the_code(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "mill")
    repo.commit({
        "lib/Mill.psm1": "function Step-Wheel($a) { $a }\n\n$all = @{ Step = ${function:Step-Wheel} }\n",
        "test/Mill.Tests.ps1": "It 'turns' { Step-Wheel 2 }\n",
        "lib/mill.ts": "export function grindAll(x: number) { return x }\nregister({ run: grindAll })\n",
        "test/mill.spec.ts": "import { grindAll } from '../lib/mill'\n\nit('grinds', () => { grindAll(1) })\n",
    })  # fmt: skip
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert "line 2 of `lib/mill.ts`" in lead_of(engine, "Where is grindAll used?")
    assert "line 3 of `lib/Mill.psm1`" in lead_of(engine, "Where is Step-Wheel used?")


def test_calls_of_files_with_an_unknown_syntax_are_listed(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "mill")
    repo.commit({
        "mill.js": "function grindAll(x) { return x }\nfunction run() { return grindAll(1) }\nmodule.exports = run\n",
        "lib/flow.js": (
            "import type { A, B } from './a'\nfunction match (raw: string, a?: A, b?: ?B): B {\n  if (raw) {\n"
            "    if (a && typeof a === 'object') {\n      a.params = {}\n    }\n    return grindAll(raw)\n  }\n}\n"
        ),
    })  # fmt: skip
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    lead = lead_of(engine, "What calls grindAll?")
    assert "line 7 of `lib/flow.js`" in lead
    assert "params" not in lead


@pytest.mark.parametrize(
    "line",
    [
        "(" * 990,
        "$(" * 490,
        '"' + "$(a" * 300,
        "\\(" * 490 + '"',
        "turn " * 200,
        "::turn" * 160,
        "a." * 500,
        "call x%" * 140,
        "new " * 250,
    ],
)
def test_forms_are_read_in_linear_time(line: str) -> None:
    start = time.perf_counter()
    for language in (
        "PowerShell",
        "Swift",
        "Fortran",
        "SQL",
        "D",
        "CoffeeScript",
        "Ruby",
        "Objective-C",
        "C++",
        "Groovy",
    ):
        has_construction(line, "turn", language)
        has_reference(line, "turn", language)
        enclosing_function([(1, line), (2, f"  {line}")], 2, language)

    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    ("line", "language"),
    [
        ("let ``is_safe rejects a slash`` () =", "F#"), ("fun `is_safe rejects a slash`() {", "Kotlin"),
        ("func `is_safe rejects a slash`() {", "Swift"),
    ],
)  # fmt: skip
def test_a_name_that_is_a_sentence_uses_no_word_of_it(line: str, language: str) -> None:
    assert not has_reference(line, "is_safe", language)
    assert has_reference("let a = is_safe x", "is_safe", language)
