"""Public symbols of Python: names without a leading underscore, or exactly ``__all__``, wherever defined.

A package often defines what it exports in internal modules (``from ._client import Client``). Such a name is public in
the module that exports it, with the members of its class. PEP 8 decides what a module exports: the names of
``__all__``; without one, its own public names, names that an ``__init__`` imports from modules of the repository,
and everywhere ``import *`` and ``import name as name`` (the typing specification, "Import conventions"). A class has
the public members of its internal base classes, because callers reach them through it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from sourcelight.core.query.file_kinds import is_test_or_example
from sourcelight.engines.interfaces.model import PublicSymbol
from sourcelight.engines.interfaces.python import Module, is_public, is_public_path, module_of

MAX_SYMBOLS = 50_000
"""Symbols of a module that other modules define; a module with more is generated or hostile."""

MAX_CHAIN = 100
"""Modules between a name and its definition; longer chains are hostile."""

_INIT = ("__init__.py", "__init__.pyi")
"""Files that make a directory a package."""


class SourceSymbol(NamedTuple):
    """A symbol, and the file that defines it, which may be another one than the module that exports it."""

    path: str
    symbol: PublicSymbol


@dataclass(frozen=True, slots=True)
class _Definition:
    """A definition by its file and its name there."""

    path: str
    name: str


class PythonExports:
    """The public names of the modules of one tree.

    Parameters
    ----------
    paths
        All Python files of the tree: internal modules too.
    read
        Returns what the module of a path declares; called once for each module that a public name leads to.

    Attributes
    ----------
    limited
        Modules whose names are incomplete: they have more than `MAX_SYMBOLS` of other modules, or longer chains of
        imports than `MAX_CHAIN`.
    """

    def __init__(self, paths: Collection[str], read: Callable[[str], Module]) -> None:
        self.limited: set[str] = set()
        self._paths = frozenset(paths)
        self._read = read
        self._chain = 0

        # Each is computed once: modules that import each other by several stars would multiply otherwise.
        self._modules: dict[str, Module] = {}
        self._symbols: dict[str, dict[str, list[PublicSymbol]]] = {}
        self._exported: dict[str, dict[str, int]] = {}
        self._definitions: dict[_Definition, _Definition | None] = {}

    def public_symbols(self, path: str) -> list[SourceSymbol]:
        """Return the public names of a module, each with the file that defines it.

        A name that another public module defines is a symbol of both modules, with its members. Here `listed_in` marks
        them, also members of a public base class.
        """
        module = module_of(path)
        symbols: list[SourceSymbol] = []
        exported: list[SourceSymbol] = []
        for name, line in self._exports_of(path).items():
            declarations = self._declarations(path, name)
            if declarations:
                own_definition = _Definition(path, name)
                symbols += [SourceSymbol(path, item) for item in declarations if _is_public_member(item.name)]
                exported += self._list_inherited(own_definition, name, module)
                exported += self._alias_members(own_definition, name, module)
            else:
                definition = self._follow_import(path, name)
                if definition is not None:
                    exported += self._rename(definition, name, module)
                else:
                    symbol = PublicSymbol(module, name, "variable", name, line, is_resolved=False)
                    symbols.append(SourceSymbol(path, symbol))

            if len(exported) > MAX_SYMBOLS:
                self.limited.add(path)
                break

        return symbols + exported[:MAX_SYMBOLS]

    def offers_import(self, module: str, name: str) -> bool:
        """Return whether callers can use a name that a module imports, even if it isn't a public name of it."""
        parts = module.split(".")
        files = {file for root in ([], ["src"]) for file in _module_files([*root, *parts])}
        return any(self._module(path).offers_import(name) for path in files & self._paths)

    def sources(self, path: str) -> set[str]:
        """Return the files that decide about the public names of a module: its own, and those it exports from."""
        files = {path} | {source for source, _ in self.public_symbols(path)}
        for source in tuple(files):
            for name in self._module(source).aliases:
                definition = self._follow_alias(source, name)
                if definition is not None:
                    files.add(definition.path)

        # A module whose names come by a star counts even if it has none.
        pending = [path]
        while pending:
            starred = self._starred_modules(pending.pop())
            pending += starred - files
            files |= starred

        return files

    def _starred_modules(self, path: str) -> set[str]:
        """Return the files of the modules from which a module imports all names."""
        files = set()
        for item in self._module(path).imports:
            source = self._file_of(path, item.module) if item.name == "*" else None
            if source is not None:
                files.add(source)
        return files

    def _module(self, path: str) -> Module:
        if path not in self._modules:
            self._modules[path] = self._read(path)
        return self._modules[path]

    def _symbols_of(self, path: str) -> dict[str, list[PublicSymbol]]:
        """Return definitions of a module with their members, by the first part of their names."""
        if path not in self._symbols:
            symbols: dict[str, list[PublicSymbol]] = {}
            for item in self._module(path).symbols:
                symbols.setdefault(item.name.partition(".")[0], []).append(item)
            self._symbols[path] = symbols
        return self._symbols[path]

    def _declarations(self, path: str, name: str) -> list[PublicSymbol]:
        """Return definitions of a name with their members; an alias has the declarations of its target."""
        items = self._symbols_of(path).get(name, [])
        target = self._follow_alias(path, name)
        if target is None:
            return items

        targets = [item for item in self._symbols_of(target.path)[target.name] if item.name == target.name]
        return [replace(items[0], kind=item.kind, signature=f"{name} = {item.signature}") for item in targets]

    def _follow_alias(self, path: str, name: str) -> _Definition | None:
        """Return the function or class that a name is bound to by assignments such as ``get = Client.get``.

        None for other names, also for one that is defined several times.
        """
        start = _Definition(path, name)
        definition: _Definition | None = start
        for _ in range(MAX_CHAIN):
            if definition is None:
                return None

            items = self._symbols_of(definition.path).get(definition.name, [])
            target = self._module(definition.path).aliases.get(definition.name)
            if target is None or len(items) != 1:
                is_found = definition != start and bool(items) and items[0].kind in {"class", "function"}
                return definition if is_found else None
            if target == definition.name:
                return None

            definition = self._resolve(definition.path, target)

        return None

    def _exports_of(self, path: str) -> dict[str, int]:
        """Return the names that a module exports, and the lines that export them."""
        if path in self._exported:
            return self._exported[path]

        # What a module that imports itself in a circle sees of itself.
        self._exported[path] = {}
        if self._chain >= MAX_CHAIN:
            self.limited.add(path)
            return {}

        self._chain += 1
        try:
            self._exported[path] = self._compute_exports(path)
        finally:
            self._chain -= 1

        return self._exported[path]

    def _compute_exports(self, path: str) -> dict[str, int]:
        module = self._module(path)
        if module.exports is not None:
            return dict(module.exports)

        names = {name: items[0].line for name, items in self._symbols_of(path).items() if is_public(name)}
        # In a stub, a plain import is for its own use, in a package too.
        is_package = path.endswith("__init__.py")
        for item in module.imports:
            source = self._file_of(path, item.module)
            if source is None:
                continue

            if item.name == "*":
                # Without a list, a leading underscore makes a name internal again, even if the other module lists it.
                for name in self._exports_of(source):
                    if is_public(name):
                        names.setdefault(name, item.line)
            elif is_public(item.name) and (item.is_export or is_package):
                names.setdefault(item.name, item.line)

        return names

    def _follow_import(self, path: str, name: str) -> _Definition | None:
        """Return the definition that a module imports under a name: the last statement that binds it counts."""
        key = _Definition(path, name)
        if key in self._definitions:
            return self._definitions[key]

        self._definitions[key] = None
        if self._chain >= MAX_CHAIN:
            self.limited.add(path)
            return None

        self._chain += 1
        try:
            self._definitions[key] = self._find_imported(path, name)
        finally:
            self._chain -= 1

        return self._definitions[key]

    def _find_imported(self, path: str, name: str) -> _Definition | None:
        for item in reversed(self._module(path).imports):
            source = self._file_of(path, item.module) if item.name in {name, "*"} else None
            if source is None:
                continue

            if item.name == name:
                definition = self._resolve(source, item.target)
            elif name in self._exports_of(source):
                definition = self._resolve(source, name)
            else:
                definition = None

            if definition is not None:
                return definition

        return None

    def _resolve(self, path: str, name: str) -> _Definition | None:
        """Return the definition behind a name of a module."""
        if name in self._symbols_of(path):
            return _Definition(path, name)
        return self._follow_import(path, name)

    def _rename(self, definition: _Definition, name: str, module: str) -> list[SourceSymbol]:
        """Return a definition and its members under the name that a module exports it by."""
        listed_in = self._listing_of(definition)
        symbols = self._take_symbols(definition, name, module)
        symbols += self._list_inherited(definition, name, module, with_public=bool(listed_in))
        symbols += self._alias_members(definition, name, module, with_public=bool(listed_in))
        return _mark(symbols, listed_in)

    def _alias_members(
        self, alias: _Definition, name: str, module: str, *, with_public: bool = False
    ) -> list[SourceSymbol]:
        """Return the members of an internal class that an alias makes public; members of a public class are marked."""
        definition = self._follow_alias(alias.path, alias.name)
        if definition is None:
            return []

        listed_in = self._listing_of(definition)
        if listed_in and not with_public:
            return []

        members = self._take_symbols(definition, name, module, without=())
        members += self._list_inherited(definition, name, module, with_public=with_public)
        return _mark(members, listed_in)

    def _take_symbols(
        self, definition: _Definition, name: str, module: str, *, without: Collection[str] | None = None
    ) -> list[SourceSymbol]:
        """Return a definition's public symbols under another name.

        With members to leave out, which may be none, the result has only its members.
        """
        symbols = []
        for item in self._declarations(definition.path, definition.name):
            member = _member_of(item.name)
            is_wanted = without is None or (bool(member) and member not in without)
            if is_wanted and _is_public_member(item.name):
                new_name = f"{name}{item.name[len(definition.name) :]}"
                symbols.append(SourceSymbol(definition.path, replace(item, module=module, name=new_name)))
        return symbols

    def _list_inherited(
        self, class_: _Definition, name: str, module: str, *, with_public: bool = False
    ) -> list[SourceSymbol]:
        """Return the public members that a class gets from internal classes of the repository, as its own.

        Members of public bases, if wanted, are marked: `listed_in` is the base.
        """
        members_of_bases: list[SourceSymbol] = []
        members = self._members(class_)
        # Each class with the public base through which it was reached; empty for none.
        pending, visited = [(class_, "")], {class_}
        while pending and len(members_of_bases) <= MAX_SYMBOLS:
            current, listed_in = pending.pop(0)
            for base in self._module(current.path).bases.get(current.name, ()):
                parent = self._resolve(current.path, base)
                if parent is None or parent in visited:
                    continue

                base_listing = self._listing_of(parent)
                # A public base, or another package's: its members are not listed again.
                if base_listing and not with_public:
                    continue

                visited.add(parent)
                public_base = listed_in or base_listing
                pending.append((parent, public_base))
                members_of_bases += _mark(self._take_symbols(parent, name, module, without=members), public_base)
                members |= self._members(parent)

        return members_of_bases

    def _members(self, class_: _Definition) -> set[str]:
        return {_member_of(item.name) for item in self._symbols_of(class_.path)[class_.name]} - {""}

    def _listing_of(self, definition: _Definition) -> str:
        """Return module and name where a definition is public by itself and its members are listed; or empty."""
        path = definition.path
        is_listed = is_public_path(path) and not is_test_or_example(path) and definition.name in self._exports_of(path)
        if not is_listed:
            return ""
        return f"{module_of(path)}.{definition.name}"

    def _file_of(self, path: str, module: str) -> str | None:
        """Return the file of a module as another one names it, or None for one that the tree doesn't have."""
        name = module.lstrip(".")
        parts = name.split(".") if name else []
        for root in self._roots_of(path, level=len(module) - len(name)):
            for candidate in _module_files([*root, *parts], is_package=not parts, from_stub=path.endswith(".pyi")):
                if candidate in self._paths and candidate != path:
                    return candidate

        return None

    def _roots_of(self, path: str, *, level: int) -> list[list[str]]:
        """Return the directories in which a module looks for another one, which it names with `level` dots."""
        directories = path.split("/")[:-1]
        if level:
            depth = len(directories) - level + 1
            return [directories[:depth]] if depth >= 0 else []

        # Absolute names begin where packages end: `from json import …` in a package isn't its own `json.py`.
        above = [directories[:depth] for depth in range(len(directories), -1, -1)]
        return [root for root in above if not any("/".join([*root, init]) in self._paths for init in _INIT)]


def _module_files(parts: list[str], *, is_package: bool = False, from_stub: bool = False) -> Iterator[str]:
    """Yield the files that a module may have, the first choice first: a stub for a stub."""
    endings = (".pyi", ".py") if from_stub else (".py", ".pyi")
    stem = "/".join(parts)
    for ending in endings:
        yield f"{stem}/__init__{ending}".lstrip("/")

    if not is_package:
        for ending in endings:
            yield f"{stem}{ending}"


def _mark(symbols: list[SourceSymbol], listed_in: str) -> list[SourceSymbol]:
    """Return symbols with the module that lists them, unless they have one."""
    return [SourceSymbol(path, replace(item, listed_in=item.listed_in or listed_in)) for path, item in symbols]


def _member_of(name: str) -> str:
    """Return the member that a qualified name goes through: ``get`` of ``Client.get``; empty for a name alone."""
    return name.split(".")[1] if "." in name else ""


def _is_public_member(name: str) -> bool:
    """Return whether the members that a qualified name goes through are public; its first part may have any name."""
    _, _, members = name.partition(".")
    return not members or is_public(f"a.{members}")
