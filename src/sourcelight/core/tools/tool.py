"""The definition of a tool: arguments, columns, scope and limits as data, and the checks of its arguments.

A tool is defined once, by a `Tool` in a module of this room. Its JSON schema, the checks of its arguments, the names
that settings accept, the MCP endpoints, the routes of clusters and federations, and the reference pages are derived
from that definition.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from sourcelight.core.errors import ToolError
from sourcelight.core.tools.merge import Merge

WireArguments: TypeAlias = Mapping[str, Any]
"""Arguments as a caller sends them: JSON values by their names on the wire; those that are not given are absent."""

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Number: TypeAlias = Annotated[int, Meta(ge=1)]

Limit: TypeAlias = Annotated[int, Meta(ge=1, extra={"part": True})]
"""The most rows that the caller wants."""

Cursor: TypeAlias = Annotated[str, Meta(extra={"part": True, "cursor": True})]
"""Start or end of the requested page."""

MAX_TOKENS_ARGUMENT = "maxTokens"
CURSOR_ARGUMENT = "cursor"

PAGE_SCHEMA: Mapping[str, Mapping[str, Any]] = {
    MAX_TOKENS_ARGUMENT: {"type": "integer"},
    CURSOR_ARGUMENT: {"type": "string"},
}
"""Schemas of both. The server's instructions explain them once, not each tool."""

ROWS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "columns": {"type": "array", "items": {"type": "string"}},
        "rows": {"type": "array", "items": {"type": "array"}},
    },
    "required": ["columns", "rows", "limitHit"],
}
"""JSON Schema of structured content that is a table: rows of values, in the order of the columns.

Every tool repeats it, so it only describes a table; docs/mcp.md has the other keys.
"""

_BOUNDS = frozenset({"minimum", "maximum", "minLength"})

_JSON_TYPES: Mapping[Any, str] = {str: "string", int: "integer", bool: "boolean", float: "number"}

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list, tuple),
    "number": (int, float),
}


def describe(description: str) -> Meta:
    """Return the note of an argument that needs no description in a list of tools, which models pay for by the word.

    Its name explains it, or the text of its tool, or the instructions of the server do. The reference has the
    description.
    """
    return Meta(description=description, extra={"plain": True})


Repo: TypeAlias = Annotated[Text, describe("Name of the repository, such as github.com/owner/name.")]
Revision: TypeAlias = Annotated[
    str | None,
    describe("Branch, tag or commit; ~2 or ^ may follow. Without it: the default branch."),
]
UseRegex: TypeAlias = Annotated[
    bool | None,
    describe("Texts are case-sensitive RE2 regular expressions; default: literal, in any case."),
]


def choice(*values: str) -> Meta:
    """Return a note that a text is one of `values`."""
    return Meta(extra_json_schema={"enum": list(values)})


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Arguments of a tool: snake_case in Python, the service's camelCase on the wire; None if omitted."""

    def to_wire(self) -> dict[str, Any]:
        """Return the arguments that are set, by their names on the wire."""
        values = ((field.encode_name, getattr(self, field.name)) for field in msgspec.structs.fields(self))
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values if value is not None}


A = TypeVar("A", bound=Arguments)


class Scope(Enum):
    """The data that a tool reads, which decides where it runs in a cluster and in a federation."""

    CATALOG = "the list of repositories"
    SEARCH = "a search, which the engine spreads over its repositories itself"
    RANKING = "a ranked search, whose parts exchange statistics"
    REPOSITORY = "one repository, which `repo` names"
    REPOSITORIES = "each of several repositories on its own"
    SYMBOL = "a name in one repository, which is followed into others"
    ACROSS = "several repositories together"
    CONVERSATION = "deep search"


