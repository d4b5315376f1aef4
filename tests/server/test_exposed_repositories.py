"""One hostile repository among those that are opened, served and offered as tools: it exposes no other."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import sourcelight as sl
from backends.cluster.processes import CLI
from repos.traps import ATTACKER_TEXT, EVIL, OUTSIDE_TEXT, PAYMENTS, PRIVATE_TEXT, Trapped, set_traps
from server.loopback_tls import TLS
from server.mcp.calling import call_tool
from server.served import serving
from sourcelight.repos.state import FILE_NAME, State

TOKEN = "slo_a-token-made-up-for-tests"


@pytest.fixture
def trapped(tmp_path: Path) -> Trapped:
    result = set_traps(tmp_path)
    result.allow(f'[repositories."{EVIL}"]\nprivate = false\n')
    return result


def test_open_finds_the_two_repositories_and_the_text_of_each(trapped: Trapped, tmp_path: Path) -> None:
    with sl.open(trapped.root, index_dir=tmp_path / "index", background_index=False) as code:
        assert sorted(code.list_repos()["repository"]) == [PAYMENTS, EVIL]
        matches = code.search("needle count:all").matches
    content = matches[matches["type"] == "content"] if "type" in matches else matches
    lines = {(row.repository, row.line) for row in content.itertuples() if row.line}
    assert (PAYMENTS, PRIVATE_TEXT) in lines
    assert not [line for _, line in lines if line == OUTSIDE_TEXT]
    assert {repository for repository, line in lines if line == PRIVATE_TEXT} == {PAYMENTS}
    assert (PAYMENTS, ATTACKER_TEXT) not in lines


def test_serve_shows_nobody_more_than_before(trapped: Trapped, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with State(str(home / FILE_NAME)) as state:
        tokens = {}
        for name in ("ann", "bob"):
            state.accounts.create(name)
            tokens[name] = state.tokens.create(name)[1]
        state.grants.add(PAYMENTS, account="bob")
    with serving(str(trapped.root), home=home, token=TOKEN) as (_, address):

        def search(user: str, query: str) -> str:
            headers = {"Authorization": f"token {tokens.get(user, TOKEN)}"}
            with httpx2.Client(base_url=address, headers=headers, timeout=30, trust_env=False, verify=TLS) as client:
                return client.get("/.api/search/stream", params={"q": query, "v": "V3"}).text

        anns = search("ann", "needle count:all")
        assert PRIVATE_TEXT not in anns
        assert OUTSIDE_TEXT not in anns
        assert PAYMENTS not in anns
        bobs = search("bob", f"repo:^{PAYMENTS}$ needle count:all")
        assert PRIVATE_TEXT in bobs
        assert ATTACKER_TEXT not in bobs
        assert OUTSIDE_TEXT not in search("owner", "needle count:all")
        assert PAYMENTS not in search("ann", "type:repo acme")
        with State(str(home / FILE_NAME)) as state:
            (grant,) = state.grants.all()
            assert grant.canonical_path == str(trapped.payments.path)


def test_mcp_offers_the_text_of_each_repository_alone(trapped: Trapped, tmp_path: Path) -> None:
    environment = {**os.environ, "SOURCELIGHT_HOME": str(tmp_path / "home")}
    started = StdioServerParameters(command=sys.executable, args=["-c", CLI, "mcp", str(trapped.root)], env=environment)

    async def main() -> tuple[Any, Any, Any]:
        with anyio.fail_after(60):
            async with Client(stdio_client(started), mode="legacy") as client:
                return (
                    await call_tool(client, "list_repos", {}),
                    await call_tool(client, "keyword_search", {"query": "needle"}),
                    await call_tool(client, "read_file", {"repo": PAYMENTS, "path": "pay.txt"}),
                )

    repositories, matches, file = anyio.run(main)
    assert "(" not in repositories.text.partition(PAYMENTS)[2].partition("\n")[0]
    assert OUTSIDE_TEXT not in matches.text
    assert PRIVATE_TEXT in file.text
    assert ATTACKER_TEXT not in file.text
