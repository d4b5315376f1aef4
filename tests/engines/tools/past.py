"""Two repositories with a past of many kinds, and calls over them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.catalog import TOOLS
from sourcelight.engines import tools
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.search import IndexStore
from sourcelight.repos import Catalog, Viewer
from sourcelight.testing import RepositoryBuilder
from sourcelight.testing.repositories import identity

ADA = "Ada Example <ada@example.org>"
OLD_ADA = "ada <ada@old.example.org>"
BO = "Bo Boson <bo@example.org>"
BOT = "dependabot[bot] <49699333+dependabot[bot]@users.noreply.github.com>"
MAILMAP = "Ada Example <ada@example.org> <ada@old.example.org>\n"
DAY_S = 86_400


def build(folder: Path) -> RepositoryBuilder:
    """Make ``one`` (the main past), ``two`` (Bo's), ``secret`` (private) and ``plain`` (without git)."""
    builder = RepositoryBuilder(folder / "one")
    start = 1_600_000_000  # 2020-09-13
    first = {".mailmap": MAILMAP, "a.py": "def f():\n    return 1\n", "docs/index.md": "# Title\n"}
    builder.commit(first, "First\n\nBegin.", date=start)
    second = {"a.py": "def f():\n    return 2\n", "src/lib/b.py": "import a\nTODO\n"}
    message = f"Fix the return\n\nText.\n\nCo-authored-by: {BO}"
    builder.commit(second, message, author=OLD_ADA, date=start + 40 * DAY_S)
    builder.commit({"req.txt": "x==1\n"}, "Bump x", author=BOT, date=start + 90 * DAY_S)
    builder.branch("side")
    builder.commit({"src/lib/b.py": "import a\nTODO\nside = 1\n"}, "side work", author=BO, date=start + 120 * DAY_S)
    builder.switch("main")
    builder.git("mv", "a.py", "src/a.py")
    builder.commit({b"caf\xe9.txt": "latin\xe9\n".encode("latin-1")}, "Move a", date=start + 130 * DAY_S)
    builder.merge("side", "Merge side")
    builder.commit({"src/lib/b.py": "import a\nside = 1\nnaïve = 'ünï TODO'\n"}, "Drop a TODO\n\nfixes it",
               author=BO, date=start + 400 * DAY_S)  # fmt: skip
    builder.commit({"image.bin": b"\0\1\2" * 9}, "add image", date=start + 401 * DAY_S)
    two = RepositoryBuilder(folder / "two")
    two.commit({"x.c": "int todo; // TODO\n"}, "start two", author=BO, date=1_650_000_000)
    secret = RepositoryBuilder(folder / "secret")
    secret.commit({"s.txt": "TODO secret\n"}, "hidden", author=BO, date=1_650_000_000)
    (folder / "plain").mkdir()
    (folder / "plain" / "p.txt").write_text("TODO\n")
    (folder / "repos.toml").write_text("[repositories.secret]\nprivate = true\n")
    return builder


class Past:
    """Calls over the repositories that `build` makes."""

    def __init__(self, folder: Path, index: Path, *extra_paths: Path) -> None:
        self.builder = build(folder)
        paths = [
            *(os.fspath(folder / name) for name in ("one", "two", "secret", "plain")),
            *map(os.fspath, extra_paths),
        ]
        catalog = Catalog.open(paths, annotations=folder / "repos.toml")
        self.engine = LocalEngine(catalog, IndexStore(os.fspath(index)))

    def call(self, name: str, *, served: bool = False, viewer: Viewer | None = None, **arguments: Any) -> ToolResult:
        """Answer a call."""
        context = tools.ToolContext(self.engine, viewer or Viewer.owner(), served=served, base_url="https://host")
        return tools.call(name, arguments, context)

    def rows(self, name: str, **arguments: Any) -> list[dict[str, Any]]:
        """Rows of an answer."""
        rows: list[dict[str, Any]] = self.call(name, **arguments).table.to_pylist()
        return rows

    def render(self, name: str, **arguments: Any) -> tuple[dict[str, Any], str]:
        """The payload and the text of a served answer."""
        context = tools.ToolContext(self.engine, Viewer.owner(), served=True, base_url="https://host")
        return tools.render(TOOLS[name], self.call(name, served=True, **arguments), context)

    def git(self, *arguments: str) -> list[str]:
        """Lines that git says about ``one``."""
        return self.builder.git(*arguments).splitlines()


@contextmanager
def renamed_in_merge(folder: Path) -> Iterator[RepositoryBuilder]:
    """A repository in which a merge renames a file."""
    repo = RepositoryBuilder(folder)
    repo.commit({"a.txt": "".join(f"{n}\n" for n in range(30)), "b": "1\n"})
    repo.branch("side")
    repo.commit({"a.txt": "".join(f"{n}\n" for n in range(31))}, author=BO)
    repo.switch("main")
    repo.commit({"b": "2\n"})
    repo.git("merge", "-q", "--no-commit", "--no-ff", "side", env=identity(ADA, ADA, 1_700_000_000))
    repo.git("mv", "a.txt", "moved.txt")
    repo.commit(None, "merge and move")
    yield repo
