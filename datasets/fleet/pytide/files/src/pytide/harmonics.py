%%born harmonics
%%moved src-layout pytide/harmonics.py
"""Predict the tide from harmonic constants."""

from __future__ import annotations

import math
from dataclasses import dataclass
%%if harmonics-cache
from functools import lru_cache
%%end

# Speeds in degrees per hour.
SPEEDS = {"M2": 28.9841042, "S2": 30.0, "N2": 28.4397295, "K1": 15.0410686, "O1": 13.9430356}


@dataclass(frozen=True)
class Constituent:
    """One wave of the tide: amplitude in millimetres, phase in degrees."""

    name: str
    amplitude_mm: float
    phase_deg: float

    def height(self, hours: float) -> float:
        """Height in millimetres at a time."""
        return self.amplitude_mm * math.cos(math.radians(SPEEDS[self.name] * hours - self.phase_deg))


ARDVIK = (Constituent("M2", «m2», 112.0), Constituent("S2", 396.0, 148.5), Constituent("K1", 74.0, 201.0))


%%if harmonics-cache
@lru_cache(maxsize=4096)
%%end
def predict_tide(hours: float, constituents: tuple[Constituent, ...] = ARDVIK) -> float:
    """Sum of all constituents, in millimetres."""
    return sum(constituent.height(hours) for constituent in constituents)


def residual(level_mm: float, hours: float) -> float:
    """What wind and weather added to the tide: the surge."""
    return level_mm - predict_tide(hours)
