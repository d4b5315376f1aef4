"""Facts of one file that a question names: who changed a line, who wrote a definition, what a file imports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sourcelight.core.errors import RepositoryError, SourcelightError
from sourcelight.core.markup import code, count_of, join_words
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_LINES, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.facts.commits import evidence_of
from sourcelight.engines.deepsearch.facts.declared.import_forms import (
    ImportedModule,
    imports_in,
    names_module,
    reads_all,
)
from sourcelight.engines.deepsearch.facts.events import byline
from sourcelight.engines.deepsearch.facts.model import Work, format_call
from sourcelight.engines.deepsearch.facts.paths import PathNames
from sourcelight.engines.deepsearch.facts.unparsed_definitions import language_at
from sourcelight.engines.deepsearch.lookups.builds.answering import find_package_answer
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import is_repository
from sourcelight.engines.deepsearch.lookups.definitions.search import find_definitions, with_overloads
from sourcelight.engines.deepsearch.lookups.recount import code_lines
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.question.lookups import Lookup
from sourcelight.engines.deepsearch.source.class_heads import C_FAMILY
from sourcelight.engines.search import Target

_HEADER = re.compile(r"\.(?:h|hh|hpp|hxx|hrl|inc|inl|ipp|proto|bzl|sol)$")
"""Names of files that importing lines have with their endings."""
MAX_MODULES = 20
"""Modules that a headline names."""


def find_line_author(work: Work, paths: PathNames, path: str, line: int) -> Finding | None:
    """Return the commit that brought a line of a file; None if the path is not one file."""
    location = _file_of(work, paths, path)
    if location is None:
        return None

    target, file = location
    repository = target.repository.name
    texts = work.texts
    count = len(texts.lines(target, file))
    if not 1 <= line <= count:
        text = f"{code(file)} has no line {line:,}: it ends with line {count:,}"
        evidence = (texts.evidence(target, file, count, count, "read"),) if count else ()
        return Finding(Statement(text, evidence), "line", is_negative=True)

    arguments: dict[str, Any] = {"repo": repository, "path": file}
    if target.revision:
        arguments["revision"] = target.commit

    try:
        answer = work.call("blame", arguments)
        blamed = next((row for row in answer.table.to_pylist() if row["line_number"] == line), None)
        if blamed is None:
            return None
        lookup = {"repos": [repository], "revisions": [blamed["commit"]], "count": 1}
        commits = work.call("commit_search", lookup, changes=False).table.to_pylist()
    except (RepositoryError, SourcelightError):
        work.context.cancellation.check()
        return None

    if not commits:
        return None

    finding = _state_line_author(blamed, commits[0], texts.read_line(target, file, line))
    finding.queries = [format_call("blame", arguments)]
    return finding


def _state_line_author(blamed: dict[str, Any], commit: dict[str, Any], quote: FileEvidence) -> Finding:
    """State who last changed a quoted line; `blamed` is its row of a blame, and `commit` the row of that commit."""
    line, file = quote.begin_line, quote.path
    text = f"Line {line:,} of {code(file)} was last changed by {byline(commit)} in commit “{inline(commit['subject'])}”"

    # At the edge of a shallow clone, git knows no earlier commit, but the commit has parents.
    is_edge = blamed["boundary"] and bool(commit["parents"])
    if is_edge:
        text = (
            f"Line {line:,} of {code(file)} is at least as old as the oldest commit of this shallow clone, which is by "
            f"{byline(commit)}"
        )

    # The name is that of the pin: rows of a table that was built before a repository was renamed have the former one.
    change = replace(evidence_of(commit, f"last to change line {line}"), repository=quote.repository)
    finding = Finding(Statement(text, (change, quote)), "line", quotes=[quote])
    if is_edge:
        finding.method.append("The history of this clone ends at this commit: earlier commits were not fetched.")

    if blamed["original_path"] != file:
        finding.method.append(
            f"At that commit, it was line {blamed['original_line_number']:,} of {code(blamed['original_path'])}."
        )

    return finding


def find_defining_line(work: Work, name: str) -> Finding | None:
    """Return the commit that brought the only line that defines a name; None for several lines."""
    queries: list[str] = []
    definitions = with_overloads(work.texts, find_definitions(work, name, queries, unparsed=True))
    if len(definitions) != 1:
        return None

    location = definitions[0]
    finding = find_line_author(work, PathNames(work.inquiry), location.path, location.definition.line)
    if finding is not None:
        finding.method.append(f"This line defines {code(name)}.")
        finding.queries = [*queries, *finding.queries]

    return finding


@dataclass(frozen=True, slots=True)
class _FileImports:
    """A file, its language and what its lines import."""

    target: Target
    path: str
    language: str
    modules: list[ImportedModule]


def _read_imports(work: Work, paths: PathNames, path: str) -> _FileImports | None:
    """Read what a file imports; None if the path is not a single file, or its language is unknown."""
    location = _file_of(work, paths, path)
    if location is None:
        return None

    target, file_path = location
    language = language_at(work.texts, target, file_path)
    if language in C_FAMILY or language.startswith("Objective-C"):
        # Lines of the preprocessor look like comments of other languages.
        text = re.sub(r"/\*.*?(?:\*/|\Z)", _blank, "\n".join(work.texts.lines(target, file_path)), flags=re.DOTALL)
        lines: Sequence[tuple[int, str]] = list(enumerate(text.split("\n"), 1))
    else:
        lines = code_lines(work, target.repository.name, file_path)

    modules = imports_in([(number, line.removeprefix("\ufeff")) for number, line in lines], language)
    return None if modules is None else _FileImports(target, file_path, language, modules)


def find_imports(lookup: Lookup, work: Work) -> Finding | None:
    """Return what a file imports; a name with a dot that no file has may be a package: "does next.jdbc depend on X"."""
    paths = PathNames(work.inquiry)
    if not lookup.name:
        return find_file_imports(work, paths, lookup.path)

    scope = paths.find(lookup.path)
    if lookup.asks != "use" or "/" in lookup.path or (scope is not None and scope.is_file):
        return find_file_import(work, paths, lookup.path, lookup.name, is_absence_stated=lookup.asks != "use")
    is_own = is_repository(work, re.sub(r"[._]", "-", lookup.path.lower()))
    asks = "listed" if re.search(r"\bdepends? ", work.inquiry.question, re.IGNORECASE) is not None else "use"
    return find_package_answer(Lookup("dependency", lookup.name, "" if is_own else lookup.path, asks=asks), work)


def find_file_import(
    work: Work, paths: PathNames, path: str, name: str, *, is_absence_stated: bool = True
) -> Finding | None:
    """Return the line of a file that imports a module, or that no line has its name; None where neither is certain.

    Parameters
    ----------
    work
        The question.
    paths
        The paths of the searched commits.
    path
        The file, as the question has it.
    name
        The module.
    is_absence_stated
        Whether the question is for an import alone: what a file uses may have no name in it.
    """
    imports = _read_imports(work, paths, path)
    if imports is None:
        return None

    target, file_path = imports.target, imports.path
    imported = next((module for module in imports.modules if names_module(module.name, name)), None)
    if imported is not None:
        evidence = work.texts.read_line(target, file_path, imported.line)
        return Finding(Statement(f"Yes: {code(file_path)} imports {code(imported.name)}", (evidence,)), "imports")

    # The last part of a name is what a line has in any form of an import; a header has its ending there, too.
    bare_name = name.strip('"<>')
    word = (
        bare_name.rpartition("/")[2] if _HEADER.search(bare_name) is not None else re.split(r"[./:\\]+", bare_name)[-1]
    )
    lines = work.texts.lines(target, file_path)
    if not is_absence_stated or not lines or any(word.lower() in line.lower() for line in lines):
        return None

    text = f"No: no line of {code(file_path)} has {code(word)}"
    query = f"case:no type:file file:{quote_value(f'^{escape_regexp(file_path)}$')} {quote_value(word)}"
    finding = Finding(Statement(text), "imports", queries=[query], is_negative=True)
    finding.method.append(f"Read {count_of(len(lines), 'line')}.")
    return finding


def find_file_imports(work: Work, paths: PathNames, path: str) -> Finding | None:
    """Return the imports of a file; None if the path is not a single file, or its language is unknown."""
    texts = work.texts
    imports = _read_imports(work, paths, path)
    if imports is None or not imports.modules:
        return None

    target, file_path, modules = imports.target, imports.path, imports.modules
    first_lines: dict[str, int] = {}
    for module in modules:
        first_lines.setdefault(module.name, module.line)

    visible = list(first_lines)[:MAX_MODULES]
    line_numbers = sorted({first_lines[name] for name in visible})
    is_short = line_numbers[-1] - line_numbers[0] < MAX_LINES
    ranges = [(line_numbers[0], line_numbers[-1])] if is_short else [(line, line) for line in line_numbers]
    evidence = tuple(texts.evidence(target, file_path, start, end, "read") for start, end in ranges)

    # A grammar reads statements over several lines, too: what only one of both has may be missing here.
    parsed = texts.definitions(target, file_path)
    lines_with_modules = {module.line for module in modules}
    is_sure = all(
        import_.line in lines_with_modules or import_.module in first_lines
        for import_ in (parsed.imports if parsed is not None else ())
    )
    is_whole = is_sure and reads_all(imports.language) and len(first_lines) <= len(visible)
    least = "" if is_whole else "at least "
    statement = Statement(f"{code(file_path)} imports {least}{join_words([code(name) for name in visible])}", evidence)
    finding = Finding(statement, "imports")
    finding.details = [
        Statement(f"line {line:,}: {code(name)}", (texts.evidence(target, file_path, line, line, "read"),))
        for name, line in list(first_lines.items())[len(visible) : len(visible) + MAX_DETAILS]
    ]
    finding.heading = "Further imports"
    finding.method.append("Counts import statements as written, each module once, also statements under a condition.")
    return finding


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _file_of(work: Work, paths: PathNames, path: str) -> tuple[Target, str] | None:
    """Return the one file that a path means; None for none or several."""
    scope = paths.find(path)
    if scope is None or not scope.is_file:
        return None

    matching = [
        (repository, file_path)
        for (repository, _), files in paths.paths.items()
        for file_path in files
        if file_path == path or file_path.endswith(f"/{path}")
    ]
    exact = [item for item in matching if item[1] == path]
    if len(exact or matching) != 1:
        return None

    ((repository, file),) = exact or matching
    target = work.inquiry.pins.of(repository)
    return None if target is None else (target, file)
