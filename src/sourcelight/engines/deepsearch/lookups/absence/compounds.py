"""Names of two words, such as "rate limiting", that no line has in any spelling, although each word is somewhere.

A name that nothing has may still be that of something with another one. Nothing is said if a line has both words or
words of their meaning, if a path or a definition begins with the second one, or if a line has a known synonym.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from sourcelight.core.markup import code
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import find_rows, has_row, join_queries, make_queries
from sourcelight.engines.deepsearch.lookups import recount
from sourcelight.engines.deepsearch.lookups.absence.names import NOT_DENIED, limits_of
from sourcelight.engines.deepsearch.lookups.absence.spellings import aliases_of
from sourcelight.engines.deepsearch.question.lookups.existence_wording import ENDING, absent_compound
from sourcelight.engines.search.ranking.terms.related_words import related_terms, short_forms
from sourcelight.engines.search.ranking.terms.tokenizer import stem

_MAX_LINES = 1_000
"""Lines with both words that are read one by one; with more, the words belong together."""
_MAX_CHARACTERS = 1_000
"""Characters of a line that a person writes."""
_MAX_DISTANCE = 80
"""Characters between two words that may be about one thing: a line of minified code has all words."""
_MAX_MATCHES = 500
"""Places of a word in one line that are read; with more, the line leaves a doubt."""
_SYNONYMS_TEXT = """
rate limit: throttl bucket quota, circuit break: trip half-open, load balanc: balanc round, health check: health alive
ready heartbeat, connection pool: pool, thread pool: pool worker executor, worker pool: pool executor, text search: fts
tsvector tsquery, access control: rbac acl permi polic, file lock: flock lock, file watch: watch inotify fsevents,
foreign key: references fkey, date picker: calendar datetime, progress bar: progress spinner, job queue: queue worker,
service discovery: consul etcd discover, type check: mypy pyright sorbet dialyzer, code coverage: coverage codecov
coveralls lcov, shell complet: complet, tab complet: complet, dead letter: dlq dead, key rotat: rotat renew, web socket:
websocket, content negotiat: negotiat accept, syntax highlight: pygments prism chroma hljs rouge treesitter, user agent:
agent, event loop: loop epoll kqueue, memory leak: leak valgrind sanitizer, error track: sentry rollbar bugsnag
"""
_SYNONYMS = dict(entry.split(":") for entry in " ".join(_SYNONYMS_TEXT.split()).split(", "))
"""Beginnings of words that lines have for a name of two words; besides the related words of each one."""
_DEFINING = r"(?:class|struct|interface|trait|module|object|enum|record|type|def|defp?n?|fn|func|function|sub|proc)"
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def find_absent_compound(work: Work) -> Finding | None:
    """State that no line has a name of two words that a question asks for; None if that is uncertain."""
    name = absent_compound(work.inquiry.words, work.inquiry.pins.name_words)
    if not name:
        return None

    roots = [ENDING.sub("", word.lower()) for word in name.split()]
    spelling = r"\w{0,3}[-_.\/ ]{0,2}".join(escape_regexp(root) for root in roots)
    queries = make_queries(work, f"case:no type:file /{spelling}/")
    content = find_rows(work, queries, max_rows=0)
    paths = find_rows(work, make_queries(work, f"type:path /{spelling}/"))
    if content.lines or paths.rows or not all(result.reads_all and not result.is_cut for result in (content, paths)):
        return None
    if _stand_together(work, name.split(), roots) or _may_be_defined(work, roots) or _has_synonym(work, roots):
        return None
    if not recount.is_absent_joined(work, "".join(roots)):
        return None

    limits = limits_of(work, content)
    limit = f" ({'; '.join(limits)})" if limits else ""
    first, second = (code(word) for word in name.split())
    text = f"No searched line has {code(name)} in any spelling, nor {first} and {second} together{limit}. {NOT_DENIED}"
    return Finding(
        Statement(text),
        "absence",
        method=[
            "The search ignored case, endings, and signs between the words.",
            *dict.fromkeys(content.large_files),
        ],
        queries=[join_queries(queries)],
        is_negative=True,
    )


def _stand_together(work: Work, words: Iterable[str], roots: Iterable[str]) -> bool:
    """Return whether a line may have both words, or words of their meaning, near each other."""
    meanings = [_meanings_of(word.lower(), root) for word, root in zip(words, roots, strict=True)]
    first, second = ("|".join(escape_regexp(word) for word in sorted(group)) for group in meanings)
    near = f".{{0,{_MAX_DISTANCE}}}"
    pattern = f"(?:{first}){near}(?:{second})|(?:{second}){near}(?:{first})"
    result = find_rows(work, make_queries(work, f"case:no type:file /{pattern}/"), max_rows=_MAX_LINES)
    return result.is_cut or any(_has_both(row["line"] or "", *meanings) for row in result.lines)


def _meanings_of(word: str, root: str) -> set[str]:
    """Return the root of a word, its short forms and words of its meaning."""
    words = {*short_forms(stem(word)), *related_terms({stem(word): 1.0}), *aliases_of(root)}
    return {root, *(meaning for meaning in words if len(meaning) > 2)}


def _has_both(line: str, first: set[str], second: set[str]) -> bool:
    """Return whether words of a line, or parts of its names, begin with one of each group, near each other."""
    matches = list(islice(re.finditer("|".join(map(re.escape, first)), line, re.IGNORECASE), _MAX_MATCHES))
    windows = (line[max(0, match.start() - _MAX_DISTANCE) : match.end() + _MAX_DISTANCE] for match in matches)
    return len(matches) == _MAX_MATCHES or any(
        all(any(part.lower().startswith(tuple(group)) for part in _PART.findall(window)) for group in (first, second))
        for window in windows
    )


def _may_be_defined(work: Work, roots: list[str]) -> bool:
    """Return whether a path or a definition begins with the second word: `PoolOptions` of connection pooling."""
    second = escape_regexp(roots[-1])
    if find_rows(work, make_queries(work, rf"type:path /(?:^|[\/_.-]){second}/")).rows:
        return True
    queries = make_queries(work, rf"case:no type:file /\b{_DEFINING}\s+(?:\(.*\)\s*)?{second}/")
    return has_row(work, queries, _is_read)


def _has_synonym(work: Work, roots: list[str]) -> bool:
    """Return whether a line has a known synonym of a name."""
    synonyms = "|".join(_SYNONYMS.get(" ".join(roots), "").split())
    return bool(synonyms) and has_row(work, make_queries(work, f"case:no type:file /{synonyms}/"), _is_read)


def _is_read(row: Mapping[str, Any]) -> bool:
    """Return whether a person wrote a line: minified code has all words."""
    return len(row["line"] or "") <= _MAX_CHARACTERS
