"""The list that a package is in: what only tests, plugins or one profile need is no dependency at run time."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.manifests.nested_formats import NESTED_READERS
from sourcelight.engines.deepsearch.lookups.manifests.requirement import Requirement
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.timeout(90)

LEININGEN = """(defproject boat "1.0"
  :description "A \\"boat\\" [fake/inside \\"1.0\\"]"
  ; [old/commented "1.0"]
  :dependencies [[sail "2.1.0"]
                 #_[anchor "9.9"]
                 [oar/blade "0.3" :exclusions [wood]]]
  :plugins [[lein-paint "0.10.8"]]
  :profiles {:dev {:dependencies [[clj-time "0.15.2"]]}
             :1.9 {:dependencies [[org.clojure/clojure "1.9.0"]]}})
"""
DEPS = """{:deps {sail/sail {:mvn/version "2.1.0"}
        oar/oar {:git/tag "v3" :git/sha "abc"}}
 :aliases {:test {:extra-deps {kaocha/kaocha {:mvn/version "1.8"}}}}}
"""
REBAR = """%% {gone, "1.0"}
{deps, [{cowboy, "2.9.0"}, {gun, {git, "https://x/gun.git", {tag, "2.0"}}}]}.
{project_plugins, [{rebar3_hex, "7.0"}]}.
{profiles, [{test, [{deps, [{proper, "1.4.0"}]}]}]}.
"""
OPAM = (
    'depends: [\n  "dune" {>= "3.0"}\n  "alcotest" {with-test & >= "1.0"}\n  "odoc" {with-doc}\n  "menhir" {build}\n]\n'
)
DUNE = "(depends\n (fmt (>= 0.8))\n (alcotest :with-test)\n (qcheck (and :with-test (>= 0.18))))\n"
OPAM_CONFLICTS = (
    'build: [\n  "dune"\n]\ndepends: ["fmt" {>= "0.8"}]\ndepopts: [\n  "tls" {>= "2"}\n]\n'
    'conflicts: [\n  "ounit" {< "2.0"}\n  "base-domains"\n]\n'
    'description: """\ndepends: [\n  "told"\n]\n"""\nx-ci: [\n  "later"\n]\n'
)
DUNE_CONFLICTS = "(depends\n (fmt (>= 0.8)))\n(conflicts\n (ounit (< 2.0)))\n(depopts\n (tls (>= 2)))\n"
HPACK = """dependencies:
  - base >= 4.7 && < 5
library:
  source-dirs: src
  dependencies:
    - text
tests:
  spec:
    main: Spec.hs
    dependencies:
      - hspec
"""
PERL = "WriteMakefile(\n  PREREQ_PM => {\n    'Moo' => 2.0,\n  },\n  TEST_REQUIRES => { 'Test::More' => 0.98 },\n);\n"
PAKET = "source https://example.org\nnuget Hull ~> 1.0\n\ngroup Test\n  nuget Keel 3.2\n"
BAZEL = (
    'bazel_dep(name = "rules_cc", version = "0.1")\nbazel_dep(\n    name = "catch2",\n    dev_dependency = True,\n)\n'
)
NIMBLE = """requires "nim >= 1.6", "chronos"
when defined(windows):
  requires "winim >= 3"
taskRequires "test", "unittest2"
"""
PERL_METADATA = """WriteMakefile(
  VERSION => '1.2',
  META_MERGE => {
    'meta-spec' => {version => 2},
    prereqs => {runtime => {requires => {perl => '5.016'}}, test => {requires => {'Test::Grain' => '0.1'}}},
    # PREREQ_PM => {'Old::Wire' => '1'},
  },
  PREREQ_PM => {'IO::Wire' => '0.37', 'Sub::Mill' => '1.41'},
  test => {TESTS => 't/*.t'}
);
"""
BUILD_PL = """Module::Build->new(
  module_name => 'Mill',
  requires => { 'perl' => '5.8', 'Moo' => '>= 2' },
  build_requires => { 'Test::More' => 0 },
  resources => { Other => '1' },
);
"""
PODS = "target 'App' do\n  pod 'Moya', '~> 15'\n  target 'AppTests' do\n    pod 'Quick'\n  end\nend\n"
SPEC = """Pod::Spec.new do |s|
  s.dependency 'Alamofire'
  s.test_spec 'Tests' do |t|
    t.dependency 'Nimble'
  end
