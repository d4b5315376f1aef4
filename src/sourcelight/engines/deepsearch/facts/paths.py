"""Look up paths of the searched commits by their names in a question, and rank them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property

from sourcelight.core.batches import CommitId
from sourcelight.core.errors import RepositoryError, SourcelightError
from sourcelight.core.markup import code
from sourcelight.core.query.file_kinds import TEST_FILES, is_test
from sourcelight.core.query.languages import path_regex
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.question.request import FactRequest, PathScope, past_scope
from sourcelight.engines.deepsearch.requests import ResearchRequest
from sourcelight.engines.execution.natural_language import kind_of
from sourcelight.engines.tools import call
from sourcelight.engines.tools.history import histories
from sourcelight.repos import is_revision, resolve

_VERSION = re.compile(r"v?\d{1,9}(?:\.\d{1,9}){0,4}(?:[-.+]?[A-Za-z]\w{0,20})?")
_GO_TESTS = r"_test\.go$"


class PathRank(IntEnum):
    """The rank of a file among those of its project: of several files, the one with the least rank comes first."""

    CODE = 0
    TOOLS = 1
    """Configuration, and programs for work on the project."""
    BESIDE = 2
    """Tests, examples and documents."""
    FOREIGN = 3
    """Vendored and generated files."""

    @property
    def is_code(self) -> bool:
        """Whether the file is part of what the project ships."""
        return self is PathRank.CODE

    @property
    def is_of_project(self) -> bool:
        """Whether the file is code, configuration or a tool of the project."""
        return self <= PathRank.TOOLS


_RANKS = {"code": PathRank.CODE, "config": PathRank.TOOLS} | dict.fromkeys(("vendored", "generated"), PathRank.FOREIGN)


def rank_of(path: str) -> PathRank:
    """Return the rank of a file by its path alone."""
    if is_test(path):
        return PathRank.BESIDE
    # Steps of Cucumber are tests whose directory says so in two words.
    if re.search(
        r"(?i)(^|/)_?(examples?|samples?|snippets|bench(?:es|marks?)?|fuzz|fixtures?|features/(?:steps|step_def\w+)"
        r"|release-?notes|changelogs?|changelog\.d|newsfragments)/|\.(?:benchmarks?|samples?|examples?)/",
        path,
    ):
        return PathRank.BESIDE
    if re.match(r"(?:utils?|scripts?|tools?|contrib|hack|ci|\.github)/", path):
        return PathRank.TOOLS
    return _RANKS.get(kind_of(path), PathRank.BESIDE)


def test_files(request: FactRequest) -> str:
    """Return the pattern of test files: in Go only the name decides, and test data doesn't count."""
    return _GO_TESTS if request.languages == ("Go",) else TEST_FILES


def is_named(repository: str, text: str) -> bool:
    """Return whether a text is the name of a repository, or the end of one."""
    return repository == text or repository.endswith(f"/{text}")


def is_file_of(path: str, name: str) -> bool:
    """Return whether a file is called as a class or module, apart from its ending, capitals and underscores."""
    simple = re.split(r"\.|::|#|->", name)[-1]
    stem = path.rpartition("/")[2].partition(".")[0]
    is_name = re.fullmatch(r"[A-Z]\w+", simple) is not None
    return is_name and stem.replace("_", "").casefold() == simple.replace("_", "").casefold()


def describe_missing_paths(texts: Sequence[str]) -> str:
    """Return a clause, without a full stop, that no commit of the searched repositories has some paths."""
    names = " and ".join(code(text) for text in texts)
    return f"{names} {'were never paths' if len(texts) > 1 else 'was never a path'} in the searched repositories"


def is_of_files(request: FactRequest, path: str) -> bool:
    """Return whether the paths, languages and tests that a request names let a path count."""
    if request.paths and not any(re.search(scope.pattern, path) for scope in request.paths):
        return False
    if any(re.search(scope.pattern, path) for scope in request.without):
        return False
    if request.languages and not any(re.search(path_regex(name), path) for name in request.languages):
        return False
    return request.tests is None or bool(re.search(test_files(request), path, re.IGNORECASE)) is request.tests


