"""Check citations against git: repository, commit, path, lines, and the quoted text itself."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from sourcelight.core.batches import CommitId
from sourcelight.core.caching import LruCache
from sourcelight.core.cells.json_lines import SourceLines, cell_language, cell_location, source_lines
from sourcelight.core.errors import SourcelightError
from sourcelight.engines.deepsearch.evidence.model import MAX_LINES, CommitEvidence, Evidence, FileEvidence
from sourcelight.engines.deepsearch.evidence.pins import Pins
from sourcelight.engines.deepsearch.evidence.quotes import lines_of
from sourcelight.engines.tools.line_ranges import find_lines, normalize_lines
from sourcelight.repos import Catalog, ObjectReader, Repository, Viewer, find_entry, is_ancestor

if TYPE_CHECKING:
    from sourcelight.engines.tools import ToolContext

_MAX_FILES = 64
_MAX_FILE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Citation:
    """Evidence as an answer cites it.

    Attributes
    ----------
    evidence
        The evidence; if it moved, with the lines where the text was found.
    status
        ``verified``, ``moved`` (the text is on other lines of the same file, which are cited now) or ``rejected``.
    reason
        Reason why it was moved or rejected; else empty.
    """

    evidence: Evidence
    status: str
    reason: str = ""

    @property
    def accepted(self) -> bool:
        """Whether an answer may show it."""
        return self.status != "rejected"

    @property
    def quote_sha256(self) -> str:
        """The hash of the quoted text, so that it can be checked later without storing it."""
        return hashlib.sha256(self.evidence.text.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True)
class _FileLines:
    """The lines of a file; for a notebook, with their cells and the languages of the cells."""

    lines: list[str]
    sources: SourceLines | None

    def with_cells(self, item: FileEvidence) -> FileEvidence:
        """Return evidence with the cells of the notebook that it is in."""
        if self.sources is None:
            return item
        cells = cell_location(self.sources, item.begin_line, item.end_line)
        return replace(item, cells=cells, language=cell_language(self.sources, item.begin_line, item.end_line))


@dataclass(slots=True)
class CitationChecker:
    """Checks citations for one question and one viewer, reading git and not the index.

    Parameters
    ----------
    catalog, viewer
        The catalog, and the viewer: a repository that the viewer may not see counts as absent.
    pins
        Commits whose files may be cited. Their ancestors may be cited as commits.
    """

    catalog: Catalog
    viewer: Viewer
    pins: Pins
    _readers: dict[str, ObjectReader] = field(default_factory=dict)
    _files: LruCache[tuple[str, str, str], _FileLines | None] = field(default_factory=lambda: LruCache(_MAX_FILES))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._readers.values():
            reader.close()

    def check(self, item: Evidence) -> Citation:
        """Check one piece of evidence."""
        repository = self._repository(item.repository)
        if repository is None:
            return Citation(item, "rejected", "the repository is not in the scope of the question")
        if isinstance(item, CommitEvidence):
            return self._commit(repository, item)
        return self._file(repository, item)

    def _repository(self, name: str) -> Repository | None:
        if not self.pins.of_any(name):
            return None
        visible = self.catalog.visible(self.viewer)
        return next((repository for repository in visible if repository.name == name), None)

    def _commit(self, repository: Repository, item: CommitEvidence) -> Citation:
        tips = [target.commit for target in self.pins.of_any(repository.name)]
        if any(is_ancestor(repository, CommitId(item.commit), tip) for tip in tips):
            return Citation(item, "verified")
        return Citation(item, "rejected", "the commit is not an ancestor of the pinned commit")

    def _file(self, repository: Repository, item: FileEvidence) -> Citation:
        if self.pins.of(item.repository, item.commit) is None:
            return Citation(item, "rejected", "the commit is not the pinned commit")

        data = self._data(repository, CommitId(item.commit), item.path)
        if data is None:
            return Citation(item, "rejected", "the pinned commit has no such file")

        lines = data.lines
        quoted = normalize_lines(item.text.split("\n"))
        is_inside = 1 <= item.begin_line <= item.end_line <= len(lines)
        if is_inside and item.end_line - item.begin_line < MAX_LINES:
            # A source in one string is one line of the file, and several lines of text.
            if normalize_lines("\n".join(lines[item.begin_line - 1 : item.end_line]).split("\n")) == quoted:
                return Citation(data.with_cells(item), "verified")
        elif item.end_line - item.begin_line >= MAX_LINES:
            return Citation(item, "rejected", f"it has more than {MAX_LINES} lines")

        positions = find_lines(lines, quoted)
        # The text moved: accepted only where it occurs once, since otherwise the place meant is unknown.
        if len(positions) == 1 and any(quoted):
            moved = replace(item, begin_line=positions[0] + 1, end_line=positions[0] + len(quoted))
            return Citation(
                data.with_cells(moved), "moved", f"the text is on lines {moved.begin_line} to {moved.end_line}"
            )

        return Citation(item, "rejected", "the file has no such text")

    def _data(self, repository: Repository, commit: CommitId, path: str) -> _FileLines | None:
        return self._files.get_or_make((repository.key, commit, path), lambda: self._read(repository, commit, path))

    def _read(self, repository: Repository, commit: CommitId, path: str) -> _FileLines | None:
        reader = self._readers.setdefault(repository.key, ObjectReader(repository))
        data = read_path(reader, commit, path)
        return None if data is None else _FileLines(lines_of(path, data), source_lines(path, data))


def check_citations(items: Sequence[Evidence], pins: Pins, context: ToolContext) -> list[Citation]:
    """Check evidence on behalf of a viewer."""
    from sourcelight.engines.deepsearch.evidence.pins import StepRequest, run_step

    if not items:
        return []

    result = run_step("check", StepRequest.from_pins(pins, items=tuple(items)), context)
    if result is not None:
        citations: list[Citation] = result.value
        return citations

    with CitationChecker(context.engine.catalog, context.viewer, pins) as checker:
        return [checker.check(item) for item in items]


def read_path(reader: ObjectReader, commit: CommitId, path: str) -> bytes | None:
    """Read a file of a commit from git; None if it doesn't exist or can't be read."""
    try:
        entry = find_entry(reader, commit, path)
        if entry.kind != "file":
            return None
        if entry.object_id:
            return reader.read(entry.object_id, _MAX_FILE_BYTES)
        tree = reader.tree(commit)
        return reader.read(tree.blob_id(tree.paths.index(path.encode())), _MAX_FILE_BYTES)
    except (SourcelightError, ValueError):
        return None
