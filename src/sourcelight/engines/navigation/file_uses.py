"""Find the files that use the definitions of one file, also through an ``__init__``, an index file or their package."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.definitions import occurrences_in, resolve_by_rules
from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.locations import file_line, line_of
from sourcelight.engines.navigation.named import outline_of
from sourcelight.engines.navigation.ranking import family

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Document
    from sourcelight.engines.navigation.workspace import Workspace

MAX_NAMES = 2_000
"""Maximum definitions of one file to search for in other files; a file with more is generated."""

MAX_OCCURRENCES = 5
"""Maximum occurrences of a name to resolve per file; if none means the definition, the file uses another one."""


_CONTAINERS = frozenset({"module", "namespace", "package"})
"""Kinds of definitions that only contain others."""


@dataclass(frozen=True, slots=True)
class FileUse:
    """The uses of a file's definitions in another one.

    Attributes
    ----------
    document
        The file that uses them.
    names
        The names, in the order of the definitions.
    line
        1-based line of the first place.
    """

    document: Document
    names: Sequence[str]
    line: int


def uses_of_file(document: Document, workspace: Workspace, is_user: Callable[[str], bool]) -> Iterator[FileUse]:
    """Yield the files of a project that use a definition of `document`, in order of paths.

    Only the rules of the language count, not the ranking of equal names. Members of classes don't count: a file that
    uses a member also uses its class, or a function that returns it.
    """
    if resolver_of(document.language) is None:
        return

    definitions = [
        row
        for row in outline_of(document, workspace)
        if row.parent < 0 and not row.declaration and row.kind not in _CONTAINERS
    ]
    names = list(dict.fromkeys(row.name for row in definitions))[:MAX_NAMES]
    project = document.project
    for number, path in enumerate(project.paths):
        if number == document.number or not is_user(path.decode("utf-8", "replace")):
            continue

        other = project.document_at(number)
        if resolver_of(other.language) is None or family(other.language) != family(document.language):
            continue

        workspace.budget.check()
        text = other.text
        lines = {name: _first_line(other, document, name, workspace) for name in names if name.encode() in text}
        lines = {name: line for name, line in lines.items() if line}
        if lines:
            yield FileUse(other, list(lines), file_line(other, min(lines.values())))


def _first_line(other: Document, document: Document, name: str, workspace: Workspace) -> int:
    """Return the first line on which another file uses a definition; 0 for none."""
    for occurrence in occurrences_in(other, name.encode(), workspace)[:MAX_OCCURRENCES]:
        answers = resolve_by_rules(other, occurrence, workspace)
        if answers and answers[0].document == document:
            return line_of(other.text, occurrence.start)
    return 0
