import base64
import os
import threading
from pathlib import Path

import pytest

from sourcelight.core.errors import ConfigurationError
from sourcelight.server.service.identity import (
    ANONYMOUS,
    MALFORMED,
    NO_CREDENTIAL,
    OWNER,
    OWNER_TOKEN_VARIABLE,
    SUDO,
    WRONG_TOKEN,
    Identity,
    OwnerToken,
    Refusal,
    authorize,
    identify,
    read_owner_token,
)

TOKEN = "slo_a-token-made-up-for-tests"


def _basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, ANONYMOUS),
        ("", ANONYMOUS),
        ("   ", ANONYMOUS),
        ("Digest x", ANONYMOUS),
        (TOKEN, ANONYMOUS),
        (f"token {TOKEN}", OWNER),
        (f"Token   {TOKEN}", OWNER),
        (f"Bearer {TOKEN}", OWNER),
        (f"bearer {TOKEN} ", OWNER),
        (_basic(f"{TOKEN}:"), OWNER),
        (_basic(f":{TOKEN}"), OWNER),
        ("token wrong", WRONG_TOKEN),
        ("Bearer wrong", WRONG_TOKEN),
        (_basic("wrong:"), WRONG_TOKEN),
        ("token", MALFORMED),
        ("Bearer ", MALFORMED),
        (f"token {TOKEN} {TOKEN}", MALFORMED),
        ("Basic !!", MALFORMED),
        (f'token-sudo user="x",token="{TOKEN}"', SUDO),
        ("token \udcff", WRONG_TOKEN),
    ],
)
def test_a_header_tells_who_asks(header: str | None, expected: Identity | Refusal) -> None:
    assert identify(header, OwnerToken.of(TOKEN)) == expected


def test_anonymous_readers_pass_only_where_the_service_is_public() -> None:
    owner = OwnerToken.of(TOKEN)
    assert authorize(None, owner, public=False) == NO_CREDENTIAL
    assert authorize(None, owner, public=True) == ANONYMOUS
    assert authorize("token wrong", owner, public=True) == WRONG_TOKEN


def test_a_token_is_made_once_and_only_its_hash_is_kept(tmp_path: Path) -> None:
    home = tmp_path / "a" / "home"
    first = read_owner_token(str(home), {})
    again = read_owner_token(str(home), {})
    assert (first.origin, again.origin, again.text) == ("made", "kept", "")
    assert len(first.text) > 40
    assert first.token.matches(first.text)
    assert again.token.matches(first.text)
    assert not again.token.matches(first.text + "x")
    kept = Path(first.path).read_text(encoding="ascii")
    assert first.text not in kept


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")
def test_the_file_is_for_its_user_alone_and_stays_so(tmp_path: Path) -> None:
    path = Path(read_owner_token(str(tmp_path), {}).path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    read_owner_token(str(tmp_path), {})
    assert path.stat().st_mode & 0o777 == 0o600


def test_starts_at_the_same_moment_agree_on_one_token(tmp_path: Path) -> None:
    barrier = threading.Barrier(8)
    found = []

    def start() -> None:
        barrier.wait(5)
        found.append(read_owner_token(str(tmp_path), {}))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    made = [state for state in found if state.origin == "made"]
    assert len(found) == 8
    assert len(made) == 1
    assert all(state.token.matches(made[0].text) for state in found)


def test_the_environment_comes_first_and_leaves_no_file(tmp_path: Path) -> None:
    state = read_owner_token(str(tmp_path), {OWNER_TOKEN_VARIABLE: TOKEN})
    assert (state.origin, state.text, list(tmp_path.iterdir())) == ("environment", TOKEN, [])


@pytest.mark.parametrize("token", ["short", "with blanks in between it", "ünïcode-ünïcode-ünïcode"])
def test_an_unsafe_token_of_the_environment_is_refused_without_showing_it(tmp_path: Path, token: str) -> None:
    with pytest.raises(ConfigurationError) as fault:
        read_owner_token(str(tmp_path), {OWNER_TOKEN_VARIABLE: token})
    assert token not in str(fault.value)


@pytest.mark.parametrize("content", ["", "sha256:zz", "sha256:00", "md5:" + "0" * 64])
def test_a_damaged_file_is_named_and_never_replaced_silently(tmp_path: Path, content: str) -> None:
    (tmp_path / "owner-token").write_text(content, encoding="ascii")
    with pytest.raises(ConfigurationError, match=r"owner-token.*delete it"):
        read_owner_token(str(tmp_path), {})


def test_a_home_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="ascii")
    with pytest.raises(ConfigurationError, match="can't be kept"):
        read_owner_token(str(tmp_path / "file"), {})
