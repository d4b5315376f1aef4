"""The commit whose subject says what a question for a person or a date describes: "which commit exposed numThreads".

The subject has to say it by itself: it begins with the verb of the question, or one that means the same, has all of its
words, and no other object before them. "Add tests for the redis chart" isn't the commit that added the chart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sourcelight.core.errors import QueryError, RepositoryError, ToolError, UnsupportedTool
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.claims import is_proven
from sourcelight.engines.deepsearch.evidence.model import Finding, Statement
from sourcelight.engines.deepsearch.facts.commits import evidence_of
from sourcelight.engines.deepsearch.facts.events import byline
from sourcelight.engines.deepsearch.facts.model import Work, format_call, limiting_notices
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.question.events import WHEN, WHO, without_second_part
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.requests import Emit, ResearchRequest
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, stem

_MAX_CHARS = 300
_MAX_WORDS = 12
_MAX_FITTING = 3
"""Commits that may fit: of more, the first isn't what the question is about."""
_WORD = re.compile(r"--?[A-Za-z][\w-]*|\w[\w.+#/:-]*[\w+#]|\w")
_PREFIX = re.compile(r"(?:\[[^\]\n]{1,60}\]\s*:?\s*|[\w.,/*-]{1,50}(?:\([^)\n]{1,60}\))?!?:\s+)")
"""The part of a subject that names a component: `feat(gate):`, `[charts/gate]`."""
_NUMBERS = re.compile(
    r"\s*\(?(?:(?:closes|fixes|see|refs?|pr|issue|bug|resolves)\s+)?#\d+\)?|\s*\[#\d+\]", re.IGNORECASE
)
_IRREGULAR = {
    "made": "make", "wrote": "write", "written": "write", "brought": "bring", "built": "build", "hid": "hide",
    "hidden": "hide", "shown": "show", "sped": "speed", "rewrote": "rewrite", "rewritten": "rewrite", "took": "take",
    "taken": "take", "gave": "give", "given": "give", "began": "begin", "begun": "begin", "ran": "run", "sent": "send",
    "moved": "move", "dropped": "drop",
}  # fmt: skip
_ADDING = ("add", "introduce", "implement", "create", "support", "new", "initial")
_MEANINGS: Sequence[tuple[Sequence[str], Sequence[str]]] = (
    (("add", "introduce", "implement", "create"), _ADDING),
    (("write",), (*_ADDING, "write")),
    (("remove", "delete", "drop"), ("remove", "delete", "drop")),
    (("replace", "migrate", "switch", "swap"), ("replace", "migrate", "switch", "swap", "move", "convert", "port")),
    (("expose", "export"), ("expose", "export")),
    (("fix", "resolve", "repair"), ("fix", "resolve", "repair", "correct")),
    (("update", "upgrade", "bump"), ("update", "upgrade", "bump")),
    (("raise", "increase"), ("raise", "increase", "bump")),
    (("lower", "reduce", "decrease"), ("lower", "reduce", "decrease")),
)
"""Verbs of questions, and the verbs of subjects that say the same."""
_SAME: Mapping[str, frozenset[str]] = {
    stem(verb): frozenset(map(stem, same)) for verbs, same in _MEANINGS for verb in verbs
}
_DIRECTED = frozenset(map(stem, ("replace", "migrate", "switch", "swap", "rename", "move", "convert", "port", "bump")))
"""Verbs for which it matters which of two names comes first."""
_LIMITS_TEXT = """
not no nor none without except never but besides only before after until since last latest lately recently most again
often why how many other every each all don't doesn't didn't isn't wasn't again back undo
"""
_LIMITS = frozenset(_LIMITS_TEXT.split())
"""Words that turn a question, or a subject, into another one."""
_NEUTRAL_TEXT = """
commit commits first originally initially exactly actually repo repository project codebase ever person author
"""
_NEUTRAL = frozenset(_NEUTRAL_TEXT.split())
_LIGHT_TEXT = """
new initial basic simple optional support ability option possibility version first command line cli
"""
_LIGHT = frozenset(_LIGHT_TEXT.split())
"""Words before the object of a subject that leave it the same: "Add a new chart"."""
_BESIDE_TEXT = """
test tests testing spec specs doc docs documentation document readme changelog changes example examples sample demo ci
workflow lint comment comments typo benchmark benchmarks translation translations badge link icon
"""
_BESIDE = frozenset(_BESIDE_TEXT.split())
"""Things to which something is added, too, or in which it is only written about."""
_JOINING_TEXT = """
to for in into on with and via by so that which when as from of using if while instead at during within including or
"""
_JOINING = frozenset(_JOINING_TEXT.split())
_INTO = frozenset(["to", "in", "into", "on", "of", "from", "for", "at", "within"])


