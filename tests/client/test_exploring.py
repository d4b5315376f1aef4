"""An explorer answers its page from rows that stay in Python, also while a search goes on."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sourcelight as sl
from client.scripted import COMPLETE, FAILED, ScriptedBackend, batch, run
from display.front_end import say
from sourcelight.client import AsyncClient, Client
from sourcelight.core.batches.results import ToolResult
from sourcelight.display import notebook
from sourcelight.display.notebook.widgets.explorer import Explorer
from sourcelight.testing import RepositoryBuilder

BIDI = "x\u202ey<script>alert(1)</script>\x1b[31m"


class Page:
    """What a page in a browser would say and hear."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.messages: list[dict[str, Any]] = []
        explorer.send = lambda content, buffers=None: self.messages.append(json.loads(json.dumps(content)))  # noqa: ARG005

    def ask(self, kind: str, **message: Any) -> dict[str, Any]:
        """Say something, and give the answer."""
        say(self.explorer, {"kind": kind, "from": "page", "id": 1, **message})
        return self.messages[-1]

    def view(self, count: int = 60, **query: Any) -> dict[str, Any]:
        """Ask for rows."""
        return self.ask("view", asked=query, start=0, count=count)

    def lines(self, row: int, above: int = 1, below: int = 1) -> dict[str, Any]:
        """Ask for lines until they are there."""
        for _ in range(500):
            answer = self.ask("lines", row=row, above=above, below=below)
            if "pending" not in answer:
                return answer
            threading.Event().wait(0.01)
        raise TimeoutError


def test_a_result_is_explored() -> None:
    result = Client(ScriptedBackend(COMPLETE)).search("foo")
    page = Page(result.explore())
    view = page.view()
    assert (view["shown"], view["all"], view["phase"]) == (20, 20, "complete")
    assert view["headline"] == "20 matches in 20 rows of 1 repository: complete"
    assert view["repositories"] == {"values": [["r1", "r1", 20]], "more": 0}
    assert view["rows"][0]["text"] == [["foo", True], [" 0", False]]
    view = page.view(path="f1", text="FOO 3", sort="path")
    assert (view["shown"], view["all"]) == (1, 20)
    assert len(page.explorer.visible_rows) == 1
    with pytest.raises(AttributeError, match="use visible_rows"):
        getattr(page.explorer, "shown")  # noqa: B009 - its former name, which mypy refuses
    assert page.explorer.result is result
    assert page.ask("rows", start=0, count=10)["rows"] == view["rows"]


