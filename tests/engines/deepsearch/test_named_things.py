"""Sentences about named things in languages with few grammars: what was misread, counted twice or called absent."""

from __future__ import annotations

from pathlib import Path

from engines.deepsearch.asking import engine_for, lead_of

Files = dict[str | bytes, str | bytes | None]


def test_a_count_of_files_is_no_value(tmp_path: Path) -> None:
    """The words of a path, or of a quoted text, gave a constant for a number of files."""
    files: Files = {
        "src/Spool/Encodings/a.cs": "class A {}\n",
        "src/Spool/Encodings/b.cs": "class B {}\n",
        "src/Text.cs": "class Text {\n    static readonly Encoding Encoding = Encoding.UTF8;\n}\n",
        "reel.h": "#ifndef REEL_LINE_WIDTH\n#define REEL_LINE_WIDTH 0\n#endif\n",
    }
    engine = engine_for(tmp_path, files)
    assert lead_of(engine, "How many .cs files below src/Spool/Encodings?").startswith("**2** files")
    assert lead_of(engine, 'How many files contain "reel_line_width"?').startswith("**0** files")


def test_a_place_with_the_words_of_a_name_is_not_that_of_the_name(tmp_path: Path) -> None:
    files: Files = {
        "lib/format.cr": "# Format enum for the kinds of spools\nenum Format\n  Reel\nend\n",
        "lib/reel.cr": "class Reel\n  def should_format? : Bool\n    true\n  end\nend\n",
        "reel.el": '(defun reel--buffer-button (buffer)\n  "Return a button for BUFFER."\n  buffer)\n',
        "more.el": "(define-button-type 'reel-buffer-button\n  'action #'reel--go)\n",
    }
    engine = engine_for(tmp_path, files)
    assert "format.cr" not in lead_of(engine, "In what file does should_format live?")
    assert "reel--buffer-button" not in lead_of(engine, "Which file and line defines reel-buffer-button?")
    for question in (
        "Which file and line defines reel--buffer-button?",
        "On which line is reel--buffer-button defined?",
    ):
        assert lead_of(engine, question).startswith("`reel--buffer-button` is defined in `reel.el`, line 1")


def test_a_question_for_a_line_states_no_default(tmp_path: Path) -> None:
    code = "struct Reel\n    long_title::Bool\nend\n\nfunction Reel(name; long_title::Bool = false)\n    name\nend\n"
    engine = engine_for(tmp_path, {"src/reel.jl": code})
    assert "default" not in lead_of(engine, "On which line is long_title defined?")


def test_a_computed_property_has_no_default(tmp_path: Path) -> None:
    code = (
        "class Period {\n    val seconds: Int get() = (total % 60).toInt()\n}\n\n"
        "fun Period(hours: Int = 0, seconds: Int = 5): Period = build(hours, seconds)\n"
    )
    engine = engine_for(tmp_path, {"src/Period.kt": code})
    for question in (
        "What is the default of seconds in Period?",
        "What value does seconds have in Period when omitted?",
    ):
        assert "total" not in lead_of(engine, question)


def test_a_pair_of_rebar_outside_of_its_lists_is_no_dependency(tmp_path: Path) -> None:
    config = '{minimum_otp_vsn, "27"}.\n{deps, [{spool, "1.0.0"}]}.\n'
    engine = engine_for(tmp_path, {"rebar.config": config, "src/reel.erl": "-module(reel).\n"})
    assert "1 dependency: `spool`" in lead_of(engine, "How many dependencies does rebar.config list?")
    assert "minimum_otp_vsn" not in lead_of(engine, "Which dependencies does it have?")


def test_the_line_that_names_a_module_of_erlang_is_its_definition(tmp_path: Path) -> None:
    files: Files = {
        "src/reel_sup.erl": "-module(reel_sup).\n-export([start/0]).\n\nstart() ->\n    ok.\n",
        "src/reel.erl": "-module(reel).\n\ngo() ->\n    supervisor:start_link({local, reel_sup}, reel_sup, []).\n",
    }
    engine = engine_for(tmp_path, files)
    assert "src/reel_sup.erl" not in lead_of(engine, "Who calls reel_sup?")
    assert lead_of(engine, "Where is reel_sup defined?").startswith(
        "`reel_sup` is defined in `src/reel_sup.erl`, line 1"
    )


