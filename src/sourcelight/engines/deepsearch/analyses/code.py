"""Analyses of the code of a commit: the most complex and the longest functions, related tests, circular imports."""

from __future__ import annotations

from collections import Counter, defaultdict
from graphlib import CycleError, TopologicalSorter
from typing import Any

from sourcelight.core.markup import code, count_of
from sourcelight.core.query.languages import languages_of
from sourcelight.engines.complexity import LANGUAGES as MEASURED_LANGUAGES
from sourcelight.engines.deepsearch.analyses.requests import AnalysisRequest
from sourcelight.engines.deepsearch.facts.model import CitedLine, Fact, Rows
from sourcelight.engines.deepsearch.facts.paths import PathNames
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES
from sourcelight.engines.execution.natural_language import kind_of

_MEASURES = {
    "complexity": ("the most complex {noun}", "cognitive"),
    "length": ("the longest {noun}", "lines"),
    "parameters": ("the {noun} with the most parameters", "parameters"),
}
"""Descriptions of the first functions, and the columns that rank them, by topic."""
_MAX_CIRCLE = 8
"""Maximum files of a circle that a sentence names."""


def rank_functions(request: AnalysisRequest) -> Fact | None:
    """Rank functions or files by complexity, length or parameters; None if no file is of a measured language."""
    fact = Fact(None, "", "", unit="functions")
    description, measure = _MEASURES[request.question.topic]
    is_file = request.question.unit in {"file", "module"}
    rows = request.call_each(fact, "complexity", **({"by": "file"} if is_file else {}))
    tested = [row for row in rows if not row["test"]] or rows
    code_rows = [row for row in tested if kind_of(row["path"]) not in {"vendored", "generated"}] or tested
    if not code_rows:
        return None

    ranked = sorted(code_rows, key=lambda row: (-row[measure], row["repository"], row["path"], row["line_number"]))
    best = [row for row in ranked if row[measure] == ranked[0][measure]]
    left_out = [
        *(["tests"] if len(tested) < len(rows) else []),
        *(["vendored or generated files"] if len(code_rows) < len(tested) else []),
    ]
    outside = f" outside of {' and '.join(left_out)}" if left_out else ""
    noun = "file" if is_file else "function"
    names = request.list_names([_name_of(request, row) for row in best])
    verb, kind = ("are", f"{noun}s") if len(best) > 1 else ("is", noun)
    superlative = f"{description.format(noun=kind)}{request.path_clause}{outside}"
    fact.subject = f"{names} {verb} {superlative}: {_describe(best, measure, is_file=is_file)}"
    fact.rule = (
        "Cognitive complexity is that of SonarSource 1.7, cyclomatic complexity that of McCabe. Functions within "
        "functions count for themselves. Tests, examples and benchmarks are known by their paths."
    )
    fact.unread = _unmeasured_languages(request)
    measures = ("cognitive", "cyclomatic", "lines", "functions" if is_file else "parameters")
    columns = ("repository", "path", *(() if is_file else ("symbol",)), *measures)
    table = Rows(f"By {measure}", columns)
    for row in ranked:
        citation = CitedLine(row["repository"], row["commit"], row["path"], row["line_number"])
        table.add(tuple(row[column] for column in columns), citation)

    fact.tables = [table]
    fact.repositories = Counter(row["repository"] for row in code_rows)
    return fact


def _name_of(request: AnalysisRequest, row: dict[str, Any]) -> str:
    name_of_path = request.name_place(row["repository"], row["path"])
    return f"{code(row['symbol'])} in {name_of_path}" if row["symbol"] else name_of_path


def _describe(best: list[dict[str, Any]], measure: str, *, is_file: bool) -> str:
    row, suffix = best[0], " each" if len(best) > 1 else ""
    if measure == "lines":
        return f"{count_of(row['lines'], 'line')}{suffix}"
    if measure == "parameters":
        self_too = ", `self` included" if row["path"].endswith(".py") and row["kind"] != "function" else ""
        return f"{count_of(row['parameters'], 'parameter')}{suffix}{self_too}"
    if len(best) > 1:
        return f"a cognitive complexity of {row['cognitive']:,} each"

    of = " of its code together" if is_file else ""
    return (
        f"a cognitive complexity{of} of {row['cognitive']:,}, a cyclomatic complexity of {row['cyclomatic']:,}, "
        f"{count_of(row['lines'], 'line')}"
    )


