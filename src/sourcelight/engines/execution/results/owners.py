"""``select:file.owners``: converts files to their owners, as the lines of CODEOWNERS that name them.

The stream has six kinds of matches, and none is an owner (streaming search API, match object). So a match is a line of
the CODEOWNERS file, which shows the owner and the rule; each owner in the line is a match in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.batches.schema import LOCATION_COLUMNS, batch_of_rows
from sourcelight.core.errors import PatternError, SourcelightError
from sourcelight.core.query import Predicate
from sourcelight.core.query.languages import language_of
from sourcelight.core.wire.events import Alert
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.protocol import markdown_list
from sourcelight.engines.execution.results.codeowners import PLACES, CodeOwners, Owner, owned_by
from sourcelight.engines.search import Target
from sourcelight.engines.search.scan.chunks import truncate_line

_FILES = frozenset({"content", "path", "symbol"})
"""Types of rows that are of a file."""


@dataclass(frozen=True, slots=True)
class FileOwners:
    """A file of owners: its path, its content and the rules in it."""

    path: str
    content: bytes
    rules: CodeOwners = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", CodeOwners(self.content.decode(errors="replace")))


ReadFile = Callable[[Target, str], bytes | None]
"""Returns a file of a target by its path, None when there is none."""

LacksFile = Callable[[Target, str], bool]
"""Returns whether a target has a file at a path whose content is not there."""


class OwnerPredicate:
    """Reads the CODEOWNERS file of each searched commit once.

    Attributes
    ----------
    unknown
        Searched repositories without a CODEOWNERS file.
    unowned
        Number of matching files without an owner, by repository.
    later
        Repositories with a searched commit that has no CODEOWNERS file yet.
    missing
        Path of the CODEOWNERS file that can't be read, by repository: a partial clone lacks its content, or its rules
        are too complex.
    """

    def __init__(self, read: ReadFile, lacks: LacksFile) -> None:
        self._read = read
        self._lacks = lacks
        self._files_by_key: dict[tuple[str, str, str], FileOwners | None] = {}
        self.unknown: set[str] = set()
        self.unowned: Counter[str] = Counter()
        self.later: set[str] = set()
        self.missing: dict[str, str] = {}

    def of(self, target: Target) -> CodeOwners | None:
        """Return the owners of the target's files, or None when it has no such file."""
        file = self.file_of(target)
        return None if file is None else file.rules

    def file_of(self, target: Target) -> FileOwners | None:
        """Return the target's CODEOWNERS file, or None without one."""
        key = (target.repository.key, target.revision, target.commit)
        if key not in self._files_by_key:
            self._files_by_key[key] = self._load(target)
        name = target.repository.info.name
        if self._files_by_key[key] is None and name not in self.missing:
            self.unknown.add(name)
        return self._files_by_key[key]

    def _load(self, target: Target) -> FileOwners | None:
        path = ""
        try:
            for path in PLACES:
                text = self._read(target, path)
                if text is not None:
                    return FileOwners(path, text)
                # A missing content must not fall through to the next place: that file's rules don't count in a full
                # clone.
                if self._lacks(target, path):
                    self.missing[target.repository.info.name] = path
                    return None
        except PatternError:
            # Not the same as a file without rules: here the owners are unknown.
            self.missing[target.repository.info.name] = path
        except (SourcelightError, OSError):
            pass

        return None

    def filter_rows(self, batch: Any, target: Target, predicates: tuple[Predicate, ...]) -> Any:
        """Filter `batch` to rows whose file passes every ``file:has.owner`` predicate of `predicates`."""
        index = batch.schema.get_field_index("path")
        if index < 0:
            return batch.slice(0, 0)

        rules = self.of(target)
        column = batch.column(index)

        # A row without a path takes the decision of code 0; rows of repositories, which have none, don't come here.
        codes = np.asarray(column.indices.fill_null(0))
        distinct_codes = np.unique(codes)

        # Decided once per distinct path, then spread over the rows by code.
        passes = np.zeros(len(column.dictionary), dtype=np.bool_)
        paths = column.dictionary.take(pa.array(distinct_codes)).to_pylist()
        for code, path in zip(distinct_codes.tolist(), paths, strict=True):
            owners = rules.owners(path) if rules is not None else ()
            passes[code] = _pass_all(owners, predicates)

        return batch.filter(pa.array(passes[codes]))

    def alert(self, searched: int) -> Alert | None:
        """Return the alert for repositories without an owners file; `searched` counts all searched ones."""
        return ownership_alert(searched, unknown=self.unknown, unowned_files=self.unowned.total(), later=self.later)


