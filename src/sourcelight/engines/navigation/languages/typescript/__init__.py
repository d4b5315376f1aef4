"""TypeScript and JavaScript: blocks, modules by path and package name, types as far as members and keys need them."""

from sourcelight.engines.navigation.languages.typescript.language import TypeScriptLanguage

__all__ = ["TypeScriptLanguage"]
