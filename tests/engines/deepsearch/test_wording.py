"""Questions in a person's quick wording: without "what is the", without apostrophes, with misspelled words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.question.lookups import read_lookup
from sourcelight.engines.deepsearch.question.wording import expand_wording, is_misspelled_grammar, mend_spelling
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS
from sourcelight.testing import RepositoryBuilder

QUEUE = """
DEFAULT_SIZE = 3


class Queue:
    def __init__(self, size=7):
        self.max_count = size


def main():
    push_all()


def push_all():
    return None
"""
FIRST_FILES: dict[str | bytes, str | bytes | None] = {
    "queue.py": QUEUE,
    "examples/run.py": "def main():\n    start()\n\n\ndef start():\n    return 1\n",
    "tests/test_queue.py": "MAX_QUEUE_SIZE = 99\n",
    "lib/trace.sh": "capture_trace() {\n  echo trace\n}\n\nreport() {\n  capture_trace 2\n}\n",
    "package.json": (
        '{\n  "devDependencies": {\n    "vitest": "1.0.0"\n  },\n  "peerDependencies": {\n    "@types/react": ">=17",\n'
        '    "react": ">=18"\n  }\n}\n'
    ),
    "Cargo.toml": '[package]\nname = "queue"\nrust-version = "1.70"\n',
}


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("pier")
    repo = RepositoryBuilder(root / "pier")
    repo.commit(FIRST_FILES, "Add a queue", author="Ada <ada@home.example>")
    repo.commit({"notes.md": "one\ntwo\nthree\nfour\nfive\n"}, "Add notes", author="Ada <ada@work.example>")
    repo.commit({"guide.md": "".join(f"line {n}\n" for n in range(30))}, "Add a guide", author="Bob <b@c.example>")
    repo.tag("v1")
    repo.tag("v2")
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("default size of Queue", ["The default of `size` of `Queue` is `7`"]),
        ("defualt value for size in Queue", ["The default of `size` of `Queue` is `7`"]),
        ("whats DEFAULT_SIZE", ["`DEFAULT_SIZE` is set to `3`"]),
        ("DEFAULT_SIZE?", ["`DEFAULT_SIZE` is set to `3`"]),
        ("where is push_all", ["`push_all` is defined in `queue.py`"]),
        ("main vs push_all, whats the differnce", ["`push_all` is a function"]),
        ("minimum supported rust version", ["`Cargo.toml` requires Rust `1.70`"]),
        ("dev dependencies", ["`package.json` lists 1 dependency (devDependencies): `vitest`"]),
        ("which version of react does pier need as a peer?", ["lists `react` `>=18`"]),
        # Two functions are called main, and their callees differ.
        ("What does main call?", ["`main` in `queue.py` calls `push_all`"]),
        # The first word of a command is a call.
        ("What calls capture_trace?", ["`capture_trace` is called by name in `report` (line 6 of `lib/trace.sh`)"]),
        ("Who added the report function and when?", ["A line with `report` was first added by Ada on"]),
        ("who added trace.sh", ["`lib/trace.sh` was added by Ada on"]),
        ("how many releases (tags) are there", ["**2** "]),
        ("Who wrote most of pier?", ["Ada wrote the most lines of `pier`", "under 2 addresses"]),
    ],
)
def test_quick_wording_gets_the_same_answers(queue: LocalEngine, question: str, parts: list[str]) -> None:
    text = research(queue, question).text
    lead = re.sub(r"\\([_*])", r"\1", text.split("\n\n")[0])
    for part in parts:
        assert part in lead, text


def test_what_developers_need_is_not_all_that_a_package_needs(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "lone")
    repo.commit({"package.json": '{\n  "devDependencies": {\n    "vitest": "1.0.0"\n  }\n}\n'})
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    lead = research(engine, "runtime dependencies").text
    assert lead.startswith(
        "`package.json` lists no runtime dependencies, but 1 dependency (devDependencies): `vitest`"
    ), lead
    named_lead = research(engine, "dev dependencies").text
    assert named_lead.startswith("`package.json` lists 1 dependency (devDependencies): `vitest`"), named_lead


@pytest.mark.parametrize(
    "question",
    [
        # Only a test sets such a constant: it says nothing of the program.
        "whats the default max queue size",
        # A name with "count" in it, and a value, are nothing to count.
        "What's the default max count?",
        "How many items does it have by default?",
        "what env var sets the number of pushes",
        # No subject of a question: a misspelled "until", "what's" without its apostrophe.
        "whats in a queue untill it is full",
    ],
)
def test_what_no_line_proves_begins_with_locations(queue: LocalEngine, question: str) -> None:
    lead = research(queue, question).text.split("\n## ")[0]
    assert "Most relevant:" in lead
    assert re.search("counted|whats|untill|`(?:count|number|env)`", lead.partition("Most relevant:")[0]) is None


@pytest.mark.parametrize(
    ("text", "full_form"),
    [
        ("wheres `pack`", "where is `pack` defined"),
        ("default timeout", "what is the default timeout"),
        ("what functions call push_all", "what calls push_all"),
        ("in what file is RopeEnd declared", "where is RopeEnd defined"),
        ("where can I find the class RopeEnd", "where is the class RopeEnd defined"),
        ("find the RopeEnd class", "where is the RopeEnd class defined"),
        ("where does RopeEnd live", "where is RopeEnd defined"),
        ("find the longest rope", "find the longest rope"),
        ("where does the rope live", "where does the rope live"),
        ("does anything raise RopeError", "where is RopeError raised"),
        ("the differences of pack and unpack", "the differences between pack and unpack"),
        ("how does packing work", "how does packing work"),
        ("which port does it use if --port isn't given", "what is the default of --port"),
        ("how many ropes are made when -n is omitted", "what is the default of -n"),
        ("which rope is used when --rope is given", "which rope is used when --rope is given"),
        ("what happens if --force is omitted", "what happens if --force is omitted"),
        ("what does it do when no --config is given", "what does it do when no --config is given"),
        ("which gems does rope need for its tests", "what are the test dependencies of rope"),
        ("value", "value"),
    ],
)
def test_clipped_openings_are_written_out(text: str, full_form: str) -> None:
    assert expand_wording(text) == full_form


def test_only_words_of_forms_are_mended() -> None:
    assert (
        mend_spelling("the defualt exmaple of `defualt` in defualt.py")
        == "the default example of `defualt` in defualt.py"
    )
    assert mend_spelling("what is the defaulting parser") == "what is the defaulting parser"
    assert is_misspelled_grammar("untill", FUNCTION_WORDS | {"until"})
    assert not is_misspelled_grammar("timeout", FUNCTION_WORDS | {"until"})


def test_prose_is_no_name() -> None:
    assert read_lookup("what uses the cache") is None
    assert read_lookup("where is the retry loop") is None


def test_how_much_of_something_is_no_count(queue: LocalEngine) -> None:
    """The words after it name no thing of git, so that a sentence on counting said nothing."""
    assert "counted exactly" not in research(queue, "How much extra space does a push_all need?").text
    assert "counted exactly" in research(queue, "How many extra spaces does a Queue need?").text


@pytest.mark.parametrize(
    ("question", "kind", "name"),
    [
        ("Where is the UnusedArgument rule defined?", "definition", "UnusedArgument"),
        ("where's the LineLength check implemented", "definition", "LineLength"),
        ("Which file is the class ReadBuffer in?", "definition", "ReadBuffer"),
        ("Which version of altcover do the unit tests reference?", "dependency", "altcover"),
    ],
)
def test_a_noun_of_the_project_and_a_verb_of_manifests_are_read(question: str, kind: str, name: str) -> None:
    lookup = read_lookup(question)
    assert lookup is not None
    assert (lookup.kind, lookup.name) == (kind, name)
