"""Terms in the paths of a revision, and the kind of each file (code, test, docs, …) by its path.

A kind is decided by patterns for directories and for names. Directories repeat, so their patterns are tried once for
each. Words of paths are collected in the same pass, by term, so that a question looks each of its terms up once for all
files.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import Int64Array, UInt8Array
from sourcelight.engines.search.ranking.terms.tokenizer import is_joined_form, terms_of
from sourcelight.engines.search.scan.opened_commit import OpenedCommit

KINDS = ("code", "test", "docs", "config", "vendored", "changelog", "aside")
"""Kinds of files; ``aside`` is code beside the product (examples, scripts, benchmarks), reported as ``code``."""

_CODE, _TEST, _DOCS, _CONFIG, _VENDORED, _CHANGELOG, _ASIDE = range(len(KINDS))

BASENAME = 1.0
"""Weight of a word in a file's name."""

DIRECTORY = 0.5
"""Weight of a word in the name of a directory above it."""

# Directories, by a name anywhere in the path.
_TEST_FOLDER = re.compile(
    r"(?:^|/)(?:tests?|testing|testdata|__tests__|specs?|fixtures|e2e|test-?suite|x?t|features/(?:steps|support|step_\w+)"
    r"|(?:unit|integration|functional|acceptance)[_-]?tests?)(?:/|$)",
    re.IGNORECASE,
)
"""Directories of tests: `tests`, `src/testdata`, `web/__tests__`, `t` of Perl, `features/steps` of Cucumber."""

_TEST_PROJECT = re.compile(r"(?:[._-][Tt]ests|\.(?:Test|Specs?)|[a-z](?:Tests?|Specs))(?:/|$)")
"""Directories of tests by the end of their name: `Tank.Tests`, `tank-tests`, `commonTest`. A library that helps to
test, such as `tank-test`, isn't one."""

_MAIN_FOLDER = re.compile(r"(?:^|/)src/\w*[mM]ain/")
"""Directories of a product's sources: `src/main/java`. A package ``test`` in them belongs to a test framework."""

_VENDORED_FOLDER = re.compile(
    r"(?:^|/)(?:vendor|vendored|_vendor|node_modules|third[_-]?party|deps|external|dist)(?:/|$)"
)
"""Directories of code from elsewhere: `vendor/zlib`, `third_party`."""

_CHANGELOG_FOLDER = re.compile(r"(?:^|/)(?:changelogs?|changelog\.d|release[_-]?notes|changes)(?:/|$)", re.IGNORECASE)
"""Directories of changes: `changelog.d`, `docs/release_notes`."""

_DOCS_FOLDER = re.compile(r"(?:^|/)(?:docs?|documentation|man|website|site)(?:/|$)", re.IGNORECASE)
"""Directories of documents: `docs/guide`, `website`."""

_ASIDE_FOLDER = re.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|scripts?|benchmarks?|benches|\.github|\.circleci|hack|ci)(?:/|$)",
    re.IGNORECASE,
)
"""Directories beside the product: `examples/tank`, `.github/workflows`."""

# Files, by their name.
_TEST_NAME = re.compile(
    r"^tests?[_.-]|^conftest\.|[_.-](?:tests?|spec)\.\w+$|(?:Test|Tests|Spec|IT)\.(?:java|kt|scala|cs|groovy)$"
    r"|[a-z\d](?:Test|Tests|Spec)\.(?:swift|php|hs|fs|vb|mm?)$|_SUITE\.erl$|\.(?:t|bats|phpt|vader|rakutest|feature)$"
)
"""Files of tests: `test_tank.py`, `conftest.py`, `tank_test.go`, `tank.spec.ts`, `TankTest.java`, `tank.t`."""

