"""Convert an alternative of a query to the work of the engines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from sourcelight.core.boolean import And as All
from sourcelight.core.boolean import Not, leaves
from sourcelight.core.boolean import Or as AnyOf
from sourcelight.core.errors import QueryError
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.query import Alternative, And, Filter, Node, Or, Pattern, Predicate
from sourcelight.core.query.alternatives import cell_kinds_of, patterns_of
from sourcelight.core.query.fields import RESULT_TYPES, FilterScope, names_of
from sourcelight.core.query.languages import find_language
from sourcelight.core.query.syntax.predicates import PREDICATES
from sourcelight.engines.execution.name_hits import compile_term, repository_hits
from sourcelight.engines.execution.scope.scope import Scope
from sourcelight.engines.execution.scope.selection import RepositorySelection, fields_of, finds_only_repositories
from sourcelight.engines.execution.structures import common_languages, structure_pattern, structures_of
from sourcelight.engines.search import FileFilter, FileTerm, LanguageFilter, Target, TextQuery
from sourcelight.engines.search.model import MatchTree, ShownLanguage
from sourcelight.engines.structure.pattern import StructurePattern

if TYPE_CHECKING:
    from sourcelight.engines.execution.commits.query import CommitPlan
    from sourcelight.engines.execution.commits.search import HistoryCommit
    from sourcelight.engines.execution.indexes.background import HistoryRequest

# With these fields alone a query can have repository hits (query-language reference, result types).
_REPOSITORY_FIELDS = names_of(FilterScope.REPOSITORY, FilterScope.TEXT, FilterScope.RESULT)

SUPPORTED: frozenset[str] = names_of(*FilterScope) | PREDICATES | {f"type:{name}" for name in RESULT_TYPES} | {"repo@"}
"""The features that engines support, for `refuse_unsupported`: the whole language except what `FIELDS` excludes."""

_FEW_ALTERNATIVES, _FEW_CHARACTERS = 10, 1_000
"""Alternatives, and characters of their patterns, up to which all patterns compile in a few milliseconds."""

_FEW_TERMS = 50
"""Number of terms that are compiled and looked up in a few milliseconds together."""

MANY_TERMS = 16
"""Number of literals in an ``or`` above which they are joined into one regular expression."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The work for one alternative.

    It searches files of `targets` by `text`, definitions in them by `symbols`, and commits of `history_commits` by
    `commits`; each is None if the alternative doesn't search them. `repository_hits` are matches in repository names.
    """

    alternative: Alternative
    selection: RepositorySelection
    targets: tuple[Target, ...]
    text: TextQuery | None
    repository_hits: tuple[tuple[Target, tuple[tuple[int, int], ...]], ...]
    symbols: TextQuery | None = None
    commits: CommitPlan | None = None
    history_commits: tuple[HistoryCommit, ...] = ()

    @property
    def structures(self) -> tuple[StructurePattern, ...]:
        """The structural patterns that it searches for."""
        if self.commits is not None:
            from sourcelight.engines.history.search.structures import StructureQuery

            if isinstance(self.commits.query, StructureQuery):
                return tuple(leaves(self.commits.query.tree))
        if self.text is None or self.text.tree is None:
            return ()
        patterns = (term.pattern for term in leaves(self.text.tree))
        return tuple(pattern for pattern in patterns if isinstance(pattern, StructurePattern))

    @property
    def searches(self) -> bool:
        """Whether files or definitions are searched."""
        return self.text is not None or self.symbols is not None

    @property
    def ranked(self) -> bool:
        """Whether its results are in order of rank; ``select:`` replaces them and loses it."""
        return self.alternative.pattern is not None and self.alternative.select() in {(), ("content",)}


def predicates_of_people(alternative: Alternative) -> list[Predicate]:
    """Return the predicates of files that ask for owners or contributors, which the text of a file doesn't tell."""
    return [item for item in alternative.predicates("file") if item.name in {"has.owner", "has.contributor"}]


def asks_for_contributors(alternative: Alternative) -> bool:
    """Return whether only files of certain contributors match."""
    return any(item.name == "has.contributor" for item in alternative.predicates("file"))


