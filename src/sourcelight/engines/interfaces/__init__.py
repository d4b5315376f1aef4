"""Public interfaces in source text: which definitions of a file other code may use, and how they are declared.

One module per language defines what is public, with its source; `public_symbols` selects it. Nothing here knows a
repository. Start with `model`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.core.query.file_kinds import is_test_or_example
from sourcelight.core.query.languages import language_of
from sourcelight.engines.interfaces.model import PublicSymbol, comparable_signature, is_tooling
from sourcelight.engines.interfaces.python import Module
from sourcelight.engines.interfaces.python_exports import PythonExports

__all__ = [
    "LANGUAGES", "Module", "PublicSymbol", "PythonExports", "comparable_signature", "is_public_file",
    "public_symbols", "read_module",
]  # fmt: skip

LANGUAGES = ("Go", "Java", "Python", "TypeScript", "TSX")
"""Display names of the languages whose interfaces are read."""


def is_public_file(path: str) -> bool:
    """Return whether a file can have public definitions: a known language, and no test, tool or private directory."""
    if language_of(path) not in LANGUAGES or _is_test(path) or is_tooling(path):
        return False

    from sourcelight.engines.interfaces import go, python

    match language_of(path):
        case "Python":
            return python.is_public_path(path)
        case "Go":
            return go.is_public_path(path)

    return True


def _is_test(path: str) -> bool:
    """Return whether a file is a test or an example, for which Go and Maven have rules: others can use the rest."""
    if path.endswith(".go"):
        return path.endswith("_test.go") or is_test_or_example(f"{path.rpartition('/')[0]}/package.go")
    return "src/main/java/" not in path and is_test_or_example(path)


def read_module(path: str, data: bytes) -> tuple[Module, str]:
    """Return the declarations of a Python module, and why they may be incomplete (empty if they aren't)."""
    from sourcelight.engines.interfaces import python
    from sourcelight.engines.interfaces.model import parse

    root, incomplete = parse("Python", data)
    return (Module() if root is None else python.read(path, root, data)), incomplete


def public_symbols(path: str, data: bytes) -> tuple[Sequence[PublicSymbol], str]:
    """Return the public definitions of a file by itself, and why there may be more (empty if not).

    `PythonExports` also has what a Python module exports from other modules.

    The reasons are those of `sourcelight.engines.symbols.FileDefinitions`: ``too-large``, ``timed-out``,
    ``unparsable``.
    """
    from sourcelight.engines.interfaces import go, java, typescript
    from sourcelight.engines.interfaces.model import parse

    language = language_of(path)
    if language == "Python":
        module, incomplete = read_module(path, data)
        return [symbol for _, symbol in PythonExports({path}, lambda _: module).public_symbols(path)], incomplete

    root, incomplete = parse(language, data)
    if root is None:
        return [], incomplete

    readers = {"Go": go, "Java": java, "TypeScript": typescript, "TSX": typescript}
    return readers[language].read(path, root, data), incomplete
