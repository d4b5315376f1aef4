"""Read the texts and names that a question looks for."""

from __future__ import annotations

import re

from sourcelight.engines.deepsearch.question.marks import Mark, MarkedText
from sourcelight.engines.deepsearch.question.request import Term
from sourcelight.engines.deepsearch.question.vocabulary import NOUN

# "the function", "a literal string", or nothing
DET = (
    r"(?:(?:both|either)\s+)?(?:(?:the|a|an|any|some|our|its)\s+)?(?:(?:exact |literal )?(?:words?|strings?"
    r"|texts?|literals?|terms?|phrases?|functions?"
    r"|methods?|class|type|macro|struct|keyword|symbol|name|constant|variable|package|module|library|header|identifier"
    r"|decorator|interface|builtin)\s+)?"
)
# "⟨N0⟩, ⟨N1⟩ and ⟨Q2⟩"
TERMS = r"(?:⟨[NQ]\d+⟩(?:\s*(?:,\s*(?:and|or)|,|and|or|&)\s*⟨[NQ]\d+⟩)*)"
MARKED_OR_PATHS = TERMS.replace("NQ", "NPQ")
# "⟨N0⟩ function"
_NOUN_AFTER = (
    r"(?:\s+(?:function|method|class|type|macro|struct|keyword|symbol|string|word|constant|variable|package"
    r"|module|library|header|identifier|decorator|interface|builtin)s?\b)?"
)

_VERB = (
    r"(?:contain(?:s|ed|ing)?|mention(?:s|ed|ing)?|use[sd]?|using|includ(?:e|es|ed|ing)|referenc(?:e|es|ed"
    r"|ing)|refer(?:s|ring)? to"
    r"|match(?:es|ing)?|with|hav(?:e|ing)|has|say(?:s|ing)?|hold(?:s|ing)?)"
)
_NOUN_OF = r"(?:occurrences?|mentions?|uses?|usages?|references?|instances?|appearances?|matches|hits)\s+(?:of|to|for)"
_CALL_VERB = (
    r"(?:calls?(?: (?:of|to|for))?|calling|invokes?|invoking|invocations? of|callers? of|call sites? (?:of|for))"
)
# Words that end a bare text: in "use malloc in src", the text is "malloc".
_BARE_ENDS = (
    r"in|on|at|of|by|for|from|since|before|after|and|or|that|which|there|are|is|do|does|per|with|within|across|under"
    r"|inside|more|less|than|files?|lines?|directly|anywhere|somewhere|exactly|as|into|over|to|not|but|without|outside"
    r"|except|excluding|excludes?|ignoring|besides|beyond|beside|apart|other|the|a|an|any|all|each|every|this|that|these"
    r"|those|most|least|fewest|often|frequently|today|now|currently|anyway|anymore|still|yet|ever|never|please|overall"
    r"|altogether|together|total|when|where|if|because|while|during|until|till|between|via|through|throughout|only|also"
    r"|too|just|twice|once|times?|both|either|here|again|recently|lately|instead|like|versus|vs|using|right|presently"
    r"|nowadays|actually|really|at all|best|worst|alone|elsewhere|everywhere|non-tests?|tests?"
)
# At most four words: more of them are rarely a text, and nearly always the rest of the sentence.
_BARE = (
    r"(?P<bare>(?!(?:the|a|an|any|some|been|to|in|on|at|of|by|we|it|they)\b)[A-Za-z_$][\w$-]*"
    rf"(?:\s+(?!(?:{_BARE_ENDS})\b)[\w$-]+){{0,3}})"
)
_ANY_NOUN = re.sub(r"\?P<\w+>", "?:", NOUN.pattern)
# One of "malloc, ⟨N0⟩ and free"
_LISTED_WORD = rf"(?:⟨[NQ]\d+⟩|(?!(?:{_BARE_ENDS}|been|we|it|they|{_ANY_NOUN})\b)[A-Za-z_$][\w$]*)"
_CONTENT_VERB = r"contain(?:s|ed|ing)?|mention(?:s|ed|ing)?|us(?:e|es|ed|ing)|say(?:s|ing)?|referenc(?:e|es|ed|ing)"
# Words without marks are a list of texts only if the sentence ends after them or continues with a preposition.
_LISTED = (
    rf"{DET}(?P<listed>{_LISTED_WORD}(?:\s*,\s*{_LISTED_WORD})*\s*,?\s+(?:and|or)\s+{_LISTED_WORD})"
    r"(?=[\W·]*$|\s*·|\s*,|\s+(?:in|of|from|within|across|under|inside|outside|except|excluding|but|there|at|on)\b)"
)
VERBS_OF_CONTENT = (
    # "that mention malloc and free"
    re.compile(rf"\b(?:that |which |do |does )*(?:{_CONTENT_VERB}|{_NOUN_OF})\s+{_LISTED}", re.IGNORECASE),
    # "which contain the string ⟨Q0⟩", "occurrences of ⟨N0⟩"
    re.compile(
        rf"\b(?:that |which |do |does )*(?:{_VERB}|{_NOUN_OF})\s+{DET}(?P<terms>{TERMS}){_NOUN_AFTER}", re.IGNORECASE
    ),
    re.compile(
        rf"(?:\b(?:is|are|was|were|does|do|has|have|where|that|which)\s+)?{DET}(?P<terms>{TERMS}){_NOUN_AFTER}\s+"
        rf"(?:(?:is|are|been|being)\s+)?(?:used|mentioned|referenced|appears?|occurs?|found|present|written|shows? "
        rf"up|come up)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:that |which |do |does )*(?:contain(?:s|ed|ing)?|mention(?:s|ed|ing)?|us(?:e|es|ed|ing)|say(?:s"
        rf"|ing)?|{_NOUN_OF})\s+{DET}{_BARE}",
        re.IGNORECASE,
    ),
)
CALL = (
    # "that call malloc and free"
    re.compile(rf"\b(?:that |which |do |does )*{_CALL_VERB}\s+{_LISTED}", re.IGNORECASE),
    re.compile(rf"\b(?:that |which |do |does )*{_CALL_VERB}\s+{DET}(?P<terms>{TERMS}){_NOUN_AFTER}", re.IGNORECASE),
    re.compile(
        rf"(?:\b(?:is|are|was|were)\s+)?{DET}(?P<terms>{TERMS}){_NOUN_AFTER}\s+(?:(?:is|are|being"
        rf"|gets?)\s+)?(?:called|invoked)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:that |which |do |does )*(?:calls? (?:of|to)|calls?|invocations? of|invokes?|invoking"
        rf"|calling)\s+{DET}(?P<bare>[A-Za-z_$][\w$]*)",
        re.IGNORECASE,
    ),
)

