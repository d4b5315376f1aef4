"""Read manifests of charts, CMake, Conan, vcpkg, Meson, Julia, Crystal, erlang.mk, Terraform and others.

All are read line by line. Most are programs or have further forms, so that what is not read may list more.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sourcelight.engines.deepsearch.lookups.manifests.requirement import (
    MAX_LINE,
    Requirement,
    lines_of_keys,
    table_start,
)


def _chart(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the charts below ``dependencies:``, each a list item of keys."""
    inside = False
    fields: dict[str, tuple[str, int]] = {}
    for number, line in enumerate([*lines, "end:"], 1):
        text = line[:MAX_LINE]
        if (head := re.match(r"([A-Za-z]\w*)\s*:", text)) is not None:
            if "name" in fields:
                yield _of_chart(fields)
            inside, fields = head[1] == "dependencies", {}
            continue

        if not inside or text.lstrip().startswith("#"):
            continue

        if re.match(r"\s*-\s", text) is not None and "name" in fields:
            yield _of_chart(fields)
            fields = {}

        field = re.match(r"\s*(?:-\s+)?(name|version|alias|condition)\s*:\s*(.*?)\s*(?:\s#.*)?$", text)
        if field is not None:
            fields[field[1]] = (field[2].strip("\"'"), number)


def _of_chart(fields: dict[str, tuple[str, int]]) -> Requirement:
    name, line = fields["name"]
    condition = fields["condition"][0] if "condition" in fields else ""
    return Requirement(name, fields.get("version", ("", 0))[0], "", line, condition=condition)


