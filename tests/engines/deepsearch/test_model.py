"""Answers by a model, over real HTTP, from a server that behaves as real ones do on their bad days."""

from __future__ import annotations

import re
import threading
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings

from core.markup.rendered_harm import ATTACKS, RENDERERS, TEXTS, harm
from engines.deepsearch.asking import OPEN, SECRET, Researched, desk_context, engine_of
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, ConfigurationError, MissingExtra
from sourcelight.engines.deepsearch import markdown as answers
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.deepsearch.evidence.model import EvidenceLedger
from sourcelight.engines.deepsearch.evidence.pins import pin
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.llm.provider import ModelConfig, choose_cost_limit, choose_model
from sourcelight.engines.deepsearch.llm.researcher import ModelResearcher, answered_messages
from sourcelight.engines.deepsearch.llm.toolbox import Toolbox
from sourcelight.engines.deepsearch.research import ResearchBudget, ResearchEvent, ResearchRequest
from sourcelight.engines.deepsearch.research.answer import finish
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import Viewer
from sourcelight.repos.state import State
from sourcelight.testing import RepositoryBuilder
from sourcelight.testing.scripted_model import Fail, Say, Script, ScriptedModel, Use

pytestmark = pytest.mark.timeout(90)

QUESTION = "how is the checkout total of a cart computed"
GOOD = "The total is a sum of prices [E1].\n\n## Follow-up questions\n\n- What is rounded?\n- Who wrote it?\n"
READ = Use([("read_file", {"repo": OPEN, "path": "shop/prices.py", "startLine": 4, "endLine": 6})])


def ask(engine: LocalEngine, script: Script, *, budget: ResearchBudget | None = None, viewer: Viewer | None = None,
        filters: str = "", question: str = QUESTION,
        name: str = "scripted") -> tuple[Researched, ScriptedModel]:  # fmt: skip
    """Ask a model that behaves as `script` says."""
    context = ToolContext(engine, viewer or Viewer.owner())
    pins = pin(engine, filters, context.viewer, Cancellation())
    inquiry = ResearchRequest(question, filters, pins, FileTexts(context))
    happenings: list[ResearchEvent] = []
    with ScriptedModel(script) as server:
        researcher = ModelResearcher(ModelConfig(name, server.url), budget or ResearchBudget.of_model())
        draft = researcher.research(inquiry, None, happenings.append)
        return Researched(draft, finish(draft, inquiry, happenings.append), happenings), server


def sent(server: ScriptedModel) -> str:
    """All text that was sent to the model."""
    return str(server.requests)


def test_a_model_reads_and_cites(engine: LocalEngine) -> None:
    """It gets first evidence, calls a tool, and its ids become checked links."""
    text = "Prices are rounded to cents [E1]. The function says so [{last}]."

    def last(body: dict[str, Any]) -> Say:
        ids = re.findall(r"\[(E\d+)\] <source", str(body["messages"][-1]["content"]))
        return Say(text.format(last=ids[-1]))

    answer, server = ask(engine, [READ, last], filters=f"repo:^{OPEN}$")
    assert answer.draft.researcher == "model"
    assert answer.draft.model == "scripted"
    assert "shop/prices.py?L4-6" in answer.text
    assert answer.finished.rejected == ()
    assert len(answer.finished.citations) == 2
    assert "Written by `scripted`" in answer.text
    assert "127.0.0.1" in answer.text
    assert answer.finished.stats["tool_calls"] == 1
    assert "with 1 tool call." in answer.text
    assert answer.finished.stats["total_input_tokens"] == 200
    names = {tool["function"]["name"] for tool in server.requests[0]["tools"]}
    assert {"read_file", "keyword_search", "nls_search", "find_references"} <= names
    assert not names & {"deepsearch", "deepsearch_read"}
    kinds = [happening.kind for happening in answer.happenings]
    assert "answer_delta" in kinds
    assert "evidence" in kinds
    assert {"tool": "read_file"}.items() <= next(
        h.payload for h in answer.happenings if h.payload.get("tool") == "read_file"
    ).items()


