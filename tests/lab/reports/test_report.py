"""A report shows, drills down and is written whole, whatever a repository put into its names."""

from __future__ import annotations

import csv
import re
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

import sourcelight as sl
from core.markup.rendered_harm import COMMONMARK
from git_output import git
from sourcelight.lab import reports
from sourcelight.lab.plots.charts import period_bars, punch_card, size_histogram, stacked_bars
from sourcelight.lab.plots.figure import Figure
from sourcelight.lab.reports import Item, Listing, Metric, Report, ReportTable, Section
from sourcelight.lab.reports.answers import name_subject, notices_of
from sourcelight.lab.reports.pdf import find_browser
from sourcelight.testing import RepositoryBuilder

JANUARY, FEBRUARY, MARCH = (datetime(2024, month, 1, tzinfo=UTC) for month in (1, 2, 3))
HOSTILE = "<img src=x onerror=alert(1)>|$x$ [a](javascript:b) \u202e*c*"


@pytest.fixture
def report() -> Report:
    """A small report with a hostile author."""
    commits = pd.DataFrame(
        {
            "repository": ["r", "r", "s"],
            "commit": ["a" * 40, "b" * 40, "c" * 40],
            "author": ["Ada", HOSTILE, "Ada"],
            "additions": [1, 20, 300],
            "commit_date": pd.to_datetime(["2024-01-01T10:00Z", "2024-02-01T11:00Z", "2024-03-01T12:30Z"]),
        }
    )
    table = pd.DataFrame({"author": ["Ada", HOSTILE], "commits": [2, 1], "share": [2 / 3, 1 / 3]})
    return Report(
        f"Contributors of {HOSTILE}",
        (("repositories", "r, s"),),
        (
            Metric("commits", 3, "Commits that a branch reaches.", source="commits"),
            Metric("commits by Ada", 2, "Commits by Ada.", source="commits", filters={"author": "Ada"}),
            Metric("lines owned", None, "Lines at HEAD.", "not provided by this service"),
        ),
        (
            Section(
                "People",
                "Who changed what.",
                (
                    ReportTable(
                        "contributors", "Contributors", table, "Commits.", "Merges.", "commits", ("author",), max_rows=1
                    ),
                ),
                (
                    Figure(
                        "people",
                        "Commits",
                        "Bars of commits.",
                        lambda: stacked_bars(["Ada", HOSTILE], {"n": [2, 1]}, "n"),
                    ),
                ),
            ),
        ),
        {"commits": commits},
        ("1 repository could not be read.",),
    )


def test_a_number_leads_to_the_commits_behind_it(report: Report) -> None:
    assert len(report.drill_down("commits")) == 3
    assert report.drill_down("commits by Ada")["repository"].tolist() == ["r", "s"]
    assert report.drill_down("contributors", author=HOSTILE)["additions"].tolist() == [20]
    assert len(report.drill_down("contributors")) == 3


def test_what_can_not_be_drilled_names_what_can(report: Report) -> None:
    with pytest.raises(KeyError, match="contributors"):
        report.drill_down("lines owned")
    with pytest.raises(KeyError, match="its keys are author"):
        report.drill_down("contributors", path="x")
    with pytest.raises(KeyError, match="Bob"):
        report.drill_down("contributors", author="Bob")


def test_a_former_name_says_the_current_one(report: Report) -> None:
    formers: list[tuple[object, dict[str, str]]] = [
        (report, {"asked": "parameters", "numbers": "metrics", "drill": "drill_down"}),
        (report.metrics[0], {"counted": "counts", "left_out": "excludes"}),
        (reports, {"Number": "Metric", "Table": "ReportTable"}),
    ]
    for owner, names in formers:
        for former, current in names.items():
            with pytest.raises(AttributeError, match=f"use {current}"):
                getattr(owner, former)
    with pytest.raises(TypeError, match="use after"):
        reports.contributors(None, since="2024-01-01")  # type: ignore[arg-type,call-arg]


def test_a_report_with_a_number_that_is_not_known_is_not_complete(report: Report) -> None:
    assert not report.complete
    assert report.summary["value"].tolist()[:2] == [3, 2]
    assert "not known" in repr(report) + report.to_markdown()


