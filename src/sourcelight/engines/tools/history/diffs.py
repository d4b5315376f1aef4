"""`diff_search`: added and removed lines that match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute

from sourcelight.core.arrays import Int64Array, mask_of
from sourcelight.core.batches.patches import Hunk, abbreviate_object_ids, read_hunks
from sourcelight.core.batches.results import ToolResult, repository_url
from sourcelight.core.markup import fence_around
from sourcelight.core.markup.counts import count_of
from sourcelight.core.patterns import CompiledPattern
from sourcelight.core.tools.commits import DIFF_SEARCH, WHOLE_PATCHES, DiffSearchArguments
from sourcelight.engines.history.compare.changes import FileChange
from sourcelight.engines.history.compare.patches import FileDiff, change_parts, decode_patch, make_patch
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers, RowNumbers
from sourcelight.engines.history.search import tables as change_tables
from sourcelight.engines.history.search.find import DiffMatches, find_diffs
from sourcelight.engines.history.search.previews import file_change
from sourcelight.engines.history.search.query import CommitFilter, DiffQuery, PatternTerm, Side
from sourcelight.engines.history.search.trailer_columns import agent_column
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import (
    NOTHING,
    Handler,
    PartialResult,
    Rendered,
    Split,
    echo,
    tail,
    total_beside,
    with_notices,
)
from sourcelight.engines.tools.history import tables as columns
from sourcelight.engines.tools.history.comparison import REPLACED_BYTES
from sourcelight.engines.tools.history.diff_items import DIFF_ITEMS
from sourcelight.engines.tools.history.filters import any_of, dates_of, files_of, pattern_of
from sourcelight.engines.tools.history.histories import OpenedHistory, open_histories, revisions_of
from sourcelight.engines.tools.history.newest_commits import NAMES_AGENTS, limit_of, newest
from sourcelight.engines.tools.rows import author_heading, stamp
from sourcelight.repos.handles import UnusableRepository, open_handle

DEFAULT_COUNT = 20
"""Commits of an answer without a limit."""

_SLICE_ROWS = 500_000
"""Rows of the table that are made at once: their texts take about 100 bytes each."""

_MAX_FILES, _MAX_HUNKS, _MAX_LINES = 5, 3, 40
"""Files of a commit, hunks of a file and lines of a hunk in a served answer, which a model reads."""

_DERIVED_HUNK_KEYS = frozenset({"oldLines", "newLines"})
_SIGNS = {"added": "+", "removed": "-"}


@dataclass(frozen=True, slots=True)
class _DiffMatches:
    """Changed lines of a repository's newest commits, these commits, and the number of all commits."""

    rows: Any
    commits: list[str]
    stamps: Int64Array
    total: int
    results: list[Any]


@dataclass(frozen=True, slots=True)
class _SearchedHistory:
    """A history, its matches, and the matching commits of the requested revisions, newest first."""

    snapshot: OpenedHistory
    matches: DiffMatches
    commits: CommitNumbers


def _gather_diffs(arguments: DiffSearchArguments, context: ToolContext) -> PartialResult:
    after, before, echoed = dates_of(DIFF_SEARCH.name, arguments.after, arguments.before)
    pattern = pattern_of(
        DIFF_SEARCH.name, "pattern", arguments.pattern, regexp=bool(arguments.use_regex), one_line=True
    )
    query = _query(arguments, pattern, after, before)
    histories = open_histories(DIFF_SEARCH.name, context, arguments.repos, *revisions_of(arguments.revisions))
    searched = [_search(snapshot, query, context) for snapshot in histories.selections]
    limit = limit_of(arguments.limit, context, DEFAULT_COUNT)
    times = [history.snapshot.history.commits.commit_time[history.commits[:limit]] for history in searched]
    results: dict[str, _DiffMatches] = {}
    for history, count in zip(searched, newest(times, limit), strict=True):
        snapshot = history.snapshot
        commits = CommitNumbers(history.commits[:count])
        rows, changes = _rows_of_commits(snapshot, history.matches, commits)
        results[snapshot.name] = _DiffMatches(
            rows=_diff_lines(snapshot, rows, changes, history.matches.patterns),
            commits=[] if limit is None else columns.oids(snapshot.history, commits),
            stamps=snapshot.history.commits.commit_time[commits],
            total=len(history.commits),
            results=list(_results(snapshot, changes, pattern, query.sides)) if context.served else [],
        )

    return histories.to_partial_result(results, echoed)


