"""Sentences that misled a reader of real repositories: what was dropped, taken for something else, or said too much."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.deepsearch.asking import engine_for, lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.testing import RepositoryBuilder

Files = dict[str | bytes, str | bytes | None]


def test_a_quoted_list_of_arguments_begins_no_text_of_several_lines(tmp_path: Path) -> None:
    """A line that ends with `"$@"`, or with an address, ended the search for the function around all later lines."""
    shell = 'reel_cd() {\n  \\cd "$@"\n}\n\nreel_pull() {\n  reel_cut 1\n}\n\nreel_cut() {\n  true\n}\n'
    perl = (
        'sub wind\n{\n    my $x = shift;  # rid of "user@"\n    return $x;\n}\n\n'
        "sub unwind\n{\n    my $x = shift;\n    spool_out($x);\n}\n\nsub spool_out\n{\n    return 1;\n}\n"
    )
    files: Files = {"reel.sh": shell, "lib/Reel.pm": perl}
    engine = engine_for(tmp_path, files)
    assert "in `reel_pull` (line 6 of `reel.sh`)" in lead_of(engine, "What calls reel_cut?")
    assert "in `unwind` (line 10 of `lib/Reel.pm`)" in lead_of(engine, "What calls spool_out?")


def test_where_something_is_looked_for_is_never_absent(tmp_path: Path) -> None:
    code = "package reel\n\nfunc Fail() int {\n\treturn 1\n}\n\nfunc Run() int {\n\treturn Fail()\n}\n"
    engine = engine_for(tmp_path, {"reel.go": code})
    assert "`outside`" not in lead_of(engine, "What calls Fail outside of main?")
    assert "`upper`" not in lead_of(engine, "What's the upper bound on Fail?")
    assert lead_of(engine, "Does it support websockets?").startswith("No searched file has `websocket")


def test_an_assignment_called_default_is_no_documentation(tmp_path: Path) -> None:
    shell = (
        'reel_print() {\n  ALIAS="${1-}"\n  if [ -z "${ALIAS}" ]; then\n    return 1\n  fi\n'
        '  COLORS="${COLORS-}" DEFAULT=true reel_show "${ALIAS}"\n}\n'
    )
    engine = engine_for(tmp_path, {"reel.sh": shell})
    assert "documentation" not in lead_of(engine, "What is the default alias?")


def test_an_option_set_for_a_while_is_no_default(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "reel")
    ticking = "tick <- function(time) {\n  old <- options(reel.show_after = 0)\n  on.exit(options(old))\n  time\n}\n"
    later = 'show <- function(start) {\n  start + getOption("reel.show_after", 2)\n}\n'
    repo.commit({"R/tick.R": ticking, "R/show.R": later}, "Add the reel")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert "set to `0`" not in lead_of(engine, "What is reel.show_after's default?")
    assert "set to `0`" not in lead_of(engine, "What is the default of show_after?")


def test_a_file_without_a_known_ending_has_a_history(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "reel")
    files: Files = {"BUILD.reel": "a\n", "DESCRIPTION": "Package: reel\n", "reel-exec": "#!/bin/sh\n"}
    repo.commit(files, "Add the build", author="Ada <ada@example.org>")
    note = {"notes.md": "The DESCRIPTION says more than BUILD.reel.\n"}
    repo.commit(note, "Add notes", author="Grace <grace@example.org>")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    for question in ("Who last changed DESCRIPTION?", "Who added `DESCRIPTION`?"):
        lead = lead_of(engine, question)
        assert lead.startswith("`DESCRIPTION` was")
        assert "by Ada on" in lead
    assert lead_of(engine, "When was reel-exec added?").startswith("`reel-exec` was added by Ada on")
    assert lead_of(engine, "When was BUILD.reel added?").startswith("`BUILD.reel` was added by Ada on")


def test_scripts_without_an_ending_are_named_beside_the_files_of_a_language(tmp_path: Path) -> None:
    files: Files = {
        "install.sh": "echo\n", "test/one": "#!/bin/sh\ntrue\n", "test/two": "#!/usr/bin/env bash\ntrue\n",
        "test/three": "#!/usr/bin/env python3\n", "a.py": "x = 1\n", "list": "no script\n",
    }  # fmt: skip
    engine = engine_for(tmp_path, files)
    sentence = lead_of(engine, "How many shell files are there?")
    assert sentence.startswith("**1** Shell file; 2 scripts without an ending begin with `#!` for Shell, too.")
    assert "; 1 script without an ending begins" in lead_of(engine, "How many Python files are there?")
    assert "script" not in lead_of(engine, "How many shell files are in test/?").split("; 2 scripts")[0]


def test_files_of_a_directory_are_things_that_it_is_called_for(tmp_path: Path) -> None:
    files: Files = {"lib/reel/parser.rb": "1\n", "lib/reel/filters/a.rb": "1\n", "lib/reel/filters/b.rb": "1\n"}
    engine = engine_for(tmp_path, files)
    assert lead_of(engine, "Which filters are there in lib/reel/filters?").startswith("**2** files in")
    assert "** files" not in lead_of(engine, "Which filters are there in lib/reel?")


def test_a_text_is_no_size(tmp_path: Path) -> None:
    ruby = (
        "class Reel\n  def initialize(options)\n    tabsize = options[:tabsize]\n    if tabsize > 1\n"
        "      @tab = '\\1' + ' ' * tabsize\n    else\n      @tab = ' '\n    end\n  end\nend\n"
    )
    engine = engine_for(tmp_path, {"lib/reel.rb": ruby})
    assert "is set to" not in lead_of(engine, "What is the default tab size?")


def test_examples_in_documents_of_ruby_declare_nothing(tmp_path: Path) -> None:
    files: Files = {
        "lib/reel.rb": "class Reel\nend\n\nclass FastReel < Reel\nend\n\nLIMIT = ENV['REEL_LIMIT']\n",
        "doc/use.rdoc": "Use it:\n\n  class SlowReel < Reel\n    x = ENV['REEL_SPEED']\n  end\n",
    }
    engine = engine_for(tmp_path, files)
    assert lead_of(engine, "How many classes inherit from Reel?").startswith("**1** class names")
    assert "REEL_SPEED" not in lead_of(engine, "Which environment variables does it read?")


def test_a_definition_stands_behind_thousands_of_longer_names(tmp_path: Path) -> None:
    """The class Bloc of bloc has the letters of 2,000 other lines before it, so that a member of an enum was alone."""
    lines = "".join(f"  final a{number} = ReelProvider();\n" for number in range(2_100))
    files: Files = {
        "lib/a.dart": f"class A {{\n{lines}}}\n",
        "lib/reel.dart": "abstract class Reel<Event> extends Base<Event>\n    implements Sink<Event> {}\n",
        "tool/kinds.ts": "export enum Kind {\n  Reel,\n  Spool,\n}\n",
    }
    sentence = lead_of(engine_for(tmp_path, files), "Where is Reel defined?")
    assert "in `lib/reel.dart`, line 1, as a class" in sentence


def test_a_type_is_no_module(tmp_path: Path) -> None:
    files: Files = {
        "src/Data/Reel/Parser.hs": "module Data.Reel.Parser (parse) where\n\nparse :: Int\nparse = 1\n",
        "src/Reel.hs": "module Reel where\n\ndata Parser = Parser Int\n",
    }
    engine = engine_for(tmp_path, files)
    assert "as a type" not in lead_of(engine, "Where is the Parser module?")
    assert "as a type" in lead_of(engine, "Where is Parser defined?")


def test_unit_tests_within_a_file_of_rust_are_tests(tmp_path: Path) -> None:
    rust = (
        "pub fn wind() -> u8 {\n    1\n}\n\npub fn pull() -> u8 {\n    wind()\n}\n\n#[cfg(test)]\nmod tests {\n"
        '    use super::*;\n\n    #[test]\n    fn winds() {\n        let text = "\n};\n";\n'
        "        assert_eq!(wind(), 1);\n    }\n}\n"
    )
    sentence = lead_of(
        engine_for(tmp_path, {"Cargo.toml": "[package]\nname = 'reel'\n", "src/lib.rs": rust}), "What calls wind?"
    )
    assert "`winds`" not in sentence
    assert "`pull` (1 call in 1 file outside of tests and examples)" in sentence


def test_no_manifest_of_another_package_or_a_benchmark_answers(tmp_path: Path) -> None:
    files: Files = {
        "editor/package.json": '{"name": "editor", "dependencies": {"axios": "1"}}\n',
        "packages/mill/package.json": '{"name": "mill", "dependencies": {"stone": "2"}}\n',
        "packages/grain/package.json": '{"name": "grain", "dependencies": {"seed": "3"}}\n',
    }
    engine = engine_for(tmp_path / "a", files)
    assert lead_of(engine, "What does mill depend on?").startswith(
        "`packages/mill/package.json` lists 1 dependency: `stone`"
    )
    del files["packages/mill/package.json"]
    assert "axios" not in lead_of(engine_for(tmp_path / "b", files), "What does mill depend on?")
    project = 'name = "Mill"\n[deps]\nDates = "ade2"\n'
    julia: Files = {
        "Project.toml": project,
        "bench/v2/Project.toml": '[deps]\nJSON3 = "0f8b"\n',
        "src/Mill.jl": "module Mill\nend\n",
    }
    assert not lead_of(engine_for(tmp_path / "c", julia), "Does it depend on JSON3?").startswith("Yes")


def test_what_ci_uses_is_no_requirement_of_the_project(tmp_path: Path) -> None:
    files: Files = {
        "package.json": '{"name": "mill", "engines": {"node": ">=18"}}\n',
        ".github/workflows/ci.yml": "jobs:\n  test:\n    strategy:\n      matrix:\n        node-version: [20, 22]\n",
    }
    assert ">=18" not in lead_of(engine_for(tmp_path, files), "Which Node versions does CI use?")


def test_a_key_of_data_is_no_documentation(tmp_path: Path) -> None:
    text = "flags:\n  no-exe:\n    description: no executables\n    default: true\n"
    assert "`flags`" not in lead_of(engine_for(tmp_path, {"package.yaml": text}), "What is the default flag no-exe?")


def test_classes_in_texts_of_pages_are_none(tmp_path: Path) -> None:
    files: Files = {
        "docs/a.astro": "---\nconst code = `\nclass Slow extends Reel {\n}\n`;\n---\n<p>{code}</p>\n",
        "src/a.ts": "class Reel {}\nclass Fast extends Reel {}\n",
    }
    assert lead_of(engine_for(tmp_path, files), "How many classes extend Reel?").startswith("**1** class")


def test_a_list_in_brackets_may_begin_below_its_key(tmp_path: Path) -> None:
    workflow = (
        "jobs:\n  test:\n    strategy:\n      matrix:\n        python-version:\n"
        '          ["3.10", "3.11", "3.12"]\n        include:\n          - os: windows\n'
        '            python-version: "3.10"\n'
    )
    engine = engine_for(tmp_path, {".github/workflows/test.yml": workflow, "a.py": "x = 1\n"})
    assert "`3.10`, `3.11` and `3.12`" in lead_of(engine, "Which Python versions does CI test?")


def test_a_list_beside_a_complete_manifest_is_for_work_on_it(tmp_path: Path) -> None:
    project = (
        '[project]\nname = "mill"\ndynamic = ["version"]\n\n[project.optional-dependencies]\ncli = ["click>=5.0"]\n'
    )
    files: Files = {"pyproject.toml": project, "requirements.txt": "pytest\nwheel\n"}
    sentence = lead_of(engine_for(tmp_path / "a", files), "What does mill depend on?")
    assert sentence.startswith("`pyproject.toml` lists")
    assert "wheel" not in sentence
    files["pyproject.toml"] = project.replace('"version"', '"version", "dependencies"')
    assert lead_of(engine_for(tmp_path / "b", files), "What does mill depend on?").startswith(
        "`requirements.txt` lists 2"
    )


def test_a_benchmark_and_a_half_name_of_a_variable_are_no_answers(tmp_path: Path) -> None:
    files: Files = {
        "src/Mill.Benchmarks/Run.cs": (
            "class Run {\n  static Settings BuildConfig() {\n    config.StopTimeout = null;\n"
            "    return config;\n  }\n}\n"
        ),
        "src/Mill/Settings.cs": (
            "class Settings {\n  public TimeSpan? StopTimeout { get; set; } = TimeSpan.FromSeconds(2);\n}\n"
        ),
        "cross.cmake": 'if("$ENV{MILL_${NAME}}" STREQUAL "$ENV{MILL_ROOT}")\nendif()\n',
    }
    engine = engine_for(tmp_path, files)
    assert "`null`" not in lead_of(engine, "What is the default stop timeout?")
    assert "`MILL_`" not in lead_of(engine, "Which environment variables does it read?")


def test_macros_confuse_neither_classes_nor_values(tmp_path: Path) -> None:
    lines = "".join(f"    if (x == {number}) throw mill_error();\n" for number in range(30))
    header = (
        "#define MILL_BEGIN \\\n  namespace mill {\n\n#define MILL_END \\\n  }\n\nMILL_BEGIN\n"
        "template <template <typename, typename...> class S, template <typename, typename = void> class C>\n"
        "class basic_stone {\npublic:\n  explicit basic_stone(int a) { b = a; }\n"
        "  basic_stone(basic_stone&& rhs) noexcept {}\n"
        f"  int b = 0;\n}};\nint grind(int x) {{\n{lines}    return x;\n}}\nMILL_END\n"
    )
    engine = engine_for(tmp_path, {"include/mill.hpp": header})
    assert "as a function" not in lead_of(engine, "Where is basic_stone defined?")
    assert "MILL_END" not in lead_of(engine, "What is MILL_BEGIN?")
    assert ", such as in" in lead_of(engine, "Where is mill_error thrown?")


def test_an_object_beside_a_trait_is_not_alone(tmp_path: Path) -> None:
    scala = "trait Hint[A] {\n  def name: String\n}\n\nobject Hint {\n  val a = 1\n  val b = 2\n  val c = 3\n}\n"
    sentence = lead_of(engine_for(tmp_path, {"src/Hint.scala": scala}), "Where is Hint defined?")
    assert "line 1, as a trait; its file has more definitions of the name" in sentence


def test_a_value_in_unit_tests_of_rust_is_no_default(tmp_path: Path) -> None:
    rust = (
        "pub fn grind() -> u8 {\n    1\n}\n\nmod tests {\n    use super::*;\n\n    #[cfg(test)]\n"
        "    fn make_default() -> Stone {\n        Stone {\n            grain: 7,\n        }\n    }\n}\n"
    )
    files: Files = {"Cargo.toml": "[package]\nname = 'mill'\n", "src/lib.rs": rust}
    assert "`7`" not in lead_of(engine_for(tmp_path, files), "What is the default grain?")


def test_a_setting_is_not_its_counterpart(tmp_path: Path) -> None:
    """In cowboy, `max_header_name_length` was said to be the length of a value."""
    source = "MAX_HEADER_NAME_LENGTH = 64\nHISTORY_LEN = 20\n"
    engine = engine_for(tmp_path, {"kiln.py": source})
    assert "`64`" not in lead_of(engine, "max header value length")
    assert "`64`" in lead_of(engine, "max header name length")


def test_a_counter_that_begins_with_0_is_no_default(tmp_path: Path) -> None:
    """In linenoise, "what's the default history length" was answered with the number of lines of a new history."""
    source = "static int history_len = 0;\nint fire(void) {\n    return history_len;\n}\n"
    engine = engine_for(tmp_path, {"kiln.c": source})
    assert "is set to" not in lead_of(engine, "what's the default history length")


def test_no_import_of_a_package_is_no_count_of_what_depends_on_it(tmp_path: Path) -> None:
    """In ocaml-cohttp, "**0** files import `lwt`" answered which packages depend on it, where nine opam files do."""
    opam = 'opam-version: "2.0"\ndepends: [\n  "lwt" {>= "5.7.0"}\n]\n'
    engine = engine_for(tmp_path, {"kiln-lwt.opam": opam, "src/kiln.ml": "open Lwt.Infix\nlet fire () = 1\n"})
    assert "**0**" not in lead_of(engine, "which packages depend on lwt")


def test_a_word_of_a_license_is_not_what_was_added(tmp_path: Path) -> None:
    """In SwiftyJSON, "who added merge" was answered with the author of the license, which says "merge"."""
    repo = RepositoryBuilder(tmp_path / "kiln")
    repo.commit({"LISCENSE": "You may use, copy and merge it.\n"}, "Start", author="Ada <ada@example.org>")
    source = "func merge(a: Int) -> Int {\n    return a\n}\n"
    repo.commit({"Kiln.swift": source}, "Add merge of glazes", author="Rika <rika@example.org>")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert "Ada" not in lead_of(engine, "who added merge")


def test_manifests_that_differ_are_both_named(tmp_path: Path) -> None:
    """In ocaml-cohttp, one of twelve opam files requires a newer OCaml than the others."""
    files: Files = {
        f"{name}.opam": f'opam-version: "2.0"\ndepends: [\n  "ocaml" {{>= "{version}"}}\n]\n'
        for name, version in (("kiln-async", "4.14"), ("kiln-lwt", "4.08"))
    }
    engine = engine_for(tmp_path, files)
    sentence = lead_of(engine, "minimum ocaml version")
    assert "`>= 4.14`" in sentence
    assert "`>= 4.08`" in sentence


def test_a_literal_of_a_demo_is_no_default(tmp_path: Path) -> None:
    """In malli, "default registry" was answered with the registry of a demo."""
    engine = engine_for(tmp_path, {"app/demo.clj": "(ns demo)\n\n(def registry {:clay 1 :glaze 2})\n"})
    assert "is set to" not in lead_of(engine, "default registry")


def test_what_happens_is_no_parameter(tmp_path: Path) -> None:
    """In mux, "what happens to UseEncodedPath by default" was answered with "has no parameter `happens`"."""
    engine = engine_for(tmp_path, {"kiln.go": "package kiln\n\nfunc FireClay() int {\n\treturn 1\n}\n"})
    assert "no parameter" not in lead_of(engine, "what happens to FireClay by default")


def test_a_quote_within_a_sentence_says_so(tmp_path: Path) -> None:
    """In moshi, a description began with "parser to lenient causes it", the second line of a sentence."""
    source = (
        "class Reader {\n  /**\n   * Configure this reader. By default it is strict. Setting the\n"
        "   * reader to lenient parsing causes it to ignore errors.\n   */\n  public boolean lenient = false;\n}\n"
    )
    engine = engine_for(tmp_path, {"src/Reader.java": source})
    sentence = lead_of(engine, "is lenient parsing on by default")
    assert "says “…reader to lenient" in sentence


def test_a_comparison_is_no_fallback(tmp_path: Path) -> None:
    """In league/csv, `null === $threshold || 1 <= $threshold` was said to make 1 the default threshold."""
    source = "<?php\nclass Kiln {\n  function setFlushThreshold(?int $threshold) {\n"
    source += "    null === $threshold || 1 <= $threshold || throw new E($threshold);\n  }\n}\n"
    engine = engine_for(tmp_path, {"src/Kiln.php": source})
    assert "is `1`" not in lead_of(engine, "what's the default flush threshold of the kiln")


def test_the_least_size_is_no_default_size(tmp_path: Path) -> None:
    """In lwt, `min_buffer_size` was said to be the default size, which a reference has."""
    engine = engine_for(tmp_path, {"src/io.ml": "let min_buffer_size = 16\n\nlet default_buffer_size = ref 4096\n"})
    assert "`16`" not in lead_of(engine, "default size of io buffers")


def test_the_version_of_a_formatter_is_not_that_of_its_language(tmp_path: Path) -> None:
    """In circe, "which scala versions are built" was answered with the version of scalafmt."""
    engine = engine_for(tmp_path, {".scalafmt.conf": "version = 3.8.3\n", "Kiln.scala": "object Kiln\n"})
    assert "3.8.3" not in lead_of(engine, "which scala versions are built")


def test_one_of_two_values_is_no_answer(tmp_path: Path) -> None:
    """In league/csv, "default enclosure and escape" was answered with the escape alone."""
    source = "def set_control(separator, enclosure, escape='x'):\n    return enclosure\n"
    engine = engine_for(tmp_path, {"kiln.py": source})
    assert "is `'x'`" not in lead_of(engine, "default enclosure and escape")


def test_the_maker_of_an_error_detects_nothing(tmp_path: Path) -> None:
    """In league/csv, duplicate column names were said to be detected where their error is made."""
    source = (
        "class SyntaxError(Exception):\n    @classmethod\n    def due_to_duplicate_column_names(cls, names):\n"
        "        return cls(names)\n"
    )
    engine = engine_for(tmp_path, {"errors.py": source, "kiln.py": "def fire(names):\n    return names\n"})
    assert lead_of(engine, "where are duplicate column names detected").startswith("Most relevant:")


def test_a_tutorial_makes_nothing(tmp_path: Path) -> None:
    """In hakyll, "where are teasers made" was answered with the tutorial that is named for them."""
    text = "# Using glazes\n\nGlazes are made of clay. A glaze is made first.\n"
    engine = engine_for(tmp_path, {"web/using-glazes.md": text, "kiln.py": "def fire(clay):\n    return clay\n"})
    assert lead_of(engine, "where are glazes made").startswith("Most relevant:")


def test_a_method_of_one_word_is_called_behind_its_type(tmp_path: Path) -> None:
    """In leaf, `LeafEncoder.encode` was said to be called where another type's `encode` is."""
    source = (
        "struct KilnEncoder {\n    static func encode(_ value: Int) -> Int {\n        return value\n    }\n}\n\n"
        "struct Clay {\n    func encode(to encoder: Int) {\n        encoder.encode(1)\n    }\n}\n\n"
        "func fire() {\n    let data = KilnEncoder.encode(2)\n}\n"
    )
    engine = engine_for(tmp_path, {"Kiln.swift": source})
    sentence = lead_of(engine, "What calls KilnEncoder.encode?")
    assert "`fire`" in sentence
    assert "line 9" not in sentence


