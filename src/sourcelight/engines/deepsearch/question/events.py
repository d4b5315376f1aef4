"""Read questions about a person or a date: the event and its subject."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from sourcelight.engines.deepsearch.question.event_wording import without_second_part
from sourcelight.engines.deepsearch.question.marks import Mark, MarkedText
from sourcelight.engines.deepsearch.question.phrases import (
    DET,
    TERMS,
    is_every,
    take_authors,
    take_entry,
    take_messages,
    take_paths,
    take_rename,
    terms_of,
)
from sourcelight.engines.deepsearch.question.request import QuestionPaths, Term

WHO = re.compile(
    r"^\W*(?:(?:list|show|name)\s+)?(?:who\b(?:\s+(?:and|or)\s+when\b)?|by whom\b|whose\b"
    r"|(?:which|what)\s+(?:author|person|developer|contributor|committer|engineer|people|authors"
    r"|contributors|developers)\b(?!\s+(?:has|have|had|with|made)\s+(?:the\s+)?(?:most|more|fewest|at least"
    r"|fewer|exactly|only|just|over|under|less|at most|up to|no)\b)"
    r"|(?:which|what)\s+team\b)",
    re.IGNORECASE,
)
WHEN = re.compile(
    r"^\W*(?:(?:since )?when\b(?:\s+(?:and|or)\s+(?:by )?who(?:m)?\b)?|(?:at|on|in) (?:what|which) (?:date"
    r"|day|year|month|commit)\b|(?:which|what) (?:was the )?(?:date|day|year)\b"
    r"|(?:which|what)\s+commit\b"
    r"|(?:what|where|which (?:name|path))\s+(?:was|were|is|has|did)\b(?=.*\b(?:renamed?|moved?)\b)"
    r"|(?:what|which)\s+(?:is|was)\s+the\s+(?=(?:date of the )?(?:first|last"
    r"|latest|newest|oldest|initial|most recent)\s+(?:commit|change)\b)"
    r"|(?:since|in) which commit\b|how long ago\b|how old is\b)",
    re.IGNORECASE,
)
# "was version ⟨N0⟩ released", "did v2.1 come out"
_TAG = re.compile(
    r"\b(?:is|was|were|did|of)\s+(?:the\s+)?(?:version|release|tag)?\s*(?P<tag>⟨[NPQ]\d+⟩"
    r"|v?\d+(?:\.\d+)+[\w.-]*|v\d+|[\w.-]+)[\s·]+(?:be\s+)?(?:tagged|released|cut|published|come out|out)\b",
    re.IGNORECASE,
)
ONE_COMMIT = re.compile(
    r"^\W*(?:what(?:'s)?|who|when|why|show(?: me)?|explain|describe|summari[sz]e|tell me about)\s+"
    r"(?:(?:did|does|do|is|was|has|in|about|made|makes|wrote|committed|authored|changed|happened|added|removed|the"
    r"|changes?|author|date|subject|message|of|by)\s+)*"
    r"(?:commit\s+)?(?P<id>[0-9a-f]{7,40})"
    r"(?:\s+(?:do|change[ds]?|fix|add(?:ed)?|remove[ds]?|introduce[ds]?|about|for|made|committed|authored|written|by|to"
    r"|whom?|and|when|why))*(?:\s+(?:in|of|from|within))?\W*$",
    re.IGNORECASE,
)
"""Questions about a commit that they name: "what did commit 1a2b3c4 do"."""
# "the last commit to", "first merge"
_COMMIT = re.compile(
    r"\b(?P<which>first|initial|oldest|earliest|last|latest|newest|most recent)\s+(?P<noun>commit|change"
    r"|merge)s?\b(?:\s+(?:made|to|in|of))?",
    re.IGNORECASE,
)
# The verb of an event. Of "who deleted the added check", the first one that `_event_in` tries counts.
_REMOVED = re.compile(
    r"\b(?:remov(?:e|ed|es)|delet(?:e|ed|es)|dropp?(?:ed|s)?|(?:got|get) rid of|t(?:ake|ook|aken) out)\b", re.IGNORECASE
)
_RENAMED = re.compile(
    r"\b(?:(?:been\s+)?(?:renam(?:e|ed|es)|mov(?:e|ed|es))(?:\s+(?:to|from|into))?|(?:get|got) renamed|go|went)\b",
    re.IGNORECASE,
)
_LAST = re.compile(r"\b(?:(?:most )?recently|last|latest|lately)\b", re.IGNORECASE)
_CHANGED = re.compile(
    r"\b(?:chang(?:e|ed|es)|modif(?:y|ied)|touch(?:ed)?|edit(?:ed)?|updat(?:e|ed)|committed|worked on|work on"
    r"|rais(?:e|ed|es)|lower(?:ed|s)?|bump(?:ed|s)?|increas(?:e|ed|es)|decreas(?:e|ed|es)|reduc(?:e|ed|es))\b",
    re.IGNORECASE,
)
_OF_VALUE = re.compile(
    r"\b(?:rais(?:e|ed|es)|lower(?:ed|s)?|bump(?:ed|s)?|increas(?:e|ed|es)|decreas(?:e|ed|es)|reduc(?:e|ed|es))\b",
    re.IGNORECASE,
)
"""Verbs that only a value has as its object, so that the line with its name is meant."""
_SET = rf"(?:{_OF_VALUE.pattern}|\b(?:set|chang(?:e|ed|es))\b)"
# "raised the default of ⟨N0⟩ from 5 to 10", "⟨N0⟩ was set to ⟨Q1⟩"
_TO_VALUE = re.compile(
    rf"(?:{_SET}\s+(?:(?:the|its)\s+)?(?:(?:default|limit|value)\s+(?:of|for)\s+)?(?P<name>⟨[NQ]\d+⟩)"
    rf"|(?P<subject>⟨[NQ]\d+⟩)\s+(?:(?:was|been|is)\s+)*{_SET})"
    r"\s+(?:from\s+\S+\s+)?to\s+(?P<value>⟨[NQ]\d+⟩|(?:-|v)?\d[\w.]*\w|-?\d|true|false|on|off|yes|no|none|null|nil)"
    r"(?![\w.]*\w)",
    re.IGNORECASE,
)
_MAKES = re.compile(r"\W*who\s+(?:creates|instantiates|constructs|calls|invokes|uses)\b", re.IGNORECASE)
_ADDED = re.compile(
    r"\b(?:add(?:ed|s)?|introduc(?:e|ed|es)|creat(?:e|ed|es)|wrote|writ(?:e|ten)|implement(?:ed)?"
    r"|(?:first|originally|initially)\s+(?:used|mentioned|called|referenced|seen|occur(?:red|s)?|uses?)"
    r"|appear(?:ed)?|author(?:ed)?|start(?:ed)? using|came|show(?:ed)? up|born|exist(?:ed|s)?|been (?:there"
    r"|around|in|here)|is there|available|supported|in use)\b",
    re.IGNORECASE,
)
# "wrote most of", "the main" author, "owns the most lines in"
_MAIN_AUTHOR = re.compile(
    r"\b(?:(?P<wrote>wr(?:ote|itten)|own(?:s|ed)?|authored)\s+(?:the\s+)?most(?: of)?(?: (?:the "
    r")?lines)?(?: (?:of|in))?|most of|main|primary|biggest|principal|(?:the )?most lines(?: (?:of|in))?)\b",
    re.IGNORECASE,
)
_OWNER = re.compile(
    r"\b(?:owns?|owned|owners?|code ?owners?|maintains?|maintainers?|responsible(?: for)?|in charge(?: of)?)\b",
    re.IGNORECASE,
)
# "has the most commits", "committed most often", "the busiest contributors"
_TOP = re.compile(
    r"\b(?:(?:has|have|had|made|with|did|wrote|written|authored|pushed)\s+(?:made\s+|written\s+)?(?:the\s+)?(?P<most>most|fewest)\s+(?P<noun>commits"
    r"|merges|changes)|(?:committed|contributed|commits|contributes)\s+(?:the\s+)?most(?: often)?(?: commits)?|most "
    r"active|top|busiest)\b(?:\s+(?:author|contributor|committer|developer)s?)?",
    re.IGNORECASE,
)
_PEOPLE = re.compile(
    r"\b(?:(?:has|have|had)\s+(?:ever\s+)?)?(?:contribut(?:e|ed|es)(?: to)?|chang(?:e|ed)|touch(?:ed)?"
    r"|edit(?:ed)?|modif(?:y|ied)|work(?:s|ed)?(?: (?:on|in))?|commit(?:s|ted)?(?: to)?|made (?:commits"
    r"|changes)(?: (?:to|in))?|made)\b(?:\s+(?:commits|changes)\b)?",
    re.IGNORECASE,
)
# "the three main contributors of"
_TOP_PEOPLE = re.compile(
    r"\b(?:the\s+)?(?:(?:\d+|two|three|five|ten)\s+)?(?:top|biggest|largest|main|leading|most active|busiest)"
    r"\s+(?:(?:\d+|two|three|five|ten)\s+)?(?:contributors?|committers?|developers?|people)\b(?:\s+(?:of|to|in)\b)?",
    re.IGNORECASE,
)
_WROTE_IT = re.compile(r"[\W·]*(?:wrote|created|authored|develops?|developed|writes)[\W·]*", re.IGNORECASE)
# "are the authors of", "were all people who worked on"
_ARE_PEOPLE = re.compile(
    r"\b(?:are|is|were)\s+(?:all\s+)?(?:the\s+)?(?:authors?|contributors?|committers?|developers?"
    r"|people)\b(?:\s+(?:of|to|in|behind|who (?:changed|touched|worked on|contributed to))\b)?",
    re.IGNORECASE,
)
# "FIXME comments"
_MARKER = re.compile(r"(?<![\w⟨])(TODO|FIXME|XXX|HACK)s?\b(?:\s+(?:comments?|notes?|markers?))?")
_JOINED = re.compile(r"\b(?P<which>first|last)\b", re.IGNORECASE)

_NAMED = re.compile(
    r"\bthe\s+(?!(?:new|old|first|last|latest|main|this|that|public|private|abstract|base|test|helper|whole|same|other)\b)"
    r"(?P<name>[A-Za-z_]\w{2,60})\s+(?:function|method|class|struct|trait|enum|macro|constant|decorator)\b",
    re.IGNORECASE,
)
"""A word that a noun behind it makes a name: "the clamp function"."""

_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,60}")
_AROUND_SUBJECT = re.compile(
    r"\b(?:was|were|did|do|does|has|have|had|is|are|been|be|get|got|the|a|an|originally|first|initially|last|ever|when|who"
    r"|whom|by|and|commit|code|function|method|class|struct|type|trait|interface|macro|module|enum|constant|variable"
    r"|field|parameter|option|exception|decorator|protocol|object|record|named|called)\b|[^\w]+",
    re.IGNORECASE,
)
"""Words around the only name of a question for a person or a date."""


def read_bare_subject(text: str) -> str:
    """Return the only word that a question for a person or a date is about: "when was the class Command added".

    It may be a word of prose: only a definition of the name tells. Empty for other questions, and for names that
    are told by their form, such as ``add_command``.
    """
    asks = WHO.search(text) or WHEN.search(text)
    if asks is None:
        return ""

    rest = (text[: asks.start()] + " " + text[asks.end() :]).rstrip(" .?!")
    # "Who is the main author" asks for a person, also where the code has a `main`.
    if re.search(r"[^\w\s,]|\bauthors?$", rest) is not None:
        return ""

    for pattern in (_ADDED, _REMOVED, _CHANGED):
        if pattern.search(rest) is not None:
            words = _AROUND_SUBJECT.sub(" ", pattern.sub(" ", rest)).split()
            is_name = len(words) == 1 and _IDENTIFIER.fullmatch(words[0]) is not None
            return words[0] if is_name else ""

    return ""


def is_word_of_event(word: str) -> bool:
    """Return whether a word is a verb of a question for a person or a date, or a noun beside its name."""
    patterns = (_ADDED, _REMOVED, _CHANGED, _RENAMED, _AROUND_SUBJECT)
    return any(pattern.fullmatch(word) is not None for pattern in patterns)


def read_commit(marked_text: MarkedText, paths: QuestionPaths) -> dict[str, Any] | None:
    """Read a question about a commit that it names; None for other questions, or without the commit."""
    match = ONE_COMMIT.match(marked_text.text)
    if match is None or not paths.find_revision(match["id"]):
        return None
    marked_text.text = ""
    return {"kind": "when", "event": "named", "head": match["id"]}


def read_event(marked_text: MarkedText, paths: QuestionPaths) -> dict[str, Any] | None:
    """Read a question for a person or a date; None for other questions, or without a named subject."""
    if marked_text.remove(_TOP_PEOPLE) is not None:
        marked_text.remove(r"^\W*(?:what|which|list|show|name|give me|who)\s+(?:are|is|were)?\s*(?:the\s+)?")
        return {"kind": "who", "event": "people", "is_top": True, **take_paths(marked_text, paths, of_history=True)}

    asks = WHO.search(marked_text.text) or WHEN.search(marked_text.text)
    if asks is None:
        return None

    # "Who creates a Mill" asks for code; a person created something.
    if _MAKES.match(marked_text.text) is not None:
        return None

    before = marked_text.text
    kind = "who" if WHO.search(marked_text.text) else "when"
    marked_text.replace_match(asks)

    # Both are stated for either, so that the second half asks for nothing else if its verb is that of the first.
    marked_text.text = without_second_part(marked_text.text)

    # "Since when is there a retry" asks when it was added, without a verb for it.
    if "since" in asks[0].lower() and _ADDED.search(marked_text.text) is None:
        marked_text.text += " added"

    fields = _event(marked_text, kind, paths)
    if fields is None:
        # Other readers must see the question as it was asked.
        marked_text.text = before
        return None

    return {"kind": kind, **fields}


def _event(  # noqa: PLR0911 - one for each form of question
    marked_text: MarkedText, kind: str, paths: QuestionPaths
) -> dict[str, Any] | None:
    marked_text.mark(_MARKER, "N", lambda match: match[1].upper())
    if kind == "who" and marked_text.remove(_ARE_PEOPLE) is not None:
        return {"event": "people", **take_paths(marked_text, paths, of_history=True)}
    if kind == "who" and _WROTE_IT.fullmatch(marked_text.text) is not None:
        marked_text.text = ""
        return {"event": "most"}

    if kind == "when":
        # "When was version 2 released" is about a tag only if the repository has one of this name.
        tag = _TAG.search(marked_text.text)
        revision = paths.find_revision(marked_text.text_of(tag["tag"])) if tag is not None else ""
        if revision:
            marked_text.remove(_TAG)
            return {"event": "tag", "head": revision}

    if kind == "who":
        top = marked_text.remove(_TOP)
        if top is not None:
            return _top_people(top) | take_paths(marked_text, paths, of_history=True)

    if kind == "when":
        authors = take_authors(marked_text)
        if authors:
            return {"event": "commit", **_commit_of_authors(marked_text, paths), "authors": authors}

    commit = marked_text.remove(_COMMIT)
    if commit is not None:
        marked_text.remove(r"\b(?:made|author(?:ed)?|wrote|did|do)\b")
        return {
            "event": "commit",
            "is_last": commit["which"].lower() in {"last", "latest", "newest", "most recent"},
            "merges": True if commit["noun"].lower() == "merge" else None,
            **_filters(marked_text, paths),
        }

    if kind == "who" and marked_text.remove(_MAIN_AUTHOR) is not None:
        marked_text.remove(
            r"\b(?:author|contributor|owner|maintainer|developer)s?\b(?:\s+of\b)?|\bwrote\b|\b(?:lines|code)\b"
        )
        return {"event": "most", **take_paths(marked_text, paths, of_history=False)}

    return _of_subject(marked_text, kind, paths)


def _top_people(match: re.Match[str]) -> dict[str, Any]:
    """Return the fields of a question for the people with the most (or fewest) commits, or merges."""
    noun = match["noun"] or ""
    superlative = match["most"] or ""
    return {
        "event": "people",
        "is_top": True,
        "is_fewest": superlative.lower() == "fewest",
        "merges": True if noun.lower() == "merges" else None,
    }


def _commit_of_authors(marked_text: MarkedText, paths: QuestionPaths) -> dict[str, Any]:
    """Read when somebody first or last committed."""
    match = marked_text.remove(_JOINED)
    while marked_text.remove(
        r"\b(?:did|commit(?:ted)?|start(?:ed)?(?: contributing| working)?|join(?:ed)?|contribut(?:e"
        r"|ed)(?: to)?|make|made|change|touch|work|push|a|the|was|is|of|his|her|their|its)\b"
    ):
        pass

    is_last = match is not None and match["which"].lower() == "last"
    return {"is_last": is_last, **_filters(marked_text, paths, authors=False)}


def _filters(marked_text: MarkedText, paths: QuestionPaths, *, authors: bool = True) -> dict[str, Any]:
    """Take the conditions on a commit: who wrote it, its files and its message."""
    fields: dict[str, Any] = {}
    if authors:
        fields["authors"] = take_authors(marked_text)

    fields |= take_paths(marked_text, paths, of_history=True)
    return fields | take_messages(marked_text)


def _of_subject(  # noqa: PLR0911 - one for each form of question
    marked_text: MarkedText, kind: str, paths: QuestionPaths
) -> dict[str, Any] | None:
    """Read questions about who added, removed or changed something and when, and who owns it."""
    text = marked_text.text
    of_value = _to_value(marked_text)
    if of_value is not None:
        return of_value

    last = _LAST.search(text) is not None or _OF_VALUE.search(text) is not None
    event = _event_in(text, kind, is_last=last)
    if not event:
        return None

    if "⟨" not in text:
        marked_text.text = text = _mark_name(marked_text)

    names = re.search(rf"(?P<terms>{TERMS})", text)
    path = re.search(r"⟨P\d+⟩", text)
    if event == "renamed" and path is None:
        return None

    if event in {"people", "owner"}:
        return _of_people(marked_text, event, paths)

    if event == "renamed":
        rename = take_rename(marked_text, paths)
        if rename is not None:
            marked_text.remove(_RENAMED)
            return {"event": event, "is_last": False, **rename}
        names = None

    if names is None and path is None:
        if event != "changed" or not last:
            return None
        scope = take_paths(marked_text, paths, of_history=True)
    elif names is not None:
        terms = tuple(_as_word(term) for term in terms_of(marked_text, names["terms"]))
        _take_subject(marked_text, names["terms"])
        scope = {"terms": terms, "every": is_every(names["terms"]), **take_paths(marked_text, paths, of_history=False)}
    else:
        term = take_entry(marked_text) if event in {"added", "removed"} else None
        is_past = event in {"removed", "renamed"}
        scope = {
            **take_paths(marked_text, paths, of_history=True, removed=is_past and term is None),
            **({"terms": (term,)} if term is not None else {}),
        }

    pattern = {"removed": _REMOVED, "added": _ADDED, "changed": _CHANGED, "renamed": _RENAMED}[event]
    marked_text.remove(pattern)
    if event == "changed":
        first = marked_text.remove(r"\bfirst\b") is not None
        marked_text.remove(_LAST)
        return {"event": event, "is_last": not first, **scope}

    marked_text.remove(r"\b(?:first|originally|initially)\b")
    is_last = marked_text.remove(_LAST) is not None
    return {"event": event, "is_last": is_last, **scope}


def _of_people(marked_text: MarkedText, event: str, paths: QuestionPaths) -> dict[str, Any] | None:
    """Read who changed or owns files; None for owners of nothing that can be counted."""
    scope = take_paths(marked_text, paths, of_history=event == "people")
    # "Who owns this" without a path has no subject that can be counted.
    if event == "owner" and not scope.get("paths"):
        return None
    marked_text.remove(_OWNER if event == "owner" else _PEOPLE)
    marked_text.remove(r"\b(?:is|are|to|made|has|have|ever|file|folder|director(?:y|ies))\b")
    return {"event": event, **scope}


def _mark_name(marked_text: MarkedText) -> str:
    """Return the text with a mark for a word that a noun makes a name, as in "the clamp function"."""
    text = marked_text.text
    word = _NAMED.search(text)
    if word is None:
        return text

    mark = marked_text.add(Mark("N", word["name"], word["name"]))
    return f"{text[: word.start('name')]}{mark}{text[word.end('name') :]}"


def _as_word(term: Term) -> Term:
    """Return a term that counts as a whole word if it is a name: a longer name has another history."""
    if _IDENTIFIER.fullmatch(term.text) is None:
        return term
    return replace(term, is_word=True)


def _to_value(marked_text: MarkedText) -> dict[str, Any] | None:
    """Read "who raised `x` to 10": the first line with the name and this value; None for another question."""
    match = _TO_VALUE.search(marked_text.text)
    if match is None:
        return None

    value = match["value"]
    text = marked_text.text_of(value)

    # A former name is renamed to the next one: only numbers and quoted texts are values.
    if not re.match(r"-?\d", text) and value.startswith("⟨N"):
        return None

    terms = terms_of(marked_text, match["name"] or match["subject"])
    marked_text.replace_match(match)
    return {"event": "added", "terms": terms, "value": text}


def _event_in(text: str, kind: str, *, is_last: bool) -> str:
    """Return the event that a question names; empty for none."""
    # The first that matches counts, so the order decides: "who removed the added check" asks for a removal.
    patterns = {
        "renamed": _RENAMED,
        "removed": _REMOVED,
        "added": _ADDED,
        "changed": _CHANGED,
        "owner": _OWNER,
        "people": _PEOPLE,
    }
    event = next((name for name, pattern in patterns.items() if pattern.search(text) is not None), "")

    # "When was x last added or changed" asks for the newest change; an addition is one.
    if event == "added" and re.search(r"\blast\b|\bmost recently\b", text, re.IGNORECASE) and _CHANGED.search(text):
        event = "changed"

    # "Who changed x" without first or last asks for everybody who did.
    if event == "changed" and kind == "who" and not is_last and not re.search(r"\bfirst\b", text, re.IGNORECASE):
        event = "people"

    return event


def _take_subject(marked_text: MarkedText, text: str) -> None:
    """Take names with the nouns around them: "the function `x`", "`x` support"."""
    marked_text.remove(
        rf"{DET}{re.escape(text)}(?:\s+(?:function|method|class|type|macro|struct|constant|variable|string"
        rf"|header|command|option|flag|setting|parameter|argument|keyword|attribute|property|exception|error"
        rf"|field|enum|interface|decorator|module)\b)?"
    )
