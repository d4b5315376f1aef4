"""A calendar: every day a square, the darker (in dark: the lighter) the more."""

from __future__ import annotations

from typing import Any

from sourcelight.lab.plots.figure import Figure
from sourcelight.lab.plots.over_time import believed, dated
from sourcelight.lab.plots.sources import number, sentences, source_of
from sourcelight.lab.plots.themes import ThemeName, finish, sheet, theme_of

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
