"""Values of keys in files of configuration, and base images of containers.

The files nearest to the top count. A key is stated only if they give it one value, which ends on its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, row_evidence, run_searches
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import is_repository
from sourcelight.engines.deepsearch.lookups.definitions.branches import condition_text
from sourcelight.engines.deepsearch.lookups.manifests import MAX_LINE, normalize
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.search.ranking.terms.tokenizer import parts_of

_FILES = (
    r"\.(toml|json|jsonc|json5|ya?ml|ini|cfg|conf|properties|gradle|kts|props|targets|[cfv]sproj|editorconfig|xcconfig)$"
    r"|(^|/)(\.[a-z][\w-]*rc|\.editorconfig|gradle\.properties|tox\.ini|mix\.exs|Dockerfile)$"
)
_LOCKS = re.compile(r"(?:^|/)(?:[\w.-]*lock[\w.-]*|npm-shrinkwrap\.json)$", re.IGNORECASE)
_DOCKERFILES = r"(^|/)(Dockerfile|Containerfile)$"
_WORKFLOW = re.compile(r"(?P<name>[\w.-]+)(?: github)? (?:workflow|action)", re.IGNORECASE)
_OPENED = ("[", "{", "(", "\\", ",", "|", ">")
_MAX_VALUE, _MAX_ROWS = 160, 200


def find_key(work: Work, key: str, owner: str) -> Finding | None:
    """Return the only value that files of configuration nearest to the top give a key; None for none or several.

    With an `owner`, files count that are in a directory of this name or are called so; that of "test workflow" is
    ``.github/workflows/test.yml``.
    """
    workflow = _WORKFLOW.fullmatch(owner)
    owner = f".github/workflows/{workflow['name']}" if workflow is not None else owner
    if len(work.inquiry.pins) > 1:
        return None

    section, _, simple = key.rpartition(".")
    if section:
        return None  # read with its section, elsewhere

    quoted = f"[\"']?{escape_regexp(simple)}[\"']?"
    queries = make_queries(work, f"case:yes type:file file:{quote_value(_FILES)} /{quoted}\\s*(:|=|\\s\\d)/")
    rows = [row for row in run_searches(work, queries)[:_MAX_ROWS] if _is_setting(work, row, owner)]
    # A step that takes the value of a matrix gives none.
    of_matrix = re.compile(rf"\$\{{\{{\s*matrix\.{re.escape(simple)}\s*\}}\}}")
    entries = [(value, row) for value, row in _values_of(rows, simple) if not of_matrix.fullmatch(value)]
    top = min((row["path"].count("/") for _, row in entries), default=0)
    nearest = [(value, row) for value, row in entries if row["path"].count("/") == top]
    if len({value for value, _ in nearest}) > 1 and len({row["path"] for _, row in nearest}) == 1:
        # Of several lines of one file, the key at its top level is the one that needs no further name.
        nearest = [(value, row) for value, row in nearest if (row["line"] or "")[:1].strip(" \t-")]

    # A value that goes on below its line isn't read, so none is certain.
    if any(not value or value.endswith(_OPENED) for value, _ in entries) or len({value for value, _ in nearest}) != 1:
        return None

    value, row = nearest[0]
    evidence, target = row_evidence(work, row, "read", 1.0), work.inquiry.pins.of(row["repository"])
    if evidence is None:
        return None

    text = f"{code(simple)} is set to {code(value[:_MAX_VALUE])} in {code(row['path'])}, line {row['line_number']:,}"
    condition = condition_text(work.texts.lines(target, row["path"]), row["line_number"], row["path"]) if target else ""
    text += f"; {condition}" if condition else ""
    other_paths = {other["path"] for other_value, other in entries if other_value != value}
    text += "; blocks in the file set it, too" if row["path"] in other_paths else ""
    text += "; files in directories below set it, too" if other_paths - {row["path"]} else ""
    finding = Finding(Statement(text, (evidence,)), "configured", queries=[join_queries(queries)], notes=work.notes)
    finding.heading = "Other files"

    for other_value, other_row in entries[:MAX_DETAILS]:
        proof = row_evidence(work, other_row, "read", 1.0)
        if other_row is not row and proof is not None:
            location = f"{code(other_row['path'])}, line {other_row['line_number']:,}"
            finding.details.append(Statement(f"{code(other_value[:_MAX_VALUE])} in {location}", (proof,)))

    return finding


_VERSION_FILES = (
    r"(^|/)gradle\.properties$|^project/build\.properties$|^project/[\w.-]+\.scala$"
    r"|(^|/)(build|plugins|dependencies|versions)\.(sbt|mill|sc)$"
)
_VERSION_KEY = re.compile(
    r"\s*(?:(?:lazy|private|final|implicit)\s+){0,3}(?:(?:val|def)\s+)?(?P<key>[A-Za-z][\w.-]{1,80})\s*=\s*"
    r"\"?(?P<version>\d[\w.+-]{0,60})\"?\s*(?:$|#|//)"
)


def find_version_key(work: Work, package: str) -> Finding | None:
    """Return the version that a key named after a package has in files of Gradle and sbt; None for none or several.

    The key ``kotlinxBenchmarkVersion`` is that of kotlinx-benchmark. The prefix may be left out.
    """
    words = [part.lower() for part in parts_of(package)]
    queries = make_queries(work, f'case:yes type:file file:{quote_value(_VERSION_FILES)} /=\\s*"?\\d/')
    statements: dict[str, Statement] = {}
    for row in run_searches(work, queries)[:_MAX_ROWS]:
        match = _VERSION_KEY.match((row["line"] or "")[:MAX_LINE])
        if match is None or not rank_of(row["path"]).is_of_project:
            continue

        key_words = [part.lower() for part in parts_of(match["key"])]
        key_words = [word for word in key_words if word not in {"version", "versions", "v"}]
        is_named = "".join(key_words) == "".join(words) or (words[:1] == ["kotlinx"] and key_words == words[1:])
        evidence = row_evidence(work, row, "read", 1.0) if is_named and key_words else None
        if evidence is not None:
            location = f"{code(row['path'])}, line {row['line_number']:,}"
            text = f"{code(match['key'])} is set to {code(match['version'])} in {location}"
            statements.setdefault(match["version"], Statement(text, (evidence,)))

    if len(statements) != 1:
        return None
    return Finding(next(iter(statements.values())), "configured", queries=[join_queries(queries)], notes=work.notes)


def _is_setting(work: Work, row: Mapping[str, Any], owner: str) -> bool:
    """Return whether a row is a line of a project's configuration, rather than of a lock file, a secret or a test."""
    path = row["path"] or ""
    is_own = rank_of(path).is_of_project and not _LOCKS.search(path) and not is_hidden_file(path)
    return row["type"] == "content" and is_own and _is_of(work, path, owner)


