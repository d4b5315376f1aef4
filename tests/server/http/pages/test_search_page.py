"""The search page without a browser: what it shows, who may see it, its files, and hostile text."""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx2
import pandas as pd
import pytest

from server.loopback_tls import TLS
from server.running_service import Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.core.wire.events import Done, Progress, Skipped
from sourcelight.core.wire.sse import SseDecoder
from sourcelight.repos import ServicePolicy
from sourcelight.repos.state import State
from sourcelight.server.http.pages.search_view import SearchView
from sourcelight.server.http.pages.suggestions import MAX_SUGGESTIONS, suggest
from sourcelight.server.http.settings import Settings
from sourcelight.testing import RepositoryBuilder

OPEN, SECRET = "example.org/acme/web", "example.org/acme/payments"
ACT = "<img src=x onerror=alert(1)>"
ODD = f"a{ACT.replace('/', '')}.py"


@pytest.fixture(scope="module")
def state() -> Iterator[State]:
    with State() as state:
        state.accounts.create("ann")
        yield state


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, state: State) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("pages")
    web = RepositoryBuilder(folder / "web", origin=f"https://{OPEN}.git")
    web.commit(
        {"a.py": f"def needle():\n    return '{ACT}'\n\n=1+1 needle\n", ODD: f"needle = '{ACT}'\n"}, f"add {ACT}"
    )
    RepositoryBuilder(folder / "pay", origin=f"https://{SECRET}.git").commit({"b.py": "secret needle\n"}, "pay")
    (folder / "repos.toml").write_text(
        f'[repositories."{SECRET}"]\nprivate = true\n[repositories."{OPEN}"]\nprivate = false\n'
    )
    engine = open_engine([folder], index=folder / "index", policy=ServicePolicy(state.repositories, "", ()), workers=1)
    with running(engine, Settings(auth_public=True), state=state) as service:
        yield service
    engine.close()


def get(service: Service, path: str, headers: dict[str, str] | None = None, **params: str) -> httpx2.Response:
    with httpx2.Client(base_url=service.url, timeout=30, trust_env=False, headers=headers, verify=TLS) as client:
        return client.get(path, params=params or None)


