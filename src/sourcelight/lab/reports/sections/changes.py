"""The sections of the change report: its changelog, people, commits, public symbols and times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches.persons import Pair, person_key
from sourcelight.core.markup import count_of, name_in_sentence
from sourcelight.lab.reports.history import Span, activity, change_sizes, clock, people_figure
from sourcelight.lab.reports.model import DATE_SPAN, LINE_SUMS, Frame, Item, LinkOf, Listing, ReportTable, Section
from sourcelight.lab.reports.sections.change_data import API_ORDER, count_symbols
from sourcelight.lab.reports.sections.changelog import KINDS, RULE, Change, CommitInfo, kind_of

if TYPE_CHECKING:
    from sourcelight.lab.reports.text import Links


_MAX_PEOPLE = 15
"""Bars of the figure of people."""

_MAX_ITEMS = 40
_MAX_ITEMS_OF_KIND = {"docs": 15, "tests": 15, "dependencies": 15, "other": 25}
"""Items of a list on a page; kinds that matter less to users of the code have fewer than `_MAX_ITEMS`."""

_LOG_COLUMNS = ["kind", "title", "request", "author", "commits", "commit_date", "commit"]
"""Columns of the table of changes."""

_API_COLUMNS = ["status", "kind", "module", "symbol", "signature", "old_signature", "path", "line_number", "old_path",
                "old_line_number", "language"]  # fmt: skip

_WITHOUT_CLASSES = frozenset({"C", "Go", "Rust"})
"""Languages whose named types, such as a Go function type, are of the kind ``class`` in tables of symbols."""


def infos_of(commits: Frame) -> list[CommitInfo]:
    """Return commits in the form that changes are grouped from."""
    infos = []
    ids, subjects, messages = (commits[name].astype("str") for name in ("commit", "subject", "message"))
    for commit, subject, message, parents in zip(ids, subjects, messages, commits["parents"], strict=True):
        parent_ids = () if parents is None else tuple(map(str, parents))
        infos.append(CommitInfo(commit, subject, message, parent_ids))
    return infos


def changelog(merged_list: Sequence[Change], all_commits: Frame, commits: Frame, links: Links) -> tuple[Frame, Section]:
    """Return the merged changes: a frame with one row per change, and a section with one list per kind.

    `all_commits` has all commits between the revisions, `commits` only the commits that the report counts.
    """
    frame = _changelog_frame(merged_list, all_commits, commits)
    repository = str(all_commits["repository"].iloc[0]) if len(all_commits) else ""
    urls = dict(zip(all_commits["commit"].astype("str"), all_commits["url"].fillna("").astype("str"), strict=True))
    lists = []
    for kind, title in KINDS.items():
        rows = frame[frame["kind"] == kind].to_dict("records")
        if rows:
            items = tuple(_item(row, repository, urls, links) for row in rows)
            lists.append(Listing(title, items, _MAX_ITEMS_OF_KIND.get(kind, _MAX_ITEMS)))

    table = ReportTable(
        name="changelog",
        title="Changes by kind",
        frame=frame,
        counts=f"Pull and merge requests, and commits outside of any. {RULE}.",
        excludes="merges of branches that name no request; the commits that they brought count.",
        keys=("commit",),
        max_rows=0,
    )
    requests = int(frame["request"].notna().sum())
    text = ""
    if requests:
        text = f"{count_of(len(frame), 'change')}, {requests:,} of them by pull or merge requests."
    return frame, Section(title="Changelog draft", text=text, tables=(table,), lists=tuple(lists))


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


def _item(row: Mapping[str, Any], repository: str, urls: dict[str, str], links: Links) -> Item:
    """Return a line of the changelog: title, then number or commit, and author."""
    import pandas as pd

    commit = str(row["commit"])
    url = links.commit(repository, commit, urls.get(commit, ""))
    reference = commit[:9]
    request = row["request"]
    if pd.notna(request) and isinstance(request, int):
        url = links.request(repository, request) or url
        reference = f"#{request}"

    return Item(str(row["title"]), f"{reference}, {name_in_sentence(str(row['author']))}", url)


def people_section(commits: Frame, earlier_people: AbstractSet[Pair] | None, link: LinkOf) -> tuple[Frame, Section]:
    """Return a row per author, and the section of authors.

    `earlier_people` are the keys of people with earlier commits. Where they are unknown (None), as in a shallow clone,
    there are no column `new` and no table of new people.
    """
    frame = _people_frame(commits, earlier_people or frozenset())
    if earlier_people is None:
        frame = frame.drop(columns="new")
    rows = frame.drop(columns="person")
    people = ReportTable(
        name="people",
        title="People",
        frame=rows,
        counts="Commits from base to head, and lines of those that aren't merges.",
        excludes="bots, and co-authors without a commit of their own.",
        source="commits",
        keys=("author", "author_email"),
        link=link,
    )
    tables = [people]
    if earlier_people is not None:
        new_people = rows[rows["new"]].drop(columns="new").reset_index(drop=True)
        counts = "People without a commit reachable from base under the same address."
        tables.append(replace(people, name="new_people", title="New people", frame=new_people, counts=counts))
    if not len(frame):
        return frame, Section("People", "No person wrote a commit in between.", tuple(tables))

    top = frame.head(_MAX_PEOPLE)
    description = f"Bars of commits of the {count_of(len(top), 'person')} with the most."
    figure = people_figure("people", "Commits by person", description, top, "commits")
    return frame, Section("People", "", tuple(tables), (figure,))


def _people_frame(commits: Frame, earlier_people: AbstractSet[Pair]) -> Frame:
    """Return the authors who aren't bots, most commits first, and whether each is new."""
    human_commits = commits[~commits["bot"]]
    grouped = human_commits.groupby(["person", "author", "author_email"], observed=True)
    frame = grouped.agg(
        commits=("commit", "size"),
        merges=("merge", "sum"),
        **LINE_SUMS,
        **DATE_SPAN,
    ).reset_index()
    authors, emails = frame["author"].astype("str"), frame["author_email"].astype("str")
    frame["new"] = [person_key(*pair) not in earlier_people for pair in zip(authors, emails, strict=True)]
    frame["new"] = frame["new"].astype("bool")
    return frame.sort_values(["commits", "person"], ascending=[False, True]).reset_index(drop=True)


