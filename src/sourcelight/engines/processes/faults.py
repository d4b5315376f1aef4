"""Faults of building an index, in words."""

from __future__ import annotations

import errno
from pathlib import Path

from sourcelight.core.errors import IndexFault, IndexWriteFailed, SourcelightError


def reason_of(fault: Exception) -> str:
    """Say why something could not be built, without saying where."""
    if isinstance(fault, IndexFault):
        return fault.reason
    if isinstance(fault, SourcelightError):
        return str(fault)
    if isinstance(fault, MemoryError):
        return "not enough memory"
    return f"{type(fault).__name__}: {fault}"


def write_failed(path: Path, fault: OSError, what: str = "index") -> IndexWriteFailed:
    """Put an operating system's refusal to write into words."""
    if fault.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return IndexWriteFailed(str(path), f"no room left for the {what} ({fault.strerror}); the former one is kept")
    return IndexWriteFailed(str(path), f"cannot write the {what}: {fault.strerror or fault}")
