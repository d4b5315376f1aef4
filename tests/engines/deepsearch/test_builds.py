"""What manifests and build files answer, and what they don't prove: comments, fixtures, prefixes, other packages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.deepsearch.asking import engine_for, engine_with, lead_of, research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.manifests import is_same, package_name, read_fields, read_requirements
from sourcelight.engines.deepsearch.question.lookups.builds import read_build_question
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

CARGO = """[package]
name = "loom"
version = "0.3.1"
license = "MIT OR Apache-2.0"
edition = "2021"
# wool = "1"

[[bin]]
name = "weave"
path = "src/main.rs"

[dependencies]
thread = "2.1" # not yarn
shuttle-core = { version = "0.4", optional = true }
dye = { workspace = true }

[dev-dependencies]
bobbin = "=0.9.2"

[features]
default = ["color"]
color = []
fast = ["dep:shuttle-core"]

[workspace.dependencies]
dye = "3.2"
"""
PACKAGE = """{
  "name": "pattern-editor",
  "scripts": {"build": "tsc -p . && cp a b", "test": "vitest"},
  "dependencies": {"@types/felt": "1.0.0", "needle": "^2.0.0"},
  "devDependencies": {"vitest": "^1.2.0"}
}
"""
CHART = """apiVersion: v2
kubeVersion: ">=1.25"
name: mill
dependencies:
  - name: warp
    version: "1.2.3"
    repository: https://example.org
  # - name: weft
  #   version: 9.9.9
  - version: 0.4.x
    name: spool
"""
CMAKE = """cmake_minimum_required(VERSION 3.16...3.28)
option(LOOM_TESTS "Build (all) tests" OFF)
option(LOOM_DOCS
       "Build documents" ${LOOM_MAIN})
set(LOOM_WIDTH 80 CACHE STRING "Width")
set(LOOM_DEPTH 3)
# option(LOOM_OLD "Gone" ON)
find_package(Linen 1.4 REQUIRED)
if(LOOM_SOUND AND NOT LOOM_QUIET)
  find_package(Chime 2)
else()
  find_package(Bell)
endif()
find_package(Knot) # if(
"""
MAKEFILE = """.PHONY: check
check: build lint
\t@cargo test --all
\tcargo doc

