"""What a language has to bring, so that its names can be resolved."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sourcelight.engines.navigation.model import Document, Occurrence, ResolvedDefinition

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace

Model = Any
"""What a resolver keeps of one file's text: its tree, scopes and bindings, worked out when first needed.

It depends on text and language alone, never on path or project, so that one serves every commit that holds the blob.
`Workspace.model` makes and caches it; it may be shared between threads, so what it works out later must be the same
whoever does it (assign finished objects, never half-made ones).
"""


class Language(Protocol):
    """Rules of one or several languages. Stateless: caches are `Workspace.model` and `Project.remember`."""

    languages: Collection[str]
    """Display names of the languages it reads."""

    def build(self, language: str, text: bytes) -> Model | None:
        """Read a file; None when it can't be parsed in time (use `symbols.parse_tree`, which is bounded)."""
        ...

    def occurrences(self, model: Model, name: bytes) -> Sequence[Occurrence]:
        """Give all identifiers of that name in order; what stands in strings and comments is none."""
        ...

    def renamed(self, model: Model, names: Collection[bytes]) -> Sequence[Occurrence]:
        """Give the new names of imports and exports that rename one of `names`, or what a file so named holds."""
        ...

    def occurrence_at(self, model: Model, offset: int) -> Occurrence | None:
        """Give the identifier that covers a byte offset, or ends at it."""
        ...

    def resolve(self, document: Document, occurrence: Occurrence, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Give the definitions of an occurrence, best first; empty where no rule leads anywhere.

        A binding is its own definition. Imports are followed to the end, over the borders of repositories too.
        """
        ...

    def same(self, found: ResolvedDefinition, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Give all places that bind what `found` binds (assignments to one variable, overloads), itself included."""
        ...

    def overridden(self, found: ResolvedDefinition, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Give what a member implements or overrides, up to the top, where uses of one are uses of the other."""
        ...

    def module_names(self, document: Document) -> Collection[str]:
        """Give the names under which other files import this one; used to find who imports it."""
        ...

    def imported(self, document: Document, module: str, member: str, workspace: Workspace) -> Document | None:
        """Give the file that an import in `document` means; None when it is in no visible repository.

        `module` and `member` are as the table of imports has them (`symbols.Import`): the module as written, leading
        dots included, and what is taken from it, empty or ``*`` for all.
        """
        ...

    def provides(self, project: Project) -> Mapping[str, Any]:
        """Give the module, package or crate names that other repositories can import from this one."""
        ...
