"""Classify the kind of answer that a question wants, by its words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sourcelight.engines.deepsearch.question.wording import CASUAL_WORDS, FORM_WORDS, is_misspelled_grammar
from sourcelight.engines.search.ranking.question import RankQuery, analyze
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS

SHORT = 6
"""Content words below which a question is taken for a follow-up of the answer before it."""

FOLLOW_UP_WEIGHT = 0.3
"""Weight in a follow-up of a name or path that the previous answer cited."""

_DONE = r"(?:\w+ed|wrote|written|made|broke|broken|took|put|did|has|have|was|were)"
# "What happens when ..." and "who calls ..." ask for code: only what is over is history.
_HISTORY = re.compile(
    rf"\b(?:who (?:(?:first|last|originally) )?{_DONE}|(?:^|since |and |or )when (?:was|were|did|has|have|is it that)|"
    r"why (?:was|were|did|is it that|has|have)|introduced|added in|"
    r"(?:what|which \w+|was|were|been|last|recently) (?:last |recently )?(?:changed|added|removed|deleted)|"
    r"(?:who|when) and (?:who|when|why)|who or when|"
    r"broke|regress(?:ed|ion)|since (?:when|which)|recently|changed (?:it|this|that|last))\b",
    re.IGNORECASE,
)
_HISTORY_NOUN = re.compile(r"\b(?:commits?|author(?:s|ed)?|blame|history|recent)\b", re.IGNORECASE)
# "Where is the commit cache invalidated?" asks for code of a program that reads commits.
_PRESENT_CODE = re.compile(
    r"\s*(?:(?:where|how|why) (?:is|are|does|do|can)(?:n't)?\b|what (?:does|do|happens)\b|(?:which|what) (?:function"
    r"|method|class|option|setting|parameter|flag|macro|command|error|exception|test)s?\b)"
    r"(?! (?:the|a|any) commits? (?:that|which|who|by|of)\b)"
    r"(?!.*\b(?:last|recently|first) (?:changed|added|removed)\b)",
    re.IGNORECASE,
)
_USAGE = re.compile(
    r"\b(?:callers?|called (?:by|from)|calls?|used (?:by|in|where)|uses?|usages?|references?|invoked|"
    r"depends? on|consumers?)\b",
    re.IGNORECASE,
)
_POINTING = re.compile(r"\b(?:it|its|that|this|there|they|them|these|those|he|she)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class QuestionIntents:
    """The kinds of evidence that a question wants beside the code itself."""

    history: bool = False
    tests: bool = False
    docs: bool = False
    usage: bool = False


def intents_of(question: RankQuery) -> QuestionIntents:
    """Read the intents of a question."""
    text = question.text
    return QuestionIntents(
        history=bool(_HISTORY.search(text) or (_HISTORY_NOUN.search(text) and not _PRESENT_CODE.match(text))),
        tests=question.asks_tests,
        docs=question.asks_docs,
        usage=bool(_USAGE.search(text)),
    )


_VERBS_TEXT = """
accept access allow apply avoid begin build calculate call cause change check choose clean cleanup collect compare
compute configure connect consider control convert create decide define depend describe detect determine disable do
enable end enforce ensure evict execute expire explain fail fetch find finish generate get give handle happen
implement improve keep know launch limit load locate look make manage mean measure obtain occur open organize parse
perform pick prevent process produce protect read receive remove render report resolve respond retrieve return
rotate run save select send serve set show solve start stop store support switch take tell track transform trigger try
turn understand update use validate verify wait work write
begun bound broken brought built caught chosen done drawn driven fed forgotten found frozen given gone grown held
hidden kept known left lost made meant met put ran run sent shown spent split taken thrown told understood woken won
written
"""
_VERBS = frozenset(_VERBS_TEXT.split())
_FORM_OF_VERB = re.compile(r".*(?:ed|ing|ly|ize[sd]?|ise[sd]?)")


_FRAME_TEXT = """
minimum maximum minimal maximal default difference example purpose number amount env var vs versus superclass subclass
subclasses runtime anything anywhere anyone somewhere everything latest current outputs
trait traits variant variants crate crates gem gems protocols
class classes function functions method methods interface interfaces module modules member members signature
argument arguments parameter parameters base parent child inherit inherits extend extends implementation
implementations caller callers callee callees import imports throw throws raise raises catch catches
newest oldest longest shortest largest biggest smallest often frequently most least
file files folder folders directory directories manifest manifests executable executables linter linters extras
setting settings
"""
_FRAME = CASUAL_WORDS | frozenset(FORM_WORDS) | frozenset(_FRAME_TEXT.split())
"""Words that say what a question asks about its subject; never subjects themselves."""
_GRAMMAR = FUNCTION_WORDS | _VERBS
_SPECIFIC_TEXT = """
calculate collect compare compute connect evict execute expire fetch filter install launch parse render retrieve retry
rotate save send store switch track transform trigger validate verify
"""
_SPECIFIC_VERBS = frozenset(_SPECIFIC_TEXT.split())
"""Verbs of operations, whose absence answers a question for one."""
_ACTION = re.compile(
    r"^\W*(?:how|where|when)\s+(?:do|does|did|can)\s+(?:[\w.+/-]+\s+){0,4}?"
    rf"(?P<verb>{'|'.join(sorted(_SPECIFIC_VERBS))})\s+\w",
    re.IGNORECASE,
)
"""A question for an operation, as in "how does it rotate files": the verb may be all that it is about."""


def key_words(question: RankQuery, words: Sequence[str]) -> tuple[str, ...]:
    """Return the words that a question is about: names, and words other than verbs and numbers."""
    selected_words = []
    action = _ACTION.search(question.text)
    for word in words:
        lowered = word.lower()
        is_verb = (
            lowered in _VERBS or lowered.removesuffix("s") in _VERBS or _FORM_OF_VERB.fullmatch(lowered) is not None
        )
        is_grammar = lowered in _FRAME or is_misspelled_grammar(word, _GRAMMAR)
        if action is not None and lowered in _SPECIFIC_VERBS and action["verb"].lower() == lowered:
            selected_words.append(word)
            continue

        if word in question.names or word in question.files or not (is_verb or is_grammar or word.isdigit()):
            selected_words.append(word)

    return tuple(selected_words)


def is_follow_up(text: str) -> bool:
    """Return whether a question is so short, or has such pronouns, that it refers to the previous answer."""
    question = analyze(text)
    required = [term for term in question.terms if term not in question.optional]
    return len(required) < SHORT or bool(_POINTING.search(text))


def with_follow_up(question: RankQuery, cited_names: Sequence[str]) -> RankQuery:
    """Add the names and paths that the previous answer cited to a follow-up, at less weight."""
    if not cited_names or not is_follow_up(question.text):
        return question

    before = analyze(" ".join(f"`{name}`" for name in cited_names))
    terms = dict(question.terms)
    for term, weight in before.terms.items():
        terms.setdefault(term, FOLLOW_UP_WEIGHT * weight)

    spellings = {**before.source_texts, **question.source_texts}
    optional = question.optional | frozenset(term for term in before.terms if term not in question.terms)
    return replace(question, terms=terms, source_texts=spellings, optional=optional)
