"""Read the packages that manifests list: Python, JavaScript, Go, Rust, PHP, Ruby, Maven and Gradle.

Nothing is executed; a manifest that can't be read as data is searched line by line.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sourcelight.engines.deepsearch.lookups.manifests.line_formats import LINE_READERS
from sourcelight.engines.deepsearch.lookups.manifests.nested_formats import NESTED_READERS
from sourcelight.engines.deepsearch.lookups.manifests.partial_formats import (
    BY_NAME,
    PARTIAL_READERS,
    PLATFORM,
    maven_plugins,
)
from sourcelight.engines.deepsearch.lookups.manifests.requirement import Requirement, is_readable, without_comments
from sourcelight.engines.deepsearch.lookups.manifests.tool_formats import TOOL_FILES, TOOL_READERS

_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)\s*(\[[^\]]*\])?\s*([^;#]*)")
_PINNED = re.compile(r"\s*([\w.-]+/[\w.-]+)@(\S{1,80})\s*$")
"""A repository with its tag, as tools that fetch sources write it into a list of requirements."""
_GO_LINE = re.compile(r"^\s*(?:require\s+)?([\w.-]+(?:/[\w.~-]+)+|[\w-]+\.[\w.-]+/?[\w./-]*)\s+(v[\w.+-]+)(.*)$")
_GEM = re.compile(
    r"""^\s*(?:[\w.]+\.)?(?:add_(?:runtime_|development_)?dependency|gem)[\s(]+['"]([\w.-]+)['"]\s*,?\s*([^#]*)"""
)
_GEM_GROUP = re.compile(r"^group\b[\s(]*+(.*?)\)?(?<!\s)\s++do\b")
_GRADLE = re.compile(
    r"""^\s*(\w*(?:[iI]mplementation|[aA]pi|[cC]ompile\w*|[rR]untime\w*|[aA]nnotationProcessor))[\s(]+['"]([\w.-]+):([\w.-]+)(?::([^'"]+))?['"]"""
)
_BY_ALIAS = re.compile(
    r"\s*\w*(?:[iI]mplementation|[aA]pi|[cC]ompile\w*|[rR]untime\w*|[kK]apt|[kK]sp|[cC]lasspath)[\s(]+(?:platform\()?[A-Za-z]\w*[.(]"
)
_KOTLIN = re.compile(r"""\b(\w{1,60})\s*\(\s*kotlin\(\s*["']([\w-]{1,100})["']\s*(?:,\s*["']([^"']{1,60})["'])?""")
"""`implementation(kotlin("test-junit"))`, which stands for `kotlin-test-junit` of the language."""
_COORDINATES = re.compile(r"""['"]([\w.-]+):([\w.-]+):([^'":@]+)(?:[:@][\w-]+)*['"]""")
_QUOTED = re.compile(r"""['"]([A-Za-z0-9][\w.-]*(?:\[[^\]]*\])?\s*(?:[<>=!~][^'"]*)?)['"]""")
_LIST_OF_SETUP = re.compile(
    r"\b(install_requires|extras_require|tests_require|setup_requires|requires)\s*=\s*(?=[\[{(])"
)
_MAX_LINE = 2_000
_PLAIN_REQUIREMENTS = re.compile(r"^requirements\.(?:txt|in)$")


def requirements_rank(path: str) -> int:
    """Return 0 for the manifest of a package, 1 for ``requirements.txt``, 2 for other lists, such as for docs.

    A gemspec comes before a Gemfile, which also has the gems for development.
    """
    directory, _, name = path.rpartition("/")
    if directory.endswith("requirements"):
        return 2
    if name == "Gemfile" or name.endswith((".props", ".targets")):
        return 1
    if "requirements" not in name:
        return 0

    return 1 if _PLAIN_REQUIREMENTS.match(name) else 2


def read_requirements(path: str, lines: Sequence[str]) -> list[Requirement] | None:
    """Return what a manifest lists; None if it can't be read, or is too large."""
    if not is_readable(path, lines):
        return None

    name = path.rpartition("/")[2]
    # `requirements/base.txt` is a list as `requirements-base.txt` is.
    name = f"requirements-{name}" if re.search(r"(?:^|/)requirements/[^/]+\.(?:txt|in)$", path) is not None else name
    for pattern, reader in _READERS:
        if re.search(pattern, name):
            try:
                return list(reader(without_comments(path, lines)))
            # Errors of parsers, and of manifests whose values have unexpected types, such as a list for a table.
            except (ValueError, TypeError, AttributeError, RecursionError):
                return None

    return None


def _pyproject(lines: Sequence[str]) -> Iterator[Requirement]:
    data = tomllib.loads("\n".join(lines))
    project = data.get("project") or {}
    lists: list[tuple[str, Any]] = [("", project.get("dependencies"))]
    lists += [(f"optional: {name}", items) for name, items in (project.get("optional-dependencies") or {}).items()]
    lists += [(f"group {name}", items) for name, items in (data.get("dependency-groups") or {}).items()]
    lists.append(("build", (data.get("build-system") or {}).get("requires")))
    for group, items in lists:
        for item in items or ():
            if isinstance(item, str) and (requirement := _of_text(lines, item, group)) is not None:
                yield requirement

    poetry = (data.get("tool") or {}).get("poetry") or {}
    tables = [("", poetry.get("dependencies")), ("dev", poetry.get("dev-dependencies"))]
    tables += [
        (f"group {name}", (group or {}).get("dependencies")) for name, group in (poetry.get("group") or {}).items()
    ]
    for group, table in tables:
        for name, value in (table or {}).items():
            # Poetry lists the language among the packages.
            if name != "python":
                yield _of_table(lines, name, value, group)


def _of_text(lines: Sequence[str], text: str, group: str) -> Requirement | None:
    match = _REQUIREMENT.match(text)
    if match is None:
        return None

    line = next((number for number, line_text in enumerate(lines, 1) if text in line_text), 0)
    line = line or _line_of(lines, match[1], match[3].strip())
    version = " ".join(match[3].split()).rstrip(",")

    # A package may be needed on some platforms or versions of Python alone.
    marker = text.partition(";")[2].strip()
    return Requirement(match[1], f"{version}; {marker}" if marker else version, group, line)


def lists_by_reference(path: str, lines: Sequence[str]) -> bool:
    """Return whether a manifest may list more than what is read of it: by names of a catalog, or by further forms."""
    name = path.rpartition("/")[2]
    if name.endswith((".gradle", ".gradle.kts")):
        return any(_BY_ALIAS.match(line[:500]) for line in lines)
    return re.search(READ_WHOLE, name) is None and re.search(PARTLY_READ, path) is not None


def _line_of(lines: Sequence[str], name: str, version: str, start: int = 0) -> int:
    """Return the first line (from 1) with a name and its version, else with the name; 0 for none."""
    word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])")
    with_name = [number for number, line in enumerate(lines[start:], start + 1) if word.search(line[:2_000])]
    # A name may occur several times, such as in a comment: the line with the version is the entry.
    exact = [number for number in with_name if version and version in lines[number - 1]]
    return next(iter(exact or with_name), 0)


