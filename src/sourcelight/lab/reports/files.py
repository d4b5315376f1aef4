"""Files of reports: their kinds, and tables added up from changed files and owned lines.

Tables keep the `attrs` of the answer that they derive from. Where rows were added up, `drill_down` is removed: it would
lead to other commits than those that a row counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sourcelight.core.batches.persons import Pair, pair_text, parse_pair, person_key
from sourcelight.core.errors import RevisionNotFound, ToolError, UnsupportedTool
from sourcelight.core.markup import count_of
from sourcelight.core.query.file_kinds import DOCUMENTATION, SOURCE, kind_of_path
from sourcelight.lab.reports.model import DATE_SPAN, LINE_SUMS, Frame, ReportTable
from sourcelight.lab.reports.text import first_directory, share_text, shares_text

AUTHORED = (SOURCE, DOCUMENTATION)
"""Kinds of files that people of a repository write."""

_COMMIT_KEYS = ["repository", "commit"]
"""Columns that name a commit."""


def changed_files(
    call: str, churn: Callable[..., Any], repos: Sequence[str] | None, revisions: Sequence[str] | None, **dates: Any
) -> Any:
    """Return the files that each commit changes with their lines, from `Client.churn`: a row per commit and file.

    Raises
    ------
    ToolError
        If the service doesn't list them.
    """
    try:
        return churn(repos=repos, by=["repository", "commit", "path", "file_kind"], revisions=revisions, **dates)
    except UnsupportedTool as exc:
        text = f"{call}: only and exclude need the files of each commit, which this service doesn't provide"
        raise ToolError(text, tool=call, argument="only") from exc


def count_by_kinds(commits: Frame, churn: Callable[..., Frame], **arguments: Any) -> Frame:
    """Return commits with only the files and lines of `AUTHORED`; `churn` calls the client with `arguments`."""
    sizes = churn(by=_COMMIT_KEYS, file_kinds=list(AUTHORED), **arguments)
    columns = sizes[[*_COMMIT_KEYS, "changes", "additions", "deletions"]].rename(columns={"changes": "files"})
    columns = columns.astype(dict.fromkeys(_COMMIT_KEYS, "str")).set_index(_COMMIT_KEYS)
    commit_ids = list(zip(*(commits[key].astype("str") for key in _COMMIT_KEYS), strict=True))
    frame = commits.copy()
    frame.attrs = dict(commits.attrs)
    for column in columns.columns:
        # A commit without such a file has no row; an index without rows has no type to look commits up by.
        frame[column] = 0
        if len(columns):
            frame[column] = columns[column].reindex(commit_ids).fillna(0).astype("Int64").to_numpy()

    return frame


def add_file_kinds(diffs: Frame, churn: Callable[..., Frame], repo: str, base: str, head: str) -> Frame:
    """Return files that differ with the column ``file_kind``.

    If the client can't get the kinds of changed files, and for files changed only by merges, paths decide.
    """
    try:
        kinds = churn(repos=[repo], by=["path", "file_kind"], revisions=[head, f"^{base}"])
        kind_of = dict(zip(kinds["path"].astype("str"), kinds["file_kind"].astype("str"), strict=True))
    except (UnsupportedTool, ToolError, RevisionNotFound):
        kind_of = {}

    paths = diffs["path"].astype("str").tolist()
    frame = diffs.assign(file_kind=[kind_of.get(path) or kind_of_path(path) for path in paths])
    frame.attrs = dict(diffs.attrs)
    return frame


def is_written(frame: Frame) -> Frame:
    """Return whether the files of a frame with ``file_kind`` are of `AUTHORED`."""
    return frame["file_kind"].astype("str").isin(AUTHORED)


def largest_directories(files: Frame) -> tuple[str, str]:
    """Return where most lines of written files are, with shares, and a phrase about the other files; each may be empty.

    Directories of several repositories may share a name and would be added up: of several, repositories are named.
    """
    lines = (files["additions"].fillna(0) + files["deletions"].fillna(0)).astype("int64")
    # Without kinds of files, all count as written.
    has_kinds = "file_kind" in files and files["file_kind"].notna().any()
    is_counted = is_written(files) if has_kinds else lines >= 0
    is_of_several = "repository" in files and files["repository"].nunique() > 1
    names = files["repository"].astype("str") if is_of_several else files["path"].astype("str").map(first_directory)

    totals = lines[is_counted].groupby(names[is_counted]).sum()
    shares = shares_text(totals.index.astype("str").tolist(), totals.tolist(), float(totals.sum()))
    if is_counted.all():
        return shares, ""
    other_share = lines[~is_counted].sum() / max(int(lines.sum()), 1)
    return shares, f"Without vendored, generated and lock files ({share_text(other_share)} of all changed lines)"


def kinds_table(diffs: Frame) -> ReportTable:
    """Return a row per kind of file: files that differ and their lines."""
    grouped = diffs.groupby(diffs["file_kind"].astype("str"))
    frame = grouped.agg(files=("path", "size"), **LINE_SUMS)
    frame = frame.reset_index().sort_values(["files", "file_kind"], ascending=[False, True]).reset_index(drop=True)
    about = (
        "Files that differ and their lines, by kind. Git attributes, paths and generators' marks decide the kind; "
        "source is everything else: code, data and prose."
    )
    return ReportTable(
        name="file_kinds", title="Kinds of files", frame=frame, counts=about, excludes="the content of binary files."
    )


def others_text(diffs: Frame) -> str:
    """Return how much of the difference is in vendored, generated or lock files; empty if nothing is."""
    other_files = diffs[~is_written(diffs)]
    lines = int((other_files["additions"].fillna(0) + other_files["deletions"].fillna(0)).sum())
    if not len(other_files):
        return ""

    size = f"{count_of(len(other_files), 'file')} with {count_of(lines, 'line')}"
    if len(other_files) == 1:
        predicate = "is vendored, generated or a lock file"
    else:
        predicate = "are vendored, generated or lock files"
    return f"Of these, {size} {predicate}."


def add_authors(changes: Frame, commits: Frame) -> Frame:
    """Return changed files of these commits with the author of each: ``author``, ``author_email``, ``person``."""
    rows = changes.drop(columns=["author", "author_email"], errors="ignore").astype(dict.fromkeys(_COMMIT_KEYS, "str"))
    people = commits[[*_COMMIT_KEYS, "author", "author_email", "person"]].astype(dict.fromkeys(_COMMIT_KEYS, "str"))
    frame = rows.merge(people, on=_COMMIT_KEYS, how="inner")
    frame.attrs = dict(changes.attrs)
    return frame


def people_of(commits: Frame, changes: Frame, all_people: Frame | None) -> Frame:
    """Return authors and co-authors of these commits, bots last; `all_people` has all names.

    Parameters
    ----------
    commits
        Commits under the names that the report has for people.
    changes
        Changed files with their authors, as `add_authors` returns them.
    all_people
        An answer of `Client.contributors`, of more commits.
    """
    import pandas as pd

    identity = ["author", "author_email"]
    authors = commits.groupby(identity, observed=True).agg(
        commits=("commit", "size"),
        merges=("merge", "sum"),
        **LINE_SUMS,
        **DATE_SPAN,
        bot=("bot", "any"),
    )
    paths = changes.drop_duplicates([*identity, "repository", "path"]).groupby(identity, observed=True).size()
    co_authored = pd.DataFrame(list(_co_authors(commits, all_people)), columns=[*identity, "commit", "commit_date"])

    # A table without rows has no type of its own, and pandas 3.0 compares no dates with it.
    co_authored = co_authored.astype({"commit_date": commits["commit_date"].dtype})
    helpers = co_authored.groupby(identity).agg(
        co_authored=("commit", "size"), first=("commit_date", "min"), last=("commit_date", "max")
    )
    frame = authors.join(paths.rename("files"), how="left").join(helpers, how="outer")
    for column in ("commits", "merges", "co_authored", "additions", "deletions", "files"):
        frame[column] = frame[column].fillna(0).astype("int64")

    frame["first_date"] = frame[["first_date", "first"]].min(axis="columns")
    frame["last_date"] = frame[["last_date", "last"]].max(axis="columns")
    # Null for a person who is a co-author alone.
    frame["bot"] = frame["bot"].map(lambda value: value is True or value == True)  # noqa: E712 - pandas' own types
    frame = frame.drop(columns=["first", "last"]).reset_index()
    aliases: Mapping[str, Sequence[str]] = {}
    if all_people is not None:
        aliases = all_people.attrs.get("aliases", {})
        bots = _bots_among(all_people)
        rows = zip(frame["author"], frame["author_email"], frame["bot"], strict=True)
        frame["bot"] = [is_bot or (name, email) in bots for name, email, is_bot in rows]

    frame = frame.sort_values(["bot", "commits", *identity], ascending=[True, False, True, True]).reset_index(drop=True)
    frame.attrs = dict(changes.attrs) | {"aliases": aliases}
    return frame


def _bots_among(people: Frame) -> set[Pair]:
    """Return the names and addresses of people that are bots."""
    bots = people[people["bot"].fillna(value=False).astype("bool")]
    return set(zip(bots["author"].astype("str"), bots["author_email"].astype("str"), strict=True))


def _co_authors(commits: Frame, all_people: Frame | None) -> Iterator[tuple[str, str, str, Any]]:
    """Yield the co-authors of commits, each once a commit, without the commit's author.

    Each has name, address, commit and the time of the commit.
    """
    names = {} if all_people is None else _names_by_person(all_people)
    columns = (commits[column] for column in ("author", "author_email", "commit", "commit_date", "co_authors"))
    for author, address, commit, date, co_authors in zip(*columns, strict=True):
        pairs = (parse_pair(str(text)) for text in (() if co_authors is None else co_authors))
        distinct_people = {names.get(person_key(*pair), pair) for pair in pairs}
        for name, email in sorted(distinct_people - {(author, address)}):
            yield name, email, commit, date


def _names_by_person(people: Frame) -> dict[Pair, Pair]:
    """Return the name and address that a report has for each person, and for each of a person's other names."""
    names: dict[Pair, Pair] = {}
    for pair in zip(people["author"].astype("str"), people["author_email"].astype("str"), strict=True):
        names[person_key(*pair)] = pair

    for name, aliases in people.attrs.get("aliases", {}).items():
        for alias in aliases:
            names[person_key(*parse_pair(alias))] = parse_pair(name)

    return names


