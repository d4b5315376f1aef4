"""Queries put together in Python: ``q.repo("redis") & q.text("foo bar") & ~q.file("_test")``.

Every value is quoted as it must be, so a caller never thinks about spaces, quotes, slashes or operator words.
"""

from __future__ import annotations

from dataclasses import dataclass

from sourcelight.core.errors import QueryError
from sourcelight.core.query.fields import ALIASES, FIELDS
from sourcelight.core.query.nodes import And, Filter, Node, Or, Pattern, Predicate, Query
from sourcelight.core.query.parse import parse
from sourcelight.core.query.printer import to_text
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.rewrite import combine


@dataclass(frozen=True, slots=True)
class Expression:
    """A query under construction; combine with ``&``, ``|`` and ``~``, and turn it into text with ``str``."""

    node: Node

    def __and__(self, other: Expression) -> Expression:
        return Expression(combine("and", [self.node, other.node]))

    def __or__(self, other: Expression) -> Expression:
        return Expression(combine("or", [self.node, other.node]))

    def __invert__(self) -> Expression:
        return Expression(_negate(self.node))

    def __str__(self) -> str:
        """Return text that reads as this expression whatever pattern type the search asks for."""
        for slashed in (False, True):
            body = to_text(self.node, slashed=slashed)
            text = f"patternType:keyword ({body})" if isinstance(self.node, Or) else f"patternType:keyword {body}"
            try:
                effective = parse(text, "standard").pattern_type
            except QueryError:
                continue
            if effective == "keyword":
                return text
        return to_text(self.node)

    def parse(self) -> Query:
        """Return the query, validated.

        Raises
        ------
        QueryError
            A value is wrong, such as an unknown language.
        """
        return parse(str(self), "keyword")


def text(value: str) -> Expression:
    """Return an exact phrase to find; spaces and every sign stand for themselves."""
    return Expression(Pattern(value, quoted=True))


def regexp(value: str) -> Expression:
    """Return a regular expression (RE2) to find."""
    if not value:
        raise ValueError("an empty regular expression finds everything: leave it out")
    return Expression(Pattern(value, "regexp"))


def content(value: str) -> Expression:
    """Return an exact phrase to find in file contents only, not in paths or names."""
    return Expression(Pattern(value, quoted=True, content=True))


def field(name: str, value: str) -> Expression:
    """Return the filter ``name:value`` with the value quoted as needed; `name` may be an alias such as ``r``.

    Raises
    ------
    ValueError
        There is no such field, or it has a function of its own here.
    """
    known = ALIASES.get(name.lower())
    if known is None or known in {"content", "patterntype"}:
        raise ValueError(f"no field {name!r} to build; there are {', '.join(sorted(FIELDS))}")
    revs: tuple[str, ...] | None = None
    if known == "repo" and "@" in value:
        value, _, rest = value.partition("@")
        revs = tuple(rest.split(":"))
    elif known == "rev":
        revs = tuple(value.split(":"))
    return Expression(Filter(known, value, revs=revs))


def repo(value: str, *, rev: str = "") -> Expression:
    """Return a filter on repository names by regular expression, at revision `rev` if one is given."""
    return field("repo", f"{value}@{rev}" if rev else value)


def exact_repo(name: str, *, rev: str = "") -> Expression:
    """Return a filter for the one repository called `name`."""
    return repo(f"^{escape_regexp(name)}$", rev=rev)


def file(value: str) -> Expression:
    """Return a filter on paths by regular expression."""
    return field("file", value)


def exact_file(path: str) -> Expression:
    """Return a filter for the one path `path`."""
    return field("file", f"^{escape_regexp(path)}$")


def lang(name: str) -> Expression:
    """Return a filter on the language, by name or alias."""
    return field("lang", name)


def case_sensitive() -> Expression:
    """Return ``case:yes``."""
    return field("case", "yes")


def type_(*names: str) -> Expression:
    """Return a choice of result types: file, path, repo, symbol, commit, diff."""
    if not names:
        raise ValueError("name at least one result type")
    return Expression(combine("and", [Filter("type", name) for name in names]))


def count(limit: int | None) -> Expression:
    """Return a limit on the number of matches; None for all of them."""
    return field("count", "99999999" if limit is None else str(limit))


def _negate(node: Node) -> Node:
    if isinstance(node, And | Or):
        return combine("or" if isinstance(node, And) else "and", [_negate(arg) for arg in node.args])
    if isinstance(node, Pattern):
        return Pattern(node.value, node.kind, negated=not node.negated, quoted=node.quoted, content=node.content)
    if isinstance(node, Predicate):
        return Predicate(node.on, node.name, node.args, negated=not node.negated)
    if not FIELDS[node.name].negatable:
        raise ValueError(f"{node.name}: can't be negated")
    if node.revs is not None:
        raise ValueError("a repo filter with revisions can't be negated")
    return Filter(node.name, node.value, negated=not node.negated, quoted=node.quoted)
