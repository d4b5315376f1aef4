"""Find the pytest fixture that provides a parameter.

Pytest passes the result of a fixture, a function, to each parameter of its name in tests and other fixtures. No import
leads there: the name alone does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sourcelight.engines.navigation.languages.python.annotations import PythonAnnotations
from sourcelight.engines.navigation.languages.python.names import PythonRef, mentions_in_decorators
from sourcelight.engines.navigation.languages.python.scopes import PythonBinding, PythonModel, PythonScope
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.nodes import field_text, text_of

_MAX_PLUGIN_BYTES = 10_000
"""Maximum bytes of a ``pytest_plugins`` list to read."""

_PLUGIN = re.compile(rb"""["']([\w.]+)["']""")
"""The name of a plugin in quotes: ``"tests.fixtures"``."""


class Fixtures(PythonAnnotations):
    """Find fixtures within one call."""

    def function_binding(self, scope: PythonScope) -> PythonBinding | None:
        """Return the binding of the function that opens a scope."""
        if scope.kind != "function" or scope.parent is None:
            return None
        for binding in scope.parent.bindings.get(field_text(scope.node, "name"), []):
            if binding.node.start_byte == scope.node.start_byte:
                return binding
        return None

    def fixture(self, document: Document, scope: PythonScope, name: bytes) -> PythonRef | None:
        """Return the pytest fixture that a parameter of a test or fixture asks for.

        Pytest looks in the enclosing classes, in the file, then in each ``conftest.py`` up to the root.
        """
        function = self.function_binding(scope)
        if not _may_use_fixtures(document, function):
            return None

        outer = scope.parent
        while outer is not None and outer.kind == "class":
            for binding in reversed(outer.bindings.get(name, [])):
                if is_fixture(binding) and binding is not function:
                    return PythonRef(document, binding)
            outer = outer.parent

        for module in _modules_of_fixtures(document):
            fixture = self._fixture_in(module, name)
            # A fixture may override one of the same name, which it takes as a parameter.
            if fixture is not None and fixture.binding is not function:
                return fixture

        return None

    def _fixture_in(self, document: Document, name: bytes) -> PythonRef | None:
        """Return a fixture that a module defines, imports, or has its plugins define."""
        model = self.model(document)
        if model is None:
            return None

        for binding in reversed(model.module.bindings.get(name, [])):
            fixture = self._first_fixture([PythonRef(document, binding)])
            if fixture is not None:
                return fixture

        renamed = _renamed_fixture(model, name)
        if renamed is not None:
            return PythonRef(document, renamed)

        starred = self._first_fixture(self._star_imports(document, model.module, name, set()))
        if starred is not None:
            return starred

        for plugin in _plugins(model):
            for source in self.modules(document, plugin, 0)[:1]:
                fixture = self._first_fixture(self.member(source, name))
                if fixture is not None:
                    return fixture

        return None

    def _first_fixture(self, refs: list[PythonRef]) -> PythonRef | None:
        """Return the first fixture among some declarations, imports followed."""
        for ref in self.follow(refs):
            if ref.binding is not None and is_fixture(ref.binding):
                return ref
        return None


def is_fixture(binding: PythonBinding) -> bool:
    """Return whether a function is a fixture of pytest."""
    return binding.kind == "function" and mentions_in_decorators(binding, b"fixture")


def _modules_of_fixtures(document: Document) -> Iterator[Document]:
    """Yield the files whose fixtures a file may use: itself, then each ``conftest.py`` up to the root."""
    yield document

    directory = document.path
    while directory:
        directory = directory.rpartition(b"/")[0]
        conftest = document.project.document(directory + b"/conftest.py" if directory else b"conftest.py")
        if conftest is not None:
            yield conftest


def _renamed_fixture(model: PythonModel, name: bytes) -> PythonBinding | None:
    """Return the fixture that its decorator names: ``@pytest.fixture(name="…")``."""
    arguments = (b'name="' + name + b'"', b"name='" + name + b"'")
    if not any(argument in model.text for argument in arguments):
        return None

    for bindings in model.module.bindings.values():
        for binding in bindings:
            decorators = b" ".join(text_of(decorator) for decorator in binding.decorators)
            if is_fixture(binding) and any(argument in decorators for argument in arguments):
                return binding

    return None


def _plugins(model: PythonModel) -> list[bytes]:
    """Return the modules that ``pytest_plugins`` names by strings."""
    bindings = model.module.bindings.get(b"pytest_plugins")
    if not bindings:
        return []
    return _PLUGIN.findall(field_text(bindings[-1].node, "right")[:_MAX_PLUGIN_BYTES])


def _may_use_fixtures(document: Document, function: PythonBinding | None) -> bool:
    if function is None:
        return False
    if is_fixture(function):
        return True

    file_name = document.path.rpartition(b"/")[2]
    return b"test" in file_name and function.name.startswith(b"test")
