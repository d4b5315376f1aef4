"""Which commit brought each line of every file of a commit, by replaying stored hunks from the first commit on.

Ownership on disk, beside the history that it was made from, so that no other process has to replay it again.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import IndexDamaged, IndexWriteFailed
from sourcelight.engines.history.blame.line_origins import MAX_FILE_BYTES, LineResolver, is_binary, line_count
from sourcelight.engines.history.blame.lineage import MIXED, Lineage, OwnedFile, Ownership, trace
from sourcelight.engines.history.history import History
from sourcelight.engines.history.store.folder import OWNERSHIP
from sourcelight.engines.storage.sections import Array, SectionFile, write_sections
from sourcelight.repos import ObjectReader, Repository

FORMAT = 3
"""Raised by one whenever lines would be told otherwise."""

_NO_STEP = (-1, -1, -1)


def load(history: History, commit: str) -> Ownership | None:
    """What was kept of a commit, 40 hex digits; None when it is not there or of other segments.

    Commits keep their numbers as long as segments are only added, and segments are never changed.
    """
    path = _path(history, commit)
    return None if path is None else _read(history, path, commit)


def newest(history: History) -> Ownership | None:
    """What was kept last of any commit, to go on from there; None when there is nothing of these segments."""
    path = _path(history, "")
    if path is None:
        return None
    with contextlib.suppress(OSError):
        kept = sorted(path.parent.glob(f"{OWNERSHIP}*"), key=lambda file: file.stat().st_mtime_ns)
        if kept:
            return _read(history, kept[-1], kept[-1].name.removeprefix(OWNERSHIP))
    return None


def _read(history: History, path: Path, commit: str) -> Ownership | None:
    try:
        file = SectionFile(path, "history")
        segments = file.facts["segments"]
        if file.facts["format"] != FORMAT or segments != _segments(history)[: len(segments)]:
            return None
        paths = bytes(file.bytes_of("paths")).split(b"\0")[:-1]
        blobs, starts = bytes(file.bytes_of("blobs")), file.array("starts").tolist()
        lines, exact = file.array("lines"), file.array("exact").tolist()
        steps = [(kind, own, change) for kind, own, change in file.array("steps").reshape(-1, 3).tolist()]
        files = {
            name: OwnedFile(
                blobs[20 * at : 20 * at + 20],
                lines[starts[at] : starts[at + 1]],
                bool(exact[at]),
                None if steps[at] == _NO_STEP else steps[at],
            )
            for at, name in enumerate(paths)
        }
        origins = {at: None if path < 0 else path for at, path in file.array("origins").reshape(-1, 2).tolist()}
        return Ownership(commit, files, file.facts["left_out"], file.facts["thorough"], origins)
    except (OSError, IndexDamaged, KeyError, IndexError, ValueError):
        return None


def save(history: History, made: Ownership) -> None:
    """Keep what was made, if it can be; an update drops all but those of the tips and the newest one."""
    path = _path(history, made.commit)
    if path is None:
        return
    files = made.files.values()
    facts = {"format": FORMAT, "segments": _segments(history), "left_out": made.left_out,
             "thorough": made.thorough}  # fmt: skip
    arrays: dict[str, Array] = {
        "paths": np.frombuffer(b"".join(name + b"\0" for name in made.files), np.uint8),
        "blobs": np.frombuffer(b"".join(file.blob for file in files), np.uint8),
        "starts": np.cumsum([0, *(len(file.lines) for file in files)], dtype=np.int64),
        "lines": np.concatenate([np.zeros(0, np.int32), *(file.lines for file in files)]).astype(np.int32),
        "exact": np.array([file.exact for file in files], np.uint8),
        "origins": np.array(
            [(at, -1 if path is None else path) for at, path in made.origins.items()], np.int64
        ).reshape(-1),
        "steps": np.array([file.step or _NO_STEP for file in files], np.int64).reshape(-1),
    }
    # A full disk, or an updater that cleans up at the same time: then the next process replays.
    with contextlib.suppress(IndexWriteFailed):
        write_sections(path.parent, "history", facts, arrays, name=path.name, durable=False)


def _path(history: History, commit: str) -> Path | None:
    return history.segments[0].file.path.with_name(f"{OWNERSHIP}{commit}") if history.segments else None


def _segments(history: History) -> list[str]:
    return [segment.file.path.name for segment in history.segments]


_MOST_KEPT = 8

_FEW_CHANGES = 4_000
"""Changed files of a history up to which git compares all contents anew unasked: about half a second."""


_kept: OrderedDict[tuple[str, str], Ownership] = OrderedDict()
_lock = Lock()


def own(
    history: History,
    repository: Repository,
    commit: str,
    *,
    exact: bool | None = None,
    progress: Callable[[int, int], None] | None = None,
    cancellation: Cancellation | None = None,
) -> Ownership:
    """Replay the history behind a commit; the same question is answered from memory or disk.

    Of what was kept last of another commit, files that did not change since are taken as they are, and the others go on
    from there.

    Lines are numbers of commits in `history`. A file is `exact` when all its lines are proven to be those of ``git
    blame`` without options. Stored hunks prove that of files that never had more than 1,023 bytes or were never edited,
    as those of other edits may be others than git blame's: about two changes in a thousand are. With `exact`, git
    compares all contents that the files were made of anew, without context lines as git blame does, which takes two to
    three times as long as the replay. Then those files are left whose lines passed through a rename that a merge made,
    a commit whose changes could not be read, a change that has very many others beside it, or the edge of a shallow
    clone.

    Parameters
    ----------
    history
        Has to hold `commit`.
    repository
        Where its contents are.
    commit
        40 hex digits.
    exact
        Whether to have git compare contents anew; None: if the history is small.
    progress
        Called with how much is done of how much, first of commits, then of states of files.
    cancellation
        Checked every few commits.

    Raises
    ------
    KeyError
        If the history does not hold the commit.
    Cancelled
        After ``cancellation.cancel()``.
    """
    if exact is None:
        exact = len(history.changes) <= _FEW_CHANGES
    key = repository.key, commit
    with _lock:
        kept = _kept.get(key)
        if kept is not None:
            _kept.move_to_end(key)
    made = kept if kept is not None else load(history, commit)
    if made is None or (exact and not made.thorough):
        former = None if history.shallow else made or newest(history)
        known = former.origins if former is not None else None
        lineage = trace(history, repository, commit, cancellation, progress, origins=known)
        with ObjectReader(repository) as reader:
            files = former.files.values() if former is not None else ()
            lines_of = LineResolver(lineage, history, reader, files, exact=exact)
            made = _evaluated(lines_of, lineage, history, reader, commit, cancellation, progress)
        made = replace(made, thorough=exact, origins=lineage.origins)
        # What a clone lacks may be there another time.
        if not repository.incomplete:
            save(history, made)
    with _lock:
        _kept[key] = made
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    return made


def _evaluated(
    evaluation: LineResolver,
    lineage: Lineage,
    history: History,
    reader: ObjectReader,
    commit: str,
    cancellation: Cancellation | None,
    progress: Callable[[int, int], None] | None,
) -> Ownership:
    """The files that the commit has; those whose contents or lines do not add up are not exact."""
    tree = reader.tree(commit)
    blobs = [tree.blob_ids[at : at + 20] for at in range(0, len(tree) * 20, 20)]
    states: list[int | None] = []
    for path, blob in zip(tree.paths, blobs, strict=True):
        number = lineage.numbers.get(path)
        state = None if number is None else lineage.last.get(number)
        states.append(None if state is None or lineage.blob[state] != blob else state)
    wanted = [state for state in states if state is not None]
    lines_of = evaluation.run(wanted, cancellation, progress)
    edge = _edge(history)
    own_number = history.position(commit) or 0
    files: dict[bytes, OwnedFile] = {}
    for path, blob, state in zip(tree.paths, blobs, states, strict=True):
        lines, exact = (None, False) if state is None else lines_of[state]
        if state is not None and lines is not None:
            if lineage.kind[state] == MIXED and is_binary(reader.read(blob) or b""):
                continue
            exact = exact and not (edge is not None and edge[lines].any())
            files[path] = OwnedFile(blob, lines, exact, lineage.step(state))
            continue
        data = reader.read(blob, MAX_FILE_BYTES)
        if data is not None and not is_binary(data):
            count = line_count(data)
            files[path] = OwnedFile(blob, np.full(count, own_number, np.int32), exact=count == 0)
    return Ownership(commit, files, len(tree) - len(files))


def _edge(history: History) -> NDArray[np.bool_] | None:
    """Commits whose parents may be missing, in a shallow clone."""
    if not history.shallow:
        return None
    commits = history.commits
    edge: NDArray[np.bool_] = np.zeros(len(commits), np.bool_)
    counts = np.diff(commits.parent_starts)
    owners = np.repeat(np.arange(len(commits)), counts)
    edge[owners[commits.parents < 0]] = True
    edge[counts == 0] = True
    return edge