@dataclass(frozen=True, slots=True)
class McpText:
    """Texts and hints about a tool for MCP clients.

    Parameters
    ----------
    title, description
        For the people and models that choose a tool.
    read_only
        False for a tool that creates something.
    required
        Arguments that the advertised schema calls required although they aren't. A call may do without them.
    suite
        ``default`` for the tools of the specification, which every suite has; ``all`` for one that only the suite of
        all tools has.
    """

    title: str
    description: str
    read_only: bool = True
    required: tuple[str, ...] = ()
    suite: Literal["default", "all"] = "default"


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """The definition of a tool.

    Parameters
    ----------
    name
        Its name on the wire, and of the method that calls it.
    arguments
        Type of its arguments.
    columns
        Columns of its table: a key of `sourcelight.core.tools.catalog.COLUMNS`.
    scope
        What it reads.
    mcp
        None for a tool that only clients offer, an analysis.
    merge
        How a federation merges the tables of its services; None: one service answers.
    mcp_maximum
        Largest values that MCP accepts, by wire name: of a number its value, of a list its length.
    immediate
        Whether it answers at once, so that a call needs no stream of progress.
    reads
        Whose contents an answer may depend on: ``repositories`` for any file of the repositories, ``path`` for the
        files of the argument `path` alone, empty for no contents, or only for contents whose absence is an error.
    """

    name: str
    arguments: type[A]
    columns: str
    scope: Scope
    mcp: McpText | None = None
    merge: Merge | None = None
    mcp_maximum: Mapping[str, int] = field(default_factory=dict)
    immediate: bool = False
    reads: Literal["", "path", "repositories"] = ""

    @property
    def domain(self) -> str:
        """Name of the module that defines the tool."""
        return self.arguments.__module__.rpartition(".")[2]

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """JSON Schema of the arguments: an object of plain types, each with a description."""
        return schema_of(self.arguments)

    @property
    def advertised_schema(self) -> Mapping[str, Any]:
        """JSON Schema of the arguments as MCP clients see it: short, since each session of a model pays for it.

        It omits arguments that only clients of this package send, redundant descriptions, and bounds: an argument out
        of bounds is an error that names them.
        """
        hidden, plain_names = _names_marked(self.arguments, "own"), _names_marked(self.arguments, "plain")
        properties = {
            name: {
                key: part
                for key, part in value.items()
                if key not in _BOUNDS and not (key == "description" and name in plain_names)
            }
            for name, value in self.input_schema["properties"].items()
            if name not in hidden
        }
        required = {*self.input_schema["required"], *(() if self.mcp is None else self.mcp.required)}
        return {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name in required],
        }

    @property
    def takes_repos(self) -> bool:
        """Whether the caller can choose repositories by the argument `repos`."""
        return "repos" in self.input_schema["properties"]

    def normalize(self, arguments: WireArguments) -> WireArguments:
        """Return arguments without nulls, and with ``5.0`` as 5 where an integer is wanted: models send both."""
        properties = self.input_schema["properties"]
        return {
            name: int(value) if _is_whole(value) and properties.get(name, {}).get("type") == "integer" else value
            for name, value in arguments.items()
            if value is not None or name not in properties
        }

    def parse(self, arguments: WireArguments) -> A:
        """Check arguments and convert them.

        Raises
        ------
        ToolError
            For an unknown argument (naming the accepted ones), a missing one, a wrong type or a value out of bounds.
        """
        check_arguments(self.name, self.input_schema, arguments)
        return msgspec.convert(arguments, type=self.arguments)

    def check_maximum(self, arguments: WireArguments) -> None:
        """Raise `ToolError` for arguments beyond `mcp_maximum`."""
        for name, maximum in self.mcp_maximum.items():
            value = arguments.get(name)
            if isinstance(value, list | tuple) and len(value) > maximum:
                message = f"{self.name}: {name} must have at most {maximum} items, got {len(value)}"
                raise ToolError(message, tool=self.name, argument=name)
            if isinstance(value, int) and value > maximum:
                message = f"{self.name}: {name} must be 1 to {maximum}, got {value}"
                raise ToolError(message, tool=self.name, argument=name)

    def requested_rows(self, arguments: WireArguments) -> int | None:
        """Return the requested number of rows; 0 for a page as long as the service chooses, None for all rows."""
        values = [
            0 if is_cursor else arguments[name] for name, is_cursor in _parts(self.arguments) if arguments.get(name)
        ]
        return min(values, default=None)


