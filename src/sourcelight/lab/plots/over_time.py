"""Stacked bars over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcelight.lab.plots.figure import Figure
from sourcelight.lab.plots.sources import Source, column_of, head_and_rest, number, sentences, source_of
from sourcelight.lab.plots.themes import ThemeName, finish, sheet, short, theme_of, whole_numbers

PERIODS: Mapping[str, tuple[str, float]] = {
    "day": ("D", 1), "week": ("W-SUN", 7), "month": ("M", 30.4), "quarter": ("Q", 91.3), "year": ("Y", 365.25),
}  # fmt: skip
_HOLDS: Mapping[str, tuple[str, ...]] = {
    "day": ("week", "month", "quarter", "year"), "week": (), "month": ("quarter", "year"), "quarter": ("year",),
    "year": (),
}  # fmt: skip
"""Longer periods that each period lies in as a whole."""
DATES = ("period", "commit_date", "blame_commit_date", "last_commit_date", "author_date")
_MOST_BARS = 72


def over_time(
    source: Any,
    by: str | None = None,
    *,
    period: str | None = None,
    date: str | None = None,
    value: str | None = None,
    title: str | None = None,
    theme: ThemeName = "light",
) -> Figure:
    """Draw how many matches (commits, lines) fall into which day, week, month, quarter or year.

    Matched lines have no date of their own: ``result.matches.code.blame()`` gives them the commit that brought them.

    Parameters
    ----------
    source
        A `SearchResult` of commits or diffs, or a frame with dates: of ``code.blame()``, `commit_search`, `churn`,
        `pickaxe`.
    by
        Column by which bars are divided, such as ``repository`` or ``language``: the five values with the most, and
        the rest.
    period
        ``day``, ``week``, ``month``, ``quarter`` or ``year``; None: that of rows which are periods already,
        else the finest that gives at most 72 bars.
    date
        Column of dates; None: the first there is of period, commit_date, blame_commit_date, last_commit_date and
        author_date that has any.
    value, title, theme
        As for `matches`.

    Raises
    ------
    ValueError
        When no row has a date, when `value` can't be added up, and when rows that are periods already are shorter or
        longer than `period` can tell apart.
    """
    look, drawn = theme_of(theme), source_of(source, value)
    if period is not None and period not in PERIODS:
        raise ValueError(f"period is one of {', '.join(PERIODS)}, not {period!r}")
    column, series, others, every, chosen = _series(drawn, by, period, date, len(look.series))
    known = believed(drawn.frame[column])
    words = title or f"{drawn.unit.capitalize()} by {chosen}{f' and {by}' if by else ''}"
    total = number(float(drawn.amounts[known].sum()))
    said = f"{total} {drawn.unit} by {column.replace('_', ' ')} (UTC), {every[0]} to {every[-1]}"
    missing = int((~known).sum())
    left = (
        f"Not shown: {missing:,} {'row' if missing == 1 else 'rows'} without a date, or dated at the beginning of 1970"
        if missing
        else ""
    )

    def draw() -> Any:
        figure, axes = sheet(look, 3.3, words, sentences(said, drawn.told), sentences(left, drawn.limits))
        starts = [step.start_time.to_pydatetime() for step in every]
        widths = [(step.end_time - step.start_time).total_seconds() / 86_400 * 0.86 for step in every]
        above, below = [0.0] * len(every), [0.0] * len(every)
        colours = [*look.series[: len(series) - bool(others)], *([look.rest] if others else [])]
        for colour, (name, heights) in zip(colours, series.items(), strict=True):
            numbers = [float(each) for each in heights]
            bottoms = [up if each >= 0 else down for each, up, down in zip(numbers, above, below, strict=True)]
            axes.bar(starts, numbers, widths, bottom=bottoms, align="edge", color=colour, label=short(name, 34))
            above = [up + max(each, 0) for each, up in zip(numbers, above, strict=True)]
            below = [down + min(each, 0) for each, down in zip(numbers, below, strict=True)]
        whole_numbers(axes.yaxis)
        axes.margins(x=0.01)
        if min(below, default=0) == 0:
            axes.set_ylim(bottom=0)
        axes.xaxis_date()
        _dated(axes)
        axes.set_ylabel(drawn.unit)
        finish(axes, look, grid="y", series=len(series) if by else 0)
        return figure

    return Figure("over_time", words, f"Stacked bars of {drawn.unit} by {chosen}: {said}.", draw)


def dated(drawn: Source, date: str | None) -> str:
    """The column of dates to go by: `date`, or the first known one that has any; ValueError where there is none."""
    names = [date] if date else [name for name in DATES if name in drawn.frame.columns]
    column = next((name for name in names if believed(drawn.frame[name]).any()), None)
    if column is None:
        raise ValueError(
            "no row has a date; of lines that a search found, frame.code.blame() gives the dates, and commit_search, "
            "pickaxe and churn have their own"
        )
    return column


def believed(dates: Any) -> Any:
    """Which dates are there and not the zero of computers' clocks, which stands for a date that nobody knew."""
    import pandas as pd

    return dates.notna() & (dates >= pd.Timestamp("1970-01-03", tz="UTC"))


def _series(
    drawn: Source, by: str | None, period: str | None, date: str | None, most: int
) -> tuple[str, dict[str, Any], list[str], Any, str]:
    """Numbers by period: the column of dates, series, who is in the last one, periods, and their kind."""
    import pandas as pd

    column = dated(drawn, date)
    known = believed(drawn.frame[column])
    when = drawn.frame[column][known].dt.tz_convert("UTC").dt.tz_localize(None)
    chosen = _period(drawn.frame[known], column, period) or _fitting((when.max() - when.min()).days)
    steps = when.dt.to_period(PERIODS[chosen][0])
    every = pd.period_range(steps.min(), steps.max(), freq=PERIODS[chosen][0])
    amounts = drawn.amounts[known]
    if by is None:
        return column, {"": amounts.groupby(steps).sum().reindex(every, fill_value=0.0)}, [], every, chosen
    kinds = column_of(drawn.frame, by)[known]
    totals = amounts.groupby(kinds).sum()
    heads, others = head_and_rest(totals[totals != 0], most)
    sums = amounts.groupby([kinds, steps]).sum()
    series: dict[str, Any] = {name: sums[name].reindex(every, fill_value=0.0) for name in heads}
    if others:
        rest = kinds.isin(list(others))
        series[f"{len(others):,} others"] = amounts[rest].groupby(steps[rest]).sum().reindex(every, fill_value=0.0)
    return column, series, list(others), every, chosen


def _period(frame: Any, column: str, period: str | None) -> str | None:
    """The period asked for, or that of rows which are one already; ValueError where these can't be put together so."""
    if column != "period" or "period_end" not in frame.columns:
        return period
    days = float(((frame["period_end"] - frame["period"]).dt.total_seconds() / 86_400).median())
    own = min(PERIODS, key=lambda name: abs(PERIODS[name][1] - days))
    if period not in {None, own, *_HOLDS[own]}:
        raise ValueError(f"the rows are of a {own} each: they can't be told apart by {period}")
    return period or own


def _fitting(days: int) -> str:
    return next((name for name, (_, length) in PERIODS.items() if days / length <= _MOST_BARS), "year")


def _dated(axes: Any) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=9)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
