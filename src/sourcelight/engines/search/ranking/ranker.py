"""Rank the files and chunks of targets for a question.

Ranking works with numbers. Only the results are described, with paths, lines and names of definitions, because each
path and name is decoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sourcelight.core.arrays import BoolArray
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.search.ranking.bm25 import Weights, count_chunks_with, score
from sourcelight.engines.search.ranking.buffers import ScratchBuffer
from sourcelight.engines.search.ranking.chunk_definitions import definition_names
from sourcelight.engines.search.ranking.collection import ChunkCollection, CollectionSize, make_collection
from sourcelight.engines.search.ranking.file_scores import file_lists, scores_by_target, scores_of_targets
from sourcelight.engines.search.ranking.list_weights import ListWeights
from sourcelight.engines.search.ranking.model import (
    COVERING_CHUNKS,
    LOCAL_ONLY,
    PartStats,
    RankedChunk,
    RankedFile,
    Ranking,
    RankLimits,
    Scorer,
    ScoreRequest,
    StatsExchange,
    unknown_words,
)
from sourcelight.engines.search.ranking.order import BestChunks, RankOrder, ScoredChunk, coverage_of
from sourcelight.engines.search.ranking.paths import reported_kind
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.ranking.terms.term_files import OpenedTerms
from sourcelight.engines.search.ranking.votes.names import defining_files

_VOTING_CHUNKS = 12
"""Number of the best chunks that a scorer gets to see."""


@dataclass(frozen=True, slots=True)
class Ranker:
    """A ranking with weights and further scorers; with an exchange it ranks a part of the files, without scorers."""

    weights: Weights = field(default_factory=Weights)
    lists: ListWeights = field(default_factory=ListWeights)
    scorers: Sequence[Scorer] = ()
    exchange: StatsExchange = LOCAL_ONLY

    def rank(
        self,
        question: RankQuery,
        open_terms: Sequence[OpenedTerms],
        masks: Sequence[BoolArray | None],
        limits: RankLimits,
        cancellation: Cancellation,
    ) -> Ranking:
        """Rank the files of targets; `masks` choose the files of each target, None for all. Raises `Cancelled`."""
        collection = make_collection(open_terms, masks)
        # Before the check for an empty collection: a worker without chunks still has to take part in every exchange, or
        # the others would wait for it.
        if self.exchange is not LOCAL_ONLY:
            return self._rank_part(collection, question, limits, cancellation)
        if not collection.chunks:
            return Ranking(question, unknown=unknown_words(question, {}))

        # Arrays of the size of the collection are reused between questions: allocating and clearing them costs as much
        # as scoring a rare term.
        with collection.scratch.buffer() as buffer:
            return self._rank(collection, question, limits, cancellation, buffer)

    def _rank(
        self,
        collection: ChunkCollection,
        question: RankQuery,
        limits: RankLimits,
        cancellation: Cancellation,
        buffer: ScratchBuffer,
    ) -> Ranking:
        bounds = [limit for limit in (limits.chunks, limits.files) if limit is not None]
        max_chunks: int | None = None
        if bounds:
            # More chunks than requested, because coverage depends on the best chunks and not on the limit.
            max_chunks = max(min(bounds), COVERING_CHUNKS)

        order = self._order(collection, question, cancellation, buffer, max_chunks)
        word_scores = order.words
        best = order.best(limits)
        ranked_files = describe_files(order, best.files)
        return Ranking(
            question=question,
            chunks=tuple(describe_chunks(order.collection, best, ranked_files)),
            files=tuple(ranked_files),
            matched_files=order.matched_files,
            matched_chunks=word_scores.matched,
            searched_files=collection.files,
            coverage=coverage_of(question, collection, word_scores, order.first(COVERING_CHUNKS)),
            unknown=unknown_words(question, word_scores.idf),
            idf=word_scores.idf,
            searched_chunks=collection.chunks,
        )

    def _rank_part(
        self, collection: ChunkCollection, question: RankQuery, limits: RankLimits, cancellation: Cancellation
    ) -> Ranking:
        """Rank a part of the files as a ranking of all files would: numbers that depend on all files are exchanged.

        All parts exchange the same numbers in the same order, even parts without a chunk.
        """
        chunk_counts = count_chunks_with(collection, question.scored_terms, self.weights, cancellation)
        in_texts = replace(self.weights, path=0.0)
        chunk_counts |= count_chunks_with(collection, question.related, in_texts, cancellation)
        # One exchange for all numbers: each costs a round trip over every worker.
        counts = [collection.chunks, collection.files, collection.length]
        counts += [len(defining_files(collection, name)) for name in question.all_names]
        counts += chunk_counts.values()
        chunks, files, length, *counts_of_all = self.exchange.add(counts)

        part = collection.part_of(CollectionSize(chunks, files), length)
        name_count = len(question.all_names)
        defined = counts_of_all[:name_count]
        global_counts = dict(zip(chunk_counts, counts_of_all[name_count:], strict=True))
        words = score(
            part,
            question.scored_terms,
            self.weights,
            cancellation,
            related=question.related,
            global_counts=global_counts,
        )
        lists = file_lists(part, words, question, self.lists, defined=defined, exchange=self.exchange)
        order = RankOrder(part, words, lists, exchange=self.exchange)
        best = order.best(limits)
        ranked_files = describe_files(order, best.files)
        best_chunks = order.first(COVERING_CHUNKS)
        part_stats = PartStats(
            file_scores=tuple(order.scores_of(best.files)),
            chunk_scores=best.unscaled_scores,
            best=tuple(order.covering(chunk, value) for chunk, value in best_chunks),
        )
        return Ranking(
            question=question,
            chunks=tuple(describe_chunks(order.collection, best, ranked_files)),
            files=tuple(ranked_files),
            matched_files=order.matched_files,
            matched_chunks=words.matched,
            searched_files=part.files,
            unknown=unknown_words(question, words.idf),
            idf=words.idf,
            searched_chunks=part.chunks,
            share=part_stats,
        )

    def rank_files(
        self,
        question: RankQuery,
        open_terms: Sequence[OpenedTerms],
        masks: Sequence[BoolArray | None],
        limit: int,
        cancellation: Cancellation,
    ) -> list[RankedFile]:
        """Rank files by their own scores, best first, without files of score 0. Raises `Cancelled`."""
        collection = make_collection(open_terms, masks)
        if not collection.chunks:
            return []
        with collection.scratch.buffer() as buffer:
            order = self._order(collection, question, cancellation, buffer)
            return describe_files(order, order.best_files(limit))

    def _order(
        self,
        collection: ChunkCollection,
        question: RankQuery,
        cancellation: Cancellation,
        buffer: ScratchBuffer,
        limit: int | None = None,
    ) -> RankOrder:
        """Score the files of a collection, or only the files of the `limit` best chunks if no scorer needs all."""
        words = score(collection, question.scored_terms, self.weights, cancellation, buffer, related=question.related)
        # A scorer may raise any file, so the best candidates are not known before it ran.
        if self.scorers:
            limit = None

        lists = file_lists(collection, words, question, self.lists, limit)
        for scorer in self.scorers:
            cancellation.check()
            self._add(scorer, RankOrder(collection, words, lists), question, cancellation)

        return RankOrder(collection, words, lists, limit)

    def _add(self, scorer: Scorer, order: RankOrder, question: RankQuery, cancellation: Cancellation) -> None:
        collection = order.collection
        best = order.best(RankLimits(_VOTING_CHUNKS))
        request = ScoreRequest(
            question=question,
            targets=[open_terms.target for open_terms in collection.open_terms],
            snapshots=[open_terms.snapshot for open_terms in collection.open_terms],
            scores=scores_by_target(collection, order.scores),
            chunks=describe_chunks(collection, best, describe_files(order, best.files)),
        )
        scores = scorer.scores(request, cancellation)
        if scores is not None:
            order.lists.add(scorer.name, scorer.weight * scores_of_targets(collection, scores))


def describe_files(order: RankOrder, files: Sequence[int]) -> list[RankedFile]:
    """Return ranked files by their numbers, with the share of each list in their scores."""
    collection, lists = order.collection, order.lists
    ranked_files = []
    for file, file_score in zip(files, order.scores_of(files), strict=True):
        target, view_file = collection.view_file(file)
        open_terms = collection.open_terms[target]
        kind = int(collection.kinds[file])
        factor = float(lists.factors[kind]) / order.max_total
        ranked_files.append(
            RankedFile(
                target=replace(open_terms.target, commit=open_terms.commit),
                path=open_terms.snapshot.view.path(view_file),
                score=file_score,
                kind=reported_kind(kind),
                lists={name: float(scores[file]) * factor for name, scores in lists.lists.items()},
            )
        )

    return ranked_files


def describe_chunks(
    collection: ChunkCollection, best: BestChunks, ranked_files: Sequence[RankedFile]
) -> list[RankedChunk]:
    """Return the best chunks.

    Parameters
    ----------
    collection
        The collection of the chunks.
    best
        Numbers of the chunks and of their files.
    ranked_files
        The files of `best`, in the same order.
    """
    file_index = {file: index for index, file in enumerate(best.files)}
    names_of = _definition_names(collection, best.chunks)
    ranked_chunks = []
    for chunk, chunk_score in best.chunks:
        block, row = collection.table_chunk(chunk)
        start, end = collection.blocks[block].lines_of(row)
        index = file_index[int(collection.file_of[chunk])]
        file = ranked_files[index]
        ranked_chunks.append(
            RankedChunk(
                target=file.target,
                path=file.path,
                begin_line=start,
                end_line=end,
                score=chunk_score,
                kind=file.kind,
                symbols=names_of[chunk],
                file=index,
            )
        )

    return ranked_chunks


def _definition_names(collection: ChunkCollection, chunks: Sequence[ScoredChunk]) -> dict[int, tuple[str, ...]]:
    """Return the names of the definitions that begin in each chunk, by its number."""
    # Ascending, so that the names of each block are read in one call.
    numbers = np.array(sorted(chunk for chunk, _ in chunks), dtype=np.int64)
    names_of_chunks = definition_names(collection, numbers)
    return {
        number: tuple(name.decode(errors="replace") for name in names)
        for number, names in zip(numbers.tolist(), names_of_chunks, strict=True)
    }
