"""Public symbols of Go: names that begin with an upper-case letter, in packages that others can import.

Sources: the language specification, "Exported identifiers"; ``go help packages`` and ``go help importpath`` for
``internal``, ``vendor``, ``testdata`` and names with ``_`` or ``.`` in front; package main can't be imported. As in
``go doc``, methods and fields of types that are not exported don't count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sourcelight.engines.interfaces.model import PublicSymbol, before_body, line_of, one_line, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_PRIVATE = frozenset({"internal", "vendor", "testdata"})
_RECEIVER_NAME = re.compile(r"^func \(\w+ ")
"""The name of a receiver: ``func (c *Client)``."""


def is_public_path(path: str) -> bool:
    """Return whether the package of a path can be imported by other modules."""
    *directories, name = path.split("/")
    hidden = any(part in _PRIVATE or part.startswith(("_", ".")) for part in directories)
    return not hidden and not name.startswith(("_", ".")) and not name.endswith("_test.go")


def read(path: str, root: Node, data: bytes) -> list[PublicSymbol]:
    """Return the exported declarations of a file; none of package main."""
    module = path.rpartition("/")[0]
    symbols: list[PublicSymbol] = []
    for node in root.named_children:
        if node.type == "package_clause" and text_of(node, data).split()[-1:] == ["main"]:
            return []
        symbols += _symbols_of(module, node, data)
    return symbols


def _symbols_of(module: str, node: Node, data: bytes) -> Iterator[PublicSymbol]:
    match node.type:
        case "function_declaration":
            yield from _callable(module, "", kind="function", node=node, data=data)
        case "method_declaration":
            holder = _receiver(node, data)
            if _is_exported(holder):
                yield from _callable(module, f"{holder}.", kind="method", node=node, data=data)
        case "type_declaration":
            for spec in node.named_children:
                yield from _type(module, spec, data)
        case "const_declaration" | "var_declaration":
            yield from _values(module, node, data)


def _is_exported(name: str) -> bool:
    return name[:1].isupper()


def _receiver(node: Node, data: bytes) -> str:
    """Return the name of the type that a method is of."""
    receiver = node.child_by_field_name("receiver")
    pending = [receiver] if receiver is not None else []
    while pending:
        current = pending.pop(0)
        if current.type == "type_identifier":
            return text_of(current, data)
        if current.type != "identifier":
            pending += current.named_children

    return ""


def _callable(module: str, container: str, *, kind: str, node: Node, data: bytes) -> Iterator[PublicSymbol]:
    name = node.child_by_field_name("name")
    if name is not None and _is_exported(text_of(name, data)):
        signature = one_line(before_body(node, data))
        if node.type == "method_declaration":
            # Callers don't see how a method names its receiver.
            signature = _RECEIVER_NAME.sub("func (", signature)
        yield PublicSymbol(module, f"{container}{text_of(name, data)}", kind, signature, line_of(name))


def _type(module: str, spec: Node, data: bytes) -> Iterator[PublicSymbol]:
    name, kind = spec.child_by_field_name("name"), spec.child_by_field_name("type")
    if name is None or kind is None or not _is_exported(text_of(name, data)):
        return

    type_name = text_of(name, data)
    head = f"type {type_name}{text_of(spec.child_by_field_name('type_parameters'), data)}"
    if kind.type == "struct_type":
        yield PublicSymbol(module, type_name, "struct", one_line(f"{head} struct"), line_of(name))
        yield from _fields(module, type_name, kind, data)
    elif kind.type == "interface_type":
        # Embedding is part of the type's declaration; methods are elsewhere.
        embedded = [one_line(text_of(child, data)) for child in kind.named_children if child.type == "type_elem"]
        inner = f" {{ {'; '.join(embedded)} }}" if embedded else ""
        yield PublicSymbol(module, type_name, "interface", one_line(f"{head} interface{inner}"), line_of(name))
        for child in kind.named_children:
            if child.type == "method_elem":
                yield from _callable(module, f"{type_name}.", kind="method", node=child, data=data)
    else:
        equals = " =" if spec.type == "type_alias" else ""
        yield PublicSymbol(module, type_name, "class", one_line(f"{head}{equals} {text_of(kind, data)}"), line_of(name))


def _fields(module: str, type_name: str, struct: Node, data: bytes) -> Iterator[PublicSymbol]:
    for fields in struct.named_children:
        for field in fields.named_children:
            kind = field.child_by_field_name("type")
            if field.type != "field_declaration" or kind is None:
                continue

            names = field.children_by_field_name("name")
            text = one_line(text_of(kind, data))
            for name in names:
                if _is_exported(text_of(name, data)):
                    label = text_of(name, data)
                    yield PublicSymbol(module, f"{type_name}.{label}", "field", f"{label} {text}", line_of(name))

            # An embedded type is a field of its own name, without package, pointer and arguments.
            label = text.lstrip("*").partition("[")[0].rpartition(".")[2]
            if not names and _is_exported(label):
                # The star is part of the field in some grammars, and of its type in others.
                if text_of(field, data).lstrip().startswith("*") and not text.startswith("*"):
                    text = f"*{text}"
                yield PublicSymbol(module, f"{type_name}.{label}", "field", text, line_of(field))


def _values(module: str, node: Node, data: bytes) -> Iterator[PublicSymbol]:
    keyword, kind = ("const", "constant") if node.type == "const_declaration" else ("var", "variable")
    specs: list[Node] = []
    for child in node.named_children:
        # `var ( … )` has its declarations in a list.
        specs += child.named_children if child.type == "var_spec_list" else [child]

    for spec in specs:
        type_text = one_line(text_of(spec.child_by_field_name("type"), data))
        for name in spec.children_by_field_name("name"):
            text = text_of(name, data)
            if name.type == "identifier" and _is_exported(text):
                yield PublicSymbol(module, text, kind, f"{keyword} {text} {type_text}".strip(), line_of(name))
