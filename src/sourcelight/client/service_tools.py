"""Tools that a service advertises, called by their names: those without a method of their own too.

The schema of a tool is the signature of its function. An answer is stored unchanged, and shown as a DataFrame if its
structured content has rows.
"""

from __future__ import annotations

import inspect
import keyword
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from sourcelight.client.portal import call
from sourcelight.client.provenance import describe_call, now, provenance
from sourcelight.core.batches.results import AdvertisedTool
from sourcelight.core.completeness import Status
from sourcelight.core.errors import SourcelightError, ToolError, UnsupportedTool

if TYPE_CHECKING:
    from pandas import DataFrame

    from sourcelight.core.backend import Backend

_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}
"""Types of Python by those of JSON Schema."""

_UNKNOWN_TOOL_NOTICE = "This client doesn't know the tool, so only the answer can report that it is incomplete."

# Without the extension: in one expression, the parts before and after it would share a long link in all ways.
_LINK = re.compile(r"\]\(<?([^()<>\s]+)>?\)")
_FILE = re.compile(r".\.(?:csv|json|svg)$", re.IGNORECASE)
"""Names of files that a service offers beside an answer."""

_MAX_NAME_BYTES = 120
_PORTS = [f"com{n}" for n in range(1, 10)] + [f"lpt{n}" for n in range(1, 10)]
_DEVICES = frozenset({"con", "prn", "aux", "nul", *_PORTS})
"""Names that Windows opens as devices, whatever their extension."""


class AsyncServiceTools:
    """The tools of a service, awaited: ``await code.tools.list()``, ``await code.tools.name(…)``.

    Parameters
    ----------
    backend
        Has the tools; one in this process has none.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def list(self) -> Mapping[str, AdvertisedTool]:
        """Return the advertised tools by name, with description and schema; empty if no service answers."""
        service = self._backend.features.service
        return {} if service is None else await service.advertised_tools()

    # Positional only, since a tool may have parameters of these names.
    async def call(self, name: str, /, *values: Any, **arguments: Any) -> DataFrame:
        """Call a tool; positional values are its required arguments, in the order of the schema.

        Pass an argument that Python can't name in a dictionary, such as ``**{"from": "main"}``.

        Raises
        ------
        UnsupportedTool
            When no endpoint of the service has the tool.
        TypeError, ToolError
            For arguments that the schema doesn't have.
        """
        tools, service = await self.list(), self._backend.features.service
        tool = tools.get(name)
        if tool is None or service is None:
            names = ", ".join(tools) or "none"
            raise UnsupportedTool(f"{self._backend.name} has no tool {name!r}; it has {names}", tool=name)

        bound = bind_arguments(tool, values, arguments)
        from sourcelight.display.frames.payloads import payload_frame

        requested_at, start_s = now(), time.monotonic()
        structured, texts, other = await service.call_advertised(name, bound)
        frame, is_complete = payload_frame(structured, texts)
        reasons = []
        if is_complete is False:
            reasons.append("the service has more results")
        if other:
            reasons.append(f"the answer has {', '.join(sorted(set(other)))} content, which isn't read")
        elif not structured and not any(text.strip() for text in texts):
            reasons.append("the answer is empty")

        status: Status = "limited" if reasons else "complete"
        if not reasons and is_complete is None:
            status = "unparsed"
            reasons.append("this client doesn't know the tool, and the answer doesn't say whether it has all results")

        attributes: dict[str, Any] = provenance(
            self._backend,
            status=status,
            reasons=tuple(reasons),
            asked_at=requested_at,
            duration_s=time.monotonic() - start_s,
        )
        payload = None if structured is None else dict(structured)
        text = "\n".join(texts)
        if payload is not None and set(payload) == {"text"}:
            text = payload["text"]

        frame.attrs.update(attributes)
        frame.attrs.update(
            call=name, query=describe_call(name, bound), notices=[_UNKNOWN_TOOL_NOTICE], payload=payload, text=text
        )
        return frame

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        async def tool(*values: Any, **arguments: Any) -> DataFrame:
            return await self.call(name, *values, **arguments)

        tool.__name__ = name
        return tool

    def __repr__(self) -> str:
        return f"AsyncServiceTools({self._backend.name!r})"


class ServiceTools(Mapping[str, Callable[..., Any]]):
    """The tools of a service: ``code.tools.name(…)``, with the schema as signature; a mapping by name.

    Parameters
    ----------
    tools
        The awaited form.
    """

    def __init__(self, tools: AsyncServiceTools) -> None:
        self._tools = tools

    def __getitem__(self, name: str) -> Callable[..., Any]:
        tool = call(self._tools.list)[name]

        def function(*values: Any, **arguments: Any) -> Any:
            return call(self._tools.call, name, *values, **arguments)

        function.__name__ = function.__qualname__ = name
        function.__doc__ = tool.description
        function.__signature__ = signature_of(tool)  # type: ignore[attr-defined]  # read by inspect
        return function

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            names = ", ".join(self) or "none"
            raise AttributeError(f"the service has no tool {name!r}; it has {names}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(call(self._tools.list))

    def __len__(self) -> int:
        return len(call(self._tools.list))

    def __dir__(self) -> list[str]:
        try:
            return sorted({*super().__dir__(), *(name for name in self if name.isidentifier())})
        except SourcelightError:  # completion must not raise
            return list(super().__dir__())

    def __repr__(self) -> str:
        return repr(self._tools).removeprefix("Async")


def bind_arguments(tool: AdvertisedTool, values: Sequence[Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by their names in the schema; raises TypeError, which names the tool."""
    # Names such as ``from`` are in no signature, so they are passed on as they are.
    unnameable = {name for name in _properties(tool) if not _is_parameter_name(name)}
    schema_only = {name: value for name, value in arguments.items() if name in unnameable}
    options = {name: value for name, value in arguments.items() if name not in schema_only}
    try:
        bound = signature_of(tool).bind(*values, **options)
    except TypeError as exc:
        raise TypeError(f"{tool.name}: {exc}") from None

    return {**bound.arguments, **schema_only}


