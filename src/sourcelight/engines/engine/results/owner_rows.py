"""``select:file.owners``: found files turned into their owners, as the lines of CODEOWNERS that name these.

A stream has six kinds of matches, and an owner is none of them (streaming search API, match object). A line of the
repository's own file of owners is: it says who, and by which rule, and each owner that it names is a match in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pyarrow as pa

from sourcelight.core.batches import arrow_type
from sourcelight.core.batches.rows import Rows
from sourcelight.core.query.languages import language_of
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.engine.results.codeowners import Owner
from sourcelight.engines.engine.results.ownership import Owners, Ownership
from sourcelight.engines.search import Target
from sourcelight.engines.search.scan.chunks import cut_line

_FILES = frozenset({"content", "path", "symbol"})


@dataclass(slots=True)
class OwnerRows:
    """Turns the results of one alternative into owners, each once for a repository and revision.

    Parameters
    ----------
    ownership
        Reads the files of owners, and counts files without one.
    request
        How lines are to be shown.
    """

    ownership: Ownership
    request: SearchRequest
    _given: set[tuple[str, str, str]] = field(default_factory=set)
    _seen: set[tuple[str, str, str]] = field(default_factory=set)

    def of(self, batch: Any, target: Target) -> Any | None:
        """Rows for the owners that were not given yet, of the files in `batch`, all of `target`; None for none."""
        rows = Rows(batch)
        held = self.ownership.file_of(target) if rows.first("type") in _FILES else None
        if held is None:
            return None
        key, revision = target.repository.key, target.revision
        fresh: dict[Owner, None] = {}
        for path in rows.texts("path", [start for start, _ in rows.files()]):
            if path is None or (key, revision, path) in self._seen:
                continue
            self._seen.add((key, revision, path))
            named = held.rules.named(path)
            self.ownership.unowned[target.repository.facts.name] += not named
            for owner in named:
                if (key, revision, owner.name) not in self._given:
                    self._given.add((key, revision, owner.name))
                    fresh[owner] = None
        return self._batch(batch, held, sorted(fresh, key=lambda owner: (owner.line, owner.start))) if fresh else None

    def _batch(self, batch: Any, held: Owners, owners: Sequence[Owner]) -> Any:
        by_line = [(line, list(own)) for line, own in groupby(owners, key=lambda owner: owner.line)]
        raw = held.content.split(b"\n")
        lines = [raw[line] for line, _ in by_line]
        offsets = _offsets(raw)
        bytes_of = [_byte_spans(text, own) for text, (_, own) in zip(lines, by_line, strict=True)]
        size = len(by_line)
        columns: dict[str, tuple[list[Any], str]] = {
            "type": (["content"] * size, "dict8"),
            "path": ([held.path] * size, "dict32"),
            "language": ([language_of(held.path) or None] * size, "dict32"),
            "line_number": ([line + 1 for line, _ in by_line], "int32"),
            "line": ([text.decode(errors="replace") for text in lines], "string"),
            "start": ([[owner.start for owner in own] for _, own in by_line], "list"),
            "end": ([[owner.end for owner in own] for _, own in by_line], "list"),
            "byte_start": ([[start for start, _ in spans] for spans in bytes_of], "list"),
            "byte_end": ([[end for _, end in spans] for spans in bytes_of], "list"),
            "line_offset": ([offsets[line] for line, _ in by_line], "int64"),
            "match_count": ([len(own) for _, own in by_line], "int32"),
            "name_start": ([[]] * size, "list"),
            "name_end": ([[]] * size, "list"),
        }
        if self.request.chunk_matches:
            columns |= self._chunks(raw, offsets, [line for line, _ in by_line])
        made = {name: pa.array(values, type=arrow_type(kind)) for name, (values, kind) in columns.items()}
        for name in ("repository", "repository_id", "revision", "commit"):
            index = batch.schema.get_field_index(name)
            if index >= 0:
                made[name] = batch.column(index).take(pa.array([0] * size, pa.int32()))
        return pa.record_batch(made)

    def _chunks(self, raw: Sequence[bytes], offsets: Sequence[int], lines: Sequence[int]) -> dict[str, Any]:
        """The chunk columns: lines with those around them, what touches in one."""
        around, most = self.request.context_lines, self.request.max_line_len
        last = len(raw) - (2 if raw[-1:] == [b""] and len(raw) > 1 else 1)
        bounds: list[tuple[int, int]] = []
        number = []
        for line in lines:
            low, high = max(line - around, 0), min(line + around, last)
            if bounds and low <= bounds[-1][1] + 1:
                bounds[-1] = (bounds[-1][0], high)
            else:
                bounds.append((low, high))
            number.append(len(bounds) - 1)
        cut = [most > 0 and any(len(text) > most for text in raw[low : high + 1]) for low, high in bounds]
        shown = [cut_line(text, most) for text in raw] if most > 0 else raw
        texts = [b"\n".join(shown[low : high + 1]).decode(errors="replace") for low, high in bounds]
        return {
            "chunk": ([texts[at] for at in number], "dict32"),
            "chunk_line_number": ([bounds[at][0] + 1 for at in number], "int32"),
            "chunk_offset": ([offsets[bounds[at][0]] for at in number], "int64"),
            "truncated": ([cut[at] for at in number], "bool"),
        }


def _offsets(raw: Sequence[bytes]) -> list[int]:
    """Where each line begins in the file."""
    found = [0]
    for text in raw:
        found.append(found[-1] + len(text) + 1)
    return found


def _byte_spans(line: bytes, owners: Sequence[Owner]) -> list[tuple[int, int]]:
    """Where owners stand in a line as stored; by characters where the text is not UTF-8 there."""
    spans, at = [], 0
    for owner in owners:
        name = owner.name.encode()
        found = line.find(name, at)
        start, size = (found, len(name)) if found >= 0 else (owner.start, owner.end - owner.start)
        spans.append((start, start + size))
        at = start + size
    return spans
