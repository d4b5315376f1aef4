"""scripts/test and scripts/demo say what is missing, and close with honest totals."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import fast
import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
posix = pytest.mark.skipif(os.name == "nt", reason="the scripts are for a POSIX shell")


def run(*command: str | Path, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": ""} | ({"PATH": path} if path is not None else {})
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


def tools(folder: Path, *names: str) -> str:
    """A PATH with nothing but these tools."""
    folder.mkdir()
    for name in (*names, "sh", "sed", "dirname"):
        result = shutil.which(name)
        assert result
        (folder / name).symlink_to(result)
    return str(folder)


@posix
@pytest.mark.parametrize("name", ["test", "demo"])
def test_help_names_the_ways_to_run(name: str) -> None:
    done = run(SCRIPTS / name, "--help")
    assert done.returncode == 0
    assert f"scripts/{name}" in done.stdout


@posix
@pytest.mark.parametrize("name", ["test", "demo"])
def test_everything_that_is_missing_is_named_at_once(name: str, tmp_path: Path) -> None:
    done = run(shutil.which("sh") or "sh", SCRIPTS / name, path=tools(tmp_path / "bin"))
    assert done.returncode == 1
    assert "Python 3.11 or newer" in done.stderr
    assert "git 2.31 or newer (found: none)" in done.stderr


@posix
def test_an_old_git_is_refused_by_version(tmp_path: Path) -> None:
    path = tools(tmp_path / "bin")
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\necho git version 2.17.1\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    done = run(shutil.which("sh") or "sh", SCRIPTS / "demo", path=path)
    assert done.returncode == 1
    assert "git 2.31 or newer (found: 2.17)" in done.stderr


@posix
def test_an_unknown_stage_is_a_usage_error() -> None:
    done = run(SCRIPTS / "test", "everything")
    assert done.returncode == 2
    assert "there are: lint types" in done.stderr


def test_the_closing_summary_counts_skips_by_reason(tmp_path: Path) -> None:
    (tmp_path / "stages").write_text("unit\t1\t12\n", "utf-8")
    (tmp_path / "unit.xml").write_text(
        "<testsuites><testsuite><testcase name='a'/><testcase name='b'><failure/></testcase>"
        "<testcase name='c'><skipped message='no rg'/></testcase>"
        "<testcase name='d'><skipped message='no rg'/></testcase></testsuite></testsuites>",
        "utf-8",
    )
    done = run(sys.executable, SCRIPTS / "closing.py", tmp_path)
    assert done.returncode == 1
    assert "   2  no rg\n" in done.stdout
    assert done.stdout.splitlines()[-1] == "===== 1 failed, 1 passed, 2 skipped in 12.00s ====="


def test_the_closing_summary_names_tests_that_passed_only_alone(tmp_path: Path) -> None:
    (tmp_path / "stages").write_text("unit\t0\t12\n", "utf-8")
    failed = "<testsuite><testcase classname='t' name='a[1]'><failure/></testcase></testsuite>"
    (tmp_path / "unit.xml").write_text(f"<testsuites>{failed}</testsuites>", "utf-8")
    (tmp_path / "unit-again.xml").write_text(f"<testsuites>{failed.replace('<failure/>', '')}</testsuites>", "utf-8")
    done = run(sys.executable, SCRIPTS / "closing.py", tmp_path)
    assert done.returncode == 0
    assert "unsteady tests: they failed at first, and passed alone\nt::a[1]\n" in done.stdout
    assert done.stdout.splitlines()[-1] == "===== 1 passed in 12.00s ====="


def test_a_second_run_is_prepared_for_the_first_failures(tmp_path: Path) -> None:
    failed = tmp_path / "v" / "cache" / "lastfailed"
    failed.parent.mkdir(parents=True)
    failed.write_text('{"tests/a.py::test[x@y]@tests/a.py": true, "tests/a.py::test@cluster": true}', "utf-8")
    assert run(sys.executable, SCRIPTS / "failed.py", tmp_path).returncode == 0
    assert json.loads(failed.read_text("utf-8")) == {"tests/a.py::test[x@y]": True, "tests/a.py::test": True}
    failed.write_text(json.dumps({f"tests/a.py::test_{number}": True for number in range(4)}), "utf-8")
    assert run(sys.executable, SCRIPTS / "failed.py", tmp_path).returncode == 1
    assert list(json.loads(failed.read_text("utf-8"))) == [f"tests/a.py::test_{number}" for number in range(3)]


def test_the_closing_summary_keeps_the_seconds_of_each_file(tmp_path: Path) -> None:
    folder = tmp_path / "test"
    folder.mkdir()
    (tmp_path / "seconds.json").write_text('{"tests/core/test_old.py": 4.0, "tests/core/test_b.py": 9.0}', "utf-8")
    (folder / "stages").write_text("unit\t0\t12\n", "utf-8")
    cases = (("tests.core.test_a", 1.5), ("tests.core.test_a.TestClass", 2.0), ("tests.core.test_b", 0.25))
    inner = "".join(f"<testcase classname='{name}' name='t' time='{took}'/>" for name, took in cases)
    (folder / "unit.xml").write_text(f"<testsuites><testsuite>{inner}</testsuite></testsuites>", "utf-8")
    done = run(sys.executable, SCRIPTS / "closing.py", folder, "8")
    assert done.stdout.splitlines()[-1] == "===== 3 passed in 8.00s ====="  # stages beside each other: less than 12
    value = json.loads((tmp_path / "seconds.json").read_text("utf-8"))
    assert value == {"tests/core/test_a.py": 3.5, "tests/core/test_b.py": 0.25, "tests/core/test_old.py": 4.0}


def test_the_fast_run_takes_what_is_nearest_to_a_change_and_then_what_is_quickest() -> None:
    tests = {
        "tests/core/query/test_printer.py": "import sourcelight",
        "tests/engines/test_uses.py": "from sourcelight.core.query.printer import show",
        "tests/core/test_other.py": "",
        "tests/lab/test_slow.py": "",
        "tests/lab/test_quick.py": "",
        "tests/lab/test_mine.py": "",
    }
    changed = {"src/sourcelight/core/query/printer.py", "tests/lab/test_mine.py", "README.md"}
    seconds = dict.fromkeys(tests, 1.0) | {"tests/lab/test_slow.py": 50.0}
    selected, counts = fast.choose(tests, changed, seconds, 10)
    assert selected == [
        "tests/lab/test_mine.py",
        "tests/engines/test_uses.py",
        "tests/core/query/test_printer.py",
        "tests/core/test_other.py",
        "tests/lab/test_quick.py",
    ]
    assert counts == [1, 1, 2, 1]
    assert fast.choose(tests, changed, seconds, 2)[0] == selected[:2]


def test_the_fast_run_without_measurements_takes_of_other_rooms_only_those_without_processes() -> None:
    tests = dict.fromkeys(("tests/core/test_a.py", "tests/server/test_b.py", "tests/lab/test_c.py"), "")
    assert fast.choose(tests, set(), {}, 100)[0] == ["tests/core/test_a.py"]
    assert fast.choose(tests, {"src/sourcelight/lab/plots/tiles.py"}, {}, 100)[0] == [
        "tests/lab/test_c.py",
        "tests/core/test_a.py",
    ]


@pytest.mark.parametrize("mark", ["attack", "clock"])
def test_marks_are_spelt_as_the_stages_search_for_them(mark: str) -> None:
    """`scripts/test` gives pytest only files with `pytest.mark.NAME`: another spelling would leave a test out."""
    assert f"$(marked {mark}" in (SCRIPTS / "test").read_text("utf-8")
    spelt = re.compile(rf"(?<!pytest\.)\bmark\.{mark}\b|from pytest import .*\bmark\b")
    texts = {path: path.read_text("utf-8") for path in Path(__file__).parent.rglob("*.py") if path != Path(__file__)}
    assert [path for path, text in texts.items() if spelt.search(text)] == []
    files = [path for path, text in texts.items() if f"pytest.mark.{mark}" in text]
    assert files
    assert all(path.name.startswith("test_") or path.name == "conftest.py" for path in files)


def test_the_unit_stage_leaves_out_only_folders_of_other_stages() -> None:
    tests = Path(__file__).parent
    folders = re.search(r'^ELSEWHERE="(.*)"$', (SCRIPTS / "test").read_text("utf-8"), re.MULTILINE)
    assert folders is not None
    for folder in folders[1].split():
        files = sorted((tests / folder).rglob("test_*.py"))
        assert files
        if folder not in {"attacks", "release", "server/attacks"}:  # which their conftest.py marks
            whole_file = re.compile(rf"^pytestmark = (\[\s*)?pytest\.mark\.{folder}\b", re.MULTILINE)
            assert [path for path in files if not whole_file.search(path.read_text("utf-8"))] == []
