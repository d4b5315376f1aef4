"""Names, comments and help texts that belong to one value of code: of its option, its comment, its annotation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.engines.deepsearch.evidence.units import comment_start
from sourcelight.engines.deepsearch.lookups.prose_values.bindings import MAX_LINE, Binding
from sourcelight.engines.deepsearch.lookups.prose_values.comments import without_others
from sourcelight.engines.deepsearch.source.line_kinds import ANY_COMMENT
from sourcelight.engines.deepsearch.source.literals import TEXT
from sourcelight.engines.symbols.definition_parser import Definition

MAX_BELOW = 30
"""Lines below a bracket in which its end is looked for."""
_MAX_COMMENT, _MAX_ABOVE, _MAX_DOCUMENTED = 14, 12, 120
_ANNOTATION = re.compile(r"\s*(?:#\[|@\w|\[[A-Z])")
_CHAIN = re.compile(r"\s*(?:\.|->)\w+")


def group_around(lines: Sequence[str], number: int, column: int) -> tuple[int, int]:
    """Return the lines (from 1) of the brackets around a column of a line; the line alone for none nearby."""
    depth, first = 0, 0
    for index in range(number, max(0, number - _MAX_ABOVE), -1):
        text = TEXT.sub(lambda match: " " * len(match[0]), lines[index - 1][: column if index == number else MAX_LINE])
        for letter in reversed(text):
            depth += (letter in ")]}") - (letter in "([{")
            if depth < 0:
                first = index
                break
        if first:
            break
    if not first:
        return number, number

    depth = 1
    for index in range(number, min(number + MAX_BELOW, len(lines)) + 1):
        text = TEXT.sub(lambda match: " " * len(match[0]), lines[index - 1][:MAX_LINE])
        for letter in text[column:] if index == number else text:
            depth += (letter in "([{") - (letter in ")]}")
            if depth == 0:
                return first, index
    return number, number


def texts_of(lines: Sequence[str], binding: Binding, number: int) -> list[tuple[int, str]]:
    """Return the comments and help texts of a value of code, each with its line (from 1)."""
    texts = _about(_comments_above(lines, min(number, binding.begin_line or number)), binding.name.lstrip("@$"))
    trailing = re.search(
        r"(?://|/\*|\s#|\s--\s|;;?\s)\s?(.*)$",
        TEXT.sub(lambda match: "_" * len(match[0]), lines[number - 1])[binding.column :],
    )
    if trailing is not None:
        start = binding.column + trailing.start(1)
        texts.append((number, lines[number - 1][start:].strip(" */")))
    if binding.form == "fallback":
        texts += _help_of(lines, binding, number)
    texts += _docstring_below(lines, number)
    return texts


def _about(texts: Sequence[tuple[int, str]], name: str) -> list[tuple[int, str]]:
    """Return the lines of a comment without those about other parameters."""
    remaining = without_others([text for _, text in texts], name)
    return [item for item in texts if item[1] in remaining]


def _comments_above(lines: Sequence[str], number: int) -> list[tuple[int, str]]:
    texts: list[tuple[int, str]] = []
    for index in range(number - 2, max(-1, number - 2 - _MAX_COMMENT), -1):
        text = lines[index]
        if _ANNOTATION.match(text) is not None or re.match(r"\s*#!?\[", text):
            texts += [
                (index + 1, match[0].strip("\"'`")) for match in TEXT.finditer(text[:MAX_LINE]) if " " in match[0]
            ]
            continue
        if re.match(r"\s*#\s*ifn?def\b", text) and index == number - 2:
            continue
        if ANY_COMMENT.match(text) is None or re.match(r"\s*#\s*(?:define|include|if|endif|else|undef|pragma)\b", text):
            break
        texts.append((index + 1, text.strip(" \t*/#;-!%\"'<>")))
        if text.lstrip().startswith(("/*", '"""')) and texts[1:]:
            break
    return [item for item in texts[::-1] if item[1]]


def _help_of(lines: Sequence[str], binding: Binding, number: int) -> list[tuple[int, str]]:
    """Return the texts in the brackets around an option, and in the calls chained to it."""
    begin_line = min(number, binding.begin_line or number)
    text = lines[number - 1]
    column = binding.column + 1
    behind = re.match(r"[\w\"'-]*\s*[:=]\s*[\w.]*[({\[]", text[binding.column :])
    first, last = group_around(lines, number, binding.column + behind.end() if behind is not None else column)
    if last - first > MAX_BELOW:
        first = last = number
    last = max(last, binding.end_line)
    if first == last == number:
        # The arguments of a call without brackets go on behind a comma.
        last = max(last, _end_of_bare_call(lines, number))
    while last < len(lines) and last - first < MAX_BELOW and _CHAIN.match(lines[last]) is not None:
        last += 1
    texts = []
    for index in range(min(first, begin_line), last + 1):
        for match in TEXT.finditer(lines[index - 1][:MAX_LINE]):
            content = match[0].strip("\"'`")
            if content and content != binding.value.strip("\"'`") and index >= begin_line - 2:
                texts.append((index, content))
        long_text = re.search(r"\[\[(.*)$", lines[index - 1][:MAX_LINE])
        if long_text is not None and long_text[1].strip():
            texts.append((index, long_text[1].strip()))
    tag = re.search(r"\bhelp:\"([^\"]{1,200})\"", text)
    if tag is not None:
        texts.append((number, tag[1]))
    return texts


