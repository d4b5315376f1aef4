"""Read questions about a project as a whole: what it is, how to install it, who works on it.

Somebody who opens a repository for the first time asks these. No name in them says where to look. The forms are whole
sentences: one more word, as in "how do I install the *plugins*", makes it a question about something else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

MAX_CHARACTERS = 160
"""Maximum length of such a question."""

_NOUN = (
    r"(?:project|repo|repository|code ?base|code|source(?: code)?|library|package|tool|app|application|program"
    r"|software|framework|crate|gem|module|plugin|service|server|extension|thing)"
)
_SUBJECT = rf"(?:it|this|that|(?:(?:this|the|that|our|your) )?{_NOUN}|@)"
"""The project: `@` stands for the name of a repository."""

PROJECT_WORDS: Mapping[str, str] = {
    "HOW": (
        r"(?:how (?:do|can|should|would|could|must) (?:i|we|you|one|people|somebody|someone)"
        r"|how to|(?:please )?(?:show|tell) me how to)"
    ),
    "SUBJECT": _SUBJECT,
    "OF": rf"(?: (?:of|for|in|from|on|to|with|about) {_SUBJECT})?",
    "IT": rf"(?: {_SUBJECT})?",
    "NEWEST": r"(?:the )?(?:latest|newest|last|most recent|current|recent)",
    "NOUN": _NOUN,
    "RELEASE": r"(?:the )?(?:latest|newest|last|most recent|current|previous) (?:release|version|tag)",
    "ASK": r"(?:(?:what|which) (?:are|were) |(?:show|list|give)(?: me)? )?(?:all |the )*",
    "WHICH": r"(?:what|which)",
    "CI": r"(?:ci|continuous integration)",
    "OVERVIEW": r"(?:overview|summary|description|introduction)",
    "DOCS": r"(?:documentation|docs|manual|user guide)",
    "MAIN": r"(?:main |major |key |core |important |top-level |current |active |lead )?",
    "VULNERABILITY": r"(?:vulnerabilit(?:y|ies)|security (?:issues?|bugs?|problems?|holes?))",
}
"""Parts of the forms, by the word in capitals that stands for each."""

_FORMS: Mapping[str, Sequence[str]] = {
    "overview": (
        r"what does SUBJECT do",
        r"what (?:do|are) (?:these|the|all) (?:projects|repositories|repos|packages|libraries)(?: do| about| for)?",
        r"what(?: is|'s) SUBJECT(?: (?:all about|about|for|good for|used for))?",
        r"what (?:kind|sort|type) of NOUN is SUBJECT",
        r"what(?: is|'s) the (?:purpose|goal|aim|point|idea|use) of SUBJECT",
        r"(?:give me |show me |write |i need )?(?:an? |the )?(?:short |quick |brief |high-level )?OVERVIEW of SUBJECT",
        r"(?:summari[sz]e|describe|explain|introduce|tell me about) SUBJECT(?: to me)?",
        r"overview|summary",
        r"why does SUBJECT exist",
    ),
    "install": (
        r"HOW (?:install|set up|setup|get|download|obtain)IT",
        r"how is SUBJECT installed",
        r"(?:where are |what are )?(?:the )?install(?:ation)? (?:instructions|steps|guide)OF",
        r"where (?:can|do) i (?:get|download|find) SUBJECT",
        r"install(?:ing|ation)?|set ?up",
    ),
    "build": (
        r"HOW (?:build|compile|make)IT(?: from source)?",
        r"how is SUBJECT (?:built|compiled)",
        r"(?:where are |what are )?(?:the )?build (?:instructions|steps)OF",
        r"build(?:ing)?",
    ),
    "test": (
        r"HOW (?:run|execute|start) (?:all )?(?:the |its |of the )?(?:unit )?(?:tests?|test suite)OF",
        r"HOW test SUBJECT",
        r"how (?:is SUBJECT tested|are the tests (?:run|started|executed))",
    ),
    "start": (
        r"HOW (?:get started|start|begin|get going)(?: (?:with|using) SUBJECT)?",
        r"getting started|quick ?start",
    ),
    "run": (r"HOW (?:run|launch|start up|execute) SUBJECT(?: locally)?", r"how is SUBJECT (?:run|started|launched)"),
    "use": (r"HOW use SUBJECT", r"how is SUBJECT used", r"(?:show me )?(?:an? )?(?:basic )?usage(?: example)?OF"),
    "configure": (r"HOW configureIT", r"how is SUBJECT configured"),
    "contribute": (
        r"HOW contribute(?: to SUBJECT)?",
        r"HOW (?:submit|send|open|make|propose) (?:an? )?(?:patch|patches|pull requests?|changes?|contributions?)OF",
        r"(?:where are |what are )?(?:the )?(?:contribution|contributing) (?:guidelines|guide|rules|instructions)OF",
        r"contributing",
    ),
    "security": (
        r"(?:HOW|where (?:do|can|should) i) report (?:an? )?(?:security )?VULNERABILITYOF",
        r"(?:what|where)(?: is|'s) the security policyOF",
        r"(?:is there|does SUBJECT have) (?:an? )?security (?:policy|contact)OF",
        r"security policy",
    ),
    "bugs": (r"(?:HOW|where (?:do|can|should) i) (?:report|file|open) (?:an? )?(?:bugs?|issues?|problems?)OF",),
    "release": (
        r"HOW (?:release|publish) SUBJECT",
        r"HOW make (?:an? )?(?:new )?releases?OF",
        r"how is SUBJECT released",
    ),
    "changelog": (
        r"(?:where(?: is|'s) |is there |show me )?(?:the |an? )?(?:change ?-?log|release notes|changes file)OF",
        r"does SUBJECT have (?:an? )?(?:change ?-?log|release notes)",
    ),
    "languages": (
        r"WHICH (?:programming )?languages? (?:is|was|are) SUBJECT (?:written|implemented|coded|made) in",
        r"WHICH (?:programming )?languages? does SUBJECT use",
        r"WHICH (?:programming )?languages? (?:is|are) usedOF",
        r"what is SUBJECT (?:written|implemented) in",
        r"in WHICH (?:programming )?languages? is SUBJECT (?:written|implemented)",
    ),
    "version": (
        r"WHICH(?: is|'s| was)? NEWEST (?:version|release|tag)OF",
        r"when (?:was|is|did) NEWEST (?:version|release|tag)OF(?: (?:released|made|published|tagged|come out|out))?",
        r"when was SUBJECT (?:last released|released last)",
        r"which version is SUBJECT",
        r"WHICH version of SUBJECT is (?:this|it)",
    ),
    "previous_version": (
        (r"(?:WHICH(?: is|'s| was)? )?(?:the )?(?:previous|second (?:latest|newest|last)|last but one) "
        r"(?:version|release|tag)OF"),
        r"WHICH (?:version|release|tag) (?:came|was|is) before (?:NEWEST|this)(?: (?:version|release|tag|one))?",
    ),
    "since_release": (
        (r"(?:what|which (?:commits|changes)) (?:has |have |is |was |were |are )?(?:been )?(?:changed|new|happened|made"
        r"|committed|added|unreleased)(?: in SUBJECT)? since RELEASEOF"),
        (r"(?:what (?:is|'s)|which (?:commits|changes) are|ASK(?:commits|changes)) (?:not (?:yet )?released|unreleased)"
        r"(?: yet)?OF"),
        r"ASK(?:commits|changes) since RELEASEOF",
        r"how many (?:commits|changes) (?:(?:were|have been) made |are there |happened )?since RELEASEOF",
    ),
    "in_release": (
        r"what(?: is|'s| was| has|)(?: been)?(?: new| changed| added)? (?:in|with|by) RELEASEOF",
        r"what(?: has| was)? (?:changed|new|added) (?:in|with|by) RELEASEOF",
        r"what did RELEASE (?:change|add|bring|contain)",
        r"(?:what are |show me |list )?the (?:changes|commits) (?:in|of) RELEASEOF",
        r"(?:what are |show me )?the (?:latest|newest|last) release notes(?:OF)?",
    ),
    "people": (
        r"who (?:currently )?(?:maintains|develops|works on|is working on|runs|is behind|owns|wrote) SUBJECT",
        r"who (?:is|are|'s) (?:the )?MAIN(?:maintainers?|developers?|owners?|authors?)OF",
        r"maintainers?|contributors",
    ),
    "age": (
        r"when (?:did|was|has) SUBJECT (?:start|started|begin|begun|created|born|founded|made|written)",
        r"how old is SUBJECT",
        r"since when does SUBJECT exist",
        r"how long has SUBJECT (?:existed|been (?:around|going|there|in existence))",
        r"who (?:started|began|founded|created) SUBJECT",
        r"who (?:is|are|'s) (?:the )?(?:original )?(?:creators?|founders?)OF",
    ),
    "activity": (
        r"is SUBJECT (?:still )?(?:actively )?(?:active|alive|maintained|dead|abandoned|developed)",
        r"is SUBJECT (?:still )?(?:under|in) (?:active )?development",
        r"how active is SUBJECT",
        r"(?:is|are) (?:anyone|anybody|people|they) (?:still )?(?:maintaining|developing|working on) SUBJECT",
        r"does (?:anyone|anybody|someone) still (?:maintain|develop|work on) SUBJECT",
        r"when (?:was|did) SUBJECT (?:last|most recently) (?:touched|updated|changed|worked on|active|change)",
        r"what (?:has )?(?:recently |lately )?changed(?: recently| lately)?OF",
        r"what(?: is|'s) newOF",
        r"WHICH(?: are| were)? NEWEST (?:commits|changes)OF",
        r"(?:show|list|give)(?: me)? NEWEST (?:\d{1,2} )?(?:commits|changes)OF",
    ),
    "todos": (
        r"(?:are|is) there (?:any |some )?(?:open )?(?:todos?|todo comments?|fixmes?)(?: left)?OF",
        (r"(?:(?:show|list|find|give)(?: me)? |what are |which are )?(?:all |the |any |open )*"
        r"(?:todos|todo comments)(?: left| are there)?OF"),
        r"where are (?:the |all )*(?:todos|todo comments)OF",
    ),
    "size": (r"how (?:big|large|long) is SUBJECT",),
    "sizes": (r"(?:(?:what|which)(?: is|'s| are)? )?(?:the )?(?:biggest|largest|longest) (?:source )?files?OF",),
    "layout": (
        r"how (?:is|are) SUBJECT (?:organi[sz]ed|structured|laid out|arranged|divided)",
        r"what(?: is|'s) the (?:overall |general |high-level )?(?:architecture|structure|layout|organi[sz]ation)OF",
        r"WHICH are the MAIN(?:components?|modules?|parts|packages|directories|folders)OF",
        r"(?:describe|explain|show me) the (?:architecture|structure|layout)OF",
        r"(?:architecture|(?:directory |project |code )?(?:structure|layout))",
        r"(?:list|show)(?: me)? (?:all |the )?(?:top-level |top )?(?:directories|folders)OF",
        r"where (?:should|do|can|would) (?:i|we|you) (?:start|begin)(?: reading)?(?: (?:the )?(?:code|source))?OF",
    ),
    "entry": (
        r"(?:where|what)(?: is|'s) the (?:main )?entry ?pointOF",
        r"where does (?:SUBJECT|execution) (?:start|begin)",
    ),
    "tests": (
        r"(?:does|do) SUBJECT have (?:any |unit |automated )?tests",
        r"tests",
        r"(?:is SUBJECT tested|are there (?:any )?(?:unit )?testsOF|where are the (?:unit )?testsOF)",
    ),
    "ci": (
        r"WHICH (?:CI|build server)(?: system| service| tool| provider)? (?:does SUBJECT use|is usedOF)",
        r"(?:does|do) SUBJECT (?:have|use) (?:an? |any )?CI",
        r"(?:how|where) is (?:the )?CI (?:set up|configured|defined)OF",
        r"CI",
    ),
    "docs": (
        r"(?:is|are) there (?:any |an? )?DOCSOF",
        r"(?:does|do) SUBJECT have (?:any |an? )?DOCS",
        r"where (?:is|are|can i (?:find|read)|do i find) (?:the )?DOCSOF",
        r"DOCS",
    ),
}  # fmt: skip

_CHANGES = re.compile(
    rf"what (?:has )?(?:changed|happened)(?: in (?:it|@|(?:this|the) {_NOUN}))? (?P<period>"
    r"(?:(?:in|during|over|within) )?(?:the )?(?:last|past|this) (?:\d{1,3} )?(?:day|week|month|quarter|year)s?"
    r"|yesterday|today|(?:since|after) (?:\d{4}(?:-\d\d){0,2}|yesterday|[a-z]{3,9} \d{4}))"
)
_REVISION = r"v?\d[\w.+-]*"
# One number alone is no version: "the difference between 0 and 1".
_VERSION = r"v?\d+\.\d[\w.+-]*"
_BETWEEN = re.compile(
    rf"what (?:has )?(?:changed|happened)(?: in (?:it|@|(?P<path>\S*[./]\S*)))?(?: between| from)? "
    rf"(?P<base>{_REVISION}) (?:and|to|until) (?P<head>{_REVISION})",
    re.IGNORECASE,
)
_DIFFERENCE = re.compile(
    rf"(?:what(?: is|'s| are) )?(?:the )?(?:differences?|changes|diff) between (?:version |release |tag )?"
    rf"(?P<base>{_VERSION}) and (?:version |release |tag )?(?P<head>{_VERSION})",
    re.IGNORECASE,
)
_SINCE = re.compile(
    rf"what (?:has )?changed(?: in (?:it|@|(?P<path>\S*[./]\S*)))? (?:since|after) (?P<base>{_REVISION})",
    re.IGNORECASE,
)
_AS_COUNTS = {
    "age": "When was the first commit?",
    "size": "How many lines are there?",
    "sizes": "Which files have the most lines?",
    "todos": "How many TODO comments are there?",
    "languages": "Which languages are there?",
}
_POLITE = re.compile(
    r"^(?:(?:please|so|and|hi|hello|hey|ok|okay|well|now)\b[ ,]*"
    r"|(?:can|could|would) you (?:please )?(?=(?:give|show|write|tell|describe|explain|summari|list)))+",
    re.IGNORECASE,
)
_TRAILING = re.compile(r"(?: (?:please|then|here|now|exactly|today|in one sentence|in short|briefly|in a few words))+$")
_PRONOUN = re.compile(r"\b(?:it|this|that)\b")
_PROJECT = re.compile(rf"\b{_NOUN}\b|@")


def expand_words(form: str, words: Mapping[str, str]) -> str:
    """Return the regular expression of a form whose words in capitals stand for expressions."""
    return re.sub("|".join(sorted(words, key=len, reverse=True)), lambda match: words[match[0]], form)


_PATTERNS = [
    (topic, [re.compile(expand_words(form, PROJECT_WORDS)) for form in forms]) for topic, forms in _FORMS.items()
]


def read_project_question(text: str, names: Collection[str], *, is_follow_up: bool = False) -> str:
    """Return the subject of a question about a project as a whole, a key of the forms; empty for any other question.

    Parameters
    ----------
    text
        The question, in which `·` stands for the name of a repository.
    names
        Names of the searched repositories, as a question may write them.
    is_follow_up
        Whether another answer came before, so that "it" may be something else than the project.
    """
    words = normalize(text, names)
    if len(words) > MAX_CHARACTERS or (is_follow_up and _PRONOUN.search(words) and not _PROJECT.search(words)):
        return ""
    # "What is this and what does it do?" asks for one thing twice.
    topics = {_topic_of(part) for part in re.split(r" and |[?.!]+ ", words)}
    return topics.pop() if len(topics) == 1 else _topic_of(words)


def _topic_of(words: str) -> str:
    return next((topic for topic, patterns in _PATTERNS if any(pattern.fullmatch(words) for pattern in patterns)), "")


def as_count_question(topic: str, text: str) -> str:
    """Return a question about commits or files that answers one about a project; empty if there is none.

    Parameters
    ----------
    topic
        Subject of the question, from `read_project_question`.
    text
        The question. One without a topic may ask what has changed in some time.
    """
    if topic:
        return _AS_COUNTS.get(topic, "")

    match = _CHANGES.fullmatch(normalize(text, ()))
    if match is not None:
        return f"Which commits were made {match['period']}?"

    # As written: names of files and tags have capitals.
    words = " ".join(text[: 2 * MAX_CHARACTERS].replace("·", " @ ").split()).strip(" ?.!,;:")
    match = _BETWEEN.fullmatch(words) or _DIFFERENCE.fullmatch(words) or _SINCE.fullmatch(words)
    if match is None:
        return ""

    groups = match.groupdict()
    span = f"between {groups['base']} and {groups['head']}" if groups.get("head") else f"since {groups['base']}"
    verb = f"changed {groups['path']}" if groups.get("path") else "were made"
    return f"Which commits {verb} {span}?"


def normalize(text: str, names: Collection[str], *, fold: bool = True) -> str:
    """Return the words of a question with `@` for the project's name, without polite words.

    With `fold`, they are in lower case; names of files need theirs.
    """
    text = text[: 2 * MAX_CHARACTERS]
    words = " ".join(text.replace("\u2019", "'").replace("·", " @ ").split()).strip(" ?.!,;:")
    words = words.casefold() if fold else words
    for name in sorted({name.casefold() for name in names if name}, key=len, reverse=True):
        words = re.sub(
            rf"(?<![\w@/.-])(?:the )?{re.escape(name)}(?: {_NOUN})?(?![\w@/-])", "@", words, flags=re.IGNORECASE
        )

    # "In gson, …" and "… in gson" name the place alone.
    words = re.sub(r"(?i)^(?:in|for|about|of) @ ?,? ?|@ ?[:,] ", "", words)
    words = re.sub(r"(?: (?:in|for|from|at|within) @)+$", "", words)
    return _TRAILING.sub("", _POLITE.sub("", words)).strip(" ?.!,;:")
