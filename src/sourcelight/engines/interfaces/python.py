"""Definitions, imports and ``__all__`` of a Python module; `python_exports` combines modules to public names.

Source: PEP 8, "Public and Internal Interfaces"; the language reference on ``import``, for ``__all__``. Modules and
packages with a leading underscore are internal. Attributes that only methods assign are not declared, and not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sourcelight.engines.interfaces.model import MAX_DEPTH, PublicSymbol, before_body, line_of, one_line, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SCRIPTS = frozenset({"setup.py", "noxfile.py"})
"""Files that no one imports."""

_BLOCKS = frozenset({"if_statement", "elif_clause", "else_clause", "try_statement", "except_clause", "finally_clause",
                     "with_statement", "block"})  # fmt: skip
# Decorators that change how a name is used; others are the business of the module.
_DECORATORS = frozenset({"property", "cached_property", "staticmethod", "classmethod", "overload", "abstractmethod",
                         "setter", "deleter"})  # fmt: skip


def is_public_path(path: str) -> bool:
    """Return whether a module of a path is public."""
    *packages, name = path.split("/")
    internal = any(part.startswith(("_", ".")) for part in packages)
    return not internal and name not in _SCRIPTS and (name in {"__init__.py", "__init__.pyi"} or name[:1] != "_")


def module_of(path: str) -> str:
    """Return the dotted name of a module, as far as its path gives it."""
    name = path.removeprefix("src/").rpartition(".")[0].replace("/", ".")
    return name.removesuffix(".__init__") if name != "__init__" else ""


@dataclass(frozen=True, slots=True)
class ImportedName:
    """A name that a module imports from another one.

    Attributes
    ----------
    name
        Name in the importing module; ``*`` for all that the other one exports.
    module
        The other module as it is written, such as ``._client`` or ``package.module``.
    target
        Name in the other module.
    line
        1-based line of the statement.
    is_export
        Whether the statement exports the name: ``import *`` or ``name as name``.
    """

    name: str
    module: str
    target: str
    line: int
    is_export: bool


@dataclass(frozen=True, slots=True)
class Module:
    """Declarations of a module, public or not.

    Attributes
    ----------
    symbols
        Definitions with their members.
    imports
        Names by ``from … import``, in order; those for type checkers alone excluded.
    imported_modules
        Names that an ``import`` of a module binds, in order; likewise.
    exports
        The names of ``__all__`` and their lines; None without one, or where it is computed.
    bases
        The base classes of each class, as they are written.
    aliases
        Names of the module that a statement like ``mutable = define`` binds to another name, which is the value.
    """

    symbols: Sequence[PublicSymbol] = ()
    imports: Sequence[ImportedName] = ()
    exports: Mapping[str, int] | None = None
    bases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    imported_modules: Sequence[str] = ()

    def offers_import(self, name: str) -> bool:
        """Return whether callers can use a name that the module imports: it has no list of names that excludes it."""
        imported = {item.name for item in self.imports} | set(self.imported_modules)
        return self.exports is None and name in imported


def read(path: str, root: Node, data: bytes) -> Module:
    """Return the declarations of a module."""
    bases: dict[str, Sequence[str]] = {}
    symbols = list(_members(module_of(path), "", node=root, data=data, depth=0, bases=bases))
    aliases = dict(_aliases(root, data, 0))
    return Module(
        symbols=symbols,
        imports=list(_imports(root, data)),
        exports=_export_names(root, data),
        bases=bases,
        aliases=aliases,
        imported_modules=list(_imported_modules(root, data)),
    )


def is_public(name: str) -> bool:
    """Return whether a qualified name is public, member by member."""
    first, *remaining = name.split(".")
    return first[:1] != "_" and all(part[:1] != "_" or (part[:2] == "__" and part[-2:] == "__") for part in remaining)


def _import_statements(node: Node, depth: int) -> Iterator[Node]:
    """Yield the statements that import, without those for type checkers alone."""
    if depth > MAX_DEPTH:
        return

    for child in node.named_children:
        condition = child.child_by_field_name("condition") if child.type == "if_statement" else None
        if condition is not None and b"TYPE_CHECKING" in (condition.text or b""):
            for branch in child.children_by_field_name("alternative"):
                yield from _import_statements(branch, depth + 1)
        elif child.type in _BLOCKS:
            yield from _import_statements(child, depth + 1)
        elif child.type in {"import_from_statement", "import_statement"}:
            yield child


def _imports(root: Node, data: bytes) -> Iterator[ImportedName]:
    for statement in _import_statements(root, 0):
        if statement.type != "import_from_statement":
            continue

        source = "".join(text_of(statement.child_by_field_name("module_name"), data).split())
        if any(part.type == "wildcard_import" for part in statement.named_children):
            yield ImportedName(name="*", module=source, target="*", line=line_of(statement), is_export=True)
        for item in statement.children_by_field_name("name"):
            target = text_of(item.child_by_field_name("name") or item, data)
            alias = item.child_by_field_name("alias")
            name = target if alias is None else text_of(alias, data)
            yield ImportedName(
                name=name,
                module=source,
                target=target,
                line=line_of(item),
                is_export=alias is not None and name == target,
            )


def _imported_modules(root: Node, data: bytes) -> Iterator[str]:
    """Yield the names that ``import a.b`` and ``import a.b as c`` bind."""
    for statement in _import_statements(root, 0):
        for item in statement.children_by_field_name("name") if statement.type == "import_statement" else ():
            alias = item.child_by_field_name("alias")
            yield text_of(item, data).partition(".")[0] if alias is None else text_of(alias, data)


def _aliases(node: Node, data: bytes, depth: int) -> Iterator[tuple[str, str]]:
    for child in () if depth > MAX_DEPTH else node.named_children:
        if child.type in _BLOCKS:
            yield from _aliases(child, data, depth + 1)
        elif child.type == "expression_statement" and child.named_children:
            value: Node | None = child.named_children[0]
            names: list[Node] = []
            # ``a = b = c`` is an assignment whose value is one.
            while value is not None and value.type == "assignment" and len(names) < MAX_DEPTH:
                left = value.child_by_field_name("left")
                names += [left] if left is not None and left.type == "identifier" else []
                value = value.child_by_field_name("right")
            if value is not None and value.type == "identifier":
                yield from ((text_of(name, data), text_of(value, data)) for name in names)


def _export_names(root: Node, data: bytes) -> dict[str, int] | None:
    """Return the names of ``__all__`` and their lines, or None without one, or where it is computed."""
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


def _members(
    module: str, container: str, *, node: Node, data: bytes, depth: int, bases: dict[str, Sequence[str]]
) -> Iterator[PublicSymbol]:
    """Yield definitions in the statements of a module or class, including branches."""
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
            yield from _members(module, container, node=definition, data=data, depth=depth + 1, bases=bases)
        elif definition.type == "function_definition":
            yield from _function(module, container, node=definition, decorators=decorators, data=data)
        elif definition.type == "class_definition":
            yield from _class(module, container, node=definition, data=data, depth=depth, bases=bases)
        elif definition.type == "expression_statement":
            yield from _variables(module, container, definition, data)


def _decorator(node: Node, data: bytes) -> str:
    return text_of(node, data).removeprefix("@").strip().partition("(")[0].rpartition(".")[2]


def _function(module: str, container: str, *, node: Node, decorators: list[str], data: bytes) -> Iterator[PublicSymbol]:
    name = node.child_by_field_name("name")
    if name is None:
        return
    marks = "".join(f"@{decorator} " for decorator in decorators if decorator in _DECORATORS)
    signature = marks + one_line(before_body(node, data)).rstrip(":").rstrip()
    if {"property", "cached_property"} & set(decorators):
        kind = "property"
    elif container:
        kind = "method"
    else:
        kind = "function"
    yield PublicSymbol(module, f"{container}{text_of(name, data)}", kind, signature, line_of(name))


def _class(
    module: str, container: str, *, node: Node, data: bytes, depth: int, bases: dict[str, Sequence[str]]
) -> Iterator[PublicSymbol]:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        return

    qualified = f"{container}{text_of(name, data)}"
    signature = one_line(before_body(node, data)).rstrip(":").rstrip()
    yield PublicSymbol(module, qualified, "class", signature, line_of(name))
    superclasses = node.child_by_field_name("superclasses")
    name_types = {"identifier", "attribute", "subscript"}
    if superclasses is None:
        parents = []
    else:
        parents = [text_of(base, data) for base in superclasses.named_children if base.type in name_types]
    bases[qualified] = [parent.partition("[")[0] for parent in parents]
    if body is not None:
        yield from _members(module, f"{qualified}.", node=body, data=data, depth=depth + 1, bases=bases)


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
                if container and text == "__slots__":
                    yield from _slots(module, container, assignment.child_by_field_name("right"), data)

        # ``a = b = 1`` is an assignment whose value is one.
        assignment = assignment.child_by_field_name("right")


def _slots(module: str, container: str, value: Node | None, data: bytes) -> Iterator[PublicSymbol]:
    """Yield the attributes that ``__slots__`` declares."""
    if value is None or value.type not in {"list", "tuple", "set"}:
        return
    for item in value.named_children:
        content = next((part for part in item.named_children if part.type == "string_content"), None)
        if item.type == "string" and content is not None:
            text = text_of(content, data)
            yield PublicSymbol(module, f"{container}{text}", "field", text, line_of(item))


def _assigned_names(left: Node | None) -> list[Node]:
    if left is None:
        return []
    return list(left.named_children) if left.type == "pattern_list" else [left]
