%%born frames
%%moved src-layout pytide/frames.py
"""Water levels as DataFrames."""

from __future__ import annotations

import pandas as pd


def levels_frame(rows: list[dict], station: str) -> pd.DataFrame:
    """Turn an answer of the hub into a frame.

    Returns
    -------
    DataFrame
        ``sea_level_mm`` by ``time`` (UTC), with the station in ``attrs``.
    """
    frame = pd.DataFrame(rows, columns=["minute", "sea_level_mm"])
%%if utc
    frame.index = pd.to_datetime(frame.pop("minute"), unit="m", utc=True).rename("time")
%%else
    # FIXME: local time is wrong twice a year
    frame.index = pd.to_datetime(frame.pop("minute"), unit="m").rename("time")
%%end
    frame.attrs["station"] = station
    return frame


def resample_hourly(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean level of every hour."""
    return frame.resample("«hour»").mean()
%%if spikes


def drop_spikes(frame: pd.DataFrame, jump_mm: int = «jump») -> pd.DataFrame:
    """Leave out readings that jump away from both neighbours."""
    level = frame["sea_level_mm"]
    before, after = (level - level.shift(1)).abs(), (level - level.shift(-1)).abs()
    return frame[~((before > jump_mm) & (after > jump_mm))]
%%end
