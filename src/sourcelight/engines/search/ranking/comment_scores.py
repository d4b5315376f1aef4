"""Scores of files by comments that have words of a question one after another.

A sentence of a doc comment, asked word for word or nearly so, is found by the order of its words: other files have the
same words more often. Only the best chunks are read, and only their comments, because documents repeat such sentences.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import numpy as np

from sourcelight.core.arrays import Float64Array
from sourcelight.core.errors import IndexDamaged
from sourcelight.engines.search.ranking.bm25 import WordScores
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.model import StatsExchange
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, TOKEN, parts_of, stem

MIN_RUN = 4
"""Words in the order of the question below which a run says nothing: many comments have three."""

NEAR_TOP = 0.85
"""Share of the best chunk's score from which the comments of a chunk are read."""

MAX_READ_CHUNKS = 20
"""Chunks beyond which none is read: where so many are nearly as good, no comment has most of the words. Questions read
two on average."""

_MAX_WORDS = 100
"""Words of a question beyond which it is no sentence."""

_MAX_BYTES = 16 << 10
"""Bytes of a chunk that are read: a line may have megabytes."""

_COMMENT = re.compile(
    rb'"""(?:[^\\]|\\.)*?(?:"""|\Z)|\'\'\'(?:[^\\]|\\.)*?(?:\'\'\'|\Z)|/\*.*?(?:\*/|\Z)|<!--.*?(?:-->|\Z)'
    rb"|//[^\n]*|(?m:^[ \t]*(?:#(?!include|define|if|endif|else)|\*|--|;;|%%)[^\n]*)",
    re.DOTALL,
)
"""Comments and doc strings of most languages. Where it is wrong, a few words more or less are compared."""


def scores_of_comments(
    collection: ChunkCollection, words: WordScores, question: RankQuery, top: float, exchange: StatsExchange
) -> Float64Array:
    """Score files by the longest run of the question's words in a comment, as a share of these words.

    Parameters
    ----------
    collection, words, question
        What is ranked.
    top
        The best score of a chunk of all.
    exchange
        Counts the chunks of all parts that would be read.
    """
    scores: Float64Array = np.zeros(collection.files)
    chunks = (words.chunks >= max(NEAR_TOP * top, np.finfo(np.float64).tiny)).nonzero()[0]
    (count,) = exchange.add([len(chunks)])
    sequence = _stems_in_order(question.text.encode())[: _MAX_WORDS + 1]
    if count > MAX_READ_CHUNKS or not MIN_RUN <= len(sequence) <= _MAX_WORDS:
        return scores
    # One character for each stem: the search for a run of words is then one for a piece of text. NUL is any other word.
    codes = {term: chr(number) for number, term in enumerate(dict.fromkeys(sequence), 1)}
    asked = "".join(map(codes.__getitem__, sequence))
    for chunk, file in zip(chunks.tolist(), collection.file_of.take(chunks).tolist(), strict=True):
        comments = b"\n".join(_COMMENT.findall(_text_of(collection, chunk)))
        text = "".join([codes.get(term, "\0") for term in _stems_in_order(comments)])
        run = _longest_run(asked, text)
        if run >= MIN_RUN:
            scores[file] = max(float(scores[file]), run / len(asked))
    return scores


def _text_of(collection: ChunkCollection, chunk: int) -> bytes:
    number = collection.block_of_chunk(chunk)
    block, within = collection.blocks[number], chunk - collection.chunk_base[number]
    row = within if block.source is None else int(block.source[within])
    open_terms = collection.open_terms[block.target]
    shard = open_terms.snapshot.shards[collection.shard_of(number)]
    try:
        return bytes(shard.lines(int(block.table.chunk_doc[row]), *block.lines_of(row))[:_MAX_BYTES])
    except IndexDamaged:
        # The next search builds the index again; words rank without the text.
        return b""


def _longest_run(asked: str, text: str) -> int:
    """Return the length of the longest piece of one text that the other has, at least one less than `MIN_RUN`."""
    longest = MIN_RUN - 1
    for start in range(len(asked) - longest):
        while start + longest < len(asked) and asked[start : start + longest + 1] in text:
            longest += 1
    return longest


def _stems_in_order(text: bytes) -> Sequence[str]:
    return [term for token in TOKEN.findall(text) for term in _stems(token)]


@functools.lru_cache(maxsize=1 << 14)
def _stems(token: bytes) -> tuple[str, ...]:
    # Comments of a repository have the same words again and again.
    parts = parts_of(token.decode("utf-8", "replace"))
    return tuple(stem(part) for part in parts if len(part) > 1 and part not in FUNCTION_WORDS)
