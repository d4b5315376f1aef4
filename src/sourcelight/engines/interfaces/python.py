"""What is public in Python: names without a leading underscore, or exactly those of ``__all__``.

Source: PEP 8, "Public and Internal Interfaces"; the language reference on ``import``, for ``__all__``. Modules and
packages with a leading underscore are internal. Attributes that only methods assign are not declared, and not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sourcelight.engines.interfaces.model import MAX_DEPTH, PublicSymbol, before_body, line_of, one_line, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SCRIPTS = frozenset({"setup.py", "noxfile.py"})
_BLOCKS = frozenset({"if_statement", "elif_clause", "else_clause", "try_statement", "except_clause", "finally_clause",
                     "with_statement", "block"})  # fmt: skip
# Decorators that change how a name is used; others are the business of the module.
_DECORATORS = frozenset({"property", "cached_property", "staticmethod", "classmethod", "overload", "abstractmethod",
                         "setter", "deleter"})  # fmt: skip


def is_public_path(path: str) -> bool:
    """Whether a module of a path is public."""
    *packages, name = path.split("/")
    internal = any(part.startswith(("_", ".")) for part in packages)
    return not internal and name not in _SCRIPTS and (name in {"__init__.py", "__init__.pyi"} or name[:1] != "_")


def module_of(path: str) -> str:
    """The dotted name of a module, as far as its path tells."""
    name = path.removeprefix("src/").rpartition(".")[0].replace("/", ".")
    return name.removesuffix(".__init__") if name != "__init__" else ""


def read(path: str, root: Node, data: bytes) -> list[PublicSymbol]:
    """Return the public definitions of a module."""
    module = module_of(path)
    symbols = list(_members(module, "", root, data, 0))
    exported = _export_names(root, data)
    if exported is None:
        return [symbol for symbol in symbols if _is_public(symbol.name)]
    defined = {symbol.name.partition(".")[0] for symbol in symbols}
    public_symbols = [
        s for s in symbols if s.name.partition(".")[0] in exported and _is_public(s.name.partition(".")[2] or "a")
    ]
    # A name that the module exports and another one defines.
    return public_symbols + [
        PublicSymbol(module, name, "variable", name, line) for name, line in exported.items() if name not in defined
    ]


def _is_public(name: str) -> bool:
    first, *remaining = name.split(".")
    return first[:1] != "_" and all(part[:1] != "_" or (part[:2] == "__" and part[-2:] == "__") for part in remaining)


def _export_names(root: Node, data: bytes) -> dict[str, int] | None:
    """The names of ``__all__`` and their lines; None without one, or where it is computed."""
    names: dict[str, int] | None = None
    for statement in root.named_children:
        assignment = statement.named_children[0] if statement.type == "expression_statement" else None
        if assignment is None or assignment.type not in {"assignment", "augmented_assignment"}:
            continue
        if text_of(assignment.child_by_field_name("left"), data) != "__all__":
            continue
        value = assignment.child_by_field_name("right")
        if value is None or value.type not in {"list", "tuple"}:
            return None
        names = {} if names is None or assignment.type == "assignment" else names
        for item in value.named_children:
            if item.type == "string":
                content = next((part for part in item.named_children if part.type == "string_content"), None)
                names[text_of(content, data)] = line_of(item)
            elif item.type != "comment":
                return None
    return names


def _members(module: str, container: str, node: Node, data: bytes, depth: int) -> Iterator[PublicSymbol]:
    """Definitions in the statements of a module or class, those in branches included."""
    if depth > MAX_DEPTH:
        return
    for child in node.named_children:
        definition, decorators = child, list[str]()
        if child.type == "decorated_definition":
            inner = child.child_by_field_name("definition")
            if inner is None:
                continue
            definition = inner
            decorators = [
                _decorator(decorator_node, data)
                for decorator_node in child.named_children
                if decorator_node.type == "decorator"
            ]
        if definition.type in _BLOCKS:
            yield from _members(module, container, definition, data, depth + 1)
        elif definition.type == "function_definition":
            yield from _function(module, container, definition, decorators, data)
        elif definition.type == "class_definition":
            yield from _class(module, container, definition, data, depth)
        elif definition.type == "expression_statement":
            yield from _variables(module, container, definition, data)


def _decorator(node: Node, data: bytes) -> str:
    return text_of(node, data).removeprefix("@").strip().partition("(")[0].rpartition(".")[2]


def _function(module: str, container: str, node: Node, decorators: list[str], data: bytes) -> Iterator[PublicSymbol]:
    name = node.child_by_field_name("name")
    if name is None:
        return
    marks = "".join(f"@{decorator} " for decorator in decorators if decorator in _DECORATORS)
    signature = marks + one_line(before_body(node, data)).rstrip(":").rstrip()
    kind = "property" if {"property", "cached_property"} & set(decorators) else "method" if container else "function"
    yield PublicSymbol(module, f"{container}{text_of(name, data)}", kind, signature, line_of(name))


def _class(module: str, container: str, node: Node, data: bytes, depth: int) -> Iterator[PublicSymbol]:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        return
    qualified = f"{container}{text_of(name, data)}"
    signature = one_line(before_body(node, data)).rstrip(":").rstrip()
    yield PublicSymbol(module, qualified, "class", signature, line_of(name))
    if body is not None:
        yield from _members(module, f"{qualified}.", body, data, depth + 1)


def _variables(module: str, container: str, node: Node, data: bytes) -> Iterator[PublicSymbol]:
    assignment = node.named_children[0] if node.named_children else None
    for _ in range(MAX_DEPTH):
        if assignment is None or assignment.type != "assignment":
            return
        left, kind = assignment.child_by_field_name("left"), assignment.child_by_field_name("type")
        names = _assigned_names(left)
        for name in names:
            if name.type == "identifier" and text_of(name, data) != "__all__":
                text = text_of(name, data)
                signature = one_line(f"{text}: {text_of(kind, data)}") if kind is not None else text
                symbol_kind = "field" if container else "variable"
                yield PublicSymbol(module, f"{container}{text}", symbol_kind, signature, line_of(name))
        # ``a = b = 1`` is an assignment whose value is one.
        assignment = assignment.child_by_field_name("right")


def _assigned_names(left: Node | None) -> list[Node]:
    if left is None:
        return []
    return list(left.named_children) if left.type == "pattern_list" else [left]
