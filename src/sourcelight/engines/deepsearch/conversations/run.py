"""Work on one question, from its start to an answer or an error, and report its events.

A `QuestionRun` is made when a question is asked, and runs in a thread of its own when its account's turn comes. All
that happens is stored as events and passed to listeners, so that several readers can follow one question.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sourcelight.core.batches.results import CallObserver, ToolProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, SourcelightError, StateFull, StateUnusable
from sourcelight.engines.deepsearch.conversations.records import QuestionEvent
from sourcelight.engines.deepsearch.conversations.store import ConversationStore
from sourcelight.engines.deepsearch.question.scope import NamedScope
from sourcelight.engines.deepsearch.redaction import format_error
from sourcelight.engines.deepsearch.requests import open_inquiry
from sourcelight.engines.deepsearch.research import PreviousTurn, Researcher, ResearchEvent
from sourcelight.engines.deepsearch.research.answer import finish
from sourcelight.engines.tools import ToolContext

_log = logging.getLogger(__name__)

CANCELED = {"kind": "Canceled", "title": "Canceled", "message": "The question was canceled."}
_INTERNAL = {"kind": "Internal", "title": "Internal error", "message": "Something went wrong. The log has details."}


@dataclass(slots=True)
class QuestionRun:
    """A question that is being worked on.

    Parameters
    ----------
    question
        Its number.
    text, filters, requested_scope
        The question, its scope as filters in the text, and its scope as separate names.
    context
        For whom; its cancellation is this question's own.
    unkept
        How the question ended, where that could not be kept.
    """

    store: ConversationStore
    researcher: Researcher
    question: int
    text: str
    filters: str
    context: ToolContext
    previous: Sequence[PreviousTurn]
    process_id: str
    requested_scope: NamedScope = field(default_factory=NamedScope)
    done: threading.Event = field(default_factory=threading.Event)
    unkept: tuple[str, dict[str, str]] | None = None
    _listeners: list[CallObserver] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def cancellation(self) -> Cancellation:
        """Stops this question."""
        return self.context.cancellation

    def listen(self, observer: CallObserver) -> Callable[[], None]:
        """Report progress to `observer` until the returned function is called."""
        self._listeners.append(observer)
        return lambda: self._listeners.remove(observer) if observer in self._listeners else None

    def wait_for_event(self, timeout_s: float) -> None:
        """Wait until an event arrives or the time has passed."""
        with self._changed:
            if not self.done.is_set():
                self._changed.wait(timeout_s)

    def run(self) -> None:
        """Work on the question until it ends, with an answer or an error."""
        try:
            # False: it was cancelled before a thread was free.
            if self.store.start(self.question, self.process_id):
                self._answer()
        except Cancelled:
            self._end("canceled", CANCELED)
        except StateFull as exc:
            self._end("error", {"kind": "DiskFull", "title": "No room left", "message": exc.for_callers})
        except SourcelightError as exc:
            name = type(exc).__name__
            self._end("error", {"kind": name, "title": "The question can't be answered", "message": str(exc)})
        except Exception as exc:  # noqa: BLE001 - a question must end, and its asker learns no internals
            _log.error("question %d failed: %s", self.question, format_error(exc))
            self._end("error", _INTERNAL)
        finally:
            self.done.set()
            self._wake()

    def _answer(self) -> None:
        context = replace(self.context, observer=self._observe)
        self._notify("question", {"text": self.text})
        context.engine.refresh(self.cancellation)
        inquiry = open_inquiry(self.text, self.filters, context, self.previous, self.requested_scope)
        self.cancellation.check()
        self.store.pin(self.question, list(inquiry.pins), inquiry.scope.named_scope)
        draft = self.researcher.research(inquiry, None, self._emit)
        finished = finish(draft, inquiry, self._emit)
        self.cancellation.check()
        self.store.complete(
            self.question, finished, researcher=draft.researcher, model=draft.model,
            error=draft.error,
        )  # fmt: skip
        self._wake()

    def _end(self, status: str, error: dict[str, str]) -> None:
        try:
            self.store.end(self.question, status, error)
        except StateUnusable as exc:
            _log.error("can't store the result of question %d: %s", self.question, exc.reason)
            self.unkept = status, error
        self._wake()

    def _emit(self, event: ResearchEvent) -> None:
        self._notify(event.kind, event.payload)
        payload = event.payload
        if event.kind == "answer_delta":
            self._observe(ToolProgress("writing", 0, 0, str(payload.get("text") or "")))
            return

        result = str(payload.get("result") or payload.get("label") or "")
        detail = ": ".join(text for text in (str(payload.get("query") or ""), result) if text and text != self.text)
        self._observe(ToolProgress(str(payload.get("tool") or event.kind), 0, 0, detail))

    def _notify(self, kind: str, payload: Any) -> QuestionEvent:
        event = self.store.add_event(self.question, kind, payload)
        self._wake()
        return event

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _observe(self, progress: ToolProgress) -> None:
        for listener in list(self._listeners):
            listener(progress)
