"""What is asked of the text engine, and what it gives back.

A query's tree, prepared once for all repositories: its atoms numbered, and which of them give spans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.repos import Repository

DEFAULT_MAX_FILE_SIZE = 2 * 1024 * 1024
"""Bytes above which a file is matched by its name only."""

GroupBy: TypeAlias = Literal["repository", "language", "path"]


@dataclass(frozen=True, slots=True)
class Target:
    """A repository at one commit. `revision` is as it was asked for; an empty `commit` is resolved by the store."""

    repository: Repository
    revision: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class FileTerm:
    """A pattern that a file may match in its content, in its path, or in either; its spans are given when `visible`."""

    pattern: CompiledPattern
    content: bool = True
    path: bool = True
    visible: bool = True


@dataclass(frozen=True, slots=True)
class And:
    """Every argument must match the file."""

    args: tuple[MatchTree, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one argument must match the file."""

    args: tuple[MatchTree, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The argument must not match the file."""

    arg: MatchTree


MatchTree: TypeAlias = FileTerm | And | Or | Not


@dataclass(frozen=True, slots=True)
class FileFilter:
    """The full path must match (or, negated, must not). The pattern is compiled with ``whole_text=True``."""

    pattern: CompiledPattern
    negated: bool = False


@dataclass(frozen=True, slots=True)
class LanguageFilter:
    """One of the file's languages must bear this display name (or, negated, none may)."""

    name: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What to look for in files. A `tree` of None makes every file that passes the filters a path match."""

    tree: MatchTree | None
    files: tuple[FileFilter, ...] = ()
    languages: tuple[LanguageFilter, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to show matches.

    Parameters
    ----------
    chunk_matches
        Add the chunk columns: surrounding lines, `context_lines` on either side, neighbours merged.
    max_line_len
        Bytes to which a line of a chunk is cut, its suffix included; 0 or less: never.
    max_matches
        Stop once this many matches were given; the last file may overshoot it. None: never.
    in_path_order
        Give the files of each repository in the order of their paths. Where the index holds them in another order
        (after updates, or where files repeat) the matches of a repository then come together, at its end.
    lines
        Give matched lines. False: every matching file is a row of type ``path``, and no line is read for it.
    raw
        Give `FoundLines` in the place of record batches where there are no chunks.
    """

    chunk_matches: bool = False
    context_lines: int = 1
    max_line_len: int = -1
    max_matches: int | None = None
    lines: bool = True
    in_path_order: bool = False
    raw: bool = False


@dataclass(frozen=True, slots=True)
class SearchPart:
    """A piece of an answer.

    `skipped` says for each repository that was finished in this part how many of its files, of those that pass the
    filters, could be matched by name only, and why (``binary``, ``too-large``, ``missing``). `failed` names
    repositories that could not be searched, with the reason. `missing` names the first files of each repository whose
    content is not there, by path and blob.
    """

    batches: tuple[Any, ...] = ()
    repositories_done: tuple[str, ...] = ()
    matches: int = 0
    files: int = 0
    skipped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def add_most(totals: dict[str, int], counts: Mapping[str, int]) -> None:
    """Add counts of the same files, seen several times: of each kind, where most were."""
    for kind, count in counts.items():
        totals[kind] = max(totals.get(kind, 0), count)


class Searcher(Protocol):
    """Searches text; `IndexStore` does it on this machine."""

    def search(
        self, targets: Sequence[Target], query: TextQuery, options: SearchOptions, cancellation: Cancellation
    ) -> Iterator[SearchPart]:
        """Yield the answer in parts as it is found; ends early, without an error, when `cancellation` stops it."""
        ...

    def count(
        self, targets: Sequence[Target], query: TextQuery, by: Sequence[GroupBy], cancellation: Cancellation
    ) -> Any:
        """Give a table of the columns `by` with ``matches`` and ``files`` (int64), without reading any line."""
        ...


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How far an update is: repositories and files counted, `text_bytes` read so far, `repository` last heard of."""

    repositories_done: int
    repositories_total: int
    files: int
    text_bytes: int
    repository: str = ""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What an update did. `failures` maps a repository that could not be indexed to the reason."""

    built: tuple[str, ...] = ()
    current: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    files: int = 0
    text_bytes: int = 0
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """An index on disk, as found: bytes of text it covers, bytes it takes, and what is wrong with it, if anything."""

    key: str
    repository: str
    commits: tuple[str, ...]
    files: int
    text_bytes: int
    disk_bytes: int
    format: int
    damaged: str = ""


Mask = NDArray[np.bool_]
_Node: TypeAlias = int | tuple[str, tuple["_Node", ...]]


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query with its atoms numbered; `visible` are those whose spans are given: never those under a NOT."""

    query: TextQuery
    terms: tuple[FileTerm, ...]
    visible: frozenset[int]
    root: _Node | None

    @property
    def is_single(self) -> bool:
        """Whether the tree is one atom and nothing else."""
        return self.root == 0

    def may_match(self, may: Callable[[int], bool]) -> bool:
        """Tell whether the tree may hold for any file, from which atoms may; asks of an atom only when it matters."""
        return self.root is None or _possible(self.root, may)

    def matching_files(self, values: Sequence[Mask], files: int) -> Mask:
        """Tell for which files the tree holds, from what holds for each atom."""
        return np.ones(files, dtype=np.bool_) if self.root is None else _evaluate(self.root, values)

    def possible_files(self, lower: Sequence[Mask], upper: Sequence[Mask], files: int) -> Mask:
        """Tell for which files the tree may hold, from what surely and what possibly holds for each atom."""
        return np.ones(files, dtype=np.bool_) if self.root is None else _bounds(self.root, lower, upper)[1]


def plan(query: TextQuery) -> PreparedQuery:
    """Number the atoms of a query; equal atoms get one number."""
    numbers: dict[FileTerm, int] = {}
    shown: set[int] = set()

    def convert(node: MatchTree, *, positive: bool) -> _Node:
        if isinstance(node, FileTerm):
            number = numbers.setdefault(node, len(numbers))
            if positive and node.visible:
                shown.add(number)
            return number
        if isinstance(node, Not):
            return ("not", (convert(node.arg, positive=not positive),))
        kind = "all" if isinstance(node, And) else "any"
        return (kind, tuple(convert(arg, positive=positive) for arg in node.args))

    root = None if query.tree is None else convert(query.tree, positive=True)
    while isinstance(root, tuple) and root[0] in {"all", "any"} and len(root[1]) == 1:
        root = root[1][0]
    return PreparedQuery(query, tuple(numbers), frozenset(shown), root)


def _possible(node: _Node, may: Callable[[int], bool]) -> bool:
    if isinstance(node, int):
        return may(node)
    kind, args = node
    if kind == "not":
        return True
    return all(_possible(arg, may) for arg in args) if kind == "all" else any(_possible(arg, may) for arg in args)


def _evaluate(node: _Node, values: Sequence[Mask]) -> Mask:
    if isinstance(node, int):
        return values[node]
    kind, args = node
    parts = [_evaluate(arg, values) for arg in args]
    if kind == "not":
        return ~parts[0]
    return _join(kind, parts, values)


def _bounds(node: _Node, lower: Sequence[Mask], upper: Sequence[Mask]) -> tuple[Mask, Mask]:
    if isinstance(node, int):
        return lower[node], upper[node]
    kind, args = node
    parts = [_bounds(arg, lower, upper) for arg in args]
    if kind == "not":
        return ~parts[0][1], ~parts[0][0]
    return _join(kind, [low for low, _ in parts], lower), _join(kind, [high for _, high in parts], lower)


def _join(kind: str, parts: list[Mask], like: Sequence[Mask]) -> Mask:
    if not parts:
        return np.full(len(like[0]) if like else 0, kind == "all")
    parts = list({id(part): part for part in parts}.values())  # of ten thousand terms most are nowhere, in one mask
    joined: Mask = np.logical_and.reduce(parts) if kind == "all" else np.logical_or.reduce(parts)
    return joined
