"""Figures of answers: each says what it counts and what it leaves out, in light or dark, and touches nothing global.

A function takes a result or a frame and gives a `Figure`, which shows itself in a notebook, saves itself as PNG or SVG
and gives its matplotlib figure. pyplot is never used, so that figures of several threads don't meet. It asks nobody:
what is drawn is in the frame.
"""

from sourcelight.lab.plots.activity import activity
from sourcelight.lab.plots.dependencies import dependencies
from sourcelight.lab.plots.figure import Figure
from sourcelight.lab.plots.matches import matches
from sourcelight.lab.plots.over_time import over_time
from sourcelight.lab.plots.ownership import ownership
from sourcelight.lab.plots.treemap import treemap

__all__ = ["Figure", "activity", "dependencies", "matches", "over_time", "ownership", "treemap"]
