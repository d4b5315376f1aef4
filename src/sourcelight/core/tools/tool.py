"""Checks of arguments against a tool's schema, with errors that a caller can act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcelight.core.errors import ToolError

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "number": (int, float),
}


def check_arguments(call: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Check that `arguments` satisfy `schema`.

    Raises
    ------
    ToolError
        For an unknown argument (naming the accepted ones), a missing one, a wrong type or a value out of bounds.
    """
    properties: Mapping[str, Mapping[str, Any]] = schema["properties"]
    for name, value in arguments.items():
        if name not in properties:
            raise ToolError(
                f"{call} has no argument {name!r}; it takes {', '.join(properties)}",
                tool=call,
                argument=str(name),
                accepted=tuple(properties),
            )
        _check_value(call, name, properties[name], value)
    for name in schema.get("required", ()):
        if name not in arguments:
            raise ToolError(f"{call} needs the argument {name!r}", tool=call, argument=name)


def _check_value(call: str, name: str, schema: Mapping[str, Any], value: Any) -> None:
    kind = schema["type"]
    fits = isinstance(value, _TYPES[kind]) and not (kind in {"integer", "number"} and isinstance(value, bool))
    if not fits:
        raise ToolError(
            f"{call}: {name} has to be of type {kind}, not {type(value).__name__}", tool=call, argument=name
        )
    if kind == "array":
        for item in value:
            _check_value(call, f"an item of {name}", schema["items"], item)
        least_items = schema.get("minItems", 0)
        if len(value) < least_items:
            raise ToolError(f"{call}: {name} needs {least_items} or more items", tool=call, argument=name)
    choices = schema.get("enum")
    if choices is not None and value not in choices:
        raise ToolError(
            f"{call}: {name} can't be {value!r}; it is one of {', '.join(map(str, choices))}",
            tool=call,
            argument=name,
            accepted=tuple(map(str, choices)),
        )
    least, most = schema.get("minimum"), schema.get("maximum")
    if (least is not None and value < least) or (most is not None and value > most):
        bounds = f"{least} or more" if most is None else f"{least} to {most}"
        raise ToolError(f"{call}: {name} is {value}; it has to be {bounds}", tool=call, argument=name)
    if kind == "string" and len(value) < schema.get("minLength", 0):
        raise ToolError(f"{call}: {name} is empty", tool=call, argument=name)
