"""The lineage of files: which commit made each state of a file from which earlier states, without reading contents.

A *state* is a file as one commit left it. For a file that was added, edited on two branches, renamed on one and merged,
the states are::

    state  kind    commit   sources
    0      NEW     added
    1      EDITED  left     0
    2      EDITED  right    0         a rename with an edit
    3      MIXED   merge    1, 2

Stored histories have no changes of merges, so `merge_changes` reads what each merge changed against its first parent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed, RepositoryError
from sourcelight.engines.history.blame.renames import ask_origins, find_unsure
from sourcelight.engines.history.compare.changes import ChangeLimit, FileChange, TooManyChanges, list_changes
from sourcelight.engines.history.git import git_chunks
from sourcelight.engines.history.history import UNKNOWN, History
from sourcelight.repos import Repository
from sourcelight.repos.objects import store_size

_MARK = b"\1"
"""First byte of the line before the changes of a merge."""

_FILE = 0o100000
"""Bits of a mode that say a regular file; a link or a submodule has others."""

_KINDS = 0o170000
"""Mask of these bits."""

_CHECK_EVERY = 200
"""Commits between two checks for cancellation, and reports of progress."""

_COUNT_EVERY = 20
"""Commits between two counts of the entries: a count looks at each branch, a fork takes one commit."""

MAX_ENTRIES = 4_000_000
"""Files of all branches that are followed at once: 40 bytes each. A fork copies them, however few it changes."""

ENTRIES_PER_OBJECT = 10
"""Entries beyond, for each object that the repository stores."""

NEW, EDITED, MIXED, UNKNOWN_LINES, MOVED = range(5)
"""Kinds of states: all lines are new; an earlier state was edited; several were mixed, mostly by a merge; the lines are
unknown; a state was taken over whole, such as by a rename."""


@dataclass(frozen=True, slots=True)
class MergeChange:
    """A file that differs between a merge and its first parent; `blob` is None if the merge lacks it."""

    path: bytes
    blob: bytes | None


def merge_changes(
    git_dir: str, merges: Sequence[str], cancellation: Cancellation | None = None
) -> Iterator[tuple[str, list[MergeChange]]]:
    """Yield each of `merges` (40 hex digits), in order, with the files that differ from its first parent.

    Links and submodules count as absent. Raises `GitFailed` when folders are missing, `TooManyChanges` when all merges
    together changed more than can be, and `Cancelled`.
    """
    if not merges:
        return

    # The fields of this output end with NUL. One merge, with a changed file:
    #     \x01c0ffee…
    #     \n:100644 100644 1f4c… 9e2d… M
    #     src/retry.py
    arguments = ["diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff",
                 "--diff-merges=first-parent", "--always", "--format=%x01%H"]  # fmt: skip
    stdin = "".join(f"{merge}\n" for merge in merges).encode()
    merge = ""
    changes: list[MergeChange] = []
    fields = _fields(git_chunks(git_dir, arguments, stdin=stdin, cancellation=cancellation))
    limit = ChangeLimit(git_dir)
    for record in fields:
        record = record.lstrip(b"\n")  # noqa: PLW2901 - git ends a commit's head with a newline before the first record
        if record.startswith(_MARK):
            if merge:
                yield merge, changes
            merge = record[1:41].decode()
            changes = []
        elif record.startswith(b":"):
            mode = record[8:14]
            blob: bytes | None = bytes.fromhex(record[56:96].decode())
            path = next(fields)
            limit.add(1, len(path))
            # 100644 and 100755 are files (git's manual, gitformat-index). A link (120000) and a submodule (160000) have
            # no lines that belong to a commit of this repository.
            if not mode.startswith(b"100"):
                blob = None
            changes.append(MergeChange(path, blob))

    if merge:
        yield merge, changes


def _fields(chunks: Iterable[bytes]) -> Iterator[bytes]:
    # A chunk of git's output ends anywhere, so the last field waits for the next chunk. Whole fields only leave here: a
    # path split in two would become two records.
    remaining = b""
    for chunk in chunks:
        *complete, remaining = (remaining + chunk).split(b"\0")
        yield from complete
    if remaining:
        yield remaining


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
    return _Tracing(history, repository, unsure, origins, cancellation).run(commit, progress)


class _Tracing:
    """One run; a branch's state passes from commit to child, and is copied where branches fork."""

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
        unread = commits.unread
        states: dict[int, State] = {}
        max_entries = MAX_ENTRIES + ENTRIES_PER_OBJECT * store_size(self._repository.git_dir).objects
        for done, number in enumerate(commit_numbers):
            if done % _CHECK_EVERY == 0:
                if self._cancellation is not None:
                    self._cancellation.check()
                if progress is not None:
                    progress(done, len(commit_numbers))

            if done % _COUNT_EVERY == 0 and sum(map(len, states.values())) > max_entries:
                raise RepositoryError(
                    f"{self._repository.name} has {len(states):,} parallel branches with more than {max_entries:,} "
                    "files together; their line ownership is not computed"
                )

            known_parents = [parent for parent in parents[number] if parent >= 0]
            # Commits are numbered parents before children, so the states of all parents are there.
            state = _take_state(states, known_parents, pending_children)
            if len(parents[number]) > 1:
                merge = next(merges, None)
                # git lists merges in the requested order, which is the order of this loop.
                if merge is not None and known_parents:
                    _, merged_changes = merge
                    other_states = [states.get(parent, {}) for parent in known_parents[1:]]
                    self._merge(state, other_states, number, known_parents, merged_changes)
            else:
                self._change(state, number, proven=not unread[number])

            for parent in known_parents[1:]:
                _release_state(states, parent, pending_children)

            states[number] = state

        # Commits are in topological order and all are ancestors of the requested one, so it is the last.
        self._lineage.final_states = states[commit_numbers[-1]]
        return self._lineage

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
        lineage = self._lineage
        add = lineage.add
        unsure, origins = self._unsure, lineage.origins
        new_blobs = self._history.changes.new_blob
        for change, path, old_path, status, file_type, additions, binary in self._changes_of(number):
            # A rename removes its old path; a copy (C) leaves it in place.
            if status in "DR":
                removed_paths.append(old_path)

            if status == "D" or file_type != _FILE:
                removed_paths.append(path)
                continue

            blob = new_blobs[change].tobytes()
            source = state.get(old_path)

            # Blame may follow another file than the stored rename, unless git was asked or there is only one candidate.
            is_proven = proven and (change not in unsure or change in origins)
            followed_path = origins.get(change)

            # A binary content has no lines; a missing one has an unknown number of them.
            if binary or additions == UNKNOWN:
                new_states[path] = add(UNKNOWN_LINES, blob, number)
            elif followed_path is not None and (status != "R" or followed_path != old_path):
                source = state.get(followed_path)
                sources = () if source is None else (source,)
                new_states[path] = add(
                    MIXED, blob, number, crc32(lineage.names[path]), sources, proven=is_proven and bool(sources)
                )
            elif status in "AT":
                new_states[path] = add(NEW, blob, number, additions, proven=is_proven)
            elif source is None:
                new_states[path] = add(UNKNOWN_LINES, blob, number)
            else:
                new_states[path] = add(
                    EDITED,
                    blob,
                    number,
                    change,
                    (source,),
                    proven=is_proven and not (change in origins and followed_path is None),
                )

        # All sources were read above: paths are removed and set only now, so a swap of two names in one commit works.
        for path in removed_paths:
            state.pop(path, None)

        state.update(new_states)

    def _changes_of(self, number: int) -> Iterator[tuple[int, int, int, str, int, int, bool]]:
        """Return the changes of a commit: number, paths, status, file type, added lines, and whether it is binary."""
        changes = self._history.changes
        start, end = self._history.commits.change_starts[number : number + 2].tolist()

        # Converted as whole slices: reading numpy arrays item by item takes several times as long.
        return zip(
            range(start, end),
            changes.path[start:end].tolist(),
            changes.old_path[start:end].tolist(),
            changes.status[start:end].tobytes().decode("ascii"),
            (changes.new_mode[start:end] & _KINDS).tolist(),
            changes.additions[start:end].tolist(),
            changes.binary[start:end].tolist(),
            strict=True,
        )

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

            candidates = [branch_state.get(path) for branch_state in (state, *other_states)]
            blobs = [candidate for candidate in candidates if candidate is not None]

            # A parent that has the same content passes on all its lines; blame doesn't look at other parents then.
            same = self._state_with(change.blob, blobs)
            if same is not None:
                new_states[path] = same
            elif len(blobs) == len(candidates):
                new_states[path] = lineage.add(MIXED, change.blob, number, crc32(change.path), tuple(blobs))
            else:
                new_states[path] = self._add_moved(change, [state, *other_states], number, parents)

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
