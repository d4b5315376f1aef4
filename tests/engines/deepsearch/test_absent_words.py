"""What the first sentence says of words that no file has, and the wording of questions about versions and tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.absence.words import is_name, without_modifiers
from sourcelight.engines.deepsearch.question.lookups import read_lookup
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.timeout(90)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository with queries and a loop, without XQuery."""
    folder = tmp_path_factory.mktemp("store")
    repo = RepositoryBuilder(folder / "store")
    code = (
        "def run_query(query):\n    # A loop over all producers of the query.\n    for part in query:\n        pass\n"
    )
    repo.commit({"store.py": code, "README.md": "# Store\n\nA store with a query loop.\n"}, "Start")
    return open_engine([repo.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Does it support XQuery?", "XQuery"),
        ("How does XQuery work here?", "XQuery"),
        ("Can I use it with graphql?", "graphql"),
        ("How does it handle websockets?", "websockets"),
    ],
)
def test_a_name_that_no_file_has_comes_first(store: LocalEngine, question: str, name: str) -> None:
    """A spelling that is one letter away is no reason to keep quiet about a name."""
    assert research(store, question).text.startswith(f"No searched file has `{name}`")


def test_a_word_that_only_describes_the_subject_is_not_announced(store: LocalEngine) -> None:
    answer = research(store, "How does run_query avoid an endless loop over the producers of the query?").text
    assert "endless" not in answer.split("\n\n")[0]


def test_modifiers_count_if_a_question_asks_for_existence() -> None:
    words = ["endless", "loop", "query", "producers"]
    assert without_modifiers(["endless"], words, "Which query makes an endless loop of producers?") == ()
    assert without_modifiers(["endless"], words, "Is there an endless loop?") == ("endless",)
    assert without_modifiers(["XQuery"], words, "Why does XQuery make a loop?") == ("XQuery",)
    assert without_modifiers(["websockets"], ["websockets"], "How does it handle websockets?") == ("websockets",)
    # A word of the form of a question, or a verb with other names, is no subject.
    words = ["label", "name", "legal"]
    assert without_modifiers(["legal"], words, "Where do we check that a label's name is legal?") == ()
    assert without_modifiers(["wipe", "unless"], ["wipe", "unless", "site"], "Does it wipe the site unless told?") == ()
    assert without_modifiers(["docker"], ["docker", "picker"], "Is there a picker for docker?") == ("docker",)


@pytest.mark.parametrize(
    ("word", "expected"), [("XQuery", True), ("HTTP2", True), ("max_size", True), ("Colour", False), ("colour", False)]
)
def test_names_are_told_by_their_letters(word: str, expected: bool) -> None:  # noqa: FBT001 - a row of the table
    assert is_name(word) is expected


@pytest.mark.parametrize(
    ("question", "kind", "name", "group"),
    [
        ("Which version of CMake does it need at least", "runtime", "cmake", ""),
        ("Which Zig version does it need at the very least", "runtime", "zig", ""),
        ("Which version of numpy is required as a minimum", "dependency", "numpy", ""),
        ("Which version of Unquote do 's tests use", "dependency", "Unquote", "test"),
        ("Which version of hspec do the tests need", "dependency", "hspec", "test"),
        ("Do the unit tests use hspec", "dependency", "hspec", "test"),
        # "Do hub's tests use" and "do the tests of hub use", as a scope leaves them.
        ("Which version of Unquote do \u00b7 in tests use", "dependency", "Unquote", "test"),
        ("Which version of bypass do the tests of \u00b7 use", "dependency", "bypass", "test"),
    ],
)
def test_least_versions_and_tests_are_read(question: str, kind: str, name: str, group: str) -> None:
    lookup = read_lookup(question)
    assert lookup is not None
    assert (lookup.kind, lookup.name, lookup.group) == (kind, name, group)


