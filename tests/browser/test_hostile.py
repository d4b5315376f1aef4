"""Nothing that stands in a repository acts on whoever looks at it: views, pages, terminals, files.

Every view of a repository that attacks each of them is loaded in a browser as the notebook loads it: as live HTML,
without any policy that would stop a script.
"""

from __future__ import annotations

import csv
import html
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import markdown
import pytest

import sourcelight as sl
from browser import hostile, lab
from browser.hostile import ACT, BRANCH, CONTROLS, NAME, PATHS
from server.loopback_tls import TLS
from server.running_service import TOKEN, running
from sourcelight.backends.embedded import open_engine
from sourcelight.cli import main
from sourcelight.display.notebook.progress_drawing import progress_html
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import Viewer
from sourcelight.repos.state import ScryptCost, State

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium"),
]
QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "text": ("light count:all", {}),
    "chunks": ("light count:all", {"context_lines": 3}),
    "paths": ("type:path .", {}),
    "repositories": ("type:repo img", {}),
    "definitions": ("type:symbol light_the_lamp", {}),
    "commits": ("type:commit light", {}),
    "changed lines": ("type:diff lamp", {}),
    "query": (f"content:{json.dumps(ACT)}", {}),
    "nothing": ("no_such_word_is_here", {}),
}


@dataclass
class Views:
    """What is shown: HTML and Markdown by name, pandas' own HTML, texts for terminals, and files."""

    html: dict[str, str] = field(default_factory=dict)
    frames: dict[str, str] = field(default_factory=dict)
    text: dict[str, str] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)

    def take(self, name: str, view: Any) -> None:
        """Every form of an object that a front end may choose."""
        bundle = getattr(view, "_repr_mimebundle_", None)
        result = bundle() if bundle is not None else {}
        data = result[0] if isinstance(result, tuple) else result or {}
        for kind, method in (
            ("text/html", "_repr_html_"), ("text/markdown", "_repr_markdown_"), ("image/svg+xml", "_repr_svg_"),
        ):  # fmt: skip
            if kind not in data and getattr(view, method, None) is not None:
                data = {**data, kind: getattr(view, method)()}
        for kind, value in data.items():
            if kind in {"text/html", "image/svg+xml"} and value:
                self.html[f"{name}: {kind}"] = value
            elif kind == "text/markdown" and value:
                self.html[f"{name}: {kind}"] = markdown.markdown(value, extensions=["tables", "fenced_code"])
        self.text[name] = str(data.get("text/plain") or repr(view))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    hostile.build(folder / "src")
    return folder


@pytest.fixture(scope="module")
def code(folder: Path) -> Iterator[sl.Client]:
    with sl.open(folder / "src", index_dir=folder / "index", index_workers=1) as client:
        yield client


def _of_pandas(frame: Any) -> str:
    """What a notebook shows of a frame."""
    return str(frame._repr_html_())


def name_of(code: sl.Client) -> str:
    """The repository's name as the catalog has it."""
    return str(code.list_repos()["repository"].iloc[0])


@pytest.fixture(scope="module")
def views(code: sl.Client, folder: Path) -> Views:
    """Everything that shows a repository."""
    collection = Views()
    snapshots: list[Any] = []
    for name, (query, options) in QUERIES.items():
        result = code.search(query, progress=snapshots.append, **options)
        collection.take(name, result)
        frames = [getattr(result, kind) for kind in ("matches", "skipped", "filters", "repositories")]
        collection.frames[name] = "".join(map(_of_pandas, frames))
        result.to_csv(folder / f"{name}.csv", spreadsheet=True)
        collection.files.append(folder / f"{name}.csv")
    collection.take("many", code.search_many({ACT: "light", "other": "lamp"}))
    collection.take("explained", code.explain(f"light {ACT} repo:{ACT}"))
    collection.take(
        "answer", code.deepsearch("who wrote light_the_lamp and how is the lamp lit?", progress=snapshots.append)
    )
    assert code.last is not None
    collection.html["answer as a page"] = code.last.to_html()
    collection.html["answer as Markdown"] = markdown.markdown(code.last.to_markdown(), extensions=["fenced_code"])
    collection.frames["map"] = _of_pandas(code.repo_map(name_of(code)))
    for path in PATHS[:4]:
        collection.take(f"file {path}", code.view_file(name_of(code), path, (1, 3)))
    collection.take("commit", code.view_commit(name_of(code), "v2"))
    collection.take("comparison", code.view_diff(name_of(code), "v1", "v2"))
    matches = code.search("light count:all")
    for figure in (
        sl.plots.bars(matches),
        sl.plots.treemap(matches),
        sl.plots.ownership(code.ownership(name_of(code))),
    ):
        collection.html[f"figure {figure.name}"] = figure.to_svg()
        collection.text[f"figure {figure.name}"] = repr(figure)
    collection.take("facets", matches.facets())
    drawing = [progress_html(snapshot) for snapshot in snapshots]
    collection.html["progress"] = "".join(dict.fromkeys(drawing))
    for title, report in {
        "contributors": sl.reports.contributors(code, title=ACT, progress=False),
        "changes": sl.reports.changes(code, name_of(code), "v1", "v2", title=ACT, progress=False),
    }.items():
        collection.take(title, report)
        collection.html[f"{title} as a page"] = report.to_html()
        collection.html[f"{title} as Markdown"] = markdown.markdown(report.to_markdown(), extensions=["tables"])
        for name in report.figures:
            collection.take(f"{title}: {name}", report.figure(name))
        collection.files += [
            Path(path) for path in report.save_tables(folder / title, "csv") if str(path).endswith(".csv")
        ]
    return collection


