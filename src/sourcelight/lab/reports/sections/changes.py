"""The sections and the summary of the change report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches.persons import Pair, person_key
from sourcelight.core.markup import count_of, join_words, plural
from sourcelight.lab.plots.charts import stacked_bars
from sourcelight.lab.reports.files import is_written, kinds_table, others_text
from sourcelight.lab.reports.history import churn_figure, distinct_names, line_metrics
from sourcelight.lab.reports.html import ThemedFigure
from sourcelight.lab.reports.model import Frame, Item, LinkOf, Listing, Metric, ReportTable, Section
from sourcelight.lab.reports.people import JOINED, PEOPLE, unify_names
from sourcelight.lab.reports.sections.changelog import KINDS, RULE, Change, CommitInfo, kind_of
from sourcelight.lab.reports.text import compare_counts, date_text, duration_text, shares_text

if TYPE_CHECKING:
    from sourcelight.client import Client
    from sourcelight.lab.reports.text import Links


_PEOPLE_SHOWN = 15
_ENTRIES_SHOWN = 40
_SHOWN_OF_KIND = {"docs": 15, "tests": 15, "dependencies": 15, "other": 25}
_UNSHOWN = (
    "patch",
    "object_id",
    "old_object_id",
    "mode",
    "old_mode",
    "base",
    "head",
    "position",
    "repository",
    "truncated",
)
_LOG_COLUMNS = ["kind", "title", "request", "author", "commits", "commit_date", "commit"]

API_ORDER = ("removed", "changed", "moved", "added")
"""States of public symbols; what breaks callers comes first."""

_NOUNS = {
    "breaking": "breaking change", "features": "feature", "fixes": "fix", "docs": "change of documentation",
    "tests": "change of tests", "dependencies": "change of dependencies", "other": "other change",
}  # fmt: skip

_PLURALS = {"fixes": "fixes", "docs": "changes of documentation", "tests": "changes of tests",
            "dependencies": "changes of dependencies"}  # fmt: skip


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


def files_section(code: Client, repo: str, head: str, diffs: Frame, link: LinkOf) -> Section:
    """Return the section of files that differ, by file, directory and extension."""
    if not len(diffs):
        return Section("Files", "No file differs.")

    is_apart = "file_kind" in diffs and not is_written(diffs).all()
    binary = f"{'vendored, generated and lock files, ' if is_apart else ''}the content of binary files."
    files, *other_files = _file_tables(code, repo, head, diffs, link, binary)
    counted_files = diffs[is_written(diffs)] if is_apart else diffs
    folders = _group(counted_files, counted_files["path"].map(lambda path: f"{path.rpartition('/')[0]}/*"), "directory")
    endings = _group(counted_files, counted_files["path"].map(_ending), "ending")
    about = "Files that differ and their lines, by {}."
    about_folders = f"{about.format('directory')} src/* are the files of src/ itself, /* those at the top."
    tables = (
        *([kinds_table(diffs)] if "file_kind" in diffs else []),
        files,
        *other_files,
        ReportTable("directories", "Directories", folders, about_folders, binary),
        ReportTable("endings", "Kinds of files", endings, about.format("file extension"), binary),
    )
    status = diffs["status"].astype("str").value_counts()
    text = f"{count_of(len(diffs), 'file')}: {join_words([f'{count:,} {name}' for name, count in status.items()])}."
    if "file_kind" in diffs:
        text = f"{text} {others_text(diffs)}"

    figure = churn_figure("directories", "Directories by lines that differ", folders, "directory")
    return Section("Files", text, tables, (figure,))


def _file_tables(code: Client, repo: str, head: str, diffs: Frame, link: LinkOf, excludes: str) -> list[ReportTable]:
    """Return the table of files that count, and a table of other files if the kinds of files are known."""
    frame = diffs.drop(columns=[column for column in _UNSHOWN if column in diffs])
    size = frame["additions"].fillna(0) + frame["deletions"].fillna(0)
    frame = frame.assign(_size=size).sort_values(["_size", "path"], ascending=[False, True]).drop(columns="_size")
    frame = frame.reset_index(drop=True)

    # A renamed file has commits under both names.
    names = [sorted({str(old), str(new)}) for old, new in zip(frame["old_path"], frame["path"], strict=True)]
    frame["old_path"] = frame["old_path"].astype("str").where(frame["old_path"].astype("str") != frame["path"])

    def table(name: str, heading: str, mask: Frame, excludes: str) -> ReportTable:
        # Rows of a filtered table get new numbers; this maps each back to its row in `names`.
        rows = mask.to_numpy().nonzero()[0].tolist()
        return ReportTable(
            name, heading, frame[mask].reset_index(drop=True), "Lines that differ between base and head.", excludes, "",
            ("path",), hidden=("score",), link=link,
            behind=lambda row: code.commit_search(
                repos=[repo], files=names[rows[row]], revisions=[head], progress=False
            ),
        )  # fmt: skip

    if "file_kind" not in frame:
        return [table("files", "Files that differ", frame["path"].notna(), excludes)]

    is_counted = is_written(frame)
    files = table("files", "Files that differ", is_counted, excludes)
    other_files = table(
        "other_files", "Vendored, generated and lock files", ~is_counted, "the content of binary files."
    )
    return [replace(files, frame=files.frame.drop(columns="file_kind")), other_files]


def _ending(path: str) -> str:
    name = path.rpartition("/")[2]
    return f".{name.rpartition('.')[2]}" if "." in name.lstrip(".") else "none"


def _group(diffs: Frame, key: Frame, name: str) -> Frame:
    grouped = diffs.assign(**{name: key}).groupby(name, observed=True)
    frame = grouped.agg(files=("path", "size"), additions=("additions", "sum"), deletions=("deletions", "sum"))
    size = frame["additions"] + frame["deletions"]
    ordered = frame.assign(_size=size).sort_values("_size", ascending=False, kind="stable").drop(columns="_size")
    return ordered.reset_index()


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


def metrics(diffs: Frame, commits: Frame, people: Frame, log: Frame, before: Frame | None) -> list[Metric]:
    """Return the numbers of the report."""
    # Null is unknown, zero is counted: a sum over nulls alone would show a false 0.
    unknown_count = int(diffs["additions"].isna().sum())
    excludes = f"{count_of(unknown_count, 'file')} whose content is missing or unknown." if unknown_count else ""
    binary = int(diffs["binary"].fillna(value=False).sum())
    bots = "bots, and co-authors without a commit of their own."
    new = people.loc[people["new"], "person"].tolist()
    metrics_list = [
        Metric("files", len(diffs), "Files that differ, renames counted once.", "", "changes"),
        Metric("diff additions", _sum(diffs, "additions"), "Lines that head has and base lacks.", excludes, "changes"),
        Metric("diff deletions", _sum(diffs, "deletions"), "Lines that base has and head lacks.", excludes, "changes"),
        Metric("binary files", binary, "Files that git treats as binary.", "", "changes", {"binary": True}),
        Metric("commits", len(commits), "Commits from base to head, merges included.", "", "commits"),
        Metric("merges", int(commits["merge"].sum()), "Commits with two or more parents.", "", "commits",
               {"merge": True}),
        Metric("commits by bots", int(commits["bot"].sum()), "Commits whose author is a bot.", "", "commits",
               {"bot": True}),
        Metric("people", len(people), f"{PEOPLE} {JOINED}", bots, "commits",
               {"bot": False}),
        Metric("new people", len(new), "Authors without a commit reachable from base under the same address.",
               bots, "commits", {"person": new}),
        Metric("pull requests", int(log["request"].notna().sum()),
               "Pull and merge requests that merges and squashed commits name."),
        *line_metrics(commits, "Lines of all these commits, including those that one of them undoes."),
    ]  # fmt: skip
    if before is not None:
        counts = "Commits of a period before base, as long as the one from base to the newest of these commits."
        metrics_list.append(Metric("commits before", len(before), counts, "", "before"))

    return metrics_list


def _sum(frame: Frame, column: str) -> int | None:
    if not len(frame) or frame[column].notna().any():
        return int(frame[column].sum())
    return None


@dataclass(frozen=True, slots=True)
class Ends:
    """The two revisions as requested, the date of base, and the number of commits that only base has."""

    base: str
    head: str
    started: Any
    undone: int


def write_introduction(
    ends: Ends, diffs: Frame, commits: Frame, people: Frame, log: Frame, api: Frame | None, before: Frame | None
) -> list[str]:
    """Return the introduction: authors, files, changes, public symbols, and a comparison with the period before."""
    sentences = (
        _who(ends, commits, people),
        _size_text(diffs),
        _kinds(log),
        _api_text(api),
        _comparison_text(ends, commits, before),
    )
    return [sentence for sentence in sentences if sentence]


def no_commits_text(revisions: Ends) -> str:
    """Return the sentence for a head that has no commits beyond base, with the reason."""
    text = f"{revisions.head} has no commit that {revisions.base} lacks"
    if revisions.undone:
        return f"{text}: it is {count_of(revisions.undone, 'commit')} behind. Swap the two."
    return f"{text}."


def _who(revisions: Ends, commits: Frame, people: Frame) -> str:
    base, head, started = revisions.base, revisions.head, revisions.started
    if not len(commits):
        return no_commits_text(revisions)

    end_date = commits["commit_date"].max()
    since = f"{base} ({date_text(started)})" if started is not None else base
    new = int(people["new"].sum())
    bots = int(commits["bot"].sum())
    by = count_of(len(people), "person")
    text = f"{head} ({date_text(end_date)}) has {count_of(len(commits), 'commit')} since {since}"
    text += f": {len(commits) - bots:,} by {by} and {bots:,} by bots" if bots else f" by {by}"
    if not new:
        return f"{text}."

    names = people.loc[people["new"], "author"].astype("str").tolist()
    return f"{text}; {new:,} of the people {'is' if new == 1 else 'are'} new" + (
        f": {join_words(names)}." if new <= 4 else "."
    )


def _size_text(diffs: Frame) -> str:
    if not len(diffs):
        return "No file differs."

    additions, deletions = _sum(diffs, "additions"), _sum(diffs, "deletions")
    text = f"{count_of(len(diffs), 'file')} {'differs' if len(diffs) == 1 else 'differ'}"
    if additions is None or deletions is None:
        return f"{text}."

    # By the first directory only: deeper ones have too small shares for a sentence.
    size = (diffs["additions"].fillna(0) + diffs["deletions"].fillna(0)).astype("int64")
    folder = diffs["path"].map(lambda path: f"{path.partition('/')[0]}/" if "/" in path else "the top directory")
    totals = size.groupby(folder).sum()
    largest_shares = shares_text(totals.index.astype("str").tolist(), totals.tolist(), float(totals.sum()))
    text += f": {count_of(additions, 'line')} added and {deletions:,} removed"
    return f"{text}, most of them in {largest_shares}." if largest_shares else f"{text}."


def _kinds(log: Frame) -> str:
    if not len(log):
        return ""
    counts = log["kind"].value_counts()
    parts = [_count_text(kind, int(counts.get(kind, 0))) for kind in KINDS if counts.get(kind, 0)]
    are = "the change is" if len(log) == 1 else f"the {len(log):,} changes are"
    return f"By their titles, {are} {join_words(parts)}."


def _api_text(api: Frame | None) -> str:
    if api is None or not len(api):
        return ""
    counts = api["status"].astype("str").value_counts()
    parts = [f"{int(counts[name]):,} {name}" for name in API_ORDER if name in counts]
    # What the titles call breaking is seldom all that breaks callers.
    return f"Public symbols, by their declarations: {join_words(parts)}."


def _count_text(kind: str, count: int) -> str:
    return f"{count:,} {_NOUNS[kind] if count == 1 else _PLURALS.get(kind, plural(_NOUNS[kind]))}"


def _comparison_text(ends: Ends, commits: Frame, before: Frame | None) -> str:
    base, started = ends.base, ends.started
    if before is None or started is None:
        return ""

    time = duration_text((commits["commit_date"].max() - started).total_seconds() / 86_400)
    human = unify_names(before[~before["bot"].fillna(value=False).astype("bool")], None, join_addresses=True)
    people = len(human[["author", "author_email"]].drop_duplicates())
    count, earlier_count = len(commits), len(before)
    compared = compare_counts(count, earlier_count, f"the {time} before {base}")
    text = f"The {time} since {base} had {count_of(count, 'commit')}, {compared}"
    return f"{text}, by {count_of(people, 'person')}." if people else f"{text}."
