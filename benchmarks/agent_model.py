"""A language model in the place of the scripts of `agent.py`, over any server with OpenAI's chat completions.

`agent.py` uses it when ``SOURCELIGHT_MODEL`` names a model. ``SOURCELIGHT_MODEL_URL`` is the address of the server,
such as ``http://127.0.0.1:8000/v1``, and ``SOURCELIGHT_MODEL_KEY`` its key. The model gets the question, the tools of
the policy, and nothing else; calls and answers are counted as those of the scripts are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2

Ask = Callable[[str, dict[str, Any]], Awaitable[str]]
MODEL, ADDRESS, KEY = "SOURCELIGHT_MODEL", "SOURCELIGHT_MODEL_URL", "SOURCELIGHT_MODEL_KEY"
MAX_TURNS = 12
TIMEOUT_S = 300.0
INSTRUCTIONS = (
    "Answer the question about the repository with the tools. Read as little as is needed. End with the answer: paths "
    "with line numbers, commits by at least 7 digits, counts with their paths."
)
SHELL_TOOL: Mapping[str, Any] = {
    "name": "shell",
    "description": "Run a command in the repository: ripgrep, git, sed and the like. Ends with its output.",
    "inputSchema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
}


@dataclass
class ChatModel:
    """A model that answers questions by calls of tools.

    Attributes
    ----------
    name, address, key
        Name of the model, address of its server, and the key of that server; an empty key is not sent.
    prompt_tokens, completion_tokens
        What the server says it used, over all questions; 0 where it says nothing.
    """

    name: str
    address: str
    key: str = ""
    prompt_tokens: int = field(default=0, init=False)
    completion_tokens: int = field(default=0, init=False)

    @classmethod
    def from_environment(cls) -> ChatModel | None:
        """The model that the environment names; None without one.

        Raises
        ------
        SystemExit
            For a model without an address.
        """
        name = os.environ.get(MODEL)
        if not name:
            return None
        if ADDRESS not in os.environ:
            raise SystemExit(f"{MODEL} is set; set {ADDRESS}, too, such as http://127.0.0.1:8000/v1")
        return cls(name, os.environ[ADDRESS].rstrip("/"), os.environ.get(KEY, ""))

    async def work(self, question: str, tools: Sequence[Mapping[str, Any]], ask: Ask, instructions: str = "") -> str:
        """Let the model call tools until it answers, at most `MAX_TURNS` times; its answer, or nothing.

        `instructions` are those of the server of the tools.
        """
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": f"{INSTRUCTIONS}\n\n{instructions}".rstrip()},
            {"role": "user", "content": question},
        ]
        names = {str(tool["name"]) for tool in tools}
        functions = [
            {
                "type": "function",
                "function": {
                    "name": tool["name"],
                    "description": tool["description"],
                    "parameters": tool["inputSchema"],
                },
            }
            for tool in tools
        ]
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        async with httpx2.AsyncClient(timeout=TIMEOUT_S, headers=headers) as client:
            for _ in range(MAX_TURNS):
                body = {"model": self.name, "messages": messages, "tools": functions}
                response = await client.post(f"{self.address}/chat/completions", json=body)
                response.raise_for_status()
                reply = response.json()
                usage = reply.get("usage") or {}
                self.prompt_tokens += usage.get("prompt_tokens", 0)
                self.completion_tokens += usage.get("completion_tokens", 0)
                message = reply["choices"][0]["message"]
                calls = message.get("tool_calls") or []
                if not calls:
                    return str(message.get("content") or "")
                messages.append({"role": "assistant", "content": message.get("content"), "tool_calls": calls})
                for call in calls:
                    answer = await _answer(call["function"], names, ask)
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": answer})
        return ""


async def _answer(call: Mapping[str, Any], names: set[str], ask: Ask) -> str:
    """The answer of a tool, or what is wrong with the call; models name tools and write JSON that there isn't."""
    try:
        arguments = json.loads(call.get("arguments") or "{}")
    except json.JSONDecodeError as exc:
        return f"the arguments are no JSON: {exc}"
    if call.get("name") not in names or not isinstance(arguments, dict):
        return f"there is no such call; tools: {', '.join(sorted(names))}"
    return await ask(call["name"], arguments)
