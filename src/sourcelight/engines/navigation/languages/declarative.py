"""Resolving names by what declarations and imports say."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.engines.navigation.languages.c import CRules
from sourcelight.engines.navigation.languages.csharp import CSharpRules
from sourcelight.engines.navigation.languages.declared import (
    CODE,
    DeclarationModel,
    DeclarationRef,
    DeclarationRules,
    ModuleRef,
)
from sourcelight.engines.navigation.languages.inference import NameResolver
from sourcelight.engines.navigation.languages.java import JavaRules
from sourcelight.engines.navigation.languages.rust import RustRules
from sourcelight.engines.navigation.model import (
    SCORES,
    Document,
    Identifiers,
    Occurrence,
    ParsedFile,
    ResolvedDefinition,
)
from sourcelight.engines.navigation.named import named
from sourcelight.engines.symbols import parse_tree

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace

MOST_SECONDS = 2.0
"""Time after which parsing a file is given up."""


class DeclarativeLanguage(Identifiers):
    """One language, read by its `syntax.Language`; a `resolver.Resolver`."""

    def __init__(self, language: DeclarationRules) -> None:
        self.language = language
        self.languages: Collection[str] = language.languages
        self.identifiers = language.identifiers

    def build(self, language: str, text: bytes) -> DeclarationModel | None:
        """Parse a file."""
        tree = parse_tree(language, text, time.monotonic() + MOST_SECONDS)
        return None if tree is None else DeclarationModel(self.language, text, tree)

    def occurrence(self, model: ParsedFile, node: Node) -> Occurrence:
        """Say what an identifier is used as."""
        path = model.path_to(node.start_byte)
        leaf = path[-1]
        made = self.language.declared(path)
        use = self.language.use(path)
        binding = made is not None and made.start == leaf.start_byte
        return Occurrence(leaf.start_byte, leaf.end_byte, use.role, binding, use.called)

    def resolve(self, document: Document, occurrence: Occurrence, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Give the definitions of an occurrence."""
        meanings = NameResolver(workspace, self, self.language)
        found: dict[object, ResolvedDefinition] = {}
        for one in meanings.of(document, occurrence.start):
            made = _found(one)
            found.setdefault(made.place, made)
        return list(found.values())

    def same(self, found: ResolvedDefinition, workspace: Workspace) -> Sequence[ResolvedDefinition]:
        """Give a definition with its announcements, and an announcement with its definition."""
        if not self.language.scattered or found.kind not in CODE:
            return [found]
        meanings = NameResolver(workspace, self, self.language)
        name = found.document.text[found.start : found.end]
        own = meanings.declaration(found.document, name, found.start)
        if own is None:
            return [found]
        others = []
        for one in named(found.document.project, name, workspace):
            made = meanings.declaration(one.document, name, one.start)
            if made is None or made.kind not in CODE or made.owner_name != own.owner_name:
                continue
            if made.sketch or own.sketch:
                others.append(_found(DeclarationRef(one.document, made, found.how, found.reason)))
        return [found, *(other for other in others if other.place != found.place)]

    def module_names(self, document: Document) -> Collection[str]:
        """Give the names under which other files import this one."""
        return self.language.module_names(document)

    def imported(self, document: Document, module: str, member: str, workspace: Workspace) -> Document | None:
        """Give the file that an import means."""
        return self.language.imported(NameResolver(workspace, self, self.language), document, module, member)

    def provides(self, project: Project) -> Mapping[str, Any]:
        """Give what other repositories can import."""
        return self.language.provides(project)


class JavaResolver(DeclarativeLanguage):
    """Java."""

    def __init__(self) -> None:
        super().__init__(JavaRules())


class CResolver(DeclarativeLanguage):
    """C and C++."""

    def __init__(self) -> None:
        super().__init__(CRules())


class RustResolver(DeclarativeLanguage):
    """Rust."""

    def __init__(self) -> None:
        super().__init__(RustRules())


class CSharpResolver(DeclarativeLanguage):
    """C#."""

    def __init__(self) -> None:
        super().__init__(CSharpRules())


def _found(one: DeclarationRef | ModuleRef) -> ResolvedDefinition:
    if isinstance(one, ModuleRef):
        return ResolvedDefinition(one.document, 0, 0, "module", "import", SCORES["import"], "followed the import")
    made = one.made
    return ResolvedDefinition(one.document, made.start, made.end, made.kind, one.how, SCORES[one.how], one.reason)