def _values_of(rows: Sequence[Mapping[str, Any]], key: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the values that lines set a key to, without comments, each with its row."""
    assigned = re.compile(
        rf"\s*(?:-\s+)?(?:(?:export|val|var|def|const|let|ARG|ENV)\s+)?(?P<quote>[\"']?){re.escape(key)}(?P=quote)\s*"
        r"(?:(?::=|=>|:|=)\s*(?P<value>\S.*)|\s(?P<number>\d\S*))$"
    )
    values = []
    for row in rows:
        match = assigned.match((row["line"] or "")[:1_000].rstrip())
        if match is not None:
            value = re.sub(r"(?:^[#;]|\s(?:#|//|;)).*$", "", match["value"] or match["number"])
            values.append((value.strip().rstrip(",;").strip(), row))

    return values


def _is_of(work: Work, path: str, owner: str) -> bool:
    if not owner or is_repository(work, owner):
        return True
    *directories, base = path.split("/")
    names = {normalize(part) for part in (directories[-1:] or [""])} | {normalize(base), normalize(path)}
    # A workflow is called by the name of its file, without its ending.
    names |= {normalize(path.rpartition(".")[0])} if path.startswith(".github/workflows/") else set()
    return normalize(owner) in names


def find_base_image(work: Work, name: str, file: str = "") -> Finding | None:
    """Return the images that a file, or the only Dockerfile nearest to the top, builds from.

    With the `name` of an image, such as ``alpine``, None unless one of them is called so.
    """
    pattern = f"^{escape_regexp(file)}$" if file else _DOCKERFILES
    queries = make_queries(work, f"type:path file:{quote_value(pattern)}")
    rows = [row for row in run_searches(work, queries) if row["path"]]
    paths = rows if file else [row for row in rows if rank_of(row["path"]).is_of_project]
    if not paths or len(work.inquiry.pins) > 1:
        return None

    top = min(row["path"].count("/") for row in paths)
    nearest = [row for row in paths if row["path"].count("/") == top]
    target = work.inquiry.pins.of(nearest[0]["repository"])
    if len(nearest) > 1 or target is None:
        return None

    path = nearest[0]["path"]
    stages: set[str] = set()
    images: dict[str, FileEvidence] = {}
    for number, line in enumerate(work.texts.lines(target, path), 1):
        match = re.match(r"FROM\s+(?:--\w+=\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?\s*$", line[:MAX_LINE], re.IGNORECASE)
        if match is not None:
            if match[1].lower() not in stages:
                images.setdefault(match[1], work.texts.read_line(target, path, number))
            stages |= {match[2].lower()} if match[2] else set()

    names = {re.split(r"[:@]", image.rpartition("/")[2])[0].lower() for image in images}
    if not images or (name and name.lower() not in names):
        return None

    text = f"{code(path)} builds from {join_words([code(image) for image in images])}"
    return Finding(Statement(text, tuple(images.values())), "field", queries=[join_queries(queries)], notes=work.notes)


_BUILD_LINES = (
    r"(^|/)((GNUm|M|m)akefile|[\w.-]*Dockerfile[\w.-]*|justfile|Taskfile\.ya?ml|\.tool-versions|CMakeLists\.txt"
    r"|[\w.-]+\.(mk|cmake|sh|nix|bazel)|\.gitlab-ci\.ya?ml|\.travis\.ya?ml|configure)$|^\.github/(workflows|actions)/"
)
_VERSION = re.compile(r"(?<![\w.])v?\d+(?:\.\d+)+[\w.-]*|(?<=[-_/@=])v?\d+(?:\.\d+)+[\w.-]*")
_OF_VERSION = re.compile(r"\b(?:version|tag|release)\b", re.IGNORECASE)
_OF_FILES = {
    "ci": ".github/workflows/", "workflow": ".github/workflows/", "workflows": ".github/workflows/",
    "action": ".github/", "makefile": "makefile", "make": "makefile", "dockerfile": "dockerfile",
    "docker": "dockerfile", "image": "dockerfile", "cmake": "cmake", "script": ".sh", "nix": ".nix", "bazel": ".bazel",
}  # fmt: skip
"""Words of questions for kinds of files, and a part of their paths."""
_MAX_LINE_SHOWN = 140


def find_version_line(work: Work, words: Sequence[str]) -> Finding | None:
    """Return the only line of build files that has all words of a question for a version, and a version."""
    # What CI runs with is no version that the project needs at least, and a second question has another answer.
    of_other = re.search(r"\b(?:min\w*|oldest|lowest|and (?:which|what))\b", work.inquiry.words, re.IGNORECASE)
    words = words if _OF_VERSION.search(work.inquiry.words) is not None and of_other is None else []
    parts = [_OF_FILES[word] for word in words if word in _OF_FILES]
    words = [word for word in words if word not in _OF_FILES]
    if not words or len(max(words, key=len)) < _MIN_WORD or len(work.inquiry.pins) > 1:
        return None

    pattern = escape_regexp(max(words, key=len))
    queries = make_queries(work, f"case:no type:file file:{quote_value(_BUILD_LINES)} /{pattern}/")
    expressions = [re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])", re.IGNORECASE) for word in words]
    rows = []
    for row in run_searches(work, queries)[:_MAX_ROWS]:
        line, path = (row["line"] or "")[:MAX_LINE], row["path"] or ""
        is_asked = all(expression.search(line) for expression in expressions) and all(
            part in path.lower() for part in parts
        )
        # The version of an action isn't that of the program in its name.
        is_other = re.match(r"\s*(?:#|//|(?:-\s+)?uses\s*:)", line) is not None
        if is_asked and not is_other and _VERSION.search(line) and rank_of(path).is_of_project:
            rows.append(row)

    versions = {match[0] for row in rows for match in _VERSION.finditer((row["line"] or "")[:MAX_LINE])}
    evidence = row_evidence(work, rows[0], "read", 1.0) if len(versions) == 1 else None
    if evidence is None:
        return None
    line = " ".join((rows[0]["line"] or "").split())
    line = line if len(line) <= _MAX_LINE_SHOWN else f"{line[:_MAX_LINE_SHOWN]}…"
    text = f"Line {rows[0]['line_number']:,} of {code(rows[0]['path'])} is {code(line)}"
    return Finding(Statement(text, (evidence,)), "configured", queries=[join_queries(queries)], notes=work.notes)


_MIN_WORD = 4
