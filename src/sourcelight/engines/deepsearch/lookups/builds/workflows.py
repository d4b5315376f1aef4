"""Versions and systems that the workflows of continuous integration list in their matrices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, FileEvidence, Finding, Statement, join_evidence
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches

_WORKFLOWS = r"^(\.github/workflows/[^/]+|\.gitlab-ci|\.travis|azure-pipelines[\w.-]*|\.circleci/config)\.ya?ml$"
_KEYS = {
    "golang": "go", "nodejs": "node", "node.js": "node", ".net": "dotnet", "c#": "dotnet", "jdk": "java",
    "operating systems": "os", "operating system": "os", "oses": "os", "platforms": "os", "platform": "os",
}  # fmt: skip
_FURTHER_KEYS = {"java": "jdk", "python": "py", "rust": "toolchain", "dotnet": "sdk"}
_MAX_FILES, _MAX_LINES, _MAX_LINE, _MAX_VALUES, _MAX_NAMED = 30, 2_000, 500, 24, 3
_OF_TESTS = re.compile(r"test|ci|build|check|main", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _MatrixValue:
    """A value of a matrix, and its line (from 1)."""

    key: str
    value: str
    line: int


_USES = r"\s*(?:-\s+)?uses\s*:\s*[\"']?(?P<name>{name})@(?P<version>[\w./-]{{1,80}})[\"']?\s*(?:#.*)?$"
ACTION = re.compile(r"[\w.-]{1,100}/[\w./-]{1,200}")
"""The name of an action: an owner, a repository, and perhaps a directory."""
_BARE_ACTION = re.compile(r"[\w.-]{1,100}-action|action-[\w.-]{1,100}", re.IGNORECASE)
"""The name of an action without its owner, where it says what it is."""
_BARE_NAME = re.compile(r"[\w.-]{3,100}")


@dataclass(frozen=True, slots=True)
class _ActionUse:
    """A line of a workflow that uses an action: the name and version as written, and the statement that cites it."""

    path: str
    version: str
    statement: Statement

    @property
    def workflow(self) -> str:
        """The name of the workflow's file, without its ending."""
        return self.path.rpartition("/")[2].partition(".")[0].lower()


def find_action(work: Work, name: str, notes: list[str], *, any_owner: bool = False) -> Finding | None:
    """Return the versions of an action that workflows use; None for another name, or one that no workflow uses.

    Without its owner, only a name that says that it is an action counts, such as `upload-release-action`, unless
    `any_owner` is true.
    """
    is_bare = any_owner and _BARE_NAME.fullmatch(name) is not None
    if ACTION.fullmatch(name) is None and _BARE_ACTION.fullmatch(name) is None and not is_bare:
        return None

    queries = make_queries(work, f"type:path file:{quote_value(_WORKFLOWS)}")
    uses = _uses_of_action(work, name, run_searches(work, queries, notes)[:_MAX_FILES])
    if not uses:
        return None

    # A workflow that the question names decides, as in "the release workflow".
    words = set(re.findall(r"[\w-]+", work.inquiry.question.lower()))
    of_asked = [use for use in uses if use.workflow in words] or uses
    first = of_asked[0].statement
    if len({use.version for use in of_asked}) > 1:
        first = Statement(f"{first.text}; other lines list it differently", first.evidence)

    finding = Finding(first, "dependency", queries=[join_queries(queries)], notes=notes, heading="Other lists")
    finding.details = [use.statement for use in uses if use is not of_asked[0]][: MAX_DETAILS - 1]
    return finding


def _uses_of_action(work: Work, name: str, rows: Sequence[Mapping[str, Any]]) -> list[_ActionUse]:
    """Return the lines of some workflows that use an action."""
    texts = FileTexts(work.context)
    owner = "" if "/" in name else r"[\w.-]{1,100}/"
    use = re.compile(_USES.format(name=f"{owner}{re.escape(name)}"), re.IGNORECASE)
    uses = []
    for row in rows:
        target = work.inquiry.pins.of(row["repository"])
        lines = texts.lines(target, row["path"])[:_MAX_LINES] if target is not None and row["path"] else []
        for number, line in enumerate(lines, 1):
            match = use.match(line[:_MAX_LINE])
            if match is None or target is None:
                continue

            evidence = texts.evidence(target, row["path"], number, number, "read", 1.0)
            text = f"{code(row['path'])} lists {code(match['name'])} {code(match['version'])}"
            uses.append(_ActionUse(row["path"], match["version"], Statement(text, (evidence,))))

    return uses


