"""Packages that no manifest lists: others that are called alike, or the statement that none lists it.

That none does is stated only if every manifest was read, no other file that may list packages has the name, and no
search left out a file. A package whose name resembles the requested one is named instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.markup import code, count_of, join_first
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, row_evidence, run_searches
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import Manifest, state_requirement, unread_manifests
from sourcelight.engines.deepsearch.lookups.builds.package_lines import PackageLine, PackageQuestion, is_above
from sourcelight.engines.deepsearch.lookups.manifests import (
    MANIFESTS,
    OTHER_MANIFESTS,
    PARTLY_READ,
    Likeness,
    has_word,
    likeness,
)

_MAY_NAME_OTHERWISE = re.compile(r"(?:^|/)(?:flake\.nix|WORKSPACE|stack\.yaml|dub\.sdl|Brewfile)$")
"""Manifests of formats that name packages in their own way."""

_LITERAL_NAMES = re.compile(r"\.opam$|(?:^|/)(?:dune-project|project\.clj|deps\.edn|rebar\.config)$")
"""Manifests that are data, where each package has its whole name."""


_DATA = re.compile(
    r"^(?!\.)(?!.*(?:(?:^|/)\.|lock|(?:^|/)(?:locales?|i18n|translations?|lang|data|fixtures)/))"
    r".*\.(?:jsonc?|ya?ml|toml|edn|xml|cfg|ini|nix|bzl|bazel|kdl|dhall|properties|wrap|ipkg)$"
    r"|(?:^|/)(?:metadata\.rb|Berksfile|Puppetfile|info\.rkt|lakefile\.lean|build\.boot|__manifest__\.py|xmake\.lua|v\.mod"
    r"|\.gitmodules)$",
    re.IGNORECASE,
)
"""Paths of files that may be manifests: of data, and scripts of tools whose manifests aren't read."""


def find_unlisted(
    work: Work,
    question: PackageQuestion,
    manifests: Sequence[Manifest],
    read: list[str],
    query: str,
    *,
    is_selected: bool,
) -> Finding | None:
    """Return packages that are called alike, or that no manifest lists a package; None where that isn't certain."""
    if question.is_free:
        return None

    related = _find_related(manifests, question.name)
    # Their versions are not that of the requested package, unless it is merely written otherwise.
    same = [match for match, alike in related if alike is Likeness.SAME_LETTERS]
    if same or (related and question.asks != "version"):
        return _state_related(work, question.name, same or [match for match, _ in related], query)
    # Where names are written as they are, a manifest without the name lists no such package, even if not read whole.
    read = read or [manifest.path for manifest in manifests if _LITERAL_NAMES.search(manifest.path) is not None]
    # Manifests of tests and examples alone say nothing of the project.
    if all(not manifest.rank.is_of_project for manifest in manifests if manifest.path in read):
        return None
    return _no_dependency(work, question, read, query, is_selected=is_selected)


def _find_related(manifests: Sequence[Manifest], name: str) -> list[tuple[PackageLine, Likeness]]:
    """Return packages whose names resemble the requested one, such as `jackson-databind` does `jackson`, and how."""
    alike = [
        (PackageLine(manifest, requirement), likeness(requirement.name, name))
        for manifest in manifests
        if manifest.rank.is_of_project
        for requirement in manifest.requirements or ()
        if requirement.line
    ]
    return [(match, resemblance) for match, resemblance in alike if resemblance is not None]


def _state_related(work: Work, name: str, related: Sequence[PackageLine], query: str) -> Finding:
    statements = [state_requirement(work, match.manifest, match.requirement) for match in related]
    resemblance = likeness(related[0].requirement.name, name)
    note = f", {resemblance.value.format(code(name))}" if resemblance is not None else ""
    statements[0] = Statement(f"{statements[0].text}{note}", statements[0].evidence)
    finding = Finding(
        statements[0],
        "dependency",
        queries=[query],
        notes=work.notes,
        heading="Other packages of the name",
    )
    finding.details = statements[1:MAX_DETAILS]
    finding.method.append("No manifest lists a package with exactly the requested name. Lock files were not read.")
    return finding


