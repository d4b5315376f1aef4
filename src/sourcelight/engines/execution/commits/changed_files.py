"""Predicates on files in searches of commits, applied to each changed file as its commit has it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches import CommitId
from sourcelight.core.cancellation import Cancellation, ScanStopped
from sourcelight.core.errors import PatternError
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.query import Predicate
from sourcelight.engines.execution.results.codeowners import PLACES, CodeOwners, owned_by
from sourcelight.engines.history import History
from sourcelight.engines.history.model import NO_BLOB
from sourcelight.repos import ObjectReader, Repository

MAX_OWNERS_BYTES = 3 << 20
"""Maximum bytes of a CODEOWNERS file; code hosts ignore larger ones."""

_MAX_CACHED_BLOBS = 50_000
"""Maximum number of blobs whose result is cached."""

_FILE_MODES = frozenset({b"100644", b"100664", b"100755", b"120000"})
"""Modes of files and links in git's trees; directories and submodules have others."""


class ChangedFilePredicates:
    """Selects the changes of one repository that pass predicates on files.

    ``file:has.content`` reads the file after the commit; a deleted file never passes. ``file:has.owner`` looks up the
    path after the commit in the commit's CODEOWNERS file.

    Parameters
    ----------
    repository, history
        The repository, and its history with the changes.
    predicates
        Predicates that a change must all pass.
    case_sensitive
        Whether patterns of contents match case.
    cancellation
        Ends the work early with `ScanStopped`.
    """

    def __init__(
        self,
        repository: Repository,
        history: History,
        predicates: Sequence[Predicate],
        cancellation: Cancellation,
        *,
        case_sensitive: bool,
    ) -> None:
        self._history = history
        self._cancellation = cancellation
        self._reader = ObjectReader(repository)
        self._owners = [predicate for predicate in predicates if predicate.name == "has.owner"]
        self._contents: list[CompiledPattern] = [
            compile_pattern(predicate.args["content"], kind="regexp", case_sensitive=case_sensitive)
            for predicate in predicates
            if predicate.name == "has.content"
        ]
        self._results: dict[bytes, bool] = {}
        self._rules: dict[bytes, CodeOwners | None] = {}
        self._rules_of: dict[int, CodeOwners | None] = {}
        self.without_owners = False
        self.unread_owners = ""

    def passing(self, changes: Int64Array) -> Int64Array:
        """Return the changes that pass.

        Sets `without_owners` if a commit has no CODEOWNERS file, and `unread_owners` to the path of one that can't be
        read.
        """
        with self._reader:
            mask = [self._passes(change) for change in changes.tolist()]
        passing_changes: Int64Array = changes[np.array(mask, np.bool_)]
        return passing_changes

    def _passes(self, change: int) -> bool:
        if self._cancellation.stopped:
            raise ScanStopped

        changes = self._history.changes
        if self._contents and not self._contains(changes.new_blob[change].tobytes()):
            return False
        if not self._owners:
            return True

        rules = self._rules_at(int(changes.commit[change]))
        owners = () if rules is None else rules.owners(self._history.paths.text(int(changes.path[change])))
        return all(owned_by(owners, owner.args["owner"]) is not owner.negated for owner in self._owners)

    def _contains(self, blob: bytes) -> bool:
        if blob == NO_BLOB:
            return False

        cached = self._results.get(blob)
        if cached is None:
            text = self._reader.read(blob)
            cached = (
                text is not None
                and b"\0" not in text
                and all(content.matches_empty or bool(content.find_document(text)) for content in self._contents)
            )
            # Bounded: a history may have millions of blobs.
            if len(self._results) < _MAX_CACHED_BLOBS:
                self._results[blob] = cached

        return cached

    def _rules_at(self, commit: int) -> CodeOwners | None:
        if commit not in self._rules_of:
            self._rules_of[commit] = self._read_rules(self._history.oid(commit))
            self.without_owners = self.without_owners or (self._rules_of[commit] is None and not self.unread_owners)
        return self._rules_of[commit]

    def _read_rules(self, oid: CommitId) -> CodeOwners | None:
        root = self._reader.root(oid)
        for path in PLACES if root is not None else ():
            blob, mode = root, b""
            for name in path.encode().split(b"/"):
                entries = self._reader.folder(blob) if blob is not None else None
                mode, blob = next(((entry[0], entry[2]) for entry in entries or () if entry[1] == name), (b"", None))

            if blob is None or mode not in _FILE_MODES or (self._reader.size(blob) or 0) > MAX_OWNERS_BYTES:
                continue

            if blob not in self._rules:
                text = self._reader.read(blob, MAX_OWNERS_BYTES)
                self._rules[blob] = None if text is None else _compile(text)

            # A file that can't be read still takes precedence, so the next place is not tried.
            if self._rules[blob] is None:
                self.unread_owners = path

            return self._rules[blob]

        return None


def _compile(text: bytes) -> CodeOwners | None:
    """Return the rules of a file, or None if they are too complex, as for a file that can't be read."""
    try:
        return CodeOwners(text.decode(errors="replace"))
    except PatternError:
        return None
