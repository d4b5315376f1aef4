"""What a name means by the scopes of its own file, for languages that have a grammar and no resolver.

A definition is in scope where what holds it encloses the use: members inside their class, all else below the top. What
local variables and parameters hide is not known, so an answer is less sure than one of a resolver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.engines.navigation.model import Document, Found, Occurrence
from sourcelight.engines.navigation.named import outline_of
from sourcelight.engines.navigation.places import line_of

if TYPE_CHECKING:
    from sourcelight.engines.navigation.workspace import Workspace
    from sourcelight.engines.symbols import Definition

SCORE = 0.75
_SELF = (b"this.", b"self.", b"$this->", b"self::", b"static::", b"$this?->", b"this?.", b"self&.")
_MEMBERS_NEED_SELF = frozenset({"PHP"})
_MEMBERS = frozenset({"method", "constructor", "field", "property", "constant", "enummember"})
_HOLDERS = frozenset({"class", "object", "interface", "module", "trait", "enum", "struct"})


def in_same_file(document: Document, occurrence: Occurrence, name: bytes, workspace: Workspace) -> list[Found]:
    """Give what a name means by the scopes of its file, the innermost first; empty where they don't tell."""
    outline = outline_of(document, workspace)
    shown = name.decode(errors="replace")
    if not any(one.name == shown for one in outline):
        return []
    text = document.text
    line = line_of(text, occurrence.start)
    own_receiver = text[: occurrence.start].endswith(_SELF)
    if occurrence.role == "attribute" and not own_receiver:
        return []
    found: list[tuple[int, Definition]] = []
    for one in outline:
        if one.name != shown:
            continue
        if one.offset == occurrence.start:
            found = [(0, one)]
            break
        holders = list(_holders(outline, one))
        if not all(holder.begin_line <= line <= holder.end_line for holder in holders):
            continue
        member = bool(holders) and holders[0].kind in _HOLDERS and one.kind in _MEMBERS
        if member if own_receiver else not (member and document.language in _MEMBERS_NEED_SELF):
            found.append((len(holders), one))
    found.sort(key=lambda pair: -pair[0])
    return [
        Found(document, one.offset, one.offset + len(name), one.kind, "scope", SCORE, "declared around it in this file")
        for _, one in found
    ]


def _holders(outline: list[Definition], one: Definition) -> list[Definition]:
    """Give what holds a definition, the nearest first."""
    found: list[Definition] = []
    while one.parent >= 0 and len(found) < len(outline):
        one = outline[one.parent]
        found.append(one)
    return found