@cache
def _parts(arguments: type[Arguments]) -> tuple[tuple[str, bool], ...]:
    """Return the wire names of arguments that ask for a part of the rows, and whether each is a cursor."""
    hints = get_type_hints(arguments, include_extras=True)
    parts = []
    for name in msgspec.structs.fields(arguments):
        extra = _Shape.of(hints[name.name]).extra
        if "part" in extra:
            parts.append((name.encode_name, "cursor" in extra))
    return tuple(parts)


@cache
def _names_marked(arguments: type[Arguments], marker: Literal["own", "plain"]) -> frozenset[str]:
    """Return the wire names of arguments with a mark: ``own`` are not advertised, ``plain`` need no description."""
    hints = get_type_hints(arguments, include_extras=True)
    fields = msgspec.structs.fields(arguments)
    return frozenset(field.encode_name for field in fields if marker in _Shape.of(hints[field.name]).extra)


@cache
def schema_of(arguments: type[Arguments]) -> Mapping[str, Any]:
    """Return the JSON Schema of arguments.

    Clients and models read it, so it has no references, titles, defaults or nulls, unlike the schemas of msgspec.
    ``additionalProperties`` is absent, since a vendor's client fails on it; `check_arguments` refuses unknown names.
    """
    hints = get_type_hints(arguments, include_extras=True)
    fields = msgspec.structs.fields(arguments)
    return {
        "type": "object",
        "properties": {field.encode_name: _Shape.of(hints[field.name]).to_json() for field in fields},
        "required": [field.encode_name for field in fields if field.required],
    }


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer()


@dataclass(slots=True)
class _Shape:
    """A type with all annotations around it and within it."""

    type: Any
    bounds: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, hint: Any) -> _Shape:
        """Strip annotations and None from a type."""
        if get_origin(hint) is Annotated:
            inner, *notes = get_args(hint)
            shape = cls.of(inner)
            for note in notes:
                bounds = {"minimum": note.ge, "maximum": note.le, "minLength": note.min_length}
                shape.bounds |= {name: value for name, value in bounds.items() if value is not None}
                shape.bounds |= note.extra_json_schema or {}
                shape.description = note.description or shape.description
                shape.extra |= note.extra or {}
            return shape

        if get_origin(hint) in {Union, types.UnionType}:
            (inner,) = (arg for arg in get_args(hint) if arg is not type(None))
            return cls.of(inner)

        return cls(hint)

    def to_json(self) -> dict[str, Any]:
        """Return the schema of a value of this type."""
        schema: dict[str, Any]
        if get_origin(self.type) is tuple:
            schema = {"type": "array", "items": _Shape.of(get_args(self.type)[0]).to_json()}
        else:
            schema = {"type": _JSON_TYPES[self.type]}
        return schema | self.bounds | ({"description": self.description} if self.description else {})


def check_arguments(call: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Check that `arguments` satisfy `schema`.

    msgspec could check as well, but its errors name neither the accepted arguments nor the bounds.

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
        raise ToolError(f"{call}: {name} must be of type {kind}, not {type(value).__name__}", tool=call, argument=name)

    if kind == "array":
        for item in value:
            _check_value(call, f"an item of {name}", schema["items"], item)

    choices = schema.get("enum")
    if choices is not None and value not in choices:
        raise ToolError(
            f"{call}: {name} can't be {value!r}; it is one of {', '.join(map(str, choices))}",
            tool=call,
            argument=name,
            accepted=tuple(map(str, choices)),
        )

    minimum, maximum = schema.get("minimum"), schema.get("maximum")
    if (minimum is not None and value < minimum) or (maximum is not None and value > maximum):
        bounds = f"{minimum} or more" if maximum is None else f"{minimum} to {maximum}"
        raise ToolError(f"{call}: {name} must be {bounds}, got {value}", tool=call, argument=name)
    if kind == "string" and len(value) < schema.get("minLength", 0):
        raise ToolError(f"{call}: {name} is empty", tool=call, argument=name)


def with_page_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments with these two."""
    return {**schema, "properties": {**schema["properties"], **PAGE_SCHEMA}}
