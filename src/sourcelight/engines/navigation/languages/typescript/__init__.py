"""The rules of TypeScript and JavaScript: blocks, modules by path and package name, and types of members and keys.

``node_modules`` and the standard library are not read. Start reading at `language`.
"""

from sourcelight.engines.navigation.languages.typescript.language import TypeScriptLanguage

__all__ = ["TypeScriptLanguage"]
