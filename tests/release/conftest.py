"""The distributions, built once from a copy of the tree, and fresh environments to install them into.

Everything here needs the network and minutes: the stage `release` of `scripts/test` runs it, no other does.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.release)
            item.add_marker(pytest.mark.timeout(900))


def run(*words: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a program to its end and return what it printed; what it said of a failure is the failure's text."""
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True, timeout=800, check=False
    )
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def tool(name: str) -> Path:
    """Return a program of the extra `release`; without it the test is skipped."""
    path = TOOLS / name
    if not path.exists():
        pytest.skip(f"{name} is not installed: scripts/test release installs it")
    return path


@dataclass(frozen=True)
class Distributions:
    """Files to publish."""

    folder: Path

    def wheel(self, name: str) -> Path:
        """Return the one wheel of a distribution."""
        (path,) = self.folder.glob(f"{name.replace('-', '_')}-*.whl")
        return path

    def sdist(self, name: str) -> Path:
        """Return the one source distribution."""
        (path,) = self.folder.glob(f"{name.replace('-', '_')}-*.tar.gz")
        return path


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """Both distributions, as scripts/distributions makes them of the files that git knows."""
    tool("pyproject-build")
    folder = tmp_path_factory.mktemp("build")
    run(sys.executable, ROOT / "scripts" / "distributions", "--installer", "uv", folder)
    return Distributions(folder)


Install = Callable[..., Path]


@pytest.fixture(scope="session")
def install(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Install:
    """Make a fresh environment with a distribution and extras, and return its folder of programs."""
    result: dict[str, Path] = {}

    def make(name: str, extras: str = "", python: str = sys.executable) -> Path:
        key = f"{name}-{extras}-{python}"
        if key not in result:
            folder = tmp_path_factory.mktemp("env") / "env"
            run(tool("uv"), "venv", "-q", "--python", python, folder)
            bin_folder = folder / ("Scripts" if sys.platform == "win32" else "bin")
            core = distributions.wheel("sourcelight-core")
            required = [f"sourcelight-core{extras} @ {core.as_uri()}"]
            if name == "sourcelight":
                required = [f"sourcelight{extras} @ {distributions.wheel('sourcelight').as_uri()}", str(core)]
            run(tool("uv"), "pip", "install", "-q", "--python", bin_folder / "python", *required)
            result[key] = bin_folder
        return result[key]

    return make
