"""Amounts over time: stacked bars by period, and a calendar with a square per day."""

from __future__ import annotations

import datetime as dt
from calendar import isleap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sourcelight.core.markup import count_of, join_words
from sourcelight.lab.plots.data import PlotData, plot_data, sentences
from sourcelight.lab.plots.figure import Figure, follows_theme
from sourcelight.lab.plots.labels import (
    format_amount,
    format_number,
    largest_first,
    others_label,
    short_label,
    text_column,
)
from sourcelight.lab.plots.sheet import WIDTH_IN, new_sheet, style_axes, use_dates, use_whole_numbers
from sourcelight.lab.plots.themes import Theme, ThemeName, theme_of

PERIODS: Mapping[str, tuple[str, float]] = {
    "day": ("D", 1), "week": ("W-SUN", 7), "month": ("M", 30.4), "quarter": ("Q", 91.3), "year": ("Y", 365.25),
}  # fmt: skip

_LONGER: Mapping[str, tuple[str, ...]] = {
    "day": ("week", "month", "quarter", "year"), "week": (), "month": ("quarter", "year"), "quarter": ("year",),
    "year": (),
}  # fmt: skip
"""Longer periods that contain each period as a whole; a week may lie in two months."""

DATE_COLUMNS = ("period", "commit_date", "blame_commit_date", "last_commit_date", "author_date")
_MAX_BARS = 72

