"""Rows lead to the service, to their code host, or into JupyterLab, and nowhere else."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import pytest

from sourcelight.display.notebook.views import LinkResolver, anchor

COMMIT = "c" * 40
SERVERS = itertools.count(4711)  # process ids: a kernel remembers the directory of the server that started it
ROW = {"type": "content", "repository": "r", "commit": COMMIT, "path": "a dir/x#1.py", "line_number": 12, "url": None}


@pytest.mark.parametrize(
    ("url", "words", "href"),
    [
        ("https://github.com/o/r", "GitHub", f"https://github.com/o/r/blob/{COMMIT}/a%20dir/x%231.py#L12"),
        ("https://gitlab.example.org/o/r", "GitLab",
         f"https://gitlab.example.org/o/r/-/blob/{COMMIT}/a%20dir/x%231.py#L12"),
        ("https://bitbucket.org/o/r", "Bitbucket", f"https://bitbucket.org/o/r/src/{COMMIT}/a%20dir/x%231.py#lines-12"),
        ("https://codeberg.org/o/r", "Forgejo", f"https://codeberg.org/o/r/src/commit/{COMMIT}/a%20dir/x%231.py#L12"),
        ("https://git.sr.ht/~o/r", "sourcehut", f"https://git.sr.ht/~o/r/tree/{COMMIT}/item/a%20dir/x%231.py#L12"),
        ("https://go.googlesource.com/r", "Gitiles",
         f"https://go.googlesource.com/r/+/{COMMIT}/a%20dir/x%231.py#12"),
    ],
)  # fmt: skip
def test_a_line_leads_to_its_code_host(url: str, words: str, href: str) -> None:
    (link,) = LinkResolver(hosts={"r": url}).of(ROW)
    assert (link.kind, link.words, link.href) == ("host", words, href)


@pytest.mark.parametrize("url", ["https://example.org/o/r", "javascript:alert(1)", "https://[", "", "//github.com/x"])
def test_a_host_that_is_not_known_gets_no_address_of_lines(url: str) -> None:
    resolver = LinkResolver(hosts={"r": url})
    assert [link for link in resolver.of(ROW) if not link.href.startswith("//github.com")] == []
    assert "<a" not in anchor("x", resolver.of(ROW))


def test_a_row_of_a_service_leads_to_its_page_and_only_there() -> None:
    resolver = LinkResolver("https://code.example")
    first = resolver.of(ROW)[0]
    assert first.href == f"https://code.example/r@{COMMIT}/-/blob/a%20dir/x%231.py?L12-12"
    reply = resolver.of({**ROW, "url": "/r/-/blob/x.py?L12"})[0]
    assert reply.href == "https://code.example/r/-/blob/x.py?L12"
    for hostile in ("javascript:alert(1)", "https://evil.example/x", "//evil.example/x"):
        assert resolver.of({**ROW, "url": hostile})[0].href == first.href


def test_a_commit_leads_to_its_page() -> None:
    row = {**ROW, "type": "commit", "path": None}
    assert (
        LinkResolver(hosts={"r": "https://github.com/o/r"}).of(row)[0].href == f"https://github.com/o/r/commit/{COMMIT}"
    )
    assert LinkResolver().of(row) == ()


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root folder of a Jupyter server, a notebook in a folder of it, and a repository beside."""
    (tmp_path / "runtime").mkdir()
    root = tmp_path / "root"
    (root / "notes").mkdir(parents=True)
    (root / "repo" / ".hidden").mkdir(parents=True)
    (root / "repo" / "javascript:alert(1)").write_text("x")
    (root / "repo" / ".hidden" / "a.py").write_text("x")
    (tmp_path / "outside.py").write_text("x")
    server_info = {"root_dir": str(root), "token": "secret-of-the-server"}
    server = next(SERVERS)
    (tmp_path / "runtime" / f"jpserver-{server}.json").write_text(json.dumps(server_info))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("JPY_PARENT_PID", str(server))
    monkeypatch.setenv("JPY_SESSION_NAME", str(root / "notes" / "one.ipynb"))
    return root


def test_a_file_that_jupyterlab_shows_is_opened_there(lab: Path) -> None:
    resolver = LinkResolver(folder_of=lambda _: str(lab / "repo"))
    (link,) = resolver.of({**ROW, "path": "javascript:alert(1)"})
    assert (link.kind, link.path, link.line) == ("lab", "repo/javascript:alert(1)", 12)
    assert link.href == "../repo/javascript%3Aalert%281%29#line=11"
    html = anchor("open", (link,))
    assert html == f'<a href="{link.href}" title="Open in JupyterLab">open</a>'
    assert "secret" not in repr(link) + html


@pytest.mark.parametrize(
    "path", [".hidden/a.py", "absent.py", "../../outside.py", "../notes", "a\N{REPLACEMENT CHARACTER}"]
)
def test_what_jupyterlab_does_not_show_is_not_linked(lab: Path, path: str) -> None:
    assert LinkResolver(folder_of=lambda _: str(lab / "repo")).of({**ROW, "path": path}) == ()


def test_without_a_server_there_is_no_file_to_open(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPY_PARENT_PID", str(os.getpid()))
    assert LinkResolver(folder_of=lambda _: str(lab / "repo")).of({**ROW, "path": "javascript:alert(1)"}) == ()


def test_a_row_without_its_repository_has_no_place() -> None:
    service = LinkResolver(base_url="https://code.example.org")
    assert service.of({"path": "src/a.py", "line_number": 3}) == ()
    assert service.repository("") == ""
    (link,) = service.of({"path": "src/a.py", "url": "/r/-/blob/src/a.py"})
    assert link.href == "https://code.example.org/r/-/blob/src/a.py"
