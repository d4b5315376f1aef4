"""The syntax rules of Rust: which identifiers declare a name, how a name is used, and what type an expression has.

`paths` follows paths such as ``crate::config::Config`` to their declarations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcelight.engines.navigation import nodes
from sourcelight.engines.navigation.languages.declared import (
    NAMED_OWNER,
    NO_OWNER,
    Declaration,
    DeclarationRef,
    ModuleRef,
    NameUse,
    ParameterCount,
    TypeStep,
    declare,
)
from sourcelight.engines.navigation.languages.rust.crates import crate_root, crates
from sourcelight.engines.navigation.languages.rust.paths import RustPaths
from sourcelight.engines.navigation.languages.rust.tokens import macro_declaration, macro_use, use_path
from sourcelight.engines.navigation.model import Document, Role

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.languages.inference import NameResolver
    from sourcelight.engines.navigation.model import Project

_ITEMS = {
    "function_item": "function", "function_signature_item": "function", "struct_item": "struct", "union_item": "class",
    "enum_item": "enum", "trait_item": "interface", "type_item": "class", "associated_type": "class",
    "const_item": "constant", "static_item": "variable", "mod_item": "module", "macro_definition": "function",
}  # fmt: skip
_CLASSES = frozenset({"struct_item", "union_item", "enum_item", "trait_item", "impl_item"})
_MODULES = frozenset({"source_file", "mod_item"})
_SCOPES = frozenset({
    "block", "function_item", "closure_expression", "match_arm", "for_expression", "if_expression", "while_expression",
    *_MODULES,
})  # fmt: skip
_PATTERNS = frozenset({
    "tuple_pattern", "tuple_struct_pattern", "struct_pattern", "field_pattern", "ref_pattern", "mut_pattern",
    "reference_pattern", "slice_pattern", "or_pattern", "captured_pattern", "match_pattern", "remaining_field_pattern",
})  # fmt: skip
"""Nodes between a variable in a pattern and the node that has the pattern."""

_PARTS = frozenset({"tuple_struct_pattern", "tuple_pattern", "struct_pattern", "slice_pattern"})
"""Patterns whose variables are parts of the matched value, not the value."""

_BINDERS = frozenset({"let_declaration", "let_condition", "parameter", "for_expression", "match_arm",
                      "closure_parameters"})  # fmt: skip
"""Nodes with a pattern that declares variables."""

_POINTERS = frozenset(
    b"Box Rc Arc RefCell Cell Mutex RwLock Cow Ref RefMut MutexGuard Pin Weak OnceCell LazyLock OnceLock".split()
)
"""Types of the standard library whose content has the members that a program calls: `Deref` leads to it."""

_INNER = frozenset(b"unwrap expect unwrap_or unwrap_or_default unwrap_or_else next last first pop lock read write"
                   b" get get_mut take borrow borrow_mut".split())  # fmt: skip
"""Methods of the standard library that return what their receiver holds."""

_SAME = frozenset(b"clone as_ref as_mut iter iter_mut into_iter to_owned as_deref as_deref_mut by_ref ok".split())
"""Methods of the standard library that return their receiver, as far as its members matter."""

_SMART_POINTERS = frozenset({b"Box", b"Rc", b"Arc", b"RefCell", b"Mutex"})
"""Types whose functions, such as `Box::new`, return their argument as far as its members matter."""

_LOOPS = frozenset({"loop_expression", "while_expression", "for_expression", "block"})


class RustRules:
    """Rust."""

    names: tuple[str, ...] = ("Rust",)
    identifiers: Collection[str] = frozenset({
        "identifier", "type_identifier", "field_identifier", "shorthand_field_identifier",
    })  # fmt: skip
    classes: Collection[str] = _CLASSES | {"enum_variant"}
    extensions: Collection[str] = frozenset({"impl_item"})
    members_in_scope = False
    separate_function_names = False
    members_span_files = True

    def declaration_at(self, path: Sequence[Node]) -> Declaration | None:  # noqa: PLR0911 - a case a return
        """Return the declaration of an identifier, or None if it declares nothing."""
        if len(path) < 3:
            return None

        leaf = path[-1]
        parent = path[-2]
        kind = parent.type
        is_name = nodes.is_field(parent, "name", leaf)
        if kind in _ITEMS:
            return self._item(path) if is_name else None

        if kind == "enum_variant" and is_name:
            owner = nodes.nearest(path, {"enum_item"}) or parent
            return _member_declaration("enummember", path, owner, owner.child_by_field_name("name"))

        if kind == "field_declaration" and is_name:
            owner = nodes.nearest(path, {*_CLASSES, "enum_variant"}) or parent
            return _member_declaration("field", path, owner, parent.child_by_field_name("type"))

        if kind in {"type_parameter", "const_parameter"} and is_name and len(path) > 3:
            return declare("typeparameter", leaf, parent, path[-4])

        # A label of a loop is visible in the loop alone; `break 'name` outside of it is an error.
        if kind == "label" and path[-3].type in _LOOPS:
            return declare("variable", leaf, parent, path[-3])

        return self._pattern_declaration(path)

    def _item(self, path: Sequence[Node]) -> Declaration:
        leaf, node = path[-1], path[-2]
        kind = _ITEMS[node.type]
        owner, owner_name = NO_OWNER, b""
        block_owner = path[-4] if len(path) > 4 and path[-3].type == "declaration_list" else None
        if block_owner is not None and block_owner.type == "impl_item":
            # An `impl` may be in another file than its type, so the owner is known by name only.
            implemented = block_owner.child_by_field_name("type")
            owner = NAMED_OWNER
            owner_name = nodes.text_of(None if implemented is None else self.type_leaf(implemented))
        elif block_owner is not None and block_owner.type == "trait_item":
            owner = block_owner.start_byte
            owner_name = nodes.text_of(block_owner.child_by_field_name("name"))

        if owner != NO_OWNER and kind == "function":
            kind = "method"

        return declare(
            kind,
            leaf,
            node,
            nodes.nearest(path, _SCOPES, len(path) - 2) or path[0],
            declared_type=node.child_by_field_name("return_type") or node.child_by_field_name("type"),
            owner=owner,
            owner_name=owner_name,
            is_prototype=kind == "module" and node.child_by_field_name("body") is None,
        )

    def _pattern_declaration(self, path: Sequence[Node]) -> Declaration | None:
        """Return the declaration of a pattern variable: a lower-case name in a pattern."""
        leaf = path[-1]
        # The grammar can't tell a variable from a constant in a pattern; by convention constants are upper case.
        if leaf.type not in {"identifier", "shorthand_field_identifier"} or nodes.text_of(leaf)[:1].isupper():
            return None

        if path[-2].type == "token_tree":
            return macro_declaration(leaf, path[-2])

        pattern = _enclosing_pattern(path)
        if pattern is None:
            return None

        index = pattern.binder_index
        node = path[index]
        if node.type not in _BINDERS:
            return None
        if node.type != "closure_parameters" and not nodes.is_field(node, "pattern", pattern.node):
            return None

        kind, visible = "variable", leaf.start_byte
        scope = nodes.nearest(path, _SCOPES, index + 1) or path[0]
        value = node.child_by_field_name("value")
        is_element = pattern.is_element
        # `let x = x + 1;`: the new name is visible after its own statement.
        if node.type == "let_declaration":
            visible = node.end_byte
            scope = nodes.nearest(path, _SCOPES, index) or path[0]
        # A variable of an arm has the type of the matched value, or of a part of it inside a pattern.
        elif node.type == "match_arm":
            value = nodes.field_of(nodes.nearest(path, {"match_expression"}, index), "value")
        elif node.type in {"parameter", "closure_parameters"}:
            kind, visible = "parameter", 0
        elif node.type == "for_expression":
            is_element = True

        return declare(
            kind,
            leaf,
            node,
            scope,
            visible=visible,
            declared_type=node.child_by_field_name("type"),
            value=value,
            is_element=is_element,
        )

    def use_of(self, path: Sequence[Node]) -> NameUse:
        """Return how an identifier is used."""
        leaf = path[-1]
        parent = path[-2] if len(path) > 1 else leaf
        kind = parent.type
        # First, because paths inside a `use` look like other paths, but may have lists and aliases.
        if nodes.nearest(path, {"use_declaration"}) is not None:
            return NameUse(role="import", path=use_path(path), is_import=True)

        if kind == "field_initializer" and nodes.is_field(parent, "field", leaf):
            literal = nodes.nearest(path, {"struct_expression"})
            return NameUse(role="keyword", fields_of=nodes.field_of(literal, "name"))

        if kind == "field_pattern" and leaf.type == "field_identifier":
            pattern = nodes.nearest(path, {"struct_pattern"})
            return NameUse(role="keyword", fields_of=nodes.field_of(pattern, "type"))

        if kind == "token_tree":
            return macro_use(leaf)

        expression, receiver = leaf, None
        segments: tuple[bytes, ...] = ()
        if kind == "field_expression" and nodes.is_field(parent, "field", leaf):
            expression, receiver = parent, parent.child_by_field_name("value")
        elif kind in {"scoped_identifier", "scoped_type_identifier"} and nodes.is_field(parent, "name", leaf):
            expression, segments = parent, self._segments(parent)

        call = path[-3] if expression is not leaf and len(path) > 2 else parent
        # `parse::<u8>()`: the type arguments have a node between the name and the call.
        if call.type == "generic_function":
            call = call.parent or call

        is_callee = call.type == "call_expression" and call.start_byte == expression.start_byte
        role: Role = "attribute" if receiver is not None or segments else "name"
        return NameUse(
            role=role,
            receiver=receiver,
            path=segments,
            is_called=is_callee or kind == "macro_invocation",
            is_type=leaf.type == "type_identifier",
        )

    def _segments(self, node: Node) -> tuple[bytes, ...]:
        """Return the parts of a path with ``::``; empty if one of them isn't a name."""
        parts: list[bytes] = []
        current: Node | None = node
        while current is not None:
            if current.type in {"scoped_identifier", "scoped_type_identifier"}:
                parts.append(nodes.text_of(current.child_by_field_name("name")))
                current = current.child_by_field_name("path")
                continue
            # These are keywords, which `type_leaf` doesn't take for names.
            leaf = current if current.type in {"crate", "self", "super"} else self.type_leaf(current)
            if leaf is None:
                return ()
            parts.append(nodes.text_of(leaf))
            break
        return tuple(reversed(parts))

    def type_step(self, node: Node) -> TypeStep | None:  # noqa: PLR0911 - a case per kind of node
        """Return the step that leads to the type of an expression."""
        kind = node.type
        if kind == "self":
            return TypeStep("this", node)
        if kind in {"identifier", "type_identifier", "field_identifier"}:
            return TypeStep("name", node)
        if kind == "field_expression":
            return TypeStep("name", node.child_by_field_name("field"))
        if kind in {"scoped_identifier", "scoped_type_identifier"}:
            return TypeStep("name", node.child_by_field_name("name"))
        if kind in {"call_expression", "generic_function"}:
            return self._call_step(node, node.child_by_field_name("function"))
        if kind == "struct_expression":
            return TypeStep("type", node.child_by_field_name("name"))
        if kind in {"try_expression", "index_expression"}:
            return TypeStep("element", nodes.first_child(node))
        if kind == "type_cast_expression":
            return TypeStep("type", node.child_by_field_name("type"))
        if kind in {"parenthesized_expression", "await_expression", "unary_expression", "reference_expression"}:
            return TypeStep("same", nodes.last_child(node))
        if kind in {"reference_type", "generic_type", "dynamic_type", "abstract_type"}:
            return TypeStep("type", node)
        return None

    def _call_step(self, node: Node, function: Node | None) -> TypeStep:
        """Return the step from a call, or from a function with its type arguments, to the type of its result."""
        kind = None if function is None else function.type
        if function is not None and kind == "field_expression":
            name = nodes.text_of(function.child_by_field_name("field"))
            # Methods of the standard library, whose sources aren't indexed. The method of the repository is tried
            # first, since it may have one of that name.
            if name in _INNER or name in _SAME:
                receiver = function.child_by_field_name("value")
                return TypeStep("same", function, TypeStep("element" if name in _INNER else "same", receiver))
        if function is not None and kind == "scoped_identifier" and node.type == "call_expression":
            base = nodes.text_of(function.child_by_field_name("path"))
            # Members are looked up through `Deref`, so the type of the content counts.
            if base in _SMART_POINTERS:
                return TypeStep("same", _first_argument(node))
        # The wrapped value stands for `Option` and `Result`, as `_INNER` methods return it.
        if kind == "identifier" and nodes.text_of(function) in {b"Some", b"Ok"}:
            return TypeStep("same", _first_argument(node))
        return TypeStep("same", function)

    def type_leaf(self, node: Node) -> Node | None:
        """Return the identifier that names a type, behind references and smart pointers."""
        for _ in range(10):
            if node.type in {"type_identifier", "identifier"}:
                return node
            name_node: Node | None = None
            if node.type in {"reference_type", "pointer_type", "generic_type", "generic_type_with_turbofish"}:
                name_node = node.child_by_field_name("type")
                arguments = self.arguments(node)
                # Members are found through `Deref` (Rust reference, method-call expressions), or after `lock` or
                # `borrow`, so the type inside counts.
                if (
                    node.type == "generic_type"
                    and arguments
                    and nodes.text_of(name_node).rpartition(b"::")[2] in _POINTERS
                ):
                    name_node = arguments[0]
            elif node.type in {"scoped_type_identifier", "scoped_identifier"} or node.type in _ITEMS:
                name_node = node.child_by_field_name("name")
            elif node.type == "impl_item":
                name_node = node.child_by_field_name("type")
            elif node.type in {"dynamic_type", "abstract_type"}:
                name_node = node.child_by_field_name("trait")
            elif node.type == "bounded_type" and node.named_children:
                name_node = node.named_children[0]
            if name_node is None:
                return None
            node = name_node
        return None

    def arguments(self, node: Node) -> list[Node]:
        """Return the arguments of a type; of a ``Result`` only the first one."""
        for _ in range(4):
            if node.type != "reference_type":
                break
            node = node.child_by_field_name("type") or node
        if node.type in {"array_type", "slice_type"}:
            element = node.child_by_field_name("element")
            return [element] if element is not None else []

        arguments = nodes.children_of(node.child_by_field_name("type_arguments"))
        types = [argument for argument in arguments if argument.type != "lifetime"]
        type_name = nodes.field_text(node, "type").rpartition(b"::")[2]
        # `?` and `unwrap` give the success of a result; its error type has no members of interest here.
        return types[:1] if type_name.endswith(b"Result") else types

    def supertypes(self, node: Node) -> list[Node]:
        """Return the bounds of a trait or of a type parameter."""
        types = list(nodes.children_of(node.child_by_field_name("bounds")))
        if node.type != "type_parameter" or node.parent is None:
            return types

        # Bounds may also be in the `where` clause of the item that has the type parameter.
        for predicate in nodes.children_of(nodes.child_of_type(node.parent.parent, "where_clause")):
            if nodes.field_text(predicate, "left") == nodes.field_text(node, "name"):
                types += nodes.children_of(predicate.child_by_field_name("bounds"))
        return types

    def implied_class(self, path: Sequence[Node]) -> Node | None:  # noqa: ARG002 - no code is outside of its class
        """Return None: all methods are inside their class."""
        return None

    def parameters(self, node: Node) -> ParameterCount | None:  # noqa: ARG002 - there are no overloads
        """Return None: Rust has no overloads."""
        return None

    def lookup_outside(
        self, names: NameResolver, document: Document, name: bytes, use: NameUse, offset: int
    ) -> list[DeclarationRef | ModuleRef]:
        """Return the declarations that `use` imports, and macros of the crate."""
        return RustPaths(names).lookup(document, name, offset, is_called=use.is_called)

    def lookup_qualified(
        self, names: NameResolver, document: Document, path: tuple[bytes, ...], offset: int
    ) -> list[DeclarationRef | ModuleRef]:
        """Return the declarations of a path."""
        return RustPaths(names).follow(document, path, offset)

    def import_target(self, names: NameResolver, document: Document, module: str, member: str) -> Document | None:
        """Return the file that a `use` or a `mod` names."""
        return RustPaths(names).file_of_import(document, module, member)

    def module_names(self, document: Document) -> Collection[str]:
        """Return the name of the crate that a file belongs to."""
        root = crate_root(document)
        names = [name for name, number in crates(document.project).items() if number == root.number]
        return tuple(name.decode(errors="replace") for name in names)

    def exports(self, project: Project) -> Mapping[str, Any]:
        """Return the crates of a repository."""
        return {name.decode(errors="replace"): number for name, number in crates(project).items()}


