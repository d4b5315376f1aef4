"""Callees of a function: what its body calls, with a line of code per callee."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.cells.json_lines import with_cell_line
from sourcelight.core.errors import RepositoryError, SourcelightError
from sourcelight.core.markup import code, join_words
from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.model import (
    MAX_DETAILS,
    MAX_NAMED,
    FileEvidence,
    Finding,
    Statement,
    join_evidence,
)
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS, KEYWORDS
from sourcelight.engines.deepsearch.facts.model import Work, format_call
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation, best_locations, head_at
from sourcelight.engines.deepsearch.source.call_forms import WITH_TYPES_FIRST, without_prototype
from sourcelight.engines.deepsearch.source.calls.bare_code import without_shell_texts
from sourcelight.engines.deepsearch.source.line_kinds import COMMENT


def call_graph(work: Work, tool: str, location: DefinitionLocation, queries: list[str]) -> ToolResult | None:
    """Ask for the callers or the callees of a definition; None if they can't be read."""
    symbol = location.definition.name
    arguments: dict[str, Any] = {"repo": location.target.repository.name, "path": location.path, "symbol": symbol}
    if location.target.revision:
        arguments["revision"] = location.target.commit

    # The line tells functions of one name in one file apart.
    arguments["line"] = location.definition.line
    try:
        answer = work.call(tool, arguments)
    except (RepositoryError, SourcelightError):
        work.context.cancellation.check()
        return None

    queries.append(format_call(tool, arguments))
    return answer


def find_callees(work: Work, locations: Sequence[DefinitionLocation], name: str) -> Finding | None:
    """Return the calls of a function, each with a line of its body; None if it isn't a function, or none is certain."""
    callables = [location for location in best_locations(locations) if location.definition.kind in FUNCTION_KINDS]
    if len(callables) != 1:
        return None

    location = callables[0]
    queries: list[str] = []
    answer = call_graph(work, "callees", location, queries)
    if answer is None:
        return None

    body = range(location.definition.begin_line, location.definition.end_line + 1)
    first_rows: dict[str, dict[str, Any]] = {}
    for row in sorted(map(with_cell_line, answer.table.to_pylist()), key=lambda row: row["line_number"]):
        is_here = row["caller_path"] == location.path and row["line_number"] in body
        # By its name alone a callee may be another function, and the sentence would claim it.
        is_name = row["callee"] not in KEYWORDS and row["how"] not in {"name", "text"}
        if is_here and is_name and is_call(row, row["callee"]):
            first_rows.setdefault(row["callee"], row)

    if not first_rows:
        return None

    return _state_callees(work, location, name, list(first_rows.values()), queries, has_others=len(locations) > 1)


def _state_callees(
    work: Work,
    location: DefinitionLocation,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    queries: list[str],
    *,
    has_others: bool,
) -> Finding:
    """State which functions a function calls; `has_others` if another one has its name, too."""
    texts = work.texts
    visible = rows[: 2 * MAX_NAMED]
    name_list = join_words([code(row["callee"]) for row in visible])
    among = f"{len(rows):,} functions, including " if len(rows) > len(visible) else ""
    line_numbers = sorted({row["line_number"] for row in visible})
    evidence = join_evidence(
        [texts.evidence(location.target, location.path, line, line, "usage", 0.0, (name,)) for line in line_numbers]
    )

    # Another function of the same name, in an example or a test, may be the one that is meant.
    location_text = f" in {code(location.path)}" if has_others else ""
    headline = Statement(f"{code(name)}{location_text} calls {among}{name_list}", evidence)
    finding = Finding(headline, "callees", queries=queries, heading="Calls")
    finding.details = [
        Statement(
            f"{code(row['callee'])}: {code((row['line'] or '').strip()[:160])}",
            (texts.evidence(location.target, location.path, row["line_number"], row["line_number"], "usage"),),
        )
        for row in rows[:MAX_DETAILS]
    ]
    finding.quotes = [head_at(texts, location)]
    finding.method.append("Lists calls whose target is certain, without calls of libraries that aren't searched.")
    return finding


def is_call(row: Mapping[str, Any], name: str) -> bool:
    """Return whether the line itself shows the call, so that it proves it; a comment shows an example at best."""
    # Where a grammar lost its way, the head of a definition is read as a call.
    head = rf"\b(?:fun|defp?|fn|func|function|sub)\b[^=({{]{{0,300}}(?<![\w$]){re.escape(name)}\s*[(<\[]"
    line = row["line"] or ""
    if COMMENT.match(line) or re.search(head, line):
        return False

    language = language_of(row.get("caller_path") or row.get("path") or "")
    if language in WITH_TYPES_FIRST:
        line = without_prototype(line, name)
    elif language == "Shell":
        line = without_shell_texts(line)

    return re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", line) is not None


_MAX_QUOTE = 5_000


def has_other_owner(finding: Finding | None, name: str) -> bool:
    """Return whether a cited line has the last part of a name behind others: `Admin::Root` isn't `User::Root`."""
    owner, _, simple = name.strip("`").rpartition("::")
    evidence = () if finding is None else finding.headline.evidence
    quotes = [item for item in evidence if isinstance(item, FileEvidence)]
    chain = re.compile(rf"(?<![\w:])(?:(?:crate|self|super)::)*(?P<owner>\w+(?:::\w+)*)::{re.escape(simple)}(?!\w)")
    owners = [match["owner"] for quote in quotes for match in chain.finditer(quote.text[:_MAX_QUOTE])] if owner else []
    return any(not f"::{owner}".endswith(f"::{other}") and not f"::{other}".endswith(f"::{owner}") for other in owners)
