"""Choosing quotes among ranked chunks: the best, no two that say the same, few of one file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sourcelight.engines.deepsearch.away import Asked, away
from sourcelight.engines.deepsearch.citations.check__lines import lines_of
from sourcelight.engines.deepsearch.citations.pins import Pins
from sourcelight.engines.deepsearch.evidence.model import FileEvidence
from sourcelight.engines.deepsearch.evidence.windows import best_window
from sourcelight.engines.deepsearch.safety import is_hidden_file
from sourcelight.engines.execution import Engine
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking import RankedChunk
from sourcelight.engines.search.ranking.tokenizer import TOKEN
from sourcelight.engines.tools import CallContext

QUOTES = 8
MOST_QUOTED_LINES = 120
PER_FILE = 4
_ALIKE = 0.75
_COMMENT = re.compile(r"\s*(?:/[/*]|\*)")
_PROTOTYPE = re.compile(r"[A-Za-z_][\w\s*]*[\s*]\w+\([^{}]*\)[^{}]*;\s*$")
_LEAST_DECLARED, _MOSTLY = 4, 0.8


@dataclass(slots=True)
class Texts:
    """The lines of files at pinned commits, each file read once."""

    context: CallContext
    _known: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)

    @property
    def engine(self) -> Engine:
        """What reads them."""
        return self.context.engine

    def lines(self, target: Target, path: str) -> list[str]:
        """Give a file's lines; none for one that can't be read."""
        key = target.repository.key, target.commit, path
        if key not in self._known:
            pins = Pins((target,))
            found = away("lines", Asked.of(pins, path=path), self.context)
            read = lines_of(self.engine.store.read(target, path) or b"") if found is None else found.value
            self._known[key] = read
        return self._known[key]

    def evidence(self, target: Target, path: str, begin: int, end: int, role: str, score: float = 0.0,
                 symbols: tuple[str, ...] = ()) -> FileEvidence:  # fmt: skip
        """Make evidence of lines `begin` to `end`."""
        text = "\n".join(self.lines(target, path)[begin - 1 : end])
        return FileEvidence(target.repository.name, target.commit, path, begin, end, text, role, score, symbols)


@dataclass(slots=True)
class Chooser:
    """Takes quotes until enough are there."""

    texts: Texts
    weights: Mapping[str, float]
    most_lines: int = MOST_QUOTED_LINES
    quoted: int = 0
    _names: list[frozenset[bytes]] = field(default_factory=list)
    _per_file: dict[tuple[str, str], int] = field(default_factory=dict)
    _taken: list[tuple[str, str, int, int]] = field(default_factory=list)

    def choose(self, chunks: Sequence[RankedChunk], role: str, most: int, *, window: int = 15) -> list[FileEvidence]:
        """Choose up to `most` quotes from chunks, best first; prototypes only where there is nothing else."""
        return self._chosen(chunks, role, most, window, bare=False) or self._chosen(
            chunks, role, most, window, bare=True
        )

    def _chosen(
        self, chunks: Sequence[RankedChunk], role: str, most: int, window: int, *, bare: bool
    ) -> list[FileEvidence]:
        found: list[FileEvidence] = []
        for chunk in chunks:
            if len(found) >= most or self.quoted >= self.most_lines:
                break
            quote = self._quote(chunk, role, window, bare=bare)
            if quote is not None:
                found.append(quote)
        return found

    def _quote(self, chunk: RankedChunk, role: str, window: int, *, bare: bool) -> FileEvidence | None:
        file = chunk.target.repository.name, chunk.path
        if is_hidden_file(chunk.path) or self._per_file.get(file, 0) >= PER_FILE:
            return None
        lines = self.texts.lines(chunk.target, chunk.path)[chunk.begin_line - 1 : chunk.end_line]
        if not any(line.strip() for line in lines):
            return None
        if _only_declares(lines) and not bare:
            return None
        names = frozenset(TOKEN.findall("\n".join(lines).encode()))
        if any(_likeness(names, other) > _ALIKE for other in self._names):
            return None
        first, last = best_window(lines, self.weights, min(window, self.most_lines - self.quoted))
        begin, end = chunk.begin_line + first, chunk.begin_line + last
        if self.overlaps(*file, begin, end):
            return None
        quote = self.texts.evidence(chunk.target, chunk.path, begin, end, role, chunk.score, chunk.symbols)
        self._names.append(names)
        self.take(quote)
        return quote

    def overlaps(self, repository: str, path: str, begin: int, end: int) -> bool:
        """Tell whether some of these lines are quoted already."""
        return any(
            (repository, path) == (other[0], other[1]) and begin <= other[3] and other[2] <= end
            for other in self._taken
        )

    def take(self, quote: FileEvidence) -> None:
        """Count a quote, wherever it came from."""
        file = quote.repository, quote.path
        self._per_file[file] = self._per_file.get(file, 0) + 1
        self._taken.append((*file, quote.begin_line, quote.end_line))
        self.quoted += quote.end_line - quote.begin_line + 1


def _only_declares(lines: Sequence[str]) -> bool:
    """Tell whether lines are prototypes, as those of headers in C: they say that something is somewhere else."""
    said = [line for line in lines if line.strip() and not _COMMENT.match(line)]
    declared = sum(_PROTOTYPE.match(line) is not None for line in said)
    return declared >= _LEAST_DECLARED and declared >= _MOSTLY * len(said)


def _likeness(one: frozenset[bytes], other: frozenset[bytes]) -> float:
    together = len(one | other)
    return len(one & other) / together if together else 0.0
