"""Amounts over time: stacked bars by day, week, month, quarter or year.

Without a requested period, rows of periods keep theirs, and others get the shortest one that gives a readable number of
bars. Periods are those of UTC, and those without rows are drawn as gaps. Dates at the very beginning of 1970 come from
unset clocks: such rows are left out, and a note counts them. Negative amounts are stacked below zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sourcelight.core.markup import count_of, join_words
from sourcelight.lab.plots import labels
from sourcelight.lab.plots.data import PlotData, plot_data, sentences
from sourcelight.lab.plots.figure import Figure, follows_theme
from sourcelight.lab.plots.sheet import new_sheet, style_axes, use_dates, use_whole_numbers
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
"""Columns of dates, in the order in which they are looked for."""

_MAX_BARS = 72
"""Bars that fit beside each other on a sheet: six years of months."""

_SHEET_HEIGHT_IN = 3.3
_BAR_SHARE = 0.86
"""Width of a bar as a share of its period."""

_LEGEND_CHARS = 34
"""Characters of a name in the legend."""


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
    bars = _period_bars(data, by, period=period, column=column, max_series=len(colors.series))
    heading = title or f"{data.unit.capitalize()} by {bars.period}"
    if by and not title:
        heading += f" and {by}"
    total = labels.format_amount(float(data.amounts[has_date].sum()), data.unit)
    first, last = bars.periods[0], bars.periods[-1]
    counts = f"{total} by {column.replace('_', ' ')} (UTC), {first} to {last}"
    limits = sentences(undated_text(has_date), data.limits)

    def draw() -> Any:
        figure, axes = new_sheet(colors, _SHEET_HEIGHT_IN, heading, sentences(counts, data.query), limits)
        lowest = _draw_bars(axes, colors, bars)
        use_whole_numbers(axes.yaxis)
        axes.margins(x=0.01)
        if lowest == 0:
            axes.set_ylim(bottom=0)

        use_dates(axes)
        axes.set_ylabel(data.unit)
        style_axes(axes, colors, grid="y", series=len(bars.series) if by else 0)
        return figure

    return Figure(
        name="over_time",
        title=heading,
        description=f"Stacked bars of {data.unit} by {bars.period}: {counts}.",
        draw=draw,
    )


def date_column(data: PlotData, date: str | None) -> str:
    """Return `date`, or the first known column that has any; raises ValueError where no row has one."""
    names = [date] if date else [name for name in DATE_COLUMNS if name in data.frame.columns]
    for name in names:
        if is_plausible(data.frame[name]).any():
            return name

    raise ValueError(
        "no row has a date; add dates to matched lines with frame.code.blame(), or use commit_search, pickaxe or churn"
    )


def is_plausible(dates: Any) -> Any:
    """Return which dates are valid; the first days of 1970 come from unset clocks."""
    import pandas as pd

    return dates.notna() & (dates >= pd.Timestamp("1970-01-03", tz="UTC"))


def undated_text(has_date: Any) -> str:
    """Return the note about rows without a plausible date; empty if there are none."""
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


def _draw_bars(axes: Any, colors: Theme, bars: _PeriodBars) -> float:
    """Draw the series on top of each other; return the lowest end of a bar, below zero for negative amounts."""
    starts = [step.start_time.to_pydatetime() for step in bars.periods]
    days = [(step.end_time - step.start_time).total_seconds() / 86_400 for step in bars.periods]
    widths = [_BAR_SHARE * length for length in days]
    fills = list(colors.series[: len(bars.series)])
    if bars.has_rest:
        fills[len(bars.series) - 1 :] = [colors.rest]

    # Amounts stack upwards from zero, negative ones, as of `net`, downwards.
    tops, lows = [0.0] * len(starts), [0.0] * len(starts)
    for fill, (name, amounts) in zip(fills, bars.series.items(), strict=True):
        heights = [float(amount) for amount in amounts]
        bottoms: list[float] = []
        for index, height in enumerate(heights):
            if height >= 0:
                bottoms.append(tops[index])
                tops[index] += height
            else:
                bottoms.append(lows[index])
                lows[index] += height
        label = labels.short_label(name, _LEGEND_CHARS)
        axes.bar(starts, heights, widths, bottom=bottoms, align="edge", color=fill, label=label)

    return min(lows, default=0.0)


def _period_bars(data: PlotData, by: str | None, *, period: str | None, column: str, max_series: int) -> _PeriodBars:
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

    groups = labels.text_column(data.frame, by)[has_date]
    totals = amounts.groupby(groups).sum()
    heads, other_groups = labels.largest_first(totals[totals != 0], max_series)
    sums = amounts.groupby([groups, steps]).sum()
    series: dict[str, Any] = {head: sums[head].reindex(periods, fill_value=0.0) for head in heads}
    if other_groups:
        in_rest = groups.isin(list(other_groups))
        other_amounts = amounts[in_rest].groupby(steps[in_rest]).sum()
        series[labels.others_label(len(other_groups))] = other_amounts.reindex(periods, fill_value=0.0)

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
    """Return the shortest period by which a number of days takes at most `_MAX_BARS` bars."""
    for name, (_, length) in PERIODS.items():
        if days / length <= _MAX_BARS:
            return name
    return "year"
