"""Ownership on disk, beside the history that it was made from, so that no other process has to replay it again."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from sourcelight.core.errors import IndexDamaged, IndexWriteFailed
from sourcelight.engines.history.blame.model import OwnedFile, Ownership
from sourcelight.engines.history.snapshot import History
from sourcelight.engines.history.store.folder import OWNERSHIP
from sourcelight.engines.storage.sections import Array, SectionFile, write_sections

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
