"""Write facts as an answer: the number, its conditions, its query, and the words that were not applied."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.core.markup import code, join_words
from sourcelight.core.markup.counts import join_names
from sourcelight.engines.deepsearch.analyses.answering import find_analysis
from sourcelight.engines.deepsearch.evidence.claims import UNREAD
from sourcelight.engines.deepsearch.facts.answering import find_facts
from sourcelight.engines.deepsearch.facts.files import excluded_repositories
from sourcelight.engines.deepsearch.facts.model import Fact, Work
from sourcelight.engines.deepsearch.facts.paths import describe_missing_paths
from sourcelight.engines.deepsearch.lookups.absence.spellings import state_meant_spelling
from sourcelight.engines.deepsearch.lookups.recount import confirm_definitions
from sourcelight.engines.deepsearch.markdown import in_sentence, inline
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.question.scope import QuestionScope
from sourcelight.engines.deepsearch.requests import Emit, ResearchRequest
from sourcelight.engines.deepsearch.research.fact_tables import cite, write_repositories, write_rows
from sourcelight.engines.deepsearch.research.protocol import NO_MODEL, Draft, Paragraph
from sourcelight.engines.deepsearch.research.questions import open_pronouns
from sourcelight.engines.deepsearch.research.search_scope import MAX_NAMED_REPOSITORIES, format_searched, scope_lines
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, stem

_NAMED_ROWS = 12
"""Maximum symbols that the first sentence names."""

_MAX_CITED_COMMITS = 5
"""Maximum commits that the first sentence cites."""

_NEUTRAL = frozenset({
    "feature", "function", "method", "class", "file", "option", "setting", "flag", "support", "code", "module", "whom",
    "key", "line", "lines", "parameter", "argument", "constant", "variable", "field", "macro", "keyword", "attribute",
    "repo", "repository", "project", "originally", "exactly", "actually", "commit", "change", "date", "version",
    "record", "message", "target", "protocol", "template", "service", "trait", "struct", "enum", "interface",
    "object", "type", "resource", "mixin", "extension", "proc", "procedure", "view", "table", "trigger", "rpc", "task",
    "they", "we", "out", "since", "thing",
    "category", "tag", "role", "driver", "adapter", "command", "subcommand", "plugin", "middleware", "filter", "rule",
    "provider", "handler", "hook", "directive", "alias", "widget", "component", "theme", "backend", "engine",
    "namespace", "package", "union", "annotation", "property", "helper", "routine", "someone", "somebody",
})  # fmt: skip
"""Words beside a name that narrow nothing: the feature `x`, by whom."""

_LIMITS = frozenset(["not", "except", "without", "besides", "only", "never", "but", "and", "other", "before", "after"])
"""Words that turn a question into another one, also if the subject of the commit happens to have them."""

_HOW_OFTEN = re.compile(r"\W*how\s+(?:often|frequently)\s+(?:does|do|is|are|will|can)\b", re.IGNORECASE)
"""The start of a question that may ask for a setting: "How often does it check for updates?"."""

_HOW_MANY = re.compile(r"\W*how\s+(?:many|much)\b", re.IGNORECASE)
"""The start of a question that only a number answers."""


@dataclass(frozen=True, slots=True)
class FactsDraft:
    """The draft of a question for facts.

    Attributes
    ----------
    draft
        What facts say. It may be empty, or have one line that says why there is no count.
    request
        The request that was read from the question; None for a lookup, and for a question for no facts.
    is_whole
        Whether the draft is an answer by itself, without passages of the ranking.
    """

    draft: Draft
    request: FactRequest | None = None
    is_whole: bool = False


def answer_analysis(inquiry: ResearchRequest, emit: Emit) -> FactsDraft | None:
    """Answer a question for an analysis; None for other questions.

    If no analysis answers it, the draft says so, and nothing else: places with its words would answer another question.
    """
    answer = find_analysis(inquiry, emit)
    if answer is None:
        return None

    draft = Draft()
    if answer.fact is not None:
        lay_out(answer.request, answer.fact, inquiry, draft)
    else:
        draft.parts.append(Paragraph(answer.refusal))
        draft.add_section("Searched", Paragraph(NO_MODEL, says_no_model=True))
        draft.stats |= {"tool_calls": 0, "unit": "", "states_fact": False, "confident": False}
        draft.confident = False

    return FactsDraft(draft, answer.request, is_whole=True)


def count(inquiry: ResearchRequest, emit: Emit) -> FactsDraft:
    """Answer a question for a count or a list; the draft of other questions is empty.

    If the facts can't be counted, the draft has one line instead of a table.
    """
    draft = Draft()
    fact_request = find_facts(inquiry, emit)
    if fact_request is None:
        return FactsDraft(draft)

    request, fact = fact_request
    if fact is not None and fact.subject.startswith("No commit") and request.ignored:
        # That there is none of a part of what is asked for says nothing.
        fact = None
    if fact is not None and fact.subject.startswith("No commit") and len(request.terms) == 1:
        fact.sentences += state_meant_spelling(Work(request, inquiry, emit))

    # What depends on a package may say so in a manifest alone, under another name than its modules have.
    is_unproven = fact is not None and fact.number == 0 and _DEPENDS.search(inquiry.question) is not None
    if is_unproven or (fact is not None and fact.number is not None and _is_unread(request, inquiry)):
        return FactsDraft(draft, request)

    if fact is not None and confirm_definitions(Work(request, inquiry, emit), fact):
        lay_out(request, fact, inquiry, draft)
        return FactsDraft(draft, request, is_whole=True)

    # "How often does it check?" may ask for a setting, and is no request for a count.
    is_count = not request.is_list and request.kind not in {"who", "when"}
    is_asked = _HOW_MANY.match(inquiry.question) is not None or not _is_unread(request, inquiry)
    if is_count and is_asked and not _HOW_OFTEN.match(inquiry.question):
        draft.parts.append(Paragraph(_format_refusal(request)))

    return FactsDraft(draft, request)


_DEPENDS = re.compile(r"\b(?:depend(?:s|ed|ing)?|dependents?|rel(?:y|ies))\b", re.IGNORECASE)


def _is_unread(request: FactRequest, inquiry: ResearchRequest) -> bool:
    """Return whether so much of a question wasn't understood that a number would answer another one."""
    minimum = 1 if _HOW_OFTEN.match(inquiry.question) is not None else 2
    unread = [word for word in request.ignored if word.isalpha() and word.casefold() not in FUNCTION_WORDS]
    return len(unread) >= minimum


