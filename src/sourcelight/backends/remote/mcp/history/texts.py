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

from sourcelight.core.batches.diff_text import HUNK
from sourcelight.core.batches.git_names import unquote_text

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
_REPOSITORY = re.compile(
    r"(?:#{1,6} +|\*\*|repo(?:sitory)?: *)(?P<repo>[\w.~-]+(?:/[\w.~-]+)+)\**:?(?: \([^)]*\))?:?", re.IGNORECASE
)
_PERSON = re.compile(r"(?P<name>.*?)\s*<(?P<email>[^<>]*)>\s*")
_AUTHOR_AND_DATE_PATTERNS = (
    re.compile(r"(?P<subject>.+?) \((?P<author>[^(),]+), (?P<date>[^()]+)\)"),
    re.compile(r"(?P<subject>.+?) [-\u2013\u2014] (?P<author>[^,]+), (?P<date>\S.*)"),
    re.compile(r"(?P<subject>.+?) by (?P<author>.+?) on (?P<date>\S+)"),
    re.compile(r"(?P<subject>.+?) \((?P<date>[^()]+)\) <(?P<author>[^<>]+)>"),
)
_COUNT = re.compile(r"(?:found|showing|returned|first)\D{0,40}?(\d[\d,]*)(?: (?:of|out of) (\d[\d,]*))?", re.IGNORECASE)
_NOTE = re.compile(r"\((?!cherry picked)(.*(?:more|cut|truncat|limit|omitted|left out).*)\)", re.IGNORECASE)
_GIT_NAMES = re.compile(r'diff --git ("(?:\\.|[^"\\])*"|a/.+?) ("(?:\\.|[^"\\])*"|b/.+)')
_DIFF_START = re.compile(r"diff --git |--- \S|```(?:diff|patch)\s*$|@@ -\d")
_COMPARING = re.compile(
    r"(?:compar\w+|diff)\b\D*?(?P<base>[^\s.]\S*?)(?:\.{2,3}| (?:to|and|with|\u2192|->) )(?P<head>\S+)",
    re.IGNORECASE,
)
_CURSOR = re.compile(r"\(?(?:end ?cursor|next ?cursor|after)\b\W*[:=]\W*(?P<cursor>[\w+/=.:-]+)", re.IGNORECASE)
_STATUS = re.compile(
    r"(?:[-*] )?(?P<status>[AMDTRC](?=\d{0,3}\s)|(?:added|modified|changed|deleted|removed|renamed|copied)(?=:))"
    r"\d{0,3}:?\s+`?(?P<path>[^`\t]+?)`?"
    r"(?:(?:\t| -> | => )(?P<new>\S.*?))?(?: \(?\+(?P<added>\d+),? ?[-\u2212](?P<removed>\d+)\)?)?",
    re.IGNORECASE,
)

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
    # By line first, then by pattern: the first line with a commit decides, whichever form it has.
    pattern = next((pattern for line in lines for pattern in _COMMIT_PATTERNS if pattern.match(line)), None)
    if pattern is None:
        return None

    result = HistoryText([])
    block: list[str] = []
    commit_match: re.Match[str] | None = None
    in_fence = False
    for line in lines:
        # Code blocks hold diffs and messages, which may quote lines of the same form.
        in_fence = not in_fence if line.startswith("```") else in_fence
        start = None if in_fence else pattern.match(line)
        heading = None if in_fence or start else _REPOSITORY.fullmatch(line.strip())
        if heading is not None and commit_match is not None and not line.startswith(("#", "*")):
            heading = None  # a field of the commit

        if start is None and heading is None:
            block.append(line)
            continue

        _add_block(result, commit_match, block, repository)
        commit_match, block = start, []
        repository = heading["repo"] if heading is not None else repository

    _add_block(result, commit_match, block, repository)
    return result


def _add_block(result: HistoryText, commit_match: re.Match[str] | None, block: list[str], repository: str) -> None:
    """Add the commit of a match and its lines; without a match, the lines are about the whole answer."""
    notes: list[str] = []
    # Notes are at the end of a block; a line in parentheses within a message belongs to the message.
    while block and (not block[-1].strip() or _NOTE.fullmatch(block[-1].strip())):
        if note := _NOTE.fullmatch(block.pop().strip()):
            notes.insert(0, note[1])

    result.notes += notes
    if commit_match is not None:
        result.entries.append(_commit(commit_match, block, repository))
        return

    result.notes += [line.strip() for line in block if (count := _COUNT.search(line)) and count[2]]


