"""Look up Python names in scopes and modules; find modules and follow imports to the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.python.scopes import PythonBinding, PythonModel, PythonScope
from sourcelight.engines.navigation.model import DeclarationKey, Document

if TYPE_CHECKING:
    from sourcelight.engines.navigation.language import Session
    from sourcelight.engines.navigation.model import Project


_ENDINGS = (b".py", b".pyi")

_SHARED_ROOTS = frozenset({b"", b"src", b"lib", b"python"})
"""Folders whose modules other repositories can mean; packages below tests or samples are private."""

_LATEST = 1 << 62
_LAST = {"import": 2, "from": 2, "function": 0, "class": 0}

MAX_BINDINGS = 100
"""Maximum bindings per name: generated code assigns a variable thousands of times."""

MAX_STEPS = 64
"""Maximum imports to follow for one name."""


@dataclass(frozen=True, slots=True)
class PythonModules:
    """The modules of a project.

    `files` has the numbers of the files of each module by dotted name, each with its root: the nearest directory above
    that isn't a package. `spaces` are directories that hold packages but are none themselves.
    """

    files: Mapping[bytes, list[tuple[bytes, int]]]
    names: Mapping[int, tuple[bytes, bytes]]
    shared_modules: Mapping[str, bytes]

    def root_of(self, document: Document) -> bytes:
        """Return the root of a file."""
        if document.number in self.names:
            return self.names[document.number][0]
        return _directory_of(document.path)


def _directory_of(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]


def modules_of(project: Project) -> PythonModules:
    """Return the module map of a project; computed once."""
    return project.remember("python-modules", lambda: _find_modules(project))


def _find_modules(project: Project) -> PythonModules:
    packages = {_directory_of(path) for path in project.paths if path.endswith((b"__init__.py", b"__init__.pyi"))}
    roots: dict[bytes, bytes] = {}

    def root(directory: bytes) -> bytes:
        top = roots.get(directory)
        if top is None:
            top = directory
            while top and top in packages:
                top = _directory_of(top)
            roots[directory] = top
        return top

    files: dict[bytes, list[tuple[bytes, int]]] = {}
    names: dict[int, tuple[bytes, bytes]] = {}
    shared_modules: dict[str, bytes] = {}
    for number, path in enumerate(project.paths):
        if not path.endswith(_ENDINGS):
            continue

        directory, _, base = path.rpartition(b"/")
        stem = base.rpartition(b".")[0]
        top = root(directory)
        within = directory[len(top) :].lstrip(b"/")
        package = within.replace(b"/", b".")
        if stem == b"__init__":
            name = package
        elif package:
            name = package + b"." + stem
        else:
            name = stem
        if not name:
            continue

        files.setdefault(name, []).append((top, number))
        names[number] = top, name
        if top in _SHARED_ROOTS:
            shared_modules.setdefault(name.split(b".")[0].decode(errors="replace"), top)

        for shared_root in _SHARED_ROOTS:
            # A directory without __init__.py below a shared root is a namespace package, with the longer name as well.
            prefix = shared_root + b"/" if shared_root else b""
            if top != shared_root and top.startswith(prefix):
                spaced = top[len(prefix) :].replace(b"/", b".") + b"." + name
                files.setdefault(spaced, []).append((shared_root, number))

    for entries in files.values():
        entries.sort(key=lambda entry: project.paths[entry[1]].endswith(b".pyi"))

    return PythonModules(files, names, shared_modules)


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
    entries = modules.files.get(module)
    if entries:
        own_root = modules.root_of(document)
        # A repository may contain several packages of that name, such as examples; the nearest root is meant.
        near = sorted(entries, key=lambda entry: _distance(own_root, entry[0]))
        return [project.document_at(number) for _, number in near[:3]]

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
    base = b"/".join(part for part in (directory, module.replace(b".", b"/")) if part)
    if not module:
        endings = [b"/__init__.py", b"/__init__.pyi"]
    else:
        endings = [b".py", b"/__init__.py", b".pyi", b"/__init__.pyi"]
    if not module:
        return project.first([(base + end).lstrip(b"/") for end in endings])
    return project.first([base + b"/__init__.py", *(base + end for end in endings)])


def _in_other_projects(project: Project, module: bytes, session: Session) -> list[Document]:
    top = module.split(b".")[0].decode(errors="replace")
    for other, _ in session.providers(project, top):
        entries = [entry for entry in modules_of(other).files.get(module, ()) if entry[0] in _SHARED_ROOTS]
        if entries:
            return [other.document_at(entries[0][1])]
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
                        return [
                            PythonRef(document, candidate)
                            for candidate in order_for_other_scopes(bindings)[:MAX_BINDINGS]
                        ]
                    ordered, is_bound_before = _order_for_own_scope(bindings, offset)
                    # A class body reads an outer name until its own binding runs; in a function the binding makes the
                    # name local throughout.
                    if is_bound_before or current.kind != "class":
                        return [PythonRef(document, candidate) for candidate in ordered[:MAX_BINDINGS]]
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
        if model is not None:
            bindings = model.module.bindings.get(name)
            if bindings:
                return [PythonRef(document, binding) for binding in order_for_other_scopes(bindings)[:MAX_BINDINGS]]
            below = self._submodule(document, name)
            return below or self._star_imports(document, model.module, name, visited)

        return self._submodule(document, name)

    def _submodule(self, document: Document, name: bytes) -> list[PythonRef]:
        if not document.path.endswith((b"/__init__.py", b"/__init__.pyi")):
            return []
        stem = document.path.rpartition(b"/")[0] + b"/" + name
        submodule = document.project.first([stem + end for end in (b"/__init__.py", b".py", b"/__init__.pyi", b".pyi")])
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
            if imported is None or not imported:
                targets.append(current)
            else:
                # The first target is the best; a second one covers try/except and version checks. More cost time only.
                pending[:0] = imported[:2]

        return targets

    def is_outside(self, ref: PythonRef) -> bool:
        """Return whether an import means a module whose top-level package is in no repository."""
        binding = ref.binding
        if binding is None or binding.kind not in {"import", "from"} or binding.level:
            return False
        return not self.modules(ref.document, binding.module.split(b".", 1)[0], 0)

    def _import_step(self, ref: PythonRef) -> list[PythonRef] | None:
        """Return the target of an import, one step on, or None for other bindings, empty for a missing module."""
        binding = ref.binding
        if binding is None or binding.kind not in {"import", "from"}:
            return None
        if binding.kind == "import":
            return [PythonRef(refs) for refs in self.modules(ref.document, binding.module, 0)[:1]]

        for source in self.modules(ref.document, binding.module, binding.level):
            # A module may import its own name from a package that imports it back.
            refs = [other for other in self.member(source, binding.member) if other.key != ref.key]
            if refs:
                return refs

        dotted_name = binding.module + b"." + binding.member if binding.module else binding.member
        return [PythonRef(refs) for refs in self.modules(ref.document, dotted_name, binding.level)[:1]]


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
            _LAST.get(candidate.kind, 1),
            _has_decorator(candidate, b"overload"),
            candidate.bound_from == _LATEST,
            -candidate.start,
        ),
    )


def _has_decorator(binding: PythonBinding, name: bytes) -> bool:
    return any((node.text or b"").rstrip().endswith(name) for node in binding.decorators)
