"""The researcher that asks a model, and falls back to the answer that needs none."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import anyio
import anyio.to_thread

from sourcelight.core.errors import Cancelled, ProtocolError, SourcelightError
from sourcelight.core.markup import clean_markdown, code, count_of
from sourcelight.engines.deepsearch.citations import check_citations
from sourcelight.engines.deepsearch.evidence.model import EvidenceLedger
from sourcelight.engines.deepsearch.llm.provider import ModelConfig
from sourcelight.engines.deepsearch.llm.toolbox import (
    FOLLOW_UPS,
    INSTRUCTIONS,
    LAST_WORDS,
    LOOKUP,
    LOOKUP_DESCRIPTION,
    LOOKUP_SCHEMA,
    Toolbox,
    first_message,
    offered_tools,
)
from sourcelight.engines.deepsearch.markdown import CITED, inline
from sourcelight.engines.deepsearch.requests import Emit, ResearchEvent, ResearchRequest
from sourcelight.engines.deepsearch.research.extractive import ExtractiveResearcher
from sourcelight.engines.deepsearch.research.layout import adopt_parts
from sourcelight.engines.deepsearch.research.protocol import Draft, Heading, Paragraph, ResearchBudget

MAX_CORRECTIONS = 2
"""Times that a model is asked to correct invalid citations before they are removed."""

_DELTA_S = 0.25
_WATCH_S = 0.05
_LAST_S = 30.0
_PACK = 8
_MAX_FACTS = 8_000
_FACTS = ("count", "unit", "complete", "not_applied", "changes")
_SUGGESTED = re.compile(rf"\n*#+\s*{FOLLOW_UPS}\s*\n(.*)\Z", re.DOTALL | re.IGNORECASE)
_BUDGETS = {
    "cost_limit": "dollars",
    "request_limit": "turns",
    "per_request_input_tokens_limit": "tokens of one request",
    "input_tokens_limit": "tokens read",
    "output_tokens_limit": "tokens written",
}
"""Names of the library's limits in an answer; a name precedes names that it contains."""


@dataclass(slots=True)
class ModelResearcher:
    """A researcher that asks a model. If the model fails, it returns the extractive answer and the reason.

    Parameters
    ----------
    choice
        Configuration of the model.
    budget
        Limits of a question.
    fallback
        Researcher that gathers the first evidence, and answers if the model doesn't.

    Raises
    ------
    MissingExtra, ConfigurationError
        Raised by `ModelConfig.open`.
    """

    choice: ModelConfig
    budget: ResearchBudget = field(default_factory=ResearchBudget.of_model)
    fallback: ExtractiveResearcher = field(default_factory=ExtractiveResearcher)

    def __post_init__(self) -> None:
        # A wrong model or a missing package must show when the service starts, not at the first question.
        self.choice.open()

    def research(self, inquiry: ResearchRequest, budget: ResearchBudget | None, emit: Emit) -> Draft:
        """Research a question; see `Researcher.research`."""
        started_s = time.monotonic()
        run = _ModelRun(self.choice, inquiry, budget or self.budget, emit)
        try:
            run.take_facts(self.fallback.counted_draft(inquiry, emit))
            quotes, commits = self.fallback.evidence(inquiry, emit)
            pack = [run.ledger.add(quote) for quote in quotes[:_PACK]] + [run.ledger.add(commit) for commit in commits]
            text = anyio.run(run.ask, pack)
            if not re.search(r"\w", clean_markdown(CITED.sub("", text))):
                raise ProtocolError("its response has no words")  # noqa: TRY301 - as every other failure of a model
        except Cancelled:
            raise
        except Exception as exc:  # noqa: BLE001 - whatever a provider or its library does, there is an answer
            # A provider's library may wrap a cancellation in an error of its own.
            inquiry.context.cancellation.check()
            return self._without(inquiry, emit, run, exc)

        draft = run.draft(text)
        draft.stats["time_millis"] = round((time.monotonic() - started_s) * 1000)
        return draft

    def _without(self, inquiry: ResearchRequest, emit: Emit, run: _ModelRun, exc: Exception) -> Draft:
        draft = self.fallback.research(inquiry, None, emit)
        reason = reason_of(exc)
        model = code(self.choice.name)
        note = f"The model {model} gave no answer ({inline(reason)}), so this answer was written without it."
        draft.parts.insert(0, Paragraph(note))
        draft.parts = [_mention_model(part, self.choice) for part in draft.parts]
        draft.stats |= {**run.stats(), "model_error": reason}
        draft.model = self.choice.name
        return draft


