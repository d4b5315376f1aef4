"""Rank raw matches as `FileRanker` ranks record batches, without making one.

All files are ranked together, so this is only for searches of which no limit leaves anything out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.compute as pc

from sourcelight.core.arrays import BoolArray, Float64Array, Int64Array, arrow_array, arrow_strings, runs, to_numpy
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.engines.execution.results import scores
from sourcelight.engines.execution.results.ranking import FileRanker


def rank_raw(matches: RawMatches, ranker: FileRanker) -> RawMatches | None:
    """Return all files, best first, or None if a line isn't UTF-8, which only raw matches keep unchanged.

    Parameters
    ----------
    matches
        All matches of a search, by repository and path.
    ranker
        What files are ranked by. Its limits must not cut anything off.
    """
    if not _is_utf8(matches.data):
        return None

    paths = [str(path, "utf-8", "replace") for path in matches.paths]
    score = _scores(matches, paths, ranker)
    if ranker.phrases:
        score = np.where(_has_phrase(matches, paths, ranker), score * scores.PHRASE, score)

    locations = matches.location_index
    for index in np.flatnonzero(np.bincount(locations)).tolist():
        files = np.flatnonzero(locations == index)
        stars = ranker.stars.get(matches.locations[index].repository, 0)
        score[files] += scores.place_scores(stars, [paths[file] for file in files.tolist()])

    return take_files(matches, scores.best_first(score, paths))


def take_files(matches: RawMatches, order: Int64Array) -> RawMatches:
    """Return the files `order`, in that order."""
    file_lines = np.where(matches.in_content, matches.lengths, 0)
    lines = runs((np.cumsum(file_lines) - file_lines)[order], file_lines[order])
    spans = runs((np.cumsum(matches.counts) - matches.counts)[lines], matches.counts[lines])

    # The lines of a file stand together, so its text is one slice.
    line_ends = np.concatenate(([0], np.cumsum(matches.sizes + 1)))
    ends = line_ends[np.cumsum(file_lines)]
    starts = np.concatenate(([0], ends[:-1]))
    view, bounds = memoryview(matches.data), list(zip(starts.tolist(), ends.tolist(), strict=True))
    files = order.tolist()

    def make() -> Any:
        first_rows = np.cumsum(matches.lengths) - matches.lengths
        return matches.batch.take(arrow_array(runs(first_rows[order], matches.lengths[order])))

    return replace(
        matches,
        in_content=matches.in_content[order],
        location_index=matches.location_index[order],
        file_values={name: (values, codes[order]) for name, (values, codes) in matches.file_values.items()},
        paths=[matches.paths[file] for file in files],
        names={number: matches.names[file] for number, file in enumerate(files) if file in matches.names},
        lengths=matches.lengths[order],
        numbers=matches.numbers[lines],
        offsets=matches.offsets[lines],
        line_values={name: values.take(arrow_array(lines)) for name, values in matches.line_values.items()},
        sizes=matches.sizes[lines],
        counts=matches.counts[lines],
        matches=matches.matches[lines],
        starts=matches.starts[spans],
        ends=matches.ends[spans],
        data=b"".join([view[start:end] for start, end in (bounds[file] for file in files)]),
        make=make,
        path_json=None if matches.path_json is None else [matches.path_json[file] for file in files],
        file_numbers=None if matches.file_numbers is None else matches.file_numbers[order],
    )


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _scores(matches: RawMatches, paths: Sequence[str], ranker: FileRanker) -> Float64Array:
    """Return the score of each file from its best match."""
    score = np.zeros(len(paths), dtype=np.float64)
    if matches.names:
        spans = [(file, start, end) for file, of_file in matches.names.items() for start, end in of_file]
        score = scores.name_scores(paths, *np.array(spans, dtype=np.int64).T)

    if not len(matches.starts):
        return score

    line = np.repeat(np.arange(len(matches.numbers)), matches.counts)
    file_of_line = np.repeat(np.flatnonzero(matches.in_content), matches.lengths[matches.in_content])
    file = file_of_line[line]
    line_start = (np.cumsum(matches.sizes + 1) - matches.sizes - 1)[line]
    text = np.frombuffer(matches.data, np.uint8)
    starts, ends = matches.starts, matches.ends

    # `maximum.at`, since a file may have several matches: plain indexing would keep only the last one.
    np.maximum.at(
        score,
        file,
        scores.word_scores(text, line_start, line_start + matches.sizes[line], line_start + starts, line_start + ends),
    )
    if ranker.definitions is not None:
        base, location_of_match = matches.offsets[line], matches.location_index[file]
        for location in np.flatnonzero(np.bincount(location_of_match)).tolist():
            selected = np.flatnonzero(location_of_match == location)
            files = np.flatnonzero((matches.location_index == location) & matches.in_content)
            revision = matches.locations[location]
            definitions = ranker.definitions(
                revision.repository, revision.revision, [paths[number] for number in files.tolist()]
            )
            if definitions is not None and len(definitions.file):
                span_file = file[selected]
                span_base = base[selected]
                of_spans = scores.definition_scores(
                    definitions,
                    files[definitions.file],
                    span_file,
                    span_base + starts[selected],
                    span_base + ends[selected],
                )
                np.maximum.at(score, span_file, of_spans)

    return score


def _has_phrase(matches: RawMatches, paths: Sequence[str], ranker: FileRanker) -> BoolArray:
    """Return which files have a phrase in their path or in a matched line."""
    has_phrase = np.zeros(len(paths), dtype=np.bool_)
    lines = arrow_strings(matches.data.decode().split("\n")[:-1])
    file_of_line = np.repeat(np.flatnonzero(matches.in_content), matches.lengths[matches.in_content])
    for phrase in ranker.phrases:
        ignore = not ranker.case_sensitive
        has_phrase |= to_numpy(pc.match_substring(arrow_strings(list(paths)), phrase, ignore_case=ignore))
        if len(lines):
            in_line = to_numpy(pc.match_substring(lines, phrase, ignore_case=ignore))
            has_phrase[file_of_line[in_line]] = True

    return has_phrase
