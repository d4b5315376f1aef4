"""The explanation of a query, as data and as text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sourcelight.core.markup.counts import count_of

_WITHOUT_INDEX = {("symbol",), ("message",), ("changed line",), ("changed file",)}
"""Fields of patterns that are looked for outside of the text index, so that it has no figures about them."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One suggestion: its `kind`, how the text is read, what to do (`fix`), and a `query` to try."""

    kind: str
    message: str
    fix: str = ""
    query: str = ""


@dataclass(frozen=True, slots=True)
class FilterMeaning:
    """A filter as written, its meaning, and the number of files that pass it alone.

    For ``repo:`` there are the repositories that all filters together leave.
    """

    text: str
    meaning: str
    files: int | None = None
    repositories: int | None = None


@dataclass(frozen=True, slots=True)
class PatternMeaning:
    """A pattern and its cost.

    `fields` lists ``content`` and ``path``, or one of ``symbol``, ``message`` and ``changed line``, and all of them are
    read. `required` is the text that every match must contain, empty if unknown. `evaluated` is ``line``, or
    ``document`` for a pattern that can cross lines. After the index has ruled out the rest, `candidate_units` of
    `units` blocks of text may contain a match; they have `candidate_bytes` bytes.
    """

    text: str
    kind: str
    fields: tuple[str, ...]
    required: str
    evaluated: str
    candidate_units: int
    candidate_bytes: int
    units: int


@dataclass(frozen=True, slots=True)
class AlternativeMeaning:
    """One alternative: its scope, and the share that it reads.

    `names` are up to twenty of the `repositories` searched. Of `files` files in those, `passing` pass the filters.
    `read_bytes` of `text_bytes` are read to answer. `limit` and `timeout_s` are None without a limit.
    `looked_at` is smaller than `repositories` if time ran out.
    """

    types: tuple[str, ...]
    filters: tuple[FilterMeaning, ...]
    patterns: tuple[PatternMeaning, ...]
    repositories: int
    names: tuple[str, ...]
    forks_left_out: int
    archived_left_out: int
    repository_hits: int
    files: int
    passing: int
    read_units: int
    units: int
    read_bytes: int
    text_bytes: int
    limit: int | None
    timeout_s: float | None
    select: str
    phrase: str
    looked_at: int
    without_index: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a query over the repositories that the reader may see.

    `tree` is the canonical form in plain lists and dicts, `tree_text` the same to be read. `pattern_type_source` says
    where the pattern type comes from: the query, an argument, or the default, even if the caller passed that value.
    """

    query: str
    pattern_type: str
    pattern_type_source: str
    tree: Any
    tree_text: str
    alternatives: tuple[AlternativeMeaning, ...]
    warnings: tuple[Advice, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists, dicts, texts and numbers."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _lines(explanation: Explanation) -> list[str]:
    lines = [
        explanation.query,
        f"read as {explanation.pattern_type} ({explanation.pattern_type_source})",
        "",
        explanation.tree_text,
    ]
    count = len(explanation.alternatives)
    for number, meaning in enumerate(explanation.alternatives, 1):
        heading = "Searches"
        if count > 1:
            heading = f"Alternative {number} of {count}"
        lines += ["", heading]
        lines += [f"  {text}" for text in _alternative_lines(meaning)]

    if explanation.warnings:
        lines += ["", "Warnings"]
        lines += map(_warning_line, explanation.warnings)

    return lines


def _warning_line(warning: Advice) -> str:
    line = f"  - {warning.message}"
    if warning.fix:
        line += f"; {warning.fix}"
    return line


def _alternative_lines(meaning: AlternativeMeaning) -> list[str]:
    lines = [_repositories_line(meaning)]
    if meaning.forks_left_out or meaning.archived_left_out:
        lines.append(f"left out: forks {meaning.forks_left_out:,}, archived repositories {meaning.archived_left_out:,}")

    results = f"results: {', '.join(meaning.types) or 'none'}"
    if meaning.select:
        results += f", reduced to {meaning.select}"
    lines.append(results)

    for item in meaning.filters:
        line = f"{item.text}: {item.meaning}"
        if item.files is not None:
            line += f" ({count_of(item.files, 'file')})"
        lines.append(line)

    if meaning.files:
        lines.append(f"{meaning.passing:,} of {meaning.files:,} files pass the filters")

    for pattern in meaning.patterns:
        lines += _pattern_lines(pattern)

    if any(pattern.fields not in _WITHOUT_INDEX for pattern in meaning.patterns):
        lines.append(f"reads {_size_text(meaning.read_bytes)} of {_size_text(meaning.text_bytes)}")

    limits = "no limit of matches"
    if meaning.limit is not None:
        limits = f"stops after {meaning.limit:,} matches"
    if meaning.timeout_s is not None:
        limits += f" or {meaning.timeout_s:g} s"
    lines.append(limits)

    if meaning.looked_at < meaning.repositories and meaning.files:
        lines.append(f"these numbers cover only {count_of(meaning.looked_at, 'repository')}")

    return lines


def _repositories_line(meaning: AlternativeMeaning) -> str:
    line = count_of(meaning.repositories, "repository")
    if meaning.names:
        line += f": {', '.join(meaning.names)}"
        hidden_count = meaning.repositories - len(meaning.names)
        if hidden_count:
            line += f" and {hidden_count:,} more"
    return line


def _pattern_lines(pattern: PatternMeaning) -> list[str]:
    fields = " or ".join(pattern.fields) or "nothing"
    lines = [f"{pattern.kind} {pattern.text} in {fields}, per {pattern.evaluated}"]
    if pattern.fields not in _WITHOUT_INDEX:
        units = f"{pattern.candidate_units:,} of {pattern.units:,} blocks of text"
        lines.append(f"  every match contains: {pattern.required or 'no text that the index can select by'}")
        lines.append(f"  the index leaves {units} ({_size_text(pattern.candidate_bytes)})")
    return lines


def _size_text(size_bytes: int) -> str:
    if size_bytes >= 100_000:
        return f"{size_bytes / 1e6:,.1f} MB"
    return f"{size_bytes / 1e3:,.1f} kB"
