"""Pages of a hostile repository in a real browser: nothing runs, nothing is fetched, lines stand out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import httpx2
import pytest

from browser import lab
from server.loopback_tls import TLS
from server.running_service import running
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import Viewer
from sourcelight.repos.state import ScryptCost, State
from sourcelight.testing import RepositoryBuilder

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium"),
]
NAME, PASSWORD = "example.org/evil/lamp", "a password of some length"
ACT = "<img src=x onerror=\"document.title='acted'\"><script>document.title='acted'</script>"
CODE = f'''def light_the_lamp():
    """Light the lamp. {ACT} [click](javascript:document.title='acted') `x` ![p](https://evil.example/p.png)"""
    return "{ACT.replace('"', "'")}"  # \u202e hidden
'''
_OUTPUT = {"output_type": "display_data", "metadata": {}, "data": {"text/plain": ACT, "text/html": ACT}}
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [_OUTPUT], "source": CODE},
            {"cell_type": "markdown", "metadata": {}, "source": f"{ACT} ![p](https://evil.example/p.png)"},
        ],
        "metadata": {"language_info": {"name": ACT}},
        "nbformat": 4,
    }
)


@dataclass
class Place:
    """The service, and the addresses of its pages."""

    url: str
    conversation: str
    pages: list[str]


@pytest.fixture(scope="module")
def location(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("hostile")
    repository = RepositoryBuilder(folder / "lamp", origin=f"https://{NAME}.git")
    odd = "a<b onclick=x>&'.py"
    commit = repository.commit(
        {"lamp.py": CODE, odd: CODE, "README.md": f"# Lamp\n\nLight the lamp. {ACT}\n", "lamp.ipynb": NOTEBOOK},
        f"light {ACT}",
    )
    engine = open_engine([folder], index=folder / "index", workers=1)
    with State(cost=ScryptCost(2, 1, 1)) as state, closing(ConversationService(state)) as desk:
        state.accounts.create("ann", PASSWORD)
        with running(engine, state=state, conversations=desk) as service:
            context = ToolContext(engine, Viewer("ann", sees_private=False), conversations=desk)
            answer = desk.ask("who wrote light_the_lamp and how is the lamp lit", context).attributes
            assert "light_the_lamp" in answer["answer"]
            base = f"/{NAME}@{commit}/-"
            pages = [
                f"{answer['url']}", f"{base}/blob/lamp.py?L2-3", f"{base}/tree/", f"/{NAME}/-/commit/{commit}",
                f"{base}/blob/a%3Cb%20onclick=x%3E&'.py?L1", f"{base}/blob/lamp.ipynb?cell=1#cell-1-L2",
            ]  # fmt: skip
            yield Place(service.url, answer["url"], pages)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_reader_signs_in_and_nothing_acts(location: Place, scheme: str) -> None:
    with lab.chromium_page() as page:
        page.emulate_media(color_scheme=scheme)
        requests: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(location.url + location.conversation)
        complaints.clear()  # the browser tells of the status 401
        page.get_by_role("link", name="Sign in").click()
        page.get_by_label("Account").fill("ann")
        page.get_by_label("Password or access token").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url(location.url + location.conversation)
        for address in location.pages:
            answer = page.goto(location.url + address)
            assert answer is not None
            assert answer.status == 200, address
            assert page.title() != "acted"
            assert (
                page.locator(
                    "script:not([src='/-/page.js']), img, iframe, [onclick], [onerror], [style], a[href^='javascript']"
                ).count()
                == 0
            )
            colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (sum(int(part) for part in colour.strip("rgb()").split(",")) < 200) is (scheme == "dark")
            assert page.get_by_role("heading", level=1).count() == 1
        page.goto(location.url + location.pages[1])
        assert page.locator("tr.hit").count() == 2
        assert page.evaluate("document.activeElement.textContent") == "2"
        assert "\u27e8U+202E\u27e9" in page.locator("#L3").inner_text()
        assert all(url.startswith(location.url) for url in requests)
        assert complaints == []
        page.goto(location.url + location.conversation)
        page.get_by_role("link", name="lamp.py", exact=False).first.click()
        page.wait_for_url("**/-/blob/**")


def test_a_page_is_not_read_by_another_site(location: Place) -> None:
    with httpx2.Client(base_url=location.url, trust_env=False, verify=TLS) as client:
        assert client.get(location.pages[1]).status_code == 401
        assert client.get(location.pages[1]).headers["cross-origin-resource-policy"] == "same-origin"
