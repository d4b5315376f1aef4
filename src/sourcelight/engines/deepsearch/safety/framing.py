"""Frames around repository text that a model reads, so that none of it can pass for something else."""

from __future__ import annotations

import re
import secrets

_LOOK_ALIKE = re.compile(
    r"<(?=\s*/?\s*(?:source|result|system|instructions?|assistant|user|tool)[\s>:-])", re.IGNORECASE
)


def new_boundary() -> str:
    """Give a boundary that no text written before now can hold."""
    return secrets.token_hex(8)


def framed(text: str, origin: str, boundary: str) -> str:
    """Put `text` between two lines with the boundary; what looks like a boundary in it is escaped."""
    inner = _LOOK_ALIKE.sub("&lt;", text.replace(boundary, "[boundary]"))
    name = " ".join(origin.replace('"', "'").split())[:300]
    return f'<source-{boundary} origin="{_LOOK_ALIKE.sub("&lt;", name)}">\n{inner}\n</source-{boundary}>'
