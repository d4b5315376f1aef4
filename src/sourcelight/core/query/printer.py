"""Trees back to text that reads as the same tree, and the quoting that needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from sourcelight.core.errors import QueryError
from sourcelight.core.query.lexer import WHITE, RawFilter, RawPattern
from sourcelight.core.query.nodes import And, Filter, Node, Or, Pattern, Predicate
from sourcelight.core.query.parser import Group, Raw, parse_tree
from sourcelight.core.query.predicates import predicate
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.rewrite import escape_bare_parens

_CONTROLS = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_SLASHED = re.compile(r"\\(?=[\\/nrt]|\Z)|/")
_OPEN_MARK = re.compile(r"""(["'/])(?:(?!\1)[^\\]|\\.)*\\?""", re.DOTALL)  # a later term may close it
_WHITE = re.compile(f"[{WHITE}]")
_META_PLAIN = re.compile(r"[\w.@+*-][\w.@+* -]*(?<! )")


def to_text(node: Node | None, pattern_type: str = "keyword", *, slashed: bool = False) -> str:
    r"""Return a query that reads as `node` when it is parsed as `pattern_type`.

    Two things are written differently from how they may have been typed: a literal that can only stand in quotes gets
    them (and is marked so when read again), and ``patterntype:`` is left out, because the text is in `pattern_type`.

    Parameters
    ----------
    node
        A canonical tree; None gives an empty text.
    pattern_type
        ``keyword`` or ``regexp``.
    slashed
        Write literals as regular expressions between slashes, which every type but ``literal`` reads alike.

    Raises
    ------
    ValueError
        `node` has a part that `pattern_type` can't express, such as a regular expression under ``content:`` in
        keyword type.

    Examples
    --------
    >>> to_text(And((Filter("repo", "redis"), Pattern("foo bar"))))
    'repo:redis "foo bar"'
    """
    if pattern_type not in {"keyword", "regexp"}:
        raise ValueError(f"queries are written in keyword or regexp type, not {pattern_type!r}")
    printer = _Printer(pattern_type, slashed=slashed)
    return "" if node is None or _is_pattern_type(node) else printer.text(node, 0)


def quote_value(value: str) -> str:
    r"""Return `value` as it must stand behind a filter's colon: as it is, or in double quotes with escapes.

    Examples
    --------
    >>> quote_value(r"^github\.com/a/b$")
    '^github\\.com/a/b$'
    >>> quote_value("5 days ago")
    '"5 days ago"'
    """
    return value if value and _is_plain_value(value) else _in_quotes(value)


def quote_pattern(text: str) -> str:
    """Return `text` as one literal of keyword search: as it is when that is safe anywhere, else in double quotes."""
    return text if text and _alone(text, "keyword") == text else _in_quotes(text)


def slash_regexp(regexp: str) -> str:
    """Return the regular expression between slashes, as keyword, standard and regexp search read it."""
    return f"/{_SLASHED.sub(lambda found: chr(92) + found.group(), regexp)}/"


def literal_regexp(text: str) -> str:
    """Return a regular expression without white space that matches just `text`."""
    return _WHITE.sub(lambda found: rf"\x{{{ord(found.group()):x}}}", escape_regexp(text)).replace(r"\x{20}", r"\ ")


class _Printer:
    def __init__(self, pattern_type: str, *, slashed: bool) -> None:
        self._type = pattern_type
        self._slashed = slashed

    def text(self, node: Node, depth: int) -> str:
        if isinstance(node, Filter):
            return self._filter(node)
        if isinstance(node, Predicate):
            return _predicate(node)
        if isinstance(node, Pattern):
            return self._pattern(node)
        parts = [self._operand(arg, node, depth) for arg in node.args if not _is_pattern_type(arg)]
        if isinstance(node, Or):
            return " OR ".join(parts)
        return (" " if self._type == "keyword" and not self._slashed else " AND ").join(parts)

    def _operand(self, arg: Node, parent: And | Or, depth: int) -> str:
        text = self.text(arg, depth + 1)
        # Near the top an AND inside an OR needs its parentheses: they keep its filters from being moved out.
        grouped = isinstance(arg, Or) or (isinstance(arg, And) and (isinstance(parent, And) or depth < 2))
        return f"({text})" if grouped and " " in text else text

    def _filter(self, node: Filter) -> str:
        value = node.value
        if node.name == "repo" and node.revs is not None:
            value = f"{value}@{':'.join(node.revs)}"
        written = _in_quotes(value) if node.quoted else quote_value(value) if value else ""
        return f"{'-' if node.negated else ''}{node.name}:{written}"

    def _pattern(self, node: Pattern) -> str:
        if node.content:
            return f"{'-' if node.negated else ''}content:{self._content(node)}"
        if node.kind == "regexp":
            text = self._regexp(node.value)
        elif self._slashed and node.value:
            text = slash_regexp(literal_regexp(node.value))
        elif node.quoted or self._type == "regexp":
            text = _in_quotes(node.value)
        else:
            text = quote_pattern(node.value)
        return f"NOT {text}" if node.negated else text

    def _regexp(self, value: str) -> str:
        if self._type == "regexp" and escape_bare_parens(value) == value and _alone(value, "regexp") == value:
            return value
        if not value:
            raise ValueError("an empty regular expression can't be written between slashes")
        return slash_regexp(value)

    def _content(self, node: Pattern) -> str:
        if node.kind == "regexp":
            if self._type != "regexp" or not (
                _is_plain_value(node.value) and escape_bare_parens(node.value) == node.value
            ):
                raise ValueError(f"content:{node.value} as a regular expression can't be written in {self._type} type")
            return node.value
        return _in_quotes(node.value) if node.quoted or self._type == "regexp" else quote_value(node.value)


def _is_pattern_type(node: Node) -> bool:
    return isinstance(node, Filter) and node.name == "patterntype"


def _predicate(node: Predicate) -> str:
    inner = _arguments(node)
    text = f"{'-' if node.negated else ''}{node.on}:{node.name}({inner})"
    read = _second(f"(x {text} x)", "keyword", terms=3)
    if isinstance(read, RawFilter) and read.predicate is not None:
        back = predicate(node.on, *read.predicate, negated=read.negated)
        if (back.name, dict(back.args), back.negated) == (node.name, dict(node.args), node.negated):
            return text
    raise ValueError(f"{text} can't be written so that it reads back alike")


def _arguments(node: Predicate) -> str:
    args = node.args
    if node.name == "has.file":
        return " ".join(f"{key}:{quote_value(str(args[key]))}" for key in ("path", "content") if key in args)
    if node.name == "at.time":
        return str(args["time"]) if args.get("rev") == "HEAD" else f"{args['time']}, {args['rev']}"
    if node.name == "has.meta":
        key = _meta(str(args["key"]), is_regexp=bool(args.get("keyRegexp")))
        if args["mode"] == "key":
            return key
        value = _meta(str(args["value"]), is_regexp=bool(args.get("valueRegexp"))) if args["mode"] == "pair" else ""
        return f"{key}:{value}"
    return str(next(iter(args.values()), ""))


def _meta(text: str, *, is_regexp: bool) -> str:
    if is_regexp:
        return "/" + text.replace("/", r"\/") + "/"
    if _META_PLAIN.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _in_quotes(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    for char, written in _CONTROLS.items():
        escaped = escaped.replace(char, written)
    return f'"{escaped}"'


@lru_cache(maxsize=1 << 12)
def _is_plain_value(value: str) -> bool:
    """Tell whether `value` unquoted is read whole, wherever a filter with it stands."""
    return all(_value_between(f"{field}:{value}") == value for field in ("repo", "file", "rev"))


def _value_between(text: str) -> str | None:
    value = None
    for around, terms in ((f"(x {text} x)", 3), (f"(x {text})", 2)):
        read = _second(around, "keyword", terms=terms)
        if not isinstance(read, RawFilter) or read.quoted or read.predicate is not None:
            return None
        value = read.value
    return value


def _alone(text: str, pattern_type: str) -> str | None:
    """Return what a term `text` between any two others is read as, None when it is not one plain positive term."""
    value = None
    for around, terms in ((f"(x and {text} and x)", 3), (f"(x and {text})", 2)):
        read = _second(around, pattern_type, terms=terms)
        if not isinstance(read, RawPattern) or read.quoted or read.slashed or read.negated:
            return None
        value = read.value
    return None if _OPEN_MARK.fullmatch(text) else value


def _second(text: str, pattern_type: str, *, terms: int) -> Raw | None:
    """Return the second of the `terms` terms of `text`, None when it holds another number of them."""
    try:
        tree = parse_tree(text, pattern_type)
    except QueryError:
        return None
    found = sorted(_flat([tree]), key=lambda term: term.start) if tree is not None else []
    return found[1] if len(found) == terms else None


def _flat(trees: Iterable[Raw]) -> Iterable[RawFilter | RawPattern]:
    for tree in trees:
        if isinstance(tree, Group):
            yield from _flat(tree.args)
        else:
            yield tree
