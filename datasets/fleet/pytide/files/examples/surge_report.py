%%born example
"""Email the harbour master about last night's surge. 🌊"""

from pytide import Hub
from pytide.frames import drop_spikes, resample_hourly
from pytide.harmonics import residual


def worst_surge(station: str) -> float:
    """Largest residual of the newest day, in millimetres."""
    with Hub("https://hub.example") as hub:
        levels = resample_hourly(drop_spikes(hub.levels(station, limit=144)))
    return max(residual(level, hour) for hour, level in enumerate(levels["sea_level_mm"]))


if __name__ == "__main__":
    for code in ("AR01", "BR01", "CA01"):
        print(f"{code}: {worst_surge(code):.0f} mm above the tide")
