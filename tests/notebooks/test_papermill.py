"""The notebooks about history run on any repository, by papermill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from sourcelight.testing import RepositoryBuilder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180), pytest.mark.filterwarnings("ignore")]  # papermill's own

NOTEBOOKS = Path(__file__).resolve().parent.parent.parent / "notebooks"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nothing like the sample fleet: two commits, one person, no folders."""
    repo = RepositoryBuilder(tmp_path_factory.mktemp("other") / "mine")
    repo.commit({"a.txt": "one\ntwo\n"}, "begin")
    repo.tag("old")
    repo.commit({"a.txt": "one\nthree\n"}, "go on")
    return repo.path


def executed(name: str, folder: Path, **parameters: Any) -> str:
    papermill = pytest.importorskip("papermill")
    papermill.execute_notebook(
        NOTEBOOKS / name, folder / name, parameters, progress_bar=False, kernel_name="python3", cwd=folder
    )
    cells = nbformat.read(folder / name, as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return "\n".join(str(output.get("text") or output.get("data", {}).get("text/plain", "")) for output in outputs)


@pytest.mark.parametrize("name", ["02-history.ipynb", "03-contributor-report.ipynb", "04-change-report.ipynb"])
def test_parameters_stand_in_a_cell_of_their_own(name: str) -> None:
    cells = nbformat.read(NOTEBOOKS / name, as_version=4).cells
    assert [("paths" in cell.source) for cell in cells if "parameters" in cell.metadata.get("tags", [])] == [True]


def test_history_is_shown_of_another_repository(repository: Path, tmp_path: Path) -> None:
    text = executed("02-history.ipynb", tmp_path, paths=str(repository), text="three")
    assert "go on" in text


def test_contributors_are_reported_of_another_repository(repository: Path, tmp_path: Path) -> None:
    text = executed(
        "03-contributor-report.ipynb", tmp_path, paths=str(repository), by="day", output=str(tmp_path / "out")
    )
    assert "Ada Example" in text
    assert "Ada Example" in (tmp_path / "out" / "contributors.html").read_text(encoding="utf-8")


def test_changes_are_reported_of_another_repository(repository: Path, tmp_path: Path) -> None:
    text = executed(
        "04-change-report.ipynb",
        tmp_path,
        paths=str(repository),
        repo="mine",
        base="old",
        head="HEAD",
        output=str(tmp_path / "out"),
    )
    assert "go on" in text
    assert (tmp_path / "out" / "tables" / "log.parquet").exists()


def test_assistants_are_shown_of_another_repository(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "mine")
    repo.commit({"a.txt": "four\n"}, "use help\n\nCo-authored-by: Cursor <cursoragent@cursor.com>")
    text = executed("14-agents.ipynb", tmp_path, paths=str(repo.path))
    assert "use help" in text
    assert "Cursor" in text
    assert "a lower bound" in text
