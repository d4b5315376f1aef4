"""Files of matches: JSON Lines, CSV and Parquet, written in constant memory while results stream in.

A file gets its name when it is complete. Until then it is a temporary file in the same directory. After an interrupt or
an error, the rows so far are in ``NAME.partial.EXT``. A device or a pipe, such as ``/dev/stdout``, is written as it is,
and a link stays a link: only the file that it leads to is replaced.

CSV is lossless for programs, or safe for spreadsheets on request. An empty text (``""``) differs from a missing one
(nothing between two commas). Lists of numbers are separated by blanks, lists of text are JSON, times are RFC 3339 in
UTC.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from sourcelight.core.batches.schema import SERVICE
from sourcelight.display.frames import encoders
from sourcelight.display.frames.schema import NAME

_ENCODERS: dict[encoders.Format, type[encoders.JsonLines | encoders.Csv | encoders.Parquet]] = {
    "jsonl": encoders.JsonLines,
    "csv": encoders.Csv,
    "parquet": encoders.Parquet,
}
"""The encoder of each format."""


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text as UTF-8, atomically: the existing file stays until all of it is written."""
    with replacing(Path(path).expanduser()) as temporary:
        temporary.write_text(text, encoding="utf-8")


def text_or_path(text: str, path: str | os.PathLike[str] | None) -> str:
    """Return a text; with `path`, write it there and return the path: a cell must not end with the whole page."""
    if path is None:
        return text
    write_text(text, path)
    return os.fspath(path)


def check_directory(path: Path) -> None:
    """Refuse a path in a missing directory: otherwise the error would name the temporary file.

    Raises
    ------
    FileNotFoundError
        It names the folder.
    """
    if not path.parent.exists():
        raise FileNotFoundError(errno.ENOENT, "this directory does not exist", str(path.parent))