def test_the_name_of_a_field_is_no_default_of_it(tmp_path: Path) -> None:
    """In zerolog, "what's the default level" was answered with `LevelFieldName`, which is "level"."""
    source = 'package kiln\n\nvar (\n\tLevelFieldName = "level"\n)\n'
    engine = engine_for(tmp_path, {"globals.go": source})
    assert "LevelFieldName` is set to" not in lead_of(engine, "what's the default level")


def test_an_interface_does_nothing(tmp_path: Path) -> None:
    """In league/container, an interface was named as the file that boots providers, since its path has the words."""
    source = "<?php\ninterface BootableServiceProviderInterface {\n  public function boot(): void;\n}\n"
    other = "<?php\nclass Aggregate {\n  public function add($provider) {\n    $provider->boot();\n  }\n}\n"
    engine = engine_for(tmp_path, {"src/BootableServiceProviderInterface.php": source, "src/Aggregate.php": other})
    assert lead_of(engine, "which file boots bootable service providers?").startswith("Most relevant:")


def test_a_constant_of_a_test_is_no_default_of_a_field(tmp_path: Path) -> None:
    """A test's own `numThreads` was stated where the program declares a field of the name without a value."""
    field = "module kiln;\n\nstruct Options {\n    size_t numThreads;\n    bool list;\n}\n"
    test = "unittest {\n    enum numThreads = 100;\n    foreach(i; 0 .. numThreads) {}\n}\n"
    engine = engine_for(tmp_path, {"source/options.d": field, "tests/ut/io.d": test})
    assert "is set to" not in lead_of(engine, "What does numThreads default to?")


