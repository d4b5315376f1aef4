"""Needs of a project beside its lists: packages of one system, modules of its own, packages of a purpose.

Only manifests of the project itself count. Packages of one system have a condition that no other system fulfills.
Packages of a purpose, such as tests, are known by their names, so that an answer says that others aren't listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from sourcelight.core.markup import code, join_words
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import (
    Manifest,
    ManifestList,
    cite_lines,
    is_own,
    list_manifests,
    manifests_of_word,
    state_requirement,
)
from sourcelight.engines.deepsearch.lookups.builds.settings import find_version_line
from sourcelight.engines.deepsearch.lookups.manifests import (
    BY_NAME,
    MAX_LINE,
    PARTLY_READ,
    PLATFORM,
    PLUGIN,
    Requirement,
    normalize,
)
from sourcelight.engines.deepsearch.lookups.manifests.well_known import WELL_KNOWN
from sourcelight.engines.deepsearch.question.lookups import Lookup
from sourcelight.engines.deepsearch.question.lookups.package_wording import read_package_words
from sourcelight.engines.search.ranking.terms.tokenizer import parts_of, stem

_MAX_LISTED, _MAX_MANIFESTS = 12, 6
_TRIPLE = r"(?:target )?[\w.]+-[\w.]+-{}(?:-\w+)?"
_CFG = r"(?:target )?cfg\(\s*{}\s*\)"


def _conditions(flag: str, target: str, platform: str, defined: str) -> re.Pattern[str]:
    """Compile the conditions of all formats that are true on one system alone.

    Parameters
    ----------
    flag
        Its name as an option of ``cfg`` or `os()`.
    target
        Its name in a target of Rust.
    platform
        Its names in markers of Python.
    defined
        What CMake or Nim test.
    """
    forms = (
        _CFG.format(rf"(?:{flag}|target_(?:os|family)\s*=\s*[\"']{flag}[\"'])"),
        _TRIPLE.format(target),
        rf"(?:sys_platform|platform_system|os_name)\s*==\s*[\"'](?:{platform})[\"']",
        rf"if\s+os\(\s*{flag}\s*\)",
        rf"(?:#if\s+)?os\(\s*{flag}\s*\)",
        rf"when\s+defined\(\s*(?:{defined})\s*\)",
        rf"(?:find_package, inside |fetchcontent_declare, inside )?if\(\s*(?:{defined})\s*\)",
        rf"platform:?\s+(?:{flag}|{defined})",
        rf"os\s*=\s*\"?(?:{platform}|{flag})\"?",
    )
    return re.compile("|".join(f"(?:{form})" for form in forms), re.IGNORECASE)


_SYSTEMS: Mapping[str, re.Pattern[str]] = {
    "windows": _conditions("(?:windows|mingw32)", "windows", "win32|windows|nt", "WIN32|windows"),
    "linux": _conditions("linux", "linux", "linux", "LINUX|UNIX AND NOT APPLE"),
    "macos": _conditions("(?:macos|osx|darwin)", "(?:apple-)?darwin", "darwin|macos", "APPLE|macosx?|osx"),
    "unix": _conditions("unix", "unix", "posix", "UNIX|posix"),
    "ios": _conditions("ios", "ios", "ios", "IOS"),
    "android": _conditions("android", "(?:linux-)?android", "android", "ANDROID"),
    "wasm": re.compile(
        _CFG.format(r"target_(?:arch|family)\s*=\s*[\"']wasm(?:32|64)?[\"']")
        + "|(?:target )?wasm(?:32|64)-[\\w.]+-[\\w.]+",
        re.IGNORECASE,
    ),
    "freebsd": _conditions("freebsd", "freebsd", "freebsd", "FREEBSD"),
}
"""Conditions that only one system fulfills; with "not" or another system beside it, a condition isn't among them."""


def find_need(lookup: Lookup, work: Work) -> Finding | None:
    """Return what is needed on one system alone, from the project itself, or the newest version that is named."""
    if len(work.inquiry.pins) > 1:
        return None
    return _FINDERS[lookup.symbol_kind](lookup, work)


