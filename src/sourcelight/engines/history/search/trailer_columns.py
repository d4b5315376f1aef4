"""Columns that are read from commit messages: co-authors, reviewers, and the coding assistants that commits name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, runs
from sourcelight.core.batches.agents import CANDIDATE_PATTERN, AgentTrace, agent_of, agents_text, traces_of
from sourcelight.core.batches.commit_messages import CO_AUTHORS, REVIEWERS, people_of_trailers
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.history.search.lines import matching_texts
from sourcelight.engines.history.search.tables import Column

_NO_TEXTS: tuple[str, ...] = ()


def co_author_texts(history: History, commits: CommitNumbers) -> Column:
    """Return the lists of the ``Co-authored-by`` trailers of commits, as ``Name <address>``."""
    return _people_texts(history, commits, CO_AUTHORS)


def reviewer_texts(history: History, commits: CommitNumbers) -> Column:
    """Return the lists of the people whom trailers of commits name as reviewers, as ``Name <address>``."""
    return _people_texts(history, commits, REVIEWERS)


def commits_with_co_authors(history: History) -> list[int]:
    """Return commits whose messages seem to have such trailers, ascending."""
    return _commits_with(history, "|".join(sorted(CO_AUTHORS)))


@dataclass(frozen=True, slots=True, eq=False)
class CommitAgents:
    """The coding assistants that the commits of a history name.

    A commit names one in a trailer, in its message, or by its author, the account of an assistant. The text in which it
    does is called a trace.

    Attributes
    ----------
    names
        Distinct texts of `agents_text`; the first is empty.
    of_commit
        For each commit the position of its text in `names`.
    traces
        What names them, for the commits that have any.
    """

    names: list[str]
    of_commit: Int64Array
    traces: dict[int, list[str]]

    @property
    def mask(self) -> BoolArray:
        """Whether each commit names one."""
        return self.of_commit > 0


def commit_agents(history: History) -> CommitAgents:
    """Return the assistants of all commits of a history, read once."""
    return history.remember("agents", lambda: _read_agents(history))


def _read_agents(history: History) -> CommitAgents:
    # Few messages have a trace: a scan of all of them finds candidates, and only these are parsed.
    candidates = {*_commits_by_agents(history), *_commits_with(history, CANDIDATE_PATTERN)}
    names = {"": 0}
    of_commit = np.zeros(len(history.commits), np.int64)
    texts: dict[int, list[str]] = {}
    for commit in sorted(candidates):
        traces = _traces_of_commit(history, commit)
        if traces:
            of_commit[commit] = names.setdefault(agents_text(traces), len(names))
            texts[commit] = [trace.text for trace in traces]

    return CommitAgents(list(names), of_commit, texts)


def _commits_by_agents(history: History) -> list[int]:
    """Return commits whose author is the account of an assistant, which leaves no trace in messages."""
    # Identities, not commits, are compared with the names of assistants: a history has far fewer of them.
    agents = _agent_identities(history, range(len(history.identities)))
    commits: list[int] = np.flatnonzero(np.isin(history.commits.author, agents)).tolist()
    return commits


def _agent_identities(history: History, identities: Iterable[int]) -> list[int]:
    """Return the identities that are accounts of assistants, of some."""
    people = history.identities
    return [number for number in identities if agent_of(people.names[number], people.emails[number])]


def _traces_of_commit(history: History, commit: int) -> list[AgentTrace]:
    # The mailmap may credit the person who ran the assistant, so the identity is the one as written.
    people, writer = history.identities, int(history.commits.author[commit])
    return traces_of(people.names[writer], people.emails[writer], history.message(commit))


def agent_texts(history: History, commits: CommitNumbers, messages: Column) -> Column:
    """Return the assistants that these commits name, without reading the messages of all others.

    `agent_column` reads the messages of a whole history first: seconds for a million commits, before the first row is
    shown. Both read the same traces, so that a result and a table of commits never differ.
    """
    authors = history.commits.author[commits]
    by_agents = np.isin(authors, _agent_identities(history, np.unique(authors).tolist()))
    candidates = pc.match_substring_regex(messages, CANDIDATE_PATTERN, ignore_case=True)

    # Few messages have a trace, so only candidates are parsed.
    texts = [""] * len(commits)
    for index in np.flatnonzero(by_agents | candidates.to_numpy(zero_copy_only=False)).tolist():
        texts[index] = agents_text(_traces_of_commit(history, int(commits[index])))

    return pa.array(texts, pa.string())


def agent_column(history: History, commits: Sequence[int] | AnyArray) -> Column:
    """Return the assistants that commits name, dictionary-encoded; a commit may occur several times."""
    agents = commit_agents(history)
    distinct, codes = np.unique(agents.of_commit[np.asarray(commits, np.int64)], return_inverse=True)
    names = pa.array([agents.names[number] for number in distinct.tolist()], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names)


def agent_trace_texts(history: History, commits: CommitNumbers) -> Column:
    """Return the lists of the texts that name assistants in commits."""
    traces = commit_agents(history).traces
    lists = [traces.get(commit, _NO_TEXTS) for commit in commits.tolist()]
    return pa.array(lists, pa.list_(pa.string()))


def _people_texts(history: History, commits: CommitNumbers, tokens: frozenset[str]) -> Column:
    """Return the lists of the people in trailers of commits with one of some tokens."""
    token_pattern = "|".join(sorted(tokens))
    people = history.remember(f"people of {token_pattern}", lambda: _read_people(history, tokens))
    first = people.starts[commits]
    counts = people.starts[commits + 1] - first
    offsets = np.zeros(len(commits) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])

    # The texts of a commit stand together, but commits come in any order.
    return pa.ListArray.from_arrays(pa.array(offsets), people.texts.take(pa.array(runs(first, counts))))


@dataclass(frozen=True, slots=True, eq=False)
class _TrailerPeople:
    """People in trailers as ``Name <address>``: those of commit i are ``texts[starts[i]:starts[i + 1]]``."""

    starts: Int64Array
    texts: Column


def _read_people(history: History, tokens: frozenset[str]) -> _TrailerPeople:
    """Return the people of all commits, of whose messages only those are parsed that have one of the tokens."""
    counts = np.zeros(len(history.commits), np.int64)
    texts: list[str] = []
    for commit in _commits_with(history, "|".join(sorted(tokens))):
        people = people_of_trailers(history.message(commit), tokens)
        texts += [f"{name} <{email}>" for name, email in people]
        counts[commit] = len(people)

    return _TrailerPeople(np.concatenate(([0], np.cumsum(counts))), pa.array(texts, pa.string()))


def _commits_with(history: History, expression: str) -> list[int]:
    """Return commits whose messages match a regular expression in any case, ascending."""
    pattern = compile_pattern(expression, kind="regexp", case_sensitive=False)
    commits: list[int] = []
    for base, segment in zip(history.bases.commits, history.segments, strict=False):
        starts = segment["message_starts"].view(np.int64)
        matching = matching_texts(pattern, segment.bytes_of("messages"), starts)
        commits += (base + matching).tolist()

    return commits
