"""Fields that a manifest has: license, version, features, scripts, targets, programs, and the runtime that it requires.

The manifest of the project comes first. One in a subdirectory says nothing of the project if one at the top could
have the field. Manifests of one directory that differ are stated together, since none of them decides. If that of the
project requires no version of a language, what its tests or parts require says nothing of it, unless a manifest above
may have it.

Where no manifest names a license, the file at the top that grants one is quoted, so that nothing is said of other
conditions in it. A license without a title is named by sentences that no other one has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import (
    Manifest,
    cite_lines,
    is_own,
    list_manifests,
    select_manifests,
)
from sourcelight.engines.deepsearch.lookups.manifests import (
    MAX_LINE,
    PARTLY_READ,
    RUNTIME_CLAIMS,
    ManifestField,
    can_require,
    read_fields,
    read_runtime,
)
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.search import Target

_MAKEFILES = r"(^|/)(GNUm|M|m)akefile$"

_MAX_LISTED, _MAX_STEPS = 20, 5
"""Fields, and commands of a target, that a sentence names."""

_MAX_VALUE = 200
"""Characters of a value."""

_NAMES = {"license": "license", "version": "version", "edition": "edition", "backend": "build backend",
          "frameworks": "target frameworks", "platform": "oldest version of the platform"}  # fmt: skip

_LICENSES = r"^(LICEN[CS]E|COPYING|UNLICENSE)([.-][\w.-]*)?$"
_LICENSE_LINE = re.compile(
    r"\blicen[cs]e\b|permission is hereby granted|redistribution and use|\bpublic domain\b|\bcopying\b"
    r"|^\W*attribution\b[\w -]{1,60}\d\.\d\b|^\W*CC0\b",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(r"\W*(?:alternative|option)\s+(?:\d|[A-D])\b", re.IGNORECASE)
_MIDDLE_OF_SENTENCE = re.compile(r"\s*[a-z]")
"""The start of a line that goes on with a sentence: it has a word of licenses, but doesn't name one."""
_LICENSE_PHRASES = (
    ("MIT", ("permission is hereby granted, free of charge, to any person obtaining a copy of this software",
             "this permission notice shall be included in all copies", 'the software is provided "as is"')),
    ("ISC", ("permission to use, copy, modify, and/or distribute this software for any purpose",
             "this permission notice appear in all copies")),
    ("BSD-3-Clause", ("redistribution and use in source and binary forms", "redistributions in binary form must",
                      "to endorse or promote products derived from this software")),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms", "redistributions in binary form must")),
)  # fmt: skip
"""Sentences of licenses, in the order of trial: the third clause is what the shorter one lacks."""
_FURTHER_CONDITIONS = (
    "all advertising materials", "except as contained in this notice", "shall be used for good", "neither by nor",
    "gnu general public", "apache license", "mozilla public", "dual licen", "commons clause",
)  # fmt: skip
"""Words of other licenses, and of longer forms of these."""

_MAX_LINES = 60
"""First lines of a license file that are read."""

_MAX_LICENSES = 3
"""Files of licenses that one sentence names; a project with more has a directory of them."""

_MAX_QUOTE = 200
_MARKS = " *#="
"""Marks around a title."""

_FILES_OF_RUNTIMES = {
    "powershell": r"\.psd1$", "emacs": r"^[^/]+\.el$", "gradle": r"(^|/)gradle-wrapper\.properties$",
    "maven": r"(^|/)maven-wrapper\.properties$", "sbt": r"^project/build\.properties$", "bazel": r"^\.bazelversion$",
    "ansible": r"(^|/)meta/main\.ya?ml$", "mill": r"^\.mill-version$", "solidity": r"(^|/)foundry\.toml$",
}  # fmt: skip
"""Further files that say which version of one language or tool is needed: in Emacs Lisp, code at the top."""


