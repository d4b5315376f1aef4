"""Scopes and bindings of one Python file; each scope is computed when it is first read.

A *scope* is a module, class, function, lambda or comprehension, as the Python reference has it. A *binding* is a place
that gives a name a value in a scope: an assignment, an import, a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from sourcelight.engines.navigation import nodes
from sourcelight.engines.navigation.languages.python.targets import captures_in, names_in
from sourcelight.engines.navigation.parsed_file import ParsedFile

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

Kind = Literal["module", "class", "function", "lambda", "comprehension"]
BindingKind = Literal[
    "function", "class", "parameter", "variable", "loop", "with", "except", "import", "from", "type", "capture"
]

_SCOPES: dict[str, Kind] = {
    "class_definition": "class",
    "function_definition": "function",
    "lambda": "lambda",
    "list_comprehension": "comprehension",
    "set_comprehension": "comprehension",
    "dictionary_comprehension": "comprehension",
    "generator_expression": "comprehension",
}
_BLOCKS = frozenset({
    "block", "if_statement", "elif_clause", "else_clause", "try_statement", "finally_clause", "while_statement",
    "with_clause", "match_statement", "case_clause", "ERROR", "module", "except_group_clause", "except_clause",
    "with_statement", "expression_statement",
})  # fmt: skip
_PARAMETERS = frozenset({
    "identifier", "default_parameter", "typed_parameter", "typed_default_parameter", "list_splat_pattern",
    "dictionary_splat_pattern", "tuple_pattern",
})  # fmt: skip


@dataclass(slots=True, eq=False)
class PythonBinding:
    """A place that binds a name.

    `node` is the definition, assignment or import. The name is bound from byte `bound_from` on. `steps` lead from
    the value to the name through an unpacking (`targets`). Of an import, `module` is the dotted name without its
    `level` dots, and `member` the imported name. `unchecked` is True in a branch that type checkers skip.
    """

    kind: BindingKind
    name: bytes
    start: int
    end: int
    node: Node
    scope: PythonScope
    bound_from: int
    steps: tuple[int, ...] = ()
    module: bytes = b""
    level: int = 0
    member: bytes = b""
    decorators: tuple[Node, ...] = ()
    unchecked: bool = False


@dataclass(slots=True, eq=False)
class PythonScope:
    """A scope; `bindings` by name in order of the text."""

    kind: Kind
    node: Node
    parent: PythonScope | None
    model: PythonModel
    _bindings: dict[bytes, list[PythonBinding]] | None = None
    globals: frozenset[bytes] = frozenset()
    nonlocals: frozenset[bytes] = frozenset()
    stars: list[tuple[bytes, int, int]] = field(default_factory=list)

    @property
    def bindings(self) -> dict[bytes, list[PythonBinding]]:
        """All bindings of this scope itself, by name."""
        if self._bindings is None:
            # Not at the start: most lookups end in a few scopes of a file.
            walk = _ScopeWalk(self)
            walk.walk()
            self.globals, self.nonlocals = frozenset(walk.globals), frozenset(walk.nonlocals)
            self.stars = walk.stars
            self._bindings = walk.bindings

        return self._bindings

    @property
    def module(self) -> PythonScope:
        """The scope of the whole file."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    @property
    def enclosing_class(self) -> PythonScope | None:
        """The nearest class, which may be this scope itself."""
        scope: PythonScope | None = self
        while scope is not None and scope.kind != "class":
            scope = scope.parent
        return scope


class PythonModel(ParsedFile):
    """A parsed file."""

    def __init__(self, text: bytes, tree: Tree) -> None:
        super().__init__(text, tree)
        self.has_walrus = b":=" in text
        self._scopes: dict[tuple[int, int, str], PythonScope] = {}
        self.module = PythonScope(kind="module", node=self.root, parent=None, model=self)
        self.attributes: dict[int, dict[bytes, list[PythonBinding]]] = {}

    def scope(self, node: Node, parent: PythonScope) -> PythonScope:
        """Return the scope that a definition, lambda or comprehension opens."""
        # By place, because the parser makes a new object for a node each time.
        key = node.start_byte, node.end_byte, node.type
        scope = self._scopes.get(key)
        if scope is None:
            scope = self._scopes.setdefault(
                key, PythonScope(kind=_SCOPES[node.type], node=node, parent=parent, model=self)
            )
        return scope

    def scope_along(self, path: list[Node]) -> PythonScope:
        """Return the scope in which the last node of a path from the top is evaluated or bound."""
        scope = self.module
        for index, node in enumerate(path[:-1]):
            if node.type in _SCOPES and _is_inside(path, index):
                scope = self.scope(node, scope)
        return scope


