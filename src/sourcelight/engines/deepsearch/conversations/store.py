"""The tables of conversations: all statements that read or write them, without any permission check."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sourcelight.engines.deepsearch.citations import Citation
from sourcelight.engines.deepsearch.conversations import identifiers
from sourcelight.engines.deepsearch.conversations.records import (
    ConversationRecord,
    QuestionEvent,
    QuestionRecord,
    StoredSource,
)
from sourcelight.engines.deepsearch.evidence import CommitEvidence, Evidence
from sourcelight.engines.deepsearch.evidence.pins import Pin
from sourcelight.engines.deepsearch.question.scope import NamedScope
from sourcelight.engines.deepsearch.research.answer import AnswerSegment, FinishedAnswer
from sourcelight.repos.state import State

_CONVERSATION = """
    SELECT c.id, a.name, c.title, c.generation, c.shared, c.starred, c.created_ms, c.updated_ms,
        (SELECT count(*) FROM questions q WHERE q.conversation = c.id),
        coalesce((SELECT q.status FROM questions q WHERE q.conversation = c.id ORDER BY q.position DESC LIMIT 1),
            'completed')
    FROM conversations c JOIN accounts a ON a.id = c.account
"""
_OF_OWNER = """
    WHERE a.name = ? AND (? IS NULL OR c.starred = ?) AND (? = '' OR c.title LIKE ? ESCAPE '\\' OR EXISTS (
        SELECT 1 FROM questions q WHERE q.conversation = c.id
            AND (q.text LIKE ? ESCAPE '\\' OR q.segments LIKE ? ESCAPE '\\')))
"""
_QUESTION = """
    SELECT id, conversation, position, text, filters, status, created_ms, started_ms, finished_ms, researcher, model,
        segments, tables, followups, stats, error, asked, named
    FROM questions
