"""Find the file of a module specifier: by path, by package name, by the paths of a tsconfig.

A module specifier is the text in an import, such as ``./a`` or ``@scope/name/sub``. A tsconfig can map specifiers to
paths: ``"paths": {"~/*": ["./src/*"]}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from sourcelight.engines.navigation.model import Document

if TYPE_CHECKING:
    from sourcelight.engines.navigation.language import Session
    from sourcelight.engines.navigation.model import Project

_ENDINGS = (b".ts", b".tsx", b".d.ts", b".mts", b".cts", b".js", b".jsx", b".mjs", b".cjs")
# TypeScript's rule (moduleResolution "node16"): an import names the file that the compiler will write, so `./a.js` may
# be `a.ts` in the repository.
_SOURCES = {b".js": (b".ts", b".tsx", b".js", b".jsx"), b".mjs": (b".mts", b".mjs"), b".cjs": (b".cts", b".cjs"),
            b".jsx": (b".tsx", b".jsx")}  # fmt: skip
# "source" comes first: it names the code, and the others what a build makes of it, which repositories rarely have.
_MAINS = ("source", "types", "typings", "module", "main")
# tsconfig files are JSON with comments and trailing commas. Strings are matched first, and so stay unchanged.
_COMMENTS = re.compile(rb'("(?:\\.|[^"\\])*")|/\*.*?\*/|//[^\n]*|,(?=\s*[}\]])', re.DOTALL)

_MAX_JSON_FILES = 100_000
"""Maximum JSON files to look at for manifests and tsconfigs: a repository of fixtures has many others."""


@dataclass(frozen=True, slots=True)
class PathMapping:
    """One pattern of a tsconfig, and the paths that stand for it in the files of its directory.

    Pattern and targets may contain one ``*``, which stands for the same text in both.
    """

    directory: bytes
    pattern: bytes
    targets: tuple[bytes, ...]

    def paths_of(self, module: bytes) -> list[bytes]:
        """Return the paths that a module specifier is mapped to; empty if the pattern doesn't match."""
        before, star, after = self.pattern.partition(b"*")
        if not star:
            middle = b""
            is_match = module == self.pattern
        else:
            middle = module[len(before) : len(module) - len(after)]
            is_match = module == before + middle + after

        if not is_match:
            return []
        return [target.replace(b"*", middle) for target in self.targets]


@dataclass(frozen=True, slots=True)
class TsPackages:
    """The packages of a project: `directories` by name, `entries` that manifests name, `mappings` of tsconfig files.

    The mappings of the deepest directories come first, and in a directory those with the longest pattern.
    """

    directories: Mapping[str, bytes]
    entries: Mapping[str, tuple[bytes, ...]]
    mappings: tuple[PathMapping, ...]


def packages_of(project: Project) -> TsPackages:
    """Return the packages of a project; manifests are read once."""
    return project.remember("npm-packages", lambda: _read(project))


def _read(project: Project) -> TsPackages:
    directories: dict[str, bytes] = {}
    entries: dict[str, tuple[bytes, ...]] = {}
    mappings: list[PathMapping] = []
    for document in islice(project.documents((b".json",)), _MAX_JSON_FILES):
        directory, _, base = document.path.rpartition(b"/")
        if b"node_modules/" in document.path:
            continue

        if base == b"package.json":
            manifest = _json(document.text)
            name = manifest.get("name")
            # The first one in path order: a fixture further below may repeat the name of the package.
            if isinstance(name, str) and name and name not in directories:
                directories[name] = directory
                mains = [manifest.get(key) for key in _MAINS]
                entries[name] = tuple(main.encode() for main in mains if isinstance(main, str))
        elif base.startswith(b"tsconfig") or base == b"jsconfig.json":
            mappings += _mappings(directory, _json(_COMMENTS.sub(rb"\1", document.text)))

    mappings.sort(key=lambda mapping: (-len(mapping.directory), -len(mapping.pattern)))
    return TsPackages(directories, entries, tuple(mappings))