def _is_stream(path: Path) -> bool:
    """Return whether a path is a device, a pipe or a socket: a rename would replace it by a file."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


class replacing:  # noqa: N801 - read as a verb in a with
    """A path to write to: one beside `path` that takes its place when the block ends well, or a stream itself."""

    def __init__(self, path: Path) -> None:
        self._is_stream = _is_stream(path)
        self._path = path if self._is_stream else path.resolve()

    def __enter__(self) -> Path:
        if self._is_stream:
            return self._path
        check_directory(self._path)
        handle, name = tempfile.mkstemp(prefix=f".{self._path.name}-", dir=self._path.parent)
        os.close(handle)
        self._temporary = Path(name)
        return self._temporary

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._is_stream:
            return
        if kind is None:
            # `mkstemp` lets only the user read the file; a new file gets the permissions of the umask. The umask can be
            # read only by setting it.
            mask = os.umask(0)
            os.umask(mask)
            self._temporary.chmod(0o666 & ~mask)
            self._temporary.replace(self._path)
        else:
            self._temporary.unlink(missing_ok=True)


class MatchWriter:
    """A file of matches that grows by batches.

    Parameters
    ----------
    target
        Path of the file, replaced when the writing is over; or an open binary file, written as it is and left open.
    format
        ``jsonl``, ``csv`` or ``parquet``; None: by the ending of the path.
    with_names
        Whether batches have the name of their search in a first column `name`.
    served
        Whether batches begin with a column ``service``.
    spreadsheet
        Whether cells of CSV that a spreadsheet would run get an apostrophe in front.

    Raises
    ------
    ValueError
        For an unknown format, and for `spreadsheet` with another format than CSV.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | IO[bytes],
        format: str | None = None,  # noqa: A002 - the name users type
        *,
        with_names: bool = False,
        served: bool = False,
        spreadsheet: bool = False,
    ) -> None:
        self.path = ""
        self.rows = 0
        self._temporary: Path | None = None
        self._final_path: Path | None = None

        if isinstance(target, (str, os.PathLike)):
            path = Path(target).expanduser()
            kind = encoders.format_of(str(path), format)
            encoders.refuse_spreadsheet(spreadsheet and kind != "csv", kind)
            check_directory(path)
            if not _is_stream(path):
                # In the same directory, because a rename between file systems isn't atomic. The random part keeps two
                # exports apart. A link leads elsewhere, so its directory may be missing although that of `path` exists.
                self._final_path = path.resolve()
                check_directory(self._final_path)
                self._temporary = self._final_path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
            self._file: IO[bytes] = (self._temporary or path).open("wb")
            self.path = str(path)
        else:
            kind = encoders.format_of("", format)
            self._file = target

        first = (*((NAME,) if with_names else ()), *((SERVICE,) if served else ()))
        self._encoder: encoders.Encoder = _ENCODERS[kind](self._file, first=first, spreadsheet=spreadsheet)
        self._open = True

    def write(self, batch: Any) -> None:
        """Write the rows of a record batch with any subset of the match columns."""
        self._encoder.write(batch)
        self.rows += batch.num_rows

    def finish(self, metadata: Mapping[str, str] | None = None) -> str:
        """End the file and give it its name.

        Parameters
        ----------
        metadata
            Small values about the answer; Parquet files carry them.

        Returns
        -------
        str
            Where the file is; empty for an open file that was passed in.
        """
        return self._end(self._final_path, self.path, metadata or {})

    def keep_partial(self, metadata: Mapping[str, str] | None = None) -> str:
        """End the file early and keep it as ``NAME.partial.EXT``; returns that path."""
        if self._final_path is None:
            return self._end(None, self.path, metadata or {})
        path = Path(self.path)
        partial = self._final_path.with_name(f"{path.stem}.partial{path.suffix}")
        # The path as the caller wrote it, unless a link leads to another directory.
        nearby = path.with_name(partial.name) if path.parent.resolve() == partial.parent else partial
        return self._end(partial, str(nearby), metadata or {})

    def _end(self, target: Path | None, path: str, metadata: Mapping[str, str]) -> str:
        if not self._open:
            return self.path

        self._open = False
        try:
            self._encoder.finish(metadata)
            self._file.flush()
            if self._temporary is not None:
                # Sync before the rename: after a crash, the name must not lead to an empty file.
                os.fsync(self._file.fileno())
        except BaseException:
            self.discard()
            raise

        if self.path:
            self._file.close()
        if self._temporary is not None and target is not None:
            self._temporary.replace(target)

        self.path = path
        return path

    def discard(self) -> None:
        """Delete the partial file."""
        self._open = False
        if self.path:
            with contextlib.suppress(OSError):
                self._file.close()
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)


def write_frame(
    frame: Any,
    target: str | os.PathLike[str] | IO[bytes],
    format: str,  # noqa: A002 - the name users type
    *,
    spreadsheet: bool = False,
) -> None:
    """Write any frame of the library as ``csv``, ``jsonl`` or ``parquet``; a file appears when it is whole.

    Parameters
    ----------
    frame
        DataFrame, whose index is not written, or Arrow table.
    target
        Path, or an open binary file.
    format
        ``csv``, ``jsonl`` or ``parquet``.
    spreadsheet
        As in `write_csv`; without effect on the other formats, which no spreadsheet runs.
    """
    if isinstance(target, (str, os.PathLike)):
        with replacing(Path(target).expanduser()) as temporary, temporary.open("wb") as file:
            write_frame(frame, file, format, spreadsheet=spreadsheet)
        return

    import pyarrow as pa

    if format == "parquet":
        if isinstance(frame, pa.Table):
            from pyarrow import parquet

            parquet.write_table(frame, target)
        else:
            frame.to_parquet(target, index=False)
        return

    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    if format == "csv":
        encoders.write_csv(table, target, spreadsheet=spreadsheet)
    else:
        encoders.write_json_lines(table, target)
