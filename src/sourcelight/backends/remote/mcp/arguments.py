"""Fit arguments to the schema that a server advertises for a tool.

Services name and shape the same argument differently: ``author`` or ``authors``, one text or a list of them, ``limit``
or ``count``. Arguments that a server can't take are an error that names those it takes, and never dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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

_MAX_MAXIMUM = 2**31 - 1
"""The largest maximum of a number that counts: no service takes more, so a larger one is a mistake."""


@dataclass(frozen=True, slots=True)
class AcceptedArguments:
    """The arguments that a server accepts for a tool.

    Attributes
    ----------
    types
        For each argument, the JSON types that it may have; none if the schema doesn't say.
    maximums
        Maximums of numbers, where the schema has one.
    required
        Names of arguments without which the server refuses a call.
    accepts_others
        Whether the server accepts arguments that its schema doesn't name.
    """

    types: Mapping[str, frozenset[str]]
    maximums: Mapping[str, int]
    required: tuple[str, ...]
    accepts_others: bool

    @classmethod
    def from_schema(cls, schema: Mapping[str, Any]) -> AcceptedArguments:
        """Read the JSON Schema of a tool's input.

        A service may have written any part of it wrong; such a part counts as absent.
        """
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            properties = {}

        types: dict[str, frozenset[str]] = {}
        maximums: dict[str, int] = {}
        for name, property_schema in properties.items():
            types[name] = frozenset(_types_in(property_schema))
            maximum = property_schema.get("maximum") if isinstance(property_schema, Mapping) else None
            if isinstance(maximum, int) and not isinstance(maximum, bool) and 0 < maximum <= _MAX_MAXIMUM:
                maximums[name] = maximum

        required = [name for name in _list_or_empty(schema.get("required")) if isinstance(name, str)]
        return cls(types, maximums, tuple(required), schema.get("additionalProperties", True) is not False)

    def __contains__(self, name: str) -> bool:
        return name in self.types

    def name_of(self, argument: str) -> str | None:
        """Return the server's name of an argument, which may be another one; None if it accepts none of them."""
        for name in (argument, *_OTHER_NAMES.get(argument, ())):
            if name in self.types:
                return name
        return None

    def fit(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments with the names and in the shape that the server accepts.

        Parameters
        ----------
        tool
            Name of the tool, for messages.
        arguments
            Arguments by the names of the service's documents.

        Raises
        ------
        ToolError
            For an argument that the server doesn't accept, and for a missing one that it requires.
        """
        # A server may advertise nothing, and accept everything.
        accepts_all = not self.types and self.accepts_others
        fitted_arguments: dict[str, Any] = {}
        for argument, value in arguments.items():
            name = argument if accepts_all else self.name_of(argument)
            if name is None:
                names = ", ".join(self.types) or "no arguments"
                raise ToolError(
                    f"{tool}: this service doesn't accept {argument}; it accepts {names}",
                    tool=tool,
                    argument=argument,
                    accepted=tuple(self.types),
                )

            types = self.types.get(name, frozenset())
            if _needs_single_value(value, types):
                raise ToolError(
                    f"{tool}: this service accepts one {argument}, got {len(value)}", tool=tool, argument=argument
                )
            fitted_arguments[name] = value if accepts_all else _in_shape(value, types)

        for name in self.required:
            if name not in fitted_arguments:
                raise ToolError(f"{tool}: this service requires {name!r}", tool=tool, argument=name)

        return fitted_arguments


def texts_of(arguments: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts of an argument that may be one text, a list of them, or missing."""
    value = arguments.get(name) or ()
    if isinstance(value, str):
        return [value]
    return [str(item) for item in value]


def _types_in(schema: Any) -> Iterator[str]:
    """Yield the types that a schema accepts: one, a list of them, or those of its options."""
    if not isinstance(schema, Mapping):
        return

    options = [*_list_or_empty(schema.get("anyOf")), *_list_or_empty(schema.get("oneOf"))]
    for part in (schema, *options):
        part_type = part.get("type") if isinstance(part, Mapping) else None
        if isinstance(part_type, str):
            yield part_type
        for name in _list_or_empty(part_type):
            if isinstance(name, str):
                yield name


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _needs_single_value(value: Any, types: frozenset[str]) -> bool:
    """Return whether a value is a list that a server would accept only with one element."""
    if not isinstance(value, list | tuple) or not types:
        return False
    return "array" not in types and len(value) != 1


def _in_shape(value: Any, types: frozenset[str]) -> Any:
    """Return a value as a list or as a single value, whichever a server accepts."""
    if isinstance(value, list | tuple):
        accepts_lists = not types or "array" in types
        return list(value) if accepts_lists else value[0]

    if isinstance(value, str) and "array" in types and "string" not in types:
        return [value]

    return value