def _search(snapshot: OpenedHistory, query: DiffQuery, context: ToolContext) -> _SearchedHistory:
    with context.watch_scan() as stopped:
        matches = find_diffs(snapshot.history, query, stopped)
    return _SearchedHistory(snapshot, matches, CommitNumbers(matches.commits[snapshot.mask[matches.commits]]))


def _query(
    arguments: DiffSearchArguments, pattern: CompiledPattern, after: int | None, before: int | None
) -> DiffQuery:
    regexp = bool(arguments.use_regex)
    # Both or neither asks for all changed lines.
    sides: tuple[Side, ...] = ("added", "removed")
    if bool(arguments.added) != bool(arguments.removed):
        sides = ("added",) if arguments.added else ("removed",)

    authors = list(arguments.authors or ())
    if arguments.author:
        authors.append(arguments.author)

    return DiffQuery(
        commits=CommitFilter(
            authors=any_of(DIFF_SEARCH.name, "authors", authors, regexp=regexp, one_line=True),
            after=after,
            before=before,
        ),
        files=files_of(DIFF_SEARCH.name, arguments.files, regexp=regexp),
        tree=PatternTerm(pattern),
        sides=sides,
        changes="count" if arguments.changes == "count" else "lines",
    )


def _rows_of_commits(
    snapshot: OpenedHistory, matches: DiffMatches, commits: CommitNumbers
) -> tuple[RowNumbers, ChangeNumbers]:
    """Return the matching rows of these commits, and the change of each."""
    is_shown = mask_of(commits, len(snapshot.history.commits))
    mask = is_shown[snapshot.history.changes.commit[matches.row_changes]]
    return RowNumbers(matches.rows[mask]), ChangeNumbers(matches.row_changes[mask])


def _diff_lines(
    snapshot: OpenedHistory, rows: RowNumbers, changes: ChangeNumbers, patterns: tuple[CompiledPattern, ...]
) -> Any:
    """Return the table ``diff_lines``, made in batches that bound the memory."""
    batches = []
    for start in range(0, len(rows), _SLICE_ROWS):
        batch = slice(start, start + _SLICE_ROWS)
        batches.append(diff_rows(snapshot, RowNumbers(rows[batch]), ChangeNumbers(changes[batch]), patterns))
    return columns.join("diff_lines", batches)


def _combine_diffs(arguments: DiffSearchArguments, context: ToolContext, part: PartialResult) -> ToolResult:
    matches: list[_DiffMatches] = list(part.results.values())
    counts = newest([match.stamps for match in matches], limit_of(arguments.limit, context, DEFAULT_COUNT))
    newest_matches = [_first(match, count) for match, count in zip(matches, counts, strict=True)]
    table = columns.join("diff_lines", [match.rows for match in newest_matches])
    shown_count, total = sum(counts), sum(match.total for match in matches)
    notices = list(part.notices)
    if shown_count < total:
        notices.append(
            f"Only the newest {shown_count:,} of {total:,} commits are shown; ask for more or narrow the search."
        )

    attributes: dict[str, Any] = {
        "pattern": arguments.pattern,
        "repositories": part.names,
        "total": total,
        **part.dates,
    }
    if context.served:
        attributes["results"] = list(chain.from_iterable(match.results for match in newest_matches))

    return ToolResult(
        columns="diff_lines",
        table=table,
        attributes=attributes,
        complete=part.complete and shown_count == total,
        notices=tuple(notices),
    )


def _first(match: _DiffMatches, count: int) -> _DiffMatches:
    """Return the matches of the first `count` commits."""
    if count == len(match.stamps):
        return match
    commits = set(match.commits[:count])
    of_rows = match.rows.column("commit").cast(pa.string())
    mask = pa.compute.is_in(of_rows, value_set=pa.array(sorted(commits), pa.string()))
    results = [result for result in match.results if result["oid"] in commits]
    return replace(match, rows=columns.compact(match.rows.filter(mask)), results=results)


