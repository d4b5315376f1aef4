"""The owner's first token."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from sourcelight.core.errors import ConfigurationError
from sourcelight.repos.state import FILE_NAME, State
from sourcelight.server.identity import (
    OWNER_TOKEN_VARIABLE,
    Authenticator,
    OwnerTokenState,
    Principal,
    make_owner_token,
    read_owner_token,
)

TOKEN = "slo_a-token-made-up-for-tests"


def _recognised(state: State, token: str) -> bool:
    authenticator = Authenticator(state).authenticate({"authorization": f"token {token}"})
    return isinstance(authenticator, Principal) and authenticator.account == "owner"


def _start(state: State, home: Path, environ: Mapping[str, str] | None = None) -> OwnerTokenState:
    return make_owner_token(state, read_owner_token(state, str(home), environ or {}))


def test_a_token_is_made_once_and_never_kept(tmp_path: Path) -> None:
    path = tmp_path / "a" / "home" / FILE_NAME
    with State(str(path)) as state:
        first = _start(state, tmp_path)
        repeated = _start(state, tmp_path)
        assert (first.origin, repeated.origin, repeated.text) == ("made", "kept", "")
        assert len(first.text) > 40
        assert _recognised(state, first.text)
        assert not _recognised(state, first.text + "x")
    for file in path.parent.iterdir():
        assert first.text.encode() not in file.read_bytes()


def test_a_new_one_is_made_when_the_former_is_revoked(tmp_path: Path) -> None:
    with State() as state:
        first = _start(state, tmp_path)
        state.tokens.revoke(state.tokens.all("owner")[0].id)
        second = _start(state, tmp_path)
        assert second.origin == "made"
        assert not _recognised(state, first.text)
        assert _recognised(state, second.text)


def test_starts_at_the_same_moment_agree_on_one_token(tmp_path: Path) -> None:
    barrier = threading.Barrier(6)
    results = []

    def start() -> None:
        barrier.wait(5)
        with State(str(tmp_path / FILE_NAME)) as state:
            results.append(_start(state, tmp_path))

    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert [item.origin for item in results].count("made") == 1
    assert len(results) == 6


def test_the_environment_comes_first_and_is_not_kept(tmp_path: Path) -> None:
    with State() as state:
        owner_token = _start(state, tmp_path, {OWNER_TOKEN_VARIABLE: TOKEN})
        assert (owner_token.origin, owner_token.text) == ("environment", TOKEN)
        assert owner_token.token is not None
        assert owner_token.token.matches(TOKEN)
        assert state.tokens.all() == []


def test_the_file_of_an_earlier_version_is_taken_over(tmp_path: Path) -> None:
    file = tmp_path / "owner-token"
    file.write_text(f"sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}\n", encoding="ascii")
    with State() as state:
        assert _start(state, tmp_path).origin == "kept"
        assert not file.exists()
        assert _recognised(state, TOKEN)
        assert [token.note for token in state.tokens.all("owner")] == ["taken over from the file owner-token"]


@pytest.mark.parametrize("token", ["short", "with blanks in between it", "ünïcode-ünïcode-ünïcode"])
def test_an_unsafe_token_of_the_environment_is_refused_without_showing_it(tmp_path: Path, token: str) -> None:
    with State() as state, pytest.raises(ConfigurationError) as error:
        read_owner_token(state, str(tmp_path), {OWNER_TOKEN_VARIABLE: token})
    assert token not in str(error.value)


@pytest.mark.parametrize("content", ["", "sha256:zz", "sha256:00", "md5:" + "0" * 64])
def test_a_damaged_file_is_named_and_never_replaced_silently(tmp_path: Path, content: str) -> None:
    (tmp_path / "owner-token").write_text(content, encoding="ascii")
    with State() as state, pytest.raises(ConfigurationError, match=r"owner-token.*delete it"):
        read_owner_token(state, str(tmp_path), {})