def lay_out(request: FactRequest, fact: Fact, inquiry: ResearchRequest, draft: Draft) -> None:
    """Write a fact as the parts of an answer."""
    unapplied = tuple(dict.fromkeys((*request.ignored, *fact.unapplied)))
    repositories = {*fact.repositories, *(commit.repository for commit in fact.commits)}
    about = tuple(sorted(repositories))
    draft.parts += [Paragraph(text, about) for text in _answer(request, fact, inquiry, draft, unapplied)]
    draft.parts.append(Paragraph(_format_claim(request, fact, unapplied), about))
    if fact.sentences or fact.search_notices:
        draft.parts.append(Paragraph(" ".join([*fact.sentences, *fact.search_notices]), about))

    draft.add_section("Method", Paragraph("\n".join(_format_method(request, fact, inquiry, unapplied)), about))
    write_repositories(fact, draft, about, list(inquiry.pins))
    for table in fact.tables:
        is_row = request.is_list or fact.number is None or table.title.startswith(("Authors", "By "))
        write_rows(table, fact, inquiry, draft, is_visible=is_row)

    if fact.notes:
        notes = "\n".join(f"- {inline(note)}" for note in dict.fromkeys(fact.notes))
        draft.add_section("Not counted", Paragraph(notes))

    draft.add_section("Searched", Paragraph(format_searched(inquiry), says_no_model=True))
    draft.searches.append(fact.query)
    draft.stats |= {
        "tool_calls": 1,
        "unit": fact.unit,
        "states_fact": not unapplied,
        "confident": not unapplied,
        "changes": _may_change(request, inquiry.scope),
        "complete": not (unapplied or fact.notes or fact.is_least or fact.unread),
        "not_applied": list(unapplied),
    }
    # A count without an unread word counts something else.
    if fact.number is not None and not unapplied:
        draft.stats["count"] = fact.number
    draft.confident = not unapplied


