"""In a real kernel, every long call is drawn, stops at once on Interrupt and on Stop, and keeps what arrived."""

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
import os, signal, socket, sys, threading, time
sys.path.insert(0, {str(TESTS)!r})
os.environ.pop("SOURCELIGHT_PROGRESS", None)
import sourcelight as sl
from pathlib import Path
from client.scripted import COMPLETE, ScriptedBackend, batch
from sourcelight.client import AsyncClient, Client
from sourcelight.core.batches.results import ToolProgress
from sourcelight.core.tools.catalog import table_of
from sourcelight.testing import RepositoryBuilder

sent = [0.0]
def interrupt():
    sent[0] = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

def when(event, act=interrupt):
    def later():
        if event.wait(20):
            time.sleep(0.1)  # let the calling thread reach its wait: elsewhere the signal is lost
            act()
    threading.Thread(target=later, daemon=True).start()

def stopped(event, function, *args, **kwargs):
    when(event)
    try:
        function(*args, **kwargs)
    except KeyboardInterrupt:
        print("after", round(time.monotonic() - sent[0], 2))
    else:
        print("went on")

def waiting(*steps, **more):
    return ScriptedBackend([*steps, "wait"], **more)

class Slow(threading.Thread):
    'A port that takes calls and never answers.'
    def __init__(self):
        super().__init__(daemon=True)
        self.called, self.socket = threading.Event(), socket.create_server(("127.0.0.1", 0))
        self.start()
    def run(self):
        held = []
        while True:
            held.append(self.socket.accept())
            self.called.set()
"""
CALLS = {
    "search": "b = waiting(batch(0)); c = Client(b); stopped(b.waiting, c.search, 'x1'); print(len(c.last))",
    "search_many": """
b = waiting(batch(0)); c = Client(b)
stopped(b.waiting, c.search_many, {'a': 'x2', 'b': 'y'}); print(len(c.last))""",
    "exhaustive": """
b = waiting(batch(0)); c = Client(b)
stopped(b.waiting, c.search, 'x3', exhaustive=True); print(len(c.last))""",
    "count": "b = waiting(batch(0)); c = Client(b); stopped(b.waiting, c.count, 'x4')",
    "export": """
b = waiting(batch(0)); c = Client(b); stopped(b.waiting, c.export, 'x5', 'found.csv')
print(c.last.rows, Path(c.last.path).exists())""",
    "stream": """
b = waiting(batch(0)); c = Client(b); got = []
def follow():
    for event in c.stream('x6', progress=True):
        got.append(event)
stopped(b.waiting, follow); print(len(got))""",
    "history": "b = waiting(answers=['wait']); stopped(b.waiting, Client(b).commit_search, ['r'], ['x7'])",
    "references": """
b = waiting(answers=['wait']); b.partial_tables = [table_of('references', 0)] * 2; c = Client(b)
stopped(b.waiting, c.find_references, 'r', 'p', 'x8'); print(c.last.attrs['status'])""",
    "report": """
b = waiting(answers=['wait']); stopped(b.waiting, sl.reports.contributors, Client(b), progress=True)""",
    "deep search": """
b = waiting(answers=['wait']); c = Client(b)
stopped(b.waiting, c.deepsearch, 'x10', cache=False, progress=True); print(c.last.status)""",
    "blame": """
b = ScriptedBackend(COMPLETE, answers=['wait'] * 9); r = Client(b).search('foo', progress=False)
stopped(b.waiting, r.with_blame, progress=True)""",
    "view": "b = waiting(answers=['wait']); stopped(b.waiting, Client(b).view_file, 'r', 'x12')",
    "clone": """
slow = Slow(); os.environ['SOURCELIGHT_HOME'] = os.path.abspath('home')
stopped(slow.called, sl.open, f'git://127.0.0.1:{slow.socket.getsockname()[1]}/x13.git')""",
    "index": """
r = RepositoryBuilder(Path('many'))
r.commit({f'd{n % 40}/f{n}.txt': f'line {n}\\n' * 200 for n in range(3000)}, 'begin')
seen = threading.Event()
from sourcelight.display.notebook import IndexState
update = IndexState.update
def watched(self, event):
    update(self, event); seen.set()
