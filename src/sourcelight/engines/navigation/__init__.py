"""Definitions, references, imports and call graphs, resolved when asked; each answer says how sure it is.

Reads blobs through `repos` and the text index, tables of definitions and imports through `symbols`, candidate files
through `search`. No index of its own: files are parsed when a question needs them, and what was parsed last is kept.

`Navigator` is made once for a catalog and an index; `Navigator.workspace` gives what one call works with. Languages
are added as `language.Resolver`: one sub-room each, entered in `languages`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.navigation.language import Resolver
    from sourcelight.engines.navigation.model import Document, Found, How, Occurrence, Project
    from sourcelight.engines.navigation.workspace import Budget, Navigator, Workspace

__all__ = [
    "Budget",
    "Document",
    "Found",
    "How",
    "Navigator",
    "Occurrence",
    "Project",
    "Resolver",
    "Workspace",
]


def __getattr__(name: str) -> object:
    if name == "Resolver":
        from sourcelight.engines.navigation import language

        return getattr(language, name)
    if name in {"Document", "Found", "How", "Occurrence", "Project"}:
        from sourcelight.engines.navigation import model

        return getattr(model, name)
    if name in {"Budget", "Navigator", "Workspace"}:
        from sourcelight.engines.navigation import workspace

        return getattr(workspace, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
