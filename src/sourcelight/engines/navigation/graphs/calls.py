"""Call graphs: the callers of a function, or what it calls, to a depth.

Both go level by level, so that a limit drops the most distant calls. A call that was found by the name of the function
alone is followed no further, and in languages with declared types it is left out, because it is rarely right.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.core.markup.counts import count_of
from sourcelight.engines.navigation import model
from sourcelight.engines.navigation.definitions import MAX_RESOLVE_S, resolve
from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.locations import file_spans, line_of
from sourcelight.engines.navigation.named import NamedDefinition, enclosing_definitions, outline_of, to_named_definition
from sourcelight.engines.navigation.parsed_file import TimeSpent, time_limit
from sourcelight.engines.navigation.references import References
from sourcelight.engines.symbols import LANGUAGES

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.workspace import Workspace


MAX_CALLS = 5000
"""Maximum calls of one answer; beyond, it is incomplete."""

_MAX_PARSE_S = 2.0
"""Seconds to parse a file of a language without a resolver."""

_IDENTIFIERS = frozenset({"identifier", "field_identifier", "property_identifier", "type_identifier", "name"})
_CALLEE_FIELDS = ("function", "name", "method", "constructor", "macro")
"""Kinds of nodes that are names, and fields of a call that hold what is called, over all grammars."""

_TYPES = frozenset({"class", "struct", "interface"})
"""Kinds of types, whose conversions look like calls in some languages."""

_CALLABLE = frozenset({"function", "method", "constructor", "class", "struct"})
"""Kinds of definitions that can be called."""


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call; `caller` is None at the top level of a file, `depth` is 1 for direct calls."""

    depth: int
    caller: NamedDefinition | None
    document: model.Document
    occurrence: model.Occurrence
    callee: NamedDefinition | model.ResolvedDefinition
    rule: model.ResolutionRule
    score: float


def callers(query: model.SymbolQuery, depth: int, workspace: Workspace) -> Iterator[CallSite]:
    """Yield the calls of a function, then the calls of its callers, to a depth.

    A function that calls itself, directly or through others, is visited once.
    """
    pending = deque([(query, 1)])
    visited: set[model.DeclarationKey] = set()
    count = left_out = 0
    while pending:
        called, level = pending.popleft()
        search = References(called, workspace)
        for references in search.batches():
            calls = [reference for reference in references if _is_call(reference)]
            sure_calls = [call for call in calls if not _is_guess(call.rule, call.document)]
            left_out += len(calls) - len(sure_calls)
            for site in _call_sites(sure_calls, search, level):
                count += 1
                if count > MAX_CALLS:
                    _note_limit(workspace)
                    return

                yield site
                caller = site.caller
                if caller is not None and level < depth and caller.key not in visited:
                    visited.add(caller.key)
                    pending.append((_query_of(caller), level + 1))

        left_out += search.left_out

    _note_left_out(left_out, workspace)


def _is_call(reference: model.Reference) -> bool:
    return reference.occurrence.is_called and not reference.is_definition


def _call_sites(calls: Sequence[model.Reference], search: References, level: int) -> Iterator[CallSite]:
    """Yield calls in one file with the functions around them."""
    if not calls:
        return

    offsets = [call.occurrence.start for call in calls]
    containers = enclosing_definitions(calls[0].document, offsets, search.workspace)
    for call, caller in zip(calls, containers, strict=True):
        yield CallSite(
            depth=level,
            caller=caller,
            document=call.document,
            occurrence=call.occurrence,
            callee=search.definitions[0],
            rule=call.rule,
            score=call.score,
        )


def callees(query: model.SymbolQuery, depth: int, workspace: Workspace) -> Iterator[CallSite]:
    """Yield the calls in the body of a function, then in the bodies of its callees, to a depth."""
    search = References(query, workspace)
    search.prepare()
    bodies = [body for definition in search.definitions if (body := body_of(definition, workspace)) is not None]
    pending = deque((body, 1) for body in bodies)
    visited = {body.key for body in bodies}
    count = left_out = 0
    while pending:
        caller, level = pending.popleft()
        for occurrence in calls_in(caller, workspace):
            workspace.budget.check()
            name = caller.document.text[occurrence.start : occurrence.end]

            # A call has one target: the further answers are less likely alternatives.
            answers = resolve(caller.document, occurrence, name, workspace)[:1]
            if not answers or _is_guess(answers[0].rule, caller.document):
                left_out += len(answers)
                continue

            definition = _implementation(answers[0], workspace)
            if _converts(definition):
                continue

            count += 1
            if count > MAX_CALLS:
                _note_limit(workspace)
                return

            body = body_of(definition, workspace)
            yield CallSite(
                depth=level,
                caller=caller,
                document=caller.document,
                occurrence=occurrence,
                callee=body or definition,
                rule=definition.rule,
                score=definition.score,
            )
            # A definition that was found by its name alone is too weak to follow further: errors would multiply with
            # each level.
            is_sure = definition.rule != "name"
            if body is not None and is_sure and level < depth and body.key not in visited:
                visited.add(body.key)
                pending.append((body, level + 1))

    _note_left_out(left_out, workspace)