def test_outside_of_a_notebook_it_is_the_text_of_the_result() -> None:
    result = Client(ScriptedBackend(COMPLETE)).search("foo")
    explorer = result.explore()
    assert repr(explorer) == repr(result)
    bundle = explorer._repr_mimebundle_()
    assert bundle["text/plain"] == repr(result)
    assert "<mark>foo</mark>" in bundle["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_a_search_that_goes_on_shows_what_arrived_and_stops() -> None:
    backend = ScriptedBackend([batch(0), "wait", batch(1)])
    client = Client(backend)
    explorer = client.explore("foo")
    page = Page(explorer)
    assert backend.waiting.wait(5)
    view = page.view()
    assert (view["shown"], view["phase"]) == (10, "running")
    assert view["headline"].startswith("10 matches")
    page.ask("stop")
    assert backend.closed.wait(5)
    for _ in range(500):
        view = page.view()
        if view["phase"] != "running":
            break
        threading.Event().wait(0.01)
    assert view["phase"] == "interrupted"
    assert client.last is not None
    assert (len(client.last), client.last.status) == (10, "interrupted")


def test_a_search_that_fails_says_so() -> None:
    client = Client(ScriptedBackend(FAILED))
    page = Page(client.explore("foo"))
    for _ in range(500):
        view = page.view()
        if view["phase"] != "running":
            break
        threading.Event().wait(0.01)
    assert view["phase"] == "failed"
    assert ["error", "it broke: badly"] in view["notes"]
    assert view["shown"] == 10


def test_an_awaiting_caller_explores_too() -> None:
    async def explore() -> dict[str, Any]:
        client = AsyncClient(ScriptedBackend(COMPLETE))
        result = await client.search("foo")
        await client.explore("foo")
        return Page(result.explore()).view()

    assert run(explore())["shown"] == 20


def test_lines_around_a_row_are_read_when_asked_for() -> None:
    schema = pa.schema([("line_number", pa.int32()), ("line", pa.string())])
    table = pa.table({"line_number": [1, 2, 3], "line": ["one", f"foo {BIDI}", "three"]}, schema=schema)
    backend = ScriptedBackend(COMPLETE, answers=[ToolResult("file_lines", table), RuntimeError("no such commit")])
    page = Page(Client(backend).search("foo").explore())
    answer = page.lines(1)
    assert backend.calls == [
        ("read_file", {"repo": "r1", "path": "f0.go", "startLine": 1, "endLine": 3, "revision": "c" * 40})
    ]
    assert answer["title"] == "r1/f0.go:2"
    assert [(position, is_match) for position, _, is_match in answer["lines"]] == [(1, False), (2, True), (3, False)]
    assert answer["lines"][1][1][0] == ["foo", True]
    assert (answer["top"], answer["bottom"]) == (True, False)
    failed = page.lines(5)
    assert failed["error"] == "the lines around can't be read: no such commit"
    assert [line[0] for line in failed["lines"]] == [6]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("hostile")
    repository = RepositoryBuilder(folder / "src" / "evil", origin="https://github.com/evil/lamp.git")
    repository.commit({"a\u202e<b onclick=x>.py": f"lamp {BIDI}\nnext\n", "javascript:alert(1)": "lamp\n"}, f"m {BIDI}")
    with sl.open(folder / "src", index_dir=folder / "index", index_workers=1, background_index=False) as code:
        yield code


def test_texts_of_a_hostile_repository_hide_nothing_and_leave_nothing_in_the_state(hostile: Client) -> None:
    explorer = hostile.search("type:file lamp").explore()
    page = Page(explorer)
    view = page.view()
    text = json.dumps([view, page.lines(0), page.lines(1)], ensure_ascii=False)
    assert view["shown"] == 2
    assert not {"\u202e", "\x1b"} & set(text)
    assert "\u27e8U+202E\u27e9" in text
    links = [link for row in (0, 1) for link in page.lines(row)["links"]]
    assert all(link["href"].startswith("https://github.com/evil/lamp/blob/") for link in links)
    assert len(links) == 2
    state = json.dumps({name: value for name, value in explorer.get_state().items() if name not in {"_esm", "_css"}})
    assert "lamp" not in state
    assert "evil" not in state


def test_messages_that_no_page_of_ours_sends_do_no_harm() -> None:
    page = Page(Client(ScriptedBackend(COMPLETE)).search("foo").explore())
    say(page.explorer, "no mapping")
    say(page.explorer, {"kind": "absent"})
    assert page.messages == []
    assert page.view(count=10**9, sort="absent", language=7, path=None)["shown"] == 0
    assert page.ask("view", asked=[], start=-5, count="x")["rows"] == []
    assert page.ask("lines", row=10**6)["error"]
    assert page.ask("lines", row="x", above=None, below=2**70)["row"] == 0


@pytest.mark.parametrize("script", ["explorer.js", "facets.js", "parts.js", "progress.js"])
def test_the_page_sets_nothing_as_html(script: str) -> None:
    text = (Path(notebook.__file__).parent / "programs" / script).read_text("utf-8")
    assert not re.search(r"(inner|outer|Adjacent)HTML|document\.write|\beval\(|Function\(|import\(|fetch\(", text)


def test_a_notebook_gets_a_page_that_stays_in_exports(monkeypatch: pytest.MonkeyPatch) -> None:
    """An export shows the widget of an output, which is empty without a kernel, and drops the HTML beside it."""
    from sourcelight.display.notebook import html_pages

    displayed: list[Any] = []
    monkeypatch.setattr("IPython.display.display", lambda data, **_: displayed.append(data))
    monkeypatch.setattr(html_pages, "in_notebook", lambda: True)
    result = Client(ScriptedBackend(COMPLETE)).search("foo")
    for view in (result.explore(), result.facets()):
        displayed.clear()
        view._ipython_display_()
        widget, page = displayed
        assert set(widget) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
        assert page["text/html"].startswith('<div class="sl-static">')
        assert page["text/plain"] == repr(view)
    monkeypatch.setattr(html_pages, "in_notebook", lambda: False)
    displayed.clear()
    result.explore()._ipython_display_()
    assert displayed == [{"text/plain": repr(result)}]


def test_the_page_of_a_search_that_goes_on_is_replaced_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    from sourcelight.display.notebook import html_pages

    replaced: list[dict[str, str]] = []
    done = threading.Event()

    class Handle:
        def update(self, page: dict[str, str], **_: Any) -> None:
            replaced.append(page)
            done.set()

    monkeypatch.setattr("IPython.display.display", lambda *_, **__: Handle())
    monkeypatch.setattr(html_pages, "in_notebook", lambda: True)
    backend = ScriptedBackend([batch(0), "wait"])
    explorer = Client(backend).explore("foo")
    assert backend.waiting.wait(5)
    explorer._ipython_display_()
    assert not replaced
    explorer.stop()
    assert done.wait(10)
    assert "10 matches" in replaced[0]["text/html"]
    assert "still running" not in replaced[0]["text/html"]