end
"""


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "project.clj",
            LEININGEN,
            {
                "sail": "",
                "oar/blade": "",
                "lein-paint": "build plugin",
                "clj-time": "profile dev",
                "org.clojure/clojure": "profile 1.9",
            },
        ),
        ("deps.edn", DEPS, {"sail/sail": "", "oar/oar": "", "kaocha/kaocha": "alias test"}),
        ("rebar.config", REBAR, {"cowboy": "", "gun": "", "rebar3_hex": "build plugin", "proper": "profile test"}),
        ("boat.opam", OPAM, {"dune": "", "alcotest": "test", "odoc": "doc", "menhir": "build"}),
        ("dune-project", DUNE, {"fmt": "", "alcotest": "test", "qcheck": "test"}),
        ("boat.opam", OPAM_CONFLICTS, {"fmt": "", "tls": "optional"}),
        ("dune-project", DUNE_CONFLICTS, {"fmt": "", "tls": "optional"}),
        ("package.yaml", HPACK, {"base": "", "text": "", "hspec": "tests"}),
        ("Makefile.PL", PERL, {"Moo": "", "Test::More": "test_requires"}),
        ("Makefile.PL", PERL_METADATA, {"IO::Wire": "", "Sub::Mill": "", "Test::Grain": "test"}),
        ("Build.PL", BUILD_PL, {"Moo": "", "Test::More": "build_requires"}),
        ("paket.dependencies", PAKET, {"Hull": "", "Keel": "group Test"}),
        ("MODULE.bazel", BAZEL, {"rules_cc": "", "catch2": "dev"}),
        ("boat.nimble", NIMBLE, {"nim": "", "chronos": "", "winim": "when defined(windows)", "unittest2": "task test"}),
        ("Podfile", PODS, {"Moya": "", "Quick": "AppTests"}),
        ("Boat.podspec", SPEC, {"Alamofire": "", "Nimble": "test_spec"}),
    ],
)
def test_each_entry_has_the_list_around_it(path: str, text: str, expected: dict[str, str]) -> None:
    requirements = read(path, text)
    assert {item.name: item.group for item in requirements} == expected
    lines = text.split("\n")
    assert all(item.name.rpartition("/")[2] in lines[item.line - 1] or path == "MODULE.bazel" for item in requirements)


def read(path: str, text: str) -> list[Requirement]:
    reader = next(reader for pattern, reader in NESTED_READERS if re.search(pattern, path) is not None)
    return list(reader(text.split("\n")))


def test_a_package_of_a_profile_is_none_of_run_time(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "boat")
    repo.commit({"project.clj": LEININGEN, "src/boat.clj": "(ns boat)\n"}, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)

    def answer(question: str) -> str:
        return research(engine, question).text.split("\n\n")[0]

    assert answer("Is sail a runtime dependency?").startswith("Yes: `project.clj` lists `sail` `2.1.0`")
    assert "(profile dev), but not as a runtime dependency" in answer("Is clj-time a runtime dependency?")
    assert answer("Is clj-time a dev dependency?").startswith(
        "Yes: `project.clj` lists `clj-time` `0.15.2` (profile dev)"
    )
    assert not answer("Does it depend on lein-paint?").startswith("Yes")
    assert "but not as an optional dependency" in answer("Is sail an optional dependency?")


@pytest.mark.parametrize("path", ["project.clj", "deps.edn", "rebar.config", "MODULE.bazel", "a.nimble", "Podfile"])
@pytest.mark.parametrize(
    "part", ['[a "1', "{a,", "(:a ", '"', '\\"', 'a{:mvn/version "', "[" * 400, "a" * 400 + "\n" * 400, "bazel_dep("]
)
def test_hostile_manifests_are_read_in_linear_time(path: str, part: str) -> None:
    text = part * (200_000 // len(part))
    start = time.process_time()
    read(path, text)
    assert time.process_time() - start < 5


def test_a_gemfile_beside_a_gemspec_is_for_work_on_the_gem(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "oar")
    gemspec = "Gem::Specification.new do |s|\n  s.name = 'oar'\n  s.add_dependency 'rack', '~> 3.0'\nend\n"
    repo.commit({"oar.gemspec": gemspec, "Gemfile": "gemspec\ngem 'minitest', '~> 5.14'\n"}, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert research(engine, "Is minitest a dev dependency?").text.startswith("Yes: `Gemfile` lists `minitest`")
    assert "not as a development dependency" in research(engine, "Is rack a dev dependency?").text


def test_what_something_works_with_is_no_list_of_packages(tmp_path: Path) -> None:
    """No manifest lists a platform, and a "No" would say that it doesn't work there."""
    repo = RepositoryBuilder(tmp_path / "flag")
    repo.commit({"Cargo.toml": '[package]\nname = "flag"\nversion = "1.0.0"\n', "src/lib.rs": "fn a() {}\n"}, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    answer = research(engine, "Does it work with WebAssembly?").text
    assert answer.startswith("No searched file has `WebAssembly`")


def test_a_makefile_of_perl_answers_for_its_distribution(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "wire")
    makefile = PERL_METADATA.replace("WriteMakefile(", "WriteMakefile(\n  NAME => 'Wirelicious',")
    repo.commit({"Makefile.PL": makefile, "lib/Wire.pm": "package Wire;\n1;\n"}, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)

    def answer(question: str) -> str:
        return research(engine, question).text.split("\n\n")[0]

    assert answer("Which version of IO::Wire does Wirelicious need?").startswith(
        "`Makefile.PL` lists `IO::Wire` `0.37` ["
    )
    assert answer("Which Perl version does Wirelicious need?").startswith("`Makefile.PL` requires Perl `5.016` [")
    assert "Old::Wire" not in answer("Which version of Old::Wire does Wirelicious need?")[:40]


def test_lists_for_tests_and_for_all_work_have_the_version(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "boat")
    repo.commit(
        {
            "boat.gemspec": "Gem::Specification.new do |s|\n  s.name = 'boat'\n  s.add_dependency 'hull'\nend\n",
            "Gemfile": "gem 'rope', '0.15.0'\n",
            "pom.xml": POM.format(name="boat", scope=""),
            "keel/pom.xml": POM.format(name="keel", scope="<scope>test</scope>").replace("1.0", "2.0"),
            "Dockerfile": "FROM golang:1.20 AS build\nFROM registry.example/alpine:3.23\n",
            ".github/workflows/test.yml": (
                "matrix:\n  go-version: [1.18.x]\nwith:\n  go-version: ${{ matrix.go-version }}\n"
            ),
            ".github/workflows/lint.yml": "with:\n  go-version: 1.19\n",
        },
        "Start",
    )
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)

    def answer(question: str) -> str:
        return research(engine, question).text.split("\n\n")[0]

    assert answer("Which version of rope is Boat pinned to?").startswith("`Gemfile` lists `rope` `0.15.0` [")
    assert answer("Which version of sail do the keel's tests use?").startswith(
        "`keel/pom.xml` lists `sail` `2.0` (test)"
    )
    image = "`Dockerfile` builds from `golang:1.20` and `registry.example/alpine:3.23`"
    assert answer("Which Alpine version is the Docker image based on?").startswith(image)
    assert not answer("Which Debian version is the Docker image based on?").startswith("`Dockerfile`")
    assert answer("What is go-version set to in the test workflow?").startswith(
        "`go-version` is set to `[1.18.x]` in `.github/workflows/test.yml`, line 2"
    )
    assert answer("What is go-version set to in the lint workflow?").startswith("`go-version` is set to `1.19`")
    assert not answer("What is go-version set to in the docs workflow?").startswith("`go-version` is set")


