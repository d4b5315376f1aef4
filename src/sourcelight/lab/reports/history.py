"""Commits as reports of both kinds show them: columns to group by, sums, and tables and figures of activity.

A bar is a period, and its length follows from the time of the commits, so that a figure has some 70 bars at most.
Periods are in UTC and weeks begin on Monday; days of the week and hours are those of each author's own clock. Sums say
what they leave out: merges have no lines of their own, and a service may not send some numbers at all. Bots count as
commits and never as people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime
from typing import Any, TypeAlias

from sourcelight.core.markup.counts import count_of
from sourcelight.lab.plots.charts import period_bars, punch_card, size_histogram, stacked_bars
from sourcelight.lab.reports.html import ThemedFigure
from sourcelight.lab.reports.model import LINE_SUMS, Figure, Frame, Metric, ReportTable

PERIODS: Mapping[str, str] = {"day": "D", "week": "W-SUN", "month": "M", "quarter": "Q", "year": "Y"}
"""Names of periods of pandas. ``W-SUN``: weeks end on Sunday, and so begin on Monday, as in ISO 8601."""

Time: TypeAlias = Any
"""A time or a period of pandas, which is loaded on first use and has no types here."""

NOT_PROVIDED = "not provided by this service"

_DAYS: Mapping[str, int] = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}
"""Days of each period, about: enough to tell how many bars a figure has."""

_DAY_S = 86_400
_FITTING_S = (("day", 60 * _DAY_S), ("week", 400 * _DAY_S), ("month", 6 * 365 * _DAY_S))
"""The longest time, in seconds, for which each period gives at most some 70 bars; longer ones have quarters."""

_MAX_SERIES = 6
"""Parts of a bar: five people, and everyone else."""

_MAX_BARS = 120
"""Bars of a figure, which is as wide as a page."""

_REST = "everyone else"


def commits_frame(commits: Frame, period: str) -> Frame:
    """Return commits with what reports group by.

    Adds ``person`` (name and address), ``period`` (start of it, by committer date if there is one, UTC), ``weekday``
    (0: Monday) and ``hour`` of the author's own clock, ``merge``, and ``size`` (lines added and removed).
    """
    import pandas as pd

    frame = commits.copy()
    frame["person"] = frame["author"].astype("str") + " <" + frame["author_email"].astype("str") + ">"
    frame = add_periods(frame, frame["commit_date"].fillna(frame["author_date"]), period)
    local = frame["author_date"] + pd.to_timedelta(frame["author_utc_offset_min"].fillna(0).astype("int64"), unit="min")
    frame["weekday"] = local.dt.day_of_week.astype("int64")
    frame["hour"] = local.dt.hour.astype("int64")
    frame["merge"] = [parents is not None and len(parents) > 1 for parents in frame["parents"]]
    frame["size"] = frame["additions"] + frame["deletions"]
    frame["bot"] = frame["bot"].fillna(value=False).astype("bool")
    return frame


def add_periods(frame: Frame, dates: Frame, period: str) -> Frame:
    """Add ``period`` to rows: the start, in UTC, of the period of each of their dates."""
    start = dates.dt.tz_convert(None).dt.to_period(PERIODS[period]).dt.start_time
    frame["period"] = start.dt.tz_localize("UTC").astype("datetime64[us, UTC]")
    return frame


def fitting_period(commits: Frame) -> str:
    """Return the length of bars of activity that fits the time of some commits."""
    dates = commits["commit_date"].dropna()
    span_s = (dates.max() - dates.min()).total_seconds() if len(dates) else 0.0
    return next((name for name, limit_s in _FITTING_S if span_s <= limit_s), "quarter")


def total(frame: Frame, column: str) -> tuple[int | None, str]:
    """Return the sum of a column and what it leaves out, or None when no row has a value."""
    has_value = frame[column].notna()
    if len(frame) and not has_value.any():
        return None, NOT_PROVIDED

    missing = int((~has_value).sum())
    excludes = ""
    if missing:
        excludes = f"{count_of(missing, 'commit')} where this is unknown"
    return int(frame.loc[has_value, column].sum()), excludes


def line_metrics(frame: Frame, counts: str) -> list[Metric]:
    """Return lines added and removed."""
    metrics = []
    for column, name in (("additions", "lines added"), ("deletions", "lines removed")):
        value, unknown = total(frame, column)
        excludes = "merges, which have no changed lines of their own"
        if unknown:
            excludes += f"; {unknown}"
        metrics.append(Metric(name=name, value=value, counts=counts, excludes=f"{excludes}.", source="commits"))
    return metrics


def empty_metrics(commits: Frame) -> tuple[Metric, ...]:
    """Return the numbers of a report without any commit."""
    return (
        Metric(
            name="commits", value=len(commits), counts="Commits that the report counts.", excludes="", source="commits"
        ),
        Metric(
            name="merges",
            value=0,
            counts="Commits with two or more parents.",
            excludes="",
            source="commits",
            filters={"merge": True},
        ),
    )


@dataclass(frozen=True, slots=True)
class Span:
    """The time that a report is about, where it is known: a period that reaches out of it is partial."""

    first: datetime | None = None
    last: datetime | None = None

    def cuts(self, start: Time, end: Time) -> bool:
        """Return whether the range of the report contains only a part of a period; `end` is exclusive."""
        import pandas as pd

        # As times of pandas, which know years beyond 9999: a broken clock makes commits of such periods.
        starts_before = self.first is not None and start < pd.Timestamp(self.first)
        ends_after = self.last is not None and end > pd.Timestamp(self.last)
        return bool(starts_before or ends_after)


def activity(commits: Frame, period: str, span: Span = Span()) -> tuple[ReportTable, Figure]:
    """Return commits by period, and who wrote them; a period that `span` does not hold as a whole is marked."""
    # Bots become null, which `nunique` doesn't count.
    humans = commits["person"].where(~commits["bot"])
    frame = (
        commits.assign(_human=humans)
        .groupby("period", observed=True)
        .agg(
            commits=("commit", "size"),
            merges=("merge", "sum"),
            people=("_human", "nunique"),
            **LINE_SUMS,
        )
        .reset_index()
    )
    ends = _ends(frame["period"], period)
    frame["partial"] = [span.cuts(start, end) for start, end in zip(frame["period"], ends, strict=True)]
    table = ReportTable(
        name="activity",
        title=f"Activity by {period}",
        frame=frame.sort_values("period", ascending=False).reset_index(drop=True),
        counts=f"Commits by committer date (UTC) in the {period} that begins at period, including merges; "
        "authors except bots; lines of commits that aren't merges.",
        excludes="bots among people; changed lines of merges.",
        source="commits",
        keys=("period",),
        max_rows=24,
    )
    return table, _activity_figure(commits, period, span)


def _ends(starts: Frame, period: str) -> list[Time]:
    """Return the ends of periods, excluded, in UTC."""
    steps = starts.dt.tz_convert(None).dt.to_period(PERIODS[period])
    return list((steps + 1).dt.start_time.dt.tz_localize("UTC"))


def _activity_figure(commits: Frame, period: str, span: Span) -> Figure:
    """Draw bars of commits by period, or by a longer period if they don't fit on a page."""
    dates = commits["period"].dt.tz_convert(None)
    period = _drawn_period(dates, period)
    names = _names_of_busiest(commits)
    counts = _count_by_period(dates, commits["person"].map(names).fillna(_REST), period)
    series = {name: counts[name].tolist() for name in [*names.values(), _REST] if name in counts}
    steps = [(_start(step), _start(step + 1)) for step in counts.index]
    partial = [span.cuts(start, end) for start, end in steps]

    title = f"Commits by {period}"
    description = f"Stacked bars of commits by {period}: the {len(names)} people with the most, and everyone else."
    if any(partial):
        title += " (hatched: partial)"
        description += f" Hatched: a {period} that is only partly in the report."

    return ThemedFigure(
        name="activity",
        title=title,
        description=description,
        draw=lambda: period_bars(steps, series, "commits", partial, _REST),
    )


