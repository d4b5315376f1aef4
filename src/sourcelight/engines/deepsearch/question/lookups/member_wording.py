"""Read questions that describe an enum in words: "which sort keys are supported" asks for the members of `SortKey`.

What the words name is looked for in all ways of writing: `SortKey`, `sort_keys`, `SORT_KEY`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sourcelight.core.markup import singular
from sourcelight.core.query.regexps import escape_regexp

_WORDS = r"(?P<noun>[a-z][a-z\d]*(?:[ -][a-z][a-z\d]*){0,3}s)"
_OWNER = r"(?:the |an? )?(?P<owner>[A-Za-z][\w-]*(?: [A-Za-z][\w-]*){0,2})"
_POSSIBLE = r"(?:(?:possible|supported|available|valid|allowed|different|known|existing|all) )*"
_EXIST = r"(?:there|supported|available|defined|allowed|possible|accepted|known|valid|recognized|built[ -]in)"
_IT = r"(?:it|this|the (?:project|library|tool|program|app|code(?: ?base)?|parser|compiler|package|crate|gem|module))"
_HAVE = (
    r"(?:have|support|supports|know|accept|accepts|define|defines|recognize|offer|provide|handle|take|use|be in"
    r"|go through|distinguish|emit|report|return)"
)
_FORMS = tuple(
    re.compile(rf"^{form}$", re.IGNORECASE)
    for form in (
        rf"(?:what|which) {_POSSIBLE}{_WORDS} are {_EXIST}",
        rf"(?:what|which) {_POSSIBLE}{_WORDS} (?:does|do|can) {_IT} {_HAVE}",
        rf"(?:what|which) {_POSSIBLE}{_WORDS} (?:exist|do we have|can i use|can be used)",
        rf"(?:what|which) {_POSSIBLE}{_WORDS} (?:does|do|can) {_OWNER} {_HAVE}",
        (
            rf"(?:what are|which are|list|show(?: me)?|name) (?:all )?(?:of )?(?:the )?{_POSSIBLE}{_WORDS}"
            rf"(?: of {_OWNER})?"
        ),
    )
)

_BEFORE_KIND = re.compile(
    r"^(?P<start>(?:what|which)(?: are the)?) (?P<kind>kinds?|types?|sorts?) of (?P<words>[a-z]+(?: [a-z]+){0,2}?)s?"
    r"(?= (?:are|is|do|does|can|exist)\b|$)",
    re.IGNORECASE,
)
"""The kinds of a thing: "which kinds of tokens are there" asks for token kinds."""
_GENERAL = frozenset(
    {"option", "value", "kind", "type", "choice", "variant", "case", "possibility", "member", "sort", "level"}
)
"""Nouns that say nothing of an enum: "encryption options" may be those of `Encryption`."""
_OWNER_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z\d]+")
_MIN_LETTERS = 4
"""Letters of a single word that can be the name of an enum."""
_NO_ENUM = re.compile(
    r"\b(?:dependenc\w+|packages?|files?|functions?|methods|class(?:es)?|tests?|commits?|versions?|authors?|languages?|lines"
    r"|directories|folders|modules?|contributors?|features?|commands?|branches|tags|releases|licen[sc]es)$"
)
"""Things that no enum lists."""


@dataclass(frozen=True, slots=True)
class MemberQuestion:
    """An enum in words.

    Attributes
    ----------
    patterns
        Regular expressions of the whole name, in small letters, the likeliest first.
    patterns_in_owner
        Those that count only where the path or the container has the words of the owner.
    owner
        These words; empty without any.
    """

    patterns: tuple[str, ...]
    patterns_in_owner: tuple[str, ...] = ()
    owner: tuple[str, ...] = ()


def read_member_question(text: str) -> MemberQuestion | None:
    """Read a question for the members of an enum that words describe; None for any other question."""
    text = _BEFORE_KIND.sub(r"\g<start> \g<words> \g<kind>", text)
    match = next((match for form in _FORMS if (match := form.match(text)) is not None), None)
    if match is None or _NO_ENUM.search(match["noun"].lower()) is not None:
        return None

    parts = [singular(part) for part in re.split(r"[ -]", match["noun"].lower())]
    specific = parts[:-1] if parts[-1] in _GENERAL else parts
    owner = [word.lower() for word in _OWNER_WORD.findall(match.groupdict().get("owner") or "")]
    if owner:
        names = [[*owner, *parts], [owner[-1], *parts], [*owner, *specific], [owner[-1], *specific]]
        of_owner = [part for part in (parts, specific) if part]
        return MemberQuestion(_names_of(names), _names_of(of_owner), tuple(owner))

    if len(parts) == 1:
        is_name = parts[0] not in _GENERAL and len(parts[0]) >= _MIN_LETTERS
        return MemberQuestion((_name_of(parts),)) if is_name else None

    if specific != parts:
        return MemberQuestion(_names_of([parts, [*specific, "kind"], [*specific, "type"], specific]))

    # The words before the last one may be those of its file: `Action` of `tracker/action.rs`.
    return MemberQuestion((_name_of(parts),), (_name_of(parts[-1:]),), tuple(parts[:-1]))


def _names_of(names: list[list[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_name_of, names)))


def _name_of(parts: list[str]) -> str:
    """Write a regular expression of a name of some words, together or with underscores, each also as a plural."""
    words = [escape_regexp(singular(part)) for part in parts]
    return "_?".join(f"{word[:-1]}(?:y|ies)" if word.endswith("y") else f"{word}(?:e|es|s)?" for word in words)
