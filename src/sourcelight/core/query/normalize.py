"""Normalize a tree as written: aliases, ``content:``, ``count:all``, joined runs.

What adjacent terms mean depends on the pattern type: in keyword search each must occur, in a regular expression they
follow one another with anything between, a plain text joins them by spaces, and in a pattern of code even the white
space stays as typed. Nodes are compared by value and so have no positions; the normalizer keeps these beside the nodes,
for the messages about errors.
"""

from __future__ import annotations

import re

from sourcelight.core.errors import QueryError
from sourcelight.core.query.fields import ALIASES, COUNT_ALL, STRUCTURE
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.lexer import RawFilter, RawPattern
from sourcelight.core.query.syntax.nodes import And, Filter, Node, Or, Pattern, Predicate
from sourcelight.core.query.syntax.parser import Group, Raw
from sourcelight.core.query.syntax.predicates import predicate

_TROUBLE = (
    "i'm having trouble understanding that query. The combination of parentheses is the problem. "
    "Try using the content: filter to quote patterns that contain parentheses"
)
_PARENS_TO_ESCAPE = re.compile(r"\\.|\(\)|\(\Z", re.DOTALL)


class Normalizer:
    """Turns raw trees of one query into nodes and remembers where each leaf began.

    Parameters
    ----------
    text
        The whole query.
    pattern_type
        The effective pattern type.
    """

    def __init__(self, text: str, pattern_type: str) -> None:
        self.text = text
        self.pattern_type = pattern_type
        self._starts: dict[int, int] = {}
        self._values: dict[int, tuple[tuple[int, str], ...]] = {}
        self._nodes: list[Node] = []

    def position(self, leaf: Node) -> int | None:
        """Return the byte offset in the query where `leaf` begins, None when it is not from this query."""
        start = self._starts.get(id(leaf))
        return None if start is None else self.byte_offset(start)

    def values(self, leaf: Node) -> tuple[tuple[int, str], ...]:
        """Return the parts that `leaf` is made of: the character where each begins in the query, and its value.

        A regular expression that joins several terms has several parts; a node that is not from this query has none.
        """
        return self._values.get(id(leaf), ())

    def byte_offset(self, position: int) -> int:
        """Return the offset in bytes of a character of the query."""
        return len(self.text[:position].encode("utf-8", "surrogatepass"))

    def rewrite(self, tree: Raw) -> Node:
        """Return the canonical tree.

        Raises
        ------
        QueryError
            A group with an operator is next to plain terms in standard or literal type.
        """
        if isinstance(tree, RawFilter):
            return self._leaf(self._filter(tree), tree.start, ((tree.value_start, _own_value(tree)),))
        if isinstance(tree, RawPattern):
            pattern = self._pattern(tree)
            return self._leaf(pattern, tree.start, ((tree.value_start, pattern.value),))
        if tree.kind == "run":
            return self._run(tree.args)

        return combine(tree.kind, [self.rewrite(arg) for arg in tree.args])

    def _leaf(self, node: Node, start: int, values: tuple[tuple[int, str], ...] = ()) -> Node:
        self._starts[id(node)] = start
        self._values[id(node)] = values
        self._nodes.append(node)  # keeps the node alive: Python reuses the id of an object that is gone
        return node

    def _filter(self, raw: RawFilter) -> Filter | Predicate | Pattern:
        name, value = ALIASES[raw.field.lower()], raw.value
        if name == "content":
            kind = "regexp" if self.pattern_type == "regexp" and not raw.quoted else "literal"
            if self.pattern_type == STRUCTURE:
                kind = "structure"
            return Pattern(value, kind, negated=raw.negated, quoted=raw.quoted, content=True)

        if raw.predicate is not None:
            return predicate(name, *raw.predicate, negated=raw.negated)

        revs: tuple[str, ...] | None = None
        if name == "repo" and not raw.negated and "@" in value:
            value, _, revisions = value.partition("@")
            revs = tuple(revisions.split(":"))
        elif name == "rev":
            revs = tuple(value.split(":"))
        elif name == "count" and value.lower() == "all":
            value = str(COUNT_ALL)

        return Filter(name, value, negated=raw.negated, quoted=raw.quoted, revs=revs)

    def _pattern(self, raw: RawPattern) -> Pattern:
        value = raw.value
        if self.pattern_type == "regexp" and raw.kind == "regexp" and not raw.slashed:
            value = escape_bare_parens(value)
        return Pattern(value, raw.kind, negated=raw.negated, quoted=raw.quoted, content=raw.kind == "structure")

    def _run(self, args: list[Raw]) -> Node:
        if self.pattern_type == "keyword":
            return combine("and", [self.rewrite(arg) for arg in args])
        if self.pattern_type == STRUCTURE:
            return combine("and", self._structures(args))
        if self.pattern_type != "regexp" and any(isinstance(arg, Group) for arg in args):
            raise QueryError(_TROUBLE, query=self.text, stage="parse", hint='use patternType:keyword, or content:"…"')

        parts: list[Node] = []
        run: list[RawPattern] = []

        # A run that begins with a negated term joins no terms at all.
        singly = self.pattern_type == "regexp" and isinstance(args[0], RawPattern) and args[0].negated
        for arg in args:
            if singly or not isinstance(arg, RawPattern) or not self._joins(arg):
                parts.extend(self._join(run))
                parts.append(self.rewrite(arg))
                run = []
            else:
                run.append(arg)

        parts.extend(self._join(run))
        return combine("and", parts)

    def _structures(self, args: list[Raw]) -> list[Node]:
        """Return patterns of code, each with its white space as written; NOT begins another and holds to its end."""
        parts: list[Node] = []
        run: list[RawPattern] = []
        for arg in [*args, None]:
            if run and (not isinstance(arg, RawPattern) or arg.negated):
                parts.append(self._structure(run))
                run = []
            if isinstance(arg, RawPattern):
                run.append(arg)
            elif arg is not None:
                parts.append(self.rewrite(arg))

        return parts

    def _structure(self, run: list[RawPattern]) -> Node:
        code, end = run[0].value, run[0].value_start + len(run[0].value)
        for raw in run[1:]:
            # White space counts in a pattern of code, so the text between the terms is kept as it was typed.
            between = self.text[end : raw.value_start]
            code += (between if between.isspace() else " ") + raw.value  # a filter may stand between two parts
            end = raw.value_start + len(raw.value)

        pattern = Pattern(code, "structure", negated=run[0].negated, content=True)
        return self._leaf(pattern, run[0].start, ((run[0].value_start, code),))

    def _joins(self, raw: RawPattern) -> bool:
        return not raw.negated and (self.pattern_type == "regexp" or raw.kind == "literal")

    def _join(self, raws: list[RawPattern]) -> list[Node]:
        if len(raws) < 2:
            return [self.rewrite(raw) for raw in raws]
        if self.pattern_type != "regexp":
            return [self._leaf(Pattern(" ".join(raw.value for raw in raws)), raws[0].start)]

        # Terms match in their order, with anything between them. A group keeps an alternation in a term apart.
        patterns = [self._pattern(raw) for raw in raws]
        parts = [escape_regexp(node.value) if node.kind == "literal" else node.value for node in patterns]
        pattern = Pattern(".*?".join(f"(?:{part})" for part in parts), "regexp")
        values = tuple((raw.value_start, part) for raw, part in zip(raws, parts, strict=True))
        return [self._leaf(pattern, raws[0].start, values)]