def _drawn_period(dates: Frame, period: str) -> str:
    """Return the period of the bars: the given one, or the next longer one of which few enough fit the dates."""
    days = (dates.max() - dates.min()).days if dates.notna().any() else 0
    # A history of ten years has 3,650 days: such bars would be thinner than a pixel.
    names = list(PERIODS)
    for name in names[names.index(period) :]:
        if days / _DAYS[name] <= _MAX_BARS:
            return name
    return "year"


def _names_of_busiest(commits: Frame) -> dict[str, str]:
    """Return the names, for a figure, of the people with the most commits, by person; the busiest first."""
    people = commits.groupby(["author", "author_email", "person"], observed=True).size().rename("commits").reset_index()
    # Stable: people with equally many commits stay in the order of their names, so that a figure never changes.
    busiest = people.sort_values("commits", ascending=False, kind="stable").head(_MAX_SERIES - 1)
    return dict(zip(busiest["person"], _distinct_names(busiest), strict=True))


def _count_by_period(dates: Frame, people: Frame, period: str) -> Frame:
    """Count commits: a row for each period, a column for each person."""
    import pandas as pd

    counts = pd.crosstab(dates.dt.to_period(PERIODS[period]), people)
    if not len(counts):
        return counts

    # Periods without a commit get a bar of no height, so that the axis of time is to scale.
    every_period = pd.period_range(counts.index.min(), counts.index.max(), freq=PERIODS[period])
    return counts.reindex(every_period, fill_value=0)