def test_follow_ups_are_taken_from_the_answer(engine: LocalEngine) -> None:
    """The last heading of an answer gives the questions to ask next."""
    answer, _ = ask(engine, [Say(GOOD)])
    assert answer.finished.followups == ("What is rounded?", "Who wrote it?")
    assert "Follow-up" not in answer.text


def test_invented_citations_are_sent_back_then_removed(engine: LocalEngine) -> None:
    """A model gets two chances; then sentences that rest on nothing are marked, and ids that nobody gave are gone."""
    answer, server = ask(engine, [Say("It is magic [E99]. It sums [E1].")])
    assert len(server.requests) == 3
    assert "E99" in str(server.requests[1]["messages"][-1])
    assert "It is magic (unverified)" in answer.text
    assert "E99" not in answer.text
    assert "It sums [" in answer.text
    assert answer.finished.stats["unverified_sentences"] == 1
    better, _ = ask(engine, [Say("It is magic [E99]."), Say("It sums [E1].")])
    assert "magic" not in better.text
    assert better.finished.stats["unverified_sentences"] == 0


def test_the_routes_are_a_tool_of_a_model(engine: LocalEngine) -> None:
    """What a line proves without a model is asked for by one call, and its lines can be cited."""
    questions = {
        "Where is checkout_total defined in shop?": "`checkout_total` is defined in",
        "What does add_item call?": "`add_item` calls `round_price`",
        "What calls round_price in shop?": "`round_price` is called by `add_item`",
        "What is the difference between round_price and format_price?": "`format_price` is a function in",
        "Which tests cover checkout_total in shop?": "of 1 test file",
        "Show me an example of add_item": "A line that uses the name `add_item` is in",
        "What is the base class of Cart?": "no base class in",
        "How many files are there in shop?": "**5** files",
        "Who last changed line 3 of shop/prices.py?": "was last changed by Ada",
        "Where is FluxCapacitor defined?": "No searched file has `FluxCapacitor`",
        "What parameters does add_item take?": "`add_item` has the parameters `name` and `price`",
        "What does round_price do?": "“Round a price to whole cents",
        "What is the default of currency in format_price?": "`format_price` has no parameter `currency`",
        "Is there a class called Cart?": "Yes: `Cart` is defined in",
        "Where is ValueError raised?": "`ValueError` is raised by name on 1 line",
        "Which environment variables does shop read?": "No line proves an answer",
        "Does shop depend on requests?": "No line proves an answer",
        "Which Python version does shop require?": "No line proves an answer",
        "whats the differnce between round_price and format_price": "`format_price` is a function in",
        "Which classes inherit from Cart?": "No line proves an answer",
        "How is the weather?": "No line proves an answer",
    }
    calls = Use([("lookup", {"question": question}) for question in questions])
    results: list[str] = []

    def last(body: dict[str, Any]) -> Say:
        results.extend(str(message["content"]) for message in body["messages"] if message["role"] == "tool")
        ids = dict.fromkeys(re.findall(r"\[(E\d+)\]", results[1]))  # which of them has both names, no order promises
        return Say(f"`add_item` rounds by `round_price` [{', '.join(ids)}].")

    answer, _ = ask(engine, [calls, last], filters=f"repo:^{OPEN}$")
    assert len(results) == len(questions)
    for part, result in zip(questions.values(), results, strict=True):
        assert part in result
    lookups = [str(event.payload["query"]) for event in answer.happenings if event.payload.get("tool") == "lookup"]
    assert lookups == list(questions), "calls of one message run in its order"
    assert all(SECRET not in result for result in results)
    assert "(unverified)" not in answer.text
    assert "shop/cart.py?L9-12" in answer.text
    assert {"total_input_tokens", "completion_tokens", "time_millis", "tool_calls"} <= answer.finished.stats.keys()


