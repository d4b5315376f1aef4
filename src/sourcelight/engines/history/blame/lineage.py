"""The lineage of files: which commit made each state of a file from which earlier states, without reading contents.

A *state* is a file as one commit left it. For a file that was added, edited on two branches, renamed on one and merged,
the states are::

    state  kind    commit   sources
    0      NEW     added
    1      EDITED  left     0
    2      EDITED  right    0         a rename with an edit
    3      MIXED   merge    1, 2

`trace` replays a history, from its first commits to the requested one: each changed file gets a new state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed, RepositoryError
from sourcelight.engines.history.blame.merge_changes import MergeChange, merge_changes
from sourcelight.engines.history.blame.renames import ask_origins, find_unsure
from sourcelight.engines.history.compare.changes import FileChange, TooManyChanges, list_changes
from sourcelight.engines.history.history import UNKNOWN, History
from sourcelight.repos import Repository
from sourcelight.repos.objects import store_size

_TYPE_BITS = 0o170000
"""Bits of a mode that are the type of an entry."""

_FILE_TYPE = 0o100000
"""These bits of a file; a link or a submodule has others."""

_CHECK_EVERY = 200
"""Commits between two checks for cancellation, and reports of progress."""

_COUNT_EVERY = 20
"""Commits between two counts of the entries: a count looks at each branch, a fork takes one commit."""

MAX_ENTRIES = 4_000_000
"""Files of all branches that are followed at once: 40 bytes each. A fork copies them, however few it changes."""

ENTRIES_PER_OBJECT = 10
"""Entries beyond, for each object that the repository stores."""

NEW, EDITED, MIXED, UNKNOWN_LINES, MOVED = range(5)
"""Kinds of states.

``NEW``: all lines are new. ``EDITED``: a change of an earlier state. ``MIXED``: made of several states, mostly by a
merge. ``UNKNOWN_LINES``: binary, or without known lines. ``MOVED``: a state under another name.
"""


Step: TypeAlias = tuple[int, int, int]
"""The kind of a state, the number of its commit, and that of its change, see `Lineage`."""


@dataclass(frozen=True, slots=True)
class OwnedFile:
    """A file: its content (20 bytes), for each line the number of the commit that brought it, and whether proven.

    `step` names what last happened to the file (see `lineage.Lineage.step`), so that a later replay can continue from
    there; None if its lines are not known that way.
    """

    blob: bytes
    lines: NDArray[np.int32]
    exact: bool
    step: Step | None = None


@dataclass(frozen=True, slots=True)
class Ownership:
    """Every text file of a commit, and where its lines come from.

    Attributes
    ----------
    commit
        40 hex digits.
    files
        By path. Binary files, links and submodules are not among them.
    left_out
        How many files are not, because they are binary or their content is missing.
    thorough
        Whether git compared all contents again, so that another replay would prove no more files.
    origins
        Origins of renamed files from `renames.ask_origins`, so that a later replay need not ask git again.
    """

    commit: str
    files: Mapping[bytes, OwnedFile]
    left_out: int
    thorough: bool = False
    origins: Mapping[int, int | None] = field(default_factory=dict)

    @property
    def inexact(self) -> list[bytes]:
        """Files for which equality with git blame isn't proven."""
        return [path for path, file in self.files.items() if not file.exact]


State = dict[int, int]


