"""The change report: what is between two revisions of a repository."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sourcelight.core.batches.persons import Pair, person_key
from sourcelight.core.errors import CallError, RevisionNotFound, UnsupportedCall
from sourcelight.display.notebook import ProgressChoice
from sourcelight.lab.reports.figures import bars
from sourcelight.lab.reports.history import (
    PERIODS,
    activity,
    change_sizes,
    churn_figure,
    clock,
    commits_frame,
    limited,
    line_numbers,
    offered,
    said,
    told_apart,
)
from sourcelight.lab.reports.model import Figure, Frame, Number, Section, Table
from sourcelight.lab.reports.people import JOINED, PEOPLE, one_name_each
from sourcelight.lab.reports.report import Report
from sourcelight.lab.reports.stages import Stages

if TYPE_CHECKING:
    from sourcelight.client import Client

_PERIODS_S = (("day", 60 * 86_400), ("week", 400 * 86_400), ("month", 6 * 365 * 86_400))
_PEOPLE_SHOWN = 15
_STAGES = ("files", "commits", "earlier people", "last commits of files")
_UNSHOWN = (
    "patch",
    "object_id",
    "old_object_id",
    "mode",
    "old_mode",
    "base",
    "head",
    "ordinal",
    "repository",
    "truncated",
)


def changes(
    code: Client,
    repo: str,
    base: str,
    head: str,
    *,
    by: str = "",
    title: str = "",
    progress: ProgressChoice = None,
) -> Report:
    """Report on what `head` has that `base` has not: commits, people, files.

    Parameters
    ----------
    code
        Client that answers, of this machine or of a service.
    repo
        Name of the repository.
    base, head
        The older and the newer branch, tag or commit. Files are compared as ``git diff base head`` does; commits are
        those behind `head` and not behind `base`.
    by
        ``day``, ``week``, ``month``, ``quarter`` or ``year``: what activity is shown by; empty: what fits the time.
    title
        Heading of the report.
    progress
        As in `Client.search`: one bar for the whole report, with what it is doing and how long each stage took.

    Returns
    -------
    Report
        Its tables: files, directories, languages, people, new_people, log, activity and clock. Each number leads to
        its commits by `Report.drill`.

    Raises
    ------
    CallError
        For a period that is none.
    RepositoryNotFound, RevisionNotFound
        For what is not there.
    """
    if by and by not in PERIODS:
        raise CallError(f"by is {by!r}; it is one of {', '.join(PERIODS)}", call="changes", argument="by")
    stages = Stages("Changes", _STAGES, draw=progress)
    with stages:
        return _made(code, stages, repo, base, head, by, title)


def _made(code: Client, stages: Stages, repo: str, base: str, head: str, by: str, title: str) -> Report:
    notices: list[str] = []
    diffs = stages.ask("files", code.compare_revisions, repo, base, head)
    between, undone, read = _between(code, stages, repo, base, head, str(diffs.attrs.get("base", "")))
    earlier = _earlier_people(code, stages, repo, base)
    period = by or _fitting(between)
    commits = one_name_each(commits_frame(between, period), None, join_addresses=True)
    if undone:
        notices.append(f"{undone:,} commits are behind {base} and not behind {head}; their changes show as undone.")
    details = [_log(commits)]
    columns = (earlier[column].astype("str") for column in ("author", "author_email"))
    people, section = _people(commits, {person_key(*pair) for pair in zip(*columns, strict=True)})
    missing: list[str] = []
    files = offered(lambda: _with_last(code, stages, repo, head, diffs), "last commits of files", missing)
    sections = [
        _files(code, repo, head, diffs if files is None else files),
        section,
        *details,
    ]
    if len(commits):
        table, figure = activity(commits, period)
        hours, card = clock(commits)
        sections.append(
            Section("Time", "When the commits were made.", (table, hours), (figure, card, change_sizes(commits)))
        )
    attributes = diffs.attrs
    asked = (
        ("repository", repo),
        ("base", f"{base} ({str(attributes.get('base', ''))[:12]})"),
        ("head", f"{head} ({str(attributes.get('head', ''))[:12]})"),
    )
    return Report(
        title or f"Changes in {repo} from {base} to {head}",
        asked,
        tuple(_summary(diffs, commits, people)),
        tuple(part for part in sections if part.tables or part.figures),
        {"commits": commits, "changes": diffs},
        tuple(dict.fromkeys([*missing, *notices, *said([diffs, *read])])),
        tuple(dict.fromkeys([*missing, *limited([diffs, *read, earlier])])),
    )


def _between(
    code: Client, stages: Stages, repo: str, base: str, head: str, oldest: str
) -> tuple[Frame, int, list[Frame]]:
    """Commits behind head and not behind base, how many it is the other way round, and the frames that were read.

    A service that does not know of revisions that don't count (or passes over them: then `oldest`, the base, is among
    the commits) is asked for both histories.
    """
    ask = partial(stages.ask, "commits", code.commit_search, repos=[repo])
    try:
        newer, older = ask(revisions=[head, f"^{base}"]), ask(revisions=[base, f"^{head}"])
    except (CallError, RevisionNotFound):
        newer = older = None
    if newer is None or older is None or oldest in set(newer["commit"].astype("str")):
        newer, older = ask(revisions=[head]), ask(revisions=[base])
    ours, theirs = newer["commit"].astype("str"), older["commit"].astype("str")
    between = newer[~ours.isin(set(theirs))].reset_index(drop=True)
    return between, int((~theirs.isin(set(ours))).sum()), [newer, older]


def _earlier_people(code: Client, stages: Stages, repo: str, base: str) -> Frame:
    """Who has commits behind base: a row a person, or a commit where the service can't tell."""
    try:
        people = stages.ask("earlier people", code.contributors, repos=[repo], revisions=[base])
    except UnsupportedCall:
        return stages.ask("earlier people", code.commit_search, repos=[repo], revisions=[base])
    return people[people["commits"] > 0]


