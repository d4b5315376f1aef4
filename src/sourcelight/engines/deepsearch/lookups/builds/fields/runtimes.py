"""The version of a language or a tool that manifests require.

The first manifest decides: if that of the project requires no version, what its tests or parts require says nothing of
it, unless a manifest above may have it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.markup import code
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import Manifest, list_manifests, select_manifests
from sourcelight.engines.deepsearch.lookups.manifests import (
    MAX_LINE,
    PARTLY_READ,
    RUNTIME_CLAIMS,
    can_require,
    read_runtime,
)

_FILES_OF_RUNTIMES = {
    "powershell": r"\.psd1$", "emacs": r"^[^/]+\.el$", "gradle": r"(^|/)gradle-wrapper\.properties$",
    "maven": r"(^|/)maven-wrapper\.properties$", "sbt": r"^project/build\.properties$", "bazel": r"^\.bazelversion$",
    "ansible": r"(^|/)meta/main\.ya?ml$", "mill": r"^\.mill-version$", "solidity": r"(^|/)foundry\.toml$",
}  # fmt: skip
"""Further files that say which version of one language or tool is needed: in Emacs Lisp, code at the top."""


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