def commit_plan_of(alternative: Alternative) -> CommitPlan | None:
    """Return the search of commits or changed lines, as `asked_of` does, which loads for a query about them alone."""
    if {"commit", "diff"}.isdisjoint(alternative.types):
        return None

    # It loads the engine of histories, which takes longer than a search of a small repository.
    from sourcelight.engines.execution.commits.query import asked_of

    return asked_of(alternative)


def scope_in_any_case(plan: Plan) -> Scope:
    """Return the scope of a plan without its filters for case."""
    filters = tuple(item for item in plan.alternative.filters if not isinstance(item, Filter) or item.name != "case")
    return Scope(replace(plan.alternative, filters=filters), plan.selection, plan.targets)


def count_searches(plans: Iterable[Plan]) -> Counter[str]:
    """Return how many searches each repository takes: those of text and of definitions are two."""
    counts: Counter[str] = Counter()
    for plan in plans:
        # Text and definitions report their targets separately, and a target is finished with both.
        search_count = (plan.text is not None) + (plan.symbols is not None)
        for target in plan.targets:
            counts[target.repository.info.name] += search_count
    return counts


def targets_of(plans: Iterable[Plan]) -> list[Target]:
    """Return the targets of all plans; one of several plans comes for each."""
    return list(chain.from_iterable(plan.targets for plan in plans))


def names_of_targets(plans: Iterable[Plan]) -> set[str]:
    """Return the names of the repositories whose files the plans search."""
    return {target.repository.info.name for target in targets_of(plans)}


def names_of_histories(plans: Iterable[Plan]) -> set[str]:
    """Return the names of the repositories whose histories the plans search."""
    commits = chain.from_iterable(plan.history_commits for plan in plans)
    return {history_commit.repository.name for history_commit in commits}


def takes_a_moment(scopes: Sequence[Scope]) -> bool:
    """Return whether all patterns compile in a few milliseconds; counted repetitions and many terms take longer."""
    if len(scopes) > _FEW_ALTERNATIVES or any(structures_of(scope.alternative) for scope in scopes):
        return False

    texts = []
    for alternative in (scope.alternative for scope in scopes):
        if alternative.pattern is not None:
            texts += [leaf.value for leaf in patterns_of(alternative.pattern)]
        texts += [item.value for item in alternative.filters if isinstance(item, Filter) and item.value]
        texts += [str(value) for item in alternative.predicates("file") for value in item.args.values()]

    return sum(map(len, texts)) <= _FEW_CHARACTERS and not any("{" in text for text in texts)


def is_brief(plan: Plan) -> bool:
    """Return whether no step runs long between checks of the time; a regular expression on a line of megabytes may."""
    leaves = [] if plan.alternative.pattern is None else list(patterns_of(plan.alternative.pattern))
    return (
        len(leaves) <= _FEW_TERMS
        and all(leaf.kind == "literal" for leaf in leaves)
        and not any(item.name == "has.content" for item in plan.alternative.predicates("file"))
    )


def is_plain(plan: Plan) -> bool:
    """Return whether a plan matches only files and repository names, shows every match, and has no long step."""
    alternative = plan.alternative
    # A long step is left to the pipeline, which gives it up in time.
    return (
        is_brief(plan)
        and plan.symbols is None
        and plan.commits is None
        and not alternative.select()
        and not predicates_of_people(alternative)
    )


def reads_any(plans: Sequence[Plan]) -> bool:
    """Return whether any plan looks into files."""
    return any(plan.symbols is not None or (plan.text is not None and reads_content(plan)) for plan in plans)


def reads_content(plan: Plan) -> bool:
    """Return whether a plan reads the contents of files, so that files matched only by name need a notice."""
    alternative = plan.alternative
    required = any(predicate.name == "has.content" for predicate in alternative.predicates("file"))
    required = required or alternative.first("cell") is not None
    return required or (alternative.pattern is not None and "file" in alternative.types)


def unmade_plan(scope: Scope) -> Plan:
    """Return a plan without compiled patterns, which only names the repositories that are not searched."""
    return Plan(
        alternative=scope.alternative, selection=scope.selection, targets=scope.targets, text=None, repository_hits=()
    )


