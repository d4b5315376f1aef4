"""Resolve identifiers by scopes, then members of declared types, then the language's imports.

A use decides the way: an import or a qualified name is left to the language, a member is looked up in the classes that
the type of its receiver means and in their bases, and a plain name in the scopes around it, in the enclosing class, and
outside the file. Each way asks the others, as for the type of a variable that a call initializes; steps are counted and
names under way are remembered, since code may be circular or hostile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from sourcelight.engines.navigation.languages.declared import (
    CODE,
    NAMED_OWNER,
    TYPES,
    Declaration,
    DeclarationModel,
    DeclarationRef,
    ModuleRef,
    NameUse,
    SyntaxRules,
    TypeStep,
    fit_members,
    innermost,
    misfit,
)
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import definitions_named
from sourcelight.engines.navigation.nodes import nearest_index, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.language import Session
    from sourcelight.engines.navigation.model import Project

# Bounds the time for hostile code, whose types can refer to each other without end.
_MAX_STEPS = 20
_MAX_BASES = 40
"""Bases of a class that are looked through, which may be circular."""

_NO_FIT = 3
"""Rank of no declaration: more than any that `misfit` returns."""


@dataclass(frozen=True, slots=True)
class TypedNode:
    """A type expression in a file."""

    document: Document
    node: Node


@dataclass(frozen=True, slots=True)
class TypeBody:
    """A class, struct or interface with members."""

    document: Document
    node: Node
    name: bytes


class DeclarationRules(SyntaxRules, Protocol):
    """The rules of a language that declarations and imports describe: its syntax, and where names come from."""

    def lookup_outside(
        self, names: NameResolver, document: Document, name: bytes, use: NameUse, offset: int
    ) -> Sequence[DeclarationRef | ModuleRef]:
        """Return the declarations of a plain name outside of the scopes around it: imports, headers, the package."""
        ...

    def lookup_qualified(
        self, names: NameResolver, document: Document, path: tuple[bytes, ...], offset: int
    ) -> list[DeclarationRef | ModuleRef]:
        """Return the declarations of a qualified name."""
        ...

    def import_target(self, names: NameResolver, document: Document, module: str, member: str) -> Document | None:
        """Return the file that an import means, see `Language.import_target`."""
        ...

    def module_names(self, document: Document) -> Collection[str]:
        """Return the names under which other files import this one."""
        ...

    def exports(self, project: Project) -> Mapping[str, Any]:
        """Return the names under which other repositories import parts of this one."""
        ...


class NameResolver:
    """Look up names of one language within one call."""

    def __init__(self, session: Session, rules: DeclarationRules) -> None:
        self.session = session
        self.rules = rules
        # Depth of nested questions, over all methods: types, members and declarations ask each other.
        self._steps = 0
        self._busy: set[tuple[tuple[str, str, bytes], int]] = set()

    def model(self, document: Document) -> DeclarationModel | None:
        """Return the parsed file, or None if it has another language or can't be parsed."""
        if document.language not in self.rules.names:
            return None
        return self.session.parsed_file(document, DeclarationModel)

    def refs_at(
        self, document: Document, offset: int, path: list[Node] | None = None
    ) -> Sequence[DeclarationRef | ModuleRef]:
        """Return the declarations of the identifier at a byte offset, best first; `path` saves walking down to it."""
        model = self.model(document)
        key = document.key, offset

        # `_busy` ends circles such as a variable whose value is computed from itself.
        if model is None or self._steps > _MAX_STEPS or key in self._busy:
            return []

        self._steps += 1
        self._busy.add(key)
        try:
            path = path if path is not None else model.path_to(offset)
            if path[-1].type in self.rules.identifiers:
                return self._refs_of(document, model, path)
            return []
        finally:
            self._busy.discard(key)
            self._steps -= 1

    def _refs_of(
        self, document: Document, model: DeclarationModel, path: list[Node]
    ) -> Sequence[DeclarationRef | ModuleRef]:
        leaf = path[-1]
        name = text_of(leaf)
        declaration = self.rules.declaration_at(path)
        if declaration is not None and declaration.start == leaf.start_byte:
            return [DeclarationRef(document=document, declaration=declaration, rule="scope", reason="the declaration")]

        use = self.rules.use_of(path)
        if use.is_import or (use.receiver is None and len(use.path) > 1):
            return self.rules.lookup_qualified(self, document, use.path, leaf.start_byte)
        if use.fields_of is not None:
            return self._fields(document, use.fields_of, name)

        if use.receiver is not None:
            members = self.members_of(document, use.receiver, name, use)
            if members or len(use.path) < 2:
                return members
            return self.rules.lookup_qualified(self, document, use.path, leaf.start_byte)

        return self.lookup_plain(document, model, path, name, use)

    # Names on their own.

    def lookup_plain(
        self, document: Document, model: DeclarationModel, path: list[Node], name: bytes, use: NameUse
    ) -> Sequence[DeclarationRef | ModuleRef]:
        """Return the declarations of a plain name."""
        offset = path[-1].start_byte
        # A declaration is visible from its own position on: an earlier use of the name means an outer one.
        in_scope = [
            declaration
            for declaration in model.declarations(name)
            if declaration.scope.start_byte <= offset < declaration.scope.end_byte
            and (declaration.visible <= offset or declaration.start == offset)
            and (not declaration.is_member or self.rules.members_in_scope)
        ]

        # Several remain where a language allows one name for different things, such as a type and a function.
        inner = innermost(self.rules, in_scope, use)
        rank = min((self._misfit(declaration, use) for declaration in inner), default=_NO_FIT)
        local_refs = [
            DeclarationRef(document=document, declaration=declaration, rule="scope", reason="in scope")
            for declaration in inner
        ]

        # A prototype at the top of a file leads to its definition elsewhere; anything else that fits is the answer.
        if rank == 0 and (inner[0].scope.parent is not None or not inner[0].is_prototype):
            return local_refs

        if self.rules.members_in_scope:
            for node in reversed(path[:-1]):
                if node.type in self.rules.classes:
                    members = self.members(TypeBody(document, node, self.class_name(node)), name, use)
                    if members:
                        return [replace(ref, rule="scope", reason="member of the enclosing class") for ref in members]

        outer_refs = self.rules.lookup_outside(self, document, name, use, offset)
        if outer_refs and isinstance(outer_refs[0], DeclarationRef) and local_refs:
            outer_rank = self._misfit(outer_refs[0].declaration, use)
            if outer_rank < rank or (outer_rank == rank and inner[0].is_prototype):
                return outer_refs
            return local_refs

        return outer_refs or local_refs

    def _misfit(self, declaration: Declaration, use: NameUse) -> int:
        return misfit(declaration, use, separate_function_names=self.rules.separate_function_names)

    # Members.

    def members_of(self, document: Document, receiver: Node, name: bytes, use: NameUse) -> list[DeclarationRef]:
        """Return the members of a receiver by name."""
        inferred = self.infer(document, receiver)
        if inferred is None:
            return []
        return self._members_of_type(inferred, name, use)

    def _fields(self, document: Document, node: Node, name: bytes) -> list[DeclarationRef]:
        """Return the fields that a literal sets by name, or else other members, such as a setter."""
        members = self._members_of_type(TypedNode(document, node), name, NameUse(role="keyword"))
        fields = [ref for ref in members if ref.declaration.kind not in CODE]
        return fields or members

    def _members_of_type(self, typed: TypedNode, name: bytes, use: NameUse) -> list[DeclarationRef]:
        members: list[DeclarationRef] = []
        for body in self.type_bodies(typed):
            members += self.members(body, name, use)
        return members

    def members(self, body: TypeBody, name: bytes, use: NameUse) -> list[DeclarationRef]:
        """Return the members of a class by name, else the members of its supertypes."""
        pending = [body]
        seen: set[tuple[tuple[str, str, bytes], int]] = set()

        # Breadth first, as a member of a nearer class hides one of a farther; bounded, because hierarchies may be
        # circular.
        while pending and len(seen) < _MAX_BASES:
            current = pending.pop(0)
            key = current.document.key, current.node.start_byte
            if key in seen:
                continue

            seen.add(key)
            members = fit_members(self.rules, list(self._own_members(current, name)), use)
            if members:
                return [
                    DeclarationRef(
                        document=document_of_member, declaration=declaration, rule="type", reason="type of the receiver"
                    )
                    for document_of_member, declaration in members
                ]

            for base in self.rules.supertypes(current.node):
                pending += self.type_bodies(TypedNode(current.document, base))

        return []

    def _own_members(self, body: TypeBody, name: bytes) -> Iterator[tuple[Document, Declaration]]:
        model = self.model(body.document)
        seen = set()
        for declaration in model.declarations(name) if model is not None else ():
            if declaration.kind == "constructor":
                continue
            # Members know their class by its position; a member outside its class knows it by name.
            if declaration.owner == body.node.start_byte or (
                declaration.owner == NAMED_OWNER and declaration.owner_name == body.name
            ):
                seen.add(declaration.start)
                yield body.document, declaration

        if not self.rules.members_span_files or not body.name:
            return

        class_name = body.name.decode(errors="replace")
        for candidate in definitions_named(body.document.project, name, self.session.workspace):
            # Without the namespace and type arguments, as the class is named in its own file.
            container = candidate.container.rpartition("::")[2].partition("<")[0]
            if container == class_name and not (candidate.document == body.document and candidate.start in seen):
                declaration_there = self.declaration(candidate.document, name, candidate.start)
                if declaration_there is not None and declaration_there.owner_name == body.name:
                    yield candidate.document, declaration_there

    def declaration(self, document: Document, name: bytes, start: int) -> Declaration | None:
        """Return the declaration of a name at a byte offset."""
        model = self.model(document)
        if model is None:
            return None

        for declaration in model.declarations(name):
            if declaration.start == start:
                return declaration
        return None

    def definitions_in(self, project: Project, name: bytes) -> Iterator[tuple[Document, int, str, str, bool]]:
        """Yield the file, offset, kind, container and prototype flag of each definition of a name in a project."""
        for candidate in definitions_named(project, name, self.session.workspace):
            if candidate.document.language in self.rules.names:
                yield candidate.document, candidate.start, candidate.kind, candidate.container, candidate.declaration

    # Types.

    def infer(self, document: Document, node: Node | None) -> TypedNode | None:
        """Return the type of an expression, as far as declarations state it."""
        if node is None or self._steps > _MAX_STEPS:
            return None
        self._steps += 1
        try:
            return self._infer(document, node)
        finally:
            self._steps -= 1

    def _infer(self, document: Document, node: Node) -> TypedNode | None:
        # A chain of attempts: an expression may have several readings, such as a call that is also a conversion.
        step = self.rules.type_step(node)
        while step is not None:
            typed = self._take_step(document, node, step)
            if typed is not None:
                return typed
            step = step.otherwise
        return None

    def _take_step(self, document: Document, node: Node, step: TypeStep) -> TypedNode | None:
        if step.kind in {"this", "super"}:
            return self._self_type(document, node, step.kind)
        if step.node is None:
            return None
        if step.kind == "type":
            return TypedNode(document, step.node)
        if step.kind == "same":
            return self.infer(document, step.node)
        if step.kind == "element":
            inferred = self.infer(document, step.node)
            return self.element(inferred) if inferred is not None else None

        refs = self.refs_at(document, step.node.start_byte)
        declarations = [ref for ref in refs if isinstance(ref, DeclarationRef)]
        return self.type_of(declarations[0]) if declarations else None

    def _self_type(self, document: Document, node: Node, kind: str) -> TypedNode | None:
        """Return the class that ``this`` means at a node, or its first base for ``super``."""
        model = self.model(document)
        if model is None:
            return None

        path = model.path_to(node.start_byte)
        index = nearest_index(path, self.rules.classes)
        if index is None:
            class_name = self.rules.implied_class(path)
            return TypedNode(document, class_name) if class_name is not None else None

        if kind == "super":
            bases = self.rules.supertypes(path[index])
            return TypedNode(document, bases[0]) if bases else None
        return TypedNode(document, path[index])

    def type_of(self, ref: DeclarationRef) -> TypedNode | None:
        """Return the type of a declaration; a class is its own type."""
        declaration = ref.declaration
        if declaration.kind in TYPES or declaration.kind in {"namespace", "module"}:
            return TypedNode(ref.document, declaration.node)

        if declaration.type is not None:
            # A declared type wins over the value, except for `auto` and `var`, which only stand for the value's type.
            typed: TypedNode | None = TypedNode(ref.document, declaration.type)
            step = self.rules.type_step(declaration.type)
            if step is not None and step.kind == "auto":
                typed = self.infer(ref.document, declaration.value)
        else:
            typed = self.infer(ref.document, declaration.value)

        if typed is not None and declaration.is_element:
            return self.element(typed)

        return typed

    def type_of_class(self, ref: DeclarationRef) -> TypedNode:
        """Return a class as a type."""
        return TypedNode(ref.document, ref.declaration.node)

    def element(self, typed: TypedNode) -> TypedNode | None:
        """Return the element type: the last type argument, or the type itself without arguments."""
        arguments = self.rules.arguments(typed.node)
        # The last one: of a map, iteration and indexing give values.
        return TypedNode(typed.document, arguments[-1]) if arguments else typed

    def type_bodies(self, typed: TypedNode) -> list[TypeBody]:
        """Return the classes of a type: aliases are followed, a type parameter gives its bounds."""
        if self._steps > _MAX_STEPS:
            return []
        self._steps += 1
        try:
            return list(self._type_bodies(typed))
        finally:
            self._steps -= 1

    def _type_bodies(self, typed: TypedNode) -> Iterator[TypeBody]:
        node = typed.node
        has_members = node.type in self.rules.classes and node.type not in self.rules.extensions
        if has_members and node.child_by_field_name("body") is not None:
            yield TypeBody(typed.document, node, self.class_name(node))
            return

        leaf = self.rules.type_leaf(node)
        if leaf is None:
            return

        for ref in self.refs_at(typed.document, leaf.start_byte):
            if not isinstance(ref, DeclarationRef):
                continue

            declaration = ref.declaration
            if declaration.type is not None and declaration.node.type not in self.rules.classes:
                yield from self.type_bodies(TypedNode(ref.document, declaration.type))
            elif declaration.kind == "typeparameter":
                for bound in self.rules.supertypes(declaration.node):
                    yield from self.type_bodies(TypedNode(ref.document, bound))
            else:
                yield TypeBody(ref.document, declaration.node, (ref.document.text[declaration.start : declaration.end]))

            return

    def class_name(self, node: Node) -> bytes:
        """Return the name of a class from its node."""
        leaf = node.child_by_field_name("name")
        if leaf is None:
            # `new Base() { … }` and `impl Type { … }` have a type instead of a name.
            class_type = node.child_by_field_name("type")
            leaf = self.rules.type_leaf(class_type) if class_type is not None else None
        return text_of(leaf)
