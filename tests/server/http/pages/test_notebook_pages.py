"""Notebooks on the pages of a service: files and results show cells, links lead to them, and nothing in them acts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from git_output import git
from server.http.pages.test_search_page import ACT, acting_parts, get, text_of
from server.running_service import Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.repos import ServicePolicy
from sourcelight.repos.state import State
from sourcelight.server.http.settings import Settings
from sourcelight.testing import RepositoryBuilder

NAME, SECRET = "example.org/acme/web", "example.org/acme/payments"
BLOB = f"/{NAME}/-/blob"


def cell(kind: str, source: Any, *outputs: dict[str, Any]) -> dict[str, Any]:
    code = {"execution_count": 1, "outputs": list(outputs)} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source, **code}


def notebook(*cells: dict[str, Any], **options: Any) -> str:
    content = {"cells": list(cells), "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}
    return json.dumps(content, **{"indent": 1, "sort_keys": True} | options)


TRACE = {"output_type": "error", "ename": "E", "evalue": "bad", "traceback": ["\x1b[0;31mNameError\x1b[0m: lamp"]}
IMAGE = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "QUJD" * 50, "text/html": ACT}}
LAMP = notebook(
    cell("markdown", ["# Lamp\n", f"{ACT} ![p](https://evil.example/p.png) [x](javascript:alert(1))"]),
    cell("code", ["import lamp\n", f"lamp.light('{ACT}')  # needle"], TRACE, IMAGE),
    cell("raw", ["raw"]),
)
FILES = {
    "lamp.ipynb": LAMP,
    "line.ipynb": notebook(cell("code", "first\nneedle = 1\nlast"), cell("code", "other"), indent=None),
    "string.ipynb": notebook(cell("code", "first\nneedle = 1\nlast"), cell("code", ["other"])),
    "broken.ipynb": '{"cells": [',
    "long.ipynb": notebook(*(cell("code", [f"x{number} = {number}"]) for number in range(6000))),
    "wide.ipynb": notebook(*(cell("code", ["y" * 100_000]) for _ in range(30))),
    "report.qmd": "---\ntitle: x\n---\n\nText\n\n```{r}\nx <- TRUE\n```\n\n```{python}\nneedle = 'a'\n```\nEnd\n",
    "pair.py": "# %% [markdown]\n# Text\n\n# %%\nneedle = 1\n",
    "plain.py": "needle = 1\n",
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    folder = tmp_path_factory.mktemp("notebooks")
    web = RepositoryBuilder(folder / "web", origin=f"https://{NAME}.git")
    web.commit({"lamp.ipynb": LAMP.replace("needle", "thread")}, "begin")
    web.commit(FILES, "go on")
    RepositoryBuilder(folder / "pay", origin=f"https://{SECRET}.git").commit({"b.ipynb": LAMP}, "pay")
    (folder / "repos.toml").write_text(
        f'[repositories."{SECRET}"]\nprivate = true\n[repositories."{NAME}"]\nprivate = false\n'
    )
    return web


@pytest.fixture(scope="module")
def service(repository: RepositoryBuilder) -> Iterator[Service]:
    folder = repository.path.parent
    with State() as state:
        policy = ServicePolicy(state.repositories, "", ())
        engine = open_engine([folder], index=folder / "index", policy=policy, workers=1)
        with running(engine, Settings(auth_public=True), state=state) as service:
            yield service
        engine.close()


def rows_of(page: str) -> list[tuple[str, str]]:
    """The number and the text of each row of the page's table."""
    table = page.partition('<table class="lines"')[2].partition("</table>")[0]
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)]
    return [(text_of(row[0]), text_of(row[-1])) for row in cells]


def marked_anchors(page: str) -> list[str]:
    """The identifiers of the links in marked rows."""
    return re.findall(r'<tr [^>]*class="hit[^>]*><td><a id="([^"]*)"', page)


def file_line(path: str, text: str) -> int:
    return next(number for number, line in enumerate(FILES[path].split("\n"), 1) if text in line)


def test_a_notebook_is_shown_by_its_cells(service: Service) -> None:
    page = get(service, f"{BLOB}/lamp.ipynb").text
    assert rows_of(page) == [
        ("", "Cell 1 (markdown)"),
        ("1", "# Lamp"),
        ("2", f"{ACT} ![p](https://evil.example/p.png) [x](javascript:alert(1))"),
        ("", "Cell 2 (code, Python)"),
        ("1", "import lamp"),
        ("2", f"lamp.light('{ACT}')  # needle"),
        ("", "Cell 2 (output)"),
        ("1", "bad"),
        ("2", "NameError: lamp"),
        ("", "Cell 3 (raw)"),
        ("1", "raw"),
    ]
    assert '<span class="sl-k">import</span> lamp' in page
    assert "3 cells, 7 lines" in page
    assert acting_parts(page) == ["script"]
    assert "QUJD" not in page