IndexState.update = watched
stopped(seen, sl.open, 'many', index_dir='index', index_workers=1, background_index=False)
IndexState.update = update""",
}
KEPT = {"search": "10", "search_many": "20", "exhaustive": "10", "export": "10 True",
        "references": "interrupted", "deep search": "interrupted"}  # fmt: skip
STOP = """
import asyncio
from ipywidgets.widgets.widget import _instances
loop = asyncio.get_running_loop()
def boxes():
    return [w for w in list(_instances.values()) if getattr(w, 'stoppable', False)]
def press():
    for box in boxes():
        loop.call_soon_threadsafe(box._on_message, box, {'kind': 'stop'}, [])
def pressed(event):
    def act():
        for _ in range(200):
            if boxes():
                break
            time.sleep(0.02)
        sent[0] = time.monotonic(); press()
    when(event, act)
async def stops(event, awaited):
    pressed(event)
    try:
        await awaited
    except sl.SourcelightError as fault:
        print(type(fault).__name__, end=' ')
    print('after', round(time.monotonic() - sent[0], 2))
"""
STOPS = {
    "stop search": """
b = waiting(batch(0)); c = AsyncClient(b); await stops(b.waiting, c.search('y1')); print(len(c.last))""",
    "stop history": """
b = waiting(answers=['wait']); await stops(b.waiting, AsyncClient(b).commit_search(['r'], ['y2'], progress=True))""",
    "stop deep search": """
b = waiting(answers=['wait']); await stops(b.waiting, AsyncClient(b).deepsearch('y3', cache=False, progress=True))""",
    "stop clone": """
slow = Slow(); await stops(slow.called, sl.aopen(f'git://127.0.0.1:{slow.socket.getsockname()[1]}/y4.git'))""",
}
pytestmark = [
    pytest.mark.filterwarnings("default"),  # of the notebook machinery, not of ours
    pytest.mark.timeout(180),
]


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[str]]:
    """Outputs by name of the cell, and the texts of all widgets."""
    code = {"setup": SETUP, **CALLS, "stop": STOP, **STOPS}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in code.values()])
    resources = {"metadata": {"path": str(tmp_path_factory.mktemp("kernel"))}}
    NotebookClient(notebook, timeout=90, allow_errors=True, store_widget_state=True, resources=resources).execute()
    state = notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    texts = ["".join(map(html_of, widget["state"].get("drawing", []))) for widget in state.values()]
    return {n: c.outputs for n, c in zip(code, notebook.cells, strict=True)}, texts


def text_of(outputs: Any) -> str:
    """What a cell printed; its error, if it had one."""
    errors = [f"{o['ename']}: {o['evalue']}" for o in outputs if o["output_type"] == "error"]
    return "".join(o.get("text", "") for o in outputs if o.get("name") == "stdout") + "".join(errors)


@pytest.mark.parametrize("name", [*CALLS, *STOPS])
def test_a_long_call_stops_at_once_and_keeps_what_arrived(cells: Any, name: str) -> None:
    text = text_of(cells[0][name])
    result = re.search(r"after ([\d.]+)", text)
    assert result is not None, text
    # 0.3 s are the promise; a machine that is busy with other tests may take its time to run a thread.
    assert float(result[1]) < 1.5, text
    if name in KEPT:
        assert text.strip().splitlines()[-1] == KEPT[name]


@pytest.mark.parametrize("word", ["x1", "2 searches", "x3", "x4", "x5", "x6", "Contributors", "x10", "x13", "many",
                                  "y1", "y2", "y3", "y4"])  # fmt: skip
def test_its_box_says_that_it_was_interrupted(cells: Any, word: str) -> None:
    boxes = [text for text in cells[1] if "sl-status" in text and re.search(rf"{word}([^\d<][^<]*)?</code>", text)]
    assert boxes
    assert all("Interrupted" in text for text in boxes), boxes
