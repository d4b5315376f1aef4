"""Look up positions, symbols and definitions in SCIP index files.

An index that was imported for the commit is read before one that is in the repository, which anyone may have written
and which is read up to tighter limits. Columns are converted to bytes of the file, by the unit that the index declares
or its indexer is known for. Entries that don't fit the commit are counted and left out, and a definition counts only if
the text there is the name: the rules of the language answer for the rest.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.model import ResolvedDefinition
from sourcelight.engines.navigation.scip import decode
from sourcelight.repos import ObjectReader
from sourcelight.repos.private_files import make_private_folder

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Document, Occurrence, Project
    from sourcelight.engines.navigation.workspace import Workspace


NAMES = (b"index.scip", b".scip/index.scip", b"dump.scip")
"""Paths of index files in a repository."""

MAX_IMPORTED_BYTES = 256 * 1024 * 1024
"""Maximum bytes of an imported index file."""

MAX_COMMITTED_BYTES = 32 << 20
"""Bytes of an index in a repository that is read: anyone may commit one."""

MAX_COMMITTED_OCCURRENCES = 500_000
"""Limits of an index file in the repository itself: git compresses it well, but in memory it takes far more."""

FOLDER = "scip"

_UTF16_BY_DEFAULT = frozenset({"Python", "TypeScript", "TSX", "JavaScript"})
"""Languages whose indexers count columns in UTF-16 units without declaring it; the others count bytes."""

_REASON = "index file of the compiler"


@dataclass(frozen=True, slots=True)
class ScipPosition:
    """An occurrence in a file of the project, as bytes."""

    start: int
    end: int
    symbol: str
    is_definition: bool


@dataclass(slots=True)
class ScipIndex:
    """The positions and symbols of one project in an index file.

    `left_out` counts unusable entries: files that the commit doesn't have, and positions beyond their text.
    """

    positions: dict[bytes, dict[int, ScipPosition]] = field(default_factory=dict)
    definitions: Mapping[str, list[tuple[bytes, ScipPosition]]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, project: Project, data: bytes, limit: int | None = None) -> ScipIndex:
        """Read an index file for a project, of at most `limit` occurrences; raises `ScipError`."""
        index = cls()
        definitions: dict[str, list[tuple[bytes, ScipPosition]]] = defaultdict(list)
        counts: dict[str, int] = defaultdict(int)
        total = 0
        for scip_document in decode.read_documents(data):
            path = scip_document.path.encode().replace(b"\\", b"/").removeprefix(b"./")
            document = project.document(path)
            if document is None:
                counts["files"] += 1
                continue

            positions = index.positions.setdefault(path, {})
            total += len(scip_document.occurrences)
            if limit is not None and total > limit:
                raise decode.ScipError(
                    f"it has more than {limit:,} occurrences; import it for this machine to have it read"
                )

            for position in _positions_of(scip_document, document.text, document.language):
                if position is None:
                    counts["places"] += 1
                    continue
                positions[position.start] = position
                if position.is_definition:
                    definitions[index.key(path, position)].append((path, position))

        if not index.positions:
            raise decode.ScipError("none of its files is in the repository at this commit")

        index.definitions, index.left_out = dict(definitions), dict(counts)
        return index

    def occurrence_at(self, path: bytes, offset: int) -> ScipPosition | None:
        """Return the occurrence that begins at a byte offset."""
        return self.positions.get(path, {}).get(offset)

    def definitions_of(self, path: bytes, position: ScipPosition) -> list[tuple[bytes, ScipPosition]]:
        """Return where the symbol of an occurrence is defined."""
        return self.definitions.get(self.key(path, position), [])

    @staticmethod
    def key(path: bytes, position: ScipPosition) -> str:
        """Return the key of a symbol in the whole index."""
        # Two documents may use the same name for different local symbols, so the path is part of the key.
        if position.symbol.startswith("local "):
            return f"{position.symbol} {path.decode(errors='replace')}"
        return position.symbol


def _positions_of(scip_document: decode.ScipDocument, text: bytes, language: str) -> Iterable[ScipPosition | None]:
    lines = text.split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    wide = (
        scip_document.encoding not in {decode.UTF8, decode.UTF32}
        if scip_document.encoding
        else language in _UTF16_BY_DEFAULT
    )
    for occurrence in scip_document.occurrences:
        # A name never spans lines, and a line beyond the text can't be of this version of the file.
        if occurrence.start_line != occurrence.end_line or occurrence.start_line >= len(lines):
            yield None
            continue

        line = lines[occurrence.start_line]
        columns = (occurrence.start_column, occurrence.end_column)
        if not line.isascii() and (wide or scip_document.encoding == decode.UTF32):
            start, end = (_byte_column(line, column, wide=wide) for column in columns)
        else:
            start, end = columns

        if end > len(line) or start > end:
            yield None
            continue

        base = starts[occurrence.start_line]
        yield ScipPosition(
            start=base + start, end=base + end, symbol=occurrence.symbol, is_definition=occurrence.is_definition
        )


def _byte_column(line: bytes, column: int, *, wide: bool) -> int:
    text = line.decode(errors="replace")
    if not wide:
        return len(text[:column].encode())
    # A column inside a surrogate pair is an error of the indexer; `ignore` drops the half.
    return len(text.encode("utf-16-le")[: 2 * column].decode("utf-16-le", errors="ignore").encode())


def installed_path(store_folder: Path, key: str, commit: str) -> Path:
    """Return the path of the imported index file of a commit."""
    return store_folder / key / FOLDER / f"{commit}.scip"


def keep(project: Project, file: str | Path, store_folder: Path) -> ScipIndex:
    """Check an index file against a project and keep it for that commit.

    Raises
    ------
    ScipError
        For a file that isn't an index, or belongs to another repository.
    OSError
        When it can't be read or kept.
    """
    source = Path(file)
    if source.stat().st_size > MAX_IMPORTED_BYTES:
        raise decode.ScipError(f"it has {source.stat().st_size:,} bytes; at most {MAX_IMPORTED_BYTES:,} are read")

    data = source.read_bytes()
    index = ScipIndex.read(project, data)
    target = installed_path(store_folder, project.key, project.commit)
    make_private_folder(target.parent)

    # Others read the file without a lock, and may import one at the same time. A rename replaces it at once, so they
    # never read half of it. `mkstemp` chooses a unique name, and lets only this user read the file.
    handle, name = tempfile.mkstemp(prefix=f"{target.stem}-", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file_object:
            file_object.write(data)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

    return index


def index_of(project: Project, workspace: Workspace) -> ScipIndex | None:
    """Return the index file of a project: the one handed over for its commit, else the one in its files; read once.

    If the file can't be read, only the rules answer, with a notice.
    """
    index: ScipIndex | str | None = project.remember("scip", lambda: _read(project, workspace))
    if isinstance(index, str):
        workspace.notice("scip", index)
        return None

    if index is not None and index.left_out:
        parts = [f"{count:,} {subject}" for subject, count in sorted(index.left_out.items())]
        workspace.notice("scip", f"The SCIP index of {project.name} fits this commit except for {' and '.join(parts)}.")

    return index


def _read(project: Project, workspace: Workspace) -> ScipIndex | str | None:
    imported_file = installed_path(workspace.navigator.store.folder, project.key, project.commit)
    try:
        data = imported_file.read_bytes()
        name = imported_file.name
        limit = None
    except OSError:
        document = project.first(NAMES)
        if document is None:
            return None

        name = document.shown_path
        with ObjectReader(project.target.repository) as reader:
            size = reader.size(document.blob_id) or 0
            blob = reader.read(document.blob_id, MAX_COMMITTED_BYTES) if size <= MAX_COMMITTED_BYTES else None

        if blob is None:
            return f"The SCIP index {name} of {project.name} is missing or larger than {MAX_COMMITTED_BYTES:,} bytes."

        data, limit = blob, MAX_COMMITTED_OCCURRENCES

    try:
        return ScipIndex.read(project, data, limit)
    except decode.ScipError as error:
        return f"The SCIP index {name} of {project.name} can't be used: {error}."


def precise_definitions(
    document: Document, occurrence: Occurrence, workspace: Workspace
) -> Sequence[ResolvedDefinition]:
    """Return the definitions that an index file has for an occurrence; nothing without one.

    An answer counts only if the text at the definition is the symbol's name or the used name: scip-python gives a
    name that a package re-exports the symbol of another one.
    """
    index = index_of(document.project, workspace)
    position = index.occurrence_at(document.path, occurrence.start) if index is not None else None
    if index is None or position is None:
        return []

    occurrence_text = document.text[occurrence.start : occurrence.end]
    symbol_name = decode.last_descriptor(position.symbol).encode()
    definitions = []
    for path, defined in index.definitions_of(document.path, position):
        target = document.project.document(path)
        if target is None:
            continue

        text = target.text[defined.start : defined.end]
        if not text:
            start, end, kind = 0, 0, "module"
        elif text == occurrence_text and (
            not symbol_name or symbol_name in {text, b"__init__"} or position.symbol.startswith("local ")
        ):
            start, end, kind = defined.start, defined.end, _kind(position.symbol)
        else:
            continue

        definitions.append(
            ResolvedDefinition(document=target, start=start, end=end, kind=kind, rule="scip", score=1.0, reason=_REASON)
        )

    return definitions


def _kind(symbol: str) -> str:
    if symbol.startswith("local "):
        return "variable"
    for ending, kind in (("().", "function"), ("#", "class"), ("/", "module"), (")", "parameter"), (":", "module")):
        if symbol.endswith(ending):
            return kind
    return "variable"


def precise_symbols_at(
    document: Document, definitions: Sequence[ResolvedDefinition], name: bytes, workspace: Workspace
) -> Mapping[int, bool] | None:
    """Return, for each occurrence that an index file knows in a document, whether it means one of the definitions."""
    index = index_of(document.project, workspace)
    if index is None or document.path not in index.positions:
        return None

    symbols = set()
    for definition in definitions:
        if definition.document.project is document.project:
            position = index.occurrence_at(definition.document.path, definition.start)
            if position is not None and definition.document.text[position.start : position.end] == name:
                symbols.add(index.key(definition.document.path, position))

    if not symbols:
        return None

    return {
        start: index.key(document.path, position) in symbols
        for start, position in index.positions[document.path].items()
    }
