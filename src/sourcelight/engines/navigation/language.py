"""The parts that a language brings so that its names can be resolved.

`languages.resolver.Resolver` does everything that is the same for all languages. A language parses a file, says how an
identifier is used, and looks up the declarations that it refers to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from sourcelight.engines.navigation.model import DeclarationKey, Document, ResolutionRule, Role
from sourcelight.engines.navigation.nodes import text_of
from sourcelight.engines.navigation.parsed_file import ParsedFile

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace

_T = TypeVar("_T")
_Parsed = TypeVar("_Parsed", bound=ParsedFile)
_Inference = TypeVar("_Inference")


@dataclass(frozen=True, slots=True)
class Ref:
    """A declaration that a name refers to.

    Parameters
    ----------
    document
        The file of the declaration.
    start, end
        Bytes of the declared name; both 0 for the whole file, as a module.
    kind
        One of `sourcelight.engines.symbols.KINDS`, or ``parameter``.
    rule
        The rule that led here.
    reason
        The rule in a few words; empty: the usual words for `rule`.
    missing_module
        The module as written, for an import that leads to no visible repository; the declaration is then that import.
        None: nothing is missing.
    """

    document: Document
    start: int
    end: int
    kind: str
    rule: ResolutionRule
    reason: str = ""
    missing_module: str | None = None

    @property
    def key(self) -> DeclarationKey:
        """The key of the declaration: the file and the offset, -1 for the file as a module."""
        return self.document.key, self.start if self.end else -1


@dataclass(frozen=True, slots=True)
class Usage:
    """The use of an identifier."""

    role: Role = "name"
    is_binding: bool = False
    is_called: bool = False


@dataclass(frozen=True, slots=True)
class Renames:
    """Hooks for a language whose imports and exports rename symbols.

    Parameters
    ----------
    pattern
        Matches, as its first group, a possible new name.
    nodes
        Node types that contain a new name, up to the node that also contains the old name.
    """

    pattern: re.Pattern[bytes]
    nodes: Collection[str]


class Cursor:
    """An identifier in a parsed file, with the nodes around it."""

    __slots__ = ("_path", "node", "parsed")

    def __init__(self, parsed: ParsedFile, node: Node, path: list[Node] | None = None) -> None:
        self.parsed = parsed
        self.node = node
        self._path = path

    @property
    def path(self) -> list[Node]:
        """The nodes from the root down to the identifier; computed when first read."""
        if self._path is None:
            self._path = self.parsed.path_to(self.node.start_byte)
        return self._path

    @property
    def name(self) -> bytes:
        """The text of the identifier."""
        return text_of(self.node)

    @property
    def parent(self) -> Node:
        """The node directly around the identifier; the root is its own parent."""
        path = self.path
        return path[-2] if len(path) > 1 else path[-1]


class NameLookup(Generic[_Inference, _Parsed]):
    """The lookup of one name in a parsed file; a language derives its rules from it."""

    def __init__(self, inference: _Inference, document: Document, model: _Parsed, cursor: Cursor) -> None:
        self.inference = inference
        self.document = document
        self.model = model
        self.path = cursor.path
        self.leaf = cursor.node
        self.name = cursor.name
        self.parent = cursor.parent


class Session:
    """The part of one call that a language works with: parsed files, other repositories, a cache."""

    __slots__ = ("language", "workspace")

    def __init__(self, workspace: Workspace, language: Language) -> None:
        self.workspace = workspace
        self.language = language

    def parsed_file(self, document: Document, parsed_type: type[_Parsed]) -> _Parsed | None:
        """Return a parsed file, or None when its language has another type of parsed files, or it can't be parsed."""
        parsed = self.workspace.parsed_file(document)
        return parsed if isinstance(parsed, parsed_type) else None

    def cursor(self, document: Document, offset: int) -> Cursor | None:
        """Return the cursor of the smallest node at a byte offset, or None for a file that can't be parsed."""
        parsed = self.workspace.parsed_file(document)
        if parsed is None:
            return None
        path = parsed.path_to(offset)
        return Cursor(parsed, path[-1], path)

    def remember(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return the cached value of a key in this call, or make it."""
        return self.workspace.remember((self.language.names, key), make)

    def providers(self, project: Project, name: str) -> list[tuple[Project, Any]]:
        """Return the other repositories that export a name, with what `Language.exports` has for it.

        A repository of that name comes first; forks and archived repositories come last.
        """
        providers = [
            (other, exports[name])
            for other in self.workspace.other_projects(project)
            if name in (exports := exports_of(other, self.language))
        ]

        def rank(provider: tuple[Project, Any]) -> tuple[bool, bool]:
            info, repository = provider[0].target.repository.info, provider[0].name
            # Forks and archives last: several repositories may export the same module, and the original is meant. Then
            # the repository of that name.
            return info.fork or info.archived, name not in {repository, repository.rpartition("/")[2]}

        return sorted(providers, key=rank)

    def note_outside(self, document: Document, offset: int) -> None:
        """Record that the name at an offset is declared in no repository, so that no candidate is guessed."""
        self.workspace.outside.add((document.key, offset))


class Language(Protocol):
    """Rules of one language, or of several with one syntax. Stateless: caches are the session and the project.

    Derive from it; the defaults fit a language without renames and overrides.
    """

    names: tuple[str, ...]
    """Display names of the languages, as `languages.LANGUAGES` has them."""
    identifiers: Collection[str]
    """Node types that are names."""
    renames: Renames | None = None
    """Rules for imports and exports that rename; None for a language without them."""
    has_declared_types: bool = False
    """Whether rules infer nearly all receivers, so that a call on an unknown one mostly calls foreign code."""
    calls_convert: bool = False
    """Whether the call of a type converts a value, rather than running a constructor."""

    def parse(self, name: str, text: bytes, deadline: float) -> ParsedFile | None:
        """Parse a file; return None when that isn't done at `deadline` (of `time.monotonic`).

        The result depends on text and language alone, so that one serves every commit that has the blob. Threads share
        it: a lazy part must be assigned only when it is complete.
        """
        ...

    def usage(self, cursor: Cursor) -> Usage:
        """Return how an identifier is used."""
        ...

    def lookup(self, document: Document, cursor: Cursor, session: Session) -> Sequence[Ref]:
        """Return the declarations that the identifier at the cursor refers to, best first; empty if no rule applies.

        A binding refers to itself. Imports are followed to the end, into other repositories too.
        """
        ...

    def bindings(self, ref: Ref, session: Session) -> Sequence[Ref]:
        """Return all declarations of the same thing: assignments to one variable, overloads, prototypes."""
        ...

    def implementation(self, ref: Ref, session: Session) -> Ref:  # noqa: ARG002 - the default
        """Return the declaration with the body of a function that has further ones without, such as overloads."""
        return ref

    def overridden(self, ref: Ref, session: Session) -> Sequence[Ref]:  # noqa: ARG002 - the default
        """Return the members that a member implements or overrides, up to the top, whose uses are its uses too."""
        return ()

    def module_names(self, document: Document) -> Collection[str]:
        """Return the names under which other files import this one."""
        ...

    def import_target(self, document: Document, module: str, member: str, session: Session) -> Document | None:
        """Return the file that an import means, or None when no visible repository has it.

        `module` and `member` are as in `symbols.Import`: the module as written, leading dots included, and the name
        that is imported from it, empty or ``*`` for all.
        """
        ...

    def exports(self, project: Project) -> Mapping[str, Any]:
        """Return the modules, packages or crates that other repositories can import, by name."""
        ...


def exports_of(project: Project, language: Language) -> Mapping[str, Any]:
    """Return the exports of a project by the rules of a language; computed once."""
    return project.remember(("exports", language.names), lambda: language.exports(project))