def _no_dependency(
    work: Work, question: PackageQuestion, read: list[str], query: str, *, is_selected: bool
) -> Finding | None:
    if question.asks == "version" or not read or work.notes:
        return None

    tail = question.name.rpartition("/")[2]
    searches = make_queries(work, f"case:no type:file /{escape_regexp(tail)}/")
    rows = [row for row in run_searches(work, searches) if has_word(row["line"] or "", tail)]
    if work.notes:
        return None

    # What no manifest lists may still be in use: a module of the language, or a copy in the repository.
    if question.asks in {"use", "need"} and rows and "/" not in question.name:
        return None

    mentioning = _manifests_with_word(rows, tail)
    if is_selected:
        # A manifest above may list it for all packages below; one of a sibling package says nothing of this one.
        mentioning = {path for path in mentioning if any(_lists_for(path, manifest) for manifest in read)}

    unread = [row for row in unread_manifests(work) if _MAY_NAME_OTHERWISE.search(row["path"]) is not None]
    if work.notes or unread or mentioning:
        return None

    # Without a number, which would need a second count.
    manifests = join_first([code(path) for path in read], MAX_NAMED)
    if is_selected:
        # Another package of the repository may list it, so the manifests are the subject.
        text = f"No: {manifests} {'does' if len(read) == 1 else 'do'} not list {code(question.name)}"
    else:
        text = f"No: no searched manifest lists {code(question.name)} ({manifests})"

    finding = Finding(Statement(text), "dependency", queries=[query, join_queries(searches)], is_negative=True)
    _add_other_lines(work, finding, rows, tail)
    return finding


def _lists_for(path: str, manifest: str) -> bool:
    """Return whether a manifest may list for another one: each file of opam is of a package of its own."""
    return path == manifest or (is_above(path, manifest) and not path.endswith(".opam"))


def _manifests_with_word(rows: Sequence[Mapping[str, Any]], word: str) -> set[str]:
    """Return the manifests and lists among the files with a word: they may list it in a form that isn't read.

    Those can't prove a "no". A manifest without the word lists nothing of its name, also if it can't be read whole. Any
    file of data that has the word as an entry may be the manifest of a tool that isn't known here.
    """
    is_manifest = re.compile(f"{MANIFESTS}|{OTHER_MANIFESTS}|{PARTLY_READ}")
    # A program may read its list from a text file, with an entry on each line.
    entry = re.compile(rf"\s*{re.escape(word)}(?![\w-])", re.IGNORECASE)
    # `"name": "clay/kiln"`, `- kiln`, `kiln: 1.0` and `<kiln version="1">`.
    of_data = re.compile(
        rf"[\"'/>]{re.escape(word)}[\"'<@:]|^\s*(?:-\s+)?[\"']?{re.escape(word)}[\"']?\s*(?:$|[:=<>~@])|<{re.escape(word)}[\s>/]",
        re.IGNORECASE,
    )
    return {
        row["path"]
        for row in rows
        if (is_manifest.search(row["path"]) and not row["path"].endswith("Makefile"))
        or (row["path"].endswith((".txt", ".in")) and entry.match(row["line"] or "") is not None)
        or (_is_data_of_project(row["path"]) and of_data.search(row["line"] or "") is not None)
    }


def _is_data_of_project(path: str) -> bool:
    """Return whether a file of data, near the top, may list packages: no lock, no setting of an editor or service."""
    return path.count("/") < 2 and _DATA.search(path) is not None and rank_of(path).is_of_project


def _add_other_lines(work: Work, finding: Finding, rows: list[dict[str, Any]], word: str) -> None:
    """Add the lines of other files that contain a word: code may use what no manifest lists."""
    if not rows:
        finding.method.append(f"No searched file contains {code(word)}.")
        return

    rows.sort(key=lambda row: (rank_of(row["path"]), row["path"], row["line_number"]))
    verb = "contains" if len(rows) == 1 else "contain"
    finding.method.append(f"{count_of(len(rows), 'line')} in other files {verb} {code(word)}.")
    finding.heading = "Lines with this text"
    for row in rows[:MAX_NAMED]:
        line = row_evidence(work, row)
        if line is not None:
            finding.details.append(Statement(code((row["line"] or "").strip()[:160]), (line,)))
