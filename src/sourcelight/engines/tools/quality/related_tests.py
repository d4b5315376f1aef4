"""`related_tests`: tests that import a file, use its definitions, or change with it.

Three independent signs name a test: it imports the file, uses a name that the file defines, or was changed by the same
commits. The first two are certain and make a test related by themselves. Shared commits alone may be chance, so without
the others several of them are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.notices import Rule
from sourcelight.core.query.file_kinds import is_test
from sourcelight.core.tools.quality import RELATED_TESTS, RelatedTestsArguments
from sourcelight.engines.tools.context import ToolContext, clean_path
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.countable_changes import commits_beside
from sourcelight.engines.tools.history.histories import OpenedHistory, open_history
from sourcelight.engines.tools.navigation.analyses import project_of
from sourcelight.engines.tools.navigation.calls import notices_of, workspace_of
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import TEXTS
from sourcelight.repos import ObjectReader, find_entry

if TYPE_CHECKING:
    from sourcelight.engines.navigation.file_uses import FileUse
    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace

_MIN_COMMITS = 2
"""Default for the commits that changed a file and a test that doesn't use it: one may be chance."""

_ANY_SIZE = 2**31 - 1
"""Files of a commit: here large ones count, too."""

_RULE = Rule(
    "Imports are direct ones; names also come through an __init__, an index file or the package of the test.", "imports"
)


def _related_tests(arguments: RelatedTestsArguments, context: ToolContext) -> ToolResult:
    """Return tests that import a file or use its definitions now, and tests that changed in the commits of the file.

    Those that import or use it come first, then those with most commits in common. Paths decide what is a test.
    """
    from sourcelight.engines.navigation.file_uses import uses_of_file

    path = clean_path(arguments.path)
    histories = open_history(RELATED_TESTS.name, context, arguments.repo, arguments.revision)
    attributes: dict[str, Any] = {"repository": arguments.repo.strip("/"), "path": path}
    if not histories.selections:
        return histories.without_rows("related_tests", attributes)

    (snapshot,) = histories.selections
    with ObjectReader(snapshot.repository) as reader:
        find_entry(reader, snapshot.commits[0], path, arguments.revision or "")
        names = [raw.decode("utf-8", "replace") for raw in reader.tree(snapshot.commits[0]).paths]

    tests = [name for name in names if is_test(name) and name != path]
    workspace = workspace_of(context)
    project = project_of(arguments.repo, arguments.revision, context, workspace)
    lines = _import_lines(project, workspace, path)
    uses: dict[str, FileUse] = {}
    document = project.document(path.encode("utf-8", "surrogateescape"))
    if document is not None:
        uses = {use.document.shown_path: use for use in uses_of_file(document, workspace, is_test)}

    min_commits = arguments.min_commits or _MIN_COMMITS
    related: list[_RelatedTest] = []
    for name, (shared_commits, commits) in commits_beside(snapshot, path, tests, context).items():
        test = _RelatedTest(name, lines.get(name, ()), uses.get(name), shared_commits, commits)
        if test.uses_file or shared_commits >= min_commits:
            related.append(test)

    related.sort(key=lambda test: (not test.uses_file, -test.shared_commits, test.path))
    table = _table(snapshot, related)
    attributes |= {
        "commit": snapshot.commits[0],
        "total": len(related),
        "min_commits": min_commits,
        "drill_down": _drill_down(path, snapshot.commits[0]),
    }
    notices = (*histories.notices, *notices_of(workspace), _RULE)
    is_complete = histories.complete and not workspace.unparsed and not workspace.notices
    return ToolResult(
        columns="related_tests", table=table, attributes=attributes, complete=is_complete, notices=notices
    )


@dataclass(frozen=True, slots=True)
class _RelatedTest:
    """A test of a file.

    Attributes
    ----------
    path
        Path of the test.
    import_lines
        Its lines that import the file.
    use
        Its use of names that the file defines; None without one.
    shared_commits, commits
        Numbers of commits that changed both, and that changed the test.
    """

    path: str
    import_lines: Sequence[int]
    use: FileUse | None
    shared_commits: int
    commits: int

    @property
    def uses_file(self) -> bool:
        """Whether it imports the file or uses its names."""
        return bool(self.import_lines) or self.use is not None

    @property
    def first_line(self) -> int | None:
        """The first import, else the first use; None without either."""
        if self.import_lines:
            return self.import_lines[0]
        return None if self.use is None else self.use.line


def _import_lines(project: Project, workspace: Workspace, path: str) -> dict[str, list[int]]:
    """Return the lines on which each test imports a file of its project."""
    from sourcelight.engines.navigation.graphs.imports import imports_in

    lines: dict[str, list[int]] = {}
    for file_imports in imports_in(project, workspace):
        name = file_imports[0].document.shown_path
        if not is_test(name):
            continue

        for file_import in file_imports:
            target = file_import.target
            if target is not None and target.shown_path == path and target.project.name == project.name:
                lines.setdefault(name, []).append(file_import.statement.line)

    return {name: sorted(import_lines) for name, import_lines in lines.items()}


def _table(snapshot: OpenedHistory, related: Sequence[_RelatedTest]) -> Any:
    names = [test.use.names if test.use is not None else [] for test in related]
    return tables.table(
        "related_tests",
        {
            "repository": snapshot.name,
            "commit": snapshot.commits[0],
            "path": [test.path for test in related],
            "imports": [len(test.import_lines) for test in related],
            "names": pa.array(names, pa.list_(pa.string())),
            "line_number": [test.first_line for test in related],
            "shared_commits": [test.shared_commits for test in related],
            "commits": [test.commits for test in related],
        },
        len(related),
    )


def _drill_down(path: str, commit: str) -> dict[str, Any]:
    """Return the call for the commits of a row, which changed both the file and the test."""
    coupling = {"of": "coupling", "path": path, "revisions": [commit], "maxFiles": _ANY_SIZE}
    return {"call": "commits_behind", "arguments": coupling, "columns": {"repos": "repository", "otherPath": "path"}}


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(RELATED_TESTS, _related_tests, TEXTS["related_tests"], TableItems("tests")),
)