@pytest.mark.parametrize(
    ("text", "is_marked"),
    [
        ("The total is a sum [E1].", False),
        ("The `checkout_total` is a sum [E1]. It is quick.", False),
        ("`magic_total` adds the prices [E1].", True),
        ("It is magic. Prices are summed [E1].", True),
        # Numbers have to be in the cited lines, as names do.
        ("It waits 77 seconds [E1].", True),
        ("# Total\n\nIt is magic. Prices are summed [E1].", True),
    ],
)
def test_the_first_sentence_of_a_model_needs_lines_that_prove_it(
    engine: LocalEngine, text: str, *, is_marked: bool
) -> None:
    """Without a citation, or with a name that the cited lines don't have, it is marked."""
    answer, _ = ask(engine, [Say(text)], filters=f"repo:^{OPEN}$")
    assert ("(unverified)" in answer.text) is is_marked
    assert answer.finished.stats["unverified_sentences"] == int(is_marked)


def test_links_and_markup_of_a_model_do_nothing(engine: LocalEngine) -> None:
    """Only ids become links, and by us; typed links, images, addresses and tags are text."""
    bad = "See [here](javascript:alert(1)) ![x](http://evil.example/?q=1) <img src=x> https://evil.example/a [E1](http://b)."
    answer, _ = ask(engine, [Say(bad)])
    assert "javascript:" not in answer.text
    assert "](http://evil" not in answer.text
    assert "](http://b" not in answer.text
    assert not re.search(r"(?<!\\)<img", answer.text)
    assert "`https://evil.example/a`" in answer.text


def test_attacks_by_markdown_of_a_model_do_nothing(engine: LocalEngine) -> None:
    """What patterns let through: references, escaped ticks, nested brackets, fences in lines; ids still are links."""
    for text in ("\n\n".join(ATTACKS), *ATTACKS[:4]):
        answer, _ = ask(engine, [Say(f"Cited [E1].\n\n{text}\n\nAnd [E1](http://evil.example) `[E1]`.")])
        ours = frozenset(re.findall(r"\]\((/[^)]*)\)", answer.text))
        assert ours, "the ids are links of ours"
        assert "`[E1]`" in answer.text, "code is left alone"
        for renderer in RENDERERS:
            assert harm(answer.text, renderer, ours) == [], (renderer, answer.text)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(TEXTS)
def test_text_of_repositories_does_nothing_in_an_answer(text: str) -> None:
    """The same of what an answer without a model quotes: subjects, names, lines."""
    for markdown in (
        f"- {answers.inline(text)} and more",
        answers.fence_code(text, f"a.{text}"),
        f"**{answers.inline(text)}**",
    ):
        for renderer in ("markdown-it", "ours"):
            assert harm(markdown, renderer) == [], (renderer, markdown)


@pytest.mark.parametrize(
    "script",
    [
        [Fail(500)],
        [Fail(429, headers={"retry-after": "0"})],
        [Fail(400, {"error": {"message": "maximum context length", "code": "context_length_exceeded"}})],
        [Fail(401)],
        [Say("")],
        [Use([("no_such_tool", {})])],
        [Use([("read_file", "{not json")])],
    ],
    ids=["500", "429", "context overflow", "401", "empty", "unknown tool", "malformed call"],
)
def test_when_a_model_fails_the_answer_needs_none(engine: LocalEngine, script: Script) -> None:
    """Whatever a server does, there is a cited answer, and it says that no model wrote it."""
    answer, _ = ask(engine, script, filters=f"repo:^{OPEN}$")
    assert answer.draft.researcher == "extractive"
    assert answer.text.startswith("The model `scripted` gave no answer")
    assert "checkout_total" in answer.text
    assert "Nothing left this machine" not in answer.text
    assert answer.finished.stats["model_error"].startswith(("its ", "it "))
    assert answer.finished.rejected == ()


def test_a_passing_fault_is_retried(engine: LocalEngine) -> None:
    """One refusal for load does not end a run."""
    answer, server = ask(engine, [Fail(429, headers={"retry-after": "0"}), Say(GOOD)])
    assert answer.draft.researcher == "model"
    assert len(server.requests) == 2


