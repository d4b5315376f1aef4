"""The walk of `symbol_history` from a definition to what it was before each commit.

``git log -L`` follows line numbers: it loses a function that moves to another file, and goes on in lines that only
stand where the function was put. Here a commit counts when the text of the definition differs before and after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.query.languages import language_of
from sourcelight.engines.history import History
from sourcelight.engines.history.model import NO_BLOB
from sourcelight.engines.symbols import LANGUAGES
from sourcelight.engines.tools.definition_texts import DefinitionText, definition_texts, likeness
from sourcelight.repos import ObjectReader

MAX_BYTES = 1 << 20
"""Bytes of a file that is read."""

MAX_PARSED = 4_000
"""Contents that one call parses; what is beyond them is not followed, and a notice says so."""

_MIN_LIKENESS = 50
"""Percent of lines that a definition shares with the one that it was: git's own threshold of renames."""

_MAX_CANDIDATES = 100
"""Other files of one commit that are parsed for a definition that moved."""

_MAX_TEXTS = 5
_CHECK_EVERY = 2_000
_RENAMED = ord("R")


@dataclass(frozen=True, slots=True)
class DefinitionVersion:
    """A definition in the commits of one line of history: its file by number of the path, its name, and its text."""

    path: int
    name: str
    kind: str
    text: bytes


@dataclass(slots=True)
class DefinitionChange:
    """One change of the definition."""

    commit: int
    status: str
    version: DefinitionVersion
    before: DefinitionVersion | None
    line: int
    score: int | None = None

    @property
    def lines(self) -> tuple[int, int]:
        """Lines added and removed."""
        return count_lines(b"" if self.before is None else self.before.text, self.version.text)


def count_lines(old: bytes, new: bytes) -> tuple[int, int]:
    """Lines added and removed between two texts, as a diff has them."""
    import pygit2

    patch = pygit2.Patch.create_from(old, new, context_lines=0)
    _, additions, deletions = patch.line_stats
    return int(additions), int(deletions)


