"""Files, commits, comparisons and facets are shown whole, marked and safe, and say what they leave out."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from client.scripted import COMPLETE, ScriptedBackend
from display.front_end import say
from sourcelight.client import AsyncClient, Client
from sourcelight.client.search.explanation import add_facets
from sourcelight.core.errors import PathNotFound, ToolError
from sourcelight.core.query import parse
from sourcelight.core.wire.events import SuggestedFilter
from sourcelight.display.notebook.views.diff_view import changes
from sourcelight.testing import RepositoryBuilder

HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(1)> \x1b[31m \u202e [x](javascript:alert(1))"
NAME = "github.com/evil/lamp"
TAGS = {"style", "div", "b", "span", "a", "table", "tbody", "tr", "td", "mark", "details", "summary", "pre"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views")
    repository = RepositoryBuilder(folder / "src" / "lamp", origin=f"https://{NAME}.git")
    numbered = "".join(f"line {n}\n" for n in range(1, 101))
    repository.commit({"a.py": numbered, "b<i>.txt": f"{HOSTILE}\n", "empty": ""}, "begin")
    changed = numbered.replace("line 50\n", f"new {HOSTILE}\n").replace("line 90\n", "")
    author = f"<b>Mallory</b> {HOSTILE.replace('<', '').replace('>', '')} <m@example.org>"
    repository.commit(
        {"a.py": changed, "c.bin": b"\0\1", "b<i>.txt": f"{HOSTILE}\n"}, f"subject {HOSTILE}\n\nbody", author=author
    )
    return folder / "src"


def html(view: Any) -> str:
    """The HTML of a view, checked to be made of harmless tags alone."""
    result = str(view._repr_mimebundle_()["text/html"])
    assert {tag.lower() for tag in re.findall(r"<\s*/?\s*([a-zA-Z]+)", result)} <= TAGS
    assert not re.search(r"<[^>]*\s(on\w+|style|src)=", result)
    assert not {"\x1b", "\u202e"} & set(result + repr(view))
    assert all(url.startswith("https://github.com/evil/lamp/") for url in re.findall(r'href="([^"]*)"', result))
    return result


def test_a_file_is_shown_with_its_lines_highlighted(code: Client) -> None:
    view = code.view_file(NAME, "a.py", (50, 51))
    result = html(view)
    assert result.count("class=sl-here") == 2
    assert f"lines 40 to 61 of 99 at {view.commit[:10]}" in unescape(result)
    assert f'href="https://github.com/evil/lamp/blob/{view.commit}/a.py#L50"' in result
    assert [line for line in repr(view).splitlines() if line.startswith(">")] == [
        "> 50 new <script>alert(1)</script> <img src=x onerror=alert(1)> ␛[31m ⟨U+202E⟩ [x](javascript:alert(1))",
        "> 51 line 51",
    ]
    assert (len(view), len(view.lines)) == (99, 99)
    assert view.links[0].words == "GitHub"


def test_a_file_without_lines_to_highlight_begins_at_its_beginning(code: Client) -> None:
    assert "lines 1 to 60 of 99" in html(code.view_file(NAME, "a.py"))
    assert "1 line" in html(code.view_file(NAME, "b<i>.txt"))
    assert "an empty file" in html(code.view_file(NAME, "empty"))
    assert "lines 89 to 99 of 99" in html(code.view_file(NAME, "a.py", 99))
    assert "lines 90 to 100 of 100" in html(code.view_file(NAME, "a.py", 100, revision="HEAD~1"))


@pytest.mark.parametrize("lines", [0, (5, 4), (1, 2, 3), (0, 3), 100])
def test_lines_that_are_not_there_are_refused(code: Client, lines: Any) -> None:
    with pytest.raises(ToolError, match="view_file"):
        code.view_file(NAME, "a.py", lines)


def test_what_is_not_there_is_told(code: Client) -> None:
    with pytest.raises(PathNotFound):
        code.view_file(NAME, "absent")


def test_a_commit_is_shown_with_what_it_changed(code: Client) -> None:
    view = code.view_commit(NAME, "HEAD")
    result = html(view)
    assert "2 files" in result
    assert len(re.findall(r"<details open>", result)) == 2
    assert result.count("class=sl-added") == 1
    assert result.count("class=sl-removed") == 2
    assert "binary" in result
    assert "subject &lt;script&gt;" in result
    assert f'href="https://github.com/evil/lamp/commit/{view.head}"' in result
    assert repr(view).splitlines()[0] == f"{NAME}@{view.head[:10]}: 2 files, +1 \N{MINUS SIGN}2"
    assert view.files["patch"].notna().any()


def test_a_comparison_is_shown_alike(code: Client) -> None:
    view = code.view_diff(NAME, "HEAD~1", "HEAD")
    assert view.base != view.head
    assert html(view).count("class=sl-added") == 1
    assert "0 files" in html(code.view_diff(NAME, "HEAD", "HEAD"))


def test_lines_of_a_patch_are_numbered_as_git_numbers_them() -> None:
    patch = (
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@ def f\n a\n--b\n++c\n d\n\\ No newline at end of file\n"
    )
    results = [(c.side, c.old, c.new, c.text) for c in changes(patch)]
    assert results == [
        ("hunk", None, None, "@@ -3,3 +3,3 @@ def f"),
        ("context", 3, 3, "a"),
        ("removed", 4, None, "-b"),
        ("added", None, 4, "+c"),
        ("context", 5, 5, "d"),
        ("note", None, None, "No newline at end of file"),
    ]
    assert list(changes("Binary files a/x and b/x differ\n")) == []


def test_many_files_and_long_patches_say_how_many_there_are(tmp_path: Path) -> None:
    repository = RepositoryBuilder(tmp_path / "src" / "big")
    repository.commit({"x": "x\n"}, "begin")
    repository.commit({f"f{n:02}": "y\n" * (500 if n == 0 else 1) for n in range(25)}, "more")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as client:
        view = client.view_commit("big", "HEAD")
        result = view._repr_mimebundle_()["text/html"]
    assert "20 of 25 files" in result
    assert "and 5 more files" in result
    assert "400 of 501 lines" in result
    assert result.count("<details>") == 20


def test_views_can_be_awaited_too() -> None:
    assert AsyncClient.view_file.__doc__ == Client.view_file.__doc__


FILTERS = (
    SuggestedFilter("repo:^r1$", "org/r1", 20, True, "repo"),
    SuggestedFilter("lang:go", f"Go {HOSTILE}", 15, False, "lang"),
    SuggestedFilter("lang:python", "Python", 5, True, "lang"),
    SuggestedFilter("-file:_test", "no tests", 3, True, "file"),
)


@pytest.mark.parametrize("query", ["foo", "foo or bar", "a b or c", ""])
@pytest.mark.parametrize("positions", [(0,), (1, 2), (0, 1, 3), (1, 2, 3)])
def test_what_is_ticked_narrows_every_alternative(query: str, positions: tuple[int, ...]) -> None:
    text = add_facets(query, [FILTERS[position] for position in positions])
    for alternative in parse(text).plan:
        assert (alternative.first("repo") is not None) == (0 in positions)
        assert (alternative.first("lang") is not None) == bool({1, 2} & set(positions))
    assert add_facets(query, []) == query


def test_facets_are_ticked_in_the_panel_and_searched_for() -> None:
    from sourcelight.core.wire.events import Filters

    backend = ScriptedBackend([*COMPLETE[:2], Filters(FILTERS), *COMPLETE[3:]])
    panel = Client(backend).search("foo").facets()
    messages: list[Any] = []
    panel.send = lambda content, buffers=None: messages.append(json.loads(json.dumps(content)))  # noqa: ARG005
    say(panel, {"kind": "facets"})
    assert [group["title"] for group in messages[-1]["groups"]] == [
        "Repository",
        "Language",
        "File (matches left out)",
    ]
    assert not {"\x1b", "\u202e"} & set(json.dumps(messages, ensure_ascii=False) + repr(panel))
    panel.set_state({"selected": [1, 2, 99, 1]})  # as the page ticks
    assert (messages[-1]["query"], panel.query) == ("(lang:go or lang:python) foo",) * 2
    assert panel.search().query == panel.query
    assert backend.requests[-1].query == panel.query
    assert panel.choose("repo:^r1$") == "repo:^r1$ foo"
    assert "       15+ lang:go" in repr(panel)
    state = json.dumps({name: value for name, value in panel.get_state().items() if name not in {"_esm", "_css"}})
    assert "org/r1" not in state


def test_files_and_commits_are_colored(tmp_path: Path) -> None:
    from sourcelight.testing import RepositoryBuilder

    builder = RepositoryBuilder(tmp_path / "paint")
    text = 'def one():\n    """Two\n    if three\n    """\n    return "<b>"  # four\n'
    commit = builder.commit({"a.py": text, "b.unknown": "return 1\n"}, message="colors")
    with sl.open(tmp_path, index_dir=tmp_path / ".index", progress=False) as code:
        name = code.list_repos()["repository"][0]
        displayed = code.view_file(name, "a.py", 5)._repr_mimebundle_()["text/html"]
        html = code.view_file(name, "b.unknown")._repr_mimebundle_()["text/html"]
        diff = code.view_commit(name, commit)._repr_mimebundle_()["text/html"]
    for page in (displayed, diff):
        assert '<span class="sl-k">def</span> one():' in page
        assert '<span class="sl-s">&quot;&lt;b&gt;&quot;</span>' in page
        assert '<span class="sl-c"># four</span>' in page
    assert '<span class="sl-s">    if three</span>' in displayed, "a string over several lines"
    assert "<td><pre>return 1</pre></td>" in html


def test_exports_keep_the_indentation_of_code(tmp_path: Path) -> None:
    from bs4 import BeautifulSoup

    from sourcelight.testing import RepositoryBuilder

    builder = RepositoryBuilder(tmp_path / "deep")
    commit = builder.commit({"a.py": "def one():\n    if True:\n\t  return   None\n"}, message="indent")
    with sl.open(tmp_path, index_dir=tmp_path / ".index", progress=False) as code:
        name = code.list_repos()["repository"][0]
        views: list[Any] = [code.view_file(name, "a.py"), code.view_commit(name, commit), code.search("return")]
        pages = [view._repr_mimebundle_()["text/html"] for view in views]
    for page in pages:
        # As nbconvert reads and writes the pages of notebooks.
        exported = str(BeautifulSoup(page, features="html.parser"))
        lines = [element.get_text() for element in BeautifulSoup(exported, "html.parser").find_all("pre")]
        assert "\t  return   None" in lines


def test_changes_of_a_notebook_are_shown_by_cells(tmp_path: Path) -> None:
    def notebook(*sources: str, count: int = 1) -> str:
        cells = [
            {"cell_type": "code", "execution_count": count, "metadata": {}, "outputs": [], "source": source}
            for source in sources
        ]
        content = {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}
        return json.dumps(content, indent=1)

    builder = RepositoryBuilder(tmp_path / "lamp", origin=f"https://{NAME}.git")
    builder.commit({"a.ipynb": notebook("import a", f"x = 1\n{HOSTILE}\ny = 2"), "run.ipynb": notebook("a")}, "begin")
    builder.commit(
        {"a.ipynb": notebook("import a", f"x = 5\n{HOSTILE}\ny = 2"), "run.ipynb": notebook("a", count=2)}, "go on"
    )
    with sl.open(tmp_path) as code:
        for view in (code.view_commit(NAME, "HEAD"), code.view_diff(NAME, "HEAD~1", "HEAD")):
            text = unescape(re.sub("<[^>]*>", " ", html(view)))
            assert "Cell 2 (code)" in text
            assert "1 cell unchanged" in text
            assert "no cell changed" in text
            assert "execution_count" not in text
            assert view.files["patch"].str.contains("execution_count").all()  # the table has git's
        first = unescape(html(code.view_commit(NAME, "HEAD~1")))
    assert first.count("Cell 1 (code), added") == 2
