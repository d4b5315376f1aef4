"""Public symbols of Java: public types, and their public and protected members.

Source: the Java Language Specification, 6.6 (access control: protected members are for subclasses anywhere) and 9.4
(members of interfaces are public). japicmp and javadoc count the same by default.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sourcelight.engines.interfaces.model import MAX_DEPTH, PublicSymbol, line_of, one_line, span_text, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPES = {
    "class_declaration": "class",
    "record_declaration": "class",
    "interface_declaration": "interface",
    "annotation_type_declaration": "interface",
    "enum_declaration": "enum",
}
"""Kinds of public types by the types of their nodes."""

_METHODS = {
    "method_declaration": "method",
    "annotation_type_element_declaration": "method",
    "constructor_declaration": "constructor",
}
# The customary order of 8.1.1, 8.3.1 and 8.4.3; comments and annotations are nodes among them, too.
_MODIFIERS = (
    "public", "protected", "private", "abstract", "default", "static", "sealed", "non-sealed", "final", "transient",
    "volatile", "synchronized", "native", "strictfp",
)  # fmt: skip
_FINAL = re.compile(r"\bfinal ")
"""The word ``final`` of a parameter, which callers do not see."""

_FIELDS = {"field_declaration": "field", "constant_declaration": "constant"}


def read(path: str, root: Node, data: bytes) -> list[PublicSymbol]:
    """Return the public types of a file with their members."""
    package = next((child for child in root.named_children if child.type == "package_declaration"), None)
    module = text_of(package.named_children[-1], data) if package is not None else path.rpartition("/")[0]
    symbols: list[PublicSymbol] = []
    for node in root.named_children:
        symbols += _read_type(module, "", node, data, depth=0, is_open=False)
    return symbols


def _read_type(
    module: str, container: str, node: Node, data: bytes, *, depth: int, is_open: bool
) -> Iterator[PublicSymbol]:
    """Yield a type with its members; `is_open` says that it is a member of an interface, and so public."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if node.type not in _TYPES or name is None or depth > MAX_DEPTH or not (is_open or _is_public(node, data)):
        return

    qualified = f"{container}{text_of(name, data)}"
    yield PublicSymbol(module, qualified, _TYPES[node.type], _declaration(node, body, data), line_of(name))
    if body is None:
        return

    is_interface = _TYPES[node.type] == "interface"
    for member in _members_of(body):
        yield from _read_member(module, f"{qualified}.", member, data, depth=depth, is_open=is_interface)


def _members_of(body: Node) -> Iterator[Node]:
    for child in body.named_children:
        # The methods of an enum are in a node of their own, behind its constants.
        if child.type == "enum_body_declarations":
            yield from child.named_children
        else:
            yield child


def _read_member(
    module: str, container: str, node: Node, data: bytes, *, depth: int, is_open: bool
) -> Iterator[PublicSymbol]:
    name = node.child_by_field_name("name")
    if node.type in _TYPES:
        yield from _read_type(module, container, node, data, depth=depth + 1, is_open=is_open)
    elif node.type == "enum_constant" and name is not None:
        yield PublicSymbol(
            module, f"{container}{text_of(name, data)}", "enummember", text_of(name, data), line_of(name)
        )
    elif not _is_public(node, data) and not (is_open and "private" not in _modifiers(node, data)):
        return
    elif node.type in _METHODS and name is not None:
        end = node.child_by_field_name("value") or node.child_by_field_name("body")
        signature = _declaration(node, end, data)
        yield PublicSymbol(module, f"{container}{text_of(name, data)}", _METHODS[node.type], signature, line_of(name))
    elif node.type in _FIELDS:
        head = _declaration(node, node.child_by_field_name("declarator"), data)
        for declarator in node.children_by_field_name("declarator"):
            label = declarator.child_by_field_name("name")
            if label is not None:
                text = text_of(label, data)
                signature = f"{head} {text}{text_of(declarator.child_by_field_name('dimensions'), data)}"
                yield PublicSymbol(module, f"{container}{text}", _FIELDS[node.type], signature, line_of(label))


def _modifiers(node: Node, data: bytes) -> set[str]:
    modifiers = next((child for child in node.children if child.type == "modifiers"), None)
    if modifiers is None:
        return set()
    return {text_of(child, data) for child in modifiers.children}


def _is_public(node: Node, data: bytes) -> bool:
    return bool({"public", "protected"} & _modifiers(node, data))


def _declaration(node: Node, end: Node | None, data: bytes) -> str:
    """Return the declaration without annotations, up to `end`; modifiers are in the order of the specification.

    `final` of a parameter is left out: it binds only the body (8.4.1).
    """
    modifiers = next((child for child in node.children if child.type == "modifiers"), None)
    end_byte = node.end_byte if end is None else end.start_byte
    if modifiers is None:
        text = span_text(node, data, node.start_byte, end_byte)
    else:
        words = [text_of(child, data) for child in modifiers.children if child.type in _MODIFIERS]
        words.sort(key=_MODIFIERS.index)
        text = " ".join([*words, span_text(node, data, modifiers.end_byte, end_byte)])

    head, opening, parameters = one_line(text).removesuffix("default").rstrip().partition("(")
    return f"{head}{opening}{_FINAL.sub('', parameters)}"
