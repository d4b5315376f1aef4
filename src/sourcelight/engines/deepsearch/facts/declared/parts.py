"""Counts of the parts of a project that have a directory each: "how many charts are in charts".

A directory with a manifest of its own is one. Files of such a directory would be another number.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from sourcelight.core.markup import code, join_first
from sourcelight.engines.deepsearch.facts.model import Fact, Rows, Work

_MANIFESTS = re.compile(
    r"package\.json|Cargo\.toml|build\.gradle(?:\.kts)?|pom\.xml|Chart\.ya?ml|pyproject\.toml|setup\.(?:py|cfg)|go\.mod"
    r"|composer\.json|mix\.exs|rebar\.config|pubspec\.ya?ml|Package\.swift|build\.sbt|shard\.yml|deps\.edn|project\.clj"
    r"|dune-project|galaxy\.yml|[\w.-]{1,80}\.(?:csproj|fsproj|vbproj|gemspec|cabal|nimble|podspec|opam|rockspec)"
)
"""Names of files that make their directory a part with a build of its own."""
_OF_DIRECTORIES = re.compile(
    r"charts?|crates?|packages?|librar(?:y|ies)|libs?|apps?|applications?|add-?ons?|roles?|(?:sub-?)?projects?|bundles?",
    re.IGNORECASE,
)
"""Nouns of things that are directories, never files."""
_MIN_PARTS = 2
"""Fewer directories with a manifest are an exception among others, and not what a noun means."""
_MAX_MANIFESTS = 3
"""Names of manifests that a sentence lists."""


def count_parts(work: Work, fact: Fact) -> Fact | None:
    """Count the directories right below that of a question by their manifests; the files of one without directories.

    None if neither tells what is counted, as in a directory with both files and directories without a manifest.

    Parameters
    ----------
    work
        The request under way, whose path is that of a directory.
    fact
        The count of its files at any depth.
    """
    table = fact.tables[0]
    scopes = work.request.paths
    if len(scopes) != 1 or scopes[0].is_file or table.total > len(table.rows):
        return fact

    beginning = re.compile(scopes[0].pattern)
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    below = 0
    for repository, path, *_ in table.rows:
        start = beginning.search(path)
        above = path[: start.end()] if start is not None else ""
        folder, _, rest = path[len(above) :].partition("/")
        if not rest:
            continue
        below += 1
        key = repository, f"{above}{folder}"
        names[key].update([rest] if "/" not in rest and _MANIFESTS.fullmatch(rest) else ())

    # A directory without a manifest may be anything, such as documents beside the modules.
    parts = {key: manifests for key, manifests in names.items() if manifests}
    if len(parts) < _MIN_PARTS or 2 * len(parts) < len(names):
        is_of_directories = _OF_DIRECTORIES.fullmatch(work.request.subject) is not None
        return None if is_of_directories or 2 * below > len(table.rows) else fact

    manifests = Counter(name for of_part in parts.values() for name in of_part)
    examples = join_first([code(name) for name, _ in manifests.most_common()], _MAX_MANIFESTS)
    remaining_count = len(names) - len(parts)
    fact.number, fact.unit = len(parts), "folders"
    fact.subject = f"directories directly in {code(scopes[0].glob)} have a manifest of their own ({examples})"
    if remaining_count:
        fact.subject += f"; {remaining_count:,} more {'has' if remaining_count == 1 else 'have'} none"
    fact.rule = "Counts the directories right below with a manifest of a build tool directly in them."
    fact.repositories = Counter(repository for repository, _ in parts)
    fact.tables = [Rows("Folders", ("repository", "folder"))]
    fact.sentences = []
    for key in sorted(parts):
        fact.tables[0].add(key)
    return fact
