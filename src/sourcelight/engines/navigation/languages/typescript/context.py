"""Infer the expected type of an expression from arguments, annotations and returns around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.typescript.inference import TsExpressions, callback_parameter
from sourcelight.engines.navigation.languages.typescript.names import TsRef, TsValue
from sourcelight.engines.navigation.languages.typescript.scopes import FUNCTIONS, unquote
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import definitions_named

if TYPE_CHECKING:
    from tree_sitter import Node

_THROUGH = frozenset({
    "parenthesized_expression", "ternary_expression", "non_null_expression", "as_expression", "satisfies_expression",
    "jsx_expression", "binary_expression",
})  # fmt: skip

_TYPED = frozenset({
    "variable_declarator", "public_field_definition", "field_definition", "required_parameter", "optional_parameter",
})  # fmt: skip
"""Nodes that can say the type of the value in them."""

_MAX_PLATFORMS = 8
"""Declarations of the platform's elements that are read; a repository seldom has more than one."""


def is_intrinsic(name: Node) -> bool:
    """Return whether a tag names an element of the platform, not a component."""
    return name.type == "identifier" and (name.text or b"")[:1].islower()


class TsInference(TsExpressions):
    """Infer values and expected values."""

    def expected_values(self, document: Document, path: list[Node]) -> list[TsValue]:
        """Return the expected values of the expression at the end of a path from the root."""
        if len(path) < 2:
            return []
        return self.infer_once("expected", document, path[-1], {}, lambda *_: self._expected_values(document, path))

    def passed_values(self, document: Document, path: list[Node], position: int) -> list[TsValue]:
        """Return the values passed at a position to the function at the end of a path."""
        call = path[-3] if len(path) > 2 and path[-2].type == "arguments" else None
        function = call.child_by_field_name("function") if call is not None else None
        if function is not None and function.type == "member_expression":
            name = function.child_by_field_name("property")
            holders = self.infer(document, function.child_by_field_name("object"))
            built_in = [
                v
                for holder in holders
                for v in callback_parameter(holder, (name.text if name else None) or b"", position)
            ]
            if built_in:
                return built_in

        return [
            value for expected in self.expected_values(document, path) for value in self.parameter(expected, position)
        ]

    def _expected_values(self, document: Document, path: list[Node]) -> list[TsValue]:  # noqa: PLR0911 - a case a kind of place
        node, parent = path[-1], path[-2]
        kind = parent.type
        if kind == "arguments":
            return self._expected_argument(document, path)

        if (
            kind in {"as_expression", "satisfies_expression"}
            and parent.named_children[-1].start_byte != node.start_byte
        ):
            return self.annotation_values(document, parent.named_children[-1], {})

        if kind in _THROUGH:
            return self.expected_values(document, path[:-1])
        if kind in _TYPED:
            return self.annotation_values(document, parent.child_by_field_name("type"), {})
        if kind == "pair":
            return self._expected_property(document, path)
        if kind == "array":
            return [item for value in self.expected_values(document, path[:-1]) for item in value.items]
        if kind == "return_statement":
            return self._expected_return(document, path)

        if kind == "arrow_function":
            body = parent.child_by_field_name("body")
            is_result = body is not None and body.start_byte == node.start_byte
            return self._returned_by(document, path[:-1]) if is_result else []

        if kind == "assignment_expression":
            left = parent.child_by_field_name("left")
            if left is not None and left.start_byte != node.start_byte:
                return self.infer(document, left)
            return []
        if kind == "jsx_attribute":
            name = parent.named_children[0].text or b""
            return [value for props in self.props(document, path[:-1]) for value in self._member_values(props, name)]

        return []

    def _expected_property(self, document: Document, path: list[Node]) -> list[TsValue]:
        """Return the values that an object literal must have under the key of a pair."""
        key = path[-2].child_by_field_name("key")
        if key is None:
            return []
        holders = self.expected_values(document, path[:-2])
        return [value for holder in holders for value in self._member_values(holder, unquote(key))]

    def _member_values(self, holder: TsValue, name: bytes) -> list[TsValue]:
        return [value for ref in self.member_refs(holder, name) for value in self.values_of(ref)]

    def _expected_return(self, document: Document, path: list[Node]) -> list[TsValue]:
        index = next((i for i in range(len(path) - 2, -1, -1) if path[i].type in FUNCTIONS), None)
        return self._returned_by(document, path[: index + 1]) if index is not None else []

    def _returned_by(self, document: Document, path: list[Node]) -> list[TsValue]:
        """Return the values that the function at the end of a path must return."""
        function = path[-1]
        kind = function.child_by_field_name("return_type")
        if kind is not None:
            values = self.annotation_values(document, kind, {})
        elif function.type == "method_definition":
            values = [v for expected in self.expected_member(document, path) for v in self.return_values(expected)]
        else:
            values = [v for expected in self.expected_values(document, path) for v in self._result(expected)]

        if any(child.type == "async" for child in function.children):
            return self.unwrap_promises(values)
        return values

    def _result(self, function: TsValue) -> list[TsValue]:
        if function.kind == "function":
            return self.return_values(function)
        return self._call_signature_results(function)

    def _expected_argument(self, document: Document, path: list[Node]) -> list[TsValue]:
        """Return the values that a call expects of an argument."""
        if len(path) < 3:
            return []

        node, arguments, call = path[-1], path[-2], path[-3]
        given_arguments = [child for child in arguments.named_children if child.type != "comment"]
        position = next((i for i, child in enumerate(given_arguments) if child.start_byte == node.start_byte), 0)
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
            values += self.parameter(callee, position, len(given_arguments))

        return values

    def _constructor_parameter(self, document: Document, call: Node, position: int) -> list[TsValue]:
        values: list[TsValue] = []
        for value in self.infer(document, call.child_by_field_name("constructor")):
            body = value.node.child_by_field_name("body") if value.kind == "class" and value.node is not None else None
            for child in body.named_children if body is not None else ():
                name = child.child_by_field_name("name")
                if child.type == "method_definition" and name is not None and name.text == b"constructor":
                    values += self.parameter(TsValue("function", value.document, child, value.bound_types), position)

        return values

    def intrinsic(self, document: Document, name: bytes) -> list[TsRef]:
        """Return the declaration of a platform element, such as ``div``: a member of ``IntrinsicElements``."""
        refs: list[TsRef] = []
        for candidate in definitions_named(document.project, b"IntrinsicElements", self.session.workspace)[
            :_MAX_PLATFORMS
        ]:
            for ref in self.lookup(candidate.document, b"IntrinsicElements", candidate.start, as_type=True):
                for value in self.of_type(ref, candidate.document, [], {}):
                    refs += self.member_refs(value, name)

        return refs

    def props(self, document: Document, path: list[Node]) -> list[TsValue]:
        """Return the properties that the element around an attribute takes."""
        element = path[-2] if len(path) > 1 else path[-1]
        name = element.child_by_field_name("name")
        if name is not None and is_intrinsic(name):
            return [v for ref in self.intrinsic(document, name.text or b"") for v in self.values_of(ref)]

        values: list[TsValue] = []
        for value in self.infer(document, name):
            values += self.parameter(value, 0)

        return values
