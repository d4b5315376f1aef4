"""Infer the expected values of an expression from the arguments, annotations and returns around it.

In ``save({name: 1})``, the literal must be what `save` takes, so that `name` is a member of that. A *path* is the list
of nodes from the root of a file down to the expression.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.typescript.annotations import items_of, unwrap_promises
from sourcelight.engines.navigation.languages.typescript.inference import TsExpressions, callback_parameter, is_async
from sourcelight.engines.navigation.languages.typescript.names import TsRef, TsValue
from sourcelight.engines.navigation.languages.typescript.scopes import FUNCTIONS, unquote
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import definitions_named
from sourcelight.engines.navigation.nodes import children_of, code_of, field_of, field_text, nearest_index, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_THROUGH = frozenset({
    "parenthesized_expression", "ternary_expression", "non_null_expression", "as_expression", "satisfies_expression",
    "jsx_expression", "binary_expression",
})  # fmt: skip
"""Nodes that are expected to have the values that an expression directly in them has."""

_TYPED = frozenset({
    "variable_declarator", "public_field_definition", "field_definition", "required_parameter", "optional_parameter",
})  # fmt: skip
"""Nodes that can say the type of the value in them."""

_MAX_PLATFORMS = 8
"""Declarations of the platform's elements that are read; a repository seldom has more than one."""


def is_intrinsic(name: Node) -> bool:
    """Return whether a tag names an element of the platform, not a component."""
    return name.type == "identifier" and text_of(name)[:1].islower()


class TsInference(TsExpressions):
    """Infer values and expected values."""

    def expected_values(self, document: Document, path: list[Node]) -> list[TsValue]:
        """Return the expected values of the expression at the end of a path from the root."""
        if len(path) < 2:
            return []
        return self.infer_once("expected", document, path[-1], {}, lambda *_: self._expected_values(document, path))

    def passed_values(self, document: Document, path: list[Node], position: int) -> list[TsValue]:
        """Return the values passed at a position to the function at the end of a path."""
        values: list[TsValue] = []
        called = path[-3].child_by_field_name("function") if _is_argument(path) else None
        if called is not None and called.type == "member_expression":
            method = field_text(called, "property")
            for holder in self.infer(document, called.child_by_field_name("object")):
                values += callback_parameter(holder, method, position)

        return values or self.parameter_of_all(self.expected_values(document, path), position)

    def _expected_values(self, document: Document, path: list[Node]) -> list[TsValue]:  # noqa: PLR0911, PLR0912 - a case a kind of place
        node, parent = path[-1], path[-2]
        kind = parent.type
        if kind == "arguments":
            return self._expected_argument(document, path)

        if kind in {"as_expression", "satisfies_expression"}:
            asserted_type = parent.named_children[-1]
            if asserted_type.start_byte != node.start_byte:
                return self.annotation_values(document, asserted_type, {})

        if kind in _THROUGH:
            return self.expected_values(document, path[:-1])
        if kind in _TYPED:
            return self.annotation_values(document, parent.child_by_field_name("type"), {})
        if kind == "pair":
            return self._expected_property(document, path)
        if kind == "array":
            return items_of(self.expected_values(document, path[:-1]))
        if kind == "return_statement":
            return self._expected_return(document, path)

        if kind == "arrow_function":
            body = parent.child_by_field_name("body")
            if body is not None and body.start_byte == node.start_byte:
                return self._returned_by(document, path[:-1])
            return []

        if kind == "assignment_expression":
            left = parent.child_by_field_name("left")
            if left is not None and left.start_byte != node.start_byte:
                return self.infer(document, left)
            return []

        if kind == "jsx_attribute":
            name = text_of(parent.named_children[0])
            return self.values_of_all(self.members_of_all(self.props(document, path[:-1]), name))

        return []

    def _expected_property(self, document: Document, path: list[Node]) -> list[TsValue]:
        """Return the values that an object literal must have under the key of a pair."""
        key = path[-2].child_by_field_name("key")
        if key is None:
            return []
        holders = self.expected_values(document, path[:-2])
        return self.values_of_all(self.members_of_all(holders, unquote(key)))

    def _expected_return(self, document: Document, path: list[Node]) -> list[TsValue]:
        """Return the values that the function around a return statement must return."""
        index = nearest_index(path[:-1], FUNCTIONS)
        if index is None:
            return []
        return self._returned_by(document, path[: index + 1])

    def _returned_by(self, document: Document, path: list[Node]) -> list[TsValue]:
        """Return the values that the function at the end of a path must return."""
        function = path[-1]
        kind = function.child_by_field_name("return_type")
        if kind is not None:
            values = self.annotation_values(document, kind, {})
        elif function.type == "method_definition":
            values = self.return_values_of_all(self.expected_member(document, path))
        else:
            values = []
            for expected in self.expected_values(document, path):
                if expected.kind == "function":
                    values += self.return_values(expected)
                else:
                    values += self._call_signature_results(expected)

        return unwrap_promises(values) if is_async(function) else values

    def _expected_argument(self, document: Document, path: list[Node]) -> list[TsValue]:
        """Return the values that a call expects of an argument."""
        if len(path) < 3:
            return []

        node, call = path[-1], path[-3]
        arguments = code_of(path[-2])
        starts = [argument.start_byte for argument in arguments]
        position = starts.index(node.start_byte) if node.start_byte in starts else 0
        if call.type == "new_expression":
            return self._constructor_parameter(document, call, position)

        function = call.child_by_field_name("function")
        if function is None:
            return []

        values: list[TsValue] = []
        for value in self.infer(document, function):
            callee = value
            if value.kind == "function":
                # The result of a callback doesn't constrain its parameters, and inferring it would recurse forever.
                callee = self.instantiate(value, document, call, callbacks=node.type not in FUNCTIONS)
            values += self.parameter(callee, position, len(arguments))

        return values

    def _constructor_parameter(self, document: Document, call: Node, position: int) -> list[TsValue]:
        values: list[TsValue] = []
        for value in self.infer(document, call.child_by_field_name("constructor")):
            if value.kind != "class":
                continue
            for child in children_of(field_of(value.node, "body")):
                if child.type == "method_definition" and field_text(child, "name") == b"constructor":
                    values += self.parameter(TsValue("function", value.document, child, value.bound_types), position)

        return values

    def intrinsic(self, document: Document, name: bytes) -> list[TsRef]:
        """Return the declaration of a platform element, such as ``div``: a member of ``IntrinsicElements``."""
        refs: list[TsRef] = []
        platforms = definitions_named(document.project, b"IntrinsicElements", self.session.workspace)
        for platform in platforms[:_MAX_PLATFORMS]:
            for ref in self.lookup(platform.document, b"IntrinsicElements", platform.start, as_type=True):
                refs += self.members_of_all(self.of_type(ref, platform.document, [], {}), name)

        return refs

    def props(self, document: Document, path: list[Node]) -> list[TsValue]:
        """Return the properties that the element around an attribute takes."""
        element = path[-2] if len(path) > 1 else path[-1]
        name = element.child_by_field_name("name")
        if name is not None and is_intrinsic(name):
            return self.values_of_all(self.intrinsic(document, text_of(name)))

        # A component is a function of its properties.
        return self.parameter_of_all(self.infer(document, name), 0)


def _is_argument(path: list[Node]) -> bool:
    """Return whether the expression at the end of a path is an argument of a call."""
    return len(path) > 2 and path[-2].type == "arguments"
