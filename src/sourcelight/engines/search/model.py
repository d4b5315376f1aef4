"""Queries, options and results of the text engine, and the prepared form of a query.

A query is prepared once for all repositories: its terms are numbered, and the tree is over those numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NewType, Protocol, TypeAlias

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.batches import NO_COMMIT, CommitId
from sourcelight.core.boolean import And, Boolean, Not, Or, fold
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.structure.pattern import StructurePattern
from sourcelight.repos import Repository, RepositoryKey

DEFAULT_MAX_FILE_SIZE = 2 * 1024 * 1024
"""Bytes above which a file is matched by its name only."""

# Files, documents, units and lines of a corpus are numbered separately, from 0, all in int64 arrays. A document taken
# for a unit would leave out matches, and nothing would fail. So each has a type of its own. A slice or a mask loses it,
# and the next signature asks for it again.
FileNumbers = NewType("FileNumbers", Int64Array)
"""Numbers of files in a corpus: a path of one opened commit."""

DocumentNumbers = NewType("DocumentNumbers", Int64Array)
"""Numbers of documents in a corpus: a content, which several files may share."""

UnitNumbers = NewType("UnitNumbers", Int64Array)
"""Numbers of units in a corpus: what posting lists point to."""

LineNumbers = NewType("LineNumbers", Int64Array)
"""Numbers of lines in a corpus, numbered through all documents; the line numbers of tables start at 1 in each file."""

_Bounds: TypeAlias = tuple[BoolArray, BoolArray]

GroupBy: TypeAlias = Literal["repository", "commit", "language", "path"]


@dataclass(frozen=True, slots=True)
class Target:
    """A repository at one commit. `revision` is as requested; the store resolves an empty `commit`."""

    repository: Repository
    revision: str = ""
    commit: CommitId = NO_COMMIT


TermPattern: TypeAlias = CompiledPattern | StructurePattern


@dataclass(frozen=True, slots=True)
class FileTerm:
    """A pattern that a file may match in its content, its path or either; `visible` terms give spans.

    A structure is searched for in contents alone.
    """

    pattern: TermPattern
    content: bool = True
    path: bool = True
    visible: bool = True


MatchTree: TypeAlias = Boolean[FileTerm]


@dataclass(frozen=True, slots=True)
class FileFilter:
    """The full path must match (or, negated, must not). The pattern is compiled with ``whole_text=True``."""

    pattern: CompiledPattern
    negated: bool = False


@dataclass(frozen=True, slots=True)
class LanguageFilter:
    """One of the file's languages must have this display name (or, negated, none may)."""

    name: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class ShownLanguage:
    """The language that is shown for the file must be one of `names`."""

    names: tuple[str, ...]
    negated: ClassVar[bool] = False


LanguageTest: TypeAlias = LanguageFilter | ShownLanguage


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A query over files. With a `tree` of None, every file that passes the filters is a path match.

    Structures of one query name the same language, or all of them none.

    With `cells`, the kinds of texts in notebooks that are looked at, the tree must hold for one cell, and languages are
    those of cells: see `cells.search`.
    """

    tree: MatchTree | None
    files: tuple[FileFilter, ...] = ()
    languages: tuple[LanguageTest, ...] = ()
    cells: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Sizes of the batches of a scan; smaller ones give more batches with the same rows.

    Parameters
    ----------
    first_units
        Units of the first batch: 64 are about 1 MB, scanned in less than a millisecond, and fill a first screen.
    exhaustive_units
        Units of the first batch of a search without a limit of matches: most results are one batch then, in three
        quarters of the time.
    max_units
        Units of any batch.
    max_documents
        Documents of a batch where a document may be a row by its path alone, without a candidate unit.
    """

    first_units: int = 64
    exhaustive_units: int = 1024
    max_units: int = 8192
    max_documents: int = 16_384


