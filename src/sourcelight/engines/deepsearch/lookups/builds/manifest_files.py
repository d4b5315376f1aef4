"""Find the manifests of the searched repositories, choose those of one package, and state a line of one.

`list_manifests` has all of them in the order of their importance: most look-ups of this room begin with it. A word of a
question may then name a package, a directory or the repository (`select_manifests`, `manifests_of_word`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sourcelight.core.markup import code
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import FileEvidence, Statement, join_evidence
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import PathRank, rank_of
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
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

_FILES_OF_TOOLS: Mapping[str, str | tuple[str, ...]] = {
    "podspec": ".podspec", "gemspec": ".gemspec", "rockspec": ".rockspec", "bazel": "MODULE.bazel",
    "cmake": "CMakeLists.txt", "meson": "meson.build", "conan": ("conanfile.txt", "conanfile.py"),
    "vcpkg": "vcpkg.json", "npm": "package.json", "composer": "composer.json", "maven": "pom.xml",
    "bower": "bower.json", "nimble": ".nimble", "opam": ".opam", "cabal": ".cabal",
}  # fmt: skip
"""Ends of the names of manifests by what people call these, or the tool that reads them."""
_MAX_MANIFESTS = 200
"""Manifests that are read: a monorepo has hundreds, and each is parsed."""
_MAX_VERSION_CHARACTERS = 300
"""Characters behind the name of a package in which its version is looked for."""
_YES_OR_NO = re.compile(r"\W*(?:does|do|is|are)\b", re.IGNORECASE)
_GIVEN_BY_CODE = re.compile(r"[,%:]\s*[A-Za-z_@][\w.]*(?:\([\w., ]*\))?\s*(?:[,})\]]|$)|\$[\w{(]")
"""A variable or a function that gives a version: the package has one, although the line doesn't say which."""
_TEST_DIRECTORY = re.compile(
    r"(?:^|/)(?:[\w.-]*(?:tests?|templates?|e2e|bench(?:es|marks?)?)|docs?|documentation|website|playground)/",
    re.IGNORECASE,
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
    def rank(self) -> PathRank:
        """Its rank; manifests of tests, examples and templates are beside those of the project."""
        return _rank_of_manifest(self.path)

    @property
    def directory(self) -> str:
        """Its directory; empty at the top."""
        return self.path.rpartition("/")[0]

    def is_of(self, owner: str) -> bool:
        """Return whether a word names it: its package, its directory, or the file itself."""
        word = normalize(owner.strip("/"))
        base = self.path.rpartition("/")[2]
        names = {self.name, self.name.rpartition("/")[2], self.directory.rpartition("/")[2], self.directory, base}
        if owner in _FILES_OF_TOOLS:
            return base.endswith(_FILES_OF_TOOLS[owner]) or word == normalize(self.directory.rpartition("/")[2])
        return word in {normalize(name) for name in names if name} or normalize(self.path) == word


@dataclass(frozen=True, slots=True)
class ManifestList:
    """Manifests, the most important one of each repository first, and the searches that find them."""

    manifests: list[Manifest]
    query: str

    @property
    def of_project(self) -> list[Manifest]:
        """Those of the project itself, rather than of its tests and examples."""
        return [manifest for manifest in self.manifests if manifest.rank.is_of_project]


def list_manifests(work: Work, further_files: str = "", *, own_first: bool = False) -> ManifestList:
    """List the manifests of each repository: those at the top first, lists of requirements behind other manifests.

    Parameters
    ----------
    further_files
        An expression for names of further files; empty for none.
    own_first
        Put the package that is named like its repository before others, unless a manifest at the top has that name, or
        names a package while no manifest below has that name.
    """
    pattern = f"{MANIFESTS}|{further_files}" if further_files else MANIFESTS
    queries = make_queries(work, f"type:path file:{quote_value(pattern)}")
    rows = [row for row in run_searches(work, queries) if row["path"]]
    rows.sort(key=lambda row: (row["repository"], _place_in_order(row["path"])))
    if len(rows) > _MAX_MANIFESTS:
        work.notes.append(f"Only the first {_MAX_MANIFESTS} of {len(rows):,} manifests were read.")
    manifests = [
        Manifest(target, row["path"], work.texts.lines(target, row["path"]))
        for row in rows[:_MAX_MANIFESTS]
        if (target := work.inquiry.pins.of(row["repository"])) is not None
    ]
    return ManifestList(_own_first(work, manifests) if own_first else manifests, join_queries(queries))


def cite_lines(texts: FileTexts, target: Target, path: str, lines: Iterable[int]) -> tuple[FileEvidence, ...]:
    """Cite lines of a manifest or a lock file; consecutive ones together."""
    return join_evidence([texts.read_line(target, path, line) for line in lines])


def asks_yes_or_no(question: str) -> bool:
    """Return whether "Yes" or "No" may begin the answer to a question about packages."""
    return _YES_OR_NO.match(question) is not None


def _place_in_order(path: str) -> tuple[Any, ...]:
    """Return the key by which the manifests of a repository are ordered: the most important one first."""
    is_of_project = _rank_of_manifest(path).is_of_project
    return not is_of_project, path.count("/"), requirements_rank(path), _negated_version(path), path


def _rank_of_manifest(path: str) -> PathRank:
    return max(rank_of(path), PathRank.BESIDE) if _TEST_DIRECTORY.search(path) is not None else rank_of(path)


def _negated_version(path: str) -> list[int]:
    """Return what puts the newest rockspec of a project first: their names end with versions."""
    if not path.endswith(".rockspec"):
        return []
    return [-int(number) for number in re.findall(r"\d{1,9}", path)]


def unread_manifests(work: Work) -> list[dict[str, Any]]:
    """Return the rows of manifests in formats that are read in part or not at all, which may list anything."""
    return run_searches(work, make_queries(work, f"type:path file:{quote_value(OTHER_MANIFESTS)}"))


def select_manifests(work: Work, manifests: list[Manifest], owner: str) -> list[Manifest] | None:
    """Return the manifests that a word of a question names; None if it names none.

    The name of the repository selects all of them, and so does an empty word.
    """
    if not owner:
        return manifests
    selected = [manifest for manifest in manifests if manifest.is_of(owner)]
    if selected:
        return selected
    return manifests if is_repository(work, owner) or is_called(work, owner) else None


def manifests_of_word(work: Work, manifests: list[Manifest], word: str) -> list[Manifest]:
    """Return the manifests that a word of a question names, or whose only directory it ends: `client` of `mill-client`.

    All of them for an empty word, and none for a word that names none or several.
    """
    selected = select_manifests(work, manifests, word)
    if selected is not None:
        return selected

    ending = f"-{normalize(word)}"
    matches = [
        manifest
        for manifest in manifests
        if manifest.rank.is_of_project
        and any(
            normalize(name).endswith(ending)
            for name in (manifest.name.rpartition("/")[2], manifest.directory.rpartition("/")[2])
        )
    ]
    return matches if len({manifest.directory for manifest in matches}) == 1 else []


def is_called(work: Work, word: str) -> bool:
    """Return whether a word is the beginning of the only searched repository's name: "Mill" of ``mill-runtime``."""
    names = work.inquiry.pins.short_names
    return len(names) == 1 and any(normalize(name).startswith(f"{normalize(word)}-") for name in names)


def is_repository(work: Work, word: str) -> bool:
    """Return whether a word is the last part of the name of a searched repository."""
    names = {normalize(name) for name in work.inquiry.pins.short_names}
    return normalize(word.rpartition("/")[2]) in names


def is_own(work: Work, manifest: Manifest) -> bool:
    """Return whether a manifest or its directory is named like the repository."""
    return is_repository(work, manifest.name) or is_repository(work, manifest.directory.rpartition("/")[2])


def _own_first(work: Work, manifests: list[Manifest]) -> list[Manifest]:
    tops = [manifest for manifest in manifests if not manifest.directory]
    has_member = any(is_repository(work, manifest.name) for manifest in manifests if manifest.directory)
    if any(manifest.name and (not has_member or is_repository(work, manifest.name)) for manifest in tops):
        return manifests
    return sorted(manifests, key=lambda manifest: (not manifest.rank.is_of_project, not is_own(work, manifest)))


def state_requirement(work: Work, manifest: Manifest, requirement: Requirement) -> Statement:
    """State what one line of a manifest lists: the package as its registry writes it, its version and its list."""
    path = manifest.path
    condition = f"under the condition {code(requirement.condition)}" if requirement.condition else ""
    parts = ", ".join(part for part in (requirement.group, condition) if part)
    group = f" ({parts})" if parts else ""
    many_repositories = len(work.inquiry.pins) > 1
    repository_text = f" of {code(manifest.target.repository.name)}" if many_repositories else ""
    text = f"{code(path)}{repository_text} lists {_version_text(manifest, requirement)}{group}"
    numbers = [requirement.line, *([requirement.version_line] if requirement.version_line else [])]
    lines = [work.texts.read_line(manifest.target, path, number) for number in numbers]
    return Statement(text, tuple(lines))


def _version_text(manifest: Manifest, requirement: Requirement) -> str:
    """Write a package with its version, as its registry does."""
    path, version = manifest.path, requirement.version
    name = requirement.name
    if path.endswith((".xml", ".gradle", ".kts", ".versions.toml")):
        # Of group and artifact, people know the artifact.
        name = name.rpartition(":")[2]

    if not version:
        line = manifest.lines[requirement.line - 1]
        artifact = requirement.name if requirement.name in line else requirement.name.rpartition(":")[2]
        behind_name = line.partition(artifact)[2][:_MAX_VERSION_CHARACTERS]
        is_given = _GIVEN_BY_CODE.search(behind_name) is not None
        return code(name) if is_given else f"{code(name)} without a version"

    # In Python, a range follows the name without a space.
    is_of_python = path.endswith(("pyproject.toml", ".txt", ".cfg", ".py", ".in"))
    if is_of_python and not path.endswith("CMakeLists.txt") and version[0] in "<>=!~;":
        return code(f"{name}{version}")
    return f"{code(name)} {code(version)}"
