"""Find Go packages by import path, and declarations in them; files that build on Linux and x86-64 come first.

With ``module example.org/shop`` in the ``go.mod`` of the directory ``backend``, the import path
``example.org/shop/cart`` means the directory ``backend/cart``, and the files there whose package clause is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.go.scopes import GoDeclaration, GoImportSpec, GoModel
from sourcelight.engines.navigation.model import DeclarationKey, Document

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.language import Session
    from sourcelight.engines.navigation.model import Project


_SYSTEMS = frozenset(
    b"aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows"
    b" zos".split()
)
_MACHINES = frozenset(
    b"386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x wasm".split()
)

# Linux on x86-64 is the most likely build. Preferring its files raised members of imported packages in prometheus
# from 81 % to 100 % right.
_TRUE = frozenset({b"linux", b"amd64", b"unix", b"gc", b"cgo"})
"""Build tags that hold."""

_BUILD_LINE = re.compile(rb"^//go:build[ \t]+(.+)$", re.MULTILINE)
"""``//go:build linux && !(arm || arm64)``"""

_TOKEN = re.compile(rb"\(|\)|!|&&|\|\||[\w.]+")
"""A sign or a tag of this expression."""

_RELEASE = re.compile(rb"go1(\.\d+)?")
"""``go1.21``; a newer release has the tags of all before it."""

_CLAUSE = re.compile(rb"^package[ \t]+(\w+)", re.MULTILINE)
"""``package cart``"""

_MODULE = re.compile(rb'^module[ \t]+"?([^\s"]+)', re.MULTILINE)
"""``module example.org/shop``"""

_VERSION = re.compile(rb"v\d+")
"""``v2``, the last part of an import path."""

_MAJOR_SUFFIX = re.compile(rb"\.v\d+$")
"""``.v2`` in ``gopkg.in/yaml.v2``."""

_STANDARD = "std"
"""Module path of the standard library, in the go.mod of its repository."""

_MAX_TOKENS = 200
"""Words and signs of a build constraint that are read; real ones have fewer than ten."""

# Only a file whose text matches is parsed: parsing takes 100 ms per MB, the search 15 ms.
_DECLARES = rb"^(?:func[ \t]+NAME\b|(?:type|var|const)\b[^\n]*\bNAME\b|[ \t]+(?:\w+[ \t]*,[ \t]*)*NAME\b)"

_DECLARES_METHOD = rb"^func[ \t]*\([^)\n]*\bOWNER\b[^)\n]*\)[ \t]*NAME\b"


def is_built(path: bytes, head: bytes) -> bool:
    """Return whether a file builds on Linux and x86-64, by its name and its build constraint."""
    stem = path.rpartition(b"/")[2].removesuffix(b".go").removesuffix(b"_test")
    marks = stem.split(b"_")[1:]
    for suffix in marks[-2:]:
        if (suffix in _SYSTEMS or suffix in _MACHINES) and suffix not in _TRUE:
            return False
    line = _BUILD_LINE.search(head)
    if line is None:
        return True
    return _Constraint(_TOKEN.findall(line[1])).is_met()


class _Constraint:
    """A boolean expression over build tags, evaluated by recursive descent: ``||`` binds less than ``&&``."""

    def __init__(self, tokens: list[bytes]) -> None:
        self._tokens = tokens[:_MAX_TOKENS]
        self._index = 0

    def is_met(self) -> bool:
        value = self._conjunction()
        while self._accept(b"||"):
            value = self._conjunction() or value
        return value

    def _conjunction(self) -> bool:
        value = self._operand()
        while self._accept(b"&&"):
            value = self._operand() and value
        return value

    def _operand(self) -> bool:
        negated = False
        while self._accept(b"!"):
            negated = not negated

        if self._accept(b"("):
            value = self.is_met()
            self._accept(b")")
        else:
            word = self._tokens[self._index] if self._index < len(self._tokens) else b""
            self._index += 1
            value = word in _TRUE or _RELEASE.fullmatch(word) is not None

        return value is not negated

    def _accept(self, token: bytes) -> bool:
        if self._index < len(self._tokens) and self._tokens[self._index] == token:
            self._index += 1
            return True
        return False


@dataclass(frozen=True, slots=True)
class GoPackage:
    """A package: a directory of a project, and the name in the package clause of its files."""

    project: Project
    directory: bytes
    name: bytes

    def documents(self) -> list[Document]:
        """Return the files of the package: files that build on Linux first, tests last."""
        return [self.project.document_at(number) for number in _files(self.project, self.directory).get(self.name, ())]


def package_name(document: Document) -> bytes:
    """Return the name in the package clause of a file."""
    match = _CLAUSE.search(document.text)
    if match is None:
        return b""
    return match[1]


