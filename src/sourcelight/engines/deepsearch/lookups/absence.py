"""Names and words that no file has: proof that they are nowhere, and other spellings of them that are somewhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.errors import SourcelightError
from sourcelight.core.markup import code, count_of, join_words
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, rows_evidence, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import is_unread_code
from sourcelight.engines.deepsearch.lookups import recount
from sourcelight.engines.deepsearch.lookups.definitions.search import split_name

WITHIN_NAMES = ", always within other names"
"""End of a headline about a text that only occurs inside names."""

_MIN_CHARACTERS = 5
_WORD = re.compile(r"[^\W_]+(?:[-_]\w+)*")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_MAX_LINES = 2_000


def find_absence(work: Work, name: str, notes: list[str], *, noun: str = "") -> Finding | None:
    """State that no file has a name, or that it occurs without a definition; None if this is uncertain."""
    _, simple = split_name(name)
    if name != simple and language_of(name):
        return None  # a path: its extension is no name
    queries = make_queries(work, f"case:no type:file /{escape_regexp(simple)}/")
    left_out: list[str] = []
    rows = [row for row in run_searches(work, queries, notes, left_out) if row["type"] == "content"]
    paths = [] if rows else run_searches(work, make_queries(work, f"type:path /{escape_regexp(simple)}/"), notes)
    # An incomplete search can't prove absence, and a file of this name is an answer.
    if notes or paths:
        return None
    finding = _state_mentions(work, simple, rows, noun) if rows else _prove_absence(work, simple, left_out, notes)
    if finding is not None:
        finding.queries = [join_queries(queries)]
    return finding


def _prove_absence(work: Work, name: str, left_out: Sequence[str], notes: list[str]) -> Finding | None:
    """State that no line and no path has a name; None if reading the files one by one finds it after all."""
    text = f"No searched file has {code(name)}: no line and no path of {_repositories_text(work)} contains it"
    if unread := _unread_parts(work, left_out, notes):
        text += f" ({join_words(unread)} were not read)"
    if nearest := nearest_spelling(work, name):
        text += f". The nearest spelling there is {code(nearest)}"
    if not recount.are_absent(work, [name]):
        return None
    method = ["The search ignored case and didn't read binary files.", *dict.fromkeys(left_out)]
    return Finding(Statement(text), "absence", method=method, recounts=frozenset({len(work.names)}), is_negative=True)


def _state_mentions(work: Work, name: str, rows: Sequence[Mapping[str, Any]], noun: str) -> Finding | None:
    """State that lines have a name but nothing defines it; None if one of them may define it."""
    texts = FileTexts(work.context)
    rows = sorted(rows, key=lambda row: (rank_of(row["path"]), row["path"], row["line_number"]))
    # The search ignored case, too: `retries` in another case is not within another name.
    whole_word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
    exact = [row for row in rows if whole_word.search(row["line"] or "")]
    # Where no grammar reads definitions, such as in Swift, a line may define the name.
    if any(_may_define(work, texts, row, name) for row in exact):
        return None
    of_kind = f" {noun}" if noun else ""
    qualifier = "" if exact else WITHIN_NAMES
    evidence = rows_evidence(work, texts, (exact or rows)[:MAX_NAMED])
    confirmed_rows = [row for row in rows if name.casefold() in (row["line"] or "").casefold()]
    text = (
        f"No{of_kind} definition of {code(name)} was found in {_repositories_text(work)}; "
        f"{count_of(len(rows), 'line')} {'has' if len(rows) == 1 else 'have'} the text{qualifier}, such as"
    )
    return Finding(
        Statement(text, evidence),
        "absence",
        recounts=frozenset({len(confirmed_rows), len(work.names)}),
        is_negative=True,
        method=["Covers definitions that a grammar knows. Code may also build the name at run time."],
    )


def _unread_parts(work: Work, left_out: Sequence[str], notes: list[str]) -> list[str]:
    """Name the unread parts of a repository: large files, and the contents of submodules."""
    modules = run_searches(work, make_queries(work, r"type:path /^\.gitmodules$/"), notes)
    return [*(["large files"] if left_out else []), *(["submodules"] if modules else [])]


def _may_define(work: Work, texts: FileTexts, row: Mapping[str, Any], name: str) -> bool:
    """Return whether a line may define a name in a way that the index doesn't have, such as by a macro."""
    target = work.inquiry.pins.of(row["repository"])
    if target is not None and is_unread_code(texts, target, row["path"]):
        return True
    word = re.escape(name)
    keywords = r"(?:def|defn?|fn|func|function|class|struct|enum|type|let|const|var)"
    assigned = rf"\b{keywords}\s+{word}\b|^\W*{word}[\"']?\s*[:=](?!=)"
    return rank_of(row["path"]) <= 1 and re.search(assigned, row["line"] or "") is not None


