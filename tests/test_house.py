"""Rules of the house that no linter knows."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(path for path in (ROOT / "src").rglob("*.py"))
BANNED = {"utils", "util", "helpers", "helper", "common", "misc", "base"}


def test_a_module_has_at_most_600_lines() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {name: count for name, count in lines.items() if count > 600} == {}


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [path for path in MODULES if BANNED & {path.stem, *path.relative_to(ROOT).parts}] == []
