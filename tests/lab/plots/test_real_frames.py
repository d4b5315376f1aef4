"""Each figure that the docs show, drawn from what the library made of a real repository; its numbers are git's."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.text import Text

import sourcelight as sl
from git_output import git_lines
from sourcelight.lab import plots
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.filterwarnings("ignore:.*[Gg]lyph")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three people, over a year: Ada writes, Bob changes, Cleo takes out."""
    builder = RepositoryBuilder(tmp_path_factory.mktemp("plots") / "one")
    people = ("Ada", "Bob", "Cleo")
    lines = [f"value = retry({index})" for index in range(12)]
    for step in range(9):
        person = people[step % 3]
        lines[step] = f"value = retry({step})  # TODO {person}"
        if step == 7:
            del lines[10:]
        builder.commit(
            {"core/a.py": "\n".join(lines) + "\n", f"docs/{step}.md": f"TODO {step}\n"},
            message=f"step {step}",
            author=f"{person} <{person.lower()}@example.org>",
            date=1_704_456_000 + step * 31 * 86_400,
        )
    return builder.path


@pytest.fixture(scope="module")
def folder(repository: Path) -> Path:
    return repository


def bars(figure: plots.Figure) -> dict[str, list[float]]:
    """What a figure of bars shows: for each series, its lengths or heights without those of nothing."""
    axes = figure.draw().axes[0]
    return {
        str(container.get_label()): [
            size for patch in container if (size := patch.get_width() if _lies(container) else patch.get_height())
        ]
        for container in axes.containers
    }


def _lies(container: Any) -> bool:
    return str(container.orientation) == "horizontal"


def blamed_authors(repository: Path, needle: str) -> Counter[str]:
    """Who wrote the lines that hold a text, by git blame."""
    counts: Counter[str] = Counter()
    for path in git_lines(repository, "grep", "-l", needle):
        author = ""
        for line in git_lines(repository, "blame", "--line-porcelain", "HEAD", "--", path):
            if line.startswith("author "):
                author = line.removeprefix("author ")
            elif line.startswith("\t") and needle in line:
                counts[author] += 1
    return counts


def test_owners_of_matched_lines_are_those_of_git_blame(code: sl.Client, repository: Path) -> None:
    blamed = code.search("TODO count:all", progress=False).matches.code.blame()
    figure = plots.ownership(blamed, by="repository")
    truth = blamed_authors(repository, "TODO")
    shares = {name: sizes[0] for name, sizes in bars(figure).items()}
    assert shares == {name: pytest.approx(100 * count / truth.total()) for name, count in truth.items()}
    assert "unknown" not in shares
    by_author = plots.ownership(blamed[["repository", "author", "blame_author"]])
    assert sorted(bars(by_author).popitem()[1], reverse=True) == sorted(truth.values(), reverse=True)


def test_owners_of_folders_are_those_of_git_blame(code: sl.Client, repository: Path) -> None:
    figure = plots.ownership(code.ownership(repository.name))
    counts: Counter[str] = Counter()
    for path in git_lines(repository, "ls-files"):
        lines = git_lines(repository, "blame", "--line-porcelain", "HEAD", "--", path)
        counts.update(line.removeprefix("author ") for line in lines if line.startswith("author "))
    assert sorted(bars(figure).popitem()[1]) == sorted(counts.values())


def test_matches_by_folder_are_those_of_git_grep(code: sl.Client, repository: Path) -> None:
    result = code.search("TODO count:all", progress=False)
    (sizes,) = bars(plots.bars(result, "path", top=50)).values()
    count = [int(line.rpartition(":")[2]) for line in git_lines(repository, "grep", "-c", "TODO")]
    assert sorted(sizes) == sorted(count)