def test_the_page_is_one_file_that_runs_nothing(report: Report, tmp_path: Path) -> None:
    assert report.to_html(tmp_path / "report.html") == str(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == text
    assert "<img src=x" not in text
    assert "<script" not in text.lower()
    assert "http" not in text.replace("http-equiv", "")
    assert "1 of 2 rows" in text
    assert "66.7%" in text
    assert "<li>Excludes: Merges.</li>" in text
    assert "1 repository could not be read." in text
    assert "\u202e" not in text
    assert "<img src=x" not in report._repr_html_()


def test_a_page_breaks_paths_where_readers_would_and_shows_no_empty_column() -> None:
    frame = pd.DataFrame(
        {
            "path": ["src/a_long_name/<b>/module.py"],
            "old_path": pd.Series([None], dtype="str"),
            "commit": ["0123456789ab" + "0" * 28],
        }
    )
    table = ReportTable("files", "Files", frame, "Files.", "", "", ("path",))
    text = Report("t", (), (), (Section("Files", "", (table,)),), {}).to_html()
    assert "src/<wbr>a_<wbr>long_<wbr>name/&lt;b&gt;/<wbr>module.<wbr>py" in text
    assert 'class="sl-w">0123456789ab<' in text
    assert "old path" not in text


def test_the_page_is_the_same_for_the_same_report(report: Report) -> None:
    assert report.to_html() == report.to_html()


def test_caveats_are_footnotes_below_the_numbers(report: Report) -> None:
    for text in (report.to_html(), report.to_markdown().replace("\\", "").replace("&#58;", ":")):
        notes = text.rindex("Notes")
        assert text.index("Commits that a branch reaches.") < text.rindex("Excludes: not provided by this service.")
        for note in ("Excludes: not provided by this service.", "Excludes: Merges.", "1 repository could not be read."):
            assert text.rindex(note) > notes
            assert text.count(f"<li>{note}") <= 1
    assert "This report is incomplete: not known here: lines owned." in report.to_html()


def test_limits_are_told_on_top_by_their_notes(report: Report) -> None:
    limited = replace(report, limits=report.notices)
    assert "not known here: lines owned; see note 3." in limited.to_html()


def test_a_rule_of_counting_is_no_limit(tmp_path: Path) -> None:
    origin = RepositoryBuilder(tmp_path / "origin")
    for number in range(3):
        origin.commit({"a.py": f"n = {number}\n"})
    git(tmp_path, "clone", "-q", "--depth", "2", (tmp_path / "origin").as_uri(), "part")
    with sl.open(tmp_path / "part") as client, pytest.warns(sl.IncompleteResultWarning) as warned:
        story = sl.reports.file(client, "part", "a.py")
    assert "Merges change no file, and copies are not followed." in story.notices
    assert ["shallow" in limit for limit in story.limits] == [True]
    assert not any("Merges" in str(warning.message) for warning in warned)


def test_only_exceptions_are_marked() -> None:
    frame = pd.DataFrame({"author": ["Ada", "Ben"], "exact": [True, True], "binary": [False, True], "new": [False] * 2})
    text = Report("t", (), (), (Section("s", "", (ReportTable("t", "T", frame, "n"),)),)).to_html()
    assert ">exact<" not in text
    assert ">new<" not in text
    assert ">no<" not in text
    assert text.count(">yes<") == 1


def test_figures_follow_the_theme_and_share_no_id(report: Report) -> None:
    page, fragment = report.to_html(), report._repr_html_()
    assert 'style="fill: var(--sl-series-1,' in page
    assert "prefers-color-scheme:dark" in page
    assert '[data-jp-theme-light="false"] .sl-report' in fragment
    assert "prefers-color-scheme" not in fragment
    for text in (page, fragment):
        ids = re.findall(r' id="([^"]*)"', text)
        assert len(ids) == len(set(ids))
        assert "<!--" not in text


def test_a_title_stays_a_text_of_the_style_sheet() -> None:
    title = 'a";}</style><script>alert(1)</script>\\'
    text = Report(title, (), (), ()).to_html()
    assert "<script" not in text
    assert text.count("</style>") == 1
    style = text[: text.index("</style>")]
    assert style.count('"') % 2 == 0
    assert "alert(1)" not in style[style.index("<style>") :]


def test_links_are_those_of_the_web_alone() -> None:
    frame = pd.DataFrame({"path": ["good|a", "bad", "worse"]})
    urls = {"good|a": "https://host/a(b)|c", "bad": "javascript:alert(1)", "worse": "https://host/ x"}
    table = ReportTable("t", "T", frame, "n", link=lambda _, row: urls[row["path"]])
    listing = Listing("L", (Item("one", "detail", urls["bad"]), Item("two", "more", urls["good|a"])))
    report = Report("t", (), (), (Section("s", "", (table,), (), (listing,)),))
    assert re.findall(r'href="([^"]*)"', report.to_html()) == ["https://host/a(b)|c"] * 2
    assert "javascript" not in report.to_html() + report.to_markdown()
    assert "[good\\|a](<https://host/a%28b%29%7Cc>)" in report.to_markdown()


def test_markdown_shows_hostile_names_literally(report: Report, tmp_path: Path) -> None:
    assert report.to_markdown(tmp_path / "report.md") == str(tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text("utf-8")
    assert (tmp_path / "report_figures" / "people.png").read_bytes().startswith(b"\x89PNG")
    assert "report_figures/people.png" in text
    assert "<img" not in text.replace("\\<img", "")
    html = COMMONMARK.render(text)
    assert re.findall(r'<img src="([^"]*)"', html) == ["report_figures/people.png"]
    assert "[a](javascript:b)" in html
    assert "javascript" not in " ".join(re.findall(r"<[^>]*>", html))
    assert "$x$" not in text


@pytest.mark.parametrize("name", ["csv", "parquet", "jsonl"])
def test_tables_are_files(report: Report, tmp_path: Path, name: str) -> None:
    paths = report.save_tables(tmp_path, name)
    assert sorted(Path(p).name for p in paths) == [f"commits.{name}", f"contributors.{name}", f"summary.{name}"]
    assert len(list(tmp_path.iterdir())) == 3


def test_no_cell_of_a_csv_runs_as_a_formula(tmp_path: Path) -> None:
    frame = pd.DataFrame({"author": ["=1+1", "Ada", None], "n": [-1, 2, 3]})
    report = Report("t", (), (), (Section("s", "", (ReportTable("t", "T", frame, "n"),)),))
    report.save_tables(tmp_path)
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["author", "n"], ["'=1+1", "-1"], ["Ada", "2"], ["", "3"]]


def test_an_unknown_format_is_refused_by_name(report: Report, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="csv, parquet, jsonl"):
        report.save_tables(tmp_path, "xls")


def test_figures_are_drawn_without_the_global_state_of_pyplot() -> None:
    before = _open_figures()
    drawing = [
        stacked_bars(["a"], {"x": [1], "y": [2]}, "u"),
        period_bars([(JANUARY, FEBRUARY), (FEBRUARY, MARCH)], {HOSTILE: [1, 2], "b": [0, 1]}, "u", [False, True], "b"),
        punch_card([[0] * 24 for _ in range(7)]),
        size_histogram([0, 5, 50_000]),
    ]
    assert all(figure.get_axes() for figure in drawing)
    assert _open_figures() == before


def _open_figures() -> list[int]:
    """Figures that pyplot keeps: those of other tests, which may use it."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot.get_fignums() if pyplot else []


@pytest.mark.browser
@pytest.mark.skipif(find_browser() is None, reason="no Chromium here")
def test_the_page_is_printed_to_a_pdf(report: Report, tmp_path: Path) -> None:
    path = report.to_pdf(tmp_path / "report.pdf")
    assert Path(path).read_bytes().startswith(b"%PDF")


def test_bars_have_their_true_lengths_even_if_one_leads_by_far() -> None:
    values = {"added": [100_000, 10, 10], "removed": [50_000, 5, 5]}
    (axes,) = stacked_bars(["a", "b", "c"], values, "lines").axes
    lengths = [[bar.get_width() for bar in container] for container in axes.containers]
    assert lengths == list(values.values())
    assert axes.get_xlim()[1] > 150_000
    assert [text.get_text() for text in axes.texts] == ["150,000", "15", "15"]


def test_a_title_from_right_to_left_moves_no_digit_of_a_commit() -> None:
    """Beside Arabic, the digits at the start of `11461530a` were shown on its other side."""
    listing = Listing("Fixes", (Item("fix: \u0645\u0631\u062d\u0628\u0627", "11461530a, Ann", ""),))
    html = Report("t", (), (), (Section("s", "", lists=(listing,)),), {}).to_html()
    assert '<bdi>fix: \u0645\u0631\u062d\u0628\u0627</bdi> <bdi class="sl-about">11461530a, Ann</bdi>' in html


def test_a_notice_of_a_part_is_not_repeated_after_the_same_of_the_whole() -> None:
    report_answer, part, other = pd.DataFrame(), pd.DataFrame(), pd.DataFrame()
    report_answer.attrs = {"notices": ["3 commits are missing", "web: 1 file is cut"]}
    part.attrs = {"notices": ["3 commits are missing.", "web: 1 file is cut.", "5 files are left out."]}
    other.attrs = {"notices": ["3 commits are missing"]}
    answers = [report_answer, *name_subject("Ownership", [part]), other]
    assert notices_of(answers) == ["3 commits are missing.", "web: 1 file is cut.", "Ownership: 5 files are left out."]
