"""Answers from an index file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Document, Found, Occurrence
    from sourcelight.engines.navigation.workspace import Workspace


def precise_definitions(document: Document, occurrence: Occurrence, workspace: Workspace) -> Sequence[Found]:
    """Give the definitions that an index file has for an occurrence; nothing without one."""
    del document, occurrence, workspace
    return []


def precise_symbols_at(
    document: Document, definitions: Sequence[Found], name: bytes, workspace: Workspace
) -> Mapping[int, bool] | None:
    """Tell of each occurrence that an index file knows in a document whether it means one of the definitions."""
    del document, definitions, name, workspace
    return None
