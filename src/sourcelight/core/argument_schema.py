"""JSON Schema of a tool's arguments, made from the types of a struct, and the check of arguments against it.

This struct::

    class RefsArguments(msgspec.Struct, rename="camel"):
        repo: Annotated[str, Meta(min_length=1, description="Name of the repository.")]
        max_rows: Annotated[int, Meta(ge=1)] | None = None

has this schema::

    {
        "type": "object",
        "properties": {
            "repo": {"type": "string", "minLength": 1, "description": "Name of the repository."},
            "maxRows": {"type": "integer", "minimum": 1},
        },
        "required": ["repo"],
    }

Marks say more about an argument than JSON Schema can. They are keys of ``extra`` of msgspec's `Meta`.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec

from sourcelight.core.errors import ToolError

JsonSchema: TypeAlias = Mapping[str, Any]

CLIENTS_ONLY = "clients_only"
"""Mark of an argument that only clients of this package send; lists of tools for MCP clients omit it."""

REFERENCE_ONLY = "reference_only"
"""Mark of an argument whose description is in the reference only; lists of tools omit the description."""

ROW_LIMIT = "row_limit"
"""Mark of an argument that is the maximum number of rows."""

PAGE_CURSOR = "page_cursor"
"""Mark of an argument that is the start or end of a page of rows."""

_JSON_TYPES: Mapping[Any, str] = {str: "string", int: "integer", bool: "boolean", float: "number"}
"""The type in a JSON Schema of each type of Python."""

_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list, tuple),
    "number": (int, float),
}
"""Types of the values that each type of JSON Schema accepts."""


@cache
def schema_of(arguments: type[msgspec.Struct]) -> JsonSchema:
    """Return the JSON Schema of arguments.

    Clients and models read it, so it has no references, titles, defaults or nulls, unlike the schemas of msgspec.
    ``additionalProperties`` is absent, since a vendor's client fails on it; `check_arguments` refuses unknown names.
    """
    properties = {name: argument_type.to_json() for name, argument_type in _argument_types(arguments).items()}
    required = [field.encode_name for field in msgspec.structs.fields(arguments) if field.required]
    return {"type": "object", "properties": properties, "required": required}


@cache
def names_marked(arguments: type[msgspec.Struct], mark: str) -> frozenset[str]:
    """Return the wire names of the arguments that have a mark."""
    return frozenset(name for name, argument_type in _argument_types(arguments).items() if mark in argument_type.marks)


def check_arguments(tool: str, schema: JsonSchema, arguments: Mapping[str, Any]) -> None:
    """Check arguments, by their wire names, against a schema that `schema_of` returned.

    msgspec could check as well, but its errors name neither the accepted arguments nor the bounds.

    Raises
    ------
    ToolError
        For an unknown argument (naming the accepted ones), a missing one, a wrong type or a value out of bounds.
    """
    properties: Mapping[str, JsonSchema] = schema["properties"]
    for name, value in arguments.items():
        if name not in properties:
            raise ToolError(
                f"{tool} has no argument {name!r}; it takes {', '.join(properties)}",
                tool=tool,
                argument=str(name),
                accepted=tuple(properties),
            )
        _check_value(tool, name, properties[name], value)

    for name in schema.get("required", ()):
        if name not in arguments:
            raise ToolError(f"{tool} needs the argument {name!r}", tool=tool, argument=name)


def _check_value(tool: str, name: str, schema: JsonSchema, value: Any) -> None:
    _check_type(tool, name, schema["type"], value)
    if schema["type"] == "array":
        for item in value:
            _check_value(tool, f"an item of {name}", schema["items"], item)

    _check_choice(tool, name, schema, value)
    _check_bounds(tool, name, schema, value)


def _check_type(tool: str, name: str, json_type: str, value: Any) -> None:
    is_accepted = isinstance(value, _PYTHON_TYPES[json_type])
    # True is an `int` of Python, but no number of JSON.
    if isinstance(value, bool) and json_type != "boolean":
        is_accepted = False
    if not is_accepted:
        message = f"{tool}: {name} must be of type {json_type}, not {type(value).__name__}"
        raise ToolError(message, tool=tool, argument=name)


def _check_choice(tool: str, name: str, schema: JsonSchema, value: Any) -> None:
    choices = schema.get("enum")
    if choices is None or value in choices:
        return

    accepted = tuple(map(str, choices))
    message = f"{tool}: {name} can't be {value!r}; it is one of {', '.join(accepted)}"
    raise ToolError(message, tool=tool, argument=name, accepted=accepted)


def _check_bounds(tool: str, name: str, schema: JsonSchema, value: Any) -> None:
    minimum = schema.get("minimum")
    maximum = schema.get("maximum")
    is_too_small = minimum is not None and value < minimum
    is_too_large = maximum is not None and value > maximum
    if is_too_small or is_too_large:
        bounds = f"{minimum} or more" if maximum is None else f"{minimum} to {maximum}"
        raise ToolError(f"{tool}: {name} must be {bounds}, got {value}", tool=tool, argument=name)

    if "minLength" in schema and len(value) < schema["minLength"]:
        raise ToolError(f"{tool}: {name} is empty", tool=tool, argument=name)


@dataclass(slots=True)
class _ArgumentType:
    """The type of an argument, and what all annotations around it and within it say.

    `bounds` are entries of JSON Schema, such as ``minimum``.
    """

    type: Any
    bounds: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    marks: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, hint: Any) -> _ArgumentType:
        """Strip annotations and None from a type."""
        if get_origin(hint) is Annotated:
            inner, *notes = get_args(hint)
            argument_type = cls.of(inner)
            for note in notes:
                argument_type.add(note)
            return argument_type

        if get_origin(hint) in {Union, types.UnionType}:
            (inner,) = (member for member in get_args(hint) if member is not types.NoneType)
            return cls.of(inner)

        return cls(hint)

    def add(self, note: msgspec.Meta) -> None:
        """Add what an annotation says. A description further outside replaces one further inside."""
        bounds = {"minimum": note.ge, "maximum": note.le, "minLength": note.min_length}
        self.bounds |= {name: value for name, value in bounds.items() if value is not None}
        self.bounds |= note.extra_json_schema or {}
        self.description = note.description or self.description
        self.marks |= set(note.extra or ())

    def to_json(self) -> dict[str, Any]:
        """Return the schema of a value of this type."""
        schema: dict[str, Any]
        if get_origin(self.type) is tuple:
            item_type = get_args(self.type)[0]
            schema = {"type": "array", "items": _ArgumentType.of(item_type).to_json()}
        else:
            schema = {"type": _JSON_TYPES[self.type]}

        schema |= self.bounds
        if self.description:
            schema["description"] = self.description
        return schema


@cache
def _argument_types(arguments: type[msgspec.Struct]) -> Mapping[str, _ArgumentType]:
    """Return the type of each argument, by its wire name."""
    hints = get_type_hints(arguments, include_extras=True)
    return {field.encode_name: _ArgumentType.of(hints[field.name]) for field in msgspec.structs.fields(arguments)}
