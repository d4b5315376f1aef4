"""Everyday questions for a person or a date are read as the forms that say the same."""

from __future__ import annotations

import time

import pytest

from engines.deepsearch.asking import engine_of_subjects, lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.question.event_wording import expand_event_wording
from sourcelight.engines.deepsearch.question.events import read_bare_subject
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Who came up with the dim flag?", "Who added the dim flag"),
        ("who was behind the kosovo support?", "who added the kosovo support"),
        ("Whose idea were route groups?", "who added route groups"),
        ("Who made the dim flag?", "Who added the dim flag"),
        ("When did we get a SECURITY.md?", "when was a SECURITY.md added"),
        ("When did bower.json show up?", "When was bower.json added"),
        ("in which commit did the Info metric appear?", "in which commit was the Info metric added"),
        ("Since when do we have lua output?", "when was lua output added"),
        ("How long has cache.php been around?", "when was cache.php added"),
        ("How old is yq.go?", "when was yq.go added"),
        ("When did they start using cobra 1.9.1?", "when was cobra updated to 1.9.1"),
        ("When was Travis ditched?", "When was Travis removed"),
        ("who got rid of the husk filter", "who removed the husk filter"),
        ("when did the repo stop using Travis", "when was Travis removed"),
        ("When did they stop supporting Node 10?", "when was support for Node 10 dropped"),
        ("When did we move from Travis over to GitHub Actions?", "when was Travis replaced by GitHub Actions"),
        ("When did a.js become b.js?", "when was a.js renamed to b.js"),
        ("Who is the main person behind the decoder?", "who wrote most of the decoder"),
        ("who was the last one to touch gate.py", "who last changed gate.py"),
        ("When did the licence last change?", "when was the licence last changed"),
        ("Who added limits.py, and when did it land?", "Who added limits.py"),
        ("what was the last change to gate.py and why", "what was the last change to gate.py"),
        ("Which change raised the limit?", "which commit raised the limit"),
    ],
)
def test_everyday_words_become_a_form(text: str, form: str) -> None:
    assert expand_event_wording(text).lower() == form.lower()


@pytest.mark.parametrize(
    "text",
    [
        "Who made the parser faster?",
        "Who wrote limits.py?",
        "When does the cache expire?",
        "Where is the gate opened?",
        "What changes the limit?",
        "Who are you?",
        "when",
        "",
    ],
)
def test_other_questions_stay(text: str) -> None:
    assert expand_event_wording(text) == text


@pytest.mark.parametrize(
    "text", ["when did the project " * 14, "who took " * 33, "how long has it been " * 14, "a" * 300]
)
def test_long_questions_are_read_quickly(text: str) -> None:
    started_s = time.monotonic()
    expand_event_wording(text)
    assert time.monotonic() - started_s < 1


SUBJECTS = (
    ("Start the mill", "Ada <ada@mill.example>"),
    ("Add max size limit to wheel guard", "Bob <bob@mill.example>"),
    ("Add wheel guard tests", "Bob <bob@mill.example>"),
    ("feat: added isMillRouting validator", "Cyd <cyd@mill.example>"),
    ("Require Nim 2.1", "Dee <dee@mill.example>"),
    ("Limit nesting depth to 1000 and make it configurable", "Eve <eve@mill.example>"),
    ("Replace Travis CI with GitHub Actions", "Fay <fay@mill.example>"),
    ("Resolver for Mercurial repositories", "Gil <gil@mill.example>"),
    ("Prevent panic on repeated EINTR errors by skipping them", "Hal <hal@mill.example>"),
    ("Add support for HTTP basic auth on scraping endpoints", "Ida <ida@mill.example>"),
    ("docs: add agent guidance and threat model", "Jo <jo@mill.example>"),
    ("Polish malli coercion", "Kim <kim@mill.example>"),
    ("Don't add barley support", "Lea <lea@mill.example>"),
)


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    return engine_of_subjects(tmp_path_factory.mktemp("mill"), SUBJECTS)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("Who contributed the mill routing validator?", "The commit “feat: added isMillRouting validator” is by Cyd"),
        ("When did they raise the minimum Nim to 2.1?", "The commit “Require Nim 2.1” is by Dee"),
        ("Who made the nesting depth limited, and when?", "The commit “Limit nesting depth to 1000"),
        ("when did the repo stop using Travis", "The commit “Replace Travis CI with GitHub Actions” is by Fay"),
        ("When did we move from Travis over to GitHub Actions?", "The commit “Replace Travis CI with GitHub Act"),
        ("who wrote the Mercurial resolver and when was it added?", "The commit “Resolver for Mercurial repositor"),
        ("who fixed the panic on repeated EINTR errors?", "The commit “Prevent panic on repeated EINTR errors"),
        ("Who contributed basic auth on the scraping endpoints?", "The commit “Add support for HTTP basic auth on"),
    ],
)
def test_the_object_of_a_subject_is_what_is_asked_for(mill: LocalEngine, question: str, start: str) -> None:
    assert lead_of(mill, question).startswith(start)


