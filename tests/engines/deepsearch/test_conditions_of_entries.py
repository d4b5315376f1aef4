"""Conditions of manifests: an entry that only counts on a platform, in a profile or in a branch is said with it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.manifests import read_requirements
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

_POM = """<project><dependencies>
<dependency><groupId>mill</groupId><artifactId>sieve</artifactId><version>1.0</version><optional>true</optional></dependency>
</dependencies>
<dependencyManagement><dependencies>
<dependency><groupId>mill</groupId><artifactId>stone</artifactId><version>2.0</version></dependency>
</dependencies></dependencyManagement>
<build><plugins><plugin>
<artifactId>grind</artifactId>
<version>3</version>
<dependencies><dependency><groupId>mill</groupId><artifactId>belt</artifactId><version>1.2</version></dependency></dependencies>
</plugin></plugins></build>
<profiles><profile>
<id>winter</id>
<dependencies><dependency><groupId>mill</groupId><artifactId>stove</artifactId><version>1.3</version></dependency></dependencies>
</profile></profiles></project>
"""
_GEMFILE = """gem "flour"
group :test do
  gem "oat", "1"
  platforms :mri do
    gem "rye"
  end
end
gem "barley" if RUBY_VERSION > "3"
gem "spelt", groups: [:test, :development]
gem "corn", platforms: :jruby
"""
_PYPROJECT = """[project]
dependencies = ["sixth>=1", "six"]
[project.optional-dependencies]
test = ["six>=2"]
[tool.poetry.dependencies]
python = "^3.9"
oats = {version = "1", optional = true}
rye = [{version = "1", python = "<3.9"}, {version = "2", python = ">=3.9"}]
[tool.poetry.extras]
breakfast = ["oats"]
"""


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "pom.xml",
            _POM,
            [
                ("mill:sieve", "1.0", "optional", ""),
                ("mill:stone", "2.0", "managed", ""),
                ("mill:belt", "1.2", "for the plugin grind", ""),
                ("org.apache.maven.plugins:grind", "3", "build plugin", ""),
                ("mill:stove", "1.3", "", "profile winter"),
            ],
        ),
        (
            "build.gradle",
            (
                "compileOnly 'a.b:c:1'\ntestRuntimeOnly 'a.b:d:1'\nandroidTestImplementation 'a.b:e:1'\n"
                "implementation group: 'a.b', name: 'f', version: '9'\nif (fast) {\n  api 'a.b:g:1'\n}\n"
            ),
            [
                ("a.b:c", "1", "compileOnly", ""),
                ("a.b:d", "1", "test", ""),
                ("a.b:e", "1", "androidTestImplementation", ""),
                ("a.b:f", "9", "", ""),
                ("a.b:g", "1", "", "if (fast)"),
            ],
        ),
        (
            "Gemfile",
            _GEMFILE,
            [
                ("flour", "", "", ""),
                ("oat", "1", "test", ""),
                ("rye", "", "test", "platforms :mri"),
                ("barley", "", "", 'if RUBY_VERSION > "3"'),
                ("spelt", "", "test, development", ""),
                ("corn", "", "", "platforms: :jruby"),
            ],
        ),
        (
            "mix.exs",
            'defp deps do\n [\n {:oat, "~> 1",\n   only: :test},\n {:rye, github: "mill/rye", tag: "v2"},\n ]\nend\n',
            [("oat", "~> 1", "test", ""), ("rye", "v2", "", "")],
        ),
        (
            "pyproject.toml",
            _PYPROJECT,
            [
                ("sixth", ">=1", "", ""),
                ("six", "", "", ""),
                ("six", ">=2", "optional: test", ""),
                ("oats", "1", "optional: breakfast", ""),
                ("rye", "1", "", "python <3.9"),
                ("rye", "2", "", "python >=3.9"),
            ],
        ),
        (
            "setup.py",
            (
                "REQUIRED = [\n    \"oat>=1; python_version<'3.9'\",  # old\n]\n"
                'setup(install_requires=REQUIRED, extras_require={"fast": ["rye"], ":os_name==\'nt\'": ["corn"]})\n'
            ),
            [
                ("oat", ">=1; python_version<'3.9'", "", ""),
                ("rye", "", "optional: fast", ""),
                ("corn", "", "", "os_name=='nt'"),
            ],
        ),
        (
            "setup.cfg",
            (
                '[options]\ninstall_requires =\n    oat>=1; python_version<"3.9"\n'
                '[options.extras_require]\nfast =\n    rye\n:python_version < "3.8" =\n    corn\n'
            ),
            [
                ("oat", '>=1; python_version<"3.9"', "", ""),
                ("rye", "", "optional: fast", ""),
                ("corn", "", "", 'python_version < "3.8"'),
            ],
        ),
        ("requirements.txt", 'oat>=1; os_name == "nt"\n', [("oat", '>=1; os_name == "nt"', "", "")]),
        (
            "vcpkg.json",
            (
                '{"dependencies": ["oat",\n{"name": "rye", "platform": "windows"},\n{"name": "corn", "host": true}],\n'
                '"overrides": [{"name": "oat", "version": "7"}]}'
            ),
            [("oat", "7", "", ""), ("rye", "", "", "platform: windows"), ("corn", "", "host", "")],
        ),
        (
            "conanfile.py",
            (
                'class Mill:\n    tool_requires = "rye/3.2"\n    def requirements(self):\n        if self.options.fast:'
                '\n            self.requires("oat/1.0")\n        self.test_requires("corn/1")\n'
            ),
            [
                ("rye", "3.2", "tool_requires", ""),
                ("oat", "1.0", "", "if self.options.fast"),
                ("corn", "1", "test_requires", ""),
            ],
        ),
        (
            "Mill.csproj",
            (
                "<ItemGroup Condition=\"'$(TargetFramework)' == 'net462'\">\n"
                '<PackageReference Include="Oat" Version="2" />\n</ItemGroup>\n<ItemGroup>\n'
                '<PackageReference Include="Rye">\n<Version>4</Version>\n</PackageReference>\n</ItemGroup>\n'
            ),
            [("Oat", "2", "", "'$(TargetFramework)' == 'net462'"), ("Rye", "4", "", "")],
        ),
        (
            "Package.swift",
            (
                'let a: [Package.Dependency] = [\n  .package(url: "https://x/oat", from: "1.0.0"),\n]\n#if os(Linux)\n'
                'b.append(.package(url: "https://x/rye", from: "2.0.0"))\n#endif\n'
            ),
            [("oat", 'from: "1.0.0"', "", ""), ("rye", 'from: "2.0.0"', "", "#if os(Linux)")],
        ),
        (
            "mill.opam",
            'depends: [\n  "oat" {with-test}\n  "rye" {>= "1" & os = "linux"}\n]\n',
            [("oat", "", "test", ""), ("rye", ">= 1", "", 'os = "linux"')],
        ),
        (
            "Mill.podspec",
            (
                "Pod::Spec.new do |s|\n  s.ios.dependency 'Oat', '2'\n  s.subspec 'Fast' do |f|\n"
                "    f.dependency 'Rye', '3'\n"
                "  end\nend\n"
            ),
            [("Oat", "2", "", "platform ios"), ("Rye", "3", "subspec Fast", "")],
        ),
        (
            "pubspec.yaml",
            "dependencies:\n  oat:\n    git:\n      url: https://x/oat\n      ref: v1\n  rye: ^2\n",
            [("oat", "ref: v1", "", ""), ("rye", "^2", "", "")],
        ),
        (
            "go.mod",
            "require (\n a.b/c v1.0.0\n d.e/f v1.1.0 // indirect\n)\nreplace a.b/c => g.h/i v2.0.0\n",
            [("a.b/c", "v1.0.0 => g.h/i v2.0.0", "", ""), ("d.e/f", "v1.1.0", "indirect", "")],
        ),
        (
            "package.json",
            '{"peerDependencies": {"oat": "1", "rye": "2"},\n"peerDependenciesMeta": {"rye": {"optional": true}}}',
            [("oat", "1", "peerDependencies", ""), ("rye", "2", "peerDependencies, optional", "")],
        ),
        (
            "cpanfile",
            (
                "requires 'Oat', '1';\non test => sub { requires 'Rye'; };\nfeature 'fast', 'Speed' => sub {\n"
                "    requires 'Corn';\n};\n"
            ),
            [("Oat", "1", "", ""), ("Rye", "", "test", ""), ("Corn", "", "optional: fast", "")],
        ),
    ],
)
def test_an_entry_is_read_with_its_list_and_its_condition(
    path: str, text: str, expected: list[tuple[str, str, str, str]]
) -> None:
    """A version of a condition is none of the entry, and the line is that of the entry's own list."""
    requirements = read_requirements(path, text.splitlines()) or []
    assert [(item.name, item.version, item.group, item.condition) for item in requirements] == expected
    if path == "pyproject.toml":
        assert [item.line for item in requirements] == [2, 2, 4, 7, 8, 8]


