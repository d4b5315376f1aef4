"""The data of a story: its subject, its commits, the references in their messages, and locations before and after.

`changes` are the rows of the changes of a file, a directory or a definition, newest first, as `Client.path_history` or
`Client.symbol_history` return them. `commits` has one row for each commit of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sourcelight.core.batches.commit_messages import trailers_of
from sourcelight.lab.reports.history import add_periods
from sourcelight.lab.reports.model import Frame

MOVED = ("renamed", "moved", "file renamed")
"""Statuses of a change after which the thing has another name, or another file."""


@dataclass(frozen=True, slots=True)
class Thing:
    """Subject of a story.

    Attributes
    ----------
    noun
        ``file``, ``directory`` or ``definition``.
    name
        Its name in sentences.
    exists
        Whether the revision has it.
    is_repository
        Whether it is the directory that has all others; `name` is that of the repository then.
    """

    noun: str
    name: str
    exists: bool = True
    is_repository: bool = False

    @property
    def is_one(self) -> bool:
        """Whether a commit is one row; a directory has one row for each of its files."""
        return self.noun != "directory"


def story_commits(changes: Frame, period: str) -> Frame:
    """Return one row per commit of the changes of a thing, newest first, with their lines and number of files."""
    keys = ["repository", "commit"]
    frame = changes.drop_duplicates("commit").reset_index(drop=True)
    frame = frame.astype(dict.fromkeys([*keys, "subject", "message", "url"], "str"))

    # `min_count`, because pandas sums nulls to 0, and an unknown number isn't 0.
    rows = changes.astype(dict.fromkeys(keys, "str")).groupby(keys, observed=True)
    sums = rows.agg(
        files=("path", "size"),
        additions=("additions", lambda column: column.sum(min_count=1)),
        deletions=("deletions", lambda column: column.sum(min_count=1)),
    ).reset_index()
    frame = frame.drop(columns=["additions", "deletions"]).merge(sums, on=keys, how="left")
    frame = frame.astype({"additions": "Int64", "deletions": "Int64", "bot": "bool"})
    frame["person"] = frame["author"].astype("str") + " <" + frame["author_email"].astype("str") + ">"
    frame["merge"] = False  # merges have no change of their own
    frame["size"] = frame["additions"] + frame["deletions"]
    frame["reason"] = [_reason(message) for message in frame["message"]]
    return add_periods(frame, frame["commit_date"], period)


def _reason(message: str) -> str:
    """Return the first paragraph after the subject, unless it is one of trailers; empty for none."""
    _, *paragraphs = message.split("\n\n")
    for paragraph in paragraphs:
        text = " ".join(paragraph.split())
        if not text:
            continue
        # Trailers are read from a whole message, whose first line is its subject.
        has_trailers = bool(trailers_of(f"subject\n\n{text}"))
        return "" if has_trailers else text

    return ""


def references_frame(commits: Frame) -> Frame:
    """Return one row per reference, newest first: how many commits name it, the first and the last of them."""
    import pandas as pd

    rows_by_reference: dict[str, list[int]] = {}
    for row, references in enumerate(reference_lists(commits)):
        for reference in references:
            rows_by_reference.setdefault(reference, []).append(row)

    records = []
    # In the order of the newest commit that names each.
    for reference, rows in rows_by_reference.items():
        dates = commits["commit_date"].iloc[rows]
        newest_subject = commits["subject"].iloc[rows[0]]
        records.append((reference, len(rows), dates.min(), dates.max(), newest_subject))

    columns = ["reference", "commits", "first_date", "last_date", "subject"]
    return pd.DataFrame(records, columns=columns).astype({"commits": "int64"})


def reference_lists(commits: Frame) -> list[list[str]]:
    """Return the references in the message of each commit."""
    lists = []
    for references in commits["references"]:
        # A service may not know them.
        lists.append([] if references is None else [str(reference) for reference in references])
    return lists


def location(row: Mapping[Any, Any], prefix: str = "") -> str:
    """Return the location of a change: ``src/retry.py``, or ``wait in src/retry.py`` for a definition."""
    path = str(row[f"{prefix}path"])
    if "symbol" not in row:
        return path
    symbol = row[f"{prefix}symbol"]
    return f"{symbol} in {path}"


def locations(row: Mapping[Any, Any]) -> tuple[str, str]:
    """Return the locations before and after a change; a definition with the same name moved to another file."""
    if "symbol" in row and str(row["symbol"]) == str(row["old_symbol"]):
        return str(row["old_path"]), str(row["path"])
    return location(row, "old_"), location(row)