def test_commits_over_time_are_those_of_git_log(code: sl.Client, repository: Path) -> None:
    figure = plots.over_time(code.commit_search(), period="quarter")
    months = [int(line[5:7]) for line in git_lines(repository, "log", "--format=%cs")]
    quarters = Counter((month - 1) // 3 for month in months)
    assert list(bars(figure).values()) == [[quarters[position] for position in sorted(quarters)]]


def test_a_pickaxe_by_quarter_is_drawn_by_quarter_and_its_running_total_is_refused(
    code: sl.Client, repository: Path
) -> None:
    frame = code.pickaxe("retry", by="quarter")
    figure = plots.over_time(frame, value="net")
    assert "quarter" in figure.title
    there = sum(int(line.rpartition(":")[2]) for line in git_lines(repository, "grep", "-c", "retry"))
    assert sum(sum(sizes) for sizes in bars(figure).values()) == there
    with pytest.raises(ValueError, match=r"total can't be summed.*value='net'"):
        plots.over_time(frame, value="total")
    with pytest.raises(ValueError, match="each row is a quarter"):
        plots.over_time(frame, value="net", period="month")
    assert "year" in plots.over_time(frame, value="net", period="year").title


def test_activity_and_treemap_count_what_git_counts(code: sl.Client, repository: Path) -> None:
    commits = code.commit_search()
    assert f"{len(git_lines(repository, 'log', '--format=%H')):,} commits" in plots.calendar(commits).description
    result = code.search("TODO count:all", progress=False)
    total = sum(int(line.rpartition(":")[2]) for line in git_lines(repository, "grep", "-c", "TODO"))
    labels = [text.get_text() for text in plots.treemap(result).draw().findobj(Text)]
    assert any(f"{total:,} matches" in text for text in labels)


def test_files_at_the_top_are_called_as_in_tables() -> None:
    sizes = pd.DataFrame({"path": ["README.md", "src/a.py"], "lines": [10, 20]})
    labels = [text.get_text() for text in plots.treemap(sizes).draw().findobj(Text)]
    assert "/*" in labels
    assert "/" not in labels


@pytest.mark.parametrize("value", ["share", "line_number"])
def test_ratios_and_places_are_not_added_up(code: sl.Client, repository: Path, value: str) -> None:
    frame = code.ownership(repository.name) if value == "share" else code.search("TODO", progress=False).matches
    meaning = {"share": "part of all lines of path", "line_number": "1-based line"}[value]
    with pytest.raises(ValueError, match=f"{value} can't be summed: it is: {meaning}"):
        plots.bars(frame, "repository", value=value)


def test_a_column_of_ones_own_is_added_up_whatever_its_name(code: sl.Client, repository: Path) -> None:
    counts = code.search("TODO", progress=False).matches.assign(score=2)
    (sizes,) = bars(plots.bars(counts, "repository", value="score")).values()
    assert sizes == [2 * len(git_lines(repository, "grep", "TODO"))]
    with pytest.raises(ValueError, match="total can't be summed"):  # of no known table: the name tells
        plots.bars(pd.DataFrame({"path": ["a"], "total": [1]}), "path", value="total")


def words(figure: plots.Figure) -> str:
    """All texts of a figure."""
    drawing = figure.draw()
    return "\n".join(text.get_text() for text in drawing.findobj(Text))


def test_units_are_what_the_rows_are(code: sl.Client) -> None:
    lines = code.diff_search("TODO", progress=False)
    assert f"{len(lines)} lines by 3 authors" in words(plots.bars(lines, "author"))
    assert plots.over_time(lines, by="side").title == "Lines by week and side"
    net = plots.over_time(code.pickaxe("retry", by="quarter", progress=False), value="net")
    assert net.title == "Net matching lines by quarter"
    assert "10 net matching lines by period" in words(net)
    added = plots.over_time(code.churn(by="month", progress=False), value="additions")
    assert added.title == "Added lines by month"


def test_commits_that_count_in_several_rows_are_said_to(code: sl.Client) -> None:
    by_path = words(plots.bars(code.hotspots(progress=False), "path", value="commits"))
    assert "A commit counts once for each path that it changed." in by_path
    assert "counts once" not in words(plots.bars(code.contributors(progress=False), "author", value="commits"))


def test_treemaps_of_directories_take_the_column_that_is_filled(code: sl.Client) -> None:
    churn = code.churn(by="directory", progress=False)
    assert int(churn["additions"].sum()) > 0
    figure = plots.treemap(churn, value="additions")
    assert f"{churn['additions'].sum()} added lines in 2 directories" in words(figure)
    assert "without a path" not in words(figure)


def test_figures_without_amounts_say_so(code: sl.Client) -> None:
    nothing = code.search("nothing-of-this", progress=False)
    assert "No matches" in words(plots.bars(nothing))
    assert "No matches" in words(plots.treemap(nothing))
    assert "No matches" in words(plots.ownership(nothing))


def test_figures_follow_the_theme_of_the_notebook(code: sl.Client) -> None:
    commits = code.commit_search(progress=False)
    figure = plots.over_time(commits)
    html = figure._repr_html_() or ""
    assert html.count("<img ") == 2
    assert '[data-jp-theme-light="false"] .sl-figure .sl-dark{display:block !important}' in html.replace(
        ',.vscode-dark .sl-figure .sl-dark,html[theme="dark"] .sl-figure .sl-dark', ""
    )
    assert '<div class="sl-dark" style="display:none">' in html
    assert plots.over_time(commits, theme="dark")._repr_html_() is None


def test_authors_in_figures_are_told_apart_by_address_as_in_tables(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    builder = RepositoryBuilder(tmp_path / "one")
    for step, author in enumerate(
        ("Kim <kim@a.example>", "Kim <KIM@a.example>", "Kim <other@b.example>", "K <kim@a.example>")
    ):
        builder.commit({f"{step}.md": "a\n"}, message="step", author=author, date=1_704_456_000 + step)
    with sl.open(tmp_path, index_dir=tmp_path_factory.mktemp("index"), progress=False) as code:
        table = code.contributors(progress=False)
        (values,) = bars(plots.bars(table, "author", value="commits")).values()
        commits = words(plots.bars(code.commit_search(progress=False), "author"))
    assert sorted(values) == sorted(table["commits"].tolist()) == [1, 3]
    assert "4 commits by 2 authors" in commits
    assert "Kim <other@b.example>" in commits
