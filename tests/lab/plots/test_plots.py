"""Figures say what they count and what they leave out, are drawn in both themes, and touch nothing global."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sourcelight as sl
from client.scripted import LIMITED, ScriptedBackend
from sourcelight.lab import plots
from sourcelight.lab.plots.charts import stacked_bars
from sourcelight.lab.plots.figure import Figure
from sourcelight.lab.plots.themes import THEMES, contrast, text_on
from sourcelight.lab.plots.tiles import squarify

pytestmark = pytest.mark.filterwarnings("ignore:.*[Gg]lyph")
HOSTILE = "$\\frac{1}{0}$ <script>alert(1)</script> \x1b[31m\u202e検潮"
DAYS = pd.to_datetime(["2024-01-01", "2024-01-01", "2024-02-29", "2021-05-05", "NaT", "1970-01-01"], utc=True)
MATCHES = pd.DataFrame(
    {
        "repository": ["a/b", "a/b", "c/d", HOSTILE, "c/d", "c/d"],
        "path": ["src/x.py", "src/deep/er/y.py", "README", f"{HOSTILE}/z", None, "src/q"],
        "language": ["Python", "Python", None, "Go", "C", "C"],
        "match_count": [3, 1, 2, 5, 1, 1],
        "commit_date": DAYS,
        "author": ["Ada", "Bob", "Ada", HOSTILE, "Cleo", "Dan"],
    }
)
EDGES = pd.DataFrame(
    {
        "source": ["a", "b", "a", "a"], "target": ["b", HOSTILE, "os", "a"], "module": ["b", "h", "os", "a"],
        "external": [False, False, True, False], "files": [1, 1, 1, 1], "imports": [4, 2, 9, 1],
    }
)  # fmt: skip
EDGES.attrs = {"repositories": ["a", "b", "lonely", HOSTILE]}
DRAWN: dict[str, Callable[[str], plots.Figure]] = {
    "bars": lambda theme: plots.bars(MATCHES, theme=theme),  # type: ignore[arg-type]
    "split": lambda theme: plots.bars(MATCHES, "repository", split="language", top=2, theme=theme),  # type: ignore[arg-type]
    "over_time": lambda theme: plots.over_time(MATCHES, "repository", theme=theme),  # type: ignore[arg-type]
    "treemap": lambda theme: plots.treemap(MATCHES, theme=theme),  # type: ignore[arg-type]
    "calendar": lambda theme: plots.calendar(MATCHES, theme=theme),  # type: ignore[arg-type]
    "ownership": lambda theme: plots.ownership(MATCHES, by="repository", theme=theme),  # type: ignore[arg-type]
    "authors": lambda theme: plots.ownership(MATCHES[["author"]], theme=theme),  # type: ignore[arg-type]
    "dependencies": lambda theme: plots.dependencies(EDGES, external=True, theme=theme),  # type: ignore[arg-type]
}


def texts(figure: plots.Figure) -> str:
    """All that a figure has written."""
    from matplotlib.text import Text

    return "\n".join(item.get_text() for item in figure.draw().findobj(Text))


@pytest.mark.parametrize("theme", list(THEMES))
@pytest.mark.parametrize("name", list(DRAWN))
def test_every_figure_is_drawn_in_every_theme(name: str, theme: str) -> None:
    figure = DRAWN[name](theme)
    drawing = figure.draw()
    assert figure.to_png(dots_per_in=40).startswith(b"\x89PNG")
    assert drawing.get_facecolor()[:3] == pytest.approx(
        [int(THEMES[theme].background[i : i + 2], 16) / 255 for i in (1, 3, 5)], abs=0.01
    )
    assert figure.title in texts(figure)
    assert "\x1b" not in repr(figure) + texts(figure)
    assert "\u202e" not in repr(figure) + texts(figure)


@pytest.mark.parametrize("name", list(DRAWN))
def test_labels_stay_on_the_sheet_and_text_is_no_formula(name: str) -> None:
    from matplotlib.text import Text

    drawing = DRAWN[name]("light").draw()
    drawing.draw_without_rendering()
    width, height = drawing.get_size_inches() * drawing.dpi
    axes = drawing.axes[0]
    start, end = sorted(axes.get_xlim())
    # matplotlib makes ticks beyond the axes, too, and does not draw them.
    beyond = {label for label in axes.get_xticklabels() if not start <= label.get_position()[0] <= end}
    for item in set(drawing.findobj(Text)) - beyond:
        if item.get_text() and item.get_visible():
            box = item.get_window_extent()
            assert -1 <= box.x0 <= box.x1 <= width + 1, item.get_text()
            assert -1 <= box.y0 <= box.y1 <= height + 1, item.get_text()
            if "$" in item.get_text():
                assert not item.get_parse_math()


@pytest.mark.parametrize("name", ["bars", "over_time", "ownership", "dependencies"])
def test_labels_do_not_overlap(name: str) -> None:
    figure = DRAWN[name]("light").draw()
    figure.draw_without_rendering()
    axes = figure.axes[0]
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        boxes = [label.get_window_extent() for label in labels if label.get_text()]
        assert not any(item.overlaps(other) for item, other in itertools.pairwise(boxes))


def test_what_is_left_out_is_said() -> None:
    assert "Not shown: 2 more with 8 matches" in texts(plots.bars(MATCHES, top=1))
    assert "2 rows without a date" in texts(plots.over_time(MATCHES))
    assert "before 2024" in texts(plots.calendar(MATCHES, years=1))
    assert "1 row without a path" in texts(plots.treemap(MATCHES))
    labels = texts(plots.dependencies(EDGES))
    assert "9 imports of modules that are in none of the repositories" in labels
    assert "1 repository without an import" in labels
    many = pd.DataFrame({"repository": [f"r{k:02}" for k in range(40)], "match_count": range(1, 41)})
    assert "Not shown: 25 more with 325 matches" in texts(plots.bars(many))


def test_an_answer_that_is_not_complete_is_said() -> None:
    result = sl.Client(ScriptedBackend(LIMITED)).search("foo")
    labels = texts(plots.bars(result))
    assert "The answer is limited: shard-match-limit" in labels
    assert "First 10 matches; add count:all for all." in labels
    rows = result.matches[result.matches["line_number"] > 0]  # pandas keeps attrs where it filters
    for frame in (rows, rows.head(3), rows.sort_values("line_number")):
        assert "First 10 matches" in texts(plots.bars(frame))
    assert "10 matches in 1 repository" in labels
    assert "Of foo" in labels


def test_a_count_of_a_cut_result_names_its_origin() -> None:
    """Pandas drops the attrs in most ways of grouping: the result is given beside the counts."""
    result = sl.Client(ScriptedBackend(LIMITED)).search("foo")
    counts = result.matches.groupby("path", observed=True).size().rename("matches").reset_index()
    assert "cut" not in counts.attrs
    for origin in (result, result.matches):
        words = texts(plots.bars(counts, "path", origin=origin))
        assert "First 10 matches; add count:all for all. The answer is limited: shard-match-limit" in words
        assert "Of foo" in words
    assert "First 10" in texts(plots.treemap(counts, origin=result))
    assert texts(plots.bars(result, origin=result)).count("First 10") == 1


def test_counts_are_those_of_the_frame() -> None:
    assert "13 matches in 3 repositories" in texts(plots.bars(MATCHES))
    assert "11 matches by commit date (UTC)" in texts(plots.over_time(MATCHES))
    assert "12 matches in" in texts(plots.treemap(MATCHES))
    commits = pd.DataFrame({"commit": ["x"], "subject": ["s"], "commit_date": DAYS[:1]})
    assert "1 commit by commit date" in texts(plots.calendar(commits))


def test_nothing_is_a_figure_too() -> None:
    empty = MATCHES.iloc[:0]
    for figure in (plots.bars(empty), plots.treemap(empty), plots.ownership(empty), plots.dependencies(EDGES[:0])):
        assert figure.to_png(dots_per_in=30)
    with pytest.raises(ValueError, match="no row has a date"):
        plots.over_time(empty)
    with pytest.raises(ValueError, match="pass period='year'"):
        plots.over_time(MATCHES, by="year")
    with pytest.raises(ValueError, match=r"frame\.code\.blame"):
        plots.calendar(MATCHES[["repository"]])


def test_what_can_not_be_drawn_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="light or dark"):
        plots.bars(MATCHES, theme="blue")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no column 'nope'"):
        plots.bars(MATCHES, "nope")
    with pytest.raises(ValueError, match="no column 'nope'"):
        plots.bars(MATCHES, value="nope")
    with pytest.raises(TypeError, match="not int"):
        plots.bars(3)
    with pytest.raises(ValueError, match="period must be"):
        plots.over_time(MATCHES, period="hour")


@pytest.mark.parametrize(("former", "current"), [("matches", "bars"), ("activity", "calendar")])
def test_a_former_name_says_the_current_one(former: str, current: str) -> None:
    with pytest.raises(AttributeError, match=f"use {current}"):
        getattr(plots, former)


def test_a_figure_saves_itself(tmp_path: Path) -> None:
    figure = plots.bars(MATCHES)
    assert Path(figure.save(tmp_path / "x.png")).read_bytes() == figure.to_png()
    svg = Path(figure.save(tmp_path / "x.svg")).read_text("utf-8")
    assert svg == figure.to_svg()
    assert "<script" not in svg
    with pytest.raises(ValueError, match=r"png or \.svg"):
        figure.save(tmp_path / "x.gif")


def test_pyplot_is_never_loaded() -> None:
    program = (
        "import sys, pandas as pd, sourcelight as sl\n"
        "sl.plots.bars(pd.DataFrame({'repository': ['a'], 'match_count': [1]})).to_png()\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    process = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60)
    assert process.stdout.strip() == "False"


# Brettel's simulation as Machado et al. (2009) give it, for linear light.
_RED = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
_GREEN = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
_BLUE = [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]
_SEEN = {"all": np.eye(3), "no red": np.array(_RED), "no green": np.array(_GREEN), "no blue": np.array(_BLUE)}
_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def _linear(colour: str) -> Any:
    light = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)


def _lab(light: Any) -> Any:
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ np.clip(
        light, 0, 1
    )
    ratio = xyz / np.array([0.9505, 1, 1.089])
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("seen", list(_SEEN))
@pytest.mark.parametrize("name", list(THEMES))
def test_colours_are_told_apart_with_any_kind_of_colour_vision(name: str, seen: str) -> None:
    colours = [*THEMES[name].series, THEMES[name].rest]
    for item, other in itertools.combinations(colours, 2):
        distance = np.linalg.norm(_lab(_SEEN[seen] @ _linear(item)) - _lab(_SEEN[seen] @ _linear(other)))
        assert distance >= 15, (item, other)
    steps = [_lab(_SEEN[seen] @ _linear(colour))[0] for colour in (THEMES[name].empty, *THEMES[name].steps)]
    assert sorted(steps, reverse=name == "light") == steps


@pytest.mark.parametrize("name", list(THEMES))
def test_colours_stand_out_from_their_background(name: str) -> None:
    look = THEMES[name]
    assert all(contrast(colour, look.background) >= 3 for colour in (*look.series, look.rest))
    assert all(contrast(colour, look.background) >= 4.5 for colour in (look.text, look.muted))
    assert all(contrast(colour, text_on(colour, look)) >= 3 for colour in look.series)


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=30).map(lambda sizes: sorted(sizes, reverse=True)))
@example([766856.0, 766854.0, 766853.0, 0.01])
def test_tiles_fill_their_box_by_their_sizes(sizes: list[float]) -> None:
    boxes = squarify(sizes, (0, 0, 100, 56))
    areas = [w * h for _, _, w, h in boxes]
    assert sum(areas) == pytest.approx(5600, rel=1e-6)
    assert np.allclose(np.array(areas) / 5600, np.array(sizes) / sum(sizes), rtol=1e-6, atol=1e-9)
    for x, y, w, h in boxes:
        assert -1e-6 <= x <= x + w <= 100 + 1e-6
        assert -1e-6 <= y <= y + h <= 56 + 1e-6


@pytest.mark.parametrize("letter", ["W", "i", "m"])
def test_no_text_of_a_treemap_overlaps_another(letter: str) -> None:
    rows = []
    for group in range(7):
        for folder in range(5):
            name = f"example.org/{letter * 9}{group}/{letter * 14}"
            rows += [(name, f"{letter * (3 + 3 * folder)}{folder}/src/a.py", 2 ** (7 - group) * (5 - folder))]
    frame = pd.DataFrame(rows, columns=["repository", "path", "lines"])
    figure = plots.treemap(frame, value="lines").draw()
    figure.draw_without_rendering()
    axes = figure.axes[0]
    boxes = [(text.get_text(), text.get_window_extent()) for text in axes.texts]
    assert len(boxes) > 10
    for (item, box), (other, next_box) in itertools.combinations(boxes, 2):
        assert not box.overlaps(next_box), (item, other)


def test_scripts_that_the_font_lacks_are_drawn_in_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def image_of(name: str) -> bytes:
        return Figure("a", "A", "d", lambda: stacked_bars([name], {"commits": [2.0]}, "commits")).to_png()

    private_use = "\ue000"  # STIXNonUnicode comes with matplotlib and has it; the font of figures doesn't
    boxes, ascii_image = image_of(private_use), image_of("Ada")
    monkeypatch.setattr("sourcelight.lab.plots.figure.FALLBACK_FONTS", ("no such font", "STIXNonUnicode"))
    assert image_of(private_use) != boxes
    assert image_of("Ada") == ascii_image