def _catalog(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the libraries and plugins of a version catalog of Gradle."""
    data = tomllib.loads("\n".join(lines))
    versions = data.get("versions") or {}
    numbers = lines_of_keys(lines)
    keys = set(versions)
    for table, group in (("libraries", "catalog"), ("plugins", "plugin of the catalog")):
        for alias, entry in (data.get(table) or {}).items():
            if isinstance(entry, str):
                name, _, version = entry.rpartition(":")
            else:
                name = entry.get("module") or entry.get("id") or f"{entry.get('group', '')}:{entry.get('name', '')}"
                version = entry.get("version") or ""
                if isinstance(version, dict):
                    key = version.get("ref")
                    version = versions.get(key, "")
                    # The artifact of this name has the version of the key.
                    keys -= {key} if str(name).rpartition(":")[2] == key else set()
            yield Requirement(str(name), version if isinstance(version, str) else "", group, numbers.get(alias, 0))

    # People call several artifacts by the key of their version: "ksp" is none of another group's `kctfork:ksp`.
    version_lines = lines_of_keys(lines, table_start(lines, "versions"))
    for key in sorted(keys):
        if isinstance(versions[key], str):
            yield Requirement(key, versions[key], "catalog version", version_lines.get(key, 0))


def _vcpkg(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the ports of vcpkg: those of a feature have it as their list, and an override has the version."""
    data = json.loads("\n".join(lines))
    overrides = {item.get("name"): str(item.get("version", "")) for item in data.get("overrides") or ()}
    override_start = _line_with(lines, '"overrides"')
    lists: list[tuple[str, Any, int]] = [("", data.get("dependencies"), _line_with(lines, '"dependencies"'))]
    features_start = _line_with(lines, '"features"')
    for name, feature in (data.get("features") or {}).items():
        start = _line_with(lines, f'"{name}"', features_start)
        lists.append((f"optional: {name}", feature.get("dependencies"), start))

    for group, items, start in lists:
        for item in items or ():
            entry = {"name": item} if isinstance(item, str) else item
            name = str(entry.get("name", ""))
            least = str(entry.get("version>=", ""))
            version = overrides.get(name) or (f">= {least}" if least else "")
            version_line = _line_with(lines, f'"{name}"', override_start) if name in overrides else 0
            line = _line_with(lines, f'"{name}"', start) or _line_with(lines, f'"{name}"')
            condition = f"platform: {entry['platform']}" if "platform" in entry else ""
            list_name = " ".join(part for part in (group, "host" if entry.get("host") is True else "") if part)
            yield Requirement(name, version, list_name, line, version_line, condition)


def _line_with(lines: Sequence[str], text: str, start: int = 0) -> int:
    """Return the first line (from 1), from line `start` on, that has a text; 0 for none."""
    first = max(start - 1, 0)
    return next((number for number, line in enumerate(lines[first:], first + 1) if text in line[:MAX_LINE]), 0)


def _julia(lines: Sequence[str]) -> Iterator[Requirement]:
    data = tomllib.loads("\n".join(lines))
    compat = data.get("compat") or {}
    targets: dict[str, Any] = data.get("targets") or {}
    compat_lines = lines_of_keys(lines, table_start(lines, "compat"))
    for table, group in (("deps", ""), ("weakdeps", "weak"), ("extras", "extras")):
        numbers = lines_of_keys(lines, table_start(lines, table))
        for name in data.get(table) or {}:
            # An extra is for the targets that name it, such as tests.
            of_targets = [target for target, names in targets.items() if table == "extras" and name in names]
            version_line = compat_lines.get(name, 0) if name in compat else 0
            yield Requirement(
                name, str(compat.get(name, "")), ", ".join(of_targets) or group, numbers.get(name, 0), version_line
            )


def _by_pattern(
    pattern: str, comment: str, *, group: str = "", no_names: Sequence[str] = ()
) -> Callable[[Sequence[str]], Iterator[Requirement]]:
    """Make a reader of lines: `name` and `version` are groups of the pattern, which begins at any place of a line."""
    expression = re.compile(pattern)

    def read(lines: Sequence[str]) -> Iterator[Requirement]:
        for number, line in enumerate(lines, 1):
            text = line[:MAX_LINE]
            if text.lstrip().startswith(comment):
                continue
            for match in expression.finditer(text.split(f" {comment}")[0]):
                parts = match.groupdict()
                if parts["name"] not in no_names:
                    kind = (parts.get("group") or "").lower() or group
                    version = " ".join((parts.get("version") or "").replace('"', "").replace("'", "").split())
                    yield Requirement(parts["name"], version.strip(", "), kind, number)

    return read


_CMAKE = _by_pattern(
    r"\b(?P<group>(?i:find_package|FetchContent_Declare))\s*\(\s*(?P<name>[A-Za-z][\w+.-]*)(?:\s+(?P<version>\d[\w.]*))?",
    "#",
    no_names=("PACKAGE",),
)
_CMAKE_BRANCH = re.compile(
    r"\s*(if|elseif|else|endif|function|macro|endfunction|endmacro)\s*\(\s*([^#]*)", re.IGNORECASE
)
_MAX_CONDITION = 60


def _cmake(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the packages that CMake finds or fetches, each with the branch that it is in: only then is it needed."""
    branches: list[str] = []
    branch_of = {}
    for number, line in enumerate(lines, 1):
        match = _CMAKE_BRANCH.match(line[:MAX_LINE])
        if match is not None:
            word = match[1].lower()
            if word in {"elseif", "else", "endif", "endfunction", "endmacro"} and branches:
                branches.pop()
            if not word.startswith("end"):
                condition = match[2].rstrip().removesuffix(")").strip()
                text = condition if len(condition) <= _MAX_CONDITION else f"{condition[:_MAX_CONDITION]}…"
                branches.append("else" if word == "else" else f"{word.removeprefix('else')}({text})")

        branch_of[number] = branches[-1] if branches else ""

    for requirement in _CMAKE(_joined_heads(lines)):
        branch = branch_of[requirement.line]
        group = f"{requirement.group}, inside {branch}" if branch else requirement.group
        fetched = _fetched_version(lines, requirement) if requirement.group == "fetchcontent_declare" else None
        yield replace(fetched or requirement, group=group)


_OPEN_HEAD = re.compile(r".*\b(?:find_package|FetchContent_Declare)\s*\(\s*$", re.IGNORECASE)


def _joined_heads(lines: Sequence[str]) -> list[str]:
    """Return lines in which a name on the line below a bracket is behind the bracket, too."""
    following = [*lines[1:], ""]
    return [
        f"{line.rstrip()}{below.lstrip()}" if _OPEN_HEAD.match(line[:MAX_LINE]) is not None else line
        for line, below in zip(lines, following, strict=True)
    ]


_FETCHED = re.compile(r"\bGIT_TAG\s+\"?(?P<tag>[\w./-]{1,80})|\bURL\s+\"?(?P<url>\S{1,300})")
_VERSION_IN_URL = re.compile(
    r"(?P<version>v?\d{1,5}(?:[._]\d{1,6}){1,3}(?:-?(?:rc|beta|alpha)\d*)?)(?=(?:\.(?:tar|zip|tgz)|/|$))"
)
_MAX_DECLARATION = 12


def _fetched_version(lines: Sequence[str], requirement: Requirement) -> Requirement | None:
    """Return what is fetched with its tag, or the version in its address; None where the lines give neither."""
    for number in range(requirement.line, min(requirement.line + _MAX_DECLARATION, len(lines)) + 1):
        text = lines[number - 1][:MAX_LINE].split(" #")[0]
        match = _FETCHED.search(text)
        if match is not None:
            versions = _VERSION_IN_URL.findall(match["url"].rstrip('")')) if match["url"] else [match["tag"]]
            return replace(requirement, version=versions[-1], version_line=number) if versions else None
        if ")" in text:
            return None

    return None


_ERLANG_MK = re.compile(r"dep_(?P<name>[a-z]\w*)\s*[?:]?=\s*(?:hex|(?:git|hg)\s+\S+)\s+(?P<version>\S+)")


_ERLANG_MK_LIST = re.compile(r"(?P<list>(?:TEST|DOC|BUILD|SHELL|REL)_DEPS)\s*[+?:]?=(?P<names>.*)")
"""A list of packages that erlang.mk fetches for some targets alone. Those of ``DEPS`` are always required."""


def _erlang_mk(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the packages whose sources a Makefile gives to erlang.mk, with the list that names each."""
    list_of_name: dict[str, str] = {}
    for line in lines:
        match = _ERLANG_MK_LIST.match(line[:MAX_LINE])
        if match is not None:
            list_of_name |= dict.fromkeys(match["names"].split(), match["list"])

    for number, line in enumerate(lines, 1):
        match = _ERLANG_MK.match(line[:MAX_LINE])
        if match is not None:
            yield Requirement(match["name"], match["version"], list_of_name.get(match["name"], ""), number)


def _shard(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the shards of Crystal: keys below ``dependencies:``, with a version below each."""
    group: str | None = None
    for number, line in enumerate(lines, 1):
        if (head := re.match(r"(\w+)\s*:", line)) is not None:
            group = {"dependencies": "", "development_dependencies": "development"}.get(head[1])
        elif group is not None and (name := re.match(r"  ([\w-]+)\s*:\s*(?:#.*)?$", line)) is not None:
            version = ""
            for text in lines[number : number + 4]:
                if re.match(r"  \S", text) is not None:
                    break
                if (match := re.match(r"\s+version:\s*(.+?)\s*$", text)) is not None:
                    version = match[1].strip("\"'")
            yield Requirement(name[1], version, group, number)


_CONAN_LIST = re.compile(r"\b(?P<kind>(?:tool_|build_|test_|python_)?requires)\b")


def _conan(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield references such as ``fmt/10.1.0``: lines of a section, or texts of a program."""
    section = kind = ""
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE].split("#")[0]
        if (head := re.match(r"\s*\[(\w+)\]\s*$", text)) is not None:
            section = head[1]
        elif section in {"requires", "tool_requires", "build_requires", "test_requires"}:
            if (match := re.match(r"\s*([\w.+-]+)/(\S+)", text)) is not None:
                yield Requirement(match[1], match[2], "" if section == "requires" else section, number)
        elif (kind_match := _CONAN_LIST.search(text)) is not None or re.match(r"\s*[\"'][\w.+-]+/", text) is not None:
            kind = kind_match["kind"] if kind_match is not None else kind
            for match in re.finditer(r"[\"']([a-z][\w.+-]*)/((?:\[[^\]\"']*\]|[\d][\w.+-]*)[^\"'@]*)", text):
                yield Requirement(match[1], match[2], "" if kind == "requires" else kind, number)


def _terraform(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the required providers and the modules of Terraform: blocks with a source and a version."""
    block, fields, start = "", dict[str, str](), 0
    for number, line in enumerate(lines, 1):
        text = line[:MAX_LINE].split(" #")[0]
        if (head := re.match(r"\s*(?:module\s+\"[\w-]+\"|([\w-]+)\s*=)\s*\{\s*(.*)$", text)) is not None:
            block, fields, start = head[1] or "module", {}, 0
            text = head[2]

        if not block:
            continue

        for key, value in re.findall(r"\b(source|version)\s*=\s*\"([^\"]*)\"", text):
            fields.setdefault(key, value)
            start = number if key == "version" or not start else start

        if "}" in text:
            source = fields.get("source", "")
            # A path is a directory of the repository.
            if re.match(r"[\w.-]+/[\w./-]+$", source) is not None and not source.startswith("."):
                group = "module" if block == "module" else "provider"
                yield Requirement(source, fields.get("version", ""), group, start)
            block = ""


_COORDINATE_OF_MILL = re.compile(
    r"\b(?:ivy|mvn)\"(?P<group>[\w.-]{1,100}):{1,3}(?P<name>[\w.-]{1,100}):{1,2}(?P<version>[\w.+-]{1,60})"
)
_QUOTED_KEY = re.compile(r"\s*\"([\w./-]{1,100})\"\s*:")


def _mill(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the coordinates of a build of Mill, which any number of modules may list: ``mvn"org::name:1.2"``."""
    for number, line in enumerate(lines, 1):
        for match in _COORDINATE_OF_MILL.finditer(line[:MAX_LINE].split("//")[0]):
            yield Requirement(f"{match['group']}:{match['name']}", match["version"], "", number)


def _elm(lines: Sequence[str]) -> Iterator[Requirement]:
    """Yield the packages of Elm; an application lists those of its packages, too, which it doesn't name itself."""
    data = json.loads("\n".join(lines))
    matches = ((number, _QUOTED_KEY.match(line[:MAX_LINE])) for number, line in enumerate(lines, 1))
    numbers = {match[1]: number for number, match in matches if match is not None}
    for key, group in (("dependencies", ""), ("test-dependencies", "test")):
        table = data.get(key) or {}
        packages = {**table, **(table.get("direct") or {})}
        for name, version in packages.items():
            if isinstance(version, str):
                yield Requirement(name, version, group, numbers.get(name, 0))


PARTIAL_READERS: Sequence[tuple[str, Callable[[Sequence[str]], Iterator[Requirement]]]] = (
    (r"^Chart\.ya?ml$", _chart),
    (r"\.versions\.toml$", _catalog),
    (r"^vcpkg\.json$", _vcpkg),
    (r"^(?:Julia)?Project\.toml$", _julia),
    (r"^shard\.yml$", _shard),
    (r"^conanfile\.(?:txt|py)$", _conan),
    (
        r"^CMakeLists\.txt$|\.cmake$",
        _cmake,
    ),
    (
        r"^meson\.build$",
        _by_pattern(
            r"\bdependency\s*\(\s*'(?P<name>[\w.+-]+)'(?:[^)]*?\bversion\s*:\s*\[?\s*'(?P<version>[^']+)')?"
            r"(?:[^)]*?(?P<group>\brequired\s*:\s*(?:false|get_option\([^)]{1,60}\))))?",
            "#",
        ),
    ),
    (
        r"^Cartfile(?:\.private)?$",
        _by_pattern(r"^(?:github|git)\s+\"(?P<name>[^\"]+?)(?:\.git)?\"\s*(?P<version>[^#]*)", "#"),
    ),
    (r"^Makefile$", _erlang_mk),
    (
        r"^packages\.config$",
        _by_pattern(r"<package\s+id=\"(?P<name>[^\"]+)\"\s+version=\"(?P<version>[^\"]+)", "<!--"),
    ),
    (
        r"^deno\.jsonc?$|^jsr\.json$",
        _by_pattern(r"\"(?:npm|jsr):(?P<name>@?[\w./-]+?)@(?P<version>[^\"/]+)", "//"),
    ),
    (
        r"^environment\.ya?ml$",
        _by_pattern(
            r"^\s*-\s+(?P<name>[a-z][\w.-]*)\s*(?P<version>[<>=~!][^#]*)?\s*$", "#", no_names=("pip", "defaults")
        ),
    ),
    (r"\.tf$", _terraform),
    (r"^build\.(?:sc|mill)$", _mill),
    (r"^elm\.json$", _elm),
)  # fmt: skip
"""Readers by the name of a file."""
