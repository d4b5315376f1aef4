"""Errors in a cell: the message first and last, the reader's lines between, and all frames on request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import sourcelight as sl
from client.scripted import ScriptedBackend, batch
from sourcelight.client import Client
from sourcelight.testing import RepositoryBuilder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("errors")
    RepositoryBuilder(folder / "ledger").commit({"a.txt": "needle\n"})
    return folder


@pytest.fixture
def run(code: sl.Client, capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    """Run a cell; gives the lines that it prints without colors."""
    shell = InteractiveShell.instance()
    shell.user_ns.update({"code": code, "sl": sl})

    def cell(text: str) -> list[str]:
        capsys.readouterr()
        shell.run_cell(text, store_history=True)
        printed = capsys.readouterr()
        return re.sub(r"\x1b\[[0-9;]*m", "", printed.out + printed.err).strip("\n").split("\n")

    cell.shell = shell  # type: ignore[attr-defined]
    yield cell
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("code.search('/[/')", "QueryError: error parsing regexp: missing closing ]: `[`"),
        ("code.read_file('ledgr', 'a.txt')", "RepositoryNotFound: repository not found: ledgr; did you mean ledger?"),
        ("code.count_by('a', 'colour')", "ValueError: can't count by colour"),
        ("code.search(nonsense=1)", "TypeError: "),
        ("sl.connect('http://127.0.0.1:9')", "ConnectFailed: no service at http://127.0.0.1:9: "),
        ("sl.open('/absent')", "NoRepositories: no repository found below /absent"),
        ("sl.sql('select x from matches', code.search('needle'))", "ToolError: sql: unknown column 'x'"),
        ("code.search('needle').matches.code.groups()", "ToolError: groups: "),
    ],
)
def test_the_message_is_first_and_last_and_few_lines_stand_between(run: Any, text: str, error: str) -> None:
    lines = run(f"value = 1\n{text}")
    assert lines[0].startswith(error)
    assert any(line.startswith(error) for line in lines[-2:])
    assert len(lines) <= 10, lines
    assert f"----> 2 {text}" in lines
    assert not any("site-packages" in line or "src/sourcelight" in line for line in lines)


def test_the_readers_own_frames_stay(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "helping_module.py").write_text("def ask(code):\n    return code.search('/[/')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    lines = run("import helping_module\nhelping_module.ask(code)")
    assert "----> 2 helping_module.ask(code)" in lines
    assert any("helping_module.py in ask" in line for line in lines)
    assert "----> 2 return code.search('/[/')" in lines


def test_all_frames_are_shown_on_request(run: Any) -> None:
    run("code.search('/[/')")
    for request in ("%tb Verbose", "%xmode Verbose\ncode.search('/[/')"):
        lines = run(request)
        assert any("portal.py" in line for line in lines), request
    assert run("%xmode Minimal\ncode.search('/[/')")[-3].startswith("QueryError: ")
    run("%xmode Context")
    run("%load_ext sourcelight")
    assert run("%search -c code /[/")[-1].startswith("UsageError: ") or "UsageError" in "".join(run("%search /[/"))
    lines = run("%search --tb -c code /[/")
    assert any("portal.py" in line for line in lines)


def test_an_error_in_a_line_of_a_repository_can_not_act(run: Any) -> None:
    lines = run("raise sl.ToolError('a\\x1b[2Jb')")
    assert lines[-1] == "ToolError: a\u241b[2Jb"


def test_a_bug_of_ours_is_shown_whole(run: Any) -> None:
    run.shell.user_ns["broken"] = Client(ScriptedBackend([batch(0), ZeroDivisionError("bug")]))
    lines = run("broken.search('needle')")
    assert any("portal.py" in line for line in lines)


def test_an_interrupt_names_what_arrived(run: Any) -> None:
    import os
    import signal
    import threading

    backend = ScriptedBackend([batch(0), batch(1), "wait"])
    run.shell.user_ns["mine"] = Client(backend)

    def interrupt() -> None:
        backend.waiting.wait(10)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    lines = run("mine.search('needle')")
    assert lines[0] == "KeyboardInterrupt: interrupted; the rows so far are in mine.last (20 rows)"
    assert lines[-1] == lines[0]
    assert len(lines) < 8
