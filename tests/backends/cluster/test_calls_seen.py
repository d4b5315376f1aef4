"""What a viewer may not see leaves no trace in any call over a cluster, and is never asked of a worker."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import sourcelight as sl
from backends.cluster.test_calls import CALLS, HANDBOOK, HUB, PYTIDE, ids
from sourcelight.backends.cluster.messages import KEEP
from sourcelight.backends.cluster.transport.connections import ConnectionPool
from sourcelight.backends.cluster.transport.exchange import WorkerExchange
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines import tools
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.repos import Viewer
from sourcelight.repos.state import State

SEEN = (HUB, PYTIDE)
STRANGER = Viewer(Viewer.owner().name, sees_private=True, only=frozenset(SEEN))
UNSEEN = ("gauge", "handbook", "board", "sol/hub")
pytestmark = pytest.mark.timeout(240)


class Recording(ConnectionPool):
    """Connections that remember what was asked of workers."""

    orders: list[Mapping[str, Any]]

    def exchange(self, address: str, operation: str, order: Mapping[str, Any] | None = None) -> WorkerExchange:
        """As always, remembering the order; what a worker is told to keep is nobody's call."""
        if operation != KEEP:
            self.orders.append(order or {})
        return super().exchange(address, operation, order)


@pytest.fixture
def orders(calm: sl.Client) -> Iterator[list[Mapping[str, Any]]]:
    """The orders that workers got in a test."""
    members = calm.backend.engine.fleet.members  # type: ignore[attr-defined]
    previous = members.connections
    recording = Recording()
    recording.orders = []
    members.connections = recording
    try:
        yield recording.orders
    finally:
        members.connections = previous
        calm.backend.engine.fleet.run(recording.close())  # type: ignore[attr-defined]


def context_of(client: sl.Client, desk: ConversationService | None = None) -> tools.ToolContext:
    engine = client.backend.engine  # type: ignore[attr-defined]
    return tools.ToolContext(engine, STRANGER, conversations=desk)


def text_of(answer: Any) -> str:
    return f"{answer.table.to_pylist()} {dict(answer.attributes)} {answer.notices}"


def without_trace(text: str, orders: list[Mapping[str, Any]]) -> None:
    assert not [name for name in UNSEEN if f"/{name}" in text]
    names = {name for order in orders for name in order.get("names", ())}
    assert names <= set(SEEN)
    assert not [name for name in UNSEEN if f"/{name}" in str(orders)]


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=ids(CALLS))
def test_a_call_shows_and_asks_nothing_of_what_is_not_seen(
    calm: sl.Client,
    embedded: sl.Client,
    orders: list[Mapping[str, Any]],
    name: str,
    arguments: Mapping[str, Any],
) -> None:
    if "repos" in arguments:
        arguments = {**arguments, "repos": [item for item in arguments["repos"] if item in SEEN]}
    ours, theirs = (tools.call(name, arguments, context_of(client)) for client in (calm, embedded))
    without_trace(text_of(ours), orders)
    assert text_of(ours) == text_of(theirs)


@pytest.mark.parametrize("name", ["commit_search", "diff_search", "contributors", "churn", "hotspots", "identities"])
def test_naming_what_is_not_seen_is_naming_nothing(calm: sl.Client, orders: list[Mapping[str, Any]], name: str) -> None:
    extra = {"pattern": "e"} if name == "diff_search" else {}
    for repos in ([HANDBOOK], [HUB, HANDBOOK]):
        with pytest.raises(sl.RepositoryNotFound) as unseen:
            tools.call(name, {"repos": repos, **extra}, context_of(calm))
        with pytest.raises(sl.RepositoryNotFound) as absent:
            tools.call(name, {"repos": ["example.org/absent"], **extra}, context_of(calm))
        assert str(unseen.value).startswith(f"repository not found: {HANDBOOK}")
        assert str(absent.value) == "repository not found: example.org/absent"
        assert set(unseen.value.near) <= set(SEEN)  # what is like it, of what may be seen
    assert not orders


def test_a_question_and_an_explanation_keep_to_what_is_seen(
    calm: sl.Client, embedded: sl.Client, orders: list[Mapping[str, Any]], tmp_path: Any
) -> None:
    service = ConversationService(State(str(tmp_path / "state.sqlite")))
    try:
        question = {"question": "How many repositories mention tide?"}
        ours, theirs = (
            tools.call("deepsearch", question, context_of(client, service)).attributes["answer"]
            for client in (calm, embedded)
        )
    finally:
        service.close()
    assert ours == theirs
    request = SearchRequest("e fork:yes archived:yes")
    explained = calm.backend.engine.explain(request, STRANGER, Cancellation())  # type: ignore[attr-defined]
    assert explained.alternatives[0].names == SEEN
    steps = [order["arguments"]["asked"] for order in orders if "asked" in order.get("arguments", {})]
    sent = [pickle.loads(step) for step in steps]  # noqa: S301 - what this very process sent
    assert sent
    without_trace(f"{ours} {explained} {sent}", orders)
