"""Columns that are read from commit messages: co-authors, reviewers, and the coding assistants that commits name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sourcelight.core.arrays import BoolArray, Int64Array
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

    def make() -> CommitAgents:
        people, author = history.identities, history.commits.author
        is_agent = np.array(
            [bool(agent_of(*pair)) for pair in zip(people.names, people.emails, strict=True)] or [False], np.bool_
        )
        by_agents = np.flatnonzero(is_agent[author]).tolist() if len(author) else []
        names, of_commit = {"": 0}, np.zeros(len(author), np.int64)
        texts: dict[int, list[str]] = {}

        # Few messages have a trace: a scan of all of them finds candidates, and only these are parsed.
        for commit in sorted({*by_agents, *_commits_with(history, CANDIDATE_PATTERN)}):
            traces = _traces_of_commit(history, commit)
            if traces:
                of_commit[commit] = names.setdefault(agents_text(traces), len(names))
                texts[commit] = [trace.text for trace in traces]

        return CommitAgents(list(names), of_commit, texts)

    return history.remember("agents", make)


def _traces_of_commit(history: History, commit: int) -> list[AgentTrace]:
    # The mailmap may credit the person who ran the assistant, so the identity is the one as written.
    people, writer = history.identities, int(history.commits.author[commit])
    return traces_of(people.names[writer], people.emails[writer], history.message(commit))


def agent_texts(history: History, commits: CommitNumbers, messages: Column) -> Column:
    """Return the assistants that these commits name, without reading the messages of all others."""
    people, writers = history.identities, history.commits.author[commits]
    # Accounts of assistants leave no trace in messages: their commits are read in any case.
    by_agents = [
        writer for writer in np.unique(writers).tolist() if agent_of(people.names[writer], people.emails[writer])
    ]
    candidates = pc.match_substring_regex(messages, CANDIDATE_PATTERN, ignore_case=True)

    # Few messages have a trace, so only candidates are parsed. `agent_column` would
    # read the messages of a whole history first: seconds for a million commits, before the first row is shown.
    # Both read the same traces, so that a result and a table of commits never differ.
    texts = [""] * len(commits)
    for index in np.flatnonzero(np.isin(writers, by_agents) | candidates.to_numpy(zero_copy_only=False)).tolist():
        texts[index] = agents_text(_traces_of_commit(history, int(commits[index])))

    return pa.array(texts, pa.string())


def agent_column(history: History, commits: Any) -> Column:
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
    name = "|".join(sorted(tokens))

    def people_of(commit: int) -> Iterable[str]:
        return (f"{person} <{email}>" for person, email in people_of_trailers(history.message(commit), tokens))

    starts, texts = history.remember(f"people of {name}", lambda: _text_lists(history, name, people_of))
    first, counts = starts[commits], starts[commits + 1] - starts[commits]
    offsets = np.zeros(len(commits) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])

    # The same running number as in `_parent_lists` of `tables`: texts of each commit are one run of the cached array.
    positions = np.arange(int(offsets[-1])) + np.repeat(first - offsets[:-1], counts)
    return pa.ListArray.from_arrays(pa.array(offsets), texts.take(pa.array(positions)))


def _text_lists(history: History, name: str, texts_of: Callable[[int], Iterable[str]]) -> tuple[Int64Array, Column]:
    """Return the texts of commits whose messages match `name` as one array, and the start of each commit in it."""
    counts = np.zeros(len(history.commits), np.int64)
    texts: list[str] = []
    for commit in _commits_with(history, name):
        before = len(texts)
        texts += texts_of(commit)
        counts[commit] = len(texts) - before
    return np.concatenate(([0], np.cumsum(counts))), pa.array(texts, pa.string())


def _commits_with(history: History, expression: str) -> list[int]:
    """Return commits whose messages match a regular expression in any case, ascending."""
    pattern = compile_pattern(expression, kind="regexp", case_sensitive=False)
    return [
        base + local
        for base, segment in zip(history.bases.commits, history.segments, strict=False)
        for local in matching_texts(
            pattern, segment.bytes_of("messages"), segment["message_starts"].view(np.int64)
        ).tolist()
    ]
