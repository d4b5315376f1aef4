"""Treemaps: directories as tiles whose area is an amount."""

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
_HEADING_HEIGHT = 3.0
_LINE_HEIGHT = 2.0
_PADDING = 1.2
_LABEL_PT, _NUMBER_PT, _HEADING_PT = 8.0, 7.5, 9.0
_MIN_LABEL_CHARS = 6
_MIN_SHEET_SHARE = 0.95  # of the sheet's width, which the tiles take at least
_TOP = "/*"
_MAX_TILES = 150


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
    has_path, totals = _totals(data, depth)
    totals = totals[totals > 0].sort_values(ascending=False, kind="stable")
    largest = totals.iloc[:_MAX_TILES]
    hidden = totals.iloc[_MAX_TILES:]
    group_totals = largest.groupby(level=0).sum()
    ordered_groups, _ = largest_first(group_totals, len(group_totals))
    words = title or f"{data.unit.capitalize()} by directory"
    total = format_amount(float(totals.sum()), data.unit)
    counts = sentences(f"{total} in {count_of(len(totals), 'directory')}, up to {depth} deep", data.query)
    hidden_amount = format_amount(float(hidden.sum()), data.unit)
    smaller = f"Not shown: {count_of(len(hidden), 'smaller directory')} with {hidden_amount}" if len(hidden) else ""
    pathless = int((~has_path).sum())
    without_path = f"{count_of(pathless, 'row')} without a path" if pathless else ""

    def draw() -> Any:
        boxes = squarify([float(group_totals[group]) for group in ordered_groups], (0, 0, _WIDTH, _HEIGHT))
        plans = []
        for group, box in zip(ordered_groups, boxes, strict=True):
            members = [(str(directory), float(amount)) for directory, amount in largest[group].items()]
            plans.append((group, box, list(_tiles(box, members, group))))

        unlabeled = sum(not tile.label for _, _, tiles in plans for tile in tiles)
        too_small = f"{count_of(unlabeled, 'tile')} too small for a name" if unlabeled else ""
        figure, axes = new_sheet(colors, 5.2, words, counts, sentences(smaller, without_path, too_small, data.limits))
        for rank, (group, box, tiles) in enumerate(plans):
            color = colors.series[rank] if rank < len(colors.series) else colors.rest
            _draw_group(axes, colors, color, _heading(box, group), box, tiles)

        axes.set_xlim(0, _WIDTH)
        axes.set_ylim(_HEIGHT, 0)
        axes.set_axis_off()
        note_if_empty(axes, colors, data.unit, is_empty=not len(largest))
        return figure

    summary = f"{largest.index[0][1]} has the largest number" if len(largest) else "there are none"
    return Figure(
        name="treemap", title=words, description=f"Tiles of directories by their {data.unit}: {summary}.", draw=draw
    )


def _totals(data: PlotData, depth: int) -> tuple[Any, Any]:
    """Return which rows have a path, and the amounts of these by group and directory."""
    names = [name for name in ("path", "directory") if name in data.frame.columns]
    # Tables of several groupings have both columns, and fill the requested one.
    column = next((name for name in names if data.frame[name].notna().any()), names[0] if names else "path")
    has_path = data.frame[column].notna()
    directories = text_column(data.frame, column)[has_path].map(lambda path: _directory(path, depth))
    groups = directories.map(lambda directory: _TOP if directory == _TOP else directory.split("/")[0] + "/")
    if "repository" in data.frame.columns:
        repositories = text_column(data.frame, "repository")[has_path]
        groups = repositories if repositories.nunique() > 1 else groups

    return has_path, data.amounts[has_path].groupby([groups, directories]).sum()


class _Tile(NamedTuple):
    """A tile with its texts; `strength` is its amount as a share of the largest of its group."""

    box: Box
    label: str
    number: str
    strength: float


def _directory(path: str, depth: int) -> str:
    """Return the directory of a path, at most so deep; ``/*`` for files at the top, as in tables."""
    names = path.strip("/").split("/")
    directories = names if path.endswith("/") else names[:-1]
    if directories and directories != [""]:
        return "/".join(directories[:depth]) + "/"
    return _TOP


def _tiles(box: Box, members: Sequence[tuple[str, float]], group: str) -> Iterator[_Tile]:
    """Yield the tiles of a group, below its heading."""
    x, y, width, height = box
    inner = (x, y + _HEADING_HEIGHT, width, height - _HEADING_HEIGHT) if _heading(box, group) else box
    max_amount = max((amount for _, amount in members), default=1.0)
    for (name, amount), tile in zip(members, squarify([amount for _, amount in members], inner), strict=True):
        text = name.removeprefix(group) or name
        label = _fit_label(tile[2], text.rstrip("/") or text) if tile[3] > _LINE_HEIGHT + 0.4 else ""
        yield _Tile(box=tile, label=label, number=format_number(amount), strength=amount / max_amount)


def _draw_group(axes: Any, colors: Theme, color: str, heading: str, box: Box, tiles: Sequence[_Tile]) -> None:
    from matplotlib.patches import Rectangle

    if heading:
        axes.text(box[0] + 0.5, box[1] + _HEADING_HEIGHT / 2, heading, va="center", clip_on=True, weight="bold",
                  fontsize=_HEADING_PT, color=colors.text, parse_math=False)  # fmt: skip

    for (x, y, width, height), label, number, strength in tiles:
        fill = mix_colors(color, colors.background, 0.55 + 0.45 * strength)
        axes.add_patch(Rectangle((x, y), width, height, facecolor=fill, edgecolor=colors.background, linewidth=1.2))
        if label:
            style = {"color": text_on(fill, colors), "va": "top", "parse_math": False, "clip_on": True}
            axes.text(x + 0.6, y + 0.5, label, fontsize=_LABEL_PT, **style)
            if height > 2.4 * _LINE_HEIGHT and text_width(number, _NUMBER_PT) < width - _PADDING:
                axes.text(x + 0.6, y + 0.6 + _LINE_HEIGHT, number, fontsize=_NUMBER_PT, **style)


def _heading(box: Box, group: str) -> str:
    """Return the name of a group as its heading; empty if there is no space for a heading."""
    if box[3] > 2 * _HEADING_HEIGHT:
        return _fit_label(box[2], group, _HEADING_PT, "bold")
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
        end = index + 1
        while end < len(areas) and _worst_ratio(areas[index : end + 1], side) <= _worst_ratio(areas[index:end], side):
            end += 1

        row = areas[index:end]
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

        index = end

    return boxes


def _worst_ratio(row: Sequence[float], side: float) -> float:
    """Return the worst ratio of sides among areas laid along a side."""
    total = sum(row)
    if total <= 0 or side <= 0 or min(row) <= 0:
        return float("inf")
    return max(side**2 * max(row) / total**2, total**2 / (side**2 * min(row)))
