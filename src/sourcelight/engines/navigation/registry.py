"""Which resolver reads which language."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.navigation.resolver import Resolver


@functools.cache
def resolvers() -> Mapping[str, Resolver]:
    """Give the resolver of each language that has one; other languages get names ranked."""
    from sourcelight.engines.navigation.by_imports import CResolver, CSharpResolver, JavaResolver, RustResolver
    from sourcelight.engines.navigation.golang import GoResolver
    from sourcelight.engines.navigation.python import PythonResolver
    from sourcelight.engines.navigation.typescript import TypeScriptResolver

    made: tuple[Resolver, ...] = (
        PythonResolver(),
        GoResolver(),
        TypeScriptResolver(),
        JavaResolver(),
        CResolver(),
        RustResolver(),
        CSharpResolver(),
    )
    return {language: resolver for resolver in made for language in resolver.languages}


def resolver_of(language: str) -> Resolver | None:
    """Give the resolver of a language."""
    return resolvers().get(language)
