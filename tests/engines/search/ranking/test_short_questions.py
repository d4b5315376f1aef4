"""Short questions: names of files and of definitions, and no file that fills the answer."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from sourcelight.backends.embedded import open_engine
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.execution.natural_language import RankedSearch, rank
from sourcelight.engines.search.ranking import Ranking
from sourcelight.engines.search.ranking.paths import kind_of
from sourcelight.engines.search.ranking.question import analyze
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

STORE = "\n\n".join(
    f"def keep_{name}(store):\n"
    f'    """Manage what the session keeps about {name}."""\n'
    + "".join(f"    store.{name}_{step}(store)\n" for step in range(8))
    for name in ("cookies", "users", "carts", "logins")
)
BOOK = 'class Book:\n    """Management of each session."""\n\n    def open(self):\n        return 1\n'
LONG = "an empty level of the tank never overflows while valves run"
FILES: dict[str | bytes, str | bytes | None] = {
    "app/store.py": STORE,
    "app/sessions.py": BOOK,
    "app/session/index.js": "export function start() {\n  return manage();\n}\n",
    "app/engine.py": "ENGINE = 1\n" + "engine = engine.engine(engine)\n" * 30,
    "app/core.py": "import os\n\n\nclass Engine:\n    def run(self):\n        os.getpid()\n        return self\n",
    "app/rules.py": "def parse_rules(text):\n    return text.split()\n",
    "app/buffers/store.py": "class RingBuffer:\n    def add(self, item):\n        return item\n" + "# of items\n" * 9,
    "app/notes.py": "# ring\n# ring buffers\n# a ring of buffers\n# buffers\n" * 9,
    "parts/left.py": "def walk(tree):\n    return tree.walk\n",
    "parts/right.py": "def walk(tree):\n    return tree.walk()\n",
    **{f"parts/use{number}.py": "from parts.right import walk as go\n" for number in range(4)},
    "parts/self.py": "import left\nfrom parts import right\nfrom parts.right import walk as go\n",
    "examples/rules.py": "def parse_rules(text):\n    return text.split()\n\n",
    "examples/paint.py": "def paint_canvas():\n    return 1\n",
    "water/pump.py": "def run(tank):\n    return tank.level + 1\n",
    "water/tank.py": "def run(tank):\n    return tank.level - 1\n",
    "water/tests/test_tank.py": (
        "def test_an_empty_level_never_overflows_while_valves_run(tank):\n    assert run(tank) == tank.level\n"
    ),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    repo = RepositoryBuilder(tmp_path_factory.mktemp("code") / "shop")
    repo.commit(FILES)
    return open_engine([repo.path], index=tmp_path_factory.mktemp("index"), workers=1)


def ask(engine: LocalEngine, text: str, limit: int | None = 10) -> Ranking:
    return rank(engine, RankedSearch(text, limit=limit), Viewer.owner(), Cancellation())


def test_a_file_named_by_the_question_comes_first(engine: LocalEngine) -> None:
    """Its name counts, in any number, although another file has the words many times more."""
    assert ask(engine, "session management").files[0].path == "app/sessions.py"
    shares = ask(engine, "session management").files[0].lists
    assert shares["names"] > 0.0


def test_the_folder_stands_for_an_index_file(engine: LocalEngine) -> None:
    """``session/index.js`` is about sessions."""
    lists = {file.path: file.lists for file in ask(engine, "session management").files}
    assert lists["app/session/index.js"]["names"] > 0.0


def test_a_long_question_is_not_about_the_name_of_a_file(engine: LocalEngine) -> None:
    """What it says counts, so names add nothing."""
    text = (
        "the cookies of somebody who logs in twice are kept in the wrong cart, and management of users loses sessions"
    )
    assert all(not file.lists["names"] for file in ask(engine, text).files)


def test_one_file_does_not_fill_a_short_answer(engine: LocalEngine) -> None:
    """A second file comes before the third piece of the first."""
    first = [chunk.path for chunk in ask(engine, "session management").chunks]
    assert first.count("app/store.py") > 1
    assert len(dict.fromkeys(first[:2])) == 2


def test_a_word_alone_is_a_name(engine: LocalEngine) -> None:
    """The definition comes before a file that bears the word as its name and has it everywhere."""
    assert ask(engine, "Engine").files[0].path == "app/core.py"
    assert analyze("Engine").possible_names == ("Engine",)
    assert analyze("where is the Engine of this started").possible_names == ()
    assert analyze("stop Engine").possible_names == ("Engine",)
    assert analyze("Stop engine").possible_names == ()


def test_the_name_of_a_definition_counts_in_any_order_and_form(engine: LocalEngine) -> None:
    """Words of a class in another number and order find it before a text that is full of them."""
    for text in ("ring buffers", "buffer rings"):
        ranking = ask(engine, text)
        assert ranking.files[0].path == "app/buffers/store.py", text
        assert ranking.chunks[0].symbols == ("RingBuffer", "add")


def test_of_two_alike_the_imported_file_comes_first(engine: LocalEngine) -> None:
    """A file that others import counts more than one that nothing needs."""
    first, second = ask(engine, "walk tree").files[:2]
    assert (first.path, second.path) == ("parts/right.py", "parts/left.py")
    assert first.lists["imports"] > second.lists["imports"] > 0.0


def test_a_test_votes_for_the_file_that_it_is_named_after(engine: LocalEngine) -> None:
    """Of two alike the tested one comes first; a short question leaves that to the names of files."""
    files = ask(engine, LONG).files
    lists = {file.path: file.lists for file in files}
    code = [file.path for file in files if file.kind == "code"]
    assert code.index("water/tank.py") < code.index("water/pump.py")
    assert lists["water/tank.py"]["tests"] > 0.0 == lists["water/pump.py"]["tests"]
    assert not any(file.lists["tests"] for file in ask(engine, "empty level").files)


def test_a_sentence_is_answered_by_the_passage_that_has_all_of_it(tmp_path: Path) -> None:
    """Of a long question the best chunk of a file counts more than all words that stand apart in another one."""
    words = ("gauges", "report", "pressure", "whenever", "rain", "fills", "reservoirs", "upstream")
    scattered = "\n\n".join(f"def {word}_{number}():\n    return {word}\n" + "    # more\n" * 9
                         for word in words for number in range(4))  # fmt: skip
    passage = f"def sense():\n    # {' '.join(words)}\n    return 1\n"
    repo = RepositoryBuilder(tmp_path / "dam")
    repo.commit({"apart.py": scattered, "whole.py": passage, **{f"other{n}.py": "x = 1\n" * 40 for n in range(5)}})
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert ask(engine, " ".join(words)).files[0].path == "whole.py"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("core/src/main/java/org/app/test/Client.java", "code"),
        ("core/src/commonMain/kotlin/app/testing/Clock.kt", "code"),
        ("core/src/test/java/org/app/ClientTest.java", "test"),
        ("tests/shop/src/main/java/org/shop/Shop.java", "test"),
        ("app/testing/clock.py", "test"),
    ],
)
def test_the_sources_of_a_test_framework_are_code(path: str, kind: str) -> None:
    assert kind_of(path) == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("t/parser.t", "test"),
        ("xt/style.pl", "test"),
        ("lib/t.pm", "code"),
        ("features/steps/pump.rb", "test"),
        ("features/pump.feature", "test"),
        ("src/features/pump.zig", "code"),
        ("Sources/TankTests.swift", "test"),
        ("src/TankTest.php", "test"),
        ("src/tank_SUITE.erl", "test"),
        ("src/Latest.php", "code"),
        ("src/Traits/Test.php", "code"),
        ("integration_tests/tank.go", "test"),
    ],
)
def test_tests_of_all_languages_are_told_by_their_paths(path: str, kind: str) -> None:
    assert kind_of(path) == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [("pylintrc", "config"), ("home/vimrc", "config"), ("app/src", "code"), ("app/pylintrc.py", "code")],
)
def test_settings_without_an_extension_are_configuration(path: str, kind: str) -> None:
    assert kind_of(path) == kind


def test_examples_come_after_the_code(engine: LocalEngine) -> None:
    """Of two equal files the one of the product is first; an example is still code."""
    files = [file for file in ask(engine, "parse rules").files if file.path.endswith("rules.py")]
    assert [file.path for file in files] == ["app/rules.py", "examples/rules.py"]
    assert files[1].kind == "code"
    assert ask(engine, "paint canvas").files[0].path == "examples/paint.py"


@pytest.mark.parametrize("text", ["session management", "Engine", "parse rules", "session", LONG])
@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_a_limit_only_cuts(engine: LocalEngine, text: str, limit: int) -> None:
    """The first ones are those of the whole order, with the same scores."""
    every = ask(engine, text, None).chunks
    prefix = ask(engine, text, limit).chunks
    assert [(c.path, c.begin_line, round(c.score, 9)) for c in prefix] == [
        (c.path, c.begin_line, round(c.score, 9)) for c in every[: len(prefix)]
    ]


def test_names_alone_give_no_piece(engine: LocalEngine) -> None:
    """A question without a word of the code finds nothing, whatever files are called."""
    assert ask(engine, "xylophone").chunks == ()


def test_grammatical_words_and_letters_find_definitions(tmp_path: Path) -> None:
    """Where nothing else is asked: a class `Either`, a function `g`; a word that names nothing finds nothing."""
    repo = RepositoryBuilder(tmp_path / "words")
    repo.commit({"a.py": "class Either:\n    pass\n", "b.py": "# either any of these\ndef g():\n    return 1\n"})
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert [file.path for file in ask(engine, "Either").files] == ["a.py"]
    assert [file.path for file in ask(engine, "g").files] == ["b.py"]
    assert ask(engine, "any").chunks == ()


def test_a_renamed_repository_is_found_by_its_new_name(tmp_path: Path) -> None:
    """Its text is the same, so the files of all repositories were kept in memory, with the former name."""
    for name in ("book", "lamp"):
        repo = RepositoryBuilder(tmp_path / "root" / name, origin=f"https://example.org/team/{name}.git")
        repo.commit({f"{name}.py": f"def light_{name}(tower):\n    return tower\n"})
    with closing(open_engine([tmp_path / "root"], index=tmp_path / "index", workers=1)) as engine:

        def names() -> set[str]:
            ranking = rank(engine, RankedSearch("light tower"), Viewer.owner(), Cancellation())
            return {file.target.repository.name for file in ranking.files}

        assert names() == {"example.org/team/book", "example.org/team/lamp"}
        repo.git("remote", "set-url", "origin", "https://example.org/team/torch.git")
        engine.catalog.refresh(thorough=True)
        assert names() == {"example.org/team/book", "example.org/team/torch"}
