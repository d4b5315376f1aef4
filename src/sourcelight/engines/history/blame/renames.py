"""From which file ``git blame`` follows one that a commit brought under a new name.

``git diff -M`` pairs all new files of a commit with all that went, and each of these has one successor at most. Blame
looks at one new file at a time, so two files can come from one that went, and a file from another than in the diff.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed
from sourcelight.engines.history.blame.hunks import SyntheticTrees
from sourcelight.engines.history.history import Changes, History, Mask
from sourcelight.repos import Repository

_MOST_COMPARED = 20_000
"""Pairs of a new file and one that went that are compared for one replay; git reads most of both contents."""

_RENAME_LIMIT = 1000
"""Of git, squared: above it, contents are not compared at all (``diff.renameLimit``)."""

_FOLDER = 0o40000
_NEW_FOLDER = b"~"
_LINE = re.compile(rb"^(?:([0-9a-f]{40}) [0-9a-f]{40}|:[^\t\n]* R\d+\t\"?(\d{10})/.*)$", re.MULTILINE)


def find_unsure(history: History, chosen: Mask) -> frozenset[int]:
    """Find the new files of the `chosen` commits that blame may follow otherwise than ``git diff -M``.

    Those are sure: the only new file of a commit; one taken whole from a content that one file had; and a file that no
    other was found to resemble, where contents were compared and none was taken by another new file.

    Gives numbers of changes.
    """
    changes = history.changes
    letters = {letter: changes.status == ord(letter) for letter in "ADR"}
    count = {letter: np.bincount(changes.commit[mask], minlength=len(chosen)) for letter, mask in letters.items()}
    new, gone = count["A"] + count["R"], count["D"] + count["R"]
    compared = new * gone <= _RENAME_LIMIT**2
    of = changes.commit
    added = letters["A"] & (gone[of] > 0) & ((count["R"][of] > 0) | ~compared[of])
    renamed = letters["R"] & (new[of] > 1)
    unsure = []
    for at in np.flatnonzero((added | renamed) & chosen[of]).tolist():
        if letters["R"][at] and changes.score[at] == 100:
            low, high = history.commits.change_starts[of[at] : of[at] + 2].tolist()
            same = (changes.old_blob[low:high] == changes.old_blob[at]).all(axis=1)
            if int((same & (letters["D"] | letters["R"])[low:high]).sum()) == 1:
                continue
        unsure.append(at)
    return frozenset(unsure)


def ask_origins(
    history: History,
    repository: Repository,
    unsure: frozenset[int],
    known: Mapping[int, int | None],
    cancellation: Cancellation | None = None,
) -> dict[int, int | None]:
    """Ask git about each of the `unsure` changes, as blame does: with that one new file and all that went.

    Gives for each the number of the path that blame follows, None for no file. Those in `known` are not asked again.
    Commits with very many of both are left out, and so are all when objects are missing.
    """
    changes = history.changes
    by_commit: dict[int, list[int]] = {}
    for at in sorted(unsure - known.keys()):
        by_commit.setdefault(int(changes.commit[at]), []).append(at)
    asked: list[tuple[int, list[int]]] = []
    compared: list[tuple[bytes, bytes]] = []
    room = _MOST_COMPARED
    origins = {at: known[at] for at in unsure & known.keys()}
    if not by_commit:
        return origins
    with SyntheticTrees(repository) as trees:
        for commit, of_commit in sorted(by_commit.items(), key=lambda one: len(one[1])):
            gone = _gone(history, commit)
            room -= len(gone) * len(of_commit)
            if room < 0:
                break
            old = trees.write(
                # One folder for each keeps git's order, and base names, which git looks at.
                (_FOLDER, b"%010d" % at, trees.write([(mode, _base_name(path), blob)]))
                for at, (path, mode, blob, _) in enumerate(gone)
            )
            for at in of_commit:
                entry = int(changes.new_mode[at]), _base_name(_path(history, at)), changes.new_blob[at].tobytes()
                compared.append((old, trees.write([(_FOLDER, _NEW_FOLDER, trees.write([entry]))])))
                asked.append((at, [number for *_, number in gone]))
        try:
            said = b"".join(trees.compare(compared, ("--raw", "-M"), cancellation))
        except GitFailed:
            return origins
    number = -1
    for line in _LINE.finditer(said):
        if line[1] is not None:
            number += 1
            origins[asked[number][0]] = None
        else:
            at, numbers = asked[number]
            origins[at] = numbers[int(line[2])]
    return origins


def _gone(history: History, commit: int) -> list[tuple[bytes, int, bytes, int]]:
    """Path, mode, content and number of path of each file that went in a commit, in git's order."""
    changes = history.changes
    low, high = history.commits.change_starts[commit : commit + 2].tolist()
    rows = [at for at in range(low, high) if changes.status[at] in b"DR"]
    return sorted(_old_side(history, changes, rows))


def _old_side(history: History, changes: Changes, rows: Iterable[int]) -> Iterable[tuple[bytes, int, bytes, int]]:
    for at in rows:
        number = int(changes.old_path[at])
        yield history.paths[number], int(changes.old_mode[at]), changes.old_blob[at].tobytes(), number


def _path(history: History, change: int) -> bytes:
    path: bytes = history.paths[int(history.changes.path[change])]
    return path


def _base_name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]