def _start(step: Time) -> datetime:
    """Return the start of a pandas period in UTC, clipped to the years of Python's datetimes."""
    if step.year > MAXYEAR:
        return datetime.max.replace(tzinfo=UTC)
    start: datetime = step.start_time.tz_localize("UTC").to_pydatetime()
    return start


def clock(commits: Frame) -> tuple[ReportTable, Figure]:
    """Return commits by weekday and hour, in the authors' local time."""
    with_time_zone = commits[commits["author_utc_offset_min"].notna()]
    counts = with_time_zone.groupby(["weekday", "hour"], observed=True).size()
    discs = [[int(counts.get((weekday, hour), 0)) for hour in range(24)] for weekday in range(7)]

    unknown = len(commits) - len(with_time_zone)
    excludes = ""
    if unknown:
        excludes = f"{count_of(unknown, 'commit')} with an unknown time zone."

    table = ReportTable(
        name="clock",
        title="Weekday and hour",
        frame=counts.rename("commits").reset_index(),
        counts="Commits by weekday (0 is Monday) and hour of the author date on the author's own clock.",
        excludes=excludes,
        source="commits",
        keys=("weekday", "hour"),
        max_rows=0,
    )
    figure = ThemedFigure(
        name="clock",
        title="Commits by weekday and hour, on the author's own clock",
        description="A punch card: one disc per weekday and hour; a larger disc means more commits.",
        draw=lambda: punch_card(discs),
    )
    return table, figure


def change_sizes(commits: Frame) -> Figure:
    """Return the sizes of commits."""
    values = commits.loc[~commits["merge"] & commits["size"].notna(), "size"].astype("int64").tolist()
    return ThemedFigure(
        name="sizes",
        title="Commits by lines changed",
        description=f"Bars: how many of {len(values):,} commits change how many lines; merges are left out.",
        draw=lambda: size_histogram(values),
    )


def churn_figure(name: str, title: str, frame: Frame, column: str, limit: int = 12) -> Figure:
    """Draw bars of added and removed lines for the first rows of a frame.

    Parameters
    ----------
    column
        The column with the labels of the bars. Of several repositories, a label begins with the repository's name.
    limit
        Maximum number of bars.
    """
    top = frame.head(limit)
    labels = [str(value) for value in top[column]]
    repositories = [str(repository) for repository in frame["repository"].unique()] if "repository" in frame else []
    if len(repositories) > 1:
        # Every repository has a `src/`.
        short_names = _distinct_endings(repositories)
        names_of_rows = [short_names[str(repository)] for repository in top["repository"]]
        labels = [f"{short_name}: {label}" for short_name, label in zip(names_of_rows, labels, strict=True)]

    added = [float(value) for value in top["additions"].fillna(0)]
    removed = [float(value) for value in top["deletions"].fillna(0)]
    busiest = ", ".join(labels[:3]) or "nothing"
    return ThemedFigure(
        name=name,
        title=title,
        description=f"Bars of lines added and removed: {busiest} have the most.",
        draw=lambda: stacked_bars(labels, {"additions": added, "deletions": removed}, "lines"),
    )


def people_figure(name: str, title: str, description: str, people: Frame, column: str) -> Figure:
    """Draw a bar for each person of a frame.

    Parameters
    ----------
    column
        The column with the lengths of the bars; its name is their unit.
    """
    labels = _distinct_names(people)
    values = [float(value) for value in people[column]]
    return ThemedFigure(
        name=name,
        title=title,
        description=description,
        draw=lambda: stacked_bars(labels, {column: values}, column),
    )


def _distinct_endings(names: Sequence[str]) -> dict[str, str]:
    """Return the last part of each name, such as ``httpx`` of ``encode/httpx``, or the name if two have the same."""
    endings = {name: name.rpartition("/")[2] for name in names}
    counts = Counter(endings.values())
    return {name: ending if counts[ending] == 1 else name for name, ending in endings.items()}


def _distinct_names(people: Frame) -> list[str]:
    """Return names of authors for a figure, with the address where two have the same."""
    authors, addresses = people["author"].astype("str"), people["author_email"].astype("str")
    is_shared = authors.duplicated(keep=False)
    names = []
    for author, address, needs_address in zip(authors, addresses, is_shared, strict=True):
        names.append(f"{author} <{address}>" if needs_address else author)
    return names
