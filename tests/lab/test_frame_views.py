"""DataFrames in IPython show the columns that matter, places and text first; the frames stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

import sourcelight as sl
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.display.notebook.frame_views.table import displayed_columns, show_hidden_characters
from sourcelight.testing import RepositoryBuilder

LONG = "src/" + "/".join(["deeply", "nested", "folders"] * 4) + "/limits.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a remote, a long path, a long line and hostile text."""
    folder = tmp_path_factory.mktemp("frames")
    builder = RepositoryBuilder(folder / "limits")
    builder.commit(
        {
            "a.py": "def patience(n):\n        return needle + 1  # deep\n",
            LONG: f"x = {'1 + ' * 100}needle\n",
            "b.html": "<script>needle</script>\n",
        },
        message="Add a needle",
    )
    builder.git("remote", "add", "origin", "https://github.com/acme/limits.git")
    return folder


@pytest.fixture
def shell() -> Iterator[Any]:
    """An IPython that knows how to display frames."""
    result = InteractiveShell.instance()
    show_hidden_characters()
    yield result
    InteractiveShell.clear_instance()


def render(shell: Any, frame: pd.DataFrame) -> tuple[str, str]:
    """HTML and text that IPython displays."""
    data, _ = shell.display_formatter.format(frame)
    return data["text/html"], data["text/plain"]


def heads(html: str) -> list[str]:
    """Column names of a table."""
    return [name.replace("<wbr>", "") for name in re.findall(r'<th scope="col"[^>]*>((?:\w|<wbr>)+)</th>', html)]


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("needle count:all", ["repository", "path", "line_number", "line"]),
        ("type:path limits", ["repository", "path"]),
        ("type:symbol patience", ["repository", "path", "line_number", "line", "symbol", "symbol_kind"]),
        ("type:commit needle", ["repository", "line", "commit", "author", "author_date"]),
        ("type:diff needle", ["repository", "path", "line_number", "side", "line", "commit"]),
    ],
)
def test_matches_show_what_their_search_fills(shell: Any, code: sl.Client, query: str, columns: list[str]) -> None:
    frame = code.search(query, progress=False).matches
    html, text = render(shell, frame)
    names = heads(html)
    assert names[: len(columns)] == columns
    assert not {"repository_id", "start", "end", "name_start", "url", "committer", "chunk"} & set(names)
    assert all(name in text for name in columns)
    assert list(frame.columns) == [column.name for column in sl.columns_of("matches")], "the data stays whole"


def test_commits_are_short_on_display_only(shell: Any, code: sl.Client) -> None:
    frame = code.search("needle count:all", progress=False).matches
    html, text = render(shell, frame)
    commit = frame["commit"].iloc[0]
    assert len(commit) == 40
    assert f">{commit[:10]}</a>" in html or f">{commit[:10]}</span>" in html
    assert commit not in text
    assert commit[:10] in text


def test_the_match_is_in_the_first_hundred_characters_of_its_row(shell: Any, code: sl.Client) -> None:
    html, _ = render(shell, code.search("needle count:all", progress=False).matches)
    assert html.count("<mark>needle</mark>") == 3
    for row in re.findall(r'<tr><th scope="row">.*?</tr>', html):
        before = re.sub(r"<[^>]+>", "", row.split("<mark>")[0])
        assert len(before) < 160, before
    assert "<script>" not in html
    assert ">\u2026" in html, "a long path shows its end"
    assert f'title="{LONG}' in html


def test_rows_link_to_their_lines(shell: Any, code: sl.Client) -> None:
    frame = code.search("needle file:a.py", progress=False).matches
    html, _ = render(shell, frame)
    commit = frame["commit"].iloc[0]
    assert f'href="https://github.com/acme/limits/blob/{commit}/a.py#L2"' in html
    assert f'href="https://github.com/acme/limits/commit/{commit}"' in html


def test_a_reader_who_chose_columns_sees_these(shell: Any, code: sl.Client) -> None:
    frame = code.search("needle count:all", progress=False).matches
    html, _ = render(shell, frame[["start", "commit", "repository_id"]])
    assert heads(html) == ["start", "commit", "repository_id"]
    html, _ = render(shell, frame.assign(owner="ada"))
    assert heads(html)[-1] == "owner"


def test_pandas_option_for_columns_shows_all(shell: Any, code: sl.Client) -> None:
    frame = code.search("needle count:all", progress=False).matches
    html, text = render(shell, frame)
    assert f"31 columns, {len(heads(html))} shown" in html
    assert f"31 columns, {len(heads(html))} shown" in text
    with pd.option_context("display.max_columns", None):
        html, _ = render(shell, frame)
    assert heads(html) == list(frame.columns)


