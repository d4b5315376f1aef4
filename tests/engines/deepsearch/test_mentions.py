"""Questions whether something exists, answered by words that occur in documents, comments or tests alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.absence.spellings import aliases_of
from sourcelight.engines.deepsearch.question.lookups.existence_wording import absent_subjects
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.timeout(90)

FILES = {
    "src/mill.py": (
        '"""A mill for requests."""\n\n\ndef grind(request):\n    # A CORS header is left to the caller.\n'
        "    request.handling = 1\n"
        "    return gzip(request)\n\n\ndef gzip(request):\n    return request\n"
    ),
    "tests/test_mill.py": "def test_grind():\n    assert grind(SocksRequest())\n",
    "README.md": (
        "# Mill\n\nGrinds requests. Some pair it with GraphQL, others with MongoDB.\n\nIt supports Thrift by hand.\n"
    ),
    "LICENSE": "Redistribution is permitted.\n",
    "poetry.lock": '[[package]]\nname = "celery"\n',
    "requirements.txt": "flask\n",
    "docs/kafka.md": "Notes.\n",
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository that mentions names without having them in code."""
    folder = tmp_path_factory.mktemp("mill")
    repo = RepositoryBuilder(folder / "mill")
    repo.commit(FILES, "Start")
    return open_engine([repo.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("any GraphQL support here?", "No line of code has `GraphQL`: it occurs in documents alone, such as in line 3"),
        ("Is there a MongoDB backend?", "No line of code has `MongoDB`: it occurs in documents alone"),
        (
            "is a CORS middleware included?",
            "No line of code has `CORS`: it occurs in comments alone, such as in line 5",
        ),
        ("does it have its own SOCKS proxy support", "No line of code outside of tests has `SOCKS`: it occurs"),
        ("Does it come with a Celery worker?", "No line of code has `Celery`: it occurs in lists of locked packages"),
        (
            "is there a Redis cache driver?",
            "No line of code has `Redis`: it occurs within other words of documents alone",
        ),
        ("does the library ship a PSR-15 middleware?", "No searched file has `PSR-15`: no line and no path"),
        ("does the mill generate shell completion scripts?", "No searched file has `completion`: no line and no path"),
    ],
)
def test_a_name_without_code_is_said_to_have_none(mill: LocalEngine, question: str, start: str) -> None:
    assert research(mill, question).text.startswith(start)


@pytest.mark.parametrize(
    "question",
    [
        "Does it support Thrift?",  # a document affirms it
        "Is there a Kafka page?",  # a file has this name
        "Does it use Flask?",  # a manifest lists it
        "Can it compress requests?",  # code has a word of the same meaning
        "Does it support grinding?",  # code has its root
        "Is there any gzipping?",  # code has its root, with one letter less
        "Does it have requesthandling?",  # code may have it in two words
        "Does it wipe its files unless told otherwise?",  # a condition, and a verb with many synonyms
    ],
)
def test_nothing_is_denied_where_lines_leave_a_doubt(mill: LocalEngine, question: str) -> None:
    text = research(mill, question).text
    assert "no line and no path" not in text
    assert "No line of code" not in text


def test_a_word_of_prose_is_not_denied_alone(mill: LocalEngine) -> None:
    """In shards, an option `--local` does what "offline mode" asks for."""
    hint = ". Code may do it under another name"
    assert hint in research(mill, "Is there offline mode?").text.split("\n")[0]
    assert hint not in research(mill, "any GraphQL support here?").text.split("\n")[0]


@pytest.mark.parametrize(
    ("question", "subjects"),
    [
        ("Is there a Redis cache driver?", ("Redis", "cache")),
        ("Can it retry a failed request by itself?", ("retry",)),
        ("Can mill validate against a JSON schema?", ("JSON", "schema")),
        ("Any websocket handling in this library?", ("websocket",)),
        ("Do public hosts get an IP automatically?", ("IP",)),
        ("Does it support cookies?", ("cookie",)),
        ("Is there a Docker image?", ()),
        ("Does it support Windows?", ()),
        ("Where is the Redis driver?", ()),
        ("Is there any change that broke the API?", ()),
        ("any Windows-specific code in here?", ()),
        ("can it build AppImages?", ("AppImage",)),
        ("does it support GIFs?", ("GIF",)),
        ("does it work with Redis?", ("Redis",)),
        ("is it possible to export to PDF", ("PDF",)),
        ("is there a way to export results as CSV", ("CSV",)),
        ("Does the library offer a way to throttle requests", ("throttle",)),
        ("does it let me log in with LDAP?", ("LDAP",)),
        ("how do I enable gzip compression?", ("compression",)),
        ("how do I turn it off?", ()),
        ("Does it have anything for rate limiting?", ("limiting",)),
        ("is there built-in retry logic", ("retry",)),
    ],
)
def test_subjects_are_names_else_nouns(question: str, subjects: tuple[str, ...]) -> None:
    assert absent_subjects(question, frozenset({"mill"})) == subjects


def test_a_short_name_has_no_british_spelling() -> None:
    """A course has nothing to do with CORS."""
    assert aliases_of("CORS") == frozenset()
    assert aliases_of("serialisation") == {"serialization"}


def test_alternatives_are_denied_together(mill: LocalEngine) -> None:
    """Thrift answers "Redis or Thrift"."""
    answer = research(mill, "Does it support Kotlin or Haskell?").text
    assert answer.startswith("No searched file has `Kotlin`")
    assert "No searched file has `Haskell`" in answer
    assert "No searched file has `Kotlin`: " not in research(mill, "Does it support Kotlin or Thrift?").text
    assert absent_subjects("does it work with redis or memcached as a backend?", frozenset()) == ("redis", "memcached")
    assert absent_subjects("any support for tar or gzip archives?", frozenset()) == ()
    assert absent_subjects("Does it have a light/dark theme?", frozenset()) == ("theme",)


def test_a_definition_of_a_name_with_a_hyphen_is_absent(mill: LocalEngine) -> None:
    assert research(mill, "where is number-field defined in mill.form?").text.startswith(
        "No searched file has `number-field`"
    )
    assert "`grind-request`" not in research(mill, "where is grind-request defined?").text.split("\n")[0]


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Does it support colour output?", "color = 1"),
        ("Is there serialisation?", "serialization = 1"),
        ("Does it support SSL?", "connect(tls=True)"),
        ("Is there a Postgres driver?", "import libpq"),
        ("Is there internationalization?", "i18n.t(1)"),
        ("Is there a database backend?", "open_db(1)"),
        ("Does it support themes?", "colors = 1"),
    ],
)
def test_another_name_of_the_same_thing_is_not_denied(tmp_path: Path, question: str, line: str) -> None:
    repo = RepositoryBuilder(tmp_path / "forge")
    repo.commit({"a.py": f"{line}\n"}, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert "no line and no path" not in research(engine, question).text
