"""Limits of the operating system for the processes that read what others wrote: a backstop behind our own bounds."""

from __future__ import annotations

import contextlib
import sys


def limit_process(process_id: int, *, data_bytes: int | None = None, cpu_s: int | None = None) -> None:
    """Limit a process that was just started; it is killed, or fails, beyond. Does nothing where the system can't.

    Linux alone can limit a process from outside, without running code between fork and exec, which is not safe in a
    process with threads.

    Parameters
    ----------
    process_id
        The process; it may have ended.
    data_bytes
        Memory that it may write to. Mapped files that are only read do not count, such as git's packs.
    cpu_s
        Seconds of processor time.
    """
    if sys.platform == "linux":
        import resource

        limits = ((resource.RLIMIT_DATA, data_bytes), (resource.RLIMIT_CPU, cpu_s))
        for kind, limit in limits:
            if limit is not None:
                with contextlib.suppress(ProcessLookupError, PermissionError, ValueError, OSError):
                    _, most = resource.prlimit(process_id, kind)
                    bound = limit if most == resource.RLIM_INFINITY else min(limit, most)
                    resource.prlimit(process_id, kind, (bound, bound))
