"""Dependency graphs: names around a circle, with an arrow from each importer to each import."""

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

_RADIUS = 1.0
_LABEL_CHARS = 30
_MAX_FLAT_NAMES = 2
# Names two steps apart count 0.6 of neighbors, and so on: the order is found greedily, newest name first.
_DECAY = 0.6


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
    edges = all_edges if external else all_edges[~all_edges["external"].astype("bool")]
    repositories = [str(name) for name in all_edges.attrs.get("repositories", ())]
    pairs = _imports_between(edges)
    weights = _weights(pairs)
    by_weight = sorted(weights, key=lambda name: (-weights[name], name))
    names = _circle_order(sorted(by_weight[:top]), pairs)
    arrows = [
        (source, target, float(count))
        for (source, target), count in pairs.items()
        if source in set(names) and target in set(names)
    ]
    external_names = set(edges.loc[edges["external"].astype("bool"), "target"].astype("str")) - set(repositories)
    colors = theme_of(theme)
    circle = _Circle(names, arrows, _colors_of(colors, by_weight, external_names), external_names)
    heading = title or "Dependencies between repositories"
    imports = format_number(sum(count for _, _, count in arrows))
    counts = f"{imports} imports in {count_of(len(arrows), 'pair')} of {count_of(len(names), 'name')}"
    legend = "An arrow leads from the importer to the imported repository; thicker arrows mean more imports"
    hidden_names, hidden_edges = len(by_weight) - len(names), len(all_edges) - len(edges)
    unconnected = [name for name in repositories if name not in weights]
    limits = sentences(
        f"Not shown: {count_of(hidden_names, 'name')} with fewer imports" if hidden_names else "",
        f"{count_of(hidden_edges, 'import')} of modules that are in none of the repositories" if hidden_edges else "",
        f"{count_of(len(unconnected), 'repository')} without an import of another" if unconnected else "",
        "; ".join(all_edges.attrs.get("notices", ())) if all_edges.attrs.get("status") == "limited" else "",
    )

    def draw() -> Any:
        is_flat = len(names) <= _MAX_FLAT_NAMES
        figure, axes = new_sheet(colors, 2.6 if is_flat else 7.4, heading, sentences(counts, legend), limits)
        circle.draw(axes, colors, is_flat=is_flat)
        if not names:
            axes.text(0, 0, "No repository imports another", color=colors.muted, ha="center")

        axes.set_xlim(-2.3, 2.3)
        axes.set_ylim(*((-0.65, 0.65) if is_flat else (-1.85, 1.85)))
        axes.set_aspect("equal")
        axes.set_axis_off()
        return figure

    return Figure(
        name="dependencies",
        title=heading,
        description=f"Names around a circle with arrows between them: {counts}.",
        draw=draw,
    )


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


def _colors_of(colors: Theme, by_weight: list[str], external_names: set[str]) -> dict[str, str]:
    """Return the color of each name: one for each of the repositories with the most imports, one for all others."""
    repositories = [name for name in by_weight if name not in external_names]
    own_colors = dict(zip(repositories, colors.series, strict=False))
    return {name: own_colors.get(name, colors.rest) for name in (*repositories, *external_names)}


@dataclass(frozen=True, slots=True)
class _Circle:
    """Names around a circle, and arrows with their numbers of imports."""

    names: list[str]
    arrows: list[tuple[str, str, float]]
    color_of: dict[str, str]
    external_names: set[str]

    def draw(self, axes: Any, colors: Theme, *, is_flat: bool) -> None:
        """Draw the arrows, and the names above them."""
        # Two names are drawn side by side: on top of each other, their labels would be vertical.
        first_angle = 0.0 if is_flat else math.pi / 2
        step = 2 * math.pi / max(len(self.names), 1)
        angles = {name: index * step + first_angle for index, name in enumerate(self.names)}
        points = {name: (_RADIUS * math.cos(angle), _RADIUS * math.sin(angle)) for name, angle in angles.items()}
        self._draw_arrows(axes, points)
        for name, angle in angles.items():
            self._draw_name(axes, colors, name, math.degrees(angle) % 360, points[name])

    def _draw_arrows(self, axes: Any, points: dict[str, tuple[float, float]]) -> None:
        from matplotlib.patches import FancyArrowPatch

        max_count = max((count for _, _, count in self.arrows), default=1.0)
        for source, target, count in sorted(self.arrows, key=lambda arrow: arrow[2]):
            width = 0.7 + 3.6 * math.sqrt(count / max_count)
            axes.add_patch(FancyArrowPatch(
                points[source], points[target], arrowstyle="-|>", mutation_scale=7 + 2.2 * width, linewidth=width,
                connectionstyle="arc3,rad=0.22", color=self.color_of[source], alpha=0.78, shrinkA=5, shrinkB=6,
            ))  # fmt: skip

    def _draw_name(self, axes: Any, colors: Theme, name: str, degrees: float, point: tuple[float, float]) -> None:
        x, y = point
        fill = colors.background if name in self.external_names else self.color_of[name]
        axes.scatter([x], [y], s=46, color=fill, edgecolors=self.color_of[name], linewidths=1.6, zorder=3)
        is_left_side = 90 < degrees < 270
        axes.text(1.06 * x, 1.06 * y, short_label(name, _LABEL_CHARS), fontsize=8.5, color=colors.text,
                  parse_math=False, rotation=degrees + 180 if is_left_side else degrees, rotation_mode="anchor",
                  va="center", ha="right" if is_left_side else "left")  # fmt: skip


def _circle_order(names: list[str], pairs: Any) -> list[str]:
    """Return names in an order that keeps most arrows short: each next to its partner with the most imports."""
    if not names:
        return []

    links: dict[tuple[str, str], float] = {}
    for (source, target), count in pairs.items():
        links[source, target] = links[target, source] = links.get((source, target), 0.0) + float(count)

    totals = {name: sum(links.get((name, neighbor), 0.0) for neighbor in names) for name in names}
    order = [max(names, key=lambda name: (totals[name], name))]
    remaining = [name for name in names if name != order[0]]
    while remaining:
        nearness = {name: _DECAY**distance for distance, name in enumerate(reversed(order))}
        closest = max(
            remaining,
            key=lambda name: (
                sum(links.get((name, neighbor), 0.0) * nearness[neighbor] for neighbor in order),
                totals[name],
                name,
            ),
        )
        order.append(closest)
        remaining.remove(closest)

    return order