def _of_table(lines: Sequence[str], name: str, value: Any, group: str) -> Requirement:
    version = value if isinstance(value, str) else str(value.get("version", "")) if isinstance(value, dict) else ""
    # Cargo renames a package with `package =`: the key is the name in code.
    package = value.get("package") if isinstance(value, dict) else None
    if isinstance(value, dict) and value.get("optional") is True:
        group = " ".join(part for part in (group, "optional") if part)

    assigned = re.compile(rf"""^\s*["']?{re.escape(name)}["']?\s*[=.]|^\s*\[.*\b{re.escape(name)}\s*\]""")
    matching = [number for number, line in enumerate(lines, 1) if assigned.search(line[:500])]
    line = next((number for number in matching if version and version in lines[number - 1]), next(iter(matching), 0))
    return Requirement(package if isinstance(package, str) else name, version, group, line)


def _cargo(lines: Sequence[str]) -> Iterator[Requirement]:
    data = tomllib.loads("\n".join(lines))
    tables: list[tuple[str, Any]] = []
    scopes = [("", data), ("workspace", data.get("workspace") or {})]
    scopes += [(f"target {name}", table) for name, table in (data.get("target") or {}).items()]
    for scope, table in scopes:
        for key, group in (("dependencies", ""), ("dev-dependencies", "dev"), ("build-dependencies", "build")):
            tables.append((" ".join(part for part in (scope, group) if part), table.get(key)))

    for group, table in tables:
        for name, value in (table or {}).items():
            yield _of_table(lines, name, value, group)


def _package_json(lines: Sequence[str]) -> Iterator[Requirement]:
    return _json(lines, ("dependencies", "peerDependencies", "optionalDependencies", "devDependencies"))


def _composer(lines: Sequence[str]) -> Iterator[Requirement]:
    # The list also has the language and its extensions; only packages have a vendor and a slash.
    for requirement in _json(lines, ("require", "require-dev")):
        group = requirement.group if "/" in requirement.name else PLATFORM
        yield replace(requirement, group=group)
    # What it suggests has a reason in place of a version.
    for requirement in _json(lines, ("", "suggest")):
        yield replace(requirement, version="")


