"""Conversations: states, one question at a time, sharing, permissions when reading, and what survives a restart."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from engines.deepsearch.asking import OPEN, SECRET, add_account, desk_context
from sourcelight.core.errors import Cancelled, ToolError
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.deepsearch.conversations.identifiers import Identifier, parse_identifier, read_token
from sourcelight.engines.deepsearch.conversations.service import MAX_QUESTIONS_UNDER_WAY
from sourcelight.engines.deepsearch.research import Draft, Emit, ResearchBudget, ResearchEvent, ResearchRequest
from sourcelight.engines.deepsearch.research.protocol import Paragraph
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.tools import call
from sourcelight.repos import Catalog, Viewer
from sourcelight.repos.state import State

QUESTION = f"repo:^{OPEN}$ how is the checkout total computed"
WAIT_S = 10.0


@dataclass(slots=True)
class HeldResearcher:
    """Tells one thing, then waits to be let go or cancelled."""

    begun: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)
    seen: list[ResearchRequest] = field(default_factory=list)

    def research(self, inquiry: ResearchRequest, budget: ResearchBudget | None, emit: Emit) -> Draft:
        del budget
        self.seen.append(inquiry)
        emit(ResearchEvent("turn", {"tool": "nls_search", "query": "x", "result": "3 files"}))
        self.begun.set()
        while not self.let_go.wait(0.02):
            inquiry.context.cancellation.check()
        return Draft([Paragraph("Done.")])


@pytest.fixture
def desk_and_researcher(state: State) -> tuple[ConversationService, HeldResearcher]:
    researcher = HeldResearcher()
    return ConversationService(state, researcher), researcher


def test_a_question_is_answered_and_read(engine: LocalEngine, desk: ConversationService) -> None:
    """The tool opens a conversation; its address and its token read it."""
    context = desk_context(engine, desk)
    result = call("deepsearch", {"question": QUESTION}, context)
    attributes = result.attributes
    assert attributes["status"] == "completed"
    assert attributes["url"] == f"https://code.example.org/deepsearch/{attributes['read_token']}"
    assert attributes["title"] == "how is the checkout total computed"
    assert "checkout_total" in attributes["answer"]
    assert attributes["suggested_followups"]
    for identifier in (
        attributes["url"],
        attributes["read_token"],
        f" {attributes['url']}.md?x=1#y ",
        str(attributes["id"]),
    ):
        read = call("deepsearch_read", {"identifier": identifier}, context).attributes
        assert read["questions"][0]["answer"] == attributes["answer"]
        assert read["status"] == "completed"
    rows = result.table.to_pylist()
    assert {row["type"] for row in rows} == {"search", "repository", "file"}
    assert all(row["status"] == "verified" for row in rows if row["type"] == "file")


def test_follow_ups_keep_the_scope_and_wait_for_each_other(
    engine: LocalEngine, desk_and_researcher: tuple[ConversationService, HeldResearcher]
) -> None:
    """While a question runs another is refused; afterwards the scope of the first still holds."""
    desk, researcher = desk_and_researcher
    context = desk_context(engine, desk)
    conversation = desk.open(QUESTION, context)
    first = desk.ask_in(conversation, QUESTION, context)
    assert researcher.begun.wait(WAIT_S)
    with pytest.raises(ToolError, match="running question"):
        desk.ask_in(conversation, "and then?", context)
    researcher.let_go.set()
    assert desk.wait(first, context, WAIT_S).attributes["status"] == "completed"
    second = desk.ask_in(conversation, "and then?", context)
    assert desk.wait(second, context, WAIT_S).attributes["answer"] == "Done.\n"
    assert [pin.repository for pin in researcher.seen[1].pins] == [OPEN]
    assert researcher.seen[1].previous[0].question == "how is the checkout total computed"
    desk.close()


def test_canceled_questions_keep_what_was_told(
    engine: LocalEngine, desk_and_researcher: tuple[ConversationService, HeldResearcher]
) -> None:
    """Cancelling ends the work, the state stays, and the events can be read from any number on."""
    desk, researcher = desk_and_researcher
    context = desk_context(engine, desk)
    conversation = desk.open(QUESTION, context)
    number = desk.ask_in(conversation, QUESTION, context)
    assert researcher.begun.wait(WAIT_S)
    assert desk.cancel(number, context)
    assert not desk.cancel(number, context)
    assert desk.state_of(number, context).attributes["state"] == "canceled"
    events = list(desk.events(number, context))
    assert [event.kind for event in events] == ["question", "turn", "canceled"]
    assert [event.number for event in events] == [1, 2, 3]
    assert list(desk.events(number, context, after=2)) == events[2:]
    desk.close()
    assert desk.state_of(number, context).attributes["state"] == "canceled"


def test_a_caller_that_stops_cancels_here_but_not_over_mcp(
    engine: LocalEngine, desk_and_researcher: tuple[ConversationService, HeldResearcher]
) -> None:
    """In this process the question ends with its caller; a service goes on, and the answer is read later."""
    desk, researcher = desk_and_researcher
    for served in (False, True):
        researcher.begun.clear()
        context = desk_context(engine, desk, served=served)
        number = desk.ask_in(desk.open(QUESTION, context), QUESTION, context)
        assert researcher.begun.wait(WAIT_S)
        context.cancellation.cancel()
        with pytest.raises(Cancelled):
            desk.wait(number, context, None)
        state = desk.state_of(number, desk_context(engine, desk)).attributes["state"]
        assert state == ("processing" if served else "canceled")
    researcher.let_go.set()
    desk.close()


def test_mcp_waits_a_while_and_gives_the_address(
    engine: LocalEngine, desk_and_researcher: tuple[ConversationService, HeldResearcher]
) -> None:
    """An answer that takes longer is told to be under way."""
    desk, researcher = desk_and_researcher
    context = desk_context(engine, desk, served=True)
    number = desk.ask_in(desk.open(QUESTION, context), QUESTION, context)
    attributes = desk.wait(number, context, 0.05).attributes
    assert attributes["status"] == "processing"
    assert attributes["url"].startswith("https://code.example.org/deepsearch/")
    researcher.let_go.set()
    assert [event.kind for event in desk.events(number, context)][-1] == "completed"
    desk.close()


def test_a_restart_marks_what_was_interrupted(engine: LocalEngine, tmp_path: Path) -> None:
    """Questions of a process that died become errors and are never asked again by themselves."""
    with State(str(tmp_path / "state.sqlite")) as state:
        desk = ConversationService(state)
        context = desk_context(engine, desk)
        conversation = desk.open(QUESTION, context)
        number = desk.store.ask(conversation, "how", "", "gone-host-of-ours/x/dead")
        desk.close()
    with State(str(tmp_path / "state.sqlite")) as state:
        second_service = ConversationService(state)
        attributes = second_service.state_of(number, desk_context(engine, second_service)).attributes
        assert attributes["state"] == "error"
        assert attributes["error"]["kind"] == "Interrupted"
        second_service.ask_in(conversation, QUESTION, desk_context(engine, second_service))
        second_service.close()


def test_faults_end_questions_with_a_reason(engine: LocalEngine, state: State) -> None:
    """What the asker can mend is said; what went wrong inside is not."""

    class Broken:
        def research(self, inquiry: ResearchRequest, budget: ResearchBudget | None, emit: Emit) -> Draft:
            del inquiry, budget, emit
            raise RuntimeError("secret internals")

    desk = ConversationService(state, Broken())
    context = desk_context(engine, desk)
    attributes = desk.ask("how is it done", context).attributes
    assert attributes["state"] == "error"
    assert "secret internals" not in str(attributes)
    missing = desk.ask("repo:nosuch how is it done", context).attributes
    assert "no repository to search" in missing["error"]["message"]
    with pytest.raises(ToolError, match="empty"):
        desk.ask("repo:x", context)
    with pytest.raises(ToolError, match="account"):
        desk.ask("how is it done", desk_context(engine, desk, Viewer.anonymous()))
    desk.close()


def test_a_question_whose_work_cannot_begin_is_not_running(engine: LocalEngine, desk: ConversationService) -> None:
    """A question may fail before its work exists; it took one of the 16 slots of its account for an hour."""

    class Unreadable:
        @property
        def catalog(self) -> Catalog:
            raise RuntimeError("the catalog can't be read")

    context = desk_context(engine, desk)
    number = desk.open(QUESTION, context)
    desk.wait(desk.ask_in(number, QUESTION, context), context, WAIT_S)

    broken = replace(context, engine=Unreadable())  # type: ignore[arg-type] # no more of it is called
    for _ in range(MAX_QUESTIONS_UNDER_WAY + 1):
        with pytest.raises(RuntimeError, match="the catalog"):
            desk.ask_in(number, QUESTION, broken)

    answer = desk.wait(desk.ask_in(number, QUESTION, context), context, WAIT_S)
    assert answer.attributes["state"] == "completed"


@pytest.mark.parametrize(
    ("text", "is_valid"),
    [
        ("https://code.example.org/deepsearch/{token}", True),
        ("https://CODE.example.org:443/deepsearch/shared/{token}.md", True),
        ("/deepsearch/{token}?q=1", True),
        ("{token}", True),
        ("7", True),
        ("/deepsearch/7", True),
        ("http://code.example.org/deepsearch/{token}", False),
        ("https://evil.example.org/deepsearch/{token}", False),
        ("https://code.example.org/search?q=x", False),
        ("https://code.example.org/deepsearch/shared/7", False),
        ("/deepsearch/{token}/more", False),
        ("-1", False),
        ("", False),
        ("x" * 5000, False),
        ("https://[bad/deepsearch/{token}", False),
    ],
)
def test_identifiers_are_read_strictly(text: str, is_valid: bool) -> None:  # noqa: FBT001 - parametrised
    """Own and shared addresses, tokens and numbers; anything else is refused with the accepted forms."""
    token = read_token(b"secret", 1, 1)
    identifier = text.format(token=token)
    if is_valid:
        expected = Identifier(number=7) if "7" in text and "{token}" not in text else Identifier(token=token)
        assert parse_identifier(identifier, "https://code.example.org") == expected
    else:
        with pytest.raises(ToolError, match="read token"):
            parse_identifier(identifier, "https://code.example.org")


def test_numbers_of_other_services_are_not_ours() -> None:
    """Without an address of our own, a full address opens something by its token only: a number may mean another."""
    token = read_token(b"secret", 1, 1)
    assert parse_identifier(f"https://far.example.org/deepsearch/{token}") == Identifier(token=token)
    assert parse_identifier("/deepsearch/7") == parse_identifier("7") == Identifier(number=7)
    with pytest.raises(ToolError, match="belongs to a service"):
        parse_identifier("https://far.example.org/deepsearch/7")


def test_only_shared_conversations_are_read_by_others(
    engine: LocalEngine, state: State, desk: ConversationService
) -> None:
    """Absent, deleted and unshared ones are refused in the same words; a reset link opens nothing any more."""
    reader = add_account(state, "reader")
    owner, other = desk_context(engine, desk), desk_context(engine, desk, reader)
    attributes = desk.ask(QUESTION, owner).attributes
    number, token = attributes["id"], attributes["read_token"]

    def refused(identifier: str) -> str:
        with pytest.raises(ToolError) as caught:
            desk.read(identifier, other)
        return str(caught.value)

    words = {refused(token), refused(str(number)), refused("999"), refused(read_token(b"x", 1, 1))}
    link = desk.share(number, owner)
    assert link == f"https://code.example.org/deepsearch/shared/{token}"
    assert desk.read(link, other).attributes["questions"][0]["answer"] == attributes["answer"]
    words.add(refused(str(number)))
    changed = desk.reset_link(number, owner)
    assert changed != link
    words.add(refused(token))
    assert desk.read(changed, other).attributes["title"] == attributes["title"]
    desk.share(number, owner, shared=False)
    words.add(refused(changed))
    desk.share(number, owner)
    desk.delete(number, owner)
    words.add(refused(changed))
    assert len(words) == 1
    with pytest.raises(ToolError):
        desk.rename(number, "x", owner)


def test_others_cannot_change_a_conversation(engine: LocalEngine, state: State, desk: ConversationService) -> None:
    """Not even a shared one: asking, renaming, starring, sharing, deleting and cancelling are its owner's."""
    other = desk_context(engine, desk, add_account(state, "reader"))
    attributes = desk.ask(QUESTION, desk_context(engine, desk)).attributes
    number = attributes["id"]
    desk.share(number, desk_context(engine, desk))
    attempts: list[Callable[[], object]] = [
        lambda: desk.ask_in(number, "more?", other),
        lambda: desk.rename(number, "mine", other),
        lambda: desk.star(number, other),
        lambda: desk.share(number, other, shared=False),
        lambda: desk.reset_link(number, other),
        lambda: desk.delete(number, other),
        lambda: desk.cancel(attributes["question_id"], other),
        lambda: list(desk.events(attributes["question_id"], other)),
        lambda: desk.state_of(attributes["question_id"], other),
        lambda: call("deepsearch_follow_up", {"identifier": attributes["url"], "question": "more?"}, other),
        lambda: call("deepsearch_change", {"identifier": attributes["url"], "delete": True}, other),
    ]
    for attempt in attempts:
        with pytest.raises(ToolError, match="conversation not found"):
            attempt()


