"""Calendars: a square for each day, in the color of its amount, and a row for each year."""

from __future__ import annotations

import datetime as dt
from calendar import isleap
from collections.abc import Sequence
from typing import Any

from sourcelight.core.markup import count_of
from sourcelight.lab.plots.data import plot_data, sentences
from sourcelight.lab.plots.figure import Figure, follows_theme
from sourcelight.lab.plots.labels import format_amount, format_number
from sourcelight.lab.plots.sheet import WIDTH_IN, new_sheet, style_axes
from sourcelight.lab.plots.themes import Theme, ThemeName, theme_of
from sourcelight.lab.plots.time_series import date_column, is_plausible, undated_text

_WEEKDAYS = ("Mon", "", "Wed", "", "Fri", "", "Sun")
"""Labels of rows: every second one, because all of them would be too close."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# Sizes in units of the drawing: a day is a square of 1, with a gap around it.
_YEAR_HEIGHT = 8.6
_YEAR_WIDTH = 60.2
"""Width of a year in weeks, with its labels."""

_DAY, _GAP = 0.84, 0.08
"""Size of the square of a day, and the space around it, in weeks."""

_QUANTILES = (0.25, 0.5, 0.75, 0.9)
"""Shares of the days at which a color ends and the next one begins."""


@follows_theme
def calendar(
    source: Any,
    *,
    years: int = 4,
    date: str | None = None,
    value: str | None = None,
    origin: Any = None,
    title: str | None = None,
    theme: ThemeName | None = None,
) -> Figure:
    """Draw a calendar of commits (or matches, or lines) by day, one row per year, newest first.

    Parameters
    ----------
    source
        A frame with dates, such as of `commit_search` or ``code.blame()``, or a `SearchResult` of commits or diffs.
    years
        Maximum number of years; a note below counts older rows.
    date
        Column of dates; None: as for `over_time`.
    value, origin, title, theme
        As for `bars`.

    Returns
    -------
    Figure
        Displays itself in a notebook; `Figure.save` writes it.

    Raises
    ------
    ValueError
        When no row has a date.
    """
    import numpy as np

    if years < 1:
        raise ValueError(f"years must be at least 1, got {years}")

    colors, data = theme_of(theme), plot_data(source, value, origin)
    column = date_column(data, date)
    has_date = is_plausible(data.frame[column])
    days = data.frame[column][has_date].dt.tz_convert("UTC").dt.tz_localize(None).dt.normalize()
    totals: Any = data.amounts[has_date].groupby(days).sum()
    last_year = int(totals.index.max().year)
    recent = totals[totals.index.year > last_year - years]
    older = totals[totals.index.year <= last_year - years]
    drawn_years = sorted({int(year) for year in recent.index.year}, reverse=True)
    positive = recent[recent > 0]

    # Quantiles rather than equal steps: one day with a huge import would make all others the lightest color. A set, as
    # few distinct amounts give equal bounds.
    bounds: list[float] = []
    if len(positive):
        bounds = sorted(set(np.quantile(positive, _QUANTILES, method="nearest").tolist()))

    heading = title or f"{data.unit.capitalize()} by day"
    total = format_amount(float(recent.sum()), data.unit)
    counts = f"{total} by {column.replace('_', ' ')} (UTC) on {count_of(len(recent), 'day')}"
    empty_years = [str(year) for year in range(drawn_years[-1], last_year) if year not in drawn_years]
    notes: list[str] = []
    if len(older):
        notes.append(f"Not shown: {format_amount(float(older.sum()), data.unit)} before {drawn_years[-1]}")
    if empty_years:
        notes.append(f"Years without any are left out: {', '.join(empty_years)}")
    limits = sentences(*notes, undated_text(has_date), data.limits)

    def draw() -> Any:
        # The height of the squares at the width of the sheet; a higher sheet would have a gap below the title.
        rows = len(drawn_years) * _YEAR_HEIGHT + 2.5
        height_in = 0.1 + rows * 0.976 * WIDTH_IN / _YEAR_WIDTH
        figure, axes = new_sheet(colors, height_in, heading, sentences(counts, data.query), limits)
        _draw_days(axes, colors, years=drawn_years, totals=recent, bounds=bounds)
        _draw_legend(axes, colors, bounds, len(drawn_years) * _YEAR_HEIGHT - 0.9)
        axes.set_xlim(-6.2, 54)
        axes.set_ylim(len(drawn_years) * _YEAR_HEIGHT + 0.6, -1.9)
        axes.set_aspect("equal", adjustable="box", anchor="NW")
        axes.set_xticks([])
        axes.set_yticks([])
        style_axes(axes, colors)
        return figure

    summary = f"the busiest day is {totals.idxmax():%Y-%m-%d}" if len(totals) else "there are none"
    return Figure(name="calendar", title=heading, description=f"A calendar of {counts}; {summary}.", draw=draw)


def _draw_days(axes: Any, colors: Theme, *, years: Sequence[int], totals: Any, bounds: Sequence[float]) -> None:
    """Draw a square for each day of these years, in the color of its amount."""
    from matplotlib.collections import PatchCollection

    squares: list[Any] = []
    fills: list[str] = []
    for index, year in enumerate(years):
        in_year = totals[totals.index.year == year]
        amounts = {int(day.day_of_year) - 1: float(amount) for day, amount in in_year.items()}
        for day, square in enumerate(_draw_year(axes, colors, year, index * _YEAR_HEIGHT)):
            amount = amounts.get(day, 0.0)
            step = sum(amount > bound for bound in bounds)
            fills.append(colors.steps[min(step, len(colors.steps) - 1)] if amount > 0 else colors.empty)
            squares.append(square)

    # As one collection, because thousands of single patches take seconds to draw.
    axes.add_collection(PatchCollection(squares, facecolors=fills, linewidths=0))


def _draw_year(axes: Any, colors: Theme, year: int, top: float) -> list[Any]:
    """Draw the labels of a year, and return a square for each of its days: weeks in columns, Monday on top."""
    from matplotlib.patches import Rectangle

    new_year = dt.date(year, 1, 1)
    first_weekday = new_year.weekday()
    for month, name in enumerate(_MONTHS, 1):
        offset = (dt.date(year, month, 1) - new_year).days
        week = (first_weekday + offset) // 7
        axes.text(week + 0.1, top - 0.35, name, fontsize=7.5, color=colors.muted, va="bottom")

    for weekday, name in enumerate(_WEEKDAYS):
        axes.text(-0.4, top + weekday + 0.5, name, fontsize=7, color=colors.muted, ha="right", va="center")

    axes.text(-3.1, top + 3.5, str(year), fontsize=10, weight="bold", color=colors.text, ha="right", va="center")
    cells = [divmod(first_weekday + day, 7) for day in range(365 + isleap(year))]
    return [Rectangle((week + _GAP, top + weekday + _GAP), _DAY, _DAY) for week, weekday in cells]


def _draw_legend(axes: Any, colors: Theme, bounds: Sequence[float], top: float) -> None:
    """Draw a square for each color, with the amounts that it stands for: ``0``, ``1-3``, ``4+``."""
    from matplotlib.patches import Rectangle

    steps = [(colors.empty, "0")]
    lower = 1.0
    for index, bound in enumerate([*bounds, None]):
        if bound is None:
            text = f"{format_number(lower)}+"
        elif bound == lower:
            text = format_number(bound)
        else:
            text = f"{format_number(lower)}-{format_number(bound)}"
        steps.append((colors.steps[index], text))
        lower = (bound or 0) + 1

    x = 0.0
    for color, text in steps:
        axes.add_patch(Rectangle((x, top + _GAP), _DAY, _DAY, facecolor=color, linewidth=0))
        axes.text(x + 1.2, top + 0.5, text, fontsize=8, color=colors.muted, va="center")
        x += 2.2 + 0.62 * len(text)
