"""Versions of languages that manifests require, and the paths of manifests."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from sourcelight.engines.deepsearch.lookups.manifests.nested_formats import join_bounds
from sourcelight.engines.deepsearch.lookups.manifests.requirement import MAX_LINE, without_comments

MANIFESTS = (
    r"(^|/)(pyproject\.toml|setup\.(py|cfg)|[\w.-]*requirements[\w.-]*\.(txt|in)|requirements/[\w.-]+\.(txt|in)|package\.json|go\.mod|Cargo\.toml"
    r"|composer\.json|[\w.-]+\.gemspec|Gemfile|pom\.xml|build\.gradle(\.kts)?|Package(@swift-[\d.]+)?\.swift|mix\.exs|[\w.-]+\.cabal|pubspec\.ya?ml|DESCRIPTION|cpanfile"
    r"|[\w.-]+\.(cs|fs|vb)proj|Directory\.(Packages|Build)\.(props|targets)|build\.zig\.zon|[\w.-]+\.rockspec|build\.sbt)$"
)
"""Regular expression for paths of manifests."""

OTHER_MANIFESTS = (
    r"(^|/)(Pipfile|[\w.-]+\.versions\.toml|environment\.ya?ml|conanfile\.(txt|py)|vcpkg\.json|Podfile|Cartfile(\.private)?|[\w.-]+\.podspec|rebar\.config"
    r"|stack\.yaml|package\.yaml|deps\.edn|project\.clj|shard\.yml|dub\.(json|sdl)|Project\.toml"
    r"|Makefile\.PL|Build\.PL|flake\.nix|bower\.json|[\w.-]+\.opam|dune-project|meson\.build|MODULE\.bazel|WORKSPACE"
    r"|CMakeLists\.txt|packages\.config|deno\.jsonc?|jsr\.json|[\w.-]+\.nimble|paket\.dependencies|Brewfile|build\.(sc|mill)"
    r"|elm\.json)$"
)
"""Regular expression for paths of manifests in unsupported formats."""

_RUNTIME_LINES: Mapping[str, Sequence[tuple[str, str]]] = {
    "python": (
        (r"pyproject\.toml$", r"""^\s*requires-python\s*=\s*["'](.+?)["']"""),
        (r"pyproject\.toml$", r"""^\s*python\s*=\s*["'](.+?)["']"""),
        (r"setup\.py$", r"""^\s*python_requires\s*=\s*["'](.+?)["']"""),
        (r"setup\.cfg$", r"""^\s*python_requires\s*=\s*(.+?)\s*$"""),
    ),
    "go": ((r"go\.mod$", r"^go\s+(\S+)"),),
    "rust": ((r"Cargo\.toml$", r"""^\s*rust-version\s*=\s*["'](.+?)["']"""),),
    "node": ((r"package\.json$", r"""^\s*"node"\s*:\s*"(.+?)\""""),),
    "swift": ((r"Package\.swift$", r"^//\s*swift-tools-version\s*:\s*([\w.-]+)"),),
    "elixir": ((r"mix\.exs$", r"""^\s*(?:elixir:|@elixir\w*)\s*"(.+?)\""""),),
    "dart": ((r"pubspec\.ya?ml$", r"""^\s+sdk\s*:\s*["']?([^"'\s#a-z][^"'#]*?)["']?\s*(?:#.*)?$"""),),
    "zig": ((r"build\.zig\.zon$", r"""\.minimum_zig_version\s*=\s*"(.+?)\""""),),
    "dotnet": (
        (
            r"\.(?:cs|fs|vb)proj$|Directory\.Build\.props$",
            r"<TargetFrameworks?(?:\s[^>]*)?>\s*(?:\$\(TargetFrameworks\);)?([^<$]+?)\s*</TargetFramework",
        ),
    ),
    "ghc": ((r"\.cabal$", r"(?i)^tested-with\s*:\s*(.+?)\s*$"),),
    "lua": ((r"\.rockspec$", r"""["']lua\s+([^"']+?)\s*["']"""),),
    "r": ((r"DESCRIPTION$", r"(?:^|[\s,:])R\s*\(\s*(.+?)\s*\)"),),
    "perl": (
        (r"cpanfile$", r"""^\s*requires\s*\(?\s*["']perl["']\s*(?:=>|,)\s*["']?([\w.]+)"""),
        (
            r"(?:Makefile|Build)\.PL$",
            r"""(?:\bMIN_PERL_VERSION["']?|(?<!\w)requires["']?\s*=>\s*\{\s*["']?perl["']?)\s*=>\s*["']?(v?5[\w.]*)""",
        ),
    ),
    "ruby": ((r"\.gemspec$", r"""required_ruby_version\s*=\s*(?:Gem::Requirement\.new\s*\(?\s*)?['"](.+?)['"]"""),),
    "java": (
        (r"pom\.xml$", r"<(?:maven\.compiler\.(?:release|source)|java\.version|release)>\s*([\w.]+)\s*<"),
        (r"build\.gradle(?:\.kts)?$", r"^\s*(?:sourceCompatibility|targetCompatibility)\s*=?\s*['\"]?(\S+?)['\"]?\s*$"),
    ),
    "cmake": ((r"CMakeLists\.txt$", r"(?i)^\s*cmake_minimum_required\s*\(\s*VERSION\s+([\w.]+)"),),
    "kotlin": (
        (r"\.versions\.toml$", r"""^kotlin\s*=\s*"([\d][^"]*)\""""),
        (r"build\.gradle(?:\.kts)?$", r"""kotlin(?:_version|Version|["'])?\s*[:=]\s*["'](\d[^"']*)["']"""),
        (r"build\.gradle(?:\.kts)?$", r"""kotlin\(["'][\w.]+["']\)\s+version\s+["'](\d[^"']*)["']"""),
        (r"pom\.xml$", r"<kotlin\.version>\s*([\w.]+)\s*<"),
    ),
    "c++": ((r"CMakeLists\.txt$", r"(?i)^\s*set\s*\(\s*CMAKE_CXX_STANDARD\s+(\d+)"),),
    "terraform": ((r"\.tf$", r"""^\s*required_version\s*=\s*"(.+?)\""""),),
    "flutter": ((r"pubspec\.ya?ml$", r"""^  flutter\s*:\s*["']?([<>=^\d][^"'#]*?)["']?\s*(?:#.*)?$"""),),
    "ocaml": ((r"\.opam$", r"""^\s*"ocaml"\s*\{([^}]*)\}"""), (r"dune-project$", r"\(ocaml\s+(\(.+\))\)")),
    "julia": ((r"Project\.toml$", r"""^julia\s*=\s*"(.+?)\""""),),
    "crystal": ((r"shard\.yml$", r"""^crystal\s*:\s*["']?([^"'#]+?)["']?\s*(?:#.*)?$"""),),
    "nim": ((r"\.nimble$", r"""requires\s*\(?\s*"nim\s*([^"]+?)\""""),),
    "erlang": ((r"rebar\.config$", r"""\{\s*minimum_otp_vsn\s*,\s*"(.+?)\""""),),
    "scala": ((r"build\.sbt$", r"""^\s*(?:ThisBuild\s*/\s*)?scalaVersion(?:\s+in\s+\w+)?\s*:=\s*"(.+?)\""""),),
    "powershell": ((r"\.psd1$", r"""(?i)^\s*PowerShellVersion\s*=\s*["'](.+?)["']"""),),
    "emacs": ((r"\.el$", r"""^;;+\s*Package-Requires\s*:.*?\(emacs\s+"([^"]+)"\s*\)"""),),
    "php": ((r"composer\.json$", r"""^\s*"php"\s*:\s*"(.+?)\""""),),
    "elm": ((r"elm\.json$", r"""^\s*"elm-version"\s*:\s*"(.+?)\""""),),
    "ansible": ((r"main\.ya?ml$", r"""^\s*min_ansible_version\s*:\s*["']?([\d.]+)"""),),
    "autoconf": ((r"configure\.(?:ac|in)$", r"^\s*AC_PREREQ\s*\(\s*\[?([\d.]+)"),),
    "automake": ((r"configure\.(?:ac|in)$", r"^\s*AM_INIT_AUTOMAKE\s*\(\s*\[?(?:[a-z-]+\s+){0,12}(\d[\d.]+)"),),
    "meson": ((r"meson\.build$", r"""^\s*(?:project\s*\(.*)?\bmeson_version\s*:\s*'([^']+)'"""),),
    "gradle": ((r"gradle-wrapper\.properties$", r"^distributionUrl\s*=.*/gradle-(\d[\w.-]*?)-(?:bin|all|src)\.zip"),),
    "maven": ((r"maven-wrapper\.properties$", r"^distributionUrl\s*=.*/apache-maven-(\d[\w.-]*?)-bin\.zip"),),
    "sbt": ((r"build\.properties$", r"^\s*sbt\.version\s*=\s*(\S+)"),),
    "bazel": ((r"\.bazelversion$", r"^\s*(\d[\w.]*)"),),
    "mill": ((r"\.mill-version$", r"^\s*(\d[\w.-]*)"), (r"build\.mill$", r"^//\|\s*mill-version\s*:\s*(\S+)")),
    "cabal": ((r"\.cabal$", r"(?i)^cabal-version\s*:\s*(.+?)\s*$"),),
    "dune": ((r"dune-project$", r"^\s*\(lang\s+dune\s+([\d.]+)\)"),),
    "solidity": ((r"foundry\.toml$", r"""^\s*solc(?:_version|-version)?\s*=\s*["'](.+?)["']"""),),
    "kubernetes": ((r"Chart\.ya?ml$", r"""^kubeVersion\s*:\s*["']?([^"'#]+?)["']?\s*(?:#.*)?$"""),),
    "gleam": ((r"gleam\.toml$", r"""^\s*gleam\s*=\s*["'](.+?)["']"""),),
}

