"""Where a question looks is data from its asker to the engine, and no fact is read from a sentence of ours."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from engines.deepsearch.asking import OPEN, SECRET, add_account, desk_context
from sourcelight.backends.remote.conversations_api import with_scope_as_text
from sourcelight.core.errors import ToolError
from sourcelight.core.tools.conversations import DEEPSEARCH
from sourcelight.engines.deepsearch import markdown
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.deepsearch.evidence.pins import PreviousTurn, pin_filters
from sourcelight.engines.deepsearch.question.scope import NamedScope, RepositoryNames, read_scope
from sourcelight.engines.deepsearch.requests import open_inquiry
from sourcelight.engines.deepsearch.research import Draft, Emit, ExtractiveResearcher, ResearchBudget, ResearchRequest
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.tools import ToolContext, call
from sourcelight.repos import Viewer
from sourcelight.repos.state import State
from sourcelight.testing import RepositoryBuilder

QUESTION = "How is the checkout total computed?"


def test_repositories_beside_a_question_are_the_only_ones_read(engine: LocalEngine, desk: ConversationService) -> None:
    """Names are names: no letter of theirs is syntax, and what has another name is not searched."""
    context = desk_context(engine, desk)
    for name in (OPEN, SECRET):
        attributes = call("deepsearch", {"question": QUESTION, "repos": [name]}, context).attributes
        assert {pin["repository"] for pin in attributes["pins"]} == {name}
    for name in ("example.org/team/sho.", ".*", "shop", f"{OPEN} rev:x"):
        attributes = call("deepsearch", {"question": QUESTION, "repos": [name]}, context).attributes
        assert attributes["state"] == "error"
        assert "no repository of this name" in attributes["error"]["message"]


def test_a_name_that_is_missing_is_said(engine: LocalEngine, desk: ConversationService) -> None:
    """Of several names the known ones are searched, and the answer names the other."""
    arguments = {"question": QUESTION, "repos": [OPEN, "nobody/nothing"]}
    attributes = call("deepsearch", arguments, desk_context(engine, desk)).attributes
    assert {pin["repository"] for pin in attributes["pins"]} == {OPEN}
    assert "nobody/nothing could not be searched" in attributes["answer"]


def test_filters_narrow_what_is_named(engine: LocalEngine) -> None:
    """Filters that the asker types stay filters: both have to hold."""
    context = ToolContext(engine, Viewer.owner())
    both = NamedScope((OPEN, SECRET))
    assert {pin.repository for pin in pin_filters("", context, both)} == {OPEN, SECRET}
    assert {pin.repository for pin in pin_filters("repo:shop", context, both)} == {OPEN}
    with pytest.raises(ToolError):
        pin_filters("repo:shop", context, NamedScope((SECRET,)))


def test_a_word_of_a_count_is_no_repository() -> None:
    """People name repositories after ordinary words."""
    names = RepositoryNames(["many", "first", "tower"], frozenset(["many", "first", "tower"]))
    assert read_scope("How many commits are there?", names, by_word=True).parts == ()
    assert read_scope("When was the first commit?", names, by_word=True).parts == ()
    assert [part.values for part in read_scope("How many tower commits are there?", names, by_word=True).parts] == [
        ("tower",)
    ]
    assert [part.values for part in read_scope("How many commits are in many?", names, by_word=True).parts] == [
        ("many",)
    ]


def test_a_revision_beside_a_question_is_pinned(engine: LocalEngine, fleet: tuple[RepositoryBuilder, ...]) -> None:
    """The text of that commit is what counts; repositories without it are named."""
    first = fleet[0].git("rev-list", "--max-parents=0", "HEAD").strip()
    context = ToolContext(engine, Viewer.owner())
    inquiry = open_inquiry("How many files are there?", "", context, (), NamedScope((), first))
    assert [(pin.repository, pin.revision, pin.commit) for pin in inquiry.pins] == [(OPEN, first, first)]
    assert SECRET in inquiry.pins.failed


def test_what_may_not_be_seen_is_not_there(engine: LocalEngine, state: State, desk: ConversationService) -> None:
    """A private name and an unknown one give the same words."""
    context = replace(desk_context(engine, desk), viewer=add_account(state, "ann"))
    messages = [
        call("deepsearch", {"question": QUESTION, "repos": [name]}, context).attributes["error"]["message"]
        for name in (SECRET, "example.org/team/other")
    ]
    assert messages[0].replace(SECRET, "NAME") == messages[1].replace("example.org/team/other", "NAME")


def test_a_follow_up_keeps_the_scope_as_data(engine: LocalEngine, desk: ConversationService) -> None:
    """Also after a restart: it is stored as data, and a question asked by words keeps what was read in it."""
    context = desk_context(engine, desk)
    beside = call("deepsearch", {"question": QUESTION, "repos": [OPEN]}, context).attributes
    in_words = call("deepsearch", {"question": f"How does {OPEN} compute the checkout total?"}, context).attributes
    for attributes in (beside, in_words):
        follow_up = {"identifier": attributes["read_token"], "question": "and who wrote it?"}
        assert {pin["repository"] for pin in call("deepsearch_follow_up", follow_up, context).attributes["pins"]} == {
            OPEN
        }
    stored = [desk.store.question(attributes["question_id"]) for attributes in (beside, in_words)]
    assert [(record.requested_scope, record.resolved_scope) for record in stored if record] == [
        (NamedScope((OPEN,)), NamedScope()),
        (NamedScope(), NamedScope((OPEN,))),
    ]


class Listener:
    """Researches as usual, and notes what it is told of earlier answers."""

    def __init__(self) -> None:
        self.previous: list[PreviousTurn] = []

    def research(self, inquiry: ResearchRequest, budget: ResearchBudget | None, emit: Emit) -> Draft:
        self.previous += inquiry.previous
        return ExtractiveResearcher().research(inquiry, budget, emit)


def test_a_changed_wording_changes_no_fact(engine: LocalEngine, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a follow-up knows of the answer before doesn't come from its text, however that is written."""
    listener = Listener()
    desk = ConversationService(state, listener)
    context = desk_context(engine, desk)

    def citations() -> tuple[list[str], tuple[str, ...], object]:
        attributes = call(
            "deepsearch", {"question": "Where is `checkout_total` defined?", "repos": [OPEN]}, context
        ).attributes
        call("deepsearch_follow_up", {"identifier": attributes["read_token"], "question": "and who wrote it?"}, context)
        stats = {name: value for name, value in attributes["stats"].items() if name != "time_millis"}
        return [source["label"] for source in attributes["sources"]], listener.previous[-1].cited_names, stats

    usual = citations()
    assert "checkout_total" in usual[1]
    link_citations = markdown.link_citations
    monkeypatch.setattr(
        markdown, "link_citations", lambda *arguments: link_citations(*arguments)[::-1].replace("`", "'")
    )
    assert citations() == usual
    desk.close()