_GENERATED_NAME = re.compile(
    r"\.pb\.(?:go|cc|h)$|_pb2(?:_grpc)?\.pyi?$|\.min\.(?:js|css)$|\.map$|[._]generated\.|zz_generated|[._-]gen\.go$|"
    r"^(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|go\.sum|Cargo\.lock|poetry\.lock|uv\.lock)$"
)
"""Files that a program wrote: `tank.pb.go`, `tank_pb2.py`, `tank.min.js`, `yarn.lock`."""

_INTERFACE_NAME = re.compile(r"\.d\.[cm]?ts$|\.pyi$|\.g\.cs$|\.designer\.cs$", re.IGNORECASE)
"""Files with types alone, or of a designer of forms: `tank.d.ts`, `tank.pyi`, `Form.Designer.cs`."""

_CHANGELOG_NAME = re.compile(
    r"^(?:change(?:s|log)|history|news|releases?|release[_-]notes|\d+-?release-?notes)(?:\.(?:md|rst|txt|adoc|html?))?$",
    re.IGNORECASE,
)
"""Lists of changes: `CHANGELOG.md`, `NEWS`, `HISTORY.rst`."""

_DOCS_NAME = re.compile(
    r"\.(?:md|mdx|rst|txt|adoc|asciidoc|html?|tex|texi|pod|\d)$|"
    r"^(?:readme|authors|contributing|license|copying|notice|todo)\b",
    re.IGNORECASE,
)
"""Documents: `guide.rst`, `tank.1`, `README`."""

_CONFIG_NAME = re.compile(
    r"\.(?:json|json5|ya?ml|toml|ini|cfg|conf|properties|xml|lock|mod|sum|csv|tsv|env|gradle|cmake|in|am|ac|m4|mk|svg|"
    r"patch|diff|nix|bazel|bzl|editorconfig|css|scss|less|sql|proto\.lock|log|out|golden|snap)$|"
    r"^(?:\.[\w.-]+|makefile|dockerfile[\w.-]*|cmakelists\.txt|jenkinsfile|requirements[\w.-]*\.txt|codeowners|"
    r"[a-z]{3,}rc)$",
    re.IGNORECASE,
)  # fmt: skip
"""Configuration and data: `pyproject.toml`, `.gitignore`, `Makefile`, `requirements-dev.txt`, `pylintrc`."""


class _FolderKinds(NamedTuple):
    """The kinds that a directory gives its files; which one counts depends on their names, too."""

    vendored: bool
    changelog: bool
    test: bool
    docs: bool
    aside: bool


_INDEX_STEMS = frozenset({"index", "mod", "__init__", "init", "lib", "main"})
"""Names without a meaning: the directory's name is used instead."""

MIN_PREFIX = 4
"""Letters from which one stem counts as a form of another that it begins."""

_WORD = re.compile(r"\w+")


class TermFiles(NamedTuple):
    """The files with a term in their path, ascending, and its weight in the path of each."""

    files: NDArray[np.int32]
    weights: NDArray[np.float32]


def kind_of(path: str) -> str:
    """Return the kind of file that a path names: one of `KINDS` but ``aside``."""
    folder, _, name = path.rpartition("/")
    return reported_kind(_kind(_folder_kinds(folder), name))


def reported_kind(code: int) -> str:
    """Return the displayed name for an index into `KINDS`."""
    return "code" if KINDS[code] == "aside" else KINDS[code]


def _folder_kinds(folder: str) -> _FolderKinds:
    # See `_MAIN_FOLDER`.
    before_main = _MAIN_FOLDER.split(folder, maxsplit=1)[0]
    return _FolderKinds(
        vendored=bool(_VENDORED_FOLDER.search(folder)),
        changelog=bool(_CHANGELOG_FOLDER.search(folder)),
        test=_holds_tests(before_main),
        docs=bool(_DOCS_FOLDER.search(folder)),
        aside=bool(_ASIDE_FOLDER.search(folder)),
    )


def _holds_tests(folder: str) -> bool:
    return bool(_TEST_FOLDER.search(folder) or _TEST_PROJECT.search(folder))