@dataclass(slots=True)
class DefinitionWalk:
    """Follow a definition from a commit to its parents."""

    history: History
    reader: ObjectReader
    cancellation: Cancellation
    rows: list[DefinitionChange] = field(default_factory=list)
    parsed: int = 0
    _texts: dict[tuple[bytes, str], list[DefinitionText]] = field(default_factory=dict)

    def run(self, tip: int, version: DefinitionVersion) -> None:
        """Add the changes of a definition, which the commit `tip` has as `version`, to `rows`."""
        commits, pending = self.history.commits, {tip: {version}}
        starts, parents = commits.parent_starts, commits.parents
        for commit in range(tip, -1, -1):
            if commit % _CHECK_EVERY == 0:
                self.cancellation.check()
            current = pending.pop(commit, None)
            if current is None:
                continue
            before = {earlier for definition in current for earlier in self._before(commit, definition)}
            for parent in parents[starts[commit] : starts[commit + 1]].tolist():
                if parent >= 0 and before:
                    pending.setdefault(parent, set()).update(before)

    def _before(self, commit: int, definition: DefinitionVersion) -> list[DefinitionVersion]:
        """Where the definition was before a commit; nothing where the commit brought it."""
        changes = self.history.changes
        first, end = self.history.commits.change_starts[commit : commit + 2].tolist()
        index = np.flatnonzero(changes.path[first:end] == definition.path)
        if not len(index):
            return [definition]
        change = first + int(index[-1])
        new = self._read(changes.new_blob[change].tobytes())
        if definition.text not in new:
            # A merge after this commit changed the text: it goes on as this commit has it.
            current = self._find(new, definition.path, definition.name)
            if current is None:
                return []
            definition = DefinitionVersion(definition.path, current.name, current.kind, current.text)
        row = self._change(commit, change, definition, new)
        if row.status != "unchanged":
            self.rows.append(row)
        return [] if row.before is None or self.parsed > MAX_PARSED else [row.before]

    def _change(self, commit: int, change: int, definition: DefinitionVersion, new: bytes) -> DefinitionChange:
        """What a commit did to the definition, which the content `new` has after it."""
        changes = self.history.changes
        old_path, is_renamed = int(changes.old_path[change]), changes.status[change] == _RENAMED
        old = self._read(changes.old_blob[change].tobytes())
        line = new.count(b"\n", 0, new.find(definition.text)) + 1
        # A text that occurs as often before is the same one, wherever it stands in the file.
        earlier = None
        is_same = old.count(definition.text) >= new.count(definition.text)
        if is_renamed or not is_same:
            definition = self._renamed_with_its_class(definition, new)
        if not is_same:
            earlier = self._find(old, old_path, definition.name)
            is_same = earlier is not None and earlier.text == definition.text
        if is_same:
            same = DefinitionVersion(old_path, definition.name, definition.kind, definition.text)
            return DefinitionChange(commit, "file renamed" if is_renamed else "unchanged", definition, same, line)
        if earlier is not None:
            before = DefinitionVersion(old_path, earlier.name, earlier.kind, earlier.text)
            if not is_renamed:
                return DefinitionChange(commit, "modified", definition, before, line)
            # The commit renamed the file and changed the text: a status that says only the latter would hide the move.
            share = likeness(definition.text, before.text)
            return DefinitionChange(commit, "moved", definition, before, line, share)
        score, origin = self._origin(commit, definition, old, new, old_path)
        if origin is None:
            return DefinitionChange(commit, "added", definition, None, line)
        return DefinitionChange(
            commit, "renamed" if origin.path == old_path else "moved", definition, origin, line, score
        )

    def _renamed_with_its_class(self, definition: DefinitionVersion, new: bytes) -> DefinitionVersion:
        """Return a definition under the name that the content `new` has for its text.

        A later commit may have renamed the class around it, or what it is in, and left the text as it was.
        """
        if self._find(new, definition.path, definition.name) is not None:
            return definition
        texts = (row for row in self._parse(new, definition.path) if row.text == definition.text)
        match = next((row for row in texts if row.kind == definition.kind), None)
        return definition if match is None else replace(definition, name=match.name)

    def _origin(
        self, commit: int, definition: DefinitionVersion, old: bytes, new: bytes, old_path: int
    ) -> tuple[int, DefinitionVersion | None]:
        """The definition that a commit made into this one, and how alike both are."""
        candidates = [
            (old_path, lost_definition)
            for lost_definition in self._lost_definitions(old, new, old_path, definition.path)
            if lost_definition.kind == definition.kind
        ]
        candidates += self._elsewhere(commit, definition)
        scored = [
            (likeness(definition.text, lost_definition.text), path, lost_definition)
            for path, lost_definition in candidates
        ]
        likely = [entry for entry in scored if entry[0] >= _MIN_LIKENESS]
        if not likely:
            return 0, None
        # The most alike; of equals, the one with the same name, then the first path.
        score, path, best = max(likely, key=lambda entry: (entry[0], entry[2].name == definition.name, -entry[1]))
        return score, DefinitionVersion(path, best.name, best.kind, best.text)

    def _lost_definitions(self, old: bytes, new: bytes, old_path: int, path: int) -> list[DefinitionText]:
        """Definitions that a file had and has no more."""
        remaining = {definition.name for definition in self._parse(new, path)}
        return [definition for definition in self._parse(old, old_path) if definition.name not in remaining]

    def _elsewhere(self, commit: int, definition: DefinitionVersion) -> list[tuple[int, DefinitionText]]:
        """Definitions of the same name that other files lost in the commit."""
        changes = self.history.changes
        first, end = self.history.commits.change_starts[commit : commit + 2].tolist()
        own_name = definition.name.rpartition(".")[2]
        word = own_name.encode("utf-8", "surrogateescape")
        candidates: list[tuple[int, DefinitionText]] = []
        parsed = 0
        for change in range(first, end):
            path, blob = int(changes.old_path[change]), changes.old_blob[change].tobytes()
            if changes.path[change] == definition.path or blob == NO_BLOB or parsed >= _MAX_CANDIDATES:
                continue
            old = self._read(blob)
            if word not in old:
                continue
            parsed += 1
            new = self._read(changes.new_blob[change].tobytes())
            lost_definitions = self._lost_definitions(old, new, path, int(changes.path[change]))
            candidates += [(path, candidate) for candidate in lost_definitions if candidate.own_name == own_name]
        return candidates

    def _find(self, data: bytes, path: int, name: str) -> DefinitionText | None:
        return next((candidate for candidate in self._parse(data, path) if candidate.name == name), None)

    def _parse(self, data: bytes, path: int) -> list[DefinitionText]:
        language = language_of(self.history.paths.text(path))
        if language not in LANGUAGES or not data:
            return []
        key = data, language
        if key not in self._texts:
            self.cancellation.check()
            if len(self._texts) >= _MAX_TEXTS:
                self._texts.pop(next(iter(self._texts)))
            self.parsed += 1
            self._texts[key] = list(definition_texts(language, data))
        return self._texts[key]

    def _read(self, blob: bytes) -> bytes:
        return (self.reader.read(blob, MAX_BYTES) or b"") if blob != NO_BLOB else b""
