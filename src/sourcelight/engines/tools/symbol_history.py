"""`symbol_history`: the changes of one definition, followed by its name through files and renames.

``git log -L`` follows line numbers: it loses a function that moves to another file, and goes on in lines that only
stand where the function was put. Here a commit counts when the text of the definition differs before and after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ToolError
from sourcelight.core.markup.counts import list_names
from sourcelight.core.query.languages import language_of
from sourcelight.core.tools.evolution import SYMBOL_HISTORY, SymbolHistoryArguments
from sourcelight.engines.history import History
from sourcelight.engines.history.model import NO_BLOB
from sourcelight.engines.symbols import LANGUAGES
from sourcelight.engines.tools.context import ToolContext, clean_path
from sourcelight.engines.tools.definition_texts import DefinitionText, definition_texts, is_named, likeness, plain_name
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.histories import OpenedHistory, open_history
from sourcelight.engines.tools.history.path_history import commit_columns
from sourcelight.engines.tools.page_items import TableItems
from sourcelight.engines.tools.row_texts import TEXTS
from sourcelight.repos import ObjectReader, find_entry

CALL = "symbol_history"
MIN_LIKENESS = 50
"""Percent of lines that a definition shares with the one that it was: git's own threshold of renames."""

MAX_FILES_READ = 20_000
"""Files of a commit in which a definition without a path is looked for."""

MAX_PARSED = 4_000
"""Contents that one call parses; what is beyond them is not followed, and a notice says so."""

MAX_CANDIDATES = 100
"""Other files of one commit that are parsed for a definition that moved."""

_MAX_BYTES = 1 << 20
_MAX_NAMED = 5
_MAX_TEXTS = 5
_CHECK_EVERY = 2_000
_RENAMED = ord("R")


@dataclass(frozen=True, slots=True)
class _DefinitionVersion:
    """A definition in the commits of one line of history: its file by number of the path, its name, and its text."""

    path: int
    name: str
    kind: str
    text: bytes


@dataclass(slots=True)
class _DefinitionChange:
    """One change of the definition."""

    commit: int
    status: str
    version: _DefinitionVersion
    before: _DefinitionVersion | None
    line: int
    score: int | None = None

    @property
    def lines(self) -> tuple[int, int]:
        """Lines added and removed."""
        return count_lines(b"" if self.before is None else self.before.text, self.version.text)


def count_lines(old: bytes, new: bytes) -> tuple[int, int]:
    """Lines added and removed between two texts, as a diff has them."""
    import pygit2

    patch = pygit2.Patch.create_from(old, new, context_lines=0)
    _, additions, deletions = patch.line_stats
    return int(additions), int(deletions)


