"""Java, C and C++, Rust, C#: scopes of the file, what imports, includes and `use` bring in, types as declared.

Nothing is inferred that no declaration says: generic code, lambdas' parameters and overloads by type are not decided.
What is the same for all stands in `meaning`; what a language calls things, in its own module, as a `syntax.Language`.
"""

from sourcelight.engines.navigation.by_imports.resolver import (
    CResolver,
    CSharpResolver,
    ImportsResolver,
    JavaResolver,
    RustResolver,
)

__all__ = ["CResolver", "CSharpResolver", "ImportsResolver", "JavaResolver", "RustResolver"]