def _pass_all(owners: tuple[str, ...], predicates: Iterable[Predicate]) -> bool:
    return all(owned_by(owners, predicate.args["owner"]) is not predicate.negated for predicate in predicates)


def ownership_alert(
    searched: int, *, unknown: Collection[str], unowned_files: int, later: Collection[str]
) -> Alert | None:
    """Return the alert about files whose owners are not known, or None if there are none.

    Parameters
    ----------
    searched
        Number of searched repositories.
    unknown
        Those without a CODEOWNERS file.
    unowned_files
        Number of matching files without an owner.
    later
        Those with a searched commit that has no CODEOWNERS file yet.
    """
    sentences = []
    if unknown:
        sentences.append(
            f"{len(unknown):,} of {searched:,} searched repositories have no CODEOWNERS file (in "
            f"{', '.join(PLACES)}), so none of their files has an owner:\n{markdown_list(unknown)}"
        )

    if unowned_files:
        sentences.append(f"No CODEOWNERS rule assigns an owner to {unowned_files:,} of the matching files.")

    if later:
        sentences.append(f"In these repositories some commits have no CODEOWNERS file yet:\n{markdown_list(later)}")

    if not sentences:
        return None

    is_every_repository = bool(unknown) and len(unknown) >= searched
    return Alert(
        title="No ownership data" if is_every_repository else "Some results have no owners",
        description="\n\n".join(sentences),
        kind="warning",
    )


