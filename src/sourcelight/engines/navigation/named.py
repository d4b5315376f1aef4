"""Definitions by name, and the files that contain a name.

Both come from the index: definitions from its tables or, while they are built, from candidate files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sourcelight.core.boolean import And
from sourcelight.core.cancellation import ScanStopped
from sourcelight.core.errors import SourcelightError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.patterns.compiled import compile_pattern
from sourcelight.engines.navigation.model import DeclarationKey, Document, Occurrence
from sourcelight.engines.navigation.nodes import text_of
from sourcelight.engines.navigation.parsed_file import ParsedFile, is_time_spent
from sourcelight.engines.search.model import FileTerm, TextQuery, prepare
from sourcelight.engines.search.scan.batches import BatchSizer
from sourcelight.engines.search.scan.evaluate import CorpusSearch
from sourcelight.engines.symbols import CELL_FORMATS, KINDS, Definition, Import, SymbolTable, definitions, imports

if TYPE_CHECKING:
    from tree_sitter import Node

    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace

MAX_PARSED_FILES = 60
"""Maximum candidate files to parse while a repository has no definition table."""

_VARIABLES = frozenset({"variable", "constant", "field", "property"})
"""Kinds of definitions that hold a value."""

_METHODS = frozenset({"method", "constructor", "field", "property", "enummember"})
"""Kinds of definitions that are members of another one."""

_SEPARATOR = re.compile(r"::|[./\\]")
"""Between the parts of a module's name: ``requests.adapters``, ``tokio::time``, ``lib/url.h``."""


def files_with(project: Project, word: bytes, workspace: Workspace, *also: bytes) -> Iterator[Document]:
    """Return the files that contain a text (and all of `also`), as the index finds them; exact case."""
    if project.snapshot is None:
        workspace.notice("not-indexed", f"{project.name} has no index, so its files can't be searched.")
        return

    atoms = tuple(
        FileTerm(compile_pattern(text.decode(errors="replace"), kind="literal", case_sensitive=True), path=False)
        for text in (word, *also)
    )
    query = TextQuery(atoms[0] if len(atoms) == 1 else And(atoms))
    corpus = workspace.navigator.store.corpus((project.snapshot,))
    search = CorpusSearch(corpus, prepare(query), lambda: workspace.budget.cancellation.stopped)
    try:
        for batch in search.file_matches(BatchSizer()):
            for number in batch.content_files.tolist():
                yield project.document_at(number)
    except ScanStopped:
        workspace.budget.check()


def contains(project: Project, word: bytes, workspace: Workspace, *also: bytes) -> bool:
    """Return whether any file contains these texts."""
    return next(files_with(project, word, workspace, *also), None) is not None


def word_offsets(text: bytes, name: bytes) -> Iterator[int]:
    """Yield the offsets of a name as a whole word; letters beyond ASCII are part of words."""
    before = rb"(?<![\w\x80-\xff])" if name[:1].isalnum() or name[:1] == b"_" else b""
    after = rb"(?![\w\x80-\xff])" if name[-1:].isalnum() or name[-1:] == b"_" else b""
    return (match.start() for match in re.finditer(before + re.escape(name) + after, text))


def plain_occurrences(text: bytes, name: bytes) -> Iterator[Occurrence]:
    """Yield the uses of a name in a file without a resolver: whole words, attributes after a dot.

    A hostile file can hold a name a million times, so a caller that needs the first one takes only that.
    """
    for start in word_offsets(text, name):
        end = start + len(name)
        head = text[max(0, start - 2) : start]
        is_member = head.endswith((b".", b"->", b"::"))
        is_called = text[end : end + 1] == b"("
        yield Occurrence(start, end, "attribute" if is_member else "name", is_called=is_called)


def code_occurrences(parsed: ParsedFile, language: str, name: bytes) -> Iterator[Occurrence]:
    """Yield the uses of a name in a file that only a grammar reads: words of comments and texts are none.

    A text that is the name alone is one, as PHP and Ruby call functions by such texts.
    """
    for occurrence in plain_occurrences(parsed.text, name):
        node = parsed.root.descendant_for_byte_range(occurrence.start, occurrence.end - 1)
        if node is not None and _is_code(node, language, name):
            yield occurrence


