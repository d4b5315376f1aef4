"""Fit arguments to the schema that a server advertises for a tool.

Services name and shape the same argument differently: ``author`` or ``authors``, one text or a list of them, ``limit``
or ``count``. Arguments that a server can't take are an error that names those it takes, and never dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.errors import ToolError

_OTHER_NAMES: Mapping[str, Sequence[str]] = {
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
"""Names of an argument at other servers, the likeliest first."""


_MAX_LIMIT = 2**31 - 1  # the largest that any service takes


def readable_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return what calls read of an input schema: types and limits of arguments, and the required ones.

    A service may have written any part of it wrong; such a part counts as absent.
    """
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping):
        properties = {}
    return {
        "properties": {name: _readable_property(property_schema) for name, property_schema in properties.items()},
        "required": [name for name in required if isinstance(name, str)] if isinstance(required, list) else [],
        "additionalProperties": schema.get("additionalProperties", True),
    }


def _readable_property(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        return {"type": []}

    limits = {}
    for name in ("minimum", "maximum"):
        limit = schema.get(name)
        if isinstance(limit, int) and not isinstance(limit, bool) and 0 < limit <= _MAX_LIMIT:
            limits[name] = limit
    return {"type": sorted(_types_of(schema)), **limits}


def _types_of(schema: Mapping[str, Any]) -> set[str]:
    """Return the types that a schema accepts: one, a list of them, or those of its options."""
    types: set[str] = set()
    options = [option for key in ("anyOf", "oneOf") for option in _list_of(schema.get(key))]
    for part in (schema, *options):
        own_types = part.get("type") if isinstance(part, Mapping) else None
        types.update(kind for kind in [own_types, *_list_of(own_types)] if isinstance(kind, str))
    return types


def _list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def accepted_name(schema: Mapping[str, Any], *names: str) -> str | None:
    """Return the first of `names` that a server accepts, or its name there, or None if it accepts none."""
    properties = schema.get("properties", {})
    for name in names:
        for candidate in (name, *_OTHER_NAMES.get(name, ())):
            if candidate in properties:
                return candidate
    return None


def texts_of(arguments: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts of an argument that may be one text, a list of them, or missing."""
    value = arguments.get(name) or ()
    if isinstance(value, str):
        return [value]
    return [str(item) for item in value]


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
        Input schema of the tool at the server, as `readable_schema` returns it.

    Raises
    ------
    ToolError
        For an argument that the server doesn't accept, and for a missing one that it requires.
    """
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    # A server may advertise nothing, and take everything.
    takes_any = not properties and schema.get("additionalProperties", True) is not False
    fitted_arguments: dict[str, Any] = {}
    for name, value in arguments.items():
        if takes_any:
            fitted_arguments[name] = value
            continue

        server_name = accepted_name(schema, name)
        if server_name is None:
            raise ToolError(
                f"{call}: this service doesn't accept {name}; it accepts {', '.join(properties) or 'no arguments'}",
                tool=call,
                argument=name,
                accepted=tuple(properties),
            )

        fitted_arguments[server_name] = _shape_value(call, name, value, properties[server_name])

    for name in schema.get("required", ()):
        if name not in fitted_arguments:
            raise ToolError(f"{call}: this service requires {name!r}", tool=call, argument=str(name))

    return fitted_arguments


def _shape_value(call: str, name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value as a list or as a single value, whichever a server accepts."""
    types = schema["type"]
    if isinstance(value, list | tuple):
        if "array" in types or not types:
            return list(value)
        if len(value) == 1:
            return value[0]
        raise ToolError(f"{call}: this service accepts one {name}, got {len(value)}", tool=call, argument=name)

    if isinstance(value, str) and "array" in types and "string" not in types:
        return [value]

    return value
