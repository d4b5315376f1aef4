"""The syntax rules of a declarative language, and the declarations of a parsed file.

Nothing is collected in advance: the declarations of a name are found at the occurrences of its text, once per file and
name. Of several that are visible the fitting ones of the innermost scope count; by the use a type, a function or a
field fits better, and the number of arguments decides among overloaded functions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from sourcelight.engines.navigation.model import DeclarationKey, Document, ResolutionRule, Role
from sourcelight.engines.navigation.parsed_file import ParsedFile

if TYPE_CHECKING:
    from tree_sitter import Node, Tree


CODE = frozenset({"function", "method", "constructor"})
TYPES = frozenset({"class", "struct", "interface", "enum", "typeparameter"})

MAX_DECLARATION_WORDS = 5000
"""Maximum occurrences of a name that are checked for declarations."""

NO_OWNER = -1
"""Owner of a declaration that is no member."""

NAMED_OWNER = -2
"""Owner of a member of a class of which only the name is known."""

StepKind: TypeAlias = Literal["name", "this", "super", "type", "same", "element", "auto"]


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
        First byte of its class, `NO_OWNER` outside of classes, or `NAMED_OWNER` if only `owner_name` is known.
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
    owner: int = NO_OWNER
    owner_name: bytes = b""
    is_prototype: bool = False

    @property
    def is_member(self) -> bool:
        """Whether a class has it."""
        return self.owner != NO_OWNER


def declare(  # noqa: PLR0913 - the fields of `Declaration`
    kind: str,
    name: Node,
    node: Node,
    scope: Node,
    *,
    visible: int = 0,
    declared_type: Node | None = None,
    value: Node | None = None,
    is_element: bool = False,
    owner: int = NO_OWNER,
    owner_name: bytes = b"",
    is_prototype: bool = False,
) -> Declaration:
    """Return the declaration of the identifier `name`; the other arguments are those of `Declaration`."""
    return Declaration(
        kind=kind,
        start=name.start_byte,
        end=name.end_byte,
        node=node,
        scope=scope,
        visible=visible,
        type=declared_type,
        value=value,
        is_element=is_element,
        owner=owner,
        owner_name=owner_name,
        is_prototype=is_prototype,
    )


@dataclass(frozen=True, slots=True)
class DeclarationRef:
    """A declaration in a file, with the rule that led to it."""

    document: Document
    declaration: Declaration
    rule: ResolutionRule
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

    Parameters
    ----------
    role
        The place of the name in the syntax.
    receiver
        The expression before the dot.
    fields_of
        The type whose field is named, in a literal or a pattern.
    path
        The qualified name up to this one.
    is_import, is_called
        Whether an import names it, and whether it is called.
    argument_count
        The number of arguments of the call; None outside of calls.
    is_type
        Whether only a type can be here.
    preferred_nodes
        Types of the nodes that most likely declare it.
    """

    role: Role = "name"
    receiver: Node | None = None
    fields_of: Node | None = None
    path: tuple[bytes, ...] = ()
    is_import: bool = False
    is_called: bool = False
    argument_count: int | None = None
    is_type: bool = False
    preferred_nodes: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class TypeStep:
    """A rule that derives the type of an expression from a part of it.

    Parameters
    ----------
    kind
        ``name``: that of the declaration of the identifier `node`; ``this``, ``super``: the enclosing class, its base;
        ``type``: `node` itself; ``same``: that of the expression `node`; ``element``: that of an element of `node`;
        ``auto``: that of the initial value.
    node
        The part; None: it is missing, as in damaged code.
    otherwise
        The step to try if this one finds nothing.
    """

    kind: StepKind
    node: Node | None = None
    otherwise: TypeStep | None = None


@dataclass(frozen=True, slots=True)
class ParameterCount:
    """The number of parameters of a function, and whether another number of arguments may fit: defaults, ``...``."""

    count: int
    fits_others: bool


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

    def parameters(self, node: Node) -> ParameterCount | None:
        """Count the parameters of a function; None if it has no list of them."""
        ...


class DeclarationModel(ParsedFile):
    """A parsed file that finds its declarations by the rules of its language."""

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


def misfit(  # noqa: PLR0911 - a kind of use a return
    declaration: Declaration, use: NameUse, *, separate_function_names: bool
) -> int:
    """Return how badly a declaration fits a use: 0 fits, more is less likely."""
    if use.is_type:
        return _type_misfit(declaration, use)
    if use.role == "attribute" and not use.path:
        # A member that is called is probably a method; otherwise it is probably a field.
        return int((declaration.kind in CODE) is not use.is_called)

    if use.is_called:
        if declaration.kind in CODE:
            return 0
        if declaration.kind == "typeparameter":
            return 2
        return int(separate_function_names)

    if use.role == "import":
        return 0

    is_unlikely = declaration.kind == "typeparameter" or (separate_function_names and declaration.kind in CODE)
    return int(is_unlikely)


def _type_misfit(declaration: Declaration, use: NameUse) -> int:
    if declaration.kind not in TYPES:
        return 2
    if not use.preferred_nodes or declaration.node.type in use.preferred_nodes:
        return 0
    return 1


def parameter_mismatch(rules: SyntaxRules, declaration: Declaration, use: NameUse) -> int:
    """Return how badly the parameters of a function fit the arguments of a call: 0 exact, 1 possible, 2 wrong."""
    if use.argument_count is None or declaration.kind not in CODE:
        return 0
    parameters = rules.parameters(declaration.node)
    if parameters is None:
        return 0

    if parameters.count == use.argument_count:
        return 0
    if parameters.fits_others:
        return 1
    return 2


def innermost(rules: SyntaxRules, in_scope: list[Declaration], use: NameUse) -> list[Declaration]:
    """Return the fitting declarations of the innermost scope, exact parameter counts first."""
    if not in_scope:
        return []

    ranks = [
        misfit(declaration, use, separate_function_names=rules.separate_function_names) for declaration in in_scope
    ]
    best_rank = min(ranks)
    fitting = [declaration for declaration, rank in zip(in_scope, ranks, strict=True) if rank == best_rank]

    # All scopes here contain the use, so they are nested, and the shortest is the innermost.
    scope_bytes = min(_scope_bytes(declaration) for declaration in fitting)
    inner = [declaration for declaration in fitting if _scope_bytes(declaration) == scope_bytes]
    last_visible = max(declaration.visible for declaration in inner)

    # A later variable shadows an earlier one of the scope, so only the last counts. Overloaded functions all stay, and
    # the one with the right number of parameters comes first.
    unshadowed = [
        declaration for declaration in inner if declaration.kind in CODE or declaration.visible == last_visible
    ]
    return sorted(
        unshadowed,
        key=lambda declaration: (
            parameter_mismatch(rules, declaration, use),
            declaration.is_prototype,
            declaration.start,
        ),
    )


def _scope_bytes(declaration: Declaration) -> int:
    return declaration.scope.end_byte - declaration.scope.start_byte


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
