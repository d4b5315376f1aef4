"""Figures of results and frames: bars, time series, calendars, treemaps, dependency graphs.

No figure asks a client or touches global state of matplotlib; reports and their files are in `lab.reports`. Start
reading in `figure`, which has `Figure` and the sheet that all figures share.
"""

from sourcelight.lab.plots.bars import matches, ownership
from sourcelight.lab.plots.figure import Figure
from sourcelight.lab.plots.graph import dependencies
from sourcelight.lab.plots.tiles import treemap
from sourcelight.lab.plots.time_series import activity, over_time

__all__ = ["Figure", "activity", "dependencies", "matches", "over_time", "ownership", "treemap"]
