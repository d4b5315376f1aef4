"""Tables of a report as files: no cell that a spreadsheet would run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sourcelight.display.frames.files import FORMULA_SIGNS, replacing

_ENDINGS = {"csv": ".csv", "parquet": ".parquet", "jsonl": ".jsonl"}


def save(frame: Any, name: str, folder: str | os.PathLike[str], format: str) -> str:  # noqa: A002 - the name users type
    """Write a frame to ``folder/name.format`` and give that path.

    Raises
    ------
    ValueError
        For a format that is not known.
    """
    if format not in _ENDINGS:
        raise ValueError(f"unknown format {format!r}; choose one of {', '.join(_ENDINGS)}")
    path = Path(folder) / f"{name}{_ENDINGS[format]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        if format == "parquet":
            frame.to_parquet(temporary, index=False)
        elif format == "jsonl":
            frame.to_json(temporary, orient="records", lines=True, date_format="iso", date_unit="us", force_ascii=False)
        else:
            _harmless(frame).to_csv(temporary, index=False)
    return str(path)


def _harmless(frame: Any) -> Any:
    """The frame with an apostrophe before text that would run as a formula."""
    import pandas as pd

    def harmless(value: Any) -> Any:
        return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_SIGNS) else value

    safe = {
        column: values
        if pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_datetime64_any_dtype(values.dtype)
        else values.astype(object).map(harmless, na_action="ignore")
        for column, values in frame.items()
    }
    return pd.DataFrame(safe).rename(columns=harmless)