def test_the_name_of_a_variable_is_neither_its_default_nor_its_reader(tmp_path: Path) -> None:
    names = 'pub static KILN_SPACING: &str = "KILN_SPACING";\n'
    reader = "use crate::vars;\n\nfn spacing(vars: &Vars) -> String {\n    vars.get(vars::KILN_SPACING)\n}\n"
    engine = engine_for(tmp_path, {"src/vars.rs": names, "src/spacing.rs": reader})
    assert "is set to" not in lead_of(engine, "What is the default of KILN_SPACING?")
    assert "in `spacing` (line 4 of `src/spacing.rs`)" in lead_of(engine, "What reads KILN_SPACING?")


def test_suggested_extensions_are_not_beside_the_extensions(tmp_path: Path) -> None:
    manifest = (
        '{\n  "name": "kiln/kiln",\n  "require": {\n    "php": "^8.0",\n    "kiln/clay": "^1.0"\n  },\n'
        '  "suggest": {\n    "ext-pcntl": "Burns faster.",\n    "kiln/glaze": "Shines."\n  }\n}\n'
    )
    engine = engine_for(tmp_path, {"composer.json": manifest})
    lead = lead_of(engine, "What does composer.json suggest?")
    assert lead.startswith("`composer.json` lists 2 dependencies (suggest): `ext-pcntl` and `kiln/glaze`")
    assert "`kiln/clay`" in lead_of(engine, "What does composer.json depend on?")


