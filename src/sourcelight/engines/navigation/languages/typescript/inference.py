"""Infer the values of TypeScript expressions from annotations, literals, constructors and returns.

A value (`TsValue`) is one thing that an expression may be, such as an instance of a class; an expression has up to
four. Methods of arrays, maps and promises are built in, because the standard library is seldom indexed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.typescript import scopes
from sourcelight.engines.navigation.languages.typescript.annotations import items_of, merge_bound_types, unwrap_promises
from sourcelight.engines.navigation.languages.typescript.members import TsGenerics
from sourcelight.engines.navigation.languages.typescript.names import (
    MAX_ALTERNATIVES,
    MAX_DEPTH,
    BoundTypes,
    TsRef,
    TsValue,
    first_distinct,
)
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.nodes import (
    children_of,
    code_of,
    field_of,
    field_text,
    first_child,
    nearest_index,
    text_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node


# Methods of arrays and maps by what they return: one item, or a collection of the same items.
_ITEM_GETTERS = frozenset({b"find", b"pop", b"shift", b"at", b"get", b"findLast", b"next"})
_SAME = frozenset({
    b"filter", b"slice", b"concat", b"reverse", b"sort", b"splice", b"values", b"toSorted", b"toReversed", b"fill",
    b"flat", b"with",
})  # fmt: skip
_MAPPED = frozenset({b"map", b"flatMap"})
_CALLED_WITH_ITEM = _MAPPED | {
    b"forEach", b"filter", b"find", b"findIndex", b"findLast", b"some", b"every", b"sort", b"toSorted", b"then",
}  # fmt: skip

_WRAPPERS = frozenset({"parenthesized_expression", "non_null_expression", "sequence_expression"})
_BOTH = frozenset({"||", "??", "&&"})

_MAX_ELEMENTS = 8
"""Elements of an array literal that are read; the elements of a longer one are mostly alike."""

_MAX_RETURNS = 4
"""Return statements of a function that are read: as many as an expression has values."""


def built_in_method_results(
    types: TsExpressions, holder: TsValue, name: bytes, document: Document, call: Node
) -> list[TsValue]:
    """Return the values of a call of a built-in method; empty for other methods."""
    if holder.kind in {"array", "map"}:
        if name in _ITEM_GETTERS:
            return list(holder.items)
        if name in _SAME:
            return [TsValue("array", holder.document, holder.node, holder.bound_types, holder.items)]
        if name in _MAPPED:
            results = _callback_results(types, document, call)
            return [TsValue("array", document, call, {}, tuple(results))] if results else []
    elif holder.kind == "promise":
        if name == b"then":
            results = unwrap_promises(_callback_results(types, document, call))
            return [TsValue("promise", document, call, {}, tuple(results))]
        if name in {b"catch", b"finally"}:
            return [holder]

    return []


def _callback_results(types: TsExpressions, document: Document, call: Node) -> list[TsValue]:
    callback = first_child(field_of(call, "arguments"))
    return first_distinct(types.return_values_of_all(types.infer(document, callback)))


def callback_parameter(holder: TsValue, name: bytes, position: int) -> list[TsValue]:
    """Return the values that a built-in method passes to its callback."""
    if holder.kind not in {"array", "map", "promise"}:
        return []

    if name in {b"sort", b"toSorted"}:
        # A comparison takes two items.
        takes_item = position <= 1
    elif name in _CALLED_WITH_ITEM:
        # The second parameter is the index.
        takes_item = position == 0
    elif name in {b"reduce", b"reduceRight"}:
        # The first parameter is the result so far.
        takes_item = position == 1
    else:
        takes_item = False

    return list(holder.items) if takes_item else []


class TsExpressions(TsGenerics):
    """Infer values within one call."""

    def expected_values(self, document: Document, path: list[Node]) -> list[TsValue]:
        """Return the expected values of the expression at the end of a path."""
        raise NotImplementedError

    def passed_values(self, document: Document, path: list[Node], position: int) -> list[TsValue]:
        """Return the values passed at a position to the function at the end of a path."""
        raise NotImplementedError

    def infer(self, document: Document, node: Node | None, bound_types: BoundTypes | None = None) -> list[TsValue]:
        """Return up to four possible values of an expression, the most likely first."""
        if node is not None:
            return self.infer_once("value", document, node, bound_types or {}, self._infer)
        return []

    def _infer(self, document: Document, node: Node, bound_types: BoundTypes) -> list[TsValue]:  # noqa: PLR0911, PLR0912 - a case a kind of expression
        kind = node.type
        if kind in {"identifier", "type_identifier", "shorthand_property_identifier"}:
            return self._name_values(document, node, bound_types)

        # `a.b` is a nested identifier in JSX tags and in types.
        if kind in {"member_expression", "nested_identifier"}:
            return self._property(document, node, bound_types)
        if kind == "call_expression":
            return self._call(document, node, bound_types)
        if kind == "new_expression":
            return self._new(document, node, bound_types)
        if kind == "this":
            return self.this(document, node)
        if kind == "super":
            return self._super(document, node)
        if kind == "await_expression":
            return unwrap_promises(self.infer(document, _first(node), bound_types))
        if kind in _WRAPPERS:
            return self.infer(document, _last(node), bound_types)
        if kind in {"as_expression", "satisfies_expression", "type_assertion"}:
            return self._asserted_values(document, node, bound_types)
        if kind in scopes.FUNCTIONS:
            return [TsValue("function", document, node, bound_types)]
        if kind in scopes.CLASSES:
            return [TsValue("class", document, node, bound_types)]
        if kind == "object":
            return [TsValue("object", document, node, bound_types)]
        if kind == "array":
            return [self._array(document, node, bound_types)]
        if kind == "ternary_expression":
            branches = [node.child_by_field_name("consequence"), node.child_by_field_name("alternative")]
            return list(self._infer_all(document, branches, bound_types))
        if kind == "binary_expression":
            return self._binary(document, node, bound_types)
        if kind in {"assignment_expression", "augmented_assignment_expression"}:
            return self.infer(document, node.child_by_field_name("right"), bound_types)
        if kind == "subscript_expression":
            return self._subscript(document, node, bound_types)
        if kind == "instantiation_expression":
            return self.infer(document, _first(node), bound_types)

        return []

    def _infer_all(
        self, document: Document, nodes: Iterable[Node | None], bound_types: BoundTypes
    ) -> Iterator[TsValue]:
        """Yield the possible values of several expressions, one expression after the other."""
        for node in nodes:
            yield from self.infer(document, node, bound_types)

    def _name_values(self, document: Document, node: Node, bound_types: BoundTypes) -> list[TsValue]:
        values: list[TsValue] = []
        refs = self.lookup(document, text_of(node), node.start_byte)
        for ref in self.follow(refs)[:MAX_ALTERNATIVES]:
            values += self.values_of(replace(ref, bound_types=merge_bound_types(ref.bound_types, bound_types)))
        return values

    def _super(self, document: Document, node: Node) -> list[TsValue]:
        bases: list[TsValue] = []
        for value in self.this(document, node):
            if value.node is not None:
                bases += self._bases(value, value.node)
        return bases

    def _array(self, document: Document, node: Node, bound_types: BoundTypes) -> TsValue:
        items: list[TsValue] = []
        for element in node.named_children[:_MAX_ELEMENTS]:
            if element.type == "spread_element":
                items += items_of(self.infer(document, _first(element), bound_types))
            else:
                items += self.infer(document, element, bound_types)

        return TsValue("array", document, node, bound_types, tuple(first_distinct(items)))

    def _asserted_values(self, document: Document, node: Node, bound_types: BoundTypes) -> list[TsValue]:
        parts = code_of(node)
        if len(parts) < 2:
            return self.infer(document, parts[0] if parts else None, bound_types)

        # `<T>value`, but `value as T`.
        if node.type == "type_assertion":
            kind, value = parts[:2]
        else:
            value, kind = parts[:2]

        # `satisfies` checks and keeps the type of the value; `as` and `<T>` replace it.
        if node.type == "satisfies_expression":
            return self.infer(document, value, bound_types) or self.annotation_values(document, kind, bound_types)

        return self.annotation_values(document, kind, bound_types) or self.infer(document, value, bound_types)

    def _binary(self, document: Document, node: Node, bound_types: BoundTypes) -> list[TsValue]:
        sign = node.child_by_field_name("operator")
        if sign is None or sign.type not in _BOTH:
            return []

        right = node.child_by_field_name("right")
        # `a && b` has members only if it is `b`, because a falsy `a` has none.
        if sign.type == "&&":
            return self.infer(document, right, bound_types)
        return list(self._infer_all(document, [node.child_by_field_name("left"), right], bound_types))

    def _property(self, document: Document, node: Node, bound_types: BoundTypes) -> list[TsValue]:
        holders = self.infer(document, node.child_by_field_name("object"), bound_types)
        refs = self.members_of_all(holders, field_text(node, "property"))
        return self.values_of_all(self.follow(refs)[:2])

    def _subscript(self, document: Document, node: Node, bound_types: BoundTypes) -> list[TsValue]:
        index = node.child_by_field_name("index")
        values: list[TsValue] = []
        for value in self.infer(document, node.child_by_field_name("object"), bound_types):
            if index is not None and index.type == "string":
                values += self.values_of_all(self.member_refs(value, scopes.unquote(index)))
            elif index is not None and index.type == "number" and value.kind == "tuple":
                values += self.take_step([value], scopes.PatternStep("index", index=_whole_number(index)))
            else:
                values += value.items
                values += self._index_signature(value)

        return values

    def _index_signature(self, value: TsValue) -> list[TsValue]:
        for child in _declared_members(value):
            if child.type == "index_signature":
                return self.annotation_values(value.document, child.child_by_field_name("type"), value.bound_types)
        return []

    def _new(self, document: Document, node: Node, bound_types: BoundTypes) -> list[TsValue]:
        type_arguments = children_of(field_of(node, "type_arguments"))
        constructor = node.child_by_field_name("constructor")
        values: list[TsValue] = []
        for value in self.infer(document, constructor, bound_types):
            if value.kind == "class" and value.node is not None:
                ref = TsRef(value.document, scopes.TsBinding("class", b"", 0, 0, value.node))
                bindings = self.bound_to(ref, document, type_arguments, bound_types)
                instance_types = merge_bound_types(value.bound_types, bindings)
                values.append(TsValue("instance", value.document, value.node, instance_types))

        # `new Map<string, Item>()`: the class is built in, so that its type arguments are all there is.
        if not values and constructor is not None and type_arguments:
            return self._built_in_type(document, constructor, type_arguments, bound_types)

        return values

    def _call(self, document: Document, node: Node, bound_types: BoundTypes) -> list[TsValue]:
        function = node.child_by_field_name("function")
        if function is None:
            return []

        required = _required_module(node)
        if required:
            target = self.module(document, required)
            return [TsValue("module", target)] if target is not None else []
        if function.type == "import":
            return self._dynamic_import(document, node)

        # Built-in methods come first: a class's own `then` and `map` are found by its kind, which isn't an array.
        values: list[TsValue] = []
        if function.type == "member_expression":
            name = field_text(function, "property")
            for holder in self.infer(document, function.child_by_field_name("object"), bound_types):
                values += built_in_method_results(self, holder, name, document, node)
            if values:
                return values

        for value in self.infer(document, function, bound_types):
            if value.kind == "function":
                values += self.return_values(self.instantiate(value, document, node))
            else:
                values += self._call_signature_results(value)

        return values

    def _dynamic_import(self, document: Document, node: Node) -> list[TsValue]:
        """Return the promise of the module that ``import("…")`` gives."""
        first = _first(node.child_by_field_name("arguments"))
        if first is None or first.type != "string":
            return []

        target = self.module(document, scopes.unquote(first))
        if target is None:
            return []
        return [TsValue("promise", document, node, {}, (TsValue("module", target),))]

    def _call_signature_results(self, value: TsValue) -> list[TsValue]:
        """Return the type that calling an interface or object type with a call signature returns."""
        for child in _declared_members(value):
            if child.type == "call_signature":
                return self.return_values(TsValue("function", value.document, child, value.bound_types))
        return []

    def return_values(self, function: TsValue) -> list[TsValue]:
        """Return the values that a function returns."""
        node = function.node
        if function.kind != "function" or node is None:
            return []

        kind = node.child_by_field_name("return_type")
        if kind is not None:
            return self.annotation_values(function.document, kind, function.bound_types)

        body = node.child_by_field_name("body")
        # Functions may return each other in a circle.
        if body is None or self.depth >= MAX_DEPTH:
            return []

        # The body of an arrow function may be the expression that it returns.
        results = [body] if body.type != "statement_block" else _returns(body)
        self.depth += 1
        try:
            values = first_distinct(self._infer_all(function.document, results, function.bound_types))
        finally:
            self.depth -= 1

        # An `async` function returns a promise of its values, and a promise of a promise is one promise.
        if values and is_async(node):
            items = tuple(unwrap_promises(values))
            return [TsValue("promise", function.document, node, function.bound_types, items)]

        return values

    def values_of(self, ref: TsRef) -> list[TsValue]:  # noqa: PLR0911 - a case per kind
        """Return the possible values of a declaration."""
        binding, document = ref.binding, ref.document
        if binding is None:
            return [TsValue("module", document)]
        if binding.kind == "function":
            return [TsValue("function", document, binding.node, ref.bound_types)]
        if binding.kind == "class":
            return [TsValue("class", document, binding.node, ref.bound_types)]
        if binding.kind == "enum":
            return [TsValue("enum", document, binding.node)]
        if binding.kind == "namespace":
            return [TsValue("namespace", document, binding.node)]
        if binding.kind == "default":
            return self.infer(document, binding.node)
        if binding.kind == "import":
            return self.values_of_all(target for target in self.follow([ref]) if target.key != ref.key)
        if binding.kind in {"variable", "parameter", "member"}:
            return self._declared_values(ref, binding)

        return []

    def _declared_values(self, ref: TsRef, binding: scopes.TsBinding) -> list[TsValue]:
        if self.depth >= MAX_DEPTH:
            return []

        self.depth += 1
        try:
            # `const { a: [first] } = value` is the value, then the key `a`, then the index 0.
            values = self._undestructured_values(ref, binding)
            for step in binding.steps:
                values = self.take_step(values, step)
            return first_distinct(values)
        finally:
            self.depth -= 1

    def _undestructured_values(self, ref: TsRef, binding: scopes.TsBinding) -> list[TsValue]:  # noqa: PLR0911 - a case a kind of declaration
        """Return the values of a declaration before destructuring."""
        node, document, bound_types = binding.node, ref.document, ref.bound_types
        if node.type in {"method_definition", "method_signature", "abstract_method_signature", "function_signature"}:
            # A getter is read like a property: its value is its return value.
            if any(child.type == "get" for child in node.children):
                return self.return_values(TsValue("function", document, node, bound_types))
            return [TsValue("function", document, node, bound_types)]

        if node.type == "for_in_statement":
            return items_of(self.infer(document, node.child_by_field_name("right"), bound_types))

        kind = node.child_by_field_name("type")
        if kind is not None:
            values = self.annotation_values(document, kind, bound_types)
            if values:
                return values

        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if node.type == "shorthand_property_identifier":
            return self.infer(document, node, bound_types)

        if binding.kind == "parameter":
            expected = self._expected_parameter(document, node)
            if expected:
                return expected

        if value is not None and kind is None:
            return self.infer(document, value, bound_types)
        return []

    def _expected_parameter(self, document: Document, node: Node) -> list[TsValue]:
        """Return the values of a parameter without a type, from the expected type of its function."""
        model = self.model(document)
        if model is None:
            return []

        # The function that the parameter belongs to contains all of it; one in its pattern contains less.
        path = model.path_to(node.start_byte)
        index = nearest_index(path, scopes.FUNCTIONS)
        while index is not None and path[index].end_byte < node.end_byte:
            index = nearest_index(path[:index], scopes.FUNCTIONS)
        if index is None or path[index].type in {"function_declaration", "function_signature"}:
            return []

        function = path[index]
        starts = [parameter.start_byte for parameter in scopes.parameters_of(function)]
        if node.start_byte not in starts:
            return []

        position = starts.index(node.start_byte)
        # A method of an object literal takes its types from the member of the expected type that it implements.
        if function.type == "method_definition":
            expected = self.expected_member(document, path[: index + 1])
            return self.parameter_of_all(expected, position)

        return self.passed_values(document, path[: index + 1], position)

    def expected_member(self, document: Document, path: list[Node]) -> list[TsValue]:
        """Return the expected values of a method in an object literal."""
        name = path[-1].child_by_field_name("name")
        if len(path) < 2 or path[-2].type != "object" or name is None:
            return []
        holders = self.expected_values(document, path[:-1])
        return self.values_of_all(self.members_of_all(holders, scopes.unquote(name)))

    def parameter(self, function: TsValue, position: int, count: int = 0) -> list[TsValue]:
        """Return the expected values of a parameter; of overloads, the first that takes `count` arguments.

        An interface with call signatures is a function with overloads.
        """
        first_values: list[TsValue] = []
        for node in self._signatures_of(function):
            if len(scopes.parameters_of(node)) < count and not _has_rest_parameter(node):
                continue
            values = self._parameter(function, node, position)
            first_values = first_values or values
            if any(value.kind == "function" for value in values):
                return values

        return first_values

    def parameter_of_all(self, functions: Iterable[TsValue], position: int) -> list[TsValue]:
        """Return the expected values of a parameter of several functions, one function after the other."""
        values: list[TsValue] = []
        for function in functions:
            values += self.parameter(function, position)
        return values

    @staticmethod
    def _signatures_of(function: TsValue) -> list[Node]:
        if function.kind in {"shape", "instance"}:
            return [child for child in _declared_members(function) if child.type == "call_signature"]
        if function.node is not None and function.node.type in scopes.FUNCTIONS:
            return [function.node]
        return []

    def _parameter(self, function: TsValue, node: Node, position: int) -> list[TsValue]:
        parameters = scopes.parameters_of(node)
        if not parameters:
            return []

        parameter = parameters[min(position, len(parameters) - 1)]
        # `...rest: T[]` takes this argument and all after it, so the argument has the type of an item.
        is_rest_parameter = _is_rest_parameter(parameter)
        if position >= len(parameters) and not is_rest_parameter:
            return []

        values = self.annotation_values(function.document, parameter.child_by_field_name("type"), function.bound_types)
        if is_rest_parameter:
            return self.take_step(values, scopes.PatternStep("index", index=position - len(parameters) + 1))
        return values

    def take_step(self, values: list[TsValue], step: scopes.PatternStep) -> list[TsValue]:
        """Take one step of a destructuring."""
        if step.kind == "rest":
            return values
        if step.kind == "key":
            refs = self.members_of_all(values, step.key)
            return self.values_of_all(self.follow(refs)[:MAX_ALTERNATIVES])

        elements: list[TsValue] = []
        for value in values:
            elements += self._element_values(value, step.index)
        return elements

    def _element_values(self, value: TsValue, index: int) -> list[TsValue]:
        """Return the values of the element at an index of a tuple, an array literal or another collection."""
        if value.kind == "tuple" and value.node is not None:
            types = code_of(value.node)
            if index >= len(types):
                return []
            # `[name: T]` labels its elements.
            element_type = types[index].child_by_field_name("type") or types[index]
            return self.annotation_values(value.document, element_type, value.bound_types)

        if value.kind == "array" and value.node is not None and value.node.type == "array":
            elements = value.node.named_children
            if index >= len(elements):
                return []
            return self.infer(value.document, elements[index], value.bound_types)

        return list(value.items)


def _declared_members(value: TsValue) -> list[Node]:
    """Return the members in the declaration of an interface or object type; empty for other values."""
    if value.kind not in {"shape", "instance"}:
        return []
    body = field_of(value.node, "body") or value.node
    return children_of(body)


def is_async(function: Node) -> bool:
    """Return whether a function is declared ``async``."""
    return any(child.type == "async" for child in function.children)


def _whole_number(node: Node) -> int:
    """Return the value of an index in decimal digits, of which nine are read; 0 for other numbers."""
    digits = text_of(node)
    # Python refuses to read numbers of more than 4,300 digits, and no tuple has a thousand million elements.
    return int(digits[:9]) if digits.isdigit() else 0


def _is_rest_parameter(parameter: Node) -> bool:
    pattern = parameter.child_by_field_name("pattern")
    return pattern is not None and pattern.type == "rest_pattern"


def _has_rest_parameter(function: Node) -> bool:
    parameters = scopes.parameters_of(function)
    return bool(parameters) and _is_rest_parameter(parameters[-1])


def _first(node: Node | None) -> Node | None:
    code = code_of(node)
    return code[0] if code else None


def _last(node: Node | None) -> Node | None:
    code = code_of(node)
    return code[-1] if code else None


def _required_module(call: Node) -> bytes:
    """Return the module of ``require("…")``."""
    function, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    if function is None or function.type != "identifier" or function.text != b"require" or arguments is None:
        return b""
    first = _first(arguments)
    return scopes.unquote(first) if first is not None and first.type == "string" else b""


def _returns(body: Node) -> list[Node]:
    returned: list[Node] = []
    pending = list(reversed(body.named_children))
    while pending and len(returned) < _MAX_RETURNS:
        node = pending.pop()
        if node.type == "return_statement":
            value = _first(node)
            if value is not None:
                returned.append(value)
        elif (
            node.type not in scopes.FUNCTIONS
            and node.type not in scopes.CLASSES
            and not node.type.endswith("expression")
        ):
            pending += reversed(node.named_children)

    return returned