def _manifests(lookup: Lookup, work: Work) -> tuple[ManifestList, list[Manifest]]:
    """Return all manifests, and those of the project itself that the question names; all of these for no name."""
    every = list_manifests(work, PARTLY_READ, own_first=True)
    return every, manifests_of_word(work, every.of_project, lookup.owner)


def _list_of_system(lookup: Lookup, work: Work) -> Finding | None:
    """List what manifests need on one system alone."""
    every, manifests = _manifests(lookup, work)
    pattern = _SYSTEMS[lookup.name]
    always = {
        normalize(item.name) for manifest in manifests for item in _requirements(manifest) if not _has(item, pattern)
    }
    lists = [
        (
            manifest,
            [item for item in _requirements(manifest) if _has(item, pattern) and normalize(item.name) not in always],
        )
        for manifest in manifests
    ]
    statements = [_state(work.texts, manifest, entries) for manifest, entries in lists if entries]
    if not statements or len(statements) > _MAX_MANIFESTS:
        return None

    text = "; ".join(statement.text for statement in statements)
    evidence = tuple(item for statement in statements for item in statement.evidence)
    finding = Finding(Statement(text, evidence), "dependencies", queries=[every.query], notes=work.notes)
    finding.heading = "Full list"
    finding.details = [state_requirement(work, manifest, entry) for manifest, entries in lists for entry in entries][
        :MAX_DETAILS
    ]
    finding.method.append("Lists what manifests have under a condition that only this system fulfills.")
    return finding


def _requirements(manifest: Manifest) -> list[Requirement]:
    """Return what a manifest lists; versions for members of a workspace list nothing."""
    return [item for item in manifest.requirements or () if item.line and not item.group.startswith("workspace")]


def _has(requirement: Requirement, pattern: re.Pattern[str]) -> bool:
    """Return whether a requirement has a condition."""
    return any(pattern.fullmatch(text) is not None for text in _condition_texts(requirement))


def _condition_texts(requirement: Requirement) -> Iterator[str]:
    """Yield what a requirement may have as its condition: its own, that of its list, or a marker of Python."""
    yield requirement.condition.strip()
    yield re.sub(r"\s+(?:dev|build|optional)$", "", requirement.group)
    yield requirement.version.rpartition(";")[2].strip()


def _state(texts: FileTexts, manifest: Manifest, entries: Sequence[Requirement]) -> Statement:
    """State packages by the list or the condition that they have."""
    by_list: dict[str, list[Requirement]] = {}
    for entry in entries:
        marker = entry.version.rpartition(";")[2].strip() if ";" in entry.version else ""
        of_list = ", ".join(dict.fromkeys(filter(None, (entry.group, entry.condition or marker))))
        by_list.setdefault(of_list, []).append(entry)

    parts = []
    for name, items in by_list.items():
        names = join_words(list(dict.fromkeys(code(item.name) for item in items)))
        parts.append(f"{names} ({code(name)})")

    lines = cite_lines(texts, manifest.target, manifest.path, sorted({entry.line for entry in entries}))
    return Statement(f"{code(manifest.path)} lists {join_words(parts)}", lines)


_PROJECTS = re.compile(
    r"(?<![\w.])(?P<call>\w*(?:[iI]mplementation|[aA]pi|[cC]ompileOnly|[rR]untimeOnly|compile))\s*\(?\s*(?:platform\()?"
    r"(?:project\s*\(\s*(?:path\s*[:=]\s*)?[\"'](?P<path>:[\w:.-]{1,100})[\"']|projects\.(?P<accessor>[\w.]{1,100}))"
)
"""A project of the same build of Gradle."""
_REFERENCE = re.compile(r"<ProjectReference\s[^>]{0,40}Include\s*=\s*\"(?P<path>[^\"]{1,200})\"")