def _first_argument(call: Node) -> Node | None:
    arguments = call.child_by_field_name("arguments")
    if arguments is not None and arguments.named_children:
        return arguments.named_children[0]
    return None


def _member_declaration(kind: str, path: Sequence[Node], owner: Node, type_node: Node | None) -> Declaration:
    """Return the declaration of a field of a struct, or of a variant of an enum, by the name at the end of a path."""
    leaf = path[-1]
    return declare(
        kind,
        leaf,
        path[-2],
        owner,
        declared_type=type_node,
        owner=owner.start_byte,
        owner_name=nodes.text_of(owner.child_by_field_name("name")),
    )


@dataclass(frozen=True, slots=True)
class _EnclosingPattern:
    """The whole pattern around a variable.

    Attributes
    ----------
    binder_index
        Position, in the path to the variable, of the node that has the pattern.
    node
        The pattern.
    is_element
        Whether the variable is only a part of the matched value.
    """

    binder_index: int
    node: Node
    is_element: bool


def _enclosing_pattern(path: Sequence[Node]) -> _EnclosingPattern | None:
    """Return the pattern around a name, or None if the name is a use."""
    index, child, is_element = len(path) - 2, path[-1], False
    while index > 0 and path[index].type in _PATTERNS:
        node = path[index]
        # The name of a struct in its pattern, or part of a guard: both are uses.
        if nodes.is_field(node, "type", child) or nodes.is_field(node, "condition", child):
            return None

        # In `Point { x: a }`, `x` names the field and `a` is the variable; in `Point { x }`, the one node is both.
        if node.type == "field_pattern" and nodes.is_field(node, "name", child) and child.type == "field_identifier":
            return None

        is_element = is_element or node.type in _PARTS
        child = node
        index -= 1

    return _EnclosingPattern(index, child, is_element)
