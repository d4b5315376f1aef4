"""The request of a question for a number, a list, a person or a date, as data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.question.periods import Period

_ANY_DIRECTORY = "(^|/)"
"""The beginning of a pattern for a name in any directory."""

# The text between two paths of one directory: " directory in the "
_NEXT_TO = re.compile(
    r"(?:\s+(?:folder|directory|subdirectory|dir|subtree|package|tree))?\s+"
    r"(?:(?P<of>in|of|under|inside|within|below|beneath|from)\s+)?(?:the\s+)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Term:
    """A text to look for, as written.

    Attributes
    ----------
    text
        The text.
    is_word
        Whether it counts only where it is not within a longer name.
    is_bare
        Whether the question doesn't mark its end, by quotation marks or by its form.
    """

    text: str
    is_word: bool = False
    is_bare: bool = False


@dataclass(frozen=True, slots=True)
class PathScope:
    """Files that a path in a question means.

    Attributes
    ----------
    source_text
        As written in the question.
    pattern
        A regular expression for ``file:``.
    glob
        The same for calls of history: a path, a prefix that ends with a slash, or a glob.
    is_file
        Whether it is one file (or files of one name).
    exists
        Whether a commit that is searched has it.
    repositories
        Those that have it, or had it; empty: not known.
    was_there
        Whether only earlier commits have it.
    is_of_repository
        Whether the question names the repository as its first directory, so that no other one counts.
    """

    source_text: str
    pattern: str
    glob: str
    is_file: bool
    exists: bool = True
    repositories: tuple[str, ...] = ()
    was_there: bool = False
    is_of_repository: bool = False


def past_scope(text: str, path: str, repositories: tuple[str, ...] = (), *, was_there: bool = False) -> PathScope:
    """Return the scope of a path that no searched commit has; `text` is its form in the question."""
    is_folder = path.endswith("/")
    pattern = f"^{escape_regexp(path)}"
    if not is_folder:
        # A file of this name, or a directory written without its slash.
        pattern += "(/|$)"

    return PathScope(
        source_text=text,
        pattern=pattern,
        glob=path,
        is_file=not is_folder,
        exists=False,
        repositories=repositories,
        was_there=was_there,
    )


def endings_within(scopes: Iterable[PathScope], *, of_names: bool = False) -> tuple[PathScope, ...]:
    """Put endings into the directories beside them: ".lua files in src" are both; other paths are alternatives.

    With `of_names`, names of files count as endings: "how many Dockerfiles are in builders" is about both, too.
    """
    paths = tuple(scopes)
    bare = [path for path in paths if path.is_file and "/" not in path.source_text]
    endings = [path for path in bare if of_names or "*" in path.source_text]
    folders = [path for path in paths if path.glob.endswith("/") and path.pattern.endswith("/")]
    if not endings or not folders or len(endings) + len(folders) != len(paths):
        return paths
    return tuple(_ending_within(folder, ending) for folder in folders for ending in endings)


def _ending_within(folder: PathScope, ending: PathScope) -> PathScope:
    """Return the files of an ending such as ``*.lua`` at any depth of a directory."""
    if ending.pattern.startswith(_ANY_DIRECTORY):
        # A glob is a whole name.
        pattern = f"{folder.pattern}(.*/)?{ending.pattern.removeprefix(_ANY_DIRECTORY)}"
    else:
        pattern = f"{folder.pattern}.*{ending.pattern}"

    return PathScope(
        source_text=f"{folder.source_text}**/{ending.source_text}",
        pattern=pattern,
        glob=f"{folder.glob}**/{ending.source_text}",
        is_file=True,
        exists=folder.exists and ending.exists,
        repositories=tuple(name for name in folder.repositories if name in ending.repositories),
    )


def in_any_directory(path: PathScope) -> PathScope:
    """Return the scope of all files of a name, for a count of files: "how many pom.xml files" is not about one path."""
    if not path.is_file or "/" in path.source_text or path.pattern != f"^{escape_regexp(path.glob)}$":
        return path
    return replace(path, pattern=f"{_ANY_DIRECTORY}{escape_regexp(path.glob)}$", glob=f"**/{path.glob}")


@dataclass(frozen=True, slots=True)
class _Mention:
    """A path where a question names it: from `start` to `end` in its text."""

    start: int
    end: int
    scope: PathScope


def nest_folders(
    text: str, paths: Sequence[PathScope], names: Mapping[PathScope, str], question_paths: QuestionPaths
) -> tuple[tuple[PathScope, ...], tuple[PathScope, ...]]:
    """Replace paths that a question names side by side by the one that is within the other.

    "The middleware cors directory" is one directory, as is "cors in middleware"; "cors and middleware" are two.

    Parameters
    ----------
    text
        The question.
    paths
        The paths in it.
    names
        Each of them as written there.
    question_paths
        The paths of the searched commits.

    Returns
    -------
    tuple[tuple[PathScope, ...], tuple[PathScope, ...]]
        The paths that count, and those left out because no directory has one of the two names within the other.
    """
    remaining = list(paths)
    unread: list[PathScope] = []
    mentions = _find_mentions(text, names)
    while len(mentions) > 1:
        first, second, *following = mentions
        between = _NEXT_TO.fullmatch(text[first.end : second.start])
        scopes: list[PathScope] = []
        if between is not None:
            scopes = _scopes_of_both(first.scope, second.scope, question_paths, is_first_within=bool(between["of"]))

        if not scopes:
            mentions = [second, *following]
            continue

        scope = _choose_scope(scopes, first.scope, second.scope, question_paths)
        if scope is None:
            unread.append(first.scope)
            scope = second.scope

        other_paths = [path for path in remaining if path not in {first.scope, second.scope}]
        remaining = [scope, *other_paths]
        mentions = [_Mention(first.start, second.end, scope), *following]

    return tuple(dict.fromkeys(remaining)), tuple(unread)


def _find_mentions(text: str, names: Mapping[PathScope, str]) -> list[_Mention]:
    """Return the first mention of each path in a text, in the order of the text; none of globs."""
    mentions: list[_Mention] = []
    for scope, name in names.items():
        start = text.find(name)
        if start >= 0 and "*" not in scope.source_text:
            mentions.append(_Mention(start, start + len(name), scope))

    mentions.sort(key=lambda mention: mention.start)
    return mentions


def _choose_scope(
    scopes: Sequence[PathScope], first: PathScope, second: PathScope, question_paths: QuestionPaths
) -> PathScope | None:
    """Return the first scope of two paths that some directory has; None if no directory has any of them."""
    # A file, or a path of an earlier commit, is in no directory of these commits.
    is_current = first.exists and second.exists and not first.is_file and not second.is_file
    if not is_current:
        return scopes[0]

    for scope in scopes:
        if question_paths.has_folder(scope):
            return scope
    return None


def _scopes_of_both(
    first: PathScope, second: PathScope, question_paths: QuestionPaths, *, is_first_within: bool
) -> list[PathScope]:
    """Return what may be the path of one name within that of the other, the likeliest first."""
    if second.is_file or (first.is_file and not is_first_within):
        return []

    first_name = first.source_text.strip("/")
    second_name = second.source_text.strip("/")
    orders = [(first, second), (second, first)]
    is_second_above = question_paths.is_folder(f"{second_name}/{first_name}")
    if first.is_file or is_first_within:
        is_first_above = not first.is_file and question_paths.is_folder(f"{first_name}/{second_name}")
        orders = orders[:1] if is_first_above else orders[1:]
    elif is_second_above and not question_paths.is_folder(f"{first_name}/{second_name}"):
        orders.reverse()

    # A directory at the top is meant first, then one of its name below.
    scopes = [_scope_within(outer, inner) for outer, inner in orders]
    scopes += [_scope_within(_at_any_depth(outer), inner) for outer, inner in orders]
    return list(dict.fromkeys(scope for scope in scopes if scope is not None))


def _at_any_depth(folder: PathScope) -> PathScope:
    """Return all directories of a name; the same for another path."""
    name = folder.source_text.strip("/")
    if folder.is_file or folder.glob != f"{name}/":
        return folder
    return replace(folder, pattern=f"{_ANY_DIRECTORY}{escape_regexp(name)}/", glob=f"**/{name}/")


def _scope_within(outer: PathScope, inner: PathScope) -> PathScope | None:
    """Return the paths of a name anywhere within a directory; None for a whole path that is elsewhere."""
    name = inner.source_text.strip("/")
    if "/" in name and inner.pattern.startswith("^"):
        return inner if inner.pattern.startswith(outer.pattern) else None

    pattern = f"{outer.pattern}(.*/)?{escape_regexp(name)}"
    glob = f"{outer.glob}**/{name}"
    if inner.is_file:
        pattern += "$"
    else:
        pattern += "/"
        glob += "/"

    return PathScope(
        source_text=f"{outer.source_text.rstrip('/')}/{inner.source_text}",
        pattern=pattern,
        glob=glob,
        is_file=inner.is_file,
        exists=outer.exists and inner.exists,
        repositories=outer.repositories,
    )


class QuestionPaths(Protocol):
    """The paths of the commits that are searched."""

    def find(self, text: str) -> PathScope | None:
        """Return the files of a path, or of the end of one."""

    def find_named(self, name: str) -> PathScope | None:
        """Return the only file that is called as a name, such as a class, apart from its ending."""

    def is_folder(self, text: str) -> bool:
        """Return whether a directory has this path or name."""

    def folders_called(self, names: frozenset[str]) -> tuple[str, ...]:
        """Return the directories with one of some names, in lower case and without signs."""

    def has_folder(self, scope: PathScope) -> bool:
        """Return whether a directory has a path that a scope of directories means."""

    def find_past(self, text: str) -> PathScope | None:
        """Return the files of a path that earlier commits changed."""

    def is_one_repository(self) -> bool:
        """Return whether a single repository is searched, so that "the repository" means it."""

    def find_revision(self, text: str) -> str:
        """Return the branch, tag or commit that a text means, such as ``v1.2`` for ``1.2``; empty for none."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """Bounds of a measure of a group: at least ``minimum``, at most ``maximum``."""

    minimum: int | None = None
    maximum: int | None = None

    def passes(self, number: int) -> bool:
        """Return whether a number is within the bounds."""
        if self.minimum is not None and number < self.minimum:
            return False
        return self.maximum is None or number <= self.maximum

    @property
    def text(self) -> str:
        """The bounds in words."""
        if self.minimum is None:
            return f"at most {self.maximum:,}"
        if self.minimum == self.maximum:
            return f"exactly {self.minimum:,}"
        return f"at least {self.minimum:,}"


@dataclass(frozen=True, slots=True)
class FactRequest:
    """A question for facts.

    Attributes
    ----------
    kind
        What is counted: ``lines``, ``occurrences``, ``files``, ``repositories``, ``definitions``, ``tests``,
        ``commits``, ``authors``, ``branches``, ``tags``, ``dependencies``, ``dependents``, ``directories``,
        ``languages``, ``changed_lines``, ``parts``; or ``who`` and ``when``, which ask for an event;
        or ``unsupported``.
    relation
        How `terms` belong to it: ``contain``, ``call``, ``inherit``, ``name``, ``prefix``, ``suffix``, ``part``,
        ``import``, ``member``, ``change``; of files without terms ``source`` for those of programming languages, and
        ``inferred`` for those of a directory that the question doesn't name; empty for none.
    event
        For ``who`` and ``when``: ``added``, ``removed``, ``renamed``, ``changed``, ``most``, ``owner``, ``people``,
        ``tag``, ``commit``.
    terms, lacking
        Texts to look for, any of which counts, unless `every`; and texts that the same file must not hold.
    value
        Of an event of a line: the value that it gave to the name in `terms`, as written; empty for any.
    as_text
        Terms with a slash that aren't paths in the searched commits.
    symbol_kinds
        Kinds of definitions.
    languages, paths, without
        Which files count; `without` are paths that don't.
    tests
        Whether only test files count (True), none of them (False), or all (None).
    period, authors, messages, every_message, base, head, merges
        Which commits count; any of the messages, unless every one; `base` and `head` are revisions: behind `head` and
        not behind `base`.
    group
        What a superlative or a threshold is about, such as ``authors`` with the most of `kind`.
    is_list, is_top, is_fewest, threshold
        Whether the things are asked for and not their number alone; whether the group with the most (or fewest) is.
    is_negated, is_by_bots
        Whether what does not hold the texts counts; whether only commits of bots do.
    subject
        Of an unsupported kind: its name.
    ignored
        Words of the question that were ignored.
    """

    kind: str
    relation: str = ""
    event: str = ""
    terms: tuple[Term, ...] = ()
    every: bool = False
    lacking: tuple[Term, ...] = ()
    value: str = ""
    as_text: tuple[str, ...] = ()
    symbol_kinds: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    paths: tuple[PathScope, ...] = ()
    without: tuple[PathScope, ...] = ()
    tests: bool | None = None
    period: Period = field(default_factory=Period)
    authors: tuple[str, ...] = ()
    messages: tuple[Term, ...] = ()
    every_message: bool = False
    base: str = ""
    head: str = ""
    merges: bool | None = None
    side: str = ""
    group: str = ""
    is_list: bool = False
    is_top: bool = False
    is_fewest: bool = False
    is_last: bool = False
    is_negated: bool = False
    is_by_bots: bool = False
    threshold: Threshold | None = None
    subject: str = ""
    ignored: tuple[str, ...] = ()

    @property
    def narrows_files(self) -> bool:
        """Whether some files don't count."""
        return bool(self.paths or self.without or self.languages) or self.tests is not None

    @property
    def is_of_history(self) -> bool:
        """Whether there is a condition on commits."""
        return bool(self.authors or self.messages or self.base or self.head or self.period.text)


def any_path(paths: Sequence[PathScope]) -> str:
    """Write a regular expression for any of some paths."""
    return "|".join(path.pattern for path in paths)
