"""Split a query into alternatives, and check each in the order and the words of the reference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import NoReturn

from sourcelight.core.errors import QueryError
from sourcelight.core.query.fields import CELL_FILTERS, FIELDS, RESULT_TYPES, FilterScope, names_of, quote_text
from sourcelight.core.query.normalize import Normalizer
from sourcelight.core.query.regexps import regexp_problem
from sourcelight.core.query.syntax.lexer import WHITE
from sourcelight.core.query.syntax.nodes import Alternative, And, Filter, Node, Or, Pattern, Predicate
from sourcelight.core.query.syntax.predicates import InvalidPredicate

MAX_ALTERNATIVES = 10_000
_MAX_ALTERNATIVE_PARTS = 1_000_000  # terms of all alternatives together: bounds memory, whatever the shape of the query
DEFAULT_TYPES = ("file", "path", "repo")
_BOOSTED = frozenset({"file", "path"})
_SPACES = re.compile(f"[{WHITE}]+")

BACKSLASH = "put a backslash before literal special characters"
_NO_GLOB = r"this is not a glob: instead of *.py type \.py$"

_MAX_QUOTED = 60
"""Characters of a regular expression that a hint quotes."""

_MAX_PARTS = 1_000  # terms of a joined expression that are compiled alone; bounds the time of a hostile query
_BRACKETS = re.compile(r"[()\[\]{}]")

MAX_STRUCTURE, MAX_STRUCTURE_DEPTH = 5_000, 100
"""Maximum characters of a pattern of code, and levels of brackets: its matcher recurses for each level."""

_HIDING = re.compile(r"[\[\]()\\]")
_ONLY_COMMITS = names_of(FilterScope.COMMIT) - {"committer"}  # the reference accepts `committer:` without effect

_BOTH_REVS = (
    "invalid syntax. You specified both @ and rev: for a repo: filter and I don't know how to interpret this. "
    "Remove either @ or rev: and try again"
)

_NO_REPO = "invalid syntax. The query contains `rev:` without `repo:`. Add a `repo:` filter and try again"

_EMPTY_REPO = (
    "invalid syntax. The query contains `rev:` but `repo:` is empty. Add a non-empty `repo:` filter and try again"
)

_NO_SYMBOLS = (
    "repohasfile is not compatible for type:symbol. "
    "Subscribe to https://github.com/sourcegraph/sourcegraph/issues/4610 for updates"
)

_INDEX_ONLY = "invalid index:only (revisions with glob pattern cannot be resolved for indexed searches)"


class _Draft:
    __slots__ = ("filters", "patterns")

    def __init__(self, filters: list[Filter | Predicate], patterns: list[Pattern | And | Or]) -> None:
        self.filters = filters
        self.patterns = patterns


def alternatives(root: Node, text: str, pattern_type: str) -> tuple[Alternative, ...]:
    """Return the alternatives of `root`, later ORs varying slowest; pure pattern expressions stay whole.

    Raises
    ------
    QueryError
        There would be more than `MAX_ALTERNATIVES`.
    """
    drafts = _expand(root, text) or [_single_draft(root)]
    phrase = _phrase(text) if pattern_type == "keyword" else ""
    return tuple(_finish(draft, phrase) for draft in drafts)


def _expand(node: Node, text: str) -> list[_Draft] | None:
    """Return the alternatives below `node`, None when it is a pure pattern expression."""
    if isinstance(node, Pattern):
        return None
    if isinstance(node, Filter | Predicate):
        return [_Draft([node], [])]

    parts = [_expand(arg, text) for arg in node.args]
    # Pure patterns stay one expression: the engine evaluates their tree for each file and needs no alternatives.
    if all(part is None for part in parts):
        return None

    operands = [part or [_single_draft(arg)] for part, arg in zip(parts, node.args, strict=True)]
    if isinstance(node, Or):
        drafts = [draft for operand in operands for draft in operand]
        _check_size(drafts, [], text)
        return drafts

    drafts = [_Draft([], [])]
    for operand in operands:
        # Check before the product is built: 20 filters with two values each would make a million alternatives.
        _check_size(drafts, operand, text)
        if len(operand) == 1:
            for draft in drafts:
                draft.filters.extend(operand[0].filters)
                draft.patterns.extend(operand[0].patterns)
            continue

        drafts = [
            _Draft(draft.filters + other.filters, draft.patterns + other.patterns)
            for other in operand
            for draft in drafts
        ]

    return drafts


def _single_draft(node: Node) -> _Draft:
    return _Draft([], [node] if isinstance(node, Pattern | And | Or) else [])


def _check_size(left: list[_Draft], right: list[_Draft], text: str) -> None:
    many = len(left) * max(len(right), 1)
    if many <= MAX_ALTERNATIVES and (
        many == 1 or _size(left) * len(right) + _size(right) * len(left) <= _MAX_ALTERNATIVE_PARTS
    ):
        return

    raise QueryError(
        f"the query has too many alternatives of filters: {many:,} or more; {MAX_ALTERNATIVES:,} are allowed",
        query=text,
        hint="join the values of one field into one regular expression, such as file:(a|b|c)",
    )


def _size(drafts: list[_Draft]) -> int:
    return sum(len(draft.filters) + len(draft.patterns) for draft in drafts)


def _finish(draft: _Draft, phrase: str) -> Alternative:
    filters, patterns = tuple(draft.filters), draft.patterns
    pattern: Pattern | And | Or | None = patterns[0] if len(patterns) == 1 else None
    if len(patterns) > 1:
        flat: list[Node] = []
        for part in patterns:
            flat.extend(part.args if isinstance(part, And) else [part])
        pattern = And(tuple(flat))

    type_values = {node.value for node in filters if isinstance(node, Filter) and node.name == "type"}
    if type_values:
        types = tuple(name for name in RESULT_TYPES if name in type_values)
    # `content:` matches no paths, so such a query has no path results.
    elif pattern is not None and all(leaf.content for leaf in patterns_of(pattern)):
        types = ("file",)
    else:
        types = DEFAULT_TYPES

    boosted = phrase and type_values <= _BOOSTED and pattern is not None and _is_phrase(pattern)
    return Alternative(filters, pattern, types, phrase if boosted else None)


def patterns_of(node: Pattern | And | Or) -> Iterator[Pattern]:
    """Yield the patterns of an expression, left to right."""
    if isinstance(node, Pattern):
        yield node
        return
    for arg in node.args:
        if isinstance(arg, Pattern | And | Or):
            yield from patterns_of(arg)


def cell_kinds_of(alternative: Alternative) -> frozenset[str]:
    """Return the kinds of texts in cells that an alternative looks at; empty for all of a file."""
    item = alternative.first("cell")
    return CELL_FILTERS[item.value] if item is not None and item.value else frozenset()


def _is_phrase(pattern: Pattern | And | Or) -> bool:
    if isinstance(pattern, Pattern):
        return pattern.quoted and pattern.kind == "literal" and not pattern.negated
    return isinstance(pattern, And) and all(
        isinstance(arg, Pattern) and arg.kind == "literal" and not arg.negated for arg in pattern.args
    )


def _phrase(text: str) -> str:
    return " ".join(word for word in _SPACES.split(text) if word and ":" not in word)


class Validator:
    """Checks the alternatives of one query; a filter that many of them share is looked at once.

    Parameters
    ----------
    text
        The whole query, for the error.
    source
        Position of the leaves of the query in `text`.
    now
        The time relative dates count from.
    """

    def __init__(self, text: str, source: Normalizer, now: datetime) -> None:
        self._text = text
        self._source = source
        self._now = now
        self._valid: set[int] = set()

    def check(self, alternative: Alternative) -> None:
        """Raise QueryError for the first fault of `alternative`."""
        counts = Counter(_name(node) for node in alternative.filters)
        for node in alternative.filters:
            self._check_filter(node, counts)

        if alternative.pattern is not None and id(alternative.pattern) not in self._valid:
            for pattern in patterns_of(alternative.pattern):
                if pattern.kind == "regexp":
                    self._check_regexp(pattern)
                elif pattern.kind == "structure":
                    self._check_structure(pattern, alternative)
            self._valid.add(id(alternative.pattern))

        self._check_revisions(alternative)
        self._check_types(alternative)

    def _fail(self, message: str, node: Node, hint: str = "") -> NoReturn:
        position = self._source.position(node)
        raise QueryError(message, query=self._text, position=position, hint=hint, stage="validate")

    def _check_regexp(self, pattern: Pattern) -> None:
        problem = regexp_problem(pattern.value)
        parts = self._source.values(pattern)
        if problem is None and len(parts) < 2:
            return

        # Terms can hide each other's faults when they are joined: `[a b]` would become `(?:[a).*?(?:b])`.
        for start, value in parts[:_MAX_PARTS]:
            reason = regexp_problem(value) if problem is not None or _HIDING.search(value) else None
            if reason is not None:
                self._blame(problem or reason, reason, start, value, "content:" if pattern.content else "")

        if problem is not None:
            self._fail(problem, pattern, BACKSLASH)

    def _check_structure(self, pattern: Pattern, alternative: Alternative) -> None:
        if "symbol" in alternative.types:
            hint = "leave type:symbol out, or add patternType:keyword"
            self._fail("type:symbol looks at names, and a pattern of code matches none", pattern, hint)

        depth = max_depth = 0
        for bracket in _BRACKETS.findall(pattern.value):
            depth += 1 if bracket in "([{" else -1
            max_depth = max(max_depth, depth)

        if len(pattern.value) > MAX_STRUCTURE or max_depth > MAX_STRUCTURE_DEPTH:
            message = (
                f"a pattern of code has at most {MAX_STRUCTURE:,} characters and {MAX_STRUCTURE_DEPTH} brackets "
                "in each other"
            )
            self._fail(message, pattern, "use a smaller pattern")

    def _blame(self, message: str, reason: str, start: int, value: str, owner: str) -> NoReturn:
        """Raise `message` at the place in the query where the regular expression `value` goes wrong."""
        excerpt = reason.rpartition(": `")[2].removesuffix("`")
        within = self._text.find(excerpt, start, start + 2 * len(value) + 2) if excerpt else start + len(value)
        position = self._source.byte_offset(start if within < 0 else within)
        excerpted = value if len(value) <= _MAX_QUOTED else value[:_MAX_QUOTED] + "…"
        advice = _NO_GLOB if owner and excerpted.startswith("*") else BACKSLASH
        hint = f"the regular expression {excerpted!r}{f' of {owner}' if owner else ''} can't be read; {advice}"
        raise QueryError(message, query=self._text, position=position, hint=hint, stage="validate")

    def _check_filter(self, node: Filter | Predicate, counts: Counter[str]) -> None:
        field = FIELDS[_name(node)]
        if counts[field.name] > 1 and not field.repeat:
            hint = f"put the alternatives in parentheses: ({field.name}:a or {field.name}:b)"
            self._fail(f"field {quote_text(field.name)} may not be used more than once", node, hint)

        if id(node) in self._valid:
            return

        parts = self._source.values(node)
        owner = f"{'-' if node.negated else ''}{field.name}:"
        if isinstance(node, InvalidPredicate):
            if parts and "error parsing regexp" in node.error:
                self._blame(node.error, node.error, *parts[0], f"{owner}{node.name}()")
            self._fail(node.error, node)

        if field.name == "g":
            self._fail('unrecognized field "g"', node)

        is_refused = node.negated and not field.negatable
        if is_refused and not field.value_first:
            self._refuse_negation(field.name, node)

        if isinstance(node, Filter) and field.check is not None:
            problem = field.check(node.value, self._now)
            if problem and parts and problem[0].startswith("error parsing regexp"):
                self._blame(problem[0], problem[0], *parts[0], owner)
            if problem:
                self._fail(problem[0], node, problem[1])

        if is_refused:
            self._refuse_negation(field.name, node)

        self._valid.add(id(node))

    def _refuse_negation(self, name: str, node: Node) -> NoReturn:
        self._fail(f"field {quote_text(name)} does not support negation", node)

    def _check_revisions(self, alternative: Alternative) -> None:
        revs = [node for node in alternative.filters if _name(node) == "rev"]
        if not revs:
            return

        repos = [node for node in alternative.filters if _name(node) == "repo"]
        for node in repos:
            if isinstance(node, Filter) and node.revs is not None:
                self._fail(_BOTH_REVS, node)

        if not repos:
            self._fail(_NO_REPO, revs[0])

        for node in repos:
            if isinstance(node, Filter) and not node.value:
                self._fail(_EMPTY_REPO, node)

    def _check_types(self, alternative: Alternative) -> None:
        commit_filter: Filter | None = None
        only_indexed = None
        has_glob = False
        for node in alternative.filters:
            if not isinstance(node, Filter):
                continue
            if node.name == "repohasfile" and "symbol" in alternative.types:
                self._fail(_NO_SYMBOLS, node)
            if node.name in _ONLY_COMMITS:
                commit_filter = node
            if node.name == "index" and node.value.lower() in {"o", "only"}:
                only_indexed = node
            has_glob |= node.revs is not None and any(rev.startswith("*") for rev in node.revs)

        if commit_filter is not None and not {"commit", "diff"} & set(alternative.types):
            message = (
                f"your query contains the field '{commit_filter.name}', which requires type:commit or type:diff in the "
                "query"
            )
            self._fail(message, commit_filter, "add type:commit or type:diff")

        if only_indexed is not None and has_glob:
            self._fail(_INDEX_ONLY, only_indexed)


def _name(node: Filter | Predicate) -> str:
    return node.name if isinstance(node, Filter) else node.on
