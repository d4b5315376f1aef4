"""Parse texts about commits and changes, in the forms of git and of services; no I/O.

No release documents the text of these tools. So the parsers accept several forms: the output of ``git log`` and ``git
diff``, headings or bullets with a commit, and ``Name: value`` blocks. The first line with a commit decides the form of
all others. Otherwise a number in a message could start a commit. A parser returns None for other texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from sourcelight.backends.remote.mcp.history.patch_texts import parse_patch

_MAX_LINE_CHARS = 2_000  # no known form has longer lines, and these expressions would be slow on them
# At least one digit: otherwise words such as `defaced` would be commits.
_ID = r"(?P<oid>(?=[0-9a-f]*[0-9])[0-9a-f]{7,40})"
_REPO = r"(?:(?P<repo>[\w.~-]+(?:/[\w.~-]+)+)@)?"
_COMMIT_PATTERNS = (
    re.compile(rf"commit {_ID}\b(?P<subject>)"),
    re.compile(rf"#{{1,6}} {_REPO}[`\[]?{_ID}[`\]]?(?:\([^)]*\))?[:,]?(?: +[-\u2013\u2014|] )? *(?P<subject>.*)"),
    re.compile(rf"(?:commit|sha|hash|oid|commit id|\*\*commit:?\*\*)\s*:?\s*`?{_ID}`?(?P<subject>)\s*$", re.IGNORECASE),
    re.compile(
        rf"(?:[-*\u2022] |\d+[.)] )?{_REPO}[`\[(]?{_ID}[`\])]?(?:\([^)]*\))?:?(?: +[-\u2013\u2014|])?"
        r" +(?P<subject>\S.*)"
    ),
)
_FIELD = re.compile(
    r"(?:[-*] )?\**(author ?date|author|commit ?date|committer|commit|date|repository|repo|url|link|message|subject"
    r"|title|merge|parents)\**: ?\**\s*(.*)",
    re.IGNORECASE,
)
"""A field of a commit: ``Author: Ann <ann@example.org>`` or ``- **Date**: 2026-03-02``."""

_MESSAGE_FIELDS = frozenset({"message", "subject", "title"})
_DATE_KEYS = {"date": "authorDate", "authordate": "authorDate", "commitdate": "committerDate"}
_TEXT_KEYS = {"repository": "repo", "repo": "repo", "url": "url", "link": "url"}
"""Keys of a typed payload by the field of a text, in lower case and without spaces."""

_REPOSITORY = re.compile(
    r"(?:#{1,6} +|\*\*|repo(?:sitory)?: *)(?P<repo>[\w.~-]+(?:/[\w.~-]+)+)\**:?(?: \([^)]*\))?:?", re.IGNORECASE
)
"""The heading above commits of a repository: ``## github.com/owner/name (3 commits):``."""

_PERSON = re.compile(r"(?P<name>.*?)\s*<(?P<email>[^<>]*)>\s*")
"""``Ann <ann@example.org>``."""

_AUTHOR_AND_DATE_PATTERNS = (
    re.compile(r"(?P<subject>.+?) \((?P<author>[^(),]+), (?P<date>[^()]+)\)"),
    re.compile(r"(?P<subject>.+?) [-\u2013\u2014] (?P<author>[^,]+), (?P<date>\S.*)"),
    re.compile(r"(?P<subject>.+?) by (?P<author>.+?) on (?P<date>\S+)"),
    re.compile(r"(?P<subject>.+?) \((?P<date>[^()]+)\) <(?P<author>[^<>]+)>"),
)
_COUNT = re.compile(r"(?:found|showing|returned|first)\D{0,40}?(\d[\d,]*)(?: (?:of|out of) (\d[\d,]*))?", re.IGNORECASE)
"""The number of entries: ``Showing 10 of 25``."""

_NOTE = re.compile(r"\((?!cherry picked)(.*(?:more|cut|truncat|limit|omitted|left out).*)\)", re.IGNORECASE)
"""A line in parentheses about what is missing: ``(12 more commits)``."""

_DIFF_START = re.compile(r"diff --git |--- \S|`{3,}(?:diff|patch)\s*$|@@ -\d")
"""The first line of a diff."""

_COMPARING = re.compile(
    r"(?:compar\w+|diff)\b\D*?(?P<base>[^\s.]\S*?)(?:\.{2,3}| (?:to|and|with|\u2192|->) )(?P<head>\S+)",
    re.IGNORECASE,
)
"""The revisions of a comparison: ``Comparing v1..v2`` or ``Diff between v1 and v2``."""

_CURSOR = re.compile(r"\(?(?:end ?cursor|next ?cursor|after)\b\W*[:=]\W*(?P<cursor>[\w+/=.:-]+)", re.IGNORECASE)
"""The cursor of the next page: ``(next cursor: a3f0)``."""