def _own_value(raw: RawFilter) -> str:
    if raw.predicate is not None:
        return raw.predicate[1]
    is_repo = ALIASES[raw.field.lower()] == "repo" and not raw.negated
    return raw.value.partition("@")[0] if is_repo else raw.value


def combine(kind: str, nodes: list[Node]) -> Node:
    """Return `nodes` under one ``and`` or ``or``: nested ones merged; in an ``and`` the filters come first."""
    node_type = And if kind == "and" else Or
    flat: list[Node] = []
    for node in nodes:
        flat.extend(node.args if isinstance(node, node_type) else [node])

    if len(flat) == 1:
        return flat[0]
    if kind == "or":
        return Or(tuple(flat))

    filters = [node for node in flat if isinstance(node, Filter | Predicate)]
    return And((*filters, *(node for node in flat if not isinstance(node, Filter | Predicate))))


def escape_bare_parens(regexp: str) -> str:
    """Return `regexp` with ``()`` and a ``(`` at its end made literal, as regexp search reads a bare term."""
    # The expression also matches escaped characters, so that a parenthesis behind a backslash stays as it is.
    return _PARENS_TO_ESCAPE.sub(_escape_parens, regexp)


def _escape_parens(match: re.Match[str]) -> str:
    text = match.group()
    return {"()": r"\(\)", "(": r"\("}.get(text, text)
