"""JSON files that say which other files count, with a checksum of what they say."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import xxhash

from sourcelight.core.errors import IndexDamaged

_LARGEST = 256 * 1024 * 1024


def manifest_bytes(content: Any) -> bytes:
    """Write a JSON value as the bytes of a manifest."""
    return json.dumps({"checksum": _checksum(content), "content": content}, indent=1).encode()


def read_manifest(path: Path) -> Any:
    """Read what `manifest_bytes` wrote.

    Raises
    ------
    IndexDamaged
        When the file is altered, or was written by another version of this package.
    OSError
        When it can't be read; FileNotFoundError when there is none.
    """
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size > _LARGEST:
            raise IndexDamaged(str(path), "it is too large to be a manifest")
        text = file.read()
    try:
        parsed = json.loads(text)
        content = parsed["content"]
        whole = parsed["checksum"] == _checksum(content)
    except (ValueError, TypeError, KeyError, RecursionError) as fault:
        raise IndexDamaged(str(path), f"it can't be read ({fault})") from fault
    if not whole:
        raise IndexDamaged(str(path), "it is altered")
    return content


def _checksum(content: Any) -> str:
    return xxhash.xxh3_64_hexdigest(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())
