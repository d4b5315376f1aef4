"""The sheet that all figures share: the title, what the numbers count, the axes, and the limits below them."""

from __future__ import annotations

import textwrap
from typing import Any

from sourcelight.core.extras import require_notebook
from sourcelight.core.markup import one_line
from sourcelight.lab.plots.themes import Theme

WIDTH_IN = 9.0
_MAX_HEIGHT_IN = 14.0
_MARGIN = 0.012
"""Left and right of the axes, as a fraction of the width."""

_TITLE_IN = 0.48
_TITLE_TOP_IN, _HEAD_TOP_IN = 0.10, 0.36
"""The space of the title, and how far below the top it and the first line below it begin."""

_FOOT_IN, _FOOT_GAP_IN = 0.1, 0.06
"""The space of the footer without its lines, and the part of it above them."""

_HEAD_LINE_IN, _FOOT_LINE_IN = 0.19, 0.17
"""Heights of lines of 9 and of 8 points."""

_LINE_CHARS = 118
_MAX_LINES = 3
"""Characters of a line of notes that fit the width of a sheet, and lines of a note."""


def new_sheet(theme: Theme, height_in: float, title: str, counts: str, limits: str = "") -> tuple[Any, Any]:
    """Return a figure with a header and a footer, and the axes between them.

    Parameters
    ----------
    theme
        The colors.
    height_in
        Height of the axes with their labels, in inches.
    title, counts, limits
        The title, what the numbers count, and what they exclude. The texts may be untrusted; they are shortened.
    """
    require_notebook("matplotlib", "a figure")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as MatplotlibSheet

    head_lines, foot_lines = _wrap(counts), _wrap(limits)
    head_in = _TITLE_IN + _HEAD_LINE_IN * len(head_lines)
    foot_in = _FOOT_IN + _FOOT_LINE_IN * len(foot_lines)
    total_in = min(height_in, _MAX_HEIGHT_IN) + head_in + foot_in
    figure = MatplotlibSheet(figsize=(WIDTH_IN, total_in), layout="constrained", facecolor=theme.background)

    # Attached directly rather than through pyplot, which would keep each figure in a global list.
    FigureCanvasAgg(figure)
    engine: Any = figure.get_layout_engine()
    axes_in = total_in - head_in - foot_in
    engine.set(rect=(_MARGIN, foot_in / total_in, 1 - 2 * _MARGIN, axes_in / total_in))
    _add_text(figure, one_line(title, 90), 1 - _TITLE_TOP_IN / total_in, theme.text, size=13, weight="bold", va="top")
    for index, line in enumerate(head_lines):
        top_in = _HEAD_TOP_IN + _HEAD_LINE_IN * index
        _add_text(figure, line, 1 - top_in / total_in, theme.muted, size=9, va="top")

    for index, line in enumerate(foot_lines):
        bottom_in = foot_in - _FOOT_GAP_IN - _FOOT_LINE_IN * index
        _add_text(figure, line, bottom_in / total_in, theme.muted, size=8, va="top")

    axes = figure.add_subplot()
    axes.set_facecolor(theme.background)
    return figure, axes


def _wrap(text: str) -> list[str]:
    if not text:
        return []
    line = one_line(text, _MAX_LINES * _LINE_CHARS)
    return textwrap.wrap(line, _LINE_CHARS, max_lines=_MAX_LINES, placeholder=" …")


def _add_text(figure: Any, text: str, y: float, color: str, **style: Any) -> None:
    # Dollar signs in repository names and queries are text: as formulas they fail or draw nonsense.
    figure.text(0.014, y, text, color=color, ha="left", parse_math=False, **style)


def style_axes(axes: Any, theme: Theme, *, grid: str = "", series: int = 0) -> None:
    """Remove the frame, draw a grid along one axis, and a legend above if there are several series."""
    for spine in axes.spines.values():
        spine.set_visible(False)

    axes.tick_params(colors=theme.muted, length=0, labelsize=9)
    axes.xaxis.label.set_color(theme.muted)
    axes.yaxis.label.set_color(theme.muted)
    if grid:
        axes.grid(visible=True, axis=grid, color=theme.grid, linewidth=0.8)

    axes.set_axisbelow(True)
    if series > 1:
        legend = axes.legend(
            frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, labelcolor=theme.text,
            handlelength=1.0, handleheight=1.0, borderaxespad=0.2,
        )  # fmt: skip
        for text in legend.get_texts():
            text.set_parse_math(False)


def note_if_empty(axes: Any, theme: Theme, unit: str, *, is_empty: bool) -> None:
    """Replace empty axes with a note, such as ``No matches``."""
    if is_empty:
        axes.set_axis_off()
        axes.text(0.5, 0.5, f"No {unit}", transform=axes.transAxes, ha="center", va="center", color=theme.muted)


def use_whole_numbers(axis: Any) -> None:
    """Set ticks of counts: whole numbers, each once."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
    axis.set_major_formatter("{x:,.0f}")


def use_dates(axes: Any, max_ticks: int = 9) -> None:
    """Set ticks of dates along the x axis."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=max_ticks)
    axes.xaxis_date()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
