"""`api_changes`: public symbols that two revisions differ in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.errors import ToolError
from sourcelight.core.markup.counts import count_of, list_names
from sourcelight.core.notices import Rule
from sourcelight.core.query.languages import language_of
from sourcelight.core.tools.evolution import API_CHANGES, ApiChangesArguments
from sourcelight.engines.interfaces import (
    LANGUAGES,
    Module,
    PublicSymbol,
    PythonExports,
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

T = TypeVar("T")
_RULE = Rule(
    "Public symbols of Go, Java, Python and TypeScript are compared; tests and internal modules are left out.",
    "languages",
)
_REPORT_EVERY = 50
_MAX_NAMED = 3

_Key: TypeAlias = tuple[str, str, str]
"""Language, module and qualified name."""


_Declarations: TypeAlias = "dict[_Key, list[tuple[str, PublicSymbol]]]"
"""Public symbols with the files that declare them."""

_REACHES_INTERNAL = re.compile(
    rb"^\s*from\s+(?:[\w.]*\b_[a-z\d]|[\w.]+\s+import\s+(?:\*|\([^)]*\b_\w|[^(\n]*\b_\w))", re.MULTILINE
)
"""Python modules whose public names other files may decide: parsing every module of a repository takes too long."""

_STATUSES = ("added", "removed", "changed", "moved")


class _Side:
    """One of the two revisions: its files, and its public symbols as far as the other revision may differ."""

    def __init__(self, reader: ObjectReader, commit: CommitId, context: ToolContext) -> None:
        tree = reader.tree(commit)
        names = [path.decode("utf-8", "replace") for path in tree.paths]
        self.files = {name: tree.blob_id(index) for index, name in enumerate(names) if language_of(name) in LANGUAGES}
        self.unread: list[str] = []
        self._reader, self._context = reader, context
        self._calls = 0
        self._exports = PythonExports([path for path in self.files if language_of(path) == "Python"], self._module)

    def symbols(self, differing: AbstractSet[str], modules: Iterable[str], below: str) -> _Declarations:
        """Return the public symbols of files that differ, of their Go packages, and of some Python modules."""
        packages = {_directory(path) for path in differing if path.endswith(".go")}
        # Files of a Go package share one set of names: one that a file lost may be in another that didn't change.
        paths = [path for path in self.files if is_public_file(path) and language_of(path) != "Python"
                 and (path in differing or (path.endswith(".go") and _directory(path) in packages))]  # fmt: skip
        symbols: _Declarations = {}
        for path in sorted(paths):
            if is_below(path, below):
                data = self._data(path)
                for symbol in () if data is None else self._note_incomplete(path, *public_symbols(path, data)):
                    self._add(symbols, path, path, symbol)

        for path in sorted(modules):
            if path in self.files:
                for defined, symbol in self._exports.public_symbols(path):
                    if is_below(path, below) or is_below(defined, below):
                        self._add(symbols, path, defined, symbol)

        return symbols

    def python_modules(self, differing: AbstractSet[str]) -> set[str]:
        """Return the public modules whose names depend on differing files, including modules that re-export them."""
        modules = {
            path for path in differing & self.files.keys() if language_of(path) == "Python" and is_public_file(path)
        }
        if not any(language_of(path) == "Python" for path in differing):
            return modules

        for path in self.files.keys() - modules:
            if language_of(path) != "Python" or not is_public_file(path):
                continue
            data = self._data(path)
            if data is not None and _REACHES_INTERNAL.search(data) and self._exports.sources(path) & differing:
                modules.add(path)

        return modules

    @property
    def limited(self) -> set[str]:
        """Modules that export too much to list."""
        return self._exports.limited

    def _add(self, symbols: _Declarations, path: str, defined: str, symbol: PublicSymbol) -> None:
        language = language_of(path).replace("TSX", "TypeScript")
        symbols.setdefault((language, symbol.module, symbol.name), []).append((defined, symbol))

    def _module(self, path: str) -> Module:
        data = self._data(path)
        if data is None:
            return Module()
        return self._note_incomplete(path, *read_module(path, data))

    def _note_incomplete(self, path: str, value: T, incomplete: str) -> T:
        if incomplete:
            self.unread.append(path)
        return value

    def _data(self, path: str) -> bytes | None:
        """Return the content of a file; None, and named as unread, if it is missing or too large."""
        self._context.cancellation.check()
        if self._context.observer is not None and self._calls % _REPORT_EVERY == 0:
            self._context.observer(ToolProgress("reading interfaces", self._calls, max(self._calls, len(self.files))))

        self._calls += 1
        data = self._reader.read(self.files[path], MAX_FILE_BYTES)
        if data is None:
            self.unread.append(path)

        return data


@dataclass(frozen=True, slots=True)
class _ApiChange:
    """A symbol with its declarations in both revisions; empty if it has none."""

    status: str
    key: _Key
    old: list[tuple[str, PublicSymbol]]
    new: list[tuple[str, PublicSymbol]]


def _api_changes(arguments: ApiChangesArguments, context: ToolContext) -> ToolResult:
    repository = context.engine.catalog.get(arguments.repo.strip("/"), context.viewer)
    if repository.kind != "git":
        raise ToolError(
            f"{API_CHANGES.name}: {repository.name} is a directory without git and has no history",
            tool=API_CHANGES.name,
        )

    base, head = resolve(repository, arguments.base), resolve(repository, arguments.head)
    below = clean_path(arguments.path or "")
    with ObjectReader(repository) as reader:
        sides = [_Side(reader, commit, context) for commit in (base, head)]
        old_files, new_files = (side.files for side in sides)
        differing = {path for path in {*old_files, *new_files} if old_files.get(path) != new_files.get(path)}
        modules = {path for side in sides for path in side.python_modules(differing)}
        old, new = (side.symbols(differing, modules, below) for side in sides)

    changes = sorted(_with_moves(_differences(old, new)), key=lambda change: (change.key[1:], change.status))
    notices: list[str] = [_RULE]
    unread = sorted({path for side in sides for path in (*side.unread, *side.limited)})
    if unread:
        notices.append(f"{count_of(len(unread), 'file')} can't be parsed: {list_names(unread, _MAX_NAMED)}.")

    counts = {status: sum(change.status == status for change in changes) for status in _STATUSES}
    attributes = {"repository": repository.name, "base": base, "head": head, "path": below, **counts}
    table = _table(repository.name, base, head, changes)
    return ToolResult(
        columns="api_changes", table=table, attributes=attributes, complete=not unread, notices=tuple(notices)
    )


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


def _differences(old: _Declarations, new: _Declarations) -> list[_ApiChange]:
    changes = []
    for key in {**old, **new}:
        before, after = old.get(key, []), new.get(key, [])
        own_before, own_after = _own_declarations(key, old, new)
        if not own_before and not own_after:
            continue
        if not before or not after:
            changes.append(_ApiChange(status="removed" if before else "added", key=key, old=before, new=after))
        elif _comparable(key[0], own_before) != _comparable(key[0], own_after):
            changes.append(_ApiChange(status="changed", key=key, old=before, new=after))

    return changes


def _comparable(language: str, declarations: Iterable[tuple[str, PublicSymbol]]) -> set[str]:
    """Return the signatures of a name in a form that is equal for equal types."""
    signatures = {symbol.signature for _, symbol in declarations}
    # `any` is an alias of the empty interface since Go 1.18.
    if language == "Go":
        return {text.replace("interface{}", "any") for text in signatures}
    return signatures


def _own_declarations(key: _Key, old: _Declarations, new: _Declarations) -> list[list[tuple[str, PublicSymbol]]]:
    """Return the declarations of a name in both revisions, without declarations that another row compares.

    Python packages export what their public modules define. Both modules have the name, and one change is one row.
    """
    owner = (key[0], key[1], key[2].partition(".")[0])
    owners = [side.get(owner, []) for side in (old, new)]
    is_in_both = all(owners)
    if is_in_both and not all(any(symbol.is_resolved for _, symbol in declarations) for declarations in owners):
        return [[], []]

    origins = [{symbol.listed_in for _, symbol in declarations} - {""} for declarations in owners]
    is_exported = is_in_both and not origins[0].isdisjoint(origins[1])
    is_new_or_lost_member = key != owner and not (old.get(key) and new.get(key))

    def is_own(symbol: PublicSymbol, origins_of_owner: set[str]) -> bool:
        if is_in_both and not symbol.is_resolved:
            return False
        if not symbol.listed_in:
            return True
        if is_new_or_lost_member:  # its class came or went, or it belongs to a public base
            return is_in_both and not is_exported and symbol.listed_in in origins_of_owner
        return not is_exported

    return [
        [item for item in side.get(key, []) if is_own(item[1], origins_of_owner)]
        for side, origins_of_owner in zip((old, new), origins, strict=True)
    ]


def _with_moves(changes: list[_ApiChange]) -> list[_ApiChange]:
    """Join what one module lost and exactly one other got, under the same name and with the same signature."""
    sides: dict[str, dict[tuple[str, str, str], list[_ApiChange]]] = {"removed": {}, "added": {}}
    for change in changes:
        # What another public module defines doesn't move with the statement that exports it.
        if change.status in sides and not _is_listed_elsewhere(change.old or change.new):
            identity = (change.key[0], change.key[2], _signature(change.old or change.new))
            sides[change.status].setdefault(identity, []).append(change)

    moved: list[_ApiChange] = []
    paired_ids: set[int] = set()
    for identity, (removed, *other_removals) in sides["removed"].items():
        gained = sides["added"].get(identity, [])
        if not other_removals and len(gained) == 1:
            moved.append(_ApiChange("moved", gained[0].key, removed.old, gained[0].new))
            paired_ids |= {id(removed), id(gained[0])}

    return [*moved, *(change for change in changes if id(change) not in paired_ids)]


def _is_listed_elsewhere(declarations: Iterable[tuple[str, PublicSymbol]]) -> bool:
    return any(symbol.listed_in for _, symbol in declarations)


def _signature(declarations: Iterable[tuple[str, PublicSymbol]]) -> str:
    """Return the signatures of all declarations of a name, one a line.

    Overloads have several declarations, and so have names that are declared for each platform.
    """
    return "\n".join(dict.fromkeys(symbol.signature for _, symbol in declarations))


def _table(repository: str, base: str, head: str, changes: list[_ApiChange]) -> Any:
    def of(side: list[tuple[str, PublicSymbol]], value: str) -> Any:
        if not side:
            return None
        path, symbol = side[0]
        return {"path": path, "line": symbol.line, "signature": _signature(side)}[value]

    values: dict[str, Any] = {
        "repository": repository,
        "base": base,
        "head": head,
        "language": [change.key[0] for change in changes],
        "status": [change.status for change in changes],
        "module": [change.key[1] for change in changes],
        "symbol": [change.key[2] for change in changes],
        "kind": [(change.new or change.old)[0][1].kind for change in changes],
        "signature": [of(change.new, "signature") for change in changes],
        "old_signature": [of(change.old, "signature") for change in changes],
        "path": [of(change.new, "path") for change in changes],
        "line_number": [of(change.new, "line") for change in changes],
        "old_path": [of(change.old, "path") for change in changes],
        "old_line_number": [of(change.old, "line") for change in changes],
    }
    return tables.table("api_changes", values, len(changes))


HANDLERS: tuple[Handler[Any], ...] = (Handler(API_CHANGES, _api_changes, TEXTS["api_changes"], TableItems("symbols")),)
