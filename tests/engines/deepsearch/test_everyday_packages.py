"""Questions about packages in everyday words: what is needed when, where and by whom, and for what."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.question.lookups import read_lookup
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FILES: dict[str | bytes, str | bytes | None] = {
    "Cargo.toml": (
        '[package]\nname = "loom"\nrust-version = "1.80"\n[workspace]\nmembers = ["loom-client", "loom-core"]\n'
        "[workspace.dependencies]\n"
        'shed = "4.6"\n[dependencies]\nloom-core = { path = "loom-core" }\nclap = "4"\n'
        '[target.\'cfg(windows)\'.dependencies]\nwinreg = "0.5"\nclap = "4"\n'
        '[target.\'cfg(target_os = "windows")\'.build-dependencies]\nembed = "3"\n'
        '[target.\'cfg(not(windows))\'.dependencies]\npty = "1"\n[dev-dependencies]\ninsta = "1"\n'
    ),
    "loom-client/Cargo.toml": (
        '[package]\nname = "loom-client"\n[dependencies]\nloom-core = "1"\n'
        'axum = { version = "0.8", optional = true }\n'
        'tokio = "1.40"\n[target."cfg(unix)".dependencies]\nnix = "0.30"\n'
    ),
    "loom-core/Cargo.toml": '[package]\nname = "loom-core"\n[dependencies]\nserde = "1"\n',
    "web/package.json": (
        '{"name": "loom-web", "engines": {\n"node": ">=22"}, "dependencies": {"chalk": "5"},'
        ' "devDependencies": {"vitest": "^3.0.0", "pino": "9"}}'
    ),
    "chart/Chart.yaml": "name: loomchart\nkubeVersion: '>=1.25.0-0'\n",
}
PYTHON: dict[str | bytes, str | bytes | None] = {
    "pyproject.toml": (
        '[project]\nname = "spindle"\nrequires-python = ">=3.10"\nclassifiers = [\n'
        '  "Programming Language :: Python :: 3.9",\n  "Programming Language :: Python :: 3.14",\n'
        '  "Programming Language :: Python :: 3.10",\n]\n'
        'dependencies = ["pywin32>=3; sys_platform == \'win32\'", "attrs>=1"]\n'
        '[dependency-groups]\ndev = ["pytest>=9"]\ndocs = ["mkdocs>=1"]\n'
    )
}
JVM: dict[str | bytes, str | bytes | None] = {
    "settings.gradle.kts": 'include(":bobbin-core", ":bobbin-api")\n',
    "bobbin-api/build.gradle.kts": (
        'dependencies {\n  api(project(":bobbin-core"))\n  // implementation(project(":old"))\n'
        '  testImplementation(projects.bobbinTest)\n  implementation("org.slf4j:slf4j-api:2.0")\n}\n'
    ),
    "bobbin-core/build.gradle.kts": 'dependencies {\n  implementation("com.google.guava:guava:33")\n}\n',
}


def _open(
    tmp_path_factory: pytest.TempPathFactory, name: str, files: dict[str | bytes, str | bytes | None]
) -> LocalEngine:
    root = tmp_path_factory.mktemp(name)
    RepositoryBuilder(root / name).commit(files, "Add the manifests")
    return open_engine([root], index=root / "index", workers=1)


@pytest.fixture(scope="module")
def loom(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    return _open(tmp_path_factory, "loom", FILES)


@pytest.fixture(scope="module")
def spindle(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    return _open(tmp_path_factory, "spindle", PYTHON)


@pytest.fixture(scope="module")
def bobbin(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    return _open(tmp_path_factory, "bobbin", JVM)


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        (
            "Which crates are only pulled in when building for Windows?",
            '`Cargo.toml` lists `winreg` (`target cfg(windows)`) and `embed` (`target cfg(target_os = "windows") b',
        ),
        ("What crates are needed just on Unix?", "`loom-client/Cargo.toml` lists `nix` (`target cfg(unix)`)"),
        (
            "What other crates of this workspace does loom-client build upon?",
            "`loom-client/Cargo.toml` lists `loom-core` of this repository",
        ),
        ("which shed is used across the workspace?", "`Cargo.toml` lists `shed` `4.6` (workspace)"),
        ("Which Rust do I need to compile this?", "`Cargo.toml` requires Rust `1.80`"),
        ("Which kubernetes is needed?", "`chart/Chart.yaml` requires Kubernetes `>=1.25.0-0`"),
        ("which node does loom-web insist on?", "`web/package.json` requires Node.js `>=22`"),
        ("What does the web part need at run time?", "`web/package.json` lists 1 dependency: `chalk`"),
        (
            "Does the client pull in axum no matter what, or is it optional?",
            "`loom-client/Cargo.toml` lists `axum` `0.8` (optional)",
        ),
        ("What's loom-client's tokio constraint?", "`loom-client/Cargo.toml` lists `tokio` `1.40`"),
        ("Does loom-client build on top of loom-core?", "Yes: `loom-client/Cargo.toml` lists `loom-core` `1`"),
        ("Is vitest just for development in loom-web?", "Yes: `web/package.json` lists `vitest` `^3.0.0` (devDep"),
        ("Oldest Rust I can get away with?", "`Cargo.toml` requires Rust `1.80`"),
        ("Which Rust is the bare minimum?", "`Cargo.toml` requires Rust `1.80`"),
        ("What's only there for development?", "`Cargo.toml` lists 1 dependency (dev): `insta`"),
        ("What does the loom-core sub package depend on?", "`loom-core/Cargo.toml` lists 1 dependency: `serde`"),
        ("what tokio do they ask for in loom-client", "`loom-client/Cargo.toml` lists `tokio` `1.40`"),
        ("Is axum a dependency of the client?", "Yes: `loom-client/Cargo.toml` lists `axum` `0.8` (optional)"),
        ("Which testing framework is used?", "`web/package.json` lists `vitest` `^3.0.0` (devDependencies)"),
        ("What do they use for logging?", "`web/package.json` lists `pino` `9` (devDependencies)"),
        ("Which library handles the command line flags?", "`Cargo.toml` lists `clap` `4`"),
    ],
)
def test_what_is_needed(loom: LocalEngine, question: str, beginning: str) -> None:
    assert lead_of(loom, question).startswith(beginning), lead_of(loom, question)


WORKFLOWS: dict[str | bytes, str | bytes | None] = {
    ".github/workflows/ci.yml": (
        "name: Tests\njobs:\n  a:\n    strategy:\n      matrix:\n"
        "        jdk: [11, 17]\n        distro:\n          - debian12\n"
        "          - rocky9\n    steps:\n      - uses: actions/checkout@v4\n"
        "      - name: Editor\n        uses: ada/setup-vim@v1\n"
        "        with:\n          neovim: true\n      - uses: bea/oat-lint-action@v9\n"
    ),
    ".github/workflows/release.yml": (
        "jobs:\n  a:\n    steps:\n      - uses: actions/checkout@v4\n      - uses: cyd/npm-publish@v3\n"
    ),
    "Dockerfile": "FROM alpine:3.20\n",
    "chart/Chart.yaml": "name: shuttlechart\n",
    "shuttle.nimble": 'requires "nim >= 1.0"\nwhen not defined(windows):\n  requires "beast >= 0.4"\n',
}


@pytest.fixture(scope="module")
def shuttle(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    return _open(tmp_path_factory, "shuttle", WORKFLOWS)


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        ("Which action sets up Neovim in the test workflow?", "`.github/workflows/ci.yml` lists `ada/setup-vim` `v1`"),
        ("What does CI use for linting?", "`.github/workflows/ci.yml` lists `bea/oat-lint-action` `v9`"),
        ("Which action publishes to npm, and at which version?", "`.github/workflows/release.yml` lists `cyd/npm-pub"),
        (
            "Which third-party actions do the GitHub workflows rely on?",
            (
                "`.github/workflows/ci.yml` lists `actions/checkout` `v4`, `ada/setup-vim` `v1` and "
                "`bea/oat-lint-action` `v9`; `.github/workflows/release.yml` lists `cyd/npm-publish` `v3`"
            ),
        ),
        ("on which JDKs does CI run the tests?", "`.github/workflows/ci.yml` has the matrix `jdk`: `11` and `17`"),
        (
            "On how many distros does CI run the tests?",
            "`.github/workflows/ci.yml` has the matrix `distro`: `debian12` and",
        ),
        ("Which image is the docker container built on?", "`Dockerfile` builds from `alpine:3.20`"),
        ("Does the shuttlechart chart have any subcharts?", "`chart/Chart.yaml` lists no dependencies"),
        (
            "What does shuttle's nimble package require?",
            "`shuttle.nimble` lists 1 dependency: `nim`; `beast` is listed for `when not defined(windows)`",
        ),
    ],
)
def test_actions_images_and_matrices(shuttle: LocalEngine, question: str, beginning: str) -> None:
    assert lead_of(shuttle, question).startswith(beginning), lead_of(shuttle, question)


@pytest.mark.parametrize("question", ["Which action checks the spelling?", "Which action handles clicks?"])
def test_an_action_of_another_purpose_is_not_stated(shuttle: LocalEngine, question: str) -> None:
    assert "lists" not in lead_of(shuttle, question), lead_of(shuttle, question)


def test_the_address_of_a_package_of_zig_has_its_version(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = (
        ".{\n .name = .warp,\n .dependencies = .{\n  .tracy = .{\n"
        '   .url = "https://example.org/wolf/tracy/archive/refs/tags/v0.13.1.tar.gz",\n   .hash = "N",\n  },\n'
        '  .local = .{\n   .path = "lib",\n  },\n },\n}\n'
    )
    engine = _open(tmp_path_factory, "warpz", {"build.zig.zon": text})
    assert lead_of(engine, "Which tracy release is used?").startswith("`build.zig.zon` lists `tracy` `v0.13.1`")
    assert lead_of(engine, "Which external packages does it fetch?").startswith("`build.zig.zon` lists 2 dependencies")


def test_the_head_of_a_file_of_emacs_lisp_is_a_list(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = ';; Package-Requires: ((emacs "28.1") (compat "31.0") (llama "1.0"))\n\n(defun warp () 1)\n'
    engine = _open(tmp_path_factory, "warp", {"lisp/warp.el": text})
    lead = lead_of(engine, "What does warp's Package-Requires list?")
    assert lead.startswith("`lisp/warp.el` lists at least 2 dependencies beside Emacs itself: `compat` and `llama`"), (
        lead
    )


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        ("how many third party crates does the loom-client manifest pull in?", "`loom-client/Cargo.toml` lists 2 dep"),
        ("How many direct dependencies are there?", "`Cargo.toml` lists 2 dependencies: `loom-core` and `clap`"),
    ],
)
def test_numbers_of_packages(loom: LocalEngine, question: str, beginning: str) -> None:
    assert lead_of(loom, question).startswith(beginning), lead_of(loom, question)


@pytest.mark.parametrize(
    "question",
    [
        "Which crates are needed only on macOS?",
        "Which packages does the loom target need?",
        "Which crates use serde?",
        "Which algorithm is used for compression?",
        "What other crates of this workspace does it build upon?",
        "Which mocking library is used?",
    ],
)
def test_what_no_manifest_says_is_not_stated(loom: LocalEngine, question: str) -> None:
    """A target isn't its package, "use" has two sides, and no list has packages of these purposes."""
    assert "lists" not in lead_of(loom, question), lead_of(loom, question)


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        (
            "What's the newest Python it officially supports?",
            "`pyproject.toml` lists `Programming Language :: Python :: 3.14` as the newest classifier of Python",
        ),
        ("What's the oldest Python I can use?", "`pyproject.toml` requires Python `>=3.10`"),
        ("What must be installed to build the docs?", "`pyproject.toml` lists 1 dependency (group docs): `mkdocs`"),
        ("Is pytest needed to run it or only for hacking on it?", "`pyproject.toml` lists `pytest>=9` (group dev)"),
        (
            "Which packages are only required on Windows?",
            "`pyproject.toml` lists `pywin32` (`sys_platform == 'win32'`)",
        ),
    ],
)
def test_versions_and_groups_of_python(spindle: LocalEngine, question: str, beginning: str) -> None:
    assert lead_of(spindle, question).startswith(beginning), lead_of(spindle, question)