def _kind(folder: _FolderKinds, name: str) -> int:
    """Return the index in `KINDS` of a file's kind, by its directory and its name."""
    # The order decides: vendored tests are vendored, and a test's configuration belongs to the test.
    if folder.vendored or _GENERATED_NAME.search(name):
        return _VENDORED
    if _CHANGELOG_NAME.search(name) or (folder.changelog and _DOCS_NAME.search(name)):
        return _CHANGELOG
    if folder.test or _TEST_NAME.search(name):
        return _TEST
    if _CONFIG_NAME.search(name):
        return _CONFIG
    if folder.docs or _DOCS_NAME.search(name):
        return _DOCS

    return _ASIDE if folder.aside or _INTERFACE_NAME.search(name) else _CODE


@dataclass(frozen=True)
class PathWords:
    """Words of the paths of a view.

    Attributes
    ----------
    kind
        For each file, an index in `KINDS`.
    terms
        The files of each term of a path.
    name_terms
        For each term of a file's name without its extension, the files that have it, ascending.
    name_sizes
        Number of such terms of each file.
    name_hashes, stems
        Hash of each file's name, and of the part before its first dot.
    """

    kind: UInt8Array
    terms: Mapping[str, TermFiles]
    name_terms: Mapping[str, NDArray[np.int32]]
    name_sizes: Int64Array
    name_hashes: Int64Array
    stems: Int64Array

    @cached_property
    def _sorted_terms(self) -> Sequence[str]:
        return sorted(self.name_terms)

    def names_like(self, term: str) -> Sequence[str]:
        """Return the names that begin with a term, or that the term begins with; none for a short term."""
        if len(term) < MIN_PREFIX:
            return [term] if term in self.name_terms else []

        # The greatest code point: all terms that begin with `term` sort between the two.
        start = bisect_left(self._sorted_terms, term)
        end = bisect_left(self._sorted_terms, f"{term}\U0010ffff")
        longer = self._sorted_terms[start:end]
        prefixes = [term[:size] for size in range(MIN_PREFIX, len(term))]
        return [*longer, *(prefix for prefix in prefixes if prefix in self.name_terms)]

    def files_named(self, name: str) -> Sequence[int]:
        """Return the files that may have a name: all that do, and seldom another."""
        # An array of hashes takes 8 bytes a file, a dictionary of names about a hundred. Python's hashes of text differ
        # between processes, so they are never stored.
        files: list[int] = (self.name_hashes == hash(name)).nonzero()[0].tolist()
        return files

    def with_stem(self, stem: str) -> Sequence[int]:
        """Return the files whose name up to its first dot may be `stem`: all that have it, and seldom another."""
        files: list[int] = (self.stems == hash(stem)).nonzero()[0].tolist()
        return files


def path_words(snapshot: OpenedCommit) -> PathWords:
    """Read the paths of a snapshot, once."""
    return snapshot.remember("ranking paths", lambda: _read_paths(snapshot))


def _read_paths(snapshot: OpenedCommit) -> PathWords:
    reader = _PathReader(snapshot.view.files)
    for file, path in enumerate(snapshot.view.path_texts()):
        folder, _, name = path.rpartition("/")
        reader.add(file, folder, name)
    return reader.words()


