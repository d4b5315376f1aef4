"""The nodes of a query tree, its alternatives with typed access, its canonical JSON and its display as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sourcelight.core.query.dates import duration_s
from sourcelight.core.query.fields import COUNT_ALL, COUNT_RANKED, PATH_REGEXPS, boolean, yes_no_only
from sourcelight.core.query.syntax.quoting import quote_value


@dataclass(frozen=True, slots=True)
class Pattern:
    """Text to find. `kind` is ``literal``, ``regexp`` (RE2) or ``structure`` (code with metavariables, ast-grep's).

    `content` when it came from ``content:``, and for every structure, which no path has.
    """

    value: str
    kind: str = "literal"
    negated: bool = False
    quoted: bool = False
    content: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """A field with its value; `name` is canonical and lower case (``repo``, ``file``, ``lang``, ``count`` …).

    `revs` is set for ``rev`` and for a ``repo`` filter with ``@``: the raw parts; None elsewhere. For such a repo
    filter `value` is the text before the first ``@``.
    """

    name: str
    value: str
    negated: bool = False
    quoted: bool = False
    revs: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Predicate:
    """A filter of the form ``repo:has.path(…)``; `on` is ``repo``, ``file`` or ``rev``, `name` is canonical."""

    on: str
    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    negated: bool = False


@dataclass(frozen=True, slots=True)
class And:
    """All of `args` (two or more)."""

    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of `args` (two or more)."""

    args: tuple[Node, ...]


Node = Pattern | Filter | Predicate | And | Or


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to satisfy a query: a flat list of filters and at most one pattern expression.

    `types` are the result types it asks for, in the order file, path, repo, symbol, commit, diff; `boost` is the
    phrase that lifts a file's rank in keyword search, None without one.
    """

    filters: tuple[Filter | Predicate, ...]
    pattern: Pattern | And | Or | None
    types: tuple[str, ...]
    boost: str | None = None
    # A search asks for some 40 fields of each alternative: grouped once, that is a look-up.
    _by_field: Mapping[str, tuple[Filter, ...]] = field(init=False, repr=False, compare=False)
    _by_target: Mapping[str | None, tuple[Predicate, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_field: dict[str, tuple[Filter, ...]] = {}
        by_target: dict[str | None, tuple[Predicate, ...]] = {}
        for node in self.filters:
            if isinstance(node, Filter):
                by_field[node.name] = (*by_field.get(node.name, ()), node)
            else:
                by_target[node.on] = (*by_target.get(node.on, ()), node)
                by_target[None] = (*by_target.get(None, ()), node)

        object.__setattr__(self, "_by_field", by_field)
        object.__setattr__(self, "_by_target", by_target)

    def first(self, name: str) -> Filter | None:
        """Return the first positive filter of field `name`, None without one."""
        for node in self._by_field.get(name, ()):
            if not node.negated:
                return node
        return None

    def all(self, name: str) -> tuple[Filter, ...]:
        """Return the filters of field `name` in order, negated ones included; predicates are not among them."""
        return self._by_field.get(name, ())

    def path_filters(self) -> list[tuple[Filter, str]]:
        """Return the filters that a path decides, in order, with the regular expression that the path must match."""
        return [
            (node, PATH_REGEXPS[node.name](node.value))
            for node in self.filters
            if isinstance(node, Filter) and node.value and node.name in PATH_REGEXPS
        ]

    def predicates(self, on: str | None = None) -> tuple[Predicate, ...]:
        """Return the predicates on the field `on` in order; all of them when None."""
        return self._by_target.get(on, ())

    def count_limit(self, default: int | None = None) -> int | None:
        """Return the number after which to stop: None for ``count:all``, `default` when nothing is asked."""
        node = self.first("count")
        if node is None:
            return default
        return None if int(node.value) >= COUNT_ALL else int(node.value)

    def ranks_all(self) -> bool:
        """Return whether all rows are requested, best first; their order then must not depend on time."""
        node = self.first("count")
        return node is not None and int(node.value) == COUNT_RANKED

    def timeout_s(self) -> float | None:
        """Return the seconds that ``timeout:`` allows (0 at least), None when it is not given."""
        node = self.first("timeout")
        seconds = duration_s(node.value) if node else None
        return None if seconds is None else max(seconds, 0.0)

    def case_sensitive(self) -> bool:
        """Return whether ``case:yes`` is in force."""
        node = self.first("case")
        return bool(node and boolean(node.value))

    def yes_no_only(self, name: str) -> str | None:
        """Return ``yes``, ``no`` or ``only`` of ``fork``, ``archived`` or ``index``, or None when it is not given."""
        node = self.first(name)
        return yes_no_only(node.value) if node else None

    def visibility(self) -> str:
        """Return ``any``, ``public`` or ``private``; other values mean any."""
        node = self.first("visibility")
        value = node.value.lower() if node else "any"
        return value if value in {"public", "private"} else "any"

    def select(self) -> tuple[str, ...]:
        """Return the path of ``select:`` in parts, empty when it is not given."""
        node = self.first("select")
        return tuple(node.value.split(".")) if node and node.value else ()

    def revisions(self, repo: Filter) -> tuple[str, ...]:
        """Return the revisions that `repo` asks for, from its own ``@`` or from ``rev:``; none means HEAD."""
        node = repo if repo.revs is not None else self.first("rev")
        return tuple(rev for rev in (node.revs or () if node else ()) if rev)


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed and validated query.

    `pattern_type` is the effective one. `root` is the tree before expansion, None for an empty query; `plan` holds
    its alternatives, whose results are united.
    """

    text: str
    pattern_type: str
    root: Node | None
    plan: tuple[Alternative, ...]

    def canonical(self) -> Any:
        """Return the tree as plain lists, dicts, texts and True, ready for JSON, or None for an empty query."""
        return canonical(self.root)

    def __repr__(self) -> str:
        # The printer is made of nodes, so it can only be imported once they are there.

        return f"Query({self.text!r}, {self.pattern_type})\n{tree_text(self.root, '  ')}"


def canonical(node: Node | None) -> Any:
    """Return the tree below `node` as plain lists, dicts, strings and True: the form other tools compare.

    Operators are ``{"op", "args"}``; filters ``{"filter", "value"}`` with ``revs`` where they have some; predicates
    ``{"filter", "predicate", "args"}``; patterns ``{"pattern", "kind"}``. ``negated``, ``quoted`` and ``content``
    appear only when true. An empty query is None.
    """
    if node is None:
        return None
    if isinstance(node, And | Or):
        return {"op": "and" if isinstance(node, And) else "or", "args": [canonical(arg) for arg in node.args]}

    form: dict[str, Any]
    if isinstance(node, Predicate):
        form = {"filter": node.on, "predicate": node.name, "args": dict(node.args)}
    elif isinstance(node, Filter):
        form = {"filter": node.name, "value": node.value}
        if node.revs is not None:
            form["revs"] = list(node.revs)
    else:
        form = {"pattern": node.value, "kind": node.kind}

    form.update({flag: True for flag in ("negated", "quoted", "content") if getattr(node, flag, False)})
    return form


def tree_text(node: Node | None, indent: str = "") -> str:
    """Return the tree with a line for each node, arguments below their operator.

    Examples
    --------
    >>> print(tree_text(And((Filter("repo", "redis"), Pattern("foo bar")))))
    AND
      repo:redis
      "foo bar"
    """
    if node is None:
        return f"{indent}(empty)"
    if isinstance(node, And | Or):
        head = "AND" if isinstance(node, And) else "OR"
        return "\n".join([f"{indent}{head}", *(tree_text(arg, f"{indent}  ") for arg in node.args)])

    if isinstance(node, Pattern):
        sign = "NOT " if node.negated else ""
        text = f"/{node.value}/" if node.kind == "regexp" else json.dumps(node.value, ensure_ascii=False)
        if node.kind == "structure":
            suffix = " as code"
        elif node.content:
            suffix = " in content"
        else:
            suffix = ""
        return f"{indent}{sign}{text}{suffix}"

    return f"{indent}{filter_text(node)}"


def filter_text(item: Filter | Predicate) -> str:
    """Return a filter as it would be typed."""
    dash = "-" if item.negated else ""
    if isinstance(item, Predicate):
        return f"{dash}{item.on}:{item.name}({' '.join(str(value) for value in item.args.values())})"
    value = item.value if not item.revs or item.name == "rev" else f"{item.value}@{':'.join(item.revs)}"
    return f"{dash}{item.name}:{quote_value(value)}"
