"""The syntax rules of a declarative language, and the declarations of a parsed file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from sourcelight.engines.navigation.model import DeclarationKey, Document, How, ParsedFile, Role

if TYPE_CHECKING:
    from tree_sitter import Node, Tree


CODE = frozenset({"function", "method", "constructor"})
TYPES = frozenset({"class", "struct", "interface", "enum", "typeparameter"})


@dataclass(frozen=True, slots=True, eq=False)
class Declaration:
    """A name that a file declares.

    Parameters
    ----------
    kind
        One of `sourcelight.engines.symbols.KINDS`, or ``parameter``.
    start, end
        Byte offsets of the name.
    node
        The node that declares it.
    scope
        The node in which the plain name is visible.
    visible
        The byte from which it is visible there.
    type, value
        The declared type (of a function, its return type); without one, an expression that has the type.
    is_element
        Whether the type is an element type of `value`, as in a loop over it, or inside a pattern.
    owner
        First byte of its class; -1 if it isn't a member, -2 if only the name of the class is known (`owner_name`).
    is_prototype
        Whether its definition is elsewhere.
    """

    kind: str
    start: int
    end: int
    node: Node
    scope: Node
    visible: int = 0
    type: Node | None = None
    value: Node | None = None
    is_element: bool = False
    owner: int = -1
    owner_name: bytes = b""
    is_prototype: bool = False


@dataclass(frozen=True, slots=True)
class DeclarationRef:
    """A declaration in a file, with the rule that led to it."""

    document: Document
    declaration: Declaration
    rule: How
    reason: str

    @property
    def key(self) -> DeclarationKey:
        """Identity, for comparisons."""
        return self.document.key, self.declaration.start


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A file, for a name that refers to a whole module."""

    document: Document


@dataclass(frozen=True, slots=True)
class NameUse:
    """The use of a name.

    `receiver` is the expression before the dot. `fields_of` is the type whose field is named, in a literal or a
    pattern. `path` is the qualified name up to this one. `argument_count` is -1 outside of calls. `is_type` means that
    only a type can be here, and `preferred_nodes` are the node types that most likely declare it.
    """

    role: Role = "name"
    receiver: Node | None = None
    fields_of: Node | None = None
    path: tuple[bytes, ...] = ()
    is_import: bool = False
    is_called: bool = False
    argument_count: int = -1
    is_type: bool = False
    preferred_nodes: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class TypeStep:
    """Rule that derives the type of an expression from a part of it.

    `kind`: ``name`` (of the identifier `node`), ``this``, ``super``, ``type`` (`node` is the type), ``same`` (type of
    `node`), ``element`` (an element of `node`'s), ``auto`` (the compiler infers it).
    `otherwise` is the step to try if this one finds nothing.
    """

    kind: str
    node: Node | None = None
    otherwise: TypeStep | None = None


class SyntaxRules(Protocol):
    """The syntax of one language, or of several with one grammar. Stateless."""

    names: tuple[str, ...]
    """Display names of the languages."""
    identifiers: Collection[str]
    classes: Collection[str]
    """Kinds of nodes that hold members."""
    extensions: Collection[str]
    """The kinds among `classes` that add members to a class that they name."""
    members_in_scope: bool
    """Whether code inside a class uses its members without a receiver."""
    separate_function_names: bool
    """Whether functions and variables have separate names, so that a call never means a variable."""
    members_span_files: bool
    """Whether files other than the class's own may define its members."""

    def declaration_at(self, path: Sequence[Node]) -> Declaration | None:
        """Return the declaration of the identifier at the end of a path from the root; None if it declares nothing."""
        ...

    def use_of(self, path: Sequence[Node]) -> NameUse:
        """Return how the identifier at the end of a path is used."""
        ...

    def type_step(self, node: Node) -> TypeStep | None:
        """Return the step that leads to the type of an expression."""
        ...

    def type_leaf(self, node: Node) -> Node | None:
        """Return the identifier that names a type, without pointers, arguments and the like."""
        ...

    def arguments(self, node: Node) -> list[Node]:
        """Return the type arguments of a type; for an array its element type."""
        ...

    def supertypes(self, node: Node) -> list[Node]:
        """Return the types that a class extends or implements."""
        ...

    def implied_class(self, path: Sequence[Node]) -> Node | None:
        """Return the class name of code outside of its class body, such as ``Type::method`` in C++."""
        ...

    def parameters(self, node: Node) -> tuple[int, bool] | None:
        """Count the parameters of a function; also return whether another number of arguments may fit."""
        ...


