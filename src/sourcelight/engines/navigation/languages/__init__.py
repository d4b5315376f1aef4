"""One module or room per language whose names are resolved, and the table of them.

Languages that declarations and imports alone describe share `declared`, `inference` and `declarative`; Python, Go and
TypeScript infer types in rooms of their own. Start reading at `resolver`; parsing tables and ranking are elsewhere.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.resolver import Resolver

if TYPE_CHECKING:
    from sourcelight.engines.navigation.language import Language


def _python() -> Language:
    from sourcelight.engines.navigation.languages.python import PythonLanguage

    return PythonLanguage()


def _go() -> Language:
    from sourcelight.engines.navigation.languages.go import GoLanguage

    return GoLanguage()


def _typescript() -> Language:
    from sourcelight.engines.navigation.languages.typescript import TypeScriptLanguage

    return TypeScriptLanguage()


def _java() -> Language:
    from sourcelight.engines.navigation.languages.declarative import DeclarativeLanguage
    from sourcelight.engines.navigation.languages.java import JavaRules

    return DeclarativeLanguage(JavaRules())


def _c() -> Language:
    from sourcelight.engines.navigation.languages.c import CRules
    from sourcelight.engines.navigation.languages.declarative import DeclarativeLanguage

    return DeclarativeLanguage(CRules())


def _rust() -> Language:
    from sourcelight.engines.navigation.languages.declarative import DeclarativeLanguage
    from sourcelight.engines.navigation.languages.rust import RustRules

    return DeclarativeLanguage(RustRules())


def _csharp() -> Language:
    from sourcelight.engines.navigation.languages.csharp import CSharpRules
    from sourcelight.engines.navigation.languages.declarative import DeclarativeLanguage

    return DeclarativeLanguage(CSharpRules())


LANGUAGES: Mapping[str, Callable[[], Language]] = {
    "Python": _python,
    "Go": _go,
    "TypeScript": _typescript,
    "TSX": _typescript,
    "JavaScript": _typescript,
    "Java": _java,
    "C": _c,
    "C++": _c,
    "Rust": _rust,
    "C#": _csharp,
}
"""Languages by display name; each is imported when a file of it is first resolved."""


def resolver_of(language: str) -> Resolver | None:
    """Return the resolver of a language, or None for a language whose names are only ranked."""
    make_language = LANGUAGES.get(language)
    return None if make_language is None else _resolver(make_language)


@functools.cache
def _resolver(make_language: Callable[[], Language]) -> Resolver:
    return Resolver(make_language())
