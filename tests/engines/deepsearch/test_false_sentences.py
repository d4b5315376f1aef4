"""Sentences that readers found to be false: each question has its true answer, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

import sourcelight
from engines.deepsearch.asking import engine_for, lead_of, research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

RETRY = """module Kite

function fly!(client)
    retry_attempt = 1
    while true
        retry_attempt += 1
    end
end

function tow(client;
        towlines::Integer=4,
        speed=2)
    return client
end

end
"""
CONTROL = """def inspect_command(args=None,
                    visible=True, default_timeout=1.0, help=None):
    return args


def rewind(queue):
    default_depth = 7
    return queue[default_depth]


class Hash:
    def __hash__(self):
        return 3

    __hash__ = None
"""
FIELDS = '''class Field:
    """A field."""

    def serialize(self, value):
        """Serializes ``value``.

        Example: ::

            class TitleCase(Field):
                def serialize(self, value):
                    return str(value).title()

        :return: The value.
        """
        return value


class Text(Field):
    pass
'''
KEYS = """def methodkey(self, *args, **kwargs):
    return args


class Keys:
    def own_key(self, name):
        return name
"""
BROKEN = """void
test_first (void)
{
  int count = 0;
}

#define BODY(x) case x: {
void
test_second (int req)
{
  switch (req) {
    BODY(1) return; }
  }
}}

