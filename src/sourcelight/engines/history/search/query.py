r"""Queries over a history.

Patterns are matched against single lines, as by ``git log -G``, which contain no newline. ``\s`` and ``[^a]b`` can
match a newline and are found in lines all the same. ``foo\nbar`` can't match without one: `fits_a_line` lets the caller
say so instead of an empty result.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeAlias

from sourcelight.core.boolean import Boolean, Not
from sourcelight.core.patterns import CompiledPattern
from sourcelight.core.patterns.syntax import parse
from sourcelight.core.patterns.tree import Alternate, Chars, Concat, Node, Repeat

Side: TypeAlias = Literal["added", "removed"]

_NEWLINE = 1 << ord("\n")


@dataclass(frozen=True, slots=True)
class PatternTerm:
    """A pattern to find; its spans are shown if `visible`."""

    pattern: CompiledPattern
    visible: bool = True


Tree: TypeAlias = Boolean[PatternTerm]


@dataclass(frozen=True, slots=True)
class AnyPattern:
    """At least one of `patterns` must match; if negated, none may."""

    patterns: tuple[CompiledPattern, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class CommitFilter:
    """Filter of commits; each condition must hold.

    Attributes
    ----------
    revisions, excluded
        Commits, 40 hex digits: those reachable from any of `revisions` and from none of `excluded` pass. Without
        `revisions`, every stored commit does.
    authors, committers
        Patterns for the name, the address and ``Name <address>``, as written and as mailmap maps them. With
        `whole_person`, for the last alone, as in git.
    messages
        Patterns for whole messages; ``^`` and ``$`` match at the bounds of lines.
    after, before
        Seconds since 1970; the committer time must be greater than `after` and less than `before`.
    merges
        True: merges alone; False: no merges; None: both.
    """

    revisions: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    authors: tuple[AnyPattern, ...] = ()
    committers: tuple[AnyPattern, ...] = ()
    messages: tuple[AnyPattern, ...] = ()
    after: int | None = None
    before: int | None = None
    merges: bool | None = None
    whole_person: bool = False


@dataclass(frozen=True, slots=True)
class ChangedFileFilter:
    """Filter of the files of a commit: each of `paths` must match the new or the old path (negated: neither).

    Patterns are compiled with ``whole_text``.
    """

    paths: tuple[AnyPattern, ...] = ()


@dataclass(frozen=True, slots=True)
class CommitQuery:
    """Commits by their messages and changes.

    `tree` is over the message. Each of `changed` must match an added or removed line of one of the `files` (git's
    ``-G``). With `files` alone, one changed file must pass.
    """

    commits: CommitFilter = CommitFilter()
    tree: Tree | None = None
    files: ChangedFileFilter = ChangedFileFilter()
    changed: tuple[AnyPattern, ...] = ()


@dataclass(frozen=True, slots=True)
class DiffQuery:
    """Changed lines.

    Attributes
    ----------
    commits, files
        Filters of the changes to search.
    tree
        Must hold for the changed lines of one file in one commit; each of its terms is matched against each line.
        None: every line.
    sides
        Lines that count.
    with_rows
        Whether to return rows if no term is visible, as without a tree: these are all lines of the changes.
    changes
        ``lines``: a line that matches was added or removed (git's ``-G``). ``count``: the number of matches in the
        file rose or fell (``-S``), for a tree of one term.
    """

    commits: CommitFilter = CommitFilter()
    files: ChangedFileFilter = ChangedFileFilter()
    tree: Tree | None = None
    sides: tuple[Side, ...] = ("added", "removed")
    changes: Literal["lines", "count"] = "lines"
    with_rows: bool = True


def visible_patterns(tree: Tree | None) -> tuple[CompiledPattern, ...]:
    """Return the patterns whose matches are shown, each once."""
    return tuple(dict.fromkeys(term.pattern for term in visible_terms(tree)))


def visible_terms(tree: Tree | None) -> tuple[PatternTerm, ...]:
    """Return the terms whose matches are shown: those outside NOT that are `visible`."""
    if tree is None or isinstance(tree, Not):
        return ()
    if isinstance(tree, PatternTerm):
        return (tree,) if tree.visible else ()
    return tuple(chain.from_iterable(map(visible_terms, tree.args)))


def fits_a_line(pattern: CompiledPattern) -> bool:
    """Return whether a pattern can match in a text without newlines, or True when unknown."""
    if pattern.kind == "literal":
        return "\n" not in pattern.text
    if not pattern.multi_line:
        return True
    return _fits(parse(pattern.text, fold=not pattern.case_sensitive, multi_line=not pattern.whole_text).tree)


def _fits(node: Node) -> bool:
    if isinstance(node, Chars):
        return node.wide is None or bool(node.wide) or bool(node.narrow & ~_NEWLINE)
    if isinstance(node, Concat):
        return all(map(_fits, node.parts))
    if isinstance(node, Alternate):
        return any(map(_fits, node.parts))
    return node.low == 0 or _fits(node.part) if isinstance(node, Repeat) else True


LanguageRule: TypeAlias = tuple[str, bool]
"""A language, and whether its texts are left out."""


@dataclass(frozen=True, slots=True)
class CellDiffQuery:
    """Changed lines in the cells of notebooks.

    Attributes
    ----------
    commits, files
        The commits and their changed files to search. Filters of languages are in `languages`, not in `files`.
    tree
        A condition on the lines that a change adds to cells or removes from them. None: every line.
    kinds
        Kinds of cells to search; the outputs of a cell are a kind.
    languages
        Required and excluded languages of a cell, or of its file by the path.
    sides
        Whether to search added lines, removed lines or both.
    """

    commits: CommitFilter
    files: ChangedFileFilter
    tree: Tree | None
    kinds: frozenset[str]
    languages: tuple[LanguageRule, ...] = ()
    sides: tuple[Side, ...] = ("added", "removed")
