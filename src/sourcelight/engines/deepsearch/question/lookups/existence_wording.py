"""Read questions whether something exists: "is there a Redis driver", "any GraphQL support here", "can it retry?".

The subjects of such a question are names such as GraphQL; without any, its main verb and the noun of its object. Words
that describe them, such as "failed" of "a failed request", are none: code without them may do what is asked.
"""

from __future__ import annotations

import re

from sourcelight.core.markup import singular
from sourcelight.engines.deepsearch.question.marks import GAP
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS

_MAX_CHARACTERS, _MAX_SUBJECTS = 200, 3
_HAVING = (
    r"(?:ha(?:ve|s|d)|supports?|includes?|ships?|comes?|provides?|offers?|us(?:e|es|ing)|handles?|contains?|knows?"
    r"|understands?|speaks?|accepts?|gets?|got|brings?|bundles?|integrates?|implements?|exposes?|needs?|requires?|depends?"
    r"|rel(?:y|ies)|allows?|lets?|gives?|works?|runs?|talks?|deals?|copes?|takes?|makes?|creates?|generates?|produces?"
    r"|writes?|prints?|outputs?|reads?|sends?|emits?|exports?|imports?|connects?|finds?|validates?|parses?"
    r"|converts?|renders?|compiles?|stores?|saves?|do(?:es)?)"
)
"""Verbs whose object is what a question asks for."""
_TECHNICAL_TEXT = """
retry retries compress compresses encrypt encrypts decrypt decrypts cache caches paginate paginates throttle throttles
debounce debounces batch batches redirect redirects profile profiles benchmark benchmarks minify minifies transpile
transpiles authenticate authenticates memoize memoizes sanitize sanitizes encode encodes decode decodes upload uploads
download downloads lint lints autocomplete autocompletes undo redo pickle pickles
"""
_TECHNICAL = frozenset(_TECHNICAL_TEXT.split())
"""Verbs for which programs have no other word; wiping may be called removing."""
_THERE = re.compile(
    r"(?:is|are|was|were) there (?:(?:already|currently|maybe|perhaps|actually|really) )?(?P<object>.+)$", re.IGNORECASE
)
_POSSIBLE = re.compile(r"(?:is it possible|are (?:we|you) able) (?:for \w+ )?to (?P<object>.+)$", re.IGNORECASE)
_ENABLED = re.compile(
    r"how (?:do|can|would|could|should) (?:i|we|you|one) (?:enable|disable|activate|(?:turn|switch) (?:on|off)) "
    r"(?P<object>.+)$",
    re.IGNORECASE,
)
_MEANS = re.compile(
    r"^(?:(?:offer|have|has|provide|include|give|come with)s? )?(?:(?:me|us|you|users) )?(?:(?:a|an|any|some) )?"
    r"(?:\w+ )?(?:way|means|possibility|ability|chance|method) (?:for \w+ )?to |^(?:let|allow|enable|help)s? "
    r"(?:me|us|you|users|people|one) (?:to )?",
    re.IGNORECASE,
)
"""Words before what can be done: "is there a way to", "does it let me"."""
_OF_REPOSITORY = re.compile(rf"^(\w+) {GAP.strip()}(?= )")
"""The beginning of a question whose subject is a repository, which was taken out of it: "does · have"."""
_ANY = re.compile(
    r"any (?P<object>.+?)(?: (?:in|inside|within) (?:(?:this|the|that|our) )?\w+| (?:here|there|anywhere))?$",
    re.IGNORECASE,
)
_WHETHER = re.compile(
    r"(?:does|do|can|could|will|would|has|have|did) (?P<subject>(?:(?:the|this|that|our|your|any|anything|anyone) )?"
    r"(?:of (?:the|these|those) )?[\w./'-]+(?: (?:library|project|package|module|role|chart|gem|crate|app|server|client"
    r"|tool|repo|repository|code|plugin|framework|cli|code base|codebase))?) (?:(?:already|also|ever|still|even|really"
    r"|actually|natively|itself|currently|not|yet|possibly|maybe) )*(?P<object>[a-z][\w'-]*(?: .+)?)$",
    re.IGNORECASE,
)
_PASSIVE = re.compile(
    r"(?:is|are|was|were) (?P<object>(?:(?:a|an|any|the|some) )?[\w./-]+(?: [\w./-]+){0,4}?) (?:(?:already|also|ever"
    r"|still|even|really|actually|natively|currently) )*(?:supported|included|provided|available|bundled|shipped"
    r"|built in|built-in|implemented|possible|handled|part of .+|used|in use|integrated|offered|present)(?: .+)?$",
    re.IGNORECASE,
)
_END_OF_OBJECT = re.compile(
    r"\s*(?:[,;(:]|(?<![\w-])(?:that|which|who|if|when|unless|while|because|so|by|in|on|at|from|into|onto|during|before|after|between"
    r"|as|without|within|inside|over|under|through|via|out|per|here|there|anywhere|yet|too|either|natively|instead)\b)",
    re.IGNORECASE,
)
_TAILS = (
    "specific|only|based|like|style|compatible|aware|related|free|independent|friendly|ready|powered|driven|flavou?red"
)
"""Ends of adjectives such as Windows-specific, which no code has to have."""
_TOKEN = re.compile(rf"[A-Za-z][\w]*(?:(?!-(?:{_TAILS})\b)[.+#/-]\w+)*\+{{0,2}}#?")
_GENERIC_TEXT = """
support handling integration parser driver adapter backend plugin client server format mode feature middleware script
scripts module library package code option options flag file files way method function class command support
functionality mechanism implementation handler archives certificates transport provider exporter picker chart charts
decorator validator connector protocol extension hook api interface repository project tool toolkit thing things kind
sort type anything something everything logic layer engine system stuff bit part place own built builtin native
default proper official direct real simple basic separate single new old other different additional full extra custom
straight itself themselves always never automatically directly alone out box again together first second last also
role roles request requests response responses result results value values data name names list lists test tests user
users daemon service services picker calendar page pages version versions number numbers time output input argument
arguments message messages error errors string strings object objects line lines item items run runs running
specific only based like style compatible aware related free independent friendly ready powered driven flavored
"""
GENERIC = frozenset(_GENERIC_TEXT.split())
"""Words of many things that say which kind is meant, so that their absence says nothing."""
_FILLERS_TEXT = """
support handling integration feature mode option options flag functionality mechanism implementation middleware package
library module plugin system logic thing things stuff script command anywhere built
"""
_FILLERS = frozenset(_FILLERS_TEXT.split())
"""Words behind a name that add nothing to it."""
_DESCRIBING_TEXT = """
last first next new old auto live hot cold fast slow deep smart dark light multi single real full custom quick short
long big small high low early late good best clean dry safe strict message messages mode support feature
"""
DESCRIBING = frozenset(_DESCRIBING_TEXT.split())
"""Words that only describe the next one in a phrase."""
_MIN_PART = 3
ENDING = re.compile(r"(?<=[a-z]{3})(?:(?<=([a-z]))\1(?:ing|er|ed)|(?:ing|er|or|ed)s?|e?s)$")
"""The end of a word whose root may stand alone: streaming, indicator, caching."""
_OUTSIDE_CODE_TEXT = """
windows linux macos mac osx unix bsd android ios arm x86 posix python ruby node java php go rust perl lua php8 php7
docker kubernetes english german french spanish slack discord gitter irc chat forum twitter mastodon sponsor donation
website homepage homebrew brew npm yarn pypi pip snap apt aur chocolatey scoop winget flatpak nix conda maven dockerhub
wiki tutorial guide documentation docs manual faq roadmap license licence copyright trademark paper book talk video
example examples benchmark benchmarks release changelog readme image images
"""
_OUTSIDE_CODE = frozenset(_OUTSIDE_CODE_TEXT.split())
"""Systems, languages, channels and documents: what runs or stands there need not be named in code."""
_CLOSING = re.compile(
    r"(?:\s*[,;]?\s*(?:here|there|in here|in there|anywhere|at all|yet|already|right now|by itself|for me|for us"
    r"|on its own|natively|somehow|somewhere|please|in (?:this|the) (?:repo|repository|project|code ?base|library"
    r"|package|code)))+\W*$",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(
    r"\b(?:defaults?|unless|otherwise|if|when|what|which|how|who|why|commit\w*|author\w*|contribut\w*|anyone|anybody"
    r"|someone|changed?|changes|deprecated|removed|renamed|bugs?|issues?|problems?|reasons?|differences?)\b",
    re.IGNORECASE,
)
"""Words of questions for defaults, conditions and people."""
_OPTION = re.compile(r"(?<![\w/.-])--(?P<name>[A-Za-z][\w-]{1,60})(?![\w/-])")
_OF_EVENTS = re.compile(
    r"\b(?:who|whose|when|why|since|how many|number of|commit\w*|author\w*|contribut\w*|changed?|changes|added"
    r"|introduced|removed|dropped|renamed|deprecated|versions?|releases?d?)\b",
    re.IGNORECASE,
)
"""Words of questions for commits and counts, which the history answers although no file has a name any more."""
_CONDITION = re.compile(r"\b(?:out of the box|automatically|always|never)\b", re.IGNORECASE)
"""Words that ask how something behaves, which only a name that is missing answers."""
_ARTICLES = re.compile(
    r"^(?:(?:for|with|on|to|of|about|any|a|an|the|some|its|their|own|support|kind|sort|way|form|against|up|anything"
    r"|something|stuff|code) )+",
    re.IGNORECASE,
)
_MIN_NOUN = 4


def absent_subjects(text: str, repository_words: frozenset[str]) -> tuple[str, ...]:
    """Return the words whose absence answers a question whether something exists; none for another question.

    Parameters
    ----------
    text
        The question.
    repository_words
        Words of the names of the searched repositories, in lower case, which say nothing of what is sought.
    """
    reading = _read_object(text)
    if reading is None:
        return ()
    words, sought, has_verb = reading
    subjects = _subjects_of(sought, words, repository_words, has_verb=has_verb)
    return tuple(dict.fromkeys(subjects))[:_MAX_SUBJECTS]


_KINDS_OF_DEFINITIONS = frozenset(
    ["function", "method", "class", "type", "struct", "variable", "constant", "macro", "enum", "trait", "interface"]
)


def absent_compound(text: str, repository_words: frozenset[str]) -> str:
    """Return the name of two words that a question asks for, such as "rate limiting"; empty for another question."""
    reading = _read_object(text)
    if reading is None:
        return ""

    _, sought, has_verb = reading
    verb, _, rest = sought.partition(" ")
    if has_verb and re.fullmatch(_HAVING, verb, re.IGNORECASE) is None:
        return ""
    tokens = _TOKEN.findall(_first_phrase(rest if has_verb else sought))
    while tokens and tokens[-1].lower() in _FILLERS:
        tokens.pop()
    parts = tokens[-1].split("-") if len(tokens) == 1 else tokens
    # "Is there a parseFloat function" asks for a definition, whose line needn't say what it is.
    is_kind = bool(parts) and parts[-1].lower() in _KINDS_OF_DEFINITIONS
    is_compound = not is_kind and len(parts) == 2 and all(part.isalpha() and len(part) >= _MIN_PART for part in parts)
    lowered = [part.lower() for part in parts]
    are_sought = not any(part in FUNCTION_WORDS or part in repository_words or part in DESCRIBING for part in lowered)
    is_special = any(part not in GENERIC and part not in _OUTSIDE_CODE for part in lowered)
    return " ".join(parts) if is_compound and are_sought and is_special else ""


def _read_object(text: str) -> tuple[str, str, bool] | None:
    """Return the words of a question, what it asks for, and whether that begins with a verb; None for another one."""
    # Without its repository and without words that close it.
    words = _OF_REPOSITORY.sub(r"\1 it", " ".join(text.replace("\u2019", "'").split())).replace(GAP.strip(), "")
    words = _CLOSING.sub("", " ".join(words.split()).strip(" ?.!"))
    is_other = _OF_OTHERS.search(re.sub(r"^how (?=\w+ \w+ (?:enable|disable|activate|turn|switch)\b)", "", words))
    if len(words) > _MAX_CHARACTERS or is_other is not None:
        return None

    for form in (_POSSIBLE, _THERE, _PASSIVE, _WHETHER, _ENABLED, _ANY):
        match = form.match(words)
        if match is not None:
            sought = _MEANS.sub("", match["object"])
            return words, sought, form in {_POSSIBLE, _WHETHER} or sought != match["object"]
    return None


def absent_option(text: str) -> str:
    """Return the only option that a question names, without its dashes; empty for none, and for one of an event."""
    options = {match["name"] for match in _OPTION.finditer(text)}
    return options.pop() if len(options) == 1 and _OF_EVENTS.search(text) is None else ""


def _subjects_of(text: str, words: str, repository_words: frozenset[str], *, has_verb: bool) -> list[str]:
    alternatives = re.split(r"\s+or\s+", text) if not _OF_NUMBER.search(text) else [text]
    if len(alternatives) > 1:
        # One that is there answers the question, so each has to be read.
        groups = [
            _subjects_of(part, words, repository_words, has_verb=has_verb and not index)
            for index, part in enumerate(alternatives)
        ]
        return [subject for group in groups for subject in group] if all(groups) else []

    tokens = [token for token in _TOKEN.findall(text) if _is_sought(token, repository_words)]
    names = [_singular_name(token) for token in tokens if _is_name(token, words)]
    if _CONDITION.search(words) is not None:
        return names

    verb, _, rest = text.partition(" ")
    if has_verb and verb.lower() in _TECHNICAL:
        return [*names, singular(verb.lower())]
    # What another verb does may be called otherwise, and so may what it does that to.
    if has_verb and re.fullmatch(_HAVING, verb, re.IGNORECASE) is None:
        return names
    noun = _noun_of(_first_phrase(rest if has_verb else text), repository_words)
    is_new = noun and not any(name.lower() in {noun, f"{noun}s"} for name in names)
    return [*names, *([noun] if is_new else [])]


_OF_NUMBER = re.compile(r"\b(?:one|two|more|less|\d+) or (?:more|less|\w+)\b", re.IGNORECASE)


def _singular_name(name: str) -> str:
    is_plural = re.search(r"[A-Z]{2}s$|^[A-Z].*[a-z\d][A-Z][a-z]{2,}(?<![sui])s$", name) is not None
    return name[:-1] if is_plural else name


def _first_phrase(text: str) -> str:
    """Return the noun phrase that a text begins with: without its article and what describes it behind."""
    text = _ARTICLES.sub("", f"{text} ")
    end = _END_OF_OBJECT.search(text)
    phrase = text if end is None else text[: end.start()]
    return re.split(r"\s(?:for|of|with|to|and|or)\s", phrase, maxsplit=1)[0].strip()


def _noun_of(phrase: str, repository_words: frozenset[str]) -> str:
    """Return the noun that a phrase is about: the word before words such as "support", else the last word."""
    tokens = [token.lower() for token in _TOKEN.findall(phrase)]
    while tokens and tokens[-1] in GENERIC:
        tokens.pop()
    is_noun = tokens and _is_sought(tokens[-1], repository_words) and len(tokens[-1]) >= _MIN_NOUN
    return singular(tokens[-1]) if is_noun else ""


def _is_sought(token: str, repository_words: frozenset[str]) -> bool:
    lowered = token.lower()
    if re.fullmatch(r"[a-z]+(?:/[a-z]+)+", token) is not None:
        return False  # two words, of which code may have one: "light/dark"
    is_word = lowered not in FUNCTION_WORDS and lowered not in GENERIC and lowered not in _OUTSIDE_CODE
    return is_word and lowered not in repository_words and len(token) > 1


def _is_name(token: str, words: str) -> bool:
    """Return whether a word is written as a name: with a capital letter within a sentence, a digit or a sign."""
    is_marked = re.search(r"\d|[a-z][A-Z]|[A-Z]{2}|[.+#/]\w", token) is not None
    return is_marked or (token[:1].isupper() and not words.startswith(token))
