"""Names with signs in a question, such as ``parse!``, ``s:load``, ``%||%`` or ``to->map``, put into back quotes.

A sign may be punctuation of the question, so a token is a name only if a line of code in a language with such names
defines or has it as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sourcelight.core.markup import code
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.requests import Emit, ResearchRequest
from sourcelight.engines.deepsearch.source.line_kinds import COMMENT, DOCUMENTS, LISPS

_LANGUAGES_BY_SIGN: Mapping[str, frozenset[str]] = {
    "ending": LISPS | {"Ruby", "Crystal", "Elixir", "Julia"},
    "arrow": LISPS,
    "scope": frozenset({"Vim Script"}),
    "dotted": frozenset({"R"}),
    "macro": frozenset({"Julia"}),
    "operator": frozenset({"R", "Haskell", "OCaml", "F#", "Swift", "Scala", "PureScript", "Elm", "Nim", "Julia"}),
}
"""Languages whose names may have a sign, by the kind of sign."""
_WORD = r"[A-Za-z_][\w.-]{0,80}"
SIGNED_NAME = re.compile(
    rf"(?<![\w`'\"/.:@#$%&*+<>=!?-])(?:(?P<ending>{_WORD}[?!])(?=\s|[?.,]|$)"
    rf"|(?P<arrow>(?:{_WORD})?->[A-Za-z][\w-]{{0,80}}[?!*]?)(?![\w(])"
    r"|(?P<scope>[sgablwtv]:[A-Za-z_]\w{0,80})"
    r"|(?P<macro>@[A-Za-z_]\w{0,80}!?)(?![\w/.])"
    r"|(?P<dotted>[a-z]\w{0,40}(?:\.[a-z]\w{0,40}){1,4})(?![\w./(])"
    r"|(?P<percent>%[^\s%`]{1,10}%)"
    r"|(?P<operator>(?:(?<=operator )|(?<=here is ))[!#$%&*+./<=>?@\\^|~:-]{1,6})(?=\s|[?]|$))"
)
_MAX_TOKENS, _MAX_LINE_CHARACTERS = 4, 1_000
_TEXTS = re.compile(r"\"(?:[^\"\\]|\\.)*\"")


def mark_signed(inquiry: ResearchRequest, emit: Emit) -> ResearchRequest:
    """Put the names with signs in a question into back quotes, so that no reader drops the sign."""
    text = inquiry.words
    kinds = {match[0]: _kind_of(match) for match in SIGNED_NAME.finditer(text) if "`" not in text}
    work = Work(FactRequest("lookup"), inquiry, emit)
    tokens = list(kinds.items())[:_MAX_TOKENS]
    names = {token for token, kind in tokens if _is_name_of_code(work, token, kind, is_last=text.endswith(token))}
    if not names:
        return inquiry

    return inquiry.with_words(SIGNED_NAME.sub(lambda match: code(match[0]) if match[0] in names else match[0], text))


def _kind_of(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    return "operator" if kind == "percent" else kind


def _is_name_of_code(work: Work, token: str, kind: str, *, is_last: bool) -> bool:
    """Return whether code has a token as a name, and for the mark of a question also not without it.

    The last word of a question has a mark anyway, and `defined?` is a keyword of Ruby, so code must define that one.
    """
    simple = re.split(r"\.", token)[-1] if kind == "ending" else token
    queries = make_queries(work, f"case:yes type:file /{escape_regexp(simple)}/")
    languages = _LANGUAGES_BY_SIGN[kind]
    rows = [row for row in run_searches(work, queries, []) if _has_name(row, simple, languages)]
    if not rows:
        return False
    if kind != "ending" or simple.endswith("!"):
        return True
    if is_last and not any(_defines(row["line"] or "", simple) for row in rows):
        return False

    # "What calls empty?" is about `empty` if something has this name.
    bare = simple[:-1]
    queries = make_queries(work, f"case:yes type:symbol /^{escape_regexp(bare)}$/")
    return not any(row["type"] == "symbol" for row in run_searches(work, queries, []))


def _defines(line: str, token: str) -> bool:
    """Return whether a line defines a name: `def self.empty?`, `(defn- empty? [x]`, `defguard empty?(x)`."""
    return re.search(rf"(?<!\w)(?:def[\w-]*|function|macro|predicate)\s+(?:\w+\.)?{re.escape(token)}", line) is not None


def _has_name(row: Mapping[str, str | None], token: str, languages: frozenset[str]) -> bool:
    """Return whether a line of code in one of some languages has a token as a whole name."""
    line, path = row["line"] or "", row["path"] or ""
    if row["type"] != "content" or len(line) > _MAX_LINE_CHARACTERS or DOCUMENTS.search(path):
        return False
    if language_of(path) not in languages or COMMENT.match(line) is not None:
        return False

    bare = re.sub(r"(?:^|\s)[#;]\s.*", "", _TEXTS.sub('""', line))
    letters = r"\w" if token[:1].isalnum() or token[:1] in "_@" else r"!#$%&*+./<=>?@\\^|~:-"
    return re.search(rf"(?<![{letters}]){re.escape(token)}(?![{letters}])", bare) is not None
