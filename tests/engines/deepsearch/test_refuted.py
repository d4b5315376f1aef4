"""Sentences that scans of real repositories refuted: former paths, parts of names, directories, words of questions."""

from __future__ import annotations

import re

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder = tmp_path_factory.mktemp("refuted")
    repo = RepositoryBuilder(folder / "skiff")
    body = "".join(f"def row_{number}():\n    return {number}\n" for number in range(20))
    repo.commit(
        {
            "src/skiff/oars.py": "LIMITS = 4\nLIMITS_TOP = LIMITS + 1\nLIMITS_LOW = 1\n",
            "src/skiff/deep/keel.py": "KEEL = 1\ntoml = None\n",
            "src/hull.py": body,
            ".github/stale.yml": "days: 3\n",
            "a/settings.yml": "a: 1\n",
            "b/settings.yml": "b: 1\n",
            "docs/notes.md": "Rowing.\n",
            "pyproject.toml": (
                '[project]\nname = "skiff"\ndependencies = ["tidelib>=2"]\n\n[dependency-groups]\n'
                'typing = ["mypy>=1"]\n'
            ),
        },
        "Add the skiff",
        author="Lee Marsh <lee@example.org>",
        date=1_578_225_600,
    )
    repo.commit(
        {".github/stale.yml": None, "a/settings.yml": None},
        "Remove the bot",
        author="Kathleen Coffee <kc@example.org>",
        date=1_580_904_000,
    )
    repo.commit(
        {"b/settings.yml": None, "src/hull.py": None, "src/skiff/hull.py": body},
        "Move the hull",
        author="CoffeeTableEspresso <cte@example.org>",
        date=1_583_409_600,
    )
    return open_engine([repo.path], index=folder / "index", workers=1)


def _lead(engine: LocalEngine, question: str) -> str:
    return research(engine, question).text.split("\n")[0]


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How many directories are in src?", 2),
        ("How many subfolders does src/ have?", 2),
        ("How many folders are in src/skiff?", 1),
        ("How many directories are in src/skiff/deep?", 0),
        ("How many directories are there?", 4),
    ],
)
def test_a_directory_is_not_in_itself(engine: LocalEngine, question: str, count: int) -> None:
    assert _lead(engine, question).startswith(f"**{count}** folder")


@pytest.mark.parametrize(
    ("question", "path", "author"),
    [
        ("Who deleted stale.yml?", ".github/stale.yml", "Kathleen Coffee"),
        ("Who created stale.yml?", ".github/stale.yml", "Lee Marsh"),
        ("Who deleted .github/stale.yml?", ".github/stale.yml", "Kathleen Coffee"),
    ],
)
def test_the_name_of_a_removed_file_means_its_path(engine: LocalEngine, question: str, path: str, author: str) -> None:
    lead = _lead(engine, question)
    assert f"`{path}` was" in lead
    assert author in lead


def test_several_removed_files_of_a_name_are_told_as_such(engine: LocalEngine) -> None:
    lead = _lead(engine, "Who deleted settings.yml?")
    assert lead.startswith("a file named `settings.yml` was removed by CoffeeTableEspresso on 2020-03-05")


def test_a_name_that_no_commit_had_is_still_named_as_never_there(engine: LocalEngine) -> None:
    text = research(engine, "Who deleted barge.yml?").text
    assert text.startswith("No commit changed `barge.yml`")


def test_a_moved_file_is_not_added_under_its_later_path(engine: LocalEngine) -> None:
    lead = _lead(engine, "Who created hull.py?")
    assert "Lee Marsh" in lead
    assert "`src/skiff/hull.py` was added by" not in lead


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How many commits did Lee make?", 1),
        ("How many commits did Lee Marsh make?", 1),
        ("How many commits did Coffee make?", 1),
    ],
)
def test_a_part_of_another_name_is_no_author(engine: LocalEngine, question: str, count: int) -> None:
    assert _lead(engine, question).startswith(f"**{count}** commit")


def test_files_of_a_person_are_not_those_of_a_longer_name(engine: LocalEngine) -> None:
    assert _lead(engine, "How many files did Coffee change?").startswith("**2** files were changed")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many lines contain LIMITS?", "**2** lines contain `LIMITS` as a whole word"),
        ("How many lines contain KEEL?", "**1** line contains `KEEL`."),
        ("How many times does LIMITS occur?", "**2** occurrences of `LIMITS` as a whole word"),
    ],
)
def test_a_count_of_words_says_so_if_longer_words_have_the_text(engine: LocalEngine, question: str, text: str) -> None:
    assert _lead(engine, question).startswith(text)