@dataclass(slots=True)
class _DefinitionWalk:
    """Follow a definition from a commit to its parents."""

    history: History
    reader: ObjectReader
    cancellation: Cancellation
    rows: list[_DefinitionChange] = field(default_factory=list)
    parsed: int = 0
    _texts: dict[tuple[bytes, str], list[DefinitionText]] = field(default_factory=dict)

    def run(self, tip: int, version: _DefinitionVersion) -> None:
        commits, pending = self.history.commits, {tip: {version}}
        starts, parents = commits.parent_starts, commits.parents
        for commit in range(tip, -1, -1):
            if commit % _CHECK_EVERY == 0:
                self.cancellation.check()
            current = pending.pop(commit, None)
            if current is None:
                continue
            before = {earlier for definition in current for earlier in self._before(commit, definition)}
            for parent in parents[starts[commit] : starts[commit + 1]].tolist():
                if parent >= 0 and before:
                    pending.setdefault(parent, set()).update(before)

    def _before(self, commit: int, definition: _DefinitionVersion) -> list[_DefinitionVersion]:
        """Where the definition was before a commit; nothing where the commit brought it."""
        changes = self.history.changes
        first, end = self.history.commits.change_starts[commit : commit + 2].tolist()
        index = np.flatnonzero(changes.path[first:end] == definition.path)
        if not len(index):
            return [definition]
        change = first + int(index[-1])
        new = self._read(changes.new_blob[change].tobytes())
        if definition.text not in new:
            # A merge after this commit changed the text: it goes on as this commit has it.
            current = self._find(new, definition.path, definition.name)
            if current is None:
                return []
            definition = _DefinitionVersion(definition.path, current.name, current.kind, current.text)
        row = self._change(commit, change, definition, new)
        if row.status != "unchanged":
            self.rows.append(row)
        return [] if row.before is None or self.parsed > MAX_PARSED else [row.before]

    def _change(self, commit: int, change: int, definition: _DefinitionVersion, new: bytes) -> _DefinitionChange:
        """What a commit did to the definition, which the content `new` has after it."""
        changes = self.history.changes
        old_path, is_renamed = int(changes.old_path[change]), changes.status[change] == _RENAMED
        old = self._read(changes.old_blob[change].tobytes())
        line = new.count(b"\n", 0, new.find(definition.text)) + 1
        # A text that occurs as often before is the same one, wherever it stands in the file.
        earlier = None
        is_same = old.count(definition.text) >= new.count(definition.text)
        if is_renamed or not is_same:
            definition = self._renamed_with_its_class(definition, new)
        if not is_same:
            earlier = self._find(old, old_path, definition.name)
            is_same = earlier is not None and earlier.text == definition.text
        if is_same:
            same = _DefinitionVersion(old_path, definition.name, definition.kind, definition.text)
            return _DefinitionChange(commit, "file renamed" if is_renamed else "unchanged", definition, same, line)
        if earlier is not None:
            before = _DefinitionVersion(old_path, earlier.name, earlier.kind, earlier.text)
            if not is_renamed:
                return _DefinitionChange(commit, "modified", definition, before, line)
            # The commit renamed the file and changed the text: a status that says only the latter would hide the move.
            share = likeness(definition.text, before.text)
            return _DefinitionChange(commit, "moved", definition, before, line, share)
        score, origin = self._origin(commit, definition, old, new, old_path)
        if origin is None:
            return _DefinitionChange(commit, "added", definition, None, line)
        return _DefinitionChange(
            commit, "renamed" if origin.path == old_path else "moved", definition, origin, line, score
        )

    def _renamed_with_its_class(self, definition: _DefinitionVersion, new: bytes) -> _DefinitionVersion:
        """Return a definition under the name that the content `new` has for its text.

        A later commit may have renamed the class around it, or what it is in, and left the text as it was.
        """
        if self._find(new, definition.path, definition.name) is not None:
            return definition
        texts = (row for row in self._parse(new, definition.path) if row.text == definition.text)
        match = next((row for row in texts if row.kind == definition.kind), None)
        return definition if match is None else replace(definition, name=match.name)

    def _origin(
        self, commit: int, definition: _DefinitionVersion, old: bytes, new: bytes, old_path: int
    ) -> tuple[int, _DefinitionVersion | None]:
        """The definition that a commit made into this one, and how alike both are."""
        candidates = [
            (old_path, lost_definition)
            for lost_definition in self._lost_definitions(old, new, old_path, definition.path)
            if lost_definition.kind == definition.kind
        ]
        candidates += self._elsewhere(commit, definition)
        scored = [
            (likeness(definition.text, lost_definition.text), path, lost_definition)
            for path, lost_definition in candidates
        ]
        likely = [entry for entry in scored if entry[0] >= MIN_LIKENESS]
        if not likely:
            return 0, None
        # The most alike; of equals, the one with the same name, then the first path.
        score, path, best = max(likely, key=lambda entry: (entry[0], entry[2].name == definition.name, -entry[1]))
        return score, _DefinitionVersion(path, best.name, best.kind, best.text)

    def _lost_definitions(self, old: bytes, new: bytes, old_path: int, path: int) -> list[DefinitionText]:
        """Definitions that a file had and has no more."""
        remaining = {definition.name for definition in self._parse(new, path)}
        return [definition for definition in self._parse(old, old_path) if definition.name not in remaining]

    def _elsewhere(self, commit: int, definition: _DefinitionVersion) -> list[tuple[int, DefinitionText]]:
        """Definitions of the same name that other files lost in the commit."""
        changes = self.history.changes
        first, end = self.history.commits.change_starts[commit : commit + 2].tolist()
        own_name = definition.name.rpartition(".")[2]
        word = own_name.encode("utf-8", "surrogateescape")
        candidates: list[tuple[int, DefinitionText]] = []
        parsed = 0
        for change in range(first, end):
            path, blob = int(changes.old_path[change]), changes.old_blob[change].tobytes()
            if changes.path[change] == definition.path or blob == NO_BLOB or parsed >= MAX_CANDIDATES:
                continue
            old = self._read(blob)
            if word not in old:
                continue
            parsed += 1
            new = self._read(changes.new_blob[change].tobytes())
            lost_definitions = self._lost_definitions(old, new, path, int(changes.path[change]))
            candidates += [(path, candidate) for candidate in lost_definitions if candidate.own_name == own_name]
        return candidates

    def _find(self, data: bytes, path: int, name: str) -> DefinitionText | None:
        return next((candidate for candidate in self._parse(data, path) if candidate.name == name), None)

    def _parse(self, data: bytes, path: int) -> list[DefinitionText]:
        language = language_of(self.history.paths.text(path))
        if language not in LANGUAGES or not data:
            return []
        key = data, language
        if key not in self._texts:
            self.cancellation.check()
            if len(self._texts) >= _MAX_TEXTS:
                self._texts.pop(next(iter(self._texts)))
            self.parsed += 1
            self._texts[key] = list(definition_texts(language, data))
        return self._texts[key]

    def _read(self, blob: bytes) -> bytes:
        return (self.reader.read(blob, _MAX_BYTES) or b"") if blob != NO_BLOB else b""


