"""``sourcelight search`` as a process: what it loads before its first row, and how its words are read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from sourcelight.cli.app import app
from sourcelight.cli.startup.first_answers import read_search_options
from sourcelight.cli.startup.search import SearchCommand
from sourcelight.testing.repositories import RepositoryBuilder

COMMAND = [sys.executable, "-c", "import sys; from sourcelight.cli import main; sys.exit(main())", "search"]
LOADED = (
    "import json, sys; from sourcelight.cli import main; status = main(json.loads(sys.argv[1])); "
    "sys.stdout.flush(); print(json.dumps([status, sorted(sys.modules)]), file=sys.stderr)"
)
BOUND_S = 120.0
MAX_MODULES = 290
"""Own modules that a search of text loads, half a millisecond or more each; once 390, then 257.
Modules that are split may add some; an engine that is not needed adds more, and is in `UNNEEDED`."""

UNNEEDED = (
    "pandas", "numpy.ma", "pydantic", "typer", "IPython", "sourcelight.cli.app", "sourcelight.client.client",
    "sourcelight.client.methods", "sourcelight.core.tools", "sourcelight.display.frames",
    "sourcelight.display.notebook.widgets", "sourcelight.engines.execution.commits",
    "sourcelight.engines.history.store", "sourcelight.engines.search.ranking.terms", "sourcelight.engines.tools",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search") / "repository"
    RepositoryBuilder(folder).commit({f"src/part_{i}.py": f"lamp = {i}\n" for i in range(30)}, "start")
    return folder


def start(*words: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"SOURCELIGHT_HOME": str(home)}
    return subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, env=environment, check=False, timeout=BOUND_S
    )


def test_a_search_of_text_loads_only_what_it_needs(folder: Path, tmp_path: Path) -> None:
    words = json.dumps(["search", "lamp", str(folder)])
    environment = os.environ | {"SOURCELIGHT_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", LOADED, words],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
        timeout=BOUND_S,
    )
    assert done.stdout.count("lamp = ") == 30
    status, modules = json.loads(done.stderr.splitlines()[-1])
    assert status == 0
    assert [name for name in UNNEEDED if name in modules] == []
    assert sum(name.startswith("sourcelight.") for name in modules) <= MAX_MODULES


def test_queries_of_history_and_definitions_load_their_engines_then(folder: Path, tmp_path: Path) -> None:
    assert "start" in start("type:commit start", str(folder), home=tmp_path).stdout
    assert "lamp = 7" in start("type:diff /lamp.=.7/", str(folder), home=tmp_path).stdout
    assert "part_7.py" in start("file:has.contributor(.*) /lamp.=.7/", str(folder), home=tmp_path).stdout
    assert "lamp" in start("type:symbol lamp", str(folder), home=tmp_path).stdout


def test_a_process_ends_with_the_status_and_all_of_its_output(folder: Path, tmp_path: Path) -> None:
    match = start("lamp", str(folder), home=tmp_path)
    assert (match.returncode, match.stdout.count("\n"), match.stderr) == (0, 60, "")
    no_match = start("lantern", str(folder), home=tmp_path)
    assert (no_match.returncode, no_match.stdout, no_match.stderr) == (1, "", "sourcelight: no match\n")
    failure = start("/[/", str(folder), home=tmp_path)
    assert (failure.returncode, failure.stdout) == (2, "")
    assert "Traceback" not in failure.stderr


PLAIN = [
    ["lamp"], ["a b", "."], ["a", "x", "./b/"], ["", "x"], ["-n", "5", "a"], ["a", "--limit=5"], ["a", "--limit", "05"],
    ["a", "--worktree", "x"], ["--format", "jsonl", "a"], ["a", "--format=csv"], ["--pattern-type=regexp", "a|b"],
    ["a", "--pattern-type", "ast-grep", "x", "y"], ["src/absent"],
]  # fmt: skip
OTHERS = [
    [], ["--help"], ["-h"], ["a", "--help"], ["--", "-a"], ["-a"], ["a", "-n"], ["a", "-n", "0"], ["a", "-n", "x"],
    ["a", "-n", "-1"], ["a", "-n5"], ["a", "-n=5"], ["a", "-n", "5", "--limit", "5"], ["a", "--format", "parquet"],
    ["a", "--format", "xml"], ["a", "--format="], ["a", "-o", "x.csv"], ["a", "--url", "https://example.org"],
    ["a", "--count-by", "path"], ["a", "--spreadsheet"], ["a", "--timeout", "1"], ["a", "--worktree=1"],
    ["a", "--pattern-type", "Regexp"], ["a", "--lim", "5"], ["a", "-n", "٣"], [os.curdir + os.sep],
]  # fmt: skip


@pytest.mark.parametrize("words", PLAIN, ids=" ".join)
def test_plain_words_mean_what_they_mean_to_the_framework(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, SearchCommand]] = []
    monkeypatch.setattr("sourcelight.cli.search.search", lambda query, command: seen.append((query, command)))
    command = typer.main.get_command(app)
    command(["search", *words], standalone_mode=False)
    assert seen == [read_search_options(words)]


@pytest.mark.parametrize("words", OTHERS, ids=" ".join)
def test_other_words_are_for_the_framework(words: list[str]) -> None:
    assert read_search_options(words) is None
