"""Matches of a search joined with history: who brought the matched lines, and who changed the files last."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.client.progress import painting
from sourcelight.core.backend import Backend
from sourcelight.core.batches.results import CallObserver, ToolProgress, ToolResult
from sourcelight.core.errors import RepositoryError, ToolError, UnsupportedTool
from sourcelight.display.frames.facts import answer_frame
from sourcelight.display.notebook import CallState, ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame

_MAX_CONCURRENT = 4
_SHOW_AFTER_S = 0.5
_PLACE = ["repository", "commit", "path"]
_BLAME = {
    "commit": "blame_commit",
    "author": "blame_author",
    "author_email": "blame_author_email",
    "author_date": "blame_author_date",
    "commit_date": "blame_commit_date",
    "subject": "blame_subject",
}
_LAST = {
    "commit": "last_commit",
    "author": "last_author",
    "author_email": "last_author_email",
    "author_date": "last_author_date",
    "commit_date": "last_commit_date",
    "subject": "last_subject",
}


async def with_blame(backend: Backend, matches: DataFrame, observer: CallObserver | None = None) -> DataFrame:
    """Join matched lines with the commits that brought them.

    Parameters
    ----------
    backend
        Backend that answered the search.
    matches
        `SearchResult.matches`, or another frame with these columns.
    observer
        Called after each file.

    Returns
    -------
    DataFrame
        The rows of `matches` in their order, with ``blame_commit``, ``blame_author``, ``blame_author_email``,
        ``blame_author_date``, ``blame_commit_date`` and ``blame_subject``; null for rows that aren't lines of a
        commit's file. ``attrs["notices"]`` names the files that could not be asked about.

    Raises
    ------
    UnsupportedTool
        If the backend has no such information.
    """
    files = _files(_lines(matches))

    def ask(file: tuple[str, str, list[str]]) -> Awaitable[ToolResult]:
        repository, commit, (path,) = file
        return backend.call("blame", {"repo": repository, "path": path, **_revision(commit)}, None)

    # `blame` takes one file, `last_changes` many paths of one commit.
    single = [(repository, commit, [path]) for repository, commit, paths in files for path in paths]
    answers, notices = await _ask(single, ask, observer)
    return _join(matches, single, answers, [*_PLACE, line_column(matches)], _BLAME, notices)


async def with_last_change(backend: Backend, matches: DataFrame, observer: CallObserver | None = None) -> DataFrame:
    """Join matches with the commits that changed their files last.

    As `with_blame`, with columns ``last_commit``, ``last_author``, ``last_author_email``, ``last_author_date``,
    ``last_commit_date`` and ``last_subject``; null for rows without a file.
    """
    files = _files(matches[matches["path"].notna()])

    def ask(file: tuple[str, str, list[str]]) -> Awaitable[ToolResult]:
        repository, commit, paths = file
        return backend.call("last_changes", {"repo": repository, "paths": paths, **_revision(commit)}, None)

    answers, notices = await _ask(files, ask, observer)
    return _join(matches, files, answers, _PLACE, _LAST, notices)


async def with_context(backend: Backend, matches: DataFrame, n: int, observer: CallObserver | None = None) -> DataFrame:
    """Join matched lines with the `n` lines on each side of them.

    As `with_blame`, with columns ``context`` and ``context_line_number``; null for rows that aren't lines of a file,
    and where a file can't be read.
    """
    import pyarrow as pa

    lines = _lines(matches)
    lines_by_file: dict[tuple[str, str, str], list[int]] = {}
    for repository, commit, path, number in _row_keys(lines, [*_PLACE, line_column(matches)]):
        lines_by_file.setdefault((repository, commit if isinstance(commit, str) else "", path), []).append(int(number))

    files = [(repository, commit, [path]) for repository, commit, path in lines_by_file]

    def ask(file: tuple[str, str, list[str]]) -> Awaitable[ToolResult]:
        repository, commit, (path,) = file
        numbers = lines_by_file[repository, commit, path]
        # One request per file for all of its lines, even if lines in between are not needed.
        bounds = {"startLine": max(min(numbers) - n, 1), "endLine": max(numbers) + n}
        return backend.call("read_file", {"repo": repository, "path": path, **bounds, **_revision(commit)}, None)

    answers, notices = await _ask(files, ask, observer)
    texts = {
        (repository, commit, path): dict(
            zip(answer.table["line_number"].to_pylist(), answer.table["line"].to_pylist(), strict=True)
        )
        for (repository, commit, (path,)), answer in zip(files, answers, strict=True)
        if answer is not None
    }
    snippets: list[tuple[str | None, int | None]] = []

    # With repeated labels, a label doesn't identify a row.
    has_line = matches.index.isin(lines.index) if matches.index.is_unique else [True] * len(matches)
    for is_known, (repository, commit, path, number) in zip(
        has_line, _row_keys(matches, [*_PLACE, line_column(matches)]), strict=True
    ):
        file_text = texts.get((repository, commit if isinstance(commit, str) else "", path)) if is_known else None
        position = int(number) if file_text else 0
        numbers = [k for k in range(position - n, position + n + 1) if k in file_text] if file_text else []
        snippets.append(
            ("\n".join(file_text[k] for k in numbers), numbers[0]) if file_text and numbers else (None, None)
        )

    # Shallow: the frame of the result must not gain columns, and its data needn't be copied for that.
    frame = matches.copy(deep=False)
    # By way of Arrow, so that a column of nulls only still has the type of text.
    frame["context"] = pa.array([text for text, _ in snippets], pa.string()).to_pandas().astype("str")
    frame["context_line_number"] = [number for _, number in snippets]
    frame["context_line_number"] = frame["context_line_number"].astype("Int32")
    frame.attrs = {**matches.attrs, "notices": list(dict.fromkeys(notices))}
    return frame


def line_column(frame: DataFrame) -> str:
    """Return the column that holds a row's line: ``line_number``, or ``start_line`` of chunks and citations."""
    if "line_number" in frame.columns or "start_line" not in frame.columns:
        return "line_number"
    return "start_line"