@dataclass(slots=True)
class Lineage:
    """States of files, numbered so that the sources of a state come before it.

    Attributes
    ----------
    kind, blob, commit
        What happened, to which content it led (20 bytes), and in which commit.
    change
        Number of the change of an edited state; number of lines of a new one; of those made of others, a checksum of
        the path.
    sources
        The states that it is made of, in the order in which lines are searched for.
    proven
        Whether git blame is known to take this step, too.
    final_states
        States at the end, by number of path.
    numbers, names
        Paths by number, and numbers of paths.
    origins
        Origins of renamed files, see `renames.ask_origins`.
    """

    kind: list[int] = field(default_factory=list)
    blob: list[bytes] = field(default_factory=list)
    commit: list[int] = field(default_factory=list)
    change: list[int] = field(default_factory=list)
    sources: list[tuple[int, ...]] = field(default_factory=list)
    proven: list[bool] = field(default_factory=list)
    final_states: State = field(default_factory=dict)
    numbers: dict[bytes, int] = field(default_factory=dict)
    names: list[bytes] = field(default_factory=list)
    origins: Mapping[int, int | None] = field(default_factory=dict)

    def add(
        self,
        kind: int,
        blob: bytes,
        commit: int,
        change: int = 0,
        sources: tuple[int, ...] = (),
        proven: bool = True,  # noqa: FBT001, FBT002
    ) -> int:
        """Add a state and return its number."""
        self.kind.append(kind)
        self.blob.append(blob)
        self.commit.append(commit)
        self.change.append(change)
        self.sources.append(sources)
        self.proven.append(proven)
        return len(self.kind) - 1

    def step(self, state: int) -> Step:
        """Return the key of a state. With the content it determines the lines, as long as segments are only added."""
        return self.kind[state], self.commit[state], self.change[state]

    def number(self, path: bytes) -> int:
        """Return the number of a path; a new path gets the next one."""
        number = self.numbers.get(path)
        if number is None:
            number = self.numbers[path] = len(self.names)
            self.names.append(path)
        return number


def trace(
    history: History,
    repository: Repository,
    commit: str,
    cancellation: Cancellation | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    origins: Mapping[int, int | None] | None = None,
) -> Lineage:
    """Follow all files from the first commits to `commit`; ask git for origins of renames that `origins` lacks.

    Raises KeyError for a commit that the history does not hold, `RepositoryError` for branches with very many files,
    and `Cancelled`.
    """
    unsure = find_unsure(history, history.reachable(commit))
    origins = ask_origins(history, repository, unsure, origins or {}, cancellation)
    return _Replay(history, repository, unsure, origins, cancellation).run(commit, progress)


class _StoredChange(NamedTuple):
    """A change of a file by a commit that isn't a merge, with paths by number."""

    number: int
    path: int
    old_path: int
    status: str
    file_type: int
    added_lines: int
    is_binary: bool


