"""Commits of both reports: their columns, activity over time, and notices of the tools that gave them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime
from typing import TYPE_CHECKING, Any

from sourcelight.core.markup.counts import count_of
from sourcelight.lab.plots.charts import period_bars, punch_card, size_histogram, stacked_bars
from sourcelight.lab.reports.html import ThemedFigure
from sourcelight.lab.reports.model import Figure, Frame, Metric, ReportTable

if TYPE_CHECKING:
    pass

# `W-SUN`: weeks end on Sunday, and so begin on Monday, as in ISO 8601.
PERIODS: Mapping[str, str] = {"day": "D", "week": "W-SUN", "month": "M", "quarter": "Q", "year": "Y"}
NOT_PROVIDED = "not provided by this service"
_DAYS: Mapping[str, int] = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}
_FITTING_S = (("day", 60 * 86_400), ("week", 400 * 86_400), ("month", 6 * 365 * 86_400))
_MAX_SERIES = 6
_MAX_STEPS = 120
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
    excludes = f"{missing:,} commits where this is unknown" if missing else ""
    return int(frame.loc[has_value, column].sum()), excludes


def line_metrics(frame: Frame, counts: str) -> list[Metric]:
    """Return lines added and removed."""
    metrics = []
    for column in ("additions", "deletions"):
        value, left_out = total(frame, column)
        name = "lines added" if column == "additions" else "lines removed"
        merges = "merges, which have no changed lines of their own"
        metrics.append(
            Metric(
                name=name,
                value=value,
                counts=counts,
                excludes=f"{'; '.join(filter(None, (merges, left_out)))}.",
                source="commits",
            )
        )
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

    first: Any = None
    last: Any = None

    def cuts(self, start: Any, end: Any) -> bool:
        """Return whether the range of the report contains only a part of a period; `end` is exclusive."""
        import pandas as pd

        # As times of pandas, which know years beyond 9999: a broken clock makes commits of such periods.
        first, last = (None if time is None else pd.Timestamp(time) for time in (self.first, self.last))
        return bool((first is not None and start < first) or (last is not None and end > last))


def activity(commits: Frame, period: str, span: Span = Span()) -> tuple[ReportTable, Figure]:
    """Return commits by period, and who wrote them; a period that `span` does not hold as a whole is marked."""
    grouped = commits.assign(_human=commits["person"].where(~commits["bot"])).groupby("period", observed=True)
    frame = grouped.agg(
        commits=("commit", "size"),
        merges=("merge", "sum"),
        people=("_human", "nunique"),
        additions=("additions", "sum"),
        deletions=("deletions", "sum"),
    ).reset_index()
    period_ends = _ends(frame["period"], period)
    frame["partial"] = [span.cuts(start, end) for start, end in zip(frame["period"], period_ends, strict=True)]
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
    return table, _over_time(commits, period, span)


def _ends(starts: Frame, period: str) -> list[Any]:
    """Return the ends of periods, excluded, in UTC."""
    steps = starts.dt.tz_convert(None).dt.to_period(PERIODS[period])
    return list((steps + 1).dt.start_time.dt.tz_localize("UTC"))


def _over_time(commits: Frame, period: str, span: Span) -> Figure:
    """Draw bars of commits by period, or by a longer period if they don't fit on a page."""
    import pandas as pd

    dates = commits["period"].dt.tz_convert(None)
    days = (dates.max() - dates.min()).days if dates.notna().any() else 0
    longer_periods = list(PERIODS)[list(PERIODS).index(period) :]
    period = next((name for name in longer_periods if days / _DAYS[name] <= _MAX_STEPS), "year")
    top = commits.groupby(["author", "author_email", "person"], observed=True).size().rename("commits").reset_index()
    top = top.sort_values("commits", ascending=False, kind="stable").head(_MAX_SERIES - 1)
    names = dict(zip(top["person"], distinct_names(top), strict=True))
    counts = pd.crosstab(dates.dt.to_period(PERIODS[period]), commits["person"].map(names).fillna(_REST))

    # Periods without a commit get a bar of no height, so that the axis of time is to scale.
    if len(counts):
        counts = counts.reindex(
            pd.period_range(counts.index.min(), counts.index.max(), freq=PERIODS[period]), fill_value=0
        )

    series = {name: counts[name].tolist() for name in [*names.values(), _REST] if name in counts}
    steps = [(_start(step), _start(step + 1)) for step in counts.index]
    partial = [span.cuts(start, end) for start, end in steps]
    hatched = f" Hatched: a {period} that is only partly in the report." if any(partial) else ""
    return ThemedFigure(
        name="activity",
        title=f"Commits by {period}{' (hatched: partial)' if any(partial) else ''}",
        description=f"Stacked bars of commits by {period}: the {len(names)} people with the most, "
        f"and everyone else.{hatched}",
        draw=lambda: period_bars(steps, series, "commits", partial, _REST),
    )