def _commit(commit_match: re.Match[str], block: list[str], repository: str) -> dict[str, Any]:
    groups = commit_match.groupdict()
    entry: dict[str, Any] = {"repo": groups.get("repo") or repository, "oid": commit_match["oid"]}
    subject = _split_author_and_date(entry, commit_match["subject"].strip())
    diff_start = next((index for index, line in enumerate(block) if _DIFF_START.match(line)), len(block))
    patch, block = block[diff_start:], block[:diff_start]
    message: list[str] = []
    in_fields = True
    for line in block:
        match = _FIELD.fullmatch(line.strip()) if in_fields and not line.startswith("    ") else None
        if match is not None:
            _set_field(entry, match[1].lower().replace(" ", ""), match[2].strip().strip("*`"), message)
        else:
            # Fields come first. Later, `Date:` may be a line of the message.
            in_fields = in_fields and not line.strip()
            message.append(line)

    text = "\n".join(line.removeprefix("    ") for line in message).strip("\n")
    if not subject:
        subject, _, text = text.partition("\n")

    entry |= {"subject": subject.strip(), "body": text.strip("\n")}
    if patch:
        entry["files"] = parse_patch(patch)

    return entry


def _split_author_and_date(entry: dict[str, Any], subject: str) -> str:
    """Take author and date from the end of a line; return the text before them."""
    for pattern in _AUTHOR_AND_DATE_PATTERNS if len(subject) <= _MAX_LINE_CHARS else ():
        match = pattern.fullmatch(subject)
        if match is not None and (date := parse_date(match["date"])) is not None:
            entry["authorDate"] = date
            _set_person(entry, "author", match["author"])
            return match["subject"]
    return subject


def _set_field(entry: dict[str, Any], name: str, value: str, message: list[str]) -> None:
    if name in {"author", "committer"} or (name == "commit" and "<" in value):
        _set_person(entry, "author" if name == "author" else "committer", value)
    elif name in {"date", "authordate", "commitdate"}:
        key = "committerDate" if name == "commitdate" else "authorDate"
        entry[key] = parse_date(value)
    elif name in {"repository", "repo"}:
        entry["repo"] = value
    elif name in {"url", "link"}:
        entry["url"] = value
    elif name in {"message", "subject", "title"} and value:
        message.append(value)


def _set_person(entry: dict[str, Any], role: str, value: str) -> None:
    person = _PERSON.fullmatch(value)
    entry[f"{role}Name"] = person["name"] if person else value
    if person:
        entry[f"{role}Email"] = person["email"]


def parse_patch(lines: Sequence[str]) -> list[dict[str, Any]]:
    """Read the files of a unified diff, with their hunks, line counts and texts."""
    reader = _PatchReader()
    for index, line in enumerate(lines):
        reader.add(line, lines[index + 1] if index + 1 < len(lines) else "")
    return [_finish(file) for file in reader.files]


class _PatchReader:
    """Reads a unified diff line by line; the numbers in the header of a hunk give its end."""

    def __init__(self) -> None:
        self.files: list[dict[str, Any]] = []
        self._old_remaining = self._new_remaining = 0

    def add(self, line: str, following: str) -> None:
        """Read a line; `following` is the next one."""
        if (self._old_remaining > 0 or self._new_remaining > 0) and self._add_to_hunk(self.files[-1], line):
            return
        if self._starts_file(line, following):
            return
        if not self.files or line.startswith("```"):
            return

        file = self.files[-1]
        if header := HUNK.match(line):
            file["hunks"].append({"oldStart": int(header[1]), "newStart": int(header[3]), "lines": []})
            self._old_remaining, self._new_remaining = int(header[2] or 1), int(header[4] or 1)
        else:
            _read_header(file, line)

        file["patch"].append(line)

    def _add_to_hunk(self, file: dict[str, Any], line: str) -> bool:
        if line[:1] not in {"+", "-", " ", "", "\\"}:
            self._old_remaining = self._new_remaining = 0  # the hunk was cut
            return False

        file["patch"].append(line)
        if line[:1] != "\\":
            file["hunks"][-1]["lines"].append(line or " ")
            self._old_remaining -= line[:1] != "+"
            self._new_remaining -= line[:1] != "-"
            file["additions"] += line[:1] == "+"
            file["deletions"] += line[:1] == "-"

        return True

    def _starts_file(self, line: str, following: str) -> bool:
        """Begin a file if one starts here, and return whether the line needs no further reading."""
        if line.startswith("diff --git "):
            self.files.append(_new_file(line))
        elif line.startswith("--- ") and following.startswith("+++ "):
            if not self.files or self.files[-1]["hunks"]:
                self.files.append(_new_file(""))
        elif HUNK.match(following) and not line.startswith(("+++ ", "@@", "index ")) and " " in line.strip():
            old, _, new = line.strip().partition(" ")  # the preview of streams: both names on one line
            self.files.append({**_new_file(""), "oldPath": old, "newPath": new})
            return True

        return False