def test_a_malformed_call_can_be_mended(engine: LocalEngine) -> None:
    """The model is told what was wrong with a call and goes on."""
    answer, server = ask(engine, [Use([("read_file", {"repo": OPEN})]), Use([("read_file", "{bad")]), Say(GOOD)])
    assert answer.draft.researcher == "model"
    assert "path" in str(server.requests[1]["messages"][-1])


def test_an_endless_loop_is_ended(engine: LocalEngine) -> None:
    """The same call again is answered from memory; the budget ends the loop, and the model gets a last word."""

    def looping(body: dict[str, Any]) -> Say | Use:
        return READ if body.get("tools") else Say("It sums [E1].")

    answer, server = ask(engine, [looping], budget=replace(ResearchBudget.of_model(), model_requests=6))
    assert answer.draft.researcher == "model"
    assert "It sums [" in answer.text
    assert "stopped: its budget is used up" in answer.text
    assert len(server.requests) == 7
    assert "You made this very call before" in sent(server)
    assert "brought nothing new" in sent(server)


def test_calls_beyond_the_budget_are_refused(engine: LocalEngine) -> None:
    """Also calls that fail count."""
    calls = [Use([("read_file", {"repo": OPEN, "path": f"no/{n}.py"})]) for n in range(4)]
    answer, server = ask(engine, [*calls, Say(GOOD)], budget=replace(ResearchBudget.of_model(), tool_calls=2))
    assert "used up: answer now" in sent(server)
    assert answer.draft.researcher == "model"
    assert "2 tool calls refused; the limit is 2." in answer.text
    assert [h.payload["result"] for h in answer.happenings if "refused" in str(h.payload)] == [
        "refused: the number of calls is used up"
    ] * 2


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ({"model_requests": 2}, "turns"),
        ({"input_tokens": 500}, "tokens read"),
        ({"output_tokens": 30}, "tokens written"),
        ({"request_tokens": 500}, "tokens of one request"),
        ({"cost": 1e-6}, "dollars"),
    ],
    ids=["turns", "tokens read", "tokens written", "tokens of one request", "dollars"],
)
def test_each_budget_ends_a_run_and_is_named(engine: LocalEngine, limit: dict[str, Any], reason: str) -> None:
    """At each limit the model gets a last word, and answer, numbers and turns say which limit it was."""

    def looping(body: dict[str, Any]) -> Say | Use:
        return Use(READ.calls, tokens=(900, 20)) if body.get("tools") else Say("It sums [E1].")

    # A name of the price list of the library; whatever it says, a millionth of a dollar is less.
    answer, server = ask(engine, [looping], budget=replace(ResearchBudget.of_model(), **limit), name="gpt-4o")
    assert answer.draft.researcher == "model"
    assert "It sums [" in answer.text
    assert f"stopped: its budget is used up: {reason}." in answer.text
    assert answer.finished.stats["cut_short"] == f"its budget is used up: {reason}"
    turns = [happening.payload for happening in answer.happenings if happening.payload.get("tool") == "model"]
    assert turns == [{"tool": "model", "result": f"stopped: its budget is used up: {reason}"}]
    assert answer.finished.stats["cost_dollars"] > 0.0
    assert len(server.requests) <= 4
    assert not server.requests[-1].get("tools")


def test_a_budget_of_time_ends_a_run_and_is_named(engine: LocalEngine) -> None:
    """A model that calls tools for too long is told to end, too."""

    def looping(body: dict[str, Any]) -> Say | Use:
        return Use(READ.calls, tokens=(1, 1)) if body.get("tools") else Say("It sums [E1].")

    budget = replace(ResearchBudget.of_model(), wall_s=1.0, model_requests=0, tool_calls=0)
    answer, _ = ask(engine, [looping], budget=budget)
    if answer.draft.researcher == "model":  # with its last word, which may take as long again on a slow machine
        assert "stopped: it took too long." in answer.text
    assert "took too long" in answer.text


