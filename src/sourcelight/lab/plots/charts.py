"""Charts of plain numbers for reports: bars, bars over time, a punch card, a histogram.

They return matplotlib figures in the light theme; `svg_element` makes them follow the theme of a page.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.extras import require_notebook
from sourcelight.core.markup import escape, one_line
from sourcelight.lab.plots.figure import Figure, write_figure
from sourcelight.lab.plots.labels import short_label
from sourcelight.lab.plots.sheet import style_axes, use_dates, use_whole_numbers
from sourcelight.lab.plots.themes import THEMES, clean_svg

_THEME = THEMES["light"]
_WIDTH_IN = 11.0
_MAX_HEIGHT_IN = 12.0
"""Size of a sheet in inches: as wide as a page, and at most as high as a screen."""

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MAX_LABEL_CHARS = 46
"""Characters of a label."""

_HATCH = "////"

_MIN_DISC, _MORE_DISC = 12.0, 260.0
"""Area of the smallest disc of a punch card in square points, and what the largest has in addition."""

_SIZE_STEPS = {
    0: "none", 1: "1 to 9", 10: "10 to 99", 100: "100 to 999", 1_000: "1,000 to 9,999", 10_000: "10,000 to 99,999",
    100_000: "100,000 or more",
}  # fmt: skip


def stacked_bars(labels: Sequence[str], values: Mapping[str, Sequence[float]], unit: str) -> Any:
    """Return horizontal bars with their numbers, the first on top; several series are stacked in order."""
    figure, axes = _new_canvas(height_in=0.7 + 0.27 * max(len(labels), 2))
    totals = [sum(bar) for bar in zip(*values.values(), strict=True)]
    lefts = [0.0] * len(labels)
    rows = list(range(len(labels)))

    # Every bar has its true length, however far the first one leads: a shortened bar misleads, and short bars still
    # have their numbers.
    for color, (name, widths) in zip(_THEME.series, values.items(), strict=False):
        axes.barh(rows, widths, left=lefts, color=color, label=name, height=0.72)
        lefts = [left + width for left, width in zip(lefts, widths, strict=True)]

    for row, total in zip(rows, totals, strict=True):
        axes.annotate(f"{total:,.0f}", (total, row), xytext=(4, 0), textcoords="offset points", va="center",
                      fontsize=9, color=_THEME.muted, parse_math=False)  # fmt: skip

    short_labels = [short_label(one_line(label, 4 * _MAX_LABEL_CHARS), _MAX_LABEL_CHARS) for label in labels]
    axes.set_yticks(rows, short_labels, parse_math=False)
    axes.invert_yaxis()
    axes.set_xlim(0, max([*totals, 1.0]) * 1.1)
    axes.set_xlabel(unit)
    use_whole_numbers(axes.xaxis)
    _style(axes, "x", series=len(values))
    return figure


def period_bars(
    periods: Sequence[tuple[Any, Any]],
    values: Mapping[str, Sequence[float]],
    unit: str,
    partial: Sequence[bool] = (),
    rest: str = "",
) -> Any:
    """Return stacked bars over periods, given by start and end; `partial` ones are hatched, series `rest` is gray."""
    figure, axes = _new_canvas(height_in=3.1)
    days = [(end - start).total_seconds() / 86_400 for start, end in periods]
    starts = [start for start, _ in periods]
    is_partial = list(partial) or [False] * len(periods)
    bottoms = [0.0] * len(periods)
    for index, (name, heights) in enumerate(values.items()):
        color = _THEME.rest if name == rest else _THEME.series[index % len(_THEME.series)]
        bars = axes.bar(
            starts, heights, [day * 0.9 for day in days], bottom=bottoms, align="edge", color=color, label=name
        )
        for bar, is_hatched in zip(bars, is_partial, strict=True):
            if is_hatched:
                bar.set_hatch(_HATCH)
                bar.set_edgecolor(_THEME.background)
                bar.set_linewidth(0)

        bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]

    use_dates(axes, max_ticks=12)
    axes.margins(x=0.01)
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    use_whole_numbers(axes.yaxis)
    _style(axes, "y", series=len(values))
    return figure


def punch_card(counts: Sequence[Sequence[int]]) -> Any:
    """Return discs by weekday (7 rows, Monday first) and hour (24 columns)."""
    figure, axes = _new_canvas(height_in=2.8)
    max_count = max((max(row, default=0) for row in counts), default=0) or 1
    hours: list[int] = []
    days: list[int] = []
    sizes: list[float] = []
    for day, row in enumerate(counts):
        for hour, count in enumerate(row):
            if count:
                hours.append(hour)
                days.append(day)
                sizes.append(_MIN_DISC + _MORE_DISC * count / max_count)

    axes.scatter(hours, days, s=sizes, color=_THEME.series[0])
    axes.set_yticks(range(7), _WEEKDAYS)
    axes.set_xticks(range(0, 24, 2), [f"{hour}:00" for hour in range(0, 24, 2)])
    axes.set_xlim(-0.8, 23.8)
    axes.set_ylim(6.6, -0.6)
    _style(axes, "both", series=0)
    return figure


def share_lines(series: Mapping[str, Sequence[float]], steps: str) -> Any:
    """Return lines of shares, 0 to 1, over whole numbers from 0; `steps` names their unit."""
    figure, axes = _new_canvas(height_in=2.8)
    for color, (name, shares) in zip(_THEME.series, series.items(), strict=False):
        axes.plot(range(len(shares)), [100 * share for share in shares], marker="o", color=color, label=name)

    axes.set_ylim(0, 104)
    axes.set_ylabel("percent")
    axes.set_xlabel(steps)
    use_whole_numbers(axes.xaxis)
    _style(axes, "y", series=len(series))
    return figure


def size_histogram(sizes: Sequence[int]) -> Any:
    """Return bars of how many commits change how many lines, in steps of powers of ten."""
    figure, axes = _new_canvas(height_in=2.3)
    edges = list(_SIZE_STEPS)
    counts = [0] * len(edges)
    for size in sizes:
        counts[bisect_right(edges, size) - 1] += 1

    bars = axes.bar(range(len(edges)), counts, color=_THEME.series[0])
    axes.bar_label(bars, [f"{count:,}" if count else "" for count in counts], fontsize=9, color=_THEME.muted)
    axes.set_xticks(range(len(edges)), list(_SIZE_STEPS.values()))
    axes.margins(y=0.12)
    use_whole_numbers(axes.yaxis)
    axes.set_ylabel("commits")
    axes.set_xlabel("lines added and removed")
    _style(axes, "y", series=0)
    return figure


def svg_element(figure: Figure) -> str:
    """Return a figure as an SVG element with its description, as wide as the page; see `clean_svg`."""
    file = io.BytesIO()
    write_figure(figure.draw, file, "svg")
    head, body = clean_svg(file.getvalue().decode("utf-8"), figure.name).split(">", 1)
    # The width is the page's; matplotlib's is in points.
    head = re.sub(r' (?:width|height|version|xmlns(?::xlink)?)="[^"]*"', "", head)
    body = body.replace("xlink:href=", "href=")
    return f'{head} role="img" aria-label="{escape(figure.description)}">{body.strip()}'


def _new_canvas(height_in: float) -> tuple[Any, Any]:
    require_notebook("matplotlib", "a chart")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as MatplotlibSheet

    size = (_WIDTH_IN, min(height_in, _MAX_HEIGHT_IN))
    figure = MatplotlibSheet(figsize=size, layout="constrained", facecolor=_THEME.background)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_facecolor(_THEME.background)
    return figure, axes


def _style(axes: Any, grid: str, *, series: int) -> None:
    from matplotlib.patches import Patch

    style_axes(axes, _THEME, grid=grid, series=series)
    # Names are read first: they stay as dark as text.
    axes.tick_params(axis="y", labelcolor=_THEME.text)
    legend = axes.get_legend()
    if legend is not None:
        for text in legend.get_texts():
            text.set_text(one_line(text.get_text(), _MAX_LABEL_CHARS))
        for handle in legend.legend_handles:
            if isinstance(handle, Patch):
                # A series is not partial because its first period is.
                handle.set_hatch("")
