"""Vendored, generated and lock files of reports: apart, taken in, or left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

from sourcelight.core.errors import RevisionNotFound, ToolError, UnsupportedTool
from sourcelight.core.markup import count_of
from sourcelight.core.query.file_kinds import DOCUMENTATION, SOURCE, kind_of_path
from sourcelight.lab.reports.model import Frame, ReportTable

OtherFiles = Literal["apart", "with", "without"]
WRITTEN = (SOURCE, DOCUMENTATION)
"""Kinds of files that people of a repository write."""

_KEYS = ["repository", "commit"]


def check_other_files(call: str, other_files: str) -> None:
    """Raise `ToolError` for a value that is none."""
    accepted = get_args(OtherFiles)
    if other_files not in accepted:
        raise ToolError(
            f"other_files must be one of {', '.join(accepted)}, got {other_files!r}", tool=call, argument="other_files"
        )


def sized_by_kinds(commits: Frame, churn: Callable[..., Frame], **where: Any) -> Frame:
    """Commits with the files and lines of `WRITTEN` alone; `churn` asks the client, `where` are its arguments."""
    sizes = churn(by=_KEYS, file_kinds=list(WRITTEN), **where)
    own = sizes[[*_KEYS, "changes", "additions", "deletions"]].rename(columns={"changes": "files"})
    own = own.astype(dict.fromkeys(_KEYS, "str")).set_index(_KEYS)
    index = list(zip(*(commits[key].astype("str") for key in _KEYS), strict=True))
    frame = commits.copy()
    frame.attrs = dict(commits.attrs)
    for column in own.columns:
        frame[column] = own[column].reindex(index).fillna(0).astype("Int64").to_numpy() if len(own) else 0
    return frame


def with_file_kinds(diffs: Frame, churn: Callable[..., Frame], repo: str, base: str, head: str) -> Frame:
    """Files that differ with the column ``file_kind``.

    Where the client can't tell the kinds of changed files, and for files that merges alone changed, paths decide.
    """
    try:
        told = churn(repos=[repo], by=["path", "file_kind"], revisions=[head, f"^{base}"])
        known = dict(zip(told["path"].astype("str"), told["file_kind"].astype("str"), strict=True))
    except (UnsupportedTool, ToolError, RevisionNotFound):
        known = {}
    paths = diffs["path"].astype("str").tolist()
    frame = diffs.assign(file_kind=[known.get(path) or kind_of_path(path) for path in paths])
    frame.attrs = dict(diffs.attrs)
    return frame


def is_written(frame: Frame) -> Frame:
    """Whether the files of a frame with ``file_kind`` are of `WRITTEN`."""
    return frame["file_kind"].astype("str").isin(WRITTEN)


def kinds_table(diffs: Frame) -> ReportTable:
    """A row a kind of file: files that differ and their lines."""
    grouped = diffs.groupby(diffs["file_kind"].astype("str"))
    frame = grouped.agg(files=("path", "size"), additions=("additions", "sum"), deletions=("deletions", "sum"))
    frame = frame.reset_index().sort_values(["files", "file_kind"], ascending=[False, True]).reset_index(drop=True)
    about = "Files that differ and their lines by kind, which git attributes, paths and generators' marks tell."
    return ReportTable("file_kinds", "Kinds of files", frame, about, "the content of binary files.")


def others_text(diffs: Frame) -> str:
    """How much of what differs nobody wrote here; empty for nothing."""
    others = diffs[~is_written(diffs)]
    lines = int((others["additions"].fillna(0) + others["deletions"].fillna(0)).sum())
    if not len(others):
        return ""
    size = f"{count_of(len(others), 'file')} with {count_of(lines, 'line')}"
    what = "is vendored, generated or a lock file" if len(others) == 1 else "are vendored, generated or lock files"
    return f"Of these, {size} {what}."