def signature_of(tool: AdvertisedTool) -> inspect.Signature:
    """Return the schema of a tool as a signature: required arguments first, the others by name with None.

    Names that Python can't have for a parameter, such as ``from``, are left out.
    """
    properties = _properties(tool)
    required = [name for name in tool.schema.get("required") or () if isinstance(name, str) and name in properties]
    parameters = []

    # A schema may list a required argument twice, a signature must not.
    for name in dict.fromkeys((*required, *properties)):
        if not _is_parameter_name(name):
            continue

        parameter = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        if name in required:
            parameter = inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters.append(parameter.replace(annotation=_annotation_of(properties[name])))

    return inspect.Signature(parameters)


def _annotation_of(schema: object) -> Any:
    """Return the type of Python for the schema of an argument; `Any` for none, and for several."""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return _TYPES.get(kind, Any) if isinstance(kind, str) else Any


def _properties(tool: AdvertisedTool) -> Mapping[str, Any]:
    """Return the arguments in the schema of a tool, which a service may have written wrong."""
    properties = tool.schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _is_parameter_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def file_links(markdown: str) -> list[str]:
    """Return the addresses of the CSV, JSON and SVG files that a text links to, without files of code."""
    links = dict.fromkeys(_LINK.findall(markdown))
    # By the path, from which the file gets its name: in `/run.sh?a.csv` the extension is a part of the query.
    return [link for link in links if _FILE.search(link.partition("?")[0]) and "/-/" not in link]


def save_links(backend: Backend | None, links: Sequence[str], directory: str | Path) -> list[str]:
    """Save files of a service in a directory, and return their paths; raises for a file that is there."""
    service = None if backend is None else backend.features.service
    if service is None:
        raise ToolError("only answers of a service have files")

    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for link in links:
        data: bytes = call(service.fetch_file, link)
        path = folder / _file_name(link)
        with path.open("xb") as file:
            file.write(data)
        paths.append(str(path))

    return paths


def _file_name(link: str) -> str:
    """Return the last part of an address as a file name: no directories, devices, hidden names or odd characters."""
    name = unquote(urlsplit(link).path).replace("\\", "/").rpartition("/")[2]
    name = re.sub(r"[^\w.-]", "_", name)
    # The end, with its extension. File systems count bytes, and cutting may leave a part of a character.
    name = name.encode()[-_MAX_NAME_BYTES:].decode(errors="ignore").lstrip(".") or "file"
    return f"_{name}" if name.partition(".")[0].lower() in _DEVICES else name
