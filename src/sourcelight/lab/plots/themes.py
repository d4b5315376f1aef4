"""How figures look: colours for light and dark, and a sheet with a title, what is counted, and what is left out.

The colours were chosen by search: any two of a palette stay at least 15 apart (CIE 1976) in each of the three common
kinds of colour blindness, and each has a contrast of at least 3 to its background, as WCAG 1.4.11 asks of graphics.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any, Literal

from sourcelight.core.markup import one_line

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
