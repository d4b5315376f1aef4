"""A capped answer has the same rows each time and everywhere, and a client asks for enough not to need one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

import sourcelight as sl
from server.loopback_tls import TLS
from server.served import serving
from sourcelight.core.wire.request import CLIENT_MATCHES, SearchRequest
from sourcelight.testing import RepositoryBuilder

LINES = 10_300
TOKEN = "slo_the-owner-of-many-lines"


def rows(result: sl.SearchResult) -> list[tuple[object, ...]]:
    names = ["type", "repository", "revision", "path", "line_number", "match_count"]
    return sorted(result.matches[names].astype(str).itertuples(index=False, name=None))


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "query",
    [
        "e count:7",
        "e count:700",
        "tide count:3",
        "/[a-z]+/ count:3500",
        "type:symbol e count:9",
        "type:commit e count:9",
        "type:diff e count:30",
        "e lang:go count:100",
        "tide AND e count:40",
    ],
)
def test_a_capped_answer_is_the_same_everywhere(query: str, embedded: sl.Client, other: sl.Client) -> None:
    for client in (embedded, other):
        client.search("type:symbol e count:all fork:yes archived:yes")  # definitions are known, as they are in shards
    expected = rows(embedded.search(query))
    assert expected
    for client in (embedded, other, other):
        assert rows(client.search(query)) == expected


def test_so_is_one_of_alternatives_with_numbers_of_their_own(embedded: sl.Client, remote: sl.Client) -> None:
    query = "(tide count:3) or (level count:4)"
    assert rows(embedded.search(query)) == rows(remote.search(query)) == rows(embedded.search(query))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with more matching lines than a service gives unless it is asked for more."""
    folder = tmp_path_factory.mktemp("many")
    RepositoryBuilder(folder / "a").commit({"a.txt": "needle\n" * LINES})
    RepositoryBuilder(folder / "b").commit({"b.txt": "needle\n"})
    return folder


@pytest.fixture(scope="module")
def address(many: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a service on it."""
    with serving(str(many), home=tmp_path_factory.mktemp("home"), token=TOKEN, is_forked=True) as (_, address):
        yield address


def test_a_client_is_given_what_a_groupby_needs(many: Path, address: str) -> None:
    with sl.open(many) as local, sl.connect(address, TOKEN) as remote:
        for code in (local, remote):
            result = code.search("needle")
            assert result.status == "complete"
            assert result.matches.groupby("repository", observed=True)["match_count"].sum().to_dict() == {
                "a": LINES,
                "b": 1,
            }
            assert code.search("needle count:20").match_count == 20
            assert code.search("(needle repo:^a$) or (needle repo:^b$ count:1)").match_count == LINES + 1
            assert len(code.search("select:repo needle")) == 2


def test_others_are_given_the_number_of_the_endpoint(address: str) -> None:
    url = f"{address}/.api/search/stream"
    headers = {"Authorization": f"token {TOKEN}"}
    text = httpx2.get(url, params={"q": "needle", "v": "V3"}, headers=headers, verify=TLS).text
    assert '"matchCount":10000,' in text
    assert '"queryExpression":"count:all"' in text
    extra = httpx2.get(
        url, params={"q": "needle", "v": "V3", "default-count": "10200"}, headers=headers, verify=TLS
    ).text
    assert '"matchCount":10200,' in extra
    wrong = httpx2.get(
        url, params={"q": "needle", "v": "V3", "default-count": "many"}, headers=headers, verify=TLS
    ).text
    assert "efault-count must be an integer" in wrong


def test_the_number_stands_beside_the_query() -> None:
    request = SearchRequest("a or b", default_matches=CLIENT_MATCHES)
    assert request.to_params()["q"] == "a or b"
    assert SearchRequest.from_params(request.to_params().items()).default_matches == CLIENT_MATCHES
    assert SearchRequest.from_params({"q": "a", "default-count": "0"}.items()).default_matches is None