def test_frames_of_tools_show_places_and_text_first(shell: Any, code: sl.Client) -> None:
    name = code.list_repos()["repository"].iloc[0]
    frame = code.commit_search(message_terms=["needle"], progress=False)
    html, _ = render(shell, frame)
    assert heads(html)[:5] == ["repository", "commit", "author_date", "author", "subject"]
    frame = code.find_references(symbol="patience", repo=name, path="a.py", progress=False)
    assert heads(render(shell, frame)[0])[:4] == ["repository", "path", "line_number", "line"]
    frame = code.blame(name, "a.py", progress=False)
    assert heads(render(shell, frame)[0])[:4] == ["path", "line_number", "line", "commit"]


def test_an_empty_frame_shows_its_first_columns(shell: Any, code: sl.Client) -> None:
    html, text = render(shell, code.search("nothing-of-this", progress=False).matches)
    assert heads(html) == ["repository", "path", "line_number", "line"]
    assert "0 rows" in text


def test_other_frames_and_plain_prints_stay_as_pandas_has_them(shell: Any, code: sl.Client) -> None:
    other = pd.DataFrame({"line": ["needle"], "path": ["a.py"]})
    html, text = render(shell, other)
    assert "sl-frame" not in html
    assert text == repr(other)
    frame = code.search("needle", progress=False).matches
    grouped = frame.groupby(["repository", "path"], observed=True).size().to_frame("n")
    assert "sl-frame" not in render(shell, grouped)[0]
    assert "repository_id" in frame.to_string()


def test_a_closed_client_costs_only_the_links(shell: Any, tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "one").commit({"a.txt": "needle\n"})
    with sl.open(tmp_path, index_dir=tmp_path / ".index", progress=False) as client:
        frame = client.search("needle", progress=False).matches
    html, _ = render(shell, frame)
    assert "<mark>needle</mark>" in html
    assert "href" not in html


def test_many_rows_show_head_and_tail(shell: Any, tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "one").commit({"a.txt": "".join(f"needle {i}\n" for i in range(200))})
    with sl.open(tmp_path, index_dir=tmp_path / ".index", progress=False) as client:
        html, _ = render(shell, client.search("needle count:all", progress=False).matches)
    assert html.count('<tr><th scope="row">') == pd.get_option("display.min_rows")
    assert "</mark> 0<" in html
    assert "</mark> 199<" in html
    assert "200 rows" in html


def test_columns_without_a_value_are_not_shown(shell: Any, code: sl.Client) -> None:
    assert heads(render(shell, code.list_repos(progress=False))[0]) == [
        "repository", "stars", "fork", "archived", "private", "last_fetched", "commit",
    ]  # fmt: skip
    assert "trace" not in heads(render(shell, code.search("needle", progress=False).progress)[0])


def test_named_groups_are_seen_beside_their_places(shell: Any, code: sl.Client) -> None:
    groups = code.search(r"/def (?P<function>\w+)/ count:all", progress=False).matches.code.groups()
    assert heads(render(shell, groups)[0]) == ["repository", "path", "line_number", "match", "function"]


def test_comparisons_and_graphs_look_like_other_tables(shell: Any, code: sl.Client) -> None:
    comparison = sl.compare_results(code.search("needle", progress=False), code.search("x", progress=False))
    html, _ = render(shell, comparison)
    assert "sl-frame" in html
    assert heads(html)[0] == "change"
    assert "name" not in heads(html)
    assert "sl-frame" in code.dependency_graph(progress=False)._repr_html_()


def test_tables_of_reports_look_like_other_tables(shell: Any, code: sl.Client) -> None:
    report = sl.reports.contributors(code, progress=False)
    html, _ = render(shell, report.summary)
    assert "sl-frame" in html
    assert "Commits in the period, including merges, as git rev-list --count." in html
    assert all("sl-frame" in render(shell, table)[0] for table in report.tables.values())


def test_added_columns_are_shown_in_the_place_of_details(shell: Any, code: sl.Client) -> None:
    blamed = code.search("needle count:all", progress=False).matches.code.blame()
    assert heads(render(shell, blamed)[0]) == [
        "repository", "path", "line_number", "line", "blame_commit", "blame_author", "blame_commit_date",
        "blame_subject",
    ]  # fmt: skip


@pytest.mark.parametrize("table", sorted(COLUMNS))
def test_a_table_with_a_value_in_each_column_fits_a_page(table: str) -> None:
    frame = pd.DataFrame({column.name: ["text"] for column in COLUMNS[table]})
    assert len(displayed_columns(frame)) <= 15
