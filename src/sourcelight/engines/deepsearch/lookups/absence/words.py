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
from sourcelight.engines.deepsearch.question.lookups.existence_wording import DESCRIBING, GENERIC
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS

_MAX_WORDS = 6
"""Words that are looked up: each takes up to four searches."""

_PHRASE = re.compile(r"(?<=[\w,·] )(?:[A-Z][A-Za-z]{1,30} ){1,2}[A-Z][A-Za-z]{1,30}(?![\w./-])")
"""Words with capital letters one after another, though no sentence begins there: the name of one thing."""

_HYPHENATED = re.compile(
    r"\b(?:use|uses|support|supports|have|has|include|includes|provide|provides|contain|contains|run|on|with|for|of|any)"
    r" (?P<word>[A-Za-z]\w+(?:-\w+)+)(?: (?:hooks?|support|integration|plugins?|files?|configuration|config))?"
    r"(?: (?:anywhere|at all|here))?\W*$",
    re.IGNORECASE,
)
"""A word with a hyphen that a question asks for; its parts alone are everywhere."""
_DEFINED = re.compile(
    r"\bwhere (?:is|are) (?:the )?(?P<word>[A-Za-z]\w*(?:-\w+)+[?!*]?) (?:\w+ )?(?:defined|declared|implemented)\b",
    re.IGNORECASE,
)
"""A word with a hyphen whose definition a question asks for."""

_MAX_PHRASES = 2
"""Names of several words that are looked up."""

_VERSIONED = re.compile(r"(?<![\w/.])[A-Za-z]{2,}/\d+(?:\.\d+)?(?![\w/])")
"""Names such as HTTP/3, whose parts alone are everywhere."""

_OF_EXISTENCE = re.compile(
    r"^\W*(?:is|are|does|do|did|can|could|has|have|will|where)\b|\b(?:is|are) there\b", re.IGNORECASE
)
"""Questions whether something exists, or where it is."""

_YES_OR_NO = re.compile(
    r"^\W*(?:is|are|does|do|did|can|could|has|have|will)\b|\b(?:is|are) there\b|^\W*any\b", re.IGNORECASE
)
"""Questions whether something exists or holds."""

_CONDITION = re.compile(r"\b(?:unless|otherwise|if|when|by default|out of the box)\b", re.IGNORECASE)
_MAIN_VERB = re.compile(
    r"\W*(?:does|do|did|can|could|will)\s+(?:(?:the|this|it|we|they|i)\s+)?(?:[\w./-]+\s+){0,2}?(?P<verb>[a-z]+)\b",
    re.IGNORECASE,
)
"""A question for what something does, which may be called otherwise."""

_OF_FORM_TEXT = """
outside inside within beyond besides beside apart aside except excluding including upper lower bound bounds overall
live lives sit sits reside resides ship ships shipped keep keeps kept belong belongs belonging near nearby half forbid
forbids forbidden happen happens occur occurs sitting living located exactly actually anywhere somewhere
still yet already ever never currently presently nowadays today anymore unless otherwise else instead whether though
although anyway really simply basically quite rather maybe perhaps whereabouts somehow told tell tells say says saying
specify specified given omit omits omitted leave leaves left alone explicitly automatically require requires required
depend depends need needs call calls called import imports imported define defines defined declare declares declared
"""
_OF_FORM = frozenset(_OF_FORM_TEXT.split())
"""Words that say where something is looked for, or which end of a range is meant, rather than what.

Neither do words of many things, such as "integration", say what is sought.
"""

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


def absent_phrases(work: Work) -> tuple[str, ...]:
    """Return the names of several words, such as "Core Data" or "tree-sitter", that no file has in any way of writing.

    Only a question whether something exists is read for them. Each of their words may occur for itself.
    """
    if _OF_EXISTENCE.search(work.inquiry.question) is None:
        return ()

    phrases = dict.fromkeys(match[0] for match in _PHRASE.finditer(work.inquiry.words) if not _has_plain(match[0]))
    hyphenated = _HYPHENATED.search(work.inquiry.words) or _DEFINED.search(work.inquiry.words)
    if hyphenated is not None:
        phrases.setdefault(hyphenated["word"])
    return tuple(phrase for phrase in list(phrases)[:_MAX_PHRASES] if _is_absent_phrase(work, phrase))


