"""Read the packages that manifests list: Python, JavaScript, Go, Rust, PHP, Ruby, Maven and Gradle.

Nothing is executed; a manifest that can't be read as data is searched line by line. So are those of Maven and Gradle:
an XML parser would open hostile documents to attacks.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sourcelight.engines.deepsearch.lookups.manifests.conditions import with_conditions
from sourcelight.engines.deepsearch.lookups.manifests.line_formats import LINE_READERS
from sourcelight.engines.deepsearch.lookups.manifests.nested_formats import NESTED_READERS
from sourcelight.engines.deepsearch.lookups.manifests.partial_formats import PARTIAL_READERS
from sourcelight.engines.deepsearch.lookups.manifests.python_formats import PYTHON_READERS
from sourcelight.engines.deepsearch.lookups.manifests.requirement import (
    BY_NAME,
    MAX_LINE,
    PLATFORM,
    PLUGIN,
    Requirement,
    is_readable,
    lines_of_keys,
    without_comments,
)
from sourcelight.engines.deepsearch.lookups.manifests.tool_formats import TOOL_FILES, TOOL_READERS

_GO_LINE = re.compile(r"^\s*(?:require\s+)?([\w.-]+(?:/[\w.~-]+)+|[\w-]+\.[\w.-]+/?[\w./-]*)\s+(v[\w.+-]+)(.*)$")
_GO_REPLACED = re.compile(
    r"\s*(?:replace\s+)?([\w.~/-]{1,200})(?:\s+v\S+)?\s+=>\s+([^/\s]\S{0,200}(?:\s+v\S{1,80})?|\S{1,200})"
)
_GEM = re.compile(
    r"""^\s*(?:[\w.]+\.)?(?:add_(?:runtime_|development_)?dependency|gem)[\s(]+['"]([\w.-]+)['"]\s*,?\s*([^#]*)"""
)
_GEM_GROUP = re.compile(r"^(?P<indent> {0,8})group\b[\s(]*+(?P<names>.*?)\)?(?<!\s)\s++do\b")
_BY_ALIAS = re.compile(
    r"\s*\w*(?:[iI]mplementation|[aA]pi|[cC]ompile\w*|[rR]untime\w*|[kK]apt|[kK]sp|[cC]lasspath)[\s(]+(?:platform\()?[A-Za-z]\w*[.(]"
)
_MAX_JSON_LINE = 2_000
"""Characters of a line of JSON, which may have a whole list."""
_PLAIN_REQUIREMENTS = re.compile(r"^requirements\.(?:txt|in)$")

_MAX_XML_LINE, _MAX_DEPTH = 1_000, 60
_TOKEN = re.compile(r"<(?P<closing>/?)(?P<tag>[A-Za-z][\w.:-]{0,80})(?:\s[^<>]*)?(?P<empty>/?)>(?P<text>[^<]*)")
_OF_ENTRY = frozenset(["groupId", "artifactId", "version", "scope", "optional"])


@dataclass(slots=True)
class _OpenElement:
    """A dependency or a plugin that is open: its fields, each with its line, and the tags around it."""

    tags: tuple[str, ...]
    fields: dict[str, tuple[str, int]] = field(default_factory=dict)


def _pom(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield dependencies and plugins of Maven, with the profile or the plugin that they are for."""
    tags: list[str] = []
    entries: list[_OpenElement] = []
    profile = ""
    for number, line in enumerate(lines, 1):
        for match in _TOKEN.finditer(line[:_MAX_XML_LINE]):
            tag = match["tag"]
            if match["closing"]:
                if tag in tags:
                    del tags[len(tags) - 1 - tags[::-1].index(tag) :]
                if tag in {"dependency", "plugin"} and entries:
                    entry = entries.pop()
                    yield from _of_entry(tag, entry, entries, profile if "profile" in entry.tags else "", number)
                continue

            parent = tags[-1] if tags else ""
            if tag in {"dependency", "plugin"} and len(entries) < _MAX_DEPTH:
                entries.append(_OpenElement(tuple(tags)))
            elif parent in {"dependency", "plugin"} and tag in _OF_ENTRY and entries:
                entries[-1].fields.setdefault(tag, (match["text"].strip(), number))
            elif tag == "id" and parent == "profile":
                profile = match["text"].strip()

            if not match["empty"] and len(tags) < _MAX_DEPTH:
                tags.append(tag)


def _of_entry(
    tag: str, entry: _OpenElement, around: Sequence[_OpenElement], profile: str, number: int
) -> Iterator[Requirement]:
    """Yield the requirement of an entry that ends on a line, if it has a name."""
    artifact, artifact_line = entry.fields.get("artifactId", ("", number))
    version, version_line = entry.fields.get("version", ("", artifact_line))
    condition = f"profile {profile}" if profile else ""
    if not artifact:
        return
    if tag == "plugin":
        group = entry.fields.get("groupId", ("org.apache.maven.plugins", 0))[0]
        yield Requirement(f"{group}:{artifact}", version, PLUGIN, version_line, condition=condition)
        return

    group = entry.fields.get("groupId", ("", 0))[0]
    scope = entry.fields.get("scope", ("", 0))[0]
    scope = "" if scope == "compile" else scope
    list_names = [scope] if scope else []
    if entry.fields.get("optional", ("", 0))[0] == "true":
        list_names.append("optional")
    if around and "plugin" in entry.tags:
        list_names.append(f"for the plugin {around[-1].fields.get('artifactId', ('', 0))[0]}".strip())
    elif "dependencyManagement" in entry.tags:
        list_names.append("managed")

    yield Requirement(f"{group}:{artifact}", version, ", ".join(list_names), version_line, condition=condition)


_CONFIGURATION = (
    r"(?P<configuration>\w{0,60}(?:[iI]mplementation|[aA]pi|[cC]ompile\w{0,40}|[rR]untime\w{0,40}|[aA]nnotationProcessor"
    r"|[kK]apt\w{0,40}|[kK]sp\w{0,40}|[dD]esugaring|[lL]intChecks|[jJ]mh\w{0,40}))"
)
_GRADLE = re.compile(rf"""^\s*{_CONFIGURATION}[\s(]+['"]([\w.-]+):([\w.-]+)(?::([^'"]+))?['"]""")
_GRADLE_MAP = re.compile(
    rf"""^\s*{_CONFIGURATION}[\s(]+group\s?[:=]\s?['"]([\w.-]+)['"],\s?name\s?[:=]\s?['"]([\w.-]+)['"]"""
    r"""(?:,\s?version\s?[:=]\s?['"]([^'"]+)['"])?"""
)
_KOTLIN = re.compile(r"""\b(\w{1,60})\s*\(\s*kotlin\(\s*["']([\w-]{1,100})["']\s*(?:,\s*["']([^"']{1,60})["'])?""")
"""`implementation(kotlin("test-junit"))`, which stands for `kotlin-test-junit` of the language."""
_COORDINATES = re.compile(r"""['"]([\w.-]+):([\w.-]+):([^'":@]+)(?:[:@][\w-]+)*['"]""")
_ALWAYS = frozenset(["implementation", "api", "compile"])
"""Configurations of what is always needed, to compile and to run."""


def _gradle(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the coordinates of a build of Gradle; the configuration is their list, unless it is for all work."""
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE]
        match = _GRADLE.match(text) or _GRADLE_MAP.match(text)
        if match is not None:
            yield Requirement(f"{match[2]}:{match[3]}", match[4] or "", _list_of(match["configuration"]), number)
        elif line.lstrip().startswith(("//", "*", "/*")):
            continue
        elif (match := _KOTLIN.search(text)) is not None:
            yield Requirement(f"org.jetbrains.kotlin:kotlin-{match[2]}", match[3] or "", _list_of(match[1]), number)
        else:
            # Tables of coordinates, which lists elsewhere refer to, and classpaths of the build.
            for coordinates in _COORDINATES.finditer(text):
                group = "build" if re.match(r"\s*classpath\b", line) is not None else BY_NAME
                if "." in coordinates[1] or coordinates[1] == coordinates[2]:
                    yield Requirement(f"{coordinates[1]}:{coordinates[2]}", coordinates[3], group, number)


def _list_of(configuration: str) -> str:
    """Return the list that a configuration is: tests have several, such as ``testRuntimeOnly``."""
    if configuration in _ALWAYS:
        return ""
    if configuration.startswith("test"):
        return "test"
    return configuration


JVM_READERS: Sequence[tuple[str, Callable[[Sequence[str]], Iterator[Requirement]]]] = (
    (r"^pom\.xml$", _pom),
    (r"^build\.gradle(?:\.kts)?$", _gradle),
)
"""Readers by the name of a file."""


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
                text = without_comments(path, lines)
                return list(with_conditions(path, text, reader(text)))
            # Errors of parsers, and of manifests whose values have unexpected types, such as a list for a table.
            except (ValueError, TypeError, AttributeError, RecursionError):
                return None

    return None


def lists_by_reference(path: str, lines: Sequence[str]) -> bool:
    """Return whether a manifest may list more than what is read of it: by names of a catalog, or by further forms."""
    name = path.rpartition("/")[2]
    if name.endswith((".gradle", ".gradle.kts")):
        return any(_BY_ALIAS.match(line[:MAX_LINE]) for line in lines)
    return re.search(READ_WHOLE, name) is None and re.search(PARTLY_READ, path) is not None


def _of_table(name: str, value: Any, group: str, line: int) -> Requirement:
    version = value if isinstance(value, str) else str(value.get("version", "")) if isinstance(value, dict) else ""
    # Cargo renames a package with `package =`: the key is the name in code.
    package = value.get("package") if isinstance(value, dict) else None
    if isinstance(value, dict) and value.get("optional") is True:
        group = " ".join(part for part in (group, "optional") if part)
    return Requirement(package if isinstance(package, str) else name, version, group, line)


_HEADER = re.compile(r"\s*\[\s*([^\[\]][^\]]{0,300}(?:\][^\]]{0,100})?)\s*\]\s*(?:#.*)?$")


def _bare_header(text: str) -> str:
    """Return the name of a table without quotation marks and spaces, which may be written in several ways."""
    return re.sub(r"[\"'\s]", "", text)


def _cargo(lines: Sequence[str]) -> Iterator[Requirement]:
    data = tomllib.loads("\n".join(lines))
    headers: dict[str, int] = {}
    for number, text in enumerate(lines, 1):
        if (match := _HEADER.match(text[:MAX_LINE])) is not None:
            headers.setdefault(_bare_header(match[1]), number)

    scopes = [("", "", data), ("workspace", "workspace.", data.get("workspace") or {})]
    scopes += [(f"target {name}", f"target.{name}.", table) for name, table in (data.get("target") or {}).items()]
    for scope, prefix, table in scopes:
        for key, group in (("dependencies", ""), ("dev-dependencies", "dev"), ("build-dependencies", "build")):
            list_name = " ".join(part for part in (scope, group) if part)
            header = _bare_header(f"{prefix}{key}")
            # Several tables may have a package, each with a line of its own.
            numbers = lines_of_keys(lines, headers.get(header, 0))
            for name, value in (table.get(key) or {}).items():
                line = headers.get(_bare_header(f"{header}.{name}"), 0) or numbers.get(name, 0)
                yield _of_table(name, value, list_name, line or _line_of_key(lines, name))


def _line_of_key(lines: Sequence[str], name: str) -> int:
    """Return the first line (from 1) that assigns a key or a part of it, or that has it in a header; 0 for none."""
    assigned = re.compile(rf"""^\s*["']?{re.escape(name)}["']?\s*[=.]|^\s*\[.*\b{re.escape(name)}\s*\]""")
    return next((number for number, line in enumerate(lines, 1) if assigned.search(line[:MAX_LINE])), 0)


def _package_json(lines: Sequence[str]) -> Iterator[Requirement]:
    meta = json.loads("\n".join(lines)).get("peerDependenciesMeta") or {}
    for requirement in _json(lines, ("dependencies", "peerDependencies", "optionalDependencies", "devDependencies")):
        is_optional = (meta.get(requirement.name) or {}).get("optional") is True
        is_peer = requirement.group == "peerDependencies"
        yield replace(requirement, group="peerDependencies, optional") if is_optional and is_peer else requirement


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
            start = next((index for index, line in enumerate(lines) if re.search(rf'"{key}"\s*:', line[:MAX_LINE])), 0)
            # From the line of the list on, which may have the whole list: another list may have the same name.
            member = re.compile(rf'"{re.escape(name)}"\s*:')
            numbers = (
                number for number, text in enumerate(lines[start:], start + 1) if member.search(text[:_MAX_JSON_LINE])
            )
            line = next(numbers, 0)
            yield Requirement(name, str(version), "" if key == keys[0] else key, line)


def _go_mod(lines: Sequence[str]) -> Iterator[Requirement]:
    replaced = {match[1]: match[2] for line in lines if (match := _GO_REPLACED.match(line[:MAX_LINE])) is not None}
    block = ""
    for number, line in enumerate(lines, 1):
        text = line.strip()
        opening = re.match(r"(require|replace|exclude|retract|tool)\s*\($", text)
        if opening is not None:
            block = opening[1]
        elif text == ")":
            block = ""
        elif (block == "require" or text.startswith("require ")) and (match := _GO_LINE.match(line)) is not None:
            # As `go list -m` writes it.
            version = f"{match[2]} => {replaced[match[1]]}" if match[1] in replaced else match[2]
            yield Requirement(match[1], version, "indirect" if "// indirect" in match[3] else "", number)


_GEM_LIST = re.compile(r"\bgroups?(?::|\s*=>)\s*(\[[^\]]{1,100}\]|:\w+)")
_BEHIND_GEM = re.compile(r"(?:^|\s)(?:if|unless)\s")


def _ruby(lines: Sequence[str]) -> Iterator[Requirement]:
    block, indent = "", 0
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE]
        if (opening := _GEM_GROUP.match(text)) is not None:
            block, indent = ", ".join(re.findall(r"\w+", opening["names"])), len(opening["indent"])
        elif block and re.match(rf"\s{{0,{indent}}}end\b", text):
            block = ""
        match = _GEM.match(text)
        if match is not None:
            # A version in a condition behind the entry is none of it: `gem "a" if RUBY_VERSION > "3"`.
            versions = re.findall(r"""['"]([<>=~!]*\s*\d[\w.]*)['"]""", _BEHIND_GEM.split(match[2])[0])
            inline = _GEM_LIST.search(match[2])
            group = ", ".join(re.findall(r"\w+", inline[1])) if inline is not None else block
            group = "development" if "add_development_dependency" in text else group
            yield Requirement(match[1], ", ".join(versions), group, number)


_READERS: Sequence[tuple[str, Callable[[Sequence[str]], Iterator[Requirement]]]] = (
    *PYTHON_READERS,
    (r"^Cargo\.toml$", _cargo),
    (r"^package\.json$", _package_json),
    (r"^composer\.json$", _composer),
    (r"^go\.mod$", _go_mod),
    (r"\.gemspec$|^Gemfile$", _ruby),
    *JVM_READERS,
    *LINE_READERS,
    *NESTED_READERS,
    *PARTIAL_READERS,
    *TOOL_READERS,
)
PARTLY_READ = (
    rf"(^|/)({TOOL_FILES})$|^(?:lisp/)?[^/]+\.el$|"
    r"(^|/)(Chart\.ya?ml|[\w.-]+\.versions\.toml|Pipfile|vcpkg\.json|(Julia)?Project\.toml|shard\.yml|conanfile\.(txt|py)"
    r"|CMakeLists\.txt|[\w.-]+\.cmake|meson\.build|[\w.-]+\.podspec|Podfile|Cartfile(\.private)?|project\.clj|deps\.edn"
    r"|rebar\.config|build\.(sc|mill)|elm\.json|[\w.-]+\.opam|dune-project|[\w.-]+\.nimble|packages\.config|paket\.dependencies|MODULE\.bazel|deno\.jsonc?|jsr\.json"
    r"|package\.yaml|Makefile(\.PL)?|Build\.PL|environment\.ya?ml|[\w-]+\.tf|[\w.-]+\.gradle(\.kts)?)$"
)
"""Regular expression for paths of further manifests, most of which are read in part: they prove no "No"."""
READ_WHOLE = (
    r"(^|/)(Chart\.ya?ml|Pipfile|vcpkg\.json|shard\.yml|(Julia)?Project\.toml|(fpm|gleam)\.toml|dub\.json|elm\.json|[\w.-]+\.nimble"
    r"|bower\.json|metadata\.json)$"
)
"""Regular expression for paths of those among them that are read whole."""
