"""The commit whose subject says what a question for a person or a date describes: "which commit exposed numThreads".

The subject has to say it by itself: it begins with the verb of the question, or one that means the same, has all of its
words, and no other object before them. "Add tests for the redis chart" isn't the commit that added the chart.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

from sourcelight.core.errors import QueryError, RepositoryError, ToolError, UnsupportedTool
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.claims import is_proven
from sourcelight.engines.deepsearch.evidence.model import Finding, Statement
from sourcelight.engines.deepsearch.facts.commits import evidence_of
from sourcelight.engines.deepsearch.facts.events import byline
from sourcelight.engines.deepsearch.facts.model import Work, format_call, limiting_notices
from sourcelight.engines.deepsearch.lookups.project.commit_descriptions import CommitDescription, read_descriptions
from sourcelight.engines.deepsearch.lookups.project.commit_subjects import (
    BESIDE,
    DIRECTED,
    GENERIC,
    GENERIC_IF_REMOVED,
    JOINING,
    LIGHT,
    LIMITS,
    SAME,
    SIMILAR,
    SubjectLine,
    all_forms_of,
    stem_of,
)
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.requests import Emit, ResearchRequest
from sourcelight.engines.search.ranking.terms.related_words import short_forms
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, stem

_MAX_FITTING = 3
"""Commits that may fit: of more, the first isn't what the question is about."""
_INTO = frozenset(["to", "in", "into", "on", "of", "from", "for", "at", "within"])


_EXACT = "The subject of the commit has all words of the question, or verbs that mean the same; merges don't count."
_SIMILAR = (
    "The subject of the commit has the words that name the thing, as the object of a similar verb; merges don't count."
)


def find_described_commit(inquiry: ResearchRequest, emit: Emit) -> Finding | None:
    """Return the only commit whose subject says what a question describes, or the first of a few; None for others."""
    work = Work(FactRequest("lookup"), inquiry, emit)
    for description in read_descriptions(inquiry):
        finding, is_none = _find(work, description)
        if not is_none:
            return finding
    return None


def _find(work: Work, description: CommitDescription) -> tuple[Finding | None, bool]:
    """Return the finding for a description, and whether no subject fits it at all."""
    arguments: dict[str, Any] = {
        "repos": work.names,
        "messageTerms": [f"(?i){escape_regexp(text)}" for text in _beginnings(description.longest)],
        "useRegex": True,
    }
    if work.revision:
        arguments["revisions"] = [work.revision]
    try:
        answer = work.call("commit_search", arguments, changes=False)
    except (ToolError, QueryError, RepositoryError, UnsupportedTool):
        work.inquiry.context.cancellation.check()
        return None, False

    rows = answer.table.to_pylist()
    single = [
        row for row in rows if len(row["parents"] or ()) < 2 and _has_numbers(row["subject"] or "", description.words)
    ]
    target = _TARGET.search(work.inquiry.words)
    if target is not None:
        single = [row for row in single if _goes_to(row["subject"] or "", target["version"])]
    lines = [(row, line) for row in single if (line := SubjectLine.read(row["subject"] or "")) is not None]
    fitting = [row for row, line in lines if _says(line, description)]
    is_exact = bool(fitting)
    names = _names_version if _is_version(description) else _names
    fitting = fitting or [row for row, line in lines if names(row["subject"], line, description)]
    subjects = {row["subject"] for row in fitting}
    is_reverted = any(_find_reverted_subject(row["subject"] or "") in subjects for row in rows)
    if not 0 < len(fitting) <= _MAX_FITTING or is_reverted or len({row["repository"] for row in fitting}) > 1:
        return None, not fitting

    row = min(fitting, key=lambda row: row["commit_date"])
    # By a similar verb and with further words, several subjects say several things.
    if not is_exact and len(subjects) > 1:
        return None, False
    if any(other["commit_date"] < row["commit_date"] and _may_be(line, description) for other, line in lines):
        return None, False
    series = ", the first of several that fit" if len(fitting) > 1 else ""
    finding = Finding(
        Statement(
            f"The commit “{inline(row['subject'])}” is by {byline(row)} ({row['commit'][:12]}){series}",
            (evidence_of(row),),
        ),
        "date",
        queries=[format_call("commit_search", arguments)],
        notes=limiting_notices(answer),
        method=[_EXACT if is_exact else _SIMILAR],
        heading="Later commits that fit",
    )
    finding.details = [
        Statement(f"“{inline(other['subject'])}” by {byline(other)}", (evidence_of(other),))
        for other in sorted(fitting, key=lambda row: row["commit_date"])[1:]
    ]
    return (finding if not finding.notes and is_proven(finding) else None), False


_TARGET = re.compile(r"\bto (?:version |v)?(?P<version>\d[\w.]*)", re.IGNORECASE)
_FROM_TO = re.compile(r"\bfrom \S{1,40} to v?(?P<version>\d\S{0,40})", re.IGNORECASE)


def _goes_to(subject: str, version: str) -> bool:
    """Return whether a subject that names two versions has one as the second: "from 1 to 4" isn't "from 4 to 5"."""
    match = _FROM_TO.search(subject)
    return match is None or match["version"] == version or match["version"].startswith(f"{version.rstrip('.')}.")


