"""From an identifier to what declares it: scopes, members by declared types, then what the language lets in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.declared import (
    CODE,
    TYPES,
    Declaration,
    DeclarationModel,
    DeclarationRef,
    DeclarationRules,
    ModuleRef,
    NameUse,
    TypeStep,
)
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import named

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.language import Session
    from sourcelight.engines.navigation.model import Project

_MOST_STEPS = 20
_MOST_BASES = 40


@dataclass(frozen=True, slots=True)
class TypedNode:
    """A type: its expression, and the file that it stands in."""

    document: Document
    node: Node


@dataclass(frozen=True, slots=True)
class TypeBody:
    """A class or the like: the file and the node whose members count."""

    document: Document
    node: Node
    name: bytes


class NameResolver:
    """Looks up names of one language within one call."""

    def __init__(self, session: Session, rules: DeclarationRules) -> None:
        self.session = session
        self.rules = rules
        self._steps = 0
        self._busy: set[tuple[tuple[str, str, bytes], int]] = set()

    def model(self, document: Document) -> DeclarationModel | None:
        """Return the parsed file; None for a file of another language, or one that can't be parsed."""
        if document.language not in self.rules.names:
            return None
        return self.session.parsed(document, DeclarationModel)

    def of(self, document: Document, offset: int) -> Sequence[DeclarationRef | ModuleRef]:
        """Give what the identifier at a byte offset means, best first."""
        model = self.model(document)
        key = document.key, offset
        if model is None or self._steps > _MOST_STEPS or key in self._busy:
            return []
        self._steps += 1
        self._busy.add(key)
        try:
            path = model.path_to(offset)
            return self._of(document, model, path) if path[-1].type in self.rules.identifiers else []
        finally:
            self._busy.discard(key)
            self._steps -= 1

    def _of(
        self, document: Document, model: DeclarationModel, path: list[Node]
    ) -> Sequence[DeclarationRef | ModuleRef]:
        leaf = path[-1]
        name = leaf.text or b""
        made = self.rules.declared(path)
        if made is not None and made.start == leaf.start_byte:
            return [DeclarationRef(document, made, "scope", "the declaration")]
        use = self.rules.use(path)
        if use.imported or (use.receiver is None and len(use.path) > 1):
            return self.rules.qualified(self, document, use.path, leaf.start_byte)
        if use.fields_of is not None:
            return self._fields(document, use.fields_of, name)
        if use.receiver is not None:
            return self.members_of(document, use.receiver, name, use) or (
                self.rules.qualified(self, document, use.path, leaf.start_byte) if len(use.path) > 1 else []
            )
        return self.plain(document, model, path, name, use)

    # Names on their own.

    def plain(
        self, document: Document, model: DeclarationModel, path: list[Node], name: bytes, use: NameUse
    ) -> Sequence[DeclarationRef | ModuleRef]:
        """Give what a name on its own means."""
        offset = path[-1].start_byte
        around = [
            made
            for made in model.declarations(name)
            if made.scope.start_byte <= offset < made.scope.end_byte
            and (made.visible <= offset or made.start == offset)
            and (made.owner == -1 or self.rules.members_plain)
        ]
        inner = innermost(self.rules, around, use)
        rank = min((fitting(made, use, apart=self.rules.functions_apart) for made in inner), default=3)
        own = [DeclarationRef(document, made, "scope", "in scope") for made in inner]
        if rank == 0 and (inner[0].scope.parent is not None or not inner[0].sketch):
            return own
        if self.rules.members_plain:
            for node in reversed(path[:-1]):
                if node.type in self.rules.classes:
                    found = self.members(TypeBody(document, node, self.title(node)), name, use)
                    if found:
                        return [replace(ref, how="scope", reason="member of the enclosing class") for ref in found]
        others = self.rules.outside(self, document, name, use, offset)
        if others and isinstance(others[0], DeclarationRef) and own:
            better = fitting(others[0].made, use, apart=self.rules.functions_apart)
            return others if better < rank or (better == rank and inner[0].sketch) else own
        return others or own

    # Members.

    def members_of(self, document: Document, receiver: Node, name: bytes, use: NameUse) -> list[DeclarationRef]:
        """Give the members of that name of what stands before the dot."""
        held = self.infer(document, receiver)
        return [ref for one in self.classes(held) for ref in self.members(one, name, use)] if held is not None else []

    def _fields(self, document: Document, node: Node, name: bytes) -> list[DeclarationRef]:
        found = [
            ref
            for one in self.classes(TypedNode(document, node))
            for ref in self.members(one, name, NameUse(role="keyword"))
        ]
        return [ref for ref in found if ref.made.kind not in CODE] or found

    def members(self, held: TypeBody, name: bytes, use: NameUse) -> list[DeclarationRef]:
        """Give the members of a class by name: its own, then those of what it extends."""
        waiting = [held]
        seen: set[tuple[tuple[str, str, bytes], int]] = set()
        while waiting and len(seen) < _MOST_BASES:
            one = waiting.pop(0)
            key = one.document.key, one.node.start_byte
            if key in seen:
                continue
            seen.add(key)
            found = fit_members(self.rules, list(self._own(one, name)), use)
            if found:
                return [DeclarationRef(where, made, "type", "type of what stands before it") for where, made in found]
            for base in self.rules.supertypes(one.node):
                waiting += self.classes(TypedNode(one.document, base))
        return []

    def _own(self, held: TypeBody, name: bytes) -> Iterator[tuple[Document, Declaration]]:
        model = self.model(held.document)
        seen = set()
        for made in model.declarations(name) if model is not None else ():
            if made.kind == "constructor":
                continue
            if made.owner == held.node.start_byte or (made.owner == -2 and made.owner_name == held.name):
                seen.add(made.start)
                yield held.document, made
        if not self.rules.scattered or not held.name:
            return
        shown = held.name.decode(errors="replace")
        for one in named(held.document.project, name, self.session.workspace):
            container = one.container.rpartition("::")[2].partition("<")[0]
            if container == shown and not (one.document == held.document and one.start in seen):
                made_there = self.declaration(one.document, name, one.start)
                if made_there is not None and made_there.owner_name == held.name:
                    yield one.document, made_there

    def declaration(self, document: Document, name: bytes, start: int) -> Declaration | None:
        """Give the declaration of a name at a byte offset."""
        model = self.model(document)
        return next((m for m in model.declarations(name) if m.start == start), None) if model is not None else None

    def in_project(self, project: Project, name: bytes) -> Iterator[tuple[Document, int, str, str, bool]]:
        """Give file, offset, kind, container and whether it is a mere announcement of all definitions of a name."""
        for one in named(project, name, self.session.workspace):
            if one.document.language in self.rules.names:
                yield one.document, one.start, one.kind, one.container, one.declaration

    # Types.

    def infer(self, document: Document, node: Node | None) -> TypedNode | None:
        """Give the type of an expression, as far as declarations say it."""
        if node is None or self._steps > _MOST_STEPS:
            return None
        self._steps += 1
        try:
            return self._infer(document, node)
        finally:
            self._steps -= 1

    def _infer(self, document: Document, node: Node) -> TypedNode | None:
        step = self.rules.step(node)
        while step is not None:
            found = self._stepped(document, node, step)
            if found is not None:
                return found
            step = step.otherwise
        return None

    def _stepped(self, document: Document, node: Node, step: TypeStep) -> TypedNode | None:
        if step.kind in {"this", "super"}:
            return self._self(document, node, step.kind)
        if step.node is None:
            return None
        if step.kind == "type":
            return TypedNode(document, step.node)
        if step.kind == "same":
            return self.infer(document, step.node)
        if step.kind == "element":
            held = self.infer(document, step.node)
            return self.element(held) if held is not None else None
        refs = self.of(document, step.node.start_byte)
        first = next((ref for ref in refs if isinstance(ref, DeclarationRef)), None)
        return self.type_of(first) if first is not None else None

    def _self(self, document: Document, node: Node, kind: str) -> TypedNode | None:
        model = self.model(document)
        path = model.path_to(node.start_byte) if model is not None else []
        around = next((one for one in reversed(path) if one.type in self.rules.classes), None)
        if around is None:
            named = self.rules.implied(path) if path else None
            return TypedNode(document, named) if named is not None else None
        if kind == "super":
            bases = self.rules.supertypes(around)
            return TypedNode(document, bases[0]) if bases else None
        return TypedNode(document, around)

    def type_of(self, ref: DeclarationRef) -> TypedNode | None:
        """Give the type of what is declared; a class is its own."""
        made = ref.made
        if made.kind in TYPES or made.kind in {"namespace", "module"}:
            return TypedNode(ref.document, made.node)
        if made.type is not None:
            found: TypedNode | None = TypedNode(ref.document, made.type)
            step = self.rules.step(made.type)
            if step is not None and step.kind == "auto":
                found = self.infer(ref.document, made.value)
        else:
            found = self.infer(ref.document, made.value)
        if found is not None and made.part:
            return self.element(found)
        return found

    def typed(self, ref: DeclarationRef) -> TypedNode:
        """Give a class as a type."""
        return TypedNode(ref.document, ref.made.node)

    def element(self, held: TypedNode) -> TypedNode | None:
        """Give what a type holds: the last of its arguments, or its element; itself where nothing tells."""
        inner = self.rules.arguments(held.node)
        return TypedNode(held.document, inner[-1]) if inner else held

    def classes(self, held: TypedNode) -> list[TypeBody]:
        """Give the classes that a type means: aliases followed, for a type parameter its bounds."""
        if self._steps > _MOST_STEPS:
            return []
        self._steps += 1
        try:
            return list(self._classes(held))
        finally:
            self._steps -= 1

    def _classes(self, held: TypedNode) -> Iterator[TypeBody]:
        node = held.node
        own = node.type in self.rules.classes and node.type not in self.rules.adds
        if own and node.child_by_field_name("body") is not None:
            yield TypeBody(held.document, node, self.title(node))
            return
        leaf = self.rules.type_leaf(node)
        if leaf is None:
            return
        for ref in self.of(held.document, leaf.start_byte):
            if not isinstance(ref, DeclarationRef):
                continue
            made = ref.made
            if made.type is not None and made.node.type not in self.rules.classes:
                yield from self.classes(TypedNode(ref.document, made.type))
            elif made.kind == "typeparameter":
                for bound in self.rules.supertypes(made.node):
                    yield from self.classes(TypedNode(ref.document, bound))
            else:
                yield TypeBody(ref.document, made.node, (ref.document.text[made.start : made.end]))
            return

    def title(self, node: Node) -> bytes:
        """Give the name of a class from its node."""
        leaf = node.child_by_field_name("name")
        if leaf is None and (kind := node.child_by_field_name("type")) is not None:
            leaf = self.rules.type_leaf(kind)
        return (leaf.text or b"") if leaf is not None else b""


