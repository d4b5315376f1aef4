"""Lines that give a value to a name with the words of a question: "the stream buffer", ``StreamBuffer = 81920``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.explanations.subject import Subject
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import find_rows, make_queries
from sourcelight.engines.deepsearch.facts.unparsed_definitions import NO_CODE
from sourcelight.engines.deepsearch.source.line_kinds import COMMENT, DOCUMENTS
from sourcelight.engines.search.ranking.terms.tokenizer import stem

_MAX_ROWS = 5_000
_MAX_WORDS, _MAX_CHARACTERS = 6, 400
_KEY = re.compile(
    r"(?P<key>[A-Za-z_@$][\w$.-]*)[\"'\]]?(?:\s*:\s*[\w.<>\[\]?*&|, ]+)?\s*(?P<sign>=(?![=>])|:=?(?!:)|=>"
    r"|\{(?=\s*[\d\"'-])|\s(?=[\d\"']))\s*"
    r"(?P<value>\S.*)"
)
_LITERAL = re.compile(
    r"[\"'`]|-?\.?\d|(?:true|false|nil|null|None|True|False|undefined)\b|:\w|\[|[A-Z][A-Z_]{2,}\b"
    r"|[\w.:]*(?:Duration|Second|milli|Milli|from\w*)\b|[A-Z]\w+\.\w+"
)
_BEFORE_KEY = re.compile(r"\s*(?:#\s*define\s+|set\s+|export\s+|default\s+|const\s+|-\s+)?")
_ROLE = re.compile(r"^.?[\w$@.-]*\s{0,4}:[\w-]+:`|^:[\w-]+:`")
_OF_LANGUAGE = re.compile(r"__\w+__")
"""Names such as ``__hash__``, whose words belong to no question."""
_FRAME_TEXT = """
default value set use used using configured configure given specify long big large wide often many much number current
option setting parameter constant variable file code class function library project initial
"""
_FRAME = frozenset(map(stem, _FRAME_TEXT.split()))
"""Words around the name of a value rather than of it."""
# The score is the share of the words of a question that a name has, 0 to 1, plus these.
_EXACT_NAME = 2.0
"""Score of a name that the question spells like the code: above any sum of the others."""
_PRECISION = 0.5
"""Part of the share that a name keeps only as far as its own words are those of the question."""
_LITERAL_VALUE = 0.15
"""For a value that can be read on the line, rather than a call."""
_DEFAULT_NAME = 0.25
"""For a name with "default" in it, if the question asks for one."""
_SURROUNDINGS = 0.4
"""For each share of the words that the owner of the name or the path has, and the name lacks."""
_CHANGE = 0.2
"""Against a member of another object, which is changed there and has its first value elsewhere."""
_CERTAIN = 0.9
"""Score of a name above which no name with fewer words is looked for."""


def find_values(
    work: Work, subject: Subject, names: Sequence[str], least: float
) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the rows of lines that give a value to a name with words of a question, most words first.

    Parameters
    ----------
    names
        Names of code that the question writes.
    least
        Least share of the words that the name must have, 0 to 1.
    """
    terms = sorted(
        (term for term in subject.weights if term not in _FRAME and len(term) > 1 and not term.isdigit()),
        key=lambda term: -subject.weights[term],
    )[:_MAX_WORDS]
    if not terms:
        return

    total = sum(subject.weights[term] for term in terms)
    exact = frozenset(name for name in names if len(name) > 1)
    words = [escape_regexp(term) for term in terms]
    any_word = f"(?:{'|'.join(words)})"
    pair = rf"{any_word}\w*?{any_word}\w*" if len(words) > 1 else rf"{any_word}\w*"
    if exact:
        pair = f"(?:{'|'.join(escape_regexp(name) for name in sorted(exact))})"

    scored: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    for pattern in dict.fromkeys((pair, rf"{any_word}\w*")):
        query = rf"case:no type:file /{pattern}[\"'\]]?(?:\s*:\s*[\w.<>\[\]?*&|, ]+)?\s*(?:=|:|\{{|\s[\d\"'])\s*\S/"
        rows = find_rows(work, make_queries(work, query)).lines
        scored += _rank(subject, rows[:_MAX_ROWS], total, exact, least)
        if any(-order[0] >= _CERTAIN for order, _ in scored):
            break

    scored.sort(key=lambda item: item[0])
    lines = {(row["repository"], row["path"], row["line_number"]): row for _, row in reversed(scored)}
    yield from ((row, _reason(subject, row["line"] or "", row["path"], exact)) for row in reversed(lines.values()))