@pytest.mark.parametrize(
    "question",
    [
        "Is oars_width a class or a function?",
        "Which interfaces does row_1 implement?",
        "What is the newest file?",
        "Which function is longest?",
        "Which file was changed most often?",
        "Which files did Lee Marsh change most?",
        "Did Kathleen Coffee commit in 2020?",
    ],
)
def test_words_of_the_question_and_people_are_not_said_to_be_absent(engine: LocalEngine, question: str) -> None:
    names = re.findall(r"`(\w+)`", _lead(engine, question)) if "No searched file has" in _lead(engine, question) else []
    assert set(names) <= {"oars_width"}


def test_a_file_extension_is_no_name_without_a_definition(engine: LocalEngine) -> None:
    assert "No definition of" not in _lead(engine, "Where is stale.md?")


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("Is mypy a dev dependency?", "`pyproject.toml` lists `mypy>=1` (group typing)"),
        ("Is tidelib a dev dependency?", "`pyproject.toml` lists `tidelib>=2`, but not as a development dependency"),
    ],
)
def test_a_group_of_pyproject_is_for_development(engine: LocalEngine, question: str, lead: str) -> None:
    assert _lead(engine, question).removeprefix("Yes: ").startswith(lead)


def test_manifests_of_tests_alone_prove_no_absence(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("fixtures")
    repo = RepositoryBuilder(folder / "raft")
    repo.commit(
        {
            "raft.c": "int raft(void) { return 1; }\n",
            "CMakeLists.txt": "project(raft)\n",
            "tests/data/package.json": '{"name": "data", "dependencies": {"left": "1"}}\n',
            "tests/Raft.Tests/Raft.Tests.csproj": (
                '<Project>\n<PackageReference Include="Runner" Version="3.1" />\n</Project>\n'
            ),
        },
        "Add it",
    )
    engine = open_engine([repo.path], index=folder / "index", workers=1)
    assert not _lead(engine, "Does raft depend on rspec?").startswith("No:")
    assert "but not as" not in _lead(engine, "Is Runner a dev dependency?")


@pytest.mark.parametrize("question", ["What does Header do?", "What does the Tests class do?"])
def test_a_question_for_a_purpose_counts_no_files(engine: LocalEngine, question: str) -> None:
    assert not _lead(engine, question).startswith("**")


@pytest.mark.parametrize(
    "question", ["what is the foo setting in rows.toml", "Which value does limit have in rows.toml?"]
)
def test_the_ending_of_a_file_is_no_name_of_a_value(engine: LocalEngine, question: str) -> None:
    assert "is set to" not in _lead(engine, question)


@pytest.fixture(scope="module")
def wherry(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder = tmp_path_factory.mktemp("wherry")
    repo = RepositoryBuilder(folder / "wherry")
    repo.commit(
        {
            "mix.exs": (
                "defmodule Wherry do\n  defp deps do\n    [\n      {:rower, rower_version()},\n      {:sail, @sail},\n"
                '      {:mast, path: "../mast"},\n    ]\n  end\nend\n'
            ),
            "src/boats.py": (
                "class Boat:\n    overlaid = False\n\n    def overlay(self):\n        rv = Boat()\n"
                "        rv.overlaid = True\n        return rv\n\n\n"
                "FileList = Boat\n\n\ndef row(rowing, oars='two'):\n    return oars\n"
            ),
            "web/boats.js": "export default {\n  extends: [1, 2],\n  extend: 3,\n  uses: 4,\n}\n",
            "lib/boats.ex": (
                "defmodule Boats do\n  defmacro __using__(_) do\n    quote do\n      def launch(boat, opts) do\n"
                "        boat\n      end\n    end\n  end\n\n  def go(boat), do: launch(boat, [])\nend\n"
            ),
        },
        "Add it",
    )
    return open_engine([repo.path], index=folder / "index", workers=1)


def test_two_values_of_one_name_are_not_told_apart_by_the_name(wherry: LocalEngine) -> None:
    lead = _lead(wherry, "What is overlaid set to?")
    assert "`True`" not in lead or "`False`" in lead


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("Which version of rower does it need?", "`mix.exs` lists `rower` ["),
        ("Which version of sail does it need?", "`mix.exs` lists `sail` ["),
        ("Which version of mast does it need?", "`mix.exs` lists `mast` without a version ["),
    ],
)
def test_a_version_that_code_gives_is_not_said_to_lack(wherry: LocalEngine, question: str, lead: str) -> None:
    assert _lead(wherry, question).startswith(lead)