def test_a_member_of_f_sharp_with_a_value_has_the_calls_in_it(tmp_path: Path) -> None:
    code = (
        "type Reels() =\n    static member val Long =\n            let spool = Default.Spool\n"
        "            spool.Wind()\n        with get\n"
    )
    engine = engine_for(tmp_path, {"Reels.fs": code, "Default.fs": "module Default\nlet spool = 1\n"})
    assert "`val`" not in lead_of(engine, "Where is spool called?")


def test_the_type_of_a_result_is_no_owner(tmp_path: Path) -> None:
    code = (
        "namespace reel {\ntemplate <class T> struct spool {\n"
        "  template <class U> static spool_constexpr std::size_t index_of() spool_noexcept {\n"
        "    return 1;\n  }\n};\n}\n"
    )
    engine = engine_for(tmp_path, {"reel.hpp": code})
    assert "of `size_t`" not in lead_of(engine, "Where is index_of declared?")


def test_a_list_of_packages_that_is_not_read_proves_no_absence(tmp_path: Path) -> None:
    metadata = '{\n  "name": "team-reel",\n  "dependencies": [\n    {"name": "team/spool"}\n  ]\n}\n'
    files: Files = {"metadata.json": metadata, "Gemfile": "source 'https://rubygems.org'\ngem 'rake'\n"}
    engine = engine_for(tmp_path, files)
    assert not lead_of(engine, "Does this project require team/spool?").startswith("No")
    assert lead_of(engine, "Does this project require team/winder?").startswith("No")


def test_a_declaration_behind_a_type_is_no_missing_definition(tmp_path: Path) -> None:
    files: Files = {
        "reel.c": '#include "reel.h"\nchar\t*reel_names[] = {\n\t"long",\n};\n',
        "reel.h": "extern\tchar *reel_names[];\n",
        "build.gradle.kts": "val reelMain by getting\n",
    }
    engine = engine_for(tmp_path, files)
    assert not lead_of(engine, "Where is reel_names defined?").startswith("No definition")
    assert not lead_of(engine, "Where is reelMain declared?").startswith("No definition")


def test_calls_without_brackets_are_no_0(tmp_path: Path) -> None:
    code = "(defn read-reel-file [path]\n  path)\n\n(defn run [path]\n  (read-reel-file path))\n"
    engine = engine_for(tmp_path, {"src/reel.clj": code})
    assert "`run`" in lead_of(engine, "How many places call read-reel-file?")


def test_all_names_of_a_module_are_imported_from_it(tmp_path: Path) -> None:
    """The sign for all names counted as a module of its own, so that no file imported it."""
    files: Files = {
        "src/A.scala": "import reel._\n\nobject A { val a = 1 }\n",
        "src/B.scala": "import reel.spool._\n\nobject B { val b = 1 }\n",
    }
    engine = engine_for(tmp_path, files)
    assert lead_of(engine, "Which files import reel._?").startswith("**2** files import `reel`")


def test_one_of_two_values_is_not_the_answer_to_both(tmp_path: Path) -> None:
    code = 'class Reel {\n    const string LongReel = "long";\n    const string ShortReel = "short";\n}\n'
    engine = engine_for(tmp_path, {"Reel.cs": code, "config.yml": "version: 2\n"})
    assert not lead_of(engine, "What are LongReel and ShortReel set to?").startswith("`ShortReel`")
    assert not lead_of(engine, "What are version and ShortReel set to?").startswith("`ShortReel`")
    assert lead_of(engine, "What is ShortReel set to?").startswith('`ShortReel` is set to `"short"`')