"""
TITLE_CHARACTERS = 80


class ConversationBusy(Exception):
    """The conversation already works on a question."""


@dataclass(slots=True)
class ConversationStore:
    """Reads and writes conversations of a state file."""

    state: State

    def now_ms(self) -> int:
        """Return the time in milliseconds since 1970, UTC."""
        return int(self.state.clock() * 1000)

    def secret(self) -> bytes:
        """Return the secret behind read tokens."""
        row = self.state.database.first_row("SELECT value FROM keys WHERE name = 'conversations'")
        return bytes(row[0]) if row else b""

    # Conversations.

    def create(self, owner: str, title: str) -> int | None:
        """Open a conversation; None if the account doesn't exist."""
        now_ms = self.now_ms()
        with self.state.database.write() as connection:
            account = connection.execute("SELECT id FROM accounts WHERE name = ?", (owner,)).fetchone()
            if account is None:
                return None

            # The digest needs the row's number, which exists only after the insert; the column is unique, so a
            # placeholder fills it.
            placeholder = f"new {now_ms} {id(connection)}".encode()
            cursor = connection.execute(
                "INSERT INTO conversations (account, title, digest, created_ms, updated_ms) VALUES (?, ?, ?, ?, ?)",
                (account[0], title, placeholder, now_ms, now_ms),
            )
            number = int(cursor.lastrowid or 0)
            self._set_digest(connection, number, 1)
            return number

    def _set_digest(self, connection: sqlite3.Connection, number: int, generation: int) -> None:
        row = connection.execute("SELECT value FROM keys WHERE name = 'conversations'").fetchone()
        token = identifiers.read_token(bytes(row[0]), number, generation)
        connection.execute(
            "UPDATE conversations SET digest = ?, generation = ? WHERE id = ?",
            (identifiers.digest(token), generation, number),
        )

    def reset(self, number: int) -> None:
        """Replace the read token of a conversation; the previous one stops working."""
        with self.state.database.write() as connection:
            row = connection.execute("SELECT generation FROM conversations WHERE id = ?", (number,)).fetchone()
            if row is not None:
                self._set_digest(connection, number, int(row[0]) + 1)

    def by_number(self, number: int) -> ConversationRecord | None:
        """Find a conversation by its number."""
        row = self.state.database.first_row(f"{_CONVERSATION} WHERE c.id = ?", number)
        return _conversation(row) if row else None

    def by_token(self, token: str) -> ConversationRecord | None:
        """Find a conversation by its read token."""
        row = self.state.database.first_row(f"{_CONVERSATION} WHERE c.digest = ?", identifiers.digest(token))
        return _conversation(row) if row else None

    def list_for_owner(
        self,
        owner: str,
        *,
        text: str = "",
        starred: bool | None = None,
        order: str = "-updated_at",
        first: int = 50,
        skip: int = 0,
    ) -> list[ConversationRecord]:
        """List the conversations of an account; `text` filters titles, questions and answers."""
        column = {"id": "c.id", "created_at": "c.created_ms", "updated_at": "c.updated_ms"}[order.lstrip("-")]
        direction = "DESC" if order.startswith("-") else "ASC"
        pattern = "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        sql = f"{_CONVERSATION} {_OF_OWNER} ORDER BY {column} {direction}, c.id {direction} LIMIT ? OFFSET ?"
        rows = self.state.database.all(sql, owner, starred, starred, text, pattern, pattern, pattern, first, skip)
        return [_conversation(row) for row in rows]

    def change(self, number: int, **values: str | int) -> None:
        """Set ``title``, ``starred`` or ``shared``."""
        for name, value in values.items():
            if name not in {"title", "starred", "shared"}:
                raise ValueError(name)
            self.state.database.change(
                f"UPDATE conversations SET {name} = ?, updated_ms = ? WHERE id = ?",  # noqa: S608 - one of three names
                value, self.now_ms(), number,
            )  # fmt: skip

    def delete(self, number: int) -> None:
        """Delete a conversation with all its rows."""
        self.state.database.change("DELETE FROM conversations WHERE id = ?", number)

    def delete_older(self, before_ms: int) -> int:
        """Delete conversations unchanged since a time, except running and starred ones; return how many."""
        return self.state.database.change(
            """DELETE FROM conversations WHERE updated_ms < ? AND starred = 0 AND NOT EXISTS (SELECT 1 FROM questions q
                WHERE q.conversation = conversations.id AND q.status IN ('pending', 'processing'))""",
            before_ms,
        )

    # Questions.

    def ask(
        self, conversation: int, text: str, filters: str, boot: str, requested_scope: NamedScope | None = None
    ) -> int:
        """Add a pending question; raises `ConversationBusy` while another one runs."""
        now_ms = self.now_ms()
        try:
            with self.state.database.write() as connection:
                cursor = connection.execute(
                    """INSERT INTO questions (conversation, position, text, filters, status, created_ms, boot, asked)
                        SELECT ?, 1 + coalesce((SELECT max(position) FROM questions WHERE conversation = ?), 0),
                            ?, ?, 'pending', ?, ?, ?""",
                    (
                        conversation,
                        conversation,
                        text,
                        filters,
                        now_ms,
                        boot,
                        _scope_text(requested_scope or NamedScope()),
                    ),
                )
                connection.execute("UPDATE conversations SET updated_ms = ? WHERE id = ?", (now_ms, conversation))
                return int(cursor.lastrowid or 0)
        # A partial unique index allows one running question per conversation, also between processes.
        except sqlite3.IntegrityError as exc:
            raise ConversationBusy from exc

    def start(self, question: int, boot: str) -> bool:
        """Start a pending question; False if it was canceled before."""
        sql = "UPDATE questions SET status = 'processing', started_ms = ?, boot = ? WHERE id = ? AND status = 'pending'"
        return self.state.database.change(sql, self.now_ms(), boot, question) > 0

    def pin(self, question: int, pins: Sequence[Pin], resolved_scope: NamedScope) -> None:
        """Store the pins of a question, and the scope that was read in it."""
        with self.state.database.write() as connection:
            connection.execute("UPDATE questions SET named = ? WHERE id = ?", (_scope_text(resolved_scope), question))
            connection.executemany(
                "INSERT OR IGNORE INTO question_pins VALUES (?, ?, ?, ?)",
                [(question, pin.repository, pin.revision, pin.commit) for pin in pins],
            )

    def complete(self, question: int, finished: FinishedAnswer, *, researcher: str, model: str,
                 error: Mapping[str, str] | None = None) -> bool:  # fmt: skip
        """Store an answer; False if the question had ended before."""
        now_ms = self.now_ms()
        with self.state.database.write() as connection:
            changed = connection.execute(
                """UPDATE questions SET status = ?, researcher = ?, model = ?, segments = ?, tables = ?, followups = ?,
                    stats = ?, error = ?, finished_ms = ? WHERE id = ? AND status IN ('pending', 'processing')""",
                (
                    "error" if error and not finished.segments else "completed",
                    researcher,
                    model,
                    json.dumps([[s.kind, s.text, list(s.repositories), list(s.names)] for s in finished.segments]),
                    json.dumps([asdict(table) for table in finished.tables]),
                    json.dumps(list(finished.followups)),
                    json.dumps(dict(finished.stats)),
                    json.dumps(dict(error or {})),
                    now_ms,
                    question,
                ),
            ).rowcount
            if not changed:
                return False

            rows = [astuple_of(source) for source in _to_sources(finished)]
            connection.executemany(
                "INSERT INTO question_sources VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(question, number, *row) for number, row in enumerate(rows, 1)],
            )
            connection.execute(
                "UPDATE conversations SET updated_ms = ? WHERE id = (SELECT conversation FROM questions WHERE id = ?)",
                (now_ms, question),
            )
            _append(connection, question, "completed", {"citations": len(finished.citations)}, now_ms)

        return True

    def end(self, question: int, status: str, error: Mapping[str, str]) -> bool:
        """End a question without an answer and add the event; False if it had ended before."""
        now_ms = self.now_ms()
        with self.state.database.write() as connection:
            changed = connection.execute(
                """UPDATE questions SET status = ?, error = ?, finished_ms = ?
                    WHERE id = ? AND status IN ('pending', 'processing')""",
                (status, json.dumps(dict(error)), now_ms, question),
            ).rowcount
            if changed:
                _append(connection, question, status, error, now_ms)

        return changed > 0

    def running_questions(self, owner: str) -> int:
        """Count the running and pending questions of an account."""
        row = self.state.database.first_row(
            """SELECT count(*) FROM questions q JOIN conversations c ON c.id = q.conversation
                JOIN accounts a ON a.id = c.account
                WHERE a.name = ? AND q.status IN ('pending', 'processing')""",
            owner,
        )
        return int(row[0]) if row else 0

    def running_processes(self) -> list[str]:
        """Return the processes with running questions."""
        sql = "SELECT DISTINCT boot FROM questions WHERE status IN ('pending', 'processing') ORDER BY boot"
        return [str(row[0]) for row in self.state.database.all(sql)]

    def interrupt_process(self, boot: str) -> int:
        """Mark the running questions of a dead process as interrupted; return how many."""
        error = {"kind": "Interrupted", "title": "Interrupted", "message": "The process that worked on it ended."}
        return self.state.database.change(
            """UPDATE questions SET status = 'error', error = ?, finished_ms = ?
                WHERE status IN ('pending', 'processing') AND boot = ?""",
            json.dumps(error), self.now_ms(), boot,
        )  # fmt: skip

    def question(self, number: int) -> QuestionRecord | None:
        """Read one question with its pins and sources."""
        row = self.state.database.first_row(f"{_QUESTION} WHERE id = ?", number)
        return self._question(row) if row else None

    def questions(self, conversation: int) -> list[QuestionRecord]:
        """Read the questions of a conversation in order."""
        rows = self.state.database.all(f"{_QUESTION} WHERE conversation = ? ORDER BY position", conversation)
        return [self._question(row) for row in rows]

    def _question(self, row: tuple[Any, ...]) -> QuestionRecord:
        pins = self.state.database.all(
            """SELECT repository, revision, commit_id FROM question_pins WHERE question = ?
                ORDER BY repository, revision, commit_id""",
            row[0],
        )
        sources = self.state.database.all(
            """SELECT type, label, link, repository, commit_id, path, begin_line, end_line, role, status, quote
                FROM question_sources WHERE question = ? ORDER BY number""",
            row[0],
        )
        earlier = self.state.database.all(
            """SELECT DISTINCT p.repository FROM question_pins p JOIN questions q ON q.id = p.question
                WHERE q.conversation = ? AND q.position < ? ORDER BY p.repository""",
            row[1], row[2],
        )  # fmt: skip
        segments = tuple(
            # The first versions wrote no names.
            AnswerSegment(kind, text, tuple(repositories), tuple(names[0] if names else ()))
            for kind, text, repositories, *names in json.loads(row[11])
        )
        number, conversation, position, text, filters, status, created, started, ended_at, researcher, model = row[:11]
        return QuestionRecord(
            number,
            conversation,
            position,
            text,
            filters,
            status,
            created,
            started,
            ended_at,
            researcher,
            model,
            segments=segments,
            tables=tuple(json.loads(row[12])),
            followups=tuple(json.loads(row[13])),
            stats=json.loads(row[14]),
            error=json.loads(row[15]),
            pins=tuple(Pin(*pin) for pin in pins),
            sources=tuple(StoredSource(*pin) for pin in sources),
            earlier_repositories=tuple(name for (name,) in earlier),
            requested_scope=_scope_of(row[16]) or NamedScope(),
            resolved_scope=_scope_of(row[17]),
        )

    # Events.

    def add_event(self, question: int, kind: str, payload: Mapping[str, Any]) -> QuestionEvent:
        """Append an event."""
        now_ms = self.now_ms()
        with self.state.database.write() as connection:
            return _append(connection, question, kind, payload, now_ms)

    def events(self, question: int, after: int = 0) -> list[QuestionEvent]:
        """Return the events after a number."""
        rows = self.state.database.all(
            """SELECT number, kind, at_ms, payload FROM question_events WHERE question = ? AND number > ?
                ORDER BY number""",
            question, after,
        )  # fmt: skip
        return [
            QuestionEvent(number, kind, created_at, json.loads(payload)) for number, kind, created_at, payload in rows
        ]