def _beginnings(word: str) -> list[str]:
    """Return what begins all forms of a word, and those of its short forms."""
    beginning = stem(word)
    beginnings = [other for other in short_forms(beginning) if other != beginning]
    return [beginning if word.startswith(beginning) else word[:3], *beginnings]


def _may_be(line: SubjectLine, description: CommitDescription) -> bool:
    """Return whether a subject has all words of a thing and a similar verb, in whatever sentence.

    An older one of these may be the commit that is meant, though it isn't certain enough to be stated.
    """
    if not description.objects:
        return False
    words = {match[0].lower() for match in line.words}
    options = {word.lower() for word in description.words if word.startswith("--")}
    if words & (BESIDE | LIMITS) or not options <= words:
        return False
    forms = frozenset[str]().union(*map(all_forms_of, words))
    verb = next((form for form in line.forms[0] if form in _SUBJECT_VERBS), "")
    return set(description.objects) <= forms and _means(description, verb, line)


def _has_numbers(subject: str, words: Sequence[str]) -> bool:
    """Return whether a subject has each number of a question, by itself or behind the word that precedes it.

    The 4 of "Spring Boot 4" isn't that of `resilience4j`, but that of `spring-boot4`.
    """
    for index, word in enumerate(words):
        if not word[0].isdigit():
            continue
        number = rf"{re.escape(word)}(?!\w|\.\d)"
        forms = [rf"(?<![\w.])v?{number}"]
        if index:
            forms.append(rf"{re.escape(words[index - 1])}{number}")
        if re.search("|".join(forms), subject, re.IGNORECASE) is None:
            return False
    return True


def _names(subject: str, line: SubjectLine, description: CommitDescription) -> bool:
    """Return whether the object of a subject is what a question describes, with a similar verb and maybe more words."""
    objects = description.objects
    # "Moved the benchmarks to a repo" has one name of two: what it was moved to is missing.
    lower_words = [match[0].lower() for match in line.words]
    is_from = description.verb == stem_of("use") and "from" in lower_words
    if not objects or (description.verb in DIRECTED and len(objects) < 2) or is_from:
        return False

    unnamed_words = {
        word for word in lower_words if word not in GENERIC and word not in _VERB_FORMS and stem_of(word) not in objects
    }
    # One word of prose is the object only if the subject has no other.
    is_verb_first = bool(line.forms[0] & _SUBJECT_VERBS)
    further_words = unnamed_words - FUNCTION_WORDS - ({lower_words[0]} if is_verb_first else set())
    if (description.is_exact and further_words) or _is_narrower(lower_words, unnamed_words, objects):
        return False

    if any(word in LIMITS for word in lower_words) or re.match(
        r"(?:re-?)?(?:revert|apply|merge|wip)\b", subject, re.IGNORECASE
    ):
        return False

    verb = next((form for form in line.forms[0] if form in _SUBJECT_VERBS), "")
    is_noun = re.search(r"(?:er|or|tion|ment)$", lower_words[0]) is not None and lower_words[0] not in _VERB_FORMS
    verb = "" if is_noun else verb
    if not _means(description, verb, line):
        return False

    forms = [all_forms_of(match[0]) for match in line.words]
    start = 1 if verb else 0
    accepted = frozenset(objects)
    is_whole = all(
        name in line.prefix_words or any(name in form for form in forms[0 if verb in objects else start :])
        for name in objects
    )
    is_removal = description.verb in _REMOVING or verb in DIRECTED or description.verb in DIRECTED
    heads = line.heads(start, is_removal=is_removal)
    is_object = any(all_forms_of(head) & accepted for head in heads)
    beside = line.prefix_words & _BESIDE_PREFIXES
    beside |= {word.lower() for phrase in line.objects(start)[:1] for word in phrase if word.lower() in BESIDE}
    if is_removal:
        beside -= GENERIC_IF_REMOVED
    is_beside = bool({stem_of(word) for word in beside} - {stem_of(word) for word in description.words})
    if description.verb in _DIRECTED_FROM_TO and len(objects) > 1 and not _in_order(objects, forms):
        return False
    return is_whole and is_object and not is_beside


def _is_version(description: CommitDescription) -> bool:
    """Return whether a description is of a version alone: "bumped the version to 1.1.0"."""
    objects = description.objects
    return len(objects) == 1 and objects[0][0].isdigit() and description.verb in _BUMPING


def _names_version(subject: str, _line: SubjectLine, description: CommitDescription) -> bool:
    """Return whether a subject sets the version to the one of a description, and not from it to the next."""
    number = re.escape(description.objects[0])
    pattern = rf"\bversion\b.{{0,60}}(?:\bto|->|\u2192|:)\s*v?{number}(?![\w.]*\w)(?!\s*(?:->|\u2192))"
    return re.search(pattern, subject, re.IGNORECASE) is not None


