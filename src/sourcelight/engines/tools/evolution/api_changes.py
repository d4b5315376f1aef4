"""`api_changes`: public symbols that two revisions differ in.

Only files that differ are parsed, with their Go packages and the Python modules that may re-export from them. A symbol
that two modules have is one row. A removal and an addition with the same name and signature are a move if no other pair
fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.errors import ToolError
from sourcelight.core.markup.counts import count_of, join_names
from sourcelight.core.notices import Rule
from sourcelight.core.query.languages import language_of
from sourcelight.core.tools.evolution import API_CHANGES, ApiChangesArguments
from sourcelight.engines.interfaces import (
    LANGUAGES,
    Module,
    PublicSymbol,
    PythonExports,
    comparable_signature,
    is_public_file,
    public_symbols,
    read_module,
)
from sourcelight.engines.symbols.definition_parser import MAX_FILE_BYTES
from sourcelight.engines.tools.context import ToolContext, clean_path, is_below
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import TEXTS
from sourcelight.repos import ObjectReader, resolve

_RULE = Rule(
    "Public symbols of Go, Java, Python and TypeScript are compared; tests and internal modules are left out.",
    "languages",
)
_REPORT_EVERY = 50
"""Files between two reports of progress."""

_MAX_NAMED = 3
"""Files that a notice names."""

_STATUSES = ("added", "removed", "changed", "moved")

_IMPORTS_INTERNALS = re.compile(
    rb"^[ \t]*from[ \t]+(?:[\w.]*\b_[a-z\d]|[\w.]+[ \t]+import[ \t]+(?:\*|\([^)]{0,4000}\b_\w|[^(\n]*\b_\w))",
    re.MULTILINE,
)
"""An import of Python from a private module, of a private name, or of all names: ``from ._client import Client``.

