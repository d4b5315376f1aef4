"""Take the commits that count: by person, message, changed text and revision."""

from __future__ import annotations

import re
from typing import Any

from sourcelight.engines.deepsearch.question.marks import GAP, MarkedText
from sourcelight.engines.deepsearch.question.phrases.terms import DET, TERMS, is_every, terms_of
from sourcelight.engines.deepsearch.question.request import QuestionPaths

# ann@example.org, ⟨Q0⟩, Ann Lee
_PERSON = r"(?P<person>[\w.+\[\]-]+@[\w.-]+\.\w+|⟨[QN]\d+⟩|{name}(?:\s+{name}){{0,3}})"
# A capital begins a name of a person, except in these words.
_CAPITAL = (
    r"(?!(?:I|The|A|An|Q[1-4]|January|February|March|April|May|June|July|August|September|October|November"
    r"|December|Go|Python)\b)[^\W\d_a-z][\w'\u2019.-]*\w"
)
# "written by Ann Lee"
_BY = re.compile(
    rf"\b(?:(?:authored|written|made|done|pushed|contributed|added|committed|introduced|changed|touched"
    rf"|removed|created) )?by (?:the author |author )?{_PERSON.format(name=_CAPITAL)}(?:['\u2019]s)?"
)
# Handles are lower case, so all words that may follow "by" must be excluded.
_HANDLE = (
    r"(?!(?:we|i|you|they|it|he|she|the|a|an|this|that|people|anyone|someone|somebody|everyone|there|each|any"
    r"|last|first|been|ever|who|not|most|its|their|authors?|contributors?|developers?|commits?"
    r"|files?|bots?|humans?|users?|persons?|women|men|members?|maintainers?|employees|outsiders|newcomers|volunteers"
    r"|engineers?|programmers?|committers?|folks|others|anybody|nobody|everybody|both|all|many|some|few|several|one|none"
    r"|repositor(?:y|ies)|repos?|projects?|teams?|compan(?:y|ies)|tests?|merges?|changes?|releases?)\b)[a-z][\w-]{2,}"
)
# "by user ann42", "commits by ann42" at the end
_BY_HANDLE = re.compile(
    rf"\b(?:(?:authored|written|made|done|pushed|contributed|committed) )?by (?:the )?(?:user |author |handle )"
    rf"(?P<person>{_HANDLE})|(?:·|\b(?:commits?|changes|are|were|authored|made|written|pushed|done))\s*\bby "
    rf"(?P<plain>{_HANDLE})(?=[\W·]*$)"
)
# "Did Ann commit", "has ann@example.org ever changed". The verb stays for later patterns.
_DID = re.compile(
    rf"\b(?:did|has|have|does) (?P<person>[\w.+\[\]-]+@[\w.-]+\.\w+|⟨[QN]\d+⟩"
    rf"|{_CAPITAL}(?:\s+{_CAPITAL}){{0,3}}|{_HANDLE})\s+(?P<adverb>ever\s+|last\s+"
    rf"|first\s+)?(?P<verb>ma[dk]e|commit(?:ted)?|writ(?:e|ten)|wrote|author(?:ed)?|chang(?:e|ed)"
    rf"|touch(?:ed)?|contribut(?:e|ed)(?: to)?|edit(?:ed)?|modif(?:y|ied)|work(?:ed)?(?: on)?|push(?:ed)?"
    rf"|add(?:ed)?|remov(?:e|ed)|delet(?:e|ed)|have|start(?: contributing| working)?|join)\b"
)
# "Ann Lee's last commit"
_POSSESSIVE = re.compile(
    rf"\b{_PERSON.format(name=_CAPITAL)}['\u2019]s?\s+(?=(?:first |last |latest )?(?:commits?|changes|work"
    rf"|contributions?))"
)
# "commits from Ann Lee"
_FROM = re.compile(rf"\b(?:commits?|changes)\s+from {_PERSON.format(name=_CAPITAL)}")
# "whose message mentions ⟨Q0⟩", "commits about ⟨N0⟩"
_MESSAGE = re.compile(
    rf"\b(?:(?:that |which |whose )*(?:commit )?(?:messages?|subjects?|titles?)?\s*(?:mention(?:s|ed|ing)?"
    rf"|contain(?:s|ed|ing)?|say(?:s|ing)?|refer(?:s|ring)? to|includ(?:e|es|ing)|with|about|have"
    rf"|has))\s+{DET}(?P<terms>{TERMS}|(?<=mention )\w+|(?<=mentioning )\w+|(?<=about )\w+|(?<=mentions "
    rf")\w+)(?:\s+in (?:the(?:ir)?|its)?\s*(?:commit )?(?:messages?|subjects?|titles?))?",
    re.IGNORECASE,
)
# "that added lines with ⟨Q0⟩", "removed a call of ⟨N0⟩"
_CHANGED_TEXT = re.compile(
    rf"\b(?:that |which |have |has |did )*(?P<verb>add(?:s|ed|ing)?|introduc(?:e|es|ed|ing)|remov(?:e|es|ed"
    rf"|ing)|delet(?:e|es|ed|ing)|chang(?:e|es|ed|ing)|touch(?:es|ed|ing)?|modif(?:y|ies|ied"
    rf"|ying))\s+(?:(?:a |the )?lines? (?:with|containing|of)\s+|(?:a )?(?:use|usage|call)s? "
    rf"of\s+)?{DET}(?P<terms>{TERMS})",
    re.IGNORECASE,
)

