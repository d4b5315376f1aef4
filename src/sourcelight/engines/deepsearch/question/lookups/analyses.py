"""Read questions that an analysis of history or code answers: complexity, hotspots, bus factor, related tests.

Forms are whole sentences, like those of `project`: one more word makes a question about something else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.question.lookups.project import (
    MAX_CHARACTERS,
    PROJECT_WORDS,
    expand_words,
    normalize,
)

_PATH = r"(?P<path>[\w.@+~-][\w.@+~/-]*)"
_IN_PATH = (
    r"(?: (?:in|of|under|below|within|for|from|inside) (?:the )?(?:file |directory |folder |module |package )?"
    rf"{_PATH}(?: (?:directory|folder|package|module))?)?"
)
_PEOPLE = r"(?:contributors|authors|developers|committers|maintainers|people)"
_WORDS: Mapping[str, str] = {
    **PROJECT_WORDS,
    "PATH": _PATH,
    # Where to look: the project, or one of its paths.
    "AT": rf"(?:{PROJECT_WORDS['OF']}|{_IN_PATH})",
    "ASK": r"(?:(?:what|which|where|who)(?: is|'s| are)? |(?:show|list|give|find)(?: me)? )?(?:the )?",
    "UNIT": r"(?P<unit>function|method|file|code|module|part)s?",
    "PEOPLE": _PEOPLE,
    "REVISION": r"(?:version |release |tag )?",
}

_FORMS: Mapping[str, Sequence[str]] = {
    "complexity": (
        r"ASK(?:most (?:complex|complicated)|hardest to (?:read|understand|maintain)) UNITAT",
        r"ASKUNIT with the (?:highest|most|greatest) (?:cyclomatic |cognitive )?complexityAT",
        (r"WHICH UNIT(?: is| are| has| have)? (?:the )?(?:most complex|most complicated|hardest to "
        r"(?:read|understand|maintain)|(?:highest|most) (?:cyclomatic |cognitive )?complexity)AT"),
        r"how complex is (?:SUBJECT|PATH)",
        r"ASK(?:highest )?(?:cyclomatic |cognitive )complexityAT",
    ),
    "length": (
        r"ASK(?:longest|biggest|largest) (?P<unit>function|method)s?AT",
        r"WHICH (?P<unit>function|method)s? (?:is|are) (?:the )?(?:longest|biggest|largest)AT",
        r"WHICH (?P<unit>function|method)s? (?:has|have) (?:the )?most linesAT",
    ),
    "parameters": (
        r"ASK(?P<unit>function|method)s? with the most (?:parameters|arguments)AT",
        r"WHICH (?P<unit>function|method)s? (?:has|have|takes?) (?:the )?most (?:parameters|arguments)AT",
    ),
    "bus_factor": (
        r"(?:what(?: is|'s) |how (?:big|high|large|low|good) is |show me )?(?:the )?(?:bus|truck)[ -]factorAT",
        (rf"(?:how many|which|what) {_PEOPLE} (?:own|wrote|hold|have written) (?:more than half|most) of "
        r"(?:the )?(?:code|lines)OF"),
    ),
    "inactive": (
        r"who (?:has )?left(?: SUBJECT)?",
        (r"who (?:is|isn't|is not|are) (?:no longer|not|inactive)(?: (?:active|contributing|working|involved))?"
        r"(?: any ?more)?(?: on SUBJECT)?OF"),
        r"who (?:has )?stopped contributing(?: to SUBJECT)?",
        r"(?:WHICH |are there |ASK)?(?:any )?(?:inactive|former|past) PEOPLEOF",
        (r"WHICH (?:PEOPLE) (?:(?:have )?(?:left|stopped contributing)|are (?:no longer|not) active|are inactive"
        r"|became inactive)(?: any ?more)?OF"),
    ),
    "hotspots": (
        (r"(?:(?:what|where|which) are |(?:show|list)(?: me)? |are there (?:any )?)?(?:the )?"
        r"(?:hot ?-?spots?|riskiest files|risky files|most risky files)AT"),
        (r"WHICH (?:source )?files are (?:the )?(?:hot ?-?spots|risky|riskiest|most risky|most fragile|fragile"
        r"|most error-prone|error-prone)AT"),
        r"where (?:do|does|is|are) (?:the )?most (?:of the )?(?:changes?|work|churn) (?:happen|take place|made)OF",
    ),
    "most_changed": (
        r"WHICH files? (?:change|changed|(?:are|is|was|were) changed) (?:the )?most(?: often| frequently)?AT",
        (r"WHICH files? (?:(?:are|is|was|were) )?most (?:often |frequently )?(?:changed|edited|modified)"
        r"(?: (?:most )?often)?AT"),
        r"(?:(?:what|which)(?: is|'s| are) )?(?:the )?most (?:often |frequently )?(?:changed|edited|modified) files?AT",
        r"WHICH files? (?:has|have) the most commitsAT",
    ),
    "coupling": (
        (r"(?:WHICH (?:other )?files|what) (?:often |usually |always |typically )?(?:changes?|(?:is|are|were) "
        r"(?:often |usually )?changed)(?: most)?(?: often)?(?: together)? with PATH"),
        r"(?:WHICH (?:other )?files|what) (?:is|are) (?:logically )?coupled (?:with|to) PATH",
        (r"WHICH files (?:often |usually |always )?(?:change|are (?:often |usually )?changed)(?: most)?(?: often)? "
        r"together(?: most often)?OF"),
        (r"(?:WHICH (?:other )?files|what)(?: else)? (?:do|should|must) i (?:have to |need to |also )?change "
        r"(?:when|if) i change PATH"),
    ),
    "tests": (
        (r"(?:WHICH|what are the|ASK)(?: (?:are )?(?:the )?)?(?:unit )?(?:tests?|test files?) (?:that |which )?"
        r"(?:covers?|tests?|exercises?|are related to|belongs? to|checks?|verify|uses?|imports?|goe?s? with) PATH"),
        r"ASK(?:related )?(?:unit )?(?:tests?|test files?) (?:of|for|related to) PATH",
        (r"WHICH tests (?:should|must|do) i (?:have to |need to )?run (?:after|when|if|before) (?:i )?"
        r"(?:change|changing|edit|editing) PATH"),
        r"(?:where|how) is PATH tested",
        r"is PATH tested",
    ),
    "people_by_year": (
        (r"how (?:has|have|did|does) (?:the )?number of (?P<unit>PEOPLE|commits) (?:developed?|changed?|evolved?|grown?"
        r"|grow|increased?|decreased?|risen|fallen)(?: over (?:time|the (?:last )?years))?OF"),
        (r"(?:how many |(?:the )?number of )?(?P<unit>PEOPLE|commits) (?:per|by|over|each|in each|every) (?:the )?"
        r"(?:years?|time)OF"),
        r"how many (?P<unit>PEOPLE|commits) (?:are|were) there (?:per|each|in each|every) yearOF",
        r"is the number of (?P<unit>PEOPLE|commits) (?:growing|rising|increasing|falling|decreasing|shrinking)OF",
    ),
    "experts": (
        r"who knows (?:most about )?PATH(?: the)?(?: best| most)?",
        r"who knows (?:the )?most about PATH",
        r"who(?: is|'s| are) (?:the |an )?experts? (?:on|for|in|of|with) PATH",
        r"whom? (?:should|can|could|do) i (?:ask|talk to|contact) about PATH",
        r"who (?:should|could|can) review (?:(?:a |the )?changes? (?:to|in|of) )?PATH",
    ),
    "oldest_lines": (
        r"ASKoldest (?:code|lines?|part|parts|lines of code)AT",
        r"how much (?:of the )?(?:old|oldest|original|first) code (?:is left|survives|is still there|remains)OF",
        r"(?:from|in) (?:which|what) years? (?:is|are|was|were) (?:the )?(?:code|lines)OF(?: from| written)?",
    ),
    "cycles": (
        (r"(?:are there|is there|does SUBJECT have|do you see|ASK)(?: )?(?:any |an? )?"
        r"(?:circular|cyclic) (?:imports?|dependenc(?:y|ies))OF"),
        r"(?:are there|is there|does SUBJECT have) (?:any |an? )?(?:import|dependency) cycles?OF",
        r"WHICH (?:files|modules) import each other(?: in a circle)?OF",
    ),
    "interface": (
        (r"(?:WHICH|what|did|are there|were there) ?(?:any |the )?(?:public )?(?:api|interface|functions?|symbols?)"
        r"(?: changes?)? ?(?:was |were |have been |has been )?(?:changed|change|added|removed|added and removed)?"
        r"(?: there)? (?:between|from) REVISION(?P<base>[\w.+/-]+) (?:and|to) REVISION(?P<head>[\w.+/-]+)"),
        (r"(?:what|which) (?:are|were) the (?:breaking|api|interface|public) changes (?:between|from) "
        r"REVISION(?P<base>[\w.+/-]+) (?:and|to) REVISION(?P<head>[\w.+/-]+)"),
    ),
    "unused": (
        r"(?:is|are) there (?:any )?(?:dead|unused|unreachable|unnecessary) (?:code|functions?|methods?|classes)AT",
        r"ASK(?:dead|unused|unreachable) (?:code|functions?|methods?|classes)AT",
        (
            r"WHICH (?:functions?|methods?|classes|code) (?:is|are) "
            r"(?:unused|dead|(?:never|not) (?:used|called)|unreachable)AT"
        ),
    ),
    "most_called": (
        r"ASKmost (?:often |frequently )?(?:called|used|referenced|popular) (?:functions?|methods?|classes|class)AT",
        (r"WHICH (?:functions?|methods?|classes|class) (?:is|are) (?:the )?(?:most (?:often |frequently )?"
        r"(?:called|used|referenced)|(?:called|used|referenced) (?:the )?most(?: often)?)AT"),
    ),
    "coverage": (
        r"(?:what(?: is|'s) |how (?:high|good|big) is )?(?:the )?(?:test|code) coverageAT",
        r"how much of (?:the code|SUBJECT) is (?:tested|covered)(?: by tests)?",
        r"how well is SUBJECT tested",
    ),
    "duplicates": (
        r"(?:is|are) there (?:any )?(?:duplicate|duplicated|copied|cloned|redundant) (?:code|functions?)AT",
        r"ASK(?:duplicate|duplicated) (?:code|functions?)AT",
    ),
}  # fmt: skip


_PATTERNS = [
    (topic, [re.compile(expand_words(form, _WORDS), re.IGNORECASE) for form in forms])
    for topic, forms in _FORMS.items()
]


@dataclass(frozen=True, slots=True)
class AnalysisQuestion:
    """A question for an analysis.

    Attributes
    ----------
    topic
        A key of the forms, such as ``hotspots``.
    unit
        What is asked about, in the singular: ``function``, ``file``, ``commit``; empty for none.
    path
        A path as the question writes it; empty for everything.
    base, head
        Revisions that are compared; empty for none.
    """

    topic: str
    unit: str = ""
    path: str = ""
    base: str = ""
    head: str = ""


def read_analysis_question(text: str, names: Collection[str]) -> AnalysisQuestion | None:
    """Return what a question wants to be analyzed; None for any other question.

    Parameters
    ----------
    text
        The question, in which `·` stands for the name of a repository.
    names
        Names of the searched repositories, as a question may write them.
    """
    words = normalize(text.replace("`", ""), names, fold=False)
    if len(words) > MAX_CHARACTERS:
        return None

    for topic, patterns in _PATTERNS:
        for pattern in patterns:
            match = pattern.fullmatch(words)
            if match is not None:
                groups = {name: value or "" for name, value in match.groupdict().items()}
                unit = groups.pop("unit", "").lower().removesuffix("s")
                return AnalysisQuestion(topic, unit, **groups)

    return None