@dataclass(slots=True)
class OwnerSelector:
    """Turns the results of one alternative into owners, each once for a repository and revision.

    Parameters
    ----------
    ownership
        Reads the files of owners, and counts files without one.
    request
        The options for context lines and truncation.
    """

    ownership: OwnerPredicate
    request: SearchRequest
    _yielded: set[tuple[str, str, str]] = field(default_factory=set)
    _seen: set[tuple[str, str, str]] = field(default_factory=set)

    def of(self, batch: Any, target: Target) -> Any | None:
        """Return rows for owners not yielded yet, of the files in `batch`, all of `target`, or None for none."""
        rows = MatchRows(batch)
        owners_file = self.ownership.file_of(target) if rows.first("type") in _FILES else None
        if owners_file is None:
            return None

        key, revision = target.repository.key, target.revision
        new: dict[Owner, None] = {}
        for path in rows.texts("path", [start for start, _ in rows.files()]):
            # The rows of a file may come in several batches, and it must count once in `unowned`.
            if path is None or (key, revision, path) in self._seen:
                continue
            self._seen.add((key, revision, path))
            names = owners_file.rules.owners_of(path)
            self.ownership.unowned[target.repository.info.name] += not names
            for owner in names:
                if (key, revision, owner.name) not in self._yielded:
                    self._yielded.add((key, revision, owner.name))
                    new[owner] = None

        if new:
            return self._batch(batch, owners_file, sorted(new, key=lambda owner: (owner.line, owner.start)))
        return None

    def _batch(self, batch: Any, file: FileOwners, owners: Sequence[Owner]) -> Any:
        """Return the lines of some owners, who are sorted by line, in the repository of `batch`."""
        raw = file.content.split(b"\n")
        offsets = _offsets(raw)
        language = language_of(file.path) or None
        rows: list[dict[str, Any]] = []
        for index, line_owners in groupby(owners, key=lambda owner: owner.line):
            row = {"type": "content", "path": file.path, "language": language, "line_offset": offsets[index]}
            rows.append(row | _line_values(index, raw[index], list(line_owners)))

        if self.request.chunk_matches:
            chunks = self._chunks(raw, [row["line_number"] - 1 for row in rows])
            for row, chunk in zip(rows, chunks, strict=True):
                row.update(chunk.columns(offsets))

        lines = batch_of_rows(rows)
        for name in LOCATION_COLUMNS:
            index = batch.schema.get_field_index(name)
            if index >= 0:
                column = batch.column(index).take(pa.array([0] * len(rows), pa.int32()))
                lines = lines.append_column(batch.schema.field(index), column)

        return lines

    def _chunks(self, raw: Sequence[bytes], lines: Sequence[int]) -> list[_OwnerChunk]:
        """Return the chunk of each line, by index: matched lines with their context; chunks that touch are joined."""
        # Text that ends with a newline splits into an empty last element, which isn't a line.
        has_empty_end = raw[-1] == b"" and len(raw) > 1
        last = len(raw) - (2 if has_empty_end else 1)
        context_lines, max_line_bytes = self.request.context_lines, self.request.max_line_len
        chunks: list[_OwnerChunk] = []
        chunk_of_line = []
        for line in lines:
            start, end = max(line - context_lines, 0), min(line + context_lines, last)
            if chunks and start <= chunks[-1].end + 1:
                chunks[-1].end = end
            else:
                chunks.append(_OwnerChunk(start, end))
            chunk_of_line.append(chunks[-1])

        for chunk in chunks:
            chunk_lines = raw[chunk.start : chunk.end + 1]
            if max_line_bytes > 0:
                chunk.is_truncated = any(len(text) > max_line_bytes for text in chunk_lines)
                chunk_lines = [truncate_line(text, max_line_bytes) for text in chunk_lines]
            chunk.text = b"\n".join(chunk_lines).decode(errors="replace")

        return chunk_of_line


@dataclass(slots=True)
class _OwnerChunk:
    """Lines of a CODEOWNERS file from `start` to `end`, both by index and both included."""

    start: int
    end: int
    text: str = ""
    is_truncated: bool = False

    def columns(self, offsets: Sequence[int]) -> dict[str, Any]:
        """Return the values of the columns of chunks; `offsets` has the first byte of each line of the file."""
        return {
            "chunk": self.text,
            "chunk_start_line": self.start + 1,
            "chunk_offset": offsets[self.start],
            "truncated": self.is_truncated,
        }


def _line_values(index: int, text: bytes, owners: Sequence[Owner]) -> dict[str, Any]:
    """Return the values of a line, whose matches are its owners."""
    byte_spans = _byte_spans(text, owners)
    return {
        "line_number": index + 1,
        "line": text.decode(errors="replace"),
        "start": [owner.start for owner in owners],
        "end": [owner.end for owner in owners],
        "byte_start": [start for start, _ in byte_spans],
        "byte_end": [end for _, end in byte_spans],
        "match_count": len(owners),
        "name_start": [],
        "name_end": [],
    }


def _offsets(raw: Sequence[bytes]) -> list[int]:
    """Return the start offset of each line."""
    offsets = [0]
    for text in raw:
        offsets.append(offsets[-1] + len(text) + 1)
    return offsets


def _byte_spans(line: bytes, owners: Sequence[Owner]) -> list[tuple[int, int]]:
    """Return the spans of owners in a line as stored; by characters where the text is not UTF-8 there."""
    spans, position = [], 0
    for owner in owners:
        name = owner.name.encode()
        name_start = line.find(name, position)
        start, size = (name_start, len(name)) if name_start >= 0 else (owner.start, owner.end - owner.start)
        spans.append((start, start + size))
        position = start + size

    return spans