def _lines(matches: DataFrame) -> DataFrame:
    """Return the rows that are lines of files at a commit."""
    is_located = matches[line_column(matches)].notna() & matches["path"].notna()
    if "type" in matches.columns:
        return matches[is_located & matches["type"].isin(["content", "symbol"])]
    return matches[is_located]


def _row_keys(frame: DataFrame, names: Sequence[str]) -> Iterable[tuple[Any, ...]]:
    """Return values of some columns row by row; a column that the frame lacks is empty."""
    columns = [frame[name].astype("object") if name in frame.columns else [""] * len(frame) for name in names]
    return zip(*columns, strict=True)


async def join_with_progress(
    title: str,
    join: Callable[[Backend, DataFrame, CallObserver], Awaitable[DataFrame]],
    backend: Backend,
    matches: DataFrame,
    progress: ProgressChoice,
) -> DataFrame:
    """Join with history under a bar that counts files."""
    state = CallState(title)
    async with painting(state, progress, after_s=_SHOW_AFTER_S):
        try:
            frame = await join(backend, matches, state.update)
        except Exception as exc:
            state.fail(str(exc))
            raise
        except asyncio.CancelledError:
            state.interrupt()
            raise

        notices = tuple(frame.attrs.get("notices", ()))
        state.end(len(frame), notices, status="limited" if notices else "complete")

    return frame


def _revision(commit: str) -> dict[str, str]:
    return {"revision": commit} if commit else {}


def _files(matches: DataFrame) -> list[tuple[str, str, list[str]]]:
    """Return the files of some matches: repository, commit (or nothing), and the paths of each."""
    files: dict[tuple[str, str], dict[str, None]] = {}
    for repository, commit, path in dict.fromkeys(_row_keys(matches, _PLACE)):
        files.setdefault((repository, commit if isinstance(commit, str) else ""), {})[path] = None
    return [(*key, list(paths)) for key, paths in files.items()]


async def _ask(
    files: Sequence[tuple[str, str, list[str]]],
    ask: Callable[[tuple[str, str, list[str]]], Awaitable[ToolResult]],
    observer: CallObserver | None = None,
) -> tuple[list[ToolResult | None], list[str]]:
    """Return answers in order, requested a few at a time; None, with a notice, for a file without one."""
    gate = asyncio.Semaphore(_MAX_CONCURRENT)
    notices: list[str] = []
    done = 0

    async def ask_file(file: tuple[str, str, list[str]]) -> ToolResult | None:
        nonlocal done
        async with gate:
            try:
                answer = await ask(file)
            except (RepositoryError, ToolError) as error:
                # Every other file would fail in the same way, so this is an error and not a notice.
                if isinstance(error, UnsupportedTool):
                    raise
                notices.append(str(error))
                return None
            finally:
                done += 1
                if observer is not None:
                    observer(ToolProgress(stage="files", done=done, total=len(files), detail=file[0]))

            notices.extend(answer.notices if not answer.complete else ())
            return answer

    return list(await asyncio.gather(*(ask_file(file) for file in files))), notices


def _join(
    matches: DataFrame,
    files: Sequence[tuple[str, str, list[str]]],
    answers: Sequence[ToolResult | None],
    on: list[str],
    names: Mapping[str, str],
    notices: list[str],
) -> DataFrame:
    """Return the matches with the columns `names` of the answers, joined on the commit of the request."""
    cached: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    columns = list(names)
    keys = ["line_number" if name == "start_line" else name for name in on if name not in {"repository", "commit"}]
    kinds: dict[str, Any] = {}
    for (repository, commit, _), answer in zip(files, answers, strict=True):
        if answer is None:
            continue
        frame = answer_frame(answer)
        # Dates pass through objects below, which loses their unit and zone.
        kinds = kinds or {name: frame[name].dtype for name in columns if str(frame[name].dtype).startswith("datetime")}
        for row in frame[[*keys, *columns]].astype("object").itertuples(index=False, name=None):
            cached[(repository, commit, *row[: len(keys)])] = row[len(keys) :]

    nothing = (None,) * len(columns)
    keys_of_rows = (
        # Index 1 is the commit. It is null for files on disk, and NaN equals no key.
        tuple("" if index == 1 and not isinstance(value, str) else value for index, value in enumerate(location))
        for location in _row_keys(matches, on)
    )
    answer_rows = [cached.get(key, nothing) for key in keys_of_rows]
    joined_frame = matches.copy(deep=False)
    for index, name in enumerate(columns):
        values = [row[index] for row in answer_rows]
        joined_frame[names[name]] = values
        joined_frame[names[name]] = joined_frame[names[name]].astype(
            kinds.get(name, "datetime64[us, UTC]" if "date" in name else "str")
        )

    joined_frame.attrs = {**matches.attrs, "notices": list(dict.fromkeys(notices))}
    return joined_frame


__all__ = ["with_blame", "with_context", "with_last_change"]