def test_no_view_runs_a_script_or_asks_the_network(views: Views) -> None:
    assert len(views.html) > 20
    with lab.chromium_page() as page, hostile.judged(page) as judge:
        wrong = {name: problems for name, view in {**views.html, **views.frames}.items() if (problems := judge(view))}
        assert wrong == {}
        # The judge is right to be content: the same text unescaped does run.
        assert any("ran" in item for item in judge(f"<p>{ACT}</p>"))


def test_hostile_text_is_shown_and_hidden_characters_are_visible(views: Views) -> None:
    """A view that left the text out would be safe for the wrong reason."""
    displayed = "\n".join(views.html.values())
    for text in (ACT[:30], "javascript:window.ran", NAME):
        assert html.escape(text, quote=False)[3:20] in html.escape(html.unescape(displayed), quote=False)
    for name, text in {**views.text, **views.html}.items():
        assert not CONTROLS.search(text), (name, CONTROLS.search(text))


def test_the_explorer_shows_rows_and_runs_nothing(code: sl.Client) -> None:
    with lab.chromium_page() as page, hostile.judged(page) as judge:
        explorer = code.explore("light count:all")
        try:
            assert judge("") == []
            lab.show_explorer(page, explorer)
            page.get_by_text("light_the_lamp", exact=False).first.wait_for()
            page.keyboard.press("Tab")
            row = page.locator("[role=row]").nth(2)
            row.click()
            page.wait_for_timeout(300)
            assert judge.now() == []
            assert "window.ran" in str(page.locator("body").inner_text())
        finally:
            explorer.stop()


def test_no_page_of_a_service_needs_its_policy_to_be_safe(folder: Path) -> None:
    engine = open_engine([folder / "src"], index=folder / "index", workers=1)
    with (
        State(cost=ScryptCost(2, 1, 1)) as state,
        closing(ConversationService(state)) as desk,
        running(engine, state=state, conversations=desk) as service,
        sl.connect(service.url, TOKEN) as client,
        httpx2.Client(
            base_url=service.url, headers={"Authorization": f"token {TOKEN}"}, trust_env=False, verify=TLS
        ) as browser,
    ):
        context = ToolContext(engine, Viewer("owner", sees_private=True), conversations=desk)
        answer = desk.ask("who wrote light_the_lamp and how is the lamp lit", context).attributes
        name = name_of(client)
        commits = client.commit_search(name)["commit"].iloc[0]
        base = f"/{name}@{commits}/-"
        pages = [answer["url"], f"/{name}/-/commit/{commits}", f"{base}/tree/"]
        pages += [f"{base}/blob/{path}?L1-3" for path in PATHS]
        with lab.chromium_page() as page, hostile.judged(page) as judge:
            for address in pages:
                got = browser.get(quote(address, safe="/@-?="))
                assert got.status_code == 200, address
                assert "window.ran" in got.text, address
                # The service's own forms, each of a class; what a repository brings would be one more.
                forms = (
                    '<form class="search"',
                    '<form class="inline"',
                    f'<form method="post" action="{answer["url"]}"',
                )
                form_tags = ["FORM"] * sum(map(got.text.count, forms))
                assert len(form_tags) <= 3, address
                assert [item for item in judge(got.text) if "asked for" not in item] == form_tags, address


def test_terminals_get_no_control_characters(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    location = str(folder / "src")
    commands = (
        ("search", "light count:all", location), ("search", "type:commit light", location), ("repos", location),
        ("ask", "how is the lamp lit?", location), ("query", "explain", ACT, location),
        ("search", f"rev:{BRANCH} light", location), ("search", "/(/", location), ("index", "--status", location),
    )  # fmt: skip
    for command in commands:
        main(list(command))
        output = capsys.readouterr()
        assert not CONTROLS.search(output.out + output.err), command


def test_no_cell_of_an_exported_table_is_a_formula(views: Views) -> None:
    assert len(views.files) > 15
    cells = 0
    for path in views.files:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                for cell in row:
                    cells += 1
                    number = cell.lstrip("+-").replace(".", "", 1).replace("e-", "", 1).isdigit()
                    assert number or not cell.startswith(("=", "+", "-", "@", "\t", "\r")), (path.name, cell)
    assert cells > 500
