"""Uses of named templates of Go, which charts of Helm are made of: lines that include what another line defines."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.file_kinds import is_test
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import find_rows, has_row, join_queries, make_queries, rows_evidence
from sourcelight.engines.deepsearch.source.line_kinds import DOCUMENTS

_OF_TEMPLATE = re.compile(r"[A-Za-z][\w-]*(?:\.[\w-]+)+")
"""A name with a dot, as templates of a chart have it: that of the chart comes first."""
_QUOTED = r"\s+[\"`]{name}[\"`]"
_DEFINES = r"\{{\{{-?\s*(?:define|block)" + _QUOTED
_INCLUDES = r"(?<![\w.$])(?:include|template|block)" + _QUOTED
_COMMENT_START, _COMMENT_END = re.compile(r"\{\{-?\s*/\*"), re.compile(r"\*/\s*-?\}\}")
"""Both ends of a comment, apart: one pattern would look for an end from each start, to the end of the file."""
_MAX_COMMENTED = 400_000
"""Characters of a file whose comments are read."""
_MADE_AT_RUN_TIME = r"\b(include|template)\s+[($.]"
"""An include whose name is the value of an expression."""
_OF_FILE = "Template.BasePath"
"""The beginning of a path, by which a chart includes a file for its checksum."""
_MAX_FILES, _MAX_OF_FILE = 6, 4
"""Files that a headline names, and lines of each."""


@dataclass(frozen=True, slots=True)
class NamedTemplate:
    """A named template: the lines that define it, all lines of code with its name, and how they were searched."""

    name: str
    definitions: Sequence[Mapping[str, Any]]
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str]
    queries: Sequence[str]


def find_template(work: Work, name: str) -> NamedTemplate | None:
    """Return the named template that lines define; None if no line defines one of the name."""
    if _OF_TEMPLATE.fullmatch(name) is None:
        return None

    queries = make_queries(work, f"case:yes type:file /{escape_regexp(name)}/")
    result = find_rows(work, queries)
    rows = [row for row in result.lines if DOCUMENTS.search(row["path"]) is None]
    defines = re.compile(_DEFINES.format(name=re.escape(name)))
    definitions = [row for row in rows if defines.search(row["line"] or "") is not None]
    return NamedTemplate(name, definitions, rows, result.notes, queries) if definitions else None


def state_template_uses(work: Work, template: NamedTemplate) -> Finding | None:
    """Return the lines that include a named template, or that no line does; None if that is uncertain."""
    name, rows = template.name, template.rows
    work.notes += template.notes
    includes = re.compile(_INCLUDES.format(name=re.escape(name)))
    comments = _Comments(work, work.texts)
    uses = [row for row in rows if includes.search(row["line"] or "") and not comments.has(row)]
    uses.sort(key=lambda row: (row["path"], row["line_number"]))
    if not uses:
        is_whole = len(rows) == len(template.definitions) and not template.notes
        return _state_unused(work, template) if is_whole else None

    main = [row for row in uses if not is_test(row["path"])] or uses
    visible = _select(main)
    further = "" if len(visible) == len(main) else ", and on more lines"
    is_all = len(rows) == len({_key_of(row) for row in (*main, *template.definitions)})
    remaining = "" if is_all else "; other lines have the name"
    text = f"{code(name)} is included by name in {_list_lines(visible)}{further}{remaining}"
    finding = Finding(
        Statement(text, rows_evidence(work, visible, (name,))),
        "callers",
        queries=[join_queries(template.queries)],
        heading="Included by",
        notes=work.notes,
        lists_uses=True,
    )
    finding.details = [
        Statement(f"{code(row['path'])}: {code((row['line'] or '').strip()[:160])}", rows_evidence(work, [row]))
        for row in main[:MAX_DETAILS]
    ]
    if len({row["path"] for row in template.definitions}) > 1:
        finding.method.append("Several files define a template of this name; the list has the includes of all of them.")
    return finding


def _key_of(row: Mapping[str, Any]) -> tuple[str, str, int]:
    return row["repository"], row["path"], row["line_number"]


@dataclass(slots=True)
class _Comments:
    """Lines in comments of templates, each file read once."""

    work: Work
    texts: FileTexts
    _lines_by_file: dict[tuple[str, str], frozenset[int]] = field(default_factory=dict)

    def has(self, row: Mapping[str, Any]) -> bool:
        """Return whether a line is within a comment of its template, or begins with one of YAML."""
        line = row["line"] or ""
        target = self.work.inquiry.pins.of(row["repository"])
        if target is None or line.lstrip().startswith("#") or _COMMENT_START.search(line) is not None:
            return True

        key = row["repository"], row["path"]
        if key not in self._lines_by_file:
            self._lines_by_file[key] = _lines_in_comments(self.texts.lines(target, row["path"]))
        return row["line_number"] in self._lines_by_file[key]


def _lines_in_comments(lines: Sequence[str]) -> frozenset[int]:
    """Return the numbers of the lines, from 1, whose first character is within a comment."""
    text = "\n".join(lines)[:_MAX_COMMENTED]
    line_starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    numbers: set[int] = set()
    position = 0
    while (start := _COMMENT_START.search(text, position)) is not None:
        end = _COMMENT_END.search(text, start.end())
        if end is None:
            break
        position = end.end()
        first, last = bisect_left(line_starts, start.start()), bisect_left(line_starts, position)
        numbers.update(range(first + 1, min(last, len(lines)) + 1))
    return frozenset(numbers)


def _select(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the lines that a headline names."""
    by_file: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_file.setdefault(row["path"], []).append(row)
    return [row for rows_of_file in list(by_file.values())[:_MAX_FILES] for row in rows_of_file[:_MAX_OF_FILE]]


def _list_lines(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write lines by their files: "line 3 and line 9 of `a.yaml`"."""
    by_file: dict[str, list[str]] = {}
    for row in rows:
        by_file.setdefault(row["path"], []).append(f"line {row['line_number']:,}")
    return join_words([f"{join_words(lines)} of {code(path)}" for path, lines in by_file.items()])


def _state_unused(work: Work, template: NamedTemplate) -> Finding | None:
    """State that only its definition has a name; None if an include may make the name at run time."""
    name, definitions = template.name, template.definitions
    queries = make_queries(work, f"type:file /{_MADE_AT_RUN_TIME}/")
    is_made = has_row(work, queries, lambda row: _OF_FILE not in (row["line"] or ""))
    paths = list(dict.fromkeys(code(row["path"]) for row in definitions))
    if is_made or len(paths) > MAX_NAMED:
        return None

    noun = "its definition" if len(definitions) == 1 else "its definitions"
    text = f"No searched line has {code(name)} except {noun} in {join_words(paths)}: nothing there includes it by name"
    finding = Finding(
        Statement(text, rows_evidence(work, definitions, (name,))),
        "callers",
        queries=[join_queries(template.queries)],
        is_negative=True,
    )
    finding.method.append("The search can't find names that a template makes at run time, or includes of other charts.")
    return finding
