"""``sourcelight index --scip``: index files of compilers on the command line."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from engines.navigation.sample import call
from engines.navigation.test_scip import INDEX, TEXT, document, occurrence
from sourcelight.backends.embedded import open_engine
from sourcelight.cli import main
from sourcelight.testing import make_repo

SOURCE: dict[str, Any] = {"repo": "one", "path": "m.py", "symbol": "run", "line": 6}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, and an index of its own."""
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path / "home"))
    make_repo(tmp_path / "code" / "one", {"m.py": TEXT})
    return tmp_path


def _method(folder: Path) -> Any:
    return call(open_engine([folder / "code"]), "go_to_definition", **SOURCE).table.to_pylist()[0]["how"]


def _state(folder: Path) -> str:
    files = sorted(path for path in (folder / "home").rglob("*.scip") if path.is_file())
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def test_a_file_is_kept_and_answers_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was left out of it is said; a later start still has it."""
    file = folder / "given.scip"
    file.write_bytes(INDEX)
    assert main(["index", str(folder / "code"), "--scip", str(file)]) == 0
    output = "".join(capsys.readouterr())
    assert "given.scip: stored for one, 1 file, files skipped: 1, places skipped: 1" in output
    assert _method(folder) == "scip"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(INDEX[:-5], "truncated", id="truncated"),
        pytest.param(b"#!/bin/sh\necho this is no index\n", "", id="no-index"),
        pytest.param(document("other.py", occurrence((0, 0, 1), "local 1")), "none of its files", id="another's"),
        pytest.param(None, "", id="missing"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str], data: bytes | None, reason: str
) -> None:
    """The command fails and says why; text is indexed all the same, and what was kept before stays."""
    good, bad = folder / "good.scip", folder / "bad.scip"
    good.write_bytes(INDEX)
    assert main(["index", str(folder / "code"), "--scip", str(good)]) == 0
    if data is not None:
        bad.write_bytes(data)
    before = _state(folder)
    capsys.readouterr()
    status = main(["index", str(folder / "code"), "--scip", str(bad)])
    out, err = capsys.readouterr()
    assert status not in {0, None}
    assert "bad.scip" in out + err
    assert reason in out + err
    assert "Traceback" not in out + err
    assert _state(folder) == before
    assert _method(folder) == "scip"
