"""Build a tree of terms: groups, operators, the second attempt with plain parentheses, hoisting.

The parser keeps its own stack, so that the depth of a query costs no Python frames. It refuses groups deeper than
`MAX_DEPTH`, which lets everything after it walk trees by plain recursion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sourcelight.core.errors import QueryError
from sourcelight.core.query.fields import NEED_VALUES, STRUCTURE
from sourcelight.core.query.syntax.lexer import Lexer, RawFilter, RawPattern

MAX_DEPTH = 100
"""Groups within groups; Python allows about 1,000 calls within calls, and code behind the parser needs several for
each."""

MAX_STRUCTURE_QUERY = 20_000
"""Maximum characters of a query of structural patterns: each bracket is scanned again for each group it may open."""

_UNCLEAR_KEYWORD = (
    "unsupported expression. The combination of parentheses in the query has an unclear meaning. "
    'Use "..." to quote patterns that contain parentheses'
)
_UNCLEAR = (
    "unsupported expression. The combination of parentheses in the query have an unclear meaning. "
    "Try using the content: filter to quote patterns that contain parentheses"
)
_NOT_GROUP = (
    "it looks like you tried to use an expression after NOT. The NOT operator can only be used with simple search "
    "patterns or filters, and is not supported for expressions or subqueries"
)
_ALERT = "I'm having trouble understanding that query. Putting parentheses around the search pattern may help."


@dataclass(slots=True)
class Group:
    """An inner node before rewriting: `kind` is ``and``, ``or`` or ``run`` (patterns side by side)."""

    kind: str
    args: list[Raw]
    has_pattern: bool


Raw = Group | RawFilter | RawPattern


@dataclass(slots=True)
class _Frame:
    """Contents of an open group: terms of the current run, and finished operands of AND and of OR."""

    run: list[Raw] = field(default_factory=list)
    ands: list[Raw] = field(default_factory=list)
    ors: list[Raw] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.run or self.ands or self.ors)


class _OperandMissing(QueryError):
    """An operator without its operand, or a group without its end: worth a second attempt."""


def parse_tree(text: str, pattern_type: str) -> Raw | None:
    """Return the tree of `text` as written, None for an empty query.

    Raises
    ------
    QueryError
        The query can't be parsed; `position` is a byte offset.
    """
    if pattern_type == STRUCTURE and len(text) > MAX_STRUCTURE_QUERY:
        message = f"a query of type {STRUCTURE} has at most {MAX_STRUCTURE_QUERY:,} characters, this has {len(text):,}"
        raise QueryError(message, query=text[:100], hint="use a smaller pattern", stage="parse")

    try:
        parser = _Parser(Lexer(text, pattern_type, plain_parens=False))
        tree = parser.parse()
    except _OperandMissing as first:
        parser = _Parser(Lexer(text, pattern_type, plain_parens=True))
        try:
            tree = parser.parse()
        except QueryError:
            raise QueryError(
                first.message, query=first.query, position=first.position, hint=first.hint, stage=first.stage
            ) from None
        return None if tree is None else _hoist(tree)

    return tree if tree is None or parser.is_ambiguous else _hoist(tree)


def operator(kind: str, args: list[Raw]) -> Raw:
    """Return `args` under one operator; merges nested ones of the same kind, and drops empty terms."""
    flat: list[Raw] = []
    for arg in args:
        flat.extend(arg.args if isinstance(arg, Group) and arg.kind == kind else [arg])

    merged: list[Raw] = []
    for arg in flat:
        # `repo:` without a value selects nothing in particular; filters that need one keep it, so that planning can
        # refuse it.
        if isinstance(arg, RawFilter) and not arg.value and arg.field.lower() not in NEED_VALUES:
            continue
        if isinstance(arg, RawPattern) and not arg.value and merged:
            continue
        merged.append(arg)

    # One term stays in any case: an operator without terms has no form in the tree.
    if not merged:
        merged = flat[-1:]

    if len(merged) == 1:
        return merged[0]
    return Group(kind, merged, any(has_pattern(arg) for arg in merged))


def has_pattern(tree: Raw) -> bool:
    """Return whether `tree` contains a pattern; ``content:`` still counts as a filter here."""
    return tree.has_pattern if isinstance(tree, Group) else isinstance(tree, RawPattern)


class _Parser:
    def __init__(self, lexer: Lexer) -> None:
        self.lexer = lexer
        self.is_ambiguous = False
        self._seen_or = False
        self._seen_group = False
        self._stack = [_Frame()]

    def parse(self) -> Raw | None:
        lexer, text = self.lexer, self.lexer.text
        position = lexer.skip_white(0)
        while position < len(text):
            position = lexer.skip_white(self._term(position))

        if len(self._stack) > 1:
            raise self._missing("unbalanced expression", position)
        if self._stack[0].is_empty:
            return None

        return self._close(position)

    def _term(self, position: int) -> int:
        lexer, frame = self.lexer, self._stack[-1]
        char = lexer.text[position]
        if char in "()" and not lexer.plain_parens:
            end = self._open(position) if char == "(" else self._leave(position)
            if end is not None:
                return end

        operator_match = lexer.operator(position)
        if operator_match is not None:
            self._operator(operator_match[0], position)
            return operator_match[1]

        term = lexer.negation(position)
        if term is not None:
            return self._negate(position, term)

        filtered = lexer.filter(position)
        leaf: Raw
        leaf, end = filtered if filtered is not None else lexer.pattern(position)
        frame.run.append(leaf)
        return end

    def _open(self, position: int) -> int | None:
        """Open a group; return None when the parentheses are text."""
        if not self.lexer.opens_group(position):
            return None
        if len(self._stack) > MAX_DEPTH:
            hint = "write the query with fewer parentheses"
            raise self.lexer.error(f"groups are nested deeper than {MAX_DEPTH} levels", position, hint)

        # An `or` beside parentheses, in either order: filters then apply in their own group only, without
        # hoisting.
        self.is_ambiguous |= self._seen_or
        self._stack.append(_Frame())
        return position + 1

    def _leave(self, position: int) -> int:
        if len(self._stack) == 1:
            message = _UNCLEAR_KEYWORD if self.lexer.pattern_type == "keyword" else _UNCLEAR
            raise self.lexer.error(message, position)

        if self._stack[-1].is_empty:
            # Empty parentheses are the text `()`, as in a search for calls without arguments.
            group: Raw = RawPattern(position - 1, "()", self.lexer.plain_kind, value_start=position - 1)
        else:
            group = self._close(position)

        self._stack.pop()
        self._stack[-1].run.append(group)
        self._seen_group = True
        return position + 1

    def _operator(self, word: str, position: int) -> None:
        frame = self._stack[-1]
        self._finish_run(frame, position)
        if word == "or":
            # AND binds tighter than OR, so the operands so far are finished.
            frame.ors.append(operator("and", frame.ands))
            frame.ands = []
            self._seen_or = True
            self.is_ambiguous |= self._seen_group

    def _negate(self, position: int, term: int) -> int:
        lexer, frame = self.lexer, self._stack[-1]
        if lexer.text[term] == "(" and not lexer.plain_parens:
            raise lexer.error(_NOT_GROUP, term, "negate each term of the group instead")

        filtered = lexer.filter(term)
        if filtered is None:
            pattern, end = lexer.pattern(term)
            # The term begins with its NOT: positions of messages, and the comparison of hoisting, count from there.
            pattern.negated, pattern.start = True, position
            frame.run.append(pattern)
            return end

        leaf, end = filtered
        if leaf.negated:
            raise lexer.error(f'unexpected NOT before "-{leaf.field}:{leaf.value}". Remove NOT and try again', position)

        leaf.negated, leaf.start = True, position
        frame.run.append(leaf)
        return end

    def _close(self, position: int) -> Raw:
        frame = self._stack[-1]
        self._finish_run(frame, position)
        return operator("or", [*frame.ors, operator("and", frame.ands)])

    def _finish_run(self, frame: _Frame, position: int) -> None:
        if not frame.run:
            offset = len(self.lexer.text[:position].encode("utf-8", "surrogatepass"))
            raise self._missing(f"expected operand at {offset}", position)

        # Filters between patterns don't separate them: in `a repo:x b` the pattern is `a b`.
        filters = [term for term in frame.run if not has_pattern(term)]
        patterns = [term for term in frame.run if has_pattern(term)]
        if patterns:
            filters.append(operator("run", patterns))

        frame.ands.append(operator("and", filters))
        frame.run = []

    def _missing(self, message: str, position: int) -> _OperandMissing:
        error = self.lexer.error(message, position, _ALERT)
        return _OperandMissing(
            error.message, query=error.query, position=error.position, hint=error.hint, stage=error.stage
        )


def _hoist(tree: Raw) -> Raw:
    """Return the tree with the filters at both ends of an expression moved out to apply to all of it."""
    outer: list[Raw] = []
    while isinstance(tree, Group) and tree.kind == "and":
        leading = 0
        while leading < len(tree.args) and isinstance(tree.args[leading], RawFilter):
            leading += 1
        remaining = tree.args[leading:]
        # With several operands after the leading filters, no single expression is left to move them out of.
        if len(remaining) != 1:
            return operator("and", [*outer, tree]) if outer else tree
        outer.extend(tree.args[:leading])
        tree = remaining[0]

    hoisted = _hoist_or(tree) if isinstance(tree, Group) and tree.kind == "or" else None
    if hoisted is None:
        return operator("and", [*outer, tree]) if outer else tree

    return operator("and", [*outer, *hoisted])


def _hoist_or(tree: Group) -> list[Raw] | None:
    first, last = tree.args[0], tree.args[-1]
    # Only filters of the first and the last operand move; one in between applies to its own operand.
    if not all(_is_pure(arg) for arg in tree.args[1:-1]):
        return None

    left, right = _split(first), _split(last)
    if left is None or right is None:
        return None

    # The comparison is strict from 0, as in the reference: a pattern at offset 0 keeps its filters inside.
    if max([0, *(leaf.start for leaf in left[0])]) >= min(leaf.start for leaf in _leaves(left[1])):
        return None

    # On the right, filters must come after all patterns of their operand.
    if right[0] and max([0, *(leaf.start for leaf in _leaves(right[1]))]) >= min(leaf.start for leaf in right[0]):
        return None

    return [*left[0], *right[0], operator("or", [left[1], *tree.args[1:-1], right[1]])]


def _split(tree: Raw) -> tuple[list[RawFilter], Raw] | None:
    """Return the plain filters and the pattern expression of one operand, None when it is neither."""
    if _is_pure(tree):
        return [], tree
    if not isinstance(tree, Group) or tree.kind != "and":
        return None

    filters = [arg for arg in tree.args if isinstance(arg, RawFilter)]
    patterns: list[Raw] = [arg for arg in tree.args if not isinstance(arg, RawFilter)]
    if not patterns or not all(_is_pure(arg) for arg in patterns):
        return None

    return filters, operator("and", patterns)


def _is_pure(tree: Raw) -> bool:
    return all(isinstance(leaf, RawPattern) for leaf in _leaves(tree))


def _leaves(tree: Raw) -> Iterator[RawFilter | RawPattern]:
    if isinstance(tree, Group):
        for arg in tree.args:
            yield from _leaves(arg)
    else:
        yield tree
