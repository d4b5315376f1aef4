"""The real service over two repositories, one of them private, with accounts of several rights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from server.running_service import TOKEN, Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos.state import State
from sourcelight.testing.repositories import RepositoryBuilder

ONE = "example.org/team/one"
SECRET = "example.org/team/secret"
BIG_LINE = "0123456789 lighthouse\n"


@dataclass
class Served:
    """A running service, the commits of its first repository, and a token by what it is good for."""

    service: Service
    commits: tuple[str, ...]
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"{self.service.url}/.api/mcp"


@pytest.fixture(scope="session")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[str, ...]]:
    folder = tmp_path_factory.mktemp("tools")
    builder = RepositoryBuilder(folder / "one", origin=f"https://{ONE}.git")
    first = builder.commit(
        {"README.md": "# One\n\nA lamp in the tower.\n", "src/lamp.py": "def light():\n    pass\n"}, "start"
    )
    (builder.path / "latest").symlink_to("src/lamp.py")
    second = builder.commit(
        {
            "src/lamp.py": "class Lamp:\n    def light(self):\n        return 'lighthouse'\n" + "# beam\n" * 60,
            "src/deep/er/beam.go": "package er\n\nfunc Beam() int { return 1 }\n",
            "docs/guide.md": "Rotating beams are turned by a motor.\n",
            "big.txt": BIG_LINE * 7_000,
            "wide.txt": "a" * 200_000 + "\nshort\n",
            "long.txt": "x" * 900 + " lantern " + "y" * 900 + "\n",
            "binary.bin": b"lamp\0lamp\n",
            "latin.txt": b"caf\xe9 lamp\n",
            b"bad-\xff.txt": "lamp\n",
            "empty.txt": "",
            **{f"many/lamp{number:02}.txt": "lamp lamp\n\n\n\nlamp\n\n\n\nlamp\n\n\n\nlamp\n" for number in range(20)},
        },
        "grow",
    )
    secret = RepositoryBuilder(folder / "secret", origin=f"https://{SECRET}.git")
    secret.commit({"key.py": "lamp = 'hidden lighthouse'\n"}, "start")
    (folder / "repos.toml").write_text(
        f'[repositories."{SECRET}"]\nprivate = true\n'
        f'[repositories."{ONE}"]\nstars = 7\ndescription = "Lamps and\\n towers"\n',
        encoding="utf-8",
    )
    return folder, (first, second)


@pytest.fixture(scope="session")
def engine(repositories: tuple[Path, tuple[str, ...]]) -> LocalEngine:
    folder, _ = repositories
    return open_engine([folder], index=folder.parent / f"{folder.name}-index")


@pytest.fixture(scope="session")
def state() -> Iterator[State]:
    with State() as state:
        for name in ("user", "reader", "barred"):
            state.accounts.create(name)
        state.grants.add(SECRET, account="reader")
        state.roles.create("MCP users")
        yield state


@pytest.fixture(scope="session")
def served(engine: LocalEngine, state: State, repositories: tuple[Path, tuple[str, ...]]) -> Iterator[Served]:
    tokens = {
        "owner": TOKEN,
        "user": state.tokens.create("user")[1],
        "mcp": state.tokens.create("user", ["mcp"])[1],
        "reader": state.tokens.create("reader", ["mcp"])[1],
    }
    revoked, tokens["revoked"] = state.tokens.create("user")
    state.tokens.revoke(revoked.id)
    with running(engine, state=state) as service:
        yield Served(service, repositories[1], tokens)
