"""JupyterLab on a notebook in the distribution's own Chromium: for browser tests and the pictures of the docs."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from asyncio import _set_running_loop, get_running_loop
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
_WITHOUT_GRAMMARS = Path(__file__).resolve().parent.parent / "without_grammars"
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
]


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_notebook(path: Path, cells: list[str]) -> None:
    """A notebook of code cells."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(text) for text in cells],
        metadata={"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}},
    )
    nbformat.write(notebook, path)


@contextlib.contextmanager
def jupyter_lab(
    folder: Path, environment: Mapping[str, str], *, dark: bool = False, app: str = "jupyterlab"
) -> Iterator[str]:
    """Serve `folder` in single-document mode; yields the address with its token; the server is gone afterwards.

    `app` is the module of the application: ``jupyterlab``, ``notebook`` or ``nbclassic``.
    """
    port, token = free_port(), secrets.token_hex(8)
    settings = folder / ".lab"
    _write_theme(folder, dark=dark)
    environ = {
        **os.environ,
        **environment,
        "JUPYTER_CONFIG_DIR": str(settings / "config"),
        "JUPYTER_DATA_DIR": str(settings / "data"),
        "JUPYTER_RUNTIME_DIR": str(settings / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(settings / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(settings / "workspaces"),
        "IPYTHONDIR": str(settings / "ipython"),
    }
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_WITHOUT_GRAMMARS), environ.get("PYTHONPATH")]))
    command = [
        sys.executable, "-m", app, "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1",
        f"--IdentityProvider.token={token}", "--LabApp.news_url=", "--LabApp.check_for_updates_class=",
        "--LabApp.extension_manager=readonly", f"--ServerApp.root_dir={folder}",
    ]  # fmt: skip
    with (folder / ".lab" / "log").open("wb") as log:
        server = subprocess.Popen(command, env=environ, stdout=log, stderr=log, cwd=folder)
        try:
            base = f"http://127.0.0.1:{port}"
            until = time.monotonic() + 180  # a bound for what hangs: a busy machine takes a minute
            while True:
                try:
                    urllib.request.urlopen(f"{base}/api?token={token}", timeout=2).close()  # noqa: S310 - http to the server above
                    break
                except OSError:
                    if time.monotonic() > until or server.poll() is not None:
                        raise RuntimeError((folder / ".lab" / "log").read_text()[-2000:]) from None
                    time.sleep(0.2)
            location = {"jupyterlab": "doc/tree", "notebook": "notebooks", "nbclassic": "nbclassic/notebooks"}[app]
            yield f"{base}/{location}/NOTEBOOK?reset&token={token}"
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _write_theme(folder: Path, *, dark: bool) -> None:
    """Choose the theme of the pages that a server of `folder` gives from now on."""
    themes = folder / ".lab" / "settings" / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings"
    themes.parent.mkdir(parents=True, exist_ok=True)
    themes.write_text(json.dumps({"theme": f"JupyterLab {'Dark' if dark else 'Light'}"}))


class _Lab:
    """The JupyterLab of this process of tests, started when a test first needs it.

    To start a server and to open its first page takes 5 s of a core more than to open another page of it.
    """

    def __init__(self) -> None:
        self._running = contextlib.ExitStack()
        self._root: Path | None = None
        self._address = ""
        self._folders = 0

    @contextlib.contextmanager
    def folder(self, folder: Path, environment: Mapping[str, str], *, dark: bool) -> Iterator[str]:
        """Serve one more folder; its kernels have ended afterwards."""
        if self._root is None:
            atexit.register(self._running.close)
            self._root = Path(self._running.enter_context(tempfile.TemporaryDirectory()))
            # Else the kernel that the environment of the tests has comes before the one that is described below.
            self._address = self._running.enter_context(jupyter_lab(self._root, {"JUPYTER_PREFER_ENV_PATH": "0"}))
        _write_theme(self._root, dark=dark)
        # The description of a kernel is read whenever one starts.
        spec = self._root / ".lab" / "data" / "kernels" / "python3" / "kernel.json"
        spec.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        names = {"display_name": "Python 3 (ipykernel)", "language": "python"}
        spec.write_text(json.dumps({"argv": command, **names, "env": dict(environment)}))
        self._folders += 1
        name = f"folder-{self._folders}"
        (self._root / name).symlink_to(folder, target_is_directory=True)
        try:
            yield self._address.replace("NOTEBOOK", f"{name}/NOTEBOOK")
        finally:
            self._end_kernels()

    def _end_kernels(self) -> None:
        server, _, parameters = self._address.partition("/doc/tree/")
        query = f"token={parameters.rpartition('token=')[2]}"
        with urllib.request.urlopen(f"{server}/api/kernels?{query}", timeout=30) as answer:  # noqa: S310 - our own server
            kernels = json.load(answer)
        for kernel in kernels:
            request = urllib.request.Request(f"{server}/api/kernels/{kernel['id']}?{query}", method="DELETE")  # noqa: S310
            urllib.request.urlopen(request, timeout=30).close()  # noqa: S310


_lab = _Lab()


@contextlib.contextmanager
def shared_lab(folder: Path, environment: Mapping[str, str], *, dark: bool = False) -> Iterator[str]:
    """Serve `folder` by the JupyterLab that all tests of this process share; yields as `jupyter_lab` does.

    `environment` is that of kernels. One test uses the server at a time.
    """
    with _lab.folder(folder, environment, dark=dark) as address:
        yield address


