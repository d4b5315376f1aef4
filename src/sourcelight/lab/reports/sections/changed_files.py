"""The section of files of the change report: which differ, by file, directory and extension."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sourcelight.core.markup import count_of, join_words
from sourcelight.lab.reports.files import is_written, kinds_table, others_text
from sourcelight.lab.reports.history import churn_figure
from sourcelight.lab.reports.model import Frame, LinkOf, ReportTable, Section

if TYPE_CHECKING:
    from sourcelight.client import Client


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
