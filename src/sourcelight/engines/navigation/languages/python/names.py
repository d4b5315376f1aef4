"""Look up Python names in scopes and modules; find modules and follow imports to the end.

The *root* of a file is the nearest directory above it that is no package: the directory that ``sys.path`` would have.
Other repositories can import only from shared roots, such as the top of a repository or ``src``.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.python.scopes import PythonBinding, PythonModel, PythonScope
from sourcelight.engines.navigation.model import DeclarationKey, Document
from sourcelight.engines.navigation.nodes import text_of

if TYPE_CHECKING:
    from sourcelight.engines.navigation.language import Session
    from sourcelight.engines.navigation.model import Project


_ENDINGS = (b".py", b".pyi")
_MODULE_ENDINGS = (b"/__init__.py", b".py", b"/__init__.pyi", b".pyi")
"""Ends of the path of a module, in the order in which Python looks for them; stubs come after sources."""

_SHARED_ROOTS = frozenset({b"", b"src", b"lib", b"python"})
"""Directories whose modules other repositories can mean; packages below tests or samples are private."""

_MAX_FILES = 3
"""Files of one module name that are looked at: more than one repeats the package, as in examples and stubs."""


_KIND_RANKS = {"function": 0, "class": 0, "import": 2, "from": 2}
"""Order of the bindings of a name for a use in another scope, by kind; other kinds rank 1."""

MAX_BINDINGS = 100
"""Maximum bindings per name: generated code assigns a variable thousands of times."""

MAX_STEPS = 64
"""Maximum imports to follow for one name."""


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A file of a project under the dotted name by which files below a root import it."""

    number: int
    root: bytes
    name: bytes


@dataclass(frozen=True, slots=True)
class PythonModules:
    """The modules of a project.

    Parameters
    ----------
    by_name
        Files by dotted name; a stub (``.pyi``) comes after the source.
    by_number
        The same by number of the file, under the name below its own root.
    shared_modules
        Shared roots by name of the top-level modules in them.
    """

    by_name: Mapping[bytes, list[ModuleFile]]
    by_number: Mapping[int, ModuleFile]
    shared_modules: Mapping[str, bytes]

    def root_of(self, document: Document) -> bytes:
        """Return the root of a file."""
        file = self.by_number.get(document.number)
        return file.root if file is not None else _directory_of(document.path)


def _directory_of(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]


def _join(directory: bytes, name: bytes) -> bytes:
    return directory + b"/" + name if directory else name


def modules_of(project: Project) -> PythonModules:
    """Return the module map of a project; computed once."""
    return project.remember("python-modules", lambda: _find_modules(project))


def _find_modules(project: Project) -> PythonModules:
    packages = {_directory_of(path) for path in project.paths if path.endswith((b"__init__.py", b"__init__.pyi"))}
    by_name: dict[bytes, list[ModuleFile]] = {}
    by_number: dict[int, ModuleFile] = {}
    shared_modules: dict[str, bytes] = {}
    for number, path in enumerate(project.paths):
        if not path.endswith(_ENDINGS):
            continue

        root = _root_of(path, packages)
        name = _name_below(root, path)
        if not name:
            continue

        by_number[number] = ModuleFile(number, root, name)
        by_name.setdefault(name, []).append(by_number[number])
        if root in _SHARED_ROOTS:
            shared_modules.setdefault(name.split(b".")[0].decode(errors="replace"), root)

        for shared_root in _SHARED_ROOTS:
            # A directory without __init__.py below a shared root is a namespace package, with the longer name as well.
            prefix = shared_root + b"/" if shared_root else b""
            if root != shared_root and root.startswith(prefix):
                longer_name = root[len(prefix) :].replace(b"/", b".") + b"." + name
                by_name.setdefault(longer_name, []).append(ModuleFile(number, shared_root, longer_name))

    for files in by_name.values():
        files.sort(key=lambda file: project.paths[file.number].endswith(b".pyi"))

    return PythonModules(by_name, by_number, shared_modules)


def _root_of(path: bytes, packages: Collection[bytes]) -> bytes:
    directory = _directory_of(path)
    while directory and directory in packages:
        directory = _directory_of(directory)
    return directory


def _name_below(root: bytes, path: bytes) -> bytes:
    """Return the dotted name of a file below its root; empty for the ``__init__`` of the root itself."""
    stem = path[len(root) :].lstrip(b"/").rpartition(b".")[0]
    name = stem.replace(b"/", b".")
    if name == b"__init__":
        return b""
    return name.removesuffix(b".__init__")


