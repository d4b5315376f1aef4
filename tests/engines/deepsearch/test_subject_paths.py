"""Files and directories that a question for a person or a date describes in words."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

ADA, BOB, CYD = "Ada <ada@mill.example>", "Bob <bob@mill.example>", "Cyd <cyd@mill.example>"


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("mill")
    repo = RepositoryBuilder(root / "mill")
    repo.commit(
        {"LICENSE": "free\n", "lib/decoder_toml.go": "package lib\n\n\nfunc Decode() {}\n"}, "Start", author=ADA
    )
    repo.commit(
        {"charts/flour-mill/Chart.yaml": "name: flour-mill\n", "charts/rye/Chart.yaml": "name: rye\n"},
        "Charts",
        author=BOB,
    )
    repo.commit({"lib/middleware/sse.ex": "defmodule Sse do\nend\n", "LICENSE": "free, 2026\n"}, "More", author=CYD)
    repo.commit(
        {".github/workflows/ci.yml": "on: push\n", "src/wheel.rs": "fn a() {}\n", "lib/wheel.rb": "X = 1\n"},
        "Wheels",
        author=BOB,
    )
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("Who is the main person behind the TOML decoder?", "Ada wrote the most lines of `lib/decoder_toml.go`"),
        ("Who added the flour-mill chart, and when?", "`charts/flour-mill` was added by Bob on "),
        ("When did the flour mill chart show up?", "`charts/flour-mill` was added by Bob on "),
        ("who introduced the SSE middleware", "`lib/middleware/sse.ex` was added by Cyd on "),
        ("When did the licence last change?", "`LICENSE` was last changed by Cyd on "),
        ("Who last touched the CI config?", "`.github/workflows` was last changed by Bob on "),
        ("Who wrote most of the middleware code?", "Cyd wrote the most lines of `lib/middleware`"),
    ],
)
def test_the_only_path_with_all_words_is_meant(mill: LocalEngine, question: str, start: str) -> None:
    assert lead_of(mill, question).startswith(start)


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote most of the wheel code?",  # two files are called so
        "Who added the sifting middleware?",
        "Who last changed the JSON decoder?",
        "Who wrote most of the decoder tests?",
        "When was lib-sse added?",  # the parts of one name, apart
        "Who added the chart?",
        "Who wrote most of the sifter code?",  # a file and a directory belong together
    ],
)
def test_other_descriptions_mean_no_path(mill: LocalEngine, question: str) -> None:
    lead = lead_of(mill, question)
    assert " was added by " not in lead
    assert "wrote the most lines" not in lead
    assert "was last changed" not in lead


def test_a_renamed_directory_is_followed(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("weir")
    repo = RepositoryBuilder(root / "weir")
    rye = {f"{name}.yaml": "".join(f"{name} {number}\n" for number in range(20)) for name in ("a", "b", "c")}
    repo.commit({f"stable/rye/{name}": text for name, text in rye.items()}, "Rye", author=ADA)
    moved: dict[str | bytes, str | bytes | None] = {f"stable/rye/{name}": None for name in rye}
    moved |= {f"charts/rye/{name}": text for name, text in rye.items()}
    repo.commit(moved, "Move", author=BOB)
    repo.commit({"charts/rye/oat/d.yaml": "x\n", "src/isMillStone.js": "export {}\n"}, "Oat", author=CYD)
    engine = open_engine([repo.path], index=root / "index", workers=1)
    lead = lead_of(engine, "Who added the rye chart?")
    assert lead.startswith("`charts/rye` was added as `stable/rye` by Ada on ")
    assert ", and renamed by Bob on " in lead
    assert lead_of(engine, "Who added the oat chart?").startswith("`charts/rye/oat` was added by Cyd on ")
    assert lead_of(engine, "who added ismillstone").startswith("`src/isMillStone.js` was added by Cyd on ")
    assert lead_of(engine, "Is anyone still working on it?").startswith("The last commit is “Oat” by Cyd on ")
    assert lead_of(engine, "How long has this project been around?").startswith("The first commit is “Rye” by Ada on ")


@pytest.fixture(scope="module")
def loft(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("loft")
    repo = RepositoryBuilder(root / "loft")
    repo.commit({".github/workflows/rye.yml": "on: push\n" * 9, "_grist/version.py": "A = 1\n"}, "Start", author=ADA)
    repo.commit({".github/workflows/rye.yml": None, ".github/workflows/rye.yaml": "on: push\n" * 9}, "Same", author=BOB)
    repo.commit(
        {"ipk/ipk.go": "package ipk\n", "oat/oat.go": "package oat\n"}, "feat: support for ipk packages", author=CYD
    )
    repo.commit({".github/workflows/rye.yaml": None, "_grist/version.py": None}, "Drop both", author=CYD)
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("When was the rye workflow removed?", "`.github/workflows/rye.yaml` was removed by Cyd on "),
        ("When was grist/version.py deleted?", "`_grist/version.py` was removed by Cyd on "),
        ("since when can it build ipk?", "`ipk` was added by Cyd on "),
    ],
)
def test_former_files_and_words_mean_a_path(loft: LocalEngine, question: str, start: str) -> None:
    assert lead_of(loft, question).startswith(start)


def test_a_word_means_a_directory_only_if_the_commit_says_so(loft: LocalEngine) -> None:
    assert "`oat` was added by" not in lead_of(loft, "since when can it build oat?")
