"""`sourcelight doctor` says what is there, how large, and what is wrong, and nothing that is private."""

from __future__ import annotations

from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.cli import main
from sourcelight.testing import RepositoryBuilder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the index of one repository."""
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SRC_ACCESS_TOKEN", "private-token")
    RepositoryBuilder(tmp_path / "src" / "private-name").commit({"a.py": "private content\n"}, "private subject")
    assert main(["index", str(tmp_path / "src")]) == 0
    return tmp_path / "home"


def test_it_names_versions_libraries_and_directories(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    status = main(["doctor"])
    output = capsys.readouterr().out
    assert status == 0
    assert f"sourcelight  {sl.__version__}" in output
    assert "pyarrow" in output
    assert str(home) in output
    assert "DataFrames" in output
    (line,) = (line for line in output.splitlines() if line.startswith("indexes"))
    assert " 0 B " not in line


def test_it_says_nothing_private(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    main(["doctor"])
    output = capsys.readouterr()
    assert home.exists()
    assert "private" not in output.out.replace(str(home.parent), "")
    assert output.err == ""


def test_it_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path / "home"))
    assert main(["doctor"]) == 0
    assert not (tmp_path / "home").exists()


def test_without_git_the_status_is_that_of_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["doctor"]) == 2
    output = capsys.readouterr().out
    assert "\nbroken: git" in output
    assert "the git command was not found on PATH" in output


def test_a_directory_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path / "home"))

    def refuse(**_: object) -> object:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("sourcelight.cli.doctor.tempfile.TemporaryFile", refuse)
    assert main(["doctor"]) == 2
    assert "can't be written: Read-only file system" in capsys.readouterr().out