def test_a_file_of_opam_lists_for_its_own_package_alone(tmp_path: Path) -> None:
    head = 'opam-version: "2.0"\nsynopsis: "A kiln"\ndepends: [\n'
    files: Files = {
        "kiln.opam": head + '  "ocaml" {>= "4.08.0"}\n  "angstrom" {>= "0.14.0"}\n]\n',
        "kiln-sexp.opam": head + '  "kiln" {= version}\n  "sexplib0"\n]\n',
    }
    engine = engine_for(tmp_path, files)
    assert lead_of(engine, "Does kiln.opam depend on sexplib0?").startswith("No: `kiln.opam` does not list `sexplib0`")
    assert "`angstrom`" in lead_of(engine, "What does kiln.opam depend on?")


def test_a_directory_called_as_its_repository_is_counted(tmp_path: Path) -> None:
    """In karax, "how many .nim files are in karax/" was answered with those of the whole repository."""
    files: Files = {"kiln/fire.py": "x = 1\n", "kiln/clay.py": "x = 1\n", "tests/fire.py": "x = 1\n"}
    repo = RepositoryBuilder(tmp_path / "kiln")
    repo.commit(files, "Add")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    for question in ("How many Python files are in kiln/?", "How many Python files are in the kiln folder?"):
        assert lead_of(engine, question).startswith("**2** Python files in `kiln/`")
    both = lead_of(engine, "How many Python files are in kiln?")
    assert both.startswith("**3** Python files in the repository `kiln`, **2** of them in `kiln/`")
    assert "of them" not in lead_of(engine, "How many Python files are in kiln/?")