def _symbol_history(arguments: SymbolHistoryArguments, context: ToolContext) -> ToolResult:
    revision, name = arguments.revision or "", plain_name(arguments.symbol)
    if not name or "\n" in name:
        raise ToolError(f"{CALL}: {arguments.symbol!r} is not the name of a definition", tool=CALL, argument="symbol")
    histories = open_history(CALL, context, arguments.repo, revision)
    attributes: dict[str, Any] = {"repository": arguments.repo.strip("/"), "symbol": name, "total": 0}
    if not histories.selections:
        empty = tables.table("symbol_history", {}, 0)
        return ToolResult("symbol_history", empty, attributes, histories.complete, tuple(histories.notices))
    (snapshot,) = histories.selections
    history, notices, is_complete = snapshot.history, histories.notices, histories.complete
    with ObjectReader(snapshot.repository) as reader:
        path, definition = _definition_of(name, arguments, snapshot, reader, context)
        walk = _DefinitionWalk(history, reader, context.cancellation)
        tip, number = history.position(snapshot.commits[0]), history.paths.numbers.get(path)
        if tip is not None and number is not None:
            walk.run(tip, _DefinitionVersion(number, definition.name, definition.kind, definition.text))
    # Two lines of history can lead to one commit with texts of the definition that differ: merges changed one of them.
    distinct = {(row.commit, row.version.path, row.version.name): row for row in walk.rows}
    rows = sorted(distinct.values(), key=lambda row: (-int(history.commits.commit_time[row.commit]), -row.commit))
    total = len(rows)
    if walk.parsed > MAX_PARSED:
        notices.append(f"The definition changed too often to follow it further: {MAX_PARSED:,} contents were parsed.")
        is_complete = False
    if arguments.limit is not None and total > arguments.limit:
        rows = rows[: arguments.limit]
        notices.append(f"The newest {arguments.limit:,} of {total:,} changes are shown.")
        is_complete = False
    notices.append("Merges change no definition, and copies are not followed.")
    shown_path = path.decode("utf-8", "replace")
    attributes |= {"commit": snapshot.commits[0], "symbol": definition.name, "kind": definition.kind,
              "path": shown_path, "line_number": definition.begin_line, "total": total}  # fmt: skip
    return ToolResult("symbol_history", _table(snapshot, rows), attributes, is_complete, tuple(notices))