RUNTIME_CLAIMS: Mapping[str, str] = {
    "python": "requires Python", "go": "requires Go", "rust": "requires Rust", "node": "requires Node.js",
    "ruby": "requires Ruby", "java": "requires Java", "php": "requires PHP", "swift": "requires Swift tools",
    "elixir": "requires Elixir", "dart": "requires the Dart SDK", "zig": "requires Zig", "dotnet": "targets",
    "ghc": "is tested with", "lua": "requires Lua", "r": "requires R", "perl": "requires Perl",
    "cmake": "requires CMake", "terraform": "requires Terraform", "flutter": "requires Flutter",
    "ocaml": "requires OCaml", "julia": "requires Julia", "crystal": "requires Crystal", "nim": "requires Nim",
    "erlang": "requires Erlang/OTP", "scala": "sets the Scala version to", "kotlin": "sets the Kotlin version to",
    "c++": "sets the C++ standard to", "powershell": "requires PowerShell", "emacs": "requires Emacs",
    "elm": "requires Elm", "ansible": "requires Ansible", "autoconf": "requires Autoconf",
    "automake": "requires Automake", "meson": "requires Meson",
    "gradle": "sets the Gradle version to", "maven": "sets the Maven version to", "sbt": "sets the sbt version to",
    "bazel": "sets the Bazel version to", "mill": "sets the Mill version to", "cabal": "requires Cabal",
    "dune": "requires Dune", "solidity": "sets the Solidity version to", "gleam": "requires Gleam",
    "kubernetes": "requires Kubernetes",
}  # fmt: skip
"""The claim that a manifest makes of the version of each language."""

