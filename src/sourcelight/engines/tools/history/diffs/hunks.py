"""Hunks with matches of `diff_search`, as a served answer shows them: objects, and fenced diffs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.patches import Hunk, abbreviate_object_ids, read_hunks
from sourcelight.core.batches.results import ToolResult, repository_url
from sourcelight.core.markup import fence_around
from sourcelight.core.markup.counts import count_of
from sourcelight.core.patterns import CompiledPattern
from sourcelight.core.tools.commits import WHOLE_PATCHES
from sourcelight.engines.history.compare.changes import FileChange
from sourcelight.engines.history.compare.patches import FileDiff, change_parts, decode_patch, make_patch
from sourcelight.engines.history.search.previews import file_change
from sourcelight.engines.history.search.query import Side
from sourcelight.engines.history.search.trailer_columns import agent_column
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import NOTHING, Rendered, echo, tail, total_beside, with_notices
from sourcelight.engines.tools.history import tables as columns
from sourcelight.engines.tools.history.diffs.file_diffs import REPLACED_BYTES
from sourcelight.engines.tools.history.histories import OpenedHistory
from sourcelight.engines.tools.history.newest_commits import NAMES_AGENTS
from sourcelight.engines.tools.rows import author_heading, stamp
from sourcelight.repos.handles import UnusableRepository, open_handle

# Limits of a served answer, which a model reads: of 20 commits, most have fewer files, and a few lines show the change.
_MAX_FILES = 5
"""Files of a commit."""
_MAX_HUNKS = 3
"""Hunks of a file."""
_MAX_LINES = 40
"""Lines of a hunk."""

_DERIVED_HUNK_KEYS = frozenset({"oldLines", "newLines"})
"""Keys that a reader can count from the lines of a hunk."""

_SIGNS = {"added": "+", "removed": "-"}
"""The first character of a line, by its side."""


def served_results(
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
        result = _describe_commit(snapshot, commit)
        files: list[dict[str, Any]] = []
        for change in commit_changes[:_MAX_FILES]:
            files += _files_of_change(file_change(history, change), handle, pattern, signs)

        result["files"] = files
        result |= _unless_zero("filesLeftOut", len(commit_changes) - _MAX_FILES)
        yield result


def _describe_commit(snapshot: OpenedHistory, commit: int) -> dict[str, Any]:
    """Return a commit as an object without its files."""
    history = snapshot.history
    names, addresses, _ = columns.people(history, history.commits.author[[commit]])
    author_times = columns.times(history.commits.author_time[[commit]])
    commit_times = columns.times(history.commits.commit_time[[commit]])
    result: dict[str, Any] = {
        "repo": snapshot.name,
        "oid": columns.oids(history, [commit])[0],
        "authorName": names[0].as_py(),
        "authorEmail": addresses[0].as_py(),
        "authorDate": stamp(author_times[0].as_py()),
        "committerDate": stamp(commit_times[0].as_py()),
        "subject": history.subject(commit),
    }
    agent = agent_column(history, [commit])[0].as_py()
    if agent:
        result["agent"] = agent
    return result


def _files_of_change(
    change: FileChange, handle: Any, pattern: CompiledPattern, signs: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Return a changed file, or both parts of one that became a link."""
    parts = change_parts(change)
    files = [_file(part, make_patch(handle, part), pattern, signs) for part in parts]
    if len(parts) > 1:
        # Of a file that became a link, one part alone may have matches.
        files = [file for file in files if file["hunks"]]
    return files


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
    """Return the lines of a patch above its first hunk, such as ``diff --git a/x b/x``."""
    header, _, _ = patch.partition("\n@@ -")
    header = header.removesuffix("\n")
    return header.split("\n") if header else []


def _payload(hunk: Hunk) -> dict[str, Any]:
    """Return a hunk as an object, with its first lines if it is long."""
    end = _MAX_LINES
    if len(hunk.lines) > end and hunk.lines[end].startswith("\\"):
        # git's note on a missing newline belongs to the line above it.
        end += 1

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


def render_diffs(answer: ToolResult, context: ToolContext) -> Rendered:
    """Return commits with their hunks as objects, and as fenced diffs."""
    results: list[dict[str, Any]] = []
    texts: list[str] = []
    cut_count = 0
    for result in answer.attributes.get("results", []):
        url = context.link(f"{repository_url('', result['repo'])}/-/commit/{result['oid']}")
        files = [_without_derived(file) for file in result["files"]]
        results.append({**result, "files": files, "url": url})
        texts.append("\n".join(_commit_lines(result)) + "\n")
        cut_count += result.get("filesLeftOut", 0)
        cut_count += sum(_is_cut(file) for file in files)

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
        lines.append(f"{head} {hunk.get('section', '')}".rstrip())
        lines += hunk["lines"]
    return lines


def _without_derived(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file without a name that did not change, and its hunks without counts of their own lines."""
    result = dict(file)
    if file["oldPath"] == file["newPath"]:
        del result["oldPath"]
    result["hunks"] = [_without_line_counts(hunk) for hunk in file["hunks"]]
    return result


def _without_line_counts(hunk: Mapping[str, Any]) -> dict[str, Any]:
    return {key: hunk[key] for key in hunk if key not in _DERIVED_HUNK_KEYS}


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

    if any("\ufffd" in "".join(hunk["lines"]) for hunk in file["hunks"]):
        yield REPLACED_BYTES
