"""Bars: what has how many."""

from __future__ import annotations

from typing import Any

from sourcelight.lab.plots.figure import Figure
from sourcelight.lab.plots.sources import column_of, head_and_rest, number, sentences, source_of
from sourcelight.lab.plots.themes import ThemeName, finish, sheet, short, theme_of, whole_numbers


def matches(
    source: Any,
    by: str = "repository",
    *,
    split: str | None = None,
    value: str | None = None,
    top: int = 15,
    title: str | None = None,
    theme: ThemeName = "light",
) -> Figure:
    """Draw how many matches there are, by repository, language, or any other column.

    Parameters
    ----------
    source
        A `SearchResult`, or a frame: of matches, of `Client.count`, of an analysis.
    by
        Column with what the bars stand for.
    split
        Column by which bars are divided, such as ``language``: the five values with the most, and the rest.
    value
        Column to add up; None: matches, commits or lines, where there is one of these, else rows.
    top
        Most bars; the rest is said below.
    title
        Title; None: what is counted by what.
    theme
        ``light`` or ``dark``.
    """
    look, drawn = theme_of(theme), source_of(source, value)
    keys = column_of(drawn.frame, by)
    totals = drawn.amounts.groupby(keys).sum()
    totals = totals[totals > 0]
    names, rest = head_and_rest(totals, top)
    heads: list[str] = []
    others: list[str] = []
    parts = None
    if split is not None:
        kinds = column_of(drawn.frame, split)
        of_kinds = drawn.amounts.groupby(kinds).sum()
        heads, others = (list(each) for each in head_and_rest(of_kinds[of_kinds > 0], len(look.series)))
        parts = drawn.amounts.groupby([keys, kinds]).sum()
    words = title or f"{drawn.unit.capitalize()} by {by.replace('_', ' ')}{f' and {split}' if split else ''}"
    counted = sentences(f"{number(drawn.total)} {drawn.unit} in {len(totals):,} {_plural(by, len(totals))}", drawn.told)
    rested = sum(float(totals[name]) for name in rest)
    left = f"Not shown: {len(rest):,} more with {number(rested)} {drawn.unit}" if rest else ""

    def draw() -> Any:
        figure, axes = sheet(look, 0.5 + 0.3 * max(len(names), 2), words, counted, sentences(left, drawn.limits))
        places = list(range(len(names)))
        if parts is None:
            axes.barh(places, [float(totals[name]) for name in names], color=look.series[0], height=0.72)
        else:
            at = [0.0] * len(names)
            series = [(kind, colour, [kind]) for kind, colour in zip(heads, look.series, strict=False)]
            series += [(f"{len(others):,} others", look.rest, others)] if others else []
            for label, colour, kinds in series:
                widths = [sum(float(parts.get((name, kind), 0)) for kind in kinds) for name in names]
                axes.barh(places, widths, left=at, color=colour, height=0.72, label=short(label, 30),
                          edgecolor=look.background, linewidth=0.6)  # fmt: skip
                at = [a + b for a, b in zip(at, widths, strict=True)]
        for place, name in zip(places, names, strict=True):
            axes.annotate(number(float(totals[name])), (float(totals[name]), place), xytext=(4, 0),
                          textcoords="offset points", va="center", fontsize=8.5, color=look.muted)  # fmt: skip
        axes.set_yticks(places, [short(name) for name in names], parse_math=False)
        axes.set_ylim(max(len(names), 2) - 0.45, -0.55)
        axes.margins(x=0.1)
        axes.set_xlim(left=0)
        whole_numbers(axes.xaxis)
        finish(axes, look, grid="x", series=len(heads) + bool(others))
        axes.tick_params(axis="y", labelcolor=look.text)
        return figure

    most = f"{names[0]} has the most" if names else "there are none"
    return Figure("matches", words, f"Bars of {drawn.unit} by {by}: {most}.", draw)


def _plural(name: str, count: int) -> str:
    words = name.replace("_", " ")
    if count == 1:
        return words
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}s"
