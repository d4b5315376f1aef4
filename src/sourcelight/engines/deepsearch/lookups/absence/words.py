"""Words of a question that are nowhere: in no line, no path and no author's name, also not in another spelling.

The ranking finds places with the other words of the question, so the answer says first which words have none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.errors import SourcelightError
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import find_rows, make_queries
from sourcelight.engines.deepsearch.lookups import recount
from sourcelight.engines.deepsearch.lookups.absence.spellings import nearest_spelling

_MAX_WORDS = 6
"""Words that are looked up: each takes up to four searches."""

_VERSIONED = re.compile(r"(?<![\w/.])[A-Za-z]{2,}/\d+(?:\.\d+)?(?![\w/])")
"""Names such as HTTP/3, whose parts alone are everywhere."""

_COMMIT = re.compile(r"(?=[a-f]*\d)[\da-f]{7,40}")
"""The id of a commit, which is in no file and yet known."""

_PEOPLE = re.compile(
    r"\b(?:who|whose|commit\w*|author\w*|contribut\w*|change[sd]?|wrote|written|work(?:s|ed)?)\b", re.IGNORECASE
)
"""Words of questions about people, which may have the name of one."""


def absent_words(work: Work, words: Sequence[str]) -> tuple[str, ...]:
    """Return the words that no searched file has, in any case, also not within other words.

    Words that may occur after all are not returned, nor are words that a path has, or that are another spelling of a
    word that occurs.

    Parameters
    ----------
    work
        The request under way. Names such as HTTP/3 in its question are looked up, too.
    words
        Words of the question, the most important ones first.
    """
    candidates = dict.fromkeys([*words, *_VERSIONED.findall(work.inquiry.question)])
    searched_words = [word for word in candidates if not _COMMIT.fullmatch(word)][:_MAX_WORDS]
    absent = [word for word in searched_words if _is_absent(work, word)]

    if not recount.are_absent(work, absent):
        return ()

    return tuple(absent)


def _is_absent(work: Work, word: str) -> bool:
    """Return whether complete searches find a word in no line, no path and no author's name."""
    content = find_rows(work, make_queries(work, f"case:no type:file /{escape_regexp(word)}/"))
    if content.lines or content.notes:
        return False

    paths = find_rows(work, make_queries(work, f"type:path /{escape_regexp(word)}/"))
    if paths.rows or paths.notes:
        return False

    return not nearest_spelling(work, word) and not _is_of_author(work, word)


def _is_of_author(work: Work, word: str) -> bool:
    """Return whether a question about people has a word of an author's name, which no file needs to have."""
    if _PEOPLE.search(work.inquiry.question) is None:
        return False

    arguments = {"repos": work.names, "authors": [f"(?i){escape_regexp(word)}"], "useRegex": True, "count": 1}
    try:
        commits = work.call("commit_search", arguments, changes=False).table
    except SourcelightError:
        work.context.cancellation.check()
        # Without the history, the word may be a name.
        return True

    return bool(commits.num_rows)
