"""What is kept of conversations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sourcelight.engines.deepsearch.citations import Pin
from sourcelight.engines.deepsearch.researchers.finish import Segment

RUNNING = ("pending", "processing")
FINAL = ("completed", "error", "canceled")


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation; times are milliseconds since 1970, UTC. `owner` is the account's name."""

    id: int
    owner: str
    title: str
    generation: int
    shared: bool
    starred: bool
    created_ms: int
    updated_ms: int
    questions: int = 0
    status: str = "completed"


@dataclass(frozen=True, slots=True)
class KeptSource:
    """A source of an answer; of a citation, also its role, how its check ended, and the hash of its text.

    A rejected citation has no link; its label says why it was rejected. Its type is ``unknown`` when it names nothing
    that a tool gave.
    """

    type: str
    label: str
    link: str
    repository: str = ""
    commit: str = ""
    path: str = ""
    begin_line: int = 0
    end_line: int = 0
    role: str = ""
    status: str = ""
    quote: bytes | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question and, once it ended, its answer in segments.

    `earlier_repositories` are those that the questions before it in its conversation were about: what was answered then
    is a basis of this answer, too.
    """

    id: int
    conversation: int
    position: int
    text: str
    filters: str
    status: str
    created_ms: int
    started_ms: int | None = None
    finished_ms: int | None = None
    researcher: str = ""
    model: str = ""
    segments: tuple[Segment, ...] = ()
    tables: tuple[Mapping[str, Any], ...] = ()
    followups: tuple[str, ...] = ()
    stats: Mapping[str, Any] = field(default_factory=dict)
    error: Mapping[str, str] = field(default_factory=dict)
    pins: tuple[Pin, ...] = ()
    sources: tuple[KeptSource, ...] = ()
    earlier_repositories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a question; numbers go up by one from 1."""

    number: int
    kind: str
    at_ms: int
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shown:
    """A question as one reader may see it.

    `withheld` counts citations that were left out for that reader; `rejected` are those that did not hold;
    `is_partial` tells that something is behind the question that the reader may not see.
    """

    question: Question
    answer: str
    sources: tuple[KeptSource, ...]
    tables: tuple[Mapping[str, Any], ...]
    followups: tuple[str, ...]
    stats: Mapping[str, Any]
    withheld: int = 0
    rejected: tuple[KeptSource, ...] = ()
    is_partial: bool = False