def _answer(
    request: FactRequest, fact: Fact, inquiry: ResearchRequest, draft: Draft, unapplied: Sequence[str]
) -> list[str]:
    """Write the first sentences: the answer, or what can be said without the words that were not understood."""
    links = "".join([f" [{draft.ledger.add(commit)}]" for commit in fact.commits[:_MAX_CITED_COMMITS]])
    if fact.number is not None and unapplied:
        return _answer_without(unapplied, request, fact, fact.number, links)

    if fact.number is None:
        missing = [*open_pronouns(inquiry, request), *_missing(unapplied, request, inquiry, fact)]
        if missing:
            # A person and a date for a wider subject would be taken for the answer.
            words = join_words([code(word) for word in missing])
            reason = f"This can't be answered as asked, because {words} {_was(missing)} not understood."
            return [f"{reason} Most relevant: {in_sentence(fact.subject)}{links}."]

    sentence = fact.subject
    if fact.number is not None:
        least = "At least " if fact.is_least else ""
        sentence = f"{least}**{fact.number:,}** {sentence}"

    names = ""
    if request.is_list and not unapplied:
        names = _first_names(fact, inquiry, draft)
    sentence += names or links

    if fact.unread:
        sentence += f"; {join_words(fact.unread)} files were not read"
    if fact.notes:
        return [f"{UNREAD}{in_sentence(sentence)}."]
    return [f"{sentence}."]


def _answer_without(unapplied: Sequence[str], request: FactRequest, fact: Fact, number: int, links: str) -> list[str]:
    """Say which words a count lacks: without an unread word it counts something else, often the opposite."""
    listed_words = ", ".join(code(word) for word in unapplied)
    action = "listed" if request.is_list else "counted"
    least = "at least " if fact.is_least else ""

    # The reader understood a filter even if this count can't apply it.
    reason = "can't be applied to this count"
    if all(word in request.ignored for word in unapplied):
        reason = f"{_was(unapplied)} not understood"
    return [
        f"This can't be {action} as asked, because {listed_words} {reason}.",
        f"Without that: {least}{number:,} {fact.subject}{links}.",
    ]


def _was(words: Sequence[str]) -> str:
    return "was" if len(words) == 1 else "were"


def _missing(unapplied: Sequence[str], request: FactRequest, inquiry: ResearchRequest, fact: Fact) -> list[str]:
    """Return the words that narrow what is asked about: no "feature" beside a name, and no name of a repository."""
    neutral = set(_NEUTRAL)
    for pin in inquiry.pins:
        neutral.update(re.split(r"\W+", pin.repository.casefold()))

    subject_stems: set[str] = set()
    for commit in fact.commits:
        subject_stems |= _stems(commit.subject)

    path_stems = _stems(" ".join(re.findall(r"`([^`]*/[^`]*)`", fact.subject)))
    missing = []
    for word in unapplied:
        # "Who changed the type of x?" asks for less than any change of it.
        is_of_name = re.search(rf"\b{re.escape(word)}\s+of\b", inquiry.question) is not None
        if word.casefold() in neutral and (not is_of_name or word == "out"):
            continue
        # A word of the commit's subject, or of a path in the sentence, was understood as far as these go.
        is_in_subject = _stems(word) <= subject_stems | path_stems
        if word not in request.ignored or word.casefold() in _LIMITS or not is_in_subject:
            missing.append(word)

    return missing


def _stems(text: str) -> set[str]:
    """Return the stems of the words of a text."""
    return {stem(word) for word in re.findall(r"\w+", text.casefold())}


def _first_names(fact: Fact, inquiry: ResearchRequest, draft: Draft) -> str:
    """List a few symbols for the first sentence, each with its citation; empty if there are more."""
    tables = [table for table in fact.tables if table.total == fact.number and "symbol" in table.columns]
    if not tables or not 0 < tables[0].total <= _NAMED_ROWS:
        return ""

    table = tables[0]
    column = table.columns.index("symbol")
    symbols = []
    for row, citation in zip(table.rows, table.citations, strict=True):
        if row[column]:
            link = cite(citation, inquiry, draft)
            symbols.append(f"{code(str(row[column]))} {link}".rstrip())

    # A row without a name: a list of the others would not be whole.
    if len(symbols) < table.total:
        return ""
    return f": {join_words(symbols)}"


