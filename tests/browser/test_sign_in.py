"""Signing in and allowing an application in a real browser, with its content policy and its cookies."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from browser import lab
from server.oauth.flow import CALLBACK, PASSWORD, Flow
from server.running_service import ScriptedEngine, running
from sourcelight.repos.state import ScryptCost, State

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium"),
]


class _Application(BaseHTTPRequestHandler):
    """An application on this machine that waits for its code."""

    answers: list[str] = []  # noqa: RUF012 - shared by all requests on purpose

    def do_GET(self) -> None:
        """Note what is told."""
        if urlsplit(self.path).path == "/oauth/callback":
            self.answers.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>done</title><p>You may close this page.")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Stay quiet."""


@pytest.fixture(scope="module")
def application() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Application)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}/oauth/callback"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@pytest.fixture(scope="module")
def flow() -> Iterator[Flow]:
    with State(cost=ScryptCost(2, 1, 1)) as state:
        state.accounts.create("ann", PASSWORD)
        with running(ScriptedEngine(lambda *_: iter(())), state=state) as service:
            flow = Flow(service.url)
            with flow.browser:
                yield flow


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_user_signs_in_by_keyboard_and_allows_an_application(flow: Flow, application: str, scheme: str) -> None:
    _Application.answers.clear()
    client = flow.client(redirect_uris=[CALLBACK])
    address = str(flow.ask(client, redirect_uri=application).request.url)
    with lab.chromium_page() as page:
        page.emulate_media(color_scheme=scheme)
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        assert page.title() == "Sign in · sourcelight"
        assert page.evaluate("document.activeElement.id") == "name"
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(int(part) for part in dark.strip("rgb()").split(",")) < 200) is (scheme == "dark")
        page.keyboard.type("ann")
        page.keyboard.press("Tab")
        page.keyboard.type(PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url("**/consent?**")
        assert page.get_by_role("heading", level=1).inner_text() == "Allow Lamp reader to use your account?"
        assert page.evaluate("document.cookie") == ""
        assert page.evaluate("[...document.querySelectorAll('button')].every(b => b.offsetHeight >= 20)")
        page.get_by_role("button", name="Allow").click()
        page.wait_for_url(f"{application}**")
        assert page.title() == "done"
        assert complaints == []
    (redirect,) = _Application.answers
    code = parse_qs(urlsplit(redirect).query)["code"][0]
    assert flow.exchange(client, code, redirect_uri=application).status_code == 200


def test_a_wrong_password_is_told_and_a_page_in_a_frame_is_not_shown(flow: Flow, application: str) -> None:
    address = str(flow.ask(flow.client(), redirect_uri=application).request.url)
    with lab.chromium_page() as page:
        page.goto(address)
        page.get_by_label("Account").fill("ann")
        page.get_by_label("Password or access token").fill("not the password")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("alert").wait_for()
        assert page.get_by_label("Account").input_value() == "ann"
        assert page.get_by_label("Password or access token").input_value() == ""
        assert _contrast(page, ".fault") >= 4.5
        page.goto(application.replace("/oauth/callback", "/page"))
        page.evaluate(
            "url => { const f = document.createElement('iframe'); f.src = url; document.body.append(f); }", address
        )
        page.wait_for_function("window.frames.length === 1")
        page.wait_for_load_state("networkidle")
        assert all("Sign in to" not in _text_of(frame) for frame in page.frames)


def _text_of(frame: Any) -> str:
    return str(frame.evaluate("document.body ? document.body.innerText : ''"))


def _contrast(page: Any, selector: str) -> float:
    """The contrast of a text to the card behind it (WCAG 2.2, 1.4.3)."""
    colours = page.evaluate(
        "s => [getComputedStyle(document.querySelector(s)).color,"
        "getComputedStyle(document.querySelector('main')).backgroundColor]",
        selector,
    )

    def luminance(text: str) -> float:
        parts = [int(part) / 255 for part in text.strip("rgb()").split(",")]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    start, end = sorted(luminance(colour) for colour in colours)
    return (end + 0.05) / (start + 0.05)
