"""A query tree as indented text to be read: one line for each node."""

from __future__ import annotations

import json

from sourcelight.core.query.nodes import And, Filter, Node, Or, Pattern, Predicate
from sourcelight.core.query.printer__quoting import quote_value


def tree_text(node: Node | None, indent: str = "") -> str:
    """The tree with a line for each node, arguments below their operator.

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
        return f"{indent}{sign}{text}{' in content' if node.content else ''}"
    return f"{indent}{filter_text(node)}"


def filter_text(item: Filter | Predicate) -> str:
    """A filter as it would be typed."""
    dash = "-" if item.negated else ""
    if isinstance(item, Predicate):
        return f"{dash}{item.on}:{item.name}({' '.join(str(value) for value in item.args.values())})"
    value = item.value if not item.revs or item.name == "rev" else f"{item.value}@{':'.join(item.revs)}"
    return f"{dash}{item.name}:{quote_value(value)}"
