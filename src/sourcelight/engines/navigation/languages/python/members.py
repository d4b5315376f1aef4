"""Members of Python modules and classes, the values of annotations, and values in general.

A value (`PythonValue`) is one thing that an expression may be, such as an instance of a class. `PythonMembers` finds
the attributes of a value, `PythonAnnotations` reads types; `inference` adds the values of expressions.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sourcelight.engines.navigation.languages.python.names import PythonNames, PythonRef
from sourcelight.engines.navigation.languages.python.scopes import PythonBinding, PythonModel, PythonScope
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.nodes import children_of, code_of, field_of, field_text, first_child, text_of
from sourcelight.engines.symbols import parse_tree

if TYPE_CHECKING:
    from tree_sitter import Node


MAX_DEPTH = 20
"""Maximum nested steps of inference."""

MAX_ALTERNATIVES = 3
"""Maximum values per expression."""

_MAX_BASES = 40
"""Maximum classes to look at for one member: hostile classes inherit without end."""

_MAX_QUOTED_BYTES = 1_000
"""Maximum length of a quoted annotation to parse; longer strings are no types."""

_SETTERS = (b".setter", b".deleter")
_BUILTINS = frozenset({b"str", b"int", b"float", b"bytes", b"bool", b"object", b"complex", b"bytearray"})

_FIRST = frozenset({b"Optional", b"Annotated", b"Final", b"ClassVar", b"Required", b"NotRequired", b"ReadOnly",
                    b"Awaitable", b"AsyncContextManager", b"ContextManager", b"AbstractContextManager",
                    b"AbstractAsyncContextManager", b"TypeGuard", b"InitVar"})  # fmt: skip
"""Generic types that mean their first argument."""

_LISTS = frozenset({b"List", b"list", b"Sequence", b"Iterable", b"Iterator", b"Set", b"set", b"FrozenSet",
                    b"frozenset", b"Tuple", b"tuple", b"Deque", b"deque", b"Collection", b"Generator",
                    b"AsyncIterator", b"AsyncIterable", b"AsyncGenerator", b"MutableSequence", b"MutableSet",
                    b"AbstractSet", b"Reversible", b"KeysView"})  # fmt: skip

_MAPS = frozenset({b"Dict", b"dict", b"Mapping", b"MutableMapping", b"DefaultDict", b"defaultdict", b"OrderedDict",
                   b"ChainMap", b"WeakValueDictionary"})  # fmt: skip


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
        marks = [text_of(decorator).rstrip() for decorator in binding.decorators]
        is_overload = any(decorator.endswith(b"overload") for decorator in marks)
        is_setter = any(decorator.endswith(_SETTERS) for decorator in marks)
        return is_overload, is_setter, -binding.start

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


class PythonAnnotations(PythonMembers):
    """Read annotations."""

    depth = 0

    def annotation_values(
        self, document: Document, scope: PythonScope, node: Node | None, offset: int = -1
    ) -> list[PythonValue]:
        """Return the values that an annotation allows."""
        if node is None or self.depth >= MAX_DEPTH:
            return []

        offset = node.start_byte if offset < 0 else offset
        self.depth += 1
        try:
            return first_distinct(self._allowed_values(document, scope, node, offset))
        finally:
            self.depth -= 1

    def _allowed_values(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        kind = node.type
        # `A | B` is a binary operator.
        if kind in {"type", "parenthesized_expression", "union_type", "binary_operator"}:
            return self._values_of_types(document, scope, node.named_children, offset)
        if kind == "string":
            return self._quoted_annotation(document, scope, node, offset)
        if kind in {"generic_type", "subscript"}:
            return self._generic_values(document, scope, node, offset)

        if kind in {"identifier", "attribute", "member_type"}:
            if text_of(node).rpartition(b".")[2] == b"Self":
                return self._instance_around(document, scope)
            return self._class_instances(document, scope, node, offset)

        return []

    def _values_of_types(
        self, document: Document, scope: PythonScope, nodes: Iterable[Node], offset: int
    ) -> list[PythonValue]:
        """Return the values that several annotations allow, one annotation after the other."""
        values: list[PythonValue] = []
        for node in nodes:
            values += self.annotation_values(document, scope, node, offset)
        return values

    def _instance_around(self, document: Document, scope: PythonScope) -> list[PythonValue]:
        """Return an instance of the class around a scope, which ``Self`` means."""
        holder = scope.enclosing_class
        if holder is None:
            return []

        ref = self.class_ref(document, holder)
        return [PythonValue("instance", ref)] if ref is not None else []

    def _class_instances(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        """Return instances of a named class, or the values of an alias."""
        refs: list[PythonRef] = []
        if node.type == "identifier":
            refs = self.lookup(document, scope, text_of(node), offset)
            if not refs and text_of(node) in _BUILTINS:
                return [PythonValue("outside")]
        else:
            name = node.child_by_field_name("attribute") or node.named_children[-1]
            holder = node.child_by_field_name("object") or node.named_children[0]
            for value in self.infer(document, scope, holder, offset):
                refs += self.members(value, text_of(name))

        values: list[PythonValue] = []
        for target in self.follow(refs)[:MAX_ALTERNATIVES]:
            binding = target.binding
            if binding is None:
                continue
            if self.is_outside(target):
                values.append(PythonValue("outside"))
                continue

            if binding.kind == "class":
                values.append(PythonValue("instance", target))
            elif binding.kind == "variable":
                values += self._alias_values(target, binding)

            if values:
                break

        return values

    def _alias_values(self, ref: PythonRef, binding: PythonBinding) -> list[PythonValue]:
        """Return the values of a type that an assignment names: an alias, a TypeVar by its bound, a NewType's base."""
        right = binding.node.child_by_field_name("right")
        if right is None or right.type != "call":
            return self.annotation_values(ref.document, binding.scope, right)

        name = field_text(right, "function").rpartition(b".")[2]
        arguments = children_of(field_of(right, "arguments"))
        if name == b"NewType" and len(arguments) > 1:
            return self.annotation_values(ref.document, binding.scope, arguments[1])

        if name == b"TypeVar":
            for argument in arguments:
                if argument.type == "keyword_argument" and field_text(argument, "name") == b"bound":
                    return self.annotation_values(ref.document, binding.scope, argument.child_by_field_name("value"))

        return []

    def _quoted_annotation(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        text = text_of(node).strip(b"\"'rRbBuU \n")
        if not text or len(text) > _MAX_QUOTED_BYTES:
            return []
        return self.annotation_values(document, scope, parse_expression(text), offset)

    def _generic_values(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:  # noqa: PLR0911 - one return for each rule
        parts = node.named_children
        if not parts:
            return []

        base, arguments = parts[0], parts[1:]
        if len(arguments) == 1 and arguments[0].type == "type_parameter":
            arguments = arguments[0].named_children

        name = text_of(base).rpartition(b".")[2]
        if name == b"Union":
            return self._values_of_types(document, scope, arguments, offset)

        if name in _FIRST:
            inner = self._values_of_types(document, scope, arguments[:1], offset)
            if name.endswith(b"ContextManager") and inner:
                return [PythonValue("generator", items=tuple(inner))]
            return inner

        if name == b"Coroutine":
            # `Coroutine[Yielded, Sent, Returned]`: `await` gives the last.
            return self._values_of_types(document, scope, arguments[-1:], offset)
        if name in {b"Type", b"type"}:
            inner = self._values_of_types(document, scope, arguments[:1], offset)
            return [PythonValue("class", value.ref) for value in inner if value.kind == "instance"]

        if name in _LISTS:
            item_types = arguments if name.lower() == b"tuple" else arguments[:1]
            items = self._values_of_types(document, scope, item_types, offset)
            return [PythonValue("container", items=tuple(items))]

        if name in _MAPS:
            items = self._values_of_types(document, scope, arguments[1:2], offset)
            keys = self._values_of_types(document, scope, arguments[:1], offset)
            return [PythonValue("container", items=tuple(items), keys=tuple(keys))]

        return self.annotation_values(document, scope, base, offset)


def parse_expression(text: bytes) -> Node | None:
    """Parse a quoted annotation on its own."""
    tree = parse_tree("Python", text, time.monotonic() + 1.0)
    statement = first_child(tree.root_node) if tree is not None else None
    if statement is None or statement.type != "expression_statement":
        return None
    return first_child(statement)