def _fitting(commits: Frame) -> str:
    when = commits["commit_date"].dropna()
    span_s = (when.max() - when.min()).total_seconds() if len(when) else 0.0
    return next((name for name, most in _PERIODS_S if span_s <= most), "quarter")


def _summary(diffs: Frame, commits: Frame, people: Frame) -> list[Number]:
    unknown = int(diffs["additions"].isna().sum())
    left_out = f"{unknown:,} files whose content is missing or not told" if unknown else ""
    binary = int(diffs["binary"].fillna(value=False).sum())
    numbers = [
        Number("files", len(diffs), "Files that differ, renames counted once.", "", "changes"),
        Number("lines more", _sum(diffs, "additions"), "Lines that head has and base has not.", left_out, "changes"),
        Number("lines less", _sum(diffs, "deletions"), "Lines that base has and head has not.", left_out, "changes"),
        Number("binary files", binary, "Files that git takes for binary.", "", "changes", {"binary": True}),
        Number("commits", len(commits), "Commits behind head and not behind base, merges included.", "", "commits"),
        Number(
            "merges", int(commits["merge"].sum()), "Those with two or more parents.", "", "commits", {"merge": True}
        ),
        Number("people", len(people), f"{PEOPLE} {JOINED}", "Bots.", "commits", {"bot": False}),
        Number(
            "new people",
            int(people["new"].sum()),
            "People of these commits without a commit behind base under the same address.",
            "Bots.",
            "commits",
            {"person": people.loc[people["new"], "person"].tolist()},
        ),
    ]
    return numbers + line_numbers(commits, "Lines of all these commits, what they undo of each other included.")


def _sum(frame: Frame, column: str) -> int | None:
    return int(frame[column].sum()) if not len(frame) or frame[column].notna().any() else None


def _with_last(code: Client, stages: Stages, repo: str, head: str, diffs: Frame) -> Frame:
    """Changed files with the commit that changed each last."""
    present = diffs.loc[diffs["status"].astype("str") != "deleted", "path"].tolist()
    last = stages.ask("last commits of files", code.last_changes, repo, present, head) if present else None
    frame = diffs.copy()
    frame.attrs = dict(diffs.attrs)
    if last is not None:
        columns = last[["path", "author", "commit_date", "subject"]].rename(
            columns={"author": "last_author", "commit_date": "last_date", "subject": "last_subject"}
        )
        columns["path"] = columns["path"].astype("str")
        frame = frame.merge(columns, on="path", how="left")
        frame.attrs = dict(diffs.attrs)
    return frame


