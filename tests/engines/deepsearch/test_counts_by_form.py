"""Counts of what no grammar reads: functions by the form of their heads, and files of a directory by their noun."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import lead_of, research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.source.function_heads import HEAD_FORMS, function_of
from sourcelight.engines.deepsearch.source.line_kinds import lines_of_code
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

LUA = """local function turn(x) end
function Mill:stop() end
Mill.lift = function(self) end
local t = { drop = 1 }
each(function() end)
-- function dry() end
"""
PERL = """package Mill;
sub turn { 1 }
sub _stop {
  return sub { 2 };
}
# sub dry { }

=head1 NAME

sub example { }

=cut

1;
"""
R = """turn <- function(x) x
stop = function(y) y
handler <- list(
  end = function() 1
)
outer <- function() {
  inner <- function() 2
}
"""
POWERSHELL = """function Start-Mill($x) { }
function script:stopMill { }
Filter Select-Grain { $_ }
<#
function Get-Example { }
#>
# function Get-Dry { }
"""
VIM = """function! s:turn(x) abort
endfunction
function! s:Mill.stop()
endfunction
fun mill#lift()
endfun
" function! s:dry()
"""
ELISP = """(defun mill-turn (x) x)
(cl-defun mill-stop (&key y) y)
(defmacro mill-lift () nil)
(defvar mill-grain nil)
;; (defun mill-dry () nil)
"""
CLOJURE = """(ns mill)
(defn turn [x] x)
(defn- stop [x] x)
(def lift 1)
;; (defn dry [] nil)
"""
ELIXIR = '''defmodule Mill do
  @doc """
      def example(x)
  """
  def turn(x), do: x
  def turn(x, y) when x > y do
    x
  end
  def turn(x, {y, _}), do: x + y
  defp stop, do: "a, b)"
  defmacro lift(x), do: x
end
'''
ERLANG = """-module(mill).
-spec turn(any(), any()) -> any().
turn(<<"a,b">>, X) -> X;
turn($,, X) ->
    turn(X);
turn({a, b},
     X) -> X.
turn(X) -> "text/*; q=1" ++ X.
%% dry() -> ok.
stop() -> ok.
"""
BY_FILE = {
    "mill.lua": (LUA, "**3** functions are defined"),
    "Mill.pm": (PERL, "At least **2** functions are defined"),
    "mill.R": (R, "**4** functions are defined"),
    "mill.ps1": (POWERSHELL, "At least **3** functions are defined"),
    "mill.vim": (VIM, "**3** functions are defined"),
    "mill.el": (ELISP, "**2** functions are defined"),
    "mill.clj": (CLOJURE, "**2** functions are defined"),
    "mill.ex": (ELIXIR, "At least **3** functions are defined"),
    "mill.erl": (ERLANG, "**3** functions are defined"),
}
"""Files of one language each, and what is stated of their functions."""


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository with a file of each language."""
    root = tmp_path_factory.mktemp("forms")
    repository = RepositoryBuilder(root / "mill")
    files: dict[str | bytes, str | bytes | None] = {path: text for path, (text, _) in BY_FILE.items()}
    files |= {
        "lib/plugins/Turn.pm": "1;\n",
        "lib/plugins/Stop.pm": "1;\n",
        "lib/plugins/deep/Lift.pm": "1;\n",
        "test/mill.test.js": 'it("turns", () => {});\n\n\nit("stops", () => {});\n',
    }
    repository.commit(files, "Add the mill")
    return open_engine([root], index=root / "index", workers=1)


@pytest.mark.parametrize("path", sorted(BY_FILE))
def test_functions_without_a_grammar_count_by_their_heads(mill: LocalEngine, path: str) -> None:
    """A comment, a text and a function without a name don't count, and clauses of one function count once."""
    lead = lead_of(mill, f"How many functions does {path} define?")
    assert lead.startswith(BY_FILE[path][1]), lead
    assert "**At least" not in lead


