"""What surrounds a question, such as a greeting or a remark about who asks, doesn't change its answer."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.question.courtesy import bare_question
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        (
            "Hey, I was wondering whether you could tell me when stack.yaml was added, thanks!",
            "when was stack.yaml added",
        ),
        ("hey, quick one: who wrote the parser?", "who wrote the parser?"),
        ("Do you know where the decoder lives?", "where does the decoder live?"),
        ("Can you tell me how many charts there are under charts/?", "how many charts are there under charts/?"),
        ("I was wondering if it supports proxies", "does it support proxies"),
        ("Whereabouts is the retry logic?", "where is the retry logic?"),
        ("could you please tell me what the default timeout is?", "what is the default timeout?"),
        ("Can you tell me the default port?", "what is the default port?"),
        ("Who dropped Node 10, I'm writing a migration guide", "Who dropped Node 10"),
        ("When was Node 10 dropped? I'm writing a migration guide.", "When was Node 10 dropped?"),
        ("I'm upgrading from 3.x, so when did they drop python 3.8?", "when did they drop python 3.8?"),
        ("For a migration guide: when was Node 10 dropped?", "when was Node 10 dropped?"),
        ("Who\u2019s written most of src?", "who has written most of src?"),
        ("isn't keepalive on by default?", "is keepalive on by default?"),
        ("sorry if this is a dumb question, but where's the entry point?", "where is the entry point?"),
        ("Do you know which port it listens on?", "which port does it listen on?"),
        ("Does anyone know whether lodash is a dependency?", "is lodash a dependency?"),
        ("How long is a session kept (asking for a friend)", "How long is a session kept"),
    ],
)
def test_what_surrounds_a_question_is_removed(text: str, bare: str) -> None:
    assert bare_question(text) == bare


@pytest.mark.parametrize(
    "text",
    [
        'Which files contain "thanks, I\'m here"?',
        "what does `please` do?",
        "Tell me about retry logic",
        "How does it work, and why?",
        "how can I find out which version is installed?",
        "What do you know about caching?",
        "Can you use it without a config file?",
        "What happens if you don't pass a port?",
        "How do I set a proxy? I have a config file with a proxy in it.",
        "and when was it changed?",
        "hello",
        "",
    ],
)
def test_other_words_stay(text: str) -> None:
    assert bare_question(text) == text


@pytest.mark.parametrize("text", ["hey, " * 200, "please " * 140, "I'm writing " * 80, "x, please" * 100, "so " * 330])
def test_long_courtesies_are_read_quickly(text: str) -> None:
    started_s = time.monotonic()
    bare_question(text)
    assert time.monotonic() - started_s < 1


QUESTIONS = (
    "Who added limits.py?",
    "When was the first commit?",
    "Where is open_gate defined?",
    "How many functions are there in gate.py?",
    "What is the default of depth in open_gate?",
    "Which commit added limits.py, and who wrote it?",
)
SURROUNDINGS: tuple[Callable[[str], str], ...] = (
    lambda text: f"Hey, quick one: {text}",
    lambda text: f"{text} Thanks a lot!",
    lambda text: f"I'm writing a migration guide. {text}",
    lambda text: f"{text.rstrip('?')}, I'm writing a migration guide",
    lambda text: f"Can you tell me: {text}",
    lambda text: f"Just curious - {text[0].lower()}{text[1:]}",
    lambda text: f"sorry to bother you, but {text[0].lower()}{text[1:].rstrip('?')}",
)


@pytest.fixture(scope="module")
def gates(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("gates")
    repo = RepositoryBuilder(root / "gates")
    repo.commit({"gate.py": "def open_gate(depth=3):\n    return depth\n\n\ndef shut_gate():\n    return 0\n"}, "Start")
    repo.commit({"limits.py": "LIMIT = 5\n"}, "Add limits", author="Bob <bob@gates.example>")
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_begin_with_the_same_sentence(gates: LocalEngine, question: str) -> None:
    first = lead_of(gates, question)
    assert not first.startswith(("Most relevant", "No direct"))
    assert {lead_of(gates, surround(question)) for surround in SURROUNDINGS} == {first}
