"""Which redirect addresses are accepted, and which one matches which."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcelight.server.oauth.addresses import form_source, is_local, matches, redirect_host, redirect_problem

ACCEPTED = [
    "https://app.example/callback",
    "https://app.example:8443/cb?x=1",
    "http://localhost:3334/oauth/callback",
    "http://127.0.0.1/cb",
    "http://[::1]:9/cb",
    "com.example.app:/oauth",
    "cursor://place/oauth/callback",
    "vscode://vendor.extension/cb",
]
REFUSED = [
    "",
    "/callback",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://a/b",
    "http://app.example/cb",
    "http://localhost.evil.example/cb",
    "http://127.0.0.1.evil.example/cb",
    "http://localhost@evil.example/cb",
    "http://user@localhost/cb",
    "http://0.0.0.0/cb",
    "https:///cb",
    "https://app.example/cb#part",
    "https://app.example/cb#",
    "https://app.example/c b",
    "https://app.example/cb\n",
    "https://app.example\\@evil.example/",
    "https://app.example:x/",
    "https://åpp.example/cb",
    "urn:ietf:wg:oauth:2.0:oob",
    "https://app.example/" + "a" * 2000,
    "my_app:/cb",
]


@pytest.mark.parametrize("uri", ACCEPTED)
def test_addresses_of_applications_are_accepted(uri: str) -> None:
    assert redirect_problem(uri) == ""
    assert matches(uri, uri)


@pytest.mark.parametrize("uri", REFUSED)
def test_addresses_that_run_show_or_leak_are_refused(uri: str) -> None:
    assert redirect_problem(uri) != ""
    assert not matches(uri, uri)
    assert form_source(uri) == ""


@pytest.mark.parametrize(
    ("registered", "address", "expected"),
    [
        ("http://localhost:3334/cb", "http://localhost:1/cb", True),
        ("http://localhost/cb", "http://localhost:65535/cb", True),
        ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", True),
        ("http://[::1]:1/cb", "http://[::1]:2/cb", True),
        ("http://localhost:1/cb", "http://127.0.0.1:1/cb", False),
        ("http://localhost:1/cb", "http://localhost:1/cb/", False),
        ("http://localhost:1/cb", "http://localhost:1/cb?x=1", False),
        ("http://localhost:1/cb", "http://localhost:1/cb/../x", False),
        ("http://localhost:1/cb", "http://localhost:1/CB", False),
        ("http://localhost:1", "http://localhost:2/", True),
        ("http://localhost:1/", "http://localhost:2/?", False),
        ("https://localhost:1/cb", "https://localhost:2/cb", False),
        ("https://app.example/cb", "https://app.example:443/cb", True),
        ("https://app.example/cb", "https://APP.example/cb", True),
        ("https://app.example/cb", "https://app.example:444/cb", False),
        ("https://app.example/cb", "https://sub.app.example/cb", False),
        ("https://app.example/cb", "http://app.example/cb", False),
        ("https://app.example/cb", "https://app.example/cb%2e", False),
        ("cursor://a/cb", "cursor://b/cb", False),
        ("cursor://a/cb", "cursor://a/cb", True),
    ],
)
def test_an_address_matches_exactly_but_for_the_port_of_this_machine(
    registered: str, address: str, *, expected: bool
) -> None:
    assert matches(registered, address) is expected


_HOSTS = st.sampled_from(["localhost", "127.0.0.1", "[::1]", "app.example", "evil.example", "localhost.evil.example"])
_PORTS = st.one_of(st.none(), st.integers(1, 65535))
_PATHS = st.text(string.ascii_letters + "/%.-_~", max_size=12)
_ADDRESSES = st.builds(
    lambda scheme, host, port, path, query: (
        f"{scheme}://{host}{'' if port is None else f':{port}'}/{path}{'' if query is None else f'?{query}'}"
    ),
    st.sampled_from(["http", "https", "app", "javascript"]),
    _HOSTS,
    _PORTS,
    _PATHS,
    st.one_of(st.none(), st.text(string.ascii_letters + "=&", max_size=6)),
)


@given(registered=_ADDRESSES, address=_ADDRESSES, port=st.integers(1, 65535))
def test_what_matches_differs_in_nothing_but_a_loopback_port(registered: str, address: str, port: int) -> None:
    if matches(registered, address):
        assert redirect_problem(address) == ""
        assert redirect_host(registered).rsplit(":", 1)[0] == redirect_host(address).rsplit(":", 1)[0] or is_local(
            address
        )
        remaining = [address.split("://")[1].partition("/")[2] for address in (registered, address)]
        assert remaining[0] == remaining[1]
        assert matches(address, registered)
    local = f"http://localhost:{port}/cb"
    assert matches("http://localhost:3334/cb", local)
    assert not matches(registered, local) or registered.startswith("http://localhost")


@given(st.text(max_size=60))
def test_any_text_is_judged_and_a_policy_never_grows_by_it(text: str) -> None:
    source = form_source(text)
    assert bool(source) == (redirect_problem(text) == "")
    assert not set(source) & set(" ;,'\"*")
