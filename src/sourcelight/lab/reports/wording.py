"""Sentences of reports: counts, dates, shares and comparisons in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sourcelight.core.markup import count_of, join_words


def day(value: Any) -> str:
    """A day as ``6 December 2024``; empty where it is not known."""
    import pandas as pd

    return "" if value is None or pd.isna(value) else f"{value.day} {value.strftime('%B %Y')}"


def length(days: float) -> str:
    """A length of time in the unit that a reader thinks in."""
    if days < 60:
        return count_of(max(round(days), 1), "day")
    months = round(days / 30.44)
    if months < 24:
        return count_of(months, "month")
    return f"{days / 365.25:.1f} years".replace(".0 ", " ")


def against(now: int, before: int) -> str:
    """A number against that of the period before, which is not 0: ``12% more than``, ``as many as``."""
    if now == before:
        return "as many as"
    change = abs(now - before) / before
    if change >= 1.5 and now > before:
        return f"{now / before:.1f} times as many as"
    return f"{change:.0%} {'more' if now > before else 'fewer'} than"


def shares(names: Sequence[str], amounts: Sequence[float], total: float, shown: int = 3) -> str:
    """The largest parts of a total with their shares: ``src/ (60%) and tests/ (30%)``; empty for no total."""
    ordered = sorted(zip(names, amounts, strict=True), key=lambda pair: -pair[1])[:shown]
    return join_words([f"{name} ({amount / total:.0%})" for name, amount in ordered if amount]) if total else ""
