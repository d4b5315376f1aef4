"""Manifests of D, Autotools, PowerShell and others: what they list, for what, and what only looks like an entry."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.manifests import read_requirements, read_runtime
from sourcelight.testing import RepositoryBuilder


def read(path: str, text: str) -> list[tuple[str, str, str]]:
    requirements = read_requirements(path, text.splitlines())
    assert requirements is not None
    lines = text.splitlines()
    assert all(item.name.rpartition("/")[2].rpartition(":")[2] in lines[item.line - 1] for item in requirements)
    return [(item.name, item.version, item.group) for item in requirements]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "dub.sdl",
            ('name "loom"\ndependency "warp" version="~>0.9.0"\n// dependency "old" version="1"\nsubPackage {\n'
            '  dependency "weft" path=".."\n}\nconfiguration "unittest" {\n  dependency "silly" version="1.1.1"\n}\n'),
            [("warp", "~>0.9.0", ""), ("weft", "", "subPackage"), ("silly", "1.1.1", "configuration unittest")],
        ),
        (
            "dub.json",
            ('{"dependencies": {\n"warp": "~>1.0"},\n"configurations": [{"name": "test", "dependencies": {\n"silly":'
            ' {"version": "1.1"}}}]}'),
            [("warp", "~>1.0", ""), ("silly", "1.1", "configuration test")],
        ),
        (
            "fpm.toml",
            ('name = "loom"\n[dependencies]\nstdlib = { git = "https://example.org/stdlib", tag = "v1" }\n'
            '[dev-dependencies]\ntest-drive.git = "https://example.org/test-drive"\n'),
            [("stdlib", "v1", ""), ("test-drive", "", "dev")],
        ),
        (
            "project/plugins.sbt",
            'addSbtPlugin("org.loom" % "sbt-weave" % "1.1.2")\n// addSbtPlugin("org.old" % "sbt-old" % "1")\n',
            [("org.loom:sbt-weave", "1.1.2", "build plugin")],
        ),
        (
            "configure.ac",
            "# PKG_CHECK_MODULES([OLD], [old])\nPKG_CHECK_MODULES([XML], [libxml-2.0 >= 2.9 glib-2.0])\n",
            [("libxml-2.0", ">= 2.9", "pkg-config"), ("glib-2.0", "", "pkg-config")],
        ),
        (
            "dist.ini",
            "[Prereqs]\nperl = 5.010\nTry::Tiny = 0.30\n[Prereqs / TestRequires]\nTest::More = 0\n[Git]\nA = 1\n",
            [("Try::Tiny", "0.30", ""), ("Test::More", "", "TestRequires")],
        ),
        (
            "loom.psd1",
            ("@{\n  RequiredModules = @(\n    'Weave',\n    @{ModuleName = 'Warp'; ModuleVersion = '1.2'}\n  )\n"
            "  Tags = @('Other')\n}\n"),
            [("Weave", "", ""), ("Warp", "1.2", "")],
        ),
        (
            "build.ps1",
            ("<#\nInstall-Module Old\n#>\n# Install-Module Gone\nInstall-Module Psake, PSDeploy, posh-git -Force\n"
            "Install-Module -Name Pester -RequiredVersion 4.10.1\nInstall-Module $name\n#Requires -Modules Warp\n"),
            [
                ("Psake", "", "installed"), ("PSDeploy", "", "installed"), ("posh-git", "", "installed"),
                ("Pester", "4.10.1", "installed"), ("Warp", "", "required"),
            ],
        ),
        (
            "test.ps1",
            "#Requires -Version 5.1\n#Requires -Modules @{ ModuleName = 'Pester'; ModuleVersion = '5.2.0' }\n",
            [("Pester", "5.2.0", "required")],
        ),
        (
            "loom.el",
            (';;; loom.el --- Weave\n;; Version: 1.2\n;; Package-Requires: ((emacs "25.1") (dash "2.13.0")\n'
            ';;                    (warp "1.0"))\n;; Keywords: (old "1.0")\n\n(setq loom (list (felt "2.0")))\n'),
            [("dash", "2.13.0", ""), ("warp", "1.0", "")],
        ),
        (
            "Cask",
            '(source melpa)\n(depends-on "dash" "2.13.0")\n(development\n (depends-on "f"))\n;; (depends-on "old")\n',
            [("dash", "2.13.0", ""), ("f", "", "development")],
        ),
        (
            "requirements.txt",
            "nlohmann/json@v3.8.0\nnumpy==1.0\n",
            [("nlohmann/json", "v3.8.0", ""), ("numpy", "==1.0", "")],
        ),
        (
            "requirements.psd1",
            "@{\n  PSDependOptions = @{\n    Target = 'User'\n  }\n  'Pester' = '4.10.1'\n  Psake = 'latest'\n}\n",
            [("Pester", "4.10.1", ""), ("Psake", "latest", "")],
        ),
        (
            "debian/control",
            "Build-Depends: debhelper (>= 9), cmake\nDescription: a\n b, c\nPackage: loom\nDepends: libc6\n",
            [("debhelper", ">= 9", "build"), ("cmake", "", "build"), ("libc6", "", "")],
        ),
        (
            "tox.ini",
            ("[tox]\nenvlist = py\n[testenv]\ndeps =\n    pytest>=8\n    cov: coverage\ncommands = pytest\n"
            "[testenv:docs]\ndeps = sphinx\n"),
            [("pytest", ">=8", "testenv"), ("coverage", "", "testenv"), ("sphinx", "", "testenv:docs")],
        ),
        (
            "docker-compose.yml",
            "services:\n  db:\n    image: postgres:16\n    # image: mysql:5\n  app:\n    image: ${IMAGE}\n",
            [("postgres", "16", "image")],
        ),
        (
            "stack.yaml",
            "resolver: lts-22.1\nextra-deps:\n- warp-3.3.1@sha256:0\n- git: x\npackages:\n- loom-1.0\n",
            [("warp", "3.3.1", "extra-deps")],
        ),
        (
            "composer.json",
            '{"require": {"a/b": "1"},\n"suggest": {"ext-gmp": "Faster."}}',
            [("a/b", "1", ""), ("ext-gmp", "", "suggest")],
        ),
        (
            "Project.toml",
            '[deps]\nAqua = "a"\n[compat]\nAqua = "1"\n[extras]\nTest = "b"\nOther = "c"\n[targets]\ntest = ["Test"]\n',
            [("Aqua", "1", ""), ("Test", "", "test"), ("Other", "", "extras")],
        ),
    ],
)  # fmt: skip
def test_what_manifests_list(path: str, text: str, expected: list[tuple[str, str, str]]) -> None:
    assert read(path, text) == expected


@pytest.mark.parametrize(
    ("path", "text", "runtime", "version"),
    [
        ("configure.ac", "AC_INIT(x)\nAC_PREREQ([2.69])\n", "autoconf", "2.69"),
        ("configure.ac", "AM_INIT_AUTOMAKE([foreign subdir-objects 1.11])\n", "automake", "1.11"),
        ("meson.build", "project('loom', 'c',\n  meson_version: '>=0.56')\n", "meson", ">=0.56"),
        ("gradle-wrapper.properties", "distributionUrl=https\\://x/gradle-8.4-rc-1-bin.zip\n", "gradle", "8.4-rc-1"),
        ("project/build.properties", "sbt.version = 1.9.7\n", "sbt", "1.9.7"),
        (".bazelversion", "7.1.0\n", "bazel", "7.1.0"),
        ("build.mill", "//| mill-version: 1.1.0\n", "mill", "1.1.0"),
        ("loom.cabal", "cabal-version: >= 1.10\n", "cabal", ">= 1.10"),
    ],
)  # fmt: skip
def test_versions_of_tools(path: str, text: str, runtime: str, version: str) -> None:
    requirement = read_runtime(path, text.splitlines(), runtime)
    assert requirement is not None
    assert requirement[0] == version


def test_a_key_of_a_catalog_is_no_artifact_of_another_group() -> None:
    text = '[versions]\nksp = "2.3"\nkct = "0.13"\nfelt = "1.0"\n[libraries]\n'
    text += 'felt = { module = "org.loom:felt", version.ref = "felt" }\n'
    text += 'kct-ksp = { module = "dev.kct:ksp", version.ref = "kct" }\n'
    requirements = read_requirements("gradle/libs.versions.toml", text.splitlines()) or []
    keys = [(item.name, item.version, item.line) for item in requirements if item.group == "catalog version"]
    assert keys == [("kct", "0.13", 3), ("ksp", "2.3", 2)]


def test_bounds_of_ocaml_are_read_through_their_brackets() -> None:
    text = "(lang dune 3.8)\n(depends\n (ocaml (and (and (>= 4.08.0) (< 5.7.0))))\n (re (and :with-test (>= 1.9.0))))\n"
    assert read_runtime("dune-project", text.splitlines(), "ocaml") == (">= 4.08.0 & < 5.7.0", 3)
    assert read("dune-project", text)[-1] == ("re", ">= 1.9.0", "test")


@pytest.mark.parametrize(
    "part", ["[", "@{ModuleName=", "Install-Module a, ", "a:", "PKG_CHECK_MODULES(", "x -", "- a-1"]
)
@pytest.mark.parametrize(
    "path", ["dub.sdl", "configure.ac", "build.ps1", "a.psd1", "tox.ini", "debian/control", "stack.yaml"]
)
def test_hostile_lines_take_linear_time(path: str, part: str) -> None:
    start = time.process_time()
    read_requirements(path, [part * 20_000, *[part * 50] * 500])
    assert time.process_time() - start < 1.5


def test_tools_and_plugins_are_answered(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "loom").commit(
        {
            "build.sbt": 'val felt = "2.22.0"\nlibraryDependencies += "org.loom" % "felt-core" % felt\n',
            "project/build.properties": "sbt.version=1.9.7\n",
            "project/plugins.sbt": 'addSbtPlugin("org.loom" % "sbt-weave" % "1.1.2")\n',
            "build.ps1": "Install-Module Psake, BuildHelpers\n",
        },
        "Set up",
    )
    engine = open_engine([tmp_path], index=tmp_path / "index", workers=1)

    def answer(question: str) -> str:
        return research(engine, question).text.split("\n\n")[0]

    assert answer("Which version of sbt does the build use?").startswith(
        "`project/build.properties` sets the sbt version to `1.9.7`"
    )
    assert answer("Which version of the sbt-weave plugin is used?").startswith(
        "`project/plugins.sbt` lists `org.loom:sbt-weave` `1.1.2` (build plugin)"
    )
    # A name stands for the version: it was said to have none.
    assert answer("Which version of felt-core does the build use?").startswith(
        "`build.sbt` lists `org.loom:felt-core` `felt`, which is set to `2.22.0`"
    )
    assert answer("Does build.ps1 install BuildHelpers?").startswith("`build.ps1` lists `BuildHelpers`")
    engine.close()
