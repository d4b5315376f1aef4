"""Read heads of classes and other types, with the types that they name as bases, from the text of lines.

`read_subtype` decides whether a line makes a type a subtype of another one. Most languages have heads of one form,
``class Gate(Valve)`` or ``class Gate extends Valve``. Attributes and blocks of Rust, classes of C++ and classes of Ruby
that a call makes have forms of their own. `read_class_heads` counts classes of C++ in a whole file, where a grammar
loses its way in macros.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sourcelight.core.query.languages import language_of

C_FAMILY = frozenset({"C", "C++", "Cuda", "Objective-C++"})
"""Languages with classes as in C++."""

MAX_ATTRIBUTE_LINES = 8
"""Lines below ``#[derive(…)]`` in which the head of what derives is searched for."""

_MAX_HEAD_LINES, _MAX_HEAD_CHARACTERS = 40, 1_000
"""Lines and characters of a head that are read."""

_MAX_HEADS = 5_000
"""Words that may begin a head beyond which a file is not read: no source has as many."""

# Heads of most languages.
_HEAD = re.compile(
    r"\b(?P<kind>class|interface|struct|enum|record|trait|protocol|actor|extension|object|mixin)\s+(?!class\b|struct\b)"
    r"(?:\w+(?:\.|::))*(?P<name>\w+)(?P<rest>.*)"
)
"""A head: `class Gate(Valve):`, `public record Gate : IValve`, `enum class Gate`."""

_RELATION = re.compile(r"\s*+(?:\(|[\w\s@.]*+(?:\([^{]*\)\s*+)?:|<|.*\b(?:extends|implements|with|on)\b)")
"""The text between the name of a class and its bases: a bracket, a colon, or a word."""

_KEYWORD_ARGUMENT = re.compile(r"\b\w+\s*=[^,)]*")
"""An argument of a class of Python that is no base: `metaclass=Valve`."""

_KINDS = {
    "record": "class", "trait": "interface", "protocol": "interface", "actor": "class", "object": "class",
    "mixin": "class", "extension": "",
}  # fmt: skip
"""Kinds in the index, by the word of a language, where they differ."""

# Ruby and Rust.
_CLASS_CALL = re.compile(
    r"\s*(?:\w+::)*(?P<name>[A-Z]\w*)\s*=\s*(?:::)?Class\.new\(\s*(?:::)?(?:\w+::)*(?P<base>[A-Z]\w*)\s*\)"
)
"""A class of Ruby that a call makes: `Gate = Class.new(Valve)`."""

_IMPL = re.compile(r"\s*(?:unsafe\s+)?impl\b(?P<base>.*?)\sfor\s+(?P<type>.*)")
"""A block of Rust: `impl Valve for Gate {`."""

_IMPL_TYPE = re.compile(r"\s*+(?:&\s*+)?(?:mut\s++)?(?:\w+::)*(?P<name>\w+)\s*+(?:\{|where\b|$)")
"""The type of such a block: `&mut dam::Gate {`."""

_DERIVE = re.compile(r"\s*#\[derive\((?P<bases>[^)\n]*)")
"""An attribute of Rust: `#[derive(Debug, Valve)]`."""

_DERIVING = re.compile(r"\s*(?:pub(?:\([^)]*\))?\s+)?(?P<kind>struct|enum|union)\s+(?P<name>\w+)")
"""The head below it: `pub struct Gate`."""

# C++.
_ARGUMENTS = r"\((?:[^()]|\([^()]*\))*\)"
_MACRO = rf"(?:[A-Z][A-Z\d_]*|__\w+|alignas|\w+_(?:api|export))(?:\s*{_ARGUMENTS})?"
"""A macro before the name of a class: `DAM_API`, `__attribute__((packed))`."""

_HEAD_WITH_BODY = re.compile(
    rf"\b(?P<kind>class|struct)\s+(?P<macros>(?:(?:\[\[[^\]]*\]\]|{_MACRO})\s+)*)(?:\w+::)*(?P<name>(?!final\b)[A-Za-z_]\w*)"
    r"\s*(?:<[^;{}()]{0,1000}>\s*)?(?:final\b\s*)?(?::(?!:)[^;{}]{0,2000})?\{"
)
"""The head of a class with a body: `class DAM_API Gate final : public Valve {`."""

_DERIVATION = re.compile(
    rf"\b(?P<kind>class|struct)\s+(?:(?:\[\[[^\]]*\]\]|(?!final\b)\w+(?:\s*{_ARGUMENTS})?)\s+)*(?:\w+::)*"
    r"(?P<name>(?!final\b)[A-Za-z_]\w*)\s*(?:final\b\s*)?:(?!:)(?P<bases>[^;{]*)"
)
"""The head of a class with bases: `struct Gate : Valve, private Wall`."""

_NO_CLASS_WORD = re.compile(r"\b(?:enum|friend)\s+$")
"""A word before `class` that makes it none: `enum class Level {`."""

_NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\bR\"(?P<mark>[^(\s\"]{0,16})\(.{0,20000}?\)(?P=mark)\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'"
    r"|^[ \t]*#(?:\\.|[^\n\\])*",
    re.DOTALL | re.MULTILINE,
)
"""Comments, texts and lines of the preprocessor in C and C++."""


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


def read_subtype(line: str, names: frozenset[str], path: str, following: Sequence[str] = ()) -> Subtype | None:
    """Return the type that has one of `names` as a base in its head, or in an ``impl`` or ``derive`` of Rust.

    Bounds of type parameters, types of parameters and ``where`` clauses name no base.

    Parameters
    ----------
    line
        The line, or a head of several lines in one.
    names
        Names of the base, without the modules before them.
    path
        The file, whose ending tells the language.
    following
        The lines below, for an attribute of Rust.
    """
    # The `>` of an arrow closes no bracket.
    text = without_brackets(line.replace("->", "  "), "<>")
    if path.endswith(".rs"):
        if (attribute := _DERIVE.match(line)) is not None:
            return _deriving_type(attribute, names, following)
        if (block := _IMPL.match(text)) is not None:
            return _implementing_type(block, line, names)

    if language_of(path) in C_FAMILY:
        return _derived_class(text.partition("//")[0], names)
    if path.endswith((".rb", ".rake")) and (class_call := _CLASS_CALL.match(line)) is not None:
        return Subtype(class_call["name"], "class", is_declared=True) if class_call["base"] in names else None
    return _subtype_in_head(text, names, path)


def _deriving_type(attribute: re.Match[str], names: frozenset[str], following: Sequence[str]) -> Subtype | None:
    """Return the type of Rust below an attribute that derives one of some names."""
    bases = {_last_name(base) for base in attribute["bases"].split(",")}
    head = next((match for line in following if (match := _DERIVING.match(line))), None)
    return Subtype(head["name"], head["kind"]) if head is not None and names & bases else None


def _implementing_type(block: re.Match[str], line: str, names: frozenset[str]) -> Subtype | None:
    """Return the type of Rust that a block of a line implements one of some names for."""
    subject = _IMPL_TYPE.match(block["type"])
    is_of_macro = subject is None and "$" in block["type"]
    if is_of_macro or _last_name(block["base"]) not in names:
        return None
    if subject is not None:
        return Subtype(subject["name"], "")
    # A tuple, a slice or a function has no name, and counts by its form.
    return Subtype(re.split(r"\{|\bwhere\b", line.rpartition(" for ")[2])[0].strip(), "")


def _last_name(name: str) -> str:
    """Return a name of Rust without the modules before it."""
    return name.strip().rpartition("::")[2]


def _derived_class(text: str, names: frozenset[str]) -> Subtype | None:
    """Return the class of C++ in a line that has one of some names as a base."""
    derivation = read_derivation(text)
    if derivation is None or not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", derivation.bases) for name in names):
        return None
    return Subtype(derivation.name, derivation.kind, is_declared=True)


def _subtype_in_head(text: str, names: frozenset[str], path: str) -> Subtype | None:
    """Return the type whose head, of the form of most languages, has one of some names as a base."""
    head = _HEAD.search(text)
    # What follows a name with a slash is a path of a listing, such as of an interface of the JVM.
    if head is None or head["rest"].startswith("/"):
        return None

    bases = _bases_in(head["rest"], path)
    has_base = any(re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", bases) for name in names)
    if not has_base or _RELATION.match(head["rest"]) is None:
        return None

    kind = head["kind"]
    return Subtype(head["name"], _KINDS.get(kind, kind), is_declared=kind not in {"extension", "object"})


def _bases_in(rest: str, path: str) -> str:
    """Return the part of a head behind its name that may have bases."""
    bases = re.split(r"\bwhere\b|\{", without_brackets(rest, "[]"))[0]
    if path.endswith((".py", ".pyi")):
        return _KEYWORD_ARGUMENT.sub("", bases) if "(" in bases else bases
    # Parameters of a constructor.
    return without_brackets(bases, "()")


def without_brackets(text: str, pair: str) -> str:
    """Return a text without the text in brackets of one kind, nested ones included; single ones remain."""
    opening, closing = map(re.escape, pair)
    pattern = re.compile(rf"{opening}[^{opening}{closing}]*{closing}")
    while (shorter := pattern.sub("", text)) != text:
        text = shorter
    return text


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
        for match in _HEAD_WITH_BODY.finditer(text)
        if _NO_CLASS_WORD.search(text[max(0, match.start() - 40) : match.start()]) is None
    ]


class Derivation(NamedTuple):
    """A class of C++ with the text of its bases."""

    kind: str
    name: str
    bases: str


def read_derivation(head: str) -> Derivation | None:
    """Return the class of C++ that derives from something in a head, or None.

    Parameters
    ----------
    head
        A head in one line, without parameters of templates.
    """
    head = head[:_MAX_HEAD_CHARACTERS]
    match = _DERIVATION.search(head)
    if match is None or re.search(r"\benum\s+$", head[: match.start()]) is not None:
        return None
    return Derivation(match["kind"], match["name"], match["bases"])
