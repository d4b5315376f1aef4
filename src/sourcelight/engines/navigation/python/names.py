"""From a name in a scope to what binds it, through imports to the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.python.modules import find_module
from sourcelight.engines.navigation.python.scopes import Binding, PythonModel, Scope

if TYPE_CHECKING:
    from sourcelight.engines.navigation.resolver import Resolver
    from sourcelight.engines.navigation.workspace import Workspace

_LATEST = 1 << 62
_LAST = {"import": 2, "from": 2, "function": 0, "class": 0}
MOST_BINDINGS = 100
"""Bindings of one name that are given for a use, best first; generated code assigns a variable thousands of times."""

MOST_STEPS = 64
"""Imports that are followed for one name; a cycle of modules ends by what was visited already."""


@dataclass(frozen=True, slots=True, eq=False)
class Ref:
    """A binding in a file; without a binding the file itself, as a module."""

    document: Document
    binding: Binding | None = None

    @property
    def place(self) -> tuple[tuple[str, str, bytes], int]:
        """What makes two the same."""
        return self.document.key, self.binding.start if self.binding is not None else -1


class Names:
    """Looks up names within one call."""

    def __init__(self, workspace: Workspace, resolver: Resolver) -> None:
        self.workspace = workspace
        self.resolver = resolver

    def model(self, document: Document) -> PythonModel | None:
        """Give the parsed file."""
        found = self.workspace.model(document)
        return found if isinstance(found, PythonModel) else None

    def lookup(self, document: Document, scope: Scope, name: bytes, offset: int) -> list[Ref]:
        """Find what a name means at an offset in a scope, imports not followed; best first."""
        at: Scope | None = scope
        own = True
        later: list[Binding] = []
        while at is not None:
            if at.kind != "class" or own:
                bindings = at.bindings.get(name)
                if name in at.globals:
                    at, own = at.module, False
                    continue
                if bindings and name not in at.nonlocals:
                    if not own:
                        return [Ref(document, b) for b in from_outside(bindings)[:MOST_BINDINGS]]
                    ordered, any_before = _from_inside(bindings, offset)
                    if any_before or at.kind != "class":
                        return [Ref(document, b) for b in ordered[:MOST_BINDINGS]]
                    later = ordered
            if own and at.kind != "comprehension":
                own = False
            if at.parent is None:
                found = self._starred(document, at, name, set())
                if found:
                    return found
            at = at.parent
        return [Ref(document, b) for b in later]

    def member(self, document: Document, name: bytes, visited: set[tuple[object, bytes]] | None = None) -> list[Ref]:
        """Find a member of a module, imports not followed: what it binds, stars, then a module below it."""
        visited = visited if visited is not None else set()
        if (document.key, name) in visited or len(visited) > MOST_STEPS:
            return []
        visited.add((document.key, name))
        model = self.model(document)
        if model is not None:
            bindings = model.module.bindings.get(name)
            if bindings:
                return [Ref(document, b) for b in from_outside(bindings)[:MOST_BINDINGS]]
            below = self._below(document, name)
            return below or self._starred(document, model.module, name, visited)
        return self._below(document, name)

    def _below(self, document: Document, name: bytes) -> list[Ref]:
        if not document.path.endswith((b"/__init__.py", b"/__init__.pyi")):
            return []
        folder = document.path.rpartition(b"/")[0] + b"/" + name
        found = document.project.first([folder + end for end in (b"/__init__.py", b".py", b"/__init__.pyi", b".pyi")])
        return [Ref(found)] if found is not None else []

    def _starred(self, document: Document, scope: Scope, name: bytes, visited: set[tuple[object, bytes]]) -> list[Ref]:
        _ = scope.bindings
        if name.startswith(b"__"):
            return []
        for module, level, _ in reversed(scope.stars):
            for source in self.modules(document, module, level)[:1]:
                found = self.member(source, name, visited)
                if found:
                    return found
        return []

    def modules(self, document: Document, module: bytes, level: int) -> list[Document]:
        """Give the files that an import means."""
        return find_module(document, module, level, self.workspace, self.resolver)

    def follow(self, refs: Iterable[Ref]) -> list[Ref]:
        """Follow imports to the end; what leads nowhere is left as the import that it is."""
        found: dict[object, Ref] = {}
        for ref in refs:
            for end in self._followed(ref, set()):
                found.setdefault(end.place, end)
        return list(found.values())

    def _followed(self, ref: Ref, visited: set[object]) -> list[Ref]:
        waiting, ends = [ref], []
        while waiting:
            at = waiting.pop(0)
            if at.place in visited or len(visited) > MOST_STEPS:
                continue
            visited.add(at.place)
            step = self.imported(at)
            if step is None or not step:
                ends.append(at)
            else:
                # What stands first is the best; others are ways that a program may take instead.
                waiting[:0] = step[:2]
        return ends

    def is_outside(self, ref: Ref) -> bool:
        """Tell whether an import means a module of which no repository has even the top."""
        binding = ref.binding
        if binding is None or binding.kind not in {"import", "from"} or binding.level:
            return False
        return not self.modules(ref.document, binding.module.split(b".", 1)[0], 0)

    def imported(self, ref: Ref) -> list[Ref] | None:
        """Give what an import binds, one step on; None for what is no import, nothing for what can't be found."""
        binding = ref.binding
        if binding is None or binding.kind not in {"import", "from"}:
            return None
        if binding.kind == "import":
            return [Ref(found) for found in self.modules(ref.document, binding.module, 0)[:1]]
        for source in self.modules(ref.document, binding.module, binding.level):
            found = [other for other in self.member(source, binding.member) if other.place != ref.place]
            if found:
                return found
        joined = binding.module + b"." + binding.member if binding.module else binding.member
        return [Ref(found) for found in self.modules(ref.document, joined, binding.level)[:1]]


def _from_inside(bindings: list[Binding], offset: int) -> tuple[list[Binding], bool]:
    """Order bindings for a use in their own scope: the nearest earlier one first, then the others."""
    before = [b for b in bindings if b.ends <= offset and b.start != offset]
    after = [b for b in bindings if b.ends > offset or b.start == offset]
    return [*reversed(before), *after], bool(before)


def from_outside(bindings: list[Binding]) -> list[Binding]:
    """Order bindings for a use from elsewhere: functions and classes first, imports last, the last one of each first.

    Overloads come after what they are overloads of.
    """
    return sorted(
        bindings,
        key=lambda b: (_LAST.get(b.kind, 1), _marked(b, b"overload"), b.ends == _LATEST, -b.start),
    )


def _marked(binding: Binding, name: bytes) -> bool:
    return any((node.text or b"").rstrip().endswith(name) for node in binding.decorators)