def diff_rows(
    selection: OpenedHistory, rows: RowNumbers, changes: ChangeNumbers, patterns: tuple[CompiledPattern, ...]
) -> Any:
    """Return rows of the table ``diff_lines`` for rows of one history, `changes` being the change of each."""
    batch = change_tables.line_batch(selection.history, rows, changes, patterns)
    values = dict(zip(batch.schema.names, batch.columns, strict=True))
    values["agent"] = agent_column(selection.history, selection.history.changes.commit[changes])
    return columns.table("diff_lines", values, len(rows))


def _results(
    snapshot: OpenedHistory, changes: Int64Array, pattern: CompiledPattern, sides: tuple[Side, ...]
) -> Iterator[Any]:
    """Yield one object a commit with the hunks of its files that hold matches, as a served answer shows them."""
    history = snapshot.history
    try:
        handle = open_handle(snapshot.repository.git_dir)
    except UnusableRepository:
        # Rows come from the index: without the repository, an answer lacks its patches alone.
        return

    signs = tuple(_SIGNS[side] for side in sides)
    by_commit: dict[int, list[int]] = {}

    # A change has a number for each of its rows; the first ones keep the order.
    for change in dict.fromkeys(changes.tolist()):
        by_commit.setdefault(int(history.changes.commit[change]), []).append(change)

    for commit, commit_changes in by_commit.items():
        author, email, _ = columns.people(history, history.commits.author[[commit]])
        (oid,) = columns.oids(history, [commit])
        files: list[dict[str, Any]] = []
        for change in commit_changes[:_MAX_FILES]:
            files += _files_of_change(file_change(history, change), handle, pattern, signs)

        result = {
            "repo": snapshot.name,
            "oid": oid,
            "authorName": author[0].as_py(),
            "authorEmail": email[0].as_py(),
            "authorDate": stamp(columns.times(history.commits.author_time[[commit]])[0].as_py()),
            "committerDate": stamp(columns.times(history.commits.commit_time[[commit]])[0].as_py()),
            "subject": history.subject(commit),
        }
        agent = agent_column(history, [commit])[0].as_py()
        if agent:
            result["agent"] = agent

        yield {**result, "files": files, **_unless_zero("filesLeftOut", len(commit_changes) - _MAX_FILES)}


