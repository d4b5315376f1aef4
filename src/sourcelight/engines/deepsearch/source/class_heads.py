"""Heads of classes and other types, with the types that they name as bases, read from their text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from sourcelight.core.query.languages import language_of

_MAX_HEAD_LINES = 40

MAX_ATTRIBUTE_LINES = 8
"""Lines below ``#[derive(…)]`` in which the head of what derives is searched for."""

_HEAD = re.compile(
    r"\b(?P<kind>class|interface|struct|enum|record|trait|protocol|actor|extension|object|mixin)\s+(?!class\b|struct\b)"
    r"(?:\w+(?:\.|::))*(?P<name>\w+)(?P<rest>.*)"
)
_RELATION = re.compile(r"\s*+(?:\(|[\w\s@.]*+(?:\([^{]*\)\s*+)?:|<|.*\b(?:extends|implements|with|on)\b)")
"""The text between the name of a class and its bases: a bracket, a colon, or a word."""
_CLASS_CALL = re.compile(
    r"\s*(?:\w+::)*(?P<name>[A-Z]\w*)\s*=\s*(?:::)?Class\.new\(\s*(?:::)?(?:\w+::)*(?P<base>[A-Z]\w*)\s*\)"
)
"""A class of Ruby that a call makes."""
_IMPL = re.compile(r"\s*(?:unsafe\s+)?impl\b(?P<base>.*?)\sfor\s+(?P<type>.*)")
_DERIVE = re.compile(r"\s*#\[derive\((?P<bases>[^)\n]*)")
_DERIVING = re.compile(r"\s*(?:pub(?:\([^)]*\))?\s+)?(?P<kind>struct|enum|union)\s+(?P<name>\w+)")
_KINDS = {
    "record": "class", "trait": "interface", "protocol": "interface", "actor": "class", "object": "class",
    "mixin": "class", "extension": "",
}  # fmt: skip


def opening_of(lines: Sequence[str], number: int) -> int | None:
    """Return the line (from 1) on which the head of a class begins that continues at a line; None if none does."""
    for index in range(number - 2, max(-1, number - 2 - _MAX_HEAD_LINES), -1):
        line = lines[index]
        if _HEAD.search(line.partition("//")[0]) is not None:
            return None if re.search(r"[{;]", line) else index + 1
        if re.search(r"[{};]\s*$", line) or not line.strip():
            return None
    return None


@dataclass(frozen=True, slots=True)
class Subtype:
    """The type that the head of a definition declares: its name, and its kind in the index; empty if there is none."""

    name: str
    kind: str
    is_declared: bool = field(default=False, compare=False)