def _reason(subject: Subject, line: str, path: str, exact: Collection[str]) -> str:
    """Say that a line sets a value only if one can be read there: not a type, nor an example in a text.

    Of a question for a default, one name has every word, with its owner and path: neighbours on the line don't count.
    Of a question with names of code (`exact`), it is one of these: `fmt=` sets nothing of `int_fmt`.
    """
    exact_names = {name.rpartition(".")[2].casefold() for name in exact}
    of_path = subject.terms_in(path)
    named_terms = {term for term in subject.weights if term not in _FRAME and not term.isdigit()}
    for match in _KEY.finditer(line[:_MAX_CHARACTERS]):
        before = line[: match.start()]
        is_in_text = any(before.count(mark) % 2 for mark in "\"'`")

        # A blank sets a value behind a keyword or at the beginning of a line; elsewhere it separates arguments.
        is_assigned = match["sign"].strip() or _BEFORE_KEY.fullmatch(before) is not None
        # A role of reStructuredText, as in :class:`Name`, is no name.
        is_role = _ROLE.search(line[max(0, match.start("key") - 1) : _MAX_CHARACTERS]) is not None
        has_words = bool(subject.terms_in(match["key"])) and not is_role
        if exact_names and match["key"].rpartition(".")[2].casefold() not in exact_names:
            has_words = False
        if subject.asks_default:
            has_words = has_words and named_terms <= subject.terms_in(match["key"]) | of_path

        # "extension LeafError: AbortError {" begins a body.
        is_head = line.rstrip().endswith("{") and _HEAD.match(line) is not None
        if not (is_in_text or is_head) and is_assigned and has_words and _LITERAL.match(match["value"]) is not None:
            return "sets a value"

    words = [word for word in dict.fromkeys(re.findall(r"\w{3,}", subject.text)) if _is_asked(subject, word)]
    present = [code(word) for word in words if word.casefold() in line.casefold()][:_MAX_WORDS]
    return f"contains {join_words(present)}" if present else ""


_HEAD = re.compile(
    r"\s*(?:(?:public|private|internal|open|final|abstract|sealed|static|export|default|data|case|override|fileprivate"
    r"|protected|inner|partial)\s+){0,5}(?:class|struct|enum|extension|protocol|interface|trait|impl|object|func|fun|fn"
    r"|actor|record|namespace|module)\b"
)
"""The beginning of a declaration with a body."""


def _is_asked(subject: Subject, word: str) -> bool:
    """Return whether a word of a question is what it is about, rather than its form."""
    return any(term not in _FRAME for term in subject.terms_in(word))


def _rank(
    subject: Subject, rows: Sequence[dict[str, Any]], total: float, exact: frozenset[str], least: float
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield the rows that give a value to a name with enough of the words, each with its order."""
    paths: dict[str, set[str]] = {}
    for row in rows:
        line, path = (row["line"] or "")[:_MAX_CHARACTERS], row["path"]
        if DOCUMENTS.search(path) or COMMENT.match(line) or not rank_of(path).is_of_project:
            continue
        if path not in paths:
            paths[path] = subject.terms_in(path)
        best = max((_score(subject, match, total, exact, paths[path]) for match in _KEY.finditer(line)), default=0.0)
        if best >= least:
            is_data = language_of(path) in NO_CODE
            yield (-round(best, 3), is_data, path.count("/"), path, row["line_number"]), row


def _score(subject: Subject, match: re.Match[str], total: float, exact: frozenset[str], of_path: set[str]) -> float:
    """Score an assignment: the share of the words that its name has, and whether its value can be read there."""
    owner, _, key = match["key"].rpartition(".")
    value = match["value"]
    is_literal = _LITERAL.match(value) is not None
    if key not in exact and _OF_LANGUAGE.fullmatch(key) is not None:
        return 0.0

    is_change = match["sign"] == "=" and owner.lower() not in {"", "self", "this", "@", "cls"}
    malus = _CHANGE if is_change else 0.0
    if key in exact:
        return _EXACT_NAME + (_LITERAL_VALUE if is_literal else 0.0) - malus

    present = subject.terms_in(key)
    surrounding_terms = (subject.terms_in(owner) | of_path) - present
    share = sum(subject.weights[term] for term in present if term not in _FRAME) / total
    if not share:
        return 0.0

    parts = [part for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", key) if len(part) > 1]
    unasked = [part for part in parts if not subject.terms_in(part) and stem(part.lower()) not in _FRAME]
    precision = 1.0 - len(unasked) / max(len(parts), 1)
    score = share * (1.0 - _PRECISION + _PRECISION * precision)
    score += _SURROUNDINGS * sum(subject.weights[term] for term in surrounding_terms if term not in _FRAME) / total
    score += _LITERAL_VALUE if is_literal else 0.0
    score += _DEFAULT_NAME if subject.asks_default and "default" in key.lower() else 0.0
    return score - malus
