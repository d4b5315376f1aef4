"""Versions of packages in lock files: what was chosen, where a manifest only has a range, or doesn't list it."""

from __future__ import annotations

import re

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import asks_yes_or_no, cite_lines
from sourcelight.engines.deepsearch.lookups.manifests import LOCK_FILES, LockedVersion, read_locked
from sourcelight.engines.search import Target

_OF_LOCK = re.compile(
    r"\b(?:lock[\s-]?files?|locked|lock)\b|(?<![\w.])[\w.-]*\.lock(?:\.json|file)?\b|\bpackage-lock\.json|\bgo\.sum\b"
    r"|\bpnpm-lock\.yaml|\bpackage\.resolved\b",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"(?<![\w.])(?P<file>[\w./-]*(?:\.lock(?:\.json|file)?|package-lock\.json|go\.sum|pnpm-lock\.yaml|package\.resolved))"
    r"(?![\w-])",
    re.IGNORECASE,
)
_NESTED = re.compile(r"(?:^|/)(?:tests?|fixtures?|testdata|examples?|node_modules|vendor)/", re.IGNORECASE)
_MAX_FILES = 20
"""Lock files that are read: each has up to a megabyte."""


def asks_for_lock(question: str) -> bool:
    """Return whether a question is about what a lock file has."""
    return _OF_LOCK.search(question) is not None


def find_locked(work: Work, name: str, *, is_exact: bool = False) -> Finding | None:
    """Return the versions of a package in the lock file of a question, or in the only one that has it.

    With `is_exact`, a yes-or-no question may get a "No" from the file that it names.
    """
    queries = make_queries(work, f"type:path file:{quote_value(LOCK_FILES)}")
    rows = [row for row in run_searches(work, queries) if row["path"] and not _NESTED.search(row["path"])]
    match = _FILE.search(work.inquiry.question)
    if match is not None:
        file = match["file"].lower()
        rows = [row for row in rows if row["path"].lower() == file or row["path"].lower().endswith(f"/{file}")]

    rows.sort(key=lambda row: (row["path"].count("/"), row["path"]))
    entries: list[tuple[Target, str, list[LockedVersion]]] = []
    for row in rows[:_MAX_FILES]:
        target = work.inquiry.pins.of(row["repository"])
        versions = read_locked(row["path"], work.texts.lines(target, row["path"]), name) if target is not None else []
        if target is not None and versions:
            entries.append((target, row["path"], versions))

    if not entries:
        return None

    # Of several files, those at the top decide, and only if one has the package.
    depth = entries[0][1].count("/")
    nearest = [entry for entry in entries if entry[1].count("/") == depth]
    if len(nearest) > 1:
        return None

    statements = [_state(work.texts, *entry) for entry in entries]
    first = statements[0]
    if is_exact and asks_yes_or_no(work.inquiry.question):
        first = Statement(f"Yes: {first.text}", first.evidence)

    finding = Finding(
        first, "dependency", queries=[join_queries(queries)], notes=work.notes, heading="Other lock files"
    )
    finding.details = statements[1:]
    return finding


def _state(texts: FileTexts, target: Target, path: str, versions: list[LockedVersion]) -> Statement:
    """State the versions that a lock file has of a package."""
    distinct = {locked.version: locked for locked in reversed(versions)}
    selected = [locked for locked in versions if distinct[locked.version] is locked]
    shown_versions = join_words([code(locked.version) for locked in selected[:MAX_NAMED]])
    among = ", among others" if len(selected) > MAX_NAMED else ""
    lines = [number for locked in selected[:MAX_NAMED] for number in sorted({locked.line, locked.version_line})]
    proofs = cite_lines(texts, target, path, lines)
    return Statement(f"{code(path)} lists {code(selected[0].name)} {shown_versions}{among}", proofs)
