"""In a real kernel: blocking cells draw live, stop within reach of Interrupt, and leave stable text behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

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
    "boxes": "print([w for w in _instances.values() if hasattr(w, 'drawing')])",
    "threads": "print(threads)",
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Outputs by name of the cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS.values()])
    client = NotebookClient(
        notebook,
        timeout=60,
        allow_errors=True,
        resources={"metadata": {"path": str(tmp_path_factory.mktemp("kernel"))}},
    )
    client.execute()
    return {n: c.outputs for n, c in zip(CELLS, notebook.cells, strict=True)}


pytestmark = pytest.mark.filterwarnings("default")  # of the notebook machinery, not of ours


def text(outputs: Any, kind: str = "text/plain") -> str:
    """All text of a kind in the outputs of a cell."""
    if kind == "stream":
        return "".join(o.get("text", "") for o in outputs)
    return "".join(o.get("data", {}).get(kind, "") for o in outputs)


def test_set_up_runs(cells: Any) -> None:
    assert cells["setup"] == []


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("complete", "Complete"),
        ("limited", "Limited"),
        ("failed", "Failed"),
        ("interrupt", "Interrupted"),
        ("awaited", "Complete"),
        ("stop", "Interrupted"),
    ],
)
def test_the_box_reaches_its_last_state(cells: Any, name: str, word: str) -> None:
    (page,) = [html for output in cells[name] if "sl-page" in (html := output.get("data", {}).get("text/html", ""))]
    assert f"</span> {word}</b>" in page


def test_the_kernel_keeps_no_box_that_has_ended(cells: Any) -> None:
    assert text(cells["boxes"], "stream") == "[]\n"


def test_the_stored_text_of_a_box_is_fixed(cells: Any) -> None:
    for name in ("complete", "limited", "awaited"):
        assert "sourcelight progress" in text(cells[name])
        # A widget in a saved notebook is an error for whoever opens it without its kernel.
        assert not any("widget-view" in kind for output in cells[name] for kind in output.get("data", {}))


def test_the_result_shows_itself(cells: Any) -> None:
    assert text(cells["repr"]).startswith("SearchResult: 20 matches in 20 rows of 1 repository: complete")
    assert "<mark>foo</mark>" in text(cells["repr"], "text/html")
    assert "r1  foo 0" in text(cells["frame"])


def test_a_cell_goes_on_after_a_limited_search(cells: Any) -> None:
    assert "more below" in text(cells["limited"], "stream")


def test_a_failed_search_raises_in_its_cell(cells: Any) -> None:
    errors = [o for o in cells["failed"] if o["output_type"] == "error"]
    assert [e["ename"] for e in errors] == ["SearchFailed"]


def test_an_interrupt_is_short_and_keeps_rows(cells: Any) -> None:
    (error,) = [o for o in cells["interrupt"] if o["output_type"] == "error"]
    assert error["ename"] == "KeyboardInterrupt"
    assert len(error["traceback"]) <= 7
    assert "During handling" not in "".join(error["traceback"])
    assert text(cells["kept"], "stream") == "interrupted 20 True\n"


def test_awaiting_works_on_the_loop_of_the_kernel(cells: Any) -> None:
    assert text(cells["awaited"], "stream") == "complete 20\n"


def test_stop_gives_what_arrived(cells: Any) -> None:
    assert text(cells["stop"], "stream") == "interrupted 10\n"


def test_no_widget_is_touched_off_the_main_thread(cells: Any) -> None:
    assert text(cells["threads"], "stream") == "{True}\n"
