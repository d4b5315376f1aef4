"""How much a repository's object store holds, without reading objects."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from sourcelight.repos.repository import Repository, common_dir

_LAST_OF_TABLE = 8 + 255 * 4


def packed_objects(repository: Repository) -> int:
    """Count the objects in packs, by the tables of contents of their indexes (format 2: gitformat-pack).

    Loose objects are not counted: they are few, and found by listing folders only.
    """
    folder = Path(common_dir(repository.git_dir), "objects", "pack")
    total = 0
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".idx"))
    except OSError:
        return 0
    for name in names:
        try:
            with Path(folder, name).open("rb") as file:
                file.seek(_LAST_OF_TABLE)
                total += struct.unpack(">I", file.read(4))[0]
        except (OSError, struct.error):
            continue
    return total
