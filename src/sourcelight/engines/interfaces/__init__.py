"""Public interfaces in source text: which definitions of a file other code may use, and how they are declared.

One module per language says what is public there, with its source; `public_symbols` chooses it. Nothing here knows a
repository. Start with `model`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.core.query.languages import language_of
from sourcelight.engines.interfaces.model import PublicSymbol, is_test

__all__ = ["LANGUAGES", "PublicSymbol", "is_internal_module", "is_public_file", "public_symbols"]

LANGUAGES = ("Go", "Java", "Python", "TypeScript", "TSX")
"""Display names of the languages whose interfaces are read."""


def is_public_file(path: str) -> bool:
    """Whether a file of a path can have public definitions: a language that is read, no test, no private place."""
    if language_of(path) not in LANGUAGES or is_test(path):
        return False
    from sourcelight.engines.interfaces import go, python

    match language_of(path):
        case "Python":
            return python.is_public_path(path)
        case "Go":
            return go.is_public_path(path)
    return True


def is_internal_module(path: str) -> bool:
    """Whether a path is a Python module that a leading underscore, its own or a package's, makes internal."""
    if language_of(path) != "Python" or is_test(path):
        return False
    *packages, name = path.split("/")
    dunder = name.startswith("__")
    return any(part.startswith("_") for part in packages) or (name.startswith("_") and not dunder)


def public_symbols(path: str, data: bytes) -> tuple[Sequence[PublicSymbol], str]:
    """Return the public definitions of a file, and why there may be more (empty if not).

    The reasons are those of `sourcelight.engines.symbols.FileDefinitions`: ``too-large``, ``timed-out``,
    ``unparsable``.
    """
    from sourcelight.engines.interfaces import go, java, python, typescript
    from sourcelight.engines.interfaces.model import parse

    language = language_of(path)
    root, incomplete = parse(language, data)
    if root is None:
        return [], incomplete
    readers = {"Python": python, "Go": go, "Java": java, "TypeScript": typescript, "TSX": typescript}
    return readers[language].read(path, root, data), incomplete
