"""Reading the small files of git directories, which may be anything that a file system can hold."""

from __future__ import annotations

import os
import stat

MAX_SMALL_FILE_BYTES = 1 << 20


def read_small_file(path: str, max_bytes: int = MAX_SMALL_FILE_BYTES, *, follow: bool = True) -> bytes:
    """Read the first `max_bytes` of a regular file.

    A pipe or a device is refused without waiting for it. With ``follow=False`` a link is refused, too: what is shown
    to readers never comes from a file that a link chose.

    Raises
    ------
    OSError
        If it can't be read, or is no regular file.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    if not follow:
        flags |= getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is no regular file")
        return file.read(max_bytes)
