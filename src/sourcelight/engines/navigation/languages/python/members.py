"""Members of Python modules and classes, the values of annotations, and values in general."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sourcelight.engines.navigation.languages.python.names import PythonNames, PythonRef
from sourcelight.engines.navigation.languages.python.scopes import PythonBinding, PythonModel, PythonScope
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.symbols import parse_tree

if TYPE_CHECKING:
    from tree_sitter import Node


MAX_DEPTH = 20
"""Maximum nested steps of inference."""

MAX_ALTERNATIVES = 3
"""Maximum values per expression."""

_MAX_BASES = 40
_SETTERS = (b".setter", b".deleter")
_BUILTINS = frozenset({b"str", b"int", b"float", b"bytes", b"bool", b"object", b"complex", b"bytearray"})

_FIRST = frozenset({b"Optional", b"Annotated", b"Final", b"ClassVar", b"Required", b"NotRequired", b"ReadOnly",
                    b"Awaitable", b"AsyncContextManager", b"ContextManager", b"AbstractContextManager",
                    b"AbstractAsyncContextManager", b"TypeGuard", b"InitVar"})  # fmt: skip

_LISTS = frozenset({b"List", b"list", b"Sequence", b"Iterable", b"Iterator", b"Set", b"set", b"FrozenSet",
                    b"frozenset", b"Tuple", b"tuple", b"Deque", b"deque", b"Collection", b"Generator",
                    b"AsyncIterator", b"AsyncIterable", b"AsyncGenerator", b"MutableSequence", b"MutableSet",
                    b"AbstractSet", b"Reversible", b"KeysView"})  # fmt: skip

_MAPS = frozenset({b"Dict", b"dict", b"Mapping", b"MutableMapping", b"DefaultDict", b"defaultdict", b"OrderedDict",
                   b"ChainMap", b"WeakValueDictionary"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class PythonValue:
    """A possible value of an expression: a module, class, instance, function or container.

    `items` are what iterating over it or subscripting gives, `keys` what iterating over a mapping gives. `owner` is
    the class through which a function was reached. What is ``outside`` is known, but in no repository: strings, what
    other modules give.
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
        return [
            PythonRef(ref.document, b) for b in (*scope.bindings.get(name, []), *self.attributes(scope).get(name, []))
        ]

    def parameter_named(self, value: PythonValue, name: bytes) -> list[PythonRef]:
        """Return the parameter that a keyword argument of a call to `value` names, or the field of a class."""
        if value.kind == "instance":
            return [r for ref in self.members(value, b"__call__")[:1] for r in self._parameters(ref, name)]
        if value.kind == "function" and value.ref is not None:
            return self._parameters(value.ref, name)

        if value.kind == "class" and value.ref is not None:
            # A keyword of a call of a class is a parameter of its constructor; without one (dataclass, NamedTuple) it
            # is a field.
            for method in (b"__init__", b"__new__"):
                for ref in self.members(value, method)[:1]:
                    parameters = [r for end in self.follow([ref]) for r in self._parameters(end, name)]
                    if parameters:
                        return parameters
            return self.members(value, name)

        return []

    def _parameters(self, ref: PythonRef, name: bytes) -> list[PythonRef]:
        binding = ref.binding
        if binding is None or binding.kind != "function":
            return []
        scope = binding.scope.model.scope(binding.node, binding.scope)
        return [PythonRef(ref.document, b) for b in scope.bindings.get(name, []) if b.kind == "parameter"]

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
        name = scope.node.child_by_field_name("name")
        if name is None or scope.parent is None:
            return None
        bindings = scope.parent.bindings.get(name.text or b"", [])
        binding = next((b for b in bindings if b.node.start_byte == scope.node.start_byte), None)
        return PythonRef(document, binding) if binding is not None else None


def _has_value(binding: PythonBinding) -> bool:
    """Return whether a binding has a value, not only an annotation."""
    return binding.node.type != "assignment" or binding.node.child_by_field_name("right") is not None


def _members_first(bindings: list[PythonBinding]) -> list[PythonBinding]:
    """Sort the bindings of one member: getters before setters, implementations before overloads."""

    def rank(binding: PythonBinding) -> tuple[bool, bool, int]:
        marks = [(decorator.text or b"").rstrip() for decorator in binding.decorators]
        overload = any(decorator.endswith(b"overload") for decorator in marks)
        return overload, any(decorator.endswith(_SETTERS) for decorator in marks), -binding.start

    return sorted(bindings, key=rank)