def _json(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # Content of a repository: a manifest that isn't JSON names nothing.
        return {}
    return value if isinstance(value, dict) else {}


def _mappings(directory: bytes, config: dict[str, Any]) -> Iterator[PathMapping]:
    """Yield the mappings of a tsconfig. Anyone may have written the file: values of a wrong type count as missing."""
    options = config.get("compilerOptions")
    if not isinstance(options, dict):
        return

    base: bytes | None = directory
    base_url = options.get("baseUrl")
    if isinstance(base_url, str):
        base = normal(directory, base_url.encode())
    if base is None:
        return

    patterns = options.get("paths")
    if isinstance(patterns, dict):
        for pattern, targets in patterns.items():
            if isinstance(targets, list):
                paths = [normal(base, target.encode()) for target in targets if isinstance(target, str)]
                yield PathMapping(directory, pattern.encode(), tuple(path for path in paths if path is not None))

    # With `baseUrl`, names that no pattern matches are paths below it.
    if isinstance(base_url, str):
        yield PathMapping(directory, b"*", (_join(base, b"*"),))


def normal(directory: bytes, path: bytes) -> bytes | None:
    """Join a directory and a relative path; None when it leads out of the repository."""
    parts = [part for part in directory.split(b"/") if part]
    for part in path.split(b"/"):
        if part == b"..":
            if not parts:
                return None
            parts.pop()
        elif part not in {b"", b"."}:
            parts.append(part)

    return b"/".join(parts)


def find_module(document: Document, module: bytes, session: Session) -> Document | None:
    """Return the file of a module specifier, or None if no repository has it."""
    project = document.project
    directory = document.path.rpartition(b"/")[0]
    if module.startswith(b"."):
        path = normal(directory, module)
        return _file(project, path) if path is not None else None

    for mapping in packages_of(project).mappings:
        if _is_below(directory, mapping.directory):
            for path in mapping.paths_of(module):
                target_file = _file(project, path)
                if target_file is not None:
                    return target_file

    target_file = _in_package(project, module)
    if target_file is not None:
        return target_file

    # Not in this repository: try repositories that publish a package of this name.
    name = _package_name(module)
    for other, _ in session.providers(project, name):
        target_file = _in_package(other, module)
        if target_file is not None:
            return target_file

    return None


def _is_below(directory: bytes, root: bytes) -> bool:
    """Return whether a directory is a root or below it."""
    return not root or directory == root or directory.startswith(root + b"/")


def _package_name(module: bytes) -> str:
    parts = module.decode(errors="replace").split("/")
    # A scope is part of the name: `@scope/name/sub` is `sub` in `@scope/name`.
    part_count = 2 if module.startswith(b"@") else 1
    return "/".join(parts[:part_count])


def _in_package(project: Project, module: bytes) -> Document | None:
    packages = packages_of(project)
    name = _package_name(module)
    directory = packages.directories.get(name)
    if directory is None:
        return None

    subpath = module[len(name.encode()) :].strip(b"/")
    if subpath:
        # `exports` of a manifest name built files; sources of a subpath are nearly always in one of these.
        for start in (b"", b"src/", b"lib/"):
            document = _file(project, _join(directory, start + subpath))
            if document is not None:
                return document
        return None

    # Sources before `main` of the manifest, which is a built file that only releases have.
    own_entry = b"src/" + name.rpartition("/")[2].encode()
    for entry in (b"src/index", b"index", b"lib/index", *packages.entries[name], own_entry, b"src/main", b"src"):
        path = normal(directory, entry)
        document = _file(project, path) if path is not None else None
        if document is not None:
            return document

    return None


def _join(directory: bytes, name: bytes) -> bytes:
    return directory + b"/" + name if directory else name


def _file(project: Project, path: bytes) -> Document | None:
    """Return the source that a path without or with an ending means."""
    stem, dot, ending = path.rpartition(b".")
    tries = [stem + other for other in _SOURCES.get(dot + ending, ())]
    if path.endswith(_ENDINGS):
        tries.append(path)
    tries += [path + suffix for suffix in _ENDINGS]
    tries += [_join(path, b"index") + suffix for suffix in _ENDINGS]
    return project.first(tries)


def module_names(document: Document) -> tuple[str, ...]:
    """Return the names under which other files may import a file: its stem, and its package."""
    directory, _, base = document.path.rpartition(b"/")
    stem = base.split(b".")[0]
    # `import "./a"` finds `a/index.ts`, so such a file goes by the name of its directory.
    if stem == b"index":
        stem = directory.rpartition(b"/")[2]

    names = [stem.decode(errors="replace")]
    for name, root in packages_of(document.project).directories.items():
        if _is_below(directory, root):
            names.append(name)

    return tuple(name for name in names if name)
