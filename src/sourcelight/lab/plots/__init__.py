"""Figures of answers: each says what it counts and what it leaves out, in light or dark, and touches nothing global.

A function takes a result or a frame and gives a `Figure`, which shows itself in a notebook, saves itself as PNG or SVG
and gives its matplotlib figure. pyplot is never used, so that figures of several threads don't meet. It asks nobody:
what is drawn is in the frame.
"""

from sourcelight.lab.plots.bars import matches, ownership
from sourcelight.lab.plots.figure import Figure
from sourcelight.lab.plots.graph import dependencies
from sourcelight.lab.plots.tiles import treemap
from sourcelight.lab.plots.time_series import activity, over_time

__all__ = ["Figure", "activity", "dependencies", "matches", "over_time", "ownership", "treemap"]