def _files(project: Project, directory: bytes) -> Mapping[bytes, list[int]]:
    """Return the file numbers of a directory by package name, in lookup order."""
    return project.remember(("go-directory", directory), lambda: _read_directory(project, directory))


def _read_directory(project: Project, directory: bytes) -> dict[bytes, list[int]]:
    ranked_files: list[tuple[bool, bool, int, bytes]] = []
    for document in project.documents_in(directory):
        clause = _CLAUSE.search(document.text) if document.path.endswith(b".go") else None
        if clause is not None:
            is_excluded = not is_built(document.path, document.text[: clause.start()])
            is_test = document.path.endswith(b"_test.go")
            ranked_files.append((is_excluded, is_test, document.number, clause[1]))

    numbers_by_package: dict[bytes, list[int]] = {}
    # Files that the default build includes come first, tests last: a name in both is declared in the former.
    for _, _, number, name in sorted(ranked_files):
        numbers_by_package.setdefault(name, []).append(number)
    return numbers_by_package


def modules_of(project: Project) -> list[tuple[str, bytes]]:
    """Return the module path and directory of every go.mod, longest path first."""
    return project.remember("go-modules", lambda: _read_modules(project))


def _read_modules(project: Project) -> list[tuple[str, bytes]]:
    modules = []
    for document in project.documents((b"go.mod",)):
        directory, _, base = document.path.rpartition(b"/")
        match = _MODULE.search(document.text) if base == b"go.mod" else None
        # The go command ignores testdata directories; their modules are inputs of tests.
        if match is not None and b"/testdata" not in directory:
            modules.append((match[1].decode(errors="replace"), directory))

    if not any(directory == b"" for _, directory in modules):
        modules.append((project.name, b""))

    # The longest module path that is a prefix owns an import path, as in the go command.
    return sorted(modules, key=lambda module: (-len(module[0]), module))


def import_path(document: Document) -> str:
    """Return the import path of a file's package; empty if no module contains it."""
    directory = document.path.rpartition(b"/")[0]
    for module, root in sorted(modules_of(document.project), key=lambda pair: -len(pair[1])):
        if directory == root or not root or directory.startswith(root + b"/"):
            path = module
            relative = directory[len(root) :].strip(b"/").decode(errors="replace")
            if relative:
                path = f"{module}/{relative}"
            return path.removeprefix(f"{_STANDARD}/")
    return ""


def find_directory(project: Project, path: bytes, session: Session) -> tuple[Project, bytes] | None:
    """Return the project and directory of an import path, or None if no repository has it."""
    import_text = path.decode(errors="replace")
    parts = import_text.split("/")
    is_standard = "." not in parts[0]

    # Before modules there was vendor/, and GOPATH's src/ for the standard library.
    if b"vendor/" + path in project.directories():
        return project, b"vendor/" + path
    if is_standard and b"src/" + path in project.directories():
        return project, b"src/" + path

    own_directory = _within(project, import_text)
    if own_directory is not None:
        return project, own_directory

    # From the whole path to its first part: the longest module wins.
    for length in range(len(parts), 0, -1):
        for other, root in session.providers(project, "/".join(parts[:length])):
            directory = _join(root, "/".join(parts[length:]))
            if directory in other.directories():
                return other, directory

    if is_standard:
        for other, root in session.providers(project, _STANDARD):
            directory = _join(root, import_text)
            if directory in other.directories():
                return other, directory

    return None


def _within(project: Project, path: str) -> bytes | None:
    """Return the directory of an import path in the modules of a project."""
    for module, root in modules_of(project):
        if path == module or path.startswith(module + "/"):
            directory = _join(root, path[len(module) + 1 :])
        elif module == _STANDARD:
            # Packages of the standard library are imported without the path of its module.
            directory = _join(root, path)
        else:
            continue

        if directory in project.directories():
            return directory

    return None


def _join(root: bytes, relative: str) -> bytes:
    return b"/".join(part for part in (root, relative.encode()) if part)


def packages_in(project: Project, directory: bytes) -> Iterator[GoPackage]:
    """Yield the packages of a directory, importable ones first."""
    for name in sorted(_files(project, directory), key=lambda name: (name.endswith(b"_test"), name == b"main", name)):
        yield GoPackage(project, directory, name)


def guess_package_name(path: bytes) -> bytes:
    """Return the package name that an import path most often means."""
    parts = [part for part in path.split(b"/") if part]
    last = parts[-1] if parts else b""
    if _VERSION.fullmatch(last) and len(parts) > 1:
        last = parts[-2]
    last = _MAJOR_SUFFIX.sub(b"", last)
    return last.removeprefix(b"go-").removesuffix(b"-go").removesuffix(b".go").replace(b"-", b"_")