def read_subtype(  # noqa: PLR0911 - one for each form of head
    line: str, names: frozenset[str], path: str, following: Sequence[str] = ()
) -> Subtype | None:
    """Return the type that has one of `names` as a base in its head, or in an ``impl`` or ``derive`` of Rust.

    Bounds of type parameters, types of parameters and ``where`` clauses name no base.
    """
    # The `>` of an arrow closes no bracket.
    text = without_brackets(line.replace("->", "  "), "<>")
    if path.endswith(".rs"):
        derived = _DERIVE.match(line)
        if derived is not None:
            base_names = {item.strip().rpartition("::")[2] for item in derived["bases"].split(",")}
            head = next((match for other in following if (match := _DERIVING.match(other))), None)
            return Subtype(head["name"], head["kind"]) if head is not None and names & base_names else None

        block = _IMPL.match(text)
        if block is not None:
            subject = re.match(r"\s*+(?:&\s*+)?(?:mut\s++)?(?:\w+::)*(\w+)\s*+(?:\{|where\b|$)", block["type"])
            base = block["base"].strip().rpartition("::")[2]
            if subject is None and "$" in block["type"]:
                return None
            # A tuple, a slice or a function has no name, and counts by its form.
            form = re.split(r"\{|\bwhere\b", line.rpartition(" for ")[2])[0].strip()
            return Subtype(subject[1] if subject is not None else form, "") if base in names else None

    if language_of(path) in C_FAMILY:
        derivation = read_derivation(text.partition("//")[0])
        if derivation is None:
            return None
        kind, name, bases = derivation
        is_base = any(re.search(rf"(?<!\w){re.escape(base)}(?!\w)", bases) for base in names)
        return Subtype(name, kind, is_declared=True) if is_base else None

    if path.endswith((".rb", ".rake")) and (class_call := _CLASS_CALL.match(line)) is not None:
        return Subtype(class_call["name"], "class", is_declared=True) if class_call["base"] in names else None

    head = _HEAD.search(text)
    # What follows a name with a slash is a path of a listing, such as of an interface of the JVM.
    if head is None or head["rest"].startswith("/"):
        return None

    bases = re.split(r"\bwhere\b|\{", without_brackets(head["rest"], "[]"))[0]
    if not path.endswith((".py", ".pyi")):
        bases = without_brackets(bases, "()")
    elif "(" in bases:
        # Keyword arguments of a class, such as `metaclass=Base`, aren't bases.
        bases = re.sub(r"\b\w+\s*=[^,)]*", "", bases)

    has_base = any(re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", bases) for name in names)
    if not has_base or _RELATION.match(head["rest"]) is None:
        return None

    kind = head["kind"]
    return Subtype(head["name"], _KINDS.get(kind, kind), is_declared=kind not in {"extension", "object"})


def without_brackets(text: str, pair: str) -> str:
    """Return a text without the text in brackets of one kind, nested ones included; single ones remain."""
    opening, closing = map(re.escape, pair)
    pattern = re.compile(rf"{opening}[^{opening}{closing}]*{closing}")
    while (shorter := pattern.sub("", text)) != text:
        text = shorter
    return text


C_FAMILY = frozenset({"C", "C++", "Cuda", "Objective-C++"})
_ARGUMENTS = r"\((?:[^()]|\([^()]*\))*\)"
_MACRO = rf"(?:[A-Z][A-Z\d_]*|__\w+|alignas|\w+_(?:api|export))(?:\s*{_ARGUMENTS})?"
_BODY = re.compile(
    rf"\b(?P<kind>class|struct)\s+(?P<macros>(?:(?:\[\[[^\]]*\]\]|{_MACRO})\s+)*)(?:\w+::)*(?P<name>(?!final\b)[A-Za-z_]\w*)"
    r"\s*(?:<[^;{}()]{0,1000}>\s*)?(?:final\b\s*)?(?::(?!:)[^;{}]{0,2000})?\{"
)
_DERIVATION = re.compile(
    rf"\b(?P<kind>class|struct)\s+(?:(?:\[\[[^\]]*\]\]|(?!final\b)\w+(?:\s*{_ARGUMENTS})?)\s+)*(?:\w+::)*"
    r"(?P<name>(?!final\b)[A-Za-z_]\w*)\s*(?:final\b\s*)?:(?!:)(?P<bases>[^;{]*)"
)
_MAX_HEADS = 5_000
"""Words that may begin a head beyond which a file is not read: no source has as many."""
_MAX_HEAD = 1_000
"""Characters of a head that are read."""
_NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\bR\"(?P<mark>[^(\s\"]{0,16})\(.{0,20000}?\)(?P=mark)\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'"
    r"|^[ \t]*#(?:\\.|[^\n\\])*",
    re.DOTALL | re.MULTILINE,
)
"""Comments, texts and lines of the preprocessor in C and C++."""


@dataclass(frozen=True, slots=True)
class ClassHead:
    """The head of a class or struct with a body, by its words; `has_macro` where one precedes the name."""

    kind: str
    name: str
    line: int
    has_macro: bool


def read_class_heads(lines: Sequence[str]) -> list[ClassHead]:
    """Return the heads of classes and structs of C and C++ that have a body and a name.

    Declarations without a body, friends, ``enum class`` and parameters of templates are none.
    """
    text = "\n".join(lines)
    # Each word may make a pattern read on for some thousand characters.
    words = text.count("class") + text.count("struct")
    if not words or words > _MAX_HEADS or text.count('R"') > _MAX_HEADS:
        return []

    text = _NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return [
        ClassHead(match["kind"], match["name"], text.count("\n", 0, match.start("name")) + 1, bool(match["macros"]))
        for match in _BODY.finditer(text)
        if re.search(r"\b(?:enum|friend)\s+$", text[max(0, match.start() - 40) : match.start()]) is None
    ]


def read_derivation(head: str) -> tuple[str, str, str] | None:
    """Return the kind, the name and the bases of a class of C++ that derives from something.

    Parameters
    ----------
    head
        A head in one line, without parameters of templates.
    """
    head = head[:_MAX_HEAD]
    match = _DERIVATION.search(head)
    if match is None or re.search(r"\benum\s+$", head[: match.start()]) is not None:
        return None
    return match["kind"], match["name"], match["bases"]