def _files_of_change(
    change: FileChange, handle: Any, pattern: CompiledPattern, signs: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Return a changed file, or both parts of one that became a link."""
    parts = change_parts(change)
    files = [_file(part, make_patch(handle, part), pattern, signs) for part in parts]
    # Of a file that became a link, one part alone may have matches.
    return files if len(parts) == 1 else [file for file in files if file["hunks"]]


def _file(change: FileChange, diff: FileDiff, pattern: CompiledPattern, signs: tuple[str, ...]) -> dict[str, Any]:
    """Return a changed file with git's lines above its hunks, and the hunks with matches."""
    patch = decode_patch(diff)
    all_hunks = list(read_hunks(patch))
    matching_hunks = [hunk for hunk in all_hunks if _has_match(hunk, pattern, signs)]
    return {
        "oldPath": change.old_path.decode("utf-8", "replace"),
        "newPath": change.path.decode("utf-8", "replace"),
        "header": _header(patch),
        "hunks": [_payload(hunk) for hunk in matching_hunks[:_MAX_HUNKS]],
        **_unless_zero("hunksLeftOut", len(matching_hunks) - _MAX_HUNKS),
        **_unless_zero("hunksWithoutMatch", len(all_hunks) - len(matching_hunks)),
    }


def _unless_zero(key: str, count: int) -> dict[str, int]:
    return {key: count} if count > 0 else {}


def _header(patch: str) -> list[str]:
    end = patch.find("\n@@ -")
    header = patch.removesuffix("\n") if end < 0 else patch[:end]
    return header.split("\n") if header else []


def _payload(hunk: Hunk) -> dict[str, Any]:
    # git's note on a missing newline belongs to the line above it.
    end = _MAX_LINES + any(line.startswith("\\") for line in hunk.lines[_MAX_LINES : _MAX_LINES + 1])
    is_truncated = len(hunk.lines) > end
    visible = hunk.part(0, end - 1) if is_truncated else hunk
    payload: dict[str, Any] = {
        "oldStart": visible.old_start,
        "oldLines": visible.old_lines,
        "newStart": visible.new_start,
        "newLines": visible.new_lines,
    }
    if visible.section:
        payload["section"] = visible.section

    payload["lines"] = list(visible.lines)
    if is_truncated:
        payload["truncated"] = True
    return payload


def _has_match(hunk: Hunk, pattern: CompiledPattern, signs: tuple[str, ...]) -> bool:
    return any(line.startswith(signs) and pattern.find(line[1:].encode()) for line in hunk.lines)


def _render_diffs(answer: ToolResult, context: ToolContext) -> Rendered:
    """Return commits with their hunks as objects, and as fenced diffs."""
    results, texts = [], []
    cut_count = 0
    for result in answer.attributes.get("results", []):
        url = context.link(f"{repository_url('', result['repo'])}/-/commit/{result['oid']}")
        files = [_without_derived(file) for file in result["files"]]
        results.append({**result, "files": files, "url": url})
        texts.append("\n".join(_commit_lines(result)) + "\n")
        cut_count += result.get("filesLeftOut", 0) + sum(map(_is_cut, files))

    if cut_count:
        notice = f"The diffs of {count_of(cut_count, 'file')} are cut; {WHOLE_PATCHES}."
        answer = replace(answer, notices=(*answer.notices, notice))

    total = total_beside(answer, "totalCount", answer.attributes["total"], len(results))
    payload = {"results": results, **total, **NAMES_AGENTS, **echo(answer), **tail(answer)}
    return payload, with_notices("\n".join(texts) or NOTHING, answer)


def _commit_lines(result: Mapping[str, Any]) -> list[str]:
    """Return a commit as lines of text: its heading, and its files in fenced diffs."""
    row = {
        "author": result["authorName"],
        "author_email": result["authorEmail"],
        "repository": result["repo"],
        "commit": result["oid"],
        "subject": result["subject"],
    }
    lines = [author_heading(row, result["authorDate"]).rstrip("\n")]
    texts = [_diff_text_lines(file) for file in result["files"]]
    fence = fence_around("\n".join(chain.from_iterable(texts)), 3)
    is_open = False
    for file, text in zip(result["files"], texts, strict=True):
        # One block for all files of a commit, as git prints them; a note about a file ends it.
        if not is_open:
            lines.append(f"{fence}diff")
        lines += text
        notes = [f"({note})" for note in _cuts(file)]
        if notes:
            lines += [fence, *notes]
        is_open = not notes

    if is_open:
        lines.append(fence)
    if result.get("filesLeftOut"):
        lines.append(f"({result['filesLeftOut']} more files match)")
    return lines


def _diff_text_lines(file: Mapping[str, Any]) -> list[str]:
    lines = [abbreviate_object_ids("\n".join(file["header"]))]
    for hunk in file["hunks"]:
        head = f"@@ -{hunk['oldStart']},{hunk['oldLines']} +{hunk['newStart']},{hunk['newLines']} @@"
        lines += [f"{head} {hunk.get('section', '')}".rstrip(), *hunk["lines"]]
    return lines


def _without_derived(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file without a name that did not change, and its hunks without counts of their own lines."""
    result = dict(file)
    if file["oldPath"] == file["newPath"]:
        del result["oldPath"]
    result["hunks"] = list(map(_without_line_counts, file["hunks"]))
    return result


def _without_line_counts(hunk: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in hunk.items() if key not in _DERIVED_HUNK_KEYS}


def _is_cut(file: Mapping[str, Any]) -> bool:
    return "hunksLeftOut" in file or any(hunk.get("truncated") for hunk in file["hunks"])


def _cuts(file: Mapping[str, Any]) -> Iterator[str]:
    """Yield why the patch of a file is less than the commit's."""
    if any(hunk.get("truncated") for hunk in file["hunks"]):
        yield f"a hunk is truncated to {_MAX_LINES} lines"

    if "hunksLeftOut" in file:
        yield f"{count_of(file['hunksLeftOut'], 'more hunk')} with matches left out"

    if "hunksWithoutMatch" in file:
        yield f"{count_of(file['hunksWithoutMatch'], 'hunk')} without a match left out"

    if any("\ufffd" in line for line in chain.from_iterable(hunk["lines"] for hunk in file["hunks"])):
        yield REPLACED_BYTES


DIFF_SEARCH_HANDLER = Handler(DIFF_SEARCH, Split(_gather_diffs, _combine_diffs), _render_diffs, DIFF_ITEMS)
HANDLERS: tuple[Handler[Any], ...] = (DIFF_SEARCH_HANDLER,)
