"""Counts of things that a question names without their directory, and everyday words of questions for a number."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FILES: dict[str | bytes, str | bytes | None] = {
    "Cargo.toml": '[package]\nname = "reel"\n[workspace]\nmembers = [\n  "core", # "old"\n  "cli",\n]\n',
    "core/Cargo.toml": '[package]\nname = "core"\n',
    "cli/Cargo.toml": '[package]\nname = "cli"\n',
    "pom.xml": "<modules>\n<module>a</module>\n<!-- <module>b</module> -->\n<module>c</module>\n</modules>\n"
    "<profiles>\n<module>d</module>\n</profiles>\n",
    **{f"assets/themes/{name}.kdl": "a\n" for name in ("dark", "light", "dusk")},
    "assets/themes/README.md": "Themes.\n",
    "tests/themes/x.kdl": "a\n",
    **{f"examples/{name}/main.rs": "fn main() {}\n" for name in ("one", "two")},
    **{f"web/i18n/{name}/a.json": "{}\n" for name in ("de", "pt-BR", "kab-KAB")},
    **{f"src/transports/{name}.js": "x\n" for name in ("console", "file", "http", "index")},
    "src/transports/http.d.ts": "x\n",
    "src/plugins/a.py": "x\n",
    "src/plugins/more/b.py": "x\n",
    "lib/plugins/c.py": "x\n",
    **{f"crds/{name}.yaml": "a: 1\n" for name in ("one", "two", "kustomization")},
    **{f"chart-{name}/Chart.yaml": "name: x\n" for name in ("a", "b")},
    "tests/chart/Chart.yaml": "name: x\n",
    "test/unit/a.spec.ts": "it('x')\n",
    "test/unit/b.spec.ts": "it('x')\n",
    "test/unit/b.spec.ts.snap": "x\n",
    "test/unit/helper.ts": "x\n",
    "snap/a.snap": "x\n",
    "snap/b.snap": "x\n",
    ".github/workflows/ci.yml": "on: push\n",
    "go/test_route.go": "package a\n",
    "go/route_test.go": "package a\n",
    "hs/One.hs": "module One where\n",
    "hs/Two.hs": "module Two where\n",
    "hs/notes.md": "text\n",
}


@pytest.fixture(scope="module")
def reel(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("parts")
    repository = RepositoryBuilder(root / "reel")
    repository.commit(FILES, "Start")
    repository.tag("v1")
    return open_engine([root], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        ("How many colour themes ship with it?", "**3** files in `assets/themes/*.kdl`, besides `README.md`"),
        ("How many example projects come with it?", "**2** directories are directly in `examples/`"),
        ("How many examples does the repo contain?", "**2** directories are directly in `examples/`"),
        (
            "How many languages has the website been translated into?",
            "**3** directories are directly in `web/i18n/` and named like languages",
        ),
        (
            "How many built-in transports ship with it?",
            "**3** files in `src/transports/*.js`, besides `http.d.ts` and `index.js`",
        ),
        (
            "How many custom resource definitions come with the chart?",
            "**2** files in `crds/*.yaml`, besides `kustomization.yaml`",
        ),
        ("How many members does the cargo workspace have?", "**2** members are listed in `Cargo.toml`"),
        ("How many Maven modules does the root POM list?", "**2** modules are listed in `pom.xml`, and 1 in profiles"),
        (
            "How many charts are in here?",
            "**2** directories have a `Chart.yaml`; 1 more is in directories of tests or examples",
        ),
        ("how many .snap snapshots are there in total", "**3** files of `*.snap`"),
        ("How many Kotlin files are checked in?", "**0** Kotlin files"),
        ("How many workflows are configured on GitHub Actions?", "**1** file in `.github/workflows/*.y*ml`"),
        ("How many Haskell modules live in hs?", "**2** Haskell files in `hs/`"),
        ("How many Go test files are there altogether?", "**1** Go file is named like tests"),
        ("How many versions have been tagged up to now?", "**1** tag"),
        ("How many source files are in hs?", "**2** files of programming languages in `hs/`"),
        ("How many Haskell files does hs contain?", "**2** Haskell files in `hs/`"),
        ("How many spec files are in test/unit?", "**2** files in `test/unit/**/*.spec.ts`"),
        ("how many releases have been tagged so far?", "**1** tag"),
        ("How many snap files sit in snap/?", "**2** files"),
        ("Which is the longest TypeScript file and how many lines does it have?", "`src/transports/http.d.ts`"),
    ],
)
def test_everyday_words_for_a_number(reel: LocalEngine, question: str, beginning: str) -> None:
    assert lead_of(reel, question).startswith(beginning), lead_of(reel, question)


@pytest.mark.parametrize(
    "question",
    [
        "How many plugins does it come with?",
        "How many dark themes ship with it?",
        "How many transports does the queue have?",
        "How many languages does it support?",
        "How many themes can be active at once?",
        "How many languages are in crds/one.yaml?",  # which may list some
    ],
)
def test_what_no_directory_tells_has_no_number(reel: LocalEngine, question: str) -> None:
    """Two directories have the name, and words that neither name the directory nor are grammar narrow the things."""
    assert not lead_of(reel, question).startswith("**"), lead_of(reel, question)
