"""Line ownership of a commit: which commit brought each line of every file.

It is computed by a *replay* of the stored hunks from the first commit on. A file is *exact* when all its lines are
proven to be those of ``git blame``. The result is stored beside the history, so that no other process replays it, and
the replay of a newer commit starts from it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from sourcelight.core.arrays import AnyArray, BoolArray
from sourcelight.core.batches import CommitId
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import IndexDamaged, IndexWriteFailed
from sourcelight.engines.history.blame import line_origins
from sourcelight.engines.history.blame.lineage import MIXED, Lineage, OwnedFile, Ownership, trace
from sourcelight.engines.history.history import History
from sourcelight.engines.history.store.folder import OWNERSHIP
from sourcelight.engines.storage.sections import SectionFile, write_sections
from sourcelight.repos import ObjectReader, Repository

FORMAT = 3
"""Raised by one whenever the lines of a file may come out differently."""

_NO_STEP = (-1, -1, -1)
"""Stands on disk for the step of a file without one."""

_UNKNOWN_PATH = -1
"""Stands on disk for the path of a change of unknown origin."""

_MAX_CACHED = 8
"""Ownerships in memory: one has four bytes a line of its commit."""

_MAX_EXACT_CHANGES = 4_000
"""Changed files of a history up to which git compares all contents again unasked: about half a second."""


def load_ownership(history: History, commit: str) -> Ownership | None:
    """Return the stored ownership of a commit, 40 hex digits, or None when it is absent or of other segments.

    Commits keep their numbers as long as segments are only added, and segments are never changed.
    """
    path = _path(history, commit)
    if path is None:
        return None
    return _read(history, path, commit)


def newest_ownership(history: History) -> Ownership | None:
    """Return the newest stored ownership of these segments to continue from, or None."""
    path = _path(history, "")
    if path is None:
        return None

    with contextlib.suppress(OSError):
        files = sorted(path.parent.glob(f"{OWNERSHIP}*"), key=lambda file: file.stat().st_mtime_ns)
        if files:
            return _read(history, files[-1], files[-1].name.removeprefix(OWNERSHIP))

    return None


def _read(history: History, path: Path, commit: str) -> Ownership | None:
    try:
        # Any process of the user may have written this file: bytes that don't fit the format mean that the history is
        # replayed, never an error.
        file = SectionFile(path, "history")
        segments = file.metadata["segments"]

        # Commits keep their numbers while segments are only added: the stored list must be the start of the present
        # one.
        if file.metadata["format"] != FORMAT or segments != _segments(history)[: len(segments)]:
            return None

        # The paths end with NUL each, as git forbids NUL in names; the split leaves one empty text at the end.
        paths = bytes(file.bytes_of("paths")).split(b"\0")[:-1]
        blobs, starts = bytes(file.bytes_of("blobs")), file.array("starts").tolist()
        lines, exact = file.array("lines"), file.array("exact").tolist()
        steps = file.array("steps").reshape(-1, 3).tolist()
        files: dict[bytes, OwnedFile] = {}
        for index, name in enumerate(paths):
            kind, commit_number, change = steps[index]
            step = kind, commit_number, change
            files[name] = OwnedFile(
                blob=blobs[20 * index : 20 * index + 20],
                lines=lines[starts[index] : starts[index + 1]],
                exact=bool(exact[index]),
                step=None if step == _NO_STEP else step,
            )

        origins: dict[int, int | None] = {}
        for change, path_number in file.array("origins").reshape(-1, 2).tolist():
            origins[change] = None if path_number == _UNKNOWN_PATH else path_number

        return Ownership(
            commit=commit,
            files=files,
            left_out=file.metadata["left_out"],
            thorough=file.metadata["thorough"],
            origins=origins,
        )
    except (OSError, IndexDamaged, KeyError, IndexError, ValueError):
        return None


def save_ownership(history: History, ownership: Ownership) -> None:
    """Store an ownership if possible; an update deletes all except the tips' and the newest."""
    path = _path(history, ownership.commit)
    if path is None:
        return

    files = ownership.files.values()
    metadata = {
        "format": FORMAT,
        "segments": _segments(history),
        "left_out": ownership.left_out,
        "thorough": ownership.thorough,
    }
    origins: list[tuple[int, int]] = []
    for change, path_number in ownership.origins.items():
        origins.append((change, _UNKNOWN_PATH if path_number is None else path_number))

    arrays: dict[str, AnyArray] = {
        "paths": np.frombuffer(b"".join(name + b"\0" for name in ownership.files), np.uint8),
        "blobs": np.frombuffer(b"".join(file.blob for file in files), np.uint8),
        # One more start than files: the lines of file i end where the lines of file i + 1 start.
        "starts": np.cumsum([0, *(len(file.lines) for file in files)], dtype=np.int64),
        # int32: numbers of commits in the history, -1 for an unknown one.
        "lines": np.concatenate([np.zeros(0, np.int32), *(file.lines for file in files)]).astype(np.int32),
        "exact": np.array([file.exact for file in files], np.uint8),
        "origins": np.array(origins, np.int64).reshape(-1),
        "steps": np.array([file.step or _NO_STEP for file in files], np.int64).reshape(-1),
    }

    # A full disk, or an updater that cleans up at the same time: then the next process replays.
    with contextlib.suppress(IndexWriteFailed):
        write_sections(path.parent, "history", metadata, arrays, name=path.name, durable=False)


def _path(history: History, commit: str) -> Path | None:
    if history.segments:
        return history.segments[0].file.path.with_name(f"{OWNERSHIP}{commit}")
    return None


def _segments(history: History) -> list[str]:
    return [segment.file.path.name for segment in history.segments]