def _new_file(line: str) -> dict[str, Any]:
    names = _GIT_NAMES.fullmatch(line)
    old = unquote_text(names[1]).removeprefix("a/") if names else ""
    new = unquote_text(names[2]).removeprefix("b/") if names else ""
    return {"oldPath": old, "newPath": new, "status": "modified", "additions": 0, "deletions": 0, "binary": False,
            "hunks": [], "patch": []}  # fmt: skip


def _read_header(file: dict[str, Any], line: str) -> None:
    name, _, value = line.partition(" ")
    value = value.partition("\t")[0]
    if name == "---" and not file["hunks"]:
        file["oldPath"] = unquote_text(value).removeprefix("a/")
    elif name == "+++" and not file["hunks"]:
        file["newPath"] = unquote_text(value).removeprefix("b/")
    elif line.startswith(("new file", "deleted file")):
        file["status"] = "added" if name == "new" else "deleted"
    elif line.startswith(("rename from ", "rename to ", "copy from ", "copy to ")):
        file["status"] = "renamed" if name == "rename" else "copied"
        file["oldPath" if value.startswith("from ") else "newPath"] = unquote_text(value.partition(" ")[2])
    elif (match := re.fullmatch(r"similarity index (\d{1,3})%", line)) is not None:
        file["similarity"] = int(match[1])
    elif line.startswith(("Binary files ", "GIT binary patch")):
        file["binary"] = True


def _finish(file: dict[str, Any]) -> dict[str, Any]:
    if file["oldPath"] == "/dev/null":
        file |= {"oldPath": file["newPath"], "status": "added"}

    if file["newPath"] == "/dev/null":
        file |= {"newPath": file["oldPath"], "status": "deleted"}
    elif file["oldPath"] != file["newPath"] and file["status"] == "modified":
        file["status"] = "renamed"

    patch = "\n".join(file["patch"]).rstrip("\n")
    return {**file, "patch": f"{patch}\n" if patch else None}


def parse_comparison(text: str) -> HistoryText | None:
    """Read the files of a comparison: patches, or lists of changed files."""
    lines = text.replace("\r\n", "\n").split("\n")
    files = parse_patch(lines) or list(_file_list(lines))
    if not files:
        return None

    result = HistoryText(files)
    for line in lines:
        if not result.base and (match := _COMPARING.match(line)):
            result.base, result.head = match["base"].strip("`"), match["head"].strip("`,:()")
        if cursor := _CURSOR.match(line.strip()):
            result.cursor = cursor["cursor"]
        elif note := _NOTE.fullmatch(line.strip()):
            result.notes.append(note[1])

    return result


def _file_list(lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if len(line) <= _MAX_LINE_CHARS and (match := _STATUS.fullmatch(line.strip())):
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
        if match is not None and ("/" in match["name"] or "commit" in line.lower() or line.startswith("|")):
            period = _PERIOD.search(match["rest"])
            if period is None:
                dates = {}
            else:
                dates = {"firstCommit": parse_date(period[1]), "lastCommit": parse_date(period[2])}
            result.entries.append({"name": match["name"], "commits": int(match["count"].replace(",", "")), **dates})
        elif note := _NOTE.fullmatch(line):
            result.notes.append(note[1])

    return result if result.entries else None
