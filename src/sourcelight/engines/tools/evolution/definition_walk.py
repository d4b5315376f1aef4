"""Follow a definition back through its history, for `symbol_history`.

``git log -L`` follows line numbers. When a function moves to another file, it loses the function and continues in
unrelated lines. Here a commit counts if the text of the definition differs before and after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.query.languages import language_of
from sourcelight.engines.history import History
from sourcelight.engines.history.model import NO_BLOB, RENAMED
from sourcelight.engines.symbols import LANGUAGES
from sourcelight.engines.tools.evolution.definition_texts import DefinitionText, definition_texts, likeness
from sourcelight.engines.tools.evolution.file_versions import FileVersions
from sourcelight.repos import CommitFiles, ObjectReader
from sourcelight.repos.objects import FileDifference

MAX_BYTES = 1 << 20
"""Maximum bytes of a file that is read."""

MAX_PARSED = 4_000
"""Maximum number of contents that one call parses; the walk then ends with a notice."""

MAX_COMPARED = 20_000
"""Maximum number of files that are searched because a merge differs from a parent; beyond it, a notice is added."""

_MIN_LIKENESS = 50
"""Minimum percentage of lines that a definition shares with its origin: git's own threshold for renames."""

_MAX_CANDIDATES = 100
"""Maximum number of other files of one commit to parse for a moved definition."""

_MAX_TEXTS = 5
"""Contents whose definitions are cached."""

_CHECK_EVERY = 2_000
"""Commits between two looks at whether to stop."""


@dataclass(frozen=True, slots=True)
class DefinitionVersion:
    """A definition in the commits of one line of history: its file, its name and its text."""

    path: bytes
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
        old = b"" if self.before is None else self.before.text
        return count_lines(old, self.version.text)


def count_lines(old: bytes, new: bytes) -> tuple[int, int]:
    """Return the lines that a diff of two texts adds and removes."""
    import pygit2

    patch = pygit2.Patch.create_from(old, new, context_lines=0)
    _, additions, deletions = patch.line_stats
    return int(additions), int(deletions)


@dataclass(frozen=True, slots=True)
class _FileChange:
    """Another file that a commit changed, and its blobs; `NO_BLOB` on the side without the file."""

    old_path: bytes
    old_blob: bytes
    path: bytes
    blob: bytes


