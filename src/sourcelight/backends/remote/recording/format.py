"""The file of a recording: complete lines of JSON, so that a truncated file is a shorter recording.

The first line has the version of the form. Requests, numbered from 1, and their replies follow. ``at`` numbers all
lines in the order of their events, which may differ from their order in the file. ``ms`` counts from the start of the
recording.

=============================================  ==========================================================
line                                           meaning
=============================================  ==========================================================
``{"sourcelight": "recording", "form": 1}``    the first line
``{"ask": 1, "at", "kind", "where", "what"}``  a request: ``stream``, ``json``, ``tools`` or ``tool``
``{"of": 1, "at", "ms", "text"}``              a portion of a stream, UTF-8
``{"of": 1, "at", "ms", "base64"}``            a portion that is not UTF-8 on its own
``{"of": 1, "at", "ms", "note"}``              how far a call has come
``{"of": 1, "at", "ms", "value"}``             the result of a call or a JSON request
``{"of": 1, "at", "ms", "fault"}``             the error: ``type``, ``message``, ``facts``
``{"of": 1, "at", "ms", "end"}``               ``done``, or ``stopped`` by the client
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
from sourcelight.core.wire.request import CELLS, DEFAULT_COUNT, SYMBOL_LINES

FORM = 1
KINDS = ("stream", "json", "tools", "tool")
"""Kinds of requests."""

_SAID = ("note", "value", "fault", "end")
"""Kinds of replies."""


_OWN_PARAMETERS = frozenset({DEFAULT_COUNT, CELLS, SYMBOL_LINES})
"""Parameters that only sourcelight sends."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request: its number in the file, its kind, the address, and its content as plain values."""

    number: int
    position: int
    kind: str
    address: str
    content: Any

    @property
    def key(self) -> str:
        """A key that equal requests share."""
        parameters = self.content
        if self.kind == "stream" and isinstance(parameters, dict):
            # Parameters of our own are not part of the request: older recordings lack them.
            parameters = {name: value for name, value in parameters.items() if name not in _OWN_PARAMETERS}
        return json.dumps([self.kind, self.address, parameters], sort_keys=True)

    @property
    def summary(self) -> str:
        """The request as text for people, without the identifiers that open conversations."""
        if self.kind == "stream":
            text = f"search {self.content.get('q', '')!r}"
            options = ", ".join(
                f"{name}={value}" for name, value in self.content.items() if name not in {"q", "v"} | _OWN_PARAMETERS
            )
            return f"{text} ({options})" if options else text

        if self.kind == "tool":
            arguments = self.content["arguments"].items()
            texts = [f"{name}={value!r}" for name, value in arguments if name != "identifier"]
            return f"{self.content['name']}({', '.join(texts)})"
        if self.kind == "tools":
            return f"the list of tools at {self.address}"

        return f"{self.content.get('method')} {self.content.get('path')}"


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """A part of a reply, `ms` after its start; `kind` is ``bytes``, ``note``, ``value``, ``fault`` or ``end``."""

    number: int
    position: int
    ms: int
    kind: str
    content: Any


Line = RecordedRequest | RecordedReply


def head() -> bytes:
    """Return the first line of a file."""
    return _dump({"sourcelight": "recording", "form": FORM})


def encode_line(line: Line) -> bytes:
    """Return a line of the file."""
    if isinstance(line, RecordedRequest):
        return _dump(
            {"ask": line.number, "at": line.position, "kind": line.kind, "where": line.address, "what": line.content}
        )

    if line.kind != "bytes":
        return _dump({"of": line.number, "at": line.position, "ms": line.ms, line.kind: line.content})

    try:
        return _dump({"of": line.number, "at": line.position, "ms": line.ms, "text": line.content.decode()})
    except UnicodeDecodeError:
        return _dump(
            {"of": line.number, "at": line.position, "ms": line.ms, "base64": base64.b64encode(line.content).decode()}
        )


