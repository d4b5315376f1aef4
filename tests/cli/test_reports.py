"""The command line writes reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcelight.cli import main
from sourcelight.testing import RepositoryBuilder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two tags."""
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path / "home"))
    repo = RepositoryBuilder(tmp_path / "src" / "demo")
    repo.commit({"a.py": "one\n"}, "begin")
    repo.tag("v1")
    repo.commit({"a.py": "two\n"}, "change")
    repo.tag("v2")
    return tmp_path / "src"


def test_contributors_are_written_as_a_page(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "out.html"
    assert main(["report", "contributors", str(folder), "-o", str(page), "--period", "year", "--no-ownership"]) == 0
    assert "Contributors to demo" in page.read_text(encoding="utf-8")
    output = capsys.readouterr().err
    assert f"wrote {page}" in output
    assert "Ownership was not requested" in output


def test_changes_are_written_as_tables(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "tables"
    assert main(["report", "changes", "v1", "v2", str(folder), "-o", str(out), "--tables", "jsonl"]) == 0
    assert '"path":"a.py"' in (out / "files.jsonl").read_text(encoding="utf-8")


def test_an_output_that_is_no_form_is_wrong_usage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "contributors", str(folder), "-o", "x.docx"]) == 2
    assert ".html, .md, .pdf" in capsys.readouterr().err


def test_an_unknown_revision_fails_and_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "changes", "v1", "v9", str(folder)]) == 2
    assert "v9" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["contributors", "--no-ownership"], ["changes", "v1", "v2"]])
def test_reports_are_narrowed_to_paths_and_say_why_they_are_empty(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    page = tmp_path / "out.md"
    arguments = ["report", *command, str(folder), "-o", str(page)]
    assert main([*arguments, "--only", "*.py", "--exclude", "b", "--exclude", "c"]) == 0
    text = page.read_text(encoding="utf-8")
    assert "only files in: \\*.py" in text
    assert "without files in: b, c" in text
    assert main([*arguments, "--only", "b.py"]) == 0
    assert "No file that changed is in only=b.py; the nearest name is a.py." in capsys.readouterr().err
