"""The sections and the summary of the change report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches.persons import Pair, person_key
from sourcelight.core.markup import count_of
from sourcelight.lab.plots.charts import stacked_bars
from sourcelight.lab.reports.history import distinct_names
from sourcelight.lab.reports.html import ThemedFigure
from sourcelight.lab.reports.model import Frame, Item, LinkOf, Listing, ReportTable, Section
from sourcelight.lab.reports.sections.changelog import KINDS, RULE, Change, CommitInfo, kind_of

if TYPE_CHECKING:
    from sourcelight.lab.reports.text import Links


_PEOPLE_SHOWN = 15
_ENTRIES_SHOWN = 40
_SHOWN_OF_KIND = {"docs": 15, "tests": 15, "dependencies": 15, "other": 25}
_LOG_COLUMNS = ["kind", "title", "request", "author", "commits", "commit_date", "commit"]


def infos_of(commits: Frame) -> list[CommitInfo]:
    """Return commits in the form that changes are grouped from."""
    columns = (commits[name].astype("str") for name in ("commit", "subject", "message"))
    return [
        CommitInfo(commit, subject, message, tuple(map(str, () if parents is None else parents)))
        for commit, subject, message, parents in zip(*columns, commits["parents"], strict=True)
    ]


def changelog(merged_list: Sequence[Change], all_commits: Frame, commits: Frame, links: Links) -> tuple[Frame, Section]:
    """Return the merged changes: a frame with one row per change, and a section with one list per kind.

    `all_commits` has all commits between the revisions, `commits` only the commits that the report counts.
    """
    frame = _changelog_frame(merged_list, all_commits, commits)
    repository = str(all_commits["repository"].iloc[0]) if len(all_commits) else ""
    urls = dict(zip(all_commits["commit"].astype("str"), all_commits["url"].fillna("").astype("str"), strict=True))
    lists = tuple(
        Listing(
            heading,
            tuple(_item(row, repository, urls, links) for row in frame[frame["kind"] == kind].to_dict("records")),
            _SHOWN_OF_KIND.get(kind, _ENTRIES_SHOWN),
        )
        for kind, heading in KINDS.items()
        if (frame["kind"] == kind).any()
    )
    table = ReportTable(
        "changelog",
        "Changes by kind",
        frame,
        f"Pull and merge requests, and commits outside of any. {RULE}.",
        "merges of branches that name no request; the commits that they brought count.",
        "",
        ("commit",),
        max_rows=0,
    )
    requests = int(frame["request"].notna().sum())
    text = f"{count_of(len(frame), 'change')}, {requests:,} of them by pull or merge requests." if requests else ""
    return frame, Section("Changelog draft", text, (table,), (), lists)


def _changelog_frame(merged_list: Sequence[Change], all_commits: Frame, commits: Frame) -> Frame:
    """Return a row per merged change, by kind, and the newest first."""
    import pandas as pd

    ids = all_commits["commit"].astype("str").tolist()
    date_of = dict(zip(ids, all_commits["commit_date"], strict=True))
    counted_authors = dict(zip(commits["commit"].astype("str"), commits["author"].astype("str"), strict=True))

    # Counted commits have joined names; these replace the names of the same commits.
    authors = dict(zip(ids, all_commits["author"].astype("str"), strict=True)) | counted_authors
    rows = []
    for change in merged_list:
        members = [member for member in change.members if member in counted_authors]
        # If the report counts no commit of a merge, the merge's author is used.
        author = _main_author([authors[member] for member in members or [change.commit]])
        kind = kind_of(change.title, change.message)
        date = date_of[change.commit]
        rows.append((kind, change.title, change.request, author, len(members), date, change.commit))

    frame = pd.DataFrame(rows, columns=_LOG_COLUMNS)
    # pandas makes a column with missing numbers floats, which would show a request as `12.0`.
    frame["request"] = frame["request"].astype("Int64")
    frame["commit_date"] = pd.to_datetime(frame["commit_date"], utc=True)
    order = {kind: number for number, kind in enumerate(KINDS)}
    frame = frame.assign(_kind=frame["kind"].map(order).astype("float64"))

    # Sorted by number, because texts of kinds would sort by the alphabet; stable keeps the order of merges.
    frame = frame.sort_values(["_kind", "commit_date"], ascending=[True, False], kind="stable")
    return frame.drop(columns="_kind").reset_index(drop=True)


def _main_author(authors: Sequence[str]) -> str:
    """Return the most frequent author; the name breaks ties, so that a report is the same every time."""
    counts = Counter(authors)
    return min(counts, key=lambda name: (-counts[name], name))


def _item(row: Mapping[Any, Any], repository: str, urls: dict[str, str], links: Links) -> Item:
    """Return a line of the changelog: title, then number or commit, and author."""
    import pandas as pd

    commit = str(row["commit"])
    request = row["request"]
    if pd.notna(request) and isinstance(request, int):
        url = links.request(repository, request) or links.commit(repository, commit, urls.get(commit, ""))
        return Item(str(row["title"]), f"#{request}, {row['author']}", url)

    return Item(
        str(row["title"]), f"{commit[:9]}, {row['author']}", links.commit(repository, commit, urls.get(commit, ""))
    )


def people_section(commits: Frame, earlier_people: AbstractSet[Pair], link: LinkOf) -> tuple[Frame, Section]:
    """Return the section of authors; `earlier_people` are the keys of people with earlier commits."""
    human_commits = commits[~commits["bot"]]
    grouped = human_commits.groupby(["person", "author", "author_email"], observed=True)
    frame = grouped.agg(
        commits=("commit", "size"),
        merges=("merge", "sum"),
        additions=("additions", "sum"),
        deletions=("deletions", "sum"),
        first_date=("commit_date", "min"),
        last_date=("commit_date", "max"),
    ).reset_index()
    pairs = zip(frame["author"].astype("str"), frame["author_email"].astype("str"), strict=True)
    frame["new"] = [person_key(*pair) not in earlier_people for pair in pairs]
    frame["new"] = frame["new"].astype("bool")
    frame = frame.sort_values(["commits", "person"], ascending=[False, True]).reset_index(drop=True)
    rows = frame.drop(columns="person")
    keys = ("author", "author_email")
    excludes = "bots, and co-authors without a commit of their own."
    counts = "Commits from base to head, and lines of those that aren't merges."
    tables = [ReportTable("people", "People", rows, counts, excludes, "commits", keys, link=link)]
    new = rows[rows["new"]].drop(columns="new").reset_index(drop=True)
    about = "People without a commit reachable from base under the same address."
    tables.append(ReportTable("new_people", "New people", new, about, excludes, "commits", keys, link=link))
    top = frame.head(_PEOPLE_SHOWN)
    labels, values = distinct_names(top), [float(count) for count in top["commits"]]
    figure = ThemedFigure(
        "people",
        "Commits by person",
        f"Bars of commits of the {count_of(len(labels), 'person')} with the most.",
        lambda: stacked_bars(labels, {"commits": values}, "commits"),
    )
    text = "" if labels else "No person wrote a commit in between."
    return frame, Section("People", text, tuple(tables), (figure,) if labels else ())


def log_section(commits: Frame, link: LinkOf) -> Section:
    """Return the section of commits that aren't merges."""
    columns = ["commit", "subject", "author", "commit_date", "files", "additions", "deletions", "repository", "url"]
    rows = commits.loc[~commits["merge"], columns].reset_index(drop=True)
    table = ReportTable(
        "log",
        "Commits, newest first",
        rows,
        "Commits from base to head.",
        "merges.",
        "commits",
        ("commit",),
        hidden=("url",),
        link=link,
    )
    return Section("Commits", "", (table,))