# "version 2.1", "v2.1", "the tag ⟨N0⟩", "1a2b3c4", "main"
_REVISION = (
    r"(?:(?:the\s+)?(?:version|release|tag|branch|commit)\s+)?(?P<{0}>⟨[PQN]\d+⟩|v?\d+(?:\.\d+)+(?:[\w.+-]*\w)?|v\d+"
    r"|[0-9a-f]{{7,40}}|[\w./-]*\w)"
)
# "Between v1.0 and v2.0", "from v1.0 to HEAD".
_SPAN = re.compile(
    rf"\b(?:between|from)\s+{_REVISION.format('base')}\s+(?:and|to|until|till|\.\.)\s+{_REVISION.format('head')}",
    re.IGNORECASE,
)
# "v1.0..v2.0"
_DOTS = re.compile(r"(?P<base>[\w./+-]*?\w)\.\.\.?(?P<head>\w[\w./+-]*)")
# "since v1.0"
_SINCE = re.compile(rf"\b(?:since|after|behind)\s+{_REVISION.format('base')}", re.IGNORECASE)
# "before v2.0", "at 1a2b3c4"
_UNTIL = re.compile(rf"\b(?:before|until|up to|in|at|by)\s+{_REVISION.format('head')}", re.IGNORECASE)

# "Not yet in main", "missing from v2".
_NOT_IN = re.compile(
    r"\b(?:(?:that|which)\s+)?(?:(?:are|is)\s+)?(?:not\s+(?:yet\s+)?(?:in|on|behind|part of)|missing (?:from|in))\s+"
    rf"{_REVISION.format('base')}",
    re.IGNORECASE,
)
# "By commit 1a2b3c4": the changes of one commit, as a span from its parent.
_OF_COMMIT = re.compile(
    r"\b(?:(?:by|in|did|does)\s+)?commit\s+(?P<head>[0-9a-f]{7,40})\b(?:\s+(?=chang|touch|modif|edit|add|remov))?",
    re.IGNORECASE,
)


def take_range(marked_text: MarkedText, paths: QuestionPaths) -> tuple[str, str]:
    """Take a span of revisions, its base and its head: "between v1 and v2", "since v1"; empty texts for none."""
    for pattern in (_SPAN, _DOTS, _NOT_IN, _OF_COMMIT, _SINCE, _UNTIL):
        match = pattern.search(marked_text.text)
        if match is None:
            continue

        # The patterns take any word; only revisions that exist make it a span.
        revisions: dict[str, str] = {}
        for group, text in match.groupdict().items():
            if text:
                revisions[group] = paths.find_revision(marked_text.text_of(text))

        if all(revisions.values()):
            marked_text.replace_match(match)
            if pattern is _OF_COMMIT:
                return f"{revisions['head']}~1", revisions["head"]
            return revisions.get("base", ""), revisions.get("head", "")

    return "", ""


def take_authors(marked_text: MarkedText) -> tuple[str, ...]:
    """Take the authors of the commits."""
    authors: list[str] = []
    # One person for each form at most: further ones stay in the text, and are named as not applied.
    for pattern in (_BY, _BY_HANDLE, _DID, _POSSESSIVE, _FROM):
        match = pattern.search(marked_text.text)
        if match is None:
            continue

        groups = match.groupdict()
        authors.append(marked_text.text_of(groups["person"] or groups["plain"]))
        remaining = GAP
        if pattern is _FROM:
            remaining += "commits "
        elif pattern is _DID:
            remaining += f"{match['adverb'] or ''} {match['verb']}"

        marked_text.replace_match(match, remaining)

    return tuple(dict.fromkeys(authors))


def take_messages(marked_text: MarkedText) -> dict[str, Any]:
    """Take the texts of commit messages, and whether a message needs all of them."""
    match = marked_text.remove(_MESSAGE)
    if match is None:
        return {"messages": ()}
    return {"messages": terms_of(marked_text, match["terms"]), "every_message": is_every(match["terms"])}


def take_changed_text(marked_text: MarkedText) -> dict[str, Any]:
    """Take the texts that commits add or remove, and which of the two; empty without such texts."""
    match = marked_text.remove(_CHANGED_TEXT)
    if match is None:
        return {}

    verb = match["verb"].lower()
    side = ""
    if verb.startswith(("add", "intro")):
        side = "added"
    elif verb.startswith(("remov", "delet")):
        side = "removed"

    terms = terms_of(marked_text, match["terms"])
    return {"relation": "change", "terms": terms, "every": is_every(match["terms"]), "side": side}
