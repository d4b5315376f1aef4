"""Rewrite a person's quick wording as the forms that questions are read by.

Contractions without their apostrophe, openings that leave out "what is the", and misspelled words of a form. Names of
code, quoted text and paths stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches

_CONTRACTIONS = {
    "whats": "what is", "what's": "what is", "wheres": "where is", "where's": "where is", "whos": "who is",
    "who's": "who is", "hows": "how is", "how's": "how is", "whens": "when is", "when's": "when is",
}  # fmt: skip
_CONTRACTION = re.compile(rf"^({'|'.join(map(re.escape, _CONTRACTIONS))})\b", re.IGNORECASE)
CASUAL_WORDS = frozenset(
    {*_CONTRACTIONS, *["dont", "doesnt", "didnt", "isnt", "arent", "cant", "wont", "wasnt", "thats", "theres"]}
)
"""Words of quick typing that are grammar, and no subject of a question."""

_NAME = r"(?:`[^`\n]+`|[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$~][\w$]*)*(?:\(\))?)"
_CODE_NAME = r"(?:`[^`\n]+`|(?=\w*(?:_\w|[a-z\d][A-Z]|\d[a-z]*[A-Z]|[A-Z]{2}))[A-Za-z_$][\w$.:]*[\w$](?:\(\))?)"
"""A name that no word of prose looks like: with an underscore, or with capitals inside."""
_KIND = (
    r"(?:function|method|class|struct|interface|enum|trait|type|constant|variable|macro|module|decorator|exception"
    r"|constructor)"
)
_VERSUS = re.compile(
    rf"^(?P<first>{_NAME})\s+(?:vs\.?|versus)\s+(?P<second>{_NAME})(?:\W+(?:what\w*\b.*)?\bdif+er\w*\W*)?$",
    re.IGNORECASE,
)
_LINE_VERBS = r"(?:wrote|changed|modified|touched|edited|updated|authored|added|introduced|committed)"


def _ask_for_definition(match: re.Match[str]) -> str:
    """Write out a question for a place, with the kind that it names: it tells a class from a function of its name."""
    words = ["the" if match["kind"] or match["after"] else "", match["kind"], match["name"], match["after"]]
    return f"where is {' '.join(word.strip() for word in words if word)} defined"


def _ask_for_option(match: re.Match[str]) -> str:
    """Ask for the default of an option that isn't given; what happens if it is given stays as it is written."""
    is_given = match["state"].lower() not in {"omitted", "missing", "absent"} and "left" not in match["state"].lower()
    if is_given and not match["negation"] and not match["no"]:
        return match[0]
    return f"what is the default of {match['option'].strip('`')}"


def _group_of(match: re.Match[str]) -> str:
    """Return the group of dependencies that a question names, with a blank behind it: "at runtime" is "runtime"."""
    if match["group"]:
        return match["group"].replace("production", "runtime")
    words = (match["when"] or "").lower().replace("production", "runtime").split()
    return f"{words[-1].removesuffix('s')} " if words else ""


