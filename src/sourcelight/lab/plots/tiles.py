"""Treemaps: directories as tiles whose area is an amount.

Directories form groups, such as repositories. The sheet is divided among the groups, then each group among its tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sourcelight.core.markup import count_of
from sourcelight.lab.plots.data import PlotData, plot_data, sentences
from sourcelight.lab.plots.figure import Figure, follows_theme
from sourcelight.lab.plots.labels import format_amount, format_number, largest_first, short_label, text_column
from sourcelight.lab.plots.sheet import WIDTH_IN, new_sheet, note_if_empty
from sourcelight.lab.plots.themes import Theme, ThemeName, mix_colors, text_on, theme_of

Box = tuple[float, float, float, float]
"""Left, top, width and height of a tile, in units of the drawing: 100 wide, 56 high."""

_WIDTH, _HEIGHT = 100.0, 56.0
_SHEET_HEIGHT_IN = 5.2
"""Size of the drawing in units of its own, and the height of the axes in inches."""

# Heights and distances in units of the drawing. A tile with less space has no label, or no number below it.
_HEADING_HEIGHT = 3.0
_LINE_HEIGHT = 2.0
_MIN_LABEL_HEIGHT = 2.4
_MIN_NUMBER_HEIGHT = 4.8
_PADDING = 1.2
_INDENT = 0.6

_LABEL_PT, _NUMBER_PT, _HEADING_PT = 8.0, 7.5, 9.0
_MIN_LABEL_CHARS = 6
_MIN_SHEET_SHARE = 0.95
"""Share of the width of the sheet that the tiles take at least."""

_MIN_STRENGTH = 0.55
"""Strength of the color of the smallest tile of a group; the largest has 1."""

_TOP = "/*"
_MAX_TILES = 150
"""Tiles of a figure; smaller ones would be too small for a name."""


@follows_theme
def treemap(
    source: Any,
    *,
    depth: int = 2,
    value: str | None = None,
    origin: Any = None,
    title: str | None = None,
    theme: ThemeName | None = None,
) -> Figure:
    """Draw directories as tiles whose area is their number of matches (lines, commits, changes).

    Tiles form groups: by repository, if there are several, else by top directory. The rank of a group gives its
    color. A note below counts the tiles that are too small for a name.

    Parameters
    ----------
    source
        A `SearchResult`, or a frame with `path` or `directory`.
    depth
        Number of names by which directories are grouped: 2 for ``src/api``.
    value, origin, title, theme
        As for `bars`.

    Returns
    -------
    Figure
        Displays itself in a notebook; `Figure.save` writes it.
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}")

    colors, data = theme_of(theme), plot_data(source, value, origin)
    column = _path_column(data)
    totals = _totals(data, column, depth)
    totals = totals[totals > 0].sort_values(ascending=False, kind="stable")
    largest = totals.iloc[:_MAX_TILES]
    group_totals = largest.groupby(level=0).sum()
    group_names, _ = largest_first(group_totals, len(group_totals))

    heading = title or f"{data.unit.capitalize()} by directory"
    total = format_amount(float(totals.sum()), data.unit)
    counts = sentences(f"{total} in {count_of(len(totals), 'directory')}, up to {depth} deep", data.query)
    hidden_note = _hidden_note(totals.iloc[_MAX_TILES:], data.unit)
    pathless = int(data.frame[column].isna().sum())
    pathless_note = f"{count_of(pathless, 'row')} without a path" if pathless else ""

    # A figure is drawn when it is displayed or saved. Which labels fit is known only then: that depends on the font.
    def draw() -> Any:
        boxes = squarify([float(group_totals[name]) for name in group_names], (0, 0, _WIDTH, _HEIGHT))
        groups: list[_Group] = []
        unlabeled = 0
        for name, box in zip(group_names, boxes, strict=True):
            members = [(str(directory), float(amount)) for directory, amount in largest[name].items()]
            tiles = list(_tiles(box, members, name))
            groups.append(_Group(box, _heading(box, name), tiles))
            unlabeled += sum(not tile.label for tile in tiles)

        small_note = f"{count_of(unlabeled, 'tile')} too small for a name" if unlabeled else ""
        notes = sentences(hidden_note, pathless_note, small_note, data.limits)
        figure, axes = new_sheet(colors, _SHEET_HEIGHT_IN, heading, counts, notes)
        for rank, group in enumerate(groups):
            color = colors.series[rank] if rank < len(colors.series) else colors.rest
            _draw_group(axes, colors, color, group)

        axes.set_xlim(0, _WIDTH)
        axes.set_ylim(_HEIGHT, 0)
        axes.set_axis_off()
        note_if_empty(axes, colors, data.unit, is_empty=not len(largest))
        return figure

    summary = f"{largest.index[0][1]} has the largest number" if len(largest) else "there are none"
    return Figure(
        name="treemap", title=heading, description=f"Tiles of directories by their {data.unit}: {summary}.", draw=draw
    )


