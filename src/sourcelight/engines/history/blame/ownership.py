"""Which commit brought each line of every file of a commit, by replaying stored hunks from the first commit on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.history.blame.keeping import load, newest, save
from sourcelight.engines.history.blame.lineage import MIXED, Lineage, trace
from sourcelight.engines.history.blame.mixing import MAX_FILE_BYTES, Evaluation, is_binary, line_count
from sourcelight.engines.history.blame.model import OwnedFile, Ownership
from sourcelight.engines.history.snapshot import History
from sourcelight.repos import ObjectReader, Repository

_MOST_KEPT = 8

_FEW_CHANGES = 4_000
"""Changed files of a history up to which git compares all contents anew unasked: about half a second."""


_kept: OrderedDict[tuple[str, str], Ownership] = OrderedDict()
_lock = Lock()


def own(
    history: History,
    repository: Repository,
    commit: str,
    *,
    exact: bool | None = None,
    progress: Callable[[int, int], None] | None = None,
    cancellation: Cancellation | None = None,
) -> Ownership:
    """Replay the history behind a commit; the same question is answered from memory or disk.

    Of what was kept last of another commit, files that did not change since are taken as they are, and the others go on
    from there.

    Lines are numbers of commits in `history`. A file is `exact` when all its lines are proven to be those of ``git
    blame`` without options. Stored hunks prove that of files that never had more than 1,023 bytes or were never edited,
    as those of other edits may be others than git blame's: about two changes in a thousand are. With `exact`, git
    compares all contents that the files were made of anew, without context lines as git blame does, which takes two to
    three times as long as the replay. Then those files are left whose lines passed through a rename that a merge made,
    a commit whose changes could not be read, a change that has very many others beside it, or the edge of a shallow
    clone.

    Parameters
    ----------
    history
        Has to hold `commit`.
    repository
        Where its contents are.
    commit
        40 hex digits.
    exact
        Whether to have git compare contents anew; None: if the history is small.
    progress
        Called with how much is done of how much, first of commits, then of states of files.
    cancellation
        Checked every few commits.

    Raises
    ------
    KeyError
        If the history does not hold the commit.
    Cancelled
        After ``cancellation.cancel()``.
    """
    if exact is None:
        exact = len(history.changes) <= _FEW_CHANGES
    key = repository.key, commit
    with _lock:
        kept = _kept.get(key)
        if kept is not None:
            _kept.move_to_end(key)
    made = kept if kept is not None else load(history, commit)
    if made is None or (exact and not made.thorough):
        former = None if history.shallow else made or newest(history)
        known = former.origins if former is not None else None
        lineage = trace(history, repository, commit, cancellation, progress, origins=known)
        with ObjectReader(repository) as reader:
            files = former.files.values() if former is not None else ()
            lines_of = Evaluation(lineage, history, reader, files, exact=exact)
            made = _evaluated(lines_of, lineage, history, reader, commit, cancellation, progress)
        made = replace(made, thorough=exact, origins=lineage.origins)
        # What a clone lacks may be there another time.
        if not repository.incomplete:
            save(history, made)
    with _lock:
        _kept[key] = made
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    return made


def _evaluated(
    evaluation: Evaluation,
    lineage: Lineage,
    history: History,
    reader: ObjectReader,
    commit: str,
    cancellation: Cancellation | None,
    progress: Callable[[int, int], None] | None,
) -> Ownership:
    """The files that the commit has; those whose contents or lines do not add up are not exact."""
    tree = reader.tree(commit)
    blobs = [tree.blob_ids[at : at + 20] for at in range(0, len(tree) * 20, 20)]
    states: list[int | None] = []
    for path, blob in zip(tree.paths, blobs, strict=True):
        number = lineage.numbers.get(path)
        state = None if number is None else lineage.last.get(number)
        states.append(None if state is None or lineage.blob[state] != blob else state)
    wanted = [state for state in states if state is not None]
    lines_of = evaluation.run(wanted, cancellation, progress)
    edge = _edge(history)
    own_number = history.position(commit) or 0
    files: dict[bytes, OwnedFile] = {}
    for path, blob, state in zip(tree.paths, blobs, states, strict=True):
        lines, exact = (None, False) if state is None else lines_of[state]
        if state is not None and lines is not None:
            if lineage.kind[state] == MIXED and is_binary(reader.read(blob) or b""):
                continue
            exact = exact and not (edge is not None and edge[lines].any())
            files[path] = OwnedFile(blob, lines, exact, lineage.step(state))
            continue
        data = reader.read(blob, MAX_FILE_BYTES)
        if data is not None and not is_binary(data):
            count = line_count(data)
            files[path] = OwnedFile(blob, np.full(count, own_number, np.int32), exact=count == 0)
    return Ownership(commit, files, len(tree) - len(files))


def _edge(history: History) -> NDArray[np.bool_] | None:
    """Commits whose parents may be missing, in a shallow clone."""
    if not history.shallow:
        return None
    commits = history.commits
    edge: NDArray[np.bool_] = np.zeros(len(commits), np.bool_)
    counts = np.diff(commits.parent_starts)
    owners = np.repeat(np.arange(len(commits)), counts)
    edge[owners[commits.parents < 0]] = True
    edge[counts == 0] = True
    return edge
