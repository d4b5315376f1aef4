"""Check the alternatives of a query in the order and the words of the reference.

`Validator` raises an error for the first fault. It says where in the text the fault is, and what to type instead.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from typing import NoReturn

from sourcelight.core.errors import QueryError
from sourcelight.core.query.alternatives import patterns_of
from sourcelight.core.query.fields import FIELDS, FilterScope, names_of, quote_text
from sourcelight.core.query.normalize import Normalizer
from sourcelight.core.query.regexps import regexp_problem
from sourcelight.core.query.syntax.nodes import Alternative, Filter, Node, Pattern, Predicate
from sourcelight.core.query.syntax.predicates import InvalidPredicate

_BACKSLASH = "put a backslash before literal special characters"
_NO_GLOB = r"this is not a glob: instead of *.py type \.py$"

_MAX_QUOTED = 60
"""Characters of a regular expression that a hint quotes."""

_MAX_TERMS = 1_000
"""Terms of a joined expression that are compiled alone: bounds the time of a hostile query."""

_BRACKETS = re.compile(r"[()\[\]{}]")

_MAX_STRUCTURE, _MAX_STRUCTURE_DEPTH = 5_000, 100
"""Maximum characters of a pattern of code, and levels of brackets: its matcher recurses for each level."""

_HIDING = re.compile(r"[\[\]()\\]")
"""Characters of a term that may hide the fault of another one, when they are joined."""

_ONLY_COMMITS = names_of(FilterScope.COMMIT) - {"committer"}
"""Filters that need ``type:commit`` or ``type:diff``; the reference accepts `committer:` without effect."""

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
        for start, value in parts[:_MAX_TERMS]:
            if problem is None and not _HIDING.search(value):
                continue
            reason = regexp_problem(value)
            if reason is not None:
                self._blame(problem or reason, reason, start, value, "content:" if pattern.content else "")

        if problem is not None:
            self._fail(problem, pattern, _BACKSLASH)

    def _check_structure(self, pattern: Pattern, alternative: Alternative) -> None:
        if "symbol" in alternative.types:
            hint = "leave type:symbol out, or add patternType:keyword"
            self._fail("type:symbol looks at names, and a pattern of code matches none", pattern, hint)

        if len(pattern.value) > _MAX_STRUCTURE or _depth(pattern.value) > _MAX_STRUCTURE_DEPTH:
            message = (
                f"a pattern of code has at most {_MAX_STRUCTURE:,} characters and {_MAX_STRUCTURE_DEPTH} brackets "
                "in each other"
            )
            self._fail(message, pattern, "use a smaller pattern")

    def _blame(self, message: str, reason: str, start: int, value: str, owner: str) -> NoReturn:
        """Raise `message` at the place in the query where the regular expression `value` goes wrong."""
        # RE2 quotes the part that it can't read: "error parsing regexp: missing closing ]: `[a`".
        excerpt = reason.rpartition(": `")[2].removesuffix("`")
        offset = start + len(value)
        if excerpt:
            # A quoted value takes up to twice its length in the text, and two quotes.
            within = self._text.find(excerpt, start, start + 2 * len(value) + 2)
            offset = start if within < 0 else within

        position = self._source.byte_offset(offset)
        quoted = value if len(value) <= _MAX_QUOTED else value[:_MAX_QUOTED] + "…"
        advice = _NO_GLOB if owner and value.startswith("*") else _BACKSLASH
        owner_text = f" of {owner}" if owner else ""
        hint = f"the regular expression {quoted!r}{owner_text} can't be read; {advice}"
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


def _depth(text: str) -> int:
    """Return how many brackets are open at most."""
    depth = max_depth = 0
    for bracket in _BRACKETS.findall(text):
        depth += 1 if bracket in "([{" else -1
        max_depth = max(max_depth, depth)
    return max_depth
