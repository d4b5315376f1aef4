"""One module or room for each language that is resolved, and the table of them.

What is the same for all languages that are read by their declarations stands in `declared`, `inference` and
`declarative`. Python, Go and TypeScript, which need types, have a room each.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.navigation.language import LegacyLanguage
    from sourcelight.engines.navigation.languages.resolver import Resolver


@functools.cache
def resolvers() -> Mapping[str, LegacyLanguage | Resolver]:
    """Give the resolver of each language that has one; other languages get names ranked."""
    from sourcelight.engines.navigation.languages.declarative import (
        CResolver,
        CSharpResolver,
        JavaResolver,
        RustResolver,
    )
    from sourcelight.engines.navigation.languages.go import GoLanguage
    from sourcelight.engines.navigation.languages.python import PythonLanguage
    from sourcelight.engines.navigation.languages.resolver import Resolver
    from sourcelight.engines.navigation.languages.typescript import TypeScriptLanguage

    made: tuple[LegacyLanguage | Resolver, ...] = (
        Resolver(PythonLanguage()),
        Resolver(GoLanguage()),
        Resolver(TypeScriptLanguage()),
        JavaResolver(),
        CResolver(),
        RustResolver(),
        CSharpResolver(),
    )
    return {language: resolver for resolver in made for language in resolver.languages}


def resolver_of(language: str) -> LegacyLanguage | Resolver | None:
    """Give the resolver of a language."""
    return resolvers().get(language)