def _mention_model(paragraph: Any, choice: ModelConfig) -> Any:
    """Correct the extractive answer's statement that no text was sent to a model."""
    if isinstance(paragraph, Paragraph) and paragraph.says_no_model:
        head, separator, _ = paragraph.text.rpartition("\n")
        return Paragraph(
            f"{head}{separator}- The question and code found for it may have been sent to {code(choice.host)}."
        )
    return paragraph


def reason_of(exc: Exception) -> str:
    """Describe why a model gave no answer, without repeating a server's text."""
    status = getattr(exc, "status_code", None)
    if isinstance(exc, SourcelightError):
        return str(exc)

    reasons = {
        "UsageLimitExceeded": "its budget is used up",
        "RunTimedOut": "it took too long",
        "ModelConnectionError": "its server can't be reached",
        "ModelTimeoutError": "its server took too long",
        "ModelServerError": "its server failed",
        "ModelUnavailableError": "its server is not available",
        "ModelOverloadedError": "its server is overloaded",
        "ModelRateLimitError": "its server takes no more requests for now",
        "ModelQuotaExceededError": "its quota is used up",
        "ModelAuthenticationError": "its server did not accept the key",
        "ModelNotFoundError": "its server does not know it",
        "ModelRequestRejectedError": "its server refused the request",
        "UnexpectedModelBehavior": "its response was unusable",
        "ModelContextWindowExceededError": "its context window is too small for the input",
    }
    name = type(exc).__name__
    text = reasons.get(name, name)
    if name == "UsageLimitExceeded":
        # The library's error tells only in its message which limit was reached.
        text += next((f": {budget}" for limit, budget in _BUDGETS.items() if limit in str(exc)), "")

    return f"{text}, status {status}" if status else text


def answered_messages(messages: Sequence[Any]) -> list[Any]:
    """Return the messages of a run up to the last without open tool calls, which no message may follow."""
    from pydantic_ai.messages import ModelResponse

    messages_left = list(messages)
    while messages_left and isinstance(messages_left[-1], ModelResponse) and messages_left[-1].tool_calls:
        messages_left.pop()
    return messages_left