_STATUS = re.compile(
    r"(?:[-*] )?(?P<status>[AMDTRC](?=\d{0,3}\s)|(?:added|modified|changed|deleted|removed|renamed|copied)(?=:))"
    r"\d{0,3}:?\s+`?(?P<path>[^`\t]+?)`?"
    r"(?:(?:\t| -> | => )(?P<new>\S.*?))?(?: \(?\+(?P<added>\d+),? ?[-\u2212](?P<removed>\d+)\)?)?",
    re.IGNORECASE,
)
"""A changed file: ``M src/retry.py``, ``renamed: a.py -> b.py (+3, -1)``."""

_STATUSES = {
    "A": "added", "M": "modified", "D": "deleted", "T": "type changed", "R": "renamed", "C": "copied",
    "CHANGED": "modified", "REMOVED": "deleted",
}  # fmt: skip
"""Statuses by the upper-case letters and words of services; other words are statuses themselves."""

# Spaces and signs are possessive and few, because a name may end at each of its dashes.
_CONTRIBUTOR = re.compile(
    r"(?:[-*\u2022] |\d+[.)] |\| *)?[`*\[]*(?P<name>[\w.~-]+(?:/[\w.~-]+)*)[`*\]]*(?:\([^)]*\))?\s*+"
    r"(?:[-\u2013\u2014:|,(]{1,20}+\s*+|(?<=\s))(?P<count>\d[\d,]*)(?: commits?)?\b(?P<rest>.*)"
)
_PERIOD = re.compile(r"first:? (\S{1,60}?)[,;)]? .{0,100}?last:? ([^\s,;)]+)", re.IGNORECASE)
"""The first and last commit of a contributor: ``first: 2019-02-01, last: 2026-03-02``."""


@dataclass(slots=True)
class HistoryText:
    """Entries in the shape of typed payloads, and notes about the whole answer."""

    entries: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)
    base: str = ""
    head: str = ""
    cursor: str = ""


def parse_date(text: str) -> str | None:
    """Return a date in any of git's formats as RFC 3339, or None for anything else."""
    text = text.strip().rstrip(".")
    for candidate in (text, text.replace(" ", "T", 1).replace(" ", "")):
        try:
            moment = datetime.fromisoformat(candidate)
        except ValueError:
            continue
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()

    for date_format in ("%a %b %d %H:%M:%S %Y %z", "%b %d, %Y", "%b %d %Y"):
        try:
            moment = datetime.strptime(text, date_format)  # noqa: DTZ007 - the zone follows
        except ValueError:
            continue
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()

    try:
        return parsedate_to_datetime(text).isoformat()
    except ValueError:
        return None