def log_section(commits: Frame, link: LinkOf) -> Section:
    """Return the section of commits that aren't merges."""
    columns = ["commit", "subject", "author", "commit_date", "files", "additions", "deletions", "repository", "url"]
    table = ReportTable(
        name="log",
        title="Commits, newest first",
        frame=commits.loc[~commits["merge"], columns].reset_index(drop=True),
        counts="Commits from base to head.",
        excludes="merges.",
        source="commits",
        keys=("commit",),
        hidden=("url",),
        link=link,
    )
    return Section("Commits", "", (table,))


def symbols_section(api: Frame, link: LinkOf) -> Section:
    """Return the section of public symbols that differ; what breaks callers comes first."""
    if not len(api):
        return Section("Public symbols", "")

    is_type = (api["kind"].astype("str") == "class") & api["language"].astype("str").isin(_WITHOUT_CLASSES)
    order = api["status"].astype("str").map({state: index for index, state in enumerate(API_ORDER)})
    rows = api.assign(kind=api["kind"].astype("str").mask(is_type, "type"), _order=order)
    rows = rows.sort_values(["_order", "module", "symbol"], kind="stable")[_API_COLUMNS].reset_index(drop=True)

    # The table is wide, and a language that is the same in all rows says nothing.
    languages = api["language"].dropna().unique()
    hidden = ("language",) if len(languages) <= 1 else ()
    table = ReportTable(
        name="api",
        title="Public symbols that differ",
        frame=rows,
        counts="Public definitions that base and head declare differently, by the rules of each language; "
        "signatures are compared as texts.",
        excludes="tests, examples, internal modules, and languages other than Go, Java, Python and TypeScript.",
        keys=("module", "symbol", "status"),
        max_rows=40,
        hidden=hidden,
        link=link,
    )
    text = count_symbols(api)
    return Section("Public symbols", f"{text[:1].upper()}{text[1:]}.", (table,))


def time_section(commits: Frame, period: str, base_date: datetime | None) -> Section:
    """Return the section of activity and of hours; `base_date` is the time of base, where it is known."""
    oldest, newest = commits["commit_date"].min(), commits["commit_date"].max()
    # Commits of branches may be older than base.
    first = None if base_date is None else min(oldest, base_date)
    table, figure = activity(commits, period, Span(first, newest))
    hours, clock_figure = clock(commits)
    return Section(
        title="Time",
        text="Commits over time, and by weekday and hour.",
        tables=(table, hours),
        figures=(figure, clock_figure, change_sizes(commits)),
    )