_CLIPPED: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (_VERSUS, lambda match: f"what is the difference between {match['first']} and {match['second']}"),
    (re.compile(rf"^({_CODE_NAME})$"), lambda match: f"what is {match[1]}"),
    (
        re.compile(
            r"^(?:(?:show|run)\s+)?(?:the\s+)?(?:git\s+)?blame\s+(?:of\s+|for\s+"
            r"|on\s+)?(?:the\s+)?line\s+(\d{1,7})\s+(?:of|in)"
            r"\s+(\S+)$",
            re.IGNORECASE,
        ),
        lambda match: f"who changed line {match[1]} of {match[2]}",
    ),
    (
        re.compile(
            r"^(?:git\s+)?blame\s+(?:of\s+|for\s+)?(\S+?)(?::"
            r"|,?\s+(?:at\s+)?line\s+)(\d{1,7})$",
            re.IGNORECASE,
        ),
        lambda match: f"who changed line {match[2]} of {match[1]}",
    ),
    (
        re.compile(
            rf"^(who|when)\s+(?:(?:was|has|did|last|most\s+recently"
            rf"|originally)\s+)*{_LINE_VERBS}\s+(?:the\s+)?line\s+"
            rf"(\d{{1,7}})\s+(?:of|in)\s+(\S+)$",
            re.IGNORECASE,
        ),
        lambda match: f"{match[1]} changed line {match[2]} of {match[3]}",
    ),
    (
        re.compile(
            rf"^where\s+(?:do|does)\s+(?:(?:we|it|they|you|the\s+\w+)\s+)?(?:throw|raise)\s+({_NAME})(?:\s+from)?$",
            re.IGNORECASE,
        ),
        lambda match: f"where is {match[1]} raised",
    ),
    (
        re.compile(
            rf"^(?:in\s+)?(?:which|what)\s+file\s+(?:has|contains)\s+(?:the\s+)?(?P<kind>{_KIND}\s+)"
            rf"(?:(?:called|named)\s+)?(?P<name>{_NAME})(?P<after>)(?:\s+in)?$",
            re.IGNORECASE,
        ),
        _ask_for_definition,
    ),
    (
        re.compile(
            rf"^(?:(?:in\s+)?(?:which|what)\s+file\s+(?:is|has|contains)|where\s+(?:can|do|could)\s+(?:i|we"
            rf"|you)\s+find)\s+(?:the\s+)?"
            rf"({_CODE_NAME})(?:\s+in)?$",
            re.IGNORECASE,
        ),
        lambda match: f"where is {match[1]} defined",
    ),
    (
        re.compile(
            rf"^(?:(?:where\s+(?:can|do|could|would|should)\s+(?:i|we|you|one)\s+)?(?:find|locate)|show\s+(?:me\s+)?where)"
            rf"\s+(?:the\s+)?(?P<kind>{_KIND}\s+)?(?:(?:called|named)\s+)?(?P<name>(?-i:{_CODE_NAME}))"
            rf"(?:\s+(?P<after>{_KIND}))?(?:\s+(?:is|lives)(?:\s+(?:defined|declared|located))?)?$",
            re.IGNORECASE,
        ),
        _ask_for_definition,
    ),
    (
        re.compile(r"^what\s+(?:is|are)\s+(?P<name>\S{1,80})\s+set\s+to\s+by\s+default$", re.IGNORECASE),
        lambda match: f"what is {match['name']} by default",
    ),
    (
        re.compile(
            r"^is\s+(\S+)\s+(?:still|already|even|currently)\s+(?=(?:a|one\s+of\s+the)\s+dependenc)", re.IGNORECASE
        ),
        lambda match: f"is {match[1]} ",
    ),
    (
        re.compile(
            r"^(?:does|do)\s+(?:it\s+)?(?:depend\s+on|need|require|use)\s+(?P<package>\S{1,80}?)\s*,?\s+and\s+"
            r"(?:(?:in|at|with|if\s+so,?)\s+)?(?:which|what)\s+version$",
            re.IGNORECASE,
        ),
        lambda match: f"which version of {match['package']} does it use",
    ),
    (
        re.compile(
            r"^how\s+many\s+(?:packages|gems|crates)\s+(?:are\s+(?:listed\s+)?in|does|do)\s+(?:the\s+)?"
            r"(?P<path>`?(?:[\w.-]{1,60}/){0,8}(?:Gemfile|[\w.-]{1,60}\.\w{2,10})`?)(?:\s+(?:list|have|declare|require|need))?$",
            re.IGNORECASE,
        ),
        lambda match: f"how many dependencies does {match['path']} list",
    ),
    (
        re.compile(
            r"^(?:does|do)\s+(?:it\s+)?(?:depend\s+on|have|need|require|use)\s+any(?:thing)?\s+(?:(?:else|outside"
            r"|beyond|except|but)\b"
            r".*|(?:(?:third[ -]party|external)\s+)?(?:packages?|librar\w+|modules?|code|gems?|crates?))$",
            re.IGNORECASE,
        ),
        lambda _: "what does it depend on",
    ),
    (
        re.compile(
            rf"^(?:in\s+)?(?:which|what)\s+(?:source\s+)?files?\s+(?:(?:is|are|do|does)\s+(?:we\s+|they\s+"
            rf"|it\s+)?)?(?:declares?\s+|defines?\s+|has\s+|contains?\s+)?"
            rf"(?:the\s+)?({_CODE_NAME})(?:\s+(?:declared|defined|located|live|in)){{1,2}}$",
            re.IGNORECASE,
        ),
        lambda match: f"where is {match[1]} defined",
    ),
    (
        re.compile(
            rf"^(?:(?:does|do|can)\s+(?:any(?:thing|one|body|\s+\w+)|it|the\s+code|we)|what\s+code"
            rf"|where\s+do(?:es)?\s+{_NAME}(?:\s+errors?)?\s+get)"
            rf"\s+(?:throws?|raises?)\s+(?:an?\s+)?({_CODE_NAME})(?:\s+(?:errors?|exceptions?))?(?:\s+anywhere)?$",
            re.IGNORECASE,
        ),
        lambda match: f"where is {match[1]} raised",
    ),
    (
        re.compile(rf"^where\s+do(?:es)?\s+({_CODE_NAME})\s+get\s+(?:thrown|raised)(?:\s+in)?$", re.IGNORECASE),
        lambda match: f"where is {match[1]} raised",
    ),
    (
        re.compile(
            rf"^(?:callers?|usages?|call\s+sites?)\s+of\s+({_CODE_NAME})$|^where(?:\s+(?:is"
            rf"|are))?\s+({_CODE_NAME})\s+used$",
            re.IGNORECASE,
        ),
        lambda match: f"what calls {match[1] or match[2]}",
    ),
    (
        re.compile(
            r"^((?:what\s+are\s+|list\s+)?(?:the\s+)?(?:(?:direct|runtime|dev(?:elopment)?|test|peer|optional"
            r"|build)[ -])?dependencies)\s+"
            r"(?:of|in|for|does)\s+(?:the|this)\s+(?:gem|package|library|crate|project|module|app"
            r"|plugin)(?:\s+have)?$",
            re.IGNORECASE,
        ),
        lambda match: match[1] if match[1].lower().startswith(("what", "list")) else f"what are the {match[1]}",
    ),
    (
        # "Which rate does it use if -rate isn't given?"
        re.compile(
            r"^(?:what|which|how\s+(?:many|much|long))\b(?!\s+(?:happens|(?:does|will)\s+(?:\S+\s+){1,3}do)\b)[^,;]{1,120}?,?\s(?:if|when)\s+(?:(?P<no>no\s+)|the\s+)?"
            r"(?P<option>`?--?[A-Za-z][\w-]*`?)(?:\s+(?:option|flag|argument|switch))?"
            r"(?:\s+(?:(?P<negation>isn['\u2019]?t|is\s+not|was\s+not|wasn['\u2019]?t)|is))?\s+"
            r"(?P<state>given|passed|set|specified|provided|supplied|omitted|missing|absent|left\s+out)$",
            re.IGNORECASE,
        ),
        _ask_for_option,
    ),
    (
        # "What does mill's nimble package require?", "what does mill's Package-Requires list"
        re.compile(
            r"^what\s+does\s+(?:the\s+)?(?P<owner>[\w@./-]+)['\u2019]s?\s+(?:\w+\s+)?"
            r"(?:package|package-requires|podspec|gemspec|rockspec|manifest)\s+(?:require|need|list|declare|depend\s+on)$",
            re.IGNORECASE,
        ),
        lambda match: f"what are the dependencies of {match['owner']}",
    ),
    (
        # "Which runtime dependencies does the mill package declare?", "which crates does mill need at runtime"
        re.compile(
            r"^(?:what|which)\s+(?P<group>(?:runtime|production|dev(?:elopment)?|test|peer|optional|build)[ -])?"
            r"(?:dependencies|packages|crates|gems|libraries|subcharts|rocks)\s+(?:does|do)\s+(?:the\s+)?"
            r"(?P<owner>(?!(?:it|we|this|that|there|they|you|I)\b|\S+\.\w{1,5}\s)[\w@./-]+?)"
            r"(?:\s+(?:package|gem|library|crate|project|module|plugin|chart))?"
            r"\s+(?:declare|require|need|have|list|use|depend\s+on|pull\s+in)"
            r"(?:\s+(?P<when>at\s+runtime|in\s+production|for\s+development|for\s+(?:its\s+)?tests?))?"
            r"(?:,?\s+and\s+(?:at|in)\s+(?:which|what)\s+versions?)?$",
            re.IGNORECASE,
        ),
        lambda match: f"what are the {_group_of(match)}dependencies of {match['owner']}",
    ),
    (
        re.compile(
            r"^(?:what|which)\s+((?:(?:direct|runtime|production|dev(?:elopment)?|test|peer|optional|build)[ -])?"
            r"dependencies)\s+"
            r"(?:does|do|are)(?:\s+(?:it|we|there|the\s+\w+))?(?:\s+(?:have|need|needed|required|there|listed))?$",
            re.IGNORECASE,
        ),
        lambda match: f"what are the {match[1].replace('production', 'runtime')}",
    ),
    (
        re.compile(
            rf"^(?:where|(?:in\s+)?(?:which|what)\s+file)\s+(?:does|do)\s+(?:the\s+)?((?-i:{_CODE_NAME}))(?:\s+{_KIND})?"
            r"\s+(?:live|reside|sit)(?:\s+in)?$",
            re.IGNORECASE,
        ),
        lambda match: f"where is {match[1]} defined",
    ),
    (re.compile(rf"^where is (?:the )?({_CODE_NAME})$", re.IGNORECASE), lambda match: f"where is {match[1]} defined"),
    (
        re.compile(
            rf"^(?:what|which)\s+(?:other\s+)?(?:functions?|methods?|code|places?)\s+(?:calls?|invokes?|uses?)"
            rf"\s+(?:the\s+)?({_CODE_NAME})$",
            re.IGNORECASE,
        ),
        lambda match: f"what calls {match[1]}",
    ),
    (
        re.compile(rf"^(what|who|which code) uses ({_CODE_NAME})$", re.IGNORECASE),
        lambda match: f"what calls {match[2]}",
    ),
    (
        re.compile(r"^((?:what (?:is|are) )?(?:the )?differences?) (?:of|in) (?=\S+ and \S+$)", re.IGNORECASE),
        lambda match: f"{match[1]} between ",
    ),
    (
        re.compile(
            r"^(?:the )?(?=(?:default|max(?:imum|imal)?|min(?:imum|imal)?|value of|purpose of|meaning of|signature of"
            r"|super ?class of|(?:base|parent) class(?:es)? of)\b)",
            re.IGNORECASE,
        ),
        lambda _: "what is the ",
    ),
    (
        re.compile(
            r"^(?:the )?(?=(?:(?:direct|runtime|dev(?:elopment)?|test|peer|optional|build)[ -])?dependencies\b"
            r"|(?:parameters|arguments|params|args|callers|callees|tests) (?:of|for)\b)",
            re.IGNORECASE,
        ),
        lambda _: "what are the ",
    ),
)
_OF_LINE = re.compile(r"\bline\s+\d|:\d+\b", re.IGNORECASE)
_AND_WHEN = re.compile(
    r"(?<!\s)(?:\s*+,)?\s++and\s+(?:when|who|by\s+whom|in\s+(?:which|what)\s+commit)$", re.IGNORECASE
)
"""Endings that ask for more than a person, which an answer about a line has anyway."""
_ON_COMMAND_LINE = re.compile(r"\s+(?:on|from|at|in)\s+the\s+(?:command[ -]line|cli|terminal|shell)$", re.IGNORECASE)
"""An ending that says which program has an option: the one whose file is called so."""
_LIST_OF_MANIFEST = re.compile(r"\b(dev|peer|optional)[_-]?dependencies\b", re.IGNORECASE)
FORM_WORDS = (
    "default", "defaults", "defined", "declared", "implemented", "definition", "implementation", "difference",
    "differences", "between", "example", "dependencies", "dependency", "depends", "version", "required", "supported",
    "minimum", "maximum", "purpose", "parameters", "parameter", "arguments", "argument", "environment", "variable",
    "variables", "function", "method", "constant", "interface", "inherit", "callers", "raised", "thrown",
)  # fmt: skip
"""Words that mark the kind of a question."""
_QUESTION_WORDS = ("where", "which", "what", "when", "does")
_MIN_CHARACTERS, _MIN_QUESTION_WORD, _ALIKE = 6, 4, 0.87
_PLAIN = re.compile(r"(?<![\w`'\"./:@#$-])[a-z]{6,}(?![\w`'\"/:@#$-]|\.\w)")


