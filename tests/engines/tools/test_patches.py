"""Patches in served answers are what `git apply` takes; what is cut says so."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sourcelight.backends.remote.mcp.history.texts import parse_commits, parse_comparison
from sourcelight.core.tools.catalog import TOOLS
from sourcelight.engines import tools
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.search import IndexStore
from sourcelight.repos import Catalog, Viewer
from sourcelight.testing import RepositoryBuilder
from sourcelight.testing.repositories import git_environment

NAME = "example.org/kinds"
LINES = "".join(f"line {number}\n" for number in range(40))
CRLF = "".join(f"line {number}\r\n" for number in range(12))
START: dict[str | bytes, str | bytes | None] = {
    "edited.py": LINES,
    "moved.txt": LINES,
    "gone.txt": "old lamp\nlast lamp without a newline",
    "crlf.txt": CRLF,
    "mode.sh": "#!/bin/sh\necho lamp\n",
    "only mode.sh": "#!/bin/sh\n",
    "no newline": "one\ntwo",
    "link": "lamp of a file\n",
    "image.bin": b"\0\1lamp" * 30,
    "-dash.txt": LINES,
    'tab\tand "quotes" \\.txt': LINES,
    "new\nline.txt": LINES,
    b"caf\xe9 latin.txt": LINES,
    "n\u00e4ive \u706f.txt": LINES,
}
CHANGES: tuple[dict[str | bytes, str | bytes | None], ...] = (
    {"edited.py": LINES.replace("line 7\n", "lamp 7\n"), "new file.txt": "a new lamp", "gone.txt": None},
    {"crlf.txt": CRLF.replace("line 5\r", "lamp 5\r"), "no newline": "one\ntwo lamps"},
    {
        "-dash.txt": LINES.replace("line 9\n", "-- lamp 9\n"),
        'tab\tand "quotes" \\.txt': LINES.replace("line 30\n", "+++ b/lamp\n"),
        "new\nline.txt": LINES.replace("line 1\n", "@@ -1,3 +1,3 @@ lamp\n"),
        b"caf\xe9 latin.txt": LINES.replace("line 2\n", "lamp\n"),
        "n\u00e4ive \u706f.txt": LINES.replace("line 3\n", "lamp \u706f\n"),
    },
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    """A repository whose commits change files in every way that git has."""
    repo = RepositoryBuilder(tmp_path_factory.mktemp("kinds") / "kinds", origin=f"https://{NAME}.git")
    repo.commit(START, "start")
    for number, files in enumerate(CHANGES):
        repo.commit(files, f"change {number}")
    repo.git("mv", "moved.txt", "moved to.txt")
    repo.write({"moved to.txt": LINES.replace("line 20\n", "lamp 20\n"), "mode.sh": "#!/bin/sh\necho two lamps\n"})
    for name in ("mode.sh", "only mode.sh"):
        repo.file(name).chmod(0o755)
    repo.commit(None, "modes and a rename")
    repo.write({"link": None, "image.bin": b"\0\2lamp" * 30, "empty": ""})
    repo.symlink("link", "lamp.py")
    repo.commit(None, "a link and a binary file")
    return repo


@pytest.fixture(scope="module")
def engine(repository: RepositoryBuilder, tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    return LocalEngine(Catalog.open([repository.path]), IndexStore(os.fspath(tmp_path_factory.mktemp("index") / "i")))


def served(engine: LocalEngine, name: str, **arguments: Any) -> tuple[dict[str, Any], str]:
    context = tools.ToolContext(engine, Viewer.owner(), served=True, base_url="https://host")
    return tools.render(TOOLS[name], tools.call(name, arguments, context), context)


def fenced(text: str) -> str:
    """The diffs of a text, one after the other."""
    return "".join(f"{diff}\n" for diff in re.findall(r"^```diff\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL))


def apply(repository: RepositoryBuilder, folder: Path, parent: str, patch: str, *options: str) -> str:
    """Apply a patch to a commit, with a check before; the id of the tree that results."""
    env = git_environment(GIT_DIR=str(repository.path / ".git"), GIT_INDEX_FILE=str(folder / "index"),
                          GIT_WORK_TREE=str(folder))  # fmt: skip

    def git(*arguments: str, data: bytes = b"") -> str:
        done = subprocess.run(["git", *arguments], input=data, env=env, cwd=folder, capture_output=True, check=False)
        assert not done.returncode, (done.stderr.decode(), patch)
        return done.stdout.decode().strip()

    folder.mkdir()
    git("read-tree", "--reset", "-u", parent)
    git("apply", "--check", "--index", *options, data=patch.encode())
    git("apply", "--index", *options, data=patch.encode())
    return git("write-tree")


def by_commit(payload: Mapping[str, Any], text: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    return zip(payload["results"], parts, strict=True)


def test_diffs_that_a_search_shows_apply_to_the_parent_of_their_commit(
    repository: RepositoryBuilder, engine: LocalEngine, tmp_path: Path
) -> None:
    payload, text = served(engine, "diff_search", repos=[NAME], pattern="lamp")
    assert len(payload["results"]) == 6
    exact = set()
    for result, part in by_commit(payload, text):
        oid = result["oid"]
        parent = f"{oid}~1" if result["subject"] != "start" else "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
        tree = apply(repository, tmp_path / oid, parent, fenced(part))
        if tree == repository.git("rev-parse", f"{oid}^{{tree}}"):
            exact.add(result["subject"])
    # The others change files without a matching line too, or a binary one.
    assert exact == {"change 0", "change 1", "change 2"}


def abbreviated(patch: str) -> str:
    """The patch with ids of seven digits."""
    return re.sub(r"(?m)^(index .{7}).{33}(\.\..{7}).{33}", r"\1\2", patch)


def test_the_header_of_a_diff_is_git_s(repository: RepositoryBuilder, engine: LocalEngine) -> None:
    payload, text = served(engine, "diff_search", repos=[NAME], pattern="lamp")
    for result, part in by_commit(payload, text):
        if result["subject"] == "start":
            continue
        printed = repository.git("show", "--format=", "--full-index", "-M", result["oid"])
        for file in result["files"]:
            assert file["header"]
            for line in (*file["header"], *(line for hunk in file["hunks"] for line in hunk["lines"])):
                assert line in printed.replace("\r\n", "\n").split("\n") or line.endswith("\r") or "\u706f" in line
                assert abbreviated(line) in part or line in part
    assert '--- "a/new\\nline.txt"' in text
    assert '+++ "b/caf\\351 latin.txt"' in text
    for header in (
        "--- /dev/null",
        "+++ /dev/null",
        "rename to moved to.txt",
        "new mode 100755",
        "new file mode 120000",
    ):
        assert f"\n{header}\n" in text


def test_a_comparison_applies_to_its_base_and_gives_its_head(
    repository: RepositoryBuilder, engine: LocalEngine, tmp_path: Path
) -> None:
    commits = [repository.git("rev-parse", f"HEAD~{back}") for back in range(5, -1, -1)]
    for base, head in [(commits[0], commits[-1]), (commits[-1], commits[0]), *pairwise(commits)]:
        payload, text = served(engine, "compare_revisions", repo=NAME, base=base, head=head)
        assert not payload["limitHit"]
        patch = "".join(file["patch"] for file in payload["fileDiffs"])
        fenced_patch = fenced(text)
        assert abbreviated(fenced_patch) == abbreviated(patch)
        assert len(fenced_patch) < len(patch)
        # git finds the content of the binary file by its full id, so that id is not shortened.
        tree = apply(repository, tmp_path / f"{base[:9]}-{head[:9]}", base, fenced_patch)
        assert tree == repository.git("rev-parse", f"{head}^{{tree}}")
        assert ("(the contents of a binary file are left out of the patch)" in text) == ("image.bin" in patch)


def test_our_readers_of_texts_read_every_name(repository: RepositoryBuilder, engine: LocalEngine) -> None:
    payload, text = served(engine, "compare_revisions", repo=NAME, base="HEAD~5", head="HEAD")
    comparison = parse_comparison(text)
    assert comparison is not None
    # A file that became a link is two parts of a patch.
    names = {(file["oldPath"], file["newPath"]) for file in comparison.entries}
    assert names == {(file.get("oldPath", file["newPath"]), file["newPath"]) for file in payload["fileDiffs"]}
    _, text = served(engine, "diff_search", repos=[NAME], pattern="lamp")
    commits = parse_commits(text)
    assert commits is not None
    assert [entry["oid"] for entry in commits.entries] == repository.git("log", "--format=%h", "--abbrev=7").split()


def test_cut_diffs_say_so(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "many")
    spread = {f"file{number}.txt": "".join(f"{n}\n" for n in range(200)) for number in range(7)}
    repo.commit(spread, "start")
    changed = {name: text.replace("0\n", "0 lamp\n") for name, text in spread.items()}
    changed["file1.txt"] = spread["file1.txt"].replace("100\n", "lamp\n" * 70).replace("150\n", "other\n")
    repo.commit(changed, "change")
    engine = LocalEngine(Catalog.open([repo.path]), IndexStore(os.fspath(tmp_path / "i")))
    payload, text = served(engine, "diff_search", repos=["many"], pattern="lamp")
    (result,) = payload["results"]
    assert [len(file["hunks"]) for file in result["files"]] == [3, 1, 3, 3, 3]
    assert text.count("(17 more hunks with matches left out)") == 4
    assert "(a hunk is truncated to 40 lines)\n(1 hunk without a match left out)" in text
    assert "(2 more files match)" in text
    notice = "The diffs of 7 files are cut; compare_revisions gives whole patches."
    assert payload["notice"] == notice
    assert f"({notice})" in text
    # Also a cut patch is one that git reads: each head counts the lines that are there.
    apply(repo, tmp_path / "tree", "HEAD~1", fenced(text), "--unidiff-zero")
    big = "".join(f"{number} {'x' * 60}\n" for number in range(3_000))
    repo.commit({"big.txt": big}, "big")
    payload, text = served(engine, "compare_revisions", repo="many", base="HEAD~1", head="HEAD")
    (file,) = payload["fileDiffs"]
    assert file["truncated"]
    assert payload["limitHit"]
    assert "(the patch is truncated)" in text
    assert payload["notice"] == "The patches of 1 file are truncated to 100,000 bytes each."