FILES: dict[str | bytes, str | bytes | None] = {
    "pom.xml": _POM,
    "web/Gemfile": _GEMFILE,
    "native/vcpkg.json": '{"dependencies": [\n{"name": "bran", "platform": "windows"}]}',
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("conditions")
    RepositoryBuilder(root / "mill").commit(FILES, "Add the manifests")
    return open_engine([root], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        (
            "On which platform is bran needed?",
            "`native/vcpkg.json` lists `bran` without a version (under the condition",
        ),
        ("In which profile is stove used?", "`pom.xml` lists `stove` `1.3` (under the condition `profile winter`)"),
        ("Is sieve optional?", "Yes: `pom.xml` lists `sieve` `1.0` (optional)"),
        ("Which version of stove is used?", "`pom.xml` lists `stove` `1.3` (under the condition `profile winter`)"),
        (
            "Does it depend on barley?",
            'Yes: `web/Gemfile` lists `barley` without a version (under the condition `if RUBY_VERSION > "3"`)',
        ),
        (
            "Does it depend on bran?",
            "Yes: `native/vcpkg.json` lists `bran` without a version (under the condition `platform: windows`)",
        ),
    ],
)
def test_a_sentence_says_the_condition(mill: LocalEngine, question: str, beginning: str) -> None:
    assert lead_of(mill, question).startswith(beginning), lead_of(mill, question)


