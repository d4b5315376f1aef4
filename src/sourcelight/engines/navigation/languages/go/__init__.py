"""The rules of Go: blocks, packages, import paths through every go.mod, and types as far as members need them.

The standard library and the build cache are not read. Start reading at `language`.
"""

from sourcelight.engines.navigation.languages.go.language import GoLanguage

__all__ = ["GoLanguage"]
