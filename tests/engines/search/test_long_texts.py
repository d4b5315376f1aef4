"""Texts of long lines are looked at one by one, those of short ones all at once: both say the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcelight.engines.search.scan.text import arrow_binary, code_points, text_column

PIECES = st.lists(
    st.sampled_from([b"", b"a", b"plain text", "caf\u00e9".encode(), "\U0001f600x".encode(), b"\xff\xfe", b"\xc3"]),
    max_size=6,
).map(b"".join)


LONG = b"x" * 8192
"""Makes the mean of up to 13 texts longer than 256 bytes."""


@given(st.lists(PIECES, min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_long_texts_give_what_short_ones_give(blocks: list[bytes]) -> None:
    sizes = np.array([len(block) for block in blocks], dtype=np.int64)
    rows = np.repeat(np.arange(len(blocks)), sizes + 1)
    offsets = np.concatenate([np.arange(size + 1) for size in sizes.tolist()]).astype(np.int64)
    # Not inside a character, as no match begins there.
    data = b"".join(block + b"a" for block in blocks)
    starts = np.cumsum(sizes + 1) - (sizes + 1)
    everything = np.frombuffer(data, np.uint8)[starts[rows] + offsets]
    inside = (everything & 0xC0) == 0x80
    rows, offsets = rows[~inside], offsets[~inside]
    results = []
    for last in ([], [LONG]):
        last_sizes = np.append(sizes, [len(text) for text in last]).astype(np.int64)
        texts = text_column(arrow_binary(last_sizes, b"".join([*blocks, *last])))
        strings = texts.strings.to_pylist()[: len(blocks)]
        results.append(
            (strings, texts.non_ascii_rows.tolist(), texts.invalid_rows, code_points(texts, rows, offsets).tolist())
        )
    assert results[0] == results[1]
    assert results[0][0] == [block.decode(errors="replace") for block in blocks]
