"""`last_changes`: which commit changed a file last."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.results import Answer
from sourcelight.engines.tools.history import columns
from sourcelight.engines.tools.history.opening import open_histories
from sourcelight.engines.tools.model import Arguments, CallContext
from sourcelight.engines.tools.places import clean_path


def last_changes(arguments: Arguments, context: CallContext) -> Answer:
    """Name for each file the newest commit that changed it; files that no commit changed are left out."""
    revision = arguments.get("revision")
    histories = open_histories("last_changes", context, [arguments["repo"]], [revision] if revision else ())
    asked = list(dict.fromkeys(clean_path(path) for path in arguments["paths"]))
    parts = []
    found: set[str] = set()
    for opened in histories.opened:
        history = opened.history
        changes = history.changes
        last = np.full(len(history.paths) + 1, -1, np.int64)
        kept = np.flatnonzero(opened.mask[changes.commit])
        times = history.commits.commit_time[changes.commit[kept]]
        kept = kept[np.argsort(times, kind="stable")]  # of one second, children come behind their parents
        last[changes.path[kept]] = changes.commit[kept]
        counts = np.bincount(changes.path[kept], minlength=len(last))
        numbers = _numbers(history.paths.numbers, asked)
        rows = [(path, number) for path, number in numbers.items() if last[number] >= 0]
        found |= {path for path, _ in rows}
        commits = last[[number for _, number in rows]] if rows else np.zeros(0, np.int64)
        author, email, _ = columns.people(history, history.commits.author[commits])
        table = {
            "repository": opened.name,
            "path": [path for path, _ in rows],
            "commit": columns.oids(history, commits),
            "author": author,
            "author_email": email,
            "author_date": columns.times(history.commits.author_time[commits]),
            "commit_date": columns.times(history.commits.commit_time[commits]),
            "subject": [history.subject(number) for number in commits.tolist()],
            "changed_commits": pa.array(counts[[number for _, number in rows]] if rows else [], pa.int64()),
        }
        parts.append(columns.table("last_changes", table, len(rows)))
    notices = list(histories.notices)
    if len(found) < len(asked):
        notices.append(f"No commit changed {len(asked) - len(found):,} of the files.")
    drill = {"call": "commit_search", "arguments": {}, "columns": {"repos": "repository", "files": "path"}}
    facts = {"drill_down": drill}
    return Answer("last_changes", columns.joined("last_changes", parts), facts, histories.complete, tuple(notices))


def _numbers(known: Mapping[bytes, int], asked: list[str]) -> dict[str, int]:
    """Numbers of paths given as text; names that are not UTF-8 are known by their text with U+FFFD."""
    numbers = {path: known.get(path.encode("utf-8", "surrogateescape")) for path in asked}
    if any(number is None and "\ufffd" in path for path, number in numbers.items()):
        shown = {raw.decode("utf-8", "replace"): number for raw, number in known.items()}
        numbers = {path: shown.get(path) if number is None else number for path, number in numbers.items()}
    return {path: number for path, number in numbers.items() if number is not None}