def _is_guess(rule: model.ResolutionRule, document: model.Document) -> bool:
    """Return whether a call was found by its name alone in a language whose rules find nearly all others.

    Only 3 % of such calls were right in Go, and 3 % in TypeScript: their receivers come from the standard library or
    from packages that no repository here has.
    """
    resolver = resolver_of(document.language)
    return rule == "name" and resolver is not None and resolver.language.has_declared_types


def _note_limit(workspace: Workspace) -> None:
    workspace.notice("limit", f"Only the first {MAX_CALLS:,} calls are listed; there are more.")


def _note_left_out(count: int, workspace: Workspace) -> None:
    if count:
        count_text = count_of(count, "further place")
        workspace.notice(
            "left-out", f"{count_text} left out, because the called function is unknown, or in no repository here."
        )


def _implementation(definition: model.ResolvedDefinition, workspace: Workspace) -> model.ResolvedDefinition:
    resolver = resolver_of(definition.document.language)
    if resolver is None:
        return definition
    return resolver.implementation(definition, workspace)


def _query_of(definition: NamedDefinition) -> model.SymbolQuery:
    document = definition.document
    name = document.text[definition.start : definition.end].decode(errors="replace")
    content = document.content
    start = file_spans(document, [(definition.start, definition.end)])[0][0]
    line_start = content.rfind(b"\n", 0, start) + 1
    column = len(content[line_start:start].decode(errors="replace"))
    return model.SymbolQuery(document, name, line_of(content, start), column)


def body_of(definition: model.ResolvedDefinition, workspace: Workspace) -> NamedDefinition | None:
    """Return the whole definition at a position, if it can be called."""
    if definition.kind in {"module", "parameter"}:
        return None
    for row in outline_of(definition.document, workspace):
        if row.offset == definition.start and row.kind in _CALLABLE:
            return to_named_definition(definition.document, row)
    return None


def _converts(definition: model.ResolvedDefinition) -> bool:
    """Return whether a call of a definition only converts a value to its type."""
    resolver = resolver_of(definition.document.language)
    return resolver is not None and resolver.language.calls_convert and definition.kind in _TYPES


def calls_in(definition: NamedDefinition, workspace: Workspace) -> Sequence[model.Occurrence]:
    """Return the names that are called between the name and the last line of a definition, in order.

    What precedes the name, such as a decorator, is called by the code that runs the definition.
    """
    document = definition.document
    resolver = resolver_of(document.language)
    parsed = workspace.parsed_file(document) if resolver is not None else None
    if resolver is not None and parsed is not None:
        try:
            with time_limit(MAX_RESOLVE_S):
                return resolver.calls(parsed, definition.end, definition.begin_line, definition.end_line)
        except TimeSpent:
            workspace.notice("time", f"The calls in {document.shown_path} take too long to read, and are left out.")
            return []
    return _calls_by_grammar(definition)


def _calls_by_grammar(definition: NamedDefinition) -> list[model.Occurrence]:
    """Return the called names in a language without a resolver, by the kinds of nodes that grammars have for calls."""
    from sourcelight.engines.symbols import parse_tree

    document = definition.document
    if document.language not in LANGUAGES:
        return []

    tree = parse_tree(document.language, document.text, time.monotonic() + _MAX_PARSE_S)
    if tree is None:
        return []

    occurrences = []
    # An explicit stack: generated code is nested deeper than Python's recursion limit.
    pending = [tree.root_node]
    first, last = definition.begin_line - 1, definition.end_line - 1
    while pending:
        node = pending.pop()
        # Children lie within their parent, so a node outside of the lines of the definition needs no visit.
        if node.end_point[0] < first or node.start_point[0] > last:
            continue

        pending += reversed(node.named_children)
        if not _is_call_node(node) or node.start_point[0] < first:
            continue

        name = _called_name(node)
        if name is not None and name.start_byte >= definition.end:
            before = document.text[name.start_byte - 1 : name.start_byte]
            role: model.Role = "attribute" if before in {b".", b">", b":"} else "name"
            occurrences.append(model.Occurrence(name.start_byte, name.end_byte, role, is_called=True))

    return sorted(occurrences, key=lambda occurrence: occurrence.start)


def _is_call_node(node: Node) -> bool:
    """Return whether a node is a call, such as a ``call_expression`` or a ``method_invocation``, in any grammar."""
    return "call" in node.type or "invocation" in node.type or node.type == "new_expression"


def _called_name(call: Node) -> Node | None:
    """Return the name that a call calls, or None: ``f()()`` calls a result, which has none."""
    fields = [call.child_by_field_name(field) for field in _CALLEE_FIELDS]
    callee = next((field for field in fields if field is not None), None)

    # In `a.b.c(…)` the last part is called.
    while callee is not None and callee.type not in _IDENTIFIERS:
        parts = [child for child in callee.named_children if "argument" not in child.type]
        is_result = callee.type in {"call", "call_expression"}
        callee = None if is_result or not parts else parts[-1]

    return callee
