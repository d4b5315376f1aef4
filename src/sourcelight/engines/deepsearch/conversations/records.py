"""Records of conversations, the part that a viewer may see, and tool results: a table of sources with attributes.

Permissions are checked when a question is read, not when it was asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import SourcelightError
from sourcelight.core.tools.catalog import table_of
from sourcelight.engines.deepsearch.evidence.pins import Pin
from sourcelight.engines.deepsearch.evidence.quotes import lines_of
from sourcelight.engines.deepsearch.question.scope import NamedScope
from sourcelight.engines.deepsearch.redaction import is_hidden_file, redact
from sourcelight.engines.deepsearch.research.answer import AnswerSegment, join_segments
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.search import Target
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import Catalog, Viewer

RUNNING = ("pending", "processing")
FINAL = ("completed", "error", "canceled")

_MAX_SOURCES = 60
_MAX_LINES = 60
_MAX_CHARACTERS = 8_000


@dataclass(frozen=True, slots=True)
class ConversationRecord:
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
class StoredSource:
    """A source of an answer; a citation also has its role, the result of its check, and the hash of its text.

    A rejected citation has no link, and its label has the reason. Its type is ``unknown`` if no tool returned such a
    source.
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
class QuestionRecord:
    """A question and, after it has ended, its answer in segments.

    `earlier_repositories` are the repositories of earlier questions in the conversation: their answers are a basis of
    this one, too.
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
    segments: tuple[AnswerSegment, ...] = ()
    tables: tuple[Mapping[str, Any], ...] = ()
    followups: tuple[str, ...] = ()
    stats: Mapping[str, Any] = field(default_factory=dict)
    error: Mapping[str, str] = field(default_factory=dict)
    pins: tuple[Pin, ...] = ()
    sources: tuple[StoredSource, ...] = ()
    earlier_repositories: tuple[str, ...] = ()
    requested_scope: NamedScope = field(default_factory=NamedScope)
    resolved_scope: NamedScope | None = None


@dataclass(frozen=True, slots=True)
class QuestionEvent:
    """An event of a question; numbers increase by one from 1."""

    number: int
    kind: str
    at_ms: int
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class VisibleQuestion:
    """A question as one viewer may see it.

    `withheld` is the number of citations that were left out for this viewer. `rejected` are citations that failed their
    check. `is_partial` is True if the question involves a repository that the viewer may not see.
    """

    question: QuestionRecord
    answer: str
    sources: tuple[StoredSource, ...]
    tables: tuple[Mapping[str, Any], ...]
    followups: tuple[str, ...]
    stats: Mapping[str, Any]
    withheld: int = 0
    rejected: tuple[StoredSource, ...] = ()
    is_partial: bool = False


LEGACY = {"pending": "processing", "canceled": "error"}
"""Stored states that the tools don't define, with the states to show instead."""