def find_field(work: Work, kind: str, name: str, owner: str, group: str) -> Finding | None:
    """Return what a manifest has of a field; None if none has it, or if several packages could be meant.

    Parameters
    ----------
    kind
        As of `read_fields`.
    name
        The name of the script or target.
    owner
        The package that is meant; empty for the project.
    group
        ``default`` for features that are on by default.
    """
    texts = work.texts
    further_files = _MAKEFILES if kind == "target" else PARTLY_READ
    manifest_list = list_manifests(work, further_files, own_first=True)
    manifests = select_manifests(work, manifest_list.of_project, owner)
    if manifests is None or len(work.inquiry.pins) > 1:
        return None

    with_field = [
        (manifest, fields)
        for manifest in manifests
        if (fields := read_fields(manifest.path, manifest.lines, kind, name, group))
    ]
    if kind == "version":
        # A project of CMake or Bazel often has the version of the package that another manifest describes.
        with_field.sort(key=lambda entry: entry[0].path.endswith(("CMakeLists.txt", "MODULE.bazel")))

    first = next(iter(with_field), None)
    # A package of a subdirectory has fields of its own, which say nothing of the project.
    if first is not None and not owner and _is_elsewhere(work, first[0], kind, manifests):
        first = None

    if first is None:
        return find_license_text(work, manifest_list.query) if kind == "license" and not owner else None

    statement = _state(texts, first[0], first[1], kind, name, group)
    if statement is None:
        return None

    if kind in _NAMES:
        statement = _with_others(texts, statement, with_field, kind)

    finding = Finding(statement, "field", queries=[manifest_list.query], notes=work.notes, heading="Other manifests")
    statements = [_state(texts, manifest, fields, kind, name, group) for manifest, fields in with_field[1:MAX_DETAILS]]
    finding.details = [other for other in statements if other is not None]
    return finding


def _with_others(
    texts: FileTexts, statement: Statement, with_field: Sequence[tuple[Manifest, list[ManifestField]]], kind: str
) -> Statement:
    """Add what other manifests of the same directory give, if it differs: none of them decides."""
    first, fields = with_field[0]
    values = {tuple(field.value for field in fields)}
    for manifest, other_fields in with_field[1:_MAX_STEPS]:
        value = tuple(field.value for field in other_fields)
        other = _state(texts, manifest, other_fields, kind, "", "")
        # Rockspecs of one directory are those of former versions.
        is_beside = manifest.directory == first.directory and not manifest.path.endswith(".rockspec")
        if is_beside and value not in values and other is not None:
            values.add(value)
            statement = Statement(f"{statement.text}; {other.text}", (*statement.evidence, *other.evidence))

    return statement


def _is_elsewhere(work: Work, manifest: Manifest, kind: str, manifests: Sequence[Manifest]) -> bool:
    """Return whether the project has a manifest at the top that could have a field of one in a subdirectory."""
    if not manifest.directory or is_own(work, manifest):
        return False
    base = manifest.path.rpartition("/")[2]
    top_level = [other for other in manifests if not other.directory]
    if kind in {"license", "version"}:
        return any(other.name for other in top_level)
    return any(other.path == base for other in top_level)


def _state(
    texts: FileTexts, manifest: Manifest, fields: Sequence[ManifestField], kind: str, name: str, group: str
) -> Statement | None:
    """State the fields of one manifest, with their lines."""
    lines = sorted({field.line for field in fields[:_MAX_LISTED]})
    evidence = cite_lines(texts, manifest.target, manifest.path, lines)
    path = code(manifest.path)
    names = join_words([code(field.key) for field in fields[:_MAX_LISTED]])
    among = ", among others:" if len(fields) > _MAX_LISTED else ""
    if kind in _NAMES:
        values = join_words([code(field.value[:_MAX_VALUE]) for field in fields])
        return Statement(f"{path} gives {values} as the {_NAMES[kind]}", evidence)

    if kind == "script":
        value = fields[0].value
        return (
            Statement(f"{path} sets the script {code(name)} to {code(value[:_MAX_VALUE])}", evidence) if value else None
        )

    if kind == "target":
        return _state_target(path, fields, name, evidence)

    noun = {"features": "feature", "flags": "flag", "scripts": "script"}.get(kind, "program")
    noun += "" if len(fields) == 1 else "s"
    verb, end = ("enables", " by default") if group == "default" else ("defines", "")
    return Statement(f"{path} {verb} the {noun}{among} {names}{end}", evidence)


