"""Read questions for the entries of a file of data, and for lines that begin with a form.

"How many languages are in languages.json" counts keys, and "how many codes are defined with def-code" lines.
"""

from __future__ import annotations

import re

from sourcelight.engines.deepsearch.question.request import FactRequest, PathScope, QuestionPaths, Term

_MAX_CHARS = 200
_MANY = r"\W*(?:how many|(?:what(?:'s| is) )?the (?:total )?number of) (?:different |distinct |separate |unique |the )?"
_DATA_FILE = r"`?(?P<file>[\w./@-]{1,120}\.(?:json|jsonc|ya?ml|toml))`?(?: file)?"
_HAS = r"have|list|define|declare|contain|configure|set|include|name|specify|hold|describe|register"
_PLACED = r"listed|defined|declared|configured|set(?: up)?|contained|included|given|specified|registered|named|present"
_ENTRIES = (
    (
        rf"{_MANY}(?P<noun>[\w -]{{2,40}}?) (?:are|is|do we have|have we|exist|there are)(?: there)?"
        rf"(?: (?:{_PLACED}))? (?:in|inside|within|under|by|of) (?:the )?{_DATA_FILE}"
    ),
    rf"{_MANY}(?P<noun>[\w -]{{2,40}}?) (?:does|do|did) (?:the )?{_DATA_FILE} (?:{_HAS})",
    rf"{_MANY}(?P<noun>[\w -]{{2,40}}?) in (?:the )?{_DATA_FILE}",
)
_ENTRIES_OF = tuple(re.compile(rf"{form}\W*", re.IGNORECASE) for form in _ENTRIES)
_OTHER_NOUN = re.compile(
    r"\b(?:lines?|commits?|authors?|contributors?|people|times?|occurrences?|words?|characters?|bytes|tests?"
    r"|changes|places)$",
    re.IGNORECASE,
)
"""Nouns of things that any file has, or its history."""
_OF_FILE = r"(?: (?:in|of|inside|within) (?:the )?`?(?P<file>[\w./@+-]{1,160})`?(?: file)?)?"
_NAME = r"(?:(?:the )?(?:macro|function|form|decorator|annotation|helper) )?`?(?P<form>[@#(]?[\w.!?*+:-]{2,60})`?"
_MAKES = r"defined|declared|made|created|registered|built|written|added|set up|generated|marked|introduced"
_BEGIN = r"(?: (?:that|which))? (?:start|begin)(?:ing)?(?: off)? with"
_KIND = r"macro|function|form|decorator|annotation|helper"
_FORMS = (
    (
        rf"{_MANY}(?P<noun>[\w -]{{2,60}}?) (?:are|is|were|get|do we)(?: there)? (?:{_MAKES}) "
        rf"(?:with|by|using|via|through) {_NAME}(?: (?:{_KIND}))?{_OF_FILE}"
    ),
    rf"{_MANY}lines(?: are there)?{_OF_FILE}{_BEGIN} (?P<form>\S.{{0,60}}?)",
    rf"{_MANY}lines(?: are there)?{_BEGIN} (?P<form>\S{{1,60}}?){_OF_FILE}",
    (
        rf"{_MANY}(?P<method>[a-z][\w!?*-]{{1,40}}) methods (?:are|do we|get)(?: there)?"
        rf"(?: (?:defined|implemented|declared|have))?{_OF_FILE}"
    ),
    (
        rf"{_MANY}`?(?P<form>@[A-Za-z]\w{{1,40}})s?`?(?: (?P<noun>annotations?|methods?|functions?"
        rf"|tests?|blocks?|lines))? (?:are|is|do we have)(?: there)?{_OF_FILE}"
    ),
)
_FORM_LINES = tuple(re.compile(rf"{form}\W*", re.IGNORECASE) for form in _FORMS)
_PLAIN_FORM = re.compile(
    r"(?:hand|default|defaults|us|them|it|name|design|the|a|this|that|now|people|others|each|[a-z]+ed)", re.IGNORECASE
)


def read_entries(text: str, paths: QuestionPaths) -> FactRequest | None:
    """Read a question for the entries of one file of data, or for lines with a form; None for another one."""
    text = text.strip()
    if len(text) > _MAX_CHARS:
        return None

    for pattern in _ENTRIES_OF:
        match = pattern.fullmatch(text)
        scope = None if match is None else paths.find(match["file"])
        if match is not None and scope is not None and scope.is_file and not _OTHER_NOUN.search(match["noun"]):
            return FactRequest("entries", paths=(scope,), subject=match["noun"].lower())

    for pattern in _FORM_LINES:
        match = pattern.fullmatch(text)
        if match is not None:
            return _read_form(match, paths)
    return None


def _read_form(match: re.Match[str], paths: QuestionPaths) -> FactRequest | None:
    """Return the request for lines that begin with a form; None if a word of prose or no file is named."""
    groups = match.groupdict()
    method = groups.get("method") or ""
    form = f"(defmethod {method}" if method else groups["form"].strip("`\"'")
    file = groups["file"]
    scope = None if file is None else paths.find(file) or paths.find_named(file) or _namespace(file, paths)
    is_of_text = "noun" not in groups and not method
    is_name = (
        is_of_text or method or (re.search(r"[^a-z]|^def\w", form) is not None and not _PLAIN_FORM.fullmatch(form))
    )
    if not is_name or (file is not None and scope is None) or (scope is not None and not scope.is_file):
        return None
    return FactRequest(
        "entries",
        terms=(Term(form),),
        paths=() if scope is None else (scope,),
        relation="exact" if is_of_text else "form",
    )


def _namespace(name: str, paths: QuestionPaths) -> PathScope | None:
    """Return the file of a namespace of Clojure."""
    return next(
        (
            scope
            for ending in (".clj", ".cljc", ".cljs")
            if (scope := paths.find(name.replace(".", "/").replace("-", "_") + ending)) is not None
        ),
        None,
    )
