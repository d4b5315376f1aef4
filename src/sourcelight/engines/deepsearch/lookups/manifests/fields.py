"""Read fields of manifests: the package's name, its license and version, features, scripts, programs."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.engines.deepsearch.lookups.manifests.requirement import (
    is_readable,
    lines_of_keys,
    table_start,
    without_comments,
)

_MAX_LINE = 1_000
_MAX_HEAD_LINES = 200
"""Lines in which a project of Maven has its name."""


@dataclass(frozen=True, slots=True)
class ManifestField:
    """A value of a manifest, and its line (from 1). Of a list or table, one entry: its key and value."""

    key: str
    value: str
    line: int


def package_name(path: str, lines: Sequence[str]) -> str:
    """Return the name that a manifest gives its package; empty without one."""
    base = path.rpartition("/")[2]
    if not is_readable(path, lines):
        return ""
    if base.endswith((".cabal", ".gemspec", ".podspec", ".csproj", ".fsproj", ".vbproj", ".nimble", ".opam", ".psd1")):
        return base.rpartition(".")[0]
    if base == "go.mod":
        module = next((match[1] for line in lines if (match := re.match(r"module\s+(\S+)", line)) is not None), "")
        return re.sub(r"/v\d+$", "", module).rpartition("/")[2]
    if base == "pom.xml":
        return _artifact(without_comments(path, lines[:_MAX_HEAD_LINES]))

    field = next(iter(_values(path, lines, "name")), None)
    return field.value if field is not None else ""


def _artifact(lines: Sequence[str]) -> str:
    """Return the artifact of a project of Maven: its own, not that of its parent."""
    inside = False
    for line in lines:
        inside = (inside or "<parent>" in line) and "</parent>" not in line
        match = re.search(r"<artifactId>([^<]+)</artifactId>", line[:_MAX_LINE])
        if match is not None and not inside:
            return match[1].strip()
    return ""


def read_fields(path: str, lines: Sequence[str], kind: str, name: str = "", group: str = "") -> list[ManifestField]:
    """Return what a manifest has of a field, in its order; nothing if it has none or can't be read.

    Parameters
    ----------
    kind
        ``license``, ``version``, ``edition``, ``backend``, ``features``, ``scripts``, ``script``, ``target``,
        ``frameworks``, ``flags``, ``platform`` or ``binaries``.
    name
        Of a script, a target or a platform, its name.
    group
        ``default`` for features that are on by default.
    """
    base = path.rpartition("/")[2]
    if not is_readable(path, lines):
        return []

    lines = without_comments(path, lines)
    try:
        if kind == "features":
            fields = list(_features(base, lines, group))
        elif kind in {"script", "scripts"}:
            fields = [field for field in _scripts(base, lines) if not name or field.key == name]
        elif kind == "target":
            fields = list(_target(base, lines, name))
        elif kind in {"frameworks", "flags", "platform"}:
            fields = list(_matching_lines(base, lines, kind, name))
        elif kind == "binaries":
            fields = list(_binaries(base, lines))
        else:
            fields = list(_values(path, lines, kind))
    # Errors of parsers, and of manifests whose values have unexpected types.
    except (ValueError, TypeError, AttributeError, RecursionError):
        return []

    return fields


_TOML_KEYS: Mapping[str, Mapping[str, Sequence[Sequence[str]]]] = {
    "Cargo.toml": {
        "name": (("package", "name"),), "license": (("package", "license"), ("workspace", "package", "license")),
        "version": (("package", "version"), ("workspace", "package", "version")),
        "edition": (("package", "edition"), ("workspace", "package", "edition")),
    },
    "pyproject.toml": {
        "name": (("project", "name"), ("tool", "poetry", "name")),
        "license": (("project", "license"), ("project", "license", "text"), ("tool", "poetry", "license")),
        "version": (("project", "version"), ("tool", "poetry", "version")),
        "backend": (("build-system", "build-backend"),),
    },
}  # fmt: skip
_JSON_FILES = frozenset({"package.json", "composer.json", "vcpkg.json", "deno.json", "jsr.json"})
_LINE_FORMS: Sequence[tuple[str, Mapping[str, str]]] = (
    (
        r"^(?:pubspec|Chart)\.ya?ml$|^shard\.yml$|^package\.yaml$",
        {key: rf"^{key}\s*:\s*[\"']?([^\"'#]+?)[\"']?\s*(?:#.*)?$" for key in ("name", "license", "version")},
    ),
    (r"\.cabal$", {key: rf"(?i)^{key}\s*:\s*(.+?)\s*$" for key in ("license", "version")}),
    (
        r"\.gemspec$",
        {key: rf"^\s*\w+\.{key}s?\s*=\s*\[?\s*[\"']([^\"']+)[\"']" for key in ("license", "version")},
    ),
    (r"^DESCRIPTION$", {"name": r"^Package:\s*(.+)", "license": r"^License:\s*(.+)", "version": r"^Version:\s*(.+)"}),
    (r"\.(?:cs|fs|vb)proj$|\.props$", {
        "license": r"<PackageLicenseExpression>\s*([^<]+?)\s*</",
        "version": r"<(?:Version|VersionPrefix)>\s*([^<$]+?)\s*</",
    }),
    (r"^mix\.exs$", {
        "name": r"^\s*app:\s*:(\w+)", "license": r"\blicenses:\s*\[\s*\"([^\"]+)\"",
        "version": r"^\s*@?version:?\s*\"([^\"]+)\"",
    }),
    (r"^setup\.cfg$", {key: rf"^{key}\s*=\s*(.+?)\s*$" for key in ("name", "license", "version")}),
    (r"^setup\.py$", {
        key: rf"^\s*(?:setup\()?{key}\s*=\s*[\"']([^\"']+)[\"']" for key in ("name", "license", "version")
    }),
    (r"\.podspec$", {
        "license": r"^\s*\w+\.license\s*=\s*(?:\{.*?:type\s*=>\s*)?[\"']([^\"']+)[\"']",
        "version": r"^\s*\w+\.version\s*=\s*[\"']([^\"']+)[\"']",
    }),
    (r"\.opam$", {"license": r"^license:\s*\"([^\"]+)\"", "version": r"^version:\s*\"([^\"]+)\""}),
    (r"\.nimble$", {"license": r"^license\s*=\s*\"([^\"]+)\"", "version": r"^version\s*=\s*\"([^\"]+)\""}),
    (r"\.rockspec$", {"license": r"^\s*license\s*=\s*\"([^\"]+)\"", "version": r"^version\s*=\s*\"([^\"]+)\""}),
    (r"^(?:Julia)?Project\.toml$", {"name": r"^name\s*=\s*\"([^\"]+)\"", "version": r"^version\s*=\s*\"([^\"]+)\""}),
    (r"^CMakeLists\.txt$", {"version": r"(?i)^\s*project\s*\(\s*\S+\s+VERSION\s+(\d[\d.]*)"}),
    (r"^MODULE\.bazel$", {"version": r"^    version\s*=\s*\"(\d[^\"]*)\""}),
    (r"^(?:Makefile|Build)\.PL$", {"name": r"^\s*[\"']?(?:NAME|module_name)[\"']?\s*=>\s*[\"']([\w:-]+)[\"']"}),
    (r"^build\.sbt$", {"name": r"^\s*name\s*:=\s*\"([^\"]+)\""}),
    (r"^build\.zig\.zon$", {"name": r"^\s*\.name\s*=\s*[.\"]?(\w+)", "version": r"^\s*\.version\s*=\s*\"([^\"]+)\""}),
)  # fmt: skip


def _values(path: str, lines: Sequence[str], kind: str) -> Iterator[ManifestField]:
    """Yield the one value of a field."""
    base = path.rpartition("/")[2]
    if base in _TOML_KEYS:
        data = _toml(lines)
        for keys in _TOML_KEYS[base].get(kind, ()):
            value = _value_at(data, keys)
            # `version.workspace = true` has its value in another manifest.
            if isinstance(value, str):
                key = next((key for key in reversed(keys) if key != "text"), kind)
                number = _line_of(lines, key, value, table_start(lines, ".".join(keys[: keys.index(key)])))
                if number:
                    yield ManifestField(key, value, number)
                return
    elif base in _JSON_FILES:
        data = _json(lines)
        value = data.get(kind) if isinstance(data, dict) else None
        if isinstance(value, str) and (number := _line_of(lines, kind, value)):
            yield ManifestField(kind, value, number)
    elif base == "pom.xml" and kind == "license":
        yield from _maven_license(lines)
    else:
        for file_pattern, patterns in _LINE_FORMS:
            if kind in patterns and re.search(file_pattern, base) is not None:
                expression = re.compile(patterns[kind])
                for number, line in enumerate(lines, 1):
                    if (match := expression.search(line[:_MAX_LINE])) is not None:
                        yield ManifestField(kind, match[1], number)
                        return


def _maven_license(lines: Sequence[str]) -> Iterator[ManifestField]:
    inside = False
    for number, line in enumerate(lines, 1):
        inside = (inside or "<license>" in line) and "</license>" not in line
        match = re.search(r"<name>([^<]+)</name>", line[:_MAX_LINE]) if inside else None
        if match is not None:
            yield ManifestField("license", match[1].strip(), number)


def _toml(lines: Sequence[str]) -> dict[str, Any]:
    try:
        return tomllib.loads("\n".join(lines))
    except (ValueError, RecursionError):
        return {}


def _json(lines: Sequence[str]) -> Any:
    try:
        return json.loads("\n".join(lines))
    except (ValueError, RecursionError):
        return {}


def _value_at(data: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        if not isinstance(data, dict):
            return None
        data = data.get(key)
    return data


def _line_of(lines: Sequence[str], key: str, value: str, start: int = 0) -> int:
    """Return the first line (from 1) that has a key and its value; 0 for none."""
    word = re.compile(rf"(?<![\w.-]){re.escape(key)}(?![\w-])")
    escaped = json.dumps(value, ensure_ascii=False)[1:-1]
    for number, line in enumerate(lines[start:], start + 1):
        match = word.search(line[:_MAX_LINE])
        if match is not None and (value in line[match.end() :] or escaped in line[match.end() :]):
            return number
    return 0


def _features(base: str, lines: Sequence[str], group: str) -> Iterator[ManifestField]:
    """Yield the features of a crate, or those that are on by default."""
    if base != "Cargo.toml":
        return

    features = _toml(lines).get("features") or {}
    start = table_start(lines, "features")
    if group == "default":
        default = features.get("default")
        number = next(
            (n for n, line in enumerate(lines[start:], start + 1) if re.match(r"\s*default\s*=", line) is not None), 0
        )
        if isinstance(default, list) and number:
            for feature in default:
                yield ManifestField(str(feature), "", number)
        return

    numbers = lines_of_keys(lines, start)
    for name in features:
        if name != "default" and name in numbers:
            yield ManifestField(name, "", numbers[name])


_FEATURE_VALUE = re.compile(r"[\"']([^\"']{1,100})[\"']")


def read_feature(path: str, lines: Sequence[str], name: str) -> list[ManifestField]:
    """Return a feature of a crate and what it enables, each with its line; nothing without a feature of the name."""
    if not path.endswith("Cargo.toml") or not is_readable(path, lines):
        return []

    try:
        features = _toml(lines).get("features") or {}
        key = next((key for key in features if key.lower().replace("_", "-") == name.lower().replace("_", "-")), "")
        values = [str(value) for value in features[key]] if key else []
    except (ValueError, TypeError, AttributeError, RecursionError):
        return []

    number = lines_of_keys(lines, table_start(lines, "features")).get(key, 0) if key else 0
    if not number:
        return []

    fields = [ManifestField(key, "", number)]
    for value in values:
        quoted = (
            n for n, line in enumerate(lines[number - 1 :], number) if value in _FEATURE_VALUE.findall(line[:_MAX_LINE])
        )
        line = next(quoted, 0)
        if not line:
            return []
        fields.append(ManifestField(value, "", line))
    return fields


def _scripts(base: str, lines: Sequence[str]) -> Iterator[ManifestField]:
    """Yield the scripts of a JSON manifest."""
    if base not in {"package.json", "composer.json"}:
        return

    scripts = _json(lines).get("scripts") or {}
    start = next((n for n, line in enumerate(lines) if re.search(r"\"scripts\"\s*:", line[:_MAX_LINE])), 0)
    for name, value in scripts.items():
        member = f"{json.dumps(name)}"
        number = next((n for n, line in enumerate(lines[start:], start + 1) if member in line[:_MAX_LINE]), 0)
        if number:
            yield ManifestField(name, value if isinstance(value, str) else "", number)


_RULE = re.compile(r"(?P<targets>[\w./-][\w./\s-]*)::?(?!=)\s*(?P<prerequisites>[^#;]*)")


def _target(base: str, lines: Sequence[str], name: str) -> Iterator[ManifestField]:
    """Yield the line of a target of make, and the lines of its recipe. A target in two places is left out."""
    if base not in {"Makefile", "GNUmakefile", "makefile"}:
        return

    rules = {number: rule for number, line in enumerate(lines, 1) if (rule := _RULE.match(line[:_MAX_LINE]))}
    heads = [number for number, rule in rules.items() if name in rule["targets"].split()]
    with_recipe = [number for number in heads if number < len(lines) and lines[number].startswith("\t")]
    if len(with_recipe or heads) != 1:
        return

    number = (with_recipe or heads)[0]
    yield ManifestField(name, " ".join(rules[number]["prerequisites"].split()), number)
    for index, line in enumerate(lines[number:], number + 1):
        if not line.startswith("\t") and line.strip():
            break
        if line.strip():
            yield ManifestField("", line.strip().lstrip("@-+").strip(), index)


def _binaries(base: str, lines: Sequence[str]) -> Iterator[ManifestField]:
    """Yield the programs that a package installs by name."""
    if base == "Cargo.toml":
        data = _toml(lines)
        for entry in data.get("bin") or ():
            name = str(entry.get("name", ""))
            line = _line_of(lines, "name", name, _array_start(lines, "bin")) if name else 0
            if line:
                yield ManifestField(name, "", line)
    elif base == "pyproject.toml":
        data = _toml(lines)
        for table in ("project.scripts", "tool.poetry.scripts"):
            start = table_start(lines, table)
            for name, value in (_value_at(data, table.split(".")) or {}).items():
                line = _line_of(lines, name, value, start) if isinstance(value, str) else 0
                if line:
                    yield ManifestField(name, value, line)
    elif base == "package.json":
        data = _json(lines)
        value = data.get("bin")
        entries = {str(data.get("name", "")).rpartition("/")[2]: value} if isinstance(value, str) else value or {}
        start = next((n for n, line in enumerate(lines) if re.search(r"\"bin\"\s*:", line[:_MAX_LINE])), 0)
        for name, program in entries.items():
            line = next((n for n, text in enumerate(lines[start:], start + 1) if str(program) in text), 0)
            if line:
                yield ManifestField(name, str(program), line)


def _matching_lines(base: str, lines: Sequence[str], kind: str, name: str) -> Iterator[ManifestField]:
    """Yield target frameworks of .NET, flags of Cabal, and the oldest version of a platform of Apple."""
    pattern, ending = {
        "frameworks": (r"<TargetFrameworks?(?:\s[^>]*)?>\s*([^<]+?)\s*</TargetFramework", r"proj$|\.props$"),
        "flags": (r"(?i)^flag\s+([\w-]+)\s*$", r"\.cabal$"),
        "platform": (
            rf"(?i)(\.{re.escape(name)}\(\s*[^()]+\)|\.{re.escape(name)}\.deployment_target\s*=\s*\S+)",
            r"^Package\.swift$|\.podspec$",
        ),
    }[kind]
    if re.search(ending, base) is None:
        return

    expression = re.compile(pattern)
    for number, line in enumerate(lines, 1):
        match = expression.search(line[:_MAX_LINE])
        if match is not None and not line.lstrip().startswith(("//", "--", "#")):
            yield ManifestField(match[1], match[1], number)
            # Conditions of targets name the platform again.
            if kind == "platform":
                return


def _array_start(lines: Sequence[str], key: str) -> int:
    header = re.compile(rf"\s*\[\[\s*{re.escape(key)}\s*\]\]")
    return next((number for number, line in enumerate(lines, 1) if header.match(line) is not None), 0)