def test_a_verb_where_a_name_stands_is_a_name(tmp_path: Path) -> None:
    """In friendly_id, the `allow_nil` of a setting was said to be that of `find`, with "every word … was applied"."""
    repo = RepositoryBuilder(tmp_path / "kiln")
    repo.commit({"config.rb": "allow_nil = true\n"}, "Add a setting", author="Ada <ada@example.org>")
    finder = {"finder.rb": "def find(id, allow_nil: false)\nend\n"}
    repo.commit(finder, "Let find give nil", author="Ben <ben@example.org>")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    for question in ("Who added the allow_nil option of find?", "who added allow_nil to find?"):
        assert not lead_of(engine, question).startswith("A line with")
    assert lead_of(engine, "Who added allow_nil to find_out?").startswith("This can't")
    assert lead_of(engine, "Who added `allow_nil`?").startswith("A line with `allow_nil` was first added by Ada")


def test_a_benchmark_introduces_nothing(tmp_path: Path) -> None:
    """In immer, a function was said to be added with a benchmark that called it before there was one."""
    repo = RepositoryBuilder(tmp_path / "kiln")
    bench = {"perf-testing/fire.mjs": "kiln.fireEvenly(1)\n"}
    repo.commit(bench, "Measure another branch", author="Ada <ada@example.org>")
    code = {"src/kiln.js": "export function fireEvenly(x) {\n}\n", "test/kiln.test.js": "fireEvenly(1)\n"}
    repo.commit(code, "Fire evenly", author="Ben <ben@example.org>")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    sentence = lead_of(engine, "When was fireEvenly added?")
    assert sentence.startswith(
        "A line with `fireEvenly` was first added outside of tests, benchmarks, examples and documents by Ben"
    )
    assert "in `src/kiln.js`" in sentence
    assert "by Ada" in lead_of(engine, "Who first used fireEvenly?")