def nearest(path: Sequence[Node], kinds: Collection[str], before: int = -1) -> Node | None:
    """Return the innermost node of these kinds on a path, looking up from ``path[before - 1]``."""
    return next(
        (node for node in reversed(path[: before if before > 0 else len(path) - 1]) if node.type in kinds), None
    )


def is_field(parent: Node, field: str, node: Node) -> bool:
    """Return whether a node is the given field of its parent."""
    return any(
        child.start_byte == node.start_byte and child.end_byte == node.end_byte
        for child in parent.children_by_field_name(field)
    )


def text_of(node: Node | None) -> bytes:
    """Return the text of a node; empty for none."""
    return (node.text or b"") if node is not None else b""


MAX_DECLARATION_WORDS = 5000
"""Maximum occurrences of a name that are checked for declarations."""


class DeclarationModel(ParsedFile):
    """A parsed file."""

    def __init__(self, rules: SyntaxRules, text: bytes, tree: Tree) -> None:
        self.rules = rules
        super().__init__(text, tree)
        self._declarations: dict[bytes, list[Declaration]] = {}

    def declarations(self, name: bytes) -> list[Declaration]:
        """Return all declarations of a name in the file, in order."""
        declarations = self._declarations.get(name)
        if declarations is None:
            declarations = []
            # Only occurrences of the name are looked at: declarations of a whole file are rarely needed.
            for offset in islice(self.words(name), MAX_DECLARATION_WORDS):
                path = self.path_to(offset)
                if path[-1].type in self.rules.identifiers:
                    declaration = self.rules.declaration_at(path)
                    if declaration is not None and declaration.start == path[-1].start_byte:
                        declarations.append(declaration)
            self._declarations[name] = declarations
        return declarations


def misfit(declaration: Declaration, use: NameUse, *, separate_function_names: bool) -> int:
    """Return how badly a declaration fits a use: 0 fits, more is less likely."""
    if use.is_type:
        is_preferred = not use.preferred_nodes or declaration.node.type in use.preferred_nodes
        return 0 if declaration.kind in TYPES and is_preferred else 1 if declaration.kind in TYPES else 2
    if use.role == "attribute" and not use.path:
        # A member that is called is probably a method; otherwise it is probably a field.
        return int((declaration.kind in CODE) is not use.is_called)
    if use.is_called:
        return (
            0
            if declaration.kind in CODE
            else 2
            if declaration.kind == "typeparameter"
            else int(separate_function_names)
        )
    if use.role == "import":
        return 0
    return int(separate_function_names and declaration.kind in CODE) + (declaration.kind == "typeparameter")


def parameter_mismatch(rules: SyntaxRules, declaration: Declaration, use: NameUse) -> int:
    """Return how badly the parameters of a function fit the arguments of a call: 0 exact, 1 possible, 2 wrong."""
    if use.argument_count < 0 or declaration.kind not in CODE:
        return 0
    parameter_count = rules.parameters(declaration.node)
    if parameter_count is None:
        return 0
    return 0 if parameter_count[0] == use.argument_count else 1 if parameter_count[1] else 2


def innermost(rules: SyntaxRules, in_scope: list[Declaration], use: NameUse) -> list[Declaration]:
    """Return the fitting declarations of the innermost scope, exact parameter counts first."""
    rank = min(
        (misfit(declaration, use, separate_function_names=rules.separate_function_names) for declaration in in_scope),
        default=0,
    )
    fitting_declarations = [
        declaration
        for declaration in in_scope
        if misfit(declaration, use, separate_function_names=rules.separate_function_names) == rank
    ]
    if not fitting_declarations:
        return []
    # All scopes here contain the use, so they are nested, and the shortest is the innermost.
    scope = min(declaration.scope.end_byte - declaration.scope.start_byte for declaration in fitting_declarations)
    inner = [
        declaration
        for declaration in fitting_declarations
        if declaration.scope.end_byte - declaration.scope.start_byte == scope
    ]
    last = -max(declaration.visible for declaration in inner)
    # A later variable shadows an earlier one of the scope, so only the last counts. Overloaded functions all stay, and
    # the one with the right number of parameters comes first.
    return sorted(
        (declaration for declaration in inner if declaration.kind in CODE or -declaration.visible == last),
        key=lambda declaration: (
            parameter_mismatch(rules, declaration, use),
            declaration.is_prototype,
            declaration.start,
        ),
    )


def fit_members(
    rules: SyntaxRules, members: list[tuple[Document, Declaration]], use: NameUse
) -> list[tuple[Document, Declaration]]:
    """Return members sorted by fit, best first."""
    return sorted(
        members,
        key=lambda member: (
            misfit(member[1], use, separate_function_names=rules.separate_function_names),
            parameter_mismatch(rules, member[1], use),
            member[1].is_prototype,
        ),
    )
