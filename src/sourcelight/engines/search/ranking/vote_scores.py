"""Votes of tests, commits and comments: all describe files in a person's words.

Names of tests are sentences about behavior, often in the words of a question, where the code has other words. A test
that a question matches votes for the file it is named after. Only the best chunks vote, which are the same with a limit
and without one. Commits whose subjects match vote for the files that they changed. All commits of a file together
describe it, too: the words of a question may be in the subjects of several.

A comment votes by consecutive words of the question: their order favors a comment that repeats the question over files
with more of its words. Only comments are compared, since documents repeat such sentences.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import Float64Array, Int64Array
from sourcelight.core.errors import IndexDamaged
from sourcelight.engines.search.ranking.bm25 import WordScores, run_starts
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.model import StatsExchange
from sourcelight.engines.search.ranking.paths import KINDS, path_words
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.ranking.terms.borders import comments_in
from sourcelight.engines.search.ranking.terms.subject_table import SubjectTable
from sourcelight.engines.search.ranking.terms.tokenizer import stems_in_order
from sourcelight.engines.search.scan.opened_commit import OpenedCommit

MIN_VOTE = 0.5
"""Share of the best chunk's score below which a chunk of a test doesn't vote, so that few files are looked at."""

MAX_TESTED = 6
"""Maximum files that share the vote of a test's name; beyond it, the name is ignored."""

_AFFIX = re.compile(r"^tests?(?=[_.-])|(?<=[_.-])(?:tests?|spec)$|(?:Tests?|Spec|IT)$")
"""Marks of a test in the name of a file: `test_tank`, `tank_test`, `tank-spec`, `TankTest`, `TankIT`."""

_TEST = KINDS.index("test")
_CODE = frozenset({KINDS.index("code"), KINDS.index("aside")})

MAX_VOTERS = 40
"""Commits of a repository that vote."""

_POWER = 3
"""A commit's vote is its share of the best score to this power, so that a few good ones decide."""

MIN_CHANGES = 0.4
"""Share of the best file's score below which the commits of a file don't count. It keeps the files to score few."""

MIN_RUN = 4
"""Minimum words of a run in the question's order: many comments have three."""

MIN_READ = 0.85
"""Share of the best chunk's score from which the comments of a chunk are read."""

MAX_READ_CHUNKS = 20
"""Maximum number of chunks to read: if more are equally good, no comment has most of the words."""

_MAX_WORDS = 100
"""Maximum words of a question that counts as a sentence."""

_MAX_BYTES = 16 << 10
"""Bytes of a chunk that are read: a line may have megabytes."""


def scores_of_tests(collection: ChunkCollection, words: WordScores, top: float) -> Float64Array:
    """Score files by the best chunk of the test named after them, as a fraction of `top`, the best score."""
    scores: Float64Array = np.zeros(collection.files)
    if top <= 0.0:
        return scores

    chunks = (words.chunks >= MIN_VOTE * top).nonzero()[0]
    files = collection.file_of.take(chunks)
    is_test = collection.kinds.take(files) == _TEST

    files, chunks = files[is_test], chunks[is_test]
    if not len(files):
        return scores

    # Chunks are numbered file by file, so each file is one run.
    starts = run_starts(files)
    best = np.maximum.reduceat(words.chunks.take(chunks), starts)

    for file, value in zip(files.take(starts).tolist(), best.tolist(), strict=True):
        number = collection.block_of_file(file)
        block = collection.blocks[number]
        tested = tested_files(collection.open_terms[block.target].snapshot)
        partners = tested.get(int(block.files[file - collection.file_base[number]]), ())
        # A test named for several files is weaker evidence for each.
        for partner in partners:
            scored_file = int(collection.file_numbers[block.target][partner])
            if scored_file >= 0:
                scores[scored_file] = max(float(scores[scored_file]), value / top / len(partners))

    return scores


def tested_files(snapshot: OpenedCommit) -> Mapping[int, Sequence[int]]:
    """Return the files of code that each test file is named after; both by their numbers in the view."""
    return snapshot.remember("tested files", lambda: _tested_files(snapshot))


