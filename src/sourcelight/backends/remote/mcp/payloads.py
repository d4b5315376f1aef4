"""Read the answers of a service's tools: structured content, addresses of files, and errors. No I/O.

Services use three forms: typed JSON objects (those of `sourcelight serve` have more keys), an object with a ``text``,
and plain text. `Payload.read` tries known keys of the structured content, then its ``text``, then the text block as
JSON, and last the text block itself, which `text_forms` parses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import PathNotFound, RepositoryNotFound, RevisionNotFound, SourcelightError, ToolError
from sourcelight.core.markup.counts import count_of, join_words
from sourcelight.core.notices import from_text
from sourcelight.core.tools.catalog import table_of
from sourcelight.core.tools.files import UNPARSED

_LISTS: Mapping[str, tuple[str, ...]] = {
    "files": (),
    "repos": (),
    "blocks": ("file", "path", "url"),
    "commits": ("oid",),
    "results": ("oid",),
    "fileDiffs": ("newPath", "oldPath"),
    "definitions": ("path", "url"),
    "references": ("path", "url"),
}
"""Keys of lists of objects, each with its alternative required fields."""

_HEX = re.compile(r"[0-9a-f]{40}")
"""A commit."""

_AT_REVISION = re.compile(r"@(?=[^/@]+(?:/|$))")
"""The ``@`` before the revision of an address: ``name@v1/-/blob/a.py``."""

_ESCAPED_LINES = re.compile(r"\?(L\d+(?:-\d+)?)$")
"""The query of an address whose question mark a service wrote as ``%3F``."""

# Sentences of `sourcelight serve`; sentences of other services stay unchanged.
_NEAR = r"(?:; did you mean ([^\n;]+)\?)?"
_REPOSITORY = re.compile(rf"repository not found: (\S[^\n]*?){_NEAR}")
_REVISION = re.compile(rf"revision not found: ([^\s@][^\n@]*)@([^\n]*?){_NEAR}")
_PATH = re.compile(r"path not found in ([^\n@]+?)(?:@([^\n]*?))?: ([^\n]*?)(?:; ([^\n]*))?")
_TOO_LARGE = re.compile(r"too (?:large|big|long)|exceeds|128 ?ki?b|131,?072", re.IGNORECASE)
"""Words of an error that says that a file is too large for one answer, for which services document 128 KiB."""

NO_MORE = "The service returns no more than these."
"""The notice of a truncated answer whose rest the service doesn't return."""

_MAX_ERROR_CHARS = 20_000
"""Characters of an error that are read and shown; a service may send a page instead of a sentence."""


def keep_text(tool: str, text: str, *reasons: str, **attributes: Any) -> ToolResult:
    """Return the text of a tool as a table of one row, for forms of text that this version can't parse.

    Parameters
    ----------
    tool
        Name of the tool, for the notice.
    text
        Its text.
    reasons
        Reasons why no other tool could answer; they precede the notice.
    attributes
        Attributes of the result, such as the repository.
    """
    notice = f"{tool}: this version can't parse the text of the service; the column `text` has all of it."
    return ToolResult(
        columns=UNPARSED,
        table=table_of(UNPARSED, 1, text=[text]),
        attributes=attributes,
        complete=False,
        notices=(*reasons, notice),
    )


@dataclass(frozen=True, slots=True)
class Blob:
    """The parts of the address of a file; `commit` is empty without 40 hex digits."""

    repository: str
    revision: str
    path: str
    lines: str = ""

    @property
    def commit(self) -> str:
        """The commit, if the address has one."""
        return self.revision if _HEX.fullmatch(self.revision) else ""


def blob(url: str) -> Blob | None:
    """Parse the address of a file, with the escaping mistakes of some services; return None for other addresses."""
    try:
        parts = urlsplit(url)
    except ValueError:  # brackets that are no IPv6 address
        return None

    head, separator, path = parts.path.partition("/-/blob/")
    if not separator or not head.startswith("/") or len(head) < 2:
        return None

    # A branch may have slashes, but no empty part. Without a loop over all of `@`, which a long name could have.
    start = max(2, head.rfind("//") + 1)
    mark = None if head.endswith("/") else _AT_REVISION.search(head, start)
    if mark is None:
        repository, revision = head[1:], ""
    else:
        repository, revision = head[1 : mark.start()], head[mark.end() :]

    path, lines = unquote(path), parts.query
    escaped_lines = None if lines else _ESCAPED_LINES.search(path)
    if escaped_lines is not None:
        path, lines = path[: escaped_lines.start()], escaped_lines[1]

    return Blob(repository=unquote(repository), revision=unquote(revision), path=path, lines=lines)


