"""A few matched lines as objects, and their JSON.

`raw_matches` handles thousands of lines with a fixed number of calls of numpy. For a dozen lines, these calls take
longer than a loop over them: each has a cost of its own, and between two searches its code leaves the processor's
caches. Both write the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from sourcelight.core.batches.codecs.encode_files import name_range
from sourcelight.core.batches.codecs.raw_matches import RawMatchBatch, RawMatches, RepositoryRevision, location_text
from sourcelight.core.batches.codecs.wire_columns import CodedValues, file_endings
from sourcelight.core.batches.events import RepositoryInfo
from sourcelight.core.wire.encode import dump

_SEPARATOR = "\x7f"
_SPLIT = b',"\x7f",'
"""A separator between two lists in JSON. Within a text, a quote has a backslash before it."""


FewRow: TypeAlias = Mapping[str, Any]
"""A matched line as the wire has it: its text, its 0-based number, and the start and length of its spans."""


@dataclass(frozen=True)
class FewMatches:
    """Files with a few matched lines, in display order.

    Attributes
    ----------
    locations, location_index
        Distinct repositories at a revision, and the index of the location of each file.
    file_values
        Other columns of files, by name.
    paths, path_json, file_numbers
        The path of each file, its JSON text without quotes, and its number in the corpus of the search.
    names
        Spans in paths, in code points, by the index of the file.
    rows
        The matched lines of each file; none where its path alone matches.
    counts
        Matches in each file; 1 where its path alone matches.
    make_raw
        Makes the same matches as arrays.
    """

    locations: Sequence[RepositoryRevision]
    location_index: Sequence[int]
    file_values: Mapping[str, CodedValues]
    paths: Sequence[bytes]
    path_json: Sequence[bytes]
    file_numbers: Sequence[int]
    names: Mapping[int, Sequence[tuple[int, int]]]
    rows: Sequence[Sequence[FewRow]]
    counts: Sequence[int]
    make_raw: Callable[[], RawMatches]

    @property
    def total(self) -> int:
        """Number of matches."""
        return sum(self.counts)

    @property
    def repositories(self) -> list[str]:
        """Names of the repositories with a match, in the order of `locations`."""
        return list(dict.fromkeys([self.locations[index].repository for index in sorted(set(self.location_index))]))

    @cached_property
    def raw(self) -> RawMatches:
        """The matches as arrays."""
        return self.make_raw()

    def payload(self, repositories: Mapping[str, RepositoryInfo]) -> bytes:
        """Return the JSON array of all matches; `raw_payloads` gives an array for each run of files of one kind."""
        locations = {index: location_text(self.locations[index], repositories) for index in set(self.location_index)}
        values = {
            name: ({code: of_code[code] for code in set(codes.tolist())}, codes.tolist())
            for name, (of_code, codes) in self.file_values.items()
        }
        endings = file_endings(values, len(self.rows))
        keys = [locations[index] for index in self.location_index]
        for index, spans in self.names.items():
            path_text = str(self.paths[index], "utf-8", "replace")
            ranges = b'"pathMatches":%b' % dump([name_range(path_text, start, end) for start, end in spans])
            if self.rows[index]:
                keys[index] = b"%b,%b" % (ranges, keys[index])
            else:
                endings[index] = b"%b,%b}" % (endings[index][:-1], ranges)

        files = []
        for path, key, lines, ending in zip(self.path_json, keys, self._lines(), endings, strict=True):
            if lines == b"[]":
                files.append(b'{"type":"path","path":"%b",%b%b' % (path, key, ending))
            else:
                files.append(
                    b'{"type":"content","path":"%b",%b,"hunks":null,"lineMatches":%b%b' % (path, key, lines, ending)
                )
        return b"[%b]" % b",".join(files)

    def _lines(self) -> list[bytes]:
        """Return the JSON array of the lines of each file, written by one call."""
        lists: list[Any] = [_SEPARATOR] * (2 * len(self.rows) - 1)
        lists[::2] = self.rows
        return dump(lists)[1:-1].split(_SPLIT)


class FewMatchBatch(RawMatchBatch):
    """A ``matches`` event of a few lines, whose arrays are made on demand, too."""

    __slots__ = ("few",)

    few: FewMatches

    def __init__(self, matches: FewMatches, repositories: tuple[RepositoryInfo, ...] = ()) -> None:
        # As in the base class, whose field `raw` is a property here.
        object.__setattr__(self, "few", matches)
        object.__setattr__(self, "repositories", repositories)

    @property
    def raw(self) -> RawMatches:  # type: ignore[override]  # a property in place of a slot
        """The matches as arrays."""
        return self.few.raw

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum([len(rows) or 1 for rows in self.few.rows])
