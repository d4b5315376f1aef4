"""Infer the values of Python expressions from annotations, constructors and return statements.

A value (`PythonValue`) is one thing that an expression may be; an expression has up to three. The type of a node
chooses the method that reads it, in the table at the end of `PythonInference`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sourcelight.engines.navigation.languages.python.fixtures import Fixtures, is_fixture
from sourcelight.engines.navigation.languages.python.members import (
    MAX_ALTERNATIVES,
    MAX_DEPTH,
    PythonValue,
    first_distinct,
)
from sourcelight.engines.navigation.languages.python.names import PythonRef, has_decorator, mentions_in_decorators
from sourcelight.engines.navigation.languages.python.scopes import PythonBinding, PythonScope
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.nodes import child_of_type, code_of, field_of, field_text, first_child, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

# Expressions and builtins by what is known of their values.
_OUTSIDE = frozenset({
    "string", "concatenated_string", "integer", "float", "true", "false", "none", "comparison_operator", "not_operator",
})  # fmt: skip
_BUILTIN_CALLS = frozenset({
    b"str", b"int", b"float", b"bytes", b"bool", b"len", b"repr", b"open", b"dict", b"range", b"zip", b"map", b"filter",
    b"sum", b"abs", b"any", b"all", b"bytearray", b"memoryview", b"format", b"ord", b"chr", b"round", b"hash", b"id",
    b"isinstance", b"issubclass", b"hasattr", b"callable", b"input", b"vars", b"dir", b"print",
})  # fmt: skip
_SAME = frozenset({b"list", b"sorted", b"set", b"tuple", b"iter", b"reversed", b"frozenset", b"deque", b"copy",
                   b"deepcopy", b"replace", b"chain"})  # fmt: skip
_ITEM_GETTERS = frozenset({b"next", b"min", b"max", b"anext"})
_PROPERTIES = (b"property", b"cached_property", b".getter", b"lazy_property", b"classproperty", b"reify",
               b"hybrid_property")  # fmt: skip

_INNER = frozenset({"function_definition", "class_definition", "lambda"})

_OPERATOR_METHODS = {
    "/": b"__truediv__",
    "+": b"__add__",
    "|": b"__or__",
    "-": b"__sub__",
    "*": b"__mul__",
    "&": b"__and__",
}

_MAX_ELEMENTS = 4
"""Elements of a list or dictionary that are read; the elements of a longer one are mostly alike."""


class PythonInference(Fixtures):
    """Infer values within one call."""

    def infer(self, document: Document, scope: PythonScope, node: Node | None, offset: int = -1) -> list[PythonValue]:
        """Return up to three possible values of an expression, the most likely first.

        `offset` is the position for looking up names, if the expression isn't part of the file's own tree.
        """
        if node is None or self.depth >= MAX_DEPTH:
            return []

        handler = self._EXPRESSIONS.get(node.type)
        if handler is None:
            return [PythonValue("outside")] if node.type in _OUTSIDE else []

        self.depth += 1
        try:
            return first_distinct(handler(self, document, scope, node, node.start_byte if offset < 0 else offset))
        finally:
            self.depth -= 1

    # Expressions.

    def _identifier(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        values: list[PythonValue] = []
        for ref in self.lookup(document, scope, text_of(node), offset)[:MAX_ALTERNATIVES]:
            values += self.values_of(ref)
            if len(values) >= MAX_ALTERNATIVES:
                break
        return values

    def _attribute(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        name = field_text(node, "attribute")
        values: list[PythonValue] = []
        for value in self.infer(document, scope, node.child_by_field_name("object"), offset):
            if value.kind == "outside":
                values.append(value)
            for ref in self.members(value, name)[:2]:
                values += self.member_values(ref, value)

        return values

    def _call(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if function is None:
            return []

        positional = [argument for argument in code_of(arguments) if argument.type != "keyword_argument"]
        name = text_of(function).rpartition(b".")[2]
        if name == b"super" and function.type == "identifier":
            holder = scope.enclosing_class
            return [PythonValue("super", self.class_ref(document, holder))] if holder is not None else []
        if name == b"cast" and positional:
            return self.annotation_values(document, scope, positional[0], offset)

        values: list[PythonValue] = []
        for value in self.infer(document, scope, function, offset):
            values += self.call_results(value)

        if not values and function.type == "identifier" and name in _BUILTIN_CALLS:
            return [] if self.lookup(document, scope, name, offset) else [PythonValue("outside")]
        if values or not positional:
            return values
        return self._builtin_results(document, scope, name=name, argument=positional[0], offset=offset)

    def _builtin_results(
        self, document: Document, scope: PythonScope, *, name: bytes, argument: Node, offset: int
    ) -> list[PythonValue]:
        """Return the results of a builtin function that gives back its first argument, its items or its class."""
        if name in _SAME:
            return self.infer(document, scope, argument, offset)

        if name in _ITEM_GETTERS:
            return self._items_of_all(self.infer(document, scope, argument, offset))

        if name == b"type":
            instances = self.infer(document, scope, argument, offset)
            return [PythonValue("class", value.ref) for value in instances if value.kind == "instance"]

        if name == b"enumerate":
            items = self._items_of_all(self.infer(document, scope, argument, offset))
            # Pairs of number and item are simplified to a container of the items: the number has no members of
            # interest.
            return [PythonValue("container", items=(PythonValue("container", items=tuple(items)),))]

        return []

    def _subscript(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        index = node.child_by_field_name("subscript")
        is_slice = index is not None and index.type == "slice"
        values: list[PythonValue] = []
        for value in self.infer(document, scope, node.child_by_field_name("value"), offset):
            # A slice is a container of the same items, and `Generic[int]` is still the class.
            if (value.kind == "container" and is_slice) or value.kind == "class":
                values.append(value)
            elif value.kind == "container":
                values += value.items
            else:
                values += self._method_results(value, b"__getitem__")

        return values

    def _inner_expression(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        return self.infer(document, scope, first_child(node), offset)

    def _alternatives(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        parts = node.named_children
        if node.type == "conditional_expression" and len(parts) == 3:
            # `a if condition else b` may be `a` or `b`.
            parts = [parts[0], parts[2]]

        values: list[PythonValue] = []
        for part in parts:
            values += self.infer(document, scope, part, offset)
        return values

    def _operator(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        operator = node.child_by_field_name("operator")
        method = _OPERATOR_METHODS.get(operator.type) if operator is not None else None
        if method is None:
            return []

        values: list[PythonValue] = []
        for value in self.infer(document, scope, node.child_by_field_name("left"), offset):
            values += self._method_results(value, method)
        return values

    def _walrus(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        return self.infer(document, scope, node.child_by_field_name("value"), offset)

    def _literal(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        items: list[PythonValue] = []
        for child in node.named_children[:_MAX_ELEMENTS]:
            part = child.child_by_field_name("value") if child.type == "pair" else child
            items += self.infer(document, scope, part, offset)
        keys = () if node.type == "dictionary" else None
        return [PythonValue("container", items=tuple(first_distinct(items)), keys=keys)]

    def _comprehension(self, document: Document, scope: PythonScope, node: Node, _offset: int) -> list[PythonValue]:
        inner = scope.model.scope(node, scope)
        body = node.child_by_field_name("body")
        if body is not None and body.type == "pair":
            body = body.child_by_field_name("value")
        keys = () if node.type == "dictionary_comprehension" else None
        return [PythonValue("container", items=tuple(self.infer(document, inner, body)), keys=keys)]

    # What bindings are.

    def values_of(self, ref: PythonRef) -> list[PythonValue]:
        """Return the possible values of a binding; imports are followed."""
        values: list[PythonValue] = []
        for end in self.follow([ref])[:MAX_ALTERNATIVES]:
            values += self._end_values(end)
        return first_distinct(values)

    def _end_values(self, ref: PythonRef) -> list[PythonValue]:
        binding = ref.binding
        if binding is None:
            return [PythonValue("module", ref)]
        if binding.kind == "class":
            return [PythonValue("class", ref)]
        if binding.kind == "function":
            return [PythonValue("function", ref)]
        if binding.kind in {"import", "from"}:
            return [PythonValue("outside")] if self.is_outside(ref) else []
        if self.depth >= MAX_DEPTH:
            return []

        self.depth += 1
        try:
            return first_distinct(self._bound_values(ref, binding))
        finally:
            self.depth -= 1

    def _bound_values(self, ref: PythonRef, binding: PythonBinding) -> list[PythonValue]:  # noqa: PLR0911 - one return for each rule
        document, scope, node = ref.document, binding.scope, binding.node
        if binding.kind == "parameter":
            return self._parameter_values(ref, binding)

        if binding.kind == "variable":
            annotation = node.child_by_field_name("type")
            if annotation is not None and not binding.steps:
                values = self.annotation_values(document, scope, annotation)
                if values:
                    return values

            value = node.child_by_field_name("right") or node.child_by_field_name("value")
            while value is not None and value.type == "assignment":
                value = value.child_by_field_name("right")

            steps = binding.steps
            # `a, b = 1, 2`: the target's place in the unpacking is its place in the value.
            while steps and steps[0] >= 0 and value is not None and value.type in {"tuple", "expression_list", "list"}:
                elements = value.named_children
                value = elements[steps[0]] if steps[0] < len(elements) else None
                steps = steps[1:]

            return self._unpack(self.infer(document, scope, value), steps)

        if binding.kind == "loop":
            loop_scope = scope
            if node.type == "for_in_clause" and scope.parent is not None and _is_first_clause(node, scope.node):
                # The Python reference: the iterable of the first `for` of a comprehension is evaluated in the enclosing
                # scope.
                loop_scope = scope.parent
            iterables = self.infer(document, loop_scope, node.child_by_field_name("right"))
            return self._unpack(self._items_of_all(iterables), binding.steps)

        if binding.kind == "with":
            values = []
            for manager in self.infer(document, scope, first_child(node)):
                values += self.context_values(manager)
            return self._unpack(values, binding.steps)

        if binding.kind == "except":
            return self._exception_values(document, scope, first_child(node))

        return []

    def _exception_values(self, document: Document, scope: PythonScope, node: Node | None) -> list[PythonValue]:
        """Return instances of the classes that ``except`` catches: one, or a tuple of several."""
        if node is None:
            return []

        instances: list[PythonValue] = []
        for exception_type in node.named_children if node.type == "tuple" else [node]:
            classes = self.infer(document, scope, exception_type)
            instances += [PythonValue("instance", value.ref) for value in classes if value.kind == "class"]
        return instances

    def _unpack(self, values: list[PythonValue], steps: tuple[int, ...]) -> list[PythonValue]:
        for step in steps:
            if step < 0:
                return values
            unpacked: list[PythonValue] = []
            for value in values:
                if value.kind == "container" and step < len(value.items):
                    unpacked.append(value.items[step])
                elif value.kind == "container":
                    unpacked += value.items
                else:
                    unpacked += self.iteration_values(value)
            values = unpacked

        return values

    def _parameter_values(self, ref: PythonRef, binding: PythonBinding) -> list[PythonValue]:
        document, scope, node = ref.document, binding.scope, binding.node
        outer = scope.parent or scope
        values = self.annotation_values(document, scope, node.child_by_field_name("type"))
        if values:
            # `*args: T` is a container of T, and `**kwargs: T` maps names to T.
            if child_of_type(node, "dictionary_splat_pattern") is not None:
                values = [PythonValue("container", items=tuple(values), keys=())]
            elif child_of_type(node, "list_splat_pattern") is not None:
                values = [PythonValue("container", items=tuple(values))]
            return values

        # The first parameter of a method is bound to the instance or class, under any name.
        holder = self.method_owner(document, scope)
        if holder is not None and self._is_first(scope, binding):
            function = self.function_binding(scope)
            if mentions_in_decorators(function, b"classmethod") or binding.name in {b"cls", b"mcs"}:
                receiver = PythonValue("class", holder)
            else:
                receiver = PythonValue("instance", holder)
            if not mentions_in_decorators(function, b"staticmethod"):
                return [receiver]

        default_values = self.infer(document, outer, node.child_by_field_name("value"))
        if default_values:
            return default_values

        fixture = self.fixture(document, scope, binding.name)
        if fixture is not None:
            return self.call_results(PythonValue("function", fixture))
        return []

    @staticmethod
    def _is_first(scope: PythonScope, binding: PythonBinding) -> bool:
        """Return whether a binding is the first parameter of its function."""
        parameters = code_of(scope.node.child_by_field_name("parameters"))
        return bool(parameters) and parameters[0].start_byte == binding.node.start_byte

    # Calls.

    def member_values(self, ref: PythonRef, owner: PythonValue) -> list[PythonValue]:
        """Return the values of an attribute: a property is called, a function remembers its class."""
        binding = ref.binding
        if binding is not None and binding.kind == "function":
            function = PythonValue("function", ref, owner=owner)
            if is_property(binding) and owner.kind != "class":
                return self.call_results(function)
            return [function]
        return self.values_of(ref)

    def call_results(self, value: PythonValue) -> list[PythonValue]:
        """Return the results of calling a value."""
        if value.kind == "class" and value.ref is not None:
            return [PythonValue("instance", value.ref)]
        if value.kind == "outside":
            return [value]
        if value.kind == "instance":
            return self._method_results(value, b"__call__")
        if value.kind != "function" or value.ref is None or value.ref.binding is None or self.depth >= MAX_DEPTH:
            return []

        self.depth += 1
        try:
            return first_distinct(self._return_values(value, value.ref, value.ref.binding))
        finally:
            self.depth -= 1

    def _return_values(self, value: PythonValue, ref: PythonRef, binding: PythonBinding) -> list[PythonValue]:
        node = binding.node
        scope = binding.scope.model.scope(node, binding.scope)
        owner_class = value.owner.ref if value.owner is not None else None
        annotation = node.child_by_field_name("return_type")
        if annotation is not None and owner_class is not None:
            text = text_of(annotation).strip(b"\"'")
            if text in {b"Self", _annotation_of_self(node)}:
                return [PythonValue("instance", owner_class)]

        values = self.annotation_values(ref.document, scope, annotation)
        if not values:
            returned, yielded = _results(node)
            if not yielded:
                # The last returns are usually the results; early ones are often guards that return None.
                return self._results_of_all(returned[-MAX_ALTERNATIVES:], value, ref, scope)
            items = self._results_of_all(yielded[:MAX_ALTERNATIVES], value, ref, scope)
            values = [PythonValue("container", items=tuple(items))]

        # `Iterator[T]`, or a `yield` of a T: users of a fixture or a context manager get the T.
        if values[0].kind == "container" and is_fixture(binding):
            return list(values[0].items)
        if values[0].kind == "container" and mentions_in_decorators(binding, b"contextmanager"):
            return [PythonValue("generator", items=values[0].items)]
        return values

    def _results_of_all(
        self, nodes: list[Node], function: PythonValue, ref: PythonRef, scope: PythonScope
    ) -> list[PythonValue]:
        """Return the values of the expressions that a function returns or yields, one expression after the other."""
        owner_class = function.owner.ref if function.owner is not None else None
        results: list[PythonValue] = []
        for node in nodes:
            # `self` is the object that the method was called on, which may be of a subclass.
            if owner_class is not None and node.type == "identifier" and node.text == b"self":
                results.append(PythonValue("instance", owner_class))
            else:
                results += self.infer(ref.document, scope, node)
        return results

    def _method_results(self, value: PythonValue, method: bytes) -> list[PythonValue]:
        """Return the results of calling a method of a value."""
        values: list[PythonValue] = []
        for ref in self.members(value, method)[:1]:
            for end in self.follow([ref])[:1]:
                values += self.call_results(PythonValue("function", end, owner=value))
        return values

    def _items_of_all(self, values: list[PythonValue]) -> list[PythonValue]:
        """Return the values that loops over several values yield, one loop after the other."""
        items: list[PythonValue] = []
        for value in values:
            items += self.iteration_values(value)
        return items

    def iteration_values(self, value: PythonValue) -> list[PythonValue]:
        """Return the values that a loop over a value yields."""
        if value.kind == "container":
            return list(value.items if value.keys is None else value.keys)
        if value.kind == "generator":
            return list(value.items)

        for method in (b"__iter__", b"__aiter__"):
            items: list[PythonValue] = []
            for iterator in self._method_results(value, method):
                if iterator.kind == "container":
                    items += iterator.items
                else:
                    items += self._next(iterator)
            if items:
                return items

        return self._method_results(value, b"__getitem__")

    def _next(self, value: PythonValue) -> list[PythonValue]:
        return self._method_results(value, b"__next__") or self._method_results(value, b"__anext__")

    def context_values(self, value: PythonValue) -> list[PythonValue]:
        """Return the values that ``with`` binds."""
        if value.kind == "generator":
            return list(value.items)
        if value.kind == "instance":
            return self._method_results(value, b"__enter__") or self._method_results(value, b"__aenter__")
        return []

    # Below the methods, which are plain functions here.
    _EXPRESSIONS: ClassVar = {
        "identifier": _identifier,
        "attribute": _attribute,
        "call": _call,
        "subscript": _subscript,
        "await": _inner_expression,
        "boolean_operator": _alternatives,
        "conditional_expression": _alternatives,
        "parenthesized_expression": _inner_expression,
        "binary_operator": _operator,
        "named_expression": _walrus,
        "list": _literal,
        "tuple": _literal,
        "expression_list": _literal,
        "set": _literal,
        "dictionary": _literal,
        "list_comprehension": _comprehension,
        "set_comprehension": _comprehension,
        "dictionary_comprehension": _comprehension,
        "generator_expression": _comprehension,
    }


def is_property(binding: PythonBinding) -> bool:
    """Return whether a member is a property."""
    return has_decorator(binding, *_PROPERTIES)


def _is_first_clause(clause: Node, comprehension: Node) -> bool:
    first = child_of_type(comprehension, "for_in_clause")
    return first is not None and first.start_byte == clause.start_byte


def _annotation_of_self(function: Node) -> bytes | None:
    """Return the annotation of a method's first parameter: a type variable that represents its class."""
    annotation = field_of(first_child(field_of(function, "parameters")), "type")
    if annotation is None:
        return None
    return text_of(annotation).strip(b"\"'")


def _results(function: Node) -> tuple[list[Node], list[Node]]:
    """Return the expressions that a function returns and yields."""
    returned: list[Node] = []
    yielded: list[Node] = []
    body = function.child_by_field_name("body")
    pending = [body] if body is not None else []
    has_yield = b"yield" in text_of(function)
    while pending:
        node = pending.pop()
        if node.type == "return_statement":
            returned += node.named_children[:1]
        elif node.type == "yield":
            yielded += node.named_children[:1]
        elif node.type not in _INNER and (
            has_yield or node.type.endswith(("statement", "clause")) or node.type == "block"
        ):
            pending += reversed(node.named_children)

    return returned, yielded
