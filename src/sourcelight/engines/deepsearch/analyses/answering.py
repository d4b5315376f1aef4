"""Route a question to an analysis, or say that there is none for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sourcelight.core.errors import QueryError, RepositoryError, ToolError, UnsupportedTool
from sourcelight.engines.complexity import LANGUAGES as MEASURED_LANGUAGES
from sourcelight.engines.deepsearch.analyses.code import find_cycle, list_tests, rank_functions
from sourcelight.engines.deepsearch.analyses.history import (
    compare_interfaces,
    find_oldest_lines,
    rank_changed_files,
    rank_coupling,
    rank_hotspots,
)
from sourcelight.engines.deepsearch.analyses.people import count_people_by_year, find_bus_factor, list_inactive
from sourcelight.engines.deepsearch.analyses.requests import AnalysisRequest
from sourcelight.engines.deepsearch.evidence.claims import claim_of
from sourcelight.engines.deepsearch.facts.model import Fact, Work
from sourcelight.engines.deepsearch.facts.ownership import concrete_paths, find_main_author
from sourcelight.engines.deepsearch.facts.paths import PathNames
from sourcelight.engines.deepsearch.question.lookups.analyses import AnalysisQuestion, read_analysis_question
from sourcelight.engines.deepsearch.question.request import FactRequest, PathScope
from sourcelight.engines.deepsearch.requests import Emit, ResearchRequest

_FINDERS: Mapping[str, Callable[[AnalysisRequest], Fact | None]] = {
    "complexity": rank_functions,
    "length": rank_functions,
    "parameters": rank_functions,
    "bus_factor": find_bus_factor,
    "inactive": list_inactive,
    "hotspots": rank_hotspots,
    "most_changed": rank_changed_files,
    "coupling": rank_coupling,
    "tests": list_tests,
    "people_by_year": count_people_by_year,
    "oldest_lines": find_oldest_lines,
    "cycles": find_cycle,
    "interface": compare_interfaces,
}
"""The analysis of each topic of a question; ``experts`` has another signature, see `_find`."""

_UNMEASURED = (
    f"Complexity, length and parameters are measured in {', '.join(MEASURED_LANGUAGES)}: no searched file is in one of "
    "these languages."
)

_WITHOUT_RESULT: Mapping[str, str] = {
    "complexity": _UNMEASURED,
    "length": _UNMEASURED,
    "parameters": _UNMEASURED,
    "cycles": (
        "Circular imports can't be found here: as far as imports are resolved, none of a searched file names another "
        "file of its repository."
    ),
}
"""Refusals of analyses that have no files to read."""

_REFUSALS: Mapping[str, str] = {
    "unused": (
        "Unused code can't be found here: a name may be called from other repositories, or made at run time. "
        "`code.find_references` lists the uses of one name."
    ),
    "most_called": (
        "Calls of all functions aren't counted here: a call is resolved for one name at a time. "
        "`code.find_references` lists the uses of one name, and `code.repo_map` ranks definitions by what refers to "
        "them."
    ),
    "coverage": (
        "Test coverage can't be measured here, because nothing is executed. `code.related_tests` lists the tests that "
        "import a file, use its definitions or change together with it."
    ),
    "duplicates": (
        "Duplicated code can't be found here. A search for a line of it lists every file that has the line."
    ),
}
"""Questions that no analysis answers, and what to do instead."""

_OF_ONE_FILE = frozenset({"tests", "coupling"})
"""Topics whose path is that of a file, never of a directory."""


@dataclass(frozen=True, slots=True)
class AnalysisAnswer:
    """The answer of an analysis.

    Attributes
    ----------
    request
        The request, with the paths of the question.
    fact
        What the analysis found; None if no analysis answers the question.
    refusal
        Why there is none, a sentence or two; empty with a fact.
    """

    request: FactRequest
    fact: Fact | None = None
    refusal: str = ""


def find_analysis(inquiry: ResearchRequest, emit: Emit) -> AnalysisAnswer | None:
    """Answer a question by an analysis; None if it asks for none, or the analysis finds nothing to say."""
    names = inquiry.pins.short_names | {pin.repository for pin in inquiry.pins}
    question = read_analysis_question(inquiry.words, names)
    if question is None:
        return None
    if question.topic in _REFUSALS:
        return AnalysisAnswer(FactRequest("unsupported"), refusal=_REFUSALS[question.topic])

    paths = PathNames(inquiry)
    request = _read_paths(question, paths)
    if request is None:
        return None

    work = Work(request, inquiry, emit)
    try:
        fact = _find(question, work, paths)
    except (ToolError, QueryError, RepositoryError, UnsupportedTool):
        inquiry.context.cancellation.check()
        return None

    if fact is None:
        refusal = _WITHOUT_RESULT.get(question.topic)
        return AnalysisAnswer(request, refusal=refusal) if refusal else None

    fact.notes += paths.notes
    sentence = fact.subject
    if fact.number is not None:
        sentence = f"**{fact.number:,}** {fact.subject}"
    is_claim = claim_of(sentence, ("count",)) is not None
    return AnalysisAnswer(request, fact) if is_claim else None


def _read_paths(question: AnalysisQuestion, paths: PathNames) -> FactRequest | None:
    """Return a request with the path of a question; None if no searched commit has that path."""
    if question.path in {"", "@"}:
        if question.topic == "tests":
            return None
        return FactRequest("analysis", is_list=True)

    scope: PathScope | None = paths.find(question.path)
    if scope is None:
        return None
    if question.topic in _OF_ONE_FILE and not scope.is_file:
        return None
    return FactRequest("analysis", is_list=True, paths=(scope,))


def _find(question: AnalysisQuestion, work: Work, paths: PathNames) -> Fact | None:
    if question.topic == "experts":
        return find_main_author(work, paths)

    git_names = {target.repository.name for target in work.targets if target.repository.kind == "git"}
    if work.request.paths:
        locations = tuple(location for location in concrete_paths(work, paths) if location[0] in git_names)
        # Several files of one name would be one answer about different things.
        if question.topic in _OF_ONE_FILE and len(locations) != 1:
            return None
    else:
        locations = tuple((name, "") for name in sorted(git_names))

    if not locations:
        return None
    return _FINDERS[question.topic](AnalysisRequest(work, question, locations))