def test_a_version_is_a_value_that_a_name_is_changed_to(tmp_path: Path) -> None:
    """A name that was changed to `v2.1.0` was said not to be understood."""
    repo = RepositoryBuilder(tmp_path / "kiln")
    repo.commit({"vars.yml": 'kiln_version: "v2.0.0"\n'}, "Add", author="Ada <ada@example.org>")
    repo.commit({"vars.yml": 'kiln_version: "v2.1.0"\n'}, "Bump", author="Ben <ben@example.org>")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    for question in ("When was kiln_version changed to v2.1.0?", "What commit set kiln_version to v2.1.0?"):
        assert lead_of(engine, question).startswith("A line with `kiln_version` set to `v2.1.0` was first added by Ben")


def test_a_value_of_an_inner_class_is_none_of_the_outer_module(tmp_path: Path) -> None:
    """The fallback of a key in `Kiln::Query` was stated as the default of `Kiln.timeout`."""
    outer = "module Kiln\n  class << self\n    attr_accessor :timeout\n  end\n  self.timeout = 10\nend\n"
    inner = (
        "module Kiln\n  class Query\n    def prepare(payload)\n"
        '      payload[:timeout] ||= "#{Kiln.timeout}ms"\n    end\n  end\nend\n'
    )
    engine = engine_for(tmp_path, {"lib/kiln.rb": outer, "lib/kiln/query.rb": inner})
    assert "`10`" in lead_of(engine, "What is Kiln.timeout by default?")
    assert "ms" not in lead_of(engine, "What is Kiln.timeout by default?")


def test_bases_in_unread_forms_are_not_counted_as_none(tmp_path: Path) -> None:
    lisp = "(defclass regex ()\n  ())\n\n(defclass anchor (regex)\n  ())\n"
    engine = engine_for(tmp_path, {"classes.lisp": lisp})
    assert "**0**" not in lead_of(engine, "How many classes inherit from regex?")
    assert "`classes.lisp`, line 4" in lead_of(engine, "Where is the anchor class defined?")


def test_a_default_of_a_role_is_replaced_by_its_variables(tmp_path: Path) -> None:
    files: Files = {
        "defaults/main.yml": "---\nkiln_library: python-clay\nkiln_user: potter\n",
        "vars/Debian.yml": "---\nkiln_library: python3-clay\n",
        "tasks/main.yml": '- apt:\n    name: "{{ kiln_library }}"\n',
    }
    engine = engine_for(tmp_path, files)
    lead = lead_of(engine, "What is the default of kiln_library?")
    assert "`python-clay`" in lead
    assert "`vars/Debian.yml` has another value" in lead
    assert "another value" not in lead_of(engine, "What is the default of kiln_user?")


def test_a_kind_of_definition_is_no_word_of_a_compound(tmp_path: Path) -> None:
    source = "pub fn read(text: []const u8) !f32 {\n    return try std.fmt.parseFloat(f32, text);\n}\n"
    engine = engine_for(tmp_path, {"src/read.zig": source})
    assert "`parseFloat function`" not in lead_of(engine, "Is there a parseFloat function?")


def test_calls_of_another_class_are_none_of_the_one_that_is_named(tmp_path: Path) -> None:
    """Calls of a circuit breaker were stated for those of a retry policy, which has a function of the same name."""
    policy = "package kiln;\n\npublic class {0} {{\n  public {0} withDelay(int delay) {{\n    return this;\n  }}\n}}\n"
    use = "package kiln;\n\nclass Use {\n  Breaker make() {\n    return new Breaker()\n        .withDelay(1);\n  }\n}\n"
    files: Files = {
        "src/kiln/Retry.java": policy.format("Retry"),
        "src/kiln/Breaker.java": policy.format("Breaker"),
        "src/kiln/Use.java": use,
    }
    engine = engine_for(tmp_path, files)
    assert not lead_of(engine, "What calls Retry.withDelay?").startswith("`withDelay` is called by name")
    assert not lead_of(engine, "What calls withDelay of Retry?").startswith("`withDelay` is called by name")


def test_a_case_of_an_enum_is_no_condition(tmp_path: Path) -> None:
    source = "enum Glaze: Int {\n    case matte = 1\n    case glossy = 2\n}\n"
    engine = engine_for(tmp_path, {"Glaze.swift": source})
    lead = lead_of(engine, "What is Glaze.glossy?")
    assert "`2`" in lead
    assert "condition" not in lead


def test_a_comment_that_data_contradict_is_no_default(tmp_path: Path) -> None:
    """In puppetlabs-ntp, the comment says 0664, and the data that set the mode say 0644."""
    comment = "# @param kiln_mode\n#   The mode of the file. Default value: '0664'.\n#\n"
    manifest = comment + "class kiln (\n  String $kiln_mode,\n) {}\n"
    files: Files = {"manifests/init.pp": manifest, "data/common.yaml": "---\nkiln::kiln_mode: '0644'\n"}
    assert "0664" not in lead_of(engine_for(tmp_path / "a", files), "What is the default of kiln_mode?")
    files["data/common.yaml"] = "---\nkiln::kiln_mode: '0664'\n"
    assert "0664" in lead_of(engine_for(tmp_path / "b", files), "What is the default of kiln_mode?")