@dataclass(frozen=True, slots=True)
class _CommitDescription:
    """The words of a question for a commit: all of them by stem, in order, and the longest of them that is no verb."""

    stems: tuple[str, ...]
    words: tuple[str, ...]
    longest: str
    is_exact: bool


def find_described_commit(inquiry: ResearchRequest, emit: Emit) -> Finding | None:
    """Return the only commit whose subject says what a question describes, or the first of a few; None for others."""
    description = _read(inquiry.words)
    if description is None:
        return None

    work = Work(FactRequest("lookup"), inquiry, emit)
    # The stem of a word begins all of its forms.
    beginning = stem(description.longest)
    common = beginning if description.longest.startswith(beginning) else description.longest[:3]
    arguments: dict[str, Any] = {
        "repos": work.names, "messageTerms": [f"(?i){escape_regexp(common)}"], "useRegex": True,
    }  # fmt: skip
    if work.revision:
        arguments["revisions"] = [work.revision]
    try:
        answer = work.call("commit_search", arguments, changes=False)
    except (ToolError, QueryError, RepositoryError, UnsupportedTool):
        inquiry.context.cancellation.check()
        return None

    rows = answer.table.to_pylist()
    fitting = [row for row in rows if len(row["parents"] or ()) < 2 and _says(row["subject"] or "", description)]
    subjects = {row["subject"] for row in fitting}
    is_reverted = any(_find_reverted_subject(row["subject"] or "") in subjects for row in rows)
    if not 0 < len(fitting) <= _MAX_FITTING or is_reverted or len({row["repository"] for row in fitting}) > 1:
        return None

    row = min(fitting, key=lambda row: row["commit_date"])
    series = ", the first of several that fit" if len(fitting) > 1 else ""
    finding = Finding(
        Statement(
            f"The commit “{inline(row['subject'])}” is by {byline(row)} ({row['commit'][:12]}){series}",
            (evidence_of(row),),
        ),
        "date",
        queries=[format_call("commit_search", arguments)],
        notes=limiting_notices(answer),
        method=[
            "The subject of the commit has all words of the question, or verbs that mean the same; merges don't count."
        ],
        heading="Later commits that fit",
    )
    finding.details = [
        Statement(f"“{inline(other['subject'])}” by {byline(other)}", (evidence_of(other),))
        for other in sorted(fitting, key=lambda row: row["commit_date"])[1:]
    ]
    return finding if not finding.notes and is_proven(finding) else None


def _read(text: str) -> _CommitDescription | None:
    """Read the words that describe a commit; None for a question that asks for something else, or names too little."""
    asks = WHO.search(text) or WHEN.search(text)
    if asks is None or len(text) > _MAX_CHARS:
        return None

    rest = without_second_part(text[asks.end() :]).replace("`", " ").replace("·", " ")
    words = [word for word in _WORD.findall(rest) if word.lower() not in _NEUTRAL]
    if any(word.lower() in _LIMITS for word in words):
        return None

    words = [word for word in words if word.lower() not in FUNCTION_WORDS]
    stems = tuple(dict.fromkeys(map(_stem, words)))
    objects = [word for word in words if _stem(word) not in _SAME and _stem(word) != "make"]
    if not objects or not 1 < len(stems) <= _MAX_WORDS:
        return None

    is_name = any(not (word.isalpha() and word[1:].islower()) for word in objects)
    is_exact = len(objects) == 1 and not is_name
    longest = max((word.lower().lstrip("-") for word in objects), key=len)
    return _CommitDescription(stems, tuple(words), longest, is_exact) if len(longest) > 1 or is_name else None


