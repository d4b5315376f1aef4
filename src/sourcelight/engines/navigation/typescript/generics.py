"""What type parameters mean in one call: as given, by what is passed, by their defaults."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.typescript.members import Members
from sourcelight.engines.navigation.typescript.scopes import FUNCTIONS, parameters_of, type_parameters
from sourcelight.engines.navigation.typescript.values import Given, Place, Value

if TYPE_CHECKING:
    from tree_sitter import Node

Meant = dict[Place, tuple[Value, ...] | Given]


class Generics(Members):
    """Works out type parameters; expressions are read by `infer`."""

    def instantiated(self, function: Value, document: Document, call: Node, *, callbacks: bool = True) -> Value:
        """Add what the type parameters of a function mean in one call."""
        node = function.node
        held = list(type_parameters(node)) if node is not None else []
        if node is None or not held:
            return function
        meant: Meant = dict(function.known)
        arguments = call.child_by_field_name("type_arguments")
        for made, given in zip(held, arguments.named_children if arguments is not None else (), strict=False):
            meant[function.document.key, made.start] = Given(document, given, {})
        if arguments is None:
            names = {made.name: (function.document.key, made.start) for made in held}
            passed = call.child_by_field_name("arguments")
            given_values = [c for c in passed.named_children if c.type != "comment"] if passed is not None else []
            for parameter, argument in zip(parameters_of(node), given_values, strict=False):
                wanted = parameter.child_by_field_name("type")
                told = callbacks or argument.type not in FUNCTIONS
                if told and wanted is not None and any(name in (wanted.text or b"") for name in names):
                    self.unify(wanted, self.infer(document, argument), names, meant)
            for made in held:
                place = function.document.key, made.start
                if place not in meant:
                    default = made.node.child_by_field_name("value")
                    if default is not None:
                        meant[place] = Given(function.document, default, meant)
        return replace(function, known=meant)

    def unify(self, wanted: Node, values: list[Value], names: dict[bytes, Place], meant: Meant) -> None:
        """Note what type parameters have to mean for `values` to be of the type `wanted`."""
        for _ in range(6):
            if not values:
                return
            kind = wanted.type
            if (
                kind in {"type_annotation", "parenthesized_type", "readonly_type", "optional_type"}
                and wanted.named_children
            ):
                wanted = wanted.named_children[0]
            elif kind == "type_identifier":
                place = names.get(wanted.text or b"")
                if place is not None:
                    meant.setdefault(place, tuple(values))
                return
            elif kind == "array_type":
                wanted, values = wanted.named_children[0], [item for value in values for item in value.items]
            elif kind in {"union_type", "intersection_type"}:
                for child in wanted.named_children:
                    self.unify(child, values, names, meant)
                return
            elif kind == "function_type":
                result = wanted.child_by_field_name("return_type")
                if result is None:
                    return
                wanted, values = result, [r for value in values for r in self.returned(value)]
            elif kind == "generic_type":
                self._unify_generic(wanted, values, names, meant)
                return
            else:
                return

    def _unify_generic(self, wanted: Node, values: list[Value], names: dict[bytes, Place], meant: Meant) -> None:
        arguments = wanted.child_by_field_name("type_arguments")
        given = list(arguments.named_children) if arguments is not None else []
        items = [item for value in values for item in value.items]
        if items and given:
            self.unify(given[-1], items, names, meant)
        for value in values:
            if value.kind == "instance" and value.node is not None:
                for made, argument in zip(type_parameters(value.node), given, strict=False):
                    known = self.meaning(value.known, (value.document.key, made.start))
                    if known:
                        self.unify(argument, known, names, meant)