def test_the_rule_of_a_count_is_in_its_sentence(mill: LocalEngine) -> None:
    """A reader sees which lines count."""
    lead = lead_of(mill, "How many functions are in mill.el?")
    assert "lines that begin with (defun, (cl-defun or (defsubst (Emacs Lisp)" in lead


def test_a_slash_and_a_star_in_a_text_of_erlang_open_no_comment() -> None:
    """Media types are texts: what follows them is code."""
    lines = ['a() -> "text/*".', "b() -> ok."]
    assert [number for number, _ in lines_of_code(lines, "Erlang")] == [1, 2]
    assert [number for number, _ in lines_of_code(["/* a", "b */", "c"], "Go")] == [3]


def test_a_clause_that_does_not_end_is_no_function() -> None:
    """Where the brackets of a head don't close, its number of parameters isn't known."""
    assert function_of("Erlang", "turn(X,") is None
    assert function_of("Elixir", "  def turn(x, [y, z]) do") == ("turn", 2)
    assert function_of("Elixir", "  def turn, do: f(1, 2)") == ("turn", 0)


@pytest.mark.parametrize("language", sorted(HEAD_FORMS))
def test_heads_are_read_in_linear_time(language: str) -> None:
    """Text of repositories is hostile."""
    for text in ("def turn(" + "(" * 20_000, "turn(" + '"' * 20_000, "turn(" + "\\" * 20_000, "<<" * 20_000):
        start = time.process_time()
        function_of(language, text)
        assert time.process_time() - start < 0.5


@pytest.mark.parametrize(
    "question",
    [
        "How many plugins are in lib/plugins?",
        "How many modules are there in the lib/plugins directory?",
        "Which plugins are in lib/plugins?",
    ],
)
def test_things_of_a_directory_count_as_its_files(mill: LocalEngine, question: str) -> None:
    """Plugins and modules have a file each, and the answer says that files are counted."""
    text = research(mill, question).text
    assert text.startswith("**3** files in `lib/plugins/`, 1 of them in directories below"), text
    assert "Files count, because neither git nor the indexes have" in text


@pytest.mark.parametrize(
    "question",
    ["How many plugins are in lib/none?", "How many errors are in lib/plugins?", "How many plugins are in mill.lua?"],
)
def test_other_things_and_other_places_are_no_files(mill: LocalEngine, question: str) -> None:
    """A directory that doesn't exist, a file, and a noun of things within files give no number of files."""
    assert "** files" not in research(mill, question).text


def test_a_form_of_tests_before_the_noun_is_no_text(mill: LocalEngine) -> None:
    """The question asks for tests, and not for lines."""
    lead = lead_of(mill, "How many it() tests are in test/mill.test.js?")
    assert lead.startswith("**2** tests are defined in `test/mill.test.js`"), lead
    assert "lines in 1 file" not in lead_of(mill, "How many `turn()` blocks are in test/mill.test.js?")


def test_directories_side_by_side_are_one_within_the_other(tmp_path: Path) -> None:
    """Joined by "or", they would count files that nobody asked for."""
    repository = RepositoryBuilder(tmp_path / "barge")
    paths = ["src/rig/sail/a.js", "src/rig/sail/b.js", "src/rig/mast.js", "src/keel/mast.js", "test/sail/a.js"]
    repository.commit(dict.fromkeys(paths, "it('floats', () => {})\n"), "Start")
    engine = open_engine([repository.path], index=tmp_path / "index", workers=1)

    def count(question: str) -> str:
        return lead_of(engine, question).split("**")[1]

    for folder in ("the rig sail directory", "the sail rig directory", "sail in rig", "the sail directory of src/rig"):
        assert count(f"How many files are in {folder}?") == "2", folder
    assert count("How many tests are in mast.js in the keel directory?") == "1"
    assert count("How many files are in src/rig and src/keel?") == "4"
    # Neither is within the other: zero would answer for a directory that nobody made.
    lead = lead_of(engine, "How many files are in the keel rig directory?")
    assert lead.startswith("This can't be counted as asked, because `keel` was not understood."), lead
    assert "Without that: 3 files" in research(engine, "How many files are in the keel rig directory?").text
    engine.close()


