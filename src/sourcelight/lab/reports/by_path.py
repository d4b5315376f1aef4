"""The figures of the contributor report for some files alone, added up from the files that each commit changed.

The frames have the columns of `Client.contributors`, `Client.churn`, `Client.ownership` and `Client.bus_factor`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sourcelight.core.batches.persons import Pair, person_key
from sourcelight.lab.reports.model import Frame

_KEYS = ["repository", "commit"]


def with_authors(changes: Frame, commits: Frame) -> Frame:
    """Changed files of these commits with the author of each: ``author``, ``author_email``, ``person``."""
    rows = changes.drop(columns=["author", "author_email"], errors="ignore").astype(dict.fromkeys(_KEYS, "str"))
    people = commits[[*_KEYS, "author", "author_email", "person"]].astype(dict.fromkeys(_KEYS, "str"))
    frame = rows.merge(people, on=_KEYS, how="inner")
    frame.attrs = dict(changes.attrs)
    return frame


def people_of(commits: Frame, changes: Frame, known: Frame | None) -> Frame:
    """Who wrote these commits or is named as co-author, bots last; `known` has the names of everybody.

    Parameters
    ----------
    commits
        Commits under the names that the report has for people.
    changes
        What `with_authors` gives for them.
    known
        An answer of `Client.contributors`, of more commits.
    """
    import pandas as pd

    who = ["author", "author_email"]
    wrote = commits.groupby(who, observed=True).agg(
        commits=("commit", "size"),
        merges=("merge", "sum"),
        additions=("additions", "sum"),
        deletions=("deletions", "sum"),
        first_date=("commit_date", "min"),
        last_date=("commit_date", "max"),
        bot=("bot", "any"),
    )
    paths = changes.drop_duplicates([*who, "repository", "path"]).groupby(who, observed=True).size()
    helped = pd.DataFrame(list(_helped(commits, known)), columns=[*who, "commit", "commit_date"])
    helpers = helped.groupby(who).agg(
        co_authored=("commit", "size"), first=("commit_date", "min"), last=("commit_date", "max")
    )
    frame = wrote.join(paths.rename("files"), how="left").join(helpers, how="outer")
    for column in ("commits", "merges", "co_authored", "additions", "deletions", "files"):
        frame[column] = frame[column].fillna(0).astype("int64")
    frame["first_date"] = frame[["first_date", "first"]].min(axis="columns")
    frame["last_date"] = frame[["last_date", "last"]].max(axis="columns")
    frame["bot"] = frame["bot"].map(lambda value: value is True or value == True)  # noqa: E712 - pandas' own types
    frame = frame.drop(columns=["first", "last"]).reset_index()
    if known is not None:
        bots = set(map(tuple, known.loc[known["bot"].fillna(value=False).astype("bool"), who].astype("str").to_numpy()))
        pairs = zip(frame["author"], frame["author_email"], frame["bot"], strict=True)
        frame["bot"] = [bot or (name, email) in bots for name, email, bot in pairs]
    frame = frame.sort_values(["bot", "commits", *who], ascending=[True, False, True, True]).reset_index(drop=True)
    frame.attrs = dict(changes.attrs) | {"aliases": {} if known is None else known.attrs.get("aliases", {})}
    return frame


def _helped(commits: Frame, known: Frame | None) -> Iterator[tuple[str, str, str, Any]]:
    """Co-authors of commits, each once a commit, the commit's own author left out."""
    names: dict[Pair, Pair] = {}
    if known is not None:
        pairs = zip(known["author"].astype("str"), known["author_email"].astype("str"), strict=True)
        names = {person_key(*pair): pair for pair in pairs}
        for name, group in known.attrs.get("aliases", {}).items():
            names |= {person_key(*_pair(alias)): _pair(name) for alias in group}
    columns = (commits[column] for column in ("author", "author_email", "commit", "commit_date", "co_authors"))
    for author, address, commit, date, co_authors in zip(*columns, strict=True):
        found = {
            names.get(person_key(*_pair(text)), _pair(text)) for text in (() if co_authors is None else co_authors)
        }
        for name, email in sorted(found - {(author, address)}):
            yield name, email, commit, date


def _pair(text: str) -> Pair:
    name, _, email = str(text).rpartition(" <")
    return name, email.removesuffix(">")


def churn_of(changes: Frame, column: str, key: Callable[[str], str] | None = None) -> Frame:
    """Changed lines by repository and a column, most first; `key` makes the column of the path."""
    rows = changes if key is None else changes.assign(**{column: changes["path"].map(key)})
    kinds = ["file_kind"] if column == "path" and rows["file_kind"].notna().any() else []
    by = ["repository", *dict.fromkeys([column, *kinds])]
    frame = (
        rows.astype(dict.fromkeys(by, "str"))
        .groupby(by)
        .agg(
            additions=("additions", "sum"),
            deletions=("deletions", "sum"),
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
    frame.attrs.pop("drill_down", None)
    return frame


def top_directory(path: str) -> str:
    """The directory at the top that a path is in, with all below it; ``/*`` for files that are in none."""
    return f"{path.partition('/')[0]}/" if "/" in path else "/*"


def owners_of(files: Frame) -> Frame:
    """Who owns how many lines of some files, most first; `files` has a row an author and file."""
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
    """The fewest people who own more than half of the lines of all files, and of each directory at the top."""
    import pandas as pd

    human = files[~files["bot"].fillna(value=False).astype("bool")]
    human = human.assign(folder=human["path"].astype("str").map(top_directory))
    groups = [("/", human), *((str(name), rows) for name, rows in human.groupby("folder"))]
    rows = [_factor(folder, part) for folder, part in groups if len(part) or folder == "/"]
    frame = pd.DataFrame(rows)
    frame.insert(0, "repository", str(files["repository"].iloc[0]) if len(files) else "")
    frame = frame.assign(_below=frame["path"] != "/").sort_values(
        ["_below", "bus_factor", "lines", "path"], ascending=[True, True, False, True]
    )
    frame = frame.drop(columns="_below").reset_index(drop=True)
    frame.attrs = dict(files.attrs)
    frame.attrs.pop("drill_down", None)
    return frame


def _factor(folder: str, files: Frame) -> dict[str, Any]:
    lines = files.groupby(["author", "author_email"], observed=True)["lines"].sum().reset_index()
    lines = lines.sort_values(["lines", "author", "author_email"], ascending=[False, True, True])
    running = lines["lines"].cumsum()
    whole = int(lines["lines"].sum())
    factor = int((running <= whole / 2).sum()) + 1 if whole else 0
    top = lines.head(factor)
    return {
        "path": folder,
        "bus_factor": factor,
        "lines": whole,
        "authors": len(lines),
        "owners": [f"{name} <{email}>" for name, email in zip(top["author"], top["author_email"], strict=True)],
        "share": float(running.iloc[factor - 1] / whole) if factor else 0.0,
        "exact": bool(files["exact"].all()),
    }
