"""Where a key of a file of configuration stands: the tables and mappings around its line."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MAX_ABOVE, _MAX_LINE = 2_000, 500


def keys_around(path: str, lines: Sequence[str], number: int) -> list[str]:
    """Return the keys of the tables or mappings that a line (from 1) of configuration is in, outermost first."""
    if path.endswith((".yaml", ".yml", ".json", ".jsonc", ".json5")):
        keys: list[str] = []
        indent = _indent(lines[number - 1])
        for line in reversed(lines[max(0, number - 1 - _MAX_ABOVE) : number - 1]):
            if not line.strip() or line.lstrip().startswith(("#", "//")) or _indent(line) >= indent:
                continue
            indent = _indent(line)
            head = re.match(r"\s*(?:-\s+)?[\"']?([\w./-]+)[\"']?\s*:\s*[{\[]?\s*(?:#.*)?$", line[:_MAX_LINE])
            keys += [head[1]] if head is not None else []
            if not indent:
                break
        return keys[::-1]
    for line in reversed(lines[max(0, number - 1 - _MAX_ABOVE) : number - 1]):
        header = re.match(r"\s*\[{1,2}([^\]]+)\]{1,2}\s*(?:[#;].*)?$", line[:_MAX_LINE])
        if header is not None:
            return [part.strip("\"' ") for part in re.split(r"[.:]", header[1])]
    return []


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
