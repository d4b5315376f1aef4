"""Find the references of a definition: its uses in its own file, its repository, and repositories that import it.

Each word that equals the name is resolved as for go-to-definition. It is a reference if it resolves to one of the
definitions, or to a member that implements or overrides the same member.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sourcelight.engines.navigation import named
from sourcelight.engines.navigation.definitions import (
    is_file_spent,
    occurrences_in,
    queried_occurrences,
    resolve,
    resolve_by_rules,
)
from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.model import (
    SCORES,
    DeclarationKey,
    Document,
    Occurrence,
    Reference,
    ResolvedDefinition,
    SymbolQuery,
)
from sourcelight.engines.navigation.ranking import family, rank_definitions
from sourcelight.engines.navigation.scip import precise_symbols_at

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace

MAX_SAME_NAMES = 3
"""With at most this many definitions of a name, uses after an unknown receiver count as references."""

MAX_UNLIKELY_FILES = 200
"""Maximum files of other repositories to read that don't name the module."""

MAX_RENAMED_FILES = 200
"""Maximum files to read because they contain a new name that an import gives."""

_LOCAL = frozenset({"parameter", "variable"})
"""Kinds of definitions that may be visible in a part of their file only."""

_IMPORT_BY_NAME = frozenset({"Python", "Go", "JavaScript", "Java"})
"""Languages (families) whose imports hold the name under which the other repository provides the module."""

_FILE_LOCAL_RENAMES = frozenset({"Go"})
"""Languages in which an import renames for its own file only."""