LACKING = re.compile(
    rf"(?:\s*,)?\s*(?:\b(?:but|and)\s+(?:(?:do|does)\s+)?(?:not|n['\u2019]t|don['\u2019]t|doesn['\u2019]t|without)"
    rf"(?:\s+(?:{_CONTENT_VERB}))?|(?<=⟩)\s+without)\s+(?:any\s+)?{DET}"
    rf"(?:(?P<terms>{TERMS})|(?P<bare>(?!(?:{_BARE_ENDS}|counting|including)\b)[A-Za-z_$][\w$]*)"
    r"(?=[\W·]*$|\s*·|\s+(?:in|of|from|within|across)\b))",
    re.IGNORECASE,
)
"""Texts that the same file must not contain: "use `a` but not `b`"."""


def terms_of(marked_text: MarkedText, text: str) -> tuple[Term, ...]:
    """Return the texts of marks, or of a bare word: quoted and dotted ones are literals, others whole words."""
    marks = marked_text.get_marks(text)
    if not marks:
        return (Term(" ".join(text.split()), is_word=True, is_bare=True),)

    return tuple(_term_of(mark) for mark in marks)


def _term_of(mark: Mark) -> Term:
    is_plain_name = mark.text.replace("_", "a").isalnum()
    return Term(mark.text, is_word=mark.kind == "N" and is_plain_name)


def read_terms(marked_text: MarkedText, text: str) -> tuple[Term, ...]:
    """Return the texts of a list that may have words without marks: "Errorf, Sprintf and `fmt`"."""
    terms: list[Term] = []
    for item in re.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+", text.strip()):
        if item.startswith("⟨"):
            terms.append(terms_of(marked_text, item)[0])
        else:
            terms.append(Term(item, is_word=True))
    return tuple(terms)


def is_every(text: str) -> bool:
    """Return whether texts are joined by "and"."""
    return bool(re.search(r"[\w⟩]\s*(?:,\s*)?(?:\band\b|&)\s*[\w⟨]", text)) and not re.search(r"\bor\b", text)
