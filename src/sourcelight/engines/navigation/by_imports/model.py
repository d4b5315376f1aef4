"""One parsed file: where a name is declared in it is looked up when first asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.by_imports.syntax import Declaration, Language

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MOST_WORDS = 5000
"""Places of one name in a file that are looked at."""


class FileModel:
    """A parsed file."""

    def __init__(self, language: Language, text: bytes, tree: Tree) -> None:
        self.language = language
        self.text = text
        self.tree = tree
        self.root = tree.root_node
        self._declared: dict[bytes, list[Declaration]] = {}

    def words(self, name: bytes) -> Iterator[int]:
        """Give where the name stands as a whole word."""
        pattern = rb"(?<![\w\x80-\xff])" + re.escape(name) + rb"(?![\w\x80-\xff])"
        for number, found in enumerate(re.finditer(pattern, self.text)):
            if number >= MOST_WORDS:
                return
            yield found.start()

    def path_to(self, offset: int) -> list[Node]:
        """Give the nodes from the top down to the smallest that holds the byte at `offset`."""
        cursor = self.root.walk()
        path = [self.root]
        while cursor.goto_first_child_for_byte(offset) is not None:
            node = cursor.node
            if node is None or node.start_byte > offset:
                break
            path.append(node)
        return path

    def declarations(self, name: bytes) -> list[Declaration]:
        """Give everything in the file that declares a name, in order."""
        found = self._declared.get(name)
        if found is None:
            found = []
            for offset in self.words(name):
                path = self.path_to(offset)
                if path[-1].type in self.language.identifiers:
                    made = self.language.declared(path)
                    if made is not None and made.start == path[-1].start_byte:
                        found.append(made)
            self._declared[name] = found
        return found