_OBJECTS = {"node": ("engines", "node"), "php": ("require", "php")}
"""Members of JSON manifests: a line alone doesn't show the object that it is in."""


def read_runtime(path: str, lines: Sequence[str], runtime: str) -> tuple[str, int] | None:
    """Return the version of a language that a manifest requires, and its line (from 1)."""
    lines = without_comments(path, lines)
    for file_pattern, pattern in _RUNTIME_LINES.get(runtime, ()):
        if re.search(rf"(?:^|/)[^/]*(?:{file_pattern})", path) is None:
            continue

        # Conditions choose among several lines, so that none of them tells all.
        if (
            runtime in {"dotnet", "c++", "kotlin"}
            and sum(re.search(pattern, line[:MAX_LINE]) is not None for line in lines) > 1
        ):
            return None

        expected = _member(lines, *_OBJECTS[runtime]) if runtime in _OBJECTS else None
        for number, line in enumerate(lines, 1):
            # In Cabal, a value may begin on the line below its field.
            is_open = runtime == "ghc" and re.match(r"(?i)tested-with\s*:\s*$", line) and number < len(lines)
            match = re.search(pattern, f"{line.rstrip()} {lines[number].strip()}" if is_open else line[:MAX_LINE])
            if match is not None and (runtime not in _OBJECTS or match[1] == expected):
                version = join_bounds(match[1]) if runtime == "ocaml" else match[1]
                return version, number + bool(is_open)

    return None


def can_require(path: str, runtime: str) -> bool:
    """Return whether a file of this name may require a version of a language."""
    return any(re.search(rf"(?:^|/)[^/]*(?:{pattern})", path) for pattern, _ in _RUNTIME_LINES.get(runtime, ()))


def _member(lines: Sequence[str], key: str, name: str) -> str | None:
    try:
        data = json.loads("\n".join(lines))
        value = data[key][name]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return value if isinstance(value, str) else None