POM = """<project>
  <artifactId>{name}</artifactId>
  <dependencies>
    <dependency>
      <groupId>org.sail</groupId>
      <artifactId>sail</artifactId>
      <version>1.0</version>
      {scope}
    </dependency>
  </dependencies>
</project>
"""


MILL = """object barge extends ScalaModule {
  trait Checks extends TestModule.Utest {
    def ivyDeps = Agg(ivy"com.lihaoyi::utest::0.8.3")
  }
}
"""


@pytest.mark.parametrize(
    ("path", "text", "name", "version"),
    [
        ("build.mill", MILL, "utest", "`0.8.3`"),
        ("go.mod", "module a.org/barge\n\nrequire a.org/rope v1.2.0\n", "rope", "`v1.2.0`"),
        ("Gemfile", "gem 'rope', '1.2.0', group: :test\n", "rope", "`1.2.0`"),
        ("requirements.txt", "rope==1.2.0\n", "rope", "`rope==1.2.0`"),
        ("DESCRIPTION", "Package: barge\nSuggests:\n    rope (>= 1.2.0)\n", "rope", "`>= 1.2.0` (Suggests)"),
    ],
)
def test_without_scopes_nothing_is_said_of_them(tmp_path: Path, path: str, text: str, name: str, version: str) -> None:
    """The code around a line of a build program may say that it is for tests."""
    repository = RepositoryBuilder(tmp_path / "barge")
    repository.commit({path: text}, "Start")
    engine = open_engine([repository.path], index=tmp_path / "index", workers=1)
    lead = research(engine, f"Which version of {name} do the tests use?").text.split("\n\n")[0]
    assert lead.startswith(f"`{path}` lists "), lead
    assert version in lead
    assert "but not as" not in lead
    engine.close()


def test_the_beginning_of_the_repository_is_all_of_its_manifests(tmp_path: Path) -> None:
    files: dict[str | bytes, str | bytes | None] = {
        "Makefile.PL": (
            "use ExtUtils::MakeMaker;\nmy %args = (\n  NAME => 'Mill',\n  PREREQ_PM => {\n    'Carp' => 0\n  },\n);\n"
        ),
        "cpanfile": 'on \'develop\' => sub {\n  requires "Devel::Stone" => "3.23";\n};\n',
    }
    repo = RepositoryBuilder(tmp_path / "Mill.pm")
    repo.commit(files, "Build a mill")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    text = research(engine, "Which version of Devel::Stone does Mill need for development?").text
    assert text.startswith("`cpanfile` lists `Devel::Stone` `3.23`")


def test_a_list_that_is_named_for_developers_has_their_version(tmp_path: Path) -> None:
    """An environment of tox has the name without a version, and says nothing of development."""
    repo = RepositoryBuilder(tmp_path / "boat")
    files = {
        "setup.py": "from setuptools import setup\n\nsetup(name='boat')\n",
        "tox.ini": "[testenv:flake8]\ndeps =\n    flake8\n",
        "dev.requirements.txt": "flake8==4.0.1\n",
    }
    repo.commit(files, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    answer = research(engine, "Which flake8 version is pinned for development?").text
    assert answer.startswith("`dev.requirements.txt` lists `flake8==4.0.1`")