class _Chromium:
    """The Chromium of this process of tests, started when a test first needs it: to start it takes seconds of a core.

    Playwright's event loop runs in the thread of the tests from then on. Between pages it is not the running loop, so
    that nothing else finds itself in one.
    """

    def __init__(self) -> None:
        self._playwright: Any = None
        self._browser: Any = None
        self._loop: Any = None
        self._pages = 0

    @contextlib.contextmanager
    def page(self, **options: Any) -> Iterator[Any]:
        """A page in a context of its own: no cookie, cache or permission is shared."""
        if self._pages == 0:
            self._enter()
        self._pages += 1
        try:
            page = self._browser.new_page(**options)
            try:
                yield page
            finally:
                page.context.close()
        finally:
            self._pages -= 1
            if self._pages == 0:
                for context in self._browser.contexts:
                    context.close()
                _set_running_loop(None)

    def _enter(self) -> None:
        from playwright.sync_api import sync_playwright

        if self._playwright is None:
            self._playwright = sync_playwright().start()
            self._loop = get_running_loop()
            atexit.register(self._close)
        _set_running_loop(self._loop)
        if self._browser is None or not self._browser.is_connected():
            self._browser = self._playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)

    def _close(self) -> None:
        _set_running_loop(self._loop)
        self._playwright.stop()


_chromium = _Chromium()


@contextlib.contextmanager
def chromium_page(*, width: int = 1000, height: int = 640) -> Iterator[Any]:
    """A fresh page of headless Chromium."""
    with _chromium.page(viewport={"width": width, "height": height}) as page:
        page.set_default_timeout(30_000)
        yield page


def open_notebook(page: Any, address: str, name: str) -> None:
    """Open a notebook and wait until its kernel is idle; what Lab asks in a dialog is printed and answered with yes."""

    def accept(dialog: Any) -> None:
        print("JupyterLab asks:", " ".join(dialog.inner_text().split()))  # noqa: T201 - shown with a test that fails
        dialog.locator(".jp-mod-accept").last.click()

    # A server that is slow to answer makes Lab ask whether to go on; the dialog stands in front of the notebook.
    page.add_locator_handler(page.locator("dialog.jp-Dialog").last, accept)
    page.goto(address.replace("NOTEBOOK", name))
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.add_style_tag(content=".Toastify { display: none; }")
    _wait_for_kernel(page, address)
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', state="attached")


def _wait_for_kernel(page: Any, address: str, timeout_s: float = 60) -> None:
    """Wait until the server has an idle kernel: before there is one, the page says idle too."""
    parts = urlsplit(address)
    url = f"{parts.scheme}://{parts.netloc}/api/kernels?{parts.query.partition('&')[2]}"
    until = time.monotonic() + timeout_s
    while True:
        answer = page.request.get(url)
        # While a kernel comes up, the list may be an error that says so.
        if answer.ok and any(kernel["execution_state"] == "idle" for kernel in answer.json()):
            return
        if time.monotonic() > until:
            raise TimeoutError(f"no kernel is idle after {timeout_s} s")
        page.wait_for_timeout(50)


def run_cell(page: Any, number: int) -> None:
    """Start cell `number` (from 0) without waiting for its end; a key press that Lab loses is sent again."""
    prompt = page.locator(".jp-CodeCell").nth(number).locator(".jp-InputPrompt")
    before = prompt.text_content()
    for _ in range(10):
        prompt.click()
        page.keyboard.press("Control+Enter")
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            if prompt.text_content() != before:
                return
            page.wait_for_timeout(20)
    raise TimeoutError(f"cell {number} does not start")


def wait_for_cell(page: Any, number: int, timeout_s: float = 60) -> None:
    """Wait until cell `number` shows a count in its prompt."""
    prompt = page.locator(".jp-CodeCell").nth(number).locator(".jp-InputPrompt")
    until = time.monotonic() + timeout_s
    while True:
        text = (prompt.text_content() or "").strip()
        if any(c.isdigit() for c in text):
            return
        if time.monotonic() > until:
            raise TimeoutError(f"cell {number} still shows {text!r}")
        page.wait_for_timeout(50)


_EXPLORER = """async () => {
    const heard = [];
    const model = {
        get: () => undefined, set: () => {}, save_changes: () => {},
        on: (name, call) => heard.push(call), off: (name, call) => heard.splice(heard.indexOf(call), 1),
        send: async (message) => {
            for (const each of JSON.parse(await window.askKernel(JSON.stringify(message))))
                for (const call of [...heard]) call(each, []);
        },
    };
    const url = URL.createObjectURL(new Blob([window.explorerProgram], {type: 'text/javascript'}));
    const loaded = (await import(url)).default;
    const widget = typeof loaded === 'function' ? await loaded() : loaded;
    await widget.initialize?.({model});
    await widget.render({model, el: document.getElementById('explorer')});
}"""


def show_explorer(page: Any, explorer: Any) -> None:
    """The explorer's own program in a page, with its kernel here: what JupyterLab does, without JupyterLab."""
    # Imported here: scripts that draw pictures import this module from its directory.
    from display.front_end import say

    def ask(message: str) -> str:
        sent: list[Any] = []
        explorer.send = lambda content, buffers=None: sent.append(content)  # noqa: ARG005 - as the widget has it
        say(explorer, json.loads(message))
        return json.dumps(sent)

    state = explorer.get_state()
    page.expose_function("askKernel", ask)
    page.set_content(
        f"<!doctype html><html lang=en><title>Explorer</title><style>{state['_css']}</style>"
        "<main><h1>Explorer</h1><div id=explorer></div></main></html>"
    )
    page.evaluate("program => { window.explorerProgram = program; }", state["_esm"])
    page.evaluate(_EXPLORER)