def _scope_text(scope: NamedScope) -> str:
    return json.dumps([list(scope.repositories), scope.revision])


def _append(connection: Any, question: int, kind: str, payload: Mapping[str, Any], now_ms: int) -> QuestionEvent:
    """Append an event; the last one in the transaction that ends the question, so that readers see both or none."""
    (number,) = connection.execute(
        "SELECT 1 + coalesce(max(number), 0) FROM question_events WHERE question = ?", (question,)
    ).fetchone()
    text = json.dumps(dict(payload))
    connection.execute("INSERT INTO question_events VALUES (?, ?, ?, ?, ?)", (question, number, kind, now_ms, text))
    return QuestionEvent(int(number), kind, now_ms, dict(payload))


def _scope_of(text: str | None) -> NamedScope | None:
    if text is None:
        return None
    repositories, revision = json.loads(text)
    return NamedScope(tuple(repositories), revision)


def astuple_of(source: StoredSource) -> tuple[Any, ...]:
    """Return the columns of a source."""
    return (
        source.type, source.label, source.link, source.repository, source.commit, source.path, source.begin_line,
        source.end_line, source.role, source.status, source.quote,
    )  # fmt: skip


def _to_sources(finished: FinishedAnswer) -> list[StoredSource]:
    """Join sources and their citations; rejected ones come last, without a link, with the reason."""
    sources: list[StoredSource] = []
    citations: dict[tuple[str, str, str, int, int], Citation] = {}
    for source_citation in sorted(finished.citations, key=lambda candidate: candidate.status != "verified"):
        citations.setdefault(_sort_key(source_citation.evidence), source_citation)

    for source in finished.sources:
        key = (source.repository, source.commit, source.path, source.begin_line, source.end_line)
        citation = citations.get(key) if source.type in {"file", "commit"} else None
        role = citation.evidence.role if citation is not None else ""
        status = citation.status if citation is not None else ""
        quote = bytes.fromhex(citation.quote_sha256) if citation is not None else None
        sources.append(StoredSource(source.type, source.label, source.link, *key, role, status, quote))

    for source_citation in finished.rejected:
        item = source_citation.evidence
        label = f"{item.label}: {source_citation.reason}"
        sources.append(StoredSource(item.kind, label, "", *_sort_key(item), item.role, "rejected", None))

    sources += [
        StoredSource("unknown", f"{name}: not from a tool", "", status="rejected") for name in finished.invented
    ]
    return sources


def _sort_key(item: Evidence) -> tuple[str, str, str, int, int]:
    if isinstance(item, CommitEvidence):
        return item.repository, item.commit, "", 0, 0
    return item.repository, item.commit, item.path, item.begin_line, item.end_line


def _conversation(row: tuple[Any, ...]) -> ConversationRecord:
    number, owner, title, generation, shared, starred, created, updated, questions, status = row
    return ConversationRecord(
        number, owner, title, generation, bool(shared), bool(starred), created, updated, questions, status
    )
