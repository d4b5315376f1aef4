"""The file of a recording: lines of JSON, each complete in itself, so that a file that was cut is a shorter one.

The first line says what the file is and in which version of the form. Then come requests, numbered from 1, and what
was said to them. ``at`` numbers all of these in the order in which they happened, in which they need not be written;
``ms`` counts from the beginning of the recording.

=============================================  ==========================================================
line                                           meaning
=============================================  ==========================================================
``{"sourcelight": "recording", "form": 1}``    the first line
``{"ask": 1, "at", "kind", "where", "what"}``  a request: ``stream``, ``json``, ``tools`` or ``tool``
``{"of": 1, "at", "ms", "text"}``              a portion of a stream, UTF-8
``{"of": 1, "at", "ms", "base64"}``            a portion that is no UTF-8 by itself
``{"of": 1, "at", "ms", "note"}``              how far a call has come
``{"of": 1, "at", "ms", "value"}``             the whole answer of what is no stream
``{"of": 1, "at", "ms", "fault"}``             the error: ``type``, ``message``, ``facts``
``{"of": 1, "at", "ms", "end"}``               ``done``, or ``stopped`` by who asked
=============================================  ==========================================================
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sourcelight.core import errors
from sourcelight.core.wire.request import DEFAULT_COUNT

FORM = 1
KINDS = ("stream", "json", "tools", "tool")
_SAID = ("note", "value", "fault", "end")


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request: its number in the file, what kind it is of, the address, and what was asked, as plain values."""

    number: int
    at: int
    kind: str
    where: str
    what: Any

    @property
    def key(self) -> str:
        """What two requests share that ask the same."""
        what = self.what
        if self.kind == "stream" and isinstance(what, dict):
            # What is asked where the query says nothing is no part of the question: older recordings lack it.
            what = {name: value for name, value in what.items() if name != DEFAULT_COUNT}
        return json.dumps([self.kind, self.where, what], sort_keys=True)

    @property
    def words(self) -> str:
        """The request, to be read; without the texts that open conversations."""
        if self.kind == "stream":
            what = f"search {self.what.get('q', '')!r}"
            more = ", ".join(f"{k}={v}" for k, v in self.what.items() if k not in {"q", "v", DEFAULT_COUNT})
            return f"{what} ({more})" if more else what
        if self.kind == "tool":
            given = self.what["arguments"].items()
            return f"{self.what['name']}({', '.join(f'{k}={v!r}' for k, v in given if k != 'identifier')})"
        if self.kind == "tools":
            return f"the list of tools at {self.where}"
        return f"{self.what.get('method')} {self.what.get('path')}"


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """A part of an answer: `kind` is ``bytes``, ``note``, ``value``, ``fault`` or ``end``; `ms` since the beginning."""

    number: int
    at: int
    ms: int
    kind: str
    content: Any


Line = RecordedRequest | RecordedReply


def head() -> bytes:
    """The first line of a file."""
    return _dumped({"sourcelight": "recording", "form": FORM})


def encoded(line: Line) -> bytes:
    """A line of the file."""
    if isinstance(line, RecordedRequest):
        return _dumped({"ask": line.number, "at": line.at, "kind": line.kind, "where": line.where, "what": line.what})
    if line.kind != "bytes":
        return _dumped({"of": line.number, "at": line.at, "ms": line.ms, line.kind: line.content})
    try:
        return _dumped({"of": line.number, "at": line.at, "ms": line.ms, "text": line.content.decode()})
    except UnicodeDecodeError:
        return _dumped(
            {"of": line.number, "at": line.at, "ms": line.ms, "base64": base64.b64encode(line.content).decode()}
        )


def _dumped(value: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which JSON can hold as an escape
        return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def decoded(text: bytes) -> Line:
    """A line of the file; raises ValueError for anything else."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("a line is no object")  # noqa: TRY004 - one kind of error for what is no line
    if "ask" in value:
        return RecordedRequest(
            _number(value["ask"]),
            _number(value.get("at")),
            _text(value, "kind", KINDS),
            _text(value, "where"),
            value.get("what"),
        )
    number, at, ms = _number(value.get("of")), _number(value.get("at")), int(value.get("ms", 0))
    if "text" in value:
        return RecordedReply(number, at, ms, "bytes", _text(value, "text").encode())
    if "base64" in value:
        try:
            return RecordedReply(number, at, ms, "bytes", base64.b64decode(_text(value, "base64"), validate=True))
        except binascii.Error as exc:
            raise ValueError("a portion is no base64") from exc
    for kind in _SAID:
        if kind in value:
            return RecordedReply(number, at, ms, kind, value[kind])
    raise ValueError("a line of an unknown kind")


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("a line without its number")
    return value


def _text(value: Mapping[str, Any], name: str, known: tuple[str, ...] = ()) -> str:
    text = value.get(name)
    if not isinstance(text, str) or (known and text not in known):
        raise ValueError(f"a line without its {name}")
    return text


def lines_of(data: bytes, path: str) -> Iterator[Line]:
    """The lines of a file; what stands after the last line end was cut while it was written, and is left out.

    Raises
    ------
    RecordingInvalid
        For what is no recording, one of a newer form, and a line that can't be read.
    """
    lines = data.split(b"\n")[:-1]
    if not lines:
        raise errors.RecordingInvalid(path, "is empty: nothing was recorded")
    form = form_of(lines[0])
    if form is None:
        raise errors.RecordingInvalid(path, "is no recording of sourcelight")
    if form > FORM:
        raise errors.RecordingInvalid(
            path, f"is of form {form}, and this version reads up to {FORM}: update sourcelight"
        )
    asked = set()
    for at, text in enumerate(lines[1:], 2):
        try:
            line = decoded(text)
        except ValueError as exc:
            raise errors.RecordingInvalid(path, f"line {at} can't be read: {exc}") from exc
        if isinstance(line, RecordedRequest):
            asked.add(line.number)
        elif line.number not in asked:
            raise errors.RecordingInvalid(path, f"line {at} answers request {line.number}, which is not there")
        yield line


def form_of(first: bytes) -> int | None:
    """The form that the first line of a file tells; None for what is no recording."""
    try:
        value = json.loads(first)
    except ValueError:
        return None
    form = value.get("form") if isinstance(value, dict) and value.get("sourcelight") == "recording" else None
    return form if isinstance(form, int) else None


def fault_facts(exc: errors.SourcelightError) -> dict[str, Any]:
    """An error as plain values; what JSON can't hold is left out."""
    facts = {name: value for name, value in vars(exc).items() if name != "result" and _plain(value)}
    return {"type": type(exc).__name__, "message": str(exc), "facts": facts}


def fault_of(told: Mapping[str, Any]) -> errors.SourcelightError:
    """The error again; one that this version does not know is a `SourcelightError` with its message."""
    message = str(told.get("message", ""))
    facts = dict(told.get("facts") or {})
    notes = facts.pop("__notes__", ())
    made = errors.restore_error(str(told.get("type")), message, facts) or errors.SourcelightError(message)
    for note in notes if isinstance(notes, list) else ():
        made.add_note(str(note))
    return made


def _plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_plain(item) for item in value)
    return value is None or isinstance(value, str | int | float | bool)