def churn_of(changes: Frame, column: str, key: Callable[[str], str] | None = None) -> Frame:
    """Return changed lines by repository and a column, most first; `key` makes the column of the path."""
    rows = changes if key is None else changes.assign(**{column: changes["path"].map(key)})
    kinds = ["file_kind"] if column == "path" and rows["file_kind"].notna().any() else []
    by = ["repository", *dict.fromkeys([column, *kinds])]
    frame = (
        rows.astype(dict.fromkeys(by, "str"))
        .groupby(by)
        .agg(
            **LINE_SUMS,
            changes=("path", "size"),
            commits=("commit", "nunique"),
            authors=("person", "nunique"),
        )
        .reset_index()
    )
    size = frame["additions"] + frame["deletions"]
    frame = frame.assign(_size=size).sort_values(["_size", *by], ascending=[False, *[True] * len(by)])
    frame = frame.drop(columns="_size").reset_index(drop=True)
    counts = changes.groupby("repository", observed=True)["path"].nunique()
    frame.attrs = {**changes.attrs, "changed_paths": {str(name): int(count) for name, count in counts.items()}}

    # These rows count the files that pass: the answer's own way to commits would give others.
    frame.attrs.pop("drill_down", None)
    return frame


def top_directory(path: str) -> str:
    """Return the directory at the top that a path is in, with all below it; ``/*`` for files that are in none."""
    directory, slash, _ = path.partition("/")
    return f"{directory}/" if slash else "/*"


