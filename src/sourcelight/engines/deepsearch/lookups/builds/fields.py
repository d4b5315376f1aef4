"""Fields of manifests that a question names: license, version, features, scripts, programs, the required language."""

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
    own_first,
    select_manifests,
)
from sourcelight.engines.deepsearch.lookups.manifests import (
    PARTLY_READ,
    RUNTIME_CLAIMS,
    ManifestField,
    can_require,
    read_fields,
    read_runtime,
)
from sourcelight.engines.deepsearch.markdown import inline

_MAKEFILES = r"(^|/)(GNUm|M|m)akefile$"
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
_MAX_LISTED, _MAX_STEPS, _MAX_VALUE = 20, 5, 200
_NAMES = {"license": "license", "version": "version", "edition": "edition", "backend": "build backend",
          "frameworks": "target frameworks", "platform": "oldest version of the platform"}  # fmt: skip


def find_field(work: Work, kind: str, name: str, owner: str, group: str, notes: list[str]) -> Finding | None:
    """Return what a manifest has of a field; None if none has it, or if several packages could be meant.

    Parameters
    ----------
    kind
        As of `read_fields`.
    name
        Of a script or a target, its name.
    owner
        The package that is meant; empty for the project.
    group
        ``default`` for features that are on by default.
    """
    texts = work.texts
    queries: list[str] = []
    further_files = _MAKEFILES if kind == "target" else PARTLY_READ
    every = own_first(work, list(list_manifests(work, texts, notes, queries, further_files)))
    manifests = select_manifests(work, [manifest for manifest in every if manifest.rank <= 1], owner)
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
        return _license_text(work, texts, queries, notes) if kind == "license" and not owner else None

    statement = _state(texts, first[0], first[1], kind, name, group)
    if statement is None:
        return None

    if kind in _NAMES:
        statement = _with_others(texts, statement, with_field, kind)

    finding = Finding(statement, "field", queries=[join_queries(queries)], notes=notes, heading="Other manifests")
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
    tops = [other for other in manifests if not other.directory]
    if kind in {"license", "version"}:
        return any(other.name for other in tops)
    return any(other.path == base for other in tops)


def _state(
    texts: FileTexts, manifest: Manifest, fields: Sequence[ManifestField], kind: str, name: str, group: str
) -> Statement | None:
    """State the fields of one manifest, with their lines."""
    lines = sorted({field.line for field in fields[:_MAX_LISTED]})
    proofs = cite_lines(texts, manifest.target, manifest.path, lines)
    path = code(manifest.path)
    names = join_words([code(field.key) for field in fields[:_MAX_LISTED]])
    among = ", among others:" if len(fields) > _MAX_LISTED else ""
    if kind in _NAMES:
        values = join_words([code(field.value[:_MAX_VALUE]) for field in fields])
        return Statement(f"{path} gives {values} as the {_NAMES[kind]}", proofs)

    if kind == "script":
        value = fields[0].value
        return (
            Statement(f"{path} sets the script {code(name)} to {code(value[:_MAX_VALUE])}", proofs) if value else None
        )

    if kind == "target":
        return _state_target(path, fields, name, proofs)

    noun = {"features": "feature", "flags": "flag", "scripts": "script"}.get(kind, "program")
    noun += "" if len(fields) == 1 else "s"
    verb, end = ("enables", " by default") if group == "default" else ("defines", "")
    return Statement(f"{path} {verb} the {noun}{among} {names}{end}", proofs)


def _state_target(
    path: str, fields: Sequence[ManifestField], name: str, proofs: tuple[FileEvidence, ...]
) -> Statement | None:
    """State the recipe of a target of make: its commands, and the targets before it."""
    targets = join_words([code(word) for word in fields[0].value.split()[:_MAX_LISTED]])
    steps = [field.value for field in fields[1:] if field.value]
    if not steps:
        return Statement(f"{path} builds {targets} for the target {code(name)}", proofs) if targets else None

    commands = join_words([code(step[:_MAX_VALUE]) for step in steps[:_MAX_STEPS]])
    among = ", among others," if len(steps) > _MAX_STEPS else ""
    after = f", after {targets}" if targets else ""
    return Statement(f"{path} runs{among} {commands} for the target {code(name)}{after}", proofs)