def _is_code(node: Node, language: str, name: bytes) -> bool:
    """Return whether the smallest node around a word uses it as a name."""
    if "comment" in node.type:
        return False

    # `trap 'clean_up; exit' EXIT` runs a text.
    is_text = "string" in node.type or "heredoc" in node.type
    if is_text and language == "Shell":
        return True

    # Where the grammar lost its way, a word may be code.
    if node.child_count:
        return not is_text

    # Ruby writes `:name`, Kotlin `` `name` ``, PHP 'Package\name'. In Ruby, `@name` isn't the method `name`.
    return text_of(node).rpartition(b"\\")[2].strip(b":`") == name


@dataclass(frozen=True, slots=True)
class NamedDefinition:
    """A definition of a name; lines are 1-based, `container` is the name of the class or module around it, or empty."""

    document: Document
    start: int
    end: int
    kind: str
    container: str
    line: int
    begin_line: int
    end_line: int
    declaration: bool = False

    @property
    def key(self) -> DeclarationKey:
        """The file, and the offset of the name: the same for one definition in all answers."""
        return self.document.key, self.start

    @property
    def is_member(self) -> bool:
        """Whether it is a part of a class or the like."""
        return self.kind in _METHODS

    @property
    def is_variable(self) -> bool:
        """Whether it holds a value, rather than being code or a type."""
        return self.kind in _VARIABLES


def tables_of(project: Project, workspace: Workspace) -> Sequence[SymbolTable | None]:
    """Return the definition tables of a project, one per shard, or None for a table that isn't built yet."""
    if project.snapshot is None:
        return [None]
    try:
        return workspace.navigator.store.open_symbols(project.target)[2]
    except (SourcelightError, OSError):
        return [None]


def definitions_named(project: Project, name: bytes, workspace: Workspace) -> list[NamedDefinition]:
    """Return all definitions of a name in a project, in order of paths.

    Where the tables are not complete yet, up to `MAX_PARSED_FILES` files that hold the name are parsed instead, and the
    workspace notes it.
    """
    tables = tables_of(project, workspace)
    if any(table is None for table in tables):
        workspace.notice("symbols-pending", f"The definition tables of {project.name} are not complete yet.")
        return list(_parse_candidates(project, name, workspace))

    definitions: list[NamedDefinition] = []
    for shard, table in enumerate(tables):
        if table is not None:
            definitions += _table_definitions(project, shard, table, name)

    return sorted(definitions, key=lambda definition: (definition.document.number, definition.start))


def _table_definitions(project: Project, shard: int, table: SymbolTable, name: bytes) -> Iterator[NamedDefinition]:
    snapshot = project.snapshot
    rows = table.rows_of(name)
    if snapshot is None or not len(rows):
        return

    placement = snapshot.placement(shard)
    documents = table.documents_of(rows)
    containers = table.texts(table.container[rows])
    notebooks: dict[int, Document] = {}
    for row, document, container in zip(rows.tolist(), documents.tolist(), containers, strict=True):
        start_row, end_row = placement.first_file[document : document + 2]
        start = int(table.offset[row])
        for number in placement.files[int(start_row) : int(end_row)].tolist():
            if table.language(document) in CELL_FORMATS:
                # The table has offsets in the notebook file, navigation needs offsets in the code of its cells.
                notebooks[number] = project.document_at(number)
                continue

            yield NamedDefinition(
                document=project.document_at(number),
                start=start,
                end=start + len(name),
                kind=KINDS[int(table.kind[row])],
                container=container.decode(errors="replace"),
                line=int(table.line[row]),
                begin_line=int(table.begin_line[row]),
                end_line=int(table.end_line[row]),
                declaration=bool(table.flags[row]),
            )

    for notebook in notebooks.values():
        yield from _in_notebook(notebook, name)


def _in_notebook(document: Document, name: bytes) -> Iterator[NamedDefinition]:
    code = document.code
    if code is None:
        return

    for definition in code.definitions.definitions():
        if definition.name.encode() == name:
            yield to_named_definition(document, definition)


def _parse_candidates(project: Project, name: bytes, workspace: Workspace) -> Iterator[NamedDefinition]:
    for number, document in enumerate(files_with(project, name, workspace)):
        # At least one file is parsed, even without time left: an answer from one file is better than none.
        if number >= MAX_PARSED_FILES or (number and is_time_spent()):
            files = count_of(number, "file")
            workspace.notice("candidates", f"Only the first {files} of {project.name} with the name were parsed.")
            return
        workspace.budget.check()
        for definition in outline_of(document, workspace):
            if definition.name.encode() == name:
                yield to_named_definition(document, definition)


