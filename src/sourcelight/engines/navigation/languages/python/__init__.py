"""The rules of Python: scopes, imports and types, derived from the text of files alone.

No code runs here, and no environment or installed package is read. Start reading at `language`.
"""

from sourcelight.engines.navigation.languages.python.language import PythonLanguage

__all__ = ["PythonLanguage"]