def _json(lines: Sequence[str], keys: Sequence[str]) -> Iterator[Requirement]:
    """Read the lists of a JSON manifest; packages under the first key are always required."""
    data = json.loads("\n".join(lines))
    for key in keys:
        for name, version in (data.get(key) or {}).items():
            start = next((index for index, line in enumerate(lines) if re.search(rf'"{key}"\s*:', line[:500])), 0)
            # From the line of the list on, which may have the whole list: another list may have the same name.
            member = re.compile(rf'"{re.escape(name)}"\s*:')
            numbers = (number for number, text in enumerate(lines[start:], start + 1) if member.search(text[:2_000]))
            line = next(numbers, 0)
            yield Requirement(name, str(version), "" if key == keys[0] else key, line)


def _go_mod(lines: Sequence[str]) -> Iterator[Requirement]:
    block = ""
    for number, line in enumerate(lines, 1):
        text = line.strip()
        opening = re.match(r"(require|replace|exclude|retract|tool)\s*\($", text)
        if opening is not None:
            block = opening[1]
        elif text == ")":
            block = ""
        elif (block == "require" or text.startswith("require ")) and (match := _GO_LINE.match(line)) is not None:
            yield Requirement(match[1], match[2], "indirect" if "// indirect" in match[3] else "", number)


def _ruby(lines: Sequence[str]) -> Iterator[Requirement]:
    block = ""
    for number, line in enumerate(lines, 1):
        if (opening := _GEM_GROUP.match(line[:500])) is not None:
            block = ", ".join(re.findall(r"\w+", opening[1]))
        elif re.match(r"end\b", line):
            block = ""
        match = _GEM.match(line[:500])
        if match is not None:
            versions = re.findall(r"""['"]([<>=~!]*\s*\d[\w.]*)['"]""", match[2])
            group = "development" if "development" in line else block
            yield Requirement(match[1], ", ".join(versions), group, number)


def _requirements(lines: Sequence[str]) -> Iterator[Requirement]:
    for number, line in enumerate(lines, 1):
        pinned = _PINNED.match(line[:_MAX_LINE])
        if pinned is not None:
            yield Requirement(pinned[1], pinned[2], "", number)
            continue

        match = _REQUIREMENT.match(line)
        if match is not None and not line.lstrip().startswith(("-", "#")) and "://" not in line:
            yield Requirement(match[1], " ".join(match[3].split()), "", number)


def _setup_cfg(lines: Sequence[str]) -> Iterator[Requirement]:
    section = key = ""
    for number, line in enumerate(lines, 1):
        if (header := re.match(r"\[(.+)\]\s*$", line)) is not None:
            section, key = header[1], ""
            continue

        if (setting := re.match(r"([\w.-]+)\s*=\s*(.*)$", line)) is not None:
            key, text = setting[1], setting[2]
        else:
            text = line.strip()

        is_requirement = (section == "options" and key in {"install_requires", "setup_requires", "tests_require"}) or (
            section == "options.extras_require" and key
        )
        match = _REQUIREMENT.match(text) if is_requirement and text and not text.startswith("#") else None
        if match is not None:
            group = "" if key == "install_requires" else f"optional: {key}" if "extras" in section else key
            yield Requirement(match[1], " ".join(match[3].split()), group, number)