def test_a_run_that_ends_inside_a_call_of_a_tool_has_a_last_word() -> None:
    """The library takes no further word after a call without its answer; what was read before is not lost for it."""
    from pydantic_ai import Agent
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
    from pydantic_ai.models.test import TestModel

    agent = Agent(TestModel(custom_output_text="Said."))

    def last_text(history: list[ModelRequest | ModelResponse]) -> str:
        return str(anyio.run(partial(agent.run, "end now", message_history=history)).output)

    messages: list[ModelRequest | ModelResponse] = [
        ModelRequest([UserPromptPart("how?")]),
        ModelResponse([ToolCallPart("read_file", {}, "1")]),
        ModelRequest([ToolReturnPart("read_file", "read", "1")]),
    ]
    open_messages = [*messages, ModelResponse([TextPart("then"), ToolCallPart("read_file", {}, "2")])]
    with pytest.raises(UserError, match="unprocessed tool calls"):
        last_text(open_messages)
    assert answered_messages(open_messages) == answered_messages(messages) == messages
    assert last_text(answered_messages(open_messages)) == last_text(answered_messages(open_messages[:2])) == "Said."


def test_a_cost_that_nobody_knows_is_said(engine: LocalEngine) -> None:
    """A limit that can't be held is no secret."""
    answer, _ = ask(engine, [READ, Say("It sums [E1].")], budget=replace(ResearchBudget.of_model(), cost=0.5))
    assert answer.draft.researcher == "model"
    assert "the cost limit of 0.5 dollars couldn't be applied" in answer.text
    assert "cost_dollars" not in answer.finished.stats


def test_a_limit_of_cost_is_read_from_the_environment() -> None:
    """Dollars for a question; what is no amount is refused by name."""
    assert choose_cost_limit({}) is None
    assert choose_cost_limit({"SOURCELIGHT_MODEL_MAX_COST": " 0.25 "}) == 0.25
    for wrong in ("free", "-1", "0", "nan", "inf"):
        with pytest.raises(ConfigurationError, match="SOURCELIGHT_MODEL_MAX_COST"):
            choose_cost_limit({"SOURCELIGHT_MODEL_MAX_COST": wrong})


def test_a_slow_stream_is_ended_in_time(engine: LocalEngine) -> None:
    """A model that takes longer than allowed is left, also when it is slow again with its last word."""
    began = time.monotonic()
    answer, _ = ask(engine, [Say(GOOD, pause_s=100.0)], budget=replace(ResearchBudget.of_model(), wall_s=1.0))
    assert time.monotonic() - began < 45.0
    assert answer.draft.researcher == "extractive"
    assert "took too long" in answer.text


def test_cancelling_stops_a_model(engine: LocalEngine) -> None:
    """A caller that stops gets `Cancelled` at once, while the server still thinks."""
    cancellation = Cancellation()
    context = ToolContext(engine, Viewer.owner(), cancellation)
    inquiry = ResearchRequest(QUESTION, "", pin(engine, "", context.viewer, cancellation), FileTexts(context))
    with ScriptedModel([Say(GOOD, pause_s=100.0)]) as server:
        researcher = ModelResearcher(ModelConfig("scripted", server.url))
        timer = threading.Timer(1.0, cancellation.cancel)
        timer.start()
        began = time.monotonic()
        with pytest.raises(Cancelled):
            researcher.research(inquiry, None, lambda _: None)
        assert time.monotonic() - began < 45.0


def test_a_server_that_is_not_there(engine: LocalEngine) -> None:
    """A refused connection gives the extractive answer."""
    context = ToolContext(engine, Viewer.owner())
    inquiry = ResearchRequest(QUESTION, "", pin(engine, "", context.viewer, Cancellation()), FileTexts(context))
    researcher = ModelResearcher(ModelConfig("scripted", "http://127.0.0.1:9/v1"))
    draft = researcher.research(inquiry, None, lambda _: None)
    assert draft.researcher == "extractive"
    assert "server can't be reached" in str(draft.parts[0])


