"""Arguments fitted to the schema that a server advertises for a tool. Pure.

Services name and shape the same argument differently: ``author`` or ``authors``, one text or a list of them, ``limit``
or ``count``. Arguments that a server can't take are an error that names those it takes, and never dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.errors import ToolError

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


def accepted_name(schema: Mapping[str, Any], *names: str) -> str | None:
    """Return the first of `names` that a server accepts, or its name there, or None if it accepts none."""
    properties = schema.get("properties", {})
    return next((n for name in names for n in (name, *_SAME.get(name, ())) if n in properties), None)


def texts_of(arguments: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts of an argument that may be one text, a list of them, or missing."""
    value = arguments.get(name) or ()
    return [value] if isinstance(value, str) else [str(item) for item in value]


def limits_of(schema: Mapping[str, Any], name: str) -> tuple[int | None, int | None]:
    """Return the minimum and maximum that a server advertises for a number."""
    property_schema = schema.get("properties", {}).get(name, {})
    return property_schema.get("minimum"), property_schema.get("maximum")


def fit_arguments(call: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return `arguments` in the shape that a server accepts.

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
    ToolError
        For an argument that the server doesn't accept, and for a missing one that it requires.
    """
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    fits: dict[str, Any] = {}
    for name, value in arguments.items():
        there = accepted_name(schema, name)
        if there is None:
            if schema.get("additionalProperties", True) is not False and not properties:
                fits[name] = value
                continue
            raise ToolError(
                f"{call}: this service doesn't accept {name}; it accepts {', '.join(properties) or 'no arguments'}",
                tool=call,
                argument=name,
                accepted=tuple(properties),
            )

        fits[there] = _shape_value(call, name, value, properties[there])

    for name in schema.get("required", ()):
        if name not in fits:
            raise ToolError(f"{call}: this service requires {name!r}", tool=call, argument=str(name))

    return fits


def _shape_value(call: str, name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    kinds = _kinds(schema)
    if isinstance(value, list | tuple):
        if "array" in kinds or not kinds:
            return list(value)
        if len(value) == 1:
            return value[0]
        raise ToolError(f"{call}: this service accepts one {name}, got {len(value)}", tool=call, argument=name)

    if "array" in kinds and "string" not in kinds and isinstance(value, str):
        return [value]

    return value


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    kinds = schema.get("type", [])
    types = {kinds} if isinstance(kinds, str) else set(kinds)
    for option in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        types |= _kinds(option)
    return types