def _hidden_note(hidden: Any, unit: str) -> str:
    if not len(hidden):
        return ""
    amount = format_amount(float(hidden.sum()), unit)
    return f"Not shown: {count_of(len(hidden), 'smaller directory')} with {amount}"


def _path_column(data: PlotData) -> str:
    """Return the column of paths: tables of several groupings have two, and fill the requested one."""
    names = [name for name in ("path", "directory") if name in data.frame.columns]
    for name in names:
        if data.frame[name].notna().any():
            return name
    return names[0] if names else "path"


def _totals(data: PlotData, column: str, depth: int) -> Any:
    """Return the amounts by group and directory, of rows with a path."""
    has_path = data.frame[column].notna()
    directories = text_column(data.frame, column)[has_path].map(lambda path: _directory(path, depth))
    groups = directories.map(_top_directory)
    if "repository" in data.frame.columns:
        repositories = text_column(data.frame, "repository")[has_path]
        if repositories.nunique() > 1:
            groups = repositories

    return data.amounts[has_path].groupby([groups, directories]).sum()


class _Tile(NamedTuple):
    """A tile with its texts; `strength` is its amount as a share of the largest of its group."""

    box: Box
    label: str
    number: str
    strength: float


class _Group(NamedTuple):
    """The tiles of a repository or top directory; the heading is empty where there is no space for one."""

    box: Box
    heading: str
    tiles: Sequence[_Tile]


def _top_directory(directory: str) -> str:
    return _TOP if directory == _TOP else directory.split("/", maxsplit=1)[0] + "/"


def _directory(path: str, depth: int) -> str:
    """Return the directory of a path, at most so deep; ``/*`` for files at the top, as in tables."""
    names = path.strip("/").split("/")
    directories = names if path.endswith("/") else names[:-1]
    if directories and directories != [""]:
        return "/".join(directories[:depth]) + "/"
    return _TOP


def _tiles(box: Box, members: Sequence[tuple[str, float]], group: str) -> Iterator[_Tile]:
    """Yield the tiles of a group, below its heading."""
    if _heading(box, group):
        x, y, width, height = box
        box = x, y + _HEADING_HEIGHT, width, height - _HEADING_HEIGHT

    amounts = [amount for _, amount in members]
    max_amount = max(amounts, default=1.0)
    for (name, amount), tile_box in zip(members, squarify(amounts, box), strict=True):
        _, _, width, height = tile_box
        text = name.removeprefix(group) or name
        label = _fit_label(width, text.rstrip("/") or text) if height > _MIN_LABEL_HEIGHT else ""
        yield _Tile(box=tile_box, label=label, number=format_number(amount), strength=amount / max_amount)


def _draw_group(axes: Any, colors: Theme, color: str, group: _Group) -> None:
    if group.heading:
        x, y, _, _ = group.box
        axes.text(x + 0.5, y + _HEADING_HEIGHT / 2, group.heading, va="center", clip_on=True, weight="bold",
                  fontsize=_HEADING_PT, color=colors.text, parse_math=False)  # fmt: skip

    for tile in group.tiles:
        _draw_tile(axes, colors, color, tile)


