"""Which imports which: names around a circle, an arrow for each import."""

from __future__ import annotations

import math
from typing import Any

from sourcelight.lab.plots.figure import Figure, ThemeName, number, sentences, sheet, short, theme_of

_RADIUS = 1.0
_LABEL = 30
_FEW = 2


def dependencies(
    graph: Any,
    *,
    external: bool = False,
    top: int = 36,
    title: str | None = None,
    theme: ThemeName = "light",
) -> Figure:
    """Draw which repositories import which, the more imports the thicker the arrow.

    Parameters
    ----------
    graph
        Of `Client.dependency_graph`, or a frame with its edges.
    external
        Draw modules that no repository here has, too.
    top
        Most names, those with the most imports to and from them; the rest is said below.
    title, theme
        As for `matches`.
    """
    look = theme_of(theme)
    edges = getattr(graph, "edges", graph)
    held = edges if external else edges[~edges["external"].astype("bool")]
    outside = len(edges) - len(held)
    pairs = held.assign(source=held["source"].astype("str"), target=held["target"].astype("str"))
    pairs = pairs[pairs["source"] != pairs["target"]].groupby(["source", "target"])["imports"].sum()
    weight: dict[str, float] = {}
    for (source, target), count in pairs.items():
        weight[source] = weight.get(source, 0.0) + float(count)
        weight[target] = weight.get(target, 0.0) + float(count)
    known = [str(name) for name in edges.attrs.get("repositories", ())]
    alone = [name for name in known if name not in weight]
    order = sorted(weight, key=lambda name: (-weight[name], name))
    names = _around(sorted(order[:top]), pairs)
    shown = [(s, t, float(c)) for (s, t), c in pairs.items() if s in set(names) and t in set(names)]
    outer = set(held.loc[held["external"].astype("bool"), "target"].astype("str")) - set(known)
    words = title or "Dependencies between repositories"
    tied = f"{len(shown):,} pair{'' if len(shown) == 1 else 's'}"
    counted = f"{number(sum(c for _, _, c in shown))} imports in {tied} of {len(names):,} names"
    arrows = "An arrow leads from the importer to what it imports, and is thicker the more imports there are"
    words_alone = "repository" if len(alone) == 1 else "repositories"
    left = sentences(
        f"Not shown: {len(order) - len(names):,} names with fewer imports" if len(order) > len(names) else "",
        f"{outside:,} imports of modules that no repository here has" if outside else "",
        f"{len(alone):,} {words_alone} without an import of another" if alone else "",
        "; ".join(edges.attrs.get("notices", ())) if edges.attrs.get("status") == "limited" else "",
    )

    def draw() -> Any:
        from matplotlib.patches import FancyArrowPatch

        figure, axes = sheet(look, 2.6 if len(names) <= _FEW else 7.4, words, sentences(counted, arrows), left)
        # Two names stand beside each other, so that both can be read without turning the head.
        start = 0.0 if len(names) <= _FEW else math.pi / 2
        place = {name: 2 * math.pi * at / max(len(names), 1) + start for at, name in enumerate(names)}
        point = {name: (_RADIUS * math.cos(angle), _RADIUS * math.sin(angle)) for name, angle in place.items()}
        most = max((count for _, _, count in shown), default=1.0)
        own = [name for name in order if name not in outer]
        ranks = {name: rank for rank, name in enumerate([*own, *outer])}
        for source, target, count in sorted(shown, key=lambda edge: edge[2]):
            rank = ranks[source]
            colour = look.series[rank] if rank < min(len(look.series), len(own)) else look.rest
            width = 0.7 + 3.6 * math.sqrt(count / most)
            axes.add_patch(FancyArrowPatch(
                point[source], point[target], arrowstyle="-|>", mutation_scale=7 + 2.2 * width, linewidth=width,
                connectionstyle="arc3,rad=0.22", color=colour, alpha=0.78, shrinkA=5, shrinkB=6,
            ))  # fmt: skip
        for name, (x, y) in point.items():
            rank = ranks[name]
            colour = look.series[rank] if rank < min(len(look.series), len(own)) else look.rest
            axes.scatter([x], [y], s=46, color=look.background if name in outer else colour, edgecolors=colour,
                         linewidths=1.6, zorder=3)  # fmt: skip
            turned = math.degrees(place[name]) % 360
            left_half = 90 < turned < 270
            axes.text(1.06 * x, 1.06 * y, short(name, _LABEL), fontsize=8.5, color=look.text, parse_math=False,
                      rotation=turned + 180 if left_half else turned, rotation_mode="anchor", va="center",
                      ha="right" if left_half else "left")  # fmt: skip
        if not names:
            axes.text(0, 0, "no repository here imports another", color=look.muted, ha="center")
        axes.set_xlim(-2.3, 2.3)
        axes.set_ylim(*((-0.65, 0.65) if len(names) <= _FEW else (-1.85, 1.85)))
        axes.set_aspect("equal")
        axes.set_axis_off()
        return figure

    return Figure("dependencies", words, f"Names around a circle with arrows between them: {counted}.", draw)


def _around(names: list[str], pairs: Any) -> list[str]:
    """Names in an order in which most arrows are short: each next to what it is tied to most, ties by name."""
    if not names:
        return []
    tied: dict[tuple[str, str], float] = {}
    for (source, target), count in pairs.items():
        tied[source, target] = tied[target, source] = tied.get((source, target), 0.0) + float(count)
    total = {name: sum(tied.get((name, other), 0.0) for other in names) for name in names}
    placed = [max(names, key=lambda name: (total[name], name))]
    left = [name for name in names if name != placed[0]]
    while left:
        # What is tied to the newest counts most, what is tied to earlier ones less and less.
        near = {other: 0.6**distance for distance, other in enumerate(reversed(placed))}
        chosen = max(
            left, key=lambda name: (sum(tied.get((name, o), 0.0) * near[o] for o in placed), total[name], name)
        )
        placed.append(chosen)
        left.remove(chosen)
    return placed
