"""The plain texts that services answer tools with: groups of numbered lines, lists, front matter. Pure.

A heading is ``#``, a repository, a dash and a path. A line of a file always carries its number in front, so no line of
code can be taken for a heading. A number that does not follow the one before it begins a new chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

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
