"""Parse the answers of a service's tools: structured content, plain text, and errors. No I/O.

Services use three forms: typed JSON objects (those of `sourcelight serve` have more keys), an object with a ``text``,
and plain text. The parser tries known keys of the structured content, then its ``text``, then the text block as JSON,
and last the text block itself.

A heading is ``#``, a repository, a dash and a path. Each line of a file begins with its number, so no line of code can
be taken for a heading. A number that doesn't follow the previous one starts a new chunk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import PathNotFound, RepositoryNotFound, RevisionNotFound, SourcelightError, ToolError
from sourcelight.core.markup.counts import count_of, join_words
from sourcelight.core.notices import from_text
from sourcelight.core.tools.catalog import table_of
from sourcelight.core.tools.files import UNPARSED

_HEADING = re.compile(r"# (.+) \u2013 (.+)")
# Nine digits: a column of line numbers holds no more, and `int` refuses thousands.
_LINE = re.compile(r"(\d{1,9}): ?(.*)", re.DOTALL)
_REPOSITORY = re.compile(r"(\S+)(?: \[\u2605(\d{1,9})\])?(?: - (.*))?")
_AT_REVISION = re.compile(r"@(?=[^/@]+(?:/|$))")
_HEX = re.compile(r"[0-9a-f]{40}")
_NOTE = re.compile(r"\((.*)\)")
_BULLET = re.compile(r"^[-*\u2022] ")
_FENCE = re.compile(r"```\w*")
_MAX_EMPTY_LINES = 3
_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE)
_NOTHING = re.compile(
    r"\s*(?:no\s[^\n]*\b(?:results?|match(?:es)?|repositor(?:y|ies)|files?|entries|commits?|references?|definitions?"
    r"|contributors?|changes|diffs?|found)\b|symbol not found)",
    re.IGNORECASE,
)


_TROUBLE = re.compile(
    r"tim(?:ed|e) ?-?out|error|fail|unavailable|could ?n[o']t|can(?:no|')t|denied|permission|rate|missing|backend|later"
    r"|unauthori[sz]ed|not ready|incomplete",
    re.IGNORECASE,
)
"""Words of a sentence that gives the reason for an empty answer, rather than stating that it is empty."""
_SENTENCE = re.compile(r"[A-Z][^/\n]*(?: [^/\n ]+){3}[.!]")
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

# Sentences of `sourcelight serve`; sentences of other services stay unchanged.
_NEAR = r"(?:; did you mean ([^\n;]+)\?)?"

_ERROR_REPOSITORY = re.compile(rf"repository not found: (\S[^\n]*?){_NEAR}")
_REVISION = re.compile(rf"revision not found: ([^\s@][^\n@]*)@([^\n]*?){_NEAR}")
_PATH = re.compile(r"path not found in ([^\n@]+?)(?:@([^\n]*?))?: ([^\n]*?)(?:; ([^\n]*))?")
_MAX_ERROR_CHARS = 20_000
_TOO_LARGE = re.compile(r"too (?:large|big|long)|exceeds|128 ?ki?b|131,?072", re.IGNORECASE)


@dataclass(slots=True)
class TextChunk:
    """Consecutive lines of a file; `first` is the number of the first line."""

    first: int
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class TextFile:
    """A file of a payload with its chunks; without a chunk, only the path matched."""

    repository: str
    path: str
    chunks: list[TextChunk] = field(default_factory=list)


def numbered_chunks(text: str) -> list[TextChunk]:
    """Parse chunks of numbered lines; skips other lines."""
    chunks: list[TextChunk] = []
    for line in text.split("\n"):
        match = _LINE.fullmatch(line)
        if match:
            _add(chunks, int(match[1]), match[2])
    return chunks


def means_empty(text: str) -> bool:
    """Return whether a text is an answer without rows: empty, or a sentence such as ``No results found.``."""
    lines = sum(bool(line.strip()) for line in text.split("\n"))
    if not lines:
        return True
    # A longer text that begins with "No" may be a file, and one with a word of trouble is an error.
    return lines <= _MAX_EMPTY_LINES and _NOTHING.match(text) is not None and _TROUBLE.search(text) is None


def unnumbered_lines(text: str) -> tuple[str, ...]:
    """Return the lines that are neither numbered nor headings: sentences of the service about the answer."""
    lines = (line.strip() for line in text.split("\n"))
    about = (line for line in lines if line and not any(form.fullmatch(line) for form in (_LINE, _HEADING, _FENCE)))
    return tuple(note[1] if (note := _NOTE.fullmatch(line)) else line for line in about)


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


def _add(chunks: list[TextChunk], number: int, line: str) -> None:
    if not chunks or number != chunks[-1].first + len(chunks[-1].lines):
        chunks.append(TextChunk(number))
    chunks[-1].lines.append(line)


def files(text: str) -> list[TextFile]:
    """Parse files with their chunks, in the order of the text."""
    result: list[TextFile] = []
    for line in text.split("\n"):
        if heading := _HEADING.fullmatch(line):
            result.append(TextFile(heading[1], heading[2]))
        elif result and (numbered := _LINE.fullmatch(line)):
            _add(result[-1].chunks, int(numbered[1]), numbered[2])
    return result


def repositories(text: str) -> tuple[list[tuple[str, int, str]], tuple[str, ...]]:
    """Parse a list of repositories: name, stars and description of each, and the lines that are about the list."""
    rows: list[tuple[str, int, str]] = []
    about: list[str] = []
    for line in map(str.strip, () if means_empty(text) else text.split("\n")):
        if not line:
            continue
        if note := _NOTE.fullmatch(line):
            about.append(note[1])
        elif match := _REPOSITORY.fullmatch(_BULLET.sub("", line)):
            rows.append((match[1], int(match[2] or 0), match[3] or ""))
        else:
            about.append(line)

    return rows, tuple(about)


def is_no_list(text: str) -> bool:
    """Return whether a text is JSON, HTML or a sentence, rather than a list with one name per line."""
    if _PAGE.match(text) is not None or _SENTENCE.fullmatch(text.strip()) is not None:
        return not means_empty(text)
    try:
        return not isinstance(json.loads(text), str | int | float)
    except ValueError:
        return False
    except RecursionError:  # thousands of brackets
        return True


def paths(text: str) -> tuple[list[str], tuple[str, ...]]:
    """Parse a list of paths, one a line: the paths, and the lines that are about the list.

    A path may look like a sentence. So the list is the first paragraph, without a line before it that ends in a colon;
    everything after the list is about it.
    """
    if means_empty(text):
        return [], ()

    lines = text.strip("\n").split("\n")
    if lines[0].rstrip().endswith(":") and (" " in lines[0].strip() or len(lines) > 1):
        lines = "\n".join(lines[1:]).strip("\n").split("\n")

    end = next((index for index, line in enumerate(lines) if not line.strip() or _NOTE.fullmatch(line.strip())), None)
    items, after = lines[:end], [] if end is None else lines[end:]
    if items and all(_BULLET.match(line) for line in items):
        items = [_BULLET.sub("", line) for line in items]

    about = tuple(
        note[1] if (note := _NOTE.fullmatch(line.strip())) else line.strip() for line in after if line.strip()
    )
    return items, about


def notes(text: str) -> tuple[str, ...]:
    """Return the notes in parentheses at the end of a text."""
    messages: list[str] = []
    for line in reversed(text.rstrip().split("\n")):
        match = _NOTE.fullmatch(line.strip())
        if match:
            messages.insert(0, match[1])
        elif line.strip():
            break

    return tuple(messages)


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
    repository, revision = (head[1:], "") if mark is None else (head[1 : mark.start()], head[mark.end() :])
    path, query = unquote(path), parts.query
    if not query and (slip := re.search(r"\?(L\d+(?:-\d+)?)$", path)):  # written as %3F by some services
        path, query = path[: slip.start()], slip[1]

    return Blob(repository=unquote(repository), revision=unquote(revision), path=path, lines=query)


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

    def check(self) -> None:
        """Record a doubt about an answer without content, and about content that isn't text."""
        if self.other:
            kinds = join_words(sorted(set(self.other)))
            self.doubts.append(f"The service sent {kinds} content, which isn't read.")
        elif not self.structured and not any(text.strip() for text in self.texts):
            self.doubts.append("The service sent an empty answer.")

    def read(self, keys: Collection[str]) -> Mapping[str, Any] | str:
        """Return the typed object if it has one of `keys`, else the text."""
        if self.structured is not None:
            if _has(self.structured, keys):
                return self._readable(self.structured)
            if isinstance(text := self.structured.get("text"), str):
                return self._typed_value(text, keys) or text
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
            if missing := len(entries) - len(readable[key]):
                self.doubts.append(f"The service sent {count_of(missing, 'entry')} in {key} that can't be read.")
        return readable


