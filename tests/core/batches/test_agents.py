"""Coding assistants that commits name: each rule by an example, near misses, and whole histories read naively."""

from __future__ import annotations

import re

import pytest

from sourcelight.core.batches.agents import AGENT_RULES, CANDIDATE_PATTERN, agent_of, agents_text, traces_of

_GITHUB = "@users.noreply.github.com"
LINE = "Co-authored-by: Copilot <175728472+Copilot@users.noreply.github.com>"
ADDRESSES = {
    "noreply@aider.chat": "Aider",
    "aider@aider.chat": "Aider",
    "noreply@aider.dev": "Aider",
    f"208079219+amazon-q-developer[bot]{_GITHUB}": "Amazon Q",
    "amp@ampcode.com": "Amp",
    "noreply@anthropic.com": "Claude Code",
    "claude@anthropic.com": "Claude Code",
    "claude-3-7-sonnet@anthropic.com": "Claude Code",
    f"209825114+claude[bot]{_GITHUB}": "Claude Code",
    "noreply@openai.com": "Codex",
    "codex@openai.com": "Codex",
    f"267193182+codex{_GITHUB}": "Codex",
    f"199175422+chatgpt-codex-connector[bot]{_GITHUB}": "Codex",
    f"198982749+Copilot{_GITHUB}": "Copilot",
    f"223556219+Copilot{_GITHUB}": "Copilot",
    f"copilot-swe-agent[bot]{_GITHUB}": "Copilot",
    "copilot@github.com": "Copilot",
    "crush@charm.land": "Crush",
    "cursoragent@cursor.com": "Cursor",
    "agent@cursor.com": "Cursor",
    f"206951365+cursor[bot]{_GITHUB}": "Cursor",
    f"158243242+devin-ai-integration[bot]{_GITHUB}": "Devin",
    f"138933559+factory-droid[bot]{_GITHUB}": "Factory Droid",
    f"176961590+gemini-code-assist[bot]{_GITHUB}": "Gemini",
    f"161369871+google-labs-jules[bot]{_GITHUB}": "Jules",
    f"244629292+kiro-agent{_GITHUB}": "Kiro",
    "noreply@opencode.ai": "opencode",
    "openhands@all-hands.dev": "OpenHands",
    "qwen-coder@alibabacloud.com": "Qwen Code",
    "oz-agent@warp.dev": "Warp",
}
NAMES = {
    "Ada Example (aider)": "Aider",
    "copilot-swe-agent[bot]": "Copilot",
    "Copilot Autofix powered by AI": "Copilot",
}
BODIES = {
    "Amp-Thread-ID: https://ampcode.com/threads/T-0a1b-2c": "Amp",
    "Claude-Session: https://claude.ai/code/session_01Ab": "Claude Code",
    "🤖 Generated with [Claude Code](https://claude.com/claude-code)": "Claude Code",
    "🤖 Generated with Claude Code": "Claude Code",
    "Assisted-by: Claude:claude-3-opus coccinelle": "Claude Code",
    "Assisted-by: Codex:gpt-5": "Codex",
    "Copilot-Session: 0f8fad5b-d9cb-469f-a165-70867728950e": "Copilot",
    "Agent-Logs-Url: https://github.com/octo/repo/sessions/17": "Copilot",
    "Assisted-by: GitHub Copilot:gpt-5": "Copilot",
    "💘 Generated with Crush": "Crush",
    "Assisted-by: GLM 4.6 via Crush <crush@charm.land>": "Crush",
    "Made-with: Cursor": "Cursor",
    "Made with [Cursor](https://cursor.com)": "Cursor",
    "Assisted-by: cursor:composer-1": "Cursor",
    "Generated-by: Gemini CLI:gemini-2.5-pro": "Gemini",
    "Replit-Commit-Author: Agent": "Replit",
    "🤖 Generated with [opencode](https://opencode.ai)": "opencode",
}