def _start(step: Any) -> datetime:
    """Return the start of a pandas period in UTC, clipped to the years of Python's datetimes."""
    if step.year > MAXYEAR:
        return datetime.max.replace(tzinfo=UTC)
    start: datetime = step.start_time.tz_localize("UTC").to_pydatetime()
    return start


def clock(commits: Frame) -> tuple[ReportTable, Figure]:
    """Return commits by weekday and hour, in the authors' local time."""
    with_time_zone = commits[commits["author_utc_offset_min"].notna()]
    counts = with_time_zone.groupby(["weekday", "hour"], observed=True).size()
    cells = [[int(counts.get((day, hour), 0)) for hour in range(24)] for day in range(7)]
    unknown = len(commits) - len(with_time_zone)
    table = ReportTable(
        name="clock",
        title="Weekday and hour",
        frame=counts.rename("commits").reset_index(),
        counts="Commits by weekday (0 is Monday) and hour of the author date on the author's own clock.",
        excludes=f"{count_of(unknown, 'commit')} with an unknown time zone." if unknown else "",
        source="commits",
        keys=("weekday", "hour"),
        max_rows=0,
    )
    figure = ThemedFigure(
        name="clock",
        title="Commits by weekday and hour, on the author's own clock",
        description="A punch card: one disc per weekday and hour; a larger disc means more commits.",
        draw=lambda: punch_card(cells),
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
    """Draw bars of added and removed lines for the first rows of a frame."""
    top = frame.head(limit)
    labels = [str(value) for value in top[column]]
    repositories = [str(name) for name in frame["repository"].unique()] if "repository" in frame else []
    if len(repositories) > 1:
        # Every repository has a `src/`.
        short = _distinct_endings(repositories)
        labels = [f"{short[str(name)]}: {label}" for name, label in zip(top["repository"], labels, strict=True)]

    values = {side: [float(value) for value in top[side].fillna(0)] for side in ("additions", "deletions")}
    return ThemedFigure(
        name=name,
        title=title,
        description=f"Bars of lines added and removed: {_list_text(labels[:3])} have the most.",
        draw=lambda: stacked_bars(labels, values, "lines"),
    )


def _distinct_endings(names: Sequence[str]) -> dict[str, str]:
    """Return the shortest distinct suffixes of names."""
    endings = {name: name.rpartition("/")[2] for name in names}
    counts = Counter(endings.values())
    return {name: ending if counts[ending] == 1 else name for name, ending in endings.items()}


def distinct_names(people: Frame) -> list[str]:
    """Return names of authors for a figure, with the address where two have the same."""
    names, addresses = people["author"].astype("str"), people["author_email"].astype("str")
    twice = names.duplicated(keep=False)
    return [
        f"{name} <{address}>" if is_shared else name
        for name, address, is_shared in zip(names, addresses, twice, strict=True)
    ]


def _list_text(labels: list[str]) -> str:
    return ", ".join(labels) if labels else "nothing"