def _is_inside(path: list[Node], index: int) -> bool:
    """Return whether the end of a path is evaluated inside the scope that ``path[index]`` opens."""
    node, child = path[index], path[index + 1]
    kind = node.type
    if kind == "class_definition":
        # Bases, keywords and decorators of a class are evaluated outside of it (Python reference, class definitions).
        return child.type in {"block", "type_parameter"}

    if kind in {"function_definition", "lambda"}:
        # Names of parameters are inside; defaults and annotations are evaluated in the enclosing scope.
        if child.type in {"parameters", "lambda_parameters"}:
            return _names_parameter(path, index + 1)
        if child.type == "identifier":
            return kind == "lambda"
        return child.type in {"block", "type_parameter"} or kind == "lambda"

    first = nodes.child_of_type(node, "for_in_clause")
    if first is None or child.start_byte != first.start_byte or index + 2 >= len(path):
        return True

    # The first iterable of a comprehension is evaluated in the enclosing scope (Python reference, displays).
    right = first.child_by_field_name("right")
    return right is None or not right.start_byte <= path[-1].start_byte < right.end_byte


def _names_parameter(path: list[Node], index: int) -> bool:
    """Return whether the end of a path names a parameter of the list at ``path[index]``."""
    leaf = path[-1]
    if leaf.type != "identifier":
        return False

    for node in path[index + 1 : -1]:
        if node.type not in _PARAMETERS:
            return False
        if node.type in {"default_parameter", "typed_default_parameter"}:
            name = node.child_by_field_name("name")
            if name is None or not name.start_byte <= leaf.start_byte < name.end_byte:
                return False

    return True


