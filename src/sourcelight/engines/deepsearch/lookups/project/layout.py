"""The directories of a project: those at its top, and where tests, documents and builds of a service are."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from sourcelight.core.markup import code, count_of, join_first
from sourcelight.core.query.file_kinds import is_test
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_NAMED, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_listing_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.source.documents import first_paragraph
from sourcelight.engines.execution.natural_language import kind_of
from sourcelight.engines.search import Target

_MAX_QUOTE = 160
_TEST_DIRECTORY = re.compile(
    r"^(?:.*?/)?(?:src/)?(?:tests?|testing|__tests__|specs?|unittests?|integration[-_]tests?)(?=/)", re.IGNORECASE
)
_SERVICES: Mapping[str, str] = {
    r"^\.github/workflows/[^/]+\.ya?ml$": "GitHub Actions",
    r"^\.gitlab-ci\.ya?ml$": "GitLab CI",
    r"^\.travis\.ya?ml$": "Travis CI",
    r"^\.circleci/config\.ya?ml$": "CircleCI",
    r"^\.?azure-pipelines[\w.-]*\.ya?ml$": "Azure Pipelines",
    r"^\.?appveyor\.ya?ml$": "AppVeyor",
    r"^\.cirrus\.(?:ya?ml|star)$": "Cirrus CI",
    r"^\.drone\.ya?ml$": "Drone",
    r"^\.buildkite/[^/]+\.ya?ml$": "Buildkite",
    r"^(?:.*/)?Jenkinsfile$": "Jenkins",
    r"^bitbucket-pipelines\.ya?ml$": "Bitbucket Pipelines",
    r"^\.woodpecker(?:\.ya?ml|/.*\.ya?ml)$": "Woodpecker",
    r"^\.builds/[^/]+\.ya?ml$|^\.build\.yml$": "SourceHut builds",
}


def find_directories(work: Work) -> Finding | None:
    """Return the directories at the top with the most files; None for several repositories, or without any."""
    paths, queries = _paths(work)
    if paths is None:
        return None
    by_directory = _by_directory(paths, _top_directory)
    visible = {name: files for name, files in by_directory.items() if not name.startswith(".")}
    text = "The directories at the top with the most files are"
    return _state_directories(work, text, visible or by_directory, queries)


def find_tests(work: Work) -> Finding | None:
    """Return the directories with the most test files; None for several repositories, or without any."""
    return _find_by_kind(work, "Most test files are in", is_test, _test_directory)


def find_documents(work: Work) -> Finding | None:
    """Return the directories with the most documents; None for several repositories, or without any."""
    return _find_by_kind(work, "Most documents are in", lambda path: kind_of(path) == "docs", _top_directory)


def find_ci(work: Work) -> Finding | None:
    """Return the files that configure builds of a service; None without any, or for several repositories."""
    pattern = "|".join(_SERVICES)
    queries = make_queries(work, f"type:path file:{quote_value(pattern)}")
    target = _only_target(work)
    paths = sorted({row["path"] for row in run_searches(work, queries) if row["path"]})
    if target is None or not paths:
        return None

    by_service: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        service = next((name for form, name in _SERVICES.items() if re.search(form, path, re.IGNORECASE)), "")
        by_service[service].append(path)

    statements = []
    for service, files in by_service.items():
        verb = "configures" if len(files) == 1 else "configure"
        evidence = tuple(work.texts.read_line(target, path, 1) for path in files[:MAX_NAMED])
        statements.append(
            Statement(f"{join_first([code(path) for path in files], MAX_NAMED)} {verb} {service}", evidence)
        )

    finding = Finding(
        statements[0], "layout", queries=[join_queries(queries)], notes=work.notes, heading="Other services"
    )
    finding.details = statements[1:]
    finding.method.append("Known by the names of files; a service may be configured elsewhere, too.")
    return finding


def _find_by_kind(
    work: Work, text: str, accepts: Callable[[str], bool], directory_of: Callable[[str], str]
) -> Finding | None:
    paths, queries = _paths(work)
    by_directory = _by_directory([path for path in paths or () if accepts(path)], directory_of)
    return _state_directories(work, text, by_directory, queries)


def _state_directories(
    work: Work, text: str, by_directory: Mapping[str, Sequence[str]], queries: Sequence[str]
) -> Finding | None:
    """State the directories with the most files, and each with its number of files and the start of its README."""
    target = _only_target(work)
    if target is None or not by_directory:
        return None

    names = sorted(by_directory, key=lambda name: (-len(by_directory[name]), name))
    evidence = tuple(_first_line(work.texts, target, by_directory[name]) for name in names[:MAX_NAMED])
    headline = Statement(f"{text} {join_first([code(name) for name in names], MAX_NAMED)}", evidence)
    finding = Finding(headline, "layout", queries=[join_queries(queries)], notes=work.notes, heading="Directories")
    finding.details = [_describe(work.texts, target, name, by_directory[name]) for name in names[:MAX_DETAILS]]
    finding.method.append("Counts the files of the searched commit.")
    return finding


def _describe(texts: FileTexts, target: Target, name: str, paths: Sequence[str]) -> Statement:
    readme = next(
        (path for path in sorted(paths) if re.fullmatch(rf"{re.escape(name)}readme(?:\.\w+)?", path, re.IGNORECASE)), ""
    )
    number = count_of(len(paths), "file")
    if readme:
        lines = texts.lines(target, readme)
        paragraph = first_paragraph(readme, lines, 1, len(lines))
        if paragraph is not None:
            evidence = texts.evidence(target, readme, paragraph.begin_line, paragraph.end_line, "doc", 1.0)
            return Statement(f"{code(name)}, {number}: “{inline(paragraph.text, _MAX_QUOTE)}”", (evidence,))

    return Statement(f"{code(name)}, {number}", (_first_line(texts, target, paths),))


def _first_line(texts: FileTexts, target: Target, paths: Sequence[str]) -> FileEvidence:
    depth = min(path.count("/") for path in paths)
    top = [path for path in paths if path.count("/") == depth]
    # A reader who follows the link to a directory wants to read about it.
    readmes = [path for path in top if path.rpartition("/")[2].casefold().startswith("readme")]
    path = min(readmes or top)
    return texts.read_line(target, path, 1)


def _by_directory(paths: Sequence[str], directory_of: Callable[[str], str]) -> dict[str, list[str]]:
    """Return paths by directory, each with a slash at its end; paths at the top are left out."""
    by_directory: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        directory = directory_of(path)
        if directory:
            by_directory[f"{directory}/"].append(path)
    return by_directory


def _test_directory(path: str) -> str:
    """Return the directory of tests that a path is in; without one, the directory of the file."""
    match = _TEST_DIRECTORY.match(path)
    return match[0] if match is not None else path.rpartition("/")[0]


def _top_directory(path: str) -> str:
    return path.partition("/")[0] if "/" in path else ""


def _only_target(work: Work) -> Target | None:
    targets = work.targets
    return targets[0] if len(targets) == 1 else None


def _paths(work: Work) -> tuple[list[str] | None, list[str]]:
    """Return all paths of the only repository, and the searches; None for several repositories."""
    if _only_target(work) is None:
        return None, []
    queries = make_listing_queries(work)
    return sorted({row["path"] for row in run_searches(work, queries) if row["path"]}), queries
