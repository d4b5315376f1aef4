"""How figures look: colours for light and dark, and a sheet with a title, what is counted, and what is left out.

The colours were chosen by search: any two of a palette stay at least 15 apart (CIE 1976) in each of the three common
kinds of colour blindness, and each has a contrast of at least 3 to its background, as WCAG 1.4.11 asks of graphics.

What a figure is drawn from: a result or a frame, what its numbers count, and what is known to be missing.

A figure that shows and saves itself.
"""

from __future__ import annotations

import io
import os
import textwrap
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from sourcelight.core.markup import one_line, visible
from sourcelight.core.tools.catalog import NOT_SUMMABLE

if TYPE_CHECKING:
    from pandas import DataFrame, Series


ThemeName = Literal["light", "dark"]
LONGEST = 44
WIDTH_IN = 9.0
_MOST_HEIGHT_IN = 14.0
_CHARACTERS = 118
_MOST_LINES = 3


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of a figure: `series` for what is told apart, `rest` for all the others, `steps` from little to much."""

    background: str
    text: str
    muted: str
    grid: str
    empty: str
    series: tuple[str, ...]
    rest: str
    steps: tuple[str, ...]


THEMES: dict[str, Theme] = {
    "light": Theme(
        background="#FFFFFF",
        text="#1B1B1F",
        muted="#55585F",
        grid="#E2E4E8",
        empty="#EEF0F3",
        series=("#0C3AA0", "#BB8E1A", "#0E8A43", "#7B1A60", "#432F19"),
        rest="#8C8C8C",
        steps=("#BFD3F2", "#86ACE3", "#4C82CD", "#1F59B0", "#0A2F73"),
    ),
    "dark": Theme(
        background="#15181C",
        text="#E9EAED",
        muted="#AAB0B9",
        grid="#333940",
        empty="#22272D",
        series=("#5B9BFF", "#E8A13A", "#1FA97C", "#F2B5DA", "#FFF3A6"),
        rest="#777D86",
        steps=("#1F3A66", "#2F5FA6", "#4C87DB", "#86B2F5", "#CFE1FF"),
    ),
}


def theme_of(name: str) -> Theme:
    """The theme of a name; raises ValueError for others."""
    if name not in THEMES:
        raise ValueError(f"theme is {' or '.join(THEMES)}, not {name!r}")
    return THEMES[name]


def text_on(colour: str, theme: Theme) -> str:
    """The colour of text that is best read on a colour: white, or the theme's darkest."""
    dark = min(theme.text, theme.background)
    return max(("#FFFFFF", dark), key=lambda ink: contrast(ink, colour))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, 1 to 21, as WCAG 2 defines it."""
    low, high = sorted(_luminance(each) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def sheet(theme: Theme, height_in: float, title: str, counted: str, left_out: str = "") -> tuple[Any, Any]:
    """A figure with a head and a foot, and axes between them as high as asked.

    Parameters
    ----------
    theme
        Its colours.
    height_in
        Height of the axes with their labels, inches.
    title, counted, left_out
        What it is, what its numbers count, what they don't; untrusted text, cut to a few lines.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    told, missing = _lines(counted), _lines(left_out)
    head = 0.48 + 0.19 * len(told)
    foot = 0.1 + 0.17 * len(missing)
    height = min(height_in, _MOST_HEIGHT_IN) + head + foot
    figure = Figure(figsize=(WIDTH_IN, height), layout="constrained", facecolor=theme.background)
    FigureCanvasAgg(figure)
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0.012, foot / height, 0.976, (height - head - foot) / height))
    _write(figure, one_line(title, 90), 1 - 0.10 / height, theme.text, size=13, weight="bold", va="top")
    for place, line in enumerate(told):
        _write(figure, line, 1 - (0.36 + 0.19 * place) / height, theme.muted, size=9, va="top")
    for place, line in enumerate(missing):
        _write(figure, line, (foot - 0.06 - 0.17 * place) / height, theme.muted, size=8, va="top")
    axes = figure.add_subplot()
    axes.set_facecolor(theme.background)
    return figure, axes


