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
