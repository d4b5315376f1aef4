"""A recording that grows: line by line, so that a kill leaves all that was written whole."""

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
    encoded,
    fault_facts,
    head,
    lines_of,
)
from sourcelight.core.errors import RecordingInvalid, SourcelightError

Hidden = Callable[[str], str]
Note = Callable[[Any], None]


class Recorder:
    """Writes what a service says while it is asked.

    Parameters
    ----------
    path
        Where the recording belongs.
    append
        Go on with the recording that is there.
    replace
        Put this one in its place when it is over; until then it is ``NAME.new``.

    Raises
    ------
    RecordingInvalid
        When there is a file already and neither is asked for, or it can't be written.
    """

    def __init__(self, path: str | os.PathLike[str], *, append: bool = False, replace: bool = False) -> None:
        self.path = Path(path).expanduser()
        there = self.path.exists()
        if there and not (append or replace):
            raise RecordingInvalid(
                str(self.path), "is there already: append=True goes on with it, replace=True ends it"
            )
        self._writes_to = self.path.with_name(f"{self.path.name}.new") if there and replace else self.path
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._count = self._at = 0
        self.asked: list[str] = []
        try:
            if there and not replace:
                self._cut_torn_end()
            self._file: IO[bytes] = self._opened("ab" if there and not replace else "wb")
            if self._file.tell() == 0:
                self._put(head())
        except OSError as exc:
            raise RecordingInvalid(str(self.path), f"can't be written: {exc.strerror or exc}") from exc

    def _opened(self, mode: str) -> IO[bytes]:
        """Open the file for its owner alone: it holds what a private service answered."""
        file = open(self._writes_to, mode, opener=lambda path, flags: os.open(path, flags, 0o600))  # noqa: SIM115
        if os.name == "posix":
            with contextlib.suppress(OSError):  # another user's file, or a file system without rights
                os.fchmod(file.fileno(), 0o600)
        return cast("IO[bytes]", file)

    def _cut_torn_end(self) -> None:
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        lines = list(lines_of(whole, str(self.path))) if whole else []
        self._count = max((line.number for line in lines), default=0)
        self._at = max((line.at for line in lines), default=0)
        if len(whole) < len(data):
            os.truncate(self.path, len(whole))

    def close(self) -> None:
        """End the recording; what is said afterwards is not in it."""
        with self._lock:
            if self._file.closed:
                return
            self._file.close()
            if self._writes_to != self.path:
                self._writes_to.replace(self.path)

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()

    def _write(self, line: Line) -> None:
        with self._lock:
            if self._file.closed:
                return
            try:
                self._put(encoded(line))
            except OSError as exc:
                raise RecordingInvalid(str(self.path), f"can't be written: {exc.strerror or exc}") from exc

    def _begin(self, kind: str, where: str, what: Any) -> int:
        with self._lock:
            self._count += 1
            self._at += 1
            asked = RecordedRequest(self._count, self._at, kind, where, what)
            self.asked.append(asked.words)
        self._write(asked)
        return asked.number

    def _moment(self) -> tuple[int, int]:
        """The place of what happens now among all that happens, and its time in ms."""
        with self._lock:
            self._at += 1
            return self._at, round((time.monotonic() - self._began) * 1000)

    def _say(self, number: int, kind: str, content: Any, moment: tuple[int, int] | None = None) -> None:
        self._write(RecordedReply(number, *(moment or self._moment()), kind, content))

    def _end(self, number: int, exc: BaseException, hidden: Hidden) -> None:
        if isinstance(exc, SourcelightError):
            self._say(number, "fault", _blotted(fault_facts(exc), hidden))
        else:
            self._say(number, "end", "stopped")

    @asynccontextmanager
    async def stream(
        self, where: str, what: Any, live: AbstractAsyncContextManager[AsyncIterator[bytes]], hidden: Hidden
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The portions of a live stream, noted as they pass."""
        number = self._begin("stream", where, what)
        over = False

        async def noted(portions: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
            nonlocal over
            # A portion is written when the next one is there: a credential may stand across the two.
            held, came = b"", (0, 0)
            fault: SourcelightError | None = None
            try:
                async for portion in portions:
                    joined = _blotted_bytes(held + portion, hidden)
                    if joined != _blotted_bytes(held, hidden) + _blotted_bytes(portion, hidden):
                        held += portion
                    else:
                        if held:
                            self._say(number, "bytes", _blotted_bytes(held, hidden), came)
                        held, came = portion, self._moment()
                    yield portion
            except SourcelightError as exc:
                fault = exc
                raise
            finally:
                if held:
                    self._say(number, "bytes", _blotted_bytes(held, hidden), came)
                if fault is not None:
                    self._end(number, fault, hidden)
                    over = True
            self._say(number, "end", "done")
            over = True

        try:
            async with live as portions, aclosing(noted(portions)) as passed:  # type: ignore[type-var]
                yield passed
        except SourcelightError as exc:
            if not over:
                self._end(number, exc, hidden)
                over = True
            raise
        finally:
            if not over:
                self._say(number, "end", "stopped")

    async def ask(
        self, kind: str, where: str, what: Any, live: Callable[[Note], Awaitable[Any]], note: Note, hidden: Hidden
    ) -> Any:
        """The answer to a live request, noted; `live` is given what to call with how far it has come."""
        number = self._begin(kind, where, what)

        def passed(told: Any) -> None:
            self._say(number, "note", _blotted(told, hidden))
            note(told)

        try:
            value = await live(passed)
        except (SourcelightError, asyncio.CancelledError) as exc:
            self._end(number, exc, hidden)
            raise
        self._say(number, "value", _blotted(value, hidden))
        return value


def _blotted(value: Any, hidden: Hidden) -> Any:
    """A plain value whose texts hold no credential."""
    if isinstance(value, str):
        return hidden(value)
    if isinstance(value, dict):
        return {hidden(str(key)): _blotted(item, hidden) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_blotted(item, hidden) for item in value]
    return value


def _blotted_bytes(portion: bytes, hidden: Hidden) -> bytes:
    # Credentials are ASCII, so that bytes may be read as if each were a character.
    return hidden(portion.decode("latin-1")).encode("latin-1", "replace")