class _Replay:
    """One replay; a branch's state passes from commit to child, and is copied where branches fork."""

    def __init__(
        self,
        history: History,
        repository: Repository,
        unsure: frozenset[int],
        origins: Mapping[int, int | None],
        cancellation: Cancellation | None,
    ) -> None:
        self._history = history
        self._repository = repository
        self._unsure = unsure
        self._cancellation = cancellation
        self._lineage = Lineage(numbers=dict(history.paths.numbers), names=list(history.paths), origins=origins)
        self._compared_merge = -1
        self._merge_renames: list[dict[bytes, FileChange]] = []

    def run(self, commit: str, progress: Callable[[int, int], None] | None) -> Lineage:
        commits = self._history.commits
        commit_numbers = np.flatnonzero(self._history.reachable(commit)).tolist()
        parents = _lists_of(commits.parent_starts, commits.parents, commit_numbers)

        # The state of a commit is needed until its last child has taken it; this counts the children left.
        pending_children: dict[int, int] = {}
        for commit_parents in parents.values():
            for parent in commit_parents:
                pending_children[parent] = pending_children.get(parent, 0) + 1

        merges = self._merges([number for number in commit_numbers if len(parents[number]) > 1])
        states: dict[int, State] = {}
        max_entries = MAX_ENTRIES + ENTRIES_PER_OBJECT * store_size(self._repository.git_dir).objects
        for done, number in enumerate(commit_numbers):
            if done % _CHECK_EVERY == 0:
                if self._cancellation is not None:
                    self._cancellation.check()
                if progress is not None:
                    progress(done, len(commit_numbers))

            if done % _COUNT_EVERY == 0:
                self._check_entries(states, max_entries)

            known_parents = [parent for parent in parents[number] if parent >= 0]
            # Commits are numbered parents before children, so the states of all parents are there.
            state = _take_state(states, known_parents, pending_children)
            if len(parents[number]) > 1:
                # git lists merges in the requested order, which is the order of this loop.
                merge = next(merges, None)
                if merge is not None and known_parents:
                    _, merged_changes = merge
                    other_states = [states.get(parent, {}) for parent in known_parents[1:]]
                    self._merge(state, other_states, number, known_parents, merged_changes)
            else:
                self._change(state, number, proven=not commits.unread[number])

            for parent in known_parents[1:]:
                _release_state(states, parent, pending_children)

            states[number] = state

        # Commits are in topological order and all are ancestors of the requested one, so it is the last.
        self._lineage.final_states = states[commit_numbers[-1]]
        return self._lineage

    def _check_entries(self, states: Mapping[int, State], max_entries: int) -> None:
        """Raise `RepositoryError` when the branches that are followed have too many files together."""
        if sum(map(len, states.values())) > max_entries:
            raise RepositoryError(
                f"{self._repository.name} has {len(states):,} parallel branches with more than {max_entries:,} files "
                "together; their line ownership is not computed"
            )

    def _merges(self, merge_numbers: list[int]) -> Iterator[tuple[str, list[MergeChange]]]:
        merge_oids = [self._history.oid(number) for number in merge_numbers]
        try:
            yield from merge_changes(self._repository.git_dir, merge_oids, self._cancellation)
        except (GitFailed, TooManyChanges):
            # Directories are missing, or there are too many changes: such files don't add up at the end.
            return

    def _change(self, state: State, number: int, *, proven: bool) -> None:
        """Apply the changes of a commit that isn't a merge to `state`."""
        removed_paths: list[int] = []
        new_states: State = {}
        for change in self._changes_of(number):
            # A rename removes its old path; a copy (C) leaves it in place.
            if change.status in "DR":
                removed_paths.append(change.old_path)

            if change.status == "D" or change.file_type != _FILE_TYPE:
                removed_paths.append(change.path)
            else:
                new_states[change.path] = self._add_changed(change, state, number, proven=proven)

        # All sources were read above: paths are removed and set only now, so a swap of two names in one commit works.
        for path in removed_paths:
            state.pop(path, None)

        state.update(new_states)

    def _add_changed(self, change: _StoredChange, state: State, number: int, *, proven: bool) -> int:
        """Add the file that a change left, and return its state; `state` has the files before the commit."""
        lineage = self._lineage
        blob = self._history.changes.new_blob[change.number].tobytes()
        # A binary content has no lines; a missing one has an unknown number of them.
        if change.is_binary or change.added_lines == UNKNOWN:
            return lineage.add(UNKNOWN_LINES, blob, number)

        # Blame may follow another file than the stored rename, unless git was asked or there is only one candidate.
        was_asked = change.number in lineage.origins
        is_proven = proven and (was_asked or change.number not in self._unsure)
        followed_path = lineage.origins.get(change.number)
        if followed_path is not None and (change.status != "R" or followed_path != change.old_path):
            followed = state.get(followed_path)
            sources = () if followed is None else (followed,)
            checksum = crc32(lineage.names[change.path])
            return lineage.add(MIXED, blob, number, checksum, sources, proven=is_proven and bool(sources))

        if change.status in "AT":
            return lineage.add(NEW, blob, number, change.added_lines, proven=is_proven)

        source = state.get(change.old_path)
        if source is None:
            return lineage.add(UNKNOWN_LINES, blob, number)

        # If git was asked and named no file, blame takes all lines for new.
        is_followed = not was_asked or followed_path is not None
        return lineage.add(EDITED, blob, number, change.number, (source,), proven=is_proven and is_followed)

    def _changes_of(self, number: int) -> Iterator[_StoredChange]:
        changes = self._history.changes
        start, end = self._history.commits.change_starts[number : number + 2].tolist()

        # Converted as whole slices: reading numpy arrays item by item takes several times as long.
        columns = (
            range(start, end),
            changes.path[start:end].tolist(),
            changes.old_path[start:end].tolist(),
            changes.status[start:end].tobytes().decode("ascii"),
            (changes.new_mode[start:end] & _TYPE_BITS).tolist(),
            changes.additions[start:end].tolist(),
            changes.binary[start:end].tolist(),
        )
        return map(_StoredChange._make, zip(*columns, strict=True))

    def _merge(
        self,
        state: State,
        other_states: list[State],
        number: int,
        parents: list[int],
        changes: Sequence[MergeChange],
    ) -> None:
        """Apply the differences between a merge and its first parent: files of another parent, or of several."""
        lineage = self._lineage
        new_states: State = {}
        for change in changes:
            path = lineage.number(change.path)
            if change.blob is None:
                continue

            in_parents = [branch_state.get(path) for branch_state in (state, *other_states)]
            sources = [source for source in in_parents if source is not None]

            # A parent that has the same content passes on all its lines; blame doesn't look at other parents then.
            same = self._state_with(change.blob, sources)
            if same is not None:
                new_states[path] = same
            elif len(sources) == len(in_parents):
                new_states[path] = lineage.add(MIXED, change.blob, number, crc32(change.path), tuple(sources))
            else:
                new_states[path] = self._add_moved(change, [state, *other_states], number, parents)

        # As in `_change`: only now, because one file may have taken the name of another.
        for change in changes:
            state.pop(lineage.numbers[change.path], None)

        state.update(new_states)

    def _add_moved(self, change: MergeChange, states: Sequence[State], number: int, parents: list[int]) -> int:
        """Add a file that some parent lacks under its name; git's pairing of renames gives its name there.

        Never proven.
        """
        lineage = self._lineage
        assert change.blob is not None  # noqa: S101 - narrows for the type checker
        path = lineage.number(change.path)
        sources = []
        for renames, branch_state in zip(self._renames(number, parents), states, strict=False):
            source = branch_state.get(path)
            rename = renames.get(change.path)
            if source is None and rename is not None:
                source = branch_state.get(lineage.number(rename.old_path))
            if source is not None:
                sources.append(source)

        same = self._state_with(change.blob, sources)
        if same is not None:
            return lineage.add(MOVED, change.blob, number, crc32(change.path), (same,), proven=False)

        return lineage.add(MIXED, change.blob, number, crc32(change.path), tuple(sources), proven=False)

    def _state_with(self, blob: bytes, states: Sequence[int]) -> int | None:
        """Return the first of some states that has a content, or None."""
        for state in states:
            if self._lineage.blob[state] == blob:
                return state
        return None

    def _renames(self, number: int, parents: list[int]) -> list[dict[bytes, FileChange]]:
        """Return for each parent the files that the merge has under another name, by this name."""
        # A comparison of whole trees for each parent: made for the first such file of a merge, for the others too.
        if self._compared_merge != number:
            self._compared_merge = number
            self._merge_renames = [self._renames_from(parent, number) for parent in parents]
        return self._merge_renames

    def _renames_from(self, parent: int, number: int) -> dict[bytes, FileChange]:
        trees = self._history.commits.tree
        base = trees[parent].tobytes().hex()
        head = trees[number].tobytes().hex()
        try:
            changes, _ = list_changes(self._repository.git_dir, base, head, self._cancellation)
        except (GitFailed, TooManyChanges):
            return {}
        return {change.path: change for change in changes if change.status == "renamed"}


def _take_state(states: dict[int, State], known_parents: list[int], pending_children: dict[int, int]) -> State:
    """Return the state of the first parent for its child to change; a copy when other children need it too."""
    if not known_parents:
        return {}

    first_parent = known_parents[0]
    pending_children[first_parent] -= 1

    # The last child takes the dictionary itself: a linear history then never copies the state of all files.
    if pending_children[first_parent] <= 0:
        return states.pop(first_parent, {})

    return dict(states.get(first_parent, {}))


def _release_state(states: dict[int, State], parent: int, pending_children: dict[int, int]) -> None:
    pending_children[parent] -= 1
    if pending_children[parent] <= 0:
        states.pop(parent, None)


def _lists_of(starts: Any, values: Any, numbers: list[int]) -> Mapping[int, list[int]]:
    """Return the values of each of the chosen numbers."""
    offsets = starts.tolist()
    flat_values = values.tolist()
    return {number: flat_values[offsets[number] : offsets[number + 1]] for number in numbers}
