"""The explanation of a query, as data and as text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sourcelight.core.markup.counts import count_of

_WITHOUT_INDEX = {("symbol",), ("message",), ("changed line",), ("changed file",)}


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
    from_index: bool
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
        f"{explanation.query}",
        f"read as {explanation.pattern_type} ({explanation.pattern_type_source})",
        "",
        explanation.tree_text,
    ]
    for number, meaning in enumerate(explanation.alternatives, 1):
        lines += [
            "",
            f"Alternative {number} of {len(explanation.alternatives)}"
            if len(explanation.alternatives) > 1
            else "Searches",
        ]
        lines += [f"  {text}" for text in _alternative_lines(meaning)]

    if explanation.warnings:
        lines += ["", "Warnings"]
        lines += [
            f"  - {warning.message}{f'; {warning.fix}' if warning.fix else ''}" for warning in explanation.warnings
        ]

    return lines


def _alternative_lines(meaning: AlternativeMeaning) -> list[str]:
    hidden_count = meaning.repositories - len(meaning.names)
    noun = "repository" if meaning.repositories == 1 else "repositories"
    suffix = f" and {hidden_count:,} more" if hidden_count else ""
    names = f": {', '.join(meaning.names)}{suffix}" if meaning.names else ""
    lines = [f"{meaning.repositories:,} {noun}{names}"]
    if meaning.forks_left_out or meaning.archived_left_out:
        lines.append(f"left out: forks {meaning.forks_left_out:,}, archived repositories {meaning.archived_left_out:,}")

    lines.append(
        f"results: {', '.join(meaning.types) or 'none'}{f', reduced to {meaning.select}' if meaning.select else ''}"
    )
    for item in meaning.filters:
        count = "" if item.files is None else f" ({count_of(item.files, 'file')})"
        lines.append(f"{item.text}: {item.meaning}{count}")

    if meaning.files:
        lines.append(f"{meaning.passing:,} of {meaning.files:,} files pass the filters")

    for pattern in meaning.patterns:
        lines.append(
            f"{pattern.kind} {pattern.text} in {' or '.join(pattern.fields) or 'nothing'}, per {pattern.evaluated}"
        )
        if pattern.fields in _WITHOUT_INDEX:
            continue

        lines.append(f"  every match contains: {pattern.required or 'no text that the index can select by'}")
        candidates = (
            f"{pattern.candidate_units:,} of {pattern.units:,} blocks of text ({_size(pattern.candidate_bytes)})"
        )
        lines.append(f"  the index leaves {candidates}")

    if any(pattern.fields not in _WITHOUT_INDEX for pattern in meaning.patterns):
        lines.append(f"reads {_size(meaning.read_bytes)} of {_size(meaning.text_bytes)}")

    limit = "no limit of matches" if meaning.limit is None else f"stops after {meaning.limit:,} matches"
    timeout = "" if meaning.timeout_s is None else f" or {meaning.timeout_s:g} s"
    lines.append(f"{limit}{timeout}")
    if meaning.looked_at < meaning.repositories and meaning.files:
        lines.append(f"these numbers cover only {count_of(meaning.looked_at, 'repository')}")

    return lines


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count / 1e3:,.1f} kB"
