"""The license that a file at the top grants, for projects whose manifest names none.

The line that names or grants it is quoted, so that nothing is said of other conditions in the file. A license without a
title is named by sentences that no other one has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.markup import code
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.manifests import MAX_LINE
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.search import Target

_LICENSES = r"^(LICEN[CS]E|COPYING|UNLICENSE)([.-][\w.-]*)?$"
_LICENSE_LINE = re.compile(
    r"\blicen[cs]e\b|permission is hereby granted|redistribution and use|\bpublic domain\b|\bcopying\b"
    r"|^\W*attribution\b[\w -]{1,60}\d\.\d\b|^\W*CC0\b",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(r"\W*(?:alternative|option)\s+(?:\d|[A-D])\b", re.IGNORECASE)
_MIDDLE_OF_SENTENCE = re.compile(r"\s*[a-z]")
"""The start of a line that goes on with a sentence: it has a word of licenses, but doesn't name one."""
_LICENSE_PHRASES = (
    ("MIT", ("permission is hereby granted, free of charge, to any person obtaining a copy of this software",
             "this permission notice shall be included in all copies", 'the software is provided "as is"')),
    ("ISC", ("permission to use, copy, modify, and/or distribute this software for any purpose",
             "this permission notice appear in all copies")),
    ("BSD-3-Clause", ("redistribution and use in source and binary forms", "redistributions in binary form must",
                      "to endorse or promote products derived from this software")),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms", "redistributions in binary form must")),
)  # fmt: skip
"""Sentences of licenses, in the order of trial: the third clause is what the shorter one lacks."""
_FURTHER_CONDITIONS = (
    "all advertising materials", "except as contained in this notice", "shall be used for good", "neither by nor",
    "gnu general public", "apache license", "mozilla public", "dual licen", "commons clause",
)  # fmt: skip
"""Words of other licenses, and of longer forms of these."""

_MAX_LINES = 60
"""First lines of a license file that are read."""

_MAX_LICENSES = 3
"""Files of licenses that one sentence names; a project with more has a directory of them."""

_MAX_QUOTE = 200
_MARKS = " *#="
"""Marks around a title."""


def find_license_text(work: Work, query: str) -> Finding | None:
    """Quote the line of each license file at the top that names or grants the license; None if a file has no such line.

    `query` is the one whose manifests name no license.
    """
    searches = make_queries(work, f"type:path file:{quote_value(_LICENSES)}")
    statements = []
    for row in run_searches(work, searches):
        target = work.inquiry.pins.of(row["repository"])
        if target is None or not row["path"]:
            continue

        lines = work.texts.lines(target, row["path"])[:_MAX_LINES]
        statement = _state_alternatives(work, target, row["path"], lines) or _state_license(
            work, target, row["path"], lines
        )
        # One license of several would be stated as the only one.
        if statement is None:
            return None
        statements.append(statement)

    if not 0 < len(statements) <= _MAX_LICENSES:
        return None

    text = "; ".join(statement.text for statement in statements)
    evidence = tuple(item for statement in statements for item in statement.evidence)
    return Finding(Statement(text, evidence), "field", queries=[join_queries([query, *searches])], notes=work.notes)


def _state_alternatives(work: Work, target: Target, path: str, lines: Sequence[str]) -> Statement | None:
    """Quote the titles of licenses to choose from: of two, neither is the license. None for a single license."""
    numbers = [number for number, line in enumerate(lines, 1) if _ALTERNATIVE.match(line) is not None]
    if len(numbers) < 2:
        return None
    quotes = " and ".join(f"“{inline(lines[number - 1].strip(_MARKS)[:_MAX_QUOTE])}”" for number in numbers)
    evidence = tuple(work.texts.read_line(target, path, number) for number in numbers)
    return Statement(f"{code(path)} says {quotes}", evidence)


def _state_license(work: Work, target: Target, path: str, lines: Sequence[str]) -> Statement | None:
    """Quote the first line that names or grants a license; None without one, or if it is the middle of a sentence."""
    has_license = (number for number, line in enumerate(lines, 1) if _LICENSE_LINE.search(line[:MAX_LINE]))
    number = next(has_license, 0)
    if not number or _MIDDLE_OF_SENTENCE.match(lines[number - 1]) is not None:
        return None

    # A title such as "GNU General Public License" is followed by its version.
    end = number + 1 if number < len(lines) and re.match(r"\s*Version\b", lines[number]) is not None else number
    quote = " ".join(" ".join(lines[number - 1 : end]).split())[:_MAX_QUOTE].strip(_MARKS)
    evidence = work.texts.evidence(target, path, number, end, "read", 1.0)
    name = _license_name(lines)
    words = f"has the words of the {code(name)} license: " if name else "says "
    return Statement(f"{code(path)} {words}“{inline(quote)}”", (evidence,))


def _license_name(lines: Sequence[str]) -> str:
    """Return the name of a license that has no title of its own, by the sentences that only it has; else nothing."""
    text = " ".join(" ".join(line[:MAX_LINE] for line in lines).lower().split())
    if any(phrase in text for phrase in _FURTHER_CONDITIONS):
        return ""
    return next((name for name, phrases in _LICENSE_PHRASES if all(phrase in text for phrase in phrases)), "")
