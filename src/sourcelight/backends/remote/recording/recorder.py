"""Write a recording line by line, so that a kill leaves a complete prefix.

A line is written and flushed as soon as its reply is there, and an existing file is continued after its last complete
line. Credentials never reach the file: they are replaced in texts, and a portion of a stream is held back until the
next one, in case a credential is split between them. Only the owner can read the file, which has the replies of a
private service.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path
from typing import IO, Any, cast

from sourcelight.backends.remote.recording.format import (
    Line,
    RecordedReply,
    RecordedRequest,
    encode_line,
    error_to_json,
    head,
    lines_of,
)
from sourcelight.backends.remote.recording.routes import HideSecrets, Note
from sourcelight.core.errors import RecordingInvalid, SourcelightError


class Recorder:
    """Records requests and the replies of services.

    Parameters
    ----------
    path
        File of the recording.
    append
        Continue an existing recording.
    replace
        Replace an existing recording when this one stops; until then it is ``NAME.new``.

    Raises
    ------
    RecordingInvalid
        When the file exists and neither option is set, or it can't be written.
    """

    def __init__(self, path: str | os.PathLike[str], *, append: bool = False, replace: bool = False) -> None:
        self.path = Path(path).expanduser()
        exists = self.path.exists()
        if exists and not (append or replace):
            raise RecordingInvalid(str(self.path), "already exists; pass append=True to continue it, or replace=True")

        # The former recording stays usable until this one is complete.
        self._output_path = self.path.with_name(f"{self.path.name}.new") if exists and replace else self.path
        self._lock = threading.Lock()
        self._start_s = time.monotonic()
        # Numbers of the last request and of the last event of all requests.
        self._count = self._position = 0
        self.requests: list[str] = []

        continues = exists and not replace
        try:
            if continues:
                self._truncate_partial_line()
            self._file: IO[bytes] = self._open_file("ab" if continues else "wb")
            if self._file.tell() == 0:
                self._append(head())
        except OSError as exc:
            raise RecordingInvalid(str(self.path), f"can't be written: {exc.strerror or exc}") from exc

    def _open_file(self, mode: str) -> IO[bytes]:
        """Open the file for its owner only: it has replies of a private service."""
        file = open(self._output_path, mode, opener=lambda path, flags: os.open(path, flags, 0o600))  # noqa: SIM115
        if os.name == "posix":
            with contextlib.suppress(OSError):  # another user's file, or a file system without permissions
                os.fchmod(file.fileno(), 0o600)
        return cast("IO[bytes]", file)

    def _truncate_partial_line(self) -> None:
        # A killed process may leave half a line, and text appended to it would be unreadable.
        data = self.path.read_bytes()
        complete_lines = data[: data.rfind(b"\n") + 1]
        lines = list(lines_of(complete_lines, str(self.path))) if complete_lines else []
        self._count = max((line.number for line in lines), default=0)
        self._position = max((line.position for line in lines), default=0)
        if len(complete_lines) < len(data):
            os.truncate(self.path, len(complete_lines))

    def close(self) -> None:
        """Stop the recording; later replies are not in it."""
        with self._lock:
            if self._file.closed:
                return
            self._file.close()
            if self._output_path != self.path:
                self._output_path.replace(self.path)

    def _append(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()  # with each line, so that a kill loses only unwritten lines

    def _write(self, line: Line) -> None:
        with self._lock:
            if self._file.closed:
                return
            try:
                self._append(encode_line(line))
            except OSError as exc:
                raise RecordingInvalid(str(self.path), f"can't be written: {exc.strerror or exc}") from exc

    def _start_request(self, kind: str, address: str, parameters: Any) -> int:
        with self._lock:
            self._count += 1
            self._position += 1
            request = RecordedRequest(
                number=self._count, position=self._position, kind=kind, address=address, content=parameters
            )
            self.requests.append(request.summary)
        self._write(request)
        return request.number

    def _moment(self) -> tuple[int, int]:
        """Return the number of the next event and its time in ms."""
        with self._lock:
            self._position += 1
            return self._position, round((time.monotonic() - self._start_s) * 1000)

    def _write_reply(self, number: int, kind: str, content: Any, moment: tuple[int, int] | None = None) -> None:
        self._write(RecordedReply(number, *(moment or self._moment()), kind, content))

    def _end(self, number: int, exc: BaseException, hide_secrets: HideSecrets) -> None:
        # Other exceptions are a cancellation or a bug: a replay ends there, and has nothing to raise.
        if isinstance(exc, SourcelightError):
            self._write_reply(number, "fault", _without_secrets(error_to_json(exc), hide_secrets))
        else:
            self._write_reply(number, "end", "stopped")

    @asynccontextmanager
    async def stream(
        self,
        address: str,
        content: Any,
        live: AbstractAsyncContextManager[AsyncIterator[bytes]],
        hide_secrets: HideSecrets,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield the portions of a live stream and record them."""
        number = self._start_request("stream", address, content)
        has_ended = False
        # A portion is written when the next one is there: a credential may be split between them.
        pending, pending_moment = b"", (0, 0)

        def hide(data: bytes) -> bytes:
            # Credentials are ASCII, so each byte can be read as one character.
            return hide_secrets(data.decode("latin-1")).encode("latin-1", "replace")

        def write_pending() -> None:
            if pending:
                self._write_reply(number, "bytes", hide(pending), pending_moment)

        async def recorded_portions(portions: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
            nonlocal has_ended, pending, pending_moment
            error: SourcelightError | None = None
            try:
                async for portion in portions:
                    is_credential_split = hide(pending + portion) != hide(pending) + hide(portion)
                    if is_credential_split:
                        pending += portion
                    else:
                        write_pending()
                        pending, pending_moment = portion, self._moment()

                    yield portion
            except SourcelightError as exc:
                error = exc
                raise
            finally:
                write_pending()
                if error is not None:
                    self._end(number, error, hide_secrets)
                    has_ended = True

            self._write_reply(number, "end", "done")
            has_ended = True

        try:
            async with live as portions, aclosing(recorded_portions(portions)) as portions_out:  # type: ignore[type-var]
                yield portions_out
        except SourcelightError as exc:
            if not has_ended:
                self._end(number, exc, hide_secrets)
                has_ended = True
            raise
        finally:
            if not has_ended:
                self._write_reply(number, "end", "stopped")

    async def ask(
        self,
        kind: str,
        address: str,
        content: Any,
        live: Callable[[Note], Awaitable[Any]],
        note: Note,
        hide_secrets: HideSecrets,
    ) -> Any:
        """Return the result of a live request and record it; `live` gets a function for its progress."""
        number = self._start_request(kind, address, content)

        def on_note(value: Any) -> None:
            self._write_reply(number, "note", _without_secrets(value, hide_secrets))
            note(value)

        try:
            value = await live(on_note)
        except (SourcelightError, asyncio.CancelledError) as exc:
            self._end(number, exc, hide_secrets)
            raise

        self._write_reply(number, "value", _without_secrets(value, hide_secrets))
        return value


def _without_secrets(value: Any, hide_secrets: HideSecrets) -> Any:
    """Return a plain value without credentials in its texts."""
    if isinstance(value, str):
        return hide_secrets(value)
    if isinstance(value, dict):
        return {hide_secrets(str(key)): _without_secrets(item, hide_secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(item, hide_secrets) for item in value]
    return value
