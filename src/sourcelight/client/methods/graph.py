"""The graph of what repositories import."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sourcelight.core.errors import MissingExtra

if TYPE_CHECKING:
    from pandas import DataFrame


class DependencyGraph:
    """Which repositories import which.

    Parameters
    ----------
    edges
        One row per source, target and module; columns as in ``columns_of("dependencies")``.
    """

    def __init__(self, edges: DataFrame) -> None:
        self.edges = edges

    def __len__(self) -> int:
        return len(self.edges)

    def __repr__(self) -> str:
        inner = int((~self.edges["external"]).sum())
        count = len(self.edges.attrs.get("repositories", ()))
        return f"DependencyGraph({count:,} repositories, {inner:,} edges among them, {len(self) - inner:,} to others)"

    def _repr_html_(self) -> str:
        return str(self.edges._repr_html_())  # type: ignore[operator]

    def to_networkx(self) -> Any:
        """Make a ``networkx.MultiDiGraph`` of it, keyed by module.

        Nodes are repositories, and modules that none has (``external`` true). Edges have ``module``, ``files`` and
        ``imports``.

        Raises
        ------
        MissingExtra
            When networkx is not installed.
        """
        try:
            networkx = importlib.import_module("networkx")
        except ImportError as error:
            raise MissingExtra("networkx", "to_networkx") from error
        graph = networkx.MultiDiGraph()
        graph.add_nodes_from(self.edges.attrs.get("repositories", ()), external=False)
        for edge in self.edges.to_dict("records"):
            graph.add_node(edge["target"], external=bool(edge["external"]))
            graph.add_edge(
                edge["source"],
                edge["target"],
                key=edge["module"],
                module=edge["module"],
                files=int(edge["files"]),
                imports=int(edge["imports"]),
            )
        return graph