def owners_of(files: Frame) -> Frame:
    """Return the owners of the lines of some files, most first; `files` has a row per author and file."""
    rows = files.astype({"repository": "str", "author": "str", "author_email": "str"})
    frame = rows.groupby(["repository", "author", "author_email"]).agg(
        lines=("lines", "sum"),
        oldest_date=("oldest_date", "min"),
        newest_date=("newest_date", "max"),
        bot=("bot", "any"),
        exact=("exact", "all"),
    )
    frame = frame.reset_index()
    frame["share"] = frame["lines"] / max(int(frame["lines"].sum()), 1)
    frame["path"] = "/"
    frame = frame.sort_values(["lines", "author", "author_email"], ascending=[False, True, True]).reset_index(drop=True)
    frame.attrs = dict(files.attrs)
    frame.attrs.pop("drill_down", None)
    return frame


def bus_factor_of(files: Frame) -> Frame:
    """Return the fewest people who own more than half of the lines of all files, and of each directory at the top."""
    import pandas as pd

    human = files[~files["bot"].fillna(value=False).astype("bool")]
    human = human.assign(directory=human["path"].astype("str").map(top_directory))
    rows = [_bus_factor_row("/", human)]
    rows += [_bus_factor_row(str(directory), part) for directory, part in human.groupby("directory") if len(part)]
    frame = pd.DataFrame(rows)
    frame.insert(0, "repository", str(files["repository"].iloc[0]) if len(files) else "")

    # The whole repository first, then the directories that fewest people own.
    frame = frame.assign(_below=frame["path"] != "/").sort_values(
        ["_below", "bus_factor", "lines", "path"], ascending=[True, True, False, True]
    )
    frame = frame.drop(columns="_below").reset_index(drop=True)
    frame.attrs = dict(files.attrs)
    frame.attrs.pop("drill_down", None)
    return frame


def _bus_factor_row(directory: str, files: Frame) -> dict[str, Any]:
    lines = files.groupby(["author", "author_email"], observed=True)["lines"].sum().reset_index()
    lines = lines.sort_values(["lines", "author", "author_email"], ascending=[False, True, True])
    running = lines["lines"].cumsum()
    total = int(lines["lines"].sum())
    factor, share = 0, 0.0
    if total:
        # The owners up to half of the lines, and the one who passes it.
        factor = int((running <= total / 2).sum()) + 1
        share = float(running.iloc[factor - 1] / total)

    owners = lines.head(factor)
    return {
        "path": directory,
        "bus_factor": factor,
        "lines": total,
        "authors": len(lines),
        "owners": [pair_text(pair) for pair in zip(owners["author"], owners["author_email"], strict=True)],
        "share": share,
        "exact": bool(files["exact"].all()),
        "agent_lines": files["agent_lines"].sum(min_count=1),
    }
