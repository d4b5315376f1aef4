"""The rules of Rust: items and blocks, crates and the files of their modules, paths, and names among tokens.

Macros are not expanded; their tokens are read for names. Start reading at `rules`.
"""

from sourcelight.engines.navigation.languages.rust.rules import RustRules

__all__ = ["RustRules"]
