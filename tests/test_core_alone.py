"""What `sourcelight-core` does where pandas, Matplotlib, ipywidgets, anywidget and IPython are not installed.

One interpreter that can't import them does all of it; `tests/release` does it again in environments without them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from sourcelight.testing import RepositoryBuilder

_HIDE = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)  # importlib.metadata asks finders for distributions

    def find_spec(self, name, path=None, target=None):
        hidden = {"pandas", "matplotlib", "ipywidgets", "anywidget", "IPython", "traitlets"}
        return None if name.partition(".")[0] in hidden else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""
_WORK = '''
import asyncio, contextlib, io, json, os, sys
from pathlib import Path

src, out = sys.argv[1], Path(sys.argv[2])
answers = {}
import sourcelight as sl
from sourcelight.cli import main

def sentence(name, ask):
    """Note what an attempt says; anything but the one error is a failure of the whole."""
    try:
        ask()
    except sl.MissingExtra as error:
        answers[name] = str(error)

def command(*words):
    """Run a command of the command line; its status and output."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = main(list(words))
    return [status, printed.getvalue()]

answers["cli_index"] = command("index", src)[0]
with sl.open(src, background_index=False) as code:
    result = code.search("greet count:all")
    answers["status"] = result.status
    answers["rows"] = result.arrow.select(["path", "line"]).to_pylist()
    answers["text"] = repr(result)
    answers["page"] = "greet" in result._repr_mimebundle_()["text/html"]
    answers["count"] = code.count("greet")
    answers["counts"] = code.count_table("greet", "path").to_pylist()
    commits = code.call_table("commit_search", repos=["demo"])
    answers["commits"] = commits.column("subject").to_pylist()
    answers["commits_status"] = commits.schema.metadata[b"sourcelight.status"].decode()
    answers["definition"] = code.call_table(
        "go_to_definition", repo="demo", path="b.py", symbol="greet").select(["path"]).to_pylist()
    answer = code.deepsearch("Where is greet defined?")
    answers["deepsearch"] = [answer.status, answer.to_markdown()]
    result.to_parquet(str(out / "rows.parquet"))
    result.to_csv(str(out / "rows.csv"))
    result.to_jsonl(str(out / "rows.jsonl"))
    answers["files"] = sorted(path.name for path in out.iterdir())
    sentence("matches", lambda: result.matches)
    sentence("skipped", lambda: result.skipped)
    sentence("spans", result.spans)
    sentence("explore", result.explore)
    last = code.last
    sentence("search_explore", lambda: code.explore("greet"))
    answers["searched"] = code.last is not last
    sentence("facets", result.facets)
    sentence("commit_search", lambda: code.commit_search(repos=["demo"]))
    sentence("count_by", lambda: code.count_by("greet", "path"))
    sentence("read_matches", lambda: sl.read_matches(str(out / "rows.csv")))
    sentence("sources", lambda: answer.sources)
    sentence("report", lambda: sl.reports.contributors(code))
    sentence("plot", lambda: sl.plots.bars(result))
    sentence("magics", lambda: sl.load_ipython_extension(None))
answers["cli_search"] = command("search", "greet", src)
answers["cli_count"] = command("search", "greet", src, "--count-by", "path")
answers["cli_ask"] = command("ask", "Where is greet defined?", src)[0]
answers["cli_explain"] = command("explain", "greet")[0]
answers["loaded"] = [name for name in ("pandas", "matplotlib", "IPython") if sys.modules.get(name)]
print(json.dumps(answers))
'''


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("core")
    repo = RepositoryBuilder(folder / "src" / "demo")
    repo.commit({"a.py": "def greet():\n    pass\n", "b.py": "from a import greet\ngreet()\n"}, "say hello")
    (folder / "out").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _HIDE + _WORK, str(folder / "src"), str(folder / "out")],
        capture_output=True, text=True, timeout=100, check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_searches_are_arrow_tables(answers: dict[str, Any]) -> None:
    assert answers["status"] == "complete"
    assert answers["rows"] == [
        {"path": "a.py", "line": "def greet():"},
        {"path": "b.py", "line": "from a import greet"},
        {"path": "b.py", "line": "greet()"},
    ]
    assert answers["text"].startswith("SearchResult: 3 matches in 3 rows of 1 repository: complete")
    assert answers["page"]


def test_counts_history_and_navigation_are_arrow_tables(answers: dict[str, Any]) -> None:
    assert answers["count"] == 3
    assert answers["counts"] == [
        {"path": "b.py", "matches": 2, "files": 1},
        {"path": "a.py", "matches": 1, "files": 1},
    ]
    assert (answers["commits"], answers["commits_status"]) == (["say hello"], "complete")
    assert answers["definition"] == [{"path": "a.py"}]


def test_answers_and_files_need_no_frames(answers: dict[str, Any]) -> None:
    assert answers["deepsearch"][0] == "complete"
    assert "a.py" in answers["deepsearch"][1]
    assert answers["files"] == ["rows.csv", "rows.jsonl", "rows.parquet"]


def test_commands_need_no_frames(answers: dict[str, Any]) -> None:
    assert answers["cli_search"] == [
        0,
        "demo  a.py\n      1  def greet():\ndemo  b.py\n      1  from a import greet\n      2  greet()\n",
    ]
    assert answers["cli_count"] == [0, "path  matches  files\nb.py        2      1\na.py        1      1\n"]
    assert (answers["cli_index"], answers["cli_ask"], answers["cli_explain"]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("feature", "library"),
    [
        ("matches", "pandas"),
        ("skipped", "pandas"),
        ("spans", "pandas"),
        ("commit_search", "pandas"),
        ("count_by", "pandas"),
        ("read_matches", "pandas"),
        ("sources", "pandas"),
        ("report", "pandas"),
        ("plot", "pandas"),
        ("magics", "pandas"),
        ("explore", "anywidget"),
        ("search_explore", "anywidget"),
        ("facets", "anywidget"),
    ],
)
def test_frames_widgets_and_figures_say_what_to_install(answers: dict[str, Any], feature: str, library: str) -> None:
    assert answers[feature].endswith(f" needs {library}, which sourcelight-core leaves out: pip install sourcelight")


def test_an_explorer_that_cannot_be_shown_starts_no_search(answers: dict[str, Any]) -> None:
    assert answers["searched"] is False


def test_nothing_of_notebooks_was_there(answers: dict[str, Any]) -> None:
    assert answers["loaded"] == []
