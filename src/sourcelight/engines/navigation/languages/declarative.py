"""Languages that are read by their declarations and imports alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.engines.navigation.language import Cursor, Language, Ref, Session, Usage
from sourcelight.engines.navigation.languages.declared import CODE, DeclarationModel, DeclarationRef, ModuleRef
from sourcelight.engines.navigation.languages.inference import DeclarationRules, NameResolver
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import definitions_named
from sourcelight.engines.symbols import parse_tree

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Project


class DeclarativeLanguage(Language):
    """A language that `DeclarationRules` describe."""

    def __init__(self, rules: DeclarationRules) -> None:
        self.rules = rules
        self.names = rules.names
        self.identifiers = rules.identifiers

    def parse(self, name: str, text: bytes, deadline: float) -> DeclarationModel | None:
        """Parse a file."""
        tree = parse_tree(name, text, deadline)
        return None if tree is None else DeclarationModel(self.rules, text, tree)

    def usage(self, cursor: Cursor) -> Usage:
        """Return how an identifier is used, and whether it declares its name."""
        declaration = self.rules.declaration_at(cursor.path)
        use = self.rules.use_of(cursor.path)
        is_binding = declaration is not None and declaration.start == cursor.node.start_byte
        return Usage(use.role, is_binding, use.is_called)

    def lookup(self, document: Document, cursor: Cursor, session: Session) -> Sequence[Ref]:
        """Return the declarations and files that a name refers to."""
        names = NameResolver(session, self.rules)
        return [_to_ref(ref) for ref in names.refs_at(document, cursor.node.start_byte, cursor.path)]

    def bindings(self, ref: Ref, session: Session) -> Sequence[Ref]:
        """Return the prototypes of a definition, or the definitions of a prototype."""
        if not self.rules.members_span_files or ref.kind not in CODE:
            return []

        names = NameResolver(session, self.rules)
        name = ref.document.text[ref.start : ref.end]
        declaration = names.declaration(ref.document, name, ref.start)
        if declaration is None:
            return []

        refs = []
        for candidate in definitions_named(ref.document.project, name, session.workspace):
            other = names.declaration(candidate.document, name, candidate.start)
            if other is None or other.kind not in CODE or other.owner_name != declaration.owner_name:
                continue
            if other.is_prototype or declaration.is_prototype:
                refs.append(Ref(candidate.document, other.start, other.end, other.kind, ref.rule))

        return refs

    def module_names(self, document: Document) -> Collection[str]:
        """Return the names under which other files import a file."""
        return self.rules.module_names(document)

    def import_target(self, document: Document, module: str, member: str, session: Session) -> Document | None:
        """Return the file that an import means."""
        return self.rules.import_target(NameResolver(session, self.rules), document, module, member)

    def exports(self, project: Project) -> Mapping[str, Any]:
        """Return the packages, headers or crates that other repositories can import."""
        return self.rules.exports(project)


def _to_ref(ref: DeclarationRef | ModuleRef) -> Ref:
    if isinstance(ref, ModuleRef):
        return Ref(document=ref.document, start=0, end=0, kind="module", rule="import")
    declaration = ref.declaration
    return Ref(ref.document, declaration.start, declaration.end, declaration.kind, ref.rule, ref.reason)