def test_modules_of_a_build_of_gradle(bobbin: LocalEngine) -> None:
    """A line in a comment lists nothing, and a project that only tests need is said to be for them."""
    lead = lead_of(bobbin, "Which other modules of this project does bobbin-api pull in?")
    expected = (
        "`bobbin-api/build.gradle.kts` lists `:bobbin-core` of this repository, and for tests `projects.bobbinTest`"
    )
    assert lead.startswith(expected), lead


@pytest.mark.parametrize(
    "question",
    [
        "Which packages depend on core?",
        "What value does warp-size have?",
        "What files use os",
        "which module handles http requests",
        "what is used for x",
    ],
)
def test_other_questions_are_not_about_needs(question: str) -> None:
    lookup = read_lookup(question)
    assert lookup is None or lookup.kind not in {"needs", "dependencies"}, lookup


@pytest.mark.parametrize(
    ("question", "kind", "name", "group"),
    [
        ("What dev dependencies does the crate have?", "dependencies", "dependencies", "dev"),
        ("Which npm dev dependencies does the docs site have?", "dependencies", "docs", "dev"),
        ("are there any runtime dependencies at all?", "dependencies", "dependencies", ""),
        ("What does the loom-core crate depend on besides serde?", "dependencies", "loom-core", ""),
        ("which mux.js does this pin?", "dependency", "mux.js", ""),
        ("does it need video.js itself, and which versions?", "dependency", "video.js", ""),
        ("Is lodash shipped to users or only for development?", "dependency", "lodash", "dev"),
        ("is `go-git` a direct or an indirect dependency?", "dependency", "go-git", "direct"),
        ("which zstd library is in go.mod?", "dependency", "zstd", ""),
        ("what's the peer dependency range for `focus-trap` in the core package?", "dependency", "focus-trap", "peer"),
        ("Which criterion versions are fine?", "dependency", "criterion", ""),
        ("what pulls in serde?", "dependency", "serde", ""),
        ("is jwt pulled in directly?", "dependency", "jwt", "direct"),
        ("is HikariCP needed to use this or only in the tests?", "dependency", "HikariCP", ""),
        ("which crate is only pulled in on unix", "needs", "unix", ""),
        ("what does loom_core depend on (not dev)?", "dependencies", "loom_core", ""),
        ("Which exact version of serde ends up in the lock file?", "dependency", "serde", ""),
        ("Which CMake must I have at the very least?", "runtime", "cmake", ""),
        ("which modules does this build have?", "", "", ""),
    ],
)
def test_other_ways_to_ask_are_read(question: str, kind: str, name: str, group: str) -> None:
    lookup = read_lookup(question)
    if lookup is None:
        assert not kind
        return
    # A list is asked for by the name of its group.
    list_name = lookup.owner if lookup.kind == "dependencies" else lookup.group
    assert (lookup.kind, lookup.name, list_name) == (kind, name, group)