def test_a_line_of_the_file_marks_the_line_of_the_cell(service: Service) -> None:
    number = file_line("lamp.ipynb", "needle")
    page = get(service, f"{BLOB}/lamp.ipynb?L{number}").text
    assert marked_anchors(page) == ["cell-2-L2"]
    assert f'<tr id="L{number}"' in page
    assert "1 line highlighted" in page
    # The lines of a source in one string are one line of the file; of a notebook on one line it says nothing.
    page = get(service, f"{BLOB}/string.ipynb?L{file_line('string.ipynb', 'needle')}").text
    assert marked_anchors(page) == ["cell-1-L1", "cell-1-L2", "cell-1-L3"]
    page = get(service, f"{BLOB}/line.ipynb?L1").text
    assert not marked_anchors(page)
    assert 'id="cell-1-L2"' in page
    identifiers = re.findall(r'\bid="([^"]*)"', page)
    assert len(identifiers) == len(set(identifiers))


def test_the_lines_of_the_file_are_one_link_away(service: Service) -> None:
    number = file_line("lamp.ipynb", "needle")
    page = get(service, f"{BLOB}/lamp.ipynb?L{number}").text
    address = next(unescape(href) for href in re.findall(r'href="([^"]*)">Lines of the file<', page))
    lines_page = get(service, address).text
    assert [text for _, text in rows_of(lines_page)] == LAMP.split("\n")
    assert f'<tr id="L{number}" class=hit>' in lines_page
    assert f'?L{number}">Cells</a>' in lines_page
    # Without a cell there is nothing else to show.
    page = get(service, f"{BLOB}/lamp.ipynb?L1").text
    assert "The highlighted lines are in no cell" in page
    assert '<tr id="L1" class=hit>' in page
    page = get(service, f"{BLOB}/broken.ipynb").text
    assert "The cells can't be shown" in text_of(page)
    assert rows_of(page) == [("1", FILES["broken.ipynb"])]


def test_many_and_long_cells_are_bounded(service: Service) -> None:
    page = get(service, f"{BLOB}/long.ipynb").text
    assert "cells 1 to 5,000 shown" in page
    assert page.count('class="code"') == 5000
    page = get(service, f"{BLOB}/long.ipynb?cell=5500").text
    assert "cells 5,500 to 6,000 shown" in page
    page = get(service, f"{BLOB}/long.ipynb?L{file_line('long.ipynb', 'x5999 ')}").text
    assert marked_anchors(page) == ["cell-6000-L1"]
    page = get(service, f"{BLOB}/wide.ipynb").text
    assert len(page) < 500_000
    assert "truncated: 100,000 characters" in page
    assert "cells 1 to 20 shown" in page


def test_blame_is_that_of_the_lines_of_the_file(service: Service, repository: RepositoryBuilder) -> None:
    page = get(service, f"{BLOB}/lamp.ipynb?blame=1").text
    porcelain = git(repository.path, "blame", "--line-porcelain", "HEAD", "--", "lamp.ipynb")
    commits = dict(re.findall(r"^([0-9a-f]{40}) \d+ (\d+)", porcelain, re.MULTILINE)[::-1])
    number = file_line("lamp.ipynb", "needle")
    needle_commit = next(commit for commit, line in commits.items() if line == str(number))
    row = page.partition(f'<tr id="L{number}"')[2].partition("</tr>")[0]
    assert f"/-/commit/{needle_commit}" in row


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        (
            "report.qmd",
            [
                ("", "Cell 1 (raw)"), ("1", "---"), ("2", "title: x"), ("3", "---"),
                ("", "Cell 2 (markdown)"), ("4", ""), ("5", "Text"), ("6", ""),
                ("", "Cell 3 (code, R)"), ("7", "```{r}"), ("8", "x <- TRUE"), ("9", "```"), ("10", ""),
                ("", "Cell 4 (code, Python)"), ("11", "```{python}"), ("12", "needle = 'a'"), ("13", "```"),
                ("", "Cell 5 (markdown)"), ("14", "End"),
            ],
        ),
        (
            "pair.py",
            [
                ("", "Cell 1 (markdown)"), ("1", "# %% [markdown]"), ("2", "# Text"), ("3", ""),
                ("", "Cell 2 (code, Python)"), ("4", "# %%"), ("5", "needle = 1"),
            ],
        ),
        ("plain.py", [("1", "needle = 1")]),
    ],
)  # fmt: skip
def test_a_text_notebook_has_a_heading_above_each_cell(service: Service, path: str, rows: list[Any]) -> None:
    page = get(service, f"{BLOB}/{path}").text
    assert rows_of(page) == rows
    if path == "report.qmd":
        assert '<span class="sl-k">TRUE</span>' in page
        assert '<span class="sl-s">&#x27;a&#x27;</span>' in page