def parse_commits(text: str, repository: str = "") -> HistoryText | None:
    """Read commits, with their diffs where the text has them.

    Parameters
    ----------
    text
        The answer of a tool.
    repository
        The repository of commits for which the text names none.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    pattern = _commit_pattern(lines)
    if pattern is None:
        return None

    result = HistoryText([])
    block: list[str] = []
    commit_match: re.Match[str] | None = None
    in_fence = False
    for line in lines:
        # Code blocks hold diffs and messages, which may quote lines of the same form.
        if line.startswith("```"):
            in_fence = not in_fence

        start = None if in_fence else pattern.match(line)
        heading = None if in_fence or start else _REPOSITORY.fullmatch(line.strip())
        if heading is not None and commit_match is not None and not line.startswith(("#", "*")):
            heading = None  # a field of the commit

        if start is None and heading is None:
            block.append(line)
            continue

        _add_block(result, commit_match, block, repository)
        commit_match, block = start, []
        if heading is not None:
            repository = heading["repo"]

    _add_block(result, commit_match, block, repository)
    return result


def _commit_pattern(lines: Sequence[str]) -> re.Pattern[str] | None:
    """Return the form of the first line with a commit, which decides for all others."""
    for line in lines:
        for pattern in _COMMIT_PATTERNS:
            if pattern.match(line):
                return pattern
    return None


def _add_block(result: HistoryText, commit_match: re.Match[str] | None, block: list[str], repository: str) -> None:
    """Add the commit of a match and its lines; without a match, the lines are about the whole answer."""
    end = len(block)
    notes = []
    # Notes are at the end of a block; a line in parentheses within a message belongs to the message.
    for line in reversed(block):
        note = _NOTE.fullmatch(line.strip())
        if note is not None:
            notes.append(note[1])
        elif line.strip():
            break
        end -= 1

    result.notes += reversed(notes)
    if commit_match is not None:
        result.entries.append(_commit(commit_match, block[:end], repository))
    else:
        result.notes += [line.strip() for line in block[:end] if _states_a_total(line)]


def _states_a_total(line: str) -> bool:
    """Return whether a line says how many there are in all, as "showing 10 of 25" does."""
    count = _COUNT.search(line)
    return count is not None and bool(count[2])


def _commit(commit_match: re.Match[str], block: Sequence[str], repository: str) -> dict[str, Any]:
    groups = commit_match.groupdict()
    entry: dict[str, Any] = {"repo": groups.get("repo") or repository, "oid": commit_match["oid"]}
    subject, author_and_date = _split_author_and_date(commit_match["subject"].strip())
    entry |= author_and_date

    diff_start = _start_of_diff(block)
    message: list[str] = []
    in_fields = True
    for line in block[:diff_start]:
        match = _FIELD.fullmatch(line.strip()) if in_fields and not line.startswith("    ") else None
        if match is None:
            # Fields come first. Later, `Date:` may be a line of the message.
            in_fields = in_fields and not line.strip()
            message.append(line)
            continue

        name, value = match[1].lower().replace(" ", ""), match[2].strip().strip("*`")
        if name in _MESSAGE_FIELDS:
            message += [value] if value else []
        else:
            entry |= _parse_field(name, value)

    text = "\n".join(line.removeprefix("    ") for line in message).strip("\n")
    if not subject:
        subject, _, text = text.partition("\n")

    entry |= {"subject": subject.strip(), "body": text.strip("\n")}
    if diff_start < len(block):
        entry["files"] = parse_patch(block[diff_start:])

    return entry


def _start_of_diff(block: Sequence[str]) -> int:
    """Return the index of the first line of a diff, or the number of lines."""
    for index, line in enumerate(block):
        if _DIFF_START.match(line):
            return index
    return len(block)


def _split_author_and_date(line: str) -> tuple[str, dict[str, Any]]:
    """Return the text before author and date at the end of a line, and their fields."""
    if len(line) > _MAX_LINE_CHARS:
        return line, {}

    for pattern in _AUTHOR_AND_DATE_PATTERNS:
        match = pattern.fullmatch(line)
        date = None if match is None else parse_date(match["date"])
        if match is not None and date is not None:
            return match["subject"], {"authorDate": date, **_parse_person("author", match["author"])}

    return line, {}


def _parse_field(name: str, value: str) -> dict[str, Any]:
    """Return a line ``name: value`` of a commit as fields of a typed payload."""
    if name == "author":
        return _parse_person("author", value)
    if name == "committer" or (name == "commit" and "<" in value):
        return _parse_person("committer", value)
    if name in _DATE_KEYS:
        return {_DATE_KEYS[name]: parse_date(value)}
    if name in _TEXT_KEYS:
        return {_TEXT_KEYS[name]: value}
    return {}


def _parse_person(role: str, value: str) -> dict[str, str]:
    person = _PERSON.fullmatch(value)
    if person is None:
        return {f"{role}Name": value}
    return {f"{role}Name": person["name"], f"{role}Email": person["email"]}


def parse_comparison(text: str) -> HistoryText | None:
    """Read the files of a comparison: patches, or lists of changed files."""
    lines = text.replace("\r\n", "\n").split("\n")
    files = parse_patch(lines) or list(_file_list(lines))
    if not files:
        return None

    result = HistoryText(files)
    for line in lines:
        revisions = None if result.base else _COMPARING.match(line)
        if revisions is not None:
            result.base, result.head = revisions["base"].strip("`"), revisions["head"].strip("`,:()")

        cursor = _CURSOR.match(line.strip())
        note = _NOTE.fullmatch(line.strip())
        if cursor is not None:
            result.cursor = cursor["cursor"]
        elif note is not None:
            result.notes.append(note[1])

    return result


def _file_list(lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        match = _STATUS.fullmatch(line.strip()) if len(line) <= _MAX_LINE_CHARS else None
        if match is not None:
            status = match["status"]
            yield {
                "oldPath": match["path"],
                "newPath": match["new"] or match["path"],
                "status": _STATUSES.get(status.upper(), status.lower()),
                "additions": int(match["added"]) if match["added"] else None,
                "deletions": int(match["removed"]) if match["removed"] else None,
                "patch": None,
            }


def parse_contributions(text: str) -> HistoryText | None:
    """Read repositories with their numbers of commits, one per line."""
    result = HistoryText([])
    for line in map(str.strip, text.split("\n")):
        match = _CONTRIBUTOR.fullmatch(line) if len(line) <= _MAX_LINE_CHARS else None
        note = _NOTE.fullmatch(line)
        if match is not None and ("/" in match["name"] or "commit" in line.lower() or line.startswith("|")):
            entry: dict[str, Any] = {"name": match["name"], "commits": int(match["count"].replace(",", ""))}
            period = _PERIOD.search(match["rest"])
            if period is not None:
                entry |= {"firstCommit": parse_date(period[1]), "lastCommit": parse_date(period[2])}
            result.entries.append(entry)
        elif note is not None:
            result.notes.append(note[1])

    return result if result.entries else None
