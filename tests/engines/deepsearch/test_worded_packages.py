"""Packages that only the words of a question name, lists of parts of a manifest, and versions on lines of builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.manifests import read_requirements
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FILES: dict[str | bytes, str | bytes | None] = {
    "loom.asd": (
        '(defsystem "loom"\n  :depends-on (:alexandria ; a comment (:old)\n'
        '               (:feature (:not :lispworks) :usocket))\n  :components ((:file "loom")))\n'
        "(defsystem :loom/test\n  :depends-on (#:loom :fiveam))\n"
    ),
    "galaxy.yml": "namespace: mill\nname: loom\ndependencies:\n  mill.posix: '>=1.0.0'\nlicense:\n  - MIT\n",
    "Loom.podspec": (
        "Pod::Spec.new do |s|\n  s.name = 'Loom'\n  s.subspec 'Shuttle' do |ss|\n"
        "    ss.ios.dependency 'Loom/Reach'\n    ss.osx.dependency 'Loom/Reach'\n    ss.dependency 'Loom/Safe'\n"
        "  end\n  s.ios.deployment_target = '9.0'\nend\n"
    ),
    "pnpm-workspace.yaml": "packages:\n  - docs\ncatalogs:\n  test:\n    vitest: ^4.1.10\n    '@vitest/ui': ^4.1.9\n",
    "build.sbt": 'libraryDependencies += "com.thread.module" %% "thread-module-scala" % "2.13.2" % "test"\n',
    "Loom.fsproj": '<Project>\n<PackageReference Include="Text.Weave" Version="8.0.*" />\n</Project>',
    "shard.lock": "version: 2.0\nshards:\n  spindle:\n    git: https://example.org/spindle.git\n    version: 0.2.2\n",
    "project.clj": '(defproject loom "1"\n  :plugins [[lein-weave "0.10.8"]])\n',
    "Makefile": "deps:\n\tgit clone --branch v1.1.0 https://example.org/mill/bobbin.lua $@\n",
    "tox.ini": "[tox]\nenvlist = py39, py310,\n    py{311,312}-weave\n[testenv]\ndeps = pytest\n",
    ".github/workflows/test.yml": (
        "jobs:\n  test:\n    container:\n      image: cimg/loom:1.11.1\n    services:\n      db:\n"
        "        image: postgres:16\n    strategy:\n      matrix:\n        nvim_version: [v0.9.0, v0.10.0]\n"
        "    steps:\n      - uses: mill/lathe-action@1.0.0\n        with:\n          version: 0.14.1\n"
        "      - run: git clone https://example.org/gimlet.git -b v2.5.0 gimlet\n"
    ),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("worded")
    RepositoryBuilder(root / "mills").commit(FILES, "Add the manifests")
    return open_engine([root], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What other systems does loom/test depend on?", "`loom.asd` lists at least 2 dependencies (loom/test): "),
        (
            "Which subspecs does the Shuttle subspec in the podspec depend on?",
            "`Loom/Reach` and `Loom/Safe`; `Loom/Reach` under the condition `platform ios or platform osx`",
        ),
        ("Which collections does galaxy.yml depend on?", "`galaxy.yml` lists at least 1 dependency: `mill.posix`"),
        ("Which version of vitest is in the pnpm catalog?", "`pnpm-workspace.yaml` lists `vitest` `^4.1.10` (catalog)"),
        ("which thread module version do the tests pull in", "thread-module-scala` `2.13.2` (test)"),
        ("Which version of Text.Weave does mills reference?", "`Loom.fsproj` lists `Text.Weave` `8.0.*`"),
        ("what version of spindle is locked?", "`shard.lock` lists `spindle` `0.2.2`"),
        ("which leiningen plugins does project.clj declare?", "at least 1 dependency (build plugin): `lein-weave`"),
        ("Which bobbin.lua version does the Makefile check out?", "Line 2 of `Makefile` is `git clone --branch v1.1."),
        ("what version of gimlet does CI check out", "Line 15 of `.github/workflows/test.yml` is `- run: git clone "),
        ("Which Python versions does tox run?", "`tox.ini` lists `py39`, `py310` and `py{311,312}-weave` as its"),
        (
            "Which docker image do the CI tests run in?",
            "`.github/workflows/test.yml` gives `cimg/loom:1.11.1` as the container image",
        ),
        ("Which Neovim versions does the CI test against?", "has the matrix `nvim_version`: `v0.9.0` and `v0.10.0`"),
        ("What's the iOS deployment target in the podspec?", "gives `.ios.deployment_target = '9.0'` as the oldest"),
    ],
)  # fmt: skip
def test_words_name_packages_and_lists(engine: LocalEngine, question: str, expected: str) -> None:
    assert expected in lead_of(engine, question)


@pytest.mark.parametrize(
    "question",
    [
        # The version of an action isn't that of the program that it runs.
        "What version of the lathe action's lathe do we pin in the workflow?",
        # What CI checks out is no version that is needed.
        "What's the minimum gimlet version and which packages does it require?",
        # Neither list is about weaving at night.
        "Which version of thread does the night shift need?",
        "Which version of the file format is written?",
    ],
)
def test_other_words_name_no_package(engine: LocalEngine, question: str) -> None:
    assert lead_of(engine, question).startswith(("Most relevant", "This can"))


@pytest.mark.parametrize("path", ["a.asd", "galaxy.yml", "pnpm-workspace.yaml"])
@pytest.mark.parametrize("part", ["(", ":depends-on (", "a: ", "  b: '", '"'])
def test_hostile_lines_of_new_formats_end(path: str, part: str) -> None:
    start = "(defsystem a :depends-on (" if path.endswith(".asd") else "dependencies:"
    assert isinstance(read_requirements(path, [start, part * 20_000, *[part] * 2_000]), list)


def test_a_version_may_be_a_constant_of_code(tmp_path: Path) -> None:
    files: dict[str | bytes, str | bytes | None] = {
        "loom.gemspec": "Gem::Specification.new do |s|\n  s.name = 'loom'\n  s.version = Loom::VERSION\n"
        "  s.add_dependency 'loom-rules', '0.2.7'\nend\n",
        "lib/loom/version.rb": 'module Loom\n  VERSION = "3.2.0".freeze\nend\n',
        ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - with:\n          java-version: '8'\n",
        "main.tf": 'terraform {\n  required_version = ">= 0.13"\n}\n',
    }
    RepositoryBuilder(tmp_path / "loom").commit(files, "Add")
    engine = open_engine([tmp_path], index=tmp_path / "index", workers=1)
    for question in ("which version are we on right now in the source", "What package version is it at?"):
        assert '`VERSION` is set to `"3.2.0".freeze`' in lead_of(engine, question)
    # A package whose name begins with that of the repository is another one.
    assert "loom-rules" not in lead_of(engine, "What package version is loom at?")
    assert "`java-version` is set to `'8'`" in lead_of(engine, "Which JDK version do our CI tests run on?")
    assert "lists `loom-rules` `0.2.7`" in lead_of(engine, "what loom-rules range do we depend on?")
    assert "`>= 0.13`" in lead_of(engine, "what's the minimum terraform the root module says it needs")


def test_images_of_services_are_no_images_of_jobs(tmp_path: Path) -> None:
    text = "jobs:\n  a:\n    services:\n      db:\n        image: postgres:16\n    steps:\n      - run: make\n"
    RepositoryBuilder(tmp_path / "r").commit({".github/workflows/a.yml": text}, "Add")
    lead = lead_of(open_engine([tmp_path], index=tmp_path / "index", workers=1), "Which container do the tests run in?")
    assert "as the container image" not in lead
