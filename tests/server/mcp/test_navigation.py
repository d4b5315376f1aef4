"""Definitions and references over the protocol, across repositories of the sample fleet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.mcp.calling import FAMILIES, call
from server.running_service import TOKEN, running
from sourcelight.backends.embedded import open_engine

TEAM = "example.org/tidewatch"
GAUGES = "tools/gaugesim/main.go"


@pytest.fixture(scope="module")
def url(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service over repositories that import each other in Python, Go and TypeScript."""
    names = ("board", "gauge", "handbook.git", "hub", "pytide")
    engine = open_engine([fleet / name for name in names], index=tmp_path_factory.mktemp("navigation"))
    engine.store.update_symbols([engine.target_of(repository) for repository in engine.catalog.repositories])
    with running(engine) as service:
        yield f"{service.url}/.api/mcp"


@pytest.mark.parametrize(
    ("repo", "path", "symbol", "location", "line"),
    [
        ("handbook", "tools/level_table.py", "Hub", ("pytide", "src/pytide/client.py"), "class Hub"),
        ("handbook", "examples/embed.ts", "decodeFrame", ("board", "packages/frames/index.ts"), "decodeFrame("),
        ("gauge", GAUGES, "EncodeFrame", ("hub", "frame/frame.go"), "func EncodeFrame("),
    ],
)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_definition_in_another_repository_is_found(
    url: str, family: str, repo: str, path: str, symbol: str, location: tuple[str, str], line: str
) -> None:
    """The first answer is the right one, says that it followed an import, and shows the code."""
    result = call(url, TOKEN, "go_to_definition", {"repo": f"{TEAM}/{repo}", "path": path, "symbol": symbol}, family)
    assert not result.failed
    first = result.content["definitions"][0]
    assert (first["repo"], first["path"]) == (f"{TEAM}/{location[0]}", location[1])
    assert first["how"] in {"import", "type"}
    displayed = first["chunks"][0]["content"].splitlines()
    assert any(item.startswith(f"{first['line']}: ") and line in item for item in displayed)
    assert line in first["chunks"][0]["content"]
    assert f"# {TEAM}/{location[0]} – {location[1]}\n" in result.text  # noqa: RUF001 - the service writes this dash


def _locations(content: dict[str, Any]) -> set[tuple[str, str]]:
    return {(item["repo"], item["path"]) for item in content["references"]}


@pytest.mark.parametrize("family", FAMILIES)
def test_references_in_another_repository_are_found(url: str, family: str) -> None:
    """Twice, since the second answer is a kept one."""
    requests = {"repo": f"{TEAM}/hub", "path": "frame/frame.go", "symbol": "EncodeFrame"}
    first, second = (call(url, TOKEN, "find_references", requests, family) for _ in range(2))
    assert {(f"{TEAM}/hub", "frame/frame.go"), (f"{TEAM}/gauge", GAUGES)} <= _locations(first.content)
    assert second == first
    roles = {span["role"] for item in first.content["references"] for span in item["chunks"]}
    assert {"definition", "call"} <= roles


def test_a_symbol_that_is_not_there_is_no_failure(url: str) -> None:
    """The answer is empty and says where the name does not stand."""
    result = call(
        url, TOKEN, "go_to_definition", {"repo": f"{TEAM}/hub", "path": "frame/frame.go", "symbol": "Unheard"}
    )
    assert not result.failed
    assert result.content["definitions"] == []
    assert "Unheard" in result.text
