"""Figures of the reports. Each is a matplotlib figure of its own: no global state is read or changed.

They are drawn in the light theme of `sourcelight.lab.plots`. Pages and notebooks get them as inline SVG whose colors
are CSS variables, so that one drawing follows the theme of its reader. Text from repositories is never read as a
formula.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.markup import escape, one_line
from sourcelight.lab.plots.figure import THEMES, Figure, finish, saved, short, whole_numbers

__all__ = ["bars", "figure_style", "inline_svg", "over_time", "punch_card", "saved", "sizes"]

_LIGHT, _DARK = THEMES["light"], THEMES["dark"]
_WIDTH_IN = 11.0
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MAX_LABEL = 46
# A bar this many times as long as the next one would leave no width for the others: it is cut, and its number says so.
_CUT_ABOVE = 4.0
_CUT_TO = 1.5
_HATCH = "////"
_VARIABLES: Mapping[str, str] = {
    "text": "text", "muted": "muted", "grid": "grid", "background": "back", "rest": "rest",
}  # fmt: skip


def bars(labels: Sequence[str], values: Mapping[str, Sequence[float]], unit: str) -> Any:
    """Horizontal bars with their numbers, the first on top; several series are stacked in the order given."""
    figure, axes = _canvas(height_in=0.7 + 0.27 * max(len(labels), 2))
    totals = [sum(each) for each in zip(*values.values(), strict=True)]
    end = _axis_end(totals)
    left = [0.0] * len(labels)
    places = list(range(len(labels)))
    for color, (name, widths) in zip(_LIGHT.series, values.items(), strict=False):
        shown = [max(min(width, end - start), 0.0) for width, start in zip(widths, left, strict=True)]
        axes.barh(places, shown, left=left, color=color, label=name, height=0.72)
        left = [a + b for a, b in zip(left, shown, strict=True)]
    for place, total, stop in zip(places, totals, left, strict=True):
        text = f"{total:,.0f}" + (" (bar cut)" if total > end else "")
        axes.annotate(text, (stop, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9,
                      color=_LIGHT.muted, parse_math=False)  # fmt: skip
    axes.set_yticks(places, [short(one_line(label, 4 * _MAX_LABEL), _MAX_LABEL) for label in labels], parse_math=False)
    axes.invert_yaxis()
    axes.set_xlim(0, (end if any(total > end for total in totals) else max([*totals, 1.0])) * 1.1)
    axes.set_xlabel(unit)
    whole_numbers(axes.xaxis)
    _finish(axes, "x", series=len(values))
    return figure


def _axis_end(totals: Sequence[float]) -> float:
    """Where bars end: behind the longest one, or, if that one is far longer than the next, behind the next."""
    ordered = sorted(totals, reverse=True)
    if len(ordered) > 2 and ordered[1] > 0 and ordered[0] > _CUT_ABOVE * ordered[1]:
        return ordered[1] * _CUT_TO
    return max([*ordered, 1.0])


def over_time(
    periods: Sequence[tuple[Any, Any]],
    values: Mapping[str, Sequence[float]],
    unit: str,
    partial: Sequence[bool] = (),
    rest: str = "",
) -> Any:
    """Stacked bars over periods, given by start and end; those of `partial` periods are hatched, `rest` is gray."""
    figure, axes = _canvas(height_in=3.1)
    days = [(end - start).total_seconds() / 86_400 for start, end in periods]
    starts = [start for start, _ in periods]
    cut = list(partial) or [False] * len(periods)
    bottom = [0.0] * len(periods)
    for number, (name, heights) in enumerate(values.items()):
        color = _LIGHT.rest if name == rest else _LIGHT.series[number % len(_LIGHT.series)]
        drawn = axes.bar(
            starts, heights, [day * 0.9 for day in days], bottom=bottom, align="edge", color=color, label=name
        )
        for bar, is_partial in zip(drawn, cut, strict=True):
            if is_partial:
                bar.set_hatch(_HATCH)
                bar.set_edgecolor(_LIGHT.background)
                bar.set_linewidth(0)
        bottom = [a + b for a, b in zip(bottom, heights, strict=True)]
    axes.xaxis_date()
    _dated(axes)
    axes.margins(x=0.01)
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    whole_numbers(axes.yaxis)
    _finish(axes, "y", series=len(values))
    return figure


def _dated(axes: Any) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=12)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def punch_card(counts: Sequence[Sequence[int]]) -> Any:
    """Commits by weekday (7 rows, Monday first) and hour (24 columns) of the author's own clock."""
    figure, axes = _canvas(height_in=2.8)
    most = max((count for row in counts for count in row), default=0) or 1
    points = [(hour, day, count) for day, row in enumerate(counts) for hour, count in enumerate(row) if count]
    axes.scatter(
        [p[0] for p in points],
        [p[1] for p in points],
        s=[12 + 260 * p[2] / most for p in points],
        color=_LIGHT.series[0],
    )
    axes.set_yticks(range(7), _DAYS)
    axes.set_xticks(range(0, 24, 2), [f"{hour}:00" for hour in range(0, 24, 2)])
    axes.set_xlim(-0.8, 23.8)
    axes.set_ylim(6.6, -0.6)
    _finish(axes, "both", series=0)
    return figure