def test_the_other_half_of_a_question_may_be_another_package() -> None:
    """One of "Consul or etcd" isn't all that is asked."""
    lookup = read_lookup("does the server depend on Consul or etcd?")
    assert lookup is not None
    assert (lookup.name, lookup.subject) == ("Consul", ("server", "etcd"))


def test_a_condition_is_no_yes(spindle: LocalEngine) -> None:
    lead = lead_of(spindle, "Is pywin32 needed on Python 3.12?")
    assert not lead.startswith("Yes")


def test_a_directory_that_is_asked_for_has_its_manifest(tmp_path_factory: pytest.TempPathFactory) -> None:
    engine = _open(
        tmp_path_factory,
        "shed",
        {"go.mod": "module shed\n\ngo 1.22\n", "docs/package.json": '{"devDependencies": {"vitepress": "^1.6.4"}}\n'},
    )
    lead = lead_of(engine, "Which npm dev dependencies does the docs site have?")
    assert lead.startswith("`docs/package.json` lists 1 dependency (devDependencies): `vitepress`")


@pytest.fixture(scope="module")
def gem(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    files: dict[str | bytes, str | bytes | None] = {
        "gem.gemspec": "Gem::Specification.new do |gem|\n  gem.name = 'gem'\n  gem.add_dependency 'logger'\nend\n",
        "Gemfile": "gemspec\ngem 'kqueue', '>= 0.2'\n",
    }
    return _open(tmp_path_factory, "gem", files)


def test_what_a_gemfile_lists_beside_a_gemspec_is_not_needed_at_run_time(gem: LocalEngine) -> None:
    assert not lead_of(gem, "is kqueue a runtime dependency?").startswith("Yes")
    assert lead_of(gem, "is logger a runtime dependency?").startswith("Yes: `gem.gemspec` lists `logger`")


def test_pinned_is_no_question_for_a_list(spindle: LocalEngine) -> None:
    assert lead_of(spindle, "is attrs pinned?").startswith("`pyproject.toml` lists `attrs>=1`")


def test_a_profile_is_not_what_always_holds(tmp_path_factory: pytest.TempPathFactory) -> None:
    dependency = "<dependency><groupId>a</groupId>\n<artifactId>oats</artifactId><version>3</version>{}</dependency>\n"
    pom = (
        "<project><artifactId>mill</artifactId>\n<dependencies>\n"
        + dependency.format("<scope>test</scope>")
        + "</dependencies>\n<profiles><profile><id>bench</id><dependencies>\n"
        + dependency.format("")
        + "</dependencies></profile></profiles></project>\n"
    )
    engine = _open(tmp_path_factory, "mill", {"pom.xml": pom})
    lead = lead_of(engine, "is oats a runtime dependency?")
    assert lead.startswith("`pom.xml` lists `oats` `3` (test), but not as a runtime dependency")


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("Do I need attrs on 3.12?", "condition"),
        ("anything in there that pulls in serde?", "which"),
        ("Is clap a hard dependency or can I leave it out?", "listed"),
        ("which rspec do they test with?", "which"),
    ],
)
def test_further_questions_are_read(question: str, asks: str) -> None:
    lookup = read_lookup(question)
    assert lookup is not None
    assert lookup.asks == asks


