"""Lines that are shown first where no sentence is proven: build files, values, and names in code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.deepsearch.asking import first_place, research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FILES: dict[str | bytes, str | bytes | None] = {
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.21)\nproject(Boat VERSION 4.5.6 LANGUAGES CXX)\n",
    "Cargo.toml": '[package]\nname = "boat"\nversion = "4.5.6"\n\n[features]\ndefault = ["sails"]\nsails = []\n',
    "gradle/libs.versions.toml": '[versions]\nkotlin = "2.0.21"\nagp = "8.1.0"\n',
    "global.json": '{\n  "sdk": {\n    "version": "8.0.100"\n  }\n}\n',
    "web/package.json": (
        '{\n  "devDependencies": {\n    "@typescript-eslint/parser": "^6",\n    "typescript": "^5.8.2",\n'
        '    "vitest": "^1.0.0"\n  }\n}\n'
    ),
    "variables.tf": (
        'variable "name" {\n  type    = string\n  default = "boat"\n}\n\n'
        'variable "harbor_suffix" {\n  description = "Suffix of harbors"\n'
        '  type        = string\n  default     = "quay"\n}\n\n'
        'resource "sea_anchor" "this" {\n  name = var.name\n}\n'
    ),
    "lib/mast.ex": (
        'defmodule Boat.Mast do\n  @behaviour Boat.Pole\n\n  defexception message: "broken"\n\n'
        "  def climb(mast), do: raise Boat.TooHighError\nend\n"
    ),
    "src/Sizes.cs": "namespace Boat;\n\ninternal static class LoadSizes\n{\n    public const int Cargo = 81920;\n}\n",
    "src/ropes.rb": (
        "class Rope < Cordage\n  @@ignore_knots = false\n\n  def lengths\n    coils + spare_coils\n  end\n\n"
        "  def spare_coils\n    []\n  end\nend\n"
    ),
    "src/tide.kt": (
        "private val DEFAULT_TIDE_TIMEOUT: Duration = 3000.milliseconds\n\n"
        "fun wait(timeout: Duration? = null) = timeout ?: DEFAULT_TIDE_TIMEOUT\n"
    ),
    "src/codes.hpp": "#pragma once\nenum class Codes : int {\n  Calm = 3,\n  Storm = 127\n};\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("boat")
    RepositoryBuilder(root / "boat").commit(FILES, "Add `reef` and `unreef` (#3)")
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("question", "path", "line"),
    [
        ("which cargo features are on by default", "Cargo.toml", 'default = ["sails"]'),
        ("which file declares the sea_anchor resource", "variables.tf", 'resource "sea_anchor" "this" {'),
        ("which modules implement Boat.Pole", "lib/mast.ex", "@behaviour Boat.Pole"),
    ],
)
def test_the_line_that_answers_is_the_first_place(engine: LocalEngine, question: str, path: str, line: str) -> None:
    first = first_place(engine, question)
    assert path in first
    assert " ".join(line.split()) in " ".join(first.split())


def test_a_framework_of_tests_is_stated_by_its_manifest(engine: LocalEngine) -> None:
    text = research(engine, "which test framework and version do they use").text
    assert text.startswith("`web/package.json` lists `vitest` `^1.0.0` (devDependencies)")


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("which cmake do I need to build it", "`CMakeLists.txt` requires CMake `3.21`"),
        ("which dotnet sdk version does global.json pin", "`global.json` requires the .NET SDK `8.0.100`"),
        ("which kotlin version is used to build", "`gradle/libs.versions.toml` sets the Kotlin version to `2.0.21`"),
        ("typescript version?", "`web/package.json` lists `typescript` `^5.8.2` (devDependencies)"),
        ("default of harbor_suffix", 'The default of `harbor_suffix` is `"quay"`, in `variables.tf`, line 6'),
        ("what is the current version of the library", "`Cargo.toml` gives `4.5.6` as the version"),
        ("what are the default features", "`Cargo.toml` enables the feature `sails` by default"),
        (
            "what is the default timeout of waiting for the tide",
            "`DEFAULT_TIDE_TIMEOUT` is set to `3000.milliseconds`, in `src/tide.kt`, line 1",
        ),
        ("how big is the cargo load", "`Cargo` is set to `81920`, in `src/Sizes.cs`, line 5"),
        ("are knots ignored by default?", "`@@ignore_knots` is set to `false`, in `src/ropes.rb`, line 2"),
        ("what number does Codes::Storm have", "`Codes::Storm` is set to `127`, in `src/codes.hpp`, line 4"),
    ],
)
def test_a_line_that_proves_an_answer_is_stated(engine: LocalEngine, question: str, sentence: str) -> None:
    assert research(engine, question).text.startswith(sentence)


def test_a_commit_is_found_by_the_words_of_its_subject(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("subjects")
    builder = RepositoryBuilder(root / "sea")
    builder.commit({"a.py": "x = 1\n"}, "Remove timeout\n\nThe runner enforces one for all of its tests.")
    builder.commit({"a.py": "x = 2\n"}, "Prepare version 0.7.0")
    builder.commit({"a.py": "x = 3\n"}, "Fix docs after timeout removal")
    builder.commit({"a.py": "x = 4\n"}, "Move version checks to tests, prepare the next")
    engine = open_engine([root], index=root / "index", workers=1)
    try:
        assert "“Remove timeout”" in research(engine, "why was the timeout removed?").text.split("\n## ")[0]
        # All words are in the subject: they were understood.
        assert research(engine, "when was the timeout removed?").text.startswith("The commit “Remove timeout” is by")
        assert (
            "“Prepare version 0.7.0”" in research(engine, "when did version 0.7.0 get prepared").text.split("\n## ")[0]
        )
    finally:
        engine.close()


def test_how_often_something_checks_is_no_count(engine: LocalEngine) -> None:
    assert (
        "counted"
        not in research(engine, "how often does the tide timeout check run by default?").text.split("\n## ")[0]
    )


TEXTS: dict[str | bytes, str | bytes | None] = {
    "a.py": "class Oar:\n    pass\n\n\nTEXT = '''\nclass Fake:\n'''\n",
    "b.py": "class Sail:\n    pass\n",
}


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (TEXTS, "**2** classes"),
        # Text that looks like a class, and that no simple reader takes for text.
        ({**TEXTS, "c.py": 'x = "a \\\nclass Mast: b"\n'}, "At least **2** classes"),
    ],
)
def test_a_count_of_types_says_at_least_if_the_words_of_lines_give_another(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str | bytes, str | bytes | None], sentence: str
) -> None:
    root = tmp_path_factory.mktemp("counts")
    RepositoryBuilder(root / "oars").commit(files, "Add oars")
    engine = open_engine([root], index=root / "index", workers=1)
    try:
        assert research(engine, "how many classes are defined?").text.startswith(sentence)
    finally:
        engine.close()


def test_two_names_to_compare_and_a_variable_of_the_environment_are_places(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("compared")
    files: dict[str | bytes, str | bytes | None] = {
        "a.py": "class Reef(Exception):\n    pass\n\n\nclass Furl(Exception):\n    pass\n",
        "b.py": 'import os\n\n\ndef pick():\n    return os.environ.get("LOOKOUT", "")\n',
    }
    RepositoryBuilder(root / "sea").commit(files, "Add sails")
    engine = open_engine([root], index=root / "index", workers=1)
    try:
        text = research(engine, "which environment variable picks the lookout").text
        assert 'os.environ.get("LOOKOUT", "")' in text.split("\n## ")[0]
        text = research(engine, "how do Reef and Furl differ?").text.split("\n## ")[0]
        assert text.index("Reef") < text.index("Furl")
    finally:
        engine.close()


def test_a_document_is_a_place_if_it_alone_has_the_word_that_is_asked_about(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "mill")
    files: dict[str | bytes, str | bytes | None] = {
        f"mill/part{number}.py": f"def use_project_{number}(new):\n    # a new project uses it\n    return new\n"
        for number in range(6)
    }
    files["README.md"] = "# Mill\n\nThis project isn't maintained. New projects should use turbine.\n"
    builder.commit(files, "begin")
    engine = open_engine([builder.path], index=tmp_path / "index", workers=1)
    lead = research(engine, "Why should new projects use turbine instead?").text.split("##")[0]
    assert "3. `README.md`" in lead
    assert "`README.md`" not in research(engine, "How does a new project use it?").text.split("##")[0]
    engine.close()


def test_another_name_with_a_word_of_the_asked_one_sets_nothing_of_it(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "mill")
    files: dict[str | bytes, str | bytes | None] = {
        "mill.f90": "subroutine m\n  write(iunit, fmt='(A)') grain\n  read(iunit, fmt='(I5)') sacks\nend subroutine\n",
        "sack.f90": "subroutine sack\n  write(iunit, fmt='(B)') flour\n  call fill(int_fmt)\nend subroutine\n",
    }
    builder.commit(files, "begin")
    engine = open_engine([builder.path], index=tmp_path / "index", workers=1)
    lead = research(engine, "What is int_fmt set to?").text.split("\n## ")[0]
    assert "sets a value" not in lead
    engine.close()


def test_a_line_without_the_number_of_a_name_sets_nothing_of_it(tmp_path: Path) -> None:
    """The terms of ``test6_1`` are those of ``test``, the key of another file."""
    repository = RepositoryBuilder(tmp_path / "boat")
    script = 'Describe "Unpack" {\n    BeforeAll {\n        $test6_1 = "part01.rar"\n    }\n}\n'
    repository.commit({"Unpack.Tests.ps1": script, "ci.yml": "test:\n  - one\ncache:\n  - test/bin\n"}, "Unpack")
    engine = open_engine([repository.path], index=tmp_path / "index", workers=1)
    lead = research(engine, "What is $test6_1 set to?").text.split("##")[0]

    assert "sets it" not in lead
    assert lead.index("Unpack.Tests.ps1") < lead.index("ci.yml")
    engine.close()