void
test_third (void)
{
  return;
}
"""
GUICE = """public final class Guice {
  public static Injector createInjector(Module... modules) {
    return createInjector(Stage.DEVELOPMENT, modules);
  }

  public static Injector createInjector(Stage stage, Module... modules) {
    return null;
  }
}
"""
CORE = '''class Book:
    def export(self, format):
        """Export :class:`Dataset` object to `format`."""
        return format
'''
CORS = "package web\n\nfunc Cors() int {\n\treturn 1\n}\n"
CORS_TEST = (
    'package web\n\nimport "testing"\n\nfunc TestCors(t *testing.T) {\n\tif Cors() != 1 {\n\t\tt.Fail()\n\t}\n}\n'
)
GUID = "export interface ZodGUIDDef {\n  guid: string;\n}\nexport function makeGuid() {\n  return 1;\n}\n"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder = tmp_path_factory.mktemp("false")
    repo = RepositoryBuilder(folder / "kite")
    repo.commit(
        {
            "src/kite.jl": RETRY,
            "kite/control.py": CONTROL,
            "kite/fields.py": FIELDS,
            "kite/keys.py": KEYS,
            "kite/core.py": CORE,
            "tail.c": BROKEN,
            "whole.c": "void\ntest_a (void)\n{\n}\n\nvoid\ntest_b (void)\n{\n}\n",
            "Guice.java": GUICE,
            "web/cors.go": CORS,
            "web/cors_test.go": CORS_TEST,
            "web/guid.ts": GUID,
            "helm-chart/Chart.yaml": "apiVersion: v2\nname: kite\nversion: 1.0.0\n",
            "requirements/default.txt": "billiard>=4.2\nvine>=5.1\n",
            "requirements/docs.txt": "sphinx>=5\n",
            "setup.py": "from setuptools import setup\n\nsetup(install_requires=read_lists())\n",
            "LICENSE": "The MIT License (MIT)\n\nPermission is hereby granted, free of charge, to any person.\n",
        },
        "Add the kite",
    )
    return open_engine([repo.path], index=folder / "index", workers=1)


def _text(engine: LocalEngine, question: str) -> str:
    return research(engine, question).text.split("## Method")[0]


@pytest.mark.parametrize(
    ("question", "wrong"),
    [
        ("What is the default retry count?", "is set to `1`"),
        ("What is the default retry attempt?", "is set to `1`"),
        ("What is the default depth of rewind?", "is set to `7`"),
        ("What's the default visibility timeout for redis?", "sets a value"),
        ("What is the initial hash?", "__hash__` is set"),
        ("What is the default of commit in export_set for a dataset class?", "sets a value"),
    ],
)
def test_a_variable_of_a_function_is_no_default(engine: LocalEngine, question: str, wrong: str) -> None:
    assert wrong not in _text(engine, question)


def test_a_typed_parameter_of_julia_has_a_default(engine: LocalEngine) -> None:
    assert "`4`" in _text(engine, "What is the default number of towlines?").split("\n")[0]


def test_an_example_in_a_docstring_is_no_subclass(engine: LocalEngine) -> None:
    assert _text(engine, "How many classes inherit from Field?").startswith("**1** class")


def test_a_file_with_errors_of_its_grammar_has_a_least_number(engine: LocalEngine) -> None:
    text = _text(engine, "How many functions in tail.c begin with test_?")
    assert text.startswith("At least ")
    assert "covers everything" not in text
    second_text = _text(engine, "How many functions in whole.c begin with test_?")
    assert second_text.startswith("**2** functions")


def test_an_overload_may_supply_what_a_head_requires(engine: LocalEngine) -> None:
    assert "has no default" not in _text(engine, "What is the default stage of createInjector?")


def test_self_is_a_parameter_outside_of_a_class(engine: LocalEngine) -> None:
    assert "`self`, `args` and `kwargs`" in _text(engine, "What parameters does methodkey take?")
    assert "the parameter `name`" in _text(engine, "What parameters does own_key take?")


def test_a_stem_alone_is_no_reason(engine: LocalEngine) -> None:
    assert "Matches `guide`" not in _text(engine, "Where is the guide?")


def test_a_chart_in_a_subdirectory_is_not_the_project(engine: LocalEngine) -> None:
    text = _text(engine, "What dependencies does it have?")
    assert "Chart.yaml" not in text
    assert text.startswith("`requirements/default.txt` lists 2 dependencies: `billiard` and `vine`")


def test_the_own_license_is_not_that_of_dependencies(engine: LocalEngine) -> None:
    for question in ("What's the licence of the dependencies?", "Which licenses do the dependencies have?"):
        assert "LICENSE" not in _text(engine, question).split("\n")[0]
    assert "The MIT License" in _text(engine, "What is the license of the package?")


def test_tests_of_a_file_are_not_those_in_it(engine: LocalEngine) -> None:
    for verb in ("cover", "exercise", "test"):
        for noun in ("tests", "test files"):
            text = _text(engine, f"Which {noun} {verb} cors.go?")
            assert "0 test" not in text.replace("*", "")


def test_dependencies_of_julia_are_listed(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("julia")
    repo = RepositoryBuilder(folder / "Kite.jl")
    manifest = (
        'name = "Kite"\nversion = "0.1.0"\n\n[deps]\nDates = "ade2ca70"\nURIs = "5c2747f8"\n\n[compat]\nURIs = "1.6"\n'
        '\n[extras]\nTest = "8dfed614"\n'
    )
    repo.commit({"Project.toml": manifest, "src/Kite.jl": "module Kite\nend\n"}, "Add the kite")
    engine = open_engine([repo.path], index=folder / "index", workers=1)
    text = _text(engine, "What are the dependencies?")
    assert text.startswith("`Project.toml` lists 2 dependencies: `Dates` and `URIs`")


def test_a_constant_isn_t_the_member_that_is_spelled_alike(tmp_path: Path) -> None:
    """The list MONTHS of apscheduler was answered with the default of a field `months`."""
    months = ",\n".join(f'    "month number {number} of the calendar"' for number in range(1, 13))
    files: dict[str | bytes, str | bytes | None] = {
        "kiln/names.py": f"MONTHS = [\n{months},\n]\n\n\ndef name_of(number):\n    return MONTHS[number]\n",
        "kiln/interval.py": "@dataclass\nclass Interval:\n    months: int = 0\n    weeks: int = 0\n",
    }
    engine = engine_for(tmp_path, files)
    assert lead_of(engine, "What is the value of MONTHS?").startswith('`MONTHS` is set to `[ "month')
    assert lead_of(engine, "What is the value of months?").startswith("`months` is set to `0`")


def test_a_difference_of_names_that_several_files_define_says_so(tmp_path: Path) -> None:
    """In cattrs, each format has the two functions; the first file was described as if it were the only one."""
    code = "def bake(clay):\n    return clay\n\n\ndef cool(clay):\n    return None\n"
    engine = engine_for(tmp_path, {"kiln/gas.py": code, "kiln/wood.py": code})
    sentence = lead_of(engine, "What is the difference between bake and cool?")
    assert sentence.startswith("`bake` is a function in `kiln/gas.py`, line 1;")
    assert "; both names are defined elsewhere, too" in sentence


def test_commits_of_a_first_name_name_the_people_that_have_it(tmp_path: Path) -> None:
    """In Newtonsoft.Json, two commits "by Richard" are of Richard and of Richard Schneider."""
    repo = RepositoryBuilder(tmp_path / "kiln")
    for number, name in enumerate(["Rika", "Rika Stone", "Rika Stone", "Anders"]):
        repo.commit({f"{number}.txt": "clay\n"}, f"Add {number}", author=f"{name} <{number}@example.org>")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    sentence = lead_of(engine, "How many commits did Rika make?")
    assert sentence.startswith("**3** commits by `Rika`: Rika Stone (2) and Rika (1).")
    assert lead_of(engine, "How many commits did Anders make?").startswith("**1** commit by `Anders`.")


def test_a_placeholder_of_an_address_makes_nobody_one_person(tmp_path: Path) -> None:
    """In parsel, two people commit as ``none@none``: their commits were added up under one of the names."""
    repo = RepositoryBuilder(tmp_path / "kiln")
    people = ["Rika <none@none>"] * 2 + ["Anders <none@none>"] * 2 + ["Jo <jo@example.org>"] * 3
    for number, person in enumerate(people):
        repo.commit({f"{number}.txt": "clay\n"}, f"Add {number}", author=person)
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert lead_of(engine, "Who has the most commits?").startswith("Jo has the most commits: 3.")
    assert lead_of(engine, "How many authors are there?").startswith("**3** authors have commits")
    with sourcelight.open(repo.path, index_dir=tmp_path / "frames") as code:
        frame = code.contributors()
    assert dict(zip(frame["author"], frame["commits"], strict=True)) == {"Jo": 3, "Anders": 2, "Rika": 2}


def test_a_file_without_an_ending_is_no_author(tmp_path: Path) -> None:
    engine = engine_for(tmp_path, {"gradlew": "#!/bin/sh\n# gradlew\nexit 0\n", "kiln.py": "import os\n"})
    assert "commits by" not in lead_of(engine, "How many lines does gradlew have?")


def test_a_constant_of_util_has_a_value_of_its_own(tmp_path: Path) -> None:
    """In leveldb, ``util`` is no directory of tools: `kBlockSize` is one thing of the log, and one of the arena."""
    engine = engine_for(
        tmp_path,
        {
            "db/log.h": "static const int kBlockSize = 32768;\n",
            "util/arena.cc": "static const int kBlockSize = 4096;\n",
        },
    )
    sentence = lead_of(engine, "What is the value of kBlockSize?")
    assert sentence.startswith(
        "`kBlockSize` is set to `32768`, in `db/log.h`, line 1; `util/arena.cc` has another value"
    )


def test_a_name_alone_may_be_a_call_of_ruby(tmp_path: Path) -> None:
    """In slim, `reset` is called once with brackets and once without: "1 call" left the second one out."""
    text = (
        "class Kiln\n  def fire(clay)\n    reset(clay)\n    bake\n    reset\n  end\n\n  def reset(clay)\n  end\nend\n"
    )
    engine = engine_for(tmp_path, {"lib/kiln.rb": text})
    assert "(at least 1 call in 1 file; other lines have the name, too)" in lead_of(engine, "What calls reset?")


def test_a_count_of_packages_says_that_php_itself_is_none(tmp_path: Path) -> None:
    """In monolog, ``require-dev`` has 19 entries; one of them is an extension of PHP."""
    manifest = '{\n "require": {\n  "php": ">=8.1",\n  "ext-json": "*",\n  "psr/log": "^2.0"\n }\n}\n'
    engine = engine_for(tmp_path, {"composer.json": manifest})
    sentence = lead_of(engine, "How many dependencies does it have?")
    assert sentence.startswith("`composer.json` lists 1 dependency beside PHP and its extensions: `psr/log`")


def test_a_name_that_only_another_case_has_was_removed_all_the_same(tmp_path: Path) -> None:
    """In gitit, "No commit removed a line with `RPXnow`" denied the removal of Rpxnow."""
    repo = RepositoryBuilder(tmp_path / "kiln")
    repo.commit({"kiln.py": "import glazenow\n", "clay.py": "\n"}, "Add it")
    repo.commit({"kiln.py": "import os\n"}, "Drop GlazeNow", author="Rika <rika@example.org>")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    sentence = lead_of(engine, "Who removed GlazeNow?")
    assert sentence.startswith("A line with `GlazeNow` in another case was last removed by Rika"), sentence
    assert "; no searched line has it anymore" in sentence
    assert "No commit" not in lead_of(engine, "Who removed GlazeLater authentication?")


def test_a_count_of_rocks_says_that_lua_is_none(tmp_path: Path) -> None:
    engine = engine_for(tmp_path, {"kiln.rockspec": 'dependencies = {\n  "lua == 5.1",\n  "plenary.nvim",\n}\n'})
    sentence = lead_of(engine, "What are the dependencies in the rockspec?")
    assert sentence.startswith("`kiln.rockspec` lists 1 dependency beside Lua itself: `plenary.nvim`"), sentence


def test_the_key_of_a_level_is_no_level(tmp_path: Path) -> None:
    """In zap, the default log level was answered with the key under which levels are written."""
    code = 'package log\n\nvar encoder = Encoder{\n\tLevelKey: "level",\n}\n'
    engine = engine_for(tmp_path, {"log.go": code})
    assert lead_of(engine, "What is the default log level?").startswith("Most relevant:")


def test_a_stub_leaves_the_default_open(tmp_path: Path) -> None:
    """In ultrajson, "The default of `indent` of `dumps` is `...`" quoted the sign for what the stub leaves out."""
    stub = "def bake(clay, heat: int = ..., glaze: bool = ...) -> str: ...\n\nLIMIT: int = ...\n"
    engine = engine_for(tmp_path, {"kiln-stubs/__init__.pyi": stub, "kiln.c": "int bake(int heat);\n"})
    for question in ("What's the default for heat in bake?", "What is the default heat?", "What is LIMIT set to?"):
        assert "`...`" not in lead_of(engine, question), question


def test_what_a_test_sets_is_no_default(tmp_path: Path) -> None:
    """In uthash, a filter that is off unless defined was said to be 16, as one of its tests defines it."""
    header = "#ifdef KILN_FILTER\n#define KILN_BITS (1 << KILN_FILTER)\n#endif\n"
    test = '#define KILN_FILTER 16\n#include "kiln.h"\n'
    engine = engine_for(tmp_path, {"src/kiln.h": header, "tests/test1.c": test, "tests/test2.c": test})
    assert "16" not in lead_of(engine, "What's KILN_FILTER set to by default?").split("\n")[0]
    assert "is set to `16`" in lead_of(engine, "What is KILN_FILTER set to?")


def test_the_middle_of_a_sentence_names_no_license(tmp_path: Path) -> None:
    """In a book, the license was "and certain other rights specified in the public license below. The"."""
    body = "Creators grant permission to use material under copyright\nand rights specified in the public license.\n"
    title = "Attribution-NonCommercial-NoDerivatives 4.0 International\n\n"
    engine = engine_for(tmp_path / "titled", {"LICENSE.txt": title + body, "ch1.md": "# Chapter 1\n"})
    sentence = lead_of(engine, "What's the license?")
    assert sentence.startswith("`LICENSE.txt` says “Attribution-NonCommercial-NoDerivatives 4.0 International”")
    engine = engine_for(tmp_path / "untitled", {"LICENSE.txt": body, "ch1.md": "# Chapter 1\n"})
    assert "LICENSE.txt` says" not in lead_of(engine, "What's the license?")


def test_both_of_two_licenses_are_quoted(tmp_path: Path) -> None:
    """In miniaudio, the license was "ALTERNATIVE 1 - Public Domain", without the second one."""
    body = "Choose from these:\n\nALTERNATIVE 1 - Public Domain\n\nNo rights.\n\nALTERNATIVE 2 - MIT No Attribution\n"
    engine = engine_for(tmp_path, {"LICENSE": body, "kiln.c": "int kiln;\n"})
    sentence = lead_of(engine, "Which license?")
    assert "“ALTERNATIVE 1 - Public Domain” and “ALTERNATIVE 2 - MIT No Attribution”" in sentence


def test_what_a_default_is_used_for_names_no_setting(tmp_path: Path) -> None:
    """In miniaudio, "set this to 0 (default) to use the engine's channel count" is no count of an engine."""
    comment = "/* Set this to 0 (default) to use the kiln's shelf count. */"
    header = f"typedef struct\n{{\n    int shelvesOut;    {comment}\n}} glaze_config;\n"
    engine = engine_for(tmp_path, {"glaze.h": header})
    assert lead_of(engine, "What's the default shelf count of a kiln?").startswith("Most relevant:")


def test_a_record_for_a_call_sets_no_default_of_the_module(tmp_path: Path) -> None:
    """In dry-types, a variable `options` of one file was said to set the default namespace of Types."""
    params = 'module Clay\n  module Kilns\n    options = {glaze: "raku"}\n\n    fire(options)\n  end\nend\n'
    engine = engine_for(tmp_path, {"lib/kilns/params.rb": params})
    assert "raku" not in lead_of(engine, "What's the default glaze of Kilns()?")


def test_no_word_of_the_form_of_a_question_is_missed(tmp_path: Path) -> None:
    """In rack-test, "is digest auth still supported?" was answered with "No searched file has `still`"."""
    engine = engine_for(tmp_path, {"kiln.py": "def fire(clay):\n    return clay\n"})
    for question in ("Is fire still supported?", "Which clay does fire take unless told otherwise?"):
        assert "No searched file has" not in lead_of(engine, question), question


def test_two_files_have_an_author_each(tmp_path: Path) -> None:
    """In xh, "`README.md` and `CHANGELOG.md` was added by …" named the author and the day of the first one."""
    repo = RepositoryBuilder(tmp_path / "kiln")
    repo.commit({"README.md": "# Kiln\n"}, "Start", author="Ada <ada@example.org>")
    repo.commit({"CHANGELOG.md": "# 1\n"}, "Add changes", author="Rika <rika@example.org>")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    sentence = lead_of(engine, "Who added README.md and CHANGELOG.md?")
    assert sentence.startswith("`README.md` was added by Ada")
    assert "; `CHANGELOG.md` was added by Rika" in sentence


def test_a_file_in_another_case_is_not_denied(tmp_path: Path) -> None:
    """In xh, "No commit changed `cargo.lock`" denied Cargo.lock; in chi, README had no ending."""
    repo = RepositoryBuilder(tmp_path / "kiln")
    repo.commit({"Cargo.lock": "version = 3\n", "README.md": "# Kiln\n"}, "Start", author="Ada <ada@example.org>")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert lead_of(engine, "Who added cargo.lock?").startswith("`Cargo.lock` was added by Ada")
    assert lead_of(engine, "Who added README?").startswith("`README.md` was added by Ada")
    assert not lead_of(engine, "Who removed `Kiln#fire()`?").startswith("No commit removed")


def test_a_default_of_one_case_is_not_the_default(tmp_path: Path) -> None:
    """In cc-rs, "defaults to `false` for windows-gnu and to `true` for all other targets" was said to be `false`."""
    source = (
        "impl Kiln {\n    /// Whether to glaze.\n    ///\n    /// This defaults to `false` for raku and to `true`.\n"
        "    pub fn glaze(&mut self, glaze: bool) {}\n}\n"
    )
    engine = engine_for(tmp_path, {"src/kiln.rs": source})
    assert "is `false`" not in lead_of(engine, "What's the default of glaze?")