build:
\tcargo build
"""
FILES: dict[str | bytes, str | bytes | None] = {
    "Cargo.toml": CARGO,
    "Cargo.lock": '[[package]]\nname = "cashmere"\nversion = "1.0.0"\n',
    "editor/package.json": PACKAGE,
    "tests/fixtures/app/package.json": '{"name": "app", "dependencies": {"angora": "^4.0.0"}}\n',
    "charts/mill/Chart.yaml": CHART,
    "charts/mill/values.yaml": "replicas: 2\nimage:\n  tag: v7\nsidecar:\n  replicas: 5\n",
    "native/CMakeLists.txt": CMAKE,
    "Makefile": MAKEFILE,
    "Dockerfile": "FROM debian:12 AS build\nRUN make\nFROM build\n",
    ".github/workflows/test.yml": "jobs:\n  a:\n    matrix:\n      python-version: ['3.11', '3.12']\n",
    "src/main.rs": "use merino::Fleece;\n",
}


@pytest.fixture(scope="module")
def loom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    yield from engine_with(tmp_path_factory, "loom", FILES)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Which version of thread does loom use?", "`Cargo.toml` lists `thread` `2.1`"),
        ("Does loom use the thread crate?", "Yes: `Cargo.toml` lists `thread` `2.1`"),
        ("Is bobbin a dev dependency of loom?", "Yes: `Cargo.toml` lists `bobbin` `=0.9.2` (dev)"),
        ("Is thread a dev dependency?", "`Cargo.toml` lists `thread` `2.1`, but not as a development dependency"),
        ("Is shuttle-core optional?", "Yes: `Cargo.toml` lists `shuttle-core` `0.4` (optional)"),
        # Development alone is no "Yes" to a question for what the package needs.
        ("Does loom depend on bobbin?", "`Cargo.toml` lists `bobbin` `=0.9.2` (dev)"),
        ("Which version of vitest does the pattern-editor package need?", "`editor/package.json` lists `vitest`"),
        ("Which version of needle is used by editor?", "`editor/package.json` lists `needle` `^2.0.0`"),
        ("What does `npm run build` do?", "`editor/package.json` sets the script `build` to `tsc -p . && cp a b`"),
        ("What license does loom have?", "`Cargo.toml` gives `MIT OR Apache-2.0` as the license"),
        ("Which edition does loom use?", "`Cargo.toml` gives `2021` as the edition"),
        ("Which features does loom define?", "`Cargo.toml` defines the features `color` and `fast`"),
        ("What are the default features of loom?", "`Cargo.toml` enables the feature `color` by default"),
        ("What is the name of the binary?", "`Cargo.toml` defines the program `weave`"),
        ("Which version of warp does the mill chart need?", "`charts/mill/Chart.yaml` lists `warp` `1.2.3`"),
        ("Which version of spool does mill depend on?", "`charts/mill/Chart.yaml` lists `spool` `0.4.x`"),
        ("Is LOOM_TESTS on by default?", "The default of `LOOM_TESTS` is `OFF`, in `native/CMakeLists.txt`, line 2"),
        ("What is the default of LOOM_DOCS?", "The default of `LOOM_DOCS` is `${LOOM_MAIN}`"),
        ("What is the default value of LOOM_WIDTH?", "The default of `LOOM_WIDTH` is `80`"),
        ("What is the default of image.tag in mill?", "The default of `image.tag` is `v7`"),
        ("What is the default of replicas in mill?", "The default of `replicas` is `2`"),
        ("Does loom depend on linen?", "Yes: `native/CMakeLists.txt` lists `Linen` `1.4` (find_package)"),
        (
            "Does loom depend on chime?",
            "Yes: `native/CMakeLists.txt` lists `Chime` `2` (find_package, inside if(LOOM_SOUND AND NOT LOOM_QUIET))",
        ),
        ("Does loom depend on bell?", "Yes: `native/CMakeLists.txt` lists `Bell` without a version (find_package, in"),
        ("Does loom depend on knot?", "Yes: `native/CMakeLists.txt` lists `Knot` without a version (find_package)"),
        ("Is shuttle-core required?", "`Cargo.toml` lists `shuttle-core` `0.4` (optional), but not as a required"),
        ("Is thread required by loom?", "Yes: `Cargo.toml` lists `thread` `2.1`"),
        ("Which version of thread does it use?", "`Cargo.toml` lists `thread` `2.1`"),
        ("Does it use the thread crate?", "Yes: `Cargo.toml` lists `thread` `2.1`"),
        ("Does this depend on thread?", "Yes: `Cargo.toml` lists `thread` `2.1`"),
        ("What is loom's license?", "`Cargo.toml` gives `MIT OR Apache-2.0` as the license"),
        ("Does loom still depend on thread?", "Yes: `Cargo.toml` lists `thread` `2.1`"),
        ("What license does it have?", "`Cargo.toml` gives `MIT OR Apache-2.0` as the license"),
        # A lock file has what packages need in turn, too.
        ("Does loom depend on cashmere?", "No: no searched manifest lists `cashmere`"),
        ("Does loom need bobbin?", "`Cargo.toml` lists `bobbin` `=0.9.2` (dev)"),
        ("What is the kubeVersion of mill?", '`kubeVersion` is set to `">=1.25"` in `charts/mill/Chart.yaml`'),
        ("Which image does the Dockerfile build from?", "`Dockerfile` builds from `debian:12`"),
        (
            "Which Python versions are tested in CI?",
            "`.github/workflows/test.yml` has the matrix `python-version`: `3.11` and `3.12`",
        ),
        ("What does `make check` do?", "`Makefile` runs `cargo test --all` and `cargo doc` for the target `check`"),
    ],
)  # fmt: skip
def test_build_files_answer(loom: LocalEngine, question: str, sentence: str) -> None:
    answer = research(loom, question)
    assert answer.text.startswith(sentence), answer.text
    assert all(citation.accepted for citation in answer.finished.citations)


@pytest.mark.parametrize(
    "question",
    [
        "Does loom use the wool crate?",  # commented out
        "Which version of yarn does loom use?",  # a word of a comment
        "Does loom depend on angora?",  # the manifest of a fixture
        "Does loom use the merino crate?",  # code alone
        "Does loom depend on felt?",  # the types of it are another package
        "Does loom depend on shuttle?",  # a part of a name
        "Which version of weft does mill need?",  # commented out
        "Which version of thread does the editor package use?",  # listed by another package
        "What is the default of LOOM_DEPTH?",  # a variable that no user sets
        "What is the default of LOOM_OLD?",  # commented out
    ],
)
def test_what_no_manifest_proves_is_not_affirmed(loom: LocalEngine, question: str) -> None:
    text = research(loom, question).text
    assert not text.startswith(("Yes", "No:", "The default")), text
    assert "lists `thread`" not in text.partition("\n")[0]


def test_a_directory_of_owner_and_name_is_read_as_both(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("mirror")
    RepositoryBuilder(root / "weaver+loom").commit(FILES, "Set up")
    engine = open_engine([root], index=root / "index", workers=1)
    try:
        for question in ("Which version of thread does loom use?", "Which version of thread does weaver/loom use?"):
            assert research(engine, question).text.startswith("`Cargo.toml` lists `thread` `2.1`")
    finally:
        engine.close()


def test_a_version_that_a_workspace_gives_is_stated(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("mills")
    files: dict[str | bytes, str | bytes | None] = {
        "Cargo.toml": '[workspace]\nmembers = ["left", "right"]\n\n[workspace.dependencies]\ndye = "3.2"\n',
        "left/Cargo.toml": '[package]\nname = "mills"\n\n[dependencies]\ndye = { workspace = true }\n',
        "right/Cargo.toml": '[package]\nname = "right"\n\n[dependencies]\nknot = "1"\n',
    }
    RepositoryBuilder(root / "mills").commit(files, "Set up")
    engine = open_engine([root], index=root / "index", workers=1)
    try:
        text = research(engine, "Which version of dye does the left crate use?").text
        assert text.startswith("`left/Cargo.toml` lists `dye` without a version; `Cargo.toml` gives the version `3.2`")
        # The manifest of a workspace has no dependencies, its members do.
        text = research(engine, "How many dependencies does mills have?").text
        assert text.startswith("`left/Cargo.toml` lists 1 dependency: `dye`"), text
        assert research(engine, "Does the right crate depend on dye?").text.startswith("Most relevant")
    finally:
        engine.close()


def test_properties_of_maven_are_followed(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("looms")
    pom = (
        "<project>\n<artifactId>looms</artifactId>\n<properties>\n<silk.version>2.4.1</silk.version>\n</properties>\n"
        "<dependencies>\n<dependency>\n<groupId>org.silk</groupId>\n<artifactId>silk</artifactId>\n"
        "<version>${silk.version}</version>\n</dependency>\n</dependencies>\n</project>\n"
    )
    RepositoryBuilder(root / "looms").commit({"pom.xml": pom}, "Set up")
    engine = open_engine([root], index=root / "index", workers=1)
    try:
        text = research(engine, "Which version of silk does looms use?").text
        assert text.startswith("`pom.xml` lists `silk` `${silk.version}`, which is set to `2.4.1`"), text
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("Chart.yaml", CHART, [("warp", "1.2.3"), ("spool", "0.4.x")]),
        ("CMakeLists.txt", CMAKE, [("Linen", "1.4"), ("Chime", "2"), ("Bell", ""), ("Knot", "")]),
        ("gradle/libs.versions.toml",
         '[versions]\nsilk = "2"\n[libraries]\nsilk = { module = "org.silk:silk", version.ref = "silk" }\n',
         [("org.silk:silk", "2")]),
        ("conanfile.txt", "[requires]\nfmt/10.1.0\n[options]\nfmt/9:shared=True\n", [("fmt", "10.1.0")]),
        ("project.clj",
         '(defproject a "1.0"\n  ; [old "1.0"]\n  :dependencies [[ring/ring-core "1.9.0"]])',
         [("ring/ring-core", "1.9.0")]),
        ("loom.podspec", "s.dependency 'Silk', '~> 2.0'\n# s.dependency 'Old'\n", [("Silk", "~> 2.0")]),
        ("rebar.config", '{deps, [\n  {cowboy, "2.9.0"}\n]}.\n', [("cowboy", "2.9.0")]),
        ("meson.build", "dep = dependency('glib-2.0', version: '>=2.50')\n", [("glib-2.0", ">=2.50")]),
        ("vcpkg.json",
         '{"dependencies": ["zlib", {"name": "fmt", "version>=": "9"}]}', [("zlib", ""), ("fmt", ">= 9")]),
        ("build.gradle",
         "ext.deps = [\n  silk: 'org.silk:silk:4.6.1',\n]\n// 'org.old:old:1'\n", [("org.silk:silk", "4.6.1")]),
    ],
)  # fmt: skip
def test_further_formats_are_read(path: str, text: str, expected: list[tuple[str, str]]) -> None:
    requirements = read_requirements(path, text.split("\n"))
    assert [(item.name, item.version) for item in requirements or ()] == expected


def test_no_is_said_of_many_manifests_and_of_a_list_in_a_directory_of_lists(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("lists")
    files: dict[str | bytes, str | bytes | None] = {
        **{f"packages/{name}/package.json": f'{{"name": "{name}"}}\n' for name in ("a1", "b1", "c1", "d1")},
        "setup.py": "setup(install_requires=open('requirements/base.txt').read().split())\n",
        "requirements/base.txt": "silk>=2\n",
        "lists/more.txt": "linen==1\n",
        "CMakeLists.txt": "project(a)\n",
        "README.md": "Unlike hemp and linen.\n",
    }
    RepositoryBuilder(root / "lists").commit(files, "Set up")
    engine = open_engine([root], index=root / "index", workers=1)
    try:
        text = research(engine, "Does it depend on hemp?").text
        assert text.startswith("No: no searched manifest lists `hemp` ("), text
        assert " and others)" in text.partition("\n")[0]
        assert research(engine, "Which version of silk is used?").text.startswith(
            "`requirements/base.txt` lists `silk>=2`"
        )
        # A program may read any list.
        assert not research(engine, "Does it depend on linen?").text.startswith(("No", "Yes"))
    finally:
        engine.close()


def test_a_marker_of_python_is_a_part_of_the_requirement() -> None:
    lines = ["[project]", 'name = "a"', "dependencies = [\"silk>=1; python_version < '3.11'\", 'wool']"]
    requirements = read_requirements("pyproject.toml", lines) or []
    assert [(item.name, item.version) for item in requirements] == [
        ("silk", ">=1; python_version < '3.11'"),
        ("wool", ""),
    ]


def test_a_scope_makes_another_package() -> None:
    assert not is_same("@types/react", "react")
    assert is_same("@types/react", "@types/react")
    assert is_same("github.com/spf13/pflag", "pflag")
    assert is_same("org.silk:silk", "silk")


def test_the_name_of_a_project_of_maven_is_not_that_of_its_parent() -> None:
    text = "<project>\n<parent>\n<artifactId>top</artifactId>\n</parent>\n<artifactId>part</artifactId>\n</project>"
    assert package_name("part/pom.xml", text.split("\n")) == "part"


def test_two_rules_of_one_target_are_left_out() -> None:
    assert read_fields("Makefile", ["a:", "\tb", "", "a:", "\tc"], "target", "a") == []


@pytest.mark.parametrize("word", ["a", "a ", "of the ", "a/", "version of "])
def test_long_questions_are_read_at_once(word: str) -> None:
    """Nested repetitions would take minutes."""
    assert read_build_question("which version of " + word * (280 // len(word)) + "?!") is None


POM_WITH_COMMENT = """<!-- <dependency>
<groupId>a</groupId><artifactId>gone</artifactId>
</dependency> -->
<dependency>
<groupId>a</groupId>
<artifactId>kept</artifactId>
</dependency>
"""
GRADLE_WITH_COMMENT = "/* implementation 'org.old:old:1'\n*/\nimplementation 'org.new:new:2'\n"
SETUP = 'setup(install_requires=["loom[x]>=1"], extras_require={"fast": ["silk"]})\n'
TERRAFORM = """terraform {
  required_providers {
    aws = {
      source = "hashicorp/aws"
      version = ">= 6"
    }
  }
}
module "a" {
  source = "./modules/a"
}
"""


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("pom.xml", POM_WITH_COMMENT, [("a:kept", "", 6)]),
        ("build.gradle", GRADLE_WITH_COMMENT, [("org.new:new", "", 3)]),
        ("setup.py", SETUP, [("loom", "", 1), ("silk", "optional: fast", 1)]),
        ("versions.tf", TERRAFORM, [("hashicorp/aws", "provider", 5)]),
    ],
)
def test_comments_and_further_lists_of_a_line_are_told_apart(
    path: str, text: str, expected: list[tuple[str, str, int]]
) -> None:
    requirements = read_requirements(path, text.split("\n"))
    assert [(item.name, item.group, item.line) for item in requirements or ()] == expected


MEMBERS: dict[str | bytes, str | bytes | None] = {
    "package.json": '{"name": "root",\n "packageManager": "pnpm@9",\n "devDependencies": {"silk": "~3.5"}}\n',
    "packages/spool/package.json": '{"name": "spool", "peerDependencies": {"silk": "^2 || ^3"}}\n',
    "packages/play/package.json": '{"name": "play", "dependencies": {"silk": "^3.1"}}\n',
    "src/Spool.Tests/Spool.Tests.csproj": '<PackageReference Include="Moth" Version="2.2" />\n',
    "docs/requirements.txt": "moult==1\n",
    "Gemfile": "gem 'reel'\n",
    "spool.gemspec": "s.add_dependency 'thread', '~> 1'\n",
}


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        # The package of the repository's name, not what plays with it, nor the top of the workspace.
        ("Which version of silk does spool need?", "`packages/spool/package.json` lists `silk` `^2 || ^3` (peerD"),
        ("Which package manager does spool use?", '`packageManager` is set to `"pnpm@9"` in `package.json`'),
        ("How many devDependencies are there?", "`package.json` lists 1 dependency (devDependencies): `silk`"),
        # No "Yes" by tests, documents, or the list beside a gemspec.
        ("Does spool depend on Moth?", "`src/Spool.Tests/Spool.Tests.csproj` lists `Moth` `2.2`"),
        ("Does spool depend on moult?", "`docs/requirements.txt` lists `moult==1`"),
        ("Does spool depend on reel?", "`Gemfile` lists `reel` without a version"),
        ("Does spool depend on thread?", "Yes: `spool.gemspec` lists `thread` `~> 1`"),
    ],
)
def test_the_package_of_a_repository_comes_first(
    tmp_path_factory: pytest.TempPathFactory, question: str, sentence: str
) -> None:
    root = tmp_path_factory.mktemp("spools")
    RepositoryBuilder(root / "spool").commit(MEMBERS, "Set up")
    engine = open_engine([root], index=root / "index", workers=1)
    try:
        text = research(engine, question).text
    finally:
        engine.close()
    assert text.startswith(sentence), text


def test_a_package_inherits_what_its_parent_or_workspace_requires(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("parents")
    parent = (
        "<project>\n<artifactId>top</artifactId>\n<maven.compiler.release>17</maven.compiler.release>\n</project>\n"
    )
    files: dict[str | bytes, str | bytes | None] = {
        "pom.xml": parent,
        "heddle/pom.xml": "<project>\n<artifactId>heddle</artifactId>\n</project>\n",
        "Cargo.toml": '[workspace]\nmembers = ["heddle"]\n',
        "heddle/Cargo.toml": '[package]\nname = "heddle"\n[features]\ndefault = ["wool"]\nwool = []\n',
    }
    RepositoryBuilder(root / "heddle").commit(files, "Set up")
    engine = open_engine([root], index=root / "index", workers=1)
    try:
        assert research(engine, "Which Java version does heddle need?").text.startswith("`pom.xml` requires Java `17`")
        text = research(engine, "What are the default features of heddle?").text
        assert text.startswith("`heddle/Cargo.toml` enables the feature `wool` by default"), text
    finally:
        engine.close()


def test_the_short_form_of_kotlin_is_a_package() -> None:
    lines = [
        "dependencies {",
        '    implementation(kotlin("stdlib-js"))',
        '    testImplementation(kotlin("test-junit"))',
        '    // implementation(kotlin("reflect"))',
        "}",
    ]
    requirements = read_requirements("build.gradle.kts", lines)
    assert requirements is not None
    assert [(item.name, item.group, item.line) for item in requirements] == [
        ("org.jetbrains.kotlin:kotlin-stdlib-js", "", 2),
        ("org.jetbrains.kotlin:kotlin-test-junit", "test", 3),
    ]


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        ("Which runtime dependencies does the kiln package declare?", "`package.json` lists 1 dependency: `yargs`"),
        ("Which packages does kiln need at runtime?", "`package.json` lists 1 dependency: `yargs`"),
        (
            "Which packages does kiln need for development?",
            "`package.json` lists 1 dependency (devDependencies): `mocha`",
        ),
        ("What does kiln's npm package require?", "`package.json` lists 1 dependency: `yargs`"),
    ],
)
def test_everyday_words_for_a_list_of_dependencies_are_read(tmp_path: Path, question: str, beginning: str) -> None:
    manifest = (
        '{\n "name": "kiln",\n "dependencies": {\n  "yargs": "^1"\n },\n "devDependencies": {\n  "mocha": "^2"\n }\n}\n'
    )
    engine = engine_for(tmp_path, {"package.json": manifest, "kiln.js": "// runtime\n"})
    assert lead_of(engine, question).startswith(beginning), lead_of(engine, question)


def test_a_nimble_file_has_a_list_of_packages(tmp_path: Path) -> None:
    engine = engine_for(tmp_path, {"kiln.nimble": 'requires "nim >= 1.0.0"\nrequires "chronos >= 3"\n'})
    assert lead_of(engine, "What are the dependencies?").startswith(
        "`kiln.nimble` lists 2 dependencies: `nim` and `chronos`"
    )


def test_packages_of_emacs_are_read_below_lisp(tmp_path: Path) -> None:
    head = (
        ';;; kiln.el --- Fire  -*- lexical-binding:t -*-\n\n;; Package-Requires: ((emacs "28.1") (transient "0.13"))\n'
    )
    engine = engine_for(tmp_path, {"lisp/kiln.el": head, "README.md": "Kiln\n"})
    sentence = lead_of(engine, "Which transient version does kiln need?")
    assert sentence.startswith("`lisp/kiln.el` lists `transient` `0.13`"), sentence