def _license_text(work: Work, texts: FileTexts, queries: list[str], notes: list[str]) -> Finding | None:
    """Quote the line of a license file at the top that names or grants the license; of several files, each."""
    searches = make_queries(work, f"type:path file:{quote_value(_LICENSES)}")
    queries += searches
    statements = []
    for row in run_searches(work, searches, notes):
        target = work.inquiry.pins.of(row["repository"])
        if target is None or not row["path"]:
            continue

        lines = texts.lines(target, row["path"])[:60]
        # Of two licenses to choose from, neither is the license.
        alternatives = [n for n, line in enumerate(lines, 1) if _ALTERNATIVE.match(line) is not None]
        if len(alternatives) > 1:
            quotes = " and ".join(f"“{inline(lines[n - 1].strip(' *#=')[:_MAX_VALUE])}”" for n in alternatives)
            items = tuple(texts.evidence(target, row["path"], n, n, "read", 1.0) for n in alternatives)
            statements.append(Statement(f"{code(row['path'])} says {quotes}", items))
            continue

        numbers = (n for n, line in enumerate(lines, 1) if _LICENSE_LINE.search(line[:500]) is not None)
        number = next(numbers, 0)
        if not number or _MIDDLE_OF_SENTENCE.match(lines[number - 1]) is not None:
            return None

        # A title such as "GNU General Public License" is followed by its version.
        end = number + 1 if number < len(lines) and re.match(r"\s*Version\b", lines[number]) is not None else number
        quote = " ".join(" ".join(lines[number - 1 : end]).split())[:_MAX_VALUE].strip(" *#=")
        evidence = texts.evidence(target, row["path"], number, end, "read", 1.0)
        name = _license_name(lines)
        words = f"has the words of the {code(name)} license: " if name else "says "
        statements.append(Statement(f"{code(row['path'])} {words}“{inline(quote)}”", (evidence,)))

    if not statements or len(statements) > 3:
        return None

    text = "; ".join(statement.text for statement in statements)
    evidence_of_all = tuple(item for statement in statements for item in statement.evidence)
    return Finding(Statement(text, evidence_of_all), "field", queries=[join_queries(queries)], notes=notes)


def _license_name(lines: Sequence[str]) -> str:
    """Return the name of a license that has no title of its own, by the sentences that only it has; else nothing."""
    text = " ".join(" ".join(line[:500] for line in lines).lower().split())
    if any(phrase in text for phrase in _FURTHER_CONDITIONS):
        return ""
    return next((name for name, phrases in _LICENSE_PHRASES if all(phrase in text for phrase in phrases)), "")


_FILES_OF_RUNTIMES = {
    "powershell": r"\.psd1$", "emacs": r"^[^/]+\.el$", "gradle": r"(^|/)gradle-wrapper\.properties$",
    "maven": r"(^|/)maven-wrapper\.properties$", "sbt": r"^project/build\.properties$", "bazel": r"^\.bazelversion$",
    "ansible": r"(^|/)meta/main\.ya?ml$", "mill": r"^\.mill-version$", "solidity": r"(^|/)foundry\.toml$",
}  # fmt: skip
"""Further files that say which version of one language or tool is needed: in Emacs Lisp, code at the top."""


def find_runtime(work: Work, runtime: str, owner: str, notes: list[str]) -> Finding | None:
    """Return the version of a language that manifests require; None if the project's own one requires none."""
    texts = work.texts
    queries: list[str] = []
    if runtime == "dotnet" and re.search(r"\bsdk\b", work.inquiry.question, re.IGNORECASE) is not None:
        return _find_sdk(work, texts, notes)

    further_files = "|".join(filter(None, (PARTLY_READ, _FILES_OF_RUNTIMES.get(runtime))))
    every = own_first(work, list(list_manifests(work, texts, notes, queries, further_files)))
    selected = select_manifests(work, [manifest for manifest in every if can_require(manifest.path, runtime)], owner)
    many_repositories = len(work.inquiry.pins) > 1
    statements: list[Statement] = []
    for manifest in selected or ():
        required = read_runtime(manifest.path, manifest.lines, runtime)
        if required is None:
            # What tests or parts of a project require is not what its own package does.
            is_decisive = not statements and manifest.rank <= 1 and not many_repositories and not owner
            if manifest.name and is_decisive and not _may_inherit(manifest, selected or ()):
                return None
            continue

        if manifest.rank > 1 and not statements and not owner:
            return None

        version, line = required
        repository_text = f" of {code(manifest.target.repository.name)}" if many_repositories else ""
        evidence = texts.evidence(manifest.target, manifest.path, line, line, "read", 1.0)
        statements.append(
            Statement(f"{code(manifest.path)}{repository_text} {RUNTIME_CLAIMS[runtime]} {code(version)}", (evidence,))
        )

    if not statements:
        return None

    finding = Finding(statements[0], "runtime", queries=[join_queries(queries)], notes=notes, heading="Other manifests")
    finding.details = statements[1:MAX_DETAILS]
    return finding


def _may_inherit(manifest: Manifest, manifests: Sequence[Manifest]) -> bool:
    """Return whether another manifest is in a directory above: its parent, or its workspace."""
    return any(
        other.directory != manifest.directory and f"{manifest.directory}/".startswith(f"{other.directory}/".lstrip("/"))
        for other in manifests
    )


def _find_sdk(work: Work, texts: FileTexts, notes: list[str]) -> Finding | None:
    """Return the SDK of .NET that `global.json` at the top asks for."""
    queries = make_queries(work, f"type:path file:{quote_value('^global[.]json$')}")
    for row in run_searches(work, queries, notes):
        target = work.inquiry.pins.of(row["repository"])
        lines = texts.lines(target, row["path"]) if target is not None and row["path"] else []
        for number, line in enumerate(lines, 1):
            match = re.match(r"\s*\"version\"\s*:\s*\"([^\"]+)\"", line[:500])
            if match is not None and target is not None and any("sdk" in text for text in lines[:number]):
                evidence = texts.evidence(target, row["path"], number, number, "read", 1.0)
                text = f"{code(row['path'])} requires the .NET SDK {code(match[1])}"
                return Finding(Statement(text, (evidence,)), "runtime", queries=[join_queries(queries)], notes=notes)

    return None
