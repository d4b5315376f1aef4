"""In a real kernel: blocking cells draw live, stop within reach of Interrupt, and leave stable text behind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from sourcelight.display.notebook.progress_drawing import html_of

TESTS = Path(__file__).parents[1]
SETUP = f"""
import os, signal, sys, threading
sys.path.insert(0, {str(TESTS)!r})
os.environ.pop("SOURCELIGHT_PROGRESS", None)
import ipywidgets
from client.scripted import COMPLETE, FAILED, LIMITED, ScriptedBackend, batch
from sourcelight.client import AsyncClient, Client

threads, send = set(), ipywidgets.Widget.send_state
def spy(self, *args, **kwargs):
    threads.add(threading.current_thread() is threading.main_thread())
    return send(self, *args, **kwargs)
ipywidgets.Widget.send_state = spy

def when(event, act):
    threading.Thread(target=lambda: event.wait(10) and act()).start()
"""
CELLS = {
    "setup": SETUP,
    "complete": "client = Client(ScriptedBackend(COMPLETE)); r = client.search('complete count:40')",
    "repr": "r",
    "frame": "r.matches[['repository', 'line']].head(2)",
    "limited": "Client(ScriptedBackend(LIMITED)).search('limited'); print('more', 'below')",
    "failed": "Client(ScriptedBackend(FAILED)).search('failed')",
    "interrupt": """
backend = ScriptedBackend([batch(0), batch(1), 'wait'])
stopped = Client(backend)
when(backend.waiting, lambda: os.kill(os.getpid(), signal.SIGINT))
stopped.search('interrupted')""",
    "kept": "print(stopped.last.status, len(stopped.last), backend.closed.wait(5))",
    "awaited": "ar = await AsyncClient(ScriptedBackend(COMPLETE)).search('awaited'); print(ar.status, len(ar))",
    "stop": """
import asyncio
from ipywidgets.widgets.widget import _instances
backend = ScriptedBackend([batch(0), 'wait'])
loop = asyncio.get_running_loop()
def press():
    boxes = [w for w in _instances.values() if getattr(w, 'stoppable', False)]
    loop.call_soon_threadsafe(boxes[-1]._on_message, boxes[-1], {'kind': 'stop'}, [])
when(backend.waiting, press)
sr = await AsyncClient(backend).search('stop')
print(sr.status, len(sr))""",
    "threads": "print(threads)",
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """Outputs by name of the cell, and the state of all widgets by query."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS.values()])
    client = NotebookClient(
        notebook,
        timeout=60,
        allow_errors=True,
        store_widget_state=True,
        resources={"metadata": {"path": str(tmp_path_factory.mktemp("kernel"))}},
    )
    client.execute()
    state = notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    texts = ["".join(map(html_of, w["state"].get("drawing", []))) for w in state.values()]
    queries = ("complete", "limited", "failed", "interrupted", "awaited", "stop")
    boxes = {
        q: next(t for t in texts if "sl-status" in t and re.search(rf">{q}( count:40)?</code>", t)) for q in queries
    }
    return {n: c.outputs for n, c in zip(CELLS, notebook.cells, strict=True)}, boxes


pytestmark = pytest.mark.filterwarnings("default")  # of the notebook machinery, not of ours


def text(outputs: Any, kind: str = "text/plain") -> str:
    """All text of a kind in the outputs of a cell."""
    if kind == "stream":
        return "".join(o.get("text", "") for o in outputs)
    return "".join(o.get("data", {}).get(kind, "") for o in outputs)


def test_set_up_runs(cells: Any) -> None:
    assert cells[0]["setup"] == []


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("complete", "Complete"),
        ("limited", "Limited"),
        ("failed", "Failed"),
        ("interrupted", "Interrupted"),
        ("awaited", "Complete"),
        ("stop", "Interrupted"),
    ],
)
def test_the_box_reaches_its_last_state(cells: Any, query: str, word: str) -> None:
    assert f"</span> {word}</b>" in cells[1][query]


def test_the_stored_text_of_a_box_is_fixed(cells: Any) -> None:
    for name in ("complete", "limited", "awaited"):
        assert "sourcelight progress" in text(cells[0][name])
        assert "application/vnd.jupyter.widget-view+json" in cells[0][name][0]["data"]


def test_an_export_shows_the_last_state_of_a_box_without_a_kernel(cells: Any) -> None:
    words = {"complete": "Complete", "limited": "Limited", "awaited": "Complete", "stop": "Interrupted"}
    for name, word in words.items():
        displayed = [str(output.get("data", {}).get("text/html")) for output in cells[0][name]]
        pages = [html for html in displayed if "sl-page" in html]
        assert [f"</span> {word}</b>" in page for page in pages] == [True], name


def test_the_result_shows_itself(cells: Any) -> None:
    assert text(cells[0]["repr"]).startswith("SearchResult: 20 matches in 20 rows of 1 repository: complete")
    assert "<mark>foo</mark>" in text(cells[0]["repr"], "text/html")
    assert "r1  foo 0" in text(cells[0]["frame"])


def test_a_cell_goes_on_after_a_limited_search(cells: Any) -> None:
    assert "more below" in text(cells[0]["limited"], "stream")


def test_a_failed_search_raises_in_its_cell(cells: Any) -> None:
    errors = [o for o in cells[0]["failed"] if o["output_type"] == "error"]
    assert [e["ename"] for e in errors] == ["SearchFailed"]


def test_an_interrupt_is_short_and_keeps_rows(cells: Any) -> None:
    (error,) = [o for o in cells[0]["interrupt"] if o["output_type"] == "error"]
    assert error["ename"] == "KeyboardInterrupt"
    assert len(error["traceback"]) <= 7
    assert "During handling" not in "".join(error["traceback"])
    assert text(cells[0]["kept"], "stream") == "interrupted 20 True\n"


def test_awaiting_works_on_the_loop_of_the_kernel(cells: Any) -> None:
    assert text(cells[0]["awaited"], "stream") == "complete 20\n"


def test_stop_gives_what_arrived(cells: Any) -> None:
    assert text(cells[0]["stop"], "stream") == "interrupted 10\n"


def test_no_widget_is_touched_off_the_main_thread(cells: Any) -> None:
    assert text(cells[0]["threads"], "stream") == "{True}\n"
