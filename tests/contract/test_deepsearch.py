"""One contract for deep search of both backends: the same answers, and the way on."""

from __future__ import annotations

import re

import pytest

import sourcelight as sl
from equal_frames import assert_frame_equal

PYTIDE = "example.org/tidewatch/pytide"
QUESTIONS = [
    ("How long is waited before a failed request is tried again?", None),
    ("Who changed the retry policy and why?", [PYTIDE]),
    ("How many files mention `threshold`?", None),
    ("What does the `FluxCapacitor` do?", None),
]


@pytest.mark.parametrize(("question", "repos"), QUESTIONS, ids=["how", "who", "count", "nothing"])
def test_both_give_the_same_answer(
    embedded: sl.Client, other: sl.Client, question: str, repos: list[str] | None
) -> None:
    answer = embedded.deepsearch(question, repos=repos, cache=False)
    there = other.deepsearch(question, repos=repos, cache=False)
    assert (answer.status, there.status) == ("complete", "complete")
    assert answer.text == there.text
    # Citations link to a service; there is none to link to in this process.
    assert repr(answer) == re.sub(r"\[([^\]]*)\]\(<http://127[^>]*>\)", r"(\1)", repr(there))
    assert_frame_equal(answer.sources, there.sources)
    assert answer.follow_ups == there.follow_ups
    assert list(answer.tables) == list(there.tables)
    for title, table in answer.tables.items():
        assert_frame_equal(table, there.tables[title])
    assert set(answer.citations["status"]) <= {"verified"}


@pytest.mark.parametrize("code", ["embedded", "remote", "clustered"], indirect=True)
def test_a_conversation_goes_on_is_shared_and_is_deleted(code: sl.Client) -> None:
    answer = code.deepsearch("Where is the retry policy defined?", cache=False)
    later = answer.ask("Who changed it last?")
    assert later.status == "complete"
    assert later.identifier == answer.identifier
    everything = code.deepsearch_read(answer.url)
    assert [question["answer"] for question in everything.questions] == [answer.text, later.text]
    link = answer.share()
    assert "/deepsearch/shared/" in link
    assert code.deepsearch_read(link).title == answer.title
    last = code.last
    answer.rename("Retries")
    answer.star()
    assert (answer.title, code.last) == ("Retries", last)
    assert "Retries" in set(code.deepsearch_list(starred=True)["title"])
    answer.unstar()
    code.deepsearch_update(answer.url, title="Delays")
    assert "Delays" in set(code.deepsearch_list(starred=False)["title"])
    answer.cancel()  # nothing is under way
    previous = answer.url
    renewed = answer.reset_link()
    assert renewed != link
    assert code.deepsearch_read(renewed).title == "Delays"
    assert answer.ask("And when?").status == "complete"
    assert code.deepsearch_reset_link(answer) == answer.url
    for address in (previous, link, renewed):
        with pytest.raises(sl.ToolError, match="conversation not found"):
            code.deepsearch_read(address)
    answer.unshare()
    answer.delete()
    with pytest.raises(sl.ToolError, match="conversation not found"):
        code.deepsearch_read(answer.url)


@pytest.mark.parametrize("code", ["embedded", "remote", "clustered"], indirect=True)
def test_a_pronoun_of_a_follow_up_is_no_whole_history(code: sl.Client) -> None:
    answer = code.deepsearch("Where is the retry policy defined?", cache=False)
    later = answer.ask("Who changed it last?")
    # "It" is the policy and not the repository, so the last commit of all is no answer.
    assert later.text.startswith("This can't be answered as asked, because `it` was not understood"), later.text
    assert "RetryPolicy" in answer.ask("And when?").text


@pytest.mark.parametrize("identifier", ["nonsense", "https://other.example/x", "00000000-0000-4000-8000-000000000000"])
def test_what_is_no_conversation_is_refused(code: sl.Client, identifier: str) -> None:
    with pytest.raises(sl.ToolError):
        code.deepsearch_read(identifier)


def test_an_empty_question_is_refused(code: sl.Client) -> None:
    with pytest.raises(sl.ToolError, match="question is empty"):
        code.deepsearch("  ")
