"""The lines of manifests and lock files that list a package, and the statement of one of them with its version.

A version may stand elsewhere: in a manifest of a directory above, as the value of a variable, or in a lock file, which
says what was chosen where a manifest only has a range.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import MAX_NAMED, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import (
    Manifest,
    asks_yes_or_no,
    cite_lines,
    state_requirement,
)
from sourcelight.engines.deepsearch.lookups.manifests import (
    LOCK_FILES,
    MAX_LINE,
    LockedVersion,
    Requirement,
    is_called,
    lists_by_reference,
    normalize,
    read_locked,
)
from sourcelight.engines.search import Target

_VARIABLE = re.compile(r"\$\{?\(?([\w.-]+)\)?\}?")
_NAME_OF_CODE = re.compile(r"^([A-Za-z_][\w.]*)$")
"""A version that a program of Scala gives by a name."""
_MAX_SET = 40

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


@dataclass(frozen=True, slots=True)
class PackageQuestion:
    """A question about a package: which one, of whom, and what is asked of it.

    Attributes
    ----------
    name
        The package.
    owner
        The package that may need it, a directory or a file; empty without one.
    group
        The list that is meant, such as ``dev`` or ``runtime``; empty for any.
    asks
        ``version``, ``listed``, ``use``, ``need`` or ``condition``.
    is_free, subject
        Whether the question has a subject of no form, so that "Yes" and "No" may answer something else; and the words
        of that subject, such as ``listener``, by which one of several manifests may be chosen.
    """

    name: str
    owner: str = ""
    group: str = ""
    asks: str = "listed"
    is_free: bool = False
    subject: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PackageLine:
    """A package that a manifest lists."""

    manifest: Manifest
    requirement: Requirement


def find_package_lines(manifests: Sequence[Manifest], name: str) -> tuple[list[PackageLine], list[str]]:
    """Return the lines that list a package, the fully read manifests, and the others."""
    matches: list[PackageLine] = []
    read: list[str] = []
    for manifest in manifests:
        requirements = manifest.requirements
        if requirements is None:
            continue
        if not lists_by_reference(manifest.path, manifest.lines):
            read.append(manifest.path)
        matches += [PackageLine(manifest, item) for item in requirements if item.line and is_called(item, name)]

    # `vendor/react` is another package, where `react` itself is listed.
    exact = [match for match in matches if normalize(match.requirement.name) == normalize(name)]
    # Of `androidx.test.ext:junit` and `junit:junit`, people know the second one by its bare name.
    of_group = [
        match
        for match in matches
        if re.split(r"[.:]", match.requirement.name.rpartition(":")[0])[-1].lower() == name.lower()
    ]
    return exact or of_group or matches, read


_NAMED_OTHERWISE = {
    "tests": ("test",), "docs": ("doc",), "documentation": ("docs", "doc"), "benchmarks": ("benchmark", "bench"),
    "benchmark": ("bench", "benches"), "bench": ("benchmark",), "examples": ("example",), "samples": ("sample",),
    "development": ("dev",), "ci": ("workflows",), "website": ("site", "docs"), "fuzzers": ("fuzz",),
    "cmake": ("cmakelists.txt",), "bazel": ("module.bazel",), "npm": ("package.json",), "maven": ("pom.xml",),
    "bower": ("bower.json",),
}  # fmt: skip


def lines_of_subject(lines: Sequence[PackageLine], subject: Sequence[str]) -> list[PackageLine]:
    """Return the lines of the manifests or lists that a word of a subject names."""
    words = set(subject)
    for part in subject:
        words.update(_NAMED_OTHERWISE.get(part, ()))

    return [line for line in lines if words & _words_of(line)]


def have_one_version(lines: Sequence[PackageLine]) -> bool:
    """Return whether all lines that give a version give the same one."""
    versions = {line.requirement.version for line in lines}
    return len(versions - {""}) <= 1


def _words_of(line: PackageLine) -> set[str]:
    """Return the words that name a manifest and a list of it: directories, its package and its purpose."""
    manifest = line.manifest
    text = f"{manifest.directory} {manifest.path.rpartition('/')[2]} {manifest.name} {line.requirement.group}".lower()
    return {*re.findall(r"[^\W_]+", text), *re.findall(r"[\w.-]+", text)}


def state_package_line(
    work: Work, match: PackageLine, all_matches: Sequence[PackageLine]
) -> tuple[Statement, list[str]]:
    """State what a line lists, with the line that has its version if that is another one, and the searches for it."""
    statement = state_requirement(work, match.manifest, match.requirement)
    version = match.requirement.version
    if not version:
        above = next((other for other in all_matches if _gives_version(other, match)), None)
        if above is None:
            return statement, []

        line = above.requirement.line
        evidence = work.texts.read_line(above.manifest.target, above.manifest.path, line)
        text = f"{statement.text}; {code(above.manifest.path)} gives the version {code(above.requirement.version)}"
        return Statement(text, (*statement.evidence, evidence)), []

    of_code = _NAME_OF_CODE if match.manifest.path.endswith((".sbt", ".mill", ".sc")) else _VARIABLE
    variable = of_code.search(version)
    if variable is None:
        return statement, []

    values, queries = _find_values(work, match.manifest, variable[1])
    if len(values) != 1:
        return statement, queries
    value, value_line = values.popitem()
    return Statement(f"{statement.text}, which is set to {code(value)}", (*statement.evidence, value_line)), queries


def _gives_version(other: PackageLine, match: PackageLine) -> bool:
    """Return whether a line of a manifest in a directory above has the version of a package that a line lists."""
    return (
        bool(other.requirement.version)
        and other.manifest.target is match.manifest.target
        and other.manifest.directory != match.manifest.directory
        and is_above(other.manifest.path, match.manifest.path)
    )


def _find_values(work: Work, manifest: Manifest, name: str) -> tuple[dict[str, FileEvidence], list[str]]:
    """Return the values that build files of a repository give a variable, each with its line, and the searches."""
    tail = name.rpartition(".")[2]
    if manifest.path.endswith(("pom.xml", "proj", ".props", ".targets")):
        pattern = rf"<{escape_regexp(name)}>[^<$]+<\/"
        expression = re.compile(rf"<{re.escape(name)}>([^<$]+)</")
        files = r"(^|/)pom\.xml$|\.(props|targets|[cfv][sb]proj)$"
    else:
        pattern = rf"\b{escape_regexp(tail)}[\"']?\s*[:=]\s*[\"']?\d"
        expression = re.compile(rf"\b{re.escape(tail)}[\"']?\s*[:=]\s*[\"']?([\d][\w.+-]*)[\"']?")
        files = r"\.(gradle|kts|properties|sbt|mill|sc)$|\.versions\.toml$|^project/[\w.-]+\.scala$"

    queries = make_queries(work, f"case:yes type:file file:{quote_value(files)} /{pattern}/")
    values: dict[str, FileEvidence] = {}
    for row in run_searches(work, queries)[:_MAX_SET]:
        match = expression.search((row["line"] or "")[:MAX_LINE])
        if row["type"] == "content" and match is not None and row["repository"] == manifest.target.repository.name:
            number = row["line_number"]
            evidence = work.texts.read_line(manifest.target, row["path"], number)
            values.setdefault(match[1].strip(), evidence)

    return values, queries


def is_above(path: str, manifest: str) -> bool:
    """Return whether a manifest is in the directory of another one, or in one above it."""
    directory = path.rpartition("/")[0]
    # A catalog of versions is in a separate directory, for all packages of the repository.
    if path.endswith(".versions.toml"):
        directory = directory.rpartition("/")[0]
    return not directory or manifest.startswith(f"{directory}/")


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
