"""The bundle that `scripts/bundle` builds: unpacked, and started by a stock client as its manifest says."""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import sourcelight as sl
from docs.snippets import ROOT
from server.mcp.calling import call_tool
from server.mcp.conftest import ONE
from sourcelight.core.tools.catalog import mcp_tools

BUILD: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "bundle"))
SERVER: dict[str, Any] = json.loads((ROOT / "server.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target: Path = BUILD["write_bundle"](tmp_path_factory.mktemp("bundle"))
    return target


@pytest.fixture(scope="module")
def unpacked(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(folder)
    return folder


def command_of(folder: Path, folders: list[str]) -> list[str]:
    """The command line of an unpacked bundle, with its variables replaced as the format says."""
    config = json.loads((folder / "manifest.json").read_text("utf-8"))["server"]["mcp_config"]
    words: list[str] = []
    for word in [config["command"], *config["args"]]:
        words += folders if word == "${user_config.folders}" else [word.replace("${__dirname}", str(folder))]
    return words


def test_the_manifest_has_what_the_format_requires(unpacked: Path) -> None:
    manifest = json.loads((unpacked / "manifest.json").read_text("utf-8"))
    assert {"manifest_version", "name", "version", "description", "author", "server"} <= set(manifest)
    assert manifest["manifest_version"] == "0.4"
    server = manifest["server"]
    assert (server["type"], set(server["mcp_config"])) == ("uv", {"command", "args"})
    assert (unpacked / server["entry_point"]).is_file()
    assert not list(unpacked.rglob("lib")), "the format forbids libraries in a bundle of this type"
    assert set(manifest["compatibility"]["platforms"]) == {"darwin", "linux", "win32"}
    for item in manifest["user_config"].values():
        assert {"type", "title", "description"} <= set(item) <= {"type", "title", "description", "multiple", "required"}
    assert {item["name"] for item in manifest["tools"]} == set(mcp_tools("all"))
    requests = {name for word in server["mcp_config"]["args"] for name in re.findall(r"\$\{user_config\.(\w+)\}", word)}
    assert requests == set(manifest["user_config"])


def test_registries_and_the_bundle_have_one_version_and_description(unpacked: Path) -> None:
    manifest = json.loads((unpacked / "manifest.json").read_text("utf-8"))
    assert manifest["version"] == SERVER["version"] == sl.__version__
    assert manifest["description"] == SERVER["description"]
    project = tomllib.loads((unpacked / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == sl.__version__
    assert project["requires-python"] == manifest["compatibility"]["runtimes"]["python"]
    assert not [item for item in project["dependencies"] if re.match(r"pandas|matplotlib|ipywidgets", item)]
    assert [item for item in project["dependencies"] if item.startswith("mcp>=")]


def test_the_same_checkout_gives_the_same_bytes(bundle: Path, tmp_path: Path) -> None:
    assert BUILD["write_bundle"](tmp_path).read_bytes() == bundle.read_bytes()


def test_a_stock_client_starts_the_unpacked_server(
    unpacked: Path, repositories: tuple[Path, tuple[str, ...]], tmp_path: Path
) -> None:
    runner, run, flag, folder, script, *remaining = command_of(unpacked, [str(repositories[0])])
    assert (runner, run, flag, folder) == ("uv", "run", "--directory", str(unpacked))
    # The environment of these tests has what the bundle would install; tests/release has it installed.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env["SOURCELIGHT_HOME"] = str(tmp_path / "home")
    started = StdioServerParameters(command=sys.executable, args=[script, *remaining], env=env, cwd=folder)

    async def main() -> tuple[str, set[str], Any]:
        with anyio.fail_after(90):
            async with Client(stdio_client(started), mode="legacy") as client:
                tools = {tool.name for tool in (await client.list_tools()).tools}
                assert client.server_info is not None
                return client.server_info.version, tools, await call_tool(client, "list_repos", {"query": "one"})

    version, tools, listing = anyio.run(main)
    assert version == sl.__version__
    assert tools == set(mcp_tools("all"))
    assert ONE in listing.text
    assert not listing.failed
