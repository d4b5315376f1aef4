"""Versions and systems that the workflows of continuous integration list in their matrices.

Matrices are read by their indentation, without what they exclude. A list that an expression makes while the workflow
runs can't be read: nothing is stated of its file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import FileEvidence, Finding, Statement, join_evidence
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.manifests import MAX_LINE

WORKFLOWS = r"^(\.github/workflows/[^/]+|\.gitlab-ci|\.travis|azure-pipelines[\w.-]*|\.circleci/config)\.ya?ml$"
"""Regular expression for paths of workflows."""
_KEYS = {
    "golang": "go", "nodejs": "node", "node.js": "node", ".net": "dotnet", "c#": "dotnet", "jdk": "java",
    "operating systems": "os", "operating system": "os", "oses": "os", "platforms": "os", "platform": "os",
}  # fmt: skip
_FURTHER_KEYS = {"java": "jdk", "neovim": "nvim", "python": "py", "rust": "toolchain", "dotnet": "sdk"}
MAX_FILES, MAX_LINES = 30, 2_000
_MAX_VALUES, _MAX_NAMED = 24, 3
_OF_TESTS = re.compile(r"test|ci|build|check|main", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _MatrixValue:
    """A value of a matrix, and its line (from 1)."""

    key: str
    value: str
    line: int


def find_tested_versions(work: Work, name: str) -> Finding | None:
    """Return the versions of a language, or the systems for `os`, that matrices of workflows list; None for none.

    A list that an expression makes while the workflow runs can't be read, so nothing is stated of its file.
    """
    if re.search(r"\btox\b", work.inquiry.question, re.IGNORECASE) is not None:
        return _find_environments(work)
    key = _KEYS.get(name.lower(), name.lower())
    keys = [re.escape(word) for word in (key, _FURTHER_KEYS.get(key, "")) if word]
    key_pattern = rf"(?:{'|'.join(keys)})(?:[_-]?versions?|s)?"
    pattern = re.compile(rf"(?<![\w-])[\"']?({key_pattern})[\"']?\s*:\s*(.*)$", re.IGNORECASE)
    queries = make_queries(work, f"type:path file:{quote_value(WORKFLOWS)}")
    lists: list[tuple[str, list[_MatrixValue], tuple[FileEvidence, ...]]] = []
    for row in run_searches(work, queries)[:MAX_FILES]:
        target = work.inquiry.pins.of(row["repository"])
        if target is None or not row["path"]:
            continue

        lines = work.texts.lines(target, row["path"])[:MAX_LINES]
        entries = list(_of_matrices(lines, pattern, is_travis=row["path"].startswith(".travis")))

        # `matrix.os || 'ubuntu-latest'` has a value that no matrix lists.
        has_fallback = any(f"matrix.{entry.key} ||" in line for entry in entries for line in lines)
        if entries and not has_fallback and not any("${{" in entry.value for entry in entries):
            path = row["path"]
            numbers = sorted({entry.line for entry in entries})
            proofs = [work.texts.read_line(target, path, number) for number in numbers]
            lists.append((path, entries, join_evidence(proofs)))

    if not lists or len(work.inquiry.pins) > 1:
        return None

    lists.sort(key=lambda entry: (not _OF_TESTS.search(entry[0].rpartition("/")[2]), -len(entry[1]), entry[0]))
    parts = [f"{code(path)} has the matrix {_values_text(entries)}" for path, entries, _ in lists[:_MAX_NAMED]]
    text = "; ".join(parts) + ("; other workflows have one, too" if len(lists) > _MAX_NAMED else "")
    evidence = tuple(item for *_, items in lists[:_MAX_NAMED] for item in items)
    return Finding(Statement(text, evidence), "configured", queries=[join_queries(queries)], notes=work.notes)


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
        text = line[:MAX_LINE]
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
    text, number = (text, number) if text else _list_below(lines, number)
    if text.startswith("["):
        while "]" not in text and number < len(lines):
            for item in text.strip("[ ").split(","):
                if value := _bare(item):
                    yield value, number
            text, number = re.sub(r"\s#.*$", "", lines[number][:MAX_LINE]).strip(), number + 1
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
            match = re.match(r"(\s*)-\s+(.*)$", line[:MAX_LINE])
            if line.strip() and not line.lstrip().startswith("#") and (match is None or len(match[1]) < indent):
                return
            item = re.sub(r"\s#.*$", "", match[2]).strip() if match is not None else ""
            if item and not re.match(r"[{\[]|[\w-]+\s*:\s", item):
                yield _bare(item), index


def _list_below(lines: Sequence[str], number: int) -> tuple[str, int]:
    """Return the beginning of a list in brackets that begins below its key (on a line, from 1), and its line."""
    following = next((index for index in range(number, len(lines)) if lines[index].strip()), number)
    if following < len(lines) and lines[following].lstrip().startswith("["):
        return re.sub(r"\s#.*$", "", lines[following][:MAX_LINE]).strip(), following + 1
    return "", number


def _bare(text: str) -> str:
    return text.strip().strip("\"'").strip()


_ENVIRONMENTS = re.compile(r"\s*env_?list\s*=\s*(?P<rest>.*)$")
_IMAGE = re.compile(
    r"(?P<indent>\s*)(?:-\s+)?(?P<key>container|image)\s*:\s*[\"']?(?P<image>[^\s\"'#{\[][^\"'#]*?)[\"']?\s*(?:#.*)?$"
)


def _find_environments(work: Work) -> Finding | None:
    """Return the environments that the only configuration of tox lists, as it writes them."""
    queries = make_queries(work, f"type:path file:{quote_value('(^|/)tox.ini$')}")
    rows = [row for row in run_searches(work, queries) if row["path"]]
    target = work.inquiry.pins.of(rows[0]["repository"]) if len(rows) == 1 else None
    lines = work.texts.lines(target, rows[0]["path"])[:MAX_LINES] if target is not None else []
    heads = [(number, head) for number, line in enumerate(lines, 1) if (head := _ENVIRONMENTS.match(line[:MAX_LINE]))]
    if len(heads) != 1 or target is None:
        return None

    number, head = heads[0]
    numbers, text = [number], head["rest"]
    while numbers[-1] < len(lines) and re.match(r"\s+\S", lines[numbers[-1]]):
        text += f", {lines[numbers[-1]][:MAX_LINE].strip()}"
        numbers.append(numbers[-1] + 1)

    # A comma inside of braces is one of alternatives: `py{39,310}-django`.
    names = [name.strip() for name in re.split(r",(?![^{}]*\})", re.sub(r"\s#[^,]*", "", text)) if name.strip()]
    if not names or len(names) > _MAX_VALUES:
        return None
    path = rows[0]["path"]
    proofs = join_evidence([work.texts.read_line(target, path, item) for item in numbers])
    text = f"{code(path)} lists {join_words([code(name) for name in names])} as its environments"
    return Finding(Statement(text, proofs), "configured", queries=[join_queries(queries)], notes=work.notes)


def find_workflow_image(work: Work) -> Finding | None:
    """Return the images of containers that jobs of workflows run in; None for too many. Services have others."""
    queries = make_queries(work, f"type:path file:{quote_value(WORKFLOWS)}")
    images: dict[tuple[str, str], FileEvidence] = {}
    for row in run_searches(work, queries)[:MAX_FILES]:
        target = work.inquiry.pins.of(row["repository"])
        lines = work.texts.lines(target, row["path"])[:MAX_LINES] if target is not None and row["path"] else []
        services = -1
        for number, line in enumerate(lines, 1):
            indent = len(line) - len(line.lstrip())
            services = -1 if line.strip() and indent <= services else services
            if re.match(r"\s*services\s*:\s*$", line) is not None:
                services = indent
            match = _IMAGE.match(line[:MAX_LINE]) if services < 0 else None
            if match is not None and target is not None:
                key = row["path"], match["image"]
                images.setdefault(key, work.texts.read_line(target, row["path"], number))

    paths = dict.fromkeys(path for path, _ in images)
    if not images or len(images) > _MAX_NAMED or len(work.inquiry.pins) > 1:
        return None
    by_path = {path: join_words([code(image) for other, image in images if other == path]) for path in paths}
    parts = [f"{code(path)} gives {names} as the container image" for path, names in by_path.items()]
    return Finding(
        Statement("; ".join(parts), tuple(images.values())), "field", queries=[join_queries(queries)], notes=work.notes
    )
