"""The summary of the contributor report: its numbers with their definitions."""

from __future__ import annotations

from sourcelight.lab.reports.history import line_metrics
from sourcelight.lab.reports.model import Frame, Metric
from sourcelight.lab.reports.path_filter import OtherFiles
from sourcelight.lab.reports.people import YEAR_DAYS, Turnover, people_before_metric, people_metrics
from sourcelight.lab.reports.sections.authorship import agent_metrics
from sourcelight.lab.reports.sections.contributor_data import LEFT_OUT, ChangedLines, Owned, Request

_FILES_COUNTED: dict[OtherFiles, str] = {
    "apart": "all changed files",
    "with": "all changed files",
    "without": "changed files but vendored, generated and lock files",
}
"""Files that are counted, by the argument `other_files`."""

_PATHS_COUNTED = {
    False: "Distinct paths of all changes, both names of renamed files, as git log --name-only --no-renames has them.",
    True: "Distinct paths of the changes that count, renamed files under their new names.",
}
"""Paths that are counted: of all changes, or of some paths."""


def metrics(
    commits: Frame,
    people: Frame | None,
    changed_lines: ChangedLines,
    owners: list[Owned],
    request: Request,
    comparison: Turnover | None,
) -> list[Metric]:
    """Return the numbers of the report."""
    lines_text = f"Lines of {_FILES_COUNTED[request.other_files]}, as git log --numstat -M counts them."
    numbers = [
        *_commit_metrics(commits, people, request),
        *agent_metrics(commits),
        *line_metrics(commits, lines_text),
        _changed_files(changed_lines, request),
        Metric(
            name="days with commits",
            value=int(commits["commit_date"].dt.date.nunique()),
            counts="Days by committer date, UTC.",
            excludes="",
            source="commits",
        ),
        *_bus_factor(owners, request),
    ]
    if comparison is not None:
        numbers += _comparison_metrics(comparison, is_full_history=request.after is None)
    return numbers


def _commit_metrics(commits: Frame, people: Frame | None, request: Request) -> list[Metric]:
    by_people = int((~commits["bot"]).sum())
    merges = int(commits["merge"].sum())
    return [
        Metric(
            name="commits",
            value=len(commits),
            counts="Commits in the period, including merges, as git rev-list --count.",
            excludes="",
            source="commits",
        ),
        *people_metrics(people, join_addresses=request.join_addresses),
        Metric(
            name="commits by people",
            value=by_people,
            counts="Commits whose author is not a bot.",
            excludes="bots.",
            source="commits",
            filters={"bot": False},
        ),
        Metric(
            name="merges",
            value=merges,
            counts="Commits with two or more parents.",
            excludes="",
            source="commits",
            filters={"merge": True},
        ),
    ]


def _changed_files(changed_lines: ChangedLines, request: Request) -> Metric:
    paths = None
    if changed_lines.files is not None:
        paths = sum(changed_lines.files.attrs["changed_paths"].values())

    excludes = f"merges{LEFT_OUT[request.other_files]}."
    return Metric(name="files changed", value=paths, counts=_PATHS_COUNTED[bool(request.paths)], excludes=excludes)


def _bus_factor(owners: list[Owned], request: Request) -> list[Metric]:
    """Return the bus factor of a single repository; bus factors of several don't add up."""
    factors = owners[0].bus_factors if len(owners) == 1 else None
    if factors is None or not len(factors):
        return []

    # The first row is about the whole repository.
    factor = int(factors.iloc[0]["bus_factor"])
    counts = "Fewest people who own more than half of the lines of the newest commit."
    excludes = "bots."
    if request.table_kinds is not None:
        excludes = f"bots{LEFT_OUT['without']}."
    return [Metric(name="bus factor", value=factor, counts=counts, excludes=excludes)]


def _comparison_metrics(comparison: Turnover, *, is_full_history: bool) -> list[Metric]:
    if is_full_history:
        span = f"the {YEAR_DAYS} days before the newest commit"
        earlier_span = f"the {YEAR_DAYS} days before the last {YEAR_DAYS}"
    else:
        span, earlier_span = "the period", "a period of the same length before"

    return [
        Metric(
            name="commits before",
            value=len(comparison.before),
            counts=f"Commits in {earlier_span}.",
            excludes="",
            source="before",
        ),
        people_before_metric(comparison.before),
        Metric(
            name="joined",
            value=len(comparison.joiners),
            counts=f"Authors of a commit in {span} with none before.",
            excludes="bots.",
        ),
        Metric(
            name="left",
            value=len(comparison.leavers),
            counts=f"Authors of a commit in {earlier_span} with none since.",
            excludes="bots.",
        ),
    ]