def test_a_field_of_a_record_of_haskell_is_no_use_of_it(tmp_path: Path) -> None:
    code = (
        "module Reel where\n\ndata Reel = Reel {\n      reelWidth :: Int\n    , reelMean :: Double\n    }\n\n"
        "wind :: Reel -> Double\nwind reel = reelMean reel\n"
    )
    engine = engine_for(tmp_path, {"Reel.hs": code})
    lead = lead_of(engine, "What are the callers of reelMean?")
    assert "`wind` (line 9 of `Reel.hs`)" in lead
    assert "`data`" not in lead
    assert lead_of(engine, "Where is reelMean defined?").startswith("`reelMean` is defined in `Reel.hs`, line 5")


def test_a_name_below_another_package_is_not_the_one_in_question(tmp_path: Path) -> None:
    files: Files = {
        "lib/Reel/Web/C/Root.pm": "package Reel::Web::C::Root;\nuse strict;\n1;\n",
        "lib/Reel/Admin/C/Root.pm": "package Reel::Admin::C::Root;\nuse strict;\n1;\n",
        "lib/Reel/Web.pm": "package Reel::Web;\n\nsub go {\n    return Reel::Web::C::Root->new;\n}\n1;\n",
        "lib/Reel/Admin.pm": "package Reel::Admin;\n\nsub go {\n    return Reel::Admin::C::Root->new;\n}\n1;\n",
    }
    engine = engine_for(tmp_path, files)
    assert "Admin.pm" not in lead_of(engine, "Where is Reel::Web::C::Root used outside of tests?")


def test_a_count_may_be_asked_for_at_the_end_or_by_another_noun(tmp_path: Path) -> None:
    """These were said to be nothing that git or an index counts."""
    files: Files = {"Gemfile": "source 'https://rubygems.org'\ngem 'rake'\ngem 'spool'\n", "lib/reel.rb": "REEL = 1\n"}
    engine = engine_for(tmp_path, files)
    assert lead_of(engine, "How many packages are in Gemfile?").startswith("`Gemfile` lists 2 dependencies")
    assert lead_of(engine, "Commits that change Gemfile: how many?").startswith("**1** commit")
    assert lead_of(engine, "How many files does the directory lib contain?").startswith("**1** file in `lib/`")


def test_a_misspelled_question_word_is_nothing_that_is_absent(tmp_path: Path) -> None:
    engine = engine_for(tmp_path, {"lib/reel.rb": "class ReelWinder\nend\n"})
    assert lead_of(engine, "whre is ReelWinder definded?").startswith(
        "`ReelWinder` is defined in `lib/reel.rb`, line 1"
    )
    assert "`require`" not in lead_of(engine, "Does this project require team/spool?")


def test_what_a_call_makes_and_a_manifest_lists_is_declared(tmp_path: Path) -> None:
    files: Files = {
        "lib/reel.rb": "module Reel\n  class << self\n    attr_accessor :width, :reel_options\n  end\n"
        "  self.reel_options = {}\nend\n",
        "Gemfile": "source 'https://rubygems.org'\ngem 'reel_stats', '~> 4.0'\n",
    }
    engine = engine_for(tmp_path, files)
    assert not lead_of(engine, "Where is reel_options defined?").startswith("No definition")
    assert not lead_of(engine, "Which file declares reel_stats?").startswith("No definition")


def test_a_field_in_the_line_of_its_type_is_no_use_of_it(tmp_path: Path) -> None:
    code = (
        "module Reel where\n\nnewtype Reel a = Reel { runReelM :: Int -> a }\n\n"
        "wind :: Reel a -> a\nwind r = runReelM r 1\n"
    )
    engine = engine_for(tmp_path, {"Reel.hs": code})
    assert lead_of(engine, "Where is runReelM called?").startswith(
        "`runReelM` is called or referenced by name in `wind` (line 6 of `Reel.hs`)"
    )


def test_a_file_that_is_imported_is_no_file_that_imports_it(tmp_path: Path) -> None:
    files: Files = {
        "src/buffer.zig": "pub const Buffer = struct {};\n",
        "src/pool.zig": 'const buffer = @import("buffer.zig");\npub const Pool = struct {};\n',
    }
    assert "`src/buffer.zig` is" not in lead_of(engine_for(tmp_path, files), "Which files import buffer.zig?")
