"""Find the pytest fixture that provides a parameter."""

from __future__ import annotations

import re

from sourcelight.engines.navigation.languages.python.members import PythonAnnotations
from sourcelight.engines.navigation.languages.python.names import PythonRef
from sourcelight.engines.navigation.languages.python.scopes import PythonBinding, PythonModel, PythonScope
from sourcelight.engines.navigation.model import Document

_MAX_PLUGIN_BYTES = 10_000
"""Maximum bytes of a ``pytest_plugins`` list to read."""

_PLUGIN = re.compile(rb"""["']([\w.]+)["']""")


class Fixtures(PythonAnnotations):
    """Find fixtures within one call."""

    def function_binding(self, scope: PythonScope) -> PythonBinding | None:
        """Return the binding of the function that opens a scope."""
        if scope.kind != "function" or scope.parent is None:
            return None
        name = scope.node.child_by_field_name("name")
        bindings = scope.parent.bindings.get((name.text if name is not None else None) or b"", [])
        return next((binding for binding in bindings if binding.node.start_byte == scope.node.start_byte), None)

    def fixture(self, document: Document, scope: PythonScope, name: bytes) -> PythonRef | None:
        """Return the pytest fixture that a parameter of a test or fixture asks for.

        Pytest looks in the enclosing classes, in the file, then in each ``conftest.py`` up to the root.
        """
        function = self.function_binding(scope)
        if not _may_use_fixtures(document, function):
            return None

        outer = scope.parent
        while outer is not None and outer.kind == "class":
            binding = next(
                (
                    binding
                    for binding in reversed(outer.bindings.get(name, []))
                    if is_fixture(binding) and binding is not function
                ),
                None,
            )
            if binding is not None:
                return PythonRef(document, binding)
            outer = outer.parent

        candidate: Document | None = document
        directory = document.path
        while True:
            fixture = self._fixture_in(candidate, name) if candidate is not None else None
            if fixture is not None and fixture.binding is not function:
                return fixture
            if not directory:
                return None
            directory = directory.rpartition(b"/")[0]
            candidate = document.project.document(directory + b"/conftest.py" if directory else b"conftest.py")

    def _fixture_in(self, document: Document, name: bytes) -> PythonRef | None:
        """Return a fixture that a module defines, imports, or has its plugins define."""
        model = self.model(document)
        if model is None:
            return None

        for binding in reversed(model.module.bindings.get(name, [])):
            if binding.kind in {"import", "from"}:
                fixture = next(
                    (ref for ref in self.follow([PythonRef(document, binding)]) if _is_fixture_ref(ref)), None
                )
                if fixture is not None:
                    return fixture
            elif is_fixture(binding):
                return PythonRef(document, binding)

        named_arguments = [b"name=" + quote + name + quote for quote in (b'"', b"'")]
        if any(argument in model.text for argument in named_arguments):
            for bindings in model.module.bindings.values():
                for binding in bindings:
                    texts = [decorator.text or b"" for decorator in binding.decorators]
                    if is_fixture(binding) and any(arg in text for text in texts for arg in named_arguments):
                        return PythonRef(document, binding)

        starred = self.follow(self._star_imports(document, model.module, name, set()))
        plugins = [source for plugin in _plugins(model) for source in self.modules(document, plugin, 0)[:1]]
        imported_refs = [*starred, *(ref for source in plugins for ref in self.follow(self.member(source, name)))]
        return next((ref for ref in imported_refs if _is_fixture_ref(ref)), None)


def is_fixture(binding: PythonBinding) -> bool:
    """Return whether a function is a fixture of pytest."""
    return binding.kind == "function" and any(b"fixture" in (decorator.text or b"") for decorator in binding.decorators)


def _is_fixture_ref(ref: PythonRef) -> bool:
    return ref.binding is not None and is_fixture(ref.binding)


def _plugins(model: PythonModel) -> list[bytes]:
    """Return the modules that ``pytest_plugins`` names by strings."""
    for binding in reversed(model.module.bindings.get(b"pytest_plugins", [])):
        right = binding.node.child_by_field_name("right")
        text = (right.text or b"")[:_MAX_PLUGIN_BYTES] if right is not None else b""
        return _PLUGIN.findall(text)
    return []


def _may_use_fixtures(document: Document, function: PythonBinding | None) -> bool:
    if function is None:
        return False
    base = document.path.rpartition(b"/")[2]
    return is_fixture(function) or (function.name.startswith(b"test") and (b"test" in base))