def _stem(word: str) -> str:
    lower = word.lower()
    return lower if lower.startswith("-") else stem(_IRREGULAR.get(lower, lower))


def _says(subject: str, description: _CommitDescription) -> bool:
    """Return whether the subject of a commit says what a question describes, and nothing else before it."""
    text, beginning = _NUMBERS.sub("", subject[: _MAX_CHARS + 1]), ""
    while (prefix := _PREFIX.match(text)) is not None:
        beginning, text = f"{beginning} {prefix[0]}", text[prefix.end() :]

    matches = list(_WORD.finditer(text))
    forms = [_forms(match[0]) for match in matches]
    if len(subject) > _MAX_CHARS or len(forms) < 2:
        return False

    # The first word of a subject is what it does; a question names that by a verb of the same meaning.
    verbs = {word for word in description.stems if forms[0] & _SAME.get(word, {word})}
    prefix_words = frozenset(form for word in re.findall(r"\w+", beginning) for form in (word.lower(), _stem(word)))
    is_beside = bool(prefix_words & _BESIDE) and not prefix_words & _BESIDE & set(description.stems)
    if not verbs or is_beside or (verbs & _DIRECTED and not _in_order(description, forms)):
        return False

    accepted = [_SAME.get(word, frozenset({word})) if word in verbs else {word} for word in description.stems]
    if not all(prefix_words & same or any(form & same for form in forms) for same in accepted):
        return False

    accepted_words = frozenset[str]().union(*accepted)
    last = max(number for number, form in enumerate(forms) if form & accepted_words)
    before = [match[0].lower() for match, form in zip(matches[:last], forms, strict=False) if not form & accepted_words]
    if any(word in _LIMITS or (word not in FUNCTION_WORDS and word not in _LIGHT) for word in before):
        return False
    return _ends_well(text, matches, last, is_exact=description.is_exact)


def _forms(word: str) -> frozenset[str]:
    """Return the stems that a word of a subject counts as: its own, and that of each part of a path."""
    parts = re.split(r"[/:]", word)
    return frozenset({_stem(word), *(_stem(part) for part in parts if part)})


def _in_order(description: _CommitDescription, forms: Sequence[frozenset[str]]) -> bool:
    """Return whether the names of a change from one to another are in the order of the question."""
    names = [word for word in description.stems if word not in _SAME]
    positions = [next((number for number, form in enumerate(forms) if name in form), -1) for name in names]
    is_turned = any("from" in form for form in forms) and any("to" in form for form in forms)
    if is_turned:
        start = next(number for number, form in enumerate(forms) if "from" in form)
        end = next(number for number, form in enumerate(forms) if "to" in form)
        is_turned = end < start
    return not is_turned and all(first < second for first, second in pairwise(positions))


def _ends_well(text: str, matches: Sequence[re.Match[str]], last: int, *, is_exact: bool) -> bool:
    """Return whether what follows the last word of the question in a subject is joined to it, and is no test."""
    rest = matches[last + 1 :]
    if not rest:
        return True

    words = [match[0].lower() for match in rest]
    if is_exact or any(word in {"again", "back"} for word in words):
        return False

    between = text[matches[last].end() : rest[0].start()]
    if words[0] not in _JOINING and re.search(r"[(:;,+&\u2013\u2014]", between) is None:
        return False
    if words[0] in _INTO:
        return not any(word.rpartition(".")[0] in _BESIDE or word in _BESIDE for word in words)
    return True


def _find_reverted_subject(subject: str) -> str:
    """Return the subject that a commit reverts; empty for other commits."""
    match = re.match(r"revert\w*:?\s+[\"“'](?P<subject>.*)[\"”']", subject, re.IGNORECASE)
    return match["subject"] if match is not None else ""