def test_sharing_can_be_switched_off(engine: LocalEngine, state: State) -> None:
    """Then nothing is shared, and what was shared before can't be read by others."""
    reader = add_account(state, "reader")
    desk = ConversationService(state)
    attributes = desk.ask(QUESTION, desk_context(engine, desk)).attributes
    link = desk.share(attributes["id"], desk_context(engine, desk))
    closed = ConversationService(state, sharing=False)
    with pytest.raises(ToolError, match="disabled"):
        closed.share(attributes["id"], desk_context(engine, closed))
    with pytest.raises(ToolError, match="conversation not found"):
        closed.read(link, desk_context(engine, closed, reader))
    desk.close()
    closed.close()


def test_permissions_hold_when_an_answer_is_read(engine: LocalEngine, state: State, desk: ConversationService) -> None:
    """Citations into what the reader may not see lose path, quote and link; one line says how many."""
    reader = add_account(state, "reader")
    owner = desk_context(engine, desk)
    attributes = desk.ask("how is the checkout total of a cart or of the vault ledger computed", owner).attributes
    assert SECRET in attributes["answer"]
    link = desk.share(attributes["id"], owner)
    result = desk.read(link, desk_context(engine, desk, reader))
    text = str(result.attributes) + str(result.table.to_pylist())
    for private in (SECRET, "vault/ledger.py", "Add up the ledger", "sum(ledger)"):
        assert private not in text
    answer = result.attributes["questions"][0]["answer"]
    assert "withheld" in answer
    assert "total = sum(self.items.values())" in answer
    assert OPEN in answer
    granted = replace(reader, granted=frozenset({SECRET}))
    assert (
        desk.read(link, desk_context(engine, desk, granted)).attributes["questions"][0]["answer"]
        == attributes["answer"]
    )


