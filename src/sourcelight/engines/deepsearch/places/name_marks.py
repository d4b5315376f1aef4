"""Names of code in a question, put into back quotes, so that no reader takes them for prose or drops a sign of them.

Names with signs (``parse!``, ``s:load``, ``%||%``, ``to->map``) and with hyphens (``read-only``) look like prose and
punctuation, and the only word of "when was Command added" like any other. So the code decides: a token is a name only
if a line in a language with such names has it as a whole, or defines it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from sourcelight.core.errors import SourcelightError
from sourcelight.core.markup import code
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import HYPHENATED_LANGUAGES, whole_name
from sourcelight.engines.deepsearch.lookups.definitions.search import find_definitions
from sourcelight.engines.deepsearch.question.events import read_bare_subject
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.requests import Emit, ResearchRequest
from sourcelight.engines.deepsearch.source.line_kinds import COMMENT, DOCUMENTS, LISPS

_LANGUAGES_BY_SIGN: Mapping[str, frozenset[str]] = {
    "ending": LISPS | {"Ruby", "Crystal", "Elixir", "Julia"},
    "arrow": LISPS,
    "earmuffs": LISPS,
    "scope": frozenset({"Vim Script"}),
    "dotted": frozenset({"R"}),
    "method": frozenset({"Lua"}),
    "macro": frozenset({"Julia"}),
    "operator": frozenset({"R", "Haskell", "OCaml", "F#", "Swift", "Scala", "PureScript", "Elm", "Nim", "Julia"}),
}
"""Languages whose names may have a sign, by the kind of sign."""
_WORD = r"[A-Za-z_][\w.-]{0,80}"
SIGNED_NAME = re.compile(
    rf"(?<![\w`'\"/.:@#$%&*+<>=!?-])(?:(?P<ending>{_WORD}[?!])(?=\s|[?.,]|$)"
    r"|(?P<earmuffs>\*[A-Za-z][\w-]{0,80}[?!]?\*)(?![\w/*.])"
    rf"|(?P<arrow>(?:{_WORD})?->[A-Za-z][\w-]{{0,80}}[?!*]?)(?![\w(])"
    r"|(?P<scope>[sgablwtv]:[A-Za-z_]\w{0,80}(?:\.[A-Za-z_]\w{0,80}){0,3})"
    r"|(?P<method>[A-Za-z_]\w{0,80}(?:\.\w{1,80}){0,3}:[A-Za-z_]\w{0,80})(?![\w:/])"
    r"|(?P<macro>@[A-Za-z_]\w{0,80}!?)(?![\w/.])"
    r"|(?P<dotted>[a-z]\w{0,40}(?:\.[a-z]\w{0,40}){1,4})(?![\w./(])"
    r"|(?P<percent>%[^\s%`]{1,10}%)"
    r"|(?P<operator>(?:(?<=operator )|(?<=here is ))[!#$%&*+./<=>?@\\^|~:-]{1,6})(?=\s|[?]|$))"
)
_KEYED = frozenset({"YAML", "TOML", "JSON", "JSON with Comments", "INI"})
"""Languages of data, in which only keys are names."""
_HYPHENATED = re.compile(
    r"(?<![\w`'\"/@.:#$*+!?<>=%-])[A-Za-z][A-Za-z0-9_]*(?:--?[A-Za-z0-9_]+)+[*+!]?(?![\w`'\"/@*+<>=%-]|\.\w|:\w)"
)
ENDS_WITH_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|get|gets)\s+(?:(?!⟨)\S+\s+){1,6}(?:\w+ed|set|thrown|written|read|made|run|found)\?$",
    re.IGNORECASE,
)
"""A question whose last word is its verb: "Where is Field defined?" isn't about a method `defined?`."""
_MAX_TOKENS = 4
"""Tokens of a question that are looked up: each takes a search."""
_MAX_LINE_CHARACTERS = 1_000
_TEXTS = re.compile(r"\"(?:[^\"\\]|\\.)*\"")
_TEXTS_AND_LETTERS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'")


def mark_names(inquiry: ResearchRequest, emit: Emit) -> ResearchRequest:
    """Put the names of code in a question into back quotes: with signs, with hyphens, and the only word of an event."""
    for mark in (_mark_signed, _mark_hyphenated, _mark_plain_name):
        inquiry = mark(inquiry, emit)
    return inquiry


def _mark_signed(inquiry: ResearchRequest, emit: Emit) -> ResearchRequest:
    text = inquiry.words
    if "`" in text:
        return inquiry

    kinds = {match[0]: _kind_of(match) for match in SIGNED_NAME.finditer(text)}
    work = Work(FactRequest("lookup"), inquiry, emit)
    tokens = list(kinds.items())[:_MAX_TOKENS]
    names = {token for token, kind in tokens if _is_signed_name(work, token, kind, is_last=text.endswith(token))}
    return _quote(inquiry, SIGNED_NAME, names)


