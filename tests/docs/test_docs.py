"""The documentation says what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.core.query import parse
from sourcelight.core.query.parse import refuse_unsupported
from sourcelight.engines.execution.plan import SUPPORTED

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


def test_the_page_of_columns_is_made_from_the_schema() -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "docs", "--check"], check=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


_WORKING = (
    "Text",
    "Filters",
    "Limits",
    "Revisions, definitions and contents of repositories",
    "Commits and changed lines",
    "Code owners",
)


def _rows(page: str, heading: str) -> list[str]:
    assert f"\n## {heading}\n" in page, f"no heading {heading!r}"
    section = page.split(f"## {heading}")[1].split("\n## ", maxsplit=1)[0]
    return re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)


def test_every_documented_query_is_understood() -> None:
    page = (ROOT / "docs" / "queries.md").read_text(encoding="utf-8")
    working = [row.replace("\\|", "|") for h in _WORKING for row in _rows(page, h)]
    assert len(working) > 15
    for query in working:
        for alternative in parse(query).plan:
            refuse_unsupported(alternative, SUPPORTED)


def test_the_readme_shows_code_early() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert lines.index("```python") < 25


def test_every_public_name_is_there() -> None:
    for name in sl.__all__:
        assert getattr(sl, name) is not None
