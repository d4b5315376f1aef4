"""Stacked bars over time.

A calendar: every day a square, the darker (in dark: the lighter) the more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcelight.lab.plots.figure import (
    Figure,
    PlotData,
    ThemeName,
    column_of,
    finish,
    head_and_rest,
    number,
    sentences,
    sheet,
    short,
    source_of,
    theme_of,
    whole_numbers,
)

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


def dated(drawn: PlotData, date: str | None) -> str:
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
    drawn: PlotData, by: str | None, period: str | None, date: str | None, most: int
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


_DAYS = ("Mon", "", "Wed", "", "Fri", "", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ROWS = 8.6
_PARTS = (0.25, 0.5, 0.75, 0.9)


def activity(
    source: Any,
    *,
    years: int = 4,
    date: str | None = None,
    value: str | None = None,
    title: str | None = None,
    theme: ThemeName = "light",
) -> Figure:
    """Draw a calendar of commits (or matches, or lines) by day, a row per year, the newest first.

    Parameters
    ----------
    source
        A frame with dates, such as of `commit_search` or ``code.blame()``, or a `SearchResult` of commits or diffs.
    years
        Most years; what is older is counted below.
    date
        Column of dates; None: as for `over_time`.
    value, title, theme
        As for `matches`.

    Raises
    ------
    ValueError
        When no row has a date.
    """
    import numpy as np

    if years < 1:
        raise ValueError(f"years is at least 1, not {years}")
    look, drawn = theme_of(theme), source_of(source, value)
    column = dated(drawn, date)
    known = believed(drawn.frame[column])
    days = drawn.frame[column][known].dt.tz_convert("UTC").dt.tz_localize(None).dt.normalize()
    totals: Any = drawn.amounts[known].groupby(days).sum()
    last = int(totals.index.max().year)
    shown = totals[totals.index.year > last - years]
    older = totals[totals.index.year <= last - years]
    rows = sorted({int(year) for year in shown.index.year}, reverse=True)
    bounds = sorted(set(np.quantile(shown[shown > 0], _PARTS, method="nearest").tolist())) if (shown > 0).any() else []
    words = title or f"{drawn.unit.capitalize()} by day"
    counted = f"{number(float(shown.sum()))} {drawn.unit} by {column.replace('_', ' ')} (UTC) on {len(shown):,} days"
    empty = [year for year in range(rows[-1], last) if year not in rows]
    left = sentences(
        f"Not shown: {number(float(older.sum()))} {drawn.unit} before {rows[-1]}" if len(older) else "",
        f"Years without any are left out: {', '.join(map(str, empty))}" if empty else "",
        f"Rows without a date, or dated at the beginning of 1970: {int((~known).sum()):,}" if not known.all() else "",
        drawn.limits,
    )

    def draw() -> Any:
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        tiles, fills = [], []
        figure, axes = sheet(look, 0.45 + 1.34 * len(rows), words, sentences(counted, drawn.told), left)
        for place, year in enumerate(rows):
            top = place * _ROWS
            start = np.datetime64(f"{year}-01-01")
            first = (int(start.astype("datetime64[D]").astype(int)) + 3) % 7  # 1970-01-01 was a Thursday
            length = int((np.datetime64(f"{year + 1}-01-01") - start).astype(int))
            held = {int((day.to_datetime64() - start).astype("timedelta64[D]").astype(int)): float(v)
                    for day, v in shown[shown.index.year == year].items()}  # fmt: skip
            for day in range(length):
                week, weekday = divmod(first + day, 7)
                amount = held.get(day, 0.0)
                step = sum(amount > bound for bound in bounds)
                fill = look.steps[min(step, len(look.steps) - 1)] if amount > 0 else look.empty
                tiles.append(Rectangle((week + 0.08, top + weekday + 0.08), 0.84, 0.84))
                fills.append(fill)
            for month in range(12):
                at = int((np.datetime64(f"{year}-{month + 1:02}-01") - start).astype(int))
                axes.text(
                    (first + at) // 7 + 0.1, top - 0.35, _MONTHS[month], fontsize=7.5, color=look.muted, va="bottom"
                )
            for weekday, name in enumerate(_DAYS):
                axes.text(-0.4, top + weekday + 0.5, name, fontsize=7, color=look.muted, ha="right", va="center")
            axes.text(-3.1, top + 3.5, str(year), fontsize=10, weight="bold", color=look.text, ha="right", va="center")
        # One collection: thousands of single patches take seconds.
        axes.add_collection(PatchCollection(tiles, facecolors=fills, linewidths=0))
        _legend(axes, look, bounds, len(rows) * _ROWS - 0.9)
        axes.set_xlim(-6.2, 54)
        axes.set_ylim(len(rows) * _ROWS + 0.6, -1.9)
        axes.set_aspect("equal", adjustable="box", anchor="W")
        axes.set_xticks([])
        axes.set_yticks([])
        finish(axes, look)
        return figure

    busiest = f"the most on {totals.idxmax():%Y-%m-%d}" if len(totals) else "none"
    return Figure("activity", words, f"A calendar of {counted}; {busiest}.", draw)


def _legend(axes: Any, look: Any, bounds: list[float], top: float) -> None:
    from matplotlib.patches import Rectangle

    steps = [(look.empty, "0")]
    low = 1.0
    for place, bound in enumerate([*bounds, None]):
        words = (
            f"{number(low)}+" if bound is None else number(bound) if bound == low else f"{number(low)}-{number(bound)}"
        )
        steps.append((look.steps[place], words))
        low = (bound or 0) + 1
    x = 0.0
    for colour, words in steps:
        axes.add_patch(Rectangle((x, top + 0.08), 0.84, 0.84, facecolor=colour, linewidth=0))
        axes.text(x + 1.2, top + 0.5, words, fontsize=8, color=look.muted, va="center")
        x += 2.2 + 0.62 * len(words)
