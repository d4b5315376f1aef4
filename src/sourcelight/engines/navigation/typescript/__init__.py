"""TypeScript and JavaScript: blocks, modules by path and package name, types as far as members and keys need them."""

from sourcelight.engines.navigation.typescript.resolver import TypeScriptResolver

__all__ = ["TypeScriptResolver"]
