"""Folders as tiles: the larger, the more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from sourcelight.lab.plots.figure import (
    WIDTH_IN,
    Figure,
    ThemeName,
    column_of,
    head_and_rest,
    number,
    sentences,
    sheet,
    short,
    source_of,
    text_on,
    theme_of,
)

Box = tuple[float, float, float, float]
_WIDE, _HIGH = 100.0, 56.0
_STRIP = 3.0
_LINE = 2.0
_LABEL_PT, _NUMBER_PT, _HEADING_PT = 8.0, 7.5, 9.0
_PADDING = 1.2
_SHORTEST = 6
_SHEET_PART = 0.95
"""Part of a sheet's width that the tiles take at least."""
_MOST_TILES = 150


def treemap(
    source: Any,
    *,
    depth: int = 2,
    value: str | None = None,
    title: str | None = None,
    theme: ThemeName = "light",
) -> Figure:
    """Draw folders as tiles whose area is their number of matches (lines, commits, changes).

    Tiles stand in groups: of a repository, where there are several, else of a folder at the top. A group is coloured
    by its rank; what has no room for its name is counted below.

    Parameters
    ----------
    source
        A `SearchResult`, or a frame with `path` or `directory`.
    depth
        How many names deep folders are told apart.
    value, title, theme
        As for `matches`.
    """
    if depth < 1:
        raise ValueError(f"depth is at least 1, not {depth}")
    look, drawn = theme_of(theme), source_of(source, value)
    name = "path" if "path" in drawn.frame.columns else "directory"
    has = drawn.frame[name].notna()
    paths, values = column_of(drawn.frame, name)[has], drawn.amounts[has]
    repositories = column_of(drawn.frame, "repository")[has] if "repository" in drawn.frame.columns else None
    several = repositories is not None and repositories.nunique() > 1
    folders = paths.map(lambda path: _folder(path, depth))
    groups = (
        repositories if several and repositories is not None else folders.map(lambda folder: folder.split("/")[0] + "/")
    )
    totals = values.groupby([groups, folders]).sum()
    totals = totals[totals > 0].sort_values(ascending=False, kind="stable")
    whole = float(totals.sum())
    shown = totals.iloc[:_MOST_TILES]
    of_groups = shown.groupby(level=0).sum()
    ordered, _ = head_and_rest(of_groups, len(of_groups))
    words = title or f"{drawn.unit.capitalize()} by folder"
    counted = sentences(f"{number(whole)} {drawn.unit} in {len(totals):,} folders, up to {depth} deep", drawn.told)
    cut = totals.iloc[_MOST_TILES:]
    left = f"Not shown: {len(cut):,} smaller folders with {number(float(cut.sum()))} {drawn.unit}" if len(cut) else ""
    pathless = int((~has).sum())
    no_path = f"{pathless:,} rows without a path" if pathless else ""

    def draw() -> Any:
        from matplotlib.patches import Rectangle

        boxes = squares([float(of_groups[group]) for group in ordered], (0, 0, _WIDE, _HIGH))
        tiles = [
            (group, box, [(str(folder), float(amount)) for folder, amount in shown[group].items()])
            for group, box in zip(ordered, boxes, strict=True)
        ]
        plans = [(rank, group, box, list(_planned(box, members, group)))
                 for rank, (group, box, members) in enumerate(tiles)]  # fmt: skip
        nameless = sum(not label for _, _, _, plan in plans for _, label, _, _ in plan)
        unnamed = f"{nameless:,} tiles are too small for their names" if nameless else ""
        figure, axes = sheet(look, 5.2, words, counted, sentences(left, no_path, unnamed, drawn.limits))
        for rank, group, box, plan in plans:
            colour = look.series[rank] if rank < len(look.series) else look.rest
            heading = _heading(box, group)
            if heading:
                style = {"fontsize": _HEADING_PT, "weight": "bold", "color": look.text, "parse_math": False}
                axes.text(box[0] + 0.5, box[1] + _STRIP / 2, heading, va="center", clip_on=True, **style)
            for (x, y, w, h), label, amount, strength in plan:
                fill = _mixed(colour, look.background, 0.55 + 0.45 * strength)
                axes.add_patch(Rectangle((x, y), w, h, facecolor=fill, edgecolor=look.background, linewidth=1.2))
                if label:
                    style = {"color": text_on(fill, look), "va": "top", "parse_math": False}
                    axes.text(x + 0.6, y + 0.5, label, fontsize=_LABEL_PT, clip_on=True, **style)
                    if h > 2.4 * _LINE and text_width(amount, _NUMBER_PT) < w - _PADDING:
                        axes.text(x + 0.6, y + 0.6 + _LINE, amount, fontsize=_NUMBER_PT, **style)
        axes.set_xlim(0, _WIDE)
        axes.set_ylim(_HIGH, 0)
        axes.set_axis_off()
        return figure

    largest = f"{shown.index[0][1]} has the most" if len(shown) else "there are none"
    return Figure("treemap", words, f"Tiles of folders by their {drawn.unit}: {largest}.", draw)


