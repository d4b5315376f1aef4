"""Tables of answers in a real browser: they fit the page, without scrolling sideways, and nothing in them is cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import sourcelight as sl
from browser import lab
from sourcelight.display.notebook.frame_views import links_of
from sourcelight.display.notebook.frame_views.table import frame_html
from sourcelight.testing import RepositoryBuilder

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium"),
]
PAGE_PX = 960
"""Width that a cell's output has in a window of 1,100 px."""
NAME = "github.com/an-organization/a-repository"
PEOPLE = (
    "Ada Lovelace of the Analytical Engine <12345678+ada-lovelace@users.noreply.github.com>",
    "Bob <bob@example.org>",
)
PATH = "src/engine/with/several/folders/a_module_with_a_rather_long_name_of_its_own.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose names, paths, lines and addresses are as long as real ones."""
    folder = tmp_path_factory.mktemp("tables")
    builder = RepositoryBuilder(folder / "one", origin=f"https://{NAME}.git")
    for step in range(8):
        builder.commit(
            {
                PATH: f"import os\n\n\ndef needle(first_argument, second_argument={step}, third={'x' * 60!r}):\n"
                f"    return os.path.join(first_argument, {'second_argument, ' * 8})\n\n\n"
                f"def caller():\n    return needle({step})\n",
                f"docs/{step}.md": "a needle\n",
                "docs/all_of_the_needles_that_there_are_in_this_repository.md": f"{step} needles\n",
            },
            message=f"Change what the needle does with its arguments, so that callers need not ({step})",
            author=PEOPLE[step % 2],
            date=1_704_456_000 + step * 86_400,
        )
    return folder


FRAMES: dict[str, Callable[[sl.Client], object]] = {
    "matches": lambda code: code.search("needle count:all").matches,
    "blame of matches": lambda code: code.search("needle count:all").matches.code.blame(),
    "context": lambda code: code.search("needle count:all").matches.code.context(),
    "links": lambda code: code.search("needle count:all").matches.code.link(),
    "last changes of matches": lambda code: code.search("needle count:all").with_last_change(),
    "groups": lambda code: code.search(r"/def (?P<function>\w+)/ count:all").matches.code.groups(),
    "diff lines": lambda code: code.search("type:diff needle count:all").matches,
    "comparison": lambda code: sl.compare_results(code.search("@HEAD~4 needle"), code.search("needle")),
    "keyword_search": lambda code: code.keyword_search("needle"),
    "commit_search": lambda code: code.commit_search(),
    "diff_search": lambda code: code.diff_search("needle"),
    "compare_revisions": lambda code: code.compare_revisions(NAME, "HEAD~3", "HEAD"),
    "blame": lambda code: code.blame(NAME, PATH),
    "ownership": lambda code: code.ownership(NAME, by="directory"),
    "bus_factor": lambda code: code.bus_factor(NAME),
    "contributors": lambda code: code.contributors(),
    "churn": lambda code: code.churn(by=["directory", "year"]),
    "pickaxe": lambda code: code.pickaxe("needle", by="month"),
    "hotspots": lambda code: code.hotspots(),
    "coupling": lambda code: code.coupling(min_commits=2, min_degree=0.1),
    "identities": lambda code: code.identities(),
    "symbols": lambda code: code.symbols(NAME),
    "imports": lambda code: code.imports(NAME),
    "callers": lambda code: code.callers(NAME, PATH, "needle"),
    "repo_map": lambda code: code.repo_map(NAME),
    "citations": lambda code: code.deepsearch("How does the needle use its arguments?").citations,
}


def test_tables_of_answers_fit_a_page_of_960_px(code: sl.Client, tmp_path: Path) -> None:
    tables = {name: make(code) for name, make in FRAMES.items()}
    assert all(len(frame) for frame in tables.values()), [name for name, frame in tables.items() if not len(frame)]  # type: ignore[arg-type]
    results = {
        "result": code.search("needle count:all"),
        "diffs": code.search("type:diff needle count:all"),
        "many": code.search_many({"a needle": "needle", "a caller": "caller"}),
    }
    sections = {name: frame_html(frame, links_of) for name, frame in tables.items()}
    sections |= {name: result._repr_mimebundle_()["text/html"] for name, result in results.items()}
    body = "".join(f'<section data-name="{name}">{html}</section>' for name, html in sections.items())
    page_path = tmp_path / "tables.html"
    page_path.write_text(
        f'<!doctype html><meta charset="utf-8"><body style="margin:0;width:{PAGE_PX}px;font:13px sans-serif">{body}',
        "utf-8",
    )
    with lab.chromium_page(width=1100) as page:
        page.goto(page_path.as_uri())
        wide = page.evaluate(
            """() => Object.fromEntries([...document.querySelectorAll('section')].map(section => [section.dataset.name,
            Math.max(...[...section.querySelectorAll('.sl-scroll')].map(box => box.scrollWidth - box.clientWidth))]))"""
        )
    assert wide.keys() == sections.keys()
    assert {name: pixels for name, pixels in wide.items() if pixels > 1} == {}
