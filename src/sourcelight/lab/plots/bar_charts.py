"""Horizontal bars: amounts by a column, and shares of authors.

Amounts are summed by the bar and, where bars are divided, by a second column; the largest are drawn, and a note counts
the rest. All bars of a figure have the same parts in the same order, so that a color means one value. All sums are made
with the figure; its `draw` has nothing left to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sourcelight.core.markup import count_of, plural
from sourcelight.lab.plots import labels
from sourcelight.lab.plots.data import PlotData, plot_data, sentences
from sourcelight.lab.plots.figure import Figure, follows_theme
from sourcelight.lab.plots.sheet import new_sheet, note_if_empty, style_axes, use_whole_numbers
from sourcelight.lab.plots.themes import Theme, ThemeName, theme_of

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_ROW_IN = 0.3
"""Height of a row with its bar, in inches: a label of 9 points with space around it."""

_AXIS_IN = 0.5
"""Height of the axis below the rows, in inches."""

_SHARES_AXIS_IN = 1.0
"""Height of the axis and of the legend, in inches. Bars of shares always have a legend, other bars seldom do."""

_MIN_ROWS = 2
"""Rows that a sheet has at least: a single bar would fill it."""

_BAR_HEIGHT = 0.72
"""Height of a bar as a share of its row."""

_LABEL_CHARS = 30
"""Characters of a label in a legend, whose labels share a line."""


@follows_theme
def bars(
    source: Any,
    by: str = "repository",
    *,
    split: str | None = None,
    value: str | None = None,
    origin: Any = None,
    top: int = 15,
    title: str | None = None,
    theme: ThemeName | None = None,
) -> Figure:
    """Draw amounts as bars: matches by repository, by language, or by another column.

    Parameters
    ----------
    source
        A `SearchResult`, or a frame: of matches, of counts, of an analysis.
    by
        Column with a bar for each of its values.
    split
        Column that divides the bars, such as ``language``: the five values with the largest amounts, and the rest.
    value
        Column to add up; None: matches, commits or lines, if there is one of these, else rows.
    origin
        Result or frame that `source` was computed from. The figure shows its query and limits; pandas drops them in
        ``groupby(…).size()``, ``groupby(…).agg(name=…)`` and `value_counts`.
    top
        Maximum number of bars; a note below counts the rest.
    title
        Title; None: the unit and the columns.
    theme
        ``light`` or ``dark``; None: the notebook's theme, and light in files.

    Returns
    -------
    Figure
        Displays itself in a notebook; `Figure.save` writes it.
    """
    colors = theme_of(theme)
    data = plot_data(source, value, origin)
    keys = labels.text_column(data.frame, by)
    totals = _positive(data.amounts.groupby(keys).sum())
    names, hidden_names = labels.largest_first(totals, top)
    if split is None:
        layers = [_Layer("", colors.series[0], [float(totals[name]) for name in names])]
        series_count = 0
    else:
        layers = _layers_of_column(data, split, keys=keys, names=names, colors=colors)
        series_count = len(layers)

    noun = by.replace("_", " ")
    heading = f"{data.unit.capitalize()} by {noun}"
    if split:
        heading += f" and {split}"
    heading = title or heading
    # Commits by 3 authors, but in 3 repositories.
    preposition = "by" if by.endswith("author") else "in"
    total = labels.format_amount(data.total, data.unit)
    counts = sentences(f"{total} {preposition} {count_of(len(totals), noun)}", data.query)
    limits = sentences(_hidden_text(hidden_names, totals, data.unit), data.limits)

    def draw() -> Any:
        figure, axes = new_sheet(colors, _AXIS_IN + _rows_in(names), heading, counts, limits)
        _draw_layers(axes, colors, layers)
        for row, name in enumerate(names):
            amount = float(totals[name])
            _annotate(axes, colors, text=labels.format_number(amount), x=amount, row=row)

        # Space for the number behind the longest bar.
        axes.margins(x=0.1)
        _finish_amounts(axes, colors, names, series=series_count)
        note_if_empty(axes, colors, data.unit, is_empty=not names)
        return figure

    summary = f"{names[0]} has the largest number" if names else "there are none"
    return Figure(name="bars", title=heading, description=f"Bars of {data.unit} by {by}: {summary}.", draw=draw)


@follows_theme
def ownership(
    source: Any,
    *,
    by: str | None = None,
    value: str | None = None,
    origin: Any = None,
    top: int = 15,
    title: str | None = None,
    theme: ThemeName | None = None,
) -> Figure:
    """Draw how authors share the lines of each directory; of a single directory, the lines of each author.

    Parameters
    ----------
    source
        A frame of `Client.ownership`, of `contributors` or `churn` by author, or of ``code.blame()``.
    by
        Column with a bar for each of its values; None: directory, path or repository, the first with several values.
    value
        Column to add up; None: lines or commits, if there is one of these, else rows.
    top
        Maximum number of bars; the largest amounts are drawn.
    origin, title, theme
        As for `bars`.

    Returns
    -------
    Figure
        Displays itself in a notebook; `Figure.save` writes it.
    """
    colors = theme_of(theme)
    data = plot_data(source, value, origin)
    author_column = _author_column(data.frame)
    authors = labels.text_column(data.frame, author_column)
    author_totals = _positive(data.amounts.groupby(authors).sum())

    unit = data.unit
    # A row with blame is a line: counting it as a match would name the unit of the search, not of the figure.
    if author_column == "blame_author" and unit in {"matches", "rows"}:
        unit = "lines"
    scope = _repository_text(data.frame)
    column = _bar_column(data.frame, by)
    if column is None:
        return _author_bars(colors, data, totals=author_totals, unit=unit, scope=scope, top=top, title=title)

    keys = labels.text_column(data.frame, column)
    totals = _positive(data.amounts.groupby(keys).sum())
    amounts = data.amounts.groupby([keys, authors]).sum()
    names, hidden_names = labels.largest_first(totals, top)
    heads, tail = labels.largest_first(author_totals, len(colors.series))

    def shares_of(members: Sequence[str]) -> list[float]:
        shares = []
        for name in names:
            row = amounts[name]
            # By `isin`: an author without lines in a directory has no entry there, and a lookup would fail.
            amount = float(row[row.index.isin(members)].sum())
            shares.append(100 * amount / float(totals[name]))
        return shares

    layers = _layers(colors, heads, tail, shares_of)
    noun = column
    # Paths of directories end so.
    if column == "path" and all(name.endswith(("/", "/*")) for name in names):
        noun = "directory"
    heading = title or f"{unit.capitalize()} by {noun} and author"
    total = labels.format_amount(data.total, unit)
    counts = sentences(f"Shares of the {unit}{scope}: {total} by {count_of(len(author_totals), 'author')}", data.query)
    limits = sentences(_hidden_text(hidden_names, totals, unit), data.limits)

    def draw() -> Any:
        figure, axes = new_sheet(colors, _SHARES_AXIS_IN + _rows_in(names), heading, counts, limits)
        _draw_layers(axes, colors, layers)
        for row, name in enumerate(names):
            _annotate(axes, colors, text=labels.format_amount(float(totals[name]), unit), x=100, row=row)

        axes.set_xlim(0, 100)
        axes.set_xticks(range(0, 101, 25), [f"{percent} %" for percent in range(0, 101, 25)])
        _finish_rows(axes, colors, names, series=max(len(layers), 2))
        note_if_empty(axes, colors, unit, is_empty=not names)
        return figure

    summary = f"{heads[0]} has the largest share" if heads else "there are none"
    return Figure(
        name="ownership",
        title=heading,
        description=f"Bars of {column} divided by author: {summary} of all {unit}.",
        draw=draw,
    )


def _repository_text(frame: DataFrame) -> str:
    """Return the words that name the repository of a frame; empty if it has several, or none."""
    if "repository" not in frame.columns:
        return ""
    repositories = frame["repository"].dropna().unique()
    if len(repositories) != 1:
        return ""
    return f" of {repositories[0]}"


def _bar_column(frame: DataFrame, by: str | None) -> str | None:
    """Return the column with a bar for each of its values: `by`, else the first with several, or None without one."""
    if by:
        return by
    for name in ("directory", "path", "repository"):
        if name in frame.columns and len(frame[name].dropna().unique()) > 1:
            return name
    return None


def _author_column(frame: DataFrame) -> str:
    """Return the column of authors; blame's comes first, since matched lines have an empty `author`."""
    names = [name for name in ("blame_author", "last_author", "author") if name in frame.columns]
    for name in names:
        if frame[name].notna().any():
            return name
    return names[-1] if names else "author"


