"""The definition of a tool: arguments, columns, scope and limits as data.

A tool is defined once, by a `Tool` in another module of this package. Its JSON schema, the checks of its arguments,
the names that settings accept, the MCP endpoints, the routes of clusters and federations, and the reference pages are
derived from that definition::

    class ListRefsArguments(Arguments):
        repo: Repo
        limit: Limit | None = None


    LIST_REFS = Tool(name="list_refs", arguments=ListRefsArguments, columns="refs", scope=Scope.REPOSITORY)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from sourcelight.core.argument_schema import (
    CLIENTS_ONLY,
    PAGE_CURSOR,
    REFERENCE_ONLY,
    ROW_LIMIT,
    JsonSchema,
    check_arguments,
    names_marked,
    schema_of,
)
from sourcelight.core.errors import ToolError
from sourcelight.core.tools.merge import Merge

WireArguments: TypeAlias = Mapping[str, Any]
"""Arguments as a caller sends them: JSON values by their names on the wire; those that are not given are absent."""

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Number: TypeAlias = Annotated[int, Meta(ge=1)]

Limit: TypeAlias = Annotated[int, Meta(ge=1, extra={ROW_LIMIT: True})]
"""The most rows that the caller wants."""

Cursor: TypeAlias = Annotated[str, Meta(extra={PAGE_CURSOR: True})]
"""Start or end of the requested page."""

MAX_TOKENS_ARGUMENT = "maxTokens"
CURSOR_ARGUMENT = "cursor"

PAGE_SCHEMA: Mapping[str, JsonSchema] = {
    MAX_TOKENS_ARGUMENT: {"type": "integer"},
    CURSOR_ARGUMENT: {"type": "string"},
}
"""Arguments of MCP by which every tool with long answers gives them in pages.

They have no descriptions: the server's instructions explain them once for all tools.
"""

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
"""Keys of JSON Schema that an advertised schema omits."""


def describe(description: str) -> Meta:
    """Describe an argument for the reference only.

    Models pay for each word of a list of tools. There, the name of the argument is enough, or the text of its tool or
    the instructions of the server explain it.
    """
    return Meta(description=description, extra={REFERENCE_ONLY: True})


def client_only(description: str) -> Meta:
    """Describe an argument that only clients of this package send. The schemas for MCP clients omit it."""
    return Meta(description=description, extra={CLIENTS_ONLY: True})


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
        wire_arguments = {}
        for argument in msgspec.structs.fields(self):
            value = getattr(self, argument.name)
            if isinstance(value, tuple):
                value = list(value)
            if value is not None:
                wire_arguments[argument.encode_name] = value

        return wire_arguments


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
    advertised_as_required
        Arguments that the advertised schema calls required, so that models send them. A call may do without them.
    suite
        ``default`` for the tools of the specification, which every suite has; ``all`` for one that only the suite of
        all tools has.
    """

    title: str
    description: str
    read_only: bool = True
    advertised_as_required: tuple[str, ...] = ()
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
        The files whose contents can change the answer: ``repositories`` for any file of the repositories, ``path`` for
        those that the argument `path` names. Empty if there are none, or if the tool fails when their contents are
        missing. In a partial clone, a tool answers with a notice about such files that are missing.
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
    def input_schema(self) -> JsonSchema:
        """JSON Schema of the arguments: an object of plain types, each with a description."""
        return schema_of(self.arguments)

    @property
    def advertised_schema(self) -> JsonSchema:
        """JSON Schema of the arguments as MCP clients see it: short, since each session of a model pays for it.

        It omits arguments that only clients of this package send, redundant descriptions, and bounds: an argument out
        of bounds is an error that names them.
        """
        hidden_names = names_marked(self.arguments, CLIENTS_ONLY)
        undescribed_names = names_marked(self.arguments, REFERENCE_ONLY)
        properties = {}
        for name, schema in self.input_schema["properties"].items():
            if name in hidden_names:
                continue
            omitted_keys = set(_BOUNDS)
            if name in undescribed_names:
                omitted_keys.add("description")
            properties[name] = {key: value for key, value in schema.items() if key not in omitted_keys}

        required = set(self.input_schema["required"])
        if self.mcp is not None:
            required.update(self.mcp.advertised_as_required)
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
        normalized = {}
        for name, value in arguments.items():
            # An unknown argument stays as it is, for the error that names it.
            if name not in properties:
                normalized[name] = value
            elif properties[name]["type"] == "integer" and isinstance(value, float) and value.is_integer():
                normalized[name] = int(value)
            elif value is not None:
                normalized[name] = value

        return normalized

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
        if any(arguments.get(name) for name in names_marked(self.arguments, PAGE_CURSOR)):
            return 0
        limits = [arguments[name] for name in names_marked(self.arguments, ROW_LIMIT) if arguments.get(name)]
        return min(limits, default=None)


def with_page_arguments(schema: JsonSchema) -> JsonSchema:
    """Return the JSON Schema of a tool's arguments with those of `PAGE_SCHEMA`."""
    return {**schema, "properties": {**schema["properties"], **PAGE_SCHEMA}}