def test_a_definition_in_a_macro_is_no_example(wherry: LocalEngine) -> None:
    assert "`def launch" not in _lead(wherry, "Give me an example of launch")


@pytest.mark.parametrize("question", ["What extends Boat?", "Which classes extend Boat?", "What uses overlaid?"])
def test_a_verb_of_a_question_is_no_name_of_a_value(wherry: LocalEngine, question: str) -> None:
    assert "is set to" not in _lead(wherry, question)


@pytest.mark.parametrize(
    "question",
    [
        "What parameters does Boat.launch take?",
        "How often is Boats:launch called?",
        "What is web/boats.js needed for?",
        "What was the last commit to boats.py?",
        "Which uses are there?",
        "What is extendset set to?",
        "What is the base class of extends?",
        "Which oars is used for rowing?",
        "How big can oars get?",
        "Is oars enabled by default?",
        "What is the list set to?",
        "How many oars does row have by default?",
    ],
)
def test_a_question_for_something_else_has_no_value(wherry: LocalEngine, question: str) -> None:
    assert re.match(r"`\w+` is set to|The default of", _lead(wherry, question)) is None


def test_folders_say_how_many_are_direct(engine: LocalEngine) -> None:
    assert "**2** folders in `src/` have files at any depth, 1 of them directly in it" in _lead(
        engine, "How many directories are in src?"
    )


@pytest.fixture(scope="module")
def punt(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder = tmp_path_factory.mktemp("punt")
    repo = RepositoryBuilder(folder / "punt")
    rockspec = 'package = "punt"\nversion = "{0}-0"\ndependencies = {{\n   "lua >= 5.{1}"\n}}\n'
    repo.commit(
        {
            "Makefile": (
                "PROJECT = punt\nDEPS = cowpole ranchpole\ndep_cowpole = git https://example.org/cowpole 2.19.0\n"
                "dep_ranchpole = hex 1.8.1\n# dep_gone = hex 1.0\ntest:\n\tpytest\n"
            ),
            "rebar.config": (
                '{deps, [\n{cowpole,".*",{git,"https://example.org/cowpole",{tag,"2.19.0"}}},'
                '{ranchpole,".*",{git,"https://example.org/r",{tag,"1.8.1"}}},{hackpole,"1.2.3"}\n]}.\n'
            ),
            "rockspecs/punt-3.0-0.rockspec": rockspec.format("3.0", 1),
            "rockspecs/punt-3.10-0.rockspec": rockspec.format("3.10", 3),
            "rockspecs/punt-3.9-0.rockspec": rockspec.format("3.9", 2),
            "punt.erl": "-module(punt).\n-define(_VERSION, 4).\n",
        },
        "Add it",
    )
    return open_engine([repo.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("Which version of cowpole does it depend on?", "`Makefile` lists `cowpole` `2.19.0`"),
        ("Which version of ranchpole does punt need?", "`Makefile` lists `ranchpole` `1.8.1`"),
        ("Which version of hackpole does it use?", "`rebar.config` lists `hackpole` `1.2.3`"),
        ("Does punt depend on cowpole?", "Yes: `Makefile` lists `cowpole` `2.19.0`"),
        ("Which Lua version does punt need?", "`rockspecs/punt-3.10-0.rockspec` requires Lua `>= 5.3`"),
    ],
)
def test_further_manifests_give_versions(punt: LocalEngine, question: str, lead: str) -> None:
    assert _lead(punt, question).startswith(lead)


def test_a_version_of_another_subject_is_no_answer(punt: LocalEngine) -> None:
    assert "_VERSION` is set" not in _lead(punt, "Which Lua version does punt 3.9 need?")


def test_callers_of_a_function_of_tests_tell_of_its_namesakes(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("namesakes")
    repo = RepositoryBuilder(folder / "dory")
    block = "describe('{0}', () => {{\n  function makeDory() {{\n    return {0};\n  }}\n{1}}});\n"
    calls = "  test('it', () => {\n    const dory = makeDory();\n  });\n"
    repo.commit({"tests/dory.test.js": block.format(1, calls * 2) + block.format(2, calls * 3)}, "Add it")
    engine = open_engine([repo.path], index=folder / "index", workers=1)
    lead = _lead(engine, "What calls makeDory?")
    assert "(2 calls in 1 file)" not in lead
    assert "5 calls" in lead or "other lines have the name" in lead