def text_of(page: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", page))


class _Acting(HTMLParser):
    """Collects what could act: elements that load or run, handlers of events, styles, and addresses of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"script", "img", "iframe", "object", "embed", "style", "svg", "base"}:
            self.parts.append(tag)
        self.parts += [name for name, _ in attrs if name.startswith("on") or name in {"style", "srcdoc"}]
        self.parts += [str(value) for name, value in attrs if name == "href" and str(value)[:1] not in "/#"]


def acting_parts(page: str) -> list[str]:
    parser = _Acting()
    parser.feed(page)
    return parser.parts


def test_results_have_marks_lines_links_counts_and_facets(service: Service) -> None:
    page = get(service, "/search", q="needle lang:python", wait="1").text
    assert "<mark>needle</mark>" in page
    assert 'data-status="complete"' in page
    assert "3 matches in 1 repository" in text_of(page)
    assert re.search(rf'href="/{OPEN}@[0-9a-f]{{40}}/-/blob/a\.py\?L1"', page)
    assert re.search(r'href="/search\?q=needle%20lang%3Apython%20repo[^"]*"', page)
    assert 'value="needle lang:python"' in page


def test_kinds_of_results_are_shown(service: Service) -> None:
    assert ">needle</code>" in get(service, "/search", q="type:symbol needle", wait="1").text
    commits = get(service, "/search", q="type:commit add", wait="1").text
    assert re.search(rf'href="/{OPEN}/-/commit/[0-9a-f]{{40}}"', commits)
    assert 'class="add"' in get(service, "/search", q="type:diff needle", wait="1").text.replace(
        "class=add", 'class="add"'
    )
    assert f"/{OPEN}" in get(service, "/search", q="type:repo acme", wait="1").text


def test_a_query_that_cannot_run_says_why_and_stays_in_the_box(service: Service) -> None:
    page = get(service, "/search", q="/(/").text
    assert "This query can't run" in text_of(page)
    assert "missing closing )" in text_of(page)
    assert 'value="/(/"' in page


@pytest.mark.parametrize("kind", ["bogus", "codycontext", "regex", "<b>"])
def test_an_unknown_pattern_type_is_refused_and_not_read_as_another(service: Service, kind: str) -> None:
    for path in ("/search", "/search/export"):
        answer = get(service, path, q="needle", patternType=kind)
        assert answer.status_code == 400, path
        assert f'unrecognized patternType "{kind}"' in text_of(answer.text), path
    assert "<b>" not in answer.text


def test_a_query_is_not_cut(service: Service) -> None:
    query = "needle " + "x" * 12_000 + " OR def"
    answer = get(service, "/search", q=query)
    assert "1 match" in text_of(answer.text), "the end of the query has the only term that matches"
    assert query in unescape(answer.text)


def test_hostile_text_stays_text(service: Service) -> None:
    for query in ("needle", "type:commit add", "type:diff needle", ACT, f'"{ACT}"', "type:path a<img"):
        for path in ("/search", "/search/live"):
            answer = get(service, path, q=query, wait="1")
            page = "".join(json.loads(e.data)["html"] for e in SseDecoder().feed(answer.content)) or answer.text
            assert "img" in page  # the text is there
            assert acting_parts(page) in ([], ["script"])


def test_pages_run_the_script_of_the_service_alone(service: Service) -> None:
    answer = get(service, "/search", q="needle")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; connect-src 'self';" in policy
    assert "unsafe" not in policy
    assert re.findall(r"<script[^>]*>", answer.text) == ['<script src="/-/page.js" defer>']
    assert acting_parts(answer.text) == ["script"]
    script = get(service, "/-/page.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert len(script.content) < 60_000
    assert not re.search(r"https?://", script.text)


def test_private_repositories_are_not_shown_to_others(service: Service, state: State) -> None:
    owner = dict(service.client.headers)
    ann = {"Authorization": f"token {state.tokens.create('ann')[1]}"}
    for headers in ({}, ann):
        for path in ("/search", "/search/live", "/search/export", "/search/suggestions"):
            params = {"q": "repo:pay"} if path.endswith("suggestions") else {"q": "needle count:all", "wait": "1"}
            assert "payments" not in get(service, path, headers, **params).text
        assert "payments" not in get(service, "/search", headers).text
    assert "secret " in text_of(get(service, "/search", owner, q="needle", wait="1").text)
    assert "payments" in get(service, "/search/suggestions", owner, q="repo:pay").text


def test_a_live_search_sends_states_and_the_last_is_the_page(service: Service) -> None:
    answer = get(service, "/search/live", q="needle")
    assert answer.headers["content-type"].startswith("text/event-stream")
    states = [json.loads(event.data) for event in SseDecoder().feed(answer.content)]
    assert [state["done"] for state in states] == [False] * (len(states) - 1) + [True]
    times = re.compile(r"[\d,]+ ms")
    page = get(service, "/search", q="needle", wait="1").text
    assert times.sub("", states[-1]["html"]) in times.sub("", page)


def test_a_cookie_opens_pages_and_no_interface_and_not_for_other_sites(service: Service, state: State) -> None:
    session = state.sessions.start("ann")
    cookie = {"Cookie": f"sourcelight-reader={state.sessions.reader(session)}"}
    state.grants.add(SECRET, account="ann")
    try:
        for site, mode, dest, sees in (
            ("same-origin", "cors", "empty", True),
            ("none", "navigate", "document", True),
            ("cross-site", "navigate", "document", False),  # a link of another site: opened again by our own page
            ("cross-site", "no-cors", "script", False),
            ("cross-site", "navigate", "iframe", False),
            ("same-site", "cors", "empty", False),
        ):
            headers = cookie | {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
            result = "payments" in get(service, "/search/live", headers, q="needle").text
            assert result is sees, (site, mode, dest)
        assert "payments" not in get(service, "/.api/search/stream", cookie, q="needle").text
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        opening = get(service, "/search", link, q="needle")
        assert (opening.headers["refresh"], "needle" in opening.text) == ("0", False)
        # A browser that calls its own second look foreign is not sent in circles.
        referred = link | {"Referer": f"{service.url}/search?q=needle"}
        assert "refresh" not in get(service, "/search", referred, q="needle").headers
    finally:
        for grant in state.grants.all():
            state.grants.remove(grant.repository, account="ann")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_matches_are_exported(service: Service, kind: str) -> None:
    answer = get(service, "/search/export", q="needle", format=kind)
    assert answer.headers["content-disposition"] == f'attachment; filename="matches.{kind}"'
    assert answer.headers["x-sourcelight-status"] == "complete"
    read: Any = {"csv": pd.read_csv, "jsonl": lambda f: pd.read_json(f, lines=True), "parquet": pd.read_parquet}[kind]
    frame = read(io.BytesIO(answer.content))
    assert sorted(frame["line_number"].dropna().astype(int)) == [1, 1, 4]
    if kind == "csv":
        assert "'=1+1 needle" in list(frame["line"])  # no formula for a spreadsheet


def test_a_cut_file_is_named_so(service: Service) -> None:
    answer = get(service, "/search/export", q="needle count:1")
    assert "matches-partial.csv" in answer.headers["content-disposition"]


def test_a_search_opens_as_a_notebook_that_holds_the_query_as_text(service: Service) -> None:
    query = 'x\'); import os\n""" \\'
    answer = get(service, "/search/notebook", q=query)
    (cell,) = answer.json()["cells"]
    calls = [node for node in ast.walk(ast.parse("".join(cell["source"]))) if isinstance(node, ast.Call)]
    (search,) = [call for call in calls if ast.unparse(call.func) == "code.search"]
    assert [ast.literal_eval(argument) for argument in search.args] == [query]
    assert len(calls) == 2


def test_each_result_is_a_call_and_a_notebook(service: Service) -> None:
    for query, method in (
        ("needle", "read_file"),
        ("type:commit add", "commit_details"),
        ("type:repo web", "list_files"),
    ):
        page = get(service, "/search", q=query, wait="1").text
        for result in page.split('<article class="result">')[1:]:
            program = re.search(r'<pre id="python-\d+" tabindex="0">(.*?)</pre>', result, re.DOTALL)
            link = re.search(r'<a href="([^"]+)">Open in a notebook', result)
            assert program is not None
            assert link is not None
            text = text_of(program[1])
            assert f"code.{method}('{OPEN}'" in text
            ast.parse(text)
            (cell,) = get(service, unescape(link[1])).json()["cells"]
            assert f"code.{method}('{OPEN}'" in "".join(cell["source"])


def test_the_page_of_no_query_lists_repositories(service: Service) -> None:
    page = get(service, "/search").text
    assert f'href="/{OPEN}/-/tree/"' in page
    assert "Search code" in page


def test_suggestions_are_filters_their_values_and_names() -> None:
    def texts(query: str, names: tuple[str, ...] = ()) -> list[str]:
        return [item["text"] for item in suggest(query, names)]

    assert texts("retry la") == ["retry lang:"]
    assert texts("-fi") == ["-file:"]
    assert "-count:" not in texts("-cou")
    assert texts("lang:pyth")[0] == "lang:Python "
    assert texts("x repo:web", (OPEN, SECRET)) == [r"x repo:^example\.org/acme/web$ "]
    assert texts("case:") == ["case:yes ", "case:no "]
    assert texts("nothing:x") == texts("") == texts("retry ") == []
    assert len(texts("lang:")) == MAX_SUGGESTIONS
    assert suggest("a" * 100_000, ()) == []


def test_a_page_that_shows_a_part_says_so(tmp_path: Path) -> None:
    """All rows come in one batch, of which the page reads a part: it said nothing of the other files."""
    repo = RepositoryBuilder(tmp_path / "many")
    repo.commit({f"{number:02}.py": "needle = 1\n" * 70 for number in range(45)}, "many")
    with running(open_engine([repo.path], index=tmp_path / "index", workers=1), Settings(auth_public=True)) as service:
        page = get(service, "/search", q="needle count:all", wait="1").text
    assert "44.py" not in text_of(page)
    assert re.search(r"The first \d+ results are shown", page)


def test_what_is_left_out_has_its_noun() -> None:
    """It was "1 forked, 1 archived", as the protocol has it."""
    view = SearchView("x", "standard", "/")
    skipped = (Skipped("repository-fork", "1 forked"), Skipped("excluded-archive", "2 archived"))
    view.add(Progress(done=True, match_count=0, duration_ms=1, skipped=skipped))
    view.add(Done())
    assert "Left out: 1 forked repository, 2 archived repositories</summary>" in view.to_html()