def fitting(made: Declaration, use: NameUse, *, apart: bool) -> int:
    """Rank a declaration by whether a use of this form can mean it: 0 it can, more: it hardly can."""
    if use.typed:
        likely = not use.prefers or made.node.type in use.prefers
        return 0 if made.kind in TYPES and likely else 1 if made.kind in TYPES else 2
    if use.role == "attribute" and not use.path:
        return int((made.kind in CODE) is not use.called)
    if use.called:
        return 0 if made.kind in CODE else 2 if made.kind == "typeparameter" else int(apart)
    if use.role == "import":
        return 0
    return int(apart and made.kind in CODE) + (made.kind == "typeparameter")


def missed(language: DeclarationRules, made: Declaration, use: NameUse) -> int:
    """Tell by how much the parameters of a function miss the arguments of a call."""
    if use.count < 0 or made.kind not in CODE:
        return 0
    taken = language.parameters(made.node)
    if taken is None:
        return 0
    return 0 if taken[0] == use.count else 1 if taken[1] else 2


def innermost(language: DeclarationRules, around: list[Declaration], use: NameUse) -> list[Declaration]:
    """Give the declarations of the innermost scope that fit, those with the right number of parameters first."""
    rank = min((fitting(made, use, apart=language.functions_apart) for made in around), default=0)
    fit = [made for made in around if fitting(made, use, apart=language.functions_apart) == rank]
    if not fit:
        return []
    scope = min(made.scope.end_byte - made.scope.start_byte for made in fit)
    inner = [made for made in fit if made.scope.end_byte - made.scope.start_byte == scope]
    last = -max(made.visible for made in inner)
    # Of several that shadow one another the last counts; of overloads the one that takes as many arguments.
    return sorted(
        (made for made in inner if made.kind in CODE or -made.visible == last),
        key=lambda made: (missed(language, made, use), made.sketch, made.start),
    )


def fit_members(
    language: DeclarationRules, found: list[tuple[Document, Declaration]], use: NameUse
) -> list[tuple[Document, Declaration]]:
    """Give members, those that fit a use first."""
    return sorted(
        found,
        key=lambda one: (
            fitting(one[1], use, apart=language.functions_apart),
            missed(language, one[1], use),
            one[1].sketch,
        ),
    )