def _list_internal(lookup: Lookup, work: Work) -> Finding | None:
    """List the modules of the same repository that one module needs."""
    every, manifests = _manifests(lookup, work)
    if not lookup.owner or len({manifest.directory for manifest in manifests}) != 1:
        return None

    names = {normalize(manifest.name.rpartition("/")[2]) for manifest in every.of_project if manifest.name}
    for manifest in manifests:
        own_name = normalize(manifest.name.rpartition("/")[2])
        entries = dict[str, int]()
        tests = dict[str, int]()
        for name, line, is_test in _internal_of(manifest, names - {own_name}):
            (tests if is_test else entries).setdefault(name, line)
        tests = {name: line for name, line in tests.items() if name not in entries}
        if not entries:
            continue

        first_names = [*entries][:_MAX_LISTED]
        text = f"{code(manifest.path)} lists {join_words([code(name) for name in first_names])} of this repository"
        text += f", and for tests {join_words([code(name) for name in [*tests][:_MAX_LISTED]])}" if tests else ""
        if len(entries) > _MAX_LISTED or len(tests) > _MAX_LISTED:
            return None
        lines = cite_lines(work.texts, manifest.target, manifest.path, sorted({*entries.values(), *tests.values()}))
        finding = Finding(Statement(text, lines), "dependencies", queries=[every.query], notes=work.notes)
        finding.method.append("Lists names that other manifests of the repository have, or paths of the build.")
        return finding

    return None


def _internal_of(manifest: Manifest, names: frozenset[str] | set[str]) -> Iterator[tuple[str, int, bool]]:
    """Yield the modules of the repository that a manifest lists, each with its line and whether only tests need it."""
    if manifest.path.endswith((".gradle", ".gradle.kts", "proj")):
        for number, line in enumerate(manifest.lines, 1):
            text = line[:MAX_LINE]
            project = None if text.lstrip().startswith(("//", "*", "/*")) else _PROJECTS.search(text)
            if project is not None:
                is_test = "test" in project["call"].lower()
                yield project["path"] or f"projects.{project['accessor']}", number, is_test
            reference = _REFERENCE.search(text)
            if reference is not None:
                yield re.split(r"[\\/]", reference["path"])[-1].rpartition(".")[0], number, False
        return

    for item in manifest.requirements or ():
        is_listed = item.line and item.group not in {PLUGIN, PLATFORM, BY_NAME} and "managed" not in item.group
        name = re.split(r"[:/]", item.name)[-1]
        if is_listed and not item.group.startswith("workspace") and normalize(name) in names:
            yield name, item.line, re.search(r"test|dev", item.group, re.IGNORECASE) is not None


_CLASSIFIER = re.compile(r"[\"']?\s*Programming Language :: Python :: (?P<major>\d)\.(?P<minor>\d{1,3})\s*[\"']?,?\s*$")


def _find_newest(lookup: Lookup, work: Work) -> Finding | None:
    """Return the newest version of Python among the classifiers of a package: nothing else says what it supports."""
    if lookup.name != "python":
        return None

    every, manifests = _manifests(lookup, work)
    for manifest in manifests:
        if not manifest.path.endswith(("pyproject.toml", "setup.cfg", "setup.py")):
            continue
        versions = {
            (int(match["major"]), int(match["minor"])): number
            for number, line in enumerate(manifest.lines, 1)
            if (match := _CLASSIFIER.match(line[:MAX_LINE].strip())) is not None
        }
        if versions:
            major, minor = max(versions)
            lines = cite_lines(work.texts, manifest.target, manifest.path, [versions[major, minor]])
            newest = code(f"Programming Language :: Python :: {major}.{minor}")
            text = f"{code(manifest.path)} lists {newest} as the newest classifier of Python"
            return Finding(Statement(text, lines), "runtime", queries=[every.query], notes=work.notes)

    return None


_MAX_OF_PURPOSE = 4