def _assigned_attributes(model: PythonModel, scope: PythonScope) -> dict[bytes, list[PythonBinding]]:
    attributes: dict[bytes, list[PythonBinding]] = {}
    methods = [b for bindings in scope.bindings.values() for b in bindings if b.kind == "function"]
    for method in sorted(methods, key=lambda b: (b.name != b"__init__", b.start)):
        parameters = method.node.child_by_field_name("parameters")
        first = (
            next((child for child in parameters.named_children if child.type != "comment"), None)
            if parameters
            else None
        )
        while first is not None and first.type != "identifier":
            first = first.named_children[0] if first.named_children else None

        if first is None or not first.text:
            continue

        body = method.node.child_by_field_name("body")
        # A search in the bytes spares the walk of methods that assign nothing to `self`.
        if body is None or first.text + b"." not in model.text[body.start_byte : body.end_byte]:
            continue

        inner = model.scope(method.node, scope)
        for name, node, kind, steps in _attribute_targets(body, first.text):
            binding = PythonBinding(
                kind=kind,
                name=name.text or b"",
                start=name.start_byte,
                end=name.end_byte,
                node=node,
                scope=inner,
                bound_from=node.end_byte,
                steps=steps,
            )
            attributes.setdefault(binding.name, []).append(binding)

    return attributes


_Target = tuple["Node", "Node", Literal["variable", "loop", "with"], tuple[int, ...]]


def _attribute_targets(body: Node, first: bytes) -> Iterator[_Target]:
    pending = [body]
    while pending:
        node = pending.pop()
        kind = node.type
        if kind in {"expression_statement", "block"} or kind.endswith(("clause", "_item")):
            pending += reversed(node.named_children)
        elif kind in {"assignment", "augmented_assignment"}:
            yield from _targets_in(node.child_by_field_name("left"), node, "variable", first)
            right = node.child_by_field_name("right")
            if right is not None and right.type == "assignment":
                pending.append(right)
        elif kind == "for_statement":
            yield from _targets_in(node.child_by_field_name("left"), node, "loop", first)
            pending += reversed(node.named_children)
        elif kind == "as_pattern":
            alias = node.child_by_field_name("alias")
            if alias is not None:
                yield from _targets_in(alias.named_children[0] if alias.named_children else None, node, "with", first)
        elif kind.endswith("statement") or kind in {"function_definition", "decorated_definition"}:
            pending += reversed(node.named_children)