def _lines(text: str) -> list[str]:
    if not text:
        return []
    whole = one_line(text, _MOST_LINES * _CHARACTERS)
    return textwrap.wrap(whole, _CHARACTERS, max_lines=_MOST_LINES, placeholder=" …")


def _write(figure: Any, text: str, y: float, colour: str, **style: Any) -> None:
    figure.text(0.014, y, text, color=colour, ha="left", parse_math=False, **style)


def finish(axes: Any, theme: Theme, *, grid: str = "", series: int = 0) -> None:
    """Quiet axes: no frame, a grid along one axis, and a legend above when there are several series."""
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(colors=theme.muted, length=0, labelsize=9)
    axes.xaxis.label.set_color(theme.muted)
    axes.yaxis.label.set_color(theme.muted)
    if grid:
        axes.grid(visible=True, axis=grid, color=theme.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    if series > 1:
        shown = axes.legend(
            frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, labelcolor=theme.text,
            handlelength=1.0, handleheight=1.0, borderaxespad=0.2,
        )  # fmt: skip
        for text in shown.get_texts():
            text.set_parse_math(False)


def whole_numbers(axis: Any) -> None:
    """Ticks of counts: whole numbers only, each once."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
    axis.set_major_formatter("{x:,.0f}")


def short(text: Any, width: int = LONGEST) -> str:
    """A name as a label: one line, its middle left out where it is long, since names differ at their ends."""
    line = one_line(str(text), 10 * width)
    if len(line) <= width:
        return line
    tail = (width - 1) * 2 // 3
    return f"{line[: width - 1 - tail]}…{line[-tail:]}"


_COUNTS = (
    ("match_count", "matches"),
    ("matches", "matches"),
    ("commits", "commits"),
    ("lines", "lines"),
)


@dataclass(frozen=True, slots=True)
class PlotData:
    """A frame to draw: its rows, the number in each, and in words what that counts and what is missing."""

    frame: DataFrame
    amounts: Series[Any]
    unit: str
    told: str
    limits: str

    @property
    def total(self) -> float:
        """Sum of the numbers."""
        return float(self.amounts.sum())


def source_of(source: Any, value: str | None = None) -> PlotData:
    """A result or a frame as something to draw.

    Raises
    ------
    TypeError
        For something else.
    ValueError
        When there is no column `value`, or its numbers can't be added up: running totals, ratios, ranks and places.
    """
    import pandas as pd

    frame = getattr(source, "matches", None) if hasattr(source, "status") and hasattr(source, "table") else source
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"a figure is drawn from a result or a DataFrame, not from {type(source).__name__}")
    if value is not None and value not in frame.columns:
        raise ValueError(f"there is no column {value!r} to draw; there are {', '.join(map(str, frame.columns))}")
    found = next(((name, unit) for name, unit in _COUNTS if name in frame.columns), None)
    if value is not None and value in NOT_SUMMABLE:
        column = NOT_SUMMABLE[value]
        hint = f"; draw value={column.instead!r} in its place" if column.instead in frame.columns else ""
        raise ValueError(f"{value} can't be added up: it is the {column.meaning}{hint}")
    if value is not None:
        values, unit = pd.to_numeric(frame[value]).fillna(0), value.replace("_", " ")
    elif found is not None:
        values, unit = pd.to_numeric(frame[found[0]]).fillna(0), found[1]
    else:
        values = pd.Series(1, index=frame.index)
        unit = "commits" if {"commit", "subject"} <= set(frame.columns) else "rows"
    return PlotData(frame, values.astype("float64"), unit, _told(frame), _limits(frame))


def _told(frame: DataFrame) -> str:
    query = frame.attrs.get("query")
    return f"Of {query}" if isinstance(query, str) and query else ""


def _limits(frame: DataFrame) -> str:
    status = frame.attrs.get("status", "complete")
    if status == "complete":
        return ""
    cut = str(frame.attrs.get("cut") or "")
    if cut:
        return f"{cut[:1].upper()}{cut[1:]}. The answer is {status}: {frame.attrs.get('reasons') or 'no reason given'}."
    why = frame.attrs.get("reasons") or "; ".join(frame.attrs.get("notices", ())) or "no reason given"
    return f"The answer is {status}: {why}."


def column_of(frame: DataFrame, name: str) -> Series[Any]:
    """A column as texts, ``unknown`` for null; raises ValueError where there is none."""
    if name not in frame.columns:
        raise ValueError(f"there is no column {name!r}; there are {', '.join(map(str, frame.columns))}")
    return frame[name].astype("object").where(frame[name].notna(), "unknown").astype("str")


def sentences(*parts: str) -> str:
    """Parts that are not empty, with a full stop each."""
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part)


def number(value: float) -> str:
    """A number to be read."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def head_and_rest(totals: Series[Any], most: int) -> tuple[list[str], Sequence[str]]:
    """The names with the most, and the others."""
    order = totals.sort_values(ascending=False, kind="stable")
    names = [str(name) for name in order.index]
    return names[:most], names[most:]


MatplotlibFigure = Any
_SCREEN_DPI = 80
_FILE_DPI = 144


@dataclass(frozen=True, slots=True, repr=False)
class Figure:
    """A figure: drawn when it is asked for, and described in words for those who can't see it.

    In a notebook it shows itself. `draw` gives the matplotlib figure, anew each time.

    Attributes
    ----------
    name, title
        Name for programs, title for readers.
    description
        What it shows, in a sentence.
    draw
        Makes the matplotlib figure, which no global state knows.
    """

    name: str
    title: str
    description: str
    draw: Callable[[], MatplotlibFigure]

    def __repr__(self) -> str:
        return visible(f"<Figure {self.title!r}: {self.description}>")

    def to_png(self, *, dots_per_in: float = _FILE_DPI) -> bytes:
        """The figure as PNG."""
        return self._as("png", dots_per_in)

    def to_svg(self) -> str:
        """The figure as SVG; text is drawn as shapes, so that it looks the same everywhere and nothing in it acts."""
        return self._as("svg", _FILE_DPI).decode()

    def save(self, path: str | os.PathLike[str], *, dots_per_in: float = _FILE_DPI) -> str:
        """Write the figure to a file ending in ``.png`` or ``.svg``; gives its path.

        Raises
        ------
        ValueError
            For another ending.
        """
        target = Path(path).expanduser()
        format = target.suffix.lower().removeprefix(".")  # noqa: A001 - matplotlib's name
        if format not in {"png", "svg"}:
            raise ValueError(f"a figure is saved as .png or .svg, not as {target.suffix or 'a file without an ending'}")
        target.write_bytes(self._as(format, dots_per_in))
        return str(target)

    def _as(self, format: str, dots_per_in: float) -> bytes:  # noqa: A002 - matplotlib's name
        file = io.BytesIO()
        saved(self.draw(), file, format, dots_per_in)
        return file.getvalue()

    def _repr_png_(self) -> bytes:
        return self._as("png", _SCREEN_DPI)


def saved(figure: MatplotlibFigure, file: IO[bytes], format: str, dots_per_in: float = _FILE_DPI) -> None:  # noqa: A002
    """Write a figure as ``svg`` or ``png``: the same bytes for the same figure."""
    import matplotlib as mpl

    with warnings.catch_warnings(), mpl.rc_context({"svg.hashsalt": "sourcelight"}):
        # A name in a script that the font lacks is drawn as boxes; the table beside the figure has it in full.
        warnings.filterwarnings("ignore", message=r".*[Gg]lyph.*")
        metadata = {"Date": None} if format == "svg" else {"Software": None}
        figure.savefig(file, format=format, dpi=dots_per_in, metadata=metadata, facecolor=figure.get_facecolor())
