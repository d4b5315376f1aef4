"""Figures of the reports. Each is a matplotlib figure of its own: no global state is read or changed.

Colours are those of Okabe and Ito, which readers with any kind of colour vision can tell apart. Text from
repositories is never read as a formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.markup import one_line
from sourcelight.lab.plots.figure import saved

__all__ = ["PALETTE", "bars", "over_time", "punch_card", "saved", "sizes"]

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LONGEST = 38
_THOUSANDS = "{x:,.0f}"


def bars(labels: Sequence[str], values: Mapping[str, Sequence[float]], unit: str) -> Any:
    """Horizontal bars, the first on top; several series are stacked in the order given."""
    figure, axes = _canvas(height_in=0.9 + 0.3 * max(len(labels), 2))
    left = [0.0] * len(labels)
    places = list(range(len(labels)))
    for colour, (name, widths) in zip(PALETTE, values.items(), strict=False):
        axes.barh(places, widths, left=left, color=colour, label=name)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_yticks(places, [one_line(label, _LONGEST) for label in labels], parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.xaxis.set_major_formatter(_THOUSANDS)
    _finish(axes, legend=len(values) > 1)
    return figure


def over_time(periods: Sequence[Any], values: Mapping[str, Sequence[float]], unit: str) -> Any:
    """Stacked areas over periods."""
    figure, axes = _canvas(height_in=3.2)
    if len(periods) > 1:
        axes.stackplot(periods, *values.values(), labels=list(values), colors=PALETTE, step=None)
    else:
        bottom = 0.0
        for colour, (name, heights) in zip(PALETTE, values.items(), strict=False):
            axes.bar(periods, heights, bottom=bottom, color=colour, label=name)
            bottom += sum(heights)
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(_THOUSANDS)
    if len(periods) > 1:
        axes.margins(x=0.01)
    _finish(axes, legend=len(values) > 1)
    return figure


def punch_card(counts: Sequence[Sequence[int]]) -> Any:
    """Commits by weekday (7 rows, Monday first) and hour (24 columns) of the author's own clock."""
    figure, axes = _canvas(height_in=2.9)
    most = max((count for row in counts for count in row), default=0) or 1
    points = [(hour, day, count) for day, row in enumerate(counts) for hour, count in enumerate(row) if count]
    axes.scatter(
        [p[0] for p in points], [p[1] for p in points], s=[12 + 240 * p[2] / most for p in points], color=PALETTE[0]
    )
    axes.set_yticks(range(7), _DAYS)
    axes.set_xticks(range(0, 24, 3), [f"{hour}:00" for hour in range(0, 24, 3)])
    axes.set_xlim(-0.8, 23.8)
    axes.set_ylim(6.6, -0.6)
    _finish(axes, legend=False)
    return figure


def sizes(lines: Sequence[int]) -> Any:
    """How many commits change how many lines, in steps of powers of ten."""
    figure, axes = _canvas(height_in=2.6)
    edges = [0, 1, 10, 100, 1_000, 10_000, 100_000]
    names = ["none", "1 to 9", "10 to 99", "100 to 999", "1,000 to\n9,999", "10,000 to\n99,999", "100,000\nand more"]
    counts = [0] * len(names)
    for size in lines:
        counts[max(i for i, edge in enumerate(edges) if size >= edge)] += 1
    axes.bar(range(len(names)), counts, color=PALETTE[0])
    axes.set_xticks(range(len(names)), names)
    axes.yaxis.set_major_formatter(_THOUSANDS)
    axes.set_ylabel("commits")
    axes.set_xlabel("lines added and removed")
    _finish(axes, legend=False)
    return figure


def _canvas(height_in: float) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, min(height_in, 12.0)), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _finish(axes: Any, *, legend: bool) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, alpha=0.25)
    axes.set_axisbelow(True)
    if legend:
        # Above the axes: it hides nothing there, and no place has to be looked for.
        shown = axes.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
        for text in shown.get_texts():
            text.set_parse_math(False)
            text.set_text(one_line(text.get_text(), _LONGEST))