def _tested_files(snapshot: OpenedCommit) -> Mapping[int, Sequence[int]]:
    view, kinds = snapshot.view, path_words(snapshot).kind.tolist()
    paths = bytes(view.path_text).decode("utf-8", "replace").split("\n")[1 : view.files + 1]
    code: dict[str, list[int]] = {}
    for file, path in enumerate(paths):
        if kinds[file] in _CODE:
            code.setdefault(_bare(_stem(path)), []).append(file)

    tested = {
        file: code.get(_bare(_AFFIX.sub("", _stem(path))), ())
        for file, path in enumerate(paths)
        if kinds[file] == _TEST
    }
    return {file: files for file, files in tested.items() if 0 < len(files) <= MAX_TESTED}


def _stem(path: str) -> str:
    """Return the name of a file up to its first dot."""
    return path.rpartition("/")[2].partition(".")[0]


def _bare(stem: str) -> str:
    # `RainTankTest` is named after `rain_tank`: languages and projects separate words in their own ways.
    return stem.replace("_", "").replace("-", "").lower()


def scores_of_commits(
    collection: ChunkCollection, words: WordScores, question: RankQuery, exchange: StatsExchange
) -> Float64Array:
    """Score files by the commits that changed them, as a fraction of the best score; 0 for files without a word.

    A commit's vote is divided by the square root of the files that it changed. All parts of a ranking exchange the best
    commit and the best file, so that votes of different repositories can be compared.
    """
    scores: Float64Array = np.zeros(collection.files)
    terms = {term: weight for term, weight in question.terms.items() if not term.startswith("=")}
    tables = [open_terms.subjects for open_terms in collection.open_terms]
    by_target = [(target, table, table.scores(terms)) for target, table in enumerate(tables) if table is not None]
    by_target = [(target, table, values) for target, table, values in by_target if values.any()]

    # Every part takes part in both exchanges, those without a table too: the others wait for it.
    (best,) = exchange.maxima([max((float(values.max()) for *_, values in by_target), default=0.0)])
    votes, sizes, files = [], [], []
    for target, table, values in by_target:
        voters = _voters(values)
        changed, sizes_of_voters = table.changed_paths(voters)
        votes.append(values.take(voters))
        sizes.append(sizes_of_voters)
        files.append(_collection_files(collection, target, table, changed))

    if files:
        # Votes of all repositories are counted at once: steps for each of them would take most of the time.
        by_vote, counts = (np.concatenate(votes) / best) ** _POWER, np.concatenate(sizes)
        placed = np.concatenate(files)
        in_collection = (placed >= 0).nonzero()[0]
        np.add.at(scores, placed.take(in_collection), (by_vote / np.sqrt(counts)).repeat(counts).take(in_collection))

    # A file that shares no word with the question would count as if it did, and has no chunk to show.
    if collection.chunks:
        scores *= words.reached

    # Only now are the votes of all workers known, so the best file of all is 1 in each of them.
    (greatest,) = exchange.maxima([float(scores.max(initial=0.0))])
    return scores / greatest if greatest > 0.0 else scores


def scores_of_changes(
    collection: ChunkCollection, words: WordScores, question: RankQuery, exchange: StatsExchange
) -> Float64Array:
    """Score files by the subjects of all commits that changed each, as a share of the best of all files.

    Files without a word of the question have the score 0, and so have those below `MIN_CHANGES`. All parts of a ranking
    exchange the best file, as for `scores_of_commits`.
    """
    scores: Float64Array = np.zeros(collection.files)
    terms = {term: weight for term, weight in question.terms.items() if not term.startswith("=")}
    for target, open_terms in enumerate(collection.open_terms):
        table = open_terms.subjects
        if table is None:
            continue
        values = table.path_scores(terms)
        paths = values.nonzero()[0]
        if len(paths):
            placed = _collection_files(collection, target, table, paths)
            in_collection = (placed >= 0).nonzero()[0]
            scores[placed.take(in_collection)] = values.take(paths.take(in_collection))

    if collection.chunks:
        scores *= words.reached

    (greatest,) = exchange.maxima([float(scores.max(initial=0.0))])
    if greatest <= 0.0:
        return scores

    scores /= greatest
    scores[scores < MIN_CHANGES] = 0.0
    return scores


