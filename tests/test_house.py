"""Rules of the house that no linter knows."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(path for path in (ROOT / "src").rglob("*.py"))
BANNED = {"utils", "util", "helpers", "helper", "common", "misc", "base"}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_a_module_has_at_most_600_lines(module: Path) -> None:
    assert len(module.read_text("utf-8").splitlines()) <= 600


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [path for path in MODULES if BANNED & {path.stem, *path.relative_to(ROOT).parts}] == []