DEFAULT_BATCHES = BatchLimits()


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options for the matches of a search.

    Parameters
    ----------
    chunk_matches
        Add the chunk columns: matched lines with `context_lines` on either side, neighbors merged.
    max_line_len
        Bytes to which a line of a chunk is truncated, the mark included; 0 or less: never.
    max_matches
        Stop after this many matches; the last file may exceed it. None: no limit.
    in_path_order
        Return the files of each repository in path order. Where the index holds them in another order (after updates,
        or where files repeat), matches wait until all files before them are searched.
    lines
        Return matched lines. False: every matching file is a row of type ``path``, and its lines are not read.
    raw_rows
        Return `RawMatches` instead of batches of at most about so many rows, except for chunks; 0: never.
    batch_limits
        Sizes of the batches that are scanned.
    """

    chunk_matches: bool = False
    context_lines: int = 1
    max_line_len: int = -1
    max_matches: int | None = None
    lines: bool = True
    in_path_order: bool = False
    raw_rows: int = 0
    batch_limits: BatchLimits = DEFAULT_BATCHES


@dataclass(frozen=True, slots=True)
class SearchPart:
    """A part of a result: batches of matches, and repositories that are finished.

    `skipped` counts, for each finished repository, the files that pass the filters and were matched by name only, by
    reason (``binary``, ``too-large``, ``missing``). `failed` maps a repository that could not be searched to the
    reason. `missing` names the first files of a repository whose content the clone lacks, by path and blob, and
    `unread_cells` the paths of the first ones with cells that could not be read, by reason.
    """

    batches: tuple[Any, ...] = ()
    repositories_done: tuple[str, ...] = ()
    matches: int = 0
    files: int = 0
    skipped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unread_cells: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupNotes:
    """Notices about a group of repositories that were all searched: files matched by name only, with the reason."""

    names: tuple[str, ...]
    skipped: Mapping[str, Mapping[str, int]]
    missing: Mapping[str, tuple[str, ...]]


def add_maximum(totals: dict[str, Mapping[str, int]], name: str, counts: Mapping[str, int]) -> None:
    """Merge counts of the same files in several revisions: the maximum per kind, as a sum counts files twice.

    Counts are replaced and never changed, because all searches in a corpus share its counts.
    """
    previous = totals.get(name)
    if previous:
        counts = {kind: max(previous.get(kind, 0), counts.get(kind, 0)) for kind in {**previous, **counts}}
    totals[name] = counts


def add_maxima(totals: dict[str, Mapping[str, int]], counts_by_name: Mapping[str, Mapping[str, int]]) -> None:
    """Merge the counts of many repositories, like `add_maximum` for one."""
    if not totals:
        totals.update(counts_by_name)
        return
    for name, counts in counts_by_name.items():
        add_maximum(totals, name, counts)


class Searcher(Protocol):
    """Searches text; `IndexStore` searches indexes on this machine."""

    def search(
        self, targets: Sequence[Target], query: TextQuery, options: SearchOptions, cancellation: Cancellation
    ) -> Iterator[SearchPart]:
        """Yield the result in parts; ends early, without an error, when cancelled."""
        ...

    def count(
        self, targets: Sequence[Target], query: TextQuery, by: Sequence[GroupBy], cancellation: Cancellation
    ) -> Any:
        """Return a table with the columns `by`, ``matches`` and ``files`` (int64); reads no lines."""
        ...


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """An index on disk: the bytes of text that it covers, and its damage, which is empty for none."""

    key: RepositoryKey
    repository: str = ""
    commits: tuple[str, ...] = ()
    files: int = 0
    text_bytes: int = 0
    format: int = 0
    damaged: str = ""


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query whose tree is over the numbers of its `terms`; `visible` terms give spans, never those under a NOT."""

    query: TextQuery
    terms: tuple[FileTerm, ...]
    visible: frozenset[int]
    tree: Boolean[int] | None

    def with_terms(self, terms: tuple[FileTerm, ...]) -> PreparedQuery:
        """Return the same query with other terms."""
        # `dataclasses.replace` takes several times as long.
        return PreparedQuery(self.query, terms, self.visible, self.tree)

    @property
    def is_single(self) -> bool:
        """Whether the tree is one term."""
        return self.tree == 0

    @property
    def has_regexp(self) -> bool:
        """Whether it looks for a regular expression."""
        return any(term.pattern.kind == "regexp" for term in self.terms)

    @property
    def structure(self) -> StructurePattern | None:
        """One of the structures that it looks for; None: it looks for none."""
        return next((term.pattern for term in self.terms if isinstance(term.pattern, StructurePattern)), None)

    def may_match(self, may_hold: Callable[[int], bool]) -> bool:
        """Return whether the tree may hold for any file; `may_hold` is called for a term only when it matters."""
        return self.tree is None or _may_match(self.tree, may_hold)

    def matching_files(self, values: Sequence[BoolArray], files: int) -> BoolArray:
        """Return for which of `files` files the tree holds, from the mask of each term."""
        if self.tree is None:
            return np.ones(files, dtype=np.bool_)

        matching: BoolArray = fold(
            self.tree,
            values.__getitem__,
            all_of=lambda masks: _all_of(masks, files),
            any_of=lambda masks: _any_of(masks, files),
            negate=np.logical_not,
        )
        return matching

    def possible_files(self, lower: Sequence[BoolArray], upper: Sequence[BoolArray], files: int) -> BoolArray:
        """Return for which of `files` files the tree may hold, from where each term surely and possibly holds."""
        if self.tree is None:
            return np.ones(files, dtype=np.bool_)

        def combine(bounds: Iterable[_Bounds], function: Callable[[Iterable[BoolArray], int], BoolArray]) -> _Bounds:
            pairs = list(bounds)
            return function([lower for lower, _ in pairs], files), function([upper for _, upper in pairs], files)

        bounds: _Bounds = fold(
            self.tree,
            lambda term: (lower[term], upper[term]),
            all_of=lambda bounds: combine(bounds, _all_of),
            any_of=lambda bounds: combine(bounds, _any_of),
            negate=lambda bounds: (~bounds[1], ~bounds[0]),  # what surely fails and what possibly fails trade places
        )
        return bounds[1]


