"""A parsed file, and the limit on the CPU time that resolving names in files may take.

The limit holds for the code within a ``with`` block, in this thread, however deep its calls are::

    with time_limit(5.0):
        ref = resolve(file, offset)  # calls check_time() in its loops, which raises TimeSpent
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

# Parsing a one-line file of 1.4 MB takes 0.8 s, and it blocks all threads: it holds the interpreter lock.
MAX_PARSED_BYTES = 1024 * 1024
"""Maximum bytes of a file to parse; larger ones are only searched as text."""

MAX_PARSE_S = 1.4
"""Seconds after which parsing a file is given up."""

# Reading the CPU clock is a system call of about 10 µs, as long as the work for a few words or some hundred nodes.
_WORDS_PER_CHECK = 16
_NODES_PER_CHECK = 256
"""Nodes between two looks at the deadline."""


class ParsedFile:
    """A parsed file.

    Attributes
    ----------
    letters
        Characters of words, for the brackets of a regular expression over bytes; letters beyond ASCII too.
    """

    letters: ClassVar[bytes] = rb"\w\x80-\xff"

    def __init__(self, text: bytes, tree: Tree) -> None:
        self.text = text
        self.tree = tree
        self.root = tree.root_node

    def words(self, name: bytes) -> Iterator[int]:
        """Return the offsets of a name as a whole word."""
        pattern = b"(?<![%b])%b(?![%b])" % (self.letters, re.escape(name), self.letters)
        for number, match in enumerate(re.finditer(pattern, self.text)):
            if number % _WORDS_PER_CHECK == 0:
                check_time()
            yield match.start()

    def path_to(self, offset: int) -> list[Node]:
        """Return the nodes from the root down to the smallest that covers the byte at `offset`."""
        cursor = self.root.walk()
        path = [self.root]
        while cursor.goto_first_child_for_byte(offset) is not None:
            node = cursor.node
            if node is None or node.start_byte > offset:
                break
            path.append(node)
            if len(path) % _NODES_PER_CHECK == 0:
                check_time()

        return path


class TimeSpent(Exception):
    """The CPU time for resolving names is used up."""


class _TimeLimit(threading.local):
    """The limit of a thread: the CPU time of the thread at which it ends, in seconds; None without a limit."""

    cpu_deadline: float | None = None


_limit = _TimeLimit()


@contextmanager
def time_limit(cpu_s: float) -> Iterator[None]:
    """Make `check_time` raise `TimeSpent` inside this block after `cpu_s` CPU seconds of this thread."""
    outer_deadline = _limit.cpu_deadline
    deadline = time.thread_time() + cpu_s
    # A limit inside another one can only shorten it.
    if outer_deadline is not None:
        deadline = min(deadline, outer_deadline)

    _limit.cpu_deadline = deadline
    try:
        yield
    finally:
        _limit.cpu_deadline = outer_deadline


def check_time() -> None:
    """Raise `TimeSpent` when the time of the surrounding `time_limit` is used up.

    Call it in loops whose length a file decides. Assign what they cache at the end, so that it is complete.
    """
    if is_time_spent():
        raise TimeSpent


def is_time_spent() -> bool:
    """Return whether `check_time` would raise."""
    return _limit.cpu_deadline is not None and time.thread_time() > _limit.cpu_deadline
