"""The nodes of a query tree and their canonical JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Pattern:
    """Text to find. `kind` is ``literal`` or ``regexp`` (RE2); `content` when it came from ``content:``."""

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
