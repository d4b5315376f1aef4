"""Calls that register a setting with its default, such as ``add_option("--name", default=3)``, by their arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.markup import code
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import FileEvidence
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.definitions.location import ValueCandidate
from sourcelight.engines.deepsearch.lookups.definitions.search import find_definitions
from sourcelight.engines.deepsearch.source.functions import lines_around
from sourcelight.engines.deepsearch.source.values import Parameter, parameters_of, read_parameters
from sourcelight.engines.search import Target

_SETTERS = re.compile(
    r"^(?:set|set_?default|set_?option|put|default|config|configure|define|register_?option)$", re.IGNORECASE
)
_FLAGS = re.compile(
    r"^(?:String|Int|Int64|Int32|Uint|Uint64|Uint32|Bool|Duration|Float64|Float32|StringSlice)(?P<var>Var)?(?P<short>P)?$"
)
"""Functions of Go's ``flag`` and of ``pflag``: name, with P a shorthand, value, usage; with Var a pointer before."""

_MAX_CALLS = 200
_BRANCH_LINES = 60
"""Lines above a call in which a branch around it begins."""
_MAX_HEAD = 200
"""Characters of a line in which the words of a branch are looked for."""
_BRANCH = re.compile(
    r"(?:\}\s*+)?(?:\w++\s*+=\s*+)?\(?(?:if|unless|else|elsif|elseif|elif|case|when|cond|switch|match|catch|rescue|except)\b"
)
_AFTERWARDS = re.compile(r"[)\w\"']\s(?:if|unless)\s")
"""A condition behind a statement, as Ruby and Perl have it."""
DEFAULT_NAMES = re.compile(r"^_*(?:default|defaults|dflt|def|fallback)(?:_?val(?:ue)?|_?v)?$", re.IGNORECASE)


def find_registrations(work: Work, name: str, queries: list[str]) -> list[ValueCandidate]:
    """Find calls that give a setting its default, by the name of the parameter or by what is known of the call."""
    quoted = rf"(\"-{{0,2}}{escape_regexp(name)}\"|'-{{0,2}}{escape_regexp(name)}'|:{escape_regexp(name)}\b)"
    searches = make_queries(work, f"case:yes type:file /{quoted}/")
    queries += searches
    rows = [row for row in run_searches(work, searches) if row["type"] == "content"]
    rows = [row for row in rows if rank_of(row["path"]).is_of_project and len(row["line"] or "") < 1_000]
    candidates: list[ValueCandidate] = []
    heads: dict[tuple[str, str], tuple[int, FileEvidence] | None] = {}
    for row in rows[:_MAX_CALLS]:
        target = work.inquiry.pins.of(row["repository"])
        if target is None:
            continue
        candidate = _registration_at(work, target, row["path"], row["line_number"], name, heads)
        if candidate is not None:
            candidates.append(candidate)

    defaults = [candidate for candidate in candidates if candidate.verb == "is"]
    return defaults or candidates


def _registration_at(  # noqa: PLR0911, PLR0912 - one for each form of call
    work: Work,
    target: Target,
    path: str,
    line: int,
    name: str,
    heads: dict[tuple[str, str], tuple[int, FileEvidence] | None],
) -> ValueCandidate | None:
    lines = work.texts.lines(target, path)
    text = lines[line - 1]
    name_match = re.search(rf"[\"':]-{{0,2}}{re.escape(name)}(?![\w-])", text)
    if name_match is None:
        return None

    call = _call_around(lines, line - 1, name_match.start())
    if call is None:
        return None

    callee, call_line, column, is_bracketed = call
    if is_bracketed:
        read = read_parameters(lines, call_line, column, path)
        if read is None:
            return None
        arguments, last_line = read
    else:
        arguments, last_line = _bare_arguments(lines, call_line, column, path), line

    # A quote of more lines proves nothing that a reader can check.
    if last_line - call_line > 30:
        return None

    quote = work.texts.evidence(target, path, call_line + 1, last_line, "definition", 1.0, (callee,))
    position = next((index for index, argument in enumerate(arguments) if _is_name(argument.text, name)), None)
    if position is None:
        return None

    subject = f"The default of {code(name)}"
    for argument in arguments:
        keyword = re.match(r"(?:default|default_value|defaultValue)\s*(?:=(?!=)|:|=>)\s*(\S.*)$", argument.text)
        if keyword is not None and position == 0:
            return ValueCandidate(keyword[1], subject, path, [quote], rank_of(path), target.repository.name)

    flag = _FLAGS.match(callee)
    if flag is not None and path.endswith(".go"):
        index = position + (2 if flag["short"] else 1)
        if position == (1 if flag["var"] else 0) and index < len(arguments):
            return ValueCandidate(arguments[index].text, subject, path, [quote], rank_of(path), target.repository.name)

    if _SETTERS.match(callee) and position == 0 and len(arguments) == 2:
        # What a condition sets is the value of its own case, and `Map.put` of Elixir makes a copy.
        if _is_in_branch(lines, call_line) or path.endswith((".ex", ".exs")):
            return None

        return ValueCandidate(
            arguments[1].text, code(name), path, [quote], rank_of(path), target.repository.name, "is set to"
        )

    if callee not in {"set", "get", "put"} and is_bracketed:
        head = find_default_parameter(work, target, callee, heads)
        if head is not None and position == 0 and head[0] < len(arguments) and head[0] > 0:
            return ValueCandidate(
                arguments[head[0]].text, subject, path, [quote, head[1]], rank_of(path), target.repository.name
            )

    return None


