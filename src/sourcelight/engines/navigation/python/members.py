"""Members of modules and classes, those that methods assign included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.python.names import Names, Ref
from sourcelight.engines.navigation.python.scopes import Binding, PythonModel, Scope
from sourcelight.engines.navigation.python.values import Value

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_BASES = 40
_SETTERS = (b".setter", b".deleter")


class Members(Names):
    """Finds members; what expressions are is added below."""

    def infer(self, document: Document, scope: Scope, node: Node | None, offset: int = -1) -> list[Value]:
        """Give what an expression may be."""
        raise NotImplementedError

    def attribute_bindings(self, ref: Ref, name: bytes) -> list[Ref]:
        """Give all that a class itself binds under a name: in its body and through ``self``."""
        scope = self.class_scope(ref)
        if scope is None:
            return []
        return [Ref(ref.document, b) for b in (*scope.bindings.get(name, []), *self.attributes(scope).get(name, []))]

    def parameter_named(self, value: Value, name: bytes) -> list[Ref]:
        """Give the parameter that a keyword argument of a call to `value` names, or the field of a class."""
        if value.kind == "instance":
            return [r for ref in self.members(value, b"__call__")[:1] for r in self._parameters(ref, name)]
        if value.kind == "function" and value.ref is not None:
            return self._parameters(value.ref, name)
        if value.kind == "class" and value.ref is not None:
            for method in (b"__init__", b"__new__"):
                for ref in self.members(value, method)[:1]:
                    found = [r for end in self.follow([ref]) for r in self._parameters(end, name)]
                    if found:
                        return found
            return self.members(value, name)
        return []

    def _parameters(self, ref: Ref, name: bytes) -> list[Ref]:
        binding = ref.binding
        if binding is None or binding.kind != "function":
            return []
        scope = binding.scope.model.scope(binding.node, binding.scope)
        return [Ref(ref.document, b) for b in scope.bindings.get(name, []) if b.kind == "parameter"]

    def members(self, value: Value, name: bytes) -> list[Ref]:
        """Give what an attribute of a value means; imports not followed."""
        if value.kind == "module" and value.ref is not None:
            return self.member(value.ref.document, name)
        if value.kind in {"class", "instance"} and value.ref is not None:
            return self._class_members(value.ref, name, set())
        if value.kind == "super" and value.ref is not None:
            for base in self._bases(value.ref):
                found = self._class_members(base, name, {value.ref.place})
                if found:
                    return found
        return []

    def class_scope(self, ref: Ref) -> Scope | None:
        """Give the scope of a class."""
        binding = ref.binding
        if binding is None or binding.node.type != "class_definition":
            return None
        return binding.scope.model.scope(binding.node, binding.scope)

    def _class_members(self, ref: Ref, name: bytes, visited: set[object]) -> list[Ref]:
        """Look in the body of a class, at what its methods assign to ``self``, then in its bases in order."""
        if ref.place in visited or len(visited) > _MOST_BASES:
            return []
        visited.add(ref.place)
        scope = self.class_scope(ref)
        if scope is None:
            return []
        bindings = _members_first(scope.bindings.get(name, []))
        if not any(map(_gives_value, bindings)):
            bindings += self.attributes(scope).get(name, [])
        if bindings:
            return [Ref(ref.document, b) for b in bindings]
        for base in self._bases(ref):
            found = self._class_members(base, name, visited)
            if found:
                return found
        return []

    def _bases(self, ref: Ref) -> Iterator[Ref]:
        binding = ref.binding
        arguments = binding.node.child_by_field_name("superclasses") if binding is not None else None
        if binding is None or arguments is None:
            return
        for node in arguments.named_children:
            expression = node.child_by_field_name("value") if node.type == "subscript" else node
            if node.type not in {"keyword_argument", "comment"}:
                for value in self.infer(ref.document, binding.scope, expression)[:1]:
                    if value.kind == "class" and value.ref is not None:
                        yield value.ref

    def attributes(self, scope: Scope) -> dict[bytes, list[Binding]]:
        """Give what the methods of a class assign to attributes of their first parameter; ``__init__`` first."""
        model = scope.model
        found = model.attributes.get(scope.node.start_byte)
        if found is None:
            found = _assigned(model, scope)
            model.attributes[scope.node.start_byte] = found
        return found

    def method_owner(self, document: Document, scope: Scope) -> Ref | None:
        """Give the class that a function directly in its body belongs to."""
        if scope.kind == "function" and scope.parent is not None and scope.parent.kind == "class":
            return self.class_ref(document, scope.parent)
        return None

    def class_ref(self, document: Document, scope: Scope) -> Ref | None:
        """Give the class that opens a scope."""
        name = scope.node.child_by_field_name("name")
        if name is None or scope.parent is None:
            return None
        held = scope.parent.bindings.get(name.text or b"", [])
        binding = next((b for b in held if b.node.start_byte == scope.node.start_byte), None)
        return Ref(document, binding) if binding is not None else None


def _gives_value(binding: Binding) -> bool:
    """Tell whether a binding is more than the announcement of a type."""
    return binding.node.type != "assignment" or binding.node.child_by_field_name("right") is not None


def _members_first(bindings: list[Binding]) -> list[Binding]:
    """Order what a class binds under one name: getters before setters, what is no overload before those that are."""

    def rank(binding: Binding) -> tuple[bool, bool, int]:
        marks = [(d.text or b"").rstrip() for d in binding.decorators]
        overload = any(mark.endswith(b"overload") for mark in marks)
        return overload, any(mark.endswith(_SETTERS) for mark in marks), -binding.start

    return sorted(bindings, key=rank)


def _assigned(model: PythonModel, scope: Scope) -> dict[bytes, list[Binding]]:
    found: dict[bytes, list[Binding]] = {}
    methods = [b for held in scope.bindings.values() for b in held if b.kind == "function"]
    for method in sorted(methods, key=lambda b: (b.name != b"__init__", b.start)):
        parameters = method.node.child_by_field_name("parameters")
        first = next((c for c in parameters.named_children if c.type != "comment"), None) if parameters else None
        while first is not None and first.type != "identifier":
            first = first.named_children[0] if first.named_children else None
        if first is None or not first.text:
            continue
        body = method.node.child_by_field_name("body")
        if body is None or first.text + b"." not in model.text[body.start_byte : body.end_byte]:
            continue
        inner = model.scope(method.node, scope)
        for name, node, kind, steps in _attribute_targets(body, first.text):
            made = Binding(kind, name.text or b"", name.start_byte, name.end_byte, node, inner, node.end_byte, steps)
            found.setdefault(made.name, []).append(made)
    return found


_Target = tuple["Node", "Node", Literal["variable", "loop", "with"], tuple[int, ...]]


def _attribute_targets(body: Node, first: bytes) -> Iterator[_Target]:
    waiting = [body]
    while waiting:
        node = waiting.pop()
        kind = node.type
        if kind in {"expression_statement", "block"} or kind.endswith(("clause", "_item")):
            waiting += reversed(node.named_children)
        elif kind in {"assignment", "augmented_assignment"}:
            yield from _targets_in(node.child_by_field_name("left"), node, "variable", first)
            right = node.child_by_field_name("right")
            if right is not None and right.type == "assignment":
                waiting.append(right)
        elif kind == "for_statement":
            yield from _targets_in(node.child_by_field_name("left"), node, "loop", first)
            waiting += reversed(node.named_children)
        elif kind == "as_pattern":
            alias = node.child_by_field_name("alias")
            if alias is not None:
                yield from _targets_in(alias.named_children[0] if alias.named_children else None, node, "with", first)
        elif kind.endswith("statement") or kind in {"function_definition", "decorated_definition"}:
            waiting += reversed(node.named_children)


def _targets_in(
    target: Node | None, node: Node, kind: Literal["variable", "loop", "with"], first: bytes
) -> Iterator[_Target]:
    waiting: list[tuple[Node, tuple[int, ...]]] = [(target, ())] if target is not None else []
    while waiting:
        part, steps = waiting.pop()
        if part.type == "attribute":
            holder, name = part.child_by_field_name("object"), part.child_by_field_name("attribute")
            if holder is not None and name is not None and holder.text == first:
                yield name, node, kind, steps
        elif part.type in {"pattern_list", "tuple_pattern", "list_pattern", "tuple"}:
            waiting += [(child, (*steps, at)) for at, child in reversed(list(enumerate(part.named_children)))]
