"""A hint is said once."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcelight.cli import main
from sourcelight.testing import make_repo


def test_a_refusal_names_its_hint_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_repo(tmp_path / "src" / "one", {"a.txt": "x\n"})
    assert main(["search", "x timeout:5", str(tmp_path / "src")]) == 2
    assert capsys.readouterr().err.count("add a unit") == 1


@pytest.mark.parametrize("options", [[], ["--format", "csv"]])
def test_no_repository_and_what_to_try_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    make_repo(tmp_path / "src" / "click", {"a.txt": "isatty\n"})
    assert main(["search", "repo:clik isatty", str(tmp_path / "src"), *options]) == 1
    said = capsys.readouterr().err
    assert "No repositories found" in said
    assert "no match" in said
    assert main(["search", "ISATTY case:yes", str(tmp_path / "src"), *options]) == 1
    assert "try: " in capsys.readouterr().err


def test_a_missing_revision_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_repo(tmp_path / "src" / "one", {"a.txt": "x\n"})
    assert main(["search", "repo:one@nope x", str(tmp_path / "src")]) == 2
    limited = next(line for line in capsys.readouterr().err.splitlines() if "limited" in line)
    assert "one@nope: there is no such revision" in limited


@pytest.mark.parametrize("options", [["-o", "o.csv"], ["-o", "o.txt", "--format", "table"],
                                     ["-o", "o.csv", "--count-by", "repository"]])  # fmt: skip
def test_a_folder_to_write_to_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    make_repo(tmp_path / "src" / "one", {"a.txt": "x\n"})
    target = tmp_path / "nowhere" / options[1]
    assert main(["search", "x", str(tmp_path / "src"), "-o", str(target), *options[2:]]) == 2
    assert f"{target.parent}: this folder does not exist" in capsys.readouterr().err
