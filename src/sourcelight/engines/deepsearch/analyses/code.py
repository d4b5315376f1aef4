"""Analyses of the code of a commit: the most complex and the longest functions, related tests, circular imports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple, TypeAlias

from sourcelight.core.markup import code, count_of, plural
from sourcelight.core.markup.counts import join_names
from sourcelight.core.query.languages import languages_of
from sourcelight.engines.complexity import LANGUAGES as MEASURED_LANGUAGES
from sourcelight.engines.deepsearch.analyses.requests import (
    AnalysisRequest,
    Row,
    cite_line,
    count_repositories,
    leading,
    make_table,
)
from sourcelight.engines.deepsearch.facts.model import CitedLine, Fact, Rows
from sourcelight.engines.deepsearch.facts.paths import PathNames
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES
from sourcelight.engines.execution.natural_language import kind_of

_MAX_CIRCLE = 8
"""Maximum files of a circle that a sentence names."""

_MAX_TESTED_NAMES = 5
"""Maximum definitions that the row of a test names."""

_Node: TypeAlias = tuple[str, str]
"""A file in the graph of imports: its repository and its path."""


class _Measure(NamedTuple):
    """A measure of functions: the first function in words, and the column with the number."""

    description: str
    column: str


_MEASURES = {
    "complexity": _Measure("the most complex {noun}", "cognitive"),
    "length": _Measure("the longest {noun}", "lines"),
    "parameters": _Measure("the {noun} with the most parameters", "parameters"),
}
"""Measures by the topic of a question."""


def rank_functions(request: AnalysisRequest) -> Fact | None:
    """Rank functions or files by complexity, length or parameters; None if no file is of a measured language."""
    measure = _MEASURES[request.question.topic]
    is_file = request.question.unit in {"file", "module"}
    grouping = {"by": "file"} if is_file else {}
    answer = request.call_each("complexity", **grouping)

    # Without tests and generated code, unless there is nothing else.
    tested = [row for row in answer.rows if not row["test"]] or answer.rows
    rows = [row for row in tested if kind_of(row["path"]) not in {"vendored", "generated"}] or tested
    if not rows:
        return None

    rows = sorted(rows, key=lambda row: (-row[measure.column], row["repository"], row["path"], row["line_number"]))
    best = leading(rows, measure.column)
    noun = "file" if is_file else "function"
    verb = "is"
    if len(best) > 1:
        noun, verb = plural(noun), "are"

    left_out = []
    if len(tested) < len(answer.rows):
        left_out.append("tests")
    if len(rows) < len(tested):
        left_out.append("vendored or generated files")
    outside = f" outside of {' and '.join(left_out)}" if left_out else ""

    names = join_names([_name_of(request, row) for row in best])
    superlative = f"{measure.description.format(noun=noun)}{request.path_clause}{outside}"
    columns = ["repository", "path", "symbol", "cognitive", "cyclomatic", "lines", "parameters"]
    if is_file:
        columns = ["repository", "path", "cognitive", "cyclomatic", "lines", "functions"]

    fact = answer.fact(
        f"{names} {verb} {superlative}: {_describe(best, measure.column, is_file=is_file)}",
        unit="functions",
        rule="Cognitive complexity is that of SonarSource 1.7, cyclomatic complexity that of McCabe. Functions within "
        "functions count for themselves. Tests, examples and benchmarks are known by their paths.",
        table=make_table(f"By {measure.column}", columns, rows, cite_line),
        repositories=count_repositories(rows),
    )
    fact.unread = _unmeasured_languages(request)
    return fact


def _name_of(request: AnalysisRequest, row: Row) -> str:
    name_of_path = request.name_place(row["repository"], row["path"])
    if row["symbol"]:
        return f"{code(row['symbol'])} in {name_of_path}"
    return name_of_path


def _describe(best: Sequence[Row], measure: str, *, is_file: bool) -> str:
    """Return the number of the best functions or files, which are equal in it."""
    row = best[0]
    suffix = " each" if len(best) > 1 else ""
    if measure == "lines":
        return f"{count_of(row['lines'], 'line')}{suffix}"
    if measure == "parameters":
        is_method = row["path"].endswith(".py") and row["kind"] != "function"
        self_too = ", `self` included" if is_method else ""
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
    locations = set(request.locations)
    languages: set[str] = set()
    for (repository, _), paths in PathNames(request.work.inquiry).paths.items():
        directories = [directory for name, directory in locations if name == repository]
        for directory in directories:
            languages |= set(languages_of(path for path in paths if _is_below(path, directory)))

    # Files of ProGuard and Qt have the ending of Prolog.
    return sorted(languages & PROGRAMMING_LANGUAGES.difference(MEASURED_LANGUAGES, {"Prolog"}))


def _is_below(path: str, directory: str) -> bool:
    """Return whether a path is a file or directory, or in it; an empty one has all paths."""
    return not directory or path == directory or path.startswith(f"{directory}/")


def list_tests(request: AnalysisRequest) -> Fact | None:
    """List the tests of a file: those that import it, use its definitions or change with it."""
    answer = request.call_each("related_tests")
    rows = answer.rows
    paths = join_names([request.name_place(repository, path) for repository, path in request.locations])
    if len(rows) == 1:
        subject = f"test file imports {paths}, uses its definitions or changes together with it"
    else:
        subject = f"test files import {paths}, use its definitions or change together with it"

    if rows:
        such_as = "such as " if len(rows) > 1 else ""
        subject += f", {such_as}{request.name_place(rows[0]['repository'], rows[0]['path'])}"

    tests = [{**row, "names": _list_definitions(row["names"] or ())} for row in rows]
    columns = ("repository", "path", "imports", "names", "shared_commits")
    fact = answer.fact(
        subject,
        unit="tests",
        rule="Imports are direct ones. Names are definitions of the file that a test uses. A test that does neither "
        "counts if at least two commits changed both. Which lines a test runs isn't known here.",
        table=make_table("Tests", columns, tests, cite_line),
        repositories=Counter(repository for repository, _ in request.locations),
    )
    fact.number = len(rows)
    return fact


def _list_definitions(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    text = ", ".join(names[:_MAX_TESTED_NAMES])
    if len(names) > _MAX_TESTED_NAMES:
        return f"{text} and {len(names) - _MAX_TESTED_NAMES} more"
    return text


def find_cycle(request: AnalysisRequest) -> Fact | None:
    """Find files that import each other in a circle; None if no file has an import that leads to another one."""
    answer = request.call_each("imports")
    graph, lines = _import_graph(answer.rows)
    if not graph:
        return None

    repositories = Counter(repository for repository, _ in graph)
    circle = _find_circle(graph)
    if not circle:
        return answer.fact(
            f"No circle of imports was found among {count_of(len(graph), 'file')} that import others",
            unit="files",
            rule="An import counts if it names a file of the same repository, also within functions.",
            table=None,
            repositories=repositories,
        )

    table = Rows("Imports", ("repository", "path", "imports"))
    for source, target in zip(circle, [*circle[1:], circle[0]], strict=True):
        repository, path = source
        table.add((repository, path, target[1]), lines[source, target])

    return answer.fact(
        _state_circle([request.name_place(repository, path) for repository, path in circle]),
        unit="files",
        rule="An import counts if it names a file of the same repository, also within functions and for type checkers "
        "alone. There may be further circles.",
        table=table,
        repositories=repositories,
    )


def _import_graph(rows: Sequence[Row]) -> tuple[dict[_Node, set[_Node]], dict[tuple[_Node, _Node], CitedLine]]:
    """Return the files that each file imports, and the line of the first import of each."""
    graph: dict[_Node, set[_Node]] = {}
    lines: dict[tuple[_Node, _Node], CitedLine] = {}
    for row in rows:
        source = (row["repository"], row["path"])
        target = (row["target_repository"], row["target_path"])
        # An import of another repository can't lead back: its own imports aren't read here.
        if row["target_path"] and row["target_repository"] == row["repository"] and target != source:
            graph.setdefault(source, set()).add(target)
            lines.setdefault((source, target), cite_line(row))

    return graph, lines


def _state_circle(names: Sequence[str]) -> str:
    if len(names) == 2:
        return f"{names[0]} and {names[1]} import each other"

    steps = [*names[:_MAX_CIRCLE], names[0]]
    if len(names) > _MAX_CIRCLE:
        steps.insert(_MAX_CIRCLE, "…")
    other_files = count_of(len(names) - 1, "other file")
    return f"{names[0]} imports itself by way of {other_files}: {' → '.join(steps)}"


def _find_circle(graph: Mapping[_Node, AbstractSet[_Node]]) -> list[_Node]:
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
        circle: list[_Node] = exc.args[1][:-1]
        return circle[::-1]

    return []
