"""Figures of results and frames: bars, time series, calendars, treemaps, dependency graphs.

No figure asks a client or touches global state of matplotlib; reports and their files are in `lab.reports`. Start
reading in `figure`, which has `Figure`; `sheet` has the frame that all figures share, `labels` their texts.
"""

from typing import Any

from sourcelight.core.former_names import former_attribute
from sourcelight.lab.plots.bar_charts import bars, ownership
from sourcelight.lab.plots.calendars import calendar
from sourcelight.lab.plots.figure import Figure
from sourcelight.lab.plots.graph import dependencies
from sourcelight.lab.plots.tiles import treemap
from sourcelight.lab.plots.time_series import over_time

__all__ = ["Figure", "bars", "calendar", "dependencies", "over_time", "ownership", "treemap"]


def __getattr__(name: str) -> Any:
    raise former_attribute("plots", name) or AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)  # without the modules of the room