def _unmeasured_languages(request: AnalysisRequest) -> list[str]:
    """Return the languages with functions in these repositories that aren't measured."""
    paths = PathNames(request.work.inquiry)
    names = set(request.repositories)
    files = [
        path for (repository, _), files_of_one in paths.paths.items() if repository in names for path in files_of_one
    ]
    below = tuple(path for _, path in request.locations if path)
    found_languages = set(languages_of(path for path in files if not below or path.startswith(below)))

    # Files of ProGuard and Qt have the ending of Prolog.
    return sorted(found_languages & PROGRAMMING_LANGUAGES.difference(MEASURED_LANGUAGES, {"Prolog"}))


def list_tests(request: AnalysisRequest) -> Fact | None:
    """List the tests of a file: those that import it, use its definitions or change with it."""
    fact = Fact(0, "", "", unit="tests")
    rows = request.call_each(fact, "related_tests")
    paths = request.list_names([request.name_place(repository, path) for repository, path in request.locations])
    fact.number = len(rows)
    fact.subject = (
        f"test {'file imports' if len(rows) == 1 else 'files import'} {paths}, "
        f"{'uses its definitions or changes' if len(rows) == 1 else 'use its definitions or change'} together with it"
    )
    if rows:
        fact.subject += (
            f", {'such as ' if len(rows) > 1 else ''}{request.name_place(rows[0]['repository'], rows[0]['path'])}"
        )

    fact.rule = (
        "Imports are direct ones. Names are definitions of the file that a test uses. A test that does neither counts "
        "if at least two commits changed both. Which lines a test runs isn't known here."
    )
    table = Rows("Tests", ("repository", "path", "imports", "names", "shared_commits"))
    for row in rows:
        names = list(row["names"] or ())
        text = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        citation = CitedLine(row["repository"], row["commit"], row["path"], row["line_number"] or 1)
        table.add((row["repository"], row["path"], row["imports"], text, row["shared_commits"]), citation)

    fact.tables = [table]
    fact.repositories = Counter(repository for repository, _ in request.locations)
    return fact


def find_cycle(request: AnalysisRequest) -> Fact | None:
    """Find files that import each other in a circle; None if no file has an import that leads to another one."""
    fact = Fact(None, "", "", unit="files")
    rows = request.call_each(fact, "imports")
    graph: defaultdict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    lines: dict[tuple[tuple[str, str], tuple[str, str]], CitedLine] = {}
    for row in rows:
        target = (row["target_repository"], row["target_path"])
        source = (row["repository"], row["path"])
        # An import of another repository can't lead back: its own imports aren't read here.
        if target[1] and target[0] == source[0] and target != source:
            graph[source].add(target)
            lines.setdefault(
                (source, target), CitedLine(row["repository"], row["commit"], row["path"], row["line_number"])
            )

    if not graph:
        return None

    circle = _find_circle(graph)
    fact.repositories = Counter(repository for repository, _ in graph)
    if not circle:
        fact.subject = f"No circle of imports was found among {count_of(len(graph), 'file')} that import others"
        fact.rule = "An import counts if it names a file of the same repository, also within functions."
        return fact

    fact.rule = (
        "An import counts if it names a file of the same repository, also within functions and for type checkers "
        "alone. There may be further circles."
    )
    names = [request.name_place(*node) for node in circle]
    if len(circle) == 2:
        fact.subject = f"{names[0]} and {names[1]} import each other"
    else:
        steps = names if len(names) <= _MAX_CIRCLE else [*names[:_MAX_CIRCLE], "…"]
        fact.subject = f"{names[0]} imports itself by way of {count_of(len(circle) - 1, 'other file')}: " + " → ".join(
            [*steps, names[0]]
        )

    table = Rows("Imports", ("repository", "path", "imports"))
    for source, target in zip(circle, [*circle[1:], circle[0]], strict=True):
        table.add((*source, target[1]), lines[source, target])

    fact.tables = [table]
    return fact


def _find_circle(graph: defaultdict[tuple[str, str], set[tuple[str, str]]]) -> list[tuple[str, str]]:
    """Return the nodes of a circle in the order of its edges, two if any two are one; empty without any."""
    for source in sorted(graph):
        for target in sorted(graph[source]):
            if source in graph.get(target, ()):
                return [source, target]

    # In a fixed order, so that the same graph has the same circle; a sorter goes from a node to its predecessors.
    sorter = TopologicalSorter({node: sorted(graph[node]) for node in sorted(graph)})
    try:
        sorter.prepare()
    except CycleError as exc:
        circle: list[tuple[str, str]] = exc.args[1][:-1]
        return circle[::-1]

    return []