class _ScopeWalk:
    """Collect the bindings of one scope, without inner scopes."""

    def __init__(self, scope: PythonScope) -> None:
        self.scope = scope
        self.bindings: dict[bytes, list[PythonBinding]] = {}
        self.globals: set[bytes] = set()
        self.nonlocals: set[bytes] = set()
        self.stars: list[tuple[bytes, int, int]] = []

        # Only `:=` binds inside expressions, so without one in the file only statements are visited.
        self.deep = scope.model.has_walrus
        self._unchecked: list[tuple[int, int]] = []

    def bind(
        self,
        kind: BindingKind,
        name: Node,
        node: Node,
        bound_from: int,
        steps: tuple[int, ...] = (),
        *,
        module: bytes = b"",
        level: int = 0,
        member: bytes = b"",
        decorators: tuple[Node, ...] = (),
    ) -> None:
        binding = PythonBinding(
            kind=kind,
            name=nodes.text_of(name),
            start=name.start_byte,
            end=name.end_byte,
            node=node,
            scope=self.scope,
            bound_from=bound_from,
            steps=steps,
            module=module,
            level=level,
            member=member,
            decorators=decorators,
            unchecked=any(start <= name.start_byte < end for start, end in self._unchecked),
        )
        self.bindings.setdefault(binding.name, []).append(binding)

    def walk(self) -> None:
        scope, node = self.scope, self.scope.node
        if scope.kind == "module":
            self._statements([node])
            return

        if scope.kind == "comprehension":
            for child in node.named_children:
                if child.type == "for_in_clause":
                    left = child.child_by_field_name("left")
                    if left is not None:
                        self.targets("loop", left, child, left.end_byte)
            return

        if scope.kind != "class":
            for child in nodes.children_of(nodes.field_of(node, "parameters")):
                self._parameter(child)

        for child in nodes.children_of(nodes.field_of(node, "type_parameters")):
            name = child
            while name.named_children and name.type != "identifier":
                name = name.named_children[0]
            if name.type == "identifier":
                self.bind("type", name, child, 0)

        body = node.child_by_field_name("body")
        if body is not None:
            self._statements([body])

    def _parameter(self, node: Node) -> None:
        name = node
        while name.type != "identifier":
            inner = [child for child in name.named_children if child.type in _PARAMETERS]
            field = name.child_by_field_name("name")
            if field is not None:
                name = field
            elif inner:
                name = inner[0]
            else:
                return

        self.bind("parameter", name, node, 0)

    def _statements(self, pending: list[Node]) -> None:
        handlers = self._HANDLERS
        while pending:
            node = pending.pop()
            handler = handlers.get(node.type)
            if handler is not None:
                handler(self, node, pending)
            elif node.type in _BLOCKS or (self.deep and node.type not in {"lambda", "class_definition"}):
                pending += reversed(node.named_children)

    def _if(self, node: Node, pending: list[Node]) -> None:
        text = b" ".join(nodes.field_text(node, "condition").split())
        if text.rpartition(b".")[2].removeprefix(b"not ") == b"TYPE_CHECKING":
            # Type checkers take the constant for true (PEP 484), so its other branch is dead for them.
            dead = "consequence" if text.startswith(b"not ") else "alternative"
            self._unchecked += [(part.start_byte, part.end_byte) for part in node.children_by_field_name(dead)]
        pending += reversed(node.named_children)

    def _function(self, node: Node, _waiting: list[Node], decorators: tuple[Node, ...] = ()) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            kind: BindingKind = "class" if node.type == "class_definition" else "function"
            self.bind(kind, name, node, name.end_byte, decorators=decorators)

    def _decorated_definition(self, node: Node, pending: list[Node]) -> None:
        definition = node.child_by_field_name("definition")
        if definition is not None:
            self._function(definition, pending, tuple(c for c in node.named_children if c.type == "decorator"))

    def _assignment(self, node: Node, pending: list[Node]) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None:
            # From the end of the statement: in `x = x + 1`, the right side means the earlier `x`.
            self.targets("variable", left, node, node.end_byte)
        # `a = b = 1` is an assignment inside an assignment.
        if right is not None and (self.deep or right.type == "assignment"):
            pending.append(right)

    def _walrus(self, node: Node, pending: list[Node]) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None:
            self.bind("variable", name, node, node.end_byte)
        if value is not None:
            pending.append(value)

    def _for(self, node: Node, pending: list[Node]) -> None:
        left = node.child_by_field_name("left")
        if left is not None:
            self.targets("loop", left, node, left.end_byte)
        field_names = ["alternative", "body"]
        if self.deep:
            field_names.append("right")
        for field_name in field_names:
            part = node.child_by_field_name(field_name)
            if part is not None:
                pending.append(part)

    def _as_pattern(self, node: Node, pending: list[Node]) -> None:
        alias = node.child_by_field_name("alias")
        if alias is not None and alias.named_children:
            statement = node.parent
            kind: BindingKind = "except" if statement is not None and statement.type.startswith("except") else "with"
            self.targets(kind, alias.named_children[0], node, node.end_byte)
        if self.deep:
            pending += node.named_children[:1]

    def _import(self, node: Node, _waiting: list[Node]) -> None:
        for child in node.named_children:
            alias = child.child_by_field_name("alias")
            if child.type == "aliased_import" and alias is not None:
                self.bind("import", alias, child, node.end_byte, module=nodes.field_text(child, "name"))
            elif child.type == "dotted_name" and child.named_children:
                # `import a.b` binds `a` alone.
                first = child.named_children[0]
                self.bind("import", first, child, node.end_byte, module=nodes.text_of(first))

    def _from_import(self, node: Node, _waiting: list[Node]) -> None:
        source = node.child_by_field_name("module_name")
        module, level = parse_from_module(source)
        for child in node.named_children:
            if child.type == "wildcard_import":
                self.stars.append((module, level, node.start_byte))
                continue
            if source is not None and child.start_byte == source.start_byte:
                continue

            if child.type == "aliased_import":
                name, alias = child.child_by_field_name("name"), child.child_by_field_name("alias")
                if name is None or alias is None:
                    continue
                member = nodes.text_of(name)
                self.bind("from", alias, child, node.end_byte, module=module, level=level, member=member)
            elif child.type == "dotted_name":
                last = nodes.last_child(child) or child
                self.bind("from", last, child, node.end_byte, module=module, level=level, member=nodes.text_of(child))

    def _global(self, node: Node, _waiting: list[Node]) -> None:
        names = self.globals if node.type == "global_statement" else self.nonlocals
        names.update(nodes.text_of(child) for child in node.named_children)

    def _type_alias(self, node: Node, _waiting: list[Node]) -> None:
        left = node.child_by_field_name("left")
        while left is not None and left.type != "identifier":
            left = nodes.first_child(left)
        if left is not None:
            self.bind("variable", left, node, node.end_byte)

    def _case_pattern(self, node: Node, _waiting: list[Node]) -> None:
        for name, pattern in captures_in(node):
            self.bind("capture", name, pattern, node.end_byte)

    def targets(self, kind: BindingKind, target: Node, node: Node, bound_from: int) -> None:
        """Bind every name of a target: a name, or names to be unpacked into."""
        for name, steps in names_in(target):
            self.bind(kind, name, node, bound_from, steps)

    # Below the methods, which are plain functions here.
    _HANDLERS: ClassVar[Mapping[str, Callable[[_ScopeWalk, Node, list[Node]], None]]] = {
        "function_definition": _function,
        "class_definition": _function,
        "decorated_definition": _decorated_definition,
        "if_statement": _if,
        "assignment": _assignment,
        "augmented_assignment": _assignment,
        "named_expression": _walrus,
        "for_statement": _for,
        "as_pattern": _as_pattern,
        "with_item": lambda _, node, pending: pending.extend(node.named_children),
        "import_statement": _import,
        "import_from_statement": _from_import,
        "future_import_statement": lambda *_: None,
        "global_statement": _global,
        "nonlocal_statement": _global,
        "type_alias_statement": _type_alias,
        "case_pattern": _case_pattern,
    }


def parse_from_module(source: Node | None) -> tuple[bytes, int]:
    """Return the module name of a ``from`` import and its number of leading dots."""
    if source is None or source.type != "relative_import":
        return nodes.text_of(source), 0

    text = nodes.text_of(source).replace(b" ", b"")
    name = text.lstrip(b".")
    return name, len(text) - len(name)
