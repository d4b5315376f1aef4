"""Find the types, records, tables, literals and functions around a line by the lines above it that are indented less.

A question names one of them, or the file, or both. No grammar is needed, since each language indents its blocks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.lookups.definitions.branches import (
    CONDITION,
    SECTION,
    begins_function,
    lines_around,
)
from sourcelight.engines.deepsearch.lookups.scoped_values.readings import segment_before
from sourcelight.engines.deepsearch.source.literals import without_texts

_MAX_HEADS = 12
_KEYWORD = re.compile(
    r"(?<![\w.-])(?:class|struct|interface|enum|trait|record|object|module|namespace|type|message|service|defmodule"
    r"|defp?|defn-?|defmacro|defonce|defrecord|fn|func|function!?|fun|sub|proc|method|macro|let|const|var|val|local"
    r"|data|newtype|instance|impl|protocol|extension|actor|union|table|variable|resource|output|task|schema|mixin"
    r"|template|@interface|@implementation|contract|library|package|signature|mutable struct|rpc|keyframes|filter"
    r"|procedure|view|subroutine|program)\s+(?:rec\s+|mut\s+|static\s+|class\s+|if\s+not\s+exists\s+)*"
    r"[\"'`@(]{0,2}(?P<name>[A-Za-z_$@][\w$.:@!?-]*)",
    re.IGNORECASE,
)
_RECORD = re.compile(r"\s*-\s*record\(\s*'?(?P<name>\w+)")
_TARGET = re.compile(
    r"\s*(?:[\w@]+\s+)*?(?P<name>[\"'`@$.]?[A-Za-z_$][\w$.:-]*)[\"'`]?\s*(?::[^:=()]{0,80})?(?:[:?]?=|=>|:|<-)"
)
_BEFORE_BRACKET = re.compile(r"(?P<name>[A-Za-z_$][\w$.:!?-]*)\s*(?:<[^<>]*>|\[[^\[\]]*\])?\s*[({]")
_METHOD_OF_C = re.compile(r"\s*[-+]\s*\([^()]*\)\s*(?P<name>\w+)")
_OTHER_HEADS = (_RECORD, SECTION, _METHOD_OF_C)
_RECEIVER = re.compile(r"\bfunc\s*\([^()]*\)\s*")
"""The object of a method of Go."""
_FOR_TYPE = re.compile(r"\bimpl\b.*\bfor\s+(?P<name>[A-Za-z_]\w*)")
_PREPARING = re.compile(
    r"init|default|new\b|create|constructor|setup|set_?up|config|setting|option|prepare|make|build|common|__construct",
    re.IGNORECASE,
)
_ENDING = re.compile(r"\w\.[A-Za-z]\w*$")
_KIND_WORDS = frozenset({
    "the", "a", "an", "its", "this", "class", "struct", "interface", "enum", "trait", "record", "object", "module",
    "namespace", "type", "message", "service", "function", "method", "macro", "table", "variable", "resource", "file",
    "script", "command", "section", "block", "config", "configuration", "settings", "options", "constructor",
    "extension", "plugin", "program", "library", "package", "contract", "constant", "const", "map", "hash", "dict",
    "dictionary", "literal", "theme", "job", "task", "workflow", "template", "default", "defaults", "helper",
    "component", "schema", "view", "procedure", "proc", "subroutine", "union", "protocol", "actor", "action", "step",
    "target", "role", "in", "of", "for", "code", "source", "sources",
})  # fmt: skip
"""Words of a question beside the name of what is meant, which tell no holder from another."""


@dataclass(frozen=True, slots=True)
class Head:
    """The line that begins what is around another line.

    Attributes
    ----------
    text
        The line up to the bracket that it opens.
    names
        What it declares, in small letters.
    is_condition
        Whether what follows holds under a condition alone.
    is_function
        Whether it begins a function.
    has_list
        Whether it opens a round bracket that it leaves open: a list of parameters or arguments.
    """

    text: str
    names: frozenset[str]
    is_condition: bool
    is_function: bool
    has_list: bool


def heads_around(lines: Sequence[str], number: int, column: int) -> list[Head]:
    """Return the heads of what is around a place (the line from 1, the column from 0), the nearest first."""
    text = lines[number - 1]
    before, sign = text[:column], segment_before(text, column)[1]
    heads = []
    # What opens on the line itself, as in `-record(state, {size = 5})`.
    if sign and without_texts(before).strip():
        heads = [_head(before)] if _opens(before) else []

    heads += [_head(line) for line in lines_around(lines, number)]
    if len(heads) > 1 and heads[0].has_list and _called_name(heads[0].text) in heads[1].names:
        # A constructor has the name of its class.
        heads[0] = replace(heads[0], is_function=True)
    return heads[:_MAX_HEADS]


def _called_name(text: str) -> str:
    """Return the name before the bracket of a head, in small letters; empty for a head with other words before it."""
    match = re.match(r"\s*(?:(?:public|private|protected|explicit|internal|constexpr)\s+)*(\w+)\s*\(", text)
    return "" if match is None else match[1].lower()


def _opens(text: str) -> bool:
    """Return whether a text leaves a bracket open."""
    bare = without_texts(text)
    return sum(letter in "([{" for letter in bare) > sum(letter in ")]}" for letter in bare)


def _head(text: str) -> Head:
    """Read the head of what is around a line."""
    bare = without_texts(text)
    open_count = bare.count("(") - bare.count(")")
    is_condition = CONDITION.match(text) is not None
    return Head(text, _names_of(text), is_condition, begins_function(text), open_count > 0)


def _names_of(text: str) -> frozenset[str]:
    """Return what a head declares, in small letters: whole names, and the last parts of those with dots."""
    text = _RECEIVER.sub("func ", text)
    before, bracket, _ = text.partition("(")
    # Types and words of parameters declare nothing. A form of Lisp begins with its bracket.
    declaring = before if before.strip() else text
    is_list = bracket != "" and re.search(r"[^=!<>]=|:=|<-", before) is None
    matches = [match for pattern in _OTHER_HEADS if (match := pattern.match(text)) is not None]
    matches += [match for match in (_FOR_TYPE.search(declaring), _KEYWORD.search(declaring)) if match is not None]
    if not matches and is_list:
        # The name of a function or a table, behind the types before it.
        matches += [match for match in (_BEFORE_BRACKET.search(f"{before}("),) if match is not None]
    elif not is_list:
        matches += [match for match in (_TARGET.match(text),) if match is not None]
    if not matches:
        matches += [match for match in (_BEFORE_BRACKET.search(text),) if match is not None]

    names = set()
    for match in matches:
        name = match["name"].strip("\"'`@$").lower().rstrip(":.")
        names |= {name, re.split(r"\.|::|:", name)[-1]}
        # A table of SQL with its schema: `@extschema@.part_config (`.
        names |= {part.strip('"@') for part in re.findall(r"[\w\"@]+(?=\s*\()", text[match.start("name") :])[:1]}

    return frozenset(name.lower() for name in names if name)


def scope_words(scope: str) -> list[str]:
    """Return the words of a scope that name a holder or a file: "the ref record" has one."""
    words = [word.strip("`\"'()") for word in re.split(r"\s+|'s\b", scope)]
    names = [word for word in words if word and word.lower() not in _KIND_WORDS]
    # "The options" may itself be the name.
    return names or [word for word in words if word]


def is_file_word(word: str) -> bool:
    """Return whether a word of a scope is a path or the name of a file with its ending."""
    # A module may have a dot in its name, too.
    return "/" in word or word.startswith(".") or (_ENDING.search(word) is not None and bool(language_of(word)))


def is_held(word: str, path: str, heads: Sequence[Head]) -> bool:
    """Return whether a word of a scope names the file of a line, a directory of it, or a holder around the line."""
    lower = word.lower()
    *directories, base = path.lower().split("/")
    if f"/{path.lower()}".endswith(f"/{lower}"):
        return True

    names = {name for head in heads for name in head.names}
    parts = [part for part in re.split(r"\.|::|#|->", lower) if part]
    place_names = names | set(directories) | {base.partition(".")[0]}
    is_last = bool(parts) and (parts[-1] in names or parts[-1] == base.partition(".")[0])
    if lower in names or (is_last and all(part in place_names for part in parts)):
        return True
    # A module is called by the name of its file, with or without a sign between its words.
    letters = re.sub(r"[^a-z\d]", "", lower)
    stems = {re.sub(r"[^a-z\d]", "", stem) for stem in (base.partition(".")[0], base.rpartition(".")[0])}
    return bool(letters) and (letters in stems or lower in directories or f"{lower}s" in directories)


def is_prepared(heads: Sequence[Head]) -> bool:
    """Return whether a value is one that holds at first: of a type, a record or a literal, or set by a constructor."""
    if any(head.is_condition for head in heads):
        return False
    functions = [head for head in heads if head.is_function]
    return not functions or _PREPARING.search(functions[0].text) is not None
