"""`benchmarks/agent.py`: what its tasks hold, that no policy knows one, and what its grader counts."""

from __future__ import annotations

import inspect
import json
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest

from sourcelight.testing import RepositoryBuilder

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import agent  # noqa: E402 - a script, not a module of the package
import agent_draw  # noqa: E402 - as above
import agent_model  # noqa: E402 - as above

sys.path.pop(0)  # other scripts there have names of packages of tests

AT, TASKS = agent.read_tasks(ROOT / "benchmarks" / "truth" / "agent.json")
PARTS: tuple[Callable[..., Any], ...] = (
    *(agent.shell_policy, agent.default_policy, agent.all_policy),
    *(agent.definition, agent.locate, agent.compare, agent.ranked, agent.is_test),
)
POLICIES = "\n".join(map(inspect.getsource, PARTS))


def test_forty_tasks_of_five_kinds_have_gold_at_fixed_commits() -> None:
    assert len(TASKS) == 40
    assert set(Counter(task.kind for task in TASKS)) == {"locate", "trace", "count", "who", "compare"}
    assert Counter(task.group for task in TASKS) == {"first half": 20, "second half": 20}
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in AT.values())
    for task in TASKS:
        assert task.repository in AT
        assert task.gold
        assert bool(task.base) == bool(task.head) == (task.kind == "compare")


def test_no_policy_names_a_repository_or_a_term_of_a_task() -> None:
    words = set(re.findall(r"\w+", POLICIES))
    assert not words & set(AT)
    assert not words & {term for task in TASKS if task.kind != "locate" for term in task.terms}
    assert not words & {Path(str(gold["path"])).stem for task in TASKS for gold in task.gold if "path" in gold} - {
        "core"
    }


@pytest.mark.parametrize(
    ("kind", "units", "transcript", "share"),
    [
        ("locate", [("a.py", "x = one()"), ("a.py", "y = two()")], "# r – a.py\n3: x = one()\n", 0.5),  # noqa: RUF001
        ("locate", [("a.py", "x = one()")], "3: x = one()\nb.py\n", 0.0),
        ("locate", [("a.py", "x = one()")], "3: x = one()\na.py\n", 0.0),
        ("count", [("a.py", r"(?<!\d)12(?!\d)")], "a.py:12\n", 1.0),
        ("count", [("a.py", r"(?<!\d)12(?!\d)")], "a.py:112\nb.py:12\n", 0.0),
        ("who", [("", "abcdef1")], "abcdef1234 2020-01-01 Ada: start\n", 1.0),
    ],
)
def test_the_grader_counts_what_a_transcript_shows(
    kind: str, units: list[tuple[str, str]], transcript: str, share: float
) -> None:
    task = agent.Task("r", kind, "?", ("t",), ({},), "g")
    assert agent.covered(task, units, transcript) == share


def test_a_model_answers_by_calls_of_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scripted server stands for the model: it calls a tool, makes two mistakes, and answers."""
    (tmp_path / "lamps").mkdir()
    (tmp_path / "lamps" / "lamp.py").write_text("def light():\n    return 1\n")
    calls = [("shell", '{"command": "cat lamp.py"}'), ("shell", "no JSON"), ("absent", "{}")]
    requests: list[dict[str, Any]] = []

    class Script(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            step = len(requests) - 1
            message: dict[str, Any] = {"role": "assistant", "content": "lamp.py:1"}
            if step < len(calls):
                function = dict(zip(("name", "arguments"), calls[step], strict=True))
                message |= {"tool_calls": [{"id": f"c{step}", "type": "function", "function": function}]}
            body = json.dumps({"choices": [{"message": message}], "usage": {"prompt_tokens": 5}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Script) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("SOURCELIGHT_MODEL", "scripted")
        monkeypatch.setenv("SOURCELIGHT_MODEL_URL", f"http://127.0.0.1:{server.server_port}/v1")
        model = agent_model.ChatModel.from_environment()
        task = agent.Task("lamps", "locate", "Where is the light?", ("light",), ({},), "g")
        ([transcript], listing) = anyio.run(agent.play, [task], "shell", tmp_path, model)
        server.shutdown()
    assert listing == 0
    assert transcript.texts == ["cat lamp.py\ndef light():\n    return 1\n", "lamp.py:1"]
    results = [message["content"] for message in requests[-1]["messages"] if message["role"] == "tool"]
    assert [results[0], results[1][:20], results[2][:21]] == [
        "def light():\n    return 1\n",
        "the arguments are no",
        "there is no such call",
    ]
    assert (requests[0]["model"], requests[0]["tools"][0]["function"]["name"]) == ("scripted", "shell")
    assert model is not None
    assert model.prompt_tokens == 20
    monkeypatch.delenv("SOURCELIGHT_MODEL_URL")
    with pytest.raises(SystemExit, match="SOURCELIGHT_MODEL_URL"):
        agent_model.ChatModel.from_environment()


def test_a_draw_is_that_of_its_seed_and_true_to_git(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "lamps")
    sentence = "Measure brightness over several separate windows quickly"
    body = "".join(f"    step_{n} = {n}\n" for n in range(8))
    parts = [f'def find_lamp_{n}():\n    """{sentence} {"again " * n}."""\n{body}' for n in range(9)]
    uses = "".join(f"def use_{n}():\n    find_lamp_{n}()\n    return find_lamp_{n}()\n" for n in range(9))
    for n in range(9):
        builder.commit({"lamp.py": "\n\n".join(parts[: n + 1]), "uses.py": uses}, f"lamp {n}")
        builder.git("tag", f"v1.{n}")
    builder.commit({"notes.md": "find_lamp_1 step_3\n"}, "notes")
    drawing = agent_draw.draw([agent_draw.Repository(builder.path, "lamps")], 5)
    assert drawing == agent_draw.draw([agent_draw.Repository(builder.path, "lamps")], 5)
    assert Counter(task["kind"] for task in drawing["tasks"]) == dict.fromkeys(agent_draw.KINDS, 4)
    for task in drawing["tasks"]:
        (tmp_path / "tasks.json").write_text(json.dumps({**drawing, "tasks": [task]}))
        _, [gold_task] = agent.read_tasks(tmp_path / "tasks.json")
        assert agent.gold_units(gold_task, builder.path)
        for gold in task["gold"] if task["kind"] in {"trace", "compare"} else ():
            lines = builder.git("show", f"{gold.get('revision', 'HEAD')}:{gold['path']}").splitlines()
            assert task["terms"][0] in lines[gold["first"] - 1]
        if task["kind"] == "who":
            assert builder.git("log", "-S", task["terms"][0], "--format=%H").split()[-1] == task["gold"][0]["commit"]


def test_a_start_is_whole_lines_within_the_budget() -> None:
    transcript = agent.Transcript(["alpha beta\ngamma delta\n", "epsilon\n"])
    everything = transcript.start(1_000)
    assert everything.split() == ["alpha", "beta", "gamma", "delta", "epsilon"]
    assert transcript.start(5) == "alpha beta"
    assert (transcript.calls, transcript.start(0)) == (2, "")