def test_directories_side_by_side_may_have_others_between_them(tmp_path: Path) -> None:
    """Both orders count at any depth, and a directory of the name that is not at the top."""
    repository = RepositoryBuilder(tmp_path / "barge")
    paths = [
        "test/unit/hull/rigs/a.js",
        "test/unit/hull/rigs/b.js",
        "lib/hull/rigs/c.js",
        "docs/lib/old/ropes/d.js",
        "testing/rigs-old/e.js",
        f"{'many/' * 200}end/f.js",
    ]
    repository.commit(dict.fromkeys(paths, "1\n"), "Start")
    engine = open_engine([repository.path], index=tmp_path / "index", workers=1)
    for folder, number in {
        "rigs test": 2,
        "test rigs": 2,
        "rigs unit": 2,
        "rigs lib": 1,
        "ropes lib": 1,
        "lib ropes": 1,
        "end many": 1,
    }.items():
        lead = lead_of(engine, f"How many files are in the {folder} directory?")
        assert lead.startswith(f"**{number}** file"), (folder, lead)

    for folder in ("ropes test", "docs unit", "rigs-old test", "test lib"):
        lead = lead_of(engine, f"How many files are in the {folder} directory?")
        assert lead.startswith("This can't be counted as asked"), (folder, lead)
    assert lead_of(engine, "How many files are in ropes in lib?").startswith("**1** file")
    engine.close()


def test_a_call_over_several_lines_is_one_test(tmp_path: Path) -> None:
    """Each of its lines was counted, and words within it were called the form of a test."""
    table = "it.each([\n  [100, 'a'],\n  [431, 'b'],\n])('takes %i', () => {})\n"
    one_line = "it.each([1, 2])('is %i', () => {})\ntest('ends', () => {})\n"
    repository = RepositoryBuilder(tmp_path / "barge")
    repository.commit({"hull.test.ts": table + one_line}, "Start")
    engine = open_engine([repository.path], index=tmp_path / "index", workers=1)
    lead = lead_of(engine, "How many tests are in hull.test.ts?")
    assert lead.startswith("**3** tests are defined in `hull.test.ts`: lines that begin with it or test"), lead
    engine.close()


def test_examples_overloads_and_headers_are_counted(tmp_path: Path) -> None:
    """Examples are tests in a file of tests, overloads are functions of one name, and headers have their endings."""
    spec = 'describe "Hull" do\n  it "floats" do\n  end\n\n  it "turns" do\n  end\nend\n'
    hull = (
        "class Hull {\n  int Turn(int a) { return a; }\n  int Turn(long a) { return 1; }\n  int Sink() { return 2; }\n"
    )
    files = {
        "spec/hull_spec.rb": spec,
        "src/Hull.cs": f"{hull}}}\n",
        "src/a.h": "",
        "src/deep/b.hpp": "",
        "lib/c.h": "",
    }
    repository = RepositoryBuilder(tmp_path / "barge")
    repository.commit(files, "Start")
    engine = open_engine([repository.path], index=tmp_path / "index", workers=1)
    for noun in ("examples", "specs"):
        lead = lead_of(engine, f"How many {noun} are in spec/hull_spec.rb?")
        assert lead.startswith("**2** tests are defined in `spec/hull_spec.rb`"), lead

    assert "tests are defined" not in lead_of(engine, "How many examples are in src/Hull.cs?")
    lead = lead_of(engine, "How many overloads of Turn are in Hull.cs?")
    assert lead.startswith("**2** functions and methods named `Turn`"), lead
    assert lead_of(engine, "How many header files are in src?").startswith("**2** files in `src/**/*.{h,hh,hpp,hxx}`")
    assert lead_of(engine, "How many header files are there?").startswith("**3** files")
    engine.close()
