"""Commits that name a coding assistant: the rules, each with a public source, and what they match.

An assistant is recognized by its own traces: the account that it commits with, the address of its co-author line,
a trailer or a line of its template. A text that merely mentions one isn't a trace, so each rule must match its whole
field. A commit without a trace may still have been written with an assistant: squash merges drop trailers, and most
assistants leave none or can be told not to. So counts by these rules are lower bounds.

The committer says nothing: aider commits what people wrote (https://aider.chat/docs/git.html), and code hosts commit
for everybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from sourcelight.core.batches.commit_messages import Trailer, trailer_of_line, trailers_of

TraceField = Literal["address", "name", "assisted-by", "trailer", "line"]

_GITHUB = r"@users\.noreply\.github\.com"
_CENSUS = "https://github.com/jphme/github-coding-agent-tracker/blob/main/README.md"
_CHAOSS = "https://github.com/chaoss/ai-detection-action/blob/main/detection/committer/committer.go"
_KERNEL = "https://docs.kernel.org/process/coding-assistants.html"

LOWER_BOUND = "a lower bound, because squash merges drop trailers and many assistants leave none"
"""Notice of every count by these rules."""

_MAX_TRACE_CHARS = 200
"""Characters of a trace that are stored: a message may have lines of any length."""

_CO_AUTHOR = "co-authored-by"
_ASSISTED = frozenset({"assisted-by", "generated-by"})
"""Trailers that name an assistant."""

CANDIDATE_PATTERN = (
    "co-authored-by|assisted-by|generated-by|amp-thread-id|claude-session|copilot-session|agent-logs-url|"
    "replit-commit-author|made-with|made with|generated with"
)
"""Texts of which every message with a trace contains one, in any case; other messages need not be parsed."""


class AgentRule(NamedTuple):
    """A trace that a coding assistant leaves in commits.

    Attributes
    ----------
    agent
        Its name in tables.
    field
        ``address`` and ``name``: of the author, or of a person in a Co-authored-by, Assisted-by or Generated-by
        trailer. ``assisted-by``: text of an Assisted-by or Generated-by trailer. ``trailer``: another trailer, as
        ``Token: text``. ``line``: a line of the message behind its first paragraph. A line that has the form of a
        trailer is read as one in each of these paragraphs.
    pattern
        Regular expression for the whole text, ignoring case.
    source
        A public page or commit that has the trace.
    """

    agent: str
    field: TraceField
    pattern: str
    source: str


# A row has only what the assistant writes by itself. A trailer that one project asks of its contributors proves nothing
# about another, so it has none.
AGENT_RULES: tuple[AgentRule, ...] = (
    AgentRule("Aider", "name", r".* \(aider\)", "https://aider.chat/docs/git.html"),
    AgentRule("Aider", "address", r"noreply@aider\.chat", "https://aider.chat/docs/git.html"),
    AgentRule("Aider", "address", r"aider@aider\.chat", _CENSUS),
    # The domain of its first releases with co-author lines.
    AgentRule("Aider", "address", r"noreply@aider\.dev", "https://github.com/Aider-AI/aider/commit/1d4269082"),
    AgentRule("Amazon Q", "address", rf"(?:\d+\+)?amazon-q-developer\[bot\]{_GITHUB}", _CHAOSS),
    AgentRule("Amp", "address", r"amp@ampcode\.com", "https://github.com/yjsoon/howmuch/commit/785d468af0"),
    AgentRule(
        "Amp",
        "trailer",
        r"amp-thread-id: https://ampcode\.com/threads/t-[\w-]+",
        "https://github.com/yjsoon/howmuch/commit/785d468af0",
    ),
    AgentRule(
        "Claude Code",
        "address",
        r"noreply@anthropic\.com",
        "https://docs.rs/claude-code-settings/0.1.0/claude_code_settings/struct.Attribution.html",
    ),
    AgentRule(
        "Claude Code",
        "address",
        r"claude@anthropic\.com",
        "https://github.com/python-wheel-build/fromager/pull/1010",
    ),
    AgentRule(
        "Claude Code",
        "address",
        # The models only: people at the company have addresses there, too.
        r"claude-(?:\d|opus|sonnet|haiku)[\w.-]*@anthropic\.com",
        "https://github.com/python-wheel-build/fromager/commit/815896da07",
    ),
    AgentRule("Claude Code", "address", rf"(?:\d+\+)?claude\[bot\]{_GITHUB}", _CHAOSS),
    AgentRule(
        "Claude Code",
        "trailer",
        r"claude-session: https://claude\.ai/code/session_\w+",
        "https://github.com/anthropics/claude-code/issues/77830",
    ),
    AgentRule(
        "Claude Code",
        "line",
        r"(?:🤖 )?generated with \[claude code\]\(https://(?:claude\.ai/code|claude\.com/claude-code)\)",
        "https://github.com/anthropics/claude-code/issues/14241",
    ),
    AgentRule(
        "Claude Code",
        "line",
        r"🤖 generated with claude code(?: \(https://claude\.ai/code\))?",
        "https://github.com/lishix520/academic-paper-skills/commit/0a05329281",
    ),
    # The kernel's form has the model behind a colon. Without it the text could be the name of a person.
    AgentRule("Claude Code", "assisted-by", r"claude(?: code)?:\S.*", _KERNEL),
    AgentRule("Codex", "address", r"noreply@openai\.com", "https://github.com/openai/codex/issues/18095"),
    AgentRule("Codex", "address", r"codex@openai\.com", "https://github.com/petsc/petsc/commit/c67fa7d6d5"),
    AgentRule(
        "Codex", "address", rf"267193182\+codex{_GITHUB}", "https://github.com/i365dev/free4chat/commit/9ba12b99b6"
    ),
    AgentRule("Codex", "address", rf"(?:\d+\+)?chatgpt-codex-connector\[bot\]{_GITHUB}", _CHAOSS),
    AgentRule("Codex", "assisted-by", r"codex:\S.*", _KERNEL),
    AgentRule(
        "Copilot",
        "address",
        # 198982749 is its agent at GitHub, 223556219 its command line, 175728472 its suggestions in reviews.
        rf"(?:198982749|223556219|175728472)\+copilot{_GITHUB}",
        "https://github.com/gui-cs/Terminal.Gui/commit/cb8aec7de9",
    ),
    AgentRule("Copilot", "address", rf"(?:\d+\+)?copilot-swe-agent\[bot\]{_GITHUB}", _CENSUS),
    AgentRule("Copilot", "name", r"copilot-swe-agent\[bot\]", _CENSUS),
    AgentRule(
        "Copilot",
        "name",
        # Code scanning, which needs no assistant, uses the same address.
        r"copilot autofix powered by ai",
        "https://github.com/sourcebot-dev/sourcebot/commit/47e28204a7",
    ),
    AgentRule(
        "Copilot",
        "address",
        r"copilot@github\.com",
        "https://github.com/BetterThanTomorrow/calva/commit/e530f64755",
    ),
    AgentRule(
        "Copilot",
        "trailer",
        r"copilot-session: [0-9a-f-]{36}",
        "https://github.com/open-telemetry/opentelemetry-rust/commit/92557b4334",
    ),
    AgentRule(
        "Copilot",
        "trailer",
        r"agent-logs-url: https://github\.com/[^/\s]+/[^/\s]+/sessions/\S+",
        "https://github.com/gui-cs/Terminal.Gui/commit/cb8aec7de9",
    ),
    AgentRule("Copilot", "assisted-by", r"(?:github )?copilot:\S.*", _KERNEL),
    AgentRule(
        "Crush",
        "address",
        r"crush@charm\.land",
        "https://github.com/charmbracelet/crush/blob/main/internal/agent/tools/bash.tpl",
    ),
    AgentRule(
        "Crush",
        "line",
        r"💘 generated with crush",
        "https://github.com/charmbracelet/crush/blob/main/internal/agent/tools/bash.tpl",
    ),
    AgentRule("Cursor", "address", r"cursoragent@cursor\.com", "https://github.com/kernalix7/winpodx/pull/100"),
    AgentRule("Cursor", "address", r"agent@cursor\.com", _CENSUS),
    AgentRule("Cursor", "address", rf"(?:\d+\+)?cursor\[bot\]{_GITHUB}", _CHAOSS),
    AgentRule("Cursor", "trailer", r"made-with: cursor", "https://github.com/superdurable/dex/pull/310"),
    AgentRule(
        "Cursor",
        "line",
        r"made with \[cursor\]\(https://cursor\.com\)",
        "https://github.com/MetaMask/skills/commit/1193e1e24e",
    ),
    AgentRule("Cursor", "assisted-by", r"cursor:\S.*", _KERNEL),
    AgentRule("Devin", "address", rf"(?:\d+\+)?devin-ai-integration\[bot\]{_GITHUB}", _CHAOSS),
    AgentRule(
        "Factory Droid",
        "address",
        rf"(?:\d+\+)?factory-droid\[bot\]{_GITHUB}",
        "https://github.com/drawmeanelephant/boris/commit/c3a736fb9c619e898140771f3f7bc3f8a0d73b4f",
    ),
    AgentRule("Gemini", "address", rf"(?:\d+\+)?gemini-code-assist\[bot\]{_GITHUB}", _CHAOSS),
    AgentRule("Gemini", "assisted-by", r"gemini(?: cli)?:\S.*", _KERNEL),
    AgentRule(
        "Jules",
        "address",
        rf"(?:\d+\+)?google-labs-jules\[bot\]{_GITHUB}",
        "https://github.com/pksunkara/cargo-workspaces/commit/17b5467d51",
    ),
    AgentRule(
        "Kiro",
        "address",
        rf"244629292\+kiro-agent{_GITHUB}",
        "https://github.com/ryancormack/strands-acp/commit/6c58a8dadd",
    ),
    AgentRule(
        "opencode",
        "address",
        r"noreply@opencode\.ai",
        "https://github.com/RedHatProductSecurity/ai-guardian/commit/b62884bcb6",
    ),
    AgentRule(
        "opencode",
        "line",
        r"(?:🤖 )?generated with \[opencode\]\(https://opencode\.ai\)",
        "https://github.com/RedHatProductSecurity/ai-guardian/commit/b62884bcb6",
    ),
    AgentRule("OpenHands", "address", r"openhands@all-hands\.dev", "https://github.com/OpenHands/docs/pull/22"),
    AgentRule(
        "Qwen Code",
        "address",
        r"qwen-coder@alibabacloud\.com",
        "https://github.com/QwenLM/qwen-code/issues/2899",
    ),
    AgentRule(
        "Replit",
        "trailer",
        r"replit-commit-author: (?:agent|assistant)",
        "https://github.com/chaoss/ai-detection-action/blob/main/detection/message/message.go",
    ),
    AgentRule("Warp", "address", r"oz-agent@warp\.dev", "https://github.com/warpdotdev/oz-for-oss/pull/140"),
)
"""The rules, by the name of the assistant."""


@lru_cache(maxsize=1 << 16)
def agent_of(name: str, email: str) -> str:
    """Return the assistant that an identity belongs to; empty for none."""
    return _agent_of_text("address", email.strip()) or _agent_of_text("name", name.strip())


def has_account(email: str) -> bool:
    """Return whether an assistant commits with its own address, which no person has."""
    # Not by its name: Claude, Devin and Jules are names of people.
    return bool(_agent_of_text("address", email.strip()))


def _agent_of_text(field: TraceField, text: str) -> str:
    return next((agent for agent, pattern in _rules(field) if pattern.fullmatch(text)), "")


@cache
def _rules(field: TraceField) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((rule.agent, re.compile(rule.pattern, re.IGNORECASE)) for rule in AGENT_RULES if rule.field == field)


@dataclass(frozen=True, slots=True)
class AgentTrace:
    """An assistant, and the text of a commit that names it, such as ``author: Ada <ada@example.org>``."""

    agent: str
    text: str


def traces_of(author: str, email: str, message: str) -> list[AgentTrace]:
    """Return what names an assistant in a commit, the author first; name and address are those as written."""
    traces = [AgentTrace(agent, f"author: {author} <{email}>")] if (agent := agent_of(author, email)) else []
    trailers = trailers_of(message)
    traces += [trace for trailer in trailers if (trace := _trace_of_trailer(trailer, "trailer")) is not None]

    # Code hosts repeat the lines of squashed commits as trailers, with their own case of the token.
    texts = {_text_of(trailer).lower() for trailer in trailers}
    for line in _lines_of_body(message):
        if agent := _agent_of_text("line", line):
            traces.append(AgentTrace(agent, f"line: {line}"))
            continue
        # git reads trailers in the last paragraph only. Squash merges have those of each commit below its message, and
        # many people put `Signed-off-by` behind a blank line of its own.
        trailer = trailer_of_line(line)
        if trailer is not None and _text_of(trailer).lower() not in texts:
            trace = _trace_of_trailer(trailer, "line")
            traces += [] if trace is None else [trace]

    return list(dict.fromkeys(AgentTrace(trace.agent, trace.text[:_MAX_TRACE_CHARS]) for trace in traces))


def _trace_of_trailer(trailer: Trailer, field: Literal["trailer", "line"]) -> AgentTrace | None:
    token, person = trailer.token.lower(), trailer.person
    text = _text_of(trailer)
    if token == _CO_AUTHOR or token in _ASSISTED:
        agent = agent_of(*person) if person is not None else ""
        if not agent and token in _ASSISTED:
            agent = _agent_of_text("assisted-by", trailer.value)
    else:
        agent = _agent_of_text("trailer", text)

    return AgentTrace(agent, f"{field}: {text}") if agent else None


def _text_of(trailer: Trailer) -> str:
    return f"{trailer.token}: {trailer.value}"


def _lines_of_body(message: str) -> Iterator[str]:
    # A subject is about something: "Generated with …" there may be the removal of such a line.
    _, _, body = message.partition("\n\n")
    for line in body.split("\n"):
        if line.strip():
            yield line.strip()


def agents_text(traces: Sequence[AgentTrace]) -> str:
    """Return the assistants of a commit with commas between, each once; empty for none."""
    return ", ".join(dict.fromkeys(trace.agent for trace in traces))