def sizes(lines: Sequence[int]) -> Any:
    """How many commits change how many lines, in steps of powers of ten."""
    figure, axes = _canvas(height_in=2.3)
    edges = [0, 1, 10, 100, 1_000, 10_000, 100_000]
    names = ["none", "1 to 9", "10 to 99", "100 to 999", "1,000 to 9,999", "10,000 to 99,999", "100,000 or more"]
    counts = [0] * len(names)
    for size in lines:
        counts[max(i for i, edge in enumerate(edges) if size >= edge)] += 1
    drawn = axes.bar(range(len(names)), counts, color=_LIGHT.series[0])
    axes.bar_label(drawn, [f"{count:,}" if count else "" for count in counts], fontsize=9, color=_LIGHT.muted)
    axes.set_xticks(range(len(names)), names)
    axes.margins(y=0.12)
    whole_numbers(axes.yaxis)
    axes.set_ylabel("commits")
    axes.set_xlabel("lines added and removed")
    _finish(axes, "y", series=0)
    return figure


def inline_svg(figure: Figure) -> str:
    """A figure as an SVG element of a page; its colors are the variables of `figure_style`.

    Text is drawn as shapes. What matplotlib writes beside the drawing is left out: comments, which repeat the texts,
    metadata, and a style that would be one of the whole page.
    """
    file = io.BytesIO()
    saved(figure.draw(), file, "svg")
    text = file.getvalue().decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", text, flags=re.DOTALL)
    for role, color in _colors(_LIGHT).items():
        text = re.sub(f"{color}(?![0-9a-fA-F])", f"var(--sl-{role},{color})", text, flags=re.IGNORECASE)
    text = _own_ids(text, f"sl-{re.sub(r'[^a-z0-9]+', '-', figure.name.lower())}-")
    head, body = text.split(">", 1)
    # The width is that of the page: matplotlib's own is in points, which a reader's window does not care about.
    head = re.sub(r' (?:width|height|version|xmlns(?::xlink)?)="[^"]*"', "", head)
    body = body.replace("xlink:href=", "href=")
    return f'{head} role="img" aria-label="{escape(figure.description)}">{body.strip()}'


def _own_ids(svg: str, prefix: str) -> str:
    """The drawing with the ids that it refers to under a prefix, and no others: a page has several drawings."""
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    svg = re.sub(r' id="([^"]*)"', lambda m: f' id="{prefix}{m[1]}"' if m[1] in used else "", svg)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}", svg)


def figure_style(theme: str) -> str:
    """The variables of a theme, ``light`` or ``dark``, as CSS declarations."""
    return "".join(f"--sl-{role}:{color};" for role, color in _colors(THEMES[theme]).items())


def _colors(theme: Any) -> dict[str, str]:
    """Colors of a theme by the name of their variable."""
    named = {variable: getattr(theme, name) for name, variable in _VARIABLES.items()}
    return named | {f"series-{number}": color for number, color in enumerate(theme.series, 1)}


def _canvas(height_in: float) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawing

    figure = Drawing(figsize=(_WIDTH_IN, min(height_in, 12.0)), layout="constrained", facecolor=_LIGHT.background)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_facecolor(_LIGHT.background)
    return figure, axes


def _finish(axes: Any, grid: str, *, series: int) -> None:
    finish(axes, _LIGHT, grid=grid, series=series)
    # Ticks of names stay as dark as text: they are what is read first.
    axes.tick_params(axis="y", labelcolor=_LIGHT.text)
    legend = axes.get_legend()
    if legend is not None:
        for text in legend.get_texts():
            text.set_text(one_line(text.get_text(), _MAX_LABEL))
        for handle in legend.legend_handles:
            handle.set_hatch("")  # a series is not partial because its first period is