def _has_plain(phrase: str) -> bool:
    """Return whether a phrase has a word that code leaves out or writes alone: a last will of MQTT is `will`."""
    return any(part.lower() in DESCRIBING or part.lower() in FUNCTION_WORDS for part in phrase.split())


def _is_absent_phrase(work: Work, phrase: str) -> bool:
    """Return whether no line and no path has the words of a phrase one after another, together or apart."""
    parts = re.split(r"[\s-]+", phrase)
    pattern = "[-_. ]?".join(escape_regexp(part) for part in parts)
    for query in (f"case:no type:file /{pattern}/", f"type:path /{pattern}/"):
        result = find_rows(work, make_queries(work, query))
        if result.rows or not result.reads_all:
            return False

    # Some files have them on two lines, or with other signs between them.
    return recount.is_absent_joined(work, "".join(parts)) and not _is_of_author(work, phrase)


def has_unread_files(work: Work, word: str) -> bool:
    """Return whether a search for an absent word left out files that the clone lacks, or that can't be read."""
    return find_rows(work, make_queries(work, f"case:no type:file /{escape_regexp(word)}/")).lacks_only_files


def is_name(word: str) -> bool:
    """Return whether a word can only be a name, by its capitals, digits or signs."""
    return not (word.isalpha() and word[1:].islower())


def is_name_in(word: str, question: str) -> bool:
    """Return whether a question writes a word as a name: with a capital letter, though no sentence begins there."""
    is_capital = word[:1].isupper() and re.search(rf"[\w,] +{re.escape(word)}(?!\w)", question) is not None
    return is_name(word) or is_capital


def without_modifiers(absent: Sequence[str], words: Sequence[str], question: str) -> tuple[str, ...]:
    """Leave out absent words that only describe what a question is about, such as "endless" of "an endless loop".

    Parameters
    ----------
    absent
        The words that no file has.
    words
        All words that the question is about.
    question
        The question. If it asks whether something exists, every word counts.
    """
    absent = [word for word in absent if word not in _OF_FORM | GENERIC]
    # A word of prose beside a name that files have only describes it, unless the question is for that word.
    has_name = any(is_name(word) and word not in absent for word in words)
    if _YES_OR_NO.search(question) is not None:
        has_condition = _CONDITION.search(question) is not None
        verb = _MAIN_VERB.match(question)
        return tuple(
            word
            for word in absent
            if is_name_in(word, question)
            or _is_sought(word, question)
            or not (has_name or has_condition or (verb is not None and verb["verb"] == word))
        )

    # What another question asks for has other words, too; a missing one says nothing of these.
    is_subject_absent = all(word in absent or word in _OF_FORM for word in words) and not has_name
    return tuple(word for word in absent if is_subject_absent or is_name_in(word, question) or not word.islower())


def _is_sought(word: str, question: str) -> bool:
    """Return whether a question puts a word as a name, or asks for it as something that there is."""
    escaped = re.escape(word)
    quoted = rf"[`\"'“]{escaped}"
    after_verb = (
        rf"\b(?:support|use|have|has|there|provide|include|contain|handle|accept|offer)s?(?:\s+\w+)?\s+{escaped}\b"
    )
    return re.search(f"{quoted}|{after_verb}", question, re.IGNORECASE) is not None


def _is_absent(work: Work, word: str) -> bool:
    """Return whether complete searches find a word in no line, no path and no author's name."""
    content = find_rows(work, make_queries(work, f"case:no type:file /{escape_regexp(word)}/"))
    if content.lines or not content.reads_all:
        return False

    paths = find_rows(work, make_queries(work, f"type:path /{escape_regexp(word)}/"))
    if paths.rows or not paths.reads_all:
        return False

    # XQuery is no spelling of query: a name has the letters that it has.
    is_other_spelling = not is_name_in(word, work.inquiry.question) and bool(nearest_spelling(work, word))
    return not is_other_spelling and not _is_of_author(work, word)


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
