"""Answers to questions about a project as a whole, by topic."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from sourcelight.engines.deepsearch.evidence.model import Finding
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.lookups.builds.commands import find_command
from sourcelight.engines.deepsearch.lookups.builds.fields import find_field
from sourcelight.engines.deepsearch.lookups.definitions.search import find_definitions, state_definitions
from sourcelight.engines.deepsearch.lookups.project.layout import find_ci, find_directories, find_documents, find_tests
from sourcelight.engines.deepsearch.lookups.project.releases import (
    find_newest_commits,
    find_newest_tag,
    find_previous_tag,
    find_version,
    has_recent_commits,
    newest_release,
)
from sourcelight.engines.deepsearch.lookups.project.sections import find_no_section, find_overview, find_section
from sourcelight.engines.deepsearch.question.lookups.project import as_count_question, read_project_question
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.requests import Emit, ResearchRequest


def project_topic(inquiry: ResearchRequest) -> str:
    """Return the subject of a question about a project as a whole; empty for any other question."""
    names = inquiry.pins.short_names | {pin.repository for pin in inquiry.pins}
    return read_project_question(inquiry.words, names, is_follow_up=bool(inquiry.previous))


def find_project(topic: str, work: Work) -> Finding | None:
    """Return the answer to a question about the project; None if nothing in the repositories has it.

    Parameters
    ----------
    topic
        Subject of the question, from `question.lookups.project`.
    """
    find = _FINDERS.get(topic)
    if find is not None:
        return find(work)

    # A command to copy says more than the section around it.
    command = find_command(work, topic) if topic in {"test", "build", "install"} else None
    finding = command or find_section(work, topic)
    if finding is None and topic == "run":
        finding = find_field(work, "script", "start", "", "")

    return finding or find_no_section(work, topic)


def as_count_request(inquiry: ResearchRequest, emit: Emit) -> ResearchRequest:
    """Return the request with a question about commits or files, if that answers a question about the project."""
    topic = project_topic(inquiry)
    question = as_count_question(topic, inquiry.words)
    if topic == "people":
        # Who maintains it is a question of today. Its authors are those of all commits.
        is_of_all = re.search(r"\bauthors?\b|\bwrote\b", inquiry.words, re.IGNORECASE) is not None
        is_active = not is_of_all and has_recent_commits(Work(FactRequest("lookup"), inquiry, emit))
        question = f"Who has the most commits{' in the last 12 months' if is_active else ''}?"

    if topic in {"since_release", "in_release"}:
        release = newest_release(Work(FactRequest("lookup"), inquiry, emit))
        if release is not None and (topic == "since_release" or release.previous):
            span = (
                f"since `{release.newest}`"
                if topic == "since_release"
                else f"between `{release.previous}` and `{release.newest}`"
            )
            question = f"Which commits were made {span}?"

    # The question itself, too: forms of counts are matched with it.
    return replace(inquiry.with_words(question), question=question) if question else inquiry


def find_profile(work: Work) -> Finding | None:
    """Return what the README says, and of a single repository its license, newest tag and last commit below."""
    finding = find_overview(work)
    if finding is None or finding.details:
        return finding

    further = (
        find_field(work, "license", "", "", ""),
        find_newest_tag(work) or find_field(work, "version", "", "", ""),
        find_newest_commits(work),
    )
    finding.heading = "At a glance"
    finding.details = [other.headline for other in further if other is not None]
    return finding


def find_entry(work: Work) -> Finding | None:
    """Return the programs that a manifest names, or the definitions of `main` outside of tests and tools."""
    field = find_field(work, "binaries", "", "", "")
    if field is not None:
        return field
    queries: list[str] = []
    definitions = find_definitions(work, "main", queries)
    programs = [location for location in definitions if rank_of(location.path).is_code]
    return state_definitions(work, "main", programs, queries) if programs else None


_FINDERS: Mapping[str, Callable[[Work], Finding | None]] = {
    "overview": find_profile,
    "version": find_version,
    "previous_version": find_previous_tag,
    "activity": find_newest_commits,
    "layout": lambda work: find_section(work, "layout") or find_directories(work),
    "entry": find_entry,
    "tests": find_tests,
    "ci": find_ci,
    "docs": lambda work: find_section(work, "docs") or find_documents(work),
}
"""Functions that answer questions about topics that aren't a section of a document alone."""
