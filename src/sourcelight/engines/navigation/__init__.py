"""Definitions, references, imports and call graphs, resolved when asked; each answer says how sure it is.

Reads blobs through `repos` and the text index, tables of definitions and imports through `symbols`, candidate files
through `search`. No index of its own: files are parsed when a question needs them, and what was parsed last is kept.

`Navigator` is made once for a catalog and an index; `Navigator.workspace` gives what one call works with. Languages
are added as `language.Resolver`: one sub-room each, entered in `languages`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.navigation.language import Language
    from sourcelight.engines.navigation.model import Document, How, Occurrence, Project, ResolvedDefinition
    from sourcelight.engines.navigation.workspace import Navigator, TimeBudget, Workspace

__all__ = [
    "Document",
    "How",
    "Language",
    "Navigator",
    "Occurrence",
    "Project",
    "ResolvedDefinition",
    "TimeBudget",
    "Workspace",
]


def __getattr__(name: str) -> object:
    if name == "Language":
        from sourcelight.engines.navigation import language

        return getattr(language, name)
    if name in {"Document", "How", "Occurrence", "Project", "ResolvedDefinition"}:
        from sourcelight.engines.navigation import model

        return getattr(model, name)
    if name in {"Navigator", "TimeBudget", "Workspace"}:
        from sourcelight.engines.navigation import workspace

        return getattr(workspace, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