def _mark_hyphenated(inquiry: ResearchRequest, emit: Emit) -> ResearchRequest:
    tokens = list(dict.fromkeys(match[0] for match in _HYPHENATED.finditer(inquiry.words)))[:_MAX_TOKENS]
    work = Work(FactRequest("lookup"), inquiry, emit)
    names = {token for token in tokens if any(_has_hyphenated(row, token) for row in _rows_with(work, token))}
    return _quote(inquiry, _HYPHENATED, names)


def _mark_plain_name(inquiry: ResearchRequest, emit: Emit) -> ResearchRequest:
    """Quote the only word that a question for a person or a date is about, if the code defines it."""
    word = read_bare_subject(inquiry.words)
    if not word:
        return inquiry

    work = Work(FactRequest("lookup"), inquiry, emit)
    try:
        is_defined = bool(find_definitions(work.without_notes(), word, [], unparsed=True))
    except SourcelightError:
        inquiry.context.cancellation.check()
        return inquiry

    if not is_defined:
        return inquiry

    return inquiry.with_words(re.sub(rf"(?<![\w`]){re.escape(word)}(?![\w`])", code(word), inquiry.words, count=1))


def _quote(inquiry: ResearchRequest, pattern: re.Pattern[str], names: Collection[str]) -> ResearchRequest:
    """Put the matches of a pattern that are names into back quotes."""
    if not names:
        return inquiry
    return inquiry.with_words(
        pattern.sub(lambda match: code(match[0]) if match[0] in names else match[0], inquiry.words)
    )


def _rows_with(work: Work, token: str) -> list[dict[str, Any]]:
    """Return the searched rows with a token, in the same case."""
    return run_searches(work, make_queries(work, f"case:yes type:file /{escape_regexp(token)}/"))


def _kind_of(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    return "operator" if kind == "percent" else kind


def _is_signed_name(work: Work, token: str, kind: str, *, is_last: bool) -> bool:
    """Return whether code has a token as a name, and for the mark of a question also not without it.

    The last word of a question has a mark anyway, and `defined?` is a keyword of Ruby, so code must define that one.
    """
    simple = re.split(r"\.", token)[-1] if kind == "ending" else token
    languages = _LANGUAGES_BY_SIGN[kind]
    all_rows = _rows_with(work, simple)
    rows = [row for row in all_rows if _has_signed(row, simple, languages)]
    if not rows:
        # A document may mention what code had once: `set_limit!` can't be prose.
        return bool(all_rows) and kind == "ending" and re.fullmatch(r"[a-z]+(?:_[a-z]+)+!", simple) is not None
    if kind != "ending" or simple.endswith("!"):
        return True
    if not is_last:
        # "Where is `empty?` defined": the question goes on, so that its own mark is at its end.
        return True

    is_verb = ENDS_WITH_VERB.search(work.inquiry.words) is not None
    if is_verb or not any(_defines(row["line"] or "", simple) for row in rows):
        return False

    # "What calls empty?" is about `empty` if something has this name.
    bare = simple[:-1]
    queries = make_queries(work, f"case:yes type:symbol /^{escape_regexp(bare)}$/")
    return not any(row["type"] == "symbol" for row in run_searches(work, queries))


def _defines(line: str, token: str) -> bool:
    """Return whether a line defines a name: `def self.empty?`, `(defn- empty? [x]`, `defguard empty?(x)`."""
    return re.search(rf"(?<!\w)(?:def[\w-]*|function|macro|predicate)\s+(?:\w+\.)?{re.escape(token)}", line) is not None


def _has_signed(row: Mapping[str, Any], token: str, languages: Collection[str]) -> bool:
    """Return whether a line of code in one of some languages has a token as a whole name."""
    line = _line_of_code(row)
    if line is None or language_of(row["path"]) not in languages or COMMENT.match(line) is not None:
        return False

    bare = re.sub(r"(?:^|\s)[#;]\s.*", "", _TEXTS.sub('""', line))
    letters = r"\w" if token[:1].isalnum() or token[:1] in "_@" else r"!#$%&*+./<=>?@\\^|~:-"
    return re.search(rf"(?<![{letters}]){re.escape(token)}(?![{letters}])", bare) is not None


def _has_hyphenated(row: Mapping[str, Any], token: str) -> bool:
    """Return whether a line has a token as a name of code, or as the key of data."""
    line, language = _line_of_code(row), language_of(row["path"] or "")
    if line is None:
        return False
    if language in _KEYED:
        return re.match(rf"[\s{{,-]*[\"']?{re.escape(token)}[\"']?\s*[:=]", line) is not None
    if language not in HYPHENATED_LANGUAGES or COMMENT.match(line) is not None:
        return False

    bare = re.sub(r"(?:^|\s)[#;].*", "", _TEXTS_AND_LETTERS.sub('""', line))
    return re.search(whole_name(token, language), bare) is not None


def _line_of_code(row: Mapping[str, Any]) -> str | None:
    """Return the line of a row, unless it is long or of a document."""
    line, path = row["line"] or "", row["path"] or ""
    if row["type"] != "content" or len(line) > _MAX_LINE_CHARACTERS or DOCUMENTS.search(path):
        return None
    return line
