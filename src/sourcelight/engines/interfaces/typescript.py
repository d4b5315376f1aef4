"""Public symbols of TypeScript: exports of a module, and members that are neither private nor protected.

Sources: the TypeScript Handbook, "Modules" and "Member Visibility". Protected members are left out, as only subclasses
see them. A module is a file; exports of `index.ts` from other files are public under both names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sourcelight.engines.interfaces.model import MAX_DEPTH, PublicSymbol, before_body, line_of, one_line, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_HIDDEN = frozenset({"private", "protected"})
"""Modifiers of members that are not public."""

_CLASSES = {
    "class_declaration": "class",
    "abstract_class_declaration": "class",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
}
_FUNCTIONS = frozenset({"function_declaration", "generator_function_declaration", "function_signature"})
_METHODS = frozenset({"method_definition", "method_signature", "abstract_method_signature"})
_PROPERTIES = frozenset({"public_field_definition", "property_signature"})
_VARIABLES = frozenset({"lexical_declaration", "variable_declaration"})
_CALLABLES = frozenset({"arrow_function", "function_expression", "generator_function"})


# What formatters add where a declaration takes several lines: `< A, B, >`, `{ a: 1; }`, and the first `|` of a union.
_LAYOUT = re.compile(r"(?<=<) |,? (?=>)|[;,](?= })|(?<=[=:(<,?] )[|&] |(?<=[(<])[|&] ")


def read(path: str, root: Node, data: bytes) -> list[PublicSymbol]:
    """Return the exported declarations of a module with their public members."""
    name = path.rpartition("/")[2]
    module = path[: len(path) - len(name)] + name.removesuffix(".tsx").removesuffix(".ts").removesuffix(".d")
    return list(_exports(module, "", node=root, data=data, depth=0))


def _exports(module: str, container: str, *, node: Node, data: bytes, depth: int) -> Iterator[PublicSymbol]:
    """Yield the exports of a module or namespace: declarations, and names in lists of exports."""
    # A name can have several declarations: overloads, and an interface beside a class.
    local: dict[str, list[Node]] = {}
    for child in node.named_children:
        inner = _declaration(child)
        for symbol_name in _names(inner, data):
            local.setdefault(symbol_name, []).append(inner)

    for statement in node.named_children:
        if statement.type != "export_statement":
            continue

        declaration = statement.child_by_field_name("declaration")
        if declaration is not None:
            is_default = any(child.type == "default" for child in statement.children)
            yield from _symbols_of(
                module, container, node=declaration, data=data, depth=depth, alias="default" if is_default else ""
            )
            continue

        source, value = statement.child_by_field_name("source"), statement.child_by_field_name("value")
        if value is not None:
            targets = local.get(text_of(value, data), []) if value.type == "identifier" else []
            yield from _alias(module, container, name="default", node=value, targets=targets, data=data, depth=depth)

        yield from _clause_exports(
            module, container, statement=statement, local={} if source is not None else local, data=data, depth=depth
        )


def _clause_exports(
    module: str, container: str, *, statement: Node, local: dict[str, list[Node]], data: bytes, depth: int
) -> Iterator[PublicSymbol]:
    """Yield names in ``export { … }``, and the whole of ``export * from``."""
    source = statement.child_by_field_name("source")
    origin = f" from {text_of(source, data)}" if source is not None else ""
    for clause in statement.named_children:
        if clause.type == "namespace_export":
            namespace = clause.named_children[0]
            alias_text = text_of(namespace, data)
            signature = f"* as {alias_text}{origin}"
            yield PublicSymbol(module, f"{container}{alias_text}", "namespace", signature, line_of(namespace))

        if clause.type != "export_clause":
            continue

        for item in clause.named_children:
            name = item.child_by_field_name("name")
            alias = item.child_by_field_name("alias") or name
            if name is None or alias is None:
                continue

            if source is not None:
                text = _one_line(f"{text_of(item, data)}{origin}")
                yield PublicSymbol(module, f"{container}{text_of(alias, data)}", "variable", text, line_of(alias))
            else:
                targets = local.get(text_of(name, data), [])
                yield from _alias(
                    module, container, name=text_of(alias, data), node=name, targets=targets, data=data, depth=depth
                )

    if source is not None and not any(
        child.type in {"export_clause", "namespace_export"} for child in statement.named_children
    ):
        yield PublicSymbol(module, f"{container}*{origin}", "namespace", f"*{origin}", line_of(statement))


def _one_line(text: str) -> str:
    return _LAYOUT.sub("", one_line(text))


def _alias(
    module: str, container: str, *, name: str, node: Node, targets: Sequence[Node], data: bytes, depth: int
) -> Iterator[PublicSymbol]:
    """Yield the symbols of a name that is exported separately from its declarations, under that name."""
    if not targets:
        yield PublicSymbol(module, f"{container}{name}", "variable", name, line_of(node))

    own_name = text_of(node, data)
    for target in targets:
        for symbol in _symbols_of(module, container, node=target, data=data, depth=depth, alias=""):
            first, dot, remaining = symbol.name.removeprefix(container).partition(".")
            if first == own_name:
                renamed = f"{container}{name}{dot}{remaining}"
                yield PublicSymbol(module, renamed, symbol.kind, symbol.signature, symbol.line)


def _declaration(statement: Node) -> Node:
    """Return the declaration of a statement, without `export` and `declare`."""
    exported = statement.child_by_field_name("declaration") if statement.type == "export_statement" else None
    node = statement if exported is None else exported
    if node.type == "ambient_declaration" and node.named_children:
        return node.named_children[0]
    return node


def _names(node: Node, data: bytes) -> list[str]:
    """Return names that a statement declares."""
    if node.type in _VARIABLES:
        names = [
            child.child_by_field_name("name") for child in node.named_children if child.type == "variable_declarator"
        ]
    else:
        names = [node.child_by_field_name("name")]
    return [text_of(name, data) for name in names if name is not None]


def _symbols_of(
    module: str, container: str, *, node: Node, data: bytes, depth: int, alias: str
) -> Iterator[PublicSymbol]:
    """Yield the symbols of a declaration; `alias` replaces its name, as in a default export."""
    if depth > MAX_DEPTH:
        return

    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    label = f"{container}{alias or text_of(name, data)}"
    line = line_of(name if name is not None else node)
    if node.type == "ambient_declaration":
        for child in node.named_children:
            yield from _symbols_of(module, container, node=child, data=data, depth=depth, alias=alias)
    elif node.type in _CLASSES:
        yield PublicSymbol(module, label, _CLASSES[node.type], _one_line(before_body(node, data)), line)
        for member in () if body is None else body.named_children:
            yield from _member(module, f"{label}.", member, data)
    elif node.type in _FUNCTIONS:
        yield PublicSymbol(module, label, "function", _one_line(before_body(node, data)), line)
    elif node.type == "type_alias_declaration":
        yield PublicSymbol(module, label, "class", _one_line(before_body(node, data)), line)
    elif node.type in {"internal_module", "module"}:
        yield PublicSymbol(module, label, "namespace", _one_line(before_body(node, data)), line)
        if body is not None:
            yield from _exports(module, f"{label}.", node=body, data=data, depth=depth + 1)
    elif node.type in _VARIABLES:
        yield from _variables(module, container, node, data)
    else:
        yield PublicSymbol(module, label, "variable", alias or label, line)


def _variables(module: str, container: str, node: Node, data: bytes) -> Iterator[PublicSymbol]:
    word = text_of(node.children[0], data)
    for declarator in node.named_children:
        name, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
        if declarator.type != "variable_declarator" or name is None or name.type != "identifier":
            continue
        kind = "constant" if word == "const" else "variable"
        text = f"{word} {text_of(name, data)}{text_of(declarator.child_by_field_name('type'), data)}"
        if value is not None and value.type in _CALLABLES:
            kind, text = "function", f"{text} = {before_body(value, data)}".rstrip().removesuffix("=>")
        yield PublicSymbol(module, f"{container}{text_of(name, data)}", kind, _one_line(text), line_of(name))


def _member(module: str, container: str, node: Node, data: bytes) -> Iterator[PublicSymbol]:
    if node.type in {"property_identifier", "enum_assignment"}:
        text = text_of(node.child_by_field_name("name") or node, data)
        yield PublicSymbol(module, f"{container}{text}", "enummember", text, line_of(node))
        return

    name = node.child_by_field_name("name")
    if name is None or name.type == "private_property_identifier" or _is_hidden(node, data):
        return

    label = f"{container}{text_of(name, data)}"
    if node.type in _METHODS:
        yield PublicSymbol(module, label, "method", _one_line(before_body(node, data)), line_of(name))
    elif node.type in _PROPERTIES:
        value = node.child_by_field_name("value")
        end = node.end_byte if value is None else value.start_byte
        text = _one_line(data[node.start_byte : end].decode("utf-8", "replace")).removesuffix("=").rstrip()
        yield PublicSymbol(module, label, "property", text, line_of(name))


def _is_hidden(node: Node, data: bytes) -> bool:
    return any(child.type == "accessibility_modifier" and text_of(child, data) in _HIDDEN for child in node.children)
