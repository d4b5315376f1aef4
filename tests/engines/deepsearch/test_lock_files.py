"""Versions in lock files: of the file that a question names, all of them, and for what no manifest lists."""

from __future__ import annotations

import time

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.manifests import read_locked
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

CARGO = (
    'version = 3\n\n[[package]]\nname = "oat"\nversion = "1.3.2"\n\n[[package]]\nname = "oat"\nversion = "2.10.0"\n'
    'dependencies = [\n "rye",\n]\n\n[[package]]\nname = "rye-bran"\nversion = "0.1.0"\n'
)


@pytest.mark.parametrize(
    ("path", "text", "name", "expected"),
    [
        ("Cargo.lock", CARGO, "oat", [("oat", "1.3.2"), ("oat", "2.10.0")]),
        ("Cargo.lock", CARGO, "rye", []),
        ("Cargo.lock", CARGO, "rye_bran", [("rye-bran", "0.1.0")]),
        (
            "package-lock.json",
            (
                '"packages": {\n"": {\n"dependencies": {\n"oat": "^1"\n}\n},\n"node_modules/oat": {\n'
                '"version": "1.2.3",\n},\n"node_modules/@mill/oat": {\n"version": "9.9.9",\n}'
            ),
            "oat",
            [("oat", "1.2.3")],
        ),
        (
            "yarn.lock",
            '"@mill/oat@^1.0":\n  version "1.2.3"\n\noat@^2:\n  version "2.3.4"\n',
            "oat",
            [("oat", "2.3.4")],
        ),
        ("pnpm-lock.yaml", "packages:\n\n  oat@1.2.3:\n    resolution: {}\n", "oat", [("oat", "1.2.3")]),
        ("Gemfile.lock", "GEM\n  specs:\n    oat (1.2)\n      rye (>= 2)\n    rye (2.1)\n", "rye", [("rye", "2.1")]),
        (
            "composer.lock",
            '{"packages": [{\n"name": "mill/oat",\n"version": "v1.2"\n}]}',
            "mill/oat",
            [("mill/oat", "v1.2")],
        ),
        ("mix.lock", '%{\n  "oat": {:hex, :oat, "1.2.3", "abc"},\n}\n', "oat", [("oat", "1.2.3")]),
        (
            "go.sum",
            "github.com/mill/oat v1.2.3 h1:abc=\ngithub.com/mill/oat v1.2.3/go.mod h1:def=\n",
            "oat",
            [("github.com/mill/oat", "v1.2.3")],
        ),
        (
            "pubspec.lock",
            'packages:\n  oat:\n    dependency: main\n    description:\n      name: oat\n    version: "1.2.3"\n',
            "oat",
            [("oat", "1.2.3")],
        ),
        (
            "Package.resolved",
            '{\n"identity" : "oat",\n"location" : "x",\n"state" : {\n"version" : "1.2.3"\n}',
            "oat",
            [("oat", "1.2.3")],
        ),
        ("Podfile.lock", "PODS:\n  - Oat (1.2.3):\n    - Rye (~> 2)\n", "Oat", [("Oat", "1.2.3")]),
        ("gradle.lockfile", "org.mill:oat:1.2.3=compileClasspath\n", "oat", [("org.mill:oat", "1.2.3")]),
    ],
)
def test_a_lock_file_gives_its_own_entries(path: str, text: str, name: str, expected: list[tuple[str, str]]) -> None:
    """What an entry needs is a range, and no entry of its own."""
    assert [(item.name, item.version) for item in read_locked(path, text.splitlines(), name)] == expected


FILES: dict[str | bytes, str | bytes | None] = {
    "Cargo.toml": '[package]\nname = "mill"\n[dependencies]\noat = "2"\n',
    "Cargo.lock": CARGO,
    "web/package-lock.json": '{\n"packages": {\n"node_modules/corn": {\n"version": "3.1.0"\n}\n}\n}\n',
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("locks")
    RepositoryBuilder(root / "mill").commit(FILES, "Add the lock files")
    return open_engine([root], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        ("Which version of oat is locked in Cargo.lock?", "`Cargo.lock` lists `oat` `1.3.2` and `2.10.0`"),
        ("Which version of rye-bran is in the lockfile?", "`Cargo.lock` lists `rye-bran` `0.1.0`"),
        ("What version of corn does package-lock.json pin?", "`web/package-lock.json` lists `corn` `3.1.0`"),
        ("Which version of rye-bran does it use?", "`Cargo.lock` lists `rye-bran` `0.1.0`"),
        ("Which version of oat does it use?", "`Cargo.toml` lists `oat` `2`"),
    ],
)
def test_lock_files_answer_where_they_are_asked_for_or_alone_have_it(
    mill: LocalEngine, question: str, beginning: str
) -> None:
    assert lead_of(mill, question).startswith(beginning), lead_of(mill, question)


def test_the_range_of_a_manifest_is_no_locked_version(mill: LocalEngine) -> None:
    assert "Cargo.toml` lists" not in lead_of(mill, "Which version of oat is locked in web/package-lock.json?")


def test_hostile_lock_files_are_read_at_once() -> None:
    """Text of repositories is hostile."""
    for path, line in (
        ("yarn.lock", '"a@' * 150),
        ("go.sum", "a/" * 240),
        ("pnpm-lock.yaml", "  a@1" * 90),
        ("gradle.lockfile", "a." * 240),
        ("Pipfile.lock", '"a": {'),
    ):
        start = time.process_time()
        read_locked(path, [line] * 5_000, "a")
        assert time.process_time() - start < 2, path