def _author_bars(
    colors: Theme, data: PlotData, *, totals: Series[Any], unit: str, scope: str, top: int, title: str | None
) -> Figure:
    names, hidden_names = labels.largest_first(totals, top)
    total = float(totals.sum())
    heading = title or f"{unit.capitalize()} by author"
    counts = sentences(f"{labels.format_amount(total, unit)}{scope} by {count_of(len(totals), 'author')}", data.query)
    limits = sentences(_hidden_text(hidden_names, totals, unit, "author"), data.limits)

    def draw() -> Any:
        figure, axes = new_sheet(colors, _AXIS_IN + _rows_in(names), heading, counts, limits)
        _draw_layers(axes, colors, [_Layer("", colors.series[0], [float(totals[name]) for name in names])])
        for row, name in enumerate(names):
            amount = float(totals[name])
            _annotate(
                axes, colors, text=f"{labels.format_number(amount)}  ({_percent(amount / total)})", x=amount, row=row
            )

        # Space for the number and the share behind the longest bar.
        axes.margins(x=0.14)
        _finish_amounts(axes, colors, names, series=0)
        note_if_empty(axes, colors, unit, is_empty=not names)
        return figure

    summary = f"{names[0]} has the largest number" if names else "there are none"
    return Figure(name="ownership", title=heading, description=f"Bars of {unit} by author: {summary}.", draw=draw)