def make_plan(scope: Scope) -> Plan:
    """Plan the work of the engines for an alternative whose repositories and revisions are resolved."""
    alternative = scope.alternative
    types = set(alternative.types)
    cells = _cells_of(alternative, types)
    fields = fields_of(alternative)
    only_repositories = finds_only_repositories(alternative)
    text = None
    if types & {"file", "path"} and not only_repositories:
        # With ``cell:``, the patterns of predicates match anywhere in the file, so they are searched for separately.
        text = replace(_text_query(alternative, types, predicates=not cells), cells=cells)

    symbols = None
    if "symbol" in types and not only_repositories:
        symbols = _text_query(alternative, {"file"}, predicates=False)

    name_matches: tuple[tuple[Target, tuple[tuple[int, int], ...]], ...] = ()
    if ("repo" in types or only_repositories) and not cells and fields <= _REPOSITORY_FIELDS:
        name_matches = repository_hits(alternative, scope.targets)

    commits = commit_plan_of(alternative)
    history_commits: tuple[HistoryCommit, ...] = ()
    if commits is not None:
        from sourcelight.engines.execution.commits.search import history_commits_of

        history_commits = history_commits_of(scope.targets, lambda repository: scope.without.get(repository.key, ()))
    return Plan(alternative, scope.selection, scope.targets, text, name_matches, symbols, commits, history_commits)


def _cells_of(alternative: Alternative, types: set[str]) -> frozenset[str]:
    """Return the kinds of cell text that are searched; empty if the whole file is."""
    kinds = cell_kinds_of(alternative)
    if not kinds:
        return kinds

    item = alternative.first("cell")
    text = f"cell:{item.value}" if item is not None else "cell:"
    if structures_of(alternative):
        raise QueryError("structural patterns match files, not cells", query=text, hint="leave out cell:")

    if "commit" in types and "diff" not in types:
        raise QueryError(
            "cell: searches changed notebooks, but type:commit searches messages",
            query=text,
            hint="type:diff finds commits by the cells that they change",
        )

    if "symbol" in types or not types & {"file", "diff"}:
        raise QueryError(
            f"cell: searches the contents of files, which type:{'symbol' if 'symbol' in types else min(types)} "
            "does not",
            query=text,
            hint="leave out one of the two",
        )

    return kinds


def _text_query(alternative: Alternative, types: set[str], *, predicates: bool = True) -> TextQuery:
    tree, structures = _match_tree(alternative, types, predicates=predicates)
    return TextQuery(
        tree=tree,
        files=tuple(_file_filters(alternative)),
        languages=tuple(_language_filters(alternative, structures)),
    )


def _file_filters(alternative: Alternative) -> Iterator[FileFilter]:
    sensitive = alternative.case_sensitive()
    for item, regexp in alternative.path_filters():
        pattern = compile_pattern(regexp, kind="regexp", case_sensitive=sensitive, whole_text=True)
        yield FileFilter(pattern, item.negated)


def _language_filters(
    alternative: Alternative, structures: Sequence[StructurePattern]
) -> Iterator[LanguageFilter | ShownLanguage]:
    for item in alternative.all("lang"):
        if item.value:
            yield LanguageFilter(find_language(item.value) or item.value, negated=item.negated)

    # Files of other languages have no structure. Without this filter, NOT would match all of them.
    if structures and not structures[0].language:
        yield ShownLanguage(common_languages(structures))


def _match_tree(
    alternative: Alternative, types: set[str], *, predicates: bool
) -> tuple[MatchTree | None, list[StructurePattern]]:
    """Compile the pattern of an alternative; also return the patterns of code in it."""
    sensitive = alternative.case_sensitive()
    structures: list[StructurePattern] = []

    def atom(pattern: Pattern) -> MatchTree:
        if pattern.kind == "structure":
            structures.append(structure_pattern(pattern, alternative))
            structure = FileTerm(structures[-1], path=False)
            return Not(structure) if pattern.negated else structure
        path = "path" in types and not pattern.content and not alternative.first("cell")
        term = FileTerm(pattern=compile_term(pattern, sensitive=sensitive), content="file" in types, path=path)
        return Not(term) if pattern.negated else term

    def alternatives(args: Sequence[Node]) -> list[MatchTree]:
        try:
            return [tree(arg) for arg in one_of_many(args)]
        except QueryError:
            if len(args) <= MANY_TERMS:
                raise
            # Above the limit an error is one of size, not of a pattern: literals are escaped, so each compiles.
            half = len(args) // 2  # as one expression they outgrow RE2's memory
            return alternatives(args[:half]) + alternatives(args[half:])

    def tree(node: Node) -> MatchTree:
        if isinstance(node, And):
            return All(tuple(tree(arg) for arg in node.args))
        if isinstance(node, Or):
            plans = alternatives(node.args)
            return AnyOf(tuple(plans)) if len(plans) > 1 else plans[0]
        if isinstance(node, Pattern):
            return atom(node)

        raise TypeError(f"expected a pattern, And or Or, got {node!r}")

    parts = [] if alternative.pattern is None else [tree(alternative.pattern)]
    if predicates:
        parts += required_content(alternative)

    if len(parts) > 1:
        return All(tuple(parts)), structures
    return (parts[0] if parts else None), structures


