"""Options of a command line that no line has as they are written, although other lines may have their words.

A program may declare an option without its dashes: as a text, a field or a parameter. Where a line may be such a
declaration, nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from sourcelight.core.markup import code
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import find_rows, join_queries, make_queries, row_evidence
from sourcelight.engines.deepsearch.lookups.absence.names import limits_of
from sourcelight.engines.deepsearch.question.lookups.existence_wording import absent_option
from sourcelight.engines.deepsearch.redaction import is_hidden_file

_MAX_LINES = 2_000
"""Lines with the words of an option; more can't be read one by one."""
_MAX_LINE_CHARACTERS = 2_000
"""Characters of a line that are read; an option may be behind them, so a longer line leaves a doubt."""
_SEPARATOR = r"(?:\x5c?[-_ ])?"
"""Signs between the words of an option: a manual writes a backslash before a dash.

In a query, two backslashes between slashes are one.
"""
_OF_TOOLS = re.compile(
    r"(?:^|/)(?:pyproject\.toml|setup\.cfg|tox\.ini|mypy\.ini|tsconfig[\w.-]*\.json|Cargo\.(?:toml|lock)"
    r"|package(?:-lock)?\.json|\.github/.*|\.[\w-]+(?:\.\w+)?)$"
)
"""Files that configure other programs: "strict = true" in one declares no option of this one."""
_HOLDER = r"(?:flags?|opts?|options?|args?|params?|cli|config|settings?)"
_MIN_LIKENESS = 0.6


def find_absent_option(work: Work) -> Finding | None:
    """State that no line has the option that a question names; None if one may declare it."""
    option = absent_option(work.inquiry.question)
    parts = [escape_regexp(part) for part in re.split(r"[-_]+", option.removeprefix("no-")) if part]
    if not parts:
        return None

    spelling = _SEPARATOR.join(parts)
    queries = make_queries(work, f"case:no type:file /{spelling}/")
    content = find_rows(work, queries, max_rows=_MAX_LINES)
    forms = _declarations(spelling)
    is_whole = content.reads_all and not content.is_cut
    if not is_whole or any(_may_declare(row, forms) for row in content.lines):
        return None

    word = re.compile(rf"(?<!\w){spelling}(?!\w)", re.IGNORECASE)
    mentions = [row for row in content.lines if word.search(row["line"] or "")]
    mention = next((row for row in mentions if not is_hidden_file(row["path"])), None)
    evidence = None if mention is None else row_evidence(work, mention)

    if bool(mentions) != (evidence is not None):
        return None

    text = f"No searched line has {code(f'--{option}')}, nor {code(option)} as a word of its own"
    if mention is not None:
        location = f"line {mention['line_number']:,} of {code(mention['path'])}"
        without = f"{code(option)} stands without dashes, such as in {location}"
        text = f"No searched line has {code(f'--{option}')}; {without}"
    limits = limits_of(work, content)
    text += f" ({'; '.join(limits)})" if limits else ""
    nearest = _nearest_option(work, option)
    text += f". The nearest option there is {code(nearest)}" if nearest else ""
    return Finding(
        Statement(text, () if evidence is None else (evidence,)),
        "absence",
        method=[
            "Read every line with the words of the option, in any case. Code may build an option at run time.",
            *dict.fromkeys(content.large_files),
        ],
        queries=[join_queries(queries)],
        is_negative=True,
    )


def _may_declare(row: Mapping[str, Any], forms: Sequence[re.Pattern[str]]) -> bool:
    """Return whether a line has an option, or may declare it without its dashes."""
    line = row["line"] or ""
    forms = forms[:1] if _OF_TOOLS.search(row["path"]) is not None else forms
    return len(line) > _MAX_LINE_CHARACTERS or any(form.search(line) for form in forms)


def _declarations(spelling: str) -> tuple[re.Pattern[str], ...]:
    """Write regular expressions for the ways in which languages write an option, as it is typed first."""
    name = rf"(?:\[?no{_SEPARATOR}\]?)?{spelling}"
    forms = (
        rf"(?<![\w-])(?:\\?-){{1,2}}{name}(?![\w-])",  # --dry-run, \-\-dry\-run, --[no-]dry-run
        rf"[\"'`]{name}(?!\w)",  # "dry-run", 'dry-run!'
        rf"(?<![\w:]):{name}(?!\w)",  # :dry_run
        rf"(?<![\w$.-]){name}\s*(?:\??:(?!:)|=>?(?!=)|\)|by\b|as\b)",  # dry_run: bool, dryRun = false, dry-run)
        rf"{_HOLDER}(?:\(\))?(?:\.|_|-|->|::|\[[\"'])?{name}(?![a-z])",  # args.dry_run, optDryRun
        rf"(?<![a-z]){name}[_-]?{_HOLDER}",  # dryRunFlag
    )
    return tuple(re.compile(form, re.IGNORECASE) for form in forms)


def _nearest_option(work: Work, option: str) -> str:
    """Return the option of any line that is spelled most like one; empty if there is none."""
    word = max(re.split(r"[-_]+", option), key=len)
    queries = make_queries(work, f"type:file /--[a-z-]*{escape_regexp(word[:5])}/")
    lines = find_rows(work, queries, max_rows=_MAX_LINES).lines
    return _most_alike(option, lines)


def _most_alike(option: str, rows: Sequence[Mapping[str, Any]]) -> str:
    pattern = re.compile(r"(?<![\w-])--([a-z][\w-]{1,60})")
    names = {name for row in rows for name in pattern.findall((row["line"] or "")[:_MAX_LINE_CHARACTERS])}
    likeness = {name: SequenceMatcher(None, option, name).ratio() for name in names}
    # Of equally similar ones, the answer must always name the same one.
    best = max(likeness, key=lambda name: (likeness[name], name), default="")
    return f"--{best}" if best and likeness[best] >= _MIN_LIKENESS else ""