_VERSIONED = re.compile(r"(?<![\w/.])[A-Za-z]{2,}/\d+(?:\.\d+)?(?![\w/])")
"""Names such as HTTP/3, whose parts alone are everywhere."""
_COMMIT = re.compile(r"(?=[a-f]*\d)[\da-f]{7,40}")
_MAX_WORDS = 6


def absent_words(work: Work, words: Sequence[str]) -> tuple[str, ...]:
    """Return those of some words that no line of what is searched has, whatever its case, also not within others.

    Uncertain words are left out, and so are words that a path contains, in any spelling. Names such as HTTP/3 in the
    question count too.
    """
    # The id of a commit is in no file, and yet known.
    candidates = [word for word in (*words, *_VERSIONED.findall(work.inquiry.question)) if not _COMMIT.fullmatch(word)]
    absent = []
    for word in list(dict.fromkeys(candidates))[:_MAX_WORDS]:
        notes: list[str] = []
        rows = run_searches(work, make_queries(work, f"case:no type:file /{escape_regexp(word)}/"), notes)
        if notes or any(row["type"] == "content" for row in rows):
            continue
        paths = run_searches(work, make_queries(work, f"type:path /{escape_regexp(word)}/"), notes)
        if not notes and not paths and not nearest_spelling(work, word) and not _is_of_author(work, word):
            absent.append(word)
    return tuple(absent) if recount.are_absent(work, absent) else ()


_OF_PEOPLE = re.compile(
    r"\b(?:who|whose|commit\w*|author\w*|contribut\w*|change[sd]?|wrote|written|work(?:s|ed)?)\b", re.IGNORECASE
)


def _is_of_author(work: Work, word: str) -> bool:
    """Return whether a question about people has a word of an author's name, which no file needs to have."""
    if _OF_PEOPLE.search(work.inquiry.question) is None:
        return False
    arguments = {"repos": work.names, "authors": [f"(?i){escape_regexp(word)}"], "useRegex": True, "count": 1}
    try:
        return bool(work.call("commit_search", arguments, changes=False).table.num_rows)
    except SourcelightError:
        work.context.cancellation.check()
        return True


def _repositories_text(work: Work) -> str:
    names = [code(name) for name in work.names]
    return ", ".join(names) if len(names) <= MAX_NAMED else f"{len(names):,} repositories"


def nearest_spelling(work: Work, word: str) -> str:
    """Return the most frequent word, or part of a name, that one edit turns a word into; empty if there is none.

    Letters that changed places are one edit. Shorter words have too many neighbors to mean one of them.
    """
    lowered = word.lower()
    if len(lowered) < _MIN_CHARACTERS or re.fullmatch(r"[\w-]+", lowered) is None:
        return ""
    half = len(lowered) // 2
    # One edit leaves one of the two halves as it is, which the index finds.
    left, right = escape_regexp(lowered[:half]), escape_regexp(lowered[half:])
    rest, start = len(lowered) - half, half
    pattern = rf"{left}[\w-]{{{max(rest - 1, 1)},{rest + 1}}}|[\w-]{{{max(start - 1, 1)},{start + 1}}}{right}"
    notes: list[str] = []
    rows = run_searches(work, make_queries(work, f"case:no type:file /{pattern}/"), notes)
    counts: Counter[str] = Counter()
    for row in [row for row in rows if row["type"] == "content"][:_MAX_LINES]:
        for token in _WORD.findall((row["line"] or "")[:1_000]):
            for candidate in {token, *_PARTS.findall(token)}:
                if abs(len(candidate) - len(lowered)) <= 1 and is_one_edit(lowered, candidate.lower()):
                    counts[candidate if "_" in word or not candidate.isalpha() else candidate.lower()] += 1
    return max(counts, key=lambda candidate: (counts[candidate], candidate)) if counts else ""


def is_one_edit(left: str, right: str) -> bool:
    """Return whether two words differ by one letter: added, left out, replaced, or swapped with its neighbor."""
    if left == right:
        return False
    if len(left) > len(right):
        left, right = right, left
    start = next((index for index, letter in enumerate(left) if letter != right[index]), len(left))
    if len(left) < len(right):
        return len(right) - len(left) == 1 and left[start:] == right[start + 1 :]
    return left[start + 1 :] == right[start + 1 :] or (
        left[start : start + 2] == right[start : start + 2][::-1] and left[start + 2 :] == right[start + 2 :]
    )
