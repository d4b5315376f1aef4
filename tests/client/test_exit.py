"""A process that ends, however it does, leaves its export whole and does not hang."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SCRIPT = """
import os, signal, sys, threading
sys.path.insert(0, {tests!r})
from client.scripted import ScriptedBackend, batch
from sourcelight.client import Client
backend = ScriptedBackend([batch(0), "wait"])
threading.Thread(target=lambda: backend.waiting.wait(10) and os.kill(os.getpid(), signal.SIGINT)).start()
{body}
"""


def _end(body: str) -> subprocess.CompletedProcess[str]:
    code = SCRIPT.format(tests=str(TESTS), body=body)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_an_interrupted_process_keeps_its_partial_export(tmp_path: Path) -> None:
    process = _end(f"Client(backend).export('foo', {str(tmp_path / 'x.jsonl')!r})")
    assert "KeyboardInterrupt" in process.stderr
    assert "During handling" not in process.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["x.partial.jsonl"]
    assert len((tmp_path / "x.partial.jsonl").read_text().splitlines()) == 10


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_a_process_ends_while_a_stream_is_open() -> None:
    process = _end(
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "events = Client(backend).stream('foo')\n"
        "print(type(next(events)).__name__)"
    )
    assert (process.stdout, process.stderr, process.returncode) == ("MatchBatch\n", "", 0)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_a_process_ends_while_a_client_is_still_to_be_closed() -> None:
    process = _end(
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "def opened():\n"
        "    with Client(backend) as client:\n"
        "        next(client.stream('foo'))\n"
        "        yield client\n"
        "waiting = opened()\n"
        "next(waiting)\n"
        "raise SystemExit(3)"
    )
    assert process.returncode == 3, process.stderr
    assert process.stderr == ""


def test_no_thread_is_started_while_the_interpreter_exits(tmp_path: Path) -> None:
    """CPython 3.12 refuses one; asyncio would start one to shut its executor down, which an export has used."""
    script = f"""
import atexit, sys, threading
sys.path.insert(0, {str(TESTS)!r})
from client.scripted import COMPLETE, ScriptedBackend
from sourcelight.client import Client

def refuse(thread):
    raise RuntimeError("can't create new thread at interpreter shutdown")

Client(ScriptedBackend(COMPLETE)).export("foo", {str(tmp_path / "x.jsonl")!r})
atexit.register(setattr, threading.Thread, "start", refuse)  # the last that is registered runs first
"""
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (process.stderr, process.returncode) == ("", 0)
