"""The plain texts that services answer tools with: groups of numbered lines, lists, front matter. Pure.

A heading is ``#``, a repository, a dash and a path. A line of a file always carries its number in front, so no line of
code can be taken for a heading. A number that does not follow the one before it begins a new chunk.

Arguments fitted to the schema that a server advertises for a tool. Pure.

Services name and shape the same argument differently: ``author`` or ``authors``, one text or a list of them, ``limit``
or ``count``. What a server can't take is an error that names what it takes, never dropped.

What a tool answered, in whichever of the forms that services in the field use. Pure.

Three are known: typed JSON objects (and ours, a superset), an object with a ``text``, and plain text. They are tried in
this order: known keys of the structured content, its ``text``, the text block as JSON, the text block as it is.

Errors that tools answer with, as typed errors. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from sourcelight.core.errors import PathNotFound, RepositoryNotFound, RevisionNotFound, SourcelightError, ToolError

_HEADING = re.compile(r"# (.+) \u2013 (.+)")
_LINE = re.compile(r"(\d+): ?(.*)", re.DOTALL)
_REPOSITORY = re.compile(r"(\S+)(?: \[\u2605(\d+)\])?(?: - (.*))?")
_BLOB = re.compile(r"/(?P<repo>.+?)(?:@(?P<rev>[^/@]+(?:/[^/]+)*?))?/-/blob/(?P<path>.*)")
_HEX = re.compile(r"[0-9a-f]{40}")
_NOTE = re.compile(r"\((.*)\)")
NOTHING = "No results"


@dataclass(slots=True)
class TextChunk:
    """Consecutive lines of a file; `first` is the number of the first."""

    first: int
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class TextFile:
    """A file of an answer, with its chunks; none: only the path matched."""

    repository: str
    path: str
    chunks: list[TextChunk] = field(default_factory=list)


def numbered_chunks(text: str) -> list[TextChunk]:
    """Chunks of lines that carry their numbers; other lines are passed over."""
    chunks: list[TextChunk] = []
    for line in text.split("\n"):
        found = _LINE.fullmatch(line)
        if found:
            _add(chunks, int(found[1]), found[2])
    return chunks


def _add(chunks: list[TextChunk], number: int, line: str) -> None:
    if not chunks or number != chunks[-1].first + len(chunks[-1].lines):
        chunks.append(TextChunk(number))
    chunks[-1].lines.append(line)


def files(text: str) -> list[TextFile]:
    """Files with their chunks, in the order of the text."""
    found: list[TextFile] = []
    for line in text.split("\n"):
        if heading := _HEADING.fullmatch(line):
            found.append(TextFile(heading[1], heading[2]))
        elif found and (numbered := _LINE.fullmatch(line)):
            _add(found[-1].chunks, int(numbered[1]), numbered[2])
    return found


def repositories(text: str) -> Iterator[tuple[str, int, str]]:
    """Name, stars and description of each line of a list of repositories."""
    for line in text.split("\n"):
        if not line.strip() or line.startswith((NOTHING, "(")):
            continue
        if found := _REPOSITORY.fullmatch(line.rstrip()):
            yield found[1], int(found[2] or 0), found[3] or ""


def notes(text: str) -> tuple[str, ...]:
    """What a text says in parentheses at its end: that there is more, and why something was left out."""
    said: list[str] = []
    for line in reversed(text.rstrip().split("\n")):
        found = _NOTE.fullmatch(line.strip())
        if found:
            said.insert(0, found[1])
        elif line.strip():
            break
    return tuple(said)


@dataclass(frozen=True, slots=True)
class Blob:
    """What the address of a file says: `commit` is empty where the address names none by its 40 digits."""

    repository: str
    revision: str
    path: str
    lines: str = ""

    @property
    def commit(self) -> str:
        """The commit, if the address holds one."""
        return self.revision if _HEX.fullmatch(self.revision) else ""


def blob(url: str) -> Blob | None:
    """Read the address of a file at a service, escaped slips of some of them included; None if it is something else."""
    parts = urlsplit(url)
    found = _BLOB.fullmatch(parts.path)
    if found is None:
        return None
    path, query = unquote(found["path"]), parts.query
    if not query and (slip := re.search(r"\?(L\d+(?:-\d+)?)$", path)):  # written as %3F by some services
        path, query = path[: slip.start()], slip[1]
    return Blob(unquote(found["repo"]), unquote(found["rev"] or ""), path, query)


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
    ToolError
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
            raise ToolError(
                f"{call}: this service can't take {name}; its {call} takes {', '.join(properties) or 'nothing'}",
                tool=call,
                argument=name,
                accepted=tuple(properties),
            )
        fits[there] = _shaped(call, name, value, properties[there])
    for name in schema.get("required", ()):
        if name not in fits:
            raise ToolError(f"{call}: this service also needs {name!r}", tool=call, argument=str(name))
    return fits


def _shaped(call: str, name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    kinds = _kinds(schema)
    if isinstance(value, list | tuple):
        if "array" in kinds or not kinds:
            return list(value)
        if len(value) == 1:
            return value[0]
        raise ToolError(
            f"{call}: this service takes one {name} only; {len(value)} were given", tool=call, argument=name
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


@dataclass(frozen=True, slots=True)
class Payload:
    """The result of one tool call: structured content, and the texts of its content blocks."""

    structured: Mapping[str, Any] | None
    texts: Sequence[str] = ()

    @property
    def words(self) -> str:
        """The text, of an answer that has nothing else: an error."""
        value = self.read(("text",))
        return value if isinstance(value, str) else str(value.get("text") or "")

    def read(self, keys: Collection[str]) -> Mapping[str, Any] | str:
        """The typed object if it has one of `keys`; else the text."""
        if self.structured is not None:
            if any(key in self.structured for key in keys):
                return self.structured
            if isinstance(text := self.structured.get("text"), str):
                return _typed(text, keys) or text
        text = "\n".join(self.texts)
        return _typed(text, keys) or text


def _typed(text: str, keys: Collection[str]) -> Mapping[str, Any] | str | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    if any(key in value for key in keys):
        return value
    inner = value.get("text")
    return inner if isinstance(inner, str) and len(value) == 1 else None


def notices(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """What a typed object has to say beside its rows."""
    said = payload.get("notice") or payload.get("notices") or ()
    return (said,) if isinstance(said, str) else tuple(str(item) for item in said)


def is_cut(payload: Mapping[str, Any]) -> bool:
    """Whether a typed object says that it is not all there is."""
    return any(bool(payload.get(key)) for key in ("limitHit", "truncated", "hasMoreResults", "hasMore"))


# Sentences of our own service; those of others stay as they are.
_NEAR = r"(?:; did you mean ([^\n;]+)\?)?"
_ERROR_REPOSITORY = re.compile(rf"repository not found: (\S[^\n]*?){_NEAR}")
_REVISION = re.compile(rf"revision not found: (\S[^\n]*?)@([^\n]*?){_NEAR}")
_PATH = re.compile(r"path not found in ([^\n@]+?)(?:@([^\n]*?))?: ([^\n;]*)(?:; ([^\n]*))?")
_TOO_LARGE = re.compile(r"too (?:large|big|long)|exceeds|128 ?ki?b|131,?072", re.IGNORECASE)


def tool_error(name: str, text: str) -> SourcelightError:
    """The error that a tool's text stands for; `ToolError` with that text where it is not known."""
    if found := _ERROR_REPOSITORY.fullmatch(text):
        return RepositoryNotFound(found[1], _names(found[2]))
    if found := _REVISION.fullmatch(text):
        return RevisionNotFound(found[1], found[2], _names(found[3]))
    if found := _PATH.fullmatch(text):
        return PathNotFound(found[1], found[2] or "", found[3], found[4] or "")
    said = text or "the service gave no reason"
    return ToolError(said if said.startswith(f"{name}:") else f"{name}: {said}", tool=name)


def _names(text: str | None) -> list[str]:
    return text.split(", ") if text else []


def is_too_large(exc: ToolError) -> bool:
    """Whether an error of `read_file` says that the file has to be read in parts."""
    return _TOO_LARGE.search(str(exc)) is not None
