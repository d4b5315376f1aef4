"""Convert an alternative of a query to a query of histories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sourcelight.core.boolean import And as AllOf
from sourcelight.core.boolean import Boolean, Not, leaves
from sourcelight.core.boolean import Or as AnyOf
from sourcelight.core.errors import PatternError, QueryError
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.query import Alternative, And, Filter, Node, Or, Pattern, Predicate
from sourcelight.core.query.alternatives import cell_kinds_of
from sourcelight.core.query.dates import current_time, parse_date
from sourcelight.core.query.languages import find_language, path_regex
from sourcelight.engines.execution.structures import structure_pattern, structures_of
from sourcelight.engines.history.search.query import (
    AnyPattern,
    CellDiffQuery,
    ChangedFileFilter,
    CommitFilter,
    CommitQuery,
    DiffQuery,
    PatternTerm,
    Side,
    Tree,
    fits_a_line,
    visible_patterns,
)
from sourcelight.engines.history.search.structures import StructureQuery
from sourcelight.engines.structure.pattern import StructurePattern

SIDES: dict[str, Side] = {"added": "added", "removed": "removed"}
"""Sides of changed lines by the last part of ``select:commit.diff.added``."""


HistoryQuery: TypeAlias = CommitQuery | DiffQuery | StructureQuery | CellDiffQuery


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """The part of an alternative that reads the history of each repository in scope.

    `query` has no revisions yet. `side` is the one that ``select:commit.diff.…`` keeps, None for both.
    `repositories_only` says that ``select:repo`` wants to know if there is a result at all. `predicates` on files
    must hold for a changed file, the one that the rest of the query is about; `case_sensitive` is how they compare.
    """

    kind: Literal["commit", "diff"]
    query: HistoryQuery
    side: Side | None = None
    repositories_only: bool = False
    predicates: tuple[Predicate, ...] = ()
    case_sensitive: bool = False

    @property
    def needs_changes(self) -> bool:
        """Whether it needs more than the commits themselves: their files or changed lines."""
        query = self.query
        if self.predicates or not isinstance(query, CommitQuery):
            return True
        return bool(query.files.paths or query.changed)

    def history_query(self, revisions: Sequence[str], without: Sequence[str]) -> HistoryQuery:
        """Return the query over commits behind `revisions` and not behind `without` (40 hex digits each)."""
        commits = replace(self.query.commits, revisions=tuple(revisions), excluded=tuple(without))
        return replace(self.query, commits=commits)

    def terms(self) -> tuple[str, tuple[CompiledPattern | StructurePattern, ...]]:
        """Return the searched texts, and the patterns whose matches are shown."""
        if isinstance(self.query, StructureQuery):
            return "changed file", tuple(leaves(self.query.tree, positive=True))
        return "message" if self.kind == "commit" else "changed line", visible_patterns(self.query.tree)


def asked_of(alternative: Alternative) -> CommitPlan | None:
    """Return the commit query, or None for a query that isn't about commits, or that no commit can satisfy.

    Of ``type:commit type:diff`` the second alone counts (query-language reference, commits and diffs).
    """
    types = set(alternative.types)
    kind: Literal["commit", "diff"] = "diff" if "diff" in types else "commit"
    if kind not in types:
        return None
    if keeps_no_commits(alternative, kind):
        return None

    select = alternative.select()
    if select[:1] not in {(), ("repo",), ("commit",)} or (select[1:2] == ("diff",) and kind != "diff"):
        return None

    sensitive = alternative.case_sensitive()
    tree = None
    is_structural = bool(structures_of(alternative))
    if alternative.pattern is not None and not is_structural:
        tree = _tree(alternative.pattern, sensitive=sensitive, label="a changed line" if kind == "diff" else "")

    files = ChangedFileFilter(tuple(_paths(alternative, sensitive=sensitive)))
    commits = CommitFilter(
        authors=_tests(alternative, "author", "a name"),
        committers=_tests(alternative, "committer", "a name"),
        messages=_tests(alternative, "message"),
        # Several dates are joined by AND, so the latest `after` and the earliest `before` decide. git's times are whole
        # seconds.
        after=max((math.floor(_instant(item)) for item in alternative.all("after") if item.value), default=None),
        before=min((math.ceil(_instant(item)) for item in alternative.all("before") if item.value), default=None),
    )
    side = SIDES.get(".".join(select[2:]))
    query: HistoryQuery
    kinds = cell_kinds_of(alternative)
    sides: tuple[Side, ...] = ("added", "removed") if side is None else (side,)
    if alternative.pattern is not None and is_structural:
        query = StructureQuery(commits, files, _structures(alternative.pattern, alternative), sides)
    elif kinds:
        paths = ChangedFileFilter(tuple(_paths(alternative, sensitive=sensitive, with_languages=False)))
        query = CellDiffQuery(
            commits=commits, files=paths, tree=tree, kinds=kinds, languages=_languages(alternative), sides=sides
        )
    else:
        query = DiffQuery(commits, files, tree) if kind == "diff" else CommitQuery(commits, tree, files)

    return CommitPlan(
        kind=kind,
        query=query,
        side=side,
        repositories_only=select == ("repo",),
        predicates=alternative.predicates("file"),
        case_sensitive=sensitive,
    )


def keeps_no_commits(alternative: Alternative, kind: str) -> str:
    """Return the predicate on files, if any, that no result of that kind passes (query reference, predicates)."""
    dropping = {"has.contributor"} if kind == "diff" else {"has.contributor", "has.content"}
    return next((predicate.name for predicate in alternative.predicates("file") if predicate.name in dropping), "")


def _instant(item: Filter) -> float:
    return parse_date(item.value, current_time()).timestamp()


def _tests(alternative: Alternative, name: str, label: str = "") -> tuple[AnyPattern, ...]:
    sensitive = alternative.case_sensitive()
    return tuple(
        AnyPattern((_compile(Pattern(item.value, "regexp"), sensitive=sensitive, label=label),), negated=item.negated)
        for item in alternative.all(name)
        if item.value
    )


def _languages(alternative: Alternative) -> tuple[tuple[str, bool], ...]:
    return tuple(
        (find_language(item.value) or item.value, item.negated) for item in alternative.all("lang") if item.value
    )


def _paths(alternative: Alternative, *, sensitive: bool, with_languages: bool = True) -> list[AnyPattern]:
    terms = [
        AnyPattern((_compile(Pattern(regexp, "regexp"), sensitive=sensitive, whole_text=True),), negated=f.negated)
        for f, regexp in alternative.path_filters()
    ]
    for item in alternative.all("lang") if with_languages else ():
        if item.value:
            regexp = path_regex(find_language(item.value) or item.value)
            pattern = compile_pattern(regexp, kind="regexp", case_sensitive=True, whole_text=True)
            terms.append(AnyPattern((pattern,), negated=item.negated))

    return terms


def _tree(node: Node, *, sensitive: bool, label: str) -> Tree:
    if isinstance(node, And):
        return AllOf(tuple(_tree(arg, sensitive=sensitive, label=label) for arg in node.args))
    if isinstance(node, Or):
        return AnyOf(tuple(_tree(arg, sensitive=sensitive, label=label) for arg in node.args))
    if isinstance(node, Pattern):
        term = PatternTerm(_compile(node, sensitive=sensitive, label=label))
        return Not(term) if node.negated else term

    raise TypeError(f"no pattern: {node!r}")


def _structures(node: Node, alternative: Alternative) -> Boolean[StructurePattern]:
    if isinstance(node, And):
        return AllOf(tuple(_structures(arg, alternative) for arg in node.args))
    if isinstance(node, Or):
        return AnyOf(tuple(_structures(arg, alternative) for arg in node.args))
    if isinstance(node, Pattern):
        structure = structure_pattern(node, alternative)
        return Not(structure) if node.negated else structure

    raise TypeError(f"no pattern: {node!r}")


def _compile(pattern: Pattern, *, sensitive: bool, whole_text: bool = False, label: str = "") -> CompiledPattern:
    """Compile a pattern; `what` names the texts it is searched for in, if these never hold a newline."""
    kind: Literal["regexp", "literal"] = "regexp" if pattern.kind == "regexp" else "literal"
    try:
        compiled = compile_pattern(pattern.value, kind=kind, case_sensitive=sensitive, whole_text=whole_text)
    except PatternError as error:
        # The parser has let it pass: only with case folded does it outgrow RE2's memory.
        raise QueryError(str(error), query=pattern.value, hint="make the pattern smaller, or add case:yes") from error

    if label and not fits_a_line(compiled):
        reason = f"{pattern.value!r} can't match without a newline, and {label} has none"
        raise QueryError(reason, query=pattern.value, hint="search for one of the lines, or for both with AND")

    return compiled
