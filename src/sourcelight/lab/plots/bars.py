"""Who owns which part of what.

Bars: what has how many.
"""

from __future__ import annotations

from typing import Any

from sourcelight.lab.plots.figure import (
    Figure,
    ThemeName,
    column_of,
    finish,
    head_and_rest,
    number,
    sentences,
    sheet,
    short,
    source_of,
    theme_of,
    whole_numbers,
)


def ownership(
    source: Any,
    *,
    by: str | None = None,
    value: str | None = None,
    top: int = 15,
    title: str | None = None,
    theme: ThemeName = "light",
) -> Figure:
    """Draw how the lines of each folder are shared among authors; of one folder alone, its authors.

    Parameters
    ----------
    source
        A frame of `Client.ownership`, of `contributors` or `churn` by author, or of ``code.blame()``.
    by
        Column whose values are told apart; None: directory, path or repository, the first that has several values.
    value
        Column to add up; None: lines or commits, where there is one of these, else rows.
    top
        Most bars, those with the most lines.
    title, theme
        As for `matches`.
    """
    look, drawn = theme_of(theme), source_of(source, value)
    author = _author_column(drawn.frame)
    people = column_of(drawn.frame, author)
    candidates = [by] if by else [name for name in ("directory", "path", "repository") if name in drawn.frame.columns]
    column = next((name for name in candidates if by or drawn.frame[name].nunique() > 1), None)
    whole = drawn.amounts.groupby(people).sum()
    whole = whole[whole > 0]
    unit = "lines" if author == "blame_author" and drawn.unit in {"matches", "rows"} else drawn.unit
    about: Any = drawn.frame["repository"].dropna().unique() if "repository" in drawn.frame.columns else ()
    where = f" of {about[0]}" if len(about) == 1 else ""
    if column is None:
        return _authors(look, whole, unit, where, drawn, top, title)
    keys = column_of(drawn.frame, column)
    totals = drawn.amounts.groupby(keys).sum()
    totals = totals[totals > 0]
    names, rest = head_and_rest(totals, top)
    heads, others = head_and_rest(whole, len(look.series))
    parts = drawn.amounts.groupby([keys, people]).sum()
    what = "folder" if column == "path" and all(name.endswith(("/", "/*")) for name in names) else column
    words = title or f"{unit.capitalize()} by {what} and author"
    counted = sentences(
        f"Shares of the {unit}{where}: {number(drawn.total)} {unit} by {len(whole):,} authors", drawn.told
    )
    rested = sum(float(totals[name]) for name in rest)
    left = f"Not shown: {len(rest):,} more with {number(rested)} {unit}" if rest else ""

    def draw() -> Any:
        figure, axes = sheet(look, 1.0 + 0.3 * max(len(names), 2), words, counted, sentences(left, drawn.limits))
        places = list(range(len(names)))
        at = [0.0] * len(names)
        series = [(person, colour, [person]) for person, colour in zip(heads, look.series, strict=False)]
        series += [(f"{len(others):,} others", look.rest, list(others))] if others else []
        for label, colour, group in series:
            widths = []
            for name in names:
                row = parts[name]
                widths.append(100 * float(row[row.index.isin(group)].sum()) / float(totals[name]))
            axes.barh(places, widths, left=at, color=colour, height=0.72, label=short(label, 30),
                      edgecolor=look.background, linewidth=0.6)  # fmt: skip
            at = [a + b for a, b in zip(at, widths, strict=True)]
        for place, name in zip(places, names, strict=True):
            axes.annotate(f"{number(float(totals[name]))} {unit}", (100, place), xytext=(5, 0), fontsize=8.5,
                          textcoords="offset points", va="center", color=look.muted, annotation_clip=False)  # fmt: skip
        axes.set_yticks(places, [short(name) for name in names], parse_math=False)
        axes.set_ylim(max(len(names), 2) - 0.45, -0.55)
        axes.set_xlim(0, 100)
        axes.set_xticks(range(0, 101, 25), [f"{each} %" for each in range(0, 101, 25)])
        finish(axes, look, grid="x", series=len(series) if len(series) > 1 else 2)
        axes.tick_params(axis="y", labelcolor=look.text)
        return figure

    first = heads[0] if heads else "nobody"
    return Figure("ownership", words, f"Bars of {column} shared by author: {first} has the most {unit} of all.", draw)


def _author_column(frame: Any) -> str:
    """The column that says who wrote; blame's comes first, since matched lines have no author of their own."""
    names = [name for name in ("blame_author", "last_author", "author") if name in frame.columns]
    return next((name for name in names if frame[name].notna().any()), names[-1] if names else "author")


def _authors(look: Any, whole: Any, unit: str, where: str, drawn: Any, top: int, title: str | None) -> Figure:
    names, rest = head_and_rest(whole, top)
    words = title or f"{unit.capitalize()} by author"
    total = float(whole.sum())
    counted = sentences(f"{number(total)} {unit}{where} by {len(whole):,} authors", drawn.told)
    rested = sum(float(whole[name]) for name in rest)
    left = f"Not shown: {len(rest):,} more authors with {number(rested)} {unit}" if rest else ""

    def draw() -> Any:
        figure, axes = sheet(look, 0.5 + 0.3 * max(len(names), 2), words, counted, sentences(left, drawn.limits))
        places = list(range(len(names)))
        axes.barh(places, [float(whole[name]) for name in names], color=look.series[0], height=0.72)
        for place, name in zip(places, names, strict=True):
            part = float(whole[name])
            axes.annotate(f"{number(part)}  ({_share(part / total)})", (part, place), xytext=(4, 0),
                          textcoords="offset points", va="center", fontsize=8.5, color=look.muted)  # fmt: skip
        axes.set_yticks(places, [short(name) for name in names], parse_math=False)
        axes.set_ylim(max(len(names), 2) - 0.45, -0.55)
        axes.margins(x=0.14)
        axes.set_xlim(left=0)
        whole_numbers(axes.xaxis)
        finish(axes, look, grid="x")
        axes.tick_params(axis="y", labelcolor=look.text)
        return figure

    first = names[0] if names else "nobody"
    return Figure("ownership", words, f"Bars of {unit} by author: {first} has the most.", draw)


def _share(part: float) -> str:
    """A share in percent; one that is small but there is not shown as nothing."""
    return "<1%" if 0 < part < 0.005 else f"{part:.0%}"


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