def test_conversations_are_listed_searched_renamed_and_starred(
    engine: LocalEngine, state: State, desk: ConversationService
) -> None:
    """One's own, newest change first; `%` and `_` are no wildcards."""
    context = desk_context(engine, desk)
    first = desk.ask(QUESTION, context).attributes["id"]
    second = desk.ask("who wrote `format_price` 100%?", context).attributes["id"]
    desk.rename(first, "Totals", context)
    desk.star(second, context)

    def ids(**options: object) -> list[int]:
        rows = call("deepsearch_list", dict(options), context).table.to_pylist()
        return [row["id"] for row in rows]

    assert set(ids()) == {first, second}
    assert ids(text="Totals") == [first]
    assert ids(text="100%") == [second]
    assert ids(text="%zz_") == []
    assert ids(starred=True) == [second]
    assert ids(limit=1, skip=1) == ids()[1:]
    assert call("deepsearch_list", {}, desk_context(engine, desk, add_account(state, "x"))).table.num_rows == 0
    with pytest.raises(ToolError, match="sorted"):
        desk.list(context, order="title; DROP TABLE conversations")


def test_deletion_and_age_leave_nothing_behind(engine: LocalEngine, state: State) -> None:
    """A deleted conversation's rows are gone from every table; starred ones survive their age."""
    desk = ConversationService(state, retention_days=0.0)
    context = desk_context(engine, desk)
    starred_id = desk.ask(QUESTION, context).attributes["id"]
    desk.star(starred_id, context)
    desk.ask(QUESTION, context)
    state.clock = lambda: 4_000_000_000.0
    assert desk.delete_expired() == 1
    assert desk.list(context).table.num_rows == 1
    desk.delete(starred_id, context)
    for table in ("conversations", "questions", "question_pins", "question_events", "question_sources"):
        assert state.database.all(f"SELECT * FROM {table}") == []  # noqa: S608 - our own names
    desk.close()


def test_nothing_of_a_token_is_kept(engine: LocalEngine, tmp_path: Path) -> None:
    """The file has the token's hash only, and the tokens of two conversations have nothing in common."""
    path = tmp_path / "state.sqlite"
    with State(str(path)) as state:
        desk = ConversationService(state)
        tokens = [desk.ask(QUESTION, desk_context(engine, desk)).attributes["read_token"] for _ in range(2)]
        desk.close()
    assert tokens[0] != tokens[1]
    dump = "\n".join(sqlite3.connect(path).iterdump())
    assert not any(token in dump for token in tokens)
