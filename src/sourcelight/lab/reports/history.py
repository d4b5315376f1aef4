"""What both reports ask a client about commits, and what they make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.core.errors import UnsupportedCall
from sourcelight.lab.reports.figures import bars, over_time, punch_card, sizes
from sourcelight.lab.reports.model import Figure, Frame, Number, Table

if TYPE_CHECKING:
    from sourcelight.client import Client

PERIODS: Mapping[str, str] = {"day": "D", "week": "W-SUN", "month": "M", "quarter": "Q", "year": "Y"}
NOT_TOLD = "this service does not tell"
_MOST_SERIES = 6


def commits_frame(commits: Frame, period: str) -> Frame:
    """Commits with what reports group by.

    Adds ``person`` (name and address), ``period`` (start of it, by committer date where there is one, UTC), ``weekday``
    (0: Monday) and ``hour`` of the author's own clock, ``merge``, and ``size`` (lines added and removed).
    """
    import pandas as pd

    frame = commits.copy()
    frame["person"] = frame["author"].astype("str") + " <" + frame["author_email"].astype("str") + ">"
    when = frame["commit_date"].fillna(frame["author_date"])
    start = when.dt.tz_convert(None).dt.to_period(PERIODS[period]).dt.start_time
    frame["period"] = start.dt.tz_localize("UTC").astype("datetime64[us, UTC]")
    local = frame["author_date"] + pd.to_timedelta(frame["author_utc_offset"].fillna(0).astype("int64"), unit="min")
    frame["weekday"] = local.dt.day_of_week.astype("int64")
    frame["hour"] = local.dt.hour.astype("int64")
    frame["merge"] = [parents is not None and len(parents) > 1 for parents in frame["parents"]]
    frame["size"] = frame["additions"] + frame["deletions"]
    frame["bot"] = frame["bot"].fillna(value=False).astype("bool")
    return frame


def total(frame: Frame, column: str) -> tuple[int | None, str]:
    """Sum of a column and what it leaves out; None when no row has a value."""
    known = frame[column].notna()
    if len(frame) and not known.any():
        return None, NOT_TOLD
    missing = int((~known).sum())
    left_out = f"{missing:,} commits of which this is not known" if missing else ""
    return int(frame.loc[known, column].sum()), left_out


def line_numbers(frame: Frame, counted: str) -> list[Number]:
    """Lines added and removed."""
    numbers = []
    for column in ("additions", "deletions"):
        value, left_out = total(frame, column)
        name = "lines added" if column == "additions" else "lines removed"
        merges = "merges, which have no changed lines of their own"
        numbers.append(Number(name, value, counted, "; ".join(filter(None, (merges, left_out))), "commits"))
    return numbers


def offered(ask: Callable[[], Frame], what: str, notices: list[str]) -> Frame | None:
    """What a client answers; None, with a notice, where its service can't."""
    try:
        return ask()
    except UnsupportedCall as fault:
        notices.append(f"Not in this report: {what}. {fault}")
        return None


def behind(code: Client, frame: Frame) -> Callable[[int], Frame] | None:
    """The way from a row of an analysis to its commits."""
    return (lambda row: code.commits_behind(frame, row, progress=False)) if "drill_down" in frame.attrs else None


def activity(commits: Frame, period: str) -> tuple[Table, Figure]:
    """Commits by period, and who wrote them."""
    import pandas as pd

    grouped = commits.groupby("period", observed=True)
    frame = grouped.agg(
        commits=("commit", "size"),
        merges=("merge", "sum"),
        people=("person", "nunique"),
        additions=("additions", "sum"),
        deletions=("deletions", "sum"),
    ).reset_index()
    table = Table(
        "activity",
        f"Activity by {period}",
        frame.sort_values("period", ascending=False).reset_index(drop=True),
        f"Commits by committer date, in the {period} that begins at period (UTC), their people and changed lines.",
        "Changed lines of merges.",
        "commits",
        ("period",),
        shown=24,
    )
    top = commits["person"].value_counts().index[: _MOST_SERIES - 1].tolist()
    labels = commits["person"].where(commits["person"].isin(top), "everyone else")
    counts = pd.crosstab(commits["period"], labels)
    if len(counts):
        every = pd.period_range(
            counts.index.min().tz_convert(None), counts.index.max().tz_convert(None), freq=PERIODS[period]
        )
        counts = counts.reindex(every.start_time.tz_localize("UTC"), fill_value=0)
    series = {name: counts[name].tolist() for name in [*top, "everyone else"] if name in counts}
    periods = [stamp.to_pydatetime() for stamp in counts.index]
    figure = Figure(
        "activity",
        f"Commits by {period}",
        f"Stacked areas of commits by {period}, for {len(top)} people with the most commits and everyone else.",
        lambda: over_time(periods, {_short(name): values for name, values in series.items()}, "commits"),
    )
    return table, figure


def clock(commits: Frame) -> tuple[Table, Figure]:
    """When people commit, by their own clocks."""
    known = commits[commits["author_utc_offset"].notna()]
    counts = known.groupby(["weekday", "hour"], observed=True).size()
    cells = [[int(counts.get((day, hour), 0)) for hour in range(24)] for day in range(7)]
    unknown = len(commits) - len(known)
    table = Table(
        "clock",
        "Weekday and hour",
        counts.rename("commits").reset_index(),
        "Commits by weekday (0 is Monday) and hour of the author date on the author's own clock.",
        f"{unknown:,} commits whose time zone is not known." if unknown else "",
        "commits",
        ("weekday", "hour"),
        shown=0,
    )
    figure = Figure(
        "clock",
        "Commits by weekday and hour, on the author's own clock",
        "A punch card: a disc per weekday and hour, the larger the more commits.",
        lambda: punch_card(cells),
    )
    return table, figure


def change_sizes(commits: Frame) -> Figure:
    """How large commits are."""
    values = commits.loc[~commits["merge"] & commits["size"].notna(), "size"].astype("int64").tolist()
    return Figure(
        "sizes",
        "Commits by lines changed",
        f"Bars: how many of {len(values):,} commits change how many lines; merges are left out.",
        lambda: sizes(values),
    )


def churn_figure(name: str, title: str, frame: Frame, column: str, shown: int = 15) -> Figure:
    """Bars of added and removed lines for the first rows of a frame."""
    top = frame.head(shown)
    labels = [str(value) for value in top[column]]
    values = {side: [float(v) for v in top[side].fillna(0)] for side in ("additions", "deletions")}
    return Figure(
        name,
        title,
        f"Bars of lines added and removed: {_listed(labels[:3])} have the most.",
        lambda: bars(labels, values, "lines"),
    )


def repositories_text(names: Sequence[str], commits_by_name: Mapping[str, Any]) -> str:
    """Names of repositories with the first digits of the commits that were read."""
    shown = []
    for name in names:
        commits = commits_by_name.get(name, ())
        heads = [commits] if isinstance(commits, str) else list(commits)
        shown.append(f"{name} ({', '.join(str(head)[:12] for head in heads)})" if heads else name)
    return ", ".join(shown) or "none"


def said(frames: Sequence[Frame | None]) -> list[str]:
    """Notices of answers, each once, in order."""
    found: dict[str, None] = {}
    for frame in frames:
        if frame is not None:
            found.update(dict.fromkeys(notice.rstrip(".") + "." for notice in frame.attrs.get("notices", ())))
    return list(found)


def _short(person: str) -> str:
    return person.partition(" <")[0]


def _listed(labels: list[str]) -> str:
    return ", ".join(labels) if labels else "nothing"
