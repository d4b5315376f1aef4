"""Compare the words of a question with those of names and texts: stems, short forms, related words, joined words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import pairwise

from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.lookups.prose_values.names import SHORT_FORMS, split_alike
from sourcelight.engines.search.ranking.terms.related_words import related_terms, verb_of
from sourcelight.engines.search.ranking.terms.tokenizer import parts_of, stem

_RELATED_TEXT = """
cap: max limit maximum, pieces: chunk part, piece: chunk, severity: level, site: vhost host, wipe: remove delete,
reconnect: retry, account: user, cleaned: delete, range: cidr, upload: body, columns: width, wide: width, tall:
height, rejects: reject, refuses: reject, retain: retention keep, keep: retain retention, kept: retention retain,
unused: idle inactive, login: session auth, cli: command cmd argv bin, commandline: cli cmd bin, escaped: escape,
simultaneous: concurrent parallel concurrency parallelism, simultaneously: concurrent parallel concurrency, parallel:
concurrent concurrency jobs workers threads, attempts: retries tries attempt retry, attempt: retry retries tries,
retries: attempts tries retry, retry: attempts, tries: attempts retries, letters: characters chars, letter: character
char, encrypted: ssl tls, encryption: ssl tls, secure: ssl tls https, quiet: silent, noisy: verbose, chatty: verbose,
verbose: verbosity, verbosity: verbose, folder: directory dir path, directory: folder dir path root, machine: host
hostname, address: host addr bind, interface: host address bind, endpoint: url uri, website: url, picture: image img,
lines: rows, columns: width, expire: ttl expiry lifetime age, expires: ttl expiry lifetime age, expiry: ttl expire
lifetime, valid: ttl lifetime expiry age expires, lifetime: ttl age expiry, timeout: deadline, deadline: timeout,
interval: period every frequency, period: interval, heartbeat: ping keepalive, ping: heartbeat keepalive, biggest: max
maximum, largest: max maximum, longest: max maximum, smallest: min minimum, shortest: min minimum, highest: max
maximum, lowest: min minimum, maximum: max limit, minimum: min, indentation: indent tab, indent: indentation, spaces:
indent indentation, colour: color, colours: colors, logging: log logger, logged: log, logs: log, entries: items size,
items: entries size, memory: mem ram, pause: delay wait sleep, between: interval delay, delay: wait pause interval
backoff, wait: timeout delay, redirects: redirect redirection, prefix: prefixed, suffix: extension, extension: suffix
ext, sorted: sort order sorting, sort: order sorting, ordered: sort order, alignment: align, aligned: alignment align,
theme: style scheme, browser: agent, identify: agent, compressed: compression compress gzip, zipped: gzip compression,
cached: cache, hidden: hide, shown: show display visible, displayed: display show, coloured: color colour, colored:
color colour, worker: thread process, workers: threads processes jobs, threads: workers concurrency, rows: lines,
page: pagination, container: pod image, instances: replicas replica, copies: replicas replica backups, replicas:
replica replicacount, memory: mem, processor: cpu, username: user login, password: pass passwd, query: search,
message: msg, tag: version
"""
_RELATED: dict[str, set[str]] = {}
for _entry in _RELATED_TEXT.replace("\n", " ").split(","):
    _word, _, _related_words = _entry.partition(":")
    _RELATED.setdefault(_word.strip(), set()).update(_related_words.split())
_ENDINGS_TEXT = "s es d ed r er rs ers or ors ing ion ies ied y e al ly ic ation ations ment ments n en"
_ENDINGS = frozenset(_ENDINGS_TEXT.split())
_TIMED = frozenset({"deadline", "expire", "expires", "expiry", "wait", "valid"})
"""Words that a timeout may stand for."""
_BOUND = re.compile(r"^(?:max|min|num)(?=[a-z]{4})")
"""The beginning of a part such as `maxupval`."""
_MIN_ALIKE, _MAX_ENDING, _MIN_JOINED, _MIN_PAIR = 4, 5, 4, 6


@lru_cache(maxsize=4_096)
def related_to(word: str) -> frozenset[str]:
    """Return the stems of words that mean nearly the same as a word in programs."""
    related_stems = {stem(other) for other in _RELATED.get(word, set()) | _RELATED.get(word.removesuffix("s"), set())}
    stems = {*related_terms({stem(word): 1.0}), *related_stems}
    # "Idle" is a state of a connection, and no timeout of any kind.
    return frozenset(stems if word in _TIMED else stems - {"timeout"})


_PROTOCOLS = {"http", "https"}
"""Words of which neither is a form of the other."""


@lru_cache(maxsize=1 << 15)
def is_form(word: str, part: str) -> bool:
    """Return whether a part of a name is a form of a word: of the same stem, or with another ending."""
    if {word, part} == _PROTOCOLS:
        return False
    if word == part or stem(word) == stem(part) or verb_of(word) == part:
        return True
    if part in SHORT_FORMS.get(word, "").split() or part in SHORT_FORMS.get(word.removesuffix("s"), "").split():
        return True

    alike, rest, longer_rest = split_alike(word, part)
    has_endings = rest in {"", "e", "y", "s", "ed"} and longer_rest in _ENDINGS
    return alike >= _MIN_ALIKE and has_endings and abs(len(word) - len(part)) <= _MAX_ENDING


@lru_cache(maxsize=1 << 15)
def is_alike(word: str, part: str) -> bool:
    """Return whether a part of a name is a form of a word, or of one that is related to it."""
    is_beginning = len(part) >= _MIN_ALIKE and word.startswith(part) and {word, part} != _PROTOCOLS
    return is_beginning or is_form(word, part) or stem(part) in related_to(word)


def covered_by(words: Sequence[str], text: str, *, related: bool = True) -> frozenset[str]:
    """Return the words that a text has, as its words, as parts of its names, or joined with their neighbors."""
    parts = {form for part in parts_of(text) for form in (part, _BOUND.sub("", part))}
    return covered_by_parts(words, parts, related=related)


def covered_by_parts(words: Sequence[str], parts: Collection[str], *, related: bool = True) -> frozenset[str]:
    """Return the words that are among parts of names."""
    compare = is_alike if related else is_form
    covered = {word for word in words if word in parts or any(compare(word, part) for part in parts)}
    if len(covered) < len(words):
        for first, second in pairwise(words):
            pair = first + second
            if pair in parts or any(is_form(pair, part) for part in parts if len(part) > _MIN_JOINED):
                covered |= {first, second}
        for part in parts:
            if len(part) >= _MIN_PAIR:
                covered |= next(
                    (
                        {first, second}
                        for first in words
                        for second in words
                        if first + second == part and min(len(first), len(second)) > 2
                    ),
                    set(),
                )
        # `keepalive` has both of "keep alive", and `sessiontimeout` the word "timeout".
        for word in words:
            if word not in covered and len(word) > _MIN_JOINED:
                base = stem(word)
                if any(len(part) > len(base) + 2 and (part.startswith(base) or part.endswith(word)) for part in parts):
                    covered.add(word)

    return frozenset(covered)


def extra_parts(name: str, words: Iterable[str], allowed: Collection[str]) -> list[str]:
    """Return the parts of a name that no word of a question explains."""
    pool = list(words)
    extras = []
    for index, part in enumerate(parts_of(name)):
        # As in `m_width` and `kLimit`; another letter is a difference.
        is_letter = len(part) == 1 and part.isalpha()
        if part.isdigit() or (is_letter and not index):
            continue
        if (part in allowed and not is_letter) or any(is_alike(word, part) for word in pool):
            continue
        if covered_by_parts(pool, {part}):
            continue
        extras.append(part)
    return extras


def pattern_of(word: str) -> str:
    """Return a regular expression for the forms of a word and of those related to it, without regard to case."""
    forms = sorted({_beginning(stem(word), word), *(_beginning(related, related) for related in related_to(word))})
    return "|".join(escape_regexp(form) for form in forms if len(form) > 1)


def _beginning(base: str, word: str) -> str:
    """Return what all forms of a word begin with: ``bak`` of "baking", whose stem is "bake"."""
    if len(base) < _MIN_ALIKE:
        return word if len(word) <= _MIN_ALIKE else base
    return base[:-1] if base[-1] in "eiy" and len(base) > _MIN_ALIKE - 1 else base


def compile_pattern(words: Sequence[str], names: Sequence[str]) -> re.Pattern[str]:
    """Return an expression for lines that have any of the words or names."""
    parts = [pattern_of(word) for word in words]
    parts += [re.escape(re.split(r"\.|::?|->|#", name)[-1].lstrip("@$")).replace(r"\-", "[-_]?") for name in names]
    return re.compile("|".join(part for part in parts if part) or r"(?!)", re.IGNORECASE)


def is_counterpart(words: AbstractSet[str], name: str) -> bool:
    """Return whether a name has the counterpart of a word of the question: the length of a name for that of a value."""
    parts = set(parts_of(name))
    return any(pair & words and parts & (pair - words) and not parts & words & pair for pair in _COUNTERPARTS)


_COUNTERPARTS_TEXT = """
name value, key value, read write, request response, client server, input output, width height, row column,
rows columns, user password, start end, first last, send receive, source target, local remote, local global,
upload download, encode decode, inbound outbound, hard soft, before after, horizontal vertical, push pull,
up down, left right
"""
_COUNTERPARTS = tuple(frozenset(pair.split()) for pair in _COUNTERPARTS_TEXT.split(","))
"""Words that tell two settings apart which have all other words in common."""