def test_macros_of_a_project_may_define_tests(tmp_path: Path) -> None:
    """A number of tests is a least one if the project has macros of its own."""
    repo = RepositoryBuilder(tmp_path / "xml")
    text = "TEST(one)\n{\n}\nTEST_XML(two, 1)\n{\n}\nTEST_CASE(three)\n{\n}\n"
    repo.commit({"tests/test_a.cpp": text, "tests/test_b.cpp": "TEST(four)\n{\n}\n"}, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    answer = research(engine, "How many tests are there?").text
    assert answer.startswith("At least **3** tests are defined")
    assert "`TEST_XML(`" in answer


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which version of rig do the tests of hall use?", "`Makefile` lists `rig` `1.2.0` (TEST_DEPS)"),
        ("Which version of crank do hall's tests use?", "`Makefile` lists `crank` `2.0`, but not as a test dependency"),
        ("Which version of mock do hall's tests use?", "`web/package.json` lists `mock` `^5.0.0` (devDependencies)"),
        ("Do hall's tests use mock?", "`web/package.json` lists `mock` `^5.0.0` (devDependencies)"),
        ("Is mock a test dependency?", "`web/package.json` lists `mock` `^5.0.0` (devDependencies), but not as a test"),
    ],
)
def test_lists_of_developers_are_stated_for_tests_without_yes(tmp_path: Path, question: str, expected: str) -> None:
    """A list of all that developers need may have what tests use, and linters as well."""
    repo = RepositoryBuilder(tmp_path / "hall")
    makefile = (
        "DEPS = crank\nTEST_DEPS = $(if $(CI),ci.mk) rig\ndep_rig = git https://example.org/rig 1.2.0\n"
        "dep_crank = hex 2.0\n"
    )
    manifest = '{\n  "name": "hall",\n  "devDependencies": {\n    "mock": "^5.0.0"\n  }\n}\n'
    repo.commit({"Makefile": makefile, "web/package.json": manifest}, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert research(engine, question).text.startswith(expected)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository that has the words of "Core Data" and "Core Shelf" apart, and others together, and a lost file."""
    folder = tmp_path_factory.mktemp("shelf")
    repo = RepositoryBuilder(folder / "shelf")
    files = {
        "shelf.py": "def core(reader, data):\n    # Every call must shall open the api.\n    return data\n",
        "README.md": "# Shelf\n\nDescribed with Open\nApi, and with Blue_Ocean.\n",
    }
    repo.commit(files, "Start")
    return open_engine([repo.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Does it work with Core Data?", "Core Data"),
        ("Can shelf use Data Core?", "Data Core"),
        ("Can it read Dhall files?", "Dhall"),
        ("Is Core Shelf Data supported?", "Core Shelf Data"),
        ("Does it support core-data?", "core-data"),
        ("Does shelf use must-open support?", "must-open"),
    ],
)
def test_a_name_of_several_words_is_absent_as_a_whole(shelf: LocalEngine, question: str, name: str) -> None:
    assert research(shelf, question).text.startswith(f"No searched file has `{name}`")


@pytest.mark.parametrize(
    "question", ["Is there a must-shall-call?", "Does it have a Get-Shelf function?", "Where is Get-Shelf defined?"]
)
def test_a_name_with_hyphens_is_absent(shelf: LocalEngine, question: str) -> None:
    assert research(shelf, question).text.startswith("No searched file has `")
    assert research(shelf, "Is there a blue-ocean class?").text.startswith("No searched file has `") is False


@pytest.mark.parametrize(
    "question",
    [
        "Does it work with Open Api?",
        "Does it support Blue Ocean?",
        "Does it work with core data?",
        "How does it work with Core Data?",
        "Does Core data work?",
        "Does it support blue-ocean?",
        "Does it have a must-open reader?",
        "How does it support core-data?",
    ],
)
def test_words_that_are_written_together_or_are_no_name_are_not_absent(shelf: LocalEngine, question: str) -> None:
    assert "No searched file has" not in research(shelf, question).text.partition("\n\n")[0]


def test_files_that_cannot_be_read_are_said_beside_an_absent_name(tmp_path: Path) -> None:
    """The sentence is about searched files, and the lost one may have the name."""
    repo = RepositoryBuilder(tmp_path / "queue")
    repo.commit({"queue.py": "def push(item):\n    return item\n", "lost.py": "KAFKA = 'kafka'\n"}, "Start")
    blob = repo.git("rev-parse", "HEAD:lost.py").strip()
    (repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    answer = research(engine, "Does it have a Kafka broker?").text
    assert answer.startswith("No searched file has `Kafka`")
    assert "some files couldn't be read" in answer.partition("\n\n")[0]


def test_a_phrase_with_a_plain_word_may_be_written_otherwise(tmp_path: Path) -> None:
    """A last will of MQTT is an option `will`."""
    repo = RepositoryBuilder(tmp_path / "queue")
    code = "last_id = 1\n\n\ndef connect(will=None):\n    return will\n"
    repo.commit({"queue.py": code, "README.md": "# Queue\n\nMessages, and what they do.\n"}, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert "No searched file has" not in research(engine, "Does it support Last Will messages?").text.partition("\n")[0]