def _setup_py(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield texts in lists after ``install_requires=`` and the like; lists built elsewhere are not read."""
    key, depth = "", 0
    for number, line in enumerate(lines, 1):
        remaining = line[:_MAX_LINE].split("#")[0]
        while remaining:
            if not key:
                opening = _LIST_OF_SETUP.search(remaining)
                if opening is None:
                    break
                key, depth, remaining = opening[1], 0, remaining[opening.end() :]

            text, depth = _until_closed(remaining, depth)
            remaining = remaining[len(text) :]
            for match in _QUOTED.finditer(text):
                # A key of `extras_require`, which is the name of an extra.
                if text[match.end() :].lstrip().startswith(":"):
                    continue
                match_of_name = _REQUIREMENT.match(match[1])
                if match_of_name is not None:
                    group = "" if key in {"install_requires", "requires"} else key
                    yield Requirement(match_of_name[1], " ".join(match_of_name[3].split()), group, number)

            # The list ends with the bracket that opened it.
            if depth <= 0:
                key = ""


def _until_closed(text: str, depth: int) -> tuple[str, int]:
    """Return a text up to the bracket that closes all that are open, and how many are still open behind it.

    Brackets in texts, as of extras, come in pairs.
    """
    for index, letter in enumerate(text):
        depth += (letter in "[{(") - (letter in "]})")
        if depth <= 0 and letter in "]})":
            return text[: index + 1], 0
    return text, depth


def _pom(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield dependencies of Maven, line by line: without an XML parser, hostile documents are harmless."""
    in_dependency = False
    fields: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines, 1):
        if "<dependency>" in line:
            in_dependency, fields = True, {}

        if in_dependency:
            for tag in ("groupId", "artifactId", "version", "scope"):
                if (match := re.search(rf"<{tag}>([^<]*)</{tag}>", line[:1_000])) is not None:
                    fields.setdefault(tag, (match[1].strip(), number))

        if in_dependency and "</dependency>" in line:
            in_dependency = False
            artifact, artifact_line = fields.get("artifactId", ("", number))
            version, version_line = fields.get("version", ("", artifact_line))
            group = fields.get("groupId", ("", 0))[0]
            if artifact:
                yield Requirement(f"{group}:{artifact}", version, fields.get("scope", ("", 0))[0], version_line)

    yield from maven_plugins(lines)


def _gradle(lines: Sequence[str]) -> Iterator[Requirement]:
    for number, line in enumerate(lines, 1):
        match = _GRADLE.match(line[:500])
        if match is not None:
            group = "test" if match[1].startswith("test") else ""
            yield Requirement(f"{match[2]}:{match[3]}", match[4] or "", group, number)
        elif line.lstrip().startswith(("//", "*", "/*")):
            continue
        elif (match := _KOTLIN.search(line[:500])) is not None:
            group = "test" if "test" in match[1].lower() else ""
            yield Requirement(f"org.jetbrains.kotlin:kotlin-{match[2]}", match[3] or "", group, number)
        else:
            # Tables of coordinates, which lists elsewhere refer to, and classpaths of the build.
            for coordinates in _COORDINATES.finditer(line[:500]):
                group = "build" if re.match(r"\s*classpath\b", line) is not None else BY_NAME
                if "." in coordinates[1] or coordinates[1] == coordinates[2]:
                    yield Requirement(f"{coordinates[1]}:{coordinates[2]}", coordinates[3], group, number)


_READERS: Sequence[tuple[str, Callable[[Sequence[str]], Iterator[Requirement]]]] = (
    (r"^pyproject\.toml$", _pyproject),
    (r"^Cargo\.toml$", _cargo),
    (r"^package\.json$", _package_json),
    (r"^composer\.json$", _composer),
    (r"^go\.mod$", _go_mod),
    (r"\.gemspec$|^Gemfile$", _ruby),
    (r"requirements[\w.-]*\.(?:txt|in)$", _requirements),
    (r"^setup\.cfg$", _setup_cfg),
    (r"^setup\.py$", _setup_py),
    (r"^pom\.xml$", _pom),
    (r"^build\.gradle(?:\.kts)?$", _gradle),
    *LINE_READERS,
    *NESTED_READERS,
    *PARTIAL_READERS,
    *TOOL_READERS,
)
PARTLY_READ = (
    rf"(^|/)({TOOL_FILES})$|^[^/]+\.el$|"
    r"(^|/)(Chart\.ya?ml|[\w.-]+\.versions\.toml|Pipfile|vcpkg\.json|(Julia)?Project\.toml|shard\.yml|conanfile\.(txt|py)"
    r"|CMakeLists\.txt|[\w.-]+\.cmake|meson\.build|[\w.-]+\.podspec|Podfile|Cartfile(\.private)?|project\.clj|deps\.edn"
    r"|rebar\.config|build\.(sc|mill)|elm\.json|[\w.-]+\.opam|dune-project|[\w.-]+\.nimble|packages\.config|paket\.dependencies|MODULE\.bazel|deno\.jsonc?|jsr\.json"
    r"|package\.yaml|Makefile(\.PL)?|Build\.PL|environment\.ya?ml|[\w-]+\.tf|[\w.-]+\.gradle(\.kts)?)$"
)
"""Regular expression for paths of further manifests, most of which are read in part: they prove no "No"."""
READ_WHOLE = (
    r"(^|/)(Chart\.ya?ml|Pipfile|vcpkg\.json|shard\.yml|(Julia)?Project\.toml|(fpm|gleam)\.toml|dub\.json|elm\.json"
    r"|bower\.json)$"
)
"""Regular expression for paths of those among them that are read whole."""
