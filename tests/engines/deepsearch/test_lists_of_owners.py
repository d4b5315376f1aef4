"""Lists of the package or the manifest that a question names, also in formats that are read in part."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FILES: dict[str | bytes, str | bytes | None] = {
    "Cargo.toml": '[workspace]\nmembers = ["grain-cli"]\n',
    "grain-cli/Cargo.toml": (
        '[package]\nname = "grain-cli"\n[dependencies]\noat = "1"\n[dev-dependencies]\nrye = "2"\nbran = "3"\n'
    ),
    "Grain.podspec": "Pod::Spec.new do |s|\n  s.dependency 'Barley', '~> 1'\n  s.ios.dependency 'Corn', '2'\nend\n",
    "grain-lwt.opam": 'depends: [\n  "lwt" {>= "5"}\n  "alcotest" {with-test}\n]\n',
    "test/Grain.Tests/Grain.Tests.csproj": "<TargetFrameworks>net48;net8.0</TargetFrameworks>\n",
    "src/Grain/Grain.csproj": "<TargetFrameworks>netstandard2.0</TargetFrameworks>\n",
    ".github/workflows/node.js.yml": "jobs:\n  a:\n    steps:\n      - uses: mill/sow@v4\n",
    ".github/workflows/node.yml": "jobs:\n  a:\n    steps:\n      - uses: mill/sow@v3\n",
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("owners")
    RepositoryBuilder(root / "mill").commit(FILES, "Add the manifests")
    return open_engine([root], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        (
            "What does grain-cli depend on?",
            "`grain-cli/Cargo.toml` lists 1 dependency: `oat`; 2 more are listed for dev",
        ),
        ("What are the dev dependencies of grain-cli?", "`grain-cli/Cargo.toml` lists 2 dependencies (dev): `rye` and"),
        ("How many dependencies does `grain-cli` have?", "`grain-cli/Cargo.toml` lists 1 dependency: `oat`"),
        ("What does the podspec depend on?", "`Grain.podspec` lists at least 2 dependencies: `Barley` and `Corn`"),
        (
            "What does grain-lwt depend on?",
            "`grain-lwt.opam` lists at least 1 dependency: `lwt`; 1 more is listed for test",
        ),
        (
            "Which version of mill/sow does the node.js workflow use?",
            "`.github/workflows/node.js.yml` lists `mill/sow`",
        ),
        (
            "Which frameworks does it target?",
            "`src/Grain/Grain.csproj` gives `netstandard2.0` as the target frameworks",
        ),
    ],
)
def test_the_list_of_what_a_question_names_is_stated(mill: LocalEngine, question: str, beginning: str) -> None:
    """A list of which more may be unread has a least number."""
    assert lead_of(mill, question).startswith(beginning), lead_of(mill, question)


@pytest.mark.parametrize(
    ("question", "absent"),
    [
        ("Which frameworks do the tests target?", "netstandard2.0"),
        ("What does parse_grain depend on?", " lists "),
    ],
)
def test_the_list_of_something_else_is_not_stated(mill: LocalEngine, question: str, absent: str) -> None:
    """What tests target is no target of the library, and a name of code has no manifest."""
    assert absent not in lead_of(mill, question)
