"""Who calls a function, and what it calls, to a depth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.definitions import Asked, resolve
from sourcelight.engines.navigation.model import Document, Found, How, Occurrence
from sourcelight.engines.navigation.named import Named, enclosing, of_definition, outline_of
from sourcelight.engines.navigation.places import line_of
from sourcelight.engines.navigation.references import References

if TYPE_CHECKING:
    from sourcelight.engines.navigation.workspace import Workspace

MOST_CALLS = 5000
"""Calls that are given; beyond, the answer is not complete and says so."""

_IDENTIFIERS = frozenset({"identifier", "field_identifier", "property_identifier", "type_identifier", "name"})
_CALLABLE = frozenset({"function", "method", "constructor", "class", "struct"})

Key = tuple[tuple[str, str, bytes], int]


@dataclass(frozen=True, slots=True)
class Call:
    """One call: who calls (None: the top of the file), where, and what is called; `depth` is 1 for direct calls."""

    depth: int
    caller: Named | None
    document: Document
    occurrence: Occurrence
    callee: Named | Found
    how: How
    score: float


def callers(asked: Asked, depth: int, workspace: Workspace) -> Iterator[Call]:
    """Yield the calls of a function, then those of the functions that call it, and so on.

    A function that calls itself, directly or over others, is asked once.
    """
    waiting = [(asked, 1)]
    known: set[Key] = set()
    given = 0
    while waiting:
        question, level = waiting.pop(0)
        search = References(question, workspace)
        for found in search.found():
            called = [one for one in found if one.occurrence.called and not one.is_definition]
            around = enclosing(found[0].document, [one.occurrence.start for one in called], workspace)
            for one, caller in zip(called, around, strict=True):
                given += 1
                if given > MOST_CALLS:
                    workspace.notice("limit", f"The first {MOST_CALLS:,} calls are given; there are more.")
                    return
                yield Call(level, caller, one.document, one.occurrence, search.definitions[0], one.how, one.score)
                if caller is None or level >= depth or (caller.document.key, caller.start) in known:
                    continue
                known.add((caller.document.key, caller.start))
                waiting.append((_of(caller), level + 1))


def callees(asked: Asked, depth: int, workspace: Workspace) -> Iterator[Call]:
    """Yield the calls in the bodies of what is asked for, then those in the bodies of what these call, and so on."""
    search = References(asked, workspace)
    search.prepare()
    waiting: list[tuple[Named, int]] = []
    known: set[Key] = set()
    for one in search.definitions:
        held = body_of(one, workspace)
        if held is not None:
            waiting.append((held, 1))
            known.add((held.document.key, held.start))
    given = 0
    while waiting:
        caller, level = waiting.pop(0)
        for occurrence in calls_in(caller):
            workspace.budget.check()
            name = caller.document.text[occurrence.start : occurrence.end]
            for one in resolve(caller.document, occurrence, name, workspace)[:1]:
                given += 1
                if given > MOST_CALLS:
                    workspace.notice("limit", f"The first {MOST_CALLS:,} calls are given; there are more.")
                    return
                held = body_of(one, workspace)
                yield Call(level, caller, caller.document, occurrence, held or one, one.how, one.score)
                if held is None or level >= depth or one.how == "name" or (held.document.key, held.start) in known:
                    continue
                known.add((held.document.key, held.start))
                waiting.append((held, level + 1))


def _of(one: Named) -> Asked:
    text = one.document.text
    low = text.rfind(b"\n", 0, one.start) + 1
    name = text[one.start : one.end].decode(errors="replace")
    return Asked(one.document, name, line_of(text, one.start), len(text[low : one.start].decode(errors="replace")))


def body_of(one: Found, workspace: Workspace) -> Named | None:
    """Give the whole definition that a place names, if it is one that can be called."""
    if one.kind in {"module", "parameter"}:
        return None
    for row in outline_of(one.document, workspace):
        if row.offset == one.start and row.kind in _CALLABLE:
            return of_definition(one.document, row)
    return None


def calls_in(one: Named) -> list[Occurrence]:
    """Give the names that are called between the first and the last line of a definition, in order."""
    import time

    from sourcelight.engines.symbols import LANGUAGES, parse_tree

    document = one.document
    text = document.text
    tree = parse_tree(document.language, text, time.monotonic() + 2.0) if document.language in LANGUAGES else None
    if tree is None:
        return []
    found = []
    waiting = [tree.root_node]
    first, last = one.begin_line - 1, one.end_line - 1
    while waiting:
        node = waiting.pop()
        if node.end_point[0] < first or node.start_point[0] > last:
            continue
        waiting += reversed(node.named_children)
        if "call" not in node.type and "invocation" not in node.type and node.type != "new_expression":
            continue
        if node.start_point[0] < first:
            continue
        called = next(
            (
                held
                for field in ("function", "name", "method", "constructor", "macro")
                if (held := node.child_by_field_name(field)) is not None
            ),
            None,
        )
        while called is not None and called.type not in _IDENTIFIERS:
            inner = [child for child in called.named_children if "argument" not in child.type]
            called = inner[-1] if inner and called.type not in {"call", "call_expression"} else None
        if called is not None:
            member = text[called.start_byte - 1 : called.start_byte] in {b".", b">", b":"}
            role = "attribute" if member else "name"
            found.append(Occurrence(called.start_byte, called.end_byte, role, called=True))  # type: ignore[arg-type]
    return sorted(found, key=lambda occurrence: occurrence.start)