def _has_name(entry: Mapping[str, Any], key: str) -> bool:
    names = _LISTS[key]
    return not names or any(isinstance(entry.get(name), str) and entry[name] for name in names)


def _has(value: Mapping[str, Any], keys: Collection[str]) -> bool:
    """Return whether an object has one of `keys`, with a value of its kind."""
    return any(key in value and (key not in _LISTS or isinstance(value[key], list | None)) for key in keys)


def _typed_value(text: str, keys: Collection[str]) -> Mapping[str, Any] | str | None:
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
    return tuple(from_text(str(item)) for item in ((value,) if isinstance(value, str) else value))


def is_cut(payload: Mapping[str, Any]) -> bool:
    """Return whether a typed object is marked as incomplete."""
    return any(bool(payload.get(key)) for key in ("limitHit", "truncated", "hasMoreResults", "hasMore"))


def tool_error(name: str, text: str) -> SourcelightError:
    """Return the error that a tool's text means; `ToolError` with that text for an unknown one."""
    text = text[:_MAX_ERROR_CHARS]
    if "\n" in text:
        pass  # none of the sentences has lines, and the expressions would be slow to find that out
    elif match := _ERROR_REPOSITORY.fullmatch(text):
        return RepositoryNotFound(match[1], _names(match[2]))
    elif match := _REVISION.fullmatch(text):
        return RevisionNotFound(match[1], match[2], _names(match[3]))
    elif match := _PATH.fullmatch(text):
        return PathNotFound(match[1], match[2] or "", match[3], match[4] or "")

    message = text or "no reason given by the service"
    return ToolError(message if message.startswith(f"{name}:") else f"{name}: {message}", tool=name)


def _names(text: str | None) -> list[str]:
    return text.split(", ") if text else []


def is_too_large(exc: ToolError) -> bool:
    """Return whether an error of `read_file` means that the file must be read in parts."""
    return _TOO_LARGE.search(str(exc)) is not None