def _state_target(
    path: str, fields: Sequence[ManifestField], name: str, evidence: tuple[FileEvidence, ...]
) -> Statement | None:
    """State the recipe of a target of make: its commands, and the targets before it."""
    targets = join_words([code(word) for word in fields[0].value.split()[:_MAX_LISTED]])
    steps = [field.value for field in fields[1:] if field.value]
    if not steps:
        return Statement(f"{path} builds {targets} for the target {code(name)}", evidence) if targets else None

    commands = join_words([code(step[:_MAX_VALUE]) for step in steps[:_MAX_STEPS]])
    among = ", among others," if len(steps) > _MAX_STEPS else ""
    after = f", after {targets}" if targets else ""
    return Statement(f"{path} runs{among} {commands} for the target {code(name)}{after}", evidence)


def find_license_text(work: Work, query: str) -> Finding | None:
    """Quote the line of each license file at the top that names or grants the license; None if a file has no such line.

    `query` is the one whose manifests name no license.
    """
    searches = make_queries(work, f"type:path file:{quote_value(_LICENSES)}")
    statements = []
    for row in run_searches(work, searches):
        target = work.inquiry.pins.of(row["repository"])
        if target is None or not row["path"]:
            continue

        lines = work.texts.lines(target, row["path"])[:_MAX_LINES]
        statement = _state_alternatives(work, target, row["path"], lines) or _state_license(
            work, target, row["path"], lines
        )
        # One license of several would be stated as the only one.
        if statement is None:
            return None
        statements.append(statement)

    if not 0 < len(statements) <= _MAX_LICENSES:
        return None

    text = "; ".join(statement.text for statement in statements)
    evidence = tuple(item for statement in statements for item in statement.evidence)
    return Finding(Statement(text, evidence), "field", queries=[join_queries([query, *searches])], notes=work.notes)


def _state_alternatives(work: Work, target: Target, path: str, lines: Sequence[str]) -> Statement | None:
    """Quote the titles of licenses to choose from: of two, neither is the license. None for a single license."""
    numbers = [number for number, line in enumerate(lines, 1) if _ALTERNATIVE.match(line) is not None]
    if len(numbers) < 2:
        return None
    quotes = " and ".join(f"“{inline(lines[number - 1].strip(_MARKS)[:_MAX_QUOTE])}”" for number in numbers)
    evidence = tuple(work.texts.read_line(target, path, number) for number in numbers)
    return Statement(f"{code(path)} says {quotes}", evidence)


def _state_license(work: Work, target: Target, path: str, lines: Sequence[str]) -> Statement | None:
    """Quote the first line that names or grants a license; None without one, or if it is the middle of a sentence."""
    has_license = (number for number, line in enumerate(lines, 1) if _LICENSE_LINE.search(line[:MAX_LINE]))
    number = next(has_license, 0)
    if not number or _MIDDLE_OF_SENTENCE.match(lines[number - 1]) is not None:
        return None

    # A title such as "GNU General Public License" is followed by its version.
    end = number + 1 if number < len(lines) and re.match(r"\s*Version\b", lines[number]) is not None else number
    quote = " ".join(" ".join(lines[number - 1 : end]).split())[:_MAX_QUOTE].strip(_MARKS)
    evidence = work.texts.evidence(target, path, number, end, "read", 1.0)
    name = _license_name(lines)
    words = f"has the words of the {code(name)} license: " if name else "says "
    return Statement(f"{code(path)} {words}“{inline(quote)}”", (evidence,))


def _license_name(lines: Sequence[str]) -> str:
    """Return the name of a license that has no title of its own, by the sentences that only it has; else nothing."""
    text = " ".join(" ".join(line[:MAX_LINE] for line in lines).lower().split())
    if any(phrase in text for phrase in _FURTHER_CONDITIONS):
        return ""
    return next((name for name, phrases in _LICENSE_PHRASES if all(phrase in text for phrase in phrases)), "")


