"""Read heads of classes, of ``impl`` blocks and of derived traits: what they define, and what they name as a base."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_ATTRIBUTE_LINES = 8
"""Lines below ``#[derive(…)]`` in which the head of what derives is looked for."""

_HEAD = re.compile(r"\b(?P<kind>class|interface|struct|enum|record|trait)\s+(?P<name>\w+)(?P<rest>.*)")
_IMPL = re.compile(r"\s*(?:unsafe\s+)?impl\b(?P<base>.*?)\sfor\s+(?P<type>.*)")
_DERIVE = re.compile(r"\s*#\[derive\((?P<bases>[^)\n]*)")
_DERIVING = re.compile(r"\s*(?:pub(?:\([^)]*\))?\s+)?(?P<kind>struct|enum|union)\s+(?P<name>\w+)")
_KINDS = {"record": "class", "trait": "interface"}


@dataclass(frozen=True, slots=True)
class Subtype:
    """What a head defines: its name, and its kind as the index of definitions calls it; empty if the head has none."""

    name: str
    kind: str


def read_subtype(line: str, names: frozenset[str], path: str, following: Sequence[str] = ()) -> Subtype | None:
    """Return what has one of `names` as a base by its head, or by an ``impl`` or ``derive`` of Rust.

    Bounds of type parameters, types of parameters and ``where`` clauses name no base.
    """
    text = without_brackets(line.replace("->", "  "), "<>")
    if path.endswith(".rs"):
        derived = _DERIVE.match(line)
        if derived is not None:
            listed = {item.strip().rpartition("::")[2] for item in derived["bases"].split(",")}
            head = next((match for other in following if (match := _DERIVING.match(other))), None)
            return Subtype(head["name"], head["kind"]) if head is not None and names & listed else None
        block = _IMPL.match(text)
        if block is not None:
            subject = re.match(r"\s*&?\s*(?:mut\s+)?(?:\w+::)*(\w+)\s*(?:\{|where\b|$)", block["type"])
            base = block["base"].strip().rpartition("::")[2]
            return Subtype(subject[1], "") if subject is not None and base in names else None
    head = _HEAD.search(text)
    if head is None:
        return None
    bases = re.split(r"\bwhere\b|\{", without_brackets(head["rest"], "[]"))[0]
    if not path.endswith((".py", ".pyi")):
        bases = without_brackets(bases, "()")
    elif "(" in bases:
        bases = re.sub(r"\b\w+\s*=[^,)]*", "", bases)
    has_base = any(re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", bases) for name in names)
    return Subtype(head["name"], _KINDS.get(head["kind"], head["kind"])) if has_base else None


def without_brackets(text: str, pair: str) -> str:
    """Return a text without the text in brackets of one kind, nested ones included; single ones remain."""
    opening, closing = map(re.escape, pair)
    pattern = re.compile(rf"{opening}[^{opening}{closing}]*{closing}")
    while (shorter := pattern.sub("", text)) != text:
        text = shorter
    return text