@pytest.mark.parametrize("query", ["needle", "needle cell:code", "needle cell:any"])
def test_results_show_cells_and_lead_to_them(service: Service, query: str) -> None:
    page = get(service, "/search", q=f"{query} file:lamp", wait="1").text
    lines = rows_of(page)
    assert lines[0][1] == "Cell 2 (code)"
    assert lines[-1] == ("2", f"lamp.light('{ACT}')  # needle")
    address = unescape(re.findall(r'<tr class=hit><td><a href="([^"]*)"', page)[0])
    path, _, anchor = address.partition("#")
    assert anchor == "cell-2-L2"
    assert marked_anchors(get(service, path).text) == [anchor]
    assert acting_parts(page) == ["script"]


def test_code_in_a_notebook_has_the_colors_of_its_language(service: Service) -> None:
    page = get(service, "/search", q="import file:lamp", wait="1").text
    assert '<mark><span class="sl-k">import</span></mark> lamp' in page
    page = get(service, "/search", q="Lamp case:yes file:lamp", wait="1").text
    assert "# <mark>Lamp</mark>" in page  # prose has none


@pytest.mark.parametrize("query", ["type:diff needle file:lamp", "type:diff needle cell:code file:lamp"])
def test_changed_lines_in_results_show_cells(service: Service, query: str) -> None:
    page = get(service, "/search", q=query, wait="1").text
    diff = page.partition('<pre class="diff"')[2].partition("</pre>")[0]
    heading, _, line = diff.partition("</span>")
    assert heading.endswith("lamp.ipynb, cell 2 (code)")
    assert text_of(line).split() == ["2", *f"+lamp.light('{ACT}') # needle".split()]
    assert acting_parts(page) == ["script"]


def test_a_result_in_a_notebook_on_one_line_leads_to_the_cell(service: Service) -> None:
    page = get(service, "/search", q="needle cell:code file:line.ipynb", wait="1").text
    assert ("2", "needle = 1") in rows_of(page)
    path, _, anchor = unescape(re.findall(r'<tr class=hit><td><a href="([^"]*)"', page)[0]).partition("#")
    assert f'id="{anchor}"' in get(service, path).text


@pytest.mark.parametrize("address", ["commit/HEAD", "compare/HEAD~1...HEAD", "compare/?base=HEAD~1&head=HEAD"])
def test_changes_of_a_notebook_are_shown_by_cells(service: Service, address: str) -> None:
    page = get(service, f"/{NAME}/-/{address}").text
    changes = page.partition('aria-label="Changed cells of lamp.ipynb"')[2].partition("</div>")[0]
    lines = re.findall(r"<tr(?: class=\"?(\w+)\"?)?><td>(\d*)</td><td>(\d*)</td><td>(.*?)</td></tr>", changes)
    assert [(kind, old, new, text_of(text)) for kind, old, new, text in lines] == [
        ("hunk", "", "", "Cell 2 (code)"),
        ("", "1", "1", " import lamp"),
        ("del", "2", "", f"-lamp.light('{ACT}')  # thread"),
        ("add", "", "2", f"+lamp.light('{ACT}')  # needle"),
    ]
    assert "2 cells unchanged" in page
    # What can't be read, or isn't worth it, has its patch.
    assert 'aria-label="Changes of broken.ipynb"' in page
    assert acting_parts(page) == ["script"]
    lines_url = next(unescape(href) for href in re.findall(r'href="([^"]*)">Lines of the file<', page))
    lines_page = get(service, lines_url).text
    assert 'aria-label="Changes of lamp.ipynb"' in lines_page
    assert "Changed cells" not in lines_page


def test_a_private_notebook_is_as_one_that_is_not_there(service: Service) -> None:
    for query in ("", "?view=lines", "?cell=2", "?L3"):
        secret, absent = (get(service, f"/{name}/-/blob/b.ipynb{query}") for name in (SECRET, f"{SECRET}x"))
        assert (secret.status_code, absent.status_code) == (404, 404)
        assert secret.text == absent.text.replace("paymentsx", "payments")