def prepare(query: TextQuery) -> PreparedQuery:
    """Assign numbers to the terms of a query; equal terms get one number."""
    numbers: dict[FileTerm, int] = {}
    visible: set[int] = set()

    def convert(node: MatchTree, *, positive: bool) -> Boolean[int]:
        if isinstance(node, Not):
            return Not(convert(node.arg, positive=not positive))
        if isinstance(node, And):
            return And(tuple(convert(arg, positive=positive) for arg in node.args))
        if isinstance(node, Or):
            return Or(tuple(convert(arg, positive=positive) for arg in node.args))

        number = numbers.setdefault(node, len(numbers))
        if positive and node.visible:
            visible.add(number)

        return number

    tree = None if query.tree is None else convert(query.tree, positive=True)
    # A query of one term takes a shorter way through the scan, so it must not hide in nodes of one argument.
    while isinstance(tree, And | Or) and len(tree.args) == 1:
        tree = tree.args[0]

    return PreparedQuery(query=query, terms=tuple(numbers), visible=frozenset(visible), tree=tree)


def _may_match(node: Boolean[int], may_hold: Callable[[int], bool]) -> bool:
    # Not `fold`: it visits the argument of a NOT, and asking about a term reads its posting lists.
    if isinstance(node, Not):
        return True
    if isinstance(node, And):
        return all(_may_match(arg, may_hold) for arg in node.args)
    if isinstance(node, Or):
        return any(_may_match(arg, may_hold) for arg in node.args)
    return may_hold(node)


def _all_of(masks: Iterable[BoolArray], files: int) -> BoolArray:
    distinct = _distinct(masks)
    combined: BoolArray = np.logical_and.reduce(distinct) if distinct else np.ones(files, dtype=np.bool_)
    return combined


def _any_of(masks: Iterable[BoolArray], files: int) -> BoolArray:
    distinct = _distinct(masks)
    combined: BoolArray = np.logical_or.reduce(distinct) if distinct else np.zeros(files, dtype=np.bool_)
    return combined


def _distinct(masks: Iterable[BoolArray]) -> list[BoolArray]:
    # By identity: of ten thousand terms, most match no file and share one mask.
    return list({id(mask): mask for mask in masks}.values())