def visible_files(document: Document) -> list[Document]:
    """Return the files whose package-level names are visible in a file."""
    directory = document.path.rpartition(b"/")[0]
    name = package_name(document)
    documents = GoPackage(document.project, directory, name).documents()
    if document.path.endswith(b"_test.go"):
        return documents
    return [candidate for candidate in documents if candidate == document or not candidate.path.endswith(b"_test.go")]


@dataclass(frozen=True, slots=True)
class GoRef:
    """A declaration in a file."""

    document: Document
    declaration: GoDeclaration

    @property
    def key(self) -> DeclarationKey:
        """Identity, for comparisons."""
        return self.document.key, self.declaration.start


@dataclass(frozen=True, slots=True)
class GoImport:
    """An import of a file; `package` is None if no repository has the package."""

    spec: GoImportSpec
    package: GoPackage | None


class GoNames:
    """Look up names within one call."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._packages: dict[tuple[str, str, bytes, bytes], GoPackage | None] = {}

    def model(self, document: Document) -> GoModel | None:
        """Return the parsed file, or None if it has another language or can't be parsed."""
        return self.session.parsed_file(document, GoModel)

    def package(self, document: Document, path: bytes) -> GoPackage | None:
        """Return the package that an import path means in a file."""
        key = document.project.key, document.project.commit, document.path.rpartition(b"/")[0], path
        if key not in self._packages:
            location = find_directory(document.project, path, self.session)
            if location is None:
                self._packages[key] = None
            else:
                project, directory = location
                self._packages[key] = next(packages_in(project, directory), None)
        return self._packages[key]

    def find_import(self, document: Document, name: bytes) -> GoImport | None:
        """Return the package that a name means in a file, or None when no import has that name."""
        model = self.model(document)
        if model is None:
            return None

        for spec in model.imports:
            if spec.alias == name:
                return GoImport(spec, self.package(document, spec.path))

        # The package clause decides the name, and reading it parses files; the likely import comes first.
        unnamed = [spec for spec in model.imports if not spec.alias]
        unnamed.sort(key=lambda spec: guess_package_name(spec.path) != name)
        for spec in unnamed:
            package = self.package(document, spec.path)
            actual_name = package.name if package is not None else guess_package_name(spec.path)
            if actual_name == name:
                return GoImport(spec, package)

        for spec in unnamed:
            if spec.path.rpartition(b"/")[2] == name:
                return GoImport(spec, None)

        return None

    def lookup(self, document: Document, path: list[Node], name: bytes, offset: int) -> list[GoRef]:
        """Return the declarations of a plain name at an offset; `find_import` looks up package names."""
        model = self.model(document)
        if model is None:
            return []

        local = model.local(path, name, offset)
        if local is not None:
            return [GoRef(document, local)]

        declared_here = model.top.get(name)
        refs = [GoRef(document, declaration) for declaration in declared_here or ()]
        refs += [ref for ref in self.declarations(visible_files(document), name) if ref.document != document]
        if refs or declared_here:
            return refs

        # A dot import puts all exported names of a package into the file.
        dot_imports = [spec for spec in model.imports if spec.alias == b"."]
        for spec in dot_imports:
            package = self.package(document, spec.path)
            if package is not None:
                refs += self.member(package, name)

        return refs

    def member(self, package: GoPackage, name: bytes) -> list[GoRef]:
        """Return the declarations of a name in a package."""
        return list(self.declarations(package.documents(), name))

    def declarations(self, documents: list[Document], name: bytes) -> Iterator[GoRef]:
        """Return the package-level declarations of a name in these files; only files that look like it are parsed."""
        pattern = re.compile(_DECLARES.replace(b"NAME", re.escape(name)), re.MULTILINE)
        for document, model in self._models_with(documents, name, pattern):
            for declaration in model.top.get(name, ()):
                yield GoRef(document, declaration)

    def methods(self, ref: GoRef, name: bytes) -> list[GoRef]:
        """Return the methods of that name of a declared type."""
        owner = ref.declaration.name
        declares = _DECLARES_METHOD.replace(b"OWNER", re.escape(owner)).replace(b"NAME", re.escape(name))
        pattern = re.compile(declares, re.MULTILINE)
        directory = ref.document.path.rpartition(b"/")[0]
        package = GoPackage(ref.document.project, directory, package_name(ref.document))
        refs = []
        for document, model in self._models_with(package.documents(), name, pattern):
            refs += [GoRef(document, declaration) for declaration in model.methods.get(owner, {}).get(name, ())]

        return refs

    def _models_with(
        self, documents: list[Document], name: bytes, pattern: re.Pattern[bytes]
    ) -> Iterator[tuple[Document, GoModel]]:
        """Parse the files whose text matches; a search of the name comes first, as it is faster than the pattern."""
        for document in documents:
            if name in document.text and pattern.search(document.text):
                model = self.model(document)
                if model is not None:
                    yield document, model