class _PathReader:
    """Collects the words of paths, file by file."""

    def __init__(self, files: int) -> None:
        self._kind = np.zeros(files, dtype=np.uint8)
        self._name_hashes = np.zeros(files, dtype=np.int64)
        self._stem_hashes = np.zeros(files, dtype=np.int64)
        self._name_sizes = np.zeros(files, dtype=np.int64)

        # Files of a directory, of a term of names, and of a term of names without their extension.
        self._folder_files: defaultdict[str, list[int]] = defaultdict(list)
        self._name_files: defaultdict[str, list[int]] = defaultdict(list)
        self._stem_files: defaultdict[str, list[int]] = defaultdict(list)

        # Names repeat, and so do directories: each is read once.
        self._folder_kinds: dict[str, _FolderKinds] = {}
        self._terms_of_names: dict[str, tuple[str, ...]] = {}

    def add(self, file: int, folder: str, name: str) -> None:
        """Add a file, the next one in the order of their numbers."""
        stem = name.partition(".")[0]
        self._kind[file] = _kind(self._kinds_of(folder), name)
        self._name_hashes[file] = hash(name)
        self._stem_hashes[file] = hash(stem)
        self._folder_files[folder].append(file)
        for term in self._terms(name):
            self._name_files[term].append(file)

        has_meaning = stem not in _INDEX_STEMS or not folder
        self._add_stem(file, stem if has_meaning else folder.rpartition("/")[2])

    def _add_stem(self, file: int, stem: str) -> None:
        """Add the terms of a file's name without its extension, or of what replaces it."""
        # Joined forms are whole names, which would count every name twice.
        terms = [term for term in self._terms(stem) if not is_joined_form(term)]
        self._name_sizes[file] = len(terms)
        for term in terms:
            self._stem_files[term].append(file)

    def _kinds_of(self, folder: str) -> _FolderKinds:
        """Return the kinds of a directory: its patterns are tried once, not for each of its files."""
        kinds = self._folder_kinds.get(folder)
        if kinds is None:
            kinds = self._folder_kinds[folder] = _folder_kinds(folder)
        return kinds

    def words(self) -> PathWords:
        """Return the words of all files."""
        files_below = self._files_below()
        terms = {}
        for term in self._name_files.keys() | files_below:
            terms[term] = _weigh_files(self._name_files.get(term, ()), files_below.get(term, ()))

        return PathWords(
            kind=self._kind,
            terms=terms,
            name_terms={term: np.array(files, dtype=np.int32) for term, files in self._stem_files.items()},
            name_sizes=self._name_sizes,
            name_hashes=self._name_hashes,
            stems=self._stem_hashes,
        )

    def _files_below(self) -> Mapping[str, Sequence[NDArray[np.int32]]]:
        """Return the files of the directories that have a term in their path, by term."""
        files_below: defaultdict[str, list[NDArray[np.int32]]] = defaultdict(list)
        for folder, files in self._folder_files.items():
            # A directory name may repeat a term (`tests/tests`); it counts once.
            terms: dict[str, None] = {}
            for name in folder.split("/"):
                terms |= dict.fromkeys(self._terms(name))

            # Shared by all terms of the directory.
            file_array = np.array(files, dtype=np.int32)
            for term in terms:
                files_below[term].append(file_array)

        return files_below

    def _terms(self, name: str) -> tuple[str, ...]:
        distinct_terms = self._terms_of_names.get(name)
        if distinct_terms is None:
            terms: dict[str, None] = {}
            for word in _WORD.findall(name):
                terms |= dict.fromkeys(terms_of(word))
            distinct_terms = self._terms_of_names[name] = tuple(terms)
        return distinct_terms


def _weigh_files(named_files: Sequence[int], files_below: Sequence[NDArray[np.int32]]) -> TermFiles:
    """Return the files with a term in their name or in a directory above."""
    names = np.array(named_files, dtype=np.int32)
    if not files_below:
        return TermFiles(names, np.full(len(names), BASENAME, dtype=np.float32))

    files = np.concatenate([names, *files_below])
    weights = np.full(len(files), DIRECTORY, dtype=np.float32)
    weights[: len(names)] = BASENAME

    # Stable, so sums of equal files are added in the same order each time; floats depend on it.
    order = files.argsort(kind="stable")
    files, weights = files[order], weights[order]
    starts = np.append(True, files[1:] != files[:-1]).nonzero()[0]
    return TermFiles(files[starts], np.add.reduceat(weights, starts))
