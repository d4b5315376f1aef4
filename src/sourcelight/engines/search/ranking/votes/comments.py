"""Votes of comments: a comment votes by consecutive words of the question.

Their order favors a comment that repeats the question over files with more of its words. Only comments are compared,
since documents repeat such sentences.

    question    how is the drift of a gauge removed before the tide    stems    drift gaug remov tide
    comment     # Drifts of the gauge are removed before tides.        stems    drift gaug remov tide
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from sourcelight.core.arrays import BoolArray, Float64Array, Int64Array
from sourcelight.core.errors import IndexDamaged
from sourcelight.engines.search.ranking.bm25 import WordScores
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.model import StatsExchange
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.ranking.terms.tokenizer import stems_in_order

MIN_RUN = 4
"""Minimum words of a run in the question's order: many comments have three."""

MIN_READ = 0.85
"""Share of the best chunk's score from which the comments of a chunk are read: one that repeats the question has nearly
all of its words, and so one of the best scores."""

MAX_READ_CHUNKS = 20
"""Maximum number of chunks to read: if more are equally good, no comment has most of the words."""

_MAX_WORDS = 100
"""Maximum words of a question that counts as a sentence."""

_MAX_BYTES = 16 << 10
"""Bytes of a chunk that are read: a line may have megabytes."""

_OTHER_WORD = "\0"
"""The character for a word of a comment that the question doesn't have."""

_COMMENT = re.compile(
    rb'"""(?:[^\\]|\\.)*?(?:"""|\Z)|\'\'\'(?:[^\\]|\\.)*?(?:\'\'\'|\Z)|/\*.*?(?:\*/|\Z)|<!--.*?(?:-->|\Z)'
    rb"|//[^\n]*|(?m:^[ \t]*(?:#(?!include|define|if|endif|else)|\*|--|;;|%%)[^\n]*)",
    re.DOTALL,
)
"""A comment or a doc string of most languages: `/* lift */`, `// lift`, `# lift`, `-- lift`, `;; lift`."""


def scores_of_comments(
    collection: ChunkCollection, words: WordScores, question: RankQuery, top: float, exchange: StatsExchange
) -> Float64Array:
    """Score files by the longest run of the question's words in a comment, as a share of these words.

    Parameters
    ----------
    collection, words, question
        The ranked collection.
    top
        The best score of a chunk of all.
    exchange
        Counts the chunks of all parts that would be read.
    """
    scores: Float64Array = np.zeros(collection.files)
    stems = stems_in_order(question.text.encode())[: _MAX_WORDS + 1]
    if not MIN_RUN <= len(stems) <= _MAX_WORDS:
        return scores

    # At least the smallest positive number: a chunk without a word of the question has the score 0.
    min_score = max(MIN_READ * top, np.finfo(np.float64).tiny)
    best_chunks = (words.chunks >= min_score).nonzero()[0]
    chunks = _chunks_with_run(words, question, stems, best_chunks)
    (count,) = exchange.add([len(chunks)])
    if count > MAX_READ_CHUNKS:
        return scores

    # One character for each stem: the search for a run of words is then one for a piece of text.
    characters = {stem: chr(number) for number, stem in enumerate(dict.fromkeys(stems), 1)}
    question_text = _encode(stems, characters)
    files = collection.file_of.take(chunks).tolist()
    for chunk, file in zip(chunks.tolist(), files, strict=True):
        # Now and then a string is taken for a comment.
        comments = b"\n".join(_COMMENT.findall(_read_chunk(collection, chunk)))
        run = _longest_run(question_text, _encode(stems_in_order(comments), characters))
        if run >= MIN_RUN:
            scores[file] = max(float(scores[file]), run / len(question_text))

    return scores


def _chunks_with_run(words: WordScores, question: RankQuery, stems: Sequence[str], chunks: Int64Array) -> Int64Array:
    """Return the chunks that have `MIN_RUN` consecutive words of a question, anywhere in the chunk.

    Most chunks don't have them, and to read a chunk takes longer than to look all words up.
    """
    # For each chunk, how many of the last stems it has without a gap, and the most so far.
    run: Int64Array = np.zeros(len(chunks), dtype=np.int64)
    longest: Int64Array = np.zeros(len(chunks), dtype=np.int64)
    for stem in stems:
        run += 1
        posting = words.postings.get(stem)
        if posting is not None and len(posting.chunks):
            run[~_are_in(posting.chunks, chunks)] = 0
        elif stem in question.terms:
            # No chunk has this word. One that is no term of the question isn't looked up: any chunk may have it.
            run[:] = 0
        np.maximum(longest, run, out=longest)

    return chunks[longest >= MIN_RUN]


def _are_in(numbers: Int64Array, chunks: Int64Array) -> BoolArray:
    """Return whether each of some chunks is one of `numbers`, which ascend and are at least one."""
    positions = numbers.searchsorted(chunks)
    is_in: BoolArray = numbers.take(positions, mode="clip") == chunks
    return is_in


def _encode(stems: Sequence[str], characters: Mapping[str, str]) -> str:
    return "".join([characters.get(stem, _OTHER_WORD) for stem in stems])


def _read_chunk(collection: ChunkCollection, chunk: int) -> bytes:
    """Return the first bytes of a chunk's text, at most `_MAX_BYTES`."""
    number, row = collection.table_chunk(chunk)
    block = collection.blocks[number]
    snapshot = collection.open_terms[block.target].snapshot
    shard = snapshot.shards[collection.shard_of(number)]
    first_line, last_line = block.lines_of(row)
    try:
        text = shard.lines(int(block.table.chunk_doc[row]), first_line, last_line)
    except IndexDamaged:
        # The next search builds the index again; words rank without the text.
        return b""
    return bytes(text[:_MAX_BYTES])


def _longest_run(question_text: str, text: str) -> int:
    """Return the length of the longest piece of one text that the other has, at least one less than `MIN_RUN`."""
    longest = MIN_RUN - 1
    for start in range(len(question_text) - longest):
        # A piece counts only if it is longer than the longest so far.
        while start + longest < len(question_text) and question_text[start : start + longest + 1] in text:
            longest += 1
    return longest