def test_a_long_docstring_hides_no_other_default(tmp_path: Path) -> None:
    """In aleph, 60000 of a second function stood below a docstring of more lines than were looked at."""
    docstring = "".join(f"   | `option-{number}` | an 'option' |\n" for number in range(70))
    form = '(defn {}\n  "{}"\n  [{{:keys [control-period]\n    :or   {{control-period {}}}}}]\n  control-period)\n'
    files: Files = {
        "src/flow.clj": f"(ns flow)\n\n{form.format('pool', 'Make one.', 10000)}",
        "src/http.clj": f"(ns http)\n\n{form.format('connect', docstring, 60000)}",
    }
    lead = lead_of(engine_for(tmp_path, files), "What is the default of control-period?")
    assert "`10000`" not in lead or "`60000`" in lead


def test_a_default_argument_replaces_the_first_value_of_a_slot(tmp_path: Path) -> None:
    """In hunchentoot, max-thread-count was stated to be nil, while its class passes 100."""
    source = (
        "(defvar *default-burn-count* 100)\n\n(defclass kiln ()\n  ((burn-count\n    :initarg :burn-count\n"
        "    :initform nil\n    :accessor kiln-burn-count))\n  (:default-initargs\n"
        "   :burn-count *default-burn-count*))\n"
    )
    assert "`nil`" not in lead_of(engine_for(tmp_path, {"kiln.lisp": source}), "What is the default of burn-count?")


def test_a_manifest_of_puppet_lists_modules(tmp_path: Path) -> None:
    """In puppetlabs-apache, "does it depend on puppetlabs/concat" was denied, since only its Gemfile was read."""
    metadata = (
        '{\n  "name": "clay-kiln",\n  "dependencies": [\n    {\n      "name": "clay/glaze",\n'
        '      "version_requirement": ">= 4.1.0 < 11.0.0"\n    }\n  ]\n}\n'
    )
    engine = engine_for(tmp_path, {"metadata.json": metadata, "Gemfile": "gem 'rake', '~> 13.0'\n"})
    assert lead_of(engine, "Does it depend on clay/glaze?").startswith("Yes: `metadata.json` lists `clay/glaze`")
    assert lead_of(engine, "Does it depend on clay/oven?").startswith("No: no searched manifest")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("kiln-pack.json", '{\n  "uses": ["clay/glaze"]\n}\n'),
        ("metadata.rb", "name 'kiln'\ndepends 'clay/glaze', '~> 1.0'\n"),
        ("Puppetfile", "mod 'clay/glaze', '1.0'\n"),
        (".gitmodules", '[submodule "clay/glaze"]\n\tpath = glaze\n\turl = https://example.org/clay/glaze\n'),
        ("wally.toml", '[dependencies]\nglaze = "clay/glaze@1.0"\n'),
    ],
)
def test_a_file_that_may_list_packages_proves_no_no(tmp_path: Path, path: str, text: str) -> None:
    """The manifest of a tool that isn't known here may list what the known ones don't."""
    engine = engine_for(tmp_path, {path: text, "Gemfile": "gem 'rake', '~> 13.0'\n"})
    assert not lead_of(engine, "Does it depend on clay/glaze?").startswith("No")
    assert lead_of(engine, "Does it depend on clay/oven?").startswith("No: no searched manifest")


def test_an_import_of_zig_defines_nothing(tmp_path: Path) -> None:
    """In zls, a struct was said to be defined in each file that imports it."""
    files: Files = {
        "src/KilnStore.zig": "const KilnStore = @This();\n\nfire: u32,\n",
        "src/main.zig": 'const KilnStore = @import("KilnStore.zig");\n\npub fn main() void {}\n',
    }
    sentence = lead_of(engine_for(tmp_path, files), "Where is KilnStore defined?")
    assert sentence.startswith("`KilnStore` is defined in `src/KilnStore.zig`, line 1")
    assert "main.zig" not in sentence


def test_a_name_without_brackets_may_be_a_call_in_ruby(tmp_path: Path) -> None:
    """In draper, a method was said to be called in its own definition alone: other calls have no brackets."""
    source = (
        "class Kiln\n  def glaze_of(x = 1)\n    superclass.glaze_of(x)\n  end\n\n"
        "  def fire(kiln)\n    kiln.glaze_of.burn\n  end\nend\n"
    )
    sentence = lead_of(engine_for(tmp_path, {"kiln.rb": source}), "Who calls glaze_of?")
    assert "`fire`" in sentence


def test_a_noun_before_a_name_asks_whether_it_exists(tmp_path: Path) -> None:
    engine = engine_for(tmp_path, {"kiln.go": "package kiln\n\nfunc FireTwice() {}\n"})
    for question in ("Is there a function FireTwice?", "is there a FireTwice function"):
        assert lead_of(engine, question).startswith("Yes: `FireTwice` is defined in `kiln.go`")


def test_the_file_of_a_package_is_no_thing_of_its_directory(tmp_path: Path) -> None:
    """In django-axes, 11 files of ten migrations and `__init__.py` were counted as migrations."""
    names = ("__init__.py", "0001_initial.py", "0002_clay.py")
    files: Files = {f"kiln/migrations/{name}": "X = 1\n" for name in names}
    engine = engine_for(tmp_path, files)
    lead = lead_of(engine, "How many migrations are in kiln/migrations?")
    assert lead.startswith("**2** files in `kiln/migrations/*.py`, besides `__init__.py`")
    assert lead_of(engine, "How many files are in kiln/migrations?").startswith("**3** files in")