_WITH_ENDING = re.compile(r"\w\.[A-Za-z]\w{0,9}$")


@dataclass
class PathNames:
    """Implements `Places` over the pins of an inquiry."""

    inquiry: ResearchRequest
    notes: list[str] = field(default_factory=list)

    @cached_property
    def paths(self) -> dict[tuple[str, CommitId], list[str]]:
        """The files of each repository at each commit; repositories that can't be read are left out."""
        engine = self.inquiry.context.local
        missing = [target for target in self.inquiry.pins.targets if not engine.store.is_current(target)]
        if missing:
            engine.store.update(missing, cancellation=self.inquiry.context.cancellation)

        by_commit = {}
        for target in self.inquiry.pins.targets:
            self.inquiry.context.cancellation.check()
            try:
                view = engine.store.open(target)[0].view
            except (SourcelightError, OSError) as exc:
                self.notes.append(f"{target.repository.name}: {exc}")
                continue

            raw = bytes(view.path_text)
            by_commit[target.repository.name, target.commit] = (
                raw.decode(errors="replace").strip("\n").split("\n") if view.files else []
            )

        return by_commit

    @cached_property
    def _files(self) -> dict[str, list[str]]:
        """The repositories that have each file."""
        by_path: dict[str, list[str]] = {}
        for (repository, _), paths in self.paths.items():
            for path in paths:
                by_path.setdefault(path, []).append(repository)
        return by_path

    @cached_property
    def folders(self) -> dict[str, set[str]]:
        """The repositories that have each directory; these are without a slash at the end."""
        by_folder: dict[str, set[str]] = {}
        for path, repositories in self._files.items():
            folder = path.rpartition("/")[0]
            while folder:
                having = by_folder.setdefault(folder, set())
                # The directories above have them, too: without this, each file would walk up to the top.
                if having.issuperset(repositories):
                    break
                having.update(repositories)
                folder = folder.rpartition("/")[0]

        return by_folder

    def find(self, text: str) -> PathScope | None:
        """Return the file or directory of a path, or all whose paths end with it."""
        if text.startswith("*.") and "*" not in text[1:]:
            ending = text[1:]
            having = [
                name for path_of_file, names in self._files.items() if path_of_file.endswith(ending) for name in names
            ]
            return self._scope(text, f"{escape_regexp(ending)}$", text, having, is_file=True) if having else None

        path = text.strip("/")
        if not path:
            return None
        if "*" in path:
            return self._find_matching(text, path)

        scope = self._find_from_top(text, path) or self._find_ending(text, path) or self._find_below(text, path)
        return scope or self._find_alike(text, path)

    def _find_alike(self, text: str, path: str) -> PathScope | None:
        """Return the only file whose path differs in its case alone, or is a document of the top: README for a name."""
        lowered = path.casefold()
        if _WITH_ENDING.search(path) is not None:
            alike = [other for other in self._files if f"/{other.casefold()}".endswith(f"/{lowered}")]
        else:
            is_document = path.isupper() and path.isalpha() and len(path) > 3
            alike = [other for other in self._files if is_document and other.partition(".")[0] == path]
        return self._find_from_top(text, alike[0]) if len(alike) == 1 else None

    def _find_matching(self, text: str, path: str) -> PathScope | None:
        """Return the files that a glob means: from the top if it has a slash, else in any directory."""
        parts = re.split(r"(\*\*/|\*+)", path)
        body = "".join(
            "(.*/)?" if part == "**/" else "[^/]*" if part.startswith("*") else escape_regexp(part) for part in parts
        )
        pattern, glob = (f"^{body}$", path) if "/" in path else (f"(^|/){body}$", f"**/{path}")
        matches = re.compile(pattern).search
        having = [name for candidate, names in self._files.items() if matches(candidate) for name in names]
        return self._scope(text, pattern, glob, having, is_file=True) if having else None

    def _find_from_top(self, text: str, path: str) -> PathScope | None:
        escaped = escape_regexp(path)
        if path in self._files and not text.endswith("/"):
            return self._scope(text, f"^{escaped}$", path, self._files[path], is_file=True)
        if path in self.folders:
            return self._scope(text, f"^{escaped}/", f"{path}/", self.folders[path], is_file=False)
        return None

    def _find_ending(self, text: str, path: str) -> PathScope | None:
        escaped, ending = escape_regexp(path), f"/{path}"
        if not text.endswith("/"):
            having = [name for candidate, names in self._files.items() if candidate.endswith(ending) for name in names]
            if having:
                return self._scope(text, f"(^|/){escaped}$", f"**/{path}", having, is_file=True)
        having = [name for candidate, names in self.folders.items() if candidate.endswith(ending) for name in names]
        return self._scope(text, f"(^|/){escaped}/", f"**/{path}/", having, is_file=False) if having else None

    def _find_below(self, text: str, path: str) -> PathScope | None:
        """Return the files of a path that begins with the name of its repository: ``hub/api/a.go``."""
        for path_below, repositories in self._below_repositories(path).items():
            files = (
                [] if text.endswith("/") else [name for name in self._files.get(path_below, ()) if name in repositories]
            )
            having = files or [name for name in self.folders.get(path_below, ()) if name in repositories]
            if having:
                pattern = f"^{escape_regexp(path_below)}{'$' if files else '/'}"
                scope = self._scope(
                    text, pattern, path_below if files else f"{path_below}/", having, is_file=bool(files)
                )
                return replace(scope, is_of_repository=True)

        return None

    def _scope(self, text: str, pattern: str, glob: str, repositories: Iterable[str], *, is_file: bool) -> PathScope:
        return PathScope(text, pattern, glob, is_file, repositories=tuple(sorted(set(repositories))))

    def is_folder(self, text: str) -> bool:
        """Return whether a directory has this path or name."""
        path = text.strip("/")
        return bool(path) and (path in self.folders or any(folder.endswith(f"/{path}") for folder in self.folders))

    def folders_called(self, names: frozenset[str]) -> tuple[str, ...]:
        """Return the directories with one of some names, in lower case and without signs."""
        return tuple(
            sorted(
                folder for folder in self.folders if re.sub(r"[-_.]", "", folder.rpartition("/")[2].lower()) in names
            )
        )

    def has_folder(self, scope: PathScope) -> bool:
        """Return whether a directory has the path of a scope, whose directories may have others between them."""
        # Names are compared from left to right, since a pattern may read a long path again from each of its parts.
        top, *names = scope.glob.split("**/")
        for folder in self.folders:
            path, position = f"/{folder}/", len(top)
            if not path.startswith(f"/{top}"):
                continue
            for name in names:
                start = path.find(f"/{name}", position)
                if start < 0:
                    break
                position = start + len(name)
            else:
                return True

        return False

    def find_named(self, name: str) -> PathScope | None:
        """Return the only file of code that is called as a name, such as a class, apart from its ending."""
        start = f"{name}."
        bases = ((path, path.rpartition("/")[2]) for path in self._files)
        paths = [path for path, base in bases if base.startswith(start) and "." not in base[len(start) :]]
        paths = [path for path in paths if kind_of(path) in {"code", "test"}]
        return self.find(paths[0]) if len(paths) == 1 else None

    def find_past(self, text: str) -> PathScope | None:
        """Return the changed files or directories in history that a path means."""
        path = text.strip("/").removeprefix("./")
        if not path:
            return None

        folder = "/" if text.endswith("/") else ""
        having = self._having_had(path)
        if having:
            return past_scope(text, path + folder, having, was_there=True)

        for path_below, repositories in self._below_repositories(path).items():
            having = tuple(name for name in self._having_had(path_below) if name in repositories)
            if having:
                return replace(past_scope(text, path_below + folder, having, was_there=True), is_of_repository=True)

        return self._find_past_ending(text, path)

    def _find_past_ending(self, text: str, path: str) -> PathScope | None:
        """Return the former files whose paths end with a path; None if the searched commit has such a file."""
        if text.endswith("/") or self._find_ending(text, path) is not None:
            return None

        ending = f"/{path}".encode()
        former = [(name, past) for name, paths in self._past.items() for past in paths if past.endswith(ending)]
        if not former and "/" in path:
            # People leave out a sign before the name of a directory: `pip_api/version.py` is in `_pip_api`.
            endings = tuple(f"{sign}{path}".encode() for sign in "_.-")
            former = [(name, past) for name, paths in self._past.items() for past in paths if past.endswith(endings)]
            former = former if len({past for _, past in former}) == 1 else []
        having = tuple(sorted({name for name, _ in former}))
        distinct = {past for _, past in former}
        if len(distinct) == 1:
            return past_scope(text, distinct.pop().decode(errors="replace"), having, was_there=True)

        # A pattern for several files: only their common name is certain.
        pattern = f"(^|/){escape_regexp(path)}$"
        scope = PathScope(text, pattern, f"**/{path}", True, False, having, was_there=True)
        return scope if former else None

    def _having_had(self, path: str) -> tuple[str, ...]:
        """Return the repositories in which a commit has changed this path, or a file below it."""
        raw = path.encode()
        return tuple(
            name
            for name, paths in self._past.items()
            if raw in paths or any(past_path.startswith(raw + b"/") for past_path in paths)
        )

    def _below_repositories(self, path: str) -> dict[str, list[str]]:
        """Read the beginning of a path as the name of a repository, or the end of one: what is left, and which."""
        by_path: dict[str, list[str]] = {}
        for name in sorted({pin.repository for pin in self.inquiry.pins}):
            parts = name.split("/")
            for start in range(len(parts)):
                ending = "/".join(parts[start:]) + "/"
                # Names of repositories ignore case, as code hosts do.
                if path.casefold().startswith(ending.casefold()) and len(path) > len(ending):
                    by_path.setdefault(path[len(ending) :], []).append(name)

        return by_path

    @cached_property
    def _past(self) -> dict[str, set[bytes]]:
        """All paths of the histories; a history that can't be opened has none here, and its own note elsewhere."""
        context = replace(self.inquiry.context, served=False)
        names = sorted({pin.repository for pin in self.inquiry.pins})
        try:
            opened_histories = histories.open_histories("commit_search", context, names).selections if names else []
        except SourcelightError:
            context.cancellation.check()
            return {}

        return {opened_history.name: set(opened_history.history.paths) for opened_history in opened_histories}

    def former_files(self) -> set[str]:
        """Return all paths that commits of the searched repositories changed and the searched commits don't have."""
        return {path.decode(errors="replace") for past in self._past.values() for path in past} - self._files.keys()

    def is_one_repository(self) -> bool:
        """Return whether a single repository is searched, so that "the repository" means it."""
        return len({pin.repository for pin in self.inquiry.pins}) == 1

    def find_revision(self, text: str) -> str:
        """Return the branch, tag or commit that a text means: of its name, or the only tag of that version."""
        if self._is_revision(text):
            return text
        return self._find_version(text) if _VERSION.fullmatch(text) else ""

    def _find_version(self, version: str) -> str:
        """Return the only tag of a version: it may have a prefix, such as ``v`` or ``release-``, or a zero more."""
        context = replace(self.inquiry.context, served=False)
        number = version.removeprefix("v")
        is_tag = re.compile(rf"(?:[A-Za-z][\w./@-]*?[^\w.]|[A-Za-z_]+|){re.escape(number)}(?P<zero>\.0)?")
        exact: set[str] = set()
        zero: set[str] = set()
        for target in self.inquiry.pins.targets:
            if target.repository.kind != "git":
                continue
            arguments = {"repo": target.repository.name, "kind": "tag", "query": number}
            for name in call("list_refs", arguments, context).table.column("name").to_pylist():
                match = is_tag.fullmatch(name)
                if match is not None:
                    (zero if match["zero"] else exact).add(name)

        names = exact or zero
        return names.pop() if len(names) == 1 else ""

    def _is_revision(self, text: str) -> bool:
        """Return whether a repository has this branch, tag or commit."""
        if not text or not is_revision(text):
            return False

        for target in self.inquiry.pins.targets:
            if target.repository.kind != "git":
                continue
            try:
                resolve(target.repository, text)
            except RepositoryError:
                continue
            return True

        return False
