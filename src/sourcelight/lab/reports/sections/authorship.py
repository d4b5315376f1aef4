"""Sections of the contributor report about authors, assistants, reviewers and integrators of commits."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from sourcelight.core.batches.persons import is_bot
from sourcelight.core.markup import count_of
from sourcelight.lab.plots.charts import share_lines
from sourcelight.lab.reports.history import Span, activity, change_sizes, clock
from sourcelight.lab.reports.html import ThemedFigure
from sourcelight.lab.reports.model import DATE_SPAN, LINE_SUMS, Figure, Frame, Metric, ReportTable, Section
from sourcelight.lab.reports.sections.organizations import HOST_COMMITTERS

LOWER_BOUND = "a lower bound, because squash merges drop trailers and many assistants leave none (docs/agents.md)"

_MAX_CURVES = 5
"""Years of joining that a figure has, the newest; a table has all."""


def agent_metrics(commits: Frame) -> list[Metric]:
    """Return the number of commits that name a coding assistant; no metric if none does."""
    names = _agents(commits)
    if not names:
        return []
    count = int(commits["agent"].isin(names).sum())
    counts_text = f"Commits whose author, trailers or message name a coding assistant: {LOWER_BOUND}."
    return [
        Metric(
            name="commits with an assistant",
            value=count,
            counts=counts_text,
            excludes="",
            source="commits",
            filters={"agent": names},
        )
    ]


def agents_section(commits: Frame, period: str) -> Section:
    """Return the section of coding assistants that commits name, with their commits per period."""
    names = _agents(commits)
    if not names:
        return Section("Coding assistants", "")

    count = int(commits["agent"].isin(names).sum())
    text = f"At least {count:,} of {count_of(len(commits), 'commit')} name a coding assistant."
    tables = (_agents_table(commits, names), _agent_activity(commits, names, period))
    return Section("Coding assistants", text, tables)


def _agents_table(commits: Frame, names: list[str]) -> ReportTable:
    """Return a row per assistant, or per set of assistants that commits name together."""
    by_agents = commits[commits["agent"].isin(names)]
    frame = (
        by_agents.assign(agent=by_agents["agent"].astype("str"))
        .groupby("agent")
        .agg(
            commits=("commit", "size"),
            authors=("person", "nunique"),
            **LINE_SUMS,
            **DATE_SPAN,
        )
        .reset_index()
    )
    frame.insert(2, "share", frame["commits"] / len(commits))
    return ReportTable(
        name="agents",
        title="Coding assistants",
        frame=frame.sort_values(["commits", "agent"], ascending=[False, True]).reset_index(drop=True),
        counts="One row per assistant, or per set of assistants, separated by commas. commits counts the commits that "
        f"name exactly these, and share is their share of all commits: {LOWER_BOUND}.",
        source="commits",
        keys=("agent",),
    )


def _agent_activity(commits: Frame, names: list[str], period: str) -> ReportTable:
    """Return the commits of each period, and how many of them name an assistant; the newest period first."""
    has_agent = commits["agent"].isin(names)
    by_period = commits.assign(_has_agent=has_agent).groupby("period", observed=True)
    frame = by_period.agg(commits=("commit", "size"), agent_commits=("_has_agent", "sum")).reset_index()
    frame["share"] = frame["agent_commits"] / frame["commits"]
    return ReportTable(
        name="agent_activity",
        title=f"Coding assistants by {period}",
        frame=frame.sort_values("period", ascending=False).reset_index(drop=True),
        counts=f"Commits by committer date (UTC) in the {period} that begins at period, those that name a coding "
        f"assistant, and their share: {LOWER_BOUND}.",
        source="commits",
        keys=("period",),
        max_rows=24,
    )


def _agents(commits: Frame) -> list[str]:
    """Return the assistants that commits name, each once."""
    texts = commits["agent"].dropna().astype("str").unique()
    return sorted(text for text in texts if text)


def review_section(commits: Frame) -> Section:
    """Return the section of reviewers and integrators, as far as trailers, merges and committers show them."""
    tables = [table for table in (_reviewers(commits), _integrators(commits)) if len(table.frame)]
    if not tables:
        return Section("Reviews and merges", "")

    text = "Reviewers and integrators of changes, as far as trailers, merges and committers name them."
    return Section("Reviews and merges", text, tuple(tables))


def _reviewers(commits: Frame) -> ReportTable:
    """Return a row per person whom review trailers name."""
    import pandas as pd

    rows: list[tuple[str, int]] = []
    # Null if a service doesn't provide them.
    has_reviewers = commits["reviewers"].notna()
    for index, (names, is_known) in enumerate(zip(commits["reviewers"], has_reviewers, strict=True)):
        if is_known:
            rows += [(name, index) for name in names]

    pairs = pd.DataFrame(rows, columns=["reviewer", "_row"]).astype({"reviewer": "str", "_row": "int64"})
    dates = commits["commit_date"].reset_index(drop=True)
    pairs["_date"] = dates.take(pairs["_row"].to_numpy()).to_numpy()
    frame = pairs.groupby("reviewer").agg(
        commits=("_row", "nunique"), first_date=("_date", "min"), last_date=("_date", "max")
    )
    frame = frame.reset_index().sort_values(["commits", "reviewer"], ascending=[False, True]).reset_index(drop=True)
    for column in ("first_date", "last_date"):
        frame[column] = frame[column].astype(commits["commit_date"].dtype)

    def behind(row: int) -> Frame:
        of_person = pairs.loc[pairs["reviewer"] == frame["reviewer"][row], "_row"]
        return commits.iloc[sorted(set(of_person))].reset_index(drop=True)

    about = (
        "People in Reviewed-by, Acked-by and Approved-by trailers, as written there, with the number of commits. "
        "Reviews at a code host leave no trailer, so these are lower bounds."
    )
    return ReportTable(
        name="reviewers",
        title="Reviewers",
        frame=frame,
        counts=about,
        excludes="",
        source="",
        keys=("reviewer",),
        behind=behind,
    )


def _integrators(commits: Frame) -> ReportTable:
    """Return a row per person who merged, or who committed what somebody else wrote; see `unify_names`."""
    import pandas as pd

    merges = commits.loc[commits["merge"]]
    merged = merges["person"].astype("str")
    remaining = commits.loc[~commits["merge"] & commits["committer_email"].notna()]
    committer_emails = remaining["committer_email"].astype("str").str.lower()
    author_emails = remaining["author_email"].astype("str").str.lower()
    by_others = remaining.loc[committer_emails != author_emails]
    committed = by_others["committer"].astype("str") + " <" + by_others["committer_email"].astype("str") + ">"
    frame = pd.DataFrame({"merges": merged.value_counts(), "commits_of_others": committed.value_counts()})
    frame = frame.fillna(0).astype("int64").rename_axis("integrator").reset_index()
    frame = frame.sort_values(["merges", "commits_of_others", "integrator"], ascending=[False, False, True])
    frame = frame.reset_index(drop=True).astype({"integrator": "str"})
    bot_commits = commits.loc[commits["bot"]]
    bots = set(bot_commits["person"].astype("str"))
    frame.insert(1, "kind", [_kind_of(name, bots) for name in frame["integrator"]])
    is_person = frame["kind"] == "person"
    frame = pd.concat([frame[is_person], frame[~is_person]]).reset_index(drop=True)

    def behind(row: int) -> Frame:
        name = frame["integrator"][row]
        is_merged = commits.index.isin([*merged[merged == name].index, *committed[committed == name].index])
        return commits[is_merged].reset_index(drop=True)

    about = (
        "merges counts merge commits by the person. commits_of_others counts other commits that the person committed "
        "for an author with another address: applied, rebased or squashed ones. Identities are joined as in the table "
        "of contributors. Code hosts, which commit when people press a button there, and bots come last; kind names "
        "them."
    )
    return ReportTable(
        name="integrators",
        title="Who integrated",
        frame=frame,
        counts=about,
        excludes="",
        source="",
        keys=("integrator",),
        behind=behind,
    )


def _kind_of(integrator: str, bots: Collection[str]) -> str:
    """Return ``person``, ``bot``, or ``code host`` for the accounts of `HOST_COMMITTERS`."""
    address = integrator.rpartition("<")[2].rstrip(">").lower()
    if address in HOST_COMMITTERS:
        return "code host"
    if integrator in bots or is_bot(integrator.rpartition(" <")[0], address):
        return "bot"
    return "person"


def time_section(commits: Frame, period: str, span: Span, *, is_full_history: bool) -> Section:
    """Return the section of times of commits, and of how long people stay."""
    table, figure = activity(commits, period, span)
    hours, card = clock(commits)

    # Who wrote before the time would seem to have joined in it.
    retention, curves = _retention(commits) if is_full_history else (None, ())
    tables = (table, hours, _time_zones(commits), *(() if retention is None else (retention,)))
    return Section(
        title="Time",
        text="Commits over time, and by weekday and hour.",
        tables=tables,
        figures=(figure, card, *curves, change_sizes(commits)),
    )


def _time_zones(commits: Frame) -> ReportTable:
    """Return a row per offset from UTC."""
    human = commits[~commits["bot"] & commits["author_utc_offset_min"].notna()]
    frame = human.groupby("author_utc_offset_min").agg(commits=("commit", "size"), people=("person", "nunique"))
    frame = frame.reset_index().sort_values("author_utc_offset_min").reset_index(drop=True)
    frame.insert(0, "time_zone", frame["author_utc_offset_min"].astype("int64").map(_offset_text).astype("str"))
    about = (
        "Commits by people, by how far the author's clock was ahead of UTC. Daylight saving time moves a person by an "
        "hour, and people counts a person in each time zone of their commits."
    )
    return ReportTable(
        "time_zones", "Time zones", frame, about, "bots.", "commits", ("author_utc_offset_min",),
        max_rows=40, hidden=("author_utc_offset_min",),
    )  # fmt: skip


def _offset_text(minutes: int) -> str:
    """Return an offset from UTC as ``UTC+05:30``: a bare ``+05:30`` looks like a formula to a spreadsheet."""
    # Of the absolute value: divmod rounds down, which turns -03:30 into -04:30.
    hours, remaining = divmod(abs(minutes), 60)
    return f"UTC{'-' if minutes < 0 else '+'}{hours:02}:{remaining:02}"


def _retention(commits: Frame) -> tuple[ReportTable, tuple[Figure, ...]]:
    """Return the number of people, by year of joining, who wrote commits in each later year; without bots."""
    import pandas as pd

    human = commits[~commits["bot"] & commits["commit_date"].notna()]
    # By committer date, as all periods of the report: author dates survive rebases, and may lie years before.
    years: dict[str, set[int]] = {}
    for person, year in zip(human["person"].astype("str"), human["commit_date"].dt.year.tolist(), strict=True):
        years.setdefault(person, set()).add(int(year))

    cohorts: dict[int, list[set[int]]] = {}
    for active_years in years.values():
        cohorts.setdefault(min(active_years), []).append(active_years)

    last = max((max(active_years) for active_years in years.values()), default=0)
    rows: list[tuple[int, int, int, int]] = []
    for cohort, members in sorted(cohorts.items()):
        for year in range(cohort, last + 1):
            active_count = sum(year in active_years for active_years in members)
            rows.append((cohort, year - cohort, len(members), active_count))

    frame = pd.DataFrame(rows, columns=["cohort", "years_later", "people", "active"]).astype("int64")
    frame["share"] = frame["active"] / frame["people"]
    about = (
        "people counts people whose first commit is in the year cohort, by committer date (UTC). active counts those "
        "of them with a commit years_later years later, whether or not they had one in between. The newest year is "
        "incomplete."
    )
    table = ReportTable(
        name="retention", title="Retention by year of joining", frame=frame, counts=about, excludes="bots.", max_rows=30
    )

    # The newest year has one point and no line.
    curves: dict[str, list[float]] = {}
    for cohort in sorted(cohort for cohort in cohorts if cohort < last)[-_MAX_CURVES:]:
        label = f"{cohort} ({len(cohorts[cohort]):,})"
        curves[label] = frame.loc[frame["cohort"] == cohort, "share"].tolist()

    figure = ThemedFigure(
        name="retention",
        title="Share of the people who joined in a year and still wrote commits in later years",
        description=f"Lines of {count_of(len(curves), 'year')} of joining over the years since.",
        draw=_draw(curves),
    )
    return table, (figure,) if curves else ()


def _draw(curves: dict[str, list[float]]) -> Callable[[], Any]:
    # A figure with one line has no legend.
    steps = f"years after {next(iter(curves))}" if len(curves) == 1 else "years later"
    return lambda: share_lines(curves, steps)
