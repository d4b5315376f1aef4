"""Lists of addresses are written by others: each line stands for itself, within limits."""

from __future__ import annotations

import io

import pytest

from sourcelight.core.errors import RepositoryError
from sourcelight.repos.mirrors.remotes import AddressList, read_addresses


def read(text: str | bytes, *, allow_local: bool = False) -> AddressList:
    return read_addresses(io.BytesIO(text if isinstance(text, bytes) else text.encode()), allow_local=allow_local)


def test_each_address_counts_once_and_keeps_its_credentials_apart() -> None:
    listing = read(
        "\ufeff# ours\r\n\r\nhttps://me:t0ken@h.org/a/b\r\n  git@h.org:a/c.git  \n#https://h.org/x\nhttps://h.org/a/b\n"
    )
    assert listing.addresses == {
        "https://h.org/a/b": "https://me:t0ken@h.org/a/b",
        "git@h.org:a/c.git": "git@h.org:a/c.git",
    }
    assert listing.rejected == {}


@pytest.mark.parametrize(
    "line",
    [
        "--upload-pack=touch x", "-oProxyCommand=x", "ext::sh -c x", "t0ken", "https://h.org/a?private_token=t0ken",
        "me:t0ken@h.org/a/b", "http://me:t0ken@h.org/a", "https://me:t0ken@h.org:port/a", "https://h.org/a\x00t0ken",
        "/etc", "file:///srv/t0ken", ".", "~/t0ken", "https://h.org/" + "a" * 3000, b"https://h.org/\xff",
    ],
)  # fmt: skip
def test_a_line_that_is_no_address_costs_that_line_and_is_not_repeated(line: str | bytes) -> None:
    text = line if isinstance(line, bytes) else line.encode()
    listing = read(b"https://h.org/a\n" + text + b"\nhttps://h.org/b\n")
    assert list(listing.addresses) == ["https://h.org/a", "https://h.org/b"]
    assert list(listing.rejected) == [2]
    assert "t0ken" not in listing.rejected[2]


def test_directories_of_this_machine_count_where_the_operator_allows_it() -> None:
    assert list(read("file:///srv/app\n", allow_local=True).addresses) == ["file:///srv/app"]
    assert "--allow-local" in read("file:///srv/app\n").rejected[1]


@pytest.mark.parametrize(
    ("text", "reason"), [(b"#" * (5 << 20), "4,194,304 bytes"), (b"x\n" * 10_001, "10,000 addresses")]
)
def test_a_list_beyond_its_limits_is_refused_whole(text: bytes, reason: str) -> None:
    with pytest.raises(RepositoryError, match=reason):
        read(text)
