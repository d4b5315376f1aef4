"""Pages that are only read: what they show, to whom, and that nothing of a repository acts on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2
import pytest

from engines.deepsearch.asking import OPEN, SECRET
from server.http.deepsearch.conftest import PASSWORD, WAIT_S, World
from server.loopback_tls import TLS
from sourcelight.server.http.pages.browser import requested_lines

QUESTION = "how is the checkout total computed"


@dataclass
class Links:
    """A conversation of ann's, and the links of its answer by repository."""

    token: str
    files: dict[str, str]


@pytest.fixture(scope="module")
def links(world: World) -> Links:
    result = world.ask_question("ann", QUESTION)
    files = [source["link"] for source in result["questions"][0]["sources"] if source["type"] == "File"]
    return Links(
        result["read_token"], {name: next(f for f in files if f.startswith(f"/{name}@")) for name in (OPEN, SECRET)}
    )


@pytest.fixture
def ann(world: World) -> Iterator[httpx2.Client]:
    with world.client("ann") as client:
        yield client


@pytest.fixture
def bob(world: World) -> Iterator[httpx2.Client]:
    with world.client("bob") as client:
        yield client


def test_every_link_of_an_answer_leads_somewhere(links: Links, ann: httpx2.Client) -> None:
    page = ann.get(f"/deepsearch/{links.token}")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    targets = set(re.findall(r'href="(/[^"]+)"', page.text))
    assert {target.partition("/-/")[2].partition("/")[0] for target in targets} >= {"blob", "page.css"}
    assert f"/{OPEN}" in targets
    assert any(target.startswith("/search?q=patterntype") for target in targets)
    for target in targets:
        assert ann.get(target).status_code == 200, target


def test_addresses_of_repositories_and_searches_have_pages(ann: httpx2.Client, bob: httpx2.Client) -> None:
    for address in (f"/{OPEN}", f"/{OPEN}@HEAD", f"/{SECRET}"):
        displayed = ann.get(address)
        assert (displayed.status_code, '<table class="entries">' in displayed.text) == (200, True), address
    for query in ("checkout", "patterntype:nls how is the checkout total computed", "patternType:keyword checkout"):
        displayed = ann.get("/search", params={"q": query, "wait": "1"})
        assert displayed.status_code == 200
        assert re.search(rf'<a href="/{OPEN}@[0-9a-f]+/-/blob/', displayed.text), query
    hostile = ann.get("/search", params={"q": '<script>alert(1)</script> "'})
    assert "<script>" not in hostile.text
    assert "&lt;script&gt;alert(1)" in hostile.text
    assert ann.get("/search", params={"q": "repo:["}).status_code == 400
    assert ann.get("/search").status_code == 200

    hidden, absent = bob.get(f"/{SECRET}"), bob.get("/no/such")
    assert (hidden.status_code, hidden.text) == (404, absent.text)
    assert SECRET not in bob.get("/search", params={"q": "checkout"}).text
    assert SECRET not in bob.get("/search", params={"q": "patterntype:nls checkout total"}).text
    assert bob.get(f"{bob.base_url}/evil.example", follow_redirects=False).status_code == 404


def test_a_conversation_is_markdown_too(links: Links, ann: httpx2.Client) -> None:
    for form in ("", "shared/"):
        page = ann.get(f"/deepsearch/{form}{links.token}.md")
        assert page.headers["content-type"] == "text/markdown; charset=utf-8"
        assert page.text.startswith("---\ntitle: ")
        assert "## Sources" in page.text


def test_the_lines_of_a_citation_are_marked(links: Links, ann: httpx2.Client) -> None:
    link = links.files[OPEN]
    first, last = requested_lines(link.partition("?")[2]) or (0, 0)
    page = ann.get(link).text
    marked_text = [int(number) for number in re.findall(r'<tr id="L(\d+)" class=hit>', page)]
    assert marked_text == list(range(first, last + 1))
    assert page.count("autofocus") == 1


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("L3-9", (3, 9)),
        ("L9-3", (3, 9)),
        ("L5", (5, 5)),
        ("L5-L7", (5, 7)),
        ("x=1&L2=", (2, 2)),
        ("L0", None),
        ("", None),
    ],
)
def test_lines_in_addresses(query: str, lines: tuple[int, int] | None) -> None:
    assert requested_lines(query) == lines


def test_a_commit_shows_who_when_why_and_what(links: Links, ann: httpx2.Client) -> None:
    commit = links.files[OPEN].partition("@")[2][:40]
    page = ann.get(f"/{OPEN}/-/commit/{commit}").text
    for text in ("Introduce carts with a checkout total", "Grace", "2023-11-14", "shop/cart.py", "class=add"):
        assert text in page


