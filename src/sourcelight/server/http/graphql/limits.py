"""Limits of one request: checked on its text, before anything runs, and while it runs.

A GraphQL query can multiply work by nesting, by repeating a field under other names, and by fragments that name each
other. So a request has a size, a depth and a number of fields after its fragments are put in, and the objects that it
visits share one budget of searches, read bytes and read objects.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
)

from sourcelight.core.cancellation import Cancellation

# Bounds of the text, checked before anything runs.
MAX_QUERY_CHARS = 20_000
MAX_TOKENS = 4_000
MAX_DEPTH = 16
MAX_FIELDS = 500

# Bounds of the work, for all objects of a request together.
MAX_SEARCHES = 3
MAX_READ_BYTES = 16 << 20
MAX_OBJECTS = 20_000
"""Commits, files and entries of directories."""

MAX_CALLS = 200
"""Calls over a cluster, each a round trip to a worker."""

MAX_ERRORS = 5
"""Errors of validation in an answer; a hostile query can have thousands."""


@dataclass(slots=True)
class Budget:
    """The remaining budget of a request; each method takes its share and raises when there is none left.

    Parameters
    ----------
    cancellation
        Ends the request at its time limit.
    """

    cancellation: Cancellation
    searches: int = MAX_SEARCHES
    read_bytes: int = MAX_READ_BYTES
    objects: int = MAX_OBJECTS
    calls: int = MAX_CALLS

    def take_search(self) -> None:
        """Take one search."""
        self.searches -= 1
        if self.searches < 0:
            raise GraphQLError(f"A request may search {MAX_SEARCHES} times; send several requests.")

    def take_bytes(self, size: int) -> None:
        """Take the bytes of a content that is about to be read."""
        # Taken before the read, so that a refused file costs no memory.
        self.read_bytes -= size
        if self.read_bytes < 0:
            raise GraphQLError(
                f"A request may read {MAX_READ_BYTES >> 20} MiB of files; ask for fewer files, or for lines of them."
            )

    def take_objects(self, count: int = 1) -> None:
        """Take commits, files or entries of directories; also stops a request whose time is over."""
        self.cancellation.check()
        self.objects -= count
        if self.objects < 0:
            raise GraphQLError(f"A request may visit {MAX_OBJECTS:,} objects; use first: to ask for fewer.")

    def take_call(self) -> None:
        """Take one call of a tool, which a cluster needs for each file, directory and commit."""
        self.cancellation.check()
        self.calls -= 1
        if self.calls < 0:
            raise GraphQLError(
                f"Over a cluster a request may read {MAX_CALLS} files, directories and commits; send several requests."
            )


@dataclass(slots=True)
class _Count:
    """Counts the fields of an operation, with fragments put in."""

    fragments: dict[str, FragmentDefinitionNode]
    fields: int = 0
    open_fragments: list[str] = field(default_factory=list)

    def visit(self, selection_set: SelectionSetNode | None, depth: int) -> None:
        if selection_set is None:
            return
        if depth > MAX_DEPTH:
            raise GraphQLError(f"The query is nested more than {MAX_DEPTH} levels deep.")

        for node in selection_set.selections:
            if isinstance(node, FieldNode):
                self.fields += 1
                if self.fields > MAX_FIELDS:
                    raise GraphQLError(f"The query asks for more than {MAX_FIELDS} fields; send several requests.")
                self.visit(node.selection_set, depth + 1)
            elif isinstance(node, InlineFragmentNode):
                self.visit(node.selection_set, depth + 1)
            elif isinstance(node, FragmentSpreadNode):
                self._spread(node.name.value, depth)

    def _spread(self, name: str, depth: int) -> None:
        # A fragment that names itself, or is unknown, is an error of validation, which comes after this.
        fragment = self.fragments.get(name)
        if fragment is None or name in self.open_fragments:
            return
        # Counted at each use: twenty fragments that each spread the next one twice are a million fields.
        self.open_fragments.append(name)
        self.visit(fragment.selection_set, depth + 1)
        self.open_fragments.pop()


def check_size(document: DocumentNode) -> None:
    """Raise `GraphQLError` if any operation of a document is too deep, or asks for too many fields."""
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    for node in document.definitions:
        if isinstance(node, OperationDefinitionNode):
            _Count(fragments).visit(node.selection_set, 1)