def to_named_definition(document: Document, definition: Definition) -> NamedDefinition:
    """Return a definition of a file with the file."""
    return NamedDefinition(
        document=document,
        start=definition.offset,
        end=definition.offset + len(definition.name.encode()),
        kind=definition.kind,
        container=definition.container,
        line=definition.line,
        begin_line=definition.begin_line,
        end_line=definition.end_line,
        declaration=definition.declaration,
    )


def outline_of(document: Document, workspace: Workspace) -> list[Definition]:
    """Return the definitions in one file, from its table or by parsing it; positions refer to `Document.text`."""
    if document.has_cells:
        workspace.note_unreadable(document)
        code = document.code
        return [] if code is None else list(code.definitions.definitions())

    entry = _table_entry(document, workspace)
    if entry is None:
        return list(definitions(document.language, document.text).definitions())
    return list(entry.table.definitions(entry.document).definitions())


def imports_of(document: Document, workspace: Workspace) -> list[Import]:
    """Return the imports of a file, from its table or by parsing it; lines refer to `Document.text`."""
    if document.has_cells:
        code = document.code
        return [] if code is None else code.definitions.imports

    entry = _table_entry(document, workspace)
    if entry is None:
        return imports(document.language, document.text)
    return entry.table.imports(entry.document)


class _TableEntry(NamedTuple):
    """A table of definitions, and the number of a document in it."""

    table: SymbolTable
    document: int


def _table_entry(document: Document, workspace: Workspace) -> _TableEntry | None:
    """Return the entry of a file in its table, or None while there is none."""
    snapshot = document.project.snapshot
    if snapshot is None or snapshot.view.reason[document.number]:
        return None

    shard = int(snapshot.view.shard[document.number])
    number = int(snapshot.view.document[document.number])
    tables = tables_of(document.project, workspace)
    table = tables[shard] if shard < len(tables) else None
    if table is None or not table.doc_language[number]:
        return None
    return _TableEntry(table, number)


def imported_modules(project: Project, workspace: Workspace) -> frozenset[str] | None:
    """Return the modules that a project imports, as written, or None while its tables are not complete."""
    tables = tables_of(project, workspace)
    complete_tables = [table for table in tables if table is not None]
    shard_count = 1 if project.snapshot is None else len(project.snapshot.shards)
    if len(complete_tables) != shard_count:
        return None

    # The key has the identity of the tables. The value holds the tables themselves, so that no later table can get the
    # same identity.
    key = ("modules", *map(id, complete_tables))
    _, modules = project.remember(key, lambda: (complete_tables, _modules_in(complete_tables)))
    return modules


def _modules_in(tables: Sequence[SymbolTable]) -> frozenset[str]:
    modules: set[str] = set()
    for table in tables:
        modules.update(table.imported_modules())
    return frozenset(modules)


def enclosing_definitions(
    document: Document, offsets: Sequence[int], workspace: Workspace
) -> list[NamedDefinition | None]:
    """Return the smallest function, class or the like around each offset; None at the top of the file."""
    outline = [definition for definition in outline_of(document, workspace) if definition.kind not in _VARIABLES]
    text = document.text
    newlines = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
    lines = np.searchsorted(newlines, np.array(offsets, dtype=np.int64)) + 1

    # Smallest first: then the first definition around an offset is the innermost one.
    outline.sort(key=lambda definition: (definition.end_line - definition.begin_line, -definition.offset))
    start_lines = np.array([definition.begin_line for definition in outline])
    end_lines = np.array([definition.end_line for definition in outline])
    name_offsets = np.array([definition.offset for definition in outline])
    smallest: list[NamedDefinition | None] = []
    for line, offset in zip(lines.tolist(), offsets, strict=True):
        # A definition doesn't enclose its own name.
        encloses = np.flatnonzero((start_lines <= line) & (line <= end_lines) & (name_offsets != offset))
        smallest.append(to_named_definition(document, outline[int(encloses[0])]) if len(encloses) else None)

    return smallest


def module_prefixes(module: str) -> Iterator[str]:
    """Return the names of a module and of all packages around it."""
    yield module
    for end in _SEPARATOR.finditer(module):
        yield module[: end.start()]
