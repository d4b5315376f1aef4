"""Parse a TypeScript or JavaScript file, and find the declarations of its blocks.

A block is read when a lookup first needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sourcelight.engines.navigation.nodes import children_of, code_of, field_of, first_child, text_of
from sourcelight.engines.navigation.parsed_file import ParsedFile

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

FUNCTIONS = frozenset({
    "function_declaration", "function_expression", "arrow_function", "method_definition", "function_signature",
    "generator_function_declaration", "generator_function", "method_signature", "abstract_method_signature",
    "call_signature", "construct_signature", "function_type", "constructor_type",
})  # fmt: skip

CLASSES = frozenset({"class_declaration", "abstract_class_declaration", "class"})

# ERROR counts as a block: the contents of a broken statement would otherwise have no scope.
_BLOCKS = frozenset({"program", "statement_block", "switch_body", "ERROR", "class_static_block"})

_TYPED = frozenset({"interface_declaration", "type_alias_declaration"})

_SCOPES = FUNCTIONS | CLASSES | _BLOCKS | _TYPED | {
    "for_statement", "for_in_statement", "catch_clause", "conditional_type", "mapped_type_clause", "labeled_statement",
}  # fmt: skip

IDENTIFIERS = frozenset({
    "identifier", "type_identifier", "property_identifier", "private_property_identifier", "statement_identifier",
    "shorthand_property_identifier", "shorthand_property_identifier_pattern",
})  # fmt: skip

TYPE_KINDS = frozenset({"class", "interface", "type", "enum", "typeparameter", "import", "namespace"})

VALUE_KINDS = frozenset({
    "function", "class", "enum", "namespace", "variable", "parameter", "import", "catch", "label", "member", "default",
})  # fmt: skip

_NAMED: dict[str, Kind] = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "function_signature": "function",
    "class_declaration": "class",
    "abstract_class_declaration": "class",
    "interface_declaration": "interface",
    "type_alias_declaration": "type",
    "enum_declaration": "enum",
    "internal_module": "namespace",
    "module": "namespace",
}

_NESTED = FUNCTIONS | CLASSES | {"string", "template_string", "comment", "object", "arguments", "jsx_element"}


@dataclass(frozen=True, slots=True)
class PatternStep:
    """One step of a destructuring: a property by name, an element by index, or the rest."""

    kind: Literal["key", "index", "rest"]
    key: bytes = b""
    index: int = 0


def pattern_names(pattern: Node) -> Iterator[tuple[Node, tuple[PatternStep, ...]]]:
    """Return the names that a pattern binds, each with its steps."""
    # A stack: patterns of generated code nest deeper than Python recurses. Children are pushed in reverse, so that
    # names come in source order.
    pending: list[tuple[Node, tuple[PatternStep, ...]]] = [(pattern, ())]
    while pending:
        node, steps = pending.pop()
        kind = node.type
        if kind in {"identifier", "shorthand_property_identifier_pattern"}:
            # `{a}` is short for `{a: a}`: the name is also the property.
            if kind != "identifier":
                steps = (*steps, PatternStep("key", text_of(node)))
            yield node, steps
        elif kind == "object_pattern":
            pending += [(child, steps) for child in reversed(node.named_children)]
        elif kind == "pair_pattern":
            key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
            if key is not None and value is not None:
                pending.append((value, (*steps, PatternStep("key", text_of(key).strip(b"'\"")))))
        elif kind in {"object_assignment_pattern", "assignment_pattern"}:
            left = node.child_by_field_name("left")
            if left is not None:
                pending.append((left, steps))
        elif kind == "array_pattern":
            elements = _elements(node)
            pending += [
                (child, (*steps, PatternStep("index", index=position))) for position, child in reversed(elements)
            ]
        elif kind == "rest_pattern":
            pending += [(child, (*steps, PatternStep("rest"))) for child in node.named_children]
        elif kind in {"required_parameter", "optional_parameter"}:
            inner = node.child_by_field_name("pattern")
            if inner is not None:
                pending.append((inner, steps))


def _elements(node: Node) -> list[tuple[int, Node]]:
    """Return the elements of an array pattern with their indices; a hole counts too."""
    elements: list[tuple[int, Node]] = []
    position = 0
    for child in node.children:
        if child.type == ",":
            position += 1
        elif child.is_named and child.type != "comment":
            elements.append((position, child))

    return elements


Kind = Literal[
    "function", "class", "interface", "type", "enum", "namespace", "variable", "parameter", "import",
    "typeparameter", "label", "catch", "member", "default",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class TsBinding:
    """A declared name.

    `node` is the declaration. `steps` lead through a destructuring pattern from the value to the name. For imports
    `module` is the module as written and `member` the imported part: a name, ``default`` or ``*``.
    """

    kind: Kind
    name: bytes
    start: int
    end: int
    node: Node
    steps: tuple[PatternStep, ...] = ()
    module: bytes = b""
    member: bytes = b""


Declared = dict[bytes, list[TsBinding]]


class TsModel(ParsedFile):
    """A parsed file."""

    letters = rb"\w$\x80-\xff"

    def __init__(self, text: bytes, tree: Tree) -> None:
        super().__init__(text, tree)
        self._blocks: dict[tuple[int, int, str], Declared] = {}
        self.exports: Declared | None = None
        self.members: dict[tuple[int, int, str], Declared] = {}
        # Hoisting visits every statement of a function. Most files of today have no `var`, and skip it.
        self._has_var = re.search(rb"\bvar\b", text) is not None

    def local(self, path: list[Node], name: bytes, kinds: frozenset[str]) -> list[TsBinding]:
        """Return the declarations of a name at the last node of `path`, of the given kinds; merged ones are several."""
        for node in reversed(path):
            if node.type in _SCOPES:
                bindings = [
                    declaration for declaration in self.declarations(node).get(name, ()) if declaration.kind in kinds
                ]
                if bindings:
                    return bindings
        return []

    def declared_in(self, path: list[Node]) -> Iterator[list[TsBinding]]:
        """Yield the declarations of all blocks along a path, innermost first."""
        for node in reversed(path):
            if node.type in _SCOPES:
                yield from self.declarations(node).values()

    def declarations(self, node: Node) -> Declared:
        """Return the names that a block, function, class or statement with a head declares itself."""
        # Each visit makes new nodes, so they can't be keys. A block and its only statement can have one range: the type
        # distinguishes them.
        key = node.start_byte, node.end_byte, node.type
        bindings = self._blocks.get(key)
        if bindings is None:
            bindings = {}
            for declaration in self._scope_bindings(node):
                bindings.setdefault(declaration.name, []).append(declaration)
            self._blocks[key] = bindings

        return bindings

    def _scope_bindings(self, node: Node) -> Iterator[TsBinding]:
        kind = node.type
        if kind in _BLOCKS:
            for child in node.named_children:
                yield from declared_by(child)
            if kind == "program" and self._has_var:
                yield from _hoisted_variables(node)
        elif kind in FUNCTIONS:
            yield from _function_bindings(node)
            if self._has_var:
                body = node.child_by_field_name("body")
                yield from _hoisted_variables(body) if body is not None else ()
        elif kind in CLASSES or kind in _TYPED:
            yield from type_parameters(node)
            # The name of a class expression is visible inside it alone; a declaration binds it in the block around.
            if kind == "class":
                yield from _self_named(node, "class")
        else:
            yield from _head_bindings(node)


def binding(kind: Kind, name: Node, node: Node, steps: tuple[PatternStep, ...] = ()) -> TsBinding:
    """Make a binding of a name."""
    return TsBinding(kind, text_of(name), name.start_byte, name.end_byte, node, steps)


def _self_named(node: Node, kind: Kind) -> Iterator[TsBinding]:
    name = node.child_by_field_name("name")
    if name is not None:
        yield binding(kind, name, node)


def type_parameters(node: Node) -> Iterator[TsBinding]:
    """Return the type parameters of a declaration."""
    for parameter in children_of(field_of(node, "type_parameters")):
        name = parameter.child_by_field_name("name")
        if name is not None:
            yield binding("typeparameter", name, parameter)


def parameters_of(node: Node) -> list[Node]:
    """Return the parameters of a function, ``this`` left out."""
    # `x => x` has a parameter without parentheses, in a separate field.
    single = node.child_by_field_name("parameter")
    if single is not None:
        return [single]

    parameters: list[Node] = []
    for parameter in code_of(field_of(node, "parameters")):
        pattern = parameter.child_by_field_name("pattern")
        if pattern is None or pattern.type != "this":
            parameters.append(parameter)
    return parameters


def _function_bindings(node: Node) -> Iterator[TsBinding]:
    yield from type_parameters(node)
    # As for classes: the name of a function expression is visible in its body alone.
    if node.type in {"function_expression", "generator_function"}:
        yield from _self_named(node, "function")

    for parameter in parameters_of(node):
        pattern = parameter.child_by_field_name("pattern") or parameter
        for name, steps in pattern_names(pattern):
            yield binding("parameter", name, parameter, steps)


def _head_bindings(node: Node) -> Iterator[TsBinding]:  # noqa: PLR0912 - a case per kind of node
    kind = node.type
    if kind == "for_statement":
        first = node.child_by_field_name("initializer")
        yield from declared_by(first) if first is not None else ()
    elif kind == "for_in_statement":
        left = node.child_by_field_name("left")
        # Without `const`, `let` or `var`, the loop assigns to a name that exists already.
        if left is not None and node.child_by_field_name("kind") is not None:
            for name, steps in pattern_names(left):
                yield binding("variable", name, node, steps)
    elif kind == "catch_clause":
        parameter = node.child_by_field_name("parameter")
        # `catch { … }` has no parameter.
        if parameter is not None:
            for name, steps in pattern_names(parameter):
                yield binding("catch", name, node, steps)
    elif kind == "labeled_statement":
        label = node.child_by_field_name("label")
        if label is not None:
            yield binding("label", label, node)
    elif kind == "mapped_type_clause":
        key = node.child_by_field_name("name")
        if key is not None:
            yield binding("typeparameter", key, node)
    else:
        # `T extends Array<infer U> ? U : never`: `infer` binds a type anywhere in the condition.
        pending = list(node.named_children)
        while pending:
            inner = pending.pop()
            if inner.type == "infer_type" and inner.named_children:
                yield binding("typeparameter", inner.named_children[0], inner)
            pending += inner.named_children


def declared_by(node: Node) -> Iterator[TsBinding]:  # noqa: PLR0912 - a case per kind of node
    """Yield the names that a statement declares in its block."""
    kind = node.type
    if kind in _NAMED:
        name = node.child_by_field_name("name")
        # `namespace a.b` declares `a` here; `b` is a member. `declare module "a"` binds no name.
        while name is not None and name.type == "nested_identifier":
            name = name.child_by_field_name("object")
        if name is not None and name.type != "string":
            yield binding(_NAMED[kind], name, node)
    elif kind in {"lexical_declaration", "variable_declaration"}:
        for declarator in node.named_children:
            pattern = declarator.child_by_field_name("name")
            if pattern is not None:
                for name, steps in pattern_names(pattern):
                    yield binding("variable", name, declarator, steps)
    elif kind == "import_statement":
        yield from _import_bindings(node)
    elif kind in {"export_statement", "ambient_declaration"}:
        inner = node.child_by_field_name("declaration")
        for child in [inner] if inner is not None else node.named_children:
            if child.type in _NAMED or child.type.endswith("declaration"):
                yield from declared_by(child)
            elif child.type == "statement_block":
                for statement in child.named_children:
                    yield from declared_by(statement)
    # The grammar wraps `namespace a {}` into an expression statement.
    elif kind == "expression_statement" and node.named_children and node.named_children[0].type == "internal_module":
        yield from declared_by(node.named_children[0])
    elif kind == "import_alias":
        name = first_child(node)
        if name is not None:
            yield binding("variable", name, node)


def _import_bindings(node: Node) -> Iterator[TsBinding]:
    source = node.child_by_field_name("source")
    for clause in node.named_children:
        if clause.type == "import_require_clause":
            source = clause.child_by_field_name("source")
            # `import a = require("a")` imports the value that the module assigns to `export =`.
            yield _import(clause.named_children[0], clause, source, b"=")

        elif clause.type == "import_clause":
            for part in clause.named_children:
                yield from _imported_part(part, clause, source)


def _imported_part(part: Node, clause: Node, source: Node | None) -> Iterator[TsBinding]:
    """Yield the names of ``a``, ``* as a`` or ``{ a, b as c }`` in an import."""
    if part.type == "identifier":
        yield _import(part, clause, source, b"default")
    elif part.type == "namespace_import" and part.named_children:
        yield _import(part.named_children[0], part, source, b"*")
    elif part.type == "named_imports":
        for specifier in part.named_children:
            name = specifier.child_by_field_name("name")
            if name is not None:
                yield _import(specifier.child_by_field_name("alias") or name, specifier, source, unquote(name))


def _import(name: Node, node: Node, source: Node | None, member: bytes) -> TsBinding:
    module = unquote(source) if source is not None else b""
    return TsBinding("import", text_of(name), name.start_byte, name.end_byte, node, (), module, member)


def unquote(node: Node) -> bytes:
    """Return the text of a string or identifier without quotes."""
    return text_of(node).strip(b"'\"`")


def _hoisted_variables(body: Node) -> Iterator[TsBinding]:
    """Return the variables of ``var`` below a function's body, in inner blocks too."""
    # Variables at the top of a program are declared there already; a function's own are read with its block.
    pending = [child for child in body.named_children if body.type != "program" or child.type != "variable_declaration"]
    while pending:
        node = pending.pop()
        if node.type == "variable_declaration":
            yield from declared_by(node)
        elif node.type == "for_in_statement":
            kind = node.child_by_field_name("kind")
            if kind is not None and kind.type == "var":
                yield from _head_bindings(node)
        if node.type not in _NESTED and not node.type.endswith("expression"):
            pending += node.named_children
