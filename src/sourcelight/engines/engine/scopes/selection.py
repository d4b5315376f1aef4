"""Which of the visible repositories an alternative of a query searches, and which it leaves out by default."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sourcelight.core.batches import RepositoryFacts
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.query import Alternative, Filter
from sourcelight.repos import Repository

# `repo:^github\.com/a/b$` names one repository: no operator of a regular expression between the anchors.
# An at sign in a name can only be written as its number: the character itself begins a revision.
_EXACT = re.compile(r"\^(?:\\[^a-zA-Z0-9]|\\x40|[^\\.*+?()\[\]{}|^$])+\$")


@dataclass(frozen=True, slots=True)
class Selection:
    """Repositories to search in name order, and those that only a default left out."""

    repositories: tuple[Repository, ...]
    forks_left_out: tuple[str, ...]
    archived_left_out: tuple[str, ...]


def _any_facts(_: RepositoryFacts) -> bool:
    return True


def select_repositories(
    alternative: Alternative,
    visible: Sequence[Repository],
    facts_test: Callable[[RepositoryFacts], bool] = _any_facts,
) -> Selection:
    """Apply the filters ``repo fork archived visibility`` of `alternative`, and `facts_test`.

    Forks and archived repositories are left out unless asked for, or unless the only positive ``repo:`` filter names
    exactly one repository (query-language reference, repositories and revisions). Names match without regard to case.
    """
    repo_filters = alternative.all("repo")
    wanted = [_name_pattern(f) for f in repo_filters if not f.negated and f.value]
    unwanted = [_name_pattern(f) for f in repo_filters if f.negated and f.value]
    positive = [f for f in repo_filters if not f.negated]
    names_one = len(positive) == 1 and bool(_EXACT.fullmatch(positive[0].value))
    fork = alternative.yes_no_only("fork") or ("yes" if names_one else "no")
    archived = alternative.yes_no_only("archived") or ("yes" if names_one else "no")
    fork_is_default = alternative.yes_no_only("fork") is None
    archived_is_default = alternative.yes_no_only("archived") is None
    visibility = alternative.visibility()

    chosen: list[Repository] = []
    forks: list[str] = []
    archives: list[str] = []
    for repository in visible:
        facts = repository.facts
        name = facts.name.encode()
        if not all(_holds(p, name) for p in wanted) or any(_holds(p, name) for p in unwanted):
            continue
        if (visibility == "private" and not facts.private) or (visibility == "public" and facts.private):
            continue
        if not facts_test(facts):
            continue
        if not _passes(fork, has=facts.fork):
            if facts.fork and fork_is_default:
                forks.append(facts.name)
            continue
        if not _passes(archived, has=facts.archived):
            if facts.archived and archived_is_default:
                archives.append(facts.name)
            continue
        chosen.append(repository)
    return Selection(tuple(chosen), tuple(forks), tuple(archives))


def filters_matching(alternative: Alternative, repository: Repository) -> tuple[Filter, ...]:
    """The positive ``repo:`` filters that the name of a selected repository satisfies: all of them."""
    name = repository.facts.name.encode()
    positive = (item for item in alternative.all("repo") if not item.negated)
    return tuple(item for item in positive if not item.value or _holds(_name_pattern(item), name))


def _passes(choice: str, *, has: bool) -> bool:
    return has if choice == "only" else not has or choice == "yes"


def _name_pattern(item: Filter) -> CompiledPattern:
    return compile_pattern(literal_dots(item.value), kind="regexp", case_sensitive=False, whole_text=True)


def _holds(pattern: CompiledPattern, name: bytes) -> bool:
    """Whether a pattern is found in a name, be it only as an empty match, as of ``repo:^``."""
    if pattern.find(name):
        return True
    if not pattern.matches_empty:
        return False
    bounds = np.array([0], dtype=np.int64), np.array([len(name)], dtype=np.int64)
    return bool(pattern.match_many(name, *bounds)[0])


def literal_dots(pattern: str) -> str:
    """`pattern` with the dots of a host name such as ``github.com/`` taken literally, as the service reads them."""
    return re.sub(r"(?<![\\.])\.(?=(?:com|org|net|io|dev)(?:/|$|\\))", r"\\.", pattern)