@dataclass(slots=True)
class _ModelRun:
    """One question under way."""

    choice: ModelConfig
    inquiry: ResearchRequest
    budget: ResearchBudget
    emit: Emit
    ledger: EvidenceLedger = field(default_factory=EvidenceLedger)
    toolbox: Toolbox = field(init=False)
    cut_short: str = ""
    _counts: Draft | None = None
    _model: Any = None
    _usage: Any = None
    _corrections: int = 0

    def __post_init__(self) -> None:
        self.toolbox = Toolbox(self.inquiry, self.ledger, self.budget, self.emit)

    def take_facts(self, counts: Draft | None) -> None:
        """Record counted facts: the model gets them, and the answer shows them unchanged."""
        if counts is None:
            return
        # The last section has the searched scope, as in this answer.
        self._counts = replace(counts, parts=adopt_parts(counts, self.ledger)[:-2])

    def _facts_text(self) -> str:
        """Return the counted facts as text."""
        parts = self._counts.parts if self._counts is not None else []
        return "\n\n".join(part.text for part in parts if isinstance(part, Paragraph | Heading))[:_MAX_FACTS]

    async def ask(self, pack: list[str]) -> str:
        """Run the model; when a limit is reached, ask for a final answer from the evidence so far."""
        from pydantic_ai import CancellationToken, capture_run_messages
        from pydantic_ai.exceptions import RunTimedOut, UsageLimitExceeded
        from pydantic_ai.usage import RunUsage

        self._usage = RunUsage()
        message = first_message(self.inquiry, self.ledger, pack, self.toolbox.boundary, self._facts_text())
        token = CancellationToken()
        error: Exception | None = None
        result: Any = None

        # The model runs in this event loop, but the question is cancelled from another thread: `_watch` passes that on.
        async with self.choice.open() as self._model, anyio.create_task_group() as group:
            group.start_soon(self._watch, token)
            with capture_run_messages() as messages:
                try:
                    result = await self._agent(tools=True).run(
                        message,
                        usage_limits=self._limits(),
                        usage=self._usage,
                        cancellation_token=token,
                        timeout=self.budget.wall_s,
                        event_stream_handler=self._on_events,
                    )
                except (UsageLimitExceeded, RunTimedOut) as limit:
                    self.cut_short = reason_of(limit)
                except Exception as exc:  # noqa: BLE001 - raised below: a task group would wrap it
                    error = exc

            if self.cut_short:
                self.emit(ResearchEvent("turn", {"tool": "model", "result": f"stopped: {self.cut_short}"}))
                try:
                    result = await self._last(list(messages), token)
                except Exception as exc:  # noqa: BLE001 - as above
                    error = exc

            group.cancel_scope.cancel()

        if error is not None and self.inquiry.context.cancellation.cancelled:
            raise Cancelled("stopped on request") from error
        if error is not None:
            raise error

        return str(result.output)

    async def _last(self, messages: list[Any], token: Any) -> Any:
        from pydantic_ai.usage import UsageLimits

        # Without tools, the model can only write.
        return await self._agent(tools=False).run(
            LAST_WORDS,
            message_history=answered_messages(messages),
            usage_limits=UsageLimits(request_limit=1 + MAX_CORRECTIONS),
            cancellation_token=token,
            timeout=min(_LAST_S, self.budget.wall_s),
        )

    async def _watch(self, token: Any) -> None:
        while not self.inquiry.context.cancellation.cancelled:  # noqa: ASYNC110 - set by another thread, not by a task
            await anyio.sleep(_WATCH_S)
        token.cancel()

    def _limits(self) -> Any:
        from pydantic_ai.usage import UsageLimits

        budget = self.budget
        return UsageLimits(
            request_limit=budget.model_requests or None,
            input_tokens_limit=budget.input_tokens or None,
            output_tokens_limit=budget.output_tokens or None,
            per_request_input_tokens_limit=budget.request_tokens or None,
            cost_limit=Decimal(str(budget.cost)) if budget.cost is not None and self._has_price() else None,
        )

    def _has_price(self) -> bool:
        """Return whether the library's price list has the model; a limit of cost can't be held without one."""
        from genai_prices import Usage, calc_price

        try:
            calc_price(Usage(input_tokens=1), self._model.model_name, provider_id=self._model.system)
        except LookupError:
            return False
        return True

    def _agent(self, *, tools: bool) -> Any:
        from pydantic_ai import Agent, ModelRetry, Tool

        def make_tool(name: str, description: str, schema: Mapping[str, Any]) -> Any:
            async def run(**arguments: Any) -> str:
                # Tools block, and `_watch` needs the loop meanwhile.
                return await anyio.to_thread.run_sync(self.toolbox.run, name, arguments)

            # The toolbox runs one call at a time: in the order of the model, so that equal calls give equal numbers of
            # evidence, and a reader sees them as the model made them.
            return Tool.from_schema(run, name, description, dict(schema), sequential=True)

        agent_tools = [
            make_tool(tool.name, tool.mcp.description if tool.mcp else "", tool.input_schema)
            for tool in (offered_tools() if tools else [])
        ]
        if tools:
            agent_tools.append(make_tool(LOOKUP, LOOKUP_DESCRIPTION, LOOKUP_SCHEMA))

        agent: Any = Agent(self._model, instructions=INSTRUCTIONS, tools=agent_tools, retries=MAX_CORRECTIONS)

        @agent.output_validator  # type: ignore[untyped-decorator]
        def check(output: str) -> str:
            wrong = self._find_mistakes(output)
            # Answers that are still wrong after the last correction are returned: their bad citations are removed
            # later.
            if wrong and self._corrections < MAX_CORRECTIONS:
                self._corrections += 1
                raise ModelRetry(wrong)
            return output

        return agent

    def _find_mistakes(self, text: str) -> str:
        """Describe wrong citations of an answer; empty when all are valid."""
        names = [name.strip().upper() for match in CITED.finditer(text) for name in match[1].split(",")]
        if not names:
            return (
                ""
                if not self.ledger.items
                else "Nothing is cited. Put the ids of what you read behind sentences: [E1]."
            )

        items = {name: item for name in dict.fromkeys(names) if (item := self.ledger.get(name)) is not None}
        # Checked here as the final answer will be checked, so the model can correct what would be removed.
        citations = check_citations(list(items.values()), self.inquiry.pins, self.inquiry.context)
        absent = [name for name in dict.fromkeys(names) if name not in items]
        rejected = [name for name, citation in zip(items, citations, strict=True) if not citation.accepted]
        if not absent and not rejected:
            return ""

        return f"These ids can't be cited: {', '.join([*absent, *rejected])}. Use ids that a tool gave you, or none."

    async def _on_events(self, _: Any, events: AsyncIterable[Any]) -> None:
        """Pass on text as it comes, a few times a second."""
        from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

        pending, flushed_s = "", time.monotonic()
        async for event in events:
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                pending += event.part.content
            elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                pending += event.delta.content_delta
            if pending and time.monotonic() - flushed_s >= _DELTA_S:
                self._notify(pending)
                pending, flushed_s = "", time.monotonic()

        if pending:
            self._notify(pending)

    def _notify(self, text: str) -> None:
        from sourcelight.engines.deepsearch.redaction import redact

        self.emit(ResearchEvent("answer_delta", {"text": redact(text)}))

    def draft(self, text: str) -> Draft:
        """Make a draft of the model's answer."""
        text = text.strip()
        followups: list[str] = []
        suggested = _SUGGESTED.search(text)
        if suggested is not None:
            # Follow-up questions are shown in a list of their own.
            text = text[: suggested.start()].rstrip()
            questions = (line.strip() for line in suggested[1].split("\n"))
            followups = [inline(line.lstrip("-*0123456789. "), 200) for line in questions if line][:3]

        draft = Draft(ledger=self.ledger, followups=followups, researcher="model", model=self.choice.name)
        draft.parts.append(Paragraph(text))
        if self._counts is not None:
            draft.parts += [Heading("Counted by the engine"), *self._counts.parts]
            draft.tables += self._counts.tables
            draft.stats |= {name: self._counts.stats[name] for name in _FACTS if name in self._counts.stats}

        draft.parts.append(Heading("Searched"))
        pins = list(self.inquiry.pins)
        pin_list = ", ".join(f"{code(pin.repository)} at {code(pin.commit[:12])}" for pin in pins[:10])
        suffix = f" and {count_of(len(pins) - 10, 'further repository')}" if len(pins) > 10 else ""
        lines = [f"- {pin_list}{suffix}, with {self.toolbox.calls} tool call{'' if self.toolbox.calls == 1 else 's'}."]
        if self.cut_short:
            lines.append(f"- The model was stopped: {self.cut_short}.")

        if self.toolbox.refused:
            lines.append(
                f"- {count_of(self.toolbox.refused, 'tool call')} refused; the limit is {self.budget.tool_calls}."
            )

        if self.budget.cost is not None and self.cost is None:
            limit = f"{self.budget.cost:g} dollars"
            lines.append(f"- The price list lacks this model, so the cost limit of {limit} couldn't be applied.")

        provider = code(self.choice.host)
        lines.append(
            f"- Written by {code(self.choice.name)}; the question and the code it read were sent to {provider}."
        )
        draft.parts.append(Paragraph("\n".join(lines)))
        draft.searches.append(" ".join(self.inquiry.question.split()))
        draft.searches += self._counts.searches if self._counts is not None else []
        draft.stats |= {**self.stats(), "confident": bool(CITED.search(text))}
        if self.cut_short:
            draft.stats["cut_short"] = self.cut_short

        return draft

    @property
    def cost(self) -> float | None:
        """Cost of the run in dollars by the library's price list; None: unknown."""
        return float(self._usage.cost) if self._usage is not None and self._usage.cost is not None else None

    def stats(self) -> dict[str, Any]:
        """Return counts of the run."""
        usage = self._usage
        stats: dict[str, Any] = {"tool_calls": self.toolbox.calls, "corrections": self._corrections}
        if usage is not None:
            stats |= {
                "model_requests": usage.requests,
                "total_input_tokens": usage.input_tokens,
                "completion_tokens": usage.output_tokens,
                "cached_tokens": usage.cache_read_tokens,
            }

        if self.cost is not None:
            stats["cost_dollars"] = round(self.cost, 6)

        return stats
