"""An MCP server that writes its JSON itself, so that lists and answers may have any form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from backends.remote.loopback_app import served

_VERSION = "2025-06-18"


@dataclass
class RawMcp:
    """Answers of `tools/list` and `tools/call` as JSON; `calls` has the names that were called.

    `message` makes the body of an answer from its method and its JSON-RPC message.
    """

    tools: list[Any]
    reply: Callable[[str, Mapping[str, Any]], Any]
    calls: list[str] = field(default_factory=list)
    message: Callable[[str, dict[str, Any]], Any] = lambda _method, message: message

    def running(self) -> AbstractContextManager[str]:
        """Serve until the block ends; gives the address."""

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "lifespan":
                for answer in ("startup", "shutdown"):
                    await receive()
                    await send({"type": f"lifespan.{answer}.complete"})
                return
            status, value = 404, None
            if scope["path"] == "/.api/mcp":
                status, value = (405, None) if scope["method"] != "POST" else self._answer((await receive())["body"])
            body = b"" if value is None else json.dumps(value).encode()
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})

        return served(app)

    def _answer(self, body: bytes) -> tuple[int, Any]:
        request = json.loads(body)
        method, params = request["method"], request.get("params", {})
        if "id" not in request:
            return 202, None
        if method == "initialize":
            about = {"name": "raw", "version": "1"}
            result: Any = {"protocolVersion": _VERSION, "capabilities": {"tools": {}}, "serverInfo": about}
        elif method == "tools/list":
            result = {"tools": self.tools}
        elif method == "tools/call":
            self.calls.append(params["name"])
            result = self.reply(params["name"], params.get("arguments", {}))
        else:
            error = {"code": -32601, "message": "Method not found"}
            return 200, {"jsonrpc": "2.0", "id": request["id"], "error": error}
        return 200, self.message(method, {"jsonrpc": "2.0", "id": request["id"], "result": result})