@pytest.mark.parametrize(
    "question",
    [
        "Who added the wheel guard?",  # a limit and tests were added to it
        "Who brought in basic endpoints?",
        "Who came up with malli coercion?",
        "Who added barley support?",
        "When did we move from GitHub Actions to Travis?",
        "Who removed GitHub Actions?",
        "Who removed the Mercurial resolver?",
        "Who moved Mercurial to a repo of its own?",
    ],
)
def test_another_object_is_not(mill: LocalEngine, question: str) -> None:
    assert not lead_of(mill, question).startswith("The commit “")


def test_a_commit_that_says_so_comes_before_a_denial(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("husk")
    repo = RepositoryBuilder(root / "husk")
    repo.commit({"a.py": "class HuskSieve: ...\n"}, "Start")
    repo.commit({"a.py": "SIEVE = 1\n"}, "Remove HussSieve", author="Bob <bob@mill.example>")
    engine = open_engine([repo.path], index=root / "index", workers=1)
    assert lead_of(engine, "Who got rid of HussSieve?").startswith("The commit “Remove HussSieve” is by Bob")


@pytest.fixture(scope="module")
def renamed(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("renamed")
    repo = RepositoryBuilder(root / "renamed")
    text = "".join(f"line {number}\n" for number in range(40))
    repo.commit({"src/wheel_dir.rs": text, "src/utils/river.rs": text.upper()}, "Start")
    repo.commit({"src/wheel_dir.rs": None, "src/wheeldir.rs": text}, "Shorter", author="Bob <bob@mill.example>")
    repo.commit({"src/utils/river.rs": None, "src/river.rs": text.upper()}, "Flat", author="Cyd <cyd@mill.example>")
    repo.commit({"log.txt": "x\n"}, "feat: add note about the weir")
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("Who renamed wheel_dir.rs to wheeldir.rs?", "`src/wheel_dir.rs` was renamed to `src/wheeldir.rs` by Bob"),
        ("When did wheel_dir.rs become wheeldir.rs?", "`src/wheel_dir.rs` was renamed to `src/wheeldir.rs` by Bob"),
        ("Who moved river.rs out of utils?", "`src/river.rs` was renamed from `src/utils/river.rs` by Cyd"),
    ],
)
def test_a_rename_has_both_names(renamed: LocalEngine, question: str, start: str) -> None:
    assert lead_of(renamed, question).startswith(start)


@pytest.mark.parametrize("question", ["Who renamed wheel_dir.rs to stone.rs?", "When was river.rs moved to utils?"])
def test_a_rename_to_another_name_is_not_stated(renamed: LocalEngine, question: str) -> None:
    assert " was renamed to " not in lead_of(renamed, question)


def test_a_note_about_a_thing_is_not_the_thing(renamed: LocalEngine) -> None:
    assert not lead_of(renamed, "Who taught it about the weir?").startswith("The commit “")


@pytest.mark.parametrize("question", ["who is the main author", "Who was the parse author?"])
def test_an_author_is_no_event_of_a_name(question: str) -> None:
    # A repository with a function `main` was asked when that was added.
    assert read_bare_subject(question) == ""