def _definition_of(
    name: str, arguments: SymbolHistoryArguments, snapshot: OpenedHistory, reader: ObjectReader, context: ToolContext
) -> tuple[bytes, DefinitionText]:
    """Find the one definition that a call names, and its file; raises `ToolError` for none and for several."""
    candidates = [
        (path, candidate)
        for path, data in _contents(name, arguments, snapshot, reader, context)
        for candidate in definition_texts(language_of(path.decode("utf-8", "replace")), data)
        if is_named(candidate, name)
    ]
    # One that bears the whole name as it is comes before those where it is the end of a longer one.
    candidates = [version for version in candidates if version[1].name == name] or candidates
    scope = arguments.path or snapshot.name
    if not candidates:
        raise ToolError(f"{CALL}: {scope} has no definition of {name!r}", tool=CALL, argument="symbol")
    if len(candidates) > 1:
        candidate_texts = [
            f"{path.decode('utf-8', 'replace')}:{candidate.begin_line} {candidate.name}"
            for path, candidate in candidates
        ]
        message = (
            f"{CALL}: {scope} has {len(candidates):,} definitions of {name!r}: "
            f"{list_names(candidate_texts, _MAX_NAMED)}; "
            "give the path or more of the name"
        )
        raise ToolError(message, tool=CALL, argument="symbol")
    return candidates[0]


def _contents(
    name: str, arguments: SymbolHistoryArguments, snapshot: OpenedHistory, reader: ObjectReader, context: ToolContext
) -> list[tuple[bytes, bytes]]:
    """Paths and contents of the files that may have the definition."""
    word = name.rpartition(".")[2].encode("utf-8", "surrogateescape")
    commit = snapshot.commits[0]
    if arguments.path is not None:
        path = clean_path(arguments.path)
        entry = find_entry(reader, commit, path, arguments.revision or "")
        if entry.kind != "file":
            raise ToolError(f"{CALL}: {path} is a {entry.kind}; pass a file", tool=CALL, argument="path")
        return [(path.encode("utf-8", "surrogateescape"), reader.read(entry.object_id, _MAX_BYTES) or b"")]
    tree = reader.tree(commit)
    files = [
        position
        for position, path in enumerate(tree.paths)
        if language_of(path.decode("utf-8", "replace")) in LANGUAGES
    ]
    if len(files) > MAX_FILES_READ:
        raise ToolError(
            f"{CALL}: {snapshot.name} has {len(files):,} files that may have {name!r}; give the path",
            tool=CALL,
            argument="path",
        )
    candidates = []
    for position in files:
        context.cancellation.check()
        data = reader.read(tree.blob_id(position), _MAX_BYTES)
        if data is not None and word in data:
            candidates.append((tree.paths[position], data))
    return candidates


def _table(snapshot: OpenedHistory, rows: list[_DefinitionChange]) -> Any:
    text = snapshot.history.paths.text
    lines = [row.lines for row in rows]
    befores = [row.version if row.before is None else row.before for row in rows]
    values: dict[str, Any] = {
        **commit_columns(snapshot, np.array([row.commit for row in rows], np.int64)),
        "status": [row.status for row in rows],
        "symbol": [row.version.name for row in rows],
        "old_symbol": [before.name for before in befores],
        "path": [text(row.version.path) for row in rows],
        "old_path": [text(before.path) for before in befores],
        "line_number": [row.line for row in rows],
        "end_line": [row.line + max(row.version.text.rstrip(b"\n").count(b"\n"), 0) for row in rows],
        "score": pa.array([row.score for row in rows], pa.int32()),
        "additions": [added for added, _ in lines],
        "deletions": [removed for _, removed in lines],
    }
    return tables.table("symbol_history", values, len(rows))


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(SYMBOL_HISTORY, _symbol_history, TEXTS["symbol_history"], TableItems("changes")),
)