_cache: LruCache[tuple[str, str], Ownership] = LruCache(_MAX_CACHED)


def line_ownership(
    history: History,
    repository: Repository,
    commit: CommitId,
    *,
    exact: bool | None = None,
    progress: Callable[[int, int], None] | None = None,
    cancellation: Cancellation | None = None,
) -> Ownership:
    """Replay the history behind a commit; the same question is answered from memory or disk.

    The replay starts from the newest stored ownership of another commit: files that did not change since are the same.
    Lines are numbers of commits in `history`.

    Stored hunks prove the lines of files that never had more than 1,023 bytes, or were never edited. The hunks of other
    edits may differ from those of git blame: about two changes in a thousand do. With `exact`, git compares all
    contents again, without context lines as git blame does, which takes two to three times as long as the replay. Some
    files stay unproven even so: those whose lines passed through a rename in a merge, a commit whose changes could not
    be read, a change with very many others beside it, or the edge of a shallow clone.

    Parameters
    ----------
    history
        The history that has the commit.
    repository
        The repository of the history, whose contents are read.
    commit
        40 hex digits.
    exact
        Whether git compares contents again; None: if the history is small.
    progress
        Called with how much is done of how much, first of commits, then of states of files.
    cancellation
        Checked every few commits.

    Raises
    ------
    KeyError
        The history does not have the commit.
    Cancelled
        After ``cancellation.cancel()``.
    """
    # Small histories are compared exactly without being asked: it costs no noticeable time there.
    if exact is None:
        exact = len(history.changes) <= _MAX_EXACT_CHANGES

    key = repository.key, commit
    cached = _cache.get(key)
    ownership = load_ownership(history, commit) if cached is None else cached
    if ownership is None or (exact and not ownership.thorough):
        previous = None
        # A shallow clone may be deepened, which moves its edge: lines of an earlier replay would keep old, wrong
        # owners.
        if not history.shallow:
            previous = ownership or newest_ownership(history)

        ownership = _replay(
            history,
            repository,
            commit=commit,
            previous=previous,
            cancellation=cancellation,
            progress=progress,
            exact=exact,
        )
        # Contents that a clone lacks may be there another time.
        if not repository.incomplete:
            save_ownership(history, ownership)

    _cache.put(key, ownership)
    return ownership


def _replay(
    history: History,
    repository: Repository,
    *,
    commit: CommitId,
    previous: Ownership | None,
    cancellation: Cancellation | None,
    progress: Callable[[int, int], None] | None,
    exact: bool,
) -> Ownership:
    """Compute the ownership of a commit; files that are unchanged since `previous` keep its lines."""
    known_origins = None if previous is None else previous.origins
    known_files = () if previous is None else previous.files.values()
    lineage = trace(history, repository, commit, cancellation, progress, origins=known_origins)
    with ObjectReader(repository) as reader:
        resolver = line_origins.LineResolver(lineage, history, reader, known_files, exact=exact)
        ownership = _resolve_files(
            resolver,
            lineage,
            history=history,
            reader=reader,
            commit=commit,
            cancellation=cancellation,
            progress=progress,
        )

    return replace(ownership, thorough=exact, origins=lineage.origins)


def _resolve_files(
    resolver: line_origins.LineResolver,
    lineage: Lineage,
    *,
    history: History,
    reader: ObjectReader,
    commit: CommitId,
    cancellation: Cancellation | None,
    progress: Callable[[int, int], None] | None,
) -> Ownership:
    """Return the files of the commit; files whose contents or lines don't add up are not exact."""
    tree = reader.tree(commit)
    blobs = [tree.blob_id(index) for index in range(len(tree))]
    states: list[int | None] = []
    for path, blob in zip(tree.paths, blobs, strict=True):
        number = lineage.numbers.get(path)
        state = None if number is None else lineage.final_states.get(number)
        # The blob must be the commit's: this detects a replay that lost track of a file.
        if state is not None and lineage.blob[state] != blob:
            state = None
        states.append(state)

    requested = [state for state in states if state is not None]
    lines_of = resolver.run(requested, cancellation, progress)
    is_edge = shallow_edge(history)
    commit_number = history.position(commit) or 0
    files: dict[bytes, OwnedFile] = {}
    for path, blob, state in zip(tree.paths, blobs, states, strict=True):
        resolved = line_origins.UNRESOLVED if state is None else lines_of[state]
        if state is not None and resolved.commits is not None:
            if lineage.kind[state] == MIXED and line_origins.is_binary_text(reader.read(blob) or b""):
                continue

            has_edge = is_edge is not None and bool(is_edge[resolved.commits].any())
            files[path] = OwnedFile(blob, resolved.commits, resolved.is_proven and not has_edge, lineage.step(state))
            continue

        data = reader.read(blob, line_origins.MAX_FILE_BYTES)
        if data is not None and not line_origins.is_binary_text(data):
            # No lineage led to this content, so all lines count for the requested commit, unproven.
            count = line_origins.line_count(data)
            files[path] = OwnedFile(blob, np.full(count, commit_number, np.int32), exact=count == 0)

    return Ownership(commit, files, len(tree) - len(files))


def shallow_edge(history: History) -> BoolArray | None:
    """Return a mask of the commits whose parents may be missing, or None unless the clone is shallow."""
    if not history.shallow:
        return None

    commits = history.commits
    is_edge: BoolArray = np.zeros(len(commits), np.bool_)
    counts = np.diff(commits.parent_starts)
    owners = np.repeat(np.arange(len(commits)), counts)

    # Commits at the border seem to add all files: blame of a full clone would continue to older ones.
    is_edge[owners[commits.parents < 0]] = True
    is_edge[counts == 0] = True
    return is_edge
