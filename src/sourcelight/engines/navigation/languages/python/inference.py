"""Infer the values of Python expressions from annotations, constructors and return statements."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from sourcelight.engines.navigation.languages.python.fixtures import Fixtures, is_fixture
from sourcelight.engines.navigation.languages.python.members import (
    MAX_ALTERNATIVES,
    MAX_DEPTH,
    PythonValue,
    first_distinct,
)
from sourcelight.engines.navigation.languages.python.names import PythonRef
from sourcelight.engines.navigation.languages.python.scopes import PythonBinding, PythonScope
from sourcelight.engines.navigation.model import Document

if TYPE_CHECKING:
    from tree_sitter import Node

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
        for ref in self.lookup(document, scope, node.text or b"", offset)[:MAX_ALTERNATIVES]:
            values += self.values_of(ref)
            if len(values) >= MAX_ALTERNATIVES:
                break
        return values

    def _attribute(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        name = node.child_by_field_name("attribute")
        values: list[PythonValue] = []
        for value in self.infer(document, scope, node.child_by_field_name("object"), offset):
            if value.kind == "outside":
                values.append(value)
            for ref in self.members(value, (name.text if name is not None else None) or b"")[:2]:
                values += self.member_values(ref, value)

        return values

    def _call(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:  # noqa: PLR0911 - one return for each rule
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if function is None:
            return []

        positional = (
            [child for child in arguments.named_children if child.type not in {"keyword_argument", "comment"}]
            if arguments
            else []
        )
        name = (function.text or b"").rpartition(b".")[2]
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
        if name in _SAME:
            return self.infer(document, scope, positional[0], offset)

        if name in _ITEM_GETTERS:
            return [
                item
                for value in self.infer(document, scope, positional[0], offset)
                for item in self.iteration_values(value)
            ]

        if name == b"type":
            return [
                PythonValue("class", result_value.ref)
                for result_value in self.infer(document, scope, positional[0], offset)
                if result_value.kind == "instance"
            ]

        if name == b"enumerate":
            items = [
                item
                for value in self.infer(document, scope, positional[0], offset)
                for item in self.iteration_values(value)
            ]
            # Pairs of number and item are simplified to a container of the items: the number has no members of
            # interest.
            return [PythonValue("container", items=(PythonValue("container", items=tuple(items)),))]

        return []

    def _subscript(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        values: list[PythonValue] = []
        for value in self.infer(document, scope, node.child_by_field_name("value"), offset):
            if value.kind == "container":
                index = node.child_by_field_name("subscript")
                values += [value] if index is not None and index.type == "slice" else value.items
            # `Generic[int]` is still the class.
            elif value.kind == "class":
                values.append(value)
            else:
                values += self._method_results(value, b"__getitem__")

        return values

    def _inner_expression(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        return self.infer(document, scope, node.named_children[0] if node.named_children else None, offset)

    def _alternatives(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        parts = node.named_children
        if node.type == "conditional_expression" and len(parts) == 3:
            parts = [parts[0], parts[2]]
        return [value for part in parts for value in self.infer(document, scope, part, offset)]

    def _operator(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        left = self.infer(document, scope, node.child_by_field_name("left"), offset)
        names = {
            "/": b"__truediv__",
            "+": b"__add__",
            "|": b"__or__",
            "-": b"__sub__",
            "*": b"__mul__",
            "&": b"__and__",
        }
        operator = node.child_by_field_name("operator")
        name = names.get(operator.type if operator is not None else "", b"")
        if name:
            return [result for value in left for result in self._method_results(value, name)]
        return []

    def _walrus(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        return self.infer(document, scope, node.child_by_field_name("value"), offset)

    def _literal(self, document: Document, scope: PythonScope, node: Node, offset: int) -> list[PythonValue]:
        items: list[PythonValue] = []
        for child in node.named_children[:4]:
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
            while steps and steps[0] >= 0 and value is not None and value.type in {"tuple", "expression_list", "list"}:
                exception_types = value.named_children
                value, steps = (exception_types[steps[0]] if steps[0] < len(exception_types) else None), steps[1:]

            return self._unpack(self.infer(document, scope, value), steps)

        if binding.kind == "loop":
            loop_scope = scope
            if node.type == "for_in_clause" and scope.parent is not None and _is_first_clause(node, scope.node):
                # The Python reference: the iterable of the first `for` of a comprehension is evaluated in the enclosing
                # scope.
                loop_scope = scope.parent
            iterables = self.infer(document, loop_scope, node.child_by_field_name("right"))
            return self._unpack([item for value in iterables for item in self.iteration_values(value)], binding.steps)

        if binding.kind == "with":
            iterables = self.infer(document, scope, node.named_children[0] if node.named_children else None)
            return self._unpack([item for value in iterables for item in self.context_values(value)], binding.steps)

        if binding.kind == "except":
            exception_node = node.named_children[0] if node.named_children else None
            exception_types = (
                []
                if exception_node is None
                else exception_node.named_children
                if exception_node.type == "tuple"
                else [exception_node]
            )
            return [
                PythonValue("instance", result_value.ref)
                for exception_type in exception_types
                for result_value in self.infer(document, scope, exception_type)
                if result_value.kind == "class"
            ]

        return []

    def _unpack(self, values: list[PythonValue], steps: tuple[int, ...]) -> list[PythonValue]:
        for step in steps:
            if step < 0:
                return values
            unpacked: list[PythonValue] = []
            for value in values:
                items = value.items if value.kind == "container" else tuple(self.iteration_values(value))
                unpacked += items[step : step + 1] if value.kind == "container" and len(items) > step else items
            values = unpacked

        return values

    def _parameter_values(self, ref: PythonRef, binding: PythonBinding) -> list[PythonValue]:
        document, scope, node = ref.document, binding.scope, binding.node
        outer = scope.parent or scope
        annotation = node.child_by_field_name("type")
        if annotation is not None:
            values = self.annotation_values(document, scope, annotation)
            stars = [child for child in node.named_children if child.type.endswith("splat_pattern")]
            if values:
                if stars:
                    return [PythonValue("container", items=tuple(values), keys=() if "dict" in stars[0].type else None)]
                return values

        holder = self.method_owner(document, scope)
        if holder is not None and self._is_first(scope, binding):
            kind: Literal["class", "instance"] = "instance"
            function = self.function_binding(scope)
            marks = [decorator.text or b"" for decorator in function.decorators] if function is not None else []
            if any(b"classmethod" in decorator for decorator in marks) or binding.name in {b"cls", b"mcs"}:
                kind = "class"
            # The first parameter of a method is bound to the instance or class, under any name.
            if not any(b"staticmethod" in decorator for decorator in marks):
                return [PythonValue(kind, holder)]

        default = node.child_by_field_name("value")
        if default is not None:
            values = self.infer(document, outer, default)
            if values:
                return values

        fixture = self.fixture(document, scope, binding.name)
        if fixture is not None:
            return self.call_results(PythonValue("function", fixture))
        return []

    @staticmethod
    def _is_first(scope: PythonScope, binding: PythonBinding) -> bool:
        parameters = scope.node.child_by_field_name("parameters")
        children = (
            [child for child in parameters.named_children if child.type != "comment"] if parameters is not None else []
        )
        return bool(children) and children[0].start_byte == binding.node.start_byte

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
        managed = any(b"contextmanager" in (decorator.text or b"") for decorator in binding.decorators)
        fixture = is_fixture(binding)
        annotation = node.child_by_field_name("return_type")
        if annotation is not None:
            text = (annotation.text or b"").strip(b"\"'")
            if (
                value.owner is not None
                and value.owner.ref is not None
                and (text == b"Self" or text == _annotation_of_self(node))
            ):
                return [PythonValue("instance", value.owner.ref)]

            values = self.annotation_values(ref.document, scope, annotation)
            if values:
                if (managed or fixture) and values[0].kind == "container":
                    # `Iterator[T]` of a context manager or a fixture: what its user gets is a T.
                    return [PythonValue("generator", items=values[0].items)] if managed else list(values[0].items)
                return values

        returned, yielded = _results(node)
        if yielded:
            items = tuple(
                result_value
                for item in yielded[:MAX_ALTERNATIVES]
                for result_value in self._result(value, ref, scope, item)
            )
            if fixture:
                return list(items)
            return [PythonValue("generator" if managed else "container", items=items)]

        # The last returns are usually the results; early ones are often guards that return None.
        return [
            result_value
            for result in returned[-MAX_ALTERNATIVES:]
            for result_value in self._result(value, ref, scope, result)
        ]

    def _result(self, value: PythonValue, ref: PythonRef, scope: PythonScope, node: Node) -> list[PythonValue]:
        if (
            node.type == "identifier"
            and node.text == b"self"
            and value.owner is not None
            and value.owner.ref is not None
        ):
            return [PythonValue("instance", value.owner.ref)]

        return self.infer(ref.document, scope, node)

    def _method_results(self, value: PythonValue, method: bytes) -> list[PythonValue]:
        """Return the results of calling a method of a value."""
        values: list[PythonValue] = []
        for ref in self.members(value, method)[:1]:
            for end in self.follow([ref])[:1]:
                values += self.call_results(PythonValue("function", end, owner=value))
        return values

    def iteration_values(self, value: PythonValue) -> list[PythonValue]:
        """Return the values that a loop over a value yields."""
        if value.kind == "container":
            return list(value.items if value.keys is None else value.keys)
        if value.kind == "generator":
            return list(value.items)

        for method in (b"__iter__", b"__aiter__", b"__getitem__"):
            iterators = self._method_results(value, method)
            if iterators and method == b"__getitem__":
                return iterators

            items = [
                item
                for iterator in iterators
                for item in (iterator.items if iterator.kind == "container" else self._next(iterator))
            ]
            if items:
                return items

        return []

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
    return any((decorator.text or b"").rstrip().endswith(_PROPERTIES) for decorator in binding.decorators)


def _is_first_clause(clause: Node, comprehension: Node) -> bool:
    first = next((child for child in comprehension.named_children if child.type == "for_in_clause"), None)
    return first is not None and first.start_byte == clause.start_byte


def _annotation_of_self(function: Node) -> bytes | None:
    """Return the annotation of a method's first parameter: a type variable that represents its class."""
    parameters = function.child_by_field_name("parameters")
    first = parameters.named_children[0] if parameters is not None and parameters.named_children else None
    annotation = first.child_by_field_name("type") if first is not None else None
    return (annotation.text or b"").strip(b"\"'") if annotation is not None else None


def _results(function: Node) -> tuple[list[Node], list[Node]]:
    """Return the expressions that a function returns and yields."""
    returned: list[Node] = []
    yielded: list[Node] = []
    body = function.child_by_field_name("body")
    pending = [body] if body is not None else []
    has_yield = b"yield" in (function.text or b"")
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