def _rows_in(names: Sequence[str]) -> float:
    """Return the height of the rows of a sheet, in inches."""
    return _ROW_IN * max(len(names), _MIN_ROWS)


class _Layer(NamedTuple):
    """One series of stacked bars: a width for each row."""

    label: str
    color: str
    widths: Sequence[float]


def _layers_of_column(
    data: PlotData, column: str, *, keys: Series[Any], names: Sequence[str], colors: Theme
) -> list[_Layer]:
    """Return the layers of bars that a column divides; `keys` is the bar of each row, `names` are the bars."""
    groups = labels.text_column(data.frame, column)
    amounts = data.amounts.groupby([keys, groups]).sum()
    # The same heads for all bars, so that a color means one value in the whole figure.
    heads, tail = labels.largest_first(_positive(data.amounts.groupby(groups).sum()), len(colors.series))

    def amounts_of(members: Sequence[str]) -> list[float]:
        widths = []
        for name in names:
            widths.append(sum(float(amounts.get((name, member), 0)) for member in members))
        return widths

    return _layers(colors, heads, tail, amounts_of)


def _layers(
    colors: Theme, heads: Sequence[str], tail: Sequence[str], widths_of: Callable[[Sequence[str]], Sequence[float]]
) -> list[_Layer]:
    """Return a layer for each head and one for all others."""
    layers = []
    for name, color in zip(heads, colors.series, strict=False):
        layers.append(_Layer(labels.short_label(name, _LABEL_CHARS), color, widths_of([name])))
    if tail:
        layers.append(_Layer(labels.others_label(len(tail)), colors.rest, widths_of(list(tail))))
    return layers


def _draw_layers(axes: Any, colors: Theme, layers: Sequence[_Layer]) -> None:
    if not layers:
        return

    style: dict[str, Any] = {}
    if len(layers) > 1:
        # A line of the background between the parts of a bar.
        style = {"edgecolor": colors.background, "linewidth": 0.6}

    lefts = [0.0] * len(layers[0].widths)
    rows = range(len(lefts))
    for layer in layers:
        axes.barh(rows, layer.widths, left=lefts, color=layer.color, height=_BAR_HEIGHT, label=layer.label, **style)
        lefts = [left + width for left, width in zip(lefts, layer.widths, strict=True)]


def _annotate(axes: Any, colors: Theme, *, text: str, x: float, row: int) -> None:
    """Write a text behind the bar of a row, which ends at `x`."""
    axes.annotate(
        text,
        (x, row),
        xytext=(5, 0),
        textcoords="offset points",
        fontsize=8.5,
        va="center",
        color=colors.muted,
        annotation_clip=False,
    )


def _finish_amounts(axes: Any, colors: Theme, names: Sequence[str], *, series: int) -> None:
    axes.set_xlim(left=0)
    use_whole_numbers(axes.xaxis)
    _finish_rows(axes, colors, names, series=series)


def _finish_rows(axes: Any, colors: Theme, names: Sequence[str], *, series: int) -> None:
    axes.set_yticks(range(len(names)), [labels.short_label(name) for name in names], parse_math=False)
    axes.set_ylim(max(len(names), _MIN_ROWS) - 0.45, -0.55)
    style_axes(axes, colors, grid="x", series=series)
    axes.tick_params(axis="y", labelcolor=colors.text)


def _positive(totals: Series[Any]) -> Series[Any]:
    return totals[totals > 0]


def _hidden_text(names: Sequence[str], totals: Series[Any], unit: str, noun: str = "") -> str:
    if not names:
        return ""
    hidden = f"{len(names):,} more"
    if noun:
        hidden += f" {noun if len(names) == 1 else plural(noun)}"
    amount = labels.format_amount(sum(float(totals[name]) for name in names), unit)
    return f"Not shown: {hidden} with {amount}"


def _percent(share: float) -> str:
    """Return a share in percent; a small one is not shown as 0%."""
    if 0 < share < 0.005:
        return "<1%"
    return f"{share:.0%}"