def expand_wording(text: str) -> str:
    """Write out contractions and clipped openings of a question."""
    if _OF_LINE.search(text) is not None:
        text = _AND_WHEN.sub("", text)

    text = _ON_COMMAND_LINE.sub(" in cli", text)
    text = _LIST_OF_MANIFEST.sub(r"\1 dependencies", text)
    text = _CONTRACTION.sub(lambda match: _CONTRACTIONS[match[1].lower()], text)
    for pattern, full_form in _CLIPPED:
        if pattern.search(text) is not None:
            return pattern.sub(full_form, text, count=1)

    return text


def mend_spelling(text: str) -> str:
    """Replace misspelled words of a form, such as "defualt"; words that are spelled like no such word stay."""
    first, blank, rest = text.partition(" ")
    return _PLAIN.sub(lambda match: _nearest(match[0]), f"{_nearest_question_word(first)}{blank}{rest}")


def _nearest_question_word(word: str) -> str:
    """Return the word that a question may begin with and that a word misspells, else the word: "whre" is "where"."""
    if len(word) < _MIN_QUESTION_WORD or not word.isalpha() or word.lower() in _QUESTION_WORDS:
        return word
    return _closest(word.lower(), _QUESTION_WORDS) or word


def _nearest(word: str) -> str:
    """Return the word of a form that a word misspells, else the word."""
    if word in FORM_WORDS or word.removesuffix("s") in FORM_WORDS or word.removesuffix("ing") in FORM_WORDS:
        return word
    return _closest(word, FORM_WORDS) or word