def can_vary(plan: Plan) -> bool:
    """Return whether a plan differs from plans of other queries with the same filters only in its pattern."""
    return (
        plan.text is not None
        and plan.symbols is None
        and plan.commits is None
        and not plan.text.cells
        and not plan.structures
        and not plan.alternative.predicates()
    )


def vary(plan: Plan, alternative: Alternative) -> Plan:
    """Plan an alternative that differs from `plan` only in its pattern; `can_vary` must hold for `plan`."""
    types = set(alternative.types)
    tree, _ = _match_tree(alternative, types, predicates=False)
    name_matches = repository_hits(alternative, plan.targets) if finds_repositories(alternative) else ()
    text = None if plan.text is None else replace(plan.text, tree=tree)
    return replace(plan, alternative=alternative, text=text, repository_hits=name_matches)


def finds_repositories(alternative: Alternative) -> bool:
    """Return whether the pattern is matched against names of repositories."""
    return "repo" in alternative.types and fields_of(alternative) <= _REPOSITORY_FIELDS


def one_of_many(args: Sequence[Node]) -> list[Node]:
    """Return the alternatives `args`, with many literals joined into one regular expression for a single scan."""
    nodes: list[Node] = []
    texts: dict[bool, list[str]] = {}
    for arg in args:
        literal = isinstance(arg, Pattern) and arg.kind == "literal" and not arg.negated
        if isinstance(arg, Pattern) and literal and arg.value and arg.value.isprintable():
            texts.setdefault(arg.content, []).append(arg.value)
        else:
            nodes.append(arg)

    if sum(map(len, texts.values())) <= MANY_TERMS:
        return list(args)

    for content, values in texts.items():
        # RE2 takes the first alternative that matches, so the longest must come first to match whole words.
        longest_first = sorted(dict.fromkeys(values), key=len, reverse=True)
        nodes.append(Pattern("|".join(map(re.escape, longest_first)), "regexp", content=content))

    return nodes


def required_content(alternative: Alternative) -> list[MatchTree]:
    """Return the terms of ``file:has.content``, which select files but show no spans."""
    sensitive = alternative.case_sensitive()
    return [
        FileTerm(_regexp(predicate.args["content"], sensitive=sensitive), content=True, path=False, visible=False)
        for predicate in alternative.predicates("file")
        if predicate.name == "has.content"
    ]


def _regexp(text: str, *, sensitive: bool) -> CompiledPattern:
    return compile_term(Pattern(text, "regexp"), sensitive=sensitive)


def histories_of(plans: Sequence[Plan]) -> tuple[list[HistoryRequest], list[HistoryRequest]]:
    """Return the histories that `plans` need with changes, and the histories that they need without.

    Predicates about contributors need changes as well. A repository is in one of the two lists.
    """
    requests: list[HistoryRequest] = []
    commits_alone: list[HistoryRequest] = []
    for plan in plans:
        needs_changes = plan.commits is None or plan.commits.needs_changes
        of_plan = [history_commit.request for history_commit in plan.history_commits]
        (requests if needs_changes else commits_alone).extend(of_plan)
        if asks_for_contributors(plan.alternative):
            from sourcelight.engines.execution.commits.search import history_commits_of

            requests += [history_commit.request for history_commit in history_commits_of(plan.targets, lambda _: ())]

    keys = {request.repository.key for request in requests}
    # Built once with changes, a history serves both: reading its commits alone as well would cost twice.
    requests += [request for request in commits_alone if request.repository.key in keys]
    commits_alone = [request for request in commits_alone if request.repository.key not in keys]
    requests_by_key = {request.key: request for request in requests}
    commits_by_key = {request.key: request for request in commits_alone}
    return list(requests_by_key.values()), list(commits_by_key.values())
