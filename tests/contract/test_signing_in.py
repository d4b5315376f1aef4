"""Signing in to the real service from a client, with a person at its pages."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

import sourcelight as sl
from contract.conftest import TOKEN
from server.oauth.flow import Flow
from sourcelight.backends.remote.sign_in.tokens import TokenCache

HUB = "example.org/tidewatch/hub"


@pytest.fixture
def flow(service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flow]:
    """A browser at the service; tokens are kept in a folder of their own."""
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path))
    flow = Flow(service)
    with flow.browser:
        yield flow


class Person:
    """Opens the address, signs in with the owner's token, and decides; leaving it waits until the last page is read."""

    def __init__(self, flow: Flow, decision: str = "allow", token: str = TOKEN) -> None:
        self._flow = flow
        self._token = token
        self._decision = decision
        self._reading: list[threading.Thread] = []
        self.addresses: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._reading:
            thread.join(20)
            assert not thread.is_alive()

    def __call__(self, address: str) -> bool:
        self.addresses.append(address)
        self._reading.append(threading.Thread(target=self._decide, args=(address,), daemon=True))
        self._reading[-1].start()
        return True

    def _decide(self, address: str) -> None:
        page = self._flow.follow(self._flow.browser.get(address))
        if "Sign in" in page.text:
            page = self._flow.follow(self._flow.sign_in(page, "owner", self._token))
        back = self._flow.decide(page, self._decision)
        self._flow.browser.get(back.headers["location"])


def test_tools_answer_a_client_that_signed_in_and_searches_say_why_they_do_not(flow: Flow, embedded: sl.Client) -> None:
    with Person(flow) as person:
        with sl.connect(flow.url, sign_in=True, open_browser=person, sign_in_timeout_s=20) as code:
            assert list(code.list_files(HUB)["path"]) == list(embedded.list_files(HUB)["path"])
            with pytest.raises(sl.Forbidden):
                code.search("x")
            with pytest.warns(sl.IncompleteResultWarning, match="refuses this credential"):
                assert len(code.keyword_search("e")) > 0
        with sl.connect(flow.url, sign_in=True, open_browser=person) as code:
            assert len(code.list_repos()) > 3
        assert len(person.addresses) == 1
        sl.sign_out(flow.url)
        with sl.connect(flow.url, sign_in=True, open_browser=person, sign_in_timeout_s=20) as code:
            assert len(code.list_repos()) > 3
        assert len(person.addresses) == 2


def test_an_old_token_is_renewed_and_the_new_one_is_kept(flow: Flow) -> None:
    with Person(flow) as person, sl.connect(flow.url, sign_in=True, open_browser=person, sign_in_timeout_s=20) as code:
        cache = TokenCache(flow.url, scope="mcp")
        client, tokens = cache.load()
        assert client is not None
        assert tokens is not None
        old = type(tokens)(tokens.access, tokens.refresh, time.time() - 1, tokens.scope)
        cache.store(client, old)
    with sl.connect(flow.url, sign_in=True) as code:
        assert len(code.list_repos()) > 3
    _, new = cache.load()
    assert new is not None
    assert new.access != tokens.access
    assert new.refresh != tokens.refresh


def test_a_person_who_denies_is_an_error(flow: Flow) -> None:
    with Person(flow, "deny") as person, pytest.raises(sl.SignInFailed, match="access_denied"):
        sl.connect(flow.url, sign_in=True, open_browser=person, sign_in_timeout_s=20)