def test_each_table_of_cargo_has_lines_of_its_own() -> None:
    text = (
        '[dependencies]\noat = { version = "1", optional = true }\nrye = "2"\n[dev-dependencies]\noat = "1"\n'
        '[target.\'cfg(target_arch = "wasm32")\'.dependencies]\nrye = "2"\n[dependencies.corn]\nversion = "3"\n'
    )
    requirements = read_requirements("Cargo.toml", text.splitlines()) or []
    assert [(item.name, item.group, item.line) for item in requirements] == [
        ("oat", "optional", 2),
        ("rye", "", 3),
        ("corn", "", 8),
        ("oat", "dev", 5),
        ("rye", 'target cfg(target_arch = "wasm32")', 7),
    ]


def test_a_bare_name_is_the_artifact_of_its_own_group(tmp_path: Path) -> None:
    entries = 'x = { module = "androidx.oat.ext:oat", version = "1.3" }\ny = { module = "oat:oat", version = "4" }\n'
    catalog = f"[libraries]\n{entries}"
    RepositoryBuilder(tmp_path / "mill").commit({"gradle/libs.versions.toml": catalog}, "Add the catalog")
    engine = open_engine([tmp_path / "mill"], index=tmp_path / "index", workers=1)
    assert lead_of(engine, "Which version of oat is used?").startswith(
        "`gradle/libs.versions.toml` lists `oat` `4` (catalog)"
    )


def test_no_condition_is_stated_of_what_has_none(mill: LocalEngine) -> None:
    assert " lists " not in lead_of(mill, "On which platform is flour needed?")


def test_managed_versions_are_no_dependencies(mill: LocalEngine) -> None:
    lead = lead_of(mill, "How many dependencies does the pom.xml list?")
    assert "stone" not in lead.partition(";")[0], lead


def test_hostile_manifests_are_read_at_once() -> None:
    """Text of repositories is hostile."""
    for path, text in (
        ("pom.xml", "<dependency><plugin><profile><id>" * 5_000),
        ("pom.xml", "<" + "a" * 100_000),
        ("setup.py", "install_requires = [" + "'" * 2_000 + "\n'a'," * 5_000),
        ("setup.py", "extras_require=A\nA=[" * 3_000),
        ("Gemfile", ("gem 'a' if " + "x" * 400 + "\n") * 2_000),
        ("mix.exs", "defp deps do\n" + "{:a, \n" * 5_000),
        ("Package.swift", "#if a\n" * 20_000 + '.package(url: "https://x/a")\n'),
        ("setup.cfg", "[options.extras_require]\n" + "a:" + "=" * 2_000 + "\n"),
        ("go.mod", "replace " + "a" * 100_000 + "\n"),
    ):
        start = time.process_time()
        read_requirements(path, text.splitlines())
        assert time.process_time() - start < 1, path
