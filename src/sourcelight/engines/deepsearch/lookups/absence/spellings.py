"""The spelling that was meant: the most frequent word of the files that one edit makes of a word that no file has.

An index of texts can't be asked for similar words, so a pattern finds lines that may have one, and each of their words
is compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from sourcelight.core.markup import code
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import find_rows, make_pattern, make_queries

_MIN_CHARACTERS = 5
"""Shorter words have too many neighbors to mean one of them."""

_MAX_LINES = 2_000
"""Lines whose words are compared. Beyond, a pattern of a frequent half would take long and tell nothing new."""

_MAX_LINE_CHARACTERS = 1_000
"""Characters of a line that are read: longer lines are generated or minified."""

_BRITISH = (
    ("our", "or"), ("ise", "ize"), ("ising", "izing"), ("isation", "ization"), ("yse", "yze"), ("ysing", "yzing"),
    ("tre", "ter"), ("lled", "led"), ("lling", "ling"), ("ogue", "og"), ("grey", "gray"), ("ence", "ense"),
)  # fmt: skip
"""Parts of British words, and what Americans write for them."""
_MIN_BRITISH = 5
_ALIASES_TEXT = """
internationalization i18n intl gettext locale, localization l10n i18n locale, accessibility a11y aria, ssl tls, tls ssl,
https tls ssl, websocket wss, postgres postgresql libpq, postgresql postgres libpq pgx, mongo mongodb,
oauth2 oauth oidc, oauth oauth2 oidc, oidc openid, openid oidc, sso saml oidc, encryption cipher crypt aes,
decryption decrypt cipher,
multithreading thread mutex, threading thread mutex, concurrency thread async goroutine mutex, protobuf proto,
database db sql, gzip gz deflate zlib, compression gzip deflate zlib, ipv6 inet6, timezone tz zoneinfo, gpu cuda opencl,
simd avx neon sse, http2 h2 nghttp2, http/2 h2 http2 nghttp2, http/3 quic h3, quic http3 h3, regex regexp, jwt token,
unicode utf8 utf-8, rtl bidi, ansi escape, pdf latex, sftp ssh, csv comma, xml sax, tsv tab, orm model, tty terminal,
theme color colour palette skin style, plugin extension addon hook, dashboard panel admin, daemon service background,
autocomplete complet, completion complete compgen, notification notify alert, webhook callback, undo revert rollback,
rollback revert undo, backup snapshot dump, archive zip tar, translation i18n locale gettext, shortcut binding keymap
hotkey, hotkey binding keymap shortcut, pagination paginate page cursor offset, migration migrate schema, tracing trace
span opentelemetry, telemetry metric statsd analytics, metric counter gauge stats prometheus, sandbox isolat chroot,
whitelist allow, allowlist whitelist allow, blacklist block deny, blocklist blacklist deny, fuzzy approximat
levenshtein,
spellcheck spelling aspell hunspell, debounce throttl delay, thumbnail resize preview, repl shell interactive console,
tui curses terminal, benchmark bench, scheduler schedul cron timer, cron schedul timer, mock stub fake,
fixture testdata,
validation valid, storage store, parallelism parallel thread concurren worker, sanitizer saniti escape, clipboard copy
paste xclip, screenshot capture
"""
_ALIASES = {words[0]: tuple(words[1:]) for words in map(str.split, _ALIASES_TEXT.split(","))}

_CORRECTABLE = re.compile(r"[\w-]+")
_WORD = re.compile(r"[^\W_]++(?:[-_]\w++)*+")
_PART_OF_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def aliases_of(word: str) -> frozenset[str]:
    """Return what code may write for a word: its American or British spelling, and other names of the same thing.

    Examples
    --------
    >>> sorted(aliases_of("colour")), sorted(aliases_of("SSL"))
    (['color'], ['tls'])
    """
    lowered = word.lower()
    # Of a short word, another one would come out: `cors` is no `cours`.
    pairs = [*_BRITISH, *((american, british) for british, american in _BRITISH)] if len(lowered) > _MIN_BRITISH else []
    spellings = {lowered.replace(part, other) for part, other in pairs if part in lowered}
    return frozenset({*spellings, *_ALIASES.get(lowered, ())} - {lowered})


def nearest_spelling(work: Work, word: str) -> str:
    """Return the most frequent word, or part of a name, that one edit turns a word into; empty if there is none."""
    lowered = word.lower()
    if len(lowered) < _MIN_CHARACTERS or _CORRECTABLE.fullmatch(lowered) is None:
        return ""

    queries = make_queries(work, f"case:no type:file /{make_edit_pattern(lowered)}/")
    lines = [row["line"] or "" for row in find_rows(work, queries).lines[:_MAX_LINES]]

    counts: Counter[str] = Counter()
    for line in lines:
        for spelling in _spellings_in(line):
            if not is_one_edit(lowered, spelling.lower()):
                continue

            # A name is proposed as the code writes it, a word of prose without its capital letters.
            is_name = "_" in word or not word[1:].islower() or not spelling.isalpha()
            counts[spelling if is_name else spelling.lower()] += 1

    # Of equally frequent ones, the answer must always name the same one.
    return max(counts, key=lambda spelling: (counts[spelling], spelling), default="")


def state_meant_spelling(work: Work) -> list[str]:
    """Say which spelling the files have of a name that no commit has; none if a file has it as it is spelled."""
    text = work.request.terms[0].text
    queries = make_queries(work, f"case:no type:file {make_pattern(work.request.terms)}")
    nearest = "" if find_rows(work, queries).lines else nearest_spelling(work, text)
    return [f"No searched file has {code(text)}. The nearest spelling there is {code(nearest)}."] if nearest else []


def make_edit_pattern(word: str) -> str:
    """Write a regular expression that matches all words that one edit makes of a word, and some others.

    One edit leaves one half of the word as it is, unless it swaps the two letters in the middle.
    """
    middle = len(word) // 2
    left, right = word[:middle], word[middle:]
    swapped = f"{left[:-1]}{right[0]}{left[-1]}{right[1:]}"

    return "|".join([
        f"{escape_regexp(left)}{_make_edited_half(right)}",
        f"{_make_edited_half(left)}{escape_regexp(right)}",
        escape_regexp(swapped),
    ])  # fmt: skip


def is_one_edit(left: str, right: str) -> bool:
    """Return whether two words differ by one letter: added, left out, replaced, or swapped with its neighbor."""
    if left == right or abs(len(left) - len(right)) > 1:
        return False

    shorter, longer = sorted((left, right), key=len)
    start = next((index for index, letter in enumerate(shorter) if letter != longer[index]), len(shorter))

    if len(shorter) < len(longer):
        return shorter[start:] == longer[start + 1 :]

    if shorter[start + 1 :] == longer[start + 1 :]:
        return True

    is_swapped = shorter[start : start + 2] == longer[start : start + 2][::-1]
    return is_swapped and shorter[start + 2 :] == longer[start + 2 :]


def _make_edited_half(half: str) -> str:
    """Write a regular expression of letters that may have been half a word before an edit."""
    return rf"[\w-]{{{len(half) - 1},{len(half) + 1}}}"


def _spellings_in(line: str) -> Iterator[str]:
    """Yield the words of a line and, where a word is a name of several parts, its parts."""
    for word in _WORD.findall(line[:_MAX_LINE_CHARACTERS]):
        # A part may be the whole word, or occur twice in it, and counts once.
        yield from {word, *_PART_OF_NAME.findall(word)}
