"""Both reports of a hostile repository, opened in a browser: everything is text, and nothing runs."""

from __future__ import annotations

import os
import re
import sys
from html import unescape
from pathlib import Path

import pytest

import sourcelight as sl
from browser import lab
from sourcelight.lab.reports.pdf import print_page
from sourcelight.testing import RepositoryBuilder

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium"),
]

SCRIPT = "<script>document.title='ran'</script>"
IMAGE = "<img src=x onerror=document.title='ran'>"
AUTHOR = "=cmd() \u202egnp.exe\u202c [a](javascript:document.title='ran') <mallory@example.org>"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Pages of both reports on tags, formulas, reversed text and control sequences in every place that takes text."""
    folder = tmp_path_factory.mktemp("hostile")
    repo = RepositoryBuilder(folder / "src" / "demo", origin="https://github.com/example/demo")
    repo.commit({"a.txt": "one\n"}, "begin")
    repo.tag("v1")
    red = f"{SCRIPT}\x1b[31m red"
    repo.commit({f"{IMAGE}.txt": SCRIPT, "'\"><b>.py": "x\n", "=1+1.csv": "y\n"}, red, author=AUTHOR)
    repo.commit({f"{IMAGE}.txt": "two\n", "$x$/`rm`.py": "z\n"}, f"{IMAGE} $\\alpha$ **bold**", author=AUTHOR)
    for number in range(40):
        repo.commit(
            {f"lib/{number}.py": "z\n"},
            f"Add number {number} (#{number})",
            author=f"P{number} <{number}@example.org>",
        )
    repo.tag("v2")
    result = [folder / "contributors.html", folder / "changes.html"]
    with sl.open(folder / "src", index_dir=folder / "index", index_workers=1, background_index=False) as code:
        sl.reports.contributors(code, title=f"A report {SCRIPT}{IMAGE}").to_html(result[0])
        sl.reports.changes(code, "github.com/example/demo", "v1", "v2", title=f"A report {SCRIPT}{IMAGE}").to_html(
            result[1]
        )
    return result


def test_nothing_of_a_hostile_repository_runs_or_asks_the_network(pages: list[Path]) -> None:
    with lab.chromium_page() as page:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(str(request.url)))
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        for path in pages:
            page.goto(path.as_uri())
            assert page.title().startswith("A report <script>")
            assert page.locator("script, b b, td img, td b, li img").count() == 0
            links = page.locator("a").evaluate_all("found => found.map(a => a.href)")
            assert links
            assert {link.partition("example/demo/")[0] for link in links} == {"https://github.com/"}
            assert page.locator("td", has_text="onerror").count() > 0
            assert page.locator("td", has_text="cmd()").count() > 0
            text = str(page.locator("body").text_content())
            assert not {"\x1b", "\u202e"} & set(text)
            widths = page.locator("figure svg").evaluate_all("found => found.map(s => s.getBoundingClientRect().width)")
            inside = page.locator("figure").evaluate_all("found => found.map(f => f.getBoundingClientRect().width)")
            assert len(widths) >= 4
            assert min(width / outer for width, outer in zip(widths, inside, strict=True)) > 0.9
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def test_a_report_fits_into_a_narrow_window(tmp_path: Path) -> None:
    """Names of repositories in its title went beyond the edge."""
    RepositoryBuilder(tmp_path / "src" / "demo").commit({"a.txt": "one\n"}, "begin")
    with sl.open(tmp_path / "src") as code:
        title = "Contributors to code.example.org/departments/infrastructure/a-long-name"
        sl.reports.contributors(code, title=title).to_html(tmp_path / "report.html")
    with lab.chromium_page(width=360) as page:
        page.goto((tmp_path / "report.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_table_wider_than_its_page_has_a_shadow_where_more_columns_are(pages: list[Path], scheme: str) -> None:
    """Systems that hide scroll bars showed nothing of the columns beyond the edge."""
    with lab.chromium_page(width=500) as page:
        page.emulate_media(color_scheme=scheme)
        page.goto(pages[0].as_uri())
        wide = page.locator(".sl-wide").first
        assert wide.evaluate("box => box.scrollWidth > box.clientWidth + 50")
        # Without its table, whose texts would be compared too.
        wide.evaluate("box => { box.firstChild.style.visibility = 'hidden'; }")
        start = wide.screenshot()
        wide.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
        end = wide.screenshot()
        wide.evaluate("box => { box.style.background = 'none'; }")
        bare = wide.screenshot()
    edges = [_has_shadows(image, bare) for image in (start, end)]
    assert edges == [(False, True), (True, False)]


def _has_shadows(image: bytes, bare: bytes) -> tuple[bool, bool]:
    """Whether the left and the right edge differ from the ground."""
    import io

    from PIL import Image, ImageChops

    both = [Image.open(io.BytesIO(data)).convert("RGB") for data in (image, bare)]
    width, height = both[0].size
    difference = ImageChops.difference(*both)
    boxes = (0, 0, 4, height // 2), (width - 4, 0, width, height // 2)
    left, right = (max(difference.crop(box).convert("L").tobytes()) > 20 for box in boxes)
    return left, right


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_number_and_no_time_is_broken_across_lines(pages: list[Path], scheme: str) -> None:
    with lab.chromium_page() as page:
        page.emulate_media(color_scheme=scheme)
        for path in pages:
            page.goto(path.as_uri())
            heights = page.locator("td.sl-n, td.sl-w").evaluate_all(
                "cells => cells.map(c => c.firstChild ? (r => (r.selectNodeContents(c), "
                "new Set([...r.getClientRects()].map(box => Math.round(box.top))).size))"
                "(document.createRange()) : 1)"
            )
            assert heights
            assert max(heights) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_follow_the_scheme_of_the_reader(pages: list[Path], scheme: str) -> None:
    with lab.chromium_page() as page:
        page.emulate_media(color_scheme=scheme)
        for path in pages:
            page.goto(path.as_uri())
            colors = page.locator("figure svg path").evaluate_all("found => found.map(p => getComputedStyle(p).fill)")
            assert ("rgb(21, 24, 28)" in colors) == (scheme == "dark")
            assert ("rgb(255, 255, 255)" in colors) == (scheme == "light")


def test_printed_pages_have_numbers_and_end_with_no_heading(pages: list[Path], tmp_path: Path) -> None:
    pdfium = pytest.importorskip("pypdfium2")
    for path in pages:
        html = path.read_text(encoding="utf-8")
        document = pdfium.PdfDocument(print_page(html, tmp_path / "report.pdf"))
        texts = [page.get_textpage().get_text_bounded() for page in document]
        assert len(texts) >= 3
        headings = {
            unescape(re.sub("<[^>]*>", "", text)).strip() for text in re.findall(r"<h[123][^>]*>(.*?)</h[123]>", html)
        }
        for number, text in enumerate(texts, 1):
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            foot = f"Page {number} of {len(texts)}"
            assert foot in text
            body = [line for line in lines if foot not in line and not line.startswith("A report <script>")]
            assert body[-1] not in headings
        everything = "".join(texts)
        assert SCRIPT in everything.replace("\r\n", "")
        assert not {"\x1b", "\u202e"} & set(everything)


def test_figures_are_dark_in_a_dark_jupyterlab(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "demo")
    repo.commit({"a.py": "one\n"}, "begin")
    cell = (
        "import sourcelight as sl\n"
        f"code = sl.open({str(tmp_path / 'src')!r}, index_dir={str(tmp_path / 'index')!r},"
        " index_workers=1, background_index=False)\n"
        "report = sl.reports.contributors(code, progress=False)"
    )
    lab.write_notebook(tmp_path / "report.ipynb", [cell, "report", "report.figure('activity')"])
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "SOURCELIGHT_HOME": str(tmp_path / "home")}
    with (
        lab.shared_lab(tmp_path, environment, dark=True) as address,
        lab.chromium_page(width=1200, height=900) as page,
    ):
        lab.open_notebook(page, address, "report.ipynb")
        for number in range(3):
            lab.run_cell(page, number)
            lab.wait_for_cell(page, number)
        for number in (1, 2):
            output = page.locator(".jp-CodeCell").nth(number).locator(".jp-OutputArea-output")
            output.locator("figure svg path").first.wait_for(state="attached")
            colors = output.locator("figure svg path").evaluate_all("found => found.map(p => getComputedStyle(p).fill)")
            assert "rgb(21, 24, 28)" in colors
            assert "rgb(255, 255, 255)" not in colors
            background = output.locator("figure").first.evaluate("f => getComputedStyle(f).backgroundColor")
            assert background == "rgb(21, 24, 28)"


@pytest.mark.parametrize("width", [1000, 1280])
def test_tables_of_a_story_fit_a_narrow_window(tmp_path: Path, width: int) -> None:
    """No table scrolls sideways, and the reasons of commits have room."""
    repo = RepositoryBuilder(tmp_path / "src" / "demo")
    text = "".join(f"line {number}\n" for number in range(20))
    reason = "The former name said nothing about what it is for, and nobody found it again. " * 4
    path = ""
    for number in range(4):
        earlier, path = path, f"packages/component_{number}/source/implementation_{number}.py"
        files = {earlier: None, path: text} if earlier else {path: text}
        author = f"Adriana Someone-Lastname{number} <adriana{number}@department.example.org>"
        repo.commit(files, f"Move the implementation, part {number} of 4 (#{number})\n\n{reason}", author=author)
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        stories = [sl.reports.file(code, "demo", path), sl.reports.directory(code, "demo", "packages")]
        for number, story in enumerate(stories):
            story.to_html(tmp_path / f"{number}.html")
    with lab.chromium_page(width=width) as page:
        for number in range(len(stories)):
            page.goto((tmp_path / f"{number}.html").as_uri())
            overflow = "all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.ariaLabel)"
            assert page.locator(".sl-wide").evaluate_all(overflow) == []
            reasons = page.locator("td div.sl-about")
            assert reasons.count() == 4
            assert str(reasons.first.text_content()).startswith("The former name said nothing about what it is for, ")
            assert min(reasons.evaluate_all("all => all.map(e => e.getBoundingClientRect().width)")) > 180
