"""Find the file from which ``git blame`` follows a renamed file, where that differs from ``git diff -M``.

The diff pairs all new files of a commit with all removed ones, each at most once. Blame looks at one new file at a
time, so two files can come from one removed file, and a file from another one than in the diff.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed
from sourcelight.engines.history.blame.hunks import SyntheticTrees
from sourcelight.engines.history.history import History
from sourcelight.repos import Repository

_MAX_COMPARED = 20_000
"""Maximum pairs of a new and a removed file that a replay compares; git reads most of both contents."""

_RENAME_LIMIT = 1000
"""Of git, squared: above it, contents are not compared at all (``diff.renameLimit``)."""

_DIRECTORY = 0o40000
"""The mode of a directory in git's trees."""

_NEW_DIRECTORY = b"~"
"""The directory of the new file; it sorts behind those of removed files, which are numbers."""

# The two trees of a question, or a renamed file.
_LINE = re.compile(rb"^(?:([0-9a-f]{40}) [0-9a-f]{40}|:[^\t\n]* R\d+\t\"?(\d{10})/.*)$", re.MULTILINE)


def find_unsure(history: History, commit_mask: BoolArray) -> frozenset[int]:
    """Find the new files of the `commit_mask` commits that blame may follow otherwise than ``git diff -M``.

    Those are sure: the only new file of a commit; one taken whole from a content that one file had; and a file that no
    other was found to resemble, where contents were compared and none was taken by another new file.

    Gives numbers of changes.
    """
    changes = history.changes
    commit_of_change = changes.commit
    is_added, is_deleted, is_renamed = (changes.status == ord(letter) for letter in "ADR")

    def count_by_commit(mask: BoolArray) -> Int64Array:
        return np.bincount(commit_of_change[mask], minlength=len(commit_mask))

    # A renamed file is both: a new one, and one that is no longer there under its old name.
    renamed_counts = count_by_commit(is_renamed)
    new_counts = count_by_commit(is_added) + renamed_counts
    removed_counts = count_by_commit(is_deleted) + renamed_counts

    # git skips the comparison of contents when (new files x removed files) exceeds the square of diff.renameLimit.
    is_compared = new_counts * removed_counts <= _RENAME_LIMIT**2

    # An added file is unsure when blame could still pair it: another file of the commit was renamed (and may have used
    # up its source), or git compared nothing.
    may_pair_added = (removed_counts > 0) & ((renamed_counts > 0) | ~is_compared)
    # A renamed file is unsure when another new file may have taken the source that blame would choose.
    may_pair_renamed = new_counts > 1
    candidates = (is_added & may_pair_added[commit_of_change]) | (is_renamed & may_pair_renamed[commit_of_change])
    candidates &= commit_mask[commit_of_change]
    unsure = [
        change for change in np.flatnonzero(candidates).tolist() if not _has_single_source(history, change, is_renamed)
    ]
    return frozenset(unsure)


def _has_single_source(history: History, change: int, is_renamed: BoolArray) -> bool:
    """Return whether a file was taken whole from a content that one removed file alone had."""
    changes = history.changes
    if not is_renamed[change] or changes.score[change] != 100:
        return False

    # Blame has no other file to choose if no other removed file of the commit had the content.
    commit = changes.commit[change]
    start, end = history.commits.change_starts[commit : commit + 2].tolist()
    has_content = (changes.old_blob[start:end] == changes.old_blob[change]).all(axis=1)
    is_removed = is_renamed[start:end] | (changes.status[start:end] == ord("D"))
    return int((has_content & is_removed).sum()) == 1


def ask_origins(
    history: History,
    repository: Repository,
    unsure: frozenset[int],
    known_origins: Mapping[int, int | None],
    cancellation: Cancellation | None = None,
) -> dict[int, int | None]:
    """Ask git about each of the `unsure` changes, as blame does: with that one new file and all deleted ones.

    Gives for each the number of the path that blame follows, None for no file. Those in `known_origins` are not asked
    again. Commits with very many of both are left out, and so are all when objects are missing.
    """
    origins = {change: known_origins[change] for change in unsure & known_origins.keys()}
    by_commit: dict[int, list[int]] = {}
    for change in sorted(unsure - known_origins.keys()):
        by_commit.setdefault(int(history.changes.commit[change]), []).append(change)

    if not by_commit:
        return origins

    with SyntheticTrees(repository) as trees:
        questions = _write_questions(trees, history, by_commit)
        tree_pairs = [(question.old_tree, question.new_tree) for question in questions]
        try:
            output = b"".join(trees.compare(tree_pairs, ("--raw", "-M"), cancellation))
        except GitFailed:
            return origins

    # git prints the two trees of each question, in order, and then the pair of files that it found, if any.
    position = -1
    for line in _LINE.finditer(output):
        tree_id, index_of_removed = line.groups()
        if tree_id is not None:
            position += 1
            origins[questions[position].change] = None
        else:
            question = questions[position]
            origins[question.change] = question.removed[int(index_of_removed)].path_number

    return origins


class _RemovedFile(NamedTuple):
    """A file that a commit removed or renamed; sorted by path, as git sorts them."""

    path: bytes
    mode: int
    blob: bytes
    path_number: int


class _Question(NamedTuple):
    """Two trees whose comparison tells the origin of a new file: the removed files of its commit, and it alone."""

    change: int
    removed: list[_RemovedFile]
    old_tree: bytes
    new_tree: bytes


def _write_questions(
    trees: SyntheticTrees, history: History, changes_by_commit: Mapping[int, Sequence[int]]
) -> list[_Question]:
    """Write the trees for the new files of some commits, as many as `_MAX_COMPARED` allows."""
    questions: list[_Question] = []
    remaining_pairs = _MAX_COMPARED
    # Commits with few renames first: a huge one then doesn't use up the limit for all others.
    for commit, changes in sorted(changes_by_commit.items(), key=lambda item: len(item[1])):
        removed = _removed_files(history, commit)
        remaining_pairs -= len(removed) * len(changes)
        if remaining_pairs < 0:
            break

        old_tree = trees.write(
            # A directory for each file, by its index, keeps git's order, and base names, which git looks at.
            (_DIRECTORY, b"%010d" % index, trees.write([(file.mode, _base_name(file.path), file.blob)]))
            for index, file in enumerate(removed)
        )
        for change in changes:
            mode, blob = int(history.changes.new_mode[change]), history.changes.new_blob[change].tobytes()
            # One new file a tree, as blame looks at one file at a time, in a directory without a removed file.
            new_directory = trees.write([(mode, _base_name(_path(history, change)), blob)])
            new_tree = trees.write([(_DIRECTORY, _NEW_DIRECTORY, new_directory)])
            questions.append(_Question(change, removed, old_tree, new_tree))

    return questions


def _removed_files(history: History, commit: int) -> list[_RemovedFile]:
    """Return the files that a commit removed, in git's order."""
    changes = history.changes
    start, end = history.commits.change_starts[commit : commit + 2].tolist()
    removed = []
    for change in range(start, end):
        if changes.status[change] in b"DR":
            number = int(changes.old_path[change])
            mode, blob = int(changes.old_mode[change]), changes.old_blob[change].tobytes()
            removed.append(_RemovedFile(history.paths[number], mode, blob, number))
    return sorted(removed)


def _path(history: History, change: int) -> bytes:
    path: bytes = history.paths[int(history.changes.path[change])]
    return path


def _base_name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]
