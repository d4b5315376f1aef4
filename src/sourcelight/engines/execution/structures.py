"""The structures of a query: patterns of code in the languages whose files it searches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sourcelight.core.caching import LruCache
from sourcelight.core.errors import QueryError
from sourcelight.core.markup import count_of
from sourcelight.core.query import Alternative, Pattern
from sourcelight.core.query.alternatives import patterns_of
from sourcelight.core.query.languages import find_language
from sourcelight.core.wire.events import Skipped
from sourcelight.engines.structure.pattern import LANGUAGES, PatternReading, StructurePattern, check_installed
from sourcelight.engines.structure.pool import MAX_TEXT_BYTES, MAX_TEXT_S, shared_pool

_HINT = "try the pattern at https://ast-grep.github.io/playground.html, or name another language with lang:"
_MAX_TITLE_CHARS = 100
"""Characters of a pattern in a title."""

_readings: LruCache[tuple[str, str], PatternReading] = LruCache(1_000)


UNREAD_STRUCTURES: Mapping[str, tuple[str, str, str, str]] = {
    f"structure-{problem}": ("structure-unread", noun, label, "warn")
    for problem, noun, label in (
        (
            "too-large",
            "files too large for their structure",
            f"have more than {MAX_TEXT_BYTES >> 20} MB, so no structural pattern was searched in them",
        ),
        (
            "timed-out",
            "files too slow for their structure",
            f"took ast-grep more than {MAX_TEXT_S:g} s, so the pattern was searched only in part of them",
        ),
        ("failed", "files that ast-grep fails on", "crashed the process that searched for the pattern in them"),
    )
}
"""Reason, noun, meaning and severity of notices about files whose syntax could not be read."""


def structures_of(alternative: Alternative) -> tuple[Pattern, ...]:
    """Return the patterns of an alternative that are code."""
    if alternative.pattern is None:
        return ()
    return tuple(pattern for pattern in patterns_of(alternative.pattern) if pattern.kind == "structure")


def check_structures(alternative: Alternative) -> None:
    """Raise `QueryError` for a query of code where that can't be found, or names a language that can't be read."""
    if structures_of(alternative):
        check_installed()
        languages_of(alternative)


def languages_of(alternative: Alternative) -> tuple[str, ...]:
    """Return the languages in which an alternative looks for code; one alone where ``lang:`` names it.

    Raises
    ------
    QueryError
        It names a language whose syntax is not read here, or excludes all of the others.
    """
    filters = [(find_language(item.value) or item.value, item) for item in alternative.all("lang") if item.value]
    for name, item in filters:
        if not item.negated and name not in LANGUAGES:
            languages_text = ", ".join(LANGUAGES)
            raise QueryError(
                f"lang:{item.value}: structural search doesn't support {name}",
                query=item.value,
                hint=f"supported languages: {languages_text}",
            )

    names = list(dict.fromkeys(name for name, item in filters if not item.negated))
    left_out = {name for name, item in filters if item.negated}
    languages = tuple(names[:1]) or tuple(name for name in LANGUAGES if name not in left_out)
    if not languages:
        raise QueryError(
            "the query excludes every language that structural search supports",
            hint=f"supported: {', '.join(LANGUAGES)}",
        )

    return languages


def structure_pattern(pattern: Pattern, alternative: Alternative) -> StructurePattern:
    """Return a pattern of code in the languages of its alternative.

    A language in which it has errors is left out, unless ``lang:`` names it.

    Raises
    ------
    QueryError
        It isn't a pattern in any of them.
    """
    languages = languages_of(alternative)
    is_named = any(item.value and not item.negated for item in alternative.all("lang"))
    readings = _read(pattern.value, languages)
    problems = {name: reading.problem or _errors(reading) for name, reading in readings.items()}
    usable = [name for name in languages if not readings[name].problem and (is_named or not problems[name])]
    if not usable:
        language = languages[0] if len(languages) == 1 else "any language here"
        raise QueryError(
            f"{pattern.value!r} isn't a pattern of code in {language}: {problems[languages[0]]}",
            query=pattern.value,
            hint=_HINT,
        )

    return StructurePattern(
        text=pattern.value,
        texts=tuple((name, readings[name].texts) for name in usable),
        problems=tuple((name, problem) for name, problem in problems.items() if problem),
        language=languages[0] if is_named else "",
    )


def _errors(reading: PatternReading) -> str:
    return "the grammar can't read all of it" if reading.has_errors else ""


def _read(text: str, languages: Sequence[str]) -> Mapping[str, PatternReading]:
    readings = {name: _readings.get((text, name)) for name in languages}
    unknown = [name for name, reading in readings.items() if reading is None]
    if unknown:
        for name, reading in shared_pool().read(text, unknown).items():
            readings[name] = reading
            _readings.put((text, name), reading)
    return {name: reading for name, reading in readings.items() if reading is not None}


def common_languages(patterns: Iterable[StructurePattern]) -> tuple[str, ...]:
    """Return the languages in which at least one of some patterns is searched for."""
    return tuple(dict.fromkeys(name for pattern in patterns for name in pattern.languages))


def unread_patterns(patterns: Iterable[StructurePattern]) -> Iterator[Skipped]:
    """Return the languages in which patterns of code were not searched for, or not surely as meant, and why."""
    for pattern in patterns:
        left_out = [(name, reason) for name, reason in pattern.problems if name not in pattern.languages]
        doubtful = [(name, reason) for name, reason in pattern.problems if name in pattern.languages]
        text = pattern.text if len(pattern.text) <= _MAX_TITLE_CHARS else f"{pattern.text[:_MAX_TITLE_CHARS]}…"
        if left_out:
            reason_list = "\n".join(f"- {name}: {reason}" for name, reason in left_out)
            # The query excludes them itself, so nothing is missing.
            yield Skipped(
                reason="structure-language",
                title=f"no pattern in {count_of(len(left_out), 'language')}: {text}",
                message=f"`{text}` was searched in files of {', '.join(pattern.languages)}. It isn't a complete "
                f"pattern of code in\n{reason_list}\nUse `lang:` to choose the language.",
            )

        for name, reason in doubtful:
            yield Skipped(
                # The answer may lack intended matches, so it is not complete.
                reason="structure-in-part",
                title=f"{name} parses only a part of the pattern: {text}",
                message=f"`{text}` may miss matches in {name}, or match other code: {reason}.",
            )
