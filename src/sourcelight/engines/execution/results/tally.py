"""Running counts of results and commits, and the filters that a search suggests with their counts."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sourcelight.core import arrays
from sourcelight.core.batches.codecs.few_matches import FewMatches
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.core.batches.results import most_frequent
from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.query.dates import current_time, parse_date
from sourcelight.core.query.regexps import escape_regexp, exact_name
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.core.wire.events import SuggestedFilter
from sourcelight.engines.execution.results.excludes import (
    EXCLUDES,
    sums_by_mask,
    sums_of_masks,
    sums_of_raw,
    sums_of_texts,
)

_AGES = (
    ("after", "yesterday", "Last 24 hours"),
    ("after", "1 week ago", "Last week"),
    ("after", "1 month ago", "Last month"),
    ("before", "2 months ago", "Older than 2 months"),
)

MAX_FILTERS = 1000
"""Filters of each kind that are suggested."""

_TYPES = {
    "content": ("type:file", "Code"),
    "path": ("type:path", "Paths"),
    "symbol": ("type:symbol", "Symbols"),
    "repo": ("type:repo", "Repositories"),
    "commit": ("type:commit", "Commits"),
    "diff": ("type:diff", "Diffs"),
}
"""Filter and label of each type of rows."""

_SELECTED = {"enummember": "enum-member", "typeparameter": "type-parameter"}
"""Kinds whose spelling in ``select:symbol.`` differs."""

_LABELS = {regexp: label for label, regexp in EXCLUDES}

K = TypeVar("K")


class CommitCounts:
    """Counts each commit once while its rows pass; rows of one commit must be adjacent.

    Parameters
    ----------
    now
        Returns the time that ages count from.
    """

    def __init__(self, now: Callable[[], datetime] = current_time) -> None:
        moment = now()
        self._bounds = [parse_date(text, moment).timestamp() for _, text, _ in _AGES]
        self._by_age = [0] * len(_AGES)
        self._by_author: dict[str, Counter[str]] = {}
        self._last = ("", "")

    def add(self, batch: Any) -> None:
        """Count the commits of `batch`."""
        rows = MatchRows(batch)
        if not len(rows) or "commit_date" not in rows:
            return

        codes = np.stack((rows.codes("repository"), rows.codes("commit")))
        # A commit starts where the repository or the hash differs from the row before: rows of a commit are adjacent.
        # `True` is for the first row, which has no previous row.
        first = np.flatnonzero(np.concatenate(([True], (codes[:, 1:] != codes[:, :-1]).any(axis=0))))
        ends = [
            (rows.texts("repository", [row])[0] or "", rows.texts("commit", [row])[0] or "") for row in (0, first[-1])
        ]

        # A commit may continue from the batch before. Codes are of this batch's dictionary, so texts are compared.
        if ends[0] == self._last:
            first = first[1:]

        self._last = ends[1]
        first_rows = arrays.arrow_array(first)
        names, emails = (rows.column(name).take(first_rows).cast(pa.string()) for name in ("author", "author_email"))
        authors = pa.table({"name": names, "email": emails}).group_by(["name", "email"]).aggregate([([], "count_all")])
        for author in authors.to_pylist():
            # Filters ignore case, so addresses that differ in case alone are one filter.
            value = (author["email"] or author["name"] or "").lower()
            self._by_author.setdefault(value, Counter())[author["name"] or value] += author["count_all"]

        dates = (
            rows.column("commit_date")
            .take(first_rows)
            .drop_null()
            .cast(pa.timestamp("s", "UTC"), safe=False)
            .cast(pa.int64())
        )
        # Rows without a date are dropped: they are in no age, but count for their author.
        seconds = np.asarray(dates)
        for number, ((side, _, _), bound) in enumerate(zip(_AGES, self._bounds, strict=True)):
            self._by_age[number] += int((seconds > bound if side == "after" else seconds < bound).sum())

    def filters(self, limit: int, *, exhaustive: bool) -> Iterator[SuggestedFilter]:
        """Return filters that narrow the search to an author, by address, or to an age; at most `limit` authors."""
        counts = Counter({value: names.total() for value, names in self._by_author.items() if value})
        for value, count in most_frequent(counts, limit):
            (name, _), *_ = most_frequent(self._by_author[value], 1)
            yield SuggestedFilter(
                value=f"author:{quote_value(f'^{escape_regexp(value)}$')}",
                label=name,
                count=count,
                exhaustive=exhaustive,
                kind="author",
            )

        for (side, text, label), count in zip(_AGES, self._by_age, strict=True):
            if count:
                yield SuggestedFilter(
                    value=f"{side}:{quote_value(text)}",
                    label=label,
                    count=count,
                    exhaustive=exhaustive,
                    kind="commit date",
                )


class Tally:
    """The counts of a search so far. `add` costs a few vector operations per batch of any size.

    Parameters
    ----------
    typed
        Whether to suggest ``type:`` filters. Rows that ``select:`` has converted would be counted under a wrong type.
    """

    def __init__(self, *, typed: bool = True) -> None:
        self._typed = typed
        self.matches = 0
        self.repositories: set[str] = set()
        # Plain dictionaries: `Counter` is written in Python, and small searches count a few things once.
        self._by_location: dict[tuple[str, str], int] = {}
        self._by_language: dict[str, int] = {}
        self._by_type: dict[str, int] = {}
        self._by_kind: dict[str, int] = {}
        self._by_exclude: dict[str, int] = {}
        self._commits: CommitCounts | None = None
        self._paths: list[tuple[Any, Any]] = []
        self._raw_paths: list[tuple[Sequence[bytes], Any]] = []
        self._last_file: tuple[str | None, ...] = ()

    def add(self, batch: Any) -> None:
        """Count the matches of `batch`."""
        names = batch.schema.names
        counts = MatchRows(batch).numbers("match_count")
        self.matches += int(counts.sum())
        kinds = _weigh(batch.column(names.index("type")), counts)
        _add_counts(self._by_type, kinds)
        by_repository = _weigh(batch.column(names.index("repository")), counts, keep_zero=True)
        self.repositories.update(by_repository)
        if "repo" not in kinds:
            _add_counts(self._by_location, _sums_by_location(batch, by_repository, counts))

        if "language" in names:
            _add_counts(self._by_language, _weigh(batch.column(names.index("language")), counts))

        if "name_start" in names and kinds.get("content"):
            _add_counts(self._by_type, {"path": self._named_files(batch)})

        if "path" in names:
            self._paths.append(_by_path(batch.column(names.index("path")), counts))

        if "author" in names:
            self._commits = self._commits or CommitCounts()
            self._commits.add(batch)

        if "symbol_kind" in names:
            _add_counts(self._by_kind, _weigh(batch.column(names.index("symbol_kind")), counts))

    def add_raw(self, raw: RawMatches, excludes: arrays.UInt8Array | None = None) -> None:
        """Count raw matches, which have no record batch yet.

        `excludes` has the `exclude_masks` of all files by number, if they are known.
        """
        counts = raw.file_matches
        total = int(counts.sum())
        self.matches += total
        in_content = int(counts[raw.in_content].sum())

        # A file that matches by its content and by its path is of both types.
        in_both = sum(bool(raw.in_content[index]) for index in raw.names)
        for kind, number in (("content", in_content), ("path", total - in_content + in_both)):
            if number:
                _add_counts(self._by_type, {kind: number})

        size = len(raw.locations)
        # `bincount` sums weights as floats, which are exact for integers up to 2**53.
        sums = np.bincount(raw.location_index, weights=counts, minlength=size).tolist()
        for index in np.bincount(raw.location_index, minlength=size).nonzero()[0].tolist():
            name, _, revision, _ = raw.locations[index]
            self.repositories.add(name)
            location = name, "" if revision == "WORKTREE" else revision
            self._by_location[location] = self._by_location.get(location, 0) + int(sums[index])

        languages, codes = raw.file_values["language"]
        sums_by_code = np.bincount(codes, weights=counts, minlength=len(languages))
        for index in sums_by_code.nonzero()[0].tolist():
            language = languages[index]
            self._by_language[language] = self._by_language.get(language, 0) + int(sums_by_code[index])

        if excludes is None or raw.file_numbers is None:
            self._raw_paths.append((raw.paths, counts))
        else:
            _add_counts(self._by_exclude, sums_by_mask(excludes[raw.file_numbers], counts))

    def add_few(self, few: FewMatches, excludes: arrays.UInt8Array | None) -> None:
        """Count a few matches, as `add_raw` does."""
        total = few.total
        self.matches += total
        # A file that matches by its content and by its path is of both types.
        in_content = total - few.rows.count([])
        _add_counts(self._by_type, {"content": in_content, "path": len(few.names)})

        for index, count in sorted(_sums(few.location_index, few.counts).items()):
            name, _, revision, _ = few.locations[index]
            self.repositories.add(name)
            _add_counts(self._by_location, {(name, "" if revision == "WORKTREE" else revision): count})

        languages, codes = few.file_values["language"]
        for code, count in sorted(_sums(codes.tolist(), few.counts).items()):
            _add_counts(self._by_language, {languages[code]: count})

        if excludes is None:
            self._raw_paths.append((few.paths, np.array(few.counts)))
        else:
            masks = _sums([int(excludes[number]) for number in few.file_numbers], few.counts)
            _add_counts(self._by_exclude, sums_of_masks(masks))

    def _named_files(self, batch: Any) -> int:
        """Return files of a batch that match by their content and by their path."""
        rows = MatchRows(batch)
        with_name = np.flatnonzero(rows.lists("name_start")[0])
        if len(with_name):
            types = rows.column("type").take(arrays.arrow_array(with_name)).cast(pa.string())
            with_name = with_name[arrays.to_numpy(pc.is_in(types, value_set=arrays.arrow_strings(["content"])))]

        if not len(with_name):
            return 0

        columns = [name for name in ("repository", "revision", "commit", "path") if name in rows]
        # A set, because `np.unique` loads the masked arrays of numpy on its first call.
        count = len(set(zip(*(rows.codes(name)[with_name].tolist() for name in columns), strict=True)))
        files = [tuple(rows.texts(name, [row])[0] for name in columns) for row in with_name[[0, -1]].tolist()]

        # The rows of a file may be in two batches.
        count -= files[0] == self._last_file
        self._last_file = files[1]
        return count

    def filters(  # noqa: PLR0912 - a loop for each kind: a small search has a few of each
        self, *, exhaustive: bool, forks: int, archived: int
    ) -> tuple[SuggestedFilter, ...]:
        """Return suggested filters, in the order of the wire: utility and type first, then by count, then by value."""
        if self._paths:
            paths, sums = zip(*self._paths, strict=True)
            _add_counts(self._by_exclude, sums_of_texts(pa.concat_arrays(paths), np.concatenate(sums)))
            self._paths.clear()

        # Paths are tested only here, once per search: `add` runs for each batch while results stream.
        for raw, counts in self._raw_paths:
            _add_counts(self._by_exclude, sums_of_raw(raw, counts))

        self._raw_paths.clear()
        first: list[SuggestedFilter] = []
        for count, value, label in (
            (forks, "fork:yes", "Include forked repos"),
            (archived, "archived:yes", "Include archived repos"),
        ):
            if count:
                first.append(SuggestedFilter(value, label, count, exhaustive, "utility"))
        for kind, count in self._by_type.items():
            if count and self._typed and kind in _TYPES:
                first.append(SuggestedFilter(*_TYPES[kind], count, exhaustive, "type"))

        # Sorted below: the most frequent are chosen first where there are very many.
        remaining: list[SuggestedFilter] = []
        for (name, revision), count in _items_of(self._by_location):
            if count:
                value = _repository_filter(name, revision)
                remaining.append(SuggestedFilter(value, name, count, exhaustive, "repo"))
        for name, count in _items_of(self._by_language):
            if count and name:
                remaining.append(SuggestedFilter(_language_filter(name), name, count, exhaustive, "lang"))
        for regexp, count in self._by_exclude.items():
            if count:
                remaining.append(SuggestedFilter(f"-file:{regexp}", _LABELS[regexp], count, exhaustive, "file"))
        for kind, count in _items_of(self._by_kind):
            if count:
                value = f"select:symbol.{_SELECTED.get(kind, kind)}"
                remaining.append(SuggestedFilter(value, kind.title(), count, exhaustive, "symbol type"))
        if self._commits is not None:
            remaining += self._commits.filters(MAX_FILTERS, exhaustive=exhaustive)

        first.sort(key=_by_count)
        remaining.sort(key=_by_count)
        return (*first, *remaining)


def _items_of(counts: Mapping[K, int]) -> Iterable[tuple[K, int]]:
    return counts.items() if len(counts) <= MAX_FILTERS else most_frequent(counts, MAX_FILTERS)


# Most searches suggest filters for some of the same repositories and languages.
@functools.lru_cache(maxsize=1024)
def _repository_filter(name: str, revision: str) -> str:
    return f"repo:{quote_value(exact_name(name) + (f'@{revision}' if revision else ''))}"


@functools.lru_cache(maxsize=1024)
def _language_filter(name: str) -> str:
    return f"lang:{quote_value(name.lower())}"


def _add_counts(totals: dict[K, int], counts: Mapping[K, int]) -> None:
    """Add counts to totals by key."""
    for key, count in counts.items():
        totals[key] = totals.get(key, 0) + count


def _sums(keys: Sequence[int], counts: Sequence[int]) -> dict[int, int]:
    """Return the sum of the counts with each key."""
    sums: dict[int, int] = {}
    for key, count in zip(keys, counts, strict=True):
        sums[key] = sums.get(key, 0) + count
    return sums


def _sums_by_location(batch: Any, by_repository: dict[str, int], counts: Any) -> dict[tuple[str, str], int]:
    """Return sums by repository and requested revision; empty for the default one and for work trees."""
    index = batch.schema.get_field_index("revision")
    by_revision = _weigh(batch.column(index), counts, keep_zero=True) if index >= 0 else {"": 0}
    if by_revision.keys() <= {"", "WORKTREE"}:
        return {(name, ""): n for name, n in by_repository.items()}

    name, revision = (batch.column(batch.schema.get_field_index(column)) for column in ("repository", "revision"))
    names, revisions = name.dictionary.to_pylist(), revision.dictionary.to_pylist()

    # A pair of codes as one number, row-major; int64, since the product of two int32 codes can overflow.
    positions = arrays.to_numpy(name.indices).astype(np.int64) * len(revisions)
    positions += arrays.to_numpy(revision.indices)
    sums = np.bincount(positions, weights=counts)
    sums_by_location: Counter[tuple[str, str]] = Counter()
    for position in np.flatnonzero(sums).tolist():
        revision_name = revisions[position % len(revisions)]
        sums_by_location[names[position // len(revisions)], "" if revision_name == "WORKTREE" else revision_name] += (
            int(sums[position])
        )

    return dict(sums_by_location)


def _by_path(column: Any, counts: Any) -> tuple[Any, Any]:
    """Return the paths that occur, and the sum of `counts` for each."""
    codes = _codes(column)
    seen = codes >= 0
    sums = np.bincount(codes[seen], weights=counts[seen], minlength=len(column.dictionary))
    indices = np.flatnonzero(sums)
    return column.dictionary.take(arrays.arrow_array(indices)).cast(pa.string()), sums[indices]


def _codes(column: Any) -> arrays.AnyArray:
    """Return the number of each value of a dictionary column, or -1 for null."""
    return arrays.to_filled(column.indices, -1)


def _by_count(item: SuggestedFilter) -> tuple[int, str]:
    return -item.count, item.value


def _weigh(column: Any, counts: Any, *, keep_zero: bool = False) -> dict[str, int]:
    """Add up `counts` by the value of a dictionary column; values that do not occur are left out."""
    codes = _codes(column)
    values = column.dictionary.to_pylist()
    seen = codes >= 0
    sums = np.bincount(codes[seen], weights=counts[seen], minlength=len(values))
    present = np.bincount(codes[seen], minlength=len(values)) if keep_zero else sums
    return {value: int(n) for value, n, is_present in zip(values, sums, present, strict=True) if is_present}