def _closest(word: str, candidates: Sequence[str]) -> str:
    """Return the candidate that a word misspells; empty for none."""
    close = get_close_matches(word, candidates, n=1, cutoff=_ALIKE)
    # Two letters that changed places are two edits to this measure.
    close = close or [candidate for candidate in candidates if _is_swapped(word, candidate)]
    return close[0] if close else ""


def _is_swapped(word: str, correct: str) -> bool:
    """Return whether two words differ by two neighbors that changed places."""
    if len(word) != len(correct):
        return False

    different = [index for index, (left, right) in enumerate(zip(word, correct, strict=True)) if left != right]
    return (
        len(different) == 2
        and different[1] == different[0] + 1
        and word[different[0]] == correct[different[1]]
        and word[different[1]] == correct[different[0]]
    )


def is_misspelled_grammar(word: str, grammar_words: frozenset[str]) -> bool:
    """Return whether a word misspells one of some grammatical words, such as "untill" or "becuase"."""
    if not word.isalpha() or not word.islower():
        return False
    if len(word) < _MIN_CHARACTERS - 1:
        return _nearest_question_word(word) != word
    return bool(get_close_matches(word, sorted(grammar_words), n=1, cutoff=0.9)) or any(
        _is_swapped(word, other) for other in grammar_words
    )