@dataclass(slots=True)
class DefinitionWalk:
    """Follow a definition from a commit to its parents."""

    history: History
    reader: ObjectReader
    cancellation: Cancellation
    rows: list[DefinitionChange] = field(default_factory=list)
    parsed: int = 0
    _files: CommitFiles = field(init=False)
    _texts: dict[tuple[bytes, str], list[DefinitionText]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._files = CommitFiles(self.reader, MAX_COMPARED)

    @property
    def is_cut(self) -> bool:
        """Whether merges differed from their parents in more files than may be read."""
        return self._files.is_cut

    def run(self, tip: int, version: DefinitionVersion) -> None:
        """Add the changes of a definition to `rows`; `version` is the definition at the commit `tip`."""
        starts = self.history.commits.parent_starts
        all_parents = self.history.commits.parents
        pending = {tip: {version}}
        versions = FileVersions(self.history, self._files, tip)

        # Parents have smaller numbers than their children, so a descending pass reaches a commit after its children.
        for commit in range(tip, -1, -1):
            if commit % _CHECK_EVERY == 0:
                self.cancellation.check()

            for definition in pending.pop(commit, ()):
                if self.parsed > MAX_PARSED:
                    return

                # A parent that a shallow clone lacks is -1.
                numbers = all_parents[starts[commit] : starts[commit + 1]].tolist()
                parents = [number for number in numbers if number >= 0]
                if len(parents) > 1:
                    befores = self._in_parents(commit, parents, definition, versions)
                else:
                    before: DefinitionVersion | None = definition
                    change = versions.change(commit, definition.path)
                    if change is not None:
                        before = self._before(commit, change, definition)
                    befores = [(parent, before) for parent in parents if before is not None]

                for parent, earlier in befores:
                    # A set: children with the same version share one walk. Otherwise each merge would double the work.
                    pending.setdefault(parent, set()).add(earlier)

    def _before(self, commit: int, change: int, definition: DefinitionVersion) -> DefinitionVersion | None:
        """Return the definition before a change of its file, or None if the commit added it."""
        new = self._read(self.history.changes.new_blob[change].tobytes())
        if definition.text not in new:
            # The changes of a later commit could not be read, so the walk continues with this commit's text.
            current = self._find(new, definition.path, definition)
            if current is None:
                return None
            definition = _version(definition.path, current)

        row = self._change(commit, change, definition, new)
        if row.status != "unchanged":
            self.rows.append(row)

        return row.before

    def _in_parents(
        self, merge: int, parents: list[int], definition: DefinitionVersion, files: FileVersions
    ) -> list[tuple[int, DefinitionVersion]]:
        """Return each parent of a merge with the definition as that parent has it.

        One parent may have the definition in a file, or under a name, that the other parent renamed. These are searched
        only if no parent has the same text as the merge, because the history continues in a parent with that text.
        """
        if files.is_equal_in(parents, definition.path):
            return [(parent, definition) for parent in parents]

        blob = files.blob(merge, definition.path)
        new = self._read(blob or NO_BLOB)
        if definition.text not in new:
            return [(parent, definition) for parent in parents]

        versions: list[tuple[int, DefinitionVersion]] = []
        lacking: list[int] = []
        for parent in parents:
            old_blob = files.blob(parent, definition.path)
            old = new if old_blob == blob else self._read(old_blob or NO_BLOB)
            if old.count(definition.text) >= new.count(definition.text):
                versions.append((parent, definition))
                continue

            earlier = self._find(old, definition.path, definition)
            if earlier is not None:
                versions.append((parent, _version(definition.path, earlier)))
            else:
                lacking.append(parent)

        if all(version.text != definition.text for _, version in versions):
            definition = self._renamed_with_its_class(definition, new)
            for parent in lacking:
                origin = self._origin_in(parent, merge, definition, new)
                if origin is not None:
                    versions.append((parent, origin))

        return versions

    def _origin_in(
        self, parent: int, merge: int, definition: DefinitionVersion, new: bytes
    ) -> DefinitionVersion | None:
        """Search a parent of a merge for the definition in another file or under another name."""
        oid = self.history.oid
        files = {file.path: file for file in self._files.differences(oid(merge), oid(parent))}
        old_path = self._path_in(definition.path, files)
        old_file = files.get(old_path)
        old = b""
        if old_file is not None:
            old = self._read(old_file.other_blob or NO_BLOB)
        earlier = self._find(old, old_path, definition)
        if earlier is not None:
            return _version(old_path, earlier)

        other_files = []
        for path, file in files.items():
            if path not in {old_path, definition.path}:
                other_files.append(_FileChange(path, file.other_blob or NO_BLOB, path, file.blob or NO_BLOB))
        _, origin = self._origin(definition, old, new=new, old_path=old_path, other_files=other_files)
        return origin

    def _path_in(self, path: bytes, files: Mapping[bytes, FileDifference]) -> bytes:
        """Return the path of a file in a parent, whose files differ from those of the merge by `files`."""
        difference = files.get(path)
        if difference is None or difference.other_blob is not None:
            return path

        # The parent lacks it: it may have a file that was renamed later, which the merge lacks.
        for old_path in self._old_paths(path):
            if old_path in files and files[old_path].blob is None:
                return old_path
        return path

    def _old_paths(self, path: bytes) -> Iterator[bytes]:
        """Yield the paths of files that commits renamed to a path, through any number of renames."""
        paths = self.history.paths
        changes = self.history.changes
        pending = [paths.numbers.get(path, -1)]
        seen = set(pending)
        renames = np.flatnonzero(changes.status == RENAMED)
        new_paths = changes.path[renames]
        old_paths = changes.old_path[renames]
        while pending:
            number = pending.pop()
            # Later renames first.
            for old in old_paths[new_paths == number][::-1].tolist():
                if old not in seen:
                    seen.add(old)
                    pending.append(old)
                    yield paths[old]

    def _change(self, commit: int, change: int, definition: DefinitionVersion, new: bytes) -> DefinitionChange:
        """Return a commit's change to the definition; `new` is the content of the file after the commit."""
        changes = self.history.changes
        old_path = self.history.paths[int(changes.old_path[change])]
        is_renamed = changes.status[change] == RENAMED
        old = self._read(changes.old_blob[change].tobytes())
        line = new.count(b"\n", 0, new.find(definition.text)) + 1

        # If the text occurs as often before, the definition is the same, even if it moved within the file.
        earlier = None
        is_same = old.count(definition.text) >= new.count(definition.text)
        if is_renamed or not is_same:
            definition = self._renamed_with_its_class(definition, new)

        if not is_same:
            earlier = self._find(old, old_path, definition, new)
            is_same = earlier is not None and earlier.text == definition.text

        if is_same:
            same = replace(definition, path=old_path)
            return DefinitionChange(
                commit=commit,
                status="file renamed" if is_renamed else "unchanged",
                version=definition,
                before=same,
                line=line,
            )

        if earlier is not None:
            before = _version(old_path, earlier)
            if not is_renamed:
                return DefinitionChange(commit=commit, status="modified", version=definition, before=before, line=line)
            # The commit renamed the file and changed the text: the status "modified" would hide the move.
            score = likeness(definition.text, before.text)
            return DefinitionChange(
                commit=commit, status="moved", version=definition, before=before, line=line, score=score
            )

        score, origin = self._origin(
            definition, old, new=new, old_path=old_path, other_files=self._changed_beside(commit, definition.path)
        )
        if origin is None:
            return DefinitionChange(commit=commit, status="added", version=definition, before=None, line=line)

        status = "renamed" if origin.path == old_path else "moved"
        return DefinitionChange(commit=commit, status=status, version=definition, before=origin, line=line, score=score)

    def _renamed_with_its_class(self, definition: DefinitionVersion, new: bytes) -> DefinitionVersion:
        """Return a definition under the name that its text has in the content `new`.

        A later commit may have renamed the class or namespace around it without changing the text.
        """
        if self._find(new, definition.path, definition) is not None:
            return definition
        for candidate in self._parse(new, definition.path):
            if candidate.text == definition.text and candidate.kind == definition.kind:
                return replace(definition, name=candidate.name)
        return definition

    def _origin(
        self,
        definition: DefinitionVersion,
        old: bytes,
        *,
        new: bytes,
        old_path: bytes,
        other_files: Iterable[_FileChange],
    ) -> tuple[int, DefinitionVersion | None]:
        """Find the origin of a definition in the given files; return the percentage of shared lines, and the origin."""
        lost_definitions = self._lost_definitions(old, new, old_path, definition.path)
        candidates = [(old_path, candidate) for candidate in lost_definitions if candidate.kind == definition.kind]
        candidates += self._elsewhere(definition, other_files)

        # The highest likeness wins; then the same name, then the first path.
        best: tuple[int, bool, bytes] | None = None
        origin: DefinitionVersion | None = None
        for path, candidate in candidates:
            score = likeness(definition.text, candidate.text)
            rank = (-score, candidate.name != definition.name, path)
            if score >= _MIN_LIKENESS and (best is None or rank < best):
                best = rank
                origin = _version(path, candidate)

        return (0 if best is None else -best[0]), origin

    def _lost_definitions(self, old: bytes, new: bytes, old_path: bytes, path: bytes) -> list[DefinitionText]:
        """Return the definitions that a file had and no longer has."""
        remaining = {definition.name for definition in self._parse(new, path)}
        return [definition for definition in self._parse(old, old_path) if definition.name not in remaining]

    def _changed_beside(self, commit: int, path: bytes) -> Iterator[_FileChange]:
        """Yield the files that a commit changed, except the one at `path`."""
        paths = self.history.paths
        changes = self.history.changes
        first, end = self.history.commits.change_starts[commit : commit + 2].tolist()
        for change in range(first, end):
            new_path = paths[int(changes.path[change])]
            if new_path != path:
                yield _FileChange(
                    old_path=paths[int(changes.old_path[change])],
                    old_blob=changes.old_blob[change].tobytes(),
                    path=new_path,
                    blob=changes.new_blob[change].tobytes(),
                )

    def _elsewhere(
        self, definition: DefinitionVersion, other_files: Iterable[_FileChange]
    ) -> list[tuple[bytes, DefinitionText]]:
        """Return definitions with the same name that other files no longer have."""
        own_name = definition.name.rpartition(".")[2]
        word = own_name.encode("utf-8", "surrogateescape")
        candidates: list[tuple[bytes, DefinitionText]] = []
        parsed = 0
        for file in other_files:
            if file.old_blob == NO_BLOB or parsed >= _MAX_CANDIDATES or _language(file.old_path) not in LANGUAGES:
                continue

            self.cancellation.check()
            old = self._read(file.old_blob)

            # A byte search before parsing: most files that a commit changed don't have the name.
            if word not in old:
                continue

            parsed += 1
            lost_definitions = self._lost_definitions(old, self._read(file.blob), file.old_path, file.path)
            candidates += [
                (file.old_path, candidate) for candidate in lost_definitions if candidate.own_name == own_name
            ]

        return candidates

    def _find(
        self, data: bytes, path: bytes, definition: DefinitionVersion, later: bytes = b""
    ) -> DefinitionText | None:
        """Return the definition with the same name; among overloads, the first of the most similar ones.

        An overload whose text is also in `later` is skipped: it still exists, so it is not the origin of another one.
        """
        versions = [row for row in self._parse(data, path) if row.name == definition.name]
        overloads = {row.text for row in self._parse(later, definition.path) if row.name == definition.name}
        candidates = [row for row in versions if row.text == definition.text or row.text not in overloads]
        if not candidates:
            return None
        if len(candidates) == 1:
            return candidates[0]
        return max(candidates, key=lambda candidate: likeness(definition.text, candidate.text))

    def _parse(self, data: bytes, path: bytes) -> list[DefinitionText]:
        language = _language(path)
        if language not in LANGUAGES or not data:
            return []

        key = data, language
        if key not in self._texts:
            self.cancellation.check()
            if len(self._texts) >= _MAX_TEXTS:
                # Drop the oldest. A change parses its two contents close together, and older ones rarely recur.
                self._texts.pop(next(iter(self._texts)))
            self.parsed += 1
            self._texts[key] = list(definition_texts(language, data))

        return self._texts[key]

    def _read(self, blob: bytes) -> bytes:
        """Return the content of a file; empty if it is missing or too large."""
        if blob == NO_BLOB:
            return b""
        return self.reader.read(blob, MAX_BYTES) or b""


def _version(path: bytes, definition: DefinitionText) -> DefinitionVersion:
    return DefinitionVersion(path, definition.name, definition.kind, definition.text)


def _language(path: bytes) -> str:
    return language_of(path.decode("utf-8", "replace"))
