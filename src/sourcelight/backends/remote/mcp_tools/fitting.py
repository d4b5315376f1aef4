"""Arguments fitted to the schema that a server advertises for a tool. Pure.

Services name and shape the same argument differently: ``author`` or ``authors``, one text or a list of them, ``limit``
or ``count``. What a server can't take is an error that names what it takes, never dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.errors import CallError

_SAME: Mapping[str, Sequence[str]] = {
    "author": ("authors",),
    "authors": ("author",),
    "repo": ("repos",),
    "repos": ("repo",),
    "limit": ("count", "first"),
    "first": ("limit", "count"),
    "count": ("limit", "first"),
    "revision": ("revisions", "rev"),
    "revisions": ("revision",),
}


def taken(schema: Mapping[str, Any], *names: str) -> str | None:
    """The first of `names` that a server takes as an argument, or its other name there; None if it takes none."""
    properties = schema.get("properties", {})
    return next((n for name in names for n in (name, *_SAME.get(name, ())) if n in properties), None)


def bounds(schema: Mapping[str, Any], name: str) -> tuple[int | None, int | None]:
    """Smallest and largest value that a server advertises for a number."""
    told = schema.get("properties", {}).get(name, {})
    return told.get("minimum"), told.get("maximum")


def fitted(call: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """`arguments` as a server takes them.

    Parameters
    ----------
    call
        Name of the tool, for messages.
    arguments
        Arguments by the names of the service's documents.
    schema
        Input schema of the tool at the server.

    Raises
    ------
    CallError
        For an argument that the server can't take, and for one that it demands and that is missing.
    """
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    fits: dict[str, Any] = {}
    for name, value in arguments.items():
        there = taken(schema, name)
        if there is None:
            if schema.get("additionalProperties", True) is not False and not properties:
                fits[name] = value
                continue
            raise CallError(
                f"{call}: this service can't take {name}; its {call} takes {', '.join(properties) or 'nothing'}",
                call=call,
                argument=name,
                accepted=tuple(properties),
            )
        fits[there] = _shaped(call, name, value, properties[there])
    for name in schema.get("required", ()):
        if name not in fits:
            raise CallError(f"{call}: this service also needs {name!r}", call=call, argument=str(name))
    return fits


def _shaped(call: str, name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    kinds = _kinds(schema)
    if isinstance(value, list | tuple):
        if "array" in kinds or not kinds:
            return list(value)
        if len(value) == 1:
            return value[0]
        raise CallError(
            f"{call}: this service takes one {name} only; {len(value)} were given", call=call, argument=name
        )
    if "array" in kinds and "string" not in kinds and isinstance(value, str):
        return [value]
    return value


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    kinds = schema.get("type", [])
    found = {kinds} if isinstance(kinds, str) else set(kinds)
    for option in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= _kinds(option)
    return found