def test_a_list_for_tests_makes_nothing_a_dependency(tmp_path: Path) -> None:
    manifest = "[project]\nname = 'mill'\nversion = '1'\ndependencies = ['clay>=8.0']\n"
    files: Files = {"pyproject.toml": manifest, "requirements/testing.in": "glaze\npytest\n"}
    engine = engine_for(tmp_path, files)
    assert not lead_of(engine, "Does mill depend on glaze?").startswith("Yes")
    assert lead_of(engine, "Does mill depend on clay?").startswith("Yes: `pyproject.toml` lists `clay")


def test_a_key_with_two_values_says_so(tmp_path: Path) -> None:
    """In puppet-nginx, the map of all platforms says false, and those of two platforms say true."""
    manifest = (
        "class kiln::params {\n  $_module_defaults = {\n    'manage_kiln' => false,\n  }\n"
        "  case $facts['os']['family'] {\n    'Debian': {\n      $_overrides = {\n        'manage_kiln' => true,\n"
        "      }\n    }\n    default: {\n      $_overrides = {}\n    }\n  }\n}\n"
    )
    lead = lead_of(engine_for(tmp_path, {"manifests/params.pp": manifest}), "What does manage_kiln default to?")
    assert "`false`" not in lead or "other lines of the file set it, too" in lead


def test_a_defining_macro_may_end_with_a_sign(tmp_path: Path) -> None:
    """In datascript, a private function of another file was the only definition of entid beside `(defn+ entid`."""
    files: Files = {
        "src/kiln/db.cljc": "(ns kiln.db)\n\n(defn+ ^number burn-id [db eid]\n  eid)\n",
        "src/kiln/impl.cljc": "(ns kiln.impl)\n\n(defn- burn-id [db eid]\n  eid)\n",
    }
    assert "`src/kiln/db.cljc`, line 3" in lead_of(engine_for(tmp_path, files), "Where is burn-id defined?")


def test_the_default_of_the_next_option_is_not_that_of_this_one(tmp_path: Path) -> None:
    """In shelltestrunner, the file suffix was said to be 1, which is the number of threads four lines below."""
    readme = (
        "# Kiln\n\n```\n     --extension=EXT    File suffix of clay files (default: .clay)\n"
        "  -w --with=EXE         Replace the first word of commands with EXE\n"
        "                        (unindented only)\n"
        "  -o --timeout=SECS     Number of seconds (default: no limit)\n"
        "  -j --threads=N        Number of threads for burning (default: 1)\n```\n"
    )
    engine = engine_for(tmp_path, {"README.md": readme, "kiln.py": "x = 1\n"})
    assert "is `1`" not in lead_of(engine, "What file suffix does the `extension` argument default to?")
    assert "default of `threads` is `1`" in lead_of(engine, "What does the threads option default to?")


def test_the_head_of_an_equation_calls_nothing(tmp_path: Path) -> None:
    """In shelltestrunner, a function of Haskell was said to be called by the head of its second equation."""
    source = (
        'module Kiln where\n\nfireWith :: String -> String -> Bool\nfireWith s "" = fireWith s "^"\nfireWith s r\n'
        "    | length r <= 300 = s == r\n    | otherwise       = False\n"
    )
    main = 'module Main where\n\nimport Kiln\n\nburn :: Bool\nburn = fireWith "a" "b"\n'
    sentence = lead_of(engine_for(tmp_path, {"src/Kiln.hs": source, "src/Main.hs": main}), "what uses fireWith")
    assert "`burn` (line 6 of `src/Main.hs`)" in sentence
    assert "line 5" not in sentence


def test_the_version_of_a_language_is_no_package(tmp_path: Path) -> None:
    """In BenchmarkTools.jl, "what Julia version does compat ask for" was answered with the package `Compat`."""
    manifest = 'name = "Kiln"\n\n[deps]\nCompat = "34da2185"\n\n[compat]\nCompat = "4.11"\njulia = "1.6"\n'
    engine = engine_for(tmp_path, {"Project.toml": manifest, "src/Kiln.jl": "module Kiln\nend\n"})
    assert (
        "`4.11`"
        not in lead_of(engine, "What Julia version does compat ask for in the root Project.toml?").partition(
            "Most relevant:"
        )[0]
    )
    assert "`1.6`" in lead_of(engine, "Which julia version does Project.toml require?")


def test_a_number_of_files_is_no_value_in_one_of_them(tmp_path: Path) -> None:
    """In spectre.console, "how many files are there in …/Progress/Columns" was answered with the width of a column."""
    source = "class BarColumn\n{\n    public int Width { get; set; } = 40;\n}\n"
    files: Files = {f"src/Live/Columns/{name}Column.cs": source for name in ("Bar", "Text", "Spin")}
    engine = engine_for(tmp_path, files)
    assert "is set to" not in lead_of(engine, "How many files are there in src/Live/Columns?")


def test_where_a_method_gets_called_is_no_file_of_its_words(tmp_path: Path) -> None:
    """In spectre.console, "find where Aligner.Align gets called" was answered with a file that aligns."""
    files: Files = {
        "src/Align.cs": "/// <summary>\n/// Aligns a thing, called Align.\n/// </summary>\nclass Align\n{\n}\n",
        "src/Aligner.cs": "static class Aligner\n{\n    static int Align(int x)\n    {\n        return x;\n    }\n}\n",
        "src/Text.cs": "class Text\n{\n    int Render()\n    {\n        return Aligner.Align(1);\n    }\n}\n",
    }
    sentence = lead_of(engine_for(tmp_path, files), "Find where Aligner.Align gets called.")
    assert "begins with" not in sentence
    assert "Render" in sentence
