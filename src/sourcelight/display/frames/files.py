"""Files that are whole or not there at all: written beside their place, then moved to it."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

FORMULA_SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")
"""With these at its start, a spreadsheet runs a text as a formula, or does so once it stripped blanks.

Those of double width are taken for the plain ones where East Asian input is set (OWASP, CSV injection).
"""


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text as UTF-8; what stood there before stays until all of it is written."""
    with replacing(Path(path).expanduser()) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_folder(path: Path) -> None:
    """Refuse a path of which there is no folder: a fault of the temporary file would name that.

    Raises
    ------
    FileNotFoundError
        It names the folder.
    """
    if not path.parent.exists():
        raise FileNotFoundError(errno.ENOENT, "this folder does not exist", str(path.parent))


class replacing:  # noqa: N801 - read as a verb in a with
    """A path beside `path` to write to; it takes the place of `path` when the block ends well."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Path:
        check_folder(self._path)
        handle, name = tempfile.mkstemp(prefix=f".{self._path.name}-", dir=self._path.parent)
        os.close(handle)
        self._temporary = Path(name)
        return self._temporary

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            mask = os.umask(0)
            os.umask(mask)
            self._temporary.chmod(0o666 & ~mask)
            self._temporary.replace(self._path)
        else:
            self._temporary.unlink(missing_ok=True)
