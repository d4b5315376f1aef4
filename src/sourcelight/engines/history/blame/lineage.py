"""Where each state of each file comes from: which commit changed which former state, contents not yet looked at.

What merges did to files, compared with their first parents: stored histories have no changes of merges.

Whose lines a commit's files are made of.
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


@dataclass(frozen=True, slots=True)
class MergeChange:
    """A file that a merge has otherwise than its first parent; `blob` is None when the merge has not got it."""

    path: bytes
    blob: bytes | None


def merge_changes(
    git_dir: str, merges: Sequence[str], cancellation: Cancellation | None = None
) -> Iterator[tuple[str, list[MergeChange]]]:
    """Yield each of `merges` (40 hex digits), in order, with the files that differ from its first parent.

    Links and submodules count as absent. Raises `GitFailed` when folders are missing, `TooManyChanges` when all merges
    together changed more than can be, and `Cancelled`.
    """
    arguments = ["diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff",
                 "--diff-merges=first-parent", "--always", "--format=%x01%H"]  # fmt: skip
    stdin = "".join(f"{merge}\n" for merge in merges).encode()
    if not stdin:
        return
    merge, changes = "", list[MergeChange]()
    fields = _fields(git_chunks(git_dir, arguments, stdin=stdin, cancellation=cancellation))
    limit = ChangeLimit(git_dir)
    for record in fields:
        record = record.lstrip(b"\n")  # noqa: PLW2901 - git ends a commit's head with a newline before the first record
        if record.startswith(_MARK):
            if merge:
                yield merge, changes
            merge, changes = record[1:41].decode(), []
        elif record.startswith(b":"):
            mode, blob = record[8:14], record[56:96]
            path = next(fields)
            limit.add(1, len(path))
            is_file = mode[:3] == b"100"
            changes.append(MergeChange(path, bytes.fromhex(blob.decode()) if is_file else None))
    if merge:
        yield merge, changes


def _fields(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole
    if rest:
        yield rest


Step: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class OwnedFile:
    """A file: its content (20 bytes), for each line the number of the commit that brought it, and whether proven.

    `step` names what last happened to the file (see `lineage.Lineage.step`), so that a later replay can go on from
    there; None where its lines are not known that way.
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
        Whether git compared all contents anew, so that another replay would prove no more files.
    origins
        What git told of new names, see `renames.ask_origins`: a later replay need not ask again.
    """

    commit: str
    files: Mapping[bytes, OwnedFile]
    left_out: int
    thorough: bool = False
    origins: Mapping[int, int | None] = field(default_factory=dict)

    @property
    def inexact(self) -> list[bytes]:
        """Files of which it is not proven that git blame says the same."""
        return [path for path, file in self.files.items() if not file.exact]


_FILE = 0o100000
_KINDS = 0o170000
_CHECK_EVERY = 200
_COUNT_EVERY = 20

MAX_ENTRIES = 4_000_000
"""Files of all branches that are followed at once: 40 bytes each. A fork copies them, however few it changes."""

ENTRIES_PER_OBJECT = 10
"""Entries beyond, for each object that the repository stores."""

NEW, EDITED, MIXED, UNKNOWN_LINES, MOVED = range(5)
"""Kinds of states: all lines new; a former state edited; made of others, most by a merge; not known; taken whole."""

State = dict[int, int]


@dataclass(slots=True)
class Lineage:
    """States of files, numbered so that those that one is made of come before it.

    Attributes
    ----------
    kind, blob, commit
        What happened, to which content it led (20 bytes), and in which commit.
    change
        Number of the change of an edited state; number of lines of a new one; of those made of others, a checksum of
        the path.
    sources
        The states that it is made of, in the order in which lines are looked for.
    proven
        Whether this step is one that git blame is known to take too.
    last
        States at the end, by number of path.
    numbers, names
        Paths by number, and numbers of paths.
    origins
        What git told of new names, see `renames.ask_origins`.
    """

    kind: list[int] = field(default_factory=list)
    blob: list[bytes] = field(default_factory=list)
    commit: list[int] = field(default_factory=list)
    change: list[int] = field(default_factory=list)
    sources: list[tuple[int, ...]] = field(default_factory=list)
    proven: list[bool] = field(default_factory=list)
    last: State = field(default_factory=dict)
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
        """Add a state and give its number."""
        self.kind.append(kind)
        self.blob.append(blob)
        self.commit.append(commit)
        self.change.append(change)
        self.sources.append(sources)
        self.proven.append(proven)
        return len(self.kind) - 1

    def step(self, state: int) -> Step:
        """What happened, as long as segments are only added to the history: with the content, it tells the lines."""
        return self.kind[state], self.commit[state], self.change[state]

    def number(self, path: bytes) -> int:
        """The number of a path."""
        found = self.numbers.get(path)
        if found is None:
            found = self.numbers[path] = len(self.names)
            self.names.append(path)
        return found


def trace(
    history: History,
    repository: Repository,
    commit: str,
    cancellation: Cancellation | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    origins: Mapping[int, int | None] | None = None,
) -> Lineage:
    """Follow all files from the first commits to `commit`; of new names that `origins` does not tell of, git is asked.

    Raises KeyError for a commit that the history does not hold, `RepositoryError` for branches with very many files,
    and `Cancelled`.
    """
    unsure = find_unsure(history, history.reachable(commit))
    origins = ask_origins(history, repository, unsure, origins or {}, cancellation)
    return _Tracing(history, repository, unsure, origins, cancellation).run(commit, progress)


class _Tracing:
    """One run; what a branch holds is passed on from commit to child, and copied where branches fork."""

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
        self._made = Lineage(numbers=dict(history.paths.numbers), names=list(history.paths), origins=origins)
        self._pairs: tuple[int, list[dict[bytes, FileChange]]] = -1, []

    def run(self, commit: str, progress: Callable[[int, int], None] | None) -> Lineage:
        commits = self._history.commits
        chosen = np.flatnonzero(self._history.reachable(commit)).tolist()
        parents = _lists(commits.parent_starts, commits.parents, chosen)
        waiting: dict[int, int] = {}
        for of in parents.values():
            for parent in of:
                waiting[parent] = waiting.get(parent, 0) + 1
        merges = self._merges([number for number in chosen if len(parents[number]) > 1])
        unread = commits.unread
        states: dict[int, State] = {}
        room = MAX_ENTRIES + ENTRIES_PER_OBJECT * store_size(self._repository.git_dir).objects
        for done, number in enumerate(chosen):
            if done % _CHECK_EVERY == 0:
                if self._cancellation is not None:
                    self._cancellation.check()
                if progress is not None:
                    progress(done, len(chosen))
            if done % _COUNT_EVERY == 0 and sum(map(len, states.values())) > room:
                raise RepositoryError(
                    f"{self._repository.name} has {len(states):,} branches side by side with more than {room:,} files "
                    "together; who owns their lines is not worked out"
                )
            known = [parent for parent in parents[number] if parent >= 0]
            state = _taken(states, known, waiting)
            if len(parents[number]) > 1:
                found = next(merges, None)
                if found is not None and known:
                    others = [states.get(parent, {}) for parent in known[1:]]
                    self._merge(state, others, number, known, found[1])
            else:
                self._change(state, number, proven=not unread[number])
            for parent in known[1:]:
                _release(states, parent, waiting)
            states[number] = state
        self._made.last = states[chosen[-1]]
        return self._made

    def _merges(self, numbers: list[int]) -> Iterator[tuple[str, list[MergeChange]]]:
        names = [self._history.oid(number) for number in numbers]
        try:
            yield from merge_changes(self._repository.git_dir, names, self._cancellation)
        except (GitFailed, TooManyChanges):  # folders are missing, or too many: such files do not add up at the end
            return

    def _change(self, state: State, number: int, *, proven: bool) -> None:
        """What an ordinary commit did."""
        changes = self._history.changes
        low, high = self._history.commits.change_starts[number : number + 2].tolist()
        gone: list[int] = []
        after: State = {}
        columns = zip(
            range(low, high),
            changes.path[low:high].tolist(),
            changes.old_path[low:high].tolist(),
            changes.status[low:high].tobytes().decode("ascii"),
            (changes.new_mode[low:high] & _KINDS).tolist(),
            changes.additions[low:high].tolist(),
            changes.binary[low:high].tolist(),
            strict=True,
        )
        made = self._made
        add = made.add
        unsure, origin = self._unsure, made.origins
        for at, path, old_path, status, kind, additions, binary in columns:
            if status in "DR":
                gone.append(old_path)
            if status == "D" or kind != _FILE:
                gone.append(path)
                continue
            blob = changes.new_blob[at].tobytes()
            source = state.get(old_path)
            sure = proven and (at not in unsure or at in origin)
            followed = origin.get(at)
            if binary or additions == UNKNOWN:
                after[path] = add(UNKNOWN_LINES, blob, number)
            elif followed is not None and (status != "R" or followed != old_path):
                source = state.get(followed)
                sources = () if source is None else (source,)
                after[path] = add(MIXED, blob, number, crc32(made.names[path]), sources, proven=sure and bool(sources))
            elif status in "AT":
                after[path] = add(NEW, blob, number, additions, proven=sure)
            elif source is None:
                after[path] = add(UNKNOWN_LINES, blob, number)
            else:
                after[path] = add(
                    EDITED, blob, number, at, (source,), proven=sure and not (at in origin and followed is None)
                )
        for path in gone:
            state.pop(path, None)
        state.update(after)

    def _merge(
        self, state: State, others: list[State], number: int, parents: list[int], found: Sequence[MergeChange]
    ) -> None:
        """What a merge has otherwise than its first parent: taken from another one, or made of several."""
        made = self._made
        after: State = {}
        for change in found:
            path = made.number(change.path)
            if change.blob is None:
                continue
            candidates = [each.get(path) for each in (state, *others)]
            blobs = [at for at in candidates if at is not None]
            same = next((at for at in blobs if made.blob[at] == change.blob), None)
            if same is not None:
                after[path] = same
            elif len(blobs) == len(candidates):
                after[path] = made.add(MIXED, change.blob, number, crc32(change.path), tuple(blobs))
            else:
                after[path] = self._moved(change, [state, *others], number, parents)
        for change in found:
            state.pop(made.numbers[change.path], None)
        state.update(after)

    def _moved(self, change: MergeChange, states: Sequence[State], number: int, parents: list[int]) -> int:
        """A file that some parent has not got under its name: git's pairing of renames tells where it was there.

        Never proven.
        """
        made = self._made
        assert change.blob is not None  # noqa: S101 - narrows for the type checker
        path = made.number(change.path)
        sources = []
        for pairs, of in zip(self._renames(number, parents), states, strict=False):
            source = of.get(path)
            if source is None and (pair := pairs.get(change.path)) is not None:
                source = of.get(made.number(pair.old_path))
            if source is not None:
                sources.append(source)
        same = next((at for at in sources if made.blob[at] == change.blob), None)
        if same is not None:
            return made.add(MOVED, change.blob, number, crc32(change.path), (same,), proven=False)
        return made.add(MIXED, change.blob, number, crc32(change.path), tuple(sources), proven=False)

    def _renames(self, number: int, parents: list[int]) -> list[dict[bytes, FileChange]]:
        """For each parent, the files that the merge has under another name."""
        if self._pairs[0] != number:
            trees = self._history.commits.tree
            found: list[dict[bytes, FileChange]] = []
            for parent in parents:
                base, head = (trees[at].tobytes().hex() for at in (parent, number))
                try:
                    changes, _ = list_changes(self._repository.git_dir, base, head, self._cancellation)
                except (GitFailed, TooManyChanges):
                    changes = ()
                found.append({change.path: change for change in changes if change.status == "renamed"})
            self._pairs = number, found
        return self._pairs[1]


def _taken(states: dict[int, State], known: list[int], waiting: dict[int, int]) -> State:
    """The state of the first parent, for its child to change; copied when other children need it too."""
    if not known:
        return {}
    first = known[0]
    waiting[first] -= 1
    if waiting[first] <= 0:
        return states.pop(first, {})
    return dict(states.get(first, {}))


def _release(states: dict[int, State], parent: int, waiting: dict[int, int]) -> None:
    waiting[parent] -= 1
    if waiting[parent] <= 0:
        states.pop(parent, None)


def _lists(starts: Any, values: Any, chosen: list[int]) -> Mapping[int, list[int]]:
    """For each of the chosen ones its values."""
    bounds, flat = starts.tolist(), values.tolist()
    return {at: flat[bounds[at] : bounds[at + 1]] for at in chosen}
