"""One parsed file: where a name is declared in it is looked up when first asked."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.by_imports.syntax import Declaration, Language
from sourcelight.engines.navigation.parsed import ParsedFile

if TYPE_CHECKING:
    from tree_sitter import Tree

MOST_WORDS = 5000
"""Places of one name in a file among which its declarations are looked for."""


class FileModel(ParsedFile):
    """A parsed file."""

    def __init__(self, language: Language, text: bytes, tree: Tree) -> None:
        self.language = language
        super().__init__(text, tree)
        self._declared: dict[bytes, list[Declaration]] = {}

    def declarations(self, name: bytes) -> list[Declaration]:
        """Give everything in the file that declares a name, in order."""
        found = self._declared.get(name)
        if found is None:
            found = []
            for offset in islice(self.words(name), MOST_WORDS):
                path = self.path_to(offset)
                if path[-1].type in self.language.identifiers:
                    made = self.language.declared(path)
                    if made is not None and made.start == path[-1].start_byte:
                        found.append(made)
            self._declared[name] = found
        return found
