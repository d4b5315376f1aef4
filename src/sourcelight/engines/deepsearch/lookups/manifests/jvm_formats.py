"""Read manifests of Maven and Gradle, line by line: an XML parser would open hostile documents to attacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sourcelight.engines.deepsearch.lookups.manifests.requirement import BY_NAME, MAX_LINE, PLUGIN, Requirement

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