def test_a_model_cannot_leave_the_scope(engine: LocalEngine) -> None:
    """Neither by naming another repository, nor another commit, nor by a query without filters."""
    calls = Use(
        [
            ("read_file", {"repo": SECRET, "path": "vault/ledger.py"}),
            ("read_file", {"repo": OPEN, "path": "shop/cart.py", "revision": "HEAD~1"}),
            ("keyword_search", {"query": "checkout_total"}),
            ("nls_search", {"query": "ledger of the vault"}),
            ("list_files", {"repo": SECRET}),
            ("commit_search", {"repos": [SECRET]}),
            ("read_file", {"repo": OPEN, "path": ".env"}),
        ]
    )
    answer, server = ask(engine, [calls, Say(GOOD)], filters=f"repo:^{OPEN}$")
    messages = str(server.requests[1]["messages"])
    for private in ("def checkout_total(ledger)", "sum(ledger)", "hunter2secret", "Add the ledger"):
        assert private not in messages
    assert "not in the scope" in messages
    assert answer.draft.researcher == "model"


def test_an_or_does_not_leave_the_scope(engine: LocalEngine) -> None:
    """Filters in front of ``a or b`` held for ``a`` alone: a number could tell of files of other repositories."""
    context = ToolContext(engine, Viewer.owner())
    filters = f"repo:^{OPEN}$"
    pins = pin(engine, filters, context.viewer, Cancellation())
    inquiry = ResearchRequest(QUESTION, filters, pins, FileTexts(context))
    toolbox = Toolbox(inquiry, EvidenceLedger(), ResearchBudget.of_model(), lambda _: None)
    outside = f"zzz or (repo:^{SECRET}$ ledger)"
    assert "0 matches, complete" in toolbox.run("count", {"query": outside})
    assert "0 matches, complete" in toolbox.run("count", {"query": f"(zzz) or repo:{SECRET} ledger"})
    # The repository of the second alternative has one file.
    assert "1 repository, 1 file" not in toolbox.run("explain", {"query": outside})
    # Numbers that name no repository are of the scope.
    assert "4 in 3 files" in toolbox.run("count", {"query": "checkout_total"})
    assert "Grace" in toolbox.run("contributors", {"repos": [OPEN]})


def test_lists_of_the_scope_reach_a_model(engine: LocalEngine) -> None:
    """`list_repos` took the filters for words of names, and a value that is a list ended the call."""
    calls = Use([("list_repos", {"query": ""}), ("get_contributor_repos", {"author": "."})])
    _, server = ask(engine, [calls, Say(GOOD)], filters=f"repo:^{OPEN}$")
    results = [str(message["content"]) for message in server.requests[1]["messages"] if message["role"] == "tool"]
    assert len(results) == 2
    for text in results:
        assert OPEN in text
        assert SECRET not in text
        assert "Mallory" not in text


def test_a_model_sees_what_the_asker_sees(engine: LocalEngine) -> None:
    """For one who may not see a repository it does not exist, whatever the model asks for."""
    reading = "read_file", {"repo": SECRET, "path": "vault/ledger.py"}
    calls = Use([("list_repos", {"query": ""}), ("keyword_search", {"query": "ledger"}), reading])
    answer, server = ask(engine, [calls, Say(GOOD)], viewer=Viewer.anonymous())
    sent_text = sent(server)
    assert "sum(ledger)" not in sent_text
    assert "Add up the ledger" not in sent_text
    assert answer.finished.rejected == ()


def test_text_of_repositories_is_never_an_instruction(engine: LocalEngine) -> None:
    """The system message is ours alone; what files say stands in frames of a fresh boundary."""
    _, first = ask(engine, [READ, Say(GOOD)])
    _, second = ask(engine, [READ, Say(GOOD)])
    for server in (first, second):
        system = [m["content"] for m in server.requests[0]["messages"] if m["role"] == "system"]
        assert all("checkout" not in text and "Cart" not in text for text in system)
    boundary = r"<source-([0-9a-f]{16})"
    first_boundaries, second_boundaries = (re.findall(boundary, sent(server)) for server in (first, second))
    assert len(set(first_boundaries)) == len(set(second_boundaries)) == 1
    assert set(first_boundaries) != set(second_boundaries)