def test_every_rule_has_an_example_that_it_alone_explains_and_a_public_source() -> None:
    examples = {"address": ADDRESSES, "name": NAMES}
    locations = {"trailer": BODIES, "line": BODIES}
    for rule in AGENT_RULES:
        assert rule.source.startswith("https://")
        texts = examples.get(rule.field) or locations.get(rule.field)
        if texts is None:  # the text of a trailer behind its token
            texts = {text.partition(": ")[2]: agent for text, agent in BODIES.items()}
        match = {agent for text, agent in texts.items() if re.fullmatch(rule.pattern, text, re.IGNORECASE)}
        assert match == {rule.agent}, rule


@pytest.mark.parametrize("example", [*ADDRESSES, *NAMES, *BODIES])
def test_an_example_names_its_assistant_and_is_a_candidate(example: str) -> None:
    if example in ADDRESSES:
        assert agent_of("Somebody", example) == agent_of("", example.upper()) == ADDRESSES[example]
        message = f"Add\n\nText.\n\nCo-authored-by: Somebody <{example}>\n"
    elif example in NAMES:
        assert agent_of(example, "a@example.org") == NAMES[example]
        message = f"Add\n\nCo-authored-by: {example} <a@example.org>\n"
    else:
        message = f"Add\n\nText.\n\n{example}\n"
    expected = {**ADDRESSES, **NAMES, **BODIES}[example]
    traces = traces_of("Ada", "ada@example.org", message)
    assert agents_text(traces) == expected
    assert all(example in trace.text for trace in traces)
    assert re.search(CANDIDATE_PATTERN, message, re.IGNORECASE)


@pytest.mark.parametrize(
    "message",
    [
        "Generated with [Claude Code](https://claude.com/claude-code)\n",  # a subject is about something
        "Add\n\nRemove lines such as: Made with [Cursor](https://cursor.com)\n",
        "Add\n\nCo-authored-by: Claude Shannon <claude@example.org>\n",
        "Add\n\nAssisted-by: Claude Shannon <claude@example.org>\n",
        "Add\n\nCo-authored-by: Cursor <cursoragent@cursor.com.example.org>\n",
        "Add\n\nReviewed-by: Copilot <copilot@github.com>\n",
        "Add\n\n> Co-authored-by: Claude <noreply@anthropic.com>\n\nThis line is a quotation.\n",
        "Add\n\nRemove `Co-authored-by: Claude <noreply@anthropic.com>`.\n",
        "Co-authored-by: Claude <noreply@anthropic.com>\n\nThe subject is about the line.\n",
        "Add\n\nCo-authored-by: Claude Example <claude-example@anthropic.com>\n",
        "Add\n\nMade-with: Cursor and care\n",
    ],
)
def test_what_only_mentions_an_assistant_is_no_trace(message: str) -> None:
    assert traces_of("Ada (aide)", "ada@aider.chat.example.org", message) == []


def test_a_commit_with_two_assistants_names_each_once_in_order_and_traces_are_bounded() -> None:
    message = (
        "Add\n\nText.\n\nCo-authored-by: Cursor <cursoragent@cursor.com>\n"
        "Co-authored-by: Cursor <cursoragent@cursor.com>\n"
        f"Assisted-by: Claude:{'x' * 100_000}\n"
    )
    traces = traces_of("Bo (aider)", "bo@example.org", message)
    assert agents_text(traces) == "Aider, Cursor, Claude Code"
    assert [trace.text[:7] for trace in traces] == ["author:", "trailer", "trailer"]
    assert max(len(trace.text) for trace in traces) <= 200


@pytest.mark.parametrize(
    "body",
    [
        f"* Apply suggestions\n\n{LINE}\n\n* Fix",
        f"Text.\n\n{LINE}\n\nSigned-off-by: Bo <bo@example.org>",
        f"Text.\n\n{LINE}\nFixes #17",
        f"Squashed commit of the following:\n\n    Text.\n    \n    {LINE}\n\n    More.",
    ],
)
def test_a_co_author_line_counts_in_each_paragraph(body: str) -> None:
    traces = traces_of("Ada", "ada@example.org", f"Add (#16)\n\n{body}\n")
    assert [(trace.agent, trace.text) for trace in traces] == [("Copilot", f"line: {LINE}")]
