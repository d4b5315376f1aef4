"""Resolve the names of any language: occurrences, definitions, bindings, overrides.

A `Language` finds refs in syntax trees. `Resolver` makes them definitions with a score and a reason, each once, and
answers for modules itself: these are bound once, have no other implementation, and override nothing.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.engines.navigation.language import Cursor, Language, Ref, Session, exports_of
from sourcelight.engines.navigation.model import SCORES, Document, Occurrence, ResolutionRule, ResolvedDefinition
from sourcelight.engines.navigation.parsed_file import MAX_PARSE_S, ParsedFile, check_time

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace

MISSING_SCORE = 0.6
"""Score of an import that leads to no visible repository: right, but not the definition."""

_REASONS: Mapping[ResolutionRule, str] = {
    "scope": "in scope",
    "import": "followed the import",
    "type": "type of the receiver",
}


class Resolver:
    """Resolves the names of one `Language`.

    Stateless apart from the language: workspaces and projects have the caches.
    """

    def __init__(self, language: Language) -> None:
        self.language = language

    def parse(self, language: str, text: bytes) -> ParsedFile | None:
        """Parse a file; return None when that takes longer than `MAX_PARSE_S`."""
        return self.language.parse(language, text, time.monotonic() + MAX_PARSE_S)

    def occurrences(self, parsed: ParsedFile, name: bytes) -> Sequence[Occurrence]:
        """Return all identifiers of a name in order; strings and comments have none.

        Raises
        ------
        TimeSpent
            If the surrounding `time_limit` ends: each look at what is around a name starts at the root of the tree.
        """
        occurrences = []
        for offset in parsed.words(name):
            check_time()
            occurrence = self.occurrence_at(parsed, offset)
            if occurrence is not None:
                occurrences.append(occurrence)
        return occurrences

    def occurrence_at(self, parsed: ParsedFile, offset: int) -> Occurrence | None:
        """Return the identifier that covers a byte offset, or ends at it."""
        # Editors report the position after the last letter as well.
        for byte in (offset, offset - 1):
            node = parsed.root.descendant_for_byte_range(byte, byte) if byte >= 0 else None
            if node is not None and node.type in self.language.identifiers:
                return self._occurrence(parsed, node)
        return None

    def _occurrence(self, parsed: ParsedFile, node: Node) -> Occurrence:
        usage = self.language.usage(Cursor(parsed, node))
        return Occurrence(
            start=node.start_byte,
            end=node.end_byte,
            role=usage.role,
            is_binding=usage.is_binding,
            is_called=usage.is_called,
        )

    def calls(self, parsed: ParsedFile, start: int, begin_line: int, end_line: int) -> Sequence[Occurrence]:
        """Return the names that are called from a byte on, between two 1-based lines, in order."""
        occurrences = []
        # A list instead of recursion: generated code nests deeper than Python's stack allows.
        pending = [parsed.root]
        while pending:
            check_time()
            node = pending.pop()
            if node.end_byte <= start or node.end_point[0] < begin_line - 1 or node.start_point[0] >= end_line:
                continue
            pending += node.named_children
            if node.type in self.language.identifiers and node.start_byte >= start:
                occurrences.append(self._occurrence(parsed, node))

        called = (occurrence for occurrence in occurrences if occurrence.is_called and occurrence.role != "keyword")
        return sorted(called, key=lambda occurrence: occurrence.start)

    def renames_of(self, parsed: ParsedFile, names: Collection[bytes]) -> Sequence[Occurrence]:
        """Return the new names that imports and exports give to one of `names`, or to a file of such a name."""
        renames = self.language.renames
        if renames is None:
            return []

        occurrences = []
        for match in renames.pattern.finditer(parsed.text):
            node = parsed.root.descendant_for_byte_range(match.start(1), match.start(1))
            outer = node.parent if node is not None else None
            if node is None or outer is None or node.type not in self.language.identifiers:
                continue
            if outer.type not in renames.nodes:
                continue

            # The whole statement, because the old name may be in another part of it.
            while outer.parent is not None and outer.parent.type in renames.nodes:
                outer = outer.parent

            text = parsed.text[outer.start_byte : outer.end_byte]
            if any(name in text for name in names):
                occurrences.append(self._occurrence(parsed, node))

        return occurrences

    def resolve(self, document: Document, occurrence: Occurrence, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Return the definitions of an occurrence, best first; empty if no rule applies."""
        session = Session(workspace, self.language)
        cursor = session.cursor(document, occurrence.start)
        if cursor is None or cursor.node.type not in self.language.identifiers:
            return []
        return _definitions(self.language.lookup(document, cursor, session))

    def bindings(self, definition: ResolvedDefinition, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Return a definition, then all others that bind the same thing; they are as likely for the same reason."""
        if definition.kind == "module":
            return [definition]

        refs = self.language.bindings(_ref(definition), Session(workspace, self.language))
        other_bindings = [
            other.resolve_by(definition.rule, definition.reason, definition.score)
            for other in _definitions(refs)
            if other.key != definition.key
        ]
        return [definition, *other_bindings]

    def implementation(self, definition: ResolvedDefinition, workspace: Workspace) -> ResolvedDefinition:
        """Return the declaration of a function that has its body; the same if it is the only one, or none has."""
        if definition.kind == "module":
            return definition
        ref = self.language.implementation(_ref(definition), Session(workspace, self.language))
        return _definition(ref).resolve_by(definition.rule, definition.reason, definition.score)

    def overridden(self, definition: ResolvedDefinition, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Return the members that a member implements or overrides, up to the top."""
        if definition.kind == "module":
            return []
        session = Session(workspace, self.language)
        return session.remember(
            ("overridden", definition.key),
            lambda: _definitions(self.language.overridden(_ref(definition), session)),
        )

    def module_names(self, document: Document) -> Collection[str]:
        """Return the names under which other files import a file."""
        return self.language.module_names(document)

    def import_target(self, document: Document, module: str, member: str, workspace: Workspace) -> Document | None:
        """Return the file that an import means, see `Language.import_target`."""
        return self.language.import_target(document, module, member, Session(workspace, self.language))

    def exports(self, project: Project) -> Mapping[str, Any]:
        """Return the modules, packages or crates that other repositories can import, by name."""
        return exports_of(project, self.language)


def _ref(definition: ResolvedDefinition) -> Ref:
    return Ref(
        definition.document, definition.start, definition.end, definition.kind, definition.rule, definition.reason
    )


def _definitions(refs: Iterable[Ref]) -> list[ResolvedDefinition]:
    """Return a definition for each ref, without repetitions."""
    definitions: dict[object, ResolvedDefinition] = {}
    for ref in refs:
        if ref.key not in definitions:
            definitions[ref.key] = _definition(ref)
    return list(definitions.values())


def _definition(ref: Ref) -> ResolvedDefinition:
    score, reason = SCORES[ref.rule], ref.reason or _REASONS.get(ref.rule, ref.rule)
    if ref.missing_module is not None:
        score, reason = MISSING_SCORE, f"imported from {ref.missing_module}, which is in no repository here"
    return ResolvedDefinition(ref.document, ref.start, ref.end, ref.kind, ref.rule, score, reason)
