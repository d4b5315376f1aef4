"""Generated record batches of matches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from sourcelight.core.batches import RepositoryInfo, arrow_type
from sourcelight.core.batches.schema import MATCHES

TYPES = {column.name: column.type for column in MATCHES}
TEXT = st.text(st.sampled_from('aé😀\t <&\x7f"\\\r\u2028'), max_size=8)
NAMES = st.sampled_from(["github.com/a/b", "c", "d é"])
Row = dict[str, Any]


def batch_of(rows: list[Row]) -> Any:
    """A record batch with the columns of the first row."""
    return pa.RecordBatch.from_pydict(
        {name: pa.array([r[name] for r in rows], arrow_type(TYPES[name])) for name in rows[0]}
    )


def facts_of(rows: list[Row]) -> dict[str, RepositoryInfo]:
    return {r["repository"]: RepositoryInfo(r["repository"], r["repository_id"], stars=3) for r in rows}


@st.composite
def files(draw: st.DrawFn, kind: str) -> list[Row]:
    """The leading columns of distinct files; repositories keep their number."""
    keys = draw(st.lists(st.tuples(NAMES, st.sampled_from(["", "v1"]), TEXT), min_size=1, max_size=4, unique=True))
    return [
        {
            "type": kind,
            "repository": name,
            "repository_id": len(name),
            "revision": revision,
            "commit": draw(st.sampled_from([None, "0" * 40])),
            "path": path,
            "language": draw(st.sampled_from([None, "Go", "C++"])),
            "name_start": [0] if path else [],
            "name_end": [len(path)] if path else [],
        }
        for name, revision, path in keys
    ]


@st.composite
def spans(draw: st.DrawFn, line: str) -> list[tuple[int, int]]:
    cuts = sorted(draw(st.sets(st.integers(0, len(line)), max_size=4)))
    return list(zip(cuts[0::2], cuts[1::2], strict=False))


def _in_bytes(line: str, offset: int) -> int:
    return len(line[:offset].encode()) + max(0, offset - len(line))


@st.composite
def chunked(draw: st.DrawFn) -> list[Row]:
    """Content rows with chunks that don't touch; some matches go on over several lines."""
    rows: list[Row] = []
    for head in draw(files("content")):
        number, offset = 1, 0
        for _ in range(draw(st.integers(1, 3))):
            gap = draw(st.integers(2, 5))
            number, offset = number + gap, offset + 10 * gap
            lines = draw(st.lists(TEXT, min_size=1, max_size=4))
            results = [draw(spans(line)) for line in lines]
            counts = [len(f) for f in results]
            for i in range(len(lines) - 1):
                if draw(st.booleans()):
                    # A match from the end of this line (a newline is part of it) into the next, or to its very end.
                    start = results[i][-1][1] if results[i] else 0
                    if results[i] and results[i][0] == (0, len(lines[i]) + 1):
                        continue
                    results[i].append((start, len(lines[i]) + 1))
                    counts[i] += 1
                    if results[i + 1] and results[i + 1][0][0] == 0:
                        results[i + 1].pop(0)
                        counts[i + 1] -= 1
                    if lines[i + 1]:
                        end = results[i + 1][0][0] if results[i + 1] else len(lines[i + 1])
                        if end:
                            results[i + 1].insert(0, (0, end))
            text = "\n".join(lines) + draw(st.sampled_from(["", "\n"]))
            position = offset
            for i, line in enumerate(lines):
                if results[i]:
                    rows.append(
                        head
                        | {
                            "line_number": number + i,
                            "line": line,
                            "start": [a for a, _ in results[i]],
                            "end": [b for _, b in results[i]],
                            "match_count": counts[i],
                            "chunk": text,
                            "chunk_start_line": number,
                            "truncated": False,
                            "line_offset": position,
                            "byte_start": [_in_bytes(line, a) for a, _ in results[i]],
                            "byte_end": [_in_bytes(line, b) for _, b in results[i]],
                            "chunk_offset": offset,
                        }
                    )
                position += len(line.encode()) + 1
            number, offset = number + len(lines), position
    return rows
