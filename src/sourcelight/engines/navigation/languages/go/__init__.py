"""Go: blocks and packages, import paths through every go.mod, types as far as members need them."""

from sourcelight.engines.navigation.languages.go.language import GoLanguage

__all__ = ["GoLanguage"]
