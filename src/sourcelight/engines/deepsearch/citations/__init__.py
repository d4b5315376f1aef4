"""Citations: every one is checked against git at the pinned commit before an answer is kept."""

from sourcelight.engines.deepsearch.citations.check import Checker, Citation
from sourcelight.engines.deepsearch.citations.pins import Pin, Pins

__all__ = ["Checker", "Citation", "Pin", "Pins"]