def _draw_tile(axes: Any, colors: Theme, color: str, tile: _Tile) -> None:
    from matplotlib.patches import Rectangle

    x, y, width, height = tile.box
    fill = mix_colors(color, colors.background, _MIN_STRENGTH + (1 - _MIN_STRENGTH) * tile.strength)
    axes.add_patch(Rectangle((x, y), width, height, facecolor=fill, edgecolor=colors.background, linewidth=1.2))
    if tile.label:
        style = {"color": text_on(fill, colors), "va": "top", "parse_math": False, "clip_on": True}
        axes.text(x + _INDENT, y + 0.5, tile.label, fontsize=_LABEL_PT, **style)
        if height > _MIN_NUMBER_HEIGHT and text_width(tile.number, _NUMBER_PT) < width - _PADDING:
            axes.text(x + _INDENT, y + 0.6 + _LINE_HEIGHT, tile.number, fontsize=_NUMBER_PT, **style)


def _heading(box: Box, group: str) -> str:
    """Return the name of a group as its heading; empty if there is no space for a heading."""
    _, _, width, height = box
    if height > 2 * _HEADING_HEIGHT:
        return _fit_label(width, group, _HEADING_PT, "bold")
    return ""


def _fit_label(width: float, label: str, size_pt: float = _LABEL_PT, weight: str = "normal") -> str:
    """Return a label shortened to a width; empty where too little of it would be left."""
    available = width - _PADDING
    text = short_label(label, max(len(label), 4))
    while text_width(text, size_pt, weight) > available:
        chars = min(len(text) - 1, int(len(text) * available / text_width(text, size_pt, weight)))
        if chars < _MIN_LABEL_CHARS:
            return ""
        text = short_label(label, chars)

    return text


@lru_cache(maxsize=2_000)
def text_width(text: str, size_pt: float, weight: str = "normal") -> float:
    """Return the width of a text in units of the drawing, from the metrics of its font."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size_pt, weight=weight)
    width_pt, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width_pt) / (72 * WIDTH_IN * _MIN_SHEET_SHARE) * _WIDTH


def squarify(sizes: Sequence[float], box: Box) -> list[Box]:
    """Divide a box into boxes with areas as `sizes` (largest first), each as square as possible.

    Source: Bruls, Huizing, van Wijk: Squarified Treemaps (2000).
    """
    x, y, width, height = box
    total = sum(sizes)
    if not sizes or total <= 0 or width <= 0 or height <= 0:
        return [(x, y, 0.0, 0.0) for _ in sizes]

    areas = [size * width * height / total for size in sizes]
    boxes: list[Box] = []
    index = 0
    while index < len(areas):
        side = min(width, height)
        row = areas[index : index + 1]
        # A row along the shorter side grows as long as its tiles become more square, or stay as they are.
        while index + len(row) < len(areas):
            longer_row = areas[index : index + len(row) + 1]
            if _worst_ratio(longer_row, side) > _worst_ratio(row, side):
                break
            row = longer_row

        # Rounding may leave less than the areas of the last row need; a tile never leaves its box.
        thickness = min(sum(row) / side, max(width, height)) if side > 0 else 0.0
        offset = 0.0
        for area in row:
            length = area / thickness if thickness > 0 else 0.0
            is_column = width >= height
            boxes.append((x, y + offset, thickness, length) if is_column else (x + offset, y, length, thickness))
            offset += length

        if width >= height:
            x, width = x + thickness, width - thickness
        else:
            y, height = y + thickness, height - thickness

        index += len(row)

    return boxes


def _worst_ratio(row: Sequence[float], side: float) -> float:
    """Return the worst ratio of sides among areas laid along a side."""
    total = sum(row)
    if total <= 0 or side <= 0 or min(row) <= 0:
        return float("inf")
    return max(side**2 * max(row) / total**2, total**2 / (side**2 * min(row)))