def _find_by_purpose(lookup: Lookup, work: Work) -> Finding | None:
    """List the well-known packages of a purpose that the project lists; those always needed before others."""
    every, manifests = _manifests(lookup, work)
    names_of_purpose = WELL_KNOWN[lookup.name]
    matches = [
        (manifest, item)
        for manifest in manifests
        for item in _requirements(manifest)
        if item.group not in {PLUGIN, PLATFORM} and names_of_purpose.intersection(_names_of(item.name))
    ]
    if not matches:
        return None

    # Those of the first manifest, unless it is the one of another part of the project.
    first = matches[0][0]
    if first.directory and len({manifest.directory for manifest, _ in matches}) > 1 and not is_own(work, first):
        names = {normalize(item.name) for _, item in matches}
        if len(names) > 1:
            return None

    of_first = [item for manifest, item in matches if manifest is first]
    distinct = list({normalize(item.name): item for item in of_first}.values())
    if len(distinct) > _MAX_OF_PURPOSE:
        return None

    statements = [state_requirement(work, first, item) for item in distinct]
    head, *further = statements
    lead = f"{code(first.path)} lists "
    text = join_words([head.text, *(statement.text.removeprefix(lead) for statement in further)])
    evidence = tuple(item for statement in statements for item in statement.evidence)
    finding = Finding(Statement(text, evidence), "dependency", queries=[every.query], notes=work.notes)
    finding.heading = "Other lists"
    finding.details = [state_requirement(work, manifest, item) for manifest, item in matches if item not in distinct][
        :MAX_DETAILS
    ]
    finding.method.append("Packages are chosen by well-known names of this purpose; others aren't listed.")
    return finding


def find_worded_package(work: Work) -> Finding | None:
    """Return the only package that has the words of a question, beside those of its list, its manifest or its tool."""
    words = read_package_words(work.inquiry.words)
    if not words or len(work.inquiry.pins) > 1 or len(words) > _MAX_WORDS:
        return None

    every = list_manifests(work, PARTLY_READ, own_first=True)
    fits = [
        (manifest, item)
        for manifest in every.of_project
        for item in _requirements(manifest)
        if _has_words(words, manifest, item)
    ]
    # `vitest` rather than `@vitest/ui`, and `text-unidecode` for both of its words.
    exact = [entry for entry in fits if normalize(entry[1].name) in {normalize(word) for word in words}]
    fits = exact or fits
    if len({normalize(item.name) for _, item in fits}) != 1 or len({item.version for _, item in fits} - {""}) > 1:
        return None if fits else find_version_line(work, words)

    fits.sort(key=lambda entry: not entry[1].version)
    statements = list({state.text: state for state in (state_requirement(work, *entry) for entry in fits)}.values())
    finding = Finding(statements[0], "dependency", queries=[every.query], notes=work.notes, heading="Other lists")
    finding.details = statements[1:MAX_DETAILS]
    finding.method.append("The package is the only one whose name and list have the words of the question.")
    return finding


_MAX_WORDS, _MAX_FURTHER_PARTS = 6, 2


def _has_words(words: Sequence[str], manifest: Manifest, item: Requirement) -> bool:
    """Return whether the name of a package has most of the words, and its list or its manifest all others."""
    artifact = re.sub(r"/v\d+$", "", item.name).rpartition(":")[2].rpartition("/")[2]
    parts = {part.lower() for part in parts_of(artifact)}
    of_list = {stem(part.lower()) for part in parts_of(f"{manifest.path} {item.group} {item.condition}")}
    of_name = [word for word in words if _is_in_name(word, item.name, parts)]
    remaining = [word for word in words if word not in of_name]
    covered_parts = {part.lower() for word in of_name for part in parts_of(word)}
    if not of_name or any(not {stem(part.lower()) for part in parts_of(word)} <= of_list for word in remaining):
        return False
    # One word alone is the whole name, unless another one says which list has it.
    is_whole = normalize(artifact) in {normalize(word) for word in of_name}
    return is_whole or (len(words) > 1 and len(parts - covered_parts) <= _MAX_FURTHER_PARTS)


def _is_in_name(word: str, name: str, parts: set[str]) -> bool:
    if normalize(word) in {normalize(name), normalize(name.rpartition("/")[2]), normalize(name.rpartition(":")[2])}:
        return True
    return {part.lower() for part in parts_of(word)} <= parts


def _names_of(name: str) -> Iterator[str]:
    """Yield a name as manifests write it, and its last parts: ``spf13/cobra`` and ``cobra`` of an address."""
    bare = re.sub(r"/v\d+$", "", name)
    parts = re.split(r"[/:]", bare)
    names = [bare] if bare.startswith("@") else [bare, "/".join(parts[-2:]), parts[-1]]
    yield from (name.lower() for name in names)


_FINDERS: Mapping[str, Callable[[Lookup, Work], Finding | None]] = {
    "system": _list_of_system,
    "internal": _list_internal,
    "newest": _find_newest,
    "purpose": _find_by_purpose,
}
