"""The stories of a file, a directory and a definition: who changed it, when, why, and how it moved.

A report makes one call, `path_history` or `symbol_history`, and derives its commits, tables and sentences from these
rows. A thing without a change gets a report with the number 0 and the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sourcelight.core.arguments import checks_arguments
from sourcelight.core.errors import ToolError
from sourcelight.core.markup import join_words
from sourcelight.display.notebook import ProgressChoice
from sourcelight.lab.reports.answers import limited_notices, notices_of
from sourcelight.lab.reports.history import PERIODS, fitting_period
from sourcelight.lab.reports.model import Frame, Metric
from sourcelight.lab.reports.people import unify_names
from sourcelight.lab.reports.progress import ReportProgress
from sourcelight.lab.reports.report import Report
from sourcelight.lab.reports.sections.story import metrics, sections
from sourcelight.lab.reports.sections.story_data import Thing, story_commits
from sourcelight.lab.reports.sections.story_introduction import write_introduction
from sourcelight.lab.reports.text import links_of

if TYPE_CHECKING:
    from sourcelight.client import Client

_STAGES = ("changes",)
"""Steps of the report that progress displays."""


@checks_arguments
def file(
    client: Client,
    repo: str,
    path: str,
    revision: str = "",
    *,
    period: str = "",
    title: str = "",
    progress: ProgressChoice = None,
) -> Report:
    """Report on the life of a file: who changed it, when and why, and its former names.

    Parameters
    ----------
    client
        Client for the repository, of this machine or of `sourcelight serve`.
    repo
        Name of the repository.
    path
        Path of the file at the revision, or of a file removed before it.
    revision
        Branch, tag or commit; empty: the default branch.
    period
        ``day``, ``week``, ``month``, ``quarter`` or ``year``: the length of the bars of activity; empty: what fits the
        time.
    title
        Heading of the report.
    progress
        As in `Client.search`.

    Returns
    -------
    Report
        Its tables: people, moves, references, log and activity. `Report.drill_down` gives the commits behind a number;
        the sources ``changes`` and ``commits`` have every row.

    Raises
    ------
    ToolError
        For an invalid period, and for a path that is a directory.
    PathNotFound, RepositoryNotFound, RevisionNotFound
        The repository, revision or path doesn't exist, or isn't visible.
    """
    return _report_path(
        client, "file", repo=repo, path=path, revision=revision, period=period, title=title, progress=progress
    )


@checks_arguments
def directory(
    client: Client,
    repo: str,
    path: str,
    revision: str = "",
    *,
    period: str = "",
    title: str = "",
    progress: ProgressChoice = None,
) -> Report:
    """Report on the life of a directory: the changes of its files, including those before they moved into it.

    A file that moved into the directory brings its earlier commits. A file that moved out has its commits up to the
    move.

    Parameters
    ----------
    path
        Path of the directory at the revision, or of a directory that was removed before it; ``"."``, ``"/"`` or empty:
        the whole repository.
    client, repo, revision, period, title, progress
        As for `file`.

    Returns
    -------
    Report
        Its tables: people, moves, files, references, log and activity.

    Raises
    ------
    ToolError
        When the period is unknown, or the path is a file.
    PathNotFound, RepositoryNotFound, RevisionNotFound
        When the directory, repository or commit is unknown.
    """
    return _report_path(
        client, "directory", repo=repo, path=path, revision=revision, period=period, title=title, progress=progress
    )


@checks_arguments
def symbol(
    client: Client,
    repo: str,
    symbol: str,
    path: str = "",
    revision: str = "",
    *,
    period: str = "",
    title: str = "",
    progress: ProgressChoice = None,
) -> Report:
    """Report on the life of a function, class or other definition, through moves between files and names.

    Parameters
    ----------
    client, repo, revision, period, title, progress
        As for `file`.
    symbol
        Name of the definition, or more of it: ``send``, ``Client.send``.
    path
        File that has it at the revision; empty: whichever file has the only definition of the name.

    Returns
    -------
    Report
        Its tables: people, moves, references, log and activity. A commit counts if the text of the definition differs
        before and after it; `Client.symbol_history` has the rules.

    Raises
    ------
    ToolError
        For an invalid period, and for a name with no definition, or several.
    PathNotFound, RepositoryNotFound, RevisionNotFound
        The repository, revision or path doesn't exist, or isn't visible.
    """
    check_period("symbol", period)
    with ReportProgress(f"Story of {symbol}", _STAGES, report="symbol", draw=progress) as stages:
        changes = stages.ask("changes", client.symbol_history, repo, symbol, path or None, revision or None)
    subject = Thing("definition", str(changes.attrs.get("symbol") or symbol))
    return make_story(client, subject, changes, revision, period, title)


def _report_path(
    client: Client, noun: str, *, repo: str, path: str, revision: str, period: str, title: str, progress: ProgressChoice
) -> Report:
    check_period(noun, period)
    with ReportProgress(f"Story of {path}", _STAGES, report=noun, draw=progress) as stages:
        changes = stages.ask("changes", client.path_history, repo, path, revision or None)

    kind = changes.attrs.get("kind", noun)
    if kind != noun:
        raise ToolError(f"{noun}: {path} is a {kind}; use reports.{kind}", tool=noun, argument="path")

    path = str(changes.attrs.get("path", path))
    name = path or str(changes.attrs.get("repository") or repo)
    subject = Thing(noun, name, bool(changes.attrs.get("exists", True)), is_repository=not path)
    return make_story(client, subject, changes, revision, period, title)


def check_period(call: str, period: str) -> None:
    """Raise `ToolError` for an invalid period."""
    if period and period not in PERIODS:
        raise ToolError(
            f"{call}: period must be {join_words(list(PERIODS), 'or')}, got {period!r}", tool=call, argument="period"
        )


def make_story(client: Client, subject: Thing, changes: Frame, revision: str, period: str, title: str) -> Report:
    """Make the report on a thing from its changes, newest first."""
    repository, commit = (str(changes.attrs.get(name) or "") for name in ("repository", "commit"))
    title = title or f"Story of {subject.name}{'' if subject.is_repository else f' in {repository}'}"
    parameters = (
        ("repository", repository),
        *(() if subject.is_repository else ((subject.noun, subject.name),)),
        ("revision", f"{revision or 'default branch'} ({commit[:12]})"),
    )
    notices, limits = tuple(notices_of([changes])), tuple(limited_notices([changes]))
    if not len(changes):
        reason = f"No known commit changed {subject.name}."
        none: Any = Metric(
            name="commits",
            value=0,
            counts=f"Commits that changed the {subject.noun}.",
            excludes="merges.",
            source="commits",
        )
        return Report(
            title=title,
            parameters=parameters,
            metrics=(none,),
            sections=(),
            sources={"commits": changes},
            notices=notices,
            limits=limits,
            lead=(reason,),
        )

    attrs = dict(changes.attrs)
    changes = unify_names(changes, None, join_addresses=True)
    changes["bot"] = changes["bot"].fillna(value=False).astype("bool")
    period = period or fitting_period(changes)
    commits = story_commits(changes, period)
    changes.attrs = commits.attrs = attrs
    links = links_of(client, {repository: commit})
    return Report(
        title=title,
        parameters=parameters,
        metrics=tuple(metrics(subject, changes, commits)),
        sections=tuple(sections(subject, changes, commits, period, links)),
        sources={"commits": commits, "changes": changes},
        notices=notices,
        limits=limits,
        lead=tuple(write_introduction(subject, changes, commits)),
    )
