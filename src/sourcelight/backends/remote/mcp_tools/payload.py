"""What a tool answered, in whichever of the forms that services in the field use. Pure.

Three are known: typed JSON objects (and ours, a superset), an object with a ``text``, and plain text. They are tried in
this order: known keys of the structured content, its ``text``, the text block as JSON, the text block as it is.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Payload:
    """The result of one tool call: structured content, and the texts of its content blocks."""

    structured: Mapping[str, Any] | None
    texts: Sequence[str] = ()

    @property
    def words(self) -> str:
        """The text, of an answer that has nothing else: an error."""
        value = self.read(("text",))
        return value if isinstance(value, str) else str(value.get("text") or "")

    def read(self, keys: Collection[str]) -> Mapping[str, Any] | str:
        """The typed object if it has one of `keys`; else the text."""
        if self.structured is not None:
            if any(key in self.structured for key in keys):
                return self.structured
            if isinstance(text := self.structured.get("text"), str):
                return _typed(text, keys) or text
        text = "\n".join(self.texts)
        return _typed(text, keys) or text


def _typed(text: str, keys: Collection[str]) -> Mapping[str, Any] | str | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    if any(key in value for key in keys):
        return value
    inner = value.get("text")
    return inner if isinstance(inner, str) and len(value) == 1 else None


def notices(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """What a typed object has to say beside its rows."""
    said = payload.get("notice") or payload.get("notices") or ()
    return (said,) if isinstance(said, str) else tuple(str(item) for item in said)


def is_cut(payload: Mapping[str, Any]) -> bool:
    """Whether a typed object says that it is not all there is."""
    return any(bool(payload.get(key)) for key in ("limitHit", "truncated", "hasMoreResults", "hasMore"))