def _files(code: Client, repo: str, head: str, diffs: Frame) -> Section:
    if not len(diffs):
        return Section("Files", "No file differs.")
    frame = diffs.drop(columns=[column for column in _UNSHOWN if column in diffs])
    size = frame["additions"].fillna(0) + frame["deletions"].fillna(0)
    frame = frame.assign(_size=size).sort_values(["_size", "path"], ascending=[False, True]).drop(columns="_size")
    frame = frame.reset_index(drop=True)
    names = [sorted({str(old), str(new)}) for old, new in zip(frame["old_path"], frame["path"], strict=True)]
    frame["old_path"] = frame["old_path"].astype("str").where(frame["old_path"].astype("str") != frame["path"])

    def commits_of(row: int) -> Frame:
        paths = names[row]
        return code.commit_search(repos=[repo], files=paths, revisions=[head], progress=False)

    files = Table(
        "files",
        "Files that differ",
        frame,
        "Lines that differ between base and head.",
        "The content of binary files.",
        "",
        ("path",),
        behind=commits_of,
    )
    folders = _grouped(diffs, diffs["path"].map(lambda path: f"{path.rpartition('/')[0]}/*"), "directory")
    endings = _grouped(diffs, diffs["path"].map(_ending), "ending")
    status = diffs["status"].astype("str").value_counts()
    text = ", ".join(f"{count:,} {name}" for name, count in status.items())
    tables = (
        files,
        Table("directories", "Folders", folders, "Files that differ and their lines, by folder.", "Binary content."),
        Table("endings", "Kinds of files", endings, "Files that differ and their lines, by ending.", "Binary content."),
    )
    figures = (
        churn_figure("directories", "Folders by lines that differ", folders, "directory"),
        churn_figure("files", "Files by lines that differ", frame, "path"),
    )
    return Section("Files", f"Files: {text}.", tables, figures)


def _ending(path: str) -> str:
    name = path.rpartition("/")[2]
    return f".{name.rpartition('.')[2]}" if "." in name.lstrip(".") else "none"


def _grouped(diffs: Frame, key: Frame, name: str) -> Frame:
    grouped = diffs.assign(**{name: key}).groupby(name, observed=True)
    frame = grouped.agg(files=("path", "size"), additions=("additions", "sum"), deletions=("deletions", "sum"))
    size = frame["additions"] + frame["deletions"]
    ordered = frame.assign(_size=size).sort_values("_size", ascending=False, kind="stable").drop(columns="_size")
    return ordered.reset_index()


def _people(commits: Frame, known: set[Pair]) -> tuple[Frame, Section]:
    human = commits[~commits["bot"]]
    grouped = human.groupby(["person", "author", "author_email"], observed=True)
    frame = grouped.agg(
        commits=("commit", "size"),
        merges=("merge", "sum"),
        additions=("additions", "sum"),
        deletions=("deletions", "sum"),
        first_date=("commit_date", "min"),
        last_date=("commit_date", "max"),
    ).reset_index()
    pairs = zip(frame["author"].astype("str"), frame["author_email"].astype("str"), strict=True)
    frame["new"] = [person_key(*pair) not in known for pair in pairs]
    frame["new"] = frame["new"].astype("bool")
    frame = frame.sort_values(["commits", "person"], ascending=[False, True]).reset_index(drop=True)
    shown = frame.drop(columns="person")
    tables = [
        Table(
            "people",
            "People",
            shown,
            "Commits behind head and not behind base, and lines of those that are no merges.",
            "Bots.",
            "commits",
            ("author", "author_email"),
        )
    ]
    if frame["new"].any():
        new = shown[shown["new"]].drop(columns="new").reset_index(drop=True)
        tables.append(
            Table(
                "new_people",
                "New people",
                new,
                "Those with no commit behind base under the same address.",
                "Bots.",
                "commits",
                ("author", "author_email"),
            )
        )
    top = frame.head(_PEOPLE_SHOWN)
    labels, values = told_apart(top), [float(count) for count in top["commits"]]
    figure = Figure(
        "people",
        "Commits by person",
        f"Bars of commits of the {len(labels)} people with the most.",
        lambda: bars(labels, {"commits": values}, "commits"),
    )
    text = "Who wrote the commits." if labels else "No person wrote a commit in between."
    return frame, Section("People", text, tuple(tables), (figure,) if labels else ())


def _log(commits: Frame) -> Section:
    columns = ["commit", "subject", "author", "commit_date", "files", "additions", "deletions"]
    shown = commits.loc[~commits["merge"], columns].reset_index(drop=True)
    table = Table(
        "log",
        "Commits, newest first",
        shown,
        "Commits behind head and not behind base.",
        "Merges.",
        "commits",
        ("commit",),
    )
    return Section("Commits", "", (table,) if len(shown) else ())