def moment(at_ms: int) -> str:
    """Format a time as RFC 3339, UTC."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def question_result(
    conversation: ConversationRecord,
    visible: VisibleQuestion,
    url: str,
    token: str,
    excerpts: Mapping[str, str] = MappingProxyType({}),
) -> ToolResult:
    """Make the result of `deepsearch`; `excerpts` are cited lines by links, for readers without pages."""
    question = visible.question
    attributes = {
        "id": conversation.id,
        "question_id": question.id,
        "url": url,
        "read_token": token,
        "title": conversation.title,
        **_attributes(visible, excerpts),
    }
    return ToolResult(
        "conversation", _sources_table([visible]), attributes, question.status == "completed", _notices(visible)
    )


def conversation_result(
    conversation: ConversationRecord,
    questions: Sequence[VisibleQuestion],
    url: str,
    excerpts: Mapping[str, str] = MappingProxyType({}),
) -> ToolResult:
    """Make the result of `deepsearch_read`; `excerpts` as of `question_result`."""
    last = _attributes(questions[-1])["status"] if questions else "completed"
    attributes = {
        "id": conversation.id,
        "title": conversation.title,
        "share_url": url,
        "created_at": moment(conversation.created_ms),
        "updated_at": moment(conversation.updated_ms),
        "status": last,
        "starred": conversation.starred,
        "shared": conversation.shared,
        "questions": [{"question": visible.question.text, **_attributes(visible, excerpts)} for visible in questions],
    }
    notices = tuple(dict.fromkeys(notice for visible in questions for notice in _notices(visible)))
    return ToolResult("conversation", _sources_table(questions), attributes, last == "completed", notices)


def _attributes(visible: VisibleQuestion, excerpts: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    question = visible.question
    return {
        "status": LEGACY.get(question.status, question.status),
        "state": question.status,
        "answer": visible.answer or _format_error(question.error),
        "sources": [
            _source(source) | ({"excerpt": excerpts[source.link]} if source.link in excerpts else {})
            for source in visible.sources
        ],
        "rejected": [_source(source) for source in visible.rejected],
        "suggested_followups": list(visible.followups),
        "tables": [dict(table) for table in visible.tables],
        "stats": dict(visible.stats),
        "error": dict(question.error),
        "researcher": question.researcher,
        "model": question.model,
        "pins": [{"repository": p.repository, "revision": p.revision, "commit": p.commit} for p in question.pins],
        "withheld": visible.withheld,
    }


def _format_error(error: Mapping[str, str]) -> str:
    return f"{error.get('title', 'Error')}: {error.get('message', '')}\n" if error else ""


def _source(source: StoredSource) -> dict[str, Any]:
    return {
        "type": source.type,
        "label": source.label,
        "link": source.link,
        "repository": source.repository,
        "commit": source.commit,
        "path": source.path,
        "line_number": source.begin_line,
        "last_line_number": source.end_line,
        "role": source.role,
        "status": source.status,
    }


def _notices(visible: VisibleQuestion) -> tuple[str, ...]:
    error = visible.question.error
    return (f"{error.get('title', 'Error')}: {error.get('message', '')}",) if error else ()


def _sources_table(questions: Sequence[VisibleQuestion]) -> Any:
    rows = [(visible.question, source) for visible in questions for source in (*visible.sources, *visible.rejected)]
    return table_of(
        "conversation",
        len(rows),
        question_number=[question.position for question, _ in rows],
        question=[question.text for question, _ in rows],
        type=[source.type for _, source in rows],
        label=[source.label for _, source in rows],
        link=[source.link for _, source in rows],
        repository=[source.repository or None for _, source in rows],
        commit=[source.commit or None for _, source in rows],
        path=[source.path or None for _, source in rows],
        start_line=[source.begin_line or None for _, source in rows],
        end_line=[source.end_line or None for _, source in rows],
        role=[source.role or None for _, source in rows],
        status=[source.status or None for _, source in rows],
    )


def list_result(conversations_with_urls: Sequence[tuple[ConversationRecord, str]]) -> ToolResult:
    """Make a list of conversations with their addresses."""
    conversations = [conversation for conversation, _ in conversations_with_urls]

    def when(at_ms: int) -> datetime:
        return datetime.fromtimestamp(at_ms / 1000, UTC)

    table = table_of(
        "conversations",
        len(conversations),
        id=[item.id for item in conversations],
        title=[item.title for item in conversations],
        status=[item.status for item in conversations],
        questions=[item.questions for item in conversations],
        starred=[item.starred for item in conversations],
        shared=[item.shared for item in conversations],
        created_at=[when(item.created_ms) for item in conversations],
        updated_at=[when(item.updated_ms) for item in conversations],
        url=[url for _, url in conversations_with_urls],
    )
    return ToolResult("conversations", table)


WITHHELD_WHOLE = (
    "This answer is withheld: a model wrote it from several repositories, and you may not read all of them."
)
_EXTRACTIVE = "extractive"


def visible_to(question: QuestionRecord, viewer: Viewer, catalog: Catalog) -> VisibleQuestion:
    """Remove parts about repositories that the viewer may not see.

    If one repository of the question is invisible, an answer of a model is withheld as a whole, because any sentence of
    it may use that repository. Of an extractive answer, only fixed headings and segments about visible repositories
    remain. Parts that name no repository, such as counts and suggestions, are removed: they may reveal invisible ones.
    A line says how many citations were withheld.
    """
    accepted = [source for source in question.sources if source.status != "rejected"]
    rejected = tuple(source for source in question.sources if source.status == "rejected")
    hidden = _hidden_repositories(question, viewer, catalog)
    if not hidden:
        answer = join_segments(question.segments)
        return VisibleQuestion(
            question, answer, tuple(accepted), question.tables, question.followups, question.stats, 0, rejected
        )

    withheld = sum(source.type in {"file", "commit"} and source.repository in hidden for source in accepted)
    bare = replace(
        question,
        pins=tuple(pin for pin in question.pins if pin.repository not in hidden),
        segments=(),
        sources=(),
        tables=(),
        followups=(),
        stats={},
        # The message of an error may quote names and paths of hidden repositories.
        error={name: text for name, text in question.error.items() if name in {"kind", "title"}},
        earlier_repositories=(),
        requested_scope=NamedScope(),
        resolved_scope=None,
    )

    # A model may have used hidden text in any of its sentences; segments without a model name their repositories.
    if question.researcher != _EXTRACTIVE:
        answer = f"{WITHHELD_WHOLE}\n" if question.status == "completed" else ""
        return VisibleQuestion(bare, answer, (), (), (), {}, withheld, is_partial=True)

    segments = tuple(
        segment
        for segment in question.segments
        # A segment without repositories may be about any of them.
        if segment.kind == "heading" or (segment.repositories and not hidden & set(segment.repositories))
    )
    sources, rejected = (
        tuple(source for source in citations if source.repository and source.repository not in hidden)
        for citations in (accepted, rejected)
    )
    note = f"{withheld:,} citation{'' if withheld == 1 else 's'} into repositories that you may not read were withheld."
    answer = join_segments([*segments, AnswerSegment("block", note)]) if question.status == "completed" else ""
    bare = replace(bare, segments=segments, sources=sources)
    return VisibleQuestion(bare, answer, sources, (), (), {}, withheld, rejected, is_partial=True)


def _hidden_repositories(question: QuestionRecord, viewer: Viewer, catalog: Catalog) -> set[str]:
    """Return the repositories of a question that the viewer may not see; empty for a viewer who sees all."""
    if viewer.sees_private:
        return set()
    visible_names = {repository.name for repository in catalog.visible(viewer)}
    names = {pin.repository for pin in question.pins} | {source.repository for source in question.sources}
    # A follow-up may repeat facts from earlier answers, so their repositories count, too.
    names |= set(question.earlier_repositories)
    return {name for name in names if name and name not in visible_names}


def read_excerpts(sources: Sequence[StoredSource], context: ToolContext) -> Mapping[str, str]:
    """Return the cited lines of files by link; empty for answers of a service.

    Lines are read at the cited commit, with the viewer's permissions and without secrets. Files that can't be read are
    left out.
    """
    if context.served or not isinstance(context.engine, LocalEngine):
        return {}

    excerpts: dict[str, str] = {}
    files: dict[tuple[str, str, str], list[str]] = {}
    file_sources = [item for item in sources if item.type == "file" and item.link and not is_hidden_file(item.path)]
    for source in file_sources[:_MAX_SOURCES]:
        key = source.repository, source.commit, source.path
        if key not in files:
            try:
                repository = context.engine.catalog.get(source.repository, context.viewer)
                target = Target(repository, "", CommitId(source.commit))
                files[key] = lines_of(source.path, context.engine.read_file(target, source.path) or b"")
            except (SourcelightError, OSError, ValueError):
                files[key] = []

        last = min(source.end_line, source.begin_line + _MAX_LINES - 1)
        text = "\n".join(files[key][max(source.begin_line, 1) - 1 : last])
        if text.strip():
            excerpts[source.link] = redact(text)[:_MAX_CHARACTERS]

    return excerpts