_WEEKDAYS = ("Mon", "", "Wed", "", "Fri", "", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_YEAR_HEIGHT = 8.6
_YEAR_WIDTH = 60.2
_QUANTILES = (0.25, 0.5, 0.75, 0.9)


@follows_theme
def over_time(
    source: Any,
    by: str | None = None,
    *,
    period: str | None = None,
    date: str | None = None,
    value: str | None = None,
    origin: Any = None,
    title: str | None = None,
    theme: ThemeName | None = None,
) -> Figure:
    """Draw matches (commits, lines) by day, week, month, quarter or year.

    Matched lines have no dates; ``result.matches.code.blame()`` adds the dates of the commits that introduced them.

    Parameters
    ----------
    source
        A `SearchResult` of commits or diffs, or a frame with dates: of ``code.blame()``, `commit_search`, `churn`,
        `pickaxe`.
    by
        Column that divides the bars, such as ``repository`` or ``language``: the five values with the largest
        amounts, and the rest.
    period
        ``day``, ``week``, ``month``, ``quarter`` or ``year``; None: the period of the rows, if they are periods,
        else the shortest with at most 72 bars.
    date
        Column of dates; None: the first of period, commit_date, blame_commit_date, last_commit_date and author_date
        that has any.
    value, origin, title, theme
        As for `bars`.

    Returns
    -------
    Figure
        Displays itself in a notebook; `Figure.save` writes it.

    Raises
    ------
    ValueError
        When no row has a date, when `value` can't be added up, and when the rows are periods that don't fit into
        `period`.
    """
    colors, data = theme_of(theme), plot_data(source, value, origin)
    if period is not None and period not in PERIODS:
        raise ValueError(f"period must be {join_words(list(PERIODS), 'or')}, got {period!r}")
    if by in PERIODS and by not in data.frame.columns:
        raise ValueError(f"by= names a column, and no column is named {by!r}; for bars by {by}, pass period={by!r}")

    column = date_column(data, date)
    has_date = is_plausible(data.frame[column])
    bars = _period_bars(data, by, period, column, len(colors.series))
    words = title or f"{data.unit.capitalize()} by {bars.period}{f' and {by}' if by else ''}"
    total = format_amount(float(data.amounts[has_date].sum()), data.unit)
    first, last = bars.periods[0], bars.periods[-1]
    counts = f"{total} by {column.replace('_', ' ')} (UTC), {first} to {last}"
    limits = sentences(_undated_text(has_date), data.limits)

    def draw() -> Any:
        figure, axes = new_sheet(colors, 3.3, words, sentences(counts, data.query), limits)
        starts = [step.start_time.to_pydatetime() for step in bars.periods]
        widths = [(step.end_time - step.start_time).total_seconds() / 86_400 * 0.86 for step in bars.periods]

        # Negative amounts, as of `net`, are stacked below zero.
        tops, lows = [0.0] * len(starts), [0.0] * len(starts)
        fills = [*colors.series[: len(bars.series) - bars.has_rest], *([colors.rest] if bars.has_rest else [])]
        for fill, (name, amounts) in zip(fills, bars.series.items(), strict=True):
            heights = [float(amount) for amount in amounts]
            bottoms = [top if height >= 0 else bottom for height, top, bottom in zip(heights, tops, lows, strict=True)]
            axes.bar(starts, heights, widths, bottom=bottoms, align="edge", color=fill, label=short_label(name, 34))
            tops = [top + max(height, 0) for height, top in zip(heights, tops, strict=True)]
            lows = [bottom + min(height, 0) for height, bottom in zip(heights, lows, strict=True)]

        use_whole_numbers(axes.yaxis)
        axes.margins(x=0.01)
        if min(lows, default=0) == 0:
            axes.set_ylim(bottom=0)

        use_dates(axes)
        axes.set_ylabel(data.unit)
        style_axes(axes, colors, grid="y", series=len(bars.series) if by else 0)
        return figure

    return Figure(
        name="over_time", title=words, description=f"Stacked bars of {data.unit} by {bars.period}: {counts}.", draw=draw
    )


def date_column(data: PlotData, date: str | None) -> str:
    """Return `date`, or the first known column that has any; raises ValueError where no row has one."""
    names = [date] if date else [name for name in DATE_COLUMNS if name in data.frame.columns]
    column = next((name for name in names if is_plausible(data.frame[name]).any()), None)
    if column is None:
        raise ValueError(
            "no row has a date; add dates to matched lines with frame.code.blame(), or use commit_search, pickaxe or "
            "churn"
        )

    return column


def is_plausible(dates: Any) -> Any:
    """Return which dates are valid; the first days of 1970 come from unset clocks."""
    import pandas as pd

    return dates.notna() & (dates >= pd.Timestamp("1970-01-03", tz="UTC"))


def _undated_text(has_date: Any) -> str:
    count = int((~has_date).sum())
    if count:
        return f"Not shown: {count_of(count, 'row')} without a date, or dated at the beginning of 1970"
    return ""


class _PeriodBars(NamedTuple):
    """Amounts by period for each series; the last one is everything else if `has_rest`."""

    period: str
    periods: Any
    series: Mapping[str, Any]
    has_rest: bool


def _period_bars(data: PlotData, by: str | None, period: str | None, column: str, max_series: int) -> _PeriodBars:
    import pandas as pd

    has_date = is_plausible(data.frame[column])
    # Periods of pandas have no time zone. Converted to UTC first, or days would depend on the machine.
    dates = data.frame[column][has_date].dt.tz_convert("UTC").dt.tz_localize(None)
    name = _period_of(data.frame[has_date], column, period) or _fitting_period((dates.max() - dates.min()).days)
    frequency = PERIODS[name][0]
    steps = dates.dt.to_period(frequency)

    # All periods in between, since a gap without commits must be as wide as it lasted.
    periods = pd.period_range(steps.min(), steps.max(), freq=frequency)
    amounts = data.amounts[has_date]
    if by is None:
        return _PeriodBars(
            period=name,
            periods=periods,
            series={"": amounts.groupby(steps).sum().reindex(periods, fill_value=0.0)},
            has_rest=False,
        )

    groups = text_column(data.frame, by)[has_date]
    totals = amounts.groupby(groups).sum()
    heads, other_groups = largest_first(totals[totals != 0], max_series)
    sums = amounts.groupby([groups, steps]).sum()
    series: dict[str, Any] = {head: sums[head].reindex(periods, fill_value=0.0) for head in heads}
    if other_groups:
        in_rest = groups.isin(list(other_groups))
        other_amounts = amounts[in_rest].groupby(steps[in_rest]).sum()
        series[others_label(len(other_groups))] = other_amounts.reindex(periods, fill_value=0.0)

    return _PeriodBars(period=name, periods=periods, series=series, has_rest=bool(other_groups))


def _period_of(frame: Any, column: str, period: str | None) -> str | None:
    """Return the requested period, else the period of the rows; raise ValueError if they don't fit."""
    if column != "period" or "period_end" not in frame.columns:
        return period

    days = float(((frame["period_end"] - frame["period"]).dt.total_seconds() / 86_400).median())
    # By the median, because the first and last period of an answer may be cut at its dates.
    row_period = min(PERIODS, key=lambda name: abs(PERIODS[name][1] - days))
    if period not in {None, row_period, *_LONGER[row_period]}:
        raise ValueError(f"each row is a {row_period}, which can't be divided into a {period}; pass a longer period")

    return period or row_period


def _fitting_period(days: int) -> str:
    return next((name for name, (_, length) in PERIODS.items() if days / length <= _MAX_BARS), "year")


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
    bounds = sorted(set(np.quantile(positive, _QUANTILES, method="nearest").tolist())) if len(positive) else []
    heading = title or f"{data.unit.capitalize()} by day"
    total = format_amount(float(recent.sum()), data.unit)
    counts = f"{total} by {column.replace('_', ' ')} (UTC) on {count_of(len(recent), 'day')}"
    empty_years = [str(year) for year in range(drawn_years[-1], last_year) if year not in drawn_years]
    limits = sentences(
        f"Not shown: {format_amount(float(older.sum()), data.unit)} before {drawn_years[-1]}" if len(older) else "",
        f"Years without any are left out: {', '.join(empty_years)}" if empty_years else "",
        _undated_text(has_date),
        data.limits,
    )

    def draw() -> Any:
        # The height of the squares at the width of the sheet; a higher sheet would have a gap below the title.
        rows = len(drawn_years) * _YEAR_HEIGHT + 2.5
        height_in = 0.1 + rows * 0.976 * WIDTH_IN / _YEAR_WIDTH
        figure, axes = new_sheet(colors, height_in, heading, sentences(counts, data.query), limits)
        _draw_days(axes, colors, drawn_years, recent, bounds)
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


def _draw_days(axes: Any, colors: Theme, years: Sequence[int], totals: Any, bounds: Sequence[float]) -> None:
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
    return [Rectangle((week + 0.08, top + weekday + 0.08), 0.84, 0.84) for week, weekday in cells]


def _draw_legend(axes: Any, colors: Theme, bounds: Sequence[float], top: float) -> None:
    from matplotlib.patches import Rectangle

    steps = [(colors.empty, "0")]
    lower = 1.0
    for index, bound in enumerate([*bounds, None]):
        if bound is None:
            text = f"{format_number(lower)}+"
        else:
            text = format_number(bound) if bound == lower else f"{format_number(lower)}-{format_number(bound)}"
        steps.append((colors.steps[index], text))
        lower = (bound or 0) + 1

    x = 0.0
    for color, text in steps:
        axes.add_patch(Rectangle((x, top + 0.08), 0.84, 0.84, facecolor=color, linewidth=0))
        axes.text(x + 1.2, top + 0.5, text, fontsize=8, color=colors.muted, va="center")
        x += 2.2 + 0.62 * len(text)
