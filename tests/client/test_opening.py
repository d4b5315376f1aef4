"""Repositories on this machine open without a server, drawn and stoppable."""

from __future__ import annotations

import inspect
import pydoc
import time
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from client.scripted import run
from sourcelight.client.factory import display_path
from sourcelight.display.notebook import ProgressSnapshot
from sourcelight.testing import RepositoryBuilder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one repository, and a home of its own for the index."""
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path / "home"))
    RepositoryBuilder(tmp_path / "src" / "demo").commit({"a.py": "foo = 1\nbar = 2\n"}, "begin")
    return tmp_path / "src"


def test_a_folder_opens_and_is_searched(folder: Path) -> None:
    displayed: list[ProgressSnapshot] = []
    with sl.open(folder, index_workers=1, progress=displayed.append) as client:
        assert displayed[-1].phase == "complete"
        result = client.search("foo")
        assert result.matches["path"].tolist() == ["a.py"]
        assert client.count("foo") == 1
        assert client.count_by("foo", "language").to_dict("list") == {
            "language": ["Python"],
            "matches": [1],
            "files": [1],
        }
        assert client.list_repos()["repository"].tolist() == ["demo"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (["a", "b"], r"pass paths one by one, got a list; write open\(\*paths\)"),
        (("a", "b"), r"pass paths one by one, got a tuple; write open\(\*paths\)"),
        (3, "a path must be a str or an os.PathLike of one, got 3"),
        (None, "got None"),
        (b"a", "got b'a'"),
    ],
)
def test_what_is_no_path_is_named(path: Any, text: str) -> None:
    with pytest.raises(sl.ConfigurationError, match=text):
        sl.open(path)
    with pytest.raises(sl.InvalidArgument, match="url must be a text or None, not list"):
        sl.connect(["http://localhost"])  # type: ignore[arg-type]


@pytest.mark.parametrize("query", [None, 3, ["foo", "bar"]])
def test_what_is_no_query_is_not_searched_in_its_python_form(folder: Path, query: Any) -> None:
    with sl.open(folder, index_workers=1, background_index=False) as client:
        for ask in (client.search, client.count, client.explain, lambda query: client.search_many([query])):
            with pytest.raises(sl.InvalidArgument, match=r"(query|queries) must be "):
                ask(query)
        with pytest.raises(sl.InvalidArgument, match="query must be a text or an Expression"):
            client.count_by(query, "path")
        with pytest.raises(sl.InvalidArgument, match="question must be a text"):
            client.deepsearch(query)
        with pytest.raises(ValueError, match="limit must be a whole number or None, not str"):
            client.search("foo", limit="5")  # type: ignore[arg-type]


def test_a_folder_opens_for_await(folder: Path) -> None:
    async def main() -> int:
        async with await sl.aopen(folder, index_workers=1) as client:
            return len(await client.search("foo"))

    assert run(main()) == 1


def test_options_of_opening_reach_the_index(folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "repos.toml"
    config.write_text("[repositories.demo]\nstars = 7\n", encoding="utf-8")
    with sl.open(folder, index_dir=tmp_path / "own", config=config, max_file_bytes=3, index_workers=1) as client:
        assert client.list_repos()["stars"].tolist() == [7]
        assert len(client.search("foo")) == 0
        assert client.search("file:a.py").matches["path"].tolist() == ["a.py"]
    assert list((tmp_path / "own").iterdir())
    with sl.open(folder, index_dir=tmp_path / "none", max_index_bytes=1, index_workers=1) as client:
        result = client.search("foo")
        assert (result.status, len(result), len(result.skipped)) == ("limited", 0, 1)


def test_help_of_open_names_each_option_with_its_type() -> None:
    text = pydoc.plain(pydoc.render_doc(sl.open)).replace("'", "")  # CPython 3.14 shows types without quotes
    assert "**options" not in text
    for option in ("index_dir: str | os.PathLike[str] | None = None", "max_index_bytes: int | None = None"):
        assert option in text
    for name in inspect.signature(sl.open).parameters:
        assert f"\n    {name}\n" in text, name
    assert inspect.signature(sl.open).parameters == inspect.signature(sl.aopen).parameters


def test_definitions_are_found_in_the_background_without_a_search(folder: Path) -> None:
    with sl.open(folder, index_workers=1) as client:
        engine: Any = client.backend
        deadline = time.monotonic() + 30
        target = engine.engine.target_of(engine.engine.catalog.repositories[0])
        while not engine.engine.store.symbols_current(target) and time.monotonic() < deadline:
            time.sleep(0.01)  # nothing tells that the background is done: it is nobody's call
        assert engine.engine.store.symbols_current(target)


def test_an_address_is_mirrored_first(folder: Path) -> None:
    with sl.open((folder / "demo").as_uri(), index_workers=1) as client:
        assert client.search("foo").match_count == 1
    assert list((folder.parent / "home" / "mirrors").rglob("HEAD"))


def test_opening_nothing_says_where_it_looked(tmp_path: Path) -> None:
    displayed: list[ProgressSnapshot] = []
    with pytest.raises(sl.NoRepositories, match="absent"):
        sl.open(tmp_path / "absent", index_dir=tmp_path / "index", progress=displayed.append)
    assert displayed[-1].phase == "failed"
    assert "absent" in displayed[-1].notices[0][1]


def test_opening_can_be_interrupted(folder: Path) -> None:
    displayed: list[Any] = []

    def press(snapshot: ProgressSnapshot) -> None:
        displayed.append(snapshot)
        if len(displayed) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sl.open(folder, index_workers=1, progress=press)
    assert displayed[-1].phase == "interrupted"


@pytest.mark.parametrize(
    ("address", "title"),
    [
        ("https://ann:s3cret@127.0.0.1:1/x/y?key=s3cret", "https://127.0.0.1:1/x/y"),
        ("https://s3cret@127.0.0.1:1/x", "https://127.0.0.1:1/x"),
        ("https://ann:s3/cret@127.0.0.1:1/x", "https://127.0.0.1:1/x"),
        ("https://[s3cret@/x", "https"),
        ("git@127.0.0.1:x", "git@127.0.0.1:x"),
    ],
)
def test_a_progress_box_has_no_credentials(tmp_path: Path, address: str, title: str) -> None:
    """Its title was the address, with a token, and notebooks store it."""
    assert display_path(address) == title
    if address.startswith("https://ann:s3cret@"):
        displayed: list[ProgressSnapshot] = []
        with pytest.raises(sl.SourcelightError):
            sl.open(address, index_dir=tmp_path / "index", progress=displayed.append)
        assert displayed
        assert not any("s3cret" in str(snapshot) for snapshot in displayed)


def test_a_progress_box_does_not_name_the_home_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "ann"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "ann"))
    paths = [tmp_path / "ann", tmp_path / "ann" / "src", tmp_path / "anna" / "src", Path("src")]
    expected = ["~", str(Path("~") / "src"), str(tmp_path / "anna" / "src"), "src"]
    assert [display_path(str(path)) for path in paths] == expected