def find_runtime(work: Work, runtime: str, owner: str) -> Finding | None:
    """Return the version of a language that manifests require; None if the project's own one requires none."""
    if runtime == "dotnet" and re.search(r"\bsdk\b", work.inquiry.question, re.IGNORECASE) is not None:
        return _find_sdk(work)

    further_files = "|".join(filter(None, (PARTLY_READ, _FILES_OF_RUNTIMES.get(runtime))))
    manifest_list = list_manifests(work, further_files, own_first=True)
    selected = select_manifests(
        work, [manifest for manifest in manifest_list.manifests if can_require(manifest.path, runtime)], owner
    )
    many_repositories = len(work.inquiry.pins) > 1
    statements: list[Statement] = []
    versions: list[tuple[Manifest, str]] = []
    for manifest in selected or ():
        required = read_runtime(manifest.path, manifest.lines, runtime)
        if required is None:
            # What tests or parts of a project require is not what its own package does.
            is_decisive = not statements and manifest.rank.is_of_project and not many_repositories and not owner
            if manifest.name and is_decisive and not _may_inherit(manifest, selected or ()):
                return None
            continue

        if not manifest.rank.is_of_project and not statements and not owner:
            return None

        version, line = required
        versions.append((manifest, version))
        repository_text = f" of {code(manifest.target.repository.name)}" if many_repositories else ""
        evidence = work.texts.read_line(manifest.target, manifest.path, line)
        statements.append(
            Statement(f"{code(manifest.path)}{repository_text} {RUNTIME_CLAIMS[runtime]} {code(version)}", (evidence,))
        )

    if not statements:
        return None

    finding = Finding(
        statements[0] if owner or many_repositories else _with_other(statements, versions),
        "runtime",
        queries=[manifest_list.query],
        notes=work.notes,
        heading="Other manifests",
    )
    finding.details = statements[1:MAX_DETAILS]
    return finding


def _with_other(statements: Sequence[Statement], versions: Sequence[tuple[Manifest, str]]) -> Statement:
    """Return the first statement, and what a manifest beside it says otherwise: no package speaks for the others."""
    first, (manifest, version) = statements[0], versions[0]
    for statement, (other, other_version) in zip(statements[1:], versions[1:], strict=True):
        is_beside = other.directory == manifest.directory and _ending(other) == _ending(manifest)
        if is_beside and other_version != version:
            return Statement(f"{first.text}; {statement.text}", (*first.evidence, *statement.evidence))
    return first


def _ending(manifest: Manifest) -> str:
    return manifest.path.rpartition("/")[2].rpartition(".")[2]


def _may_inherit(manifest: Manifest, manifests: Sequence[Manifest]) -> bool:
    """Return whether another manifest is in a directory above: its parent, or its workspace."""
    return any(
        other.directory != manifest.directory and f"{manifest.directory}/".startswith(f"{other.directory}/".lstrip("/"))
        for other in manifests
    )


def _find_sdk(work: Work) -> Finding | None:
    """Return the SDK of .NET that `global.json` at the top asks for."""
    queries = make_queries(work, f"type:path file:{quote_value('^global[.]json$')}")
    for row in run_searches(work, queries):
        target = work.inquiry.pins.of(row["repository"])
        lines = work.texts.lines(target, row["path"]) if target is not None and row["path"] else []
        for number, line in enumerate(lines, 1):
            match = re.match(r"\s*\"version\"\s*:\s*\"([^\"]+)\"", line[:MAX_LINE])
            if match is not None and target is not None and any("sdk" in text for text in lines[:number]):
                evidence = work.texts.read_line(target, row["path"], number)
                text = f"{code(row['path'])} requires the .NET SDK {code(match[1])}"
                return Finding(
                    Statement(text, (evidence,)), "runtime", queries=[join_queries(queries)], notes=work.notes
                )

    return None