def test_conversations_of_earlier_versions_are_read(tmp_path: Path, engine: LocalEngine) -> None:
    """Their segments have three parts, and no scope is stored: the question is read again."""
    with State(str(tmp_path / "state.sqlite")) as state:
        desk = ConversationService(state)
        context = desk_context(engine, desk)
        attributes = call("deepsearch", {"question": f"How does {OPEN} compute the total?"}, context).attributes
        desk.close()
    with sqlite3.connect(tmp_path / "state.sqlite") as database:
        database.execute('UPDATE questions SET asked = NULL, named = NULL, segments = \'[["block", "Old.", []]]\'')
    with State(str(tmp_path / "state.sqlite")) as state:
        desk = ConversationService(state)
        context = desk_context(engine, desk)
        assert call("deepsearch_read", {"identifier": str(attributes["id"])}, context).attributes["questions"][0][
            "answer"
        ] == ("Old.\n")
        follow_up = {"identifier": str(attributes["id"]), "question": "and who wrote it?"}
        assert {pin["repository"] for pin in call("deepsearch_follow_up", follow_up, context).attributes["pins"]} == {
            OPEN
        }
        desk.close()


def test_a_stored_scope_wins_over_the_words_of_a_question(engine: LocalEngine) -> None:
    """The scope of an earlier turn is what was stored, not what its question would be read as today."""
    before = PreviousTurn(f"How does {OPEN} compute the total?", "", (), NamedScope((SECRET,)))
    context = ToolContext(engine, Viewer.owner())
    assert {pin.repository for pin in open_inquiry("and who wrote it?", "", context, (before,)).pins} == {SECRET}


def test_the_schema_of_the_specification_stays() -> None:
    """The scope is taken, and not advertised; a service of another maker gets it as filters."""
    assert set(DEEPSEARCH.advertised_schema["properties"]) == {"question"}
    assert DEEPSEARCH.parse({"question": "q", "repos": ["a"], "revision": "v1"}).repos == ("a",)
    arguments = {"question": "Why?", "repos": ["a/b.c", "d"], "revision": "v1"}
    assert with_scope_as_text(arguments) == {"question": r"repo:^(?:a/b\.c|d)$ rev:v1 Why?"}
    assert with_scope_as_text({"question": "Why?", "repos": ["a"]}) == {"question": "repo:^a$ Why?"}