def find_module(document: Document, module: bytes, level: int, session: Session) -> list[Document]:
    """Return the files of an import in `document`, best first; empty if no repository has it."""
    project = document.project
    if level:
        directory = _directory_of(document.path)
        for _ in range(level - 1):
            directory = _directory_of(directory)
        package_document = _find_in_directory(project, directory, module)
        return [package_document] if package_document is not None else []

    modules = modules_of(project)
    own_root = modules.root_of(document)
    files: Sequence[ModuleFile] = modules.by_name.get(module, ())
    is_standard = module.split(b".")[0].decode(errors="replace") in sys.stdlib_module_names
    if is_standard and b"." not in module:
        # Only a file in the directory of a script, or beside its packages, comes before the standard library.
        files = [file for file in files if file.root == own_root]
    if files:
        # A repository may contain several packages of that name, such as examples; the nearest root is meant.
        nearest = sorted(files, key=lambda file: _distance(own_root, file.root))
        return [project.document_at(file.number) for file in nearest[:_MAX_FILES]]

    if is_standard:
        return []

    sibling = _find_in_directory(project, _directory_of(document.path), module)
    if sibling is not None:
        return [sibling]

    return _in_other_projects(project, module, session)


def _distance(own_root: bytes, root: bytes) -> tuple[int, int]:
    """Sort key of roots: the file's own, then the top and ``src``, then those above, then others by depth."""
    if root == own_root:
        return 0, 0
    if root in _SHARED_ROOTS:
        return 1, len(root)
    is_above = not root or own_root == root or own_root.startswith(root + b"/")
    return (2 if is_above else 3), root.count(b"/")


def _find_in_directory(project: Project, directory: bytes, module: bytes) -> Document | None:
    if not module:
        # `from . import name`: the package of the directory itself.
        return project.first([_join(directory, b"__init__.py"), _join(directory, b"__init__.pyi")])

    base = _join(directory, module.replace(b".", b"/"))
    return project.first([base + ending for ending in _MODULE_ENDINGS])


def _in_other_projects(project: Project, module: bytes, session: Session) -> list[Document]:
    top = module.split(b".")[0].decode(errors="replace")
    for other, _ in session.providers(project, top):
        for file in modules_of(other).by_name.get(module, ()):
            if file.root in _SHARED_ROOTS:
                return [other.document_at(file.number)]
    return []


@dataclass(frozen=True, slots=True, eq=False)
class PythonRef:
    """A binding in a file; without a binding the file as a module."""

    document: Document
    binding: PythonBinding | None = None

    @property
    def key(self) -> DeclarationKey:
        """Identity, for comparisons."""
        return self.document.key, self.binding.start if self.binding is not None else -1


