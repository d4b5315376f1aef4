"""Asking from a notebook: polling, both forms of services, interrupts, what is kept, and safe views."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from client.scripted import ScriptedBackend, run, shorten_waits
from sourcelight.client import AsyncClient, Client, DeepSearchAnswer
from sourcelight.client.answer_cache import AnswerCache
from sourcelight.core.batches import CommitId, RepositoryInfo
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.errors import ConnectFailed, ToolError
from sourcelight.core.tools.catalog import table_of
from sourcelight.display.frames.export import write_text
from sourcelight.display.notebook import AskState
from sourcelight.display.notebook.views.links import LinkResolver
from sourcelight.testing import RepositoryBuilder

URL = "https://host/deepsearch/0b1f2c3d-0000-4000-8000-000000000001"
HOSTILE = "<script>x</script> [a](javascript:x) [b](/r@1/-/blob/f) [c](https://evil.example/) \u202e"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path))
    shorten_waits(monkeypatch)
    return tmp_path


def conversation(status: str, **attributes: Any) -> ToolResult:
    """What `deepsearch` gives."""
    return ToolResult("conversation", table_of("conversation", 0), {"status": status, "url": URL, **attributes})


def read(status: str, *answers: str) -> ToolResult:
    """What `deepsearch_read` gives."""
    questions = [{"question": f"q{number}", "answer": text} for number, text in enumerate(answers)]
    return ToolResult("conversation", table_of("conversation", 0), {"status": status, "questions": questions})


def test_a_service_is_read_until_it_has_answered() -> None:
    backend = ScriptedBackend(
        [], answers=[conversation("processing"), read("processing", ""), read("completed", "Done.")]
    )
    answer = Client(backend).deepsearch("How?", repos=["a/b", "c d"], revision="v1")
    assert (answer.status, answer.text, answer.url) == ("complete", "Done.", URL)
    assert [name for name, _ in backend.calls] == ["deepsearch", "deepsearch_read", "deepsearch_read"]
    assert backend.calls[0][1] == {"question": "How?", "repos": ["a/b", "c d"], "revision": "v1"}
    assert backend.calls[1][1] == {"identifier": URL}


def test_waiting_ends_in_time_and_says_so() -> None:
    backend = ScriptedBackend([], answers=[conversation("processing")])
    answer = Client(backend).deepsearch("How?", timeout_s=0.0)
    assert (answer.status, answer.text, answer.identifier) == ("running", "", URL)
    assert len(backend.calls) == 1


def test_a_follow_up_is_read_at_its_own_place() -> None:
    backend = ScriptedBackend(
        [],
        answers=[
            conversation("completed", questions=[{"question": "q0", "answer": "Old."}]),
            conversation("processing"),
            read("completed", "Old.", ""),
            read("completed", "Old.", "New."),
        ],
    )
    answer = Client(backend).deepsearch("q0").ask("And?")
    assert answer.text == "New."
    assert backend.calls[1] == ("deepsearch_follow_up", {"identifier": URL, "question": "And?"})


def test_what_was_found_is_kept_when_the_wait_is_stopped() -> None:
    backend = ScriptedBackend([], answers=["wait"])
    client = AsyncClient(backend)

    async def stopped() -> None:
        task = asyncio.ensure_future(client.deepsearch("How?"))
        assert await asyncio.to_thread(backend.waiting.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(stopped())
    assert client.last is not None
    assert client.last.status == "interrupted"
    assert client.last.question == "How?"


def test_the_newest_kept_answer_is_given_while_a_service_is_away() -> None:
    first = ScriptedBackend([], answers=[conversation("completed", answer="Kept.")])
    assert Client(first).deepsearch("How?").cached is False
    backend = ScriptedBackend([], answers=[ConnectFailed("no connection")] * 3)
    answer = Client(backend).deepsearch("How?")
    assert (answer.text, answer.cached) == ("Kept.", True)
    assert "can't be reached" in answer.notices[0]
    with pytest.raises(ConnectFailed):
        Client(backend).deepsearch("Another?")
    with pytest.raises(ConnectFailed):
        Client(backend).deepsearch("How?", cache=False)


class _Local(ScriptedBackend):
    """Answers in this process, over one commit."""

    local = True

    async def repositories(self) -> tuple[RepositoryInfo, ...]:
        """One repository at a commit."""
        return (RepositoryInfo("r1", commit=CommitId("a" * 40)),)


def test_in_this_process_the_same_question_over_the_same_commits_is_not_asked_twice() -> None:
    backend = _Local([], answers=[conversation("completed", answer="Kept."), conversation("completed", answer="New.")])
    client = Client(backend)
    assert [client.deepsearch("How?").text for _ in range(2)] == ["Kept.", "Kept."]
    assert client.deepsearch("How?", cache=False).text == "New."
    assert len(backend.calls) == 2


def test_only_its_user_reads_what_is_kept(home: Path) -> None:
    cache = AnswerCache("a", "q")
    cache.store([("r", "c")], {"status": "complete"})
    (file,) = (home / "answers").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert cache.load([("r", "c")]) == {"status": "complete"}
    assert cache.load([("r", "d")]) is None
    assert AnswerCache("b", "q").newest() is None
    file.write_text("{")
    assert cache.newest() is None


def test_citations_of_this_process_lead_to_the_code_host(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "lamp")
    commit = repo.commit({"a.py": "def shine():\n    return 1\n"}, "Begin")
    repo.git("remote", "add", "origin", "https://github.com/example/lamp.git")
    with sl.open(tmp_path / "src", progress=False) as code:
        answer = code.deepsearch("Where is `shine` defined?", progress=False)
        permalink = f'href="https://github.com/example/lamp/blob/{commit}/a.py#L1"'
        assert permalink in answer._repr_mimebundle_()["text/html"]
        assert permalink in answer.to_html()


@pytest.mark.parametrize("path", ["../../../evil", "%2e%2e/%2e%2e/%2e%2e/evil", "..%2f..%2f..%2fevil"])
def test_a_citation_does_not_lead_above_its_repository(path: str) -> None:
    resolver = LinkResolver("", {"r": "https://github.com/o/r"})
    assert [link.href for link in resolver.of_address("/r@abc/-/blob/a.py?L3-4")] == [
        "https://github.com/o/r/blob/abc/a.py#L3"
    ]
    assert resolver.of_address(f"/r@abc/-/blob/{path}") == ()
    assert resolver.of_address("/nowhere@abc/-/blob/a.py") == ()
    assert resolver.of_address("//evil.example/r@abc/-/blob/a.py") == ()


def test_views_of_a_hostile_answer_do_nothing() -> None:
    info = {"status": "complete", "title": HOSTILE, "questions": [{"question": HOSTILE, "answer": HOSTILE}]}
    local, remote = DeepSearchAnswer(info), DeepSearchAnswer({**info, "url": URL}, base_url="https://host")
    for answer in (local, remote):
        for html in (answer._repr_mimebundle_()["text/html"], answer.to_html()):
            assert "<script" not in html
            assert 'href="javascript' not in html
            assert 'href="https://evil' not in html
            assert "\u202e" not in html
        assert "\u202e" not in repr(answer) + answer.to_markdown()
        heading = answer.to_markdown().splitlines()[0]
        assert not re.search(r"<\w|(?<!\\)\]\(", heading), heading
    assert "<a " not in local._repr_mimebundle_()["text/html"]
    assert 'href="https://host/r@1/-/blob/f"' in remote._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("What is MAX_RETRIES of `a_b`?", "# What is MAX_RETRIES of `a_b`?"),
        ("a <img src=x onerror=alert(1)> ![b](http://e) [c](javascript:d)", "# a &lt;img src=x onerror=alert(1)> b c"),
        ("``` x", "# \\`\\`\\` x"),
        ("- 1. # x", "# - 1. # x"),
        ("", "# "),
    ],
)
def test_a_question_is_one_inert_line_of_markdown(question: str, heading: str) -> None:
    info = {"status": "complete", "title": "t", "questions": [{"question": question, "answer": "y"}]}
    assert DeepSearchAnswer(info).to_markdown().splitlines()[0].rstrip() == heading.rstrip()


def test_the_heading_tells_facts_from_places(tmp_path: Path) -> None:
    """No answer is headed "complete": the word was taken for "the whole answer" above a list of places."""
    repo = RepositoryBuilder(tmp_path / "tree")
    repo.commit({"a.py": "def fixed_bug(bug):\n    return bug\n", "b.py": "x = 1\n"}, "Fixed a bug in the docs")
    questions = {
        "Where is fixed_bug defined?": ("answered", True),
        "How many functions are there?": ("answered", True),
        "How does the code handle a fixed bug?": ("closest places", False),
        "Who fixed the most bugs in 2019?": ("uncertain", False),
    }
    with sl.open(repo.path, index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        answers = {question: code.deepsearch(question) for question in questions}
    for question, (heading, states_fact) in questions.items():
        answer = answers[question]
        assert repr(answer).startswith(f"Deep search: {heading}, "), question
        assert f"<b>{heading}</b>" in answer._repr_mimebundle_()["text/html"]
        assert answer.stats["states_fact"] is states_fact, question
        assert answer.status == "complete"


@pytest.mark.parametrize(
    ("stats", "heading"),
    [
        ({"states_fact": True, "complete": True}, "answered"),
        ({"states_fact": True, "complete": False}, "answered in part"),
        ({"states_fact": False, "confident": True}, "closest places"),
        ({"states_fact": False, "confident": False}, "uncertain"),
        # Another service says nothing of its answers.
        ({}, "answered"),
    ],
)
def test_the_heading_follows_what_the_answer_says_of_itself(stats: dict[str, bool], heading: str) -> None:
    info = {"status": "complete", "questions": [{"question": "q", "answer": "Told.", "stats": stats}]}
    assert repr(DeepSearchAnswer(info)).startswith(f"Deep search: {heading}, ")
    running = {**info, "status": "running"}
    assert repr(DeepSearchAnswer(running)).startswith("Deep search: running, ")


def test_files_of_an_answer_are_whole_or_as_they_were(tmp_path: Path) -> None:
    """What is written takes the place of what stood there, once it is complete."""
    answer = DeepSearchAnswer({"status": "complete", "questions": [{"question": "q", "answer": "Told."}]})
    for write, name in ((answer.to_markdown, "a.md"), (answer.to_html, "a.html")):
        path, before = tmp_path / name, tmp_path / f"{name}.before"
        path.write_text("old")
        before.hardlink_to(path)
        assert write(path) == str(path)
        assert write() == path.read_text("utf-8")
        assert before.read_text() == "old"
    with pytest.raises(UnicodeEncodeError):
        write_text("half \ud800", tmp_path / "a.md")
    assert "Told." in (tmp_path / "a.md").read_text("utf-8")
    assert len(list(tmp_path.iterdir())) == 4


def test_an_answer_without_a_conversation_says_so() -> None:
    answer = DeepSearchAnswer({"status": "interrupted", "questions": []})
    with pytest.raises(ToolError, match="conversation of this answer is unknown"):
        answer.ask("And?")
    assert (answer.text, answer.follow_ups, answer.stats, answer.tables) == ("", [], {}, {})
    assert list(answer.citations.columns) == list(answer.sources.columns)


def test_steps_are_drawn_as_they_come() -> None:
    state = AskState("How?")
    state.update(ToolProgress("reading words", 1, 5, "r1"))
    state.update(ToolProgress("nls_search", 0, 0, "a.py first of 6 files"))
    state.update(ToolProgress("evidence", 0, 0, "r1@1 a.py#L1-L2"))
    assert [tool for tool, _ in state.turns] == ["nls_search", "evidence"]
    moment = state.snapshot()
    assert (moment.title, moment.activity) == ("How?", "Researching")
    assert ("info", "evidence: r1@1 a.py#L1-L2") in moment.notices
    assert (moment.done, moment.unit) == (2, "steps")
    for block in ("Prices are ", "rounded", " to cents.\n" * 60):
        state.update(ToolProgress("writing", 0, 0, block))
    moment = state.snapshot()
    assert len(state.turns) == 2
    severity, message = moment.notices[-1]
    assert (severity, message[:12]) == ("info", "unchecked: …")
    assert message.endswith("to cents. to cents.")
    assert len(message) < 300
    state.update(ToolProgress("evidence", 0, 0, "r1@1 b.py#L1-L2"))
    assert "unchecked" not in str(state.snapshot().notices)


def test_sources_that_were_kept_under_former_columns_are_read(home: Path) -> None:
    cache = AnswerCache("a", "q")
    cache.store(
        [("r", "c")], {"status": "complete", "rows": [{"path": "a.py", "line_number": 3, "last_line_number": 9}]}
    )
    assert home.exists()
    cached = cache.load([("r", "c")])
    assert cached is not None
    assert cached["rows"] == [{"path": "a.py", "start_line": 3, "end_line": 9}]


def test_a_conversation_is_read_by_the_number_that_the_list_shows(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "shop").commit({"cart.py": "def total(): pass\n"})
    with sl.open(tmp_path / "shop", index_dir=tmp_path / "index") as code:
        asked_first = code.deepsearch("How is the total computed?", progress=False)
        number = code.deepsearch_list()["id"].iloc[0]
        for identifier in (number, int(number), str(number)):
            assert code.deepsearch_read(identifier).text == asked_first.text
        with pytest.raises(ToolError):
            code.deepsearch_read(int(number) + 1)


def test_citations_without_a_page_unfold_their_lines(tmp_path: Path) -> None:
    """A repository that only this machine has: its cited lines stand in the notebook, and in the exported page."""
    repo = RepositoryBuilder(tmp_path / "alone")
    code = 'def keep_tea():\n    """Keep the tea warm </pre><script>x</script>."""\n    password = "hunter2secret"\n'
    repo.commit({"tea_pot.py": code}, "Keep tea")
    with sl.open(repo.path, index_dir=tmp_path / "index", progress=False) as client:
        answer = client.deepsearch("Where is keep_tea defined?", cache=False)
    assert "excerpt" not in answer.text
    for html in (answer._repr_mimebundle_()["text/html"], answer.to_html()):
        assert '<details class="sl-cited"><summary title="alone@' in html
        # The full stop of the sentence, too, which would begin the line behind the lines that unfold.
        assert "<span>tea_pot.py:1</span>.</summary>" in html
        assert not re.search(r"</details>[.,;:]", html)
        assert "keep_tea" in html.partition('sl-cited">')[2]
        assert "<script" not in html
        assert "hunter2secret" not in html
        assert "<details><summary>Searched</summary>" in html
    assert "(alone@" in answer.to_markdown()


def test_another_installed_package_does_not_get_the_answers_of_the_former_one(tmp_path: Path) -> None:
    """Its rules may give a better answer, with the same version number."""
    folder = tmp_path / "sourcelight"
    shutil.copytree(Path(sl.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    script = "from sourcelight.client.answer_cache import installed_files; print(installed_files())"

    def mark() -> str:
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True
        ).stdout

    before = mark()
    assert mark() == before
    rule = min((folder / "engines" / "deepsearch" / "lookups").glob("*.py"))  # whichever modules there are
    rule.write_text(rule.read_text("utf-8") + "\n", "utf-8")
    assert mark() != before