def test_evidence_of_long_lines_is_bounded(tmp_path: Path) -> None:
    """A minified file was sent whole with the question: 880,000 characters, above any budget."""
    builder = RepositoryBuilder(tmp_path / "src" / "site")
    minified = "var zebra=flamingo;" + "function f(a){return zebra(a)||flamingo(a)};" * 20_000
    builder.commit({"dist/z.min.js": minified, "limit.py": "ZEBRA_LIMIT = 5  # of the flamingo\n"}, "x" * 50_000)
    (tmp_path / "src" / "repos.toml").write_text("")
    reading = Use(
        [
            ("keyword_search", {"query": "zebra flamingo"}),
            ("commit_search", {"repos": [builder.path.name]}),
            ("read_file", {"repo": builder.path.name, "path": "limit.py"}),
        ]
    )
    with closing(engine_of(tmp_path / "src", tmp_path / "home")) as minified_engine:
        minified_engine.refresh(Cancellation())
        answer, server = ask(minified_engine, [reading, Say("Five [E1].")], question="what is the flamingo zebra limit")
    assert answer.draft.researcher == "model"
    messages = [str(message["content"]) for message in server.requests[-1]["messages"]]
    assert "ZEBRA_LIMIT = 5" in str(messages)
    assert "more characters)" in str(messages)
    assert max(map(len, messages)) < 60_000


@pytest.mark.parametrize("text", [" \n\n ", "```\n", ">" * 2_000 + " [E1]", "---\n***"])
def test_an_answer_without_words_is_none(engine: LocalEngine, text: str) -> None:
    answer, _ = ask(engine, [Say(text)])
    assert answer.draft.researcher == "extractive"
    assert answer.text.startswith("The model `scripted` gave no answer (its response ")


def test_long_arguments_of_a_call_are_refused(engine: LocalEngine) -> None:
    """Steps, errors and the results of a call repeated them: 50 MB of a query stood in the state of the service."""
    calls = Use([("keyword_search", {"query": "x" * 1_000_000}), ("keyword_search", {"query": "cart " * 1_000})])
    answer, server = ask(engine, [calls, Say(GOOD)])
    assert "and the limit is 20,000" in str(server.requests[1]["messages"][-2:])
    assert max(len(str(happening.payload)) for happening in answer.happenings) < 20_000


def test_a_conversation_with_a_model(engine: LocalEngine, state: State) -> None:
    """The desk keeps who wrote an answer, and a follow-up tells the model what was said."""
    with ScriptedModel([Say(GOOD), Say("Cents [E1].")]) as server:
        desk = ConversationService(state, ModelResearcher(ModelConfig("scripted", server.url)))
        context = desk_context(engine, desk)
        attributes = desk.ask(QUESTION, context).attributes
        assert (attributes["researcher"], attributes["model"], attributes["status"]) == (
            "model",
            "scripted",
            "completed",
        )
        number = desk.ask_in(attributes["id"], "and what is rounded?", context)
        assert desk.wait(number, context, None).attributes["answer"].startswith("Cents [")
        assert "The total is a sum of prices" in str(server.requests[1]["messages"])
        desk.close()


def test_choices_of_models() -> None:
    """By name or by address, from the environment; what can't be used is one clear error, and keys are not shown."""
    assert choose_model({}) is None
    environment = {"SOURCELIGHT_MODEL": "m", "SOURCELIGHT_MODEL_URL": "http://h/v1", "SOURCELIGHT_MODEL_KEY": "k3y"}
    choice = choose_model(environment)
    assert choice == ModelConfig("m", "http://h/v1", "k3y")
    assert "k3y" not in repr(choice)
    with pytest.raises((ConfigurationError, MissingExtra), match="nosuch"):
        ModelResearcher(ModelConfig("nosuch:model"))
    with pytest.raises(MissingExtra, match="anthropic"):
        ModelResearcher(ModelConfig("anthropic:claude-x"))
