"""Record batches for tests of frames, written as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from sourcelight.core.batches import matches_schema


def record_batch(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A record batch with the given columns of the match schema."""
    schema = matches_schema()
    fields = [schema.field(n) for n in columns]
    arrays = [
        pa.array(v, f.type.value_type).dictionary_encode().cast(f.type)
        if pa.types.is_dictionary(f.type)
        else pa.array(v, f.type)
        for f, v in zip(fields, columns.values(), strict=True)
    ]
    return pa.record_batch(arrays, schema=pa.schema(fields))


def lines(repository: str, path: str, rows: Sequence[tuple[int, str, Sequence[tuple[int, int]]]]) -> Any:
    """A batch of matched lines of one file: (line number, text, spans)."""
    n = len(rows)
    return record_batch(
        {
            "type": ["content"] * n,
            "repository": [repository] * n,
            "repository_id": [7] * n,
            "revision": [""] * n,
            "commit": ["c" * 40] * n,
            "path": [path] * n,
            "language": ["Go" if path.endswith(".go") else None] * n,
            "line_number": [r[0] for r in rows],
            "line": [r[1] for r in rows],
            "start": [[a for a, _ in r[2]] for r in rows],
            "end": [[b for _, b in r[2]] for r in rows],
            "match_count": [len(r[2]) for r in rows],
            "line_offset": [0] * n,
            "name_start": [[]] * n,
            "name_end": [[]] * n,
        }
    )


def paths(repository: str, names: Sequence[str], span: tuple[int, int]) -> Any:
    """A batch of files found by name."""
    n = len(names)
    return record_batch(
        {
            "type": ["path"] * n,
            "repository": [repository] * n,
            "repository_id": [7] * n,
            "revision": [""] * n,
            "path": list(names),
            "match_count": [1] * n,
            "name_start": [[span[0]]] * n,
            "name_end": [[span[1]]] * n,
        }
    )


def repos(names: Sequence[str], span: tuple[int, int]) -> Any:
    """A batch of repositories found by name."""
    n = len(names)
    return record_batch(
        {
            "type": ["repo"] * n,
            "repository": list(names),
            "repository_id": list(range(n)),
            "revision": [""] * n,
            "match_count": [1] * n,
            "name_start": [[span[0]]] * n,
            "name_end": [[span[1]]] * n,
        }
    )
