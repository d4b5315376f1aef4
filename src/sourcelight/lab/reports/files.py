"""Tables of a report as files: for people, no cell that a spreadsheet would run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sourcelight.display.frames.export import write_frame

_ENDINGS = {"csv": ".csv", "parquet": ".parquet", "jsonl": ".jsonl"}


def save(
    frame: Any,
    name: str,
    folder: str | os.PathLike[str],
    format: str,  # noqa: A002 - the name users type
    *,
    spreadsheet: bool = True,
) -> str:
    """Write a frame to ``folder/name.format`` and give that path; `spreadsheet` as in `write_frame`.

    Raises
    ------
    ValueError
        For a format that is not known.
    """
    if format not in _ENDINGS:
        raise ValueError(f"unknown format {format!r}; choose one of {', '.join(_ENDINGS)}")
    path = Path(folder) / f"{name}{_ENDINGS[format]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_frame(frame, path, format, spreadsheet=spreadsheet)
    return str(path)