def _is_narrower(words: Sequence[str], unnamed_words: Collection[str], objects: Sequence[str]) -> bool:
    """Return whether a subject names something else by the words of a thing: with others between, or turned around.

    "Add the async project template" is about less than the project template, and "add the file manager to the plugin
    system" about no plugin manager.
    """
    positions = [number for number, word in enumerate(words) if stem_of(word) in objects]
    if len(positions) < 2:
        return False
    between = set(words[positions[0] : positions[-1]])
    order = [objects.index(stem_of(words[number])) for number in positions]
    is_one_phrase = not between & FUNCTION_WORDS
    is_turned = order != sorted(order) and bool(between & {"to", "into", "from"})
    return is_turned or (is_one_phrase and bool(between & set(unnamed_words)))


def _means(description: CommitDescription, verb: str, line: SubjectLine) -> bool:
    """Return whether the verb of a subject may say what was asked; without a verb, it names what is new."""
    requested_verb = description.verb
    is_named_first = bool(all_forms_of(line.words[0][0]) & frozenset(description.objects))
    if not verb and not is_named_first and not line.prefix_words & {"feat", "feature"}:
        return False
    if not requested_verb:
        return True
    similar = SIMILAR.get(requested_verb, frozenset({requested_verb}))
    if not verb:
        # "Config file" or "feat: config file" names what is new.
        return requested_verb in _ADDING_VERBS and not line.prefix_words & _OTHER_PREFIXES
    return verb in similar or requested_verb in line.forms[0]


_BUMPING = frozenset(map(stem_of, ("bump", "update", "upgrade", "raise", "set", "increase")))
_DIRECTED_FROM_TO = DIRECTED - {stem_of("bump")}
_REMOVING = frozenset(map(stem_of, ("remove", "delete", "drop")))
_ADDING_VERBS = frozenset(map(stem_of, ("add", "introduce", "implement", "create", "write")))
_BESIDE_PREFIXES = frozenset(
    ["test", "tests", "doc", "docs", "readme", "example", "examples", "changelog", "spec", "style", "lint", "typo"]
)
_OTHER_PREFIXES = frozenset(
    ["fix", "docs", "chore", "refactor", "test", "ci", "perf", "style", "build", "bug", "bugfix", "revert"]
)
_SUBJECT_VERBS_TEXT = """
add introduce implement create write support provide allow enable offer include bring expose define ship start
initial first new make build remove delete drop replace kill purge ditch dump eliminate retire fix resolve repair
solve correct prevent avoid handle guard stop update upgrade bump raise increase require move switch set migrate use
change lower reduce decrease limit respect honor honour obey permit disable deactivate cap restrict bound speed
optimize optimise improve rename deprecate swap convert port document describe mention refactor rewrite revert clean
cleanup simplify extract split merge test check ensure show hide render print log return throw raise skip ignore
pass mark expose export adapt adjust tweak format lint release prepare publish tag note clarify reword explain pin
unpin lock unlock restore keep let accept reject validate verify detect parse generate
"""
_VERB_FORMS = frozenset(_SUBJECT_VERBS_TEXT.split())
_SUBJECT_VERBS = frozenset(map(stem_of, _SUBJECT_VERBS_TEXT.split()))
"""Words that are verbs at the beginning of a subject; a subject that begins with another one may have none."""


def _says(line: SubjectLine, description: CommitDescription) -> bool:
    """Return whether the subject of a commit says what a question describes, and nothing else before it."""
    if len(line.words) < 2 or not description.stems:
        return False

    matches, forms, prefix_words = line.words, line.forms, line.prefix_words

    # The first word of a subject is what it does; a question names that by a verb of the same meaning.
    verbs = {word for word in description.stems if forms[0] & SAME.get(word, {word})}
    is_beside = bool(prefix_words & BESIDE) and not prefix_words & BESIDE & set(description.stems)
    if (
        not verbs
        or is_beside
        or (verbs & DIRECTED and not _in_order([word for word in description.stems if word not in SAME], forms))
    ):
        return False

    accepted = [SAME.get(word, frozenset({word})) if word in verbs else {word} for word in description.stems]
    if not all(prefix_words & same or any(form & same for form in forms) for same in accepted):
        return False

    accepted_words = frozenset[str]().union(*accepted)
    last = max(number for number, form in enumerate(forms) if form & accepted_words)
    before = [match[0].lower() for match, form in zip(matches[:last], forms, strict=False) if not form & accepted_words]
    if any(word in LIMITS or (word not in FUNCTION_WORDS and word not in LIGHT) for word in before):
        return False
    return _ends_well(line.text, matches, last, is_exact=description.is_exact)


def _in_order(names: Sequence[str], forms: Sequence[frozenset[str]]) -> bool:
    """Return whether the names of a change from one to another are in the order of the question."""
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
    if words[0] not in JOINING and re.search(r"[(:;,+&\u2013\u2014]", between) is None:
        return False
    if words[0] in _INTO:
        return not any(word.rpartition(".")[0] in BESIDE or word in BESIDE for word in words)
    return True


def _find_reverted_subject(subject: str) -> str:
    """Return the subject that a commit reverts; empty for other commits."""
    match = re.match(r"revert\w*:?\s+[\"“'](?P<subject>.*)[\"”']", subject, re.IGNORECASE)
    return match["subject"] if match is not None else ""
