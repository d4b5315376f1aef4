"""`api_changes`: public symbols that two revisions differ in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.errors import ToolError
from sourcelight.core.markup.counts import count_of, list_names
from sourcelight.core.query.languages import language_of
from sourcelight.core.tools.evolution import API_CHANGES, ApiChangesArguments
from sourcelight.engines.interfaces import PublicSymbol, is_internal_module, is_public_file, public_symbols
from sourcelight.engines.symbols.definition_parser import MAX_FILE_BYTES
from sourcelight.engines.tools.context import ToolContext, clean_path, is_below
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.page_items import TableItems
from sourcelight.engines.tools.row_texts import TEXTS
from sourcelight.repos import ObjectReader, resolve

CALL = "api_changes"
_RULE = "Public symbols of Go, Java, Python and TypeScript are compared; tests and internal modules are left out."
_REPORT_EVERY = 50
_MAX_NAMED = 3

_Key: TypeAlias = tuple[str, str, str]
"""Language, module and qualified name."""


@dataclass(slots=True)
class _Interface:
    """The public symbols of one revision, as far as its files differ from those of the other."""

    symbols: dict[_Key, list[tuple[str, PublicSymbol]]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)

    def add(self, path: str, data: bytes | None) -> None:
        """Read a file; None: its content is missing or too large."""
        symbols, incomplete = ([], "too-large") if data is None else public_symbols(path, data)
        if incomplete:
            self.unread.append(path)
        language = language_of(path).replace("TSX", "TypeScript")
        for symbol in symbols:
            self.symbols.setdefault((language, symbol.module, symbol.name), []).append((path, symbol))


@dataclass(frozen=True, slots=True)
class _ApiChange:
    """A symbol with its declarations in both revisions; empty where it has none."""

    status: str
    key: _Key
    old: list[tuple[str, PublicSymbol]]
    new: list[tuple[str, PublicSymbol]]


def _api_changes(arguments: ApiChangesArguments, context: ToolContext) -> ToolResult:
    repository = context.engine.catalog.get(arguments.repo.strip("/"), context.viewer)
    if repository.kind != "git":
        raise ToolError(f"{CALL}: {repository.name} is a directory without git and has no history", tool=CALL)
    base, head = resolve(repository, arguments.base), resolve(repository, arguments.head)
    below = clean_path(arguments.path or "")
    with ObjectReader(repository) as reader:
        trees = [_files(reader, commit, below) for commit in (base, head)]
        old, new = (_read(reader, tree, other, context) for tree, other in (trees, trees[::-1]))
        internal = _internal_modules(reader, base, head, below)
    changes = sorted(_with_moves(_differences(old, new)), key=lambda change: (change.key[1:], change.status))
    notices = [_RULE]
    unread = sorted({*old.unread, *new.unread})
    if unread:
        notices.append(f"{count_of(len(unread), 'file')} can't be parsed: {list_names(unread, _MAX_NAMED)}.")
    if internal:
        modules = count_of(len(internal), "internal Python module")
        notices.append(f"Not compared: {modules} with differences ({list_names(internal, _MAX_NAMED)}), "
                       "even where public modules import names from there.")  # fmt: skip
    counts = {status: sum(change.status == status for change in changes) for status in _STATUSES}
    attributes = {"repository": repository.name, "base": base, "head": head, "path": below, **counts}
    table = _table(repository.name, base, head, changes)
    return ToolResult("api_changes", table, attributes, not (unread or internal), tuple(notices))


_STATUSES = ("added", "removed", "changed", "moved")


def _files(reader: ObjectReader, commit: str, below: str) -> dict[str, bytes]:
    """Contents, by path, of the files of a commit that can have public symbols."""
    tree = reader.tree(commit)
    names = [path.decode("utf-8", "replace") for path in tree.paths]
    return {
        name: tree.blob_id(index) for index, name in enumerate(names) if is_below(name, below) and is_public_file(name)
    }


def _internal_modules(reader: ObjectReader, base: str, head: str, below: str) -> list[str]:
    """Paths of the Python modules that two commits differ in and that PEP 8 calls internal.

    Packages often define what they export in such modules, so their names can be missing from the comparison.
    """
    sides: list[dict[str, bytes]] = []
    for commit in (base, head):
        tree = reader.tree(commit)
        names = [path.decode("utf-8", "replace") for path in tree.paths]
        sides.append({name: tree.blob_id(index) for index, name in enumerate(names)
                      if is_below(name, below) and is_internal_module(name)})  # fmt: skip
    old, new = sides
    return sorted(path for path in {*old, *new} if old.get(path) != new.get(path))


def _read(
    reader: ObjectReader, tree: Mapping[str, bytes], other: Mapping[str, bytes], context: ToolContext
) -> _Interface:
    """Read the files of a revision that the other one has otherwise or not at all."""
    paths = [path for path, blob in tree.items() if other.get(path) != blob]
    # Files of a Go package share one set of names: a name that one file lost may stand in one that didn't change.
    differing = {path for path in {*tree, *other} if tree.get(path) != other.get(path)}
    packages = {_directory(path) for path in differing if path.endswith(".go")}
    paths += [path for path, blob in tree.items()
              if path.endswith(".go") and other.get(path) == blob and _directory(path) in packages]  # fmt: skip
    interface = _Interface()
    for number, path in enumerate(sorted(paths)):
        context.cancellation.check()
        if context.observer is not None and number % _REPORT_EVERY == 0:
            context.observer(ToolProgress("reading interfaces", number, len(paths)))
        interface.add(path, reader.read(tree[path], MAX_FILE_BYTES))
    return interface


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


def _signature(declarations: Iterable[tuple[str, PublicSymbol]]) -> str:
    """The signatures of all declarations of a name, a line each: of overloads, and of branches for platforms."""
    return "\n".join(dict.fromkeys(symbol.signature for _, symbol in declarations))


def _differences(old: _Interface, new: _Interface) -> list[_ApiChange]:
    changes = []
    for key in {**old.symbols, **new.symbols}:
        before, after = old.symbols.get(key, []), new.symbols.get(key, [])
        if not before or not after:
            changes.append(_ApiChange("removed" if before else "added", key, before, after))
        elif set(_signature(before).split("\n")) != set(_signature(after).split("\n")):
            changes.append(_ApiChange("changed", key, before, after))
    return changes


def _with_moves(changes: list[_ApiChange]) -> list[_ApiChange]:
    """Join what one module lost and exactly one other got, under the same name and with the same signature."""
    sides: dict[str, dict[tuple[str, str, str], list[_ApiChange]]] = {"removed": {}, "added": {}}
    for change in changes:
        if change.status in sides:
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
