"""Values of Python expressions, and the members of modules and classes.

A value (`PythonValue`) is one thing that an expression may be, such as an instance of a class. `PythonMembers` finds
the attributes of a value; `annotations` and `inference` add the values of types and of expressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sourcelight.engines.navigation.languages.python.names import PythonNames, PythonRef, has_decorator
from sourcelight.engines.navigation.languages.python.scopes import PythonBinding, PythonModel, PythonScope
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.nodes import code_of, field_of, field_text, first_child, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


MAX_DEPTH = 20
"""Maximum nested steps of inference."""

MAX_ALTERNATIVES = 3
"""Maximum values per expression."""

_MAX_BASES = 40
"""Maximum classes to look at for one member: hostile classes inherit without end."""

_SETTERS = (b".setter", b".deleter")


@dataclass(frozen=True, slots=True)
class PythonValue:
    """A possible value of an expression: a module, class, instance, function or container.

    `items` are the values that subscripting gives, and iterating, except for mappings, which have `keys` for that.
    `owner` is the class through which a function was reached. An ``outside`` value is known to be declared in no
    repository, such as a string or the result of a package that isn't here.
    """

    kind: Literal["module", "class", "instance", "function", "container", "super", "generator", "outside"]
    ref: PythonRef | None = None
    items: tuple[PythonValue, ...] = ()
    keys: tuple[PythonValue, ...] | None = None
    owner: PythonValue | None = None


def first_distinct(values: Iterable[PythonValue]) -> list[PythonValue]:
    """Return the first `MAX_ALTERNATIVES` values without repetitions."""
    by_key: dict[object, PythonValue] = {}
    for value in values:
        key = (value.kind, value.ref.key if value.ref is not None else (value.items, value.keys))
        by_key.setdefault(key, value)
        if len(by_key) >= MAX_ALTERNATIVES:
            break
    return list(by_key.values())


class PythonMembers(PythonNames):
    """Look up members of modules and classes; `PythonInference` adds the values of expressions."""

    def infer(self, document: Document, scope: PythonScope, node: Node | None, offset: int = -1) -> list[PythonValue]:
        """Return the possible values of an expression."""
        raise NotImplementedError

    def attribute_bindings(self, ref: PythonRef, name: bytes) -> list[PythonRef]:
        """Return all bindings of a name in a class: in its body and through ``self``."""
        scope = self.class_scope(ref)
        if scope is None:
            return []
        bindings = [*scope.bindings.get(name, []), *self.attributes(scope).get(name, [])]
        return [PythonRef(ref.document, binding) for binding in bindings]

    def parameter_named(self, value: PythonValue, name: bytes) -> list[PythonRef]:
        """Return the parameter that a keyword argument of a call to `value` names, or the field of a class."""
        if value.kind == "instance":
            return self._parameters(self.members(value, b"__call__")[:1], name)
        if value.kind == "function" and value.ref is not None:
            return self._parameters([value.ref], name)

        if value.kind == "class" and value.ref is not None:
            # A keyword of a call of a class is a parameter of its constructor; without one (dataclass, NamedTuple) it
            # is a field.
            for method in (b"__init__", b"__new__"):
                constructors = self.follow(self.members(value, method)[:1])
                parameters = self._parameters(constructors, name)
                if parameters:
                    return parameters
            return self.members(value, name)

        return []

    @staticmethod
    def _parameters(functions: Iterable[PythonRef], name: bytes) -> list[PythonRef]:
        """Return the parameters of a name of some functions."""
        parameters: list[PythonRef] = []
        for ref in functions:
            function = ref.binding
            if function is not None and function.kind == "function":
                scope = function.scope.model.scope(function.node, function.scope)
                bindings = [binding for binding in scope.bindings.get(name, []) if binding.kind == "parameter"]
                parameters += [PythonRef(ref.document, binding) for binding in bindings]

        return parameters

    def members(self, value: PythonValue, name: bytes) -> list[PythonRef]:
        """Return the bindings of an attribute of a value, imports not followed."""
        if value.kind == "module" and value.ref is not None:
            return self.member(value.ref.document, name)
        if value.kind in {"class", "instance"} and value.ref is not None:
            return self._class_members(value.ref, name, set())

        if value.kind == "super" and value.ref is not None:
            for base in self._bases(value.ref):
                # The class itself counts as visited: super() starts behind it.
                members = self._class_members(base, name, {value.ref.key})
                if members:
                    return members

        return []

    def class_scope(self, ref: PythonRef) -> PythonScope | None:
        """Return the scope of a class."""
        binding = ref.binding
        if binding is None or binding.node.type != "class_definition":
            return None
        return binding.scope.model.scope(binding.node, binding.scope)

    def _class_members(self, ref: PythonRef, name: bytes, visited: set[object]) -> list[PythonRef]:
        """Return a member from the class body, else from assignments to ``self``, else from the bases in order."""
        # Depth first and left to right, which is the method resolution order except for diamonds.
        if ref.key in visited or len(visited) > _MAX_BASES:
            return []

        visited.add(ref.key)
        scope = self.class_scope(ref)
        if scope is None:
            return []

        bindings = _members_first(scope.bindings.get(name, []))
        # A bare annotation in the class body declares an attribute that `__init__` assigns.
        if not any(map(_has_value, bindings)):
            bindings += self.attributes(scope).get(name, [])

        if bindings:
            return [PythonRef(ref.document, binding) for binding in bindings]

        for base in self._bases(ref):
            members = self._class_members(base, name, visited)
            if members:
                return members

        return []

    def _bases(self, ref: PythonRef) -> Iterator[PythonRef]:
        """Yield the base classes of a class, as far as they are known."""
        binding = ref.binding
        if binding is None:
            return

        for node in code_of(field_of(binding.node, "superclasses")):
            if node.type == "keyword_argument":
                continue

            # `Base[int]` inherits from `Base`.
            base = node.child_by_field_name("value") if node.type == "subscript" else node
            for value in self.infer(ref.document, binding.scope, base)[:1]:
                if value.kind == "class" and value.ref is not None:
                    yield value.ref

    def attributes(self, scope: PythonScope) -> dict[bytes, list[PythonBinding]]:
        """Return the attributes that methods assign through their first parameter; ``__init__`` comes first."""
        model = scope.model
        attributes = model.attributes.get(scope.node.start_byte)
        if attributes is None:
            attributes = _assigned_attributes(model, scope)
            model.attributes[scope.node.start_byte] = attributes
        return attributes

    def method_owner(self, document: Document, scope: PythonScope) -> PythonRef | None:
        """Return the class that a function directly in its body belongs to."""
        if scope.kind == "function" and scope.parent is not None and scope.parent.kind == "class":
            return self.class_ref(document, scope.parent)
        return None

    def class_ref(self, document: Document, scope: PythonScope) -> PythonRef | None:
        """Return the class that opens a scope."""
        if scope.parent is None:
            return None

        for binding in scope.parent.bindings.get(field_text(scope.node, "name"), []):
            if binding.node.start_byte == scope.node.start_byte:
                return PythonRef(document, binding)
        return None


def _has_value(binding: PythonBinding) -> bool:
    """Return whether a binding has a value, not only an annotation."""
    return binding.node.type != "assignment" or binding.node.child_by_field_name("right") is not None


def _members_first(bindings: list[PythonBinding]) -> list[PythonBinding]:
    """Sort the bindings of one member: getters before setters, implementations before overloads."""

    def rank(binding: PythonBinding) -> tuple[bool, bool, int]:
        return has_decorator(binding, b"overload"), has_decorator(binding, *_SETTERS), -binding.start

    return sorted(bindings, key=rank)


def _assigned_attributes(model: PythonModel, scope: PythonScope) -> dict[bytes, list[PythonBinding]]:
    attributes: dict[bytes, list[PythonBinding]] = {}
    for method in _methods_of(scope):
        self_name = _first_parameter(method.node)
        if not self_name:
            continue

        body = method.node.child_by_field_name("body")
        # A search in the bytes spares the walk of methods that assign nothing to `self`.
        if body is None or self_name + b"." not in model.text[body.start_byte : body.end_byte]:
            continue

        inner = model.scope(method.node, scope)
        for target in _attribute_targets(body, self_name):
            binding = PythonBinding(
                kind=target.kind,
                name=text_of(target.name),
                start=target.name.start_byte,
                end=target.name.end_byte,
                node=target.node,
                scope=inner,
                bound_from=target.node.end_byte,
                steps=target.steps,
            )
            attributes.setdefault(binding.name, []).append(binding)

    return attributes


def _methods_of(scope: PythonScope) -> list[PythonBinding]:
    """Return the functions in a class body, ``__init__`` first, the others in order of the text."""
    methods: list[PythonBinding] = []
    for bindings in scope.bindings.values():
        methods += [binding for binding in bindings if binding.kind == "function"]
    return sorted(methods, key=lambda method: (method.name != b"__init__", method.start))


def _first_parameter(function: Node) -> bytes:
    """Return the name of the first parameter of a function; empty without one."""
    parameters = code_of(function.child_by_field_name("parameters"))
    name = parameters[0] if parameters else None
    while name is not None and name.type != "identifier":
        name = first_child(name)
    return text_of(name)


@dataclass(frozen=True, slots=True)
class _AttributeTarget:
    """The name ``x`` of a target ``self.x``, in the statement `node`; `steps` as of `PythonBinding`."""

    name: Node
    node: Node
    kind: Literal["variable", "loop", "with"]
    steps: tuple[int, ...]


def _attribute_targets(body: Node, self_name: bytes) -> Iterator[_AttributeTarget]:
    pending = [body]
    while pending:
        node = pending.pop()
        kind = node.type
        if kind in {"expression_statement", "block"} or kind.endswith(("clause", "_item")):
            pending += reversed(node.named_children)
        elif kind in {"assignment", "augmented_assignment"}:
            yield from _targets_in(node.child_by_field_name("left"), node, "variable", self_name)
            right = node.child_by_field_name("right")
            if right is not None and right.type == "assignment":
                pending.append(right)
        elif kind == "for_statement":
            yield from _targets_in(node.child_by_field_name("left"), node, "loop", self_name)
            pending += reversed(node.named_children)
        elif kind == "as_pattern":
            alias = node.child_by_field_name("alias")
            yield from _targets_in(first_child(alias), node, "with", self_name)
        elif kind.endswith("statement") or kind in {"function_definition", "decorated_definition"}:
            pending += reversed(node.named_children)


def _targets_in(
    target: Node | None, node: Node, kind: Literal["variable", "loop", "with"], self_name: bytes
) -> Iterator[_AttributeTarget]:
    if target is None:
        return

    pending: list[tuple[Node, tuple[int, ...]]] = [(target, ())]
    while pending:
        part, steps = pending.pop()
        if part.type == "attribute":
            name = part.child_by_field_name("attribute")
            if name is not None and field_text(part, "object") == self_name:
                yield _AttributeTarget(name, node, kind, steps)
        elif part.type in {"pattern_list", "tuple_pattern", "list_pattern", "tuple"}:
            elements = list(enumerate(part.named_children))
            pending += [(child, (*steps, index)) for index, child in reversed(elements)]
