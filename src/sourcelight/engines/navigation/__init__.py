"""Definitions, references, imports and call graphs, resolved on demand; each answer has a score.

This room has no index: it parses a file when a query needs it and caches the most recent files; blobs, text
search and definition tables belong to `repos`, `search` and `symbols`. Start reading at `workspace` (what a call works
with), then `definitions` and `language`, the interface of languages.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Document, Project, ResolvedDefinition
    from sourcelight.engines.navigation.navigator import Navigator
    from sourcelight.engines.navigation.workspace import TimeBudget, Workspace

__all__ = [
    "Document",
    "Navigator",
    "Project",
    "ResolvedDefinition",
    "TimeBudget",
    "Workspace",
]


def __getattr__(name: str) -> object:
    if name in {"Document", "Project", "ResolvedDefinition"}:
        from sourcelight.engines.navigation import model

        return getattr(model, name)

    if name == "Navigator":
        from sourcelight.engines.navigation import navigator

        return getattr(navigator, name)

    if name in {"TimeBudget", "Workspace"}:
        from sourcelight.engines.navigation import workspace

        return getattr(workspace, name)

    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
