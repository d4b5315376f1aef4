"""`SearchResult.to_html` writes a page that can be sent on: whole, safe, and with nothing of this machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.testing import RepositoryBuilder

SCRIPT = "<script>alert('needle')</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repositories")
    hosted = RepositoryBuilder(root / "hosted")
    hosted.commit(
        {f"src/{index:02}.py": f"needle = {index}\n{SCRIPT}\n" for index in range(30)}, message=f"needle {SCRIPT}"
    )
    hosted.git("remote", "add", "origin", "https://github.com/owner/hosted.git")
    RepositoryBuilder(root / "local").commit({"a.py": "needle\n"})
    return root


@pytest.mark.parametrize("options", [{}, {"context_lines": 1}])
def test_a_page_has_the_rows_with_marks_and_public_links_alone(code: sl.Client, options: dict[str, int]) -> None:
    result = code.search("needle count:all", progress=False, **options)  # type: ignore[arg-type]
    page = result.to_html()
    assert page.startswith("<!doctype html>")
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert page.count("<mark>needle</mark>") == result.match_count == 61
    assert set(re.findall(r'href="(https://[^/"]*)', page)) == {"https://github.com"}
    assert not re.search(r'href="(?!https://github\.com/owner/hosted)', page)
    assert str(Path.cwd()) not in page


def test_a_page_says_what_it_leaves_out_and_what_was_left_out(code: sl.Client, tmp_path: Path) -> None:
    result = code.search("needle count:40", progress=False)
    assert result.to_html(tmp_path / "page.html", rows=7) == str(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert f"7 of {len(result)} rows are on this page" in page
    assert "40 matches" in page
    assert "count:all" in page
    assert f"sourcelight {sl.__version__}" in page
    assert page.count("<tr>") == 8


def test_commits_and_answers_without_a_row_have_pages_too(code: sl.Client) -> None:
    assert "<mark>needle</mark> &lt;script&gt;" in code.search("type:commit needle", progress=False).to_html()
    assert "no matches" in code.search("nothing-has-this", progress=False).to_html()