def _targets_in(
    target: Node | None, node: Node, kind: Literal["variable", "loop", "with"], first: bytes
) -> Iterator[_Target]:
    pending: list[tuple[Node, tuple[int, ...]]] = [(target, ())] if target is not None else []
    while pending:
        part, steps = pending.pop()
        if part.type == "attribute":
            holder, name = part.child_by_field_name("object"), part.child_by_field_name("attribute")
            if holder is not None and name is not None and holder.text == first:
                yield name, node, kind, steps
        elif part.type in {"pattern_list", "tuple_pattern", "list_pattern", "tuple"}:
            pending += [(child, (*steps, index)) for index, child in reversed(list(enumerate(part.named_children)))]


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

    def _allowed_values(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:  # noqa: PLR0911 - one return for each rule
        kind = node.type
        if kind in {"type", "parenthesized_expression", "union_type"}:
            return [v for c in node.named_children for v in self.annotation_values(document, scope, c, offset)]
        if kind == "binary_operator":
            return [v for c in node.named_children for v in self.annotation_values(document, scope, c, offset)]
        if kind == "string":
            return self._quoted_annotation(document, scope, node, offset)
        if kind in {"generic_type", "subscript"}:
            return self._generic_values(document, scope, node, offset)

        if kind in {"identifier", "attribute", "member_type"}:
            if (node.text or b"").rpartition(b".")[2] == b"Self":
                holder = scope.enclosing_class
                ref = self.class_ref(document, holder) if holder is not None else None
                return [PythonValue("instance", ref)] if ref is not None else []
            return self._class_instances(document, scope, node, offset)

        return []

    def _class_instances(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        """Return instances of a named class, or the values of an alias."""
        refs: list[PythonRef]
        if node.type == "identifier":
            refs = self.lookup(document, scope, node.text or b"", offset)
        else:
            name = node.child_by_field_name("attribute") or node.named_children[-1]
            holder = node.child_by_field_name("object") or node.named_children[0]
            refs = [r for v in self.infer(document, scope, holder, offset) for r in self.members(v, name.text or b"")]

        if not refs and node.type == "identifier" and (node.text or b"") in _BUILTINS:
            return [PythonValue("outside")]

        values: list[PythonValue] = []
        for end in self.follow(refs)[:MAX_ALTERNATIVES]:
            binding = end.binding
            if binding is None:
                continue
            if self.is_outside(end):
                values.append(PythonValue("outside"))
                continue

            if binding.kind == "class":
                values.append(PythonValue("instance", end))
            elif binding.kind == "variable":
                right = binding.node.child_by_field_name("right")
                if right is not None and right.type == "call":
                    values += self._constructed_type(end, binding, right)
                else:
                    values += self.annotation_values(end.document, binding.scope, right)

            if values:
                break

        return values

    def _constructed_type(self, ref: PythonRef, binding: PythonBinding, call: Node) -> list[PythonValue]:
        """Return the bound of a TypeVar or the base of a NewType."""
        function, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        name = ((function.text if function is not None else None) or b"").rpartition(b".")[2]
        for argument in arguments.named_children if arguments is not None else ():
            key = argument.child_by_field_name("name")
            if name == b"TypeVar" and argument.type == "keyword_argument" and key is not None and key.text == b"bound":
                return self.annotation_values(ref.document, binding.scope, argument.child_by_field_name("value"))

        if name == b"NewType" and arguments is not None and len(arguments.named_children) > 1:
            return self.annotation_values(ref.document, binding.scope, arguments.named_children[1])

        return []

    def _quoted_annotation(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        text = (node.text or b"").strip(b"\"'rRbBuU \n")
        if not text or len(text) > 1000:
            return []
        tree = parse_expression(text)
        if tree is not None:
            return self.annotation_values(document, scope, tree, offset)
        return []

    def _generic_values(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:  # noqa: PLR0911 - one return for each rule
        parts = node.named_children
        if not parts:
            return []

        base, arguments = parts[0], parts[1:]
        if len(arguments) == 1 and arguments[0].type == "type_parameter":
            arguments = arguments[0].named_children

        name = (base.text or b"").rpartition(b".")[2]
        if name == b"Union":
            return [v for argument in arguments for v in self.annotation_values(document, scope, argument, offset)]

        if name in _FIRST:
            inner = self.annotation_values(document, scope, arguments[0] if arguments else None, offset)
            if name.endswith(b"ContextManager") and inner:
                return [PythonValue("generator", items=tuple(inner))]
            return inner

        if name == b"Coroutine":
            return self.annotation_values(document, scope, arguments[-1] if arguments else None, offset)
        if name in {b"Type", b"type"}:
            inner = self.annotation_values(document, scope, arguments[0] if arguments else None, offset)
            return [PythonValue("class", v.ref) for v in inner if v.kind == "instance"]

        if name in _LISTS:
            item_types = arguments if name.lower() == b"tuple" else arguments[:1]
            items = [v for item_type in item_types for v in self.annotation_values(document, scope, item_type, offset)]
            return [PythonValue("container", items=tuple(items))]

        if name in _MAPS:
            items = self.annotation_values(document, scope, arguments[-1] if len(arguments) > 1 else None, offset)
            keys = self.annotation_values(document, scope, arguments[0] if arguments else None, offset)
            return [PythonValue("container", items=tuple(items), keys=tuple(keys))]

        return self.annotation_values(document, scope, base, offset)


def parse_expression(text: bytes) -> Node | None:
    """Parse a quoted annotation on its own."""
    tree = parse_tree("Python", text, time.monotonic() + 1.0)
    root = tree.root_node if tree is not None else None
    statement = root.named_children[0] if root is not None and root.named_children else None
    if statement is None or statement.type != "expression_statement" or not statement.named_children:
        return None
    return statement.named_children[0]