@dataclass(frozen=True, slots=True)
class Payload:
    """The result of one tool call: structured content, and the texts of its content blocks.

    `other` has the kinds of blocks without text. `doubts` collects reasons why the answer may be incomplete.
    """

    structured: Mapping[str, Any] | None
    texts: Sequence[str] = ()
    other: Sequence[str] = ()
    doubts: list[str] = field(default_factory=list)

    @property
    def text_content(self) -> str:
        """The text of a payload without typed content, such as an error."""
        value = self.read(("text",))
        return value if isinstance(value, str) else str(value.get("text") or "")

    @property
    def size(self) -> int:
        """Bytes of the answer, about."""
        if not self.structured:
            return sum(map(len, self.texts))
        # Services send typed content twice, once as text; a hostile one may leave out either.
        return max(sum(map(len, self.texts)), _json_size(self.structured))

    def check(self) -> None:
        """Record a doubt about an answer without content, and about content that isn't text."""
        if self.other:
            kinds = join_words(sorted(set(self.other)))
            self.doubts.append(f"The service sent {kinds} content, which isn't read.")
        elif not self.structured and not any(text.strip() for text in self.texts):
            self.doubts.append("The service sent an empty answer.")

    def read(self, keys: Collection[str]) -> Mapping[str, Any] | str:
        """Return the typed object if it has one of `keys`, else the text."""
        if self.structured is not None and _has(self.structured, keys):
            return self._readable(self.structured)

        text = None if self.structured is None else self.structured.get("text")
        if not isinstance(text, str):
            text = "\n".join(self.texts)
        return self._typed_value(text, keys) or text

    def as_text(self) -> str:
        """Return all of it as text."""
        return "\n".join(self.texts) or json.dumps(self.structured, default=str)

    def _typed_value(self, text: str, keys: Collection[str]) -> Mapping[str, Any] | str | None:
        value = _typed_value(text, keys)
        return self._readable(value) if isinstance(value, Mapping) else value

    def _readable(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a typed object without list entries that aren't objects or lack their identifying field."""
        readable = dict(value)
        for key in _LISTS.keys() & value:
            entries = value[key] if isinstance(value[key], list) else ()
            readable[key] = [entry for entry in entries if isinstance(entry, Mapping) and _has_name(entry, key)]
            missing = len(entries) - len(readable[key])
            if missing:
                self.doubts.append(f"The service sent {count_of(missing, 'entry')} in {key} that can't be read.")
        return readable


def _json_size(value: Mapping[str, Any]) -> int:
    try:
        return len(orjson.dumps(value))
    except TypeError:  # invalid Unicode, or a number of more than 64 bits
        return len(json.dumps(value))


def _has_name(entry: Mapping[str, Any], key: str) -> bool:
    names = _LISTS[key]
    return not names or any(isinstance(entry.get(name), str) and entry[name] for name in names)


def _has(value: Mapping[str, Any], keys: Collection[str]) -> bool:
    """Return whether an object has one of `keys`, with a value of its kind."""
    return any(key in value and (key not in _LISTS or isinstance(value[key], list | None)) for key in keys)


def _typed_value(text: str, keys: Collection[str]) -> Mapping[str, Any] | str | None:
    """Return an object of JSON that has one of `keys`, or the text of one that has nothing else."""
    if not text.lstrip().startswith("{"):
        return None

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None

    if not isinstance(value, dict):
        return None
    if _has(value, keys):
        return value

    inner = value.get("text")
    return inner if isinstance(inner, str) and len(value) == 1 else None


def notices(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the notices of a typed object."""
    value = payload.get("notice") or payload.get("notices") or ()
    texts = (value,) if isinstance(value, str) else value
    return tuple(from_text(str(text)) for text in texts)


def is_cut(payload: Mapping[str, Any]) -> bool:
    """Return whether a typed object is marked as incomplete."""
    return any(bool(payload.get(key)) for key in ("limitHit", "truncated", "hasMoreResults", "hasMore"))


def tool_error(name: str, text: str) -> SourcelightError:
    """Return the error that a tool's text means; `ToolError` with that text for an unknown one."""
    text = text[:_MAX_ERROR_CHARS]
    not_found = _parse_not_found(text)
    if not_found is not None:
        return not_found

    message = text or "no reason given by the service"
    if not message.startswith(f"{name}:"):
        message = f"{name}: {message}"
    return ToolError(message, tool=name)


def _parse_not_found(text: str) -> SourcelightError | None:
    # None of the sentences has lines, and the expressions would be slow to find that out.
    if "\n" in text:
        return None

    match = _REPOSITORY.fullmatch(text)
    if match is not None:
        return RepositoryNotFound(match[1], _split_names(match[2]))

    match = _REVISION.fullmatch(text)
    if match is not None:
        return RevisionNotFound(match[1], match[2], _split_names(match[3]))

    match = _PATH.fullmatch(text)
    if match is not None:
        return PathNotFound(match[1], match[2] or "", match[3], match[4] or "")

    return None


def _split_names(text: str | None) -> list[str]:
    return text.split(", ") if text else []


def is_too_large(exc: ToolError) -> bool:
    """Return whether an error of `read_file` means that the file must be read in parts."""
    return _TOO_LARGE.search(str(exc)) is not None