def test_a_list_without_a_name_is_that_of_the_repository(tmp_path_factory: pytest.TempPathFactory) -> None:
    files: dict[str | bytes, str | bytes | None] = {
        "deps.edn": (
            '{:deps {org.clojure/clojure {:mvn/version "1.11.2"}\n        camel-snake/camel {:mvn/version "0.4.3"}}\n'
            ' :aliases {:test {:extra-deps {com.mchange/c3p0 {:mvn/version "0.10.0"}}}}}\n'
        ),
        "src/next/mill.clj": "(ns next.mill)\n",
    }
    engine = _open(tmp_path_factory, "next-mill", files)
    lead = lead_of(engine, "what libraries does it need besides Clojure?")
    assert lead.startswith("`deps.edn` lists at least 2 dependencies: `org.clojure/clojure` and `camel-snake/camel`")


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        # Registries have other spellings than people: a "No" here was false.
        (
            "does it depend on FastShed?",
            "`composer.json` lists `weave/fast-shed` `^1.3`, which differs from `FastShed` only in",
        ),
        ("Which version of fastshed do we need?", "`composer.json` lists `weave/fast-shed` `^1.3`, which differs from"),
        (
            "does it depend on bobbin?",
            "`composer.json` lists `weave/phpbobbin` `^2`, a package whose name ends with `bobbin`",
        ),
        ("does it depend on loomwork?", "No: no searched manifest lists `loomwork`"),
    ],
)
def test_a_package_may_be_written_otherwise(engine_of_php: LocalEngine, question: str, beginning: str) -> None:
    assert lead_of(engine_of_php, question).startswith(beginning)


@pytest.fixture(scope="module")
def engine_of_php(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    manifest = '{"name": "mill/mill", "require": {\n"weave/fast-shed": "^1.3",\n"weave/phpbobbin": "^2"}}\n'
    return _open(tmp_path_factory, "mill", {"composer.json": manifest, "src/Mill.php": "<?php\nclass Mill {}\n"})


def test_a_sibling_says_no_yes_for_the_package_of_the_name(tmp_path_factory: pytest.TempPathFactory) -> None:
    engine = _open(tmp_path_factory, "mill", {
        "package.json": '{"name": "mill-root", "private": true}\n',
        "packages/mill/package.json": '{"name": "mill", "dependencies": {\n"husk": "1"}}\n',
        "packages/mill-view/package.json": '{"name": "mill-view", "dependencies": {\n"react": "19"}}\n',
    })  # fmt: skip
    assert lead_of(engine, "does mill depend on react").startswith("`packages/mill-view/package.json` lists `react`")
    assert lead_of(engine, "does mill depend on husk").startswith("Yes: `packages/mill/package.json` lists `husk`")