def find_tested_versions(work: Work, name: str, notes: list[str]) -> Finding | None:
    """Return the versions of a language, or the systems for `os`, that matrices of workflows list; None for none.

    A list that an expression makes while the workflow runs can't be read, so nothing is stated of its file.
    """
    texts = FileTexts(work.context)
    key = _KEYS.get(name.lower(), name.lower())
    keys = [re.escape(word) for word in (key, _FURTHER_KEYS.get(key, "")) if word]
    key_pattern = rf"(?:{'|'.join(keys)})(?:[_-]?versions?|s)?"
    pattern = re.compile(rf"(?<![\w-])[\"']?({key_pattern})[\"']?\s*:\s*(.*)$", re.IGNORECASE)
    queries = make_queries(work, f"type:path file:{quote_value(_WORKFLOWS)}")
    lists: list[tuple[str, list[_MatrixValue], tuple[FileEvidence, ...]]] = []
    for row in run_searches(work, queries, notes)[:_MAX_FILES]:
        target = work.inquiry.pins.of(row["repository"])
        if target is None or not row["path"]:
            continue

        lines = texts.lines(target, row["path"])[:_MAX_LINES]
        entries = list(_of_matrices(lines, pattern, is_travis=row["path"].startswith(".travis")))

        # `matrix.os || 'ubuntu-latest'` has a value that no matrix lists.
        has_fallback = any(f"matrix.{entry.key} ||" in line for entry in entries for line in lines)
        if entries and not has_fallback and not any("${{" in entry.value for entry in entries):
            path = row["path"]
            numbers = sorted({entry.line for entry in entries})
            proofs = [texts.evidence(target, path, number, number, "read", 1.0) for number in numbers]
            lists.append((path, entries, join_evidence(proofs)))

    if not lists or len(work.inquiry.pins) > 1:
        return None

    lists.sort(key=lambda entry: (not _OF_TESTS.search(entry[0].rpartition("/")[2]), -len(entry[1]), entry[0]))
    parts = [f"{code(path)} has the matrix {_values_text(entries)}" for path, entries, _ in lists[:_MAX_NAMED]]
    text = "; ".join(parts) + ("; other workflows have one, too" if len(lists) > _MAX_NAMED else "")
    evidence = tuple(item for *_, items in lists[:_MAX_NAMED] for item in items)
    return Finding(Statement(text, evidence), "configured", queries=[join_queries(queries)], notes=notes)


def _values_text(entries: Sequence[_MatrixValue]) -> str:
    values = list(dict.fromkeys(entry.value for entry in entries))
    among = ", among others:" if len(values) > _MAX_VALUES else ""
    names = join_words([code(name) for name in dict.fromkeys(entry.key for entry in entries)])
    return f"{names}{among or ':'} {join_words([code(value) for value in values[:_MAX_VALUES]])}"


def _of_matrices(lines: Sequence[str], pattern: re.Pattern[str], *, is_travis: bool) -> Iterator[_MatrixValue]:
    """Yield the values of a key inside of matrices, but not of what they exclude; in Travis, also at the top."""
    matrix = exclude = -1
    skip_until = 0
    for number, line in enumerate(lines, 1):
        text = line[:_MAX_LINE]
        if number <= skip_until or not text.strip() or text.lstrip().startswith("#"):
            continue

        indent = len(text) - len(text.lstrip())
        matrix = -1 if indent <= matrix else matrix
        exclude = -1 if indent <= exclude else exclude
        head = re.match(r"\s*(?:-\s+)?(matrix|exclude)\s*:\s*$", text)
        if head is not None:
            matrix, exclude = (indent, exclude) if head[1] == "matrix" and matrix < 0 else (matrix, indent)
            continue

        is_inside = matrix >= 0 or (is_travis and indent == 0)
        match = pattern.search(text) if is_inside and exclude < 0 else None
        if match is None:
            continue

        for value, value_line in _values(lines, number, indent, match[2]):
            skip_until = max(skip_until, value_line)
            yield _MatrixValue(match[1], value, value_line)


def _values(lines: Sequence[str], number: int, indent: int, text: str) -> Iterator[tuple[str, int]]:
    """Yield the values behind a key, each with its line: of a list in brackets, of one in lines, or a single one."""
    text = re.sub(r"\s#.*$", "", text).strip()
    if text.startswith("["):
        while "]" not in text and number < len(lines):
            for item in text.strip("[ ").split(","):
                if value := _bare(item):
                    yield value, number
            text, number = re.sub(r"\s#.*$", "", lines[number][:_MAX_LINE]).strip(), number + 1
        for item in text.partition("]")[0].strip("[ ").split(","):
            if value := _bare(item):
                yield value, number
    elif text:
        # `{python: '3.13', os: ubuntu-latest}`: the value ends before the next key.
        value = _bare(text.partition(",")[0].partition("}")[0])
        if value and not value.startswith(("{", "&", "*", "|", ">")):
            yield value, number
    else:
        for index, line in enumerate(lines[number:], number + 1):
            match = re.match(r"(\s*)-\s+(.*)$", line[:_MAX_LINE])
            if line.strip() and not line.lstrip().startswith("#") and (match is None or len(match[1]) < indent):
                return
            item = re.sub(r"\s#.*$", "", match[2]).strip() if match is not None else ""
            if item and not re.match(r"[{\[]|[\w-]+\s*:\s", item):
                yield _bare(item), index


def _bare(text: str) -> str:
    return text.strip().strip("\"'").strip()
