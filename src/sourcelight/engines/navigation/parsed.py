"""What all parsed files and their resolvers have in common: words, the way down to a byte, identifiers."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from sourcelight.engines.navigation.model import Found, Occurrence

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

    from sourcelight.engines.navigation.workspace import Workspace


class TimeSpent(Exception):
    """The time for resolving names is used up."""


class _Allowed(threading.local):
    until: float | None = None


_allowed = _Allowed()
_STEPS = 256


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Have `check_time` raise `TimeSpent` after so many CPU seconds of this thread, inside this block."""
    before = _allowed.until
    _allowed.until = time.thread_time() + seconds
    try:
        yield
    finally:
        _allowed.until = before


def check_time() -> None:
    """Raise `TimeSpent` when the time of the surrounding `time_limit` is used up.

    For loops whose length a file decides. What they cache has to be whole: assigned at the end.
    """
    if is_time_spent():
        raise TimeSpent


def is_time_spent() -> bool:
    """Whether `check_time` would raise."""
    return _allowed.until is not None and time.thread_time() > _allowed.until


class ParsedFile:
    """A parsed file.

    Attributes
    ----------
    letters
        What words are made of, inside the brackets of a regular expression over bytes; letters beyond ASCII too.
    """

    letters: ClassVar[bytes] = rb"\w\x80-\xff"

    def __init__(self, text: bytes, tree: Tree) -> None:
        self.text = text
        self.tree = tree
        self.root = tree.root_node

    def words(self, name: bytes) -> Iterator[int]:
        """Give the offsets at which a name stands as a whole word."""
        pattern = b"(?<![%b])%b(?![%b])" % (self.letters, re.escape(name), self.letters)
        for found in re.finditer(pattern, self.text):
            check_time()
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
            if len(path) % _STEPS == 0:
                check_time()
        return path


class Identifiers:
    """The part of a `resolver.Resolver` that finds identifiers in a `ParsedFile`."""

    identifiers: Collection[str] = ()
    """Kinds of nodes that are identifiers."""

    renaming: ClassVar[re.Pattern[bytes] | None] = None
    """Finds, as its first group, what may be the new name in an import or export that gives one."""

    renamers: ClassVar[Collection[str]] = ()
    """Kinds of nodes that hold such a new name, and those around them up to the one that holds the old name too."""

    def renamed(self, model: ParsedFile, names: Collection[bytes]) -> Sequence[Occurrence]:
        """Give the new names of imports and exports whose text holds one of some names."""
        found = []
        for match in self.renaming.finditer(model.text) if self.renaming is not None else ():
            node = model.root.descendant_for_byte_range(match.start(1), match.start(1))
            around = node.parent if node is not None else None
            if node is None or around is None or node.type not in self.identifiers or around.type not in self.renamers:
                continue
            while around.parent is not None and around.parent.type in self.renamers:
                around = around.parent
            text = model.text[around.start_byte : around.end_byte]
            if any(name in text for name in names):
                found.append(self.occurrence(model, node))
        return found

    def occurrences(self, model: ParsedFile, name: bytes) -> Sequence[Occurrence]:
        """Give all identifiers of that name."""
        found = (self.occurrence_at(model, offset) for offset in model.words(name))
        return [occurrence for occurrence in found if occurrence is not None]

    def occurrence_at(self, model: ParsedFile, offset: int) -> Occurrence | None:
        """Give the identifier that covers a byte offset, or ends at it."""
        for at in (offset, offset - 1):
            node = model.root.descendant_for_byte_range(at, at) if at >= 0 else None
            if node is not None and node.type in self.identifiers:
                return self.occurrence(model, node)
        return None

    def occurrence(self, model: ParsedFile, node: Node) -> Occurrence:
        """Say what an identifier is used as."""
        raise NotImplementedError

    def overridden(self, found: Found, workspace: Workspace) -> Sequence[Found]:  # noqa: ARG002 - for those that know it
        """Give nothing: a method is itself alone."""
        return ()
