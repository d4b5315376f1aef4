"""Find the file of a module specifier: by path, by package name, by the paths of a tsconfig."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
_MAX_MANIFESTS = 5_000


@dataclass(frozen=True, slots=True)
class TsPackages:
    """The packages of a project: `directories` by name, `entries` that manifests name, `paths` of tsconfig files.

    `paths` are (directory of the tsconfig, pattern, targets), the longest directory first.
    """

    directories: Mapping[str, bytes]
    entries: Mapping[str, tuple[bytes, ...]]
    paths: tuple[tuple[bytes, bytes, tuple[bytes, ...]], ...]


def packages_of(project: Project) -> TsPackages:
    """Return the packages of a project; manifests are read once."""
    return project.remember("npm-packages", lambda: _read(project))


def _read(project: Project) -> TsPackages:
    directories: dict[str, bytes] = {}
    entries: dict[str, tuple[bytes, ...]] = {}
    paths: list[tuple[bytes, bytes, tuple[bytes, ...]]] = []
    for document in list(project.documents((b".json",)))[: _MAX_MANIFESTS * 20]:
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
            paths += _paths(directory, _json(_COMMENTS.sub(rb"\1", document.text)))

    return TsPackages(directories, entries, tuple(sorted(paths, key=lambda entry: (-len(entry[0]), -len(entry[1])))))


def _json(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # Content of a repository: a manifest that isn't JSON names nothing.
        return {}
    return value if isinstance(value, dict) else {}


def _paths(directory: bytes, config: dict[str, Any]) -> Iterator[tuple[bytes, bytes, tuple[bytes, ...]]]:
    options = config.get("compilerOptions")
    options = options if isinstance(options, dict) else {}
    base_url, mapped = options.get("baseUrl"), options.get("paths")
    base = normal(directory, base_url.encode()) if isinstance(base_url, str) else directory
    for pattern, targets in (mapped if isinstance(mapped, dict) else {}).items():
        if isinstance(targets, list) and base is not None:
            resolved = [normal(base, target.encode()) for target in targets if isinstance(target, str)]
            yield directory, pattern.encode(), tuple(target for target in resolved if target is not None)

    # With `baseUrl`, names that no pattern matches are paths below it.
    if isinstance(base_url, str) and base is not None:
        yield directory, b"*", (base + b"/*" if base else b"*",)


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

    packages = packages_of(project)
    for root, pattern, targets in packages.paths:
        if not root or directory == root or directory.startswith(root + b"/"):
            before, star, after = pattern.partition(b"*")
            is_match = module.startswith(before) and module.endswith(after) if star else module == pattern
            if is_match and len(module) >= len(before) + len(after):
                middle = module[len(before) : len(module) - len(after)] if star else b""
                for target in targets:
                    target_file = _file(project, target.replace(b"*", middle))
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


def _package_name(module: bytes) -> str:
    parts = module.decode(errors="replace").split("/")
    # A scope is part of the name: `@scope/name/sub` is `sub` in `@scope/name`.
    return "/".join(parts[: 2 if module.startswith(b"@") else 1])


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
    tries = [stem + other for other in _SOURCES.get(dot + ending, ())] if dot else []
    if dot and any(path.endswith(suffix) for suffix in _ENDINGS):
        tries.append(path)
    tries += [path + suffix for suffix in _ENDINGS]
    tries += [_join(path, b"index") + suffix for suffix in _ENDINGS]
    return project.first(tries)


def module_names(document: Document) -> tuple[str, ...]:
    """Return the names under which other files may import a file: its stem, and its package."""
    directory, _, base = document.path.rpartition(b"/")
    stem = base.split(b".")[0]

    # `import "./a"` finds `a/index.ts`, so such a file goes by the name of its directory.
    names = [stem.decode(errors="replace")] if stem != b"index" else []
    if stem == b"index":
        names.append(directory.rpartition(b"/")[2].decode(errors="replace"))

    for name, root in packages_of(document.project).directories.items():
        if not root or directory == root or directory.startswith(root + b"/"):
            names.append(name)

    return tuple(name for name in names if name)
