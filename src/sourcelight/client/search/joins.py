"""Matches of a search joined with what other tools know: who wrote the lines, who changed the files last, the context.

Each join calls a tool for the files of the matches, a few at a time, and adds columns to a copy of the matches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
"""Calls at a time: a service limits how many one client may have."""

_SHOW_AFTER_S = 0.5
"""Seconds before a bar appears, so that a quick join shows none."""

_PLACE = ["repository", "commit", "path"]
"""Columns of matches that name a file."""

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
"""Names in matches of the columns of `blame`, and of `last_changes`."""


@dataclass(frozen=True, slots=True)
class _FileCall:
    """A call about some files of a repository at a commit; the commit is empty for files on disk."""

    repository: str
    commit: str
    paths: tuple[str, ...]

    def arguments(self, **options: Any) -> dict[str, Any]:
        """Return the arguments of a tool: repository, revision and `options`."""
        revision = {"revision": self.commit} if self.commit else {}
        return {"repo": self.repository, **options, **revision}


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

    def ask(call: _FileCall) -> Awaitable[ToolResult]:
        return backend.call("blame", call.arguments(path=call.paths[0]))

    calls = list(_calls_by_file(_lines(matches)))
    answers, notices = await _ask(calls, ask, observer)
    return _join(matches, calls, answers=answers, on=[*_PLACE, line_column(matches)], names=_BLAME, notices=notices)


async def with_last_change(backend: Backend, matches: DataFrame, observer: CallObserver | None = None) -> DataFrame:
    """Join matches with the commits that changed their files last.

    As `with_blame`, with columns ``last_commit``, ``last_author``, ``last_author_email``, ``last_author_date``,
    ``last_commit_date`` and ``last_subject``; null for rows without a file.
    """

    def ask(call: _FileCall) -> Awaitable[ToolResult]:
        return backend.call("last_changes", call.arguments(paths=list(call.paths)))

    calls = _calls_by_commit(matches[matches["path"].notna()])
    answers, notices = await _ask(calls, ask, observer)
    return _join(matches, calls, answers=answers, on=_PLACE, names=_LAST, notices=notices)


async def with_context(backend: Backend, matches: DataFrame, n: int, observer: CallObserver | None = None) -> DataFrame:
    """Join matched lines with the `n` lines on each side of them.

    As `with_blame`, with columns ``context`` and ``context_line_number``; null for rows that aren't lines of a file,
    and where a file can't be read.
    """
    import pyarrow as pa

    lines = _lines(matches)
    keys = [*_PLACE, line_column(matches)]
    numbers_by_call: dict[_FileCall, list[int]] = {}
    for repository, commit, path, number in _row_keys(lines, keys):
        numbers_by_call.setdefault(_FileCall(repository, commit, (path,)), []).append(int(number))

    def ask(call: _FileCall) -> Awaitable[ToolResult]:
        numbers = numbers_by_call[call]
        # One request per file for all of its lines, even if lines in between are not needed.
        start, end = max(min(numbers) - n, 1), max(numbers) + n
        return backend.call("read_file", call.arguments(path=call.paths[0], startLine=start, endLine=end))

    answers, notices = await _ask(list(numbers_by_call), ask, observer)
    texts: dict[_FileCall, dict[int, str]] = {}
    for call, answer in zip(numbers_by_call, answers, strict=True):
        if answer is not None:
            numbers = answer.table["line_number"].to_pylist()
            texts[call] = dict(zip(numbers, answer.table["line"].to_pylist(), strict=True))

    contexts: list[str | None] = []
    first_numbers: list[int | None] = []
    # With repeated labels, a label doesn't identify a row.
    is_line = matches.index.isin(lines.index) if matches.index.is_unique else [True] * len(matches)
    for has_line, (repository, commit, path, number) in zip(is_line, _row_keys(matches, keys), strict=True):
        file_lines = texts.get(_FileCall(repository, commit, (path,)), {}) if has_line else {}
        numbers = []
        if file_lines:
            numbers = [k for k in range(int(number) - n, int(number) + n + 1) if k in file_lines]
        contexts.append("\n".join(file_lines[k] for k in numbers) if numbers else None)
        first_numbers.append(numbers[0] if numbers else None)

    # Shallow: the frame of the result must not gain columns, and its data needn't be copied for that.
    frame = matches.copy(deep=False)
    # By way of Arrow, so that a column of nulls only still has the type of text.
    frame["context"] = pa.array(contexts, pa.string()).to_pandas().astype("str")
    frame["context_line_number"] = first_numbers
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
    """Return values of some columns row by row; a column that the frame lacks is empty, as is a missing commit."""
    columns: list[Iterable[Any]] = []
    for name in names:
        if name not in frame.columns:
            columns.append([""] * len(frame))
        elif name == "commit":
            # Null for files on disk, and NaN equals no key.
            columns.append([commit if isinstance(commit, str) else "" for commit in frame[name].astype("object")])
        else:
            columns.append(frame[name].astype("object"))

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


def _calls_by_commit(matches: DataFrame) -> list[_FileCall]:
    """Return a call for each repository and commit, about all of the files with matches."""
    paths_by_commit: dict[tuple[str, str], list[str]] = {}
    for repository, commit, path in dict.fromkeys(_row_keys(matches, _PLACE)):
        paths_by_commit.setdefault((repository, commit), []).append(path)
    return [_FileCall(repository, commit, tuple(paths)) for (repository, commit), paths in paths_by_commit.items()]


def _calls_by_file(matches: DataFrame) -> Iterator[_FileCall]:
    """Yield a call for each file with matches, the files of one commit together."""
    for call in _calls_by_commit(matches):
        for path in call.paths:
            yield _FileCall(call.repository, call.commit, (path,))


async def _ask(
    calls: Sequence[_FileCall],
    ask: Callable[[_FileCall], Awaitable[ToolResult]],
    observer: CallObserver | None = None,
) -> tuple[list[ToolResult | None], list[str]]:
    """Return answers in order, requested a few at a time; None, with a notice, for a call without one."""
    gate = asyncio.Semaphore(_MAX_CONCURRENT)
    notices: list[str] = []
    done = 0

    async def ask_once(call: _FileCall) -> ToolResult | None:
        nonlocal done
        async with gate:
            try:
                answer = await ask(call)
            except (RepositoryError, ToolError) as error:
                # Every other file would fail in the same way, so this is an error and not a notice.
                if isinstance(error, UnsupportedTool):
                    raise
                notices.append(str(error))
                return None
            finally:
                done += 1
                if observer is not None:
                    observer(ToolProgress(stage="files", done=done, total=len(calls), detail=call.repository))

            if not answer.complete:
                notices.extend(answer.notices)
            return answer

    return list(await asyncio.gather(*map(ask_once, calls))), notices


def _join(
    matches: DataFrame,
    calls: Sequence[_FileCall],
    *,
    answers: Sequence[ToolResult | None],
    on: list[str],
    names: Mapping[str, str],
    notices: list[str],
) -> DataFrame:
    """Return the matches with the columns `names` of the answers, joined on the commit of the request.

    `on` has the columns of the key: repository, commit, path, and the line where the answers are about lines.
    """
    columns = list(names)
    keys = ["line_number" if name == "start_line" else name for name in on if name not in {"repository", "commit"}]
    answer_rows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    # Dates pass through objects below, which loses their unit and zone.
    dtypes: dict[str, Any] = {name: "datetime64[us, UTC]" if "date" in name else "str" for name in columns}
    for call, answer in zip(calls, answers, strict=True):
        if answer is None:
            continue

        frame = answer_frame(answer)
        for row in frame[[*keys, *columns]].astype("object").itertuples(index=False, name=None):
            answer_rows[(call.repository, call.commit, *row[: len(keys)])] = row[len(keys) :]
        for name in columns:
            if str(frame[name].dtype).startswith("datetime"):
                dtypes[name] = frame[name].dtype

    missing = (None,) * len(columns)
    rows = [answer_rows.get(key, missing) for key in _row_keys(matches, on)]
    joined_frame = matches.copy(deep=False)
    for index, name in enumerate(columns):
        joined_frame[names[name]] = [row[index] for row in rows]
        joined_frame[names[name]] = joined_frame[names[name]].astype(dtypes[name])

    joined_frame.attrs = {**matches.attrs, "notices": list(dict.fromkeys(notices))}
    return joined_frame


__all__ = ["with_blame", "with_context", "with_last_change"]