def _dump(value: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which JSON can hold as an escape
        return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def parse_line(text: bytes) -> Line:
    """Parse a line of the file; raise ValueError for other text."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("the line is not an object")  # noqa: TRY004 - one kind of error for all invalid lines

    if "ask" in value:
        return RecordedRequest(
            number=_number(value["ask"]),
            position=_number(value.get("at")),
            kind=_text(value, "kind", KINDS),
            address=_text(value, "where"),
            content=value.get("what"),
        )

    number, position, ms = _number(value.get("of")), _number(value.get("at")), int(value.get("ms", 0))
    if "text" in value:
        return RecordedReply(
            number=number, position=position, ms=ms, kind="bytes", content=_text(value, "text").encode()
        )

    if "base64" in value:
        try:
            return RecordedReply(
                number=number,
                position=position,
                ms=ms,
                kind="bytes",
                content=base64.b64decode(_text(value, "base64"), validate=True),
            )
        except binascii.Error as exc:
            raise ValueError("the portion is not base64") from exc

    for kind in _SAID:
        if kind in value:
            return RecordedReply(number, position, ms, kind, value[kind])

    raise ValueError("the line has an unknown kind")


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("the line has no number")
    return value


def _text(value: Mapping[str, Any], name: str, accepted: tuple[str, ...] = ()) -> str:
    text = value.get(name)
    if not isinstance(text, str) or (accepted and text not in accepted):
        raise ValueError(f"the line has no {name}")
    return text


def lines_of(data: bytes, path: str) -> Iterator[Line]:
    """Yield the lines of a file; skip a partial line at its end.

    Raises
    ------
    RecordingInvalid
        For other files, for a recording of a newer form, and for an invalid line.
    """
    # Behind the last newline is nothing, or a line that was cut off when the recording ended.
    lines = data.split(b"\n")[:-1]
    if not lines:
        raise errors.RecordingInvalid(path, "is empty")

    form = form_of(lines[0])
    if form is None:
        raise errors.RecordingInvalid(path, "is not a recording of sourcelight")
    if form > FORM:
        raise errors.RecordingInvalid(path, f"has form {form}, and this version reads up to {FORM}; update sourcelight")

    request_numbers = set()
    for line_number, text in enumerate(lines[1:], 2):
        try:
            line = parse_line(text)
        except ValueError as exc:
            raise errors.RecordingInvalid(path, f"line {line_number} can't be read: {exc}") from exc

        if isinstance(line, RecordedRequest):
            request_numbers.add(line.number)
        elif line.number not in request_numbers:
            raise errors.RecordingInvalid(
                path, f"line {line_number} answers request {line.number}, which isn't in the recording"
            )

        yield line


def form_of(first: bytes) -> int | None:
    """Return the form from the first line of a file, or None for other files."""
    try:
        value = json.loads(first)
    except ValueError:
        return None
    form = value.get("form") if isinstance(value, dict) and value.get("sourcelight") == "recording" else None
    return form if isinstance(form, int) else None


def error_to_json(exc: errors.SourcelightError) -> dict[str, Any]:
    """Return an error as plain values; skips attributes that JSON can't express."""
    attributes = {name: value for name, value in vars(exc).items() if name != "result" and _is_json(value)}
    return {"type": type(exc).__name__, "message": str(exc), "facts": attributes}


def error_from_json(value: Mapping[str, Any]) -> errors.SourcelightError:
    """Restore an error; an unknown type becomes a `SourcelightError` with its message."""
    message = str(value.get("message", ""))
    attributes = dict(value.get("facts") or {})
    notes = attributes.pop("__notes__", ())
    error = errors.restore_error(str(value.get("type")), message, attributes) or errors.SourcelightError(message)
    for note in notes if isinstance(notes, list) else ():
        error.add_note(str(note))
    return error


def _is_json(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_json(item) for item in value)
    return value is None or isinstance(value, str | int | float | bool)
