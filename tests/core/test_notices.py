"""Rules of counting stay rules on every way from a tool to a reader."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import orjson
import pyarrow as pa
import pytest

from sourcelight.backends.cluster.messages import answer_from_plain, answer_to_plain
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.notices import DIVERGED, Rule, from_text, is_rule, restore_rules, same_kind, subjects_of
from sourcelight.core.tools.answer_stream import AnswerReader, encode_answer
from sourcelight.core.tools.catalog import TOOLS, table_of
from sourcelight.core.wire.sse import SseDecoder

NOTICES = ("2 files are missing.", Rule("Merges are left out.", "merges"))


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own bytes


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_of_a_rule_is_a_rule(clone: Any) -> None:
    rule = clone(NOTICES[1])
    assert rule == "Merges are left out."
    assert is_rule(rule, "merges")
    assert not is_rule(rule, "bots")


def test_another_wording_of_a_rule_is_a_rule() -> None:
    texts = [same_kind(f"one: {notice}", notice) for notice in NOTICES]
    assert texts == ["one: 2 files are missing.", "one: Merges are left out."]
    assert [is_rule(text) for text in texts] == [False, True]


def test_rules_cross_a_cluster() -> None:
    answer = ToolResult("blame_lines", pa.table({}), notices=NOTICES)
    payload = answer_to_plain(answer)
    assert {type(notice) for notice in payload["notices"]} == {str}
    # Messages between workers have tuples in place of lists.
    for sequence in (list, tuple):
        back = answer_from_plain({**payload, "rules": sequence(payload["rules"])})
        assert subjects_of(back.notices) == ["", "merges"]


def test_rules_cross_the_stream_of_an_answer() -> None:
    reader, decoder = AnswerReader(TOOLS["blame"]), SseDecoder()
    for portion in encode_answer(ToolResult("blame_lines", table_of("blame_lines", 0), notices=NOTICES)):
        for event in decoder.feed(portion):
            reader.read(event)
    assert reader.answer is not None
    assert reader.answer.notices == NOTICES
    assert subjects_of(reader.answer.notices) == ["", "merges"]


@pytest.mark.parametrize("subjects", [None, [], ["merges"], "merges", ["", "no such subject"], ["", None], [[], {}]])
def test_what_a_service_says_wrongly_about_its_notices_makes_no_rule(subjects: Any) -> None:
    texts = list(map(str, NOTICES))
    restored = restore_rules(texts, subjects)
    assert list(restored) == texts
    assert not any(map(is_rule, restored))


def test_the_rules_of_mcp_are_known_by_their_whole_text() -> None:
    text = orjson.loads(orjson.dumps([DIVERGED]))[0]
    assert is_rule(from_text(text), "comparison")
    assert not is_rule(from_text(f"{text}, it says"))
