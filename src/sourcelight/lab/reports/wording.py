"""Sentences of reports: counts, dates, shares and comparisons in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_IRREGULAR = {
    "person": "people",
    "repository": "repositories",
    "directory": "directories",
    "dependency": "dependencies",
}


def count_of(count: int, noun: str) -> str:
    """A number with its noun: ``1 file``, ``2 repositories``."""
    return f"{count:,} {noun if count == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """The plural of a noun, whose last word changes."""
    head, _, last = noun.rpartition(" ")
    return f"{head} {plural(last)}" if head else _IRREGULAR.get(noun, f"{noun}s")


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


def listed(texts: Sequence[str]) -> str:
    """Texts one after the other: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


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
    return listed([f"{name} ({amount / total:.0%})" for name, amount in ordered if amount]) if total else ""
