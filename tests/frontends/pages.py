"""A front end that is one page: a real kernel's messages in, and the page's to it; for tests of what shows them."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jupyter_client.manager import start_new_kernel
from jupyter_core.utils import ensure_event_loop

from browser import lab

HOST = "https://front-end.test"
"""Where the page is; https, as parts of the browser's interface want it."""
WIDGET = "application/vnd.jupyter.widget-view+json"


class Kernel:
    """A kernel whose messages go to a page, and about widgets also come from it."""

    def __init__(self, client: Any, *, draws_widgets: bool) -> None:
        self._client = client
        self._draws_widgets = draws_widgets
        self._arrived: queue.Queue[str] = queue.Queue()
        self._to_send: queue.Queue[str] = queue.Queue()
        self._end_event = threading.Event()
        self.errors: list[str] = []
        # zmq's sockets belong to one thread, and Playwright's event loop to that of the test.
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def run(self, code: str) -> None:
        """Start a cell without waiting for it."""
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        self._to_send.put(json.dumps({"kind": "execute_request", "content": content, "buffers": []}))

    def send(self, text: str) -> None:
        """Send what a page says."""
        self._to_send.put(text)

    def pump(self, page: Any) -> None:
        """Hand the page what has arrived."""
        with contextlib.suppress(queue.Empty):
            while True:
                page.evaluate("text => window.fromKernel(text)", self._arrived.get_nowait())
        page.wait_for_timeout(20)

    def pump_until(self, page: Any, locator: Any, timeout_s: float = 120) -> None:
        """Hand on messages until the page has an element."""
        until = time.monotonic() + timeout_s
        while not locator.count() and time.monotonic() < until:
            self.pump(page)
        locator.first.wait_for(timeout=1_000)

    def close(self) -> None:
        """End the thread."""
        self._end_event.set()
        self._thread.join(10)

    def _carry(self) -> None:
        while not self._end_event.is_set():
            with contextlib.suppress(queue.Empty):
                while True:
                    self._send(json.loads(self._to_send.get_nowait()))
            with contextlib.suppress(queue.Empty):
                self._sort(self._client.get_iopub_msg(timeout=0.02))
        ensure_event_loop().close()  # made by the client for this thread, and closed by nobody

    def _send(self, request: dict[str, Any]) -> None:
        message = self._client.session.msg(request["kind"], request["content"], metadata=request.get("metadata"))
        if "id" in request:
            message["msg_id"] = message["header"]["msg_id"] = request["id"]
        message["buffers"] = [base64.b64decode(item) for item in request["buffers"]]
        self._client.shell_channel.send(message)

    def _sort(self, message: dict[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind == "error":
            self.errors.append("\n".join(content["traceback"]))
        data = content.get("data", {})
        if kind in {"display_data", "update_display_data"}:
            if self._draws_widgets and WIDGET in data:
                kind, content = "widget", {"id": display_id(content), "model": data[WIDGET]["model_id"]}
            elif "text/html" in data:
                kind, content = "html", {"id": display_id(content), "html": data["text/html"]}
        if kind not in {"comm_open", "comm_msg", "comm_close", "status", "widget", "html"}:
            return
        buffers = [base64.b64encode(item).decode() for item in message["buffers"]]
        parts = {key: message[key] for key in ("header", "parent_header", "metadata")}
        self._arrived.put(json.dumps({"kind": kind, "content": content, "buffers": buffers, **parts}, default=str))


def display_id(content: dict[str, Any]) -> str:
    """The name under which a later message may update an output; empty if none may."""
    return str(content.get("transient", {}).get("display_id", ""))


def environment(folder: Path) -> dict[str, str]:
    """An environment whose kernels and terminals write below a folder."""
    return {
        **os.environ,
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "SOURCELIGHT_HOME": str(folder / "home"),
        "SOURCELIGHT_PROGRESS": "on",
    }


@contextlib.contextmanager
def kernel_in(folder: Path, *, draws_widgets: bool = True) -> Iterator[Kernel]:
    """A kernel whose files are below a folder."""
    manager, client = start_new_kernel(
        kernel_name="python3", startup_timeout=180, cwd=str(folder), env=environment(folder)
    )
    kernel = Kernel(client, draws_widgets=draws_widgets)
    try:
        yield kernel
    finally:
        kernel.close()
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@contextlib.contextmanager
def front_end(kernel: Kernel, scripts: Mapping[str, Path]) -> Iterator[Any]:
    """A page that has these files at hand, by name, and nothing of any other host."""
    files = {**scripts, "managers.js": Path(__file__).with_name("managers.js")}
    requests: list[str] = []

    def answer(route: Any) -> None:
        name = route.request.url.rpartition("/")[2]
        if route.request.url == f"{HOST}/":
            route.fulfill(body="<!doctype html><html lang=en><title>Front end</title><body></body></html>")
        elif route.request.url.startswith(HOST) and name in files:
            route.fulfill(path=files[name], content_type="text/javascript")
        else:
            requests.append(route.request.url)
            route.abort()

    complaints: list[str] = []
    with lab.chromium_page(height=900) as page:
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.set_default_timeout(120_000)
        page.context.route("**", answer)
        page.expose_function("toKernel", kernel.send)
        page.goto(f"{HOST}/")
        page.add_script_tag(url=f"{HOST}/managers.js")
        yield page
        assert kernel.errors == []
        assert page.evaluate("window.failures") == []
        assert [complaint for complaint in complaints if "Error" in complaint] == []
        assert [url for url in requests if not url.endswith(("favicon.ico", ".map"))] == []
