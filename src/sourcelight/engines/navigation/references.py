"""Finding the uses of what a file defines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.definitions import (
    SymbolQuery,
    asked_occurrences,
    by_rules,
    family,
    occurrences_in,
    ranked,
    resolve,
)
from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.model import SCORES, Document, How, Occurrence, ResolvedDefinition
from sourcelight.engines.navigation.named import files_with, holds, imported_modules, named
from sourcelight.engines.navigation.scip import precise_symbols_at

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace

MOST_BEARERS = 3
"""Definitions of a name up to which uses after an unknown receiver count as its references."""

MOST_UNLIKELY = 200
"""Files of other repositories that are read for one answer although they do not name the module."""

MOST_RENAMED = 200
"""Files that are read for one answer because they bear a name that an import gave to what is asked for."""

_LOCAL = frozenset({"parameter", "variable"})
_BINDERS = frozenset({"import", "from"})

_IMPORT_BY_NAME = frozenset({"Python", "Go", "JavaScript", "Java"})
"""Languages (families) whose imports hold the name under which the other repository provides the module."""

_OF_FOLDERS = frozenset({b"__init__", b"index", b"mod"})
"""Files that stand for their folder."""

_OF_FILES = frozenset({"Go"})
"""Languages in which no other file sees the new name that an import gives."""

_SEPARATOR = re.compile(r"::|[./\\]")

PlaceKey = tuple[tuple[str, str, bytes], int]


@dataclass(frozen=True, slots=True)
class Reference:
    """A use of a definition: a place in a file, how it was found, and whether it is the definition itself."""

    document: Document
    occurrence: Occurrence
    how: How
    score: float
    reason: str
    is_definition: bool = False


@dataclass(slots=True)
class References:
    """The uses of one name's definitions; `found` gives them file by file, as they are found.

    `left_out` counts places with that name after a receiver whose type is unknown, which were not given.
    """

    asked: SymbolQuery
    workspace: Workspace
    definitions: list[ResolvedDefinition] = field(default_factory=list)
    left_out: int = 0
    complete: bool = True
    _names: list[bytes] = field(default_factory=list)
    _renamed: dict[bytes, None] = field(default_factory=dict)
    _given: set[PlaceKey] = field(default_factory=set)
    _done: set[tuple[tuple[str, str, bytes], bytes]] = field(default_factory=set)
    _places: set[PlaceKey] = field(default_factory=set)
    _tops: set[PlaceKey] = field(default_factory=set)
    _any_receiver: bool = False
    _unlikely: int = 0

    @property
    def name(self) -> bytes:
        """The name that is asked for; an import may have given it to what bears another one."""
        return self.asked.name.encode()

    def prepare(self) -> None:
        """Find what the name defines in the file: all bindings of it, or what it means where it is only used."""
        document, workspace = self.asked.document, self.workspace
        bindings: list[ResolvedDefinition] = []
        meanings: list[ResolvedDefinition] = []
        resolver = resolver_of(document.language)
        for occurrence in asked_occurrences(self.asked, workspace):
            workspace.budget.check()
            answers = self._without_given(resolve(document, occurrence, self.name, workspace))
            definitions_here = [
                definition
                for definition in answers
                if definition.document == document and definition.start == occurrence.start
            ]
            (bindings if definitions_here else meanings).extend(answers)
        selected = bindings or meanings
        if any(definition.kind not in _LOCAL for definition in selected) and self.asked.line_number is None:
            selected = [definition for definition in selected if definition.kind not in _LOCAL]
        if not bindings and self.asked.line_number is None:
            selected = selected[:1]
        by_key: dict[PlaceKey, ResolvedDefinition] = {}
        for definition in selected:
            language = resolver_of(definition.document.language) or resolver
            for binding in language.bindings(definition, workspace) if language is not None else [definition]:
                by_key.setdefault(binding.place, binding)
        self.definitions = list(by_key.values())
        self._places = set(by_key) | self._given
        self._names = list(
            dict.fromkeys([*(name for definition in self.definitions for name in _names(definition)), self.name])
        )
        self._tops = {top.place for definition in self.definitions for top in self._overridden(definition)}

    def _without_given(self, answers: Sequence[ResolvedDefinition]) -> list[ResolvedDefinition]:
        """Give what an occurrence means; of a parameter that something else is given for, that, and keep both."""
        first = answers[0] if answers else None
        if first is not None and first.kind == "parameter" and first.document == self.asked.document:
            parameter = Occurrence(first.start, first.end)
            answers = resolve(first.document, parameter, self.name, self.workspace)
        if len(answers) > 1 and answers[1].kind == "parameter" and answers[0].kind != "parameter":
            self._given.add(answers[1].place)
        return list(answers[:1])

    def _overridden(self, definition: ResolvedDefinition) -> Sequence[ResolvedDefinition]:
        language = resolver_of(definition.document.language)
        return language.overridden(definition, self.workspace) if language is not None else ()

    def _met(self, answer: ResolvedDefinition) -> ResolvedDefinition | None:
        """Give an answer if it is asked for: itself, or by what it implements or overrides."""
        if answer.place in self._places:
            return answer
        if answer.place in self._tops or any(
            top.place in self._places or top.place in self._tops for top in self._overridden(answer)
        ):
            return answer.because(answer.how, "implements or overrides the same member", answer.score)
        return None

    def found(self) -> Iterator[list[Reference]]:
        """Yield references, a list for each file, that of the definition first; empty when nothing is defined."""
        self.prepare()
        if not self.definitions:
            return
        self._any_receiver = self._few_bearers()
        seen: set[tuple[str, str, bytes]] = set()
        for document in self._documents():
            if document.key in seen:
                continue
            seen.add(document.key)
            if self._is_spent():
                return
            rows = list(self._in(document))
            if rows:
                yield rows
        yield from self._elsewhere()

    def _is_spent(self) -> bool:
        self.workspace.budget.check()
        if self.workspace.budget.spent:
            self.complete = False
            self.workspace.notice("time", "The time allowed was used up before every file was read.")
            return True
        return False

    def _elsewhere(self) -> Iterator[list[Reference]]:
        """Yield uses in files that only know a new name: they import it from where an import gave it."""
        documents = [*(one.document for one in self.definitions), self.asked.document]
        projects = {document.project.key: document.project for document in documents}
        done: set[bytes] = set(self._names)
        read = 0
        while new_names := [name for name in self._renamed if name not in done]:
            name = new_names[0]
            done.add(name)
            for project in projects.values():
                for document in files_with(project, name, self.workspace):
                    if (document.key, name) in self._done or family(document.language) not in self._families:
                        continue
                    if read >= MOST_RENAMED:
                        self.complete = False
                        self.workspace.notice(
                            "renamed",
                            f"{self.asked.name} is imported under other names; of the files that bear only these, the "
                            f"first {MOST_RENAMED} were read.",
                        )
                        return
                    read += 1
                    if self._is_spent():
                        return
                    rows = list(self._named(document, name, renamed=True))
                    if rows:
                        yield [*rows, *self._by_other_names(document, [name])]

    @property
    def _families(self) -> set[str]:
        return {family(one.document.language) for one in self.definitions}

    def _few_bearers(self) -> bool:
        projects = {one.document.project.key: one.document.project for one in self.definitions}
        count = sum(
            1
            for project in projects.values()
            for one in named(project, self._names[0], self.workspace)
            if family(one.document.language) == family(self.asked.document.language)
        )
        return count <= MOST_BEARERS

    def _documents(self) -> Iterator[Document]:
        projects: dict[str, Project] = {}
        for definition in self.definitions:
            yield definition.document
            projects.setdefault(definition.document.project.key, definition.document.project)
        local = all(
            definition.kind in _LOCAL and _is_local(definition, self.workspace) for definition in self.definitions
        )
        if local:
            return
        asked_project = self.asked.document.project
        for project in {**projects, asked_project.key: asked_project}.values():
            yield from self._candidates(project)
        for definition in self._exporters():
            for other in self.workspace.others(definition.document.project):
                if other.key in projects or other.key == asked_project.key:
                    continue
                roots = [root for root in self._roots(definition) if self._imports(other, definition, root)]
                if roots:
                    projects[other.key] = other
                    yield from self._importing(other, roots)

    def _importing(self, other: Project, roots: Sequence[str]) -> Iterator[Document]:
        """Give the files of an importing repository: those that name the module, then some that only bear the name.

        The latter can still use what another file of theirs imported. A common name would take seconds over many
        repositories, so only `MOST_UNLIKELY` of them are read for one answer.
        """
        seen_numbers: set[int] = set()
        for root in roots:
            for document in self._candidates(other, root.encode()):
                seen_numbers.add(document.number)
                yield document
        for document in self._candidates(other):
            if document.number in seen_numbers:
                continue
            if self._unlikely >= MOST_UNLIKELY:
                self.complete = False
                self.workspace.notice(
                    "unlikely",
                    f"Of the files in other repositories that bear the name {self.asked.name} but do not name its "
                    f"module, only the first {MOST_UNLIKELY} were read.",
                )
                return
            self._unlikely += 1
            yield document

    def _exporters(self) -> list[ResolvedDefinition]:
        """Give one definition of each project."""
        return list({one.document.project.key: one for one in self.definitions}.values())

    def _candidates(self, project: Project, *also: bytes) -> Iterator[Document]:
        families = self._families
        for name in self._names:
            for document in files_with(project, name, self.workspace, *also):
                if family(document.language) in families:
                    yield document

    def _roots(self, definition: ResolvedDefinition) -> list[str]:
        """Give the names by which other repositories import the module of a definition."""
        resolver = resolver_of(definition.document.language)
        if resolver is None:
            return [self.asked.name]
        provided = resolver.exports(definition.document.project)
        names = {prefix for name in resolver.module_names(definition.document) for prefix in _prefixes(name)}
        return sorted(name for name in names if name in provided)

    def _imports(self, other: Project, definition: ResolvedDefinition, root: str) -> bool:
        """Tell whether a repository may use a module: by its table of imports, then by the texts that hold both."""
        if resolver_of(definition.document.language) is None:
            return True
        if family(definition.document.language) in _IMPORT_BY_NAME:
            modules = imported_modules(other, self.workspace)
            if modules is not None and not any(root in module for module in modules):
                return False
        return any(holds(other, root.encode(), self.workspace, name) for name in self._names)

    def _in(self, document: Document) -> Iterator[Reference]:
        for name in self._names:
            yield from self._named(document, name)
        yield from self._by_other_names(document, self._names)

    def _by_other_names(self, document: Document, names: Sequence[bytes]) -> Iterator[Reference]:
        """Yield uses by names that imports of a file give to what bears one of `names`."""
        resolver = resolver_of(document.language)
        model = self.workspace.parsed(document) if resolver is not None else None
        if resolver is None or model is None:
            return
        done = set(names)
        for occurrence in resolver.renamed(model, names):
            name = document.text[occurrence.start : occurrence.end]
            answers = by_rules(document, occurrence, self.workspace) if name not in done else ()
            if not any(one.place in self._places for one in answers):
                continue
            done.add(name)
            if document.language not in _OF_FILES:
                self._renamed[name] = None
            yield from self._named(document, name, renamed=True)

    def _named(self, document: Document, name: bytes, *, renamed: bool = False) -> Iterator[Reference]:
        """Yield the uses of a name in a file; of a name that an import gave, those alone that rules lead on from."""
        if (document.key, name) in self._done:
            return
        self._done.add((document.key, name))
        precise = None if renamed else precise_symbols_at(document, self.definitions, name, self.workspace)
        for occurrence in occurrences_in(document, name, self.workspace):
            key = (document.key, occurrence.start)
            if key in self._places and key not in self._given:
                how = next(one.how for one in self.definitions if one.place == key)
                yield Reference(document, occurrence, how, SCORES[how], "the definition", is_definition=True)
                continue
            if precise is not None and occurrence.start in precise:
                if precise[occurrence.start]:
                    yield Reference(document, occurrence, "scip", 1.0, "the index file names the same symbol")
                continue
            answers: Sequence[ResolvedDefinition] = by_rules(document, occurrence, self.workspace)
            target = next((matching for one in answers[:2] if (matching := self._met(one)) is not None), None)
            if target is not None:
                yield Reference(document, occurrence, target.how, target.score, target.reason)
            elif not answers and not renamed and name in self._own_names:
                yield from self._unresolved(document, occurrence, name)

    @property
    def _own_names(self) -> set[bytes]:
        """The names that definitions bear themselves."""
        return {name for one in self.definitions for name in _names(one)}

    def _unresolved(self, document: Document, occurrence: Occurrence, name: bytes) -> Iterator[Reference]:
        if resolver_of(document.language) is not None and self.workspace.parsed(document) is not None:
            if occurrence.role != "attribute" or (document.key, occurrence.start) in self.workspace.outside:
                return
            is_same_repository = any(one.document.project.key == document.project.key for one in self.definitions)
            if is_same_repository and self._any_receiver and any(one.kind not in _LOCAL for one in self.definitions):
                reason = "unknown receiver; few definitions bear this name"
                yield Reference(document, occurrence, "name", SCORES["name"], reason)
            else:
                self.left_out += 1
            return
        candidates = ranked(document, occurrence, name, self.workspace, limit=1)
        if candidates and candidates[0].place in self._places:
            yield Reference(document, occurrence, "name", candidates[0].score, candidates[0].reason)
        elif not candidates:
            yield Reference(document, occurrence, "text", SCORES["text"], "the same word")
        else:
            self.left_out += 1


def _names(definition: ResolvedDefinition) -> list[bytes]:
    """Give the names under which imports name a definition: its own, or of a module those of its file and folder."""
    if definition.end:
        return [definition.document.text[definition.start : definition.end]]
    folder, _, base = definition.document.path.rpartition(b"/")
    stem = base.partition(b".")[0]
    return [folder.rpartition(b"/")[2] or stem] if stem in _OF_FOLDERS else [stem]


def _prefixes(module: str) -> Iterator[str]:
    """Give a module's name, and those of all that hold it."""
    yield module
    for end in _SEPARATOR.finditer(module):
        yield module[: end.start()]


def _is_local(definition: ResolvedDefinition, workspace: Workspace) -> bool:
    """Tell whether only its own file can use a definition: a parameter, or a variable inside a function."""
    if definition.kind == "parameter":
        resolver = resolver_of(definition.document.language)
        return resolver is None
    from sourcelight.engines.navigation.named import outline_of

    return not any(row.offset == definition.start for row in outline_of(definition.document, workspace))
