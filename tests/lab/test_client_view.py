"""A client shows what it holds, and asks no service for it."""

from __future__ import annotations

from pathlib import Path

import sourcelight as sl
from client.scripted import COMPLETE, ScriptedBackend
from sourcelight.client import AsyncClient, Client
from sourcelight.testing import RepositoryBuilder


def test_a_client_shows_repositories_sizes_and_indexes(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "one", origin="https://github.com/acme/one.git").commit({"a.py": "def a(): pass\n"})
    RepositoryBuilder(tmp_path / "two").commit({"b.txt": "x" * 2_000 + "\n", "c<i>.txt": "c\n"})
    with sl.open(tmp_path, index_dir=tmp_path / ".index", progress=False, background_index=False) as code:
        assert repr(code) == "Client(embedded: 2 repositories, 3 files, 2.0 kB of text)"
        assert repr(AsyncClient(code.backend)).startswith("AsyncClient(embedded: 2 repositories")
        html = code._repr_html_()
        commit = code.list_repos()["commit"][0]
        assert 'href="https://github.com/acme/one"' in html
        assert f"<code>{commit[:10]}</code>" in html
        assert "text <span" in html
        assert "(definitions, ranking, history when first needed)" in html
        code.search("type:symbol a", progress=False)
        code.search("type:diff x", progress=False)
        assert "text, definitions, history <span" in code._repr_html_()
        code.nls_search("where is text handled", progress=False)
        assert "text, definitions, ranking, history</td>" in code._repr_html_()


def test_many_repositories_are_counted(tmp_path: Path) -> None:
    for number in range(23):
        (tmp_path / f"{number:02}").mkdir()
        (tmp_path / f"{number:02}" / "a.txt").write_text("a\n")
        RepositoryBuilder(tmp_path / f"{number:02}").commit({"a.txt": "a\n"})
    with sl.open(tmp_path, index_dir=tmp_path / ".index", progress=False, background_index=False) as code:
        assert repr(code) == "Client(embedded: 23 repositories, 23 files, 46 B of text)"
        html = code._repr_html_()
    assert html.count("<tr><td>") == 20
    assert "and 3 more" in html


def test_a_service_is_not_asked() -> None:
    backend = ScriptedBackend(COMPLETE)
    assert repr(Client(backend)) == "Client(scripted)"
    assert "lists what the service has" in Client(backend)._repr_html_()
