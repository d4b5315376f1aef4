"""Faults of building an index, in words."""

from __future__ import annotations

import errno
from pathlib import Path

from sourcelight.core.errors import IndexFault, IndexWriteFailed, SourcelightError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def reason_of(fault: Exception) -> str:
    """Say why something could not be built, without saying where."""
    if isinstance(fault, IndexFault):
        return fault.reason
    if isinstance(fault, SourcelightError):
        return str(fault)
    if isinstance(fault, MemoryError):
        return "not enough memory"
    if isinstance(fault, OSError) and fault.strerror:
        is_full = fault.errno in _FULL  # no place of this machine is named: callers read it
        return f"no room left on the disk ({fault.strerror})" if is_full else fault.strerror
    return f"{type(fault).__name__}: {fault}"


def write_failed(path: Path, fault: OSError, what: str = "index") -> IndexWriteFailed:
    """Put an operating system's refusal to write into words."""
    if fault.errno in _FULL:
        return IndexWriteFailed(str(path), f"no room left for the {what} ({fault.strerror}); the former one is kept")
    return IndexWriteFailed(str(path), f"cannot write the {what}: {fault.strerror or fault}")