class PythonNames:
    """Look up names within one call."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def model(self, document: Document) -> PythonModel | None:
        """Return the parsed file, or None if it has another language or can't be parsed."""
        return self.session.parsed_file(document, PythonModel)

    def lookup(self, document: Document, scope: PythonScope, name: bytes, offset: int) -> list[PythonRef]:
        """Return the bindings of a name at an offset in a scope, best first; imports not followed."""
        current: PythonScope | None = scope
        is_own_scope = True
        later: list[PythonBinding] = []
        while current is not None:
            # The Python reference: names of a class body are not visible in the functions inside it.
            if current.kind != "class" or is_own_scope:
                bindings = current.bindings.get(name)
                if name in current.globals:
                    current, is_own_scope = current.module, False
                    continue

                if bindings and name not in current.nonlocals:
                    if not is_own_scope:
                        return _refs(document, order_for_other_scopes(bindings))
                    ordered, is_bound_before = _order_for_own_scope(bindings, offset)
                    # A class body reads an outer name until its own binding runs; in a function the binding makes the
                    # name local throughout.
                    if is_bound_before or current.kind != "class":
                        return _refs(document, ordered)
                    later = ordered

            if is_own_scope and current.kind != "comprehension":
                is_own_scope = False

            if current.parent is None:
                starred = self._star_imports(document, current, name, set())
                if starred:
                    return starred

            current = current.parent

        return [PythonRef(document, candidate) for candidate in later]

    def member(
        self, document: Document, name: bytes, visited: set[tuple[object, bytes]] | None = None
    ) -> list[PythonRef]:
        """Return a member of a module: its bindings, else a submodule, else star imports. Imports aren't followed."""
        visited = visited if visited is not None else set()
        if (document.key, name) in visited or len(visited) > MAX_STEPS:
            return []

        visited.add((document.key, name))
        model = self.model(document)
        if model is None:
            return self._submodule(document, name)

        bindings = model.module.bindings.get(name)
        if bindings:
            return _refs(document, order_for_other_scopes(bindings))
        return self._submodule(document, name) or self._star_imports(document, model.module, name, visited)

    def _submodule(self, document: Document, name: bytes) -> list[PythonRef]:
        if not document.path.endswith((b"/__init__.py", b"/__init__.pyi")):
            return []
        submodule = _find_in_directory(document.project, _directory_of(document.path), name)
        return [PythonRef(submodule)] if submodule is not None else []

    def _star_imports(
        self, document: Document, scope: PythonScope, name: bytes, visited: set[tuple[object, bytes]]
    ) -> list[PythonRef]:
        _ = scope.bindings
        # Names such as `__all__` belong to their own module: `import *` doesn't bring them.
        if name.startswith(b"__"):
            return []

        for module, level, _ in reversed(scope.stars):
            for source in self.modules(document, module, level)[:1]:
                refs = self.member(source, name, visited)
                if refs:
                    return refs

        return []

    def modules(self, document: Document, module: bytes, level: int) -> list[Document]:
        """Return the files that an import means."""
        return find_module(document, module, level, self.session)

    def follow(self, refs: Iterable[PythonRef]) -> list[PythonRef]:
        """Follow imports to the end; an import without a target stays."""
        by_key: dict[object, PythonRef] = {}
        for ref in refs:
            for target in self._import_targets(ref, set()):
                by_key.setdefault(target.key, target)
        return list(by_key.values())

    def _import_targets(self, ref: PythonRef, visited: set[object]) -> list[PythonRef]:
        pending, targets = [ref], []
        while pending:
            current = pending.pop(0)
            if current.key in visited or len(visited) > MAX_STEPS:
                continue

            visited.add(current.key)
            imported = self._import_step(current)
            if imported:
                # The first target is the best; a second one covers try/except and version checks. More cost time only.
                pending[:0] = imported[:2]
            else:
                targets.append(current)

        return targets

    def is_outside(self, ref: PythonRef) -> bool:
        """Return whether an import means a module whose top-level package is in no repository."""
        binding = ref.binding
        if binding is None or binding.kind not in {"import", "from"} or binding.level:
            return False
        return not self.modules(ref.document, binding.module.split(b".", 1)[0], 0)

    def _import_step(self, ref: PythonRef) -> list[PythonRef]:
        """Return the targets of an import, one step on; empty for other bindings, and for a missing module."""
        binding = ref.binding
        if binding is None or binding.kind not in {"import", "from"}:
            return []
        if binding.kind == "import":
            return self._module_refs(ref.document, binding.module, 0)

        for source in self.modules(ref.document, binding.module, binding.level):
            # A module may import its own name from a package that imports it back.
            refs = [other for other in self.member(source, binding.member) if other.key != ref.key]
            if refs:
                return refs

        dotted_name = binding.module + b"." + binding.member if binding.module else binding.member
        return self._module_refs(ref.document, dotted_name, binding.level)

    def _module_refs(self, document: Document, module: bytes, level: int) -> list[PythonRef]:
        """Return the best file that an import means, as a module."""
        return [PythonRef(source) for source in self.modules(document, module, level)[:1]]


def _refs(document: Document, bindings: Sequence[PythonBinding]) -> list[PythonRef]:
    return [PythonRef(document, binding) for binding in bindings[:MAX_BINDINGS]]


def _order_for_own_scope(bindings: list[PythonBinding], offset: int) -> tuple[list[PythonBinding], bool]:
    """Sort bindings for a use in their own scope: the nearest earlier one first; tell whether there is one."""
    before = [binding for binding in bindings if binding.bound_from <= offset and binding.start != offset]
    after = [binding for binding in bindings if binding.bound_from > offset or binding.start == offset]
    return sorted([*reversed(before), *after], key=lambda candidate: candidate.unchecked), bool(before)


def order_for_other_scopes(bindings: list[PythonBinding]) -> list[PythonBinding]:
    """Sort bindings for a use in another scope: functions and classes first, imports last, later ones first.

    Overloads come after what they are overloads of, and last what type checkers don't read.
    """
    return sorted(
        bindings,
        key=lambda candidate: (
            candidate.unchecked,
            _KIND_RANKS.get(candidate.kind, 1),
            has_decorator(candidate, b"overload"),
            -candidate.start,
        ),
    )


def has_decorator(binding: PythonBinding, *names: bytes) -> bool:
    """Return whether a decorator ends with one of some names, such as ``typing.overload``."""
    return any(text_of(decorator).rstrip().endswith(names) for decorator in binding.decorators)


def mentions_in_decorators(binding: PythonBinding | None, name: bytes) -> bool:
    """Return whether a decorator contains a name, such as ``pytest.fixture(scope="module")``; False for no binding."""
    return binding is not None and any(name in text_of(decorator) for decorator in binding.decorators)
