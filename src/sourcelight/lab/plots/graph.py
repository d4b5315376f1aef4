"""Dependency graphs: names around a circle, with an arrow from each importer to each import.

The order around the circle puts names next to each other that import each other, so that most arrows are short.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sourcelight.core.markup import count_of
from sourcelight.lab.plots.data import sentences
from sourcelight.lab.plots.figure import Figure, follows_theme
from sourcelight.lab.plots.labels import format_number, short_label
from sourcelight.lab.plots.sheet import new_sheet
from sourcelight.lab.plots.themes import Theme, ThemeName, theme_of

# Sizes in units of the drawing, whose circle has the radius 1; labels are outside of it.
_RADIUS = 1.0
_LABEL_RADIUS = 1.06
_X_LIMIT = 2.3
_Y_LIMIT = 1.85
_FLAT_Y_LIMIT = 0.65
"""Half of the width and height that the axes show: labels need room beside the circle, and few of them no height."""

_HEIGHT_IN = 7.4
_FLAT_HEIGHT_IN = 2.6
"""Height of the axes in inches, and their height if all labels are at the sides."""

_LABEL_CHARS = 30
"""Characters of a label."""

_MAX_FLAT_NAMES = 2
"""Names that are drawn side by side: one on top of the other, their labels would be vertical."""

_MIN_ARROW_PT = 0.7
_MORE_ARROW_PT = 3.6
"""Width of the thinnest arrow, and what the thickest has in addition."""

_DECAY = 0.6
"""Weight of imports of a name one step farther away in the order."""


@follows_theme
def dependencies(
    graph: Any,
    *,
    external: bool = False,
    top: int = 36,
    title: str | None = None,
    theme: ThemeName | None = None,
) -> Figure:
    """Draw which repositories import each other; thicker arrows mean more imports.

    Parameters
    ----------
    graph
        The graph of `Client.dependency_graph`, or a frame with its edges.
    external
        Whether to draw modules that are in none of the repositories.
    top
        Maximum number of names; names with the most imports in both directions are drawn, and a note counts the rest.
    title, theme
        As for `bars`.

    Returns
    -------
    Figure
        Displays itself in a notebook; `Figure.save` writes it.
    """
    import pandas as pd

    all_edges: Any = graph if isinstance(graph, pd.DataFrame) else graph.edges
    edges = all_edges
    if not external:
        edges = all_edges[~all_edges["external"].astype("bool")]

    repositories = [str(name) for name in all_edges.attrs.get("repositories", ())]
    external_names = set(edges.loc[edges["external"].astype("bool"), "target"].astype("str"))
    external_names.difference_update(repositories)

    pairs = _imports_between(edges)
    weights = _weights(pairs)
    by_weight = sorted(weights, key=lambda name: (-weights[name], name))
    names = _circle_order(sorted(by_weight[:top]), pairs)
    arrows = _arrows_between(set(names), pairs)
    colors = theme_of(theme)
    circle = _Circle(names, arrows, _colors_of(colors, by_weight, external_names), external_names)

    heading = title or "Dependencies between repositories"
    imports = format_number(sum(arrow.imports for arrow in arrows))
    counts = f"{imports} imports in {count_of(len(arrows), 'pair')} of {count_of(len(names), 'name')}"
    legend = "An arrow leads from the importer to the imported repository; thicker arrows mean more imports"
    limits = _limits(
        all_edges,
        hidden_names=len(by_weight) - len(names),
        hidden_imports=int(all_edges["imports"].sum()) - int(edges["imports"].sum()),
        unconnected=sum(name not in weights for name in repositories),
    )

    def draw() -> Any:
        height_in = _FLAT_HEIGHT_IN if circle.is_flat else _HEIGHT_IN
        figure, axes = new_sheet(colors, height_in, heading, sentences(counts, legend), limits)
        circle.draw(axes, colors)
        if not names:
            axes.text(0, 0, "No repository imports another", color=colors.muted, ha="center")
        return figure

    return Figure(
        name="dependencies",
        title=heading,
        description=f"Names around a circle with arrows between them: {counts}.",
        draw=draw,
    )


def _limits(all_edges: Any, *, hidden_names: int, hidden_imports: int, unconnected: int) -> str:
    """Return the sentences about what a figure leaves out."""
    notes: list[str] = []
    if hidden_names:
        notes.append(f"Not shown: {count_of(hidden_names, 'name')} with fewer imports")
    if hidden_imports:
        notes.append(f"{count_of(hidden_imports, 'import')} of modules that are in none of the repositories")
    if unconnected:
        notes.append(f"{count_of(unconnected, 'repository')} without an import of another")
    if all_edges.attrs.get("status") == "limited":
        notes.append("; ".join(all_edges.attrs.get("notices", ())))
    return sentences(*notes)


def _imports_between(edges: Any) -> Any:
    """Return the number of imports of each pair of different names."""
    pairs = edges.assign(source=edges["source"].astype("str"), target=edges["target"].astype("str"))
    return pairs[pairs["source"] != pairs["target"]].groupby(["source", "target"])["imports"].sum()


def _weights(pairs: Any) -> dict[str, float]:
    """Return the number of imports of each name, in both directions."""
    weights: dict[str, float] = {}
    for (source, target), count in pairs.items():
        weights[source] = weights.get(source, 0.0) + float(count)
        weights[target] = weights.get(target, 0.0) + float(count)
    return weights


def _arrows_between(names: set[str], pairs: Any) -> list[_Arrow]:
    """Return an arrow for each pair of `names`."""
    arrows: list[_Arrow] = []
    for (source, target), count in pairs.items():
        if source in names and target in names:
            arrows.append(_Arrow(source, target, float(count)))
    return arrows


def _colors_of(colors: Theme, by_weight: list[str], external_names: set[str]) -> dict[str, str]:
    """Return the color of each name: one for each of the repositories with the most imports, one for all others."""
    color_of = dict.fromkeys(external_names, colors.rest)
    repositories = [name for name in by_weight if name not in external_names]
    for index, name in enumerate(repositories):
        color_of[name] = colors.series[index] if index < len(colors.series) else colors.rest
    return color_of


@dataclass(frozen=True, slots=True)
class _Arrow:
    """The imports of one name by another."""

    source: str
    target: str
    imports: float


@dataclass(frozen=True, slots=True)
class _Circle:
    """Names around a circle, with arrows between them."""

    names: list[str]
    arrows: list[_Arrow]
    color_of: dict[str, str]
    external_names: set[str]

    @property
    def is_flat(self) -> bool:
        """Whether its names are drawn side by side."""
        return len(self.names) <= _MAX_FLAT_NAMES

    def draw(self, axes: Any, colors: Theme) -> None:
        """Draw the arrows, and the names above them."""
        first_angle = 0.0 if self.is_flat else math.pi / 2
        step = 2 * math.pi / max(len(self.names), 1)
        angles: dict[str, float] = {}
        points: dict[str, tuple[float, float]] = {}
        for index, name in enumerate(self.names):
            angle = index * step + first_angle
            angles[name] = angle
            points[name] = (_RADIUS * math.cos(angle), _RADIUS * math.sin(angle))

        self._draw_arrows(axes, points)
        for name, angle in angles.items():
            self._draw_name(axes, colors, name=name, degrees=math.degrees(angle) % 360, point=points[name])

        y_limit = _FLAT_Y_LIMIT if self.is_flat else _Y_LIMIT
        axes.set_xlim(-_X_LIMIT, _X_LIMIT)
        axes.set_ylim(-y_limit, y_limit)
        axes.set_aspect("equal")
        axes.set_axis_off()

    def _draw_arrows(self, axes: Any, points: dict[str, tuple[float, float]]) -> None:
        from matplotlib.patches import FancyArrowPatch

        max_imports = max((arrow.imports for arrow in self.arrows), default=1.0)
        # Thick arrows come last, above the thin ones.
        for arrow in sorted(self.arrows, key=lambda arrow: arrow.imports):
            width = _MIN_ARROW_PT + _MORE_ARROW_PT * math.sqrt(arrow.imports / max_imports)
            axes.add_patch(FancyArrowPatch(
                points[arrow.source], points[arrow.target], arrowstyle="-|>", mutation_scale=7 + 2.2 * width,
                linewidth=width, connectionstyle="arc3,rad=0.22", color=self.color_of[arrow.source], alpha=0.78,
                shrinkA=5, shrinkB=6,
            ))  # fmt: skip

    def _draw_name(self, axes: Any, colors: Theme, *, name: str, degrees: float, point: tuple[float, float]) -> None:
        x, y = point
        fill = colors.background if name in self.external_names else self.color_of[name]
        axes.scatter([x], [y], s=46, color=fill, edgecolors=self.color_of[name], linewidths=1.6, zorder=3)
        # Labels point away from the circle; on its left side they are turned, so that none is upside down.
        is_left_side = 90 < degrees < 270
        rotation = degrees + 180 if is_left_side else degrees
        axes.text(_LABEL_RADIUS * x, _LABEL_RADIUS * y, short_label(name, _LABEL_CHARS), fontsize=8.5,
                  color=colors.text, parse_math=False, rotation=rotation, rotation_mode="anchor",
                  va="center", ha="right" if is_left_side else "left")  # fmt: skip


def _circle_order(names: list[str], pairs: Any) -> list[str]:
    """Return names in an order that keeps most arrows short: each next to its partner with the most imports.

    The order begins with the name that has the most imports, and goes on with the name that has the most imports with
    the last ones. The best order of all would take a search through too many.
    """
    if not names:
        return []

    # Imports of each pair in both directions together.
    links: dict[tuple[str, str], float] = {}
    for (source, target), count in pairs.items():
        total = links.get((source, target), 0.0) + float(count)
        links[source, target] = total
        links[target, source] = total

    totals: dict[str, float] = {}
    for name in names:
        totals[name] = sum(links.get((name, neighbor), 0.0) for neighbor in names)

    order = [max(names, key=lambda name: (totals[name], name))]
    remaining = [name for name in names if name != order[0]]
    while remaining:
        nearness = {name: _DECAY**distance for distance, name in enumerate(reversed(order))}
        attractions: dict[str, float] = {}
        for name in remaining:
            attractions[name] = sum(links.get((name, neighbor), 0.0) * nearness[neighbor] for neighbor in order)

        closest = max(remaining, key=lambda name: (attractions[name], totals[name], name))
        order.append(closest)
        remaining.remove(closest)

    return order
