"""The section of files of the change report: which differ, by file, directory and extension."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sourcelight.core.markup import count_of, join_words
from sourcelight.lab.reports.files import is_written, kinds_table, others_text
from sourcelight.lab.reports.history import churn_figure
from sourcelight.lab.reports.model import LINE_SUMS, Frame, LinkOf, ReportTable, Section

if TYPE_CHECKING:
    from sourcelight.client import Client


_HIDDEN_COLUMNS = ("patch", "object_id", "old_object_id", "mode", "old_mode", "base", "head", "position", "repository",
                   "truncated")  # fmt: skip
"""Columns of a comparison that say nothing in a table of one repository."""

_OTHER_FILES = "vendored, generated and lock files"
_BINARY = "the content of binary files."


def files_section(code: Client, repo: str, head: str, diffs: Frame, link: LinkOf) -> Section:
    """Return the section of files that differ, by file, directory and extension.

    Parameters
    ----------
    code
        Client that answers which commits changed a file.
    repo, head
        The repository, and the newer revision.
    diffs
        The files; with the column ``file_kind``, vendored, generated and lock files get a table of their own.
    link
        Gives the addresses of files.
    """
    if not len(diffs):
        return Section("Files", "No file differs.")

    has_kinds = "file_kind" in diffs
    counted_files = diffs
    excludes = _BINARY
    if has_kinds and not is_written(diffs).all():
        counted_files = diffs[is_written(diffs)]
        excludes = f"{_OTHER_FILES}, {_BINARY}"

    directories = _group(counted_files, counted_files["path"].map(_directory), "directory")
    endings = _group(counted_files, counted_files["path"].map(_ending), "ending")
    tables = [
        *_file_tables(code, repo, head=head, diffs=diffs, link=link, excludes=excludes),
        ReportTable(
            name="directories",
            title="Directories",
            frame=directories,
            counts="Files that differ and their lines, by directory. "
            "src/* are the files of src/ itself, /* those at the top.",
            excludes=excludes,
        ),
        ReportTable(
            name="endings",
            title="Kinds of files",
            frame=endings,
            counts="Files that differ and their lines, by file extension.",
            excludes=excludes,
        ),
    ]
    states = diffs["status"].astype("str").value_counts()
    text = f"{count_of(len(diffs), 'file')}: {join_words([f'{count:,} {state}' for state, count in states.items()])}."
    if has_kinds:
        tables.insert(0, kinds_table(diffs))
        text = f"{text} {others_text(diffs)}"

    figure = churn_figure("directories", "Directories by lines that differ", directories, "directory")
    return Section("Files", text, tuple(tables), (figure,))


def _file_tables(code: Client, repo: str, *, head: str, diffs: Frame, link: LinkOf, excludes: str) -> list[ReportTable]:
    """Return the table of files that count, and a table of other files if the kinds of files are known."""
    frame = diffs.drop(columns=[column for column in _HIDDEN_COLUMNS if column in diffs])
    size = frame["additions"].fillna(0) + frame["deletions"].fillna(0)
    frame = frame.assign(_size=size).sort_values(["_size", "path"], ascending=[False, True]).drop(columns="_size")
    frame = frame.reset_index(drop=True)

    # A renamed file has commits under both names.
    names = [sorted({str(old), str(new)}) for old, new in zip(frame["old_path"], frame["path"], strict=True)]
    frame["old_path"] = frame["old_path"].astype("str").where(frame["old_path"].astype("str") != frame["path"])

    def make_table(name: str, title: str, mask: Frame, excludes: str) -> ReportTable:
        # Rows of a filtered table get new numbers; this maps each back to its row in `names`.
        rows = mask.to_numpy().nonzero()[0].tolist()

        def commits_behind(row: int) -> Frame:
            return code.commit_search(repos=[repo], files=names[rows[row]], revisions=[head], progress=False)

        return ReportTable(
            name=name,
            title=title,
            frame=frame[mask].reset_index(drop=True),
            counts="Lines that differ between base and head.",
            excludes=excludes,
            keys=("path",),
            hidden=("score",),
            link=link,
            behind=commits_behind,
        )

    if "file_kind" not in frame:
        return [make_table("files", "Files that differ", frame["path"].notna(), excludes)]

    is_counted = is_written(frame)
    files = make_table("files", "Files that differ", is_counted, excludes)
    other_files = make_table("other_files", _OTHER_FILES.capitalize(), ~is_counted, _BINARY)
    return [replace(files, frame=files.frame.drop(columns="file_kind")), other_files]


def _directory(path: str) -> str:
    return f"{path.rpartition('/')[0]}/*"


def _ending(path: str) -> str:
    """Return the extension of a file: ``.gz`` of ``a.tar.gz``; a dot at the beginning of a name begins none."""
    name = path.rpartition("/")[2]
    if "." not in name.lstrip("."):
        return "none"
    return f".{name.rpartition('.')[2]}"


def _group(diffs: Frame, key: Frame, name: str) -> Frame:
    """Return files and their lines by a key, whose column is `name`; most lines first."""
    grouped = diffs.assign(**{name: key}).groupby(name, observed=True)
    frame = grouped.agg(files=("path", "size"), **LINE_SUMS)
    # Stable, so that groups of one size stay in the order of their names.
    size = frame["additions"] + frame["deletions"]
    ordered = frame.assign(_size=size).sort_values("_size", ascending=False, kind="stable").drop(columns="_size")
    return ordered.reset_index()