def _may_change(request: FactRequest, scope: QuestionScope) -> bool:
    """Return whether the answer depends on the date or on refs, and not on the commits alone."""
    if request.base or request.head or any(part.kind == "revision" for part in scope.parts):
        return True
    return request.period.is_relative or request.kind in {"branches", "tags"}


def _format_claim(request: FactRequest, fact: Fact, unapplied: Sequence[str]) -> str:
    """State whether the answer is complete, and list the words that were not applied."""
    sentences = []
    words = [word for word in unapplied if word in request.ignored]
    filters = [word for word in unapplied if word not in request.ignored]

    if words:
        subject = "This word is not a filter, name or date" if len(words) == 1 else "None is a filter, name or date"
        sentences.append(
            f"Not applied: {', '.join(map(code, words))}. {subject} in this question, so the answer may cover more "
            "than the question."
        )

    if filters:
        names = " and ".join(f"{_filter_name(word, request)} {code(word)}" for word in filters)
        unit = f"a count of {fact.unit}" if fact.number is not None and fact.unit else "this kind of question"
        sentences.append(f"Not applied: {names}, because {unit} can't be narrowed or grouped that way.")

    if fact.notes:
        doubt = "another commit may fit, too" if fact.number is None else "the number may be too small"
        sentences.append(f"Some contents could not be read, so {doubt}; see below.")

    if request.as_text and request.relation not in {"contain", "call"} and not request.messages:
        pronoun = "they were" if len(request.as_text) > 1 else "it was"
        sentences.append(f"{describe_missing_paths(request.as_text)}, so {pronoun} searched as text.")

    if sentences:
        return " ".join(sentences)
    if fact.is_open or fact.is_least or fact.unread:
        return "The first sentence says what could not be counted."
    if fact.number is None:
        return "Every word of the question was applied."
    return "The count covers everything that was searched."


def _filter_name(word: str, request: FactRequest) -> str:
    """Return the kind of filter that a word was read as."""
    names = {
        "the period": (request.period.text,),
        "the author": request.authors,
        "the text of messages": [term.text for term in request.messages],
        "the revision": (request.base, request.head),
        "the language": request.languages,
        "the path": [path.source_text for path in (*request.paths, *request.without)],
        "the text": [term.text for term in request.terms],
        "the group": (f"by {request.group}",),
    }
    for name, values in names.items():
        if word in values:
            return name
    return "the filter"


def _format_method(request: FactRequest, fact: Fact, inquiry: ResearchRequest, unapplied: Sequence[str]) -> list[str]:
    """List the scope, the rule, and the query that repeats the count."""
    lines = [f"- {text}" for text in scope_lines(request, inquiry.scope, unapplied)]
    counts_repositories = fact.unit == "repositories" and not request.relation
    excluded: Sequence[str] = ()
    if not (inquiry.filters or request.paths or counts_repositories):
        excluded = excluded_repositories(inquiry)
    if excluded:
        names = join_names([code(name) for name in excluded], MAX_NAMED_REPOSITORIES)
        lines.append(f"- Left out, because forks and archived repositories count only if they are named: {names}.")

    if fact.query:
        lines.append(f"- To reproduce: {code(fact.query)}")

    if fact.rule:
        lines.append(f"- {fact.rule.strip()}")

    return lines


def _format_refusal(request: FactRequest) -> str:
    """Explain why a number can't be given."""
    if request.kind == "unsupported" or (request.kind == "declared" and not request.ignored):
        subject = inline(request.subject)
        return f"{subject[:1].upper()}{subject[1:]} can't be counted here: neither git nor the indexes have them."

    if request.kind == "dependencies":
        return (
            "Dependencies can't be counted here: they are listed in manifests, and no manifest answers the question "
            "as asked."
        )

    if request.kind == "unknown":
        return "This can't be counted exactly: the question names nothing that git or the index counts."

    if not request.ignored:
        return "This can't be counted exactly."
    listed_words = ", ".join(code(word) for word in request.ignored)
    return f"This can't be counted exactly, because {listed_words} {_was(request.ignored)} not understood."