A module with such an import may get public names from other files. Parsing every module of a repository takes too long.
"""


class _SymbolKey(NamedTuple):
    """Identity of a public symbol in one revision; `name` is qualified, such as ``Client.get``."""

    language: str
    module: str
    name: str

    @property
    def owner(self) -> _SymbolKey:
        """The key of the class that the symbol is a member of, or of the symbol itself."""
        return self._replace(name=self.name.partition(".")[0])


@dataclass(frozen=True, slots=True)
class _Declaration:
    """One declaration of a public symbol, and the file that has it."""

    path: str
    symbol: PublicSymbol


_Declarations: TypeAlias = dict[_SymbolKey, list[_Declaration]]
"""The public symbols of a revision; overloads have several declarations."""


class _RevisionSymbols:
    """The files and public symbols of one revision; parses only files in which the other revision may differ.

    Attributes
    ----------
    files
        Blob id of each file in a language that is compared.
    unread
        Files that can't be parsed, in the order of reading.
    """

    def __init__(self, reader: ObjectReader, commit: CommitId, context: ToolContext) -> None:
        tree = reader.tree(commit)
        names = [path.decode("utf-8", "replace") for path in tree.paths]
        self.files: dict[str, bytes] = {}
        for index, name in enumerate(names):
            if language_of(name) in LANGUAGES:
                self.files[name] = tree.blob_id(index)

        self.unread: list[str] = []
        self._reader = reader
        self._context = context
        self._read_files = 0
        self._exports = PythonExports([path for path in self.files if language_of(path) == "Python"], self._module)

    def symbols(self, differing: AbstractSet[str], python_modules: Iterable[str], *, directory: str) -> _Declarations:
        """Return the public symbols of files that differ and of their Go packages, and of some Python modules.

        Parameters
        ----------
        differing
            Paths of files that differ between the revisions.
        python_modules
            Paths of Python modules, as of the method `python_modules`.
        directory
            Directory of the files; empty for the whole repository.
        """
        packages = {_directory(path) for path in differing if path.endswith(".go")}
        symbols: _Declarations = {}
        for path in sorted(self.files):
            if language_of(path) == "Python" or not is_public_file(path) or not is_below(path, directory):
                continue
            # Files of a Go package share one set of names: one that a file lost may be in another that didn't change.
            is_of_package = path.endswith(".go") and _directory(path) in packages
            if path in differing or is_of_package:
                for symbol in self._file_symbols(path):
                    _add(symbols, path, _Declaration(path, symbol))

        for path in sorted(python_modules):
            if path not in self.files:
                continue
            for defining_path, symbol in self._exports.public_symbols(path):
                if is_below(path, directory) or is_below(defining_path, directory):
                    _add(symbols, path, _Declaration(defining_path, symbol))

        return symbols

    def _file_symbols(self, path: str) -> Sequence[PublicSymbol]:
        data = self._data(path)
        if data is None:
            return ()
        symbols, incomplete = public_symbols(path, data)
        if incomplete:
            self.unread.append(path)
        return symbols

    def python_modules(self, differing: AbstractSet[str]) -> set[str]:
        """Return the public modules whose names depend on differing files, including modules that re-export them."""
        if not any(language_of(path) == "Python" for path in differing):
            return set()

        public_modules = {path for path in self.files if language_of(path) == "Python" and is_public_file(path)}
        modules = public_modules & differing
        for path in public_modules - modules:
            data = self._data(path)
            if data is not None and _IMPORTS_INTERNALS.search(data) and self._exports.sources(path) & differing:
                modules.add(path)

        return modules

    def offers_import(self, key: _SymbolKey, symbols: _Declarations) -> bool:
        """Return whether a name that no file declares here, or its class, can be imported from its module even so."""
        is_declared = key.language != "Python" or key.owner in symbols
        return not is_declared and self._exports.offers_import(key.module, key.owner.name)

    @property
    def limited(self) -> set[str]:
        """Modules that export too much to list."""
        return self._exports.limited

    def _module(self, path: str) -> Module:
        data = self._data(path)
        if data is None:
            return Module()
        module, incomplete = read_module(path, data)
        if incomplete:
            self.unread.append(path)
        return module

    def _data(self, path: str) -> bytes | None:
        """Return the content of a file; None, and named as unread, if it is missing or too large."""
        self._context.cancellation.check()
        if self._context.observer is not None and self._read_files % _REPORT_EVERY == 0:
            total = max(self._read_files, len(self.files))
            self._context.observer(ToolProgress("reading interfaces", self._read_files, total))

        self._read_files += 1
        data = self._reader.read(self.files[path], MAX_FILE_BYTES)
        if data is None:
            self.unread.append(path)

        return data


def _add(symbols: _Declarations, path: str, declaration: _Declaration) -> None:
    """Add what the module at `path` makes public, wherever it is declared."""
    language = language_of(path).replace("TSX", "TypeScript")
    key = _SymbolKey(language, declaration.symbol.module, declaration.symbol.name)
    symbols.setdefault(key, []).append(declaration)


@dataclass(frozen=True, slots=True)
class _ApiChange:
    """A symbol with its declarations in both revisions; empty if it has none."""

    status: str
    key: _SymbolKey
    old: list[_Declaration]
    new: list[_Declaration]

    @property
    def identity(self) -> tuple[str, str, frozenset[str]]:
        """The properties that a move keeps: language, name and signatures."""
        language = self.key.language
        return language, self.key.name, _comparable_signatures(language, self.old or self.new)


def _api_changes(arguments: ApiChangesArguments, context: ToolContext) -> ToolResult:
    repository = context.engine.catalog.get(arguments.repo.strip("/"), context.viewer)
    if repository.kind != "git":
        raise ToolError(
            f"{API_CHANGES.name}: {repository.name} is a directory without git and has no history",
            tool=API_CHANGES.name,
        )

    base = resolve(repository, arguments.base)
    head = resolve(repository, arguments.head)
    directory = clean_path(arguments.path or "")
    with ObjectReader(repository) as reader:
        old_revision = _RevisionSymbols(reader, base, context)
        new_revision = _RevisionSymbols(reader, head, context)
        paths = old_revision.files.keys() | new_revision.files.keys()
        differing = {path for path in paths if old_revision.files.get(path) != new_revision.files.get(path)}
        python_modules = old_revision.python_modules(differing) | new_revision.python_modules(differing)
        old = old_revision.symbols(differing, python_modules, directory=directory)
        new = new_revision.symbols(differing, python_modules, directory=directory)
        changes = _join_moves(_changes_between(old, new, old_revision, new_revision))

    changes.sort(key=lambda change: (change.key.module, change.key.name, change.status))
    notices: list[str] = [_RULE]
    unread: set[str] = set()
    for revision in (old_revision, new_revision):
        unread.update(revision.unread, revision.limited)
    if unread:
        notices.append(f"{count_of(len(unread), 'file')} can't be parsed: {join_names(sorted(unread), _MAX_NAMED)}.")

    counts = {status: sum(change.status == status for change in changes) for status in _STATUSES}
    attributes = {"repository": repository.name, "base": base, "head": head, "path": directory, **counts}
    return ToolResult(
        columns="api_changes",
        table=_table(changes, repository=repository.name, base=base, head=head),
        attributes=attributes,
        complete=not unread,
        notices=tuple(notices),
    )


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


def _changes_between(
    old: _Declarations, new: _Declarations, old_revision: _RevisionSymbols, new_revision: _RevisionSymbols
) -> list[_ApiChange]:
    """Return the symbols that two revisions declare differently; a move is a removal and an addition."""
    changes = []
    for key in {**old, **new}:
        before, after = old.get(key, []), new.get(key, [])
        compared_before, compared_after = _compared_declarations(key, old, new)
        if not compared_before and not compared_after:
            continue

        if before and after:
            signatures = _comparable_signatures(key.language, compared_before)
            if signatures != _comparable_signatures(key.language, compared_after):
                changes.append(_ApiChange("changed", key, before, after))
        elif not (new_revision.offers_import(key, new) if before else old_revision.offers_import(key, old)):
            changes.append(_ApiChange("removed" if before else "added", key, before, after))

    return changes


def _comparable_signatures(language: str, declarations: Iterable[_Declaration]) -> frozenset[str]:
    """Return the signatures of a name in a form that is equal for equal types."""
    return frozenset(comparable_signature(language, declaration.symbol.signature) for declaration in declarations)


def _compared_declarations(
    key: _SymbolKey, old: _Declarations, new: _Declarations
) -> tuple[list[_Declaration], list[_Declaration]]:
    """Return the declarations of a name in both revisions, without declarations that another row compares.

    Python packages export what their public modules define. Both modules have the name, and one change is one row.
    """
    old_owners = old.get(key.owner, [])
    new_owners = new.get(key.owner, [])
    is_owner_in_both = bool(old_owners and new_owners)
    if is_owner_in_both and not (_any_resolved(old_owners) and _any_resolved(new_owners)):
        return [], []

    old_origins = _origins(old_owners)
    new_origins = _origins(new_owners)
    is_exported = is_owner_in_both and not old_origins.isdisjoint(new_origins)
    is_member = key != key.owner
    is_in_both = key in old and key in new

    def is_compared(symbol: PublicSymbol, origins_of_owner: set[str]) -> bool:
        if is_owner_in_both and not symbol.is_resolved:
            return False
        if not symbol.listed_in:
            return True
        if is_exported:
            return False
        if is_member and not is_in_both:
            # Its class came or went, or a public base of its class has it.
            return is_owner_in_both and symbol.listed_in in origins_of_owner
        return True

    return (
        [declaration for declaration in old.get(key, []) if is_compared(declaration.symbol, old_origins)],
        [declaration for declaration in new.get(key, []) if is_compared(declaration.symbol, new_origins)],
    )


def _any_resolved(declarations: Iterable[_Declaration]) -> bool:
    return any(declaration.symbol.is_resolved for declaration in declarations)


def _origins(declarations: Iterable[_Declaration]) -> set[str]:
    """Return the public modules that define what another module exports."""
    return {declaration.symbol.listed_in for declaration in declarations} - {""}


def _join_moves(changes: list[_ApiChange]) -> list[_ApiChange]:
    """Join what one module lost and exactly one other got, under the same name and with the same signature."""
    removals = _by_identity(changes, "removed")
    additions = _by_identity(changes, "added")
    moves: list[_ApiChange] = []
    joined_ids: set[int] = set()
    for identity, removed in removals.items():
        added = additions.get(identity, [])
        if len(removed) == 1 and len(added) == 1:
            moves.append(_ApiChange("moved", added[0].key, removed[0].old, added[0].new))
            joined_ids |= {id(removed[0]), id(added[0])}

    return moves + [change for change in changes if id(change) not in joined_ids]


def _by_identity(changes: Iterable[_ApiChange], status: str) -> dict[tuple[object, ...], list[_ApiChange]]:
    """Group the changes of a status by what a move keeps."""
    groups: dict[tuple[object, ...], list[_ApiChange]] = {}
    for change in changes:
        # What another public module defines doesn't move with the statement that exports it.
        if change.status == status and not _origins(change.old or change.new):
            groups.setdefault(change.identity, []).append(change)

    return groups


def _signature(declarations: Iterable[_Declaration]) -> str:
    """Return the signatures of all declarations of a name, one a line.

    Overloads have several declarations, and so have names that are declared for each platform.
    """
    return "\n".join(dict.fromkeys(declaration.symbol.signature for declaration in declarations))


def _location_of(declarations: Sequence[_Declaration]) -> tuple[str | None, int | None]:
    """Return path and line of the first declaration; None for both of a symbol that a revision lacks."""
    if not declarations:
        return None, None
    return declarations[0].path, declarations[0].symbol.line


def _table(changes: list[_ApiChange], *, repository: str, base: str, head: str) -> Any:
    old = [_location_of(change.old) for change in changes]
    new = [_location_of(change.new) for change in changes]
    values: dict[str, Any] = {
        "repository": repository,
        "base": base,
        "head": head,
        "language": [change.key.language for change in changes],
        "status": [change.status for change in changes],
        "module": [change.key.module for change in changes],
        "symbol": [change.key.name for change in changes],
        "kind": [(change.new or change.old)[0].symbol.kind for change in changes],
        "signature": [_signature(change.new) or None for change in changes],
        "old_signature": [_signature(change.old) or None for change in changes],
        "path": [path for path, _ in new],
        "line_number": [line for _, line in new],
        "old_path": [path for path, _ in old],
        "old_line_number": [line for _, line in old],
    }
    return tables.table("api_changes", values, len(changes))


HANDLERS: tuple[Handler[Any], ...] = (Handler(API_CHANGES, _api_changes, TEXTS["api_changes"], TableItems("symbols")),)