def _end_of_bare_call(lines: Sequence[str], number: int) -> int:
    """Return the last line of a call without brackets, whose lines end with commas: ``option :port,``."""
    last = number
    if _BARE_CALL.match(lines[number - 1]) is not None:
        while last < len(lines) and last - number < _MAX_BARE and lines[last - 1].rstrip().endswith(","):
            last += 1
    return last


_BARE_CALL = re.compile(r"\s*[a-z]\w*!?\s+:[a-z]\w*,\s*$")
_MAX_BARE = 8
_ENTRY = re.compile(
    r"[\s*/#!'-]{0,40}(?:(?:@param|@arg|@property|@option|\\param|:param)\s+(?:\{[^{}]{1,80}\}\s*|\w+\s+(?=\w+:))?"
    r"[\[`*]{0,3}|(?P<item>[`*]{0,2}))(?P<name>[A-Za-z_$][\w.$]*)(?(item)[`*]{0,2}\s*(?:\([^()]{0,60}\))?\s*:\s)"
)
"""The beginning of what documentation says of a parameter or a member."""
_ENTRY_LINES = 4


def entry_about(lines: Sequence[str], holder: Definition, name: str) -> list[tuple[int, str]]:
    """Return what the documentation of a function or a class says of a parameter or option, each line with its number.

    It is above the function, or in the text below its head.
    """
    start = max(comment_start(lines, holder.begin_line - 1), holder.begin_line - 1 - _MAX_DOCUMENTED)
    above = range(start, holder.begin_line - 1)
    below = range(holder.line, min(holder.end_line, holder.line + _MAX_DOCUMENTED))
    for index in (*above, *below):
        match = _ENTRY.match(lines[index][:MAX_LINE])
        # A key of a literal looks like an entry, and has no text of words.
        if match is None or match["name"].rpartition(".")[2].lstrip("$") != name:
            continue
        is_code = index in below and lines[index].rstrip().endswith((",", "{", ";", "(", "["))
        if is_code:
            continue
        entry = [(index + 1, lines[index].strip(" */#!"))]
        for further in range(index + 1, min(index + _ENTRY_LINES, len(lines))):
            text = lines[further].strip(" \t*/#!")
            if not text or _ENTRY.match(lines[further][:MAX_LINE]) is not None or text[0] in "@:\"'":
                break
            entry.append((further + 1, text))
        return entry
    return []


FIELD = re.compile(
    r"\s+(?:(?:pub(?:\([^)]{1,20}\))?|public|readonly)\s+)?(?P<name>[A-Za-z_]\w*)\??(?:\s*:\s*|\s+)"
    r"(?![=:]|return\b)[\w\[\]*.<>&?]+(?:\s*[\w<>\[\]|&*. ]{0,60})?[,;]?\s*(?://.*|`[^`]*`.*)?$"
)
"""The declaration of a field with its type, in Go, Rust and TypeScript."""


def field_texts(lines: Sequence[str], name: str, number: int) -> list[tuple[int, str]]:
    """Return the comment above the only declaration of a field that a line (from 1) of the same file sets."""
    declarations = [
        index + 1
        for index, text in enumerate(lines)
        if name in text and index + 1 != number and (match := FIELD.match(text[:MAX_LINE])) and match["name"] == name
    ]
    texts = [texts for line in declarations if (texts := _comments_above(lines, line))]
    return texts[0] if len(texts) == 1 else []


def entry_name(lines: Sequence[str], number: int) -> str:
    """Return the name of the parameter that a line (from 1) of documentation is about; empty for none."""
    for index in range(number - 1, max(-1, number - 1 - _ENTRY_LINES), -1):
        match = _ENTRY.match(lines[index][:MAX_LINE])
        if match is not None:
            return match["name"].rpartition(".")[2].lstrip("$")
        if not lines[index].strip(" \t*/#!"):
            return ""
    return ""


def _docstring_below(lines: Sequence[str], number: int) -> list[tuple[int, str]]:
    """Return the first lines of a text right below a value: the documentation of a variable of Lisp or Python."""
    if number >= len(lines):
        return []
    text = lines[number].strip()
    if lines[number - 1].lstrip().startswith("(def") and text.startswith('"'):
        texts = []
        for index in range(number, min(number + 4, len(lines))):
            texts.append((index + 1, lines[index].strip().strip('"')))
            if lines[index].rstrip().rstrip(")").endswith('"'):
                break
        return texts
    if re.match(r"\"\"\"[^\"]+\"\"\"$", text) and re.match(r"\s*\w+\s*(?::[^=]+)?=", lines[number - 1]):
        return [(number + 1, text.strip('"'))]
    return []