def test_what_a_reader_may_not_see_is_not_there(
    world: World, links: Links, ann: httpx2.Client, bob: httpx2.Client
) -> None:
    """The same page for an invisible repository as for an absent one; a shared conversation withholds."""
    hidden = links.files[SECRET]
    absent = bob.get(hidden.replace("vault@", "vaul@"))
    seen = bob.get(hidden)
    assert (seen.status_code, seen.text) == (404, absent.text)
    assert ann.get(hidden).status_code == 200
    commit = hidden.partition("@")[2][:40]
    assert bob.get(f"/{SECRET}/-/commit/{commit}").text == absent.text
    assert bob.get(f"/{SECRET}/-/tree/").text == absent.text
    unknown = bob.get("/deepsearch/00000000-0000-4000-8000-000000000000")
    not_shared = bob.get(f"/deepsearch/shared/{links.token}")
    assert (not_shared.status_code, not_shared.text) == (404, unknown.text)
    number = world.desk.store.by_token(links.token)
    assert number is not None
    world.desk.store.change(number.id, shared=1)
    try:
        for form in ("", "shared/"):
            for ending in ("", ".md"):
                page = bob.get(f"/deepsearch/{form}{links.token}{ending}")
                assert page.status_code == 200
                assert OPEN in page.text
                assert SECRET not in page.text
                assert "were withheld" in page.text
        world.desk.sharing = False
        assert bob.get(f"/deepsearch/shared/{links.token}").status_code == 404
    finally:
        world.desk.sharing = True
        world.desk.store.change(number.id, shared=0)


@pytest.mark.parametrize(
    "path", ["/-/blob/x", f"/{OPEN}/-/blob/../../../etc/passwd", f"/{OPEN}@nothing/-/blob/shop/cart.py"]
)
def test_what_is_not_there_is_not_found(ann: httpx2.Client, path: str) -> None:
    assert ann.get(path).status_code == 404


def test_pages_have_a_policy_that_runs_nothing_inline(links: Links, ann: httpx2.Client) -> None:
    # The page with an owner's forms names itself to its own service, which checks where a form comes from.
    for path, referrer in (
        (f"/deepsearch/{links.token}", "same-origin"),
        (links.files[OPEN], "no-referrer"),
        ("/nothing@x/-/blob/y", "no-referrer"),
    ):
        headers = ann.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "private, no-store"
        assert headers["referrer-policy"] == referrer


def test_a_signed_in_browser_reads_pages_and_nothing_else(world: World, links: Links) -> None:
    with httpx2.Client(base_url=world.service.url, timeout=WAIT_S, trust_env=False, verify=TLS) as browser:
        page = browser.get(links.files[SECRET])
        assert page.status_code == 401
        sign_in = re.search(r'href="(/\.auth/sign-in\?to=[^"]+)"', page.text)
        assert sign_in is not None
        form = browser.get(sign_in[1]).text
        fields = dict(re.findall(r'name="(mark|request|to)" value="([^"]*)"', form))
        assert fields["to"] == links.files[SECRET]
        signed = browser.post("/.auth/sign-in", data={**fields, "name": "ann", "password": PASSWORD})
        assert (signed.status_code, signed.headers["location"]) == (303, links.files[SECRET])
        cookies = {item.partition("=")[0]: item for item in signed.headers.get_list("set-cookie")}
        assert "Path=/.auth" in cookies["sourcelight-session"]
        assert "Path=/;" in f"{cookies['sourcelight-reader']};"
        assert "HttpOnly" in cookies["sourcelight-reader"]
        assert "SameSite=strict" in cookies["sourcelight-reader"]
        assert browser.get(links.files[SECRET]).status_code == 200
        assert browser.get(f"/deepsearch/{links.token}").status_code == 200
        assert browser.get("/.api/deepsearch/v1", headers={"X-Requested-With": "x"}).status_code == 401
        assert browser.get("/.api/search/stream?q=x").status_code == 401
        reader = browser.cookies["sourcelight-reader"]
        forged = {"Cookie": f"sourcelight-reader={reader[:-1]}{'0' if reader[-1] != '0' else '1'}"}
        signed_page = browser.get("/.auth/sign-in").text
        mark = re.search(r'name="mark" value="([^"]*)"', signed_page)
        assert mark is not None
        with httpx2.Client(base_url=world.service.url, timeout=WAIT_S, trust_env=False, verify=TLS) as other:
            assert other.get(links.files[SECRET], headers=forged).status_code == 401
            headers = {"Cookie": f"sourcelight-reader={reader}"}
            assert other.get(links.files[SECRET], headers=headers).status_code == 200
            assert "Signed in as" not in other.get("/.auth/sign-in", headers=headers).text
            browser.post("/.auth/sign-out", data={"mark": mark[1]})
            assert other.get(links.files[SECRET], headers=headers).status_code == 401
        assert browser.get(links.files[SECRET]).status_code == 401


@pytest.mark.parametrize(
    "to", ["//evil.example", "https://evil.example/", "/\\evil.example", "evil", "/a/../..//evil.example"]
)
def test_signing_in_leads_nowhere_else(world: World, to: str) -> None:
    with httpx2.Client(base_url=world.service.url, timeout=WAIT_S, trust_env=False, verify=TLS) as browser:
        form = browser.get("/.auth/sign-in", params={"to": to}).text
        assert 'name="to"' not in form
        mark = re.search(r'name="mark" value="([^"]*)"', form)
        assert mark is not None
        data = {"mark": mark[1], "request": "", "name": "ann", "password": PASSWORD, "to": to}
        assert browser.post("/.auth/sign-in", data=data).headers["location"] == "sign-in"
        assert browser.get("/.auth/sign-in", params={"to": to}).status_code == 200
