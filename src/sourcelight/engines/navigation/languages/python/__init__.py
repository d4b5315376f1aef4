"""Python: scopes, imports and types as far as text tells them; nothing is run and no environment is asked."""

from sourcelight.engines.navigation.languages.python.language import PythonLanguage

__all__ = ["PythonLanguage"]
