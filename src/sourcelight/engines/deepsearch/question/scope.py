"""Read names of repositories, owners and revisions in a question as its scope."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sourcelight.core.query.regexps import escape_name, exact_name
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.question.marks import GAP, MarkedText

_REPOSITORY = r"(?:repo(?:sitory|sitories|s)?|projects?|code ?bases?)"
# "in the repository ", before a name
_BEFORE = (
    r"\b(?:in|of|from|for|within|inside|across|on|at|to|into|throughout|over)\s+"
    rf"(?:(?:the|our|my|both|all of)\s+)*(?:{_REPOSITORY}\s+)?"
)
# "'s source code", behind a name
_AFTER = rf"(?:['\u2019]s?(?!\w))?(?:\s+(?:{_REPOSITORY}|source(?: code)?|history)\b)?"
_KINDS = (
    r"(?:files?|commits?|authors?|contributors?|functions?|methods?|class(?:es)?|structs?|interfaces?|tests?|todos?"
    r"|lines?|branch(?:es)?|tags?|releases?|dependenc(?:y|ies)|history|maintainers?|folders?|director(?:y|ies))"
)
# "depends on ", before a name that is no scope
_OBJECT = re.compile(
    r"\b(?:depend(?:s|ed|ing)?\s+(?:up)?on|import(?:s|ed|ing)?(?:\s+from)?|us(?:e|es|ed|ing)|require[sd]?|requiring"
    r"|dependents?\s+(?:of|on)|(?:users|importers|consumers|callers)\s+of|contain(?:s|ed|ing)?|mention(?:s|ed|ing)?"
    r"|call(?:s|ed|ing)?|named|includ(?:e|es|ed|ing)|words?|text|string|calls?\s+(?:of|to)|uses?\s+of|references?\s+to"
    r"|occurrences?\s+of|mentions?\s+of)\s+(?:the\s+|package\s+|module\s+|library\s+)*$",
    re.IGNORECASE,
)
# TinyDB
_CLASS_NAME = re.compile(r"[A-Z](?:(?![a-z])\w)*+[a-z](?:(?![A-Z])\w)*+[A-Z]\w*+")
# "parameters of the ", before the name of a class
_MEMBERS = re.compile(
    r"\b(?:(?:base|parent|super|sub)[ -]?(?:class(?:es)?|types?)|parameters?|arguments?|signature|constructor"
    r"|methods?|fields?|members?|attributes?|properties|instances?|callers?|purpose|definition|implementation)\s+(?:of|for)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_CREATE = {"wrote", "created", "started", "maintain", "maintains", "develop", "develops"}
# v1.2.3
_VERSION = r"v?\d+(?:\.\d+)+[\w.+-]*(?<![.?!])"
# "at the tag v1.2"
_NAMED_REVISION = re.compile(
    r"\b(?:at|in|as of|of|on|from|for)\s+(?:the\s+)?(?:version|release|tag|branch|commit|revision|rev)\s+"
    r"(?P<revision>(?!(?:constant|variable|string|number|field|file|macro|property|setting|key|of|in|is|are)\b)[\w./-]*[\w]"
    r"|⟨Q\d+⟩)",
    re.IGNORECASE,
)
# "on the main branch"
_BRANCH = re.compile(r"\b(?:on|in|at|of)\s+(?:the\s+)?(?P<revision>[\w./-]*\w|⟨Q\d+⟩)\s+branch\b", re.IGNORECASE)
# "as of 1a2b3c4", "in v1.2", "on main"
_AT = re.compile(
    rf"\b(?:(?:at|as of)\s+(?P<any>{_VERSION}|[0-9a-f]{{7,40}}\b|HEAD(?:[~^]\d*)*)"
    rf"|in\s+(?P<version>v\d+(?:\.\d+)+[\w.+-]*(?<![.?!]))"
    r"|on\s+(?P<main>main|master|trunk|develop)\b)"
)
_DIRECTORIES_TEXT = """
src lib libs pkg cmd app apps bin test tests doc docs example examples tools packages modules crates internal source
sources include scripts main
"""
_DIRECTORIES = frozenset(_DIRECTORIES_TEXT.split())
_DETERMINERS = frozenset(
    {"many", "most", "more", "all", "any", "some", "few", "fewest", "last", "first", "latest", "newest", "new", "other"}
)
"""First parts of paths that aren't owners."""
_CHANGED = re.compile(r"\b(?:chang|touch|modif|edit|add|remov|delet)\w*", re.IGNORECASE)
# "since version 1.2"
_RANGED = re.compile(
    rf"\b(?:between|since|from|after|before|until|up to)\s+(?:the\s+)?(?:version\s+|release\s+|tag\s+)?(?:{_VERSION})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ScopePart:
    """A part of a question that became scope: its text and its values."""

    kind: str
    source_text: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NamedScope:
    """Repositories and a revision by name, given by a caller or read in a question.

    Attributes
    ----------
    repositories
        Full names; empty: all that are searched by default.
    revision
        Branch, tag or commit; empty: default branches.
    """

    repositories: tuple[str, ...] = ()
    revision: str = ""

    def __bool__(self) -> bool:
        """Return whether anything is named."""
        return bool(self.repositories or self.revision)

    @property
    def filters(self) -> str:
        """The same as filters, for searches that a reader can run again; no code reads them back as a scope."""
        filters: list[str] = []
        if self.repositories:
            filters.append(repository_filter(self.repositories))
        elif self.revision:
            # A revision needs a filter of repositories: this one is all of them.
            filters.append("repo:.")

        if self.revision:
            filters.append(f"rev:{quote_value(self.revision)}")
        return " ".join(filters)


@dataclass(frozen=True, slots=True)
class QuestionScope:
    """The repositories and revisions that a question names.

    Attributes
    ----------
    named_scope
        The named values; empty for none.
    parts
        The text that was read so.
    remaining_text
        The question without it.
    notes
        What could not be taken, a sentence each.
    """

    named_scope: NamedScope = field(default_factory=NamedScope)
    parts: tuple[ScopePart, ...] = ()
    remaining_text: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RepositoryNames:
    """The names that a question may use.

    Parameters
    ----------
    names
        Full names of repositories.
    default_names
        Those that are searched unless others are named: no forks and no archived ones.
    """

    names: Sequence[str]
    default_names: frozenset[str]

    def find_by_name(self, text: str) -> tuple[str, ...]:
        """Return the repositories of a name, or of the end of one; of several, those searched by default."""
        key = text.casefold()
        names = [name for name in self.names if name.casefold() == key]
        if not names:
            names = [name for name in self.names if f"/{_replace_plus(name).casefold()}".endswith(f"/{key}")]
        return self._prefer_default(names)

    def find_by_owner(self, text: str) -> tuple[str, ...]:
        """Return the repositories of an owner: the part of a name before its last one, or the end of that."""
        key = text.casefold().strip("/")
        names: list[str] = []
        for name in self.names:
            owner, _, _ = _replace_plus(name).casefold().rpartition("/")
            if owner == key or owner.endswith(f"/{key}"):
                names.append(name)
        return self._prefer_default(names)

    def _prefer_default(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return those of some names that are searched by default, or all if none of them is."""
        default_names = [name for name in names if name in self.default_names]
        return tuple(default_names or names)

    def spellings(self) -> list[str]:
        """Return all names of repositories and owners, the longest first."""
        spellings: set[str] = set()
        for name in self.names:
            spellings.add(name)
            parts = _replace_plus(name).split("/")
            spellings.update("/".join(parts[start:]) for start in range(len(parts)))
            spellings.update("/".join(parts[start:-1]) for start in range(len(parts) - 1))
        return sorted(spellings, key=lambda text: (-len(text), text))


def _replace_plus(name: str) -> str:
    """Return a name with a slash for the plus of a directory that is called ``owner+name``, as mirrors are."""
    if name.count("+") != 1:
        return name
    return re.sub(r"(?<=[\w.-])\+(?=[\w.-]+$)", "/", name)


def read_scope(text: str, names: RepositoryNames, *, by_word: bool) -> QuestionScope:
    """Read the scope of a question.

    Parameters
    ----------
    text
        The question, without filters.
    names
        Repositories that may be named.
    by_word
        Whether the last part of a name counts as a name at the right place in the sentence. Otherwise only names with
        an owner do, those that are called repositories, and those at the ends of a question or before its verb, as in
        "how does click parse": elsewhere in prose, `requests` may be any requests.
    """
    marked_text = MarkedText.from_text(text)
    scope_parts = _repositories(marked_text, names, by_word=by_word)
    repositories: set[str] = set()
    for repository_part in scope_parts:
        repositories.update(repository_part.values)

    revision = ""
    if by_word or scope_parts:
        revision_part = _revision(marked_text)
        if revision_part is not None:
            scope_parts.append(revision_part)
            revision = revision_part.values[0]

    named_scope = NamedScope(tuple(sorted(repositories)), revision)
    return QuestionScope(named_scope, tuple(scope_parts), " ".join(marked_text.to_text().split()))


def repository_filter(names: Sequence[str]) -> str:
    """Write a filter of exactly these repositories."""
    if len(names) == 1:
        return f"repo:{quote_value(exact_name(names[0]))}"
    anyone = "|".join(escape_name(name) for name in names)
    # A fork counts when it is named exactly, which an expression for several names can't show.
    return f"repo:{quote_value(f'^(?:{anyone})$')} fork:yes archived:yes"


def _repositories(marked_text: MarkedText, names: RepositoryNames, *, by_word: bool) -> list[ScopePart]:
    scope_parts: list[ScopePart] = []
    present = _spellings_in(marked_text.text, names)
    quoted = [mark for mark in marked_text.marks if names.find_by_name(mark.text)]
    count = -1
    # Again after each name: taking it makes room for the next one of a list.
    while count < len(scope_parts):
        count = len(scope_parts)
        for pattern, spelling in _patterns(present, by_word=by_word):
            is_taken = any(part.source_text.casefold() == spelling.casefold() for part in scope_parts)
            match = _first_match(pattern, marked_text.text, spelling, is_taken=is_taken)
            if match is None:
                continue

            scope_part = _make_part(match["name"], spelling, names, owner="(?P<owner>" in pattern)
            if scope_part is not None:
                scope_parts.append(scope_part)
                _remove(marked_text, match, present)

    for mark in quoted:
        name = re.escape(f"⟨Q{marked_text.marks.index(mark)}⟩")
        match = _first_match(rf"{_BEFORE}(?P<name>{name}){_AFTER}", marked_text.text, "")
        if match is not None:
            scope_parts.append(ScopePart("repository", mark.text, names.find_by_name(mark.text)))
            _remove(marked_text, match, present)

    return scope_parts


def _spellings_in(text: str, names: RepositoryNames) -> list[str]:
    """Return the names of repositories and owners that a text has, the longest first."""
    lower_text = text.casefold()
    spellings: list[str] = []
    for spelling in names.spellings():
        # Most of thousands of names aren't in the text, which is known without a pattern.
        if spelling.casefold() not in lower_text:
            continue
        if re.search(rf"{_word(spelling)}|{_owner_pattern(spelling)}", text, re.IGNORECASE) is not None:
            spellings.append(spelling)
    return spellings


def _remove(marked_text: MarkedText, match: re.Match[str], names: Sequence[str]) -> None:
    """Remove a name. Another name after "and" is read in the same way and gets the same preposition."""
    remaining = marked_text.text[match.end() :]
    following = "|".join(_word(name) for name in names)
    separator = re.match(rf"\s*(?:,\s*(?:and\s+|or\s+)?|and\s+|or\s+)(?={following})", remaining, re.IGNORECASE)
    verb = re.match(r"\w+\s+", match[0])
    replacement = GAP
    if verb is not None and verb[0].strip().lower() in _CREATE:
        replacement = verb[0] + GAP

    # What follows may be a directory of it: "in the hub docs", "the hub's docs".
    within = re.match(r"(?:in|of|from|within|inside|across)\b", match[0], re.IGNORECASE) is not None
    if within or match[0].endswith(("'s", "\u2019s", "s'")) or separator is not None:
        replacement += " in "

    if separator is not None:
        remaining = remaining[separator.end() :]

    marked_text.text = marked_text.text[: match.start()] + replacement + remaining


def _word(text: str) -> str:
    return rf"(?<![\w./@-]){re.escape(text)}(?![\w@-]|/\w|\.\w|::\w|#\w)"


def _owner_pattern(name: str) -> str:
    """Write a pattern of a name behind an owner, at the end of a question; a directory before it makes it a path."""
    return rf"(?<![\w./@-])(?!(?:{'|'.join(sorted(_DIRECTORIES))})/)[A-Za-z\d][\w-]*/{re.escape(name)}(?=/?\W*$)"


def _patterns(spellings: Iterable[str], *, by_word: bool) -> Iterable[tuple[str, str]]:
    for spelling in spellings:
        name = f"(?P<name>{_word(spelling)})"
        if "/" in spelling:
            yield rf"(?:{_BEFORE})?{name}/?{_AFTER}", spelling
            continue

        yield rf"(?:{_BEFORE})?\b(?:the\s+)?{_REPOSITORY}\s+(?:called\s+|named\s+)?{name}", spelling
        yield rf"(?:{_BEFORE})?(?:\bthe\s+)?{name}\s+{_REPOSITORY}\b", spelling
        yield rf"{_BEFORE}(?:owner|org(?:ani[sz]ation)?|group|team)\s+(?P<owner>)?{name}", spelling

        # A clone without an address has no owner in its name: "in gorilla/websocket" means the one called websocket.
        yield rf"{_BEFORE}(?P<name>{_owner_pattern(spelling)})", spelling
        yield from ((pattern, spelling) for pattern in _clear_patterns(name))
        if not by_word:
            continue

        yield rf"{_BEFORE}{name}{_AFTER}", spelling
        yield rf"{name}['\u2019]s\b", spelling
        yield rf"(?:(?<=does\s)|(?<=did\s)|(?<=do\s)|(?<=has\s)|(?<=have\s)){name}", spelling
        yield rf"\b(?:wrote|created|started|maintains?|develops?)\s+(?:the\s+)?{name}(?=\W*$)", spelling
        yield rf"(?<=is\s){name}(?=\s+written)", spelling
        yield (
            rf"{name}(?=\s+(?:has|have|had|contains?|defines?|declares?|uses?|imports?|depends?|gets?|got)\b)",
            spelling,
        )

        # "How many files" is no question about a repository `many`.
        if spelling.casefold() not in _DETERMINERS:
            yield rf"{name}(?=\s+{_KINDS}\b)", spelling


def _clear_patterns(name: str) -> Iterable[str]:
    """Return where even in prose a word is the name of a repository: at the ends of a question, and as who acts."""
    yield rf"^\W*(?:in|within|inside|for)\s+(?:the\s+)?{name}(?=\s*[,:])"
    yield rf"\b(?:in|of|within|inside|by|from|for|to)\s+(?:the\s+)?{name}(?=\W*$)"
    yield rf"\b(?:in|of)\s+{name}(?=\s+(?:defines?|declares?|implements?|contains?|has|is|are|does|do)\b)"

    # "Of the ws WebSocketServer": a name of code follows.
    yield rf"\b(?:of|in)\s+(?:the\s+)?{name}(?=\s+(?:⟨|`|(?-i:[A-Z][a-z0-9]+[A-Z])|[A-Za-z]+_\w))"
    yield rf"(?<=\bdoes\s){name}(?=\s+[a-z])"
    yield rf"(?<=\bdid\s){name}(?=\s+[a-z])"
    yield rf"{name}['\u2019]s\b"


def _first_match(pattern: str, text: str, spelling: str, *, is_taken: bool = False) -> re.Match[str] | None:
    """Return the first match whose name is not the object of a verb such as "use" or "depend on".

    A class may be called as its repository is: `TinyDB` of `tinydb`. It is the class where the repository is named
    elsewhere, or where the question is about what a class has.
    """
    for match in re.finditer(pattern, text, re.IGNORECASE):
        before = text[: match.start("name")]
        is_class = match["name"] != spelling and _CLASS_NAME.fullmatch(match["name"]) is not None
        if is_class and (is_taken or _MEMBERS.search(before) is not None):
            continue
        if not _OBJECT.search(before):
            return match

    return None


def _make_part(written_name: str, spelling: str, names: RepositoryNames, *, owner: bool) -> ScopePart | None:
    repositories = () if owner else names.find_by_name(spelling)
    if repositories:
        return ScopePart("repository", written_name, repositories)
    owned = names.find_by_owner(spelling)
    return ScopePart("owner", written_name, owned) if owned else None


def _revision(marked_text: MarkedText) -> ScopePart | None:
    """Take the one revision of the files; a span between two revisions concerns history."""
    if _RANGED.search(marked_text.text):
        return None

    for pattern in (_NAMED_REVISION, _BRANCH, _AT):
        match = pattern.search(marked_text.text)
        if match is None:
            continue
        if "commit " in match[0].lower() and _CHANGED.search(marked_text.text) is not None:
            continue

        name = next(group for group in match.groups() if group)
        value = marked_text.text_of(name)
        if pattern is _BRANCH and value.lower() in {"the", "a", "each", "every", "this", "that", "which", "default"}:
            continue

        marked_text.replace_match(match)
        return ScopePart("revision", value, (value,))

    return None