def _folder(path: str, depth: int) -> str:
    """The folder of a path, at most so deep; ``/`` for files at the top."""
    names = path.strip("/").split("/")
    folders = names if path.endswith("/") else names[:-1]
    return "/".join(folders[:depth]) + "/" if folders and folders != [""] else "/"


def _planned(box: Box, members: Sequence[tuple[str, float]], group: str) -> Iterator[tuple[Box, str, str, float]]:
    """Tiles of a group below its heading: box, label, number, and how strong the colour is."""
    x, y, w, h = box
    inner = (x, y + _STRIP, w, h - _STRIP) if _heading(box, group) else box
    most = max((amount for _, amount in members), default=1.0)
    for (name, amount), tile in zip(members, squares([a for _, a in members], inner), strict=True):
        words = name.removeprefix(group) or name
        label = _fits(tile[2], words.rstrip("/") or words) if tile[3] > _LINE + 0.4 else ""
        yield tile, label, number(amount), amount / most


def _heading(box: Box, group: str) -> str:
    """The name of a group above its tiles; empty where there is no room."""
    return _fits(box[2], group, _HEADING_PT, "bold") if box[3] > 2 * _STRIP else ""


def _fits(width: float, label: str, size_pt: float = _LABEL_PT, weight: str = "normal") -> str:
    """A label for a tile, shortened to its width; empty where no part of it would say anything."""
    room = width - _PADDING
    shown = short(label, max(len(label), 4))
    while text_width(shown, size_pt, weight) > room:
        count = min(len(shown) - 1, int(len(shown) * room / text_width(shown, size_pt, weight)))
        if count < _SHORTEST:
            return ""
        shown = short(label, count)
    return shown


@lru_cache(maxsize=2_000)
def text_width(text: str, size_pt: float, weight: str = "normal") -> float:
    """Width of a text on the sheet, in units of the tiles: letters are not all as wide as each other."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size_pt, weight=weight)
    width_pt, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width_pt) / (72 * WIDTH_IN * _SHEET_PART) * _WIDE


def _mixed(colour: str, other: str, part: float) -> str:
    """A colour with `part` of the first and the rest of the second."""
    mixed = (round(int(colour[i : i + 2], 16) * part + int(other[i : i + 2], 16) * (1 - part)) for i in (1, 3, 5))
    return "#" + "".join(f"{each:02X}" for each in mixed)


def squares(sizes: Sequence[float], box: Box) -> list[Box]:
    """Boxes within a box with areas as `sizes` (largest first), each as square as can be.

    Source: Bruls, Huizing, van Wijk: Squarified Treemaps (2000).
    """
    x, y, w, h = box
    whole = sum(sizes)
    if not sizes or whole <= 0 or w <= 0 or h <= 0:
        return [(x, y, 0.0, 0.0) for _ in sizes]
    scale = w * h / whole
    areas = [size * scale for size in sizes]
    found: list[Box] = []
    at = 0
    while at < len(areas):
        side = min(w, h)
        row = [areas[at]]
        while at + len(row) < len(areas) and _worst([*row, areas[at + len(row)]], side) <= _worst(row, side):
            row.append(areas[at + len(row)])
        # What is left may be less than its area asks for by an error of rounding: a tile never leaves the box.
        thick = min(sum(row) / side, max(w, h)) if side > 0 else 0.0
        along = 0.0
        for area in row:
            length = area / thick if thick > 0 else 0.0
            found.append((x, y + along, thick, length) if w >= h else (x + along, y, length, thick))
            along += length
        x, y, w, h = (x + thick, y, w - thick, h) if w >= h else (x, y + thick, w, h - thick)
        at += len(row)
    return found


def _worst(row: Sequence[float], side: float) -> float:
    """The worst ratio of sides in a row of areas along a side."""
    total = sum(row)
    if total <= 0 or side <= 0:
        return float("inf")
    return max(side**2 * max(row) / total**2, total**2 / (side**2 * min(row)) if min(row) > 0 else float("inf"))