@dataclass(slots=True)
class References:
    """The references of the definitions that a query selects; `batches` yields them file by file.

    Attributes
    ----------
    query, workspace
        The symbol, and the repositories to look into.
    definitions
        The definitions; set by `prepare`.
    left_out
        How many uses are left out, because the type of the receiver is unknown.
    complete
        Whether no limit ended the search.
    """

    query: SymbolQuery
    workspace: Workspace
    definitions: list[ResolvedDefinition] = field(default_factory=list)
    left_out: int = 0
    complete: bool = True
    # Names of the definitions, and of the query.
    _names: list[bytes] = field(default_factory=list)
    # Names that imports give to the definitions, in order of discovery.
    _new_names: dict[bytes, None] = field(default_factory=dict)
    _replaced_parameters: set[DeclarationKey] = field(default_factory=set)
    _searched: set[tuple[tuple[str, str, bytes], bytes]] = field(default_factory=set)
    _keys: set[DeclarationKey] = field(default_factory=set)
    _overridden_keys: set[DeclarationKey] = field(default_factory=set)
    _accepts_any_receiver: bool = False
    _unlikely_count: int = 0

    @property
    def name(self) -> bytes:
        """The name of the query; an import may have given it to a definition of another name."""
        return self.query.name.encode()

    def prepare(self) -> None:
        """Find the definitions of the query: all bindings of the name in the file, or else the meanings of its uses."""
        document = self.query.document
        workspace = self.workspace
        bindings: list[ResolvedDefinition] = []
        meanings: list[ResolvedDefinition] = []
        resolver = resolver_of(document.language)
        started_s = time.thread_time()

        for occurrence in queried_occurrences(self.query, workspace):
            workspace.budget.check()
            if is_file_spent(document, started_s, self.workspace):
                break
            answers = self._meaning_of(resolve(document, occurrence, self.name, workspace))
            if any(answer.document == document and answer.start == occurrence.start for answer in answers):
                bindings += answers
            else:
                meanings += answers

        # A query may name the definition or a use of it; both must find the same references. So bindings in the file
        # come first, and the meaning of uses counts only without one.
        selected = bindings or meanings
        if any(definition.kind not in _LOCAL for definition in selected) and self.query.line_number is None:
            selected = [definition for definition in selected if definition.kind not in _LOCAL]

        # Without a line the uses in the file may mean different definitions; the first is the most likely.
        if not bindings and self.query.line_number is None:
            selected = selected[:1]

        by_key: dict[DeclarationKey, ResolvedDefinition] = {}
        for definition in selected:
            language = resolver_of(definition.document.language) or resolver
            all_bindings = language.bindings(definition, workspace) if language is not None else [definition]
            for binding in all_bindings:
                by_key.setdefault(binding.key, binding)

        self.definitions = list(by_key.values())
        self._keys = set(by_key) | self._replaced_parameters
        names: dict[bytes, None] = {}
        overridden_keys: set[DeclarationKey] = set()
        for definition in self.definitions:
            names.update(dict.fromkeys(definition.import_names))
            # A call through an interface reaches every implementation, so uses of the overridden member count.
            overridden_keys.update(top.key for top in self._overridden(definition))

        self._names = list({**names, self.name: None})
        self._overridden_keys = overridden_keys

    def _meaning_of(self, answers: Sequence[ResolvedDefinition]) -> list[ResolvedDefinition]:
        """Return the meaning of an occurrence; for a parameter that a fixture provides, the fixture."""
        if not answers:
            return []

        first = answers[0]
        if first.kind == "parameter" and first.document == self.query.document:
            parameter = Occurrence(first.start, first.end)
            answers = resolve(first.document, parameter, self.name, self.workspace)

        # For a pytest parameter the answers are the fixture, then the parameter; uses of both mean the fixture.
        if len(answers) > 1 and answers[1].kind == "parameter" and answers[0].kind != "parameter":
            self._replaced_parameters.add(answers[1].key)

        return list(answers[:1])

    def _overridden(self, definition: ResolvedDefinition) -> Sequence[ResolvedDefinition]:
        language = resolver_of(definition.document.language)
        if language is not None:
            return language.overridden(definition, self.workspace)
        return ()

    def _first_match(self, answers: Sequence[ResolvedDefinition]) -> ResolvedDefinition | None:
        for answer in answers:
            target = self._match(answer)
            if target is not None:
                return target
        return None

    def _match(self, answer: ResolvedDefinition) -> ResolvedDefinition | None:
        """Return an answer if it is one of the definitions, or implements or overrides the same member."""
        if answer.key in self._keys:
            return answer
        if answer.key in self._overridden_keys or self._overrides_related(answer):
            return answer.resolve_by(answer.rule, "implements or overrides the same member", answer.score)
        return None

    def _overrides_related(self, answer: ResolvedDefinition) -> bool:
        """Return whether an answer overrides one of the definitions, or a member that they override."""
        overridden = self._overridden(answer)
        return any(top.key in self._keys or top.key in self._overridden_keys for top in overridden)

    def batches(self) -> Iterator[list[Reference]]:
        """Yield the references of each file as a list, the file of the definition first."""
        self.prepare()
        if not self.definitions:
            return

        # With few definitions of a name, a use after an unknown receiver probably means one of them.
        self._accepts_any_receiver = self._has_few_namesakes()
        seen: set[tuple[str, str, bytes]] = set()
        for document in self._documents():
            if document.key in seen:
                continue
            seen.add(document.key)
            if self._is_over_budget():
                return
            rows = list(self._uses_in(document))
            if rows:
                yield rows

        yield from self._uses_of_new_names()

    def _is_over_budget(self) -> bool:
        self.workspace.budget.check()
        if self.workspace.budget.is_spent:
            self.complete = False
            self.workspace.notice("time", "The time limit ended before every file was read.")
            return True
        return False

    def _uses_of_new_names(self) -> Iterator[list[Reference]]:
        """Yield uses in files that contain a new name only: they import it from the file that renames."""
        documents = [definition.document for definition in self.definitions]
        documents.append(self.query.document)
        projects = {document.project.key: document.project for document in documents}
        done: set[bytes] = set(self._names)
        read_count = 0

        # `_new_names` grows during the loop: a file that imports a new name may rename it again.
        pending = [name for name in self._new_names if name not in done]
        while pending:
            name = pending[0]
            done.add(name)
            for project in projects.values():
                for document in named.files_with(project, name, self.workspace):
                    if (document.key, name) in self._searched or family(document.language) not in self._families:
                        continue

                    if read_count >= MAX_RENAMED_FILES:
                        self.complete = False
                        self.workspace.notice(
                            "renamed",
                            f"{self.query.name} is imported under other names; of the files with only these names, the "
                            f"search read the first {MAX_RENAMED_FILES}.",
                        )
                        return

                    read_count += 1
                    if self._is_over_budget():
                        return

                    # Only uses that rules resolve: the new name may mean something else in this file.
                    rows = list(self._uses_of_name(document, name, renamed=True))
                    if rows:
                        yield [*rows, *self._uses_by_new_names(document, [name])]

            pending = [name for name in self._new_names if name not in done]

    @property
    def _families(self) -> set[str]:
        return {family(definition.document.language) for definition in self.definitions}

    def _has_few_namesakes(self) -> bool:
        projects = {definition.document.project.key: definition.document.project for definition in self.definitions}
        own_family = family(self.query.document.language)
        count = 0
        for project in projects.values():
            namesakes = named.definitions_named(project, self._names[0], self.workspace)
            count += sum(family(namesake.document.language) == own_family for namesake in namesakes)
        return count <= MAX_SAME_NAMES

    def _documents(self) -> Iterator[Document]:
        projects: dict[str, Project] = {}
        for definition in self.definitions:
            yield definition.document
            projects.setdefault(definition.document.project.key, definition.document.project)

        # A local name has no uses in other files, so no other file is searched.
        if all(_is_local(definition, self.workspace) for definition in self.definitions):
            return

        query_project = self.query.document.project
        for project in {**projects, query_project.key: query_project}.values():
            yield from self._candidates(project)

        for definition in self._exporters():
            for other in self.workspace.other_projects(definition.document.project):
                if other.key in projects or other.key == query_project.key:
                    continue
                roots = [root for root in self._roots(definition) if self._imports(other, definition, root)]
                if roots:
                    projects[other.key] = other
                    yield from self._importing_documents(other, roots)

    def _importing_documents(self, other: Project, roots: Sequence[str]) -> Iterator[Document]:
        """Return the files of an importing repository: first files that name the module, then some others.

        The others can use an import of another file. A common name would take seconds over many repositories, so one
        answer reads only `MAX_UNLIKELY_FILES` of them.
        """
        seen_numbers: set[int] = set()
        for root in roots:
            for document in self._candidates(other, root.encode()):
                seen_numbers.add(document.number)
                yield document

        for document in self._candidates(other):
            if document.number in seen_numbers:
                continue

            if self._unlikely_count >= MAX_UNLIKELY_FILES:
                self.complete = False
                self.workspace.notice(
                    "unlikely",
                    f"Of the files in other repositories that contain {self.query.name} but not the name of its "
                    f"module, the search read only the first {MAX_UNLIKELY_FILES}.",
                )
                return

            self._unlikely_count += 1
            yield document

    def _exporters(self) -> list[ResolvedDefinition]:
        """Return one definition of each project."""
        return list({definition.document.project.key: definition for definition in self.definitions}.values())

    def _candidates(self, project: Project, *also: bytes) -> Iterator[Document]:
        families = self._families
        for name in self._names:
            for document in named.files_with(project, name, self.workspace, *also):
                if family(document.language) in families:
                    yield document

    def _roots(self, definition: ResolvedDefinition) -> list[str]:
        """Return the names under which other repositories import the module of a definition."""
        resolver = resolver_of(definition.document.language)
        if resolver is None:
            return [self.query.name]

        # A prefix counts only if this repository provides a package of that name; `utils` alone would match every
        # repository.
        provided = resolver.exports(definition.document.project)
        names: set[str] = set()
        for module_name in resolver.module_names(definition.document):
            names.update(prefix for prefix in named.module_prefixes(module_name) if prefix in provided)
        return sorted(names)

    def _imports(self, other: Project, definition: ResolvedDefinition, root: str) -> bool:
        """Return whether a repository may use a module: by its import tables, then by a text search for both names."""
        if resolver_of(definition.document.language) is None:
            return True

        if family(definition.document.language) in _IMPORT_BY_NAME:
            # The table of imports answers without reading a file. None means that it isn't built yet; then only the
            # text search below decides.
            modules = named.imported_modules(other, self.workspace)
            if modules is not None and not any(root in module for module in modules):
                return False

        return any(named.contains(other, root.encode(), self.workspace, name) for name in self._names)

    def _uses_in(self, document: Document) -> Iterator[Reference]:
        for name in self._names:
            yield from self._uses_of_name(document, name)
        yield from self._uses_by_new_names(document, self._names)

    def _uses_by_new_names(self, document: Document, names: Sequence[bytes]) -> Iterator[Reference]:
        """Yield uses under the new names that imports of a file give to one of `names`."""
        resolver = resolver_of(document.language)
        model = self.workspace.parsed_file(document) if resolver is not None else None
        if resolver is None or model is None:
            return

        done = set(names)
        for occurrence in resolver.renames_of(model, names):
            name = document.text[occurrence.start : occurrence.end]
            answers = resolve_by_rules(document, occurrence, self.workspace) if name not in done else ()
            # Another definition may have been imported under the same new name.
            if not any(answer.key in self._keys for answer in answers):
                continue
            done.add(name)
            if document.language not in _FILE_LOCAL_RENAMES:
                self._new_names[name] = None
            yield from self._uses_of_name(document, name, renamed=True)

    def _uses_of_name(self, document: Document, name: bytes, *, renamed: bool = False) -> Iterator[Reference]:
        """Yield the uses of a name in a file; for an imported name, only uses that rules resolve."""
        if (document.key, name) in self._searched:
            return

        self._searched.add((document.key, name))
        # A compiler's index file knows symbols by their own names, so it can't answer for a name that an import gives.
        precise = None if renamed else precise_symbols_at(document, self.definitions, name, self.workspace)
        started_s = time.thread_time()
        for occurrence in occurrences_in(document, name, self.workspace):
            self.workspace.budget.check()
            if is_file_spent(document, started_s, self.workspace):
                return
            key = (document.key, occurrence.start)
            if key in self._keys and key not in self._replaced_parameters:
                rule = next(definition.rule for definition in self.definitions if definition.key == key)
                yield Reference(document, occurrence, rule, SCORES[rule], "the definition", is_definition=True)
                continue

            if precise is not None and occurrence.start in precise:
                if precise[occurrence.start]:
                    yield Reference(document, occurrence, "scip", 1.0, "the index file names the same symbol")
                continue

            answers: Sequence[ResolvedDefinition] = resolve_by_rules(document, occurrence, self.workspace)
            target = self._first_match(answers[:2])
            if target is not None:
                yield Reference(document, occurrence, target.rule, target.score, target.reason)
            elif not answers and not renamed and name in self._own_names:
                yield from self._unresolved_use(document, occurrence, name)

    @property
    def _own_names(self) -> set[bytes]:
        """The names of the definitions themselves, without imported names."""
        names: set[bytes] = set()
        for definition in self.definitions:
            names.update(definition.import_names)
        return names

    def _unresolved_use(self, document: Document, occurrence: Occurrence, name: bytes) -> Iterator[Reference]:
        if resolver_of(document.language) is not None and self.workspace.parsed_file(document) is not None:
            # A plain name that no rule resolves isn't a use. A member may be one: the type of its receiver is unknown.
            if occurrence.role != "attribute" or (document.key, occurrence.start) in self.workspace.outside:
                return

            # In another repository a member of the same name most likely belongs to a class of that repository.
            projects = {definition.document.project.key for definition in self.definitions}
            may_be_member = any(definition.kind not in _LOCAL for definition in self.definitions)
            if self._accepts_any_receiver and may_be_member and document.project.key in projects:
                reason = "unknown receiver; few definitions have this name"
                yield Reference(document, occurrence, "name", SCORES["name"], reason)
            else:
                self.left_out += 1

            return

        candidates = rank_definitions(document, occurrence, name, self.workspace, limit=1)
        if candidates and candidates[0].key in self._keys:
            yield Reference(document, occurrence, "name", candidates[0].score, candidates[0].reason)
        elif not candidates:
            yield Reference(document, occurrence, "text", SCORES["text"], "same word")
        else:
            self.left_out += 1


def _is_local(definition: ResolvedDefinition, workspace: Workspace) -> bool:
    """Return whether only its own file can use a definition, such as a parameter or a variable inside a function."""
    if definition.kind not in _LOCAL:
        return False
    if definition.kind == "parameter":
        # A language with rules has named arguments, which files that call the function write.
        return resolver_of(definition.document.language) is None
    from sourcelight.engines.navigation.named import outline_of

    return not any(row.offset == definition.start for row in outline_of(definition.document, workspace))
