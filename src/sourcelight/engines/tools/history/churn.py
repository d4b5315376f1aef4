"""`churn`: how much changed where, by whom and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.ordering import group_order
from sourcelight.core.batches.results import Answer
from sourcelight.engines.tools.history import columns
from sourcelight.engines.tools.history.counting import Sums, chosen, facts_of, key_columns, keyed, together
from sourcelight.engines.tools.history.file_kinds import kind_notices, kinds_of, of_kinds
from sourcelight.engines.tools.history.filters import Dates
from sourcelight.engines.tools.history.grouping import Numbers, count_distinct, group, period_of, total
from sourcelight.engines.tools.history.opening import Opened, part_of
from sourcelight.engines.tools.history.paths import directories
from sourcelight.engines.tools.history.people import People
from sourcelight.engines.tools.model import Arguments, CallContext
from sourcelight.engines.tools.parting import Part, Parted

CALL = "churn"
_BREAK = "\0"  # no path has it
_PLACES = {"directory", "path", "file_kind"}
_ROW_PLACES = {"directory": "directory", "path": "path", "file_kind": "fileKind"}


def _by(arguments: Arguments) -> list[str]:
    return list(arguments.get("by") or ["directory"])


def _find(arguments: Arguments, context: CallContext) -> Part:
    period_of(CALL, _by(arguments))
    return part_of(CALL, arguments, context, lambda opened, dates: _sums(opened, arguments, dates, context))


def _sums(opened: Opened, arguments: Arguments, dates: Dates, context: CallContext) -> Sums:
    """Changed lines of one repository by author, period and place."""
    by = _by(arguments)
    people = People(CALL, arguments)
    history = opened.history
    commits, changes = history.commits, history.changes
    layout = opened.layout(context)
    kept = np.flatnonzero(chosen(opened, *dates)[changes.commit])
    kept = kept[of_kinds(opened, layout, layout.path[kept], arguments, context)]
    of = changes.commit[kept].astype(np.int64)
    persons = people.of_identities(opened)[commits.author[of]]
    place, places = None, [""]
    if _PLACES & set(by):
        place, places = _places(opened, layout.path[kept], arguments, context)
    if "commit" in by:
        place, places = _of_commits(opened, of, place, places)
    codes, keys = keyed(persons, commits.commit_time[of], period_of(CALL, by), place)
    count = len(keys[0])
    renamed = kept[changes.status[kept] == ord("R")]
    touched = len(np.unique(np.concatenate((changes.path[kept], changes.old_path[renamed]))))
    values = {
        "additions": total(codes, np.maximum(changes.additions[kept], 0), count),
        "deletions": total(codes, np.maximum(changes.deletions[kept], 0), count),
        "changes": total(codes, np.ones(len(codes)), count),
        "commits": count_distinct(codes, of, count),
    }
    return Sums(people.met, keys, values, places, int((changes.additions[kept] < 0).sum()), touched)


def _places(opened: Opened, paths: Any, arguments: Arguments, context: CallContext) -> tuple[Numbers, list[str]]:
    """Numbers of the kinds and folders (or files) of some paths, and the names that they are of, kind first."""
    by, layout = _by(arguments), opened.layout(context)
    used, which = np.unique(paths, return_inverse=True)
    texts = [layout.text(at) for at in used.tolist()]
    shown = [""] * len(texts)
    if "path" in by:
        shown = texts
    elif "directory" in by:
        shown = directories(texts, arguments.get("depth", 1))
    kinds = [""] * len(texts)
    if "file_kind" in by:
        kinds = kinds_of(opened, (layout.names[at] for at in used.tolist()), context)
    names: dict[str, int] = {}
    of_used = [names.setdefault(f"{kind}{_BREAK}{name}", len(names)) for kind, name in zip(kinds, shown, strict=True)]
    return np.array(of_used or [0], np.int64)[which], list(names) or [_BREAK]


def changes_of_row(opened: Opened, arguments: Arguments, dates: Dates, context: CallContext) -> Numbers:
    """Numbers of the commits whose changes count for a row of `path` or `directory`, and `fileKind`, where given."""
    layout = opened.layout(context)
    kept = np.flatnonzero(chosen(opened, *dates)[opened.history.changes.commit])
    kept = kept[of_kinds(opened, layout, layout.path[kept], arguments, context)]
    by = [name for name, argument in _ROW_PLACES.items() if arguments.get(argument) is not None]
    if by:
        asked = {**arguments, "by": by}
        place, places = _places(opened, layout.path[kept], asked, context)
        shown = arguments.get("path", arguments.get("directory", ""))
        wanted = f"{arguments.get('fileKind', '')}{_BREAK}{shown}"
        kept = kept[place == (places.index(wanted) if wanted in places else -1)]
    return np.unique(opened.history.changes.commit[kept])


def _of_commits(opened: Opened, of: Numbers, place: Any, places: list[str]) -> tuple[Numbers, list[str]]:
    """Numbers of commits with their places, and their texts: the commit, and the place behind it."""
    numbers = np.zeros(len(of), np.int64) if place is None else place
    codes, (commits, which) = group([of, numbers])
    texts = zip(columns.oids(opened.history, commits), which.tolist(), strict=True)
    return codes, [f"{commit}{_BREAK}{places[at] or _BREAK}" for commit, at in texts] or [_BREAK * 2]


def _join(arguments: Arguments, context: CallContext, part: Part) -> Answer:  # noqa: ARG001 - as all of them
    by = _by(arguments)
    period = period_of(CALL, by)
    people = People(CALL, arguments)
    rows = together(part, people)
    unknown = sum(sums.unknown for sums in part.found.values())
    keys = [rows.person if "author" in by else np.zeros(len(rows.person), np.int64)]
    keys += [rows.start] if period else []
    keys += [rows.repository] if "repository" in by else []
    placed = bool({*_PLACES, "commit"} & set(by))
    keys += [rows.place] if placed else []
    codes, found = group(keys)
    count = len(found[0])
    summed = {name: total(codes, rows.values[name], count) for name in rows.values} or dict.fromkeys(
        ("additions", "deletions", "changes", "commits"), np.zeros(0, np.int64)
    )
    table: dict[str, Any] = key_columns(by, period, found, part.names, people)
    if placed:
        table |= _place_columns(by, rows.places, found[-1])
    if "author" not in by:
        table.pop("author"), table.pop("author_email")
    # A commit has one author and one date, and belongs to one repository: so its counts add up.
    table |= {name: pa.array(values) for name, values in summed.items()}
    table["authors"] = pa.array(count_distinct(codes, rows.person, count))
    starts = found[1] if period else np.zeros(count, np.int64)
    order = group_order((starts, -(summed["additions"] + summed["deletions"])), table)
    notices = [*part.notices, "Merges are left out: they have no changed lines of their own."]
    notices += kind_notices(arguments)
    notices += [f"{unknown:,} changes are counted without lines, as contents are missing."] if unknown else []
    notices += people.join_notices(found[0].tolist()) if "author" in by else []
    drill = {"authors": "author"} if "author" in by else {}
    drill |= {argument: name for name, argument in _ROW_PLACES.items() if name in by}
    facts = facts_of(arguments, part, people, by, period, drill)
    facts["changed_paths"] = {name: sums.touched for name, sums in part.found.items()}
    # Services tell commits and not their files: what needs no files is asked of them as a search.
    if _PLACES & set(by) or arguments.get("fileKinds"):
        fixed = {name: arguments[name] for name in ("depth", "fileKinds") if arguments.get(name)}
        facts["drill_down"]["call"] = "commits_behind"
        facts["drill_down"]["arguments"] |= {"of": CALL, **fixed}
    if "commit" in by:
        del facts["drill_down"]  # the row names its commit
    made = columns.table("churn", table, count).take(pa.array(order))
    return Answer("churn", made, facts, part.complete and not unknown, tuple(notices))


def _place_columns(by: list[str], places: list[str], which: Numbers) -> dict[str, Any]:
    """The columns of commit, kind of file, and directory or path, of rows that have the places of these numbers."""
    names = ["file_kind", "path" if "path" in by else "directory"]
    names = ["commit", *names] if "commit" in by else names
    texts = [place.split(_BREAK, len(names) - 1) for place in places] or [[""] * len(names)]
    return {name: columns.coded([text[at] for text in texts], which) for at, name in enumerate(names) if name in by}


churn = Parted(_find, _join)
"""Changed lines by commit, folder or file, author and period as asked; merges have none."""
