"""Kinds of definitions, as the wire names them but in lower case."""

from __future__ import annotations

KINDS: tuple[str, ...] = (
    "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum",
    "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null",
    "enummember", "struct", "event", "operator", "typeparameter",
)  # fmt: skip
"""A kind's number in stored tables is its place here: append only."""

_CODES = {kind: code for code, kind in enumerate(KINDS)}


def kind_code(kind: str) -> int | None:
    """Give a kind's number; also for the spellings of ``select:`` (``enum-member``). None for what is no kind."""
    return _CODES.get(kind.lower().replace("-", ""))