def _voters(values: Float64Array) -> Int64Array:
    """Return the commits with the best scores, the newest of equal ones first."""
    scored = (values > 0.0).nonzero()[0]
    return scored.take(np.argsort(-values.take(scored), kind="stable")[:MAX_VOTERS])


def _collection_files(
    collection: ChunkCollection, target: int, table: SubjectTable, paths: Int64Array
) -> NDArray[np.int32]:
    """Return the number in the collection of some paths of a target's table, -1 for paths that it doesn't have."""
    files = _file_numbers(collection.open_terms[target].snapshot, table).take(paths)
    in_view = files >= 0
    numbers = np.full(len(files), -1, dtype=np.int32)
    numbers[in_view] = collection.file_numbers[target].take(files[in_view])
    return numbers


def _file_numbers(snapshot: OpenedCommit, table: SubjectTable) -> Int64Array:
    """Return the number in the view of each path of a table, -1 for a missing path."""
    cached: tuple[SubjectTable, Int64Array] = snapshot.remember(
        ("files of subjects", id(table)), lambda: (table, _find_files(snapshot, table))
    )
    return cached[1]


def _find_files(snapshot: OpenedCommit, table: SubjectTable) -> Int64Array:
    paths = bytes(snapshot.view.path_text).split(b"\n")[1 : snapshot.view.files + 1]
    numbers = {path: number for number, path in enumerate(paths)}
    return np.array([numbers.get(path, -1) for path in table.paths], dtype=np.int64)


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
    chunks = (words.chunks >= max(MIN_READ * top, np.finfo(np.float64).tiny)).nonzero()[0]
    sequence = stems_in_order(question.text.encode())[: _MAX_WORDS + 1]
    if not MIN_RUN <= len(sequence) <= _MAX_WORDS:
        return scores

    chunks = _with_neighbors(words, question, sequence, chunks)
    (count,) = exchange.add([len(chunks)])
    if count > MAX_READ_CHUNKS:
        return scores

    # One character for each stem: the search for a run of words is then one for a piece of text. NUL is any other word.
    codes = {term: chr(number) for number, term in enumerate(dict.fromkeys(sequence), 1)}
    question_text = "".join(map(codes.__getitem__, sequence))
    for chunk, file in zip(chunks.tolist(), collection.file_of.take(chunks).tolist(), strict=True):
        comments = comments_in(_text_of(collection, chunk))
        text = "".join([codes.get(term, "\0") for term in stems_in_order(comments)])
        run = _longest_run(question_text, text)
        if run >= MIN_RUN:
            scores[file] = max(float(scores[file]), run / len(question_text))

    return scores


def _with_neighbors(words: WordScores, question: RankQuery, sequence: Sequence[str], chunks: Int64Array) -> Int64Array:
    """Return the chunks with a run of `MIN_RUN` consecutive words of a question.

    The chunk may have them anywhere. Most have not, and to read a chunk takes longer than to look all words up.
    """
    run: Int64Array = np.zeros(len(chunks), dtype=np.int64)
    longest: Int64Array = np.zeros(len(chunks), dtype=np.int64)
    for term in sequence:
        run += 1
        posting = words.postings.get(term)
        if posting is not None and len(posting.numbers):
            run *= posting.numbers.take(posting.numbers.searchsorted(chunks), mode="clip") == chunks
        elif term in question.terms:
            run *= 0
        np.maximum(longest, run, out=longest)

    return chunks[longest >= MIN_RUN]


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


def _longest_run(question_text: str, text: str) -> int:
    """Return the length of the longest piece of one text that the other has, at least one less than `MIN_RUN`."""
    longest = MIN_RUN - 1
    for start in range(len(question_text) - longest):
        while start + longest < len(question_text) and question_text[start : start + longest + 1] in text:
            longest += 1
    return longest
