"""Find the manifests of the searched repositories, and those of one package among them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sourcelight.core.markup import code
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.manifests import (
    MANIFESTS,
    OTHER_MANIFESTS,
    Requirement,
    normalize,
    package_name,
    read_requirements,
    requirements_rank,
)
from sourcelight.engines.search import Target

_MAX_MANIFESTS, _MAX_REST = 200, 300
_GIVEN_BY_CODE = re.compile(r"[,%:]\s*[A-Za-z_@][\w.]*(?:\([\w., ]*\))?\s*(?:[,})\]]|$)|\$[\w{(]")
"""Behind a package, a version that a variable or a function gives: a line with one doesn't lack it."""
_TEST_DIRECTORY = re.compile(
    r"(?:^|/)(?:[\w.-]*(?:tests?|templates?|e2e|benchmarks?)|docs?|documentation|website|playground)/", re.IGNORECASE
)


@dataclass
class Manifest:
    """A manifest at a commit, and its lines. It is parsed once, whatever a question asks of it."""

    target: Target
    path: str
    lines: list[str]

    @cached_property
    def name(self) -> str:
        """The name of its package; empty without one."""
        return package_name(self.path, self.lines)

    @cached_property
    def requirements(self) -> list[Requirement] | None:
        """The requirements that it lists; None if it can't be read."""
        return read_requirements(self.path, self.lines)

    @property
    def rank(self) -> int:
        """0 for the manifests of the project; more for those of tests, examples, templates and vendored code."""
        return max(rank_of(self.path), 2 if _TEST_DIRECTORY.search(self.path) is not None else 0)

    @property
    def directory(self) -> str:
        """Its directory; empty at the top."""
        return self.path.rpartition("/")[0]

    def is_of(self, owner: str) -> bool:
        """Return whether a word names it: its package, its directory, or the file itself."""
        word = normalize(owner.strip("/"))
        base = self.path.rpartition("/")[2]
        names = {self.name, self.name.rpartition("/")[2], self.directory.rpartition("/")[2], self.directory, base}
        return word in {normalize(name) for name in names if name} or normalize(self.path) == word


def list_manifests(
    work: Work, texts: FileTexts, notes: list[str], queries: list[str], further_files: str = ""
) -> Iterator[Manifest]:
    """Yield the manifests of each repository: those at the top first, lists of requirements behind other manifests.

    With `further_files`, an expression, files of further names are among them.
    """
    pattern = f"{MANIFESTS}|{further_files}" if further_files else MANIFESTS
    searches = make_queries(work, f"type:path file:{quote_value(pattern)}")
    queries += searches
    rows = [row for row in run_searches(work, searches, notes) if row["path"]]
    rows.sort(
        key=lambda row: (
            row["repository"],
            rank_of(row["path"]) > 1 or _TEST_DIRECTORY.search(row["path"]) is not None,
            row["path"].count("/"),
            requirements_rank(row["path"]),
            _newest_first(row["path"]),
            row["path"],
        )
    )
    for row in rows[:_MAX_MANIFESTS]:
        target = work.inquiry.pins.of(row["repository"])
        if target is not None:
            yield Manifest(target, row["path"], texts.lines(target, row["path"]))

    if len(rows) > _MAX_MANIFESTS:
        notes.append(f"Only the first {_MAX_MANIFESTS} of {len(rows):,} manifests were read.")


def _newest_first(path: str) -> list[int]:
    """Return what puts the newest of several rockspecs first, whose names have versions; the same for other files."""
    return [-int(number) for number in re.findall(r"\d{1,9}", path)] if path.endswith(".rockspec") else []


def unread_manifests(work: Work, notes: list[str]) -> list[dict[str, Any]]:
    """Return the rows of manifests in formats that are read in part or not at all, which may list anything."""
    return run_searches(work, make_queries(work, f"type:path file:{quote_value(OTHER_MANIFESTS)}"), notes)


def select_manifests(work: Work, manifests: list[Manifest], owner: str) -> list[Manifest] | None:
    """Return the manifests that a word of a question names; None if it names none.

    A word that is a part of the repository's name, or that has no meaning of its own, selects all of them.
    """
    if not owner:
        return manifests
    selected = [manifest for manifest in manifests if manifest.is_of(owner)]
    if selected:
        return selected
    return manifests if is_repository(work, owner) else None


def is_repository(work: Work, word: str) -> bool:
    """Return whether a word is the last part of the name of a searched repository."""
    names = {normalize(name) for name in work.inquiry.pins.short_names}
    return normalize(word.rpartition("/")[2]) in names


def is_own(work: Work, manifest: Manifest) -> bool:
    """Return whether a manifest is of a package that is called as its repository, or is in a directory of this name."""
    return is_repository(work, manifest.name) or is_repository(work, manifest.directory.rpartition("/")[2])


def own_first(work: Work, manifests: list[Manifest]) -> list[Manifest]:
    """Put the manifests of the package that is called as its repository first, in the order in which they are."""
    tops = [manifest for manifest in manifests if not manifest.directory]
    has_member = any(is_repository(work, manifest.name) for manifest in manifests if manifest.directory)
    # A manifest at the top that names a package is the package, unless another one has the name of the repository.
    if any(manifest.name and (not has_member or is_repository(work, manifest.name)) for manifest in tops):
        return manifests
    return sorted(manifests, key=lambda manifest: (manifest.rank > 1, not is_own(work, manifest)))


def state_requirement(work: Work, texts: FileTexts, manifest: Manifest, requirement: Requirement) -> Statement:
    """State what one line of a manifest lists: the package as its registry writes it, its version and its list."""
    path = manifest.path
    is_named_last = path.endswith((".xml", ".gradle", ".kts", ".versions.toml"))
    name = requirement.name.rpartition(":")[2] if is_named_last else requirement.name

    # In Python, a range follows the name without a space.
    is_joined = path.endswith(("pyproject.toml", ".txt", ".cfg", ".py", ".in")) and not path.endswith("CMakeLists.txt")
    version = (
        code(f"{name}{requirement.version}")
        if is_joined and requirement.version[:1] in "<>=!~;" and requirement.version
        else f"{code(name)} {code(requirement.version)}"
        if requirement.version
        else code(name)
        if _GIVEN_BY_CODE.search(manifest.lines[requirement.line - 1].partition(requirement.name)[2][:_MAX_REST])
        else f"{code(name)} without a version"
    )
    group = f" ({requirement.group})" if requirement.group else ""
    many_repositories = len(work.inquiry.pins) > 1
    repository_text = f" of {code(manifest.target.repository.name)}" if many_repositories else ""
    line = texts.evidence(manifest.target, path, requirement.line, requirement.line, "read", 1.0)
    return Statement(f"{code(path)}{repository_text} lists {version}{group}", (line,))