def _is_in_branch(lines: Sequence[str], index: int) -> bool:
    """Return whether a line (from 0) is within a branch, by its own words or those of less indented lines above it."""
    if _AFTERWARDS.search(lines[index].strip()[:_MAX_HEAD]) is not None:
        return True

    around = lines_around(lines[max(0, index - _BRANCH_LINES) : index + 1])
    return any(_BRANCH.match(line.strip()[:_MAX_HEAD]) is not None for line in around)


def _is_name(text: str, name: str) -> bool:
    list_match = re.fullmatch(r"(?:\w+\s*=\s*)?\[(.*)\]", text)
    items = [text] if list_match is None else re.split(r"\s*,\s*", list_match[1])
    return any(re.fullmatch(rf"[\"':]?-{{0,2}}{re.escape(name)}[\"']?", item) is not None for item in items)


def _call_around(lines: Sequence[str], line: int, column: int) -> tuple[str, int, int, bool] | None:
    """Return the call that a place is in: its name, the place behind its bracket, and whether it has one."""
    depth = 0
    for number in range(line, max(-1, line - 6), -1):
        text = lines[number]
        position = (column if number == line else len(text)) - 1
        while position >= 0:
            letter = text[position]
            if letter in ")]}":
                depth += 1
            elif letter in "([{":
                if depth == 0 and letter == "[" and re.search(r"(?:^|[(,=:])\s*$", text[:position]) is not None:
                    # A list of names for one setting: keys=["jobs", "workers"].
                    position -= 1
                    continue
                if depth == 0:
                    name = re.search(r"([A-Za-z_$][\w$]*)\s*$", text[:position])
                    return (name[1], number, position + 1, True) if letter == "(" and name is not None else None
                depth -= 1

            position -= 1

        if number == line:
            bare = re.match(r"\s*(?:[\w.]+\.)?([A-Za-z_]\w*)\s+$", text[:column])
            if bare is not None and depth == 0:
                return bare[1], number, column, False

    return None


def _bare_arguments(lines: Sequence[str], line: int, column: int, path: str) -> list[Parameter]:
    """Read the arguments of a call without brackets, as Ruby has them, on one line."""
    read = read_parameters([f"{lines[line]})"], 0, column, path)
    if read is None and (comment := re.match(r"(.*?)(?<!\s)\s++#", lines[line])) is not None:
        read = read_parameters([f"{comment[1]})"], 0, column, path)
    return [] if read is None else read[0]


def find_default_parameter(
    work: Work,
    target: Target,
    callee: str,
    heads: dict[tuple[str, str], tuple[int, FileEvidence] | None],
) -> tuple[int, FileEvidence] | None:
    """Return the number of the parameter of a function or macro that is called default, and its head."""
    key = target.repository.key, callee
    if key in heads:
        return heads[key]

    # Before the search, so that a name without a definition is searched once.
    heads[key] = None
    for location in find_definitions(work, callee, []):
        if location.target.repository.key != target.repository.key:
            continue

        read = parameters_of(
            work.texts.lines(location.target, location.path), callee, location.definition.line, location.path
        )
        if read is None:
            continue

        for index, parameter in enumerate(read[0]):
            if DEFAULT_NAMES.match(parameter.name or parameter.text):
                line = location.definition.line
                evidence = work.texts.evidence(
                    location.target, location.path, line, read[1], "definition", 1.0, (callee,)
                )
                heads[key] = index, evidence
                return heads[key]

    return None
